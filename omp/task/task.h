/* SPDX-License-Identifier: MIT */
/* The functions and structs that the modules of tasks share. */
#ifndef REEL_OMP_TASK_H
#define REEL_OMP_TASK_H

#include "omp/lane/lane-task.h"

/* ---- task.c ---- */

/* Like reel_task_reverse(), but returns the task, or NULL. */
struct reel_task *reel_task_take(reel_lane *parent);

/* ---- task-add.c ---- */

/* Gives a new task an adder for each dependence REEL_TASK_IN_ADD. */
void reel_adders_open(struct reel_task *task);
/* Puts the adders of the tasks that are left to reverse in their order. */
void reel_adders_order(reel_lane *parent);
/* Called at the end of the task: its kept additions are made when its turn comes, by any thread. */
void reel_adders_end(struct reel_task *task);

#endif
