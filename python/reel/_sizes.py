# SPDX-License-Identifier: MIT
"""Numbers and texts, as people write them, for the library."""

import operator
import os
from typing import Any, Optional, Union

Size = Union[int, str]

MOST = (1 << 63) - 1
MAX_UNSIGNED = (1 << 32) - 1

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


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


def to_bytes(size: Size, what: str) -> int:
    """A number of bytes, or a text such as "4G" or "1.5 GiB" (units of 1,024)."""
    if isinstance(size, str):
        text = size.strip().upper()
        if text.endswith("IB"):
            text = text[:-2]
        elif text.endswith("B"):
            text = text[:-1]
        unit = text[-1:] if text[-1:] in _UNITS else ""
        try:
            size = int(float(text[:len(text) - len(unit)]) * _UNITS[unit])
        except (ValueError, OverflowError):
            raise ValueError(f"{what} is a number of bytes such as '4G', not {size!r}") from None
    return to_int(size, what, 0)


def to_text(text: "Union[str, os.PathLike[str], None]", what: str) -> Optional[bytes]:
    """The bytes of a text or a path, which the library reads up to the first NUL."""
    try:
        encoded = None if text is None else os.fsencode(text)
    except TypeError:
        raise TypeError(f"{what} is a text or a path, not {text!r}") from None
    if encoded is not None and b"\0" in encoded:
        raise ValueError(f"{what} has a NUL in it: {text!r}")
    return encoded
