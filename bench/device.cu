/* SPDX-License-Identifier: MIT */
/*
 * Measures the tape in kernels on a GPU, and compares it with a copy on the GPU and with a tape of
 * in-kernel malloc. Prints a table in Markdown; --quick uses a tenth of the memory.
 */
#include <algorithm>
#include <chrono>

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

__global__ void push_step(reel_device_arena arena, bool is_first, unsigned rows)
{
	reel_device_tape<> tape;

	if (is_first)
		tape.open(arena);
	else
		tape.resume(arena);
	for (unsigned i = 0; i < rows; i++)
		tape.push((double)i);
	tape.save();
}

__global__ void pop_step(reel_device_arena arena, unsigned rows, double *sums)
{
	reel_device_tape<> tape;
	double sum = 0;

	tape.resume(arena);
	for (unsigned i = 0; i < rows; i++)
		sum += tape.pop<double>();
	tape.save();
	sums[GLOBAL_THREAD] = sum;
}

template <class Launch> double settled(const device::tapes &tapes, unsigned steps, Launch launch)
{
	auto start = std::chrono::steady_clock::now();

	for (unsigned step = 0; step < steps; step++) {
		int error;

		do
			launch(step);
		while ((error = reel_arena_settle(tapes.arena, nullptr)) > 0);
		if (error)
			device::stop("an arena with a store", reel_error_text(error));
	}
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/*
 * Sixteen steps push four times the size of the arena. A store in host memory keeps the slabs that
 * find no room in the arena.
 */
void measure_spill(clock_of_the_device &clock, size_t bytes)
{
	const unsigned steps = 16;
	unsigned blocks = resident(push_step), lanes = blocks * threads;
	unsigned rows = (unsigned)(bytes / steps / lanes / sizeof(double));
	double moved = (double)steps * lanes * rows * sizeof(double);
	device::array<double> sums(lanes);
	device::array<char> on_device(bytes / steps);
	device::tapes tapes(lanes / 32, 0, bytes / 4 + ((size_t)lanes / 32 << 16));
	reel_store *store;
	void *pinned;
	double forward[3], reverse[3];

	if (reel_store_open(&store, "memory=32G", nullptr) || reel_arena_attach(tapes.arena, store))
		device::stop("an arena with a store", reel_error_text(0));
	for (unsigned n = 0; n < 3; n++) {
		forward[n] = settled(tapes, steps, [&](unsigned step) {
			LAUNCH(push_step, blocks, threads, reel_arena_device(tapes.arena),
			       step == 0, rows);
		});
		reverse[n] = settled(tapes, steps, [&](unsigned) {
			LAUNCH(pop_step, blocks, threads, reel_arena_device(tapes.arena), rows,
			       sums.data);
		});
	}
	std::sort(forward, forward + 3);
	std::sort(reverse, reverse + 3);
	device::check(cudaMallocHost(&pinned, bytes / steps), "pinned memory");
	double out = clock.median([&] {
		device::check(cudaMemcpyAsync(pinned, on_device.data, bytes / steps,
					      cudaMemcpyDeviceToHost),
			      "copy");
	});
	double back = clock.median([&] {
		device::check(cudaMemcpyAsync(on_device.data, pinned, bytes / steps,
					      cudaMemcpyHostToDevice),
			      "copy");
	});
	device::check(cudaFreeHost(pinned), "pinned memory");
	row("tape of four times the arena, pushed", moved / forward[1] * 1e-9, "GB/s", 0, true);
	row("... over a copy to pinned memory", moved / forward[1] * out / (bytes / steps), "", 0,
	    true);
	row("tape of four times the arena, popped", moved / reverse[1] * 1e-9, "GB/s", 0, true);
	row("... over a copy from pinned memory", moved / reverse[1] * back / (bytes / steps), "",
	    0, true);
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
	measure_spill(clock, bytes);
	measure_copy(clock, bytes, "the copy, once more");
	if (has_heap)
		measure_malloc(clock, heap);
	else
		printf("| in-kernel malloc: the device gives no heap of %zu bytes | | |\n", heap);
	return 0;
}
