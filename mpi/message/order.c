/* SPDX-License-Identifier: MIT */
/* Requests that have begun, and the order of messages between two ranks. */
#include "config.h"

#include "order.h"

#include <errno.h>

#include <reel/extend.h>

#define TO(state) (1u << REEL_MPI_##state)

/* The table of order.h: the states that may follow each state. */
static const uint8_t next_states[REEL_MPI_REQUEST_STATES] = {
	[REEL_MPI_IDLE] = TO(STARTED) | TO(REVERSED),
	[REEL_MPI_STARTED] = TO(COMPLETE),
	[REEL_MPI_COMPLETE] = TO(IDLE),
	[REEL_MPI_REVERSED] = TO(IDLE),
};

void reel_mpi_move_request(struct reel_mpi_request *r, enum reel_mpi_request_state to)
{
	REEL_ASSERT(r->state >= REEL_MPI_IDLE && r->state < REEL_MPI_REQUEST_STATES);
	REEL_ASSERT(next_states[r->state] >> to & 1);
	r->state = (int)to;
}

/* MPI_Wait() and MPI_Test() leave the error of a status as it was. */
void reel_mpi_note_completion(struct reel_mpi_request *r, int code)
{
	r->status.MPI_ERROR = code;
	reel_mpi_move_request(r, REEL_MPI_COMPLETE);
}

int reel_mpi_complete_request(struct reel_mpi_request *r)
{
	REEL_ASSERT(r->state == REEL_MPI_STARTED || r->state == REEL_MPI_COMPLETE);
	if (r->state == REEL_MPI_STARTED)
		reel_mpi_note_completion(r, MPI_Wait(&r->request, &r->status));
	return r->status.MPI_ERROR;
}

bool reel_mpi_is_receive(const struct reel_mpi_request *r)
{
	return r->mode == REEL_MPI_RECEIVE;
}

int reel_mpi_message_of(struct reel_mpi_message *m, const struct reel_mpi_request *r,
			const char *call, const char *call_site, reel_tape *tape)
{
	*m = (struct reel_mpi_message){.call = call, .call_site = call_site, .tape = tape,
				       .buffer = r->buffer, .count = r->count, .peer = r->peer,
				       .tag = r->tag, .type = r->type};
	return reel_mpi_open_message(m, r->comm);
}

/*
 * Returns the first request from `r` on, and before `end`, that carries a message of the same rank
 * and tag. A receive with wildcards began before the one whose message has come, and could have
 * taken it; so it has taken an earlier one, and waiting for it is no deadlock. Requires
 * `attached->lock`.
 */
static struct reel_mpi_request *same_way(struct reel_mpi_request *r,
					 const struct reel_mpi_request *end, bool receive, int peer,
					 int tag)
{
	for (; r && r != end; r = r->next) {
		bool wild = r->peer == MPI_ANY_SOURCE || r->tag == MPI_ANY_TAG;

		if (reel_mpi_is_receive(r) != receive ||
		    (r->peer != peer && !(receive && r->peer == MPI_ANY_SOURCE)) ||
		    (r->tag != tag && !(receive && r->tag == MPI_ANY_TAG)))
			continue;
		if (!receive || !wild)
			return r;
		reel_mpi_complete_request(r);
		if (r->status.MPI_SOURCE == peer && r->status.MPI_TAG == tag)
			return r;
	}
	return NULL;
}

int reel_mpi_check_order(const struct reel_mpi_message *m, bool receive,
			 const struct reel_mpi_request *request)
{
	struct reel_mpi_attached *attached = m->attached;
	const struct reel_mpi_request *older = NULL;

	REEL_ASSERT(!request || request->state == REEL_MPI_COMPLETE);
	if (!reel_mpi_is_active(m))
		return 0;
	pthread_mutex_lock(&attached->lock);
	if (attached->oldest)
		older = same_way(attached->oldest, request, receive, m->peer, m->tag);
	pthread_mutex_unlock(&attached->lock);
	if (!older)
		return 0;
	return reel_fail(-ENOTSUP,
			 "%s: a request with rank %d and tag %d that began before (%s) has not "
			 "ended, and adjoints return in the reverse order; wait for it first, or "
			 "use another tag", m->call, m->peer, m->tag, older->call_site);
}

/* Finds the link to a request, or the end of the list. Requires `attached->lock`. */
static struct reel_mpi_request **link_to(struct reel_mpi_attached *attached,
					 const struct reel_mpi_request *r)
{
	struct reel_mpi_request **link = &attached->oldest;

	while (*link && *link != r)
		link = &(*link)->next;
	return link;
}

bool reel_mpi_is_listed(MPI_Comm comm, const struct reel_mpi_request *r)
{
	struct reel_mpi_attached *attached;
	bool found;

	if (!reel_mpi_is_attached(comm, &attached))
		return false;
	pthread_mutex_lock(&attached->lock);
	found = *link_to(attached, r);
	pthread_mutex_unlock(&attached->lock);
	return found;
}

void reel_mpi_append_request(struct reel_mpi_attached *attached, struct reel_mpi_request *r)
{
	REEL_ASSERT(r->state == REEL_MPI_STARTED);
	r->next = NULL;
	pthread_mutex_lock(&attached->lock);
	*link_to(attached, NULL) = r;
	pthread_mutex_unlock(&attached->lock);
}

void reel_mpi_unlink_request(struct reel_mpi_attached *attached, const struct reel_mpi_request *r)
{
	struct reel_mpi_request **link;

	REEL_ASSERT(r->state == REEL_MPI_COMPLETE);
	pthread_mutex_lock(&attached->lock);
	link = link_to(attached, r);
	if (*link)
		*link = r->next;
	pthread_mutex_unlock(&attached->lock);
}

struct reel_mpi_request *reel_mpi_oldest_same(struct reel_mpi_request *r, int n,
					      struct reel_mpi_request *requests)
{
	struct reel_mpi_attached *attached;
	struct reel_mpi_request *older;
	struct reel_mpi_message m;

	REEL_ASSERT(r >= requests && r < requests + n);
	/* A request without an adjoint is not in the list, and has no order. */
	if (reel_mpi_message_of(&m, r, "", NULL, NULL) || !reel_mpi_is_active(&m))
		return r;
	attached = m.attached;
	pthread_mutex_lock(&attached->lock);
	reel_mpi_complete_request(r);
	older = attached->oldest;
	while (older && older != r) {
		bool receive = reel_mpi_is_receive(r);

		older = same_way(older, r, receive, receive ? r->status.MPI_SOURCE : r->peer,
				 receive ? r->status.MPI_TAG : r->tag);
		if (!older)
			break;
		if (older >= requests && older < requests + n) {
			reel_mpi_complete_request(older);
			r = older;
			break;
		}
		older = older->next;
	}
	REEL_ASSERT(r->state == REEL_MPI_COMPLETE);
	pthread_mutex_unlock(&attached->lock);
	return r;
}
