/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "checkpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "crc32c.h"

static int make_room(reel_checkpoint *run)
{
	int64_t room = run->hash_room ? 2 * run->hash_room : 1024;
	uint32_t *hash;

	if (run->hashed < run->hash_room)
		return 0;
	hash = realloc(run->hash, (size_t)room * sizeof *hash);
	if (!hash)
		return reel_run_fail(run, -ENOMEM, "no memory for the audit of %lld states",
				     (long long)room);
	run->hash = hash;
	run->hash_room = room;
	return 0;
}

/* What is not part of a snapshot is not needed to replay. */
static int hash_of(reel_checkpoint *run, void *context, const void *state, uint32_t *hash)
{
	int error = 0;

	if (run->model.save) {
		if (!run->scratch)
			run->scratch = calloc(1, run->model.state_bytes + 1);
		if (!run->scratch)
			return reel_run_fail(run, -ENOMEM, "no memory to audit a state");
		error = run->model.save(context, state, run->scratch);
		state = run->scratch;
	}
	*hash = reel_crc32c(0, state, run->model.state_bytes);
	return error;
}

int reel_audit_state(reel_checkpoint *run, void *context, const void *state, int64_t step)
{
	uint32_t hash = 0;
	int error = hash_of(run, context, state, &hash);

	if (!error && step == run->hashed)
		error = make_room(run);
	if (error)
		return error;
	if (step == run->hashed) {
		run->hash[run->hashed++] = hash;
	} else if (step < run->hashed && run->hash[step] != hash) {
		run->unlike_step = step > 0 ? step - 1 : 0;
		return reel_run_fail(run, -EILSEQ,
				     "step %lld does not replay: run again from the same state, "
				     "it leaves another one than the first time",
				     (long long)run->unlike_step);
	}
	return 0;
}

void reel_audit_begin(reel_checkpoint *run)
{
	run->hashed = 0;
	run->unlike_step = -1;
}

void reel_audit_end(reel_checkpoint *run)
{
	free(run->hash);
	free(run->scratch);
}
