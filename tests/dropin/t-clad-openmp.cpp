/* SPDX-License-Identifier: MIT */
/*
 * What Clad emits for an OpenMP loop: static tapes that are threadprivate, and a parallel region
 * for each sweep over the same part of the loop. Each thread pushes far more than 64 values.
 */
#include <config.h>

#include <omp.h>

#include <cstdlib>

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

#if !defined(__clang__)
/* gcc takes no local variable with a destructor as threadprivate, and constructs the copies. */
extern clad::custom_tape<double> _t0;
extern clad::custom_tape<bool> _cond0;
#pragma omp threadprivate(_t0, _cond0)
clad::custom_tape<double> _t0;
clad::custom_tape<bool> _cond0;
#endif

namespace {

const int n = 100000;
double x[n], _d_x[n];

/* The part of a thread: contiguous, as a static schedule has it. */
void part(int *lower, int *upper)
{
	int threads = omp_get_num_threads(), thread = omp_get_thread_num();

	*lower = int((long)n * thread / threads);
	*upper = int((long)n * (thread + 1) / threads);
}

/* f = sum of y y y with y = x[i], or -x[i] where that is negative. */
double gradient()
{
	double s = 0;
#if defined(__clang__)
	static clad::custom_tape<double> _t0 = {};
#pragma omp threadprivate(_t0)
	static clad::custom_tape<bool> _cond0 = {};
#pragma omp threadprivate(_cond0)
#endif

#pragma omp parallel reduction(+ : s)
	{
		double y = 0;
		int lower, upper;
		part(&lower, &upper);
		for (int i = lower; i < upper; i++) {
			clad::push(_t0, y);
			y = x[i];
			clad::push(_cond0, y < 0);
			if (clad::back(_cond0)) {
				clad::push(_t0, y);
				y = -y;
			}
			s += y * y * y;
		}
		clad::push(_t0, y);
	}
#pragma omp parallel
	{
		double y = clad::pop(_t0), _d_y = 0;
		int lower, upper;
		part(&lower, &upper);
		for (int i = upper; i-- > lower;) {
			_d_y += 3 * y * y;
			if (clad::back(_cond0)) {
				y = clad::pop(_t0);
				_d_y = -_d_y;
			}
			clad::pop(_cond0);
			y = clad::pop(_t0);
			_d_x[i] += _d_y;
			_d_y = 0;
		}
	}
	return s;
}

} // namespace

int main(int, char **argv)
{
	unsigned wrong = 0;

	tap_begin();
	omp_set_dynamic(0);
	omp_set_num_threads(argv[1] ? std::atoi(argv[1]) : 2);
	for (int i = 0; i < n; i++)
		x[i] = i % 7 - 3;
	for (int sweep = 1; sweep <= 3; sweep++) {
		gradient();
		for (int i = 0; i < n; i++)
			wrong += _d_x[i] != sweep * 3 * x[i] * x[i] * (x[i] < 0 ? -1 : 1);
	}
	is_int(wrong, 0, "an OpenMP gradient on threadprivate tapes is exact");
	return tap_end();
}
