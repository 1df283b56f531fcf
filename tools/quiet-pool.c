/* SPDX-License-Identifier: MIT */
/* The default pool, for verbs that only look at it. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "verb.h"

/* What the library does with these concerns the user's programs, not this command. */
static const char *const outputs[] = {"REEL_PROFILE", "REEL_STATS", "REEL_TRACE"};

enum { OUTPUTS = sizeof outputs / sizeof *outputs };

reel_pool *open_quiet_pool(void)
{
	char *kept[OUTPUTS];
	reel_pool *pool;

	for (int i = 0; i < OUTPUTS; i++) {
		const char *value = getenv(outputs[i]);

		kept[i] = value ? strdup(value) : NULL;
		unsetenv(outputs[i]);
	}
	pool = reel_pool_default();
	for (int i = 0; i < OUTPUTS; i++) {
		if (kept[i])
			setenv(outputs[i], kept[i], 1);
		free(kept[i]);
	}
	return pool;
}
