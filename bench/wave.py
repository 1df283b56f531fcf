#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gradient of a wave equation in JAX, with residuals on a disk, beside what else there is.

An acoustic wave runs over a grid; the gradient is that of the sum of squares along a line of receivers, by the velocity
in each cell. A step keeps one array, and costs more with a higher --order in space. Each way is a process of its own,
so that its peak of resident memory is its own:

    memory      lax.scan(): all residuals in memory. It runs --memory-steps steps.
    reel        reel.jax.scan() with a pool of --budget: the residuals in a file
    checkpoint  lax.scan() in lax.scan(), of sqrt(steps) steps each, over jax.checkpoint() of both: states of some
                steps in memory, and all steps again, twice
    plan        reel.jax.scan() with --plan: states in the pool and in its file, and steps again

Rounds alternate among the ways. The last line of a way is the median of its rounds. Usage:

    PYTHONPATH=python REEL_LIBRARY=build/main/.libs/libreel.so.0 python3 bench/wave.py --directory /scratch

The folder of that library also has libreel-jax.so, which python/README.md tells how to build.
"""

import argparse
import functools
import math
import os
import statistics
import subprocess
import sys
import time


def memory(_):
    from jax import lax
    return lax.scan


def reel(options):
    import reel.jax
    options.pool = reel.Pool(options.budget, directory=options.directory)
    return functools.partial(reel.jax.scan, pool=options.pool)


def plan(options):
    return functools.partial(reel(options), plan=options.plan)


def checkpoint(_):
    import jax

    def scan(step, init, xs):
        inner = next(n for n in range(math.isqrt(len(xs)), 0, -1) if len(xs) % n == 0)
        state, ys = jax.lax.scan(jax.checkpoint(lambda state, xs: jax.lax.scan(jax.checkpoint(step), state, xs)),
                                 init, xs.reshape(-1, inner))
        return state, ys.reshape(len(xs), -1)

    return scan


WAYS = {way.__name__: way for way in (memory, reel, checkpoint, plan)}


def loss(scan, steps, radius, squared, wave):
    """`squared` is the square of the velocity, in cells per step."""
    import jax.numpy as np
    rows, columns = squared.shape

    def weight(k):                      # of the central difference of this order, at distance k
        return 2 * (-1) ** (k + 1) * math.factorial(radius) ** 2 / (
            k ** 2 * math.factorial(radius - k) * math.factorial(radius + k))

    def step(state, source):
        before, now = state
        inner = now[radius:-radius, radius:-radius]
        bend = sum(-4 * weight(k) for k in range(1, radius + 1)) * inner
        for k in range(1, radius + 1):
            bend += weight(k) * (now[radius - k:rows - radius - k, radius:-radius] +
                                 now[radius + k:rows - radius + k, radius:-radius] +
                                 now[radius:-radius, radius - k:columns - radius - k] +
                                 now[radius:-radius, radius + k:columns - radius + k])
        after = 2 * now - before + squared * np.pad(bend, radius)
        after = after.at[rows // 2, columns // 2].add(source)
        return (now, after), after[rows // 2 + 16]

    return (scan(step, (wave, wave), np.sin(0.3 * np.arange(steps)))[1] ** 2).sum()


def kilobytes(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))


def touch(options):
    """Touches the memory that a way may use, because a virtual machine's host takes unused memory back."""
    bytearray(4 * options.rows * options.columns * (options.memory_steps + 16))


def measure(options):
    import jax
    import jax.numpy as np
    steps = options.memory_steps if options.way == "memory" else options.steps
    gradient = jax.jit(jax.grad(functools.partial(loss, WAYS[options.way](options), steps, options.order // 2)))
    squared = np.linspace(0.05, 0.2, options.rows * options.columns, dtype=np.float32).reshape(options.rows, -1)
    # No zeros: the disk of a virtual machine may not store them, and a processor is slow at numbers next to them.
    wave = np.sin(0.01 * np.arange(options.rows))[:, None] * np.cos(0.013 * np.arange(options.columns))
    program = gradient.lower(squared, wave).compile()
    jax.block_until_ready(wave)
    begin = time.perf_counter()
    result = jax.block_until_ready(program(squared, wave))
    seconds = time.perf_counter() - begin
    waits = options.pool.parcel_stats()["wait_ns"] / 1e9 if hasattr(options, "pool") else 0
    print(seconds, kilobytes("VmHWM") << 10, waits, float(np.abs(result).max()), float(np.linalg.norm(result)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", default="/var/tmp")
    parser.add_argument("--budget", default="256M")
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--columns", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=2000, help="each keeps 16 MiB, if rows and columns are not set")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--memory-steps", type=int, default=400)
    parser.add_argument("--plan", default="all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        (touch if options.way == "touch" else measure)(options)
        return
    command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--way"]
    cells = options.rows * options.columns
    print(f"{options.steps} steps of {4 * cells / (1 << 20):.0f} MiB: {4e-9 * cells * options.steps:.1f} GB; "
          f"in memory {options.memory_steps}; budget {options.budget}")
    print(f"{'':12} {'seconds':>8} {'ns/byte':>8} {'ratio':>8} {'waits':>8} {'resident':>10} {'largest':>14} "
          f"{'norm':>14}")
    found = {way: [] for way in options.ways.split(",")}
    for number in range(options.rounds + 1):
        for way, rows in found.items():
            if number < options.rounds:
                subprocess.run([*command, "touch"], check=True)
                done = subprocess.run([*command, way], stdout=subprocess.PIPE, text=True, check=True)
                rows.append([float(word) for word in done.stdout.split()])
            of_way = rows[-1] if number < options.rounds else [*map(statistics.median, zip(*rows))]
            seconds, peak, waits, largest, norm = of_way
            steps = options.memory_steps if way == "memory" else options.steps
            per_byte = seconds * 1e9 / (4 * cells * steps)
            if way == "memory":
                in_memory = per_byte
            ratio = per_byte / in_memory if "memory" in found else math.nan
            print(f"{way if number < options.rounds else way + ' *':12} {seconds:8.2f} {per_byte:8.3f} {ratio:8.2f} "
                  f"{waits:8.2f} {peak / (1 << 20):6.0f} MiB {largest:14.7g} {norm:14.7g}", flush=True)


if __name__ == "__main__":
    main()
