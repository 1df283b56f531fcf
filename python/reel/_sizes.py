# SPDX-License-Identifier: MIT
"""Numbers of bytes, as people write them."""

from typing import Union

Size = Union[int, str]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def to_bytes(size: Size, what: str) -> int:
    """A number of bytes, or a text such as "4G" or "1.5 GiB" (units of 1,024)."""
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise TypeError(f"{what} must be a number of bytes, or a text such as '4G'")
    if isinstance(size, str):
        text = size.strip().upper()
        if text.endswith("IB"):
            text = text[:-2]
        elif text.endswith("B"):
            text = text[:-1]
        unit = text[-1:] if text[-1:] in _UNITS else ""
        try:
            number = float(text[:len(text) - len(unit)])
            size = int(number * _UNITS[unit])
        except (ValueError, OverflowError):
            raise ValueError(f"{what} is a number of bytes such as '4G', not {size!r}") from None
    if size < 0:
        raise ValueError(f"{what} must not be below 0, and is {size}")
    return size
