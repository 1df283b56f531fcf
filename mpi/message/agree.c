/* SPDX-License-Identifier: MIT */
/*
 * Checked mode for collective calls: the ranks compare what they call by one small Allreduce before
 * they go on. If they differ, all ranks get what all of them said, and each one reports it.
 */
#include "config.h"

#include "agree.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/factor.h"
#include "wait.h"

/* The words that ranks compare. UNKNOWN equals every value. */
enum { ERROR, NAME, ROOT, NUMBERS, KINDS, OPERATION, TAPE, SERIAL, SAID };

#define UNKNOWN INT64_MIN

struct said {
	int64_t value[SAID];
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
	char numbers[60] = "", operation[40] = "";

	if (call->numbers >= 0)
		snprintf(numbers, sizeof numbers, " of %lld number%s", (long long)call->numbers,
			 call->numbers == 1 ? "" : "s");
	if (call->said.numbers)
		snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), " (%s)",
			 reel_mpi_kinds_name(call->said.numbers));
	if (call->said.operation)
		snprintf(operation, sizeof operation, " by %s",
			 reel_mpi_operation_name(call->said.operation));
	snprintf(text, bytes, "%s%s%s%s with root %d%s", call->reverse ? "reverse of " : "",
		 call->name, numbers, operation, call->root,
		 call->notes && !call->tape ? " without a tape" : "");
	return text;
}

static void say(struct said *said, const struct reel_mpi_call *call, uint64_t serial, int error)
{
	char what[200], text[400];

	said->value[NAME] = error ? UNKNOWN : number_of(call->name, call->reverse);
	said->value[ROOT] = error ? UNKNOWN : call->root;
	said->value[NUMBERS] = error || call->numbers < 0 ? UNKNOWN : call->numbers;
	said->value[KINDS] = error ? UNKNOWN : call->said.numbers;
	said->value[OPERATION] = error ? UNKNOWN : call->said.operation;
	said->value[TAPE] = error || !call->notes ? UNKNOWN : call->tape != NULL;
	said->value[SERIAL] = error || !serial ? UNKNOWN : (int64_t)serial;
	said->value[ERROR] = error ? 1 : 0;
	if (error)
		snprintf(text, sizeof text, "%s", reel_error_text(error));
	else if (serial)
		snprintf(text, sizeof text, "%s: %s, call %llu", call->site,
			 describe(call, what, sizeof what), (unsigned long long)serial);
	else
		snprintf(text, sizeof text, "%s: %s", call->site, describe(call, what, sizeof what));
	reel_mpi_copy_end(said->text, sizeof said->text, text);
}

/* The first rank whose value is known and is not that of rank `not` (-1: any value). */
static int find_rank(const struct said *all, int size, int what, int not)
{
	for (int i = 0; i < size; i++)
		if (all[i].value[what] != UNKNOWN &&
		    (not < 0 || all[i].value[what] != all[not].value[what]))
			return i;
	return -1;
}

static int count_ranks(const struct said *all, int size, int what, int like)
{
	int n = 0;

	for (int i = 0; i < size; i++)
		n += all[i].value[what] == all[like].value[what];
	return n;
}

/* Says which ranks differ. Their number comes with the first one of each group. */
static int report(const struct reel_mpi_attached *attached, const struct said *own,
		  const struct said *all)
{
	int size = attached->size;

	for (int what = ERROR; what < SAID; what++) {
		int a = find_rank(all, size, what, -1), b = a < 0 ? -1 : find_rank(all, size, what, a);

		if (b < 0)
			continue;
		if (what == ERROR)
			a = all[a].value[ERROR] ? a : b;
		if (what == ERROR)
			return reel_fail(-EBADMSG, "rank %d, %s: %s", attached->rank, own->text,
					 all[a].text);
		return reel_fail(-EBADMSG, "the ranks do not match: rank %d (%d of %d ranks), %s; rank "
					   "%d (%d ranks), %s",
				 a, count_ranks(all, size, what, a), size, all[a].text, b,
				 count_ranks(all, size, what, b), all[b].text);
	}
	return reel_fail(-EBADMSG, "rank %d, %s", attached->rank, own->text);
}

static int explain(const struct reel_mpi_attached *attached, const struct said *own)
{
	struct said *all = malloc((size_t)attached->size * sizeof *all);
	int error;

	if (!all)
		return reel_fail(-EBADMSG, "the ranks do not match; here, %s", own->text);
	error = reel_mpi_error(MPI_Allgather(own, (int)sizeof *own, MPI_BYTE, all, (int)sizeof *own,
					     MPI_BYTE, attached->sums),
			       "comparing calls");
	if (!error)
		error = report(attached, own, all);
	free(all);
	return error;
}

/* Sets most[] to the largest value of all ranks, and of its negative. */
static int reduce(const struct reel_mpi_call *call, const struct said *own, int64_t *most)
{
	struct reel_mpi_message m = {.call = call->name, .site = call->site, .tape = call->tape,
				     .attached = call->attached, .forward = !call->reverse};
	struct reel_mpi_buffer *buffer =
		reel_mpi_take_buffer(call->attached, 2 * SAID * sizeof *most);
	int64_t *values;
	int error;

	if (!buffer)
		return -ENOMEM;
	values = (int64_t *)(void *)buffer->data;
	for (int i = 0; i < SAID; i++) {
		values[i] = own->value[i];
		values[SAID + i] = own->value[i] == UNKNOWN ? UNKNOWN : -own->value[i];
	}
	error = reel_mpi_await_all(&m, MPI_Iallreduce(MPI_IN_PLACE, values, 2 * SAID, MPI_INT64_T,
						      MPI_MAX, call->attached->sums,
						      &buffer->request),
				   &buffer->request);
	memcpy(most, values, 2 * SAID * sizeof *most);
	reel_mpi_give_buffer(call->attached, buffer);
	return error;
}

/* `error` is that of this rank, with the last text. Returns it, or that of the comparison. */
static int compare(const struct reel_mpi_call *call, uint64_t serial, int error)
{
	struct reel_mpi_checks *checks = call->attached->checks;
	bool same = true;
	int64_t most[2 * SAID];
	char text[512];
	struct said own;
	int failed;

	snprintf(text, sizeof text, "%s", error ? reel_error_text(error) : "");
	say(&own, call, serial, error);
	failed = reduce(call, &own, most);
	if (failed)
		return error ? reel_fail(error, "%s", text) : failed;
	for (int i = 0; i < SAID; i++)
		same = same && (most[i] == UNKNOWN || most[i] == -most[SAID + i]);
	checks->failed = !same || most[ERROR];
	if (!checks->failed)
		return 0;
	reel_mpi_set_failed(call->attached);
	failed = explain(call->attached, &own);
	return error ? reel_fail(error, "%s", text) : failed;
}

static struct reel_mpi_call_note note_of(const struct reel_mpi_call *call, enum reel_mpi_kind kind)
{
	struct reel_mpi_call_note note = {.numbers = call->numbers, .peer = call->root,
					  .name = call->name, .site = call->site,
					  .said = call->said};

	note.said.kind = kind;
	return note;
}

/* Compares the reverse call with the note on the tape, which *note then is; or it has the kind 0. */
static int mirror(const struct reel_mpi_call *call, struct reel_mpi_call_note *own,
		  struct reel_mpi_call_note *note)
{
	int error;

	*note = (struct reel_mpi_call_note){0};
	if (!call->tape || !call->numbers)
		return 0;
	error = reel_mpi_pop_call_note(call->attached, call->tape, call->name, own, note);
	if (error)
		reel_mpi_tell_of_note(call->attached, note, error);
	return error;
}

int reel_mpi_agree(const struct reel_mpi_call *call)
{
	struct reel_mpi_checks *checks = call->attached->checks;
	struct reel_mpi_call_note own = note_of(call, REEL_MPI_COLLECTIVE_CALL), note;
	int error;

	if (!checks)
		return 0;
	if (!call->reverse)
		return compare(call, ++checks->calls, 0);
	error = mirror(call, &own, &note);
	/* All ranks know that the sweep has failed, or none is going to wait for this call. */
	if (error && (checks->open_calls <= 0 ||
		      (checks->failed && reel_tape_error(call->tape) == -EBADMSG)))
		return error;
	if (call->tape && call->numbers && checks->open_calls-- <= 0)
		reel_mpi_checks_credit();
	return compare(call, own.serial, error);
}

/* Tells the other ranks of an error: they wait in a collective call that this rank should make. */
static void tell_all(struct reel_mpi_attached *attached, const char *site, int error)
{
	struct reel_mpi_call call = {.attached = attached, .name = "reverse call", .site = site,
				     .reverse = true};

	attached->checks->open_calls--;
	compare(&call, 0, error);
}

void reel_mpi_say_operation(struct reel_mpi_call *call, MPI_Op op, bool in_place, uint32_t own)
{
	unsigned char handle[sizeof op];

	if (!call->numbers)
		return;
	memcpy(handle, &op, sizeof op);
	for (size_t byte = 0; byte < sizeof handle; byte++)
		own = reel_mpi_hash(own, handle[byte]);
	own = reel_mpi_hash(own, in_place);
	call->said = reel_mpi_say(call->said.numbers, reel_mpi_operation_number(op), own);
}

static int push_note(const struct reel_mpi_call *call, const struct reel_mpi_call_note *note)
{
	reel_mpi_count(&call->attached->counters.note_bytes, sizeof *note);
	return reel_mpi_push_call_note(call->tape, note);
}

int reel_mpi_note_agreed(const struct reel_mpi_call *call, int error)
{
	struct reel_mpi_call_note note = note_of(call, REEL_MPI_COLLECTIVE_CALL);

	if (error || !call->attached->checks || !call->tape || !call->numbers)
		return error;
	note.serial = call->attached->checks->calls;
	call->attached->checks->open_calls++;
	call->attached->checks->site = call->site;
	return push_note(call, &note);
}

int reel_mpi_note_started(const struct reel_mpi_call *call, int error)
{
	struct reel_mpi_call_note note = note_of(call, REEL_MPI_STARTED_CALL);

	if (error || !call->attached->checks || !call->tape || !call->numbers)
		return error;
	call->attached->checks->open_starts++;
	call->attached->checks->site = call->site;
	return push_note(call, &note);
}

int reel_mpi_mirror_started(const struct reel_mpi_call *call)
{
	struct reel_mpi_call_note own = note_of(call, REEL_MPI_STARTED_CALL), note;
	int error = call->attached->checks ? mirror(call, &own, &note) : 0;

	if (!error && call->attached->checks && call->tape && call->numbers &&
	    call->attached->checks->open_starts-- <= 0)
		reel_mpi_checks_credit();
	if (error && note.said.kind == REEL_MPI_COLLECTIVE_CALL)
		tell_all(call->attached, call->site, error);
	return error;
}

int reel_mpi_mirror(struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note own, note;
	int error;

	m->serial = 0;
	if (!m->attached->checks || !m->tape || !reel_mpi_is_active(m))
		return 0;
	own = reel_mpi_message_note(m, receive);
	error = reel_mpi_pop_call_note(m->attached, m->tape, m->call, &own, &note);
	m->serial = own.serial;
	if (!error && !receive && !reel_mpi_close_message(m->attached, m->peer, m->tag, false))
		reel_mpi_checks_credit();
	if (!error)
		return 0;
	reel_mpi_tell_of_note(m->attached, &note, error);
	if (receive)
		reel_mpi_tell(m, error);
	if (note.said.kind == REEL_MPI_COLLECTIVE_CALL)
		tell_all(m->attached, m->site, error);
	return error;
}
