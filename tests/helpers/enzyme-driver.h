/* SPDX-License-Identifier: MIT */
/*
 * A driver of Enzyme's checkpointed loops: it asks a scheme for actions and obeys as the code does
 * that Enzyme generates. The program has the functions for a step, a turn, and a copy of the state.
 */
#ifndef TESTS_ENZYME_DRIVER_H
#define TESTS_ENZYME_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <reel/enzyme.h>

enum { STORE = 1, RESTORE, FORWARD, FIRSTUTURN, UTURN, ERROR, DONE };

struct callbacks;

/* A region of the state, in the later of the two layouts that Enzyme's header has had. */
struct region {
	void *data;
	uint64_t bytes;
	uint32_t space, flags;
	/* The early layout ends here. */
	void *shadow;
	const struct callbacks *callbacks;
};

/* Slots of the driver beside the slots of the scheme. */
enum { SLOT_BEFORE_LAST = -2, SLOT_LAST = -1 };

struct driver {
	const struct reel_enzyme_table *table;
	void *options;
	uint64_t bytes; /* of all regions */
	int64_t steps;
	bool is_while; /* the loop says itself when it ends */
	/*
	 * The program is the first argument of its functions. A turn is a step with its derivative.
	 */
	void *program;
	void (*step)(void *program, int64_t step);
	void (*turn)(void *program, int64_t step);
	void (*store)(void *program, int64_t slot, int64_t step);
	void (*restore)(void *program, int64_t slot, int64_t step);
	/* The driver counts steps without a derivative, turns, and slots that the scheme used. */
	int64_t forward_steps, turns, slots;
	void *scheme;
};

/* Runs steps up to `last`, or to the end of a loop that says itself when it ends. */
static inline void driver_advance(struct driver *driver, int64_t first, int64_t last)
{
	for (int64_t step = first; step < last; step++) {
		driver->step(driver->program, step);
		driver->forward_steps++;
		if (driver->is_while && step + 1 == driver->steps) {
			driver->table->set_nsteps(driver->scheme, driver->steps);
			return;
		}
	}
}

static inline void driver_turn(struct driver *driver, int64_t step)
{
	driver->turn(driver->program, step);
	driver->turns++;
}

/* Returns the flag that ends the sweep. */
static inline int32_t driver_sweep(struct driver *driver)
{
	for (;;) {
		struct reel_enzyme_action action;

		driver->table->next_action(driver->scheme, &action);
		switch (action.flag) {
		case STORE:
			driver->store(driver->program, action.cpnum, action.iteration);
			if (driver->slots <= action.cpnum)
				driver->slots = action.cpnum + 1;
			break;
		case RESTORE:
			driver->restore(driver->program, action.cpnum, action.iteration);
			break;
		case FORWARD:
			driver_advance(driver, action.startiteration, action.iteration);
			break;
		case FIRSTUTURN:
			driver->store(driver->program, SLOT_BEFORE_LAST, action.iteration - 1);
			driver->step(driver->program, action.iteration - 1);
			driver->forward_steps++;
			return FIRSTUTURN;
		case UTURN:
			driver_turn(driver, action.iteration - 1);
			break;
		default:
			return action.flag;
		}
	}
}

/* Returns FIRSTUTURN; DONE, if the loop has no step; or another flag, which is a failure. */
static inline int32_t driver_forward(struct driver *driver)
{
	static const int64_t paths[] = {0, 8, 2};

	driver->forward_steps = driver->turns = driver->slots = 0;
	driver->scheme = driver->table->init(driver->options,
					     driver->is_while ? -1 : driver->steps, driver->bytes);
	if (driver->table->set_paths)
		driver->table->set_paths(driver->scheme, paths, sizeof paths / sizeof *paths);
	return driver_sweep(driver);
}

/* Returns DONE, or another flag, which is a failure. */
static inline int32_t driver_reverse(struct driver *driver)
{
	int32_t flag;

	driver->store(driver->program, SLOT_LAST, driver->steps);
	driver->restore(driver->program, SLOT_BEFORE_LAST, driver->steps - 1);
	driver_turn(driver, driver->steps - 1);
	flag = driver_sweep(driver);
	if (flag == DONE)
		driver->restore(driver->program, SLOT_LAST, driver->steps);
	return flag;
}

#endif
