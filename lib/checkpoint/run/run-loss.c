/* SPDX-License-Identifier: MIT */
/*
 * States that are stored with loss: a snapshot is the packed fields of a state, one after the
 * other, and then its other bytes. Packing needs memory besides: for a snapshot whose length is not
 * known before, and for a state that save() copies or that is in parts. Any number of threads may
 * pack and unpack at the same time, each with such memory of its own, which the run keeps.
 */
#include "config.h"

#include "run-loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "os/integer.h"
#include "store/quantise.h"

struct reel_loss_space {
	struct reel_loss_space *next;
	_Atomic bool used;
	unsigned char *state;   /* a copy of a state; NULL: not needed so far */
	unsigned char packed[]; /* of one */
};

static bool is_tolerance(double tolerance)
{
	return tolerance >= 0 && tolerance < 1;
}

static const char *problem_with_field(const struct reel_field *field, size_t at, size_t bytes)
{
	size_t own = reel_field_bytes(field);

	if (own == SIZE_MAX)
		return "a field has a type, 1 to 4 dimensions and their extents";
	if (own > bytes - at)
		return "the fields are longer than a state";
	if (at % reel_field_value_bytes(field))
		return "a field of doubles or floats begins where such a number can";
	return NULL;
}

const char *reel_loss_problem(const struct reel_loss *loss, size_t state_bytes)
{
	const char *problem = reel_reserved_problem(loss->reserved, sizeof loss->reserved);
	size_t at = 0;

	if (!is_tolerance(loss->tolerance))
		return "a tolerance is 0 or more and below 1";
	if (loss->fields && !loss->field)
		return "fields is the number of fields in the list field, which is missing";
	for (unsigned i = 0; i < loss->fields && !problem; i++) {
		problem = problem_with_field(&loss->field[i], at, state_bytes);
		at += problem ? 0 : reel_field_bytes(&loss->field[i]);
	}
	return problem;
}

bool reel_loss_in(const reel_run *run, unsigned tier)
{
	return run->options.loss && tier >= run->options.loss->first_tier;
}

size_t reel_loss_room(const reel_run *run)
{
	const struct reel_loss *loss = run->options.loss;
	size_t bytes = run->model.state_bytes;

	for (unsigned i = 0; loss && i < loss->fields; i++)
		bytes += reel_field_room(&loss->field[i]) - reel_field_bytes(&loss->field[i]);
	return bytes;
}

int reel_run_set_tolerance(reel_run *run, double tolerance)
{
	if (!run->loss)
		return reel_fail(-EINVAL, "a run without options.loss has no tolerance");
	if (run->phase != REEL_RUN_IDLE)
		return reel_fail(-EINVAL, "the tolerance of a run is set before its forward sweep, "
					  "and a sweep is under way");
	if (!is_tolerance(tolerance))
		return reel_fail(-EINVAL, "a tolerance is 0 or more and below 1, not %g",
				 tolerance);
	run->loss->tolerance = tolerance;
	return 0;
}

/* ---- Memory ---- */

static struct reel_loss_space *add_space(reel_run *run)
{
	struct reel_loss_space *space = malloc(sizeof *space + reel_loss_room(run));

	if (!space)
		return NULL;
	*space = (struct reel_loss_space){.used = true};
	space->next = atomic_load_explicit(&run->spaces, memory_order_relaxed);
	/* Release: pairs with the acquire in take_space(), which then sees the members. */
	while (!atomic_compare_exchange_weak_explicit(&run->spaces, &space->next, space,
						      memory_order_release, memory_order_relaxed))
		;
	return space;
}

/* Returns memory for this thread alone, with room for a state if `with_state`; NULL: none. */
static struct reel_loss_space *take_space(reel_run *run, bool with_state)
{
	struct reel_loss_space *space = atomic_load_explicit(&run->spaces, memory_order_acquire);

	/* Acquire: pairs with the release in reel_loss_give(), so that its user is done with it. */
	while (space && atomic_exchange_explicit(&space->used, true, memory_order_acquire))
		space = space->next;
	if (!space)
		space = add_space(run);
	if (space && with_state && !space->state)
		space->state = malloc(run->model.state_bytes + 1);
	return space && with_state && !space->state ? NULL : space;
}

void reel_loss_give(struct reel_loss_space *space)
{
	/* Release: pairs with the acquire in take_space(). */
	atomic_store_explicit(&space->used, false, memory_order_release);
}

void reel_loss_begin(reel_run *run)
{
	struct reel_loss_space *space = atomic_load_explicit(&run->spaces, memory_order_relaxed);

	for (; space; space = space->next)
		reel_loss_give(space);
	/* Relaxed, both: no other thread stores states now. */
	atomic_store_explicit(&run->rounded_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&run->kept_bytes, 0, memory_order_relaxed);
}

void reel_loss_close(reel_run *run)
{
	struct reel_loss_space *space = atomic_load_explicit(&run->spaces, memory_order_relaxed);

	while (space) {
		struct reel_loss_space *next = space->next;

		free(space->state);
		free(space);
		space = next;
	}
}

/* ---- Packing ---- */

/* Returns the bytes of the packed state, or 0: no memory. */
static size_t pack(const reel_run *run, unsigned char *packed, const unsigned char *state)
{
	const struct reel_loss *loss = run->options.loss;
	size_t at = 0, used = 0;

	for (unsigned i = 0; i < loss->fields; i++) {
		size_t bytes = reel_field_pack(&loss->field[i], loss->tolerance, packed + used,
					       state + at);

		if (!bytes)
			return 0;
		used += bytes;
		at += reel_field_bytes(&loss->field[i]);
	}
	REEL_ASSERT(at <= run->model.state_bytes);
	memcpy(packed + used, state + at, run->model.state_bytes - at);
	return used + run->model.state_bytes - at;
}

static int unpack(const reel_run *run, unsigned char *state, const unsigned char *packed,
		  size_t bytes)
{
	const struct reel_loss *loss = run->options.loss;
	size_t at = 0, used = 0;

	REEL_ASSERT(loss && bytes <= reel_loss_room(run));
	for (unsigned i = 0; i < loss->fields; i++) {
		size_t own = reel_field_unpack(&loss->field[i], state + at, packed + used,
					       bytes - used);

		if (!own)
			return -EBADMSG;
		used += own;
		at += reel_field_bytes(&loss->field[i]);
	}
	if (bytes - used != run->model.state_bytes - at)
		return -EBADMSG;
	memcpy(state + at, packed + used, bytes - used);
	return 0;
}

/* Returns true if a snapshot is no copy of the bytes at `state`. */
static bool copies(const reel_run *run)
{
	return run->model.save || run->options.state_parts;
}

int reel_loss_save(reel_run *run, void *context, const void *state, struct reel_loss_space **taken,
		   const void **packed, size_t *bytes)
{
	struct reel_loss_space *space = take_space(run, copies(run));
	int error = 0;

	if (!space)
		return reel_fail(-ENOMEM, "no memory to pack a state");
	*taken = space;
	*packed = space->packed;
	if (copies(run))
		error = reel_run_save_state(run, context, state, space->state);
	if (!error) {
		*bytes = pack(run, space->packed, copies(run) ? space->state : state);
		error = *bytes ? 0 : reel_fail(-ENOMEM, "no memory to pack a state");
	}
	if (error) {
		reel_loss_give(space);
		return error;
	}
	REEL_ASSERT(*bytes <= reel_loss_room(run));
	/* Relaxed, both: counters, which order nothing. */
	atomic_fetch_add_explicit(&run->rounded_bytes, run->model.state_bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&run->kept_bytes, *bytes, memory_order_relaxed);
	return 0;
}

int reel_loss_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes)
{
	struct reel_loss_space *space;
	int error;

	if (!copies(run))
		return unpack(run, state, packed, bytes);
	space = take_space(run, true);
	if (!space)
		return reel_fail(-ENOMEM, "no memory to unpack a state");
	error = unpack(run, space->state, packed, bytes);
	if (!error)
		error = reel_run_load_state(run, context, state, space->state);
	reel_loss_give(space);
	return error;
}
