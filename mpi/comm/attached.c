/* SPDX-License-Identifier: MIT */
/* Communicators that were attached: their state, its duplicates and its temporaries. */
#include "config.h"

#include "attached.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <reel/extend.h>

#include "error.h"
#include "os/environment.h"
#include "os/numerals.h"

/*
 * The first reel_mpi_attach() sets `keyval`. The lock guards it until a thread has found a
 * communicator that is attached: it is not changed after that.
 */
static pthread_mutex_t keyval_lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

/* ---- Temporaries ---- */

struct reel_mpi_buffer *reel_mpi_take_buffer(struct reel_mpi_attached *attached, size_t bytes)
{
	struct reel_mpi_buffer *buffer = NULL, **least = NULL;

	pthread_mutex_lock(&attached->lock);
	/* Most have exactly the length that is asked for: then the search ends early. */
	for (struct reel_mpi_buffer **link = &attached->spare;
	     *link && !(least && (*least)->bytes == bytes); link = &(*link)->next)
		if ((*link)->bytes >= bytes && (!least || (*link)->bytes < (*least)->bytes))
			least = link;
	if (least) {
		buffer = *least;
		*least = buffer->next;
	}
	pthread_mutex_unlock(&attached->lock);
	if (!buffer) {
		buffer = bytes < PTRDIFF_MAX - sizeof *buffer ? malloc(sizeof *buffer + bytes)
							      : NULL;
		if (!buffer) {
			reel_fail(-ENOMEM, "no memory for a temporary of %zu bytes", bytes);
			return NULL;
		}
		buffer->bytes = bytes;
	}
	REEL_ASSERT(buffer->bytes >= bytes);
	buffer->next = NULL;
	buffer->request = MPI_REQUEST_NULL;
	return buffer;
}

void reel_mpi_give_buffer(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer)
{
	struct reel_mpi_buffer **list =
		buffer->request == MPI_REQUEST_NULL ? &attached->spare : &attached->given_up;

	pthread_mutex_lock(&attached->lock);
	REEL_ASSERT(*list != buffer && attached->sending != buffer);
	buffer->next = *list;
	*list = buffer;
	pthread_mutex_unlock(&attached->lock);
}

void reel_mpi_give_up(struct reel_mpi_attached *attached, MPI_Request *request)
{
	struct reel_mpi_buffer *buffer;

	if (*request == MPI_REQUEST_NULL)
		return;
	buffer = reel_mpi_take_buffer(attached, 0);
	if (!buffer)
		return;
	buffer->request = *request;
	*request = MPI_REQUEST_NULL;
	reel_mpi_give_buffer(attached, buffer);
}

struct reel_mpi_buffer *reel_mpi_first_sent(struct reel_mpi_attached *attached)
{
	struct reel_mpi_buffer *buffer = attached->sending;

	REEL_ASSERT(reel_mpi_is_locked(attached) && buffer);
	attached->sending = buffer->next;
	if (!attached->sending)
		attached->last_sent = &attached->sending;
	return buffer;
}

void reel_mpi_reap(struct reel_mpi_attached *attached)
{
	REEL_ASSERT(reel_mpi_is_locked(attached));
	REEL_ASSERT(!attached->sending == (attached->last_sent == &attached->sending));
	while (attached->sending) {
		struct reel_mpi_buffer *buffer = attached->sending;
		int complete = 1, code = MPI_Test(&buffer->request, &complete, MPI_STATUS_IGNORE);

		if (!attached->lost)
			attached->lost = reel_mpi_error(code, "sending an adjoint");
		if (!complete)
			break;
		reel_mpi_first_sent(attached);
		buffer->next = attached->spare;
		attached->spare = buffer;
	}
}

void reel_mpi_keep_sending(struct reel_mpi_attached *attached, struct reel_mpi_buffer *buffer,
			   int peer, int tag, const char *call_site)
{
	buffer->peer = peer;
	buffer->tag = tag;
	buffer->call_site = call_site;
	pthread_mutex_lock(&attached->lock);
	REEL_ASSERT(!*attached->last_sent && !buffer->next);
	*attached->last_sent = buffer;
	attached->last_sent = &buffer->next;
	reel_mpi_reap(attached);
	pthread_mutex_unlock(&attached->lock);
}

/* A message that is dropped is received in blocks of this size. */
enum { DROP_BYTES = 4096 };

int reel_mpi_drop_matched(struct reel_mpi_attached *attached, MPI_Message *matched,
			  const MPI_Status *status)
{
	struct reel_mpi_buffer *buffer;
	MPI_Datatype block;
	MPI_Count bytes, blocks;

	MPI_Get_elements_x(status, MPI_BYTE, &bytes);
	/* Adjoints of requests may have more bytes than an int can count. */
	blocks = bytes / DROP_BYTES + 1;
	REEL_ASSERT(bytes >= 0 && blocks <= INT_MAX);
	buffer = reel_mpi_take_buffer(attached, (size_t)blocks * DROP_BYTES);
	if (!buffer)
		return -ENOMEM;
	MPI_Type_contiguous(DROP_BYTES, MPI_BYTE, &block);
	MPI_Type_commit(&block);
	MPI_Mrecv(buffer->data, (int)blocks, block, matched, MPI_STATUS_IGNORE);
	MPI_Type_free(&block);
	reel_mpi_give_buffer(attached, buffer);
	return 0;
}

/* ---- The attribute ---- */

int reel_mpi_set_attached(MPI_Comm comm, struct reel_mpi_attached *attached,
			  MPI_Comm_delete_attr_function *end)
{
	int code = MPI_SUCCESS;

	REEL_ASSERT(attached->rank >= 0 && attached->rank < attached->size);
	REEL_ASSERT(attached->messages != MPI_COMM_NULL && attached->sums != MPI_COMM_NULL);
	pthread_mutex_lock(&keyval_lock);
	if (keyval == MPI_KEYVAL_INVALID)
		code = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &keyval, NULL);
	pthread_mutex_unlock(&keyval_lock);
	if (code == MPI_SUCCESS)
		code = MPI_Comm_set_attr(comm, keyval, attached);
	return reel_mpi_error(code, "reel_mpi_attach");
}

void reel_mpi_delete_attached(MPI_Comm comm)
{
	REEL_ASSERT(keyval != MPI_KEYVAL_INVALID);
	MPI_Comm_delete_attr(comm, keyval);
}

bool reel_mpi_is_attached(MPI_Comm comm, struct reel_mpi_attached **attached)
{
	int found = 0;

	pthread_mutex_lock(&keyval_lock);
	if (comm != MPI_COMM_NULL && keyval != MPI_KEYVAL_INVALID)
		MPI_Comm_get_attr(comm, keyval, attached, &found);
	pthread_mutex_unlock(&keyval_lock);
	REEL_ASSERT(!found || *attached);
	return found;
}

int reel_mpi_find(MPI_Comm comm, const char *call, struct reel_mpi_attached **attached)
{
	if (reel_mpi_is_attached(comm, attached))
		return 0;
	return reel_fail(-EINVAL, "%s: the communicator is not attached; call reel_mpi_attach() on "
				  "all of its ranks first", call);
}

int reel_mpi_duplicate(MPI_Comm comm, MPI_Comm *to)
{
	int error = reel_mpi_error(MPI_Comm_dup(comm, to), "reel_mpi_attach");

	/* Errors in adjoint messages are the library's to report. */
	if (!error)
		MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
	REEL_ASSERT(error || *to != MPI_COMM_NULL);
	return error;
}

uint64_t reel_mpi_watch_of_environment(void)
{
	const char *text = reel_environment("REEL_MPI_WATCH");
	char *end;
	double seconds;

	if (!text)
		return 0;
	seconds = reel_parse_number(text, &end);
	if (!*end && seconds >= 0 && seconds <= REEL_MPI_MAX_WATCH)
		return (uint64_t)(1e9 * seconds);
	reel_environment_refuse("REEL_MPI_WATCH", text, "it must be a number of seconds");
	return 0;
}
