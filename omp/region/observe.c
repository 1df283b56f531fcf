/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "observe.h"

#include <errno.h>

_Atomic(reel_observer *) reel_present_observer;

int reel_observe(reel_observer *observer, size_t size)
{
	reel_observer *none = NULL;

	if (size != sizeof(reel_event))
		return -EINVAL;
	/* Relaxed: who still sees the old one may call it. */
	if (!observer) {
		atomic_store_explicit(&reel_present_observer, NULL, memory_order_relaxed);
		return 0;
	}
	/* Release: pairs with the acquire in observe.h, for what the observer finds prepared. */
	if (atomic_compare_exchange_strong_explicit(&reel_present_observer, &none, observer,
						    memory_order_release, memory_order_relaxed))
		return 0;
	return none == observer ? 0 : -EBUSY;
}
