/* SPDX-License-Identifier: MIT */
/*
 * A tape of four times its arena, by the clock of the fake device: the sweeps of measure_spill() in
 * bench/device.cu, emulated.
 */
#include "helpers/device-support.h"

#include <cstdio>

#include "helpers/fake-support.h"

namespace {

/*
 * Steps push a quarter of the arena each, two slabs a warp. A highest slab for each warp, which
 * always stays there, comes on top. The copies of a step of 4 MiB take as long on this link as those
 * of 100 MiB at 50 GB/s.
 */
const unsigned STEPS = 16, THREADS = 1024, WARPS = THREADS / 32, STEP_SLABS = 2;
const double LINK = 2e9, STEP_COPIES = STEP_SLABS * WARPS * (double)ARENA_SLAB_BYTES / LINK;

/* Fills a slab, whose row 0 holds no word. */
struct record {
	uint64_t words[ARENA_SLAB_BYTES / 32 / ARENA_WORD_BYTES - 1];
};

record record_of(unsigned number)
{
	uint64_t first = scramble(1024 * number + global_thread());
	record r;

	for (uint64_t &word : r.words)
		word = first++;
	return r;
}

struct step {
	reel_device_arena arena;
	unsigned number;
	bool reverse;
	wrongs wrong;
};

/* Warps keep pace: those of a device take slabs of one height about the same time. */
void kernel(step &s)
{
	unsigned first = STEP_SLABS * s.number;
	reel_device_tape<> tape;

	if (s.number == 0 && !s.reverse)
		tape.open(s.arena);
	else
		tape.resume(s.arena);
	for (unsigned n = first; n < first + STEP_SLABS && !s.reverse; n++) {
		tape.push(record_of(n));
		__syncthreads();
	}
	for (unsigned n = first + STEP_SLABS; n-- > first && s.reverse;) {
		record popped = tape.pop<record>(), pushed = record_of(n);

		s.wrong.add(memcmp(&popped, &pushed, sizeof pushed) != 0);
	}
	tape.save();
}

void run(void *argument)
{
	step *s = static_cast<step *>(argument);

	emulator::launch(1, THREADS, [&] { kernel(*s); });
}

reel_arena *open_arena()
{
	reel_arena_options options = {};
	reel_store *store;
	reel_arena *arena;

	options.warps = WARPS;
	options.bytes = arena_bytes((4 * STEP_SLABS + 1) * WARPS, ARENA_SLAB_BYTES, WARPS);
	if (reel_arena_open(&arena, &options) || reel_store_open(&store, "memory=1G", nullptr) ||
	    reel_arena_attach(arena, store)) {
		printf("Bail out! %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return arena;
}

struct figures {
	double seconds, idle;
	double bytes; /* of slabs that left the arena, or came back */
	unsigned repeated, operations, wrong;
};

struct sweeps {
	fake_program program;
	reel_arena *arena;

	explicit sweeps(double kernel_seconds) : program(0, LINK), arena(open_arena())
	{
		fake_device_kernels_take(kernel_seconds);
	}

	/* Returns the number of wrong values, or 1 after an error. */
	unsigned settle(unsigned number, bool reverse)
	{
		reel_arena_stats stats;
		int outcome;
		step s;

		reel_arena_get_stats(arena, &stats);
		do {
			s = {reel_arena_device(arena), number, reverse, {}};
			/* The tables: slabs move while a launch runs. */
			fake_device_kernels_use(s.arena.base,
						stats.bytes - stats.slabs * ARENA_SLAB_BYTES);
			program.launch(run, &s);
			outcome = reel_arena_settle(arena, program.stream);
		} while (outcome > 0);
		if (outcome)
			tap_note("%s", reel_error_text(0));
		return outcome ? 1 : s.wrong.n;
	}

	/* Ends when the last copy has ended. */
	figures sweep(bool reverse)
	{
		reel_arena_stats before, after;
		uint64_t operations = fake_device_operations();
		double start = fake_device_seconds(), idle = fake_device_idle_seconds();
		figures f = {};

		reel_arena_get_stats(arena, &before);
		for (unsigned n = 0; n < STEPS; n++)
			f.wrong += settle(reverse ? STEPS - 1 - n : n, reverse);
		f.idle = fake_device_idle_seconds() - idle;
		fake_device_finish();
		reel_arena_get_stats(arena, &after);
		f.seconds = fake_device_seconds() - start;
		f.bytes = (double)(after.drained_bytes - before.drained_bytes) +
			  (double)(after.refilled_bytes - before.refilled_bytes);
		f.repeated = (unsigned)(after.undone - before.undone);
		f.operations = (unsigned)(fake_device_operations() - operations);
		return f;
	}

	/* Frames are pinned in the sweep before the one that counts. */
	template <class Check> void measure(Check check)
	{
		unsigned wrong = sweep(false).wrong + sweep(true).wrong;

		for (bool reverse : {false, true}) {
			figures f = sweep(reverse);
			unsigned launches = STEPS + f.repeated;
			const char *what = reverse ? "popped" : "pushed";

			wrong += f.wrong;
			check(f, what);
			tap_note("by the fake device's clock: %.1f ms, %u of %u launches repeated",
				 f.seconds * 1e3, f.repeated, STEPS);
			ok(f.operations <= 20 * launches,
			   "slabs travel side by side: %u operations for %u launches", f.operations,
			   launches);
			ok(f.idle >= 0.8 * f.seconds, "the host sleeps meanwhile: %.3f of the time",
			   f.idle / f.seconds);
		}
		is_int(wrong, 0, "every value comes back");
		reel_arena_close(arena);
		is_int(program.end(), 0, "nothing is left on the device");
	}
};

/* The copies determine the time. */
void no_calculation()
{
	sweeps(0).measure([](const figures &f, const char *what) {
		double share = f.bytes / f.seconds / LINK;

		ok(share >= 0.8, "emulated: a tape of four times the arena, %s: %.3f of the link", what,
		   share);
	});
}

void calculation()
{
	const double seconds = 2 * STEP_COPIES;

	sweeps(seconds).measure([=](const figures &f, const char *what) {
		double ratio = f.seconds / (STEPS * seconds);

		ok(ratio <= 1.1,
		   "emulated: steps of twice the time of their copies, %s: %.3f of their time",
		   what, ratio);
		is_int(f.repeated, 0, "no launch is repeated");
	});
}

} // namespace

int main()
{
	tap_begin();
	setenv("REEL_BUDGET", "1G", 1);
	no_calculation();
	calculation();
	return tap_end();
}
