# SPDX-License-Identifier: MIT
"""The end of objects that own something of the library, also when a signal's handler raises just then."""

import weakref
from functools import partial
from itertools import count
from typing import Any, Dict, Iterator

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
