/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "helpers/pool-support.h"
#include "helpers/refusals.h"
#include "program.h"

#define MAX_TRACES 24
#define MAX_HOLDS 3

/* The items on the root: one trace for each item that was recorded and not reversed. */
struct stack {
	unsigned count;
	struct program_trace trace[MAX_TRACES];
};

static struct {
	struct stress_stage stage;
	struct stress_random random;
	struct program program;
	reel_lane *root;
	struct stack stack;
	unsigned holds;
	struct stack held[MAX_HOLDS];
	bool wrong;      /* a number is, after a call was left out */
	bool lacks_memory; /* the system refuses some, once or from some request on */
} run;

static struct cells oracle;

/* Over all rounds. */
static struct {
	uint64_t programs, failed, spilled;
	uint64_t holds, replays, reversed;
} total;

/* ---- Errors ---- */

static void note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	int none = 0;

	/* Relaxed: it is looked at after the threads have joined. */
	atomic_compare_exchange_strong_explicit(&program_error, &none, error, memory_order_relaxed,
						memory_order_relaxed);
	stress_note_error(tape, error, message, context);
}

static bool is_allowed(int error)
{
	const struct stress_store *store = &run.stage.store;

	if (error == -ENOMEM)
		return refusal.refused != 0;
	if (error == -EDQUOT)
		return run.stage.draw->pool.hard_budget != 0;
	if (error == -EDEADLK)
		return run.program.lacks_threads;
	if (error == -EIO || error == -ENOSPC || error == -ENODEV)
		return store->refuses || store->loses;
	return error == -EBADMSG && store->loses;
}

/* False: something has failed, as it may. */
static bool goes_on(const char *doing)
{
	int told = program_error, error = reel_lane_error(run.root);

	if (program_has_omitted())
		return !told && !error;
	if (told && !is_allowed(told))
		stress_fail("a program is %s: error %d (%s)", doing, told, reel_error_text(told));
	if (!told != !error)
		stress_fail("a program is %s: the root has error %d, and %d was told", doing, error,
			    told);
	return !error;
}

/* ---- Expected statements ---- */

static bool is_exact(const struct node *list)
{
	for (; list; list = list->next) {
		bool loop = list->construct == LOOP || list->construct == ALONE ||
			    list->construct == OMP_LOOP;

		if (list->construct == LEAVE || (loop && list->loop.stops) ||
		    (list->construct == REGION && list->region.cancelled != UINT_MAX) ||
		    (list->construct == TASKS && list->tasks.cancels) ||
		    !is_exact(list->inside))
			return false;
	}
	return true;
}

static uint64_t places_of_list(const struct node *list, unsigned base, unsigned lanes);

static uint64_t places_of_parts(const struct node *node, unsigned base, unsigned parts,
				unsigned lanes)
{
	uint64_t places = 0;

	base += node->offset;
	for (unsigned k = 0; k < parts; k++) {
		places += places_of_list(node->inside, base + k * node->each, lanes);
		if (node->construct == ORDERED)
			places += scramble(node->seed ^ (base + k * node->each));
	}
	return places;
}

static uint64_t places_of_region(const struct node *node, unsigned base)
{
	unsigned lanes = (unsigned)node->region.lanes, area[2];
	uint64_t places = 0;
	unsigned p = 0;

	if (!lanes)
		lanes = (unsigned)program_threads(node, node->region.max_threads);
	area[0] = base + MAX_LANES + node->region.sections + 1 + node->region.commons;
	area[1] = area[0] + node->region.areas[0];
	for (const struct node *phase = node->inside; p < node->region.phases; p++) {
		places += places_of_list(phase->inside, area[p % 2], lanes);
		phase = phase->next ? phase->next : node->inside;
	}
	return places;
}

static uint64_t places_of_tasks(const struct node *node, unsigned base)
{
	uint64_t places = 0;

	base += node->offset + MAX_OBJECTS;
	for (const struct node *task = node->inside; task; task = task->next, base += node->each) {
		places += places_of_list(task->inside, base, 1);
		for (unsigned k = 0; k < task->task.uses; k++)
			places += scramble(scramble(task->seed + k) ^ base);
	}
	return places;
}

static uint64_t places_of_list(const struct node *list, unsigned base, unsigned lanes)
{
	uint64_t places = 0;

	for (const struct node *node = list; node; node = node->next) {
		if (node->construct < REGION)
			places += scramble(node->seed ^ base);
		else if (node->construct == REGION)
			places += places_of_region(node, base);
		else if (node->construct == TASKS)
			places += places_of_tasks(node, base);
		else if (node->construct == EACH)
			places += places_of_parts(node, base, lanes, lanes);
		else if (node->construct == SINGLE || node->construct == MASTER ||
			 node->construct == OMP_SINGLE)
			places += places_of_parts(node, base, 1, lanes);
		else
			places += places_of_parts(node, base, node->loop.iterations, lanes);
	}
	return places;
}

/* A wrong number is a failure at once; if a call was left out, an error may still come. */
#define WRONG(...)                               \
	do {                                     \
		if (program_has_omitted())       \
			run.wrong = true;        \
		else                             \
			stress_fail(__VA_ARGS__); \
	} while (0)

static void check_places(const struct program_trace *trace)
{
	struct node item = *trace->item;

	item.next = NULL;
	if (is_exact(&item) && trace->places != places_of_list(&item, 0, 1))
		WRONG("other statements ran than the program has");
}

/* ---- Steps ---- */

static struct place place_of_root(void)
{
	return (struct place){.lane = run.root, .cells = run.program.cells, .lane_cell = NO_CELL};
}

static void run_item(const struct node *item, bool reverse)
{
	const struct place place = place_of_root();
	struct node alone = *item;

	program_sweep++;
	alone.next = NULL;
	stress_at(&stress_workers[0], reverse ? "reverses" : "records", item->seed);
	if (reverse)
		program_reverse(&alone, &place);
	else
		program_record(&alone, &place);
}

/* After an error it is only seen that nothing hangs. */
static void record(void)
{
	struct program_trace *trace = &run.stack.trace[run.stack.count];

	if (run.stack.count == MAX_TRACES || !program_trace_begin(trace))
		return;
	trace->item = run.program.item[stress_below(&run.random, run.program.items)];
	run_item(trace->item, false);
	program_trace_end(trace);
	run.stack.count++;
	if (!goes_on("recorded"))
		return;
	check_places(trace);
	oracle_record(trace, &oracle);
	if (memcmp(program_cells.x, oracle.x, sizeof oracle.x) != 0)
		WRONG("the program has a race of its own: it does not calculate what a serial one "
		      "does");
}

static unsigned first_wrong(void)
{
	unsigned i = 0;

	while (i < MAX_CELLS && program_cells.bar[i] == oracle.bar[i])
		i++;
	return i;
}

static void reverse(void)
{
	const struct program_trace *trace;

	if (!run.stack.count)
		return;
	trace = &run.stack.trace[--run.stack.count];
	memcpy(oracle.bar, program_cells.bar, sizeof oracle.bar);
	memcpy(oracle.weight, program_cells.weight, sizeof oracle.weight);
	run_item(trace->item, true);
	if (!goes_on("reversed"))
		return;
	total.reversed++;
	oracle_reverse(trace, &oracle);
	if (stress_options.pretend && !strcmp(stress_options.pretend, "wrong"))
		oracle.bar[0]++;
	if (memcmp(program_cells.bar, oracle.bar, sizeof oracle.bar) != 0)
		WRONG("an adjoint is wrong, that of cell %u the first", first_wrong());
	if (memcmp(program_cells.weight, oracle.weight, sizeof oracle.weight) != 0)
		WRONG("an adjoint that an adjoint object added up is wrong");
}

static void hold(void)
{
	if (run.holds == MAX_HOLDS)
		return;
	total.holds++;
	reel_lane_hold(run.root);
	run.held[run.holds++] = run.stack;
}

static void replay(void)
{
	if (!run.holds)
		return;
	total.replays++;
	reel_lane_replay(run.root);
	run.stack = run.held[run.holds - 1];
}

static void release(void)
{
	if (!run.holds)
		return;
	reel_lane_release(run.root);
	run.holds--;
}

static void (*draw_step(void))(void)
{
	/* A replay forgets the call that the reverse sweep before it left out. */
	if (stress_options.omit)
		return stress_one_in(&run.random, 2) ? record : reverse;
	switch (stress_below(&run.random, 16)) {
	case 0:
	case 1:
		return hold;
	case 2:
	case 3:
		return replay;
	case 4:
		return release;
	default:
		return stress_one_in(&run.random, 2) ? record : reverse;
	}
}

static void run_steps(unsigned steps)
{
	record();
	while (goes_on("run") && steps-- > 0)
		draw_step()();
}

/*
 * A region below all items. Its reversal sees the remains of an item; nothing else can see that an
 * item was not reversed at all.
 */
static void run_bottom(bool reverse)
{
	if (stress_options.omit)
		reel_region_end(reverse ? reel_region_reverse(run.root)
					: reel_region_begin(run.root, 1));
}

/* Ends all holds and reverses all items. If a program skips this, its root is closed with them. */
static void finish(void)
{
	while (goes_on("run") && run.holds)
		release();
	while (goes_on("run") && run.stack.count)
		reverse();
	run_bottom(true);
	if (!program_error && !program_has_omitted() && !reel_lane_is_empty(run.root))
		stress_fail("a program has left something behind");
}

/* It must not hang, nor forget its error. */
static void go_on_after_error(void)
{
	for (unsigned steps = stress_below(&run.random, 4); steps > 0; steps--)
		draw_step()();
	goes_on("run after an error");
}

static void run_program(void)
{
	program_trace_clear();
	for (unsigned i = 0; i < MAX_CELLS; i++)
		program_cells.x[i] = oracle.x[i] = program_cells.bar[i] = scramble(i);
	memset(program_cells.weight, 0, sizeof program_cells.weight);
	memset(program_order, 0, sizeof program_order);
	program_error = 0;
	run.stack.count = run.holds = 0;
	run.wrong = false;
	program_draw_omission(&run.random);
	if (run.lacks_memory)
		refuse_from(1 + stress_below(&run.random, 400), stress_one_in(&run.random, 2));
	if (reel_lane_open(&run.root, run.stage.pool, run.stage.draw->flags)) {
		if (!is_allowed(-ENOMEM))
			stress_fail("a lane does not open");
		stop_refusing();
		return;
	}
	run_bottom(false);
	run_steps(2 + stress_below(&run.random, 10));
	if (program_error)
		go_on_after_error();
	else if (stress_options.omit || !stress_one_in(&run.random, 8))
		finish();
	if (program_error)
		stress_refused++;
	total.failed += program_error != 0;
	reel_lane_close(run.root);
	stop_refusing();
	program_count_omission(program_error != 0);
	if (run.wrong && !program_error)
		stress_fail("a call was left out (%s): a number is wrong, and no error was told",
			    program_omission());
	program_end();
}

/* Most programs are to come to their end: lanes and tasks are many tapes. */
static void give_room(struct stress_draw *draw, struct stress_random *random)
{
	size_t slabs = (size_t)20 << stress_below(random, 4);

	if (!draw->pool.hard_budget || stress_one_in(random, 6))
		return;
	while (draw->pool.slab_bytes > 4096) {
		draw->pool.slab_bytes /= 4;
		draw->pool.first_slab_bytes = draw->pool.slab_bytes;
		draw->pool.hard_budget /= 4;
		draw->pool.soft_budget /= 4;
	}
	if (draw->pool.hard_budget < slabs * draw->pool.slab_bytes)
		draw->pool.hard_budget = slabs * draw->pool.slab_bytes;
}

/* Nothing but the call that is left out is to fail. */
static void keep_whole(struct stress_draw *draw)
{
	draw->flags |= REEL_CHECKED;
	draw->store = "none";
	draw->mix = (struct stress_mix){{0}};
	draw->pool.hard_budget = draw->pool.soft_budget = 0;
}

/* Stores of the tests end the program if memory is refused to them. */
static void leave_test_stores_out(struct stress_draw *draw)
{
	draw->mix = (struct stress_mix){{0}};
	if (!strcmp(draw->store, "late"))
		draw->store = "none";
}

void stress_programs(struct stress_draw *draw)
{
	stress_watch(&stress_workers[0]);
	run.random.next = draw->seed << 24 ^ (uint64_t)1 << 62;
	give_room(draw, &run.random);
	run.lacks_memory = !stress_options.omit && stress_one_in(&run.random, 8);
	if (stress_options.omit)
		keep_whole(draw);
	if (run.lacks_memory)
		leave_test_stores_out(draw);
	stress_stage_open(&run.stage, draw);
	run.stage.threads_live_on = true;
	program_max_threads = draw->threads;
	program_begin();
	program_draw(&run.program, draw);
	if (stress_options.show)
		program_print(&run.program);
	reel_set_error_handler(note_error, NULL);
	run_program();
	total.programs++;
	total.spilled += stats_of(run.stage.pool).read_bytes > 0;
	reel_set_error_handler(stress_note_error, NULL);
	stress_unwatch(&stress_workers[0]);
	stress_stage_close(&run.stage);
}

void stress_print_programs(void)
{
	if (!total.programs)
		return;
	printf("# %llu programs, of which %llu failed as told, and %llu read from a store; %llu "
	       "items reversed and compared, %llu holds, %llu replays; recorded:\n#",
	       (unsigned long long)total.programs, (unsigned long long)total.failed,
	       (unsigned long long)total.spilled, (unsigned long long)total.reversed,
	       (unsigned long long)total.holds, (unsigned long long)total.replays);
	for (unsigned i = 0; i < CONSTRUCTS; i++)
		printf(" %s %llu", program_names[i], (unsigned long long)program_counts[i]);
	putchar('\n');
	program_print_omissions();
}
