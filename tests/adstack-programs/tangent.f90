! SPDX-License-Identifier: MIT
! The tangent of an adjoint: second derivatives, values and their derivatives pushed in pairs.
program tangent
  implicit none
  integer, parameter :: n = 200
  integer i, k
  real*8 x(n), xd(n), xb(n), xbd(n), t, td, tb, tbd, old, oldd
  do i = 1, n
    x(i) = 0.3d0 + 0.002d0*i
    xd(i) = merge(1d0, 0.5d0, mod(i, 2) .eq. 0)
    xb(i) = 1d0
    xbd(i) = 0d0
  end do
  do k = 1, 10
    call pushreal8array_d(x, xd, n)
    do i = 1, n
      t = x(i)
      td = xd(i)
      call pushreal8_d(t, td)
      xd(i) = cos(t)*td*1.2d0
      x(i) = sin(t)*1.2d0
    end do
  end do
  do k = 10, 1, -1
    do i = n, 1, -1
      call popreal8_d(t, td)
      tbd = (-sin(t)*td*xb(i) + cos(t)*xbd(i))*1.2d0
      tb = cos(t)*xb(i)*1.2d0
      xb(i) = tb
      xbd(i) = tbd
      old = t
      oldd = td
    end do
    call popreal8array_d(x, xd, n)
    if (x(1) .ne. old .or. xd(1) .ne. oldd) print *, 'pair', k
  end do
  do i = 1, n
    print '(z16,1x,z16)', xb(i), xbd(i)
  end do
end program
