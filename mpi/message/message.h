/* SPDX-License-Identifier: MIT */
/* One message, and its properties. Each call begins with it, also one on a block of elements. */
#ifndef REEL_MPI_MESSAGE_H
#define REEL_MPI_MESSAGE_H

#include <stdint.h>

#include "comm/attached.h"
#include "comm/layout.h"

/* `peer` and `tag` may be wildcards until the message has come. */
struct reel_mpi_message {
	const char *call; /* for texts of errors */
	const char *call_site;
	reel_tape *tape;
	void *buffer; /* of the forward call, or its adjoint */
	int count, peer, tag;
	MPI_Datatype type;
	struct reel_mpi_attached *attached;
	const struct reel_mpi_layout *layout;
	MPI_Comm through; /* the duplicate that its adjoint travels in */
	uint64_t serial;  /* checked mode, reverse sweep: see check.h; 0: not known */
	bool forward;	  /* a call of the forward sweep: the watchdog lets it wait for ever */
	bool notes;	  /* the call notes values of all ranks: the watchdog limits its wait */
};

/* The initialiser of a message in a call that has the parameters `tape`, `call_site` and `type`. */
#define REEL_MPI_MESSAGE(name, begin, elements, rank, number)                                      \
	{.call = (name), .call_site = call_site, .tape = tape,                                     \
	 .buffer = (void *)(uintptr_t)(begin), .count = (elements), .peer = (rank),                \
	 .tag = (number), .type = type}

/* Returns 0, or -EINVAL: `mode`, which a caller gives, is not one of the first `modes`. */
int reel_mpi_check_mode(int mode, int modes, const char *call);

/*
 * Sets `attached`, `layout` and `through`. Returns 0 or the error that makes the call impossible.
 */
int reel_mpi_open_message(struct reel_mpi_message *message, MPI_Comm comm);

/*
 * The adjoint of a message is packed to be sent, unless it is a request's, and MPI counts packed
 * bytes by an int. Returns 0, or -EOVERFLOW: there are more.
 */
int reel_mpi_check_packed(struct reel_mpi_message *message);

/* Returns true if the message has an adjoint that travels. */
bool reel_mpi_is_active(const struct reel_mpi_message *message);

/* The error of a call: it sticks to the tape, if there is one. Returns `error`. */
int reel_mpi_stick(reel_tape *tape, int error);

/*
 * Returns true if the order of the reverse sweep of this tape is lost: the rank should not wait for
 * another one then. False without checked mode and without a watchdog.
 */
bool reel_mpi_is_lost(const struct reel_mpi_attached *attached, const reel_tape *tape);

/* Number of floating-point numbers of a message. */
int64_t reel_mpi_numbers_of(const struct reel_mpi_message *message);

/* The kinds of numbers in a message, bits 1 << enum reel_mpi_number; 0 if it has none. */
uint32_t reel_mpi_kinds_of(const struct reel_mpi_message *message);

#endif
