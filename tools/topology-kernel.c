/* SPDX-License-Identifier: MIT */
/* Caches and NUMA nodes of the machine from the files of the Linux kernel, for one processor. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "facts.h"
#include "kernel-file.h"
#include "topology.h"

enum {
	/* L1d, L1i, L2, L3, and room for other caches that a processor may list. */
	CACHE_INDEXES = 16,
	PATH_SIZE = 128,
};

static const char *cache_path(char path[PATH_SIZE], int cpu, int index, const char *file)
{
	snprintf(path, PATH_SIZE, "/sys/devices/system/cpu/cpu%d/cache/index%d/%s",
		 cpu, index, file);
	return path;
}

static bool holds_data(int cpu, int index)
{
	char path[PATH_SIZE];
	char type[32];

	return kernel_file_line(cache_path(path, cpu, index, "type"), type, sizeof(type)) &&
	       (strcmp(type, "Data") == 0 || strcmp(type, "Unified") == 0);
}

/* The kernel writes 0 for an unknown number. */
static long long positive(long long number)
{
	return number > 0 ? number : UNKNOWN;
}

static void read_cache(struct cache *cache, int cpu, int index)
{
	char path[PATH_SIZE];

	cache->bytes = positive(kernel_file_number(cache_path(path, cpu, index, "size")));
	cache->line_bytes = positive(
		kernel_file_number(cache_path(path, cpu, index, "coherency_line_size")));
	cache->ways = positive(
		kernel_file_number(cache_path(path, cpu, index, "ways_of_associativity")));
	cache->cpus = kernel_file_list_count(cache_path(path, cpu, index, "shared_cpu_list"));
}

void topology_from_kernel(struct topology *topology, int cpu)
{
	static const struct cache unknown = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	char path[PATH_SIZE];

	topology->numa_nodes = kernel_file_list_count("/sys/devices/system/node/online");
	for (int i = 0; i < CACHE_LEVELS; i++)
		topology->data_cache[i] = unknown;
	for (int index = 0; index < CACHE_INDEXES; index++) {
		long long level = kernel_file_number(cache_path(path, cpu, index, "level"));

		if (level >= 1 && level <= CACHE_LEVELS && holds_data(cpu, index))
			read_cache(&topology->data_cache[level - 1], cpu, index);
	}
}
