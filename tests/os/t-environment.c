/* SPDX-License-Identifier: MIT */
/* The default pool is opened once in a process, so each case is a child of its own. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/auxv.h>
#endif

#include "os/environment.h"
#include "os/error.h"
#include "os/memory-limit.h"
#include "os/numerals.h"
#include "helpers/comma-locale.h"
#include "helpers/pool-support.h"
#include "helpers/process-support.h"
#include "os/annotate.h"
#include "helpers/recurrence.h"

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
#if SIZE_MAX > UINT32_MAX
	{"4G", 0, (size_t)4 << 30},
	{"2T", 0, (size_t)2 << 40},
	{"16777215T", 0, SIZE_MAX - (((size_t)1 << 40) - 1)},
	{"16777216T", -ERANGE, 0},
	{"18446744073709551615", 0, SIZE_MAX},
#else
	{"3G", 0, (size_t)3 << 30},
	{"4G", -ERANGE, 0},
	{"1T", -ERANGE, 0},
	{"4294967295", 0, SIZE_MAX},
	{"18446744073709551615", -ERANGE, 0},
#endif
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
	{"1.5K", 0, 1536},
	{"0.25M", 0, (size_t)256 << 10},
	{"1.99999999K", 0, 2047},
	{"1.5", -EINVAL, 0},
	{"1.G", -EINVAL, 0},
	{".5G", -EINVAL, 0},
	{"1.5.5G", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"all", -EINVAL, 0},
};

static void said_on_stderr(char *text, size_t size, int file)
{
	ssize_t length = pread(file, text, size - 1, 0);

	text[length > 0 ? length : 0] = '\0';
}

static void equal_reports_are_one_line(void)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600), before = dup(STDERR_FILENO);
	char text[512];

	dup2(file, STDERR_FILENO);
	for (int i = 0; i < 100; i++)
		reel_report(NULL, -EDQUOT, "no room");
	reel_report(NULL, -EDQUOT, "no time");
	dup2(before, STDERR_FILENO);
	said_on_stderr(text, sizeof text, file);
	is_string(text, "reel: no room\nreel: the same 99 times more\nreel: no time\n",
		  "equal reports are counted");
	close(before);
	close(file);
}

static void numbers_have_a_decimal_point_in_each_locale(void)
{
	char *end;

	if (!use_comma_locale()) {
		tap_skip(4, "no locale with a decimal comma can be made here");
		return;
	}
	is_double(reel_parse_number("0.5s", &end), 0.5, "a number has a point, whatever the locale");
	is_string(end, "s", "a number is read to its end");
	reel_fail(-EINVAL, "%g seconds", 1.25);
	is_string(reel_error_text(-EINVAL), "1.25 seconds",
		  "a number in a text has a point, whatever the locale");
	is_string(localeconv()->decimal_point, ",", "the program keeps its locale");
	setlocale(LC_NUMERIC, "C");
	unsetenv("LOCPATH");
}

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

#define BYTES "it must be bytes, a number with K, M, G or T, a percentage or auto"
#define ROOM "it must have room for one slab"
#define RANGE "it is more than can be addressed"
#define SWITCH "reel: REEL_CHECKED=%s is ignored: it must be 0 or 1\n"

/* Percentage of what the system allows. */
#define AUTO 50
#define OF_LIMIT(percent) (UINT64_MAX - 100 + (percent))

static uint64_t percent_of_limit(unsigned percent)
{
	struct reel_memory_limit limit;

	reel_memory_limit(&limit, "");
	return limit.bytes / 100 * percent;
}

static const struct {
	const char *budget;
	const char *checked;
	uint64_t hard_budget;
	unsigned flags;
	const char *problem; /* why the budget is refused; auto is used then */
	const char *said;
} cases[] = {
	{NULL, NULL, UINT64_MAX, 0, NULL, ""},
	{"", "", UINT64_MAX, 0, NULL, ""},
	{"0", "0", OF_LIMIT(AUTO), 0, ROOM, ""},
	{"0K", NULL, OF_LIMIT(AUTO), 0, ROOM, ""},
	{"2M", NULL, (uint64_t)2 << 20, 0, NULL, ""},
	{"2097152", "1", (uint64_t)2 << 20, REEL_POOL_CHECKED, NULL, ""},
	{"auto", NULL, OF_LIMIT(AUTO), 0, NULL, ""},
	{"60%", NULL, OF_LIMIT(60), 0, NULL, ""},
	{"7%", NULL, OF_LIMIT(7), 0, NULL, ""},
	{"95%", NULL, OF_LIMIT(95), 0, NULL, ""},
	{"96%", NULL, OF_LIMIT(AUTO), 0, " allows ", ""},
#if SIZE_MAX > UINT32_MAX
	{"8191T", NULL, OF_LIMIT(AUTO), 0, " allows ", ""},
#else
	{"4G", NULL, OF_LIMIT(AUTO), 0, RANGE, ""},
#endif
	{NULL, "1", UINT64_MAX, REEL_POOL_CHECKED, NULL, ""},
	{"2097151", NULL, OF_LIMIT(AUTO), 0, ROOM, ""},
	{"1M", "1", OF_LIMIT(AUTO), REEL_POOL_CHECKED, ROOM, ""},
	{"4 GB", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"-4G", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"0%", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"101%", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"-5%", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"60%%", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"%", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"automatic", NULL, OF_LIMIT(AUTO), 0, BYTES, ""},
	{"99999999T", NULL, OF_LIMIT(AUTO), 0, RANGE, ""},
	{"300M", "yes", (uint64_t)300 << 20, 0, NULL, SWITCH},
	{"no", "2", OF_LIMIT(AUTO), 0, BYTES, SWITCH},
};

static uint64_t wanted_budget(size_t i)
{
	uint64_t wanted = cases[i].hard_budget;

	return wanted < OF_LIMIT(1) || wanted == UINT64_MAX
		       ? wanted
		       : percent_of_limit((unsigned)(wanted - OF_LIMIT(0)));
}

/* Checks the line about a refused budget, and returns the text behind it. */
static const char *behind_the_problem(size_t i, const char *text)
{
	char begins[128], ends[64];
	const char *line_end = strchr(text, '\n');

	if (!cases[i].problem)
		return text;
	snprintf(begins, sizeof begins, "reel: REEL_BUDGET=%s is ignored: ", cases[i].budget);
	snprintf(ends, sizeof ends, "; auto is used now, %llu bytes\n",
		 (unsigned long long)percent_of_limit(AUTO));
	ok(!strncmp(text, begins, strlen(begins)) && strstr(text, cases[i].problem),
	   "the budget is refused: %s", text);
	ok(line_end && strstr(text, ends) == line_end + 1 - strlen(ends),
	   "the line ends with the budget that is used");
	return line_end ? line_end + 1 : text;
}

static void set_variable(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void use_default_pool(size_t i)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char text[512], said[128];
	reel_pool *pool;

	set_variable("REEL_BUDGET", cases[i].budget);
	set_variable("REEL_CHECKED", cases[i].checked);
	dup2(file, STDERR_FILENO);
	pool = reel_pool_default();
	reel_pool_default();
	said_on_stderr(text, sizeof text, file);
	snprintf(said, sizeof said, cases[i].said, cases[i].checked);
	is_string(behind_the_problem(i, text), said, "the other text on stderr");
	is_int(stats_of(pool).hard_budget, wanted_budget(i), "the hard budget");
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

static const struct {
	const char *slab, *pages;
	size_t slab_bytes;
	unsigned flags;
	const char *said;
} slabs[] = {
	{"64K", "small", (size_t)64 << 10, REEL_POOL_SMALL_PAGES, ""},
	{"2M", "huge", (size_t)2 << 20, REEL_POOL_HUGE_PAGES, ""},
	{"320K", "", (size_t)320 << 10, 0, ""},
	{"3M", NULL, (size_t)2 << 20, 0,
	 "reel: REEL_SLAB=3M is ignored: it must be bytes, a multiple of 64K of at most 2M\n"},
	{"96K", NULL, (size_t)2 << 20, 0,
	 "reel: REEL_SLAB=96K is ignored: it must be bytes, a multiple of 64K of at most 2M\n"},
	{NULL, "large", (size_t)2 << 20, 0,
	 "reel: REEL_PAGES=large is ignored: it must be huge or small\n"},
};

/* A budget of a megabyte has room for small slabs only. */
static void use_slabs(size_t i)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char text[512];
	reel_pool *pool;

	set_variable("REEL_SLAB", slabs[i].slab);
	set_variable("REEL_PAGES", slabs[i].pages);
	set_variable("REEL_BUDGET", slabs[i].slab_bytes < (size_t)1 << 20 ? "1M" : NULL);
	dup2(file, STDERR_FILENO);
	pool = reel_pool_default();
	said_on_stderr(text, sizeof text, file);
	is_string(text, slabs[i].said, "the text on stderr");
	is_int(stats_of(pool).slab_bytes, slabs[i].slab_bytes, "the size of slabs");
	is_int(pool->flags & (REEL_POOL_SMALL_PAGES | REEL_POOL_HUGE_PAGES), slabs[i].flags,
	       "the pages of slabs");
}

static void slabs_are_configured_by_the_environment(void)
{
	for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
		pid_t child = fork();

		if (child == 0) {
			use_slabs(i);
			tap_child_end();
		}
		ok(tap_child_passed(child), "REEL_SLAB=%s REEL_PAGES=%s",
		   slabs[i].slab ? slabs[i].slab : "(none)",
		   slabs[i].pages ? slabs[i].pages : "(none)");
	}
}

/* The system kills a process by the sum of its budget and of a store in memory. */
static void a_store_in_memory_leaves_the_rest_for_the_budget(void)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char store[64], text[1024];

	snprintf(store, sizeof store, "memory=%llu", (unsigned long long)percent_of_limit(60));
	setenv("REEL_STORE", store, 1);
	setenv("REEL_BUDGET", "50%", 1);
	dup2(file, STDERR_FILENO);
	is_int(stats_of(reel_pool_default()).hard_budget, percent_of_limit(95) - percent_of_limit(60),
	       "the budget has what a store in memory leaves");
	said_on_stderr(text, sizeof text, file);
	ok(strstr(text, "REEL_BUDGET=50% is ignored: ") && strstr(text, "of which REEL_STORE keeps"),
	   "the message has the reason: %s", text);
}

/* The share of one of very many ranks is smaller than a slab. */
static void auto_is_never_without_a_bound(void)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char text[1024];

	unsetenv("REEL_STORE");
	setenv("REEL_BUDGET", "auto", 1);
	setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "65536", 1);
	if (percent_of_limit(AUTO) >= (uint64_t)2 << 20) {
		tap_skip(2, "this machine has too much memory");
		return;
	}
	dup2(file, STDERR_FILENO);
	is_int(stats_of(reel_pool_default()).hard_budget, (uint64_t)2 << 20,
	       "a share of less than a slab is a slab");
	said_on_stderr(text, sizeof text, file);
	ok(strstr(text, ROOM) && strstr(text, "; auto is used now, 2097152 bytes"),
	   "the message has the reason: %s", text);
}

static void a_store_larger_than_memory_is_refused(void)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char store[64], text[1024];

	snprintf(store, sizeof store, "memory=%llu,file", (unsigned long long)percent_of_limit(96));
	setenv("REEL_STORE", store, 1);
	unsetenv("REEL_BUDGET");
	dup2(file, STDERR_FILENO);
	ok(!stats_of(reel_pool_default()).written_bytes, "the default pool is there");
	said_on_stderr(text, sizeof text, file);
	ok(strstr(text, " is ignored: its memory exceeds the limit of the system"),
	   "the message has the reason: %s", text);
}

#define REFUSED " is refused, and with it the default pool: "

/* `said` is the beginning of the message, `also` another part of it. */
static const struct {
	const char *budget, *store, *directory;
	bool stores;
	const char *said, *also;
} stores[] = {
	/* The budget is auto, which has room for all of the tape. */
	{NULL, "memory=64M", NULL, false, "", ""},
	{NULL, NULL, ".", false, "", ""},
	{"0", "file", ".", false, "reel: REEL_BUDGET=0 is ignored: ", "auto is used now"},
	{"16M", NULL, NULL, false, "", ""},
	{"16M", "tape", NULL, false, "reel: REEL_STORE=tape" REFUSED, "tape"},
	{"16M", "memory", NULL, false, "reel: REEL_STORE=memory" REFUSED, "memory"},
	{"16M", "file", NULL, false, "reel: REEL_STORE=file" REFUSED, "set REEL_SPILL_DIR"},
	{"16M", NULL, "none", false, "reel: REEL_SPILL_DIR=none" REFUSED,
	 "No such file or directory"},
	{"16M", NULL, "/dev/shm", false, "reel: REEL_SPILL_DIR=/dev/shm" REFUSED,
	 "kept in memory; set REEL_SPILL_DIR to a directory on a disk"},
	{"16M", "file", "/dev/shm", false, "reel: REEL_STORE=file" REFUSED, "kept in memory"},
	{"16M", "memory=64M,file", "/dev/shm", false, "reel: REEL_STORE=memory=64M,file" REFUSED,
	 "kept in memory"},
	{"16M", "memory=64M", NULL, true, "", ""},
	{"16M", "memory=64M", "none", true, "", ""},
	{"16M", NULL, ".", true, "", ""},
	{"16M", "memory=4M,file", ".", true, "", ""},
};

static char told[512];

static void keep_message(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)context;
	snprintf(told, sizeof told, "%s", message);
}

/* The first push is refused at once, and not only when the budget is used up. */
static void refuse_at_the_first_push(const char *remedy)
{
	reel_plan *plan = plan_for(REEL_BINOMIAL, 10, 3);
	reel_tape tape = {0}, other;
	reel_run *run;

	reel_set_error_handler(keep_message, NULL);
	is_pointer(reel_pool_default(), NULL, "there is no default pool");
	is_int(reel_tape_open(&other, NULL, 0), -ENXIO, "no tape can be opened on it");
	is_int(reel_run_open(&run, plan, &copied, NULL), -ENXIO, "no run can be opened on it");
	reel_push(&tape, 1.0);
	is_int(reel_tape_error(&tape), -ENXIO, "a tape that is not opened has an error");
	ok(strstr(told, remedy), "the message has the remedy: %s", told);
	ok(reel_pop(&tape, double) != reel_pop(&tape, double), "pops of the tape give NaN");
	reel_tape_close(&tape);
	reel_plan_close(plan);
}

/* The tape is larger than the budget. The second use of the pool reports nothing more. */
static void spill_by_default(size_t i)
{
	int file = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint64_t n = ((size_t)40 << 20) / 8, taken;
	reel_tape tape = {0};
	char text[512];

	unsetenv("SLURM_TMPDIR");
	unsetenv("TMPDIR");
	set_variable("REEL_BUDGET", stores[i].budget);
	set_variable("REEL_STORE", stores[i].store);
	set_variable("REEL_SPILL_DIR", stores[i].directory);
	dup2(file, STDERR_FILENO);
	reel_pool_default();
	if (!reel_pool_default())
		reel_push(&tape, 1.0);
	reel_tape_close(&tape);
	if (reel_pool_default() && stats_of(reel_pool_default()).hard_budget > (uint64_t)16 << 20)
		is_int(stats_of(reel_pool_default()).hard_budget, percent_of_limit(AUTO),
		       "a store without a budget has half of what the system allows");
	said_on_stderr(text, sizeof text, file);
	ok(stores[i].said[0] ? strncmp(text, stores[i].said, strlen(stores[i].said)) == 0 : !text[0],
	   "the text on stderr: %s", text);
	ok(strstr(text, stores[i].also), "the line has the reason: %s", text);
	ok(!text[0] || strchr(text, '\n') == text + strlen(text) - 1, "the text is one line");
	if (strstr(text, REFUSED)) {
		refuse_at_the_first_push(stores[i].also);
		return;
	}
	push_words(&tape, 0, n);
	taken = n - reel_tape_refused(&tape) / 8;
	is_int(reel_tape_error(&tape), stores[i].budget && *stores[i].budget != '0' &&
	       !stores[i].stores ? -EDQUOT : 0, "the error of a tape above the budget");
	while (reel_tape_refused(&tape))
		(void)reel_pop(&tape, uint64_t);
	is_int(wrong_words(&tape, 0, taken), 0, "all values that were not refused come back");
	is_int(stats_of(reel_pool_default()).written_bytes > 0, stores[i].stores,
	       "values are stored if there is a store");
	reel_tape_close(&tape);
}

/* Checks that the first push on the default pool fails with `error` and a text with `words`. */
static void push_is_refused(int error, const char *words)
{
	reel_tape tape = {0};

	reel_set_error_handler(keep_message, NULL);
	reel_push(&tape, 1.0);
	is_int(reel_tape_error(&tape), error, "a push is refused");
	ok(strstr(told, words), "the message has the reason: %s", told);
}

static void *do_nothing(void *unused)
{
	return unused;
}

/* Root has no limit of processes, so the child becomes a user who has no other process. */
static void a_thread_is_refused(void)
{
	pthread_t thread;

	setenv("REEL_BUDGET", "16M", 1);
	setenv("REEL_STORE", "memory=64M", 1);
	LIMIT(RLIMIT_NPROC, 1);
	if ((!getuid() && setuid(1000000 + (uid_t)getpid())) ||
	    !pthread_create(&thread, NULL, do_nothing, NULL)) {
		tap_skip(2, "there is no limit of processes here");
		return;
	}
	push_is_refused(-EAGAIN, "the default pool cannot be opened: the system starts no more threads: "
				 "Resource temporarily unavailable; raise the limit of processes (ulimit -u");
}

static void address_space_is_refused(void)
{
#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
	tap_skip(2, "a sanitizer needs address space itself");
#else
	LIMIT(RLIMIT_AS, 1 << 20);
	push_is_refused(-ENOMEM, "MiB of address space at first; ulimit -v may be too low");
#endif
}

static bool keeps_files_in_memory(const char *directory)
{
	reel_store *store;

	if (reel_store_file_open(&store, &(struct reel_file_options){.directory = directory}))
		return true;
	reel_store_close(store);
	return false;
}

static void the_default_pool_spills(void)
{
	bool here = !keeps_files_in_memory("."), there = keeps_files_in_memory("/dev/shm");

	for (size_t i = 0; i < COUNT(stores); i++) {
		const char *directory = stores[i].directory ? stores[i].directory : "";
		pid_t child;

		if ((!strcmp(directory, ".") && !here) || (*directory == '/' && !there)) {
			tap_skip(1, "files in %s are not where they should be", directory);
			continue;
		}
		child = fork();
		if (child == 0) {
			spill_by_default(i);
			tap_child_end();
		}
		ok(tap_child_passed(child), "REEL_BUDGET=%s REEL_STORE=%s REEL_SPILL_DIR=%s",
		   stores[i].budget ? stores[i].budget : "(none)",
		   stores[i].store ? stores[i].store : "(none)", *directory ? directory : "(none)");
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

static pthread_barrier_t barrier;
static reel_pool *seen[THREADS];

static void *meet_the_default_pool(void *number)
{
	pthread_barrier_wait(&barrier);
	seen[*(unsigned *)number] = reel_pool_default();
	return NULL;
}

static void threads_agree_on_the_default_pool(void)
{
	bool agree = true;

	pthread_barrier_init(&barrier, NULL, THREADS);
	run_threads(THREADS, meet_the_default_pool);
	for (int i = 0; i < THREADS; i++)
		agree &= seen[i] && seen[i] == seen[0];
	ok(agree, "threads that come at once get the same default pool");
	is_int(reel_pool_close(seen[0]), -EPERM, "the default pool cannot be closed");
	pthread_barrier_destroy(&barrier);
}

/* The thread key that is left is enough for one pool. */
static void threads_open_the_default_pool_once(void)
{
	static pthread_key_t key[2 * PTHREAD_KEYS_MAX];
	unsigned failed = 0;

	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		int n = 0;

		if (child == 0) {
			setenv("REEL_BUDGET", "16M", 1);
			setenv("REEL_STORE", "memory=64M", 1);
			while (!pthread_key_create(&key[n], NULL))
				n++;
			pthread_key_delete(key[0]);
			threads_agree_on_the_default_pool();
			tap_child_end();
		}
		failed += !tap_child_passed(child);
	}
	is_int(failed, 0, "one of the threads opens it, and the others wait");
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
		is_pointer(reel_pool_default(), NULL,
			   "there is no default pool for want of a thread key");
		pthread_key_delete(key[0]);
		ok(reel_pool_default(), "there is a default pool when a key is free");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a default pool that could not be opened is tried again");
}

#ifdef __linux__
#define CANNOT 77

/* Runs as another user than the one who started the program. */
static int look_as_another_user(void)
{
	if (!getauxval(AT_SECURE))
		return CANNOT;
	return stats_of(reel_pool_default()).hard_budget != UINT64_MAX ||
	       reel_offload_of(reel_pool_default());
}

static bool copy_program(const char *path)
{
	static char buffer[1 << 16];
	int from = open("/proc/self/exe", O_RDONLY), to = open(path, O_WRONLY | O_CREAT, 0700);
	ssize_t bytes = -1;

	while (from >= 0 && to >= 0 && (bytes = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)bytes) != bytes)
			return false;
	return bytes == 0 && !fchown(to, 65534, 65534) && !fchmod(to, 04755) && !close(to);
}

static void a_set_user_id_program_ignores_the_environment(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setenv("REEL_BUDGET", "16M", 1);
		setenv("REEL_STORE", "memory=16M", 1);
		if (copy_program("secure"))
			execl("./secure", "secure", "as-another-user", (char *)NULL);
		_exit(CANNOT);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
		tap_skip(1, "no program can be made that runs as another user");
	else
		is_int(status, 0, "a set-user-id program does not look at the environment");
}
#else
static int look_as_another_user(void)
{
	return 0;
}

static void a_set_user_id_program_ignores_the_environment(void)
{
	tap_skip(1, "it is not known here how to detect a set-user-id program");
}
#endif

/* The last test opens the default pool of this process. */
int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "as-another-user"))
		_exit(look_as_another_user());
	tap_begin();
	numbers_of_bytes_are_parsed();
	equal_reports_are_one_line();
	numbers_have_a_decimal_point_in_each_locale();
	the_default_pool_is_configured_by_the_environment();
	slabs_are_configured_by_the_environment();
	the_default_pool_spills();
	a_set_user_id_program_ignores_the_environment();
	a_change_of_the_environment_comes_too_late();
	the_default_pool_is_tried_again();
	in_child(a_store_in_memory_leaves_the_rest_for_the_budget, "budget and store together");
	in_child(auto_is_never_without_a_bound, "auto with very many ranks");
	in_child(a_store_larger_than_memory_is_refused, "a store larger than memory");
	in_child(a_thread_is_refused, "a thread that the system does not start");
	in_child(address_space_is_refused, "a limit of address space");
	threads_open_the_default_pool_once();
	threads_agree_on_the_default_pool();
	return tap_end();
}
