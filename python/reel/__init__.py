# SPDX-License-Identifier: MIT
"""Reel for Python: plans that reverse long loops, and arrays that leave memory and come back.

>>> import numpy, reel
>>> pool = reel.Pool("64M")
>>> parcel = pool.keep(numpy.arange(4.0))
>>> parcel.view().sum()
6.0
"""

from ._errors import ArgumentError, Error, MemoryError, StoreError
from ._library import lib as _lib
from ._package import PackageData
from ._plan import KINDS, Action, Counts, Plan, Prediction, Schedule, Tier, choose, planners
from ._pool import Parcel, Pool
from ._run import Run, Step, save_now
from .schedules import check_schedule, schedule

__version__ = _lib.reel_version().decode()
__all__ = [
    "Action", "ArgumentError", "Counts", "Error", "KINDS", "MemoryError", "PackageData", "Parcel", "Plan", "Pool",
    "Prediction", "Run", "Schedule", "check_schedule", "Step", "StoreError", "Tier", "choose", "planners", "save_now",
    "schedule",
]
