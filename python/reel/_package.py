# SPDX-License-Identifier: MIT
"""The disk steps of pyadjoint's tapes: their values are parcels."""

import contextlib
import functools
import weakref
from typing import Any, Callable, List, Optional

import numpy as np

from ._pool import Parcel, Pool

MIN_BYTES = 1024
"""A smaller array stays as it is: a parcel and its Python objects take more than it has."""

_covered: "weakref.WeakSet[type]" = weakref.WeakSet()
_active: "weakref.WeakSet[PackageData]" = weakref.WeakSet()
"""The packages that are between continue_checkpointing() and pause_checkpointing()."""


class _Group:
    """The values of one step. Steps are reversed from the last one on, so that `older` is needed next."""

    __slots__ = ("values", "older")

    def __init__(self, older: "Optional[_Group]") -> None:
        self.values: List["weakref.ref[Value]"] = []
        self.older = older

    def parcels(self) -> List[Parcel]:
        return [value._parcel for value in (reference() for reference in self.values) if value is not None]

    def next(self) -> List[Parcel]:
        """The parcels of the first older group of which a value is left. Groups between are forgotten."""
        while self.older is not None:
            parcels = self.older.parcels()
            if parcels:
                return parcels
            self.older = self.older.older
        return []


class Value:
    """Stands in a checkpoint for an array that is a parcel. The parcel goes with the last reference to it."""

    __slots__ = ("_package", "_group", "_parcel", "_type", "__weakref__")

    def __init__(self, package: "PackageData", group: _Group, array: np.ndarray) -> None:
        self._package, self._group, self._type = package, group, type(array)
        self._parcel: Parcel = package._pool.keep(array)
        group.values.append(weakref.ref(self))

    def array(self) -> np.ndarray:
        """The array, read-only, in memory as long as it lives."""
        self._package._look_at(self._group)
        return self._parcel.view().view(self._type)


def _cover(cls: type) -> None:
    """Change the functions of the class that make and restore checkpoints, so that a checkpoint may be a Value."""
    if cls in _covered:
        return
    create: Callable[[Any], Any] = getattr(cls, "_ad_create_checkpoint")
    restore: Callable[[Any, Any], Any] = getattr(cls, "_ad_restore_at_checkpoint")

    @functools.wraps(create)
    def create_checkpoint(self: Any) -> Any:
        value = create(self)
        for package in _active:
            if isinstance(self, package._types):
                return package._keep(value)
        return value

    @functools.wraps(restore)
    def restore_at_checkpoint(self: Any, checkpoint: Any) -> Any:
        return restore(self, checkpoint.array() if isinstance(checkpoint, Value) else checkpoint)

    setattr(cls, "_ad_create_checkpoint", create_checkpoint)
    setattr(cls, "_ad_restore_at_checkpoint", restore_at_checkpoint)
    _covered.add(cls)


class PackageData:
    """Values that a schedule of pyadjoint puts on DISK go to parcels of a pool:

        tape._package_data["reel"] = reel.PackageData(reel.Pool("4G", directory="/scratch"))
        tape.enable_checkpointing(reel.schedule("multistage", 1000, [10, 100]))

    `types` are the classes of pyadjoint whose checkpoints are arrays; without any, the class of numpy_adjoint. They
    are changed once, so that a checkpoint of them may be a parcel. Arrays below 1 KiB, of objects, or with a mask,
    and values of other classes stay as they are.

    A value is brought back when a block asks for it, as a read-only array. When the first value of a step is asked
    for, the rest of the step, and the step that is reversed next, are read ahead.
    """

    _newest: Optional[_Group] = None
    _looked_at: Optional[_Group] = None

    def __init__(self, pool: Pool, *types: type) -> None:
        if not types:
            from numpy_adjoint import ndarray  # type: ignore[import-not-found]
            types = (ndarray,)
        self._pool, self._types = pool, types
        for cls in types:
            _cover(cls)

    def _keep(self, value: Any) -> Any:
        if (not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray) or value.dtype.hasobject
                or value.nbytes < MIN_BYTES):
            return value
        assert self._newest is not None, "continue_checkpointing() makes a group"
        return Value(self, self._newest, value)

    def _look_at(self, group: _Group) -> None:
        if group is not self._looked_at:
            self._looked_at = group
            with contextlib.suppress(MemoryError):  # without memory for it, nothing is read ahead
                self._pool.announce(group.parcels() + group.next())

    def continue_checkpointing(self) -> None:
        """The checkpoints from here on belong to one more step on DISK."""
        self._newest = _Group(self._newest)
        _active.add(self)

    def pause_checkpointing(self) -> None:
        _active.discard(self)

    def clear(self) -> None:
        """The tape is cleared. Values are closed as the tape drops them."""
        self.pause_checkpointing()
        self._newest = self._looked_at = None

    reset = clear
    """Another forward sweep begins. Values stay, since it begins with the values of the first step."""

    def checkpoint(self) -> Any:
        return self._newest

    def restore_from_checkpoint(self, state: Any) -> None:
        self.clear()
        self._newest = state

    def copy(self) -> "PackageData":
        """For a copy of the tape, whose values go to the same pool."""
        return PackageData(self._pool, *self._types)
