/* SPDX-License-Identifier: MIT */
/*
 * Block replay: the forward sweep keeps a snapshot of the state for each block of steps, and the
 * reverse sweep records one block after the other again. The owner of the tape runs these functions
 * and the callbacks of the model.
 *
 * The tape holds the snapshots of all blocks but the last, in the order of the blocks, then a floor
 * word and the values of the last block.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include <reel/block.h>

#include "os/os.h"
#include "tape.h"

/* The smallest common size of a second-level cache, for systems that do not report the size. */
#define SMALL_CACHE ((size_t)256 << 10)

static size_t snapshot_words(const reel_model *model)
{
	return model->state_bytes / sizeof(uint64_t) +
	       (model->state_bytes % sizeof(uint64_t) != 0);
}

static int push_snapshot(reel_tape *tape, const reel_model *model, void *context,
			 const void *state)
{
	void *snapshot = reel_push_span(tape, uint64_t, snapshot_words(model));

	if (!snapshot)
		return reel_tape_error(tape);
	REEL_ASSERT(snapshot_words(model) * sizeof(uint64_t) >= model->state_bytes);
	if (model->save)
		return model->save(context, state, snapshot);
	memcpy(snapshot, state, model->state_bytes);
	return 0;
}

static int pop_snapshot(reel_tape *tape, const reel_model *model, void *context, void *state)
{
	const void *snapshot = reel_pop_span(tape, uint64_t, snapshot_words(model));

	if (!snapshot)
		return reel_tape_error(tape);
	if (model->load)
		return model->load(context, state, snapshot);
	memcpy(state, snapshot, model->state_bytes);
	return 0;
}

/*
 * The word below the values of the last block, whose height the reverse sweep does not know. A
 * sweep that pops too few values does not find this word on the top; a sweep that pops too many
 * pops this word, which is a NaN.
 */
static uint64_t floor_word(const reel_tape *tape)
{
	return UINT64_C(0x7ff8000000000000) |
	       (reel_tape_bytes(tape) + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 13;
}

static int record(reel_tape *tape, const reel_model *model, void *context, void *state,
		  int64_t first, int64_t last)
{
	REEL_ASSERT(first < last);
	int error = model->record(context, state, first, last, tape);

	return error ? error : reel_tape_error(tape);
}

static int reverse(reel_tape *tape, const reel_model *model, void *context, void *adjoint,
		   int64_t first, int64_t last)
{
	REEL_ASSERT(first < last);
	int error = model->reverse(context, adjoint, first, last, tape);

	return error ? error : reel_tape_error(tape);
}

/* Store the size of the first step's values to `*bytes`. Restores the tape and the state. */
static int measure_step(reel_tape *tape, const reel_model *model, void *context, void *state,
			uint64_t *bytes)
{
	reel_mark before;
	int error = push_snapshot(tape, model, context, state);

	if (error)
		return error;
	before = reel_tape_mark(tape);
	*bytes = reel_tape_bytes(tape);
	error = record(tape, model, context, state, 0, 1);
	*bytes = reel_tape_bytes(tape) - *bytes;
	if (!error)
		error = reel_tape_rewind(tape, before);
	return error ? error : pop_snapshot(tape, model, context, state);
}

int64_t reel_block_steps(reel_tape *tape, const reel_model *model, void *context, void *state,
			 int64_t steps)
{
	size_t cache = reel_os_cache_bytes(2);
	uint64_t room = (cache ? cache : SMALL_CACHE) / 2;
	uint64_t bytes, fitting;
	int error;

	if (steps < 1)
		return -EINVAL;
	error = measure_step(tape, model, context, state, &bytes);
	if (error)
		return error;
	room = model->state_bytes < room ? room - model->state_bytes : 0;
	fitting = bytes ? room / bytes : (uint64_t)steps;
	if (fitting < 1)
		return 1;
	return fitting < (uint64_t)steps ? (int64_t)fitting : steps;
}

int reel_block_forward(reel_tape *tape, const reel_model *model, void *context, void *state,
		       int64_t steps, int64_t block)
{
	int64_t first = 0;
	int error;

	if (steps < 1 || block < 1)
		return -EINVAL;
	for (; steps - first > block; first += block) {
		error = push_snapshot(tape, model, context, state);
		if (!error)
			error = model->advance(context, state, first, first + block);
		if (error)
			return error;
	}
	/* reel_block_reverse() computes the same first step of the last block. */
	REEL_ASSERT(first == (steps - 1) / block * block);
	reel_push(tape, floor_word(tape));
	return record(tape, model, context, state, first, steps);
}

static int reverse_last_block(reel_tape *tape, const reel_model *model, void *context,
			      void *adjoint, int64_t first, int64_t steps)
{
	int error = reverse(tape, model, context, adjoint, first, steps);
	uint64_t word;

	if (error)
		return error;
	word = reel_pop(tape, uint64_t);
	error = reel_tape_error(tape);
	if (error || word == floor_word(tape))
		return error;
	reel_tape_fail_out_of_step(tape, -EBADMSG,
				   "reverse of steps %lld to %lld pops more or less than record pushed",
				   (long long)first, (long long)steps - 1);
	reel_tape_report(tape);
	return -EBADMSG;
}

static int replay_block(reel_tape *tape, const reel_model *model, void *context, void *state,
			void *adjoint, int64_t first, int64_t last)
{
	uint64_t before;
	int error = pop_snapshot(tape, model, context, state);

	if (error)
		return error;
	REEL_ASSERT(first >= 0);
	before = reel_tape_bytes(tape);
	error = record(tape, model, context, state, first, last);
	if (!error)
		error = reverse(tape, model, context, adjoint, first, last);
	return error ? error : reel_tape_check_balance(tape, before, first, last);
}

int reel_block_reverse(reel_tape *tape, const reel_model *model, void *context, void *state,
		       void *adjoint, int64_t steps, int64_t block)
{
	int64_t first;
	int error;

	if (steps < 1 || block < 1)
		return -EINVAL;
	first = (steps - 1) / block * block;
	error = reverse_last_block(tape, model, context, adjoint, first, steps);
	for (; !error && first > 0; first -= block)
		error = replay_block(tape, model, context, state, adjoint, first - block, first);
	REEL_ASSERT(error || first == 0);
	return error;
}
