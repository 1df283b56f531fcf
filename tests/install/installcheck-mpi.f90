! SPDX-License-Identifier: MIT
! One rank sends x to itself, by the installed module reel_mpi: y = x, so dy/dx is 1.
program installcheck
  use mpi_f08
  use reel
  use reel_mpi
  implicit none
  type(reel_tape) :: tape
  type(reel_mpi_request) :: request
  real(8), asynchronous :: x, y, x_bar, y_bar
  integer :: error

  x = 3
  x_bar = 0
  call MPI_Init
  error = reel_mpi_attach(MPI_COMM_WORLD)
  if (error == 0) error = reel_mpi_irecv(tape, y, 1, MPI_REAL8, 0, 7, MPI_COMM_WORLD, request)
  if (error == 0) error = reel_mpi_send(tape, x, 1, MPI_REAL8, 0, 7, MPI_COMM_WORLD)
  if (error == 0) error = reel_mpi_wait(tape, request)
  if (error == 0) error = reel_mpi_seed(y_bar, REEL_MPI_ON_ONE_RANK, 0, MPI_COMM_WORLD)
  if (error == 0) error = reel_mpi_recv_init(y_bar, 1, MPI_REAL8, 0, 7, MPI_COMM_WORLD, request)
  if (error == 0) error = reel_mpi_wait_reverse(tape, request)
  if (error == 0) error = reel_mpi_send_reverse(tape, x_bar, 1, MPI_REAL8, 0, 7, MPI_COMM_WORLD)
  if (error == 0) error = reel_mpi_start_reverse(tape, request)
  if (error == 0) error = reel_mpi_detach(MPI_COMM_WORLD)
  if (error /= 0) print *, reel_error_text(error)
  print '(2(a, f3.1))', 'reel_mpi: y = ', y, ', dy/dx = ', x_bar
  call reel_tape_close(tape)
  call MPI_Finalize
  if (error /= 0 .or. nint(y) /= 3 .or. nint(x_bar) /= 1) error stop 1
end program
