/* SPDX-License-Identifier: MIT */
/*
 * One message: its note, and its adjoint on the way back. All calls on messages are made of these
 * functions.
 */
#ifndef REEL_MPI_TRANSFER_H
#define REEL_MPI_TRANSFER_H

#include "message.h"

/* The note of a message: the decisions of the run. */
struct reel_mpi_note {
	int32_t source, tag, count, index;
};

/* ---- Notes ---- */

/* Returns true if a receive with this source and tag has a note; `asked`: it has a status. */
bool reel_mpi_is_noted(const struct reel_mpi_message *message, bool asked);

/*
 * After a receive: sets the count, peer and tag of the message that came, and notes them if
 * `noted`. Of a message that was sent, `status` is NULL. `index` is any number.
 */
int reel_mpi_note_message(struct reel_mpi_message *message, const MPI_Status *status, bool noted,
			  int index);

void reel_mpi_push_note(reel_tape *tape, const char *call_site, struct reel_mpi_note note);

/* Pops a note. Returns 0, or the error that lost it. */
int reel_mpi_pop_note(reel_tape *tape, const char *call_site, const char *call,
		      struct reel_mpi_note *note);

/*
 * The reverse of reel_mpi_note_message(): sets count, peer and tag from the note, if there is one,
 * and *status, if it is not NULL, as the forward call did.
 */
int reel_mpi_recall_message(struct reel_mpi_message *message, MPI_Status *status,
			    const struct reel_mpi_note *note);

/* Pushes numbers, and pops them. If they are lost they are NaN. */
void reel_mpi_push_numbers(const struct reel_mpi_message *message, const void *numbers);
void reel_mpi_pop_numbers(const struct reel_mpi_message *message, void *numbers);

/* ---- Adjoints ---- */

/* Sends the adjoint to where the message came from, and sets it to 0. Does not wait. */
int reel_mpi_send_adjoint(struct reel_mpi_message *message);

/*
 * Before the reverse of a receive: if a receive of the tape was too small, the values that the
 * forward sweep has calculated from it are not known. Makes the adjoint NaN, sends it so that its
 * rank does not wait, or tells that rank in checked mode, and returns -EMSGSIZE. Otherwise returns
 * 0.
 */
int reel_mpi_refuse_truncated(struct reel_mpi_message *message);

/* Sends a copy of the adjoint to `peer`, and leaves it as it is. */
int reel_mpi_send_copy(struct reel_mpi_message *message);

/* Receives the adjoint from where the message went, and adds it. */
int reel_mpi_add_adjoint(struct reel_mpi_message *message);

/* Returns 0, or -EBADMSG: the message that came is not the adjoint of the sent one. */
int reel_mpi_check_adjoint(const struct reel_mpi_message *message, const MPI_Status *status);

#endif
