# SPDX-License-Identifier: MIT
"""Pools and parcels: arrays that leave memory for a store, and come back."""

import ctypes
import errno
import os
import sys
import weakref
from ctypes import byref, c_char, c_void_p
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple, Union

import numpy as np

from ._errors import Uncopied, check, error_of
from ._library import ParcelOptions, ParcelStats, PoolOptions, PoolStats, lib
from ._sizes import Size, to_bytes, to_int

_LOOK_MS = 100
"""A wait for a store ends so often, for the interpreter to look at signals such as that of Ctrl-C."""


def members(struct: ctypes.Structure) -> Dict[str, Any]:
    """The members of a struct of statistics by name; those of arrays are tuples."""
    values = {name: getattr(struct, name) for name, *_ in struct._fields_ if name != "reserved"}
    return {name: tuple(value) if isinstance(value, ctypes.Array) else value for name, value in values.items()}


class Lease:
    """A pool of the library, which its users share: it is closed with the last of them.

    The collector may end a pool before its parcels and runs, if they are in one cycle with it. Then the pool is
    `pending`, a list of its handle or of nothing, and whoever ends next closes it.
    """

    __slots__ = ("handle", "runs", "pending")

    def __init__(self, handle: c_void_p) -> None:
        self.handle = handle
        self.runs: Set[Optional[int]] = set()
        self.pending: List[c_void_p] = []

    def close(self) -> int:
        """The library does not know that a run whose snapshots are gone will take memory again."""
        return -errno.EBUSY if self.runs else lib.reel_pool_close(self.handle)

    def end(self) -> None:
        if self.close() == -errno.EBUSY:
            self.pending.append(self.handle)

    def end_if_pending(self) -> None:
        if self.pending:
            try:
                self.pending.pop()
            except IndexError:  # another thread closes it
                return
            self.end()


class Pool(Uncopied):
    """Memory under a budget, and a store for what has no room in it.

    `budget` is what may be in memory, a number of bytes or a text such as "4G". With a `directory`, parcels
    that are not needed soon go to a file there, which has no name and is gone with the process. `store`
    describes other stores, as "lz4,file" or "memory=2G,file" (`reel/store.h`). Without either, a parcel that has
    no room is refused.

    Any thread may use a pool. It is closed with the last object that uses it, or by close(). At the end of a
    `with` it is closed as soon as its last parcel is gone.
    """

    def __init__(self, budget: Size, *, directory: Union[str, "os.PathLike[str]", None] = None,
                 store: Optional[str] = None, soft_budget: Size = 0, slab: Size = 0) -> None:
        options = PoolOptions(
            hard_budget=to_bytes(budget, "budget"), soft_budget=to_bytes(soft_budget, "soft_budget"),
            slab_bytes=to_bytes(slab, "slab"))
        handle, opened = c_void_p(), c_void_p()
        if directory is not None or store is not None:
            check(lib.reel_store_open(byref(opened), store.encode() if store is not None else None,
                                      os.fsencode(directory) if directory is not None else None))
            options.store = opened
        result = lib.reel_pool_open(byref(handle), byref(options))
        if result < 0:
            error = error_of(result)
            lib.reel_store_close(opened)
            raise error
        self._lease = Lease(handle)
        self._finalizer = weakref.finalize(self, self._lease.end)
        # Threads may be in a call when the interpreter ends; the system takes memory and files back.
        self._finalizer.atexit = False

    def close(self) -> None:
        """Close the pool and its store now. BufferError: there are parcels of it, or a run uses it."""
        if not self._finalizer.alive:
            return
        result = self._lease.close()
        if result == -errno.EBUSY:
            raise BufferError("the pool has parcels or runs, which are to be closed first")
        check(result)
        self._finalizer.detach()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: Any) -> None:
        self._finalizer()

    def _open(self) -> c_void_p:
        if not self._finalizer.alive:
            raise ValueError("the pool is closed")
        return self._lease.handle

    def empty(self, shape: Union[int, Tuple[int, ...]], dtype: Any = float) -> "Parcel":
        """A parcel that is open: view() is a writable array of this shape, whose contents are undefined."""
        return Parcel(self, shape, dtype)

    def keep(self, array: Any) -> "Parcel":
        """A sealed parcel with a copy of the array."""
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError("a parcel keeps no mask; keep array.data and array.mask")
        array = np.asarray(array)
        parcel = Parcel(self, array.shape, array.dtype)
        parcel.write(array)
        return parcel

    def announce(self, parcels: Iterable["Parcel"]) -> None:
        """Say in which order these parcels are viewed next, each once for each time that it is named.

        They are read ahead in this order, as far as the budget goes.
        """
        handles = [parcel._sealed().value for parcel in parcels]
        if handles:
            check(lib.reel_parcel_announce((c_void_p * len(handles))(*handles), len(handles)))

    def withdraw(self, parcels: Iterable["Parcel"]) -> None:
        """Take an announcement back for these parcels, of one view each."""
        handles = [parcel._sealed().value for parcel in parcels]
        lib.reel_parcel_withdraw((c_void_p * len(handles))(*handles), len(handles))

    def trim(self, keep: Size = 0) -> int:
        """Give idle memory above `keep` bytes back to the system; the number of bytes that went."""
        return lib.reel_pool_trim(self._open(), to_bytes(keep, "keep"))

    def stats(self) -> Dict[str, int]:
        """What the pool has in memory and has written and read: the members of `struct reel_pool_stats`."""
        stats = PoolStats()
        lib.reel_pool_get_stats(self._open(), byref(stats))
        return members(stats)

    def parcel_stats(self) -> Dict[str, int]:
        """The same of its parcels: `struct reel_parcel_stats`."""
        stats = ParcelStats()
        lib.reel_parcel_get_stats(self._open(), byref(stats))
        return members(stats)


class Pin:
    """Keeps a parcel in memory. Lives as long as the memory of the arrays that show the parcel.

    The library itself sets the address when the parcel is pinned, so that no exception of a signal's handler
    comes between the two.
    """

    __slots__ = ("parcel", "address")

    def __init__(self, parcel: Any) -> None:
        self.parcel = parcel
        self.address = c_void_p()

    def take(self) -> int:
        """Pin the parcel, which `_handle` of the object names, and return its address. Ctrl-C ends the wait."""
        while True:
            result = lib.reel_parcel_pin_for(self.parcel._handle, byref(self.address), _LOOK_MS)
            if result != -errno.EAGAIN:
                break
        check(result)
        return self.address.value  # type: ignore[return-value]

    def __del__(self) -> None:
        if self.address.value is not None:
            lib.reel_parcel_unpin(self.parcel._handle)


def _element(dtype: "np.dtype[Any]") -> int:
    """The size of what a codec takes for one value; 0: it is not known."""
    return dtype.itemsize if dtype.kind in "fiub" and dtype.itemsize <= 16 else 0


class Parcel(Uncopied):
    """An array that may leave memory while nobody looks at it.

    A parcel is open first: view() is a writable array. seal() ends that; from then on the array may leave
    memory, and view() brings it back and gives a read-only array, which stays in memory as long as it, or an
    array that was made of it, lives. Arrays share the memory of the parcel; nothing is copied.

    One thread at a time opens, seals and closes a parcel; any thread may view it while it is sealed.
    """

    __slots__ = ("_pool", "_lease", "_handle", "_shape", "_dtype", "_address", "_writable", "__weakref__")

    def __init__(self, pool: Pool, shape: Union[int, Tuple[int, ...]], dtype: Any = float) -> None:
        self._handle, self._address = c_void_p(), c_void_p()
        self._lease = pool._lease
        self._dtype = np.dtype(dtype)
        if self._dtype.hasobject:
            raise TypeError("a parcel holds numbers and texts of fixed size, and no Python objects")
        self._shape = (tuple(to_int(n, "an extent") for n in shape) if isinstance(shape, (tuple, list))
                       else (to_int(shape, "an extent"),))
        if any(n < 0 for n in self._shape) or self.nbytes > sys.maxsize:
            raise ValueError(f"an array has no shape {self._shape}")
        self._pool = pool
        self._writable: Optional["weakref.ref[Any]"] = None
        options = ParcelOptions()
        options.layout.element = _element(self._dtype)
        check(lib.reel_parcel_open(byref(self._handle), pool._open(), self.nbytes, byref(options),
                                   byref(self._address)))

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> "np.dtype[Any]":
        return self._dtype

    @property
    def nbytes(self) -> int:
        n = self._dtype.itemsize
        for extent in self._shape:
            n *= extent
        return n

    @property
    def is_open(self) -> bool:
        return self._handle.value is not None and self._address.value is not None

    @property
    def is_in_memory(self) -> bool:
        """An estimate: the next moment it may leave, or have come."""
        return self.is_open or lib.reel_parcel_is_in_memory(self._live())

    def _live(self) -> c_void_p:
        if self._handle.value is None:
            raise ValueError("the parcel is closed")
        return self._handle

    def _sealed(self) -> c_void_p:
        if self.is_open:
            raise ValueError("the parcel is open; seal it first")
        return self._live()

    def _array(self, address: Any, owner: Any, writable: bool) -> Tuple[np.ndarray, Any]:
        memory = (c_char * max(self.nbytes, 1)).from_address(address)
        # Keeps the parcel, or a pin of it, until the last array on this memory is gone.
        memory._owner = owner  # type: ignore[attr-defined]
        if writable or not self.nbytes:
            return np.ndarray(self._shape, self._dtype, memory), memory  # type: ignore[arg-type]
        # numpy.ndarray() would look through the memoryview, and the array could be made writable.
        return np.frombuffer(memoryview(memory).toreadonly(), self._dtype).reshape(self._shape), memory

    def view(self) -> np.ndarray:
        """The array: writable while the parcel is open, read-only when it is sealed.

        Waits for the store if a sealed parcel is not in memory; Ctrl-C ends the wait.
        """
        if self.is_open:
            memory = self._memory()
            if memory is not None:
                return np.ndarray(self._shape, self._dtype, memory)
            array, memory = self._array(self._address.value, self, True)
            self._writable = weakref.ref(memory)
            return array
        self._live()
        pin = Pin(self)
        return self._array(pin.take(), pin, False)[0]

    def _memory(self) -> Any:
        """The memory of the writable arrays that are alive, or None."""
        return self._writable() if self._writable else None

    def seal(self, *, changed: bool = True) -> None:
        """End the writing. BufferError: an array through which the parcel could be written is alive.

        With changed=False a parcel that was opened again is as it was, and is not written to the store again.
        """
        if self._memory() is not None:
            raise BufferError("a writable array of the parcel is alive; delete it before the parcel is sealed")
        self._live()
        check(lib.reel_parcel_seal(self._handle) if changed else lib.reel_parcel_seal_unchanged(self._handle))
        self._address, self._writable = c_void_p(), None

    def unseal(self) -> None:
        """Open the parcel again. BufferError: an array that shows it is alive."""
        result = lib.reel_parcel_unseal(self._sealed(), byref(self._address))
        if result == -errno.EBUSY:
            raise BufferError("an array of the parcel is alive; delete it before the parcel is unsealed")
        check(result)

    def write(self, array: Any) -> None:
        """Copy an array of the parcel's shape and type into it and seal it. BufferError: an array of it is alive."""
        array = np.asarray(array)
        if array.shape != self._shape or array.dtype != self._dtype:
            raise ValueError(f"the parcel has shape {self._shape} and type {self._dtype}, and the array {array.shape} "
                             f"and {array.dtype}")
        if self._memory() is not None:
            raise BufferError("a writable array of the parcel is alive; delete it before the parcel is written")
        if not self.is_open:
            self.unseal()
        np.copyto(self.view(), array)
        self.seal()

    def close(self) -> None:
        """Give the parcel up. BufferError: an array that shows it is alive."""
        if self._handle.value is None:
            return
        if self._memory() is not None or lib.reel_parcel_close(self._handle) == -errno.EBUSY:
            raise BufferError("an array of the parcel is alive; delete it before the parcel is closed")
        self._handle, self._address = c_void_p(), c_void_p()
        self._lease.end_if_pending()

    def __del__(self) -> None:
        # No array shows the parcel any more, since each array keeps its parcel alive.
        if self._handle.value is not None:
            lib.reel_parcel_close(self._handle)
            self._lease.end_if_pending()

    def __repr__(self) -> str:
        state = "closed" if self._handle.value is None else "open" if self.is_open else "sealed"
        return f"<reel.Parcel {self._shape} {self._dtype} {state}>"
