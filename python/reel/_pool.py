# SPDX-License-Identifier: MIT
"""Pools and parcels: arrays that leave memory for a store, and come back."""

import ctypes
import errno
import math
import os
import sys
import weakref
from collections import deque
from ctypes import byref, c_char, c_void_p
from functools import partial
from itertools import compress, repeat
from operator import attrgetter
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

import numpy as np

from ._api import GpuStats, ParcelOptions, ParcelStats, PoolOptions, PoolStats
from ._ends import Lease, Leased, emptied, end_with
from ._errors import Error, check, error_of
from ._library import gpu_library, lib
from ._sizes import Size, to_bytes, to_int, to_size_text, to_text

_LOOK_MS = 100
"""Milliseconds after which a wait for the store returns to Python, so that Ctrl-C is seen."""


def members(struct: ctypes.Structure, get: Callable[..., None], lease: Lease) -> Dict[str, Any]:
    """The members of a struct of statistics, which get() fills, by name; arrays are tuples."""
    get(lease.handle, byref(struct))
    values = {name: getattr(struct, name) for name, *_ in struct._fields_ if name != "reserved"}
    return {name: tuple(value) if isinstance(value, ctypes.Array) else value for name, value in values.items()}


class Pool(Leased):
    """Memory under a budget, and a store for parcels that have no room in it.

    `budget` is the limit of memory, a number of bytes or a text such as "4G", "60%" or "auto" (`REEL_BUDGET` in
    `reel/pool.h`), and at least a slab; "shared:4G" is the limit of all the user's processes on the node together.
    With a `directory`, parcels that are not needed soon go to a file there, which has no name and is gone with the
    process. `store` describes other stores, as "lz4,file" or "memory=2G,file" (`reel/store.h`). Without either, a
    parcel that has no room is refused.

    Any thread may use a pool. It is closed with the last object that uses it, or by close(). At the end of a
    `with` it is closed as soon as its last parcel is gone.
    """

    _name = "pool"

    def __init__(self, budget: Size, *, directory: Union[str, "os.PathLike[str]", None] = None,
                 store: Optional[str] = None, soft_budget: Size = 0, slab: Size = 0) -> None:
        options = PoolOptions(soft_budget=to_bytes(soft_budget, "soft_budget"), slab_bytes=to_bytes(slab, "slab"))
        check(lib.reel_pool_options_from_text(
            byref(options), to_size_text(budget, "budget"), to_text(store, "store"), to_text(directory, "directory")))
        self._lease = Lease(lib.reel_pool_close)
        self._loans: Dict[int, List[Any]] = {}
        result = lib.reel_pool_open(byref(self._lease.handle), byref(options))
        if result < 0:
            error = error_of(result)
            lib.reel_store_close(options.store)
            raise error

    def close(self) -> None:
        """Close the pool and its store now. BufferError: there are parcels of it, or a run uses it."""
        if not self._let_go():
            raise BufferError("the pool has parcels or runs, which are to be closed first")

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: Any) -> None:
        self._lease = None

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
        """Say in which order these parcels are viewed next. One that is named twice is viewed twice, and so on.

        They are read ahead in this order, as far as the budget goes.
        """
        kept, handles = _handles_of(parcels)
        check(lib.reel_parcel_announce(handles, len(kept)))

    def withdraw(self, parcels: Iterable["Parcel"]) -> None:
        """Take back the announcement of one view of each of these parcels."""
        kept, handles = _handles_of(parcels)
        lib.reel_parcel_withdraw(handles, len(kept))

    def trim(self, keep: Size = 0) -> int:
        """Give idle memory above `keep` bytes back to the system. Returns the number of bytes given back."""
        return lib.reel_pool_trim(self._live().handle, to_bytes(keep, "keep"))

    def _pin(self, device: int) -> str:
        """Have the driver of this GPU pin the memory of the pool while it is resident. Returns "", or why not."""
        try:
            check(gpu_library().reel_gpu_pin_pool(self._live().handle, device))
        except (ImportError, Error) as error:
            return str(error)
        return ""

    def _pins(self) -> Dict[str, Any]:
        """After _pin(): pinned_bytes, and the refused_adoptions of frames that are not, with the last problem."""
        pins = members(GpuStats(), gpu_library().reel_gpu_get_pool_stats, self._live())
        return {**pins, "problem": pins["problem"].decode(errors="replace")}

    def _take_back(self) -> None:
        """Empty the list of each loan that has ended, whose objects kept the memory alive.

        No handler of a signal runs between the call that ends a loan and the call that empties its list.
        """
        if self._loans:
            returned: Any = iter(partial(lib.reel_parcel_take_back, self._live().handle), None)
            clear: Any = list.clear
            deque(map(clear, map(self._loans.pop, returned, repeat([]))), maxlen=0)

    def stats(self) -> Dict[str, int]:
        """The bytes in memory, written and read: the members of `struct reel_pool_stats`."""
        return members(PoolStats(), lib.reel_pool_get_stats, self._live())

    def parcel_stats(self) -> Dict[str, int]:
        """The statistics of its parcels: the members of `struct reel_parcel_stats`."""
        return members(ParcelStats(), lib.reel_parcel_get_stats, self._live())


class Pin:
    """Keeps a parcel in memory. Lives as long as the memory of the arrays that show the parcel. Ctrl-C ends the wait.

    The library itself sets the address when the parcel is pinned, so that no exception of a signal's handler
    comes between the two. A pin with an address is unpinned when it ends.
    """

    __slots__ = ("address", "__weakref__")

    def __init__(self, parcel: "LibraryParcel") -> None:
        lease = parcel._live()
        self.address = c_void_p()
        end_with(self, map(lib.reel_parcel_unpin, compress((lease.handle,), (self.address,))), emptied([lease]))
        result = -errno.EAGAIN
        while result == -errno.EAGAIN:
            result = lib.reel_parcel_pin_for(lease.handle, byref(self.address), _LOOK_MS)
        check(result)


class LibraryParcel(Leased):
    """A parcel of the library. Its lease is let go by close(), or with this object, which each array of it keeps."""

    _name = "parcel"
    __slots__ = ("_handle", "_address", "_nbytes", "__weakref__")

    def __init__(self, pool: Pool, nbytes: int, options: Any, lent: Optional[int] = None) -> None:
        """`lent` is the address of memory that is lent to a sealed parcel; without it the parcel is open."""
        its_pool = pool._live()
        self._lease = Lease(lib.reel_parcel_close, its_pool)
        self._handle, self._address, self._nbytes = self._lease.handle, c_void_p(), nbytes
        if lent is None:
            check(lib.reel_parcel_open(byref(self._handle), its_pool.handle, nbytes, options, byref(self._address)))
        else:
            check(lib.reel_parcel_lend(byref(self._handle), its_pool.handle, lent, nbytes, options))

    def _memory_at(self, address: Any, owner: Any) -> Any:
        """The bytes of the parcel. They keep `owner`, the parcel or a pin of it, as long as an array shows them."""
        memory = (c_char * max(self._nbytes, 1)).from_address(address)
        memory._owner = owner  # type: ignore[attr-defined]
        return memory

    def _pinned(self) -> Any:
        pin = Pin(self)
        return self._memory_at(pin.address.value, pin)


def _handles_of(parcels: "Iterable[Parcel]") -> Tuple[List["Parcel"], Any]:
    """The parcels and their handles. One that an iterator has made is closed as soon as nothing holds it."""
    kept = list(parcels)
    for parcel in kept:
        if not isinstance(parcel, Parcel):
            raise TypeError(f"parcels of a pool are expected, and not {parcel!r}")
    return kept, (c_void_p * len(kept))(*[parcel._sealed().value for parcel in kept])


class Parcel(LibraryParcel):
    """An array that may leave memory while no view of it exists.

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
        if self._dtype.kind in "fiub" and self._dtype.itemsize <= 16:  # a codec takes it for one value
            options.layout.element = self._dtype.itemsize
        super().__init__(pool, nbytes, byref(options))

    shape = property(attrgetter("_shape"))
    dtype = property(attrgetter("_dtype"))
    nbytes = property(attrgetter("_nbytes"))

    @property
    def is_open(self) -> bool:
        return self._lease is not None and self._address.value is not None

    @property
    def is_in_memory(self) -> bool:
        """An estimate: the parcel may leave memory or come back at any moment."""
        return self.is_open or lib.reel_parcel_is_in_memory(self._live().handle)

    def _sealed(self) -> c_void_p:
        if self.is_open:
            raise ValueError("the parcel is open; seal it first")
        return self._live().handle

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
        if self._memory() is not None or not self._let_go():
            raise BufferError("an array of the parcel is alive; delete it before the parcel is closed")

    def __repr__(self) -> str:
        state = "closed" if self._lease is None else "open" if self.is_open else "sealed"
        return f"<reel.Parcel {self._shape} {self._dtype} {state}>"
