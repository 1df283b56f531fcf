/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <reel/extend.h>

#include "store-suite.h"

#include <errno.h>
#include <stdatomic.h>

#include "cancel-support.h"
#include "support.h"

#define MAX_ALIGN 4096
#define PLACES 48
#define OPERATIONS 600

/* A piece, and the ticket that it travels with. */
struct piece {
	reel_transfer transfer;
	struct reel_extent extent;
	uint64_t n;
	size_t bytes;
	unsigned char *data;
	bool is_stored;
	_Atomic unsigned ends;
};

struct suite {
	const char *name;
	reel_store *store;
	struct reel_store_capacity capacity;
	struct piece piece[PLACES];
	reel_store *(*open)(void);
	bool outlasted;
};

/* ---- Data ---- */

static uint64_t word_of(uint64_t n, uint64_t i)
{
	return n % 2 ? n + i * i / 64 : scramble(n * 1000003 + i);
}

void suite_fill(void *data, size_t bytes, uint64_t n)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(n, at / 8);

		memcpy((char *)data + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

bool suite_is_filled(const void *data, size_t bytes, uint64_t n)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(n, at / 8);

		if (memcmp((const char *)data + at, &word, bytes - at < 8 ? bytes - at : 8))
			return false;
	}
	return true;
}

void *suite_allocate(size_t bytes)
{
	void *memory = aligned_alloc(MAX_ALIGN, (bytes + MAX_ALIGN - 1) & -(size_t)MAX_ALIGN);

	if (!memory) {
		printf("Bail out! no memory\n");
		exit(EXIT_FAILURE);
	}
	/* All of it may be put, whatever of it is filled in. */
	memset(memory, 0, bytes);
	return memory;
}

/* ---- Transfers ---- */

static void note_end(reel_transfer *transfer)
{
	struct piece *piece = transfer->context;

	/* Release: pairs with the acquire in ended_once(). */
	atomic_fetch_add_explicit(&piece->ends, 1, memory_order_release);
}

static bool ended_once(struct piece *piece)
{
	return atomic_load_explicit(&piece->ends, memory_order_acquire) == 1;
}

static void prepare(struct piece *piece, size_t bytes, uint64_t n)
{
	reel_transfer *transfer = &piece->transfer;

	piece->bytes = bytes;
	piece->n = n;
	transfer->data = piece->data;
	transfer->bytes = bytes;
	transfer->label = (struct reel_label){.tape = n, .serial = n + 1, .slab_index = n + 2};
	transfer->done = note_end;
	transfer->context = piece;
	atomic_store_explicit(&piece->ends, 0, memory_order_relaxed);
}

static void start_put(struct suite *suite, struct piece *piece, size_t bytes, uint64_t n)
{
	prepare(piece, bytes, n);
	suite_fill(piece->data, bytes, n);
	for (size_t i = 0; i < COUNT(piece->transfer.header); i++)
		piece->transfer.header[i] = scramble(n + i);
	reel_store_put(suite->store, &piece->transfer);
}

static void start_get(struct suite *suite, struct piece *piece)
{
	prepare(piece, piece->bytes, piece->n);
	memset(piece->data, 0xa5, piece->bytes);
	memset(piece->transfer.header, 0xa5, sizeof piece->transfer.header);
	piece->transfer.extent = piece->extent;
	reel_store_get(suite->store, &piece->transfer);
}

/* The ticket is as the caller has set it, except the members that the store sets. */
static bool ticket_is_whole(const struct piece *piece)
{
	const reel_transfer *transfer = &piece->transfer;

	return transfer->data == piece->data && transfer->bytes == piece->bytes &&
	       transfer->label.tape == piece->n && transfer->label.serial == piece->n + 1 &&
	       transfer->label.slab_index == piece->n + 2 && transfer->context == piece &&
	       transfer->layers == 0;
}

static bool put_went_well(struct piece *piece)
{
	piece->extent = piece->transfer.extent;
	piece->is_stored = piece->transfer.error == 0;
	return piece->is_stored && ended_once(piece) && ticket_is_whole(piece) &&
	       suite_is_filled(piece->data, piece->bytes, piece->n) &&
	       piece->extent.location >> 56 == 0 && piece->extent.bytes > 0 &&
	       piece->extent.bytes <= piece->bytes;
}

static bool get_went_well(struct piece *piece)
{
	return piece->transfer.error == 0 && ended_once(piece) && ticket_is_whole(piece) &&
	       piece->transfer.extent.location == piece->extent.location &&
	       piece->transfer.extent.bytes == piece->extent.bytes &&
	       suite_is_filled(piece->data, piece->bytes, piece->n);
}

static bool sync_all(struct suite *suite)
{
	return reel_store_sync(suite->store, -1) == 0;
}

static bool put(struct suite *suite, struct piece *piece, size_t bytes, uint64_t n)
{
	start_put(suite, piece, bytes, n);
	return sync_all(suite) && put_went_well(piece);
}

static bool get(struct suite *suite, struct piece *piece)
{
	start_get(suite, piece);
	return sync_all(suite) && get_went_well(piece);
}

static void drop(struct suite *suite, struct piece *piece)
{
	if (piece->is_stored)
		reel_store_drop(suite->store, piece->extent);
	piece->is_stored = false;
}

static void drop_all(struct suite *suite)
{
	for (unsigned i = 0; i < PLACES; i++)
		drop(suite, &suite->piece[i]);
}

static struct reel_store_capacity capacity_of(struct suite *suite)
{
	struct reel_store_capacity capacity;

	reel_store_get_capacity(suite->store, &capacity);
	return capacity;
}

static size_t some_size(struct suite *suite, uint64_t n)
{
	size_t align = suite->capacity.align;
	size_t units = SUITE_MAX_BYTES / align;

	return align * (1 + (size_t)(scramble(n) % (n % 8 ? (units + 15) / 16 : units)));
}

/* ---- Checks ---- */

static void its_capacity_makes_sense(struct suite *suite)
{
	const struct reel_store_capacity *capacity = &suite->capacity;

	ok(capacity->align && !(capacity->align & (capacity->align - 1)) &&
		   capacity->align <= MAX_ALIGN,
	   "%s: alignment %zu is a power of two", suite->name, capacity->align);
	ok(capacity->used_bytes == 0 && capacity->total_bytes >= SUITE_TOTAL_BYTES &&
		   capacity->best_depth > 0,
	   "%s: it is empty, large enough, and says what it likes best", suite->name);
	ok(suite->store->verbs->name && *suite->store->verbs->name, "%s: it has a name",
	   suite->name);
}

static void all_sizes_come_back(struct suite *suite)
{
	size_t align = suite->capacity.align;
	struct piece *piece = &suite->piece[0];
	bool right = true;

	for (size_t units = 1; units <= SUITE_MAX_BYTES / align; units *= 2)
		for (size_t more = 0; more < 3 && units + more <= SUITE_MAX_BYTES / align; more++)
			for (uint64_t n = 0; n < 2; n++) {
				right = put(suite, piece, align * (units + more), units + n) &&
					get(suite, piece) && right;
				drop(suite, piece);
			}
	ok(right, "%s: pieces of all sizes come back", suite->name);
}

static void the_header_travels(struct suite *suite)
{
	uint64_t header[REEL_HEADER_BYTES / 8];
	struct piece *piece = &suite->piece[0];
	bool right = put(suite, piece, suite->capacity.align, 2);

	memcpy(header, piece->transfer.header, sizeof header);
	ok(right && get(suite, piece) &&
		   memcmp(header, piece->transfer.header, sizeof header) == 0,
	   "%s: the header travels", suite->name);
	drop_all(suite);
}

static void many_extents_are_kept_apart(struct suite *suite)
{
	bool right = true;

	for (unsigned i = 0; i < PLACES; i++)
		right &= put(suite, &suite->piece[i], some_size(suite, i), i);
	for (unsigned i = PLACES; i-- > 0;)
		right &= get(suite, &suite->piece[i]);
	for (unsigned i = 0; i < PLACES; i += 2)
		drop(suite, &suite->piece[i]);
	for (unsigned i = 1; i < PLACES; i += 2)
		right &= get(suite, &suite->piece[i]);
	for (unsigned i = 0; i < PLACES; i += 2)
		right &= put(suite, &suite->piece[i], some_size(suite, i + 1), i + PLACES);
	for (unsigned i = 0; i < PLACES; i++)
		right &= get(suite, &suite->piece[i]) && get(suite, &suite->piece[i]);
	ok(right, "%s: many extents are kept apart, after some were dropped and put anew, too",
	   suite->name);
	drop_all(suite);
}

static void several_are_under_way_at_once(struct suite *suite)
{
	bool readable = true, right = true;

	for (unsigned i = 0; i < PLACES; i++)
		start_put(suite, &suite->piece[i], some_size(suite, i), i);
	for (unsigned i = 0; i < PLACES; i++)
		readable &= suite_is_filled(suite->piece[i].data, suite->piece[i].bytes, i);
	right &= sync_all(suite);
	for (unsigned i = 0; i < PLACES; i++)
		right &= put_went_well(&suite->piece[i]);
	ok(right, "%s: %d puts under way at once are complete after sync", suite->name, PLACES);
	ok(readable, "%s: data can be read while it is put", suite->name);
	for (unsigned i = 0; i < PLACES; i++)
		start_get(suite, &suite->piece[i]);
	right = sync_all(suite);
	for (unsigned i = 0; i < PLACES; i++)
		right &= get_went_well(&suite->piece[i]);
	ok(right, "%s: and so many gets", suite->name);
	drop_all(suite);
}

static void puts_and_gets_mix(struct suite *suite)
{
	bool right = true;

	for (unsigned i = 0; i < PLACES / 2; i++)
		right &= put(suite, &suite->piece[i], some_size(suite, i), i);
	for (unsigned i = 0; i < PLACES / 2; i++) {
		start_get(suite, &suite->piece[i]);
		start_put(suite, &suite->piece[PLACES / 2 + i], some_size(suite, i), i);
	}
	right &= sync_all(suite);
	for (unsigned i = 0; i < PLACES / 2; i++)
		right &= put_went_well(&suite->piece[PLACES / 2 + i]);
	for (unsigned i = 0; i < PLACES / 2; i++)
		right &= get_went_well(&suite->piece[i]);
	ok(right, "%s: gets and puts under way at once", suite->name);
	drop_all(suite);
}

static void a_random_sequence_agrees_with_a_model(struct suite *suite)
{
	unsigned wrong = 0;

	for (uint64_t n = 0; n < OPERATIONS; n++) {
		struct piece *piece = &suite->piece[scramble(n) % PLACES];

		if (!piece->is_stored)
			wrong += !put(suite, piece, some_size(suite, scramble(n)), n);
		else if (scramble(n + OPERATIONS) % 2)
			wrong += !get(suite, piece);
		else
			drop(suite, piece);
	}
	is_int(wrong, 0, "%s: %d puts, gets and drops in random order", suite->name, OPERATIONS);
	drop_all(suite);
}

static void used_bytes_rise_and_fall(struct suite *suite)
{
	uint64_t used = capacity_of(suite).used_bytes;
	bool rises = true;

	is_int(used, 0, "%s: all was dropped, nothing is used", suite->name);
	for (unsigned i = 0; i < 4; i++) {
		rises &= put(suite, &suite->piece[i], SUITE_MAX_BYTES, 2 * i);
		rises &= capacity_of(suite).used_bytes > used;
		used = capacity_of(suite).used_bytes;
	}
	ok(rises && used <= capacity_of(suite).total_bytes, "%s: used bytes rise with each put",
	   suite->name);
	drop_all(suite);
	is_int(capacity_of(suite).used_bytes, 0, "%s: and fall with each drop", suite->name);
}

/* Fill a store whose end is within reach until a put fails: it has changed nothing. */
static void a_full_store_goes_on(struct suite *suite)
{
	static struct reel_extent extents[4 * SUITE_TOTAL_BYTES / SUITE_MAX_BYTES];
	struct piece *piece = &suite->piece[0];
	unsigned stored = 0;
	uint64_t used;

	if (suite->capacity.total_bytes > 3 * SUITE_TOTAL_BYTES)
		return;
	while (stored < COUNT(extents) && put(suite, piece, SUITE_MAX_BYTES, 2 * stored))
		extents[stored++] = piece->extent;
	used = capacity_of(suite).used_bytes;
	start_put(suite, piece, SUITE_MAX_BYTES, 2);
	ok(sync_all(suite) && piece->transfer.error == -ENOSPC && ended_once(piece) &&
		   ticket_is_whole(piece) && suite_is_filled(piece->data, SUITE_MAX_BYTES, 2) &&
		   capacity_of(suite).used_bytes == used,
	   "%s: a put without room fails, keeps its data and stores nothing", suite->name);
	while (stored > 0)
		reel_store_drop(suite->store, extents[--stored]);
	ok(put(suite, piece, SUITE_MAX_BYTES, 4) && get(suite, piece),
	   "%s: and there is room again after drops", suite->name);
	drop_all(suite);
}

static void waiting_is_for_one(struct suite *suite)
{
	struct piece *piece = &suite->piece[0];
	reel_transfer *transfer = &piece->transfer;
	int error;

	prepare(piece, suite->capacity.align * 2, 3);
	suite_fill(piece->data, piece->bytes, 3);
	error = reel_store_put_and_wait(suite->store, transfer);
	memset(piece->data, 0, piece->bytes);
	if (!error)
		error = reel_store_get_and_wait(suite->store, transfer);
	ok(!error && suite_is_filled(piece->data, piece->bytes, 3),
	   "%s: put and get, each waited for", suite->name);
	reel_store_drop(suite->store, transfer->extent);
	ok(sync_all(suite) && reel_store_sync(suite->store, 0) == 0,
	   "%s: an idle store is in sync at once", suite->name);
}

/* Twice, and released twice. */
static void adopting_changes_nothing(struct suite *suite)
{
	struct piece *piece = &suite->piece[0];
	int error = reel_store_register(suite->store, piece->data, SUITE_MAX_BYTES);
	int again = reel_store_register(suite->store, piece->data, SUITE_MAX_BYTES);
	bool right = put(suite, piece, SUITE_MAX_BYTES, 2) && get(suite, piece);

	ok(suite->capacity.registers || error, "%s: it registers memory only if it says so",
	   suite->name);
	is_int(again, error, "%s: memory is adopted again with the same result", suite->name);
	ok(right, "%s: a piece of it comes back", suite->name);
	reel_store_unregister(suite->store, piece->data, SUITE_MAX_BYTES);
	reel_store_unregister(suite->store, piece->data, SUITE_MAX_BYTES);
	ok(get(suite, piece), "%s: also when it is released", suite->name);
	drop_all(suite);
}

/* A store of its own, from its opening to its end. */
static void use_all_verbs(void *argument)
{
	struct suite *suite = argument;
	struct piece *piece = &suite->piece[0];
	reel_store *store = suite->store;

	suite->store = suite->open();
	suite->outlasted = suite->store && put(suite, piece, SUITE_MAX_BYTES, 1);
	if (!suite->store)
		return;
	reel_store_register(suite->store, piece->data, SUITE_MAX_BYTES);
	suite->outlasted &= get(suite, piece) && capacity_of(suite).used_bytes;
	drop(suite, piece);
	suite->outlasted &= !reel_store_put_and_wait(suite->store, &piece->transfer) &&
			    !reel_store_get_and_wait(suite->store, &piece->transfer);
	reel_store_unregister(suite->store, piece->data, SUITE_MAX_BYTES);
	reel_store_close(suite->store);
	suite->store = store;
}

static void no_verb_is_a_cancellation_point(struct suite *suite)
{
	ok(outlasts_cancellation(use_all_verbs, suite) && suite->outlasted,
	   "%s: no verb is a cancellation point", suite->name);
}

static void closing_takes_all_with_it(struct suite *suite)
{
	bool right = true;

	for (unsigned i = 0; i < PLACES; i++)
		right &= put(suite, &suite->piece[i], some_size(suite, i), i);
	reel_store_close(suite->store);
	for (unsigned i = 0; i < PLACES; i++)
		right &= ended_once(&suite->piece[i]);
	ok(right, "%s: it closes with pieces in it", suite->name);
}

static void run(struct suite *suite)
{
	its_capacity_makes_sense(suite);
	all_sizes_come_back(suite);
	the_header_travels(suite);
	many_extents_are_kept_apart(suite);
	several_are_under_way_at_once(suite);
	puts_and_gets_mix(suite);
	a_random_sequence_agrees_with_a_model(suite);
	used_bytes_rise_and_fall(suite);
	a_full_store_goes_on(suite);
	waiting_is_for_one(suite);
	adopting_changes_nothing(suite);
	no_verb_is_a_cancellation_point(suite);
	closing_takes_all_with_it(suite);
}

void store_suite(const char *name, reel_store *(*open)(void))
{
	struct suite suite = {.name = name, .open = open};

	tap_case(name);
	suite.store = open();
	if (!ok(suite.store, "%s: it opens", name)) {
		tap_note("%s", reel_error_text(0));
		return;
	}
	suite.capacity = capacity_of(&suite);
	for (unsigned i = 0; i < PLACES; i++)
		suite.piece[i].data = suite_allocate(SUITE_MAX_BYTES);
	run(&suite);
	for (unsigned i = 0; i < PLACES; i++)
		free(suite.piece[i].data);
}
