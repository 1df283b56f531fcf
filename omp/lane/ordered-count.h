/* SPDX-License-Identifier: MIT */
/* The counts of ordered sections: which root and which hold has them, and the copies of readers. */
#ifndef REEL_OMP_ORDERED_COUNT_H
#define REEL_OMP_ORDERED_COUNT_H

#include "lane.h"

/* The count of an ordered section when a hold began. Replay goes back to it. */
struct reel_ordered_count {
	reel_ordered *order;
	uint64_t count;
	uint64_t outer; /* order->hold before it became the number of this hold */
	struct reel_ordered_count *next;
};

/* Returns the number of a new root. */
uint32_t reel_ordered_next_root(void);

/* Sets all ordered sections that were used in the hold back to their counts at its beginning. */
void reel_ordered_replay(struct reel_lane_hold *hold);
/* Ends the hold by a release. The hold around it takes its counts. */
void reel_ordered_release(struct reel_lane_hold *hold);
/* Frees the counts of a hold. The ordered sections may be gone. */
void reel_ordered_drop(struct reel_lane_hold *hold);

/*
 * Makes it an error if the section has turns of another root that are not reversed, and returns
 * whether that is so. Such turns would be counted together, and each root would wait for the turns
 * of the other one.
 */
bool reel_ordered_is_of_other_root(reel_lane *lane, reel_ordered *order);
/*
 * Keeps the count of an ordered section before its first change in a hold. The lane is in the
 * program's section, or has its turn, so no other lane looks at the section now.
 */
void reel_ordered_keep_count(reel_lane *lane, reel_ordered *order);

/*
 * The section whose turns the lane counts: the program's, or a reader's copy of it. NULL: no
 * memory, and the lane has that error.
 */
reel_ordered *reel_lane_ordered(reel_lane *lane, reel_ordered *order);
/* At the end of a root. */
void reel_lane_drop_copies(reel_lane *root);

#endif
