! SPDX-License-Identifier: MIT
! Worksharing in Fortran: each thread pushes and pops in its iterations by getStaticSchedule.
program worksharing
  implicit none
  integer, parameter :: n = 2000
  real*8 x(n), xb(n), serial(n), t, tb
  integer i, first, last, threads, branch
  integer*8 adstack_getcurrentstacksize
  external adstack_getcurrentstacksize
  integer*4 stackisthreadsafe
  external stackisthreadsafe
  do i = 1, n
    x(i) = 0.1d0 + 0.001d0*i
    serial(i) = merge(2d0*sin(x(i))*cos(x(i)), cos(x(i)), sin(x(i)) .gt. 0.5d0)
  end do
  call assertsafestack()
  if (stackisthreadsafe() .ne. 1) print *, 'not safe'
  do threads = 1, 4
    xb = 0d0
    !$omp parallel num_threads(threads) private(first, last, i, t, tb, branch)
    call getstaticschedule(1, n, 1, first, last)
    do i = first, last
      t = sin(x(i))
      call pushreal8(t)
      if (t .gt. 0.5d0) then
        call pushcontrol1b(0)
      else
        call pushcontrol1b(1)
      end if
    end do
    !$omp barrier
    do i = last, first, -1
      call popcontrol1b(branch)
      call popreal8(t)
      tb = 1d0
      if (branch .eq. 0) tb = 2d0*t
      xb(i) = tb*cos(x(i))
    end do
    if (adstack_getcurrentstacksize() .ne. 0) print *, 'left'
    !$omp end parallel
    if (any(xb .ne. serial)) print *, 'differs', threads
  end do
  print *, 'done'
end program
