# SPDX-License-Identifier: MIT
"""Runs over loops of NumPy: the gradient of every plan is that of a tape of all steps, to the last bit."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest

import reel
from reel import _run
from test_pool import Library

CELLS, STEPS = 40, 60


class Growth:
    """x_i <- x_i + h a_i sin(x_i), and the adjoints of x and a."""

    def __init__(self):
        self.a = 1 + 0.01 * np.arange(CELLS)
        self.x = np.linspace(0.1, 1.5, CELLS)
        self.x_bar, self.a_bar = np.zeros(CELLS), np.zeros(CELLS)
        self.run_steps = self.reversed = 0

    def step(self, i):
        before = self.x.copy()
        self.x += 0.01 * self.a * np.sin(self.x) * (1 + i % 3)
        self.run_steps += 1
        return before

    def at_end(self):
        self.x_bar[:] = 2 * self.x
        self.a_bar[:] = 0

    def adjoint_step(self, i, x):
        self.a_bar += 0.01 * np.sin(x) * self.x_bar * (1 + i % 3)
        self.x_bar += 0.01 * self.a * np.cos(x) * self.x_bar * (1 + i % 3)
        self.reversed += 1

    def gradient(self):
        return np.concatenate([self.x_bar, self.a_bar])


def by_one_tape(steps=STEPS):
    growth = Growth()
    kept = [growth.step(i) for i in range(steps)]
    growth.at_end()
    for i in reversed(range(steps)):
        growth.adjoint_step(i, kept[i])
    return growth.gradient()


def tiers_of(planner):
    if planner in ("auto", "binomial", "mixed", "online", "store-all"):
        return [4]
    return [3, reel.Tier(100 if planner == "disk-revolve" else 20, 2, 2)]


@pytest.mark.parametrize("stores", [[], [None, "file"], ["file", "memory=16M"]])
@pytest.mark.parametrize("planner", [planner for planner in reel.planners() if planner != "online"])
def test_every_plan_has_the_bits_of_one_tape(planner, stores, tmp_path):
    growth = Growth()
    plan = reel.Plan(planner, STEPS, tiers_of(planner))
    with reel.Run(plan, growth.x, stores=stores[:len(plan.tiers)], directory=tmp_path) as run:
        for _ in range(2):
            growth.x[:] = np.linspace(0.1, 1.5, CELLS)
            run.gradient(growth.step, growth.adjoint_step, growth.at_end)
            assert (growth.gradient() == by_one_tape()).all()
        stats = run.stats()
    counts = plan.check()
    assert (stats["advanced"], stats["recorded"], stats["reversed"]) == (counts.advances, STEPS, STEPS)
    assert stats["stores"][:len(plan.tiers)] == counts.stores and stats["loads"][:len(plan.tiers)] == counts.loads
    assert growth.run_steps == 2 * (counts.advances + STEPS) and growth.reversed == 2 * STEPS


@pytest.mark.parametrize("steps", [STEPS, None])
@pytest.mark.parametrize("budget", [8, 20, 100])
def test_a_plan_that_learns_fills_the_memory(steps, budget):
    x, ended = np.linspace(0, 1, 4096), []
    kept, run_steps = {}, 0
    with reel.Pool(budget * x.nbytes, slab=x.nbytes) as pool, reel.Run(reel.Plan(steps=steps), x, pool=pool) as run:
        assert run.total_steps is None
        for action in run:
            for i in range(action.first, action.last) if action.kind != "reverse" else ():
                kept = {i: x.copy()}
                x[:] = np.sin(x + 0.1)
                run_steps += 1
            if action.kind == "reverse":
                assert list(kept) == [action.first]
                ended.append(action.first)
            elif steps is None and run.steps is None and action.last == STEPS:
                run.end_loop()
        assert ended == list(reversed(range(STEPS)))
        assert pool.stats()["peak_resident_bytes"] <= budget * x.nbytes
        stores = run.stats()["stores"][0]
    if budget > STEPS:
        assert run_steps <= 2 * STEPS and stores <= STEPS + 1
    else:
        assert run_steps > 2 * STEPS


def test_a_loop_that_asks_what_comes_next():
    growth = Growth()
    kept, kinds = {}, set()
    for action in reel.Run(reel.Plan("binomial", STEPS, [5]), growth.x):
        kinds.add(action.kind)
        if action.kind == "reverse":
            if action.last == STEPS:
                growth.at_end()
            for i in reversed(range(action.first, action.last)):
                growth.adjoint_step(i, kept.pop(i))
        for i in range(action.first, action.last) if action.kind != "reverse" else ():
            before = growth.step(i)
            if action.kind == "record":
                kept[i] = before
    assert kinds == {"advance", "record", "reverse"} and not kept
    assert (growth.gradient() == by_one_tape()).all()


@pytest.mark.parametrize("end", [1, 7, 41])
def test_an_end_that_comes_on_the_way(end):
    growth = Growth()
    run = reel.Run(reel.Plan("online", None, [5]), growth.x)
    kept, done = {}, 0
    for action in run:
        for i in range(action.first, action.last) if action.kind != "reverse" else ():
            before = growth.step(i)
            if action.kind == "record":
                kept[i] = before
        if action.kind == "advance" and action.last == end and not done:
            run.end_loop()
            done = end
        if action.kind == "reverse":
            if action.last == end:
                growth.at_end()
            for i in reversed(range(action.first, action.last)):
                growth.adjoint_step(i, kept.pop(i))
    assert run.steps == end and (growth.gradient() == by_one_tape(end)).all()


def test_segments_and_states_of_several_arrays():
    growth = Growth()
    other = np.zeros((3, 2), "f4")

    def step(i):
        other[:] += 1
        return growth.step(i), float(other[0, 0])

    def adjoint_step(i, kept):
        assert kept[1] == i + 1
        growth.adjoint_step(i, kept[0])

    plan = reel.Plan("binomial", 8, [3])
    reel.Run(plan, [growth.x, other], segment_steps=8, steps=STEPS).gradient(step, adjoint_step, growth.at_end)
    assert (growth.gradient() == by_one_tape()).all()


@pytest.mark.parametrize("planner", [planner for planner in reel.planners() if planner not in ("auto", "online")])
@pytest.mark.parametrize("segments", [{}, {"segment_steps": 1}, {"segment_steps": 8, "steps": STEPS}])
def test_progress_comes_to_the_total(planner, segments):
    growth = Growth()
    steps = -(-STEPS // segments.get("segment_steps", 1))
    run = reel.Run(reel.Plan(planner, steps, tiers_of(planner)), growth.x, **segments)
    done = []
    run.gradient(growth.step, growth.adjoint_step, growth.at_end, progress=done.append)
    assert set(done) == {1} and len(done) == run.total_steps == growth.run_steps + growth.reversed
    assert (growth.gradient() == by_one_tape()).all()


def test_a_total_of_a_loop_without_a_known_end():
    run = reel.Run(reel.Plan("online", None, [5]), np.zeros(2))
    assert run.total_steps is None
    run = reel.Run(reel.Plan("binomial", 0, [5]), np.zeros(2))
    assert run.total_steps == 0


def test_an_exception_comes_out_as_itself_and_the_next_sweep_is_right():
    growth = Growth()
    run = reel.Run(reel.Plan("binomial", STEPS, [5]), growth.x)

    class Broken(Exception):
        pass

    def breaks(i):
        if i == 17:
            raise Broken
        return growth.step(i)

    with pytest.raises(Broken):
        run.gradient(breaks, growth.adjoint_step, growth.at_end)
    growth.x[:] = np.linspace(0.1, 1.5, CELLS)
    run.gradient(growth.step, growth.adjoint_step, growth.at_end)
    assert (growth.gradient() == by_one_tape()).all()


def test_a_step_that_does_not_replay_is_found():
    x = np.zeros(4)
    seen = []

    def step(i):
        x[0] += 1 if i not in seen else 2
        seen.append(i)

    with pytest.raises(reel.Error, match="step"):
        reel.Run(reel.Plan("binomial", 20, [2]), x, audit=True).gradient(step, lambda *_: None)


@pytest.mark.parametrize("state, error", [
    (np.zeros((4, 4))[:, 1], ValueError), (np.broadcast_to(1.0, 4), ValueError), ([1.0], TypeError),
    (np.array([{}]), TypeError), (np.ma.array([1.0, 2.0], mask=[0, 1]), TypeError)])
def test_states_that_cannot_be_copied_in_place(state, error):
    with pytest.raises(error, match="array"):
        reel.Run(reel.Plan("binomial", 4, [2]), state)


def test_a_pool_is_not_closed_under_a_run():
    pool = reel.Pool("8M")
    growth = Growth()
    run = reel.Run(reel.Plan("binomial", STEPS, [5]), growth.x, pool=pool)
    with pytest.raises(BufferError, match="runs"):
        pool.close()
    run.gradient(growth.step, growth.adjoint_step, growth.at_end)
    with pytest.raises(BufferError, match="runs"):
        pool.close()
    assert (growth.gradient() == by_one_tape()).all()
    run.close()
    pool.close()


def test_a_run_ends_before_its_plan(monkeypatch):
    """Both are in one cycle, which the collector ends."""
    plan, order = reel.Plan("binomial", STEPS, [5]), []
    weakref.finalize(plan, order.append, "plan")
    Library(monkeypatch, _run, reel_run_close=lambda _: order.append("run"))
    cycle = [plan, reel.Run(plan, np.zeros(3))]
    cycle.append(cycle)
    del plan, cycle
    gc.collect()
    assert order == ["run", "plan"]


def test_numbers_of_steps_that_do_not_fit_are_refused():
    plan = reel.Plan("binomial", 8, [3])
    assert reel.Run(plan, np.zeros(3), segment_steps=np.int64(8), steps=np.int32(STEPS)).steps == STEPS
    for name in ("segment_steps", "steps"):
        for number in (2**64 + 1, -1):
            with pytest.raises(ValueError, match=name):
                reel.Run(plan, np.zeros(3), **{name: number})


def test_a_loop_of_no_steps_and_a_state_in_fortran_order():
    growth = Growth()
    reel.Run(reel.Plan("binomial", 0, [5]), growth.x).gradient(growth.step, growth.adjoint_step, growth.at_end)
    assert (growth.gradient() == by_one_tape(0)).all()
    x = np.asfortranarray(np.zeros((3, 2)))
    seen = []

    def step(i):
        seen.append(x[0, 1])
        x[:] += 1

    reel.Run(reel.Plan("binomial", 5, [2]), x).gradient(step, lambda *_: None)
    assert sorted(set(seen)) == [0, 1, 2, 3, 4]


def test_wrong_stores_are_refused():
    plan = reel.Plan("binomial", 4, [2])
    with pytest.raises(ValueError, match="not understood"):
        reel.Run(plan, np.zeros(2), stores=["nonsense"])
    with pytest.raises(ValueError, match="closed"):
        run = reel.Run(plan, np.zeros(2), stores=["memory=1M"])
        run.close()
        next(iter(run))


KILLED = """
import os, sys
import numpy as np
import reel
from test_run import Growth, STEPS, by_one_tape

growth = Growth()
dies_at, path = int(sys.argv[1]), sys.argv[2]

def step(i):
    if growth.run_steps == dies_at:
        os._exit(9)
    return growth.step(i)

def adjoint_step(i, kept):
    growth.adjoint_step(i, kept)
    if STEPS + growth.reversed == dies_at:
        os._exit(9)

adjoint = [growth.x_bar, growth.a_bar]
run = reel.Run(reel.Plan("binomial", STEPS, [4]), growth.x, adjoint=adjoint, restart=path, restart_seconds=1e-9)
resumed = run.resume()
run.gradient(step, adjoint_step, growth.at_end)
print("resumed" if resumed else "anew", (growth.gradient() == by_one_tape()).all())
"""


@pytest.mark.parametrize("dies_at", [30, 75, 110])
def test_a_run_that_was_killed_goes_on(dies_at, tmp_path):
    def go(dies_at):
        environment = {**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + os.path.dirname(__file__)}
        return subprocess.run([sys.executable, "-c", KILLED, str(dies_at), str(tmp_path / "restart")],
                              env=environment, capture_output=True, text=True)

    assert go(dies_at).returncode == 9 and (tmp_path / "restart").exists()
    again = go(-1)
    assert again.stdout == "resumed True\n", again.stdout + again.stderr
    assert os.listdir(tmp_path) == []


def gradient_with_loss(state, tolerance, digits=0):
    state = [np.copy(array, order="K") for array in state]
    bar = np.zeros_like(state[0])

    def step(i):
        before = state[0].copy()
        state[0][...] = np.sin(before) + 0.1 * np.roll(before, 1, 0)
        return before

    def adjoint_step(i, before):
        bar[...] = np.cos(before) * bar + 0.1 * np.roll(bar, -1, 0)

    with reel.Run(reel.Plan("binomial:6", steps=40), state, tolerance=tolerance, adjoint=bar, digits=digits) as run:
        accuracy = run.gradient(step, adjoint_step, lambda: bar.fill(1))
        return bar, run.stats(), accuracy


WAVE = np.sin(np.linspace(0, 6, 60))[:, None] * np.cos(np.linspace(0, 3, 80))


@pytest.mark.parametrize("state", [
    [WAVE], [np.asfortranarray(WAVE), np.arange(5), np.array(1.5)], [WAVE.astype(np.float32)], [WAVE + 1j * WAVE.T[0, 0]],
    [WAVE.reshape(2, 3, 10, 8, 10)], [WAVE, np.zeros(0)]], ids=["2-D", "order", "float", "complex", "5-D", "none"])
def test_states_in_fewer_bytes(state):
    right, whole, _ = gradient_with_loss(state, 0)
    rounded, stats, accuracy = gradient_with_loss(state, 1e-5)
    error = abs(right - rounded).max() / abs(right).max()
    assert 0 < error < 1e-3 and 3 * stats["kept_bytes"] < stats["rounded_bytes"]
    assert whole["rounded_bytes"] == 0 and accuracy is None
    assert abs(right - gradient_with_loss(state, 1e-3)[0]).max() > abs(right - rounded).max()


@pytest.mark.parametrize("digits", [2, 5, 8, 12])
@pytest.mark.parametrize("state", [[WAVE], [WAVE + 1j * WAVE, np.arange(3)]], ids=["real", "complex"])
def test_a_gradient_of_the_digits_asked_for(state, digits):
    right, _, _ = gradient_with_loss(state, 0)
    bar, stats, accuracy = gradient_with_loss(state, 0, digits)
    assert abs(right - bar).max() <= accuracy.error * 2 ** .5 <= 2 ** .5 * 10. ** -digits * accuracy.largest
    (errors,) = accuracy.errors
    wrong = (abs(right.real - bar.real) > errors.real) | (abs(right.imag - bar.imag) > errors.imag)
    assert errors.shape == bar.shape and errors.dtype == bar.dtype and wrong.sum() <= 5 and errors.real.min() < accuracy.error
    assert accuracy.gradients >= 5 and np.isclose(accuracy.largest, max(abs(bar.real).max(), abs(bar.imag).max()))
    assert stats["kept_bytes"] * (3 if digits < 8 else 1) < stats["rounded_bytes"]


def test_one_iteration_over_a_run_at_a_time():
    growth = Growth()
    run = reel.Run(reel.Plan("binomial", STEPS, [5]), growth.x)
    first = iter(run)
    next(first)
    second = iter(run)
    wanted = next(second)
    with pytest.raises(RuntimeError, match="another iteration"):
        next(first)
    assert wanted == next(iter(run))


def test_steps_that_change_no_state_are_an_error():
    x, passed = np.ones((3, 4), order="F"), []

    def step(i):
        return x * 2

    run = reel.Run(reel.Plan("binomial", 10, [3]), x)
    with pytest.raises(RuntimeError, match="in place"):
        run.gradient(step, lambda *_: None)

    def changes_once(i):
        x[1, 2] += i == 7

    run.gradient(changes_once, lambda i, _: passed.append(i))
    assert passed == list(reversed(range(10)))


@pytest.mark.parametrize("arguments, error, text", [
    (dict(plan=3), TypeError, "plan .* 3"), (dict(pool=3), TypeError, "pool .* 3"),
    (dict(stores="file"), TypeError, "stores .* 'file'"), (dict(stores=[3]), TypeError, "store .* 3"),
    (dict(state=3), TypeError, "state is an array.* 3"), (dict(restart="a\0b"), ValueError, "restart has a NUL"),
    (dict(stores=[None, "file"], directory="/tmp\0"), ValueError, "directory has a NUL"),
    (dict(tolerance=1), reel.ArgumentError, "below 1"), (dict(digits=3), ValueError, "adjoint="),
    (dict(digits=13, adjoint=np.zeros(3)), reel.ArgumentError, "1 to 12"),
])
def test_arguments_of_a_run_that_make_no_sense_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        reel.Run(**{"plan": reel.Plan("multistage", 10, [3, 3]), "state": np.zeros(3), **arguments})
