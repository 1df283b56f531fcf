# SPDX-License-Identifier: MIT
"""Plans as Python sees them against the tables of optima and of other programs' counts: every row."""

import csv
import os

import pytest

import reel

WALKED = 2000
"""Plans of more steps are counted by formula alone."""


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def rows(name):
    with open(os.path.join(os.environ["SOURCE_DIR"], "tests", "data", f"{name}.csv"), newline="") as table:
        for row in csv.DictReader(table):
            yield {column: number(value) for column, value in row.items()}


def counted(planner, steps, tiers, end=None, **problem):
    """The counts. A turn, recording and reversing a step, costs an advance."""
    plan = reel.Plan(planner, None if end else int(steps), tiers, record_cost=0.5, reverse_cost=0.5, **problem)
    counts = plan.check(end)
    if (end or steps) <= WALKED:
        actions = list(plan.actions(end))
        assert sum(a.last - a.first for a in actions if a.kind == "advance") == counts.advances
        for tier in range(len(tiers)):
            assert sum(a.kind == "store" and a.tier == tier for a in actions) == counts.stores[tier]
            assert sum(a.kind == "load" and a.tier == tier for a in actions) == counts.loads[tier]
    return counts


def with_disk(row, slots=None):
    return [int(row["slots_ram"]), reel.Tier(int(row["n_steps"] if slots is None else slots),
                                             row["write_disk"], row["read_disk"])]


def binomial(row):
    counts = counted("binomial", row["n_steps"], [int(row["s_slots"])])
    return counts.advances == row["min_advances"] and counts.loads == (row["n_steps"] - 1,)


def mixed(row):
    counts = counted("mixed", row["n_steps"], [int(row["s_units"])], tape_states=1)
    return counts.advances + counts.recorded == row["mixed_total_forward_steps"]


def mixed_sized(row):
    counts = counted("mixed", row["n_steps"], [int(row["memory_units"])], tape_states=int(row["tape_size_in_states"]))
    return counts.advances + counts.recorded == row["min_total_forward_steps"]


def hierarchical(row):
    counts = counted("hierarchical", row["n_steps"], with_disk(row, row["slots_disk"]))
    return (counts.makespan == pytest.approx(row["hrevolve_makespan_uf1_ub1"]) and counts.advances == row["advances"]
            and (counts.stores[1], counts.loads[1]) == (row["disk_writes"], row["disk_reads"]))


def disk_revolve(row):
    counts = counted("disk-revolve", row["n_steps"], with_disk(row))
    return (counts.makespan == pytest.approx(row["diskrevolve_makespan_uf1_ub1"])
            and counts.advances == row["advances"]
            and (counts.stores[1], counts.loads[1]) == (row["disk_writes"], row["disk_reads"]))


def periodic(row):
    counts = counted("periodic", row["n_steps"], with_disk(row))
    return (counts.makespan == pytest.approx(row["periodic_makespan"])
            and counts.advances == row["periodic_advances"]
            and (counts.stores[1], counts.loads[1]) == (row["periodic_disk_writes"], row["periodic_disk_reads"]))


def two_level(row):
    """The table's program does not know the end in advance."""
    end = int(row["n_steps"])
    counts = counted("two-level", end, [int(row["extra_ram_slots"]), reel.Tier(end, 1, 1)], end=end,
                     period=int(row["period"]))
    return (counts.advances == row["advances"] and counts.stores == (row["ram_writes"], row["disk_writes"])
            and sum(counts.loads) == row["ram_reads"] + row["disk_reads"] and counts.peak_slots[1] == row["max_disk"])


def multistage(row):
    counts = counted("multistage", row["n_steps"], [int(row["slots_ram"]), int(row["slots_disk"])])
    return (counts.advances == row["advances"] and counts.stores[1] == row["disk_writes"]
            and counts.loads == (row["ram_reads"], row["disk_reads"]))


def online(row):
    """The end is learnt before the last step."""
    end, advances = int(row["n_steps"]), 0
    schedule = reel.Plan("online", None, [int(row["s_slots"])]).schedule()
    is_met = False
    for action in schedule:
        if not is_met and action.kind == "advance" and action.last >= end - 1:
            schedule.end(end, at=end - 1)
            action, is_met = action._replace(last=end - 1), True
        advances += action.last - action.first if action.kind == "advance" else 0
    return row["offline_min_advances"] <= advances <= row["half_reserved_doubling_then_optimal_reverse"]


@pytest.mark.parametrize("is_right, table, wanted", [
    (binomial, "binomial_optimum", 278), (mixed, "mixed_optimum", 100), (mixed_sized, "mixed_sized_optimum", 135),
    (hierarchical, "hrevolve_costs", 108), (disk_revolve, "diskrevolve_costs", 144),
    (periodic, "diskrevolve_costs", 144), (two_level, "twolevel_periodic", 90),
    (multistage, "multistage_access_counts", 28), (online, "online_costs", 146)])
def test_every_row_of_a_table(is_right, table, wanted):
    judged = [(row, is_right(row)) for row in rows(table)]
    assert [row for row, right in judged if not right] == []
    assert len(judged) == wanted
