/* SPDX-License-Identifier: MIT */
/* Adding to adjoints from many threads, on the emulator. */
#include "helpers/device-support.h"

#include <reel/device-add.cuh>

namespace {

const unsigned places = 5;

/* Whole numbers, whose sums do not depend on their order. */
double share(unsigned thread)
{
	return (double)(scramble(thread) % 1000);
}

unsigned place(unsigned thread)
{
	return (unsigned)(scramble(thread + 5000) % places);
}

std::vector<double> wanted(unsigned threads)
{
	std::vector<double> sums(places, 0);

	for (unsigned thread = 0; thread < threads; thread++)
		if (thread % 9 != 4)
			sums[place(thread)] += share(thread);
	return sums;
}

void add_kernel(double *sums)
{
	unsigned thread = global_thread();

	if (thread % 9 == 4)
		return;
	reel_add(&sums[place(thread)], share(thread));
}

void shared_kernel(double *sums)
{
	__shared__ double mine[places];
	unsigned thread = global_thread();

	reel_shared_open(mine, places);
	if (thread % 9 != 4)
		reel_add(&mine[place(thread)], share(thread));
	reel_shared_close(mine, places, sums);
}

void ordered_kernel(double *parts)
{
	__shared__ double mine[places];
	unsigned thread = global_thread();

	reel_shared_open(mine, places);
	reel_ordered_add(mine, place(thread), share(thread), thread % 9 != 4);
	for (unsigned i = threadIdx.x; i < places; i += blockDim.x)
		parts[blockIdx.x * places + i] = mine[i];
}

void sum_kernel(const double *parts, unsigned blocks, double *sums)
{
	reel_ordered_sum(parts, blocks, places, sums);
}

template <class Launch> void added(const char *how, unsigned threads, bool as_threads, Launch launch)
{
	unsigned wrong = 0;

	for (unsigned n = 0; n < (as_threads ? 2 : orders()); n++) {
		std::vector<double> sums(places, 0);

		launch(sums.data(), order(n, as_threads));
		wrong += sums != wanted(threads);
	}
	is_int(wrong, 0, "emulated: all threads' shares are added by %s%s", how,
	       as_threads ? ", as threads" : "");
}

void added_in_all_ways()
{
	for (unsigned size : {1u, 32u, 45u, 64u}) {
		added("reel_add", 3 * size, false, [&](double *sums, emulator::options how) {
			emulator::launch(3, size, [&] { add_kernel(sums); }, how);
		});
		added("reel_add in shared memory", 3 * size, false, [&](double *sums, emulator::options how) {
			emulator::launch(3, size, [&] { shared_kernel(sums); }, how);
		});
		added("reel_ordered_add", 3 * size, false, [&](double *sums, emulator::options how) {
			std::vector<double> parts(3 * places);

			emulator::launch(3, size, [&] { ordered_kernel(parts.data()); }, how);
			emulator::launch(2, 4, [&] { sum_kernel(parts.data(), 3, sums); }, how);
		});
	}
	added("reel_add", 64, true, [&](double *sums, emulator::options how) {
		emulator::launch(2, 32, [&] { add_kernel(sums); }, how);
	});
	added("reel_add in shared memory", 64, true, [&](double *sums, emulator::options how) {
		how.resident = 1;
		emulator::launch(2, 32, [&] { shared_kernel(sums); }, how);
	});
}

/* Sums of numbers whose order shows in the last bits. */
double rough(unsigned thread)
{
	return (double)scramble(thread) * 1e-19 + 1e-3 / (1 + thread);
}

void fixed_kernel(double *parts, double *total)
{
	__shared__ double mine[places], scratch[2];
	unsigned thread = global_thread();

	reel_shared_open(mine, places);
	for (unsigned k = 0; k < 7; k++)
		reel_ordered_add(mine, place(thread + k), rough(thread + k));
	for (unsigned i = threadIdx.x; i < places; i += blockDim.x)
		parts[blockIdx.x * places + i] = mine[i];

	double sum = reel_block_sum(rough(thread), scratch);
	if (threadIdx.x == 0)
		total[blockIdx.x] = sum;
}

void fixed_order()
{
	std::vector<double> first;
	unsigned others = 0;
	double whole = 0;

	for (unsigned n = 0; n < 2 * orders(); n++) {
		std::vector<double> parts(3 * places), total(3), sums(places);

		emulator::launch(3, 50, [&] { fixed_kernel(parts.data(), total.data()); }, order(n));
		emulator::launch(1, 3, [&] { sum_kernel(parts.data(), 3, sums.data()); }, order(n));
		sums.insert(sums.end(), total.begin(), total.end());
		if (first.empty())
			first = sums;
		others += memcmp(sums.data(), first.data(), sums.size() * sizeof(double)) != 0;
	}
	is_int(others, 0, "emulated: sums in a fixed order have the same bits in every order of the lanes");
	for (unsigned thread = 0; thread < 50; thread++)
		whole += rough(thread);
	ok(std::fabs(first[places] - whole) < 1e-12 * whole, "sums in a fixed order are right");
}

} // namespace

int main()
{
	tap_begin();
	added_in_all_ways();
	fixed_order();
	return tap_end();
}
