# SPDX-License-Identifier: MIT
"""Plans as schedules of checkpoint_schedules, which pyadjoint and other tools take; and a checker of such schedules."""

import sys
from typing import Any, Dict, Iterator, NamedTuple, Optional, Set, Tuple

from ._plan import Action, Plan

try:
    from checkpoint_schedules.schedule import (  # type: ignore[import-not-found]
        CheckpointSchedule, Copy, EndForward, EndReverse, Forward, Move, Reverse, StorageType)
except ImportError as error:
    raise ImportError(f"schedules need the package checkpoint_schedules, which cannot be imported: {error}") from None


def _forward_class() -> Any:
    """The class of a schedule's Forward: if the program has pyadjoint, one that it carries out by _pyadjoint.py."""
    if "pyadjoint.checkpointing" not in sys.modules:
        return Forward
    from ._pyadjoint import PlannedForward
    return PlannedForward


class PlanSchedule(CheckpointSchedule):  # type: ignore[misc]
    """A plan, in the words of checkpoint_schedules: its first tier is RAM, the others are DISK.

    A schedule is gone through once. pyadjoint keeps the actions and repeats them, so one schedule serves all
    evaluations of a tape.
    """

    is_exhausted = False
    _has_given_end_forward: bool
    """The client has been given EndForward, which it gets once."""

    def __init__(self, plan: Plan) -> None:
        if plan.planner == "online":
            raise ValueError("a plan of 'online' is no schedule: it drops states of which those that stay do not take "
                             "over the steps; take 'periodic' or 'two-level'")
        if plan.planner == "auto":
            raise ValueError("a plan of 'auto' is no schedule: it learns in a run; name a planner, such as 'binomial:20'")
        if plan.steps == 0:
            raise ValueError("a schedule has at least one step")
        super().__init__(plan.steps)
        self._plan = plan

    def uses_storage_type(self, storage_type: Any) -> bool:
        keeps = self._plan.planner != "store-all"
        if storage_type == StorageType.RAM:
            return keeps and self._plan.tiers[0].slots > 0
        if storage_type == StorageType.DISK:
            return keeps and any(tier.slots > 0 for tier in self._plan.tiers[1:])
        return storage_type == StorageType.WORK

    def _end_forward(self) -> Iterator[Any]:
        """Clients read the loop's result, and turn around, when a Forward has come to the end for the first time."""
        if not self._has_given_end_forward and self._n == self._max_n:
            self._has_given_end_forward = True
            yield EndForward()

    def _iterator(self) -> Iterator[Any]:
        walk = self._plan.schedule()
        walk_has_end, self._has_given_end_forward = self._plan.steps is not None, False
        kept: Set[int] = set()  # steps whose tapes are kept for later, of a mixed plan
        action = next(walk)
        while action.kind != "done":
            store: Optional[Action] = None
            if action.kind == "store":
                store, action = action, next(walk)
                if action.kind not in ("advance", "record"):
                    raise RuntimeError(f"a state is stored, and no step is run from it: {action}")
            following: Optional[Action] = None
            if action.kind == "advance":
                if store is None and self._plan.steps is None and self._max_n is None:
                    raise RuntimeError("the last tier has no slot left for the state of a period: give it more")
                yield self._forward(action.first, action.last, store)
            elif action.kind == "record":
                if store is not None:
                    # The state goes to its slot with the step that is run from it, and comes back to be recorded.
                    yield self._forward(action.first, action.first + 1, store)
                    yield from self._end_forward()
                    yield self._bring(store)
                following = next(walk)
                yield from self._record(action, following.kind == "reverse", kept)
            elif action.kind == "reverse":
                yield from self._reverse(action, kept)
            elif action.kind == "load":
                yield self._bring(action)
                if action.last_use:
                    next(walk)
            else:
                yield Move(action.first, self._storage(action), StorageType.NONE)
            yield from self._end_forward()
            # The client may have said, when it had carried out the last action, where the loop ends.
            if not walk_has_end and self._max_n is not None:
                walk.end(self._max_n)
                walk_has_end = True
            action = following or next(walk)
        self.is_exhausted = True
        yield EndReverse()

    def _record(self, action: Action, is_reversed: bool, kept: Set[int]) -> Iterator[Any]:
        """Working storage has the data of the step that is reversed next; the data of other steps is kept."""
        if self._plan.planner == "store-all":
            self._n = action.last
            yield _forward_class()(action.first, action.last, False, True, StorageType.WORK)
            return
        for step in range(action.first, action.last):
            keeps = step < action.last - 1 or not is_reversed
            if keeps:
                kept.add(step)
            self._n = step + 1
            yield _forward_class()(step, step + 1, False, True, StorageType.RAM if keeps else StorageType.WORK)

    def _reverse(self, action: Action, kept: Set[int]) -> Iterator[Any]:
        if self._plan.planner == "store-all":
            self._r += action.last - action.first
            yield Reverse(action.last, action.first, True)
            return
        for step in reversed(range(action.first, action.last)):
            if step in kept:
                kept.remove(step)
                yield Move(step, StorageType.RAM, StorageType.WORK)
            self._r += 1
            yield Reverse(step + 1, step, True)

    @staticmethod
    def _storage(action: Optional[Action]) -> Any:
        return StorageType.WORK if action is None else StorageType.DISK if action.tier else StorageType.RAM

    def _forward(self, first: int, last: int, store: Optional[Action]) -> Any:
        self._n = last
        return _forward_class()(first, last, store is not None, False, self._storage(store))

    def _bring(self, action: Action) -> Any:
        self._n = action.first
        return (Move if action.last_use else Copy)(action.first, self._storage(action), StorageType.WORK)


class Replay(NamedTuple):
    """The counts of a schedule: steps, and the maximum number of blocks of data in RAM and on DISK at a time."""

    forward_steps: int
    recorded: int
    reversed: int
    peak_ram: int
    peak_disk: int
    actions: int


class _Checker:
    """The state of a loop whose schedule is replayed: the steps whose states and data each storage has."""

    def __init__(self, schedule: Any, steps: int) -> None:
        self.schedule, self.steps = schedule, steps
        self.n: Optional[int] = 0
        self.r = 0
        self.states: Set[int] = set()
        self.data: Set[int] = set()
        self.kept: Dict[Any, Dict[int, Tuple[Set[int], Set[int]]]] = {StorageType.RAM: {}, StorageType.DISK: {}}
        self.run = self.recorded = 0
        self.is_reversing = False

    def must(self, holds: bool, what: str) -> None:
        if not holds:
            raise ValueError(what)

    def forward(self, action: Any) -> None:
        self.must(self.n == action.n0, f"the loop is at step {self.n}")
        known = self.schedule.max_n is not None
        self.must(action.n1 > action.n0 and not (known and action.n1 > self.steps - self.r),
                  f"steps from {self.steps - self.r} on are reversed")
        end = min(action.n1, self.steps)
        steps = set(range(action.n0, end))
        states, data = (steps if action.write_ics else set()), (steps if action.write_adj_deps else set())
        self.run += len(steps)
        self.recorded += len(data)
        self.n = end
        self.states, self.data = set(), set()
        if action.storage in self.kept:
            self.must(action.n0 not in self.kept[action.storage], "there is data of this step already")
            self.kept[action.storage][action.n0] = (states, data)
        elif action.storage == StorageType.WORK:
            self.states, self.data = states, data
        else:
            self.must(action.storage == StorageType.NONE and not states | data, "data goes nowhere")
        if end == self.steps:
            self.schedule.finalize(end)

    def reverse(self, action: Any) -> None:
        self.must(self.is_reversing, "the forward sweep has not ended")
        self.must(action.n1 == self.steps - self.r and action.n0 < action.n1,
                  f"step {self.steps - self.r - 1} is to be reversed")
        self.must(self.data.issuperset(range(action.n0, action.n1)), "the steps were not recorded")
        self.r += action.n1 - action.n0
        if action.clear_adj_deps:
            self.data = set()

    def move(self, action: Any, drops: bool) -> None:
        self.must(self.is_reversing, "the forward sweep has not ended")
        self.must(not self.states and not self.data, "data that is in use is overwritten")
        source = self.kept.get(action.from_storage, {})
        self.must(action.n in source, "there is no such data")
        states, data = source.pop(action.n) if drops else source[action.n]
        if action.to_storage == StorageType.NONE:
            return
        self.must(action.n < self.steps - self.r, "the step is reversed")
        if action.to_storage in self.kept:
            self.must(action.n not in self.kept[action.to_storage], "there is data of this step already")
            self.kept[action.to_storage][action.n] = (set(states), set(data))
            return
        self.n = action.n if action.n in states else None
        self.must(self.n is None or states.issuperset(range(action.n, self.steps - self.r)),
                  "the state is not enough for the steps above it")
        self.states, self.data = set(states), set(data)

    def carry_out(self, action: Any) -> None:
        if isinstance(action, Forward):
            self.forward(action)
        elif isinstance(action, Reverse):
            self.reverse(action)
        elif isinstance(action, (Copy, Move)):
            self.move(action, isinstance(action, Move))
        elif isinstance(action, EndForward):
            self.must(self.n == self.steps and not self.is_reversing, "the forward sweep is not at its end")
            self.is_reversing = True
        else:
            self.must(isinstance(action, EndReverse), "it is of no known class")
            self.must(self.r == self.steps, "the reverse sweep is not at its end")


def replay(schedule: Any, steps: int, ram: Optional[int], disk: Optional[int]) -> Replay:
    loop = _Checker(schedule, steps)
    peaks = {StorageType.RAM: 0, StorageType.DISK: 0}
    for number, action in enumerate(schedule):
        try:
            loop.carry_out(action)
            for storage, limit in ((StorageType.RAM, ram), (StorageType.DISK, disk)):
                peaks[storage] = max(peaks[storage], len(loop.kept[storage]))
                loop.must(limit is None or len(loop.kept[storage]) <= limit, f"{storage.name} has room for {limit}")
            loop.must(loop.n is None or loop.n == schedule.n, f"the schedule says that the loop is at {schedule.n}")
            loop.must(loop.r == schedule.r, f"the schedule says that {schedule.r} steps are reversed")
        except ValueError as error:
            raise ValueError(f"action {number}, {action!r}: {error}") from None
        if isinstance(action, EndReverse):
            return Replay(loop.run, loop.recorded, loop.r, peaks[StorageType.RAM], peaks[StorageType.DISK], number + 1)
    raise ValueError("the schedule ends before the reverse sweep does")
