# SPDX-License-Identifier: MIT
"""For the wheel stage of ./check: a gradient whose states leave memory, and arrays of COUNT times 16 MiB in a budget.

Usage: try.py COUNT
"""

import resource
import sys
import time

import numpy as np

import reel


def gradient(plan, **where):
    """d/da of the mean of x after steps x = a sin(x), for a state of 1 MiB."""
    x, x_bar, a_bar = np.linspace(1, 2, 1 << 17), np.full(1 << 17, 2.0 ** -17), np.zeros(1)

    def step(_):
        before = x.copy()
        x[:] = 1.5 * np.sin(before)
        return before

    def adjoint_step(_, before):
        a_bar[:] += (np.sin(before) * x_bar).sum()
        x_bar[:] *= 1.5 * np.cos(before)

    with reel.Run(plan, x, **where) as run:
        run.gradient(step, adjoint_step)
    return a_bar[0]


def resident():
    """The most memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


start = time.monotonic()
wanted = gradient(reel.Plan("store-all", 64, [1]))
for store in "file", "lz4,file":
    seen = gradient(reel.Plan("multistage", 64, [2, 62]), stores=[None, store], directory="/var/tmp")
    assert seen == wanted, (store, seen, wanted)
print(f"gradient {wanted:.6f} in {time.monotonic() - start:.1f} s")

count, before = int(sys.argv[1]), resident()
with reel.Pool("128M", directory="/var/tmp") as pool:
    arrays = [pool.keep(np.full(1 << 21, float(i))) for i in range(count)]
    pool.announce(reversed(arrays))
    assert all((arrays[i].view() == i).all() for i in reversed(range(count)))
    peak, written = pool.stats()["peak_resident_bytes"] >> 20, pool.stats()["written_bytes"] >> 20
print(f"{16 * count} MiB of arrays: {written} MiB written, at most {peak} MiB in the pool; "
      f"{resident() - before} MiB more in the process")
assert written >= 16 * count - 128 and peak <= 128
# Beside the budget there is the array that goes to the pool, with its comparison.
assert resident() - before <= 128 + 48
