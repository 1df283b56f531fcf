/* SPDX-License-Identifier: MIT */
/*
 * Checks of the tape itself that also run on a GPU: lanes that do different things, kernels that
 * hand over, memory that runs out. Each returns how many values came back wrong.
 */
#ifndef REEL_EXAMPLES_CHECKS_H
#define REEL_EXAMPLES_CHECKS_H

#include "example.h"

namespace checks {

struct record {
	double a;
	int32_t b;
	float c[3];
};

template <unsigned Word> REEL_DEVICE void push_step(reel_device_tape<Word> &tape, uint64_t n)
{
	switch (scramble(n) % 6) {
	case 0: tape.push((double)n); break;
	case 1: tape.push(record{(double)n, (int32_t)n, {1, 2, (float)n}}); break;
	case 2: tape.push((uint8_t)n, (float)n, n); break;
	case 3: tape.push_bit(n & 1); break;
	case 4: tape.push_bits((uint32_t)scramble(n), 1 + (unsigned)(n % 31)); break;
	default: tape.push((int32_t)n);
	}
}

template <unsigned Word> REEL_DEVICE bool pop_step(reel_device_tape<Word> &tape, uint64_t n)
{
	unsigned bits = 1 + (unsigned)(n % 31);
	record x;
	uint8_t byte;
	float real;
	uint64_t word;

	switch (scramble(n) % 6) {
	case 0: return tape.template pop<double>() == (double)n;
	case 1:
		tape.pop(x);
		return x.a == (double)n && x.b == (int32_t)n && x.c[2] == (float)n;
	case 2:
		tape.pop(byte, real, word);
		return byte == (uint8_t)n && real == (float)n && word == n;
	case 3: return tape.pop_bit() == (n & 1);
	case 4: return tape.pop_bits(bits) == ((uint32_t)scramble(n) & ((1u << bits) - 1));
	default: return tape.template pop<int32_t>() == (int32_t)n;
	}
}

REEL_DEVICE uint64_t number(unsigned lane, unsigned step)
{
	return ((uint64_t)lane << 32) + step;
}

template <unsigned Word>
__global__ void apart(reel_device_arena arena, unsigned most, unsigned *wrong)
{
	reel_device_tape<Word> tape;
	unsigned lane = GLOBAL_THREAD;

	tape.open(arena);
	for (unsigned round = 0; round < 3; round++) {
		unsigned steps = (unsigned)(scramble(lane + 1000 * round) % most);

		if (lane % 7 == 3)
			continue;
		if (lane % 11 == 5 && round == 1)
			return;
		for (unsigned i = 0; i < steps; i++)
			push_step(tape, number(lane, i));
		for (unsigned i = steps; i-- > 0;)
			if (!pop_step(tape, number(lane, i)))
				atomicAdd(wrong, 1);
	}
}

__global__ void forward(reel_device_arena arena, unsigned most)
{
	reel_device_tape<> tape;
	unsigned lane = GLOBAL_THREAD, steps = (unsigned)(scramble(lane) % most);

	tape.open(arena);
	for (unsigned i = 0; i < steps; i++)
		push_step(tape, number(lane, i));
	tape.save();
}

__global__ void reverse(reel_device_arena arena, unsigned most, unsigned *wrong)
{
	reel_device_tape<> tape;
	unsigned lane = GLOBAL_THREAD, steps = (unsigned)(scramble(lane) % most);

	tape.resume(arena);
	for (unsigned i = steps; i-- > 0;)
		if (!pop_step(tape, number(lane, i)))
			atomicAdd(wrong, 1);
	if (!tape.is_empty())
		atomicAdd(wrong, 1);
}

/* Slabs go to and fro between warps. */
__global__ void trimming(reel_device_arena arena, unsigned rounds, unsigned *wrong)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned round = 0; round < rounds; round++) {
		unsigned steps = (unsigned)(scramble(GLOBAL_THREAD / 32 + 77 * round) % 90);

		for (unsigned i = 0; i < steps; i++)
			tape.push(number(GLOBAL_THREAD, i));
		for (unsigned i = steps; i-- > 0;)
			if (tape.pop<uint64_t>() != number(GLOBAL_THREAD, i))
				atomicAdd(wrong, 1);
		__syncwarp();
		tape.trim();
	}
}

/* Steps, each a launch that goes on where the one before ended. */
__global__ void step_forward(reel_device_arena arena, unsigned step)
{
	reel_device_tape<> tape;

	if (step == 0)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned i = 0; i < 18 + GLOBAL_THREAD % 5; i++)
		tape.push(number(GLOBAL_THREAD, 100 * step + i));
	tape.save();
}

__global__ void step_reverse(reel_device_arena arena, unsigned step, unsigned *wrong)
{
	reel_device_tape<> tape;

	tape.resume(arena);
	for (unsigned i = 18 + GLOBAL_THREAD % 5; i-- > 0;)
		if (tape.pop<uint64_t>() != number(GLOBAL_THREAD, 100 * step + i))
			atomicAdd(wrong, 1);
	if (step == 0 && !tape.is_empty())
		atomicAdd(wrong, 1);
	tape.save();
}

inline unsigned warps(const shape &s)
{
	return s.blocks * ((s.threads + 31) / 32);
}

template <unsigned Word> double values(const shape &s)
{
	device::array<unsigned> wrong(1);
	device::tapes tapes(warps(s), 16 * 32 * Word, 4 << 20, Word);

	tapes.run([&](reel_device_arena arena) {
		wrong.clear();
		LAUNCH(apart<Word>, s.blocks, s.threads, arena, 120, wrong.data);
	});
	return wrong.host()[0];
}

inline double kernels(const shape &s)
{
	device::array<unsigned> wrong(1);
	device::tapes tapes(warps(s), 4096, 4 << 20);

	tapes.run([&](reel_device_arena arena) {
		wrong.clear();
		LAUNCH(forward, s.blocks, s.threads, arena, 150);
		LAUNCH(reverse, s.blocks, s.threads, arena, 150, wrong.data);
	});
	return wrong.host()[0];
}

/* The arena has room for one slab of each warp, and grows once: it knows the exact need. */
inline double memory(const shape &s)
{
	device::array<unsigned> wrong(1);
	device::tapes tapes(warps(s), 4096, 4096 * (3 * warps(s) / 2 + 4));
	unsigned times = tapes.run([&](reel_device_arena arena) {
		wrong.clear();
		LAUNCH(apart<8>, s.blocks, s.threads, arena, 200, wrong.data);
	});

	return times == 2 ? wrong.host()[0] : 1000 + times;
}

inline double trimmed(const shape &s)
{
	device::array<unsigned> wrong(1);
	unsigned full = warps(s) / (s.threads / 32 + 1) + 1;
	device::tapes tapes(warps(s), 4096, 4 << 20);

	tapes.run([&](reel_device_arena arena) {
		wrong.clear();
		LAUNCH(trimming, full, 32, arena, 20, wrong.data);
	});
	return wrong.host()[0];
}

/* Sixteen steps need 22 slabs a warp, and the arena has eight; the rest is elsewhere meanwhile. */
inline double away(const shape &s)
{
	device::array<unsigned> wrong(1);
	reel_store *store;
	reel_arena_stats stats;
	unsigned sum = 0, steps = 16;
	{
		device::tapes tapes(warps(s), 4096, 4096 * (9 * warps(s) + 4));

		if (reel_store_open(&store, "memory=1G", nullptr) ||
		    reel_arena_attach(tapes.arena, store))
			device::stop("an arena with a store", reel_error_text(0));
		for (unsigned step = 0; step < steps; step++)
			tapes.run([&](reel_device_arena arena) {
				LAUNCH(step_forward, s.blocks, s.threads, arena, step);
			});
		for (unsigned step = steps; step-- > 0; sum += wrong.host()[0])
			tapes.run([&](reel_device_arena arena) {
				wrong.clear();
				LAUNCH(step_reverse, s.blocks, s.threads, arena, step, wrong.data);
			});
		reel_arena_get_stats(tapes.arena, &stats);
	}
	return stats.drained_bytes && stats.refilled_bytes ? sum : 1000 + sum;
}

} // namespace checks

#endif
