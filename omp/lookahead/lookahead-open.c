/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the states and tapes of a sweep that looks ahead, and decides how many tapes its
 * threads use in turn. The thread that began the sweep opens and closes; all threads of the sweep
 * note RECORDs and refusals. There is one state more than ahead tapes, and `limit` and `cap` are
 * between 1 and the number of ahead tapes.
 */
#include "config.h"

#include "lookahead.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "os/assert.h"
#include "os/counter.h"
#include "tape/tape.h"

/* Number of RECORDs without a refusal after which one tape more is tried. */
#define CALM 32

/*
 * The queue has MIN_PLACES places, and PLACES_PER_TAPE more for each ahead tape: in a plan with few
 * slots several actions lead to each RECORD.
 */
#define MIN_PLACES 32
#define PLACES_PER_TAPE 12

/* ---- How many tapes there is room for ---- */

/*
 * Bytes that the pool can give before it spills or refuses. Resident bytes include idle slabs, and
 * slabs in use include small ones, so both are too high; the lower one is nearer.
 * Mutants survive: the number of tapes in use changes the time only.
 */
static uint64_t bytes_left(const struct reel_pool_stats *stats)
{
	uint64_t in_use = stats->slabs_in_use * stats->slab_bytes;

	if (stats->resident_bytes < in_use)
		in_use = stats->resident_bytes;
	return stats->soft_budget > in_use ? stats->soft_budget - in_use : 0;
}

/* Memory that a tape of `bytes` takes: whole slabs, and its spare. */
/* Mutants survive: the number of tapes in use changes the time only. */
static uint64_t bytes_of_tape(const struct reel_pool_stats *stats, uint64_t bytes)
{
	if (bytes <= REEL_INLINE_BYTES)
		return 1;
	if (bytes <= 3 * stats->first_slab_bytes)
		return (bytes / stats->first_slab_bytes + 2) * stats->first_slab_bytes;
	return (bytes / stats->slab_bytes + 2) * stats->slab_bytes;
}

/* Between 1 and `most`. */
/* Mutants survive: the number of tapes in use changes the time only. */
static unsigned tapes_in(uint64_t room, uint64_t bytes, unsigned most)
{
	uint64_t tapes;

	REEL_ASSERT(bytes > 0 && most > 0);
	tapes = room / bytes;
	return tapes < 1 ? 1 : tapes < most ? (unsigned)tapes : most;
}

static uint64_t raise_bytes(struct ahead_sweep *sweep, uint64_t bytes)
{
	reel_counter_raise(&sweep->tape_bytes, bytes);
	/* Relaxed is enough: it may be larger by now, which only makes the limit lower. */
	return atomic_load_explicit(&sweep->tape_bytes, memory_order_relaxed);
}

/*
 * Neither the pool's free bytes nor `recorded` includes the tapes that are being recorded now, so
 * the limit is rather too low than too high.
 * Mutants survive: the number of tapes in use changes the time only.
 */
void reel_omp_note_record(struct ahead_sweep *sweep, const reel_tape *tape)
{
	int64_t records = atomic_fetch_add_explicit(&sweep->records, 1, memory_order_relaxed);
	unsigned cap = atomic_load_explicit(&sweep->cap, memory_order_relaxed);
	struct reel_pool_stats stats;
	uint64_t bytes, ours;

	REEL_ASSERT(cap > 0 && cap <= sweep->ahead_tapes);
	/* Without a budget there is nothing to limit. */
	if (!sweep->keeps_states)
		return;
	if (records % CALM == CALM - 1 && cap < sweep->ahead_tapes)
		atomic_store_explicit(&sweep->cap, ++cap, memory_order_relaxed);
	reel_pool_get_stats(reel_run_pool(sweep->run), &stats);
	if (stats.hard_budget == UINT64_MAX) {
		/* It is another process that has a budget. */
		atomic_store_explicit(&sweep->limit, cap, memory_order_relaxed);
		return;
	}
	bytes = bytes_of_tape(&stats, raise_bytes(sweep, reel_tape_bytes(tape)));
	ours = bytes * atomic_load_explicit(&sweep->recorded, memory_order_relaxed);
	atomic_store_explicit(&sweep->limit, tapes_in(bytes_left(&stats) + ours, bytes, cap),
			      memory_order_relaxed);
}

/* Mutants survive: the number of tapes in use changes the time only. */
void reel_omp_note_refusal(struct ahead_sweep *sweep, unsigned others)
{
	unsigned cap = others ? others : 1;

	REEL_ASSERT(others < sweep->ahead_tapes);
	atomic_store_explicit(&sweep->cap, cap, memory_order_relaxed);
	atomic_store_explicit(&sweep->limit, cap, memory_order_relaxed);
}

/* ---- Memory for states ---- */

/* Returns false, and reports no error, if there is no memory. */
static bool open_buffer(struct ahead_buffer *buffer, const struct ahead_sweep *sweep)
{
	size_t count = sweep->model->state_bytes / sizeof(max_align_t) + 1;

	REEL_ASSERT(!buffer->data);
	/* Mutants survive (constant): a checked tape stores a span in the same way. */
	if (reel_tape_open(&buffer->memory, reel_run_pool(sweep->run), 0))
		return false;
	buffer->memory.flags |= REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	buffer->data = reel_push_span(&buffer->memory, max_align_t, count);
	if (!buffer->data)
		reel_tape_close(&buffer->memory);
	return buffer->data;
}

static void close_buffer(struct ahead_buffer *buffer)
{
	reel_tape_close(&buffer->memory);
	buffer->data = NULL;
}

/* ---- States ---- */

static bool open_state(struct ahead_sweep *sweep, struct ahead_state *state, unsigned number)
{
	const struct reel_omp_options *options = sweep->options;

	REEL_ASSERT(number <= REEL_OMP_MAX_TAPES && !state->data);
	state->context = options->contexts ? options->contexts[number] : sweep->context;
	if (options->open_state)
		state->data = options->open_state(sweep->context);
	else if (open_buffer(&state->memory, sweep))
		state->data = state->memory.data;
	return state->data;
}

static void close_state(struct ahead_sweep *sweep, struct ahead_state *state)
{
	if (state->memory.data)
		close_buffer(&state->memory);
	else if (state->data)
		sweep->options->close_state(sweep->context, state->data);
}

/* ---- Ahead tapes ---- */

static bool open_tape(struct ahead_sweep *sweep, struct ahead_tape *ahead_tape)
{
	ahead_tape->tape = &ahead_tape->own;
	return !sweep->keeps_states || open_buffer(&ahead_tape->before, sweep);
}

static void close_tape(struct ahead_tape *ahead_tape)
{
	reel_tape_close(&ahead_tape->own);
	if (ahead_tape->before.data)
		close_buffer(&ahead_tape->before);
}

/* Opens a state, and then at most `wanted` ahead tapes with a state each, while there is memory. */
static void open_tapes(struct ahead_sweep *sweep, unsigned wanted)
{
	if (!open_state(sweep, &sweep->state[0], 0))
		return;
	sweep->states = 1;
	while (sweep->ahead_tapes < wanted) {
		struct ahead_tape *ahead_tape = &sweep->ahead_tape[sweep->ahead_tapes];

		if (!open_tape(sweep, ahead_tape))
			return;
		if (!open_state(sweep, &sweep->state[sweep->states], sweep->states)) {
			close_tape(ahead_tape);
			return;
		}
		sweep->ahead_tapes++;
		sweep->states++;
	}
}

/*
 * Two tapes for each thread, or fewer if the budget has no room for this number of tapes of the
 * run's size.
 */
static unsigned tapes_wanted(struct ahead_sweep *sweep, const struct reel_pool_stats *pool)
{
	unsigned wanted = sweep->options->tapes;
	struct reel_run_stats run;
	uint64_t state, bytes;

	if (!wanted)
		wanted = 2 * (unsigned)reel_omp_threads(sweep->options->threads);
	if (wanted > REEL_OMP_MAX_TAPES)
		wanted = REEL_OMP_MAX_TAPES;
	if (pool->hard_budget == UINT64_MAX)
		return wanted;
	reel_run_get_stats(sweep->run, &run);
	raise_bytes(sweep, run.peak_tape_bytes);
	state = bytes_of_tape(pool, sweep->model->state_bytes);
	bytes = bytes_of_tape(pool, run.peak_tape_bytes) + 2 * state;
	return tapes_in(bytes_left(pool), bytes, wanted);
}

static int64_t places_for(unsigned ahead_tapes)
{
	return MIN_PLACES + (int64_t)ahead_tapes * PLACES_PER_TAPE;
}

static bool allocate(struct ahead_sweep *sweep, unsigned ahead_tapes)
{
	REEL_ASSERT(ahead_tapes > 0 && ahead_tapes <= REEL_OMP_MAX_TAPES);
	sweep->ahead_tape = calloc(ahead_tapes, sizeof *sweep->ahead_tape);
	sweep->state = calloc(ahead_tapes + 1, sizeof *sweep->state);
	sweep->queue = calloc((size_t)places_for(ahead_tapes), sizeof *sweep->queue);
	return sweep->ahead_tape && sweep->state && sweep->queue;
}

static void release_tapes_from(struct ahead_sweep *sweep, unsigned number)
{
	while (sweep->ahead_tapes > number)
		close_tape(&sweep->ahead_tape[--sweep->ahead_tapes]);
	while (sweep->states > number + 1)
		close_state(sweep, &sweep->state[--sweep->states]);
}

static void release(struct ahead_sweep *sweep)
{
	release_tapes_from(sweep, 0);
	if (sweep->states)
		close_state(sweep, &sweep->state[0]);
	close_tape(&sweep->kept);
	free(sweep->ahead_tape);
	free(sweep->state);
	free(sweep->queue);
}

/* ---- Agreements between the processes of a run ---- */

/*
 * They take the number of tapes of the process with the fewest, unless one has too little memory.
 */
static int agree_on_tapes(struct ahead_sweep *sweep, unsigned fewest)
{
	int64_t values[] = {-(int64_t)sweep->ahead_tapes, sweep->ahead_tapes < fewest};
	/* Mutants survive (constant): ASan alone sees a read behind `values`. */
	int error = reel_group_max(reel_run_group(sweep->run), values, 2);

	if (error)
		return error;
	if (values[1])
		return -EAGAIN;
	release_tapes_from(sweep, (unsigned)-values[0]);
	return 0;
}

static void close_group(const struct reel_run_group *group)
{
	if (group->close)
		group->close(group->context);
}

static void close_groups(struct ahead_sweep *sweep)
{
	close_group(&sweep->reverse_group);
	for (unsigned i = 0; i < sweep->states; i++)
		close_group(&sweep->state[i].group);
}

static int open_groups(struct ahead_sweep *sweep)
{
	const struct reel_run_group *group = reel_run_group(sweep->run);
	int error;

	if (reel_group_is_alone(group))
		return 0;
	error = group->duplicate(group, &sweep->reverse_group);
	for (unsigned i = 0; i < sweep->states && !error; i++)
		error = group->duplicate(group, &sweep->state[i].group);
	if (error)
		close_groups(sweep);
	return error == -ENOTSUP ? -EAGAIN : error;
}

/* ---- The sweep ---- */

int reel_omp_sweep_open(struct ahead_sweep *sweep, void *state)
{
	struct reel_pool_stats pool;
	unsigned wanted, fewest = sweep->options->tapes == 1 ? 1 : 2;
	int64_t has_budget;
	int error;

	sweep->model = reel_run_model(sweep->run);
	reel_pool_get_stats(reel_run_pool(sweep->run), &pool);
	/* All processes keep states if one of them may run out of memory. */
	has_budget = pool.hard_budget != UINT64_MAX;
	error = reel_group_max(reel_run_group(sweep->run), &has_budget, 1);
	if (error)
		return error;
	sweep->keeps_states = has_budget;
	wanted = tapes_wanted(sweep, &pool);
	sweep->spare = (struct ahead_state){.data = state, .context = sweep->context};
	if (allocate(sweep, wanted) && open_tape(sweep, &sweep->kept))
		open_tapes(sweep, wanted);
	error = agree_on_tapes(sweep, fewest);
	if (!error)
		error = open_groups(sweep);
	if (error) {
		release(sweep);
		return error;
	}
	REEL_ASSERT(sweep->states == sweep->ahead_tapes + 1);
	sweep->kept.tape = reel_run_tape(sweep->run);
	reel_tape_hand_over(sweep->kept.tape);
	sweep->places = places_for(sweep->ahead_tapes);
	/* Relaxed is enough, for all: no other thread has the sweep yet. */
	atomic_store_explicit(&sweep->limit, sweep->ahead_tapes, memory_order_relaxed);
	atomic_store_explicit(&sweep->cap, sweep->ahead_tapes, memory_order_relaxed);
	atomic_store_explicit(&sweep->stop, AHEAD_NONE, memory_order_relaxed);
	pthread_mutex_init(&sweep->lock, NULL);
	pthread_cond_init(&sweep->changed, NULL);
	return 0;
}

void reel_omp_sweep_close(struct ahead_sweep *sweep)
{
	/* Relaxed: no other thread uses the sweep any more. */
	REEL_ASSERT(sweep->error || !atomic_load_explicit(&sweep->tapes, memory_order_relaxed));
	close_groups(sweep);
	release(sweep);
	pthread_cond_destroy(&sweep->changed);
	pthread_mutex_destroy(&sweep->lock);
}
