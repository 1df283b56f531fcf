/* SPDX-License-Identifier: MIT */
/*
 * The examples' interface to a device: by nvcc to a GPU, by a C++ compiler to the emulator.
 * Kernels and their callers are one source. Only the examples and the tests know these names.
 * A program with its own message for a fatal error defines `DEVICE_STOP(what, why)` before.
 */
#ifndef REEL_EXAMPLES_DEVICE_H
#define REEL_EXAMPLES_DEVICE_H

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "helpers/emulator.h"

extern "C" {
#include "helpers/fake-device.h"
}
#endif

#include <reel/arena.h>
#include <reel/device-add.cuh>
#include <reel/device.cuh>

namespace device {

[[noreturn]] inline void stop(const char *what, const char *why)
{
#ifdef DEVICE_STOP
	DEVICE_STOP(what, why);
#else
	fprintf(stderr, "%s: %s\n", what, why);
	exit(EXIT_FAILURE);
#endif
}

#ifdef __CUDACC__

inline void check(cudaError_t error, const char *what)
{
	if (error != cudaSuccess)
		stop(what, cudaGetErrorString(error));
}

inline void *allocate(size_t bytes)
{
	void *memory;

	check(cudaMalloc(&memory, bytes), "cudaMalloc");
	check(cudaMemset(memory, 0, bytes), "cudaMemset");
	return memory;
}

inline void release(void *memory)
{
	cudaFree(memory);
}

inline void copy(void *to, const void *from, size_t bytes)
{
	check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

inline void zero(void *memory, size_t bytes)
{
	check(cudaMemset(memory, 0, bytes), "cudaMemset");
}

/* Of a kernel's threads: where each is, and how many there are. */
#define ALL_THREADS (gridDim.x * blockDim.x)
#define GLOBAL_THREAD (blockIdx.x * blockDim.x + threadIdx.x)

#define LAUNCH(kernel, blocks, threads, ...)                                                       \
	do {                                                                                       \
		kernel<<<(blocks), (threads)>>>(__VA_ARGS__);                                      \
		device::check(cudaGetLastError(), #kernel);                                        \
	} while (0)

inline void open()
{
	check(cudaFree(nullptr), "no GPU");
}

inline void close()
{
}

inline const char *name()
{
	static cudaDeviceProp properties;

	check(cudaGetDeviceProperties(&properties, 0), "no GPU");
	return properties.name;
}

/* Of its memory. */
inline size_t unused_bytes()
{
	size_t unused, all;

	check(cudaMemGetInfo(&unused, &all), "cudaMemGetInfo");
	return unused;
}

#else

inline void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		stop("allocate", "no memory");
	return memory;
}

inline void release(void *memory)
{
	free(memory);
}

inline void copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

inline void zero(void *memory, size_t bytes)
{
	memset(memory, 0, bytes);
}

/* The order of the lanes of the next launch; each launch has another. */
inline uint64_t &seed()
{
	static uint64_t number = 1;

	return number;
}

inline emulator::options next_order()
{
	emulator::options how;

	how.seed = seed()++;
	return how;
}

#define ALL_THREADS (gridDim.x * blockDim.x)
#define GLOBAL_THREAD (blockIdx.x * blockDim.x + threadIdx.x)

#define LAUNCH(kernel, blocks, threads, ...)                                                       \
	emulator::launch((blocks), (threads), [&] { kernel(__VA_ARGS__); }, device::next_order())

/* The fake device holds the arena's memory, and its only stream does nothing else. */
inline reel_cu_stream &fake_stream()
{
	static reel_cu_stream only;

	return only;
}

inline const reel_driver *&fake_driver()
{
	static const reel_driver *only;

	return only;
}

inline void open()
{
	static fake_options options;
	reel_cu_context context;

	if (fake_driver())
		return;
	fake_driver() = fake_device_open(&options);
	reel_driver_replace(fake_driver());
	fake_driver()->cuDevicePrimaryCtxRetain(&context, 0);
	fake_driver()->cuCtxPushCurrent(context);
	fake_driver()->cuStreamCreate(&fake_stream(), REEL_CU_STREAM_NON_BLOCKING);
}

inline void close()
{
	fake_device_close();
	fake_driver() = nullptr;
	reel_driver_replace(nullptr);
}

inline const char *name()
{
	return "an emulated device";
}

inline size_t unused_bytes()
{
	size_t unused, all;

	fake_driver()->cuMemGetInfo(&unused, &all);
	return unused;
}

#endif

/* An array on the device, of zeros, or a copy of an array of the host. */
template <class T> struct array {
	T *data;
	size_t n;

	explicit array(size_t size) : data(static_cast<T *>(allocate(size * sizeof(T)))), n(size)
	{
	}
	explicit array(const std::vector<T> &host) : array(host.size())
	{
		copy(data, host.data(), n * sizeof(T));
	}
	~array()
	{
		release(data);
	}
	array(const array &) = delete;
	array &operator=(const array &) = delete;

	operator T *() const
	{
		return data;
	}
	std::vector<T> host() const
	{
		std::vector<T> values(n);

		copy(values.data(), data, n * sizeof(T));
		return values;
	}
	void set(const std::vector<T> &host)
	{
		copy(data, host.data(), n * sizeof(T));
	}
	void clear()
	{
		zero(data, n * sizeof(T));
	}
};

/* The arena of an example: opened small, it grows until the kernels' tapes fit. */
struct tapes {
	reel_arena *arena;

	explicit tapes(uint32_t warps, uint32_t slab_bytes = 0, uint64_t bytes = 0,
		       uint32_t word_bytes = 0)
	{
		reel_arena_options options = {};

		options.warps = warps;
		options.slab_bytes = slab_bytes;
		options.bytes = bytes;
		options.word_bytes = word_bytes;
		if (reel_arena_open(&arena, &options))
			stop("no arena", reel_error_text(0));
	}
	~tapes()
	{
		reel_arena_close(arena);
	}
	tapes(const tapes &) = delete;
	tapes &operator=(const tapes &) = delete;

	/* Call `launches`, which launches kernels, once; returns as reel_arena_settle(). */
	template <class Launches> int attempt(Launches launches)
	{
		launches(reel_arena_device(arena));
		return reel_arena_settle(arena, stream());
	}

	/* Run it, again with more memory if it ran out. Returns how often. */
	template <class Launches> unsigned run(Launches launches)
	{
		for (unsigned times = 1; times <= 100; times++) {
			int result = attempt(launches);

			if (result == 0)
				return times;
			if (result < 0)
				stop("tapes", reel_error_text(0));
		}
		stop("tapes", "a hundred launches, and none of them settles");
	}

	static void *stream()
	{
#ifdef __CUDACC__
		return nullptr; /* the default one, in which LAUNCH puts kernels */
#else
		return fake_stream();
#endif
	}
};

} // namespace device

#endif
