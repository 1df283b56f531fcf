/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>

#include <reel/mpi.h>

#include "report.h"

static int is_aborted;

static int lowest(int yes)
{
	int rank, first, number, mine;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &number);
	mine = yes ? rank : number;
	MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return first < number ? first : -1;
}

static void add_up(uint64_t *numbers, int count)
{
	MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static int open_run(reel_run **run, const reel_plan *plan, const reel_model *model,
		    const struct reel_run_options *options)
{
	return reel_mpi_run_open(run, plan, model, options, NULL, MPI_COMM_WORLD);
}

/*
 * Returns true if a command such as mpirun started this process. A process that was started by hand
 * does not call MPI: Open MPI would start a daemon for it.
 */
static int is_started_as_rank(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		if (getenv(names[k]))
			return 1;
	return 0;
}

static void finish(void)
{
	if (is_aborted)
		return;
	reel_mpi_detach(MPI_COMM_WORLD);
	MPI_Finalize();
}

static void end_all(int status)
{
	is_aborted = 1;
	MPI_Abort(MPI_COMM_WORLD, status);
}

const struct world *world_join(int *count, char ***arguments)
{
	static struct world world = {.lowest = lowest, .add_up = add_up,
				     .open_run = open_run};
	int provided;

	if (!is_started_as_rank())
		return NULL;
	MPI_Init_thread(count, arguments, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &world.number);
	report_as_rank(world.rank, end_all);
	if (reel_mpi_attach(MPI_COMM_WORLD, 0))
		fail("%s", reel_error_text(0));
	atexit(finish);
	if (world.rank > 0 && !freopen("/dev/null", "w", stdout))
		fail("/dev/null cannot be opened");
	return world.number > 1 ? &world : NULL;
}
