! SPDX-License-Identifier: MIT
! A tape for each thread: threadprivate, and in an array.
module tapes
  use reel
  implicit none
  type(reel_tape), save :: own
  !$omp threadprivate(own)
end module

program threads
  use, intrinsic :: iso_fortran_env
  use tapes
  use checks
  implicit none
  integer, parameter :: n = 20000
  type(reel_tape) :: tape(4)
  integer :: i, k, right
  real(real64) :: x, y

  right = 0
  !$omp parallel do num_threads(4) schedule(static, 1) private(i, x, y) reduction(+:right)
  do k = 1, 4
    do i = 1, n
      call reel_push(own, real(i * k, real64))
      call reel_push(tape(k), real(i + k, real64))
    end do
    do i = n, 1, -1
      call reel_pop(own, x)
      call reel_pop(tape(k), y)
      if (nint(x) == i * k .and. nint(y) == i + k) right = right + 1
    end do
    call reel_tape_close(own)
    call reel_tape_close(tape(k))
  end do
  call ok(right == 4 * n, 'four threads, each with tapes of its own')
end program
