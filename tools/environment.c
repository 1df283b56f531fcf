/* SPDX-License-Identifier: MIT */
/*
 * The facts of "reel info" about Reel's environment variables, about the limits of the system, and
 * about the default pool and the spill files, which the library opens with them.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <reel/extend.h>
#include <reel/pool.h>

#include "info.h"
#include "os/environment.h"
#include "os/memory-limit.h"
#include "os/memory-pressure.h"
#include "verb.h"

static const char *const variables[] = {
	"REEL_BUDGET",
	"REEL_CHECKED",
	"REEL_END_AFTER",
	"REEL_END_SIGNAL",
	"REEL_MALLOC",
	"REEL_MPI_WATCH",
	"REEL_PAGES",
	"REEL_PLAN",
	"REEL_PROFILE",
	"REEL_PROGRESS",
	"REEL_SAVE_SIGNAL",
	"REEL_SLAB",
	"REEL_SPILL_DIR",
	"REEL_STATS",
	"REEL_STORE",
	"REEL_TRACE",
	"REEL_VERIFY",
};

static void add_variables(struct facts *facts)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		if (value)
			facts_add_text(facts, variables[i], value);
	}
}

/* A budget of UINT64_MAX means "no bound", and is not reported as a number of bytes. */
static void add_budget(struct facts *facts, const struct reel_pool_stats *stats)
{
	bool bounded = stats->hard_budget != UINT64_MAX;

	facts_add_flag(facts, "default_pool_bounded", bounded);
	if (!bounded)
		return;
	facts_add_bytes(facts, "default_pool_hard_budget_bytes", (long long)stats->hard_budget);
	facts_add_bytes(facts, "default_pool_soft_budget_bytes", (long long)stats->soft_budget);
}

/* Where the system tells of memory pressure, which lowers the soft budget of pools with a store. */
static void add_pressure(struct facts *facts)
{
	struct reel_memory_pressure pressure;

	reel_memory_pressure_open(&pressure, "");
	facts_add_text(facts, "memory_pressure_source",
		       pressure.source[0] ? pressure.source : NULL);
	reel_memory_pressure_close(&pressure);
}

/* The limit of which REEL_BUDGET=auto and percentages take a part. */
static void add_limit(struct facts *facts, const struct reel_memory_limit *limit)
{
	facts_add_bytes(facts, "memory_limit_bytes",
			limit->bytes <= LLONG_MAX ? (long long)limit->bytes : UNKNOWN);
	facts_add_text(facts, "memory_limit_source", limit->source[0] ? limit->source : NULL);
}

/* Says in a sentence how much tape there is room for, since the other facts do not add that up. */
static void add_verdict(struct facts *facts, uint64_t bytes)
{
	bool has_store = reel_environment("REEL_SPILL_DIR") || reel_environment("REEL_STORE");
	char text[256];

	snprintf(text, sizeof text,
		 "tapes may have %llu MiB of memory, minus the memory of the program; %s",
		 (unsigned long long)(bytes >> 20),
		 has_store ? "tape beyond that goes to the store"
			   : "to keep more, set REEL_SPILL_DIR to a directory on a disk");
	facts_add_text(facts, "verdict", text);
}

static void add_default_pool(struct facts *facts, const struct reel_memory_limit *limit)
{
	reel_pool *pool = open_quiet_pool();
	struct reel_pool_stats stats;

	facts_add_flag(facts, "default_pool_open", pool != NULL);
	if (!pool)
		return;
	reel_pool_get_stats(pool, &stats);
	add_budget(facts, &stats);
	facts_add_bytes(facts, "default_pool_slab_bytes", (long long)stats.slab_bytes);
	facts_add_bytes(facts, "default_pool_first_slab_bytes", (long long)stats.first_slab_bytes);
	add_verdict(facts, stats.hard_budget < limit->bytes ? stats.hard_budget : limit->bytes);
}

/* Alignment of a file that is read and written past the page cache. The page cache takes less. */
#define DIRECT_ALIGN 4096

/* How files in the directory of the environment are read and written. */
static void add_spill_files(struct facts *facts)
{
	struct reel_store_capacity capacity;
	const char *text = "by threads, past the page cache (O_DIRECT)";
	reel_store *store;

	if (reel_store_file_open(&store, NULL)) {
		facts_add_text(facts, "spill_file_problem", reel_error_text(0));
		return;
	}
	reel_store_get_capacity(store, &capacity);
	if (capacity.align < DIRECT_ALIGN)
		text = "by threads, through the page cache: files there refuse O_DIRECT";
	facts_add_text(facts, "spill_file_access", text);
	reel_store_close(store);
}

void add_environment_facts(struct facts *facts)
{
	struct reel_memory_limit limit;

	reel_memory_limit(&limit, "");
	add_variables(facts);
	add_limit(facts, &limit);
	add_pressure(facts);
	add_default_pool(facts, &limit);
	if (reel_environment("REEL_SPILL_DIR"))
		add_spill_files(facts);
}
