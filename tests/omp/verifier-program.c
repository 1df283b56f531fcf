/* SPDX-License-Identifier: MIT */
/*
 * Programs for t-verifier.sh, selected by name. Some are right, and the verifier reports nothing.
 * Each of the others has one mistake, in the line that is marked "at: NAME".
 */
#include <omp.h>
#include <string.h>

#include <reel.h>
#include <reel/reduction.h>
#include <reel/task.h>

enum { THREADS = 2, N = 40, STEPS = 3 };

static reel_lane *root;
static double x[N];

static void push(reel_lane *lane, double value)
{
	reel_push(reel_lane_tape(lane), value);
}

static double pop(reel_lane *lane)
{
	return reel_pop(reel_lane_tape(lane), double);
}

/* ---- Right ---- */

static void steps(int lanes)
{
	reel_region *region = reel_region_begin(root, lanes);

#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		for (int step = 0; step < STEPS; step++) {
			while (reel_worker_next(&worker)) {
				REEL_FOR(worker.lane, int, i, 0, N, reel_dynamic(4))
				push(worker.lane, x[i]);
				REEL_SINGLE (worker.lane)
					push(worker.lane, step);
			}
			reel_worker_phase(&worker);
		}
	}
	reel_region_end(region);
	region = reel_region_reverse(root);
#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		for (int step = STEPS; step-- > 0;) {
			reel_worker_next_phase(&worker);
			while (reel_worker_next(&worker)) {
				REEL_SINGLE_REVERSE(worker.lane)
				(void)pop(worker.lane);
				REEL_FOR_REVERSE(worker.lane, int, i, 0, N, reel_dynamic(4))
				(void)pop(worker.lane);
			}
#pragma omp barrier
		}
	}
	reel_region_end(region);
}

static void right_steps(void)
{
	steps(0);
	steps(5);
	steps(1);
}

/* Code that records nothing may use all of OpenMP. */
static void right_lanes(void)
{
	static reel_ordered order;
	reel_region *region = reel_region_begin(root, 0);
	double sum = 0;

#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);
		reel_lane *lane = reel_worker_next(&worker) ? worker.lane : NULL;

#pragma omp barrier
#pragma omp for schedule(dynamic)
		for (int i = 0; i < N; i++)
			x[i] = i;
		push(lane, 1);
#pragma omp barrier
		reel_lane_phase(lane);
#pragma omp single
		sum = 1;
#pragma omp critical
		{
			reel_ordered_note(lane, &order);
			push(lane, sum);
			sum = sum * 2;
		}
	}
	reel_region_end(region);
	region = reel_region_reverse(root);
#pragma omp parallel num_threads(reel_region_threads(region, 1))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_ordered_await(worker.lane, &order);
			(void)pop(worker.lane);
			reel_ordered_done(worker.lane, &order);
		}
		reel_worker_phase(&worker);
		while (reel_worker_next(&worker))
			(void)pop(worker.lane);
	}
	reel_region_end(region);
}

static void reverse_task(void *context, reel_lane *task)
{
	(void)context;
	(void)pop(task);
}

static void make_tasks(void)
{
	for (int i = 0; i < N; i++) {
		reel_dependence dependence = {&x[i % 4], REEL_TASK_INOUT};
		reel_lane *task = reel_task_begin(root, i, &dependence, 1);

#pragma omp task depend(inout : x[i % 4]) firstprivate(task, i)
		push(task, i);
	}
#pragma omp taskwait
	reel_task_wait(root);
}

static void right_tasks(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	{
		push(root, 1);
		make_tasks();
		make_tasks();
	}
	reel_tasks_reverse(root, reverse_task, NULL, THREADS, 0);
#pragma omp parallel num_threads(THREADS)
#pragma omp single
	{
		reel_task_wait_reverse(root);
		while (reel_tasks_left(root)) {
			reel_lane *task = reel_task_reverse(root);

#pragma omp task firstprivate(task)
			{
				(void)pop(task);
				reel_task_end(task);
			}
		}
#pragma omp taskwait
		(void)pop(root);
	}
}

static void reverse_inner_tasks(void *context, reel_lane *task)
{
	(void)context;
	reel_task_wait_reverse(task);
	while (reel_tasks_left(task)) {
		reel_lane *inner = reel_task_reverse(task);

#pragma omp task firstprivate(inner)
		{
			(void)pop(inner);
			reel_task_end(inner);
		}
	}
#pragma omp taskwait
}

/* Bodies have their own tasks, which a team of Reel or of the program reverses. */
static void right_bodies(void)
{
	for (int inside = 0; inside < 2; inside++) {
		for (int i = 0; i < N; i++) {
			reel_lane *task = reel_task_begin(root, i, NULL, 0);

			push(reel_task_begin(task, 0, NULL, 0), i);
			push(reel_task_begin(task, 1, NULL, 0), i);
			reel_task_wait(task);
		}
		reel_task_wait(root);
#pragma omp parallel num_threads(THREADS) if (inside)
#pragma omp single
		reel_tasks_reverse(root, reverse_inner_tasks, NULL, THREADS, 0);
	}
}

/* Each lane has a region, with its own team, or with only the thread of the lane. */
static void right_nested(void)
{
	reel_region *region = reel_region_begin(root, 0);

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_region *inner = reel_region_begin(worker.lane, 0);
			reel_worker own;

#pragma omp parallel num_threads(THREADS)
			{
				reel_worker part = reel_worker_of(inner);

				while (reel_worker_next(&part))
					push(part.lane, 1);
			}
			reel_region_end(inner);
			inner = reel_region_begin(worker.lane, 2);
			own = reel_worker_begin(inner, 0, 1);
			while (reel_worker_next(&own))
				push(own.lane, 2);
			reel_region_end(inner);
		}
	}
	reel_region_end(region);
}

/* ---- Mistakes of a thread with its lane, in a region for a team ---- */

static void region_of(void (*body)(reel_worker *worker, reel_lane *lane), int lanes)
{
	reel_region *region = reel_region_begin(root, lanes);

#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker = reel_worker_of(region);

		if (reel_worker_next(&worker))
			body(&worker, worker.lane);
	}
	reel_region_end(region);
}

static void barrier(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	push(lane, 1);
#pragma omp barrier /* at: barrier */
	push(lane, 2);
}

static void implicit_barrier(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	push(lane, 1);
#pragma omp for /* at: implicit-barrier */
	for (int i = 0; i < N; i++)
		x[i] = i;
	push(lane, 2);
}

static void barrier_and_next(reel_worker *worker, reel_lane *lane)
{
	push(lane, 1);
	while (reel_worker_next(worker))
		;
#pragma omp barrier /* at: barrier-and-next */
	while (reel_worker_next(worker))
		push(worker->lane, 2);
}

static void few_threads(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	push(lane, 1);
#pragma omp barrier /* at: few-threads */
}

static void phase(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	push(lane, 1);
	reel_lane_phase(lane); /* at: phase */
}

static void worker_phase(reel_worker *worker, reel_lane *lane)
{
	push(lane, 1);
	reel_worker_next_phase(worker); /* at: worker-phase */
	reel_worker_next(worker);
}

static void loop_dynamic(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
#pragma omp for schedule(dynamic) nowait /* at: dynamic */
	for (int i = 0; i < N; i++)
		push(lane, i);
}

static void loop_static(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
#pragma omp for schedule(static) nowait /* at: static */
	for (int i = 0; i < N; i++)
		push(lane, i);
}

static void single(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
#pragma omp single nowait /* at: single */
	push(lane, 1);
}

static void sections(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
#pragma omp sections nowait /* at: sections */
	{
#pragma omp section
		push(lane, 1);
#pragma omp section
		push(lane, 2);
	}
}

static void critical(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
#pragma omp critical /* at: critical */
	push(lane, 1);
}

static void commuting(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	push(lane, 1);
#pragma omp critical /* at: commuting */
	x[0] += 1;
}

static void lock(reel_worker *worker, reel_lane *lane)
{
	static omp_lock_t a_lock;

	(void)worker;
#pragma omp single
	omp_init_lock(&a_lock);
	omp_set_lock(&a_lock); /* at: lock */
	push(lane, 1);
	omp_unset_lock(&a_lock);
}

static void order(reel_worker *worker, reel_lane *lane)
{
	static reel_ordered an_order;

	(void)worker;
	reel_ordered_note(lane, &an_order); /* at: order */
}

static void await(reel_worker *worker, reel_lane *lane)
{
	static reel_ordered an_order;

	(void)worker;
#pragma omp critical
	{
		reel_ordered_note(lane, &an_order);
		reel_ordered_await(lane, &an_order); /* at: await */
	}
}

static void task_lane(reel_worker *worker, reel_lane *lane)
{
	static _Atomic int ended;

	(void)worker;
	if (reel_lane_index(lane) == 0) {
#pragma omp task firstprivate(lane) /* at: task-lane */
		push(lane, 2);
#pragma omp taskwait
		ended = 1;
	}
	while (!ended)
		;
}

static _Thread_local reel_lane *lane_of_thread;

static reel_lane *present_lane(void)
{
	return lane_of_thread;
}

static void task_migrates(reel_worker *worker, reel_lane *lane)
{
	reel_lane *task = reel_task_begin(lane, 0, NULL, 0);

	(void)worker;
	lane_of_thread = lane;
#pragma omp task untied firstprivate(task)
	{
		reel_task_begin(task, 0, NULL, 0);
#pragma omp taskyield
		reel_task_begin(present_lane(), 0, NULL, 0); /* at: migrates */
	}
#pragma omp taskwait
	reel_task_wait(lane);
}

static void other_lane(reel_worker *worker, reel_lane *lane)
{
	static reel_lane *first[THREADS];
	reel_lane **before = &first[reel_lane_index(lane)], *task;

	(void)worker;
	for (int i = 0; i < 2; i++) {
		task = reel_task_begin(lane, i, NULL, 0);
#pragma omp task firstprivate(task, i, before)
		{
			reel_task_begin(task, 0, NULL, 0);
			if (i == 1)
				reel_task_begin(*before, 1, NULL, 0); /* at: other-lane */
			else
				*before = task;
		}
#pragma omp taskwait
		reel_task_wait(lane);
	}
}

static void taskwait(reel_worker *worker, reel_lane *lane)
{
	(void)worker;
	for (int i = 0; i < 2; i++) {
		reel_lane *task = reel_task_begin(lane, i, NULL, 0);

#pragma omp task firstprivate(task)
		push(task, 1);
#pragma omp taskwait /* at: taskwait */
	}
	reel_task_wait(lane);
}

static void wait_early(reel_worker *worker, reel_lane *lane)
{
	reel_lane *task = reel_task_begin(lane, 0, NULL, 0);

	(void)worker;
#pragma omp task firstprivate(task)
	push(task, 1);
	reel_task_wait(lane); /* at: wait-early */
#pragma omp taskwait
}

static void depend(reel_worker *worker, reel_lane *lane)
{
	reel_dependence dependence = {&x[0], REEL_TASK_IN};
	reel_lane *task = reel_task_begin(lane, 0, &dependence, 1);

	(void)worker;
#pragma omp task firstprivate(task) depend(in : x[0]) depend(out : x[1]) /* at: depend */
	push(task, 1);
#pragma omp taskwait
	reel_task_wait(lane);
}

static void depend_kind(reel_worker *worker, reel_lane *lane)
{
	reel_dependence dependence = {&x[0], REEL_TASK_IN};
	reel_lane *task = reel_task_begin(lane, 0, &dependence, 1);

	(void)worker;
#pragma omp task firstprivate(task) depend(out : x[0]) /* at: depend-kind */
	push(task, 1);
#pragma omp taskwait
	reel_task_wait(lane);
}

static const struct body {
	const char *name;
	void (*body)(reel_worker *worker, reel_lane *lane);
	int lanes;
} bodies[] = {
	{"barrier", barrier, 0},
	{"implicit-barrier", implicit_barrier, 0},
	{"barrier-and-next", barrier_and_next, 0},
	{"few-threads", few_threads, 2 * THREADS},
	{"phase", phase, 0},
	{"worker-phase", worker_phase, 0},
	{"dynamic", loop_dynamic, 0},
	{"static", loop_static, 0},
	{"single", single, 0},
	{"sections", sections, 0},
	{"critical", critical, 0},
	{"commuting", commuting, 0},
	{"lock", lock, 0},
	{"order", order, 0},
	{"await", await, 0},
	{"task-lane", task_lane, 0},
	{"migrates", task_migrates, 0},
	{"other-lane", other_lane, 0},
	{"taskwait", taskwait, 0},
	{"wait-early", wait_early, 0},
	{"depend", depend, 0},
	{"depend-kind", depend_kind, 0},
};

/* ---- Mistakes of whole programs ---- */

static void no_region(void)
{
#pragma omp parallel num_threads(THREADS) /* at: no-region */
#pragma omp single
	push(root, 1);
}

static void on_parent(void)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel num_threads(THREADS) /* at: on-parent */
	{
		reel_worker worker = reel_worker_of(region);

#pragma omp single
		push(root, 1);
		reel_worker_next(&worker);
	}
	reel_region_end(region);
}

static void second_team(void)
{
	reel_region *region = reel_region_begin(root, 0);

	for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(THREADS)
		{
			reel_worker worker = reel_worker_of(region); /* at: second-team */

			while (reel_worker_next(&worker))
				push(worker.lane, 1);
		}
	}
	reel_region_end(region);
}

static void other_size(void)
{
	reel_region *region = reel_region_begin(root, 0);

#pragma omp parallel num_threads(THREADS)
	{
		reel_worker worker =
			reel_worker_begin(region, omp_get_thread_num(), 4); /* at: size */

		while (reel_worker_next(&worker))
			push(worker.lane, 1);
	}
	reel_region_end(region);
}

static const struct program {
	const char *name;
	void (*run)(void);
} programs[] = {
	{"right-steps", right_steps}, {"right-lanes", right_lanes}, {"right-tasks", right_tasks},
	{"right-bodies", right_bodies},
	{"right-nested", right_nested}, {"no-region", no_region}, {"on-parent", on_parent},
	{"second-team", second_team}, {"size", other_size},
};

static void ignore(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

int main(int count, char **arguments)
{
	const char *name = count > 1 ? arguments[1] : "";
	bool right = strncmp(name, "right", 5) == 0;
	int error;

	if (!right)
		reel_set_error_handler(ignore, NULL);
	reel_lane_open(&root, NULL, 0);
	for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++)
		if (!strcmp(name, programs[i].name))
			programs[i].run();
	for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++)
		if (!strcmp(name, bodies[i].name))
			region_of(bodies[i].body, bodies[i].lanes);
	error = reel_lane_error(root);
	reel_lane_close(root);
	return right && error;
}
