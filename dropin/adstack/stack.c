/* SPDX-License-Identifier: MIT */
/*
 * The beginning and the end of a thread's stack, its height, and the slow path of a push. Each
 * function works on the stack of the calling thread. All members of struct adstack are 0 until the
 * thread's first call, and again after its end.
 */
#include "stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Thread_local reel_tape reel_adstack_tape;
_Thread_local struct adstack reel_adstack;
_Thread_local struct adstack_layer *reel_adstack_reader;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static int no_key;
static _Atomic unsigned threads;

static void end_thread(void *unused)
{
	(void)unused;
	reel_adstack_segments_end();
	reel_adstack_reset();
	reel_adstack_schedules_end();
	reel_adstack_sessions_end();
	reel_adstack_fixed_points_end();
	memset(&reel_adstack, 0, sizeof reel_adstack);
}

static void start_library(void)
{
	reel_dropin_error_handler = reel_adstack_tape_failed;
	no_key = pthread_key_create(&thread_end, end_thread);
	reel_adstack_counts_start();
}

/* Destructors of the thread may push after end_thread(): the stack then begins and ends again. */
void reel_adstack_begin(void)
{
	if (reel_adstack.number)
		return;
	pthread_once(&once, start_library);
	/* Relaxed is enough: the number gives access to no other data. */
	reel_adstack.number = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) + 1;
	if (no_key || pthread_setspecific(thread_end, &reel_adstack))
		reel_adstack_fail(-ENOMEM, "no memory for the stack of one more thread");
}

static void open_tape(void)
{
	reel_adstack_tape.pool = reel_adstack.pool;
	reel_adstack_tape.flags = REEL_TAPE_DROPIN;
	if (reel_adstack_is_counting())
		reel_adstack_tape.flags |= REEL_TAPE_WATCHED;
	if (!reel_adstack_tape.bits)
		reel_adstack_tape.bits = REEL_ADSTACK_NO_BITS;
	reel_tape_start(reel_adstack_own());
}

void reel_adstack_ready(void)
{
	reel_adstack_end_look();
	if (!reel_adstack_tape.top) {
		reel_adstack_begin();
		open_tape();
	}
	reel_adstack_note_task();
}

void reel_adstack_fresh_tape(void)
{
	uint64_t bits = reel_adstack_tape.bits;

	reel_tape_close(reel_adstack_own());
	reel_adstack_tape.bits = bits;
	open_tape();
}

static void drop_layer(void)
{
	struct adstack_layer *layer = reel_adstack.stack.layers;

	reel_adstack.stack.layers = layer->below;
	reel_tape_close(&layer->tape);
	free(layer);
}

void reel_adstack_reset(void)
{
	reel_tape_close(reel_adstack_own());
	while (reel_adstack.stack.layers)
		drop_layer();
	reel_adstack_reader = NULL;
	reel_adstack.stack.levels = 0;
	reel_adstack.looking = false;
	reel_adstack.stack.base = 0;
}

void reel_adstack_set_pool(reel_pool *pool)
{
	reel_adstack_reset();
	reel_adstack.pool = pool;
}

uint64_t reel_adstack_bytes(void)
{
	uint64_t bytes = reel_tape_bytes(reel_adstack_own());
	const struct adstack_layer *layer = reel_adstack.stack.layers;

	for (; layer; layer = layer->below)
		bytes += reel_tape_bytes(&layer->tape);
	return bytes;
}

uint64_t reel_adstack_height(void)
{
	uint64_t bytes = reel_tape_bytes(reel_adstack_own());
	const struct adstack_layer *layer = reel_adstack.stack.layers;

	if (bytes)
		return reel_adstack.stack.base + bytes;
	for (; layer; layer = layer->below) {
		bytes = reel_tape_bytes(&layer->tape);
		if (bytes)
			return layer->base + bytes;
	}
	return 0;
}

void *reel_adstack_allocate(size_t bytes, const char *what)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		reel_adstack_fail(-ENOMEM, "no memory for %s", what);
	return memory;
}

/* An error of the tape does not return here: reel_adstack_tape_failed() ends the program. */
char *reel_adstack_push_slow(size_t bytes, enum reel_adstack_type type)
{
	const struct adstack_type *known = &reel_adstack_types[type];
	char *slot;

	reel_adstack_ready();
	slot = reel_tape_room(reel_adstack_own(), bytes, NULL);
	reel_tape_profile(reel_adstack_own(), bytes, NULL);
	if (!slot || !reel_check_push(reel_adstack_own(), &known->type, bytes, known->push))
		reel_adstack_fail(reel_adstack_tape.error, "%s after an error", known->push);
	if (reel_adstack.counts)
		reel_adstack_count_push(type, bytes);
	return slot;
}
