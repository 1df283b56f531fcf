! SPDX-License-Identifier: MIT
! Scalars of each kind, bits, looks, and the size of a tape.
program values
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use reel
  use checks
  implicit none
  type(reel_tape) :: tape, other
  integer, parameter :: n = 100000
  integer :: i, right

  call ok(reel_tape_is_empty(tape) .and. reel_tape_bytes(tape) == 0, 'a tape is empty as declared')
  call kinds()
  call in_one_order()
  call bits()
  call many()
  call ok(reel_tape_is_empty(tape) .and. reel_tape_error(tape) == 0, 'nothing is left on the tape')
  call reel_tape_close(tape)

contains

  subroutine kinds()
    integer(int32) :: i4
    integer(int64) :: i8
    real(real32) :: r4
    real(real64) :: r8
    complex(real32) :: c4
    complex(real64) :: c8
    logical :: l
    logical(c_bool) :: b

    call reel_push(tape, -7_int32)
    call reel_look(tape, i4)
    call ok(i4 == -7, 'look: integer(4)')
    i4 = 0
    call reel_pop(tape, i4)
    call ok(i4 == -7, 'pop: integer(4)')

    call reel_push(tape, -7000000000000_int64)
    call reel_look(tape, i8)
    call ok(i8 == -7000000000000_int64, 'look: integer(8)')
    i8 = 0
    call reel_pop(tape, i8)
    call ok(i8 == -7000000000000_int64, 'pop: integer(8)')

    call reel_push(tape, 1.25_real32)
    call reel_look(tape, r4)
    call ok(r4 == 1.25_real32, 'look: real(4)')
    r4 = 0
    call reel_pop(tape, r4)
    call ok(r4 == 1.25_real32, 'pop: real(4)')

    call reel_push(tape, acos(-1.0_real64))
    call reel_look(tape, r8)
    call ok(r8 == acos(-1.0_real64), 'look: real(8)')
    r8 = 0
    call reel_pop(tape, r8)
    call ok(r8 == acos(-1.0_real64), 'pop: real(8)')

    call reel_push(tape, (1.5_real32, -2.5_real32))
    call reel_look(tape, c4)
    call ok(c4 == (1.5_real32, -2.5_real32), 'look: complex(4)')
    c4 = 0
    call reel_pop(tape, c4)
    call ok(c4 == (1.5_real32, -2.5_real32), 'pop: complex(4)')

    call reel_push(tape, (1.5_real64, -2.5_real64))
    call reel_look(tape, c8)
    call ok(c8 == (1.5_real64, -2.5_real64), 'look: complex(8)')
    c8 = 0
    call reel_pop(tape, c8)
    call ok(c8 == (1.5_real64, -2.5_real64), 'pop: complex(8)')

    call reel_push(tape, .true.)
    call reel_push(tape, .false.)
    call reel_look(tape, l)
    call ok(.not. l, 'look: logical')
    call reel_pop(tape, l)
    call ok(.not. l, 'pop: logical, .false.')
    call reel_pop(tape, l)
    call ok(l, 'pop: logical, .true.')

    call reel_push(tape, .true._c_bool)
    call reel_push(tape, .false._c_bool)
    call reel_look(tape, b)
    call ok(.not. logical(b), 'look: logical(c_bool)')
    call reel_pop(tape, b)
    call ok(.not. logical(b), 'pop: logical(c_bool), .false.')
    call reel_pop(tape, b)
    call ok(logical(b), 'pop: logical(c_bool), .true.')
  end subroutine

  subroutine in_one_order()
    integer(int32) :: i4
    real(real64) :: r8, array(3)
    logical :: l

    call reel_push(tape, 1_int32)
    call reel_push(tape, .true.)
    call reel_push_array(tape, [1.0_real64, 2.0_real64, 3.0_real64])
    call reel_push(tape, 4.0_real64)
    call reel_tape_move(other, tape)
    call ok(reel_tape_is_empty(tape) .and. .not. reel_tape_is_empty(other), 'a tape is moved')
    call ok(reel_tape_bytes(other) == 8 + 24 + 8, 'a tape tells its bytes')
    call reel_pop(other, r8)
    call reel_pop_array(other, array)
    call reel_pop(other, l)
    call reel_pop(other, i4)
    call ok(r8 == 4 .and. all(array == [1, 2, 3]) .and. l .and. i4 == 1, &
      'values of all kinds are in one order')
    call ok(reel_tape_is_empty(other), 'and all are popped')
    call reel_tape_close(other)
  end subroutine

  subroutine bits()
    integer :: value
    integer(int64) :: long

    call reel_push_bits(tape, 5, 3)
    call reel_push_bits(tape, -2, 32)
    call reel_push_bits(tape, 4294967295_int64, 32)
    call reel_push_bits(tape, 9, 0)
    call reel_pop_bits(tape, value, 0)
    call ok(value == 0, 'no bits')
    call reel_pop_bits(tape, long, 32)
    call ok(long == 4294967295_int64, '32 bits in an integer(8)')
    call reel_pop_bits(tape, value, 32)
    call ok(value == -2, '32 bits in an integer(4)')
    call reel_pop_bits(tape, value, 3)
    call ok(value == 5, 'three bits')
  end subroutine

  subroutine many()
    real(real64) :: x
    logical :: l

    do i = 1, n
      call reel_push(tape, real(i, real64))
      call reel_push(tape, mod(i, 3) == 0)
    end do
    right = 0
    do i = n, 1, -1
      call reel_pop(tape, l)
      call reel_pop(tape, x)
      if (x == i .and. (l .eqv. mod(i, 3) == 0)) right = right + 1
    end do
    call ok(right == n, 'many values, over several slabs')
  end subroutine
end program
