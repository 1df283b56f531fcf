/* SPDX-License-Identifier: MIT */
/*
 * Measures the tape in kernels on a GPU, and compares it with a copy on the GPU and with a tape of
 * in-kernel malloc. Prints a table in Markdown; --quick uses a tenth of the memory.
 */
#include <algorithm>
#include <chrono>
#include <ctime>

#include "../examples/gpu/montecarlo.h"
#include "../examples/gpu/stencil.h"

namespace {

const unsigned threads = 256;
unsigned processors;

struct clock_of_the_device {
	cudaEvent_t start, end;

	clock_of_the_device()
	{
		cudaEventCreate(&start);
		cudaEventCreate(&end);
	}
	~clock_of_the_device()
	{
		cudaEventDestroy(start);
		cudaEventDestroy(end);
	}
	template <class Launch> double once(Launch launch)
	{
		float milliseconds;

		cudaEventRecord(start);
		launch();
		cudaEventRecord(end);
		device::check(cudaEventSynchronize(end), "launch");
		cudaEventElapsedTime(&milliseconds, start, end);
		return milliseconds * 1e-3;
	}
	/* Returns the median of seven launches, after two that are not counted. */
	template <class Launch> double median(Launch launch)
	{
		double times[7];

		for (int n = -2; n < 7; n++) {
			double seconds = once(launch);

			if (n >= 0)
				times[n] = seconds;
		}
		std::sort(times, times + 7);
		return times[3];
	}
};

void row(const char *what, double value, const char *unit, double target, bool at_least)
{
	char words[40] = "";

	if (target > 0)
		snprintf(words, sizeof words, "%s %g: %s", at_least ? "at least" : "at most",
			 target, (at_least ? value >= target : value <= target) ? "met" : "missed");
	printf("| %s | %.*f %s | %s |\n", what, value < 1 ? 3 : value < 100 ? 2 : 0, value, unit,
	       words);
}

/* Returns the maximum number of blocks of the kernel that are resident on the device at a time. */
template <class Kernel> unsigned resident(Kernel kernel)
{
	int count = 0;

	device::check(
		cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, (int)threads, 0),
		"occupancy");
	return (unsigned)count * processors;
}

/* ---- Push and pop ---- */

template <unsigned Bytes> struct alignas(Bytes < 16 ? Bytes : 16) payload {
	double x[Bytes / 8];
};

template <unsigned Bytes, unsigned Word>
__global__ void push_pop(reel_device_arena arena, unsigned rows, double *sums)
{
	reel_device_tape<Word> tape;
	payload<Bytes> value;
	double sum = 0;

	tape.open(arena);
	for (unsigned k = 0; k < Bytes / 8; k++)
		value.x[k] = threadIdx.x + k;
	for (unsigned i = 0; i < rows; i++) {
		value.x[0] += i;
		tape.push(value);
	}
	for (unsigned i = 0; i < rows; i++) {
		tape.pop(value);
		for (unsigned k = 0; k < Bytes / 8; k++)
			sum += value.x[k];
	}
	sums[GLOBAL_THREAD] = sum;
}

template <unsigned Bytes, unsigned Word>
void measure_push_pop(clock_of_the_device &clock, size_t bytes, double copy_bandwidth)
{
	unsigned blocks = resident(push_pop<Bytes, Word>), lanes = blocks * threads;
	unsigned rows = (unsigned)(bytes / lanes / Bytes);
	device::array<double> sums(lanes);
	device::tapes tapes(lanes / 32, 0, bytes + bytes / 8 + ((size_t)lanes / 32 << 16), Word);
	reel_device_arena arena = reel_arena_device(tapes.arena);
	auto launch = [&] {
		LAUNCH((push_pop<Bytes, Word>), blocks, threads, arena, rows, sums.data);
	};
	double moved = 2.0 * lanes * rows * Bytes;
	double first = clock.once(launch), warm = clock.median(launch);
	char what[80];

	if (reel_arena_settle(tapes.arena, nullptr) != 0)
		device::stop("push and pop", "the arena was too small");
	snprintf(what, sizeof what, "push and pop, %u bytes in words of %u", Bytes, Word);
	row(what, moved / warm * 1e-9, "GB/s", 0, true);
	row("... over the copy", moved / warm / copy_bandwidth, "", Word == 8 ? 0.8 : 0, true);
	row("... the first time, over the copy", moved / first / copy_bandwidth, "", 0, true);
}

/* Minimum time of copies before the first figure, because the clock of an idle device is slow. */
const double warming_seconds = 0.5;

double measure_copy(clock_of_the_device &clock, size_t bytes, const char *what)
{
	device::array<char> from(bytes), to(bytes);
	auto copy = [&] {
		device::check(cudaMemcpyAsync(to.data, from.data, bytes, cudaMemcpyDeviceToDevice),
			      "copy");
	};
	double seconds = 0;

	while (seconds < warming_seconds)
		seconds += clock.once(copy);
	seconds = clock.median(copy);
	row(what, 2.0 * bytes / seconds * 1e-9, "GB/s", 0, true);
	return 2.0 * bytes / seconds;
}

/* ---- More tape than the arena holds ---- */

/* A value costs `work` multiplications more. */
__global__ void push_step(reel_device_arena arena, bool is_first, unsigned rows, unsigned work)
{
	reel_device_tape<> tape;
	double value = threadIdx.x;

	if (is_first)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned i = 0; i < rows; i++) {
		for (unsigned k = 0; k < work; k++)
			value = value * 0.999 + 1;
		tape.push(value + i);
	}
	tape.save();
}

__global__ void pop_step(reel_device_arena arena, unsigned rows, unsigned work, double *sums)
{
	reel_device_tape<> tape;
	double sum = 0;

	tape.resume(arena);
	for (unsigned i = 0; i < rows; i++) {
		double value = tape.pop<double>();

		for (unsigned k = 0; k < work; k++)
			sum = sum * 0.999 + value;
		sum += value;
	}
	tape.save();
	sums[GLOBAL_THREAD] = sum;
}

/* Steps push `bytes` in all. The steps back leave the sums of each thread. */
const unsigned steps = 16;

struct sweep {
	unsigned blocks, lanes, rows, work = 0;
	device::array<double> sums;
	double bytes;

	sweep(unsigned all_blocks, size_t all_bytes)
	    : blocks(all_blocks), lanes(blocks * threads),
	      rows((unsigned)(all_bytes / steps / lanes / sizeof(double))),
	      sums((size_t)steps * lanes), bytes((double)steps * lanes * rows * sizeof(double))
	{
	}
	/* Returns the seconds of all steps, with the launches that are repeated. */
	template <class Launch> double settled(device::tapes &tapes, Launch launch)
	{
		auto start = std::chrono::steady_clock::now();

		for (unsigned step = 0; step < steps; step++) {
			int error;

			do
				error = tapes.attempt([&](reel_device_arena arena) {
					launch(arena, step);
				});
			while (error > 0);
			if (error)
				device::stop("an arena with a store", reel_error_text(error));
		}
		return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
			.count();
	}
	double push(device::tapes &tapes)
	{
		return settled(tapes, [&](reel_device_arena arena, unsigned step) {
			LAUNCH(push_step, blocks, threads, arena, step == 0, rows, work);
		});
	}
	double pop(device::tapes &tapes)
	{
		return settled(tapes, [&](reel_device_arena arena, unsigned step) {
			LAUNCH(pop_step, blocks, threads, arena, rows, work,
			       sums.data + (size_t)step * lanes);
		});
	}
};

enum { PUSH, POP, OUT_RATE, BACK_RATE, REPEATED_PUSHES, REPEATED_POPS, BUSY, FIGURES, FIRST_PUSH };

double processor_seconds()
{
	timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/*
 * Stores the medians of five sweeps: the seconds of the pushes and of the pops, the bytes a second
 * that left the arena and came back, the numbers of launches that were repeated, and the share of
 * the time in which the host used a processor. In the sweep before these the driver pins memory;
 * stores the seconds of its pushes.
 */
void measure_sweeps(sweep &s, device::tapes &tapes, double *medians)
{
	double all[FIGURES][5];

	for (int n = -1; n < 5; n++) {
		reel_arena_stats before, between, after;
		double used = processor_seconds();

		reel_arena_get_stats(tapes.arena, &before);
		double push = s.push(tapes);
		reel_arena_get_stats(tapes.arena, &between);
		double pop = s.pop(tapes);
		reel_arena_get_stats(tapes.arena, &after);
		double figures[FIGURES] = {
			push,
			pop,
			(double)(between.drained_bytes - before.drained_bytes) / push,
			(double)(after.refilled_bytes - between.refilled_bytes) / pop,
			(double)(between.undone - before.undone),
			(double)(after.undone - between.undone),
			(processor_seconds() - used) / (push + pop),
		};
		for (int figure = 0; figure < FIGURES && n >= 0; figure++)
			all[figure][n] = figures[figure];
		if (n < 0)
			medians[FIRST_PUSH] = push;
	}
	for (int figure = 0; figure < FIGURES; figure++) {
		std::sort(all[figure], all[figure] + 5);
		medians[figure] = all[figure][2];
	}
}

/* Returns bytes a second, in pieces of a step. */
double measure_link(clock_of_the_device &clock, size_t bytes, cudaMemcpyKind kind)
{
	device::array<char> on_device(bytes);
	void *pinned;

	device::check(cudaMallocHost(&pinned, bytes), "pinned memory");
	memset(pinned, 1, bytes);
	double seconds = clock.median([&] {
		bool out = kind == cudaMemcpyDeviceToHost;

		device::check(cudaMemcpyAsync(out ? pinned : on_device.data,
					      out ? on_device.data : pinned, bytes, kind),
			      "copy");
	});
	device::check(cudaFreeHost(pinned), "pinned memory");
	return (double)bytes / seconds;
}

/*
 * Sixteen steps push four times the size of the arena. A store in host memory keeps the slabs that
 * find no room in the arena. So few warps have a tape that their highest slabs, which always stay
 * there, are an eighth of it. First the steps calculate nothing, and the copies determine the time.
 * Then each step takes twice the time of its copies, and is compared with the same step in an arena
 * that holds all.
 */
void measure_spill(clock_of_the_device &clock, size_t bytes)
{
	unsigned most = std::min(resident(push_step), resident(pop_step));
	unsigned few = (unsigned)(bytes / 4 / 8 / (threads / 32) >> 16);
	sweep s(std::min(most, few), bytes);
	size_t tops = (size_t)s.lanes / 32 << 16;
	double out = measure_link(clock, bytes / steps, cudaMemcpyDeviceToHost);
	double back = measure_link(clock, bytes / steps, cudaMemcpyHostToDevice);
	double spilled[FIRST_PUSH + 1], whole[FIRST_PUSH + 1];
	double wanted_seconds = 2 * s.bytes / std::min(out, back);
	device::tapes small(s.lanes / 32, 0, bytes / 4 + tops);
	device::tapes large(s.lanes / 32, 0, bytes + bytes / 8 + tops);
	reel_store *store;

	if (reel_store_open(&store, "memory=32G", nullptr) || reel_arena_attach(small.arena, store))
		device::stop("an arena with a store", reel_error_text(0));
	measure_sweeps(s, small, spilled);
	row("tape of four times the arena, pushed", s.bytes / spilled[PUSH] * 1e-9, "GB/s", 0,
	    true);
	row("... the first time, while memory is pinned", s.bytes / spilled[FIRST_PUSH] * 1e-9,
	    "GB/s", 0, true);
	row("... what left, over a copy to pinned memory", spilled[OUT_RATE] / out, "", 0.8, true);
	row("... launches that were repeated, of 16", spilled[REPEATED_PUSHES], "", 0, true);
	row("tape of four times the arena, popped", s.bytes / spilled[POP] * 1e-9, "GB/s", 0, true);
	row("... what came back, over a copy from pinned memory", spilled[BACK_RATE] / back, "",
	    0.8, true);
	row("... launches that were repeated, of 16", spilled[REPEATED_POPS], "", 0, true);

	s.work = 100;
	for (int n = 0; n < 4; n++) {
		double seconds = s.push(large);

		s.pop(large);
		s.work = (unsigned)(s.work * wanted_seconds / seconds) + 1;
	}
	measure_sweeps(s, large, whole);
	std::vector<double> wanted = s.sums.host();
	measure_sweeps(s, small, spilled);
	if (memcmp(wanted.data(), s.sums.host().data(), wanted.size() * sizeof(double)))
		device::stop("an arena with a store", "other values were popped than were pushed");
	row("steps of twice the time of the copies, pushed", spilled[PUSH] * 1e3, "ms", 0, true);
	row("... over an arena that holds all", spilled[PUSH] / whole[PUSH], "", 1.1, false);
	row("... launches that were repeated, of 16", spilled[REPEATED_PUSHES], "", 0, true);
	row("steps of twice the time of the copies, popped", spilled[POP] * 1e3, "ms", 0, true);
	row("... over an arena that holds all", spilled[POP] / whole[POP], "", 1.1, false);
	row("... launches that were repeated, of 16", spilled[REPEATED_POPS], "", 0, true);
	row("... processor time of the host, over the time of both", spilled[BUSY], "", 0.9, false);
	row("... the same in an arena that holds all", whole[BUSY], "", 0, false);
}

/* ---- A tape of in-kernel malloc ---- */

const unsigned chunk_values = 1024;

struct chunk {
	chunk *below;
	double values[chunk_values];
};

/* The tape that a compiler emits: each thread has a list of chunks. */
__global__ void malloc_push_pop(unsigned rows, double *sums, unsigned *failures)
{
	chunk *top = nullptr;
	unsigned used = chunk_values;
	double sum = 0, value = threadIdx.x;

	for (unsigned i = 0; i < rows; i++) {
		if (used == chunk_values) {
			chunk *next = static_cast<chunk *>(malloc(sizeof *next));

			if (!next) {
				atomicAdd(failures, 1);
				rows = i;
				break;
			}
			next->below = top;
			top = next;
			used = 0;
		}
		value += i;
		top->values[used++] = value;
	}
	for (unsigned i = 0; i < rows; i++) {
		if (used == 0) {
			chunk *below = top->below;

			free(top);
			top = below;
			used = chunk_values;
		}
		sum += top->values[--used];
	}
	free(top);
	sums[GLOBAL_THREAD] = sum;
}

void measure_malloc(clock_of_the_device &clock, size_t heap)
{
	unsigned blocks = std::min(resident(malloc_push_pop), resident(push_pop<8, 8>));
	unsigned lanes = blocks * threads, rows = chunk_values;
	device::array<double> sums(lanes);
	device::array<unsigned> failures(1);
	device::tapes tapes(lanes / 32, 0, ((size_t)lanes / 32 + 1) * 8 << 16);
	reel_device_arena arena = reel_arena_device(tapes.arena);
	double with_malloc = clock.once(
		[&] { LAUNCH(malloc_push_pop, blocks, threads, rows, sums.data, failures.data); });

	for (int n = 0; n < 2; n++)
		with_malloc = std::min(with_malloc, clock.once([&] {
			LAUNCH(malloc_push_pop, blocks, threads, rows, sums.data, failures.data);
		}));
	double with_arena = clock.median(
		[&] { LAUNCH((push_pop<8, 8>), blocks, threads, arena, rows, sums.data); });

	if (failures.host()[0])
		printf("| %u threads found no memory in a heap of %zu bytes: not comparable | | "
		       "|\n",
		       failures.host()[0], heap);
	if (reel_arena_settle(tapes.arena, nullptr) != 0)
		device::stop("malloc", "the arena was too small");
	row("chunks of in-kernel malloc, 1024 doubles a thread", with_malloc * 1e3, "ms", 0, true);
	row("the arena, the same", with_arena * 1e3, "ms", 0, true);
	row("... throughput over that of malloc", with_malloc / with_arena, "", 10, true);
}

/* ---- Gradients ---- */

void measure_stencil(clock_of_the_device &clock, unsigned n, unsigned steps)
{
	shape s = {resident(stencil::forward), threads, 1};
	device::array<double> u(uniforms((size_t)n * n, 1, 0, 1)), other((size_t)n * n);
	device::array<double> bar((size_t)n * n), other_bar((size_t)n * n);
	size_t tape_bytes = (size_t)n * n * 8 * steps;
	device::tapes tapes(s.blocks * threads / 32, 0,
			    tape_bytes + tape_bytes / 8 + ((size_t)s.blocks * threads / 32 << 16));
	reel_device_arena arena = reel_arena_device(tapes.arena);
	shape wide = {resident(stencil::primal), threads, 1};
	double primal = clock.median([&] { stencil::run_primal(wide, u, other, n, steps); });
	double gradient = clock.median([&] {
		stencil::run_forward(s, arena, u, other, n, steps);
		stencil::run_reverse(s, arena, bar, other_bar, n, steps);
	});

	if (reel_arena_settle(tapes.arena, nullptr) != 0)
		device::stop("stencil", reel_error_text(0));
	row("stencil, primal", primal * 1e3, "ms", 0, true);
	row("stencil, gradient", gradient * 1e3, "ms", 0, true);
	row("... gradient over primal", gradient / primal, "", 3.5, false);
}

void measure_montecarlo(clock_of_the_device &clock, unsigned paths)
{
	unsigned blocks = resident(montecarlo::gradient);
	device::array<double> input(std::vector<double>{0.95, 0.4, 0.03}), values(paths), bar(3);
	device::tapes tapes(blocks * threads / 32);
	reel_device_arena arena = reel_arena_device(tapes.arena);
	double primal = clock.median([&] {
		LAUNCH(montecarlo::primal, blocks, threads, input.data, paths, values.data);
	});
	double gradient = clock.median([&] {
		LAUNCH(montecarlo::gradient, blocks, threads, arena, input.data, paths, values.data,
		       bar.data);
	});

	if (reel_arena_settle(tapes.arena, nullptr) != 0)
		device::stop("montecarlo", "the arena was too small");
	row("Monte Carlo, gradient over primal", gradient / primal, "", 0, false);
}

} // namespace

int main(int count, char **arguments)
{
	bool quick = count > 1 && strcmp(arguments[1], "--quick") == 0;
	size_t bytes = quick ? (size_t)400 << 20 : (size_t)4 << 30, heap = (size_t)6 << 30;
	/* Comes first: the size of the heap is fixed once a kernel that allocates is loaded. */
	bool has_heap = cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap) == cudaSuccess;
	cudaDeviceProp properties;
	clock_of_the_device clock;

	(void)cudaGetLastError();
	/* Or else it is a part of the memory of the host, which may be small at first. */
	setenv("REEL_BUDGET", "16G", 0);
	setvbuf(stdout, nullptr, _IOLBF, 0);
	device::check(cudaGetDeviceProperties(&properties, 0), "no GPU");
	processors = (unsigned)properties.multiProcessorCount;
	printf("| %s | | target |\n| --- | ---: | --- |\n", properties.name);

	double copy = measure_copy(clock, bytes, "copy from device to device, read and written");
	measure_push_pop<8, 8>(clock, bytes, copy);
	measure_push_pop<32, 8>(clock, bytes, copy);
	measure_push_pop<32, 16>(clock, bytes, copy);
	measure_stencil(clock, quick ? 2048 : 8192, 8);
	measure_montecarlo(clock, quick ? 1 << 18 : 1 << 21);
	measure_copy(clock, bytes, "the copy, once more");
	if (has_heap)
		measure_malloc(clock, heap);
	else
		printf("| in-kernel malloc: the device gives no heap of %zu bytes | | |\n", heap);
	measure_spill(clock, bytes);
	return 0;
}
