/* SPDX-License-Identifier: MIT */
/*
 * Tests processes that end, fork or are interrupted while their slabs are written: no file is left,
 * and no value is wrong.
 */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/annotate.h"
#include "helpers/held-store.h"
#include "helpers/late-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "helpers/process-support.h"

#define SLAB ((size_t)4096)
#define SLAB_WORDS (SLAB / 8)

/* With a sanitizer a process starts slowly, so fewer are started. */
#if defined(REEL_THREAD_SANITIZER) || defined(REEL_ADDRESS_SANITIZER)
#define TIMES(n) ((n) / 5)
#else
#define TIMES(n) (n)
#endif

static reel_pool *open_on(reel_store *store, unsigned slabs)
{
	return open_pool((struct reel_pool_options){
		.slab_bytes = SLAB,
		.first_slab_bytes = SLAB / 4,
		.hard_budget = slabs * SLAB,
		.store = store,
	});
}

static reel_store *file_here(void)
{
	struct reel_file_options options = {
		.directory = ".", .slot_bytes = SLAB, .threads = 2, .flags = REEL_FILE_TMPFS};
	reel_store *store;

	if (reel_store_file_open(&store, &options)) {
		printf("Bail out! no file store: %s\n", reel_error_text(0));
		_exit(EXIT_FAILURE);
	}
	return store;
}

static void sleep_us(unsigned us)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

/* ---- The end of a process ---- */

static void spill_for_ever(void)
{
	reel_pool *pool = open_on(file_here(), 8);
	reel_tape tape = open_tape(pool, 0);

	for (;;) {
		push_words(&tape, 0, 64 * SLAB_WORDS);
		if (wrong_words(&tape, 0, 64 * SLAB_WORDS))
			abort();
	}
}

static void a_process_is_killed(void)
{
	unsigned names = names_in("."), shared = names_shared(), killed = 0, left = 0;
	const unsigned times = TIMES(50);

	for (unsigned i = 0; i < times; i++) {
		pid_t child = fork_with_timeout();
		int status;

		if (child == 0)
			spill_for_ever();
		sleep_us((unsigned)(scramble(i) % 8000));
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		left += names_in(".") != names;
	}
	is_int(killed, times, "a process was killed while it spilled, each time");
	if (files_have_no_name())
		is_int(left, 0, "and left no file");
	else
		tap_skip(1, "a file has a name here until it is unlinked");
	is_int(names_shared(), shared, "and no shared memory");
}

static void a_process_exits(void)
{
	unsigned names = names_in("."), failed = 0;

	for (unsigned i = 0; i < TIMES(20); i++) {
		pid_t child = fork_with_timeout();
		int status;

		if (child == 0) {
			reel_tape tape = open_tape(open_on(file_here(), 8), 0);

			push_words(&tape, 0, (16 + i) * SLAB_WORDS);
			exit(7);
		}
		waitpid(child, &status, 0);
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
	}
	is_int(failed, 0, "a process that exits while it spills ends as it says");
	is_int(names_in("."), names, "and leaves no file");
}

/* ---- Forks ---- */

static struct {
	reel_pool *pool;
	_Atomic bool stop;
	_Atomic unsigned wrong;
	_Atomic unsigned sweeps;
} work;

static void sweep(uint64_t seed)
{
	uint64_t n = (20 + scramble(seed) % 30) * SLAB_WORDS;
	reel_tape tape = open_tape(work.pool, 0);

	push_words(&tape, seed << 32, (seed << 32) + n);
	work.wrong += wrong_words(&tape, seed << 32, (seed << 32) + n);
	work.wrong += reel_tape_error(&tape) != 0;
	reel_tape_close(&tape);
	work.sweeps++;
}

static void *sweep_until_stopped(void *number)
{
	for (uint64_t i = 0; !work.stop; i++)
		sweep(*(unsigned *)number + 1000 * i);
	return NULL;
}

/* Returns the number of words that are neither right nor, after the tape's error, all ones. */
static unsigned wrong_in_child(reel_tape *tape, uint64_t n)
{
	unsigned wrong = 0;

	for (uint64_t i = n; i-- > 0;) {
		uint64_t word = reel_pop(tape, uint64_t);

		wrong += word != scramble(i) &&
			 (word != UINT64_MAX || reel_tape_error(tape) != -ECHILD);
	}
	return wrong;
}

/* The pool has tapes of threads that the child does not have. */
static _Noreturn void pop_as_child(reel_tape *tape, uint64_t n)
{
	int error;

	is_int(wrong_in_child(tape, n), 0, "a child never gets a wrong value");
	reel_tape_close(tape);
	error = reel_pool_close(work.pool);
	ok(!error || error == -EBUSY, "it may try to close the pool");
	tap_child_end();
}

/* The child forks again, so the child of the child also has the tape. */
static _Noreturn void fork_as_child(reel_tape *tape, uint64_t n)
{
	pid_t child = fork_with_timeout();

	if (child == 0)
		pop_as_child(tape, n);
	ok(tap_child_passed(child), "the child's child goes on");
	pop_as_child(tape, n);
}

static unsigned fork_and_pop(unsigned times)
{
	uint64_t n = 40 * SLAB_WORDS;
	unsigned failed = 0;

	for (unsigned i = 0; i < times; i++) {
		reel_tape tape = open_tape(work.pool, 0);
		pid_t child;

		push_words(&tape, 0, n);
		failed += wrong_words(&tape, n - scramble(i) % n, n) != 0;
		n = reel_tape_bytes(&tape) / 8;
		while (work.sweeps < 2)
			sched_yield();
		child = fork_with_timeout();
		if (child == 0)
			fork_as_child(&tape, n);
		failed += !tap_child_passed(child);
		failed += wrong_words(&tape, 0, n) != 0;
		reel_tape_close(&tape);
		n = 40 * SLAB_WORDS;
	}
	return failed;
}

static void *sweep_or_fork(void *number)
{
	if (*(unsigned *)number > 0)
		return sweep_until_stopped(number);
	is_int(fork_and_pop(TIMES(20)), 0, "tapes of parent and child are right after each fork");
	work.stop = true;
	return NULL;
}

static void forks_amid_spilling(void)
{
	memset(&work, 0, sizeof work);
	work.pool = open_on(file_here(), 24);
	run_threads(3, sweep_or_fork);
	is_int(work.wrong, 0, "nor did the parent's other threads get a wrong value");
	close_pool_at_rest(work.pool, "forks");
}

static void a_child_forks(void)
{
	reel_tape tape;
	pid_t child;

	memset(&work, 0, sizeof work);
	work.pool = open_on(file_here(), 8);
	tape = open_tape(work.pool, 0);
	push_words(&tape, 0, 20 * SLAB_WORDS);
	child = fork_with_timeout();
	if (child == 0) {
		child = fork_with_timeout();
		if (child == 0)
			tap_child_end();
		ok(tap_child_passed(child), "a child's child starts");
		reel_tape_close(&tape);
		is_int(reel_pool_close(work.pool), 0, "the child closes the pool");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a child of a process that spills forks");
	is_int(wrong_words(&tape, 0, 20 * SLAB_WORDS), 0, "the parent's tape is right");
	reel_tape_close(&tape);
	close_pool_at_rest(work.pool, "a child's fork");
}

/* ---- A fork while a thread waits ---- */

static void *push_all(void *tape)
{
	push_words(tape, 0, 40 * SLAB_WORDS);
	return NULL;
}

static void *release_later(void *held)
{
	sleep_us(20000);
	held_release(held);
	return NULL;
}

/* The fork and the push wait for the same transfers. */
static void a_fork_while_a_push_waits(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_on(&held->store, 8);
	reel_tape tape = open_tape(pool, 0);
	pthread_t pusher, helper;
	pid_t child;

	pthread_create(&pusher, NULL, push_all, &tape);
	while (!held_transfers(held) || !somebody_waits(reel_offload_of(pool)))
		sched_yield();
	pthread_create(&helper, NULL, release_later, held);
	child = fork_with_timeout();
	if (child == 0)
		tap_child_end();
	ok(tap_child_passed(child), "a process forks while a push waits for the store");
	pthread_join(helper, NULL);
	pthread_join(pusher, NULL);
	is_int(wrong_words(&tape, 0, 40 * SLAB_WORDS), 0, "the push goes on, all comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a fork while a push waits");
}

/* ---- A store that forks ---- */

static void forking_put(reel_store *store, reel_transfer *transfer)
{
	pid_t child = fork_with_timeout();
	int status = 0;

	if (child == 0)
		_exit(0);
	waitpid(child, &status, 0);
	if (status)
		abort();
	late_put(store, transfer);
}

static void a_put_forks(void)
{
	struct late_store *late = late_open(31);
	struct reel_store_verbs verbs = *late->store.verbs;
	struct reel_pool_options options = {.slab_bytes = SLAB, .hard_budget = 8 * SLAB,
					    .store = &late->store};
	reel_pool *pool;
	reel_tape tape;

	tap_case("a store that has a helper");
	verbs.put = forking_put;
	late->store.verbs = &verbs;
	pool = open_pool(options);
	tape = open_tape(pool, 0);
	push_words(&tape, 0, 20 * SLAB_WORDS);
	is_int(wrong_words(&tape, 0, 20 * SLAB_WORDS), 0, "forks in its puts, and all comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a store that forks");
	free(late);
}

/* ---- Signals ---- */

static volatile sig_atomic_t alarms;

static void note_alarm(int signal)
{
	(void)signal;
	alarms++;
}

static void interrupt_every(unsigned us)
{
	struct itimerval timer = {{0, (suseconds_t)us}, {0, (suseconds_t)us}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Signals without SA_RESTART interrupt each wait. */
static void signals_interrupt_everything(void)
{
	struct sigaction action = {.sa_handler = note_alarm};
	uint64_t n = 40 * SLAB_WORDS;
	unsigned wrong = 0;
	reel_tape tape;

	sigaction(SIGALRM, &action, NULL);
	interrupt_every(100);
	work.pool = open_on(file_here(), 8);
	tape = open_tape(work.pool, 0);
	for (unsigned i = 0; i < 10; i++) {
		push_words(&tape, 0, n);
		wrong += wrong_words(&tape, 0, n);
	}
	is_int(reel_tape_error(&tape), 0, "a signal every 100 us is no error");
	reel_tape_close(&tape);
	close_pool_at_rest(work.pool, "signals");
	interrupt_every(0);
	is_int(wrong, 0, "and makes no value wrong");
	ok(alarms > 0, "there were %d", (int)alarms);
}

/* ---- Pools that come and go ---- */

static void pools_are_closed_at_once(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < TIMES(1000); i++) {
		reel_store *store;
		reel_tape tape;

		if (reel_store_memory_open(&store, UINT64_MAX))
			abort();
		work.pool = open_on(store, 6);
		tape = open_tape(work.pool, 0);
		push_words(&tape, 0, (scramble(i) % 12) * SLAB_WORDS);
		reel_tape_close(&tape);
		wrong += reel_pool_close(work.pool) != 0;
	}
	is_int(wrong, 0, "a pool closes when a tape of it has just been closed, each time");
}

int main(void)
{
	tap_begin();
	record_reports();
	a_child_forks();
	a_fork_while_a_push_waits();
	a_put_forks();
	forks_amid_spilling();
	pools_are_closed_at_once();
	signals_interrupt_everything();
	a_process_is_killed();
	a_process_exits();
	return tap_end();
}
