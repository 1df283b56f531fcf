/* SPDX-License-Identifier: MIT */
/*
 * This header has all of reel/device.cuh that depends on the machine: the place of a thread in the
 * launch, and loads and stores that other lanes see in order. Under the emulator of tests/helpers/,
 * they are C++ atomics.
 */
#ifndef REEL_DEVICE_WARP_CUH
#define REEL_DEVICE_WARP_CUH

/* ---- Within ---- */

#include <stdint.h>

#if !defined(__CUDACC__) && !defined(REEL_EMULATOR)
#error "reel/device.cuh is for nvcc; without it, include tests/helpers/emulator.h first"
#endif

#define REEL_DEVICE __device__ __forceinline__
/*
 * For functions that run rarely. They take values only: a variable whose address they took would
 * not stay in a register.
 */
#ifdef REEL_EMULATOR
#define REEL_DEVICE_RARE static inline __attribute__((noinline))
#else
#define REEL_DEVICE_RARE static __device__ __noinline__
#endif

REEL_DEVICE uint32_t reel_device_thread()
{
	return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

REEL_DEVICE uint32_t reel_device_block_threads()
{
	return blockDim.x * blockDim.y * blockDim.z;
}

REEL_DEVICE uint32_t reel_device_warp_index()
{
	return reel_device_thread() % 32;
}

REEL_DEVICE uint32_t reel_device_block_warps()
{
	return (reel_device_block_threads() + 31) / 32;
}

/* Number of this warp in the launch. */
REEL_DEVICE uint32_t reel_device_warp()
{
	return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) *
		       reel_device_block_warps() +
	       reel_device_thread() / 32;
}

REEL_DEVICE int reel_device_first_active(uint32_t lanes)
{
	return __ffs((int)lanes) - 1;
}

REEL_DEVICE bool reel_device_is_first(uint32_t lanes)
{
	return (int)reel_device_warp_index() == reel_device_first_active(lanes);
}

#ifdef REEL_EMULATOR

REEL_DEVICE uint32_t reel_device_load(const uint32_t *word)
{
	emulator::yield();
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

template <class T> REEL_DEVICE T reel_device_acquire(const T *word)
{
	emulator::yield();
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

REEL_DEVICE void reel_device_store(uint32_t *word, uint32_t value)
{
	emulator::yield();
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

REEL_DEVICE void reel_device_release(uint32_t *word, uint32_t value)
{
	emulator::yield();
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Stores `value` if *word is `seen`. Returns the old *word. Acquire and release. */
template <class T> REEL_DEVICE T reel_device_swap_if(T *word, T seen, T value)
{
	emulator::yield();
	__atomic_compare_exchange_n(word, &seen, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return seen;
}

#else

REEL_DEVICE uint32_t reel_device_load(const uint32_t *word)
{
	uint32_t value;

	asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
	return value;
}

REEL_DEVICE uint32_t reel_device_acquire(const uint32_t *word)
{
	uint32_t value;

	asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
	return value;
}

REEL_DEVICE uint64_t reel_device_acquire(const uint64_t *word)
{
	uint64_t value;

	asm volatile("ld.acquire.gpu.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
	return value;
}

REEL_DEVICE void reel_device_store(uint32_t *word, uint32_t value)
{
	asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

REEL_DEVICE void reel_device_release(uint32_t *word, uint32_t value)
{
	asm volatile("st.release.gpu.u32 [%0], %1;" : : "l"(word), "r"(value) : "memory");
}

/* Stores `value` if *word is `seen`. Returns the old *word. Acquire and release. */
REEL_DEVICE uint32_t reel_device_swap_if(uint32_t *word, uint32_t seen, uint32_t value)
{
	uint32_t old;

	asm volatile("atom.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(old) : "l"(word), "r"(seen), "r"(value) : "memory");
	return old;
}

REEL_DEVICE uint64_t reel_device_swap_if(uint64_t *word, uint64_t seen, uint64_t value)
{
	uint64_t old;

	asm volatile("atom.acq_rel.gpu.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(old) : "l"(word), "l"(seen), "l"(value) : "memory");
	return old;
}

#endif

#endif
