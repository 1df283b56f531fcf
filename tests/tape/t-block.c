/* SPDX-License-Identifier: MIT */
/* Block replay. */
#include <config.h>

#include <stddef.h>

#include <reel/block.h>

#include "os/os.h"
#include "helpers/recurrence.h"

static struct state gradient_by_blocks(const reel_model *model, struct run *run, int64_t steps,
				       int64_t block, struct state *final)
{
	struct state state = start, bar = seed;
	reel_tape tape = {0};
	bool went_well = !reel_block_forward(&tape, model, run, &state, steps, block);

	*final = state;
	went_well = went_well &&
		    !reel_block_reverse(&tape, model, run, &state, &bar, steps, block) &&
		    reel_tape_is_empty(&tape);
	reel_tape_close(&tape);
	return went_well ? bar : (struct state){{0}};
}

static void every_block_gives_the_gradient_of_one_tape(void)
{
	unsigned wrong = 0, cases = 0;

	for (int64_t steps = 1; steps <= 24; steps++)
		for (int64_t block = 1; block <= steps + 1; block++) {
			struct run run = no_failure;
			struct state final, plain = start;
			struct state wanted = gradient_by_one_tape(no_failure, steps);
			struct state seen = gradient_by_blocks(cases % 2 ? &copied : &saved, &run,
							       steps, block, &final);

			for (int64_t step = 0; step < steps; step++)
				primal_step(&no_failure, &plain, step);
			wrong += memcmp(&seen, &wanted, sizeof seen) ||
				 memcmp(&final, &plain, sizeof final);
			cases++;
		}
	is_int(wrong, 0, "%u pairs of steps and block give the gradient and the final state",
	       cases);
}

static void each_step_is_run_once_more_but_those_of_the_last_block(void)
{
	struct run run = no_failure;
	struct state final;

	gradient_by_blocks(&saved, &run, 103, 10, &final);
	is_int(run.advanced, 100, "all blocks but the last are advanced without recording");
	is_int(run.recorded, 103, "each step is recorded once");
	is_int(run.reversed, 103, "each step is reversed once");
	is_int(run.snapshots, 10, "each block but the last has a snapshot");
}

static void the_tape_holds_snapshots_and_one_block(void)
{
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_tape tape = {0};

	reel_block_forward(&tape, &copied, &run, &state, 100, 10);
	is_int(reel_tape_bytes(&tape), (9 + 10) * sizeof(struct state) + 8,
	       "9 snapshots, the values of 10 steps and a word below them are on the tape");
	reel_block_reverse(&tape, &copied, &run, &state, &bar, 100, 10);
	reel_tape_close(&tape);
}

static void the_chosen_block_fits_the_cache(void)
{
	struct run run = no_failure;
	struct state state = start;
	reel_tape tape = {0};
	int64_t block = reel_block_steps(&tape, &copied, &run, &state, INT64_MAX);
	uint64_t bytes = (uint64_t)block * sizeof(struct state);

	ok(block > 1 && bytes <= (uint64_t)64 << 20, "%lld steps are chosen", (long long)block);
	ok(!memcmp(&state, &start, sizeof state), "the state is as before");
	ok(reel_tape_is_empty(&tape), "the tape is as before");
	is_int(reel_block_steps(&tape, &copied, &run, &state, 3), 3,
	       "no more steps are chosen than there are");
	is_int(reel_block_steps(&tape, &copied, &run, &state, 1), 1, "one step may be chosen");
	reel_tape_close(&tape);
}

static void the_chosen_block_fills_half_the_cache(void)
{
	struct run run = no_failure;
	struct state state = start;
	uint64_t cache = reel_os_cache_bytes(2);
	reel_tape tape = {0};
	uint64_t block;

	if (!cache) {
		tap_skip(2, "the system does not say how large its caches are");
		return;
	}
	push_words(&tape, 0, 100);
	block = (uint64_t)reel_block_steps(&tape, &copied, &run, &state, INT64_MAX);
	ok((block + 1) * sizeof(struct state) <= cache / 2,
	   "the chosen block fits half of the cache with its state");
	ok((block + 2) * sizeof(struct state) > cache / 2, "one step more would not fit");
	reel_tape_close(&tape);
}

/* Its state ends in the middle of a word, with the number of steps that made it. */
struct odd_state {
	struct state state;
	unsigned char steps[3];
};

static bool is_after(const struct odd_state *state, int64_t steps)
{
	return state->steps[2] == (unsigned char)steps;
}

static int advance_odd(void *context, void *state, int64_t first, int64_t last)
{
	struct odd_state *odd = state;

	if (!is_after(odd, first))
		return -EDOM;
	odd->steps[2] = (unsigned char)last;
	return advance(context, &odd->state, first, last);
}

static int record_odd(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct odd_state *odd = state;

	if (!is_after(odd, first))
		return -EDOM;
	odd->steps[2] = (unsigned char)last;
	return record(context, &odd->state, first, last, tape);
}

static void a_state_may_end_within_a_word(void)
{
	reel_model odd = {offsetof(struct odd_state, steps) + 3, advance_odd, record_odd, reverse,
			  NULL, NULL};
	struct state wanted = gradient_by_one_tape(no_failure, 40), bar = seed;
	struct odd_state state = {start, {0}};
	struct run run = no_failure;
	reel_tape tape = {0};

	is_int(reel_block_forward(&tape, &odd, &run, &state, 40, 7), 0, "blocks go forward");
	ok(is_after(&state, 40), "blocks go to the last step");
	is_int(reel_block_reverse(&tape, &odd, &run, &state, &bar, 40, 7), 0, "blocks go back");
	ok(!memcmp(&bar, &wanted, sizeof bar), "blocks give the gradient of one tape");
	ok(reel_tape_is_empty(&tape), "the tape is empty");
	reel_tape_close(&tape);
}

static void bad_numbers_are_refused(void)
{
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_tape tape = {0};

	is_int(reel_block_steps(&tape, &copied, &run, &state, 0), -EINVAL, "no steps to choose of");
	is_int(reel_block_forward(&tape, &copied, &run, &state, 0, 1), -EINVAL, "no steps forward");
	is_int(reel_block_forward(&tape, &copied, &run, &state, 5, 0), -EINVAL, "a block of none");
	is_int(reel_block_reverse(&tape, &copied, &run, &state, &bar, 0, 1), -EINVAL,
	       "no steps to reverse");
	is_int(reel_block_reverse(&tape, &copied, &run, &state, &bar, 5, -1), -EINVAL,
	       "a block below none");
	is_int(reel_block_reverse(&tape, &copied, &run, &state, &bar, 5, 0), -EINVAL,
	       "a block of none, in reverse");
	ok(reel_tape_is_empty(&tape) && !reel_tape_error(&tape), "the tape is untouched");
}

static void an_error_of_advance_ends_the_sweep(void)
{
	struct run run = no_failure;
	struct state state = start;
	reel_tape tape = {0};

	run.failing_advance = 25;
	is_int(reel_block_forward(&tape, &copied, &run, &state, 100, 10), -ECANCELED,
	       "an error of advance is returned");
	is_int(run.advanced, 25, "no step is run after it");
	reel_tape_close(&tape);
}

/* Steps 90 to 99 are recorded and reversed first, then 80 to 89. */
static void an_error_of_record_or_reverse_ends_the_reverse_sweep(void)
{
	struct run runs[2] = {no_failure, no_failure};

	runs[0].failing_record = 85;
	runs[1].failing_reverse = 85;
	for (int r = 0; r < 2; r++) {
		struct state state = start, bar = seed;
		reel_tape tape = {0};

		is_int(reel_block_forward(&tape, &copied, &runs[r], &state, 100, 10), 0,
		       "the forward sweep ends well");
		is_int(reel_block_reverse(&tape, &copied, &runs[r], &state, &bar, 100, 10),
		       -ECANCELED, "an error of %s is returned", r ? "reverse" : "record");
		is_int(runs[r].reversed, r ? 14 : 10, "no step is reversed after it");
		reel_tape_close(&tape);
	}
}

/* In the last block, and in one that is recorded again. */
static void what_reverse_does_not_pop_is_seen(void)
{
	static const int64_t steps_of_a_block[] = {10, 100};
	unsigned silent = 0;

	for (size_t i = 0; i < COUNT(steps_of_a_block); i++) {
		for (int64_t step = 1; step <= 100; step++) {
			struct run run = no_failure;
			struct state state = start, bar = seed;
			reel_tape tape = {0};

			run.excess = step;
			silent += reel_block_forward(&tape, &copied, &run, &state, 100,
						     steps_of_a_block[i]) != 0;
			silent += reel_block_reverse(&tape, &copied, &run, &state, &bar, 100,
						     steps_of_a_block[i]) != -EBADMSG ||
				  reel_tape_error(&tape) != -EBADMSG;
			reel_tape_close(&tape);
		}
	}
	is_int(silent, 0, "a value that is left ends the sweep");
}

static int record_nothing(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	(void)state;
	(void)first;
	(void)last;
	(void)tape;
	return 0;
}

static void the_choice_knows_its_ends(void)
{
	size_t cache = reel_os_cache_bytes(2);
	size_t bytes = cache ? cache : (size_t)64 << 20;
	reel_model empty = copied, large = copied;
	struct run run = no_failure;
	struct state state = start;
	void *large_state = calloc(1, bytes);
	reel_tape tape = {0};

	empty.record = record_nothing;
	is_int(reel_block_steps(&tape, &empty, &run, &state, 77), 77,
	       "steps that record nothing are one block");
	large.state_bytes = bytes;
	is_int(reel_block_steps(&tape, &large, &run, large_state, 77), 1,
	       "a state that fills the cache leaves room for one step");
	ok(reel_tape_is_empty(&tape), "the tape is as before");
	reel_tape_close(&tape);
	free(large_state);
}

static int fail_to_load(void *context, void *state, const void *snapshot)
{
	(void)context;
	(void)state;
	(void)snapshot;
	return -EIO;
}

static int fail_to_save(void *context, const void *state, void *snapshot)
{
	(void)context;
	(void)state;
	(void)snapshot;
	return -ENOSPC;
}

static void an_error_of_save_or_load_is_returned(void)
{
	reel_model model = saved;
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_tape tape = {0};

	model.save = fail_to_save;
	is_int(reel_block_forward(&tape, &model, &run, &state, 9, 3), -ENOSPC,
	       "an error of a save ends the sweep");
	is_int(run.advanced, 0, "no step is run after it");
	is_int(reel_block_steps(&tape, &model, &run, &state, 9), -ENOSPC,
	       "an error of a save ends the choice");
	reel_tape_close(&tape);
	model = saved;
	model.load = fail_to_load;
	is_int(reel_block_forward(&tape, &model, &run, &state, 9, 3), 0, "forward");
	is_int(reel_block_reverse(&tape, &model, &run, &state, &bar, 9, 3), -EIO,
	       "an error of a load ends the sweep");
	is_int(run.reversed, 3, "no step is reversed after it");
	is_int(reel_block_steps(&tape, &model, &run, &state, 9), -EIO,
	       "an error of a load ends the choice");
	reel_tape_close(&tape);
}

static void an_error_ends_the_choice(void)
{
	reel_pool *pool = open_pool(tiny_budget(1));
	struct run run = no_failure;
	struct state state = start;
	reel_model large = copied;
	char large_state[4096] = {0};
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	large.state_bytes = sizeof large_state;
	is_int(reel_block_steps(&tape, &large, &run, large_state, 9), -EDQUOT,
	       "a snapshot beyond the budget");
	reel_tape_close(&tape);
	tape = open_tape(pool, 0);
	run.failing_record = 0;
	is_int(reel_block_steps(&tape, &copied, &run, &state, 9), -ECANCELED,
	       "an error of record ends the choice");
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	close_pool(pool, "choices that failed");
}

static void a_budget_ends_the_sweep(void)
{
	reel_pool *pool = open_pool(tiny_budget(12));
	struct run run = no_failure;
	struct state state = start, bar = seed;
	reel_tape tape = open_tape(pool, 0);

	record_reports();
	is_int(reel_block_forward(&tape, &copied, &run, &state, 1000, 1), -EDQUOT,
	       "snapshots beyond the budget");
	reel_tape_close(&tape);
	tape = open_tape(pool, 0);
	is_int(reel_block_forward(&tape, &copied, &run, &state, 1000, 1000), -EDQUOT,
	       "records beyond the budget");
	reel_tape_close(&tape);
	tape = open_tape(pool, 0);
	is_int(reel_block_reverse(&tape, &copied, &run, &state, &bar, 10, 3), -ENODATA,
	       "a reverse sweep without a forward one");
	is_int(reported.calls, 3, "each is reported");
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	close_pool(pool, "block sweeps that failed");
}

/* Returns whether a place was left, and in *error what the reverse sweep then says. */
static bool leave_one_place(int64_t place, int *error)
{
	static reel_tape tape;
	static struct run run;
	static struct state state, bar;
	static bool left;

	left = true;
	run = no_failure;
	state = start;
	bar = seed;
	places_to_pass = place;
	if (!setjmp(out_of_the_callback)) {
		reel_block_forward(&tape, &leaving, &run, &state, 20, 6);
		reel_block_reverse(&tape, &leaving, &run, &state, &bar, 20, 6);
		left = false;
	}
	places_to_pass = -1;
	*error = reel_block_reverse(&tape, &leaving, &run, &state, &bar, 20, 6);
	reel_tape_close(&tape);
	return left;
}

static void callbacks_may_be_left(void)
{
	unsigned silent = 0;
	int64_t place = 0;
	int error;

	record_reports();
	for (; leave_one_place(place, &error); place++)
		silent += !error;
	ok(place > 50, "one of %d places in callbacks is left", (int)place);
	is_int(silent, 1, "a reverse sweep after that is an error, but where none had begun");
	reel_set_error_handler(NULL, NULL);
}

/* Such sizes wrap when they are rounded up to words. */
static void a_state_that_wraps_is_refused(void)
{
	reel_model model = copied;
	unsigned wrong = 0;

	record_reports();
	for (size_t k = 0; k <= 8192; k++) {
		struct run run = no_failure;
		struct state state = start;
		reel_tape tape = {0};

		model.state_bytes = SIZE_MAX - k;
		wrong += reel_block_forward(&tape, &model, &run, &state, 10, 3) != -EOVERFLOW;
		reel_tape_close(&tape);
		wrong += reel_block_steps(&tape, &model, &run, &state, 10) != -EOVERFLOW;
		reel_tape_close(&tape);
	}
	is_int(wrong, 0, "states from SIZE_MAX - 8192 bytes on are refused");
	reel_set_error_handler(NULL, NULL);
}

int main(void)
{
	tap_begin();
	every_block_gives_the_gradient_of_one_tape();
	each_step_is_run_once_more_but_those_of_the_last_block();
	the_tape_holds_snapshots_and_one_block();
	the_chosen_block_fits_the_cache();
	the_chosen_block_fills_half_the_cache();
	a_state_may_end_within_a_word();
	bad_numbers_are_refused();
	an_error_of_advance_ends_the_sweep();
	an_error_of_record_or_reverse_ends_the_reverse_sweep();
	what_reverse_does_not_pop_is_seen();
	the_choice_knows_its_ends();
	an_error_of_save_or_load_is_returned();
	an_error_ends_the_choice();
	a_budget_ends_the_sweep();
	callbacks_may_be_left();
	a_state_that_wraps_is_refused();
	return tap_end();
}
