! SPDX-License-Identifier: MIT
! A program without explicit kinds: the options of the compiler choose the kinds of its variables.
program kinds
  use checks
  use reel
  implicit none
  type(reel_tape) :: tape
  integer :: k, bits, error
  real :: r
  double precision :: d
  complex :: z
  logical :: l, seen
  integer :: numbers(3) = [1, 2, 3]
  integer, pointer :: span(:)

  call reel_push(tape, 123456789)
  call reel_push(tape, 1.0 / 3.0)
  call reel_push(tape, 1.0d0 / 7.0d0)
  call reel_push(tape, (0.5, -0.25))
  call reel_push(tape, .true.)
  call reel_push_bits(tape, 21, 5)
  call reel_push_array(tape, numbers)
  call reel_push_span(tape, span, size(numbers))
  span = 2 * numbers

  call reel_pop_span(tape, span, size(numbers))
  call ok(all(span == [2, 4, 6]), 'a span')
  numbers = 0
  call reel_pop_array(tape, numbers)
  call ok(all(numbers == [1, 2, 3]), 'an array')
  call reel_pop_bits(tape, bits, 5)
  call ok(bits == 21, 'bits')
  call reel_look(tape, seen)
  call reel_pop(tape, l)
  call ok(l .and. seen, 'a logical')
  call reel_pop(tape, z)
  call ok(z == (0.5, -0.25), 'a complex number')
  call reel_pop(tape, d)
  call ok(d == 1.0d0 / 7.0d0, 'a number of double precision')
  call reel_pop(tape, r)
  call ok(r == 1.0 / 3.0, 'a real number')
  call reel_pop(tape, k)
  call ok(k == 123456789, 'an integer')
  call ok(logical(reel_tape_is_empty(tape)), 'the tape is empty')
  error = reel_tape_error(tape)
  call ok(error == 0, 'without an error')
  call ok(reel_error_text(error) /= reel_error_text(-22), 'an error has a text')
  call reel_tape_close(tape)
end program
