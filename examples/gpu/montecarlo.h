/* SPDX-License-Identifier: MIT */
/*
 * The price of an option that is lost at a barrier, by Monte Carlo over paths of Black and Scholes.
 * Steps are short near the barrier and long away from it, and a path ends where it is lost: each
 * lane has its own number of steps. Forward and reverse sweep of a path are in one kernel, whose
 * tape is used again for the next path. All paths add to the derivatives of three scalars.
 */
#ifndef REEL_EXAMPLES_MONTECARLO_H
#define REEL_EXAMPLES_MONTECARLO_H

#include "example.h"

namespace montecarlo {

#define MATURITY 1.0
#define STRIKE 1.0
#define BARRIER 0.7

/* Of the price at the start, the volatility, the interest rate. */
enum { SPOT, VOLATILITY, RATE, INPUTS };

/* Nearly normal: the sum of twelve uniform numbers. */
REEL_DEVICE double normal(uint64_t path, unsigned step)
{
	double sum = 0;

	for (unsigned k = 0; k < 12; k++)
		sum += uniform((path << 20) + step * 12 + k);
	return sum / 2;
}

REEL_DEVICE double time_step(double price)
{
	return price > 1.3 * BARRIER ? 0.05 : 0.0125;
}

REEL_DEVICE double grow(const double *input, double price, double dt, double z)
{
	return price * (1 + input[RATE] * dt + input[VOLATILITY] * sqrt(dt) * z);
}

/* A payoff that is smooth at the strike. */
REEL_DEVICE double payoff(double price)
{
	return 0.1 * log(1 + exp((price - STRIKE) / 0.1));
}

REEL_DEVICE double payoff_slope(double price)
{
	return 1 / (1 + exp(-(price - STRIKE) / 0.1));
}

__global__ void primal(const double *input, unsigned paths, double *values)
{
	for (unsigned path = GLOBAL_THREAD; path < paths; path += ALL_THREADS) {
		double price = input[SPOT], time = 0;

		for (unsigned step = 0; time < MATURITY && price > BARRIER; step++) {
			double dt = time_step(price);

			price = grow(input, price, dt, normal(path, step));
			time += dt;
		}
		values[path] = price > BARRIER ? exp(-input[RATE] * MATURITY) * payoff(price) : 0;
	}
}

__global__ void gradient(reel_device_arena arena, const double *input, unsigned paths,
			 double *values, double *input_bar)
{
	reel_device_tape<> tape;
	double volatility_bar = 0, rate_bar = 0, spot_bar = 0;

	tape.open(arena);
	for (unsigned path = GLOBAL_THREAD; path < paths; path += ALL_THREADS) {
		double price = input[SPOT], time = 0, price_bar = 0;
		unsigned step = 0;

		for (; time < MATURITY && price > BARRIER; step++) {
			double dt = time_step(price);

			tape.push(price);
			price = grow(input, price, dt, normal(path, step));
			time += dt;
		}
		tape.push(price > BARRIER);
		values[path] = price > BARRIER ? exp(-input[RATE] * MATURITY) * payoff(price) : 0;

		if (tape.pop<bool>()) {
			price_bar = exp(-input[RATE] * MATURITY) * payoff_slope(price) / paths;
			rate_bar -= MATURITY * values[path] / paths;
		}
		while (step-- > 0) {
			price = tape.pop<double>();

			double dt = time_step(price), z = normal(path, step);

			rate_bar += price_bar * price * dt;
			volatility_bar += price_bar * price * sqrt(dt) * z;
			price_bar *= 1 + input[RATE] * dt + input[VOLATILITY] * sqrt(dt) * z;
		}
		spot_bar += price_bar;
	}
	reel_add(&input_bar[SPOT], spot_bar);
	reel_add(&input_bar[VOLATILITY], volatility_bar);
	reel_add(&input_bar[RATE], rate_bar);
}

inline double objective(const shape &s, const std::vector<double> &input, unsigned paths)
{
	device::array<double> all(input), values(paths);
	double sum = 0;

	LAUNCH(primal, s.blocks, s.threads, all.data, paths, values.data);
	for (double value : values.host())
		sum += value;
	return sum / paths;
}

inline double check(const shape &s)
{
	unsigned paths = 200 * s.scale;
	std::vector<double> input = {0.95, 0.4, 0.03}, result;
	device::tapes tapes((s.blocks * s.threads + 31) / 32, 4096, 1 << 18);

	tapes.run([&](reel_device_arena arena) {
		device::array<double> all(input), values(paths), bar(INPUTS);

		LAUNCH(gradient, s.blocks, s.threads, arena, all.data, paths, values.data,
		       bar.data);
		result = bar.host();
	});
	return gradient_error(input, result,
			      [&](const std::vector<double> &x) { return objective(s, x, paths); },
			      1e-7);
}

} // namespace montecarlo

#endif
