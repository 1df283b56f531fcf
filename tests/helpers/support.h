/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the tape. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <reel.h>
#include <reel/extend.h>
#include <reel/recording.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/annotate.h"
#include "tap/tap.h"

/* The short form of a test, which is the usual one; make check-long runs the long one. */
static inline bool is_brief(void)
{
	const char *full = getenv("TEST_LONG");

	return !full || !*full;
}

static inline bool is_sanitized(void)
{
#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
	return true;
#else
	return false;
#endif
}

/*
 * The stride of a sweep over places that are much alike: 1 at full length, `brief` in the short
 * form, and there three times as long under a sanitizer, which takes longer for each place and sees
 * the same code at all of them. Builds without one try the places between.
 */
static inline unsigned stride_of(unsigned brief)
{
	return !is_brief() ? 1 : is_sanitized() ? 3 * brief : brief;
}

/*
 * In an emulator of user programs, such as QEMU's: it has no limits of memory, since its own would
 * count, and in a child of a program with threads it can start none.
 */
static inline bool is_emulated(void)
{
	const char *emulated = getenv("TEST_EMULATED");

	return emulated && *emulated;
}

/* For reel_set_error_handler(), in tests of errors. */
static inline void ignore_report(const reel_tape *tape, int error, const char *message,
				 void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static inline uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* A child that hangs is ended by the signal, which is a failure. */
static inline pid_t fork_with_timeout(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(is_emulated() ? 600 : 150);
	}
	return child;
}

/* Runs a test in a child, so that its settings do not outlive it. */
static inline void in_child(void (*test)(void), const char *name)
{
	pid_t child = fork_with_timeout();

	if (child == 0) {
		test();
		tap_child_end();
	}
	ok(tap_child_passed(child), "%s", name);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The first four slabs of a tape hold 8 words, all others 16. */
#define TINY ((struct reel_pool_options){.slab_bytes = 128, .first_slab_bytes = 64})
#define INLINE_WORDS (REEL_INLINE_BYTES / 8)

/* The options TINY, with a budget of `slabs` slabs. */
static inline struct reel_pool_options tiny_budget(unsigned slabs)
{
	return (struct reel_pool_options){
		.slab_bytes = 128, .first_slab_bytes = 64, .hard_budget = slabs * 128};
}

static inline reel_pool *open_pool(struct reel_pool_options options)
{
	reel_pool *pool;

	if (reel_pool_open(&pool, &options)) {
		printf("Bail out! cannot open a pool\n");
		exit(EXIT_FAILURE);
	}
	return pool;
}

static inline reel_tape open_tape(reel_pool *pool, unsigned flags)
{
	reel_tape tape = {0};

	reel_tape_open(&tape, pool, flags);
	return tape;
}

static inline uint64_t slabs_in_use(reel_pool *pool)
{
	struct reel_pool_stats stats;

	reel_pool_get_stats(pool, &stats);
	return stats.slabs_in_use;
}

/* Every tape of the pool has been closed: nothing may be left of it. */
static inline void close_pool(reel_pool *pool, const char *after)
{
	is_int(slabs_in_use(pool), 0, "all slabs are back in the pool after %s", after);
	is_int(reel_pool_close(pool), 0, "the pool closes after %s", after);
}

/* The last arguments of the error handler, and its calls since record_reports(). */
static struct {
	int calls;
	int error;
	char message[512];
} reported;

static inline void record_report(const reel_tape *tape, int error, const char *message,
				 void *context)
{
	(void)context;
	reported.calls++;
	reported.error = !tape || error == reel_tape_error(tape) ? error : 0;
	snprintf(reported.message, sizeof reported.message, "%s", message);
}

static inline void record_reports(void)
{
	memset(&reported, 0, sizeof reported);
	reel_set_error_handler(record_report, NULL);
}

/* `came` is set when any thread reports an error with this text in its message. */
static struct {
	const char *text;
	_Atomic bool came;
} awaited_report;

static inline void look_for_text(const reel_tape *tape, int error, const char *message,
				 void *context)
{
	(void)tape;
	(void)error;
	(void)context;
	if (strstr(message, awaited_report.text))
		awaited_report.came = true;
}

static inline void await_report(const char *text)
{
	awaited_report.text = text;
	awaited_report.came = false;
	reel_set_error_handler(look_for_text, NULL);
}

/* The n-th of a sequence of numbers without any pattern: splitmix64. */
static inline uint64_t scramble(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15u;
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
	n = (n ^ n >> 27) * 0x94d049bb133111ebu;
	return n ^ n >> 31;
}

/* Bytes without any pattern, the same ones for the same n. */
static inline void fill(void *target, size_t bytes, uint64_t n)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)target)[i] = (unsigned char)scramble(n + i);
}

static inline bool is_filled(const void *source, size_t bytes, uint64_t n)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const unsigned char *)source)[i] != (unsigned char)scramble(n + i))
			return false;
	return true;
}

static inline bool all_ones(const void *source, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (((const unsigned char *)source)[i] != 0xff)
			return false;
	return true;
}

static inline void push_words(reel_tape *tape, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		reel_push(tape, scramble(i));
}

/* How many of the words [from, to) come back wrong. */
static inline unsigned wrong_words(reel_tape *tape, uint64_t from, uint64_t to)
{
	unsigned wrong = 0;

	for (uint64_t i = to; i-- > from;)
		wrong += reel_pop(tape, uint64_t) != scramble(i);
	return wrong;
}

static inline bool is_zero(const reel_tape *tape)
{
	static const reel_tape zero;

	return memcmp(tape, &zero, sizeof zero) == 0;
}

#endif
