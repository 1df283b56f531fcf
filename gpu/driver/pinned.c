/* SPDX-License-Identifier: MIT */
/*
 * Tables of memory that the driver pins: one for each owner, and one for the process, since the
 * driver refuses to pin a page twice. If two owners need the same memory, such as a pool and its
 * store, the second one shares the pin of the first one, and the last one unpins the memory. Any
 * thread calls these functions. `lock` guards the table of an owner, and `process_lock` guards the
 * table of the process. Neither lock is held while the driver is called.
 */
#include "config.h"

#include "pinned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/assert.h"
#include "os/os.h"

/* ---- A table: its functions require its lock ---- */

/* Returns the number of ranges that begin at this address or below. */
static size_t ranges_up_to(const struct reel_pinned_table *table, const void *memory)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if ((uintptr_t)table->range[middle].start <= (uintptr_t)memory)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the range that has all of this memory, or NULL. */
static struct reel_pinned_range *find(const struct reel_pinned_table *table, const void *memory,
				      size_t bytes)
{
	size_t n = ranges_up_to(table, memory);
	struct reel_pinned_range *range = n ? &table->range[n - 1] : NULL;
	size_t offset = range ? (uintptr_t)memory - (uintptr_t)range->start : 0;

	return range && bytes <= range->bytes && offset <= range->bytes - bytes ? range : NULL;
}

/* False: no memory for the table. */
static bool insert(struct reel_pinned_table *table, struct reel_pinned_range added)
{
	size_t at = ranges_up_to(table, added.start);

	REEL_ASSERT(at == 0 ||
		    table->range[at - 1].start + table->range[at - 1].bytes <= added.start);
	REEL_ASSERT(at == table->count || added.start + added.bytes <= table->range[at].start);
	if (table->count == table->room) {
		size_t room = table->room ? 2 * table->room : 16;
		struct reel_pinned_range *range =
			realloc(table->range, room * sizeof *table->range);

		if (!range)
			return false;
		table->range = range;
		table->room = room;
	}
	memmove(&table->range[at + 1], &table->range[at],
		(table->count - at) * sizeof *table->range);
	table->range[at] = added;
	table->count++;
	return true;
}

static void take_out(struct reel_pinned_table *table, struct reel_pinned_range *range)
{
	size_t at = (size_t)(range - table->range);

	table->count--;
	memmove(range, range + 1, (table->count - at) * sizeof *range);
}

/* ---- The table of the process ---- */

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
static struct reel_pinned_table process_table;

/*
 * Counts one more owner of memory that an owner with the same context has pinned. False: there is
 * none.
 */
static bool share(const struct reel_gpu_context *context, const void *memory, size_t bytes)
{
	struct reel_pinned_range *range;
	bool found;

	pthread_mutex_lock(&process_lock);
	range = find(&process_table, memory, bytes);
	found = range && range->context == context->context;
	if (found)
		range->owners++;
	pthread_mutex_unlock(&process_lock);
	return found;
}

/* Returns the start of the range if its last owner calls, and must unpin it now, or else NULL. */
static char *end_share(const void *memory)
{
	struct reel_pinned_range *range;
	char *start = NULL;

	pthread_mutex_lock(&process_lock);
	range = find(&process_table, memory, 1);
	REEL_ASSERT(range && range->owners > 0);
	if (--range->owners == 0) {
		start = range->start;
		take_out(&process_table, range);
	}
	pthread_mutex_unlock(&process_lock);
	return start;
}

/* Returns the driver's result. */
static reel_cu_result pin(const struct reel_gpu_context *context, void *memory, size_t bytes)
{
	reel_cu_result result = reel_gpu_enter(context);
	bool is_noted;

	if (result)
		return result;
	result = context->driver->cuMemHostRegister(memory, bytes, REEL_CU_HOST_REGISTER_PORTABLE);
	if (!result) {
		pthread_mutex_lock(&process_lock);
		is_noted = insert(&process_table, (struct reel_pinned_range){
							  memory, bytes, context->context, 1});
		pthread_mutex_unlock(&process_lock);
		if (!is_noted) {
			context->driver->cuMemHostUnregister(memory);
			result = REEL_CU_OUT_OF_MEMORY;
		}
	}
	reel_gpu_leave(context);
	return result;
}

static void unpin(const struct reel_gpu_context *context, const void *memory)
{
	char *start = end_share(memory);

	if (!start || reel_gpu_enter(context))
		return;
	context->driver->cuMemHostUnregister(start);
	reel_gpu_leave(context);
}

/* ---- The table of an owner ---- */

void reel_pinned_open(struct reel_pinned *pinned, const struct reel_gpu_context *context)
{
	*pinned = (struct reel_pinned){.context = context};
	pthread_mutex_init(&pinned->lock, NULL);
}

void reel_pinned_close(struct reel_pinned *pinned, bool is_in_child)
{
	for (size_t i = 0; i < pinned->table.count && !is_in_child; i++)
		unpin(pinned->context, pinned->table.range[i].start);
	free(pinned->table.range);
	if (!is_in_child)
		pthread_mutex_destroy(&pinned->lock);
}

bool reel_pinned_has(struct reel_pinned *pinned, const void *memory, size_t bytes)
{
	bool found;

	pthread_mutex_lock(&pinned->lock);
	found = find(&pinned->table, memory, bytes) != NULL;
	pthread_mutex_unlock(&pinned->lock);
	return found;
}

/*
 * Memory that the program has pinned is refused: it may unpin it at any time, so the owner copies
 * instead. Requires `pinned->lock`.
 */
static int note_result(struct reel_pinned *pinned, size_t bytes, reel_cu_result result)
{
	pinned->refused++;
	reel_driver_explain(pinned->context->driver, result, pinned->problem);
	if (result == REEL_CU_HOST_MEMORY_ALREADY_REGISTERED)
		return -EBUSY;
	pinned->too_large = bytes;
	return -ENOMEM;
}

int reel_pinned_add(struct reel_pinned *pinned, void *memory, size_t bytes)
{
	reel_cu_result result = 0;
	bool is_pinned, is_shared, is_hopeless;
	int error = 0;

	if (!bytes || ((uintptr_t)memory | bytes) % reel_os_page_bytes() != 0)
		return -EINVAL;
	pthread_mutex_lock(&pinned->lock);
	is_pinned = find(&pinned->table, memory, bytes) != NULL;
	is_hopeless = pinned->too_large && bytes >= pinned->too_large;
	pthread_mutex_unlock(&pinned->lock);
	if (is_pinned)
		return 0;
	is_shared = share(pinned->context, memory, bytes);
	if (!is_shared && is_hopeless)
		return -ENOMEM;
	if (!is_shared)
		result = pin(pinned->context, memory, bytes);
	pthread_mutex_lock(&pinned->lock);
	if (result)
		error = note_result(pinned, bytes, result);
	else if (!insert(&pinned->table, (struct reel_pinned_range){memory, bytes, NULL, 1}))
		error = -ENOMEM;
	else
		pinned->bytes += bytes;
	pthread_mutex_unlock(&pinned->lock);
	if (error && !result)
		unpin(pinned->context, memory);
	return error;
}

void reel_pinned_remove(struct reel_pinned *pinned, void *memory)
{
	struct reel_pinned_range *range;
	bool was_pinned;

	pthread_mutex_lock(&pinned->lock);
	range = find(&pinned->table, memory, 1);
	was_pinned = range && range->start == memory;
	if (was_pinned) {
		REEL_ASSERT(pinned->bytes >= range->bytes);
		pinned->bytes -= range->bytes;
		take_out(&pinned->table, range);
		pinned->too_large = 0;
	}
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
