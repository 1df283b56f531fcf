# SPDX-License-Identifier: MIT
"""python -m reel: what the package works with, and plans by the options that the command `reel plan` has."""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import Action, Counts, Error, Plan, __version__, planners
from ._library import lib
from ._plan import _problem

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


def _plan(given: argparse.Namespace) -> Plan:
    tiers = [given.slots or 0] if given.slots is not None or given.disk_slots is not None else []
    if given.disk_slots is not None:
        tiers.append(given.disk_slots)
    # An online plan is not told where the loop ends.
    is_online = given.planner is not None and given.planner.split(":")[0] == "online"
    problem = _problem(None if is_online else given.steps, tiers, given.period, given.tape_states, 0,
                       given.record_cost, given.reverse_cost, False)
    problem.tier[1].store_cost, problem.tier[1].load_cost = given.write_cost, given.read_cost
    plan = Plan.__new__(Plan)
    plan._compute(given.planner, problem)
    return plan


def _counted(plan: Plan, counts: Counts) -> Dict[str, Any]:
    facts = {"planner": plan.planner, "steps": counts.reversed, "advances": counts.advances,
             "forward_steps": counts.advances + counts.recorded}
    for tier, stores, loads, peak in zip(("memory", "disk"), counts.stores, counts.loads, counts.peak_slots):
        facts.update({f"{tier}_stores": stores, f"{tier}_loads": loads, f"{tier}_peak_slots": peak})
    return {**facts, "peak_tape_steps": counts.peak_tape_steps, "actions": counts.actions,
            "makespan_in_advances": counts.makespan}


def _shown(action: Action) -> Tuple[str, Dict[str, Any]]:
    """An action as a line, and as an object."""
    if action.kind == "done":
        return "done", {"action": "done"}
    if action.kind in ("advance", "record", "reverse"):
        return (f"{action.kind} {action.first} {action.last}",
                {"action": action.kind, "first": action.first, "last": action.last})
    tier = ("memory", "disk")[action.tier]
    return (f"{action.kind} {action.first} {tier} {action.slot}",
            {"action": action.kind, "state": action.first, "tier": tier, "slot": action.slot})


def _lines(facts: Dict[str, Any], as_json: bool) -> Iterator[str]:
    texts = {name: f"{value:.12g}" if isinstance(value, float) else str(value) for name, value in facts.items()}
    width = max(map(len, facts)) + 2
    if not as_json:
        yield from (f"{name + ':':{width}}{text}" for name, text in texts.items())
        return
    items = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value) if isinstance(value, str) else texts[name]}"
                       for name, value in facts.items())
    yield f"{{\n{items}\n}}"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m reel", description=__doc__)
    parser.add_argument("-V", "--version", action="version", version=f"reel {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    info = verbs.add_parser("info", help="show the library and the packages that are there")
    plan = verbs.add_parser("plan", help="plan the reversal of a loop")
    for name, what in (("steps", "of the loop"), ("slots", "states in memory"),
                       ("disk-slots", "states more, on a disk")):
        plan.add_argument(f"--{name}", type=int, required=name == "steps", metavar="N", help=what)
    plan.add_argument("--planner", metavar="TEXT", help="such as binomial:30, or with slots a name alone: "
                      f"{', '.join(planners())}, all")
    for name, what in (("write-cost", "of a state on the disk, in the time of a step"), ("read-cost", "the same"),
                       ("record-cost", "of a step, where an advance costs 1"), ("reverse-cost", "the same")):
        plan.add_argument(f"--{name}", type=float, default=0, metavar="C", help=what)
    plan.add_argument("--tape-states", type=int, default=0, metavar="K", help="a step's tape takes up as much memory "
                      "as K states")
    plan.add_argument("--period", type=int, default=0, metavar="P", help="steps between states on the disk")
    plan.add_argument("--actions", action="store_true", help="the actions, one a line, instead of the counts")
    plan.add_argument("--draw", metavar="FILE", help="draw the plan with matplotlib")
    for verb in (info, plan):
        verb.add_argument("--json", action="store_true", help="as JSON; an object for each action")
    return parser


def _fail(status: int, text: str) -> int:
    print(f"python -m reel plan: {text}", file=sys.stderr)
    return status


def main(words: Optional[List[str]] = None) -> int:
    """Exit status as of the command `reel`: 0 done, 1 failed, 2 called wrongly."""
    given = _arguments().parse_args(words)
    if given.verb == "info":
        print(*_lines(_info(), given.json), sep="\n")
        return 0
    try:
        plan = _plan(given)
        counts = plan.counts(given.steps)
    except (Error, ValueError) as error:
        return _fail(2, f"{error.args[0]}; 'python -m reel plan --help' describes the options")
    if given.draw:
        try:
            plan.draw(steps=given.steps).figure.savefig(given.draw)
        except (ImportError, OSError, ValueError) as error:
            return _fail(1, f"the plan cannot be drawn: {error}")
    if not given.actions:
        print(*_lines(_counted(plan, counts), given.json), sep="\n")
        return 0
    for action in plan.actions(given.steps):
        line, facts = _shown(action)
        print(json.dumps(facts) if given.json else line)
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except BrokenPipeError:
        # The reader has gone. What is left in the buffer would be an error when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
