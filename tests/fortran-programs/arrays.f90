! SPDX-License-Identifier: MIT
! Arrays and sections of ranks 0 to 7, of several types, and spans.
program arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use reel
  use checks
  implicit none

  type point
    real(real64) :: x
    integer(int32) :: id
  end type

  type(reel_tape) :: tape

  call ranks()
  call sections()
  call types()
  call large()
  call one_as_the_other()
  call spans()
  call ok(reel_tape_is_empty(tape) .and. reel_tape_error(tape) == 0, 'nothing is left on the tape')
  call reel_tape_close(tape)

contains

  subroutine ranks()
    real(real64) :: a(2, 3, 2, 3, 2, 3, 2), b(2, 3, 2, 3, 2, 3, 2), x
    integer :: i

    a = reshape([(real(i, real64), i=1, size(a))], shape(a))
    b = 0
    call reel_push_array(tape, a(:, 1, 1, 1, 1, 1, 1))
    call reel_push_array(tape, a(:, :, 1, 1, 1, 1, 1))
    call reel_push_array(tape, a(:, :, :, 1, 1, 1, 1))
    call reel_push_array(tape, a(:, :, :, :, 1, 1, 1))
    call reel_push_array(tape, a(:, :, :, :, :, 1, 1))
    call reel_push_array(tape, a(:, :, :, :, :, :, 1))
    call reel_push_array(tape, a)
    call reel_push_array(tape, a(2, 3, 2, 3, 2, 3, 2))
    call reel_pop_array(tape, x)
    call ok(x == a(2, 3, 2, 3, 2, 3, 2), 'an array of rank 0')
    call reel_pop_array(tape, b)
    call ok(all(a == b), 'an array of rank 7')
    b = 0
    call reel_pop_array(tape, b(:, :, :, :, :, :, 1))
    call ok(all(a(:, :, :, :, :, :, 1) == b(:, :, :, :, :, :, 1)) .and. &
      all(b(:, :, :, :, :, :, 2) == 0), 'an array of rank 6')
    b = 0
    call reel_pop_array(tape, b(:, :, :, :, :, 1, 1))
    call ok(all(a(:, :, :, :, :, 1, 1) == b(:, :, :, :, :, 1, 1)), 'an array of rank 5')
    b = 0
    call reel_pop_array(tape, b(:, :, :, :, 1, 1, 1))
    call ok(all(a(:, :, :, :, 1, 1, 1) == b(:, :, :, :, 1, 1, 1)), 'an array of rank 4')
    b = 0
    call reel_pop_array(tape, b(:, :, :, 1, 1, 1, 1))
    call ok(all(a(:, :, :, 1, 1, 1, 1) == b(:, :, :, 1, 1, 1, 1)), 'an array of rank 3')
    b = 0
    call reel_pop_array(tape, b(:, :, 1, 1, 1, 1, 1))
    call ok(all(a(:, :, 1, 1, 1, 1, 1) == b(:, :, 1, 1, 1, 1, 1)), 'an array of rank 2')
    b = 0
    call reel_pop_array(tape, b(:, 1, 1, 1, 1, 1, 1))
    call ok(all(a(:, 1, 1, 1, 1, 1, 1) == b(:, 1, 1, 1, 1, 1, 1)), 'an array of rank 1')
  end subroutine

  ! Each section of a goes by the tape to the same section of b; the rest of b stays 0.
  subroutine sections()
    real(real64), target :: a(10, 11, 12), b(10, 11, 12)
    real(real64), pointer :: p(:, :)
    real(real64), allocatable :: none(:)
    integer :: i

    a = reshape([(real(i, real64), i=1, size(a))], shape(a))

    b = 0
    call reel_push_array(tape, a(::2, 3, 4))
    call reel_pop_array(tape, b(::2, 3, 4))
    call ok(all(a(::2, 3, 4) == b(::2, 3, 4)) .and. count(b /= 0) == 5, 'every other element')

    b = 0
    call reel_push_array(tape, a(10:1:-3, 11, 12:1:-1))
    call reel_pop_array(tape, b(10:1:-3, 11, 12:1:-1))
    call ok(all(a(10:1:-3, 11, :) == b(10:1:-3, 11, :)) .and. count(b /= 0) == 4 * 12, &
      'strides below zero')

    b = 0
    call reel_push_array(tape, a(:, 2:9:3, :))
    call reel_pop_array(tape, b(:, 2:9:3, :))
    call ok(all(a(:, 2:9:3, :) == b(:, 2:9:3, :)) .and. count(b /= 0) == 10 * 3 * 12, &
      'whole columns, some of them')

    b = 0
    call reel_push_array(tape, a(2:9, 2:9, 2:9))
    call reel_pop_array(tape, b(2:9, 2:9, 2:9))
    call ok(all(a(2:9, 2:9, 2:9) == b(2:9, 2:9, 2:9)) .and. count(b /= 0) == 512, &
      'the inner part of a field')

    b = 0
    p => a(3, :, :)
    call reel_push_array(tape, p)
    p => b(3, :, :)
    call reel_pop_array(tape, p)
    call ok(all(a(3, :, :) == b(3, :, :)) .and. count(b /= 0) == 11 * 12, 'pointers to sections')

    allocate (none(0))
    call reel_push_array(tape, none)
    call reel_push_array(tape, a(5:4, :, :))
    call reel_pop_array(tape, b(5:4, :, :))
    call reel_pop_array(tape, none)
    call ok(reel_tape_is_empty(tape) .and. reel_tape_error(tape) == 0, 'no elements')
  end subroutine

  subroutine types()
    integer(int8) :: bytes(5) = [1_int8, 2_int8, 3_int8, 4_int8, 5_int8], bytes_back(5)
    logical :: mask(7) = [.true., .false., .false., .true., .true., .false., .true.], mask_back(7)
    character(3) :: words(4) = ['one', 'two', 'six', 'ten'], words_back(4)
    complex(real32) :: z(6), z_back(6)
    type(point) :: points(5), points_back(5)
    real(real64) :: one
    integer :: i

    z = [(cmplx(i, -i, real32), i=1, 6)]
    points = [(point(i * 1.5_real64, i), i=1, 5)]
    call reel_push_array(tape, bytes(1:5:2))
    call reel_push_array(tape, mask)
    call reel_push_array(tape, words(4:1:-1))
    call reel_push_array(tape, z(2:6:2))
    call reel_push_array(tape, points%x)
    call reel_push_array(tape, points(1:5:2))
    call reel_push_array(tape, 2.5_real64)
    call reel_pop_array(tape, one)
    call ok(one == 2.5, 'a scalar as an array')
    call reel_pop_array(tape, points_back(1:5:2))
    call ok(all(points(1:5:2)%x == points_back(1:5:2)%x) .and. &
      all(points(1:5:2)%id == points_back(1:5:2)%id), 'structs of 16 bytes')
    call reel_pop_array(tape, points_back%x)
    call ok(all(points%x == points_back%x), 'a component of each struct')
    call reel_pop_array(tape, z_back(2:6:2))
    call ok(all(z(2:6:2) == z_back(2:6:2)), 'complex numbers')
    call reel_pop_array(tape, words_back(4:1:-1))
    call ok(all(words == words_back), 'words of 3 characters')
    call reel_pop_array(tape, mask_back)
    call ok(all(mask .eqv. mask_back), 'logicals')
    bytes_back = 0
    call reel_pop_array(tape, bytes_back(1:5:2))
    call ok(all(bytes_back == [1_int8, 0_int8, 3_int8, 0_int8, 5_int8]), 'bytes')
  end subroutine

  ! Sections of several pieces (4 KiB), and of several slabs.
  subroutine large()
    real(real32), allocatable :: a(:, :), b(:, :)
    integer :: i

    allocate (a(1001, 2003), b(1001, 2003))
    a = reshape([(real(i, real32), i=1, size(a))], shape(a))
    b = 0
    call reel_push(tape, 7.0_real64)
    call reel_push_array(tape, a(2:1000, ::3))
    call reel_push_array(tape, a(::2, :))
    call reel_push_array(tape, a)
    call reel_pop_array(tape, b)
    call ok(all(a == b), 'an array of several slabs')
    b = 0
    call reel_pop_array(tape, b(::2, :))
    call ok(all(a(::2, :) == b(::2, :)) .and. all(b(2::2, :) == 0), 'every other row of it')
    b = 0
    call reel_pop_array(tape, b(2:1000, ::3))
    call ok(all(a(2:1000, ::3) == b(2:1000, ::3)) .and. count(b /= 0) == 999 * 668, &
      'parts of its columns')
    call pop_seven()
  end subroutine

  subroutine pop_seven()
    real(real64) :: seven

    call reel_pop(tape, seven)
    call ok(seven == 7, 'what lies below is still there')
  end subroutine

  subroutine one_as_the_other()
    integer(int16), allocatable :: a(:, :), b(:, :), packed(:)
    integer :: i

    allocate (a(3001, 4), b(3001, 4), packed(1501 * 4))
    a = reshape([(int(mod(i, 30000), int16), i=1, size(a))], shape(a))
    b = 0
    call reel_push(tape, 7.0_real64)
    call reel_push_array(tape, a(::2, :))
    call reel_pop_array(tape, packed)
    call ok(all(packed == reshape(a(::2, :), shape(packed))), 'a section is popped as an array')
    call reel_push_array(tape, packed)
    call reel_pop_array(tape, b(::2, :))
    call ok(all(b(::2, :) == a(::2, :)) .and. all(b(2::2, :) == 0), &
      'an array is popped as a section')
    call pop_seven()
  end subroutine

  subroutine spans()
    integer(int32), pointer, contiguous :: i4(:)
    integer(int64), pointer, contiguous :: i8(:)
    real(real32), pointer, contiguous :: r4(:)
    real(real64), pointer, contiguous :: r8(:), matrix(:, :)
    complex(real32), pointer, contiguous :: c4(:)
    complex(real64), pointer, contiguous :: c8(:)
    integer :: i, k
    integer(int64) :: n

    n = 5
    call reel_push_span(tape, i4, 3)
    i4 = [1, 2, 3]
    call reel_push_span(tape, i8, n)
    i8 = 8
    call reel_push_span(tape, r4, 5)
    r4 = 4
    call reel_push_span(tape, c4, n)
    c4 = (1, 4)
    call reel_push_span(tape, c8, 5)
    c8 = (1, 8)
    nullify (i4, i8, r4, c4, c8)
    call reel_pop_span(tape, c8, 5)
    call ok(size(c8) == 5 .and. all(c8 == (1, 8)), 'span: complex(8)')
    call reel_pop_span(tape, c4, n)
    call ok(size(c4) == 5 .and. all(c4 == (1, 4)), 'span: complex(4)')
    call reel_pop_span(tape, r4, 5)
    call ok(size(r4) == 5 .and. all(r4 == 4), 'span: real(4)')
    call reel_pop_span(tape, i8, n)
    call ok(size(i8) == 5 .and. all(i8 == 8), 'span: integer(8)')
    call reel_pop_span(tape, i4, 3)
    call ok(all(i4 == [1, 2, 3]), 'span: integer(4)')

    do i = 1, 1000
      call reel_push_span(tape, r8, 600)
      matrix(1:20, 1:30) => r8
      matrix = i
      matrix(20, 30) = -i
    end do
    k = 0
    do i = 1000, 1, -1
      call reel_pop_span(tape, r8, 600)
      if (all(r8(1:599) == i) .and. r8(600) == -i) k = k + 1
    end do
    call ok(k == 1000, 'span: real(8), many of them, as matrices')
    call reel_push_span(tape, r8, 0)
    call ok(associated(r8) .eqv. size(r8) == 0 .and. reel_tape_error(tape) == 0, &
      'span: of no elements')
    call reel_pop_span(tape, r8, 0)
  end subroutine
end program
