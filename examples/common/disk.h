/* SPDX-License-Identifier: MIT */
/*
 * The directory that --spill names.
 */
#ifndef EXAMPLES_DISK_H
#define EXAMPLES_DISK_H

#include <reel.h>
#include <reel/plan.h>

/* A store in the directory. Ends the program if there can be none. */
reel_store *disk_open(const char *directory);

/* Measures the bandwidths of a tier that is in the directory, in some hundredths of a second. */
void disk_measure(const char *directory, struct reel_cost_tier *tier);

#endif
