! SPDX-License-Identifier: MIT
! One line for each check: t-fortran.sh counts them.
module checks
  implicit none
contains
  subroutine ok(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) then
      print '(2a)', 'ok ', what
    else
      print '(2a)', 'not ok ', what
    end if
  end subroutine

  ! For errors that are meant: an error handler that keeps stderr empty.
  subroutine print_error(error, message)
    integer, intent(in) :: error
    character(*), intent(in) :: message

    print '(i0, 2a)', error, ': ', message
  end subroutine
end module
