/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "place.h"

#if defined(HAVE_HWLOC) && HAVE_HWLOC

#include <hwloc.h>

static bool describe(struct place *place, hwloc_topology_t machine)
{
	hwloc_obj_t cpu = hwloc_get_pu_obj_by_os_index(machine, (unsigned)place->cpu), core;

	if (!cpu)
		return false;
	core = hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_CORE, cpu);
	place->node = cpu->nodeset ? hwloc_bitmap_first(cpu->nodeset) : 0;
	place->core = (int)(core ? core : cpu)->logical_index;
	place->sibling = (int)cpu->logical_index;
	return true;
}

bool places_from_hwloc(struct places *places)
{
	hwloc_topology_t machine;
	bool known;

	if (hwloc_get_api_version() >> 16 != HWLOC_API_VERSION >> 16 ||
	    hwloc_topology_init(&machine) < 0)
		return false;
	/* HWLOC_XMLFILE and its like make hwloc describe another machine. */
	known = hwloc_topology_load(machine) == 0 && hwloc_topology_is_thissystem(machine);
	for (size_t i = 0; known && i < places->count; i++)
		known = describe(&places->place[i], machine);
	hwloc_topology_destroy(machine);
	if (known)
		places->source = "hwloc";
	return known;
}

#else

bool places_from_hwloc(struct places *places)
{
	(void)places;
	return false;
}

#endif
