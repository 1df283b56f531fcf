/* SPDX-License-Identifier: MIT */
/*
 * The state as Enzyme names it: regions of memory, some of which the program copies by callbacks of
 * its own. Enzyme's header has had two layouts of a region under one number of version. The first
 * members are the same; the later layout has two more.
 */
#include "config.h"

#include "enzyme.h"

#include <errno.h>
#include <string.h>

#include "os/error.h"

#define CALLBACK 1u
/* More address spaces than any target has. A member that is read at a wrong place is larger. */
#define MAX_SPACE 256

struct callbacks;

/* The head is all of an early region. */
struct region {
	void *data;
	uint64_t bytes;
	uint32_t space, flags;
	/* Only later regions have the members below. */
	void *shadow;
	const struct callbacks *callbacks;
};

#define EARLY offsetof(struct region, shadow)

struct callbacks {
	void (*enter)(const struct callbacks *, void *data, void *shadow);
	void (*save)(const struct callbacks *, void *data, void *shadow, int64_t slot);
	void (*restore)(const struct callbacks *, void *data, void *shadow, int64_t slot);
	void (*sync)(const struct callbacks *, void *data, void *shadow);
	void (*leave)(const struct callbacks *, void *data, void *shadow);
	void *own;
};

static const struct region *region_at(const struct state_place *place, size_t stride, uint64_t i)
{
	return (const struct region *)((const char *)place->regions + i * stride);
}

/* Returns whether the regions have this layout: their sizes add up to `loop->bytes`. */
static bool has_stride(const struct enzyme_loop *loop, size_t stride)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < loop->place.n; i++) {
		const struct region *region = region_at(&loop->place, stride, i);

		if (region->flags > CALLBACK || region->space > MAX_SPACE ||
		    (region->flags == CALLBACK && region->bytes))
			return false;
		sum += region->bytes;
	}
	return sum == loop->bytes;
}

/*
 * Tries the early layout first: early regions, read as later ones, end before the memory that would
 * be read. Returns 0, or -EINVAL: the regions have neither layout.
 */
static int find_stride(const struct enzyme_loop *loop, size_t *stride)
{
	*stride = has_stride(loop, EARLY) ? EARLY : sizeof(struct region);
	if (*stride == EARLY || has_stride(loop, *stride))
		return 0;
	return reel_fail(-EINVAL,
			 "the regions of the state have another layout than Enzyme's of 24 or 40 "
			 "bytes, or other sizes than when the loop began: this library is for "
			 "version 1 of enzyme/checkpoint.h");
}

static int copy(const struct enzyme_loop *loop, const struct region *region, char *snapshot,
		bool to_region)
{
	void *to = to_region ? region->data : snapshot;
	const void *from = to_region ? snapshot : region->data;

	if (!region->space) {
		if (region->bytes)
			memcpy(to, from, region->bytes);
		return 0;
	}
	if (!loop->options.copy)
		return reel_fail(-ENOTSUP,
				 "a region of the state is in address space %u: give copy() in "
				 "struct reel_enzyme_options",
				 region->space);
	return loop->options.copy(loop->options.context, to, from, region->bytes, region->space,
				  to_region);
}

static int copy_regions(struct enzyme_loop *loop, char *snapshot, bool to_region)
{
	size_t stride;
	int error = find_stride(loop, &stride);

	for (uint64_t i = 0; i < loop->place.n && !error; i++) {
		const struct region *region = region_at(&loop->place, stride, i);
		const struct callbacks *callbacks;

		error = copy(loop, region, snapshot, to_region);
		snapshot += region->bytes;
		/* One region may be all that there is, of either layout: only its head is read. */
		if (!(region->flags & CALLBACK))
			continue;
		callbacks = region->callbacks;
		(to_region ? callbacks->restore : callbacks->save)(callbacks, region->data,
								   region->shadow,
								   loop->place.slot);
	}
	return error;
}

/* Reports the error here, since the run would replace its text: a callback has failed. */
int reel_enzyme_save(void *context, const void *state, void *snapshot)
{
	struct enzyme_loop *loop = context;
	int error = loop->place.env
			    ? loop->options.save(loop->options.context, loop->place.env, snapshot)
			    : copy_regions(loop, snapshot, false);

	(void)state;
	if (error)
		reel_enzyme_fail(loop, error, "a state cannot be stored");
	return error;
}

int reel_enzyme_load(void *context, void *state, const void *snapshot)
{
	struct enzyme_loop *loop = context;
	int error = loop->place.env
			    ? loop->options.load(loop->options.context, loop->place.env, snapshot)
			    : copy_regions(loop, (char *)snapshot, true);

	(void)state;
	if (error)
		reel_enzyme_fail(loop, error, "a state cannot be given back");
	return error;
}
