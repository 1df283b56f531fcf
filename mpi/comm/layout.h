/* SPDX-License-Identifier: MIT */
/*
 * Where the numbers of a datatype lie that have an adjoint: floating-point numbers, one by one. The
 * layout of a derived type is an attribute of it, and is freed with it.
 */
#ifndef REEL_MPI_LAYOUT_H
#define REEL_MPI_LAYOUT_H

#include <stdint.h>

#include <reel/mpi.h>

enum reel_mpi_number { REEL_MPI_FLOAT, REEL_MPI_DOUBLE, REEL_MPI_LONG_DOUBLE };
enum { REEL_MPI_NUMBERS = REEL_MPI_LONG_DOUBLE + 1 };

/* `count` numbers in a row, `offset` bytes from the beginning of an element. */
struct reel_mpi_range {
	MPI_Aint offset;
	int64_t count;
	enum reel_mpi_number number;
};

struct reel_mpi_layout {
	MPI_Aint extent, true_offset, true_extent; /* as MPI_Type_get_extent() and _true_extent() */
	size_t ranges;				   /* 0: nothing has an adjoint */
	struct reel_mpi_range range[];
};

/* Returns 0; -ENOTSUP: the type hides its contents; -EINVAL; -ENOMEM. */
int reel_mpi_layout_of(MPI_Datatype type, const char *call, const struct reel_mpi_layout **layout);

/*
 * Returns 0 if `times` buffers of `count` elements fit into memory; -EINVAL: the count is negative;
 * -EOVERFLOW: they have more bytes than a pointer can span.
 */
int reel_mpi_check_count(const struct reel_mpi_layout *layout, int count, int times,
			 const char *call);

/*
 * Number of bytes of memory for `count` elements, at least 1; and the address that MPI is given for
 * the first one in memory that is aligned as malloc() aligns.
 */
size_t reel_mpi_layout_bytes(const struct reel_mpi_layout *layout, int count);
char *reel_mpi_layout_place(const struct reel_mpi_layout *layout, int count, void *memory);

/* Add `count` elements of `from` to `to`; set `count` elements to 0, or to NaN. */
void reel_mpi_layout_add(const struct reel_mpi_layout *layout, int count, void *to,
			 const void *from);
void reel_mpi_layout_zero(const struct reel_mpi_layout *layout, int count, void *to);
void reel_mpi_layout_poison(const struct reel_mpi_layout *layout, int count, void *to);

/* For each type of numbers, `do_this` with NUMBER as its name. */
#define REEL_MPI_BY_NUMBER(number, do_this)                                                        \
	switch (number) {                                                                          \
	case REEL_MPI_FLOAT: {                                                                     \
		typedef float NUMBER;                                                              \
		do_this;                                                                           \
		break;                                                                             \
	}                                                                                          \
	case REEL_MPI_DOUBLE: {                                                                    \
		typedef double NUMBER;                                                             \
		do_this;                                                                           \
		break;                                                                             \
	}                                                                                          \
	case REEL_MPI_LONG_DOUBLE: {                                                               \
		typedef long double NUMBER;                                                        \
		do_this;                                                                           \
		break;                                                                             \
	}                                                                                          \
	}

#endif
