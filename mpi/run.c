/* SPDX-License-Identifier: MIT */
/*
 * Runs of one plan over all ranks: the group whose members agree (lib/checkpoint/run-group.h) and
 * costs that all ranks take their plan from. Each call is collective. A group has a communicator of
 * its own, so that its agreements never meet what the callbacks send, nor those of its duplicates, by
 * which other threads agree at the same time.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <reel/extend.h>
#include <reel/plan.h>

#include "checkpoint/run-group.h"
#include "transfer.h"

/* ---- Runs ---- */

static int largest(void *context, int64_t *values, int count)
{
	static const char call[] = "what the ranks agree on";
	MPI_Comm *comm = context;
	MPI_Request request;
	int complete, error = reel_mpi_check(MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT64_T,
							    MPI_MAX, *comm, &request),
					     call);

	return error ? error
		     : reel_mpi_poll(call, &request, MPI_STATUS_IGNORE, UINT64_MAX, &complete);
}

static void close_group(void *context)
{
	MPI_Comm *comm = context;

	MPI_Comm_free(comm);
	free(comm);
}

static int duplicate(const struct reel_run_group *group, struct reel_run_group *copy);

/* All ranks call MPI_Comm_dup(), also one that has no memory: it needs none before that. */
static int open_group(struct reel_run_group *group, MPI_Comm of)
{
	MPI_Comm comm, *kept = malloc(sizeof *kept);
	int64_t failed = !kept;
	int error = reel_mpi_check(MPI_Comm_dup(of, &comm), "a communicator of a run");

	if (error) {
		free(kept);
		return error;
	}
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	error = largest(&comm, &failed, 1);
	if (!error && failed)
		error = reel_fail(-ENOMEM, "a communicator of a run: no memory");
	if (error) {
		MPI_Comm_free(&comm);
		free(kept);
		return error;
	}
	*kept = comm;
	*group = (struct reel_run_group){
		.max = largest, .duplicate = duplicate, .close = close_group, .context = kept};
	MPI_Comm_rank(comm, &group->rank);
	MPI_Comm_size(comm, &group->ranks);
	return 0;
}

/* Ranks may have different thread levels, so all of them look at the lowest. */
static int duplicate(const struct reel_run_group *group, struct reel_run_group *copy)
{
	int level, error;
	int64_t lacks_multiple;

	MPI_Query_thread(&level);
	lacks_multiple = level < MPI_THREAD_MULTIPLE;
	error = largest(group->context, &lacks_multiple, 1);
	if (error || lacks_multiple)
		return error ? error : -ENOTSUP;
	return open_group(copy, *(MPI_Comm *)group->context);
}

int reel_mpi_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		      const struct reel_run_options *options,
		      int (*route)(const char *name, char *path), MPI_Comm comm)
{
	struct reel_run_group group;
	int error = open_group(&group, comm);

	if (error)
		return error;
	group.route = route;
	error = reel_run_open_in_group(run, plan, model, options, &group);
	if (error)
		group.close(group.context);
	return error;
}

/* ---- Costs ---- */

/* The members of struct reel_costs by which 0 means no limit: as 1 / 0 they can be compared. */
static double or_infinity(double number)
{
	return number > 0 ? number : INFINITY;
}

static double or_zero(double number)
{
	return isinf(number) ? 0 : number;
}

static int largest_costs(double *values, int count, MPI_Comm comm)
{
	return reel_mpi_check(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, comm),
			      "reel_mpi_costs_choose");
}

static int agree_on_tier(struct reel_cost_tier *tier, MPI_Comm comm)
{
	double values[] = {-or_infinity((double)tier->bytes), -or_infinity(tier->write_bandwidth),
			   -or_infinity(tier->read_bandwidth), tier->latency};
	int error = largest_costs(values, 4, comm);

	if (error)
		return error;
	tier->bytes = (uint64_t)or_zero(-values[0]);
	tier->write_bandwidth = or_zero(-values[1]);
	tier->read_bandwidth = or_zero(-values[2]);
	tier->latency = values[3];
	return 0;
}

static int agree_on_loop(struct reel_costs *costs, MPI_Comm comm)
{
	double values[] = {
		costs->advance_seconds, costs->record_seconds, costs->reverse_seconds,
		costs->copy_seconds, costs->touch_seconds, (double)costs->state_bytes,
		(double)costs->tape_bytes, -or_infinity((double)costs->memory_bytes),
		-(double)(costs->workers ? costs->workers : 1), (double)costs->steps,
		-(double)costs->steps, costs->tiers, -(double)costs->tiers};
	int error = largest_costs(values, sizeof values / sizeof *values, comm);

	if (error)
		return error;
	if (values[9] != -values[10] || values[11] != -values[12])
		return reel_fail(-EINVAL, "reel_mpi_costs_choose: the ranks have different steps or "
					  "tiers");
	costs->advance_seconds = values[0];
	costs->record_seconds = values[1];
	costs->reverse_seconds = values[2];
	costs->copy_seconds = values[3];
	costs->touch_seconds = values[4];
	costs->state_bytes = (uint64_t)values[5];
	costs->tape_bytes = (uint64_t)values[6];
	costs->memory_bytes = (uint64_t)or_zero(-values[7]);
	costs->workers = (unsigned)-values[8];
	return 0;
}

/*
 * Rank 0 chooses for all: processors that round differently, or that were compiled for differently,
 * might choose different plans from the same costs.
 */
int reel_mpi_costs_choose(struct reel_costs *costs, MPI_Comm comm, struct reel_choice *choice)
{
	int rank, error = agree_on_loop(costs, comm), chosen = 0;

	/* The same on all ranks, which have agreed on the number. */
	if (!error && costs->tiers > REEL_MAX_TIERS)
		error = reel_fail(-EINVAL, "reel_mpi_costs_choose: %u tiers; there are at most %d",
				  costs->tiers, REEL_MAX_TIERS);
	for (unsigned tier = 0; tier < costs->tiers && !error; tier++)
		error = agree_on_tier(&costs->tier[tier], comm);
	if (error)
		return error;
	MPI_Comm_rank(comm, &rank);
	if (rank == 0)
		chosen = reel_costs_choose(costs, choice);
	error = reel_mpi_check(MPI_Bcast(&chosen, 1, MPI_INT, 0, comm), "reel_mpi_costs_choose");
	if (!error)
		error = reel_mpi_check(MPI_Bcast(choice, sizeof *choice, MPI_BYTE, 0, comm),
				       "reel_mpi_costs_choose");
	if (error || !chosen)
		return error;
	return reel_fail(chosen, "%s", choice->reason);
}
