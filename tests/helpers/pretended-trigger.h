/* SPDX-License-Identifier: MIT */
/*
 * A trigger for memory pressure that the test raises: a socket with data out of band, which poll()
 * shows as it shows the kernel's trigger. It stays raised until the test lowers it.
 */
#ifndef TESTS_PRETENDED_TRIGGER_H
#define TESTS_PRETENDED_TRIGGER_H

#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/memory-pressure.h"

static struct {
	int library, test; /* the two ends */
} pretended = {-1, -1};

static inline bool raise_trigger(void)
{
	return send(pretended.test, "!", 1, MSG_OOB) == 1;
}

static inline void lower_trigger(void)
{
	char byte;

	while (recv(pretended.library, &byte, 1, MSG_OOB | MSG_DONTWAIT) > 0)
		;
}

/* The control group is removed. */
static inline void remove_trigger(void)
{
	close(pretended.test);
	pretended.test = -1;
}

/* False: sockets of this system have no data out of band. */
static inline bool open_trigger(struct reel_memory_pressure *pressure)
{
	int ends[2];

	*pressure = (struct reel_memory_pressure){.file = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return false;
	pressure->file = pretended.library = ends[0];
	reel_os_file_identify(ends[0], &pressure->identity);
	pretended.test = ends[1];
	if (raise_trigger()) {
		lower_trigger();
		return true;
	}
	reel_memory_pressure_close(pressure);
	remove_trigger();
	return false;
}

#endif
