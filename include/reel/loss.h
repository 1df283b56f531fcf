/* SPDX-License-Identifier: MIT */
/*
 * States stored with loss. A run whose options have a struct reel_loss rounds the fields of each
 * state that it stores, and keeps them in fewer bytes: in memory, in stores and in its restart
 * file. Nothing else loses anything: tapes do not, nor do bytes that no field covers.
 *
 * A field is rounded to multiples of a step, so that no value is off by more than the tolerance,
 * and the differences between neighbours along each dimension are kept in as few bits as they need.
 * How many bytes this saves depends on how smooth the field is beside the tolerance: fields of
 * waves take up 1/7 to 1/30 of their bytes at 1e-6, and 1/30 to 1/100 at 1e-3. Values that are no
 * numbers, or not finite, come back as they were. A field is kept as it is if this would save
 * nothing, or if the tolerance is near the accuracy of its type.
 *
 * Cost: about 0.6 ns a byte to store a state, and 0.5 ns to load it, by the thread that does. If a
 * processor is free, a state that is stored is only copied, at 0.2 ns a byte, and packed by a
 * thread of the run, beside the steps. Memory beside the budget: two copies of a state.
 *
 * The steps that follow a LOAD start from the rounded state, which moves the gradient. Its error is
 * in proportion to the tolerance, by a factor that only the loop knows: reel_accuracy_open() finds
 * the tolerance for the digits that you need. For a given tolerance the gradient has the same bits
 * in every run of a plan, and after a restart in the reverse sweep. A run that was stopped before
 * goes on from the rounded state that it stored last, within the same error.
 */
#ifndef REEL_LOSS_H
#define REEL_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REEL_MAX_DIMENSIONS 4

enum reel_field_type {
	REEL_FIELD_BYTES, /* no numbers, or numbers that are to be kept as they are */
	REEL_FIELD_DOUBLE,
	REEL_FIELD_FLOAT,
};

/* Values of a snapshot that lie on a grid: of a pressure, or of one component of a velocity. */
struct reel_field {
	enum reel_field_type type;
	unsigned dimensions; /* 1 to REEL_MAX_DIMENSIONS */
	/* Numbers of values; neighbours along the last dimension are neighbours in memory. */
	size_t extent[REEL_MAX_DIMENSIONS];
};

struct reel_loss {
	/*
	 * The fields of a snapshot: the first one begins at its first byte, and each other one
	 * where the field before it ends. Bytes behind the last one are kept as they are.
	 */
	const struct reel_field *field;
	unsigned fields;
	/*
	 * The largest error of a value, relative to the largest magnitude in the same field of the
	 * same state; below 1. 0: states are kept as they are, until reel_run_set_tolerance().
	 */
	double tolerance;
	/* Tiers before this one keep states as they are, in memory for example; 0: all lose. */
	unsigned first_tier;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

/* ---- Fields in buffers of your own -------------------------------------------- */

/*
 * By these functions a program packs fields besides states, and keeps the bytes in a parcel
 * (reel/parcel.h) or anywhere else. Any thread. Fields that reel_field_bytes() refuses are for none
 * of the other functions.
 *
 * reel_field_bytes() returns the bytes of the values of a field, or SIZE_MAX: it is no such field,
 * or larger than memory. reel_field_room() returns the number of bytes that a packed field takes up
 * at most.
 */
size_t reel_field_bytes(const struct reel_field *field);
size_t reel_field_room(const struct reel_field *field);

/*
 * Packs the values into `packed`, which has that room. `values` are aligned as their type is. No
 * value comes back with an error above `tolerance` times the largest magnitude of all. Returns the
 * number of bytes, or 0: no memory. Cost: 0.6 ns a byte.
 */
size_t reel_field_pack(const struct reel_field *field, double tolerance, void *packed,
		       const void *values);

/*
 * Unpacks the field into `values`. Returns the number of bytes that it took of the `bytes` bytes at
 * `packed`; or 0: they are too few, were packed from no such field, or there is no memory. Then
 * `values` holds anything. Whatever the bytes are, nothing else is written. Cost: 0.5 ns a byte.
 */
size_t reel_field_unpack(const struct reel_field *field, void *values, const void *packed,
			 size_t bytes);

/* ---- The digits of the gradient ------------------------------------------------ */

/*
 * Finds the tolerance at which the gradient of a run has the digits asked for, and bounds its
 * error. The gradient is computed for some tolerances, the last one the least:
 *
 *	do {
 *		... set the state and the adjoint to their first values, and carry out both sweeps
 *	} while ((again = reel_accuracy_again(accuracy, gradient)) > 0);
 *
 * The last gradient is the result. Rounding is as good as random, so that a gradient at another
 * tolerance has another error, which is larger in proportion: the differences of four such
 * gradients from the last one show the size of its error. The bound is 5 times the largest of these
 * sizes. It holds for 999 of 1,000 random loops, and is 7 times the error in the median
 * (tests/checkpoint/t-accuracy.c); for a gradient of many components both are better.
 *
 * The first result takes 5 gradients, or some more if the loop multiplies errors by much. Each
 * later one takes one, at the coarsest of these tolerances with which it has the digits: for the
 * next controls of an optimisation, whose loop is taken to multiply errors as the first one did.
 * Open another object when they have moved far. If a coarse tolerance gives a gradient that is not
 * finite, the search begins anew with a finer one. A loop whose errors do not go down with the
 * tolerance, since it is chaotic, has its states kept as they are, without an error and without a
 * gain.
 *
 * Ranks. The run of reel_mpi_run_open() (mpi.h) may have the components of its gradient on any
 * ranks: all ranks open an accuracy of the same digits, and reel_accuracy_again() is collective.
 * Digits, bound and report are of the components of all ranks.
 *
 * Restart files. A run resumes from a file at the tolerance with which it was written only, so that
 * a program that was stopped between two of these gradients begins with the first one again.
 */
typedef struct reel_accuracy reel_accuracy;
struct reel_run;

struct reel_accuracy_report {
	double error;     /* bound of the error of each component of the last gradient */
	double largest;   /* magnitude of its largest component */
	double tolerance; /* of its states; 0: they were kept as they are */
	unsigned gradients; /* computed so far */
	/* For figures to come. */
	uint64_t reserved[4];
};

/*
 * `digits` of the largest component are asked for, from 1 to 12: no component is to have an error
 * above 10^-digits times the largest one. Sets the tolerance of the run, which has options.loss and
 * outlives the accuracy. NULL: the program itself rounds its data, to
 * reel_accuracy_tolerance(). Returns 0, -EINVAL or -ENOMEM.
 */
int reel_accuracy_open(reel_accuracy **accuracy, struct reel_run *run, unsigned digits,
		       size_t components);
void reel_accuracy_close(reel_accuracy *accuracy);

/* Returns the tolerance for the next gradient; 0: states are to be kept as they are. */
double reel_accuracy_tolerance(const reel_accuracy *accuracy);

/*
 * Takes the gradient, which was computed with that tolerance, and sets the next one for the run.
 * Returns 1, the gradient is to be computed again; 0, it is the result; -EINVAL, the run has
 * another tolerance or is within a sweep; or the error of an agreement of the ranks.
 */
int reel_accuracy_again(reel_accuracy *accuracy, const double *gradient);

void reel_accuracy_get_report(const reel_accuracy *accuracy, struct reel_accuracy_report *report);

/*
 * Writes a bound of the error of each component of the last result to `errors`, for the components
 * of this rank: at most the one of the report, and less where a component is less sensitive to the
 * rounding. It holds for 999 of 1,000 components.
 */
void reel_accuracy_get_errors(const reel_accuracy *accuracy, double *errors);

#ifdef __cplusplus
}
#endif

#endif
