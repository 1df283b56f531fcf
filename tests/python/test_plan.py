# SPDX-License-Identifier: MIT
"""Plans: counts, actions, ends that come later, lists of one's own, the choice by costs."""

import numpy as np
import pytest

import reel


def tiers_of(planner):
    if planner in ("auto", "binomial", "mixed", "online", "store-all"):
        return [4]
    return [3, reel.Tier(300 if planner == "disk-revolve" else 40, 2, 2)]


KNOWN = [planner for planner in reel.planners() if planner != "online"]


@pytest.mark.parametrize("planner", KNOWN)
@pytest.mark.parametrize("steps", [0, 1, 2, 17, 300])
def test_a_plan_is_right_and_counted(planner, steps):
    plan = reel.Plan(planner, steps, tiers_of(planner))
    counts = plan.check()
    assert counts.recorded == counts.reversed == steps
    actions = list(plan)
    assert len(actions) == counts.actions or len(actions) == counts.actions + 1
    assert actions[-1].kind == "done"
    assert sum(a.last - a.first for a in actions if a.kind == "advance") == counts.advances
    assert sum(a.kind == "load" for a in actions) == sum(counts.loads)


def test_the_least_number_of_advances():
    # (s + r)! / (s! r!) steps with s states and r runs of each: Griewank and Walther 2000.
    assert reel.Plan("binomial", 10, [3]).check().advances == 15
    assert reel.Plan("binomial", 1, [1]).check().advances == 0


def test_names_are_checked():
    with pytest.raises(ValueError, match="binomial, mixed"):
        reel.Plan("bionomial", 10, [3])
    with pytest.raises(ValueError, match="at most 4"):
        reel.Plan("binomial", 10, [3] * 5)
    with pytest.raises(reel.Error):
        reel.Plan("binomial", 10, [0])
    with pytest.raises(reel.Error):
        reel.Plan("store-all", 10, [3], reverse_at_once=True)


@pytest.mark.parametrize("end", [1, 2, 30, 100])
def test_an_end_that_nobody_knows(end):
    plan = reel.Plan("online", None, [5])
    with pytest.raises(ValueError, match="not known"):
        iter(plan)
    with pytest.raises(ValueError, match="not known"):
        plan.check()
    schedule = plan.schedule()
    state, done, reversed_steps = 0, False, []
    for action in schedule:
        if action.kind == "advance" and not done:
            state = min(action.last, end)
            if action.last >= end:
                schedule.end(end)
                done = True
        elif action.kind == "reverse":
            reversed_steps += range(action.last - 1, action.first - 1, -1)
    assert done and reversed_steps == list(range(end - 1, -1, -1))
    assert plan.check(end).reversed == end


@pytest.mark.parametrize("end", [0, 3, 6])
def test_an_end_at_a_state_that_was_just_stored(end):
    schedule = reel.Plan("periodic", None, [3, 50], period=3).schedule()
    seen = []
    for action in schedule:
        seen.append(action)
        if action.kind == "store" and action.first == end:
            schedule.end(end)
            break
    seen += schedule
    assert reel.Plan.of_actions(end, [3, 50], seen).check().reversed == end


def test_an_end_before_a_state_that_is_to_be_stored_is_refused():
    schedule = reel.Plan("online", None, [3]).schedule()
    for action in schedule:
        if action.kind == "drop":
            break
        state = action.last
    with pytest.raises(ValueError, match="stored"):
        schedule.end(state)
    assert next(schedule).kind == "store"
    schedule.end(state)
    assert "advance" not in [action.kind for action in schedule if action.first >= state]
    with pytest.raises(ValueError):
        schedule.end(state)


def test_numbers_as_numpy_gives_them_and_numbers_that_do_not_fit():
    plan, online = reel.Plan("binomial", 10, [3]), reel.Plan("online", None, [3])
    assert online.check(np.int64(10)) == online.check(10) and online.check(np.int32(10)).reversed == 10
    own = [reel.Action(action.kind, *map(np.int64, action[1:5]), action.last_use) for action in plan]
    assert reel.Plan.of_actions(10, [3], own).check() == plan.check()
    assert reel.choose(1000, state="1M", tape="64M", memory="1G", workers=np.int64(1)).planner == "binomial"
    for steps in (2**64 + 5, -1):
        with pytest.raises(ValueError, match="steps"):
            online.check(steps)
        with pytest.raises(ValueError, match="steps"):
            online.schedule().end(steps)
    for workers in (2**32, -1):
        with pytest.raises(ValueError, match="workers"):
            reel.choose(1000, state="1M", tape="64M", memory="1G", workers=workers)
    for what, *wrong in (("first", 2**64, 0), ("tier", 0, 0, -1), ("slot", 0, 0, 0, 2**32)):
        with pytest.raises(ValueError, match=what):
            reel.Plan.of_actions(10, [3], [reel.Action("store", *wrong)])


def test_a_chain_of_steps_that_differ():
    steps = [reel.UnevenStep(1, 1.5, 2, "1M", f"{2 + i % 3}M", "512K") for i in range(20)]
    times = [(memory, reel.Plan.of_uneven(steps, memory)) for memory in ("61M", "30M", "12M")]
    counts = [plan.check() for memory, plan in times]
    assert [c.advances > 0 for c in counts] == [False, True, True] and counts[0].makespan == 20 * 3.5
    assert counts[0].makespan < counts[1].makespan < counts[2].makespan
    assert counts[2].peak_bytes <= 12 << 20 < counts[1].peak_bytes <= 30 << 20
    disk = reel.Plan.of_uneven(steps, "12M", store_bandwidth=40 << 20, load_bandwidth=40 << 20)
    assert disk.check().makespan < counts[2].makespan
    assert any(action.tier for action in disk) and len(disk.tiers) == 2 and disk.steps == 20
    assert reel.Plan.of_uneven([], 0).check().actions == 0


@pytest.mark.parametrize("make, kind, text", [
    (lambda: reel.Plan.of_uneven([reel.UnevenStep(1, 1, 1, 10, 100)], 99), MemoryError, "step 0 alone takes 100"),
    (lambda: reel.Plan.of_uneven([reel.UnevenStep(-1, 1, 1, 10, 100)], 99), reel.ArgumentError, "a time of a step"),
    (lambda: reel.Plan.of_uneven([(1, 1, 1)], 99), TypeError, "reel.UnevenStep"),
    (lambda: reel.Plan.of_uneven([(1, 1, 1, 1, "x")], 99), ValueError, "tape is a number of bytes"),
    (lambda: reel.Plan.of_uneven([(1, 1, 1, 1, 1)] * 513, 99), reel.ArgumentError, "more than 512 steps"),
    (lambda: reel.Plan.of_uneven([], 99, store_bandwidth=-1), reel.ArgumentError, "bandwidth"),
])
def test_chains_that_are_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_a_list_of_ones_own_is_checked():
    good = list(reel.Plan("binomial", 12, [3]))
    own = reel.Plan.of_actions(12, [3], good)
    assert own.check() == reel.Plan("binomial", 12, [3]).check()
    assert list(own) == good
    bad = [action for action in good if action.kind != "load"]
    with pytest.raises(reel.Error, match="action"):
        reel.Plan.of_actions(12, [3], bad).check()


def test_a_schedule_outlives_its_plan():
    schedule = reel.Plan("binomial", 2000, [5]).schedule()
    assert sum(action.kind == "reverse" for action in schedule) == 2000
    with pytest.raises(StopIteration):
        next(schedule)


def test_the_choice_by_costs():
    best = reel.choose(1000, state="1M", tape="64M", memory="1G")
    assert best.peak_memory_bytes <= 1 << 30 and best.reason
    assert reel.choose(1000, state="1M", tape="1M", memory="10G").planner == "store-all"
    with pytest.raises(MemoryError, match="memory"):
        reel.choose(1000, state="1M", tape="64M", memory=1000)


def test_the_plan_of_a_choice_is_the_one_that_was_predicted():
    best = reel.choose(300, state="1M", tape="2M", memory="100M", advance=1, record=1.2, reverse=2)
    counts = best.plan().check()
    assert counts.advances * best.segment_steps == best.advances
    assert counts.recorded == -(-300 // best.segment_steps)


@pytest.mark.parametrize("planner, end", [("binomial", None), ("multistage", None), ("online", 40), ("online", 0)])
def test_a_drawing_has_each_action(planner, end):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    plan = reel.Plan(planner, None if planner == "online" else 40, tiers_of(planner))
    own = Figure().add_subplot()
    axes = plan.draw(own, steps=end)
    assert axes is own and axes.get_xlabel() == "action" and axes.get_ylabel() == "step"
    drawn = [line.get_xydata().tolist() for line in axes.lines]
    wanted = []
    for x, action in enumerate(plan.actions(end)):
        if action.kind == "reverse":
            wanted.append([[x, action.last], [x + 1, action.first]])
        elif action.kind in ("advance", "record"):
            wanted.append([[x, action.first], [x + 1, action.last]])
        elif action.kind in ("store", "load"):
            wanted.append([[x, action.first]])
    assert drawn == wanted
    markers = {line.get_marker() for line in axes.lines}
    assert end == 0 or markers == {"None", ".", "x"}


def test_new_axes_for_a_drawing():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = reel.Plan("binomial", 10, [3]).draw()
    assert axes.lines and axes.figure in map(pyplot.figure, pyplot.get_fignums())
    pyplot.close(axes.figure)


@pytest.mark.parametrize("end", [0, 1, 2, 30, 100])
def test_the_actions_up_to_an_end_that_nobody_knew(end):
    plan = reel.Plan("online", None, [5])
    actions = list(plan.actions(end))
    assert reel.Plan.of_actions(end, [5], actions).check().reversed == end
    counts = plan.check(end)
    assert sum(a.last - a.first for a in actions if a.kind == "advance") == counts.advances
    assert sum(a.kind == "store" for a in actions) == counts.stores[0]
    with pytest.raises(ValueError, match="not known"):
        next(plan.actions())


def test_what_a_notebook_shows():
    assert repr(reel.Plan("binomial", 10, [3])) == "<reel.Plan binomial: 10 steps, 3 slots>"
    assert repr(reel.Plan("online", None, [5])) == "<reel.Plan online: unknown steps, 5 slots>"


@pytest.mark.parametrize("call, error, text", [
    (lambda: reel.Plan("binomial", 10, [3], perod=3), TypeError, "Plan.*'perod'"),
    (lambda: reel.Plan.of_actions(10, [3], [], perod=3), TypeError, "Plan.*'perod'"),
    (lambda: reel.Plan("binomial", 10, 3), TypeError, "tiers is a list.* not 3"),
    (lambda: reel.Plan("binomial", 10, "3"), TypeError, "tiers is a list.* not '3'"),
    (lambda: reel.Plan("binomial", 10, [(1, 2, 3, 4)]), TypeError, "slots is a whole number"),
    (lambda: reel.Plan(3, 10, [3]), TypeError, "planner is a text .* not 3"),
    (lambda: reel.Plan.of_actions(10, [3], "x"), TypeError, "reel.Action, and not 'x'"),
    (lambda: reel.Plan.of_actions(10, [3], [("advance", 3)]), TypeError, "reel.Action, and not"),
    (lambda: reel.Plan.of_actions(10, [3], [("jump", 0, 3)]), ValueError, "no action 'jump'.*advance"),
])
def test_arguments_that_make_no_sense_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("text, planner, slots", [
    (None, "auto", [1024]), ("binomial", "binomial", [10]), ("binomial:30", "binomial", [30]),
    ("multistage:5:20", "multistage", [5, 20]), ("all", "two-level", [1, 1 << 40])])
def test_a_text_is_a_whole_plan(text, planner, slots):
    plan = reel.Plan(text, 100)
    assert plan.planner == planner and [tier.slots for tier in plan.tiers] == slots
    assert plan.check() == reel.Plan(planner, 100, plan.tiers, period=1 if text == "all" else 0).check()
    assert reel.Plan(None, 100, [5, 20]).planner == "multistage"
    with pytest.raises(ValueError, match="name the planner alone"):
        reel.Plan("binomial:3", 100, [3])
