! SPDX-License-Identifier: MIT
! Marks, rewinding, holds, replay, and errors.
module handler
  implicit none
  integer :: calls = 0, last_error = 0
  character(:), allocatable :: last_message
contains
  subroutine note(error, message)
    integer, intent(in) :: error
    character(*), intent(in) :: message

    calls = calls + 1
    last_error = error
    last_message = message
  end subroutine
end module

program places
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env
  use, intrinsic :: ieee_arithmetic
  use reel
  use checks
  use handler
  implicit none
  integer, parameter :: enodata = 61, edquot = 122, einval = 22, ebadmsg = 74

  call reel_set_error_handler(note)
  call marks()
  call replay()
  call empty()
  call budget()
  call refused_section()
  call checked()
  call open_wrong()
  call store()
  call reel_set_error_handler()

contains

  ! The sum of n values that are popped.
  real(real64) function sum_of(tape, n)
    type(reel_tape), intent(inout) :: tape
    integer, intent(in) :: n
    real(real64) :: x
    integer :: i

    sum_of = 0
    do i = 1, n
      call reel_pop(tape, x)
      sum_of = sum_of + x
    end do
  end function

  subroutine push_numbers(tape, n)
    type(reel_tape), intent(inout) :: tape
    integer, intent(in) :: n
    integer :: i

    do i = 1, n
      call reel_push(tape, real(i, real64))
    end do
  end subroutine

  subroutine marks()
    type(reel_tape) :: tape
    type(reel_mark) :: mark
    integer :: error

    call push_numbers(tape, 10)
    mark = reel_tape_mark(tape)
    call push_numbers(tape, 100000)
    error = reel_tape_rewind(tape, mark)
    call ok(error == 0 .and. reel_tape_bytes(tape) == 80, 'a tape is rewound to a mark')
    call ok(sum_of(tape, 10) == 55, 'what was below the mark is popped')
    call push_numbers(tape, 100000)
    mark = reel_tape_mark(tape)
    call ok(sum_of(tape, 100000) == 5000050000.0_real64, 'all of it is popped')
    call ok(reel_tape_rewind(tape, mark) == -einval, 'a mark that is not on the tape is refused')
    call reel_tape_close(tape)
  end subroutine

  subroutine replay()
    type(reel_tape) :: tape
    integer :: k, right

    call push_numbers(tape, 50000)
    right = 0
    if (reel_tape_hold(tape) == 0) then
      do k = 1, 3
        if (reel_tape_replay(tape) /= 0) exit
        if (sum_of(tape, 50000) == 1250025000.0_real64) right = right + 1
        call push_numbers(tape, 3)
      end do
    end if
    call ok(right == 3, 'a tape is reversed three times')
    call ok(reel_tape_release(tape) == 0, 'and released')
    call ok(sum_of(tape, 3) == 6, 'what was pushed then is on it')
    call ok(reel_tape_replay(tape) == -einval, 'a replay without a hold is refused')
    call reel_tape_close(tape)
  end subroutine

  subroutine empty()
    type(reel_tape) :: tape
    real(real64) :: x
    integer :: i

    calls = 0
    call reel_pop(tape, x)
    call ok(ieee_is_nan(x), 'a pop of an empty tape gives NaN')
    call reel_pop(tape, i)
    call ok(i == -1, 'and -1 as an integer')
    call ok(reel_tape_error(tape) == -enodata, 'the error sticks')
    call ok(calls == 1 .and. last_error == -enodata, 'the handler is called once')
    call ok(index(last_message, 'the tape is empty') > 0, 'with the message: '//last_message)
    call ok(len(reel_error_text(-enodata)) > 5, 'an error in words: '//reel_error_text(-enodata))
    call reel_tape_close(tape)
    call ok(reel_tape_error(tape) == 0, 'a closed tape has no error')
  end subroutine

  subroutine open_small(pool, tape)
    type(reel_pool), intent(inout) :: pool
    type(reel_tape), intent(inout) :: tape
    type(reel_pool_options) :: options

    options%hard_budget = 1048576
    options%slab_bytes = 65536
    call ok(reel_pool_open(pool, options) == 0, 'a pool may have such a budget')
    call ok(reel_tape_open(tape, pool) == 0, 'and a tape on it')
  end subroutine

  subroutine budget()
    type(reel_pool) :: pool
    type(reel_tape) :: tape
    real(real64), pointer, contiguous :: span(:)
    real(real64) :: x, array(1000)
    integer :: i, right, nan
    integer, parameter :: n = 200000

    call open_small(pool, tape)
    calls = 0
    call push_numbers(tape, n)
    call ok(reel_tape_error(tape) == -edquot .and. reel_tape_refused(tape) > 0, &
      'pushes above the budget are refused')
    call ok(calls == 1 .and. last_error == -edquot, 'which is said once: '//last_message)
    call reel_push_span(tape, span, 1000)
    call ok(.not. associated(span), 'a refused span is not associated')
    call reel_pop_span(tape, span, 1000)
    call ok(.not. associated(span), 'nor is its pop')
    array = 1
    call reel_push_array(tape, array)
    array = 2
    call reel_pop_array(tape, array)
    call ok(all(ieee_is_nan(array)), 'a refused array is popped as NaN')
    right = 0
    nan = 0
    do i = n, 1, -1
      call reel_pop(tape, x)
      if (ieee_is_nan(x)) then
        nan = nan + 1
      else if (x == i) then
        right = right + 1
      end if
    end do
    call ok(nan > 0 .and. right > 0 .and. nan + right == n, &
      'refused values pop as NaN, those before them are right')
    call ok(reel_tape_clear_error(tape) == -edquot, 'the error is cleared')
    call reel_push(tape, 3.0_real64)
    call ok(sum_of(tape, 1) == 3, 'and the tape goes on')
    call reel_tape_close(tape)
    call ok(reel_pool_trim(pool, 0_c_size_t) > 0, 'idle memory is given back')
    call ok(reel_pool_close(pool) == 0, 'the pool is closed')
    call ok(.not. c_associated(pool%handle), 'and its handle is none any more')
  end subroutine

  ! A section is refused as a whole, even if there is room for a part of it.
  subroutine refused_section()
    type(reel_pool) :: pool
    type(reel_tape) :: tape
    real(real64), allocatable :: a(:, :), b(:)
    integer(c_int64_t) :: bytes

    call open_small(pool, tape)
    allocate (a(2, 500000), b(500000))
    a = 1
    b = 1
    call push_numbers(tape, 10)
    bytes = reel_tape_bytes(tape)
    call reel_push_array(tape, a(1, :))
    call ok(reel_tape_error(tape) == -edquot .and. reel_tape_bytes(tape) == bytes, &
      'of a section above the budget nothing is pushed')
    call ok(reel_tape_refused(tape) == 4000000, 'and all of it is refused')
    call reel_push_array(tape, a(1, 1:3000))
    call reel_pop_array(tape, b(1:3000))
    call ok(all(ieee_is_nan(b(1:3000))) .and. reel_tape_refused(tape) == 4000000, &
      'as is the next one')
    call reel_pop_array(tape, b)
    call ok(all(ieee_is_nan(b)) .and. reel_tape_refused(tape) == 0, &
      'a refused section is popped as an array of NaN')
    call ok(sum_of(tape, 10) == 55, 'what lies below is right')
    call ok(reel_tape_clear_error(tape) == -edquot, 'after that the error can be cleared')
    call reel_push_array(tape, b)
    call ok(reel_tape_error(tape) == -edquot, 'an array is refused')
    call reel_pop_array(tape, a(2, :))
    call ok(all(ieee_is_nan(a(2, :))) .and. all(a(1, :) == 1), 'and popped as a section of NaN')
    call reel_tape_close(tape)
    call ok(reel_pool_close(pool) == 0, 'the pool is closed')
  end subroutine

  subroutine checked()
    type(reel_tape) :: tape
    real(real64), allocatable :: a(:, :), b(:, :)
    real(real32) :: r4, r4s(20)
    integer(int64) :: i8s(10)
    integer :: i

    calls = 0
    allocate (a(2, 3000), b(2, 3000))
    a = 1.5
    b = 0
    call ok(reel_tape_open(tape, flags=REEL_CHECKED) == 0, 'a checked tape is opened')
    call reel_push_array(tape, a(1, :))
    call reel_push_array(tape, a(:, 1:1500))
    call reel_pop_array(tape, b(1, :))
    call ok(all(b(1, :) == 1.5) .and. reel_tape_error(tape) == 0, &
      'checked: arrays and sections mirror each other')
    call reel_pop_array(tape, b(:, 1501:3000))
    call ok(all(b(:, 1501:3000) == 1.5) .and. calls == 0, 'checked: the other way round')
    call reel_push(tape, 1_int32)
    call reel_pop(tape, r4)
    call ok(reel_tape_error(tape) == -ebadmsg .and. ieee_is_nan(r4), &
      'checked: a pop of another type is found')
    call ok(index(last_message, 'pop of real(4) (4 bytes) at ') == 1 .and. &
      index(last_message, 'the push of integer(4) (4 bytes) at ') > 0, &
      'checked: it names both types: '//last_message)
    i = index(last_message, '+0x')
    call ok(i > 0 .and. index(last_message(i + 3:), '+0x') > 0, 'checked: and both places')
    call reel_tape_close(tape)

    call ok(reel_tape_open(tape, flags=REEL_CHECKED) == 0, 'another one')
    call reel_push_array(tape, a(1, 1:10))
    call reel_pop_array(tape, r4s)
    call ok(reel_tape_error(tape) == -ebadmsg .and. index(last_message, '8 each') > 0, &
      'checked: ten doubles are not twenty floats: '//last_message)
    call reel_tape_close(tape)
    call ok(reel_tape_open(tape, flags=REEL_CHECKED) == 0, 'another one')
    call reel_push_array(tape, a(1, 1:10))
    call reel_pop_array(tape, i8s)
    call ok(reel_tape_error(tape) == -ebadmsg, 'checked: and not ten integers: '//last_message)
    call reel_tape_close(tape)
  end subroutine

  subroutine open_wrong()
    type(reel_pool) :: pool
    type(reel_pool_options) :: options
    type(reel_tape) :: tape

    call ok(reel_tape_open(tape, flags=64) == -einval, 'an unknown flag is refused')
    options%slab_bytes = 65
    call ok(reel_pool_open(pool, options) == -einval, 'a slab of 65 bytes is refused')
    call ok(index(reel_error_text(-einval), 'slab_bytes') == 1, &
      'which is said: '//reel_error_text(-einval))
  end subroutine

  ! A tape of 8 MB on a pool of 2 MiB: a store keeps the rest.
  subroutine store()
    type(reel_pool) :: pool
    type(reel_pool_options) :: options
    type(reel_layout) :: layout
    type(reel_store) :: nowhere
    type(reel_tape) :: tape

    call ok(reel_store_open(nowhere, 'nothing') == -einval, 'a store that there is not is refused')
    call ok(len(reel_error_text(0)) > 5, 'which is said: '//reel_error_text(0))
    call ok(reel_store_open(options%store, 'memory=64M', '.') == 0, 'a store is opened')
    options%hard_budget = 2097152
    options%slab_bytes = 65536
    call ok(reel_pool_open(pool, options) == 0, 'and a pool with it')
    call ok(reel_tape_open(tape, pool) == 0, 'and a tape')
    layout%element = 8
    call ok(reel_tape_set_layout(tape, layout) == 0, 'a layout is set')
    layout%element = 77
    call ok(reel_tape_set_layout(tape, layout) == -einval, 'one that cannot be is refused')
    call push_numbers(tape, 1000000)
    call ok(reel_tape_error(tape) == 0, 'a tape above its budget goes to a store')
    call ok(sum_of(tape, 1000000) == 500000500000.0_real64, 'and comes back')
    call reel_tape_close(tape)
    call ok(reel_pool_close(pool) == 0, 'the pool is closed')
  end subroutine
end program
