/* SPDX-License-Identifier: MIT */
/*
 * What a lane keeps of the tasks that it made: a list, in the order in which they were made,
 * which is that of their notes. The program's tasks touch only their own, and `ended`.
 */
#ifndef REEL_OMP_TASK_H
#define REEL_OMP_TASK_H

#include <reel/task.h>

#include "lane.h"

struct reel_task {
	reel_lane *lane;
	struct reel_task *below; /* made before it */
	int64_t label;
	int32_t born; /* in a hold of this depth; 0: in none */
	/* It has been reversed. Release in reel_task_end(), acquire by the parent. */
	_Atomic bool ended;
	int32_t dependences;
	reel_dependence dependence[];
};

int reel_tasks_error(const reel_lane *parent);
uint64_t reel_tasks_bytes(const reel_lane *parent, uint64_t (*bytes_of)(const reel_lane *lane));
int reel_tasks_hold(reel_lane *parent);
int reel_tasks_replay(reel_lane *parent);
int reel_tasks_release(reel_lane *parent);
void reel_tasks_close(reel_lane *parent);

/* The same as reel_task_reverse(), or NULL. */
struct reel_task *reel_task_take(reel_lane *parent);

#endif
