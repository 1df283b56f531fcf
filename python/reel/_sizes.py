# SPDX-License-Identifier: MIT
"""Numbers and texts, as people write them, for the library."""

import operator
import os
import re
from ctypes import byref, c_size_t
from typing import Any, Optional, Union

from ._library import lib

Size = Union[int, str]

MOST = (1 << 63) - 1
MAX_UNSIGNED = (1 << 32) - 1

_SIZE = re.compile(r"\s*([\d.]+)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)


def to_int(number: Any, what: str, minimum: int = -MOST, maximum: int = MOST) -> int:
    """An integer, of Python or of NumPy, that the library can take."""
    try:
        number = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} is a whole number, not {number!r}") from None
    if number > maximum:
        raise ValueError(f"{what} is too large: {number}")
    if number < minimum:
        raise ValueError(f"{what} must not be below {minimum}, and is {number}")
    return number


def to_size_text(size: Size, what: str) -> Optional[bytes]:
    """A number of bytes, or a text such as "4G" or "1.5 GiB", in the words of the library."""
    if not isinstance(size, str):
        size = str(to_int(size, what, 0))
    found = _SIZE.fullmatch(size)
    return to_text(found[1] + found[2].upper() if found else size, what)


def to_bytes(size: Size, what: str) -> int:
    """The number of bytes."""
    number = c_size_t()
    if lib.reel_parse_bytes(to_size_text(size, what), byref(number)):
        raise ValueError(f"{what} is a number of bytes such as '4G', not {size!r}")
    return number.value


def to_text(text: "Union[str, os.PathLike[str], None]", what: str) -> Optional[bytes]:
    """The bytes of a text or a path, which the library reads up to the first NUL."""
    try:
        encoded = None if text is None else os.fsencode(text)
    except TypeError:
        raise TypeError(f"{what} is a text or a path, not {text!r}") from None
    if encoded is not None and b"\0" in encoded:
        raise ValueError(f"{what} has a NUL in it: {text!r}")
    return encoded
