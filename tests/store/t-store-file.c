/* SPDX-License-Identifier: MIT */
/* Tests file stores. TEST_SEEDS=N runs N random sequences with each way of reading and writing. */
#include <config.h>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "os/annotate.h"
#include "helpers/cancel-support.h"
#include "helpers/file-support.h"

enum { MANY = 100, KEYS = 40, OPERATIONS = 200, DEFAULT_SEEDS = 10 };

static const struct way *way;

static void put_many(reel_store *store, struct reel_extent *places)
{
	for (unsigned first = 0; first < MANY; first += TICKETS) {
		unsigned n = MANY - first < TICKETS ? MANY - first : TICKETS;

		for (unsigned i = 0; i < n; i++) {
			prepare_put(i, first + i, SLOT);
			reel_store_put(store, &tickets[i]);
		}
		reel_store_sync(store, -1);
		for (unsigned i = 0; i < n; i++)
			places[first + i] = tickets[i].extent;
	}
}

/* Gets pieces in descending order. Returns the number of wrong ones. */
static unsigned get_many(reel_store *store, const struct reel_extent *places)
{
	unsigned wrong = 0;

	for (unsigned end = MANY; end > 0;) {
		unsigned n = end < TICKETS ? end : TICKETS;

		end -= n;
		for (unsigned i = 0; i < n; i++) {
			prepare_get(i, end + i, places[end + i]);
			reel_store_get(store, &tickets[i]);
		}
		reel_store_sync(store, -1);
		for (unsigned i = 0; i < n; i++)
			wrong += !came_back(i);
	}
	return wrong;
}

static uint64_t size_of(reel_store *store)
{
	struct stat status;

	fstat(file_of(store)->descriptor, &status);
	return (uint64_t)status.st_size;
}

static void slots_are_used_again(void)
{
	reel_store *store = open_store(options_of(way));
	struct reel_extent places[MANY];
	unsigned wrong = 0;
	uint64_t size = 0;

	for (unsigned cycle = 0; cycle < 4; cycle++) {
		put_many(store, places);
		wrong += get_many(store, places);
		is_int(capacity_of(store).used_bytes, MANY * file_of(store)->slots.slot_bytes,
		       "all slots are counted");
		if (cycle == 0)
			size = size_of(store);
		for (unsigned i = 0; i < MANY; i++)
			reel_store_drop(store, places[i]);
	}
	is_int(wrong, 0, "%d transfers at once come back as they were", MANY);
	is_int(size_of(store), size, "the file does not grow when there are free slots");
	is_int(capacity_of(store).used_bytes, 0, "nothing is used when all was dropped");
	reel_store_close(store);
}

static void the_lowest_slot_is_first(void)
{
	static const unsigned dropped[] = {70, 2, 65, 9};
	static const unsigned wanted[] = {2, 9, 65, 70, MANY};
	reel_store *store = open_store(options_of(way));
	struct reel_extent places[MANY], extent;

	put_many(store, places);
	for (unsigned i = 0; i < MANY; i++)
		reel_store_drop(store, places[i]);
	for (unsigned i = 0; i < MANY; i++)
		put_one(store, i, &places[i]);
	for (unsigned i = 0; i < COUNT(dropped); i++) {
		reel_store_drop(store, places[dropped[i]]);
		reel_store_drop(store, places[dropped[i]]);
	}
	is_int(capacity_of(store).used_bytes,
	       (MANY - COUNT(dropped)) * file_of(store)->slots.slot_bytes,
	       "a slot that is dropped twice counts once");
	for (unsigned i = 0; i < COUNT(wanted); i++) {
		put_one(store, i, &extent);
		is_int(slot_number(store, extent), wanted[i], "the lowest free slot");
	}
	reel_store_close(store);
}

/* The model's entry for a key. */
static struct key {
	bool stored;
	bool under_way;
	uint64_t seed;
	struct reel_extent extent;
} keys[KEYS];

static unsigned key_of[TICKETS];
static unsigned started;

/* Returns the number of wrong transfers. */
static unsigned end_all(reel_store *store)
{
	unsigned wrong = reel_store_sync(store, -1) != 0;

	for (unsigned i = 0; i < started; i++) {
		struct key *key = &keys[key_of[i]];

		if (key->stored)
			wrong += !came_back(i);
		else
			wrong += tickets[i].error != 0;
		key->extent = tickets[i].extent;
		key->stored = true;
		key->under_way = false;
	}
	started = 0;
	return wrong;
}

static void start_one(reel_store *store, unsigned k, uint64_t random)
{
	struct key *key = &keys[k];
	unsigned i = started++;

	key_of[i] = k;
	key->under_way = true;
	if (key->stored) {
		prepare_get(i, key->seed, key->extent);
		reel_store_get(store, &tickets[i]);
		return;
	}
	key->seed = random;
	prepare_put(i, random, (size_t)(random % (SLOT / BLOCK + 1)) * BLOCK);
	reel_store_put(store, &tickets[i]);
}

static unsigned run_sequence(reel_store *store, uint64_t seed)
{
	unsigned wrong = 0;

	memset(keys, 0, sizeof keys);
	for (uint64_t n = 0; n < OPERATIONS; n++) {
		uint64_t random = scramble(seed << 32 | n);
		unsigned k = (unsigned)(random % KEYS);

		if (started == TICKETS || keys[k].under_way || random >> 60 == 0)
			wrong += end_all(store);
		if (keys[k].stored && random >> 62 == 1) {
			reel_store_drop(store, keys[k].extent);
			keys[k].stored = false;
		} else {
			start_one(store, k, random >> 8 & 0xffffff);
		}
	}
	wrong += end_all(store);
	for (unsigned k = 0; k < KEYS; k++)
		if (keys[k].stored)
			reel_store_drop(store, keys[k].extent);
	return wrong;
}

static void no_random_sequence_differs(void)
{
	const char *text = getenv("TEST_SEEDS");
	uint64_t n = text ? strtoull(text, NULL, 10) : DEFAULT_SEEDS;
	reel_store *store = open_store(options_of(way));
	unsigned wrong = 0;

	for (uint64_t seed = 0; seed < n; seed++) {
		unsigned more = run_sequence(store, seed);

		if (more)
			tap_note("seed %llu: %u are wrong", (unsigned long long)seed, more);
		wrong += more;
	}
	is_int(wrong, 0, "%llu random sequences are as the model says", (unsigned long long)n);
	is_int(capacity_of(store).used_bytes, 0, "random sequences leave nothing");
	reel_store_close(store);
}

static void what_cannot_be_is_refused(void)
{
	reel_store *store = open_store(options_of(way));
	const struct reel_file_slots *slots = &file_of(store)->slots;
	struct reel_extent extent;
	uint64_t last = slots->most - slots->slot_bytes / slots->unit_bytes;

	prepare_put(0, 1, SLOT);
	tickets[0].bytes = SLOT + BLOCK;
	is_int(reel_store_put_and_wait(store, &tickets[0]), -EMSGSIZE, "a put above a slot");
	tickets[0].bytes = SLOT - 8;
	is_int(reel_store_put_and_wait(store, &tickets[0]), -EINVAL, "a length not aligned");
	tickets[0].bytes = BLOCK;
	tickets[0].data = data[0] + 8;
	is_int(reel_store_put_and_wait(store, &tickets[0]), -EINVAL, "data not aligned");
	prepare_get(0, 1, (struct reel_extent){UINT64_MAX, SLOT});
	is_int(reel_store_get_and_wait(store, &tickets[0]), -EINVAL, "a get from nowhere");
	prepare_get(0, 1, (struct reel_extent){last + 1, SLOT});
	is_int(reel_store_get_and_wait(store, &tickets[0]), -EINVAL, "a get across the last byte");
	prepare_get(0, 1, (struct reel_extent){last, SLOT});
	is_int(reel_store_get_and_wait(store, &tickets[0]), -EIO, "a get above the file's end");
	is_int(put_one(store, 1, &extent), 0, "after all of that, a put");
	ok(get_one(store, 1, extent), "a get after all of that");
	reel_store_close(store);
}

static void no_more_is_stored_than_was_allowed(void)
{
	struct reel_file_options options = options_of(way);
	reel_store *store = open_store(options);
	struct reel_extent extent;

	options.max_bytes = 3 * file_of(store)->slots.slot_bytes;
	reel_store_close(store);
	store = open_store(options);
	is_int(capacity_of(store).total_bytes, options.max_bytes, "the capacity is max_bytes");
	for (unsigned i = 0; i < 3; i++)
		put_one(store, i, &extent);
	is_int(tickets[0].error, 0, "a file has as many slots as max_bytes allows");
	reel_store_put_and_wait(store, &tickets[0]);
	is_int(tickets[0].error, -ENOSPC, "a slot more than max_bytes allows is refused");
	reel_store_drop(store, extent);
	is_int(put_one(store, 4, &extent), 0, "a slot is free after a drop");
	reel_store_close(store);
}

static void without_slot_bytes_a_put_may_fill_the_file(void)
{
	struct reel_file_options options = options_of(way);
	reel_transfer transfer = {0};
	unsigned char *copy;
	reel_store *store;

	options.slot_bytes = 0;
	store = open_store(options);
	is_int(capacity_of(store).max_bytes, 1 << 30, "a put may be the largest slab of a pool");
	reel_store_close(store);
	options.max_bytes = 1221 * BLOCK;
	store = open_store(options);
	transfer.bytes = capacity_of(store).max_bytes;
	ok(transfer.bytes > 4900000 && transfer.bytes < options.max_bytes,
	   "it may be as long as the file, less a header");
	transfer.data = aligned_alloc(BLOCK, options.max_bytes);
	copy = malloc(transfer.bytes);
	for (size_t k = 0; k < transfer.bytes; k++)
		copy[k] = (unsigned char)scramble(k);
	memcpy(transfer.data, copy, transfer.bytes);
	is_int(reel_store_put_and_wait(store, &transfer), 0, "it is put");
	memset(transfer.data, 0, transfer.bytes);
	is_int(reel_store_get_and_wait(store, &transfer), 0, "it is read");
	ok(!memcmp(transfer.data, copy, transfer.bytes), "it is what was put");
	transfer.bytes += BLOCK;
	is_int(reel_store_put_and_wait(store, &transfer), -EMSGSIZE, "a longer one is refused");
	free(transfer.data);
	free(copy);
	reel_store_close(store);
}

static void a_put_takes_the_room_that_it_needs(void)
{
	reel_store *store = open_store(options_of(way));
	struct reel_extent extent;
	uint64_t used = 0;

	for (size_t bytes = 0; bytes <= SLOT; bytes += BLOCK) {
		prepare_put(0, bytes, bytes);
		reel_store_put_and_wait(store, &tickets[0]);
		extent = tickets[0].extent;
		is_int(capacity_of(store).used_bytes - used, BLOCK + bytes,
		       "a put of %zu blocks takes those and a header's", bytes / BLOCK);
		used = capacity_of(store).used_bytes;
	}
	reel_store_drop(store, extent);
	is_int(capacity_of(store).used_bytes, used - BLOCK - SLOT,
	       "a dropped put gives its blocks back");
	reel_store_close(store);
}

enum { SMALL = 31 };

/* Opens a store whose file is full of small puts. */
static reel_store *open_full(struct reel_extent *places)
{
	struct reel_file_options options = options_of(way);
	reel_store *store;

	options.max_bytes = SMALL * 2 * BLOCK;
	store = open_store(options);
	for (unsigned i = 0; i < SMALL; i++) {
		prepare_put(0, i, BLOCK);
		is_int(reel_store_put_and_wait(store, &tickets[0]), 0, "a small put");
		places[i] = tickets[0].extent;
	}
	return store;
}

/* Opens such a store, and drops every second put. */
static reel_store *open_fragmented(struct reel_extent *places)
{
	reel_store *store = open_full(places);

	for (unsigned i = 1; i < SMALL; i += 2)
		reel_store_drop(store, places[i]);
	return store;
}

/* With a codec slabs of zeros need little room, so the file must not grow by large steps. */
static void what_is_compressed_well_takes_little_room(void)
{
	enum { SLABS = 150 };
	struct reel_file_options options = options_of(way);
	const size_t bytes = REEL_DEFAULT_SLOT_BYTES;
	reel_transfer transfer = {.bytes = bytes};
	reel_store *file, *codec;
	struct stat status;
	unsigned failed = 0;

	options.slot_bytes = 0;
	file = open_store(options);
	if (!HAVE_LZ4 || reel_store_codec_open(&codec, file, NULL)) {
		tap_skip(3, "there is no codec");
		reel_store_close(file);
		return;
	}
	transfer.data = aligned_alloc(BLOCK, bytes);
	memset(transfer.data, 0, bytes);
	for (unsigned i = 0; i < SLABS; i++)
		failed += reel_store_put_and_wait(codec, &transfer) != 0;
	is_int(failed, 0, "300 MiB of zeros are compressed and put");
	is_int(fstat(file_of(file)->descriptor, &status), 0, "their file");
	ok(status.st_size <= 4 << 20, "the file of zeros takes at most 4 MiB, and has %lld bytes",
	   (long long)status.st_size);
	free(transfer.data);
	reel_store_close(codec);
}

/* 15 holes of two blocks have room for exactly six puts of five blocks. */
static void no_room_is_lost_between_small_puts(void)
{
	struct reel_extent small[SMALL], large[6], none;
	reel_store *store = open_fragmented(small);
	unsigned wrong = 0;

	for (unsigned i = 0; i < COUNT(large); i++)
		is_int(put_one(store, 100 + i, &large[i]), 0, "a put is stored in parts");
	is_int(put_one(store, 99, &none), -ENOSPC, "a put is refused when there is no room");
	for (unsigned i = 0; i < COUNT(large); i++)
		wrong += !get_one(store, 100 + i, large[i]);
	for (unsigned i = 0; i < SMALL; i += 2)
		wrong += !get_one(store, i, small[i]);
	is_int(wrong, 0, "all of them come back");
	prepare_get(0, 100, large[0]);
	tickets[0].bytes = BLOCK;
	is_int(reel_store_get_and_wait(store, &tickets[0]), 0, "a part of a put comes back");
	reel_store_drop(store, large[3]);
	reel_store_drop(store, large[3]);
	is_int(put_one(store, 103, &large[3]), 0, "there is room again after a drop");
	ok(get_one(store, 103, large[3]), "a put after a drop comes back");
	reel_store_drop(store, large[5]);
	for (unsigned i = 0; i < SMALL; i += 2)
		reel_store_drop(store, small[i]);
	is_int(capacity_of(store).used_bytes, 5 * file_of(store)->slots.slot_bytes,
	       "what is left are slots of several parts");
	reel_store_close(store);
}

/* The longest hole is at the end of the file, and too short for the put. */
static void a_slot_in_parts_may_begin_at_the_end(void)
{
	struct reel_extent small[SMALL], extent;
	reel_store *store = open_full(small);

	reel_store_drop(store, small[0]);
	reel_store_drop(store, small[SMALL - 2]);
	reel_store_drop(store, small[SMALL - 1]);
	is_int(put_one(store, 100, &extent), 0, "a put is stored in parts");
	ok(get_one(store, 100, extent), "a put in parts comes back");
	reel_store_close(store);
}

/* The store knows no place beyond the last part of a slot in parts. */
static void a_get_beyond_the_last_part_is_refused(void)
{
	struct reel_extent small[SMALL], extent;
	reel_store *store = open_fragmented(small);

	prepare_put(0, 1, 2 * BLOCK);
	is_int(reel_store_put_and_wait(store, &tickets[0]), 0, "a put is stored in parts");
	extent = tickets[0].extent;
	extent.bytes = SLOT;
	prepare_get(0, 1, extent);
	is_int(reel_store_get_and_wait(store, &tickets[0]), -EINVAL, "a get of more is refused");
	reel_store_close(store);
}

static sem_t go_on;

static void wait_to_go_on(reel_transfer *transfer)
{
	(void)transfer;
	while (sem_wait(&go_on))
		;
}

static void hold_up_one_put(reel_store *store)
{
	prepare_put(0, 1, SLOT);
	tickets[0].done = wait_to_go_on;
	reel_store_put(store, &tickets[0]);
}

static void sync_gives_up_in_time(void)
{
	reel_store *store = open_store(options_of(way));

	sem_init(&go_on, 0, 0);
	is_int(reel_store_sync(store, 0), 0, "sync of nothing");
	hold_up_one_put(store);
	is_int(reel_store_sync(store, 0), -ETIMEDOUT, "sync without waiting");
	is_int(reel_store_sync(store, 1500000), -ETIMEDOUT, "sync for a while");
	sem_post(&go_on);
	is_int(reel_store_sync(store, -1), 0, "sync without an end");
	reel_store_close(store);
	sem_destroy(&go_on);
}

static void use_in_child(reel_store *store, struct reel_extent extent)
{
	struct reel_extent none;

	is_int(put_one(store, 2, &none), -ECHILD, "a put in the child");
	prepare_get(0, 1, extent);
	is_int(reel_store_get_and_wait(store, &tickets[0]), -ECHILD, "a get in the child");
	reel_store_drop(store, extent);
	is_int(reel_store_sync(store, -1), 0, "sync in the child");
	capacity_of(store);
	reel_store_close(store);
	/*
	 * With ThreadSanitizer no thread can start in a child of a program with threads. With
	 * AddressSanitizer a thread may wait for ever: a thread of the store that was just starting
	 * in the parent may have held the lock of the allocator, which stays locked in the child.
	 */
#if !defined(REEL_THREAD_SANITIZER) && !defined(REEL_ADDRESS_SANITIZER)
	if (is_emulated())
		return;
	store = open_store(options_of(way));
	is_int(put_one(store, 3, &extent), 0, "a store of the child's own");
	ok(get_one(store, 3, extent), "works");
	reel_store_close(store);
#endif
}

static void a_child_only_closes(void)
{
	reel_store *store = open_store(options_of(way));
	struct reel_extent extent;
	pid_t child;

	sem_init(&go_on, 0, 0);
	put_one(store, 1, &extent);
	hold_up_one_put(store);
	child = fork_with_timeout();
	if (child == 0) {
		use_in_child(store, extent);
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child of a fork closes the store, and opens its own");
	sem_post(&go_on);
	reel_store_sync(store, -1);
	is_int(tickets[0].error, 0, "what was under way goes on in the parent");
	ok(get_one(store, 1, extent), "the parent's store is as it was");
	reel_store_close(store);
	sem_destroy(&go_on);
}

static const char results[] = "results of the program";

/* Closes a descriptor, as a daemon does, and opens a file of the program, which gets its number. */
static void take_descriptor(int descriptor)
{
	int file;

	close(descriptor);
	file = open("results", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (write(file, results, sizeof results) != (ssize_t)sizeof results)
		abort();
	if (file == descriptor)
		return;
	dup2(file, descriptor);
	close(file);
}

static void expect_results(int descriptor)
{
	char text[2 * sizeof results] = "";

	is_int(pread(descriptor, text, sizeof text, 0), sizeof results,
	       "the program's file is as long as it was, and open");
	is_string(text, results, "the program's file has what it had");
	close(descriptor);
	unlink("results");
}

static void a_file_of_the_program_is_not_written(void)
{
	reel_store *store = open_store(options_of(way));
	int descriptor = file_of(store)->descriptor;
	const struct reel_file_slots *slots = &file_of(store)->slots;
	uint64_t size = 0;
	struct reel_extent first, last;
	int error = 0;

	put_one(store, 1, &first);
	take_descriptor(descriptor);
	is_int(put_one(store, 2, &last), -EBADF, "a put without the descriptor");
	is_int(get_one(store, 1, first), false, "a get without the descriptor");
	is_int(tickets[0].error, -EBADF, "the get without the descriptor has its error");
	while (!error && (size = reel_file_slots_bytes(slots, &slots->count)) < 64 << 20)
		error = put_one(store, 3, &last);
	is_int(error, -EBADF, "the file grows no more");
	ok(size < 4 << 20, "the file has less than 4 MiB");
	reel_store_close(store);
	expect_results(descriptor);
}

/* Daemons close all descriptors in a loop, also those of streams that are written later. */
static void use_descriptors(void)
{
	struct rlimit limit;
	reel_store *store;

	for (int stream = 0; stream < 3; stream++)
		close(stream);
	getrlimit(RLIMIT_NOFILE, &limit);
	store = open_store(options_of(way));
	for (int descriptor = 3; descriptor < 64; descriptor++)
		close(descriptor);
	for (int descriptor = 0; descriptor < 64; descriptor++)
		if (fcntl(descriptor, F_GETFD) >= 0)
			_exit(EXIT_FAILURE);
	_exit(file_of(store)->descriptor >= (limit.rlim_cur < 2048 ? (int)limit.rlim_cur / 2 : 1024)
	      ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Files of the program get the numbers of all descriptors that the store has opened. */
static void take_all_descriptors(void)
{
	reel_store *store = open_store(options_of(way));
	int high = file_of(store)->descriptor, file = open("results", O_CREAT | O_RDWR, 0600);
	struct timespec begin, end;
	bool passed;

	for (int descriptor = high - 8; descriptor < high + 8; descriptor++)
		dup2(file, descriptor);
	usleep(50000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	usleep(400000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	/* A thread that polls for ever would use all processor time. */
	passed = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec) < 0.1;
	reel_store_close(store);
	for (int descriptor = high - 8; descriptor < high + 8; descriptor++)
		passed &= fcntl(descriptor, F_GETFD) >= 0;
	unlink("results");
	_exit(passed ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void descriptors_are_high(void)
{
	pid_t child;

	/* With ThreadSanitizer no thread can start in a child of a program with threads. */
#ifdef REEL_THREAD_SANITIZER
	return;
#endif
	if (is_emulated())
		return;
	child = fork_with_timeout();
	if (child == 0)
		use_descriptors();
	ok(tap_child_passed(child), "a store has no low descriptor, though 0 to 2 are free");
	child = fork_with_timeout();
	if (child == 0)
		take_all_descriptors();
	ok(tap_child_passed(child), "a store whose descriptors are all taken rests, and closes none");
}

static pthread_t main_thread;
static _Atomic unsigned signals_here, signals_elsewhere;

static void count_signal(int number)
{
	(void)number;
	if (pthread_equal(pthread_self(), main_thread))
		signals_here++;
	else
		signals_elsewhere++;
}

/* The handler has no SA_RESTART, so it interrupts system calls. */
static void signals_stay_with_the_program(void)
{
	struct sigaction action = {.sa_handler = count_signal}, before;
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	reel_store *store = open_store(options_of(way));
	unsigned wrong = 0;

	main_thread = pthread_self();
	signals_here = signals_elsewhere = 0;
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint64_t seed = 0; seed < 3 || !signals_here; seed++)
		wrong += run_sequence(store, seed);
	setitimer(ITIMER_REAL, &never, NULL);
	/* With the default handler a signal that is pending would end the program. */
	signal(SIGALRM, SIG_IGN);
	usleep(10000);
	sigaction(SIGALRM, &before, NULL);
	is_int(wrong, 0, "signals disturb no transfer");
	is_int(signals_elsewhere, 0, "no signal is handled in a thread of the store");
	reel_store_close(store);
}

/* A layer that reads each piece twice. */
struct twice {
	reel_store *below;
	unsigned again;
};

static int read_again(reel_store *layer, reel_transfer *transfer, void *own, int error)
{
	struct twice *twice = own;

	if (!twice->again)
		return error;
	twice->again--;
	memset(transfer->data, 0xa5, transfer->bytes);
	reel_transfer_enter(transfer, layer, read_again, twice);
	reel_store_get(twice->below, transfer);
	return REEL_TRANSFER_RESTARTED;
}

static void a_completion_starts_the_transfer_anew(void)
{
	reel_store *store = open_store(options_of(way));
	struct twice twice = {store, 3};
	struct reel_extent extent;

	put_one(store, 1, &extent);
	prepare_get(0, 1, extent);
	reel_transfer_enter(&tickets[0], store, read_again, &twice);
	reel_store_get(store, &tickets[0]);
	is_int(reel_store_sync(store, -1), 0, "sync waits for all of it");
	ok(came_back(0) && !twice.again, "a get that is started anew where it ended");
	reel_store_close(store);
}

static void stores_come_and_go(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 30; i++) {
		reel_store *store = open_store(options_of(way));
		struct reel_extent extent;

		wrong += put_one(store, i, &extent) != 0 || !get_one(store, i, extent);
		reel_store_close(store);
	}
	is_int(wrong, 0, "a store may be closed as soon as its last transfer is done");
}

static _Atomic unsigned done;

static void count_done(reel_transfer *transfer)
{
	done += !transfer->error;
}

static void close_waits(void)
{
	reel_store *store = open_store(options_of(way));

	done = 0;
	for (unsigned i = 0; i < TICKETS; i++) {
		prepare_put(i, i, SLOT);
		tickets[i].done = count_done;
		reel_store_put(store, &tickets[i]);
	}
	reel_store_close(store);
	is_int(done, TICKETS, "what is under way ends before the store does");
}

/* Starts transfers without a wait, because waits disable cancellation themselves. */
static void put_and_get_back(void *store)
{
	prepare_put(0, 1, SLOT);
	reel_store_put(store, &tickets[0]);
	reel_store_sync(store, -1);
	prepare_get(0, 1, tickets[0].extent);
	reel_store_get(store, &tickets[0]);
	reel_store_sync(store, -1);
}

static void no_verb_is_a_cancellation_point(void)
{
	reel_store *store = open_store(options_of(way));

	ok(outlasts_cancellation(put_and_get_back, store), "no verb is a cancellation point");
	ok(came_back(0), "a cancelled thread's put comes back");
	reel_store_close(store);
}

int main(void)
{
	tap_begin();
	for (way = ways; way < ways + COUNT(ways); way++) {
		tap_case(way->name);
		if (!way_is_there(way)) {
			tap_skip(1, "files here cannot be used by %s", way->name);
			continue;
		}
		slots_are_used_again();
		the_lowest_slot_is_first();
		no_random_sequence_differs();
		what_cannot_be_is_refused();
		no_more_is_stored_than_was_allowed();
		a_put_takes_the_room_that_it_needs();
		without_slot_bytes_a_put_may_fill_the_file();
		what_is_compressed_well_takes_little_room();
		no_room_is_lost_between_small_puts();
		a_slot_in_parts_may_begin_at_the_end();
		a_get_beyond_the_last_part_is_refused();
		sync_gives_up_in_time();
		a_child_only_closes();
		a_file_of_the_program_is_not_written();
		descriptors_are_high();
		signals_stay_with_the_program();
		a_completion_starts_the_transfer_anew();
		stores_come_and_go();
		close_waits();
		no_verb_is_a_cancellation_point();
	}
	return tap_end();
}
