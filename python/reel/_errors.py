# SPDX-License-Identifier: MIT
"""What a call of the library that fails raises: an exception with the library's text."""

import errno
import os

from ._library import lib


class Error(Exception):
    """A failure of libreel. `errno` is its code, a positive number as in the module `errno`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.errno = code

    def __str__(self) -> str:
        return f"{self.args[0]} [{errno.errorcode.get(self.errno, self.errno)}]"


class ArgumentError(Error, ValueError):
    """An argument that makes no sense, or a call in the wrong state."""


class MemoryError(Error, MemoryError):  # noqa: A001
    """The budget is used up, or the system has no more memory."""


class StoreError(Error, OSError):
    """A store, or the file system, has failed."""

    def __init__(self, code: int, text: str) -> None:
        Error.__init__(self, code, text)
        self.strerror = os.strerror(code)


_CLASSES = {
    errno.EINVAL: ArgumentError, errno.EOVERFLOW: ArgumentError, errno.EBUSY: ArgumentError,
    errno.EDQUOT: MemoryError, errno.ENOMEM: MemoryError,
    errno.EIO: StoreError, errno.ENOSPC: StoreError, errno.ENOENT: StoreError, errno.EACCES: StoreError,
    errno.ENOTDIR: StoreError, errno.EROFS: StoreError, errno.EFBIG: StoreError, errno.EEXIST: StoreError,
    errno.ENXIO: StoreError,
}


def error_of(result: int) -> Error:
    """The exception for a result below 0, which was the last call of this thread."""
    text = lib.reel_error_text(result).decode(errors="replace")
    return _CLASSES.get(-result, Error)(-result, text)


def check(result: int) -> int:
    """Return a result that is 0 or above, and raise any other."""
    if result < 0:
        raise error_of(result)
    return result
