/* SPDX-License-Identifier: MIT */
/*
 * Runs of one plan over all ranks: the group whose members agree (lib/checkpoint/run/run-group.h)
 * and costs that all ranks take their plan from. Each call is collective. A group has a
 * communicator of its own, so that its agreements never meet the messages of the callbacks, nor the
 * agreements of its duplicates, by which other threads agree at the same time.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>
#include <reel/plan.h>

#include "checkpoint/run/run-group.h"
#include "comm/error.h"
#include "message/wait.h"
#include "os/clock.h"

/* ---- Runs ---- */

/* The largest number of values that a group agrees on at a time. */
enum { MAX_VALUES = 8 };

/* A group of ranks. */
struct group {
	MPI_Comm comm;
	uint64_t watch_ns; /* 0: no watchdog */
	bool given_up;	   /* an agreement has not come: MPI may still write to `values` */
	int64_t values[MAX_VALUES];
};

static int time_out(const struct group *group)
{
	int rank;

	REEL_ASSERT(group->watch_ns);
	MPI_Comm_rank(group->comm, &rank);
	return reel_fail(-ETIMEDOUT,
			 "rank %d has waited %g s for the ranks of the run to agree: another "
			 "rank is in a callback, or has left the sweep",
			 rank, 1e-9 * (double)group->watch_ns);
}

static int largest(void *context, int64_t *values, int count)
{
	static const char call[] = "the agreement of the ranks";
	struct group *group = context;
	uint64_t end = group->watch_ns ? reel_clock_ns() + group->watch_ns : UINT64_MAX;
	MPI_Request request;
	int complete, error;

	REEL_ASSERT(count > 0 && count <= MAX_VALUES);
	if (group->given_up)
		return time_out(group);
	memcpy(group->values, values, (size_t)count * sizeof *values);
	error = reel_mpi_error(MPI_Iallreduce(MPI_IN_PLACE, group->values, count, MPI_INT64_T,
					      MPI_MAX, group->comm, &request),
			       call);
	if (!error)
		error = reel_mpi_poll(call, &request, MPI_STATUS_IGNORE, end, &complete);
	if (error)
		return error;
	if (!complete) {
		group->given_up = true;
		return time_out(group);
	}
	memcpy(values, group->values, (size_t)count * sizeof *values);
	return 0;
}

static void close_group(void *context)
{
	struct group *group = context;

	REEL_ASSERT(group->comm != MPI_COMM_NULL);
	MPI_Comm_free(&group->comm);
	/* The memory that MPI may still write to stays. */
	if (!group->given_up)
		free(group);
}

static int duplicate(const struct reel_run_group *group, struct reel_run_group *copy);

/* All ranks call MPI_Comm_dup(), also one that has no memory: it needs none before that. */
static int open_group(struct reel_run_group *opened, MPI_Comm of, uint64_t watch_ns)
{
	struct group local = {.watch_ns = watch_ns}, *group = malloc(sizeof *group);
	int64_t failed = !group;
	int error = reel_mpi_error(MPI_Comm_dup(of, &local.comm), "a communicator of a run");

	if (error) {
		free(group);
		return error;
	}
	MPI_Comm_set_errhandler(local.comm, MPI_ERRORS_RETURN);
	if (group)
		*group = local;
	else
		local.watch_ns = 0; /* A buffer that is given up must not be on the stack. */
	error = largest(group ? group : &local, &failed, 1);
	if (!error && failed)
		error = reel_fail(-ENOMEM, "a communicator of a run: no memory");
	if (error) {
		MPI_Comm_free(&local.comm);
		if (!group || !group->given_up)
			free(group);
		return error;
	}
	*opened = (struct reel_run_group){
		.max = largest, .duplicate = duplicate, .close = close_group, .context = group};
	MPI_Comm_rank(local.comm, &opened->rank);
	MPI_Comm_size(local.comm, &opened->ranks);
	REEL_ASSERT(opened->rank >= 0 && opened->rank < opened->ranks);
	return 0;
}

/* Ranks may have different thread levels, so all of them look at the lowest. */
static int duplicate(const struct reel_run_group *group, struct reel_run_group *copy)
{
	const struct group *of = group->context;
	int level, error;
	int64_t lacks_multiple;

	MPI_Query_thread(&level);
	lacks_multiple = level < MPI_THREAD_MULTIPLE;
	error = largest(group->context, &lacks_multiple, 1);
	if (error || lacks_multiple)
		return error ? error : -ENOTSUP;
	return open_group(copy, of->comm, of->watch_ns);
}

int reel_mpi_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		      const struct reel_run_options *options,
		      int (*route)(const char *name, char *path), MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	struct reel_run_group group;
	bool is_attached = reel_mpi_is_attached(comm, &attached);
	int error = open_group(&group, comm,
			       is_attached ? attached->watch_ns : reel_mpi_watch_of_environment());

	if (error)
		return error;
	group.route = route;
	error = reel_run_open_in_group(run, plan, model, options, &group);
	if (error)
		group.close(group.context);
	return error;
}

/* ---- Agreements of programs ---- */

static int largest_in(void *comm, int64_t *values, int count)
{
	return reel_mpi_error(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_MAX,
					    *(MPI_Comm *)comm),
			      "reel_mpi_agree");
}

/* After an error all ranks return here, since they have agreed on it. */
int reel_mpi_agree(MPI_Comm comm, int error, int64_t *value)
{
	struct reel_run_group group = {.max = largest_in, .context = &comm};

	MPI_Comm_rank(comm, &group.rank);
	MPI_Comm_size(comm, &group.ranks);
	error = reel_group_agree(&group, error, NULL);
	return error || !value ? error : reel_group_max(&group, value, 1);
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

/* A double may be above all integers: UINT64_MAX, as a double, is 2^64. */
static uint64_t whole_bytes(double bytes)
{
	return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}

static int largest_costs(double *values, int count, MPI_Comm comm)
{
	return reel_mpi_error(MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, comm),
			      "reel_mpi_costs_choose");
}

static int agree_on_tier(struct reel_cost_tier *tier, MPI_Comm comm)
{
	double values[] = {-or_infinity((double)tier->bytes), -or_infinity(tier->write_bandwidth),
			   -or_infinity(tier->read_bandwidth), tier->latency};
	int error = largest_costs(values, 4, comm);

	if (error)
		return error;
	tier->bytes = whole_bytes(or_zero(-values[0]));
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
		return reel_fail(-EINVAL,
				 "reel_mpi_costs_choose: the ranks have different steps or tiers");
	costs->advance_seconds = values[0];
	costs->record_seconds = values[1];
	costs->reverse_seconds = values[2];
	costs->copy_seconds = values[3];
	costs->touch_seconds = values[4];
	costs->state_bytes = whole_bytes(values[5]);
	costs->tape_bytes = whole_bytes(values[6]);
	costs->memory_bytes = whole_bytes(or_zero(-values[7]));
	costs->workers = (unsigned)-values[8];
	REEL_ASSERT(costs->workers > 0);
	return 0;
}

/*
 * Rank 0 chooses for all: processors that round differently, or that were compiled for differently,
 * might choose different plans from the same costs.
 */
int reel_mpi_costs_choose(struct reel_costs *costs, MPI_Comm comm, struct reel_choice *choice)
{
	int rank, error = agree_on_loop(costs, comm), chosen = 0;

	memset(choice, 0, sizeof *choice);
	/* All ranks have the same number of tiers here, so all of them refuse it or none does. */
	if (!error && costs->tiers > REEL_MAX_TIERS - 1)
		error = reel_fail(-EINVAL, "reel_mpi_costs_choose: %u tiers; there are at most %d",
				  costs->tiers, REEL_MAX_TIERS - 1);
	for (unsigned tier = 0; tier < costs->tiers && !error; tier++)
		error = agree_on_tier(&costs->tier[tier], comm);
	if (error) {
		snprintf(choice->reason, sizeof choice->reason, "%s", reel_error_text(error));
		return error;
	}
	MPI_Comm_rank(comm, &rank);
	if (rank == 0)
		chosen = reel_costs_choose(costs, choice);
	error = reel_mpi_error(MPI_Bcast(&chosen, 1, MPI_INT, 0, comm), "reel_mpi_costs_choose");
	if (!error)
		error = reel_mpi_error(MPI_Bcast(choice, sizeof *choice, MPI_BYTE, 0, comm),
				       "reel_mpi_costs_choose");
	if (error || !chosen)
		return error;
	return reel_fail(chosen, "%s", choice->reason);
}
