! SPDX-License-Identifier: MIT
! Checks that the reverse of a program on ranks is the transpose of its Jacobian.
module transpose_of_ranks
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use reel
  use reel_mpi
  use checks
  implicit none

  type(MPI_Comm), parameter :: world = MPI_COMM_WORLD
  type(MPI_Datatype), parameter :: d = MPI_DOUBLE_PRECISION
  integer :: rank, ranks

  ! A program that changes the numbers s of each rank in place; or its reverse, which does so with
  ! their adjoints. Without a tape it notes nothing. Returns 0 or an error.
  abstract interface
    integer function rank_program(tape, s, reverse, name)
      import
      type(reel_tape), intent(inout), optional :: tape
      real(8), intent(inout), target, contiguous, asynchronous :: s(:)
      logical, intent(in) :: reverse
      character(*), intent(in) :: name
    end function
  end interface

contains

  integer function left()
    left = modulo(rank - 1, ranks)
  end function

  integer function right()
    right = modulo(rank + 1, ranks)
  end function

  ! Rank 0 prints a check that the condition holds on all ranks.
  subroutine ok_on_all(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    logical :: all_hold

    if (.not. holds) print '(a, i0, 4a)', 'rank ', rank, ': not ', what, ': ', reel_error_text(0)
    call MPI_Allreduce(holds, all_hold, 1, MPI_LOGICAL, MPI_LAND, world)
    if (rank == 0) call ok(all_hold, what)
  end subroutine

  ! Checks, for a direction v on each rank: (J v) . seed, summed over ranks, is v . bar, where the
  ! reverse computes bar from seed. J v is a difference with step h. The sums are exact if the
  ! program is linear in the numbers of a rank, which are small multiples of powers of 2.
  subroutine check_transpose(program, name, n, h)
    procedure(rank_program) :: program
    character(*), intent(in) :: name
    integer, intent(in) :: n
    real(8), intent(in) :: h
    real(8) :: s(n), base(n), bar(n), seed(n), changed(n), differences(ranks), v(n)
    type(reel_tape) :: tape
    logical :: holds, changes
    integer :: i, k

    s = [(mod(rank * (mod(k, 4) + 1), 5) + mod(k, 2), k=0, n - 1)]
    seed = [(mod(rank * 5 + k * 3, 7) - 2, k=0, n - 1)]
    base = s
    bar = seed
    holds = program(tape, base, .false., name) == 0
    if (holds) holds = program(tape, bar, .true., name) == 0
    holds = holds .and. reel_tape_is_empty(tape)
    call MPI_Allreduce(any(bar /= seed), changes, 1, MPI_LOGICAL, MPI_LOR, world)
    call reel_tape_close(tape)
    differences = 0
    do i = 1, ranks
      v = [(mod(k * k + 3 * i + i * k, 4) - 1, k=1, n)]
      changed = s
      if (mod(i, ranks) == rank) changed = s + h * v
      if (mod(i, ranks) == rank) differences(i) = -dot_product(v, bar)
      if (program(s=changed, reverse=.false., name=name) /= 0) holds = .false.
      differences(i) = differences(i) + dot_product((changed - base) / h, seed)
    end do
    call MPI_Allreduce(MPI_IN_PLACE, differences, ranks, MPI_REAL8, MPI_SUM, world)
    if (reel_mpi_reverse_end(MPI_COMM_WORLD) /= 0) holds = .false.
    call ok_on_all(holds .and. changes .and. all(differences == 0), name)
  end subroutine
end module
