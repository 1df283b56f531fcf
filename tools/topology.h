/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_TOPOLOGY_H
#define REEL_TOOLS_TOPOLOGY_H

#include <stdbool.h>

enum { CACHE_LEVELS = 3 };

/* What is not known is UNKNOWN (facts.h). */
struct cache {
	long long bytes;
	long long line_bytes;
	long long ways;
	long long cpus;		/* that share it */
};

struct topology {
	const char *source;	/* who told */
	long long numa_nodes;
	struct cache data_cache[CACHE_LEVELS];	/* of one processor; L1 first */
};

/* From hwloc where the command was built with it and it describes this machine. */
bool topology_from_hwloc(struct topology *topology, int cpu);

/* From the kernel; what it does not tell stays unknown. */
void topology_from_kernel(struct topology *topology, int cpu);

#endif
