! SPDX-License-Identifier: MIT
! A program that uses the installed module.
program installcheck
  use reel
  implicit none
  type(reel_tape) :: tape
  double precision :: x, a(4)

  call reel_push(tape, 1.5d0)
  call reel_push_array(tape, [1d0, 2d0, 3d0, 4d0])
  call reel_pop_array(tape, a(4:1:-1))
  call reel_pop(tape, x)
  if (reel_tape_error(tape) /= 0 .or. any(nint(a) /= [4, 3, 2, 1]) .or. nint(2 * x) /= 3) error stop 1
  call reel_tape_close(tape)
end program
