/* SPDX-License-Identifier: MIT */
/*
 * Adding to adjoints from many threads.
 *
 * Where the primal reads, the adjoint adds. If several threads read one value, their additions to
 * its adjoint are a race. There are two patterns:
 *
 *	out[i] = f(in[i])           Each thread has its own i. The thread of i alone reads and
 *	                            clears out_bar[i], and adds to in_bar[i]: there is no race,
 *	                            and in_bar[i] += ... will do. But if threads read in[j] of
 *	                            other threads (stencils, gathers, tables), many threads add
 *	                            to one in_bar[j]: call reel_add(&in_bar[j], ...), or let the
 *	                            thread of j gather its terms, in an order of its own.
 *
 *	out[i] = f(in[i], *val)     All threads read one scalar, so all add to one val_bar. Each
 *	                            thread sums its terms in a register, over all of its i, and
 *	                            calls reel_add(val_bar, sum) once.
 *
 *	                       order of the sum       cost
 *	reel_add               any                    one atomic for each place that a warp adds to
 *	  in shared memory     any                    the same there; then one for each place and
 *	                                              block (reel_shared_close())
 *	reel_block_sum         fixed                  for one place: a tree over the block
 *	reel_ordered_add       fixed                  the warps of a block one after another
 *
 * A fixed order gives the same bits in each run of the same launch (grid, block, data). A sum over
 * blocks has a fixed order only if each block writes its part to a place of its own, and
 * reel_ordered_sum() adds the parts.
 *
 * All functions take float and double.
 */
#ifndef REEL_DEVICE_ADD_CUH
#define REEL_DEVICE_ADD_CUH

#include <reel/device-warp.cuh>

/*
 * Returns the sum of x over the lanes in `lanes`, which call it together. The result is valid in
 * the first of these lanes. The sum is a tree.
 */
template <class T> REEL_DEVICE T reel_sum_lanes(uint32_t lanes, T x)
{
	uint32_t lane = reel_device_warp_index();
	uint32_t above = lanes & ~1u << lane;
	uint32_t rank = (uint32_t)__popc(lanes & ((1u << lane) - 1));

	/* In each round, every second lane left gives its sum to the one below and drops out. */
	while (__any_sync(lanes, above != 0)) {
		uint32_t next = above ? (uint32_t)reel_device_first_active(above) : lane;
		T other = __shfl_sync(lanes, x, (int)next);

		if (above)
			x += other;
		above &= __ballot_sync(lanes, !(rank & 1));
		rank >>= 1;
	}
	return x;
}

/*
 * Adds x to *target, atomically. Any thread may call it at any time. Lanes of a warp that call it
 * together for one target are summed first, and add once.
 */
template <class T> REEL_DEVICE void reel_add(T *target, T x)
{
	uint32_t same = __match_any_sync(__activemask(), (unsigned long long)(uintptr_t)target);
	T sum = reel_sum_lanes(same, x);

	if (reel_device_is_first(same))
		atomicAdd(target, sum);
}

/* ---- An array of the block ---- */

/*
 * Sets the n elements of the block's array in shared memory to zero. All threads of the block call
 * it. It ends with a barrier. reel_add(&shared[i], x) then adds to the elements.
 */
template <class T> REEL_DEVICE void reel_shared_open(T *shared, uint32_t n)
{
	for (uint32_t i = reel_device_thread(); i < n; i += reel_device_block_threads())
		shared[i] = 0;
	__syncthreads();
}

/*
 * Adds the n elements of the block's array in shared memory to `target`, an array that all blocks
 * share. All threads of the block call it. It begins with a barrier.
 */
template <class T> REEL_DEVICE void reel_shared_close(const T *shared, uint32_t n, T *target)
{
	__syncthreads();
	for (uint32_t i = reel_device_thread(); i < n; i += reel_device_block_threads())
		if (shared[i] != 0)
			atomicAdd(&target[i], shared[i]);
}

/* ---- In a fixed order ---- */

/*
 * Returns the sum of x over the block, valid in its first thread. All threads of the block call it.
 * `scratch` is shared memory for one T of each warp; the block may use it again after its next
 * __syncthreads().
 */
template <class T> REEL_DEVICE T reel_block_sum(T x, T *scratch)
{
	uint32_t thread = reel_device_thread(), warps = reel_device_block_warps();
	uint32_t rest = reel_device_block_threads() - thread / 32 * 32;
	T sum = reel_sum_lanes(rest < 32 ? (1u << rest) - 1 : ~0u, x);

	if (thread % 32 == 0)
		scratch[thread / 32] = sum;
	__syncthreads();
	for (uint32_t warp = 1; thread == 0 && warp < warps; warp++)
		sum += scratch[warp];
	return sum;
}

/*
 * Adds x to array[index]. The array belongs to the block alone, and may be in shared or global
 * memory. All threads of the block call it; a thread that has nothing to add passes `adds` false.
 * Cost: one barrier for each warp of the block.
 */
template <class T>
REEL_DEVICE void reel_ordered_add(T *array, uint32_t index, T x, bool adds = true)
{
	uint32_t thread = reel_device_thread(), warps = reel_device_block_warps();
	uint32_t rest = reel_device_block_threads() - thread / 32 * 32;
	uint32_t lanes = rest < 32 ? (1u << rest) - 1 : ~0u;
	uint32_t same = __match_any_sync(lanes, adds ? index : ~0u);
	T sum = reel_sum_lanes(same, x);

	for (uint32_t warp = 0; warp < warps; warp++) {
		if (thread / 32 == warp && adds && reel_device_is_first(same))
			array[index] += sum;
		__syncthreads();
	}
}

/*
 * Adds the element i of several arrays to target[i], for each i below n. There are `arrays` arrays
 * of n elements, one after another in `parts`. All threads of the launch call it; the grid has one
 * dimension.
 */
template <class T>
REEL_DEVICE void reel_ordered_sum(const T *parts, uint32_t arrays, uint32_t n, T *target)
{
	uint32_t stride = gridDim.x * reel_device_block_threads();

	for (uint32_t i = blockIdx.x * reel_device_block_threads() + reel_device_thread(); i < n;
	     i += stride) {
		T sum = 0;

		for (uint32_t part = 0; part < arrays; part++)
			sum += parts[(uint64_t)part * n + i];
		target[i] += sum;
	}
}

#endif
