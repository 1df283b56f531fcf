/* SPDX-License-Identifier: MIT */
/*
 * Adding to adjoints from many threads.
 *
 * Where the primal reads, the adjoint adds. Two patterns of a kernel become races in its gradient:
 *
 *	out[i] = f(in[i])           each thread its own i. The adjoint of out[i] is read and
 *	                            cleared, that of in[i] added to, by the thread of i alone:
 *	                            x_bar[i] += ...; no race. But if threads read in[j] of others
 *	                            (stencils, gathers, tables), many add to one in_bar[j]:
 *	                            reel_add(&in_bar[j], ...), or let the thread of j gather all
 *	                            that is owed to it, in an order of its own.
 *
 *	out[i] = f(in[i], *val)     all threads read one scalar: all add to one val_bar. Sum what
 *	                            a thread has to add in a register, over all of its i, and
 *	                            reel_add(val_bar, sum) once.
 *
 *	                       order of the sum       cost
 *	reel_add               any                    one atomic for each place that a warp adds to
 *	reel_shared_add        any                    the same in shared memory; then one for each
 *	                                              place and block
 *	reel_block_sum         fixed                  for one place: a tree over the block
 *	reel_ordered_add       fixed                  the warps of a block one after another
 *
 * Fixed means the same bits in each run of the same launch (grid, block, data). What blocks add
 * together is fixed only if each writes its sum to a place of its own, and reel_ordered_sum() adds
 * these.
 *
 * All work for float and double.
 */
#ifndef REEL_DEVICE_ADD_CUH
#define REEL_DEVICE_ADD_CUH

#include <reel/device-warp.cuh>

/* The sum over the lanes in `lanes`, which call it together; valid in the first of them. A tree. */
template <class T> REEL_DEVICE T reel_sum_lanes(uint32_t lanes, T x)
{
	uint32_t lane = reel_device_warp_index();
	uint32_t above = lanes & ~1u << lane;
	uint32_t rank = (uint32_t)__popc(lanes & ((1u << lane) - 1));

	/* Every second one of those left hands what it has to the one below it, and is done. */
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
 * *target += x, by any threads at any time. Lanes that are here together and add to one place are
 * summed first, and add once.
 */
template <class T> REEL_DEVICE void reel_add(T *target, T x)
{
	uint32_t same = __match_any_sync(__activemask(), (unsigned long long)(uintptr_t)target);
	T sum = reel_sum_lanes(same, x);

	if (reel_device_is_first(same))
		atomicAdd(target, sum);
}

/* ---- An array of the block ---- */

/* Set the block's array of n in shared memory to zero. All threads of the block call it. */
template <class T> REEL_DEVICE void reel_shared_open(T *shared, uint32_t n)
{
	for (uint32_t i = reel_device_thread(); i < n; i += reel_device_block_threads())
		shared[i] = 0;
	__syncthreads();
}

/* As reel_add(), to an element of that array. */
template <class T> REEL_DEVICE void reel_shared_add(T *element, T x)
{
	reel_add(element, x);
}

/* Add the block's array to that of all blocks. All threads of the block call it. */
template <class T> REEL_DEVICE void reel_shared_close(const T *shared, uint32_t n, T *target)
{
	__syncthreads();
	for (uint32_t i = reel_device_thread(); i < n; i += reel_device_block_threads())
		if (shared[i] != 0)
			atomicAdd(&target[i], shared[i]);
}

/* ---- In a fixed order ---- */

/*
 * The sum of x over the block, valid in its first thread. All threads of the block call it; scratch
 * is shared memory for an x of each warp, free again after the block's next __syncthreads().
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
 * array[index] += x in the block's own array, which may be in shared or global memory. All threads
 * of the block call it, those that have nothing to add with `adds` false. A barrier for each warp.
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

/* target[i] += what the arrays of n, one after another in `parts`, have at i; by a whole launch. */
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
