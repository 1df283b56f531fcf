/* SPDX-License-Identifier: MIT */
/* Checked mode for messages: serial numbers, notes of calls, and headers of adjoints. */
#include "config.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "comm/factor.h"
#include "trace/trace.h"
#include "wait.h"

REEL_RECORD(call_note, struct reel_mpi_call_note);

enum { MARK = -0x5eed };

int reel_mpi_checks_open(struct reel_mpi_attached *attached, MPI_Comm comm)
{
	struct reel_mpi_checks *checks = calloc(1, sizeof *checks);

	REEL_ASSERT(!attached->checks);
	if (!checks)
		return reel_fail(-ENOMEM, "reel_mpi_attach: no memory");
	checks->headers = MPI_COMM_NULL;
	attached->checks = checks;
	return reel_mpi_duplicate(comm, &checks->headers);
}

void reel_mpi_checks_close(struct reel_mpi_attached *attached)
{
	struct reel_mpi_checks *checks = attached->checks;

	if (!checks)
		return;
	for (int i = 0; i < REEL_MPI_CHANNEL_LISTS; i++)
		while (checks->channels[i]) {
			struct reel_mpi_channel *channel = checks->channels[i];

			checks->channels[i] = channel->next;
			free(channel);
		}
	if (checks->headers != MPI_COMM_NULL)
		MPI_Comm_free(&checks->headers);
	free(checks);
	attached->checks = NULL;
}

/* The first list with a channel that is open, and how many messages all of them have. */
static int64_t count_open(const struct reel_mpi_checks *checks, const struct reel_mpi_channel **one)
{
	int64_t open = 0;

	*one = NULL;
	for (int i = 0; i < REEL_MPI_CHANNEL_LISTS; i++)
		for (const struct reel_mpi_channel *c = checks->channels[i]; c; c = c->next) {
			REEL_ASSERT(c->open >= 0);
			if (c->open > 0 && !*one)
				*one = c;
			open += c->open > 0 ? c->open : 0;
		}
	return open;
}

/*
 * Calls that were reversed and not noted on their communicator: threads that look ahead record on
 * another one than the reverse sweep uses. Relaxed is enough: detaching reads it, after all calls.
 */
static _Atomic int64_t reversed_elsewhere;

void reel_mpi_checks_count_elsewhere(void)
{
	/* Relaxed: see above. */
	atomic_fetch_add_explicit(&reversed_elsewhere, 1, memory_order_relaxed);
}

int reel_mpi_checks_left(const struct reel_mpi_attached *attached)
{
	const struct reel_mpi_checks *checks = attached->checks;
	const struct reel_mpi_channel *one;
	int64_t messages, calls;
	char which[120] = "";

	/* Relaxed: see `failed`. */
	if (!checks || atomic_load_explicit(&attached->failed, memory_order_relaxed))
		return 0;
	messages = count_open(checks, &one);
	calls = (checks->open_calls > 0 ? checks->open_calls : 0) +
		(checks->open_starts > 0 ? checks->open_starts : 0);
	/* Relaxed: see `reversed_elsewhere`. */
	if (messages + calls <= atomic_load_explicit(&reversed_elsewhere, memory_order_relaxed))
		return 0;
	if (one)
		snprintf(which, sizeof which, "a %s rank %d with tag %d, %s",
			 one->receive ? "receive from" : "send to", one->peer, one->tag,
			 one->call_site);
	else
		snprintf(which, sizeof which, "the last call, %s", checks->call_site);
	return reel_fail(-EBADMSG,
			 "rank %d: %lld message%s and %lld collective call%s were recorded and "
			 "not reversed: %s; adjoints lack their contributions",
			 attached->rank, (long long)messages, messages == 1 ? "" : "s",
			 (long long)calls, calls == 1 ? "" : "s", which);
}

bool reel_mpi_has_header(const struct reel_mpi_message *m)
{
	return m->attached->checks && m->through == m->attached->messages;
}

/* ---- Channels ---- */

/* Finds a channel, or adds it. NULL: there is no memory. Requires `attached->lock`. */
static struct reel_mpi_channel *channel_of(struct reel_mpi_attached *attached, int peer, int tag,
					   bool receive)
{
	unsigned hash = ((unsigned)peer * 31 + (unsigned)tag) * 2 + receive;
	struct reel_mpi_channel **link =
		&attached->checks->channels[hash % REEL_MPI_CHANNEL_LISTS], *channel;

	REEL_ASSERT(reel_mpi_is_locked(attached) && attached->checks);
	for (channel = *link; channel; channel = channel->next)
		if (channel->peer == peer && channel->tag == tag && channel->receive == receive)
			return channel;
	channel = calloc(1, sizeof *channel);
	if (!channel)
		return NULL;
	*channel = (struct reel_mpi_channel){.next = *link, .peer = peer, .tag = tag,
					     .receive = receive};
	*link = channel;
	return channel;
}

/* Counts a message of the forward sweep. Returns its serial number, or 0: there is no memory. */
static uint64_t count_message(const struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_channel *channel;
	uint64_t serial = 0;

	REEL_ASSERT(m->peer >= 0 && m->tag >= 0);
	pthread_mutex_lock(&m->attached->lock);
	channel = channel_of(m->attached, m->peer, m->tag, receive);
	if (channel) {
		serial = ++channel->serial;
		channel->open += m->tape != NULL;
		if (m->tape)
			channel->call_site = m->call_site;
	}
	pthread_mutex_unlock(&m->attached->lock);
	return serial;
}

bool reel_mpi_close_message(struct reel_mpi_attached *attached, int peer, int tag, bool receive)
{
	struct reel_mpi_channel *channel;
	bool waits;

	pthread_mutex_lock(&attached->lock);
	channel = channel_of(attached, peer, tag, receive);
	REEL_ASSERT(!channel || channel->open >= 0);
	waits = channel && channel->open > 0;
	if (waits)
		channel->open--;
	pthread_mutex_unlock(&attached->lock);
	return waits;
}

/* ---- Notes of calls ---- */

const char *reel_mpi_kinds_name(uint32_t kinds)
{
	static const char *const names[1u << REEL_MPI_NUMBERS] = {
		[0] = "none",
		[1u << REEL_MPI_FLOAT] = "float",
		[1u << REEL_MPI_DOUBLE] = "double",
		[1u << REEL_MPI_LONG_DOUBLE] = "long double",
	};

	return names[kinds] ? names[kinds] : "several types";
}

void reel_mpi_describe_numbers(char text[static REEL_MPI_NUMBERS_TEXT], int64_t numbers,
			       const char *kinds)
{
	char of_kinds[REEL_MPI_NUMBERS_TEXT / 2] = "";

	if (kinds)
		snprintf(of_kinds, sizeof of_kinds, " (%s)", kinds);
	if (numbers < 0)
		snprintf(text, REEL_MPI_NUMBERS_TEXT, "%s", of_kinds);
	else
		snprintf(text, REEL_MPI_NUMBERS_TEXT, " of %lld number%s%s", (long long)numbers,
			 numbers == 1 ? "" : "s", of_kinds);
}

/* Totals, and not the numbers in turn: the adjoint of a buffer may be of another type. */
uint32_t reel_mpi_hash_numbers(uint32_t hash, const struct reel_mpi_message *m)
{
	int64_t total[REEL_MPI_NUMBERS] = {0};

	for (size_t i = 0; i < m->layout->ranges; i++)
		total[m->layout->range[i].number] += m->layout->range[i].count * m->count;
	for (int number = 0; number < REEL_MPI_NUMBERS; number++)
		hash = reel_mpi_hash(hash, (uint64_t)total[number]);
	return hash;
}

struct reel_mpi_call_note reel_mpi_message_note(const struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note note = {
		.serial = m->serial, .numbers = reel_mpi_numbers_of(m), .peer = m->peer,
		.tag = m->tag, .name = m->call, .call_site = m->call_site, .mark = MARK,
		.signature = reel_mpi_make_signature(reel_mpi_kinds_of(m), 0,
						     reel_mpi_hash_numbers(REEL_MPI_HASH, m))};

	note.signature.kind = receive ? REEL_MPI_RECEIVE_CALL : REEL_MPI_SEND_CALL;
	return note;
}

int reel_mpi_push_call_note(reel_tape *tape, const struct reel_mpi_call_note *note)
{
	struct reel_mpi_call_note marked = *note;

	REEL_ASSERT(tape && note->name && note->signature.kind);
	marked.mark = MARK;
	reel_push_call_note_at(tape, marked, note->call_site);
	return reel_tape_error(tape);
}

int reel_mpi_note_call(struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note note;

	REEL_TRACE_UNTIL(reel_clock_ns(), receive ? REEL_TRACE_RECEIVE : REEL_TRACE_SEND, 0,
			 m->peer, m->tag, m->count);
	if (!m->attached->checks || !reel_mpi_is_active(m))
		return 0;
	note = reel_mpi_message_note(m, receive);
	note.serial = count_message(m, receive);
	if (!note.serial)
		return reel_fail(-ENOMEM, "%s: no memory for a serial number", m->call);
	if (!m->tape)
		return 0;
	reel_mpi_count(&m->attached->counters.note_bytes, sizeof note);
	return reel_mpi_push_call_note(m->tape, &note);
}

void reel_mpi_count_truncated(const struct reel_mpi_message *m, const MPI_Status *status)
{
	struct reel_mpi_message came = *m;

	if (!m->attached->checks || !m->layout->ranges || status->MPI_SOURCE < 0 ||
	    status->MPI_TAG < 0)
		return;
	came.peer = status->MPI_SOURCE;
	came.tag = status->MPI_TAG;
	REEL_ASSERT(came.peer < m->attached->size);
	count_message(&came, true);
}

enum { DESCRIPTION = 120 };

static bool is_message(const struct reel_mpi_call_note *note)
{
	return note->signature.kind == REEL_MPI_SEND_CALL ||
	       note->signature.kind == REEL_MPI_RECEIVE_CALL;
}

/* Names the type of the numbers if the other call of a pair has another one. */
static const char *describe(const struct reel_mpi_call_note *note,
			    const struct reel_mpi_call_note *other, char text[static DESCRIPTION])
{
	bool differ = other && other->signature.numbers != note->signature.numbers;
	bool send = note->signature.kind == REEL_MPI_SEND_CALL;
	char numbers[REEL_MPI_NUMBERS_TEXT];

	REEL_ASSERT(note->signature.kind && (!other || other->signature.kind));
	reel_mpi_describe_numbers(numbers, note->numbers,
				  differ ? reel_mpi_kinds_name(note->signature.numbers) : NULL);
	if (!is_message(note))
		snprintf(text, DESCRIPTION, "%s%s with root %d", note->name, numbers, note->peer);
	else
		snprintf(text, DESCRIPTION, "a %s%s %s rank %d, tag %d", send ? "send" : "receive",
			 numbers, send ? "to" : "from", note->peer, note->tag);
	return text;
}

static bool is_same_call(const struct reel_mpi_call_note *a, const struct reel_mpi_call_note *b)
{
	return a->signature.kind == b->signature.kind && a->peer == b->peer && a->tag == b->tag &&
	       a->numbers == b->numbers && (is_message(a) || !strcmp(a->name, b->name));
}

static bool is_same(const struct reel_mpi_call_note *a, const struct reel_mpi_call_note *b)
{
	return is_same_call(a, b) && a->signature.operation == b->signature.operation &&
	       a->signature.numbers == b->signature.numbers && a->signature.own == b->signature.own;
}

/* Names the difference of two calls that describe() describes alike. `own` is the reverse call. */
static const char *difference(const struct reel_mpi_call_note *own,
			      const struct reel_mpi_call_note *note, char text[static DESCRIPTION])
{
	const struct reel_mpi_signature *here = &own->signature, *there = &note->signature;

	*text = 0;
	if (!is_same_call(own, note) || here->numbers != there->numbers)
		return text;
	if (here->operation != there->operation)
		snprintf(text, DESCRIPTION, "; the operation is %s, and was %s",
			 reel_mpi_operation_name(here->operation),
			 reel_mpi_operation_name(there->operation));
	else
		snprintf(text, DESCRIPTION, "; %s differ",
			 is_message(own)   ? "the numbers of each type"
			 : here->operation ? "MPI_IN_PLACE, the counts or the operations"
					   : "MPI_IN_PLACE or the counts");
	return text;
}

static int pop_call_note(const struct reel_mpi_attached *attached, reel_tape *tape,
			 const char *call, struct reel_mpi_call_note *own,
			 struct reel_mpi_call_note *note)
{
	char here[DESCRIPTION], there[DESCRIPTION], differ[DESCRIPTION];

	REEL_ASSERT(tape && own->signature.kind);
	*note = (struct reel_mpi_call_note){0};
	own->serial = 0;
	if (reel_mpi_is_lost(attached, tape))
		return reel_fail(reel_tape_error(tape),
				 "rank %d, %s: %s follows a call that failed", attached->rank,
				 own->call_site, call);
	if (reel_tape_is_empty(tape))
		return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, and the tape is empty",
				 attached->rank, own->call_site, call, describe(own, NULL, here));
	*note = reel_pop_call_note_at(tape, own->call_site);
	if (note->mark != MARK) {
		int error = reel_tape_error(tape);

		*note = (struct reel_mpi_call_note){0};
		if (error && !reel_mpi_is_lost(attached, tape))
			return 0;
		return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, but the last entry on the "
					   "tape is not the note of a call",
				 attached->rank, own->call_site, call, describe(own, NULL, here));
	}
	own->serial = note->serial;
	if (is_same(own, note))
		return 0;
	return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, but the last call that is not "
				   "reversed is at %s: %s%s",
			 attached->rank, own->call_site, call, describe(own, note, here),
			 note->call_site, describe(note, own, there),
			 difference(own, note, differ));
}

int reel_mpi_pop_call_note(struct reel_mpi_attached *attached, reel_tape *tape, const char *call,
			   struct reel_mpi_call_note *own, struct reel_mpi_call_note *note)
{
	int error = pop_call_note(attached, tape, call, own, note);

	if (error)
		reel_mpi_set_failed(attached);
	return error;
}

/* ---- Headers ---- */

void reel_mpi_copy_end(char *to, size_t bytes, const char *text)
{
	size_t length = strlen(text);

	REEL_ASSERT(bytes > 0);
	memcpy(to, length < bytes ? text : text + length - bytes + 1,
	       length < bytes ? length + 1 : bytes);
}

static int post_header(struct reel_mpi_attached *attached, int peer, int tag, const char *call_site,
		       const struct reel_mpi_header *header)
{
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(attached, sizeof *header);
	int error;

	REEL_ASSERT(attached->checks);
	if (!buffer)
		return -ENOMEM;
	memcpy(buffer->data, header, sizeof *header);
	error = reel_mpi_error(MPI_Isend(buffer->data, (int)sizeof *header, MPI_BYTE, peer, tag,
					 attached->checks->headers, &buffer->request),
			       "header of an adjoint");
	if (error)
		reel_mpi_give_buffer(attached, buffer);
	else
		reel_mpi_keep_sending(attached, buffer, peer, tag, call_site);
	return error;
}

int reel_mpi_send_header(const struct reel_mpi_message *m)
{
	struct reel_mpi_header header = {.serial = m->serial, .numbers = reel_mpi_numbers_of(m),
					 .kinds = reel_mpi_kinds_of(m)};

	REEL_ASSERT(reel_mpi_has_header(m));
	reel_mpi_copy_end(header.text, sizeof header.text, m->call_site);
	if (m->tape && !reel_mpi_close_message(m->attached, m->peer, m->tag, true))
		reel_mpi_checks_count_elsewhere();
	return post_header(m->attached, m->peer, m->tag, m->call_site, &header);
}

/* Sends a header with the text of the last error, if a rank waits for one. */
static void refuse(struct reel_mpi_attached *attached, int peer, int tag, const char *call_site,
		   int error)
{
	struct reel_mpi_header header = {.error = error};

	REEL_ASSERT(error < 0);
	if (!reel_mpi_close_message(attached, peer, tag, true))
		return;
	snprintf(header.text, sizeof header.text, "%s", reel_error_text(error));
	post_header(attached, peer, tag, call_site, &header);
}

void reel_mpi_refuse_adjoint(const struct reel_mpi_message *m, int error)
{
	if (m->attached->checks && m->tape && m->peer >= 0 && m->tag >= 0)
		refuse(m->attached, m->peer, m->tag, m->call_site, error);
}

void reel_mpi_refuse_note(struct reel_mpi_attached *attached,
			  const struct reel_mpi_call_note *note, int error)
{
	if (note->signature.kind == REEL_MPI_RECEIVE_CALL)
		refuse(attached, note->peer, note->tag, note->call_site, error);
}

int reel_mpi_post_header(const struct reel_mpi_message *m, struct reel_mpi_header *header,
			 MPI_Request *request)
{
	REEL_ASSERT(reel_mpi_has_header(m));
	return reel_mpi_error(MPI_Irecv(header, (int)sizeof *header, MPI_BYTE, m->peer, m->tag,
					m->attached->checks->headers, request),
			      m->call);
}

static int compare_header(const struct reel_mpi_message *m, const struct reel_mpi_header *header)
{
	bool numbered = m->serial && header->serial;

	REEL_ASSERT(header->error <= 0);
	if (header->error)
		return reel_fail(
			-EBADMSG, "rank %d, %s: %s gets no adjoint from rank %d, tag %d: %s",
			m->attached->rank, m->call_site, m->call, m->peer, m->tag, header->text);
	if (header->numbers == reel_mpi_numbers_of(m) && header->kinds != reel_mpi_kinds_of(m))
		return reel_fail(-EBADMSG,
				 "rank %d, %s: the adjoint of a send of numbers (%s) to rank %d, "
				 "tag %d, meets rank %d, %s: the adjoint of a receive of numbers "
				 "(%s)", m->attached->rank, m->call_site,
				 reel_mpi_kinds_name(reel_mpi_kinds_of(m)), m->peer, m->tag,
				 m->peer, header->text, reel_mpi_kinds_name(header->kinds));
	if (header->numbers == reel_mpi_numbers_of(m) && (!numbered || header->serial == m->serial))
		return 0;
	return reel_fail(
		-EBADMSG,
		"rank %d, %s: the adjoint of a send of %lld numbers to rank %d, tag %d, message "
		"%llu of these, meets rank %d, %s: the adjoint of a receive of %lld numbers, "
		"message %llu; the ranks do not reverse their calls in the same order",
		m->attached->rank, m->call_site, (long long)reel_mpi_numbers_of(m), m->peer, m->tag,
		(unsigned long long)m->serial, m->peer, header->text, (long long)header->numbers,
		(unsigned long long)header->serial);
}

int reel_mpi_compare_header(const struct reel_mpi_message *m, const struct reel_mpi_header *header)
{
	int error = compare_header(m, header);

	if (error)
		reel_mpi_set_failed(m->attached);
	return error;
}

int reel_mpi_receive_header(const struct reel_mpi_message *m)
{
	struct reel_mpi_header header;
	MPI_Request request;
	int error = reel_mpi_post_header(m, &header, &request);

	if (!error)
		error = reel_mpi_await(m, REEL_MPI_FROM_PEER, &request, MPI_STATUS_IGNORE);
	if (error)
		return error;
	error = reel_mpi_compare_header(m, &header);
	if (error && !header.error) {
		MPI_Message matched;
		MPI_Status status;
		char text[512];

		snprintf(text, sizeof text, "%s", reel_error_text(error));
		/* Receives the adjoint that came with it, so that the next header has its own. */
		if (MPI_Mprobe(m->peer, m->tag, m->through, &matched, &status) == MPI_SUCCESS)
			reel_mpi_drop_matched(m->attached, &matched, &status);
		reel_fail(error, "%s", text);
	}
	return error;
}
