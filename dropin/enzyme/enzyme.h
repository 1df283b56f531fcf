/* SPDX-License-Identifier: MIT */
/*
 * A loop that Enzyme checkpoints, on a run that is driven.
 *
 *	scheme.c    the table: Enzyme's questions, and Reel's actions
 *	regions.c   the regions of a state, and how they are copied
 *	options.c   the plan and the run, from the options and the environment
 *
 * One thread at a time uses a loop.
 */
#ifndef REEL_ENZYME_LOOP_H
#define REEL_ENZYME_LOOP_H

#include <stdbool.h>

#include <reel/enzyme.h>
#include <reel/parcel.h>

/* Enzyme's flags of actions. */
enum {
	ENZYME_STORE = 1,
	ENZYME_RESTORE = 2,
	ENZYME_FORWARD = 3,
	ENZYME_FIRSTUTURN = 4,
	ENZYME_UTURN = 5,
	ENZYME_ERROR = 6,
	ENZYME_DONE = 7
};

/* Slots beside the plan's: the state before the last step, and the last state. */
enum { SLOT_BEFORE_LAST = -2, SLOT_LAST = -1, KEPT = 2 };

/* Where the state lies in one call: the regions that Enzyme names, or the arguments of the step. */
struct state_place {
	const void *regions;
	uint64_t n;
	void *env;
	int64_t slot;
};

struct enzyme_loop {
	struct reel_enzyme_options options;
	reel_plan *plan;
	reel_run *run;
	reel_pool *pool;
	uint64_t bytes; /* of all regions, or written by save() */
	int64_t steps;  /* or REEL_UNKNOWN_STEPS */
	int64_t first_slots; /* number of slots of the first tier */
	int error;      /* the first one; the loop gives no action any more */
	bool has_turned;
	bool is_copied; /* the STORE or RESTORE that was handed out last */
	reel_action action;
	struct state_place place;
	reel_parcel *kept[KEPT];
};

/* Notes the first error, with one line on stderr. */
void reel_enzyme_fail(struct enzyme_loop *loop, int error, const char *what);

/*
 * scheme.c: the table that Enzyme asks for in annotated loops; its header has another type.
 * The configuration of this table is Enzyme's EnzymeCkptConfig, of which the number of snapshots is
 * taken where no plan says a number of slots.
 */
const struct reel_enzyme_table *__enzyme_checkpoint_builtin(int64_t mode);

/* options.c: opens plan and run. Returns 0 or an error, whose text reel_error_text() has. */
int reel_enzyme_open(struct enzyme_loop *loop, int64_t snapshots);

/* regions.c: `save` and `load` of the run's model; the context is the loop. */
int reel_enzyme_save(void *context, const void *state, void *snapshot);
int reel_enzyme_load(void *context, void *state, const void *snapshot);

#endif
