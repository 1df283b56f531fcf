/* SPDX-License-Identifier: MIT */
/*
 * The calls of a lane that are not inline: in check mode, after an error of the program, and for
 * languages that cannot include reel/adjoint.h. The thread that runs a lane calls them; lanes run
 * at the same time. A call that cannot be carried out adds nothing and leaves an error.
 */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "adjoint.h"
#include "os/assert.h"

/*
 * Returns true if adds are plain, not atomic. In check mode adds under OWNER are atomic, so that
 * two lanes that conflict do not race and lose no sums.
 */
static bool is_plain(const reel_adjoint *adjoint)
{
	return adjoint->policy == REEL_ADJOINT_PRIVATE ||
	       (adjoint->policy == REEL_ADJOINT_OWNER && !adjoint->users);
}

static void touch(const reel_adjoint *adjoint, struct adjoint_lane *lane, size_t first, size_t n)
{
	REEL_ASSERT(!lane->touched || adjoint->policy == REEL_ADJOINT_PRIVATE);
	if (!lane->touched || !n)
		return;
	for (size_t b = first >> adjoint->shift; b <= (first + n - 1) >> adjoint->shift; b++)
		lane->touched[b] = true;
}

/* Returns `nobody` if the array has elements of another type or the sweep has no such lane. */
static struct adjoint_lane *find_lane(reel_adjoint *adjoint, unsigned lane, size_t element)
{
	REEL_ASSERT(adjoint->lanes_begun <= adjoint->lanes_made);
	if (element != adjoint->element)
		reel_adjoint_fail(adjoint, -EINVAL,
				  "%s: its elements are %s: use the functions for them",
				  adjoint->name,
				  adjoint->element == sizeof(double) ? "double" : "float");
	else if (lane >= adjoint->lanes_begun)
		reel_adjoint_fail(adjoint, -EINVAL, "%s: there is no lane %u: the sweep has %u",
				  adjoint->name, lane, adjoint->lanes_begun);
	else
		return &adjoint->lanes[lane];
	return &adjoint->nobody;
}

/* Returns NULL if the lane may not use the elements. */
static struct adjoint_lane *use(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n,
				size_t element)
{
	struct adjoint_lane *user = find_lane(adjoint, lane, element);

	if (user == &adjoint->nobody)
		return NULL;
	if (adjoint->users && !reel_adjoint_check_use(adjoint, lane, first, n))
		return NULL;
	return user;
}

#define TYPE double
#define VIEW reel_adjoint_view
#define VIEWED of_double
#define NAME(stem) stem
#include "adjoint-lane.h"
#undef TYPE
#undef VIEW
#undef VIEWED
#undef NAME

#define TYPE float
#define VIEW reel_adjoint_view_float
#define VIEWED of_float
#define NAME(stem) stem##_float
#include "adjoint-lane.h"
