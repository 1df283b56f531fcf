/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the tape in kernels: an arena in host memory, emulated launches. */
#ifndef TESTS_DEVICE_SUPPORT_H
#define TESTS_DEVICE_SUPPORT_H

#include "emulator.h"

#include <reel/device.cuh>

#include <cstdlib>
#include <vector>

#include "gpu/tape/arena-layout.h"
#include "../../examples/gpu/example.h"

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

inline bool is_brief()
{
	const char *full = getenv("TEST_LONG");

	return !full || !*full;
}

/* Sixteen rows a slab unless said otherwise: crossing is frequent. */
struct host_arena {
	unsigned char *memory;
	reel_arena_header *header;

	explicit host_arena(uint64_t slabs, uint32_t warps, uint32_t word_bytes = 8,
			    uint32_t rows = 16)
	{
		uint32_t slab_bytes = rows * 32 * word_bytes;
		uint64_t bytes = arena_bytes(slabs, slab_bytes, warps);

		memory = static_cast<unsigned char *>(
			aligned_alloc(256, (bytes + 255) / 256 * 256));
		memset(memory, 0xa5, bytes);
		header = reinterpret_cast<reel_arena_header *>(memory);
		if (!arena_lay_out(header, bytes, slab_bytes, word_bytes, warps))
			abort();
		reset();
	}
	~host_arena()
	{
		free(memory);
	}
	host_arena(const host_arena &) = delete;
	host_arena &operator=(const host_arena &) = delete;

	void reset()
	{
		reel_arena_header empty = *header;

		empty.given = 0;
		empty.queue = header->first_slab;
		empty.faults = empty.warps_needed = empty.saved_block = 0;
		*header = empty;
		memset(memory + ARENA_HEADER_BYTES, 0, arena_zeros(header));
	}
	reel_device_arena device() const
	{
		return reel_device_arena{memory, header->row_mask, header->word_bytes};
	}
	uint32_t slabs() const
	{
		return arena_slabs(header);
	}
	/* The rest of the queue, and the list of those that were given back. */
	uint32_t free_slabs() const
	{
		const reel_arena_slab *slab_of =
			(const reel_arena_slab *)(memory + header->slabs_offset);
		uint32_t n = header->queue < header->end_slab ? header->end_slab - header->queue
							      : 0;

		for (uint32_t slab = (uint32_t)header->given; slab && n <= slabs();
		     slab = slab_of[slab].below)
			n++;
		return n;
	}
	uint64_t needed() const
	{
		const reel_arena_warp *warps =
			(const reel_arena_warp *)(memory + header->warps_offset);
		uint64_t sum = 0;

		for (uint32_t n = 0; n < header->warps; n++)
			sum += warps[n].peak;
		return sum;
	}
};

/* How often a kernel is run, each time in another order. */
inline unsigned orders()
{
	return is_brief() ? 3 : 12;
}

inline emulator::options order(uint64_t seed, bool threads = false)
{
	emulator::options how;

	how.seed = seed;
	how.threads = threads;
	return how;
}

/* Wrong results of kernels, counted by any lane. */
struct wrongs {
	unsigned n = 0;

	void add(bool wrong)
	{
		if (wrong)
			__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
	}
};

inline uint32_t global_thread()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

#endif
