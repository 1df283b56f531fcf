/* SPDX-License-Identifier: MIT */
/*
 * Regions, lanes, loops, orders and tasks by two threads, beside plain OpenMP; and the gradients of
 * the examples by one thread and by two. Threads that wait must sleep (OMP_WAIT_POLICY=passive),
 * or other work on the machine affects the times.
 */
#include "config.h"

#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include <reel/task.h>

#include "common/bench.h"
#include "example.h"

#define ROUNDS 9

static void check(int error)
{
	if (error)
		abort();
}

static void run_case(const struct bench_case *one)
{
	static bool is_said;
	const char *policy = getenv("OMP_WAIT_POLICY");

	if (!is_said && !bench_is_listing() && bench_wants(one, 1) &&
	    (!policy || strcasecmp(policy, "passive"))) {
		fputs("reel-bench: omp/ is to be measured with OMP_WAIT_POLICY=passive\n", stderr);
		is_said = true;
	}
	bench_run(one);
}

/* ---- Regions, recorded and reversed ---- */

/* Number of threads, and of values in each of two lanes. */
struct team {
	int threads, values;
};

static struct team one_empty = {1, 0}, two_empty = {2, 0}, two_with_values = {2, 1};

static double empty_regions(void *context, size_t n)
{
	const struct team *team = context;

	for (size_t i = 0; i < 2 * n / THOUSAND; i++) {
#pragma omp parallel num_threads(team->threads)
		__asm__ volatile("" ::: "memory");
	}
	return 0;
}

static double regions(void *context, size_t n)
{
	const struct team *team = context;
	reel_lane *root;

	check(reel_lane_open(&root, NULL, 0));
	for (size_t i = 0; i < n / THOUSAND; i++) {
		reel_region *region = reel_region_begin(root, 2);

#pragma omp parallel num_threads(team->threads)
		{
			reel_worker worker = reel_worker_of(region);

			while (reel_worker_next(&worker))
				for (int k = 0; k < team->values; k++)
					reel_push(reel_lane_tape(worker.lane), 1.0);
		}
		reel_region_end(region);
	}
	for (size_t i = 0; i < n / THOUSAND; i++) {
		reel_region *region = reel_region_reverse(root);

#pragma omp parallel num_threads(team->threads)
		{
			reel_worker worker = reel_worker_of(region);

			while (reel_worker_next(&worker))
				for (int k = 0; k < team->values; k++)
					(void)reel_pop(reel_lane_tape(worker.lane), double);
		}
		reel_region_end(region);
	}
	check(reel_lane_error(root));
	reel_lane_close(root);
	return 0;
}

/* ---- A region for each step, in two lanes: n / 1000 steps ---- */

/* 0 threads: Reel chooses the number. */
struct steps {
	int cells, threads;
};

#define MAX_CELLS 10000

static double cell[MAX_CELLS], cell_bar[MAX_CELLS];

static double steps(void *context, size_t n)
{
	const struct steps *of = context;
	reel_lane *root;

	for (int i = 0; i < of->cells; i++)
		cell_bar[i] = cell[i] = bench_value((size_t)i);
	check(reel_lane_open(&root, NULL, 0));
	for (size_t step = 0; step < n / THOUSAND; step++)
		REEL_PARALLEL_WITH(root, lane, 2, of->threads, )
			REEL_FOR(lane, int, i, 0, of->cells, reel_static(0)) {
				reel_push(reel_lane_tape(lane), cell[i]);
				cell[i] = sin(cell[i]);
			}
	for (size_t step = 0; step < n / THOUSAND; step++)
		REEL_PARALLEL_REVERSE_WITH(root, lane, of->threads, )
			REEL_FOR_REVERSE(lane, int, i, 0, of->cells, reel_static(0))
				cell_bar[i] *= cos(reel_pop(reel_lane_tape(lane), double));
	check(reel_lane_error(root));
	reel_lane_close(root);
	return cell_bar[0];
}

/* A process that takes a processor until it is killed, or until this one has ended. */
static pid_t start_busy_process(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		while (getppid() == parent)
			for (int i = 0; i < 1000000; i++)
				__asm__ volatile("" ::: "memory");
		_exit(0);
	}
	if (child < 0)
		abort();
	return child;
}

static void run_steps(const char *name, int cells, bool beside_busy_process)
{
	struct steps one_thread = {cells, 1}, two_threads = {cells, 2}, chosen = {cells, 0};
	const struct measure_variant variants[] = {
		{"one thread", steps, NULL, NULL, &one_thread},
		{"two threads", steps, NULL, NULL, &two_threads},
		{"as Reel chooses", steps, NULL, NULL, &chosen},
	};
	const struct bench_case one = {name, variants, COUNT_OF(variants), 0, {2000000}, 2000000,
				       ROUNDS};
	pid_t child = 0;

	if (beside_busy_process && !bench_is_listing() && bench_wants(&one, 1))
		child = start_busy_process();
	run_case(&one);
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/* ---- Loops of 64 chunks: n chunks in all ---- */

#define CHUNKS 64

static double runtime_loops(void *context, size_t n)
{
	(void)context;
#pragma omp parallel num_threads(2)
	for (size_t loop = 0; loop < n / CHUNKS; loop++) {
#pragma omp for schedule(dynamic, 1) nowait
		for (int i = 0; i < CHUNKS; i++)
			__asm__ volatile("" ::: "memory");
	}
	return 0;
}

static reel_lane *record_loops(size_t n)
{
	reel_region *region;
	reel_lane *root;

	check(reel_lane_open(&root, NULL, 0));
	region = reel_region_begin(root, 2);
#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			for (size_t loop = 0; loop < n / CHUNKS; loop++)
				REEL_FOR(worker.lane, int, i, 0, CHUNKS, reel_dynamic(1))
					__asm__ volatile("" ::: "memory");
	}
	check(reel_region_end(region));
	return root;
}

static double reel_loops(void *context, size_t n)
{
	(void)context;
	reel_lane_close(record_loops(n));
	return 0;
}

static double reel_loops_reversed(void *context, size_t n)
{
	reel_lane *root = record_loops(n);
	reel_region *region = reel_region_reverse(root);

	(void)context;
#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			for (size_t loop = 0; loop < n / CHUNKS; loop++)
				REEL_FOR_REVERSE(worker.lane, int, i, 0, CHUNKS, reel_dynamic(1))
					__asm__ volatile("" ::: "memory");
	}
	check(reel_region_end(region));
	reel_lane_close(root);
	return 0;
}

/* ---- Critical sections, in both sweeps ---- */

static double critical_sections(void *context, size_t n)
{
	double sum = 0;

	(void)context;
	for (int sweep = 0; sweep < 2; sweep++) {
#pragma omp parallel num_threads(2)
		for (size_t i = 0; i < n / THOUSAND / 2; i++) {
#pragma omp critical(bench_section)
			sum += 1;
		}
	}
	return sum;
}

static double orders(void *context, size_t n)
{
	reel_ordered order = {0};
	reel_region *region;
	reel_lane *root;
	double sum = 0;

	(void)context;
	check(reel_lane_open(&root, NULL, 0));
	region = reel_region_begin(root, 2);
#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			for (size_t i = 0; i < n / THOUSAND / 2; i++) {
#pragma omp critical(bench_section)
				{
					reel_ordered_note(worker.lane, &order);
					sum += 1;
				}
			}
		}
	}
	check(reel_region_end(region));
	region = reel_region_reverse(root);
#pragma omp parallel num_threads(reel_region_threads(region, 2))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			for (size_t i = 0; i < n / THOUSAND / 2; i++) {
				reel_ordered_await(worker.lane, &order);
				sum -= 1;
				reel_ordered_done(worker.lane, &order);
			}
		}
	}
	check(reel_region_end(region));
	reel_lane_close(root);
	return sum;
}

/* ---- Tasks of some 100 microseconds, each of which reads two blocks and writes one ---- */

enum { BLOCKS = 64, WIDTH = 64, PASSES = 90 };

/* How the reverses of the tasks add to the adjoints of the blocks that the tasks read. */
struct reading {
	int threads;
	enum reel_dependence_kind kind;
	unsigned flags;
	bool by_hand;
};

static struct reading one_adds = {1, REEL_TASK_IN_ADD, 0, false},
		      two_in = {2, REEL_TASK_IN, 0, false},
		      two_in_order = {2, REEL_TASK_IN, REEL_TASKS_IN_ORDER, false},
		      two_add = {2, REEL_TASK_IN_ADD, 0, false},
		      two_add_by_hand = {2, REEL_TASK_IN_ADD, 0, true};

static double block_bar[BLOCKS][WIDTH], result_bar[BLOCKS][WIDTH];
static char block_place[BLOCKS], result_place[BLOCKS];

static void calculate_parts(int block, double *left, double *right)
{
	for (int pass = 0; pass < PASSES; pass++)
		for (int i = 0; i < WIDTH; i++) {
			double bar = sin(result_bar[block][i] + pass);

			left[i] += bar;
			right[i] -= cos(bar);
		}
}

static void reverse_reads(void *context, reel_lane *task)
{
	const struct reading *reading = context;
	int block = (int)reel_task_label(task), next = (block + 1) % BLOCKS;
	double left[WIDTH] = {0}, right[WIDTH] = {0};

	calculate_parts(block, left, right);
	if (reading->kind == REEL_TASK_IN_ADD) {
		reel_task_add(task, &block_place[block], block_bar[block], left, WIDTH);
		reel_task_add(task, &block_place[next], block_bar[next], right, WIDTH);
		return;
	}
	for (int i = 0; i < WIDTH; i++) {
		block_bar[block][i] += left[i];
		block_bar[next][i] += right[i];
	}
}

static void record_reads(reel_lane *root, const struct reading *reading)
{
	for (int block = 0; block < BLOCKS; block++) {
		const reel_dependence use[] = {
			{&block_place[block], reading->kind},
			{&block_place[(block + 1) % BLOCKS], reading->kind},
			{&result_place[block], REEL_TASK_OUT}};

		reel_task_begin(root, block, use, 3);
	}
	reel_task_wait(root);
}

static void reverse_reads_by_hand(reel_lane *root, struct reading *reading)
{
	reel_task_wait_reverse(root);
#pragma omp parallel num_threads(reading->threads)
#pragma omp master
	while (reel_tasks_left(root)) {
		reel_lane *task = reel_task_reverse(root);
		int block = (int)reel_task_label(task), next = (block + 1) % BLOCKS;

#pragma omp task firstprivate(task) depend(in : block_bar[block][0], block_bar[next][0])           \
	depend(inout : result_bar[block][0])
		{
			reverse_reads(reading, task);
			reel_task_end(task);
		}
	}
}

/* The calculation of the tasks, without additions. */
static double parts_alone(void *context, size_t n)
{
	const struct reading *reading = context;

#pragma omp parallel for schedule(dynamic) num_threads(reading->threads)
	for (size_t i = 0; i < n / THOUSAND; i++) {
		double left[WIDTH] = {0}, right[WIDTH] = {0};

		calculate_parts((int)(i % BLOCKS), left, right);
		__asm__ volatile("" ::"r"(left), "r"(right) : "memory");
	}
	return 0;
}

static double tasks(void *context, size_t n)
{
	struct reading *reading = context;
	reel_lane *root;

	check(reel_lane_open(&root, NULL, 0));
	for (size_t i = 0; i < n / THOUSAND; i += BLOCKS) {
		record_reads(root, reading);
		if (reading->by_hand)
			reverse_reads_by_hand(root, reading);
		else
			reel_tasks_reverse(root, reverse_reads, reading, reading->threads,
					   reading->flags);
	}
	check(reel_lane_error(root));
	reel_lane_close(root);
	return block_bar[0][0];
}

/* ---- Two tapes: n values on each, up and down, by their distance in bytes ---- */

#define FAR 4096
#define LEVEL 4096

static const size_t side_by_side = sizeof(reel_tape), far_apart = FAR;

static void up_and_down(reel_tape *tape, size_t n)
{
	double sum = 0;

	for (size_t done = 0; done < n; done += LEVEL) {
		for (size_t i = 0; i < LEVEL; i++)
			reel_push(tape, bench_value(i));
		for (size_t i = 0; i < LEVEL; i++)
			sum += reel_pop(tape, double);
	}
	measure_sink = sum;
}

static double two_tapes(void *context, size_t n)
{
	const size_t *distance = context;
	char *tapes = aligned_alloc(FAR, 3 * (size_t)FAR);

	if (!tapes)
		abort();
#pragma omp parallel num_threads(2)
	{
		reel_tape *tape = (void *)(tapes + (size_t)omp_get_thread_num() * *distance);

		check(reel_tape_open(tape, NULL, 0));
		up_and_down(tape, n);
		reel_tape_close(tape);
	}
	free(tapes);
	return 0;
}

static double two_lanes(void *context, size_t n)
{
	reel_region *region;
	reel_lane *root;

	(void)context;
	check(reel_lane_open(&root, NULL, 0));
	region = reel_region_begin(root, 2);
#pragma omp parallel num_threads(2)
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker))
			up_and_down(reel_lane_tape(worker.lane), n);
	}
	check(reel_region_end(region));
	reel_lane_close(root);
	return 0;
}

/* ---- The examples ---- */

struct gradient {
	const struct example *example;
	int size, steps;
	int lanes, threads; /* 0 threads: Reel chooses the number */
	bool by_hand; /* on arrays; or else by Reel */
	struct problem *problem;
	reel_lane *root;
	double *result;
};

static void open_gradient(struct gradient *g)
{
	g->problem = g->example->open(g->size, g->steps, g->lanes);
	g->result = allocate_doubles(g->problem->n);
	check(reel_lane_open(&g->root, NULL, 0));
}

static void close_gradient(struct gradient *g)
{
	free(g->result);
	reel_lane_close(g->root);
	g->example->close(g->problem);
}

static double run_gradient(void *context, size_t n)
{
	struct gradient *g = context;

	(void)n;
	if (g->by_hand)
		return g->example->by_hand(g->problem, g->threads, g->result);
	g->example->forward(g->problem, g->root, g->threads);
	g->example->reverse(g->problem, g->root, g->threads, g->result);
	check(reel_lane_error(g->root));
	return g->result[0];
}

/* Number of gradients after which Reel has tried one thread, and chosen. */
#define TRIALS 20

/* n is the number of elements that a gradient passes through. */
static void run_example(const char *name, const struct example *example, int size, int steps,
			size_t n)
{
	struct gradient gradients[] = {
		{.lanes = 1, .threads = 1, .by_hand = true},
		{.lanes = 2, .threads = 2, .by_hand = true},
		{.lanes = 1, .threads = 1},
		{.lanes = 2, .threads = 2},
		{.lanes = 2},
	};
	const struct measure_variant variants[] = {
		{"by hand, one thread", run_gradient, NULL, NULL, &gradients[0]},
		{"by hand, two threads", run_gradient, NULL, NULL, &gradients[1]},
		{"one thread", run_gradient, NULL, NULL, &gradients[2]},
		{"two threads", run_gradient, NULL, NULL, &gradients[3]},
		{"as Reel chooses", run_gradient, NULL, NULL, &gradients[4]},
	};
	const struct bench_case one = {name, variants, COUNT_OF(variants), 0, {n}, n, ROUNDS};

	if (bench_is_listing() || !bench_wants(&one, 1)) {
		bench_run(&one);
		return;
	}
	for (size_t i = 0; i < COUNT_OF(gradients); i++) {
		gradients[i].example = example;
		gradients[i].size = size;
		gradients[i].steps = steps;
		open_gradient(&gradients[i]);
	}
	for (int i = 0; i < TRIALS; i++)
		run_gradient(&gradients[4], n);
	run_case(&one);
	for (size_t i = 0; i < COUNT_OF(gradients); i++)
		close_gradient(&gradients[i]);
}

/* ---- All cases ---- */

static const struct measure_variant region_variants[] = {
	{"parallel regions", empty_regions, NULL, NULL, &two_empty},
	{"reel, empty lanes", regions, NULL, NULL, &two_empty},
	{"reel, a value each", regions, NULL, NULL, &two_with_values},
	{"parallel, one thread", empty_regions, NULL, NULL, &one_empty},
	{"reel, one thread", regions, NULL, NULL, &one_empty},
};

static const struct measure_variant loop_variants[] = {
	{"schedule(dynamic, 1)", runtime_loops, NULL, NULL, NULL},
	{"reel_dynamic(1)", reel_loops, NULL, NULL, NULL},
	{"... and reversed", reel_loops_reversed, NULL, NULL, NULL},
};

static const struct measure_variant order_variants[] = {
	{"critical, twice", critical_sections, NULL, NULL, NULL},
	{"reel_ordered, and reversed", orders, NULL, NULL, NULL},
};

static const struct measure_variant task_variants[] = {
	{"their parts, one", parts_alone, NULL, NULL, &one_adds},
	{"their parts, two", parts_alone, NULL, NULL, &two_add},
	{"one thread", tasks, NULL, NULL, &one_adds},
	{"two, IN in order", tasks, NULL, NULL, &two_in_order},
	{"two, IN", tasks, NULL, NULL, &two_in},
	{"two, IN_ADD", tasks, NULL, NULL, &two_add},
	{"two, by hand, IN_ADD", tasks, NULL, NULL, &two_add_by_hand},
};

static const struct measure_variant tape_variants[] = {
	{"far apart", two_tapes, NULL, NULL, (void *)&far_apart},
	{"side by side", two_tapes, NULL, NULL, (void *)&side_by_side},
	{"lanes", two_lanes, NULL, NULL, NULL},
};

static const struct bench_case cases[] = {
	{"omp/regions", region_variants, COUNT_OF(region_variants), 0, {2000000}, 2000000, ROUNDS},
	{"omp/dynamic", loop_variants, COUNT_OF(loop_variants), 0, {64000}, 64000, ROUNDS},
	{"omp/orders", order_variants, COUNT_OF(order_variants), 0, {2000000}, 2000000, ROUNDS},
	{"omp/tasks", task_variants, COUNT_OF(task_variants), 0, {1024000}, 1024000, ROUNDS},
	{"omp/tapes", tape_variants, COUNT_OF(tape_variants), 0, {1 << 22}, 1 << 22, ROUNDS},
};

void bench_omp(void)
{
	for (size_t c = 0; c < COUNT_OF(cases); c++)
		run_case(&cases[c]);
	run_steps("omp/steps-of-10", 10, false);
	run_steps("omp/steps-of-30", 30, false);
	run_steps("omp/steps-of-100", 100, false);
	run_steps("omp/steps-of-300", 300, false);
	run_steps("omp/steps-of-1000", 1000, false);
	run_steps("omp/steps-of-3000", 3000, false);
	run_steps("omp/steps-of-10000", 10000, false);
	run_steps("omp/busy/steps-of-100", 100, true);
	run_steps("omp/busy/steps-of-10000", 10000, true);
	run_example("omp/burgers-1000", &burgers_1d, 1000, 1000, 1000000);
	run_example("omp/burgers-100000", &burgers_1d, 100000, 20, 2000000);
	run_example("omp/mlp", &mlp, 64, 2, 64 * 26122);
	run_example("omp/lorenz", &lorenz, 64, 1000, 48000);
	run_example("omp/cholesky", &cholesky, 8, 4, 11000000);
}
