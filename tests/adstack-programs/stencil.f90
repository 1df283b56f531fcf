! SPDX-License-Identifier: MIT
! A stencil's adjoint in the form of generated Fortran: implicit interfaces, scalars that are
! pushed as arrays, branches, a loop of unknown length.
subroutine step_fwd(n, u, count)
  implicit none
  integer n, i, count
  real*8 u(n), t
  real*4 s
  logical mask(4)
  character c
  count = 0
  do i = 2, n - 1
    t = 0.25d0*u(i - 1) + 0.5d0*u(i) + 0.25d0*u(i + 1)
    call pushreal8(u(i))
    call pushreal8array(t, 1)
    if (t .gt. 1.2d0) then
      u(i) = t*sin(t)
      call pushcontrol1b(0)
    else
      u(i) = t
      call pushcontrol1b(1)
    end if
    if (mod(i, 5) .eq. 0) then
      s = real(i)
      call pushreal4(s)
      mask = (/ .true., .false., t .gt. 1d0, .true. /)
      call pushbooleanarray(mask, 4)
      c = achar(65 + mod(i, 26))
      call pushcharacterarray(c, 1)
      call pushcontrol2b(2)
    else
      call pushinteger4(count)
      call pushcontrol2b(1)
    end if
    count = count + 1
  end do
  call pushinteger4(count)
end subroutine

subroutine step_bwd(n, u, ub)
  implicit none
  integer n, i, count, branch, seen
  real*8 u(n), ub(n), t, tb
  real*4 s
  logical mask(4)
  character c
  call popinteger4(count)
  do i = n - 1, n - count, -1
    call popcontrol2b(branch)
    if (branch .eq. 2) then
      call popcharacterarray(c, 1)
      call popbooleanarray(mask, 4)
      call popreal4(s)
      if (s .ne. real(i) .or. .not. mask(1) .or. mask(2)) print *, 'small', i
      if (c .ne. achar(65 + mod(i, 26))) print *, 'letter', i
    else
      call popinteger4(seen)
      if (seen .ne. i - 2) print *, 'count', i
    end if
    call popcontrol1b(branch)
    call popreal8array(t, 1)
    if (branch .eq. 0) then
      tb = (sin(t) + t*cos(t))*ub(i)
    else
      tb = ub(i)
    end if
    call popreal8(u(i))
    ub(i) = 0d0
    ub(i - 1) = ub(i - 1) + 0.25d0*tb
    ub(i) = ub(i) + 0.5d0*tb
    ub(i + 1) = ub(i + 1) + 0.25d0*tb
  end do
end subroutine

program stencil
  implicit none
  integer, parameter :: n = 500, steps = 20
  integer i, k, count
  real*8 u(n), ub(n), snapshot(n)
  do i = 1, n
    u(i) = 1d0 + 0.5d0*sin(0.1d0*i)
    ub(i) = 1d0
  end do
  do k = 1, steps
    call pushreal8array(u, n)
    call step_fwd(n, u, count)
  end do
  do k = steps, 1, -1
    call adstack_startrepeat()
    call step_bwd(n, u, ub)
    call adstack_resetrepeat()
    call adstack_endrepeat()
    call step_bwd(n, u, ub)
    call popreal8array(snapshot, n)
    if (any(snapshot .ne. u)) print *, 'snapshot', k
  end do
  do i = 1, n
    print '(z16)', ub(i)
  end do
end program
