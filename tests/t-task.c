/* SPDX-License-Identifier: MIT */
/* Tasks: each one's tape comes back to its reverse, in an order that dependences allow. */
#include "config.h"

#include "support.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>

#include <reel/task.h>

static const int teams[] = {1, 2, 3, 5};

/* ---- By hand ---- */

static void test_by_hand(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root, *task;

	tap_case("tasks one by one");
	reel_lane_open(&root, pool, 0);
	for (int wave = 0; wave < 3; wave++) {
		for (int i = 0; i < 4; i++) {
			task = reel_task_begin(root, 10 * wave + i, NULL, 0);
			for (int k = 0; k < 30 * i; k++)
				reel_push(reel_lane_tape(task), k + wave);
		}
		if (wave != 1)
			reel_push(reel_lane_tape(root), wave);
		reel_task_wait(root);
		reel_task_wait(root);
	}
	for (int wave = 3; wave-- > 0;) {
		bool good = true;

		reel_task_wait_reverse(root);
		is_int(reel_tasks_left(root), 0, "a wait for nothing is none in reverse");
		reel_task_wait_reverse(root);
		is_int(reel_tasks_left(root), 4, "four tasks are left");
		if (wave != 1)
			good &= reel_pop(reel_lane_tape(root), int) == wave;
		for (int i = 4; i-- > 0;) {
			task = reel_task_reverse(root);
			good &= reel_task_label(task) == 10 * wave + i;
			for (int k = 30 * i; k-- > 0;)
				good &= reel_pop(reel_lane_tape(task), int) == k + wave;
			reel_task_end(task);
		}
		ok(good, "they come in the opposite order, with what they pushed");
	}
	is_int(reel_lane_error(root), 0, "no error");
	ok(reel_lane_is_empty(root), "nothing is left");
	ok(slabs_in_use(pool) <= 1, "their memory is back in the pool before the root is closed");
	reel_lane_close(root);
	close_pool(pool, "tasks");
}

/* ---- A tree ---- */

/* A value for each task, from its label alone. */
static double value_of(int64_t label, int k)
{
	return sin((double)label) + k;
}

static void grow(reel_lane *lane, int depth, int64_t label)
{
	if (depth == 0)
		return;
	for (int i = 0; i < 2; i++) {
		int64_t child = 2 * label + i;
		reel_lane *task = reel_task_begin(lane, child, NULL, 0);

		for (int k = 0; k < (int)(child % 7); k++)
			reel_push(reel_lane_tape(task), value_of(child, k));
		grow(task, depth - 1, child);
	}
	reel_task_wait(lane);
}

static struct {
	_Atomic int tasks;
	_Atomic int wrong;
	int threads;
} tree;

static void shrink(void *context, reel_lane *task)
{
	int64_t label = reel_task_label(task);

	atomic_fetch_add(&tree.tasks, 1);
	if (reel_tasks_reverse(task, shrink, context, 0, 0))
		atomic_fetch_add(&tree.wrong, 1);
	for (int k = (int)(label % 7); k-- > 0;)
		if (reel_pop(reel_lane_tape(task), double) != value_of(label, k))
			atomic_fetch_add(&tree.wrong, 1);
}

static void test_tree(void)
{
	reel_lane *root;

	tap_case("a tree of tasks");
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < COUNT(teams); i++) {
		memset(&tree, 0, sizeof tree);
		grow(root, 8, 1);
		is_int(reel_tasks_reverse(root, shrink, NULL, teams[i], 0), 0,
		       "is reversed by %d threads", teams[i]);
		is_int(tree.tasks, 510, "every task once");
		is_int(tree.wrong, 0, "with its values");
		ok(reel_lane_is_empty(root), "nothing is left");
	}
	reel_lane_close(root);
}

/* ---- Dependences ---- */

#define CELLS 6
#define TASKS 300

/* Which task did something last with a cell, and how many do now. */
static struct {
	reel_dependence dependence[TASKS][2];
	_Atomic int readers[CELLS], writers[CELLS], shared[CELLS];
	int last_writer[CELLS];
	_Atomic int wrong, ran;
	bool in_order;
	int last_of_cell[CELLS];
	char cell[CELLS];
} graph;

static unsigned random_below(unsigned below)
{
	static unsigned state = 12345;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

static void make_graph(reel_lane *root)
{
	static const enum reel_dependence_kind kinds[] = {REEL_TASK_IN, REEL_TASK_IN, REEL_TASK_OUT,
							  REEL_TASK_IN_SHARED};

	for (int t = 0; t < TASKS; t++) {
		unsigned a = random_below(CELLS), b = (a + 1 + random_below(CELLS - 1)) % CELLS;

		graph.dependence[t][0] = (reel_dependence){&graph.cell[a], kinds[random_below(4)]};
		graph.dependence[t][1] = (reel_dependence){&graph.cell[b], kinds[random_below(4)]};
		reel_task_begin(root, t, graph.dependence[t], 2);
	}
	reel_task_wait(root);
}

static void claim(int task, const reel_dependence *use)
{
	int cell = (int)((const char *)use->address - graph.cell);
	int writers, readers, shared;

	if (use->kind == REEL_TASK_OUT) {
		writers = atomic_fetch_add(&graph.writers[cell], 1);
		readers = atomic_load(&graph.readers[cell]);
		shared = atomic_load(&graph.shared[cell]);
		if (writers || readers || shared || graph.last_writer[cell] <= task)
			atomic_fetch_add(&graph.wrong, 1);
		graph.last_writer[cell] = task;
		return;
	}
	if (use->kind == REEL_TASK_IN && atomic_fetch_add(&graph.readers[cell], 1))
		atomic_fetch_add(&graph.wrong, 1);
	if (use->kind == REEL_TASK_IN && graph.in_order) {
		if (graph.last_of_cell[cell] <= task)
			atomic_fetch_add(&graph.wrong, 1);
		graph.last_of_cell[cell] = task;
	}
	if (use->kind == REEL_TASK_IN_SHARED)
		atomic_fetch_add(&graph.shared[cell], 1);
	/* All writers that were made after it have been reversed, and none that was before. */
	if (atomic_load(&graph.writers[cell]) || graph.last_writer[cell] <= task)
		atomic_fetch_add(&graph.wrong, 1);
	for (int t = task + 1; t < TASKS && t < graph.last_writer[cell]; t++)
		for (int i = 0; i < 2; i++)
			if (graph.dependence[t][i].address == use->address &&
			    graph.dependence[t][i].kind == REEL_TASK_OUT)
				atomic_fetch_add(&graph.wrong, 1);
}

static void let_go(const reel_dependence *use)
{
	int cell = (int)((const char *)use->address - graph.cell);

	if (use->kind == REEL_TASK_OUT)
		atomic_fetch_sub(&graph.writers[cell], 1);
	else if (use->kind == REEL_TASK_IN)
		atomic_fetch_sub(&graph.readers[cell], 1);
	else
		atomic_fetch_sub(&graph.shared[cell], 1);
}

static void reverse_node(void *context, reel_lane *task)
{
	int label = (int)reel_task_label(task);

	(void)context;
	claim(label, &graph.dependence[label][0]);
	claim(label, &graph.dependence[label][1]);
	for (volatile unsigned i = 0; i < 200; i++)
		;
	let_go(&graph.dependence[label][0]);
	let_go(&graph.dependence[label][1]);
	atomic_fetch_add(&graph.ran, 1);
}

static void test_graph(void)
{
	reel_lane *root;

	tap_case("dependences");
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < 5 * COUNT(teams); i++) {
		memset(&graph, 0, sizeof graph);
		for (int cell = 0; cell < CELLS; cell++)
			graph.last_writer[cell] = graph.last_of_cell[cell] = TASKS;
		graph.in_order = i % 2;
		make_graph(root);
		reel_tasks_reverse(root, reverse_node, NULL, teams[i % COUNT(teams)],
				   graph.in_order ? REEL_TASKS_IN_ORDER : 0);
		ok(!graph.wrong && graph.ran == TASKS && reel_lane_is_empty(root),
		   "%d threads keep to the dependences of %d tasks%s", teams[i % COUNT(teams)],
		   TASKS, graph.in_order ? ", in order" : "");
	}
	reel_lane_close(root);
}

/* ---- Replay and errors ---- */

static void count_task(void *context, reel_lane *task)
{
	(void)context;
	(void)task;
	atomic_fetch_add(&tree.tasks, 1);
}

static void test_replay(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root;

	tap_case("replay");
	reel_lane_open(&root, pool, 0);
	grow(root, 5, 1);
	reel_lane_hold(root);
	for (int times = 0; times < 3; times++) {
		memset(&tree, 0, sizeof tree);
		reel_lane_replay(root);
		reel_tasks_reverse(root, shrink, NULL, 2, 0);
		is_int(reel_lane_error(root), 0, "no error");
		ok(tree.tasks == 62 && !tree.wrong, "every task, once more");
		grow(root, 3, 1);
	}
	reel_lane_replay(root);
	reel_lane_release(root);
	memset(&tree, 0, sizeof tree);
	reel_tasks_reverse(root, shrink, NULL, 2, 0);
	ok(tree.tasks == 62 && !tree.wrong && reel_lane_is_empty(root), "and for the last time");
	ok(slabs_in_use(pool) <= 1, "all memory is back, but for the root's own");
	reel_lane_close(root);
	close_pool(pool, "replay");
}

/* In a hold, tasks of later waits that have been reversed are still there. */
static void test_replay_of_waits(void)
{
	static reel_dependence dependence[64];
	reel_lane *root;

	tap_case("replay of two waits");
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 64; i++)
		dependence[i] = (reel_dependence){&graph.cell[i % CELLS], REEL_TASK_IN};
	for (int wait = 0; wait < 2; wait++) {
		for (int i = 0; i < 4; i++)
			reel_task_begin(root, 1, dependence, wait ? 0 : 64);
		reel_task_wait(root);
	}
	reel_lane_hold(root);
	for (int times = 0; times < 2; times++) {
		memset(&tree, 0, sizeof tree);
		reel_lane_replay(root);
		for (int wait = 0; wait < 2; wait++)
			is_int(reel_tasks_reverse(root, count_task, NULL, 2, 0), 0, "reversed");
		is_int(tree.tasks, 8, "every task of both, once more");
	}
	reel_lane_close(root);
}

static void leave_it(void *context, reel_lane *task)
{
	(void)context;
	(void)task;
}

static void test_errors(void)
{
	reel_lane *root, *task;

	tap_case("errors");
	record_reports();
	reel_lane_open(&root, NULL, 0);
	task = reel_task_begin(root, 7, NULL, 0);
	reel_push(reel_lane_tape(task), 1.0);
	reel_task_wait(root);
	is_int(reel_tasks_reverse(root, leave_it, NULL, 2, 0), -EBADMSG,
	       "a task that is not reversed is found");
	ok(strstr(reported.message, "label 7") != NULL, "and named: %s", reported.message);
	reel_lane_close(root);

	reel_lane_open(&root, NULL, 0);
	task = reel_task_reverse(root);
	ok(isnan(reel_pop(reel_lane_tape(task), double)), "a task that was not begun gives ones");
	is_int(reel_lane_error(root), -EBADMSG, "and an error: %s", reported.message);
	reel_lane_close(root);

	reel_lane_open(&root, NULL, 0);
	reel_task_begin(root, 0, NULL, 0);
	reel_task_wait(root);
	reel_task_begin(root, 1, NULL, 0);
	reel_task_wait(root);
	reel_task_wait_reverse(root);
	reel_task_wait_reverse(root);
	is_int(reel_lane_error(root), -EBADMSG, "a wait whose tasks are not reversed: %s",
	       reported.message);
	reel_lane_close(root);
	reel_set_error_handler(NULL, NULL);
}

int main(void)
{
	tap_begin();
	test_by_hand();
	test_tree();
	test_graph();
	test_replay();
	test_replay_of_waits();
	test_errors();
	return tap_end();
}
