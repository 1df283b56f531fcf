/* SPDX-License-Identifier: MIT */
/* No signal to an event is lost, and setting the clock does not change how long a wait takes. */
#include <config.h>

#include <pthread.h>
#include <time.h>

#include "tap/tap.h"

/* If true, the wall clock seems to be set back by an hour as soon as it has been read. */
static bool is_set_back;

static inline int read_clock(clockid_t clock, struct timespec *time)
{
	int error = clock_gettime(clock, time);

	if (is_set_back && clock == CLOCK_REALTIME)
		time->tv_sec += 3600;
	return error;
}

#define clock_gettime read_clock
#include "os/wakeup.h"
#undef clock_gettime

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void signals_are_kept(void)
{
	struct reel_wakeup event;

	tap_case("a signal");
	reel_wakeup_open(&event);
	ok(!reel_wakeup_wait_for(&event, 0), "there is no signal at first");
	reel_wakeup_signal(&event);
	reel_wakeup_signal(&event);
	reel_wakeup_wait(&event);
	ok(!reel_wakeup_wait_for(&event, 1), "two signals that nobody waited for are one");
	reel_wakeup_signal(&event);
	ok(reel_wakeup_wait_for(&event, 60000), "the next signal is kept, too");
	reel_wakeup_close(&event);
}

static void a_wait_takes_its_time(void)
{
	static const uint32_t milliseconds[] = {1, 20, 999, 1001};
	struct timespec start;
	struct reel_wakeup event;

	tap_case("a wait for nothing");
	reel_wakeup_open(&event);
	for (size_t i = 0; i < sizeof milliseconds / sizeof *milliseconds; i++) {
		clock_gettime(CLOCK_MONOTONIC, &start);
		ok(!reel_wakeup_wait_for(&event, milliseconds[i]),
		   "a wait for nothing ends without a signal");
		ok(seconds_since(&start) >= 1e-3 * milliseconds[i], "it takes at least %u ms",
		   milliseconds[i]);
	}
	is_set_back = true;
	ok(!reel_wakeup_wait_for(&event, 5), "a wait ends though the clock is set back");
	reel_wakeup_close(&event);
}

/* ---- Two threads ---- */

enum { ROUNDS = 20000 };

static struct reel_wakeup there, back;
static unsigned ball;

static void *return_the_ball(void *unused)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		reel_wakeup_wait(&there);
		ball++;
		reel_wakeup_signal(&back);
	}
	return unused;
}

static void what_was_done_before_is_seen(void)
{
	pthread_t thread;
	unsigned wrong = 0;

	tap_case("two threads");
	reel_wakeup_open(&there);
	reel_wakeup_open(&back);
	pthread_create(&thread, NULL, return_the_ball, NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		ball++;
		reel_wakeup_signal(&there);
		while (!reel_wakeup_wait_for(&back, 10))
			;
		wrong += ball != 2 * i + 2;
	}
	pthread_join(thread, NULL);
	is_int(wrong, 0, "each thread sees what the other one did before its signal");
	reel_wakeup_close(&there);
	reel_wakeup_close(&back);
}

int main(void)
{
	tap_begin();
	signals_are_kept();
	a_wait_takes_its_time();
	what_was_done_before_is_seen();
	return tap_end();
}
