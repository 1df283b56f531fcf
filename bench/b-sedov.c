/* SPDX-License-Identifier: MIT */
/*
 * The gradient of examples/sedov over its primal: with all steps on tapes, in memory that has been
 * used before, and with memory for a twentieth of them, by REEL_AUTO. n is elements times steps.
 */
#include "config.h"

#include <stdlib.h>

#include <reel/region.h>

#include "common/bench.h"
#include "common/parallel.h"
#include "gradient/gradient.h"
#include "gradient/sweep.h"

#define SIZE 20
#define QUICK_SIZE 8
#define ROUNDS 5

struct blast {
	struct mesh mesh;
	struct model model;
	struct controls controls, gradient;
	reel_pool *pool;
	int64_t steps;
	uint64_t tape_bytes;
};

static void open_blast(struct blast *blast, int size)
{
	blast->mesh = mesh_cube(size);
	blast->controls = controls_create(&blast->mesh);
	blast->gradient = controls_create(&blast->mesh);
	controls_publish(&blast->mesh, &blast->controls);
	blast->model = model_create(&blast->mesh, &blast->controls);
	if (reel_pool_open(&blast->pool, NULL))
		abort();
}

static void close_blast(struct blast *blast)
{
	reel_pool_close(blast->pool);
	model_destroy(&blast->model);
	controls_destroy(&blast->controls);
	controls_destroy(&blast->gradient);
	mesh_destroy(&blast->mesh);
}

/* Returns the seconds that a function takes from the initial state on. */
static double seconds_of(struct blast *blast, void (*run)(struct blast *blast, struct state *state))
{
	struct state state = state_create(&blast->mesh);
	double start;

	state_start(&blast->model, &blast->controls, &state);
	start = measure_seconds();
	run(blast, &state);
	start = measure_seconds() - start;
	measure_sink = state.energy[0];
	state_destroy(&state);
	return start;
}

static void run_primal(struct blast *blast, struct state *state)
{
	forward_sweep(&blast->model, state, 0, NULL, 0);
	blast->steps = state->clock.steps;
}

/* The pool keeps the slabs from one gradient to the next. */
static void run_on_tapes(struct blast *blast, struct state *state)
{
	struct adjoint adjoint = adjoint_create(&blast->mesh);
	reel_lane *root;

	if (reel_lane_open(&root, blast->pool, 0))
		abort();
	forward_sweep(&blast->model, state, 0, root, 0);
	blast->tape_bytes = reel_lane_bytes(root);
	objective_reverse(ORIGIN, &blast->model, state, &adjoint);
	reverse_sweep(&blast->model, state, root, &adjoint);
	controls_reverse(&blast->model, &blast->controls, &adjoint, &blast->gradient);
	reel_lane_close(root);
	adjoint_destroy(&adjoint);
}

static double seconds_by_plan(struct blast *blast)
{
	const struct scheme scheme = {.text = "auto", .planner = REEL_AUTO};
	struct method method = {
		.scheme = &scheme, .steps = blast->steps, .budget = blast->tape_bytes / 20};
	struct cost cost;

	measure_sink = take_gradient(&blast->model, &blast->controls, ORIGIN, &method,
				     &blast->gradient, &cost);
	return cost.forward_seconds + cost.reverse_seconds;
}

static void measure_gradients(const struct bench_case *one, struct blast *blast)
{
	double seconds[3][ROUNDS];
	struct measure_result results[3];
	size_t n;

	seconds_of(blast, run_on_tapes);
	for (int round = 0; round < ROUNDS; round++) {
		seconds[0][round] = seconds_of(blast, run_primal);
		seconds[1][round] = seconds_of(blast, run_on_tapes);
		seconds[2][round] = seconds_by_plan(blast);
	}
	n = (size_t)blast->mesh.elements * (size_t)blast->steps;
	for (int v = 0; v < 3; v++) {
		for (int round = 0; round < ROUNDS; round++)
			seconds[v][round] *= 1e9 / (double)n;
		results[v] = measure_summary(seconds[v], ROUNDS);
	}
	bench_report(one, n, "ns/element", results);
}

void bench_sedov(void)
{
	static const struct measure_variant variants[] = {
		{.name = "primal"}, {.name = "gradient"}, {.name = "gradient, a twentieth"}};
	static const struct bench_case cases[] = {
		{"sedov/one thread", variants, COUNT_OF(variants), 0, {0}, 0, ROUNDS},
		{"sedov/two threads", variants, COUNT_OF(variants), 0, {0}, 0, ROUNDS},
	};
	struct blast blast;

	for (int c = 0; c < (int)COUNT_OF(cases); c++) {
		if (!bench_starts(&cases[c]))
			continue;
		request_threads(c + 1);
		open_blast(&blast, bench_is_quick() ? QUICK_SIZE : SIZE);
		measure_gradients(&cases[c], &blast);
		close_blast(&blast);
	}
	request_threads(default_threads());
}
