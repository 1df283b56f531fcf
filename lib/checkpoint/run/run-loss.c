/* SPDX-License-Identifier: MIT */
/*
 * States that are stored with loss: a snapshot is the packed fields of a state, one after the
 * other, and then its other bytes.
 */
#include "config.h"

#include "run-loss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/error.h"
#include "os/integer.h"
#include "store/quantise.h"

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

/* ---- Packing ---- */

size_t reel_loss_pack(const reel_run *run, unsigned char *packed, const unsigned char *state)
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
	used += run->model.state_bytes - at;
	REEL_ASSERT(used <= reel_loss_room(run));
	return used;
}

int reel_loss_unpack(const reel_run *run, unsigned char *state, const unsigned char *packed,
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
