# SPDX-License-Identifier: MIT
"""Compares the tensors that come back in a backward pass of PyTorch with those that were saved.

torch calls a hook, pack(), for each tensor that an operation saves, and another one, unpack(), when the backward pass
needs the tensor. Of nested pairs of hooks it calls the innermost pair alone. So an audit enters a pair of its own, and
replaces each pair that the program enters within it by one that also calls the hooks of the program.
"""

import random
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy

from ._audit import (
    IN_PLACE, MASK, MULTIPLIER, OFFLOAD, RANDOM, RECOMPUTATION, STREAM, Audit, Difference, Patches, Place, sum_of)

try:
    import torch
    import torch.utils.checkpoint
except ImportError as error:
    raise ImportError(f"reel.audit() needs PyTorch, which cannot be imported: {error}") from None

from ._offload import Operation, _storage_of

# ---- Checksums ----

_PIECE = 1 << 20
_TYPES = {1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8", 16: "<c16"}


class _Memory:
    __array_interface__: Dict[str, Any]


def _elements(tensor: Any, dimensions: Any) -> Any:
    """The elements along some dimensions, as an array of integers.

    It calls no operation of torch, since modes of the program would see it.
    """
    memory, n, stride = _Memory(), tensor.element_size(), tensor.stride()
    memory.__array_interface__ = {
        "version": 3, "data": (tensor.data_ptr(), True), "typestr": _TYPES[n],
        "shape": tuple(tensor.size(i) for i in dimensions), "strides": tuple(stride[i] * n for i in dimensions)}
    return numpy.asarray(memory)


def _plain(tensor: Any) -> Any:
    """The tensor, or one in memory with the same elements. None: it is of a kind that has no bytes to look at."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        return None
    if tensor.is_quantized or tensor.device.type == "meta" or tensor._is_zerotensor():
        return None
    try:
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.detach().resolve_conj().resolve_neg()
        if tensor.device.type != "cpu":
            tensor = tensor.detach().cpu()
        tensor.stride()
        return tensor if tensor.data_ptr() or not tensor.numel() else None
    except RuntimeError:  # a nested tensor has no strides, and another one may have no storage
        return None


class _Checksum:
    """The type and the size of a tensor, and a checksum of its elements.

    The elements are taken in the order of their addresses, and those along an expanded dimension once. A tensor that is
    compared is read in the same order, whatever its own strides are.
    """

    __slots__ = ("dtype", "size", "order", "expanded", "number")

    def __init__(self, tensor: Any) -> None:
        self.dtype, self.size, stride = tensor.dtype, tensor.size(), tensor.stride()
        wide = [i for i, n in enumerate(self.size) if n != 1]
        self.order = sorted((i for i in wide if stride[i]), key=lambda i: -stride[i])
        self.expanded = [i for i in wide if not stride[i]]
        self.number = self.of(tensor)

    def of(self, tensor: Any) -> int:
        if not tensor.numel():
            return 0
        elements = numpy.atleast_1d(_elements(tensor, self.order))
        length = max(_PIECE // (elements[:1].size * elements.itemsize), 1)
        number = 0
        for i in range(0, len(elements), length):
            piece = numpy.ascontiguousarray(elements[i:i + length]).reshape(-1)
            number = (number * MULTIPLIER + sum_of(piece.view(numpy.uint8))) & MASK
        return number

    def matches(self, tensor: Any) -> bool:
        tensor = _plain(tensor)
        if tensor is None or tensor.dtype != self.dtype or tensor.size() != self.size:
            return False
        filled = [i for i in self.expanded if tensor.stride(i)]
        if filled and tensor.numel():
            every = _elements(tensor, range(tensor.dim()))
            first = every[tuple(slice(0, 1) if i in filled else slice(None) for i in range(every.ndim))]
            if every.tobytes() != numpy.broadcast_to(first, every.shape).tobytes():
                return False
        return self.of(tensor) == self.number


def _ends(tensor: Any) -> bytes:
    """Some of the first and of the last elements."""
    if not tensor.numel():
        return b""
    elements = _elements(tensor, range(tensor.dim())).flat
    return bytes(elements[:32].tobytes() + elements[-32:].tobytes())


# ---- Places ----

_TORCH = torch.__path__[0] + "/"
_OWN = __file__.rpartition("/")[0] + "/"
_ELSEWHERE, _CALL, _NORM, _PROGRAM = range(4)
_NORMS = torch.nn.functional.batch_norm.__code__, torch.nn.functional.instance_norm.__code__
_codes: Dict[Any, int] = {}


def _kind_of(code: Any) -> int:
    kind = _codes.get(code)
    if kind is None:
        kind = _PROGRAM
        if code.co_filename.startswith(_TORCH):
            is_call = code.co_name == "_call_impl" and code.co_filename.endswith("/nn/modules/module.py")
            kind = _CALL if is_call else _NORM if code in _NORMS else _ELSEWHERE
        elif code.co_filename.startswith(_OWN):
            kind = _ELSEWHERE
        _codes[code] = kind
    return kind


class _Place(Place):
    __slots__ = ("_module", "root")

    def __init__(self, frame: Any) -> None:
        super().__init__()
        inner = outer = None
        while frame is not None:
            kind = _kind_of(frame.f_code)
            if kind == _PROGRAM:
                if not self.line:
                    self.set_line(frame)
            elif kind == _CALL:
                outer = frame
                inner = inner or frame
            frame = frame.f_back
        # Only variables of torch's own function are read, which live as long as its arguments. Frames of the program's
        # functions would keep their variables alive.
        self._module, self.root = (frame and weakref.ref(frame.f_locals["self"]) for frame in (inner, outer))

    def name_module(self, *roots: Any) -> None:
        """Set `module` to the name of the module in the outermost one that was called, and its class."""
        module = self._module and self._module()
        for root in (*roots, self.root):
            root = root and root()
            names = [name for name, other in root.named_modules() if other is module] if root is not None else []
            if module is not None and names:
                self.module = f"{names[0]} ({type(module).__name__})".lstrip()
                return


# ---- Records of saved tensors ----


def _random_state() -> Tuple[int, ...]:
    state: Any = numpy.random.get_state(legacy=False)
    parts = [hash(torch.get_rng_state().numpy().tobytes()), hash(random.getstate()),
             hash((state["state"]["key"].tobytes(), state["state"]["pos"]))]
    if torch.cuda.is_initialized():
        parts.append(hash(torch.cuda.get_rng_state().numpy().tobytes()))
    return tuple(parts)


class _Local(Operation):
    """The audits of one thread, the pairs whose unpack() runs, and the records whose operation may still write.

    No other code has a tensor that its operation writes to after it was saved.
    """

    def __init__(self) -> None:
        self.audits: List[Audit] = []
        self.unpacking: List[_Unpacking] = []
        self.segments: List[_Segment] = []
        self.unfinished: "List[weakref.ref[_Record]]" = []
        self.last: Callable[[], Any] = lambda: None  # the record of the tensor that was saved last
        self.compared: Tuple[Any, int] = None, 0  # the checksum of the tensor that was compared last, and its record

    def end_operation(self) -> None:
        while self.unfinished:
            record = self.unfinished.pop()()
            if record is not None:
                record.finish()


_local = _Local()


class _Unpacking:
    """A call of the program's unpack(). The first hooks that it enters are those of a recomputation."""

    __slots__ = ("pair", "recomputation")

    def __init__(self, pair: "_Pair") -> None:
        self.pair = pair
        self.recomputation: Optional[_Pair] = None


class _Again(NamedTuple):
    """Of a tensor that was computed anew. `is_same`: it had the same bytes then."""

    place: _Place
    random: Any
    is_same: bool


class _Record:
    """The graph keeps this for a tensor, with what the hooks of the program made of it, or else the tensor."""

    __slots__ = ("audit", "place", "before", "checksum", "ends", "packed", "unfinished", "random", "version",
                 "address", "tensor", "owner", "changed_by_operation", "is_alias", "copies", "again", "is_reported",
                 "__weakref__")

    def __init__(self, audit: Audit, tensor: Any, is_new: bool) -> None:
        _local.begin_hook()
        frame = sys._getframe(2)
        self.audit, self.place = audit, _Place(frame)
        self.unfinished: Any = None
        self.packed: Any = None
        self.is_reported = self.is_alias = self.changed_by_operation = False
        self.again: Optional[_Again] = None
        self.copies: List[Tuple[Any, bytes]] = []
        self.random: Any = None
        self.version = tensor._version
        plain = None if _is_statistic(tensor, frame, is_new) else _plain(tensor)
        self.ends, self.before = _ends(plain) if plain is tensor else b"", None
        self.checksum = self.last_checksum(tensor)
        if self.checksum is None and plain is not None:
            self.checksum = _Checksum(plain)
        self.tensor = weakref.ref(tensor)
        self.owner = weakref.ref(tensor if tensor._base is None else tensor._base)
        self.address = _storage_of(tensor).data_ptr() if plain is not None else 0
        if is_new and plain is tensor and not tensor.requires_grad and tensor._base is None:
            self.unfinished = tensor.detach()
            _local.unfinished.append(weakref.ref(self))
        audit.saved += 1
        _local.last = weakref.ref(self)

    def last_checksum(self, tensor: Any) -> Optional[_Checksum]:
        """The checksum of the record before, if it is one of the same tensor: relu() saves its result, and a layer
        then saves it as its argument."""
        last = _local.last()
        if last is None or last.tensor() is not tensor or last.version != self.version or not self.ends or \
                last.ends != self.ends or last.unfinished is not None:
            return None
        self.before = last.before or last.place
        return last.checksum  # type: ignore[no-any-return]

    def finish(self) -> None:
        """Take the checksum anew when the operation that saved the tensor has ended."""
        tensor, self.unfinished = self.unfinished, None
        if tensor is not None and self.checksum is not None and not self.checksum.matches(tensor):
            self.checksum, self.changed_by_operation = _Checksum(tensor), True

    def look_for_copies(self, tensor: Any) -> None:
        """Find copies that the program's pack() returned before their contents were there."""
        if self.checksum is None:
            return
        packed, tensor = self.packed, _plain(tensor)
        parts = packed if isinstance(packed, (tuple, list)) else packed.values() if isinstance(packed, dict) else \
            (packed, *getattr(packed, "__dict__", {}).values())
        for part in parts:
            if not isinstance(part, torch.Tensor) or _plain(part) is not part:
                continue
            if part.device.type == "cpu" and _storage_of(part).data_ptr() == self.address:
                self.is_alias = True
            elif part.dtype == tensor.dtype and part.size() == tensor.size() and _ends(part) != _ends(tensor):
                self.copies.append((weakref.ref(part), _ends(part)))

    def is_copied_late(self) -> bool:
        copies = [(reference(), ends) for reference, ends in self.copies]
        return any(copy is not None and _ends(copy) != ends for copy, ends in copies)


def _is_statistic(tensor: Any, frame: Any, is_new: bool) -> bool:
    """Whether it is a running mean or variance in training, which the gradient does not use, and each pass changes.

    An instance normalisation saves copies of them.
    """
    if frame is None or _kind_of(frame.f_code) != _NORM:
        return False
    named = frame.f_locals
    if "training" in named:
        return bool(named["training"]) and (tensor is named["running_mean"] or tensor is named["running_var"])
    return is_new and bool(named["use_input_stats"])


def _describe(dtype: Any, size: Any) -> str:
    return f"{str(dtype).replace('torch.', '')}{list(size)}"


def _say(audit: Audit, difference: Difference) -> None:
    saved, back = difference.saved, difference.back
    assert isinstance(saved, _Place) and isinstance(back, _Place)
    saved.name_module()
    back.name_module(saved.root)
    audit.add(difference)


_MAX_PLACES = 4096
_places: "weakref.WeakKeyDictionary[Audit, Dict[int, _Place]]" = weakref.WeakKeyDictionary()
"""Of the last tensors that hooks of the program had to pack in an audit, by their checksums."""


def _remember(audit: Audit, number: int, place: _Place) -> None:
    places = _places.setdefault(audit, {})
    places.pop(number, None)
    places[number] = place
    if len(places) > _MAX_PLACES:
        del places[next(iter(places))]


def _add(record: _Record, kind: str, back: _Place, detail: str) -> None:
    record.is_reported = True
    checksum: Any = record.checksum
    _say(record.audit, Difference(kind, _describe(checksum.dtype, checksum.size), record.place, back, detail))


def _differs(record: _Record, tensor: Any) -> bool:
    record.finish()
    if record.checksum is None or not isinstance(tensor, torch.Tensor):
        return False
    record.audit.compared += 1
    if record.checksum.matches(tensor) or _is_incomparable(tensor):
        return False
    record.audit.differing += not record.is_reported
    return not record.is_reported


class _Hooks:
    """The hooks of an audit, which pack the tensors that no hooks of the program see."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def pack(self, tensor: Any) -> _Record:
        is_new = sys.getrefcount(tensor) <= _new_references
        record = _Record(self.audit, tensor, is_new)
        # Detached, since the graph would keep itself alive by its own result.
        record.packed = tensor.detach()
        return record

    def unpack(self, record: _Record) -> Any:
        tensor = record.packed
        if tensor._version != record.version:  # torch looks only at tensors that no hook has packed
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"{_describe(tensor.dtype, tensor.size())}, saved at {record.place}, is at version {tensor._version}; "
                f"expected version {record.version} instead")
        # Operations that save one tensor often follow each other in the backward pass, too.
        checksum, other = _local.compared
        if checksum is record.checksum and other != id(record) and record.ends and _ends(tensor) == record.ends:
            self.audit.compared += 1
            return tensor
        _local.compared = record.checksum, id(record)
        if _differs(record, tensor):
            before = f"; it was also saved at {record.before}" if record.before else ""
            _add(record, IN_PLACE, _Place(sys._getframe(1)),
                 f"was changed after it was saved, which torch's version of it does not show{before}")
            _local.compared = None, 0
        return tensor


def enter(audit: Audit) -> None:
    hooks = _Hooks(audit)
    _patches.enter()
    _patches.push(hooks.pack, hooks.unpack)
    _local.audits.append(audit)
    _patches.opened.append(audit)


def leave() -> None:
    _patches.opened.remove(_local.audits.pop())
    torch._C._autograd._pop_saved_tensors_default_hooks()
    _patches.leave()
    _local.end_operation()


def _is_incomparable(tensor: Any) -> bool:
    """Whether a tensor that a hook hands back is of a class of the program, or its memory was given up."""
    return _plain(tensor) is None


def _drawn(start: Any, first: Any, second: Any) -> Optional[Tuple[str, str]]:
    """The cause, if numbers were drawn between `start` and `first`, and other ones before `second`."""
    for before, one, other, name in zip(start, first, second, ("torch", "random", "numpy.random", "torch.cuda")):
        if before != one and one != other:
            return RANDOM, f"was computed anew with other random numbers (of {name})"
    return None


def _cause_of(pair: "Optional[_Pair]", record: _Record) -> Tuple[str, str]:
    assert pair is not None and record.again is not None
    return _drawn(pair.random or (), record.random or (), record.again.random or ()) or \
        (RECOMPUTATION, "was computed anew with another result")


class _Pair:
    """Takes the place of a pair of hooks of the program.

    `repeated` is the pair whose tensors are computed anew, if this one was entered for that.
    """

    def __init__(self, audit: Audit, pack: Callable[[Any], Any], unpack: Callable[[Any], Any],
                 repeated: "Optional[_Pair]") -> None:
        self.audit, self.program_pack, self.program_unpack, self.repeated = audit, pack, unpack, repeated
        self.is_checkpoint = "checkpoint" in getattr(pack, "__module__", "")
        self.random = _random_state() if self.is_checkpoint else None
        self.records: "weakref.WeakValueDictionary[int, _Record]" = weakref.WeakValueDictionary()
        self.count = 0
        # The place that was reported in the last recomputation. One is enough: later tensors differ because of it.
        self.reported: List[_Place] = []
        if repeated is not None:
            repeated.reported = self.reported

    def pack(self, tensor: Any) -> _Record:
        is_new = sys.getrefcount(tensor) <= _new_references
        record = _Record(self.audit, tensor, is_new)
        if self.is_checkpoint:
            record.random = _random_state()
        if self.repeated is not None:
            self.compare(self.repeated.records.get(self.count), record, tensor)
            record.checksum = None  # the program does not unpack it
        else:
            self.records[self.count] = record
            if record.checksum is not None:
                _remember(self.audit, record.checksum.number, record.place)
        self.count += 1
        record.packed = self.program_pack(tensor)
        record.look_for_copies(tensor)
        return record

    def compare(self, first: Optional[_Record], second: _Record, tensor: Any) -> None:
        """Compare a tensor that is computed anew with the first one. Only the first difference in a recomputation is
        reported."""
        if first is None:
            return
        is_open = first.unfinished is not None or second.unfinished is not None
        is_new = not is_open and _differs(first, tensor)
        first.again = _Again(second.place, second.random, not is_open and not is_new)
        if not is_new:
            return
        first.is_reported = True
        if self.reported:
            return
        self.reported.append(second.place)
        if first.owner() is not None and first.owner() is second.owner():
            kind, detail = IN_PLACE, "was changed after it was saved, and the recomputation uses it"
        else:
            kind, detail = _cause_of(self.repeated, first)
        checksum: Any = first.checksum
        if checksum.dtype != tensor.dtype or checksum.size != tensor.size():
            detail += ": " + _describe(tensor.dtype, tensor.size())
        _add(first, kind, second.place, detail)

    def unpack(self, record: _Record) -> Any:
        record.finish()
        unpacking = _Unpacking(self)
        before = _random_state() if not self.is_checkpoint else None
        _local.unpacking.append(unpacking)
        _patches.enter()
        try:
            tensor = self.program_unpack(record.packed)
        finally:
            _patches.leave()
            _local.unpacking.pop()
        if _differs(record, tensor):
            again = record.again
            if again is None or again.is_same or not self.reported:
                kind, detail = self.cause(record, tensor, before)
                _add(record, kind, again.place if again is not None else _Place(sys._getframe(1)), detail)
        return tensor

    def cause(self, record: _Record, tensor: Any, random_before: Any) -> Tuple[str, str]:
        checksum: Any = record.checksum
        if record.again is not None:
            if record.again.is_same:
                return IN_PLACE, "was changed after it was computed anew"
            return _cause_of(self, record)
        if random_before is not None and random_before != _random_state():
            return RANDOM, "was computed anew by a hook, with other random numbers"
        is_there = record.is_alias or record.owner() is not None
        if is_there and _storage_of(tensor).data_ptr() == record.address:
            return IN_PLACE, "was changed after it was saved, and the hook had made no copy of it"
        if record.changed_by_operation:
            return IN_PLACE, "was changed by the operation that saved it, after the hook had made its copy"
        if record.is_copied_late():
            return STREAM, "was not copied when the hook that packs returned, and has changed until it was"
        if self.is_on_its_way(checksum, tensor):
            return STREAM, "was not yet there when the hook that unpacks returned"
        came = _Checksum(_plain(tensor))
        original = record.tensor()
        if original is not None and came.matches(original):
            return STREAM, "has the bytes that the saved tensor has now: it was copied after a change"
        detail = "came back from a hook with other bytes"
        if (came.dtype, came.size) != (checksum.dtype, checksum.size):
            return OFFLOAD, f"{detail}: {_describe(came.dtype, came.size)}"
        other = _places[self.audit].get(came.number)
        return OFFLOAD, detail + (f": those of the tensor saved at {other}" if other is not None else "")

    def is_on_its_way(self, checksum: _Checksum, tensor: Any) -> bool:
        """Whether another thread or stream still writes to the tensor."""
        if tensor.dtype != checksum.dtype or tensor.size() != checksum.size or len(self.audit.differences) > 3:
            return False
        if tensor.device.type == "cuda":
            torch.cuda.synchronize(tensor.device)
            return checksum.matches(tensor)
        number = checksum.of(_plain(tensor))
        for _ in range(25):
            time.sleep(0.01)
            if checksum.of(_plain(tensor)) != number:
                return True
        return False


# ---- Checkpoints ----


def _tensors(value: Any) -> List[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for part in parts for tensor in _tensors(part)]


class _Result(NamedTuple):
    checksum: Optional[_Checksum]
    place: _Place
    random: Tuple[int, ...]


class _Segment:
    """The part of a model that torch's reentrant checkpoint runs twice, at first without a graph.

    The first run saves no tensors. So the results of its modules, and its own, are compared.
    """

    def __init__(self, audit: Audit, function: Callable[..., Any]) -> None:
        self.audit, self.function = audit, function
        self.first: Optional[List[_Result]] = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.results: List[_Result] = []
        self.start = _random_state()
        self.is_reported = False
        _patches.watch_modules()
        _local.segments.append(self)
        try:
            outputs = self.function(*arguments, **named)
        finally:
            _local.segments.pop()
            _patches.leave_modules()
        self.look(outputs, sys._getframe(1))
        if self.first is None:
            self.first, self.first_start = self.results, self.start
        elif len(self.results) < len(self.first) and not self.is_reported:
            self.report(self.first[len(self.results)], self.results[-1], "was not computed anew")
        self.results = []
        return outputs

    def look(self, outputs: Any, frame: Any) -> None:
        for tensor in _tensors(outputs):
            plain = _plain(tensor)
            self.results.append(_Result(_Checksum(plain) if plain is not None else None, _Place(frame),
                                        _random_state()))
            if self.first is not None and not self.is_reported:
                self.compare(tensor, self.results[-1])

    def compare(self, tensor: Any, second: _Result) -> None:
        assert self.first is not None
        if len(self.results) > len(self.first):
            self.report(self.first[-1], second, "was followed by others when it was computed anew")
            return
        first = self.first[len(self.results) - 1]
        if first.checksum is not None and second.checksum is not None:
            self.audit.compared += 1
            if not first.checksum.matches(tensor):
                self.report(first, second, "was computed anew with another result")

    def report(self, first: _Result, second: _Result, detail: str) -> None:
        self.is_reported = True
        self.audit.differing += 1
        checksum = first.checksum or second.checksum
        kind, detail = _drawn(self.first_start, first.random, second.random) or (RECOMPUTATION, detail)
        _say(self.audit, Difference(kind, _describe(checksum.dtype, checksum.size) if checksum else "a tensor",
                                   first.place, second.place, detail))


def _end_of_module(module: Any, arguments: Any, outputs: Any) -> None:
    if _local.segments:
        _local.segments[-1].look(outputs, sys._getframe(1))


def _is_changed(arguments: List[Tuple[Any, Optional[_Checksum]]]) -> Optional[_Checksum]:
    for tensor, checksum in arguments:
        if checksum is not None and not checksum.matches(tensor):
            return checksum
    return None


def _with_arguments(audit: Audit, function: Callable[..., Any], arguments: Any, place: _Place) -> Callable[..., Any]:
    """The function of a checkpoint without reentrance, which compares its arguments when it is called again.

    torch keeps them without a look at their versions.
    """
    known = []
    for tensor in _tensors(arguments):
        plain = _plain(tensor)
        known.append((tensor, _Checksum(plain) if plain is not None else None))

    def watched(*arguments: Any, **named: Any) -> Any:
        recomputation = _local.unpacking[-1].recomputation if _local.unpacking else None
        if recomputation is not None and not recomputation.reported:
            checksum = _is_changed(known)
            if checksum is not None:
                recomputation.reported.append(place)
                audit.differing += 1
                _say(audit, Difference(IN_PLACE, _describe(checksum.dtype, checksum.size), place,
                                      _Place(sys._getframe(1)), "is an argument of a checkpoint, and was changed "
                                      "before the recomputation"))
        return function(*arguments, **named)

    return watched


# ---- Functions of torch that are replaced ----


class _Patches(Patches):
    """An audit uses them while it is open, and a pair of hooks that was entered in one, while it unpacks."""

    def __init__(self) -> None:
        super().__init__()
        self.watching = 0
        self.opened: List[Audit] = []
        self.push = torch._C._autograd._push_saved_tensors_default_hooks

    def apply(self) -> None:
        self.push = self.replace(torch._C._autograd, "_push_saved_tensors_default_hooks", _push)
        module = torch.utils.checkpoint
        self.forward = self.replace(module.CheckpointFunction, "forward", staticmethod(_forward))
        for name in "_checkpoint_without_reentrant", "_checkpoint_without_reentrant_generator":
            if hasattr(module, name):
                self.replace(module, name, _without_reentrance(getattr(module, name)))

    def watch_modules(self) -> None:
        with self.lock:
            self.watching += 1
            if self.watching == 1:
                self.handle = torch.nn.modules.module.register_module_forward_hook(_end_of_module)

    def leave_modules(self) -> None:
        with self.lock:
            self.watching -= 1
            if not self.watching:
                self.handle.remove()


_patches = _Patches()


def _current_audit() -> Optional[Audit]:
    """The audit of the pair that unpacks, or else of this thread, or else of another thread."""
    if _local.unpacking:
        return _local.unpacking[-1].pair.audit
    audits = _local.audits or _patches.opened
    return audits[-1] if audits else None


def _push(pack: Any, unpack: Any) -> None:
    audit = _current_audit()
    if audit is None:
        _patches.push(pack, unpack)
        return
    unpacking = _local.unpacking[-1] if _local.unpacking else None
    is_first = unpacking is not None and unpacking.recomputation is None
    pair = _Pair(audit, pack, unpack, unpacking.pair if unpacking is not None and is_first else None)
    if unpacking is not None and is_first:
        unpacking.recomputation = pair
    _patches.push(pair.pack, pair.unpack)


def _forward(context: Any, function: Any, *arguments: Any) -> Any:
    audit = _current_audit()
    return _patches.forward(context, _Segment(audit, function) if audit is not None else function, *arguments)


def _without_reentrance(checkpoint: Any) -> Any:
    def replacement(function: Any, *arguments: Any, **named: Any) -> Any:
        audit = _current_audit()
        if audit is not None:
            function = _with_arguments(audit, function, [arguments, named], _Place(sys._getframe(1)))
        return checkpoint(function, *arguments, **named)

    return replacement


def _count_references() -> int:
    """The number of references that a hook counts to a tensor that no Python code holds."""
    counts = []

    class Hooks:
        def pack(self, tensor: Any) -> None:
            counts.append(sys.getrefcount(tensor))

    with torch.inference_mode(False), torch.enable_grad(), torch.random.fork_rng(devices=[]):
        x = torch.ones(1, requires_grad=True, device="cpu")
        _patches.push(Hooks().pack, lambda packed: packed)
        try:
            torch.nn.functional.rrelu(x, training=True)
        finally:
            torch._C._autograd._pop_saved_tensors_default_hooks()
    return min(counts)


_new_references = _count_references()
