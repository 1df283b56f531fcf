/* SPDX-License-Identifier: MIT */
#include "emulator.h"

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define REEL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REEL_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define REEL_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define REEL_THREAD_SANITIZER 1
#endif

#ifdef REEL_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef REEL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

/* Where the linker puts __shared__ variables; absent if there are none. */
extern "C" {
extern char __start_reel_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_reel_shared[] __attribute__((weak, visibility("hidden")));
}

namespace emulator {
namespace {

constexpr size_t stack_bytes = 128 << 10;

enum class state { runnable, waiting, parked, ended };

struct block;

struct lane {
	place at;
	unsigned number; /* in its block */
	struct block *block;
	enum state state;
	bool arrived; /* at the barrier */
	/* The operation that it waits in, until all of its mask are there. */
	const char *kind;
	uint32_t mask;
	uint64_t value;
	uint64_t values[32];
	/* The call of __activemask() at which it is. */
	const void *site;
	uint32_t found;
	ucontext_t context;
	char *stack;
	void *sanitizer_fiber;
};

struct block {
	unsigned lanes_left;
	unsigned arrived;
	std::vector<lane> lanes;
	std::vector<char> shared;
	/* As threads. */
	std::mutex mutex;
	std::condition_variable changed;

	uint32_t warp_size(unsigned warp) const
	{
		size_t rest = lanes.size() - warp * 32;

		return rest < 32 ? (uint32_t)rest : 32;
	}
};

struct machine {
	options how;
	uint64_t random;
	const std::function<void()> *kernel;
	std::vector<std::unique_ptr<block>> resident;
	block *loaded; /* whose shared memory is in place */
	ucontext_t scheduler;
	const void *scheduler_stack;
	size_t scheduler_stack_bytes;
	void *scheduler_fiber;
	char *stacks;
	size_t stacks_bytes;
};

machine it;
thread_local lane *current;

__attribute__((noreturn, format(printf, 1, 2))) void stop(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("emulator: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	abort();
}

uint64_t draw()
{
	uint64_t n = it.random += 0x9e3779b97f4a7c15u;

	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

unsigned draw_below(size_t bound)
{
	return (unsigned)(draw() % bound);
}

/* ---- Fibers ---- */

void enter_lane(lane *next)
{
#ifdef REEL_ADDRESS_SANITIZER
	void *fake_stack;

	__sanitizer_start_switch_fiber(&fake_stack, next->stack, stack_bytes);
#endif
#ifdef REEL_THREAD_SANITIZER
	__tsan_switch_to_fiber(next->sanitizer_fiber, 0);
#endif
	current = next;
	swapcontext(&it.scheduler, &next->context);
#ifdef REEL_ADDRESS_SANITIZER
	__sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void back_to_scheduler()
{
	lane *self = current;
#ifdef REEL_ADDRESS_SANITIZER
	void *fake_stack = nullptr;

	__sanitizer_start_switch_fiber(self->state == state::ended ? nullptr : &fake_stack,
				       it.scheduler_stack, it.scheduler_stack_bytes);
#endif
#ifdef REEL_THREAD_SANITIZER
	__tsan_switch_to_fiber(it.scheduler_fiber, 0);
#endif
	swapcontext(&self->context, &it.scheduler);
#ifdef REEL_ADDRESS_SANITIZER
	__sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

/* ---- Meeting ---- */

bool is_met(const block &b, unsigned first, const lane &self)
{
	for (unsigned i = 0; i < b.warp_size(first / 32); i++) {
		const lane &other = b.lanes[first + i];

		if (self.mask >> i & 1 && other.state != state::ended &&
		    (!other.kind || strcmp(other.kind, self.kind) != 0 || other.mask != self.mask))
			return false;
	}
	return true;
}

/* Let all go on that wait with `self`, if the last of them has come. */
void complete(block &b, lane &self)
{
	unsigned first = self.number / 32 * 32;
	uint64_t values[32] = {};
	uint32_t mask = self.mask;

	if (!is_met(b, first, self))
		return;
	for (unsigned i = 0; i < b.warp_size(first / 32); i++)
		values[i] = b.lanes[first + i].value;
	for (unsigned i = 0; i < b.warp_size(first / 32); i++) {
		lane &other = b.lanes[first + i];

		if (!(mask >> i & 1) || other.state == state::ended)
			continue;
		memcpy(other.values, values, sizeof values);
		other.kind = nullptr;
		other.state = state::runnable;
	}
	b.changed.notify_all();
}

void open_barrier(block &b)
{
	if (b.arrived == 0 || b.arrived < b.lanes_left)
		return;
	for (lane &each : b.lanes)
		if (each.arrived) {
			each.arrived = false;
			each.state = state::runnable;
		}
	b.arrived = 0;
	b.changed.notify_all();
}

/* Lanes that have ended are waited for by none. */
void end_lane(lane &self)
{
	block &b = *self.block;
	unsigned first = self.number / 32 * 32;

	self.state = state::ended;
	b.lanes_left--;
	open_barrier(b);
	for (unsigned i = 0; i < b.warp_size(first / 32); i++)
		if (b.lanes[first + i].kind)
			complete(b, b.lanes[first + i]);
}

void wait(std::unique_lock<std::mutex> *lock, lane &self)
{
	if (!lock)
		return back_to_scheduler();
	while (self.state == state::waiting)
		self.block->changed.wait(*lock);
}

template <class Step> void locked(lane &self, Step step)
{
	if (it.how.threads) {
		std::unique_lock<std::mutex> lock(self.block->mutex);

		step(&lock);
	} else {
		step(nullptr);
	}
}

/* ---- Scheduling ---- */

/* Of a warp's lanes that asked at one site, let some go on together; whether there were any. */
bool release_parked(block &b, unsigned warp)
{
	lane *lanes = &b.lanes[warp * 32];
	uint32_t together = 0, kept = draw_below(2) ? ~0u : (uint32_t)draw();
	const void *site = nullptr;
	unsigned start = draw_below(32);

	for (unsigned i = 0; i < 32; i++) {
		unsigned n = (start + i) % 32;

		if (n >= b.warp_size(warp) || lanes[n].state != state::parked)
			continue;
		if (!site)
			site = lanes[n].site, kept |= 1u << n;
		if (lanes[n].site == site)
			together |= kept & 1u << n;
	}
	for (unsigned n = 0; n < b.warp_size(warp); n++)
		if (together >> n & 1) {
			lanes[n].found = together;
			lanes[n].state = state::runnable;
		}
	return together != 0;
}

bool release_some_parked(block &b)
{
	unsigned warps = (unsigned)(b.lanes.size() + 31) / 32, start = draw_below(warps);

	for (unsigned i = 0; i < warps; i++)
		if (release_parked(b, (start + i) % warps))
			return true;
	return false;
}

lane *draw_runnable(block &b)
{
	unsigned start = draw_below(b.lanes.size());

	for (unsigned i = 0; i < b.lanes.size(); i++) {
		lane &each = b.lanes[(start + i) % b.lanes.size()];

		if (each.state == state::runnable)
			return &each;
	}
	return nullptr;
}

size_t shared_bytes()
{
	return __start_reel_shared ? (size_t)(__stop_reel_shared - __start_reel_shared) : 0;
}

void load_shared(block &b)
{
	if (it.loaded == &b || shared_bytes() == 0)
		return;
	if (it.loaded)
		memcpy(it.loaded->shared.data(), __start_reel_shared, shared_bytes());
	memcpy(__start_reel_shared, b.shared.data(), shared_bytes());
	it.loaded = &b;
}

void report_deadlock()
{
	for (auto &b : it.resident)
		for (lane &each : b->lanes)
			if (each.state != state::ended)
				fprintf(stderr,
					"emulator: block %u thread %u waits in %s, mask %08x\n",
					each.at.block.x, each.number,
					each.arrived ? "__syncthreads" : each.kind, each.mask);
	stop("no lane can go on");
}

void run_fiber()
{
#ifdef REEL_ADDRESS_SANITIZER
	__sanitizer_finish_switch_fiber(nullptr, &it.scheduler_stack, &it.scheduler_stack_bytes);
#endif
	(*it.kernel)();
	end_lane(*current);
	back_to_scheduler();
}

void place_lanes(block &b, dim3 where, dim3 grid, dim3 size)
{
	unsigned threads = size.x * size.y * size.z;

	b.lanes = std::vector<lane>(threads);
	b.lanes_left = threads;
	b.arrived = 0;
	b.shared.assign(shared_bytes(), (char)0xa5);
	for (unsigned n = 0; n < threads; n++) {
		lane &each = b.lanes[n];

		each.block = &b;
		each.number = n;
		each.at.thread = dim3(n % size.x, n / size.x % size.y, n / size.x / size.y);
		each.at.block = where;
		each.at.block_size = size;
		each.at.grid_size = grid;
		each.at.lane = n % 32;
		each.state = state::runnable;
	}
}

std::unique_ptr<block> make_block(unsigned n, dim3 grid, dim3 size)
{
	std::unique_ptr<block> b(new block);

	place_lanes(*b, dim3(n % grid.x, n / grid.x % grid.y, n / grid.x / grid.y), grid, size);
	return b;
}

void start_fiber(lane &self, char *stack)
{
	self.stack = stack;
	getcontext(&self.context);
	self.context.uc_stack.ss_sp = stack;
	self.context.uc_stack.ss_size = stack_bytes;
	self.context.uc_link = nullptr;
	makecontext(&self.context, run_fiber, 0);
#ifdef REEL_THREAD_SANITIZER
	self.sanitizer_fiber = __tsan_create_fiber(0);
#endif
}

/* At the n-th place of those that are resident. */
void start_fibers(block &b, size_t n)
{
	for (lane &each : b.lanes)
		start_fiber(each, it.stacks + (n * b.lanes.size() + each.number) * stack_bytes);
}

void forget_fibers(block &b)
{
#ifdef REEL_THREAD_SANITIZER
	for (lane &each : b.lanes)
		__tsan_destroy_fiber(each.sanitizer_fiber);
#endif
	if (it.loaded == &b)
		it.loaded = nullptr;
}

/* Run lanes of this block for a while; whether it can go on afterwards. */
bool run_for_a_while(block &b)
{
	for (unsigned steps = 1 + draw_below(64); steps > 0 && b.lanes_left > 0; steps--) {
		lane *next = draw_runnable(b);

		if ((!next || draw_below(16) == 0) && release_some_parked(b) && !next)
			continue;
		if (!next)
			return false;
		load_shared(b);
		enter_lane(next);
	}
	return true;
}

void run_as_fibers(dim3 grid, dim3 size, unsigned blocks, unsigned resident)
{
	size_t threads = (size_t)size.x * size.y * size.z;
	std::vector<size_t> place_of;

	it.stacks_bytes = resident * threads * stack_bytes;
	it.stacks = (char *)mmap(nullptr, it.stacks_bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (it.stacks == MAP_FAILED)
		stop("no memory for the stacks of %zu lanes", resident * threads);
#ifdef REEL_THREAD_SANITIZER
	it.scheduler_fiber = __tsan_get_current_fiber();
#endif
	for (unsigned n = 0; n < blocks && n < resident; n++) {
		it.resident.push_back(make_block(n, grid, size));
		start_fibers(*it.resident.back(), n);
		place_of.push_back(n);
	}
	for (unsigned started = (unsigned)it.resident.size(), stuck = 0; !it.resident.empty();) {
		size_t n = draw_below(it.resident.size());
		block &b = *it.resident[n];

		stuck = run_for_a_while(b) ? 0 : stuck + 1;
		if (stuck > 1000 + 100 * it.resident.size())
			report_deadlock();
		if (b.lanes_left > 0)
			continue;
		forget_fibers(b);
		if (started < blocks) {
			it.resident[n] = make_block(started++, grid, size);
			start_fibers(*it.resident[n], place_of[n]);
		} else {
			it.resident.erase(it.resident.begin() + (ptrdiff_t)n);
			place_of.erase(place_of.begin() + (ptrdiff_t)n);
		}
	}
	munmap(it.stacks, it.stacks_bytes);
}

void run_thread(lane *self)
{
	current = self;
	(*it.kernel)();
	locked(*self, [self](std::unique_lock<std::mutex> *) { end_lane(*self); });
}

void run_as_threads(dim3 grid, dim3 size, unsigned blocks, unsigned resident)
{
	for (unsigned first = 0; first < blocks; first += resident) {
		std::vector<std::thread> threads;

		for (unsigned n = first; n < blocks && n < first + resident; n++)
			it.resident.push_back(make_block(n, grid, size));
		for (auto &b : it.resident)
			for (lane &each : b->lanes)
				threads.emplace_back(run_thread, &each);
		for (std::thread &each : threads)
			each.join();
		it.resident.clear();
	}
}

} // namespace

void launch(dim3 grid, dim3 size, const std::function<void()> &kernel, const options &how)
{
	unsigned blocks = grid.x * grid.y * grid.z;
	unsigned resident = how.resident && how.resident < blocks ? how.resident : blocks;

	if (current)
		stop("a kernel is launched by a kernel");
	if (blocks == 0 || size.x * size.y * size.z == 0)
		return;
	it.how = how;
	it.random = how.seed;
	it.kernel = &kernel;
	it.loaded = nullptr;
	if (how.threads)
		run_as_threads(grid, size, blocks, resident);
	else
		run_as_fibers(grid, size, blocks, resident);
	current = nullptr;
}

const place &here()
{
	return current->at;
}

const uint64_t *meet(const char *kind, uint32_t mask, uint64_t value)
{
	lane &self = *current;

	if (!(mask >> self.at.lane & 1))
		stop("lane %u calls %s with mask %08x, which it is not in", self.at.lane, kind,
		     mask);
	locked(self, [&](std::unique_lock<std::mutex> *lock) {
		self.kind = kind;
		self.mask = mask;
		self.value = value;
		self.state = state::waiting;
		complete(*self.block, self);
		if (self.state == state::waiting || !lock)
			wait(lock, self);
	});
	return self.values;
}

void barrier()
{
	lane &self = *current;

	locked(self, [&](std::unique_lock<std::mutex> *lock) {
		self.arrived = true;
		self.state = state::waiting;
		self.block->arrived++;
		open_barrier(*self.block);
		wait(lock, self);
	});
}

uint32_t active(const void *site)
{
	lane &self = *current;

	if (it.how.threads)
		return 1u << self.at.lane;
	self.site = site;
	self.state = state::parked;
	back_to_scheduler();
	return self.found;
}

void yield()
{
	if (it.how.threads)
		sched_yield();
	else if (draw_below(4) == 0)
		back_to_scheduler();
}

} // namespace emulator
