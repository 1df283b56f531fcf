/* SPDX-License-Identifier: MIT */
/* Checked mode for messages: serial numbers, notes of calls, and headers of adjoints. */
#include "config.h"

#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

REEL_RECORD(call_note, struct reel_mpi_call_note);

enum { MARK = -0x5eed };

int reel_mpi_checks_open(struct reel_mpi_attached *attached, MPI_Comm comm)
{
	struct reel_mpi_checks *checks = calloc(1, sizeof *checks);

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

bool reel_mpi_has_header(const struct reel_mpi_message *m)
{
	return m->attached->checks && m->through == m->attached->messages;
}

bool reel_mpi_is_lost(const struct reel_mpi_attached *attached, const reel_tape *tape)
{
	int error = tape ? reel_tape_error(tape) : 0;

	return (attached->checks || attached->watch_ns) &&
	       (error == -EBADMSG || error == -ENODATA || error == -ETIMEDOUT);
}

/* ---- Channels ---- */

/* Finds a channel, or adds it. NULL: there is no memory. Requires `attached->lock`. */
static struct reel_mpi_channel *channel_of(struct reel_mpi_attached *attached, int peer, int tag,
					   bool receive)
{
	unsigned hash = ((unsigned)peer * 31 + (unsigned)tag) * 2 + receive;
	struct reel_mpi_channel **link =
		&attached->checks->channels[hash % REEL_MPI_CHANNEL_LISTS], *channel;

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

	pthread_mutex_lock(&m->attached->lock);
	channel = channel_of(m->attached, m->peer, m->tag, receive);
	if (channel) {
		serial = ++channel->serial;
		channel->open += m->tape != NULL;
	}
	pthread_mutex_unlock(&m->attached->lock);
	return serial;
}

/* Counts a header of a received message. Returns whether a rank waits for one. */
static bool close_message(struct reel_mpi_attached *attached, int peer, int tag)
{
	struct reel_mpi_channel *channel;
	bool waits;

	pthread_mutex_lock(&attached->lock);
	channel = channel_of(attached, peer, tag, true);
	waits = channel && channel->open > 0;
	if (waits)
		channel->open--;
	pthread_mutex_unlock(&attached->lock);
	return waits;
}

/* ---- Notes of calls ---- */

int64_t reel_mpi_numbers_of(const struct reel_mpi_message *m)
{
	int64_t numbers = 0;

	for (size_t i = 0; i < m->layout->runs; i++)
		numbers += m->layout->run[i].count;
	return numbers * m->count;
}

static struct reel_mpi_call_note note_of(const struct reel_mpi_message *m, bool receive)
{
	return (struct reel_mpi_call_note){.serial = m->serial, .numbers = reel_mpi_numbers_of(m),
					   .peer = m->peer, .tag = m->tag, .name = m->call,
					   .site = m->site, .mark = MARK,
					   .kind = receive ? REEL_MPI_RECEIVE_CALL
							   : REEL_MPI_SEND_CALL};
}

int reel_mpi_push_call_note(reel_tape *tape, const struct reel_mpi_call_note *note)
{
	struct reel_mpi_call_note marked = *note;

	marked.mark = MARK;
	reel_push_call_note_at(tape, marked, note->site);
	return reel_tape_error(tape);
}

int reel_mpi_note_call(struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note note;

	if (!m->attached->checks || !reel_mpi_is_active(m))
		return 0;
	note = note_of(m, receive);
	note.serial = count_message(m, receive);
	if (!note.serial)
		return reel_fail(-ENOMEM, "%s: no memory for a serial number", m->call);
	if (!m->tape)
		return 0;
	reel_mpi_count(&m->attached->counters.note_bytes, sizeof note);
	return reel_mpi_push_call_note(m->tape, &note);
}

enum { DESCRIPTION = 120 };

static const char *describe(const struct reel_mpi_call_note *note, char text[static DESCRIPTION])
{
	if (note->kind == REEL_MPI_COLLECTIVE_CALL && note->numbers < 0)
		snprintf(text, DESCRIPTION, "%s with root %d", note->name, note->peer);
	else if (note->kind == REEL_MPI_COLLECTIVE_CALL)
		snprintf(text, DESCRIPTION, "%s of %lld number%s with root %d", note->name,
			 (long long)note->numbers, note->numbers == 1 ? "" : "s", note->peer);
	else
		snprintf(text, DESCRIPTION, "a %s of %lld number%s %s rank %d, tag %d",
			 note->kind == REEL_MPI_SEND_CALL ? "send" : "receive",
			 (long long)note->numbers, note->numbers == 1 ? "" : "s",
			 note->kind == REEL_MPI_SEND_CALL ? "to" : "from", note->peer, note->tag);
	return text;
}

static bool is_same(const struct reel_mpi_call_note *a, const struct reel_mpi_call_note *b)
{
	return a->kind == b->kind && a->peer == b->peer && a->tag == b->tag &&
	       a->numbers == b->numbers &&
	       (a->kind != REEL_MPI_COLLECTIVE_CALL || !strcmp(a->name, b->name));
}

int reel_mpi_pop_call_note(const struct reel_mpi_attached *attached, reel_tape *tape,
			   const char *call, struct reel_mpi_call_note *own,
			   struct reel_mpi_call_note *note)
{
	char here[DESCRIPTION], there[DESCRIPTION];

	*note = (struct reel_mpi_call_note){0};
	own->serial = 0;
	if (reel_mpi_is_lost(attached, tape))
		return reel_fail(reel_tape_error(tape), "rank %d, %s: %s follows a call that failed",
				 attached->rank, own->site, call);
	if (reel_tape_is_empty(tape))
		return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, and the tape is empty",
				 attached->rank, own->site, call, describe(own, here));
	*note = reel_pop_call_note_at(tape, own->site);
	if (note->mark != MARK) {
		int error = reel_tape_error(tape);

		*note = (struct reel_mpi_call_note){0};
		if (error && !reel_mpi_is_lost(attached, tape))
			return 0;
		return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, and what is on the tape is "
					   "not the note of a call",
				 attached->rank, own->site, call, describe(own, here));
	}
	own->serial = note->serial;
	if (is_same(own, note))
		return 0;
	return reel_fail(-EBADMSG, "rank %d, %s: %s reverses %s, but the last call that is not "
				   "reversed is at %s: %s",
			 attached->rank, own->site, call, describe(own, here), note->site,
			 describe(note, there));
}

int reel_mpi_mirror(struct reel_mpi_message *m, bool receive)
{
	struct reel_mpi_call_note own, note;
	int error;

	m->serial = 0;
	if (!m->attached->checks || !m->tape || !reel_mpi_is_active(m))
		return 0;
	own = note_of(m, receive);
	error = reel_mpi_pop_call_note(m->attached, m->tape, m->call, &own, &note);
	m->serial = own.serial;
	if (!error)
		return 0;
	reel_mpi_tell_of_note(m->attached, &note, error);
	if (receive)
		reel_mpi_tell(m, error);
	if (note.kind == REEL_MPI_COLLECTIVE_CALL)
		reel_mpi_tell_all(m->attached, m->site, error);
	return error;
}

/* ---- Headers ---- */

void reel_mpi_copy_end(char *to, size_t bytes, const char *text)
{
	size_t length = strlen(text);

	memcpy(to, length < bytes ? text : text + length - bytes + 1,
	       length < bytes ? length + 1 : bytes);
}

static int post_header(struct reel_mpi_attached *attached, int peer, int tag, const char *site,
		       const struct reel_mpi_header *header)
{
	struct reel_mpi_buffer *buffer = reel_mpi_take_buffer(attached, sizeof *header);
	int error;

	if (!buffer)
		return -ENOMEM;
	memcpy(buffer->data, header, sizeof *header);
	buffer->peer = peer;
	buffer->tag = tag;
	buffer->site = site;
	error = reel_mpi_check(MPI_Isend(buffer->data, (int)sizeof *header, MPI_BYTE, peer, tag,
					 attached->checks->headers, &buffer->request),
			       "header of an adjoint");
	if (error)
		reel_mpi_give_buffer(attached, buffer);
	else
		reel_mpi_keep_sending(attached, buffer);
	return error;
}

int reel_mpi_send_header(const struct reel_mpi_message *m)
{
	struct reel_mpi_header header = {.serial = m->serial, .numbers = reel_mpi_numbers_of(m)};

	reel_mpi_copy_end(header.text, sizeof header.text, m->site);
	if (m->tape)
		close_message(m->attached, m->peer, m->tag);
	return post_header(m->attached, m->peer, m->tag, m->site, &header);
}

/* Sends a header with the text of the last error, unless nobody waits for one. */
static void tell(struct reel_mpi_attached *attached, int peer, int tag, const char *site, int error)
{
	struct reel_mpi_header header = {.error = error};

	if (!close_message(attached, peer, tag))
		return;
	snprintf(header.text, sizeof header.text, "%s", reel_error_text(error));
	post_header(attached, peer, tag, site, &header);
}

void reel_mpi_tell(const struct reel_mpi_message *m, int error)
{
	if (m->attached->checks && m->tape && m->peer >= 0 && m->tag >= 0)
		tell(m->attached, m->peer, m->tag, m->site, error);
}

void reel_mpi_tell_of_note(struct reel_mpi_attached *attached,
			   const struct reel_mpi_call_note *note, int error)
{
	if (note->kind == REEL_MPI_RECEIVE_CALL)
		tell(attached, note->peer, note->tag, note->site, error);
}

int reel_mpi_post_header(const struct reel_mpi_message *m, struct reel_mpi_header *header,
			 MPI_Request *request)
{
	return reel_mpi_check(MPI_Irecv(header, (int)sizeof *header, MPI_BYTE, m->peer, m->tag,
					m->attached->checks->headers, request),
			      m->call);
}

int reel_mpi_compare_header(const struct reel_mpi_message *m, const struct reel_mpi_header *header)
{
	bool numbered = m->serial && header->serial;

	if (header->error)
		return reel_fail(-EBADMSG, "rank %d, %s: %s gets no adjoint from rank %d, tag %d: %s",
				 m->attached->rank, m->site, m->call, m->peer, m->tag, header->text);
	if (header->numbers == reel_mpi_numbers_of(m) && (!numbered || header->serial == m->serial))
		return 0;
	return reel_fail(-EBADMSG, "rank %d, %s: the adjoint of a send of %lld numbers to rank %d, "
				   "tag %d, message %llu of these, meets rank %d, %s: that of a receive "
				   "of %lld numbers, message %llu; the ranks do not reverse their calls "
				   "in the same order",
			 m->attached->rank, m->site, (long long)reel_mpi_numbers_of(m), m->peer, m->tag,
			 (unsigned long long)m->serial, m->peer, header->text,
			 (long long)header->numbers, (unsigned long long)header->serial);
}

/* Receives the adjoint that came with a wrong header, so that the next header has its own. */
static void drop_adjoint(const struct reel_mpi_message *m)
{
	MPI_Message matched;
	MPI_Status status;
	struct reel_mpi_buffer *buffer;
	int bytes;

	if (MPI_Mprobe(m->peer, m->tag, m->through, &matched, &status) != MPI_SUCCESS)
		return;
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	buffer = reel_mpi_take_buffer(m->attached, bytes > 0 ? (size_t)bytes : 1);
	if (!buffer)
		return;
	MPI_Mrecv(buffer->data, bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
	reel_mpi_give_buffer(m->attached, buffer);
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
		char text[512];

		snprintf(text, sizeof text, "%s", reel_error_text(error));
		drop_adjoint(m);
		reel_fail(error, "%s", text);
	}
	return error;
}
