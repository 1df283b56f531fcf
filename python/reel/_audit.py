# SPDX-License-Identifier: MIT
"""What an audit of backward passes finds, whichever library runs them."""

import importlib
import sys
import threading
import warnings
from typing import Any, List, NamedTuple, Tuple

import numpy

from ._errors import Uncopied

KINDS = RECOMPUTATION, OFFLOAD, IN_PLACE, RANDOM, STREAM = (
    "recomputation", "offload", "in place", "random numbers", "another stream")

_WORDS = 2039
MASK, MULTIPLIER = (1 << 64) - 1, 0x9E3779B97F4A7C15
_WEIGHTS = numpy.random.Generator(numpy.random.PCG64(1)).integers(-1 << 63, (1 << 63) - 1, _WORDS, numpy.int64) | 1


def sum_of(data: Any) -> int:
    """A number for bytes that depends on the place of each word.

    It is a sum with a weight for each column of a table: NumPy adds faster than it multiplies. It also changes when
    rows of a tensor change places: the number of columns is a prime, and few tensors have rows of such a length.
    """
    words = data[:data.size // 8 * 8].view(numpy.int64)
    number = data.size + int.from_bytes(data[words.size * 8:].tobytes(), "little") * MULTIPLIER
    rows = words.size // _WORDS
    if rows:
        number += int(numpy.add.reduce(words[:rows * _WORDS].reshape(rows, _WORDS), 0).dot(_WEIGHTS))
        words = words[rows * _WORDS:]
    return (number * MULTIPLIER + int(words.dot(_WEIGHTS[:words.size]))) & MASK


class Place:
    """A line of the program, and the module of torch that runs there."""

    __slots__ = ("file", "line", "function", "module")

    def __init__(self) -> None:
        self.file, self.line, self.function, self.module = "?", 0, "", ""

    def set_line(self, frame: Any) -> None:
        self.file, self.line, self.function = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}" + (f", module {self.module}" if self.module else "")


class Difference(NamedTuple):
    """A value that came back with other bytes.

    `kind` is one of KINDS, `saved` the line that saved it, and `back` the line that computed it anew, or else that of
    the backward pass.
    """

    kind: str
    tensor: str
    saved: Place
    back: Place
    detail: str

    def __str__(self) -> str:
        return (f"{self.kind}: {self.tensor} {self.detail}\n    saved:     {self.saved}\n    came back: {self.back}")


class Patches:
    """Functions of a library that are replaced while an audit uses them."""

    def __init__(self) -> None:
        self.lock, self.users = threading.RLock(), 0
        self.replaced: List[Tuple[Any, str, Any]] = []

    def enter(self) -> None:
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.apply()

    def apply(self) -> None:
        raise NotImplementedError

    def replace(self, owner: Any, name: str, function: Any) -> Any:
        """Returns the function that was there."""
        self.replaced.append((owner, name, vars(owner)[name]))
        old = getattr(owner, name)
        setattr(owner, name, function)
        return old

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            while not self.users and self.replaced:
                setattr(*self.replaced.pop())


class Audit(Uncopied):
    """The result of reel.audit(), which describes the arguments."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises
        self.differences: List[Difference] = []
        self.saved = self.compared = self.differing = 0
        names = [name for name in ("pyadjoint", "torch") if name in sys.modules] or ["torch"]
        self._libraries: List[Any] = [importlib.import_module(f"{__package__}._audit_{name}") for name in names]

    def __enter__(self) -> "Audit":
        for library in self._libraries:
            library.enter(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        for library in reversed(self._libraries):
            library.leave()

    def report(self) -> str:
        """What was found, as text: the differences, in the order in which they were found."""
        counts = f"{self.saved} values saved, {self.compared} compared when they came back, {self.differing} with other bytes"
        return "\n".join([counts, *map(str, self.differences)])

    def add(self, difference: Difference) -> None:
        self.differences.append(difference)
        if self.raises:
            raise RuntimeError(f"reel.audit() found a difference\n{difference}")
        if len(self.differences) == 1:
            warnings.warn(f"reel.audit() found a difference; audit.report() has all\n{difference}", stacklevel=2)
