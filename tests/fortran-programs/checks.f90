! SPDX-License-Identifier: MIT
! Prints a line for each check, which tests/helpers/fortran.sh makes a check of the test.
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

  ! An error handler for expected errors: it keeps stderr empty.
  subroutine print_error(error, message)
    integer, intent(in) :: error
    character(*), intent(in) :: message

    print '(i0, 2a)', error, ': ', message
  end subroutine
end module
