/* SPDX-License-Identifier: MIT */
/*
 * Threads that read and change the same parcels, each with a tape of its own beside them. The
 * contents of a parcel are a function of the seed, its number and its version.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "helpers/pool-support.h"
#include "stress.h"
#include "subject.h"

/* Features that a seed may choose; the draw's bits. */
enum { ANNOUNCE, KEEP, REWRITE, TAPES, TRIM, STATS, FLUSH, FORK };

#define MAX_ITEMS 32
#define MAX_ANNOUNCED 24
#define MAX_BYTES ((size_t)1 << 16)
#define FORKS_A_ROUND 4

/* In `users`: one thread changes the parcel, and no other one uses it. */
#define ALONE (-1)

struct item {
	_Atomic int users;        /* number of threads that read the parcel now, or ALONE */
	unsigned number;
	reel_parcel *parcel;      /* NULL: there is none now */
	void *open;               /* NULL: it is sealed */
	uint64_t version;
	_Atomic(const void *) kept; /* where its contents are while `pins` is not 0 */
	_Atomic unsigned pins;    /* that stay when a thread goes on */
	_Atomic int lost;         /* the error of its first pin that failed for good */
};

struct scene {
	struct stress_stage stage;
	unsigned items;
	struct item item[MAX_ITEMS];
	struct subject tape[MAX_WORKERS];
	_Atomic unsigned forks;
};

struct hands {
	struct scene *scene;
	struct stress_worker *worker;
	struct subject *tape;
	struct stress_random random;
};

static bool has(const struct scene *scene, unsigned feature)
{
	return scene->stage.draw->features >> feature & 1;
}

/* ---- Users of a parcel ---- */

static bool begin_alone(struct item *item)
{
	int nobody = 0;

	/* Acquire: pairs with the releases in end_alone() and end_reading(). */
	return atomic_compare_exchange_strong_explicit(&item->users, &nobody, ALONE,
						       memory_order_acquire, memory_order_relaxed);
}

static void end_alone(struct item *item)
{
	/* Release: pairs with the acquires in begin_alone() and begin_reading(). */
	atomic_store_explicit(&item->users, 0, memory_order_release);
}

static void end_reading(struct item *item)
{
	/* Release: pairs with the acquire in begin_alone(). */
	atomic_fetch_sub_explicit(&item->users, 1, memory_order_release);
}

/* False if the parcel is not sealed. */
static bool begin_reading(struct item *item)
{
	int users = atomic_load_explicit(&item->users, memory_order_relaxed);

	/* Acquire: pairs with the release in end_alone(). */
	while (users != ALONE)
		if (atomic_compare_exchange_weak_explicit(&item->users, &users, users + 1,
							  memory_order_acquire,
							  memory_order_relaxed)) {
			if (item->parcel && !item->open)
				return true;
			end_reading(item);
			return false;
		}
	return false;
}

/* ---- Expected contents ---- */

static uint64_t contents_of(const struct scene *scene, const struct item *item)
{
	return scramble(scene->stage.draw->seed << 48 ^ (uint64_t)item->number << 40 ^
			item->version << 1 ^ 1);
}

static void write_item(const struct scene *scene, struct item *item)
{
	item->version++;
	subject_write(item->open, contents_of(scene, item), reel_parcel_bytes(item->parcel));
}

static void check_bytes(const struct scene *scene, const struct item *item, const void *data)
{
	size_t bytes = reel_parcel_bytes(item->parcel);
	uint64_t skew = stress_options.pretend && !strcmp(stress_options.pretend, "wrong");

	if (!(subject_judge(data, contents_of(scene, item) ^ skew, bytes) & RIGHT))
		stress_fail("parcel %u, version %llu: its %zu bytes are wrong", item->number,
			    (unsigned long long)item->version, bytes);
}

/* A fault loses one slab, in which several small parcels may lie: only larger ones are counted. */
static void count_loss(struct scene *scene, const struct item *item)
{
	stress_lost++;
	if (reel_parcel_bytes(item->parcel) > scene->stage.draw->pool.slab_bytes / 2)
		scene->stage.lost++;
}

/* A pin or an unseal has failed: for now, or for good, and then with one error for ever. */
static void note_failure(struct scene *scene, struct item *item, const char *what, int error)
{
	int before = 0;

	if (error == -EDQUOT && scene->stage.draw->pool.hard_budget) {
		stress_refused++;
		return;
	}
	if (stress_in_child && error == -ECHILD)
		return;
	if (!stress_is_loss(&scene->stage, error))
		stress_fail("%s of parcel %u ends with %d: %s", what, item->number, error,
			    reel_error_text(0));
	if (atomic_compare_exchange_strong(&item->lost, &before, error))
		count_loss(scene, item);
	else if (before != error)
		stress_fail("parcel %u was lost with error %d, and now with %d", item->number,
			    before, error);
}

/* Returns whether it may be read. */
static bool pin(struct scene *scene, struct item *item, const void **data)
{
	const void *untouched = scene;
	int error;

	*data = untouched;
	error = reel_parcel_pin(item->parcel, data);
	if (!error && item->lost)
		stress_fail("parcel %u was lost, and is there again", item->number);
	if (error && *data != untouched)
		stress_fail("a pin of parcel %u fails, and gives data", item->number);
	if (error)
		note_failure(scene, item, "a pin", error);
	else
		check_bytes(scene, item, *data);
	return !error;
}

/* ---- One thread alone ---- */

static size_t draw_bytes(const struct scene *scene, struct stress_random *random)
{
	size_t slab = scene->stage.draw->pool.slab_bytes;
	size_t most = stress_one_in(random, 4) ? 3 * slab
		      : stress_one_in(random, 2) ? slab : slab / 2;

	return 1 + stress_below(random, (unsigned)(most < MAX_BYTES ? most : MAX_BYTES));
}

static void open_item(struct scene *scene, struct item *item, struct stress_random *random)
{
	struct reel_parcel_options options = {
		.layout = {.element = stress_one_in(random, 4) ? 8 : 0}};
	int error = reel_parcel_open(&item->parcel, scene->stage.pool,
				     draw_bytes(scene, random), &options, &item->open);

	if (error) {
		if (!stress_is_refusal(&scene->stage, error))
			stress_fail("a parcel is refused with error %d: %s", error,
				    reel_error_text(0));
		stress_refused++;
		item->parcel = NULL;
		item->open = NULL;
		return;
	}
	write_item(scene, item);
}

static void seal(struct item *item)
{
	item->open = NULL;
	if (reel_parcel_seal(item->parcel))
		stress_fail("parcel %u is not sealed", item->number);
}

static void close_item(struct item *item)
{
	int error = reel_parcel_close(item->parcel);

	if (error != (item->pins ? -EBUSY : 0))
		stress_fail("a close of parcel %u, which has %u pins, ends with %d", item->number,
			    item->pins, error);
	if (error)
		return;
	item->parcel = NULL;
	item->open = NULL;
	item->lost = 0;
}

static void unseal(struct scene *scene, struct item *item)
{
	int error = reel_parcel_unseal(item->parcel, &item->open);

	if (item->pins) {
		if (error != -EBUSY)
			stress_fail("parcel %u is pinned, and an unseal ends with %d", item->number,
				    error);
		item->open = NULL;
		return;
	}
	if (error) {
		item->open = NULL;
		note_failure(scene, item, "an unseal", error);
		return;
	}
	check_bytes(scene, item, item->open);
	write_item(scene, item);
}

static void change(struct hands *hands, struct item *item)
{
	struct scene *scene = hands->scene;

	if (!begin_alone(item))
		return;
	stress_at(hands->worker, "changes a parcel", item->number);
	if (!item->parcel) {
		open_item(scene, item, &hands->random);
	} else if (item->lost || stress_one_in(&hands->random, 6)) {
		if (item->open)
			check_bytes(scene, item, item->open);
		close_item(item);
	} else if (item->open) {
		check_bytes(scene, item, item->open);
		seal(item);
	} else if (has(scene, REWRITE)) {
		unseal(scene, item);
	}
	end_alone(item);
}

/* ---- Several threads ---- */

static void keep(struct item *item, const void *data)
{
	/* All pins of the parcel have the same address. */
	atomic_store_explicit(&item->kept, data, memory_order_relaxed);
	atomic_fetch_add_explicit(&item->pins, 1, memory_order_release);
}

/* One of the pins that were kept, which any thread may give up. */
static bool take_kept_pin(struct item *item)
{
	unsigned pins = atomic_load_explicit(&item->pins, memory_order_relaxed);

	/* Acquire: pairs with the release in keep(). The other thread's reads precede the unpin. */
	while (pins)
		if (atomic_compare_exchange_weak_explicit(&item->pins, &pins, pins - 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	return false;
}

static void give_up_pin(struct scene *scene, struct item *item)
{
	if (!take_kept_pin(item))
		return;
	check_bytes(scene, item, atomic_load_explicit(&item->kept, memory_order_relaxed));
	reel_parcel_unpin(item->parcel);
}

static void read_item(struct hands *hands, struct item *item)
{
	struct scene *scene = hands->scene;
	const void *data;

	if (!begin_reading(item))
		return;
	stress_at(hands->worker, "reads a parcel", item->number);
	if (stress_one_in(&hands->random, 2)) {
		give_up_pin(scene, item);
	} else if (pin(scene, item, &data)) {
		if (has(scene, KEEP) && stress_one_in(&hands->random, 4))
			keep(item, data);
		else
			reel_parcel_unpin(item->parcel);
	}
	end_reading(item);
}

static void announce(struct hands *hands)
{
	struct scene *scene = hands->scene;
	reel_parcel *order[MAX_ANNOUNCED];
	struct item *announced[MAX_ANNOUNCED];
	unsigned n = 0;

	stress_at(hands->worker, "announces parcels", 0);
	for (unsigned i = stress_below(&hands->random, MAX_ANNOUNCED); i > 0; i--) {
		struct item *item = &scene->item[stress_below(&hands->random, scene->items)];

		if (!begin_reading(item))
			continue;
		announced[n] = item;
		order[n++] = item->parcel;
	}
	if (reel_parcel_announce(order, n))
		stress_fail("%u parcels are not announced: %s", n, reel_error_text(0));
	while (n)
		end_reading(announced[--n]);
}

static void read_stats(struct scene *scene)
{
	struct reel_parcel_stats stats;

	reel_parcel_get_stats(scene->stage.pool, &stats);
	if (stats.parcels > scene->items)
		stress_fail("%llu parcels are there, of %u", (unsigned long long)stats.parcels,
			    scene->items);
}

static void use_pool(struct hands *hands)
{
	struct scene *scene = hands->scene;
	unsigned which = TRIM + stress_below(&hands->random, 3);

	if (!has(scene, which))
		return;
	stress_at(hands->worker, "uses the pool", which);
	if (which == TRIM)
		reel_pool_trim(scene->stage.pool, 0);
	else if (which == STATS)
		read_stats(scene);
	else
		reel_pool_flush(scene->stage.pool);
}

/* ---- A child ---- */

struct legacy {
	struct hands *hands;
	struct item *own;
};

/* The child goes on with the parcel and the tape of its thread, and opens a new parcel. */
static void act_in_child(void *context)
{
	struct legacy *legacy = context;
	struct hands *hands = legacy->hands;
	struct scene *scene = hands->scene;
	struct item *item[] = {&(struct item){.number = MAX_ITEMS}, legacy->own};
	const void *data;

	open_item(scene, item[0], &hands->random);
	for (unsigned i = 0; i < COUNT_OF(item); i++) {
		while (item[i]->parcel && take_kept_pin(item[i]))
			reel_parcel_unpin(item[i]->parcel);
		if (item[i]->open) {
			check_bytes(scene, item[i], item[i]->open);
			seal(item[i]);
		}
		if (item[i]->parcel && pin(scene, item[i], &data))
			reel_parcel_unpin(item[i]->parcel);
		if (item[i]->parcel)
			close_item(item[i]);
	}
	subject_empty(hands->tape);
	subject_close(hands->tape);
}

static void fork_child(struct hands *hands, struct item *item)
{
	if (hands->scene->forks++ >= FORKS_A_ROUND || !begin_alone(item))
		return;
	stress_at(hands->worker, "forks", item->number);
	stress_fork(hands->worker, act_in_child, &(struct legacy){hands, item});
	end_alone(item);
}

/* ---- Threads ---- */

static void act(struct hands *hands)
{
	struct scene *scene = hands->scene;
	struct item *item = &scene->item[stress_below(&hands->random, scene->items)];

	if (has(scene, ANNOUNCE) && stress_one_in(&hands->random, 30))
		announce(hands);
	else if (has(scene, FORK) && stress_one_in(&hands->random, 300))
		fork_child(hands, item);
	else if (stress_one_in(&hands->random, 40))
		use_pool(hands);
	else if (has(scene, TAPES) && stress_one_in(&hands->random, 8))
		subject_act(hands->tape, hands->worker, &hands->random);
	else if (stress_one_in(&hands->random, 3))
		change(hands, item);
	else
		read_item(hands, item);
	if (stress_options.pretend && !strcmp(stress_options.pretend, "hang"))
		for (;;)
			pause();
}

static void work(struct stress_worker *worker, void *context)
{
	struct scene *scene = context;
	unsigned number = (unsigned)(worker - stress_workers);
	struct hands hands = {.scene = scene, .worker = worker, .tape = &scene->tape[number],
			      .random = {scene->stage.draw->seed << 24 ^ (uint64_t)number << 56}};

	for (unsigned i = 0; i < stress_options.operations; i++)
		act(&hands);
	reel_tape_hand_over(&hands.tape->tape);
}

static void end_items(struct scene *scene)
{
	struct stress_worker *self = &stress_workers[0];
	const void *data;

	stress_watch(self);
	for (struct item *item = scene->item; item < scene->item + scene->items; item++) {
		stress_at(self, "ends a parcel", item->number);
		while (item->pins)
			give_up_pin(scene, item);
		if (item->parcel && !item->open && pin(scene, item, &data))
			reel_parcel_unpin(item->parcel);
		if (item->parcel)
			close_item(item);
	}
	for (unsigned i = 1; i <= scene->stage.draw->threads; i++) {
		stress_at(self, "empties a tape", i);
		subject_empty(&scene->tape[i]);
		subject_close(&scene->tape[i]);
	}
	stress_unwatch(self);
}

static void open_tape_of(struct scene *scene, unsigned worker)
{
	subject_open(&scene->tape[worker], &scene->stage, worker);
	reel_tape_hand_over(&scene->tape[worker].tape);
}

void stress_parcels(struct stress_draw *draw)
{
	static struct scene scene;

	scene = (struct scene){.items = MAX_ITEMS >> draw->seed % 4};
	stress_stage_open(&scene.stage, draw);
	for (unsigned i = 0; i < scene.items; i++)
		scene.item[i].number = i;
	for (unsigned i = 1; i <= draw->threads; i++)
		open_tape_of(&scene, i);
	stress_run(draw->threads, work, &scene);
	end_items(&scene);
	stress_stage_close(&scene.stage);
}
