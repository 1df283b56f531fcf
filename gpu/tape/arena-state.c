/* SPDX-License-Identifier: MIT */
/*
 * Functions for all files of the host's side of an arena: texts of errors, the context, copies.
 * The thread that called a function of reel/arena.h runs these functions; one thread at a time uses
 * an arena. An error that is passed in is returned, so the first error of a sequence stays.
 */
#include "config.h"

#include "arena-state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/assert.h"

/* A query takes the driver one or two microseconds. */
#define QUERIES 32

int reel_arena_refuse_faults(uint32_t faults)
{
	static const struct {
		uint32_t fault;
		const char *words;
	} said[] = {
		{REEL_DEVICE_EXHAUSTED, "a push found no free slab; "},
		{REEL_DEVICE_UNDERFLOW, "a pop mirrors no push; "},
		{REEL_DEVICE_WORD, "words have another size than the arena's; "},
		{REEL_DEVICE_WARPS, "a launch had more warps than the arena; "},
		{REEL_DEVICE_RESUME, "a tape was resumed that was not saved by such a block; "},
		{REEL_DEVICE_DRAINED, "a tape came to a slab that is in the store; "},
	};
	char words[256] = "";

	for (size_t n = 0; n < sizeof said / sizeof *said; n++)
		if (faults & said[n].fault && strlen(words) + strlen(said[n].words) < sizeof words)
			strcat(words, said[n].words);
	return reel_fail(-EPROTO, "a kernel's tapes have faults: %s", words);
}

/* ---- The device ---- */

int reel_arena_enter(struct reel_arena *arena)
{
	TRY(arena, cuCtxPushCurrent, (arena->gpu.context));
	return 0;
}

int reel_arena_leave(struct reel_arena *arena, int error)
{
	reel_cu_context context;

	if (error)
		arena->gpu.driver->cuCtxPopCurrent(&context);
	else
		TRY(arena, cuCtxPopCurrent, (&context));
	return error;
}

/*
 * The driver's wait for a stream keeps a processor busy. Its wait for an event of this kind sleeps,
 * but wakes up tens of microseconds late, so a wait asks for about as long before it sleeps.
 */
static reel_cu_result wait_for_event(struct reel_arena *arena, reel_cu_stream stream)
{
	const struct reel_driver *driver = arena->gpu.driver;
	reel_cu_result result = driver->cuEventRecord(arena->event, stream);

	if (result)
		return result;
	for (unsigned n = 0; n < QUERIES; n++) {
		result = driver->cuEventQuery(arena->event);
		if (result != REEL_CU_NOT_READY)
			return result;
	}
	return driver->cuEventSynchronize(arena->event);
}

/* If the event is refused, or tells of an error, waits for the stream, whose answer counts. */
int reel_arena_wait_for(struct reel_arena *arena, reel_cu_stream stream)
{
	if (wait_for_event(arena, stream))
		TRY(arena, cuStreamSynchronize, (stream));
	return 0;
}

int reel_arena_wait(struct reel_arena *arena, int error)
{
	if (!error)
		return reel_arena_wait_for(arena, arena->stream);
	arena->gpu.driver->cuStreamSynchronize(arena->stream);
	return error;
}

/* Slabs that lie side by side on the device become one copy. */
int reel_arena_copy(struct reel_arena *arena, reel_cu_stream stream, const uint32_t *slab,
		    size_t stride, uint32_t count, unsigned char *memory, bool to_device)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		uint32_t number = slab[first * stride];
		reel_cu_address address = arena->base + (uint64_t)number * arena->slab_bytes;
		unsigned char *place = memory + (size_t)first * arena->slab_bytes;
		size_t bytes;

		REEL_ASSERT(number < arena->empty.end_slab);
		for (end = first + 1;
		     number && end < count && slab[end * stride] == number + end - first;)
			end++;
		bytes = (size_t)(end - first) * arena->slab_bytes;
		if (number && to_device)
			TRY(arena, cuMemcpyHtoDAsync, (address, place, bytes, stream));
		else if (number)
			TRY(arena, cuMemcpyDtoHAsync, (place, address, bytes, stream));
	}
	return 0;
}
