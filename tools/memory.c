/* SPDX-License-Identifier: MIT */
/* Memory of the command, which ends where there is none. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "verb.h"

void end_without_memory(void)
{
	fputs("reel: no memory\n", stderr);
	exit(EXIT_FAILURE);
}

void *need_memory(void *list, size_t bytes)
{
	list = realloc(list, bytes);
	if (!list)
		end_without_memory();
	return list;
}

void *grow(void *list, int count, int *room, size_t bytes)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 16;
	return need_memory(list, (size_t)*room * bytes);
}
