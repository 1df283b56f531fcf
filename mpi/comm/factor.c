/* SPDX-License-Identifier: MIT */
/* Operations on the numbers of MPI's own types, and their notes. */
#include "config.h"

#include "factor.h"

#include <errno.h>
#include <string.h>

#include <reel/extend.h>

#include "operation.h"

static const struct {
	MPI_Op op;
	const char *name;
	enum reel_mpi_factor factor;
} operations[] = {
	{MPI_SUM, "MPI_SUM", REEL_MPI_FACTOR_ONE},
	{MPI_MIN, "MPI_MIN", REEL_MPI_FACTOR_BIT},
	{MPI_MAX, "MPI_MAX", REEL_MPI_FACTOR_BIT},
	{MPI_PROD, "MPI_PROD", REEL_MPI_FACTOR_NUMBER},
	{MPI_MINLOC, "MPI_MINLOC", REEL_MPI_FACTOR_BIT},
	{MPI_MAXLOC, "MPI_MAXLOC", REEL_MPI_FACTOR_BIT},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Operations of the program have one number: their handles differ between ranks. */
uint32_t reel_mpi_operation_number(MPI_Op op)
{
	uint32_t i = 0;

	while (i < OPERATIONS && operations[i].op != op)
		i++;
	return i + 1;
}

const char *reel_mpi_operation_name(uint32_t number)
{
	return number == 0		? "none"
	       : number > OPERATIONS	? "one of the program"
					: operations[number - 1].name;
}

int reel_mpi_factor_of(struct reel_mpi_attached *attached, MPI_Op op,
		       const struct reel_mpi_layout *layout, const char *call,
		       enum reel_mpi_factor *factor)
{
	uint32_t number = reel_mpi_operation_number(op);

	REEL_ASSERT(layout->ranges > 0);
	if (number <= OPERATIONS) {
		*factor = operations[number - 1].factor;
		if (*factor == REEL_MPI_FACTOR_NUMBER && layout->range[0].count > 1)
			return reel_fail(-ENOTSUP, "%s: the product of complex numbers cannot be "
						   "reversed; gather the factors",
					 call);
		return 0;
	}
	if (!reel_mpi_find_operation(attached, op))
		return reel_fail(-ENOTSUP,
				 "%s: the adjoint of this operation is not known; there are "
				 "MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_MINLOC and MPI_MAXLOC, "
				 "and those of your own that were given to "
				 "reel_mpi_op_set_adjoint()", call);
	*factor = REEL_MPI_FACTOR_OPERANDS;
	/* The operation of a program moves whole elements, which must not overlap. */
	if (layout->true_offset == 0 && layout->true_extent <= layout->extent)
		return 0;
	return reel_fail(-ENOTSUP, "%s: the elements of this type begin before their address or "
				   "overlap; use a type made by MPI_Type_create_resized()", call);
}

bool reel_mpi_is_same(const struct reel_mpi_layout *layout, const char *a, const char *b)
{
	const struct reel_mpi_range *range = &layout->range[0];
	bool same = true;
	size_t bytes = 0;

	REEL_ASSERT(layout->ranges > 0 && range->count > 0);
	REEL_MPI_BY_NUMBER(range->number, {
		const NUMBER *x = (const NUMBER *)(const void *)a;
		const NUMBER *y = (const NUMBER *)(const void *)b;
		for (int64_t k = 0; k < range->count; k++)
			same = same && (x[k] == y[k] || (x[k] != x[k] && y[k] != y[k]));
		bytes = (size_t)range->count * sizeof(NUMBER);
	})
	/* The index of MPI_DOUBLE_INT and its like. */
	if ((size_t)layout->true_extent > bytes)
		same = same && !memcmp(a + bytes, b + bytes, sizeof(int));
	return same;
}

void reel_mpi_multiply(const struct reel_mpi_layout *layout, int count, void *to, const void *by)
{
	REEL_ASSERT(count >= 0 && layout->ranges > 0 && layout->range[0].count == 1);
	REEL_MPI_BY_NUMBER(layout->range[0].number, {
		NUMBER *x = (NUMBER *)to;
		const NUMBER *y = (const NUMBER *)by;
		for (int k = 0; k < count; k++)
			x[k] *= y[k];
	})
}
