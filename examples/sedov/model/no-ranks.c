/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "ranks.h"

struct ranks *ranks_begin(int *count, char ***arguments)
{
	(void)count;
	(void)arguments;
	return NULL;
}
