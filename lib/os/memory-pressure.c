/* SPDX-License-Identifier: MIT */
/*
 * A trigger on the kernel's memory pressure. Any thread opens one; each belongs to one thread.
 * Groups of version 1 have no pressure, so their processes use the pressure of the whole system, as
 * do processes that may not write to the file of their group.
 */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cancel.h"
#include "memory-pressure.h"

#define MAX_PATH 512

/*
 * Microseconds: some thread waits for memory in 150 ms of 2 s. Without privileges the kernel takes
 * windows of whole 2 s only.
 */
#define TRIGGER "some 150000 2000000"
_Static_assert(REEL_PRESSURE_WINDOW_MS == 2000, "The window is that of the trigger.");

/* The kernel reads the text with the zero that ends it. False: no file, or no trigger. */
static bool set_trigger(struct reel_memory_pressure *pressure, const char *path)
{
	int file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (file >= 0 && write(file, TRIGGER, sizeof TRIGGER) != (ssize_t)sizeof TRIGGER) {
		close(file);
		return false;
	}
	file = file >= 0 ? reel_os_file_raise(file) : file;
	if (file < 0)
		return false;
	pressure->file = file;
	reel_os_file_identify(file, &pressure->identity);
	snprintf(pressure->source, sizeof pressure->source, "%s", path);
	return true;
}

static bool set_group_trigger(struct reel_memory_pressure *pressure, const char *root,
			      const char *hierarchy, const char *group)
{
	char path[MAX_PATH];

	return snprintf(path, sizeof path, "%s%s%s/memory.pressure", root, hierarchy, group) <
		       MAX_PATH &&
	       set_trigger(pressure, path);
}

/*
 * The line of version 2 is "0::path". In a container, the path may be that outside, of which the
 * container sees only the root.
 */
static bool set_trigger_of_line(struct reel_memory_pressure *pressure, const char *root, char *line)
{
	const char *group = line + strlen("0::");

	if (strncmp(line, "0::/", strlen("0::/")))
		return false;
	line[strcspn(line, "\n")] = 0;
	if (!strcmp(group, "/"))
		group = "";
	return set_group_trigger(pressure, root, "/sys/fs/cgroup", group) ||
	       set_group_trigger(pressure, root, "/sys/fs/cgroup/unified", group) ||
	       set_group_trigger(pressure, root, "/sys/fs/cgroup", "");
}

static bool set_trigger_of_group(struct reel_memory_pressure *pressure, const char *root)
{
	char path[MAX_PATH], line[MAX_PATH];
	bool is_set = false;
	FILE *file;

	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!is_set && fgets(line, sizeof line, file))
		is_set = set_trigger_of_line(pressure, root, line);
	fclose(file);
	return is_set;
}

void reel_memory_pressure_open(struct reel_memory_pressure *pressure, const char *root)
{
	REEL_UNCANCELLED;
	char path[MAX_PATH];

	*pressure = (struct reel_memory_pressure){.file = -1};
	if (set_trigger_of_group(pressure, root))
		return;
	snprintf(path, sizeof path, "%s/proc/pressure/memory", root);
	set_trigger(pressure, path);
}

enum reel_pressure_event reel_memory_pressure_look(const struct reel_memory_pressure *pressure)
{
	REEL_UNCANCELLED;
	struct pollfd trigger = {.fd = pressure->file, .events = POLLPRI};

	if (poll(&trigger, 1, 0) <= 0)
		return REEL_PRESSURE_NONE;
	if (trigger.revents & (POLLERR | POLLHUP | POLLNVAL))
		return REEL_PRESSURE_GONE;
	return REEL_PRESSURE_RAISED;
}

void reel_memory_pressure_close(struct reel_memory_pressure *pressure)
{
	REEL_UNCANCELLED;

	if (pressure->file >= 0)
		reel_os_file_close_if(pressure->file, &pressure->identity);
	pressure->file = -1;
}
