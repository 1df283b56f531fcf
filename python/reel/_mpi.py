# SPDX-License-Identifier: MIT
"""Runs over ranks: libreel-mpi, which has to call the MPI that mpi4py calls."""

import ctypes
import errno
import functools
import os
from ctypes import POINTER, byref, c_int, c_int64, c_void_p
from typing import Any

from ._api import RunOptions
from ._errors import check
from ._library import lib

_REMEDY = "install libreel-mpi for mpi4py's MPI (no wheel has it), or set REEL_LIBRARY to a libreel.so.0 beside one"


def _version(library: ctypes.CDLL) -> Any:
    """MPI_Get_library_version() of the MPI that a library calls: the function, and its text."""
    function = library.MPI_Get_library_version
    text, length = ctypes.create_string_buffer(8192), c_int()
    function(text, byref(length))
    return ctypes.cast(function, c_void_p).value, text.value.decode(errors="replace").split("\n")[0].strip()


@functools.lru_cache(maxsize=None)
def load(MPI: Any) -> ctypes.CDLL:
    """libreel-mpi for mpi4py's MPI.

    It lies beside a libreel that REEL_LIBRARY names, and otherwise where the loader finds it. A wheel has none.
    """
    name = os.path.join(os.path.dirname(lib._name), "libreel-mpi.so.0")
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"libreel-mpi was not found ({error}); {_REMEDY}") from None
    (ours, our_text), (theirs, their_text) = _version(library), _version(ctypes.CDLL(MPI.__file__))
    if ours != theirs:
        raise ImportError(f"mpi4py calls '{their_text}', and {name} calls another MPI, '{our_text}'; communicators of "
                          f"one mean nothing to the other: {_REMEDY}")
    # A communicator is a pointer in Open MPI, and an int in MPICH.
    comm = c_void_p if MPI._sizeof(MPI.Comm) == ctypes.sizeof(c_void_p) else c_int
    library.reel_mpi_agree.argtypes = comm, c_int, POINTER(c_int64)
    library.reel_mpi_run_open.argtypes = POINTER(c_void_p), c_void_p, c_void_p, POINTER(RunOptions), c_void_p, comm
    return library


class Ranks:
    """A communicator of mpi4py, as libreel-mpi takes it. A failure in a `with` on one rank is one on all ranks."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI  # type: ignore[import-not-found]

        if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
            raise TypeError(f"comm is an intracommunicator of mpi4py, such as MPI.COMM_WORLD, and not {comm!r}")
        self._library = load(MPI)
        self._handle = self._library.reel_mpi_agree.argtypes[0].from_address(MPI._addressof(comm))
        self._comm = comm
        self.is_over = MPI.Is_finalized

    def __enter__(self) -> None:
        pass

    def __exit__(self, failure: Any, *_: Any) -> None:
        result = self._library.reel_mpi_agree(self._handle, -errno.ECANCELED if failure else 0, None)
        if not failure:
            check(result)

    def open_run(self, handle: c_void_p, plan: c_void_p, options: RunOptions) -> int:
        return self._library.reel_mpi_run_open(byref(handle), plan, None, byref(options), None, self._handle)
