# SPDX-License-Identifier: MIT
"""The end of objects that own something of the library, also when a signal's handler raises just then."""

import weakref
from ctypes import c_void_p
from functools import partial
from itertools import count
from typing import Any, Callable, Dict, Iterable, Iterator, Optional

from ._errors import Uncopied

_keys = count()
_watched: Dict[int, "weakref.ref[Any]"] = {}
"""References to the objects that end something of the library, by their keys."""


def end_with(owner: Any, *ends: Iterator[Any]) -> None:
    """Ask each of these iterators for one item when the owner is gone; the items are results of the library's calls.

    A signal's handler runs between two instructions of Python, and also before the first one of `__del__`, which then
    does nothing. There is no instruction between the end of the owner and the calls here: all iterators are C.
    """
    key = next(_keys)
    _watched[key] = weakref.ref(owner, partial(next, zip(map(_watched.pop, (key,)), *ends)))  # type: ignore[call-overload]


def handle_of(owner: Any, close: Callable[[c_void_p], Any], *used: Any) -> c_void_p:
    """A handle for the library to open. It is closed when the owner is gone; `used` lives until the call returns."""
    handle = c_void_p()
    end_with(owner, map(close, (handle,)), emptied(used))
    return handle


def emptied(used: Iterable[Any]) -> Iterator[None]:
    """Lets go of the used objects. Otherwise only the collector would do so, since the callback is in a cycle then."""
    clear: Any = list.clear
    return map(clear, (list(used),))


class Lease:
    """A handle that objects share: it is closed when the last of them has let it go.

    The leases in `used` are closed later, also where the collector ends all of them at once, and while a thread closes
    this one, which releases the lock of the interpreter.
    """

    __slots__ = ("handle", "__weakref__")

    def __init__(self, close: Callable[[c_void_p], Any], *used: Any) -> None:
        self.handle = handle_of(self, close, *used)


class Leased(Uncopied):
    """An object of the library that objects share."""

    __slots__ = ("_lease",)
    _lease: Optional[Lease]
    _name: str

    def _live(self) -> Lease:
        lease = self._lease
        if lease is None:
            raise ValueError(f"the {self._name} is closed")
        return lease

    def _let_go(self) -> bool:
        """Close it. Returns False, and leaves it open, if other objects also have its lease."""
        if self._lease:
            others = weakref.ref(self._lease)
            self._lease = None
            self._lease = others()
        return self._lease is None
