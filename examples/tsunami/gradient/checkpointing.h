/* SPDX-License-Identifier: MIT */
/*
 * The gradient with memory for a few states, or as --checkpoint says: a plan, carried out
 * on the loop over the steps.
 */
#ifndef TSUNAMI_CHECKPOINTING_H
#define TSUNAMI_CHECKPOINTING_H

#include "gpu.h"
#include "model/layout.h"
#include "look-ahead.h"
#include "program/options.h"
#include "model/shallow.h"

struct checkpointing;

/* The plan, and the memory, disk and time that its run took. */
struct checkpointing_use {
	const char *scheme;      /* its text */
	struct layout layout;
	struct counts planned;   /* zeros of a plan that learns */
	struct counts done;
	uint64_t snapshot_bytes; /* the most that was in memory */
	uint64_t tape_bytes;     /* the most that was on the tape */
	uint64_t resident_bytes; /* the most that both took, idle memory included */
	uint64_t disk_bytes;     /* written to the disk */
	uint64_t rounded_bytes;  /* of states that were stored with loss */
	uint64_t kept_bytes;     /* that they took */
	uint64_t waits;
	double wait_seconds;     /* for the disk */
	struct look_ahead look_ahead;
	struct gpu_use gpu;
};

/*
 * As the options say. The model is the rank's, the plan is the same on all ranks. `gauge` and
 * `final` of a sweep are the caller's. On a GPU without a scheme all steps are on its tapes, or
 * states are kept if those do not fit. Ends the program if it cannot be.
 */
struct checkpointing *checkpointing_open(const struct options *options, const struct model *model);
void checkpointing_close(struct checkpointing *checkpointing);

/* Run the steps and keep nothing. */
void checkpointing_primal(struct checkpointing *checkpointing, const struct controls *controls,
			  double *gauge);

/* The tolerance of stored states from the next forward sweep on, with --digits. */
void checkpointing_set_tolerance(struct checkpointing *checkpointing, double tolerance);

/* As forward_sweep() and reverse_sweep(); a forward sweep begins anew. */
void checkpointing_forward(struct checkpointing *checkpointing, const struct controls *controls,
			   double *gauge);
void checkpointing_reverse(struct checkpointing *checkpointing, const double *weights,
			   struct controls *gradient);

/* Of the sweeps that were run last. */
struct checkpointing_use checkpointing_use(struct checkpointing *checkpointing);

#endif
