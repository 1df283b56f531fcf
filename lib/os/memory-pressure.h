/* SPDX-License-Identifier: MIT */
/* Whether threads have to wait because the system is short of memory (PSI of Linux). */
#ifndef REEL_LIB_MEMORY_PRESSURE_H
#define REEL_LIB_MEMORY_PRESSURE_H

#include "os-file.h"

/* The kernel raises at most one event in this time. */
#define REEL_PRESSURE_WINDOW_MS 2000

struct reel_memory_pressure {
	int file;         /* -1: there is no trigger */
	struct reel_os_file_identity identity;
	char source[512]; /* the file with the trigger, or "" */
};

enum reel_pressure_event {
	REEL_PRESSURE_NONE,
	REEL_PRESSURE_RAISED, /* threads have waited for memory since the last look */
	REEL_PRESSURE_GONE    /* the control group was removed: there will be no more events */
};

/* ---- Exported as REEL_PRIVATE ------------------------------------------------ */

/*
 * Opens a trigger on memory.pressure of the control group of this process (version 2), else on
 * /proc/pressure/memory. There is none where the kernel has none, or refuses it; this is no error.
 * `root` is "", or a directory in which a test pretends proc/ and sys/. Any thread. Cost: some
 * files are opened.
 */
void reel_memory_pressure_open(struct reel_memory_pressure *pressure, const char *root);

/* Takes the event, without waiting. One thread at a time. Cost: a system call. */
enum reel_pressure_event reel_memory_pressure_look(const struct reel_memory_pressure *pressure);

/* Also in the child of a fork, where the parent's trigger stays as it is. */
void reel_memory_pressure_close(struct reel_memory_pressure *pressure);

#endif
