# SPDX-License-Identifier: MIT
"""The heat equation with radiation on DOLFINx, and its adjoint by hand, as a run on all ranks.

    u_t = k div grad u - u^3, by implicit steps for the diffusion and explicit ones for the radiation. The gradient of
    J = 1/2 integral of u(T)^2 is that by k and by the factor of the first temperatures.

    mpiexec -n 2 python3 -m mpi4py heat.py
"""

import numpy as np
import reel
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import assemble_matrix
from mpi4py import MPI
from petsc4py import PETSc

STEPS, DT = 50, 2e-3
comm = MPI.COMM_WORLD
domain = mesh.create_unit_square(comm, 16, 16)
space = getattr(fem, "functionspace", fem.FunctionSpace)(domain, ("Lagrange", 1))
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
mass, stiffness = (assemble_matrix(fem.form(form)) for form in
                   (u * v * ufl.dx, ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx))
mass.assemble()
stiffness.assemble()
system, solver = mass.copy(), PETSc.KSP().create(comm)
solver.setType("preonly")
solver.getPC().setType("lu")
solver.getPC().setFactorSolverType("mumps")
right, solution = mass.createVecs()

# Each rank has the temperatures of the nodes that it owns. The matrices exchange those at its borders.
shape = np.prod(np.sin(np.pi * space.tabulate_dof_coordinates()[:right.getLocalSize(), :2]), axis=1)
x, x_bar, gradient = np.zeros(shape.size), np.zeros(shape.size), np.zeros(2)


def times(matrix, values):
    right.array[:] = values
    matrix.mult(right, solution)
    return solution.array.copy()


def solve(values):
    right.array[:] = values
    solver.solve(right, solution)
    return solution.array.copy()


def product(one, other):
    return comm.allreduce(float(one @ other))


def begin(controls):
    k, factor = controls
    mass.copy(system, structure=PETSc.Mat.Structure.SAME_NONZERO_PATTERN)
    system.axpy(k * DT, stiffness, structure=PETSc.Mat.Structure.SAME_NONZERO_PATTERN)
    solver.setOperators(system)
    x[:] = factor * shape


def step(i):
    before = x.copy()
    x[:] = solve(times(mass, before - DT * before ** 3))
    return before, x.copy()


def at_end():
    x_bar[:] = times(mass, x)


def adjoint_step(i, kept):
    before, after = kept
    bar = solve(x_bar)
    gradient[0] -= DT * product(bar, times(stiffness, after))
    x_bar[:] = (1 - 3 * DT * before ** 2) * times(mass, bar)


def value_at(controls):
    begin(controls)
    for i in range(STEPS):
        step(i)
    return product(x, times(mass, x)) / 2


def gradient_at(controls):
    begin(controls)
    gradient[:] = 0
    run.gradient(step, adjoint_step, at_end)
    gradient[1] = product(x_bar, shape)
    return gradient


with reel.Run(reel.Plan("multistage", STEPS, [3, 10]), x, comm=comm, stores=[None, "file"], directory=".") as run:
    found = reel.check_gradient(value_at, gradient_at, np.array([0.5, 2.0]), directions=1)
if comm.rank == 0:
    print(f"the gradient is {gradient}, and differs from differences by {found.error:.1e}")
