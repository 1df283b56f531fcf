/* SPDX-License-Identifier: MIT */
/*
 * States stored with loss. A run whose options have a struct reel_loss rounds the fields of each
 * state that it stores, and keeps them in fewer bytes: in memory, in stores and in its restart
 * file. Nothing else loses anything: tapes do not, nor do bytes that no field covers.
 *
 * A field is rounded to multiples of a step, so that no value is off by more than the tolerance,
 * and the differences between neighbours along each dimension are kept in as few bits as they need.
 * How many bytes this saves depends on how smooth the field is beside the tolerance: fields of
 * waves take up 1/10 to 1/30 of their bytes at 1e-6, and 1/15 to 1/100 at 1e-3. Values that are no
 * numbers, or not finite, come back as they were. A field is kept as it is if this would save
 * nothing, or if the tolerance is near the accuracy of its type.
 *
 * Cost: about 0.5 ns a byte to store a state, and 0.4 ns to load it, by the thread that does.
 *
 * The steps that follow a LOAD start from the rounded state, which moves the gradient. Its error is
 * in proportion to the tolerance, by a factor that only the loop knows: compute the gradient for
 * two tolerances, and compare. For a given tolerance the gradient has the same bits in every run of
 * a plan, and after a restart.
 */
#ifndef REEL_LOSS_H
#define REEL_LOSS_H

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
	 * same state; above 0 and below 1.
	 */
	double tolerance;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

#ifdef __cplusplus
}
#endif

#endif
