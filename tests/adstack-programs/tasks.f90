! SPDX-License-Identifier: MIT
! Explicit tasks with segments, from Fortran: a handle is an INTEGER*8 that is 0 at first.
program tasks
  implicit none
  integer, parameter :: n = 200
  integer(8) :: segment(n)
  real(8) :: x(n), xb(n)
  integer :: i

  segment = 0
  x = [(0.01d0 * i, i=1, n)]
  xb = 0
  !$omp parallel num_threads(3)
  !$omp single
  do i = 1, n
    !$omp task firstprivate(i)
    call reel_adstack_segment_enter(segment(i))
    call forward(i)
    call reel_adstack_segment_leave(segment(i))
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  !$omp parallel num_threads(2)
  !$omp single
  do i = 1, n
    !$omp task firstprivate(i)
    call reel_adstack_segment_enter(segment(i))
    call backward(i)
    call reel_adstack_segment_leave(segment(i))
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  if (any(segment /= 0) .or. any(xb /= 0)) print *, 'wrong'
  print *, 'done'

contains

  subroutine forward(i)
    integer, intent(in) :: i
    integer :: k

    do k = 1, 100 + i
      call pushreal8(x(i) * k)
      call pushinteger4(k)
    end do
  end subroutine

  subroutine backward(i)
    integer, intent(in) :: i
    integer :: k, seen
    real(8) :: value

    do k = 100 + i, 1, -1
      call popinteger4(seen)
      call popreal8(value)
      if (seen /= k .or. value /= x(i) * k) xb(i) = xb(i) + 1
    end do
  end subroutine
end program
