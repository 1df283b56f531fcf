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
end module
