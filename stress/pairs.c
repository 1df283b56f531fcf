/* SPDX-License-Identifier: MIT */
/*
 * Each pair of operations that may meet, also of one with itself: half of the threads do
 * one of the two, the others the other, on one small pool. The rows are made from the list
 * of operations: two meet if one changes a part that the other one changes or reads. For those
 * that cannot meet a line says why.
 */
#include <config.h>

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/parcel.h>

#include "spill/thread/thread.h"
#include "helpers/pool-support.h"
#include "stress.h"
#include "subject.h"

#define MAX_IN_HAND 4
#define MAX_DESKS 4
/* A span of this many words is one value: of a seed, first and last. */
#define SPAN_WORDS 64
#define MAX_TABLE 4096
/* Small parcels, which share slabs, and larger ones. */
#define MAX_PARCELS 12

/* Parts of the pool that operations share. */
enum {
	LISTS = 1,      /* of empty slabs */
	BUDGET = 2,     /* resident slabs */
	STATES = 4,     /* of slabs on tapes */
	QUEUE = 8,      /* threads that wait for the offload thread, and its work */
	CACHES = 16,    /* the table of threads */
	SLAB_COUNTERS = 32,
	TRANSFER_COUNTERS = 64,
	OWNER = 128,    /* whose a tape is */
	PARCELS = 256,  /* the slabs of parcels, their pins, and the order that was announced */
};

struct hands {
	struct stress_worker *worker;
	struct stress_random random;
	unsigned number;
};

/* ---- The scene that they share ---- */

struct desk {
	reel_tape tape;
	uint64_t height;
};

static struct {
	struct stress_stage stage;
	struct stress_draw draw;
	unsigned operation[2];
	unsigned quota[2];
	_Atomic unsigned unfinished;
	/* No slab is in anybody's hands, so that the store has room for all. */
	bool only_tapes;
	/* The thread that has a slab that is on no tape; by its place in the pool's table. */
	_Atomic unsigned owner[MAX_TABLE];
	/* A slab that one thread has taken and another one gives back. */
	_Atomic(struct reel_slab *) given[MAX_DESKS];
	struct desk desk[MAX_DESKS];
	_Atomic(struct desk *) tape_on[MAX_DESKS];
	/* Sealed, for all threads to read; none, if neither operation is of parcels. */
	reel_parcel *parcel[MAX_PARCELS];
	unsigned parcels;
} scene;

/* ---- Slabs by hand ---- */

static _Atomic unsigned *owner_of(const struct reel_slab *slab)
{
	return &scene.owner[(size_t)(slab - scene.stage.pool->table) % MAX_TABLE];
}

static struct reel_slab *take_slab(struct hands *hands, enum reel_slab_kind kind, size_t bytes)
{
	struct reel_slab *slab;

	stress_at(hands->worker, "takes", (uint64_t)kind);
	if (reel_pool_take(scene.stage.pool, kind, bytes, &slab))
		return NULL;
	if (atomic_exchange_explicit(owner_of(slab), hands->number + 1, memory_order_relaxed))
		stress_fail("a slab was taken that is somebody's");
	memcpy(slab->frame, &slab, sizeof slab);
	memset(slab->frame + slab->bytes - 8, (int)hands->number, 8);
	return slab;
}

static void give_slab(struct hands *hands, struct reel_slab *slab)
{
	stress_at(hands->worker, "gives", 0);
	if (memcmp(slab->frame, &slab, sizeof slab))
		stress_fail("somebody has written to a slab");
	if (!atomic_exchange_explicit(owner_of(slab), 0, memory_order_relaxed))
		stress_fail("a slab was nobody's");
	reel_pool_give(scene.stage.pool, slab);
}

static void take(struct hands *hands)
{
	struct reel_slab *slab[MAX_IN_HAND];

	for (unsigned i = 0; i < MAX_IN_HAND; i++)
		slab[i] = take_slab(hands, i % 2 ? REEL_SLAB_WHOLE : REEL_SLAB_FIRST, 0);
	for (unsigned i = 0; i < MAX_IN_HAND; i++)
		if (slab[i])
			give_slab(hands, slab[i]);
}

/* Gives slabs that another thread has taken. */
static void give(struct hands *hands)
{
	for (unsigned i = 0; i < MAX_DESKS; i++) {
		struct reel_slab *slab = take_slab(hands, REEL_SLAB_WHOLE, 0);

		/* Both orders: a slab goes from thread to thread with its contents. */
		slab = atomic_exchange_explicit(&scene.given[i], slab, memory_order_acq_rel);
		if (slab)
			give_slab(hands, slab);
	}
}

/* More slabs than were ever there, and mappings of their own. */
static void grow(struct hands *hands)
{
	struct reel_slab *slab[4 * MAX_IN_HAND];

	for (unsigned i = 0; i < COUNT_OF(slab); i++)
		slab[i] = take_slab(hands, i % 8 == 7 ? REEL_SLAB_LARGE : REEL_SLAB_WHOLE,
				    3 * small_slab());
	for (unsigned i = 0; i < COUNT_OF(slab); i++)
		if (slab[i])
			give_slab(hands, slab[i]);
	reel_pool_trim(scene.stage.pool, 0);
}

static void trim(struct hands *hands)
{
	take(hands);
	stress_at(hands->worker, "trims", 0);
	reel_pool_trim(scene.stage.pool, stress_below(&hands->random, 8) * small_slab());
}

static void flush(struct hands *hands)
{
	take(hands);
	stress_at(hands->worker, "flushes", 0);
	reel_pool_flush(scene.stage.pool);
}

static void read_counters(struct hands *hands)
{
	struct reel_pool_stats stats;
	struct reel_parcel_stats parcels;

	stress_at(hands->worker, "reads the counters", 0);
	reel_pool_get_stats(scene.stage.pool, &stats);
	reel_parcel_get_stats(scene.stage.pool, &parcels);
	if (stats.slabs_in_use > stats.takes)
		stress_fail("more slabs are in use than were taken");
	if (parcels.parcels < scene.parcels)
		stress_fail("fewer parcels are there than all threads have");
}

/* ---- Tapes ---- */

static uint64_t value_at_height(uint64_t seed, uint64_t height)
{
	return scramble(seed << 32 ^ height) >> 1;
}

static bool push_span(reel_tape *tape, uint64_t seed, uint64_t height)
{
	uint64_t *span = reel_push_span(tape, uint64_t, SPAN_WORDS);

	if (!span)
		return false;
	span[0] = span[SPAN_WORDS - 1] = value_at_height(seed, height);
	return true;
}

static void pop_span(reel_tape *tape, uint64_t seed, uint64_t height)
{
	const uint64_t *span = reel_pop_span(tape, uint64_t, SPAN_WORDS);
	uint64_t wanted = value_at_height(seed, height);

	if (!span && reel_tape_error(tape) == -ECHILD && stress_in_child)
		return;
	if (!span || span[0] != wanted || span[SPAN_WORDS - 1] != wanted)
		stress_fail("a value is wrong at height %llu: error %d", (unsigned long long)height,
			    reel_tape_error(tape));
}

/* How high it came: all of it, or to where it was refused. */
static uint64_t climb(struct hands *hands, reel_tape *tape, uint64_t from, uint64_t to)
{
	stress_at(hands->worker, "pushes", to);
	while (from < to && push_span(tape, hands->number, from))
		from++;
	if (from == to)
		return from;
	if (reel_tape_error(tape) != -EDQUOT && !stress_in_child)
		stress_fail("a push is refused with error %d", reel_tape_error(tape));
	if (scene.only_tapes)
		stress_fail("a push is refused, and each tape has the frames that it needs");
	(void)reel_pop_span(tape, uint64_t, SPAN_WORDS);
	reel_tape_clear_error(tape);
	return from;
}

static void descend(struct hands *hands, reel_tape *tape, uint64_t from, uint64_t to)
{
	stress_at(hands->worker, "pops", from);
	while (from-- > to)
		pop_span(tape, hands->number, from);
}

static reel_tape new_tape(void)
{
	reel_tape tape;

	reel_tape_open(&tape, scene.stage.pool, 0);
	return tape;
}

static uint64_t spans_in_slabs(uint64_t slabs)
{
	return slabs * small_slab() / (SPAN_WORDS * 8);
}

/* Above the soft budget: slabs are put. */
static void seal_slab(struct hands *hands)
{
	reel_tape tape = new_tape();
	uint64_t top = climb(hands, &tape, 0, spans_in_slabs(24));

	descend(hands, &tape, top, 0);
	reel_tape_close(&tape);
}

/* The slab that was left last is popped, and pushed on, while it is being put. */
static void write_slab(struct hands *hands)
{
	reel_tape tape = new_tape();
	uint64_t top = climb(hands, &tape, 0, spans_in_slabs(20));

	for (int i = 0; i < 6; i++) {
		uint64_t low = top > spans_in_slabs(2) ? top - spans_in_slabs(2) : 0;

		descend(hands, &tape, top, low);
		top = climb(hands, &tape, low, low + spans_in_slabs(2) + 3);
	}
	descend(hands, &tape, top, 0);
	reel_tape_close(&tape);
}

/* Two tapes in turn: each takes the other one's frames. */
static void evict_slab(struct hands *hands)
{
	reel_tape tape[2] = {new_tape(), new_tape()};
	uint64_t top[2] = {0, 0};

	for (int i = 0; i < 6; i++)
		top[i % 2] = climb(hands, &tape[i % 2], top[i % 2],
				   top[i % 2] + spans_in_slabs(8));
	for (int i = 0; i < 2; i++) {
		descend(hands, &tape[i], top[i], 0);
		reel_tape_close(&tape[i]);
	}
}

/* Far down and half up again, so that slabs are asked for in advance. */
static void read_slab(struct hands *hands)
{
	reel_tape tape = new_tape();
	uint64_t top = climb(hands, &tape, 0, spans_in_slabs(40));

	descend(hands, &tape, top, top / 2);
	top = climb(hands, &tape, top / 2, top / 2 + spans_in_slabs(12));
	descend(hands, &tape, top, 0);
	reel_tape_close(&tape);
}

/* Slabs are left that are being written, read, or not there. */
static void drop(struct hands *hands)
{
	reel_tape tape = new_tape();
	reel_mark bottom = reel_tape_mark(&tape);
	uint64_t top = climb(hands, &tape, 0, spans_in_slabs(30));

	if (stress_one_in(&hands->random, 2))
		descend(hands, &tape, top, top - top / 4);
	stress_at(hands->worker, "drops", 0);
	if (stress_one_in(&hands->random, 2))
		reel_tape_rewind(&tape, bottom);
	reel_tape_close(&tape);
}

/* A tape is taken up where another thread has laid it down. */
static void hand_over(struct hands *hands)
{
	struct hands shared = *hands;
	unsigned at = stress_below(&hands->random, MAX_DESKS);
	struct desk *desk = atomic_exchange_explicit(&scene.tape_on[at], NULL,
						     memory_order_acquire);
	uint64_t height;

	if (!desk)
		return;
	/* Its values are everybody's. */
	shared.number = 0;
	height = stress_below(&hands->random, (unsigned)spans_in_slabs(16));
	if (height > desk->height)
		desk->height = climb(&shared, &desk->tape, desk->height, height);
	descend(&shared, &desk->tape, desk->height, height);
	desk->height = desk->height < height ? desk->height : height;
	reel_tape_hand_over(&desk->tape);
	atomic_store_explicit(&scene.tape_on[at], desk, memory_order_release);
}

/* ---- Parcels ---- */

static size_t parcel_bytes(unsigned number)
{
	return number % 4 ? small_slab() / 3 : (1 + number / 4) * small_slab();
}

static bool is_for_want_of_memory(int error)
{
	return error == -EDQUOT || stress_in_child;
}

static void check_parcel(reel_parcel *parcel, const void *data, uint64_t number)
{
	if (!(subject_judge(data, number, reel_parcel_bytes(parcel)) & RIGHT))
		stress_fail("parcel %llu is wrong", (unsigned long long)number);
}

/* NULL: refused. */
static reel_parcel *open_filled(unsigned number, uint64_t contents)
{
	reel_parcel *parcel;
	void *data;
	int error = reel_parcel_open(&parcel, scene.stage.pool, parcel_bytes(number), NULL, &data);

	if (error && !is_for_want_of_memory(error))
		stress_fail("a parcel is refused with error %d", error);
	if (error)
		return NULL;
	subject_write(data, contents, reel_parcel_bytes(parcel));
	return parcel;
}

/* Parcels of this thread are written, and written again. */
static void seal_parcel(struct hands *hands)
{
	reel_parcel *parcel[MAX_IN_HAND];
	uint64_t contents = (uint64_t)hands->number << 32;
	void *data;

	stress_at(hands->worker, "seals", 0);
	for (unsigned i = 0; i < MAX_IN_HAND; i++) {
		parcel[i] = open_filled(i, contents + i);
		if (parcel[i])
			reel_parcel_seal(parcel[i]);
	}
	for (unsigned i = 0; i < MAX_IN_HAND; i++) {
		int error = parcel[i] ? reel_parcel_unseal(parcel[i], &data) : -EDQUOT;

		if (error && !is_for_want_of_memory(error))
			stress_fail("a parcel is not unsealed: error %d", error);
		if (!error) {
			check_parcel(parcel[i], data, contents + i);
			subject_write(data, ~contents, reel_parcel_bytes(parcel[i]));
			reel_parcel_seal(parcel[i]);
		}
		reel_parcel_close(parcel[i]);
	}
}

static void pin_one(unsigned which)
{
	const void *data;
	int error = reel_parcel_pin(scene.parcel[which], &data);

	if (error && !is_for_want_of_memory(error))
		stress_fail("a pin of parcel %u ends with error %d", which, error);
	if (error)
		return;
	check_parcel(scene.parcel[which], data, which);
	reel_parcel_unpin(scene.parcel[which]);
}

/* Those that all threads read. */
static void pin(struct hands *hands)
{
	stress_at(hands->worker, "pins", 0);
	for (unsigned i = 0; i < MAX_IN_HAND; i++)
		pin_one(stress_below(&hands->random, scene.parcels));
}

static void announce(struct hands *hands)
{
	unsigned from = stress_below(&hands->random, scene.parcels);

	stress_at(hands->worker, "announces", from);
	if (reel_parcel_announce(scene.parcel + from, scene.parcels - from))
		stress_fail("%u parcels are not announced", scene.parcels - from);
	pin_one(from);
}

/* ---- Threads and processes ---- */

/* A thread that ends on two pools, of which its own is closed meanwhile. */
struct ending {
	struct hands *hands;
	reel_pool *own;
	sem_t has_left;
};

static void use_pool(struct hands *hands, reel_pool *pool)
{
	reel_tape tape;

	reel_tape_open(&tape, pool, 0);
	descend(hands, &tape, climb(hands, &tape, 0, spans_in_slabs(4)), 0);
	reel_tape_close(&tape);
}

static void *take_and_end(void *argument)
{
	struct ending *ending = argument;

	use_pool(ending->hands, scene.stage.pool);
	take(ending->hands);
	use_pool(ending->hands, ending->own);
	sem_post(&ending->has_left);
	return NULL;
}

static void end_threads(struct hands *hands)
{
	struct reel_pool_options options = small_options();
	struct ending ending = {.hands = hands};
	pthread_t thread;

	sem_init(&ending.has_left, 0, 0);
	if (reel_pool_open(&ending.own, &options) ||
	    pthread_create(&thread, NULL, take_and_end, &ending))
		abort();
	while (sem_wait(&ending.has_left))
		;
	if (reel_pool_close(ending.own))
		stress_fail("a pool is not closed while a thread ends");
	pthread_join(thread, NULL);
	sem_destroy(&ending.has_left);
}

static void use_in_child(void *context)
{
	struct hands *hands = context;
	reel_tape tape = new_tape();

	descend(hands, &tape, climb(hands, &tape, 0, spans_in_slabs(6)), 0);
	reel_tape_close(&tape);
	reel_pool_trim(scene.stage.pool, 0);
}

static void fork_child(struct hands *hands)
{
	stress_at(hands->worker, "forks", 0);
	stress_fork(hands->worker, use_in_child, hands);
}

/* ---- The list ---- */

#define ALL                                                                                        \
	(LISTS | BUDGET | STATES | QUEUE | CACHES | SLAB_COUNTERS | TRANSFER_COUNTERS | OWNER |    \
	 PARCELS)

static const struct operation {
	const char *name;
	/* NULL: there is none; why says so. */
	void (*act)(struct hands *hands);
	const char *why;
	unsigned changes;
	unsigned reads;
	unsigned quota;
	bool stored;              /* the pool needs a store for it */
} operations[] = {
	{"take", take, NULL, LISTS | BUDGET | QUEUE | CACHES | SLAB_COUNTERS, 0, 100, false},
	{"give", give, NULL, LISTS | BUDGET | CACHES | SLAB_COUNTERS, 0, 100, false},
	{"trim", trim, NULL, LISTS | BUDGET | QUEUE | SLAB_COUNTERS, 0, 40, false},
	{"grow", grow, NULL, LISTS | BUDGET | QUEUE | SLAB_COUNTERS, 0, 20, false},
	{"flush", flush, NULL, LISTS, 0, 60, false},
	{"seal", seal_slab, NULL, STATES | QUEUE | TRANSFER_COUNTERS, 0, 6, true},
	{"write", write_slab, NULL, STATES | QUEUE | TRANSFER_COUNTERS, 0, 6, true},
	{"evict", evict_slab, NULL, LISTS | BUDGET | STATES | QUEUE, 0, 4, true},
	{"read", read_slab, NULL, LISTS | BUDGET | STATES | QUEUE | TRANSFER_COUNTERS, 0, 4,
	 true},
	{"drop", drop, NULL, LISTS | STATES | QUEUE | SLAB_COUNTERS, 0, 6, true},
	{"hand-over", hand_over, NULL, OWNER, STATES, 40, false},
	{"parcel", seal_parcel, NULL, LISTS | BUDGET | STATES | QUEUE | PARCELS | SLAB_COUNTERS, 0,
	 20, true},
	{"pin", pin, NULL, LISTS | BUDGET | STATES | QUEUE | PARCELS | TRANSFER_COUNTERS, 0, 20,
	 true},
	{"announce", announce, NULL, STATES | QUEUE | PARCELS, 0, 10, true},
	{"exit", end_threads, NULL, LISTS | CACHES, 0, 6, false},
	{"fork", fork_child, NULL, ALL, ALL, 1, false},
	{"stats", read_counters, NULL, 0,
	 BUDGET | CACHES | SLAB_COUNTERS | TRANSFER_COUNTERS | PARCELS, 200, false},
	{"budget", NULL, "a pool's budget is given when it is opened, and stays", 0, 0, 0, false},
};

#define OPERATIONS COUNT_OF(operations)

static const struct {
	const char *a, *b;
	const char *why;
} apart[] = {
	{"give", "seal", "what is given is empty; only what is on a tape is stored"},
	{"give", "write", "what is given is empty; only what is on a tape is stored"},
	{"flush", "seal", "magazines hold empty slabs; only what is on a tape is stored"},
	{"flush", "write", "magazines hold empty slabs; only what is on a tape is stored"},
	{"exit", "seal", "a thread ends with its magazines; a tape outlives it"},
	{"exit", "write", "a thread ends with its magazines; a tape outlives it"},
	{"give", "announce", "what is given is empty; only sealed parcels are announced"},
	{"flush", "announce", "magazines hold empty slabs; only sealed parcels are announced"},
	{"announce", "exit", "a thread ends with its magazines; a parcel outlives it"},
	{"take", "hand-over", "a slab that is taken is on no tape yet"},
	{"give", "hand-over", "a slab that is given is on no tape any more"},
	{"trim", "hand-over", "what is trimmed is on no tape"},
	{"grow", "hand-over", "a new slab is on no tape yet"},
	{"flush", "hand-over", "magazines belong to a thread, and hold slabs of no tape"},
	{"hand-over", "exit", "a tape does not know its threads, nor they it"},
	{"hand-over", "stats", "no counter says whose a tape is"},
	{"flush", "stats", "what is in a magazine is counted as what is in the lists is"},
};

static bool meet(const struct operation *a, const struct operation *b)
{
	return a->act && b->act &&
	       ((a->changes & (b->changes | b->reads)) || (b->changes & a->reads));
}

static bool are(size_t reason, const struct operation *a, const struct operation *b)
{
	return !strcmp(apart[reason].a, a->name) && !strcmp(apart[reason].b, b->name);
}

static const char *why_apart(const struct operation *a, const struct operation *b)
{
	if (a->why || b->why)
		return a->why ? a->why : b->why;
	for (size_t i = 0; i < COUNT_OF(apart); i++)
		if (are(i, a, b) || are(i, b, a))
			return apart[i].why;
	return NULL;
}

static void name_pair(char *name, size_t size, unsigned a, unsigned b)
{
	snprintf(name, size, "pairs/%s/%s", operations[a].name, operations[b].name);
}

/* The n-th pair that meets, or that does not. */
static bool find_pair(bool meets, unsigned n, unsigned *a, unsigned *b)
{
	for (*a = 0; *a < OPERATIONS; ++*a)
		for (*b = *a; *b < OPERATIONS; ++*b)
			if (meet(&operations[*a], &operations[*b]) == meets && n-- == 0)
				return true;
	return false;
}

/* The same operation in two threads does not meet itself where it changes nothing. */
static bool reads_alone(unsigned a, unsigned b)
{
	return a == b && operations[a].act && !operations[a].changes;
}

const char *stress_pair_name(unsigned row)
{
	static char name[64];
	unsigned a, b;

	if (!find_pair(true, row, &a, &b))
		return NULL;
	name_pair(name, sizeof name, a, b);
	return name;
}

const char *stress_pair_absent(unsigned which)
{
	static char line[256];
	unsigned a, b;
	int n;

	if (!find_pair(false, which, &a, &b))
		return NULL;
	name_pair(line, sizeof line, a, b);
	n = (int)strlen(line);
	snprintf(line + n, sizeof line - (size_t)n, ": %s",
		 reads_alone(a, b) ? "both only read" : why_apart(&operations[a], &operations[b]));
	return line;
}

const char *stress_pairs_problem(void)
{
	static char problem[128];
	size_t used = 0;

	for (unsigned a = 0; a < OPERATIONS; a++)
		for (unsigned b = a; b < OPERATIONS; b++) {
			const char *why = why_apart(&operations[a], &operations[b]);
			bool meets = meet(&operations[a], &operations[b]);

			used += why && operations[a].act && operations[b].act;
			if (meets != !why && !reads_alone(a, b)) {
				snprintf(problem, sizeof problem, "%s and %s %s",
					 operations[a].name, operations[b].name,
					 meets ? "meet, and it is said why they cannot"
					       : "do not meet, and it is not said why");
				return problem;
			}
		}
	return used == COUNT_OF(apart) ? NULL : "a reason names no pair of the list";
}

/* ---- A row ---- */

static void act_in_turn(struct stress_worker *worker, void *context)
{
	unsigned number = (unsigned)(worker - stress_workers) - 1;
	struct hands hands = {.worker = worker, .number = number,
			      .random = {scene.draw.seed << 24 ^ (uint64_t)number << 56}};
	unsigned side = number % 2;
	void (*act)(struct hands *hands) = operations[scene.operation[side]].act;
	unsigned most = stress_options.schedule == SCHEDULE_FREE ? 20 : 2;

	(void)context;
	/* Until all have done their part, so that they meet to the end. */
	for (unsigned i = 1;; i++) {
		act(&hands);
		if (i == scene.quota[side])
			scene.unfinished--;
		if (i >= scene.quota[side] &&
		    (!scene.unfinished || i >= most * scene.quota[side]))
			break;
	}
}

static void lay_out(unsigned parcels)
{
	scene.parcels = parcels;
	for (unsigned i = 0; i < parcels; i++) {
		scene.parcel[i] = open_filled(i, i);
		if (!scene.parcel[i])
			stress_fail("there is no room for the parcels of all threads");
		reel_parcel_seal(scene.parcel[i]);
	}
	for (unsigned i = 0; i < MAX_DESKS; i++) {
		scene.desk[i] = (struct desk){.tape = new_tape()};
		scene.tape_on[i] = &scene.desk[i];
	}
}

static void clear_away(void)
{
	struct hands hands = {.worker = &stress_workers[0]};

	for (unsigned i = 0; i < scene.parcels; i++)
		reel_parcel_close(scene.parcel[i]);
	for (unsigned i = 0; i < MAX_DESKS; i++) {
		struct reel_slab *slab = scene.given[i];

		scene.given[i] = NULL;
		if (slab)
			give_slab(&hands, slab);
		descend(&hands, &scene.desk[i].tape, scene.desk[i].height, 0);
		reel_tape_close(&scene.desk[i].tape);
	}
}

static struct stress_draw draw_for(uint64_t seed, bool stored, unsigned threads)
{
	struct stress_draw draw = {.seed = seed, .threads = threads};

	draw.pool = small_options();
	draw.store = stored ? "late" : "none";
	if (stored) {
		/* The largest number of slabs in hands and on desks, and four slabs a tape. */
		draw.pool.hard_budget = (MAX_DESKS * 5 + threads * 10) * small_slab();
		draw.pool.soft_budget = draw.pool.hard_budget / 4;
	}
	return draw;
}

static bool is_of_parcels(const struct operation *operation)
{
	return (operation->changes & PARCELS) && operation->changes != ALL;
}

static void run_row(unsigned a, unsigned b, unsigned threads, uint64_t seed)
{
	const struct operation *one = &operations[a], *other = &operations[b];
	bool parcels = is_of_parcels(one) || is_of_parcels(other);
	unsigned scale = stress_options.operations;
	char name[64];

	name_pair(name, sizeof name, a, b);
	scene.draw = draw_for(seed, one->stored || other->stored, threads);
	stress_report_round(name, &scene.draw);
	stress_stage_open(&scene.stage, &scene.draw);
	scene.operation[0] = a;
	scene.operation[1] = b;
	scene.quota[0] = 1 + one->quota * scale / 1000;
	scene.quota[1] = 1 + other->quota * scale / 1000;
	scene.unfinished = threads;
	scene.only_tapes = one->stored && other->stored && !parcels;
	lay_out(parcels ? MAX_PARCELS : 0);
	stress_run(threads, act_in_turn, NULL);
	clear_away();
	stress_stage_close(&scene.stage);
}

void stress_pair(unsigned row, uint64_t seed)
{
	static const unsigned teams[] = {2, 3, 8};
	unsigned a, b;

	if (!find_pair(true, row, &a, &b))
		return;
	for (unsigned i = 0; i < COUNT_OF(teams); i++)
		if (!stress_options.threads || i == 0)
			run_row(a, b, stress_options.threads ? stress_options.threads : teams[i],
				seed);
}
