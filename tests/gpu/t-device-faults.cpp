/* SPDX-License-Identifier: MIT */
/* What tapes in kernels do when memory runs out, or when they are used wrongly; on the emulator. */
#include "helpers/device-support.h"

namespace {

/* A lane pushes as many rows as its number says, pops them all, and goes on. */
unsigned rows_of(unsigned lane, unsigned most)
{
	return (unsigned)(scramble(lane) % (most + 1));
}

void unequal_kernel(reel_device_arena arena, unsigned most, wrongs *lost, wrongs *wrong)
{
	reel_device_tape<> tape;
	unsigned lane = global_thread(), rows = rows_of(lane, most);

	tape.open(arena);
	tape.push(~(uint64_t)lane);
	for (unsigned i = 1; i <= rows; i++)
		tape.push(((uint64_t)lane << 32) + i);
	for (unsigned i = rows; i > 0; i--) {
		uint64_t x = tape.pop<uint64_t>();

		lost->add(x == 0);
		wrong->add(x != 0 && x != ((uint64_t)lane << 32) + i);
	}
	wrong->add(tape.look<uint64_t>() != ~(uint64_t)lane && tape.look<uint64_t>() != 0);
	tape.pop<uint64_t>();
	wrong->add(!tape.is_empty());
}

/* Slabs of 15 rows that the warps of 64 lanes a block need. */
unsigned slabs_for(unsigned lanes, unsigned most)
{
	unsigned sum = 0;

	for (unsigned warp = 0; warp < lanes; warp += 32) {
		unsigned highest = 0;

		for (unsigned lane = warp; lane < warp + 32; lane++)
			highest = rows_of(lane, most) > highest ? rows_of(lane, most) : highest;
		sum += (highest + 1 + 14) / 15;
	}
	return sum;
}

void exhausted(unsigned slabs, bool threads)
{
	const unsigned lanes = threads ? 64 : 192, most = 100;
	wrongs lost, wrong, left;
	unsigned differences = 0, faults = 0;

	for (unsigned n = 0; n < (threads ? 2 : orders()); n++) {
		host_arena small(slabs, 6);

		emulator::launch(lanes / 64, 64,
				 [&] { unequal_kernel(small.device(), most, &lost, &wrong); },
				 order(n, threads));
		differences += small.header->faults != REEL_DEVICE_EXHAUSTED;
		differences += small.needed() != slabs_for(lanes, most);

		host_arena enough(small.needed(), 6);
		emulator::launch(lanes / 64, 64,
				 [&] { unequal_kernel(enough.device(), most, &left, &wrong); },
				 order(n + 50, threads));
		faults |= enough.header->faults;
	}
	is_int(differences, 0, "emulated: with %u slabs the fault is noted, and what is needed is exact%s",
	       slabs, threads ? ", as threads" : "");
	is_int(wrong.n, 0, "no pop gives anything but what was pushed, or zero");
	ok(lost.n > 0 && left.n == 0 && faults == 0,
	   "all comes back if there is as much memory as was needed");
}

void bits_kernel(reel_device_arena arena, wrongs *wrong)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned i = 0; i < 2000; i++)
		tape.push_bit(true);
	for (unsigned i = 0; i < 2000; i++)
		wrong->add(tape.pop_bit() && i < 500 && i > 100);
	wrong->add(!tape.is_empty());
	tape.push_bits(5, 3);
	wrong->add(tape.pop_bits(3) != 5);
}

void lost_bits()
{
	host_arena arena(1, 1, 8, 8);
	wrongs wrong;

	emulator::launch(1, 32, [&] { bits_kernel(arena.device(), &wrong); });
	is_int(wrong.n, 0, "emulated: bits that were refused are zero, and as many as were pushed");
	is_int(arena.needed(), 5,
	       "the refused bits are counted: 31 words of 63 in slabs of 7 rows");
}

void underflow_kernel(reel_device_arena arena, wrongs *wrong, bool used)
{
	reel_device_tape<> tape;

	tape.open(arena);
	if (used) {
		tape.push(1.5);
		tape.pop<double>();
	}
	for (int i = 0; i < 5; i++) {
		wrong->add(tape.pop<double>() != 0);
		wrong->add(tape.pop<int>() != 0);
		wrong->add(tape.pop_bit());
	}
	tape.rewind(typename reel_device_tape<>::place{REEL_DEVICE_TOP_NONE, 1});
	tape.push(2.5);
	wrong->add(tape.pop<double>() != 2.5);
}

void underflow()
{
	for (int used = 0; used < 2; used++) {
		host_arena arena(4, 1);
		wrongs wrong;

		emulator::launch(1, 32, [&] { underflow_kernel(arena.device(), &wrong, used); });
		is_int(wrong.n, 0, "emulated: a pop that mirrors no push gives zeros");
		is_int(arena.header->faults, REEL_DEVICE_UNDERFLOW,
		       "the pop that mirrors no push is noted");
	}
}

void words_kernel(reel_device_arena arena, wrongs *wrong)
{
	reel_device_tape<4> tape;

	tape.open(arena);
	tape.push(1.0f);
	wrong->add(tape.pop<float>() != 0);
	wrong->add(!tape.is_empty());
}

void other_words()
{
	host_arena arena(4, 1);
	wrongs wrong;

	emulator::launch(1, 32, [&] { words_kernel(arena.device(), &wrong); });
	ok(arena.header->faults & REEL_DEVICE_WORD, "emulated: words of another size are a fault");
	is_int(wrong.n, 0, "no word of another size is kept");
	is_int(arena.free_slabs(), arena.slabs(), "words of another size take no slab");
}

void grid_kernel(reel_device_arena arena, wrongs *wrong)
{
	reel_device_tape<> tape;

	tape.open(arena);
	tape.push(1.0);
	tape.save();
	wrong->add(tape.pop<double>() != (blockIdx.x < 2 ? 1.0 : 0.0));
}

void too_many_warps()
{
	host_arena arena(8, 4);
	wrongs wrong;

	emulator::launch(5, 64, [&] { grid_kernel(arena.device(), &wrong); });
	is_int(arena.header->faults & ~REEL_DEVICE_EXHAUSTED, REEL_DEVICE_WARPS,
	       "emulated: a launch of more warps than the arena has is a fault");
	is_int(arena.header->warps_needed, 10, "the fault says how many warps are needed");
	is_int(wrong.n, 0, "all others keep what they push");
}

} // namespace

int main()
{
	tap_begin();
	tap_case("exhaustion");
	exhausted(1, false);
	exhausted(7, false);
	exhausted(20, false);
	exhausted(5, true);
	lost_bits();
	tap_case("misuse");
	underflow();
	other_words();
	too_many_warps();
	return tap_end();
}
