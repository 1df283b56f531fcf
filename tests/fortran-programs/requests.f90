! SPDX-License-Identifier: MIT
! Calls that start requests, and calls that wait for requests.
module requests
  use transpose_of_ranks
  implicit none
  private
  public :: check_requests

contains

  subroutine check_requests()
    call check_transpose(exchange, 'Isend and Waitall', 12, 1d0)
    call check_transpose(exchange, 'Issend', 12, 1d0)
    call check_transpose(exchange, 'Ibsend', 12, 1d0)
    call check_transpose(exchange, 'Irsend', 12, 1d0)
    call check_transpose(exchange, 'Rsend', 12, 1d0)
    call check_transpose(exchange, 'Wait for any rank, with a status', 12, 1d0)
    call check_transpose(persist, 'persistent requests', 12, 1d0)
    call check_transpose(choose, 'Waitany', 12, 1d0)
    call check_refusals
  end subroutine

  ! Sends x in the mode `name`. A ready send needs that the receives have begun on all ranks.
  integer function begin_by_mode(tape, x, name, request) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(in), contiguous, asynchronous :: x(:)
    character(*), intent(in) :: name
    type(reel_mpi_request), intent(inout) :: request
    integer, save :: room(1000)
    type(c_ptr) :: detached
    integer :: bytes

    select case (name)
    case ('Issend')
      error = reel_mpi_issend(tape, x, 4, d, right(), 3, world, request)
    case ('Ibsend')
      call MPI_Buffer_attach(room, 4000)
      error = reel_mpi_ibsend(tape, x, 4, d, right(), 3, world, request)
      call MPI_Buffer_detach(detached, bytes)
    case ('Irsend')
      error = reel_mpi_irsend(tape, x, 4, d, right(), 3, world, request)
    case ('Rsend')
      error = reel_mpi_rsend(tape, x, 4, d, right(), 3, world)
    case default
      error = reel_mpi_isend(tape, x, 4, d, right(), 3, world, request)
    end select
  end function

  ! With Rsend, which has no request, the second request is null: a wait for it does nothing.
  integer function exchange(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name

    if (reverse) then
      error = exchange_reverse(tape, s, name)
    else
      error = exchange_forward(tape, s, name)
    end if
  end function

  integer function exchange_forward(tape, s, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    character(*), intent(in) :: name
    type(reel_mpi_request) :: pair(2)
    type(MPI_Status) :: status
    integer :: source

    source = merge(MPI_ANY_SOURCE, left(), name(1:4) == 'Wait')
    error = reel_mpi_irecv(tape, s(5:8), 4, d, source, 3, world, pair(1))
    call MPI_Barrier(world)
    if (error == 0) error = begin_by_mode(tape, s(1:4), name, pair(2))
    if (source /= MPI_ANY_SOURCE .and. error == 0) then
      error = reel_mpi_waitall(tape, 2, pair, MPI_STATUSES_IGNORE)
    else if (error == 0) then
      error = reel_mpi_wait(tape, pair(1), status)
      if (error == 0 .and. status%MPI_SOURCE /= left()) error = 1
      if (error == 0) error = reel_mpi_wait(tape, pair(2))
    end if
  end function

  integer function exchange_reverse(tape, bar, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: bar(:)
    character(*), intent(in) :: name
    type(reel_mpi_request) :: pair(2)
    type(MPI_Status) :: status
    integer :: source

    source = merge(MPI_ANY_SOURCE, left(), name(1:4) == 'Wait')
    error = reel_mpi_recv_init(bar(5:8), 4, d, source, 3, world, pair(1))
    if (name == 'Issend') then
      error = reel_mpi_ssend_init(bar(1:4), 4, d, right(), 3, world, pair(2))
    else if (name /= 'Rsend') then
      error = reel_mpi_send_init(bar(1:4), 4, d, right(), 3, world, pair(2))
    end if
    if (source == MPI_ANY_SOURCE) then
      error = reel_mpi_wait_reverse(tape, pair(2))
      if (error == 0) error = reel_mpi_wait_reverse(tape, pair(1), status)
      if (error == 0 .and. status%MPI_SOURCE /= left()) error = 1
    else
      error = reel_mpi_waitall_reverse(tape, 2, pair)
    end if
    if (name == 'Rsend' .and. error == 0) &
      error = reel_mpi_send_reverse(tape, bar(1:4), 4, d, right(), 3, world)
    if (error == 0) error = reel_mpi_start_reverse(tape, pair(2))
    if (error == 0) error = reel_mpi_start_reverse(tape, pair(1))
  end function

  ! Two rounds. Each adds the received numbers to s(9:12), and doubles the sent numbers.
  integer function persist(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name
    type(reel_mpi_request) :: pair(2)
    integer :: round

    error = reel_mpi_recv_init(s(5:8), 4, d, left(), len(name), world, pair(1))
    if (error == 0) error = reel_mpi_send_init(s(1:4), 4, d, right(), len(name), world, pair(2))
    do round = 1, 2
      if (reverse) then
        s(5:8) = s(5:8) + s(9:12)
        s(1:4) = 2 * s(1:4)
        if (error == 0) error = reel_mpi_waitall_reverse(tape, 2, pair)
        if (error == 0) error = reel_mpi_start_reverse(tape, pair(2))
        if (error == 0) error = reel_mpi_start_reverse(tape, pair(1))
      else
        if (error == 0) error = reel_mpi_start(tape, pair(1))
        if (error == 0) error = reel_mpi_start(tape, pair(2))
        if (error == 0) error = reel_mpi_waitall(tape, 2, pair)
        s(1:4) = 2 * s(1:4)
        s(9:12) = s(9:12) + s(5:8)
      end if
    end do
  end function

  ! Waits for messages of both neighbours. The reverse waits return the indices in reverse order.
  integer function choose(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name
    type(reel_mpi_request) :: pair(2)
    type(MPI_Status) :: status
    integer :: chosen(2), i
    integer, save :: first = 0

    chosen = 0
    if (reverse) then
      error = reel_mpi_recv_init(s(5:6), 2, d, left(), 1, world, pair(1))
      error = reel_mpi_recv_init(s(7:8), 2, d, right(), 2, world, pair(2))
      do i = 2, 1, -1
        if (error == 0) error = reel_mpi_waitany_reverse(tape, 2, pair, chosen(i), status)
      end do
      if (error == 0) error = reel_mpi_send_reverse(tape, s(3:4), 2, d, left(), 2, world)
      if (error == 0) error = reel_mpi_send_reverse(tape, s(1:2), 2, d, right(), 1, world)
      if (error == 0) error = reel_mpi_start_reverse(tape, pair(2))
      if (error == 0) error = reel_mpi_start_reverse(tape, pair(1))
      if (chosen(1) /= first) error = 1
    else
      error = reel_mpi_irecv(tape, s(5:6), 2, d, left(), 1, world, pair(1))
      if (error == 0) error = reel_mpi_irecv(tape, s(7:8), 2, d, right(), 2, world, pair(2))
      if (error == 0) error = reel_mpi_send(tape, s(1:2), 2, d, right(), 1, world)
      if (error == 0) error = reel_mpi_send(tape, s(3:4), 2, d, left(), 2, world)
      do i = 1, 2
        if (error == 0) error = reel_mpi_waitany(tape, 2, pair, chosen(i), status)
        if (error == 0 .and. status%MPI_TAG /= chosen(i)) error = 1
      end do
      if (present(tape)) first = chosen(1)
    end if
    if (error == 0 .and. minval(chosen) /= 1 .or. maxval(chosen) /= 2) error = 1
    if (error /= 0) print '(2a)', name, ': an error, or other requests were chosen'
  end function

  subroutine check_refusals()
    type(reel_tape), pointer :: none
    type(reel_mpi_request) :: some(3)
    real(8) :: u(4, 3)
    integer :: i, chosen
    character(:), allocatable :: text
    logical :: holds

    none => null()
    u = 0
    holds = reel_mpi_isend(none, u(2, :), 3, d, rank, 0, world, some(1)) < 0
    text = reel_error_text(0)
    call ok_on_all(holds .and. index(text, 'gaps') > 0, &
      'a request for a section with gaps is refused')
    holds = reel_mpi_recv_init(u(2, :), 3, d, rank, 0, world, some(1)) < 0
    call ok_on_all(holds, 'and so is its description')
    i = 2
    holds = reel_mpi_waitall(none, 2, some(1:3:i)) < 0 .and. reel_mpi_waitall(none, 4, some) < 0
    call ok_on_all(holds, 'requests with gaps, or too few of them, are refused')
    holds = reel_mpi_waitany(none, 3, some, chosen) == 0
    call ok_on_all(holds .and. chosen == MPI_UNDEFINED, 'requests are null as declared')
  end subroutine
end module
