/* SPDX-License-Identifier: MIT */
/* Tapes that cross between kernels and the host; emulated, on the fake device. */
#include "helpers/device-support.h"

#include <cerrno>
#include <cstdio>
#include <functional>

#include <reel/host-tape.h>
#include <reel/extend.h>
#include <reel/plan.h>

#include "helpers/cancel-support.h"
#include "helpers/cancel-support.h"
#include "helpers/fake-support.h"

namespace {

const unsigned BLOCKS = 2, THREADS = 40, LANES = BLOCKS * THREADS;

/* ---- A sweep for both sides: a template on its tape ---- */

/* Without gaps: what is in those has no value. */
struct record {
	double a;
	int32_t b[4];
};

uint32_t number(unsigned lane, unsigned i)
{
	return (uint32_t)scramble(lane * 1000 + i);
}

unsigned steps_of(unsigned lane)
{
	return lane % 7 == 3 ? 0 : (unsigned)(scramble(lane) % 60);
}

template <class Tape> void forward(Tape &tape, unsigned lane)
{
	for (unsigned i = 0; i < steps_of(lane); i++) {
		uint32_t x = number(lane, i);

		switch (x % 5) {
		case 0: tape.push((double)x); break;
		case 1: tape.push((float)(x % 1000), (uint16_t)x); break;
		case 2: tape.push(record{(double)i, {1, 2, (int32_t)x, 4}}); break;
		case 3: tape.push_bits(x, 1 + x % 31); break;
		default: tape.push(x % 2 == 0);
		}
	}
}

/* How many values came back wrong. */
template <class Tape> unsigned reverse(Tape &tape, unsigned lane)
{
	unsigned wrong = 0;

	for (unsigned i = steps_of(lane); i-- > 0;) {
		uint32_t x = number(lane, i), n = 1 + x % 31;
		float f = 0;
		uint16_t h = 0;
		record r = {};
		bool bit = false;

		switch (x % 5) {
		case 0: wrong += tape.template pop<double>() != x; break;
		case 1:
			tape.pop(f, h);
			wrong += f != (float)(x % 1000) || h != (uint16_t)x;
			break;
		case 2:
			tape.pop(r);
			wrong += r.a != i || r.b[1] != 2 || r.b[2] != (int32_t)x;
			break;
		case 3: wrong += tape.pop_bits(n) != (x & ((1u << n) - 1)); break;
		default:
			tape.pop(bit);
			wrong += bit != (x % 2 == 0);
		}
	}
	return wrong + !tape.is_empty();
}

/* ---- Launches and lanes ---- */

/* The host's tapes. */
struct host {
	std::vector<reel_tape> tape = std::vector<reel_tape>(LANES);
	std::vector<reel_host_tape> lane = std::vector<reel_host_tape>(LANES);

	explicit host(uint32_t word_bytes, reel_pool *pool = nullptr)
	{
		for (unsigned n = 0; n < LANES; n++) {
			reel_tape_open(&tape[n], pool, 0);
			reel_host_tape_open(&lane[n], &tape[n], word_bytes);
		}
	}
	~host()
	{
		for (reel_tape &t : tape)
			reel_tape_close(&t);
	}
	host(const host &) = delete;
	host &operator=(const host &) = delete;
};

void run(void *argument)
{
	(*static_cast<std::function<void()> *>(argument))();
}

/* Waits for the end. */
void launch(fake_program &program, std::function<void()> kernel, unsigned threads = THREADS)
{
	std::function<void()> all = [&] { emulator::launch(LANES / threads, threads, kernel); };

	program.launch(run, &all);
	program.wait();
}

reel_arena *open_arena(uint32_t word_bytes, uint64_t slabs = 60)
{
	reel_arena_options options = {};
	reel_arena *arena;

	options.slab_bytes = 16 * 32 * word_bytes;
	options.word_bytes = word_bytes;
	options.warps = 2 * BLOCKS;
	options.bytes = arena_bytes(slabs, options.slab_bytes, options.warps);
	if (reel_arena_open(&arena, &options)) {
		printf("Bail out! %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return arena;
}

template <unsigned Word> void record_there(fake_program &program, reel_arena *arena)
{
	reel_device_arena device = reel_arena_device(arena);

	launch(program, [=] {
		reel_device_tape<Word> tape;

		tape.open(device);
		forward(tape, global_thread());
		tape.save();
	});
}

template <unsigned Word> unsigned reverse_there(fake_program &program, reel_arena *arena)
{
	reel_device_arena device = reel_arena_device(arena);
	wrongs wrong;

	launch(program, [=, &wrong] {
		reel_device_tape<Word> tape;

		tape.resume(device);
		for (unsigned n = reverse(tape, global_thread()); n > 0; n--)
			wrong.add(true);
	});
	return wrong.n;
}

template <unsigned Word> void record_here(host &h)
{
	for (unsigned n = 0; n < LANES; n++) {
		reel_host_tape_of<Word> tape(&h.tape[n]);

		forward(tape, n);
		h.lane[n] = tape.lane;
	}
}

template <unsigned Word> unsigned reverse_here(host &h)
{
	unsigned wrong = 0;

	for (unsigned n = 0; n < LANES; n++) {
		reel_host_tape_of<Word> tape(h.lane[n]);

		wrong += reverse(tape, n);
	}
	return wrong;
}

/* ---- There and back ---- */

template <unsigned Word> void to_the_host()
{
	fake_program program(Word);
	reel_arena *arena = open_arena(Word);
	reel_arena_stats stats;
	host h(Word), again(Word);

	record_there<Word>(program, arena);
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), 0,
	       "emulated: words of %u: what a kernel recorded comes to the host", Word);
	is_int(reel_arena_settle(arena, program.stream), 0, "the recording has no fault");
	is_int(reverse_here<Word>(h), 0, "the host reverses what the kernel recorded");
	reel_arena_get_stats(arena, &stats);
	ok(stats.fetched_bytes > 1000, "%llu bytes", (unsigned long long)stats.fetched_bytes);
	is_int(reel_arena_fetch(arena, program.stream, again.lane.data(), LANES / 3), 0,
	       "fewer lanes than threads come as well");
	reel_host_tape_of<Word> last(again.lane[LANES / 3 - 1]);
	is_int(reverse(last, LANES / 3 - 1), 0, "fewer lanes are reversed as they are");
	ok(reel_tape_is_empty(&again.tape[LANES / 3]), "other lanes are empty");
	is_int(reverse_there<Word>(program, arena), 0, "the kernel has its tapes still");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

template <unsigned Word> void to_the_device()
{
	fake_program program(Word + 1);
	reel_arena *arena = open_arena(Word, 5);
	reel_arena_stats stats;
	host h(Word);

	record_here<Word>(h);
	is_int(reel_arena_send(arena, program.stream, h.lane.data(), LANES, THREADS), 0,
	       "emulated: words of %u: what the host recorded comes to the device", Word);
	is_int(reverse_there<Word>(program, arena), 0, "a kernel reverses what the host recorded");
	is_int(reel_arena_settle(arena, program.stream), 0, "the reverse sweep has no fault");
	unsigned left = 0;
	for (unsigned n = 0; n < LANES; n++)
		left += !reel_tape_is_empty(&h.tape[n]) || h.lane[n].bits != 1;
	is_int(left, 0, "the host's tapes are empty");
	reel_arena_get_stats(arena, &stats);
	ok(stats.sent_bytes > 1000 && stats.grown == 1, "the arena grew once, to all %llu bytes",
	   (unsigned long long)stats.sent_bytes);
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* From a kernel to the host, on to a kernel, back to the host; the host's tapes under a budget. */
void to_and_fro()
{
	fake_program program(20);
	reel_arena *arena = open_arena(8);
	reel_pool_options options = {};
	reel_pool *pool;

	options.slab_bytes = 4096;
	options.hard_budget = 1 << 20;
	reel_store_memory_open(&options.store, 1 << 24);
	is_int(reel_pool_open(&pool, &options), 0, "a pool under a budget, with a store");
	{
		host h(8, pool);

		record_there<8>(program, arena);
		is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), 0, "emulated: to the host");
		is_int(reel_arena_send(arena, program.stream, h.lane.data(), LANES, THREADS), 0, "back");
		is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), 0,
		       "lanes come to the host once more");
		is_int(reverse_here<8>(h), 0, "nothing is lost on the way");
	}
	is_int(reel_pool_close(pool), 0, "the pool is closed");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* The host's tape has doubles as they are. */
void doubles()
{
	fake_program program(21);
	reel_arena *arena = open_arena(8);
	reel_device_arena device = reel_arena_device(arena);
	host h(8);
	unsigned wrong = 0;

	launch(program, [=] {
		reel_device_tape<> tape;
		unsigned lane = global_thread();

		tape.open(device);
		for (unsigned i = 0; i < 30 + blockIdx.x; i++)
			tape.push((double)number(lane, i));
		tape.save();
	});
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), 0,
	       "emulated: doubles come to the host");
	for (unsigned n = 0; n < LANES; n++) {
		for (unsigned i = 30 + n / THREADS; i-- > 0;)
			wrong += reel_pop(&h.tape[n], double) != number(n, i);
		wrong += !reel_tape_is_empty(&h.tape[n]);
	}
	is_int(wrong, 0, "they can be popped from the tape itself");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* ---- Refusals ---- */

void refused()
{
	fake_program program(22);
	reel_arena *arena = open_arena(8);
	reel_device_arena device = reel_arena_device(arena);
	reel_store *store;
	host h(8), narrow(4);

	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), -EINVAL,
	       "nothing was saved: %s", reel_error_text(0));
	launch(program, [=] {
		reel_device_tape<> tape;

		tape.open(device);
		for (unsigned i = 0; i < 40; i++)
			tape.push((uint64_t)i);
		if (global_thread() != 77)
			tape.save();
	});
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), -EINVAL,
	       "a thread has not: %s", reel_error_text(0));
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), 77), 0,
	       "lanes of the threads before it come");
	is_int(reel_arena_fetch(arena, program.stream, narrow.lane.data(), 10), -EINVAL,
	       "other words: %s", reel_error_text(0));
	is_int(reel_arena_send(arena, program.stream, narrow.lane.data(), 10, THREADS), -EINVAL,
	       "words of another size are refused in both directions");
	is_int(reel_arena_send(arena, program.stream, h.lane.data(), 10, 0), -EINVAL,
	       "no blocks: %s", reel_error_text(0));

	reel_store_memory_open(&store, 1 << 24);
	reel_arena_attach(arena, store);
	is_int(reel_arena_drain(arena, program.stream, 54), 0, "slabs go to the store");
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), 10), -EBUSY,
	       "slabs in the store cannot be fetched: %s", reel_error_text(0));
	is_int(reel_arena_refill(arena, program.stream, UINT32_MAX), 0,
	       "slabs come back from the store");
	is_int((long long)reel_tape_bytes(&h.tape[9]), 40 * 8, "nothing was pushed meanwhile");
	is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), 10), 0,
	       "slabs that came back can be fetched");
	is_int((long long)reel_tape_bytes(&h.tape[9]), 80 * 8,
	       "the fetched values are above what the tape has");
	is_int(reel_arena_drain(arena, program.stream, 54), 0, "slabs go to the store again");
	is_int(reel_arena_send(arena, program.stream, h.lane.data(), 10, THREADS), 0,
	       "lanes are sent while slabs are in the store");
	reel_arena_report report;
	reel_arena_read(arena, program.stream, &report);
	is_int((long long)report.slabs_drained, 0, "the store's are given up");
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

void tape_with_an_error()
{
	fake_program program(23);
	reel_arena *arena = open_arena(8);
	reel_pool_options options = {};
	reel_pool *pool;

	reel_set_error_handler([](const reel_tape *, int, const char *, void *) {}, nullptr);
	options.slab_bytes = 4096;
	options.hard_budget = 16 << 10;
	reel_pool_open(&pool, &options);
	{
		host h(8, pool);
		unsigned left = 0;

		record_there<8>(program, arena);
		is_int(reel_arena_fetch(arena, program.stream, h.lane.data(), LANES), -EDQUOT,
		       "the host's tapes are out of memory: %s", reel_error_text(0));
		for (reel_tape &tape : h.tape)
			left += reel_tape_bytes(&tape) > 0;
		is_int(left, 0, "the host's tapes have nothing after they ran out of memory");
		is_int(reverse_there<8>(program, arena), 0, "the kernel's tapes still have all");
	}
	reel_pool_close(pool);
	reel_set_error_handler(nullptr, nullptr);
	reel_arena_close(arena);
	is_int(program.end(), 0, "nothing is left on the device");
}

/* What a side has; both never have it. */
bool has_words(host &h)
{
	for (reel_tape &tape : h.tape)
		if (!reel_tape_is_empty(&tape))
			return true;
	return false;
}

bool has_tapes(fake_program &program, reel_arena *arena)
{
	reel_device_arena device = reel_arena_device(arena);
	wrongs lanes;

	launch(program, [=, &lanes] {
		const reel_arena_warp *warp = reel_device_state(device.base, 8);

		lanes.add(warp &&
			  reel_device_saved(device.base, warp)->top[reel_device_warp_index()]);
	});
	return lanes.n > 0;
}

/* Each call of the driver fails once: then either side is as the header says. */
void every_call_fails(bool send)
{
	unsigned told = 0, wrong = 0, left = 0;

	for (uint64_t n = 0, calls = 1; n < calls; n++) {
		fake_program program(24);
		reel_arena *arena = open_arena(8);
		host h(8);
		uint64_t first;
		int error;

		if (send)
			record_here<8>(h);
		else
			record_there<8>(program, arena);
		first = fake_device_calls();
		if (n > 0)
			fake_device_fail_call(first + n - 1, REEL_CU_UNKNOWN, false);
		error = send ? reel_arena_send(arena, program.stream, h.lane.data(), LANES, THREADS)
			     : reel_arena_fetch(arena, program.stream, h.lane.data(), LANES);
		if (n == 0)
			calls = fake_device_calls() - first;
		fake_device_stop_failing();
		program.wait();
		told += error != 0;
		wrong += has_words(h) == (send == !error);
		wrong += has_tapes(program, arena) == (send && error);
		wrong += has_words(h) ? reverse_here<8>(h) : 0;
		wrong += has_tapes(program, arena) ? reverse_there<8>(program, arena) : 0;
		program.wait();
		reel_arena_close(arena);
		/* What is not given back when that fails is the driver's own business. */
		bool frees = n > 0 && strstr(fake_device_call_name(first + n - 1), "Free");
		unsigned objects = program.end();
		left += frees ? 0 : objects;
	}
	ok(told > 3, "%s: a call that fails is told of, %u of them", send ? "send" : "fetch", told);
	is_int(wrong, 0, "each side has what it shall have then");
	is_int(left, 0, "nothing is left on the device");
}

/* ---- A thread that is cancelled ---- */

struct cancelled_program {
	fake_program &program;
	host &h;
	bool right;
};

/* The fake device waits where a driver does. */
void use_arena(void *argument)
{
	cancelled_program &c = *static_cast<cancelled_program *>(argument);
	void *stream = c.program.stream;
	reel_arena *arena = open_arena(8);
	reel_arena_report report;
	reel_store *store = nullptr;

	c.right = !reel_store_memory_open(&store, 1 << 24) && !reel_arena_attach(arena, store) &&
		  !reel_arena_send(arena, stream, c.h.lane.data(), LANES, THREADS) &&
		  !reel_arena_drain(arena, stream, 4) && !reel_arena_refill(arena, stream, 4) &&
		  !reel_arena_read(arena, stream, &report) && !reel_arena_settle(arena, stream) &&
		  !reel_arena_undo(arena, stream) &&
		  !reel_arena_fetch(arena, stream, c.h.lane.data(), LANES) &&
		  !reel_arena_reset(arena, stream) && !reel_arena_settle(arena, stream) &&
		  !reel_arena_grow(arena, &report);
	reel_arena_close(arena);
}

void cancelled_thread()
{
	fake_program program(12);
	host h(8);
	cancelled_program c = {program, h, false};

	record_here<8>(h);
	ok(outlasts_cancellation(use_arena, &c), "no function of an arena is a cancellation point");
	ok(c.right, "each returns 0");
	is_int(reverse_here<8>(h), 0, "the tapes come back");
	is_int(program.end(), 0, "nothing is left on the device");
}

} // namespace

int main()
{
	tap_begin();
	tap_case("to the host");
	to_the_host<4>();
	to_the_host<8>();
	to_the_host<16>();
	doubles();
	tap_case("to the device");
	to_the_device<4>();
	to_the_device<8>();
	to_the_device<16>();
	to_and_fro();
	tap_case("refusals and faults");
	refused();
	tape_with_an_error();
	every_call_fails(false);
	every_call_fails(true);
	tap_case("a thread that is cancelled");
	cancelled_thread();
	return tap_end();
}
