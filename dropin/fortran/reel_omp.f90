! SPDX-License-Identifier: MIT
!
! Parallel reverse sweeps in Fortran: regions, lanes, loops, orders, reductions, tasks, and
! adjoints that several lanes add to. README.md beside this file is the manual; what it does not
! say about a procedure is in the C header that declares the procedure of the same name:
! reel/region.h, reel/reduction.h, reel/task.h, reel/adjoint.h.
!
! Nothing here asks OpenMP who a thread is: the program does, by omp_get_thread_num().
!
module reel_omp
  use, intrinsic :: iso_c_binding
  use reel, only: reel_tape, reel_pool
  implicit none
  private

  ! ---- Types ----

  ! What lanes, regions and adjoints are known by: copies name the same thing.
  type, bind(C), public :: reel_lane
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_region
    type(c_ptr) :: handle = c_null_ptr
  end type

  type, bind(C), public :: reel_adjoint
    type(c_ptr) :: handle = c_null_ptr
  end type

  ! What a thread does in a region; `lane` is the one that it has.
  type, bind(C), public :: reel_worker
    type(reel_lane) :: lane
    integer(c_int32_t) :: thread = 0, threads = 0
    type(c_ptr), private :: region = c_null_ptr
    integer(c_int64_t), private :: round = 0
    integer(c_int32_t), private :: tried = 0, padding = 0
    integer(c_int64_t), private :: barriers = 0
  end type

  ! How iterations are dealt to lanes.
  type, bind(C), public :: reel_chunking
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: noted = 0
    integer(c_int64_t) :: chunk = 0
  end type

  ! The C struct; `end` is the iteration after a chunk's last one.
  type, bind(C) :: c_loop
    integer(c_int64_t) :: first = 0, end = 0
    type(c_ptr) :: lane = c_null_ptr
    integer(c_int64_t) :: rest(7) = 0
    integer(c_int32_t) :: states(4) = 0
  end type

  ! A loop, and the lane's present chunk of it: iterations first to last.
  type, public :: reel_loop
    integer(c_int64_t) :: first = 0, last = -1
    type(c_loop), private :: inner
  end type

  ! The order in which lanes came to a critical section. It stays where it is.
  type, bind(C), public :: reel_ordered
    integer(c_int64_t), private :: count = 0
    integer(c_int64_t), private :: hold = 0
  end type

  type, bind(C), public :: reel_dependence
    type(c_ptr) :: address = c_null_ptr
    integer(c_int) :: kind = 0
  end type

  type, bind(C), public :: reel_adjoint_options
    integer(c_int) :: policy = 0
    integer(c_int) :: flags = 0
    integer(c_size_t) :: budget = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_funptr) :: report = c_null_funptr
    type(c_ptr) :: report_context = c_null_ptr
    integer(c_int64_t) :: reserved(4) = 0
  end type

  ! The C struct reel_type: it describes an element of a span.
  type, bind(C) :: c_type
    type(c_ptr) :: name = c_null_ptr
    integer(c_size_t) :: size = 0, align = 0
    integer(c_int) :: kind = 0
  end type
  integer(c_int), parameter :: floating = 3
  character(kind=c_char, len=8), target :: name_real4 = "real(4)" // c_null_char
  character(kind=c_char, len=8), target :: name_real8 = "real(8)" // c_null_char
  character(kind=c_char, len=9), target :: name_module = "reel_omp" // c_null_char

  integer(c_int32_t), parameter :: static_loop = 0, dynamic_loop = 1, guided_loop = 2

  enum, bind(C)
    enumerator :: REEL_REDUCE_SUM, REEL_REDUCE_PRODUCT, REEL_REDUCE_MIN, REEL_REDUCE_MAX
  end enum
  public :: REEL_REDUCE_SUM, REEL_REDUCE_PRODUCT, REEL_REDUCE_MIN, REEL_REDUCE_MAX

  ! What a task did with what is at an address: changed it, read it, or read it where its
  ! reverse adds to a reel_adjoint.
  integer(c_int), parameter, public :: REEL_TASK_IN = 0, REEL_TASK_OUT = 1, REEL_TASK_INOUT = 1
  integer(c_int), parameter, public :: REEL_TASK_IN_SHARED = 2
  integer(c_int), parameter, public :: REEL_TASKS_IN_ORDER = 1

  enum, bind(C)
    enumerator :: REEL_ADJOINT_AUTOMATIC, REEL_ADJOINT_OWNER, REEL_ADJOINT_PRIVATE
    enumerator :: REEL_ADJOINT_ATOMIC
  end enum
  public :: REEL_ADJOINT_AUTOMATIC, REEL_ADJOINT_OWNER, REEL_ADJOINT_PRIVATE
  public :: REEL_ADJOINT_ATOMIC
  integer(c_int), parameter, public :: REEL_ADJOINT_CHECKED = 1

  public :: reel_lane_open, reel_lane_close, reel_lane_tape, reel_lane_index, reel_lane_count
  public :: reel_lane_error, reel_lane_is_empty, reel_lane_bytes, reel_lane_phase
  public :: reel_lane_hold, reel_lane_replay, reel_lane_release
  public :: reel_region_begin, reel_region_reverse, reel_region_end, reel_region_lanes
  public :: reel_region_threads, reel_region_choose_threads
  public :: reel_region_phases, reel_region_loops
  public :: reel_worker_begin, reel_worker_next, reel_worker_leave, reel_worker_end
  public :: reel_worker_next_phase, reel_worker_barrier
  public :: reel_worker_push_span, reel_worker_pop_span
  public :: reel_static, reel_dynamic, reel_guided
  public :: reel_loop_begin, reel_loop_reverse, reel_loop_next, reel_loop_stop
  public :: reel_single, reel_single_reverse
  public :: reel_ordered_note, reel_ordered_await, reel_ordered_done
  public :: reel_reduce, reel_reduce_reverse
  public :: reel_task_begin, reel_task_label, reel_task_wait, reel_task_wait_reverse
  public :: reel_task_reverse, reel_tasks_left, reel_task_end, reel_tasks_reverse
  public :: reel_adjoint_open, reel_adjoint_close, reel_adjoint_begin, reel_adjoint_end
  public :: reel_adjoint_reduce, reel_adjoint_phase, reel_adjoint_add, reel_adjoint_add_span
  public :: reel_adjoint_span, reel_adjoint_take

  ! ---- Lanes ----

  interface
    integer(c_int) function c_lane_open(lane, pool, flags) bind(C, name="reel_lane_open")
      import
      type(reel_lane), intent(out) :: lane
      type(c_ptr), value :: pool
      integer(c_int), value :: flags
    end function

    subroutine c_lane_close(lane) bind(C, name="reel_lane_close")
      import
      type(c_ptr), value :: lane
    end subroutine

    type(c_ptr) function c_lane_tape(lane) bind(C, name="reel_lane_tape")
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int) function reel_lane_index(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int) function reel_lane_count(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int) function reel_lane_error(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    logical(c_bool) function c_lane_is_empty(lane) bind(C, name="reel_lane_is_empty")
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int64_t) function reel_lane_bytes(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    subroutine reel_lane_phase(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end subroutine

    integer(c_int) function reel_lane_hold(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int) function reel_lane_replay(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function

    integer(c_int) function reel_lane_release(lane) bind(C)
      import
      type(reel_lane), value :: lane
    end function
  end interface

  ! ---- Regions and workers ----

  interface
    type(c_ptr) function c_region_begin(parent, lanes) bind(C, name="reel_region_begin")
      import
      type(reel_lane), value :: parent
      integer(c_int), value :: lanes
    end function

    type(c_ptr) function c_region_reverse(parent) bind(C, name="reel_region_reverse")
      import
      type(reel_lane), value :: parent
    end function

    integer(c_int) function reel_region_end(region) bind(C)
      import
      type(reel_region), value :: region
    end function

    integer(c_int) function reel_region_lanes(region) bind(C)
      import
      type(reel_region), value :: region
    end function

    integer(c_int) function reel_region_threads(region, threads) bind(C)
      import
      type(reel_region), value :: region
      integer(c_int), value :: threads
    end function

    integer(c_int) function reel_region_choose_threads(region, threads) bind(C)
      import
      type(reel_region), value :: region
      integer(c_int), value :: threads
    end function

    integer(c_int64_t) function reel_region_loops(region) bind(C)
      import
      type(reel_region), value :: region
    end function

    integer(c_int64_t) function reel_region_phases(region) bind(C)
      import
      type(reel_region), value :: region
    end function

    type(reel_worker) function reel_worker_begin(region, thread, threads) bind(C)
      import
      type(reel_region), value :: region
      integer(c_int), value :: thread, threads
    end function

    logical(c_bool) function c_worker_next(worker) bind(C, name="reel_worker_next")
      import
      type(reel_worker), intent(inout) :: worker
    end function

    subroutine reel_worker_barrier(worker) bind(C)
      import
      type(reel_worker), intent(inout) :: worker
    end subroutine

    type(c_ptr) function c_worker_push_span(worker, element, n, call_site) &
      bind(C, name="reel_worker_push_span_at")
      import
      type(reel_worker), intent(inout) :: worker
      type(c_type), value :: element
      integer(c_size_t), value :: n
      type(c_ptr), value :: call_site
    end function

    type(c_ptr) function c_worker_pop_span(worker, element, n, call_site) &
      bind(C, name="reel_worker_pop_span_at")
      import
      type(reel_worker), intent(inout) :: worker
      type(c_type), value :: element
      integer(c_size_t), value :: n
      type(c_ptr), value :: call_site
    end function

    subroutine reel_worker_leave(worker) bind(C)
      import
      type(reel_worker), intent(inout) :: worker
    end subroutine

    subroutine reel_worker_end(worker) bind(C)
      import
      type(reel_worker), intent(inout) :: worker
    end subroutine

    subroutine reel_worker_next_phase(worker) bind(C)
      import
      type(reel_worker), intent(inout) :: worker
    end subroutine
  end interface

  ! Collective spans, of n elements of 4-byte or 8-byte reals; n is of 4 or 8 bytes.
  interface reel_worker_push_span
    procedure push_span_real4, push_span_real8, push_span_real4_long, push_span_real8_long
  end interface

  interface reel_worker_pop_span
    procedure pop_span_real4, pop_span_real8, pop_span_real4_long, pop_span_real8_long
  end interface

  ! ---- Loops and orders ----

  interface
    type(c_loop) function c_loop_begin(lane, chunking, low, high) bind(C, name="reel_loop_begin")
      import
      type(reel_lane), value :: lane
      type(reel_chunking), value :: chunking
      integer(c_int64_t), value :: low, high
    end function

    type(c_loop) function c_loop_reverse(lane, chunking, low, high) &
      bind(C, name="reel_loop_reverse")
      import
      type(reel_lane), value :: lane
      type(reel_chunking), value :: chunking
      integer(c_int64_t), value :: low, high
    end function

    logical(c_bool) function c_loop_next(loop) bind(C, name="reel_loop_next")
      import
      type(c_loop), intent(inout) :: loop
    end function

    subroutine c_loop_stop(loop, end) bind(C, name="reel_loop_stop")
      import
      type(c_loop), intent(inout) :: loop
      integer(c_int64_t), value :: end
    end subroutine

    subroutine reel_ordered_note(lane, order) bind(C)
      import
      type(reel_lane), value :: lane
      type(reel_ordered), intent(inout) :: order
    end subroutine

    subroutine reel_ordered_await(lane, order) bind(C)
      import
      type(reel_lane), value :: lane
      type(reel_ordered), intent(inout) :: order
    end subroutine

    subroutine reel_ordered_done(lane, order) bind(C)
      import
      type(reel_lane), value :: lane
      type(reel_ordered), intent(inout) :: order
    end subroutine
  end interface

  interface reel_loop_begin
    procedure loop_begin4, loop_begin8
  end interface

  interface reel_loop_reverse
    procedure loop_reverse4, loop_reverse8
  end interface

  ! Chunks of 4-byte or 8-byte size; none: 0.
  interface reel_static
    procedure static0, static4, static8
  end interface

  interface reel_dynamic
    procedure dynamic4, dynamic8
  end interface

  interface reel_guided
    procedure guided4, guided8
  end interface

  ! ---- Reductions ----

  interface
    real(c_double) function c_reduce(lane, kind, partial, n) bind(C, name="reel_reduce")
      import
      type(reel_lane), value :: lane
      integer(c_int), value :: kind
      real(c_double), intent(in) :: partial(*)
      integer(c_int), value :: n
    end function

    subroutine c_reduce_reverse(lane, kind, result_bar, partial_bar, n) &
      bind(C, name="reel_reduce_reverse")
      import
      type(reel_lane), value :: lane
      integer(c_int), value :: kind
      real(c_double), value :: result_bar
      real(c_double), intent(out) :: partial_bar(*)
      integer(c_int), value :: n
    end subroutine
  end interface

  ! ---- Tasks ----

  interface
    type(c_ptr) function c_task_begin(parent, label, dependences, n) &
      bind(C, name="reel_task_begin")
      import
      type(reel_lane), value :: parent
      integer(c_int64_t), value :: label
      type(reel_dependence), intent(in) :: dependences(*)
      integer(c_int), value :: n
    end function

    integer(c_int64_t) function reel_task_label(task) bind(C)
      import
      type(reel_lane), value :: task
    end function

    subroutine reel_task_wait(parent) bind(C)
      import
      type(reel_lane), value :: parent
    end subroutine

    subroutine reel_task_wait_reverse(parent) bind(C)
      import
      type(reel_lane), value :: parent
    end subroutine

    type(c_ptr) function c_task_reverse(parent) bind(C, name="reel_task_reverse")
      import
      type(reel_lane), value :: parent
    end function

    integer(c_int64_t) function reel_tasks_left(parent) bind(C)
      import
      type(reel_lane), value :: parent
    end function

    subroutine reel_task_end(task) bind(C)
      import
      type(reel_lane), value :: task
    end subroutine

    ! body: subroutine body(context, task) bind(C), with type(c_ptr), value :: context
    ! and type(reel_lane), value :: task.
    integer(c_int) function c_tasks_reverse(parent, body, context, threads, flags) &
      bind(C, name="reel_tasks_reverse")
      import
      type(reel_lane), value :: parent
      type(c_funptr), value :: body
      type(c_ptr), value :: context
      integer(c_int), value :: threads, flags
    end function
  end interface

  ! ---- Adjoints ----

  interface
    integer(c_int) function c_adjoint_open(adjoint, array, n, options) &
      bind(C, name="reel_adjoint_open")
      import
      type(reel_adjoint), intent(out) :: adjoint
      type(c_ptr), value :: array
      integer(c_size_t), value :: n
      type(reel_adjoint_options), intent(in) :: options
    end function

    integer(c_int) function reel_adjoint_close(adjoint) bind(C)
      import
      type(reel_adjoint), value :: adjoint
    end function

    integer(c_int) function reel_adjoint_begin(adjoint, lanes) bind(C)
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: lanes
    end function

    integer(c_int) function reel_adjoint_end(adjoint) bind(C)
      import
      type(reel_adjoint), value :: adjoint
    end function

    ! Part `part` of `parts`, from 0: a thread's number, and how many there are.
    integer(c_int) function reel_adjoint_reduce(adjoint, part, parts) bind(C)
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: part, parts
    end function

    subroutine reel_adjoint_phase(adjoint, phase) bind(C)
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: phase
    end subroutine

    subroutine c_adjoint_add(adjoint, lane, i, v) bind(C, name="reel_adjoint_lane_add")
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: lane
      integer(c_size_t), value :: i
      real(c_double), value :: v
    end subroutine

    subroutine c_adjoint_add_span(adjoint, lane, first, n, v) &
      bind(C, name="reel_adjoint_lane_add_span")
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: lane
      integer(c_size_t), value :: first, n
      real(c_double), intent(in) :: v(*)
    end subroutine

    type(c_ptr) function c_adjoint_span(adjoint, lane, first, n) &
      bind(C, name="reel_adjoint_lane_span")
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: lane
      integer(c_size_t), value :: first, n
    end function

    real(c_double) function c_adjoint_take(adjoint, lane, i) bind(C, name="reel_adjoint_lane_take")
      import
      type(reel_adjoint), value :: adjoint
      integer(c_int), value :: lane
      integer(c_size_t), value :: i
    end function
  end interface

contains

  ! ---- Lanes ----

  integer(c_int) function reel_lane_open(lane, pool, flags) result(error)
    type(reel_lane), intent(out) :: lane
    type(reel_pool), intent(in), optional :: pool
    integer(c_int), intent(in), optional :: flags
    type(c_ptr) :: of_pool
    integer(c_int) :: of_flags

    of_pool = c_null_ptr
    of_flags = 0
    if (present(pool)) of_pool = pool%handle
    if (present(flags)) of_flags = flags
    error = c_lane_open(lane, of_pool, of_flags)
  end function

  subroutine reel_lane_close(lane)
    type(reel_lane), intent(inout) :: lane

    call c_lane_close(lane%handle)
    lane%handle = c_null_ptr
  end subroutine

  function reel_lane_tape(lane) result(tape)
    type(reel_lane), intent(in) :: lane
    type(reel_tape), pointer :: tape

    call c_f_pointer(c_lane_tape(lane), tape)
  end function

  logical function reel_lane_is_empty(lane)
    type(reel_lane), intent(in) :: lane

    reel_lane_is_empty = c_lane_is_empty(lane)
  end function

  ! ---- Regions and workers ----

  type(reel_region) function reel_region_begin(parent, lanes) result(region)
    type(reel_lane), intent(in) :: parent
    integer, intent(in), optional :: lanes
    integer(c_int) :: of_lanes

    of_lanes = 0
    if (present(lanes)) of_lanes = int(lanes, c_int)
    region%handle = c_region_begin(parent, of_lanes)
  end function

  type(reel_region) function reel_region_reverse(parent) result(region)
    type(reel_lane), intent(in) :: parent

    region%handle = c_region_reverse(parent)
  end function

  logical function reel_worker_next(worker)
    type(reel_worker), intent(inout) :: worker

    reel_worker_next = c_worker_next(worker)
  end function

  ! ---- Collective spans ----

  type(c_type) function real_of(size) result(element)
    integer(c_size_t), intent(in) :: size

    element%name = merge(c_loc(name_real4), c_loc(name_real8), size == 4)
    element%size = size
    element%align = size
    element%kind = floating
  end function

  subroutine push_span_real4_long(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_float), pointer, contiguous, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = c_worker_push_span(worker, real_of(4_c_size_t), int(n, c_size_t), c_loc(name_module))
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_real4(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_float), pointer, contiguous, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_real4_long(worker, span, int(n, c_int64_t))
  end subroutine

  subroutine push_span_real8_long(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_double), pointer, contiguous, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = c_worker_push_span(worker, real_of(8_c_size_t), int(n, c_size_t), c_loc(name_module))
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine push_span_real8(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_double), pointer, contiguous, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call push_span_real8_long(worker, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_real4_long(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_float), pointer, contiguous, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = c_worker_pop_span(worker, real_of(4_c_size_t), int(n, c_size_t), c_loc(name_module))
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_real4(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_float), pointer, contiguous, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_real4_long(worker, span, int(n, c_int64_t))
  end subroutine

  subroutine pop_span_real8_long(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_double), pointer, contiguous, intent(out) :: span(:)
    integer(c_int64_t), intent(in) :: n
    type(c_ptr) :: place

    place = c_worker_pop_span(worker, real_of(8_c_size_t), int(n, c_size_t), c_loc(name_module))
    nullify (span)
    if (c_associated(place)) call c_f_pointer(place, span, [max(n, 0_c_int64_t)])
  end subroutine

  subroutine pop_span_real8(worker, span, n)
    type(reel_worker), intent(inout) :: worker
    real(c_double), pointer, contiguous, intent(out) :: span(:)
    integer(c_int32_t), intent(in) :: n

    call pop_span_real8_long(worker, span, int(n, c_int64_t))
  end subroutine

  ! ---- Loops ----

  pure type(reel_chunking) function static0()
    static0 = reel_chunking(static_loop, 0, 0)
  end function

  pure type(reel_chunking) function static4(chunk)
    integer(c_int32_t), intent(in) :: chunk

    static4 = reel_chunking(static_loop, 0, int(chunk, c_int64_t))
  end function

  pure type(reel_chunking) function static8(chunk)
    integer(c_int64_t), intent(in) :: chunk

    static8 = reel_chunking(static_loop, 0, chunk)
  end function

  pure type(reel_chunking) function dynamic4(chunk)
    integer(c_int32_t), intent(in) :: chunk

    dynamic4 = reel_chunking(dynamic_loop, 1, int(chunk, c_int64_t))
  end function

  pure type(reel_chunking) function dynamic8(chunk)
    integer(c_int64_t), intent(in) :: chunk

    dynamic8 = reel_chunking(dynamic_loop, 1, chunk)
  end function

  pure type(reel_chunking) function guided4(chunk)
    integer(c_int32_t), intent(in) :: chunk

    guided4 = reel_chunking(guided_loop, 1, int(chunk, c_int64_t))
  end function

  pure type(reel_chunking) function guided8(chunk)
    integer(c_int64_t), intent(in) :: chunk

    guided8 = reel_chunking(guided_loop, 1, chunk)
  end function

  ! Iterations low to high, both included, as in a do loop.
  type(reel_loop) function loop_begin8(lane, chunking, low, high) result(loop)
    type(reel_lane), intent(in) :: lane
    type(reel_chunking), intent(in) :: chunking
    integer(c_int64_t), intent(in) :: low, high

    loop%inner = c_loop_begin(lane, chunking, low, high + 1)
  end function

  type(reel_loop) function loop_begin4(lane, chunking, low, high) result(loop)
    type(reel_lane), intent(in) :: lane
    type(reel_chunking), intent(in) :: chunking
    integer(c_int32_t), intent(in) :: low, high

    loop = loop_begin8(lane, chunking, int(low, c_int64_t), int(high, c_int64_t))
  end function

  type(reel_loop) function loop_reverse8(lane, chunking, low, high) result(loop)
    type(reel_lane), intent(in) :: lane
    type(reel_chunking), intent(in) :: chunking
    integer(c_int64_t), intent(in) :: low, high

    loop%inner = c_loop_reverse(lane, chunking, low, high + 1)
  end function

  type(reel_loop) function loop_reverse4(lane, chunking, low, high) result(loop)
    type(reel_lane), intent(in) :: lane
    type(reel_chunking), intent(in) :: chunking
    integer(c_int32_t), intent(in) :: low, high

    loop = loop_reverse8(lane, chunking, int(low, c_int64_t), int(high, c_int64_t))
  end function

  logical function reel_loop_next(loop)
    type(reel_loop), intent(inout) :: loop

    reel_loop_next = c_loop_next(loop%inner)
    loop%first = loop%inner%first
    loop%last = loop%inner%end - 1
  end function

  ! Iterations up to `last` of the present chunk have been done.
  subroutine reel_loop_stop(loop, last)
    type(reel_loop), intent(inout) :: loop
    integer(c_int64_t), intent(in) :: last

    call c_loop_stop(loop%inner, last + 1)
  end subroutine

  ! A loop of one iteration, which one lane does: do while (reel_loop_next(single)).
  type(reel_loop) function reel_single(lane) result(single)
    type(reel_lane), intent(in) :: lane

    single = loop_begin8(lane, dynamic8(1_c_int64_t), 1_c_int64_t, 1_c_int64_t)
  end function

  type(reel_loop) function reel_single_reverse(lane) result(single)
    type(reel_lane), intent(in) :: lane

    single = loop_reverse8(lane, dynamic8(1_c_int64_t), 1_c_int64_t, 1_c_int64_t)
  end function

  ! ---- Reductions ----

  ! partial(1) is lane 0's.
  real(c_double) function reel_reduce(lane, kind, partial)
    type(reel_lane), intent(in) :: lane
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: partial(:)

    reel_reduce = c_reduce(lane, kind, partial, int(size(partial), c_int))
  end function

  subroutine reel_reduce_reverse(lane, kind, result_bar, partial_bar)
    type(reel_lane), intent(in) :: lane
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: result_bar
    real(c_double), intent(out) :: partial_bar(:)

    call c_reduce_reverse(lane, kind, result_bar, partial_bar, int(size(partial_bar), c_int))
  end subroutine

  ! ---- Tasks ----

  type(reel_lane) function reel_task_begin(parent, label, dependences) result(task)
    type(reel_lane), intent(in) :: parent
    integer(c_int64_t), intent(in) :: label
    type(reel_dependence), intent(in), optional :: dependences(:)
    type(reel_dependence) :: none(1)

    if (present(dependences)) then
      task%handle = c_task_begin(parent, label, dependences, int(size(dependences), c_int))
    else
      task%handle = c_task_begin(parent, label, none, 0_c_int)
    end if
  end function

  type(reel_lane) function reel_task_reverse(parent) result(task)
    type(reel_lane), intent(in) :: parent

    task%handle = c_task_reverse(parent)
  end function

  integer(c_int) function reel_tasks_reverse(parent, body, context, threads, flags) result(error)
    type(reel_lane), intent(in) :: parent
    type(c_funptr), value :: body
    type(c_ptr), intent(in), optional :: context
    integer, intent(in), optional :: threads
    integer(c_int), intent(in), optional :: flags
    type(c_ptr) :: of_context
    integer(c_int) :: of_threads, of_flags

    of_context = c_null_ptr
    of_threads = 0
    of_flags = 0
    if (present(context)) of_context = context
    if (present(threads)) of_threads = int(threads, c_int)
    if (present(flags)) of_flags = flags
    error = c_tasks_reverse(parent, body, of_context, of_threads, of_flags)
  end function

  ! ---- Adjoints ----

  ! The array stays the caller's, has the attribute target, and lies together.
  integer(c_int) function reel_adjoint_open(adjoint, array, options) result(error)
    type(reel_adjoint), intent(out) :: adjoint
    real(c_double), intent(inout), target, contiguous :: array(:)
    type(reel_adjoint_options), intent(in), optional :: options
    type(reel_adjoint_options) :: of_options

    if (present(options)) of_options = options
    error = c_adjoint_open(adjoint, c_loc(array), size(array, kind=c_size_t), of_options)
  end function

  ! array(i) = array(i) + v, i from 1.
  subroutine reel_adjoint_add(adjoint, lane, i, v)
    type(reel_adjoint), intent(in) :: adjoint
    integer(c_int), intent(in) :: lane
    integer, intent(in) :: i
    real(c_double), intent(in) :: v

    call c_adjoint_add(adjoint, lane, int(i - 1, c_size_t), v)
  end subroutine

  subroutine reel_adjoint_add_span(adjoint, lane, first, v)
    type(reel_adjoint), intent(in) :: adjoint
    integer(c_int), intent(in) :: lane
    integer, intent(in) :: first
    real(c_double), intent(in) :: v(:)

    call c_adjoint_add_span(adjoint, lane, int(first - 1, c_size_t), size(v, kind=c_size_t), v)
  end subroutine

  ! Where the lane may add to elements first to last itself: p(first:last).
  subroutine reel_adjoint_span(adjoint, lane, p, first, last)
    type(reel_adjoint), intent(in) :: adjoint
    integer(c_int), intent(in) :: lane
    real(c_double), pointer, contiguous, intent(out) :: p(:)
    integer, intent(in) :: first, last
    type(c_ptr) :: there
    real(c_double), pointer, contiguous :: from_one(:)

    nullify (p)
    there = c_adjoint_span(adjoint, lane, int(first - 1, c_size_t), &
      int(last - first + 1, c_size_t))
    if (.not. c_associated(there)) return
    call c_f_pointer(there, from_one, [last - first + 1])
    p(first:last) => from_one
  end subroutine

  real(c_double) function reel_adjoint_take(adjoint, lane, i)
    type(reel_adjoint), intent(in) :: adjoint
    integer(c_int), intent(in) :: lane
    integer, intent(in) :: i

    reel_adjoint_take = c_adjoint_take(adjoint, lane, int(i - 1, c_size_t))
  end function
end module
