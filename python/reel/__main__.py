# SPDX-License-Identifier: MIT
"""python -m reel info: the library, and the packages that this one works with."""

import argparse
import importlib.metadata
import importlib.util
import json
import platform
from typing import Any, Dict, List, Optional

import numpy as np

from . import __version__, planners
from ._library import lib

_OTHERS = {"checkpoint_schedules": "checkpoint_schedules", "matplotlib": "matplotlib", "mpi4py": "mpi4py",
           "pyadjoint": "pyadjoint-ad", "torch": "torch"}
"""Packages that this one works with, and their names in the index of packages."""


def _version_of(module: str) -> str:
    try:
        return importlib.metadata.version(_OTHERS[module])
    except importlib.metadata.PackageNotFoundError:
        return "yes" if importlib.util.find_spec(module) else "no"


def _mpi() -> str:
    """The MPI over which runs go, or why they go over none."""
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
    facts = {"version": __version__, "library": lib._name, "python": platform.python_version(),
             "numpy": np.__version__, "planners": ", ".join(planners())}
    facts.update({module: _version_of(module) for module in _OTHERS})
    return {**facts, "ranks": _mpi()}


def main(words: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reel", description=__doc__)
    parser.add_argument("-V", "--version", action="version", version=f"reel {__version__}")
    parser.add_argument("verb", choices=["info"], help="show the library and the packages that are there")
    parser.add_argument("--json", action="store_true", help="as JSON")
    given, facts = parser.parse_args(words), _info()
    width = max(map(len, facts)) + 2
    print(json.dumps(facts, indent=2) if given.json else
          "\n".join(f"{name + ':':{width}}{text}" for name, text in facts.items()))


if __name__ == "__main__":
    main()
