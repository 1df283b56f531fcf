! SPDX-License-Identifier: MIT
! Each type has the layout of its C struct: layout.c sets the members to 1, 2, 3 and so on.
program layout
  use, intrinsic :: iso_c_binding
  use reel
  use reel_omp, only: reel_adjoint_options, reel_chunking, reel_dependence, reel_ordered, reel_worker
  use checks
  implicit none

  interface
    subroutine fill_pool_options(options) bind(C)
      import
      type(reel_pool_options), intent(out) :: options
    end subroutine

    subroutine fill_problem(problem) bind(C)
      import
      type(reel_problem), intent(out) :: problem
    end subroutine

    subroutine fill_options(options) bind(C)
      import
      type(reel_run_options), intent(out) :: options
    end subroutine

    subroutine fill_stats(stats) bind(C)
      import
      type(reel_run_stats), intent(out) :: stats
    end subroutine

    subroutine fill_pool_stats(stats) bind(C)
      import
      type(reel_pool_stats), intent(out) :: stats
    end subroutine

    subroutine fill_action(action) bind(C)
      import
      type(reel_action), intent(out) :: action
    end subroutine

    subroutine fill_costs(costs) bind(C)
      import
      type(reel_costs), intent(out) :: costs
    end subroutine

    subroutine fill_choice(choice) bind(C)
      import
      type(reel_choice), intent(out) :: choice
    end subroutine

    subroutine fill_layout(layout) bind(C)
      import
      type(reel_layout), intent(out) :: layout
    end subroutine

    integer(c_size_t) function bytes_of(number) bind(C)
      import
      integer(c_int), value :: number
    end function

    integer(c_int) function constant(number) bind(C)
      import
      integer(c_int), value :: number
    end function
  end interface

  type(reel_tape) :: tape
  type(reel_mark) :: mark
  type(reel_pool_options) :: pool
  type(reel_problem) :: problem
  type(reel_run_options) :: options
  type(reel_run_stats) :: stats
  type(reel_layout) :: elements
  type(reel_model) :: model
  type(reel_pool_stats) :: pool_stats
  type(reel_action) :: action
  type(reel_costs) :: costs
  type(reel_choice) :: choice
  type(reel_adjoint_options) :: adjoint
  type(reel_chunking) :: chunking
  type(reel_dependence) :: dependence
  type(reel_ordered) :: order
  type(reel_worker) :: worker
  type(reel_field) :: one_field
  type(reel_loss) :: loss
  type(reel_accuracy_report) :: report
  integer :: i

  call ok(c_sizeof(tape) >= bytes_of(0), 'reel_tape')
  call ok(c_sizeof(mark) == bytes_of(1), 'reel_mark')
  call ok(c_sizeof(pool) == bytes_of(2), 'reel_pool_options')
  call ok(c_sizeof(problem) == bytes_of(3), 'reel_problem')
  call ok(c_sizeof(options) == bytes_of(4), 'reel_run_options')
  call ok(c_sizeof(stats) == bytes_of(5), 'reel_run_stats')

  call ok(c_sizeof(model) == bytes_of(6), 'reel_model')
  call ok(c_sizeof(pool_stats) == bytes_of(7), 'reel_pool_stats')
  call ok(c_sizeof(action) == bytes_of(8), 'reel_action')
  call ok(c_sizeof(costs) == bytes_of(9), 'reel_costs')
  call ok(c_sizeof(choice) == bytes_of(10), 'reel_choice')
  call ok(c_sizeof(adjoint) == bytes_of(11), 'reel_adjoint_options')
  call ok(c_sizeof(chunking) == bytes_of(12), 'reel_chunking')
  call ok(c_sizeof(dependence) == bytes_of(13), 'reel_dependence')
  call ok(c_sizeof(order) == bytes_of(14), 'reel_ordered')
  call ok(c_sizeof(worker) == bytes_of(15), 'reel_worker')
  call ok(c_sizeof(one_field) == bytes_of(16), 'reel_field')
  call ok(c_sizeof(loss) == bytes_of(17), 'reel_loss')
  call ok(c_sizeof(report) == bytes_of(18), 'reel_accuracy_report')

  call fill_pool_options(pool)
  call ok(all([pool%hard_budget, pool%soft_budget, pool%slab_bytes, pool%first_slab_bytes, &
    int(pool%magazine_slabs, c_size_t), int(pool%flags, c_size_t), &
    transfer(pool%store%handle, 0_c_size_t)] == [1, 2, 3, 4, 5, 6, 7]), &
    'members of reel_pool_options')
  call ok(all(pool%shared_budget(1:5) == ['n', 'a', 'm', 'e', c_null_char]) .and. &
    all(pool%reserved == [8]), 'and the last of them')

  call fill_problem(problem)
  call ok(problem%steps == 1 .and. problem%advance_cost == 2 .and. problem%record_cost == 3 .and. &
    problem%reverse_cost == 4 .and. problem%tape_states == 5 .and. problem%period == 6 .and. &
    problem%tiers == 7 .and. problem%flags == 23, 'members of reel_problem')
  call ok(all(problem%tier%slots == [8, 11, 14, 17]) .and. &
    all(problem%tier%store_cost == [9, 12, 15, 18]) .and. &
    all(problem%tier%load_cost == [10, 13, 16, 19]), 'its tiers')
  call ok(all(problem%reserved == [20, 21, 22]), 'and the last of them')

  call fill_options(options)
  call ok(transfer(options%pool%handle, 0_c_size_t) == 1 .and. &
    all([(transfer(options%store(i)%handle, 0_c_size_t), i=1, 4)] == [2, 3, 4, 5]) .and. &
    options%segment_steps == 6 .and. options%steps == 7 .and. &
    transfer(options%finished, 0_c_size_t) == 8 .and. options%puts == 9 .and. &
    options%gets == 10 .and. options%flags == 11, 'members of reel_run_options')
  call ok(transfer(options%restart, 0_c_size_t) == 12 .and. options%restart_seconds == 13 .and. &
    options%adjoint_bytes == 14 .and. transfer(options%save_adjoint, 0_c_size_t) == 15 .and. &
    transfer(options%load_adjoint, 0_c_size_t) == 16 .and. &
    transfer(options%state_part, 0_c_size_t) == 17 .and. &
    transfer(options%adjoint_part, 0_c_size_t) == 18 .and. options%state_parts == 19 .and. &
    options%adjoint_parts == 20 .and. transfer(options%packed_bytes, 0_c_size_t) == 21 .and. &
    transfer(options%progress, 0_c_size_t) == 22 .and. transfer(options%loss, 0_c_size_t) == 23, &
    'and the last of them')

  call fill_stats(stats)
  call ok(all([stats%advanced, stats%stores, stats%loads, stats%put_bytes, stats%unlike_step, &
    stats%failed_saves] == [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 23, 25]), 'members of reel_run_stats')

  call fill_layout(elements)
  call ok(elements%element == 1 .and. elements%stride == 2, 'members of reel_layout')

  call fill_pool_stats(pool_stats)
  call ok(all([pool_stats%hard_budget, pool_stats%slabs, pool_stats%stalls, &
    pool_stats%in_store_bytes] == [1, 7, 15, 23]), 'members of reel_pool_stats')

  call fill_action(action)
  call ok(action%kind == REEL_ACTION_LOAD .and. action%first == 1 .and. action%last == 2 .and. &
    action%tier == 3 .and. action%slot == 5 .and. logical(action%last_use), &
    'members of reel_action')

  call fill_costs(costs)
  call ok(costs%steps == 1 .and. costs%advance_seconds == 2 .and. costs%record_seconds == 3 .and. &
    costs%reverse_seconds == 4 .and. costs%copy_seconds == 5 .and. costs%state_bytes == 6 .and. &
    costs%tape_bytes == 7 .and. costs%memory_bytes == 8 .and. costs%workers == 9 .and. &
    costs%tiers == 10, 'members of reel_costs')
  call ok(all(costs%tier%bytes == [11, 15, 19]) .and. &
    all(costs%tier%write_bandwidth == [12, 16, 20]) .and. &
    all(costs%tier%read_bandwidth == [13, 17, 21]) .and. &
    all(costs%tier%latency == [14, 18, 22]) .and. all(costs%tier(3)%reserved == [23, 24]), &
    'its tiers')
  call ok(costs%touch_seconds == 25 .and. all(costs%reserved == [26, 27, 28]), &
    'and the last of them')

  call fill_choice(choice)
  call ok(choice%best%planner == REEL_PERIODIC .and. choice%best%tapes == 1 .and. &
    logical(choice%best%spills) .and. choice%best%segment_steps == 2 .and. &
    choice%best%problem%steps == 3 .and. choice%best%makespan == 4 .and. &
    choice%best%peak_memory_bytes == 5 .and. all(choice%best%written_bytes == [6, 7, 8, 9]) .and. &
    all(choice%best%read_bytes == [10, 11, 12, 13]) .and. choice%best%advances == 14 .and. &
    choice%best%reserved(4) == 15, 'members of reel_prediction')
  call ok(choice%runner_up%tapes == 16 .and. reel_choice_reason(choice) == 'because' .and. &
    choice%reserved(4) == 17, 'members of reel_choice')

  call ok(all([(constant(i), i=0, 12)] == [REEL_CHECKED, REEL_POOL_CHECKED, &
    REEL_POOL_SMALL_PAGES, REEL_RUN_AUDIT, REEL_STORE_ALL, REEL_BINOMIAL, REEL_MIXED, &
    REEL_MULTISTAGE, REEL_TWO_LEVEL, REEL_HIERARCHICAL, REEL_DISK_REVOLVE, REEL_PERIODIC, &
    REEL_ONLINE]), 'constants')
  call ok(constant(13) == REEL_UNKNOWN_STEPS .and. constant(14) == REEL_MAX_TIERS, &
    'and the last of them')
  call ok(all([(constant(i), i=15, 23)] == [REEL_ACTION_ADVANCE, REEL_ACTION_RECORD, &
    REEL_ACTION_REVERSE, REEL_ACTION_STORE, REEL_ACTION_LOAD, REEL_ACTION_DROP, &
    REEL_ACTION_DONE, REEL_POOL_OBEY_LIMITS, REEL_POOL_HUGE_PAGES]), &
    'kinds of actions, and two flags')
end program
