/* SPDX-License-Identifier: MIT */
/*
 * The option --digits: a gradient that is computed with rounded states, at the tolerance that
 * reel_accuracy_open() finds. The derivatives by inputs of one kind are a part of the gradient.
 * Parts have unlike units, so that N digits are asked of the largest component of each part.
 */
#ifndef EXAMPLES_DIGITS_H
#define EXAMPLES_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#define MAX_DIGITS 12

struct gradient_part {
	const double *value;
	size_t count;
};

/* Errors are relative to the largest component of the part. */
struct digits {
	int wanted;         /* 0: there is no --digits */
	double bound;       /* of the error of each component */
	double error;       /* the true one, by --verify; below 0: not known */
	double tolerance;   /* of the states; 0: they were kept as they are */
	unsigned gradients; /* that were computed for it */
};

/*
 * Computes the gradient: compute() writes the parts, from states that are rounded to the tolerance.
 * The last call gives the result. Ends the program if there is no memory.
 */
struct digits digits_compute(int wanted, const struct gradient_part *part, int parts,
			     void (*compute)(void *context, double tolerance), void *context);

/* Returns the largest error of a component, relative to the largest one of its exact part. */
double digits_error(const struct gradient_part *part, const struct gradient_part *exact,
		    int parts);

/* By --verify: whether the bound holds. It is 0 if states were kept as they are. */
int digits_hold(const struct digits *digits);

void digits_print(const struct digits *digits, uint64_t rounded_bytes, uint64_t kept_bytes);

/* After --verify. */
void digits_print_error(const struct digits *digits);

#endif
