/* SPDX-License-Identifier: MIT */
/* Several tapes on one store; and one that is reversed several times. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "spill.h"

/* ---- Several tapes ---- */

#define MAX_TAPES 4

struct tapes {
	struct spill_tape tape[MAX_TAPES];
	unsigned count;
	size_t bytes_each;
	_Atomic unsigned next;
};

static void *use_tape(void *argument)
{
	struct tapes *tapes = argument;

	/* Relaxed: any of them will do; the start of the thread orders the rest. */
	unsigned own = atomic_fetch_add_explicit(&tapes->next, 1, memory_order_relaxed);

	spill_run_both(&tapes->tape[own], tapes->bytes_each);
	return NULL;
}

static double run_tapes(void *context, size_t bytes)
{
	struct tapes *tapes = context;
	pthread_t threads[MAX_TAPES];

	tapes->bytes_each = bytes / tapes->count;
	atomic_store_explicit(&tapes->next, 0, memory_order_relaxed);
	for (unsigned t = 0; t < tapes->count; t++)
		if (pthread_create(&threads[t], NULL, use_tape, tapes))
			abort();
	for (unsigned t = 0; t < tapes->count; t++)
		pthread_join(threads[t], NULL);
	return 0;
}

static void share_pool(struct tapes *tapes, unsigned count, reel_pool *pool)
{
	*tapes = (struct tapes){.count = count};
	for (unsigned t = 0; t < count; t++) {
		tapes->tape[t].pool = pool;
		spill_drop(&tapes->tape[t]);
	}
}

static void close_tapes(struct tapes *tapes)
{
	for (unsigned t = 0; t < tapes->count; t++)
		reel_tape_close(&tapes->tape[t].tape);
}

static void measure_tapes(const struct bench_case *named)
{
	struct spill_plain plain[2];
	struct spill_tape in_memory, reel;
	struct tapes two, four;
	struct measure_variant variants[SPILL_VARIANTS] = {
		[SPILL_IN_MEMORY] = {"one tape, in memory", spill_run_both, .context = &in_memory},
		[SPILL_ONE_AT_A_TIME] = {.run = spill_plain_both, .context = &plain[0]},
		[SPILL_FOUR_AT_A_TIME] = {.run = spill_plain_both, .context = &plain[1]},
		[SPILL_OTHERS] = {"reel, one tape", spill_run_both, .context = &reel},
		{"reel, two tapes", run_tapes, .context = &two},
		{"reel, four tapes", run_tapes, .context = &four},
	};

	spill_plain_open(plain, spill_tape_bytes(), spill_budget());
	spill_open(&in_memory, NULL, 0);
	spill_open(&reel, "file", spill_budget());
	share_pool(&two, 2, reel.pool);
	share_pool(&four, 4, reel.pool);
	spill_measure(named, variants, SPILL_OTHERS + 3, spill_tape_bytes());
	close_tapes(&four);
	close_tapes(&two);
	spill_close(&reel);
	spill_close(&in_memory);
	spill_plain_close(plain);
}

/* ---- Replay ---- */

#define REPLAYS 3

static size_t stretch_bytes(void)
{
	return 2 * spill_budget();
}

static void push_and_hold(void *context, size_t bytes)
{
	struct spill_tape *spilled = context;

	(void)bytes;
	spill_push(spilled, stretch_bytes());
	if (reel_tape_hold(&spilled->tape))
		abort();
}

static double replay(void *context, size_t bytes)
{
	struct spill_tape *spilled = context;

	for (size_t done = 0; done < bytes; done += stretch_bytes()) {
		if (reel_tape_replay(&spilled->tape))
			abort();
		spill_pop(spilled, stretch_bytes());
	}
	return (double)spilled->load.sink;
}

static void release(void *context, size_t bytes)
{
	struct spill_tape *spilled = context;

	(void)bytes;
	if (reel_tape_release(&spilled->tape))
		abort();
	spill_demand_all_read(&spilled->load, "a replay");
}

/* Whatever stays in memory from one replay to the next, the rest has to be read. */
static double read_rest(void *context, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += stretch_bytes())
		spill_plain_read(context, stretch_bytes());
	return 0;
}

static void measure_replay(const struct bench_case *named)
{
	struct spill_plain plain[2];
	struct spill_tape in_memory, reel;
	struct measure_variant variants[SPILL_VARIANTS] = {
		[SPILL_IN_MEMORY] = {"all in memory", replay, push_and_hold, release, &in_memory},
		[SPILL_ONE_AT_A_TIME] = {.run = read_rest, .context = &plain[0]},
		[SPILL_FOUR_AT_A_TIME] = {.run = read_rest, .context = &plain[1]},
		[SPILL_OTHERS] = {"reel, budget", replay, push_and_hold, release, &reel},
	};

	spill_plain_open(plain, stretch_bytes(), spill_budget());
	spill_open(&in_memory, NULL, 0);
	spill_open(&reel, "file", spill_budget());
	spill_measure(named, variants, SPILL_OTHERS + 1, REPLAYS * stretch_bytes());
	spill_close(&reel);
	spill_close(&in_memory);
	spill_plain_close(plain);
}

static struct measure_result bytes(uint64_t count)
{
	return measure_once((double)count);
}

/* The bytes that a replay moves. */
static void count_replay(const struct bench_case *named)
{
	static const struct measure_variant variants[] = {
		{.name = "what has no room"}, {.name = "reel, read"}, {.name = "reel, written"}};
	struct measure_result results[COUNT_OF(variants)];
	struct bench_case described = *named;
	struct reel_pool_stats before, after;
	struct spill_tape reel;

	spill_open(&reel, "file", spill_budget());
	push_and_hold(&reel, 0);
	before = spill_stats(&reel);
	replay(&reel, REPLAYS * stretch_bytes());
	after = spill_stats(&reel);
	release(&reel, 0);
	spill_close(&reel);
	results[0] = bytes(stretch_bytes() - spill_budget());
	results[1] = bytes((after.read_bytes - before.read_bytes) / REPLAYS);
	results[2] = bytes((after.written_bytes - before.written_bytes) / REPLAYS);
	described.variants = variants;
	described.count = COUNT_OF(variants);
	bench_report(&described, stretch_bytes(), "bytes", results);
}

void spill_shared_cases(void)
{
	struct bench_case tapes = {.name = "spill/threads", .rounds = spill_rounds()};
	struct bench_case replays = {.name = "spill/replay", .rounds = spill_rounds()};
	static const struct bench_case counted = {.name = "spill/replay/bytes"};

	if (spill_starts(&tapes, 2 * spill_tape_bytes()))
		measure_tapes(&tapes);
	if (spill_starts(&replays, 2 * stretch_bytes()))
		measure_replay(&replays);
	if (spill_starts(&counted, stretch_bytes()))
		count_replay(&counted);
}
