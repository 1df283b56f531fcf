/* SPDX-License-Identifier: MIT */
/* Slabs of tapes in kernels that go to a store between launches; emulated, on the fake device. */
#include "helpers/device-support.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <deque>

#include <reel/gpu.h>
#include <reel/parcel.h>

#include "helpers/fake-support.h"
#include "helpers/late-batches.h"
#include "helpers/mutants.h"
#include "os/annotate.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"

namespace {

const unsigned BLOCKS = 3, THREADS = 40, STEPS = 12, SLAB_BYTES = 16 * 32 * 8;
/* The budget of the default pool has room for fewer frames than an arena's store would use. */
const uint64_t FRAME_BYTES = 2 << 20, BUDGET = 3 * FRAME_BYTES;

uint64_t budget_in_use()
{
	reel_pool_stats stats;

	reel_pool_get_stats(reel_pool_default(), &stats);
	return stats.resident_bytes;
}

/* Memory of the program that leaves so much of the budget to the arenas. */
struct other_memory {
	reel_parcel *parcel;

	explicit other_memory(uint64_t room)
	{
		void *data;

		/* Idle frames would count as in use. */
		reel_pool_trim(reel_pool_default(), 0);
		if (reel_parcel_open(&parcel, reel_pool_default(), BUDGET - budget_in_use() - room,
				     nullptr, &data))
			abort();
	}
	~other_memory() { reel_parcel_close(parcel); }
};

/* ---- Kernels: a step pushes, or pops, so many words on each lane ---- */

enum shape {
	EVEN,   /* all lanes alike */
	UNEVEN, /* each lane as it is */
	MORE,   /* and more in each step */
	APART   /* half of the lanes push in few steps only */
};

struct step {
	reel_device_arena arena;
	shape how;
	unsigned number;
	bool reverse;
	wrongs *wrong;
};

unsigned words_of(const step &s, unsigned lane)
{
	switch (s.how) {
	case EVEN: return 20 + s.number % 3;
	case UNEVEN: return 14 + (unsigned)(scramble(lane * 100 + s.number) % 8);
	case MORE: return 40 + 40 * s.number;
	default: return lane % 2 && s.number != 0 && s.number != 4 ? 0 : 23;
	}
}

uint64_t word_of(const step &s, unsigned lane, unsigned i)
{
	return scramble(lane + 1000 * s.number + 1000000 * i) | 1;
}

void sweep(const step &s, reel_device_tape<> &tape)
{
	unsigned lane = global_thread(), words = words_of(s, lane);

	for (unsigned i = 0; i < words && !s.reverse; i++)
		tape.push(word_of(s, lane, i));
	for (unsigned i = words; i-- > 0 && s.reverse;)
		s.wrong->add(tape.pop<uint64_t>() != word_of(s, lane, i));
}

void kernel(const step &s)
{
	reel_device_tape<> tape;

	if (s.number == 0 && !s.reverse)
		tape.open(s.arena);
	else
		tape.resume(s.arena);
	if (!s.reverse && words_of(s, global_thread()) % 2)
		tape.push_bit(s.number % 3 == 0);
	sweep(s, tape);
	if (s.reverse && words_of(s, global_thread()) % 2)
		s.wrong->add(tape.pop_bit() != (s.number % 3 == 0));
	if (s.reverse && s.number == 0)
		s.wrong->add(!tape.is_empty());
	tape.save();
}

void run(void *argument)
{
	const step *s = static_cast<const step *>(argument);

	emulator::launch(BLOCKS, THREADS, [&] { kernel(*s); });
}

/* ---- A gradient's launches ---- */

struct sweeps {
	fake_program &program;
	reel_arena *arena;
	shape how;
	wrongs wrong;
	bool is_long; /* a launch takes longer than the copies beside it */
	std::deque<step> launched = {};

	/* One launch until it is settled; what it popped before that does not count. */
	int settle(unsigned number, bool reverse)
	{
		reel_arena_stats stats;
		int outcome;

		do {
			unsigned before = wrong.n;

			launched.push_back(
				{reel_arena_device(arena), how, number, reverse, &wrong});
			reel_arena_get_stats(arena, &stats);
			/* The tables: slabs move while a launch runs. */
			fake_device_kernels_use(launched.back().arena.base,
						stats.bytes - stats.slabs * SLAB_BYTES);
			program.launch(run, &launched.back());
			if (is_long)
				fake_device_finish();
			outcome = reel_arena_settle(arena, program.stream);
			/* The call may have failed before it waited. */
			if (outcome < 0)
				program.wait();
			if (outcome > 0)
				wrong.n = before;
		} while (outcome > 0);
		return outcome;
	}
	int forward(unsigned from, unsigned to)
	{
		int error = 0;

		for (unsigned n = from; n < to && !error; n++)
			error = settle(n, false);
		return error;
	}
	int reverse(unsigned from, unsigned to)
	{
		int error = 0;

		for (unsigned n = to; n-- > from && !error;)
			error = settle(n, true);
		return error;
	}
};

reel_arena *open_arena(uint64_t slabs, reel_store *store)
{
	reel_arena_options options = {};
	reel_arena *arena;

	options.slab_bytes = SLAB_BYTES;
	options.warps = 2 * BLOCKS;
	options.bytes = arena_bytes(slabs, options.slab_bytes, options.warps);
	if (reel_arena_open(&arena, &options) || (store && reel_arena_attach(arena, store))) {
		printf("Bail out! %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return arena;
}

reel_store *memory(uint64_t bytes = (uint64_t)1 << 30)
{
	reel_store *leaf, *store;

	reel_store_memory_open(&leaf, bytes);
	reel_store_checksum_open(&store, leaf);
	return store;
}

/* All of it has 60 to 120 slabs; the arena has 24, of which a launch needs up to 18. */
void there_and_back(shape how, uint64_t slabs, const char *name)
{
	unsigned failed = 0, drained = 0, grown = 0, wrong = 0, misplaced = 0;
	reel_arena_stats stats;

	for (unsigned seed = 0; seed < orders() / 3 + 1; seed++) {
		fake_program program(seed);
		reel_store *store = late_batches_open(seed + 1, 0);
		/* The budget has room for all batches, or only for some. */
		bool has_room = seed % 2;
		other_memory others(has_room ? FRAME_BYTES : 6 * LATE_BATCH_BYTES);
		sweeps s = {program, open_arena(slabs, store), how, {}, false};

		failed += s.forward(0, STEPS) != 0;
		failed += s.reverse(0, STEPS) != 0;
		reel_arena_get_stats(s.arena, &stats);
		drained += stats.drained_bytes > 0 && stats.drained_bytes == stats.refilled_bytes;
		grown += stats.grown > 0;
		wrong += s.wrong.n;
		if (failed)
			tap_note("%s", reel_error_text(0));
		failed += late_batches_wrongs(store) + late_batches_used(store);
		misplaced += (late_batches_puts(store) == 0) != has_room;
		reel_arena_close(s.arena);
		failed += program.end() != 0;
	}
	is_int(failed, 0, "emulated: %s: steps forward and back in an arena a fraction as large", name);
	is_int(wrong, 0, "every value comes back");
	ok(drained > 0 && grown == 0, "slabs leave the arena, which does not grow");
	is_int(misplaced, 0, "they go to the store only where the budget has no room");
}

/* ---- Without one of the driver's calls; see t-gpu-mutants.c ---- */

/* Late operations come when they are waited for, or polled, which is not left out. */
const uint64_t LATEST = 4;

verdict there_and_back_without(const char *name, uint64_t number, unsigned pause_us)
{
	fake_program program(LATEST);
	int error;

	fake_device_skip_call(name, number, pause_us);
	/* Frames for a part of the batches only, which are used again and again. */
	setenv("REEL_SLAB", "64K", 1);
	setenv("REEL_BUDGET", "128K", 1);
	sweeps s = {program, open_arena(110, late_batches_open(1, 0)), MORE, {}, false};
	error = s.forward(0, 2);
	if (!error)
		error = reel_arena_drain(s.arena, program.stream, 100);
	if (!error)
		error = s.forward(2, 3);
	if (!error)
		error = reel_arena_drain(s.arena, program.stream, 100);
	/* Kernels at once use the slabs that have gone, and all that have come back. */
	if (!error)
		error = s.forward(3, 4);
	if (!error)
		error = s.reverse(3, 4);
	if (!error)
		error = reel_arena_refill(s.arena, program.stream, 4);
	if (!error)
		error = s.reverse(0, 3);
	program.driver->cuCtxPushCurrent(program.context);
	while (program.driver->cuStreamQuery(program.stream))
		;
	program.driver->cuCtxPopCurrent(nullptr);
	reel_arena_close(s.arena);
	fake_device_stop_failing();
	return program.end() || error ? SEEN : s.wrong.n ? BY_VALUES : UNSEEN;
}

/*
 * The device does not know which slabs a kernel uses, and the checksum of a batch that is sealed
 * too early is that of the poison: so the values alone tell. Two waits may be left out here, since
 * what comes next is in the same stream: the first one, and that for slabs that leave the device
 * and come back next.
 */
void left_out()
{
	unsigned number_of[VERDICTS];

#ifdef REEL_THREAD_SANITIZER
	tap_skip(2, "ThreadSanitizer sees the races before the fake device does");
	return;
#endif
	for (const char *name : {"cuEventRecord", "cuEventSynchronize"}) {
		leave_out_each(name, there_and_back_without, true, number_of);
		ok(number_of[SEEN] && number_of[UNSEEN] <= 2,
		   "emulated: %u drains and refills without a %s are seen, and %u by their values",
		   number_of[SEEN], name, number_of[BY_VALUES]);
	}
}

/* What is needed is there before each launch: none is undone. */
void ahead()
{
	fake_program program(7);
	sweeps s = {program, open_arena(24, memory()), EVEN, {}, false};
	reel_arena_stats stats;
	int error = 0;

	for (unsigned n = 0; n < STEPS && !error; n++) {
		error = reel_arena_drain(s.arena, program.stream, 18);
		if (!error)
			error = s.settle(n, false);
	}
	for (unsigned n = STEPS; n-- > 0 && !error;) {
		error = reel_arena_refill(s.arena, program.stream, 3);
		if (!error)
			error = s.settle(n, true);
	}
	is_int(error, 0,
	       "emulated: slabs go before each step, and come before each reverse step: %s",
	       reel_error_text(0));
	is_int(s.wrong.n, 0, "every value comes back");
	reel_arena_get_stats(s.arena, &stats);
	is_int(stats.undone, 0, "no launch is undone");
	is_int(reel_arena_drain(s.arena, program.stream, 25), -ENOMEM,
	       "a drain of more slabs than there are is refused: %s", reel_error_text(0));
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/*
 * Slabs move while launches run. If these take longer than the copies, only the first launches that
 * find no slab free, or miss one, are undone. A launch needs nine slabs: half of the smaller arena
 * suffices for two launches.
 */
void beside_launches(uint64_t slabs)
{
	fake_program program(25);
	sweeps s = {program, open_arena(slabs, late_batches_open(1, 0)), EVEN, {}, true};
	uint64_t undone[5] = {};
	reel_arena_stats stats;
	int error = 0;

	for (unsigned n = 0; n < 4 && !error; n++) {
		error = n % 2 ? s.reverse(0, 3 * STEPS) : s.forward(0, 3 * STEPS);
		reel_arena_get_stats(s.arena, &stats);
		undone[n + 1] = stats.undone;
	}
	is_int(error, 0, "emulated: some of %u slabs move beside launches, there and back twice",
	       (unsigned)slabs);
	is_int(s.wrong.n, 0, "every value comes back");
	for (unsigned n = 0; n < 4; n++)
		ok(undone[n + 1] - undone[n] <= 2, "sweep %u: %llu of %u launches are undone", n,
		   (unsigned long long)(undone[n + 1] - undone[n]), 3 * STEPS);
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* ---- Any order of calls ---- */

/* One call; the arena may say that it is too small. Returns an error that is none of the arena's. */
int any_call(sweeps &s, uint64_t random, unsigned &level)
{
	unsigned steps = 1 + random / 16 % 4, up = level + steps, down = level - std::min(level, steps);
	step lost = {reel_arena_device(s.arena), s.how, level, false, &s.wrong};
	int error;

	switch (random % 16) {
	case 0:
		error = reel_arena_drain(s.arena, s.program.stream, random / 64 % 20);
		return error == -ENOMEM ? 0 : error;
	case 1:
		error = reel_arena_refill(s.arena, s.program.stream, 1 + random / 64 % 3);
		return error == -ENOMEM ? 0 : error;
	case 2:
		s.program.launch(run, &lost);
		return reel_arena_undo(s.arena, s.program.stream);
	case 3:
		if (random / 64 % 4)
			return 0;
		level = 0;
		return reel_arena_reset(s.arena, s.program.stream);
	default:
		if (random / 64 % 16 < 7 + level % 40 / 10) {
			error = s.reverse(down, level);
			level = down;
		} else {
			error = s.forward(level, up);
			level = up;
		}
		return error;
	}
}

void any_order()
{
	unsigned failed = 0, wrong = 0, seeds = is_brief() ? 12 : 400;
	uint64_t drained = 0, refilled = 0;
	reel_arena_stats stats;

	for (unsigned seed = 0; seed < seeds; seed++) {
		fake_program program(seed);
		reel_store *store = late_batches_open(seed + 1, 0);
		other_memory others(seed % 2 ? FRAME_BYTES : 6 * LATE_BATCH_BYTES);
		sweeps s = {program, open_arena(24 + 12 * (seed % 4), store), EVEN, {},
			    seed / 4 % 2 != 0};
		unsigned level = 0;
		int error = 0;

		for (unsigned n = 0; n < 40 && !error; n++)
			error = any_call(s, scramble(1000 * seed + n), level);
		if (!error)
			error = s.reverse(0, level);
		if (error)
			tap_note("seed %u: %d, %s", seed, error, reel_error_text(0));
		reel_arena_get_stats(s.arena, &stats);
		drained += stats.drained_bytes;
		refilled += stats.refilled_bytes;
		failed += error != 0;
		wrong += s.wrong.n + late_batches_wrongs(store);
		program.wait();
		reel_arena_close(s.arena);
		failed += program.end() != 0;
	}
	is_int(failed, 0, "emulated: sweeps, drains, refills, undoing and resets in %u orders", seeds);
	is_int(wrong, 0, "every value comes back");
	ok(drained > refilled && refilled > seeds << 16, "%llu MiB leave the arena, %llu come back",
	   (unsigned long long)drained >> 20, (unsigned long long)refilled >> 20);
}

/* ---- Down and up again in one launch; what is pushed is what was popped, so it can be repeated ---- */

void fro_kernel(const step &s)
{
	reel_device_tape<> tape;
	step at = s;

	tape.resume(s.arena);
	at.reverse = true;
	for (at.number = STEPS; at.number-- > STEPS - 4;)
		sweep(at, tape);
	at.reverse = false;
	for (at.number = STEPS - 4; at.number < STEPS; at.number++)
		sweep(at, tape);
	tape.save();
}

template <void (*Kernel)(const step &)> void run_alone(void *argument)
{
	const step *s = static_cast<const step *>(argument);

	emulator::launch(BLOCKS, THREADS, [&] { Kernel(*s); });
}

void down_and_up()
{
	fake_program program(15);
	sweeps s = {program, open_arena(150, memory()), EVEN, {}, false};
	wrongs wrong;
	step there = {reel_arena_device(s.arena), EVEN, 0, false, &wrong};
	unsigned undone = 0;

	s.forward(0, STEPS);
	is_int(reel_arena_drain(s.arena, program.stream, 144), 0, "each warp keeps one slab");
	for (int outcome = 1; outcome > 0; undone++) {
		wrong.n = 0;
		program.launch(run_alone<fro_kernel>, &there);
		outcome = reel_arena_settle(s.arena, program.stream);
	}
	is_int(undone, 2,
	       "emulated: tapes go down to slabs that are away, and up again: a second launch");
	is_int(wrong.n, 0, "the second launch finds the slabs there");
	is_int(s.reverse(0, STEPS), 0, "all steps are reversed");
	is_int(s.wrong.n, 0, "value by value");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* ---- Giving slabs back, in a warp that has some in the store ---- */

/* Its last steps are popped: what they were on is given back by the warp itself. */
void trim_kernel(const step &s)
{
	reel_device_tape<> tape;
	step at = s;

	tape.resume(s.arena);
	at.reverse = true;
	for (at.number = STEPS; at.number-- > STEPS - 3;) {
		sweep(at, tape);
		if (words_of(at, global_thread()) % 2)
			tape.pop_bit();
	}
	tape.trim(THREADS % 32 && threadIdx.x >= 32 ? (1u << THREADS % 32) - 1 : ~0u);
	s.wrong->add(tape.is_empty());
	tape.save();
}

void give_back()
{
	fake_program program(8);
	sweeps s = {program, open_arena(150, memory()), EVEN, {}, false};
	wrongs wrong;
	step trimming = {reel_arena_device(s.arena), EVEN, 0, false, &wrong};

	is_int(s.forward(0, STEPS), 0, "emulated: steps");
	is_int(reel_arena_drain(s.arena, program.stream, 100), 0, "slabs go to the store");
	program.launch(run_alone<trim_kernel>, &trimming);
	is_int(reel_arena_settle(s.arena, program.stream), 0, "emulated: warps give back what they have above");
	is_int(s.forward(STEPS - 3, STEPS), 0, "warps take other slabs");
	is_int(s.reverse(0, STEPS), 0, "all is reversed");
	is_int(wrong.n + s.wrong.n, 0, "value by value");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* ---- Limits ---- */

void refused()
{
	fake_program program(9);
	reel_arena *arena = open_arena(24, nullptr);
	reel_store *store = memory();

	is_int(reel_arena_drain(arena, program.stream, 1), -EINVAL, "no store: %s",
	       reel_error_text(0));
	is_int(reel_arena_refill(arena, program.stream, 1), -EINVAL,
	       "no slab can come from a store that is not there");
	is_int(reel_arena_attach(arena, store), 0, "a store is attached");
	is_int(reel_arena_attach(arena, store), -EBUSY, "a second one does not");
	reel_arena_close(arena);

	reel_arena_options large = {};
	large.slab_bytes = 4 << 20;
	large.bytes = 16 << 20;
	large.warps = 1;
	reel_arena_open(&arena, &large);
	is_int(reel_arena_attach(arena, memory()), 0, "slabs of more than a batch are one each");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* A slab travels in pieces. */
void small_slots()
{
	fake_program program(20);
	reel_gpu_store_options options = {};
	reel_store *small;

	options.slot_bytes = 2048;
	is_int(reel_store_gpu_open(&small, &options), 0, "a store whose slots are half a slab");
	sweeps s = {program, open_arena(24, small), EVEN, {}, false};
	is_int(s.forward(0, STEPS), 0, "emulated: steps on a store of small slots");
	is_int(s.reverse(0, STEPS), 0, "all steps are reversed");
	is_int(s.wrong.n, 0, "value by value");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* More than the arena has in one launch: it grows if it is empty, and else says so. */
void too_much()
{
	fake_program program(10);
	sweeps s = {program, open_arena(6, memory()), MORE, {}, false};
	reel_arena_stats stats;

	is_int(s.settle(0, false), 0, "emulated: an empty arena grows to what a launch needs");
	reel_arena_get_stats(s.arena, &stats);
	is_int(stats.grown, 1, "the arena grew once");
	is_int(s.settle(1, false), -ENOMEM, "one that is not empty does not: %s",
	       reel_error_text(0));
	is_int(reel_arena_settle(s.arena, program.stream), -ENOMEM,
	       "the arena does not grow, however often it is asked");
	is_int(reel_arena_drain(s.arena, program.stream, 1), -EPROTO,
	       "nothing else is done before the undo: %s", reel_error_text(0));
	is_int(reel_arena_undo(s.arena, program.stream), 0, "that launch is undone");
	s.how = EVEN;
	is_int(s.forward(1, STEPS), 0, "smaller steps go on");
	is_int(s.reverse(1, STEPS), 0, "smaller steps are reversed");
	s.how = MORE;
	is_int(s.settle(0, true), 0, "down to the first");
	is_int(s.wrong.n, 0, "value by value");
	is_int(reel_arena_reset(s.arena, program.stream), 0, "the arena is emptied");
	is_int(s.settle(0, false), 0, "the emptied arena is used again");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* Bits, and tapes that are empty, take no slab; they outlive the arena's growing. */
void bits_kernel(const step &s)
{
	reel_device_tape<> tape;
	unsigned words = s.number == 0 ? 0 : 60;

	if (s.number == 0)
		tape.open(s.arena);
	else
		tape.resume(s.arena);
	if (s.reverse) {
		for (unsigned i = words; i-- > 0;)
			s.wrong->add(tape.pop<uint64_t>() != word_of(s, global_thread(), i));
		s.wrong->add(tape.pop_bits(2) != global_thread() % 4);
		s.wrong->add(!tape.is_empty());
	} else if (s.number == 0) {
		tape.push_bits(global_thread(), 2);
	}
	for (unsigned i = 0; i < words && !s.reverse; i++)
		tape.push(word_of(s, global_thread(), i));
	tape.save();
}

int settle_alone(fake_program &program, reel_arena *arena, step s)
{
	int outcome;

	do {
		s.arena = reel_arena_device(arena);
		s.wrong->n = 0;
		program.launch(run_alone<bits_kernel>, &s);
		outcome = reel_arena_settle(arena, program.stream);
		program.wait();
	} while (outcome > 0);
	return outcome;
}

void grown_with_bits()
{
	fake_program program(18);
	reel_arena *arena = open_arena(6, memory());
	wrongs wrong;
	step s = {reel_arena_device(arena), EVEN, 0, false, &wrong};

	is_int(settle_alone(program, arena, s), 0, "emulated: two bits on each tape");
	s.number = 1;
	is_int(settle_alone(program, arena, s), 0,
	       "a launch that needs more than the arena has makes it grow");
	s.reverse = true;
	is_int(settle_alone(program, arena, s), 0, "all is reversed");
	is_int(wrong.n, 0, "the bits, too");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* The device has no memory to grow into: the arena is as it was. */
void cannot_grow()
{
	fake_program program(19);
	reel_arena *arena = open_arena(6, memory());
	wrongs wrong;
	step s = {reel_arena_device(arena), EVEN, 0, false, &wrong};
	reel_arena_report report;
	reel_device_arena before;

	is_int(settle_alone(program, arena, s), 0, "emulated: two bits on each tape");
	before = reel_arena_device(arena);
	reel_arena_read(arena, program.stream, &report);
	report.bytes_needed = (uint64_t)1 << 33;
	is_int(reel_arena_grow(arena, &report), -ENOMEM, "an arena cannot grow: %s",
	       reel_error_text(0));
	ok(before.base == reel_arena_device(arena).base,
	   "the memory of an arena that cannot grow is what it was");
	s.number = 1;
	is_int(settle_alone(program, arena, s), 0,
	       "the launch goes on, and the arena grows by less");
	s.reverse = true;
	is_int(settle_alone(program, arena, s), 0, "all is reversed");
	is_int(wrong.n, 0, "value by value");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

void reset_with_slabs_away()
{
	fake_program program(11);
	reel_store *store = late_batches_open(11, 0);
	other_memory others(6 * LATE_BATCH_BYTES);
	sweeps s = {program, open_arena(24, store), EVEN, {}, false};

	is_int(s.forward(0, STEPS), 0, "emulated: steps");
	ok(late_batches_used(store) > 0, "the store has slabs");
	is_int(reel_arena_reset(s.arena, program.stream), 0, "the arena is emptied");
	is_int(late_batches_used(store), 0, "the store is empty after the reset");
	is_int(s.forward(0, STEPS), 0, "all begins anew");
	is_int(s.reverse(0, STEPS), 0, "all steps are reversed after the reset");
	is_int(s.wrong.n, 0, "value by value");
	is_int(late_batches_used(store), 0, "the store is empty in the end");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* ---- Faults ---- */

reel_store *faulty(const reel_fault_rule &rule)
{
	reel_store *leaf, *fault, *store;

	reel_store_memory_open(&leaf, (uint64_t)1 << 30);
	reel_store_fault_open(&fault, leaf, &rule, 1);
	reel_store_count_open(&store, fault);
	return store;
}

reel_store *failing(bool put, uint64_t at, bool persistent, int error)
{
	reel_fault_rule rule = {};

	rule.fault = REEL_FAULT_ERROR;
	rule.put = put;
	rule.at = at;
	rule.persistent = persistent;
	rule.error = error;
	return faulty(rule);
}

/*
 * A store that takes nothing any more: batches stay in memory while the budget has room for them.
 * Then what was settled stays, and can be reversed.
 */
void full_store()
{
	fake_program program(12);
	reel_store *store = failing(true, 2, true, -ENOSPC);
	sweeps s = {program, open_arena(24, store), EVEN, {}, false};
	reel_store_counts counts;
	unsigned steps = 0;
	int error;

	while (steps < STEPS && (error = s.settle(steps, false)) == 0)
		steps++;
	reel_store_get_counts(store, &counts);
	is_int(error, -ENOSPC, "emulated: the store is full, and so is the budget: %s",
	       reel_error_text(0));
	ok(steps > 2 && steps < STEPS, "after %u steps", steps);
	ok(counts.failed_puts > 0 && budget_in_use() > BUDGET - FRAME_BYTES,
	   "%llu bytes of the budget are in use", (unsigned long long)budget_in_use());
	for (unsigned n = 0; n < 100; n++)
		error = reel_arena_settle(s.arena, program.stream);
	is_int(error, -ENOSPC, "the store stays full");
	is_int(reel_arena_undo(s.arena, program.stream), 0, "the last step is undone, of those");
	is_int(s.reverse(0, steps), 0, "the steps before it are reversed");
	is_int(s.wrong.n, 0, "value by value");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* A put or a get that fails once is tried again, and nothing is told. */
void failing_once(bool put)
{
	unsigned failed = 0, wrong = 0, left = 0;
	reel_store_counts counts;

	for (uint64_t at = 0; at < 6; at++) {
		fake_program program(13 + at);
		reel_store *store = failing(put, at, false, -EIO);
		sweeps s = {program, open_arena(24, store), EVEN, {}, false};
		int error = s.forward(0, STEPS);

		if (!error)
			error = s.reverse(0, STEPS);
		if (error)
			tap_note("%d, %s", error, reel_error_text(0));
		left += error != 0;
		wrong += s.wrong.n;
		reel_store_get_counts(store, &counts);
		failed += counts.failed_puts + counts.failed_gets > 0;
		reel_arena_close(s.arena);
		left += program.end();
	}
	ok(failed >= 3, "emulated: a %s fails, in %u runs", put ? "put" : "get", failed);
	is_int(left, 0, "no run has an error");
	is_int(wrong, 0, "value by value");
}

/* Each slab comes back as it was put, or the launch is refused. */
void damaged(bool put)
{
	fake_program program(21);
	reel_fault_rule rule = {};

	rule.fault = REEL_FAULT_FLIP;
	rule.put = put;
	rule.bit = 8 * REEL_HEADER_BYTES + 5000;
	sweeps s = {program, open_arena(24, faulty(rule)), EVEN, {}, false};

	is_int(s.forward(0, STEPS), 0, "emulated: a bit turns over on the way %s the store",
	       put ? "to" : "from");
	is_int(s.reverse(0, STEPS), put ? -EBADMSG : 0,
	       put ? "a damaged batch is not used: %s" : "the batch is got once more",
	       reel_error_text(0));
	/* The launch that is not settled has popped zeros. */
	if (!put)
		is_int(s.wrong.n, 0, "value by value");
	is_int(reel_arena_reset(s.arena, program.stream), 0, "the arena is emptied");
	s.wrong.n = 0;
	is_int(s.forward(0, STEPS), 0, "the emptied arena is used again");
	is_int(s.reverse(0, STEPS), 0, "all steps are reversed");
	is_int(s.wrong.n, 0, "value by value");
	reel_arena_close(s.arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* One lane goes up by five slabs, each of which is a batch, and down again. */
void deep_kernel(const step &s)
{
	reel_device_tape<> tape;
	unsigned words = global_thread() == 0 ? 40000 : 0;

	if (s.reverse)
		tape.resume(s.arena);
	else
		tape.open(s.arena);
	for (unsigned i = 0; i < words && !s.reverse; i++)
		tape.push(word_of(s, 0, i));
	for (unsigned i = words; i-- > 0 && s.reverse;)
		s.wrong->add(tape.pop<uint64_t>() != word_of(s, 0, i));
	tape.save();
}

/* More batches go and come at once than the budget has room for. */
void small_budget()
{
	fake_program program(23);
	reel_arena_options options = {};
	reel_arena_stats stats;
	reel_arena *arena;
	wrongs wrong;
	int outcome;

	options.slab_bytes = FRAME_BYTES;
	options.warps = 2 * BLOCKS;
	options.bytes = arena_bytes(6, options.slab_bytes, options.warps);
	is_int(reel_arena_open(&arena, &options), 0, "an arena with slabs of the size of a batch");
	is_int(reel_arena_attach(arena, memory()), 0, "a store is attached");
	step s = {reel_arena_device(arena), EVEN, 0, false, &wrong};
	program.launch(run_alone<deep_kernel>, &s);
	is_int(reel_arena_settle(arena, program.stream), 0, "emulated: a lane takes five slabs");
	is_int(reel_arena_drain(arena, program.stream, 5), 0, "four go at once: %s",
	       reel_error_text(0));
	s.reverse = true;
	do {
		wrong.n = 0;
		program.launch(run_alone<deep_kernel>, &s);
		outcome = reel_arena_settle(arena, program.stream);
		program.wait();
	} while (outcome > 0);
	is_int(outcome, 0, "they come back at once: %s", reel_error_text(0));
	is_int(wrong.n, 0, "value by value");
	reel_arena_get_stats(arena, &stats);
	is_int(stats.refilled_bytes, 4 * FRAME_BYTES, "all four");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* The device copies to and from pinned frames, which the budget counts. */
void frames()
{
	fake_program program(22);
	uint64_t before = budget_in_use();
	reel_store *store = memory();
	sweeps s = {program, open_arena(24, store), EVEN, {}, false};
	reel_store_capacity capacity;
	reel_arena_stats stats;

	is_int(s.forward(0, STEPS), 0, "emulated: steps");
	uint64_t pinned = fake_device_registered_bytes();
	ok(pinned > 0 && pinned % FRAME_BYTES == 0 && pinned <= 8 * FRAME_BYTES,
	   "%llu bytes of frames are pinned", (unsigned long long)pinned);
	ok(budget_in_use() >= before && budget_in_use() >= pinned, "the budget counts them");
	is_int(s.reverse(0, STEPS), 0, "all steps are reversed");
	is_int(s.wrong.n, 0, "value by value");
	reel_arena_get_stats(s.arena, &stats);
	/* Headers are read to memory that is not pinned. */
	ok(fake_device_pageable_bytes() < stats.drained_bytes / 4, "slabs are copied from and to it");
	reel_store_get_capacity(store, &capacity);
	is_int(capacity.used_bytes, 0, "nothing is left in the store");
	reel_arena_close(s.arena);
	is_int(fake_device_registered_bytes(), 0, "no frame stays pinned");
	is_int(program.end(), 0, "nothing is left on the device");
}

/* Each call of the driver for an attach fails once. After an error the arena has no store. */
void attach_fails()
{
	unsigned told = 0, kept = 0;

	for (uint64_t n = 0, calls = 1; n < calls; n++) {
		fake_program program(26);
		reel_arena *arena = open_arena(24, nullptr);
		reel_store *store = memory();
		uint64_t first = fake_device_calls();
		int error;

		if (n > 0)
			fake_device_fail_call(first + n - 1, REEL_CU_UNKNOWN, false);
		error = reel_arena_attach(arena, store);
		if (n == 0)
			calls = fake_device_calls() - first + 1;
		fake_device_stop_failing();
		told += error != 0;
		kept += error && reel_arena_attach(arena, store);
		reel_arena_close(arena);
		program.end();
	}
	ok(told > 0, "emulated: %u calls that fail prevent an attach", told);
	is_int(kept, 0, "the store is attached afterwards");
}

/*
 * Every call of the driver fails once: either it is told, or nothing is wrong. A copy that fails is
 * always told. Of the calls that fail, the order of threads decides how many are copies.
 */
void every_call_fails()
{
	uint64_t first, calls, stride = is_brief() ? 29 : 11;
	unsigned silent = 0, told = 0, untold = 0, left = 0;

	for (uint64_t n = 0, end = 1; n < end; n += stride) {
		fake_program program(14);
		reel_arena *arena = open_arena(24, nullptr);
		reel_store *store = memory();
		sweeps s = {program, arena, EVEN, {}, false};
		int error;

		first = fake_device_calls();
		if (n > 0)
			fake_device_fail_call(first + n - 1, REEL_CU_UNKNOWN, false);
		error = reel_arena_attach(arena, store);
		if (error)
			reel_store_close(store);
		for (unsigned i = 0; i < STEPS && !error; i++)
			error = s.settle(i, false);
		for (unsigned i = STEPS; i-- > 0 && !error;)
			error = s.settle(i, true);
		calls = fake_device_calls() - first;
		if (n == 0)
			end = calls;
		/* A run that finds its copies ended makes fewer calls. */
		const char *name = n > 0 && n <= calls ? fake_device_call_name(first + n - 1) : "";
		/* The test's own calls; what leaving the context comes to, the next call finds out. */
		bool harmless = strstr(name, "LaunchHostFunc") || strstr(name, "CtxP");
		bool copies = strstr(name, "cuMemcpy");
		told += copies && error;
		untold += copies && !error;
		if (!error && s.wrong.n && !harmless) {
			silent++;
			tap_note("call %llu, %s, fails unseen", (unsigned long long)n, name);
		}
		fake_device_stop_failing();
		reel_arena_close(arena);
		unsigned objects = program.end();
		if (objects && !harmless && !strstr(name, "Free") && !strstr(name, "Unregister"))
			left++;
	}
	is_int(silent, 0, "no call that fails leads to wrong values");
	ok(told > 0 && untold == 0, "%u copies that fail are told of, and %u are not", told, untold);
	is_int(left, 0, "nothing is left on the device");
}

} // namespace

int main()
{
	tap_begin();
	left_out();
	setenv("REEL_BUDGET", "6M", 1);
	tap_case("steps");
	there_and_back(EVEN, 24, "lanes alike");
	there_and_back(UNEVEN, 30, "lanes that differ");
	there_and_back(APART, 60, "lanes that stay low");
	ahead();
	beside_launches(60);
	beside_launches(40);
	any_order();
	tap_case("other ways through a tape");
	down_and_up();
	give_back();
	tap_case("limits");
	refused();
	small_slots();
	too_much();
	grown_with_bits();
	cannot_grow();
	reset_with_slabs_away();
	tap_case("faults");
	frames();
	small_budget();
	damaged(true);
	damaged(false);
	full_store();
	failing_once(true);
	failing_once(false);
	attach_fails();
	every_call_fails();
	return tap_end();
}
