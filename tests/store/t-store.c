/* SPDX-License-Identifier: MIT */
/* Runs the tests that every store has to pass on each store, and on stacks of stores. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "helpers/store-later.h"
#include "helpers/store-suite.h"
#include "helpers/store-verbs.h"
#include "helpers/support.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"
#include "os/os.h"

#define ROOM (2 * SUITE_TOTAL_BYTES)

/* Each of these functions takes over `below`; NULL stays NULL. */

static reel_store *memory(uint64_t max_bytes)
{
	reel_store *store;

	return reel_store_memory_open(&store, max_bytes) ? NULL : store;
}

static reel_store *checksum(reel_store *below)
{
	reel_store *store;

	return below && !reel_store_checksum_open(&store, below) ? store : NULL;
}

static reel_store *codec(struct reel_codec_options options, reel_store *below)
{
	reel_store *store;

	return below && !reel_store_codec_open(&store, below, &options) ? store : NULL;
}

static reel_store *count(reel_store *below)
{
	reel_store *store;

	return below && !reel_store_count_open(&store, below) ? store : NULL;
}

/* As a store of a device: a checksum on it has threads of its own. */
static reel_store *device(reel_store *below)
{
	reel_store *store = count(below);

	if (store)
		reel_store_count_registers(store);
	return store;
}

static reel_store *fault(reel_store *below)
{
	reel_store *store;

	return below && !reel_store_fault_open(&store, below, NULL, 0) ? store : NULL;
}

static reel_store *overflow(reel_store *first, reel_store *second)
{
	reel_store *store;

	return first && second && !reel_store_overflow_open(&store, first, second) ? store : NULL;
}

static reel_store *described(const char *description, const char *directory)
{
	reel_store *store;

	return reel_store_open(&store, description, directory) ? NULL : store;
}

/* ---- A store of the program: an array that demands alignment ---- */

#define ARRAY_ALIGN 64

struct array_store {
	reel_store store;
	bool forgets_headers;
	uint64_t used_bytes;
	struct {
		void *data;
		uint64_t header[REEL_HEADER_BYTES / 8];
	} extent[256];
};

static void array_put(reel_store *store, reel_transfer *transfer)
{
	struct array_store *array = (struct array_store *)store;
	bool aligned = !((uintptr_t)transfer->data % ARRAY_ALIGN || transfer->bytes % ARRAY_ALIGN);
	size_t i = 0;

	while (i < COUNT(array->extent) && array->extent[i].data)
		i++;
	if (!aligned || i == COUNT(array->extent)) {
		reel_transfer_complete(transfer, aligned ? -ENOSPC : -EINVAL);
		return;
	}
	array->extent[i].data = suite_allocate(transfer->bytes);
	memcpy(array->extent[i].data, transfer->data, transfer->bytes);
	memcpy(array->extent[i].header, transfer->header, sizeof transfer->header);
	array->used_bytes += transfer->bytes;
	transfer->extent = (struct reel_extent){i, transfer->bytes};
	reel_transfer_complete(transfer, 0);
}

static void array_get(reel_store *store, reel_transfer *transfer)
{
	struct array_store *array = (struct array_store *)store;
	size_t i = (size_t)transfer->extent.location;

	memcpy(transfer->data, array->extent[i].data, transfer->bytes);
	if (!array->forgets_headers)
		memcpy(transfer->header, array->extent[i].header, sizeof transfer->header);
	reel_transfer_complete(transfer, 0);
}

static void array_drop(reel_store *store, struct reel_extent extent)
{
	struct array_store *array = (struct array_store *)store;

	free(array->extent[extent.location].data);
	array->extent[extent.location].data = NULL;
	array->used_bytes -= extent.bytes;
}

static void array_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	*capacity = (struct reel_store_capacity){
		.total_bytes = UINT64_MAX,
		.used_bytes = ((struct array_store *)store)->used_bytes,
		.align = ARRAY_ALIGN,
		.best_depth = 1,
	};
}

static void array_close(reel_store *store)
{
	struct array_store *array = (struct array_store *)store;

	for (size_t i = 0; i < COUNT(array->extent); i++)
		free(array->extent[i].data);
	free(array);
}

static reel_store *array(void)
{
	static const struct reel_store_verbs verbs = {
		.name = "array",
		.put = array_put,
		.get = array_get,
		.drop = array_drop,
		.sync = null_sync,
		.capacity = array_capacity,
		.close = array_close,
	};
	struct array_store *store = calloc(1, sizeof *store);

	if (!store)
		return NULL;
	store->store.verbs = &verbs;
	return &store->store;
}

/* ---- Stacks ---- */

static reel_store *open_memory(void)
{
	return memory(ROOM);
}

static reel_store *open_checksum(void)
{
	return checksum(memory(ROOM));
}

static reel_store *open_count(void)
{
	return count(memory(ROOM));
}

static reel_store *open_fault(void)
{
	return fault(memory(ROOM));
}

/* Most puts use the second store. */
static reel_store *open_overflow(void)
{
	return overflow(memory(SUITE_MAX_BYTES), memory(ROOM));
}

static reel_store *open_overflows(void)
{
	return overflow(memory(SUITE_MAX_BYTES / 2),
			overflow(overflow(memory(1), memory(3 * SUITE_MAX_BYTES)), array()));
}

static reel_store *open_array(void)
{
	return array();
}

static reel_store *open_checked_array(void)
{
	return checksum(array());
}

static reel_store *open_checked_device(void)
{
	return checksum(device(store_later_open(memory(ROOM))));
}

/* One thread at a time may call the array. */
static reel_store *open_checked_array_of_a_device(void)
{
	return checksum(device(array()));
}

static reel_store *open_later(void)
{
	return store_later_open(memory(ROOM));
}

/* Threads of the first store pass refused puts on to the second one, which has no lock. */
static reel_store *open_later_overflow(void)
{
	return overflow(store_later_open(checksum(memory(SUITE_MAX_BYTES))), checksum(array()));
}

static reel_store *open_overflow_with_later(void)
{
	return overflow(memory(SUITE_MAX_BYTES), store_later_open(memory(ROOM)));
}

static const struct {
	const char *name;
	reel_store *(*open)(void);
} stacks[] = {
	{"memory", open_memory},
	{"checksum(memory)", open_checksum},
	{"count(memory)", open_count},
	{"fault(memory)", open_fault},
	{"overflow(memory, memory)", open_overflow},
	{"overflow(memory, overflow(overflow(memory, memory), array))", open_overflows},
	{"array", open_array},
	{"checksum(array)", open_checked_array},
	{"checksum(device(later(memory)))", open_checked_device},
	{"checksum(device(array))", open_checked_array_of_a_device},
	{"later(memory)", open_later},
	{"overflow(later(checksum(memory)), checksum(array))", open_later_overflow},
	{"overflow(memory, later(memory))", open_overflow_with_later},
};

/* ---- Stacks that compress ---- */

#define CODEC_OPTIONS(...)                                                                         \
	((struct reel_codec_options){.max_bytes = SUITE_MAX_BYTES, __VA_ARGS__})

static reel_store *open_codec(void)
{
	return codec((struct reel_codec_options){0}, checksum(memory(ROOM)));
}

static reel_store *open_codec_on_array(void)
{
	return codec(CODEC_OPTIONS(.layout.element = 4), checksum(array()));
}

static reel_store *open_codec_of_differences(void)
{
	return codec(CODEC_OPTIONS(.layout.stride = 25), checksum(memory(ROOM)));
}

/* Most puts and gets find no buffer. */
static reel_store *open_codec_of_one_buffer(void)
{
	return codec(CODEC_OPTIONS(.buffers = 1), store_later_open(checksum(memory(ROOM))));
}

/* Larger pieces are not compressed. */
static reel_store *open_codec_of_small_pieces(void)
{
	return codec((struct reel_codec_options){.max_bytes = 16384, .layout.element = 3},
		     checksum(memory(ROOM)));
}

/* A codec below another one compresses the pieces that the upper one did not. */
static reel_store *open_two_codecs(void)
{
	return codec((struct reel_codec_options){.max_bytes = 8192, .buffers = 2},
		     checksum(codec(CODEC_OPTIONS(.layout.stride = 1),
				    store_later_open(checksum(memory(ROOM))))));
}

static reel_store *open_seven_layers(void)
{
	return count(overflow(memory(SUITE_MAX_BYTES),
			      fault(count(codec(CODEC_OPTIONS(.layout.stride = 3),
						overflow(memory(1), checksum(count(array()))))))));
}

/*
 * Without its own checksum the overflow store would have the codec between the header and its
 * reader.
 */
static reel_store *open_codec_below_a_checksum(void)
{
	return checksum(overflow(codec(CODEC_OPTIONS(.buffers = 2), checksum(memory(ROOM / 4))),
				 memory(ROOM)));
}

/* The codec packs each put before the second store gets it. */
static reel_store *open_codec_on_a_full_store(void)
{
	return checksum(overflow(codec(CODEC_OPTIONS(.buffers = 2), checksum(memory(1))),
				 memory(ROOM)));
}

static reel_store *open_described(void)
{
	return described("memory=1M,lz4,memory=2M,memory=64M", NULL);
}

static const struct {
	const char *name;
	reel_store *(*open)(void);
} codec_stacks[] = {
	{"codec(checksum(memory))", open_codec},
	{"codec(checksum(array))", open_codec_on_array},
	{"codec(checksum(memory)), of differences", open_codec_of_differences},
	{"codec(later(checksum(memory))), one buffer", open_codec_of_one_buffer},
	{"codec(checksum(memory)), of small pieces", open_codec_of_small_pieces},
	{"codec(checksum(codec(later(checksum(memory)))))", open_two_codecs},
	{"checksum(overflow(codec(checksum(memory)), memory))", open_codec_below_a_checksum},
	{"checksum(overflow(codec(checksum(memory of a byte)), memory))", open_codec_on_a_full_store},
	{"seven layers", open_seven_layers},
	{"memory=1M,lz4,memory=2M,memory=64M", open_described},
};

static void codecs_do_what_they_must(void)
{
	if (!HAVE_LZ4) {
		tap_skip(1, "built without LZ4");
		return;
	}
	for (size_t i = 0; i < COUNT(codec_stacks); i++)
		store_suite(codec_stacks[i].name, codec_stacks[i].open);
}

/* ---- Stacks on a file ---- */

static const char *directory;

static reel_store *open_file(void)
{
	return described("file", directory);
}

static reel_store *open_file_behind_memory(void)
{
	return described("memory=1M,file", directory);
}

static reel_store *open_compressed_file(void)
{
	return described("memory=1M,lz4=25,file", directory);
}

/* Returns a directory on a disk, or NULL. */
static const char *find_directory(void)
{
	const char *candidates[] = {".", "/var/tmp", getenv("BUILD_DIR")};

	for (size_t i = 0; i < COUNT(candidates); i++) {
		reel_store *store = candidates[i] ? described("file", candidates[i]) : NULL;

		reel_store_close(store);
		if (store)
			return candidates[i];
	}
	return NULL;
}

static void files_do_what_they_must(void)
{
	directory = find_directory();
	if (!directory) {
		tap_skip(1, "no store in a file: %s", reel_error_text(0));
		return;
	}
	store_suite("file", open_file);
	store_suite("memory=1M,file", open_file_behind_memory);
	if (HAVE_LZ4)
		store_suite("memory=1M,lz4=25,file", open_compressed_file);
}

/* ---- Features of some stores ---- */

static void counts_are_right(void)
{
	struct reel_store_counts counts;
	uint64_t data[64] = {1, 2, 3};
	reel_transfer transfer = {.data = data, .bytes = 128};
	reel_store *store = count(memory(300));

	reel_store_put_and_wait(store, &transfer);
	transfer.bytes = sizeof data;
	reel_store_put_and_wait(store, &transfer);
	transfer.bytes = 128;
	reel_store_get_and_wait(store, &transfer);
	reel_store_get_and_wait(store, &transfer);
	transfer.bytes = 64;
	reel_store_get_and_wait(store, &transfer);
	reel_store_drop(store, transfer.extent);
	reel_store_get_counts(store, &counts);
	ok(counts.puts == 2 && counts.gets == 3 && counts.drops == 1 && counts.put_bytes == 128 &&
		   counts.got_bytes == 256 && counts.failed_puts == 1 && counts.failed_gets == 1,
	   "a counting layer counts what goes through, and what fails");
	reel_store_close(store);
}

static void memory_is_filled_to_the_byte(void)
{
	char data[100] = {0};
	reel_transfer transfer = {.data = data, .bytes = 60};
	reel_store *store = memory(100);

	is_int(reel_store_put_and_wait(store, &transfer), 0, "60 bytes of 100 are taken");
	transfer.bytes = 41;
	is_int(reel_store_put_and_wait(store, &transfer), -ENOSPC, "41 more are not");
	transfer.bytes = 40;
	is_int(reel_store_put_and_wait(store, &transfer), 0, "40 more are");
	reel_store_close(store);
}

/*
 * Whole huge pages are mapped, and the rest is allocated. Some pieces are dropped, and closing the
 * store frees the others.
 */
static void memory_takes_large_pieces(void)
{
	enum { PIECES = 5 };
	const size_t bytes[PIECES] = {REEL_HUGE_PAGE - 1, REEL_HUGE_PAGE, REEL_HUGE_PAGE + 1,
				      2 * REEL_HUGE_PAGE, REEL_HUGE_PAGE};
	unsigned char *data = suite_allocate(2 * REEL_HUGE_PAGE);
	reel_store *store = memory(UINT64_MAX);
	reel_transfer transfer[PIECES];
	unsigned wrong = 0;

	for (unsigned i = 0; i < PIECES; i++) {
		transfer[i] = (reel_transfer){.data = data, .bytes = bytes[i]};
		memset(data, (int)i + 1, bytes[i]);
		wrong += reel_store_put_and_wait(store, &transfer[i]) != 0;
	}
	for (unsigned i = PIECES; i-- > 0;) {
		memset(data, 0, bytes[i]);
		wrong += reel_store_get_and_wait(store, &transfer[i]) || data[0] != i + 1 ||
			 data[bytes[i] - 1] != i + 1;
		if (i % 2)
			reel_store_drop(store, transfer[i].extent);
	}
	is_int(wrong, 0, "memory: large pieces come back");
	reel_store_close(store);
	free(data);
}

static void a_second_checksum_is_the_first(void)
{
	reel_store *store = checksum(memory(100));
	reel_store *again;

	is_int(reel_store_checksum_open(&again, store), 0, "a checksum over a checksum opens");
	is_pointer(again, store, "a checksum over a checksum is the same store");
	reel_store_close(again);
}

static void a_header_that_does_not_come_back_is_missed(void)
{
	unsigned char *data = suite_allocate(ARRAY_ALIGN);
	reel_transfer transfer = {.data = data, .bytes = ARRAY_ALIGN};
	reel_store *below = array();
	reel_store *store = checksum(below);

	((struct array_store *)below)->forgets_headers = true;
	suite_fill(data, ARRAY_ALIGN, 1);
	is_int(reel_store_put_and_wait(store, &transfer), 0,
	       "a store without headers takes a piece");
	is_int(reel_store_get_and_wait(store, &transfer), -EBADMSG,
	       "a piece of a store without headers does not pass for a good one");
	reel_store_close(store);
	free(data);
}

/* ---- Properties of two stores together ---- */

struct stated_store {
	reel_store store;
	struct reel_store_capacity capacity;
	int64_t sleeps_ns;
	int64_t timeout_ns;
	int error;
};

static void stated_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	*capacity = ((struct stated_store *)store)->capacity;
}

static int stated_sync(reel_store *store, int64_t timeout_ns)
{
	struct stated_store *stated = (struct stated_store *)store;

	stated->timeout_ns = timeout_ns;
	nanosleep(&(struct timespec){.tv_nsec = (long)stated->sleeps_ns}, NULL);
	return stated->error;
}

static struct stated_store stated(struct reel_store_capacity capacity)
{
	static const struct reel_store_verbs verbs = {
		.name = "stated",
		.sync = stated_sync,
		.capacity = stated_capacity,
		.close = null_close,
	};

	return (struct stated_store){.store.verbs = &verbs, .capacity = capacity};
}

static struct reel_store_capacity capacity_of_both(struct reel_store_capacity first,
						   struct reel_store_capacity second)
{
	struct stated_store parts[2] = {stated(first), stated(second)};
	struct reel_store_capacity capacity;
	reel_store *store = overflow(&parts[0].store, &parts[1].store);

	reel_store_get_capacity(store, &capacity);
	reel_store_close(store);
	return capacity;
}

static void two_stores_take_what_both_take(void)
{
	static const size_t most[][3] = {
		{0, 0, 0}, {0, 50, 50}, {50, 0, 50}, {50, 60, 50}, {60, 50, 50}, {50, 50, 50}};
	struct reel_store_capacity one = {.total_bytes = 100, .used_bytes = 10, .align = 8,
					  .best_depth = 4, .verified = true};
	struct reel_store_capacity two = {.total_bytes = 1000, .used_bytes = 20, .align = 64,
					  .best_depth = 2, .verified = true,
					  .registers = true};
	struct reel_store_capacity both = capacity_of_both(one, two);

	for (size_t i = 0; i < COUNT(most); i++) {
		one.max_bytes = most[i][0];
		two.max_bytes = most[i][1];
		is_int(capacity_of_both(one, two).max_bytes, most[i][2],
		       "the largest put of %zu and %zu", most[i][0], most[i][1]);
	}
	ok(both.total_bytes == 1100 && both.used_bytes == 30, "rooms are added");
	ok(both.registers, "memory is adopted if one of them does");
	ok(both.align == 64 && both.best_depth == 4,
	   "the needs of two stores are those of the one that needs more");
	ok(both.verified, "two that verify do so together");
	for (int which = 0; which < 2; which++) {
		one.verified = which;
		two.verified = !which;
		ok(!capacity_of_both(one, two).verified, "one alone does not");
	}
	two.verified = false;
	one.verified = false;
	ok(!capacity_of_both(one, two).verified, "none of them does not");
	one.total_bytes = UINT64_MAX - 999;
	ok(capacity_of_both(one, two).total_bytes == UINT64_MAX, "what is not known is not added");
	one.total_bytes = UINT64_MAX - 1001;
	ok(capacity_of_both(one, two).total_bytes == UINT64_MAX - 1, "what is known is");
}

static void two_stores_share_the_time(void)
{
	struct stated_store first = stated((struct reel_store_capacity){0}), second = first;
	reel_store *store = overflow(&first.store, &second.store);

	second.error = -ETIMEDOUT;
	is_int(reel_store_sync(store, -1), -ETIMEDOUT, "the error of the second is returned");
	ok(first.timeout_ns == -1 && second.timeout_ns == -1, "both are waited for for ever");
	first.sleeps_ns = 2000000;
	reel_store_sync(store, 3600000000000);
	is_int(first.timeout_ns, 3600000000000, "the first one has all the time");
	ok(second.timeout_ns >= 0 && second.timeout_ns <= 3600000000000 - 2000000,
	   "the second one what is left of it");
	reel_store_sync(store, 1000000);
	is_int(second.timeout_ns, 0, "the second store may have no time left");
	first.error = -EIO;
	second.timeout_ns = 77;
	is_int(reel_store_sync(store, 5), -EIO, "the error of the first is returned");
	is_int(second.timeout_ns, 77, "the second store is not asked");
	reel_store_close(store);
}

/* A codec makes these pieces smaller by about the alignment, or not at all. */
static void packed_or_not_is_told_apart(void)
{
	enum { BYTES = 1024 };
	unsigned char *data = suite_allocate(BYTES), *wanted = suite_allocate(BYTES);
	reel_transfer transfer = {.data = data, .bytes = BYTES};
	reel_store *store = codec((struct reel_codec_options){.layout.element = 1}, array());
	unsigned wrong = 0, packed = 0, whole = 0;

	suite_fill(wanted, BYTES, 2);
	for (unsigned zeros = 0; zeros < 256; zeros++) {
		memset(wanted, 0, zeros);
		memcpy(data, wanted, BYTES);
		wrong += reel_store_put_and_wait(store, &transfer) != 0;
		packed += transfer.extent.bytes < BYTES;
		whole += transfer.extent.bytes == BYTES;
		memset(data, 0xa5, BYTES);
		wrong += reel_store_get_and_wait(store, &transfer) || memcmp(data, wanted, BYTES);
		reel_store_drop(store, transfer.extent);
	}
	is_int(wrong, 0, "pieces that hardly get smaller come back");
	ok(packed && whole, "%u of them packed, %u as they were", packed, whole);
	reel_store_close(store);
	free(data);
	free(wanted);
}

/*
 * The codec refuses pieces that are not aligned, also if it could pack them: the store below would
 * only get the others.
 */
static void what_is_not_aligned_is_refused(void)
{
	enum { BYTES = 1024 };
	unsigned char *data = suite_allocate(BYTES + ARRAY_ALIGN);
	reel_store *store = codec((struct reel_codec_options){0}, array());
	reel_transfer good = {.data = data, .bytes = BYTES};

	for (unsigned pattern = 0; pattern < 2; pattern++) {
		reel_transfer shifted = good, shorter = good;

		if (pattern)
			suite_fill(data, BYTES, 2);
		else
			memset(data, 0, BYTES + ARRAY_ALIGN);
		is_int(reel_store_put_and_wait(store, &good), 0, "a put that is aligned");
		ok((good.extent.bytes < BYTES) == !pattern,
		   "an aligned put is packed, if it can be");
		shifted.data = data + 8;
		is_int(reel_store_put_and_wait(store, &shifted), -EINVAL, "data not aligned");
		shorter.bytes = BYTES - 8;
		is_int(reel_store_put_and_wait(store, &shorter), -EINVAL, "a length not aligned");
		shifted.extent = shorter.extent = good.extent;
		is_int(reel_store_get_and_wait(store, &shifted), -EINVAL, "a get to such data");
		is_int(reel_store_get_and_wait(store, &shorter), -EINVAL,
		       "a get of a length not aligned");
		is_int(reel_store_get_and_wait(store, &good), 0, "a get that is aligned");
		reel_store_drop(store, good.extent);
	}
	reel_store_close(store);
	free(data);
}

/* ---- In the child of a fork ---- */

/* A layer that holds puts until the test releases them. */
struct slow_store {
	reel_store store;
	reel_store *below;
	sem_t entered, go_on;
};

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		;
}

static void slow_put(reel_store *store, reel_transfer *transfer)
{
	struct slow_store *slow = (struct slow_store *)store;

	sem_post(&slow->entered);
	wait_for(&slow->go_on);
	reel_store_put(slow->below, transfer);
}

static struct slow_store slow;

static reel_store *open_slow(reel_store *below)
{
	static const struct reel_store_verbs verbs = {
		.name = "slow",
		.put = slow_put,
		.get = pass_get,
		.drop = pass_drop,
		.sync = pass_sync,
		.capacity = pass_capacity,
		.close = pass_close,
	};

	slow.store.verbs = &verbs;
	slow.below = below;
	sem_init(&slow.entered, 0, 0);
	sem_init(&slow.go_on, 0, 0);
	return &slow.store;
}

static void post_end(reel_transfer *transfer)
{
	sem_post(transfer->context);
}

static reel_transfer forked;

static void *put_and_wait(void *store)
{
	reel_store_put_and_wait(store, &forked);
	return NULL;
}

/* In the child a layer refuses transfers with this error, or leaves them to the store below: 0. */
static void use_in_child(reel_store *store, reel_transfer transfer, int error)
{
	struct reel_store_capacity capacity;

	is_int(reel_store_put_and_wait(store, &transfer), error, "a put in the child");
	is_int(reel_store_get_and_wait(store, &transfer), error, "a get in the child");
	reel_store_drop(store, transfer.extent);
	is_int(reel_store_sync(store, -1), 0, "sync in the child");
	reel_store_get_capacity(store, &capacity);
	is_int(capacity.used_bytes, transfer.bytes, "a drop in the child leaves what the parent has put");
	reel_store_close(store);
}

/* The thread whose put is in the slow store holds the lock of the layer. */
static void a_layer_with_a_lock_is_the_parents(reel_store *store, int child_error)
{
	static unsigned char data[2][64];
	reel_transfer transfer = {.data = data[0], .bytes = sizeof data[0]};
	pthread_t thread;
	pid_t child;

	sem_post(&slow.go_on);
	is_int(reel_store_put_and_wait(store, &transfer), 0, "a piece in the slow store");
	wait_for(&slow.entered);
	forked = (reel_transfer){.data = data[1], .bytes = sizeof data[1]};
	pthread_create(&thread, NULL, put_and_wait, store);
	wait_for(&slow.entered);
	child = fork_with_timeout();
	if (child == 0) {
		sem_post(&slow.go_on);
		use_in_child(store, transfer, child_error);
		tap_child_end();
	}
	ok(tap_child_passed(child), "the child of a fork waits for no lock of its parent's");
	sem_post(&slow.go_on);
	pthread_join(thread, NULL);
	is_int(forked.error, 0, "what was under way goes on in the parent");
	is_int(reel_store_get_and_wait(store, &transfer), 0, "the parent's store is as it was");
	reel_store_close(store);
}

/* Computing this checksum takes longer than storing the data. */
static void a_sync_waits_for_checksums(void)
{
	const size_t bytes = (size_t)64 << 20;
	reel_store *store = checksum(device(open_slow(memory(2 * bytes))));
	sem_t ended;
	reel_transfer transfer = {.data = suite_allocate(bytes), .bytes = bytes,
				  .done = post_end, .context = &ended};

	sem_init(&ended, 0, 0);
	sem_post(&slow.go_on);
	reel_store_put(store, &transfer);
	is_int(reel_store_sync(store, -1), 0, "sync after a put");
	ok(!sem_trywait(&ended) && !transfer.error, "waits for it");
	reel_store_get(store, &transfer);
	is_int(reel_store_sync(store, -1), 0, "sync after a get");
	ok(!sem_trywait(&ended) && !transfer.error, "waits for it");
	reel_store_put(store, &transfer);
	is_int(reel_store_sync(store, 0), -ETIMEDOUT, "sync has a limit of time");
	sem_post(&slow.go_on);
	reel_store_close(store);
	ok(!sem_trywait(&ended), "close waits for it");
	free(transfer.data);
}

static void a_codec_is_the_parents(void)
{
	static unsigned char data[64];
	reel_transfer transfer = {.data = data, .bytes = sizeof data,
				  .layout.element = REEL_INCOMPRESSIBLE};
	reel_store *store = codec((struct reel_codec_options){0}, memory(ROOM));
	pid_t child;

	is_int(reel_store_put_and_wait(store, &transfer), 0, "a piece behind a codec");
	child = fork_with_timeout();
	if (child == 0) {
		use_in_child(store, transfer, -ECHILD);
		tap_child_end();
	}
	ok(tap_child_passed(child), "the piece is the parent's in the child of a fork");
	reel_store_close(store);
}

static void bad_options_are_refused(void)
{
	static const struct reel_codec_options bad[] = {
		{.layout.element = 17}, {.layout = {4, 1}}, {.max_bytes = SIZE_MAX}};
	reel_store *below = memory(100);
	reel_store *store;

	for (size_t i = 0; i < COUNT(bad); i++) {
		is_int(reel_store_codec_open(&store, below, &bad[i]), HAVE_LZ4 ? -EINVAL : -ENOTSUP,
		       "a codec with bad options is refused");
		tap_note("%s", reel_error_text(0));
	}
	reel_store_close(below);
}

static void stores_that_are_missing_are_refused(void)
{
	static const struct reel_codec_options defaults;
	reel_store *store, *one = memory(100);

	is_int(reel_store_checksum_open(&store, NULL), -EINVAL, "a checksum on nothing");
	is_int(reel_store_count_open(&store, NULL), -EINVAL, "a count of nothing");
	is_int(reel_store_fault_open(&store, NULL, NULL, 0), -EINVAL, "faults of nothing");
	is_int(reel_store_fault_open(&store, one, NULL, 1), -EINVAL, "a rule that is not there");
	is_int(reel_store_codec_open(&store, NULL, &defaults), HAVE_LZ4 ? -EINVAL : -ENOTSUP,
	       "a codec on nothing");
	is_int(reel_store_overflow_open(&store, one, NULL), -EINVAL,
	       "an overflow store without its second store");
	is_int(reel_store_overflow_open(&store, NULL, one), -EINVAL,
	       "an overflow store without its first store");
	is_int(reel_store_overflow_open(&store, one, one), -EINVAL,
	       "an overflow store of one store twice");
	ok(*reel_error_text(0), "the error says why: %s", reel_error_text(0));
	reel_store_close(one);
}

static void options_that_are_missing_are_the_defaults(void)
{
	reel_store *below = memory(4 << 20), *codec;
	struct reel_store_capacity capacity;

	is_int(reel_store_codec_open(&codec, below, NULL), HAVE_LZ4 ? 0 : -ENOTSUP,
	       "a codec without options");
	if (!HAVE_LZ4) {
		reel_store_close(below);
		return;
	}
	reel_store_get_capacity(codec, &capacity);
	is_int(capacity.max_bytes, 2 << 20, "a codec without options takes 2 MiB at once");
	reel_store_close(codec);
}

int main(void)
{
	tap_begin();
	for (size_t i = 0; i < COUNT(stacks); i++)
		store_suite(stacks[i].name, stacks[i].open);
	codecs_do_what_they_must();
	files_do_what_they_must();
	counts_are_right();
	memory_is_filled_to_the_byte();
	memory_takes_large_pieces();
	two_stores_take_what_both_take();
	two_stores_share_the_time();
	a_second_checksum_is_the_first();
	a_header_that_does_not_come_back_is_missed();
	a_layer_with_a_lock_is_the_parents(overflow(memory(1), open_slow(memory(ROOM))), -ECHILD);
	a_layer_with_a_lock_is_the_parents(checksum(device(open_slow(memory(ROOM)))), 0);
	a_sync_waits_for_checksums();
	if (HAVE_LZ4) {
		packed_or_not_is_told_apart();
		what_is_not_aligned_is_refused();
		a_codec_is_the_parents();
	}
	bad_options_are_refused();
	stores_that_are_missing_are_refused();
	options_that_are_missing_are_the_defaults();
	return tap_end();
}
