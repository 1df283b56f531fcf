/* SPDX-License-Identifier: MIT */
/*
 * One message: what it is made of, its note, and its adjoint on the way back. All calls on messages
 * are made of these functions.
 */
#ifndef REEL_MPI_TRANSFER_H
#define REEL_MPI_TRANSFER_H

#include <stdint.h>

#include "attached.h"
#include "layout.h"

/* `peer` and `tag` may be wildcards until the message has come. */
struct reel_mpi_message {
	const char *call; /* for texts of errors */
	const char *site;
	reel_tape *tape;
	void *buffer; /* of the forward call, or its adjoint */
	int count, peer, tag;
	MPI_Datatype type;
	struct reel_mpi_attached *attached;
	const struct reel_mpi_layout *layout;
	MPI_Comm through; /* the duplicate that its adjoint travels in */
	uint64_t serial;  /* checked mode, reverse sweep: see check.h; 0: not known */
	bool forward;	  /* a call of the forward sweep: the watchdog lets it wait for ever */
	bool notes; /* but not for what it notes: the other ranks have made the call, too */
};

/* The state of a request that has begun: the others are known to requests.c alone. */
enum { REEL_MPI_STARTED = 1 };

/* The note of a message: the decisions of the run. */
struct reel_mpi_note {
	int32_t source, tag, count, index;
};

/* Sets `attached`, `layout` and `through`. Returns 0 or what makes the call impossible. */
int reel_mpi_open_message(struct reel_mpi_message *message, MPI_Comm comm);

/*
 * The adjoint of a message is packed to be sent, but for that of a request, and MPI counts packed
 * bytes by an int. Returns 0, or -EOVERFLOW: there are more.
 */
int reel_mpi_check_packed(const struct reel_mpi_message *message);

/* Returns true if the message has an adjoint that travels. */
bool reel_mpi_is_active(const struct reel_mpi_message *message);

/* The error of a call: it sticks to the tape, if there is one. Returns `error`. */
int reel_mpi_stick(reel_tape *tape, int error);

/* ---- Waiting ---- */

enum reel_mpi_wait { REEL_MPI_FROM_PEER, REEL_MPI_TO_PEER, REEL_MPI_FOR_ALL };

/*
 * Tests the request until it is complete, an error occurs, or reel_clock_ns() reaches `end`
 * (UINT64_MAX: never). Sets *complete. Gives up the processor between tests: with more threads than
 * processors, MPI_Wait() would spin while the thread that has to act does not run. `call` names the
 * call in texts of errors.
 */
int reel_mpi_poll(const char *call, MPI_Request *request, MPI_Status *status, uint64_t end,
		  int *complete);

/*
 * Waits until the request is complete. With a watchdog, a reverse call, and a forward call that
 * notes something, waits as long as that says, and then returns -ETIMEDOUT; a receive has been
 * cancelled then, and another request is not MPI_REQUEST_NULL: what it uses is MPI's until it is
 * complete.
 */
int reel_mpi_await(const struct reel_mpi_message *message, enum reel_mpi_wait what,
		   MPI_Request *request, MPI_Status *status);

/* Waits for a collective call in the same way; `code` is what MPI returned when it began. */
int reel_mpi_await_all(const struct reel_mpi_message *message, int code, MPI_Request *request);

/*
 * Returns true if the order of the reverse sweep of this tape is lost: the rank should not wait for
 * another one then. False without checked mode and without a watchdog.
 */
bool reel_mpi_is_lost(const struct reel_mpi_attached *attached, const reel_tape *tape);

/* ---- Notes ---- */

/* Returns true if a receive with this source and tag has a note; `asked`: it has a status. */
bool reel_mpi_is_noted(const struct reel_mpi_message *message, bool asked);

/*
 * After a receive: sets count, peer and tag to those of the message, and notes them if `noted`. Of
 * a message that was sent, `status` is NULL. `index` is any number.
 */
int reel_mpi_note_message(struct reel_mpi_message *message, const MPI_Status *status, bool noted,
			  int index);

void reel_mpi_push_note(reel_tape *tape, const char *site, struct reel_mpi_note note);

/* Pops a note. Returns 0, or the error that lost it. */
int reel_mpi_pop_note(reel_tape *tape, const char *site, const char *call,
		      struct reel_mpi_note *note);

/*
 * The reverse of reel_mpi_note_message(): sets count, peer and tag to those of the note, if there
 * is one, and *status, if it is not NULL, to what the forward call's was.
 */
int reel_mpi_recall_message(struct reel_mpi_message *message, MPI_Status *status,
			    const struct reel_mpi_note *note);

/* ---- Adjoints ---- */

/* Sends the adjoint to where the message came from, and sets it to 0. Does not wait. */
int reel_mpi_send_adjoint(struct reel_mpi_message *message);

/*
 * Before the reverse of a receive: if a receive of the tape was too small, nobody knows what the
 * forward sweep has calculated from it. Makes the adjoint NaN, sends it so that its rank does not
 * wait, or tells that rank in checked mode, and returns -EMSGSIZE. Otherwise returns 0.
 */
int reel_mpi_refuse_truncated(struct reel_mpi_message *message);

/* Sends a copy of the adjoint to `peer`, and leaves it as it is. */
int reel_mpi_send_copy(struct reel_mpi_message *message);

/* Receives the adjoint from where the message went, and adds it. */
int reel_mpi_add_adjoint(struct reel_mpi_message *message);

/* Returns 0, or -EBADMSG: what came is not the adjoint of what was sent. */
int reel_mpi_check_adjoint(const struct reel_mpi_message *message, const MPI_Status *status);

/* ---- Order, in requests.c ---- */

/*
 * Whether the requests that began before `request` (NULL: all) leave the message's adjoint in
 * order. A receive with a wildcard that may have taken an earlier message is waited for, to see
 * which one it took. Returns 0 or -ENOTSUP.
 */
int reel_mpi_check_order(const struct reel_mpi_message *message, bool receive,
			 const struct reel_mpi_request *request);

#endif
