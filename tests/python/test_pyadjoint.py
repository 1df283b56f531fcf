# SPDX-License-Identifier: MIT
"""Schedules of Reel in pyadjoint: values, derivatives and memory, beside a tape without a schedule."""

import contextlib
import gc
import os
import random
import tracemalloc

import numpy as np
import pytest

import reel

pytest.importorskip("pyadjoint")
ndarray = pytest.importorskip("numpy_adjoint").ndarray
from pyadjoint import (  # noqa: E402
    AdjFloat, Block, Control, ReducedFunctional, Tape, continue_annotation, pause_annotation, set_working_tape)
from pyadjoint.checkpointing import CheckpointError  # noqa: E402

SEEDS = int(os.environ.get("TEST_SEEDS", 4))
CELLS = 200
"""An array of 1,600 bytes, which is large enough for a parcel."""

PLANNERS = {
    "store-all": ([1], {}), "binomial": ([3], {}), "multistage": ([1, 3], {}), "mixed": ([4], {"tape_states": 2}),
    "hierarchical": ([(2, 0.0, 0.0), (2, 1.0, 1.0)], {}), "two-level": ([2, 20], {"period": 4}),
    "periodic": ([2, 20], {"period": 4}), "disk-revolve": ([(2, 0.0, 0.0), (20, 1.0, 1.0)], {}),
}


def as_array(values):
    values = np.asarray(values, float)
    return ndarray(values.shape, values.dtype, buffer=np.ascontiguousarray(values))


class Mix(Block):
    """x + 0.1 a sin(y)"""

    def __init__(self, x, y, a):
        super().__init__()
        for dependency in (x, y, a):
            self.add_dependency(dependency)

    def recompute_component(self, inputs, variable, index, prepared):
        x, y, a = np.asarray(inputs[0]), np.asarray(inputs[1]), float(inputs[2])
        return as_array(x + 0.1 * a * np.sin(y))

    def evaluate_adj_component(self, inputs, adj_inputs, variable, index, prepared=None):
        y, a, bar = np.asarray(inputs[1]), float(inputs[2]), np.asarray(adj_inputs[0])
        return (bar, bar * 0.1 * a * np.cos(y), float((bar * 0.1 * np.sin(y)).sum()))[index]

    def evaluate_tlm_component(self, inputs, tlm_inputs, variable, index, prepared=None):
        y, a = np.asarray(inputs[1]), float(inputs[2])
        x_dot, y_dot, a_dot = (0.0 if dot is None else dot for dot in tlm_inputs)
        return as_array(x_dot + 0.1 * a_dot * np.sin(y) + 0.1 * a * np.cos(y) * y_dot + np.zeros(y.shape))


class Squares(Block):
    """The sum of w x^2, with weights w from 1 to 100."""

    def __init__(self, x):
        super().__init__()
        self.add_dependency(x)

    def recompute_component(self, inputs, variable, index, prepared):
        x = np.asarray(inputs[0])
        return AdjFloat((np.logspace(0, 2, x.size) * x ** 2).sum())

    def evaluate_adj_component(self, inputs, adj_inputs, variable, index, prepared=None):
        x = np.asarray(inputs[0])
        return 2 * np.logspace(0, 2, x.size) * x * float(adj_inputs[0])

    def evaluate_tlm_component(self, inputs, tlm_inputs, variable, index, prepared=None):
        x = np.asarray(inputs[0])
        return float((2 * np.logspace(0, 2, x.size) * x * np.asarray(tlm_inputs[0])).sum())


def annotated(tape, block):
    output = block.recompute_component([v.saved_output for v in block.get_dependencies()], None, 0, None)
    tape.add_block(block)
    block.add_output(output.create_block_variable())
    return output


@pytest.fixture(autouse=True)
def annotating():
    continue_annotation()
    yield
    pause_annotation()
    set_working_tape(Tape())


def new_tape(schedule=None, pool=None):
    tape = Tape()
    set_working_tape(tape)
    if pool:
        tape._package_data["reel"] = reel.PackageData(pool)
    if schedule:
        tape.enable_checkpointing(schedule)
    return tape


def random_loop(seed, tape, steps):
    """A loop whose steps read what earlier ones have made, and values of the program. Its functionals and controls."""
    draw = random.Random(seed)
    a, b = AdjFloat(1.1), AdjFloat(0.7)
    x0 = as_array(np.linspace(0.1, 1, CELLS))
    fields, numbers, lagged = [x0], [a, b], []
    for step in tape.timestepper(iter(range(steps))):
        if draw.random() < 0.3:  # a forcing, which nothing computes
            lagged.append(as_array(np.full(CELLS, draw.random())))
        if draw.random() < 0.3:
            lagged.append(draw.choice(fields))
        for _ in range(draw.randrange(1, 4)):
            x, y = fields[-1], draw.choice(fields + lagged)
            if draw.random() < 0.4:
                numbers.append(numbers[-1] * draw.choice([a, b]) + 0.01 * draw.choice(numbers))
            fields.append(annotated(tape, Mix(x, y, draw.choice(numbers))))
        fields, numbers = fields[-2:], numbers[-2:]
        if draw.random() < 0.2:
            lagged = lagged[1:]
    total = annotated(tape, Squares(fields[-1]))
    return [total * a * b, total + numbers[-1] * a * b, total * numbers[-1] * a * b], [a, b, x0]


def evaluations(seed, tape, steps, functional):
    """Values and derivatives of one functional at several controls, with the controls in turn."""
    functionals, (a, b, x0) = random_loop(seed, tape, steps)
    gc.collect()
    draw, seen = random.Random(seed + 1), []
    both = ReducedFunctional(functionals[functional], [Control(a), Control(x0)])
    other = ReducedFunctional(functionals[functional], Control(b))
    if draw.random() < 0.7:
        seen += both.derivative()
    for _ in range(3):
        if draw.random() < 0.7:
            seen.append(both([AdjFloat(draw.random() + 1), as_array(np.full(CELLS, draw.random()))]))
            if draw.random() < 0.7:
                seen += both.derivative()
        else:
            seen.append(other(AdjFloat(draw.random())))
            seen.append(other.derivative())
    return [np.array(value, float) for value in seen]


@pytest.mark.parametrize("planner", PLANNERS)
def test_values_and_derivatives_at_any_controls_are_those_without_a_schedule(planner, tmp_path):
    pool = reel.Pool("4M", directory=tmp_path)
    tiers, problem = PLANNERS[planner]
    for seed in range(SEEDS):
        steps = random.Random(seed).randrange(1, 16)
        wanted = evaluations(seed, new_tape(), steps, seed % 3)
        schedule = reel.schedule(planner, steps, tiers, **problem)
        with reel.audit(raises=True) if seed % 2 else contextlib.nullcontext():
            seen = evaluations(seed, new_tape(schedule, pool), steps, seed % 3)
        assert len(seen) == len(wanted)
        for one, other in zip(seen, wanted):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")


def powers(tape, steps):
    x, a = AdjFloat(0.5), AdjFloat(1.1)
    for _ in tape.timestepper(iter(range(steps))):
        x = x + 0.1 * a * x * x
    return ReducedFunctional(x, Control(a))


def test_a_wrong_derivative_of_pyadjoint_is_seen_by_values_and_by_an_audit_and_not_by_the_actions_of_its_schedule():
    from checkpoint_schedules import Revolve

    def slope(functional, a):
        functional(AdjFloat(a))
        return float(functional.derivative())

    def check(functional):
        return reel.check_gradient(lambda a: float(functional(AdjFloat(a))), lambda a: slope(functional, a), 1.4)

    right, planned, revolved = (powers(new_tape(schedule), 8) for schedule in (
        None, reel.schedule("binomial", 8, [3]), Revolve(8, 3)))
    assert check(right) == check(planned)
    assert reel.check_schedule(Revolve(8, 3), 8, ram=3, disk=0).reversed == 8
    if slope(revolved, 1.4) == slope(right, 1.4):
        pytest.skip("this version of pyadjoint has it right")
    with pytest.raises(AssertionError, match="not that of the function"):
        check(revolved)
    with pytest.warns(UserWarning, match="reel.audit.. found a difference"), reel.audit() as audit:
        revolved = powers(new_tape(Revolve(8, 3)), 8)
        assert slope(revolved, 1.1) == slope(right, 1.1) and not audit.differences
        assert slope(revolved, 1.4) != slope(right, 1.4)
    first, = audit.differences
    assert first.kind == "recomputation" and "of step 6 was not computed anew: it is the value of the tap" in str(first)
    assert (first.saved.file, first.saved.function) == (__file__, "powers") and first.back.function == "slope"
    assert audit.differing > 1


class Noise(Mix):
    """A step that draws other numbers when it is computed anew."""

    def recompute_component(self, inputs, variable, index, prepared):
        return as_array(np.asarray(inputs[0]) + np.random.random(CELLS))


class Buffer(Mix):
    """A step whose results share their memory."""

    shared = np.empty(0)

    def recompute_component(self, inputs, variable, index, prepared):
        result = super().recompute_component(inputs, variable, index, prepared)
        if Buffer.shared.shape != result.shape:
            return result
        Buffer.shared[:] = result
        return Buffer.shared


@pytest.mark.parametrize("kind, detail, block, planner", [
    ("recomputation", "was computed anew with another result", Noise, "binomial"),
    ("in place", "was changed after a block had read it", Buffer, "store-all"),
    ("offload", "came back from a checkpoint with other bytes", Mix, "multistage")])
def test_an_audit_names_the_value_that_came_back_otherwise_and_the_line_that_made_it(
        kind, detail, block, planner, tmp_path, monkeypatch):
    def gradient():
        x, a = as_array(np.full(CELLS, 0.5)), AdjFloat(1.1)
        for _ in tape.timestepper(iter(range(10))):
            x = annotated(tape, block(x, x, a))
        functional = ReducedFunctional(annotated(tape, Squares(x)), Control(a))
        monkeypatch.setattr(Buffer, "shared", as_array(np.zeros(CELLS)))
        functional(AdjFloat(0.9))
        functional.derivative()

    if kind == "offload":
        array = reel._package.Value.array
        monkeypatch.setattr(reel._package.Value, "array", lambda value: as_array(array(value) * (1 + 1e-15)))
    tiers, problem = PLANNERS[planner]
    tape = new_tape(reel.schedule(planner, 10, tiers, **problem), reel.Pool("4M", directory=tmp_path))
    with pytest.raises(RuntimeError, match=rf"{kind}: float64.200. of step \d {detail}\n.*test_pyadjoint.py:\d+ in anno"):
        with reel.audit(raises=True):
            gradient()


class Square(Block):
    """x^2, by a block that reads its own output before it computes it, as a solver that begins there does."""

    def __init__(self, x):
        super().__init__()
        self.add_dependency(x)

    def prepare_recompute_component(self, inputs, relevant_outputs):
        return [float(variable.saved_output) for _, variable in relevant_outputs]

    def recompute_component(self, inputs, variable, index, prepared):
        return AdjFloat(float(inputs[0]) ** 2)

    def evaluate_adj_component(self, inputs, adj_inputs, variable, index, prepared=None):
        return 2 * float(inputs[0]) * float(adj_inputs[0])


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_block_may_read_its_own_output_before_it_computes_it(planner, tmp_path):
    def values_and_derivatives(tape):
        x = a = AdjFloat(0.9)
        for _ in tape.timestepper(iter(range(10))):
            x = 0.9 * a + annotated(tape, Square(x)) * 0.1
        functional = ReducedFunctional(x, Control(a))
        return [value for number in (0.3, 1.2)
                for value in (float(functional(AdjFloat(number))), float(functional.derivative()))]

    tiers, problem = PLANNERS[planner]
    schedule, wanted = reel.schedule(planner, 10, tiers, **problem), values_and_derivatives(new_tape())
    with reel.audit(raises=True) as audit:
        assert values_and_derivatives(new_tape(schedule, reel.Pool("4M", directory=tmp_path))) == wanted
    assert audit.saved > 20 and audit.compared > 20


STEPS = 8
"""Of a loop that is optimised."""


def predators_and_prey(tape, steps):
    x, y, *rates = controls = [AdjFloat(number) for number in (1.2, 0.8, 1.1, 0.7, 0.9)]
    misfit = AdjFloat(0)
    for step in tape.timestepper(iter(range(steps))):
        x, y = x + 0.1 * x * (rates[0] - rates[1] * y), y + 0.1 * y * (x - rates[2])
        misfit = misfit + (x - np.sin(step)) ** 2 + (y - 1.5) ** 2
    return misfit, controls


def two_fields(tape, steps):
    x, y, a = controls = [as_array(np.linspace(0.1, 2, CELLS)), as_array(np.full(CELLS, 0.7)), AdjFloat(1.1)]
    for _ in tape.timestepper(iter(range(steps))):
        x, y = annotated(tape, Mix(x, y, a)), x
    return annotated(tape, Squares(x)), controls


def optimisation(tape, program):
    """The point, the value and the gradient of each evaluation of 20 steps of L-BFGS."""
    minimize, seen = pytest.importorskip("scipy.optimize").minimize, []
    functional, controls = program(tape, STEPS)
    reduced = ReducedFunctional(functional, [Control(control) for control in controls])
    ends = np.cumsum([np.size(control) for control in controls])[:-1]

    def value_and_gradient(point):
        parts = np.split(point, ends)
        value = float(reduced([as_array(part) if np.ndim(control) else AdjFloat(part[0])
                               for control, part in zip(controls, parts)]))
        gradient = np.concatenate([np.ravel(part) for part in reduced.derivative()]).astype(float)
        seen.append((point.copy(), value, gradient))
        return value, gradient

    first = np.concatenate([np.ravel(control) for control in controls]).astype(float)
    found = minimize(value_and_gradient, first, jac=True, method="L-BFGS-B",
                     options={"maxiter": 20, "ftol": 0, "gtol": 0})
    assert found.nit == 20
    return seen


@pytest.mark.parametrize("program", [predators_and_prey, two_fields])
def test_an_optimisation_under_one_schedule_is_that_without_a_schedule(program, tmp_path):
    pool, wanted = reel.Pool("4M", directory=tmp_path), optimisation(new_tape(), program)
    for planner, (tiers, problem) in PLANNERS.items():
        seen = optimisation(new_tape(reel.schedule(planner, STEPS, tiers, **problem), pool), program)
        assert len(seen) == len(wanted)
        for one, other in zip(seen, wanted):
            for part, wanted_part in zip(one, other):
                np.testing.assert_array_equal(part, wanted_part, err_msg=planner)


def long_loop(tape, steps, cells=CELLS):
    x, a = as_array(np.full(cells, 0.5)), AdjFloat(1.1)
    for _ in tape.timestepper(iter(range(steps))):
        x = annotated(tape, Mix(x, x, a))
    return ReducedFunctional(annotated(tape, Squares(x)), Control(a))


@pytest.mark.parametrize("planner, tiers", [("multistage", [5, 60]), ("binomial", [6])])
def test_arrays_that_the_schedule_does_not_keep_leave_memory_at_all_controls(planner, tiers, tmp_path):
    pool = reel.Pool("4M", directory=tmp_path)
    tape, field = new_tape(reel.schedule(planner, 100, tiers), pool), 8 << 14
    tracemalloc.start()
    try:
        functional = long_loop(tape, 100, 1 << 14)
        assert tracemalloc.get_traced_memory()[0] < 20 * field
        functional.derivative()
        for a in np.linspace(0.5, 1.5, 5):
            functional(AdjFloat(a))
            functional.derivative()
        assert tracemalloc.get_traced_memory()[1] < 20 * field
    finally:
        tracemalloc.stop()
    assert pool.stats()["peak_resident_bytes"] <= 4 << 20
    assert planner == "binomial" or pool.stats()["written_bytes"] > 0


def test_a_value_that_is_not_kept_is_an_error_and_not_a_value_of_the_taping():
    functional = long_loop(new_tape(reel.schedule("binomial", 20, [3])), 20)
    with pytest.raises(CheckpointError, match="made in step 0 .*without one"):
        functional.tlm(AdjFloat(1))
    functional.derivative()
    functional(AdjFloat(1.2))
    with pytest.raises(CheckpointError, match="made in step 0 .*without one"):
        functional.tlm(AdjFloat(1))


def test_a_number_that_is_not_kept_is_one_of_the_taping_until_the_controls_change():
    a = x = AdjFloat(1.1)
    for _ in new_tape(reel.schedule("binomial", 20, [3])).timestepper(iter(range(20))):
        x = x + 0.01 * a * x
    functional = ReducedFunctional(x, Control(a))
    assert float(functional.tlm(AdjFloat(1))) == pytest.approx(float(functional.derivative()), rel=1e-12)
    functional(AdjFloat(1.2))
    with pytest.raises(CheckpointError, match="not kept it"):
        functional.tlm(AdjFloat(1))


def test_an_array_that_the_program_holds_can_be_used_in_later_steps():
    def value_and_derivative(tape):
        x, a, held = as_array(np.full(CELLS, 0.5)), AdjFloat(1.1), {}
        for step in tape.timestepper(iter(range(20))):
            x = annotated(tape, Mix(x, held.pop(step - 9, x), a))
            held[step] = x
        functional = ReducedFunctional(annotated(tape, Squares(x)), Control(a))
        del held
        return float(functional.derivative()), float(functional(AdjFloat(0.9))), float(functional.derivative())

    wanted = value_and_derivative(new_tape())
    for slots in (1, 2, 3, 6, 20):
        assert value_and_derivative(new_tape(reel.schedule("binomial", 20, [slots]))) == wanted


def test_what_stands_for_an_array_has_its_shape_and_no_right_value():
    tape = new_tape(reel.schedule("binomial", 20, [3]))
    long_loop(tape, 20)
    variable = tape.timesteps[3][0].get_outputs()[0]
    assert type(variable.output) is ndarray and variable.output.shape == (CELLS,)
    assert np.isnan(np.asarray(variable.output)).all()
