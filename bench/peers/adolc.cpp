// SPDX-License-Identifier: MIT
#include "adolc.h"

#include <adolc/adolc.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

enum { TAG = 1 };

// More than a term of the sums below takes in any of the tape's buffers: what does not fit them
// would go to files.
const size_t ENTRIES_OF_TERM = 64;

std::vector<adouble> start(const double *inputs, size_t count, size_t terms)
{
	std::vector<adouble> active(count);
	unsigned entries = (unsigned)(ENTRIES_OF_TERM * (terms + count));

	trace_on(TAG, 1, entries, entries, entries, entries);
	for (size_t i = 0; i < count; i++)
		active[i] <<= inputs[i];
	return active;
}

double finish(adouble objective, double *adjoints, size_t count)
{
	double value, weight = 1;

	objective >>= value;
	trace_off();
	if (reverse(TAG, 1, (int)count, 0, &weight, adjoints) < 0)
		std::abort();
	return value;
}

} // namespace

double adolc_logsum(const double *inputs, double *adjoints, size_t count)
{
	double largest = *std::max_element(inputs, inputs + count);
	std::vector<adouble> x = start(inputs, count, count);
	adouble sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += exp(x[i] - largest);
	return finish(log(sum) + largest, adjoints, count);
}

double adolc_gravity(const double *inputs, double *adjoints, size_t count)
{
	const double epsilon = 1e-3;
	const size_t points = count / 2;
	std::vector<adouble> place = start(inputs, count, points * points / 2);
	const adouble *x = place.data(), *y = x + points;
	adouble potential = 0;

	for (size_t i = 0; i < points; i++)
		for (size_t j = i + 1; j < points; j++) {
			adouble dx = x[i] - x[j], dy = y[i] - y[j];

			potential -= 1 / sqrt(dx * dx + dy * dy + epsilon);
		}
	return finish(potential, adjoints, count);
}
