/* SPDX-License-Identifier: MIT */
/*
 * Whole gradients of the nine kernels: each shape of the tape, and a struct of
 * arrays in its place, against the best shape. n is the values of the record, so
 * that times are nanoseconds a value.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/bench.h"
#include "kernels/kernel.h"

#define MAX_VARIANTS 8
#define SIZES 2

struct gradient {
	struct kernel_case *one;
	const struct kernel_variant *variant;
};

static reel_tape tape;

static double run_primal(void *context, size_t n)
{
	(void)n;
	return kernel_primal(context);
}

static double run_gradient(void *context, size_t n)
{
	struct gradient *gradient = context;

	(void)n;
	return kernel_gradient(gradient->one, gradient->variant, &tape);
}

static size_t best_of(const struct measure_variant *variants, size_t count)
{
	size_t v = 0;

	while (v + 1 < count && strcmp(variants[v].name, "best"))
		v++;
	return v;
}

static void measure_kernel(const struct kernel *kernel, enum kernel_size size,
			   struct bench_case *described)
{
	struct measure_variant variants[MAX_VARIANTS];
	struct gradient gradients[MAX_VARIANTS];
	struct kernel_case one;

	kernel_case_open(&one, kernel, size);
	variants[0] = (struct measure_variant){
		.name = "primal", .run = run_primal, .context = &one};
	for (size_t v = 0; v < kernel->variant_count; v++) {
		gradients[v] = (struct gradient){&one, &kernel->variants[v]};
		variants[v + 1] = (struct measure_variant){
			.name = kernel->variants[v].name,
			.run = run_gradient,
			.context = &gradients[v],
		};
	}
	described->variants = variants;
	described->count = kernel->variant_count + 1;
	described->base = best_of(variants, described->count);
	described->sizes[0] = kernel_column_bytes(&one) / sizeof(double);
	bench_run(described);
	kernel_case_close(&one);
}

void bench_kernels(void)
{
	static const char *const size_names[SIZES] = {"paper", "large"};
	static const enum kernel_size sizes[SIZES] = {KERNEL_PAPER, KERNEL_LARGE};
	char name[64];

	for (size_t s = 0; s < (bench_is_quick() ? 1 : SIZES); s++)
		for (size_t k = 0; k < kernel_count; k++) {
			struct bench_case one = {
				.name = name,
				.sizes = {1},
				.quick_largest = SIZE_MAX,
				.rounds = s == 0 ? 9 : 5,
			};

			snprintf(name, sizeof name, "kernel/%s/%s", kernels[k]->name,
				 size_names[s]);
			if (bench_is_listing())
				bench_run(&one);
			else if (bench_wants(&one, 1))
				measure_kernel(kernels[k], sizes[s], &one);
		}
	reel_tape_close(&tape);
}
