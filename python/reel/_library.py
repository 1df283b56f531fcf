# SPDX-License-Identifier: MIT
"""The library: libreel.so.0, of the version of the headers from which _api.py is made, or newer.

`reel/version.h` says that functions and structs stay as they are as long as the library is libreel.so.0. A call
releases the lock of the interpreter, so that other threads run while it waits for a store.
"""

import ctypes
import ctypes.util
import os

from ._api import FUNCTIONS, VERSION


# The library that REEL_LIBRARY names, or the one that the system's loader finds.
named = os.environ.get("REEL_LIBRARY")
try:
    lib = ctypes.CDLL(named or "libreel.so.0")
except OSError as error:
    found = None if named else ctypes.util.find_library("reel")
    if not found:
        raise ImportError(
            f"libreel was not found ({error}); install it (libreel0), or set REEL_LIBRARY to the path of "
            "libreel.so.0") from None
    lib = ctypes.CDLL(found)
for name, (result, *arguments) in FUNCTIONS.items():
    try:
        function = getattr(lib, name)
    except AttributeError:
        raise ImportError(f"{lib._name} has no {name}(): it is older than this package") from None
    function.restype, function.argtypes = result, arguments
if lib.reel_version_number() < VERSION:
    raise ImportError(
        f"{lib._name} is version {lib.reel_version().decode()}, and this package needs "
        f"{VERSION // 10000}.{VERSION // 100 % 100}.{VERSION % 100}")
