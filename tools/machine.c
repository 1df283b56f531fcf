/* SPDX-License-Identifier: MIT */
/* The facts of "reel info" about processors and memory. */
#include "config.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "info.h"
#include "kernel-file.h"

/* The kernel refuses a set that is smaller than its own, and does not tell the size of its own. */
static bool count_allowed(long long *cpus, size_t capacity)
{
	size_t bytes = CPU_ALLOC_SIZE(capacity);
	cpu_set_t *set = CPU_ALLOC(capacity);
	bool done = false;

	if (!set) {
		errno = ENOMEM;
		return false;
	}
	if (sched_getaffinity(0, bytes, set) == 0) {
		*cpus = CPU_COUNT_S(bytes, set);
		done = true;
	}
	CPU_FREE(set);
	return done;
}

static long long cpus_allowed(void)
{
	long long cpus = UNKNOWN;

	for (size_t capacity = 1024; capacity <= (size_t)1 << 20; capacity *= 2)
		if (count_allowed(&cpus, capacity) || errno != EINVAL)
			break;
	return cpus;
}

static void add_processors(struct facts *facts)
{
	struct utsname system;

	facts_add_text(facts, "architecture", uname(&system) == 0 ? system.machine : NULL);
	facts_add_number(facts, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	facts_add_number(facts, "cpus_allowed", cpus_allowed());
	facts_add_number(facts, "numa_nodes",
			 kernel_file_list_count("/sys/devices/system/node/online"));
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
	add_processors(facts);
	add_memory(facts);
}
