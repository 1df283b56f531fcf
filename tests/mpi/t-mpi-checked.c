/* SPDX-License-Identifier: MIT */
/*
 * Tests checked mode, the watchdog and the report: each rank that takes part in a mistake reports
 * it, with the lines of both sides, and no rank hangs. Ranks 0 and 1 send messages; all ranks make
 * the collective calls.
 */
#include "config.h"

#include "helpers/ranks.h"

#include <math.h>

#include <reel/run.h>

#define D MPI_DOUBLE
#define NO_STATUS MPI_STATUS_IGNORE

/* Makes a call, and keeps its line, which each rank knows after share_lines(). */
#define AT(i, call) (lines[i] = __LINE__, (call))

static int lines[8];
static MPI_Comm comm;
static reel_tape tape;
static double x[8], x_bar[8];

static void begin(unsigned flags, double seconds)
{
	tape = (reel_tape){0};
	memset(lines, 0, sizeof lines);
	for (int i = 0; i < 8; i++)
		x[i] = x_bar[i] = 1 + i;
	record_reports();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	reel_mpi_attach(comm, flags);
	reel_mpi_watch(comm, seconds);
}

/* A barrier of all ranks. They sleep while they wait, so that other tests get the processors. */
static void meet(void)
{
	MPI_Request request;
	int complete;

	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	while (MPI_Test(&request, &complete, MPI_STATUS_IGNORE), !complete)
		usleep(500);
}

static void end(void)
{
	meet();
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	MPI_Comm_free(&comm);
}

static void share_lines(void)
{
	MPI_Allreduce(MPI_IN_PLACE, lines, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* Returns true if the text has the lines of both calls. */
static bool names(const char *text, int a, int b)
{
	char first[40], second[40];

	snprintf(first, sizeof first, "t-mpi-checked.c:%d", lines[a]);
	snprintf(second, sizeof second, "t-mpi-checked.c:%d", lines[b]);
	return (strstr(text, first) && strstr(text, second)) || complain_at(lines[a], text);
}

/* Returns true if the call failed, and the tape reported it once. */
static bool failed(int error, int expected)
{
	return holds(error == expected) && holds(reel_tape_error(&tape) == expected) &&
	       holds(reported.calls == 1) && holds(isnan(x_bar[0]));
}

/* ---- Messages ---- */

static void pass(int line, int tag)
{
	if (rank == 0)
		lines[line] = __LINE__, reel_mpi_send(&tape, x, 5, D, 1, tag, comm);
	if (rank == 1)
		lines[line + 1] = __LINE__, reel_mpi_recv(&tape, x, 5, D, 0, tag, comm, NO_STATUS);
}

static bool right_pairs_pass(void)
{
	bool passed = true;
	int checked;

	begin(rank == 1 ? REEL_MPI_CHECKED : 0, 0);
	pass(0, 7), pass(0, 7);
	/* One rank asks for checked mode, so all ranks have notes. */
	checked = reel_tape_bytes(&tape) > 0;
	passed &= holds(checked == (rank < 2));
	for (int i = 0; i < 2; i++)
		if (rank == 0)
			passed &= holds(!reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm));
		else if (rank == 1)
			passed &= holds(!reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm,
							       NO_STATUS));
	passed &= holds(rank || x_bar[4] == 10);
	passed &= holds(reel_tape_is_empty(&tape) && !reel_mpi_reverse_end(comm));
	end();
	return passed;
}

/* Rank 1 makes a wrong reverse call; rank 0 makes the right call. */
static bool rank_1_is_wrong(int wrong, int forward)
{
	bool passed = true;

	share_lines();
	if (rank == 1) {
		passed &= failed(wrong, -EBADMSG) && names(reported.message, 4, forward);
	} else if (rank == 0) {
		int error = AT(5, reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm));

		passed &= failed(error, -EBADMSG) && names(reported.message, 4, forward);
		passed &= holds(strstr(reported.message, "rank 1, ")) &&
			  names(reported.message, 5, 4);
	}
	end();
	return passed;
}

static bool wrong_count(void)
{
	int error = 0;

	begin(REEL_MPI_CHECKED, 0);
	pass(0, 7);
	if (rank == 1)
		error = AT(4, reel_mpi_recv_reverse(&tape, x_bar, 4, D, 0, 7, comm, NO_STATUS));
	return rank_1_is_wrong(error, 1);
}

static bool wrong_kind(void)
{
	int error = 0;

	begin(REEL_MPI_CHECKED, 0);
	pass(0, 7);
	if (rank == 1)
		error = AT(4, reel_mpi_send_reverse(&tape, x_bar, 5, D, 0, 7, comm));
	return rank_1_is_wrong(error, 1);
}

static bool missing_call(void)
{
	int error = 0;

	begin(REEL_MPI_CHECKED, 0);
	pass(2, 6);
	pass(0, 7);
	if (rank == 1)
		error = AT(4, reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 6, comm, NO_STATUS));
	return rank_1_is_wrong(error, 1);
}

/* Rank 0 reports both messages, although rank 1 has not reached the second call. */
static bool wrong_order(void)
{
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	pass(2, 6);
	pass(0, 7);
	if (rank == 1) {
		passed &= failed(AT(4, reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 6, comm,
							     NO_STATUS)),
				 -EBADMSG);
		passed &= failed(reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm, NO_STATUS),
				 -EBADMSG);
	}
	share_lines();
	if (rank == 0) {
		passed &= failed(reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm), -EBADMSG);
		passed &= names(reported.message, 4, 1);
		x_bar[0] = 1;
		passed &= failed(reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 6, comm), -EBADMSG);
	}
	end();
	return passed;
}

static bool too_many_calls(void)
{
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	passed &= failed(reel_mpi_send_reverse(&tape, x_bar, 5, D, 0, 7, comm), -EBADMSG);
	passed &= holds(strstr(reported.message, "the tape is empty"));
	end();
	return passed;
}

/*
 * Without tapes only the header of a message shows the mistake. The receiver drops the data of that
 * message, so that the next pair fits.
 */
static bool counts_of_a_pair_differ(void)
{
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	if (rank == 1) {
		AT(1, reel_mpi_recv_reverse(NULL, x_bar, 4, D, 0, 7, comm, NO_STATUS));
		AT(1, reel_mpi_recv_reverse(NULL, x_bar + 4, 3, D, 0, 7, comm, NO_STATUS));
	}
	share_lines();
	lines[1]--;
	if (rank == 0) {
		error = AT(0, reel_mpi_send_reverse(NULL, x_bar, 5, D, 1, 7, comm));
		passed &= holds(error == -EBADMSG && isnan(x_bar[4]));
		passed &= names(reel_error_text(error), 0, 1);
		passed &= holds(!reel_mpi_send_reverse(NULL, x_bar + 5, 3, D, 1, 7, comm));
		passed &= holds(x_bar[5] == 6 + 5);
	}
	end();
	return passed;
}

/* The calls of each rank agree with its tape, but two ranks reverse messages in other orders. */
static bool serials_of_a_pair_differ(void)
{
	reel_tape other = {0};
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	if (rank == 0)
		reel_mpi_send(&other, x, 5, D, 1, 7, comm);
	if (rank == 1)
		reel_mpi_recv(&other, x, 5, D, 0, 7, comm, NO_STATUS);
	pass(0, 7);
	if (rank == 1)
		AT(3, reel_mpi_recv_reverse(&other, x_bar, 5, D, 0, 7, comm, NO_STATUS));
	share_lines();
	if (rank == 0) {
		error = AT(2, reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm));
		passed &= failed(error, -EBADMSG) && names(reported.message, 2, 3);
		passed &= holds(strstr(reported.message, "message 2") &&
				strstr(reported.message, "message 1"));
	}
	reel_tape_close(&other);
	end();
	return passed;
}

static bool requests_are_compared(void)
{
	struct reel_mpi_request r = {0};
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	if (rank == 0) {
		reel_mpi_isend(&tape, x, 5, D, 1, 7, comm, &r);
		AT(0, reel_mpi_wait(&tape, &r, NO_STATUS));
	} else if (rank == 1) {
		reel_mpi_irecv(&tape, x, 5, D, 0, 7, comm, &r);
		AT(1, reel_mpi_wait(&tape, &r, NO_STATUS));
		reel_mpi_recv_init(x_bar, 2, D, 0, 7, comm, &r);
		passed &= failed(AT(4, reel_mpi_wait_reverse(&tape, &r, NO_STATUS)), -EBADMSG);
		passed &= names(reported.message, 1, 4);
		reel_mpi_start_reverse(&tape, &r);
	}
	share_lines();
	if (rank == 0) {
		reel_mpi_send_init(x_bar, 5, D, 1, 7, comm, &r);
		passed &= holds(!reel_mpi_wait_reverse(&tape, &r, NO_STATUS));
		passed &= failed(AT(5, reel_mpi_start_reverse(&tape, &r)), -EBADMSG);
		passed &= names(reported.message, 5, 4) && names(reported.message, 1, 1);
	}
	passed &= holds(!reel_mpi_reverse_end(comm));
	end();
	return passed;
}

/* Each rank passes the error on to the next one by its reverse calls. */
static bool errors_go_on(void)
{
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	if (rank > 0)
		reel_mpi_recv(&tape, x, 5, D, rank - 1, 7, comm, NO_STATUS);
	if (rank + 1 < ranks)
		reel_mpi_send(&tape, x, 5, D, rank + 1, 7, comm);
	if (rank + 1 < ranks)
		reel_mpi_send_reverse(&tape, x_bar, 5, D, rank + 1, 7, comm);
	if (rank > 0)
		reel_mpi_recv_reverse(&tape, x_bar, rank + 1 < ranks ? 5 : 1, D, rank - 1, 7, comm,
				      NO_STATUS);
	passed &= failed(-EBADMSG, -EBADMSG);
	end();
	return passed;
}

/* ---- Collective calls ---- */

static bool wrong_root(void)
{
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	AT(0, reel_mpi_bcast(&tape, x, 5, D, 0, comm));
	error = rank == 1 ? AT(1, reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 1, comm))
			  : reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 0, comm);
	share_lines();
	passed &= failed(error, -EBADMSG) && names(reported.message, 0, 1);
	/* All ranks have the error, so a later call does not wait. */
	passed &= holds(reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 0, comm) == -EBADMSG);
	end();
	return passed;
}

static bool other_calls(void)
{
	double y[8];
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	error = rank == 1 ? AT(1, reel_mpi_allreduce(&tape, x, y, 5, D, MPI_SUM, comm))
			  : AT(0, reel_mpi_bcast(&tape, x, 5, D, 0, comm));
	share_lines();
	/* failed() expects adjoints of NaN, which only reverse calls set. */
	x_bar[0] = NAN;
	passed &= failed(error, -EBADMSG) && names(reported.message, 0, 0);
	passed &= holds(strstr(reported.message, "reel_mpi_allreduce") &&
			strstr(reported.message, "reel_mpi_bcast"));
	end();
	return passed;
}

/* Neighbours compare their calls before they exchange blocks. */
static bool other_calls_of_neighbours(void)
{
	const int periodic = 1;
	bool passed = true;
	double y[4];
	MPI_Comm ring;
	int error;

	begin(0, 0);
	MPI_Cart_create(comm, 1, &ranks, &periodic, 0, &ring);
	reel_mpi_attach(ring, REEL_MPI_CHECKED);
	reel_mpi_neighbor_alltoall(&tape, x, 1, D, y, 1, D, ring);
	reel_mpi_neighbor_allgather(&tape, x, 1, D, y, 1, D, ring);
	error = rank == 0 ? reel_mpi_neighbor_alltoall_reverse(&tape, x_bar, 1, D, y, 1, D, ring)
			  : reel_mpi_neighbor_allgather_reverse(&tape, x_bar, 1, D, y, 1, D, ring);
	passed &= failed(error, -EBADMSG);
	meet();
	MPI_Comm_free(&ring);
	end();
	return passed;
}

static bool other_counts(void)
{
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	error = rank == 1 ? AT(1, reel_mpi_bcast(&tape, x, 4, D, 0, comm))
			  : AT(0, reel_mpi_bcast(&tape, x, 5, D, 0, comm));
	share_lines();
	x_bar[0] = NAN;
	passed &= failed(error, -EBADMSG) && names(reported.message, 0, 1);
	passed &= holds(strstr(reported.message, "4 numbers") &&
			strstr(reported.message, "5 numbers"));
	end();
	return passed;
}

/* Rank 1 leaves out the reverse of an Allreduce, and continues with the reverse of a message. */
static bool missing_collective_call(void)
{
	double y[8];
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	pass(2, 7);
	AT(0, reel_mpi_allreduce(&tape, x, y, 5, D, MPI_SUM, comm));
	error = rank == 1 ? AT(1, reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm, NO_STATUS))
			  : reel_mpi_allreduce_reverse(&tape, x_bar, y, 5, D, MPI_SUM, comm);
	share_lines();
	passed &= failed(error, -EBADMSG) && names(reported.message, 0, 1);
	end();
	return passed;
}

/* Rank 1 has room for two of five numbers. The report names this cause, not a wrong order. */
static bool receive_too_small(bool by_request)
{
	struct reel_mpi_request r;
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	/* If a wait fails, MPICH calls this error handler, for any communicator. */
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (rank == 0)
		reel_mpi_send(&tape, x, 5, D, 1, 7, comm);
	if (rank == 1 && by_request) {
		reel_mpi_irecv(&tape, x, 2, D, 0, 7, comm, &r);
		passed &= holds(reel_mpi_wait(&tape, &r, NO_STATUS) == -EMSGSIZE);
		reel_mpi_recv_init(x_bar, 2, D, 0, 7, comm, &r);
		passed &= holds(AT(4, reel_mpi_wait_reverse(&tape, &r, NO_STATUS)) == -EMSGSIZE);
		reel_mpi_start_reverse(&tape, &r);
	} else if (rank == 1) {
		passed &= holds(reel_mpi_recv(&tape, x, 2, D, 0, 7, comm, NO_STATUS) == -EMSGSIZE);
		passed &= holds(AT(4, reel_mpi_recv_reverse(&tape, x_bar, 2, D, 0, 7, comm,
							    NO_STATUS)) == -EMSGSIZE);
	}
	share_lines();
	if (rank == 0) {
		passed &= failed(AT(5, reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm)),
				 -EBADMSG);
		passed &= holds(strstr(reported.message, "had no room")) &&
			  names(reported.message, 4, 5);
	}
	passed &= holds(rank != 1 || isnan(x_bar[0]));
	end();
	return passed;
}

static bool receives_too_small(void)
{
	return receive_too_small(false) & receive_too_small(true);
}

/* Operations of the program: `other` adds like `add`. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int k = 0; k < *n; k++)
		((double *)inout)[k] += ((const double *)in)[k];
}

static void add_adjoint(const void *a, const void *b, const void *bar, void *a_bar, void *b_bar,
			int n, MPI_Datatype type, void *context)
{
	(void)a, (void)b, (void)type, (void)context;
	memcpy(a_bar, bar, (size_t)n * sizeof(double));
	memcpy(b_bar, bar, (size_t)n * sizeof(double));
}

static MPI_Op own, other;

/* Details of a call that its reverse call changes, on ranks where `wrong` is set. */
enum { OPERATION, OWN_OPERATION, SCAN, KIND, IN_PLACE, COUNTS, BLOCKS, NEIGHBOUR_TYPES, DETAILS };

static int call_in_detail(int detail, bool reverse, bool wrong)
{
	int counts[4] = {1, 1, 1, 1}, at[4] = {0, 1, 2, 3};
	MPI_Datatype types[4] = {D, D, D, D};
	double y[8] = {0};

#define PAIR(call, ...) (reverse ? call##_reverse(&tape, __VA_ARGS__) : call(&tape, __VA_ARGS__))
	switch (detail) {
	case OPERATION:
		return PAIR(reel_mpi_allreduce, x_bar, y, 1, D, wrong ? MPI_SUM : MPI_PROD, comm);
	case OWN_OPERATION:
		return PAIR(reel_mpi_reduce, x_bar, y, 1, D, wrong ? other : own, 0, comm);
	case SCAN:
		return PAIR(reel_mpi_scan, x_bar, y, 1, D, wrong ? MPI_MAX : MPI_MIN, comm);
	case KIND:
		return PAIR(reel_mpi_bcast, x_bar, 1, wrong ? D : MPI_FLOAT, 0, comm);
	case IN_PLACE:
		return PAIR(reel_mpi_allreduce, wrong ? MPI_IN_PLACE : x_bar, wrong ? x_bar : y, 1,
			    D, MPI_SUM, comm);
	case COUNTS:
		counts[0] = wrong ? 2 : 1, counts[1] = wrong ? 0 : 1;
		return PAIR(reel_mpi_reduce_scatter, x_bar, y, counts, D, MPI_SUM, comm);
	case BLOCKS:
		counts[1] = wrong ? 0 : 1;
		return PAIR(reel_mpi_alltoallv, x_bar, counts, at, D, y, counts, at, D, comm);
	default:
		types[1] = wrong ? MPI_FLOAT : D;
		for (int i = 0; i < 4; i++)
			at[i] *= (int)sizeof(double);
		return PAIR(reel_mpi_alltoallw, x_bar, counts, at, types, y, counts, at, types,
			    comm);
	}
}

/* Rank 1 changes a detail of its reverse call, and all ranks report its two lines. */
static bool reverse_in_detail(int detail)
{
	static const char *const what[DETAILS][2] = {
		[OPERATION] = {"the operation is MPI_SUM", "was MPI_PROD"},
		[OWN_OPERATION] = {"the counts or the operations differ", ""},
		[SCAN] = {"the operation is MPI_MAX", "was MPI_MIN"},
		[KIND] = {"(double)", "(float)"},
		[IN_PLACE] = {"MPI_IN_PLACE", "differ"},
		[COUNTS] = {"the counts", "differ"},
		[BLOCKS] = {"the counts", "differ"},
		[NEIGHBOUR_TYPES] = {"the counts", "differ"},
	};
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	reel_mpi_op_set_adjoint(comm, own, add_adjoint, NULL);
	reel_mpi_op_set_adjoint(comm, other, add_adjoint, NULL);
	AT(0, passed &= holds(!call_in_detail(detail, false, false)));
	passed &= holds(x_bar[0] == 1);
	error = call_in_detail(detail, true, rank == 1);
	/* The call set half of this double to NaN, as a float. */
	if (detail == KIND && rank != 1)
		x_bar[0] = NAN;
	passed &= failed(error, -EBADMSG);
	passed &= holds(strstr(reported.message, what[detail][0]));
	passed &= holds(strstr(reported.message, what[detail][1]));
	end();
	return passed;
}

static bool other_details(void)
{
	bool passed = true;

	MPI_Op_create(add, true, &own);
	MPI_Op_create(add, true, &other);
	for (int detail = 0; detail < DETAILS; detail++)
		passed &= reverse_in_detail(detail) || complain_at(detail, "this detail");
	MPI_Op_free(&own);
	MPI_Op_free(&other);
	return passed;
}

/* Ranks also compare their types of numbers and operations in the forward sweep. */
static bool other_details_of_ranks(void)
{
	static const int details[] = {OPERATION, SCAN, KIND};
	static const char *const what[][2] = {
		{"MPI_SUM", "MPI_PROD"}, {"MPI_MAX", "MPI_MIN"}, {"(double)", "(float)"}};
	bool passed = true;

	for (size_t i = 0; i < COUNT(details); i++) {
		begin(REEL_MPI_CHECKED, 0);
		passed &= holds(call_in_detail(details[i], false, rank == 1) == -EBADMSG);
		passed &= holds(strstr(reported.message, what[i][0]));
		passed &= holds(strstr(reported.message, what[i][1]));
		end();
	}
	return passed;
}

/* An I-form is compared with the note of its own rank. All ranks are wrong, so no rank waits. */
static bool other_details_of_starts(void)
{
	static struct reel_mpi_request unused;
	struct reel_mpi_request r;
	double y[4] = {0};
	bool passed = true;

	begin(REEL_MPI_CHECKED, 0);
	passed &= holds(!reel_mpi_iallreduce(&tape, x, y, 1, D, MPI_PROD, comm, &r));
	passed &= holds(!reel_mpi_wait(&tape, &r, NO_STATUS));
	passed &= failed(reel_mpi_iallreduce_reverse(&tape, x_bar, y, 1, D, MPI_SUM, comm, &unused),
			 -EBADMSG);
	passed &= holds(strstr(reported.message, "the operation is MPI_SUM, and was MPI_PROD"));
	end();

	begin(REEL_MPI_CHECKED, 0);
	passed &= holds(!reel_mpi_iallgather(&tape, x, 1, MPI_FLOAT, y, 1, MPI_FLOAT, comm,
					     &r));
	passed &= holds(!reel_mpi_wait(&tape, &r, NO_STATUS));
	passed &= failed(reel_mpi_iallgather_reverse(&tape, x_bar, 1, D, y, 1, D, comm, &unused),
			 -EBADMSG);
	passed &= holds(strstr(reported.message, "(double)"));
	passed &= holds(strstr(reported.message, "(float)"));
	end();
	return passed;
}

/*
 * The reverse of a message has another type of numbers. The note shows it, or the header of the
 * message if there are no tapes.
 */
static bool other_numbers_in_a_message(void)
{
	bool passed = true;
	int error;

	begin(REEL_MPI_CHECKED, 0);
	if (rank == 0)
		reel_mpi_send(&tape, x, 5, MPI_FLOAT, 1, 7, comm);
	if (rank == 1)
		reel_mpi_recv(&tape, x, 5, MPI_FLOAT, 0, 7, comm, NO_STATUS);
	if (rank == 1)
		passed &= failed(reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm, NO_STATUS),
				 -EBADMSG);
	if (rank == 0)
		passed &= holds(reel_mpi_send_reverse(&tape, x_bar, 5, MPI_FLOAT, 1, 7, comm) ==
				-EBADMSG);
	passed &= holds(rank > 1 || strstr(reported.message, "of 5 numbers (double)"));
	if (rank == 1)
		reel_mpi_recv_reverse(NULL, x_bar, 3, MPI_FLOAT, 0, 7, comm, NO_STATUS);
	if (rank == 0) {
		error = reel_mpi_send_reverse(NULL, x_bar, 3, D, 1, 7, comm);
		passed &= holds(error == -EBADMSG && isnan(x_bar[0]));
		passed &= holds(strstr(reel_error_text(error), "(double)") &&
				strstr(reel_error_text(error), "(float)"));
	}
	end();
	return passed;
}

/* Makes forward calls of each kind, and the reverse calls whose bit is set in `which`. */
static void reverse_some(unsigned which)
{
	static struct reel_mpi_request unused;
	struct reel_mpi_request r;
	double y[8] = {0};

	pass(0, 7);
	AT(2, reel_mpi_bcast(&tape, x, 5, D, 0, comm));
	AT(3, reel_mpi_iallreduce(&tape, x, y, 5, D, MPI_SUM, comm, &r));
	reel_mpi_wait(&tape, &r, NO_STATUS);
	if (which & 1)
		reel_mpi_iallreduce_reverse(&tape, x_bar, y, 5, D, MPI_SUM, comm, &unused);
	if (which & 2)
		reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 0, comm);
	if (which & 4 && rank == 0)
		reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm);
	if (which & 4 && rank == 1)
		reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm, NO_STATUS);
}

static bool calls_that_are_left(void)
{
	static const char *const left[] = {"1 message and 2 collective calls",
					   "1 message and 1 collective call ",
					   "a receive from rank 0 with tag 7, "};
	bool passed = true;

	for (unsigned i = 0; i < 3; i++) {
		bool is_told = rank < 2 || i < 2;

		begin(REEL_MPI_CHECKED, 0);
		reverse_some((1u << i) - 1);
		passed &= holds(reel_mpi_detach(comm) == (is_told ? -EBADMSG : 0));
		passed &= holds(reported.calls == is_told);
		passed &= holds(rank != 1 || (strstr(reported.message, left[i]) &&
					      names(reported.message, 1, 1)));
		passed &= holds(rank != 2 || i || names(reported.message, 3, 3));
		end();
	}
	/* Nothing is reported if all calls are reversed, or if an error was reported before. */
	begin(REEL_MPI_CHECKED, 0);
	reverse_some(7);
	passed &= holds(!reel_mpi_detach(comm) && !reported.calls);
	end();
	begin(REEL_MPI_CHECKED, 0);
	reverse_some(1);
	passed &= failed(reel_mpi_bcast_reverse(&tape, x_bar, 4, D, 0, comm), -EBADMSG);
	reel_mpi_detach(comm);
	passed &= holds(reported.calls == 1);
	end();
	return passed;
}

/* ---- The watchdog ---- */

#define WATCH "0.05"
#define SECONDS atof(WATCH)
#define HAS_WAITED "has waited " WATCH " s for "

/* Returns true if this rank has reported that the call in this line has waited. */
static bool barked(int error, int line, const char *what)
{
	char expected[200];

	snprintf(expected, sizeof expected, "t-mpi-checked.c:%d: reel_mpi_%s", lines[line], what);
	return holds(error == -ETIMEDOUT && reported.calls == 1) &&
	       (strstr(reported.message, expected) || complain_at(lines[line], reported.message)) &&
	       holds(atoi(reported.message + strlen("rank ")) == rank);
}

static bool nobody_answers(unsigned flags)
{
	bool passed = true;

	begin(flags, SECONDS);
	pass(0, 7), pass(0, 7);
	if (rank == 0) {
		int error = AT(2, reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm));

		passed &= barked(error, 2, "send_reverse() " HAS_WAITED "the adjoint from rank 1, "
					   "tag 7");
		passed &= failed(error, -ETIMEDOUT);
		/* A later call does not wait again. */
		reel_mpi_watch(comm, 1000);
		passed &= holds(reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm) ==
				-ETIMEDOUT);
		passed &= holds(reel_mpi_barrier_reverse(&tape, comm) == -ETIMEDOUT);
		passed &= holds(reported.calls == 1);
	}
	meet();
	if (rank)
		reel_mpi_barrier_reverse(NULL, comm);
	end();
	return passed;
}

static bool watched_messages(void)
{
	return nobody_answers(0) & nobody_answers(REEL_MPI_CHECKED);
}

static bool watched_without_tape(void)
{
	bool passed = true;

	setenv("REEL_MPI_WATCH", WATCH, 1);
	begin(0, 0);
	reel_mpi_detach(comm);
	reel_mpi_attach(comm, 0);
	unsetenv("REEL_MPI_WATCH");
	if (rank == 0)
		passed &= barked(AT(0, reel_mpi_send_reverse(NULL, x_bar, 5, D, 1, 7, comm)), 0,
				 "send_reverse() " HAS_WAITED "the adjoint from rank 1");
	passed &= holds(reel_mpi_watch(comm, -1) == -EINVAL);
	end();
	return passed;
}

/* Rank 0 gives up an adjoint that rank 1 receives late, and one that rank 1 does not send. */
static bool watched_requests(void)
{
	enum { LARGE = 200000 };
	double *y = calloc(LARGE, sizeof *y);
	struct reel_mpi_request in = {0}, out = {0};
	bool passed = true;

	begin(0, SECONDS);
	pass(2, 4);
	if (rank == 0) {
		reel_mpi_recv_init(y, LARGE, D, 1, 3, comm, &in);
		reel_mpi_send_init(x_bar, 5, D, 1, 4, comm, &out);
		reel_mpi_wait_reverse(&tape, &out, NO_STATUS);
		reel_mpi_wait_reverse(NULL, &in, NO_STATUS);
		passed &= barked(AT(0, reel_mpi_start_reverse(&tape, &out)), 0,
				 "start_reverse() " HAS_WAITED "the adjoint from rank 1, tag 4");
		passed &= holds(isnan(x_bar[0]));
		record_reports();
		passed &= barked(AT(1, reel_mpi_start_reverse(NULL, &in)), 1,
				 "start_reverse() " HAS_WAITED "its adjoint to be taken by rank 1, "
				 "tag 3");
	}
	meet();
	if (rank == 1) {
		/* Rank 0 has given up, and sends only in reel_mpi_reverse_end(). */
		reel_mpi_watch(comm, 1000);
		passed &= holds(!reel_mpi_send_reverse(NULL, y, LARGE, D, 0, 3, comm));
	}
	passed &= holds(!reel_mpi_reverse_end(comm));
	end();
	free(y);
	return passed;
}

/* Names in the reports of collective calls whose reverse waits; the last three are I-forms. */
static const char *const watched_names[] = {"bcast",   "allreduce",  "barrier",
					    "barrier", "iallreduce", "iscan"};

static void run_forward(int call)
{
	struct reel_mpi_request request;
	double y[5];

	if (call == 0)
		reel_mpi_bcast(&tape, x, 5, D, 0, comm);
	else if (call == 1)
		reel_mpi_allreduce(&tape, x, y, 5, D, MPI_SUM, comm);
	else if (call == 4)
		reel_mpi_iallreduce(&tape, x, y, 5, D, MPI_PROD, comm, &request);
	else if (call == 5)
		reel_mpi_iscan(&tape, x, y, 5, D, MPI_MIN, comm, &request);
	if (call >= 4)
		reel_mpi_wait(&tape, &request, NO_STATUS);
}

static int run_reverse(int call)
{
	static struct reel_mpi_request unused;
	double y_bar[5] = {0};

	switch (call) {
	case 0:
		return AT(0, reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 0, comm));
	case 1:
		return AT(0, reel_mpi_allreduce_reverse(&tape, x_bar, y_bar, 5, D, MPI_SUM, comm));
	case 2:
		return AT(0, reel_mpi_barrier_reverse(&tape, comm));
	case 3:
		return AT(0, reel_mpi_ibarrier_reverse(&tape, comm, &unused));
	case 4:
		return AT(0, reel_mpi_iallreduce_reverse(&tape, x_bar, y_bar, 5, D, MPI_PROD, comm,
							 &unused));
	default:
		return AT(0, reel_mpi_iscan_reverse(&tape, x_bar, y_bar, 5, D, MPI_MIN, comm,
						    &unused));
	}
}

/* All ranks wait for rank 1, which comes too late. It does not wait for ever either. */
static bool watched_collectives(unsigned flags)
{
	bool passed = true;

	for (int call = 0; call < (int)COUNT(watched_names); call++) {
		bool has_adjoint = !strstr(watched_names[call], "barrier");
		int error;

		begin(flags, SECONDS);
		run_forward(call);
		if (rank == 1)
			meet();
		error = run_reverse(call);
		if (rank == 0)
			passed &= barked(error, 0, watched_names[call]);
		if (rank != 1)
			meet();
		passed &= holds(rank != 0 || !has_adjoint || isnan(x_bar[0]));
		end();
	}
	return passed;
}

static bool watched_calls(void)
{
	return watched_collectives(0) & watched_collectives(REEL_MPI_CHECKED);
}

/* All ranks wait for rank 1 at a fence. */
static bool watched_fence(void)
{
	bool passed = true;
	double *memory;
	MPI_Win win;

	begin(0, SECONDS);
	MPI_Win_allocate(8, 8, MPI_INFO_NULL, comm, &memory, &win);
	passed &= holds(!reel_mpi_win_attach(win, comm));
	passed &= holds(!reel_mpi_win_fence(&tape, MPI_MODE_NOSUCCEED, win));
	if (rank == 1)
		meet();
	if (rank == 0)
		passed &= barked(AT(0, reel_mpi_win_fence_reverse(&tape, 0, win)), 0,
				 "win_fence_reverse() " HAS_WAITED "the other ranks");
	else
		reel_mpi_win_fence_reverse(&tape, 0, win);
	if (rank != 1)
		meet();
	MPI_Win_free(&win);
	end();
	return passed;
}

/* One rank has a watchdog. Ranks with and without one make the same calls of MPI. */
static bool one_rank_is_watched(unsigned flags)
{
	const int counts[4] = {1, 1, 1, 1};
	double y[8] = {0}, bar = 1, sum_bar = 0;
	bool passed = true;

	begin(flags, rank == 0 ? 20 : 0);
	reel_mpi_bcast(&tape, x, 5, D, 0, comm);
	reel_mpi_barrier(&tape, comm);
	reel_mpi_reduce(&tape, x, y, 5, D, MPI_SUM, 0, comm);
	reel_mpi_reduce_scatter_block(&tape, x, y + 5, 1, D, MPI_SUM, comm);
	reel_mpi_reduce_scatter(&tape, x, y + 6, counts, D, MPI_SUM, comm);
	passed &= holds(!reel_mpi_sum_reverse(NULL, &sum_bar, &bar, 1, comm) && sum_bar == ranks);
	y[6] = y[5] = 1 + rank;
	for (int k = 0; k < 5; k++)
		y[k] = 10, x_bar[k] = 0;
	passed &= holds(
		!reel_mpi_reduce_scatter_reverse(&tape, x_bar, y + 6, counts, D, MPI_SUM, comm));
	passed &= holds(
		!reel_mpi_reduce_scatter_block_reverse(&tape, x_bar, y + 5, 1, D, MPI_SUM, comm));
	passed &= holds(!reel_mpi_reduce_reverse(&tape, x_bar, y, 5, D, MPI_SUM, 0, comm));
	passed &= holds(!reel_mpi_barrier_reverse(&tape, comm));
	passed &= holds(!reel_mpi_bcast_reverse(&tape, x_bar, 5, D, 0, comm));
	/* Each rank adds the seed of each block twice, and rank 0 has the sum of all ranks. */
	for (int k = 0; k < 5; k++)
		passed &= holds(x_bar[k] ==
				(rank ? 0 : ranks * (10 + (k < ranks ? 2 * (k + 1) : 0))));
	passed &= holds(reel_tape_is_empty(&tape));
	end();
	return passed;
}

static bool watched_by_one_rank(void)
{
	return one_rank_is_watched(0) & one_rank_is_watched(REEL_MPI_CHECKED);
}

/* The watchdog only watches reverse calls, because a rank may be late in the forward sweep. */
static bool late_in_the_forward_sweep(void)
{
	static const reel_sum sum;
	double value;
	bool passed = true;

	begin(REEL_MPI_CHECKED, SECONDS);
	for (int call = 0; call < 2; call++) {
		if (rank == 1)
			usleep((useconds_t)(4e6 * SECONDS));
		passed &= holds(!(call ? reel_mpi_sum(&tape, &sum, &value, 1, comm)
				       : reel_mpi_bcast(&tape, x, 5, D, 0, comm)));
	}
	end();
	return passed;
}

/* Names of calls whose notes come from all ranks. */
static const char *const noting_names[] = {"allreduce", "allreduce", "reduce",
					   "reduce_scatter_block", "scan"};

static int call_with_notes(int call, reel_tape *on)
{
	double y[8];

	switch (call) {
	case 0:
		return AT(0, reel_mpi_allreduce(on, x, y, 1, D, MPI_MIN, comm));
	case 1:
		return AT(0, reel_mpi_allreduce(on, x, y, 1, D, MPI_PROD, comm));
	case 2:
		return AT(0, reel_mpi_reduce(on, x, y, 1, D, MPI_MAX, 0, comm));
	case 3:
		return AT(0, reel_mpi_reduce_scatter_block(on, x, y, 1, D, MPI_MIN, comm));
	default:
		return AT(0, reel_mpi_scan(on, x, y, 1, D, MPI_PROD, comm));
	}
}

/* Rank 0, the first one of a Scan, has no tape, and the other ranks wait for its note. */
static bool end_without_checks(int call)
{
	reel_tape *on = rank == 0 ? NULL : &tape;
	bool passed = true;
	int error;

	begin(0, SECONDS);
	error = call_with_notes(call, on);
	if (rank == 0)
		passed &= holds(!error);
	if (rank == 1)
		passed &= barked(error, 0, noting_names[call]) &&
			  holds(strstr(reported.message, "all ranks need a tape"));
	/* A second call with the tape that has failed does not wait again. */
	reel_mpi_watch(comm, 1000);
	passed &= holds(call_with_notes(call, on) == error);
	end();
	return passed;
}

static bool no_tape_on_one_rank(void)
{
	bool passed = true;

	for (int call = 0; call < (int)COUNT(noting_names); call++) {
		/* The environment may have checked mode, in which no rank waits. */
		passed &= is_checked() || end_without_checks(call);
		begin(REEL_MPI_CHECKED, 0);
		passed &= holds(call_with_notes(call, rank == 0 ? NULL : &tape) == -EBADMSG);
		passed &= holds(strstr(rank == 0 ? reel_error_text(0) : reported.message,
				       "without a tape"));
		end();
	}
	return passed;
}

/* ---- The report ---- */

/* Returns true if the line of this figure in the report has these numbers. */
static bool has_line(FILE *file, const char *of, const char *figure, double least, double mean,
		     double most, int whose)
{
	char line[200], first[20], second[40];
	double number[3];
	int at;

	rewind(file);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "%19s %39s %lf %lf %lf %d", first, second, &number[0], &number[1],
			   &number[2], &at) == 6 &&
		    !strcmp(first, of) && !strcmp(second, figure))
			return holds(number[0] == least && number[2] == most && at == whose) &&
			       holds(fabs(number[1] - mean) < 0.1);
	return complain_at(__LINE__, figure);
}

static bool has_figure(FILE *file, const char *figure)
{
	char line[200];

	rewind(file);
	while (fgets(line, sizeof line, file))
		if (strstr(line, figure))
			return true;
	return false;
}

static bool report_of_all_ranks(void)
{
	FILE *file = rank == 0 ? tmpfile() : NULL;
	struct reel_pool_options options = {.hard_budget = (size_t)(8 + rank) << 20,
					    .slab_bytes = 1 << 16};
	MPI_Status status;
	reel_pool *pool;
	bool passed = true;

	begin(0, 0);
	passed &= holds(!reel_pool_open(&pool, &options));
	if (rank == 0) {
		reel_mpi_send(&tape, x, 5, D, 1, 7, comm);
		reel_mpi_send_reverse(&tape, x_bar, 5, D, 1, 7, comm);
	} else if (rank == 1) {
		reel_mpi_recv(&tape, x, 5, D, 0, 7, comm, &status);
		usleep(100000);
		reel_mpi_recv_reverse(&tape, x_bar, 5, D, 0, 7, comm, &status);
	}
	passed &= holds(!reel_mpi_report(file, pool, NULL, comm));
	if (rank == 0) {
		double mean = 8 + (ranks - 1) / 2.0, notes = is_checked() ? 48 : 0;

		passed &= has_line(file, "pool", "hard_budget", 8 << 20, mean * (1 << 20),
				   (7 + ranks) << 20, ranks - 1);
		passed &= has_line(file, "ranks", "adjoints", 0, 1.0 / ranks, 1, 1);
		passed &= has_line(file, "ranks", "adjoint_bytes", 0, 40.0 / ranks, 40, 1);
		passed &= has_line(file, "ranks", "note_bytes", ranks > 2 ? 0 : notes,
				   (2 * notes + 16) / ranks, notes + 16, 1);
		passed &= holds(!has_figure(file, "advanced"));
		passed &= holds(has_figure(file, "wait_ns"));
		fclose(file);
	}
	reel_pool_close(pool);
	end();
	return passed;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	(void)context;
	*(double *)state += (double)(last - first);
	return 0;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *on)
{
	reel_push(on, *(double *)state);
	return advance(context, state, first, last);
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *on)
{
	(void)context, (void)adjoint, (void)first, (void)last;
	(void)reel_pop(on, double);
	return 0;
}

static bool report_of_runs(void)
{
	FILE *file = rank == 0 ? tmpfile() : NULL;
	struct reel_problem problem = {.steps = 10, .tiers = 1, .tier = {{.slots = 3}}};
	reel_model model = {.state_bytes = 8, .advance = advance, .record = record,
			    .reverse = reverse};
	double state = 1;
	reel_plan *plan;
	reel_run *run;
	bool passed = true;

	begin(0, 0);
	passed &= holds(!reel_plan_open(&plan, REEL_BINOMIAL, &problem));
	passed &= holds(!reel_run_open(&run, plan, &model, NULL));
	if (rank == 1) {
		passed &= holds(!reel_run_forward(run, NULL, &state));
		passed &= holds(!reel_run_reverse(run, NULL, &state, NULL));
	}
	passed &= holds(!reel_mpi_report(file, NULL, run, comm));
	passed &= holds(reel_mpi_report(file, NULL, rank ? run : NULL, comm) == -EINVAL);
	if (rank == 0) {
		passed &= has_line(file, "run", "reversed", 0, 10.0 / ranks, 10, 1);
		passed &= holds(has_figure(file, " stores[0]") && !has_figure(file, " stores[1]"));
		fclose(file);
	}
	reel_run_close(run);
	reel_plan_close(plan);
	end();
	return passed;
}

static const struct rank_case cases[] = {
	{"right pairs pass, and one rank's request is all ranks' mode", right_pairs_pass},
	{"a wrong count is named by both ranks", wrong_count},
	{"a reverse call of the wrong kind is named by both ranks", wrong_kind},
	{"a missing reverse call is named by both ranks", missing_call},
	{"reverse calls in the wrong order are named, and none waits", wrong_order},
	{"a reverse call too many is named", too_many_calls},
	{"counts of a pair that differ are named, and the next pair passes",
	 counts_of_a_pair_differ},
	{"serial numbers of a pair that differ are named", serials_of_a_pair_differ},
	{"requests with other counts in reverse are named", requests_are_compared},
	{"an error goes from rank to rank", errors_go_on},
	{"a wrong root is named by all ranks", wrong_root},
	{"collective calls that differ are named by all ranks", other_calls},
	{"calls among neighbours that differ are named by all ranks", other_calls_of_neighbours},
	{"counts of a collective call that differ are named by all ranks", other_counts},
	{"a missing collective call is named by all ranks", missing_collective_call},
	{"a reverse call with another operation, type, place or count is named", other_details},
	{"ranks whose operations or types differ are named", other_details_of_ranks},
	{"an I-form whose reverse differs in a detail is named", other_details_of_starts},
	{"a message whose reverse has other numbers is named by both ranks",
	 other_numbers_in_a_message},
	{"calls that are recorded and not reversed are named when the communicator is detached",
	 calls_that_are_left},
	{"a receive that was too small is named by both ranks", receives_too_small},
	{"a rank that waits for a message too long names it, and ends the wait", watched_messages},
	{"so does a rank without a tape, by the environment", watched_without_tape},
	{"a rank that waits for a request too long names it, and ends the wait", watched_requests},
	{"ranks that wait in a collective call too long name it, and end the wait", watched_calls},
	{"ranks that wait at a fence too long name it, and end the wait", watched_fence},
	{"ranks with and without a watchdog make the same calls of MPI", watched_by_one_rank},
	{"no rank ends a wait in the forward sweep", late_in_the_forward_sweep},
	{"a rank that has no tape for a reduction is named, or ends the wait of the others",
	 no_tape_on_one_rank},
	{"the report has the least, the mean, the most, and whose it is", report_of_all_ranks},
	{"the report has the runs, if all ranks have one", report_of_runs},
};

int main(int argc, char **argv)
{
	/*
	 * run_on_ranks() would report leaks: the library cannot free requests that it has given
	 * up.
	 */
	begin_on_ranks(argc, argv, cases, COUNT(cases));
	check_on_ranks(COUNT(cases));
	return tap_end();
}
