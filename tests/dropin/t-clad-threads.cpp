/* SPDX-License-Identifier: MIT */
/*
 * Threads on tapes of clad::custom_tape: each on its own, on copies of a static tape that are only
 * zero-filled, and on tapes that come from another thread.
 * t-clad-threads N [spill]: N threads.
 */
#include <config.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

namespace {

/* Addresses of the tapes that threads lend. Only these are made by a new that does not throw. */
std::atomic<void *> lent[1000];

} // namespace

void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept
{
	void *memory = std::malloc(bytes);

	for (std::atomic<void *> &one : lent) {
		void *none = nullptr;

		if (one.compare_exchange_strong(none, memory))
			break;
	}
	return memory;
}

void *operator new(std::size_t bytes)
{
	void *memory = std::malloc(bytes);

	if (!memory)
		throw std::bad_alloc();
	return memory;
}

void operator delete(void *memory) noexcept
{
	for (std::atomic<void *> &one : lent)
		if (memory && one == memory)
			one = nullptr;
	std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
	operator delete(memory);
}

namespace {

const int max_threads = 8;
const std::size_t steps = 30000;

template <class Part> void in_threads(int count, Part part)
{
	std::vector<std::thread> threads;

	for (int t = 0; t < count; t++)
		threads.emplace_back(part, t);
	for (std::thread &thread : threads)
		thread.join();
}

/* The tapes of a thread: its copies of the threadprivate ones. */
struct copies {
	clad::custom_tape<double> _t0;
	clad::custom_tape<bool> _cond0;
	clad::custom_tape<unsigned long> _t1;
	clad::custom_tape<double[2]> _t2;
	clad::custom_tape<std::string> _t3;
};

void forward(copies &of, int thread)
{
	double pair[2];

	for (std::size_t i = 0; i < steps; i++) {
		clad::push(of._t0, double(i) + thread);
		clad::push(of._cond0, (i + std::size_t(thread)) % 3 == 0);
		if (clad::back(of._cond0))
			clad::push(of._t1, 0);
		pair[0] = double(i);
		pair[1] = thread;
		clad::push(of._t2, pair);
		if (i % 100 == 0)
			clad::push(of._t3, std::to_string(i * 1000000007 + std::size_t(thread)));
		if (clad::back(of._cond0))
			clad::back(of._t1) += i;
	}
}

unsigned reverse(copies &of, int thread)
{
	unsigned wrong = 0;

	for (std::size_t i = steps; i-- > 0;) {
		wrong += clad::back(of._t2)[0] != double(i) || clad::back(of._t2)[1] != thread;
		clad::pop(of._t2);
		if (i % 100 == 0)
			wrong += clad::pop(of._t3) !=
				 std::to_string(i * 1000000007 + std::size_t(thread));
		if (clad::back(of._cond0))
			wrong += clad::pop(of._t1) != i;
		wrong += clad::pop(of._cond0) != ((i + std::size_t(thread)) % 3 == 0);
		wrong += clad::pop(of._t0) != double(i) + thread;
	}
	return wrong;
}

void each_on_its_own(int count)
{
	unsigned wrong[max_threads] = {};

	in_threads(count, [&](int t) {
		for (int sweep = 0; sweep < 3; sweep++) {
			copies own = {};

			forward(own, t);
			wrong[t] += reverse(own, t);
		}
	});
	for (int t = 0; t < count; t++)
		is_int(wrong[t], 0, "thread %d of %d, on its own tapes", t, count);
}

/* Forward and reverse sweep are two parallel regions, here even with threads of their own. */
void zero_filled_copies(int count)
{
	copies *all = static_cast<copies *>(std::calloc(max_threads, sizeof *all));
	unsigned wrong[max_threads] = {};

	in_threads(count, [&](int t) { forward(all[t], t); });
	in_threads(count, [&](int t) { wrong[t] = reverse(all[t], t); });
	in_threads(count, [&](int t) { forward(all[t], t); });
	for (int t = 0; t < count; t++) {
		is_int(wrong[t], 0, "thread %d of %d, on a copy that is zero-filled", t, count);
		all[t].~copies();
	}
	std::free(all);
}

/* `kept` ends after the idle tapes that its thread keeps for later ones. */
void tapes_end_with_their_thread(int count)
{
	std::size_t size[max_threads] = {};

	in_threads(count, [&](int t) {
		static thread_local copies kept = {};

		forward(kept, t);
		size[t] = kept._t0.size() + kept._cond0.size();
	});
	for (int t = 0; t < count; t++)
		is_int(size[t], 2 * steps, "thread %d of %d leaves values on its tapes", t, count);
}

int tapes_lent()
{
	int count = 0;

	for (std::atomic<void *> &one : lent)
		count += one != nullptr;
	return count;
}

/* The thread that returns the tapes makes none itself. */
void tapes_of_others_end_with_a_thread()
{
	std::unique_ptr<clad::custom_tape<double>[]> tapes(new clad::custom_tape<double>[20]);
	int before = tapes_lent();

	for (int i = 0; i < 20; i++) {
		clad::push(tapes[i], i);
		tapes[i].hand_over();
	}
	in_threads(1, [&](int) { tapes.reset(); });
	/* Fewer than before: some of the tapes were idle ones of this thread. */
	ok(tapes_lent() <= before, "tapes of another thread end with the thread that returned them");
}

/* More tapes than a thread keeps. */
void many_tapes(int count)
{
	unsigned wrong[max_threads] = {};

	in_threads(count, [&](int t) {
		for (int sweep = 0; sweep < 3; sweep++) {
			std::vector<clad::custom_tape<double>> tapes(200);

			for (int i = 0; i < 40; i++)
				for (std::size_t one = 0; one < tapes.size(); one++)
					clad::push(tapes[one], i * 1000 + int(one) + t);
			for (int i = 40; i-- > 0;)
				for (std::size_t one = 0; one < tapes.size(); one++)
					wrong[t] += clad::pop(tapes[one]) !=
						    i * 1000 + int(one) + t;
		}
	});
	for (int t = 0; t < count; t++)
		is_int(wrong[t], 0, "thread %d of %d, on 200 tapes", t, count);
}

/*
 * A tape has 12 MB for each thread, the budget 10 MB: so each tape spills, also if the threads run
 * one after the other. The budget has room for four slabs of each tape.
 */
void spilled_tapes(int count)
{
	const std::size_t n = 1500000 * std::size_t(count);
	unsigned wrong[max_threads] = {};
	struct reel_pool_stats stats;

	in_threads(count, [&](int t) {
		clad::custom_tape<double> _t0 = {};

		for (std::size_t i = 0; i < n; i++)
			clad::push(_t0, double(i) + t);
		for (std::size_t i = n; i-- > 0;) {
			if (i % 1000 == 0)
				clad::back(_t0) += 1;
			wrong[t] += clad::pop(_t0) != double(i) + t + (i % 1000 == 0);
		}
	});
	for (int t = 0; t < count; t++)
		is_int(wrong[t], 0, "thread %d of %d, on a tape that spills", t, count);
	reel_pool_get_stats(reel_pool_default(), &stats);
	ok(stats.written_bytes > 0, "the store was used");
}

} // namespace

int main(int, char **argv)
{
	int count = argv[1] ? std::atoi(argv[1]) : 2;
	const std::string subject = argv[1] && argv[2] ? argv[2] : "";

	if (count < 1 || count > max_threads)
		return 2;
	tap_begin();
	if (subject == "spill") {
		spilled_tapes(count);
		return tap_end();
	}
	each_on_its_own(count);
	zero_filled_copies(count);
	tapes_end_with_their_thread(count);
	tapes_of_others_end_with_a_thread();
	many_tapes(count);
	return tap_end();
}
