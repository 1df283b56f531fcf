# SPDX-License-Identifier: MIT
"""The exceptions of calls of the library that fail, with the library's text."""

import builtins
import errno
import os
from typing import Any

from ._library import lib


class Error(Exception):
    """A failure of libreel. `errno` is its code, a positive number as in the module `errno`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.errno = code

    def __reduce__(self) -> Any:
        return type(self), (self.errno, self.args[0])

    def __str__(self) -> str:
        return f"{self.args[0]} [{errno.errorcode.get(self.errno, self.errno)}]"


class ArgumentError(Error, ValueError):
    """An argument that makes no sense, or a call in the wrong state."""


class MemoryError(Error, builtins.MemoryError):  # noqa: A001
    """The budget is used up, or the system has no more memory."""


class StoreError(Error, OSError):
    """A store, or the file system, has failed."""

    def __init__(self, code: int, text: str) -> None:
        Error.__init__(self, code, text)
        self.strerror = os.strerror(code)


_CLASSES = {getattr(errno, name): cls for cls, names in (
    (ArgumentError, "EINVAL EOVERFLOW EBUSY"),
    (MemoryError, "EDQUOT ENOMEM"),
    (StoreError, "EIO ENOSPC ENOENT EACCES EPERM ENOTDIR EISDIR ELOOP ENAMETOOLONG EROFS EFBIG EEXIST ENXIO EMFILE "
                 "ENFILE ENOTSUP")) for name in names.split()}


class Uncopied:
    """An object of the library, of which a copy would be freed twice."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


def error_of(result: int) -> Error:
    """The exception for a result below 0, which the last call of this thread returned."""
    text = lib.reel_error_text(result).decode(errors="replace")
    return _CLASSES.get(-result, Error)(-result, text)


def check(result: int) -> int:
    """Return a result that is 0 or above, and raise any other."""
    if result < 0:
        raise error_of(result)
    return result
