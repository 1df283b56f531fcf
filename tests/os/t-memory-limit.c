/* SPDX-License-Identifier: MIT */
/*
 * The memory limit of the system is read from trees of files that pretend to be the kernel's. The
 * default pool obeys it in a real control group, if one can be made.
 */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/annotate.h"
#include "os/memory-limit.h"
#include "helpers/file-tree.h"
#include "helpers/pool-support.h"

#define MIB ((uint64_t)1 << 20)

/* ---- Trees that pretend to be the kernel's ---- */

static const struct {
	const char *what, *groups;
	struct {
		const char *path, *text;
	} file[4];
	uint64_t bytes; /* 0: the limit of the machine */
	const char *source; /* the end of its path */
} trees[] = {
	{"version 2, a group", "0::/batch/job\n",
	 {{"/batch/job/memory.max", "104857600\n"}}, 100 * MIB, "/batch/job/memory.max"},
	{"version 2, the group above has less", "0::/batch/job\n",
	 {{"/batch/job/memory.max", "104857600\n"}, {"/batch/memory.max", "52428800\n"}},
	 50 * MIB, "/cgroup/batch/memory.max"},
	{"version 2, memory.high is less", "0::/batch/job\n",
	 {{"/batch/job/memory.max", "104857600\n"}, {"/batch/job/memory.high", "94371840\n"}},
	 90 * MIB, "/batch/job/memory.high"},
	{"version 2, no limit", "0::/batch/job\n",
	 {{"/batch/job/memory.max", "max\n"}, {"/batch/job/memory.high", "max\n"}}, 0, ""},
	{"version 2, a container, whose group has another path inside", "0::/docker/1234\n",
	 {{"/memory.max", "83886080\n"}}, 80 * MIB, "/cgroup/memory.max"},
	{"version 2, the root of a container", "0::/\n",
	 {{"/memory.max", "83886080\n"}}, 80 * MIB, "/cgroup/memory.max"},
	{"version 1", "5:cpu,cpuacct:/other\n4:memory:/job\n0::/\n",
	 {{"/memory/job/memory.limit_in_bytes", "62914560\n"},
	  {"/memory/other/memory.limit_in_bytes", "1048576\n"},
	  {"/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
	 60 * MIB, "/memory/job/memory.limit_in_bytes"},
	{"version 1, among other controllers", "3:cpu,memory:/job\n",
	 {{"/memory/job/memory.limit_in_bytes", "62914560\n"}}, 60 * MIB, "/job/memory.limit_in_bytes"},
	{"version 1, no limit", "4:memory:/job\n",
	 {{"/memory/job/memory.limit_in_bytes", "9223372036854771712\n"}}, 0, ""},
	{"both versions", "4:memory:/job\n0::/job\n",
	 {{"/memory/job/memory.limit_in_bytes", "62914560\n"},
	  {"/unified/job/memory.max", "41943040\n"}}, 40 * MIB, "/unified/job/memory.max"},
	{"a group that cannot be read", "0::/gone\n", {{"/batch/memory.max", "1\n"}}, 0, ""},
	{"no groups", "\n0\n0:\n0::\n::relative\n4:memory\n", {{"/memory.max", "4096\n"}}, 0, ""},
	{"a limit that is no number", "0::/\n", {{"/memory.max", "much\n"}}, 0, ""},
};

static void limits_of_groups_are_found(void)
{
	struct reel_memory_limit machine, limit;
	char root[32];

	reel_memory_limit(&machine, "nowhere");
	ok(machine.bytes > 0 && machine.bytes < UINT64_MAX, "a machine has memory, %llu bytes",
	   (unsigned long long)machine.bytes);
	for (size_t t = 0; t < COUNT(trees); t++) {
		tap_case(trees[t].what);
		snprintf(root, sizeof root, "tree-%zu", t);
		write_file(trees[t].groups, "%s/proc/self/cgroup", root);
		for (size_t f = 0; f < COUNT(trees[t].file) && trees[t].file[f].path; f++)
			write_file(trees[t].file[f].text, "%s/sys/fs/cgroup%s", root,
				   trees[t].file[f].path);
		reel_memory_limit(&limit, root);
		is_int((long long)limit.bytes,
		       (long long)(trees[t].bytes ? trees[t].bytes : machine.bytes),
		       "the limit is the smallest one");
		if (trees[t].bytes)
			ok(ends_with(limit.source, trees[t].source), "read in %s", limit.source);
		else
			is_string(limit.source, machine.source,
				  "the limit was read where the machine's is");
	}
}

/* The names of a group and of those above it have at most 255 characters each. */
static void a_group_may_have_a_long_path(void)
{
	struct reel_memory_limit limit;
	char name[201], line[700];

	tap_case("a path of 603 characters");
	memset(name, 'p', 200);
	name[200] = '\0';
	snprintf(line, sizeof line, "0::/%s/%s/%s\n", name, name, name);
	write_file(line, "long/proc/self/cgroup");
	write_file("104857600\n", "long/sys/fs/cgroup/%s/%s/%s/memory.max", name, name, name);
	reel_memory_limit(&limit, "long");
	is_int((long long)limit.bytes, 100 * MIB, "the limit of the group is found");
}

static void a_limit_of_nothing_is_a_limit(void)
{
	struct reel_memory_limit limit;

	tap_case("memory.high is 0");
	write_file("0::/job\n", "none/proc/self/cgroup");
	write_file("0\n", "none/sys/fs/cgroup/job/memory.high");
	reel_memory_limit(&limit, "none");
	ok(!limit.bytes && limit.is_of_group, "the limit is 0");
	is_int((long long)reel_memory_share(&limit, 50), 1, "no share of it is without a bound");
}

static void ranks_share_a_limit(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
					    "MV2_COMM_WORLD_LOCAL_SIZE"};
	struct reel_memory_limit limit;

	tap_case("several ranks on a node");
	write_file("0::/batch/job\n", "ranks/proc/self/cgroup");
	write_file("104857600\n", "ranks/sys/fs/cgroup/batch/job/memory.max");
	for (size_t i = 0; i < COUNT(names); i++) {
		setenv(names[i], "4", 1);
		reel_memory_limit(&limit, "ranks");
		is_int((long long)limit.bytes, 25 * MIB, "%s divides the limit", names[i]);
		unsetenv(names[i]);
	}
	setenv(names[0], "none", 1);
	reel_memory_limit(&limit, "ranks");
	is_int((long long)limit.bytes, 100 * MIB, "a value that is no number does not divide it");
	unsetenv(names[0]);
}

static void the_address_space_is_a_limit(void)
{
	struct reel_memory_limit machine, limit;
	struct rlimit before, less;

	tap_case("RLIMIT_AS");
	reel_memory_limit(&machine, "nowhere");
	getrlimit(RLIMIT_AS, &before);
	less = before;
	less.rlim_cur = (rlim_t)machine.bytes - 1;
	if (is_emulated() || setrlimit(RLIMIT_AS, &less)) {
		tap_skip(2, "RLIMIT_AS: %s", is_emulated() ? "emulated" : strerror(errno));
		return;
	}
	reel_memory_limit(&limit, "nowhere");
	setrlimit(RLIMIT_AS, &before);
	is_int((long long)limit.bytes, (long long)machine.bytes - 1, "the address space is less");
	ok(strstr(limit.source, "RLIMIT_AS"), "%s", limit.source);
}

/* ---- A real control group ---- */

#define GROUP_LIMIT (192 * MIB)
#define TAPE_BYTES (320 * MIB)

static char group[600];

static bool write_to_group(const char *name, const char *text)
{
	char path[700];
	FILE *file;
	bool done;

	snprintf(path, sizeof path, "%s/%s", group, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	done = fputs(text, file) >= 0;
	return !fclose(file) && done;
}

/* Makes a control group of version 1 or 2 below the group of this process. */
static bool make_group(void)
{
	char line[512], limit[32], *path;
	FILE *file = fopen("/proc/self/cgroup", "r");

	snprintf(limit, sizeof limit, "%llu", (unsigned long long)GROUP_LIMIT);
	while (file && fgets(line, sizeof line, file)) {
		bool second = strstr(line, "::");

		line[strcspn(line, "\n")] = 0;
		path = second ? strstr(line, "::") + 2 : strstr(line, ":memory:");
		if (!path)
			continue;
		snprintf(group, sizeof group, "%s%s/reel-%d",
			 second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory",
			 second ? path : path + strlen(":memory:"), (int)getpid());
		if (mkdir(group, 0700))
			continue;
		if (write_to_group(second ? "memory.max" : "memory.limit_in_bytes", limit)) {
			fclose(file);
			return true;
		}
		rmdir(group);
	}
	if (file)
		fclose(file);
	return false;
}

static void a_pool_of_the_program_takes_its_share(void)
{
	struct reel_pool_options options = {.flags = REEL_POOL_OBEY_LIMITS};
	reel_pool *pool;

	is_int(reel_pool_open(&pool, &options), 0, "a pool with an automatic budget is opened");
	is_int((long long)stats_of(pool).hard_budget, GROUP_LIMIT / 100 * 50,
	       "the budget is half of the limit");
	reel_pool_close(pool);
}

/* Without a store a push is refused, and the process is not killed. */
static void push_more_than_the_group_has(void)
{
	const uint64_t n = TAPE_BYTES / sizeof(uint64_t);
	reel_tape tape = {0};
	uint64_t budget, kept;

	record_reports();
	push_words(&tape, 0, n);
	budget = stats_of(reel_pool_default()).hard_budget;
	is_int(reel_tape_error(&tape), -EDQUOT, "a push is refused");
	ok(strstr(reported.message, "REEL_SPILL_DIR"), "the text names the remedy: %s",
	   reported.message);
	ok(budget < GROUP_LIMIT / 10 * 9 && budget > GROUP_LIMIT / 2, "the budget is %llu",
	   (unsigned long long)budget);
	kept = reel_tape_bytes(&tape) / sizeof(uint64_t);
	ok(kept > n / 4, "%llu numbers are kept", (unsigned long long)kept);
	for (uint64_t i = n; i > kept; i--)
		(void)reel_pop(&tape, uint64_t);
	is_int(wrong_words(&tape, 0, kept), 0, "the kept numbers come back");
	reel_tape_close(&tape);
}

static void enter_group(void)
{
	char process[32];

	snprintf(process, sizeof process, "%d", (int)getpid());
	ok(write_to_group("cgroup.procs", process), "the process is in the group");
	unsetenv("REEL_BUDGET");
	unsetenv("REEL_STORE");
	unsetenv("REEL_SPILL_DIR");
}

static void use_more_than_the_group_has(void)
{
	const uint64_t n = TAPE_BYTES / sizeof(uint64_t);
	reel_tape tape = {0};

	setenv("REEL_SPILL_DIR", ".", 1);
	push_words(&tape, 0, n);
	is_int(reel_tape_error(&tape), 0, "a tape larger than its memory is pushed");
	is_int((long long)stats_of(reel_pool_default()).hard_budget, GROUP_LIMIT / 100 * 50,
	       "the budget is half of the limit");
	is_int(wrong_words(&tape, 0, n), 0, "the tape comes back");
	reel_tape_close(&tape);
	a_pool_of_the_program_takes_its_share();
}

/* The share of a rank is less than the process has already, as on a node with many ranks. */
static void have_no_share_left(void)
{
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1000", 1);
	is_int((long long)stats_of(reel_pool_default()).hard_budget, 2 * MIB,
	       "the budget is one slab, and not without a bound");
}

static void a_process_in_a_group_is_not_killed(void)
{
#ifdef REEL_THREAD_SANITIZER
	/* ThreadSanitizer takes several times the memory of the program. */
	const bool fits = false;
#else
	const bool fits = true;
#endif
	static const struct {
		void (*run)(void);
		const char *what;
	} bodies[] = {
		{use_more_than_the_group_has, "has a tape of 320 MiB"},
		{push_more_than_the_group_has, "has an error when a tape of 320 MiB has no room"},
		{have_no_share_left, "with a thousand ranks has a budget of a slab"},
	};

	tap_case("a control group");
	if (!fits || is_emulated() || !make_group()) {
		tap_skip(1, "no control group with a limit can be made here");
		return;
	}
	for (size_t b = 0; b < COUNT(bodies); b++) {
		pid_t child = fork();

		if (child == 0) {
			enter_group();
			bodies[b].run();
			tap_child_end();
		}
		ok(tap_child_passed(child), "a process in a group of 192 MiB %s", bodies[b].what);
	}
	rmdir(group);
}

int main(void)
{
	tap_begin();
	limits_of_groups_are_found();
	a_group_may_have_a_long_path();
	a_limit_of_nothing_is_a_limit();
	ranks_share_a_limit();
	the_address_space_is_a_limit();
	a_process_in_a_group_is_not_killed();
	return tap_end();
}
