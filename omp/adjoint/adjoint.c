/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes adjoint objects, begins and ends their sweeps, chooses the policy of a sweep and
 * makes the copies of its lanes. One thread calls these functions while no other thread uses the
 * object; any thread may set its error or read its statistics. Copies stay for the next sweep, and
 * between sweeps all of their elements are zero.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "adjoint.h"
#include "os/assert.h"
#include "os/error.h"
#include "os/integer.h"
#include "os/os.h"

/* The limits keep the flags of a copy in the first cache, beside the elements that lanes add to. */
#define MIN_SHIFT 6
#define MAX_FLAGS 4096
#define MAX_BLOCK_BYTES 4096
/* Size of the largest array whose copies are reduced whole, without flags. */
#define MAX_WHOLE_BYTES 32768
#define NO_MEMORY "no memory for an adjoint array"

/* ---- Errors ---- */

void reel_adjoint_fail(reel_adjoint *adjoint, int error, const char *format, ...)
{
	va_list arguments;

	REEL_ASSERT(error < 0);
	/* Relaxed: the thread that sets the flag is the only one that writes `message`. */
	if (atomic_flag_test_and_set_explicit(&adjoint->error_claimed, memory_order_relaxed))
		return;
	va_start(arguments, format);
	vsnprintf(adjoint->message, sizeof adjoint->message, format, arguments);
	va_end(arguments);
	/* Release: pairs with the acquire in reel_adjoint_end(). Makes `message` visible. */
	atomic_store_explicit(&adjoint->error, error, memory_order_release);
	reel_report(NULL, error, adjoint->message);
}

/* ---- Open and close ---- */

static const struct reel_adjoint_options no_options;

static const char *problem_of(const struct reel_adjoint_options *options)
{
	if (!options)
		return NULL;
	if ((unsigned)options->policy > REEL_ADJOINT_ATOMIC)
		return "policy must be REEL_ADJOINT_AUTOMATIC, OWNER, PRIVATE or ATOMIC";
	if (options->flags & ~REEL_ADJOINT_CHECKED)
		return "flags must be 0 or REEL_ADJOINT_CHECKED";
	return reel_reserved_problem(options->reserved, sizeof options->reserved);
}

/* A copy has the elements of whole blocks, and then whole lines of flags. */
static size_t flags_offset(const reel_adjoint *adjoint)
{
	REEL_ASSERT(adjoint->blocks << adjoint->shift >= adjoint->n);
	return reel_round_up((adjoint->blocks << adjoint->shift) * adjoint->element, ADJOINT_LINE);
}

static void lay_out(reel_adjoint *adjoint)
{
	adjoint->shift = MIN_SHIFT;
	while (adjoint->element << adjoint->shift < MAX_BLOCK_BYTES &&
	       adjoint->n >> adjoint->shift > MAX_FLAGS)
		adjoint->shift++;
	adjoint->blocks = adjoint->n >> adjoint->shift;
	adjoint->blocks += adjoint->n != adjoint->blocks << adjoint->shift;
	adjoint->whole = adjoint->n * adjoint->element <= MAX_WHOLE_BYTES;
	adjoint->copy_bytes = flags_offset(adjoint) + reel_round_up(adjoint->blocks, ADJOINT_LINE);
	REEL_ASSERT(adjoint->copy_bytes % ADJOINT_LINE == 0);
	adjoint->copy_bytes = reel_round_up(adjoint->copy_bytes, reel_os_page_bytes());
}

static void set_view(reel_adjoint *adjoint, struct adjoint_lane *lane, unsigned number,
		     enum reel_adjoint_policy policy)
{
	bool *flags = adjoint->whole ? NULL : lane->touched;

	/* In check mode each add has to come to the library. */
	REEL_ASSERT(policy == REEL_ADJOINT_AUTOMATIC || !adjoint->users);
	if (adjoint->element == sizeof(double))
		lane->view.of_double = (reel_adjoint_view){
			(double *)lane->copy, flags, adjoint, adjoint->shift, policy, number, 0};
	else
		lane->view.of_float = (reel_adjoint_view_float){
			(float *)lane->copy, flags, adjoint, adjoint->shift, policy, number, 0};
}

static void set_options(reel_adjoint *adjoint, const struct reel_adjoint_options *options)
{
	adjoint->asked = options->policy;
	adjoint->flags = options->flags;
	adjoint->budget = options->budget ? options->budget : REEL_ADJOINT_BUDGET;
	snprintf(adjoint->name, sizeof adjoint->name, "%s",
		 options->name ? options->name : "adjoint");
}

static int open_array(reel_adjoint **opened, void *array, size_t n, size_t element,
		      const struct reel_adjoint_options *options)
{
	const char *problem = problem_of(options);
	reel_adjoint *adjoint;

	if (!problem && n && !array)
		problem = "an array of n elements needs an address";
	if (problem)
		return reel_fail(-EINVAL, "%s", problem);
	if (REEL_TOO_MANY(n, element))
		return reel_fail(-EOVERFLOW, "%zu elements are more than can be addressed", n);
	adjoint = calloc(1, sizeof *adjoint);
	if (!adjoint)
		return reel_fail(-ENOMEM, NO_MEMORY);
	adjoint->array = array;
	adjoint->n = n;
	adjoint->element = element;
	set_options(adjoint, options ? options : &no_options);
	lay_out(adjoint);
	set_view(adjoint, &adjoint->nobody, UINT_MAX, REEL_ADJOINT_AUTOMATIC);
	if (reel_adjoint_check_open(adjoint)) {
		free(adjoint);
		return reel_fail(-ENOMEM, NO_MEMORY);
	}
	*opened = adjoint;
	return 0;
}

int reel_adjoint_open(reel_adjoint **adjoint, double *array, size_t n,
		      const struct reel_adjoint_options *options)
{
	return open_array(adjoint, array, n, sizeof *array, options);
}

int reel_adjoint_open_float(reel_adjoint **adjoint, float *array, size_t n,
			    const struct reel_adjoint_options *options)
{
	return open_array(adjoint, array, n, sizeof *array, options);
}

int reel_adjoint_close(reel_adjoint *adjoint)
{
	if (!adjoint)
		return 0;
	if (adjoint->lanes_begun)
		return reel_fail(-EBUSY,
				 "a sweep has not been ended: call reel_adjoint_end() first");
	for (unsigned l = 0; l < adjoint->lanes_made; l++)
		if (adjoint->lanes[l].kept)
			reel_os_unmap(adjoint->lanes[l].kept, adjoint->copy_bytes);
	reel_adjoint_check_close(adjoint);
	free(adjoint->lanes);
	free(adjoint);
	return 0;
}

/* ---- Copies ---- */

/* Makes room for `count` lanes. Lanes of earlier sweeps keep their copies. */
static int make_lanes(reel_adjoint *adjoint, unsigned count)
{
	struct adjoint_lane *lanes;

	REEL_ASSERT(!adjoint->lanes_begun);
	if (count <= adjoint->lanes_made)
		return 0;
	lanes = calloc(count, sizeof *lanes);
	if (!lanes)
		return -ENOMEM;
	if (adjoint->lanes_made)
		memcpy(lanes, adjoint->lanes, adjoint->lanes_made * sizeof *lanes);
	free(adjoint->lanes);
	adjoint->lanes = lanes;
	adjoint->lanes_made = count;
	return 0;
}

void *reel_adjoint_map(size_t bytes)
{
	void *mapping;

	REEL_ASSERT(bytes > 0);
	mapping = reel_os_map(bytes, 1);
	/* With huge pages, one add could take 2 MiB. A refusal costs memory only. */
#ifdef MADV_NOHUGEPAGE
	if (mapping)
		(void)madvise(mapping, bytes, MADV_NOHUGEPAGE);
#endif
	return mapping;
}

/* Maps a copy for each lane but lane 0. An array without elements needs no copies. */
static int make_copies(reel_adjoint *adjoint, unsigned lanes)
{
	REEL_ASSERT(lanes <= adjoint->lanes_made &&
		    adjoint->copy_bytes % reel_os_page_bytes() == 0);
	if (adjoint->copy_bytes && adjoint->budget / adjoint->copy_bytes < lanes - 1)
		return reel_fail(-EDQUOT,
				 "the copies of the lanes exceed the budget: raise it, or have "
				 "fewer lanes");
	for (unsigned l = 1; l < lanes && adjoint->n; l++) {
		char **kept = &adjoint->lanes[l].kept;

		*kept = *kept ? *kept : reel_adjoint_map(adjoint->copy_bytes);
		if (!*kept)
			return reel_fail(-ENOMEM,
					 "the system has no memory for the copies of the lanes");
	}
	return 0;
}

static int choose_policy(reel_adjoint *adjoint, unsigned lanes)
{
	int error;

	adjoint->policy = adjoint->asked;
	if (adjoint->asked == REEL_ADJOINT_OWNER || adjoint->asked == REEL_ADJOINT_ATOMIC)
		return 0;
	adjoint->policy = lanes == 1 ? REEL_ADJOINT_OWNER : REEL_ADJOINT_PRIVATE;
	error = make_copies(adjoint, lanes);
	if (!error)
		return 0;
	adjoint->refused++;
	if (adjoint->asked == REEL_ADJOINT_PRIVATE)
		return error;
	adjoint->policy = REEL_ADJOINT_ATOMIC;
	return 0;
}

/* ---- Sweeps ---- */

static void set_lane(reel_adjoint *adjoint, unsigned number)
{
	struct adjoint_lane *lane = &adjoint->lanes[number];
	bool has_copy = adjoint->policy == REEL_ADJOINT_PRIVATE && number && lane->kept;

	REEL_ASSERT(adjoint->policy != REEL_ADJOINT_AUTOMATIC);
	REEL_ASSERT(has_copy || adjoint->policy != REEL_ADJOINT_PRIVATE || !number || !adjoint->n);
	lane->copy = has_copy ? lane->kept : adjoint->array;
	lane->touched = has_copy ? (bool *)lane->kept + flags_offset(adjoint) : NULL;
	if (has_copy && adjoint->whole)
		memset(lane->touched, true, adjoint->blocks);
	set_view(adjoint, lane, number,
		 adjoint->users ? REEL_ADJOINT_AUTOMATIC : adjoint->policy);
}

int reel_adjoint_begin(reel_adjoint *adjoint, unsigned lanes)
{
	int error;

	if (adjoint->lanes_begun)
		return reel_fail(-EBUSY, "the sweep before has not been ended");
	if (!lanes || lanes > REEL_ADJOINT_MAX_LANES)
		return reel_fail(-EINVAL, "a sweep has 1 to REEL_ADJOINT_MAX_LANES lanes");
	if (make_lanes(adjoint, lanes))
		return reel_fail(-ENOMEM, "no memory for the lanes of an adjoint array");
	error = choose_policy(adjoint, lanes);
	if (error)
		return error;
	adjoint->lanes_begun = lanes;
	adjoint->sweeps++;
	for (unsigned l = 0; l < lanes; l++)
		set_lane(adjoint, l);
	reel_adjoint_check_begin(adjoint);
	return 0;
}

int reel_adjoint_end(reel_adjoint *adjoint)
{
	int error;

	if (!adjoint->lanes_begun)
		return reel_fail(-EINVAL, "no sweep has begun: call reel_adjoint_begin() first");
	reel_adjoint_reduce(adjoint, 0, 1);
	adjoint->lanes_begun = 0;
	/* Acquire: pairs with the release in reel_adjoint_fail(). Makes `message` visible. */
	error = atomic_load_explicit(&adjoint->error, memory_order_acquire);
	return error ? reel_fail(error, "%s", adjoint->message) : 0;
}

void reel_adjoint_get_stats(const reel_adjoint *adjoint, struct reel_adjoint_stats *stats)
{
	*stats = (struct reel_adjoint_stats){.policy = adjoint->policy,
					     .lanes = adjoint->lanes_begun,
					     .sweeps = adjoint->sweeps,
					     .refused = adjoint->refused,
					     .block_bytes = adjoint->element << adjoint->shift};
	for (unsigned l = 0; l < adjoint->lanes_made; l++)
		stats->copies += adjoint->lanes[l].kept != NULL;
	stats->copy_bytes = stats->copies * adjoint->copy_bytes;
	/* Relaxed: counters, which order no other memory. */
	stats->reduced_blocks = atomic_load_explicit(&adjoint->reduced, memory_order_relaxed);
	stats->conflicts = atomic_load_explicit(&adjoint->conflicts, memory_order_relaxed);
}
