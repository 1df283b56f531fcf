# SPDX-License-Identifier: MIT
"""The functions and structs of libreel, as ctypes calls them.

The structs repeat those of the headers; `reel/version.h` says that they stay as they are as long as the
library is libreel.so.0. A call releases the lock of the interpreter, so that other threads run while it
waits for a store.
"""

import ctypes
import ctypes.util
import os
from ctypes import (
    POINTER, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p,
)

MAX_TIERS = 4
UNKNOWN_STEPS = -1
REVERSE_AT_ONCE = 1
OLDEST = 200
"""The oldest version of the library that has all functions below, as `reel_version_number()` gives it."""


class Tier(ctypes.Structure):
    _fields_ = [("slots", c_int64), ("store_cost", c_double), ("load_cost", c_double)]


class Problem(ctypes.Structure):
    _fields_ = [
        ("steps", c_int64), ("advance_cost", c_double), ("record_cost", c_double), ("reverse_cost", c_double),
        ("tape_states", c_int64), ("period", c_int64), ("tiers", c_uint), ("flags", c_uint),
        ("tier", Tier * MAX_TIERS), ("reserved", c_uint64 * 3),
    ]


class Action(ctypes.Structure):
    _fields_ = [
        ("kind", c_int), ("first", c_int64), ("last", c_int64), ("tier", c_uint), ("slot", c_uint),
        ("last_use", c_bool),
    ]


class ScheduleReport(ctypes.Structure):
    _fields_ = [
        ("advances", c_int64), ("recorded", c_int64), ("reversed", c_int64),
        ("stores", c_int64 * MAX_TIERS), ("loads", c_int64 * MAX_TIERS), ("peak_slots", c_int64 * MAX_TIERS),
        ("peak_tape_steps", c_int64), ("actions", c_int64), ("makespan", c_double),
        ("wrong_action", c_int64), ("wrong", c_char_p), ("reserved", c_uint64 * 4),
    ]


class CostTier(ctypes.Structure):
    _fields_ = [
        ("bytes", c_uint64), ("write_bandwidth", c_double), ("read_bandwidth", c_double), ("latency", c_double),
        ("reserved", c_uint64 * 2),
    ]


class Costs(ctypes.Structure):
    _fields_ = [
        ("steps", c_int64), ("advance_seconds", c_double), ("record_seconds", c_double),
        ("reverse_seconds", c_double), ("copy_seconds", c_double), ("state_bytes", c_uint64),
        ("tape_bytes", c_uint64), ("memory_bytes", c_uint64), ("workers", c_uint), ("tiers", c_uint),
        ("tier", CostTier * (MAX_TIERS - 1)), ("touch_seconds", c_double), ("reserved", c_uint64 * 3),
    ]


class Prediction(ctypes.Structure):
    _fields_ = [
        ("planner", c_int), ("tapes", c_uint), ("spills", c_bool), ("segment_steps", c_int64),
        ("problem", Problem), ("makespan", c_double), ("peak_memory_bytes", c_uint64),
        ("written_bytes", c_uint64 * MAX_TIERS), ("read_bytes", c_uint64 * MAX_TIERS), ("advances", c_int64),
        ("reserved", c_uint64 * 4),
    ]


class Choice(ctypes.Structure):
    _fields_ = [
        ("best", Prediction), ("runner_up", Prediction), ("reason", c_char * 256), ("reserved", c_uint64 * 4),
    ]


class PoolOptions(ctypes.Structure):
    _fields_ = [
        ("hard_budget", c_size_t), ("soft_budget", c_size_t), ("slab_bytes", c_size_t),
        ("first_slab_bytes", c_size_t), ("magazine_slabs", c_uint), ("flags", c_uint), ("store", c_void_p),
        ("reserved", c_uint64 * 3),
    ]


class PoolStats(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "hard_budget", "soft_budget", "slab_bytes", "first_slab_bytes", "resident_bytes", "peak_resident_bytes",
        "slabs", "slabs_in_use", "takes", "shared_takes", "fresh_slabs", "refused", "trimmed_bytes", "lost_slabs",
        "stalls", "stall_ns", "written_bytes", "stored_bytes", "read_bytes", "failed_puts", "failed_gets",
        "pressure_events", "in_store_bytes")] + [("reserved", c_uint64 * 2)]


class Layout(ctypes.Structure):
    _fields_ = [("element", c_uint32), ("stride", c_uint32)]


class ParcelOptions(ctypes.Structure):
    _fields_ = [("layout", Layout), ("flags", c_uint), ("reserved", c_uint64 * 2)]


class ParcelStats(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in (
        "parcels", "resident_bytes", "stored_bytes", "pinned_bytes", "announced", "hits", "waits", "wait_ns")] + [
            ("reserved", c_uint64 * 4)]


class Part(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


class Model(ctypes.Structure):
    _fields_ = [
        ("state_bytes", c_size_t), ("advance", c_void_p), ("record", c_void_p), ("reverse", c_void_p),
        ("save", c_void_p), ("load", c_void_p),
    ]


class RunOptions(ctypes.Structure):
    _fields_ = [
        ("pool", c_void_p), ("store", c_void_p * MAX_TIERS), ("segment_steps", c_int64), ("steps", c_int64),
        ("finished", c_void_p), ("puts", c_uint), ("gets", c_uint), ("flags", c_uint), ("restart", c_char_p),
        ("restart_seconds", c_double), ("adjoint_bytes", c_size_t), ("save_adjoint", c_void_p),
        ("load_adjoint", c_void_p), ("state_part", POINTER(Part)), ("adjoint_part", POINTER(Part)),
        ("state_parts", c_uint), ("adjoint_parts", c_uint), ("packed_bytes", c_void_p), ("progress", c_void_p),
        ("reserved", c_uint64 * 1),
    ]


class RunStats(ctypes.Structure):
    _fields_ = [
        ("advanced", c_int64), ("recorded", c_int64), ("reversed", c_int64),
        ("stores", c_uint64 * MAX_TIERS), ("loads", c_uint64 * MAX_TIERS), ("put_bytes", c_uint64),
        ("got_bytes", c_uint64), ("failed_puts", c_uint64), ("fetched", c_uint64), ("waits", c_uint64),
        ("wait_ns", c_uint64), ("peak_snapshot_bytes", c_uint64), ("peak_tape_bytes", c_uint64),
        ("advance_ns", c_uint64), ("record_ns", c_uint64), ("reverse_ns", c_uint64), ("unlike_step", c_int64),
        ("saves", c_uint64), ("failed_saves", c_uint64), ("reserved", c_uint64 * 2),
    ]


STRUCTS = {
    "reel_tier": Tier, "reel_problem": Problem, "reel_action": Action, "reel_schedule_report": ScheduleReport,
    "reel_cost_tier": CostTier, "reel_costs": Costs, "reel_prediction": Prediction, "reel_choice": Choice,
    "reel_pool_options": PoolOptions, "reel_pool_stats": PoolStats, "reel_layout": Layout,
    "reel_parcel_options": ParcelOptions, "reel_parcel_stats": ParcelStats, "reel_part": Part,
    "reel_model": Model, "reel_run_options": RunOptions, "reel_run_stats": RunStats,
}
"""The structs by their names in C: a test compares each of them with the headers."""

_FUNCTIONS = {
    "reel_version": (c_char_p,),
    "reel_version_number": (c_int,),
    "reel_error_text": (c_char_p, c_int),
    "reel_action_name": (c_char_p, c_int),
    "reel_planner_name": (c_char_p, c_int),
    "reel_planner_by_name": (c_int, c_char_p, POINTER(c_int)),
    "reel_plan_open": (c_int, POINTER(c_void_p), c_int, POINTER(Problem)),
    "reel_plan_open_actions": (c_int, POINTER(c_void_p), POINTER(Problem), POINTER(Action), c_size_t),
    "reel_plan_close": (None, c_void_p),
    "reel_plan_check": (c_int, c_void_p, POINTER(Problem), c_int64, POINTER(ScheduleReport)),
    "reel_plan_count": (c_int, c_void_p, c_int64, POINTER(ScheduleReport)),
    "reel_schedule_open": (c_int, POINTER(c_void_p), c_void_p),
    "reel_schedule_close": (None, c_void_p),
    "reel_schedule_take": (c_size_t, c_void_p, POINTER(Action), c_size_t),
    "reel_schedule_end": (c_int, c_void_p, c_int64, c_int64),
    "reel_costs_choose": (c_int, POINTER(Costs), POINTER(Choice)),
    "reel_run_open": (c_int, POINTER(c_void_p), c_void_p, POINTER(Model), POINTER(RunOptions)),
    "reel_run_close": (None, c_void_p),
    "reel_run_start": (c_int, c_void_p, c_void_p, c_void_p, c_void_p),
    "reel_run_next": (c_int, c_void_p, POINTER(Action)),
    "reel_run_stop": (None, c_void_p, c_int),
    "reel_run_end_loop": (c_int, c_void_p),
    "reel_run_resume": (c_int, c_void_p, c_void_p, c_void_p),
    "reel_run_is_reversing": (c_bool, c_void_p),
    "reel_run_steps": (c_int64, c_void_p),
    "reel_run_get_stats": (None, c_void_p, POINTER(RunStats)),
    "reel_save_now": (None, c_int),
    "reel_store_open": (c_int, POINTER(c_void_p), c_char_p, c_char_p),
    "reel_store_close": (None, c_void_p),
    "reel_pool_open": (c_int, POINTER(c_void_p), POINTER(PoolOptions)),
    "reel_pool_close": (c_int, c_void_p),
    "reel_pool_trim": (c_size_t, c_void_p, c_size_t),
    "reel_pool_get_stats": (None, c_void_p, POINTER(PoolStats)),
    "reel_parcel_open": (c_int, POINTER(c_void_p), c_void_p, c_size_t, POINTER(ParcelOptions), POINTER(c_void_p)),
    "reel_parcel_seal": (c_int, c_void_p),
    "reel_parcel_seal_unchanged": (c_int, c_void_p),
    "reel_parcel_unseal": (c_int, c_void_p, POINTER(c_void_p)),
    "reel_parcel_announce": (c_int, POINTER(c_void_p), c_size_t),
    "reel_parcel_withdraw": (None, POINTER(c_void_p), c_size_t),
    "reel_parcel_pin_for": (c_int, c_void_p, POINTER(c_void_p), c_uint32),
    "reel_parcel_unpin": (None, c_void_p),
    "reel_parcel_is_in_memory": (c_bool, c_void_p),
    "reel_parcel_close": (c_int, c_void_p),
    "reel_parcel_get_stats": (None, c_void_p, POINTER(ParcelStats)),
}


def _load() -> ctypes.CDLL:
    """Open the library that REEL_LIBRARY names, or the one that the system's loader finds."""
    named = os.environ.get("REEL_LIBRARY")
    try:
        library = ctypes.CDLL(named or "libreel.so.0")
    except OSError as error:
        found = None if named else ctypes.util.find_library("reel")
        if not found:
            raise ImportError(
                f"libreel was not found ({error}); install it (libreel0), or set REEL_LIBRARY to the path of "
                "libreel.so.0") from None
        library = ctypes.CDLL(found)
    for name, (result, *arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{library._name} has no {name}(): it is older than this package") from None
        function.restype, function.argtypes = result, arguments
    if library.reel_version_number() < OLDEST:
        raise ImportError(
            f"{library._name} is version {library.reel_version().decode()}, and this package needs "
            f"{OLDEST // 10000}.{OLDEST // 100 % 100}.{OLDEST % 100}")
    return library


lib = _load()
