/* SPDX-License-Identifier: MIT */
/*
 * A STORE with loss copies its state, and the loop goes on. The packer's thread packs the copy, and
 * puts the snapshot into its slot. A thread that needs the slot before packs the copy itself. While
 * another copy waits, a STORE packs its own state: so there are no more than two copies, and a loop
 * takes no longer than without the thread.
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
#include "os/error.h"
#include "os/os-thread.h"
#include "os/process.h"
#include "run-loss.h"

enum use {
	FREE,
	TAKEN,   /* by a thread, for itself */
	WAITS,   /* has a state that any thread may pack */
	PACKING, /* a thread packs it */
};

/* Memory to pack or unpack a state in. */
struct space {
	struct space *next;
	enum use use;
	reel_action store;      /* WAITS and PACKING: where the snapshot goes */
	unsigned char *state;   /* a copy of a state; NULL: not needed so far */
	unsigned char packed[]; /* of a packed one */
};

struct reel_packer {
	pthread_mutex_t lock;
	pthread_cond_t work;   /* a state waits, or the thread is to end */
	pthread_cond_t packed; /* one that was being packed is in its slot */
	struct space *spaces;
	int error;          /* the first one of this sweep, or 0 */
	reel_action failed; /* its STORE */
	bool ends;
	bool has_thread;
	pid_t process; /* that has the thread */
	pthread_t thread;
};

/* ---- Memory ---- */

static void give_space(struct reel_packer *packer, struct space *space)
{
	pthread_mutex_lock(&packer->lock);
	space->use = FREE;
	pthread_mutex_unlock(&packer->lock);
}

/* Returns memory that is free, or NULL. */
static struct space *find_space(struct reel_packer *packer)
{
	struct space *space;

	pthread_mutex_lock(&packer->lock);
	for (space = packer->spaces; space && space->use != FREE; space = space->next)
		;
	if (space)
		space->use = TAKEN;
	pthread_mutex_unlock(&packer->lock);
	return space;
}

static struct space *add_space(reel_run *run)
{
	struct reel_packer *packer = run->packer;
	struct space *space = malloc(sizeof *space + reel_loss_room(run));

	if (!space)
		return NULL;
	*space = (struct space){.use = TAKEN};
	pthread_mutex_lock(&packer->lock);
	space->next = packer->spaces;
	packer->spaces = space;
	pthread_mutex_unlock(&packer->lock);
	return space;
}

/* Returns memory for this thread alone, with room for a state if `with_state`; NULL: none. */
static struct space *take_space(reel_run *run, bool with_state)
{
	struct space *space = find_space(run->packer);

	if (!space)
		space = add_space(run);
	if (space && with_state && !space->state)
		space->state = malloc(run->model.state_bytes + 1);
	if (!space || !with_state || space->state)
		return space;
	give_space(run->packer, space);
	return NULL;
}

/* ---- Packing ---- */

/* Packs the state into the slot of the action. */
static int pack(reel_run *run, struct space *space, const reel_action *store, const void *state)
{
	size_t bytes = reel_loss_pack(run, space->packed, state);
	void *data;
	int error = -ENOMEM;

	if (bytes)
		error = reel_snapshot_reserve(&run->snapshots, store->tier, store->slot,
					      store->first, bytes, &data);
	if (error)
		return error;
	memcpy(data, space->packed, bytes);
	reel_snapshot_commit(&run->snapshots, store->tier, store->slot);
	/* Relaxed, both: counters, which order nothing. */
	atomic_fetch_add_explicit(&run->rounded_bytes, run->model.state_bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&run->kept_bytes, bytes, memory_order_relaxed);
	return 0;
}

/*
 * Packs the state, which may be in `space`, for the action that is there. Requires `packer->lock`,
 * and releases it meanwhile.
 */
static void pack_unlocked(reel_run *run, struct space *space, const void *state)
{
	struct reel_packer *packer = run->packer;
	int error;

	REEL_ASSERT(space->use != FREE);
	space->use = PACKING;
	pthread_mutex_unlock(&packer->lock);
	error = pack(run, space, &space->store, state);
	pthread_mutex_lock(&packer->lock);
	if (error && !packer->error) {
		packer->error = error;
		packer->failed = space->store;
	}
	REEL_ASSERT(space->use == PACKING);
	space->use = FREE;
	pthread_cond_broadcast(&packer->packed);
}

/* Returns memory with a state that waits, or NULL. Requires `packer->lock`. */
static struct space *find_waiting(const struct reel_packer *packer)
{
	struct space *space = packer->spaces;

	while (space && space->use != WAITS)
		space = space->next;
	return space;
}

static void *work(void *argument)
{
	reel_run *run = argument;
	struct reel_packer *packer = run->packer;

	pthread_mutex_lock(&packer->lock);
	while (!packer->ends) {
		struct space *space = find_waiting(packer);

		if (space)
			pack_unlocked(run, space, space->state);
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

/*
 * Returns true if a state may wait for the packer's thread. The first STORE starts the thread, if
 * there is a processor for it.
 */
static bool may_wait(reel_run *run)
{
	REEL_UNCANCELLED;
	struct reel_packer *packer = run->packer;
	bool may_wait;

	pthread_mutex_lock(&packer->lock);
	if (!packer->process) {
		packer->process = getpid();
		packer->has_thread = reel_os_processors() > 1 &&
				     !reel_os_thread_start(&packer->thread, work, run, "reel-pack");
	}
	may_wait = packer->has_thread && !find_waiting(packer);
	pthread_mutex_unlock(&packer->lock);
	return may_wait;
}

int reel_packer_store(reel_run *run, const reel_action *store, void *context, const void *state)
{
	struct reel_packer *packer = run->packer;
	bool waits = may_wait(run);
	struct space *space = take_space(run, waits || copies(run));

	if (!space)
		return reel_fail(-ENOMEM, "no memory to pack a state");
	space->store = *store;
	if (waits || copies(run)) {
		int error = reel_run_save_state(run, context, state, space->state);

		if (error) {
			give_space(packer, space);
			return error;
		}
		state = space->state;
	}
	pthread_mutex_lock(&packer->lock);
	if (waits) {
		space->use = WAITS;
		pthread_cond_signal(&packer->work);
	} else {
		pack_unlocked(run, space, state);
	}
	pthread_mutex_unlock(&packer->lock);
	return 0;
}

/* ---- Waiting ---- */

/* Returns memory whose snapshot goes to the slot, or to any; or NULL. Requires `packer->lock`. */
static struct space *on_its_way(const struct reel_packer *packer, const reel_action *action)
{
	struct space *space = packer->spaces;

	while (space && (space->use < WAITS ||
			 (action && (space->store.tier != action->tier ||
				     space->store.slot != action->slot))))
		space = space->next;
	return space;
}

void reel_packer_finish(reel_run *run, const reel_action *action)
{
	REEL_UNCANCELLED;
	struct reel_packer *packer = run->packer;
	struct space *space;

	if (!packer)
		return;
	pthread_mutex_lock(&packer->lock);
	while ((space = on_its_way(packer, action)))
		if (space->use == WAITS)
			pack_unlocked(run, space, space->state);
		else
			pthread_cond_wait(&packer->packed, &packer->lock);
	pthread_mutex_unlock(&packer->lock);
}

int reel_packer_error(reel_run *run, reel_action *failed)
{
	struct reel_packer *packer = run->packer;
	int error;

	if (!packer)
		return 0;
	pthread_mutex_lock(&packer->lock);
	error = packer->error;
	*failed = packer->failed;
	pthread_mutex_unlock(&packer->lock);
	return error;
}

/* ---- Loading ---- */

int reel_packer_load(reel_run *run, void *context, void *state, const void *packed, size_t bytes)
{
	struct space *space;
	int error;

	if (!copies(run))
		return reel_loss_unpack(run, state, packed, bytes);
	space = take_space(run, true);
	if (!space)
		return reel_fail(-ENOMEM, "no memory to unpack a state");
	error = reel_loss_unpack(run, space->state, packed, bytes);
	if (!error)
		error = reel_run_load_state(run, context, state, space->state);
	give_space(run->packer, space);
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
	reel_packer_finish(run, NULL);
	packer->error = 0;
	for (struct space *space = packer->spaces; space; space = space->next)
		space->use = FREE;
	/* Relaxed, both: no other thread stores states now. */
	atomic_store_explicit(&run->rounded_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&run->kept_bytes, 0, memory_order_relaxed);
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
	reel_packer_finish(run, NULL);
	if (packer->has_thread)
		end_thread(packer);
	while (packer->spaces) {
		struct space *space = packer->spaces;

		packer->spaces = space->next;
		free(space->state);
		free(space);
	}
	pthread_cond_destroy(&packer->packed);
	pthread_cond_destroy(&packer->work);
	pthread_mutex_destroy(&packer->lock);
	free(packer);
	run->packer = NULL;
}
