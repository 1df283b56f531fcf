/* SPDX-License-Identifier: MIT */
/*
 * Loops whose states are rounded, with their adjoints by hand: for the figures of doc/digits.md and
 * for a test.
 */
#ifndef REEL_BENCH_MODELS_H
#define REEL_BENCH_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include <reel/loss.h>
#include <reel/run.h>

enum { MODEL_FIELDS = 3, MAX_COMPONENTS = 1 << 16 };

struct model {
	const char *name;
	int steps, segment; /* number of steps, and of those between two states */
	int slots;          /* number of stored states; 0: the state before each segment */
	unsigned fields;
	struct reel_field field[MODEL_FIELDS];
	size_t values;      /* of a state: all numbers of its fields */
	size_t components;  /* of the gradient: by the first numbers of the state, or by rates */
	double rate[MODEL_FIELDS];

	void (*start)(const struct model *model, double *x);
	void (*step)(const struct model *model, double *x);
	/* Sets dJ/dx of the last state. */
	void (*turn)(const struct model *model, const double *x, double *bar);
	/* Replaces dJ/d(next x) by dJ/dx; adds to the derivatives by rates, if those are wanted. */
	void (*reverse)(const struct model *model, const double *x, double *bar, double *by_rate);
	bool is_by_rate;
};

/*
 * Periodic shallow water, Burgers' equation on a ring, and 500 trajectories of Lorenz to time 40:
 * with a state each 0.1, and with one state, from which steps run again over the whole time.
 */
extern const struct model shallow_water, burgers, lorenz, lorenz_chaotic;

/* A way to store states: writes the state that a load gives. NULL: Reel's rounding, or none. */
typedef void (*store_way)(const struct model *model, const double *x, int step, double *stored);

/* A gradient, and the run that it is computed by. */
struct sweep {
	const struct model *model;
	store_way way;
	double *x, *bar, *gradient;
	reel_plan *plan;
	reel_run *run;
};

/* Ends the program if there is no memory. */
struct sweep *sweep_open(const struct model *model, store_way way);
void sweep_close(struct sweep *sweep);

/* Computes sweep->gradient; tolerance 0: Reel's rounding is not used. */
void sweep_run(struct sweep *sweep, double tolerance);

/* The bytes of stored states in the last run, over the bytes of their doubles. */
double sweep_bytes(const struct sweep *sweep);

/* The largest error of a component, relative to the largest component. */
double sweep_error(const struct sweep *sweep, const struct sweep *exact);

struct digits_outcome {
	double bound, error; /* relative to the largest component */
	double bytes;        /* of states, over the bytes of their doubles */
	struct reel_accuracy_report report;
};

struct digits_outcome take_digits(const struct model *model, unsigned digits);

#endif
