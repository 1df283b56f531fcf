/* SPDX-License-Identifier: MIT */
/*
 * The trigger on memory pressure is opened in trees of files that pretend to be the kernel's, is
 * raised by a socket, and is opened in the real kernel if it has one.
 */
#include <config.h>

#include <unistd.h>

#include "helpers/file-support.h"
#include "helpers/file-tree.h"
#include "helpers/pretended-trigger.h"

static const struct {
	const char *what, *groups, *file[2];
	const char *source; /* the end of its path */
} trees[] = {
	{"a group", "0::/batch/job\n", {"/sys/fs/cgroup/batch/job/memory.pressure",
					"/proc/pressure/memory"}, "/batch/job/memory.pressure"},
	{"a group beside version 1", "4:memory:/x\n0::/job\n",
	 {"/sys/fs/cgroup/unified/job/memory.pressure"}, "/unified/job/memory.pressure"},
	{"the root", "0::/\n", {"/sys/fs/cgroup/memory.pressure"}, "/cgroup/memory.pressure"},
	{"a container, whose group has another path inside", "0::/docker/1234\n",
	 {"/sys/fs/cgroup/memory.pressure"}, "/sys/fs/cgroup/memory.pressure"},
	{"version 1, whose groups have no pressure", "4:memory:/job\n",
	 {"/sys/fs/cgroup/memory/job/memory.pressure", "/proc/pressure/memory"},
	 "/proc/pressure/memory"},
	{"a group without the file", "0::/job\n", {"/proc/pressure/memory"},
	 "/proc/pressure/memory"},
	{"no file at all", "0::/job\n", {NULL}, ""},
	{"no groups", "\n0\n0:\n0::\n0::relative\n", {NULL}, ""},
};

static bool has_text(const char *path, const char *text, size_t bytes)
{
	char found[64] = "";
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(found, 1, sizeof found, file) : 0;

	if (file)
		fclose(file);
	return n == bytes && !memcmp(found, text, bytes);
}

static void the_trigger_of_the_nearest_group_is_opened(void)
{
	static const char text[] = "some 150000 2000000";
	struct reel_memory_pressure pressure;
	unsigned before = open_descriptors();
	char root[32];

	for (size_t t = 0; t < COUNT(trees); t++) {
		tap_case(trees[t].what);
		snprintf(root, sizeof root, "tree-%zu", t);
		write_file(trees[t].groups, "%s/proc/self/cgroup", root);
		for (size_t f = 0; f < COUNT(trees[t].file) && trees[t].file[f]; f++)
			write_file("some avg10=0.00\n", "%s%s", root, trees[t].file[f]);
		reel_memory_pressure_open(&pressure, root);
		if (*trees[t].source)
			ok(pressure.file >= 0 && ends_with(pressure.source, trees[t].source) &&
			   has_text(pressure.source, text, sizeof text),
			   "a trigger is written to %s", pressure.source);
		else
			ok(pressure.file == -1 && !*pressure.source, "there is no trigger");
		reel_memory_pressure_close(&pressure);
	}
	is_int(open_descriptors(), before, "no descriptor is left");
}

static void a_refused_trigger_is_none(void)
{
	struct reel_memory_pressure pressure;
	unsigned before = open_descriptors();

	tap_case("a kernel that refuses");
	write_file("0::/job\n", "refused/proc/self/cgroup");
	write_file("", "refused/proc/pressure/other");
	if (access("/dev/full", W_OK) || symlink("/dev/full", "refused/proc/pressure/memory")) {
		tap_skip(1, "nothing refuses a write here");
		return;
	}
	reel_memory_pressure_open(&pressure, "refused");
	ok(pressure.file == -1 && !*pressure.source && open_descriptors() == before,
	   "there is no trigger, and no descriptor is left");
}

static void an_event_is_seen(void)
{
	struct reel_memory_pressure pressure;

	tap_case("events");
	if (!open_trigger(&pressure)) {
		tap_skip(4, "sockets have no data out of band here");
		return;
	}
	is_int(reel_memory_pressure_look(&pressure), REEL_PRESSURE_NONE,
	       "there is no event at first");
	raise_trigger();
	is_int(reel_memory_pressure_look(&pressure), REEL_PRESSURE_RAISED, "an event is seen");
	lower_trigger();
	is_int(reel_memory_pressure_look(&pressure), REEL_PRESSURE_NONE, "an event is seen once");
	remove_trigger();
	is_int(reel_memory_pressure_look(&pressure), REEL_PRESSURE_GONE,
	       "no event will come when the group is removed");
	reel_memory_pressure_close(&pressure);
}

static void the_kernel_takes_the_trigger(void)
{
	struct reel_memory_pressure pressure;
	unsigned before = open_descriptors();

	tap_case("the kernel");
	reel_memory_pressure_open(&pressure, "");
	if (pressure.file < 0) {
		tap_skip(2, "this kernel has no trigger, or refuses it");
		return;
	}
	ok(reel_memory_pressure_look(&pressure) != REEL_PRESSURE_GONE, "a trigger on %s",
	   pressure.source);
	reel_memory_pressure_close(&pressure);
	is_int(open_descriptors(), before, "the trigger is closed");
}

int main(void)
{
	tap_begin();
	the_trigger_of_the_nearest_group_is_opened();
	a_refused_trigger_is_none();
	an_event_is_seen();
	the_kernel_takes_the_trigger();
	return tap_end();
}
