/* SPDX-License-Identifier: MIT */
/* Tests C++ exceptions in regions and tasks. With an argument the program ends by an exception. */
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <reel/task.h>

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

static std::atomic<int> calls;

static void pop_one(void *, reel_lane *task)
{
	calls++;
	(void)reel_pop(reel_lane_tape(task), double);
}

static void throw_at_three(void *context, reel_lane *task)
{
	if (reel_task_label(task) == 3)
		throw std::runtime_error("a body");
	pop_one(context, task);
}

static reel_lane *record_tasks()
{
	reel_lane *root;

	reel_lane_open(&root, nullptr, 0);
	for (int i = 0; i < 8; i++)
		reel_push(reel_lane_tape(reel_task_begin(root, i, nullptr, 0)), 1.5);
	reel_task_wait(root);
	return root;
}

static bool throws(reel_lane *parent, int threads)
{
	try {
		reel_tasks_reverse(parent, throw_at_three, nullptr, threads, 0);
	} catch (const std::runtime_error &) {
		return true;
	}
	return false;
}

static void test_tasks()
{
	reel_lane *root = record_tasks(), *other = record_tasks();

	ok(throws(root, 1), "an exception leaves the body of a task");
	is_int(reel_lane_error(root), -EINVAL, "the root has an error");
	calls = 0;
	is_int(reel_tasks_reverse(root, pop_one, nullptr, 1, 0), -EINVAL,
	       "the root with an error cannot be gone on with");
	is_int(calls, 0, "no body is called for it");
	is_int(reel_tasks_reverse(other, pop_one, nullptr, 2, 0), 0, "another root is reversed");
	is_int(calls, 8, "the other root is reversed by its own bodies");
	ok(reel_lane_is_empty(other), "nothing is left of it");
	reel_lane_close(root);
	reel_lane_close(other);
}

/* Records one lane, and throws in its loop or after it. */
static int record_region(reel_lane *root, bool in_loop)
{
	reel_region *region = reel_region_begin(root, 1);
	reel_worker worker = reel_worker_begin(region, 0, 1);

	try {
		while (reel_worker_next(&worker)) {
			REEL_FOR(worker.lane, int, i, 0, 4, reel_static(0)) {
				reel_push(reel_lane_tape(worker.lane), 1.0 * i);
				if (in_loop && i == 2)
					throw std::runtime_error("an iteration");
			}
			throw std::runtime_error("a lane");
		}
	} catch (const std::runtime_error &) {
	}
	return reel_region_end(region);
}

static void test_regions()
{
	reel_lane *root;

	reel_lane_open(&root, nullptr, 0);
	is_int(record_region(root, false), 0, "a lane is left behind its loop");
	is_int(record_region(root, true), -EINVAL, "a lane is left in its loop");
	is_int(reel_region_end(reel_region_reverse(root)), -EINVAL,
	       "the region that was left cannot be reversed");
	reel_lane_close(root);

	reel_lane_open(&root, nullptr, 0);
	try {
		reel_region_begin(root, 1);
		throw std::runtime_error("a region");
	} catch (const std::runtime_error &) {
	}
	is_int(reel_region_end(reel_region_begin(root, 1)), -EINVAL,
	       "the end of a region is skipped");
	reel_lane_close(root);
}

static void reverse_inner(void *, reel_lane *task)
{
	throws(task, 1);
}

static void throw_in_inner()
{
	reel_lane *root, *task;

	reel_lane_open(&root, nullptr, 0);
	task = reel_task_begin(root, 0, nullptr, 0);
	for (int i = 0; i < 8; i++)
		reel_push(reel_lane_tape(reel_task_begin(task, i, nullptr, 0)), 1.5);
	reel_task_wait(task);
	reel_task_wait(root);
	reel_tasks_reverse(root, reverse_inner, nullptr, 1, 0);
}

int main(int arguments, char **argument)
{
	if (arguments > 1 && !strcmp(argument[1], "team"))
		throws(record_tasks(), 2);
	if (arguments > 1) {
		throw_in_inner();
		return 0;
	}
	reel_set_error_handler([](const reel_tape *, int, const char *, void *) {}, nullptr);
	tap_begin();
	test_tasks();
	test_regions();
	return tap_end();
}
