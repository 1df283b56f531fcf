/* SPDX-License-Identifier: MIT */
/* Requests: how they start, and how they are waited for, in both sweeps. */
#include <config.h>

#include <sched.h>

#include "ranks.h"

enum { MAX_ROUNDS = 40 }; /* of Test, until the rest is waited for */

#define TYPE(slice) datatype((slice)->kind, (slice)->shape)

/* ---- Starting ---- */

static bool is_persistent(const struct message *m, bool receive)
{
	return receive ? m->receiving == RECV_INIT
		       : m->sending == SEND_INIT || m->sending == SSEND_INIT;
}

/* Describes a request, if it is not yet or need not stay. */
static void describe(struct reel_mpi_request *r, const struct message *m, bool receive,
		     struct memory *x, MPI_Comm comm)
{
	const struct slice *slice = receive ? &m->received : &m->sent;
	void *p = place_of(x, slice);

	if (r->mode != REEL_MPI_NULL && is_persistent(m, receive))
		return;
	if (receive)
		reel_mpi_recv_init(p, slice->count, TYPE(slice), source_of(m), tag_of(m), comm, r);
	else if (m->sending == SSEND_INIT)
		reel_mpi_ssend_init(p, slice->count, TYPE(slice), dest_of(m), m->tag, comm, r);
	else
		reel_mpi_send_init(p, slice->count, TYPE(slice), dest_of(m), m->tag, comm, r);
}

static int start_send(struct reel_mpi_request *r, const struct message *m, reel_tape *tape,
		      struct memory *x, MPI_Comm comm)
{
	void *p = place_of(x, &m->sent);
	int n = m->sent.count, dest = dest_of(m);
	MPI_Datatype type = TYPE(&m->sent);

	switch (m->sending) {
	case ISEND:
		return reel_mpi_isend(tape, p, n, type, dest, m->tag, comm, r);
	case ISSEND:
		return reel_mpi_issend(tape, p, n, type, dest, m->tag, comm, r);
	case IBSEND:
		return reel_mpi_ibsend(tape, p, n, type, dest, m->tag, comm, r);
	case IRSEND:
		return reel_mpi_irsend(tape, p, n, type, dest, m->tag, comm, r);
	default:
		describe(r, m, false, x, comm);
		return reel_mpi_start(tape, r);
	}
}

static int start_receive(struct reel_mpi_request *r, const struct message *m, reel_tape *tape,
			 struct memory *x, MPI_Comm comm)
{
	if (m->receiving == IRECV)
		return reel_mpi_irecv(tape, place_of(x, &m->received), m->received.count,
				      TYPE(&m->received), source_of(m), tag_of(m), comm, r);
	describe(r, m, true, x, comm);
	return reel_mpi_start(tape, r);
}

void start(const struct exchange *e, struct wait_set *set, int slot, reel_tape *tape,
	   struct memory *x, MPI_Comm comm, bool reverse)
{
	const struct message *m = &e->message[set->message[slot]];
	struct reel_mpi_request *r = &set->forward[slot];

	if (reverse)
		must(reel_mpi_start_reverse(tape, &set->back[slot]), "the reverse of a start");
	else if (set->receive[slot])
		must(start_receive(r, m, tape, x, comm), "the start of a receive");
	else
		must(start_send(r, m, tape, x, comm), "the start of a send");
}

/* ---- Statuses ---- */

/* MPICH 4.0 says that a request which received from nobody received from rank 0. */
static bool is_told(const struct exchange *e, const struct wait_set *set, int slot)
{
	return set->statuses && set->message[slot] >= 0 && set->receive[slot] &&
	       e->message[set->message[slot]].from != NOBODY;
}

static void tell(const struct exchange *e, const struct wait_set *set, int slot,
		 const MPI_Status *status, bool reverse)
{
	if (is_told(e, set, slot))
		told(e, set->message[slot], status, reverse);
}

static int requests_in(const struct wait_set *set)
{
	int n = 0;

	for (int i = 0; i < set->n; i++)
		n += set->message[i] >= 0;
	return n;
}

/* The reverse sweep has to choose as the forward sweep did. */
static void expect(int index, const char *call)
{
	int first = log_pop();

	if (index != first)
		fail("%s chooses %d in the reverse sweep, and chose %d", call, index, first);
}

/* ---- Forward ---- */

static void wait_each(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status status;

	for (int i = 0; i < set->n; i++) {
		must(reel_mpi_wait(tape, &set->forward[i],
				   set->statuses ? &status : MPI_STATUS_IGNORE), "a wait");
		tell(e, set, i, &status, false);
	}
}

static void wait_all(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status statuses[2 * MAX_MESSAGES];

	must(reel_mpi_waitall(tape, set->n, set->forward,
			      set->statuses ? statuses : MPI_STATUSES_IGNORE), "Waitall");
	for (int i = 0; i < set->n; i++)
		tell(e, set, i, &statuses[i], false);
}

static void wait_any(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	int calls = requests_in(set) + set->once_more, index;
	MPI_Status status;

	for (int k = 0; k < calls; k++) {
		must(reel_mpi_waitany(tape, set->n, set->forward, &index,
				      set->statuses ? &status : MPI_STATUS_IGNORE), "Waitany");
		if ((index == MPI_UNDEFINED) != (k == requests_in(set)))
			fail("call %d of Waitany on %d requests chooses %d", k, requests_in(set),
			     index);
		if (index != MPI_UNDEFINED)
			tell(e, set, index, &status, false);
		log_push(index);
	}
}

static void wait_some(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status statuses[2 * MAX_MESSAGES];
	int left = requests_in(set), indices[2 * MAX_MESSAGES], done, calls = 0;

	while (left > 0 || (set->once_more && left == 0)) {
		must(reel_mpi_waitsome(tape, set->n, set->forward, &done, indices,
				       set->statuses ? statuses : MPI_STATUSES_IGNORE), "Waitsome");
		if ((done == MPI_UNDEFINED) != (left == 0) || (left > 0 && done > left))
			fail("Waitsome on %d requests chooses %d", left, done);
		for (int k = 0; left > 0 && k < done; k++) {
			tell(e, set, indices[k], &statuses[k], false);
			log_push(indices[k]);
		}
		log_push(done);
		calls++;
		left -= left > 0 ? done : 1;
	}
	log_push(calls);
}

/* Tests a request. Returns whether it has ended. */
static bool test(const struct exchange *e, struct wait_set *set, int slot, reel_tape *tape)
{
	MPI_Status status;
	int flag;

	must(reel_mpi_test(tape, &set->forward[slot], &flag,
			   set->statuses ? &status : MPI_STATUS_IGNORE), "Test");
	if (flag)
		tell(e, set, slot, &status, false);
	log_push(slot);
	log_push(flag);
	return flag;
}

static void wait_for(const struct exchange *e, struct wait_set *set, int slot, reel_tape *tape)
{
	MPI_Status status;

	must(reel_mpi_wait(tape, &set->forward[slot],
			   set->statuses ? &status : MPI_STATUS_IGNORE), "a wait");
	tell(e, set, slot, &status, false);
	log_push(slot);
	log_push(1);
}

/* Tests each request in turn, and in the end waits for the requests that are left. */
static void test_all(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	bool ended[2 * MAX_MESSAGES] = {false};
	int calls = 0;

	for (int k = 0; k < MAX_ROUNDS * set->n; k++) {
		int slot = k % set->n;

		if (slot == 0)
			sched_yield();
		if (ended[slot])
			continue;
		ended[slot] = test(e, set, slot, tape);
		calls++;
	}
	log_push(calls);
	log_push(0);
	/* In the order of messages, which is the order in which the messages of a way began. */
	for (int m = 0; m < e->messages; m++)
		for (int slot = 0; slot < set->n; slot++)
			if (set->message[slot] == m && !ended[slot])
				wait_for(e, set, slot, tape);
}

void wait_forward(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	static void (*const by_way[])(const struct exchange *, struct wait_set *, reel_tape *) = {
		[WAIT_EACH] = wait_each, [WAITALL] = wait_all, [WAITANY] = wait_any,
		[WAITSOME] = wait_some, [TEST] = test_all,
	};

	by_way[set->waiting](e, set, tape);
}

/* ---- Reverse ---- */

static void wait_each_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status status;

	for (int i = set->n; i-- > 0;) {
		must(reel_mpi_wait_reverse(tape, &set->back[i],
					   set->statuses ? &status : MPI_STATUS_IGNORE),
		     "the reverse of a wait");
		tell(e, set, i, &status, true);
	}
}

static void wait_all_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status statuses[2 * MAX_MESSAGES];

	must(reel_mpi_waitall_reverse(tape, set->n, set->back,
				      set->statuses ? statuses : MPI_STATUSES_IGNORE),
	     "the reverse of Waitall");
	for (int i = set->n; i-- > 0;)
		tell(e, set, i, &statuses[i], true);
}

static void wait_any_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status status;
	int index;

	for (int k = requests_in(set) + set->once_more; k-- > 0;) {
		must(reel_mpi_waitany_reverse(tape, set->n, set->back, &index,
					      set->statuses ? &status : MPI_STATUS_IGNORE),
		     "the reverse of Waitany");
		expect(index, "Waitany");
		if (index != MPI_UNDEFINED)
			tell(e, set, index, &status, true);
	}
}

static void wait_some_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status statuses[2 * MAX_MESSAGES];
	int indices[2 * MAX_MESSAGES], done;

	for (int calls = log_pop(); calls-- > 0;) {
		must(reel_mpi_waitsome_reverse(tape, set->n, set->back, &done, indices,
					       set->statuses ? statuses : MPI_STATUSES_IGNORE),
		     "the reverse of Waitsome");
		expect(done, "Waitsome");
		for (int k = done; done != MPI_UNDEFINED && k-- > 0;) {
			expect(indices[k], "Waitsome");
			tell(e, set, indices[k], &statuses[k], true);
		}
	}
}

static void test_all_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape)
{
	MPI_Status own, *status = set->statuses ? &own : MPI_STATUS_IGNORE;

	while (log_pop()) {
		int slot = log_pop();

		must(reel_mpi_wait_reverse(tape, &set->back[slot], status),
		     "the reverse of a wait");
		tell(e, set, slot, &own, true);
	}
	for (int calls = log_pop(); calls-- > 0;) {
		int first = log_pop(), slot = log_pop(), flag;

		must(reel_mpi_test_reverse(tape, &set->back[slot], &flag, status),
		     "the reverse of Test");
		if (!flag != !first)
			fail("Test says %d in the reverse sweep, and said %d", flag, first);
		if (flag)
			tell(e, set, slot, &own, true);
	}
}

void wait_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape,
		  struct memory *x, MPI_Comm comm)
{
	static void (*const by_way[])(const struct exchange *, struct wait_set *, reel_tape *) = {
		[WAIT_EACH] = wait_each_reverse, [WAITALL] = wait_all_reverse,
		[WAITANY] = wait_any_reverse,	 [WAITSOME] = wait_some_reverse,
		[TEST] = test_all_reverse,
	};

	for (int i = 0; i < set->n; i++)
		if (set->message[i] >= 0)
			describe(&set->back[i], &e->message[set->message[i]], set->receive[i], x,
				 comm);
	by_way[set->waiting](e, set, tape);
}
