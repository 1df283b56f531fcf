# SPDX-License-Identifier: MIT
"""The blocks of a model of PyTorch: which of them keep what they save, which offload it, and which run again."""

import collections
import contextlib
import enum
import errno
import functools
import itertools
import os
import random
import threading
import time
import types
from typing import Any, Counter, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._audit_torch import _Checksum, _plain
from ._errors import MemoryError
from ._offload import InModel, Offload, torch, _Counter, _nodes_made, _storage_of, _uncompiled, _waiting
from ._plan import Plan, UnevenStep
from ._pool import Pool
from ._sizes import Size, to_bytes

try:
    from torch.utils import _pytree
    from torch.utils.checkpoint import checkpoint as run_again
    from torch.utils.checkpoint import set_checkpoint_early_stop  # type: ignore[attr-defined]
    getattr(torch._C._autograd._KinetoEvent, "start_ns")
except (ImportError, AttributeError):
    raise ImportError(f"reel.checkpoint() needs PyTorch 2.4 or later, and this is {torch.__version__}") from None

_tree: Any = _pytree

_POOL_SHARE = 4
"""The pool has this part of the budget, and what the blocks keep has the rest."""

_SPARE_SHARE = 64
"""This part of the budget is left for what is between blocks, such as gradients that are not yet accumulated."""

_MIN_BYTES = 4 << 10
"""Smaller tensors stay in memory, in blocks that offload, too."""

_SAME = 1e-3
"""Two runs of a block are taken for different if sums of their results differ by more than this share."""

_OFFLOAD_SECONDS = 0.25e-9
"""What the offloading of a byte takes of the calculation's time: a checksum and new pages."""

_SHARES = 0, 0.25, 0.5, 0.75, 1
"""Shares of the time of transfers: plans are made as if the rest of it were hidden by the calculation."""

KEEP, OFFLOAD, AGAIN, AGAIN_OFFLOAD = "keep", "offload", "run again", "run again from an offloaded input"


class Block(NamedTuple):
    """What one call of a block takes, in seconds and bytes."""

    forward: float
    backward: float
    inputs: int
    saved: int
    work: int
    """Beside the inputs and what is saved: results, gradients and intermediate tensors."""
    together: int
    """What one operation has saved, or the inputs: it is in memory before the pool has it."""
    small: int
    """Of `saved`, what is never offloaded."""
    writes: bool
    """Whether it changes its arguments in place."""
    ends_late: bool
    """Whether its last operation writes to a tensor that it has saved, such as the noise of rrelu()."""


_Key = Tuple[int, int]
"""The number of a block, and of its call within a call of the model."""


def _tensors(values: Iterable[Any]) -> List[Any]:
    return [value for value in values if isinstance(value, torch.Tensor) and value.layout is torch.strided]


def _storages(tensors: Iterable[Any]) -> Dict[int, int]:
    """The bytes of the storages of the tensors, by their addresses."""
    found = map(_storage_of, tensors)
    return {storage.data_ptr(): storage.nbytes() for storage in found}


def _sums(result: Any) -> List[Tuple[float, float]]:
    """For each tensor of numbers in a result, their sum and that of their absolute values."""
    plain = filter(torch.is_tensor, map(_plain, _tensors(_tree.tree_flatten(result)[0])))
    real = (torch.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in plain)
    numbers = (tensor.detach().double() for tensor in real if tensor.is_floating_point())
    return [(float(tensor.sum()), float(tensor.abs_().sum())) for tensor in numbers]


def _bits(tensor: Any) -> Optional[int]:
    """A checksum of a tensor that has bytes to look at. It takes no memory of torch's, which a trial counts."""
    plain = _plain(tensor)
    return None if plain is None else _Checksum(plain).number


_CONSTANTS = (type(None), bool, int, float, complex, str, bytes, slice, range, enum.Enum, types.FunctionType,
              torch.dtype, torch.device, torch.layout, torch.memory_format)
"""Types of arguments that a block does not change."""


class _Arguments:
    """The arguments of a call: their tensors and constants, each once, and the tuples, lists and dictionaries around."""

    def __init__(self, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> None:
        flat, shape = _tree.tree_flatten((arguments, named), is_leaf=lambda value: not isinstance(value, (tuple, list, dict)))
        once = {id(value): value for value in flat}
        self.flat, places = list(once.values()), list(map(list(once).index, map(id, flat)))
        self.placed = functools.partial(self._placed, places, shape)

    @staticmethod
    def _placed(places: List[int], shape: Any, flat: Sequence[Any]) -> Any:
        """The arguments of a call with these tensors and constants. A copy that stands there twice is one tensor."""
        return _tree.tree_unflatten([flat[place] for place in places], shape)

    def check(self, what: str) -> None:
        for value in self.flat:
            if not isinstance(value, (torch.Tensor, *_CONSTANTS)):
                raise TypeError(f"reel.checkpoint() cannot run {what} again, which takes a {type(value).__name__}: it "
                                "may have changed then (of models of transformers, call the model with "
                                "use_cache=False)")

    def check_copies(self, what: str) -> None:
        """A copy shares no memory with other copies."""
        tensors = [tensor for tensor in _tensors(self.flat) if tensor.numel()]
        if len(_storages(tensors)) < len(tensors):
            raise TypeError(f"reel.checkpoint() cannot run {what} again, which writes to its arguments, of which two are "
                            "views of the same memory: pass one tensor, and make the views in the block")

    def nbytes(self) -> int:
        return sum(_storages(_tensors(self.flat)).values())


class _Forward:
    """Takes the place of the forward() of a block."""

    __wrapped__: Any

    def __init__(self, checkpoint: "Checkpoint", number: int, module: Any) -> None:
        functools.update_wrapper(self, module.forward)
        self.checkpoint, self.number, self.module = checkpoint, number, module
        self.is_of_class = "forward" not in module.__dict__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        call = self.checkpoint._thread.call
        if not torch.is_grad_enabled() or call is None:
            return self.__wrapped__(*arguments, **named)
        return _uncompiled(self.checkpoint._run)(call, self, arguments, named)

    def __str__(self) -> str:
        return f"block {self.number} ({type(self.module).__name__})"


_Members = List[Tuple[Any, str, Any]]
"""Of buffers or parameters: the module that has each one, its name there, and a tensor for it."""


def _copies_of_buffers(module: Any) -> _Members:
    return [(part, name, buffer.clone()) for part in module.modules()
            for name, buffer in part.named_buffers(recurse=False)]


@contextlib.contextmanager
def _with(members: _Members) -> Iterator[None]:
    """Within it, modules have these tensors in place of their own."""
    own = [(part, name, getattr(part, name)) for part, name, _ in members]
    try:
        for part, name, tensor in members:
            setattr(part, name, tensor)
        yield
    finally:
        for part, name, tensor in own:
            setattr(part, name, tensor)


def _copied(flat: Iterable[Any]) -> List[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in flat]


_States = List[Tuple[Any, Any]]
"""Functions that set the state of a generator of random numbers, and the states."""


def _states_of(module: Any) -> _States:
    """Those of generators that torch.utils.checkpoint leaves as they are: also of the module's own ones."""
    states: _States = [(random.setstate, random.getstate()),
                       (np.random.set_state, np.random.get_state(legacy=False))]  # type: ignore[list-item]
    return states + [(value.set_state, value.get_state()) for part in module.modules()
                     for value in vars(part).values() if isinstance(value, torch.Generator)]


def _set(states: _States) -> None:
    for set_state, state in states:
        set_state(state)


@contextlib.contextmanager
def _drawn_again(module: Any, states: _States) -> Iterator[None]:
    """Within it, generators begin with these states; after it, they go on from their own."""
    own = _states_of(module)
    try:
        _set(states)
        yield
    finally:
        _set(own)


class _Again:
    """Runs a block, and later runs it again with the buffers that it had before it changed them itself, and with the
    same random numbers."""

    def __init__(self, forward: _Forward, arguments: Tuple[Any, ...], named: Dict[str, Any], placed: Any,
                 writes: bool) -> None:
        self.forward, self.placed, self.writes = forward.__wrapped__, placed, writes
        self.module, self.first = forward.module, (arguments, named)  # type: Any, Any
        self.changed: _Members = []
        self.states = _states_of(forward.module)

    def __call__(self, *flat: Any) -> Any:
        if self.first is not None:
            arguments, named = self.first
            self.first = None
            copies = _copies_of_buffers(self.module)
            result = self.forward(*arguments, **named)
            self.changed = [(part, name, copy) for part, name, copy in copies
                            if not torch.equal(getattr(part, name), copy)]
            return result
        arguments, named = self.placed(_copied(flat) if self.writes else flat)
        with _with([(part, name, copy.clone()) for part, name, copy in self.changed]), \
                _drawn_again(self.module, self.states):
            return self.forward(*arguments, **named)


class _Trial:
    """A run of a block and its backward pass, which leaves no trace in the model.

    Parameters are other tensors on the same memory, and get the gradients; arguments and buffers are copies, and the
    random numbers are drawn again later.
    """

    def __init__(self, forward: _Forward, given: _Arguments, label: str) -> None:
        module, self.label = forward.module, label
        self.inputs, self.saved = given.nbytes(), {}  # type: int, Dict[int, int]
        self.of_operation: Counter[int] = collections.Counter()
        leaves = list(map(self._alias, given.flat))
        flat = _copied(leaves)
        versions = [tensor._version for tensor in _tensors(flat)]
        arguments, named = given.placed(flat)
        parameters: Dict[Any, Any] = {parameter: torch.nn.Parameter(parameter.detach(), parameter.requires_grad)
                                      for parameter in module.parameters()}
        self._own = _storages(parameters.values())
        self._last: List[Tuple[Any, Optional[int]]] = []
        self._operation = 0
        for parameter in parameters.values():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self._drop)
        members = [(part, name, parameters[parameter]) for part in module.modules()
                   for name, parameter in part.named_parameters(recurse=False)]
        # Only these get gradients, also if the module has its parameters by other references.
        leaves = [leaf for leaf in (*_tensors(leaves), *parameters.values()) if leaf.requires_grad]
        with torch.autograd.profiler.record_function(label), torch.random.fork_rng(devices=[]), \
                _drawn_again(module, []), _with(members + _copies_of_buffers(module)):
            began = time.perf_counter()
            with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor):
                result = forward.__wrapped__(*arguments, **named)
            results = [tensor for tensor in _tensors(_tree.tree_flatten(result)[0]) if tensor.requires_grad]
            self.results = sum(_storages(results).values())
            self.writes = versions != [tensor._version for tensor in _tensors(flat)]
            self.ends_late = any(_bits(tensor) != bits for tensor, bits in self._last)
            self._last.clear()
            turned = time.perf_counter()
            if results:
                torch.autograd.backward(results, list(map(torch.ones_like, results)), inputs=leaves)
            self.forward, self.backward = turned - began, time.perf_counter() - turned
        self.sums = _sums(result)

    def check(self, what: _Forward, result: Any) -> None:
        """Refuse a block that has another result when it runs once more, as it does in the backward pass."""
        sums = _sums(result)
        if len(sums) != len(self.sums) or any(max(abs(total - first), abs(size - first_size)) > _SAME * first_size
                                              for (total, size), (first, first_size) in zip(sums, self.sums)):
            raise RuntimeError(f"reel.checkpoint() cannot run {what} again: two runs of it had different results: it may "
                               "change an attribute or a parameter that it uses, or draw from a generator that is no "
                               "attribute of a module; make what it changes a buffer, or name other blocks by "
                               "blocks=[...]")

    @staticmethod
    def _alias(value: Any) -> Any:
        return value.detach().requires_grad_(value.requires_grad) if isinstance(value, torch.Tensor) else value

    @staticmethod
    def _drop(parameter: Any) -> None:
        parameter.grad = None

    def _pack(self, tensor: Any) -> Any:
        for address, nbytes in _storages(_tensors([tensor])).items():
            if address not in self._own:
                self.saved[address] = nbytes
                self.of_operation[_nodes_made()] += nbytes
        if _nodes_made() != self._operation:
            self._operation = _nodes_made()
            self._last.clear()
        if _tensors([tensor]) and not tensor.requires_grad:
            self._last.append((tensor, _bits(tensor)))
        return tensor

    def together(self) -> int:
        return max(self.inputs, *self.of_operation.values(), 0)

    def block(self, peak: int) -> Block:
        """`peak` is the largest number of bytes that were allocated in the run.

        A block that runs again in the backward pass has the gradients of its results beside it.
        """
        saved = sum(self.saved.values())
        small = sum(nbytes for nbytes in self.saved.values() if nbytes < _MIN_BYTES)
        work = max(self.inputs + peak + self.results - saved, 0)
        return Block(self.forward, self.backward, self.inputs, saved, work, self.together(), small, self.writes,
                     self.ends_late)


def _peaks(profile: Any, labels: Iterable[str]) -> List[int]:
    """For each label, which stands once in the profile, the largest number of bytes that were allocated within it."""
    events = profile.kineto_results.events()
    spans = {event.name(): (event.start_ns(), event.start_ns() + event.duration_ns()) for event in events}
    memory = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    peaks = []
    for begin, end in map(spans.__getitem__, labels):
        peaks.append(max(itertools.accumulate(nbytes for at, nbytes in memory if begin <= at <= end), default=0))
    return peaks


class _Call:
    """A call of the model. `calls` counts those of its blocks, and `trials` are those that were tried."""

    def __init__(self, outer: "Optional[_Call]") -> None:
        self.outer, self.profile = outer, None  # type: Optional[_Call], Any
        self.calls: Counter[int] = collections.Counter()
        self.trials: Dict[_Key, _Trial] = {}

    def try_block(self, key: _Key, forward: _Forward, given: _Arguments) -> Optional[_Trial]:
        if self.profile is None:
            if torch.autograd._profiler_enabled():  # by the program; in a later call it may be over
                return None
            self.profile = torch.autograd.profiler.profile(profile_memory=True)
            self.profile.__enter__()
        self.trials[key] = _Trial(forward, given, f"reel.checkpoint {len(self.trials)}")
        return self.trials[key]

    def end(self) -> Dict[_Key, Block]:
        """What was learnt of the blocks."""
        if self.profile is None:
            return {}
        self.profile.__exit__(None, None, None)
        peaks = _peaks(self.profile, [trial.label for trial in self.trials.values()])
        return {key: trial.block(peak) for (key, trial), peak in zip(self.trials.items(), peaks)}


class _Thread(threading.local):
    call: Optional[_Call] = None


def _blocks_of(model: Any) -> List[Any]:
    """The children of the longest list of modules in a model."""
    lists = (torch.nn.ModuleList, torch.nn.Sequential)
    found = [list(module) for module in model.modules() if isinstance(module, lists)]
    longest: List[Any] = max(found, key=len, default=[])
    if len(longest) < 2:
        raise ValueError("the model has no list of blocks, such as a torch.nn.Sequential; name them by blocks=[...]")
    return longest


class Checkpoint(InModel):
    """The result of reel.checkpoint(), which describes the arguments.

    `plan` is the plan, and None before the first call of the model has ended; `choices` has a text for each call of a
    block; `blocks` what each took.
    """

    _function = "checkpoint"

    def __init__(self, model: Any, budget: Size, directory: "Union[str, os.PathLike[str], None]", store: Optional[str],
                 blocks: Optional[Iterable[Any]]) -> None:
        self._budget = to_bytes(budget, "budget")
        self._thread = _Thread()
        self._place: Dict[str, Any] = {"directory": directory, "store": store}
        self._offload: Optional[Offload] = None
        self._pool_bytes = 0
        modules = _blocks_of(model) if blocks is None else list(dict.fromkeys(blocks))
        self._check(modules)
        if directory is not None or store is not None:
            self._pool_bytes = self._budget // _POOL_SHARE
            slab = min(max(self._pool_bytes >> 21, 1), 32) << 16
            self._offload = Offload(None, None, None, Pool(self._pool_bytes, slab=slab, **self._place), _MIN_BYTES)
        self._bandwidths: Tuple[float, float] = 0, 0
        self._blocks: Dict[_Key, Block] = {}
        self._chosen: Dict[_Key, str] = {}
        self.plan: Optional[Plan] = None
        self._forwards = [_Forward(self, number, module) for number, module in enumerate(modules)]
        self.attach(model)
        for forward in self._forwards:
            forward.module.forward = forward

    @staticmethod
    def _check(modules: Sequence[Any]) -> None:
        inner = {id(module) for block in modules for module in block.modules() if module is not block}
        for module in modules:
            if id(module) in inner:
                raise ValueError(f"a block, {type(module).__name__}, is a part of another block")
            if isinstance(module.forward, _Forward):
                raise ValueError(f"reel.checkpoint() has this {type(module).__name__} already; remove() the first one")
            if any(parameter.device.type != "cpu" for parameter in module.parameters()):
                raise ValueError("reel.checkpoint() knows the memory of the CPU only, and the model is on a device")

    def remove(self) -> None:
        """Give the blocks their own forward() back."""
        for forward in self._forwards:
            if forward.is_of_class:
                del forward.module.forward
            else:
                forward.module.forward = forward.__wrapped__
        for handle in self._handles:
            handle.remove()

    @property
    def blocks(self) -> List[Block]:
        return list(self._blocks.values())

    @property
    def choices(self) -> List[str]:
        return list(self._chosen.values())

    def _enter_call(self, *arguments: Any) -> None:
        if getattr(arguments[0], "_is_replica", False):
            raise RuntimeError("reel.checkpoint() does not work under DataParallel; use DistributedDataParallel")
        if self._offload is not None:
            self._offload.__enter__()
        self._thread.call = _Call(self._thread.call)

    def _leave_call(self, *arguments: Any) -> None:
        if self._offload is not None:
            self._offload.__exit__()
        call, self._thread.call = self._thread.call, self._thread.call.outer  # type: ignore[union-attr]
        learnt = call.end()  # type: ignore[union-attr]
        for key, block in learnt.items():
            self._blocks[key] = Block(*map(max, block, self._blocks.get(key, block)))  # type: ignore[arg-type]
        if learnt and arguments[-1] is not None:  # the call has succeeded
            self._choose()

    def _run(self, call: _Call, forward: _Forward, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
        key = forward.number, call.calls[forward.number]
        call.calls[forward.number] += 1
        given, block, choice = _Arguments(arguments, named), self._blocks.get(key), self._chosen.get(key, AGAIN_OFFLOAD)
        writes, ends_late, trial = block is None or block.writes, block is None or block.ends_late, None
        if block is None or given.nbytes() > block.inputs:
            given.check(str(forward))
            trial = call.try_block(key, forward, given)
            if trial is not None:
                self._check_pool(forward, trial)
                writes, ends_late = trial.writes, trial.ends_late
            choice = AGAIN_OFFLOAD
        if writes and (block is not None or trial is not None) and choice in (AGAIN, AGAIN_OFFLOAD):
            given.check_copies(str(forward))
        with self._keep() if choice in (KEEP, AGAIN) else contextlib.nullcontext():
            if choice in (KEEP, OFFLOAD):
                return forward.__wrapped__(*arguments, **named)
            given.check(str(forward))
            again = _Again(forward, arguments, named, given.placed, writes)
            del arguments, named
            # torch's checkpoint stops when the last tensor is saved, and the operation has not written to it yet.
            with set_checkpoint_early_stop(False) if ends_late else contextlib.nullcontext():
                result = run_again(again, *(_copied(given.flat) if writes else given.flat), use_reentrant=False)
            if trial is not None:
                trial.check(forward, result)
            return result

    def _check_pool(self, forward: _Forward, trial: _Trial) -> None:
        """In the backward pass the pool has what one operation has saved, and what is read ahead."""
        if self._offload is not None and 2 * trial.together() > self._pool_bytes:
            raise MemoryError(
                errno.EDQUOT, f"{forward} needs {trial.together()} bytes from the pool at once, and the pool of "
                f"reel.checkpoint() has {self._pool_bytes}, a quarter of the budget: raise the budget to "
                f"{2 * _POOL_SHARE * trial.together()}, or name no directory and no store")

    def _keep(self) -> Any:
        """Within it, tensors are saved in memory, and not by the hooks around."""
        if self._offload is None:
            return contextlib.nullcontext()
        _uncompiled(_waiting.end_operation)()
        return torch.autograd.graph.saved_tensors_hooks(lambda tensor: _Counter(tensor, None), self._offload._unpack)

    def _choose(self) -> None:
        memory = self._budget - self._budget // _SPARE_SHARE
        if self._offload is None:
            self.plan = self._plan(memory, 0)
        else:
            memory -= self._pool_bytes + sum(block.small for block in self.blocks)
            memory -= max(block.together for block in self.blocks)
            self._bandwidths = self._bandwidths if any(self._bandwidths) else _measure(self._place)
            self.plan = min((self._plan(memory, share) for share in _SHARES), key=self._seconds)
        self._chosen = dict(zip(self._blocks, _choices(self.plan)))

    def _plan(self, memory: int, share: float) -> Plan:
        write, read = (bandwidth and 1 / (_OFFLOAD_SECONDS + share / bandwidth) for bandwidth in self._bandwidths)
        steps = [UnevenStep(block.forward, *block[:5]) for block in self.blocks]
        try:
            return Plan.of_uneven(steps, max(memory, 0), store_bandwidth=write, load_bandwidth=read, own_states=True)
        except MemoryError as error:
            raise MemoryError(error.errno, f"reel.checkpoint() with a budget of {self._budget} bytes, of which the "
                              f"pool has {self._pool_bytes}: {error.args[0]}") from None

    def _seconds(self, plan: Plan) -> float:
        """The time of both passes of all blocks, in which transfers are beside the calculation."""
        seconds, moved = 0.0, 0
        for block, choice in zip(self.blocks, _choices(plan)):
            seconds += block.forward + block.backward + (block.forward if choice in (AGAIN, AGAIN_OFFLOAD) else 0)
            moved += {OFFLOAD: block.saved, AGAIN_OFFLOAD: block.inputs}.get(choice, 0)
        return max(seconds + 2 * moved * _OFFLOAD_SECONDS, sum(moved / bandwidth for bandwidth in self._bandwidths))

    def __str__(self) -> str:
        if self.plan is None:
            return "reel.checkpoint(): the first call of the model has not ended"
        counts = collections.Counter(self.choices)
        text = ", ".join(f"{counts[choice]} {choice}" for choice in (KEEP, OFFLOAD, AGAIN, AGAIN_OFFLOAD)
                         if counts[choice])
        return f"{len(self._blocks)} blocks: {text}"


def _choices(plan: Plan) -> List[str]:
    """What a plan does with each step in the forward pass."""
    found: Dict[int, str] = {}
    for action in plan:
        if action.kind == "store":
            found.setdefault(action.first, AGAIN_OFFLOAD if action.tier else AGAIN)
        elif action.kind == "record":
            for step in range(action.first, action.last):
                found.setdefault(step, OFFLOAD if action.tier else KEEP)
    return [found[step] for step in sorted(found)]


def _measure(place: Dict[str, Any]) -> Tuple[float, float]:
    """The bytes a second that go to a store and come back from it, in memory that is used the second time."""
    array = np.random.default_rng(1).bytes(2 << 20)
    count = 16
    with Pool("4M", slab="256K", **place) as pool:
        began = time.perf_counter()
        parcels = [pool.keep(np.frombuffer(array, np.uint8)) for _ in range(count)]
        turned = time.perf_counter()
        pool.announce(parcels)
        for parcel in parcels:
            parcel.view()
        ended = time.perf_counter()
    moved = (count - 2) * len(array)
    return moved / (turned - began), moved / (ended - turned)
