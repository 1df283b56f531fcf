/* SPDX-License-Identifier: MIT */
/* Communicators: attaching, duplicates, temporaries; and the objective, which all ranks agree on. */
#include "config.h"

#include "attached.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/extend.h>

#include "neighbours.h"
#include "operation.h"

/* Both are set by the first reel_mpi_attach(), and not changed after that. */
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

int reel_mpi_check(int code, const char *call)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length, class = MPI_ERR_OTHER;

	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &length);
	MPI_Error_class(code, &class);
	return reel_fail(class == MPI_ERR_NO_MEM     ? -ENOMEM
			 : class == MPI_ERR_TRUNCATE ? -EMSGSIZE
						     : -EIO,
			 "%s: %s", call, text);
}

/* ---- Temporaries ---- */

struct reel_mpi_buffer *reel_mpi_take_buffer(struct reel_mpi_attached *attached, size_t bytes)
{
	struct reel_mpi_buffer *buffer = NULL, **link;

	pthread_mutex_lock(&attached->lock);
	for (link = &attached->spare; *link; link = &(*link)->next)
		if ((*link)->bytes >= bytes) {
			buffer = *link;
			*link = buffer->next;
			break;
		}
	pthread_mutex_unlock(&attached->lock);
	if (!buffer) {
		buffer = malloc(sizeof *buffer + bytes);
		if (!buffer) {
			reel_fail(-ENOMEM, "no memory for an adjoint message of %zu bytes", bytes);
			return NULL;
		}
		buffer->bytes = bytes;
	}
	buffer->next = NULL;
	buffer->request = MPI_REQUEST_NULL;
	return buffer;
}

void reel_mpi_give_buffer(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer)
{
	pthread_mutex_lock(&attached->lock);
	buffer->next = attached->spare;
	attached->spare = buffer;
	pthread_mutex_unlock(&attached->lock);
}

/* Moves buffers that have left to the spare ones. Requires `attached->lock`. */
static int reap(struct reel_mpi_attached *attached, bool all)
{
	int error = 0;

	while (attached->sending) {
		struct reel_mpi_buffer *buffer = attached->sending;
		int complete = 1, code = all ? MPI_Wait(&buffer->request, MPI_STATUS_IGNORE)
					     : MPI_Test(&buffer->request, &complete,
							MPI_STATUS_IGNORE);

		if (!error)
			error = reel_mpi_check(code, "sending an adjoint");
		if (!complete)
			break;
		attached->sending = buffer->next;
		if (!attached->sending)
			attached->last_sent = &attached->sending;
		buffer->next = attached->spare;
		attached->spare = buffer;
	}
	return error;
}

void reel_mpi_keep_sending(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer)
{
	pthread_mutex_lock(&attached->lock);
	*attached->last_sent = buffer;
	attached->last_sent = &buffer->next;
	reap(attached, false);
	pthread_mutex_unlock(&attached->lock);
}

int reel_mpi_reverse_end(MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_reverse_end", &attached);

	if (error)
		return error;
	pthread_mutex_lock(&attached->lock);
	error = reap(attached, true);
	if (!error && attached->reversing)
		error = reel_fail(-EBUSY,
				  "reel_mpi_reverse_end: the wait of %d requests was reversed, and "
				  "not their start; call reel_mpi_start_reverse() for each",
				  attached->reversing);
	pthread_mutex_unlock(&attached->lock);
	return error;
}

/* ---- Attaching ---- */

static void free_attached(struct reel_mpi_attached *attached)
{
	reap(attached, true);
	while (attached->spare) {
		struct reel_mpi_buffer *buffer = attached->spare;

		attached->spare = buffer->next;
		free(buffer);
	}
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
	(void)comm;
	(void)key;
	(void)extra;
	free_attached(value);
	return MPI_SUCCESS;
}

static int make_keyval(void)
{
	int error = 0;

	pthread_mutex_lock(&keyval_lock);
	if (keyval == MPI_KEYVAL_INVALID)
		error = reel_mpi_check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
							      delete_attribute, &keyval, NULL),
				       "reel_mpi_attach");
	pthread_mutex_unlock(&keyval_lock);
	return error;
}

static int duplicate(MPI_Comm comm, MPI_Comm *to)
{
	int error = reel_mpi_check(MPI_Comm_dup(comm, to), "reel_mpi_attach");

	/* Errors in adjoint messages are the library's to report. */
	if (!error)
		MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
	return error;
}

int reel_mpi_attach(MPI_Comm comm, unsigned flags)
{
	struct reel_mpi_attached *attached;
	int between, error;

	if (flags)
		return reel_fail(-EINVAL, "reel_mpi_attach: unknown flags 0x%x", flags);
	if (comm == MPI_COMM_NULL)
		return reel_fail(-EINVAL, "reel_mpi_attach: MPI_COMM_NULL");
	if (keyval != MPI_KEYVAL_INVALID && !reel_mpi_find(comm, "", &attached))
		return 0;
	MPI_Comm_test_inter(comm, &between);
	if (between)
		return reel_fail(-ENOTSUP, "reel_mpi_attach: calls between two groups cannot be "
					   "reversed; merge them by MPI_Intercomm_merge()");
	error = make_keyval();
	if (error)
		return error;
	attached = calloc(1, sizeof *attached);
	if (!attached)
		return reel_fail(-ENOMEM, "reel_mpi_attach: no memory");
	pthread_mutex_init(&attached->lock, NULL);
	attached->last_sent = &attached->sending;
	attached->messages = attached->sums = MPI_COMM_NULL;
	MPI_Comm_rank(comm, &attached->rank);
	MPI_Comm_size(comm, &attached->size);
	error = duplicate(comm, &attached->messages);
	if (!error)
		error = duplicate(comm, &attached->sums);
	if (!error)
		error = reel_mpi_check(MPI_Comm_set_attr(comm, keyval, attached),
				       "reel_mpi_attach");
	if (error)
		free_attached(attached);
	return error;
}

int reel_mpi_find(MPI_Comm comm, const char *call, struct reel_mpi_attached **attached)
{
	int found = 0;

	if (comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID)
		MPI_Comm_get_attr(comm, keyval, attached, &found);
	return found ? 0
		     : reel_fail(-EINVAL,
				 "%s: the communicator is not attached; call reel_mpi_attach() on "
				 "all of its ranks first",
				 call);
}

int reel_mpi_detach(MPI_Comm comm)
{
	int error = reel_mpi_reverse_end(comm);

	if (error && error != -EBUSY && error != -EIO)
		return error;
	MPI_Comm_delete_attr(comm, keyval);
	return error;
}

/* ---- The objective ---- */

int reel_mpi_seed(double *J_bar, enum reel_mpi_objective objective, int root, MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	int error = reel_mpi_find(comm, "reel_mpi_seed", &attached);
	int said[4], most[4];

	if (error)
		return error;
	/* The largest of a number and of its negative are equal and opposite if all are the same. */
	said[0] = (int)objective;
	said[1] = -said[0];
	said[2] = root;
	said[3] = -root;
	error = reel_mpi_check(MPI_Allreduce(said, most, 4, MPI_INT, MPI_MAX, attached->sums),
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
