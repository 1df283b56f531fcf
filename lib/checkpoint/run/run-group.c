/* SPDX-License-Identifier: MIT */
/*
 * Agreements between the processes of a run: on errors, on the end of a loop, and on when to
 * write restart files. The thread that owns the run runs these functions. A run of one process
 * agrees with itself, at no cost.
 *
 * A process whose action failed does not return before the others know of it: all of them call
 * reel_group_agree() after each action, and all leave the sweep there. So each process calls it as
 * often as the others do, whatever fails.
 */
#include "config.h"

#include "run-group.h"

#include <errno.h>

#include "os/assert.h"
#include "os/error.h"

int reel_group_agree(const struct reel_run_group *group, int error, unsigned *requests)
{
	unsigned wanted = requests ? *requests : 0;
	int64_t values[] = {error < 0 ? group->rank + 1 : 0, error, wanted & 1, wanted & 2,
			    wanted & 4};
	int failure;

	REEL_ASSERT(wanted < 8);
	if (reel_group_is_alone(group))
		return error;
	failure = group->max(group->context, values, sizeof values / sizeof *values);
	if (requests)
		*requests = failure ? 0 : (unsigned)(values[2] | values[3] | values[4]);
	if (failure || error < 0)
		return error < 0 ? error : failure;
	if (values[0])
		return reel_fail(-ECANCELED, "rank %d failed, and has the reason",
				 (int)values[0] - 1);
	return (int)values[1];
}

int reel_group_max(const struct reel_run_group *group, int64_t *values, int count)
{
	REEL_ASSERT(count > 0);
	return reel_group_is_alone(group) ? 0 : group->max(group->context, values, count);
}
