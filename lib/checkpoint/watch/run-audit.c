/* SPDX-License-Identifier: MIT */
/*
 * The audit of a run (REEL_RUN_AUDIT): keeps a hash of each state when the run first reaches it and
 * compares it when the run reaches the state again. The thread that carries an action out runs
 * these functions; only one thread at a time carries out actions of an audited run. A hash of 0
 * means that the state was not seen: a resumed run has not seen the states before its restart file.
 */
#include "config.h"

#include "os/error.h"
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/crc32c.h"

static int make_room(reel_run *run, int64_t states)
{
	/* Mutants survive (constant): any size of the first table will do. */
	int64_t room = run->hash_room ? run->hash_room : 1024;
	uint32_t *hash;

	REEL_ASSERT(states > 0 && states <= REEL_MAX_STEPS + 1);
	/* Mutants survive (boundary): realloc() to the same size changes nothing. */
	if (states <= run->hash_room)
		return 0;
	while (room < states)
		room *= 2;
	hash = realloc(run->hash, (size_t)room * sizeof *hash);
	if (!hash)
		return reel_fail(-ENOMEM, "no memory for the audit of %lld states",
				 (long long)room);
	memset(hash + run->hash_room, 0, (size_t)(room - run->hash_room) * sizeof *hash);
	run->hash = hash;
	run->hash_room = room;
	return 0;
}

/*
 * Saves the state to `run->scratch`. The memory is cleared first, since save() may leave parts of
 * it as they are, and these parts must not change the hash.
 */
static int save_to_scratch(reel_run *run, void *context, const void *state, int64_t step)
{
	int error;

	REEL_ASSERT(run->model.save || run->options.state_parts);
	if (!run->scratch)
		run->scratch = malloc(run->model.state_bytes + 1);
	if (!run->scratch)
		return reel_fail(-ENOMEM, "no memory to audit a state");
	memset(run->scratch, 0, run->model.state_bytes);
	error = reel_run_save_state(run, context, state, run->scratch);
	if (error < 0)
		reel_fail(error, "save of state %lld for the audit returned %d (%s)",
			  (long long)step, error, strerror(-error));
	return error;
}

/*
 * Hashes the snapshot of the state, not the state: the parts that save() leaves out may differ,
 * since a replay does not need them.
 */
static int hash_of(reel_run *run, void *context, const void *state, int64_t step, uint32_t *hash)
{
	int error = 0;

	if (run->model.save || run->options.state_parts) {
		error = save_to_scratch(run, context, state, step);
		state = run->scratch;
	}
	if (error)
		return error;
	*hash = reel_crc32c(0, state, run->model.state_bytes);
	*hash += *hash == 0;
	REEL_ASSERT(*hash);
	return 0;
}

bool reel_run_audits(const reel_run *run)
{
	return run->options.flags & REEL_RUN_AUDIT;
}

int reel_audit_state(reel_run *run, void *context, const void *state, int64_t from, int64_t step)
{
	uint32_t hash = 0;
	int error;

	if (!reel_run_audits(run))
		return 0;
	error = hash_of(run, context, state, step, &hash);
	if (!error)
		error = make_room(run, step + 1);
	if (error)
		return error;
	REEL_ASSERT(from >= 0 && from <= step && step < run->hash_room);
	if (!run->hash[step])
		run->hash[step] = hash;
	if (run->hash[step] == hash)
		return 0;
	run->unlike_step = from;
	if (from == step)
		return reel_fail(-EILSEQ,
				 "state %lld comes back from its snapshot as "
				 "another one: see to the model's save() and load()",
				 (long long)step);
	return reel_fail(-EILSEQ,
			 "step %lld does not replay: run again from the same state, it leaves "
			 "another one than the first time",
			 (long long)from);
}

void reel_audit_begin(reel_run *run)
{
	REEL_ASSERT(!run->hash == !run->hash_room);
	if (run->hash)
		memset(run->hash, 0, (size_t)run->hash_room * sizeof *run->hash);
	run->unlike_step = -1;
}

void reel_audit_end(reel_run *run)
{
	free(run->hash);
	free(run->scratch);
}
