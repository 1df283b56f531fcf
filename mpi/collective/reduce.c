/* SPDX-License-Identifier: MIT */
/*
 * Reduce, Allreduce, Reduce_scatter, Scan and Exscan. Forward: MPI's call, and the notes of the
 * operation. Reverse: the adjoint of the result goes to all ranks, is multiplied by the noted
 * factors, and added; the adjoint of a Scan goes along the chain of ranks (scan.h).
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "broadcast.h"
#include "comm/error.h"
#include "message/agree.h"
#include "message/transfer.h"
#include "message/wait.h"
#include "nonblocking.h"
#include "scan.h"

struct reduction {
	struct reel_mpi_message m; /* the operand: all elements of a rank */
	char *result;
	int result_count; /* 0: the rank has none */
	const int *counts;
	bool in_place;
	enum reel_mpi_reduction kind;
	enum reel_mpi_factor factor;
	MPI_Op op;
	int root;
	MPI_Request pending; /* MPI's use of the temporary when the call is given up */
};

static const char *const names[][REEL_MPI_FORMS] = {
	[REEL_MPI_REDUCE] = REEL_MPI_NAMES("reduce"),
	[REEL_MPI_ALLREDUCE] = REEL_MPI_NAMES("allreduce"),
	[REEL_MPI_REDUCE_SCATTER] = REEL_MPI_NAMES("reduce_scatter"),
	[REEL_MPI_REDUCE_SCATTER_BLOCK] = REEL_MPI_NAMES("reduce_scatter_block"),
	[REEL_MPI_SCAN] = REEL_MPI_NAMES("scan"),
	[REEL_MPI_EXSCAN] = REEL_MPI_NAMES("exscan"),
};

static bool is_scan(const struct reduction *r)
{
	return r->kind >= REEL_MPI_SCAN;
}

/* Sets the number of elements of the operand to the sum of counts[]. */
static int add_counts(struct reduction *r, int count)
{
	struct reel_mpi_message *m = &r->m;
	int64_t sum = 0;

	for (int i = 0; i < m->attached->size; i++) {
		int own = r->counts ? r->counts[i] : count;

		if (own < 0)
			return reel_fail(-EINVAL, "%s: a count of %d", m->call, own);
		sum += own;
	}
	if (sum > INT_MAX)
		return reel_fail(-EOVERFLOW,
				 "%s: an operand of %lld elements; MPI counts them by an int",
				 m->call, (long long)sum);
	REEL_ASSERT(sum >= 0);
	m->count = (int)sum;
	return 0;
}

/* Sets the number of elements of the operand and of the result. */
static int set_counts(struct reduction *r, int count)
{
	r->m.count = count;
	r->result_count = count;
	if (r->kind == REEL_MPI_REDUCE && r->m.attached->rank != r->root)
		r->result_count = 0;
	if (r->kind != REEL_MPI_REDUCE_SCATTER && r->kind != REEL_MPI_REDUCE_SCATTER_BLOCK)
		return 0;
	if (r->counts)
		r->result_count = r->counts[r->m.attached->rank];
	return add_counts(r, count);
}

static int open_reduction(struct reduction *r, int count, MPI_Comm comm)
{
	struct reel_mpi_message *m = &r->m;
	int error;

	REEL_ASSERT(r->kind <= REEL_MPI_EXSCAN && m->call);
	m->count = 0;
	error = reel_mpi_open_message(m, comm);
	if (error)
		return error;
	r->in_place = m->buffer == MPI_IN_PLACE;
	if (r->in_place)
		m->buffer = r->result;
	error = set_counts(r, count);
	/* A product gathers the operands of all ranks. */
	if (!error)
		error = reel_mpi_check_count(m->layout, m->count,
					     m->attached->size + 1 + REEL_MPI_CHAIN_SPARE, m->call);
	/* In a chain, adjoints go from rank to rank as messages. */
	if (!error && is_scan(r))
		error = reel_mpi_check_packed(m);
	if (error || !reel_mpi_is_active(m))
		return error;
	if (m->layout->extent <= 0)
		return reel_fail(-ENOTSUP, "%s: elements of a type whose extent is not above 0 are "
					   "not reduced",
				 m->call);
	return reel_mpi_factor_of(m->attached, r->op, m->layout, m->call, &r->factor);
}

static struct reel_mpi_call call_of(const struct reduction *r, bool reverse, bool started)
{
	struct reel_mpi_call call = reel_mpi_call_of(&r->m, names[r->kind][REEL_MPI_FORWARD],
						     r->root, reverse);
	uint32_t own = REEL_MPI_HASH;

	call.started = started;
	call.notes = r->factor != REEL_MPI_FACTOR_ONE;
	for (int i = 0; r->counts && i < r->m.attached->size; i++)
		own = reel_mpi_hash(own, (uint64_t)r->counts[i]);
	reel_mpi_sign_operation(&call, r->op, r->in_place, own);
	return call;
}

/* A temporary for all elements of a rank, `times` times. */
static struct reel_mpi_buffer *temporary(struct reduction *r, int times)
{
	REEL_ASSERT(times > 0 && times <= r->m.attached->size + 1 + REEL_MPI_CHAIN_SPARE);
	return reel_mpi_take_buffer(r->m.attached,
				    reel_mpi_span(&r->m, r->m.count) * (size_t)times + 1);
}

/* Waits for the call that has begun, of which MPI returned `code`. */
static int await_pending(struct reduction *r, int code)
{
	return reel_mpi_await_all(&r->m, code, &r->pending);
}

static int spread_root(struct reduction *r, void *to, int root)
{
	struct reel_mpi_message *m = &r->m;

	return await_pending(r, MPI_Ibcast(to, m->count, m->type, root, m->attached->sums,
					   &r->pending));
}

static int spread_uneven(struct reduction *r, void *to)
{
	struct reel_mpi_message *m = &r->m;
	int *begins = malloc((size_t)m->attached->size * sizeof *begins), at = 0, error;

	if (!begins)
		return reel_fail(-ENOMEM, "%s: no memory", m->call);
	for (int i = 0; i < m->attached->size; i++) {
		begins[i] = at;
		at += r->counts[i];
	}
	REEL_ASSERT(at == m->count);
	error = await_pending(r, MPI_Iallgatherv(r->result, r->result_count, m->type, to, r->counts,
						 begins, m->type, m->attached->sums, &r->pending));
	/* A call that was given up may read `begins` until the program ends. */
	if (error != -ETIMEDOUT)
		free(begins);
	return error;
}

/* Gives each rank the results of all ranks for the elements of its operand. */
static int spread(struct reduction *r, void *to)
{
	MPI_Datatype type = r->m.type;
	int n = r->result_count;

	if (n && to != r->result)
		memcpy(to, r->result, reel_mpi_span(&r->m, n));
	switch (r->kind) {
	case REEL_MPI_REDUCE:
		return spread_root(r, to, r->root);
	case REEL_MPI_REDUCE_SCATTER_BLOCK:
		return await_pending(r, MPI_Iallgather(r->result, n, type, to, n, type,
						       r->m.attached->sums, &r->pending));
	case REEL_MPI_REDUCE_SCATTER:
		return spread_uneven(r, to);
	default:
		return 0;
	}
}

/* ---- Forward ---- */

/* Calls MPI; with a request, the I-form. */
static int call_mpi(const struct reduction *r, const void *sent, int count, MPI_Comm comm,
		    MPI_Request *request)
{
	void *to = r->result;
	MPI_Datatype type = r->m.type;

	switch (r->kind) {
	case REEL_MPI_REDUCE:
		return REEL_MPI_CALL(request, MPI_Reduce, MPI_Ireduce, sent, to, count, type, r->op,
				     r->root, comm);
	case REEL_MPI_ALLREDUCE:
		return REEL_MPI_CALL(request, MPI_Allreduce, MPI_Iallreduce, sent, to, count, type,
				     r->op, comm);
	case REEL_MPI_REDUCE_SCATTER:
		return REEL_MPI_CALL(request, MPI_Reduce_scatter, MPI_Ireduce_scatter, sent, to,
				     r->counts, type, r->op, comm);
	case REEL_MPI_SCAN:
		return REEL_MPI_CALL(request, MPI_Scan, MPI_Iscan, sent, to, count, type, r->op,
				     comm);
	case REEL_MPI_EXSCAN:
		return REEL_MPI_CALL(request, MPI_Exscan, MPI_Iexscan, sent, to, count, type, r->op,
				     comm);
	default:
		return REEL_MPI_CALL(request, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
				     sent, to, count, type, r->op, comm);
	}
}

/* Notes for each element whether this rank is the lowest one that has the result. */
static int note_winners(struct reduction *r, const char *operand, const char *result)
{
	struct reel_mpi_message *m = &r->m;
	struct reel_mpi_buffer *buffer =
		reel_mpi_take_buffer(m->attached, (size_t)m->count * sizeof(int));
	int *winner, error;

	REEL_ASSERT(m->tape && r->factor == REEL_MPI_FACTOR_BIT);
	if (!buffer)
		return -ENOMEM;
	winner = (int *)(void *)buffer->data;
	for (int k = 0; k < m->count; k++) {
		size_t at = reel_mpi_span(&r->m, k);

		winner[k] = reel_mpi_is_same(m->layout, operand + at, result + at)
				    ? m->attached->rank
				    : INT_MAX;
	}
	error = reel_mpi_await_all(m, MPI_Iallreduce(MPI_IN_PLACE, winner, m->count, MPI_INT,
						     MPI_MIN, m->attached->sums,
						     &buffer->request),
				   &buffer->request);
	for (int k = 0; k < m->count && !error; k++)
		reel_push_bool_at(m->tape, winner[k] == m->attached->rank, m->call_site);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

/* Notes for each element the product of the other ranks' operands, in the order of ranks. */
static int note_others(struct reduction *r, const char *operand)
{
	struct reel_mpi_message *m = &r->m;
	struct reel_mpi_buffer *buffer = temporary(r, m->attached->size);
	size_t bytes = reel_mpi_span(&r->m, m->count);
	char *all, *product = NULL;
	int error;

	REEL_ASSERT(m->tape && r->factor == REEL_MPI_FACTOR_NUMBER);
	if (!buffer)
		return -ENOMEM;
	all = (char *)buffer->data;
	memcpy(all + bytes * (size_t)m->attached->rank, operand, bytes);
	error = reel_mpi_await_all(m, MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all,
						     m->count, m->type, m->attached->sums,
						     &buffer->request),
				   &buffer->request);
	for (int i = 0; i < m->attached->size && !error; i++) {
		char *factors = all + bytes * (size_t)i;

		if (i == m->attached->rank)
			continue;
		if (product)
			reel_mpi_multiply(m->layout, m->count, product, factors);
		else
			product = factors;
	}
	/* Alone, a rank's own operand is the product: its factor is 1. */
	if (!error && product)
		reel_mpi_push_numbers(m, product);
	reel_mpi_give_buffer(m->attached, buffer);
	return error;
}

static int note(struct reduction *r, const char *operand)
{
	struct reel_mpi_buffer *buffer;
	int error;

	REEL_ASSERT(r->factor != REEL_MPI_FACTOR_ONE);
	if (reel_mpi_is_lost(r->m.attached, r->m.tape))
		return reel_tape_error(r->m.tape);
	r->m.notes = true;
	if (is_scan(r) || r->factor == REEL_MPI_FACTOR_OPERANDS)
		return reel_mpi_note_chain(&r->m, r->factor, r->op, operand);
	if (r->factor == REEL_MPI_FACTOR_NUMBER)
		return note_others(r, operand);
	if (r->factor == REEL_MPI_FACTOR_BIT && r->kind == REEL_MPI_ALLREDUCE)
		return note_winners(r, operand, r->result);
	buffer = temporary(r, 1);
	if (!buffer)
		return -ENOMEM;
	r->pending = MPI_REQUEST_NULL;
	error = spread(r, buffer->data);
	if (!error)
		error = note_winners(r, operand, (char *)buffer->data);
	buffer->request = r->pending;
	reel_mpi_give_buffer(r->m.attached, buffer);
	return error;
}

/* A call that waits. `sent` is the operand as the program gives it. */
static int forward(struct reduction *r, const void *sent, int count, MPI_Comm comm)
{
	struct reel_mpi_buffer *copy = NULL;
	struct reel_mpi_call call;
	bool noted;
	int error;

	r->m.forward = true;
	error = open_reduction(r, count, comm);
	if (error)
		return reel_mpi_stick(r->m.tape, error);
	noted = r->m.tape && r->factor != REEL_MPI_FACTOR_ONE;
	REEL_ASSERT(!noted || reel_mpi_is_active(&r->m));
	call = call_of(r, false, false);
	error = reel_mpi_agree_on_call(&call);
	/* MPI overwrites an operand that is in place. */
	if (!error && noted && r->in_place) {
		copy = temporary(r, 1);
		if (copy)
			memcpy(copy->data, r->m.buffer, reel_mpi_span(&r->m, r->m.count));
		else
			error = -ENOMEM;
	}
	if (!error)
		error = reel_mpi_error(call_mpi(r, sent, count, comm, NULL), r->m.call);
	if (!error && noted)
		error = note(r, copy ? (char *)copy->data : r->m.buffer);
	if (copy)
		reel_mpi_give_buffer(r->m.attached, copy);
	return reel_mpi_stick(r->m.tape, reel_mpi_note_agreed(&call, error));
}

/* An I-form. Notes the operand, from which the reverse finds the factors. */
static int start(struct reduction *r, const void *sent, int count, MPI_Comm comm,
		 struct reel_mpi_request *request)
{
	MPI_Request started = MPI_REQUEST_NULL;
	int error = open_reduction(r, count, comm), noted = 0;

	if (!error && r->m.tape && reel_mpi_is_active(&r->m)) {
		struct reel_mpi_call call = call_of(r, false, true);

		if (r->factor != REEL_MPI_FACTOR_ONE)
			reel_mpi_push_numbers(&r->m, r->m.buffer);
		noted = reel_mpi_note_agreed(&call, reel_tape_error(r->m.tape));
	}
	/* Also starts the call with an error of the tape: the other ranks wait for it. */
	if (!error)
		error = reel_mpi_error(call_mpi(r, sent, count, comm, &started), r->m.call);
	reel_mpi_make_request(request, started, comm, r->m.call_site, error);
	return reel_mpi_stick(r->m.tape, error ? error : noted);
}

/* ---- Reverse ---- */

/* Multiplies the adjoints of all elements by the noted factors. `spare` has room for an operand. */
static int multiply(struct reduction *r, char *signal, char *spare)
{
	struct reel_mpi_message *m = &r->m;

	REEL_ASSERT(r->factor != REEL_MPI_FACTOR_OPERANDS && !is_scan(r));
	if (r->factor != REEL_MPI_FACTOR_ONE && !m->tape)
		return reel_fail(-EINVAL, "%s: there is no tape", m->call);
	if (r->factor == REEL_MPI_FACTOR_BIT) {
		for (int k = m->count; k-- > 0;)
			if (!reel_pop_bool_at(m->tape, m->call_site))
				memset(signal + reel_mpi_span(m, k), 0, reel_mpi_span(m, 1));
	} else if (r->factor == REEL_MPI_FACTOR_NUMBER && m->attached->size > 1) {
		reel_mpi_pop_numbers(m, spare);
		reel_mpi_multiply(m->layout, m->count, signal, spare);
	}
	/* If notes were lost, each rank pops "won": the error of the tape says so. */
	return r->factor == REEL_MPI_FACTOR_ONE ? 0 : reel_tape_error(m->tape);
}

/* The result equals the result of Scan on the last rank. */
static int reverse_own(struct reduction *r, char *signal, char *spare, int error)
{
	struct reel_mpi_message *m = &r->m;
	int own;

	REEL_ASSERT(r->factor == REEL_MPI_FACTOR_OPERANDS);
	if (m->attached->rank + 1 < m->attached->size)
		memset(signal, 0, reel_mpi_span(&r->m, m->count));
	/* All ranks get NaN then, and none is left waiting. */
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, signal);
	reel_mpi_layout_zero(m->layout, r->in_place ? m->count : r->result_count, r->result);
	own = reel_mpi_reverse_chain(m, r->factor, r->op, false, signal, spare);
	return error ? error : own;
}

/* `spare` has room for REEL_MPI_CHAIN_SPARE operands. */
static int reverse(struct reduction *r, char *signal, char *spare)
{
	struct reel_mpi_message whole = r->m;
	int error, own;

	if (is_scan(r))
		return reel_mpi_reverse_chain(&r->m, r->factor, r->op, r->kind == REEL_MPI_EXSCAN,
					      r->result, spare);
	error = spread(r, signal);
	if (!error && r->kind == REEL_MPI_ALLREDUCE) {
		whole.buffer = signal;
		error = reel_mpi_sum_to(&whole, 0);
		own = error == -ETIMEDOUT ? error : spread_root(r, signal, 0);
		error = error ? error : own;
	}
	if (r->factor == REEL_MPI_FACTOR_OPERANDS)
		return reverse_own(r, signal, spare, error);
	own = multiply(r, signal, spare);
	if (error || own) {
		reel_mpi_layout_poison(r->m.layout, r->m.count, r->m.buffer);
		return error ? error : own;
	}
	reel_mpi_layout_zero(r->m.layout, r->in_place ? r->m.count : r->result_count, r->result);
	reel_mpi_layout_add(r->m.layout, r->m.count, r->m.buffer, signal);
	return 0;
}

/* Makes on m.tape the notes of the call that waits. `result` has room for all elements. */
static int note_again(struct reduction *r, const char *operand, char *result)
{
	struct reel_mpi_message *m = &r->m;
	int error;

	if (is_scan(r) || r->factor != REEL_MPI_FACTOR_BIT)
		return note(r, operand);
	error = await_pending(r, MPI_Iallreduce(operand, result, m->count, m->type, r->op,
						m->attached->sums, &r->pending));
	return error ? error : note_winners(r, operand, result);
}

/* `spare` has room for REEL_MPI_CHAIN_SPARE operands. */
static int reverse_noted(struct reduction *r, char *operand, char *spare)
{
	reel_tape *tape = r->m.tape, local = {0};
	int error = reel_mpi_pop_operands(&r->m, operand);

	r->m.tape = &local;
	if (!error)
		error = note_again(r, operand, spare);
	if (!error)
		error = reverse(r, operand, spare);
	else
		reel_mpi_layout_poison(r->m.layout, r->m.count, r->m.buffer);
	REEL_ASSERT(error || reel_tape_is_empty(&local));
	reel_tape_close(&local);
	r->m.tape = tape;
	return error;
}

/* The reverse of a call that waits, or of an I-form with its request. */
static int reverse_call(struct reduction *r, int count, MPI_Comm comm,
			const struct reel_mpi_request *request)
{
	struct reel_mpi_buffer *buffer;
	struct reel_mpi_call call;
	char *signal, *spare;
	int error = request ? reel_mpi_check_unused(request, r->m.call) : 0;

	if (!error)
		error = open_reduction(r, count, comm);
	if (error)
		return error;
	call = call_of(r, true, request);
	error = reel_mpi_agree_on_call(&call);
	if (error)
		reel_mpi_layout_poison(r->m.layout, r->m.count, r->m.buffer);
	if (error || !reel_mpi_is_active(&r->m))
		return error;
	buffer = temporary(r, 1 + REEL_MPI_CHAIN_SPARE);
	if (!buffer) {
		reel_mpi_layout_poison(r->m.layout, r->m.count, r->m.buffer);
		return -ENOMEM;
	}
	r->pending = MPI_REQUEST_NULL;
	signal = (char *)buffer->data;
	spare = signal + reel_mpi_span(&r->m, r->m.count);
	error = request && r->factor != REEL_MPI_FACTOR_ONE ? reverse_noted(r, signal, spare)
							    : reverse(r, signal, spare);
	buffer->request = r->pending;
	reel_mpi_give_buffer(r->m.attached, buffer);
	return error;
}

/* ---- Calls ---- */

int reel_mpi_reduction_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
			  enum reel_mpi_reduction kind, const void *sent, void *received, int count,
			  const int *counts, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
			  struct reel_mpi_request *request)
{
	struct reduction r = {.m = REEL_MPI_MESSAGE(names[kind][form], sent, 0, 0, 0),
			      .result = received, .counts = counts, .kind = kind, .op = op,
			      .root = root};

	if (reel_mpi_is_reverse(form, request))
		return reel_mpi_stick(tape, reverse_call(&r, count, comm, request));
	return request ? start(&r, sent, count, comm, request) : forward(&r, sent, count, comm);
}
