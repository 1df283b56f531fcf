# SPDX-License-Identifier: MIT
"""The tensors that PyTorch saves for the backward pass, as parcels.

torch calls a hook, pack(), for each tensor that an operation saves, keeps the result of the hook, and calls
unpack() with it when the backward pass needs the tensor.
"""

import ctypes
import functools
import itertools
import os
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from ctypes import byref, c_int, c_size_t, c_void_p
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple, Union

from ._errors import Error, Uncopied, check
from ._library import lib
from ._pool import LibraryParcel, Pool
from ._sizes import Size, to_bytes

try:
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
except ImportError as error:
    raise ImportError(f"reel.offload() needs PyTorch, which cannot be imported: {error}") from None
try:
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass  # type: ignore[attr-defined]
except ImportError:  # before PyTorch 2.1
    def is_traceable_wrapper_subclass(tensor: Any) -> bool:  # type: ignore[misc]
        return False
from ._device import Transfer, device_of, end_first_of_all  # imports torch

_FIRST_ANNOUNCED, _MAX_ANNOUNCED = 32, 4096
"""The first announcement has the first number of tensors, and each later one twice the number of the one before, up to
the second number: after a change of the order few tensors are read in vain, and a long sweep announces rarely."""

_LENT_BYTES = 64 << 10
"""From this size on the memory of a tensor is lent to its parcel, unless it goes to a batch; else it is copied."""

_MAX_BATCH_BYTES = 2 << 20
"""A batch has the size of a slab, and this one at most."""

_MAX_MOVING = 256 << 20
"""Copies of at most this many bytes are under way to a device, and as many from it, or a quarter of the budget: they
take memory on both sides."""

_MAX_LOOK = 256
"""The number of tensors among which those are found that the backward pass needs next."""

_RESAVED_BYTES = 1 << 20
"""A tensor of a device below this size is copied again when another operation saves it."""

_ALIGNMENT = 64
"""Of the memory of tensors and parcels. A tensor that comes back is aligned as it was: kernels that see another
alignment may add in another order."""


@functools.lru_cache(maxsize=None)
def _map_large_blocks() -> None:
    """Has glibc map the memory of large tensors one by one from now on, and so give it back when they are freed.

    glibc does so at first, and raises the threshold with each such block that is freed. Aligned blocks from its heap
    are then hardly used again: a chain of 1 GiB of tensors of which nothing is kept has 1.1 GiB resident, and 32 MiB
    with a fixed threshold. It is fixed for the rest of the process, unless the environment sets a threshold.
    """
    malloc = ctypes.CDLL(None)
    if ("MALLOC_MMAP_THRESHOLD_" not in os.environ and "mmap_threshold" not in os.environ.get("GLIBC_TUNABLES", "") and
            hasattr(malloc, "mallopt")):  # musl has none
        malloc.mallopt(-3, 128 << 10)  # M_MMAP_THRESHOLD, and its first value


# These hold the lock of the interpreter: no other thread of Python runs meanwhile.
_seal = ctypes.PYFUNCTYPE(c_int, c_void_p)(("reel_parcel_seal", lib))
_memmove = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t)(("memmove", ctypes.CDLL(None)))
_memcmp = ctypes.PYFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)(("memcmp", ctypes.CDLL(None)))

# PyTorch before 2.5 has the second one.
_OUT_OF_MEMORY: Any = MemoryError, getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)

# PyTorch 1 has the second one, which its storage() wraps.
_storage_of: Any = getattr(torch.Tensor, "untyped_storage", None) or torch.Tensor._storage


_nodes_made: Any = getattr(torch._C._autograd, "_get_sequence_nr", None)
"""The function that returns the number of nodes of graphs that this thread has made."""
if _nodes_made is None:  # before PyTorch 2.1
    _nodes_made = getattr(ctypes.PyDLL(torch._C.__file__), "_ZN2at15sequence_number4peekEv", None)
    if _nodes_made is None:
        raise ImportError(f"reel.offload() cannot tell operations of PyTorch {torch.__version__} apart, which has no "
                          "at::sequence_number::peek(); install PyTorch 2.1 or later")
    _nodes_made.restype = ctypes.c_uint64


class Operation(threading.local):
    """The operation of this thread that saved the last tensor.

    An operation saves its arguments before it computes, and some operations then write to them: rrelu() fills its
    noise, whose version torch leaves as it is. So the contents of a tensor are known, at the earliest, when the thread
    saves one of a later operation, or leaves the `with`. An operation makes its node before it saves; hence hooks
    between which no node was made may belong to one operation.
    """

    nodes = 0

    def begin_hook(self) -> None:
        nodes = _nodes_made()
        if nodes != self.nodes:
            self.end_operation()
            self.nodes = nodes

    def end_operation(self) -> None:
        raise NotImplementedError


class _Waiting(Operation):
    """The tensors that the operation saved, and that no one may copy yet.

    `stream` is the one that writes the tensor that is copied now, if that is on a device with streams.
    """

    def __init__(self) -> None:
        self.packed: "Deque[weakref.ref[_Packed]]" = deque()
        self.operation = object()
        self.stream: Any = None

    def end_operation(self) -> None:
        """Give the tensors that wait to parcels.

        A tensor whose parcel fails stays in memory, and it is not tried again.
        """
        self.operation = object()
        while self.packed:
            packed = self.packed.popleft()()
            if packed is not None:
                packed.save()


_waiting = _Waiting()


@functools.lru_cache(maxsize=None)
def _empty_on(device: Any) -> Any:
    return torch.empty(0, device=device)


class _Counter:
    """Finds a change in place of a tensor since it was saved.

    torch makes this check only of tensors that no hook has packed. Tensors that share memory as views share a counter
    of their changes, which lives as long as one of them. `alias` is one of them, and has no memory; or it is the saved
    tensor itself, which stays in memory. It is detached, since the graph would keep itself alive by its own result.
    """

    __slots__ = ("alias", "version", "dtype", "kept")

    def __init__(self, tensor: Any, empty: Any, kept: "Optional[_Kept]" = None) -> None:
        self.alias, self.dtype, self.kept = tensor.detach(), tensor.dtype, kept
        self.version = self.alias._version
        if empty is not None:
            self.alias.data = empty  # another memory and type, and the same counter

    def is_changed(self) -> bool:
        return self.alias._version != self.version

    def check(self) -> None:
        if self.is_changed():
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"a tensor of {self.dtype} is at version {self.alias._version}; expected version "
                f"{self.version} instead")

    def counted(self, tensor: Any) -> Any:
        """A tensor on the memory of this one, whose changes count as changes of the saved tensor.

        The backward() of a custom function may write to what it gets. Other operations that saved the same tensor would
        then find other numbers, without an error.
        """
        counted = self.alias.detach()
        counted.data = tensor
        return counted


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _Shape:
    """How a tensor shows its storage: with its strides, so that kernels take the same way through it."""

    __slots__ = ("dtype", "size", "stride", "offset", "itemsize", "is_conj", "is_neg", "shown", "extent", "nbytes",
                 "is_private")

    def __init__(self, tensor: Any) -> None:
        self.dtype, self.itemsize = tensor.dtype, tensor.element_size()
        self.size, self.stride, self.offset = tensor.size(), tensor.stride(), tensor.storage_offset()
        # Complex numbers that are conjugated, or the imaginary part of such, when they are read.
        self.is_conj, self.is_neg = tensor.is_conj(), tensor.is_neg()
        # The number of elements of the storage that the tensor shows, and of those from the first of them to the last
        # one. An expanded dimension has stride 0, and its elements are there once.
        self.shown = self.extent = 1
        for n, stride in zip(self.size, self.stride):
            self.extent += (n - 1) * stride
            if stride or not n:
                self.shown *= n
        if not self.shown:
            self.extent = 0
        self.nbytes = min(self.shown, self.extent) * self.itemsize
        # The backward pass of compiled code may write to it, or make it part of another tensor.
        self.is_private = False

    def once(self) -> Any:
        """The size, with 1 for each dimension that is expanded."""
        return [n if stride else 1 for n, stride in zip(self.size, self.stride)]

    def show(self, storage: Any, offset: int, size: Any, stride: Any = None) -> Any:
        tensor = torch.empty(0, dtype=self.dtype, device=storage.device)
        return tensor.set_(storage, offset, size, self.stride if stride is None else stride)

    def bits(self, storage: Any, offset: int) -> Any:
        """The elements as integers, which compare bit for bit. One of 16 bytes is two integers."""
        n = max(self.itemsize // 8, 1)
        tensor = torch.empty(0, dtype=_INTEGERS[self.itemsize // n], device=storage.device)
        return tensor.set_(storage, offset * n, (*self.once(), n), (*(stride * n for stride in self.stride), 1))

    def spread(self, elements: Any) -> Any:
        """A tensor with these elements, which are those that are not expanded."""
        offset = self.offset % (_ALIGNMENT // self.itemsize)
        memory = torch.empty(offset + self.extent, dtype=self.dtype, device=elements.device)
        memory.as_strided(self.once(), self.stride, offset).copy_(elements)
        return self.of(memory.as_strided(self.size, self.stride, offset))

    def of(self, tensor: Any) -> Any:
        if self.is_conj:
            tensor = tensor.conj()
        return torch._neg_view(tensor) if self.is_neg else tensor


class _Parts(weakref.WeakValueDictionary):  # type: ignore[type-arg]
    """The copies of parts of a storage, by the part, and their bytes."""

    nbytes = 0


def _none() -> None:
    """A reference to an object that is gone."""


class _Storage:
    """The storage of a tensor and its views at one version, and where copies of it are: of all of it, and of parts.

    It is known by its owner, the tensor that the others are views of. The reference `owner` tells this tensor from a
    later one at the same address.
    """

    __slots__ = ("owner", "address", "nbytes", "device", "counter", "whole", "parts", "__weakref__")

    def __init__(self, owner: Any, storage: Any, counter: _Counter) -> None:
        self.owner = weakref.ref(owner)
        self.address, self.nbytes, self.device = storage.data_ptr(), storage.nbytes(), storage.device
        self.counter = counter
        self.whole: Callable[[], Any] = _none
        self.parts: Optional[_Parts] = None

    def is_still(self, owner: Any, storage: Any, version: int) -> bool:
        return (self.owner() is owner and self.address == storage.data_ptr() and self.nbytes == storage.nbytes() and
                self.counter.version == version and not self.counter.is_changed())

    def save(self, offload: "Offload", storage: Any, shape: _Shape) -> "Union[_Saved, _Batched]":
        """The copy of the part that the shape shows, or of all of the storage.

        A small part of a storage goes alone, such as some rows of a data set. The copies of parts that are alive come
        to the size of the storage at most, unless that is more than the budget. A version says little: torch changes
        the running statistics of a batch normalisation without one, and a NumPy array may share the memory. So a
        copy is taken for a second one only where it has the same bits.
        """
        key = (shape.dtype, shape.offset, shape.size, shape.stride)
        saved, parts = self.whole(), self.parts
        if saved is None and parts is not None:
            saved = parts.get(key)
        if saved is not None:
            if saved.has(storage, shape):
                return saved
            self.whole, self.parts = _none, None
            parts = None
        nbytes, in_parts = shape.nbytes, 0 if parts is None else parts.nbytes
        if self.nbytes <= offload._budget and (2 * nbytes > self.nbytes or in_parts + nbytes > self.nbytes):
            saved = self._copy(offload, 0, self.nbytes, storage, shape)
            self.whole = weakref.ref(saved)
            return saved
        if shape.shown >= shape.extent:
            first = shape.offset * shape.itemsize
            first -= first % _ALIGNMENT
            saved = self._copy(offload, first, (shape.offset + shape.extent) * shape.itemsize - first, storage, shape)
        else:
            saved = self._copy(offload, None, nbytes, storage, shape)
        if parts is None:
            parts = self.parts = _Parts()
        saved.parts = parts
        parts.nbytes += saved._nbytes
        parts[key] = saved
        return saved

    def _copy(self, offload: "Offload", first: Optional[int], nbytes: int, storage: Any, shape: _Shape) -> Any:
        if nbytes <= offload._batch_bytes // 8 and self.device.type == "cpu":
            return _Batched(offload, first, nbytes, storage, shape)
        kind = _Saved if device_of(storage.device) is None else _Streamed
        return kind(offload, self, first, nbytes, storage, shape)


class _Batch(LibraryParcel):
    """A parcel with copies of small tensors of the CPU, side by side.

    One thread copies them there while the parcel is open, until it is full. The batches that were read last stay pinned
    by their storages in `Offload._recent`, so that the next tensor on one of them needs no call of the library.
    """

    __slots__ = ("offload", "base", "used", "number", "turn")
    is_leaving = False

    def __init__(self, offload: "Offload") -> None:
        super().__init__(offload.pool, offload._batch_bytes, None)
        self.offload, self.used = offload, 0
        self.base: Any = self._address.value
        self.number, self.turn = -1, None

    @property
    def saved(self) -> "_Batch":
        """The parcel to announce, as in a _Packed."""
        return self

    def storage(self, at: int, nbytes: int) -> Tuple[Any, int]:
        """A storage, and where in it the bytes are that the batch has at `at`."""
        recent = self.offload._recent
        for batch, storage in recent:
            if batch() is self:
                return storage, at
        if self._address:
            copy = torch.empty(nbytes, dtype=torch.uint8, device="cpu")
            # The thread of the batch cannot seal it between the look at the address and the end of the copy.
            if [*map(_memmove, (copy.data_ptr(),), itertools.compress((self.base + at,), (self._address,)), (nbytes,))]:
                return _storage_of(copy), 0
        self.offload._read_ahead(self)
        del recent[:max(len(recent) + 1 - self.offload._max_recent, 0)]
        storage = _storage_of(torch.frombuffer(self._pinned(), dtype=torch.uint8))
        recent.append((weakref.ref(self, functools.partial(_forget, recent)), storage))
        return storage, at


def _forget(recent: List[Any], gone: Any) -> None:
    recent[:] = [(batch, storage) for batch, storage in recent if batch is not gone]


class _Thread(threading.local):
    """`open` is the batch that this thread copies to, if there is one."""

    open: Callable[[], Optional[_Batch]] = staticmethod(_none)

    def copy(self, offload: "Offload", source: Any, first: int, nbytes: int) -> Tuple[_Batch, int]:
        """The batch that has a copy of these bytes of a tensor or a storage, and the place of the copy there."""
        batch = self.open()
        if batch is None or batch.used + nbytes > batch._nbytes:
            self.seal()
            batch = _Batch(offload)
            self.open = weakref.ref(batch)
        at = batch.used
        batch.used = at + nbytes + -nbytes % _ALIGNMENT
        _memmove(batch.base + at, source.data_ptr() + first, nbytes)
        return batch, at

    def seal(self) -> None:
        """Seal the batch that is open, if there is one."""
        batch, self.open = self.open(), _none
        if batch is not None:
            # In one step: another thread either copies what it reads or pins the batch.
            next(zip(map(_seal, (batch._handle,)), map(batch._address.__init__, (None,))))  # type: ignore[misc]
            batch.number = next(batch.offload._numbers)
            batch.offload._order[batch.number] = batch


class _Copy:
    """A copy of the bytes of a storage from `first` on; or, if that is None, of the elements of one shape.

    `operation` is the one that saved it first. `parts` counts it if it is not of all of the storage.
    """

    __slots__ = ()
    first: Optional[int]
    parts: Optional[_Parts]
    operation: object
    _nbytes: int

    def tensor(self, shape: _Shape) -> Any:
        """The tensor of this shape.

        On the CPU it lies in the memory of the parcel, which stays pinned until the last tensor on it is gone. That
        takes some 10 us, a copy 0.1 ms more for each MiB; and torch's operations write to no saved tensor.
        """
        storage, at = self._place()
        if self.first is None:
            return shape.spread(shape.show(storage, at // shape.itemsize, shape.once(), ()))
        offset = shape.offset + (at - self.first) // shape.itemsize
        if shape.is_private:
            return shape.spread(shape.show(storage, offset, shape.once()))
        return shape.of(shape.show(storage, offset, shape.size))

    def _place(self) -> Tuple[Any, int]:
        """A storage that has the copy, and where."""
        raise NotImplementedError

    def __del__(self) -> None:
        if self.parts is not None:
            self.parts.nbytes -= self._nbytes


class _Batched(_Copy):
    """A copy in a batch, at `at`."""

    __slots__ = ("batch", "at", "first", "parts", "operation", "_nbytes", "__weakref__")

    def __init__(self, offload: "Offload", first: Optional[int], nbytes: int, storage: Any, shape: _Shape) -> None:
        self.parts, self.first, self._nbytes, self.operation = None, first, nbytes, _waiting.operation
        self.batch, self.at = offload._thread.copy(offload, *self._source(storage, shape), nbytes)

    def _source(self, storage: Any, shape: _Shape) -> Tuple[Any, int]:
        """A tensor or a storage, and where in its memory the bytes are."""
        if self.first is not None:
            return storage, self.first
        return shape.show(storage, shape.offset, shape.once()).clone(memory_format=torch.contiguous_format), 0

    def has(self, storage: Any, shape: _Shape) -> bool:
        """Whether it has the part of a storage that the shape shows. No other thread's batch is read for that."""
        if self.operation is _waiting.operation:
            return True
        batch = self.batch
        if batch is batch.offload._thread.open():
            address = batch.base
        elif batch._address or not lib.reel_parcel_is_in_memory(batch._handle):
            return False
        else:
            memory = batch._pinned()  # until this function returns
            address = ctypes.addressof(memory)
        source, first = self._source(storage, shape)
        return not _memcmp(address + self.at, source.data_ptr() + first, self._nbytes)

    def _place(self) -> Tuple[Any, int]:
        return self.batch.storage(self.at, self._nbytes)


class _Saved(LibraryParcel, _Copy):
    """A copy in a parcel of its own.

    `loan` is the storage itself, as long as its memory is lent to the parcel, and a reference to this object.
    """

    __slots__ = ("offload", "storage", "parts", "first", "loan", "operation")
    is_leaving = False
    """The device still writes the parcel, which is open."""

    def __init__(self, offload: "Offload", known: _Storage, first: Any, nbytes: int, storage: Any,
                 shape: _Shape) -> None:
        self.offload, self.storage, self.first = offload, known, first
        self.parts, self.operation = None, _waiting.operation
        if not self._lend(storage, nbytes):
            self.loan: List[Any] = []
            super().__init__(offload.pool, nbytes, None)
            self._copy(storage, shape)

    def _lend(self, storage: Any, nbytes: int) -> bool:
        """False: it has to be copied. Memory that is lent to another parcel and has changed since is not lent again."""
        pool, address = self.offload.pool, storage.data_ptr()
        pool._take_back()
        self.loan = [storage, weakref.ref(self)]
        if (storage.device.type != "cpu" or nbytes < max(_LENT_BYTES, storage.nbytes()) or
                pool._loans.setdefault(address, self.loan) is not self.loan):
            return False
        try:
            super().__init__(pool, nbytes, None, address)
        finally:
            if not getattr(self, "_handle", None):
                pool._loans.pop(address, None)
        pool._take_back()
        return True

    def _source_and_target(self, storage: Any, shape: _Shape) -> Tuple[Any, Any]:
        """Tensors on the bytes to save, and on the parcel, which is open. The second one keeps this object."""
        memory = self._memory_at(self._address.value, self)
        if self.first is None:
            size = shape.once()
            return shape.show(storage, shape.offset, size), torch.frombuffer(memory, dtype=shape.dtype).view(size)
        source = torch.empty(0, dtype=torch.uint8, device=storage.device)
        return (source.set_(storage, self.first, (self._nbytes,), (1,)), torch.frombuffer(memory, dtype=torch.uint8))

    def _copy(self, storage: Any, shape: _Shape) -> None:
        if self.first is not None and storage.device.type == "cpu":
            ctypes.memmove(self._address, storage.data_ptr() + self.first, self._nbytes)
        else:
            source, target = self._source_and_target(storage, shape)
            target.copy_(source)
        check(lib.reel_parcel_seal(self._handle))

    def _sealed_tensor(self, dtype: Any) -> Any:
        return torch.frombuffer(self._pinned(), dtype=dtype)

    def has(self, storage: Any, shape: _Shape) -> bool:
        """Whether it has the part of a storage that the shape shows. It is read for that only if it is in memory."""
        if self.operation is _waiting.operation:  # x * x saves x twice
            return True
        if _is_lent(storage, self.loan):
            return self._is_put_anew(storage.data_ptr())
        if not lib.reel_parcel_is_in_memory(self._handle):
            return False
        wanted = shape.bits(storage, shape.offset)
        if self.first is None:
            bits = self._sealed_tensor(wanted.dtype).view(wanted.size())
        else:
            storage = _storage_of(self._sealed_tensor(torch.uint8))
            bits = shape.bits(storage, shape.offset - self.first // shape.itemsize)
        return torch.equal(bits.to(wanted.device), wanted)

    def _is_put_anew(self, address: int) -> bool:
        """Whether the memory that is lent is written to the store again, if it was already.

        It may have changed since without a version, and what is saved now has to have the present bits. False: the
        parcel does not lie there any more.
        """
        found = c_void_p()
        # No handler of a signal runs between the two calls.
        unsealed, _ = next(zip(map(lib.reel_parcel_unseal, (self._handle,), (byref(found),)),
                               map(lib.reel_parcel_seal, (self._handle,))))
        return unsealed == 0 and found.value == address

    def _place(self) -> Tuple[Any, int]:
        storage: Any = next(iter(self.loan), None)
        if storage is None:
            storage = _storage_of(self._sealed_tensor(torch.uint8).to(self.storage.device))
        return storage, 0

    def __del__(self) -> None:
        if hasattr(self, "loan"):
            super().__del__()
            self._lease = None
            self.offload.pool._take_back()


class _Arrival:
    """A copy of a parcel on a device, in memory that was taken on `stream`. It is there when `transfer` has ended."""

    __slots__ = ("offload", "tensor", "transfer", "stream")

    def __init__(self, offload: "Offload", tensor: Any, transfer: Transfer, stream: Any) -> None:
        self.offload, self.tensor, self.transfer, self.stream = offload, tensor, transfer, stream
        offload._arriving_bytes += tensor.numel()

    def storage_on(self, stream: Any) -> Any:
        """Its storage, for operations of this stream."""
        stream.wait_event(self.transfer.event)
        if stream != self.stream:
            self.tensor.record_stream(stream)
        # Operations that reuse the memory come after this wait.
        del self.transfer.held[1:]
        return _storage_of(self.tensor)

    def __del__(self) -> None:
        self.offload._arriving_bytes -= self.tensor.numel()


class _Streamed(_Saved):
    """A copy of a tensor of a device with streams.

    `leaving` is the copy to the parcel, which is sealed when that has ended. `arrival` is a copy back that was begun
    before the backward pass needed the tensor.
    """

    __slots__ = ("device", "leaving", "arrival", "_shown")

    def __init__(self, offload: "Offload", known: _Storage, first: Any, nbytes: int, storage: Any,
                 shape: _Shape) -> None:
        self.device: Any = device_of(storage.device)
        self._shown: Any = None, None
        self.arrival: Optional[_Arrival] = None
        self.device.back.end_past()  # or the frames of the last backward pass would not serve this forward pass
        self.device.out.limit(offload._max_moving)
        offload._pin(storage.device)
        super().__init__(offload, known, first, nbytes, storage, shape)

    def _copy(self, storage: Any, shape: _Shape) -> None:
        source, target = self._source_and_target(storage, shape)
        self.leaving = self.device.out.begin(target, source, _waiting.stream, [target, storage],
                                             map(_seal, (self._handle,)))

    @property
    def is_leaving(self) -> bool:  # type: ignore[override]
        return bool(self.leaving.held)

    def has(self, storage: Any, shape: _Shape) -> bool:
        """As in a _Saved. A comparison would wait for the device, so a large tensor is taken for the same one.

        Those that operations of a device change without a version are small, as the statistics of a normalisation.
        """
        return self.operation is _waiting.operation or self._nbytes >= _RESAVED_BYTES

    def tensor(self, shape: _Shape) -> Any:
        """As in a _Copy. While the copy to the parcel is under way, it is the tensor itself."""
        for storage in self.leaving.held[1:]:
            if shape.is_private:
                return shape.spread(shape.show(storage, shape.offset, shape.once()))
            return shape.of(shape.show(storage, shape.offset, shape.size))
        return super().tensor(shape)

    def _place(self) -> Tuple[Any, int]:
        """All tensors that are there at the same time on one stream share a copy.

        Streams share none: the device's allocator may reuse memory in the order of the stream that it was taken on.
        """
        stream = self.device.stream()
        storage = self._shown_on(stream)
        if storage is not None:
            lib.reel_parcel_withdraw(byref(self._handle), 1)
            return storage, 0
        arrival = self.arrival
        if arrival is None:
            self.offload._end_arrivals()  # the backward pass takes another order
            arrival = self._fetch(stream)
        self.arrival = None
        storage = arrival.storage_on(stream)
        self._shown = StorageWeakRef(storage), stream
        return storage, 0

    def _shown_on(self, stream: Any) -> Any:
        shown, its_stream = self._shown
        if shown is None or stream != its_stream:
            return None
        return torch.UntypedStorage._new_with_weak_ptr(shown.cdata)

    def _fetch(self, stream: Any) -> _Arrival:
        """Begin to copy the parcel to memory of this stream."""
        self.device.back.limit(self.offload._max_moving)
        source = self._sealed_tensor(torch.uint8)
        with self.device.on(stream):
            target = torch.empty(self._nbytes, dtype=torch.uint8, device=self.device.device)
        transfer = self.device.back.begin(target, source, stream, [source, target])
        return _Arrival(self.offload, target, transfer, stream)

    def fetch_ahead(self, stream: Any) -> bool:
        """Have it on the device when an operation of this stream needs it. False: there is no room, or it is stored."""
        if self.is_leaving or self.arrival is not None or self._shown_on(stream) is not None:
            return True
        offload = self.offload
        if offload._arriving_bytes and offload._arriving_bytes + self._nbytes > offload._max_moving:
            return False
        if not lib.reel_parcel_is_in_memory(self._handle):
            return False
        try:
            self.arrival = self._fetch(stream)
        except (Error, RuntimeError):  # as there is too little memory on the device; what unpacks the tensor says it
            return False
        offload._arrivals.add(self)
        return True


_offloads: "weakref.WeakSet[Offload]" = weakref.WeakSet()


def _end_loans(storage: Any) -> None:
    """A parcel must not read from memory that is gone. So each function that exchanges it calls this first.

    From then on the storage itself is kept in place of a parcel, as without Reel.
    """
    for pool in [offload.pool for offload in list(_offloads)]:
        for address, loan in list(pool._loans.items()):
            if not _is_lent(storage, loan):
                continue
            saved = loan[1]()
            if saved is not None:
                saved.loan, saved._lease = [storage], None
            while pool._loans.get(address) is loan:  # until a put that is under way has ended
                pool._take_back()
                time.sleep(1e-4)


def _move(storage: Any, original: Any, *arguments: Any) -> Any:
    _end_loans(storage)
    return original(storage, *arguments)


def _resize(tensor: Any, original: Any, *arguments: Any, **named: Any) -> Any:
    if type(tensor) is torch.Tensor and tensor.layout is torch.strided:
        _end_loans(_storage_of(tensor))
    return original(tensor, *arguments, **named)


def _is_lent(storage: Any, loan: List[Any]) -> bool:
    return any(lent._cdata == storage._cdata for lent in loan[:1])


# The others move a tensor to memory that processes share: share_memory_(), a queue of torch.multiprocessing.
for _name in "resize_", "_share_fd_cpu_", "_share_filename_cpu_":
    setattr(torch.UntypedStorage, _name, functools.partialmethod(_move, getattr(torch.UntypedStorage, _name)))
for _name in "resize_", "resize_as_":
    setattr(torch.Tensor, _name, functools.partialmethod(_resize, getattr(torch.Tensor, _name)))


def _forget_loans() -> None:
    """In the child of a fork: no put is under way there, so only its tensors keep a storage alive."""
    for offload in _offloads:
        offload.pool._loans.clear()
        offload._thread.open = _none  # or the child writes to a batch of the parent


os.register_at_fork(after_in_child=_forget_loans)


class _Kept:
    """Memory outside of the parcels that saved tensors hold, which is counted as long as they do."""

    __slots__ = ("offload", "nbytes", "__weakref__")

    def __init__(self, offload: "Offload", nbytes: int) -> None:
        self.offload, self.nbytes = offload, nbytes
        offload.outside_bytes += nbytes

    def __del__(self) -> None:
        self.offload.outside_bytes -= self.nbytes


class _Announcement:
    """Tensors that were announced together, by their numbers, and how many of them were unpacked or skipped."""

    __slots__ = ("numbers", "place", "is_last")

    def __init__(self, numbers: List[int]) -> None:
        self.numbers, self.place, self.is_last = numbers, 0, True


class _Packed:
    """The graph keeps this for a tensor: `held`, the tensor itself, until its operation has ended, and then `saved`.

    `turn` is its announcement, if there is one, and its place there.
    """

    __slots__ = ("offload", "counter", "shape", "storage", "stream", "held", "kept", "saved", "number", "turn",
                 "__weakref__")

    def __init__(self, offload: "Offload", counter: _Counter, shape: _Shape, storage: _Storage, tensor: Any) -> None:
        self.offload, self.counter, self.shape, self.storage = offload, counter, shape, storage
        device = device_of(tensor.device)
        # The operation writes to the tensor on the stream that it began on.
        self.stream = None if device is None else device.stream()
        # Detached, since the graph would keep itself alive by its own result.
        self.held: Any = tensor.detach()
        self.kept: Optional[_Kept] = None
        self.saved: Any = None
        self.number = -1
        self.turn: Optional[Tuple[_Announcement, int]] = None

    def save(self) -> None:
        """Have a copy instead of the tensor."""
        offload, storage = self.offload, _storage_of(self.held)
        try:
            if storage.nbytes() != self.storage.nbytes:
                return  # its memory was given up, and may be there again in the backward pass
            _waiting.stream = self.stream
            self.saved = offload._with_room(self.storage.save, offload, storage, self.shape)
            self.held = None  # a thread that unpacks the tensor takes either of the two
        finally:
            if self.held is not None:
                self.kept = offload._keep(self.held)
        if isinstance(self.saved, _Saved):
            self.number = offload._last_fetched = next(offload._numbers)
            offload._order[self.number] = self


class _Wrapper:
    """A tensor of a class that wraps others, such as DTensor: its parts, each packed or itself."""

    __slots__ = ("counter", "kind", "context", "size", "stride", "parts")

    def __init__(self, tensor: Any, counter: _Counter, context: Any, parts: Dict[str, Any]) -> None:
        self.counter, self.kind, self.context, self.parts = counter, type(tensor), context, parts
        self.size, self.stride = tensor.size(), tensor.stride()

    def tensor(self, unpack: Any) -> Any:
        parts = {name: unpack(part) if isinstance(part, _Packed) else part for name, part in self.parts.items()}
        return self.kind.__tensor_unflatten__(parts, self.context, self.size, self.stride)


def _uncompiled(hook: Any) -> Any:
    """The hook, which torch.compile() does not compile: code that it has compiled in part may call it."""
    dynamo = sys.modules.get("torch._dynamo")
    return hook if dynamo is None else dynamo.disable(hook)


def _is_compiled() -> bool:
    """Whether compiled code saves the tensor: then torch's runtime of such code has called the hook.

    The hook has no caller in Python where a thread of torch's calls it, as it does in the backward pass of a device.
    """
    if "torch._dynamo" not in sys.modules:
        return False
    frame: Any = sys._getframe(2).f_back
    for _ in range(5):
        if frame is None:
            return False
        if "aot_autograd" in frame.f_globals.get("__name__", ""):
            return True
        frame = frame.f_back
    return False


class _Calls(threading.local):
    """The calls of models that this thread is in: the frames of torch's function that makes each one."""

    def __init__(self) -> None:
        self.frames: List[Any] = []


def _frames() -> Iterator[Any]:
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]


class InModel(Uncopied):
    """What the hooks of a model hold: a copy of the model shares it."""

    _function: str

    def __deepcopy__(self, memo: Any = None) -> "InModel":
        return self

    __copy__ = __deepcopy__

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"what reel.{self._function}() returned cannot be pickled: save the state_dict() of the model "
                        "that holds it, or leave it out in the model's __getstate__()")

    def attach(self, model: Any) -> Any:
        """Enter this in each call of the model, and return the model: the loop that trains it needs no `with`."""
        if not hasattr(torch.nn.Module(), "_forward_hooks_always_called"):
            raise ImportError(f"attach() needs PyTorch 2.0 or later, and this is {torch.__version__}; use `with`")
        self._calls: _Calls = vars(self).setdefault("_calls", _Calls())
        self._handles = [model.register_forward_pre_hook(self._begin_call),
                         model.register_forward_hook(self._end_call, always_call=True)]
        return model

    # Methods, which a copy of the model has, too.
    def _begin_call(self, *arguments: Any) -> None:
        _uncompiled(self._enter_frame)(*arguments)

    def _end_call(self, *arguments: Any) -> None:
        if self._calls.frames:  # or another hook has failed before the call was begun here
            self._calls.frames.pop()
            self._leave_call(*arguments)

    def _enter_frame(self, *arguments: Any) -> None:
        frames, running = self._calls.frames, list(_frames())
        # torch calls no hook at the end of a call that Ctrl-C has ended.
        while frames and frames[-1] not in running:
            frames.pop()
            self._leave_call(None)
        self._enter_call(*arguments)
        frames.append(next((frame for frame in running if frame.f_code.co_name == "_call_impl"), running[-1]))

    def _enter_call(self, *_: Any) -> None:
        raise NotImplementedError

    def _leave_call(self, *_: Any) -> None:
        raise NotImplementedError


class Offload(InModel):
    """The result of reel.offload(), which describes the arguments."""

    _function = "offload"

    def __init__(self, budget: Optional[Size], directory: Union[str, "os.PathLike[str]", None], store: Optional[str],
                 pool: Optional[Pool], min_bytes: Size, pinned: bool = True) -> None:
        if (budget is None) == (pool is None):
            raise TypeError("offload() takes either a budget or a pool")
        if pool is not None and (directory is not None or store is not None):
            raise TypeError("the pool has its store already")
        self.pool = pool if pool is not None else Pool(budget, directory=directory, store=store)  # type: ignore
        stats = self.pool.stats()
        self._budget, self._batch_bytes = stats["hard_budget"], min(stats["slab_bytes"], _MAX_BATCH_BYTES)
        self._thread = _Thread()
        self._recent: List[Any] = []
        self._max_recent = min(max(self._budget // (8 * max(self._batch_bytes, 1)), 1), 4)
        self._min_bytes = max(to_bytes(min_bytes, "min_bytes"), 1)
        self._hooks: List[Any] = []
        self._numbers = itertools.count()
        # Threads need no lock here, and a child of fork() finds none that is held: each operation on these is whole
        # in itself. At worst, between two of them, a tensor is saved twice, not read ahead, or counted wrongly.
        self._order: "weakref.WeakValueDictionary[int, Union[_Packed, _Batch]]" = weakref.WeakValueDictionary()
        self._storages: "weakref.WeakValueDictionary[int, _Storage]" = weakref.WeakValueDictionary()
        self._kept: "weakref.WeakValueDictionary[int, _Kept]" = weakref.WeakValueDictionary()
        _offloads.add(self)
        _map_large_blocks()
        self.outside_bytes = 0
        # Why the frames of the pool are not pinned, or "" if they are. None: no tensor of a device has come yet.
        self._unpinned: Optional[str] = None if pinned else "pinned=False"
        self._max_moving = min(self._budget // 4, _MAX_MOVING)
        # Tensors that were fetched ahead, and the number of the last one.
        self._arrivals: "weakref.WeakSet[_Streamed]" = weakref.WeakSet()
        self._arriving_bytes = self._last_fetched = 0
        self._has_warned = False

    def __enter__(self) -> "Offload":
        # Not kept from the start: the hooks refer to this object, and only the collector would end the two.
        hooks = torch.autograd.graph.saved_tensors_hooks(_uncompiled(self._pack), _uncompiled(self._unpack))
        hooks.__enter__()
        self._hooks.append(hooks)
        return self

    def __exit__(self, *exception: Any) -> None:
        # All hooks are alike. Each takes the innermost ones of this thread away.
        self._hooks.pop().__exit__(*exception)
        _uncompiled(_waiting.end_operation)()
        self._look_outside()

    def _enter_call(self, *_: Any) -> None:
        self.__enter__()

    def _leave_call(self, *_: Any) -> None:
        self.__exit__()

    def __str__(self) -> str:
        """Where saved tensors are, in one line."""
        parcels = self.pool.parcel_stats()
        lent = sum(storage.nbytes() for loan in list(self.pool._loans.values()) for storage in loan[:1])
        places = {
            "where they were": lent,
            "parcels in memory": max(parcels["resident_bytes"] - lent, 0),
            "parcels in the store": parcels["stored_bytes"],
            "memory outside of the budget": self.outside_bytes,
        }
        if self._unpinned == "":
            places["pinned for the GPU"] = self.pool._pins()["pinned_bytes"]
        text = ", ".join(f"{nbytes / (1 << 20):.0f} MiB {place}" for place, nbytes in places.items())
        if self._unpinned:
            text += f", none pinned for the GPU ({self._unpinned})"
        return f"saved tensors: {text}; {parcels['wait_ns'] / 1e9:.1f} s of waits for the store so far"

    def _pack(self, tensor: Any) -> Any:
        _waiting.begin_hook()
        self._look_outside()
        # A linear layer saves a transposed view of its weights.
        owner = tensor if tensor._base is None else tensor._base
        # Parameters may be frozen, and need no gradient then.
        if isinstance(owner, torch.nn.Parameter) or (owner.is_leaf and owner.requires_grad):
            return _Counter(tensor, None)
        if type(tensor) is not torch.Tensor and is_traceable_wrapper_subclass(tensor):
            return self._pack_wrapper(tensor, owner)
        shape = self._shape_of(tensor)
        if shape is None:
            return _Counter(tensor, None, self._keep(tensor))
        return self._pack_plain(tensor, owner, shape, _Counter(tensor, _empty_on(tensor.device)))

    def _pack_plain(self, tensor: Any, owner: Any, shape: _Shape, counter: _Counter) -> _Packed:
        storage, known = _storage_of(tensor), self._storages.get(id(owner))
        if known is None or not known.is_still(owner, storage, counter.version):
            known = self._storages[id(owner)] = _Storage(owner, storage, counter)
        packed = _Packed(self, counter, shape, known, tensor)
        _waiting.packed.append(weakref.ref(packed))
        return packed

    def _pack_wrapper(self, tensor: Any, owner: Any) -> "Union[_Wrapper, _Counter]":
        names, context = tensor.__tensor_flatten__()
        counter, parts, is_packed = _Counter(tensor, None), {}, False
        for name in names if type(counter.alias) is type(tensor) else ():
            part = getattr(tensor, name)
            if hasattr(part, "trigger_wait"):  # a collective operation may still write to it
                part = part.trigger_wait()
            # Integers stay, such as the offsets of a nested tensor, which its class knows by the object.
            if isinstance(part, torch.Tensor) and (part.is_floating_point() or part.is_complex()):
                shape = self._shape_of(part)
                if shape is not None:
                    setattr(counter.alias, name, _empty_on(part.device))
                    part, is_packed = self._pack_plain(part, owner, shape, counter), True
            parts[name] = part
        if not is_packed:
            counter.kept = self._keep(tensor)
            return counter
        return _Wrapper(tensor, counter, context, parts)

    def _shape_of(self, tensor: Any) -> Optional[_Shape]:
        """The shape of a tensor of which a copy is made; None: it stays."""
        if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.is_quantized:
            return None
        if tensor.device.type == "meta" or tensor._is_zerotensor():
            return None
        try:
            if _storage_of(tensor).nbytes() < self._min_bytes:
                return None
            shape = _Shape(tensor)
        except RuntimeError:  # a nested tensor has no size, and another one may have no storage
            return None
        shape.is_private = _is_compiled()
        return shape

    def _keep(self, tensor: Any) -> "Optional[_Kept]":
        """Counts the memory that a tensor holds: its storage, once."""
        try:
            storage = _storage_of(tensor)
            key, nbytes = storage._cdata, 0 if tensor.device.type == "meta" else storage.nbytes()
        except Exception:  # it has none, and a class of its own may say so in any way
            return _Kept(self, tensor._nnz() * tensor.element_size()) if tensor.is_sparse else None
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = _Kept(self, nbytes)
        return kept

    def _look_outside(self) -> None:
        if self.outside_bytes > self._budget and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"saved tensors of {self.outside_bytes >> 20} MiB are in memory outside of the budget of "
                          f"reel.offload(), which is {self._budget >> 20} MiB: they have fewer than {self._min_bytes} "
                          "bytes each, or are of a kind that stays; with a lower min_bytes more of them go to parcels",
                          stacklevel=3)

    def _unpack(self, packed: Any) -> Any:
        if isinstance(packed, _Counter):
            packed.check()
            return packed.alias
        packed.counter.check()
        if isinstance(packed, _Wrapper):
            return packed.tensor(self._unpack)
        held = packed.held
        if held is not None:
            return held
        saved = packed.saved
        if packed.stream is not None:
            saved.device.end_past()
        if packed.number >= 0 and not saved.is_leaving:  # it has a parcel
            self._read_ahead(packed)
        self.pool._take_back()
        tensor = self._with_room(saved.tensor, packed.shape)
        if packed.stream is not None:
            self._fetch_ahead(packed)
        # A part of a tensor that wraps others has the counter of that one, whose alias is of another class. What is
        # made in inference mode has none.
        is_counted = type(packed.counter.alias) is torch.Tensor and not (packed.shape.is_private or tensor.is_inference())
        return packed.counter.counted(tensor) if is_counted else tensor

    def _fetch_ahead(self, packed: _Packed) -> None:
        """Begin to copy the tensors to the device that the backward pass needs next."""
        last = min(packed.number, self._last_fetched)
        for number in range(last - 1, max(last - _MAX_LOOK, 0) - 1, -1):
            following = self._order.get(number)
            if isinstance(following, _Packed) and isinstance(following.saved, _Streamed) and \
                    not following.saved.fetch_ahead(following.stream):
                return
            self._last_fetched = number

    def _pin(self, device: Any) -> None:
        """Have the driver of the device pin the frames of the pool, at the first call."""
        if self._unpinned is None:
            self._unpinned = self.pool._pin(device.index)

    def _end_arrivals(self) -> bool:
        """Give up the tensors that were fetched ahead. False: there are none."""
        arrivals = [saved for saved in self._arrivals if saved.arrival is not None]
        self._arrivals.clear()
        for saved in arrivals:
            saved.arrival = None
        return bool(arrivals)

    def _with_room(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """The result of the call. If there is too little memory, it is tried again as long as some can be freed."""
        while True:
            try:
                return call(*arguments)
            except _OUT_OF_MEMORY:
                if not self._make_room():
                    raise

    def _make_room(self) -> bool:
        """End a copy that is under way, or let the batches leave memory. False: there was nothing to do."""
        if end_first_of_all() or self._end_arrivals():
            return True
        if not self._recent and self._thread.open() is None:
            return False
        self._recent.clear()
        self._thread.seal()
        return True

    def _read_ahead(self, packed: "Union[_Packed, _Batch]") -> None:
        """The backward pass needs the last tensors first. If it takes another order, the announcements begin anew."""
        turn, packed.turn = packed.turn, None
        if turn is None:
            self._announce(packed.number, _FIRST_ANNOUNCED)
            return
        announcement, place = turn
        # The library has ended the announcement of those that were skipped.
        for number in announcement.numbers[announcement.place:place]:
            skipped = self._order.get(number)
            if skipped is not None and skipped.turn is not None and skipped.turn[0] is announcement:
                skipped.turn = None
        announcement.place = place + 1
        length = len(announcement.numbers)
        if announcement.is_last and 2 * place >= length:
            announcement.is_last = False
            self._announce(announcement.numbers[-1], min(2 * length, _MAX_ANNOUNCED))

    def _announce(self, above: int, length: int) -> None:
        """Announce `length` tensors: the last ones that were packed before number `above`."""
        # Tensors that are gone leave gaps, which may be long.
        left = map(self._order.get, range(above - 1, max(above - 4 * length, 0) - 1, -1))
        found = [*itertools.islice((packed for packed in left if packed is not None and packed.turn is None and
                                    packed.saved._lease is not None and not packed.saved.is_leaving), length)]
        handles = (c_void_p * len(found))(*(packed.saved._handle.value for packed in found))
        if not found or lib.reel_parcel_announce(handles, len(found)) < 0:
            return  # there is nothing to read ahead, or no memory for the announcement
        announcement = _Announcement([packed.number for packed in found])
        for place, packed in enumerate(found):
            packed.turn = (announcement, place)
