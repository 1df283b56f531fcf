/* SPDX-License-Identifier: MIT */
/*
 * Scan and Exscan. With S the result of Scan, S of a rank is S of the rank below times x, for any
 * operation "times". In the reverse sweep adjoints go down from the last rank:
 *
 *	u = adjoint of S = what the rank above sends, and y_bar of Scan
 *	x_bar += u * dS/dx;  to the rank below: u * dS/dS below, and y_bar of Exscan
 */
#include "config.h"

#include "scan.h"

#include <errno.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/operation.h"
#include "message/agree.h"
#include "message/transfer.h"
#include "message/wait.h"
#include "nonblocking.h"

enum { CHAIN_TAG = 2 };

static int open_scan(struct reel_mpi_message *m, enum reel_mpi_factor *factor, MPI_Op op,
		     const void *result, MPI_Comm comm)
{
	int error = reel_mpi_open_message(m, comm);

	if (m->buffer == MPI_IN_PLACE)
		m->buffer = (void *)(uintptr_t)result;
	if (!error)
		error = reel_mpi_check_count(m->layout, m->count, REEL_MPI_CHAIN_SPARE, m->call);
	/* Adjoints go from rank to rank as messages. */
	if (!error)
		error = reel_mpi_check_packed(m);
	if (error || !reel_mpi_is_active(m))
		return error;
	return reel_mpi_factor_of(m->attached, op, m->layout, m->call, factor);
}

static struct reel_mpi_call call_of(const struct reel_mpi_message *m, enum reel_mpi_factor factor,
				    MPI_Op op, bool in_place, bool exclusive, bool reverse)
{
	struct reel_mpi_call call = {.attached = m->attached, .tape = m->tape,
				     .name = exclusive ? "reel_mpi_exscan" : "reel_mpi_scan",
				     .site = m->site, .numbers = reel_mpi_numbers_of(m),
				     .said = reel_mpi_say(reel_mpi_kinds_of(m), 0, 0),
				     .reverse = reverse, .notes = factor != REEL_MPI_FACTOR_ONE};

	reel_mpi_say_operation(&call, op, in_place, REEL_MPI_HASH);
	return call;
}

static size_t bytes_of(const struct reel_mpi_message *m)
{
	return (size_t)m->count * (size_t)m->layout->extent;
}

/* `x` is overwritten. */
static void push_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
		       const char *below, char *x)
{
	if (factor != REEL_MPI_FACTOR_BIT) {
		reel_mpi_push_numbers(m, x);
		reel_mpi_push_numbers(m, below);
		return;
	}
	MPI_Reduce_local(below, x, m->count, m->type, op);
	for (size_t at = 0; at < bytes_of(m); at += (size_t)m->layout->extent)
		reel_push_bool_at(m->tape, !reel_mpi_is_same(m->layout, x + at, below + at), m->site);
}

int reel_mpi_note_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			const char *operand)
{
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(m->attached, 2 * bytes_of(m));
	char *x, *below;
	int error;

	if (!buffer)
		return -ENOMEM;
	m->notes = true;
	x = (char *)buffer->data;
	below = x + bytes_of(m);
	memcpy(x, operand, bytes_of(m));
	error = reel_mpi_await_all(m, MPI_Iexscan(x, below, m->count, m->type, op,
						  m->attached->sums, &buffer->request),
				   &buffer->request);
	if (!error && m->attached->rank > 0)
		push_chain(m, factor, op, below, x);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

int reel_mpi_scan_at(reel_tape *tape, const char *site, bool exclusive, const void *sent,
		     void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = exclusive ? "reel_mpi_exscan" : "reel_mpi_scan",
				     .site = site, .tape = tape,
				     .buffer = (void *)(uintptr_t)sent, .count = count,
				     .type = type, .forward = true};
	enum reel_mpi_factor factor = REEL_MPI_FACTOR_ONE;
	struct reel_mpi_buffer *buffer = NULL;
	int error = open_scan(&m, &factor, op, received, comm);
	struct reel_mpi_call call;

	if (error)
		return reel_mpi_stick(tape, error);
	call = call_of(&m, factor, op, sent == MPI_IN_PLACE, exclusive, false);
	error = reel_mpi_agree(&call);
	if (!error && tape && factor != REEL_MPI_FACTOR_ONE) {
		buffer = reel_mpi_take_buffer(m.attached, bytes_of(&m));
		if (buffer)
			memcpy(buffer->data, m.buffer, bytes_of(&m));
		else
			error = -ENOMEM;
	}
	if (!error)
		error = reel_mpi_error(exclusive ? MPI_Exscan(sent, received, count, type, op, comm)
						 : MPI_Scan(sent, received, count, type, op, comm),
				       m.call);
	if (!error && buffer && reel_mpi_is_lost(m.attached, tape))
		error = reel_tape_error(tape);
	if (!error && buffer)
		error = reel_mpi_note_chain(&m, factor, op, (char *)buffer->data);
	if (buffer)
		reel_mpi_give_buffer(m.attached, buffer);
	return reel_mpi_stick(tape, reel_mpi_note_agreed(&call, error));
}

int reel_mpi_iscan_at(reel_tape *tape, const char *site, bool exclusive, const void *sent,
		      void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
		      struct reel_mpi_request *request)
{
	struct reel_mpi_message m = {.call = exclusive ? "reel_mpi_iexscan" : "reel_mpi_iscan",
				     .site = site, .tape = tape,
				     .buffer = (void *)(uintptr_t)sent, .count = count,
				     .type = type};
	enum reel_mpi_factor factor = REEL_MPI_FACTOR_ONE;
	MPI_Request started = MPI_REQUEST_NULL;
	struct reel_mpi_call call;
	int error = open_scan(&m, &factor, op, received, comm), noted = 0;

	if (!error && tape && reel_mpi_is_active(&m)) {
		if (factor != REEL_MPI_FACTOR_ONE)
			reel_mpi_push_numbers(&m, m.buffer);
		call = call_of(&m, factor, op, sent == MPI_IN_PLACE, exclusive, false);
		noted = reel_mpi_note_started(&call, reel_tape_error(tape));
	}
	/* Starts the call with an error of the tape, too: the other ranks wait for it. */
	if (!error)
		error = reel_mpi_error(exclusive ? MPI_Iexscan(sent, received, count, type, op,
							       comm, &started)
						 : MPI_Iscan(sent, received, count, type, op, comm,
							     &started),
				       m.call);
	reel_mpi_make_request(request, started, comm, site, error);
	return reel_mpi_stick(tape, error ? error : noted);
}

/* Calls the program's adjoint. `spare` has room for two operands. */
static void divide_by_program(struct reel_mpi_message *m, MPI_Op op, const char *u, char *to_x,
			      char *to_below, char *spare)
{
	const struct reel_mpi_operation *operation = reel_mpi_find_operation(m->attached, op);
	char *below = spare, *x = spare + bytes_of(m);

	reel_mpi_pop_numbers(m, below);
	reel_mpi_pop_numbers(m, x);
	operation->adjoint(below, x, u, to_below, to_x, m->count, m->type, operation->context);
}

/*
 * Makes of u the adjoint of x, in `to_x`, and that of S of the rank below, in `to_below`, which has
 * room for two operands behind it.
 */
static int divide(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op, const char *u,
		  char *to_x, char *to_below)
{
	size_t extent = (size_t)m->layout->extent;

	memcpy(to_x, u, bytes_of(m));
	memcpy(to_below, u, bytes_of(m));
	if (m->attached->rank == 0 || factor == REEL_MPI_FACTOR_ONE)
		return 0;
	if (!m->tape)
		return reel_fail(-EINVAL, "%s: there is no tape", m->call);
	if (factor == REEL_MPI_FACTOR_NUMBER) {
		reel_mpi_pop_numbers(m, to_x);
		reel_mpi_multiply(m->layout, m->count, to_x, u);
		reel_mpi_pop_numbers(m, to_below);
		reel_mpi_multiply(m->layout, m->count, to_below, u);
	} else if (factor == REEL_MPI_FACTOR_OPERANDS) {
		divide_by_program(m, op, u, to_x, to_below, to_below + bytes_of(m));
	} else {
		for (size_t at = bytes_of(m); at > 0;) {
			at -= extent;
			memset((reel_pop_bool_at(m->tape, m->site) ? to_below : to_x) + at, 0,
			       extent);
		}
	}
	return reel_tape_error(m->tape);
}

int reel_mpi_reverse_chain(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			   bool exclusive, char *result_bar, char *spare)
{
	char *u = spare, *to_x = u + bytes_of(m), *to_below = to_x + bytes_of(m);
	struct reel_mpi_message step = *m;
	int error = 0, own;

	step.through = m->attached->sums;
	step.tag = CHAIN_TAG;

	memset(u, 0, bytes_of(m));
	if (!exclusive)
		memcpy(u, result_bar, bytes_of(m));
	step.buffer = u;
	step.peer = m->attached->rank + 1;
	if (step.peer < m->attached->size)
		error = reel_mpi_add_adjoint(&step);
	own = divide(m, factor, op, u, to_x, to_below);
	error = error ? error : own;
	step.buffer = to_below;
	step.peer = m->attached->rank - 1;
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, to_below);
	else if (exclusive && step.peer >= 0)
		reel_mpi_layout_add(m->layout, m->count, to_below, result_bar);
	if (step.peer >= 0) {
		own = reel_mpi_send_adjoint(&step);
		error = error ? error : own;
	}
	if (error) {
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
		return error;
	}
	/* The first rank has no result of Exscan: what lies there stays. */
	if (!exclusive || step.peer >= 0)
		reel_mpi_layout_zero(m->layout, m->count, result_bar);
	reel_mpi_layout_add(m->layout, m->count, m->buffer, to_x);
	return 0;
}

/* Runs reel_mpi_reverse_chain() or reverse_noted() with the temporary that it needs. */
static int reverse_with_spare(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			      bool exclusive, char *result_bar,
			      int (*reverse)(struct reel_mpi_message *, enum reel_mpi_factor, MPI_Op,
					     bool, char *, char *))
{
	struct reel_mpi_buffer *buffer =
		reel_mpi_take_buffer(m->attached, REEL_MPI_CHAIN_SPARE * bytes_of(m));
	int error;

	if (!buffer)
		return -ENOMEM;
	error = reverse(m, factor, op, exclusive, result_bar, (char *)buffer->data);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

int reel_mpi_scan_reverse_at(reel_tape *tape, const char *site, bool exclusive, void *sent_bar,
			     void *received_bar, int count, MPI_Datatype type, MPI_Op op,
			     MPI_Comm comm)
{
	struct reel_mpi_message m = {.call = exclusive ? "reel_mpi_exscan_reverse"
						       : "reel_mpi_scan_reverse",
				     .site = site, .tape = tape, .buffer = sent_bar, .count = count,
				     .type = type};
	enum reel_mpi_factor factor = REEL_MPI_FACTOR_ONE;
	int error = open_scan(&m, &factor, op, received_bar, comm);
	struct reel_mpi_call call;

	if (error)
		return reel_mpi_stick(tape, error);
	call = call_of(&m, factor, op, sent_bar == MPI_IN_PLACE, exclusive, true);
	error = reel_mpi_agree(&call);
	if (error)
		reel_mpi_layout_poison(m.layout, m.count, m.buffer);
	if (!error && reel_mpi_is_active(&m))
		error = reverse_with_spare(&m, factor, op, exclusive, received_bar,
					   reel_mpi_reverse_chain);
	return reel_mpi_stick(tape, error);
}

/* `spare` has room for REEL_MPI_CHAIN_SPARE operands. */
static int reverse_noted(struct reel_mpi_message *m, enum reel_mpi_factor factor, MPI_Op op,
			 bool exclusive, char *result_bar, char *spare)
{
	reel_tape *tape = m->tape, local = {0};
	int error = reel_mpi_pop_operands(m, spare);

	m->tape = &local;
	if (!error)
		error = reel_mpi_note_chain(m, factor, op, spare);
	if (!error)
		error = reel_mpi_reverse_chain(m, factor, op, exclusive, result_bar, spare);
	else
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	reel_tape_close(&local);
	m->tape = tape;
	return error;
}

int reel_mpi_iscan_reverse_at(reel_tape *tape, const char *site, bool exclusive, void *sent_bar,
			      void *received_bar, int count, MPI_Datatype type, MPI_Op op,
			      MPI_Comm comm, const struct reel_mpi_request *request)
{
	struct reel_mpi_message m = {.call = exclusive ? "reel_mpi_iexscan_reverse"
						       : "reel_mpi_iscan_reverse",
				     .site = site, .tape = tape, .buffer = sent_bar, .count = count,
				     .type = type};
	enum reel_mpi_factor factor = REEL_MPI_FACTOR_ONE;
	struct reel_mpi_call call;
	int error = reel_mpi_check_unused(request, m.call);

	if (!error)
		error = open_scan(&m, &factor, op, received_bar, comm);
	if (error)
		return reel_mpi_stick(tape, error);
	call = call_of(&m, factor, op, sent_bar == MPI_IN_PLACE, exclusive, true);
	error = reel_mpi_mirror_started(&call);
	if (error)
		reel_mpi_layout_poison(m.layout, m.count, m.buffer);
	if (!error && reel_mpi_is_active(&m))
		error = reverse_with_spare(&m, factor, op, exclusive, received_bar,
					   factor == REEL_MPI_FACTOR_ONE ? reel_mpi_reverse_chain
									 : reverse_noted);
	return reel_mpi_stick(tape, error);
}
