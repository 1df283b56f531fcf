/* SPDX-License-Identifier: MIT */
/* Carries out a schedule by the text of reel/plan.h alone, to compare its checker with. */
#ifndef FUZZ_WALK_H
#define FUZZ_WALK_H

#include <reel/plan.h>

enum { WALK_MAX_HELD = 2048, WALK_MAX_TAPES = 2048 };

struct walk_held {
	unsigned tier, slot;
	int64_t state;
};

struct walk {
	const struct reel_problem *problem;
	int64_t steps;
	int64_t working, end;
	struct walk_held held[WALK_MAX_HELD];
	unsigned helds;
	struct {
		int64_t first, last;
	} tape[WALK_MAX_TAPES];
	unsigned tapes;
	bool owes_drop;
	reel_action loaded;
	struct reel_schedule_report report;
};

void walk_begin(struct walk *walk, const struct reel_problem *problem, int64_t steps);

/* Carries out an action. Returns false if it is not allowed. */
bool walk_action(struct walk *walk, const reel_action *action);

#endif
