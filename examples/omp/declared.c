/* SPDX-License-Identifier: MIT */
#include "patterns.h"

struct pair {
	double re, im; /* of a complex number */
};

static struct pair times(struct pair a, struct pair b)
{
	return (struct pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* The adjoint of b in a * b. */
static struct pair times_reverse(struct pair a, struct pair result_bar)
{
	return times((struct pair){a.re, -a.im}, result_bar);
}

#pragma omp declare reduction(times : struct pair : omp_out = times(omp_out, omp_in))              \
	initializer(omp_priv = (struct pair){1, 0})

void primal_declared(double *x, const double *a)
{
	struct pair product = {1, 0};

#pragma omp parallel for reduction(times : product)
	for (int i = 0; i < N; i++)
		product = times(product, (struct pair){x[i], step(x[i], a[i])});
	x[0] = product.re;
	x[1] = product.im;
}

static void combine(void *context, void *into, const void *from)
{
	struct pair *product = into;

	(void)context;
	*product = times(*product, *(const struct pair *)from);
}

static void combine_reverse(void *context, const void *into, const void *from, void *into_bar,
			    void *from_bar)
{
	const struct pair result_bar = *(struct pair *)into_bar;

	(void)context;
	*(struct pair *)from_bar = times_reverse(*(const struct pair *)into, result_bar);
	*(struct pair *)into_bar = times_reverse(*(const struct pair *)from, result_bar);
}

static const reel_reducer reducer = {sizeof(struct pair), combine, combine_reverse, NULL, 0};

REEL_RECORD(pair, struct pair);

void forward_declared(reel_lane *root, double *x, const double *a)
{
	struct pair product, part[LANES];

	REEL_PARALLEL_WITH(root, lane, LANES, 0, ) {
		reel_tape *tape = reel_lane_tape(lane);
		struct pair p = {1, 0};

		REEL_FOR(lane, int, i, 0, N, reel_static(0)) {
			reel_push(tape, x[i]);
			reel_push_record(tape, pair, p);
			p = times(p, (struct pair){x[i], step(x[i], a[i])});
		}
		part[reel_lane_index(lane)] = p;
	}
	reel_reduce_by(root, &reducer, part, LANES, &product);
	x[0] = product.re;
	x[1] = product.im;
}

int reverse_declared(reel_lane *root, double *x_bar, const double *a, double *a_bar)
{
	struct pair product_bar = {x_bar[0], x_bar[1]}, part_bar[LANES];

	reel_reduce_by_reverse(root, &reducer, &product_bar, part_bar, LANES);
	x_bar[0] = x_bar[1] = 0;
	REEL_PARALLEL_REVERSE(root, lane) {
		struct pair p_bar = part_bar[reel_lane_index(lane)];

		REEL_FOR_REVERSE(lane, int, i, 0, N, reel_static(0)) {
			struct pair p = reel_pop_record(reel_lane_tape(lane), pair);
			double x_i = reel_pop(reel_lane_tape(lane), double);
			struct pair bar = times_reverse(p, p_bar);

			p_bar = times_reverse((struct pair){x_i, step(x_i, a[i])}, p_bar);
			x_bar[i] += bar.re + step_reverse(x_i, a[i], bar.im, &a_bar[i]);
		}
	}
	return reel_lane_error(root);
}
