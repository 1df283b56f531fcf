/* SPDX-License-Identifier: MIT */
/*
 * A network of one layer that tells digits apart (Enzyme's nn), over a batch of
 * images of 784 pixels.
 *
 *	x_j = pixel_j / 255,  a_i = b_i + sum_j W_ij x_j,  i < 10
 *	p = softmax(a),  L = -sum_images log p_label
 *
 * Adjoint of an image, with a_bar_i = L_bar (p_i - [i = label]):
 *
 *	W_bar_ij += a_bar_i x_j,  b_bar_i += a_bar_i
 *
 * Record: {x_j} per product, p per image; least: p, x is decoded again.
 */
#include "config.h"

#include "kernel.h"

#include <string.h>

#include "digits.h"
#include "lanes.h"
#include "random.h"

#define PIXELS ((size_t)784)
/* Number of elements of p on the tape, so that the rows stay on whole cache lines. */
#define DIGITS_ROUNDED ((size_t)16)

struct nn {
	size_t images;
	unsigned char *pixels;
	unsigned char *labels;
	double *weights, *weights_bar;
	double *bias, *bias_bar;
};

static void *setup(struct memory *memory, enum kernel_size size)
{
	static const size_t images[] = {2, 1, 4096};
	struct nn *g = memory_take(memory, sizeof *g);
	struct random random = RANDOM_SEED;

	g->images = images[size];
	g->pixels = memory_take(memory, g->images * PIXELS);
	g->labels = memory_take(memory, g->images);
	g->weights = memory_take_doubles(memory, DIGITS * PIXELS);
	g->weights_bar = memory_take_doubles(memory, DIGITS * PIXELS);
	g->bias = memory_take_doubles(memory, DIGITS);
	g->bias_bar = memory_take_doubles(memory, DIGITS);
	random_fill(&random, g->weights, DIGITS * PIXELS, -0.1, 0.1);
	random_fill(&random, g->bias, DIGITS, -0.1, 0.1);
	for (size_t i = 0; i < g->images * PIXELS; i++)
		g->pixels[i] = (unsigned char)random_below(&random, 256);
	draw_labels(&random, g->labels, g->images);
	return g;
}

static size_t inputs(void *data, struct kernel_input *inputs)
{
	struct nn *g = data;

	inputs[0] = (struct kernel_input){"W", g->weights, g->weights_bar, DIGITS * PIXELS};
	inputs[1] = (struct kernel_input){"b", g->bias, g->bias_bar, DIGITS};
	return 2;
}

static size_t columns(const void *data, size_t *bytes)
{
	const struct nn *g = data;

	bytes[0] = g->images * DIGITS * PIXELS * sizeof(double);
	bytes[1] = g->images * DIGITS * sizeof(double);
	return 2;
}

static void clear_adjoint(struct nn *g)
{
	memset(g->weights_bar, 0, DIGITS * PIXELS * sizeof(double));
	memset(g->bias_bar, 0, DIGITS * sizeof(double));
}

static void decode(const struct nn *g, size_t image, double *restrict x)
{
	const unsigned char *restrict pixels = g->pixels + image * PIXELS;

	for (size_t j = 0; j < PIXELS; j++)
		x[j] = pixels[j] / 255.0;
}

static double score_adjoint(const struct nn *g, size_t image, size_t digit, double probability)
{
	return probability - (g->labels[image] == digit);
}

/* Leaves p in `a`; returns the loss of the image. */
static double classify(const struct nn *g, size_t image, double *a)
{
	double x[PIXELS];

	decode(g, image, x);
	for (size_t i = 0; i < DIGITS; i++)
		a[i] = g->bias[i] + dot(g->weights + i * PIXELS, x, PIXELS);
	return softmax(a, g->labels[image]);
}

static double primal(void *data)
{
	const struct nn *g = data;
	double a[DIGITS], loss = 0;

	for (size_t image = 0; image < g->images; image++)
		loss += classify(g, image, a);
	return loss;
}

/* ---- Value by value ---- */

static double forward_plain(void *data, const struct records *records)
{
	const struct nn *g = data;
	double x[PIXELS], a[DIGITS], loss = 0;

	for (size_t image = 0; image < g->images; image++) {
		decode(g, image, x);
		for (size_t i = 0; i < DIGITS; i++) {
			a[i] = g->bias[i];
			for (size_t j = 0; j < PIXELS; j++) {
				reel_push(records->tape, x[j]);
				a[i] += g->weights[i * PIXELS + j] * x[j];
			}
		}
		loss += softmax(a, g->labels[image]);
		for (size_t i = 0; i < DIGITS; i++)
			reel_push(records->tape, a[i]);
	}
	return loss;
}

static void reverse_plain(void *data, const struct records *records)
{
	struct nn *g = data;
	double a_bar[DIGITS];

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;) {
		for (size_t i = DIGITS; i-- > 0;)
			a_bar[i] = score_adjoint(g, image, i, reel_pop(records->tape, double));
		for (size_t i = DIGITS; i-- > 0;) {
			g->bias_bar[i] += a_bar[i];
			for (size_t j = PIXELS; j-- > 0;)
				g->weights_bar[i * PIXELS + j] +=
					a_bar[i] * reel_pop(records->tape, double);
		}
	}
}

/* ---- Rows: a span of 6 KiB for each digit, or one array ---- */

static inline double record_digit(const struct nn *g, size_t digit, const double *x,
				  double *record)
{
	return g->bias[digit] + dot_recording(g->weights + digit * PIXELS, x, record, PIXELS);
}

static inline void reverse_digit(struct nn *g, size_t digit, double a_bar, const double *record)
{
	g->bias_bar[digit] += a_bar;
	add_multiple(g->weights_bar + digit * PIXELS, a_bar, record, PIXELS);
}

static double forward_best(void *data, const struct records *records)
{
	const struct nn *g = data;
	double x[PIXELS], a[DIGITS_ROUNDED] = {0}, loss = 0;

	for (size_t image = 0; image < g->images; image++) {
		decode(g, image, x);
		for (size_t i = 0; i < DIGITS; i++)
			a[i] = record_digit(g, i, x,
					    demand_push_span(records->tape, double, PIXELS));
		loss += softmax(a, g->labels[image]);
		reel_push_array(records->tape, a, DIGITS_ROUNDED);
	}
	return loss;
}

static void reverse_best(void *data, const struct records *records)
{
	struct nn *g = data;
	bool prefetch = is_larger_than_cache(records->tape);
	double p[DIGITS_ROUNDED];

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;) {
		reel_pop_array(records->tape, p, DIGITS_ROUNDED);
		for (size_t i = DIGITS; i-- > 0;) {
			const double *row = demand_pop_span(records->tape, double, PIXELS);

			if (prefetch)
				prefetch_below(row, PIXELS * sizeof(double));
			reverse_digit(g, i, score_adjoint(g, image, i, p[i]), row);
		}
	}
}

static double forward_columns(void *data, const struct records *records)
{
	const struct nn *g = data;
	double *record = column_of(records, 0), *p = column_of(records, 1);
	double x[PIXELS], loss = 0;

	for (size_t image = 0; image < g->images; image++) {
		double *a = p + image * DIGITS;

		decode(g, image, x);
		for (size_t i = 0; i < DIGITS; i++)
			a[i] = record_digit(g, i, x, record + (image * DIGITS + i) * PIXELS);
		loss += softmax(a, g->labels[image]);
	}
	return loss;
}

static void reverse_columns(void *data, const struct records *records)
{
	struct nn *g = data;
	const double *record = column_of(records, 0), *p = column_of(records, 1);

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;)
		for (size_t i = DIGITS; i-- > 0;) {
			size_t at = image * DIGITS + i;

			reverse_digit(g, i, score_adjoint(g, image, i, p[at]),
				      record + at * PIXELS);
		}
}

/* ---- The least record: the probabilities ---- */

static double forward_least(void *data, const struct records *records)
{
	const struct nn *g = data;
	double a[DIGITS], loss = 0;

	for (size_t image = 0; image < g->images; image++) {
		loss += classify(g, image, a);
		reel_push_array(records->tape, a, DIGITS);
	}
	return loss;
}

static void reverse_least(void *data, const struct records *records)
{
	struct nn *g = data;
	double x[PIXELS], p[DIGITS];

	clear_adjoint(g);
	for (size_t image = g->images; image-- > 0;) {
		reel_pop_array(records->tape, p, DIGITS);
		decode(g, image, x);
		for (size_t i = DIGITS; i-- > 0;)
			reverse_digit(g, i, score_adjoint(g, image, i, p[i]), x);
	}
}

static const struct kernel_variant variants[] = {
	{"plain", ON_TAPE, forward_plain, reverse_plain},
	{"best", ON_TAPE, forward_best, reverse_best},
	{"least", ON_TAPE, forward_least, reverse_least},
	{"soa-fresh", IN_FRESH_COLUMNS, forward_columns, reverse_columns},
	{"soa-warm", IN_WARM_COLUMNS, forward_columns, reverse_columns},
};

const struct kernel kernel_nn = {
	"nn", setup, primal, inputs, columns, variants, COUNT_OF(variants),
};
