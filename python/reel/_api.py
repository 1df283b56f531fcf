# SPDX-License-Identifier: MIT
"""Made from the headers by build-aux/api; `make api` makes it again."""

from ctypes import (
    POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint,
    c_uint32, c_uint64, c_void_p,
)

VERSION = 200
MAX_DIMENSIONS = 4
MAX_TIERS = 4
UNKNOWN_STEPS = -1
REVERSE_AT_ONCE = 1
RUN_AUDIT = 1
MAX_SLOTS = 4096
MAX_TABLE_SLOTS = 256
MAX_UNEVEN_STEPS = 512
UNEVEN_OWN_STATES = 1
RUN_COPIES = 2
POOL_CHECKED = 1
POOL_SMALL_PAGES = 2
POOL_OBEY_LIMITS = 4
POOL_HUGE_PAGES = 8


class Layout(Structure):
    _fields_ = [
        ("element", c_uint32),
        ("stride", c_uint32),
    ]


class Field(Structure):
    _fields_ = [
        ("type", c_int),
        ("dimensions", c_uint),
        ("extent", c_size_t * MAX_DIMENSIONS),
    ]


class Loss(Structure):
    _fields_ = [
        ("field", POINTER(Field)),
        ("fields", c_uint),
        ("tolerance", c_double),
        ("first_tier", c_uint),
        ("reserved", c_uint64 * 4),
    ]


class AccuracyReport(Structure):
    _fields_ = [
        ("error", c_double),
        ("largest", c_double),
        ("tolerance", c_double),
        ("gradients", c_uint),
        ("reserved", c_uint64 * 4),
    ]


class Model(Structure):
    _fields_ = [
        ("state_bytes", c_size_t),
        ("advance", c_void_p),
        ("record", c_void_p),
        ("reverse", c_void_p),
        ("save", c_void_p),
        ("load", c_void_p),
    ]


class Tier(Structure):
    _fields_ = [
        ("slots", c_int64),
        ("store_cost", c_double),
        ("load_cost", c_double),
    ]


class Problem(Structure):
    _fields_ = [
        ("steps", c_int64),
        ("advance_cost", c_double),
        ("record_cost", c_double),
        ("reverse_cost", c_double),
        ("tape_states", c_int64),
        ("period", c_int64),
        ("tiers", c_uint),
        ("flags", c_uint),
        ("tier", Tier * MAX_TIERS),
        ("reserved", c_uint64 * 3),
    ]


class Part(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("bytes", c_size_t),
    ]


class Progress(Structure):
    _fields_ = [
        ("reverses", c_bool),
        ("done", c_int64),
        ("steps", c_int64),
        ("share", c_double),
        ("seconds", c_double),
        ("seconds_left", c_double),
        ("steps_per_second", c_double),
        ("resident_bytes", c_uint64),
        ("written_bytes", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class RunOptions(Structure):
    _fields_ = [
        ("pool", c_void_p),
        ("store", c_void_p * MAX_TIERS),
        ("segment_steps", c_int64),
        ("steps", c_int64),
        ("finished", c_void_p),
        ("puts", c_uint),
        ("gets", c_uint),
        ("flags", c_uint),
        ("restart", c_char_p),
        ("restart_seconds", c_double),
        ("adjoint_bytes", c_size_t),
        ("save_adjoint", c_void_p),
        ("load_adjoint", c_void_p),
        ("state_part", POINTER(Part)),
        ("adjoint_part", POINTER(Part)),
        ("state_parts", c_uint),
        ("adjoint_parts", c_uint),
        ("packed_bytes", c_void_p),
        ("progress", c_void_p),
        ("loss", POINTER(Loss)),
    ]


class RunStats(Structure):
    _fields_ = [
        ("advanced", c_int64),
        ("recorded", c_int64),
        ("reversed", c_int64),
        ("stores", c_uint64 * MAX_TIERS),
        ("loads", c_uint64 * MAX_TIERS),
        ("put_bytes", c_uint64),
        ("got_bytes", c_uint64),
        ("failed_puts", c_uint64),
        ("fetched", c_uint64),
        ("waits", c_uint64),
        ("wait_ns", c_uint64),
        ("peak_snapshot_bytes", c_uint64),
        ("peak_tape_bytes", c_uint64),
        ("advance_ns", c_uint64),
        ("record_ns", c_uint64),
        ("reverse_ns", c_uint64),
        ("unlike_step", c_int64),
        ("saves", c_uint64),
        ("failed_saves", c_uint64),
        ("rounded_bytes", c_uint64),
        ("kept_bytes", c_uint64),
    ]


class Action(Structure):
    _fields_ = [
        ("kind", c_int),
        ("first", c_int64),
        ("last", c_int64),
        ("tier", c_uint),
        ("slot", c_uint),
        ("last_use", c_bool),
    ]


class UnevenStep(Structure):
    _fields_ = [
        ("advance", c_double),
        ("record", c_double),
        ("reverse", c_double),
        ("state_bytes", c_uint64),
        ("tape_bytes", c_uint64),
        ("work_bytes", c_uint64),
    ]


class UnevenProblem(Structure):
    _fields_ = [
        ("steps", c_size_t),
        ("step", POINTER(UnevenStep)),
        ("memory_bytes", c_uint64),
        ("store_bandwidth", c_double),
        ("load_bandwidth", c_double),
        ("flags", c_uint64),
        ("reserved", c_uint64 * 3),
    ]


class ScheduleReport(Structure):
    _fields_ = [
        ("advances", c_int64),
        ("recorded", c_int64),
        ("reversed", c_int64),
        ("stores", c_int64 * MAX_TIERS),
        ("loads", c_int64 * MAX_TIERS),
        ("peak_slots", c_int64 * MAX_TIERS),
        ("peak_tape_steps", c_int64),
        ("actions", c_int64),
        ("makespan", c_double),
        ("peak_bytes", c_uint64),
        ("wrong_action", c_int64),
        ("wrong", c_char_p),
        ("reserved", c_uint64 * 3),
    ]


class CostTier(Structure):
    _fields_ = [
        ("bytes", c_uint64),
        ("write_bandwidth", c_double),
        ("read_bandwidth", c_double),
        ("latency", c_double),
        ("reserved", c_uint64 * 2),
    ]


class Costs(Structure):
    _fields_ = [
        ("steps", c_int64),
        ("advance_seconds", c_double),
        ("record_seconds", c_double),
        ("reverse_seconds", c_double),
        ("copy_seconds", c_double),
        ("state_bytes", c_uint64),
        ("tape_bytes", c_uint64),
        ("memory_bytes", c_uint64),
        ("workers", c_uint),
        ("tiers", c_uint),
        ("tier", CostTier * (MAX_TIERS - 1)),
        ("touch_seconds", c_double),
        ("reserved", c_uint64 * 3),
    ]


class Prediction(Structure):
    _fields_ = [
        ("planner", c_int),
        ("tapes", c_uint),
        ("spills", c_bool),
        ("segment_steps", c_int64),
        ("problem", Problem),
        ("makespan", c_double),
        ("peak_memory_bytes", c_uint64),
        ("written_bytes", c_uint64 * MAX_TIERS),
        ("read_bytes", c_uint64 * MAX_TIERS),
        ("advances", c_int64),
        ("reserved", c_uint64 * 4),
    ]


class Choice(Structure):
    _fields_ = [
        ("best", Prediction),
        ("runner_up", Prediction),
        ("reason", c_char * 256),
        ("reserved", c_uint64 * 4),
    ]


class PoolOptions(Structure):
    _fields_ = [
        ("hard_budget", c_size_t),
        ("soft_budget", c_size_t),
        ("slab_bytes", c_size_t),
        ("first_slab_bytes", c_size_t),
        ("magazine_slabs", c_uint),
        ("flags", c_uint),
        ("store", c_void_p),
        ("shared_budget", c_char * 16),
        ("reserved", c_uint64 * 1),
    ]


class PoolStats(Structure):
    _fields_ = [
        ("hard_budget", c_uint64),
        ("soft_budget", c_uint64),
        ("slab_bytes", c_uint64),
        ("first_slab_bytes", c_uint64),
        ("resident_bytes", c_uint64),
        ("peak_resident_bytes", c_uint64),
        ("slabs", c_uint64),
        ("slabs_in_use", c_uint64),
        ("takes", c_uint64),
        ("shared_takes", c_uint64),
        ("fresh_slabs", c_uint64),
        ("refused", c_uint64),
        ("trimmed_bytes", c_uint64),
        ("lost_slabs", c_uint64),
        ("stalls", c_uint64),
        ("stall_ns", c_uint64),
        ("written_bytes", c_uint64),
        ("stored_bytes", c_uint64),
        ("read_bytes", c_uint64),
        ("failed_puts", c_uint64),
        ("failed_gets", c_uint64),
        ("pressure_events", c_uint64),
        ("in_store_bytes", c_uint64),
        ("reserved", c_uint64 * 2),
    ]


class ParcelOptions(Structure):
    _fields_ = [
        ("layout", Layout),
        ("reserved", c_uint64 * 3),
    ]


class ParcelStats(Structure):
    _fields_ = [
        ("parcels", c_uint64),
        ("resident_bytes", c_uint64),
        ("stored_bytes", c_uint64),
        ("pinned_bytes", c_uint64),
        ("announced", c_uint64),
        ("hits", c_uint64),
        ("waits", c_uint64),
        ("wait_ns", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class GpuDevice(Structure):
    _fields_ = [
        ("name", c_char * 96),
        ("memory_bytes", c_uint64),
        ("driver_version", c_uint),
        ("compute_major", c_uint),
        ("compute_minor", c_uint),
        ("multiprocessors", c_uint),
        ("threads", c_uint),
        ("reserved", c_uint * 7),
    ]


class GpuStoreOptions(Structure):
    _fields_ = [
        ("device", c_uint),
        ("depth", c_uint),
        ("slot_bytes", c_size_t),
        ("bytes", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


class GpuStats(Structure):
    _fields_ = [
        ("total_bytes", c_uint64),
        ("used_bytes", c_uint64),
        ("puts", c_uint64),
        ("gets", c_uint64),
        ("put_bytes", c_uint64),
        ("got_bytes", c_uint64),
        ("failed_puts", c_uint64),
        ("failed_gets", c_uint64),
        ("copied_bytes", c_uint64),
        ("pinned_bytes", c_uint64),
        ("refused_adoptions", c_uint64),
        ("reserved", c_uint64 * 5),
        ("problem", c_char * 160),
    ]


STRUCTS = {
    "reel_layout": Layout,
    "reel_field": Field,
    "reel_loss": Loss,
    "reel_accuracy_report": AccuracyReport,
    "reel_model": Model,
    "reel_tier": Tier,
    "reel_problem": Problem,
    "reel_part": Part,
    "reel_progress": Progress,
    "reel_run_options": RunOptions,
    "reel_run_stats": RunStats,
    "reel_action": Action,
    "reel_uneven_step": UnevenStep,
    "reel_uneven_problem": UnevenProblem,
    "reel_schedule_report": ScheduleReport,
    "reel_cost_tier": CostTier,
    "reel_costs": Costs,
    "reel_prediction": Prediction,
    "reel_choice": Choice,
    "reel_pool_options": PoolOptions,
    "reel_pool_stats": PoolStats,
    "reel_parcel_options": ParcelOptions,
    "reel_parcel_stats": ParcelStats,
    "reel_gpu_device": GpuDevice,
    "reel_gpu_store_options": GpuStoreOptions,
    "reel_gpu_stats": GpuStats,
}
"""The structs by their names in C."""

FUNCTIONS = {
    "reel_version": (c_char_p,),
    "reel_version_number": (c_int,),
    "reel_error_text": (c_char_p, c_int),
    "reel_set_error_handler": (None, c_void_p, c_void_p),
    "reel_field_bytes": (c_size_t, POINTER(Field)),
    "reel_field_room": (c_size_t, POINTER(Field)),
    "reel_field_pack": (c_size_t, POINTER(Field), c_double, c_void_p, c_void_p),
    "reel_field_unpack": (c_size_t, POINTER(Field), c_void_p, c_void_p, c_size_t),
    "reel_accuracy_open": (c_int, POINTER(c_void_p), c_void_p, c_uint, c_size_t),
    "reel_accuracy_close": (None, c_void_p),
    "reel_accuracy_tolerance": (c_double, c_void_p),
    "reel_accuracy_again": (c_int, c_void_p, POINTER(c_double)),
    "reel_accuracy_get_report": (None, c_void_p, POINTER(AccuracyReport)),
    "reel_accuracy_get_errors": (None, c_void_p, POINTER(c_double)),
    "reel_plan_open": (c_int, POINTER(c_void_p), c_int, POINTER(Problem)),
    "reel_plan_close": (None, c_void_p),
    "reel_run_open": (c_int, POINTER(c_void_p), c_void_p, POINTER(Model), POINTER(RunOptions)),
    "reel_run_close": (None, c_void_p),
    "reel_run_set_tolerance": (c_int, c_void_p, c_double),
    "reel_run_forward": (c_int, c_void_p, c_void_p, c_void_p),
    "reel_run_reverse": (c_int, c_void_p, c_void_p, c_void_p, c_void_p),
    "reel_run_resume": (c_int, c_void_p, c_void_p, c_void_p),
    "reel_save_now": (None, c_int),
    "reel_run_is_reversing": (c_bool, c_void_p),
    "reel_run_get_stats": (None, c_void_p, POINTER(RunStats)),
    "reel_plan_open_actions": (c_int, POINTER(c_void_p), POINTER(Problem), POINTER(Action), c_size_t),
    "reel_plan_open_uneven": (c_int, POINTER(c_void_p), POINTER(UnevenProblem)),
    "reel_planner_name": (c_char_p, c_int),
    "reel_planner_by_name": (c_int, c_char_p, POINTER(c_int)),
    "reel_action_name": (c_char_p, c_int),
    "reel_schedule_open": (c_int, POINTER(c_void_p), c_void_p),
    "reel_schedule_close": (None, c_void_p),
    "reel_schedule_begin": (None, c_void_p),
    "reel_schedule_copy": (c_int, c_void_p, c_void_p),
    "reel_schedule_next": (c_int, c_void_p, POINTER(Action)),
    "reel_schedule_take": (c_size_t, c_void_p, POINTER(Action), c_size_t),
    "reel_schedule_end": (c_int, c_void_p, c_int64, c_int64),
    "reel_plan_check": (c_int, c_void_p, POINTER(Problem), c_int64, POINTER(ScheduleReport)),
    "reel_problem_from_text": (c_int, POINTER(Problem), POINTER(c_int), c_char_p),
    "reel_parse_bytes": (c_int, c_char_p, POINTER(c_size_t)),
    "reel_pool_options_from_text": (c_int, POINTER(PoolOptions), c_char_p, c_char_p, c_char_p),
    "reel_run_start": (c_int, c_void_p, c_void_p, c_void_p, c_void_p),
    "reel_run_next": (c_int, c_void_p, POINTER(Action)),
    "reel_run_copy": (c_int, c_void_p, c_void_p),
    "reel_run_end_loop": (c_int, c_void_p),
    "reel_run_stop": (None, c_void_p, c_int),
    "reel_run_set_time": (None, c_void_p, c_uint64),
    "reel_run_tape": (c_void_p, c_void_p),
    "reel_run_take": (c_int, c_void_p, POINTER(Action)),
    "reel_run_carry_out": (c_int, c_void_p, POINTER(Action), c_void_p, c_void_p, c_void_p, c_void_p),
    "reel_run_steps": (c_int64, c_void_p),
    "reel_run_give_up": (None, c_void_p),
    "reel_costs_choose": (c_int, POINTER(Costs), POINTER(Choice)),
    "reel_costs_measure": (c_int, POINTER(Costs), c_void_p, POINTER(Model), c_void_p, c_void_p, c_void_p),
    "reel_plan_open_auto": (c_int, POINTER(c_void_p), POINTER(Problem), POINTER(Costs)),
    "reel_schedule_learn": (None, c_void_p, POINTER(Costs)),
    "reel_pool_open": (c_int, POINTER(c_void_p), POINTER(PoolOptions)),
    "reel_pool_close": (c_int, c_void_p),
    "reel_pool_default": (c_void_p,),
    "reel_pool_trim": (c_size_t, c_void_p, c_size_t),
    "reel_pool_get_stats": (None, c_void_p, POINTER(PoolStats)),
    "reel_store_open": (c_int, POINTER(c_void_p), c_char_p, c_char_p),
    "reel_store_close": (None, c_void_p),
    "reel_parcel_open": (c_int, POINTER(c_void_p), c_void_p, c_size_t, POINTER(ParcelOptions), POINTER(c_void_p)),
    "reel_parcel_seal": (c_int, c_void_p),
    "reel_parcel_seal_unchanged": (c_int, c_void_p),
    "reel_parcel_seal_compared": (c_int, c_void_p),
    "reel_parcel_unseal": (c_int, c_void_p, POINTER(c_void_p)),
    "reel_parcel_lend": (c_int, POINTER(c_void_p), c_void_p, c_void_p, c_size_t, POINTER(ParcelOptions)),
    "reel_parcel_take_back": (c_void_p, c_void_p),
    "reel_parcel_announce": (c_int, POINTER(c_void_p), c_size_t),
    "reel_parcel_withdraw": (None, POINTER(c_void_p), c_size_t),
    "reel_parcel_pin": (c_int, c_void_p, POINTER(c_void_p)),
    "reel_parcel_unpin": (None, c_void_p),
    "reel_parcel_pin_for": (c_int, c_void_p, POINTER(c_void_p), c_uint32),
    "reel_parcel_is_in_memory": (c_bool, c_void_p),
    "reel_parcel_close": (c_int, c_void_p),
    "reel_parcel_bytes": (c_size_t, c_void_p),
    "reel_parcel_get_stats": (None, c_void_p, POINTER(ParcelStats)),
    "reel_gpu_count": (c_int, POINTER(c_uint)),
    "reel_gpu_describe": (c_int, c_uint, POINTER(GpuDevice)),
    "reel_store_gpu_open": (c_int, POINTER(c_void_p), POINTER(GpuStoreOptions)),
    "reel_gpu_get_stats": (None, c_void_p, POINTER(GpuStats)),
    "reel_gpu_pin_pool": (c_int, c_void_p, c_uint),
    "reel_gpu_get_pool_stats": (None, c_void_p, POINTER(GpuStats)),
}
"""The type of the result and of the arguments of each function."""
