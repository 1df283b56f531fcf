! SPDX-License-Identifier: MIT
! Collective calls. Each rank sends its numbers 1 to 12, and receives its numbers 13 to 24.
module collectives
  use transpose_of_ranks
  implicit none
  private
  public :: check_collectives

  ! Counts and displacements of rank i, which has mod(i, 3) + 1 numbers.
  integer, parameter :: counts(0:3) = [1, 2, 3, 1], begins(0:3) = [0, 1, 3, 6]
  type(MPI_Op) :: op

contains

  subroutine check_collectives()
    type(reel_tape) :: tape
    logical :: holds

    call check_moves
    op = MPI_SUM
    call check_reductions('sum', 1d0)
    op = MPI_PROD
    call check_reductions('product', 1d0)
    op = MPI_MIN
    call check_reductions('minimum', 0.125d0)
    op = MPI_MAX
    call check_reductions('maximum', 0.125d0)
    call check_lowest_place
    holds = reel_mpi_barrier(tape, world) == 0
    holds = holds .and. reel_mpi_barrier_reverse(tape, world) == 0
    call ok_on_all(holds .and. reel_tape_is_empty(tape), 'Barrier')
  end subroutine

  subroutine check_moves()
    call check_transpose(move, 'Bcast', 24, 1d0)
    call check_transpose(move, 'Bcast of a section with gaps', 24, 1d0)
    call check_transpose(move, 'Gather', 24, 1d0)
    call check_transpose(move, 'Gather in place', 24, 1d0)
    call check_transpose(move, 'Gatherv', 24, 1d0)
    call check_transpose(move, 'Scatter', 24, 1d0)
    call check_transpose(move, 'Scatter in place', 24, 1d0)
    call check_transpose(move, 'Scatterv', 24, 1d0)
    call check_transpose(move, 'Allgather', 24, 1d0)
    call check_transpose(move, 'Allgather in place', 24, 1d0)
    call check_transpose(move, 'Allgatherv', 24, 1d0)
    call check_transpose(move, 'Alltoall', 24, 1d0)
    call check_transpose(move, 'Alltoallv', 24, 1d0)
  end subroutine

  integer function move(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name
    logical :: is_root

    is_root = rank == ranks - 1
    if (index(name, 'Gather in place') > 0 .and. is_root) then
      error = gather(MPI_IN_PLACE, s(13:24))
    else if (index(name, 'Gather') == 1 .and. name /= 'Gatherv') then
      error = gather(s(1:12), s(13:24))
    else if (name == 'Scatter in place' .and. is_root) then
      error = scatter(s(1:12), MPI_IN_PLACE)
    else if (index(name, 'Scatter') == 1 .and. name /= 'Scatterv') then
      error = scatter(s(1:12), s(13:24))
    else if (name == 'Allgather in place') then
      error = allgather(MPI_IN_PLACE, s(13:24))
    else if (name == 'Allgather') then
      error = allgather(s(1:12), s(13:24))
    else if (reverse) then
      error = move_reverse(tape, s, s(1:12), s(13:24), name)
    else
      error = move_forward(tape, s, s(1:12), s(13:24), name)
    end if
  contains
    integer function gather(x, y) result(error)
      type(*), intent(inout) :: x(..), y(..)

      if (reverse) then
        error = reel_mpi_gather_reverse(tape, x, 3, d, y, 3, d, ranks - 1, world)
      else
        error = reel_mpi_gather(tape, x, 3, d, y, 3, d, ranks - 1, world)
      end if
    end function

    integer function scatter(x, y) result(error)
      type(*), intent(inout) :: x(..), y(..)

      if (reverse) then
        error = reel_mpi_scatter_reverse(tape, x, 2, d, y, 2, d, ranks - 1, world)
      else
        error = reel_mpi_scatter(tape, x, 2, d, y, 2, d, ranks - 1, world)
      end if
    end function

    integer function allgather(x, y) result(error)
      type(*), intent(inout) :: x(..), y(..)

      if (reverse) then
        error = reel_mpi_allgather_reverse(tape, x, 2, d, y, 2, d, world)
      else
        error = reel_mpi_allgather(tape, x, 2, d, y, 2, d, world)
      end if
    end function
  end function

  integer function move_forward(tape, s, x, y, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous :: s(:)
    real(8), intent(inout) :: x(:), y(:)
    character(*), intent(in) :: name
    real(8), pointer, contiguous :: m(:, :)

    m(1:4, 1:6) => s
    select case (name)
    case ('Bcast')
      error = reel_mpi_bcast(tape, x, 5, d, ranks - 1, world)
    case ('Bcast of a section with gaps')
      error = reel_mpi_bcast(tape, m(2, 5:1:-2), 3, d, ranks - 1, world)
    case ('Gatherv')
      error = reel_mpi_gatherv(tape, x, counts(rank), d, y, counts, begins, d, 1, world)
    case ('Scatterv')
      error = reel_mpi_scatterv(tape, x, counts, begins, d, y, counts(rank), d, 1, world)
    case ('Allgatherv')
      error = reel_mpi_allgatherv(tape, x, counts(rank), d, y, counts, begins, d, world)
    case ('Alltoall')
      error = reel_mpi_alltoall(tape, x, 2, d, y, 2, d, world)
    case default
      error = reel_mpi_alltoallv(tape, x, counts, begins, d, y, &
        spread(counts(rank), 1, 4), [0, 3, 6, 9], d, world)
    end select
  end function

  integer function move_reverse(tape, s, x, y, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous :: s(:)
    real(8), intent(inout) :: x(:), y(:)
    character(*), intent(in) :: name
    real(8), pointer, contiguous :: m(:, :)

    m(1:4, 1:6) => s
    select case (name)
    case ('Bcast')
      error = reel_mpi_bcast_reverse(tape, x, 5, d, ranks - 1, world)
    case ('Bcast of a section with gaps')
      error = reel_mpi_bcast_reverse(tape, m(2, 5:1:-2), 3, d, ranks - 1, world)
    case ('Gatherv')
      error = reel_mpi_gatherv_reverse(tape, x, counts(rank), d, y, counts, begins, d, 1, world)
    case ('Scatterv')
      error = reel_mpi_scatterv_reverse(tape, x, counts, begins, d, y, counts(rank), d, 1, world)
    case ('Allgatherv')
      error = reel_mpi_allgatherv_reverse(tape, x, counts(rank), d, y, counts, begins, d, world)
    case ('Alltoall')
      error = reel_mpi_alltoall_reverse(tape, x, 2, d, y, 2, d, world)
    case default
      error = reel_mpi_alltoallv_reverse(tape, x, counts, begins, d, y, &
        spread(counts(rank), 1, 4), [0, 3, 6, 9], d, world)
    end select
  end function

  ! ---- Reductions ----

  subroutine check_reductions(operation, h)
    character(*), intent(in) :: operation
    real(8), intent(in) :: h

    call check_transpose(reduce, 'Reduce: ' // operation, 24, h)
    call check_transpose(reduce, 'Allreduce: ' // operation, 24, h)
    call check_transpose(reduce, 'Allreduce in place: ' // operation, 24, h)
    call check_transpose(reduce, 'Reduce_scatter_block: ' // operation, 24, h)
    call check_transpose(reduce, 'Scan: ' // operation, 24, h)
    call check_transpose(reduce, 'Exscan: ' // operation, 24, h)
  end subroutine

  integer function reduce(tape, s, reverse, name) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout), target, contiguous, asynchronous :: s(:)
    logical, intent(in) :: reverse
    character(*), intent(in) :: name

    if (reverse) then
      error = reduce_reverse(tape, s(1:12), s(13:24), name(1:index(name, ':') - 1))
    else
      error = reduce_forward(tape, s(1:12), s(13:24), name(1:index(name, ':') - 1))
    end if
  end function

  integer function reduce_forward(tape, x, y, call) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout) :: x(:), y(:)
    character(*), intent(in) :: call

    select case (call)
    case ('Reduce')
      error = reel_mpi_reduce(tape, x, y, 4, d, op, 1, world)
    case ('Allreduce')
      error = reel_mpi_allreduce(tape, x, y, 4, d, op, world)
    case ('Allreduce in place')
      error = reel_mpi_allreduce(tape, MPI_IN_PLACE, y, 4, d, op, world)
    case ('Reduce_scatter_block')
      error = reel_mpi_reduce_scatter_block(tape, x, y, 2, d, op, world)
    case ('Scan')
      error = reel_mpi_scan(tape, x, y, 4, d, op, world)
    case default
      error = reel_mpi_exscan(tape, x, y, 4, d, op, world)
    end select
  end function

  integer function reduce_reverse(tape, x, y, call) result(error)
    type(reel_tape), intent(inout), optional :: tape
    real(8), intent(inout) :: x(:), y(:)
    character(*), intent(in) :: call

    select case (call)
    case ('Reduce')
      error = reel_mpi_reduce_reverse(tape, x, y, 4, d, op, 1, world)
    case ('Allreduce')
      error = reel_mpi_allreduce_reverse(tape, x, y, 4, d, op, world)
    case ('Allreduce in place')
      error = reel_mpi_allreduce_reverse(tape, MPI_IN_PLACE, y, 4, d, op, world)
    case ('Reduce_scatter_block')
      error = reel_mpi_reduce_scatter_block_reverse(tape, x, y, 2, d, op, world)
    case ('Scan')
      error = reel_mpi_scan_reverse(tape, x, y, 4, d, op, world)
    case default
      error = reel_mpi_exscan_reverse(tape, x, y, 4, d, op, world)
    end select
  end function

  ! All ranks have the same value, so MINLOC chooses the lowest index, 0, which rank 1 passes.
  subroutine check_lowest_place()
    real(8) :: x(2), y(2), x_bar(2), y_bar(2)
    type(reel_tape) :: tape
    logical :: holds

    x = [3d0, real(mod(rank + ranks - 1, ranks), 8)]
    x_bar = 0
    y_bar = [2, 0]
    holds = reel_mpi_allreduce(tape, x, y, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, world) == 0
    holds = holds .and. all(y == [3, 0])
    holds = holds .and. reel_mpi_allreduce_reverse(tape, x_bar, y_bar, 1, MPI_2DOUBLE_PRECISION, &
      MPI_MINLOC, world) == 0
    call ok_on_all(holds .and. x_bar(1) == merge(2 * ranks, 0, rank == 1), &
      'MINLOC gives the adjoint to the rank whose place won')
  end subroutine
end module
