# SPDX-License-Identifier: MIT
"""Reel for Python: plans that reverse long loops, and arrays that leave memory and come back.

>>> import numpy, reel
>>> pool = reel.Pool("64M")
>>> parcel = pool.keep(numpy.arange(4.0))
>>> float(parcel.view().sum())
6.0
"""

import os
from typing import Any, Optional, Sequence, Union

from ._check import GradientCheck, check_gradient
from ._errors import ArgumentError, Error, MemoryError, StoreError
from ._library import lib as _lib
from ._package import PackageData
from ._plan import KINDS, Action, UnevenStep, Counts, Plan, Prediction, Schedule, Tier, TierLike, choose, planners
from ._pool import Parcel, Pool
from ._run import Accuracy, Run, Step, save_now
from ._sizes import Size


def offload(budget: Optional[Size] = None, *, directory: "Union[str, os.PathLike[str], None]" = None,
            store: Optional[str] = None, pool: Optional[Pool] = None, min_bytes: Size = "64K",
            pinned: bool = True) -> Any:
    """For PyTorch: within `with reel.offload("4G", directory="/scratch"):` tensors that are saved for the backward
    pass go to parcels, which leave memory and are read ahead. Tensors of fewer than `min_bytes` bytes stay.

    The parcels are on a pool with this budget, directory and store, or on `pool`. When the first tensor of a GPU
    comes, its driver pins the memory of the pool, unless `pinned` is False. The result can be used any number of
    times, and its `pool` has the statistics.
    """
    from ._offload import Offload  # imports torch
    return Offload(budget, directory, store, pool, min_bytes, pinned)


def checkpoint(model: Any, budget: Size, *, directory: "Union[str, os.PathLike[str], None]" = None,
               store: Optional[str] = None, blocks: Any = None) -> Any:
    """For PyTorch: the backward passes of the model need at most this memory, in the least time.

    In its first call with gradients, each block of the model is run once more, with its backward pass, to learn its
    time and memory. From then on a block keeps the tensors that it saves, offloads them, or runs again in the backward
    pass, from an input that is kept or offloaded. Without a directory or a store nothing is offloaded.

    The blocks are the children of the longest torch.nn.ModuleList or Sequential in the model, or those in `blocks`.
    The budget is for what they keep, and need while they run; not for parameters, their gradients, and the loss.
    """
    from ._checkpoint import Checkpoint  # imports torch
    return Checkpoint(model, budget, directory, store, blocks)


def audit(*, raises: bool = False) -> Any:
    """For PyTorch and pyadjoint: within `with reel.audit() as audit:` each value that comes back in the backward pass,
    from hooks, checkpoints or memory, is compared with what was saved. `audit.report()` names the differences with
    their lines and their causes; the first one is also a warning, or with `raises` a RuntimeError.

    It changes no result. Run the forward and the backward pass within the `with`, and enter all hooks within it. Import
    the library first: values of each of the two libraries that is imported are compared, or else those of PyTorch.
    """
    from ._audit import Audit
    return Audit(raises)


def schedule(planner: str, steps: Optional[int], tiers: Sequence[TierLike], **options: Any) -> Any:
    """A Plan, with its options, as a schedule: `tape.enable_checkpointing(reel.schedule("binomial", 1000, [20]))`."""
    from .schedules import PlanSchedule  # imports checkpoint_schedules
    return PlanSchedule(Plan(planner, steps, tiers, **options))


def check_schedule(schedule: Any, steps: int, *, ram: Optional[int] = None, disk: Optional[int] = None) -> Any:
    """Replay any schedule of checkpoint_schedules for a loop of `steps` steps; returns its counts.

    Raises a ValueError that names the first wrong action, also if more than `ram` or `disk` blocks of data are kept
    at a time.
    """
    from .schedules import replay
    return replay(schedule, steps, ram, disk)


__version__ = _lib.reel_version().decode()
__all__ = [  # without MemoryError, which would take the place of the built-in one
    "Accuracy", "Action", "ArgumentError", "audit", "check_gradient", "check_schedule", "checkpoint", "choose",
    "Counts", "Error", "GradientCheck", "KINDS", "offload", "PackageData", "Parcel", "Plan", "planners", "Pool",
    "Prediction", "Run", "save_now", "Schedule", "schedule", "Step", "StoreError", "Tier", "UnevenStep",
]
