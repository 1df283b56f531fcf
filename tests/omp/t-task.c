/* SPDX-License-Identifier: MIT */
/* Tests tasks: the reverse of a task gets its tape, in an order that dependences allow. */
#include "config.h"

#include "helpers/support.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>

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
		uint64_t before;
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
			before = slabs_in_use(pool);
			reel_task_end(task);
			good &= i == 0 || slabs_in_use(pool) < before;
		}
		ok(good,
		   "tasks come in the opposite order, with what they pushed, and leave no slab");
	}
	is_int(reel_lane_error(root), 0, "no error");
	ok(reel_lane_is_empty(root), "nothing is left");
	ok(slabs_in_use(pool) <= 1,
	   "the memory of the tasks is back in the pool before the root is closed");
	reel_lane_close(root);
	close_pool(pool, "tasks");
}

/* A sweep may reverse waits of lanes that have not waited. */
static void test_waits_for_nothing(void)
{
	reel_lane *root, *task;

	tap_case("waits that were not recorded");
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 3; i++)
		reel_task_wait_reverse(root);
	is_int(reel_lane_error(root), 0, "a lane that has never waited reverses waits for nothing");
	reel_task_begin(root, 5, NULL, 0);
	reel_task_wait(root);
	reel_task_wait_reverse(root);
	is_int(reel_tasks_left(root), 1, "and has its tasks when it waits later");
	task = reel_task_reverse(root);
	is_int(reel_task_label(task), 5, "by their labels");
	reel_task_end(task);
	is_int(reel_lane_error(root), 0, "no error");
	reel_lane_close(root);
}

/* ---- A tree ---- */

/* Returns a value of a task, which depends only on its label. */
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
		       "a tree of tasks is reversed by %d threads", teams[i]);
		is_int(tree.tasks, 510, "every task once");
		is_int(tree.wrong, 0, "every task has its values");
		ok(reel_lane_is_empty(root), "nothing is left");
	}
	reel_lane_close(root);
}

/* ---- Dependences ---- */

static void count_task(void *context, reel_lane *task)
{
	(void)context;
	(void)task;
	atomic_fetch_add(&tree.tasks, 1);
}

static struct {
	_Atomic int inside; /* number of bodies that run */
	_Atomic bool wrong;
} crowd;

static void stay_alone(void *context, reel_lane *task)
{
	(void)context;
	(void)task;
	if (atomic_fetch_add(&crowd.inside, 1) > 0)
		atomic_store(&crowd.wrong, true);
	usleep(300);
	atomic_fetch_sub(&crowd.inside, 1);
}

/* Reversed tasks add to the adjoint of the address that they read, so they run one at a time. */
static void test_readers_take_turns(void)
{
	static const enum reel_dependence_kind kinds[] = {REEL_TASK_IN, REEL_TASK_COMMUTES};
	reel_lane *root;
	char cell = 0;

	tap_case("tasks that read one address");
	reel_lane_open(&root, NULL, 0);
	for (size_t k = 0; k < COUNT(kinds); k++) {
		const reel_dependence use = {&cell, kinds[k]};

		memset(&crowd, 0, sizeof crowd);
		for (int t = 0; t < 20; t++)
			reel_task_begin(root, t, &use, 1);
		reel_task_wait(root);
		reel_tasks_reverse(root, stay_alone, NULL, 3, 0);
		ok(!crowd.wrong && reel_lane_is_empty(root),
		   "tasks that read one address are reversed one at a time");
	}
	reel_lane_close(root);
}

#ifdef _OPENMP
enum { CROWD = 3 };

/* The task with label 0 is reversed first. The other tasks wait until all of them run. */
static void meet(void *context, reel_lane *task)
{
	(void)context;
	if (reel_task_label(task) == 0) {
		usleep(20000);
		return;
	}
	atomic_fetch_add(&crowd.inside, 1);
	for (int wait = 0; wait < 20000 && atomic_load(&crowd.inside) < CROWD; wait++)
		usleep(500);
	if (atomic_load(&crowd.inside) < CROWD)
		atomic_store(&crowd.wrong, true);
}

/* While the first task is reversed, the other threads sleep. */
static void test_ready_tasks_run_at_once(void)
{
	reel_dependence all[CROWD];
	char cell[CROWD] = {0};
	reel_lane *root;

	tap_case("tasks that become ready at once");
	memset(&crowd, 0, sizeof crowd);
	reel_lane_open(&root, NULL, 0);
	for (int t = 0; t < CROWD; t++) {
		all[t] = (reel_dependence){&cell[t], REEL_TASK_OUT};
		reel_task_begin(root, t + 1, &all[t], 1);
	}
	reel_task_begin(root, 0, all, CROWD);
	reel_task_wait(root);
	reel_tasks_reverse(root, meet, NULL, CROWD, 0);
	ok(!crowd.wrong && reel_lane_is_empty(root), "wake a thread for each of them");
	reel_lane_close(root);
}
#endif

#define CELLS 6
#define TASKS 300
#define KINDS (REEL_TASK_COMMUTES + 1)

static struct {
	reel_dependence dependence[TASKS][2];
	_Atomic int running[CELLS][KINDS];
	_Atomic bool ended[TASKS];
	_Atomic int wrong, ran;
	bool in_order;
	char cell[CELLS];
	double sum[CELLS];
} graph;

static unsigned random_below(unsigned below)
{
	static unsigned state = 12345;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

static enum reel_dependence_kind random_kind(void)
{
	static const enum reel_dependence_kind kinds[] = {
		REEL_TASK_IN,	     REEL_TASK_IN,	 REEL_TASK_OUT,	    REEL_TASK_IN_SHARED,
		REEL_TASK_IN_SHARED, REEL_TASK_COMMUTES, REEL_TASK_COMMUTES, REEL_TASK_IN_ADD,
		REEL_TASK_IN_ADD,    REEL_TASK_IN_ADD};

	return kinds[random_below(COUNT(kinds))];
}

static void make_graph(reel_lane *root)
{
	for (int t = 0; t < TASKS; t++) {
		unsigned a = random_below(CELLS), b = (a + 1 + random_below(CELLS - 1)) % CELLS;

		graph.dependence[t][0] = (reel_dependence){&graph.cell[a], random_kind()};
		graph.dependence[t][1] = (reel_dependence){&graph.cell[b], random_kind()};
		reel_task_begin(root, t, graph.dependence[t], 2);
	}
	reel_task_wait(root);
}

static int cell_of(const reel_dependence *use)
{
	return (int)((const char *)use->address - graph.cell);
}

static bool is_one_at_a_time(enum reel_dependence_kind kind)
{
	return kind == REEL_TASK_IN || kind == REEL_TASK_COMMUTES;
}

/*
 * Returns true if a later task that uses the address has not ended, unless tasks of this kind may
 * run in any order.
 */
static bool comes_too_early(int task, const reel_dependence *use)
{
	bool in_set = use->kind != REEL_TASK_OUT &&
		      !(graph.in_order && is_one_at_a_time(use->kind));

	for (int t = task + 1; t < TASKS; t++)
		for (int i = 0; i < 2; i++) {
			const reel_dependence *other = &graph.dependence[t][i];

			if (other->address != use->address)
				continue;
			in_set &= other->kind == use->kind;
			if (!in_set && !atomic_load(&graph.ended[t]))
				return true;
		}
	return false;
}

static double part_of(int task)
{
	return 1.0 / (3 + task);
}

static void claim(reel_lane *lane, int task, const reel_dependence *use)
{
	int others = atomic_fetch_add(&graph.running[cell_of(use)][use->kind], 1);
	double part = part_of(task);

	if (comes_too_early(task, use) || (others && is_one_at_a_time(use->kind)))
		atomic_fetch_add(&graph.wrong, 1);
	if (use->kind == REEL_TASK_IN_ADD)
		reel_task_add(lane, use->address, &graph.sum[cell_of(use)], &part, 1);
}

static void reverse_node(void *context, reel_lane *task)
{
	int label = (int)reel_task_label(task);

	(void)context;
	for (int i = 0; i < 2; i++)
		claim(task, label, &graph.dependence[label][i]);
	for (volatile unsigned i = 0; i < 200; i++)
		;
	for (int i = 0; i < 2; i++) {
		const reel_dependence *use = &graph.dependence[label][i];

		atomic_fetch_sub(&graph.running[cell_of(use)][use->kind], 1);
	}
	atomic_store(&graph.ended[label], true);
	atomic_fetch_add(&graph.ran, 1);
}

static bool has_sums_of_one_thread(void)
{
	double sum[CELLS] = {0};

	for (int t = TASKS; t-- > 0;)
		for (int i = 0; i < 2; i++)
			if (graph.dependence[t][i].kind == REEL_TASK_IN_ADD)
				sum[cell_of(&graph.dependence[t][i])] += part_of(t);
	return memcmp(sum, graph.sum, sizeof sum) == 0;
}

static void test_graph(void)
{
	reel_lane *root;

	tap_case("dependences");
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < 5 * COUNT(teams); i++) {
		int threads = teams[i % COUNT(teams)];

		memset(&graph, 0, sizeof graph);
		graph.in_order = i % 2;
		make_graph(root);
		reel_tasks_reverse(root, reverse_node, NULL, threads,
				   graph.in_order ? REEL_TASKS_IN_ORDER : 0);
		ok(!graph.wrong && graph.ran == TASKS && reel_lane_is_empty(root),
		   "%d threads keep to the dependences of %d tasks%s", threads, TASKS,
		   graph.in_order ? ", in order" : "");
		ok(has_sums_of_one_thread(), "sums have the bits of one thread");
	}
	reel_lane_close(root);
}

/* Tasks 0 to 2 are x += a[i], in any order. Tasks 3 to 5 are y[i - 3] = factor[i - 3] * x. */
static const double factor[3] = {2, 3, 5};

struct commuting {
	double x_bar, a_bar[3];
};

static void reverse_commuting(void *context, reel_lane *task)
{
	struct commuting *at = context;
	int i = (int)reel_task_label(task);

	if (i < 3)
		at->a_bar[i] += at->x_bar;
	else
		at->x_bar += factor[i - 3];
}

static void test_commuting(void)
{
	reel_lane *root;

	tap_case("tasks that commute, before tasks that read");
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < 2 * COUNT(teams); i++) {
		struct commuting at = {0};

		for (int k = 0; k < 6; k++)
			reel_task_begin(root, k,
					&(reel_dependence){&at, k < 3 ? REEL_TASK_COMMUTES
								      : REEL_TASK_IN}, 1);
		reel_task_wait(root);
		reel_tasks_reverse(root, reverse_commuting, &at, teams[i / 2], i % 2);
		ok(at.a_bar[0] == 10 && at.a_bar[1] == 10 && at.a_bar[2] == 10,
		   "are reversed after these, by %d threads%s", teams[i / 2],
		   i % 2 ? ", in order" : "");
	}
	reel_lane_close(root);
}

static void test_address_twice(void)
{
	const enum reel_dependence_kind kinds[] = {REEL_TASK_IN, REEL_TASK_OUT, REEL_TASK_IN_ADD,
						   REEL_TASK_IN_SHARED, REEL_TASK_COMMUTES};
	static const char place;
	reel_lane *root;

	tap_case("an address twice");
	reel_lane_open(&root, NULL, 0);
	memset(&tree, 0, sizeof tree);
	for (unsigned i = 0; i < COUNT(kinds); i++)
		for (unsigned k = 0; k < COUNT(kinds); k++)
			reel_task_begin(root, 0, (reel_dependence[]){{&place, kinds[i]},
								     {&place, kinds[k]}}, 2);
	reel_task_wait(root);
	is_int(reel_tasks_reverse(root, count_task, NULL, 2, 0), 0, "an address twice is no error");
	is_int(tree.tasks, COUNT(kinds) * COUNT(kinds), "every task is reversed");
	reel_lane_close(root);
}

/* ---- Additions ---- */

/* In this order the sum of these numbers is 1; in other orders it is 0 or 2. */
static const double parts[3] = {1, -0x1p60, 0x1p60};
static double sum[2];
static float float_sum[2];

static reel_lane *record_additions(void)
{
	const reel_dependence use[] = {{sum, REEL_TASK_IN_ADD}, {float_sum, REEL_TASK_IN_ADD}};
	reel_lane *root;

	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 3; i++)
		reel_task_begin(root, i, use, 2);
	reel_task_wait(root);
	return root;
}

static void take_tasks(reel_lane *root, reel_lane **task)
{
	memset(sum, 0, sizeof sum);
	memset(float_sum, 0, sizeof float_sum);
	reel_task_wait_reverse(root);
	for (int i = 3; i-- > 0;)
		task[i] = reel_task_reverse(root);
}

static void add_part(reel_lane *task)
{
	double part = parts[reel_task_label(task)], values[2] = {part, part};
	float floats[2] = {(float)part, (float)part};

	reel_task_add(task, sum, sum, values, 2);
	reel_task_add_float(task, float_sum, float_sum, floats, 2);
}

static bool sums_are(double expected)
{
	return sum[0] == expected && sum[1] == expected && float_sum[0] == (float)expected &&
	       float_sum[1] == (float)expected;
}

static void test_additions(void)
{
	reel_lane *root = record_additions(), *task[3];

	tap_case("additions");
	reel_lane_hold(root);
	for (int times = 0; times < 2; times++) {
		reel_lane_replay(root);
		take_tasks(root, task);
		add_part(task[0]);
		reel_task_end(task[0]);
		ok(sums_are(0), "what the last one adds waits for its turn");
		add_part(task[2]);
		ok(sums_are(parts[2]), "what the first one adds does not");
		reel_task_end(task[2]);
		ok(sums_are(parts[2]), "the turn is the second one's then");
		add_part(task[1]);
		ok(sums_are(0), "the task whose turn has come adds at once");
		reel_task_end(task[1]);
		ok(sums_are(1), "the last task's part is added after it");
	}
	is_int(reel_lane_release(root), 0, "no error");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
}

/* Additions of a task before its turn come before its additions after its turn. */
static void test_turn_between_additions(void)
{
	reel_lane *root = record_additions(), *task[3];

	tap_case("the turn comes between two additions");
	take_tasks(root, task);
	reel_task_end(task[2]);
	reel_task_add(task[0], sum, sum, &parts[2], 1);
	reel_task_add(task[0], sum, sum, &parts[1], 1);
	reel_task_end(task[1]);
	is_double(sum[0], 0, "nobody has added yet");
	reel_task_add(task[0], sum, sum, &parts[0], 1);
	reel_task_end(task[0]);
	is_double(sum[0], 1, "three additions of one task keep their order");
	reel_lane_close(root);
}

static void test_additions_given_up(void)
{
	reel_lane *root = record_additions(), *task[3];

	tap_case("a reverse sweep that is given up");
	reel_lane_hold(root);
	take_tasks(root, task);
	add_part(task[0]);
	reel_task_end(task[0]);
	reel_lane_replay(root);
	take_tasks(root, task);
	for (int i = 3; i-- > 0;) {
		add_part(task[i]);
		reel_task_end(task[i]);
	}
	ok(sums_are(1), "a sweep that is given up adds nothing to the next one");
	reel_lane_replay(root);
	take_tasks(root, task);
	add_part(task[1]);
	reel_lane_close(root);
	ok(sums_are(0), "nothing is added after the end of all tasks");
}

static void test_wrong_additions(void)
{
	const reel_dependence use = {sum, REEL_TASK_IN};
	reel_lane *root, *task;

	tap_case("additions that were not announced");
	record_reports();
	reel_lane_open(&root, NULL, 0);
	task = reel_task_begin(root, 0, &use, 1);
	sum[0] = 0;
	reel_task_add(task, sum, sum, &parts[0], 1);
	is_int(reel_lane_error(task), -EINVAL,
	       "additions that were not announced are refused: %s", reported.message);
	reel_task_add(root, sum, sum, &parts[0], 1);
	is_int(reel_tape_error(reel_lane_tape(root)), -EINVAL,
	       "additions of a lane that is no task's are refused");
	ok(sum[0] == 0, "nothing is added");
	reel_lane_close(root);
	reel_set_error_handler(NULL, NULL);
}

/* ---- Replay and errors ---- */

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
		ok(tree.tasks == 62 && !tree.wrong, "every task is reversed once more");
		grow(root, 3, 1);
	}
	reel_lane_replay(root);
	reel_lane_release(root);
	memset(&tree, 0, sizeof tree);
	reel_tasks_reverse(root, shrink, NULL, 2, 0);
	ok(tree.tasks == 62 && !tree.wrong && reel_lane_is_empty(root),
	   "every task is reversed for the last time");
	ok(slabs_in_use(pool) <= 1, "all memory is back, but for the root's own");
	reel_lane_close(root);
	close_pool(pool, "replay");
}

/* In a hold tasks of later waits still exist after they have been reversed. */
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

/* Tasks without a wait count again after a replay. */
static void test_replay_before_wait(void)
{
	reel_lane *root;

	tap_case("replay of tasks that were not waited for");
	reel_lane_open(&root, NULL, 0);
	for (int i = 0; i < 3; i++)
		reel_task_begin(root, i, NULL, 0);
	reel_lane_hold(root);
	for (int times = 0; times < 2; times++) {
		reel_lane_replay(root);
		is_int(reel_tasks_left(root), 3, "all are there");
		reel_task_end(reel_task_reverse(root));
	}
	reel_lane_close(root);
}

/* ---- Tasks of another thread ---- */

static void *record_checked(void *root)
{
	reel_push(reel_lane_tape(reel_task_begin(root, 0, NULL, 0)), 5.0);
	reel_task_wait(root);
	return NULL;
}

static void pop_five(void *context, reel_lane *task)
{
	*(double *)context = reel_pop(reel_lane_tape(task), double);
}

static void test_other_thread(void)
{
	reel_lane *root;
	pthread_t thread;
	double popped = 0;

	tap_case("checked tasks of another thread");
	reel_lane_open(&root, NULL, REEL_CHECKED);
	if (pthread_create(&thread, NULL, record_checked, root))
		abort();
	pthread_join(thread, NULL);
	is_int(reel_tasks_reverse(root, pop_five, &popped, 1, 0), 0,
	       "the checked tasks are reversed");
	ok(popped == 5.0, "the checked tasks pop their values");
	reel_lane_close(root);
}

static void leave_it(void *context, reel_lane *task)
{
	(void)context;
	(void)task;
}

/* ---- Tasks made in a hold, above others that were reversed in it ---- */

static double sum_in_hold;

static void add_label(void *context, reel_lane *task)
{
	double label = (double)reel_task_label(task);

	(void)context;
	reel_task_add(task, &sum_in_hold, &sum_in_hold, &label, 1);
}

/* Makes tasks first to last - 1, with one wait. */
static void make_tasks(reel_lane *root, int first, int last)
{
	const reel_dependence use = {&sum_in_hold, REEL_TASK_IN_ADD};

	for (int i = first; i < last; i++)
		reel_task_begin(root, i, &use, 1);
	reel_task_wait(root);
}

static bool sums_to(reel_lane *root, double right)
{
	sum_in_hold = 0;
	return reel_tasks_reverse(root, add_label, NULL, 2, 0) == 0 && sum_in_hold == right;
}

static void test_tasks_made_in_hold(void)
{
	reel_lane *root;

	tap_case("tasks made in a hold");
	reel_lane_open(&root, NULL, 0);
	make_tasks(root, 1, 4);
	make_tasks(root, 10, 12);
	reel_lane_hold(root);
	ok(sums_to(root, 21), "the later ones are reversed");
	make_tasks(root, 100, 102);
	ok(sums_to(root, 201), "tasks made after the first reversal are reversed");
	ok(sums_to(root, 6), "tasks made before the hold are reversed last");
	reel_lane_replay(root);
	ok(sums_to(root, 21), "the later ones are reversed after a replay");
	make_tasks(root, 100, 101);
	ok(sums_to(root, 100), "the replayed hold takes another task");
	reel_lane_release(root);
	ok(sums_to(root, 6), "tasks made before the hold are reversed after it");
	ok(reel_lane_is_empty(root), "nothing is left");
	reel_lane_close(root);
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
	ok(strstr(reported.message, "label 7") != NULL,
	   "the report names the task: %s", reported.message);
	reel_lane_close(root);

	reel_lane_open(&root, NULL, 0);
	task = reel_task_reverse(root);
	ok(isnan(reel_pop(reel_lane_tape(task), double)), "a task that was not begun gives ones");
	is_int(reel_lane_error(root), -EBADMSG,
	       "a task that was not begun is an error: %s", reported.message);
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

	/* The region of a later statement is still above the notes of the tasks. */
	reel_lane_open(&root, NULL, 0);
	reel_task_begin(root, 0, NULL, 0);
	reel_task_wait(root);
	reel_task_wait_reverse(root);
	reel_region_end(reel_region_begin(root, 1));
	reel_task_end(reel_task_reverse(root));
	is_int(reel_lane_error(root), -EBADMSG, "a task whose note is not the next one: %s",
	       reported.message);
	is_int(reel_tasks_left(root), 0, "no task is left to wait for");
	reel_lane_close(root);

	/* The region between the tasks is not reversed, so the first task is not found. */
	reel_lane_open(&root, NULL, 0);
	reel_task_begin(root, 0, NULL, 0);
	reel_region_end(reel_region_begin(root, 1));
	reel_task_begin(root, 1, NULL, 0);
	reel_task_wait(root);
	tree.tasks = 0;
	is_int(reel_tasks_reverse(root, count_task, NULL, 1, 0), -EBADMSG,
	       "a region between tasks is left out: %s", reported.message);
	is_int(tree.tasks, 0, "no body is called");
	reel_lane_close(root);
	reel_set_error_handler(NULL, NULL);
}

/* ---- A body that is left ---- */

static jmp_buf place;

static void jump_at_three(void *context, reel_lane *task)
{
	atomic_int *calls = context;

	atomic_fetch_add(calls, 1);
	if (reel_task_label(task) == 3)
		longjmp(place, 1);
	(void)reel_pop(reel_lane_tape(task), int);
}

static reel_lane *record_eight(void)
{
	reel_lane *root;

	reel_lane_open(&root, NULL, 0);
	reel_push(reel_lane_tape(root), 1.0);
	for (int i = 0; i < 8; i++) {
		reel_push(reel_lane_tape(reel_task_begin(root, i, NULL, 0)), i);
		if (i % 4 == 3)
			reel_task_wait(root);
	}
	return root;
}

static void pop_it(void *context, reel_lane *task)
{
	atomic_int *calls = context;

	atomic_fetch_add(calls, 1);
	(void)reel_pop(reel_lane_tape(task), int);
}

static void test_body_that_is_left(void)
{
	reel_lane *root = record_eight(), *other = record_eight();
	static atomic_int calls;

	tap_case("a body that is left by longjmp()");
	record_reports();
	is_int(reel_tasks_reverse(root, jump_at_three, &calls, 1, 0), 0, "four tasks are reversed");
	if (!setjmp(place))
		reel_tasks_reverse(root, jump_at_three, &calls, 1, 0);
	is_int(reel_lane_error(root), -EINVAL, "the root has an error after the jump");
	alarm(60);
	for (int wait = 0, done = calls; wait < 2; wait++, done += 4) {
		is_int(reel_tasks_reverse(other, pop_it, &calls, 2, 0), 0,
		       "another root is reversed");
		is_int(calls - done, 4, "the other root is reversed by its own bodies");
	}
	calls = 0;
	is_int(reel_tasks_reverse(root, pop_it, &calls, 1, 0), -EINVAL, "the root goes on: %s",
	       reported.message);
	is_int(calls, 0, "no body is called for it");
	ok(isnan(reel_pop(reel_lane_tape(root), double)),
	   "the tape of the root with an error gives all ones");
	alarm(0);
	reel_lane_close(root);
	reel_lane_close(other);
	reel_set_error_handler(NULL, NULL);
}

/* ---- Calls that are left out of the reverse sweep ---- */

enum omission { NOTHING_OMITTED, WAIT_OMITTED, END_OMITTED, SECOND_WAIT_OMITTED,
		FIRST_WAIT_UNRECORDED };

static void reverse_without(reel_lane *root, enum omission omission)
{
	for (int wait = 0; wait < 2; wait++) {
		if (omission != WAIT_OMITTED && !(wait && omission == SECOND_WAIT_OMITTED))
			reel_task_wait_reverse(root);
		while (reel_tasks_left(root)) {
			reel_lane *task = reel_task_reverse(root);

			(void)reel_pop(reel_lane_tape(task), int);
			if (omission != END_OMITTED)
				reel_task_end(task);
		}
	}
}

/* Returns the error that is reported in the reverse sweep, or when the root is closed. */
static int record_and_reverse_without(enum omission omission)
{
	reel_lane *root;

	reported.error = 0;
	reel_lane_open(&root, NULL, REEL_CHECKED);
	for (int i = 0; i < 6; i++) {
		reel_push(reel_lane_tape(reel_task_begin(root, i, NULL, 0)), i);
		if (i % 3 == 2 && !(i < 3 && omission == FIRST_WAIT_UNRECORDED))
			reel_task_wait(root);
	}
	reverse_without(root, omission);
	reel_lane_close(root);
	return reported.error;
}

/* The reverse of a loop without values, of a task or of the root, ends in the first iteration. */
static void test_loop_that_is_left(bool in_task)
{
	reel_lane *root, *lane;
	reel_loop loop;

	record_reports();
	reel_lane_open(&root, NULL, REEL_CHECKED);
	lane = in_task ? reel_task_begin(root, 0, NULL, 0) : root;
	REEL_FOR(lane, int, i, 0, 4, reel_static(0))
		;
	reel_task_wait(root);
	reel_task_wait_reverse(root);
	lane = in_task ? reel_task_reverse(root) : root;
	loop = reel_loop_reverse(lane, reel_static(0), 0, 4);
	ok(reel_loop_next(&loop), "the reverse of a loop begins");
	if (in_task)
		reel_task_end(lane);
	reel_lane_close(root);
	is_int(reported.error, -EINVAL, "the loop is left in the middle: %s", reported.message);
	reel_set_error_handler(NULL, NULL);
}

static void test_omissions(void)
{
	reel_lane *root;

	tap_case("calls that are left out");
	record_reports();
	is_int(record_and_reverse_without(NOTHING_OMITTED), 0, "none");
	is_int(record_and_reverse_without(WAIT_OMITTED), -EBADMSG, "each wait");
	ok(strstr(reported.message, "reel_task_wait_reverse()") != NULL, "told: %s",
	   reported.message);
	is_int(record_and_reverse_without(SECOND_WAIT_OMITTED), -EBADMSG, "the second wait");
	is_int(record_and_reverse_without(FIRST_WAIT_UNRECORDED), -EBADMSG,
	       "the first wait of the forward sweep");
	ok(strstr(reported.message, "equally often") != NULL, "told: %s", reported.message);
	is_int(record_and_reverse_without(END_OMITTED), -EINVAL, "the end of a task");
	ok(strstr(reported.message, "reel_task_end()") != NULL, "told: %s", reported.message);
	reported.error = 0;
	reel_lane_open(&root, NULL, REEL_CHECKED);
	reel_task_begin(root, 0, NULL, 0);
	reel_task_wait(root);
	reel_lane_close(root);
	is_int(reported.error, 0, "a recording may be closed without a reverse sweep");
	reel_set_error_handler(NULL, NULL);
	test_loop_that_is_left(true);
	test_loop_that_is_left(false);
}

int main(void)
{
	tap_begin();
	test_by_hand();
	test_waits_for_nothing();
	test_tree();
	test_readers_take_turns();
#ifdef _OPENMP
	test_ready_tasks_run_at_once();
#endif
	test_graph();
	test_commuting();
	test_address_twice();
	test_additions();
	test_turn_between_additions();
	test_additions_given_up();
	test_wrong_additions();
	test_replay();
	test_replay_of_waits();
	test_replay_before_wait();
	test_other_thread();
	test_tasks_made_in_hold();
	test_errors();
	test_body_that_is_left();
	test_omissions();
	return tap_end();
}
