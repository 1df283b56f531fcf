# SPDX-License-Identifier: MIT
"""Runs over the ranks of mpi4py: gradients, failures of one rank, ends, restarts, and another MPI."""

import os
import re
import subprocess
import sys

import pytest

import reel

PROGRAM = """
import os, sys, warnings
import numpy as np
from mpi4py import MPI
import reel

WORLD, CELLS, STEPS = MPI.COMM_WORLD, 12, 40


class Ring:
    '''x_i <- x_i + h sin(x_(i-1)) on a ring of cells, of which each rank has a part.'''

    def __init__(self, comm):
        self.comm, n = comm, CELLS // comm.size
        self.left, self.right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
        self.first = np.linspace(0.1, 3, CELLS)[comm.rank * n:(comm.rank + 1) * n]
        self.x, self.x_bar = self.first.copy(), np.zeros(n)

    def step(self, i):
        before = np.append(self.comm.sendrecv(self.x[-1], self.right, source=self.left), self.x)
        self.x += 0.01 * np.sin(before[:-1])
        return before

    def at_end(self):
        self.x_bar[:] = 2 * self.x

    def adjoint_step(self, i, before):
        part = 0.01 * np.cos(before[:-1]) * self.x_bar
        self.x_bar += np.append(part[1:], self.comm.sendrecv(part[0], self.left, source=self.right))

    def gradient(self, run):
        self.x[:] = self.first
        run.gradient(self.step, self.adjoint_step, self.at_end)


def is_right(ring, steps=STEPS):
    whole = Ring(MPI.COMM_SELF)
    kept = [whole.step(i) for i in range(steps)]
    whole.at_end()
    for i in reversed(range(steps)):
        whole.adjoint_step(i, kept[i])
    return np.concatenate(ring.comm.allgather(ring.x_bar)).tobytes() == whole.x_bar.tobytes()


def fails(call):
    try:
        call()
    except Exception as error:
        return error


def binomial():
    return reel.Plan("binomial", STEPS, [4])


LAST = WORLD.rank == WORLD.size - 1
"""


def last_fails(error, kind):
    """In a program: that the last rank has its own error, and the others one that names it."""
    return (f"error = {error}\n"
            f"assert isinstance(error, {kind} if LAST else reel.Error), repr(error)\n"
            "assert LAST or 'rank %d failed' % (WORLD.size - 1) in str(error), error\n")


CASES = {
    "a gradient of all ranks has the bits of one process": """
ring = Ring(WORLD)
with reel.Run(binomial(), ring.x, comm=WORLD) as run:
    for _ in range(2):
        ring.gradient(run)
        assert is_right(ring)
""",
    "ranks agree on the bound of a gradient of the digits asked for": """
CELLS = 1200
ring = Ring(WORLD)
with reel.Run(binomial(), ring.x, comm=WORLD) as run:
    ring.gradient(run)
right = ring.x_bar.copy()
ring.x[:] = ring.first
with reel.Run(binomial(), ring.x, comm=WORLD, adjoint=ring.x_bar, digits=4) as run:
    accuracy = run.gradient(ring.step, ring.adjoint_step, ring.at_end)
assert 0 < abs(ring.x_bar - right).max() <= accuracy.error <= 1e-4 * accuracy.largest
assert len(set(WORLD.allgather(accuracy[:4]))) == 1
""",
    "an exception of one rank ends the sweep on all, and the next sweep is right": """
ring = Ring(WORLD)
run = reel.Run(binomial(), ring.x, comm=WORLD)
def breaks(call, at):
    # In the last step of an action: in another one the left neighbour would wait for a message of the next step.
    def called(i, *kept):
        result = call(i, *kept)
        if LAST and i == at:
            raise ZeroDivisionError
        return result
    return called
""" + last_fails("fails(lambda: run.gradient(breaks(ring.step, STEPS - 1), ring.adjoint_step))", "ZeroDivisionError")
        + last_fails("fails(lambda: run.gradient(ring.step, breaks(ring.adjoint_step, 17)))", "ZeroDivisionError") + """
def leaves():
    for action in run:
        if LAST and action.kind == "reverse":
            raise ZeroDivisionError
        for i in range(action.first, action.last) if action.kind != "reverse" else ():
            ring.step(i)
""" + last_fails("fails(leaves)", "ZeroDivisionError") + """
ring.gradient(run)
assert is_right(ring)
run.close()
""",
    "a loop that all ranks leave": """
ring = Ring(WORLD)
with reel.Run(binomial(), ring.x, comm=WORLD) as run:
    for action in run:
        break
    ring.gradient(run)
    assert is_right(ring)
""",
    "what one rank cannot open none opens": """
ring = Ring(WORLD)
""" + last_fails("fails(lambda: reel.Run(binomial(), ring.x, comm=WORLD, stores=['nonsense' if LAST else None]))",
                 "reel.ArgumentError")
        + last_fails("fails(lambda: reel.Run(binomial(), [1.0] if LAST else ring.x, comm=WORLD))", "TypeError") + """
other = reel.Plan("binomial", STEPS, [5 if LAST else 4])
assert isinstance(fails(lambda: reel.Run(other, ring.x, comm=WORLD)), reel.ArgumentError)
""",
    "an end that one rank meets ends all loops": """
ring = Ring(WORLD)
kept = {}
with reel.Run(reel.Plan("online", None, [5]), ring.x, comm=WORLD) as run:
    for action in run:
        for i in range(action.first, action.last) if action.kind != "reverse" else ():
            kept[i] = ring.step(i)
        if action.kind == "advance" and action.last == 23 and LAST and not run.is_reversing:
            run.end_loop()
        if action.kind == "reverse":
            if action.last == 23:
                ring.at_end()
            for i in reversed(range(action.first, action.last)):
                ring.adjoint_step(i, kept.pop(i))
    assert run.steps == 23
assert is_right(ring, 23)
""",
    "a part of the ranks": """
half = WORLD.Split(LAST)
ring = Ring(half)
if not CELLS % half.size:
    with reel.Run(binomial(), ring.x, comm=half) as run:
        ring.gradient(run)
        assert is_right(ring)
half.Free()
""",
    "a run that nobody closes stays open, with a warning": """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    run = reel.Run(binomial(), Ring(WORLD).x, comm=WORLD)
    del run
assert [w.category for w in caught] == [ResourceWarning], caught
""",
    "a loop that is left after the end of MPI": """
left = iter(reel.Run(binomial(), Ring(WORLD).x, comm=WORLD))
next(left)
MPI.Finalize()
del left
""",
}


def on_ranks(ranks, program, *arguments):
    """mpi4py's runner ends all ranks after an exception of one."""
    return subprocess.run([*os.environ["MPIRUN"].split(), "-n", str(ranks), sys.executable, "-m", "mpi4py", "-c",
                           PROGRAM + program, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def mpi():
    pytest.importorskip("mpi4py")
    if not os.environ.get("MPIRUN", "").strip():
        pytest.skip("there is no mpirun")
    said = on_ranks(1, "from reel._mpi import Ranks\nRanks(WORLD)")
    if "ImportError" in said.stderr:
        pytest.skip(said.stderr.strip().split("\n")[-1])


def some_numbers(case):
    """The numbers of ranks for a case. The short form has all of them for the gradient alone."""
    if not os.environ.get("TEST_LONG") and "gradient" not in case:
        return [3]
    return [2, 3] if "one rank" in case else [1, 2, 3]


@pytest.mark.parametrize("case, ranks", [(case, ranks) for case in CASES for ranks in some_numbers(case)])
def test_ranks(case, ranks, mpi):
    done = on_ranks(ranks, CASES[case] + "\nprint('passed')")
    assert done.returncode == 0 and done.stdout.count("passed") == ranks, done.stdout + done.stderr


def test_the_example_of_the_readme(mpi):
    with open(os.path.join(os.environ["SOURCE_DIR"], "python", "README.md")) as readme:
        section = readme.read().split("### Ranks\n")[1].split("\n## ")[0]
    example = re.search(r"```python\n(.*?)```", section, re.S).group(1)
    check = """
whole = Ring(comm)
whole.x, whole.x_bar = np.full(100, 1.0 + comm.rank), np.zeros(100)
kept = [whole.step(i) for i in range(1000)]
whole.x_bar[:] = 1
for i in reversed(range(1000)):
    whole.adjoint_step(i, kept[i])
print("passed" if (whole.x_bar == x_bar).all() else "wrong")
"""
    done = on_ranks(2, example + check)
    assert done.stdout.count("passed") == 2, done.stdout + done.stderr


KILLED = """
ring, dies_at, done = Ring(WORLD), int(sys.argv[1]), [0]

def step(i):
    if LAST and done[0] == dies_at:
        os._exit(9)
    done[0] += 1
    return ring.step(i)

def adjoint_step(i, before):
    ring.adjoint_step(i, before)
    done[0] += 1
    if LAST and done[0] == dies_at:
        os._exit(9)

with reel.Run(binomial(), ring.x, adjoint=ring.x_bar, restart=sys.argv[2], restart_seconds=1e-9, comm=WORLD) as run:
    resumed = run.resume()
    run.gradient(step, adjoint_step, ring.at_end)
    print("resumed" if resumed and is_right(ring) else "anew or wrong")
"""


@pytest.mark.parametrize("dies_at", [20, 100])
def test_ranks_of_which_one_was_killed_go_on(dies_at, tmp_path, mpi):
    assert on_ranks(2, KILLED, str(dies_at), str(tmp_path / "restart")).returncode != 0
    again = on_ranks(2, KILLED, "-1", str(tmp_path / "restart"))
    assert again.stdout.count("resumed") == 2, again.stdout + again.stderr
    assert os.listdir(tmp_path) == []


OTHER_MPI = """
#include <string.h>

int MPI_Get_library_version(char *version, int *length);

int MPI_Get_library_version(char *version, int *length)
{
	strcpy(version, "Another MPI 7.1\\nof which this is the second line");
	*length = (int)strlen(version);
	return 0;
}
"""


def test_a_library_for_another_mpi_is_refused(tmp_path, monkeypatch):
    MPI = pytest.importorskip("mpi4py.MPI")
    from reel import _mpi

    (tmp_path / "other.c").write_text(OTHER_MPI)
    subprocess.run([*os.environ["CC"].split(), "-shared", "-fPIC", "-o", str(tmp_path / "libreel-mpi.so.0"),
                    str(tmp_path / "other.c")], check=True)
    monkeypatch.setattr(_mpi.lib, "_name", str(tmp_path / "libreel.so.0"))
    monkeypatch.setattr(_mpi, "load", _mpi.load.__wrapped__)
    theirs = MPI.Get_library_version().split("\n")[0].split(",")[0]
    with pytest.raises(ImportError, match=f"mpi4py calls '{theirs}.*'Another MPI 7.1'"):
        reel.Run(reel.Plan("binomial", 4, [2]), [], comm=MPI.COMM_SELF)
    monkeypatch.setattr(_mpi.lib, "_name", str(tmp_path / "none" / "libreel.so.0"))
    with pytest.raises(ImportError, match="libreel-mpi was not found.*none/libreel-mpi"):
        reel.Run(reel.Plan("binomial", 4, [2]), [], comm=MPI.COMM_SELF)


def test_what_is_no_communicator_is_refused():
    MPI = pytest.importorskip("mpi4py.MPI")
    freed = MPI.COMM_SELF.Dup()
    freed.Free()
    for comm in (0, "world", MPI.COMM_NULL, freed, MPI.GROUP_EMPTY):
        with pytest.raises(TypeError, match="comm is an intracommunicator"):
            reel.Run(reel.Plan("binomial", 4, [2]), [], comm=comm)
