/* SPDX-License-Identifier: MIT */
/*
 * Checked mode for collective calls: the ranks compare their calls by one small Allreduce before
 * they go on. If they differ, all ranks get the descriptions of all, and each one reports them.
 */
#include "config.h"

#include "agree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/factor.h"
#include "wait.h"

/* The words that ranks compare. UNKNOWN equals every value. */
enum { ERROR, NAME, ROOT, NUMBERS, KINDS, OPERATION, TAPE, SERIAL, WORDS };

#define UNKNOWN INT64_MIN

struct summary {
	int64_t value[WORDS];
	char text[256];
};

/* A number for the name of a call. */
static int64_t number_of(const char *name, bool reverse)
{
	uint32_t hash = REEL_MPI_HASH;

	for (; *name; name++)
		hash = reel_mpi_hash(hash, (unsigned char)*name);
	return (int64_t)hash * 2 + reverse;
}

static const char *describe(const struct reel_mpi_call *call, char *text, size_t bytes)
{
	char numbers[REEL_MPI_NUMBERS_TEXT], operation[40] = "";
	uint32_t kinds = call->signature.numbers;

	reel_mpi_describe_numbers(numbers, call->numbers,
				  kinds ? reel_mpi_kinds_name(kinds) : NULL);
	if (call->signature.operation)
		snprintf(operation, sizeof operation, " by %s",
			 reel_mpi_operation_name(call->signature.operation));
	snprintf(text, bytes, "%s%s%s%s with root %d%s", call->reverse ? "reverse of " : "",
		 call->name, numbers, operation, call->root,
		 call->notes && !call->tape ? " without a tape" : "");
	return text;
}

static void summarise(struct summary *summary, const struct reel_mpi_call *call, uint64_t serial,
		      int error)
{
	char what[200], text[400];

	REEL_ASSERT(call->name && error <= 0);
	summary->value[NAME] = error ? UNKNOWN : number_of(call->name, call->reverse);
	summary->value[ROOT] = error ? UNKNOWN : call->root;
	summary->value[NUMBERS] = error || call->numbers < 0 ? UNKNOWN : call->numbers;
	summary->value[KINDS] = error ? UNKNOWN : call->signature.numbers;
	summary->value[OPERATION] = error ? UNKNOWN : call->signature.operation;
	summary->value[TAPE] = error || !call->notes ? UNKNOWN : call->tape != NULL;
	summary->value[SERIAL] = error || !serial ? UNKNOWN : (int64_t)serial;
	summary->value[ERROR] = error ? 1 : 0;
	if (error)
		snprintf(text, sizeof text, "%s", reel_error_text(error));
	else
		snprintf(text, sizeof text, "%s: %s", call->call_site,
			 describe(call, what, sizeof what));
	if (!error && serial)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", call %llu",
			 (unsigned long long)serial);
	reel_mpi_copy_end(summary->text, sizeof summary->text, text);
}

/* The first rank whose value is known and differs from the value of rank `not` (-1: any value). */
static int find_rank(const struct summary *all, int size, int what, int not)
{
	for (int i = 0; i < size; i++)
		if (all[i].value[what] != UNKNOWN &&
		    (not < 0 || all[i].value[what] != all[not].value[what]))
			return i;
	return -1;
}

static int count_ranks(const struct summary *all, int size, int what, int like)
{
	int n = 0;

	for (int i = 0; i < size; i++)
		n += all[i].value[what] == all[like].value[what];
	REEL_ASSERT(n > 0 && n <= size);
	return n;
}

/* Says which ranks differ. Their number comes with the first one of each group. */
static int report(const struct reel_mpi_attached *attached, const struct summary *own,
		  const struct summary *all)
{
	int size = attached->size;

	for (int what = ERROR; what < WORDS; what++) {
		int a = find_rank(all, size, what, -1),
		    b = a < 0 ? -1 : find_rank(all, size, what, a);

		if (b < 0)
			continue;
		if (what == ERROR)
			a = all[a].value[ERROR] ? a : b;
		if (what == ERROR)
			return reel_fail(-EBADMSG, "rank %d, %s: %s", attached->rank, own->text,
					 all[a].text);
		return reel_fail(-EBADMSG,
				 "the ranks do not match: rank %d (%d of %d ranks), %s; rank %d "
				 "(%d ranks), %s", a, count_ranks(all, size, what, a), size,
				 all[a].text, b, count_ranks(all, size, what, b), all[b].text);
	}
	return reel_fail(-EBADMSG, "rank %d, %s", attached->rank, own->text);
}

/* Gathers the descriptions of all ranks: each one has its own, and 0 for the others. */
static int explain(const struct reel_mpi_message *m, const struct summary *own)
{
	struct summary *all = calloc((size_t)m->attached->size, sizeof *all);
	int error;

	if (!all)
		return reel_fail(-EBADMSG, "the ranks do not match; here, %s", own->text);
	all[m->attached->rank] = *own;
	error = reel_mpi_combine(m, all, m->attached->size * (int)sizeof *all, MPI_BYTE, MPI_BOR);
	if (!error)
		error = report(m->attached, own, all);
	free(all);
	return error;
}

/* Sets most[] to the largest value of all ranks, and of its negative. */
static int reduce(const struct reel_mpi_message *m, const struct summary *own, int64_t *most)
{
	for (int i = 0; i < WORDS; i++) {
		most[i] = own->value[i];
		most[WORDS + i] = own->value[i] == UNKNOWN ? UNKNOWN : -own->value[i];
	}
	return reel_mpi_combine(m, most, 2 * WORDS, MPI_INT64_T, MPI_MAX);
}

/*
 * `error` is the error of this rank, with the last text. Returns it, or the error of the
 * comparison.
 */
static int compare(const struct reel_mpi_call *call, uint64_t serial, int error)
{
	struct reel_mpi_message m = {.call = call->name, .call_site = call->call_site,
				     .tape = call->tape, .attached = call->attached,
				     .forward = !call->reverse};
	struct reel_mpi_checks *checks = call->attached->checks;
	bool same = true;
	int64_t most[2 * WORDS];
	char text[512];
	struct summary own;
	int failed;

	REEL_ASSERT(checks && error <= 0);
	snprintf(text, sizeof text, "%s", error ? reel_error_text(error) : "");
	summarise(&own, call, serial, error);
	failed = reduce(&m, &own, most);
	if (failed)
		return error ? reel_fail(error, "%s", text) : failed;
	for (int i = 0; i < WORDS; i++)
		same = same && (most[i] == UNKNOWN || most[i] == -most[WORDS + i]);
	checks->failed = !same || most[ERROR];
	if (!checks->failed)
		return 0;
	reel_mpi_set_failed(call->attached);
	failed = explain(&m, &own);
	return error ? reel_fail(error, "%s", text) : failed;
}

/* Tells the other ranks of an error: they wait in a collective call that this rank should make. */
static void fail_all(struct reel_mpi_attached *attached, const char *call_site, int error)
{
	struct reel_mpi_call call = {.attached = attached, .name = "reverse call",
				     .call_site = call_site, .reverse = true};

	REEL_ASSERT(error < 0);
	attached->checks->open_calls--;
	compare(&call, 0, error);
}

/*
 * Compares a reverse call, whose note is `own`, with the note on the tape, and sets the serial
 * number. If they differ, the ranks that wait for the adjoint of either get a header that says so,
 * and so do those that wait in the collective call of the other note.
 */
static int match_note(struct reel_mpi_attached *attached, reel_tape *tape, const char *call,
		      struct reel_mpi_call_note *own)
{
	struct reel_mpi_call_note note;
	int error = reel_mpi_pop_call_note(attached, tape, call, own, &note);

	if (!error)
		return 0;
	reel_mpi_refuse_note(attached, &note, error);
	reel_mpi_refuse_note(attached, own, error);
	if (note.signature.kind == REEL_MPI_COLLECTIVE_CALL &&
	    own->signature.kind != REEL_MPI_COLLECTIVE_CALL)
		fail_all(attached, own->call_site, error);
	return error;
}

int reel_mpi_mirror(struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note own;
	int error;

	m->serial = 0;
	if (!m->attached->checks || !m->tape || !reel_mpi_is_active(m))
		return 0;
	own = reel_mpi_message_note(m, receive);
	error = match_note(m->attached, m->tape, m->call, &own);
	m->serial = own.serial;
	if (!error && !receive && !reel_mpi_close_message(m->attached, m->peer, m->tag, false))
		reel_mpi_checks_count_elsewhere();
	return error;
}

/* ---- Collective calls ---- */

struct reel_mpi_call reel_mpi_call_of(const struct reel_mpi_message *m, const char *name, int root,
				      bool reverse)
{
	uint32_t kinds = reel_mpi_kinds_of(m);

	REEL_ASSERT(m->attached && m->layout);
	return (struct reel_mpi_call){.attached = m->attached, .tape = m->tape, .name = name,
				      .call_site = m->call_site, .root = root,
				      .numbers = reel_mpi_numbers_of(m), .reverse = reverse,
				      .signature = reel_mpi_make_signature(kinds, 0, 0)};
}

void reel_mpi_sign_operation(struct reel_mpi_call *call, MPI_Op op, bool in_place, uint32_t own)
{
	unsigned char handle[sizeof op];

	REEL_ASSERT(!call->signature.operation);
	if (!call->numbers)
		return;
	memcpy(handle, &op, sizeof op);
	for (size_t byte = 0; byte < sizeof handle; byte++)
		own = reel_mpi_hash(own, handle[byte]);
	own = reel_mpi_hash(own, in_place);
	call->signature = reel_mpi_make_signature(call->signature.numbers,
						  reel_mpi_operation_number(op), own);
}

static struct reel_mpi_call_note note_of(const struct reel_mpi_call *call)
{
	struct reel_mpi_call_note note = {.numbers = call->numbers, .peer = call->root,
					  .name = call->name, .call_site = call->call_site,
					  .signature = call->signature};

	note.signature.kind = call->started ? REEL_MPI_STARTED_CALL : REEL_MPI_COLLECTIVE_CALL;
	return note;
}

static bool has_note(const struct reel_mpi_call *call)
{
	return call->attached->checks && call->tape && call->numbers;
}

/* The number of calls of its kind that are noted on tapes and not reversed. */
static int64_t *open_of(const struct reel_mpi_call *call)
{
	struct reel_mpi_checks *checks = call->attached->checks;

	REEL_ASSERT(checks);
	return call->started ? &checks->open_starts : &checks->open_calls;
}

int reel_mpi_agree_on_call(const struct reel_mpi_call *call)
{
	struct reel_mpi_checks *checks = call->attached->checks;
	struct reel_mpi_call_note own = note_of(call);
	int error = 0;

	if (!checks || (call->started && !call->reverse))
		return 0;
	if (!call->reverse)
		return compare(call, ++checks->calls, 0);
	if (has_note(call))
		error = match_note(call->attached, call->tape, call->name, &own);
	/* All ranks know that the sweep has failed, or none is going to wait for this call. */
	if (error && (call->started || checks->open_calls <= 0 ||
		      (checks->failed && reel_tape_error(call->tape) == -EBADMSG)))
		return error;
	if (has_note(call) && (*open_of(call))-- <= 0)
		reel_mpi_checks_count_elsewhere();
	return call->started ? 0 : compare(call, own.serial, error);
}

int reel_mpi_note_agreed(const struct reel_mpi_call *call, int error)
{
	struct reel_mpi_call_note note = note_of(call);

	if (error || !has_note(call))
		return error;
	note.serial = call->started ? 0 : call->attached->checks->calls;
	REEL_ASSERT(note.serial || call->started);
	++*open_of(call);
	call->attached->checks->call_site = call->call_site;
	reel_mpi_count(&call->attached->counters.note_bytes, sizeof note);
	return reel_mpi_push_call_note(call->tape, &note);
}
