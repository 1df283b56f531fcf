/* SPDX-License-Identifier: MIT */
/* Processes, as the files in /proc describe them. Any thread; no state. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cancel.h"
#include "os.h"
#include "process.h"

/* Linux has no more than 2^22 processes. */
#define NUMBER_BITS 24
#define NUMBER (((uint64_t)1 << NUMBER_BITS) - 1)

/*
 * The name of the program, in parentheses, may have any characters. The first thread of a process
 * may have ended ('Z') while others run, which count as threads.
 */
static int identify(pid_t process, const char *text, uint64_t *identity)
{
	const char *rest = strrchr(text, ')');
	uint64_t since;
	long threads;
	char state;

	if (!rest ||
	    sscanf(rest,
		   ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		   "%" SCNu64, &state, &threads, &since) != 3)
		return -EIO;
	*identity = since << NUMBER_BITS | ((uint64_t)process & NUMBER);
	return state == 'X' || (state == 'Z' && threads <= 1) ? -ESRCH : 0;
}

/* Returns 0; -ESRCH, the process has ended; or another error: the system does not tell. */
static int read_identity(pid_t process, uint64_t *identity)
{
	char path[32], text[512];
	int error;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)process);
	error = reel_os_read_text(path, text, sizeof text);
	if (error)
		return error == -ENOENT ? -ESRCH : error;
	return identify(process, text, identity);
}

uint64_t reel_process_identity(void)
{
	REEL_UNCANCELLED;
	uint64_t identity;

	return read_identity(getpid(), &identity) ? 0 : identity;
}

/* A process counts as running unless it is certain that it has ended. */
bool reel_process_runs(uint64_t identity)
{
	REEL_UNCANCELLED;
	uint64_t found = 0;
	int error = read_identity((pid_t)(identity & NUMBER), &found);

	return error ? error != -ESRCH : found == identity;
}

uint64_t reel_process_namespace(void)
{
	REEL_UNCANCELLED;
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : (uint64_t)status.st_ino;
}
