/* SPDX-License-Identifier: MIT */
/*
 * A mass-spring robot (DiffTaichi): 128 masses in the plane, 64 springs whose rest
 * length is set by a network of 32 hidden neurons that sees all masses.
 * A step, with s the row {x, y, vx, vy} of all masses:
 *
 *	h_i = tanh(b_i + w_i . s),  act_p = tanh(c_p + u_p . h)
 *
 * and for each spring p between the masses a and b, with d = X_a - X_b and
 * len = |d| + 1e-4:
 *
 *	f = dt k (len - l_p (1 + 0.1 act_p)) / len,  V_a -= f d,  V_b += f d
 *
 * and then V *= 0.995, X += dt V. After the last step
 *
 *	L = sum_j (1 + 0.3 (j mod 7)) x_j + 0.5 y_j
 *
 * Adjoint of a spring, with e = V_bar_b - V_bar_a and r = l_p (1 + 0.1 act_p):
 *
 *	f_bar = e.d,  len_bar = f_bar dt k r / len^2
 *	act_bar_p = -f_bar dt k 0.1 l_p / len
 *	d_bar = f e + len_bar d / |d|,  X_bar_a += d_bar,  X_bar_b -= d_bar
 *
 * and of the network, tanh' being 1 - tanh^2, by the products of its rows.
 *
 * Record of a step: {x, y, vx, vy} per weight w, {h} per weight u and {dx, dy,
 * len, act} per spring; least: s once, h once, and the springs.
 */
#include "config.h"

#include "kernel.h"

#include <math.h>
#include <string.h>

#include <reel/plan.h>

#include "exponential.h"
#include "lanes.h"
#include "os/os.h"
#include "random.h"

#define MASSES ((size_t)128)
#define ROW (4 * MASSES)
/* A row in a span: 65 cache lines, so that it is not a page apart from the next one. */
#define SPAN (ROW + 8)
#define HIDDEN ((size_t)32)
#define SPRINGS ((size_t)64)

#define TIME_STEP 0.004
#define IMPULSE (TIME_STEP * 30)
#define ACTUATION 0.1
#define DAMPING 0.995
#define SHORTEST 1e-4

/* The record of a spring, as four columns. */
struct springs {
	double dx[SPRINGS], dy[SPRINGS], length[SPRINGS], actuation[SPRINGS];
};

struct massspring {
	size_t steps;
	/*
	 * The variant that records segment by segment has these from its forward to its reverse
	 * sweep.
	 */
	reel_plan *plan;
	reel_run *run;
	/* w, b, u, c, one row of w or u for each neuron. */
	double *hidden_weights, *hidden_weights_bar;
	double *hidden_bias, *hidden_bias_bar;
	double *output_weights, *output_weights_bar;
	double *output_bias, *output_bias_bar;
	double *start;
	double *state, *state_bar;
	double *hidden, *hidden_bar;
	double *actuation, *actuation_bar;
	double *rest_length;
	size_t end_a[SPRINGS], end_b[SPRINGS];
};

/* The parts of a row. */
#define X ((size_t)0)
#define Y MASSES
#define VX (2 * MASSES)
#define VY (3 * MASSES)

static void place_springs(struct massspring *g, struct random *random)
{
	for (size_t p = 0; p < SPRINGS; p++) {
		size_t a = random_below(random, MASSES);
		size_t b = (a + 1 + random_below(random, MASSES - 1)) % MASSES;
		double dx = g->start[X + a] - g->start[X + b];
		double dy = g->start[Y + a] - g->start[Y + b];

		g->end_a[p] = a;
		g->end_b[p] = b;
		g->rest_length[p] = sqrt(dx * dx + dy * dy);
	}
}

static void take_parameters(struct massspring *g, struct memory *memory)
{
	g->hidden_weights = memory_take_doubles(memory, HIDDEN * ROW);
	g->hidden_weights_bar = memory_take_doubles(memory, HIDDEN * ROW);
	g->hidden_bias = memory_take_doubles(memory, HIDDEN);
	g->hidden_bias_bar = memory_take_doubles(memory, HIDDEN);
	g->output_weights = memory_take_doubles(memory, SPRINGS * HIDDEN);
	g->output_weights_bar = memory_take_doubles(memory, SPRINGS * HIDDEN);
	g->output_bias = memory_take_doubles(memory, SPRINGS);
	g->output_bias_bar = memory_take_doubles(memory, SPRINGS);
}

static void take_state(struct massspring *g, struct memory *memory)
{
	g->start = memory_take_doubles(memory, ROW);
	g->state = memory_take_doubles(memory, ROW);
	g->state_bar = memory_take_doubles(memory, ROW);
	g->hidden = memory_take_doubles(memory, HIDDEN);
	g->hidden_bar = memory_take_doubles(memory, HIDDEN);
	g->actuation = memory_take_doubles(memory, SPRINGS);
	g->actuation_bar = memory_take_doubles(memory, SPRINGS);
	g->rest_length = memory_take_doubles(memory, SPRINGS);
}

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t steps[] = {5, 1, 1536};
	struct massspring *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->steps = steps[size];
	take_parameters(g, memory);
	take_state(g, memory);
	random_fill(&random, g->hidden_weights, HIDDEN * ROW, -0.05, 0.05);
	random_fill(&random, g->hidden_bias, HIDDEN, -0.1, 0.1);
	random_fill(&random, g->output_weights, SPRINGS * HIDDEN, -0.3, 0.3);
	random_fill(&random, g->output_bias, SPRINGS, -0.1, 0.1);
	random_fill(&random, g->start, VX, 0, 1);
	random_fill(&random, g->start + VX, ROW - VX, -0.1, 0.1);
	place_springs(g, &random);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct massspring *g = data;

	inputs[0] = (struct kernel_input){"w", g->hidden_weights, g->hidden_weights_bar,
					  HIDDEN * ROW};
	inputs[1] = (struct kernel_input){"b", g->hidden_bias, g->hidden_bias_bar, HIDDEN};
	inputs[2] = (struct kernel_input){"u", g->output_weights, g->output_weights_bar,
					  SPRINGS * HIDDEN};
	inputs[3] = (struct kernel_input){"c", g->output_bias, g->output_bias_bar, SPRINGS};
	return 4;
}

/* x, y, vx, vy; h; dx, dy, len, act. */
static size_t columns(const void *data, size_t *bytes)
{
	const struct massspring *g = data;

	for (size_t c = 0; c < 4; c++)
		bytes[c] = g->steps * HIDDEN * MASSES * sizeof(double);
	bytes[4] = g->steps * SPRINGS * HIDDEN * sizeof(double);
	for (size_t c = 5; c < 9; c++)
		bytes[c] = g->steps * SPRINGS * sizeof(double);
	return 9;
}

static void start(struct massspring *g)
{
	memcpy(g->state, g->start, ROW * sizeof(double));
}

static double x_weight(size_t mass)
{
	return 1 + 0.3 * (double)(mass % 7);
}

static double objective(const struct massspring *g)
{
	double total = 0;

	for (size_t j = 0; j < MASSES; j++)
		total += x_weight(j) * g->state[X + j] + 0.5 * g->state[Y + j];
	return total;
}

static void start_adjoint(struct massspring *g)
{
	for (size_t j = 0; j < MASSES; j++) {
		g->state_bar[X + j] = x_weight(j);
		g->state_bar[Y + j] = 0.5;
		g->state_bar[VX + j] = g->state_bar[VY + j] = 0;
	}
	memset(g->hidden_weights_bar, 0, HIDDEN * ROW * sizeof(double));
	memset(g->hidden_bias_bar, 0, HIDDEN * sizeof(double));
	memset(g->output_weights_bar, 0, SPRINGS * HIDDEN * sizeof(double));
	memset(g->output_bias_bar, 0, SPRINGS * sizeof(double));
}

/* ---- The parts of a step that all variants share ---- */

static void activate(double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] = hyperbolic_tangent(values[i]);
}

/* Turns the adjoint of tanh(z) into the adjoint of z, in place. */
static void reverse_activate(double *restrict bar, const double *restrict values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bar[i] *= 1 - values[i] * values[i];
}

static inline double spring_force(double rest_length, double length, double actuation)
{
	return IMPULSE * (length - rest_length * (1 + ACTUATION * actuation)) / length;
}

/* The differences and lengths of all springs as they are now. */
static void measure_springs(const struct massspring *g, struct springs *springs)
{
	for (size_t p = 0; p < SPRINGS; p++) {
		size_t a = g->end_a[p], b = g->end_b[p];

		springs->dx[p] = g->state[X + a] - g->state[X + b];
		springs->dy[p] = g->state[Y + a] - g->state[Y + b];
	}
	for (size_t p = 0; p < SPRINGS; p++)
		springs->length[p] = sqrt(springs->dx[p] * springs->dx[p] +
					  springs->dy[p] * springs->dy[p]) + SHORTEST;
	memcpy(springs->actuation, g->actuation, sizeof springs->actuation);
}

static inline void pull(struct massspring *g, size_t p, double force, double dx, double dy)
{
	size_t a = g->end_a[p], b = g->end_b[p];

	g->state[VX + a] -= force * dx;
	g->state[VY + a] -= force * dy;
	g->state[VX + b] += force * dx;
	g->state[VY + b] += force * dy;
}

static void apply_springs(struct massspring *g, const struct springs *springs)
{
	double force[SPRINGS];

	for (size_t p = 0; p < SPRINGS; p++)
		force[p] = spring_force(g->rest_length[p], springs->length[p],
					springs->actuation[p]);
	for (size_t p = 0; p < SPRINGS; p++)
		pull(g, p, force[p], springs->dx[p], springs->dy[p]);
}

static void move(struct massspring *g)
{
	for (size_t j = 0; j < 2 * MASSES; j++) {
		g->state[VX + j] *= DAMPING;
		g->state[X + j] += TIME_STEP * g->state[VX + j];
	}
}

static void reverse_move(struct massspring *g)
{
	for (size_t j = 0; j < 2 * MASSES; j++) {
		g->state_bar[VX + j] += TIME_STEP * g->state_bar[X + j];
		g->state_bar[VX + j] *= DAMPING;
	}
}

/* One spring; sets the adjoint of its actuation. */
static inline void reverse_spring(struct massspring *g, size_t p, double dx, double dy,
				  double length, double actuation)
{
	double *restrict bar = g->state_bar;
	size_t a = g->end_a[p], b = g->end_b[p];
	double ex = bar[VX + b] - bar[VX + a], ey = bar[VY + b] - bar[VY + a];
	double force_bar = ex * dx + ey * dy, rest = g->rest_length[p];
	double force = spring_force(rest, length, actuation);
	double length_bar = force_bar * IMPULSE * rest * (1 + ACTUATION * actuation) /
			    (length * length);
	double turn = length_bar / (length - SHORTEST);
	double dx_bar = force * ex + turn * dx, dy_bar = force * ey + turn * dy;

	g->actuation_bar[p] = -force_bar * IMPULSE * ACTUATION * rest / length;
	bar[X + a] += dx_bar;
	bar[Y + a] += dy_bar;
	bar[X + b] -= dx_bar;
	bar[Y + b] -= dy_bar;
}

static void reverse_springs(struct massspring *g, const struct springs *springs)
{
	for (size_t p = SPRINGS; p-- > 0;)
		reverse_spring(g, p, springs->dx[p], springs->dy[p], springs->length[p],
			       springs->actuation[p]);
	reverse_activate(g->actuation_bar, springs->actuation, SPRINGS);
}

/* The rows of weights of neuron i or spring p, whose factors were `row` and `hidden`. */
static inline void reverse_neuron(struct massspring *g, size_t i, const double *row)
{
	g->hidden_bias_bar[i] += g->hidden_bar[i];
	add_multiple(g->hidden_weights_bar + i * ROW, g->hidden_bar[i], row, ROW);
	add_multiple(g->state_bar, g->hidden_bar[i], g->hidden_weights + i * ROW, ROW);
}

static inline void reverse_actuation(struct massspring *g, size_t p, const double *hidden)
{
	g->output_bias_bar[p] += g->actuation_bar[p];
	add_multiple(g->output_weights_bar + p * HIDDEN, g->actuation_bar[p], hidden, HIDDEN);
	add_multiple(g->hidden_bar, g->actuation_bar[p], g->output_weights + p * HIDDEN, HIDDEN);
}

static void clear_hidden_bar(struct massspring *g)
{
	memset(g->hidden_bar, 0, HIDDEN * sizeof(double));
}

/* ---- Without a record ---- */

static void network(struct massspring *g)
{
	for (size_t i = 0; i < HIDDEN; i++)
		g->hidden[i] = g->hidden_bias[i] +
			       dot(g->hidden_weights + i * ROW, g->state, ROW);
	activate(g->hidden, HIDDEN);
	for (size_t p = 0; p < SPRINGS; p++)
		g->actuation[p] = g->output_bias[p] +
				  dot(g->output_weights + p * HIDDEN, g->hidden, HIDDEN);
	activate(g->actuation, SPRINGS);
}

static void primal_step(struct massspring *g)
{
	struct springs springs;

	network(g);
	measure_springs(g, &springs);
	apply_springs(g, &springs);
	move(g);
}

static double primal(void *data)
{
	struct massspring *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		primal_step(g);
	return objective(g);
}

/* ---- Value by value ---- */

static inline double push_product(reel_tape *tape, double weight, double factor)
{
	reel_push(tape, factor);
	return weight * factor;
}

/* The sum over all masses, each weight's factor being pushed. */
static double push_neuron(const double *restrict weights, const double *restrict state,
			  reel_tape *tape)
{
	double total = 0;

	for (size_t j = 0; j < MASSES; j++) {
		total += push_product(tape, weights[X + j], state[X + j]);
		total += push_product(tape, weights[Y + j], state[Y + j]);
		total += push_product(tape, weights[VX + j], state[VX + j]);
		total += push_product(tape, weights[VY + j], state[VY + j]);
	}
	return total;
}

static double push_actuation(const double *restrict weights, const double *restrict hidden,
			     reel_tape *tape)
{
	double total = 0;

	for (size_t i = 0; i < HIDDEN; i++)
		total += push_product(tape, weights[i], hidden[i]);
	return total;
}

static void push_spring(struct massspring *g, size_t p, reel_tape *tape)
{
	size_t a = g->end_a[p], b = g->end_b[p];
	double dx = g->state[X + a] - g->state[X + b], dy = g->state[Y + a] - g->state[Y + b];
	double length = sqrt(dx * dx + dy * dy) + SHORTEST;

	reel_push(tape, dx);
	reel_push(tape, dy);
	reel_push(tape, length);
	reel_push(tape, g->actuation[p]);
	pull(g, p, spring_force(g->rest_length[p], length, g->actuation[p]), dx, dy);
}

static void push_step(struct massspring *g, reel_tape *tape)
{
	for (size_t i = 0; i < HIDDEN; i++)
		g->hidden[i] = g->hidden_bias[i] +
			       push_neuron(g->hidden_weights + i * ROW, g->state, tape);
	activate(g->hidden, HIDDEN);
	for (size_t p = 0; p < SPRINGS; p++)
		g->actuation[p] = g->output_bias[p] +
				  push_actuation(g->output_weights + p * HIDDEN, g->hidden, tape);
	activate(g->actuation, SPRINGS);
	for (size_t p = 0; p < SPRINGS; p++)
		push_spring(g, p, tape);
	move(g);
}

static void pop_spring(struct massspring *g, size_t p, reel_tape *tape)
{
	double actuation = reel_pop(tape, double), length = reel_pop(tape, double);
	double dy = reel_pop(tape, double), dx = reel_pop(tape, double);

	reverse_spring(g, p, dx, dy, length, actuation);
	g->actuation_bar[p] *= 1 - actuation * actuation;
}

static void pop_actuation(struct massspring *g, size_t p, reel_tape *tape)
{
	const double *restrict weights = g->output_weights + p * HIDDEN;
	double *restrict weights_bar = g->output_weights_bar + p * HIDDEN;
	double bar = g->actuation_bar[p];

	g->output_bias_bar[p] += bar;
	for (size_t i = HIDDEN; i-- > 0;) {
		g->hidden[i] = reel_pop(tape, double);
		weights_bar[i] += bar * g->hidden[i];
		g->hidden_bar[i] += bar * weights[i];
	}
}

static void pop_neuron(struct massspring *g, size_t n, reel_tape *tape)
{
	const double *restrict weights = g->hidden_weights + n * ROW;
	double *restrict weights_bar = g->hidden_weights_bar + n * ROW;
	double *restrict state_bar = g->state_bar, bar = g->hidden_bar[n];

	g->hidden_bias_bar[n] += bar;
	for (size_t j = MASSES; j-- > 0;)
		for (size_t part = ROW; part > 0;) {
			part -= MASSES;
			weights_bar[part + j] += bar * reel_pop(tape, double);
			state_bar[part + j] += bar * weights[part + j];
		}
}

static void pop_step(struct massspring *g, reel_tape *tape)
{
	reverse_move(g);
	for (size_t p = SPRINGS; p-- > 0;)
		pop_spring(g, p, tape);
	clear_hidden_bar(g);
	for (size_t p = SPRINGS; p-- > 0;)
		pop_actuation(g, p, tape);
	reverse_activate(g->hidden_bar, g->hidden, HIDDEN);
	for (size_t i = HIDDEN; i-- > 0;)
		pop_neuron(g, i, tape);
}

static double forward_plain(void *data, const struct records *records)
{
	struct massspring *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		push_step(g, records->tape);
	return objective(g);
}

static void reverse_plain(void *data, const struct records *records)
{
	struct massspring *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		pop_step(g, records->tape);
}

/* ---- Spans: 4 KiB for each neuron, 16 KiB for h, 2 KiB for the springs ---- */

static void record_step(struct massspring *g, reel_tape *tape)
{
	double *hidden;
	struct springs *springs;

	for (size_t i = 0; i < HIDDEN; i++)
		g->hidden[i] = g->hidden_bias[i] +
			       dot_recording(g->hidden_weights + i * ROW, g->state,
					     demand_push_span(tape, double, SPAN), ROW);
	activate(g->hidden, HIDDEN);
	hidden = demand_push_span(tape, double, SPRINGS * HIDDEN);
	for (size_t p = 0; p < SPRINGS; p++)
		g->actuation[p] = g->output_bias[p] +
				  dot_recording(g->output_weights + p * HIDDEN, g->hidden,
						hidden + p * HIDDEN, HIDDEN);
	activate(g->actuation, SPRINGS);
	springs = demand_push_span(tape, struct springs, 1);
	measure_springs(g, springs);
	apply_springs(g, springs);
	move(g);
}

static void reverse_step(struct massspring *g, reel_tape *tape, bool prefetch)
{
	const double *hidden, *row;

	reverse_move(g);
	reverse_springs(g, demand_pop_span(tape, struct springs, 1));
	clear_hidden_bar(g);
	hidden = demand_pop_span(tape, double, SPRINGS * HIDDEN);
	for (size_t p = SPRINGS; p-- > 0;)
		reverse_actuation(g, p, hidden + p * HIDDEN);
	reverse_activate(g->hidden_bar, hidden, HIDDEN);
	for (size_t i = HIDDEN; i-- > 0;) {
		row = demand_pop_span(tape, double, SPAN);
		if (prefetch)
			prefetch_below(row, SPAN * sizeof(double));
		reverse_neuron(g, i, row);
	}
}

static double forward_best(void *data, const struct records *records)
{
	struct massspring *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_step(g, records->tape);
	return objective(g);
}

static void reverse_best(void *data, const struct records *records)
{
	struct massspring *g = data;
	bool prefetch = is_larger_than_cache(records->tape);

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_step(g, records->tape, prefetch);
}

/* ---- The same record, segment by segment, each within the cache ---- */

static int advance_steps(void *context, void *state, int64_t first, int64_t last)
{
	(void)state;
	for (int64_t step = first; step < last; step++)
		primal_step(context);
	return 0;
}

static int record_steps(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)state;
	for (int64_t step = first; step < last; step++)
		record_step(context, tape);
	return 0;
}

static int reverse_steps(void *context, void *adjoint, int64_t first, int64_t last,
			 reel_tape *tape)
{
	(void)adjoint;
	for (int64_t step = last; step-- > first;)
		reverse_step(context, tape, false);
	return 0;
}

static const reel_model model = {
	.state_bytes = ROW * sizeof(double),
	.advance = advance_steps,
	.record = record_steps,
	.reverse = reverse_steps,
};

/* Returns the number of steps whose values fit half of the second-level cache. */
static int64_t steps_of_segment(struct massspring *g, reel_tape *tape)
{
	reel_mark before = reel_tape_mark(tape);
	size_t cache = reel_os_cache_bytes(2), bytes = reel_tape_bytes(tape);

	start(g);
	record_step(g, tape);
	bytes = reel_tape_bytes(tape) - bytes;
	if (reel_tape_rewind(tape, before))
		kernel_refused(tape, REEL_HERE);
	return cache > 2 * bytes ? (int64_t)(cache / 2 / bytes) : 1;
}

/* With a slot for each segment, each is run once more. */
static double forward_segments(void *data, const struct records *records)
{
	struct massspring *g = data;
	struct reel_run_options options = {.pool = records->tape->pool,
					   .segment_steps = steps_of_segment(g, records->tape),
					   .steps = (int64_t)g->steps};
	struct reel_problem problem = {.tiers = 1};

	problem.steps = (options.steps + options.segment_steps - 1) / options.segment_steps;
	problem.tier[0].slots = problem.steps;
	start(g);
	if (reel_plan_open(&g->plan, REEL_BINOMIAL, &problem) ||
	    reel_run_open(&g->run, g->plan, &model, &options) ||
	    reel_run_forward(g->run, g, g->state))
		kernel_refused(records->tape, REEL_HERE);
	return objective(g);
}

static void reverse_segments(void *data, const struct records *records)
{
	struct massspring *g = data;

	start_adjoint(g);
	if (reel_run_reverse(g->run, g, g->state, g->state_bar))
		kernel_refused(records->tape, REEL_HERE);
	reel_run_close(g->run);
	reel_plan_close(g->plan);
}

/* ---- Nine columns ---- */

static double record_neuron_in_columns(const struct massspring *g, size_t i,
				       const struct records *records, size_t at)
{
	double total = g->hidden_bias[i];

	for (size_t c = 0; c < 4; c++)
		total += dot_recording(g->hidden_weights + i * ROW + c * MASSES,
				       g->state + c * MASSES, column_of(records, c) + at, MASSES);
	return total;
}

static void reverse_neuron_in_columns(struct massspring *g, size_t i,
				      const struct records *records, size_t at)
{
	g->hidden_bias_bar[i] += g->hidden_bar[i];
	for (size_t c = 0; c < 4; c++) {
		size_t weight = i * ROW + c * MASSES;

		add_multiple(g->hidden_weights_bar + weight, g->hidden_bar[i],
			     column_of(records, c) + at, MASSES);
		add_multiple(g->state_bar + c * MASSES, g->hidden_bar[i],
			     g->hidden_weights + weight, MASSES);
	}
}

static void record_springs_in_columns(struct massspring *g, const struct records *records,
				      size_t step)
{
	struct springs springs;
	const double *from[] = {springs.dx, springs.dy, springs.length, springs.actuation};

	measure_springs(g, &springs);
	apply_springs(g, &springs);
	for (size_t c = 0; c < COUNT_OF(from); c++)
		memcpy(column_of(records, 5 + c) + step * SPRINGS, from[c], sizeof springs.dx);
}

static void reverse_springs_in_columns(struct massspring *g, const struct records *records,
				       size_t step)
{
	const double *dx = column_of(records, 5) + step * SPRINGS;
	const double *dy = column_of(records, 6) + step * SPRINGS;
	const double *length = column_of(records, 7) + step * SPRINGS;
	const double *actuation = column_of(records, 8) + step * SPRINGS;

	for (size_t p = SPRINGS; p-- > 0;)
		reverse_spring(g, p, dx[p], dy[p], length[p], actuation[p]);
	reverse_activate(g->actuation_bar, actuation, SPRINGS);
}

static void record_step_in_columns(struct massspring *g, const struct records *records,
				   size_t step)
{
	double *hidden = column_of(records, 4) + step * SPRINGS * HIDDEN;

	for (size_t i = 0; i < HIDDEN; i++)
		g->hidden[i] = record_neuron_in_columns(g, i, records,
							(step * HIDDEN + i) * MASSES);
	activate(g->hidden, HIDDEN);
	for (size_t p = 0; p < SPRINGS; p++)
		g->actuation[p] = g->output_bias[p] +
				  dot_recording(g->output_weights + p * HIDDEN, g->hidden,
						hidden + p * HIDDEN, HIDDEN);
	activate(g->actuation, SPRINGS);
	record_springs_in_columns(g, records, step);
	move(g);
}

static void reverse_step_in_columns(struct massspring *g, const struct records *records,
				    size_t step)
{
	const double *hidden = column_of(records, 4) + step * SPRINGS * HIDDEN;

	reverse_move(g);
	reverse_springs_in_columns(g, records, step);
	clear_hidden_bar(g);
	for (size_t p = SPRINGS; p-- > 0;)
		reverse_actuation(g, p, hidden + p * HIDDEN);
	reverse_activate(g->hidden_bar, hidden, HIDDEN);
	for (size_t i = HIDDEN; i-- > 0;)
		reverse_neuron_in_columns(g, i, records, (step * HIDDEN + i) * MASSES);
}

static double forward_columns(void *data, const struct records *records)
{
	struct massspring *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_step_in_columns(g, records, step);
	return objective(g);
}

static void reverse_columns(void *data, const struct records *records)
{
	struct massspring *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_step_in_columns(g, records, step);
}

/* ---- The least record: s, h and the springs, each once per step ---- */

struct step {
	double state[ROW];
	double hidden[HIDDEN];
	struct springs springs;
};

static void record_least_step(struct massspring *g, reel_tape *tape)
{
	struct step *record = demand_push_span(tape, struct step, 1);

	memcpy(record->state, g->state, sizeof record->state);
	network(g);
	memcpy(record->hidden, g->hidden, sizeof record->hidden);
	measure_springs(g, &record->springs);
	apply_springs(g, &record->springs);
	move(g);
}

static void reverse_least_step(struct massspring *g, reel_tape *tape)
{
	const struct step *record = demand_pop_span(tape, struct step, 1);

	reverse_move(g);
	reverse_springs(g, &record->springs);
	clear_hidden_bar(g);
	for (size_t p = SPRINGS; p-- > 0;)
		reverse_actuation(g, p, record->hidden);
	reverse_activate(g->hidden_bar, record->hidden, HIDDEN);
	for (size_t i = HIDDEN; i-- > 0;)
		reverse_neuron(g, i, record->state);
}

static double forward_least(void *data, const struct records *records)
{
	struct massspring *g = data;

	start(g);
	for (size_t step = 0; step < g->steps; step++)
		record_least_step(g, records->tape);
	return objective(g);
}

static void reverse_least(void *data, const struct records *records)
{
	struct massspring *g = data;

	start_adjoint(g);
	for (size_t step = g->steps; step-- > 0;)
		reverse_least_step(g, records->tape);
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"segments", ON_TAPE, forward_segments, reverse_segments},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_massspring = {
	"massspring", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
