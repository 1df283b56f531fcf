/* SPDX-License-Identifier: MIT */
/*
 * The default pool of programs that do not open a pool. Its first use opens it, with options from
 * REEL_BUDGET, REEL_SLAB, REEL_PAGES, REEL_CHECKED, REEL_STORE and REEL_SPILL_DIR, and from the
 * limits that the system sets to this process. It stays open until the process ends. Any thread.
 * The variables are read once; `options` does not change afterwards.
 *
 * In the child of a fork, the store of the parent's default pool cannot be used. The first use in
 * the child therefore opens a default pool of the child's own, with a store of its own. The pool of
 * the parent serves the tapes that have slabs there. The same holds for a budget that processes
 * share. A default pool without either stays the child's default pool.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "os/environment.h"
#include "os/error.h"
#include "default-pool.h"
#include "pool-text.h"
#include "pool/pool.h"
#include "store/store.h"

/* A pool has at most 2^20 slabs. */
#define MIN_SLAB ((size_t)64 << 10)

/* Result of the registration of the handlers of fork(): 0, or an error number. */
static int registration;
/* `opening` guards the variables down to the default pool. */
static bool environment_is_read;
static struct reel_pool_options options;
/* If one of these is set, the default pool has a store. */
static const char *spill_directory;
static const char *store_description;
static _Atomic(struct reel_pool *) default_pool;
/* Held by a thread that opens the default pool, so that one thread opens the store, and no two. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
/*
 * This thread holds `opening`. The handlers of fork() then leave the lock alone, since a device's
 * driver may fork while this thread opens the store.
 */
static _Thread_local bool is_opening;

static const char *store_variable(void)
{
	return store_description ? "REEL_STORE" : "REEL_SPILL_DIR";
}

static const char *store_value(void)
{
	return store_description ? store_description : spill_directory;
}

/* Returns the description of the store, or NULL if there is none. */
static const char *store_text(void)
{
	return store_description || !spill_directory ? store_description : "file";
}

/* A process that exceeds the system's limit is killed, and loses its tapes with all else. */
static const char *limit_problem(const struct reel_memory_limit *limit)
{
	static char above[sizeof limit->source + 160];

	if (options.hard_budget <= reel_pool_max_budget(store_text(), limit))
		return NULL;
	snprintf(above, sizeof above,
		 "%s allows %" PRIu64 " bytes, of which REEL_STORE keeps %" PRIu64
		 " and the program needs some",
		 limit->source, limit->bytes,
		 store_text() ? reel_store_memory_bytes(store_text()) : 0);
	return above;
}

static void read_budget(void)
{
	const char *text = reel_environment("REEL_BUDGET"), *problem;
	struct reel_memory_limit of_rank, limit;
	char message[768];

	reel_memory_limit(&of_rank, "");
	limit = of_rank;
	problem = reel_pool_read_budget(&options, text, store_text(), &limit);
	if (text && !problem)
		problem = limit_problem(&limit);
	if (!problem)
		return;
	/* This rank has a budget of its own then, also if the text was about a shared one. */
	reel_pool_use_auto(&options, store_text(), &of_rank);
	snprintf(message, sizeof message, "%s; auto is used now, %zu bytes", problem,
		 options.hard_budget);
	reel_environment_refuse("REEL_BUDGET", text, message);
}

/*
 * Before the budget, which has room for one slab. Every store takes slabs of the default size at
 * once, and a codec takes no larger ones.
 */
static void read_slab(void)
{
	const char *text = reel_environment("REEL_SLAB");
	size_t bytes;

	if (!text)
		return;
	if (reel_parse_bytes(text, &bytes) || bytes < MIN_SLAB || bytes % MIN_SLAB ||
	    bytes > reel_pool_slab_bytes(&options))
		reel_environment_refuse("REEL_SLAB", text,
					"it must be bytes, a multiple of 64K of at most 2M");
	else
		options.slab_bytes = bytes;
}

static void read_flag(const char *name, const char *unset, const char *set, unsigned flag)
{
	const char *text = reel_environment(name);
	char message[64];

	if (!text || !strcmp(text, unset))
		return;
	snprintf(message, sizeof message, "it must be %s or %s", unset, set);
	if (!strcmp(text, set))
		options.flags |= flag;
	else
		reel_environment_refuse(name, text, message);
}

static void read_pages(void)
{
	const char *text = reel_environment("REEL_PAGES");

	if (text && !strcmp(text, "huge"))
		options.flags |= REEL_POOL_HUGE_PAGES;
	else
		read_flag("REEL_PAGES", "huge", "small", REEL_POOL_SMALL_PAGES);
}

/* ---- Forks ---- */

static void before_fork(void)
{
	if (!is_opening)
		pthread_mutex_lock(&opening);
}

static void after_fork_in_parent(void)
{
	if (!is_opening)
		pthread_mutex_unlock(&opening);
}

/* Relaxed is enough: the child has one thread, and pthread_create() orders the threads to come. */
static void after_fork_in_child(void)
{
	struct reel_pool *pool = atomic_load_explicit(&default_pool, memory_order_relaxed);

	if (pool && (reel_pool_has_store(pool) || *options.shared_budget)) {
		pool->flags |= REEL_POOL_LEFT_BEHIND;
		atomic_store_explicit(&default_pool, NULL, memory_order_relaxed);
	}
	after_fork_in_parent();
}

/*
 * Runs when the library is loaded: a fork in the middle of a registration would make the child
 * register the handlers once more. A fork runs the handlers registered last first, so it locks
 * `opening` before the list of pools, in the order in which a thread that opens the default pool
 * locks them.
 */
__attribute__((constructor)) static void register_handlers(void)
{
	registration = -reel_fork_prepare();
	if (!registration)
		registration = pthread_atfork(before_fork, after_fork_in_parent,
					      after_fork_in_child);
}

/* ---- Opening ---- */

static void read_environment(void)
{
	spill_directory = reel_environment("REEL_SPILL_DIR");
	store_description = reel_environment("REEL_STORE");
	read_slab();
	read_budget();
	read_pages();
	read_flag("REEL_CHECKED", "0", "1", REEL_POOL_CHECKED);
	if (store_value())
		options.flags |= REEL_POOL_OBEY_LIMITS;
	/* The limit of this system is not known, or has no room for a slab. */
	if (options.hard_budget || !store_value())
		return;
	reel_environment_refuse(
		store_variable(), store_value(),
		reel_store_memory_bytes(store_text())
			? "its memory exceeds the limit of the system; "
			  "nothing is stored now"
			: "a store needs a budget: also set REEL_BUDGET; nothing is "
			  "stored now");
	spill_directory = store_description = NULL;
}

/*
 * If the store cannot be opened, neither is the pool: without its store the program would run until
 * the budget is used up, and fail there.
 */
static int open_store(reel_store **store)
{
	int error;

	*store = NULL;
	if (!store_value())
		return 0;
	REEL_ASSERT(options.hard_budget > 0);
	/* With NULL reel_store_open() uses REEL_SPILL_DIR, and names this variable in its text. */
	error = reel_store_open(store, store_description, NULL);
	if (!error)
		return 0;
	return reel_fail(-ENXIO, "%s=%s is refused, and with it the default pool: %s",
			 store_variable(), store_value(), reel_error_text(error));
}

static int open_pool_and_store(struct reel_pool **pool)
{
	struct reel_pool_options complete = options;
	int error = open_store(&complete.store);

	*pool = NULL;
	if (error)
		return error;
	REEL_ASSERT(!reel_pool_problem(&options));
	error = reel_pool_open(pool, &complete);
	if (error)
		reel_store_close(complete.store);
	return error;
}

/* Requires `opening`. */
static int open_default_pool(struct reel_pool **opened)
{
	int error;

	/* Relaxed: `opening` orders this load after the store of the thread that was first. */
	*opened = atomic_load_explicit(&default_pool, memory_order_relaxed);
	if (*opened)
		return 0;
	if (!environment_is_read)
		read_environment();
	environment_is_read = true;
	error = registration ? reel_fail(-ENOMEM, "no memory for the handlers of fork()")
			     : open_pool_and_store(opened);
	if (error)
		return error;
	(*opened)->flags |= REEL_POOL_PERMANENT;
	/* Release: pairs with the acquire in reel_pool_open_default(). Makes the pool visible. */
	atomic_store_explicit(&default_pool, *opened, memory_order_release);
	return 0;
}

static int open_once(struct reel_pool **opened)
{
	REEL_UNCANCELLED;
	int error;

	pthread_mutex_lock(&opening);
	is_opening = true;
	error = open_default_pool(opened);
	is_opening = false;
	pthread_mutex_unlock(&opening);
	return error;
}

/* If the pool cannot be opened, the next use tries again. */
int reel_pool_open_default(reel_pool **pool)
{
	/* Acquire: pairs with the release in open_default_pool(). Makes the pool visible. */
	*pool = atomic_load_explicit(&default_pool, memory_order_acquire);
	REEL_ASSERT(!*pool || (*pool)->flags & REEL_POOL_PERMANENT);
	return *pool ? 0 : open_once(pool);
}

reel_pool *reel_pool_default(void)
{
	reel_pool *pool;

	return reel_pool_open_default(&pool) ? NULL : pool;
}
