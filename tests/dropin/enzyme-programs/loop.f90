! SPDX-License-Identifier: MIT
! A loop of 20 steps, each of which the scheme reverses once. Its state has no regions.
module table
  use, intrinsic :: iso_c_binding
  use reel_enzyme
  implicit none

  type, bind(C) :: enzyme_table
    integer(c_int32_t) :: version
    type(c_funptr) :: init, next_action, others(7)
  end type

  type, bind(C) :: enzyme_action
    integer(c_int32_t) :: flag
    integer(c_int64_t) :: iteration, startiteration, cpnum
  end type

  abstract interface
    function begin_loop(options, steps, bytes) result(loop) bind(C)
      import
      type(reel_enzyme_options), intent(in) :: options
      integer(c_int64_t), value :: steps, bytes
      type(c_ptr) :: loop
    end function
    subroutine take_action(loop, action) bind(C)
      import
      type(c_ptr), value :: loop
      type(enzyme_action), intent(out) :: action
    end subroutine
    subroutine end_loop(loop) bind(C)
      import
      type(c_ptr), value :: loop
    end subroutine
  end interface
end module

program loop
  use table
  implicit none
  character(len=11, kind=c_char), target :: plan = 'binomial:3' // c_null_char
  type(reel_enzyme_options) :: options
  type(enzyme_table), pointer :: scheme
  procedure(begin_loop), pointer :: init
  procedure(take_action), pointer :: next_action
  procedure(end_loop), pointer :: finalize
  type(enzyme_action) :: action
  type(c_ptr) :: state
  integer :: turns, slots

  call c_f_pointer(reel_scheme(), scheme)
  call c_f_procpointer(scheme%init, init)
  call c_f_procpointer(scheme%next_action, next_action)
  call c_f_procpointer(scheme%others(4), finalize)
  options%plan = c_loc(plan)
  state = init(options, 20_c_int64_t, 0_c_int64_t)
  turns = 0
  slots = 0
  do
    call next_action(state, action)
    if (action%flag == 1) slots = max(slots, int(action%cpnum) + 1)
    if (action%flag == 4 .or. action%flag == 5) turns = turns + 1
    if (action%flag > 5) exit
  end do
  if (action%flag /= 7) stop 1
  call finalize(state)
  print '(i0, a, i0, a)', turns, ' turns, ', slots, ' slots'
end program
