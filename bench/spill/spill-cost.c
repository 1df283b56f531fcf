/* SPDX-License-Identifier: MIT */
/* The cost of a tape on a store to the machine: memory, seen from outside, and processors. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <reel/extend.h>

#include "helpers/store-verbs.h"
#include "spill.h"

/* ---- Resident memory ---- */

static size_t resident_tape(void)
{
	return (bench_is_quick() ? 256 : 1024) * MIB;
}

static size_t resident_budget(void)
{
	return resident_tape() / 8;
}

/* In a process of its own, which waits with all it has until `leave` is closed. */
static void use_memory(size_t bytes, int ready, int leave)
{
	struct spill_tape reel;
	char nothing = 0;

	spill_open(&reel, "file", resident_budget());
	if (bytes)
		spill_run_both(&reel, bytes);
	if (write(ready, &nothing, 1) != 1 || read(leave, &nothing, 1) != 0)
		_exit(1);
	spill_close(&reel);
	_exit(0);
}

/* The most that was ever resident, as the system says; 0: it does not say. */
static double max_resident(pid_t process)
{
	char path[64], line[128];
	unsigned long kilobytes = 0;
	FILE *status;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
	status = fopen(path, "r");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "VmHWM: %lu kB", &kilobytes) == 1)
			break;
	if (status)
		fclose(status);
	return 1024.0 * (double)kilobytes;
}

static pid_t start(size_t bytes, int *ready, int *leave)
{
	int to_child[2], to_parent[2];
	pid_t child;

	fflush(NULL);
	if (pipe(to_child) || pipe(to_parent) || (child = fork()) < 0)
		abort();
	if (child == 0) {
		close(to_child[1]);
		close(to_parent[0]);
		use_memory(bytes, to_parent[1], to_child[0]);
	}
	close(to_child[0]);
	close(to_parent[1]);
	*ready = to_parent[0];
	*leave = to_child[1];
	return child;
}

/* A process of which nothing is known has ended early, and has said why. */
static double resident_of(size_t bytes)
{
	int ready, leave;
	pid_t child = start(bytes, &ready, &leave);
	char nothing;
	double most = read(ready, &nothing, 1) == 1 ? max_resident(child) : 0;

	close(leave);
	close(ready);
	waitpid(child, NULL, 0);
	return most;
}

static void measure_resident(const struct bench_case *named)
{
	static const struct measure_variant variants[] = {
		{.name = "hard budget"}, {.name = "no tape"}, {.name = "reel, budget"}};
	struct bench_case described = *named;
	double bytes[] = {(double)resident_budget(), resident_of(0), resident_of(resident_tape())};
	struct measure_result results[COUNT_OF(variants)];

	if (bytes[1] == 0 || bytes[2] == 0) {
		fprintf(stderr, "reel-bench: %s: nobody says what is resident\n", named->name);
		return;
	}
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		results[v] = measure_once(bytes[v]);
	described.variants = variants;
	described.count = COUNT_OF(variants);
	bench_report(&described, resident_tape(), "bytes", results);
}

/* ---- Processors ---- */

#define ROUNDS 5

static double nanoseconds_of(clockid_t processor_time)
{
	struct timespec time;

	clock_gettime(processor_time, &time);
	return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static double nanoseconds_of_this_thread(void)
{
	return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

static double nanoseconds_of_others(void)
{
	return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID) - nanoseconds_of_this_thread();
}

/* Of memory that is in no cache, as slabs are that have been covered for long. */
static double checksum_of_a_byte(void)
{
	static const struct reel_store_verbs verbs = {
		.name = "nothing", .put = null_put, .capacity = null_capacity,
		.close = null_close};
	size_t bytes = spill_budget() * 2;
	reel_store nothing = {&verbs}, *checksum;
	char *memory = bench_memory(bytes);
	double start;

	if (reel_store_checksum_open(&checksum, &nothing))
		abort();
	start = nanoseconds_of_this_thread();
	for (size_t offset = 0; offset < bytes; offset += SPILL_SLAB_BYTES) {
		reel_transfer transfer = {.data = memory + offset, .bytes = SPILL_SLAB_BYTES};

		if (reel_store_put_and_wait(checksum, &transfer))
			abort();
	}
	start = nanoseconds_of_this_thread() - start;
	reel_store_close(checksum);
	bench_memory_free(memory, bytes);
	return start / (double)bytes;
}

static double plain_of_a_byte(struct spill_plain *plain, bool forward)
{
	double start = nanoseconds_of_this_thread();

	(forward ? spill_plain_write : spill_plain_read)(plain, spill_tape_bytes());
	return (nanoseconds_of_this_thread() - start) /
	       (double)(spill_tape_bytes() - spill_budget());
}

/* The tape is pushed before and popped after, as the direction needs it. */
static double engine_of_a_byte(struct spill_tape *reel, bool forward)
{
	struct reel_pool_stats before, after;
	double start;

	if (!forward)
		spill_push(reel, spill_tape_bytes());
	before = spill_stats(reel);
	start = nanoseconds_of_others();
	(forward ? spill_push : spill_pop)(reel, spill_tape_bytes());
	start = nanoseconds_of_others() - start;
	after = spill_stats(reel);
	spill_drop(reel);
	return start / (double)(forward ? after.written_bytes - before.written_bytes
					: after.read_bytes - before.read_bytes);
}

static void measure_processor(const struct bench_case *named, bool forward)
{
	static const struct measure_variant variants[] = {
		{.name = "plain transfer, one"}, {.name = "checksum"}, {.name = "reel, engine"}};
	double samples[COUNT_OF(variants)][ROUNDS];
	struct measure_result results[COUNT_OF(variants)];
	struct bench_case described = *named;
	struct spill_plain plain[2];
	struct spill_tape reel;

	spill_plain_open(plain, spill_tape_bytes(), spill_budget());
	spill_open(&reel, "file", spill_budget());
	engine_of_a_byte(&reel, forward);
	for (int round = 0; round < ROUNDS; round++) {
		samples[0][round] = plain_of_a_byte(plain, forward);
		samples[1][round] = checksum_of_a_byte();
		samples[2][round] = engine_of_a_byte(&reel, forward);
	}
	spill_close(&reel);
	spill_plain_close(plain);
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		results[v] = measure_summary(samples[v], ROUNDS);
	described.variants = variants;
	described.count = COUNT_OF(variants);
	bench_report(&described, spill_tape_bytes(), "ns/byte", results);
}

static void processor_cases(void)
{
	static const struct bench_case forward = {.name = "spill/processor/forward"};
	static const struct bench_case reverse = {.name = "spill/processor/reverse"};

	if (spill_starts(&forward, 2 * spill_tape_bytes()))
		measure_processor(&forward, true);
	if (spill_starts(&reverse, 2 * spill_tape_bytes()))
		measure_processor(&reverse, false);
}

void spill_cost_cases(void)
{
	static const struct bench_case resident = {.name = "spill/resident"};

	if (spill_starts(&resident, resident_tape()))
		measure_resident(&resident);
	processor_cases();
}
