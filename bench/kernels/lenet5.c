/* SPDX-License-Identifier: MIT */
/*
 * LeNet-5 over a batch of images of 32x32 pixels.
 *
 *	C1  6 maps by 5x5            28x28   ReLU
 *	S2  2x2 means                14x14
 *	C3  16 maps by 5x5, from all 10x10   ReLU
 *	S4  2x2 means                5x5
 *	C5  120 neurons, ReLU;  F6  84 neurons, ReLU;  10 scores a
 *	p = softmax(a),  L = -sum_images log p_label
 *
 * Each layer but the means is z = b + sum w x over some inputs x. Adjoint:
 *
 *	b_bar += z_bar,  w_bar += z_bar x,  x_bar += w z_bar
 *	ReLU: z_bar = 0 where z <= 0;  mean: x_bar = z_bar / 4
 *	a_bar_i = L_bar (p_i - [i = label])
 *
 * Record: {x} per product, a mask per ReLU, p; least: the inputs of each layer
 * once, and masks for C1 and C3, where the means hide the sign.
 */
#include "config.h"

#include "kernel.h"

#include <math.h>
#include <string.h>

#include "digits.h"
#include "lanes.h"
#include "random.h"

#define KERNEL ((size_t)5)
#define TAPS (KERNEL * KERNEL)

/* The sides and the numbers of the maps. */
#define C0_SIDE ((size_t)32)
#define C1_SIDE ((size_t)28)
#define S2_SIDE ((size_t)14)
#define C3_SIDE ((size_t)10)
#define S4_SIDE ((size_t)5)
#define C1_MAPS ((size_t)6)
#define C3_MAPS ((size_t)16)

/* All neurons of a layer. */
#define C0 (C0_SIDE * C0_SIDE)
#define C1 (C1_MAPS * C1_SIDE * C1_SIDE)
#define S2 (C1_MAPS * S2_SIDE * S2_SIDE)
#define C3 (C3_MAPS * C3_SIDE * C3_SIDE)
#define S4 (C3_MAPS * S4_SIDE * S4_SIDE)
#define C5 ((size_t)120)
#define F6 ((size_t)84)

#define C1_PRODUCTS (C1_MAPS * TAPS * C1_SIDE * C1_SIDE)
#define C3_PRODUCTS (C3_MAPS * C1_MAPS * TAPS * C3_SIDE * C3_SIDE)
#define PRODUCTS (C1_PRODUCTS + C3_PRODUCTS + S4 * C5 + C5 * F6 + F6 * DIGITS)
#define MASKS (C1 + C3 + C5 + F6)

struct weights {
	size_t count, neurons;
	double *w, *w_bar;
	double *b, *b_bar;
};

/* The activations of an image, or their adjoints. */
struct activations {
	double *c1, *s2, *c3, *s4, *c5, *f6, *scores;
};

struct lenet {
	size_t images;
	double *pixels;
	unsigned char *labels;
	struct weights c1, c3, c5, f6, output;
	struct activations value, bar;
};

static struct weights take_weights(struct memory *memory, struct random *random, size_t neurons,
				   size_t inputs)
{
	struct weights weights = {.count = neurons * inputs, .neurons = neurons};
	double most = sqrt(3.0 / (double)inputs);

	weights.w = memory_take_doubles(memory, weights.count);
	weights.w_bar = memory_take_doubles(memory, weights.count);
	weights.b = memory_take_doubles(memory, neurons);
	weights.b_bar = memory_take_doubles(memory, neurons);
	random_fill(random, weights.w, weights.count, -most, most);
	random_fill(random, weights.b, neurons, -0.1, 0.1);
	return weights;
}

static struct activations take_activations(struct memory *memory)
{
	return (struct activations){
		.c1 = memory_take_doubles(memory, C1), .s2 = memory_take_doubles(memory, S2),
		.c3 = memory_take_doubles(memory, C3), .s4 = memory_take_doubles(memory, S4),
		.c5 = memory_take_doubles(memory, C5), .f6 = memory_take_doubles(memory, F6),
		.scores = memory_take_doubles(memory, DIGITS)};
}

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t images[] = {1, 1, 64};
	struct lenet *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->images = images[size];
	g->pixels = memory_take_doubles(memory, g->images * C0);
	g->labels = memory_take(memory, g->images);
	g->c1 = take_weights(memory, &random, C1_MAPS, TAPS);
	g->c3 = take_weights(memory, &random, C3_MAPS, C1_MAPS * TAPS);
	g->c5 = take_weights(memory, &random, C5, S4);
	g->f6 = take_weights(memory, &random, F6, C5);
	g->output = take_weights(memory, &random, DIGITS, F6);
	g->value = take_activations(memory);
	g->bar = take_activations(memory);
	random_fill(&random, g->pixels, g->images * C0, 0, 1);
	draw_labels(&random, g->labels, g->images);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct lenet *g = data;
	struct weights *layers[] = {&g->c1, &g->c3, &g->c5, &g->f6, &g->output};
	static const char *const names[][2] = {{"C1.w", "C1.b"}, {"C3.w", "C3.b"},
					       {"C5.w", "C5.b"}, {"F6.w", "F6.b"},
					       {"output.w", "output.b"}};

	for (size_t l = 0; l < COUNT_OF(layers); l++) {
		struct weights *layer = layers[l];

		inputs[2 * l] = (struct kernel_input){names[l][0], layer->w, layer->w_bar,
						      layer->count};
		inputs[2 * l + 1] = (struct kernel_input){names[l][1], layer->b, layer->b_bar,
							  layer->neurons};
	}
	return 2 * COUNT_OF(layers);
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct lenet *g = data;

	bytes[0] = g->images * PRODUCTS * sizeof(double);
	bytes[1] = g->images * MASKS;
	bytes[2] = g->images * DIGITS * sizeof(double);
	return 3;
}

static void clear(double *values, size_t n)
{
	memset(values, 0, n * sizeof(double));
}

static void clear_adjoint(struct lenet *g)
{
	struct weights *layers[] = {&g->c1, &g->c3, &g->c5, &g->f6, &g->output};

	for (size_t l = 0; l < COUNT_OF(layers); l++) {
		clear(layers[l]->w_bar, layers[l]->count);
		clear(layers[l]->b_bar, layers[l]->neurons);
	}
}

/* ---- Layers without a record ---- */

static void start_maps(double *restrict out, const double *restrict bias, size_t maps, size_t area)
{
	for (size_t m = 0; m < maps; m++)
		for (size_t i = 0; i < area; i++)
			out[m * area + i] = bias[m];
}

/* One tap of the kernel: out += w in, over a map of side * side. */
static inline void convolve_tap(double *restrict out, double w, const double *restrict in,
				size_t side)
{
	size_t in_side = side + KERNEL - 1;

	for (size_t y = 0; y < side; y++) {
		ROW_LOOP
		for (size_t x = 0; x < side; x++)
			out[y * side + x] += w * in[y * in_side + x];
	}
}

static inline const double *tap_of(const double *in, size_t tap, size_t side)
{
	return in + tap / KERNEL * (side + KERNEL - 1) + tap % KERNEL;
}

static inline void convolve(const struct weights *weights, const double *in, size_t in_maps,
			    double *out, size_t side)
{
	size_t area = side * side, in_side = side + KERNEL - 1;

	start_maps(out, weights->b, weights->neurons, area);
	for (size_t m = 0; m < weights->neurons * in_maps; m++)
		for (size_t tap = 0; tap < TAPS; tap++)
			convolve_tap(out + m / in_maps * area, weights->w[m * TAPS + tap],
				     tap_of(in + m % in_maps * in_side * in_side, tap, side),
				     side);
}

static void connect(const struct weights *weights, const double *in, size_t n, double *out)
{
	for (size_t i = 0; i < weights->neurons; i++)
		out[i] = weights->b[i] + dot(weights->w + i * n, in, n);
}

static void rectify(double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] > 0 ? values[i] : 0;
}

/* Means of 2x2 over maps of 2 side * 2 side; maps lie one below the other. */
static inline void average(const double *restrict in, double *restrict out, size_t rows,
			   size_t side)
{
	for (size_t y = 0; y < rows; y++)
		for (size_t x = 0; x < side; x++) {
			const double *corner = in + 4 * side * y + 2 * x;

			out[y * side + x] = (corner[0] + corner[1] + corner[2 * side] +
					     corner[2 * side + 1]) / 4;
		}
}

static inline void reverse_average(double *restrict in_bar, const double *restrict out_bar,
				   size_t rows, size_t side)
{
	for (size_t y = 0; y < rows; y++)
		for (size_t x = 0; x < side; x++) {
			double *corner = in_bar + 4 * side * y + 2 * x;
			double quarter = out_bar[y * side + x] / 4;

			corner[0] = corner[1] = quarter;
			corner[2 * side] = corner[2 * side + 1] = quarter;
		}
}

/* Leaves p in the scores. */
static double classify(struct lenet *g, size_t image)
{
	struct activations *a = &g->value;

	convolve(&g->c1, g->pixels + image * C0, 1, a->c1, C1_SIDE);
	rectify(a->c1, C1);
	average(a->c1, a->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	convolve(&g->c3, a->s2, C1_MAPS, a->c3, C3_SIDE);
	rectify(a->c3, C3);
	average(a->c3, a->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	connect(&g->c5, a->s4, S4, a->c5);
	rectify(a->c5, C5);
	connect(&g->f6, a->c5, C5, a->f6);
	rectify(a->f6, F6);
	connect(&g->output, a->f6, F6, a->scores);
	return softmax(a->scores, g->labels[image]);
}

static double primal(void *data)
{
	struct lenet *g = data;
	double loss = 0;

	for (size_t image = 0; image < g->images; image++)
		loss += classify(g, image);
	return loss;
}

/* The adjoint of the scores from p. */
static void reverse_softmax(struct lenet *g, size_t image, const double *p)
{
	for (size_t i = 0; i < DIGITS; i++)
		g->bar.scores[i] = p[i] - (g->labels[image] == i);
}

/* ---- Value by value ---- */

static inline void push_tap(reel_tape *tape, double *restrict out, double w,
			    const double *restrict in, size_t side)
{
	for (size_t y = 0; y < side; y++)
		for (size_t x = 0; x < side; x++) {
			double value = in[y * (side + KERNEL - 1) + x];

			reel_push(tape, value);
			out[y * side + x] += w * value;
		}
}

static void push_convolution(const struct weights *weights, const double *in, size_t in_maps,
			     double *out, size_t side, reel_tape *tape)
{
	size_t area = side * side, in_side = side + KERNEL - 1;

	start_maps(out, weights->b, weights->neurons, area);
	for (size_t m = 0; m < weights->neurons * in_maps; m++)
		for (size_t tap = 0; tap < TAPS; tap++)
			push_tap(tape, out + m / in_maps * area, weights->w[m * TAPS + tap],
				 tap_of(in + m % in_maps * in_side * in_side, tap, side), side);
}

static void push_connection(const struct weights *weights, const double *restrict in, size_t n,
			    double *restrict out, reel_tape *tape)
{
	for (size_t i = 0; i < weights->neurons; i++) {
		const double *restrict w = weights->w + i * n;
		double z = weights->b[i];

		for (size_t j = 0; j < n; j++) {
			reel_push(tape, in[j]);
			z += w[j] * in[j];
		}
		out[i] = z;
	}
}

static void push_rectified(double *values, size_t n, reel_tape *tape)
{
	for (size_t i = 0; i < n; i++) {
		reel_push_bit(tape, values[i] > 0);
		values[i] = values[i] > 0 ? values[i] : 0;
	}
}

static double push_image(struct lenet *g, size_t image, reel_tape *tape)
{
	struct activations *a = &g->value;
	double loss;

	push_convolution(&g->c1, g->pixels + image * C0, 1, a->c1, C1_SIDE, tape);
	push_rectified(a->c1, C1, tape);
	average(a->c1, a->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	push_convolution(&g->c3, a->s2, C1_MAPS, a->c3, C3_SIDE, tape);
	push_rectified(a->c3, C3, tape);
	average(a->c3, a->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	push_connection(&g->c5, a->s4, S4, a->c5, tape);
	push_rectified(a->c5, C5, tape);
	push_connection(&g->f6, a->c5, C5, a->f6, tape);
	push_rectified(a->f6, F6, tape);
	push_connection(&g->output, a->f6, F6, a->scores, tape);
	loss = softmax(a->scores, g->labels[image]);
	for (size_t i = 0; i < DIGITS; i++)
		reel_push(tape, a->scores[i]);
	return loss;
}

/* Returns the adjoint of w. in_bar is NULL for the pixels. */
static inline double pop_tap(reel_tape *tape, const double *restrict out_bar, double w,
			     double *restrict in_bar, size_t side)
{
	double w_bar = 0;

	for (size_t y = side; y-- > 0;)
		for (size_t x = side; x-- > 0;) {
			double bar = out_bar[y * side + x];

			w_bar += bar * reel_pop(tape, double);
			if (in_bar)
				in_bar[y * (side + KERNEL - 1) + x] += w * bar;
		}
	return w_bar;
}

static void reverse_bias(struct weights *weights, const double *out_bar, size_t area)
{
	for (size_t m = 0; m < weights->neurons; m++)
		weights->b_bar[m] += sum(out_bar + m * area, area);
}

static void pop_convolution(struct weights *weights, const double *out_bar, size_t side,
			    double *in_bar, size_t in_maps, reel_tape *tape)
{
	size_t area = side * side, in_side = side + KERNEL - 1;

	for (size_t m = weights->neurons * in_maps; m-- > 0;)
		for (size_t tap = TAPS; tap-- > 0;) {
			size_t offset = m % in_maps * in_side * in_side +
					tap / KERNEL * in_side + tap % KERNEL;

			weights->w_bar[m * TAPS + tap] +=
				pop_tap(tape, out_bar + m / in_maps * area,
					weights->w[m * TAPS + tap],
					in_bar ? in_bar + offset : NULL, side);
		}
	reverse_bias(weights, out_bar, area);
}

static void pop_connection(struct weights *weights, const double *restrict out_bar,
			   double *restrict in_bar, size_t n, reel_tape *tape)
{
	clear(in_bar, n);
	for (size_t i = weights->neurons; i-- > 0;) {
		const double *restrict w = weights->w + i * n;
		double *restrict w_bar = weights->w_bar + i * n;

		weights->b_bar[i] += out_bar[i];
		for (size_t j = n; j-- > 0;) {
			w_bar[j] += out_bar[i] * reel_pop(tape, double);
			in_bar[j] += w[j] * out_bar[i];
		}
	}
}

static void pop_rectified(double *bar, size_t n, reel_tape *tape)
{
	for (size_t i = n; i-- > 0;)
		bar[i] = reel_pop_bit(tape) ? bar[i] : 0;
}

static void pop_image(struct lenet *g, size_t image, reel_tape *tape)
{
	struct activations *bar = &g->bar;
	double p[DIGITS];

	for (size_t i = DIGITS; i-- > 0;)
		p[i] = reel_pop(tape, double);
	reverse_softmax(g, image, p);
	pop_connection(&g->output, bar->scores, bar->f6, F6, tape);
	pop_rectified(bar->f6, F6, tape);
	pop_connection(&g->f6, bar->f6, bar->c5, C5, tape);
	pop_rectified(bar->c5, C5, tape);
	pop_connection(&g->c5, bar->c5, bar->s4, S4, tape);
	reverse_average(bar->c3, bar->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	pop_rectified(bar->c3, C3, tape);
	clear(bar->s2, S2);
	pop_convolution(&g->c3, bar->c3, C3_SIDE, bar->s2, C1_MAPS, tape);
	reverse_average(bar->c1, bar->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	pop_rectified(bar->c1, C1, tape);
	pop_convolution(&g->c1, bar->c1, C1_SIDE, NULL, 1, tape);
}

static double forward_plain(void *data, const struct records *records)
{
	struct lenet *g = data;
	double loss = 0;

	for (size_t image = 0; image < g->images; image++)
		loss += push_image(g, image, records->tape);
	return loss;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct lenet *g = data;

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;)
		pop_image(g, image, records->tape);
}

/* ---- Rows: a span for each tap of a map and each neuron, or one array ---- */

/* The top of the record: on the tape, or in the columns. */
struct top {
	reel_tape *tape;
	double *factors;
	unsigned char *masks;
	double *probabilities;
	bool prefetch;
};

static struct top bottom(const struct records *records)
{
	struct top top = {.tape = records->tape};

	if (records->columns) {
		top.factors = records->columns->column[0];
		top.masks = records->columns->column[1];
		top.probabilities = records->columns->column[2];
	}
	return top;
}

/* Where the sweep that records leaves off. */
static struct top full(const struct lenet *g, const struct records *records)
{
	struct top top = bottom(records);

	top.prefetch = top.tape && is_larger_than_cache(top.tape);
	if (records->columns) {
		top.factors += g->images * PRODUCTS;
		top.masks += g->images * MASKS;
		top.probabilities += g->images * DIGITS;
	}
	return top;
}

static inline double *push_factors(struct top *top, size_t n)
{
	if (top->tape)
		return demand_push_span(top->tape, double, n);
	top->factors += n;
	return top->factors - n;
}

static inline const double *pop_factors(struct top *top, size_t n)
{
	const double *factors;

	if (!top->tape)
		return top->factors -= n;
	factors = demand_pop_span(top->tape, double, n);
	if (top->prefetch)
		prefetch_below(factors, n * sizeof(double));
	return factors;
}

static inline unsigned char *push_masks(struct top *top, size_t n)
{
	if (top->tape)
		return demand_push_span(top->tape, unsigned char, n);
	top->masks += n;
	return top->masks - n;
}

static inline const unsigned char *pop_masks(struct top *top, size_t n)
{
	if (top->tape)
		return demand_pop_span(top->tape, unsigned char, n);
	return top->masks -= n;
}

static inline double *push_probabilities(struct top *top)
{
	if (top->tape)
		return demand_push_span(top->tape, double, DIGITS);
	top->probabilities += DIGITS;
	return top->probabilities - DIGITS;
}

static inline const double *pop_probabilities(struct top *top)
{
	if (top->tape)
		return demand_pop_span(top->tape, double, DIGITS);
	return top->probabilities -= DIGITS;
}

/* The inputs of a tap, row by row without gaps. */
static inline void copy_window(double *restrict row, const double *restrict in, size_t side)
{
	for (size_t y = 0; y < side; y++) {
		ROW_LOOP
		for (size_t x = 0; x < side; x++)
			row[y * side + x] = in[y * (side + KERNEL - 1) + x];
	}
}

static inline void record_tap(double *restrict row, double *restrict out, double w,
			      const double *restrict in, size_t side)
{
	for (size_t y = 0; y < side; y++) {
		ROW_LOOP
		for (size_t x = 0; x < side; x++) {
			double value = in[y * (side + KERNEL - 1) + x];

			row[y * side + x] = value;
			out[y * side + x] += w * value;
		}
	}
}

static inline void record_convolution(const struct weights *weights, const double *in,
				      size_t in_maps, double *out, size_t side, struct top *top)
{
	size_t area = side * side, in_side = side + KERNEL - 1;

	start_maps(out, weights->b, weights->neurons, area);
	for (size_t m = 0; m < weights->neurons * in_maps; m++)
		for (size_t tap = 0; tap < TAPS; tap++)
			record_tap(push_factors(top, area), out + m / in_maps * area,
				   weights->w[m * TAPS + tap],
				   tap_of(in + m % in_maps * in_side * in_side, tap, side), side);
}

static void record_connection(const struct weights *weights, const double *in, size_t n,
			      double *out, struct top *top)
{
	for (size_t i = 0; i < weights->neurons; i++)
		out[i] = weights->b[i] +
			 dot_recording(weights->w + i * n, in, push_factors(top, n), n);
}

static void record_rectified(double *restrict values, size_t n, unsigned char *restrict masks)
{
	for (size_t i = 0; i < n; i++)
		masks[i] = values[i] > 0;
	rectify(values, n);
}

static double record_image(struct lenet *g, size_t image, struct top *top)
{
	struct activations *a = &g->value;
	double loss;

	record_convolution(&g->c1, g->pixels + image * C0, 1, a->c1, C1_SIDE, top);
	record_rectified(a->c1, C1, push_masks(top, C1));
	average(a->c1, a->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	record_convolution(&g->c3, a->s2, C1_MAPS, a->c3, C3_SIDE, top);
	record_rectified(a->c3, C3, push_masks(top, C3));
	average(a->c3, a->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	record_connection(&g->c5, a->s4, S4, a->c5, top);
	record_rectified(a->c5, C5, push_masks(top, C5));
	record_connection(&g->f6, a->c5, C5, a->f6, top);
	record_rectified(a->f6, F6, push_masks(top, F6));
	record_connection(&g->output, a->f6, F6, a->scores, top);
	loss = softmax(a->scores, g->labels[image]);
	memcpy(push_probabilities(top), a->scores, DIGITS * sizeof(double));
	return loss;
}

/* in_bar += w out_bar, over the window of a tap. */
static inline void reverse_window(double *restrict in_bar, double w,
				  const double *restrict out_bar, size_t side)
{
	for (size_t y = 0; y < side; y++) {
		ROW_LOOP
		for (size_t x = 0; x < side; x++)
			in_bar[y * (side + KERNEL - 1) + x] += w * out_bar[y * side + x];
	}
}

static inline void reverse_tap(struct weights *weights, size_t number, const double *row,
			       const double *out_bar, double *in_bar, size_t side)
{
	weights->w_bar[number] += dot(row, out_bar, side * side);
	if (in_bar)
		reverse_window(in_bar, weights->w[number], out_bar, side);
}

static inline double *window_of(double *in_bar, size_t map, size_t tap, size_t side)
{
	size_t in_side = side + KERNEL - 1;

	return in_bar ? in_bar + (map * in_side + tap / KERNEL) * in_side + tap % KERNEL : NULL;
}

static inline void reverse_convolution(struct weights *weights, const double *out_bar, size_t side,
				       double *in_bar, size_t in_maps, struct top *top)
{
	size_t area = side * side;

	for (size_t m = weights->neurons * in_maps; m-- > 0;)
		for (size_t tap = TAPS; tap-- > 0;)
			reverse_tap(weights, m * TAPS + tap, pop_factors(top, area),
				    out_bar + m / in_maps * area,
				    window_of(in_bar, m % in_maps, tap, side), side);
	reverse_bias(weights, out_bar, area);
}

static inline void reverse_neuron(struct weights *weights, size_t i, const double *factors,
				  double out_bar, double *in_bar, size_t n)
{
	weights->b_bar[i] += out_bar;
	add_multiple(weights->w_bar + i * n, out_bar, factors, n);
	add_multiple(in_bar, out_bar, weights->w + i * n, n);
}

static void reverse_connection(struct weights *weights, const double *out_bar, double *in_bar,
			       size_t n, struct top *top)
{
	clear(in_bar, n);
	for (size_t i = weights->neurons; i-- > 0;)
		reverse_neuron(weights, i, pop_factors(top, n), out_bar[i], in_bar, n);
}

static void reverse_rectified(double *restrict bar, size_t n, const unsigned char *restrict masks)
{
	for (size_t i = 0; i < n; i++)
		bar[i] = masks[i] ? bar[i] : 0;
}

static void reverse_image(struct lenet *g, size_t image, struct top *top)
{
	struct activations *bar = &g->bar;

	reverse_softmax(g, image, pop_probabilities(top));
	reverse_connection(&g->output, bar->scores, bar->f6, F6, top);
	reverse_rectified(bar->f6, F6, pop_masks(top, F6));
	reverse_connection(&g->f6, bar->f6, bar->c5, C5, top);
	reverse_rectified(bar->c5, C5, pop_masks(top, C5));
	reverse_connection(&g->c5, bar->c5, bar->s4, S4, top);
	reverse_average(bar->c3, bar->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	reverse_rectified(bar->c3, C3, pop_masks(top, C3));
	clear(bar->s2, S2);
	reverse_convolution(&g->c3, bar->c3, C3_SIDE, bar->s2, C1_MAPS, top);
	reverse_average(bar->c1, bar->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	reverse_rectified(bar->c1, C1, pop_masks(top, C1));
	reverse_convolution(&g->c1, bar->c1, C1_SIDE, NULL, 1, top);
}

static double forward_rows(void *data, const struct records *records)
{
	struct lenet *g = data;
	struct top top = bottom(records);
	double loss = 0;

	for (size_t image = 0; image < g->images; image++)
		loss += record_image(g, image, &top);
	return loss;
}

static void reverse_rows(void *data, const struct records *records)
{
	struct lenet *g = data;
	struct top top = full(g, records);

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;)
		reverse_image(g, image, &top);
}

/* ---- The least record: the inputs of each layer ---- */

struct least {
	double s2[S2], s4[S4], c5[C5], f6[F6], scores[DIGITS];
	unsigned char c1_masks[C1], c3_masks[C3];
};

static double record_least(struct lenet *g, size_t image, struct least *record)
{
	struct activations a = {.c1 = g->value.c1, .s2 = record->s2, .c3 = g->value.c3,
				.s4 = record->s4, .c5 = record->c5, .f6 = record->f6,
				.scores = record->scores};

	convolve(&g->c1, g->pixels + image * C0, 1, a.c1, C1_SIDE);
	record_rectified(a.c1, C1, record->c1_masks);
	average(a.c1, a.s2, C1_MAPS * S2_SIDE, S2_SIDE);
	convolve(&g->c3, a.s2, C1_MAPS, a.c3, C3_SIDE);
	record_rectified(a.c3, C3, record->c3_masks);
	average(a.c3, a.s4, C3_MAPS * S4_SIDE, S4_SIDE);
	connect(&g->c5, a.s4, S4, a.c5);
	rectify(a.c5, C5);
	connect(&g->f6, a.c5, C5, a.f6);
	rectify(a.f6, F6);
	connect(&g->output, a.f6, F6, a.scores);
	return softmax(a.scores, g->labels[image]);
}

/* As reverse_convolution(), the inputs of each tap taken from the layer below. */
static inline void reverse_convolution_of(struct weights *weights, const double *in,
					  const double *out_bar, size_t side, double *in_bar,
					  size_t in_maps)
{
	size_t area = side * side, in_side = side + KERNEL - 1;
	double row[C1_SIDE * C1_SIDE];

	for (size_t m = weights->neurons * in_maps; m-- > 0;)
		for (size_t tap = TAPS; tap-- > 0;) {
			copy_window(row, tap_of(in + m % in_maps * in_side * in_side, tap, side),
				    side);
			reverse_tap(weights, m * TAPS + tap, row, out_bar + m / in_maps * area,
				    window_of(in_bar, m % in_maps, tap, side), side);
		}
	reverse_bias(weights, out_bar, area);
}

static void reverse_connection_of(struct weights *weights, const double *in,
				  const double *out_bar, double *in_bar, size_t n)
{
	clear(in_bar, n);
	for (size_t i = weights->neurons; i-- > 0;)
		reverse_neuron(weights, i, in, out_bar[i], in_bar, n);
}

static void reverse_rectified_of(double *restrict bar, size_t n, const double *restrict values)
{
	for (size_t i = 0; i < n; i++)
		bar[i] = values[i] > 0 ? bar[i] : 0;
}

static void reverse_least_image(struct lenet *g, size_t image, const struct least *record)
{
	struct activations *bar = &g->bar;

	reverse_softmax(g, image, record->scores);
	reverse_connection_of(&g->output, record->f6, bar->scores, bar->f6, F6);
	reverse_rectified_of(bar->f6, F6, record->f6);
	reverse_connection_of(&g->f6, record->c5, bar->f6, bar->c5, C5);
	reverse_rectified_of(bar->c5, C5, record->c5);
	reverse_connection_of(&g->c5, record->s4, bar->c5, bar->s4, S4);
	reverse_average(bar->c3, bar->s4, C3_MAPS * S4_SIDE, S4_SIDE);
	reverse_rectified(bar->c3, C3, record->c3_masks);
	clear(bar->s2, S2);
	reverse_convolution_of(&g->c3, record->s2, bar->c3, C3_SIDE, bar->s2, C1_MAPS);
	reverse_average(bar->c1, bar->s2, C1_MAPS * S2_SIDE, S2_SIDE);
	reverse_rectified(bar->c1, C1, record->c1_masks);
	reverse_convolution_of(&g->c1, g->pixels + image * C0, bar->c1, C1_SIDE, NULL, 1);
}

static double forward_least(void *data, const struct records *records)
{
	struct lenet *g = data;
	double loss = 0;

	for (size_t image = 0; image < g->images; image++)
		loss += record_least(g, image, demand_push_span(records->tape, struct least, 1));
	return loss;
}

static void reverse_least(void *data, const struct records *records)
{
	struct lenet *g = data;

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;)
		reverse_least_image(g, image, demand_pop_span(records->tape, struct least, 1));
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_rows, reverse_rows},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_rows, reverse_rows},
	{"soa-warm", IN_WARM_COLUMNS, forward_rows, reverse_rows},
};

const struct kernel kernel_lenet5 = {
	"lenet5", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
