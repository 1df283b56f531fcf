/* SPDX-License-Identifier: MIT */
/*
 * Checked mode. Each message of the forward sweep has a serial number among the messages of its
 * direction, rank and tag, which is the same on both ranks. Its call leaves a note on the tape,
 * which the reverse call is compared with. A header travels before each adjoint, in a duplicate of
 * its own, and says which message the adjoint is of; or that there is none, and why.
 *
 * Without checked mode, `attached->checks` is NULL and these functions do nothing.
 */
#ifndef REEL_MPI_CHECK_H
#define REEL_MPI_CHECK_H

#include "message.h"

/* The message that travels before an adjoint. */
struct reel_mpi_header {
	int32_t error;	/* 0, or there is no adjoint */
	uint32_t kinds; /* of numbers */
	uint64_t serial; /* 0: not known, because there is no tape */
	int64_t numbers;
	char text[232]; /* line of the reverse call; of an error its text */
};

enum reel_mpi_kind {
	REEL_MPI_SEND_CALL = 1,
	REEL_MPI_RECEIVE_CALL,
	REEL_MPI_COLLECTIVE_CALL,
	REEL_MPI_STARTED_CALL /* an I-form, which no other rank waits for */
};

/*
 * The part of a call's description that notes and comparisons share. The number of numbers, the
 * rank or root, and the tag stand beside it.
 */
struct reel_mpi_signature {
	uint32_t kind : 3;	/* enum reel_mpi_kind */
	uint32_t numbers : 3;	/* kinds of numbers, bits 1 << enum reel_mpi_number */
	uint32_t operation : 3; /* of a reduction: reel_mpi_operation_number(); otherwise 0 */
	uint32_t own : 23;	/* hash of a rank's own fields: counts, MPI_IN_PLACE */
};

/*
 * The note of a call. Its last 16 bytes are read where a reverse call wrongly expects the note of a
 * message: a `mark` below 0 stands where that has its number of elements.
 */
struct reel_mpi_call_note {
	uint64_t serial;
	int64_t numbers;   /* floating-point numbers; -1: the call does not say */
	int32_t peer, tag; /* of a collective call, the root and 0 */
	const char *name;
	const char *call_site;
	int32_t mark;
	struct reel_mpi_signature signature;
};

/* Messages of one direction, rank and tag. */
struct reel_mpi_channel {
	struct reel_mpi_channel *next;
	int peer, tag;
	bool receive;
	uint64_t serial;  /* number of messages of the forward sweep */
	int64_t open;	  /* noted on tapes, and not reversed; of receives, no header was sent */
	const char *call_site; /* of the last one that was noted */
};

enum { REEL_MPI_CHANNEL_LISTS = 256 };

struct reel_mpi_checks {
	MPI_Comm headers;
	struct reel_mpi_channel *channels[REEL_MPI_CHANNEL_LISTS]; /* guarded by attached->lock */
	/* Counts of collective calls, which one thread makes at a time. */
	uint64_t calls;
	int64_t open_calls; /* noted on tapes, and not compared in the reverse sweep */
	int64_t open_starts; /* I-forms that are noted on tapes, and not reversed */
	const char *call_site;    /* of the last collective call that was noted */
	bool failed;	     /* the last comparison failed, as all ranks know */
};

/* Collective, in reel_mpi_attach(). Returns 0 or an error. */
int reel_mpi_checks_open(struct reel_mpi_attached *attached, MPI_Comm comm);
void reel_mpi_checks_close(struct reel_mpi_attached *attached);

/* Returns 0, or -EBADMSG: calls were noted on tapes and not reversed, and no error told of it. */
int reel_mpi_checks_left(const struct reel_mpi_attached *attached);

/* Counts a reverse call whose forward call was not noted on its communicator. */
void reel_mpi_checks_count_elsewhere(void);

/* The name of such kinds, for texts. */
const char *reel_mpi_kinds_name(uint32_t kinds);

/*
 * Sets `text` to how many numbers a call has, if `numbers` is not negative, and to the name of
 * their kinds, if that is not NULL.
 */
enum { REEL_MPI_NUMBERS_TEXT = 80 };
void reel_mpi_describe_numbers(char text[static REEL_MPI_NUMBERS_TEXT], int64_t numbers,
			       const char *kinds);

/* Extends a hash, which begins with REEL_MPI_HASH, by one word. */
#define REEL_MPI_HASH 2166136261u
static inline uint32_t reel_mpi_hash(uint32_t hash, uint64_t word)
{
	for (unsigned byte = 0; byte < sizeof word; byte++)
		hash = (hash ^ (uint32_t)(word >> 8 * byte & 0xff)) * 16777619u;
	return hash;
}

/* Returns a description that has the low bits of the hash, and 0 as kind, which the caller sets. */
static inline struct reel_mpi_signature reel_mpi_make_signature(uint32_t kinds, uint32_t operation,
								uint32_t hash)
{
	return (struct reel_mpi_signature){.numbers = kinds & 7u, .operation = operation & 7u,
					   .own = hash & 0x7fffffu};
}

/* Extends a hash by how many numbers of each kind a message has. */
uint32_t reel_mpi_hash_numbers(uint32_t hash, const struct reel_mpi_message *message);

/* Returns true if the adjoint of this message has a header. */
bool reel_mpi_has_header(const struct reel_mpi_message *message);

/*
 * Forward, when a message has been sent, or has come: counts it, and notes the call if there is a
 * tape. Returns 0 or the tape's error.
 */
int reel_mpi_note_call(struct reel_mpi_message *message, bool receive);

/*
 * Forward, when a message has come for which a receive was too small: counts it, as its sender
 * does, and its reverse call tells the sender that there is no adjoint.
 */
void reel_mpi_count_truncated(const struct reel_mpi_message *message, const MPI_Status *status);

/* Counts a message as reversed. Returns whether it was noted, so that a rank waits for a header. */
bool reel_mpi_close_message(struct reel_mpi_attached *attached, int peer, int tag, bool receive);

/* Tells the rank that waits for the adjoint of a received message that there is none. */
void reel_mpi_refuse_adjoint(const struct reel_mpi_message *message, int error);

/* Sends the header of an adjoint that is about to be sent. Does not wait. */
int reel_mpi_send_header(const struct reel_mpi_message *message);

/*
 * Waits for the header of the adjoint of a message that was sent. Returns 0: the adjoint belongs to
 * this message. If it is not, -EBADMSG, and the adjoint has been dropped.
 */
int reel_mpi_receive_header(const struct reel_mpi_message *message);

/* Receive a header in two steps, so that its adjoint is received at the same time. */
int reel_mpi_post_header(const struct reel_mpi_message *message, struct reel_mpi_header *header,
			 MPI_Request *request);
int reel_mpi_compare_header(const struct reel_mpi_message *message,
			    const struct reel_mpi_header *header);

/* ---- Notes of calls ---- */

/* Returns the note that the call of a message leaves; the serial number is the message's. */
struct reel_mpi_call_note reel_mpi_message_note(const struct reel_mpi_message *message,
						bool receive);

int reel_mpi_push_call_note(reel_tape *tape, const struct reel_mpi_call_note *note);

/*
 * Pops a note and compares it with `own`, all but the serial number, which `own` gets from it. With
 * an error of the tape that is not about the order of calls, the serial number is 0. Returns 0,
 * -EBADMSG, or the error by which the tape was lost before; *note is the one that was popped, or
 * has the kind 0. `call` is the name of the reverse call, for the text.
 */
int reel_mpi_pop_call_note(struct reel_mpi_attached *attached, reel_tape *tape, const char *call,
			   struct reel_mpi_call_note *own, struct reel_mpi_call_note *note);

/*
 * Tells the rank that waits for the adjoint of the note's message that there is none, if that
 * message was received.
 */
void reel_mpi_refuse_note(struct reel_mpi_attached *attached,
			  const struct reel_mpi_call_note *note, int error);

/* Copies the end of a text that is too long. */
void reel_mpi_copy_end(char *to, size_t bytes, const char *text);

#endif
