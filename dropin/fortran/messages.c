/* SPDX-License-Identifier: MIT */
/* Communicators, the objective, and messages whose calls wait, for Fortran. */
#include "buffers.h"

/* ---- Communicators and the objective ---- */

int reel_fortran_mpi_attach(const MPI_Fint *comm, const int *flags)
{
	return reel_mpi_attach(COMM(comm), flags ? (unsigned)*flags : 0);
}

int reel_fortran_mpi_detach(const MPI_Fint *comm)
{
	return reel_mpi_detach(COMM(comm));
}

int reel_fortran_mpi_reverse_end(const MPI_Fint *comm)
{
	return reel_mpi_reverse_end(COMM(comm));
}

int reel_fortran_mpi_seed(double *J_bar, int objective, int root, const MPI_Fint *comm)
{
	return reel_mpi_seed(J_bar, (enum reel_mpi_objective)objective, root, COMM(comm));
}

/* ---- One buffer ---- */

#define SEND(NAME, MODE)                                                                           \
	int reel_fortran_mpi_##NAME(reel_tape *tape, const CFI_cdesc_t *buf, int count,            \
				    const MPI_Fint *type, int dest, int tag, const MPI_Fint *comm) \
	{                                                                                          \
		RETURN_WITH_BUFFER(buf, false,                                                     \
				   reel_mpi_send_at(tape, MPI_CALL_SITE, MODE, buffer.at, count,   \
						    TYPE(type), dest, tag, COMM(comm)));           \
	}

SEND(send, REEL_MPI_STANDARD)
SEND(ssend, REEL_MPI_SYNCHRONOUS)
SEND(bsend, REEL_MPI_BUFFERED)
SEND(rsend, REEL_MPI_READY)

int reel_fortran_mpi_send_reverse(reel_tape *tape, const CFI_cdesc_t *buf, int count,
				  const MPI_Fint *type, int dest, int tag, const MPI_Fint *comm)
{
	RETURN_WITH_BUFFER(buf, true,
			   reel_mpi_send_reverse_at(tape, MPI_CALL_SITE, buffer.at, count,
						    TYPE(type), dest, tag, COMM(comm)));
}

#define RECEIVE(NAME)                                                                              \
	int reel_fortran_mpi_##NAME(reel_tape *tape, const CFI_cdesc_t *buf, int count,            \
				    const MPI_Fint *type, int source, int tag,                     \
				    const MPI_Fint *comm, MPI_Status *status)                      \
	{                                                                                          \
		RETURN_WITH_BUFFER(buf, true,                                                      \
				   reel_mpi_##NAME##_at(tape, MPI_CALL_SITE, buffer.at, count,     \
							TYPE(type), source, tag, COMM(comm),       \
							reel_fortran_status(status)));             \
	}

RECEIVE(recv)
RECEIVE(recv_reverse)

int reel_fortran_mpi_sendrecv_replace(reel_tape *tape, const CFI_cdesc_t *buf, int count,
				      const MPI_Fint *type, int dest, int sent_tag, int source,
				      int tag, const MPI_Fint *comm, MPI_Status *status)
{
	RETURN_WITH_BUFFER(buf, true,
			   reel_mpi_sendrecv_replace_at(tape, MPI_CALL_SITE, buffer.at, count,
							TYPE(type), dest, sent_tag, source, tag,
							COMM(comm), reel_fortran_status(status)));
}

int reel_fortran_mpi_sendrecv_replace_reverse(reel_tape *tape, const CFI_cdesc_t *buf, int count,
					      const MPI_Fint *type, int dest, int sent_tag,
					      int source, int tag, const MPI_Fint *comm,
					      MPI_Status *status)
{
	RETURN_WITH_BUFFER(buf, true,
			   reel_mpi_sendrecv_reverse_at(tape, MPI_CALL_SITE, buffer.at, count,
							TYPE(type), dest, sent_tag, buffer.at,
							count, TYPE(type), source, tag, COMM(comm),
							reel_fortran_status(status)));
}

/* ---- Two buffers ---- */

#define EXCHANGE(NAME, REVERSE)                                                                    \
	int reel_fortran_mpi_##NAME(reel_tape *tape, const CFI_cdesc_t *sent, int sent_count,      \
				    const MPI_Fint *sent_type, int dest, int sent_tag,             \
				    const CFI_cdesc_t *received, int count, const MPI_Fint *type,  \
				    int source, int tag, const MPI_Fint *comm, MPI_Status *status) \
	{                                                                                          \
		RETURN_WITH_BUFFERS(sent, received, REVERSE,                                       \
				    reel_mpi_##NAME##_at(tape, MPI_CALL_SITE, buffers.sent.at,     \
							 sent_count, TYPE(sent_type), dest,        \
							 sent_tag, buffers.received.at, count,     \
							 TYPE(type), source, tag, COMM(comm),      \
							 reel_fortran_status(status)));            \
	}

EXCHANGE(sendrecv, false)
EXCHANGE(sendrecv_reverse, true)
