/* SPDX-License-Identifier: MIT */
/*
 * Reel: the tape for reverse-mode automatic differentiation.
 *
 * reel/tape.h      push, pop, records, bits, spans, marks, errors: start here
 * reel/block.h     long loops reversed block by block, in the cache
 * reel/schedule.h  what to store and what to run again of a loop that is longer still
 * reel/run.h
 *                  and a driver that does it
 * reel/costs.h     which of the ways to reverse a loop takes the least time
 * reel/pool.h      where tapes get their memory: budgets, recycling, statistics
 * reel/store.h     where slabs go that have no room in memory: files, codecs, your own
 */
#ifndef REEL_H
#define REEL_H

#include <reel/version.h>
#include <reel/pool.h>
#include <reel/store.h>
#include <reel/tape.h>
#include <reel/block.h>
#include <reel/schedule.h>
#include <reel/run.h>
#include <reel/costs.h>

#endif
