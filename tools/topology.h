/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_TOPOLOGY_H
#define REEL_TOOLS_TOPOLOGY_H

enum { CACHE_LEVELS = 3 };

/* Members that are not known are UNKNOWN (facts.h). */
struct cache {
	long long bytes;
	long long line_bytes;
	long long ways;
	long long cpus;		/* number of processors that share the cache */
};

struct topology {
	long long numa_nodes;
	struct cache data_cache[CACHE_LEVELS];	/* of one processor; L1 first */
};

/* Asks the kernel; members that it does not tell are UNKNOWN. */
void topology_from_kernel(struct topology *topology, int cpu);

#endif
