/* SPDX-License-Identifier: MIT */
/*
 * The slots of a store in GPU memory, and the reports of its links on copies. Any thread calls
 * these functions.
 */
#include "config.h"

#include "device-memory.h"

#include <errno.h>
#include <string.h>

#include "os/assert.h"

/* ---- Slots ---- */

int reel_gpu_memory_take(struct reel_gpu_memory *memory, const reel_transfer *transfer,
			 uint64_t *location)
{
	int error = 0;

	pthread_mutex_lock(&memory->lock);
	if (memory->lost) {
		error = -ENODEV;
	} else if (!memory->free_slots) {
		error = -ENOSPC;
	} else {
		struct reel_gpu_slot *slot;

		*location = memory->free_slot[--memory->free_slots];
		slot = &memory->slot[*location];
		REEL_ASSERT(!slot->bytes);
		slot->bytes = transfer->bytes;
		memcpy(slot->header, transfer->header, sizeof slot->header);
	}
	pthread_mutex_unlock(&memory->lock);
	return error;
}

void reel_gpu_memory_give(struct reel_gpu_memory *memory, uint64_t location)
{
	pthread_mutex_lock(&memory->lock);
	if (location < memory->slots && memory->slot[location].bytes) {
		REEL_ASSERT(memory->free_slots < memory->slots);
		memory->slot[location].bytes = 0;
		memory->free_slot[memory->free_slots++] = (uint32_t)location;
	}
	pthread_mutex_unlock(&memory->lock);
}

int reel_gpu_memory_check(struct reel_gpu_memory *memory, const reel_transfer *transfer)
{
	uint64_t location = transfer->extent.location;
	int error = 0;

	pthread_mutex_lock(&memory->lock);
	if (location >= memory->slots || memory->slot[location].bytes != transfer->bytes)
		error = -EINVAL;
	else if (memory->lost)
		error = -ENODEV;
	pthread_mutex_unlock(&memory->lock);
	return error;
}

/* ---- Reports of a link ---- */

int reel_gpu_memory_judge(struct reel_gpu_memory *memory, reel_cu_result result, bool rests)
{
	char words[REEL_DRIVER_WORDS];

	if (!result)
		return 0;
	reel_driver_explain(memory->context.driver, result, words);
	pthread_mutex_lock(&memory->lock);
	/* Keeps the error that lost the device, not the errors that follow from it. */
	if (!memory->lost)
		memcpy(memory->stats.problem, words, sizeof words);
	memory->lost |= !rests;
	pthread_mutex_unlock(&memory->lock);
	return rests ? -EIO : -ENODEV;
}

void reel_gpu_memory_note(struct reel_gpu_memory *memory, reel_transfer *transfer, bool put,
			  bool copied, int error)
{
	struct reel_gpu_stats *stats = &memory->stats;

	REEL_ASSERT(transfer->extent.location < memory->slots);
	pthread_mutex_lock(&memory->lock);
	stats->puts += put && !error;
	stats->gets += !put && !error;
	stats->failed_puts += put && error;
	stats->failed_gets += !put && error;
	stats->put_bytes += put && !error ? transfer->bytes : 0;
	stats->got_bytes += !put && !error ? transfer->bytes : 0;
	stats->copied_bytes += copied && !error ? transfer->bytes : 0;
	if (!error && !put)
		memcpy(transfer->header, memory->slot[transfer->extent.location].header,
		       sizeof transfer->header);
	pthread_mutex_unlock(&memory->lock);
	if (error && put)
		reel_gpu_memory_give(memory, transfer->extent.location);
}
