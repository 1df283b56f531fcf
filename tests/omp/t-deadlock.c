/* SPDX-License-Identifier: MIT */
/* Tests lanes that wait for turns that cannot come: an error ends their waits. */
#include "config.h"

#include "helpers/support.h"

#include <unistd.h>

#include <reel/task.h>

#include "helpers/thread-team.h"

static struct {
	reel_lane *root;
	reel_region *region;
	reel_ordered order, other;
	bool leaves_out; /* the program makes its mistake */
} program;

static void begin(bool leaves_out)
{
	memset(&program, 0, sizeof program);
	program.leaves_out = leaves_out;
	is_int(reel_lane_open(&program.root, NULL, 0), 0, "a root opens");
	await_report("no lane can go on");
	alarm(60);
}

/*
 * Checks the root after a region or tasks were reversed. Lanes may have other errors: the wait of a
 * lane that keeps its turn ends because the other lane has failed.
 */
static void end(const char *what)
{
	alarm(0);
	is_int(reel_lane_error(program.root) != 0, program.leaves_out, "%s: %s", what,
	       program.leaves_out ? "nobody waits" : "all turns come");
	is_int(awaited_report.came, program.leaves_out, "a report comes where a turn is left out");
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(program.root);
}

static reel_worker worker_of(const struct member *member)
{
	return reel_worker_begin(program.region, member->number, member->team->threads);
}

static void await_and_end(reel_lane *lane, reel_ordered *order)
{
	reel_ordered_await(lane, order);
	reel_ordered_done(lane, order);
}

/* ---- A turn that does not end ---- */

/* In one section lane 0 has its turn before lane 1, in the other section after it. */
static void note_in_two_sections(const struct member *member)
{
	reel_worker worker = worker_of(member);

	reel_worker_next(&worker);
	if (member->number == 0)
		reel_ordered_note(worker.lane, &program.other);
	team_barrier(member);
	if (member->number == 1) {
		reel_ordered_note(worker.lane, &program.other);
		reel_ordered_note(worker.lane, &program.order);
	}
	team_barrier(member);
	if (member->number == 0)
		reel_ordered_note(worker.lane, &program.order);
}

/* Lane 0 keeps its turn in one section, and waits in the other one. */
static void reverse_two_sections(const struct member *member)
{
	reel_worker worker = worker_of(member);

	reel_worker_next(&worker);
	reel_ordered_await(worker.lane, &program.order);
	if (member->number == 1 || !program.leaves_out)
		reel_ordered_done(worker.lane, &program.order);
	await_and_end(worker.lane, &program.other);
}

/* ---- A phase that does not end ---- */

/* Lane 1 leaves out the end of a phase, so its last turn is in the first phase. */
static void note_in_two_phases(const struct member *member)
{
	reel_worker worker = worker_of(member);

	reel_worker_next(&worker);
	if (member->number == 0)
		reel_ordered_note(worker.lane, &program.order);
	team_barrier(member);
	if (member->number == 0 || !program.leaves_out)
		reel_lane_phase(worker.lane);
	if (member->number == 0)
		reel_ordered_note(worker.lane, &program.order);
	team_barrier(member);
	if (member->number == 1)
		reel_ordered_note(worker.lane, &program.order);
}

static void reverse_two_phases(const struct member *member)
{
	reel_worker worker = worker_of(member);

	for (int phase = 2; phase-- > 0;) {
		reel_worker_next(&worker);
		if (member->number == 0 || (phase == 1 && !program.leaves_out))
			await_and_end(worker.lane, &program.order);
		if (phase)
			reel_worker_barrier(&worker);
	}
}

/* ---- Turns in a lane of an outer region that no thread takes ---- */

static void note_in_inner_region(const struct member *member)
{
	reel_worker worker = worker_of(member);

	while (reel_worker_next(&worker)) {
		reel_region *region = reel_region_begin(worker.lane, 1);
		reel_worker inner = reel_worker_begin(region, 0, 1);

		reel_worker_next(&inner);
		reel_ordered_note(inner.lane, &program.order);
		reel_region_end(region);
	}
}

static void reverse_inner_region(const struct member *member)
{
	reel_worker worker = worker_of(member);

	while (reel_worker_next(&worker)) {
		reel_region *region = reel_region_reverse(worker.lane);
		reel_worker inner = reel_worker_begin(region, 0, 1);

		reel_worker_next(&inner);
		await_and_end(inner.lane, &program.order);
		reel_region_end(region);
	}
}

/* ---- The programs ---- */

static const struct {
	const char *what;
	int lanes, threads, threads_back[2]; /* without the mistake, with it */
	void (*record)(const struct member *member);
	void (*reverse)(const struct member *member);
} programs[] = {
	{"reel_ordered_done()", 2, 2, {2, 2}, note_in_two_sections, reverse_two_sections},
	{"reel_lane_phase()", 2, 2, {2, 2}, note_in_two_phases, reverse_two_phases},
	{"threads for outer lanes", 3, 1, {3, 2}, note_in_inner_region, reverse_inner_region},
};

static void test_program(int which, bool leaves_out)
{
	begin(leaves_out);
	program.region = reel_region_begin(program.root, programs[which].lanes);
	run_team(programs[which].threads, programs[which].record, NULL);
	reel_region_end(program.region);
	program.region = reel_region_reverse(program.root);
	run_team(programs[which].threads_back[leaves_out], programs[which].reverse, NULL);
	reel_region_end(program.region);
	end(programs[which].what);
}

/* ---- Turns in tasks ---- */

static void reverse_task(void *context, reel_lane *lane)
{
	if (reel_task_label(lane) == 2)
		reel_tasks_reverse(lane, reverse_task, context, 1, 0);
	else
		await_and_end(lane, &program.order);
}

/*
 * One thread takes the task that was made last. With the mistake that task waits for the turn of
 * the other task, and without the mistake for no turn.
 */
static void test_tasks_without_threads(bool leaves_out, bool nested)
{
	reel_lane *first, *last;

	begin(leaves_out);
	first = reel_task_begin(program.root, 0, NULL, 0);
	last = reel_task_begin(program.root, nested ? 2 : 1, NULL, 0);
	if (nested) {
		reel_lane *inner = reel_task_begin(last, 1, NULL, 0);

		reel_task_wait(last);
		last = inner;
	}
	reel_ordered_note(leaves_out ? last : first, &program.order);
	reel_ordered_note(leaves_out ? first : last, &program.order);
	reel_task_wait(program.root);
	reel_tasks_reverse(program.root, reverse_task, NULL, 1, 0);
	end(nested ? "threads for tasks of tasks" : "threads for tasks");
}

int main(void)
{
	tap_begin();
	for (int leaves_out = 0; leaves_out < 2; leaves_out++) {
		for (int which = 0; which < 3; which++)
			test_program(which, leaves_out);
		test_tasks_without_threads(leaves_out, false);
		test_tasks_without_threads(leaves_out, true);
	}
	return tap_end();
}
