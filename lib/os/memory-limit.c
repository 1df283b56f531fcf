/* SPDX-License-Identifier: MIT */
/*
 * Finds the limit of memory that a batch system or a container has set. Any thread; no state.
 *
 * In a container, /proc may name a group by its path outside, of which the container sees only the
 * root. So files that are not there are passed over, and the root of each hierarchy is also read.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cancel.h"
#include "environment.h"
#include "memory-limit.h"

/* More ranks on a node are a mistake. */
#define MAX_RANKS 65536

static void bound(struct reel_memory_limit *limit, uint64_t bytes, const char *source)
{
	if (bytes >= limit->bytes)
		return;
	limit->bytes = bytes;
	limit->is_of_group = false;
	snprintf(limit->source, sizeof limit->source, "%s", source);
}

/* ---- Control groups ---- */

/* A file has a number, or "max". Version 1 writes a number beyond all memory for "max". */
static void bound_by_file(struct reel_memory_limit *limit, const char *path)
{
	FILE *file = fopen(path, "re");
	uint64_t bytes;

	if (!file)
		return;
	if (fscanf(file, "%" SCNu64, &bytes) == 1 && bytes < limit->bytes) {
		bound(limit, bytes, path);
		limit->is_of_group = true;
	}
	fclose(file);
}

/* Reads the file of the group and of all groups above it. */
static void bound_by_groups(struct reel_memory_limit *limit, const char *root,
			    const char *hierarchy, const char *group, const char *name)
{
	size_t top = strlen(root) + strlen(hierarchy);
	size_t size = top + strlen(group) + strlen(name) + 2;
	char *path = malloc(size), *end;

	if (!path)
		return;
	snprintf(path, size, "%s%s%s", root, hierarchy, group);
	end = path + strlen(path);
	for (;;) {
		snprintf(end, size - (size_t)(end - path), "/%s", name);
		bound_by_file(limit, path);
		if (end == path + top)
			break;
		*end = 0;
		end = strrchr(path, '/');
	}
	free(path);
}

static const struct {
	const char *hierarchy;
	unsigned version;
	const char *file;
} places[] = {
	{"/sys/fs/cgroup", 2, "memory.max"},
	{"/sys/fs/cgroup", 2, "memory.high"},
	{"/sys/fs/cgroup/unified", 2, "memory.max"},
	{"/sys/fs/cgroup/unified", 2, "memory.high"},
	{"/sys/fs/cgroup/memory", 1, "memory.limit_in_bytes"},
};

static bool lists_memory(char *controllers)
{
	char *rest = NULL;
	const char *controller = strtok_r(controllers, ",", &rest);

	while (controller && strcmp(controller, "memory"))
		controller = strtok_r(NULL, ",", &rest);
	return controller;
}

/* A line is "number:controllers:path"; version 2 has no controllers. */
static void bound_by_line(struct reel_memory_limit *limit, const char *root, char *line)
{
	char *controllers = strchr(line, ':'), *path;
	unsigned version;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path || path[1] != '/')
		return;
	*path++ = 0;
	path[strcspn(path, "\n")] = 0;
	version = controllers[1] ? 1 : 2;
	if (version == 1 && !lists_memory(controllers + 1))
		return;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (places[i].version == version)
			bound_by_groups(limit, root, places[i].hierarchy,
					strcmp(path, "/") ? path : "", places[i].file);
	}
}

static void bound_by_control_groups(struct reel_memory_limit *limit, const char *root)
{
	char path[512], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&line, &room, file) > 0)
		bound_by_line(limit, root, line);
	free(line);
	fclose(file);
}

/* ---- All limits ---- */

static void bound_by_address_space(struct reel_memory_limit *limit)
{
	struct rlimit space;

	if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY)
		bound(limit, space.rlim_cur, "RLIMIT_AS (ulimit -v)");
}

static void bound_by_physical_memory(struct reel_memory_limit *limit)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	if (pages > 0 && page > 0)
		bound(limit, (uint64_t)pages * (uint64_t)page, "the physical memory");
}

/* The number of ranks on this node, as the mpirun of Open MPI, MPICH or MVAPICH2 tells it. */
static unsigned ranks_of_node(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					    "MV2_COMM_WORLD_LOCAL_SIZE"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = reel_environment(names[i]);
		unsigned long ranks = text ? strtoul(text, NULL, 10) : 0;

		if (ranks > 0 && ranks <= MAX_RANKS)
			return (unsigned)ranks;
	}
	return 1;
}

/* All ranks of a node have one memory, and mostly one control group. */
static void divide_by_ranks(struct reel_memory_limit *limit)
{
	unsigned ranks = ranks_of_node();
	size_t length = strlen(limit->source);

	if (ranks == 1 || limit->bytes == UINT64_MAX)
		return;
	limit->bytes /= ranks;
	snprintf(limit->source + length, sizeof limit->source - length, ", divided by %u ranks",
		 ranks);
}

void reel_memory_limit(struct reel_memory_limit *limit, const char *root)
{
	REEL_UNCANCELLED;

	*limit = (struct reel_memory_limit){.bytes = UINT64_MAX};
	bound_by_physical_memory(limit);
	bound_by_control_groups(limit, root);
	limit->node_bytes = limit->bytes;
	divide_by_ranks(limit);
	bound_by_address_space(limit);
}

uint64_t reel_memory_resident(void)
{
	REEL_UNCANCELLED;
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;
	long page = sysconf(_SC_PAGESIZE);

	if (!file)
		return 0;
	if (fscanf(file, "%*u %" SCNu64, &pages) != 1 || page <= 0)
		pages = 0;
	fclose(file);
	return pages * (uint64_t)page;
}

size_t reel_memory_share(const struct reel_memory_limit *limit, unsigned percent)
{
	uint64_t bytes = limit->bytes / 100 * percent;

	if (limit->bytes == UINT64_MAX)
		return 0;
	/* A budget of 0 would have no bound. */
	return bytes > SIZE_MAX ? SIZE_MAX : bytes ? (size_t)bytes : 1;
}
