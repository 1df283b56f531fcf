/* SPDX-License-Identifier: MIT */
/* Compares the members of reel.hpp with the macros of tape.h: a double is pushed, and popped. */
#include "config.h"

#include <reel.hpp>

extern "C" {
#include "common/bench.h"
}

namespace {

reel::tape tape;

double run_macros(void *, size_t n)
{
	reel_tape *c_tape = tape;
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		reel_push(c_tape, bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, reel_pop(c_tape, double));
	return (double)mix;
}

double run_members(void *, size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		tape.push(bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, tape.pop<double>());
	return (double)mix;
}

} // namespace

extern "C" void bench_cplusplus(void)
{
	static const struct measure_variant variants[] = {
		{"macros", run_macros, NULL, NULL, NULL},
		{"reel.hpp", run_members, NULL, NULL, NULL},
	};
	static const struct bench_case one = {"c++/push+pop", variants, COUNT_OF(variants), 0,
					      {1000, 1000000, 10000000}, 1000000, 9};

	bench_run(&one);
}
