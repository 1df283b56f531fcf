/* SPDX-License-Identifier: MIT */
/*
 * Tests limits of the system that a store meets while a tape spills, each in its own process: there
 * is a clear error, and the values that were pushed before come back.
 */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include "os/annotate.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "helpers/process-support.h"

#define SLAB ((size_t)16384)
#define SLAB_WORDS (SLAB / 8)

static struct reel_pool_options options_on(reel_store *store)
{
	return (struct reel_pool_options){
		.slab_bytes = SLAB,
		.first_slab_bytes = SLAB / 4,
		.hard_budget = 16 * SLAB,
		.store = store,
	};
}

static int open_file(reel_store **store, const char *directory)
{
	return reel_store_file_open(store, &(struct reel_file_options){
		.directory = directory, .slot_bytes = SLAB, .threads = 2,
		.flags = REEL_FILE_TMPFS});
}

/* Pushes until a push is refused. Then pops the refused value, and all values before it. */
static void fill_and_come_back(reel_pool *pool, int error, const char *cause)
{
	reel_tape tape = open_tape(pool, 0);
	uint64_t n = 0;

	record_reports();
	while (n < 4096 * SLAB_WORDS && !reel_tape_error(&tape))
		n++, push_words(&tape, n - 1, n);
	is_int(reel_tape_error(&tape), error, "the error");
	ok(strstr(reported.message, cause), "which is told: %s", reported.message);
	ok(n > 20 * SLAB_WORDS, "after %llu words", (unsigned long long)n);
	ok(reel_pop(&tape, uint64_t) == UINT64_MAX, "what was refused is all ones");
	is_int(wrong_words(&tape, 0, n - 1), 0, "what was pushed before comes back");
	is_int(reel_tape_clear_error(&tape), error, "the error can be cleared");
	push_words(&tape, 0, 15 * SLAB_WORDS);
	is_int(wrong_words(&tape, 0, 15 * SLAB_WORDS), 0, "and the tape goes on");
	is_int(reported.calls, 1, "one error was told");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a refusal");
}

/* ---- A disk that is full ---- */

#ifdef __linux__
/* Mounts a small file system in a directory, which no other process sees. */
static bool mount_small(const char *directory)
{
	if (mkdir(directory, 0700) || (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS)))
		return false;
	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL))
		return false;
	return mount("reel", directory, "tmpfs", 0, "size=1m") == 0;
}

static void a_disk_is_full(void)
{
	reel_store *store;

	if (!mount_small("small"))
		_exit(CANNOT);
	is_int(open_file(&store, "small"), 0, "the store opens");
	fill_and_come_back(open_pool(options_on(store)), -ENOSPC, strerror(ENOSPC));
}
#else
static void a_disk_is_full(void)
{
	_exit(CANNOT);
}
#endif

/* ---- A disk that is smaller than the tape ---- */

#if HAVE_LZ4
#define LARGE_SLAB (16 * SLAB)
#define LARGE_WORDS (LARGE_SLAB / 8)

static reel_store *disk_of(unsigned slabs, bool compressed)
{
	struct reel_file_options file = {.directory = ".", .slot_bytes = LARGE_SLAB, .threads = 2,
					 .max_bytes = slabs * LARGE_SLAB, .flags = REEL_FILE_TMPFS};
	struct reel_codec_options codec = {.max_bytes = LARGE_SLAB};
	reel_store *store;

	if (reel_store_file_open(&store, &file) || reel_store_checksum_open(&store, store) ||
	    (compressed && reel_store_codec_open(&store, store, &codec)))
		abort();
	return store;
}

/* Returns words in which 8 of 40 bytes are random, so the codec makes a fifth of them. */
static uint64_t smooth_word(uint64_t i)
{
	return (uint64_t)1 << 60 | (scramble(i) & (i / 4096 % 5 < 3 ? 0xffff : 0xff));
}

static uint64_t push_smooth_words(reel_tape *tape, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		reel_push(tape, smooth_word(i));
		if (reel_tape_error(tape)) {
			(void)reel_pop(tape, uint64_t);
			return i;
		}
	}
	return n;
}

/* Pushes `slabs` slabs. Returns the number of slabs that have room. */
static uint64_t slabs_on(reel_store *store, uint64_t slabs)
{
	struct reel_pool_options options = options_on(store);
	uint64_t pushed, wrong = 0;
	reel_pool *pool;
	reel_tape tape;

	options.slab_bytes = LARGE_SLAB;
	options.hard_budget = 16 * LARGE_SLAB;
	pool = open_pool(options);
	tape = open_tape(pool, 0);
	pushed = push_smooth_words(&tape, slabs * LARGE_WORDS);
	for (uint64_t i = pushed; i-- > 0;)
		wrong += reel_pop(&tape, uint64_t) != smooth_word(i);
	is_int(wrong, 0, "what was pushed comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a small disk");
	return pushed / LARGE_WORDS;
}

static void a_tape_is_larger_than_the_disk(void)
{
	uint64_t plain, compressed;

	record_reports();
	plain = slabs_on(disk_of(50, false), 200);
	ok(plain > 45 && plain < 70, "a disk of 50 slabs, and memory, have room for %llu",
	   (unsigned long long)plain);
	compressed = slabs_on(disk_of(50, true), 200);
	is_int(compressed, 200, "and for 200 that the codec makes a fifth of");
	is_int(reported.calls, 1, "only one tape was refused anything");
}
#else
static void a_tape_is_larger_than_the_disk(void)
{
	_exit(CANNOT);
}
#endif

/* ---- Limits of the process ---- */

static void a_file_may_not_grow(void)
{
	reel_store *store;

	is_int(open_file(&store, "."), 0, "the store opens");
	LIMIT(RLIMIT_FSIZE, 40 * SLAB);
	fill_and_come_back(open_pool(options_on(store)), -EFBIG, strerror(EFBIG));
}

static void there_are_no_descriptors(void)
{
	reel_store *store, *first;

	is_int(open_file(&first, "."), 0, "the store opens");
	LIMIT(RLIMIT_NOFILE, 0);
	is_int(open_file(&store, "."), -EMFILE, "another one does not");
	ok(strstr(reel_error_text(0), strerror(EMFILE)), "and it is said why: %s",
	   reel_error_text(0));
	LIMIT(RLIMIT_FSIZE, 40 * SLAB);
	fill_and_come_back(open_pool(options_on(first)), -EFBIG, strerror(EFBIG));
}

#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
static void there_is_no_address_space(void)
{
	_exit(CANNOT);
}

static void address_space_ends(void)
{
	_exit(CANNOT);
}

static void a_pop_waits_for_another_tapes_frame(void)
{
	_exit(CANNOT);
}
#else
static void there_is_no_address_space(void)
{
	reel_store *store;
	reel_pool *pool;
	struct reel_pool_options options;

	if (is_emulated())
		_exit(CANNOT);
	is_int(open_file(&store, "."), 0, "the store opens");
	options = options_on(store);
	LIMIT(RLIMIT_AS, address_space() + reel_supply_table_bytes() + ((size_t)8 << 20));
	is_int(reel_pool_open(&pool, &options), -ENOMEM, "a pool with a store does not open");
	LIMIT(RLIMIT_AS, RLIM_INFINITY);
	is_int(reel_pool_open(&pool, &options), 0, "the store is still the caller's");
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

/* With far less memory than the budget slabs are stored as with a smaller budget. */
static void address_space_ends(void)
{
	struct reel_pool_options options;
	uint64_t n = 200 * 64 * SLAB_WORDS;
	reel_store *store;
	reel_pool *pool;
	reel_tape tape;

	if (is_emulated())
		_exit(CANNOT);
	is_int(reel_store_file_open(&store, &(struct reel_file_options){
		.directory = ".", .slot_bytes = 64 * SLAB, .threads = 1,
		.flags = REEL_FILE_TMPFS}), 0, "the store opens");
	options = (struct reel_pool_options){.slab_bytes = 64 * SLAB, .first_slab_bytes = SLAB,
					     .hard_budget = 256 * 64 * SLAB, .store = store};
	pool = open_pool(options);
	record_reports();
	tape = open_tape(pool, 0);
	push_words(&tape, 0, 32 * SLAB_WORDS);
	LIMIT(RLIMIT_AS, address_space() + ((size_t)16 << 20));
	push_words(&tape, 32 * SLAB_WORDS, n);
	is_int(reel_tape_error(&tape), 0, "a tape outgrows the memory that there is");
	ok(stats_of(pool).written_bytes > 64 * 64 * SLAB, "by way of the store");
	is_int(wrong_words(&tape, 0, n), 0, "all comes back");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a want of memory");
}

static sem_t limited;

static void *pop_all(void *tape)
{
	while (sem_wait(&limited))
		;
	is_int(wrong_words(tape, 0, 64 * SLAB_WORDS), 0, "and all comes back");
	reel_tape_hand_over(tape);
	return NULL;
}

/*
 * The tops of other tapes, which cannot be evicted, use the whole budget, and the system has no
 * memory beyond it. So the pop waits until another tape ends.
 */
static void a_pop_waits_for_another_tapes_frame(void)
{
	struct reel_pool_options options;
	reel_tape tape, other[7];
	reel_store *store;
	reel_pool *pool;
	pthread_t popper;

	if (is_emulated())
		_exit(CANNOT);
	is_int(reel_store_memory_open(&store, UINT64_MAX), 0, "the store opens");
	options = options_on(store);
	pool = open_pool(options);
	tape = open_tape(pool, 0);
	push_words(&tape, 0, 64 * SLAB_WORDS);
	for (size_t i = 0; i < COUNT(other); i++) {
		other[i] = open_tape(pool, 0);
		push_words(&other[i], 0, INLINE_WORDS + SLAB_WORDS + 1);
	}
	reel_offload_settle(reel_offload_of(pool));
	reel_tape_hand_over(&tape);
	sem_init(&limited, 0, 0);
	pthread_create(&popper, NULL, pop_all, &tape);
	LIMIT(RLIMIT_AS, 1);
	while (reel_mapping_carve(pool, SLAB))
		;
	sem_post(&limited);
	while (!atomic_load(&tape.demand->awaited))
		usleep(1000);
	/* Time for the offload thread, which finds no frame and goes to sleep. */
	usleep(50000);
	ok(atomic_load(&tape.demand->awaited), "the pop waits");
	reel_tape_close(&other[0]);
	pthread_join(popper, NULL);
	for (size_t i = 1; i < COUNT(other); i++)
		reel_tape_close(&other[i]);
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a pop that waits");
}
#endif

static void in_a_child(const char *what, void (*body)(void))
{
	pid_t child;
	int status;

	tap_case(what);
	child = fork_with_timeout();
	if (child == 0) {
		body();
		tap_child_end();
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
		tap_skip(1, "%s cannot be had here", what);
	else
		is_int(status, 0, "%s", what);
}

int main(void)
{
	tap_begin();
	in_a_child("a disk that is full", a_disk_is_full);
	in_a_child("a disk smaller than the tape", a_tape_is_larger_than_the_disk);
	in_a_child("a limit of the file's size", a_file_may_not_grow);
	in_a_child("no descriptor", there_are_no_descriptors);
	in_a_child("no address space for a pool", there_is_no_address_space);
	in_a_child("less address space than the budget", address_space_ends);
	in_a_child("no address space beyond the budget", a_pop_waits_for_another_tapes_frame);
	return tap_end();
}
