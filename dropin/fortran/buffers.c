/* SPDX-License-Identifier: MIT */
/* Buffers and statuses of mpi_f08. Any thread runs these functions. */
#include "buffers.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/extend.h>

/* Addresses of MPI_IN_PLACE and its like in Fortran, in the order of reel_mpi.F90. */
struct sentinels {
	const void *in_place, *bottom, *status, *statuses;
};

void reel_fortran_mpi_find_sentinels(struct sentinels *found);

void reel_fortran_mpi_note_sentinels(struct sentinels *found, const void *in_place,
				     const void *bottom, const void *status, const void *statuses)
{
	*found = (struct sentinels){in_place, bottom, status, statuses};
}

static struct sentinels find_sentinels(void)
{
	struct sentinels found;

	reel_fortran_mpi_find_sentinels(&found);
	return found;
}

MPI_Status *reel_fortran_status(MPI_Status *status)
{
	return !status || status == find_sentinels().status ? MPI_STATUS_IGNORE : status;
}

MPI_Status *reel_fortran_statuses(MPI_Status *statuses)
{
	return !statuses || statuses == find_sentinels().statuses ? MPI_STATUSES_IGNORE : statuses;
}

int reel_fortran_stick(reel_tape *tape, int error)
{
	if (error && tape && !reel_tape_error(tape))
		reel_tape_give_up(tape, error, reel_error_text(error));
	return error;
}

static void *address_of(const CFI_cdesc_t *array)
{
	struct sentinels sentinels = find_sentinels();

	return array->base_addr == sentinels.in_place ? MPI_IN_PLACE
	       : array->base_addr == sentinels.bottom ? MPI_BOTTOM
						      : array->base_addr;
}

/* Copies the section to `buffer->copy`, or back. */
static void move(struct reel_fortran_buffer *buffer, bool to_copy)
{
	size_t bytes = reel_fortran_elements(buffer->array) * buffer->array->elem_len;
	struct section section;

	reel_fortran_section(buffer->array, &section);
	if (to_copy)
		reel_fortran_gather(&section, 0, buffer->copy, bytes);
	else
		reel_fortran_scatter(&section, 0, buffer->copy, bytes);
}

int reel_fortran_open_buffer(struct reel_fortran_buffer *buffer, const CFI_cdesc_t *array,
			     reel_tape *tape)
{
	size_t bytes;

	*buffer = (struct reel_fortran_buffer){.at = address_of(array), .array = array};
	if (reel_fortran_is_contiguous(array))
		return 0;
	bytes = reel_fortran_elements(array) * array->elem_len;
	buffer->at = buffer->copy = malloc(bytes);
	if (!buffer->copy)
		return reel_fortran_stick(
			tape, reel_fail(-ENOMEM, "no memory for a copy of a section of %zu bytes",
					bytes));
	move(buffer, true);
	return 0;
}

void reel_fortran_close_buffer(struct reel_fortran_buffer *buffer, bool changed)
{
	if (buffer->copy && changed)
		move(buffer, false);
	free(buffer->copy);
}

int reel_fortran_lasting_buffer(void **at, const CFI_cdesc_t *array, reel_tape *tape)
{
	*at = address_of(array);
	if (reel_fortran_is_contiguous(array))
		return 0;
	return reel_fortran_stick(
		tape, reel_fail(-EINVAL,
				"the buffer of a request is a section with gaps, of which a copy "
				"would end before the transfer; pass elements that lie together, "
				"or describe the gaps by MPI_Type_vector()"));
}

int reel_fortran_open_buffers(struct reel_fortran_buffers *buffers, const CFI_cdesc_t *sent,
			      const CFI_cdesc_t *received, reel_tape *tape)
{
	int error = reel_fortran_open_buffer(&buffers->sent, sent, tape);

	if (error)
		return error;
	error = reel_fortran_open_buffer(&buffers->received, received, tape);
	if (error)
		reel_fortran_close_buffer(&buffers->sent, false);
	return error;
}

void reel_fortran_close_buffers(struct reel_fortran_buffers *buffers, bool sent_changed)
{
	reel_fortran_close_buffer(&buffers->sent, sent_changed);
	reel_fortran_close_buffer(&buffers->received, true);
}
