# SPDX-License-Identifier: MIT
"""Runs: a plan carried out over a loop of Python."""

import contextlib
import errno
import os
import warnings
import weakref
import zlib
from ctypes import POINTER, byref, c_double, c_void_p
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import numpy as np

from ._api import (
    MAX_DIMENSIONS, MAX_TIERS, RUN_AUDIT, AccuracyReport, Action as _Action, Field, Loss, Part, RunOptions, RunStats
)
from ._ends import Lease, Leased
from ._errors import check, error_of
from ._library import lib
from ._mpi import Ranks
from ._plan import KINDS, Plan
from ._pool import Pool, members
from ._sizes import to_int, to_text

State = Union[np.ndarray, Sequence[np.ndarray]]


class Step(NamedTuple):
    """A request of a run: to "advance", "record" or "reverse" steps first to last - 1 of the loop."""

    kind: str
    first: int
    last: int


def _parts(arrays: State, what: str) -> Tuple[List[np.ndarray], Any]:
    try:
        listed = [arrays] if isinstance(arrays, np.ndarray) else list(arrays)
    except TypeError:
        raise TypeError(f"{what} is an array or a list of arrays, and not {arrays!r}") from None
    for array in listed:
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise TypeError(f"{what} is made of arrays of numbers")
        if isinstance(array, np.ma.MaskedArray):
            raise TypeError(f"{what} keeps no mask; give array.data and array.mask")
        if not array.flags.forc or not array.flags.writeable:
            raise ValueError(f"{what} is made of arrays that are contiguous and writable: they are overwritten in place")
    parts = (Part * max(len(listed), 1))(*[  # type: ignore[misc]
        (array.ctypes.data, array.nbytes) for array in listed])
    return listed, parts


# The type of a field in C, and the numbers of it that a number of the array has.
_FIELDS = {np.dtype(np.float64): (1, 1), np.dtype(np.complex128): (1, 2),
           np.dtype(np.float32): (2, 1), np.dtype(np.complex64): (2, 2)}


def _loss(arrays: Sequence[np.ndarray], tolerance: float) -> Any:
    fields = (Field * max(len(arrays), 1))()
    for field, array in zip(fields, arrays):
        field.type, each = _FIELDS.get(array.dtype, (0, array.itemsize))
        extents = [*(array.shape if array.flags.c_contiguous else array.shape[::-1]), *([each] if each > 1 else [])]
        if len(extents) > MAX_DIMENSIONS or not field.type or not extents:
            kept = MAX_DIMENSIONS - 1 if field.type and extents else 0
            extents = [int(np.prod(extents[:len(extents) - kept])), *extents[len(extents) - kept:]]
        field.dimensions = len(extents)
        field.extent[:len(extents)] = extents
    return Loss(field=fields, fields=len(arrays), tolerance=tolerance)


class Accuracy(NamedTuple):
    """The `error` of no number of a gradient is larger than this; the `largest` number of it; and what it took.

    `errors` has an array for each one of the adjoint: a bound of the error of each number.
    """

    error: float
    largest: float
    tolerance: float
    gradients: int
    errors: List[np.ndarray]


class _Changes:
    """A step, and whether it has ever changed the state: a step that binds a new array to a name does not."""

    def __init__(self, step: Callable[[int], Any], state: Sequence[np.ndarray]) -> None:
        self._step, self._state = step, state
        self._first = self._sums()
        self._is_changed: Optional[bool] = None  # None: no step has run

    def _sums(self) -> List[int]:
        return [zlib.crc32(array.ravel("K").view(np.uint8).data) for array in self._state]

    def __call__(self, i: int) -> Any:
        result = self._step(i)
        if not self._is_changed:
            self._is_changed = self._first != self._sums()
        return result

    def check(self) -> None:
        if self._is_changed is False:
            raise RuntimeError("no step has changed the state of the run: steps change its arrays in place, as by x[:] "
                               "= ...; a loop whose state is to stay as it is iterates over the run")


_over_ranks: Set[Lease] = set()
"""Runs over ranks: the collector would end one at another time on each rank, and the ranks close it together."""


class Run(Leased):
    """Carries a plan out over a loop that the program owns.

    `state` is an array, or a list of arrays, that is all that changes from step to step; the run copies it to
    snapshots and back, in place. Iterating over a run gives the next steps to run:

        for action in run:
            for step in range(action.first, action.last):
                ...

    "advance" runs steps; "record" runs them and keeps the data for their reversal; "reverse" reverses them, from
    the last one to the first. Snapshots are parcels of `pool`; the tiers of the plan are memory or, by
    `stores`, stores as for `reel.Pool`, in `directory`.

    With `comm`, a communicator of mpi4py, each rank has its part of the state, and all ranks carry the plan out
    together: they open the run, begin the sweeps, ask for the next steps, resume and close. An exception that leaves
    the loop on one rank, also by gradient(), ends it on all: the others get an Error that names the rank.

    With a `tolerance` snapshots keep numbers of floating point to it, relative to the largest one in their array, and
    in fewer bytes (include/reel/loss.h): stats()["kept_bytes"] of ["rounded_bytes"]. The gradient has an error in
    proportion to it. With `digits` and `adjoint`, gradient() finds the tolerance: it computes the first gradient five
    times, and returns the Accuracy of the last one, whose error is at most 10**-digits of its largest number.

    With a file `restart` a run that was killed goes on where it was: resume() says whether there was one. The
    file needs `adjoint`, all arrays to which the reverse sweep adds.
    """

    _name = "run"

    def __init__(self, plan: Plan, state: State, *, pool: Optional[Pool] = None, stores: Sequence[Optional[str]] = (),
                 directory: Union[str, "os.PathLike[str]", None] = None, segment_steps: int = 0, steps: int = 0,
                 adjoint: Optional[State] = None, restart: Union[str, "os.PathLike[str]", None] = None,
                 restart_seconds: float = 0, audit: bool = False, tolerance: float = 0, digits: int = 0,
                 comm: Any = None) -> None:
        self._ranks = None if comm is None else Ranks(comm)
        opened: List[c_void_p] = []
        self._lease = Lease(lib.reel_run_close, plan, pool._lease if isinstance(pool, Pool) else None)
        handle = self._lease.handle
        if self._ranks:
            _over_ranks.add(self._lease)
        try:
            with self._ranks or contextlib.nullcontext():
                for value, cls, what in ((plan, Plan, "plan"), (pool, (Pool, type(None)), "pool"),
                                         (stores, (tuple, list), "stores")):
                    if not isinstance(value, cls):  # type: ignore[arg-type]
                        raise TypeError(f"{what} of a run is not {value!r}")
                if len(stores) > MAX_TIERS:
                    raise ValueError(f"a plan has at most {MAX_TIERS} tiers")
                self._state, parts = _parts(state, "the state")
                self._adjoint, adjoint_parts = _parts(() if adjoint is None else adjoint, "the adjoint")
                self._adjoint_address = self._adjoint[0].ctypes.data if self._adjoint else None
                self._plan, self._pool, self._segment_steps = plan, pool, to_int(segment_steps, "segment_steps", 0)
                self._restart = to_text(restart, "restart")
                options = RunOptions(
                    pool=pool._live().handle if pool else None, segment_steps=self._segment_steps,
                    steps=to_int(steps, "steps", 0), flags=RUN_AUDIT if audit else 0, restart=self._restart,
                    restart_seconds=restart_seconds, state_part=parts, state_parts=len(self._state),
                    adjoint_part=adjoint_parts, adjoint_parts=len(self._adjoint))
                if tolerance != 0 or digits:
                    options.loss.contents = _loss(self._state, tolerance)
                if digits and (not self._adjoint or self._restart):
                    raise ValueError("digits= asks for the gradient in adjoint=, without a restart file")
                for tier, description in enumerate(stores):
                    if description is not None:
                        store = c_void_p()
                        check(lib.reel_store_open(byref(store), to_text(description, "a store"),
                                                  to_text(directory, "directory")))
                        opened.append(store)
                        options.store[tier] = store.value
            check(self._ranks.open_run(handle, plan._handle, options) if self._ranks
                  else lib.reel_run_open(byref(handle), plan._handle, None, byref(options)))
        except BaseException:
            # After an exception of a signal's handler the run may be open: it has the stores then.
            if not handle:
                _over_ranks.discard(self._lease)
                for store in opened:
                    lib.reel_store_close(store)
            raise
        self._accuracy = c_void_p()
        if digits:
            check(lib.reel_accuracy_open(byref(self._accuracy), handle, to_int(digits, "digits"),
                                         self._numbers().size))
            weakref.finalize(self, lib.reel_accuracy_close, self._accuracy)
        self._unclosed: Any = None
        if self._ranks:
            self._unclosed = weakref.finalize(
                self, warnings.warn, "a reel.Run over ranks was not closed: close it on all ranks", ResourceWarning)
            self._unclosed.atexit = False

    def close(self) -> None:
        """Give the snapshots and the stores up now."""
        if self._unclosed:
            self._unclosed.detach()
        _over_ranks.discard(self._lease)  # type: ignore[arg-type]
        self._lease = None

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def resume(self) -> bool:
        """Go on where the run that wrote the restart file was. False: there is no such file."""
        result = lib.reel_run_resume(self._live().handle, None, self._adjoint_address)
        return result != -errno.ENOENT and check(result) == 0

    def __iter__(self) -> Iterator[Step]:
        check(lib.reel_run_start(self._live().handle, None, None, self._adjoint_address))
        sweep = self._sweep = object()
        action = _Action()
        ended = False
        try:
            while not ended:
                if sweep is not self._sweep:
                    raise RuntimeError("another iteration over the run has begun, and a run has one at a time")
                result = lib.reel_run_next(self._live().handle, byref(action))
                ended = result != 0 or KINDS[action.kind] == "done"
                if result:
                    raise error_of(result)
                if not ended:
                    yield Step(KINDS[action.kind], action.first, action.last)
        finally:
            # This rank's loop has ended early. The others ask for the next action, and learn that there is none.
            if self._ranks and not ended and sweep is self._sweep and self._lease and not self._ranks.is_over():
                lib.reel_run_stop(self._lease.handle, -errno.ECANCELED)
                lib.reel_run_next(self._lease.handle, byref(action))

    def end_loop(self) -> None:
        """For a plan without a known end: the loop ends in the state to which the last "advance" has led."""
        check(lib.reel_run_end_loop(self._live().handle))

    @property
    def is_reversing(self) -> bool:
        """Whether the forward sweep has come to its end, and the reverse sweep has not."""
        return lib.reel_run_is_reversing(self._live().handle)

    def gradient(self, step: Callable[[int], Any], adjoint_step: Callable[[int, Any], Any],
                 at_end: Optional[Callable[[], Any]] = None, *,
                 progress: Optional[Callable[[int], Any]] = None) -> Optional[Accuracy]:
        """Both sweeps: step(i) runs step i on the state, in place, and returns `kept` for adjoint_step(i, kept).

        at_end() is called between the sweeps, when the state is the last one, to set the adjoint. progress(1) is
        called after each step that was run or reversed; `total_steps` says how many there will be:

            with tqdm.tqdm(total=run.total_steps) as bar:
                run.gradient(step, adjoint_step, at_end, progress=bar.update)

        A run with `digits` does so for each tolerance that it tries, from the same state and adjoint.
        """
        if not self._accuracy:
            self._gradient(step, adjoint_step, at_end, progress)
            return None
        arrays = self._state + self._adjoint
        first = [array.copy() for array in arrays]
        again = 1
        while again:
            for array, copy in zip(arrays, first):
                array[...] = copy
            self._gradient(step, adjoint_step, at_end, progress)
            numbers = self._numbers()
            again = check(lib.reel_accuracy_again(self._accuracy, numbers.ctypes.data_as(POINTER(c_double))))
        report = AccuracyReport()
        lib.reel_accuracy_get_report(self._accuracy, byref(report))
        return Accuracy(report.error, report.largest, report.tolerance, report.gradients, self._errors())

    def _errors(self) -> List[np.ndarray]:
        numbers = [array.size * (2 if np.iscomplexobj(array) else 1) for array in self._adjoint]
        errors = np.empty(sum(numbers))
        lib.reel_accuracy_get_errors(self._accuracy, errors.ctypes.data_as(POINTER(c_double)))
        return [part.view(np.dtype(complex if np.iscomplexobj(array) else float)).reshape(array.shape)
                for part, array in zip(np.split(errors, np.cumsum(numbers)[:-1]), self._adjoint)]

    def _numbers(self) -> np.ndarray:
        """All numbers of the adjoint."""
        return np.concatenate([np.ravel(array).astype(complex if np.iscomplexobj(array) else float).view(float)
                               for array in self._adjoint])

    def _gradient(self, step: Callable[[int], Any], adjoint_step: Callable[[int, Any], Any],
                  at_end: Optional[Callable[[], Any]], progress: Optional[Callable[[int], Any]]) -> None:
        step = changes = _Changes(step, self._state)
        tell = progress or (lambda _: None)
        kept: Dict[int, Any] = {}
        begun = False
        for action in self:
            if action.kind == "reverse":
                if not begun and self._ranks is None:
                    changes.check()
                if not begun and at_end is not None and action.last == self.steps:
                    at_end()
                begun = True
                for i in reversed(range(action.first, action.last)):
                    adjoint_step(i, kept.pop(i))
                    tell(1)
            else:
                for i in range(action.first, action.last):
                    result = step(i)
                    if action.kind == "record":
                        kept[i] = result
                    tell(1)
        if not begun and at_end is not None and self.steps == 0:
            at_end()

    @property
    def steps(self) -> Optional[int]:
        """The number of steps of the loop; None: it is not known yet."""
        steps = lib.reel_run_steps(self._live().handle)
        return None if steps < 0 else steps

    @property
    def total_steps(self) -> Optional[int]:
        """The number of steps that both sweeps run, run again and reverse; None: it is not known yet.

        So it is where the end of the loop is not known, and of a plan that learns. A run that goes on from a restart
        file has less to do.
        """
        segments, steps = self._plan.steps, self.steps
        if segments is None or steps is None or self._plan.planner == "auto":
            return None
        if steps == segments:
            counts = self._plan.check()
            return counts.advances + counts.recorded + counts.reversed
        ends = [min(i * self._segment_steps, steps) for i in range(segments + 1)]
        return sum(ends[action.last] - ends[action.first] for action in self._plan
                   if action.kind in ("advance", "record", "reverse"))

    def stats(self) -> Dict[str, Any]:
        """The statistics of the run: the members of `struct reel_run_stats`."""
        return members(RunStats(), lib.reel_run_get_stats, self._live())


def save_now(end: bool = False) -> None:
    """Ask each run of this process that has a restart file to write it as soon as it can, and then to end."""
    lib.reel_save_now(1 if end else 0)
