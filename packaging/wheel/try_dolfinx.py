# SPDX-License-Identifier: MIT
"""For the wheel stage of ./check, beside dolfinx-adjoint: with each planner, the derivatives of a heat equation that is
not linear are those of a tape without a schedule, at the first controls and at others.

For each planner a line is "passed WHAT" or "failed WHAT".
"""

from mpi4py import MPI  # first: it loads the MPI of the wheels

import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx_adjoint import Function, LinearProblem, assemble_scalar, assign
from pyadjoint import Control, ReducedFunctional, Tape, continue_annotation, pause_annotation, set_working_tape

import reel

STEPS = 8
PLANNERS = [
    ("store-all", [1], {}),
    ("binomial", [3], {}),
    ("multistage", [1, 3], {}),
    ("mixed", [4], {"tape_states": 2}),
    ("hierarchical", [(2, 0.0, 0.0), (2, 1.0, 1.0)], {}),
    ("two-level", [2, 20], {"period": 4}),
    ("periodic", [2, 20], {"period": 4}),
    ("disk-revolve", [(2, 0.0, 0.0), (20, 1.0, 1.0)], {}),
]
space = fem.functionspace(mesh.create_unit_square(MPI.COMM_SELF, 6, 6), ("Lagrange", 1))


def evaluations(schedule):
    tape = Tape()
    set_working_tape(tape)
    continue_annotation()
    tape._package_data["reel"] = reel.PackageData(reel.Pool("4M", directory="."), Function)
    if schedule is not None:
        tape.enable_checkpointing(schedule)
    first, state, following = (Function(space) for _ in range(3))
    first.interpolate(lambda x: np.sin(np.pi * x[0]) * x[1])
    trial, test = ufl.TrialFunction(space), ufl.TestFunction(space)
    assign(first, state)
    problem = LinearProblem(
        (trial * test + 0.01 * ufl.inner(ufl.grad(trial), ufl.grad(test))) * ufl.dx,
        (state - 0.01 * state ** 3) * test * ufl.dx, u=following,
        petsc_options={"ksp_type": "preonly", "pc_type": "lu"}, petsc_options_prefix="heat")
    for _ in tape.timestepper(iter(range(STEPS))):
        problem.solve()
        assign(following, state)
    functional = ReducedFunctional(assemble_scalar(state ** 2 * ufl.dx), Control(first))
    pause_annotation()
    seen = [functional.derivative().x.array.copy()]
    for factor in 2.0, -0.3:
        controls = Function(space)
        controls.x.array[:] = factor * first.x.array
        seen += [[float(functional(controls))], functional.derivative().x.array.copy()]
    return np.concatenate(seen)


wanted = evaluations(None)
assert np.abs(wanted).max() > 0
for planner, tiers, problem in PLANNERS:
    error = np.abs(evaluations(reel.schedule(planner, STEPS, tiers, **problem)) - wanted).max() / np.abs(wanted).max()
    print(f"{'passed' if error <= 1e-14 else 'failed'} derivatives of dolfinx-adjoint under {planner}: {error:.1e}")
