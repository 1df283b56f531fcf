# SPDX-License-Identifier: MIT
"""Plans: which states of a loop are kept, and which steps are run again, to reverse it."""

import collections.abc
import ctypes
import errno
from ctypes import byref, c_int
from itertools import count, takewhile
from operator import attrgetter
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._api import (
    MAX_TIERS, REVERSE_AT_ONCE, UNEVEN_OWN_STATES, UNKNOWN_STEPS, Action as _Action, UnevenProblem, UnevenStep as _UnevenStep, Choice as _Choice,
    Costs, Problem, ScheduleReport,
)
from ._ends import handle_of
from ._errors import Error, MemoryError, Uncopied, check, error_of
from ._library import lib
from ._sizes import MAX_UNSIGNED, Size, to_bytes, to_int, to_text

_AT_ONCE = 256
"""Actions for each call of the library: a call costs more than an action."""


class Action(NamedTuple):
    """One action of a plan. `kind` is one of KINDS; steps first to last - 1, or state first."""

    kind: str
    first: int
    last: int
    tier: int = 0
    slot: int = 0
    last_use: bool = False


class Tier(NamedTuple):
    """A level of storage for states: its slots, and the costs of a store and of a load, in steps."""

    slots: int
    store_cost: float = 0
    load_cost: float = 0


class Counts(NamedTuple):
    """The counts of a plan: of steps, and of states for each tier."""

    advances: int
    recorded: int
    reversed: int
    stores: Tuple[int, ...]
    loads: Tuple[int, ...]
    peak_slots: Tuple[int, ...]
    peak_tape_steps: int
    actions: int
    makespan: float
    peak_bytes: int
    """Of uneven states, tapes and work in memory."""


class UnevenStep(NamedTuple):
    """A step of a loop whose steps differ: its times, in any unit, and its sizes.

    `state` is the state before the step, `tape` what the step leaves when it is recorded, and `work` what it needs
    besides while it runs or is reversed.
    """

    advance: float
    record: float
    reverse: float
    state: Size
    tape: Size
    work: Size = 0


def _names(name_of: Callable[[int], bytes]) -> Iterator[str]:
    return takewhile(lambda name: name != "unknown", (name_of(number).decode() for number in count()))


KINDS = tuple(_names(lib.reel_action_name))


def planners() -> List[str]:
    """The names of all planners."""
    return list(_names(lib.reel_planner_name))


TierLike = Union[int, Tier, Tuple[int, float, float]]


def _tier(tier: Any) -> Tuple[int, float, float]:
    slots, store_cost, load_cost = Tier(*tier) if isinstance(tier, (tuple, list)) and 0 < len(tier) < 4 else Tier(tier)
    return to_int(slots, "slots"), store_cost, load_cost


def _tiers(problem: Problem) -> Tuple[Tier, ...]:
    return tuple(Tier(tier.slots, tier.store_cost, tier.load_cost) for tier in problem.tier[:problem.tiers])


def _to_action(action: Any) -> Tuple[int, int, int, int, int, bool]:
    if not isinstance(action, (tuple, list)) or not 3 <= len(action) <= 6:
        raise TypeError(f"an action is a reel.Action, and not {action!r}")
    kind, first, last, tier, slot, last_use = Action(*action)
    if kind not in KINDS:
        raise ValueError(f"there is no action {kind!r}; there are {', '.join(KINDS)}")
    return (KINDS.index(kind), to_int(first, "first"), to_int(last, "last"), to_int(tier, "tier", 0, MAX_UNSIGNED),
            to_int(slot, "slot", 0, MAX_UNSIGNED), bool(last_use))


def _refusal(result: int, reason: str = "") -> Error:
    """The exception of a planner, to which ENOSPC means that no plan fits into the memory."""
    error = error_of(result)
    kind: Any = MemoryError if error.errno == errno.ENOSPC else type(error)
    return kind(error.errno, reason or error.args[0])  # type: ignore[no-any-return]


def _to_step(step: Any) -> Tuple[float, float, float, int, int, int]:
    if not isinstance(step, (tuple, list)) or not 5 <= len(step) <= 6:
        raise TypeError(f"a step is a reel.UnevenStep, and not {step!r}")
    advance, record, reverse, state, tape, work = UnevenStep(*step)
    return advance, record, reverse, to_bytes(state, "state"), to_bytes(tape, "tape"), to_bytes(work, "work")


def _counts(report: ScheduleReport, tiers: int) -> Counts:
    values = (getattr(report, name) for name in Counts._fields)
    return Counts(*(tuple(v[:tiers]) if isinstance(v, ctypes.Array) else v for v in values))  # type: ignore[arg-type]


class Plan(Uncopied):
    """A plan for a loop of `steps` steps; None: their number is not known yet.

    `planner` is a text such as "binomial:30" or "multistage:5:200" (`reel_problem_from_text()` of `reel/plan.h`), or
    the name of a planner with its `tiers`: the slots of memory, then of slower tiers, each a number or a Tier.
    None is "auto" without tiers, or REEL_PLAN in the environment: it learns the loop and the machine, and fills the
    memory of the run's pool with states. The options are members of `struct reel_problem` (`reel/run.h`): period, tape_states,
    advance_cost, record_cost, reverse_cost; and reverse_at_once, a flag.
    Iterating over a plan gives its actions.

    >>> plan = Plan("binomial:3", 10)
    >>> plan.check().advances
    15
    >>> next(iter(plan))
    Action(kind='store', first=0, last=0, tier=0, slot=0, last_use=False)
    """

    _actions: Any
    """The actions of a plan of one's own, which the library reads as long as the plan is open."""

    def __init__(self, planner: Optional[str] = None, steps: Optional[int] = None, tiers: Sequence[TierLike] = (),
                 **options: Any) -> None:
        self._compute(planner, self._problem_of(steps, tiers, **options))

    @staticmethod
    def _problem_of(steps: Optional[int], tiers: Sequence[TierLike], *, period: int = 0, tape_states: int = 0,
                    advance_cost: float = 0, record_cost: float = 0, reverse_cost: float = 0,
                    reverse_at_once: bool = False) -> Problem:
        if not isinstance(tiers, collections.abc.Sequence) or isinstance(tiers, str):
            raise TypeError(f"tiers is a list of slots or of reel.Tier, such as [20], and not {tiers!r}")
        if len(tiers) > MAX_TIERS:
            raise ValueError(f"a plan has at most {MAX_TIERS} tiers, and not {len(tiers)}")
        number = UNKNOWN_STEPS if steps is None else to_int(steps, "steps")
        if steps is not None and number < 0:
            raise ValueError(f"a loop has no {number} steps; None: nobody knows how many")
        problem = Problem(
            steps=number, tiers=len(tiers), period=to_int(period, "period"),
            tape_states=to_int(tape_states, "tape_states"),
            advance_cost=advance_cost, record_cost=record_cost, reverse_cost=reverse_cost,
            flags=REVERSE_AT_ONCE if reverse_at_once else 0)
        for i, tier in enumerate(tiers):
            problem.tier[i] = _tier(tier)
        return problem

    def _compute(self, planner: Optional[str], problem: Problem) -> None:
        if not isinstance(planner, (str, type(None))):
            raise TypeError(f"planner is a text such as 'binomial:30', and not {planner!r}")
        number = c_int()
        check(lib.reel_problem_from_text(byref(problem), byref(number), to_text(planner, "planner")))
        self._adopt(lib.reel_planner_name(number).decode(), problem)
        if self._planner == "auto":
            # A program of Python keeps the data of a step itself, and not on the tape of the run.
            problem.flags |= REVERSE_AT_ONCE
        check(lib.reel_plan_open(byref(self._handle), number, byref(problem)))

    @classmethod
    def of_actions(cls, steps: Optional[int], tiers: Sequence[TierLike], actions: Iterable[Action],
                   **options: Any) -> "Plan":
        """A plan of one's own: a list of actions, without the last "done". check() says whether it is right."""
        plan = cls.__new__(cls)
        done = KINDS.index("done")
        listed = [action for action in map(_to_action, actions) if action[0] != done]
        plan._adopt("actions", cls._problem_of(steps, tiers, **options))
        plan._actions = (_Action * len(listed))(*listed)  # type: ignore[misc]
        check(lib.reel_plan_open_actions(byref(plan._handle), byref(plan._problem), plan._actions, len(listed)))
        return plan

    @classmethod
    def of_uneven(cls, steps: Iterable[UnevenStep], memory: Size, *, store_bandwidth: float = 0,
                 load_bandwidth: float = 0, own_states: bool = False) -> "Plan":
        """The fastest plan of a loop whose steps differ (`reel_plan_open_uneven()` of `reel/plan.h`).

        The bandwidths are of the store behind memory, in bytes for each unit of time; 0: there is none. The `tier` of
        a "record" is 1 if the tapes go to the store. With `own_states` a step runs again only from its own state.

        >>> steps = [UnevenStep(1, 1.2, 2, "4M", "40M"), UnevenStep(3, 3.2, 6, "8M", "20M")]
        >>> Plan.of_uneven(steps, "60M").check().advances, Plan.of_uneven(steps, "50M").check().advances
        (0, 1)
        """
        plan = cls.__new__(cls)
        rows = [_to_step(step) for step in steps]
        listed = (_UnevenStep * len(rows))(*rows)  # type: ignore[misc]
        problem = UnevenProblem(steps=len(rows), step=listed, memory_bytes=to_bytes(memory, "memory"),
                      store_bandwidth=store_bandwidth, load_bandwidth=load_bandwidth,
                      flags=UNEVEN_OWN_STATES if own_states else 0)
        has_store = store_bandwidth > 0 and load_bandwidth > 0
        plan._adopt("uneven", cls._problem_of(len(rows), [0] * (1 + has_store)))
        result = lib.reel_plan_open_uneven(byref(plan._handle), byref(problem))
        if result < 0:
            raise _refusal(result)
        for tier, slots in zip(plan._problem.tier, plan.check().peak_slots):
            tier.slots = slots
        return plan

    def _adopt(self, planner: str, problem: Problem) -> None:
        self._planner, self._problem = planner, problem
        self._handle = handle_of(self, lib.reel_plan_close)

    planner = property(attrgetter("_planner"))

    @property
    def steps(self) -> Optional[int]:
        return None if self._problem.steps == UNKNOWN_STEPS else self._problem.steps

    @property
    def tiers(self) -> Tuple[Tier, ...]:
        return _tiers(self._problem)

    def schedule(self) -> "Schedule":
        """A walk through the plan, from its first action."""
        return Schedule(self)

    def __iter__(self) -> Iterator[Action]:
        if self.steps is None:
            raise ValueError("the loop's end is not known: use actions(), or schedule(), and tell it the end")
        return iter(self.schedule())

    def actions(self, steps: Optional[int] = None) -> Iterator[Action]:
        """The actions. With an unknown end, `steps` is where it is met."""
        end, walk = self._end(steps), self.schedule()
        is_met = self.steps is not None
        for action in walk:
            if not is_met and action.kind == "advance" and action.last >= end:
                walk.end(end)
                is_met = True
                if action.first == end:
                    continue
                action = action._replace(last=end)
            yield action

    def check(self, steps: Optional[int] = None) -> Counts:
        """Replay the plan. Returns its counts, or raises an Error that names the first wrong action.

        With an unknown end, `steps` is where it is met. Takes some tens of nanoseconds for each action.
        """
        report = ScheduleReport()
        result = lib.reel_plan_check(self._handle, None, self._end(steps), byref(report))
        if result == -errno.EBADMSG:
            raise Error(errno.EBADMSG, f"action {report.wrong_action}: {report.wrong.decode()}")
        check(result)
        return _counts(report, self._problem.tiers)

    def _end(self, steps: Optional[int]) -> int:
        if steps is None and self.steps is None:
            raise ValueError("the loop's end is not known: say at how many steps it is met")
        return self._problem.steps if steps is None else to_int(steps, "steps", 0)

    def __repr__(self) -> str:
        steps = "unknown" if self.steps is None else self.steps
        slots = " + ".join(str(tier.slots) for tier in self.tiers)
        return f"<reel.Plan {self.planner}: {steps} steps, {slots} slots>"

    def draw(self, axes: Any = None, *, steps: Optional[int] = None) -> Any:
        """Draw the plan with matplotlib: the step that is run, recorded or reversed, over the actions.

        With an unknown end, `steps` is where it is met. Returns the axes, which are new ones if they are None.
        """
        import matplotlib.pyplot as pyplot  # type: ignore[import-not-found]

        axes = axes if axes is not None else pyplot.subplots()[1]
        colours = {"advance": "tab:blue", "record": "tab:green", "reverse": "tab:red"}
        for x, action in enumerate(self.actions(steps)):
            if action.kind in colours:
                ends = (action.first, action.last) if action.kind != "reverse" else (action.last, action.first)
                axes.plot((x, x + 1), ends, color=colours[action.kind])
            elif action.kind in ("store", "load"):
                axes.plot(x, action.first, "." if action.kind == "store" else "x", color=f"C{action.tier + 4}")
        axes.set_xlabel("action")
        axes.set_ylabel("step")
        return axes


class Schedule(Uncopied, Iterator[Action]):
    """A walk through a plan. Each iteration gives an action; the last one is "done".

    While the end of the loop is not known, an "advance" may lead beyond it: end() says where it is.
    """

    def __init__(self, plan: Plan) -> None:
        # The walk reads its plan to the end.
        self._handle = handle_of(self, lib.reel_schedule_close, plan)
        check(lib.reel_schedule_open(byref(self._handle), plan._handle))
        self._actions = (_Action * _AT_ONCE)()
        self._next: List[Action] = []
        self._ended = False

    def __next__(self) -> Action:
        if not self._next:
            if self._ended:
                raise StopIteration
            n = lib.reel_schedule_take(self._handle, self._actions, _AT_ONCE)
            self._next = [
                Action(KINDS[action.kind], action.first, action.last, action.tier, action.slot, action.last_use)
                for action in reversed(self._actions[:n])]
        action = self._next.pop()
        self._ended = action.kind == "done"
        return action

    def end(self, steps: int, at: Optional[int] = None) -> None:
        """The loop ends after `steps` steps; the working state is state `at`, which is `steps` if it is None."""
        steps = to_int(steps, "steps", 0)
        if self._next and self._next[0].kind == "advance" and any(action.kind == "store" for action in self._next):
            raise ValueError("a state is to be stored before the loop ends: take the next action first")
        check(lib.reel_schedule_end(self._handle, steps, steps if at is None else to_int(at, "at", 0)))
        # While the end is not known, the last action that was taken is an "advance", which leads beyond it.
        del self._next[:1]


class Prediction(NamedTuple):
    """One way to reverse a loop, with its predicted time and memory."""

    planner: str
    segment_steps: int
    tapes: int
    spills: bool
    makespan: float
    peak_memory_bytes: int
    advances: int
    tiers: Tuple[Tier, ...]
    reason: str
    problem: Any

    def plan(self) -> Plan:
        """The plan: its steps are segments of `segment_steps` steps of the loop."""
        plan = Plan.__new__(Plan)
        plan._compute(self.planner, self.problem)
        return plan


def choose(steps: int, *, state: Size, tape: Size, memory: Size, advance: float = 0, record: float = 0,
           reverse: float = 0, copy: float = 0, workers: int = 1,
           disks: Sequence[Tuple[Size, float, float]] = ()) -> Prediction:
    """The way to reverse a loop in the least time (`reel_costs_choose()`).

    `state` and `tape` are the bytes of a state and of the tape of a step; `memory` is the limit of both together.
    Times are seconds for a step. `disks` are slower tiers: their bytes, and the bytes a second written and read.

    >>> choose(1000, state="1M", tape="64M", memory="1G").planner
    'binomial'
    """
    costs = Costs(steps=to_int(steps, "steps"), advance_seconds=advance, record_seconds=record, reverse_seconds=reverse,
                  copy_seconds=copy, state_bytes=to_bytes(state, "state"), tape_bytes=to_bytes(tape, "tape"),
                  memory_bytes=to_bytes(memory, "memory"), workers=to_int(workers, "workers", 0, MAX_UNSIGNED),
                  tiers=len(disks))
    if len(disks) > MAX_TIERS - 1:
        raise ValueError(f"there are at most {MAX_TIERS - 1} slower tiers")
    for i, (size, write, read) in enumerate(disks):
        costs.tier[i] = to_bytes(size, "disks"), write, read
    choice = _Choice()
    result = lib.reel_costs_choose(byref(costs), byref(choice))
    reason = choice.reason.decode()
    if result < 0:
        raise _refusal(result, reason)
    best = choice.best
    return Prediction(
        lib.reel_planner_name(best.planner).decode(), best.segment_steps, best.tapes, best.spills, best.makespan,
        best.peak_memory_bytes, best.advances, _tiers(best.problem), reason, Problem.from_buffer_copy(best.problem))
