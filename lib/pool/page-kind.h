/* SPDX-License-Identifier: MIT */
/*
 * Chooses the pages of fresh frames, huge or small, by the time that the system last took for each
 * kind. A machine of one's own clears a huge page faster than 512 small pages. A virtual machine
 * whose host takes free memory back waits for the host: usually for each huge page, and for small
 * pages only if the system has no other ones left.
 */
#ifndef REEL_LIB_PAGE_KIND_H
#define REEL_LIB_PAGE_KIND_H

#include <stdatomic.h>
#include <stdint.h>

enum reel_page_kind { REEL_PAGES_HUGE, REEL_PAGES_SMALL, REEL_PAGE_KINDS };

struct reel_page_costs {
	/* Picoseconds a byte of the last timed block of each kind; 0: none was timed. */
	_Atomic uint32_t last[REEL_PAGE_KINDS];
	/* Number of trials since the other kind became the cheaper one. */
	_Atomic uint32_t trials;
	/* Number of timed blocks since then, or since the last trial. */
	_Atomic uint32_t blocks;
};

/* Costs of the machine, which all pools share. */
extern struct reel_page_costs reel_page_costs;

/* page-kind.c: any thread. Returns the kind that was cheaper last. Wait-free. */
enum reel_page_kind reel_page_kind_cheaper(struct reel_page_costs *costs);

/* Returns the kind of a block to be timed: the cheaper one, or from time to time the other one. */
enum reel_page_kind reel_page_kind_next(struct reel_page_costs *costs);

/* Notes that a block in pages of this kind took `picoseconds` a byte. */
void reel_page_kind_note(struct reel_page_costs *costs, enum reel_page_kind kind,
			 uint64_t picoseconds);

#endif
