! SPDX-License-Identifier: MIT
! Messages by calls that wait.
module messages
  use transpose_of_ranks
  implicit none
  private
  public :: check_messages

contains

  subroutine check_messages()
    call check_transpose(pass_on, 'Send', 8, 1d0)
    call check_transpose(pass_on, 'Ssend', 8, 1d0)
    call check_transpose(pass_on, 'Bsend', 8, 1d0)
    call check_transpose(exchange, 'Sendrecv', 12, 1d0)
    call check_transpose(exchange, 'Sendrecv from any rank', 12, 1d0)
    call check_transpose(exchange, 'Sendrecv_replace', 12, 1d0)
    call check_transpose(exchange, 'Sendrecv of scalars', 12, 1d0)
    call check_transpose(exchange, 'Sendrecv of a derived type', 12, 1d0)
    call check_transpose(exchange, 'Sendrecv of sections with gaps', 12, 1d0)
    call check_transpose(exchange_singles, 'Sendrecv of real(4)', 12, 1d0)
    call check_integers
    call check_seed
    call check_refusals
  end subroutine

  ! Sends to the next rank, in the mode `name`.
  integer function send_by_mode(tape, x, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(in) :: x(:)
    character(*), intent(in) :: name
    integer :: room(1000), bytes
    type(c_ptr) :: detached

    select case (name)
    case ('Ssend')
      error = reel_mpi_ssend(tape, x, 4, d, rank + 1, 3, world)
    case ('Bsend')
      call MPI_Buffer_attach(room, 4000)
      error = reel_mpi_bsend(tape, x, 4, d, rank + 1, 3, world)
      call MPI_Buffer_detach(detached, bytes)
    case default
      error = reel_mpi_send(tape, x, 4, d, rank + 1, 3, world)
    end select
  end function

  ! Each rank except the last one sends to the next rank.
  integer function pass_on(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name

    error = 0
    if (reverse) then
      if (rank > 0) error = reel_mpi_recv_reverse(tape, s(5:8), 4, d, rank - 1, 3, world)
      if (rank + 1 < ranks .and. error == 0) &
        error = reel_mpi_send_reverse(tape, s(1:4), 4, d, rank + 1, 3, world)
    else
      if (rank + 1 < ranks) error = send_by_mode(tape, s(1:4), name)
      if (rank > 0 .and. error == 0) error = reel_mpi_recv(tape, s(5:8), 4, d, rank - 1, 3, world)
    end if
  end function

  ! Messages in a ring of all ranks; Sendrecv_replace has a chain. s is a matrix of four rows.
  integer function exchange(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name
    real(8), pointer, contiguous :: m(:, :)
    type(MPI_Datatype) :: row
    type(MPI_Status) :: status
    integer :: up, down

    m(1:4, 1:3) => s
    up = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    down = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
    call MPI_Type_vector(3, 1, 4, d, row)
    call MPI_Type_commit(row)
    select case (name)
    case ('Sendrecv from any rank')
      status%MPI_SOURCE = -99
      error = exchange_call(m(:, 1), 4, d, m(:, 2), MPI_ANY_SOURCE)
      if (error == 0 .and. status%MPI_SOURCE /= left()) error = 1
    case ('Sendrecv of scalars')
      error = exchange_call(m(2, 1), 1, d, m(3, 3), left())
    case ('Sendrecv of a derived type')
      error = exchange_call(m(2, 1), 1, row, m(4, 1), left())
    case ('Sendrecv of sections with gaps')
      error = exchange_call(m(1, 3:1:-1), 3, d, m(3, :), left())
    case ('Sendrecv_replace')
      if (reverse) then
        error = reel_mpi_sendrecv_replace_reverse(tape, m(2:3, :), 6, d, up, 5, down, 5, world)
      else
        error = reel_mpi_sendrecv_replace(tape, m(2:3, :), 6, d, up, 5, down, 5, world)
      end if
    case default
      error = exchange_call(m(:, 1), 4, d, m(:, 2), left())
    end select
    call MPI_Type_free(row)
  contains
    integer function exchange_call(sent, count, datatype, received, source) result(error)
      type(*), intent(inout) :: sent(..), received(..)
      integer, intent(in) :: count, source
      type(MPI_Datatype), intent(in) :: datatype

      if (reverse .and. source == MPI_ANY_SOURCE) then
        error = reel_mpi_sendrecv_reverse(tape, sent, count, datatype, right(), 7, &
          received, count, datatype, source, MPI_ANY_TAG, world, status)
      else if (reverse) then
        error = reel_mpi_sendrecv_reverse(tape, sent, count, datatype, right(), 7, &
          received, count, datatype, source, 7, world, MPI_STATUS_IGNORE)
      else if (source == MPI_ANY_SOURCE) then
        error = reel_mpi_sendrecv(tape, sent, count, datatype, right(), 7, &
          received, count, datatype, source, MPI_ANY_TAG, world, status)
      else
        error = reel_mpi_sendrecv(tape, sent, count, datatype, right(), 7, &
          received, count, datatype, source, 7, world)
      end if
    end function
  end function

  integer function exchange_singles(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name
    real(4) :: x(2, 2), y(2, 2)

    if (reverse) then
      x = 0
      y = reshape(real(s(5:8)), [2, 2])
      error = reel_mpi_sendrecv_reverse(tape, x, 4, MPI_REAL, right(), len(name), &
        y, 4, MPI_REAL, left(), len(name), world)
      s(1:4) = s(1:4) + reshape(x, [4])
    else
      x = reshape(real(s(1:4)), [2, 2])
      error = reel_mpi_sendrecv(tape, x, 4, MPI_REAL, right(), len(name), &
        y, 4, MPI_REAL, left(), len(name), world)
    end if
    s(5:8) = reshape(y, [4])
  end function

  subroutine check_integers()
    type(reel_tape) :: tape
    integer :: x(2), y(2)
    logical :: holds

    x = [rank, 5]
    y = 0
    holds = reel_mpi_sendrecv(tape, x, 2, MPI_INTEGER, right(), 1, y, 2, MPI_INTEGER, left(), 1, &
      world) == 0
    holds = holds .and. all(y == [left(), 5])
    holds = holds .and. reel_mpi_sendrecv_reverse(tape, x, 2, MPI_INTEGER, right(), 1, &
      y, 2, MPI_INTEGER, left(), 1, world) == 0
    call ok_on_all(holds .and. all(x == [rank, 5]) .and. all(y == [left(), 5]), &
      'integers are sent, and have no adjoint')
  end subroutine

  subroutine check_seed()
    real(8) :: J_bar
    logical :: holds

    J_bar = 7
    holds = reel_mpi_seed(J_bar, REEL_MPI_ON_ONE_RANK, 1, world) == 0
    holds = holds .and. J_bar == merge(1, 0, rank == 1)
    holds = holds .and. reel_mpi_seed(J_bar, REEL_MPI_SUM_OF_RANKS, 0, world) == 0
    call ok_on_all(holds .and. J_bar == 1, 'the objective is on one rank, or the sum over ranks')
  end subroutine

  subroutine check_refusals()
    type(reel_tape), pointer :: none
    type(reel_tape) :: tape
    character(:), allocatable :: text
    real(8) :: x
    logical :: holds

    none => null()
    x = 1
    holds = reel_mpi_send(none, x, 1, d, 0, 0, MPI_COMM_SELF) < 0
    text = reel_error_text(0)
    call ok_on_all(holds .and. index(text, 'reel_mpi_send') > 0 .and. index(text, 'attach') > 0, &
      'a communicator that is not attached is refused')
    call reel_set_error_handler(print_error)
    holds = reel_mpi_send(tape, x, 8, MPI_BYTE, rank, 0, world) < 0
    call reel_set_error_handler
    call ok_on_all(holds .and. reel_tape_error(tape) < 0, 'bytes are refused, and the error sticks')
    call reel_tape_close(tape)
  end subroutine
end module
