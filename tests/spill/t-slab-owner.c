/* SPDX-License-Identifier: MIT */
/*
 * Tests the calls of an owner on slabs that may be in the store, while the offload thread is
 * paused: only the owner makes requests and changes counts. In tests of races for a slab a thread
 * of the test plays the offload thread. The test ranks victims.
 */
#include <config.h>

#include "spill/thread/copy.h"
#include "spill/thread/thread.h"
#include "spill/thread/transfer.h"
#include "spill/thread/victim.h"
#include "spill/thread/write-back.h"
#include "helpers/pool-support.h"
#include "spill/owner/slab-owner.h"
#include "tape/tape.h"

#define SLAB ((size_t)4096)
#define SLAB_WORDS (SLAB / 8)

/* The limit of demand.c. Half of the larger budget is more. */
#define MAX_AHEAD 32
enum { SMALL = 32, LARGE = 160 };

static reel_pool *spilling(unsigned hard)
{
	struct reel_pool_options options = {
		.slab_bytes = SLAB, .first_slab_bytes = SLAB / 4,
		.hard_budget = hard * SLAB, .soft_budget = hard / 2 * SLAB};

	if (reel_store_memory_open(&options.store, UINT64_MAX))
		abort();
	return open_pool(options);
}

/* A tape and its values. */
struct taped {
	reel_pool *pool;
	struct reel_offload *offload;
	reel_tape tape;
	uint64_t words;
	unsigned wrong;
};

/* Pauses the offload thread after it has handled the last transfers. */
static void pause_offload(struct reel_offload *offload)
{
	reel_offload_settle(offload);
	reel_offload_pause(offload);
	reel_wakeup_lower(&offload->work);
}

static void begin(struct taped *taped, unsigned hard, unsigned slabs)
{
	*taped = (struct taped){.pool = spilling(hard), .words = slabs * SLAB_WORDS};
	taped->offload = reel_offload_of(taped->pool);
	taped->tape = open_tape(taped->pool, 0);
	push_words(&taped->tape, 0, taped->words);
	pause_offload(taped->offload);
}

static void end(struct taped *taped, const char *after)
{
	reel_offload_resume(taped->offload);
	taped->wrong += wrong_words(&taped->tape, 0, taped->words);
	is_int(taped->wrong, 0, "all comes back after %s", after);
	is_int(reel_tape_error(&taped->tape), 0, "there is no error after %s", after);
	reel_tape_close(&taped->tape);
	close_pool_at_rest(taped->pool, after);
}

/* Pops until the slab below is the top and has one word. */
static void step_down(struct taped *taped)
{
	const struct reel_slab *left = taped->tape.slab;

	while (taped->tape.slab == left)
		taped->wrong += reel_pop(&taped->tape, uint64_t) != scramble(--taped->words);
}

/* Pushes until the slab that was left last is the top again. */
static void step_up(struct taped *taped)
{
	const struct reel_slab *top = taped->tape.slab;

	while (taped->tape.slab == top) {
		reel_push(&taped->tape, scramble(taped->words));
		taped->words++;
	}
}

/* ---- Read ahead ---- */

static struct reel_slab *lower(struct reel_slab *slab, unsigned n)
{
	while (n--)
		slab = slab->below;
	return slab;
}

/* Returns the number of slabs above the first one that only the store has. */
static unsigned distance_of_stored(const reel_tape *tape)
{
	struct reel_slab *slab = tape->slab;
	unsigned n = 0;

	for (; slab && reel_slab_state_of(slab) != REEL_SLAB_STORED; slab = slab->below)
		n++;
	return n;
}

/* Pops until the first stored slab is the second one below the top. */
static void come_near(struct taped *taped)
{
	taped->tape.demand->ahead = 0;
	while (distance_of_stored(&taped->tape) > 2)
		step_down(taped);
}

static uint32_t requested(const struct taped *taped)
{
	return taped->tape.demand->requested;
}

/*
 * Goes down one slab. Returns true if the owner then requests each of the next `ahead` slabs that
 * only the store has.
 */
static bool asks_for_the_next(struct taped *taped, unsigned ahead)
{
	struct reel_demand *demand = taped->tape.demand;
	struct reel_slab *top = taped->tape.slab->below, *asked[LARGE];
	uint32_t before = requested(taped), n = 0;
	bool behind_is_stored = reel_slab_state_of(lower(top, ahead + 1)) == REEL_SLAB_STORED;

	for (unsigned i = 1; i <= ahead; i++)
		if (reel_slab_state_of(lower(top, i)) == REEL_SLAB_STORED)
			asked[n++] = lower(top, i);
	step_down(taped);
	if (!n || requested(taped) - before != n || !behind_is_stored ||
	    reel_slab_state_of(lower(top, ahead + 1)) != REEL_SLAB_STORED)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (demand->request[(before + i) % REEL_REQUESTS] != asked[i] ||
		    reel_slab_state_of(asked[i]) != REEL_SLAB_READ_QUEUED)
			return false;
	return true;
}

static void the_next_slabs_are_asked_for(void)
{
	struct taped taped;
	uint32_t before;
	uint64_t popped;

	tap_case("a tape that is popped");
	begin(&taped, SMALL, 3 * SMALL);
	come_near(&taped);
	step_up(&taped);
	taped.tape.demand->ahead = REEL_MIN_AHEAD;
	before = requested(&taped);
	popped = taped.tape.demand->popped;
	reel_wakeup_lower(&taped.offload->work);
	step_down(&taped);
	is_int(requested(&taped), before, "its first step down asks for nothing");
	ok(!taped.offload->work.raised, "and wakes nobody");
	ok(asks_for_the_next(&taped, REEL_MIN_AHEAD),
	   "the second one asks for those of the next four that are stored, the nearest first");
	ok(taped.offload->work.raised, "and tells the offload thread");
	is_int(requested(&taped) - before, REEL_MIN_AHEAD, "four of them");
	is_int(taped.tape.demand->popped - popped, 2, "two slabs have been popped");
	end(&taped, "asking");
}

static void what_has_been_asked_for_is_not_asked_for_again(void)
{
	struct taped taped;

	tap_case("a slab that is wanted");
	begin(&taped, SMALL, 3 * SMALL);
	come_near(&taped);
	taped.tape.demand->ahead = 1;
	ok(asks_for_the_next(&taped, 1), "one slab is asked for");
	taped.tape.demand->ahead = SMALL;
	step_up(&taped);
	taped.tape.demand->slabs_popped_in_row = 1;
	ok(asks_for_the_next(&taped, SMALL / 2), "then the others behind it");
	end(&taped, "asking twice");
}

static void so_many_are_asked_for_at_most(unsigned hard, unsigned tapes, unsigned most)
{
	struct taped taped;

	tap_case("a bound");
	begin(&taped, hard, 3 * hard);
	come_near(&taped);
	taped.tape.demand->ahead = 10 * MAX_AHEAD;
	taped.offload->demands_in_use += tapes - 1;
	ok(asks_for_the_next(&taped, most), "one of %u tapes in %u slabs asks for %u at most",
	   tapes, hard, most);
	taped.offload->demands_in_use -= tapes - 1;
	taped.tape.demand->ahead = MAX_AHEAD;
	end(&taped, "a bound");
}

static void dirty_slabs_give_no_frame_to_requests(void)
{
	struct taped taped;
	size_t dirty;

	tap_case("frames that are not to be had");
	begin(&taped, SMALL, 3 * SMALL);
	come_near(&taped);
	taped.tape.demand->ahead = MAX_AHEAD;
	dirty = taped.offload->dirty_bytes;
	taped.offload->dirty_bytes = 3 * SMALL / 4 * SLAB;
	ok(asks_for_the_next(&taped, SMALL / 8), "of a quarter of the frames, half is asked for");
	taped.offload->dirty_bytes = dirty;
	end(&taped, "dirty slabs");
}

/* ---- Ranking ---- */

/* Returns the clean slab with the largest distance, or NULL. */
static struct reel_slab *rank_anew(struct reel_offload *offload)
{
	offload->clean_victims.next = offload->clean_victims.count;
	return reel_victim_next(offload, REEL_SLAB_CLEAN, REEL_MIN_DISTANCE);
}

static void a_rate_is_of_a_time(void)
{
	struct taped taped;
	const struct timespec while_popping = {.tv_nsec = 20000000};
	double rate;

	tap_case("rankings that follow each other closely");
	begin(&taped, SMALL, 3 * SMALL);
	rank_anew(taped.offload);
	taped.tape.demand->popped += 1000;
	nanosleep(&while_popping, NULL);
	rank_anew(taped.offload);
	rate = taped.tape.demand->rate;
	ok(rate > 0, "slabs were popped");
	for (unsigned i = 0; i < 20; i++)
		rank_anew(taped.offload);
	/* A busy machine may take a second for this, but not many seconds. */
	ok(taped.tape.demand->rate > rate / 1000, "so many that twenty rankings are no time");
	end(&taped, "rankings");
}

static void a_list_ends_before_the_nearest_slabs(void)
{
	struct taped taped;
	struct reel_slab *farthest;
	unsigned n = 1;

	tap_case("victims");
	begin(&taped, SMALL, 3 * SMALL);
	farthest = rank_anew(taped.offload);
	ok(farthest && taped.offload->clean > 2, "there are some");
	while (n <= taped.offload->clean &&
	       reel_victim_next(taped.offload, REEL_SLAB_CLEAN, REEL_MIN_DISTANCE) != farthest)
		n++;
	is_int(n, (taped.offload->clean + 1) / 2,
	       "half of them are named before all are ranked anew");
	end(&taped, "victims");
}

/* The requests are of a slab in memory, so the offload thread need not read it. */
static void a_full_ring_takes_no_more(void)
{
	struct taped taped;
	struct reel_demand *demand;

	tap_case("a ring that is full");
	begin(&taped, SMALL, 3 * SMALL);
	come_near(&taped);
	demand = taped.tape.demand;
	demand->ahead = REEL_MIN_AHEAD;
	demand->served += 3;
	demand->requested += 3 + REEL_REQUESTS;
	for (unsigned i = 0; i < REEL_REQUESTS; i++)
		demand->request[i] = taped.tape.slab;
	step_down(&taped);
	is_int(requested(&taped) - demand->served, REEL_REQUESTS, "nothing is asked for");
	ok(distance_of_stored(&taped.tape) == 1, "and nothing is said to be wanted");
	end(&taped, "a full ring");
}

static void being_in_time_makes_it_less(void)
{
	struct taped taped;
	struct reel_demand *demand;

	tap_case("slabs that are there in time");
	begin(&taped, SMALL, SMALL / 2);
	demand = taped.tape.demand;
	demand->ahead = REEL_MIN_AHEAD + 1;
	demand->hits_in_row = 0;
	for (unsigned i = 0; i < 63; i++)
		reel_below_acquire(&taped.tape, taped.tape.slab);
	is_int(demand->ahead, REEL_MIN_AHEAD + 1, "sixty-three of them change nothing");
	reel_below_acquire(&taped.tape, taped.tape.slab);
	is_int(demand->ahead, REEL_MIN_AHEAD, "one more, and one less is asked for");
	for (unsigned i = 0; i < 1000; i++)
		reel_below_acquire(&taped.tape, taped.tape.slab);
	is_int(demand->ahead, REEL_MIN_AHEAD, "but never less than four");
	end(&taped, "slabs in time");
}

/* ---- Counts ---- */

struct counts {
	size_t dirty_bytes, clean, stale, stored, wanted;
};

static bool is_out_of_date(enum reel_slab_state state)
{
	return state == REEL_SLAB_EMPTY || state == REEL_SLAB_OPEN || state == REEL_SLAB_DIRTY;
}

static struct counts count_slabs(const struct reel_offload *offload)
{
	struct counts counts = {0};

	for (uint32_t i = 0; i < offload->pool->table_used; i++) {
		enum reel_slab_state state = reel_slab_state_of(&offload->pool->table[i]);

		counts.dirty_bytes += state == REEL_SLAB_DIRTY ? SLAB : 0;
		counts.clean += state == REEL_SLAB_CLEAN;
		counts.stored += state == REEL_SLAB_STORED;
		counts.wanted += state == REEL_SLAB_READ_QUEUED;
		counts.stale += offload->slab_io[i].stored && is_out_of_date(state);
	}
	return counts;
}

static void counts_agree(const struct taped *taped, const char *after)
{
	struct counts counts = count_slabs(taped->offload);

	is_int(taped->offload->dirty_bytes, counts.dirty_bytes, "bytes in memory only, after %s",
	       after);
	is_int(taped->offload->clean, counts.clean, "slabs in memory and in the store, after %s",
	       after);
	is_int(taped->offload->stale, counts.stale, "copies out of date, after %s", after);
}

static void step_down_to(struct taped *taped, enum reel_slab_state state)
{
	while (taped->tape.slab->below && reel_slab_state_of(taped->tape.slab) != state)
		step_down(taped);
}

/* Half of the slabs are only in the store, others in both or in memory, and one is requested. */
static void counts_are_those_of_the_slabs(void)
{
	struct taped taped;
	struct counts counts;
	reel_mark mark;

	tap_case("counts");
	taped = (struct taped){.pool = spilling(SMALL), .words = 20};
	taped.offload = reel_offload_of(taped.pool);
	taped.tape = open_tape(taped.pool, 0);
	push_words(&taped.tape, 0, taped.words);
	mark = reel_tape_mark(&taped.tape);
	push_words(&taped.tape, taped.words, 3 * SMALL * SLAB_WORDS);
	taped.words = 3 * SMALL * SLAB_WORDS;
	pause_offload(taped.offload);
	counts_agree(&taped, "a pause");

	step_down_to(&taped, REEL_SLAB_PINNED);
	is_int(reel_slab_state_of(taped.tape.slab), REEL_SLAB_PINNED, "a slab has a copy");
	counts_agree(&taped, "popping on it");
	push_words(&taped.tape, taped.words, taped.words + 1);
	taped.words++;
	is_int(taped.offload->stale, 1, "a push makes its copy stale");
	counts_agree(&taped, "a push on it");
	for (unsigned i = 0; i < 3; i++) {
		step_down(&taped);
		counts_agree(&taped, "leaving it");
	}
	step_up(&taped);
	counts_agree(&taped, "going up again");
	come_near(&taped);
	taped.tape.demand->ahead = 1;
	ok(asks_for_the_next(&taped, 1), "one slab is asked for");
	counts = count_slabs(taped.offload);
	ok(counts.stored && counts.wanted, "there are slabs without a frame");
	is_int(reel_tape_rewind(&taped.tape, mark), 0, "a rewind drops all of them");
	counts_agree(&taped, "a rewind");
	taped.words = 20;
	end(&taped, "counting");
}

/* Closes the tape with slabs in all states. */
static void a_tape_that_ends_leaves_no_count(void)
{
	struct taped taped;
	struct counts counts;

	tap_case("the end of a tape");
	begin(&taped, SMALL, 3 * SMALL);
	counts = count_slabs(taped.offload);
	ok(counts.dirty_bytes && counts.clean && counts.stored,
	   "some slabs are stored, some in memory");
	ok(!taped.offload->work.raised, "the offload thread has nothing to do");
	reel_tape_close(&taped.tape);
	counts_agree(&taped, "the end");
	is_int(taped.offload->dirty_bytes + taped.offload->clean, 0, "nothing is counted any more");
	ok(taped.offload->stale > SMALL, "but what the store has for nothing");
	ok(taped.offload->work.raised, "which the offload thread is told");
	reel_offload_resume(taped.offload);
	close_pool_at_rest(taped.pool, "a tape that ends");
}

/* ---- Slabs that change while the owner looks ---- */

/* A thread plays the offload thread: it begins transfers of the slab for ever, which all fail. */
static struct {
	struct reel_offload *offload;
	_Atomic(struct reel_slab *) slab;
	enum reel_slab_state from, to;
	_Atomic size_t *counter; /* count of slabs in state `from`, with `each` for a slab */
	size_t each;
	_Atomic bool ends;
	_Atomic unsigned met; /* number of transfers during which the owner came */
} play;

/* Undoes a transition. Evictions never fail, so the library has no function for that. */
static bool undo(struct reel_slab *slab)
{
	uint8_t state = (uint8_t)play.to;

	return atomic_compare_exchange_strong(&slab->state, &state, (uint8_t)play.from);
}

static void end_transfer(struct reel_slab *slab)
{
	for (;;) {
		*play.counter += play.each;
		if (undo(slab))
			return;
		*play.counter -= play.each;
		play.met++;
		if (reel_slab_move(slab, REEL_SLAB_PINNED_WRITING, REEL_SLAB_OPEN))
			return;
		if (reel_slab_state_of(slab) != REEL_SLAB_FREE_PENDING)
			continue;
		reel_offload_free_deferred(play.offload, slab);
		return;
	}
}

static void *transfer_for_ever(void *unused)
{
	while (!play.ends) {
		struct reel_slab *slab = play.slab;

		if (!slab || !reel_slab_move(slab, play.from, play.to))
			continue;
		*play.counter -= play.each;
		end_transfer(slab);
	}
	return unused;
}

static pthread_t begin_play(struct reel_offload *offload, enum reel_slab_state from,
			    enum reel_slab_state to, _Atomic size_t *counter)
{
	pthread_t player;

	play.offload = offload;
	play.slab = NULL;
	play.from = from;
	play.to = to;
	play.counter = counter;
	play.each = from == REEL_SLAB_DIRTY ? SLAB : 1;
	play.ends = false;
	play.met = 0;
	if (pthread_create(&player, NULL, transfer_for_ever, NULL))
		abort();
	return player;
}

static void end_play(pthread_t player)
{
	play.ends = true;
	pthread_join(player, NULL);
}

/* Waits for the player, but not for ever, because the system may not run it. */
static void await_player(const struct reel_slab *slab)
{
	unsigned looks = 0;

	while (reel_slab_state_of(slab) == play.from && looks < 100)
		looks++;
}

/* Returns true until owner and player have met often, or there were too many rounds. */
static bool goes_on(unsigned rounds)
{
	unsigned often = is_brief() ? 1000 : 10000;

	return rounds < 20 * often || (play.met < often && rounds < 200 * often);
}

static void a_visit_finds_a_slab_that_is_written_or_not(void)
{
	struct taped taped;
	struct reel_slab *slab;
	pthread_t player;
	uint64_t stalls;
	unsigned wrong = 0;

	tap_case("a slab whose puts fail for ever");
	begin(&taped, SMALL, SMALL / 4);
	slab = taped.tape.slab->below;
	stalls = stats_of(taped.pool).stalls;
	player = begin_play(taped.offload, REEL_SLAB_DIRTY, REEL_SLAB_WRITING,
			    &taped.offload->dirty_bytes);
	play.slab = slab;
	for (unsigned i = 0; goes_on(i); i++) {
		enum reel_slab_state state;

		await_player(slab);
		reel_below_acquire(&taped.tape, slab);
		state = reel_slab_state_of(slab);
		wrong += state != REEL_SLAB_OPEN && state != REEL_SLAB_PINNED_WRITING;
		reel_below_retain(&taped.tape, slab);
	}
	end_play(player);
	is_int(wrong, 0, "is its owner's whenever it is visited");
	is_int(stats_of(taped.pool).stalls, stalls, "who never waits for it");
	counts_agree(&taped, "visits");
	end(&taped, "visits");
}

/* Returns a whole slab in this state, as a tape would have it. */
static struct reel_slab *slab_in(reel_pool *pool, enum reel_slab_state state)
{
	struct reel_slab *slab;

	if (reel_pool_take(pool, REEL_SLAB_WHOLE, SLAB, &slab))
		abort();
	if (state == REEL_SLAB_READ_QUEUED) {
		/* The slab is in the state of a failed read. */
		slab->state = REEL_SLAB_READING;
		reel_evict_frame(reel_offload_of(pool), slab, reel_supply_take_frameless(pool),
				 REEL_SLAB_READING);
	}
	*play.counter += play.each;
	slab->state = (uint8_t)state;
	return slab;
}

static _Atomic size_t uncounted;

static _Atomic size_t *counter_of(struct reel_offload *offload, enum reel_slab_state state)
{
	switch (state) {
	case REEL_SLAB_DIRTY:
		return &offload->dirty_bytes;
	case REEL_SLAB_CLEAN:
		return &offload->clean;
	default:
		return &uncounted;
	}
}

static void what_is_discarded_meanwhile_goes_back_once(enum reel_slab_state from,
						       enum reel_slab_state to, const char *what)
{
	reel_pool *pool = spilling(SMALL);
	pthread_t player;

	tap_case(what);
	reel_offload_pause(reel_offload_of(pool));
	player = begin_play(reel_offload_of(pool), from, to,
			    counter_of(reel_offload_of(pool), from));
	for (unsigned i = 0; goes_on(i); i++) {
		struct reel_slab *slab = slab_in(pool, from);

		play.slab = slab;
		await_player(slab);
		reel_slab_free(pool, slab);
	}
	end_play(player);
	reel_offload_resume(reel_offload_of(pool));
	ok(stats_of(pool).resident_bytes <= 4 * SLAB, "its frame serves again and again");
	close_pool_at_rest(pool, what);
}

int main(void)
{
	tap_begin();
	the_next_slabs_are_asked_for();
	what_has_been_asked_for_is_not_asked_for_again();
	so_many_are_asked_for_at_most(SMALL, 1, SMALL / 2);
	so_many_are_asked_for_at_most(SMALL, 2, SMALL / 4);
	so_many_are_asked_for_at_most(LARGE, 1, MAX_AHEAD);
	so_many_are_asked_for_at_most(SMALL, 2 * SMALL, 1);
	dirty_slabs_give_no_frame_to_requests();
	a_rate_is_of_a_time();
	a_list_ends_before_the_nearest_slabs();
	a_full_ring_takes_no_more();
	being_in_time_makes_it_less();
	counts_are_those_of_the_slabs();
	a_tape_that_ends_leaves_no_count();
	a_visit_finds_a_slab_that_is_written_or_not();
	what_is_discarded_meanwhile_goes_back_once(REEL_SLAB_DIRTY, REEL_SLAB_WRITING,
						   "a slab that is put");
	what_is_discarded_meanwhile_goes_back_once(REEL_SLAB_CLEAN, REEL_SLAB_EVICTING,
						   "a slab that is evicted");
	what_is_discarded_meanwhile_goes_back_once(REEL_SLAB_READ_QUEUED, REEL_SLAB_READING,
						   "a slab that is got");
	return tap_end();
}
