/* SPDX-License-Identifier: MIT */
/*
 * Mistakes of a program with workers, and lanes for which there is no memory. Any thread of a team
 * notes them, and the thread that ends the region reports them.
 */
#include "config.h"

#include "mistake.h"

#include <errno.h>

#include "omp/runtime/wait.h"

/* Bits of the kind in region->mistake. The lane that the mistake hit is above them. */
#define KIND_BITS 3

static const char *const mistake_texts[REEL_MISTAKES] = {
	[REEL_MISTAKE_TAKEN_TWICE] =
		"lane %d was taken twice in one phase: each thread of the team makes one worker in "
		"the region, by the number that the thread has in this team",
	[REEL_MISTAKE_NOT_TAKEN] =
		"lane %d was not taken in a phase in which others were: take lanes by while "
		"(reel_worker_next()), until no lane is left",
	[REEL_MISTAKE_NO_PHASE] =
		"thread %d called reel_worker_next() after it had returned false: between two "
		"phases "
		"call reel_worker_phase(), reel_worker_barrier() or reel_worker_next_phase()",
	[REEL_MISTAKE_WORKERS] = "a worker of thread %d is one too many: each thread of the team "
				 "makes one worker in the region, before its first phase",
	[REEL_MISTAKE_CANCELLED] =
		"the parallel region was cancelled while thread %d waited at a barrier of Reel's "
		"for "
		"all threads: leave a loop by reel_loop_stop(), and end the region in all threads",
	[REEL_MISTAKE_ENDED] =
		"thread %d has ended its part of the region before a barrier at which another "
		"thread waits: let all threads come to the same barriers, also after an error",
};

void reel_region_note_mistake(reel_region *region, enum reel_mistake_kind kind, int32_t lane)
{
	int32_t none = 0;

	/*
	 * Sequentially consistent: pairs with is_over() (wait.c). A thread that is about to sleep
	 * either sees the mistake or is seen as a sleeper and is woken.
	 */
	atomic_compare_exchange_strong_explicit(&region->mistake, &none,
						lane << KIND_BITS | (int32_t)kind,
						memory_order_seq_cst, memory_order_seq_cst);
	reel_lane_end_waits(region->parent, -EINVAL);
	reel_omp_wake_all();
}

void reel_region_report_mistake(const reel_region *region)
{
	/* Relaxed is enough: the threads have joined. */
	int32_t mistake = atomic_load_explicit(&region->mistake, memory_order_relaxed);
	enum reel_mistake_kind kind =
		(enum reel_mistake_kind)(mistake & ((1 << KIND_BITS) - 1));

	REEL_ASSERT(kind < REEL_MISTAKES);
	if (kind)
		reel_lane_fail(region->parent, -EINVAL, mistake_texts[kind],
			       (int)(mistake >> KIND_BITS));
}

void reel_region_note_no_memory(reel_region *region)
{
	/* Relaxed is enough: it is read after the threads have joined. */
	atomic_store_explicit(&region->lacks_lane, true, memory_order_relaxed);
	reel_lane_end_waits(region->parent, -ENOMEM);
}
