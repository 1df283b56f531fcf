# SPDX-License-Identifier: MIT
"""Compares the values that pyadjoint reads in a reverse sweep with those of the evaluation before it.

A block variable has one value in an evaluation of a tape. With a schedule pyadjoint gives it up, and computes it anew or
loads it from a checkpoint when the reverse sweep needs it. So an audit takes a checksum of each value that a block
reads in the taping, and in each evaluation at other controls, and another one when the reverse sweep reads it.
"""

import contextlib
import sys
import weakref
from typing import Any, Dict, Iterator, List, Optional, Set

import numpy
import pyadjoint  # type: ignore[import-not-found]
from pyadjoint.block_variable import BlockVariable  # type: ignore[import-not-found]

from ._audit import IN_PLACE, OFFLOAD, RECOMPUTATION, Audit, Difference, Patches, Place, sum_of

_LIBRARIES = tuple(path.rpartition("/")[0] + "/" for path in (__file__, contextlib.__file__, pyadjoint.__path__[0]))
"""The folders of this package, of Python, and of installed packages, such as pyadjoint and others that make blocks."""


def _place() -> Place:
    """The innermost line of the program."""
    place, frame = Place(), sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        frame = frame.f_back
    place.set_line(frame)
    return place


def _array_of(value: Any) -> Optional[numpy.ndarray]:
    """The numbers of a value. None: they are not known."""
    for outer, inner in ("x", "array"), ("dat", "data_ro"):  # functions of DOLFINx, and of Firedrake
        value = getattr(getattr(value, outer, None), inner, value)
    is_known = isinstance(value, (int, float, complex, numpy.ndarray)) and not isinstance(value, numpy.ma.MaskedArray)
    array = numpy.asanyarray(value) if is_known else None
    return None if array is None or array.dtype.hasobject else array


class _Known:
    """Of a block variable: the line that made it, and its value in the last evaluation."""

    __slots__ = ("place", "number", "array")

    def __init__(self) -> None:
        self.place, self.number = _place(), -1
        self.array: Any = lambda: None


class _Sweep:
    """A reverse sweep over a tape, or an evaluation, which has `tape` None."""

    __slots__ = ("tape", "computing", "is_reported")

    def __init__(self, tape: Any) -> None:
        self.tape = tape
        self.computing: Set[Any] = set()
        """The outputs of the block that runs. A solver may begin with the last value of its own output."""
        self.is_reported = False

    def look(self, variable: Any, value: Any) -> None:
        """A block reads the value of a variable."""
        if variable in self.computing:
            return
        if self.tape is None:
            _learn(variable, value)
        else:
            _compare(variable, value, self)


_known: "weakref.WeakKeyDictionary[Any, _Known]" = weakref.WeakKeyDictionary()
_audits: List[Audit] = []
_sweeps: List[_Sweep] = []


def _learn(variable: Any, value: Any) -> None:
    array = _array_of(value)
    if array is None:
        return
    known = _known.get(variable) or _known.setdefault(variable, _Known())
    known.number, known.array = _number_of(array), weakref.ref(array)
    _audits[-1].saved += 1


def _number_of(array: numpy.ndarray) -> int:
    return sum_of(numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))


def _compare(variable: Any, value: Any, sweep: _Sweep) -> None:
    known, array = _known.get(variable), _array_of(value)
    if array is None or known is None or known.number < 0:
        return
    audit = _audits[-1]
    audit.compared += 1
    if _number_of(array) == known.number:
        return
    audit.differing += 1
    if sweep.is_reported:
        return
    sweep.is_reported = True
    if known.array() is array:
        kind, detail = IN_PLACE, "was changed after a block had read it"
    elif variable.checkpoint is None:
        kind, detail = RECOMPUTATION, "was not computed anew: it is the value of the taping, at other controls"
    elif any(step._checkpoint.get(variable) is variable.checkpoint for step in sweep.tape.timesteps):
        kind, detail = OFFLOAD, "came back from a checkpoint with other bytes"
    else:
        kind, detail = RECOMPUTATION, "was computed anew with another result"
    step = f" of step {variable.creation_timestep}" if variable.creation_timestep >= 0 else ""
    audit.add(Difference(kind, f"{array.dtype}{list(array.shape)}{step}", known.place, _place(), detail))


class _Patches(Patches):
    def apply(self) -> None:
        old: Dict[str, Any] = {}

        def saved_output(variable: Any) -> Any:
            value = old["saved_output"].fget(variable)
            if _sweeps:
                _sweeps[-1].look(variable, value)
            return value

        def will_add_as_output(variable: Any) -> None:
            _known[variable] = _Known()
            old["will_add_as_output"](variable)

        def will_add_as_dependency(variable: Any) -> None:
            old["will_add_as_dependency"](variable)
            _learn(variable, variable.saved_output)

        def recompute(block: Any, *arguments: Any, **named: Any) -> None:
            sweep = _sweeps[-1] if _sweeps else _Sweep(None)
            sweep.computing = set(block.get_outputs())
            try:
                old["recompute"](block, *arguments, **named)
            finally:
                sweep.computing = set()

        def evaluate_adj(tape: Any, *arguments: Any, **named: Any) -> Any:
            with _sweep(tape):
                return old["evaluate_adj"](tape, *arguments, **named)

        def call(functional: Any, *arguments: Any, **named: Any) -> Any:
            with _sweep(None):
                return old["__call__"](functional, *arguments, **named)

        for owner, function, name in (
                (BlockVariable, property(saved_output), "saved_output"),
                (BlockVariable, will_add_as_output, "will_add_as_output"),
                (BlockVariable, will_add_as_dependency, "will_add_as_dependency"),
                (pyadjoint.Block, recompute, "recompute"), (pyadjoint.Tape, evaluate_adj, "evaluate_adj"),
                (pyadjoint.ReducedFunctional, call, "__call__")):
            old[name] = self.replace(owner, name, function)


@contextlib.contextmanager
def _sweep(tape: Any) -> Iterator[None]:
    _sweeps.append(_Sweep(tape))
    try:
        yield
    finally:
        _sweeps.pop()


_patches = _Patches()


def enter(audit: Audit) -> None:
    _patches.enter()
    _audits.append(audit)


def leave() -> None:
    _audits.pop()
    _patches.leave()
