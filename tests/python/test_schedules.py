# SPDX-License-Identifier: MIT
"""Plans in the words of checkpoint_schedules, and the checker of such schedules."""

import os
import subprocess
import sys

import pytest

import reel

pytest.importorskip("checkpoint_schedules")
from checkpoint_schedules.schedule import (
    CheckpointSchedule, Copy, EndForward, EndReverse, Forward, Move, Reverse, StorageType)
from reel import schedules

RAM, DISK, WORK = StorageType.RAM, StorageType.DISK, StorageType.WORK
KNOWN = [planner for planner in reel.planners() if planner not in ("auto", "online")]


def tiers_of(planner, slots, steps):
    if planner in ("binomial", "mixed", "store-all"):
        return [slots]
    unlimited = planner in ("disk-revolve", "periodic", "two-level")
    return [max(1, slots // 3), reel.Tier(max(steps, slots) if unlimited else slots, 2, 2)]


@pytest.mark.parametrize("planner", KNOWN)
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 100])
def test_every_plan_keeps_the_rules(planner, steps):
    walked = 0
    for slots in (1, 2, 5, 9, 40):
        try:
            plan = reel.Plan(planner, steps, tiers_of(planner, slots, steps))
        except reel.Error:
            continue
        tiers = plan.tiers
        seen = reel.check_schedule(schedules.PlanSchedule(plan), steps, ram=tiers[0].slots,
                                   disk=sum(tier.slots for tier in tiers[1:]))
        assert seen.recorded == seen.reversed == steps
        assert seen.forward_steps >= plan.check().advances + steps
        walked += 1
    assert walked


@pytest.mark.parametrize("planner", ["periodic", "two-level"])
@pytest.mark.parametrize("end", [1, 2, 5, 6, 33])
def test_an_end_that_nobody_knows(planner, end):
    schedule = reel.schedule(planner, None, [3, 100], period=5)
    assert schedule.max_n is None
    assert reel.check_schedule(schedule, end, ram=3, disk=8).reversed == end
    assert schedule.max_n == end and schedule.is_exhausted


def test_a_last_tier_without_room_for_another_period():
    with pytest.raises(RuntimeError, match="no slot left"):
        reel.check_schedule(reel.schedule("two-level", None, [3, 2], period=5), 33)


def test_what_is_no_schedule_is_refused():
    with pytest.raises(ValueError, match="'online'.*'two-level'"):
        reel.schedule("online", None, [5])
    with pytest.raises(ValueError, match="'auto'.*'binomial:20'"):
        reel.schedule("auto", 10, [])
    with pytest.raises(ValueError, match="one step"):
        reel.schedule("binomial", 0, [5])


def test_storage_that_is_used():
    both = reel.schedule("multistage", 50, [2, 5])
    assert both.uses_storage_type(RAM) and both.uses_storage_type(DISK)
    assert not reel.schedule("binomial", 50, [5]).uses_storage_type(DISK)
    assert not reel.schedule("store-all", 50, [5]).uses_storage_type(RAM)


class Listed(CheckpointSchedule):
    """The actions of a list, after each of which the loop is where the list says."""

    def __init__(self, steps, actions):
        super().__init__(steps)
        self.actions = actions

    def _iterator(self):
        for action, self._n, self._r in self.actions:
            yield action

    def uses_storage_type(self, storage_type):
        return True

    is_exhausted = False


GOOD = [
    (Forward(0, 2, True, False, RAM), 2, 0), (Forward(2, 3, False, True, WORK), 3, 0), (EndForward(), 3, 0),
    (Reverse(3, 2, True), 3, 1), (Copy(0, RAM, WORK), 0, 1), (Forward(0, 1, False, False, WORK), 1, 1),
    (Forward(1, 2, False, True, WORK), 2, 1), (Reverse(2, 1, True), 2, 2), (Move(0, RAM, WORK), 0, 2),
    (Forward(0, 1, False, True, WORK), 1, 2), (Reverse(1, 0, True), 1, 3), (EndReverse(), 1, 3),
]


def test_a_right_schedule():
    assert reel.check_schedule(Listed(3, GOOD), 3, ram=1, disk=0) == (6, 3, 3, 1, 0, 12)


@pytest.mark.parametrize("at, action, what", [
    (1, (Forward(1, 3, False, True, WORK), 3, 0), "at step 2"),
    (2, (EndReverse(), 3, 0), "not at its end"),
    (3, (Reverse(2, 1, True), 3, 1), "step 2 is to be reversed"),
    (4, (Copy(1, RAM, WORK), 1, 1), "no such data"),
    (4, (Copy(0, DISK, WORK), 0, 1), "no such data"),
    (3, (Reverse(3, 2, False), 3, 1), "overwritten"),
    (6, (Forward(1, 2, False, False, WORK), 2, 1), "not recorded"),
    (5, (Forward(0, 3, False, False, WORK), 3, 1), "from 2 on are reversed"),
    (0, (Forward(0, 2, True, False, DISK), 2, 0), "room for 0"),
    (0, (Forward(0, 2, True, False, RAM), 1, 0), "says that the loop is at 1"),
    (3, (Reverse(3, 2, True), 3, 0), "says that 0 steps"),
    (2, ("end", 3, 0), "no known class"),
    (1, (Copy(0, RAM, WORK), 0, 0), "has not ended"),
    (3, (EndForward(), 3, 0), "not at its end"),
])
def test_a_wrong_action_is_named(at, action, what):
    wrong = GOOD[:at] + [action] + GOOD[at + 1:]
    with pytest.raises(ValueError, match=rf"^action \d+, .*{what}"):
        reel.check_schedule(Listed(3, wrong), 3, ram=1, disk=0)


def test_the_forward_sweep_ends_before_anything_is_reversed():
    wrong = GOOD[:2] + GOOD[3:]
    with pytest.raises(ValueError, match=r"^action 2, .*has not ended"):
        reel.check_schedule(Listed(3, wrong), 3)


def test_a_schedule_that_ends_early():
    with pytest.raises(ValueError, match="before the reverse sweep"):
        reel.check_schedule(Listed(3, GOOD[:-1]), 3)


def test_a_package_that_is_missing_is_named(tmp_path):
    (tmp_path / "checkpoint_schedules").mkdir()
    (tmp_path / "checkpoint_schedules" / "__init__.py").write_text("raise ImportError('not here')")
    program = ("import reel\n"
               "try:\n"
               "    reel.schedule('binomial', 9, [2])\n"
               "except ImportError as error:\n"
               "    assert 'schedules need the package checkpoint_schedules' in str(error) and 'not here' in str(error)\n"
               "else:\n"
               "    raise AssertionError('a schedule')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
