/* SPDX-License-Identifier: MIT */
/*
 * A STORE with loss copies its state, and the loop goes on. The packer's thread packs the copy, and
 * puts the snapshot into its slot. A thread that needs the slot before packs the copy itself. While
 * another copy waits, a STORE packs its own state: so there are no more than two copies, and a loop
 * takes no longer than without the thread.
 *
 * A snapshot may find no room. Then its state stays. The next STORE, or an action that needs the
 * slot, packs it again and returns the error: its caller may give memory back and repeat the
 * action.
 *
 * `packer->lock` guards the members. No thread packs, or calls a function of the program, while it
 * holds it.
 */
#include "config.h"

#include "run-packer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/counter.h"
#include "os/error.h"
#include "os/os-thread.h"
#include "os/process.h"
#include "run-loss.h"

enum use {
	FREE,
	TAKEN,   /* by a thread, for itself */
	PACKING, /* a thread packs its state */
	WAITS,   /* has a state that any thread may pack */
	REFUSED, /* the same, but its snapshot found no room: the packer's thread leaves it */
};

/* Memory to pack or unpack a state in. */
struct reel_packing {
	struct reel_packing *next;
	enum use use;
	bool has_state;         /* the state to pack is the one in `state` */
	reel_action store;      /* PACKING, WAITS and REFUSED: where the snapshot goes */
	unsigned char *state;   /* a copy of a state; NULL: not needed so far */
	unsigned char packed[]; /* a packed state */
};

struct reel_packer {
	pthread_mutex_t lock;
	pthread_cond_t work;   /* a state waits, or the thread is to end */
	pthread_cond_t packed; /* a state is not PACKING any more */
	struct reel_packing *all;
	bool ends;
	bool has_thread;
	pid_t process; /* that has the thread */
	pthread_t thread;
};

/* Returns memory in this use, or NULL. Requires `packer->lock`. */
static struct reel_packing *find(const struct reel_packer *packer, enum use use)
{
	struct reel_packing *packing = packer->all;

	while (packing && packing->use != use)
		packing = packing->next;
	return packing;
}

/* ---- Memory ---- */

static void give(struct reel_packer *packer, struct reel_packing *packing)
{
	pthread_mutex_lock(&packer->lock);
	REEL_ASSERT(packing->use == TAKEN);
	packing->use = FREE;
	pthread_mutex_unlock(&packer->lock);
}

static struct reel_packing *take_free(struct reel_packer *packer)
{
	struct reel_packing *packing;

	pthread_mutex_lock(&packer->lock);
	packing = find(packer, FREE);
	if (packing)
		packing->use = TAKEN;
	pthread_mutex_unlock(&packer->lock);
	return packing;
}

static struct reel_packing *add(reel_run *run)
{
	struct reel_packer *packer = run->packer;
	struct reel_packing *packing = malloc(sizeof *packing + reel_loss_room(run));

	if (!packing)
		return NULL;
	*packing = (struct reel_packing){.use = TAKEN};
	pthread_mutex_lock(&packer->lock);
	packing->next = packer->all;
	packer->all = packing;
	pthread_mutex_unlock(&packer->lock);
	return packing;
}

/* Returns memory for this thread alone, with room for a state if `with_state`; NULL: none. */
static struct reel_packing *take(reel_run *run, bool with_state)
{
	struct reel_packing *packing = take_free(run->packer);

	if (!packing)
		packing = add(run);
	if (packing && with_state && !packing->state)
		packing->state = malloc(run->model.state_bytes + 1);
	if (!packing || !with_state || packing->state)
		return packing;
	give(run->packer, packing);
	return NULL;
}

/* ---- Packing ---- */

/* Packs the state into the slot of packing->store. */
static int pack(reel_run *run, struct reel_packing *packing, const void *state)
{
	const reel_action *store = &packing->store;
	size_t bytes = reel_loss_pack(run, packing->packed, state);
	void *data;
	int error;

	if (!bytes)
		return reel_fail(-ENOMEM, "no memory to pack a state");
	error = reel_snapshot_reserve(&run->snapshots, store->tier, store->slot, store->first,
				      bytes, &data);
	if (error)
		return error;
	memcpy(data, packing->packed, bytes);
	reel_snapshot_commit(&run->snapshots, store->tier, store->slot);
	/* Relaxed, both: counters, which order nothing. */
	atomic_fetch_add_explicit(&run->rounded_bytes, run->model.state_bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&run->kept_bytes, bytes, memory_order_relaxed);
	reel_counter_raise(&run->largest_kept, bytes);
	return 0;
}

/* As pack(). Requires `packer->lock`, and releases it while it packs. */
static int pack_unlocked(reel_run *run, struct reel_packing *packing, const void *state)
{
	struct reel_packer *packer = run->packer;
	int error;

	REEL_ASSERT(packing->use != FREE && packing->use != PACKING);
	packing->use = PACKING;
	pthread_mutex_unlock(&packer->lock);
	error = pack(run, packing, state);
	pthread_mutex_lock(&packer->lock);
	REEL_ASSERT(packing->use == PACKING);
	packing->use = error ? REFUSED : FREE;
	pthread_cond_broadcast(&packer->packed);
	return error;
}

static void *pack_beside(void *argument)
{
	reel_run *run = argument;
	struct reel_packer *packer = run->packer;

	pthread_mutex_lock(&packer->lock);
	while (!packer->ends) {
		struct reel_packing *packing = find(packer, WAITS);

		if (packing)
			pack_unlocked(run, packing, packing->state);
		else
			pthread_cond_wait(&packer->work, &packer->lock);
	}
	pthread_mutex_unlock(&packer->lock);
	return NULL;
}

/* ---- Storing ---- */

/* Returns true if a snapshot is no copy of the bytes at `state`. */
static bool copies(const reel_run *run)
{
	return run->model.save || run->options.state_parts;
}

/* Requires `packer->lock`. */
static bool may_wait(const struct reel_packer *packer)
{
	return packer->has_thread && !find(packer, WAITS);
}

/*
 * Returns true if a state may wait for the packer's thread. The first STORE starts the thread, if
 * there is a processor for it.
 */
static bool has_help(reel_run *run)
{
	REEL_UNCANCELLED;
	struct reel_packer *packer = run->packer;
	bool helps;

	pthread_mutex_lock(&packer->lock);
	if (!packer->process) {
		packer->process = getpid();
		packer->has_thread = reel_os_processors() > 1 &&
				     !reel_os_thread_start(&packer->thread, pack_beside, run,
							   "reel-pack");
	}
	helps = may_wait(packer);
	pthread_mutex_unlock(&packer->lock);
	return helps;
}

int reel_packer_take(reel_run *run, void *context, const void *state, struct reel_packing **taken)
{
	bool has_state = has_help(run) || copies(run);
	struct reel_packing *packing = take(run, has_state);
	int error = 0;

	if (!packing)
		return reel_fail(-ENOMEM, "no memory to pack a state");
	packing->has_state = has_state;
	if (has_state)
		error = reel_run_save_state(run, context, state, packing->state);
	if (error)
		give(run->packer, packing);
	else
		*taken = packing;
	return error;
}

int reel_packer_store(reel_run *run, const reel_action *store, const void *state,
		      struct reel_packing *packing)
{
	struct reel_packer *packer = run->packer;
	struct reel_packing *refused;
	int error = 0;

	REEL_ASSERT(packing->use == TAKEN && store->kind == REEL_ACTION_STORE);
	packing->store = *store;
	pthread_mutex_lock(&packer->lock);
	while (!error && (refused = find(packer, REFUSED)))
		error = pack_unlocked(run, refused, refused->state);
	if (!error && packing->has_state && may_wait(packer)) {
		packing->use = WAITS;
		pthread_cond_signal(&packer->work);
	} else if (!error) {
		error = pack_unlocked(run, packing, packing->has_state ? packing->state : state);
	}
	if (error)
		packing->use = FREE;
	pthread_mutex_unlock(&packer->lock);
	return error;
}

/* ---- Snapshots that are not in their slots yet ---- */

/* Returns one that goes to the slot, or to any slot; or NULL. Requires `packer->lock`. */
static struct reel_packing *on_its_way(const struct reel_packer *packer, const reel_action *slot)
{
	struct reel_packing *packing = packer->all;

	while (packing && (packing->use < PACKING ||
			   (slot && (packing->store.tier != slot->tier ||
				     packing->store.slot != slot->slot))))
		packing = packing->next;
	return packing;
}

/* As on_its_way(), but waits while another thread packs it. */
static struct reel_packing *wait_for(struct reel_packer *packer, const reel_action *slot)
{
	struct reel_packing *packing;

	while ((packing = on_its_way(packer, slot)) && packing->use == PACKING)
		pthread_cond_wait(&packer->packed, &packer->lock);
	return packing;
}

int reel_packer_finish(reel_run *run, const reel_action *slot)
{
	REEL_UNCANCELLED;
	struct reel_packer *packer = run->packer;
	struct reel_packing *packing;
	int error = 0;

	if (!packer)
		return 0;
	pthread_mutex_lock(&packer->lock);
	while (!error && (packing = wait_for(packer, slot))) {
		REEL_ASSERT(packing->has_state);
		error = pack_unlocked(run, packing, packing->state);
	}
	pthread_mutex_unlock(&packer->lock);
	return error;
}

bool reel_packer_drop(reel_run *run, const reel_action *slot)
{
	REEL_UNCANCELLED;
	struct reel_packer *packer = run->packer;
	struct reel_packing *packing;

	if (!packer)
		return false;
	pthread_mutex_lock(&packer->lock);
	packing = wait_for(packer, slot);
	REEL_ASSERT(!packing || packing->use == WAITS || packing->use == REFUSED);
	if (packing)
		packing->use = FREE;
	pthread_mutex_unlock(&packer->lock);
	return packing;
}

/* ---- Loading ---- */

int reel_packer_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes)
{
	struct reel_packing *packing;
	int error;

	REEL_ASSERT(bytes <= reel_loss_room(run));
	if (!copies(run))
		return reel_loss_unpack(run, state, packed, bytes);
	packing = take(run, true);
	if (!packing)
		return reel_fail(-ENOMEM, "no memory to unpack a state");
	error = reel_loss_unpack(run, packing->state, packed, bytes);
	if (!error)
		error = reel_run_load_state(run, context, state, packing->state);
	give(run->packer, packing);
	return error;
}

/* ---- Beginning and end ---- */

int reel_packer_open(reel_run *run)
{
	struct reel_packer *packer = calloc(1, sizeof *packer);

	if (!packer)
		return reel_fail(-ENOMEM, "no memory for a run");
	pthread_mutex_init(&packer->lock, NULL);
	pthread_cond_init(&packer->work, NULL);
	pthread_cond_init(&packer->packed, NULL);
	run->packer = packer;
	return 0;
}

void reel_packer_begin(reel_run *run)
{
	struct reel_packer *packer = run->packer;

	if (!packer)
		return;
	while (reel_packer_drop(run, NULL))
		;
	/* A callback that was left has not given its memory back. */
	for (struct reel_packing *packing = packer->all; packing; packing = packing->next)
		packing->use = FREE;
	/* Relaxed, all: no other thread stores states now. */
	atomic_store_explicit(&run->rounded_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&run->kept_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&run->largest_kept, 0, memory_order_relaxed);
}

static void end_thread(struct reel_packer *packer)
{
	REEL_UNCANCELLED;

	pthread_mutex_lock(&packer->lock);
	packer->ends = true;
	pthread_cond_signal(&packer->work);
	pthread_mutex_unlock(&packer->lock);
	pthread_join(packer->thread, NULL);
}

void reel_packer_close(reel_run *run)
{
	struct reel_packer *packer = run->packer;

	/* The child of a fork has no such thread, which may have held the lock. */
	if (!packer || (packer->has_thread && reel_process_is_child(packer->process)))
		return;
	while (reel_packer_drop(run, NULL))
		;
	if (packer->has_thread)
		end_thread(packer);
	while (packer->all) {
		struct reel_packing *packing = packer->all;

		packer->all = packing->next;
		free(packing->state);
		free(packing);
	}
	pthread_cond_destroy(&packer->packed);
	pthread_cond_destroy(&packer->work);
	pthread_mutex_destroy(&packer->lock);
	free(packer);
	run->packer = NULL;
}
