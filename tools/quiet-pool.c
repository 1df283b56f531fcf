/* SPDX-License-Identifier: MIT */
/* The default pool, for verbs that only look at it. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verb.h"

/* The user's programs write to the files that these name. This command must not overwrite it. */
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
	if (!pool)
		fprintf(stderr, "reel: %s\n", reel_error_text(0));
	for (int i = 0; i < OUTPUTS; i++) {
		if (kept[i])
			setenv(outputs[i], kept[i], 1);
		free(kept[i]);
	}
	return pool;
}
