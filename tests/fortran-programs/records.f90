! SPDX-License-Identifier: MIT
! Records of derived types, spans that are reserved and committed, and statistics of pools.
program records
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use reel
  use checks
  implicit none

  type, bind(C) :: particle
    real(c_double) :: x(3)
    integer(c_int32_t) :: id
  end type

  ! A type that is not interoperable with C.
  type :: cell
    real(real64) :: u, v
    logical :: wet
    character(5) :: name
  end type

  type(reel_tape) :: tape
  integer, parameter :: n = 200000

  call one_of_each()
  call many()
  call refused()
  call reserved()
  call unknown_count()
  call too_many()
  call stats()
  call ok(reel_tape_is_empty(tape) .and. reel_tape_error(tape) == 0, 'nothing is left on the tape')
  call reel_tape_close(tape)

contains

  subroutine one_of_each()
    type(particle) :: p, p_back
    type(cell) :: c, c_back
    real(real64) :: matrix(3, 3), back(3, 3)
    integer :: i

    p = particle([1, 2, 3], 7)
    c = cell(1.5_real64, -2.5_real64, .true., 'shore')
    matrix = reshape([(real(i, real64), i=1, 9)], [3, 3])
    call reel_push_record(tape, p)
    call reel_push(tape, 1.25_real64)
    call reel_push_record(tape, c)
    call reel_push_record(tape, matrix)
    back = 0
    call reel_look_record(tape, back)
    call ok(all(back == matrix), 'a matrix as a record is looked at')
    back = 0
    call reel_pop_record(tape, back)
    call ok(all(back == matrix), 'and popped')
    call reel_look_record(tape, c_back)
    call ok(c_back%u == c%u .and. c_back%name == 'shore', 'a record is looked at')
    c_back%u = 0
    call reel_pop_record(tape, c_back)
    call ok(c_back%u == c%u .and. c_back%v == c%v .and. c_back%wet .and. c_back%name == 'shore', &
      'and popped')
    call reel_pop(tape, matrix(1, 1))
    call reel_pop_record(tape, p_back)
    call ok(all(p_back%x == p%x) .and. p_back%id == 7 .and. matrix(1, 1) == 1.25, &
      'records are in one order with all else')
  end subroutine

  subroutine many()
    type(particle) :: p
    integer :: i, right

    do i = 1, n
      call reel_push_record(tape, particle([i, 2 * i, 3 * i], i))
    end do
    call ok(reel_tape_bytes(tape) == 32_int64 * n, 'a record takes its size')
    right = 0
    do i = n, 1, -1
      call reel_pop_record(tape, p)
      if (p%id == i .and. all(p%x == [i, 2 * i, 3 * i])) right = right + 1
    end do
    call ok(right == n, 'many records, over several slabs')
  end subroutine

  subroutine refused()
    type(reel_tape) :: bad
    type(particle) :: p
    real(real64) :: field(4, 4)

    call reel_set_error_handler(print_error)
    p = particle([1, 2, 3], 7)
    call reel_pop_record(bad, p)
    call ok(reel_tape_error(bad) /= 0 .and. p%id == -1 .and. all(p%x /= p%x), &
      'a record that is popped of an empty tape is all ones')
    call reel_tape_close(bad)
    field = 0
    call reel_push_record(bad, field(1, :))
    call ok(reel_tape_error(bad) == -22, 'a section is no record')
    call reel_tape_close(bad)
    call reel_set_error_handler()
  end subroutine

  subroutine reserved()
    integer(int32), pointer :: i4(:)
    integer(int64), pointer :: i8(:)
    real(real32), pointer :: r4(:)
    real(real64), pointer :: r8(:)
    complex(real32), pointer :: c4(:)
    complex(real64), pointer :: c8(:)

    call reel_reserve(tape, i4, 10)
    i4(:5) = [1, 2, 3, 4, 5]
    call reel_commit(tape, i4, 5)
    call reel_reserve(tape, i8, 10_int64)
    i8(:2) = [6, 7]
    call reel_commit(tape, i8, 2_int64)
    call reel_reserve(tape, r4, 3)
    r4 = 8
    call reel_commit(tape, r4, 3)
    call reel_reserve(tape, r8, 100)
    r8 = 9
    call reel_commit(tape, r8, 99)
    call reel_reserve(tape, c4, 1)
    c4 = (1, 2)
    call reel_commit(tape, c4, 1)
    call reel_reserve(tape, c8, 2)
    c8 = (3, 4)
    call reel_commit(tape, c8, 2)
    call reel_reserve(tape, r8, 1000)
    call reel_commit(tape, r8, 0)
    call ok(reel_tape_bytes(tape) == 24 + 16 + 16 + 99 * 8 + 8 + 32, &
      'what is committed is on the tape, and nothing else')
    call reel_pop_span(tape, r8, 0)
    call reel_pop_span(tape, c8, 2)
    call ok(all(c8 == (3, 4)), 'complex(8)')
    call reel_pop_span(tape, c4, 1)
    call ok(all(c4 == (1, 2)), 'complex(4)')
    call reel_pop_span(tape, r8, 99)
    call ok(all(r8 == 9) .and. size(r8) == 99, 'real(8)')
    call reel_pop_span(tape, r4, 3)
    call ok(all(r4 == 8), 'real(4)')
    call reel_pop_span(tape, i8, 2)
    call ok(all(i8 == [6, 7]), 'integer(8)')
    call reel_pop_span(tape, i4, 5)
    call ok(all(i4 == [1, 2, 3, 4, 5]), 'integer(4)')
  end subroutine

  ! The number of steps of an iteration is known only at its end. Each step writes a value.
  subroutine unknown_count()
    integer, parameter :: most = 64, runs = 5000
    real(real64), pointer, contiguous :: r(:)
    integer(int32) :: counts(runs), count
    integer :: run, i, right

    do run = 1, runs
      call reel_reserve(tape, r, most)
      count = 0
      do while (count < most .and. mod(count * 7 + run, 61) /= 0)
        count = count + 1
        r(count) = run + 0.5_real64 * count
      end do
      call reel_commit(tape, r, count)
      counts(run) = count
    end do
    right = 0
    do run = runs, 1, -1
      call reel_pop_span(tape, r, counts(run))
      if (all(r == [(run + 0.5_real64 * i, i=1, counts(run))])) right = right + 1
    end do
    call ok(right == runs, 'spans whose length is known only after they are written')
  end subroutine

  subroutine too_many()
    type(reel_tape) :: bad
    real(real64), pointer :: r(:)

    call reel_set_error_handler(print_error)
    call reel_reserve(bad, r, 4)
    call reel_commit(bad, r, 5)
    call ok(reel_tape_error(bad) == -22, 'more than was reserved is refused')
    call reel_tape_close(bad)
    call reel_set_error_handler()
  end subroutine

  subroutine stats()
    type(reel_pool_options) :: options
    type(reel_pool_stats) :: s
    type(reel_pool) :: pool
    type(reel_tape) :: own
    real(real64) :: a(1000)
    integer :: i

    options%slab_bytes = 65536
    options%hard_budget = 1048576
    if (reel_pool_open(pool, options) /= 0 .or. reel_tape_open(own, pool) /= 0) error stop
    a = 1
    do i = 1, 50
      call reel_push_array(own, a)
    end do
    call reel_pool_get_stats(pool, s)
    call ok(s%hard_budget == 1048576 .and. s%slab_bytes == 65536, 'a pool tells its options')
    call ok(s%slabs_in_use >= 6 .and. s%resident_bytes >= 400000 .and. &
      s%peak_resident_bytes <= s%hard_budget .and. s%refused == 0, 'and what tapes take of it')
    call reel_tape_close(own)
    call reel_pool_get_stats(pool, s)
    call ok(s%slabs_in_use == 0, 'nothing, when they are closed')
    call ok(reel_pool_close(pool) == 0, 'the pool closes')
    call reel_pool_get_stats(reel_pool_default(), s)
    call ok(s%takes > 0, 'the default pool has its own')
  end subroutine
end program
