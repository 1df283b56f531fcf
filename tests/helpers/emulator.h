/* SPDX-License-Identifier: MIT */
/*
 * A machine of warps in host memory: CUDA kernels, compiled as C++ behind this header, run here.
 *
 *	emulator::launch(grid, block, [&] { kernel(arguments); });
 *
 * runs a kernel to its end. Every lane is a fiber with a stack of its own. Which lane goes on next,
 * of which warp and block, is drawn from a seed at each step, so that one kernel is run in many
 * orders, the same ones for the same seed. With emulator::options::threads every lane is a thread,
 * for races that ThreadSanitizer should see.
 *
 * A kernel may use: threadIdx, blockIdx, blockDim, gridDim, __shared__ (not in templates),
 * __syncthreads(), __syncwarp(), __activemask() and the operations of a warp below, atomics. Lanes
 * that __activemask() finds together are also drawn: any part of those that are at the same place.
 * As threads they are always alone.
 *
 * A program that waits for ever, calls an operation with a mask that it is not in, or whose lanes
 * wait in different operations, is stopped with a message.
 */
#ifndef REEL_EMULATOR_H
#define REEL_EMULATOR_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define REEL_EMULATOR 1

#define __device__
#define __host__
#define __global__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
/* Swapped with the block that runs. */
#define __shared__ static __attribute__((section("reel_shared")))

struct dim3 {
	unsigned x, y, z;

	dim3(unsigned columns = 1, unsigned rows = 1, unsigned planes = 1)
	    : x(columns), y(rows), z(planes)
	{
	}
};

namespace emulator {

struct options {
	uint64_t seed = 1;
	bool threads = false;
	/*
	 * Blocks at a time, drawn from the grid; 0: all. As threads, 1 if the kernel has
	 * __shared__.
	 */
	unsigned resident = 0;
};

/* Run the kernel by every lane of every block; returns when all have ended. One at a time. */
void launch(dim3 grid, dim3 block, const std::function<void()> &kernel,
	    const options &how = options());

struct place {
	dim3 thread, block, block_size, grid_size;
	unsigned lane;
};

/* Where the running lane is. */
const place &here();

/* The values of the lanes of `mask` for the operation `kind`, by lane, once all have called it. */
const uint64_t *meet(const char *kind, uint32_t mask, uint64_t value);

/* Wait for all lanes of the block that have not ended. */
void barrier();

/* The running lane, and some of those that are at the same `site`. */
uint32_t active(const void *site);

/* Perhaps let another lane run. */
void yield();

template <class T> uint64_t to_bits(T value)
{
	static_assert(sizeof(T) <= 8, "lanes exchange at most 8 bytes");
	uint64_t bits = 0;

	std::memcpy(&bits, &value, sizeof value);
	return bits;
}

template <class T> T from_bits(uint64_t bits)
{
	T value;

	std::memcpy(&value, &bits, sizeof value);
	return value;
}

template <class T> T exchange(const char *kind, uint32_t mask, T value, unsigned source)
{
	const uint64_t *values = meet(kind, mask, to_bits(value));

	return mask >> source & 1 ? from_bits<T>(values[source]) : value;
}

} // namespace emulator

#define threadIdx (emulator::here().thread)
#define blockIdx (emulator::here().block)
#define blockDim (emulator::here().block_size)
#define gridDim (emulator::here().grid_size)

inline void __syncthreads()
{
	emulator::barrier();
}

inline void __syncwarp(uint32_t mask = ~0u)
{
	emulator::meet("__syncwarp", mask, 0);
}

#define __activemask() emulator::active(__FILE__ ":" REEL_EMULATOR_LINE(__LINE__))
#define REEL_EMULATOR_LINE(line) REEL_EMULATOR_STRING(line)
#define REEL_EMULATOR_STRING(line) #line

inline uint32_t __ballot_sync(uint32_t mask, int predicate)
{
	const uint64_t *values = emulator::meet("__ballot_sync", mask, predicate != 0);
	uint32_t lanes = 0;

	for (unsigned lane = 0; lane < 32; lane++)
		lanes |= (uint32_t)(mask >> lane & values[lane] & 1) << lane;
	return lanes;
}

inline int __any_sync(uint32_t mask, int predicate)
{
	return __ballot_sync(mask, predicate) != 0;
}

inline int __all_sync(uint32_t mask, int predicate)
{
	return __ballot_sync(mask, !predicate) == 0;
}

template <class T> uint32_t __match_any_sync(uint32_t mask, T value)
{
	const uint64_t *values = emulator::meet("__match_any_sync", mask, emulator::to_bits(value));
	uint32_t lanes = 0;

	for (unsigned lane = 0; lane < 32; lane++)
		if (mask >> lane & 1 && values[lane] == emulator::to_bits(value))
			lanes |= 1u << lane;
	return lanes;
}

template <class T> T __shfl_sync(uint32_t mask, T value, int source)
{
	return emulator::exchange("__shfl_sync", mask, value, (unsigned)source % 32);
}

template <class T> T __shfl_down_sync(uint32_t mask, T value, unsigned distance)
{
	unsigned lane = emulator::here().lane, source = lane + distance;

	return emulator::exchange("__shfl_down_sync", mask, value, source < 32 ? source : lane);
}

template <class T> T __shfl_xor_sync(uint32_t mask, T value, int other)
{
	return emulator::exchange("__shfl_xor_sync", mask, value,
				  emulator::here().lane ^ (unsigned)other);
}

inline unsigned __reduce_max_sync(uint32_t mask, unsigned value)
{
	const uint64_t *values = emulator::meet("__reduce_max_sync", mask, value);
	unsigned largest = value;

	for (unsigned lane = 0; lane < 32; lane++)
		if (mask >> lane & 1 && values[lane] > largest)
			largest = (unsigned)values[lane];
	return largest;
}

inline int __popc(uint32_t word)
{
	return __builtin_popcount(word);
}

inline int __ffs(int word)
{
	return __builtin_ffs(word);
}

inline int __clz(int word)
{
	return word ? __builtin_clz((unsigned)word) : 32;
}

inline int __clzll(long long word)
{
	return word ? __builtin_clzll((unsigned long long)word) : 64;
}

/* As on a device these order nothing else. */
template <class T> T atomicAdd(T *target, typename std::common_type<T>::type x)
{
	T old, sum;

	emulator::yield();
	__atomic_load(target, &old, __ATOMIC_RELAXED);
	do {
		sum = old + x;
	} while (!__atomic_compare_exchange(target, &old, &sum, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return old;
}

template <class T> T atomicMax(T *target, typename std::common_type<T>::type x)
{
	emulator::yield();
	T old = __atomic_load_n(target, __ATOMIC_RELAXED);

	while (old < x && !__atomic_compare_exchange_n(target, &old, x, false, __ATOMIC_RELAXED,
						       __ATOMIC_RELAXED))
		;
	return old;
}

template <class T> T atomicOr(T *target, typename std::common_type<T>::type x)
{
	emulator::yield();
	return __atomic_fetch_or(target, x, __ATOMIC_RELAXED);
}

#endif
