! SPDX-License-Identifier: MIT
! The program of t-mpi-fortran.sh, which each rank runs.
program ranks_of_test
  use transpose_of_ranks
  use messages
  use requests
  use collectives
  implicit none

  call MPI_Init
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call ok_on_all(reel_mpi_attach(MPI_COMM_WORLD) == 0, 'all ranks attach the communicator')
  call check_messages
  call check_requests
  call check_collectives
  call ok_on_all(reel_mpi_detach(MPI_COMM_WORLD) == 0, 'and detach it')
  call MPI_Finalize
end program
