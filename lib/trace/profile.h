/* SPDX-License-Identifier: MIT */
/*
 * REEL_PROFILE=FILE: which lines of the program push the bytes of its tapes, over the run and at
 * the moment at which tapes are largest. `reel profile FILE` shows it.
 *
 * In each slab some pushes are looked at, at heights that differ from slab to slab
 * (lib/tape/room.c), and the line of one of them stands for the slab. So a line that pushes a third
 * of the bytes has a third of the slabs, more or less. The limit with which a push compares the top
 * is set to these heights, so no push has an instruction more. Values that are pushed again on a
 * slab, after others were popped from there, are not counted again, so the bytes of a profile are
 * at least those that it says.
 */
#ifndef REEL_LIB_PROFILE_H
#define REEL_LIB_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <reel/compiler.h>

/* Numbers of places are below this one. */
#define REEL_PLACES 4096

extern _Atomic bool reel_profile_is_on;

static inline bool reel_profiles(void)
{
	/* Acquire: pairs with the release in reel_profile_open(). Makes the table visible. */
	return REEL_UNLIKELY(atomic_load_explicit(&reel_profile_is_on, memory_order_acquire));
}

/*
 * Returns the number of the place that called the library: `call_site`, "file:line" or NULL, and
 * the functions that have called it. It is not 0. Any thread, without a lock. Cost: some
 * microseconds.
 */
uint16_t reel_profile_place(const char *call_site);

/*
 * Counts bytes that slabs of this place hold, from now on or, if they are below 0, no longer.
 * `pushed` are counted over the run. Any thread.
 */
void reel_profile_count(uint16_t place, int64_t held, uint64_t pushed);

/* Moves bytes that are held and were pushed to the count of another place. Any thread. */
void reel_profile_move(uint16_t from, uint16_t to, uint64_t bytes);

/* Opens the file that REEL_PROFILE names. Requires the lock of the list of pools. */
void reel_profile_open(void);

/* In the child of a fork: its parent writes the profile. */
void reel_profile_leave(void);

#endif
