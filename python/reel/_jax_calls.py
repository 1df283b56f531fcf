# SPDX-License-Identifier: MIT
"""The foreign calls of reel.jax as primitives of JAX, the places where they keep arrays, and sessions without an end.

python/jax-calls.c has the calls, and says what sessions and tokens are.
"""

import atexit
import ctypes
import functools
import os
import threading
import weakref
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import numpy as np

from ._api import MAX_TIERS
from ._library import lib
from ._plan import Plan
from ._pool import Pool
from ._sizes import to_text

try:
    import jax
    from jax.extend import core
    from jax.interpreters import ad, batching, mlir, partial_eval, xla
except ImportError as error:
    raise ImportError(f"reel.jax needs JAX, which cannot be imported: {error}") from None

_SILENT_SECONDS = 60
"""A session may be given up that had no call for so long."""

# They lie beside the library, or else where the loader finds both.
_CALLS = os.path.join(os.path.dirname(lib._name), "libreel-jax.so")

try:
    _calls = ctypes.CDLL(_CALLS)
except OSError as error:
    raise ImportError(f"no foreign calls of reel.jax ({error}): this package was built without them; build "
                      "libreel-jax.so beside libreel.so.0, as python/README.md describes") from None

_calls.reel_jax_open_place.argtypes = [c_void_p, c_void_p, c_int, POINTER(c_char_p), c_char_p]
_calls.reel_jax_open_place.restype = c_int64
_calls.reel_jax_close_place.argtypes = [c_int64]
_calls.reel_jax_close_place.restype = None
_calls.reel_jax_silent.argtypes = [c_uint64, POINTER(c_uint32), c_size_t]
_calls.reel_jax_silent.restype = c_size_t
_calls.reel_jax_give_up.argtypes = [c_uint64, POINTER(c_uint32), c_size_t]
_calls.reel_jax_give_up.restype = c_size_t
_calls.reel_jax_remind.argtypes = [c_void_p, c_void_p, c_uint64]
_calls.reel_jax_remind.restype = None

TOKEN = jax.ShapeDtypeStruct((2,), np.uint32)


# ---- The foreign calls as primitives of JAX -------------------------------------------------------------------------

def _refuse(text: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(text)
    return refuse


def _primitive(name: str, target: Any, aliases: Callable[..., Dict[int, int]]) -> Any:
    """A primitive for a foreign call. `shapes` are those of its results; XLA neither drops nor repeats it.

    JAX itself may drop it where nothing uses its results, and needs no effect for that: their order is one of data.
    """
    jax.ffi.register_ffi_target(f"reel_jax_{name}", jax.ffi.pycapsule(target), platform="cpu")
    primitive = core.Primitive(f"reel_jax_{name}")
    primitive.multiple_results = True
    primitive.def_impl(functools.partial(xla.apply_primitive, primitive))
    primitive.def_abstract_eval(lambda *_, shapes, **__: [
        jax.core.ShapedArray(shape, dtype) for shape, dtype in shapes])

    def lower(context: Any, *operands: Any, shapes: Any, **attributes: int) -> Any:
        if getattr(context.module_context.axis_context, "num_devices", 1) != 1:
            raise NotImplementedError("reel.jax does not work in a program for several devices (shard_map, pmap, or "
                                      "arrays that are sharded)")
        rule = jax.ffi.ffi_lowering(f"reel_jax_{name}", has_side_effect=True,
                                    operand_output_aliases=aliases(len(operands), **attributes))
        numbers = {key: np.array(value, np.int64) if isinstance(value, tuple) else np.int64(value)
                   for key, value in attributes.items()}
        return rule(context, *operands, **numbers)

    mlir.register_lowering(primitive, lower, platform="cpu")
    batching.primitive_batchers[primitive] = _refuse(
        "reel.jax does not work under vmap: map inside of the function that is offloaded, or of the step")
    ad.primitive_jvps[primitive] = _refuse("reel.jax gives no second derivatives")
    # lax.scan() makes a forward pass once for all steps if nothing in it differs from step to step, and a backward pass
    # in each. A call that always counts as unknown stays in the loop.
    partial_eval.custom_partial_eval_rules[primitive] = lambda trace, *operands, **parameters: (
        trace.default_process_primitive(primitive, [*map(trace.instantiate_const, operands)], parameters))
    return primitive


save = _primitive("save", _calls.reel_jax_save, lambda _, tied, **__: {i: i for i in range(1, tied + 1)})
load = _primitive("load", _calls.reel_jax_load, lambda *_, **__: {})
end = _primitive("end", _calls.reel_jax_end, lambda n: {i: i - 1 for i in range(1, n)})
visit = _primitive("visit", _calls.reel_jax_visit, lambda *_, **__: {})
turn = _primitive("turn", _calls.reel_jax_turn, lambda n: {i: i for i in range(2, n)})


def shapes_of(*arrays: Any) -> Tuple[Any, ...]:
    return tuple((tuple(array.shape), np.dtype(array.dtype)) for array in arrays)


# ---- Places and sessions --------------------------------------------------------------------------------------------

class _Places:
    """The places of a pool, by the plan and its stores. They live as long as the pool."""

    def __init__(self) -> None:
        self.numbers: Dict[Any, int] = {}
        self.plans: List[Plan] = []


_places: "weakref.WeakKeyDictionary[Any, _Places]" = weakref.WeakKeyDictionary()
_places_lock = threading.Lock()


def place_of(pool: Pool, plan: Optional[Plan] = None, stores: Sequence[Optional[str]] = (),
             directory: Any = None) -> int:
    """The number of the place for these. It is a constant in programs, so the same arguments have the same number."""
    if not isinstance(pool, Pool):
        raise TypeError(f"reel.jax needs a reel.Pool, and not {pool!r}")
    lease = pool._live()
    texts = [to_text(store, "a store") for store in stores]
    texts += [None] * (MAX_TIERS - len(texts))
    if len(texts) > MAX_TIERS:
        raise ValueError(f"a plan has at most {MAX_TIERS} tiers")
    folder = to_text(directory, "directory")
    with _places_lock:
        places = _places.setdefault(lease, _Places())
        key = (plan and id(plan), *texts, folder)
        if key not in places.numbers:
            number = _calls.reel_jax_open_place(
                lease.handle, plan and plan._handle, plan is not None and plan.steps is None,
                (c_char_p * MAX_TIERS)(*texts), folder)
            if number < 0:
                raise MemoryError("no memory for a pool of reel.jax")
            # The callback of a newer reference comes first: the sessions end before the pool is closed.
            weakref.finalize(lease, _calls.reel_jax_close_place, number)
            places.numbers[key] = number
            if plan is not None:
                places.plans.append(plan)
        return places.numbers[key]


def _alive(arrays: Iterable[Any]) -> Set[int]:
    """The sessions whose token is in one of these arrays, which are ready."""
    found: Set[int] = set()
    for array in arrays:
        if array.dtype == np.uint32 and array.ndim and array.shape[-1] == 2 and array.is_fully_addressable:
            found.update(np.asarray(array).reshape(-1, 2)[:, 0].tolist())
    return found


def _silent(seconds: float) -> List[int]:
    """The sessions that had no call for so long."""
    room = 64
    while True:
        ids = (c_uint32 * room)()
        found = _calls.reel_jax_silent(int(seconds * 1e9), ids, room)
        if found <= room:
            return ids[:found]
        room = 2 * found


def _give_up(ids: Sequence[int], seconds: float) -> int:
    return int(_calls.reel_jax_give_up(int(seconds * 1e9), (c_uint32 * len(ids))(*ids), len(ids)))


def collect() -> int:
    """Give up what forward passes have kept and no backward pass will use. Returns the number of these passes.

    It is what an abandoned result of jax.vjp() has left, or a program that an exception of others has ended. Reel knows
    by the arrays of JAX that are alive, which include what jax.vjp() holds. Call it while no other thread runs a
    program of reel.jax, since the arrays inside of a program do not count; it waits for those of this thread. Without a
    call this happens by itself after some minutes. What is given up too early is an error in the backward pass.
    """
    for array in jax.live_arrays("cpu"):
        try:
            array.block_until_ready()
        except Exception:  # its program has failed, or it was donated
            pass
    silent = _silent(0)
    alive = _alive(array for array in jax.live_arrays("cpu") if not array.is_deleted()) if silent else set()
    return _give_up([each for each in silent if each not in alive], 0)


class _Epoch:
    """Sessions without a token in an array, and the arrays that programs were about to make at that time.

    A token may be inside of such a program, until its arrays are ready.
    """

    def __init__(self) -> None:
        self.sessions: Set[int] = set()
        self.arrays: List[Callable[[], Any]] = []

    def is_over(self) -> bool:
        arrays = [array() for array in self.arrays]
        return all(array is None or array.is_deleted() or array.is_ready() for array in arrays)


_epoch = _Epoch()


@CFUNCTYPE(c_int, c_void_p)
def _collect_silent(_: Any) -> int:
    """Give up sessions of an epoch that is over, and begin another one. Waits for nothing."""
    global _epoch
    try:
        silent = _silent(_SILENT_SECONDS)
        arrays = [array for array in jax.live_arrays("cpu") if not array.is_deleted()] if silent else []
        coming = [array for array in arrays if not array.is_ready()]
        alive = _alive(array for array in arrays if array.is_ready())
        left = {each for each in silent if each not in alive}
        if _epoch.is_over() or not coming:
            gone = left if not coming else left & _epoch.sessions
            _give_up([*gone], _SILENT_SECONDS)
            _epoch = _Epoch()
            _epoch.sessions, _epoch.arrays = left - gone, [weakref.ref(array) for array in coming]
    except Exception:  # an array was donated just now, or JAX ends; the next reminder tries again
        pass
    return 0


def _remind(seconds: float) -> None:
    """Have a call that opens a session ask the main thread to collect(), at most once in this time."""
    _calls.reel_jax_remind(ctypes.cast(ctypes.pythonapi.Py_AddPendingCall, c_void_p),
                           ctypes.cast(_collect_silent, c_void_p), int(seconds * 1e9))


_remind(_SILENT_SECONDS)
atexit.register(_calls.reel_jax_remind, None, None, 0)
