/* SPDX-License-Identifier: MIT */
/* Attaching and detaching; the end of a reverse sweep; the objective of all ranks. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/neighbours.h"
#include "comm/operation.h"
#include "message/check.h"
#include "message/wait.h"
#include "os/environment.h"
#include "os/error.h"

/* ---- The end of a reverse sweep ---- */

/*
 * Waits for all that was sent. A message that no rank takes in the time of the watchdog is given
 * up. Returns the first error since it returned one before.
 */
static int reap_all(struct reel_mpi_attached *attached)
{
	int error = 0;

	for (;;) {
		struct reel_mpi_message m = {.call = "reel_mpi_reverse_end", .attached = attached};
		struct reel_mpi_buffer *buffer = NULL;
		int own;

		pthread_mutex_lock(&attached->lock);
		if (attached->sending)
			buffer = reel_mpi_first_sent(attached);
		else if (!error && attached->lost)
			error = reel_fail(attached->lost, "%s: an adjoint was not sent", m.call);
		if (!buffer)
			attached->lost = 0;
		pthread_mutex_unlock(&attached->lock);
		if (!buffer)
			return error;
		m.call_site = buffer->call_site;
		m.peer = buffer->peer;
		m.tag = buffer->tag;
		own = reel_mpi_await(&m, REEL_MPI_TO_PEER, &buffer->request, MPI_STATUS_IGNORE);
		error = error ? error : own;
		reel_mpi_give_buffer(attached, buffer);
	}
}

static int check_reversing(struct reel_mpi_attached *attached)
{
	int reversing;

	pthread_mutex_lock(&attached->lock);
	reversing = attached->reversing;
	REEL_ASSERT(reversing >= 0);
	pthread_mutex_unlock(&attached->lock);
	if (!reversing)
		return 0;
	return reel_fail(-EBUSY, "reel_mpi_reverse_end: the wait of %d requests was reversed, and "
				 "not their start; call reel_mpi_start_reverse() for each",
			 reversing);
}

int reel_mpi_reverse_end(MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_reverse_end", &attached);

	if (!error)
		error = reap_all(attached);
	return error ? error : check_reversing(attached);
}

/* ---- Detaching ---- */

static void free_buffers(struct reel_mpi_buffer *buffer)
{
	while (buffer) {
		struct reel_mpi_buffer *next = buffer->next;
		int complete = 1;

		if (buffer->request != MPI_REQUEST_NULL)
			MPI_Test(&buffer->request, &complete, MPI_STATUS_IGNORE);
		/* MPI may still read or write a buffer that was given up: it is never freed. */
		if (complete)
			free(buffer);
		buffer = next;
	}
}

/*
 * Receives and drops the messages that failed ranks have left in a duplicate. MPI may give its
 * context to another communicator, in which such messages would be taken for others.
 */
static void drain(struct reel_mpi_attached *attached, MPI_Comm comm)
{
	MPI_Message matched;
	MPI_Status status;
	int flag;

	while (comm != MPI_COMM_NULL &&
	       MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &matched, &status) ==
		       MPI_SUCCESS &&
	       flag)
		if (reel_mpi_drop_matched(attached, &matched, &status))
			return;
}

static void drain_all(struct reel_mpi_attached *attached)
{
	drain(attached, attached->messages);
	drain(attached, attached->sums);
	if (attached->checks)
		drain(attached, attached->checks->headers);
}

/*
 * In checked mode, where all ranks come here: each one takes the messages that others cannot get
 * rid of, until all have sent theirs.
 */
static void drain_until_sent(struct reel_mpi_attached *attached)
{
	MPI_Request request;
	int complete = 0;

	REEL_ASSERT(attached->checks);
	while (attached->sending) {
		pthread_mutex_lock(&attached->lock);
		reel_mpi_reap(attached);
		pthread_mutex_unlock(&attached->lock);
		drain_all(attached);
		sched_yield();
	}
	if (MPI_Ibarrier(attached->messages, &request) != MPI_SUCCESS)
		return;
	while (!complete && MPI_Test(&request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
		drain_all(attached);
		sched_yield();
	}
}

static void free_attached(struct reel_mpi_attached *attached)
{
	if (attached->checks && attached->messages != MPI_COMM_NULL)
		drain_until_sent(attached);
	else
		reap_all(attached);
	REEL_ASSERT(!attached->sending);
	drain_all(attached);
	free_buffers(attached->spare);
	free_buffers(attached->given_up);
	reel_mpi_checks_close(attached);
	if (attached->messages != MPI_COMM_NULL)
		MPI_Comm_free(&attached->messages);
	if (attached->sums != MPI_COMM_NULL)
		MPI_Comm_free(&attached->sums);
	reel_mpi_free_operations(attached);
	reel_mpi_free_neighbours(attached->neighbours);
	pthread_mutex_destroy(&attached->lock);
	free(attached);
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
	int error = reel_mpi_checks_left(value);

	(void)comm;
	(void)key;
	(void)extra;
	if (error)
		reel_report(NULL, error, reel_error_text(error));
	free_attached(value);
	return MPI_SUCCESS;
}

int reel_mpi_detach(MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_detach", &attached);

	if (error)
		return error;
	/* In checked mode all ranks take the messages that no rank wants. */
	error = attached->checks ? 0 : reap_all(attached);
	if (!error)
		error = check_reversing(attached);
	if (!error)
		error = reel_mpi_checks_left(attached);
	reel_mpi_delete_attached(comm);
	return error;
}

/* ---- Attaching ---- */

/*
 * Collective: either all ranks are in checked mode, or none is. The environment asks for it as for
 * checked tapes (pool.h).
 */
static int open_checks(struct reel_mpi_attached *attached, MPI_Comm comm, unsigned flags)
{
	const char *text = reel_environment("REEL_CHECKED");
	int asked = flags & REEL_MPI_CHECKED || (text && !strcmp(text, "1")), any = 0;
	int error = reel_mpi_error(MPI_Allreduce(&asked, &any, 1, MPI_INT, MPI_MAX, attached->sums),
				   "reel_mpi_attach");

	return error || !any ? error : reel_mpi_checks_open(attached, comm);
}

/* In parentheses, since a macro has this name. */
int (reel_mpi_attach)(MPI_Comm comm, unsigned flags)
{
	struct reel_mpi_attached *attached;
	int between, error;

	if (flags & ~REEL_MPI_CHECKED)
		return reel_fail(-EINVAL, "reel_mpi_attach: unknown flags 0x%x", flags);
	if (comm == MPI_COMM_NULL)
		return reel_fail(-EINVAL, "reel_mpi_attach: MPI_COMM_NULL");
	if (reel_mpi_is_attached(comm, &attached))
		return 0;
	MPI_Comm_test_inter(comm, &between);
	if (between)
		return reel_fail(-ENOTSUP, "reel_mpi_attach: calls between two groups cannot be "
					   "reversed; merge them by MPI_Intercomm_merge()");
	attached = calloc(1, sizeof *attached);
	if (!attached)
		return reel_fail(-ENOMEM, "reel_mpi_attach: no memory");
	pthread_mutex_init(&attached->lock, NULL);
	attached->last_sent = &attached->sending;
	attached->messages = attached->sums = MPI_COMM_NULL;
	MPI_Comm_rank(comm, &attached->rank);
	MPI_Comm_size(comm, &attached->size);
	attached->watch_ns = reel_mpi_watch_of_environment();
	error = reel_mpi_duplicate(comm, &attached->messages);
	if (!error)
		error = reel_mpi_duplicate(comm, &attached->sums);
	if (!error)
		error = open_checks(attached, comm, flags);
	if (!error)
		error = reel_mpi_set_attached(comm, attached, delete_attribute);
	if (error) {
		/* Other ranks need not have failed: wait for none of them. */
		reel_mpi_checks_close(attached);
		free_attached(attached);
	}
	return error;
}

/* Looks at no handle and calls no MPI before it knows that both are the library's. */
int reel_mpi_attach_for(enum reel_mpi_implementation implementation, MPI_Comm comm, unsigned flags)
{
	static const char *const names[] = {[REEL_MPI_OPEN_MPI] = "Open MPI",
					    [REEL_MPI_MPICH] = "MPICH"};
	char text[200];

	if (implementation == REEL_MPI_IMPLEMENTATION || implementation == REEL_MPI_UNKNOWN ||
	    REEL_MPI_IMPLEMENTATION == REEL_MPI_UNKNOWN)
		return (reel_mpi_attach)(comm, flags);
	snprintf(text, sizeof text, "reel_mpi_attach: the program was compiled with %s, and "
				    "libreel-mpi with %s; compile the program with the mpicc of %s",
		 names[implementation == REEL_MPI_MPICH ? REEL_MPI_MPICH : REEL_MPI_OPEN_MPI],
		 names[REEL_MPI_IMPLEMENTATION], names[REEL_MPI_IMPLEMENTATION]);
	return reel_report(NULL, -EINVAL, text);
}

int reel_mpi_watch(MPI_Comm comm, double seconds)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_watch", &attached);

	if (error)
		return error;
	if (!(seconds >= 0 && seconds <= REEL_MPI_MAX_WATCH))
		return reel_fail(-EINVAL, "reel_mpi_watch: %g seconds", seconds);
	attached->watch_ns = (uint64_t)(1e9 * seconds);
	return 0;
}

/* ---- The objective ---- */

int reel_mpi_seed(double *J_bar, enum reel_mpi_objective objective, int root, MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_seed", &attached);
	/* The largest of a number and of its negative are opposite if all ranks have the same. */
	int most[] = {(int)objective, -(int)objective, root, -root};

	if (error)
		return error;
	error = reel_mpi_error(MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_INT, MPI_MAX,
					     attached->sums),
			       "reel_mpi_seed");
	if (error)
		return error;
	if (most[0] != -most[1] || most[2] != -most[3])
		return reel_fail(-EINVAL, "reel_mpi_seed: the ranks do not say the same of the "
					  "objective: here it is %d with root %d",
				 (int)objective, root);
	if ((objective != REEL_MPI_ON_ONE_RANK && objective != REEL_MPI_SUM_OF_RANKS) || root < 0 ||
	    root >= attached->size || (objective == REEL_MPI_SUM_OF_RANKS && root))
		return reel_fail(-EINVAL, "reel_mpi_seed: objective %d with root %d of %d ranks",
				 (int)objective, root, attached->size);
	*J_bar = objective == REEL_MPI_SUM_OF_RANKS || attached->rank == root;
	return 0;
}
