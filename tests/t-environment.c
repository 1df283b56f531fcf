/* SPDX-License-Identifier: MIT */
/* The default pool is opened once in a process, so each case is a child of its own. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "pool-support.h"

static const struct {
	const char *text;
	int error;
	size_t bytes;
} parsed[] = {
	{"0", 0, 0},
	{"1", 0, 1},
	{"4096", 0, 4096},
	{"007", 0, 7},
	{"3K", 0, (size_t)3 << 10},
	{"512M", 0, (size_t)512 << 20},
	{"4G", 0, (size_t)4 << 30},
	{"2T", 0, (size_t)2 << 40},
	{"16777215T", 0, SIZE_MAX - (((size_t)1 << 40) - 1)},
	{"16777216T", -ERANGE, 0},
	{"18446744073709551615", 0, SIZE_MAX},
	{"18446744073709551616", -ERANGE, 0},
	{"99999999999999999999K", -ERANGE, 0},
	{"", -EINVAL, 0},
	{" 1", -EINVAL, 0},
	{"-1", -EINVAL, 0},
	{"+1", -EINVAL, 0},
	{"K", -EINVAL, 0},
	{"1k", -EINVAL, 0},
	{"1KK", -EINVAL, 0},
	{"1KB", -EINVAL, 0},
	{"1 K", -EINVAL, 0},
	{"1.5G", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"all", -EINVAL, 0},
};

static void numbers_of_bytes_are_parsed(void)
{
	for (size_t i = 0; i < sizeof parsed / sizeof *parsed; i++) {
		size_t bytes = 12345;
		int error = reel_parse_bytes(parsed[i].text, &bytes);

		ok(error == parsed[i].error && bytes == (error ? 12345 : parsed[i].bytes),
		   "\"%s\" is %zu bytes or error %d", parsed[i].text, parsed[i].bytes,
		   parsed[i].error);
	}
}

#define BYTES "it must be bytes, or a number with K, M, G or T"
#define ROOM "it must have room for one slab of 2M"
#define RANGE "it is more than can be addressed"
#define SWITCH "it must be 0 or 1"

static const struct {
	const char *budget;
	const char *checked;
	uint64_t hard_budget;
	unsigned flags;
	const char *said;
} cases[] = {
	{NULL, NULL, UINT64_MAX, 0, ""},
	{"", "", UINT64_MAX, 0, ""},
	{"0", "0", UINT64_MAX, 0, ""},
	{"2M", NULL, (uint64_t)2 << 20, 0, ""},
	{"2097152", "1", (uint64_t)2 << 20, REEL_POOL_CHECKED, ""},
	{"2T", NULL, (uint64_t)2 << 40, 0, ""},
	{NULL, "1", UINT64_MAX, REEL_POOL_CHECKED, ""},
	{"2097151", NULL, UINT64_MAX, 0, "reel: REEL_BUDGET=2097151 is ignored: " ROOM "\n"},
	{"1M", "1", UINT64_MAX, REEL_POOL_CHECKED, "reel: REEL_BUDGET=1M is ignored: " ROOM "\n"},
	{"4 GB", NULL, UINT64_MAX, 0, "reel: REEL_BUDGET=4 GB is ignored: " BYTES "\n"},
	{"-4G", NULL, UINT64_MAX, 0, "reel: REEL_BUDGET=-4G is ignored: " BYTES "\n"},
	{"99999999T", NULL, UINT64_MAX, 0, "reel: REEL_BUDGET=99999999T is ignored: " RANGE "\n"},
	{"4G", "yes", (uint64_t)4 << 30, 0, "reel: REEL_CHECKED=yes is ignored: " SWITCH "\n"},
	{"no", "2", UINT64_MAX, 0,
	 "reel: REEL_BUDGET=no is ignored: " BYTES "\n"
	 "reel: REEL_CHECKED=2 is ignored: " SWITCH "\n"},
};

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void said_on_stderr(char *text, size_t size, int file)
{
	ssize_t length = pread(file, text, size - 1, 0);

	text[length > 0 ? length : 0] = '\0';
}

static void use_default_pool(size_t i)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char text[512];
	reel_pool *pool;

	set_variable("REEL_BUDGET", cases[i].budget);
	set_variable("REEL_CHECKED", cases[i].checked);
	dup2(file, STDERR_FILENO);
	pool = reel_pool_default();
	reel_pool_default();
	said_on_stderr(text, sizeof text, file);
	is_string(text, cases[i].said, "what is said on stderr");
	is_int(stats_of(pool).hard_budget, cases[i].hard_budget, "the hard budget");
	is_int(pool->flags & REEL_POOL_CHECKED, cases[i].flags, "checked mode");
}

static void the_default_pool_is_configured_by_the_environment(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		pid_t child = fork();

		if (child == 0) {
			use_default_pool(i);
			tap_child_end();
		}
		ok(tap_child_passed(child), "REEL_BUDGET=%s REEL_CHECKED=%s",
		   cases[i].budget ? cases[i].budget : "(none)",
		   cases[i].checked ? cases[i].checked : "(none)");
	}
}

static void a_change_of_the_environment_comes_too_late(void)
{
	pid_t child = fork();

	if (child == 0) {
		reel_pool_default();
		setenv("REEL_BUDGET", "2M", 1);
		is_int(stats_of(reel_pool_default()).hard_budget, UINT64_MAX, "the first budget");
		tap_child_end();
	}
	ok(tap_child_passed(child), "the environment is read at the first use only");
}

#define THREADS 8

static pthread_barrier_t start;
static reel_pool *seen[THREADS];

static void *meet_the_default_pool(void *number)
{
	pthread_barrier_wait(&start);
	seen[*(unsigned *)number] = reel_pool_default();
	return NULL;
}

static void threads_agree_on_the_default_pool(void)
{
	bool agree = true;

	pthread_barrier_init(&start, NULL, THREADS);
	run_threads(THREADS, meet_the_default_pool);
	for (int i = 0; i < THREADS; i++)
		agree &= seen[i] && seen[i] == seen[0];
	ok(agree, "threads that come at once get the same default pool");
	is_int(reel_pool_close(seen[0]), -EPERM, "which cannot be closed");
	pthread_barrier_destroy(&start);
}

/* Every thread key is in use, so that no pool can be opened. */
static void the_default_pool_is_tried_again(void)
{
	static pthread_key_t key[2 * PTHREAD_KEYS_MAX];
	pid_t child = fork();
	int n = 0;

	if (child == 0) {
		while (!pthread_key_create(&key[n], NULL))
			n++;
		is_pointer(reel_pool_default(), NULL, "there is none for want of a thread key");
		pthread_key_delete(key[0]);
		ok(reel_pool_default(), "there is one when a key is free");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a default pool that could not be opened is tried again");
}

/* The last one opens the default pool of this process. */
int main(void)
{
	tap_begin();
	numbers_of_bytes_are_parsed();
	the_default_pool_is_configured_by_the_environment();
	a_change_of_the_environment_comes_too_late();
	the_default_pool_is_tried_again();
	threads_agree_on_the_default_pool();
	return tap_end();
}
