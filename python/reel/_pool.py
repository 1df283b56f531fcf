# SPDX-License-Identifier: MIT
"""Pools and parcels: arrays that leave memory for a store, and come back."""

import ctypes
import errno
import math
import os
import sys
import weakref
from ctypes import byref, c_char, c_void_p
from itertools import compress, repeat
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy as np

from ._api import ParcelOptions, ParcelStats, PoolOptions, PoolStats
from ._ends import end_with
from ._errors import Uncopied, check, error_of
from ._library import lib
from ._sizes import Size, to_bytes, to_int, to_size_text, to_text

_LOOK_MS = 100
"""Milliseconds after which a wait for the store returns to Python, so that Ctrl-C is seen."""


def members(struct: ctypes.Structure) -> Dict[str, Any]:
    """The members of a struct of statistics by name; those of arrays are tuples."""
    values = {name: getattr(struct, name) for name, *_ in struct._fields_ if name != "reserved"}
    return {name: tuple(value) if isinstance(value, ctypes.Array) else value for name, value in values.items()}


class Lease:
    """A pool of the library, which its users share: it is closed with the last of them.

    `users` has the handle of each parcel and run by its id(), from before it is opened until its close has returned:
    a call that closes one releases the lock of the interpreter, and uses the pool to its end. The collector may end a
    pool before its parcels and runs, if they are in one cycle with it. Then the pool is `pending`, a list of its
    handle or of nothing, and whoever ends next closes it.
    """

    __slots__ = ("handle", "users", "pending")

    def __init__(self, handle: c_void_p) -> None:
        self.handle = handle
        self.users: Dict[int, c_void_p] = {}
        self.pending: List[c_void_p] = []

    def close(self) -> int:
        """Closes the pool; -EBUSY while it has users.

        A run is one also between sweeps, when it holds no slab and the library would close the pool under it.
        """
        return -errno.EBUSY if self.users else lib.reel_pool_close(self.handle)

    def end(self) -> None:
        self.pending.append(self.handle)
        self.end_if_pending()

    def enter(self, user: c_void_p) -> None:
        self.users[id(user)] = user

    def leave(self, user: c_void_p) -> None:
        self.users.pop(id(user), None)
        self.end_if_pending()

    def end_if_pending(self) -> None:
        if self.pending and not self.users:
            try:
                self.pending.pop()
            except IndexError:  # another thread closes it
                return
            lib.reel_pool_close(self.handle)


class Pool(Uncopied):
    """Memory under a budget, and a store for what has no room in it.

    `budget` is what may be in memory, a number of bytes or a text such as "4G", "60%" or "auto" (`REEL_BUDGET` in
    `reel/pool.h`), and a slab at least. With a `directory`, parcels that are not needed soon go to a file there, which has no name and is gone with the process. `store`
    describes other stores, as "lz4,file" or "memory=2G,file" (`reel/store.h`). Without either, a parcel that has
    no room is refused.

    Any thread may use a pool. It is closed with the last object that uses it, or by close(). At the end of a
    `with` it is closed as soon as its last parcel is gone.
    """

    def __init__(self, budget: Size, *, directory: Union[str, "os.PathLike[str]", None] = None,
                 store: Optional[str] = None, soft_budget: Size = 0, slab: Size = 0) -> None:
        options = PoolOptions(soft_budget=to_bytes(soft_budget, "soft_budget"), slab_bytes=to_bytes(slab, "slab"))
        check(lib.reel_pool_options_from_text(
            byref(options), to_size_text(budget, "budget"), to_text(store, "store"), to_text(directory, "directory")))
        handle = c_void_p()
        result = lib.reel_pool_open(byref(handle), byref(options))
        if result < 0:
            error = error_of(result)
            lib.reel_store_close(options.store)
            raise error
        self._lease = Lease(handle)
        self._end_with_object()

    def _end_with_object(self) -> None:
        self._finalizer = weakref.finalize(self, self._lease.end)
        # Threads may be in a call when the interpreter ends; the system takes memory and files back.
        self._finalizer.atexit = False

    def close(self) -> None:
        """Close the pool and its store now. BufferError: there are parcels of it, or a run uses it."""
        if not self._finalizer.alive:
            return
        result = -errno.EBUSY
        # Detached first: a signal's handler may raise after the call, and a user that comes now finds the pool closed.
        if not self._lease.users and self._finalizer.detach():
            result = self._lease.close()
            if result < 0:
                self._end_with_object()
        if result == -errno.EBUSY:
            raise BufferError("the pool has parcels or runs, which are to be closed first")
        check(result)

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
        kept, handles = _handles_of(parcels)
        if kept:
            check(lib.reel_parcel_announce(handles, len(kept)))

    def withdraw(self, parcels: Iterable["Parcel"]) -> None:
        """Take an announcement back for these parcels, of one view each."""
        kept, handles = _handles_of(parcels)
        lib.reel_parcel_withdraw(handles, len(kept))

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
    comes between the two. A pin with an address is unpinned when it ends.
    """

    __slots__ = ("parcel", "handle", "address", "__weakref__")

    def __init__(self, parcel: "LibraryParcel") -> None:
        self.parcel, self.handle = parcel, parcel._handle
        self.address = c_void_p()
        end_with(self, map(lib.reel_parcel_unpin, compress((self.handle,), (self.address,))))

    def take(self) -> int:
        """Pin the parcel and return its address. Ctrl-C ends the wait."""
        while True:
            result = lib.reel_parcel_pin_for(self.handle, byref(self.address), _LOOK_MS)
            if result != -errno.EAGAIN:
                break
        check(result)
        return self.address.value  # type: ignore[return-value]


class LibraryParcel(Uncopied):
    """A parcel of the library, which is closed once: by _end(), or with this object, which each array of it keeps.

    `_held` is a list of its handle, or of nothing once it is closed.
    """

    __slots__ = ("_pool", "_lease", "_handle", "_held", "_address", "_nbytes", "__weakref__")

    def __init__(self, pool: Pool, nbytes: int, options: Any) -> None:
        self._handle, self._address = c_void_p(), c_void_p()
        self._held = [self._handle]
        self._pool, self._lease, self._nbytes = pool, pool._lease, nbytes
        # An interrupt may come before the parcel is among the users of the pool.
        leave: Any = self._lease.users.pop
        end_with(self, self._close_calls(), map(leave, (id(self._handle),), (None,)),
                 map(Lease.end_if_pending, (self._lease,)))
        self._lease.enter(self._handle)
        try:
            check(lib.reel_parcel_open(byref(self._handle), pool._open(), nbytes, options, byref(self._address)))
        except BaseException:
            self._end()
            raise

    def _memory_at(self, address: Any, owner: Any) -> Any:
        """The bytes of the parcel. They keep `owner`, the parcel or a pin of it, as long as an array shows them."""
        memory = (c_char * max(self._nbytes, 1)).from_address(address)
        memory._owner = owner  # type: ignore[attr-defined]
        return memory

    def _pinned(self) -> Any:
        pin = Pin(self)
        return self._memory_at(pin.take(), pin)

    def _close_calls(self) -> Iterator[int]:
        """The result of the call that closes it, unless it is closed. The handle is taken away before the call."""
        take: Any = list.pop
        return map(lib.reel_parcel_close, map(take, compress((self._held,), (self._held,))))

    def _end(self) -> int:
        """Closes the parcel; -EBUSY while it is pinned. A handle that is not closed comes back with the call."""
        returned: Any = {0: ()}.get
        try:
            next(map(self._held.extend, map(returned, self._close_calls(), repeat((self._handle,)))), None)
        finally:
            if not self._held:
                self._lease.leave(self._handle)
        return -errno.EBUSY if self._held else 0


def _handles_of(parcels: "Iterable[Parcel]") -> Tuple[List["Parcel"], Any]:
    """The parcels and their handles. One that an iterator has made is closed as soon as nothing holds it."""
    kept = list(parcels)
    for parcel in kept:
        if not isinstance(parcel, Parcel):
            raise TypeError(f"parcels of a pool are expected, and not {parcel!r}")
    return kept, (c_void_p * len(kept))(*[parcel._sealed().value for parcel in kept])


def _element(dtype: "np.dtype[Any]") -> int:
    """The size of what a codec takes for one value; 0: it is not known."""
    return dtype.itemsize if dtype.kind in "fiub" and dtype.itemsize <= 16 else 0


class Parcel(LibraryParcel):
    """An array that may leave memory while nobody looks at it.

    A parcel is open first: view() is a writable array. seal() ends that; from then on the array may leave
    memory, and view() brings it back and gives a read-only array, which stays in memory as long as it, or an
    array that was made of it, lives. Arrays share the memory of the parcel; nothing is copied.

    One thread at a time opens, seals and closes a parcel; any thread may view it while it is sealed.
    """

    __slots__ = ("_shape", "_dtype", "_writable")

    def __init__(self, pool: Pool, shape: Union[int, Tuple[int, ...]], dtype: Any = float) -> None:
        dtype = np.dtype(dtype)
        if dtype.hasobject:
            raise TypeError("a parcel holds numbers and texts of fixed size, and no Python objects")
        shape = (tuple(to_int(n, "an extent") for n in shape) if isinstance(shape, (tuple, list))
                 else (to_int(shape, "an extent"),))
        # A type of arrays gives its extents to the parcel's shape, as in numpy.empty().
        self._shape, self._dtype = shape + dtype.shape, dtype.base
        nbytes = math.prod(self._shape, start=self._dtype.itemsize)
        if any(n < 0 for n in self._shape) or nbytes > sys.maxsize:
            raise ValueError(f"an array has no shape {self._shape}")
        self._writable: Optional["weakref.ref[Any]"] = None
        options = ParcelOptions()
        options.layout.element = _element(self._dtype)
        super().__init__(pool, nbytes, byref(options))

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> "np.dtype[Any]":
        return self._dtype

    @property
    def nbytes(self) -> int:
        return self._nbytes

    @property
    def is_open(self) -> bool:
        return bool(self._held) and self._address.value is not None

    @property
    def is_in_memory(self) -> bool:
        """An estimate: the next moment it may leave, or have come."""
        return self.is_open or lib.reel_parcel_is_in_memory(self._live())

    def _live(self) -> c_void_p:
        if not self._held:
            raise ValueError("the parcel is closed")
        return self._handle

    def _sealed(self) -> c_void_p:
        if self.is_open:
            raise ValueError("the parcel is open; seal it first")
        return self._live()

    def view(self) -> np.ndarray:
        """The array: writable while the parcel is open, read-only when it is sealed.

        Waits for the store if a sealed parcel is not in memory; Ctrl-C ends the wait.
        """
        if self.is_open:
            memory = self._memory()
            if memory is not None:
                return np.ndarray(self._shape, self._dtype, memory)
            memory = self._memory_at(self._address.value, self)
            self._writable = weakref.ref(memory)
            return np.ndarray(self._shape, self._dtype, memory)
        self._live()
        memory = self._pinned()
        if not self.nbytes:
            return np.ndarray(self._shape, self._dtype, memory)
        # numpy.ndarray() would look through the memoryview, and the array could be made writable.
        return np.frombuffer(memoryview(memory).toreadonly(), self._dtype).reshape(self._shape)

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
        # The address is taken away with the call: a signal's handler may raise before and after, and not in between.
        address, seal = self._address.value, lib.reel_parcel_seal if changed else lib.reel_parcel_seal_unchanged
        _, result = next(zip(map(self._address.__init__, (None,)), map(seal, (self._handle,))))  # type: ignore[misc]
        if result < 0:
            self._address.value = address
        check(result)

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
        if self._held and (self._memory() is not None or self._end() == -errno.EBUSY):
            raise BufferError("an array of the parcel is alive; delete it before the parcel is closed")

    def __repr__(self) -> str:
        state = "closed" if not self._held else "open" if self.is_open else "sealed"
        return f"<reel.Parcel {self._shape} {self._dtype} {state}>"
