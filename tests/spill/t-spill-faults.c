/* SPDX-License-Identifier: MIT */
/*
 * Lets the k-th put or the k-th get of a program fail, for all k, with each kind of fault: once, or
 * from then on. Pops give the pushed values or, after the error is reported, all ones. No slab and
 * no file is left, and the next run works.
 */
#include <config.h>

#include <errno.h>

#include "helpers/held-store.h"
#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "helpers/store-later.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"
#include "helpers/store-verbs.h"

/* ---- The store, with a fault in it ---- */

enum leaf { MEMORY, LATER, DISK, PACKED, TIER };

static const char *const leaf_names[] = {"memory", "memory that answers late", "a file",
					 "packed memory", "memory that falls over to memory"};

/* Budget in slabs; a checked tape is two tapes. */
#define BUDGET_SLABS ((size_t)6)

/* A file needs slabs of at least one block. */
static size_t slab_bytes(enum leaf leaf)
{
	return leaf == DISK ? 4096 : 128;
}

static reel_store *file_store(void)
{
	struct reel_file_options options = {
		.directory = ".", .slot_bytes = 4096, .max_bytes = 16 << 20, .threads = 2};
	reel_store *store;

	return reel_store_file_open(&store, &options) ? NULL : store;
}

static reel_store *leaf_store(enum leaf leaf)
{
	reel_store *store;

	if (leaf == DISK)
		return file_store();
	if (reel_store_memory_open(&store, UINT64_MAX))
		abort();
	return leaf == LATER ? store_later_open(store) : store;
}

struct stack {
	reel_store *count;
	reel_pool *pool;
};

static reel_store *faulty(reel_store *below, const struct reel_fault_rule *rule)
{
	reel_store *store;

	if (!below || reel_store_fault_open(&store, below, rule, rule ? 1 : 0))
		abort();
	return store;
}

/* The store that counts is above the fault, so it can tell if the fault has come. */
static struct stack open_stack(enum leaf leaf, unsigned flags, const struct reel_fault_rule *rule)
{
	struct reel_pool_options options = {
		.slab_bytes = slab_bytes(leaf),
		.first_slab_bytes = slab_bytes(leaf) / 2,
		.hard_budget = (flags ? 2 : 1) * BUDGET_SLABS * slab_bytes(leaf),
	};
	struct reel_codec_options codec = {.max_bytes = slab_bytes(leaf)};
	struct stack stack;
	reel_store *store;

	if (reel_store_count_open(&stack.count, faulty(leaf_store(leaf), rule)))
		abort();
	store = stack.count;
	if (leaf == TIER && reel_store_overflow_open(&store, stack.count, leaf_store(MEMORY)))
		abort();
	if (leaf == PACKED && reel_store_codec_open(&store, stack.count, &codec))
		abort();
	options.store = store;
	stack.pool = open_pool(options);
	return stack;
}

static uint64_t used_bytes(reel_pool *pool)
{
	struct reel_store_capacity capacity;

	reel_offload_settle(reel_offload_of(pool));
	reel_store_get_capacity(reel_offload_of(pool)->store, &capacity);
	return capacity.used_bytes;
}

static uint64_t transfers(const struct stack *stack, bool put)
{
	struct reel_store_counts counts;

	reel_store_get_counts(stack->count, &counts);
	return put ? counts.puts : counts.gets;
}

/* ---- The program ---- */

static struct {
	unsigned wrong;      /* values that are neither right nor, after an error, all ones */
	unsigned ones;
	unsigned told_twice;
	unsigned told;
	int error;
	char message[512];
} seen;

/* Number of errors that the present tape has reported. */
static unsigned told;

static void note_error(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)context;
	seen.told_twice += told++ > 0;
	seen.wrong += error != reel_tape_error(tape);
	seen.told++;
	seen.error = error;
	snprintf(seen.message, sizeof seen.message, "%s", message);
}

static void pop_back(reel_tape *tape, uint64_t seed, uint64_t from, uint64_t to)
{
	for (uint64_t i = to; i-- > from;) {
		uint64_t word = reel_pop(tape, uint64_t);

		seen.ones += word == UINT64_MAX;
		seen.wrong += word != value_at(seed, i) &&
			      (word != UINT64_MAX || !reel_tape_error(tape));
	}
}

static void branch(reel_tape *tape, uint64_t n)
{
	push_values(tape, 3, 0, n);
	pop_back(tape, 3, 0, n);
}

static void sweep_twice(reel_tape *tape, uint64_t n)
{
	for (unsigned i = 1; i <= 2; i++) {
		seen.wrong += reel_tape_replay(tape) != 0;
		pop_back(tape, 2, n / 2, n);
		pop_back(tape, 1, n / 4 * i, n / 2);
		branch(tape, n / 8);
	}
}

/* Pushes, pops half, pushes again, rewinds to a mark, pops twice in a hold, and pops all. */
static void gradient(reel_pool *pool, unsigned flags, uint64_t n)
{
	reel_tape tape = open_tape(pool, flags);
	reel_mark mark;

	told = 0;
	push_values(&tape, 1, 0, n);
	pop_back(&tape, 1, n / 2, n);
	push_values(&tape, 2, n / 2, n - n / 2);
	mark = reel_tape_mark(&tape);
	push_values(&tape, 4, 0, n / 4);
	seen.wrong += reel_tape_rewind(&tape, mark) != 0;
	seen.wrong += reel_tape_hold(&tape) != 0;
	sweep_twice(&tape, n);
	seen.wrong += reel_tape_replay(&tape) != 0;
	seen.wrong += reel_tape_release(&tape) != 0;
	pop_back(&tape, 2, n / 2, n);
	pop_back(&tape, 1, 0, n / 2);
	seen.wrong += !reel_tape_is_empty(&tape) && !reel_tape_error(&tape);
	reel_tape_close(&tape);
}

/* The second gradient's tape is closed before it has been popped. */
static void program(reel_pool *pool, unsigned flags)
{
	uint64_t n = 3 * BUDGET_SLABS * pool->slab_bytes / 8;
	reel_tape tape;

	gradient(pool, flags, n);
	tape = open_tape(pool, flags);
	told = 0;
	push_values(&tape, 5, 0, n);
	pop_back(&tape, 5, n - n / 3, n);
	reel_tape_close(&tape);
}

/* ---- The faults ---- */

/* The effect of a fault that the program may see. */
enum sight { UNSEEN, LOST, REFUSED };

static const struct kind {
	const char *name;
	enum reel_fault fault;
	int error;
	bool put;
	bool persistent;
	enum sight sight;
	/* Error and text of the tape, if it has one; NULL: the text of the system for the error. */
	int told;
	const char *cause;
} kinds[] = {
	{"put: EIO", REEL_FAULT_ERROR, -EIO, true, false, UNSEEN, 0, NULL},
	{"put: ENOSPC", REEL_FAULT_ERROR, -ENOSPC, true, false, UNSEEN, 0, NULL},
	{"put: late", REEL_FAULT_LATE, 0, true, false, UNSEEN, 0, NULL},
	{"put: misplaced", REEL_FAULT_MISPLACE, 0, true, false, UNSEEN, 0, NULL},
	{"put: a bit flipped", REEL_FAULT_FLIP, 0, true, false, LOST, -EBADMSG,
	 "it returned other bytes than were put"},
	{"get: EIO", REEL_FAULT_ERROR, -EIO, false, false, UNSEEN, 0, NULL},
	{"get: late", REEL_FAULT_LATE, 0, false, false, UNSEEN, 0, NULL},
	{"get: misplaced", REEL_FAULT_MISPLACE, 0, false, false, UNSEEN, 0, NULL},
	{"get: a bit flipped", REEL_FAULT_FLIP, 0, false, false, UNSEEN, 0, NULL},

	{"puts: EIO", REEL_FAULT_ERROR, -EIO, true, true, REFUSED, -EIO, NULL},
	{"puts: ENOSPC", REEL_FAULT_ERROR, -ENOSPC, true, true, REFUSED, -ENOSPC, NULL},
	{"puts: EDQUOT", REEL_FAULT_ERROR, -EDQUOT, true, true, REFUSED, -ENOSPC, NULL},
	{"puts: EPERM", REEL_FAULT_ERROR, -EPERM, true, true, REFUSED, -EACCES, NULL},
	{"puts: EFBIG", REEL_FAULT_ERROR, -EFBIG, true, true, REFUSED, -EFBIG, NULL},
	{"puts: late", REEL_FAULT_LATE, 0, true, true, UNSEEN, 0, NULL},
	{"puts: a bit flipped", REEL_FAULT_FLIP, 0, true, true, LOST, -EBADMSG,
	 "it returned other bytes than were put"},
	{"puts: the store vanishes", REEL_FAULT_VANISH, 0, true, true, LOST, -ENODEV, NULL},
	{"gets: EIO", REEL_FAULT_ERROR, -EIO, false, true, LOST, -EIO, NULL},
	{"gets: ENODATA", REEL_FAULT_ERROR, -ENODATA, false, true, LOST, -EIO, NULL},
	{"gets: late", REEL_FAULT_LATE, 0, false, true, UNSEEN, 0, NULL},
	{"gets: misplaced", REEL_FAULT_MISPLACE, 0, false, true, LOST, -EBADMSG,
	 "it returned other bytes than were put"},
	{"gets: a bit flipped", REEL_FAULT_FLIP, 0, false, true, LOST, -EBADMSG,
	 "it returned other bytes than were put"},
	{"gets: the store vanishes", REEL_FAULT_VANISH, 0, false, true, LOST, -ENODEV, NULL},
};

/* Returns a bit of the header or of the data, which depends on k. */
static uint64_t some_bit(uint64_t k)
{
	return scramble(k) % (8 * (REEL_HEADER_BYTES + 64));
}

static bool says(const char *text)
{
	return strstr(seen.message, text) != NULL;
}

/* A checked tape names the place in the program instead of the slab. */
static bool names_place_and_cause(const struct kind *kind)
{
	return seen.error == kind->told && says(kind->cause ? kind->cause : strerror(-kind->told)) &&
	       (says("the store takes no more") || says("slab ") || says("support.h:") || says("the note of its push"));
}

/* Returns true if all values are right, or the error has its right text. */
static bool is_as_it_may_be(const struct kind *kind)
{
	if (seen.wrong || seen.told_twice)
		return false;
	if (kind->sight == UNSEEN || !seen.told)
		return !seen.told && !seen.ones;
	return names_place_and_cause(kind);
}

static bool run(reel_pool *pool, unsigned flags)
{
	memset(&seen, 0, sizeof seen);
	program(pool, flags);
	return used_bytes(pool) == 0 && slabs_in_use(pool) == 0 && pool_is_whole(pool);
}

/* Returns true if the fault came. Sets *good to true if its effects are allowed. */
static bool fails_at(enum leaf leaf, const struct kind *kind, unsigned flags, uint64_t k,
		     bool *good)
{
	struct reel_fault_rule rule = {.fault = kind->fault, .put = kind->put, .at = k,
				       .persistent = kind->persistent, .error = kind->error,
				       .bit = some_bit(k)};
	struct stack stack = open_stack(leaf, flags, &rule);
	bool came, whole = run(stack.pool, flags);

	came = transfers(&stack, kind->put) > k;
	*good = whole && is_as_it_may_be(kind);
	if (!*good)
		tap_note("%s, number %llu: %s%u wrong, %u ones, %u told, %u twice: %d, %s",
			 kind->name, (unsigned long long)k, whole ? "" : "not whole, ", seen.wrong,
			 seen.ones, seen.told, seen.told_twice, seen.error, seen.message);
	if (*good && came && !kind->persistent) {
		*good = run(stack.pool, flags) && !seen.wrong && !seen.told && !seen.ones;
		if (!*good)
			tap_note("%s, number %llu: the next run: %u wrong, %u told: %s",
				 kind->name, (unsigned long long)k, seen.wrong, seen.told,
				 seen.message);
	}
	*good &= reel_pool_close(stack.pool) == 0;
	return came;
}

static void sweep(enum leaf leaf, const struct kind *kind, unsigned flags, uint64_t step)
{
	bool good = true, came = true;
	uint64_t k;

	if (is_brief())
		step = stride_of(2) * step + 1;
	/* These runs take long, so fewer of them are made. */
	if (kind->fault == REEL_FAULT_LATE && kind->persistent)
		step *= 8;

	for (k = 0; came && good; k += step)
		came = fails_at(leaf, kind, flags, k, &good);
	ok(good && k > step, "%s, at each of %llu places", kind->name,
	   (unsigned long long)(k / step));
}

static void everything_fails(enum leaf leaf, unsigned flags, uint64_t step)
{
	tap_case(flags ? "a checked tape" : leaf_names[leaf]);
	for (const struct kind *kind = kinds; kind < kinds + COUNT(kinds); kind++)
		sweep(leaf, kind, flags, step);
}

/* Puts that the first store refuses go to the second one, so the program sees no fault of a put. */
static void a_tier_falls_over(void)
{
	tap_case(leaf_names[TIER]);
	for (const struct kind *kind = kinds; kind < kinds + COUNT(kinds); kind++) {
		struct kind over = *kind;

		if (!kind->put || (kind->fault != REEL_FAULT_ERROR))
			continue;
		over.sight = UNSEEN;
		sweep(TIER, &over, 0, 7);
	}
}

/* ---- No fault ---- */

static void nothing_fails(enum leaf leaf)
{
	struct stack stack = open_stack(leaf, 0, NULL);

	tap_case(leaf_names[leaf]);
	ok(run(stack.pool, 0) && !seen.told && !seen.wrong && !seen.ones,
	   "without a fault all comes back, and nothing is left");
	ok(transfers(&stack, true) > 3 * BUDGET_SLABS &&
	   transfers(&stack, false) > 2 * BUDGET_SLABS, "and most of it was put and got");
	is_int(reel_pool_close(stack.pool), 0, "the pool closes");
}

static void *push_much(void *tape)
{
	push_values(tape, 1, 0, 500);
	return NULL;
}

/* Four puts are under way, and all fail. The store works again when the push waits. */
static void all_puts_under_way_fail_at_once(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool((struct reel_pool_options){
		.slab_bytes = 128, .first_slab_bytes = 64, .hard_budget = 12 * 128,
		.soft_budget = 4 * 128, .store = &held->store});
	reel_tape tape = open_tape(pool, 0);
	pthread_t pusher;

	memset(&seen, 0, sizeof seen);
	told = 0;
	pthread_create(&pusher, NULL, push_much, &tape);
	while (held->transfers < 4)
		sched_yield();
	held_end(held, -EIO);
	pthread_join(pusher, NULL);
	ok(!seen.told && stats_of(pool).failed_puts == 4, "a store may fail for a moment");
	ok(pop_values(&tape, 1, 0, 500), "and all comes back");
	reel_tape_close(&tape);
	close_pool(pool, "a moment's failure");
}

/* While the first slabs are put, their values may be read, and do not change. */
static void a_slab_is_popped_and_pushed_while_it_is_written(void)
{
	struct held_store *held = held_open();
	reel_pool *pool = open_pool((struct reel_pool_options){
		.slab_bytes = 128, .first_slab_bytes = 64, .hard_budget = 16 * 128,
		.soft_budget = 4 * 128, .store = &held->store});
	reel_tape tape = open_tape(pool, 0);

	push_values(&tape, 1, 0, 160);
	while (held->transfers < 4)
		sched_yield();
	ok(pop_values(&tape, 1, 60, 100), "what is being written can be popped");
	push_values(&tape, 2, 60, 40);
	held_release(held);
	push_values(&tape, 2, 100, 900);
	ok(pop_values(&tape, 2, 60, 940) && pop_values(&tape, 1, 0, 60),
	   "what is pushed meanwhile comes back, and what was below it");
	is_int(reel_tape_error(&tape), 0, "there is no error");
	reel_tape_close(&tape);
	close_pool(pool, "a slab that is being written");
}

static bool disk_is_there(void)
{
	reel_store *store = file_store();

	if (!store)
		return false;
	reel_store_close(store);
	return true;
}

static bool packs(void)
{
	reel_store *memory, *codec;

	if (reel_store_memory_open(&memory, 0))
		abort();
	if (reel_store_codec_open(&codec, memory, &(struct reel_codec_options){0})) {
		reel_store_close(memory);
		return false;
	}
	reel_store_close(codec);
	return true;
}

/* ---- A disk that loses a write ---- */

/*
 * A store that reports success for a lost write, and keeps the old block: of the same tape, from
 * the same height.
 */
struct losing_disk {
	reel_store store;
	struct {
		bool used;
		struct reel_label label;
		unsigned char header[REEL_HEADER_BYTES], data[128];
	} slot[64];
	_Atomic unsigned chances;
	unsigned loses_at;
};

static void losing_put(reel_store *store, reel_transfer *transfer)
{
	struct losing_disk *disk = (struct losing_disk *)store;
	size_t n = 0;
	bool loses;

	while (disk->slot[n].used)
		n++;
	loses = disk->slot[n].label.tape == transfer->label.tape &&
		disk->slot[n].label.slab_index == transfer->label.slab_index &&
		++disk->chances == disk->loses_at;
	disk->slot[n].used = true;
	transfer->extent = (struct reel_extent){n, transfer->bytes};
	if (!loses) {
		disk->slot[n].label = transfer->label;
		memcpy(disk->slot[n].header, transfer->header, sizeof transfer->header);
		memcpy(disk->slot[n].data, transfer->data, transfer->bytes);
	}
	reel_transfer_complete(transfer, 0);
}

static void losing_get(reel_store *store, reel_transfer *transfer)
{
	struct losing_disk *disk = (struct losing_disk *)store;
	size_t n = transfer->extent.location;

	memcpy(transfer->header, disk->slot[n].header, sizeof transfer->header);
	memcpy(transfer->data, disk->slot[n].data, transfer->bytes);
	reel_transfer_complete(transfer, 0);
}

static void losing_drop(reel_store *store, struct reel_extent extent)
{
	((struct losing_disk *)store)->slot[extent.location].used = false;
}

/* Pushes and pops different numbers, so that slabs are read back, changed and put again. */
static unsigned wrong_after_a_lost_write(unsigned loses_at, unsigned *errors)
{
	static const struct reel_store_verbs verbs = {
		.name = "losing", .put = losing_put, .get = losing_get, .drop = losing_drop,
		.sync = null_sync, .capacity = null_capacity, .close = null_close};
	static struct losing_disk disk;
	static uint64_t pushed[600];
	struct reel_pool_options options = {
		.slab_bytes = 128, .hard_budget = 6 * 128, .store = &disk.store};
	reel_tape tape;
	reel_pool *pool;
	size_t n = 0;
	unsigned wrong = 0;

	memset(&disk, 0, sizeof disk);
	disk.store.verbs = &verbs;
	disk.loses_at = loses_at;
	pool = open_pool(options);
	tape = open_tape(pool, 0);
	for (uint64_t round = 1; round < 1000 && disk.chances < loses_at; round++) {
		size_t low = n > 200 ? n - scramble(round) % 200 : 0;
		size_t high = low + scramble(round + 5000) % 260;

		for (; n > low; n--)
			wrong += reel_pop(&tape, uint64_t) != pushed[n - 1];
		for (; n < high && n < COUNT(pushed); n++) {
			pushed[n] = round << 32 | n;
			reel_push(&tape, pushed[n]);
		}
	}
	for (; n > 0; n--) {
		uint64_t popped = reel_pop(&tape, uint64_t);

		wrong += popped != UINT64_MAX && popped != pushed[n - 1];
	}
	*errors += reel_tape_error(&tape) == -EBADMSG;
	reel_tape_close(&tape);
	reel_pool_close(pool);
	return wrong;
}

static void a_lost_write_is_seen(void)
{
	unsigned wrong = 0, errors = 0;

	tap_case("a disk that loses a write");
	for (unsigned loses_at = 1; loses_at <= 60; loses_at++)
		wrong += wrong_after_a_lost_write(loses_at, &errors);
	is_int(wrong, 0, "what comes back is what was pushed, or all ones");
	ok(errors > 0, "with an error where it was read, in %u of 60 runs", errors);
}

int main(void)
{
	tap_begin();
	reel_set_error_handler(note_error, NULL);
	nothing_fails(MEMORY);
	nothing_fails(LATER);
	all_puts_under_way_fail_at_once();
	a_slab_is_popped_and_pushed_while_it_is_written();
	everything_fails(MEMORY, 0, 1);
	everything_fails(MEMORY, REEL_CHECKED, 29);
	everything_fails(LATER, 0, 5);
	if (packs())
		everything_fails(PACKED, 0, 11);
	else
		tap_skip(1, "built without LZ4");
	a_tier_falls_over();
	a_lost_write_is_seen();
	if (disk_is_there()) {
		nothing_fails(DISK);
		everything_fails(DISK, 0, 17);
	} else {
		tap_skip(1, "no file store here: %s", reel_error_text(0));
	}
	return tap_end();
}
