! SPDX-License-Identifier: MIT
! Checkpointed reverse sweeps: the gradient has the bits of a sweep with one tape for all steps.
module loop
  use, intrinsic :: iso_c_binding
  use reel
  implicit none
  integer, parameter :: cells = 40

  ! The context: coefficients, a count of steps, and the step at which advance() fails.
  type, bind(C) :: coefficients
    real(c_double) :: a(cells)
    integer(c_int64_t) :: advanced = 0
    integer(c_int64_t) :: stop_at = -1
  end type

  ! The state.
  type, bind(C) :: field
    real(c_double) :: x(cells)
    integer(c_int64_t) :: step
  end type

  type, bind(C) :: gradient
    real(c_double) :: x(cells)
    real(c_double) :: a(cells)
  end type

contains

  subroutine run_step(a, u)
    real(c_double), intent(in) :: a(cells)
    type(field), intent(inout) :: u

    u%x = u%x + 0.01_c_double * a * sin(cshift(u%x, 1) - u%x)
    u%step = u%step + 1
  end subroutine

  integer(c_int) function advance(c, u, first, last) result(error) bind(C)
    type(coefficients), intent(inout) :: c
    type(field), intent(inout) :: u
    integer(c_int64_t), value :: first, last
    integer(c_int64_t) :: step

    error = 0
    do step = first, last - 1
      if (u%step /= step) error = -1
      if (step == c%stop_at) error = 7
      if (error /= 0) return
      call run_step(c%a, u)
      c%advanced = c%advanced + 1
    end do
  end function

  integer(c_int) function record(c, u, first, last, tape) result(error) bind(C)
    type(coefficients), intent(inout) :: c
    type(field), intent(inout) :: u
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t) :: step

    error = 0
    do step = first, last - 1
      call reel_push_array(tape, u%x)
      call run_step(c%a, u)
    end do
  end function

  integer(c_int) function reverse(c, bar, first, last, tape) result(error) bind(C)
    type(coefficients), intent(in) :: c
    type(gradient), intent(inout) :: bar
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t) :: step
    real(c_double) :: x(cells), difference(cells), flow(cells)

    error = 0
    do step = last - 1, first, -1
      call reel_pop_array(tape, x)
      difference = cshift(x, 1) - x
      bar%a = bar%a + 0.01_c_double * sin(difference) * bar%x
      flow = 0.01_c_double * c%a * cos(difference) * bar%x
      bar%x = bar%x - flow + cshift(flow, -1)
    end do
  end function

  logical(c_bool) function finished(c, u, step) bind(C)
    type(coefficients), intent(in) :: c
    type(field), intent(in) :: u
    integer(c_int64_t), value :: step

    finished = u%step >= 500 .and. step == u%step .and. c%stop_at < 0
  end function

  ! A snapshot keeps the field backwards, so its bytes differ from the bytes of the state.
  integer(c_int) function save(c, u, snapshot) result(error) bind(C)
    type(coefficients), intent(in) :: c
    type(field), intent(in) :: u
    type(field), intent(out) :: snapshot

    error = merge(0, -1, size(c%a) == cells)
    snapshot%x = u%x(cells:1:-1)
    snapshot%step = u%step
  end function

  integer(c_int) function load(c, u, snapshot) result(error) bind(C)
    type(coefficients), intent(in) :: c
    type(field), intent(out) :: u
    type(field), intent(in) :: snapshot

    error = merge(0, -1, size(c%a) == cells)
    u%x = snapshot%x(cells:1:-1)
    u%step = snapshot%step
  end function
end module

program sweeps
  use loop
  use checks
  implicit none
  integer, parameter :: steps = 500
  type(coefficients) :: c
  type(gradient) :: wanted
  integer :: i

  c%a = [(1 + 0.1_c_double * i, i=1, cells)]
  call whole(wanted)
  call ok(any(wanted%a /= 0), 'the gradient of one tape for all steps is not 0')
  call planner('binomial', REEL_BINOMIAL, 7)
  call planner('store all', REEL_STORE_ALL, 1)
  call planner('mixed', REEL_MIXED, 9)
  call tiers()
  call segments()
  call own_snapshots()
  call unknown_end()
  call stopped()
  call resumed()
  call real_states()
  call fields()
  call digits()
  call refused()

contains

  subroutine first_state(u)
    type(field), intent(out) :: u

    u%x = [(cos(0.3_c_double * i), i=1, cells)]
    u%step = 0
  end subroutine

  subroutine seed(u, bar)
    type(field), intent(in) :: u
    type(gradient), intent(out) :: bar

    bar%x = 2 * u%x
    bar%a = 0
  end subroutine

  subroutine whole(bar)
    type(gradient), intent(out) :: bar
    type(reel_tape) :: tape
    type(field) :: u

    call first_state(u)
    if (record(c, u, 0_c_int64_t, int(steps, c_int64_t), tape) /= 0) error stop
    call seed(u, bar)
    if (reverse(c, bar, 0_c_int64_t, int(steps, c_int64_t), tape) /= 0) error stop
    call reel_tape_close(tape)
  end subroutine

  logical function equal(bar)
    type(gradient), intent(in) :: bar

    equal = all(bar%x == wanted%x) .and. all(bar%a == wanted%a)
  end function

  ! Carries out both sweeps of a run, and closes it.
  subroutine sweep(run, what)
    type(reel_run), intent(inout) :: run
    character(*), intent(in) :: what
    type(reel_run_stats) :: stats
    type(field) :: u
    type(gradient) :: bar
    integer :: error

    call first_state(u)
    error = reel_run_forward(run, c, u)
    call ok(error == 0 .and. reel_run_is_reversing(run) .and. u%step == steps, &
      what//': the forward sweep comes to the end')
    call seed(u, bar)
    error = reel_run_reverse(run, c, u, bar)
    call ok(error == 0, what//': the reverse sweep, too')
    call ok(equal(bar), what//': the gradient is that of one tape')
    call reel_run_get_stats(run, stats)
    call ok(stats%reversed == steps .and. reel_run_steps(run) == steps, &
      what//': each step was reversed once')
    call reel_run_close(run)
    call ok(.not. c_associated(run%handle), what//': the run is closed')
  end subroutine

  subroutine planner(name, kind, slots)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    integer, intent(in) :: slots
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(field) :: u

    problem%steps = steps
    problem%tier(1)%slots = slots
    call ok(reel_plan_open(plan, kind, problem) == 0, name//': a plan is opened')
    call ok(reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse)) == 0, name//': a run is opened')
    c%advanced = 0
    call sweep(run, name)
    if (kind == REEL_BINOMIAL) call ok(c%advanced > 500, name//': steps were run again')
    call reel_plan_close(plan)
  end subroutine

  subroutine tiers()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_run_options) :: options
    type(field) :: u

    problem%steps = steps
    problem%tiers = 2
    problem%tier(1)%slots = 3
    problem%tier(2) = reel_tier(20, 2.0_c_double, 3.0_c_double)
    call ok(reel_store_open(options%store(2), 'file', '.') == 0, 'tiers: a store is opened')
    call ok(reel_plan_open(plan, REEL_MULTISTAGE, problem) == 0, 'tiers: a plan is opened')
    call ok(reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) == 0, 'tiers: a run is opened')
    call sweep(run, 'tiers')
    call reel_plan_close(plan)
  end subroutine

  subroutine segments()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_run_options) :: options
    type(field) :: u

    problem%steps = 63
    problem%tier(1)%slots = 4
    options%segment_steps = 8
    options%steps = steps
    options%flags = REEL_RUN_AUDIT
    call ok(reel_plan_open(plan, REEL_BINOMIAL, problem) == 0, 'segments: a plan is opened')
    call ok(reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) == 0, 'segments: a run is opened')
    call sweep(run, 'segments, audited')
    call reel_plan_close(plan)
  end subroutine

  subroutine own_snapshots()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(field) :: u

    problem%steps = steps
    problem%tier(1)%slots = 6
    call ok(reel_plan_open(plan, REEL_BINOMIAL, problem) == 0, 'save and load: a plan is opened')
    call ok(reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), c_funloc(save), c_funloc(load)) == 0, &
      'save and load: a run is opened')
    call sweep(run, 'save and load')
    call reel_plan_close(plan)
  end subroutine

  subroutine unknown_end()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_run_options) :: options
    type(field) :: u

    problem%steps = REEL_UNKNOWN_STEPS
    problem%tier(1)%slots = 6
    options%finished = c_funloc(finished)
    call ok(reel_plan_open(plan, REEL_ONLINE, problem) == 0, 'unknown end: a plan is opened')
    call ok(reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) == 0, 'unknown end: a run is opened')
    call sweep(run, 'unknown end')
    call reel_plan_close(plan)
  end subroutine

  subroutine stopped()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(field) :: u

    problem%steps = steps
    problem%tier(1)%slots = 6
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    if (reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse)) /= 0) error stop
    call first_state(u)
    c%stop_at = 100
    call ok(reel_run_forward(run, c, u) == 7, 'what a callback returns ends the sweep')
    c%stop_at = -1
    call sweep(run, 'after that')
    call reel_plan_close(plan)
  end subroutine

  ! Elements of the first dimension are neighbours in memory, in C elements of the last one.
  subroutine fields()
    real(c_double) :: a(3, 5), b(2, 3, 1, 4, 5)
    real(c_float) :: c(7)
    integer(c_int) :: d(6)
    type(reel_field) :: f

    f = reel_field_of(a)
    call ok(f%type == REEL_FIELD_DOUBLE .and. f%dimensions == 2 .and. &
      all(f%extent(:2) == [5, 3]), 'the field of a matrix')
    f = reel_field_of(b)
    call ok(f%dimensions == 4 .and. all(f%extent == [20, 1, 3, 2]), 'of five dimensions')
    f = reel_field_of(c)
    call ok(f%type == REEL_FIELD_FLOAT .and. f%dimensions == 1 .and. f%extent(1) == 7, &
      'of single precision')
    f = reel_field_of(d)
    call ok(f%type == REEL_FIELD_BYTES .and. f%extent(1) == 24, 'of integers')
    f = reel_field_of(a(:, ::2))
    call ok(f%dimensions == 0, 'an array with gaps is none')
  end subroutine

  subroutine digits()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_run_options) :: options
    type(reel_run_stats) :: stats
    type(reel_field), target :: x
    type(reel_loss), target :: loss
    type(reel_accuracy) :: accuracy
    type(reel_accuracy_report) :: report
    type(field) :: u
    type(gradient) :: bar
    real(c_double) :: error, errors(cells)
    integer :: again

    problem%steps = steps
    problem%tier(1)%slots = 6
    x = reel_field_of(u%x)
    loss%field = c_loc(x)
    loss%fields = 1
    options%loss = c_loc(loss)
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    if (reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) /= 0) error stop
    call ok(reel_accuracy_open(accuracy, run, 4, cells) == 0, 'four digits are asked for')
    again = 1
    do while (again == 1)
      call first_state(u)
      if (reel_run_forward(run, c, u) /= 0) error stop
      call seed(u, bar)
      if (reel_run_reverse(run, c, u, bar) /= 0) error stop
      again = reel_accuracy_again(accuracy, bar%a)
    end do
    call reel_accuracy_get_report(accuracy, report)
    call reel_accuracy_get_errors(accuracy, errors)
    call reel_run_get_stats(run, stats)
    error = maxval(abs(bar%a - wanted%a))
    call ok(again == 0 .and. error > 0 .and. error <= report%error .and. &
      report%error <= 1e-4 * report%largest, 'and the bound of the error holds')
    call ok(all(abs(bar%a - wanted%a) <= errors) .and. maxval(errors) <= report%error, &
      'and those of each component')
    call ok(stats%kept_bytes < stats%rounded_bytes, 'with states of fewer bytes')
    call ok(reel_run_set_tolerance(run, 2.0_c_double) == -22, 'a tolerance of 2 is refused')
    call reel_accuracy_close(accuracy)
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine

  ! Another run resumes a run that was stopped in its reverse sweep, from the restart file.
  subroutine resumed()
    character(kind=c_char), target :: name(8)
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run, again
    type(reel_run_options) :: options
    type(field) :: u
    type(gradient) :: bar
    integer :: error

    name = ['r', 'e', 's', 't', 'a', 'r', 't', c_null_char]
    problem%steps = steps
    problem%tier(1)%slots = 6
    options%restart = c_loc(name)
    options%restart_seconds = 1e-9_c_double
    options%adjoint_bytes = c_sizeof(bar)
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    if (reel_run_open(run, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) /= 0) error stop
    if (reel_run_open(again, plan, u, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) /= 0) error stop
    call ok(reel_run_resume(again, c, bar) == -2, 'there is nothing to resume yet')
    call first_state(u)
    if (reel_run_forward(run, c, u) /= 0) error stop
    call seed(u, bar)
    c%stop_at = 200
    call ok(reel_run_reverse(run, c, u, bar) == 7, 'a reverse sweep is stopped')
    c%stop_at = -1
    bar%x = 0
    error = reel_run_resume(again, c, bar)
    call ok(error == 0 .and. reel_run_is_reversing(again), 'another run takes it up')
    error = reel_run_reverse(again, c, u, bar)
    call ok(error == 0 .and. equal(bar), 'and gives the same gradient')
    call reel_run_close(run)
    call reel_run_close(again)
    call reel_plan_close(plan)
  end subroutine

  ! States that are arrays.
  subroutine real_states()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    real(c_double) :: x(3), bar(3), factor
    integer :: error

    problem%steps = 20
    problem%tier(1)%slots = 3
    factor = 1.5
    x = [1, 2, 3]
    bar = 1
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    call ok(reel_run_open(run, plan, x, c_funloc(grow), c_funloc(record_growth), &
      c_funloc(reverse_growth)) == 0, 'a run over an array is opened')
    error = reel_run_forward(run, factor, x)
    call ok(error == 0 .and. all(abs(x / [1, 2, 3] - factor**20) < 1e-9), 'its forward sweep')
    error = reel_run_reverse(run, factor, x, bar)
    call ok(error == 0 .and. all(abs(bar - factor**20) < 1e-9), 'its reverse sweep')
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine

  integer(c_int) function grow(factor, x, first, last) bind(C)
    real(c_double), intent(in) :: factor
    real(c_double), intent(inout) :: x(3)
    integer(c_int64_t), value :: first, last

    x = x * factor**(last - first)
    grow = 0
  end function

  integer(c_int) function record_growth(factor, x, first, last, tape) bind(C)
    real(c_double), intent(in) :: factor
    real(c_double), intent(inout) :: x(3)
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape

    call reel_push(tape, factor**(last - first))
    record_growth = grow(factor, x, first, last)
  end function

  integer(c_int) function reverse_growth(factor, bar, first, last, tape) bind(C)
    real(c_double), intent(in) :: factor
    real(c_double), intent(inout) :: bar(3)
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape
    real(c_double) :: power

    call reel_pop(tape, power)
    bar = bar * power
    reverse_growth = merge(0, -1, power == factor**(last - first))
  end function

  subroutine refused()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_run_options) :: options
    real(c_double) :: small(3), wide(2, 100)
    integer :: error

    problem%steps = 10
    error = reel_plan_open(plan, REEL_BINOMIAL, problem)
    call ok(error == -22 .and. &
      index(reel_error_text(error), 'has no slot') > 0, &
      'a plan without slots is refused: '//reel_error_text(-22))
    problem%tier(1)%slots = 3
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    options%flags = 64
    call ok(reel_run_open(run, plan, small, c_funloc(grow), c_funloc(record_growth), &
      c_funloc(reverse_growth), options) == -22, 'a run with an unknown flag is refused')
    call ok(index(reel_error_text(-22), 'flags') == 1, 'which is said: '//reel_error_text(-22))
    if (reel_run_open(run, plan, small, c_funloc(grow), c_funloc(record_growth), &
      c_funloc(reverse_growth)) /= 0) error stop
    error = reel_run_forward(run, 1.5_c_double, small(1:2))
    call ok(error == -22 .and. index(reel_error_text(0), 'the state is smaller') == 1, &
      'a state that is too small is refused: '//reel_error_text(0))
    small = 1
    call ok(reel_run_forward(run, 1.5_c_double, small) == 0, 'one that is large enough is not')
    error = reel_run_forward(run, 1.5_c_double, wide(1, :))
    call ok(error == -22 .and. &
      index(reel_error_text(0), 'the state is not contiguous') == 1, &
      'a section as a state is refused: '//reel_error_text(0))
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine
end program
