/* SPDX-License-Identifier: MIT */
/*
 * The loss of a network of layers 64, 128, ..., 128, 10 for a batch of samples: tanh in the
 * hidden layers, then the logarithm of the softmax. Lanes share the samples; their adjoints of
 * the weights, which all of them use, are added up.
 *
 * J = mean over samples of log(sum exp(a)) - a[label]; the inputs are weights and biases.
 */
#include "example.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <reel/reduction.h>

#include "common/barrier.h"
#include "common/parallel.h"

enum { INPUTS = 64, HIDDEN = 128, CLASSES = 10, MAX_LAYERS = 32, WIDEST = 128 };

/* `in` and `out` are widths; the weights of one input are contiguous, biases come last. */
struct layer {
	int in, out;
	size_t weights;     /* where they begin */
	size_t activations; /* where its results begin, among the results of a sample */
};

struct mlp {
	struct problem problem;
	struct layer layer[MAX_LAYERS];
	int layers;
	size_t activations; /* of a sample */
	double *sample;     /* INPUTS each */
	reel_adjoint *bar; /* of the weights, which all lanes add to */
	double *bar_sum;
	double *partial; /* of each lane */
	double *history; /* of the sweep by hand */
};

/* ---- A layer ---- */

static void add_scaled(double *restrict y, double a, const double *restrict x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += a * x[i];
}

static double dot(const double *restrict x, const double *restrict y, int n)
{
	double sum = 0;

#pragma omp simd reduction(+ : sum)
	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

static void affine(const struct layer *layer, const double *w, const double *x, double *z)
{
	memcpy(z, w + layer->in * layer->out, (size_t)layer->out * sizeof *z);
	for (int i = 0; i < layer->in; i++)
		add_scaled(z, x[i], w + i * layer->out, layer->out);
}

/* x_bar may be NULL: x is no result of a layer. */
static void affine_reverse(const struct layer *layer, const double *w, const double *x,
			   const double *z_bar, double *w_bar, double *x_bar)
{
	for (int i = 0; i < layer->in; i++) {
		if (x_bar)
			x_bar[i] = dot(w + i * layer->out, z_bar, layer->out);
		add_scaled(w_bar + i * layer->out, x[i], z_bar, layer->out);
	}
	add_scaled(w_bar + layer->in * layer->out, 1, z_bar, layer->out);
}

/* log(sum exp(a)) - a[label]; a becomes the softmax. */
static double log_loss(double *a, int label)
{
	double most = a[0], sum = 0, at_label = a[label];

	for (int i = 1; i < CLASSES; i++)
		most = a[i] > most ? a[i] : most;
	for (int i = 0; i < CLASSES; i++)
		sum += a[i] = exp(a[i] - most);
	for (int i = 0; i < CLASSES; i++)
		a[i] /= sum;
	return log(sum) + most - at_label;
}

/* ---- A sample ---- */

static int label_of(int sample)
{
	return sample * 7 % CLASSES;
}

static const double *input_of(const struct mlp *m, int sample, const double *kept, int l)
{
	return l ? kept + m->layer[l - 1].activations : m->sample + sample * INPUTS;
}

/* The results of all layers are computed in `kept`. */
static double sample_forward(const struct mlp *m, int sample, double *kept)
{
	int last = m->layers - 1;

	for (int l = 0; l <= last; l++) {
		const struct layer *layer = &m->layer[l];
		double *z = kept + layer->activations;

		affine(layer, m->problem.x + layer->weights, input_of(m, sample, kept, l), z);
		for (int i = 0; l < last && i < layer->out; i++)
			z[i] = tanh(z[i]);
	}
	return log_loss(kept + m->layer[last].activations, label_of(sample)) / m->problem.size;
}

static void sample_reverse(const struct mlp *m, int sample, const double *kept, double *bar)
{
	int last = m->layers - 1;
	const double *softmax = kept + m->layer[last].activations;
	double z_bar[WIDEST], x_bar[WIDEST];

	for (int i = 0; i < CLASSES; i++)
		z_bar[i] = (softmax[i] - (i == label_of(sample))) / m->problem.size;
	for (int l = last; l >= 0; l--) {
		const struct layer *layer = &m->layer[l];
		const double *x = input_of(m, sample, kept, l);

		affine_reverse(layer, m->problem.x + layer->weights, x, z_bar, bar + layer->weights,
			       l ? x_bar : NULL);
		for (int i = 0; l && i < layer->in; i++)
			z_bar[i] = x_bar[i] * (1 - x[i] * x[i]);
	}
}

/* ---- The sweeps ---- */

static double primal(struct problem *problem, int threads)
{
	struct mlp *m = (struct mlp *)problem;
	double sum = 0;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
	for (int s = 0; s < problem->size; s++) {
		double kept[MAX_LAYERS * WIDEST];

		sum += sample_forward(m, s, kept);
	}
	return sum;
}

static double forward(struct problem *problem, reel_lane *root, int threads)
{
	struct mlp *m = (struct mlp *)problem;
	reel_region *region = reel_region_begin(root, problem->lanes);

#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			double sum = 0;

			REEL_FOR(worker.lane, int, s, 0, problem->size, reel_static(0))
			{
				double *kept = reel_push_span(tape, double, m->activations);

				if (kept)
					sum += sample_forward(m, s, kept);
			}
			m->partial[reel_lane_index(worker.lane)] = sum;
		}
	}
	reel_region_end(region);
	return reel_reduce(root, REEL_REDUCE_SUM, m->partial, problem->lanes);
}

static void reverse(struct problem *problem, reel_lane *root, int threads, double *gradient)
{
	struct mlp *m = (struct mlp *)problem;
	reel_region *region = reel_region_reverse(root);

	memset(m->bar_sum, 0, problem->n * sizeof *m->bar_sum);
	reel_adjoint_begin(m->bar, (unsigned)problem->lanes);
#pragma omp parallel num_threads(team_of(region, threads))
	{
		reel_worker worker = reel_worker_of(region);

		while (reel_worker_next(&worker)) {
			reel_tape *tape = reel_lane_tape(worker.lane);
			reel_adjoint_view view =
				reel_adjoint_lane(m->bar, (unsigned)reel_lane_index(worker.lane));
			double *bar = reel_adjoint_span(&view, 0, problem->n);

			REEL_FOR_REVERSE(worker.lane, int, s, 0, problem->size, reel_static(0))
			{
				const double *kept = reel_pop_span(tape, double, m->activations);

				if (kept)
					sample_reverse(m, s, kept, bar);
			}
		}
		reel_adjoint_omp_reduce(m->bar);
	}
	reel_region_end(region);
	reel_adjoint_end(m->bar);
	memcpy(gradient, m->bar_sum, problem->n * sizeof *gradient);
}

/* Each thread adds to an array of its own; then each adds its part of the weights up. */
static double by_hand(struct problem *problem, int threads, double *gradient)
{
	struct mlp *m = (struct mlp *)problem;
	struct spin_barrier barrier = {0};
	double sum = 0, *bars = allocate_doubles((size_t)threads * problem->n);

#pragma omp parallel num_threads(threads) reduction(+ : sum)
	{
		int thread = thread_number(), team = team_size(), size = problem->size;
		int first = (int)((int64_t)size * thread / team);
		int end = (int)((int64_t)size * (thread + 1) / team);
		double *bar = bars + (size_t)thread * problem->n;
		uint64_t passed = 0;

		for (int s = first; s < end; s++)
			sum += sample_forward(m, s, m->history + (size_t)s * m->activations);
		for (int s = end; s-- > first;)
			sample_reverse(m, s, m->history + (size_t)s * m->activations, bar);
		spin_barrier_pass(&barrier, &passed, team);
		for (size_t k = problem->n * (size_t)thread / (size_t)team;
		     k < problem->n * (size_t)(thread + 1) / (size_t)team; k++) {
			gradient[k] = bars[k];
			for (int other = 1; other < team; other++)
				gradient[k] += bars[(size_t)other * problem->n + k];
		}
	}
	free(bars);
	return sum;
}

/* ---- The problem ---- */

static size_t lay_out(struct mlp *m, int hidden)
{
	size_t weights = 0;

	m->layers = hidden + 1;
	for (int l = 0; l < m->layers; l++) {
		struct layer *layer = &m->layer[l];

		layer->in = l ? HIDDEN : INPUTS;
		layer->out = l < m->layers - 1 ? HIDDEN : CLASSES;
		layer->weights = weights;
		layer->activations = m->activations;
		weights += (size_t)((layer->in + 1) * layer->out);
		m->activations += (size_t)layer->out;
	}
	return weights;
}

static struct problem *open_mlp(int size, int steps, int lanes)
{
	struct mlp *m = allocate_aligned(1, sizeof *m);
	size_t n = lay_out(m, steps);
	uint64_t seed = 5;

	m->problem = (struct problem){size, steps, lanes, n, allocate_doubles(n)};
	for (size_t k = 0; k < n; k++)
		m->problem.x[k] = 0.1 * pseudo_random(&seed);
	m->sample = allocate_doubles((size_t)size * INPUTS);
	for (int k = 0; k < size * INPUTS; k++)
		m->sample[k] = pseudo_random(&seed);
	m->bar_sum = open_adjoint(&m->bar, "weights", n);
	m->partial = allocate_doubles((size_t)lanes);
	m->history = allocate_doubles((size_t)size * m->activations);
	return &m->problem;
}

static void close_mlp(struct problem *problem)
{
	struct mlp *m = (struct mlp *)problem;

	free(m->problem.x);
	free(m->sample);
	reel_adjoint_close(m->bar);
	free(m->bar_sum);
	free(m->partial);
	free(m->history);
	free(m);
}

const struct example mlp = {
	.name = "mlp", .what_size = "samples", .what_steps = "hidden layers",
	.size = 64, .steps = 2, .max_size = 10000000, .max_steps = MAX_LAYERS - 1,
	.same_order = false, .taylor_largest = 0x1p-9,
	.open = open_mlp, .close = close_mlp, .primal = primal,
	.forward = forward, .reverse = reverse, .by_hand = by_hand,
};
