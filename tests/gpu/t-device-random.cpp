/* SPDX-License-Identifier: MIT */
/*
 * Random launches on an arena whose slabs go to a store that is late and fails, against plain
 * arrays; emulated, on the fake device. TEST_SEEDS: how many.
 */
#include "helpers/device-support.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>

#include "helpers/fake-support.h"
#include "helpers/late-batches.h"

namespace {

const unsigned BLOCKS = 3, THREADS = 40, LANES = BLOCKS * THREADS, STEPS = 60;

struct numbers {
	uint64_t state;

	unsigned below(unsigned n)
	{
		state = scramble(state + 1);
		return (unsigned)(state >> 32) % n;
	}
};

/* What each lane has, and is to push (above 0) or to pop. */
struct lanes {
	std::vector<std::vector<uint64_t>> words = std::vector<std::vector<uint64_t>>(LANES);
	std::vector<int> change = std::vector<int>(LANES);
	uint64_t step = 0;

	uint64_t word(unsigned lane, unsigned i) const
	{
		return scramble(step * 1000003 + lane * 1009 + words[lane].size() + i);
	}
	void settle()
	{
		for (unsigned lane = 0; lane < LANES; lane++) {
			std::vector<uint64_t> all = words[lane];

			for (int i = 0; i < change[lane]; i++)
				all.push_back(word(lane, (unsigned)i));
			all.resize(all.size() - (size_t)std::max(0, -change[lane]));
			words[lane] = all;
		}
	}
};

void kernel(reel_device_arena arena, bool first, const lanes &all, wrongs *wrong)
{
	reel_device_tape<> tape;
	unsigned lane = global_thread();
	const std::vector<uint64_t> &words = all.words[lane];
	int change = all.change[lane];

	first ? tape.open(arena) : tape.resume(arena);
	for (int i = 0; i < change; i++)
		tape.push(all.word(lane, (unsigned)i));
	for (int i = 0; i < -change; i++)
		wrong->add(tape.pop<uint64_t>() != words[words.size() - 1 - (size_t)i]);
	wrong->add(tape.is_empty() != (words.size() + (size_t)change == 0));
	tape.save();
}

void run(void *argument)
{
	(*static_cast<std::function<void()> *>(argument))();
}

struct program {
	fake_program device;
	numbers random;
	reel_store *store;
	reel_arena *arena;
	lanes all;
	bool first = true;
	int direction = 1;
	wrongs wrong;
	unsigned failures = 0, refused = 0;

	explicit program(uint64_t seed)
	    : device(seed), random{seed},
	      store(late_batches_open(seed + 1, random.below(2) ? 0 : 20 + random.below(30)))
	{
		reel_arena_options options = {};

		options.slab_bytes = 16 * 32 * 8;
		options.warps = 2 * BLOCKS;
		options.bytes = arena_bytes(30 + random.below(40), options.slab_bytes, options.warps);
		if (reel_arena_open(&arena, &options) || reel_arena_attach(arena, store)) {
			printf("Bail out! %s\n", reel_error_text(0));
			exit(EXIT_FAILURE);
		}
	}

	void fail(const char *what, int error)
	{
		failures++;
		tap_note("%s: %d, %s", what, error, reel_error_text(0));
	}

	/* Lanes of a warp alike; each in its own way; or few of them at all. */
	void draw_step()
	{
		unsigned way = random.below(3), most = random.below(40) ? 25 : 200;
		bool up = (int)random.below(10) < (direction > 0 ? 8 : 3);
		int of_warp = 0;

		if (random.below(12) == 0)
			direction = -direction;
		all.step++;
		for (unsigned lane = 0; lane < LANES; lane++) {
			if (lane % THREADS % 32 == 0)
				of_warp = (int)random.below(most);

			int change = way == 0 ? of_warp
				     : way == 1 || lane % 5 == 0 ? (int)random.below(most) : 0;

			all.change[lane] = up ? change
					      : -std::min(change, (int)all.words[lane].size());
		}
	}

	/* The store fails now and then, and some steps are too large. */
	static bool is_allowed(int error)
	{
		return error == 0 || error == -ENOMEM || error == -ENOSPC;
	}

	void move_slabs()
	{
		int error = 0;

		if (random.below(6) == 0)
			error = reel_arena_drain(arena, device.stream, random.below(30));
		else if (random.below(6) == 0)
			error = reel_arena_refill(arena, device.stream, random.below(6));
		if (!is_allowed(error))
			fail("slabs are moved", error);
	}

	int launch()
	{
		std::function<void()> all_lanes = [&] {
			reel_device_arena memory = reel_arena_device(arena);

			emulator::launch(BLOCKS, THREADS,
					 [&] { kernel(memory, first, all, &wrong); });
		};
		int outcome;

		wrong.n = 0;
		device.launch(run, &all_lanes);
		outcome = reel_arena_settle(arena, device.stream);
		device.wait();
		/* Once more, without a launch: the store may take it now. */
		if (outcome == -ENOSPC)
			outcome = reel_arena_settle(arena, device.stream);
		return outcome;
	}

	void take_step()
	{
		int outcome;

		do
			outcome = launch();
		while (outcome > 0);
		if (outcome == 0) {
			failures += wrong.n > 0;
			all.settle();
			first = false;
			return;
		}
		if (!is_allowed(outcome))
			fail("a step", outcome);
		refused++;
		direction = -1;
		outcome = reel_arena_undo(arena, device.stream);
		if (outcome)
			fail("undone", outcome);
	}

	/* All that is left comes back, in the end. */
	void reverse_all()
	{
		for (unsigned left = 1; left > 0 && !failures;) {
			left = 0;
			all.step++;
			for (unsigned lane = 0; lane < LANES; lane++) {
				int n = (int)std::min<size_t>(all.words[lane].size(), 9);

				all.change[lane] = -n;
				left += (unsigned)n;
			}
			unsigned before = refused;
			take_step();
			if (refused > before + 20)
				break;
			if (refused > before)
				return;
		}
	}
};

struct totals {
	unsigned failures = 0, refused = 0;
	uint64_t undone = 0, drained = 0, grown = 0;
};

void one_seed(uint64_t seed, totals *sum)
{
	program p(seed);
	reel_arena_stats stats;
	unsigned before;

	for (unsigned n = 0; n < STEPS && !p.failures; n++) {
		p.draw_step();
		p.move_slabs();
		p.take_step();
	}
	before = p.refused;
	p.reverse_all();
	if (p.refused == before && !p.failures)
		p.failures += late_batches_used(p.store) > 0;
	p.failures += late_batches_wrongs(p.store);
	reel_arena_get_stats(p.arena, &stats);
	reel_arena_close(p.arena);
	p.failures += p.device.end();
	if (p.failures)
		tap_note("seed %llu", (unsigned long long)seed);
	sum->failures += p.failures;
	sum->refused += p.refused;
	sum->undone += stats.undone;
	sum->drained += stats.drained_bytes > 0;
	sum->grown += stats.grown;
}

unsigned seeds()
{
	const char *n = getenv("TEST_SEEDS");

	return n ? (unsigned)atoi(n) : is_brief() ? 6 : 30;
}

void random_launches()
{
	totals sum;

	for (uint64_t seed = 0; seed < seeds(); seed++)
		one_seed(seed, &sum);
	is_int(sum.failures, 0, "emulated: random launches give back what they pushed");
	ok(sum.drained > 0 && sum.undone > 0,
	   "slabs went and came; %llu launches were repeated, %u steps refused, arenas grew %llu times",
	   (unsigned long long)sum.undone, sum.refused, (unsigned long long)sum.grown);
}

} // namespace

int main()
{
	tap_begin();
	random_launches();
	return tap_end();
}
