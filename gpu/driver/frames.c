/* SPDX-License-Identifier: MIT */
/*
 * Pins the frames of a pool that the program names, and of the pool on the store of an arena. The
 * functions of the listener run on any thread that takes a frame from the system or gives it back.
 * In the child of a fork they neither call the driver nor lock.
 */
#include "config.h"

#include "frames.h"

#include <errno.h>
#include <stdlib.h>

#include <reel/gpu.h>

#include "os/cancel.h"
#include "os/error.h"
#include "os/os.h"
#include "os/process.h"
#include "pinned.h"
#include "spill/pool/default-pool.h"

struct reel_frames {
	struct reel_frame_listener listener; /* first: a pointer to it is one to this struct */
	struct reel_gpu_context context;
	struct reel_pinned pinned;
	pid_t process;
};

static bool is_in_child(const struct reel_frames *frames)
{
	return reel_process_is_child(frames->process);
}

/* ---- The listener ---- */

/* If the driver pins no more memory, its copies from and to this frame take longer. */
static void pin_frame(struct reel_frame_listener *listener, void *frame, size_t bytes)
{
	REEL_UNCANCELLED;
	struct reel_frames *frames = (struct reel_frames *)listener;

	if (!is_in_child(frames))
		reel_pinned_add(&frames->pinned, frame, bytes);
}

static void unpin_frame(struct reel_frame_listener *listener, void *frame)
{
	REEL_UNCANCELLED;
	struct reel_frames *frames = (struct reel_frames *)listener;

	if (!is_in_child(frames))
		reel_pinned_remove(&frames->pinned, frame);
}

static void unpin_all(struct reel_frame_listener *listener)
{
	REEL_UNCANCELLED;
	struct reel_frames *frames = (struct reel_frames *)listener;
	bool in_child = is_in_child(frames);

	reel_pinned_close(&frames->pinned, in_child);
	if (!in_child)
		reel_gpu_context_close(&frames->context);
	free(frames);
}

int reel_frames_open(struct reel_frame_listener **listener, unsigned device)
{
	struct reel_frames *frames = malloc(sizeof *frames);
	int error;

	if (!frames)
		return reel_fail(-ENOMEM, "no memory to pin the frames of a pool");
	*frames = (struct reel_frames){
		.listener = {.taken = pin_frame, .returned = unpin_frame, .closed = unpin_all},
		.process = getpid(),
	};
	error = reel_gpu_context_open(&frames->context, device);
	if (error) {
		free(frames);
		return error;
	}
	reel_pinned_open(&frames->pinned, &frames->context);
	*listener = &frames->listener;
	return 0;
}

/* ---- The frames of a program's pool ---- */

/* Returns NULL if the driver pins no frames of this pool. `pool` may be NULL. */
static struct reel_frames *frames_of(reel_pool *pool)
{
	return pool ? (struct reel_frames *)reel_pool_listen(pool, NULL) : NULL;
}

/* The pool gives idle frames back to the system, so that they are pinned when they come again. */
static int pin(reel_pool *pool, unsigned device)
{
	struct reel_frame_listener *listener;
	struct reel_pool_stats stats;
	int error;

	reel_pool_get_stats(pool, &stats);
	if (stats.slab_bytes % reel_os_page_bytes())
		return reel_fail(-EINVAL,
				 "the slabs of a pool whose frames are pinned must be whole pages "
				 "of %zu bytes, and not %llu bytes",
				 reel_os_page_bytes(), (unsigned long long)stats.slab_bytes);
	error = reel_frames_open(&listener, device);
	if (error)
		return error;
	/* Another thread may have been first. */
	if (reel_pool_listen(pool, listener) != listener)
		listener->closed(listener);
	reel_pool_trim(pool, 0);
	return 0;
}

int reel_gpu_pin_pool(reel_pool *pool, unsigned device)
{
	REEL_UNCANCELLED;
	struct reel_frames *frames;
	int error = pool ? 0 : reel_pool_open_default(&pool);

	if (error)
		return error;
	frames = frames_of(pool);
	if (frames && is_in_child(frames))
		return reel_fail(-ENODEV, "no GPU in the child of a fork");
	return frames ? 0 : pin(pool, device);
}

void reel_gpu_get_pool_stats(reel_pool *pool, struct reel_gpu_stats *stats)
{
	REEL_UNCANCELLED;
	struct reel_frames *frames = frames_of(pool ? pool : reel_pool_default());

	*stats = (struct reel_gpu_stats){0};
	if (frames && !is_in_child(frames))
		stats->pinned_bytes = reel_pinned_bytes(&frames->pinned, &stats->refused_adoptions,
							stats->problem);
}
