#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a parcel costs from Python; and, if checkpoint_schedules is installed, a schedule beside its own.

    PYTHONPATH=python REEL_LIBRARY=build/main/.libs/libreel.so.0 python3 bench/python.py
"""

import timeit

import numpy

import reel

try:
    import checkpoint_schedules
except ImportError:
    checkpoint_schedules = None


def seconds(call, number):
    """Of one call: the median of some rounds."""
    return sorted(timeit.repeat(call, number=number, repeat=9))[4] / number


def parcels():
    pool, array = reel.Pool("1G"), numpy.arange(512.0)
    sealed = pool.keep(array)

    def opened():
        pool.empty(512).close()

    def opened_and_sealed():
        parcel = pool.empty(512)
        parcel.seal()
        parcel.close()

    def kept():
        pool.keep(array).close()

    open_close = seconds(opened, 5000)
    print(f"a parcel of 4 KiB, microseconds: open and close {open_close * 1e6:.1f}, "
          f"seal {(seconds(opened_and_sealed, 5000) - open_close) * 1e6:.1f}, "
          f"view {seconds(sealed.view, 5000) * 1e6:.1f}, keep and close {seconds(kept, 5000) * 1e6:.1f}")


def walk(schedule):
    """The number of actions up to the end of the reverse sweep."""
    number = 0
    for action in schedule:
        number += 1
        if type(action).__name__ == "EndReverse":
            return number
    return number


def plans(steps, slots):
    for name in ("binomial", "mixed"):
        ours = seconds(lambda: walk(reel.schedule(name, steps, [slots])), 1)
        row = f"{name}, {steps} steps, {slots} slots: {ours * 1e3:.1f} ms"
        theirs = {"binomial": lambda: checkpoint_schedules.Revolve(steps, slots),
                  "mixed": lambda: checkpoint_schedules.MixedCheckpointSchedule(steps, slots)}[name]
        print(f"{row}, by checkpoint_schedules {timeit.timeit(lambda: walk(theirs()), number=1) * 1e3:.0f} ms")


parcels()
if checkpoint_schedules:
    plans(1000, 50)
