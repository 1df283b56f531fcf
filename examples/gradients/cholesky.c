/* SPDX-License-Identifier: MIT */
/*
 * Factorise A + r I = L L^T for some ridges r, by blocks, one after the other in the same
 * memory. Each operation on a block is a task. The blocks that a task uses order it after other
 * tasks, in both sweeps; the factor of the next ridge begins while the one before goes on.
 *
 * Most tasks have no need of a tape: the factor, which their reverses read, is not overwritten
 * but by the task that loads the block for the next ridge, and that one pushes it.
 *
 * J = sum over ridges of sum W * L, for fixed weights W; the inputs are A, lower blocks.
 */
#include "example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel/task.h>

enum { WIDTH = 32, ELEMENTS = WIDTH * WIDTH };

enum operation { LOAD, FACTOR, SOLVE, UPDATE, SCORE };

/* How many other blocks it reads. */
static int parts_of(enum operation operation)
{
	return operation == UPDATE ? 2 : operation == SOLVE;
}

/* With the block that it is about, and those that it reads. */
struct task {
	enum operation operation;
	int step;
	int block, read[2];
};

struct cholesky {
	struct problem problem;
	int blocks, tasks; /* number `blocks` is none */
	struct task *task;
	char *is; /* a place for each block, and for none, for dependences */
	double *l, *bar, *weight;
	double *last; /* factor: where the reverse sweep begins, each time it is done */
	double *score;   /* of each block */
	double *history; /* of the sweep by hand */
	double *gradient;
};

/* ---- Blocks, row-major; of those on the diagonal the lower half counts ---- */

/* l := the factor of l */
static void factor(double *l)
{
	for (int j = 0; j < WIDTH; j++) {
		for (int i = j; i < WIDTH; i++) {
			double sum = l[i * WIDTH + j];

			for (int k = 0; k < j; k++)
				sum -= l[i * WIDTH + k] * l[j * WIDTH + k];
			l[i * WIDTH + j] = i == j ? sqrt(sum) : sum / l[j * WIDTH + j];
		}
	}
}

/*
 * The reverse of factor(), from the last column to the first. `bar` is the adjoint of the factor,
 * and becomes the adjoint of the block that factor() has overwritten.
 */
static void factor_reverse(const double *l, double *bar)
{
	for (int j = WIDTH - 1; j >= 0; j--) {
		for (int i = WIDTH - 1; i >= j; i--) {
			double *here = &bar[i * WIDTH + j];

			*here /= i == j ? 2 * l[j * WIDTH + j] : l[j * WIDTH + j];
			if (i > j)
				bar[j * WIDTH + j] -= *here * l[i * WIDTH + j];
			for (int k = 0; k < j; k++) {
				bar[i * WIDTH + k] -= *here * l[j * WIDTH + k];
				bar[j * WIDTH + k] -= *here * l[i * WIDTH + k];
			}
		}
	}
}

/* x := x l^-T */
static void solve(const double *l, double *x)
{
	for (int i = 0; i < WIDTH; i++) {
		double *row = x + i * WIDTH;

		for (int j = 0; j < WIDTH; j++) {
			for (int k = 0; k < j; k++)
				row[j] -= row[k] * l[j * WIDTH + k];
			row[j] /= l[j * WIDTH + j];
		}
	}
}

/* Contributions of the reverses to adjoints of other blocks have their own part, zero before. */
static void solve_reverse(const double *l, const double *x, double *restrict l_bar,
			  double *restrict x_bar)
{
	for (int i = WIDTH - 1; i >= 0; i--) {
		const double *row = x + i * WIDTH;
		double *row_bar = x_bar + i * WIDTH;

		for (int j = WIDTH - 1; j >= 0; j--) {
			row_bar[j] /= l[j * WIDTH + j];
			l_bar[j * WIDTH + j] -= row_bar[j] * row[j];
			for (int k = 0; k < j; k++) {
				row_bar[k] -= row_bar[j] * l[j * WIDTH + k];
				l_bar[j * WIDTH + k] -= row_bar[j] * row[k];
			}
		}
	}
}

/* c := c - a b^T */
static void update(const double *a, const double *b, double *c)
{
	for (int i = 0; i < WIDTH; i++)
		for (int j = 0; j < WIDTH; j++)
			for (int k = 0; k < WIDTH; k++)
				c[i * WIDTH + j] -= a[i * WIDTH + k] * b[j * WIDTH + k];
}

static void update_reverse(const double *a, const double *b, double *restrict a_bar,
			   double *restrict b_bar, const double *c_bar)
{
	for (int i = 0; i < WIDTH; i++)
		for (int j = 0; j < WIDTH; j++)
			for (int k = 0; k < WIDTH; k++) {
				a_bar[i * WIDTH + k] -= c_bar[i * WIDTH + j] * b[j * WIDTH + k];
				b_bar[j * WIDTH + k] -= c_bar[i * WIDTH + j] * a[i * WIDTH + k];
			}
}

/* ---- A task ---- */

static double *block_of(double *matrix, int block)
{
	return matrix + (size_t)block * ELEMENTS;
}

/* The number of block (i, j), j <= i: by rows. */
static int number_of(int i, int j)
{
	return i * (i + 1) / 2 + j;
}

static bool is_diagonal(int block)
{
	int i = 0;

	while (number_of(i, i) < block)
		i++;
	return number_of(i, i) == block;
}

static void load(const struct cholesky *c, const struct task *t)
{
	double *l = block_of(c->l, t->block);

	memcpy(l, block_of(c->problem.x, t->block), ELEMENTS * sizeof *l);
	for (int i = 0; i < WIDTH && is_diagonal(t->block); i++)
		l[i * WIDTH + i] += 0.5 * t->step;
}

static void load_reverse(const struct cholesky *c, const struct task *t)
{
	double *bar = block_of(c->bar, t->block), *sum = block_of(c->gradient, t->block);

	for (int k = 0; k < ELEMENTS; k++) {
		sum[k] += bar[k];
		bar[k] = 0;
	}
}

static void score(const struct cholesky *c, const struct task *t)
{
	const double *l = block_of(c->l, t->block), *weight = block_of(c->weight, t->block);

	for (int k = 0; k < ELEMENTS; k++)
		c->score[t->block] += weight[k] * l[k];
}

/* To the adjoint of a block that others add to at the same time; task: NULL, by hand. */
static void add_part(const struct cholesky *c, reel_lane *task, int block, const double *part)
{
	double *bar = block_of(c->bar, block);

	if (task) {
		reel_task_add(task, &c->is[block], bar, part, ELEMENTS);
		return;
	}
#pragma omp critical(add_part)
	for (int k = 0; k < ELEMENTS; k++)
		bar[k] += part[k];
}

static void run(const struct cholesky *c, const struct task *t)
{
	double *l = block_of(c->l, t->block);

	switch (t->operation) {
	case LOAD:
		load(c, t);
		break;
	case FACTOR:
		factor(l);
		break;
	case SOLVE:
		solve(block_of(c->l, t->read[0]), l);
		break;
	case UPDATE:
		update(block_of(c->l, t->read[0]), block_of(c->l, t->read[1]), l);
		break;
	case SCORE:
		score(c, t);
	}
}

static void run_reverse(const struct cholesky *c, const struct task *t, reel_lane *task)
{
	double *l = block_of(c->l, t->block), *bar = block_of(c->bar, t->block);
	double part[2][ELEMENTS];

	memset(part, 0, (size_t)parts_of(t->operation) * sizeof *part);
	switch (t->operation) {
	case LOAD:
		load_reverse(c, t);
		break;
	case FACTOR:
		factor_reverse(l, bar);
		break;
	case SOLVE:
		solve_reverse(block_of(c->l, t->read[0]), l, part[0], bar);
		break;
	case UPDATE:
		update_reverse(block_of(c->l, t->read[0]), block_of(c->l, t->read[1]), part[0],
			       part[1], bar);
		break;
	case SCORE:
		add_part(c, task, t->block, block_of(c->weight, t->block));
	}
	for (int r = 0; r < parts_of(t->operation); r++)
		add_part(c, task, t->read[r], part[r]);
}

/* ---- All tasks, in the order of the program ---- */

static void add(struct cholesky *c, struct task task)
{
	c->task[c->tasks++] = task;
}

static void factor_by_tasks(struct cholesky *c, int step)
{
	int n = c->problem.size, none = c->blocks;

	for (int block = 0; block < c->blocks; block++)
		add(c, (struct task){LOAD, step, block, {none, none}});
	for (int k = 0; k < n; k++) {
		add(c, (struct task){FACTOR, step, number_of(k, k), {none, none}});
		for (int i = k + 1; i < n; i++)
			add(c, (struct task){SOLVE, step, number_of(i, k),
					     {number_of(k, k), none}});
		for (int i = k + 1; i < n; i++)
			for (int j = k + 1; j <= i; j++)
				add(c, (struct task){UPDATE, step, number_of(i, j),
						     {number_of(i, k), number_of(j, k)}});
	}
	for (int block = 0; block < c->blocks; block++)
		add(c, (struct task){SCORE, step, block, {none, none}});
}

/*
 * Dependences of the reverses on adjoints: the reverse of an update reads the adjoint of its block,
 * beside other updates, and adds to the adjoints of the blocks it read; a score's reverse adds.
 */
static int dependences_of(const struct cholesky *c, const struct task *t, reel_dependence *use)
{
	static const enum reel_dependence_kind kinds[] = {
		[LOAD] = REEL_TASK_INOUT, [FACTOR] = REEL_TASK_INOUT, [SOLVE] = REEL_TASK_INOUT,
		[UPDATE] = REEL_TASK_IN_SHARED, [SCORE] = REEL_TASK_IN_ADD};
	int count = 0;

	use[count++] = (reel_dependence){&c->is[t->block], kinds[t->operation]};
	for (int r = 0; r < 2; r++)
		if (t->read[r] < c->blocks && (r == 0 || t->read[1] != t->read[0]))
			use[count++] = (reel_dependence){&c->is[t->read[r]], REEL_TASK_IN_ADD};
	return count;
}

static double total(const struct cholesky *c)
{
	double sum = 0;

	for (int block = 0; block < c->blocks; block++)
		sum += c->score[block];
	return sum;
}

static void start(const struct cholesky *c)
{
	memset(c->score, 0, (size_t)c->blocks * sizeof *c->score);
	memset(c->l, 0, c->problem.n * sizeof *c->l);
}

/* ---- The sweeps ---- */

/* OpenMP's dependences: the block's is inout, also for a score, which changes its sum. */
static double primal(struct problem *problem, int threads)
{
	struct cholesky *c = (struct cholesky *)problem;

	start(c);
#pragma omp parallel num_threads(threads)
#pragma omp master
	for (int n = 0; n < c->tasks; n++) {
		const struct task *t = &c->task[n];

#pragma omp task depend(inout : c->is[t->block]) \
	depend(in : c->is[t->read[0]], c->is[t->read[1]])
		run(c, t);
	}
	return total(c);
}

static void task_forward(const struct cholesky *c, const struct task *t, reel_lane *task)
{
	if (t->operation == LOAD)
		reel_push_array(reel_lane_tape(task), block_of(c->l, t->block), ELEMENTS);
	run(c, t);
}

static void task_reverse(void *context, reel_lane *task)
{
	const struct cholesky *c = context;
	const struct task *t = &c->task[reel_task_label(task)];

	run_reverse(c, t, task);
	if (t->operation == LOAD)
		reel_pop_array(reel_lane_tape(task), block_of(c->l, t->block), ELEMENTS);
}

static double forward(struct problem *problem, reel_lane *root, int threads)
{
	struct cholesky *c = (struct cholesky *)problem;

	start(c);
#pragma omp parallel num_threads(threads ? threads : problem->lanes)
#pragma omp master
	for (int n = 0; n < c->tasks; n++) {
		const struct task *t = &c->task[n];
		reel_dependence use[3];
		int uses = dependences_of(c, t, use);
		reel_lane *task = reel_task_begin(root, n, use, uses);

#pragma omp task depend(inout : c->is[t->block]) \
	depend(in : c->is[t->read[0]], c->is[t->read[1]])
		task_forward(c, t, task);
	}
	reel_task_wait(root);
	memcpy(c->last, c->l, problem->n * sizeof *c->l);
	return total(c);
}

static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct cholesky *c = (struct cholesky *)problem;

	memcpy(c->l, c->last, problem->n * sizeof *c->l);
	c->gradient = gradient;
	memset(gradient, 0, problem->n * sizeof *gradient);
	reel_tasks_reverse(root, task_reverse, c, threads, 0);
}

/* Returns where by_hand() keeps the block that this LOAD overwrites. */
static double *kept_by(const struct cholesky *c, const struct task *t)
{
	return block_of(c->history, t->step * c->blocks + t->block);
}

static void run_by_hand(const struct cholesky *c, const struct task *t)
{
	if (t->operation == LOAD)
		memcpy(kept_by(c, t), block_of(c->l, t->block), ELEMENTS * sizeof *c->l);
	run(c, t);
}

static void reverse_by_hand(const struct cholesky *c, const struct task *t)
{
	run_reverse(c, t, NULL);
	if (t->operation == LOAD)
		memcpy(block_of(c->l, t->block), kept_by(c, t), ELEMENTS * sizeof *c->l);
}

/*
 * Tasks that add to an adjoint, or read their block's adjoint, run at the same time; the additions
 * themselves are in a critical section. A LOAD also changes the block that other tasks read.
 */
static double by_hand(struct problem *problem, int threads, double *gradient)
{
	struct cholesky *c = (struct cholesky *)problem;

	start(c);
	c->gradient = gradient;
	memset(gradient, 0, problem->n * sizeof *gradient);
#pragma omp parallel num_threads(threads)
#pragma omp master
	for (int n = 0; n < c->tasks; n++) {
		const struct task *t = &c->task[n];

#pragma omp task if (threads > 1) depend(inout : c->is[t->block]) \
	depend(in : c->is[t->read[0]], c->is[t->read[1]])
		run_by_hand(c, t);
	}
#pragma omp parallel num_threads(threads)
#pragma omp master
	for (int n = c->tasks; n-- > 0;) {
		const struct task *t = &c->task[n];

		if (t->operation == UPDATE || t->operation == SCORE) {
#pragma omp task if (threads > 1) depend(in : c->is[t->block], c->is[t->read[0]], c->is[t->read[1]])
			reverse_by_hand(c, t);
		} else {
#pragma omp task if (threads > 1) depend(inout : c->is[t->block]) \
	depend(in : c->is[t->read[0]], c->is[t->read[1]])
			reverse_by_hand(c, t);
		}
	}
	return total(c);
}

/* ---- The problem ---- */

/* A positive definite matrix: the diagonal is larger than the sum of the random rest. */
static void fill(struct cholesky *c, int size)
{
	uint64_t seed = 3;

	for (int block = 0; block < c->blocks; block++) {
		double *a = block_of(c->problem.x, block), *weight = block_of(c->weight, block);

		for (int i = 0; i < WIDTH; i++) {
			for (int j = 0; j < (is_diagonal(block) ? i + 1 : WIDTH); j++) {
				a[i * WIDTH + j] = pseudo_random(&seed) / sqrt(WIDTH * size);
				weight[i * WIDTH + j] = pseudo_random(&seed);
			}
			if (is_diagonal(block))
				a[i * WIDTH + i] = 3;
		}
	}
}

static struct problem *open_cholesky(int size, int steps, int lanes)
{
	struct cholesky *c = allocate_aligned(1, sizeof *c);
	size_t n;

	c->blocks = number_of(size, 0);
	n = (size_t)c->blocks * ELEMENTS;
	c->problem = (struct problem){size, steps, lanes, n, allocate_doubles(n)};
	c->is = allocate_aligned((size_t)c->blocks + 1, 1);
	c->l = allocate_doubles(n);
	c->bar = allocate_doubles(n);
	c->last = allocate_doubles(n);
	c->weight = allocate_doubles(n);
	c->score = allocate_doubles((size_t)c->blocks);
	c->history = allocate_doubles(n * (size_t)steps);
	c->task = allocate_aligned((size_t)steps * (size_t)c->blocks * (size_t)(size + 3),
				   sizeof *c->task);
	fill(c, size);
	for (int step = 0; step < steps; step++)
		factor_by_tasks(c, step);
	return &c->problem;
}

static void close_cholesky(struct problem *problem)
{
	struct cholesky *c = (struct cholesky *)problem;

	free(c->problem.x);
	free(c->is);
	free(c->l);
	free(c->bar);
	free(c->last);
	free(c->weight);
	free(c->score);
	free(c->history);
	free(c->task);
	free(c);
}

const struct example cholesky = {
	.name = "cholesky", .what_size = "blocks each way", .what_steps = "ridges",
	.size = 8, .steps = 4, .max_size = 200, .max_steps = 100,
	.same_order = true, .taylor_largest = 0x1p-9,
	.open = open_cholesky, .close = close_cholesky, .primal = primal,
	.forward = forward, .reverse = reverse, .by_hand = by_hand,
};
