/* SPDX-License-Identifier: MIT */
/*
 * The verbs of the store in GPU memory, its beginning and its end. Any thread calls the verbs. In
 * the child of a fork they use neither the driver nor a lock.
 */
#include "config.h"

#include "os/assert.h"
#include "os/cancel.h"
#include "gpu-store.h"
#include "os/clock.h"
#include "os/integer.h"
#include "os/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_SLOT_BYTES ((size_t)2 << 20)
/*
 * The link needs copies to carry while the store's thread wakes up: on an H100 175 us, or 9 MiB at
 * 53 GB/s.
 */
#define DEFAULT_DEPTH_BYTES ((size_t)16 << 20)
#define MAX_SLOT_BYTES ((uint64_t)1 << 32)
/* The device copies at full speed from and to addresses with this alignment. */
#define SLOT_ALIGN 512

static struct reel_gpu_store *gpu_of(reel_store *store)
{
	return (struct reel_gpu_store *)store;
}

/* The child of a fork has neither the driver's state nor the threads of the links. */
static bool is_in_child(const struct reel_gpu_store *gpu)
{
	return reel_process_is_child(gpu->owner);
}

/* ---- Verbs ---- */

static void gpu_put(reel_store *store, reel_transfer *transfer)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store *gpu = gpu_of(store);
	uint64_t location = 0;
	int error = 0;

	if (is_in_child(gpu))
		error = -ECHILD;
	else if (!transfer->bytes || transfer->bytes > gpu->memory.slot_bytes)
		error = transfer->bytes ? -EMSGSIZE : -EINVAL;
	else
		error = reel_gpu_memory_take(&gpu->memory, transfer, &location);
	transfer->extent = (struct reel_extent){location, transfer->bytes};
	if (error)
		reel_transfer_complete(transfer, error);
	else
		reel_gpu_link_add(&gpu->out, transfer);
}

static void gpu_get(reel_store *store, reel_transfer *transfer)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store *gpu = gpu_of(store);
	int error = is_in_child(gpu) ? -ECHILD : reel_gpu_memory_check(&gpu->memory, transfer);

	if (error)
		reel_transfer_complete(transfer, error);
	else
		reel_gpu_link_add(&gpu->in, transfer);
}

static void gpu_drop(reel_store *store, struct reel_extent extent)
{
	struct reel_gpu_store *gpu = gpu_of(store);

	if (!is_in_child(gpu))
		reel_gpu_memory_give(&gpu->memory, extent.location);
}

static int gpu_sync(reel_store *store, int64_t timeout_ns)
{
	struct reel_gpu_store *gpu = gpu_of(store);
	uint64_t began = reel_clock_ns();
	int error;

	if (is_in_child(gpu))
		return 0;
	error = reel_transfer_queue_wait(&gpu->out.queue, timeout_ns);
	return error ? error
		     : reel_transfer_queue_wait(&gpu->in.queue, reel_clock_left(timeout_ns, began));
}

static void gpu_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	struct reel_gpu_store *gpu = gpu_of(store);
	uint64_t used = 0;

	if (!is_in_child(gpu)) {
		pthread_mutex_lock(&gpu->memory.lock);
		used = gpu->memory.slots - gpu->memory.free_slots;
		pthread_mutex_unlock(&gpu->memory.lock);
	}
	*capacity = (struct reel_store_capacity){
		.total_bytes = (uint64_t)gpu->memory.slots * gpu->memory.slot_bytes,
		.used_bytes = used * gpu->memory.slot_bytes,
		.align = 1,
		.max_bytes = gpu->memory.slot_bytes,
		.best_depth = gpu->memory.depth,
		.registers = true,
	};
}

static int gpu_register(reel_store *store, void *memory, size_t bytes)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store *gpu = gpu_of(store);

	return is_in_child(gpu) ? -ECHILD : reel_pinned_add(&gpu->memory.pinned, memory, bytes);
}

static void gpu_unregister(reel_store *store, void *memory, size_t bytes)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store *gpu = gpu_of(store);

	(void)bytes;
	if (!is_in_child(gpu))
		reel_pinned_remove(&gpu->memory.pinned, memory);
}

/* ---- Beginning and end ---- */

static void free_parts(struct reel_gpu_store *gpu)
{
	free(gpu->memory.slot);
	free(gpu->memory.free_slot);
	free(gpu);
}

static void close_memory(struct reel_gpu_store *gpu)
{
	gpu->memory.context.driver->cuMemFreeHost(gpu->memory.frames);
	gpu->memory.context.driver->cuMemFree(gpu->memory.arena);
}

/* If the device is lost, the driver frees nothing and the memory stays until the process ends. */
static void gpu_close(reel_store *store)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store *gpu = gpu_of(store);
	bool in_child = is_in_child(gpu);
	bool entered = !in_child && !reel_gpu_enter(&gpu->memory.context);

	if (!in_child) {
		reel_gpu_link_close(&gpu->out);
		reel_gpu_link_close(&gpu->in);
	}
	reel_pinned_close(&gpu->memory.pinned, in_child);
	if (!in_child) {
		close_memory(gpu);
		pthread_mutex_destroy(&gpu->memory.lock);
	}
	if (entered)
		reel_gpu_leave(&gpu->memory.context);
	if (!in_child)
		reel_gpu_context_close(&gpu->memory.context);
	free_parts(gpu);
}

static const struct reel_store_verbs verbs = {
	.name = "gpu",
	.put = gpu_put,
	.get = gpu_get,
	.drop = gpu_drop,
	.sync = gpu_sync,
	.capacity = gpu_capacity,
	.close = gpu_close,
	.register_memory = gpu_register,
	.unregister_memory = gpu_unregister,
};

static int check_options(const struct reel_gpu_store_options *options)
{
	const char *problem;
	const uint64_t slot_bytes = options->slot_bytes;

	if (options->depth > REEL_GPU_MAX_DEPTH)
		return reel_fail(-EINVAL, "depth is %u; it may be %d at most", options->depth,
				 REEL_GPU_MAX_DEPTH);
	if (slot_bytes > MAX_SLOT_BYTES)
		return reel_fail(-EINVAL, "slot_bytes is %zu; it may be 2^32 at most",
				 options->slot_bytes);
	problem = reel_reserved_problem(options->reserved, sizeof options->reserved);
	return problem ? reel_fail(-EINVAL, "%s", problem) : 0;
}

static int count_slots(struct reel_gpu_store *gpu, uint64_t bytes)
{
	size_t unused = 0, total = 0;
	reel_cu_result result = 0;

	if (!bytes) {
		result = gpu->memory.context.driver->cuMemGetInfo(&unused, &total);
		bytes = (uint64_t)unused / 4 * 3;
	}
	if (result)
		return reel_gpu_refuse(gpu->memory.context.driver, result, -ENODEV,
				       "the GPU's memory");
	bytes /= gpu->memory.slot_bytes;
	if (!bytes)
		return reel_fail(-ENOMEM,
				 "memory of the GPU for a store: a slot takes "
				 "%zu bytes",
				 gpu->memory.slot_bytes);
	gpu->memory.slots = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	return 0;
}

/* Makes all slots free, with the lowest number on top of the stack. */
static int make_slots(struct reel_gpu_memory *memory)
{
	memory->slot = calloc(memory->slots, sizeof *memory->slot);
	memory->free_slot = calloc(memory->slots, sizeof *memory->free_slot);
	if (!memory->slot || !memory->free_slot)
		return reel_fail(-ENOMEM, "no memory for %lu slots on the GPU",
				 (unsigned long)memory->slots);
	while (memory->free_slots < memory->slots) {
		memory->free_slot[memory->free_slots] = memory->slots - 1 - memory->free_slots;
		memory->free_slots++;
	}
	return 0;
}

static int open_memory(struct reel_gpu_memory *device)
{
	const struct reel_driver *driver = device->context.driver;
	size_t frames = 2 * device->depth * device->slot_bytes;
	reel_cu_result result =
		driver->cuMemAlloc(&device->arena, device->slots * device->slot_bytes);
	void *memory;

	if (result)
		return reel_gpu_refuse(driver, result, -ENODEV, "memory of the GPU for a store");
	result = driver->cuMemHostAlloc(&memory, frames, REEL_CU_HOST_ALLOC_PORTABLE);
	if (result) {
		driver->cuMemFree(device->arena);
		return reel_gpu_refuse(driver, result, -ENODEV,
				       "pinned memory for a store on the GPU");
	}
	device->frames = memory;
	return 0;
}

static int open_links(struct reel_gpu_store *gpu)
{
	int error = reel_gpu_link_open(&gpu->out, &gpu->memory, true, gpu->memory.frames);

	if (error)
		return error;
	error = reel_gpu_link_open(&gpu->in, &gpu->memory, false,
				   gpu->memory.frames + gpu->memory.depth * gpu->memory.slot_bytes);
	if (error)
		reel_gpu_link_close(&gpu->out);
	return error;
}

/* Requires the context. */
static int open_parts(struct reel_gpu_store *gpu, uint64_t bytes)
{
	int error = count_slots(gpu, bytes);

	if (!error)
		error = open_memory(&gpu->memory);
	if (error)
		return error;
	reel_pinned_open(&gpu->memory.pinned, &gpu->memory.context);
	pthread_mutex_init(&gpu->memory.lock, NULL);
	error = make_slots(&gpu->memory);
	if (!error)
		error = open_links(gpu);
	if (error)
		close_memory(gpu);
	return error;
}

static unsigned default_depth(size_t slot_bytes)
{
	return (unsigned)reel_min_u64(reel_max_u64(DEFAULT_DEPTH_BYTES / slot_bytes, 2), 8);
}

static int open_in_context(struct reel_gpu_store *gpu, uint64_t bytes)
{
	reel_cu_result result = reel_gpu_enter(&gpu->memory.context);
	int error;

	if (result)
		return reel_gpu_refuse(gpu->memory.context.driver, result, -ENODEV,
				       "the GPU cannot be used");
	error = open_parts(gpu, bytes);
	reel_gpu_leave(&gpu->memory.context);
	return error;
}

int reel_store_gpu_open(reel_store **store, const struct reel_gpu_store_options *options)
{
	REEL_UNCANCELLED;
	static const struct reel_gpu_store_options defaults;
	struct reel_gpu_store *gpu;
	size_t slot_bytes;
	int error;

	if (!options)
		options = &defaults;
	error = check_options(options);
	if (error)
		return error;
	gpu = calloc(1, sizeof *gpu);
	if (!gpu)
		return reel_fail(-ENOMEM, "no memory for a store");
	slot_bytes = options->slot_bytes ? options->slot_bytes : DEFAULT_SLOT_BYTES;
	gpu->store.verbs = &verbs;
	gpu->owner = getpid();
	gpu->memory.slot_bytes = (slot_bytes + SLOT_ALIGN - 1) & ~(size_t)(SLOT_ALIGN - 1);
	gpu->memory.depth = options->depth ? options->depth : default_depth(slot_bytes);
	error = reel_gpu_context_open(&gpu->memory.context, options->device);
	if (!error) {
		error = open_in_context(gpu, options->bytes);
		if (error)
			reel_gpu_context_close(&gpu->memory.context);
	}
	if (error)
		free_parts(gpu);
	else
		*store = &gpu->store;
	return error;
}

void reel_gpu_get_stats(reel_store *store, struct reel_gpu_stats *stats)
{
	struct reel_gpu_store *gpu = gpu_of(store);
	size_t frames = 2 * gpu->memory.depth * gpu->memory.slot_bytes;
	char problem[REEL_DRIVER_WORDS];
	uint64_t refused;
	size_t adopted;

	/* A thread of the parent may have held a lock when the child was made. */
	*stats = (struct reel_gpu_stats){0};
	if (is_in_child(gpu))
		return;
	adopted = reel_pinned_bytes(&gpu->memory.pinned, &refused, problem);
	pthread_mutex_lock(&gpu->memory.lock);
	*stats = gpu->memory.stats;
	if (!*stats->problem)
		memcpy(stats->problem, problem, sizeof problem);
	stats->used_bytes =
		(uint64_t)(gpu->memory.slots - gpu->memory.free_slots) * gpu->memory.slot_bytes;
	pthread_mutex_unlock(&gpu->memory.lock);
	stats->total_bytes = (uint64_t)gpu->memory.slots * gpu->memory.slot_bytes;
	stats->pinned_bytes = frames + adopted;
	stats->refused_adoptions = refused;
}
