/* SPDX-License-Identifier: MIT */
/*
 * The one observer that gets events. Any thread installs or removes it; each public function of
 * libreel-omp that has an event asks for it, with one load.
 */
#include "config.h"

#include "observe.h"

#include <errno.h>

_Atomic(reel_observer *) reel_present_observer;

void reel_tell(const reel_event *event)
{
	/* Acquire: pairs with the release in reel_observe(). */
	reel_observer *observer =
		atomic_load_explicit(&reel_present_observer, memory_order_acquire);

	if (reel_traces())
		reel_region_trace(event);
	if (observer)
		observer(event);
}

int reel_observe(reel_observer *observer, size_t size)
{
	reel_observer *none = NULL;

	if (size != sizeof(reel_event))
		return -EINVAL;
	/* Relaxed is enough: a thread that still sees the observer may call it. */
	if (!observer) {
		atomic_store_explicit(&reel_present_observer, NULL, memory_order_relaxed);
		return 0;
	}
	/*
	 * Release: pairs with the acquire in reel_tell(). What the observer uses is visible.
	 */
	if (atomic_compare_exchange_strong_explicit(&reel_present_observer, &none, observer,
						    memory_order_release, memory_order_relaxed))
		return 0;
	return none == observer ? 0 : -EBUSY;
}
