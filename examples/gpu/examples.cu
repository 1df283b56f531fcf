/* SPDX-License-Identifier: MIT */
/*
 * Check the tape, run the examples and check their gradients against differences of their primals:
 * all, or one by its number. Compiled by nvcc they run on a GPU; by a C++ compiler, behind the
 * emulator. A line for each, in the Test Anything Protocol, says which.
 */
#include "axpy.h"
#include "checks.h"
#include "matmul.h"
#include "montecarlo.h"
#include "nbody.h"
#include "reduction.h"
#include "shallow.h"
#include "stencil.h"

namespace {

struct example {
	const char *what;
	double (*check)(const shape &);
	double tolerance;
};

const example examples[] = {
	{"words of 8 bytes: lanes that do different things get back what they pushed",
	 checks::values<8>, 1},
	{"words of 4 bytes: the same", checks::values<4>, 1},
	{"words of 16 bytes: the same", checks::values<16>, 1},
	{"what one kernel pushed another pops", checks::kernels, 1},
	{"an arena that is too small grows to what is needed, at once", checks::memory, 1},
	{"warps give slabs back and take them", checks::trimmed, 1},
	{"what does not fit leaves the arena between launches, and comes back", checks::away,
	 1},
	{"axpy: the gradient agrees with differences", axpy::check, 1e-7},
	{"matmul: the gradient agrees with differences", matmul::check, 1e-7},
	{"stencil: the gradient agrees with differences", stencil::check, 1e-7},
	{"nbody: the gradient agrees with differences", nbody::check, 1e-6},
	{"montecarlo: the gradient agrees with differences", montecarlo::check, 1e-5},
	{"reduction: the gradient agrees with differences", reduction::check, 1e-6},
	{"shallow: the gradient agrees with differences", shallow::check, 1e-6},
};

#ifdef __CUDACC__
const char *where()
{
	static char words[300];

	snprintf(words, sizeof words, "ran on %s", device::name());
	return words;
}

const shape size = {64, 128, 50};
#else
const char *where()
{
	return "emulated";
}

const shape size = {3, 40, 1};
#endif

} // namespace

int main(int count, char **arguments)
{
	int only = count > 1 ? atoi(arguments[1]) : 0, n = 0, failures = 0;

	/* By lines: a run that a device fault or a time limit ends has printed its results. */
	setvbuf(stdout, nullptr, _IOLBF, 0);
	device::open();
	for (const example &each : examples) {
		if (++n != only && only > 0)
			continue;

		double error = each.check(size);
		bool passed = error < each.tolerance;

		printf("%s %d - %s: %s\n", passed ? "ok" : "not ok", n, where(), each.what);
		if (!passed)
			printf("#   %.2e, which is not below %.0e\n", error, each.tolerance);
		failures += !passed;
	}
	device::close();
	printf("1..%d\n", n);
	return failures > 0;
}
