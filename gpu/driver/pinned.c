/* SPDX-License-Identifier: MIT */
/*
 * The table of memory that the driver pins for a store. Any thread calls these functions. `lock`
 * guards the table and is not held while the driver is called. Ranges are in ascending order and do
 * not overlap, since the driver refuses to pin a page twice; `bytes` is the sum of their sizes.
 */
#include "config.h"

#include "pinned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/os.h"

void reel_pinned_open(struct reel_pinned *pinned, struct reel_gpu_context *context)
{
	*pinned = (struct reel_pinned){.context = context};
	pthread_mutex_init(&pinned->lock, NULL);
}

void reel_pinned_close(struct reel_pinned *pinned, bool is_in_child)
{
	for (size_t i = 0; i < pinned->count && !is_in_child; i++)
		pinned->context->driver->cuMemHostUnregister(pinned->range[i].start);
	free(pinned->range);
	if (!is_in_child)
		pthread_mutex_destroy(&pinned->lock);
}

/* Returns the number of ranges that begin at this address or below. Requires `pinned->lock`. */
static size_t ranges_up_to(const struct reel_pinned *pinned, const void *memory)
{
	size_t low = 0, high = pinned->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)pinned->range[middle].start <= (uintptr_t)memory)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Requires `pinned->lock`. */
static bool has(const struct reel_pinned *pinned, const void *memory, size_t bytes)
{
	size_t n = ranges_up_to(pinned, memory);
	const struct reel_pinned_range *range = n ? &pinned->range[n - 1] : NULL;
	size_t offset = range ? (uintptr_t)memory - (uintptr_t)range->start : 0;

	return range && bytes <= range->bytes && offset <= range->bytes - bytes;
}

bool reel_pinned_has(struct reel_pinned *pinned, const void *memory, size_t bytes)
{
	bool found;

	pthread_mutex_lock(&pinned->lock);
	found = has(pinned, memory, bytes);
	pthread_mutex_unlock(&pinned->lock);
	return found;
}

/* Requires `pinned->lock`. */
static bool insert(struct reel_pinned *pinned, char *start, size_t bytes)
{
	size_t at = ranges_up_to(pinned, start);

	REEL_ASSERT(at == 0 || pinned->range[at - 1].start + pinned->range[at - 1].bytes <= start);
	REEL_ASSERT(at == pinned->count || start + bytes <= pinned->range[at].start);
	if (pinned->count == pinned->room) {
		size_t room = pinned->room ? 2 * pinned->room : 16;
		struct reel_pinned_range *range =
			realloc(pinned->range, room * sizeof *pinned->range);

		if (!range)
			return false;
		pinned->range = range;
		pinned->room = room;
	}
	memmove(&pinned->range[at + 1], &pinned->range[at],
		(pinned->count - at) * sizeof *pinned->range);
	pinned->range[at] = (struct reel_pinned_range){start, bytes};
	pinned->count++;
	pinned->bytes += bytes;
	return true;
}

static reel_cu_result pin(const struct reel_gpu_context *context, void *memory, size_t bytes)
{
	reel_cu_result result = reel_gpu_enter(context);

	if (result)
		return result;
	result = context->driver->cuMemHostRegister(memory, bytes, REEL_CU_HOST_REGISTER_PORTABLE);
	reel_gpu_leave(context);
	return result;
}

static void unpin(const struct reel_gpu_context *context, void *memory)
{
	if (reel_gpu_enter(context))
		return;
	context->driver->cuMemHostUnregister(memory);
	reel_gpu_leave(context);
}

/*
 * Memory that another store, or the program, has pinned is refused: they may unpin it at any time,
 * so this store copies instead.
 */
static int note_result(struct reel_pinned *pinned, reel_cu_result result)
{
	pinned->refused++;
	reel_driver_explain(pinned->context->driver, result, pinned->problem);
	if (result == REEL_CU_HOST_MEMORY_ALREADY_REGISTERED)
		return -EBUSY;
	pinned->full = true;
	return -ENOMEM;
}

int reel_pinned_add(struct reel_pinned *pinned, void *memory, size_t bytes)
{
	reel_cu_result result;
	bool is_pinned, full;
	int error = 0;

	if (!bytes || ((uintptr_t)memory | bytes) % reel_os_page_bytes() != 0)
		return -EINVAL;
	pthread_mutex_lock(&pinned->lock);
	is_pinned = has(pinned, memory, bytes);
	full = pinned->full;
	pthread_mutex_unlock(&pinned->lock);
	if (is_pinned || full)
		return is_pinned ? 0 : -ENOMEM;
	result = pin(pinned->context, memory, bytes);
	pthread_mutex_lock(&pinned->lock);
	if (result)
		error = note_result(pinned, result);
	else if (!insert(pinned, memory, bytes))
		error = -ENOMEM;
	pthread_mutex_unlock(&pinned->lock);
	if (error && !result)
		unpin(pinned->context, memory);
	return error;
}

/* Requires `pinned->lock`. */
static bool take_out(struct reel_pinned *pinned, const void *memory)
{
	size_t n = ranges_up_to(pinned, memory);

	if (!n || pinned->range[n - 1].start != memory)
		return false;
	REEL_ASSERT(pinned->bytes >= pinned->range[n - 1].bytes);
	pinned->bytes -= pinned->range[n - 1].bytes;
	pinned->count--;
	memmove(&pinned->range[n - 1], &pinned->range[n],
		(pinned->count - (n - 1)) * sizeof *pinned->range);
	pinned->full = false;
	return true;
}

void reel_pinned_remove(struct reel_pinned *pinned, void *memory)
{
	bool was_pinned;

	pthread_mutex_lock(&pinned->lock);
	was_pinned = take_out(pinned, memory);
	pthread_mutex_unlock(&pinned->lock);
	if (was_pinned)
		unpin(pinned->context, memory);
}

size_t reel_pinned_bytes(struct reel_pinned *pinned, uint64_t *refused,
			 char problem[REEL_DRIVER_WORDS])
{
	size_t bytes;

	pthread_mutex_lock(&pinned->lock);
	bytes = pinned->bytes;
	*refused = pinned->refused;
	memcpy(problem, pinned->problem, sizeof pinned->problem);
	pthread_mutex_unlock(&pinned->lock);
	return bytes;
}
