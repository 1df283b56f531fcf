/* SPDX-License-Identifier: MIT */
/*
 * Message passing: the reverse of programs whose ranks communicate by MPI.
 *
 *	cc program.c $(pkg-config --cflags --libs reel-mpi)
 *
 *	reel_mpi_attach(MPI_COMM_WORLD, 0);                     once, by all ranks
 *
 *	if (rank == 0)                                          forward sweep
 *		reel_mpi_send(&tape, x, n, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
 *	else
 *		reel_mpi_recv(&tape, x, n, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
 *
 *	if (rank == 0)                                          reverse sweep
 *		reel_mpi_send_reverse(&tape, x_bar, n, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
 *	else
 *		reel_mpi_recv_reverse(&tape, x_bar, n, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD,
 *				      MPI_STATUS_IGNORE);
 *	reel_mpi_reverse_end(MPI_COMM_WORLD);
 *
 * Pairs of calls. The forward call does the same as MPI's call of that name. The reverse call has
 * the same arguments, except that it takes the adjoint of each buffer instead of the buffer. It
 * sends back the adjoint of the received data, and sets that adjoint to 0; it adds the adjoint that
 * comes back to the adjoint of the sent data. Reverse calls come in the reverse order of the
 * forward calls, on each rank by itself.
 *
 * Notes on the tape. Arguments are noted only in checked mode (reel_mpi_attach()). Decisions of the
 * run are noted, 16 bytes per message: the source, the tag and the number of elements of a message
 * that was received by MPI_ANY_SOURCE or MPI_ANY_TAG, or with a status; the index that
 * reel_mpi_waitany() chose. The reverse call sets its status from the note. With a NULL tape a
 * forward call notes nothing; use this for a stretch that is run again and recorded later. If the
 * stretch receives from MPI_ANY_SOURCE, a barrier between the two runs keeps their messages apart.
 *
 * Types. MPI's floating-point types and types derived from them; adjoints are added number by
 * number. Integers and characters have no adjoint: a message with only such data is not sent back,
 * and has no note. MPI_BYTE and MPI_PACKED hide the type of their contents and are refused.
 *
 * Communicators. A communicator is attached before it is used here. Adjoints travel in duplicates
 * of it, and never meet the program's own messages. MPI_Comm_free() frees them.
 *
 * Order. Messages from one rank to another with one tag are matched in the order of sending, and
 * their adjoints in the reverse order. So the calls that end such messages must end them in the
 * order in which they began: a wait for the second of two before the first is refused (-ENOTSUP).
 * Messages with other tags, ranks or communicators have no order among each other.
 *
 * Objective. The objective of the gradient is one number. If J is on one rank, or is the same on
 * all ranks (after an Allreduce), it is the number of one rank. If each rank has a part, J is the
 * sum of the parts. reel_mpi_seed() sets J_bar in each of these cases; do not set it by hand, or
 * the gradient may be multiplied by the number of ranks.
 *
 * Bits. No sum depends on the order in which messages arrive: a gradient has the same bits in each
 * run with the same number of ranks. Messages between two ranks add no rounding. MPI_Allreduce()
 * and similar calls sum in an order that depends on the number of ranks; reel_mpi_sum() does not.
 *
 * Threads. One thread at a time calls these functions (MPI_THREAD_SERIALIZED), or lanes do so at
 * the same time, if MPI was initialised with MPI_THREAD_MULTIPLE. Lanes that communicate with the
 * same rank at the same time have a tag each, or a communicator each.
 *
 * Errors. Each call returns 0 or a negative errno, and leaves a text (reel/error.h):
 *   -EINVAL    the communicator is not attached; an argument is wrong, such as a count below 0
 *   -EOVERFLOW the elements of a call have more bytes than memory can, or more than MPI counts: the
 *              adjoint of a message is packed, and has less than 2 GiB (the adjoint of a request
 *              may have more); a Reduce_scatter has less than 2^31 elements on all ranks together
 *   -ENOTSUP   the call cannot be reversed; the text gives the reason and the remedy
 *   -EMSGSIZE  a message is longer than the buffer, or shorter and no status was asked for; reverse
 *              calls of receives on that tape send NaN, and also return this
 *   -EIO       MPI failed; the text includes MPI's text. Unless the communicator returns errors
 *              (MPI_ERRORS_RETURN) MPI ends the program itself; MPICH asks MPI_COMM_WORLD when a
 *              wait fails
 *   -ENOMEM    no memory for an adjoint
 *   -EBADMSG   the reverse call does not mirror the forward call
 *   -ETIMEDOUT another rank does not answer (reel_mpi_watch())
 * or the error of the tape. The error of a forward call also sticks to the tape: the values that
 * the tape then pops are NaN. If a reverse call fails, its adjoints are NaN. A refused call does
 * nothing; if only one rank refuses a call, the other ranks of the call wait. If a note is lost,
 * the library does not know the rank to which an adjoint goes; that rank waits until the program
 * ends. A watchdog (reel_mpi_watch()) ends both waits.
 *
 * Cost. A forward call costs MPI's call and a note. A reverse call sends the same number of bytes
 * as the forward call received, copies the data to send once (a request is sent from its buffer),
 * and adds from a temporary, which is reused.
 */
#ifndef REEL_MPI_H
#define REEL_MPI_H

#include <mpi.h>
#include <stdio.h>

#include <reel/plan.h>
#include <reel/sum.h>
#include <reel/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Communicators ------------------------------------------------------------ */

/* Flag of reel_mpi_attach(). */
#define REEL_MPI_CHECKED 1u

/*
 * Make a communicator ready for the calls below. Collective: all ranks of it call this. `flags`: 0
 * or REEL_MPI_CHECKED. A communicator that was duplicated or split from an attached one is not
 * attached: it needs its own call. Attaching twice is allowed and does nothing. Intercommunicators
 * are refused.
 *
 * Checked mode. If one rank asks for it, by the flag or by REEL_CHECKED=1 in its environment, all
 * have it. Messages of the forward sweep are numbered for each pair of ranks and tag. Each call
 * leaves a note on the tape, and the reverse call is compared with it before anything is sent.
 * Before each adjoint travels a header that identifies its message. The ranks of a collective call
 * compare their arguments, in both sweeps: root, count, type of numbers and operation, and whether
 * there is a tape. Each rank compares arguments that may differ between ranks with its own note:
 * the counts of blocks, MPI_IN_PLACE, the operation of the program. I-forms are compared only with
 * the rank's own note. A mismatch is -EBADMSG on each rank that is concerned, with the lines of the
 * program on both sides, and sticks to the tapes:
 *
 *	reel: rank 0, file.c:30: reel_mpi_send_reverse gets no adjoint from rank 1, tag 7: rank 1,
 *	file.c:44: reel_mpi_recv_reverse reverses a receive of 4 numbers from rank 0, tag 7, but the
 *	last call that is not reversed is at file.c:12: a receive of 5 numbers from rank 0, tag 7
 *
 * A rank whose reverse call is wrong sends a header that reports it, and does the same instead of
 * each later adjoint: ranks that continue with their reverse calls do not hang. The watchdog finds
 * a rank that makes no more calls. After such an error detach the communicator and attach it again
 * before the next sweep, as adjoints may be left in it. Calls that have no adjoint (integers, a
 * Barrier, MPI_PROC_NULL) have no note. Serial numbers of calls with a NULL tape are counted, and
 * not compared.
 *
 * Costs 48 bytes of the tape for each call, a message of 256 bytes for each adjoint, and an
 * Allreduce of 128 bytes for each collective call. Adjoints are the same. Without checked mode
 * there are no additional notes, bytes or messages.
 *
 * One MPI. Handles of one MPI mean nothing to another one. If the program was compiled with the
 * header of another MPI than the library, the call reports both names and returns -EINVAL.
 *
 * Returns 0, -EINVAL, -ENOTSUP, -ENOMEM or -EIO. Costs two or three MPI_Comm_dup().
 */
int reel_mpi_attach(MPI_Comm comm, unsigned flags);

/* The MPI whose header the program is compiled with. Handles of one MPI mean nothing to another. */
enum reel_mpi_implementation { REEL_MPI_UNKNOWN, REEL_MPI_OPEN_MPI, REEL_MPI_MPICH };

#if defined(OPEN_MPI)
#define REEL_MPI_IMPLEMENTATION REEL_MPI_OPEN_MPI
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
#define REEL_MPI_IMPLEMENTATION REEL_MPI_MPICH
#else
#define REEL_MPI_IMPLEMENTATION REEL_MPI_UNKNOWN
#endif

#define reel_mpi_attach(comm, flags) \
	reel_mpi_attach_for(REEL_MPI_IMPLEMENTATION, (comm), (flags))
int reel_mpi_attach_for(enum reel_mpi_implementation implementation, MPI_Comm comm, unsigned flags);

/*
 * Free the duplicates. Collective. Needed only for communicators that live until MPI_Finalize(),
 * such as MPI_COMM_WORLD; MPI_Comm_free() does it for others. Returns 0 or the error of
 * reel_mpi_reverse_end().
 *
 * In checked mode also -EBADMSG: calls were recorded and not reversed, and no other error has given
 * a reason. It is reported once, also by MPI_Comm_free(): if a reverse call is missing and no other
 * call waits for it, adjoints are left unchanged. For calls that a program does not mean to
 * reverse, it passes a NULL tape.
 *
 *	reel: rank 1: 1 message and 0 collective calls were recorded and not reversed: a receive
 *	from rank 0 with tag 7, file.c:12; adjoints lack their contributions
 */
int reel_mpi_detach(MPI_Comm comm);

/*
 * The end of a reverse sweep: waits until all adjoints that this rank has sent on the
 * communicator have left. Not collective. Without it they are finished by later reverse calls, and
 * when the communicator is freed.
 *
 * Returns 0, -EINVAL, -EBUSY: a request was waited for and not reversed; -ETIMEDOUT: the watchdog;
 * or -EIO.
 */
int reel_mpi_reverse_end(MPI_Comm comm);

#define REEL_MPI_MAX_WATCH 1e6

/*
 * The watchdog: a reverse call on the communicator waits at most `seconds` for another rank, up to
 * REEL_MPI_MAX_WATCH; 0: for ever, which is the default, unless REEL_MPI_WATCH=SECONDS is in the
 * environment when the communicator is attached. Not collective. No other call on the communicator
 * runs at the same time.
 *
 * A rank that has waited for this time reports once the rank that it waits for, and the call
 * returns -ETIMEDOUT, which sticks to its tape. Its adjoints are NaN, and later reverse calls with
 * that tape do not wait:
 *
 *	reel: rank 2, file.c:71: reel_mpi_send_reverse() has waited 10 s for the adjoint from rank
 *	3, tag 7
 *
 * Forward calls wait as MPI does: another rank may be late. But a reduction computes its note with
 * the other ranks after MPI's call, and that wait also has the limit: it ends if a rank has a tape
 * and another rank has NULL. The first reverse call of each form of Neighbor_alltoall,
 * Neighbor_alltoallv and Neighbor_alltoallw on a communicator also waits as MPI does: the ranks
 * find out by such a call which block is which.
 *
 * The time must be longer than the greatest delay between ranks. Receives are cancelled. Calls that
 * MPI cannot cancel keep their memory: temporaries, and the buffer of a request, which the program
 * must not free then. Costs the copy of a sum in the reverse of Bcast and Allreduce, which is
 * -EOVERFLOW on all ranks from 2 GiB on.
 */
int reel_mpi_watch(MPI_Comm comm, double seconds);

/* ---- The objective -------------------------------------------------------------- */

enum reel_mpi_objective {
	REEL_MPI_ON_ONE_RANK, /* J is a number of rank `root`; others are ignored */
	REEL_MPI_SUM_OF_RANKS /* J is the sum over all ranks; `root` is 0 */
};

/*
 * Set *J_bar as the reverse sweep begins: on one rank, 1 on `root` and 0 on the others; as a sum, 1
 * on each. Collective: all ranks pass the same arguments, or all get -EINVAL. If all ranks have J
 * by an Allreduce, it is one number: REEL_MPI_ON_ONE_RANK, with any root.
 */
int reel_mpi_seed(double *J_bar, enum reel_mpi_objective objective, int root, MPI_Comm comm);

/* ---- Messages ---------------------------------------------------------------------- */

/*
 * Messages from one rank to another.
 *
 * int reel_mpi_send(reel_tape *tape, const void *buffer, int count, MPI_Datatype type, int dest,
 *		     int tag, MPI_Comm comm);
 * int reel_mpi_ssend, reel_mpi_bsend, reel_mpi_rsend: the same
 * int reel_mpi_send_reverse(reel_tape *tape, void *buffer_bar, int count, MPI_Datatype type,
 *			     int dest, int tag, MPI_Comm comm);
 *
 * Reverse, of each mode: receives from dest, and adds to buffer_bar. Waits for dest.
 *
 * int reel_mpi_recv(reel_tape *tape, void *buffer, int count, MPI_Datatype type, int source,
 *		     int tag, MPI_Comm comm, MPI_Status *status);
 * int reel_mpi_recv_reverse(reel_tape *tape, void *buffer_bar, int count, MPI_Datatype type,
 *			     int source, int tag, MPI_Comm comm, MPI_Status *status);
 *
 * Reverse: sends buffer_bar to the source of the message, and sets it to 0. Does not wait. Pass a
 * status to both calls, or MPI_STATUS_IGNORE to both. Without a status the message has exactly
 * `count` elements if source and tag are fixed.
 *
 * int reel_mpi_sendrecv(reel_tape *tape, const void *sent, int sent_count, MPI_Datatype sent_type,
 *			 int dest, int sent_tag, void *received, int count, MPI_Datatype type,
 *			 int source, int tag, MPI_Comm comm, MPI_Status *status);
 * int reel_mpi_sendrecv_reverse: the same, with sent_bar and received_bar
 *
 * int reel_mpi_sendrecv_replace(reel_tape *tape, void *buffer, int count, MPI_Datatype type,
 *				 int dest, int sent_tag, int source, int tag, MPI_Comm comm,
 *				 MPI_Status *status);
 * int reel_mpi_sendrecv_replace_reverse: the same, with buffer_bar
 *
 * int reel_mpi_mrecv(reel_tape *tape, void *buffer, int count, MPI_Datatype type,
 *		      MPI_Message *message, MPI_Comm comm, MPI_Status *status);
 * int reel_mpi_mrecv_reverse(reel_tape *tape, void *buffer_bar, int count, MPI_Datatype type,
 *			      MPI_Comm comm, MPI_Status *status);
 *
 * Any rank may be MPI_PROC_NULL: nothing is sent, noted or added.
 *
 * Use MPI's own probes: the receive notes everything that they decide. To receive the message of an
 * MPI_Probe(), pass a status to reel_mpi_recv(), or call reel_mpi_mrecv() after MPI_Mprobe(), which
 * always has a note. In the reverse sweep the source is not known before the reverse call: pass
 * MPI_ANY_SOURCE, MPI_ANY_TAG and the size of buffer_bar, which may be larger than the message; the
 * status has the rest. After a probe of MPI_PROC_NULL pass MPI_PROC_NULL, since nothing was noted.
 */
#define reel_mpi_send(tape, ...) reel_mpi_send_at((tape), REEL_HERE, REEL_MPI_STANDARD, __VA_ARGS__)
#define reel_mpi_ssend(tape, ...) \
	reel_mpi_send_at((tape), REEL_HERE, REEL_MPI_SYNCHRONOUS, __VA_ARGS__)
#define reel_mpi_bsend(tape, ...) \
	reel_mpi_send_at((tape), REEL_HERE, REEL_MPI_BUFFERED, __VA_ARGS__)
#define reel_mpi_rsend(tape, ...) reel_mpi_send_at((tape), REEL_HERE, REEL_MPI_READY, __VA_ARGS__)
#define reel_mpi_send_reverse(tape, ...) \
	reel_mpi_send_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_recv(tape, ...) reel_mpi_recv_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_recv_reverse(tape, ...) \
	reel_mpi_recv_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_sendrecv(tape, ...) reel_mpi_sendrecv_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_sendrecv_reverse(tape, ...) \
	reel_mpi_sendrecv_reverse_at((tape), REEL_HERE, __VA_ARGS__)

#define reel_mpi_sendrecv_replace(tape, ...) \
	reel_mpi_sendrecv_replace_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_sendrecv_replace_reverse(tape, bar, n, type, dest, sent_tag, source, tag, comm, \
					  status) \
	reel_mpi_sendrecv_reverse_at((tape), REEL_HERE, (bar), (n), (type), (dest), (sent_tag), \
				     (bar), (n), (type), (source), (tag), (comm), (status))
#define reel_mpi_mrecv(tape, ...) reel_mpi_mrecv_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_mrecv_reverse(tape, bar, n, type, comm, status) \
	reel_mpi_recv_reverse_at((tape), REEL_HERE, (bar), (n), (type), MPI_ANY_SOURCE, \
				 MPI_ANY_TAG, (comm), (status))

/* The kind of a request; for a send, its mode. */
enum reel_mpi_mode {
	REEL_MPI_NULL,
	REEL_MPI_STANDARD,
	REEL_MPI_SYNCHRONOUS,
	REEL_MPI_BUFFERED,
	REEL_MPI_READY,
	REEL_MPI_RECEIVE,
	REEL_MPI_COLLECTIVE
};

int reel_mpi_send_at(reel_tape *tape, const char *call_site, enum reel_mpi_mode mode,
		     const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		     MPI_Comm comm);
int reel_mpi_send_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			     MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int reel_mpi_recv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		     MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int reel_mpi_recv_reverse_at(reel_tape *tape, const char *call_site, void *buffer_bar, int count,
			     MPI_Datatype type, int source, int tag, MPI_Comm comm,
			     MPI_Status *status);
int reel_mpi_sendrecv_at(reel_tape *tape, const char *call_site, const void *sent, int sent_count,
			 MPI_Datatype sent_type, int dest, int sent_tag, void *received, int count,
			 MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status);
int reel_mpi_sendrecv_reverse_at(reel_tape *tape, const char *call_site, void *sent_bar,
				 int sent_count, MPI_Datatype sent_type, int dest, int sent_tag,
				 void *received_bar, int count, MPI_Datatype type, int source,
				 int tag, MPI_Comm comm, MPI_Status *status);

int reel_mpi_sendrecv_replace_at(reel_tape *tape, const char *call_site, void *buffer, int count,
				 MPI_Datatype type, int dest, int sent_tag, int source, int tag,
				 MPI_Comm comm, MPI_Status *status);
int reel_mpi_mrecv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		      MPI_Datatype type, MPI_Message *message, MPI_Comm comm, MPI_Status *status);

/* ---- Requests ---------------------------------------------------------------------- */

/*
 * A request of the program. All zero is a null request, for which nothing is done in either sweep.
 * It is described by reel_mpi_send_init() or reel_mpi_recv_init(), and started; until the wait it
 * must not be moved. A program need not free requests.
 *
 *	struct reel_mpi_request request[2] = {0};
 *
 *	reel_mpi_irecv(tape, ghost, n, MPI_DOUBLE, left, 0, comm, &request[0]);    forward sweep
 *	reel_mpi_isend(tape, edge, n, MPI_DOUBLE, right, 0, comm, &request[1]);
 *	reel_mpi_waitall(tape, 2, request, MPI_STATUSES_IGNORE);
 *
 *	reel_mpi_recv_init(ghost_bar, n, MPI_DOUBLE, left, 0, comm, &request[0]);  reverse sweep
 *	reel_mpi_send_init(edge_bar, n, MPI_DOUBLE, right, 0, comm, &request[1]);
 *	reel_mpi_waitall_reverse(tape, 2, request, MPI_STATUSES_IGNORE);
 *	reel_mpi_start_reverse(tape, &request[1]);
 *	reel_mpi_start_reverse(tape, &request[0]);
 *
 * In the reverse sweep the wait begins the transfers and the start ends them. So a request is
 * described before the reverse of its wait, with the adjoint of the buffer. Between the two
 * the adjoint buffer belongs to the request, as does the buffer in the forward sweep.
 */
struct reel_mpi_request {
	/* The library's own. */
	enum reel_mpi_mode mode;
	int state;
	int count, peer, tag;
	int kept;  /* stays described after the wait */
	int moved; /* number of elements whose adjoint is under way */
	void *buffer;
	void *temporary;
	MPI_Datatype type;
	MPI_Comm comm;
	MPI_Request request;
	MPI_Status status;
	const char *call_site;
	struct reel_mpi_request *next;
	int moved_peer, moved_tag; /* the other rank's, and the tag, of the adjoint */
	uint64_t serial;	   /* checked mode */
};

/*
 * Describe a request, a persistent one: it may be started, and reversed, any number of times. No
 * call of MPI. dest and source may be MPI_PROC_NULL; source and tag may be wildcards.
 */
void reel_mpi_send_init(void *buffer, int count, MPI_Datatype type, int dest, int tag,
			MPI_Comm comm, struct reel_mpi_request *request);
void reel_mpi_ssend_init(void *buffer, int count, MPI_Datatype type, int dest, int tag,
			 MPI_Comm comm, struct reel_mpi_request *request);
void reel_mpi_recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag,
			MPI_Comm comm, struct reel_mpi_request *request);

/*
 * int reel_mpi_start(reel_tape *tape, struct reel_mpi_request *request);
 *
 * Begins the described transfer. Nothing is noted.
 *
 * int reel_mpi_isend(reel_tape *tape, const void *buffer, int count, MPI_Datatype type, int dest,
 *		      int tag, MPI_Comm comm, struct reel_mpi_request *request);
 * int reel_mpi_issend, reel_mpi_ibsend, reel_mpi_irsend: the same
 * int reel_mpi_irecv(reel_tape *tape, void *buffer, int count, MPI_Datatype type, int source,
 *		      int tag, MPI_Comm comm, struct reel_mpi_request *request);
 *
 * Describe and start a request that is null after its wait.
 *
 * int reel_mpi_start_reverse(reel_tape *tape, struct reel_mpi_request *request);
 *
 * The reverse of each of these. Waits for the transfer, adds to the adjoint of the sent data, and
 * sets the adjoint of the received data to 0. -EINVAL: its wait was not reversed.
 */
#define reel_mpi_start(tape, request) reel_mpi_start_at((tape), REEL_HERE, (request))
#define reel_mpi_isend(tape, ...) \
	reel_mpi_isend_at((tape), REEL_HERE, REEL_MPI_STANDARD, __VA_ARGS__)
#define reel_mpi_issend(tape, ...) \
	reel_mpi_isend_at((tape), REEL_HERE, REEL_MPI_SYNCHRONOUS, __VA_ARGS__)
#define reel_mpi_ibsend(tape, ...) \
	reel_mpi_isend_at((tape), REEL_HERE, REEL_MPI_BUFFERED, __VA_ARGS__)
#define reel_mpi_irsend(tape, ...) reel_mpi_isend_at((tape), REEL_HERE, REEL_MPI_READY, __VA_ARGS__)
#define reel_mpi_irecv(tape, ...) reel_mpi_irecv_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_start_reverse(tape, request) \
	reel_mpi_start_reverse_at((tape), REEL_HERE, (request))

int reel_mpi_start_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *request);
int reel_mpi_isend_at(reel_tape *tape, const char *call_site, enum reel_mpi_mode mode,
		      const void *buffer, int count, MPI_Datatype type, int dest, int tag,
		      MPI_Comm comm, struct reel_mpi_request *request);
int reel_mpi_irecv_at(reel_tape *tape, const char *call_site, void *buffer, int count,
		      MPI_Datatype type, int source, int tag, MPI_Comm comm,
		      struct reel_mpi_request *request);
int reel_mpi_start_reverse_at(reel_tape *tape, const char *call_site,
			      struct reel_mpi_request *request);

/*
 * Waits for requests, and tests of them.
 *
 * int reel_mpi_wait(reel_tape *tape, struct reel_mpi_request *request, MPI_Status *status);
 * int reel_mpi_waitall(reel_tape *tape, int n, struct reel_mpi_request *requests,
 *			MPI_Status *statuses);
 * and _reverse: the same arguments
 *
 * A received message is noted as by reel_mpi_recv(), with its source and tag, or where there is a
 * status. Waitall waits for the requests in turn.
 *
 * int reel_mpi_waitany(reel_tape *tape, int n, struct reel_mpi_request *requests, int *index,
 *			MPI_Status *status);
 * int reel_mpi_waitsome(reel_tape *tape, int n, struct reel_mpi_request *requests, int *done,
 *			 int *indices, MPI_Status *statuses);
 * int reel_mpi_test(reel_tape *tape, struct reel_mpi_request *request, int *flag,
 *		     MPI_Status *status);
 * and _reverse: the same arguments, which are set to the results of the forward call
 *
 * Noted are: the index, 16 bytes for each request that was chosen, and for Waitsome 8 more; a bit
 * for a Test, and its message as by reel_mpi_wait(). If MPI can choose among several that carry
 * messages of one rank and tag, the first one to begin is chosen, and a Test of another one sets
 * *flag to 0. *index and *done are MPI_UNDEFINED if all requests are null or were not started.
 */
#define reel_mpi_wait(tape, ...) reel_mpi_wait_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_wait_reverse(tape, ...) reel_mpi_wait_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_waitall(tape, ...) reel_mpi_waitall_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_waitall_reverse(tape, ...) \
	reel_mpi_waitall_reverse_at((tape), REEL_HERE, __VA_ARGS__)

#define reel_mpi_waitany(tape, ...) reel_mpi_waitany_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_waitany_reverse(tape, ...) \
	reel_mpi_waitany_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_waitsome(tape, ...) reel_mpi_waitsome_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_waitsome_reverse(tape, ...) \
	reel_mpi_waitsome_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_test(tape, ...) reel_mpi_test_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_test_reverse(tape, ...) reel_mpi_test_reverse_at((tape), REEL_HERE, __VA_ARGS__)

int reel_mpi_wait_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *request,
		     MPI_Status *status);
int reel_mpi_wait_reverse_at(reel_tape *tape, const char *call_site,
			     struct reel_mpi_request *request, MPI_Status *status);
int reel_mpi_waitall_at(reel_tape *tape, const char *call_site, int n,
			struct reel_mpi_request *requests, MPI_Status *statuses);
int reel_mpi_waitall_reverse_at(reel_tape *tape, const char *call_site, int n,
				struct reel_mpi_request *requests, MPI_Status *statuses);
int reel_mpi_waitany_at(reel_tape *tape, const char *call_site, int n,
			struct reel_mpi_request *requests, int *index, MPI_Status *status);
int reel_mpi_waitany_reverse_at(reel_tape *tape, const char *call_site, int n,
				struct reel_mpi_request *requests, int *index, MPI_Status *status);
int reel_mpi_waitsome_at(reel_tape *tape, const char *call_site, int n,
			 struct reel_mpi_request *requests, int *done, int *indices,
			 MPI_Status *statuses);
int reel_mpi_waitsome_reverse_at(reel_tape *tape, const char *call_site, int n,
				 struct reel_mpi_request *requests, int *done, int *indices,
				 MPI_Status *statuses);
int reel_mpi_test_at(reel_tape *tape, const char *call_site, struct reel_mpi_request *request,
		     int *flag, MPI_Status *status);
int reel_mpi_test_reverse_at(reel_tape *tape, const char *call_site,
			     struct reel_mpi_request *request, int *flag, MPI_Status *status);

/* ---- Collective calls that move data ---------------------------------------------------- */

/* The forms of a collective call: of the call itself, and of the one that begins and ends. */
enum reel_mpi_form { REEL_MPI_FORWARD, REEL_MPI_REVERSE, REEL_MPI_START, REEL_MPI_START_REVERSE };

/*
 * Broadcast, barrier, gather, scatter and all-to-all.
 *
 * int reel_mpi_bcast(reel_tape *tape, void *buffer, int count, MPI_Datatype type, int root,
 *		      MPI_Comm comm);
 * int reel_mpi_barrier(reel_tape *tape, MPI_Comm comm);
 *
 * reel_mpi_gather, _gatherv, _scatter, _scatterv, _allgather, _allgatherv, _alltoall, _alltoallv,
 * _alltoallw: a tape, and the arguments of MPI's call of that name. And of each the _reverse, with
 * the adjoint of each buffer. MPI_IN_PLACE stands in both calls of a pair.
 *
 * Nothing is noted. The reverse adds on the source rank of a block, and sets the adjoint of the
 * received data to 0; the reverse of a Barrier is a Barrier. Adjoints from several ranks are added
 * in a fixed order: for Bcast along a tree of ranks, for the other calls in the order of ranks.
 * Cost: for Bcast a Reduce, for the other calls a message for each block.
 *
 * reel_mpi_neighbor_allgather, _neighbor_allgatherv, _neighbor_alltoall, _neighbor_alltoallv,
 * _neighbor_alltoallw: the same, among the neighbours of a communicator that MPI_Cart_create(),
 * MPI_Graph_create() or MPI_Dist_graph_create() made, and that is attached itself. Adjoints are
 * added in the order of the rank's neighbours. A block of a neighbour that is MPI_PROC_NULL keeps
 * its adjoint. Where two ranks are neighbours twice (a periodic dimension of one or two ranks),
 * MPI's calls do not agree which of the blocks is which: the first reverse call of
 * Neighbor_alltoall, _alltoallv and _alltoallw each finds out, by one call with an integer a
 * neighbour.
 */
#define reel_mpi_bcast(...) REEL_MPI_BROADCAST(FORWARD, __VA_ARGS__, NULL)
#define reel_mpi_bcast_reverse(...) REEL_MPI_BROADCAST(REVERSE, __VA_ARGS__, NULL)
#define reel_mpi_barrier(...) REEL_MPI_BARRIER(FORWARD, __VA_ARGS__, NULL)
#define reel_mpi_barrier_reverse(...) REEL_MPI_BARRIER(REVERSE, __VA_ARGS__, NULL)

enum reel_mpi_move {
	REEL_MPI_GATHER,
	REEL_MPI_GATHERV,
	REEL_MPI_SCATTER,
	REEL_MPI_SCATTERV,
	REEL_MPI_ALLGATHER,
	REEL_MPI_ALLGATHERV,
	REEL_MPI_ALLTOALL,
	REEL_MPI_ALLTOALLV,
	REEL_MPI_ALLTOALLW,
	REEL_MPI_NEIGHBOR_ALLGATHER,
	REEL_MPI_NEIGHBOR_ALLGATHERV,
	REEL_MPI_NEIGHBOR_ALLTOALL,
	REEL_MPI_NEIGHBOR_ALLTOALLV,
	REEL_MPI_NEIGHBOR_ALLTOALLW
};

#define reel_mpi_gather(...) REEL_MPI_MOVE_ROOTED(FORWARD, GATHER, __VA_ARGS__, NULL)
#define reel_mpi_gather_reverse(...) REEL_MPI_MOVE_ROOTED(REVERSE, GATHER, __VA_ARGS__, NULL)
#define reel_mpi_gatherv(...) REEL_MPI_GATHER_V(FORWARD, GATHERV, __VA_ARGS__, NULL)
#define reel_mpi_gatherv_reverse(...) REEL_MPI_GATHER_V(REVERSE, GATHERV, __VA_ARGS__, NULL)
#define reel_mpi_scatter(...) REEL_MPI_MOVE_ROOTED(FORWARD, SCATTER, __VA_ARGS__, NULL)
#define reel_mpi_scatter_reverse(...) REEL_MPI_MOVE_ROOTED(REVERSE, SCATTER, __VA_ARGS__, NULL)
#define reel_mpi_scatterv(...) REEL_MPI_SCATTER_V(FORWARD, SCATTERV, __VA_ARGS__, NULL)
#define reel_mpi_scatterv_reverse(...) REEL_MPI_SCATTER_V(REVERSE, SCATTERV, __VA_ARGS__, NULL)
#define reel_mpi_allgather(...) REEL_MPI_MOVE(FORWARD, ALLGATHER, __VA_ARGS__, NULL)
#define reel_mpi_allgather_reverse(...) REEL_MPI_MOVE(REVERSE, ALLGATHER, __VA_ARGS__, NULL)
#define reel_mpi_allgatherv(...) REEL_MPI_ALLGATHER_V(FORWARD, ALLGATHERV, __VA_ARGS__, NULL)
#define reel_mpi_allgatherv_reverse(...) \
	REEL_MPI_ALLGATHER_V(REVERSE, ALLGATHERV, __VA_ARGS__, NULL)
#define reel_mpi_alltoall(...) REEL_MPI_MOVE(FORWARD, ALLTOALL, __VA_ARGS__, NULL)
#define reel_mpi_alltoall_reverse(...) REEL_MPI_MOVE(REVERSE, ALLTOALL, __VA_ARGS__, NULL)
#define reel_mpi_alltoallv(...) REEL_MPI_MOVE_V(FORWARD, ALLTOALLV, __VA_ARGS__, NULL)
#define reel_mpi_alltoallv_reverse(...) REEL_MPI_MOVE_V(REVERSE, ALLTOALLV, __VA_ARGS__, NULL)
#define reel_mpi_alltoallw(...) REEL_MPI_MOVE_W(FORWARD, ALLTOALLW, __VA_ARGS__, NULL)
#define reel_mpi_alltoallw_reverse(...) REEL_MPI_MOVE_W(REVERSE, ALLTOALLW, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_allgather(...) \
	REEL_MPI_MOVE(FORWARD, NEIGHBOR_ALLGATHER, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_allgather_reverse(...) \
	REEL_MPI_MOVE(REVERSE, NEIGHBOR_ALLGATHER, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_allgatherv(...) \
	REEL_MPI_ALLGATHER_V(FORWARD, NEIGHBOR_ALLGATHERV, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_allgatherv_reverse(...) \
	REEL_MPI_ALLGATHER_V(REVERSE, NEIGHBOR_ALLGATHERV, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoall(...) REEL_MPI_MOVE(FORWARD, NEIGHBOR_ALLTOALL, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoall_reverse(...) \
	REEL_MPI_MOVE(REVERSE, NEIGHBOR_ALLTOALL, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoallv(...) \
	REEL_MPI_MOVE_V(FORWARD, NEIGHBOR_ALLTOALLV, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoallv_reverse(...) \
	REEL_MPI_MOVE_V(REVERSE, NEIGHBOR_ALLTOALLV, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoallw(...) REEL_MPI_NEIGHBOR_W(FORWARD, __VA_ARGS__, NULL)
#define reel_mpi_neighbor_alltoallw_reverse(...) REEL_MPI_NEIGHBOR_W(REVERSE, __VA_ARGS__, NULL)

int reel_mpi_bcast_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form, void *buffer,
		      int count, MPI_Datatype type, int root, MPI_Comm comm,
		      struct reel_mpi_request *request);
int reel_mpi_barrier_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
			MPI_Comm comm, struct reel_mpi_request *request);
/*
 * Members that a call does not use are NULL, 0 or MPI_DATATYPE_NULL, and `request` if the form has
 * none. A reverse form takes the adjoints of the buffers, and changes both.
 */
int reel_mpi_move_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		     enum reel_mpi_move kind, const void *sent, int sent_count,
		     const int *sent_counts, const int *sent_displacements, MPI_Datatype sent_type,
		     const MPI_Datatype *sent_types, void *received, int count, const int *counts,
		     const int *displacements, MPI_Datatype type, const MPI_Datatype *types,
		     int root, MPI_Comm comm, struct reel_mpi_request *request);
int reel_mpi_neighbor_alltoallw_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
				   const void *sent, const int *sent_counts,
				   const MPI_Aint *sent_displacements,
				   const MPI_Datatype *sent_types, void *received,
				   const int *counts, const MPI_Aint *displacements,
				   const MPI_Datatype *types, MPI_Comm comm,
				   struct reel_mpi_request *request);

/* ---- Reductions ------------------------------------------------------------------------ */

/*
 * Reductions and scans.
 *
 * reel_mpi_reduce, _allreduce, _reduce_scatter, _reduce_scatter_block, _scan, _exscan: a tape, and
 * the arguments of MPI's call of that name. And of each the _reverse, with the adjoint of each
 * buffer. All ranks have a tape, or all have NULL.
 *
 * Operations, and the notes for each element on each rank:
 *   MPI_SUM                              nothing; also of complex numbers
 *   MPI_MIN, MAX, MINLOC, MAXLOC         a bit: the adjoint goes to the lowest rank that has the
 *                                        result. Costs one more Allreduce of integers
 *   MPI_PROD                             a number, for Scan and Exscan two. Also correct if factors
 *                                        are 0. Costs an Allgather of the operands
 *   one of the program                   two elements, none on rank 0. Costs an Exscan
 * Others are refused.
 *
 * The reverse of Allreduce adds the adjoints of the result of all ranks, along a fixed tree. So if
 * all ranks have J after an Allreduce, only one rank has a J_bar (reel_mpi_seed()). The reverse of
 * Scan goes from rank to rank: its time grows with their number.
 *
 * In place, the buffer of a Reduce_scatter has the operand before the call, with a block for each
 * rank, and the rank's result in its first block afterwards; the other blocks are undefined. The
 * reverse takes the adjoint of the result from the first block, sets the whole adjoint buffer to 0,
 * and adds the adjoint of the operand there.
 */
enum reel_mpi_reduction {
	REEL_MPI_REDUCE,
	REEL_MPI_ALLREDUCE,
	REEL_MPI_REDUCE_SCATTER,
	REEL_MPI_REDUCE_SCATTER_BLOCK,
	REEL_MPI_SCAN,
	REEL_MPI_EXSCAN
};

/*
 * The adjoint of an operation of the program, result = a op b, where a comes from lower ranks. Sets
 * a_bar and b_bar from result_bar, for each of `count` elements of `type`, on whose buffers nothing
 * else lies. It calls no function of this library, and is called on the thread of the reverse call,
 * on each rank except the first. It must not leave by an exception or by longjmp(): the ranks below
 * would wait for its result, and a temporary would be lost.
 */
typedef void reel_mpi_op_adjoint(const void *a, const void *b, const void *result_bar, void *a_bar,
				 void *b_bar, int count, MPI_Datatype type, void *context);

/*
 * Give an operation made by MPI_Op_create() its adjoint, for calls on an attached communicator. The
 * operation is associative, as MPI demands, and need not commute. Local; all ranks call this before
 * they use the operation. A second call replaces the adjoint; NULL removes it, which must happen
 * before MPI_Op_free(). The adjoints of a communicator end with it.
 *
 * The reverse of each reduction goes from the last rank to the first one, a call of `adjoint` on
 * each: its time grows with their number. It is exact up to rounding if the operation is.
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
int reel_mpi_op_set_adjoint(MPI_Comm comm, MPI_Op op, reel_mpi_op_adjoint *adjoint, void *context);

#define reel_mpi_reduce(...) REEL_MPI_REDUCTION_ROOTED(FORWARD, REDUCE, __VA_ARGS__, NULL)
#define reel_mpi_reduce_reverse(...) REEL_MPI_REDUCTION_ROOTED(REVERSE, REDUCE, __VA_ARGS__, NULL)
#define reel_mpi_allreduce(...) REEL_MPI_REDUCTION(FORWARD, ALLREDUCE, __VA_ARGS__, NULL)
#define reel_mpi_allreduce_reverse(...) REEL_MPI_REDUCTION(REVERSE, ALLREDUCE, __VA_ARGS__, NULL)
#define reel_mpi_reduce_scatter(...) \
	REEL_MPI_REDUCTION_V(FORWARD, REDUCE_SCATTER, __VA_ARGS__, NULL)
#define reel_mpi_reduce_scatter_reverse(...) \
	REEL_MPI_REDUCTION_V(REVERSE, REDUCE_SCATTER, __VA_ARGS__, NULL)
#define reel_mpi_reduce_scatter_block(...) \
	REEL_MPI_REDUCTION(FORWARD, REDUCE_SCATTER_BLOCK, __VA_ARGS__, NULL)
#define reel_mpi_reduce_scatter_block_reverse(...) \
	REEL_MPI_REDUCTION(REVERSE, REDUCE_SCATTER_BLOCK, __VA_ARGS__, NULL)
#define reel_mpi_scan(...) REEL_MPI_REDUCTION(FORWARD, SCAN, __VA_ARGS__, NULL)
#define reel_mpi_scan_reverse(...) REEL_MPI_REDUCTION(REVERSE, SCAN, __VA_ARGS__, NULL)
#define reel_mpi_exscan(...) REEL_MPI_REDUCTION(FORWARD, EXSCAN, __VA_ARGS__, NULL)
#define reel_mpi_exscan_reverse(...) REEL_MPI_REDUCTION(REVERSE, EXSCAN, __VA_ARGS__, NULL)

int reel_mpi_reduction_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
			  enum reel_mpi_reduction kind, const void *sent, void *received, int count,
			  const int *counts, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
			  struct reel_mpi_request *request);

/* ---- Sums that do not depend on the ranks ------------------------------------------------ */

/*
 * Add up the numbers of all ranks exactly: unlike the result of MPI_Allreduce(), the value does not
 * depend on the number of ranks, nor on the distribution of the numbers. A rank adds its numbers to
 * a reel_sum (sum.h), and the call gives all ranks the value of the sum of all:
 *
 *	reel_sum sum = {0};
 *	for each cell of the rank: reel_sum_add(&sum, x[i]);
 *	reel_mpi_sum(tape, &sum, &value, 1, comm);
 *
 *	reel_mpi_sum_reverse(tape, &sum_bar, &value_bar, 1, comm);
 *	for each cell of the rank: x_bar[i] += sum_bar;
 *
 * int reel_mpi_sum(reel_tape *tape, const reel_sum *sums, double *values, int count,
 *		    MPI_Comm comm);
 * int reel_mpi_sum_reverse(reel_tape *tape, double *sums_bar, double *values_bar, int count,
 *			    MPI_Comm comm);
 *
 * Nothing is noted. The reverse adds to sums_bar[i] the exact sum over all ranks of values_bar[i],
 * which it sets to 0: the adjoint of each number that was added to sums[i]. Costs an
 * MPI_Iallreduce() of 568 bytes per sum, and a reel_sum_add() per number.
 */
#define reel_mpi_sum(tape, ...) reel_mpi_sum_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_sum_reverse(tape, ...) reel_mpi_sum_reverse_at((tape), REEL_HERE, __VA_ARGS__)

int reel_mpi_sum_at(reel_tape *tape, const char *call_site, const reel_sum *sums, double *values,
		    int count, MPI_Comm comm);
int reel_mpi_sum_reverse_at(reel_tape *tape, const char *call_site, double *sums_bar,
			    double *values_bar, int count, MPI_Comm comm);

/* ---- Collective calls that begin and end -------------------------------------------------- */

/*
 * reel_mpi_ibcast, _ibarrier, _igather, _igatherv, _iscatter, _iscatterv, _iallgather,
 * _iallgatherv, _ialltoall, _ialltoallv, _ialltoallw, _ineighbor_allgather, _ineighbor_allgatherv,
 * _ineighbor_alltoall, _ineighbor_alltoallv, _ineighbor_alltoallw, _ireduce, _iallreduce,
 * _ireduce_scatter, _ireduce_scatter_block, _iscan, _iexscan: the arguments of the call without the
 * i, and a request, which reel_mpi_wait() and similar calls end. And of each the _reverse.
 *
 *	reel_mpi_iallreduce(tape, &x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
 *	reel_mpi_wait(tape, &request, MPI_STATUS_IGNORE);                          forward sweep
 *
 *	reel_mpi_wait_reverse(tape, &request, MPI_STATUS_IGNORE);                  reverse sweep
 *	reel_mpi_iallreduce_reverse(tape, &x_bar, &sum_bar, 1, MPI_DOUBLE, MPI_SUM, comm, &request);
 *
 * The reverse of the start does everything, like the reverse of the call without the i. MPI demands
 * that all ranks start the collective calls on a communicator in the same order, and allows waits
 * in any order. In the reverse sweep the request is null, and the reverse of its wait does nothing.
 *
 * So the reverse of the start waits for the other ranks. Let all ranks start a call at the same
 * place between their messages: if one rank starts it and then sends a message that another rank
 * receives before it starts the call, each waits for the other in the reverse sweep.
 *
 * In checked mode these calls are not compared, since a rank may start one before others reach it.
 *
 * Noted for MPI_SUM: nothing; for any other operation: the operand, by the start. Then the reverse
 * also costs a forward call without the i, and one more Allreduce of an integer.
 */
#define reel_mpi_ibcast(...) REEL_MPI_BROADCAST(START, __VA_ARGS__)
#define reel_mpi_ibcast_reverse(...) REEL_MPI_BROADCAST(START_REVERSE, __VA_ARGS__)
#define reel_mpi_ibarrier(...) REEL_MPI_BARRIER(START, __VA_ARGS__)
#define reel_mpi_ibarrier_reverse(...) REEL_MPI_BARRIER(START_REVERSE, __VA_ARGS__)
#define reel_mpi_igather(...) REEL_MPI_MOVE_ROOTED(START, GATHER, __VA_ARGS__)
#define reel_mpi_igather_reverse(...) REEL_MPI_MOVE_ROOTED(START_REVERSE, GATHER, __VA_ARGS__)
#define reel_mpi_igatherv(...) REEL_MPI_GATHER_V(START, GATHERV, __VA_ARGS__)
#define reel_mpi_igatherv_reverse(...) REEL_MPI_GATHER_V(START_REVERSE, GATHERV, __VA_ARGS__)
#define reel_mpi_iscatter(...) REEL_MPI_MOVE_ROOTED(START, SCATTER, __VA_ARGS__)
#define reel_mpi_iscatter_reverse(...) REEL_MPI_MOVE_ROOTED(START_REVERSE, SCATTER, __VA_ARGS__)
#define reel_mpi_iscatterv(...) REEL_MPI_SCATTER_V(START, SCATTERV, __VA_ARGS__)
#define reel_mpi_iscatterv_reverse(...) REEL_MPI_SCATTER_V(START_REVERSE, SCATTERV, __VA_ARGS__)
#define reel_mpi_iallgather(...) REEL_MPI_MOVE(START, ALLGATHER, __VA_ARGS__)
#define reel_mpi_iallgather_reverse(...) REEL_MPI_MOVE(START_REVERSE, ALLGATHER, __VA_ARGS__)
#define reel_mpi_iallgatherv(...) REEL_MPI_ALLGATHER_V(START, ALLGATHERV, __VA_ARGS__)
#define reel_mpi_iallgatherv_reverse(...) \
	REEL_MPI_ALLGATHER_V(START_REVERSE, ALLGATHERV, __VA_ARGS__)
#define reel_mpi_ialltoall(...) REEL_MPI_MOVE(START, ALLTOALL, __VA_ARGS__)
#define reel_mpi_ialltoall_reverse(...) REEL_MPI_MOVE(START_REVERSE, ALLTOALL, __VA_ARGS__)
#define reel_mpi_ialltoallv(...) REEL_MPI_MOVE_V(START, ALLTOALLV, __VA_ARGS__)
#define reel_mpi_ialltoallv_reverse(...) REEL_MPI_MOVE_V(START_REVERSE, ALLTOALLV, __VA_ARGS__)
#define reel_mpi_ialltoallw(...) REEL_MPI_MOVE_W(START, ALLTOALLW, __VA_ARGS__)
#define reel_mpi_ialltoallw_reverse(...) REEL_MPI_MOVE_W(START_REVERSE, ALLTOALLW, __VA_ARGS__)
#define reel_mpi_ineighbor_allgather(...) REEL_MPI_MOVE(START, NEIGHBOR_ALLGATHER, __VA_ARGS__)
#define reel_mpi_ineighbor_allgather_reverse(...) \
	REEL_MPI_MOVE(START_REVERSE, NEIGHBOR_ALLGATHER, __VA_ARGS__)
#define reel_mpi_ineighbor_allgatherv(...) \
	REEL_MPI_ALLGATHER_V(START, NEIGHBOR_ALLGATHERV, __VA_ARGS__)
#define reel_mpi_ineighbor_allgatherv_reverse(...) \
	REEL_MPI_ALLGATHER_V(START_REVERSE, NEIGHBOR_ALLGATHERV, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoall(...) REEL_MPI_MOVE(START, NEIGHBOR_ALLTOALL, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoall_reverse(...) \
	REEL_MPI_MOVE(START_REVERSE, NEIGHBOR_ALLTOALL, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoallv(...) REEL_MPI_MOVE_V(START, NEIGHBOR_ALLTOALLV, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoallv_reverse(...) \
	REEL_MPI_MOVE_V(START_REVERSE, NEIGHBOR_ALLTOALLV, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoallw(...) REEL_MPI_NEIGHBOR_W(START, __VA_ARGS__)
#define reel_mpi_ineighbor_alltoallw_reverse(...) REEL_MPI_NEIGHBOR_W(START_REVERSE, __VA_ARGS__)
#define reel_mpi_ireduce(...) REEL_MPI_REDUCTION_ROOTED(START, REDUCE, __VA_ARGS__)
#define reel_mpi_ireduce_reverse(...) REEL_MPI_REDUCTION_ROOTED(START_REVERSE, REDUCE, __VA_ARGS__)
#define reel_mpi_iallreduce(...) REEL_MPI_REDUCTION(START, ALLREDUCE, __VA_ARGS__)
#define reel_mpi_iallreduce_reverse(...) REEL_MPI_REDUCTION(START_REVERSE, ALLREDUCE, __VA_ARGS__)
#define reel_mpi_ireduce_scatter(...) REEL_MPI_REDUCTION_V(START, REDUCE_SCATTER, __VA_ARGS__)
#define reel_mpi_ireduce_scatter_reverse(...) \
	REEL_MPI_REDUCTION_V(START_REVERSE, REDUCE_SCATTER, __VA_ARGS__)
#define reel_mpi_ireduce_scatter_block(...) \
	REEL_MPI_REDUCTION(START, REDUCE_SCATTER_BLOCK, __VA_ARGS__)
#define reel_mpi_ireduce_scatter_block_reverse(...) \
	REEL_MPI_REDUCTION(START_REVERSE, REDUCE_SCATTER_BLOCK, __VA_ARGS__)
#define reel_mpi_iscan(...) REEL_MPI_REDUCTION(START, SCAN, __VA_ARGS__)
#define reel_mpi_iscan_reverse(...) REEL_MPI_REDUCTION(START_REVERSE, SCAN, __VA_ARGS__)
#define reel_mpi_iexscan(...) REEL_MPI_REDUCTION(START, EXSCAN, __VA_ARGS__)
#define reel_mpi_iexscan_reverse(...) REEL_MPI_REDUCTION(START_REVERSE, EXSCAN, __VA_ARGS__)

/* ---- One-sided calls ------------------------------------------------------------------------ */

/*
 * Make a window ready for the calls below: `comm`, which is attached and outlives the window, has
 * its ranks. Local. The program makes a second window over the adjoint of the memory, of the same
 * sizes and displacement units, and passes it to the reverse calls; it must also be attached.
 *
 *	reel_mpi_win_fence(tape, 0, win);
 *	reel_mpi_put(tape, x, n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, win);
 *	reel_mpi_win_fence(tape, 0, win);                                          forward sweep
 *
 *	reel_mpi_win_fence_reverse(tape, 0, win_bar);                              reverse sweep
 *	reel_mpi_put_reverse(tape, x_bar, n, MPI_DOUBLE, 1, 0, n, MPI_DOUBLE, win_bar);
 *	reel_mpi_win_fence_reverse(tape, 0, win_bar);
 *
 * Returns 0; -EINVAL; -ENOTSUP: MPI keeps two copies of the window's memory; -ENOMEM or -EIO.
 */
int reel_mpi_win_attach(MPI_Win win, MPI_Comm comm);

/*
 * reel_mpi_win_fence, _put, _get, _accumulate: a tape, and the arguments of MPI's call of that
 * name. And of each the _reverse, with the adjoint of the buffer, and the window of adjoints.
 * Nothing is noted.
 *
 * Reverse: a Put adds the adjoint at the target to the adjoint of the put data, and sets the
 * adjoint at the target to 0; a Get adds to the adjoint at the target; an Accumulate, of MPI_SUM,
 * adds the adjoint at the target to the adjoint of the added data. Each is complete when it
 * returns, and waits for the target's memory, not for its program, if MPI can do so. The reverse of
 * a fence is a fence and a barrier.
 *
 * Refused (-ENOTSUP): accesses outside of fences (under a lock, or between post, start, complete
 * and wait), operations other than MPI_SUM, types of several kinds of numbers.
 *
 * Bits. If several ranks get the same number between two fences, MPI chooses the order in which
 * their adjoints are added, and the last bits may differ from run to run.
 */
#define reel_mpi_win_fence(tape, ...) reel_mpi_win_fence_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_win_fence_reverse(tape, ...) \
	reel_mpi_win_fence_reverse_at((tape), REEL_HERE, __VA_ARGS__)
#define reel_mpi_put(...) REEL_MPI_ACCESS(FORWARD, PUT, __VA_ARGS__)
#define reel_mpi_put_reverse(...) REEL_MPI_ACCESS(REVERSE, PUT, __VA_ARGS__)
#define reel_mpi_get(...) REEL_MPI_ACCESS(FORWARD, GET, __VA_ARGS__)
#define reel_mpi_get_reverse(...) REEL_MPI_ACCESS(REVERSE, GET, __VA_ARGS__)
#define reel_mpi_accumulate(...) REEL_MPI_ACCUMULATION(FORWARD, __VA_ARGS__)
#define reel_mpi_accumulate_reverse(...) REEL_MPI_ACCUMULATION(REVERSE, __VA_ARGS__)

enum reel_mpi_access { REEL_MPI_PUT, REEL_MPI_GET, REEL_MPI_ACCUMULATE };

int reel_mpi_win_fence_at(reel_tape *tape, const char *call_site, int assertion, MPI_Win win);
int reel_mpi_win_fence_reverse_at(reel_tape *tape, const char *call_site, int assertion,
				  MPI_Win win_bar);
int reel_mpi_access_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		       enum reel_mpi_access kind, const void *origin, int count, MPI_Datatype type,
		       int target, MPI_Aint displacement, int target_count,
		       MPI_Datatype target_type, MPI_Op op, MPI_Win win);

/* ---- Runs of a plan over ranks ----------------------------------------------------------- */

/*
 * Opens a run (run.h) of one plan on all ranks of the communicator, which need not be attached.
 * Every rank has its own part of the state and of the adjoint, of any size, and its own stores and
 * budget. The callbacks exchange data by the calls above. Opening, the two sweeps, resuming and
 * closing are collective, and so are reel_run_start() and reel_run_next() of a run that is driven.
 * reel_run_take() is collective at DONE only, and its callers have to agree on errors by
 * reel_mpi_agree().
 *
 * One plan. The plan, segment_steps and steps must be the same on all ranks, or all ranks get
 * -EINVAL. So all ranks carry out the same actions in the same order. A loop of an unknown end ends
 * on all ranks when finished() says so on one.
 *
 * Errors. After each action the ranks agree on whether one has failed. A sweep then ends on all of
 * them: with its own error on a rank that failed, and with -ECANCELED on the others, whose text
 * names such a rank. A callback that fails must first complete its messages, or its neighbours
 * wait: an error of its tape sticks to the tape, and needs no handling. A store that fails a put
 * keeps that snapshot in memory, and changes nothing on other ranks.
 *
 * Ranks that leave. If a callback ends an action early, without an error and without its messages,
 * or leaves by an exception or by longjmp(), its rank leaves the common sweep: the others wait for
 * its messages, or for its agreement. The watchdog that the communicator has when the run is opened
 * (reel_mpi_watch(); REEL_MPI_WATCH, if it is not attached) limits the wait for an agreement: the
 * sweep ends with -ETIMEDOUT. A rank that waits for a message of a forward call in a callback waits
 * in MPI, and ends when the program is ended. So a program ends with a failure (MPI_Abort(), or a
 * status that is not 0) after an exception that it does not handle in the callback; a handler in
 * the callback returns an error.
 *
 * Restart files. If options->restart is NAME, rank R writes NAME.R.0 and NAME.R.1 in turn, so that
 * the files of the last two times exist. All ranks write at the same action, when a file is due on
 * one of them: also by reel_save_now(), a signal or REEL_END_AFTER that only one rank sees. A file
 * replaces the one before the last when all ranks have theirs on the disk. reel_run_resume() takes
 * the newest files that are whole on all ranks. So a rank that is killed at any moment costs only
 * the work since the last time. Resuming is refused on all ranks, and the text of the rank in
 * question gives the reason: -EINVAL, the files are of another number of ranks or another plan;
 * -EPROTO, of another version; -EBADMSG, a rank's file is missing or damaged. -ENOENT: no files
 * were ever complete.
 *
 * `route` gives the file `name` its path, which has at most 1023 characters, and returns 0:
 * SCR_Route_file() and VELOC_Route_file() have this form. NULL: the path is the name.
 *
 * Returns as reel_run_open(), the same on all ranks except for -ECANCELED. Costs a duplicate of the
 * communicator, and an MPI_Allreduce() of five integers for each action (and for each step of a
 * forward sweep, if the end is unknown). reel_omp_run_reverse() (omp.h) looks ahead on all ranks.
 */
int reel_mpi_run_open(reel_run **run, const reel_plan *plan, const reel_model *model,
		      const struct reel_run_options *options,
		      int (*route)(const char *name, char *path), MPI_Comm comm);

/*
 * Tells the ranks of the communicator, which need not be attached, the error of this one, and sets
 * *value to the maximum over all ranks; `value` may be NULL. Collective: each rank calls it, even
 * if it has failed, so that no rank waits for a rank that has left. For driven runs, and for other
 * work that all ranks do or none.
 *
 * Returns `error` if it is below 0; -ECANCELED if the error of another rank is below 0: the text
 * names the rank; otherwise the largest `error` of all ranks; -EIO, MPI failed. *value is set if it
 * returns 0. Costs an MPI_Allreduce() of five integers, and one of *value.
 */
int reel_mpi_agree(MPI_Comm comm, int error, int64_t *value);

/*
 * reel_costs_choose() (plan.h) for all ranks: sets *costs to the largest times and sizes, and to
 * the smallest memory and bandwidths, that any rank has, and *choice to one choice from these.
 * Collective. Returns the same on all ranks; also -EINVAL, if steps or the number of tiers differ.
 *
 * The number of steps that reel_costs_measure() runs depends on time, and differs between ranks: a
 * rank measures its part with callbacks that send nothing.
 */
int reel_mpi_costs_choose(struct reel_costs *costs, MPI_Comm comm, struct reel_choice *choice);

/* ---- Statistics ------------------------------------------------------------------------ */

/*
 * Write the statistics of all ranks of an attached communicator as one table. Collective; rank 0
 * writes to its `file`, which other ranks may leave NULL. A line for each member of struct
 * reel_pool_stats (NULL: of the default pool); of struct reel_run_stats, if all ranks give a run
 * (or else all give NULL); and of the adjoints that came back on the communicator since it was
 * attached:
 *
 *	adjoints, adjoint_bytes   messages that this rank has sent back, by itself or in collective
 *				  calls
 *	waits, wait_ns            number and time of waits of reverse calls for another rank
 *	note_bytes                notes of messages and calls on tapes
 *
 * with the minimum, the mean, the maximum, and the lowest rank that has the maximum.
 *
 *	of      figure                          least              mean              most   rank
 *	pool    peak_resident_bytes           8388608         9437184.0          10485760      1
 *
 * Returns 0; -EINVAL: the communicator is not attached, or some ranks have a run and some have
 * none; -ENXIO: a rank has no default pool; -EIO: MPI failed, or on rank 0 the file.
 */
int reel_mpi_report(FILE *file, reel_pool *pool, reel_run *run, MPI_Comm comm);

/* ---- Within: the arguments of collective and of one-sided calls ---- */

/*
 * Calls by the arguments that they have. ROOTED: a root. V: counts and displacements of all ranks.
 * W: also their types. `form` and `kind` are operands of ##, so a macro of the program that has
 * such a name does not change them.
 */
#define REEL_MPI_BROADCAST(form, tape, ...) \
	reel_mpi_bcast_at((tape), REEL_HERE, REEL_MPI_##form, __VA_ARGS__)
#define REEL_MPI_BARRIER(form, tape, ...) \
	reel_mpi_barrier_at((tape), REEL_HERE, REEL_MPI_##form, __VA_ARGS__)
#define REEL_MPI_MOVE(form, kind, tape, s, sn, st, r, rn, rt, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (sn), NULL, \
		NULL, (st), NULL, (r), (rn), NULL, NULL, (rt), NULL, 0, (comm), (request))
#define REEL_MPI_MOVE_ROOTED(form, kind, tape, s, sn, st, r, rn, rt, root, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (sn), NULL, \
		NULL, (st), NULL, (r), (rn), NULL, NULL, (rt), NULL, (root), (comm), (request))
#define REEL_MPI_ALLGATHER_V(form, kind, tape, s, sn, st, r, rns, rds, rt, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (sn), NULL, \
		NULL, (st), NULL, (r), 0, (rns), (rds), (rt), NULL, 0, (comm), (request))
#define REEL_MPI_GATHER_V(form, kind, tape, s, sn, st, r, rns, rds, rt, root, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (sn), NULL, \
		NULL, (st), NULL, (r), 0, (rns), (rds), (rt), NULL, (root), (comm), (request))
#define REEL_MPI_SCATTER_V(form, kind, tape, s, sns, sds, st, r, rn, rt, root, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), 0, (sns), \
		(sds), (st), NULL, (r), (rn), NULL, NULL, (rt), NULL, (root), (comm), (request))
#define REEL_MPI_MOVE_V(form, kind, tape, s, sns, sds, st, r, rns, rds, rt, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), 0, (sns), \
		(sds), (st), NULL, (r), 0, (rns), (rds), (rt), NULL, 0, (comm), (request))
#define REEL_MPI_MOVE_W(form, kind, tape, s, sns, sds, sts, r, rns, rds, rts, comm, request) \
	reel_mpi_move_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), 0, (sns), \
		(sds), MPI_DATATYPE_NULL, (sts), (r), 0, (rns), (rds), MPI_DATATYPE_NULL, (rts), \
		0, (comm), (request))
#define REEL_MPI_NEIGHBOR_W(form, tape, ...) \
	reel_mpi_neighbor_alltoallw_at((tape), REEL_HERE, REEL_MPI_##form, __VA_ARGS__)
#define REEL_MPI_REDUCTION(form, kind, tape, s, r, n, type, op, comm, request) \
	reel_mpi_reduction_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (r), (n), \
		NULL, (type), (op), 0, (comm), (request))
#define REEL_MPI_REDUCTION_ROOTED(form, kind, tape, s, r, n, type, op, root, comm, request) \
	reel_mpi_reduction_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (r), (n), \
		NULL, (type), (op), (root), (comm), (request))
#define REEL_MPI_REDUCTION_V(form, kind, tape, s, r, ns, type, op, comm, request) \
	reel_mpi_reduction_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (s), (r), 0, \
		(ns), (type), (op), 0, (comm), (request))

#define REEL_MPI_ACCESS(form, kind, tape, o, n, type, target, at, target_n, target_type, win) \
	reel_mpi_access_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_##kind, (o), (n), (type), \
		(target), (at), (target_n), (target_type), MPI_OP_NULL, (win))
#define REEL_MPI_ACCUMULATION(form, tape, ...) \
	reel_mpi_access_at((tape), REEL_HERE, REEL_MPI_##form, REEL_MPI_ACCUMULATE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
