/* SPDX-License-Identifier: MIT */
/* One rank sends x to itself, by an installed libreel-mpi: y = x, so dy/dx is 1. */
#include <reel/mpi.h>

#include <stdio.h>

int main(int argc, char **argv)
{
	double x = 3, y = 0, x_bar = 0, y_bar;
	reel_tape tape = {0};
	int error;

	MPI_Init(&argc, &argv);
	error = reel_mpi_attach(MPI_COMM_WORLD, 0);
	if (!error)
		error = reel_mpi_sendrecv(&tape, &x, 1, MPI_DOUBLE, 0, 7, &y, 1, MPI_DOUBLE,
					  MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!error)
		error = reel_mpi_seed(&y_bar, REEL_MPI_ON_ONE_RANK, 0, MPI_COMM_WORLD);
	if (!error)
		error = reel_mpi_sendrecv_reverse(&tape, &x_bar, 1, MPI_DOUBLE, 0, 7, &y_bar, 1,
						  MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD,
						  MPI_STATUS_IGNORE);
	if (!error)
		error = reel_mpi_detach(MPI_COMM_WORLD);
	printf("libreel-mpi: y = %g, dy/dx = %g\n", y, x_bar);
	if (error)
		fprintf(stderr, "%s\n", reel_error_text(error));
	MPI_Finalize();
	return error || y != 3 || x_bar != 1;
}
