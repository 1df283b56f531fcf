# SPDX-License-Identifier: MIT
"""The library: libreel.so.0, of the version of the headers from which _api.py is made, or newer.

It is the file that REEL_LIBRARY names, or else the one inside this package, which a wheel has, or else the one that
the system's loader finds.

`reel/version.h` says that functions and structs stay as they are as long as the library is libreel.so.0. A call
releases the lock of the interpreter, so that other threads run while it waits for a store.

The functions for GPUs are those of libreel-cuda.so.0, which gpu_library() loads.
"""

import ctypes
import functools
import os

from ._api import FUNCTIONS, VERSION

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = os.path.join(HERE, "lib", "libreel.so.0")
_path = os.environ.get("REEL_LIBRARY") or (INSIDE if os.path.exists(INSIDE) else "libreel.so.0")


def _declare(library: ctypes.CDLL, of_gpu: bool) -> ctypes.CDLL:
    for name, (result, *arguments) in FUNCTIONS.items():
        if ("_gpu_" in name) == of_gpu:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library


try:
    lib = ctypes.CDLL(_path)
    lib.reel_version.restype = ctypes.c_char_p
    if lib.reel_version_number() < VERSION:
        raise OSError(f"{_path} is version {lib.reel_version().decode()}")
    _declare(lib, of_gpu=False)
except (OSError, AttributeError) as error:  # of a library that is missing or old; of one that lacks a function
    raise ImportError(
        f"no libreel {VERSION // 10000}.{VERSION // 100 % 100}.{VERSION % 100} or later ({error}); install a wheel, "
        "which has one inside (pip install --force-reinstall --no-deps libreel), or your system's (Debian: libreel0), "
        "or set REEL_LIBRARY to the path of a libreel.so.0") from None


@functools.lru_cache(maxsize=None)
def gpu_library() -> ctypes.CDLL:
    """libreel-cuda.so.0, which lies beside libreel, or which the system's loader finds. It needs no GPU to be loaded."""
    beside = os.path.join(os.path.dirname(_path), "libreel-cuda.so.0")
    try:
        return _declare(ctypes.CDLL(beside if os.path.exists(beside) else "libreel-cuda.so.0"), of_gpu=True)
    except (OSError, AttributeError) as error:
        raise ImportError(f"no libreel-cuda of the version of {_path} ({error}); install a wheel, which has one inside, "
                          "or your system's (Debian: libreel-cuda0)") from None
