/* SPDX-License-Identifier: MIT */
/*
 * Tests budgets that several processes share: the file, charges, refunds, and what comes back from
 * processes that are killed at any point. TEST_SEEDS=N kills in N rounds.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "helpers/share-support.h"
#include "os/clock.h"

#define SLAB ((size_t)4096)
#define BUDGET (64 * SLAB)
#define MINIMUM (4 * SLAB)

static bool file_is_there(void)
{
	return !access(path, F_OK);
}

static struct reel_share *join_with(size_t budget, size_t minimum)
{
	struct reel_share *share;

	if (reel_share_join(&share, name, budget, minimum)) {
		printf("Bail out! cannot share a budget: %s\n", reel_error_text(0));
		fflush(stdout);
		_exit(EXIT_FAILURE);
	}
	return share;
}

static struct reel_share *join(void)
{
	return join_with(BUDGET, MINIMUM);
}

static void sleep_us(unsigned us)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)us * 1000}, NULL);
}

/* ---- The clock. It stops where a pause of the test would be longer than a shortage lasts ---- */

static int64_t stopped_ns; /* 0: the clock runs */

int __real_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	int error = __real_clock_gettime(clock, time);

	if (stopped_ns)
		*time = (struct timespec){.tv_sec = (time_t)(stopped_ns / 1000000000),
					  .tv_nsec = (long)(stopped_ns % 1000000000)};
	return error;
}

static void stop_clock(void)
{
	stopped_ns = (int64_t)reel_clock_ns();
}

static void start_clock(void)
{
	stopped_ns = 0;
}

static void pass_ms(unsigned ms)
{
	uint64_t end = reel_share_now() + ms;

	while (reel_share_now() <= end)
		if (stopped_ns)
			stopped_ns += 1000000;
		else
			sleep_us(1000);
}

/* ---- The file ---- */

static void the_last_member_removes_the_file(void)
{
	struct reel_share *first, *second;
	struct stat status;

	tap_case("the file");
	first = join();
	ok(!stat(path, &status) && (status.st_mode & 07777) == 0600,
	   "nobody else can open the file");
	second = join();
	ok(first->slot != second->slot && total_of(first) == 2 * MINIMUM,
	   "two members have their minimum");
	reel_share_leave(first);
	ok(file_is_there() && total_of(second) == MINIMUM, "one leaves, and the other one stays");
	reel_share_leave(second);
	ok(!file_is_there(), "the last one removes the file");
}

/* A process that ends is in /proc until its memory is gone. */
static void processes_that_end_at_the_same_time_leave_no_file(void)
{
	int ends[2], lives[2], status;
	struct reel_share *share;
	pid_t child;
	char byte;

	tap_case("processes that end at the same time");
	if (pipe(ends) || pipe(lives))
		abort();
	share = join();
	child = fork_with_timeout();
	if (child == 0) {
		close(lives[1]);
		reel_share_end(join());
		if (write(ends[1], "", 1) != 1 || read(lives[0], &byte, 1))
			_exit(EXIT_FAILURE);
		_exit(EXIT_SUCCESS);
	}
	ok(read(ends[0], &byte, 1) == 1 && file_is_there(), "the first one leaves the file");
	is_int((long long)total_of(share), 2 * MINIMUM, "its memory counts until it has ended");
	reel_share_end(share);
	ok(!file_is_there(), "the second one removes it, although the first one still runs");
	reel_share_leave(share);
	close(lives[1]);
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS, "the first one ends");
	close(lives[0]);
	close(ends[0]);
	close(ends[1]);
}

static void make_file(mode_t mode, off_t bytes)
{
	int file = open(path, O_CREAT | O_RDWR, 0600);

	if (file < 0 || fchmod(file, mode) || ftruncate(file, bytes))
		abort();
	close(file);
}

static void is_refused(int error, const char *said, const char *what)
{
	struct reel_share *share;

	is_int(reel_share_join(&share, name, BUDGET, MINIMUM), error, "%s is refused", what);
	ok(strstr(reel_error_text(error), path) && strstr(reel_error_text(error), said),
	   "with its name and a remedy: %s", reel_error_text(error));
}

static void other_files_are_refused(void)
{
	char other[80];

	tap_case("other files");
	snprintf(other, sizeof other, "%s-other", path);
	make_file(0644, 0);
	is_refused(-EPERM, "remove it", "a file that others can read");
	unlink(path);
	make_file(0600, 100);
	is_refused(-EPERM, "remove it", "a short file");
	unlink(path);
	make_file(0600, 0);
	if (link(path, other))
		abort();
	is_refused(-EPERM, "remove it", "a file with two names");
	unlink(path);
	if (symlink(other, path))
		abort();
	is_refused(-EPERM, "remove it", "a symbolic link");
	unlink(path);
	unlink(other);
	if (mkdir(path, 0700))
		abort();
	ok(reel_share_join(&(struct reel_share *){NULL}, name, BUDGET, MINIMUM) < 0,
	   "a directory is refused");
	rmdir(path);
	if (geteuid()) {
		tap_skip(2, "only root gives files away");
		return;
	}
	make_file(0600, 0);
	if (chown(path, 1, 1))
		abort();
	is_refused(-EPERM, "remove it", "a file of another user");
	unlink(path);
}

static void other_versions_and_containers_are_refused(void)
{
	struct reel_share *share = join();

	tap_case("other versions");
	share->file->version++;
	is_refused(-EPERM, "version", "another version");
	share->file->version--;
	share->file->process_namespace++;
	is_refused(-EPERM, "container", "another container");
	share->file->process_namespace--;
	reel_share_leave(share);
	ok(!file_is_there(), "its own members go on");
}

static void the_smaller_budget_counts(void)
{
	struct reel_share *first = join(), *second = join_with(BUDGET / 2, MINIMUM);

	tap_case("two budgets");
	is_int(reel_share_budget(first), BUDGET / 2, "the smaller of two budgets counts");
	reel_share_leave(second);
	second = join_with(2 * BUDGET, MINIMUM);
	is_int(reel_share_budget(first), BUDGET / 2, "a larger one changes nothing");
	reel_share_leave(second);
	reel_share_leave(first);
}

/* ---- Charges ---- */

static void members_have_one_budget(void)
{
	struct reel_share *first = join(), *second = join();
	size_t room = BUDGET - MINIMUM;

	tap_case("charges");
	stop_clock();
	ok(reel_share_charge(first, room), "a member gets all but the minimum of the other one");
	ok(!reel_share_has_room(first, 64) && !reel_share_charge(first, 64), "and no more");
	is_int(reel_share_claimed(first), room, "a refusal leaves its share as it is");
	ok(reel_share_is_wanted(second) && !reel_share_is_wanted(first),
	   "the other one learns that memory is short");
	ok(reel_share_short_ms(first) && !reel_share_short_ms(second), "and who is short");
	start_clock();
	ok(reel_share_charge(second, MINIMUM), "the other one gets its minimum");
	ok(!reel_share_charge(second, SLAB), "and no more either");
	reel_share_refund(first, SLAB);
	ok(reel_share_charge(second, SLAB), "until something is given back");
	reel_share_refund(second, MINIMUM + SLAB);
	is_int(reel_share_claimed(second), MINIMUM, "what it gives back stays, up to the minimum");
	is_int(total_of(first), BUDGET - SLAB, "the total is the sum");
	reel_share_overdraw(second, 8 * SLAB);
	is_int(total_of(first), BUDGET - SLAB + 4 * SLAB, "a pop goes beyond it");
	ok(!reel_share_charge(first, 64), "and a push does not then");
	reel_share_refund(second, 8 * SLAB);
	reel_share_leave(second);
	reel_share_leave(first);
	ok(!file_is_there(), "no file is left");
}

static void a_member_has_its_allotment(void)
{
	struct reel_share *first = join(), *second = join();

	tap_case("allotments");
	stop_clock();
	reel_share_charge(first, BUDGET - MINIMUM);
	reel_share_look(first, 0);
	is_int(reel_share_most(first), SIZE_MAX, "while nobody is short a member keeps all");
	ok(!reel_share_charge(second, 2 * MINIMUM), "a second one is short");
	pass_ms(REEL_SHARE_LOOK_MS);
	reel_share_has_room(second, 2 * MINIMUM);
	reel_share_look(first, 0);
	ok(reel_share_most(first) <= BUDGET / 2 && reel_share_most(first) > BUDGET / 2 - SLAB,
	   "then its allotment is half");
	reel_share_refund(first, SLAB);
	ok(!reel_share_charge(first, SLAB), "what it gives back is not its own");
	ok(reel_share_charge(second, MINIMUM + SLAB), "but that of the one that is short");
	reel_share_refund(second, MINIMUM + SLAB);
	reel_share_refund(first, BUDGET - MINIMUM - SLAB);
	pass_ms(4 * REEL_SHARE_LOOK_MS);
	is_int(reel_share_short_ms(second), 0, "a shortage ends if no charge is refused any more");
	start_clock();
	reel_share_leave(second);
	reel_share_leave(first);
}

static void a_member_too_many_is_refused(void)
{
	struct reel_share *share = join_with(MINIMUM, MINIMUM), *other;

	tap_case("too many");
	is_int(reel_share_join(&other, name, MINIMUM, MINIMUM), -EDQUOT, "there is no room for two");
	ok(strstr(reel_error_text(0), "raise the budget"), "the text says so: %s",
	   reel_error_text(0));
	reel_share_leave(share);
	ok(!file_is_there(), "no file is left");
}

/* ---- Processes that end ---- */

/* Charges and refunds at random, until it is killed. */
static _Noreturn void go_on_for_ever(uint64_t seed)
{
	struct reel_share *share = join();
	size_t held = 0;

	for (uint64_t i = 0;; i++) {
		size_t bytes = (1 + scramble(seed ^ i) % 5) * SLAB;

		if (scramble(seed + i) % 2 && reel_share_charge(share, bytes))
			held += bytes;
		else if (held >= bytes) {
			reel_share_refund(share, bytes);
			held -= bytes;
		}
		if (i % 64 == 0)
			reel_share_look(share, REEL_SHARE_LOOK_MS);
	}
}

#define CHILDREN 3

static void what_killed_processes_had_comes_back(void)
{
	uint64_t rounds = number_from_environment("TEST_SEEDS", is_brief() ? 100 : 2000);
	struct reel_share *own = join();
	unsigned above = 0, kept = 0;

	tap_case("kills");
	for (uint64_t round = 0; round < rounds; round++) {
		pid_t child[CHILDREN];
		uint64_t end = reel_share_now() + 1 + scramble(round) % 5;

		for (unsigned i = 0; i < CHILDREN; i++) {
			child[i] = fork_with_timeout();
			if (child[i] == 0)
				go_on_for_ever(round * CHILDREN + i);
		}
		while (reel_share_now() <= end)
			above += total_of(own) > BUDGET;
		for (unsigned i = 0; i < CHILDREN; i++)
			kill(child[i], SIGKILL);
		/* Their parent has yet to wait for some of them. */
		if (round % 2)
			for (unsigned i = 0; i < CHILDREN; i++)
				waitid(P_PID, (id_t)child[i], &(siginfo_t){0}, WEXITED | WNOWAIT);
		else
			for (unsigned i = 0; i < CHILDREN; i++)
				waitpid(child[i], NULL, 0);
		reel_share_free_ended(own->file);
		kept += total_of(own) != MINIMUM;
		for (unsigned i = 0; round % 2 && i < CHILDREN; i++)
			waitpid(child[i], NULL, 0);
	}
	is_int(above, 0, "the total was never above the budget");
	is_int(kept, 0, "each byte of killed processes came back");
	reel_share_leave(own);
	ok(!file_is_there(), "no file is left");
}

static void looks_give_back_what_the_dead_had(void)
{
	struct reel_share *own = join();
	pid_t child = fork_with_timeout();
	unsigned looks = 0;

	tap_case("looks");
	if (child == 0) {
		reel_share_charge(join(), BUDGET / 2);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, NULL, 0);
	is_int(total_of(own), MINIMUM + BUDGET / 2, "a process died with half of the budget");
	for (; total_of(own) > MINIMUM && looks < 1000; looks++) {
		pass_ms(REEL_SHARE_LOOK_MS);
		reel_share_look(own, REEL_SHARE_LOOK_MS);
	}
	ok(looks <= 2, "it is back after %u looks", looks);
	reel_share_leave(own);
}

static void the_file_of_dead_processes_is_taken_over(void)
{
	struct reel_share *share;
	pid_t child = fork_with_timeout();

	tap_case("a file that is left");
	if (child == 0) {
		reel_share_charge(join(), BUDGET);
		kill(getpid(), SIGKILL);
	}
	waitpid(child, NULL, 0);
	ok(file_is_there(), "the last process was killed, and left the file");
	share = join_with(BUDGET / 2, MINIMUM);
	ok(total_of(share) == MINIMUM && reel_share_budget(share) == BUDGET / 2,
	   "the next one begins anew, with its own budget");
	reel_share_leave(share);
	ok(!file_is_there(), "and removes it");
}

/* The file may have been removed, but not under a member. */
static void join_and_leave(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		struct reel_share *share = join_with(BUDGET, SLAB);
		int file = open(path, O_RDONLY);

		if (!reel_os_file_is(file, &share->identity) || total_of(share) < SLAB)
			_exit(1);
		close(file);
		reel_share_leave(share);
	}
	_exit(0);
}

static void processes_join_and_leave_at_any_time(void)
{
	pid_t child[CHILDREN];
	unsigned failed = 0;

	tap_case("joins and leaves");
	for (unsigned i = 0; i < CHILDREN; i++) {
		child[i] = fork_with_timeout();
		if (child[i] == 0)
			join_and_leave(is_brief() ? 200 : 5000);
	}
	for (unsigned i = 0; i < CHILDREN; i++) {
		int status;

		waitpid(child[i], &status, 0);
		failed += status != 0;
	}
	is_int(failed, 0, "a member always has the file that has the name");
	ok(!file_is_there(), "no file is left");
}

/* ---- Threads ---- */

#define MEMBERS 2

static struct reel_share *raced[MEMBERS];
static _Atomic bool exceeded;
static _Atomic unsigned racing;

/* All charges are alike, so that changes of two members may cancel each other. */
static void *charge_and_refund(void *number)
{
	unsigned thread = *(unsigned *)number;
	struct reel_share *share = raced[thread % MEMBERS];

	if (thread == 2 * MEMBERS) {
		while (racing)
			reel_share_free_ended(share->file);
		return NULL;
	}
	for (unsigned i = 0; i < 20000; i++) {
		if (!reel_share_charge(share, SLAB))
			continue;
		if (total_of(share) > 3 * SLAB)
			exceeded = true;
		reel_share_refund(share, SLAB);
	}
	racing--;
	return NULL;
}

static void threads_charge_at_the_same_time(void)
{
	tap_case("threads");
	for (unsigned i = 0; i < MEMBERS; i++)
		raced[i] = join_with(3 * SLAB, 0);
	racing = 2 * MEMBERS;
	run_threads(2 * MEMBERS + 1, charge_and_refund);
	ok(!exceeded, "the total was never above the budget");
	for (unsigned i = 0; i < MEMBERS; i++)
		is_int(reel_share_claimed(raced[i]), 0, "a member has given all back");
	is_int(total_of(raced[0]), 0, "and nothing is lost");
	for (unsigned i = 0; i < MEMBERS; i++)
		reel_share_leave(raced[i]);
}

/* ---- Two changes while a member adds up all claims ---- */

#if REEL_YIELD_POINTS
static struct reel_share *first_of_two, *second_of_two;
static unsigned slots_passed;

/* Between the claims of the two, the first one takes what the second one gives. */
bool reel_yield_hook(const char *function, int line)
{
	(void)line;
	if (first_of_two && !strcmp(function, "reconcile") && ++slots_passed == 2) {
		reel_share_charge(first_of_two, SLAB);
		reel_share_refund(second_of_two, SLAB);
	}
	return false;
}

static void changes_that_cancel_each_other_are_noticed(void)
{
	struct reel_share *first = join_with(BUDGET, 0), *second = join_with(BUDGET, 0);

	tap_case("changes that cancel each other");
	reel_share_charge(second, SLAB);
	first_of_two = first;
	second_of_two = second;
	reel_share_free_ended(first->file);
	first_of_two = NULL;
	ok(slots_passed == 2 && reel_share_claimed(first) == SLAB, "both changes were made");
	is_int(total_of(first), SLAB, "the total stays right");
	reel_share_leave(second);
	reel_share_leave(first);
}
#else
static void changes_that_cancel_each_other_are_noticed(void)
{
	tap_skip(2, "only builds with yield points stop between two claims");
}
#endif

/* ---- Pools ---- */

static struct reel_pool_options shared_options(void)
{
	struct reel_pool_options options = {
		.slab_bytes = SLAB, .first_slab_bytes = SLAB / 4, .magazine_slabs = 1,
		.hard_budget = BUDGET,
	};

	memcpy(options.shared_budget, name, sizeof name);
	return options;
}

static void pools_share_a_budget(void)
{
	reel_pool *first = open_pool(shared_options()), *second = open_pool(shared_options());
	reel_tape tape = open_tape(first, 0), other = open_tape(second, 0);
	uint64_t n = values_in(first, 50), m = values_in(second, 20);

	tap_case("pools");
	push_values(&tape, 1, 0, n);
	ok(!reel_tape_error(&tape), "a tape of one pool has most of the budget");
	push_values(&other, 2, 0, m);
	is_int(reel_tape_error(&other), -EDQUOT, "a tape of the other one is refused after a while");
	/* The first pool gives memory back if the other one is short when a slab comes back. */
	stop_clock();
	reel_share_has_room(second->share, BUDGET);
	ok(pop_values(&tape, 1, 0, n), "its values come back");
	reel_tape_close(&tape);
	reel_tape_close(&other);
	start_clock();
	other = open_tape(second, 0);
	push_values(&other, 2, 0, m);
	ok(pop_values(&other, 2, 0, m) && !reel_tape_error(&other),
	   "then the other pool gets what the first one has no use for");
	reel_tape_close(&other);
	close_pool(first, "a shared budget");
	close_pool(second, "a shared budget");
	ok(!file_is_there(), "no file is left");
}

static void children_of_forks_join_anew(void)
{
	reel_pool *pool = open_pool(shared_options());
	size_t before = total_of(pool->share);
	pid_t child = fork_with_timeout();

	tap_case("fork");
	if (child == 0) {
		reel_pool *own;

		ok(!pool->share, "the child has no part of its parent's share");
		own = open_pool(shared_options());
		is_int(total_of(own->share), before + MINIMUM, "it joins with a pool of its own");
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child has a share of its own");
	reel_share_free_ended(pool->share->file);
	is_int(total_of(pool->share), before, "its end gives all back");
	ok(file_is_there(), "and leaves the file to the parent");
	close_pool(pool, "a fork");
	ok(!file_is_there(), "no file is left");
}

static void a_process_that_exits_leaves_no_file(void)
{
	pid_t child = fork_with_timeout();
	char text[64];
	int status;

	tap_case("the default pool");
	if (child == 0) {
		snprintf(text, sizeof text, "shared:%s:16M", name);
		setenv("REEL_BUDGET", text, 1);
		exit(reel_pool_default() && file_is_there() &&
		     stats_of(reel_pool_default()).hard_budget == (size_t)16 << 20 ? 7 : 1);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the default pool shares a budget");
	ok(!file_is_there(), "the file goes with the process");
}

int main(void)
{
	name_shared_budget();
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	the_last_member_removes_the_file();
	processes_that_end_at_the_same_time_leave_no_file();
	other_files_are_refused();
	other_versions_and_containers_are_refused();
	the_smaller_budget_counts();
	members_have_one_budget();
	a_member_has_its_allotment();
	a_member_too_many_is_refused();
	what_killed_processes_had_comes_back();
	looks_give_back_what_the_dead_had();
	the_file_of_dead_processes_is_taken_over();
	processes_join_and_leave_at_any_time();
	threads_charge_at_the_same_time();
	changes_that_cancel_each_other_are_noticed();
	pools_share_a_budget();
	children_of_forks_join_anew();
	a_process_that_exits_leaves_no_file();
	return tap_end();
}
