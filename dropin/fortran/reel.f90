! SPDX-License-Identifier: MIT
!
! Reel in Fortran: tapes, marks, holds and checkpointing for hand-written adjoints.
! README.md beside this file is the manual; what it does not say about a procedure is in the
! C header that declares the procedure of the same name, reel/tape.h and so on.
!
module reel
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  private

  ! ---- Types: each has the layout of the C struct of its name ----

  ! A tape. As declared it is an empty tape on the default pool. It must not be copied, and it is
  ! not closed when it goes out of scope: call reel_tape_close.
  type, bind(C), public :: reel_tape
    integer(c_int64_t), private :: storage(32) = 0
  end type

  ! A place on a tape.
  type, bind(C), public :: reel_mark
    integer(c_int64_t), private :: storage(14) = 0
  end type

  ! The steps of a loop and how to reverse them: reel/model.h.
  type, bind(C), public :: reel_model
    integer(c_size_t) :: state_bytes = 0
    type(c_funptr) :: advance = c_null_funptr
    type(c_funptr) :: record = c_null_funptr
    type(c_funptr) :: reverse = c_null_funptr
    type(c_funptr) :: save = c_null_funptr
    type(c_funptr) :: load = c_null_funptr
  end type

  ! What pools, stores, plans and runs are known by.
  type, bind(C), public :: reel_pool
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_store
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_plan
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_run
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_layout
    integer(c_int32_t) :: element = 0
    integer(c_int32_t) :: stride = 0
  end type

  ! reel/pool.h
  type, bind(C), public :: reel_pool_options
    integer(c_size_t) :: hard_budget = 0
    integer(c_size_t) :: soft_budget = 0
    integer(c_size_t) :: slab_bytes = 0
    integer(c_size_t) :: first_slab_bytes = 0
    integer(c_int) :: magazine_slabs = 0
    integer(c_int) :: flags = 0
    type(reel_store) :: store
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(C), public :: reel_pool_stats
    integer(c_int64_t) :: hard_budget = 0, soft_budget = 0
    integer(c_int64_t) :: slab_bytes = 0, first_slab_bytes = 0
    integer(c_int64_t) :: resident_bytes = 0, peak_resident_bytes = 0
    integer(c_int64_t) :: slabs = 0, slabs_in_use = 0
    integer(c_int64_t) :: takes = 0, shared_takes = 0, fresh_slabs = 0
    integer(c_int64_t) :: refused = 0
    integer(c_int64_t) :: trimmed_bytes = 0
    integer(c_int64_t) :: lost_slabs = 0
    integer(c_int64_t) :: stalls = 0, stall_ns = 0
    integer(c_int64_t) :: written_bytes = 0, stored_bytes = 0, read_bytes = 0
    integer(c_int64_t) :: failed_puts = 0, failed_gets = 0
    integer(c_int64_t) :: pressure_events = 0, in_store_bytes = 0
    integer(c_int64_t) :: reserved(2) = 0
  end type

  integer, parameter, public :: REEL_MAX_TIERS = 4

  ! reel/plan.h
  type, bind(C), public :: reel_tier
    integer(c_int64_t) :: slots = 0
    real(c_double) :: store_cost = 0
    real(c_double) :: load_cost = 0
  end type

  type, bind(C), public :: reel_problem
    integer(c_int64_t) :: steps = 0
    real(c_double) :: advance_cost = 0
    real(c_double) :: record_cost = 0
    real(c_double) :: reverse_cost = 0
    integer(c_int64_t) :: tape_states = 0
    integer(c_int64_t) :: period = 0
    integer(c_int) :: tiers = 1
    integer(c_int) :: flags = 0
    type(reel_tier) :: tier(REEL_MAX_TIERS)
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(C), public :: reel_action
    integer(c_int) :: kind = 0
    integer(c_int64_t) :: first = 0
    integer(c_int64_t) :: last = 0
    integer(c_int) :: tier = 0
    integer(c_int) :: slot = 0
    logical(c_bool) :: last_use = .false.
  end type

  ! reel/plan.h
  type, bind(C), public :: reel_cost_tier
    integer(c_int64_t) :: bytes = 0
    real(c_double) :: write_bandwidth = 0
    real(c_double) :: read_bandwidth = 0
    real(c_double) :: latency = 0
    integer(c_int64_t) :: reserved(2) = 0
  end type

  type, bind(C), public :: reel_costs
    integer(c_int64_t) :: steps = 0
    real(c_double) :: advance_seconds = 0
    real(c_double) :: record_seconds = 0
    real(c_double) :: reverse_seconds = 0
    real(c_double) :: copy_seconds = 0
    integer(c_int64_t) :: state_bytes = 0
    integer(c_int64_t) :: tape_bytes = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int) :: workers = 0
    integer(c_int) :: tiers = 0
    type(reel_cost_tier) :: tier(REEL_MAX_TIERS - 1)
    real(c_double) :: touch_seconds = 0
    integer(c_int64_t) :: reserved(3) = 0
  end type

  type, bind(C), public :: reel_prediction
    integer(c_int) :: planner = 0
    integer(c_int) :: tapes = 0
    logical(c_bool) :: spills = .false.
    integer(c_int64_t) :: segment_steps = 0
    type(reel_problem) :: problem
    real(c_double) :: makespan = 0
    integer(c_int64_t) :: peak_memory_bytes = 0
    integer(c_int64_t) :: written_bytes(REEL_MAX_TIERS) = 0
    integer(c_int64_t) :: read_bytes(REEL_MAX_TIERS) = 0
    integer(c_int64_t) :: advances = 0
    integer(c_int64_t) :: reserved(4) = 0
  end type

  ! The reason as text: reel_choice_reason.
  type, bind(C), public :: reel_choice
    type(reel_prediction) :: best
    type(reel_prediction) :: runner_up
    character(kind=c_char) :: reason(256) = c_null_char
    integer(c_int64_t) :: reserved(4) = 0
  end type

  ! reel/run.h
  type, bind(C), public :: reel_run_options
    type(reel_pool) :: pool
    type(reel_store) :: store(REEL_MAX_TIERS)
    integer(c_int64_t) :: segment_steps = 0
    integer(c_int64_t) :: steps = 0
    type(c_funptr) :: finished = c_null_funptr
    integer(c_int) :: puts = 0
    integer(c_int) :: gets = 0
    integer(c_int) :: flags = 0
    type(c_ptr) :: restart = c_null_ptr
    real(c_double) :: restart_seconds = 0
    integer(c_size_t) :: adjoint_bytes = 0
    type(c_funptr) :: save_adjoint = c_null_funptr
    type(c_funptr) :: load_adjoint = c_null_funptr
    type(c_ptr) :: state_part = c_null_ptr, adjoint_part = c_null_ptr
    integer(c_int) :: state_parts = 0, adjoint_parts = 0
    type(c_funptr) :: packed_bytes = c_null_funptr
    type(c_funptr) :: progress = c_null_funptr
    integer(c_int64_t) :: reserved(1) = 0
  end type

  type, bind(C), public :: reel_run_stats
    integer(c_int64_t) :: advanced = 0, recorded = 0, reversed = 0
    integer(c_int64_t) :: stores(REEL_MAX_TIERS) = 0, loads(REEL_MAX_TIERS) = 0
    integer(c_int64_t) :: put_bytes = 0, got_bytes = 0
    integer(c_int64_t) :: failed_puts = 0
    integer(c_int64_t) :: fetched = 0
    integer(c_int64_t) :: waits = 0, wait_ns = 0
    integer(c_int64_t) :: peak_snapshot_bytes = 0
    integer(c_int64_t) :: peak_tape_bytes = 0
    integer(c_int64_t) :: advance_ns = 0, record_ns = 0, reverse_ns = 0
    integer(c_int64_t) :: unlike_step = 0
    integer(c_int64_t) :: saves = 0, failed_saves = 0
    integer(c_int64_t) :: reserved(2) = 0
  end type

  ! Flags of reel_tape_open, of a pool's options, of a run's.
  integer(c_int), parameter, public :: REEL_CHECKED = 1
  integer(c_int), parameter, public :: REEL_POOL_CHECKED = 1
  integer(c_int), parameter, public :: REEL_POOL_SMALL_PAGES = 2
  integer(c_int), parameter, public :: REEL_POOL_OBEY_LIMITS = 4
  integer(c_int), parameter, public :: REEL_RUN_AUDIT = 1
  integer(c_int), parameter, public :: REEL_REVERSE_AT_ONCE = 1
  integer(c_int64_t), parameter, public :: REEL_UNKNOWN_STEPS = -1

  ! Planners.
  enum, bind(C)
    enumerator :: REEL_STORE_ALL, REEL_BINOMIAL, REEL_MIXED, REEL_MULTISTAGE, REEL_TWO_LEVEL
    enumerator :: REEL_HIERARCHICAL, REEL_DISK_REVOLVE, REEL_PERIODIC, REEL_ONLINE
  end enum
  public :: REEL_STORE_ALL, REEL_BINOMIAL, REEL_MIXED, REEL_MULTISTAGE, REEL_TWO_LEVEL
  public :: REEL_HIERARCHICAL, REEL_DISK_REVOLVE, REEL_PERIODIC, REEL_ONLINE

  ! Kinds of actions.
  enum, bind(C)
    enumerator :: REEL_ACTION_ADVANCE, REEL_ACTION_RECORD, REEL_ACTION_REVERSE
    enumerator :: REEL_ACTION_STORE, REEL_ACTION_LOAD, REEL_ACTION_DROP, REEL_ACTION_DONE
  end enum
  public :: REEL_ACTION_ADVANCE, REEL_ACTION_RECORD, REEL_ACTION_REVERSE
  public :: REEL_ACTION_STORE, REEL_ACTION_LOAD, REEL_ACTION_DROP, REEL_ACTION_DONE

  public :: reel_tape_open, reel_tape_close, reel_tape_move, reel_tape_hand_over
  public :: reel_tape_set_layout, reel_tape_bytes, reel_tape_is_empty
  public :: reel_tape_error, reel_tape_refused, reel_tape_clear_error
  public :: reel_error_text, reel_set_error_handler, reel_error_handler
  public :: reel_push, reel_pop, reel_look
  public :: reel_push_bits, reel_pop_bits
  public :: reel_push_array, reel_pop_array
  public :: reel_push_record, reel_pop_record, reel_look_record
  public :: reel_push_span, reel_pop_span
  public :: reel_reserve, reel_commit
  public :: reel_tape_mark, reel_tape_rewind
  public :: reel_tape_hold, reel_tape_replay, reel_tape_release
  public :: reel_pool_open, reel_pool_close, reel_pool_trim
  public :: reel_pool_default, reel_pool_get_stats
  public :: reel_store_open
  public :: reel_plan_open, reel_plan_close
  public :: reel_run_open, reel_run_close
  public :: reel_run_forward, reel_run_reverse, reel_run_resume
  public :: reel_run_is_reversing, reel_run_steps
  public :: reel_run_get_stats
  public :: reel_run_take, reel_run_carry_out, reel_run_tape
  public :: reel_run_start, reel_run_next, reel_run_end_loop, reel_run_stop, reel_run_set_time
  public :: reel_run_give_up
  public :: reel_costs_measure, reel_costs_choose, reel_choice_reason

  ! ---- Tapes ----

  interface
    subroutine reel_tape_close(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end subroutine

    subroutine reel_tape_move(to, from) bind(C)
      import
      type(reel_tape), intent(inout) :: to, from
    end subroutine

    subroutine reel_tape_hand_over(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end subroutine

    integer(c_int) function reel_tape_set_layout(tape, layout) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
      type(reel_layout), value :: layout
    end function

    pure integer(c_int64_t) function reel_tape_bytes(tape) bind(C)
      import
      type(reel_tape), intent(in) :: tape
    end function

    pure logical(c_bool) function tape_is_empty(tape) bind(C, name="reel_tape_is_empty")
      import
      type(reel_tape), intent(in) :: tape
    end function

    pure integer(c_int) function reel_tape_error(tape) bind(C)
      import
      type(reel_tape), intent(in) :: tape
    end function

    pure integer(c_int64_t) function reel_tape_refused(tape) bind(C)
      import
      type(reel_tape), intent(in) :: tape
    end function

    integer(c_int) function reel_tape_clear_error(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end function

    pure function reel_tape_mark(tape) result(mark) bind(C)
      import
      type(reel_tape), intent(in) :: tape
      type(reel_mark) :: mark
    end function

    integer(c_int) function reel_tape_rewind(tape, mark) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
      type(reel_mark), value :: mark
    end function

    integer(c_int) function reel_tape_hold(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end function

    integer(c_int) function reel_tape_replay(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end function

    integer(c_int) function reel_tape_release(tape) bind(C)
      import
      type(reel_tape), intent(inout) :: tape
    end function
  end interface

  ! ---- Values ----

  interface reel_push
    subroutine push_integer4(tape, x) bind(C, name="reel_fortran_push_integer4")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int32_t), value :: x
    end subroutine
    subroutine push_integer8(tape, x) bind(C, name="reel_fortran_push_integer8")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), value :: x
    end subroutine
    subroutine push_real4(tape, x) bind(C, name="reel_fortran_push_real4")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_float), value :: x
    end subroutine
    subroutine push_real8(tape, x) bind(C, name="reel_fortran_push_real8")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_double), value :: x
    end subroutine
    subroutine push_complex4(tape, x) bind(C, name="reel_fortran_push_complex4")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_float_complex), value :: x
    end subroutine
    subroutine push_complex8(tape, x) bind(C, name="reel_fortran_push_complex8")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_double_complex), value :: x
    end subroutine
    procedure push_logical4, push_logical8, push_bool
  end interface

  interface reel_pop
    subroutine pop_integer4(tape, x) bind(C, name="reel_fortran_pop_integer4")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int32_t), intent(out) :: x
    end subroutine
    subroutine pop_integer8(tape, x) bind(C, name="reel_fortran_pop_integer8")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), intent(out) :: x
    end subroutine
    subroutine pop_real4(tape, x) bind(C, name="reel_fortran_pop_real4")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_float), intent(out) :: x
    end subroutine
    subroutine pop_real8(tape, x) bind(C, name="reel_fortran_pop_real8")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_double), intent(out) :: x
    end subroutine
    subroutine pop_complex4(tape, x) bind(C, name="reel_fortran_pop_complex4")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_float_complex), intent(out) :: x
    end subroutine
    subroutine pop_complex8(tape, x) bind(C, name="reel_fortran_pop_complex8")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_double_complex), intent(out) :: x
    end subroutine
    procedure pop_logical4, pop_logical8, pop_bool
  end interface

  interface reel_look
    subroutine look_integer4(tape, x) bind(C, name="reel_fortran_look_integer4")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int32_t), intent(out) :: x
    end subroutine
    subroutine look_integer8(tape, x) bind(C, name="reel_fortran_look_integer8")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), intent(out) :: x
    end subroutine
    subroutine look_real4(tape, x) bind(C, name="reel_fortran_look_real4")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_float), intent(out) :: x
    end subroutine
    subroutine look_real8(tape, x) bind(C, name="reel_fortran_look_real8")
      import
      type(reel_tape), intent(inout) :: tape
      real(c_double), intent(out) :: x
    end subroutine
    subroutine look_complex4(tape, x) bind(C, name="reel_fortran_look_complex4")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_float_complex), intent(out) :: x
    end subroutine
    subroutine look_complex8(tape, x) bind(C, name="reel_fortran_look_complex8")
      import
      type(reel_tape), intent(inout) :: tape
      complex(c_double_complex), intent(out) :: x
    end subroutine
    procedure look_logical4, look_logical8, look_bool
  end interface
  ! The low n bits of value, 0 <= n <= 32.
  interface reel_push_bits
    procedure push_bits_integer4, push_bits_long
    subroutine push_bits_integer8(tape, value, n) bind(C, name="reel_fortran_push_bits")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), value :: value
      integer(c_int), value :: n
    end subroutine
  end interface

  interface reel_pop_bits
    procedure pop_bits_integer4, pop_bits_integer8, pop_bits_long
  end interface

  ! Arrays and sections of any type and rank.
  interface
    subroutine reel_push_array(tape, array) bind(C, name="reel_fortran_push_array")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(in) :: array(..)
    end subroutine

    subroutine reel_pop_array(tape, array) bind(C, name="reel_fortran_pop_array")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(inout) :: array(..)
    end subroutine
  end interface

  ! A value of any type in one piece, as C's records are.
  interface
    subroutine reel_push_record(tape, record) bind(C, name="reel_fortran_push_record")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(in) :: record(..)
    end subroutine

    subroutine reel_pop_record(tape, record) bind(C, name="reel_fortran_pop_record")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(inout) :: record(..)
    end subroutine

    subroutine reel_look_record(tape, record) bind(C, name="reel_fortran_look_record")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(inout) :: record(..)
    end subroutine
  end interface

  ! ---- Spans ----

  interface reel_push_span
    procedure push_span_integer4, push_span_integer8, push_span_real4, &
      push_span_real8, push_span_complex4, push_span_complex8
    procedure push_span_integer4_long, push_span_integer8_long, push_span_real4_long, &
      push_span_real8_long, push_span_complex4_long, push_span_complex8_long
  end interface

  interface reel_pop_span
    procedure pop_span_integer4, pop_span_integer8, pop_span_real4, &
      pop_span_real8, pop_span_complex4, pop_span_complex8
    procedure pop_span_integer4_long, pop_span_integer8_long, pop_span_real4_long, &
      pop_span_real8_long, pop_span_complex4_long, pop_span_complex8_long
  end interface

  interface reel_reserve
    procedure reserve_integer4, reserve_integer8, reserve_real4, &
      reserve_real8, reserve_complex4, reserve_complex8
    procedure reserve_integer4_long, reserve_integer8_long, reserve_real4_long, &
      reserve_real8_long, reserve_complex4_long, reserve_complex8_long
  end interface

  ! The first n elements of what was reserved.
  interface reel_commit
    procedure commit
    subroutine commit_long(tape, span, n) bind(C, name="reel_fortran_commit")
      import
      type(reel_tape), intent(inout) :: tape
      type(*), intent(in) :: span(..)
      integer(c_int64_t), value :: n
    end subroutine
  end interface

  ! The order of the types in values.c.
  enum, bind(C)
    enumerator :: integer4, integer8, real4, real8, complex4, complex8
  end enum

  interface
    function push_span(tape, n, kind) result(place) bind(C, name="reel_fortran_push_span")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), value :: n
      integer(c_int), value :: kind
      type(c_ptr) :: place
    end function

    function reserve(tape, n, kind) result(place) bind(C, name="reel_fortran_reserve")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), value :: n
      integer(c_int), value :: kind
      type(c_ptr) :: place
    end function

    function pop_span(tape, n, kind) result(place) bind(C, name="reel_fortran_pop_span")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int64_t), value :: n
      integer(c_int), value :: kind
      type(c_ptr) :: place
    end function

    integer(c_int64_t) function pop_bits(tape, n) bind(C, name="reel_fortran_pop_bits")
      import
      type(reel_tape), intent(inout) :: tape
      integer(c_int), value :: n
    end function

    logical(c_bool) function look_bit(tape) bind(C, name="reel_fortran_look_bit")
      import
      type(reel_tape), intent(inout) :: tape
    end function
  end interface

  ! ---- Pools and stores ----

  interface
    integer(c_int) function reel_pool_open(pool, options) bind(C)
      import
      type(reel_pool), intent(inout) :: pool
      type(reel_pool_options), intent(in), optional :: options
    end function

    integer(c_int) function pool_close(pool) bind(C, name="reel_pool_close")
      import
      type(c_ptr), value :: pool
    end function

    integer(c_size_t) function pool_trim(pool, keep) bind(C, name="reel_pool_trim")
      import
      type(c_ptr), value :: pool
      integer(c_size_t), value :: keep
    end function

    type(c_ptr) function pool_default() bind(C, name="reel_pool_default")
      import
    end function

    subroutine pool_get_stats(pool, stats) bind(C, name="reel_pool_get_stats")
      import
      type(c_ptr), value :: pool
      type(reel_pool_stats), intent(inout) :: stats
    end subroutine

    integer(c_int) function store_open(store, description, directory) &
      bind(C, name="reel_store_open")
      import
      type(reel_store), intent(inout) :: store
      character(kind=c_char), intent(in), optional :: description(*), directory(*)
    end function

  end interface

  ! ---- Checkpointing ----

  ! With states that are copied; and with those that save and load pack into snapshots.
  interface reel_run_open
    integer(c_int) function run_open(run, plan, state, advance, record, reverse, options) &
      bind(C, name="reel_fortran_run_open")
      import
      type(reel_run), intent(inout) :: run
      type(reel_plan), intent(in) :: plan
      type(*), intent(in) :: state(..)
      type(c_funptr), value :: advance, record, reverse
      type(reel_run_options), intent(in), optional :: options
    end function

    integer(c_int) function run_open_packed(run, plan, state, advance, record, reverse, &
      save, load, options) bind(C, name="reel_fortran_run_open_packed")
      import
      type(reel_run), intent(inout) :: run
      type(reel_plan), intent(in) :: plan
      type(*), intent(in) :: state(..)
      type(c_funptr), value :: advance, record, reverse, save, load
      type(reel_run_options), intent(in), optional :: options
    end function
  end interface

  interface
    integer(c_int) function reel_plan_open(plan, planner, problem) bind(C)
      import
      type(reel_plan), intent(inout) :: plan
      integer(c_int), value :: planner
      type(reel_problem), intent(in) :: problem
    end function

    subroutine plan_close(plan) bind(C, name="reel_plan_close")
      import
      type(c_ptr), value :: plan
    end subroutine

    integer(c_int) function reel_run_forward(run, context, state) &
      bind(C, name="reel_fortran_run_forward")
      import
      type(reel_run), intent(in) :: run
      type(*) :: context(..)
      type(*), intent(inout) :: state(..)
    end function

    integer(c_int) function reel_run_reverse(run, context, state, adjoint) &
      bind(C, name="reel_fortran_run_reverse")
      import
      type(reel_run), intent(in) :: run
      type(*) :: context(..)
      type(*), intent(inout) :: state(..), adjoint(..)
    end function

    ! For a run that the program drives; context, state and adjoint stay where they are.
    integer(c_int) function reel_run_start(run, context, state, adjoint) &
      bind(C, name="reel_fortran_run_start")
      import
      type(reel_run), intent(in) :: run
      type(*) :: context(..)
      type(*), intent(inout) :: state(..), adjoint(..)
    end function

    integer(c_int) function run_next(run, action) bind(C, name="reel_run_next")
      import
      type(c_ptr), value :: run
      type(reel_action), intent(inout) :: action
    end function

    integer(c_int) function run_end_loop(run) bind(C, name="reel_run_end_loop")
      import
      type(c_ptr), value :: run
    end function

    subroutine run_stop(run, error) bind(C, name="reel_run_stop")
      import
      type(c_ptr), value :: run
      integer(c_int), value :: error
    end subroutine

    subroutine run_set_time(run, ns) bind(C, name="reel_run_set_time")
      import
      type(c_ptr), value :: run
      integer(c_int64_t), value :: ns
    end subroutine

    integer(c_int) function reel_run_resume(run, context, adjoint) &
      bind(C, name="reel_fortran_run_resume")
      import
      type(reel_run), intent(in) :: run
      type(*) :: context(..)
      type(*), intent(inout) :: adjoint(..)
    end function

    subroutine run_close(run) bind(C, name="reel_run_close")
      import
      type(c_ptr), value :: run
    end subroutine

    logical(c_bool) function run_is_reversing(run) &
      bind(C, name="reel_run_is_reversing")
      import
      type(c_ptr), value :: run
    end function

    integer(c_int64_t) function run_steps(run) bind(C, name="reel_run_steps")
      import
      type(c_ptr), value :: run
    end function

    integer(c_int) function run_take(run, action) bind(C, name="reel_run_take")
      import
      type(c_ptr), value :: run
      type(reel_action), intent(inout) :: action
    end function

    ! What an action does not use may be left out; without a tape it is the run's.
    integer(c_int) function reel_run_carry_out(run, action, context, state, adjoint, tape) &
      bind(C, name="reel_fortran_run_carry_out")
      import
      type(reel_run), intent(in) :: run
      type(reel_action), intent(in) :: action
      type(*) :: context(..)
      type(*), intent(inout), optional :: state(..), adjoint(..)
      type(reel_tape), intent(inout), optional :: tape
    end function

    type(c_ptr) function run_tape(run) bind(C, name="reel_run_tape")
      import
      type(c_ptr), value :: run
    end function

    subroutine run_give_up(run) bind(C, name="reel_run_give_up")
      import
      type(c_ptr), value :: run
    end subroutine

    subroutine run_get_stats(run, stats) bind(C, name="reel_run_get_stats")
      import
      type(c_ptr), value :: run
      type(reel_run_stats), intent(inout) :: stats
    end subroutine
  end interface

  ! ---- What a loop costs ----

  interface
    integer(c_int) function reel_costs_measure(costs, tape, model, context, state, adjoint) &
      bind(C, name="reel_fortran_costs_measure")
      import
      type(reel_costs), intent(inout) :: costs
      type(reel_tape), intent(inout) :: tape
      type(reel_model), intent(in) :: model
      type(*) :: context(..)
      type(*), intent(inout) :: state(..)
      type(*), intent(inout), optional :: adjoint(..)
    end function

    integer(c_int) function reel_costs_choose(costs, choice) bind(C)
      import
      type(reel_costs), intent(in) :: costs
      type(reel_choice), intent(inout) :: choice
    end function

  end interface

  ! ---- Errors ----

  interface reel_error_text
    procedure error_text_integer4, error_text_integer8
  end interface

  abstract interface
    subroutine reel_error_handler(error, message)
      integer, intent(in) :: error
      character(*), intent(in) :: message
    end subroutine
  end interface

  procedure(reel_error_handler), pointer :: error_handler => null()

  interface
    integer(c_int) function tape_open(tape, pool, flags) bind(C, name="reel_tape_open")
      import
      type(reel_tape), intent(inout) :: tape
      type(c_ptr), value :: pool
      integer(c_int), value :: flags
    end function

    type(c_ptr) function error_text(error) bind(C, name="reel_error_text")
      import
      integer(c_int), value :: error
    end function

    subroutine set_error_handler(handler, context) bind(C, name="reel_set_error_handler")
      import
      type(c_funptr), value :: handler
      type(c_ptr), value :: context
    end subroutine

    integer(c_size_t) function c_length(text) bind(C, name="strlen")
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! ---- Tapes ----

  integer function reel_tape_open(tape, pool, flags) result(error)
    type(reel_tape), intent(inout) :: tape
    type(reel_pool), intent(in), optional :: pool
    integer(c_int), intent(in), optional :: flags
    type(c_ptr) :: handle
    integer(c_int) :: set

    handle = c_null_ptr
    if (present(pool)) handle = pool%handle
    set = 0
    if (present(flags)) set = flags
    error = tape_open(tape, handle, set)
  end function

  pure logical function reel_tape_is_empty(tape) result(empty)
    type(reel_tape), intent(in) :: tape

    empty = tape_is_empty(tape)
  end function

  ! ---- Errors ----

  ! A C string as a character variable: "" for none.
  function from_c(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: characters(:)
    integer :: i

    copy = ''
    if (.not. c_associated(text)) return
    call c_f_pointer(text, characters, [c_length(text)])
    copy = repeat(' ', size(characters))
    do i = 1, size(characters)
      copy(i:i) = characters(i)
    end do
  end function

  function error_text_integer4(error) result(text)
    integer(c_int32_t), intent(in) :: error
    character(:), allocatable :: text

    text = from_c(error_text(int(error, c_int)))
  end function

  function error_text_integer8(error) result(text)
    integer(c_int64_t), intent(in) :: error
    character(:), allocatable :: text

    text = from_c(error_text(int(error, c_int)))
  end function

  subroutine reel_set_error_handler(handler)
    procedure(reel_error_handler), optional :: handler

    nullify (error_handler)
    if (present(handler)) then
      error_handler => handler
      call set_error_handler(c_funloc(relay), c_null_ptr)
    else
      call set_error_handler(c_null_funptr, c_null_ptr)
    end if
  end subroutine

  subroutine relay(tape, error, message, context) bind(C, name="reel_fortran_relay")
    type(c_ptr), value :: tape, message, context
    integer(c_int), value :: error

    ! Neither is for the handler; this says that they are used.
    if (c_associated(tape) .or. c_associated(context)) continue
    if (associated(error_handler)) call error_handler(int(error), from_c(message))
  end subroutine

  ! ---- Values ----

  ! A logical has the kind of an integer of its size: 4, or 8 under -fdefault-integer-8.

  subroutine push_logical4(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int32), intent(in) :: x

    call push_bits_integer8(tape, merge(1_c_int64_t, 0_c_int64_t, x), 1_c_int)
  end subroutine

  subroutine push_logical8(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int64), intent(in) :: x

    call push_bits_integer8(tape, merge(1_c_int64_t, 0_c_int64_t, x), 1_c_int)
  end subroutine

  subroutine push_bool(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(c_bool), intent(in) :: x

    call push_bits_integer8(tape, merge(1_c_int64_t, 0_c_int64_t, x), 1_c_int)
  end subroutine

  subroutine pop_logical4(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int32), intent(out) :: x

    x = pop_bits(tape, 1_c_int) /= 0
  end subroutine

  subroutine pop_logical8(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int64), intent(out) :: x

    x = pop_bits(tape, 1_c_int) /= 0
  end subroutine

  subroutine pop_bool(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(c_bool), intent(out) :: x

    x = pop_bits(tape, 1_c_int) /= 0
  end subroutine

  subroutine look_logical4(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int32), intent(out) :: x

    x = look_bit(tape)
  end subroutine

  subroutine look_logical8(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(int64), intent(out) :: x

    x = look_bit(tape)
  end subroutine

  subroutine look_bool(tape, x)
    type(reel_tape), intent(inout) :: tape
    logical(c_bool), intent(out) :: x

    x = look_bit(tape)
  end subroutine

  subroutine push_bits_integer4(tape, value, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), intent(in) :: value
    integer(c_int), intent(in) :: n

    call push_bits_integer8(tape, int(value, c_int64_t), n)
  end subroutine

  ! Where integers have 8 bytes, so have numbers of bits. A number that is no number of bits stays one.
  integer(c_int) function bit_count(n)
    integer(c_int64_t), intent(in) :: n

    bit_count = int(max(-1_c_int64_t, min(n, 64_c_int64_t)), c_int)
  end function

  subroutine push_bits_long(tape, value, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), intent(in) :: value
    integer(c_int64_t), intent(in) :: n

    call push_bits_integer8(tape, value, bit_count(n))
  end subroutine

  subroutine pop_bits_long(tape, value, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), intent(out) :: value
    integer(c_int64_t), intent(in) :: n

    value = pop_bits(tape, bit_count(n))
  end subroutine

  subroutine pop_bits_integer8(tape, value, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), intent(out) :: value
    integer(c_int), intent(in) :: n

    value = pop_bits(tape, n)
  end subroutine

  ! The highest of 32 bits is the sign.
  subroutine pop_bits_integer4(tape, value, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), intent(out) :: value
    integer(c_int), intent(in) :: n
    integer(c_int64_t) :: bits

    bits = pop_bits(tape, n)
    if (bits > huge(value)) bits = bits - 2_c_int64_t**32
    value = int(bits, c_int32_t)
  end subroutine

  ! ---- Spans ----

  subroutine push_span_integer4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, integer4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_integer4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_integer4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_integer8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, integer8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_integer8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_integer8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_real4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, real4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_real4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_real4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_real8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, real8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_real8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_real8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_complex4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, complex4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_complex4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_complex4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_complex8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = push_span(tape, n, complex8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_complex8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_complex8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_integer4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, integer4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_integer4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_integer4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_integer8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, integer8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_integer8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_integer8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_real4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, real4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_real4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_real4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_real8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, real8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_real8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_real8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_complex4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, complex4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_complex4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_complex4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_complex8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = pop_span(tape, n, complex8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_complex8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_complex8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_integer4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, integer4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_integer4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int32_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_integer4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_integer8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, integer8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_integer8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_integer8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_real4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, real4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_real4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_float), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_real4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_real8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, real8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_real8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    real(c_double), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_real8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_complex4_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, complex4)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_complex4(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_float_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_complex4_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine reserve_complex8_long(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = reserve(tape, n, complex8)
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine reserve_complex8(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    complex(c_double_complex), pointer, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call reserve_complex8_long(tape, span, int(n, c_int64_t))
  end subroutine

  subroutine commit(tape, span, n)
    type(reel_tape), intent(inout) :: tape
    type(*), intent(in) :: span(..)
    integer(c_int32_t), intent(in) :: n

    call commit_long(tape, span, int(n, c_int64_t))
  end subroutine

  ! ---- Pools and stores ----

  integer function reel_pool_close(pool) result(error)
    type(reel_pool), intent(inout) :: pool

    error = pool_close(pool%handle)
    if (error == 0) pool%handle = c_null_ptr
  end function

  type(reel_pool) function reel_pool_default() result(pool)
    pool%handle = pool_default()
  end function

  subroutine reel_pool_get_stats(pool, stats)
    type(reel_pool), intent(in) :: pool
    type(reel_pool_stats), intent(inout) :: stats

    call pool_get_stats(pool%handle, stats)
  end subroutine

  integer(c_size_t) function reel_pool_trim(pool, keep) result(bytes)
    type(reel_pool), intent(in) :: pool
    integer(c_size_t), intent(in) :: keep

    bytes = pool_trim(pool%handle, keep)
  end function

  integer function reel_store_open(store, description, directory) result(error)
    type(reel_store), intent(inout) :: store
    character(*), intent(in), optional :: description, directory

    if (present(description) .and. present(directory)) then
      error = store_open(store, trim(description)//c_null_char, trim(directory)//c_null_char)
    else if (present(description)) then
      error = store_open(store, description=trim(description)//c_null_char)
    else if (present(directory)) then
      error = store_open(store, directory=trim(directory)//c_null_char)
    else
      error = store_open(store)
    end if
  end function

  ! ---- Checkpointing ----

  subroutine reel_plan_close(plan)
    type(reel_plan), intent(inout) :: plan

    call plan_close(plan%handle)
    plan%handle = c_null_ptr
  end subroutine

  subroutine reel_run_close(run)
    type(reel_run), intent(inout) :: run

    call run_close(run%handle)
    run%handle = c_null_ptr
  end subroutine

  logical function reel_run_is_reversing(run) result(reversing)
    type(reel_run), intent(in) :: run

    reversing = run_is_reversing(run%handle)
  end function

  integer(c_int64_t) function reel_run_steps(run) result(steps)
    type(reel_run), intent(in) :: run

    steps = run_steps(run%handle)
  end function

  subroutine reel_run_get_stats(run, stats)
    type(reel_run), intent(in) :: run
    type(reel_run_stats), intent(inout) :: stats

    call run_get_stats(run%handle, stats)
  end subroutine

  ! The next action of a run that the program drives.
  integer function reel_run_next(run, action) result(error)
    type(reel_run), intent(in) :: run
    type(reel_action), intent(inout) :: action

    error = run_next(run%handle, action)
  end function

  integer function reel_run_end_loop(run) result(error)
    type(reel_run), intent(in) :: run

    error = run_end_loop(run%handle)
  end function

  subroutine reel_run_stop(run, error)
    type(reel_run), intent(in) :: run
    integer, intent(in) :: error

    call run_stop(run%handle, int(error, c_int))
  end subroutine

  subroutine reel_run_set_time(run, ns)
    type(reel_run), intent(in) :: run
    integer(c_int64_t), intent(in) :: ns

    call run_set_time(run%handle, ns)
  end subroutine

  ! The next action of the reverse sweep.
  integer function reel_run_take(run, action) result(error)
    type(reel_run), intent(in) :: run
    type(reel_action), intent(inout) :: action

    error = run_take(run%handle, action)
  end function

  function reel_run_tape(run) result(tape)
    type(reel_run), intent(in) :: run
    type(reel_tape), pointer :: tape

    call c_f_pointer(run_tape(run%handle), tape)
  end function

  subroutine reel_run_give_up(run)
    type(reel_run), intent(in) :: run

    call run_give_up(run%handle)
  end subroutine

  function reel_choice_reason(choice) result(text)
    type(reel_choice), intent(in), target :: choice
    character(:), allocatable :: text

    text = from_c(c_loc(choice%reason))
  end function
end module
