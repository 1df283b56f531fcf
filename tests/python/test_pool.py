# SPDX-License-Identifier: MIT
"""Parcels as NumPy arrays: their lives, what is alive beside them, orders, threads, forks, chance."""

import errno
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import reel
from reel import _pool, _run

BIG = 1 << 17
"""Numbers of a parcel of 1 MiB."""


@pytest.fixture
def small_pool(tmp_path):
    """Room for eight big parcels, and a disk."""
    return reel.Pool("16M", directory=tmp_path)


def test_a_parcel_is_written_sealed_read_and_closed():
    pool = reel.Pool("8M")
    parcel = pool.empty((3, 4), "i4")
    assert parcel.is_open and parcel.shape == (3, 4) and parcel.nbytes == 48
    parcel.view()[:] = 5
    parcel.seal()
    array = parcel.view()
    assert array.dtype == np.int32 and (array == 5).all() and not array.flags.writeable
    del array
    parcel.unseal()
    parcel.view()[0] = 6
    parcel.seal()
    assert parcel.view()[0, 0] == 6 and parcel.view()[1, 0] == 5
    parcel.close()
    with pytest.raises(ValueError, match="closed"):
        parcel.view()
    pool.close()


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i1", "?", "S3", "U5", "M8[s]", [("a", "f8"), ("b", "i2")]])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (2, 3, 4)])
def test_all_types_and_shapes(dtype, shape):
    pool = reel.Pool("8M")
    raw = np.arange(int(np.prod(shape)) * np.dtype(dtype).itemsize) % 97 + 1
    wanted = np.frombuffer(raw.astype("u1").tobytes(), dtype).reshape(shape) if raw.size else np.empty(shape, dtype)
    if np.dtype(dtype).kind == "U":
        wanted = np.full(shape, "abc", dtype)
    parcel = pool.keep(wanted)
    seen = parcel.view()
    assert seen.shape == shape and seen.dtype == np.dtype(dtype) and seen.tobytes() == wanted.tobytes()


def test_a_type_of_arrays_gives_its_extents_to_the_shape():
    parcel = reel.Pool("8M").empty((2, 4), np.dtype(("f8", (3,))))
    assert parcel.shape == (2, 4, 3) and parcel.dtype == np.float64 and parcel.nbytes == 192
    parcel.view()[1, 2] = [4, 5, 6]
    parcel.seal()
    assert parcel.view()[1, 2].tolist() == [4, 5, 6]


def test_an_array_in_another_order_is_copied():
    wanted = np.arange(24.0).reshape(4, 6)
    assert (reel.Pool("8M").keep(wanted.T[::2]).view() == wanted.T[::2]).all()


def test_objects_and_wrong_shapes_are_refused():
    pool = reel.Pool("8M")
    with pytest.raises(TypeError, match="objects"):
        pool.keep(np.array([{}, []], dtype=object))
    with pytest.raises(ValueError, match="shape"):
        pool.empty((3, -1))
    with pytest.raises(ValueError):
        pool.empty(3).write(np.zeros(4))


def test_an_array_that_could_change_a_sealed_parcel_must_be_gone():
    parcel = reel.Pool("8M").empty(4)
    array = parcel.view()
    part = array[1:3]
    del array
    for forbidden in (parcel.seal, parcel.close):
        with pytest.raises(BufferError, match="alive"):
            forbidden()
    part[:] = 1
    assert parcel.view()[1] == 1
    del part
    parcel.seal()


def test_an_array_keeps_what_it_shows(small_pool):
    parcel = small_pool.keep(np.full(BIG, 3.0))
    part = parcel.view()[5:10]
    for forbidden in (parcel.unseal, parcel.close):
        with pytest.raises(BufferError, match="alive"):
            forbidden()
    with pytest.raises(BufferError, match="parcels"):
        small_pool.close()
    del parcel
    gc.collect()
    others = [small_pool.keep(np.full(BIG, float(i))) for i in range(40)]
    assert (part == 3).all()
    assert all((other.view() == i).all() for i, other in enumerate(others))


@pytest.mark.parametrize("change", [
    lambda array: array.setflags(write=True), lambda array: array[1:].setflags(write=True),
    lambda array: array.reshape(2, 4).setflags(write=True), lambda array: array.fill(0),
    lambda array: memoryview(array).cast("B").__setitem__(0, 1),
])
def test_a_sealed_parcel_is_not_changed_through_an_array(change):
    array = reel.Pool("8M").keep(np.arange(8.0)).view()
    with pytest.raises((ValueError, TypeError)):
        change(array)


def test_what_is_unchanged_keeps_its_copy(small_pool):
    parcel = small_pool.keep(np.full(BIG, 1.0))
    others = [small_pool.keep(np.zeros(BIG)) for _ in range(40)]
    assert len(others) == 40
    del others
    parcel.unseal()
    assert parcel.view()[7] == 1
    parcel.seal(changed=False)
    assert small_pool.parcel_stats()["stored_bytes"] > 0
    parcel.unseal()
    parcel.view()[7] = 2
    parcel.seal()
    assert parcel.view()[7] == 2


def test_an_announced_order_is_read_ahead(small_pool):
    parcels = [small_pool.keep(np.full(BIG, float(i))) for i in range(40)]
    small_pool.announce(reversed(parcels))
    for i, parcel in reversed(list(enumerate(parcels))):
        assert (parcel.view() == i).all()
        time.sleep(0.002)
    stats = small_pool.parcel_stats()
    assert stats["announced"] == 40 and stats["hits"] > 0
    small_pool.announce(parcels)
    small_pool.withdraw(parcels)
    small_pool.announce(small_pool.keep(np.full(BIG, float(i))) for i in range(40))
    with pytest.raises(ValueError, match="open"):
        small_pool.announce([small_pool.empty(3)])


def test_the_budget_is_kept(small_pool):
    parcels = [small_pool.keep(np.full(BIG, float(i))) for i in range(60)]
    assert all((parcel.view() == i).all() for i, parcel in enumerate(parcels))
    assert small_pool.stats()["peak_resident_bytes"] <= 16 << 20


def test_a_used_up_budget_is_an_exception_and_nothing_is_lost():
    pool = reel.Pool("8M")
    kept = [pool.keep(np.full(BIG, 2.0)) for _ in range(4)]
    with pytest.raises(MemoryError, match="REEL_SPILL_DIR"):
        for _ in range(20):
            kept.append(pool.keep(np.full(BIG, 2.0)))
    assert all((parcel.view() == 2).all() for parcel in kept)
    # Two share a slab.
    del kept[-2:]
    kept.append(pool.keep(np.full(BIG, 2.0)))


def test_threads_view_the_same_parcels(small_pool):
    parcels = [small_pool.keep(np.full(BIG, float(i))) for i in range(24)]
    wrong = []

    def look(seed):
        chance = random.Random(seed)
        for _ in range(150):
            i = chance.randrange(len(parcels))
            if not (parcels[i].view()[::997] == i).all():
                wrong.append(i)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_child_reads_what_is_in_memory_and_is_told_of_the_rest(small_pool):
    away = [small_pool.keep(np.full(BIG, float(i))) for i in range(40)]
    here = small_pool.keep(np.arange(10.0))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 2 if here.view()[3] != 3 else 3
            away[0].view()
        except reel.Error:
            code = 0 if code == 3 else code
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all((parcel.view() == i).all() for i, parcel in enumerate(away))


def test_an_exception_in_a_signal_handler_ends_a_view_or_comes_after_it(small_pool):
    parcels = [small_pool.keep(np.full(BIG, float(i))) for i in range(40)]

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(Stop):
            # Python drops an exception that is raised in __del__: the signal comes again.
            signal.setitimer(signal.ITIMER_REAL, 0.05, 5)
            while True:
                for parcel in parcels:
                    parcel.view()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert small_pool.parcel_stats()["pinned_bytes"] == 0
    assert all((parcel.view() == i).all() for i, parcel in enumerate(parcels))


def test_a_pool_in_a_cycle_with_its_parcels_is_closed(tmp_path):
    class Model:
        def __init__(self):
            self.pool = reel.Pool("16M", directory=tmp_path)
            self.fields = [self.pool.keep(np.ones(BIG)) for _ in range(4)]
            self.me = self

    def threads():
        return len(os.listdir("/proc/self/task"))

    gc.collect()
    before = threads()
    for _ in range(3):
        Model()
        gc.collect()
    assert threads() == before


def test_the_end_of_a_with_closes_the_pool_after_its_last_parcel():
    with reel.Pool("8M") as pool:
        parcel = pool.keep(np.arange(3.0))
    assert parcel.view().sum() == 3
    with pytest.raises(ValueError, match="closed"):
        pool.keep(np.ones(3))
    with pytest.raises(ZeroDivisionError):
        with reel.Pool("8M") as pool:
            parcel = pool.keep(np.arange(3.0))
            1 / 0


class Library:
    """libreel in a module of the package. After a call the test's function of that name has the result."""

    def __init__(self, monkeypatch, module, **after):
        self.library, self.after = module.lib, after
        monkeypatch.setattr(module, "lib", self)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            result = function(*arguments)
            self.after[name](result)
            return result

        return call if name in self.after else function


def test_a_pool_is_closed_after_the_call_that_closes_its_last_parcel(monkeypatch):
    is_closing, may_end, closed = threading.Event(), threading.Event(), []

    def wait(_):
        is_closing.set()
        may_end.wait(60)

    Library(monkeypatch, _pool, reel_parcel_close=wait, reel_pool_close=closed.append)
    pool = reel.Pool("8M")
    parcel = pool.keep(np.ones(3))
    thread = threading.Thread(target=parcel.close)
    thread.start()
    assert is_closing.wait(60)
    try:
        with pytest.raises(BufferError, match="parcels"):
            pool.close()
        with pool:
            pass
        assert closed == []
    finally:
        may_end.set()
        thread.join()
    assert closed == [0]


def test_a_pool_whose_last_parcel_goes_while_it_ends_is_closed(monkeypatch):
    closed = []

    def closes_the_parcel(result):
        closed.append(result)
        parcel.close()

    Library(monkeypatch, _pool, reel_pool_close=closes_the_parcel)
    with reel.Pool("8M") as pool:
        parcel = pool.keep(np.ones(3))
    parcel.close()
    assert closed == [0]


def test_an_exception_in_a_signal_handler_after_a_seal_leaves_the_parcel_sealed(monkeypatch):
    parcel = reel.Pool("8M").empty(3)

    def stop(_):
        raise KeyboardInterrupt

    parcel.view()[:] = 7
    Library(monkeypatch, _pool, reel_parcel_seal=stop)
    with pytest.raises(KeyboardInterrupt):
        parcel.seal()
    assert not parcel.is_open and (parcel.view() == 7).all()


def test_arguments_as_numpy_gives_them():
    pool = reel.Pool(np.int64(8 << 20))
    assert pool.empty(np.int64(4)).shape == (4,) and pool.empty([np.int32(2), 3]).shape == (2, 3)
    with pytest.raises(TypeError, match="mask"):
        pool.keep(np.ma.array([1.0, 2.0], mask=[0, 1]))
    with pytest.raises(ValueError, match="shape"):
        pool.empty(2**61 + 1)
    with pytest.raises(ValueError, match="more than can be addressed"):
        reel.Pool("17592186044416M")
    with pytest.raises(TypeError, match="whole number"):
        pool.empty(2.5)


def test_a_write_that_fails_changes_nothing():
    parcel = reel.Pool("8M").keep(np.arange(4.0))
    for wrong in (np.zeros(5), np.zeros(4, "f4")):
        with pytest.raises(ValueError, match="shape"):
            parcel.write(wrong)
    array = parcel.view()
    with pytest.raises(BufferError):
        parcel.write(np.zeros(4))
    assert (array == np.arange(4)).all() and not parcel.is_open


@pytest.mark.parametrize("seed", range(6))
def test_programs_of_chance_have_the_values_of_numpy(seed, tmp_path):
    chance = random.Random(seed)
    pool = reel.Pool("16M", directory=tmp_path, slab="64K")
    parcels, wanted, views = [], [], []
    for turn in range(400):
        choice = chance.random()
        if choice < 0.4 or not parcels:
            shape = (chance.randrange(40), chance.choice([1, 7, 3000]))
            array = np.random.default_rng(turn).random(shape).astype(chance.choice(["f8", "f4", "c16"]))
            parcels.append(pool.keep(array))
            wanted.append(array)
            continue
        i = chance.randrange(len(parcels))
        if choice < 0.7:
            seen = parcels[i].view()
            assert (seen == wanted[i]).all()
            if choice < 0.45:
                views.append((seen, wanted[i]))
            del seen
        elif choice < 0.8:
            try:
                parcels[i].write(wanted[i] + 1)
                wanted[i] = wanted[i] + 1
            except BufferError:
                assert any(array is wanted[i] for _, array in views)
        elif choice < 0.9:
            del parcels[i], wanted[i]
        elif choice < 0.95:
            views.clear()
        else:
            pool.announce(chance.sample(parcels, len(parcels) // 2))
        if len(views) > 4:
            views.pop(0)
        if turn % 50 == 0:
            gc.collect()
    assert all((seen == array).all() for seen, array in views)
    assert all((parcel.view() == array).all() for parcel, array in zip(parcels, wanted))
    views.clear()
    parcels.clear()
    gc.collect()
    assert pool.parcel_stats()["parcels"] == 0
    pool.close()


class Broken(Exception):
    pass


class Program:
    """A program of chance of one thread: parcels of its own, and common ones that it only views."""

    def __init__(self, pool, common, seed):
        self.pool, self.common = pool, common
        self.chance, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.own, self.views = [], []

    def array(self):
        shape = self.chance.randrange(40), self.chance.choice([0, 1, 7, 500])
        return self.numbers.random(shape).astype(self.chance.choice(["f8", "f4", "i2", "c16"]))

    def keep(self):
        array = self.array()
        self.own.append([self.pool.keep(array), array])

    def is_viewed(self, kept):
        return any(of is kept for of, _, _ in self.views)

    def view(self):
        kept = self.chance.choice(self.own + self.common)
        seen = kept[0].view()
        assert (seen == kept[1]).all()
        if self.chance.random() < 0.3:
            self.views.append((kept, seen[::2], kept[1][::2]))

    def forget_a_view(self):
        if self.views:
            _, seen, wanted = self.views.pop(self.chance.randrange(len(self.views)))
            assert (seen == wanted).all()

    def change(self):
        """Each way to change a parcel, or none; an exception may come while the writable array is alive."""
        kept = self.chance.choice(self.own)
        try:
            kept[0].unseal()
        except BufferError:
            assert self.is_viewed(kept)
            return
        assert not self.is_viewed(kept)
        changes = self.chance.random() < 0.7
        try:
            writable = kept[0].view()
            with pytest.raises(BufferError):
                kept[0].seal()
            if changes:
                writable += 1
            if self.chance.random() < 0.5:
                raise Broken(writable)
        except Broken as broken:
            assert broken.args[0] is writable
        writable = None
        gc.collect()
        kept[0].seal(changed=changes)
        kept[1] = kept[1] + np.ones((), kept[1].dtype) if changes else kept[1]

    def drop(self):
        kept = self.own.pop(self.chance.randrange(len(self.own)))
        way = self.chance.randrange(3)
        if way == 0:
            try:
                kept[0].close()
                assert not self.is_viewed(kept)
            except BufferError:
                assert self.is_viewed(kept)
        elif way == 1:
            # Only the collector frees it, unless an array of it is alive.
            kept[0:1] = [[kept[0], kept]]

    def order(self):
        kept = [kept[0] for kept in self.chance.choices(self.own + self.common, k=8)]
        self.pool.announce(kept)
        if self.chance.random() < 0.3:
            self.pool.withdraw(kept)

    def fail(self):
        with pytest.raises(MemoryError):
            self.pool.empty(1 << 24)
        with pytest.raises(ValueError):
            self.chance.choice(self.own)[0].write(np.zeros((1, 2, 3)))

    def turn(self):
        actions = [self.keep, self.view, self.view, self.forget_a_view]
        if self.own:
            actions += [self.change, self.drop, self.order, self.fail]
        self.chance.choice(actions)()
        if len(self.views) > 4:
            self.forget_a_view()

    def fork(self):
        """The child has the values, or is told that they are with the parent."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(120)
                assert all((seen == wanted).all() for _, seen, wanted in self.views)
                for parcel, wanted in self.own:
                    try:
                        assert (parcel.view() == wanted).all()
                    except reel.Error as error:
                        assert error.errno == errno.ECHILD
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    def check(self):
        assert all((seen == wanted).all() for _, seen, wanted in self.views)
        assert all((parcel.view() == wanted).all() for parcel, wanted in self.own)


@pytest.fixture
def each_collection_is_short():
    """What was there before a test is not looked at by the collector."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("seed", range(4))
def test_programs_of_chance_with_threads_forks_and_failures(seed, threads, tmp_path, each_collection_is_short):
    """The collector runs at each turn, and in each thread."""
    pool = reel.Pool("8M", directory=tmp_path, slab="64K")
    common = []
    for i in range(40):
        array = np.random.default_rng(i).random(50_000)
        common.append((pool.keep(array), array))
    programs = [Program(pool, common, 10 * seed + i) for i in range(threads + 1)]
    failures = []

    def play(program, forks):
        try:
            for turn in range(150):
                program.turn()
                gc.collect()
                if forks and turn % 30 == 29:
                    program.fork()
            program.check()
        except BaseException as failure:
            failures.append(failure)

    workers = [threading.Thread(target=play, args=(program, False)) for program in programs[1:]]
    for worker in workers:
        worker.start()
    play(programs[0], True)
    for worker in workers:
        worker.join()
    for failure in failures:
        raise failure
    assert pool.stats()["peak_resident_bytes"] <= 8 << 20 and pool.stats()["written_bytes"] > 0
    del programs, common, workers, play
    gc.collect()
    assert pool.parcel_stats()["parcels"] == 0
    pool.close()


def test_nothing_is_left_where_the_store_was(tmp_path):
    pool = reel.Pool("16M", directory=tmp_path)
    parcels = [pool.keep(np.zeros(BIG)) for _ in range(40)]
    assert pool.stats()["written_bytes"] > 0 and len(parcels) == 40
    assert os.listdir(tmp_path) == []


class Interrupt(Exception):
    pass


def interrupted(call, at):
    """Run call() and raise an Interrupt before instruction number `at` of the package. False: it has no such one."""
    left = at

    def trace(frame, event, _):
        nonlocal left
        if os.path.dirname(frame.f_code.co_filename) != os.path.dirname(reel.__file__):
            return None
        frame.f_trace_opcodes = True
        left -= event in ("call", "opcode")
        if left == 0:
            raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return left <= 0


def test_an_exception_in_a_signal_handler_at_any_instruction_leaves_no_pin_and_no_parcel(monkeypatch):
    # pytest's hook would keep the objects in whose __del__ an exception was raised.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    pool = reel.Pool("8M")
    kept = pool.keep(np.ones(300))

    def use():
        parcel = pool.keep(kept.view())
        view = parcel.view()
        del parcel
        assert view[7] == 1
        del view
        kept.unseal()
        kept.seal()

    at = 1
    while interrupted(use, at):
        if kept.is_open:
            kept.seal()
        stats = pool.parcel_stats()
        assert (stats["pinned_bytes"], stats["parcels"]) == (0, 1), f"instruction {at}"
        at += 1
    assert at > 500
    kept.close()
    pool.close()


def test_an_exception_in_a_signal_handler_at_any_instruction_closes_all_once(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    closed = {name: [] for name in ("reel_run_close", "reel_parcel_close", "reel_pool_close")}
    for module in (_pool, _run):
        Library(monkeypatch, module, **{name: results.append for name, results in closed.items()})
    plan = reel.Plan("binomial", 3, [1])

    def use():
        pool = reel.Pool("8M")
        parcel, run = pool.keep(np.ones(3)), reel.Run(plan, np.ones(3), pool=pool)
        for used in (parcel, run, pool, pool):
            used.close()

    at = 1
    while interrupted(use, at):
        runs, parcels, pools = (list(results) for results in closed.values())
        for results in closed.values():
            results.clear()
        assert set(pools + parcels) <= {0} and max(map(len, (pools, parcels, runs))) <= 1, f"instruction {at}"
        assert len(pools) == 1 or not parcels + runs, f"instruction {at}"
        at += 1
    assert at > 300


def test_a_budget_may_be_a_share_of_what_the_system_allows():
    assert reel.Pool("60%").stats()["hard_budget"] > reel.Pool("auto").stats()["hard_budget"] > 1 << 20


@pytest.mark.parametrize("budget, slab, text", [
    (0, 0, 'budget "0": .* one slab'), ("0.5", 0, 'budget "0.5": it must be bytes'), ("1M", 0, "room for one slab"),
    ("64K", "128K", "room for one slab")])
def test_a_budget_without_room_for_a_slab_is_refused(budget, slab, text):
    with pytest.raises(ValueError, match=text):
        reel.Pool(budget, slab=slab)


@pytest.mark.parametrize("arguments, error, text", [
    (dict(directory="/tmp\0x"), ValueError, "directory has a NUL"), (dict(directory=3), TypeError, "directory .* 3"),
    (dict(store="file\0"), ValueError, "store has a NUL"), (dict(store=3), TypeError, "store .* 3")])
def test_texts_that_make_no_sense_are_named(arguments, error, text):
    with pytest.raises(error, match=text):
        reel.Pool("8M", **arguments)


def test_what_is_no_parcel_is_not_announced():
    pool = reel.Pool("8M")
    for call in (pool.announce, pool.withdraw):
        with pytest.raises(TypeError, match="parcels .* 3"):
            call([3])


PIN = """import reel
with reel.Pool("64M") as pool:
    print(pool._pin(0) or "pinned")
    parcel = pool.empty(1 << 20)
    pins = pool._pins()
    print(pins["pinned_bytes"] == pool.stats()["resident_bytes"], pins["refused_adoptions"], pins["problem"])
"""


def pin_with(driver, folder):
    """What a program says about its pins in a process that finds this driver, in the order of its lines."""
    libraries = os.path.dirname(os.environ["REEL_LIBRARY"])
    if not os.path.exists(os.path.join(libraries, "libreel-cuda.so.0")):
        pytest.skip("libreel-cuda was not built")
    for name in "libcuda.so.1", "libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7":
        (folder / name).write_text("no library")
    if driver:
        (folder / "libcuda.so.1").unlink()
        (folder / "libcuda.so.1").symlink_to(os.path.join(libraries, driver))
    said = subprocess.run([sys.executable, "-c", PIN], capture_output=True, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(folder)})
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def test_without_a_driver_nothing_is_pinned_and_the_reason_is_said(tmp_path):
    reason, figures = pin_with("", tmp_path)
    assert reason.startswith("no GPU: no NVIDIA driver") and figures == "False 0 "


def test_a_driver_pins_what_is_resident(tmp_path):
    if not os.path.exists(os.path.join(os.path.dirname(os.environ["REEL_LIBRARY"]), "libreel-fake-driver.so")):
        pytest.skip("there is no fake driver")
    assert pin_with("libreel-fake-driver.so", tmp_path) == ["pinned", "True 0 "]
