# SPDX-License-Identifier: MIT
"""Disk steps of pyadjoint as parcels: by its interface, and by pyadjoint itself where it is installed."""

import errno
import gc
import os
import re
import time

import numpy as np
import pytest

import reel
from reel import _package

pytest.importorskip("checkpoint_schedules")
from checkpoint_schedules.schedule import Copy, EndReverse, Forward, Move, Reverse, StorageType

CELLS = 1 << 17
"""A field of 1 MiB."""


def field_class():
    """What pyadjoint asks of a class whose checkpoints are arrays: a new class, as the package changes it."""

    class Field(np.ndarray):
        def _ad_create_checkpoint(self):
            return self.copy()

        def _ad_restore_at_checkpoint(self, checkpoint):
            return checkpoint

    return Field


class Client:
    """Carries out a schedule as pyadjoint does, of x <- x + 0.01 sin(x), and keeps states by the two methods."""

    def __init__(self, cls, package):
        self.cls, self.package = cls, package
        self.kept = {}

    def store(self, step, storage):
        if storage == StorageType.DISK:
            self.package.continue_checkpointing()
        self.kept[step] = self.x._ad_create_checkpoint()
        if storage == StorageType.DISK:
            self.package.pause_checkpointing()

    def forward(self, action, schedule, steps):
        if action.write_ics:
            self.store(action.n0, action.storage)
        for step in range(action.n0, min(action.n1, steps)):
            if action.write_adj_deps:
                self.recorded[step] = self.x
            self.x = self.x + 0.01 * np.sin(self.x)
        if action.n1 >= steps:
            schedule.finalize(steps)

    def gradient(self, schedule, steps):
        self.x, self.recorded = np.linspace(0, 3, CELLS).view(self.cls), {}
        x_bar = np.ones(CELLS)
        for action in schedule:
            if isinstance(action, Forward):
                self.forward(action, schedule, steps)
            elif isinstance(action, Reverse):
                for step in reversed(range(action.n0, action.n1)):
                    x_bar += 0.01 * np.cos(self.recorded.pop(step)) * x_bar
            elif isinstance(action, (Copy, Move)):
                kept = self.kept.pop(action.n) if isinstance(action, Move) else self.kept[action.n]
                self.x = self.x._ad_restore_at_checkpoint(kept)
            elif isinstance(action, EndReverse):
                return x_bar


def by_one_tape(steps):
    return Client(field_class(), None).gradient(reel.schedule("store-all", steps, [1]), steps)


@pytest.fixture
def pool(tmp_path):
    """Room for eight fields, and a disk."""
    return reel.Pool("16M", directory=tmp_path)


@pytest.mark.parametrize("planner, tiers", [("multistage", [2, 30]), ("two-level", [2, 100]), ("periodic", [2, 100])])
def test_a_schedule_with_a_disk_has_the_bits_of_one_tape(planner, tiers, pool):
    period = {} if planner == "multistage" else {"period": 2}
    cls = field_class()
    schedule = reel.schedule(planner, 50, tiers, **period)
    x_bar = Client(cls, reel.PackageData(pool, cls)).gradient(schedule, 50)
    assert (x_bar == by_one_tape(50)).all()
    stats = pool.stats()
    assert stats["written_bytes"] > 0 and stats["peak_resident_bytes"] <= 16 << 20
    assert pool.parcel_stats()["parcels"] == 0


def keep(package, cls, steps, cells=CELLS):
    """The values of some steps, each of two fields that have the number of their step."""
    kept = []
    for step in range(steps):
        package.continue_checkpointing()
        kept.append([np.full(cells, float(step)).view(cls)._ad_create_checkpoint() for _ in range(2)])
        package.pause_checkpointing()
    return kept


def test_the_step_that_is_next_comes_back_ahead(tmp_path):
    cls = field_class()
    # A field is a slab, and four slabs are read ahead at least.
    pool = reel.Pool("16M", directory=tmp_path, slab="256K")
    kept = keep(reel.PackageData(pool, cls), cls, 80, 1 << 15)
    me = np.zeros(1).view(cls)

    def is_in_memory(step):
        return all(value._parcel.is_in_memory for value in kept[step])

    assert not is_in_memory(3) and not is_in_memory(4)
    # A step that is gone is passed over.
    kept[4] = []
    assert me._ad_restore_at_checkpoint(kept[5][0])[7] == 5
    # There is no time by which the store must have done it.
    end = time.monotonic() + 60
    while not (is_in_memory(5) and is_in_memory(3)) and time.monotonic() < end:
        time.sleep(0.001)
    assert is_in_memory(5) and is_in_memory(3)
    assert me._ad_restore_at_checkpoint(kept[3][1])[7] == 3


def test_without_memory_for_an_announcement_values_are_brought_back(pool, monkeypatch):
    cls = field_class()
    kept = keep(reel.PackageData(pool, cls), cls, 20)

    def refuse(*_):
        raise reel.MemoryError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(pool, "announce", refuse)
    assert np.zeros(1).view(cls)._ad_restore_at_checkpoint(kept[0][0])[7] == 0


def test_a_value_is_an_array_of_its_class_that_nobody_changes(pool):
    cls = field_class()
    package = reel.PackageData(pool, cls)
    wanted = np.arange(6000.0).reshape(20, 300)
    package.continue_checkpointing()
    kept = wanted.view(cls)._ad_create_checkpoint()
    package.pause_checkpointing()
    seen = np.zeros(1).view(cls)._ad_restore_at_checkpoint(kept)
    assert type(seen) is cls and seen.shape == (20, 300) and (seen == wanted).all()
    with pytest.raises(ValueError):
        seen[0, 0] = 1
    del kept
    gc.collect()
    assert seen[19, 299] == 5999 and pool.parcel_stats()["parcels"] == 1
    del seen
    assert pool.parcel_stats()["parcels"] == 0


def test_what_is_no_array_or_small_and_what_goes_not_to_disk_stays(pool):
    class Holder:
        def __init__(self, value):
            self.value = value

        def _ad_create_checkpoint(self):
            return self.value

        def _ad_restore_at_checkpoint(self, checkpoint):
            return checkpoint

    class Other(Holder):
        pass

    package = reel.PackageData(pool, Holder)
    big = np.zeros(CELLS)
    assert Holder(big)._ad_create_checkpoint() is big
    package.continue_checkpointing()
    for value in (1.5, np.zeros(10), np.array([{}] * 1000), np.ma.zeros(1000), None):
        assert Holder(value)._ad_create_checkpoint() is value
        assert Holder(value)._ad_restore_at_checkpoint(value) is value
    for covered in (Holder(big), Other(big)):
        assert isinstance(covered._ad_create_checkpoint(), _package.Value)
    package.pause_checkpointing()
    assert Holder(big)._ad_create_checkpoint() is big


def test_each_package_has_its_classes(tmp_path):
    classes = [field_class(), field_class()]
    pools = [reel.Pool("16M", directory=tmp_path) for _ in classes]
    packages = [reel.PackageData(pool, cls) for pool, cls in zip(pools, classes)]
    method = classes[0]._ad_create_checkpoint
    again = reel.PackageData(pools[0], classes[0])
    assert classes[0]._ad_create_checkpoint is method
    for package in packages:
        package.continue_checkpointing()
    kept = [np.zeros(CELLS).view(cls)._ad_create_checkpoint() for cls in classes]
    assert len(kept) == 2 and [pool.parcel_stats()["parcels"] for pool in pools] == [1, 1]
    packages[0].pause_checkpointing()
    assert type(np.zeros(CELLS).view(classes[0])._ad_create_checkpoint()) is classes[0]
    again.continue_checkpointing()
    assert isinstance(np.zeros(CELLS).view(classes[0])._ad_create_checkpoint(), _package.Value)
    # A sweep that an exception has ended is not paused. Nothing is kept for its tape any more.
    del again
    gc.collect()
    assert type(np.zeros(CELLS).view(classes[0])._ad_create_checkpoint()) is classes[0]


@pytest.mark.parametrize("end", ["clear", "reset"])
def test_another_sweep_finds_the_values_of_the_first_step(end, pool):
    cls = field_class()
    package = reel.PackageData(pool, cls)
    kept = keep(package, cls, 12)
    package.continue_checkpointing()
    getattr(package, end)()
    field = np.zeros(CELLS).view(cls)
    assert type(field._ad_create_checkpoint()) is cls
    assert field._ad_restore_at_checkpoint(kept[0][0])[3] == 0
    again = keep(package, cls, 12)
    for steps in (again, kept):
        for step, values in reversed(list(enumerate(steps))):
            assert all((field._ad_restore_at_checkpoint(value) == step).all() for value in values)


def test_a_state_of_the_package_and_a_copy_for_another_tape(pool):
    cls = field_class()
    package = reel.PackageData(pool, cls)
    kept = keep(package, cls, 3)
    state = package.checkpoint()
    more = keep(package, cls, 2)
    package.restore_from_checkpoint(state)
    more += keep(package.copy(), cls, 2) + keep(package, cls, 1)
    field = np.zeros(1).view(cls)
    assert [field._ad_restore_at_checkpoint(values[1])[5] for values in kept + more] == [0, 1, 2, 0, 1, 0, 1, 0]
    del kept, more
    assert pool.parcel_stats()["parcels"] == 0


def test_a_long_sweep_leaves_no_long_chain(pool):
    cls = field_class()
    package = reel.PackageData(pool, cls)
    package.continue_checkpointing()
    first = np.zeros(300).view(cls)._ad_create_checkpoint()
    for _ in range(100_000):
        package.continue_checkpointing()
    last = np.ones(300).view(cls)._ad_create_checkpoint()
    assert np.zeros(1).view(cls)._ad_restore_at_checkpoint(last)[3] == 1
    assert last._group.older is first._group
    for _ in range(100_000):
        package.continue_checkpointing()
    package.clear()


def test_the_example_of_the_readme(tmp_path, monkeypatch):
    pytest.importorskip("pyadjoint")
    pytest.importorskip("numpy_adjoint")
    with open(os.path.join(os.environ["SOURCE_DIR"], "python", "README.md")) as readme:
        section = readme.read().split("## pyadjoint\n")[1].split("\n## ")[0]
    program = re.search(r"```python\n(.*?)```", section, re.S).group(1)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(program, names)
    x, a = np.full(100_000, 0.5), 1.1
    kept = []
    for _ in range(200):
        kept.append(x)
        x = x + 0.01 * a * np.sin(x)
    x_bar, a_bar = np.full(x.shape, 1.0), 0.0
    for x in reversed(kept):
        a_bar += float((x_bar * 0.01 * np.sin(x)).sum())
        x_bar = x_bar * (1 + 0.01 * a * np.cos(x))
    assert float(names["gradient"]) == pytest.approx(a_bar, rel=1e-12)
    assert names["pool"].stats()["written_bytes"] > 0
