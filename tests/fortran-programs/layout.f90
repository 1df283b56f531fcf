! SPDX-License-Identifier: MIT
! Each type has the layout of its struct: layout.c fills the members with 1, 2, 3 and so on.
program layout
  use, intrinsic :: iso_c_binding
  use reel
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
      type(reel_checkpoint_options), intent(out) :: options
    end subroutine

    subroutine fill_stats(stats) bind(C)
      import
      type(reel_checkpoint_stats), intent(out) :: stats
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
  type(reel_checkpoint_options) :: options
  type(reel_checkpoint_stats) :: stats
  type(reel_layout) :: elements
  integer :: i

  call ok(c_sizeof(tape) >= bytes_of(0), 'reel_tape')
  call ok(c_sizeof(mark) == bytes_of(1), 'reel_mark')
  call ok(c_sizeof(pool) == bytes_of(2), 'reel_pool_options')
  call ok(c_sizeof(problem) == bytes_of(3), 'reel_problem')
  call ok(c_sizeof(options) == bytes_of(4), 'reel_checkpoint_options')
  call ok(c_sizeof(stats) == bytes_of(5), 'reel_checkpoint_stats')

  call fill_pool_options(pool)
  call ok(all([pool%hard_budget, pool%soft_budget, pool%slab_bytes, pool%first_slab_bytes, &
    int(pool%magazine_slabs, c_size_t), int(pool%flags, c_size_t), &
    transfer(pool%store%handle, 0_c_size_t)] == [1, 2, 3, 4, 5, 6, 7]), &
    'members of reel_pool_options')
  call ok(all(pool%reserved == [8, 9, 10]), 'and the last of them')

  call fill_problem(problem)
  call ok(problem%steps == 1 .and. problem%advance_cost == 2 .and. problem%record_cost == 3 .and. &
    problem%reverse_cost == 4 .and. problem%tape_states == 5 .and. problem%period == 6 .and. &
    problem%tiers == 7, 'members of reel_problem')
  call ok(all(problem%tier%slots == [8, 11, 14, 17]) .and. &
    all(problem%tier%store_cost == [9, 12, 15, 18]) .and. &
    all(problem%tier%load_cost == [10, 13, 16, 19]), 'its tiers')
  call ok(all(problem%reserved == [20, 21, 22]), 'and the last of them')

  call fill_options(options)
  call ok(transfer(options%pool%handle, 0_c_size_t) == 1 .and. &
    all([(transfer(options%store(i)%handle, 0_c_size_t), i=1, 4)] == [2, 3, 4, 5]) .and. &
    options%segment_steps == 6 .and. options%steps == 7 .and. &
    transfer(options%finished, 0_c_size_t) == 8 .and. options%puts == 9 .and. &
    options%gets == 10 .and. options%flags == 11, 'members of reel_checkpoint_options')
  call ok(transfer(options%restart, 0_c_size_t) == 12 .and. options%restart_seconds == 13 .and. &
    options%adjoint_bytes == 14 .and. all(options%reserved == [15, 16, 17]), 'and the last of them')

  call fill_stats(stats)
  call ok(all([stats%advanced, stats%recorded, stats%reversed, stats%stores, stats%loads, &
    stats%put_bytes, stats%got_bytes, stats%failed_puts, stats%fetched, stats%waits, &
    stats%wait_ns, stats%peak_snapshot_bytes, stats%peak_tape_bytes, stats%unlike_step, &
    stats%saves, stats%failed_saves, stats%reserved] == [(i, i=1, 24)]), &
    'members of reel_checkpoint_stats')

  call fill_layout(elements)
  call ok(elements%element == 1 .and. elements%stride == 2, 'members of reel_layout')

  call ok(all([(constant(i), i=0, 12)] == [REEL_CHECKED, REEL_POOL_CHECKED, &
    REEL_POOL_SMALL_PAGES, REEL_CHECKPOINT_AUDIT, REEL_STORE_ALL, REEL_BINOMIAL, REEL_MIXED, &
    REEL_MULTISTAGE, REEL_TWO_LEVEL, REEL_HIERARCHICAL, REEL_DISK_REVOLVE, REEL_PERIODIC, &
    REEL_ONLINE]), 'constants')
  call ok(constant(13) == REEL_UNKNOWN_STEPS .and. constant(14) == REEL_MOST_TIERS, &
    'and the last of them')
end program
