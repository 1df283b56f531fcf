# SPDX-License-Identifier: MIT
"""python -m reel [info]: the library, and the packages that this one works with.

The options --cflags to --cmakedir print what builds C programs with the library inside a wheel. --malloc prints what
LD_PRELOAD is set to for libreel-malloc, with which large arrays and tensors use memory again.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
from typing import Any, Dict, List, Optional

import numpy as np

from . import __version__, planners
from ._library import HERE, INSIDE, lib

_OTHERS = {"checkpoint_schedules": "checkpoint_schedules", "matplotlib": "matplotlib", "mpi4py": "mpi4py",
           "pyadjoint": "pyadjoint-ad", "torch": "torch"}
"""Packages that this one works with, and their names in the index of packages."""

_BUILD = {"--cflags": "-I{0}/include", "--libs": "-L{0}/lib -lreel -Wl,-rpath,{0}/lib",
          "--pkgconfigdir": "{0}/lib/pkgconfig", "--cmakedir": "{0}/lib/cmake/Reel"}
"""Options for builds, and what they print for the folder of the package."""


def _version_of(module: str) -> str:
    try:
        return importlib.metadata.version(_OTHERS[module])
    except importlib.metadata.PackageNotFoundError:
        return "yes" if importlib.util.find_spec(module) else "no"


def _mpi() -> str:
    """The MPI that runs over ranks use, or the reason why there is none."""
    try:
        import mpi4py  # type: ignore[import-not-found]

        mpi4py.rc.initialize = False
        from mpi4py import MPI
        from ._mpi import load

        load(MPI)
        return MPI.Get_library_version().split("\n")[0].strip("\0 ")
    except ImportError as error:
        return f"no: {error}"


def _info() -> Dict[str, Any]:
    return {"version": __version__, "library": lib._name, "python": platform.python_version(),
            "numpy": np.__version__, "planners": ", ".join(planners()),
            **{module: _version_of(module) for module in _OTHERS}, "ranks": _mpi()}


def main(words: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reel", description=__doc__)
    parser.add_argument("-V", "--version", action="version", version=f"reel {__version__}")
    parser.add_argument("verb", nargs="?", choices=["info"], help="show the library and the packages; the default")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--malloc", action="store_true", help="for LD_PRELOAD")
    for option, text in _BUILD.items():
        parser.add_argument(option, dest="build", action="append_const", const=text.format(HERE), help="for C programs")
    given = parser.parse_args(words)
    if given.malloc:
        beside = os.path.join(os.path.dirname(lib._name), "libreel-malloc.so")
        return print(beside if os.path.exists(beside) else "libreel-malloc.so")
    if given.build and not os.path.exists(INSIDE):
        parser.error("this package is of no wheel, and has no library inside; ask pkg-config --cflags --libs reel")
    if given.build:
        return print(*given.build)
    facts = _info()
    width = max(map(len, facts)) + 2
    print(json.dumps(facts, indent=2) if given.json else
          "\n".join(f"{name + ':':{width}}{text}" for name, text in facts.items()))


if __name__ == "__main__":
    main()
