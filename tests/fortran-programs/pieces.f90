! SPDX-License-Identifier: MIT
! The choice of a plan by the costs of the loop, reverse sweeps in pieces, driven runs.
module growth
  use, intrinsic :: iso_c_binding
  use reel
  implicit none
  integer, parameter :: cells = 50

contains

  ! x = x + h sin(x) a, cell by cell.
  integer(c_int) function advance(a, x, first, last) bind(C)
    real(c_double), intent(in) :: a(cells)
    real(c_double), intent(inout) :: x(cells)
    integer(c_int64_t), value :: first, last
    integer(c_int64_t) :: step

    do step = first, last - 1
      x = x + 0.001_c_double * a * sin(x)
    end do
    advance = 0
  end function

  integer(c_int) function record(a, x, first, last, tape) bind(C)
    real(c_double), intent(in) :: a(cells)
    real(c_double), intent(inout) :: x(cells)
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape
    integer(c_int64_t) :: step

    do step = first, last - 1
      call reel_push_array(tape, x)
      x = x + 0.001_c_double * a * sin(x)
    end do
    record = 0
  end function

  integer(c_int) function reverse(a, bar, first, last, tape) bind(C)
    real(c_double), intent(in) :: a(cells)
    real(c_double), intent(inout) :: bar(cells, 2)
    integer(c_int64_t), value :: first, last
    type(reel_tape), intent(inout) :: tape
    real(c_double) :: x(cells)
    integer(c_int64_t) :: step

    do step = last - 1, first, -1
      call reel_pop_array(tape, x)
      bar(:, 2) = bar(:, 2) + 0.001_c_double * sin(x) * bar(:, 1)
      bar(:, 1) = bar(:, 1) + 0.001_c_double * a * cos(x) * bar(:, 1)
    end do
    reverse = 0
  end function
end module

program pieces
  use growth
  use checks
  implicit none
  integer(c_int64_t), parameter :: steps = 2000
  real(c_double) :: a(cells), wanted(cells, 2), last_state(cells)
  type(reel_model) :: model
  integer :: i

  a = [(1 + 0.01_c_double * i, i=1, cells)]
  model = reel_model(c_sizeof(last_state), c_funloc(advance), c_funloc(record), c_funloc(reverse))
  call one_tape()
  call costs()
  call actions()
  call driven(.false.)
  call driven(.true.)
  call refused()

contains

  subroutine begin(x)
    real(c_double), intent(out) :: x(cells)

    x = [(0.02_c_double * i, i=1, cells)]
  end subroutine

  subroutine seed(bar)
    real(c_double), intent(out) :: bar(cells, 2)

    bar(:, 1) = 1
    bar(:, 2) = 0
  end subroutine

  subroutine one_tape()
    type(reel_tape) :: tape
    real(c_double) :: x(cells)

    call begin(x)
    if (record(a, x, 0_c_int64_t, steps, tape) /= 0) error stop
    last_state = x
    call seed(wanted)
    if (reverse(a, wanted, 0_c_int64_t, steps, tape) /= 0) error stop
    call ok(reel_tape_is_empty(tape), 'one tape for the whole loop')
    call reel_tape_close(tape)
  end subroutine

  ! Chooses a plan for memory of a tenth of the loop's tape, and runs it.
  subroutine costs()
    type(reel_costs) :: known
    type(reel_choice) :: choice
    type(reel_tape) :: tape
    real(c_double) :: x(cells), before(cells), scratch(cells, 2)
    integer :: error

    known%steps = steps
    call begin(x)
    before = x
    call seed(scratch)
    error = reel_costs_measure(known, tape, model, a, x, scratch)
    call ok(error == 0 .and. all(x == before), 'the costs of a loop are measured')
    call ok(known%state_bytes == c_sizeof(x) .and. known%tape_bytes >= c_sizeof(x) .and. &
      known%advance_seconds > 0 .and. known%reverse_seconds > 0, 'among them time and memory')
    call reel_tape_close(tape)

    known%memory_bytes = steps * known%tape_bytes / 10
    error = reel_costs_choose(known, choice)
    call ok(error == 0 .and. reel_choice_reason(choice) /= '', &
      'a plan is chosen: '//reel_choice_reason(choice))
    call ok(choice%best%peak_memory_bytes <= known%memory_bytes .and. &
      choice%best%segment_steps >= 1 .and. choice%best%planner /= REEL_STORE_ALL, &
      'that fits the memory')
    call run_choice(choice%best)

    known%memory_bytes = 1
    error = reel_costs_choose(known, choice)
    call ok(error == -28 .and. reel_choice_reason(choice) /= '', &
      'no memory for anything: '//reel_choice_reason(choice))
    known%steps = -1
    error = reel_costs_choose(known, choice)
    call ok(error == -22 .and. index(reel_error_text(error), 'steps') > 0, &
      'costs that cannot be: '//reel_error_text(error))
  end subroutine

  subroutine run_choice(best)
    type(reel_prediction), intent(in) :: best
    type(reel_run_options) :: options
    type(reel_plan) :: plan
    type(reel_run) :: run
    real(c_double) :: x(cells), bar(cells, 2)
    integer :: error

    options%segment_steps = best%segment_steps
    options%steps = steps
    if (reel_plan_open(plan, best%planner, best%problem) /= 0) error stop
    if (reel_run_open(run, plan, x, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse), options) /= 0) error stop
    call begin(x)
    if (reel_run_forward(run, a, x) /= 0) error stop
    call seed(bar)
    error = reel_run_reverse(run, a, x, bar)
    call ok(error == 0 .and. all(bar == wanted), 'and gives the gradient of one tape')
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine

  ! The program carries out the plan's actions. The first REVERSE uses the tape of the run.
  subroutine actions()
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_action) :: action
    type(reel_tape) :: tape
    real(c_double) :: x(cells), bar(cells, 2)
    integer(c_int64_t) :: forward_from
    integer :: error, reversed

    problem%steps = steps
    problem%tier(1)%slots = 8
    if (reel_plan_open(plan, REEL_BINOMIAL, problem) /= 0) error stop
    if (reel_run_open(run, plan, x, c_funloc(advance), c_funloc(record), &
      c_funloc(reverse)) /= 0) error stop
    call begin(x)
    if (reel_run_forward(run, a, x) /= 0) error stop
    call ok(.not. reel_tape_is_empty(reel_run_tape(run)), &
      'what the forward sweep recorded is on the tape of the run')
    call seed(bar)
    reversed = 0
    forward_from = steps
    do
      error = reel_run_take(run, action)
      if (error /= 0 .or. action%kind == REEL_ACTION_DONE) exit
      select case (action%kind)
      case (REEL_ACTION_REVERSE)
        reversed = reversed + 1
        if (reversed == 1) then
          error = reel_run_carry_out(run, action, a, adjoint=bar)
        else
          error = reel_run_carry_out(run, action, a, adjoint=bar, tape=tape)
        end if
        if (action%last /= forward_from) error = 1
        forward_from = action%first
      case (REEL_ACTION_RECORD)
        error = reel_run_carry_out(run, action, a, x, tape=tape)
      case (REEL_ACTION_DROP)
        error = reel_run_carry_out(run, action, a)
      case default
        error = reel_run_carry_out(run, action, a, x)
      end select
      if (error /= 0) exit
    end do
    call ok(error == 0 .and. forward_from == 0, 'all actions are carried out, piece by piece')
    call ok(all(bar == wanted) .and. reel_tape_is_empty(tape), 'and the gradient is that of one tape')
    call reel_tape_close(tape)

    call begin(x)
    if (reel_run_forward(run, a, x) /= 0) error stop
    error = reel_run_take(run, action)
    if (error == 0) error = reel_run_carry_out(run, action, a, x)
    call ok(error == -22 .and. action%kind == REEL_ACTION_REVERSE .and. index( &
      reel_error_text(0), 'the adjoint is needed') == 1, &
      'an adjoint that is left out is missed: '//reel_error_text(0))
    call begin(x)
    if (reel_run_forward(run, a, x) /= 0) error stop
    call reel_run_give_up(run)
    call ok(.not. reel_run_is_reversing(run), 'a sweep is given up')
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine

  ! The program owns the loop. Its end is known or not; a second sweep stops early.
  subroutine driven(unknown)
    logical, intent(in) :: unknown
    type(reel_problem) :: problem
    type(reel_plan) :: plan
    type(reel_run) :: run
    type(reel_action) :: action
    type(reel_run_stats) :: stats
    type(reel_tape), pointer :: tape
    real(c_double), target :: x(cells), bar(cells, 2)
    integer :: error

    problem%steps = steps
    if (unknown) problem%steps = REEL_UNKNOWN_STEPS
    problem%tier(1)%slots = 8
    if (reel_plan_open(plan, merge(REEL_ONLINE, REEL_BINOMIAL, unknown), problem) /= 0) error stop
    if (reel_run_open(run, plan, x, c_null_funptr, c_null_funptr, c_null_funptr) /= 0) error stop
    call begin(x)
    call seed(bar)
    tape => reel_run_tape(run)
    error = reel_run_start(run, a, x, bar)
    do
      if (error == 0) error = reel_run_next(run, action)
      if (error /= 0 .or. action%kind == REEL_ACTION_DONE) exit
      select case (action%kind)
      case (REEL_ACTION_ADVANCE)
        error = advance(a, x, action%first, action%last)
        if (unknown .and. action%last == steps .and. .not. reel_run_is_reversing(run)) &
          error = reel_run_end_loop(run)
        call reel_run_set_time(run, 1000_c_int64_t)
      case (REEL_ACTION_RECORD)
        error = record(a, x, action%first, action%last, tape)
      case default
        error = reverse(a, bar, action%first, action%last, tape)
      end select
    end do
    call ok(error == 0 .and. all(bar == wanted), 'a run that is driven gives the gradient of one tape')
    call reel_run_get_stats(run, stats)
    call ok(stats%advance_ns > 0 .and. mod(stats%advance_ns, 1000_c_int64_t) == 0, &
      'the time of an action is what the program says')
    call begin(x)
    error = reel_run_start(run, a, x, bar)
    call reel_run_stop(run, 7)
    call ok(error == 0 .and. reel_run_next(run, action) == 7, 'a sweep ends where the program stops')
    call reel_run_close(run)
    call reel_plan_close(plan)
  end subroutine

  subroutine refused()
    type(reel_costs) :: unknown
    type(reel_tape) :: tape
    real(c_double) :: small(cells - 1), wide(2, cells)

    call reel_set_error_handler(print_error)
    unknown%steps = steps
    small = 0
    call ok(reel_costs_measure(unknown, tape, model, a, small) == -22 .and. &
      reel_tape_error(tape) == -22, 'a state that is too small is refused')
    call reel_tape_close(tape)
    wide = 0
    call ok(reel_costs_measure(unknown, tape, model, a, wide(1, :)) == -22, &
      'a section as a state is refused')
    call reel_tape_close(tape)
    call reel_set_error_handler()
  end subroutine
end program
