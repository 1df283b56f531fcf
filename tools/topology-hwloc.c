/* SPDX-License-Identifier: MIT */
/*
 * Caches and NUMA nodes of the machine from hwloc, for one processor. In a build without hwloc the
 * function only returns false, and topology-kernel.c is used.
 */
#include "config.h"

#include "topology.h"

#if defined(HAVE_HWLOC) && HAVE_HWLOC

#include <hwloc.h>

#include "facts.h"

static const hwloc_obj_type_t cache_types[CACHE_LEVELS] = {
	HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
};

static bool headers_match_library(void)
{
	return hwloc_get_api_version() >> 16 == HWLOC_API_VERSION >> 16;
}

/* A fully associative cache has one set, so its number of ways is its number of lines. */
static long long ways(const struct hwloc_cache_attr_s *cache)
{
	if (cache->associativity > 0)
		return cache->associativity;
	if (cache->associativity < 0 && cache->linesize > 0 && cache->size > 0)
		return (long long)(cache->size / cache->linesize);
	return UNKNOWN;
}

static struct cache describe_cache(hwloc_obj_t object)
{
	struct cache cache = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	const struct hwloc_cache_attr_s *found;

	if (!object)
		return cache;
	found = &object->attr->cache;
	if (found->size)
		cache.bytes = (long long)found->size;
	if (found->linesize)
		cache.line_bytes = found->linesize;
	cache.ways = ways(found);
	cache.cpus = hwloc_bitmap_weight(object->cpuset);
	return cache;
}

static void describe(struct topology *topology, hwloc_topology_t machine, hwloc_obj_t cpu)
{
	topology->source = "hwloc";
	topology->numa_nodes = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_NUMANODE);
	for (int i = 0; i < CACHE_LEVELS; i++)
		topology->data_cache[i] = describe_cache(
			hwloc_get_ancestor_obj_by_type(machine, cache_types[i], cpu));
}

/* Loads the whole machine; the affinity, a fact of its own, tells what this process may use. */
static bool load(hwloc_topology_t machine)
{
	return hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
	       hwloc_topology_load(machine) == 0;
}

bool topology_from_hwloc(struct topology *topology, int cpu)
{
	hwloc_topology_t machine;
	hwloc_obj_t object = NULL;

	if (!headers_match_library() || cpu < 0 || hwloc_topology_init(&machine) < 0)
		return false;
	/* Variables such as HWLOC_XMLFILE make hwloc describe another machine. */
	if (load(machine) && hwloc_topology_is_thissystem(machine))
		object = hwloc_get_pu_obj_by_os_index(machine, (unsigned)cpu);
	if (object)
		describe(topology, machine, object);
	hwloc_topology_destroy(machine);
	return object != NULL;
}

#else

bool topology_from_hwloc(struct topology *topology, int cpu)
{
	(void)topology;
	(void)cpu;
	return false;
}

#endif
