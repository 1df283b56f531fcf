/* SPDX-License-Identifier: MIT */
/*
 * The facts of "reel info" about processors, caches and memory. Caches belong to the first
 * processor that this process may run on.
 */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "info.h"
#include "kernel-file.h"
#include "topology.h"

struct affinity {
	long long cpus;
	int first;
};

static int first_cpu(const cpu_set_t *set, size_t bytes)
{
	for (size_t cpu = 0; cpu < 8 * bytes; cpu++)
		if (CPU_ISSET_S(cpu, bytes, set))
			return (int)cpu;
	return UNKNOWN;
}

/* The kernel refuses a set that is smaller than its own, and does not tell the size of its own. */
static bool read_affinity(struct affinity *affinity, size_t capacity)
{
	size_t bytes = CPU_ALLOC_SIZE(capacity);
	cpu_set_t *set = CPU_ALLOC(capacity);
	bool done = false;

	if (!set) {
		errno = ENOMEM;
		return false;
	}
	if (sched_getaffinity(0, bytes, set) == 0) {
		affinity->cpus = CPU_COUNT_S(bytes, set);
		affinity->first = first_cpu(set, bytes);
		done = true;
	}
	CPU_FREE(set);
	return done;
}

static struct affinity find_affinity(void)
{
	struct affinity affinity = { UNKNOWN, UNKNOWN };

	for (size_t capacity = 1024; capacity <= (size_t)1 << 20; capacity *= 2)
		if (read_affinity(&affinity, capacity) || errno != EINVAL)
			break;
	return affinity;
}

static long long cpus_per_core(int cpu)
{
	char path[128];

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	return kernel_file_list_count(path);
}

static void add_processors(struct facts *facts, const struct affinity *affinity)
{
	struct utsname system;

	facts_add_text(facts, "architecture", uname(&system) == 0 ? system.machine : NULL);
	facts_add_number(facts, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	facts_add_number(facts, "cpus_allowed", affinity->cpus);
	facts_add_number(facts, "cpus_per_core", cpus_per_core(affinity->first));
}

static void add_caches(struct facts *facts, const struct topology *topology)
{
	static const struct {
		const char *bytes, *line_bytes, *ways, *cpus;
	} names[CACHE_LEVELS] = {
		{ "l1d_bytes", "l1d_line_bytes", "l1d_ways", "l1d_shared_by_cpus" },
		{ "l2_bytes", "l2_line_bytes", "l2_ways", "l2_shared_by_cpus" },
		{ "l3_bytes", "l3_line_bytes", "l3_ways", "l3_shared_by_cpus" },
	};

	for (int i = 0; i < CACHE_LEVELS; i++) {
		const struct cache *cache = &topology->data_cache[i];

		facts_add_bytes(facts, names[i].bytes, cache->bytes);
		facts_add_bytes(facts, names[i].line_bytes, cache->line_bytes);
		facts_add_number(facts, names[i].ways, cache->ways);
		facts_add_number(facts, names[i].cpus, cache->cpus);
	}
}

static void add_topology(struct facts *facts, int cpu)
{
	struct topology topology;

	topology_from_kernel(&topology, cpu);
	facts_add_number(facts, "numa_nodes", topology.numa_nodes);
	add_caches(facts, &topology);
}

/* The kernel lists all modes, with the present mode in brackets. */
static void add_huge_page_mode(struct facts *facts)
{
	char line[128];
	char *mode = NULL;

	if (kernel_file_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		mode = strchr(line, '[');
	if (mode)
		mode = strtok(mode, "[]");
	facts_add_text(facts, "transparent_huge_pages", mode);
}

static long long huge_page_bytes(void)
{
	long long bytes = kernel_file_number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");

	return bytes > 0 ? bytes : kernel_memory_bytes("Hugepagesize");
}

static void add_memory(struct facts *facts)
{
	facts_add_bytes(facts, "memory_total_bytes", kernel_memory_bytes("MemTotal"));
	facts_add_bytes(facts, "memory_available_bytes", kernel_memory_bytes("MemAvailable"));
	facts_add_bytes(facts, "page_bytes", sysconf(_SC_PAGESIZE));
	facts_add_bytes(facts, "huge_page_bytes", huge_page_bytes());
	add_huge_page_mode(facts);
}

void add_machine_facts(struct facts *facts)
{
	struct affinity affinity = find_affinity();

	add_processors(facts, &affinity);
	add_topology(facts, affinity.first);
	add_memory(facts);
}
