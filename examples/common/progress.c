/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH 40

static int enabled;
static int shown = -1;

void progress_enable(void)
{
	enabled = isatty(STDERR_FILENO);
}

void progress_show(const char *task, int done, int total)
{
	char bar[BAR_WIDTH + 1];
	int percent = (int)(100.0 * done / total);

	if (!enabled || percent == shown)
		return;
	shown = percent;
	for (int k = 0; k < BAR_WIDTH; k++)
		bar[k] = k * 100 < percent * BAR_WIDTH ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r%-16s [%s] %3d %%", task, bar, percent);
}

void progress_clear(void)
{
	if (enabled && shown >= 0)
		fprintf(stderr, "\r%*s\r", BAR_WIDTH + 26, "");
	shown = -1;
}
