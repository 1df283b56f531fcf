/* SPDX-License-Identifier: MIT */
/* The budget and the store of a pool from texts, of the environment or of options. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/plan.h>

#include "os/error.h"
#include "os/integer.h"
#include "pool-text.h"
#include "pool/pool.h"
#include "store/store.h"

/* "60%" */
static bool is_percentage(const char *text, unsigned *percent)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*percent = (unsigned)number;
	return *text >= '0' && *text <= '9' && !strcmp(end, "%") && number > 0 && number <= 100;
}

/* The name of a shared budget that a text does not name. */
#define NODE "node"

/*
 * "shared:4G", "shared:NAME:4G". Returns the rest, or the text itself if it is another one. The
 * processes of a node share it, so a share of the limit is not divided by its ranks.
 */
static const char *parse_shared(struct reel_pool_options *options, const char *text,
				struct reel_memory_limit *limit)
{
	const char *rest = text + strlen("shared:"), *end;

	if (strncmp(text, "shared:", strlen("shared:")))
		return text;
	end = strchr(rest, ':');
	if (end && (end == rest || (size_t)(end - rest) >= sizeof options->shared_budget))
		return "";
	snprintf(options->shared_budget, sizeof options->shared_budget, "%.*s",
		 end ? (int)(end - rest) : (int)strlen(NODE), end ? rest : NODE);
	limit->bytes = limit->node_bytes;
	return end ? end + 1 : rest;
}

static int parse_budget(const char *text, const struct reel_memory_limit *limit, size_t *budget)
{
	unsigned percent = REEL_AUTO_PERCENT;

	if (strcmp(text, "auto") && !is_percentage(text, &percent))
		return reel_parse_bytes(text, budget);
	*budget = reel_memory_share(limit, percent);
	return 0;
}

uint64_t reel_pool_max_budget(const char *store, const struct reel_memory_limit *limit)
{
	uint64_t share = limit->bytes / 100 * REEL_MAX_PERCENT;

	if (limit->bytes == UINT64_MAX)
		return UINT64_MAX;
	return share - reel_min_u64(share, store ? reel_store_memory_bytes(store) : 0);
}

static bool has_slab(const struct reel_pool_options *options)
{
	return options->hard_budget >= reel_pool_slab_bytes(options);
}

void reel_pool_use_auto(struct reel_pool_options *options, const char *store,
			const struct reel_memory_limit *limit)
{
	memset(options->shared_budget, 0, sizeof options->shared_budget);
	options->hard_budget = (size_t)reel_min_u64(reel_memory_share(limit, REEL_AUTO_PERCENT),
						    reel_pool_max_budget(store, limit));
	if (limit->bytes == UINT64_MAX || has_slab(options))
		return;
	/* A store that leaves no budget is refused. Without a store, 0 would be no bound. */
	options->hard_budget = store ? 0 : reel_pool_slab_bytes(options);
}

/*
 * Without a budget and a store, tapes may have nine tenths of the memory that the process leaves of
 * its control group's limit when the pool is opened, and one slab at least. A push is then refused,
 * with a message, where the process would be killed.
 */
static void bound_by_group(struct reel_pool_options *options, const struct reel_memory_limit *limit)
{
	uint64_t left = limit->bytes - reel_min_u64(reel_memory_resident(), limit->bytes);

	if (!limit->is_of_group)
		return;
	options->hard_budget = (size_t)reel_min_u64(left / 10 * 9, SIZE_MAX / 2);
	/* 0 would be no bound. */
	if (!has_slab(options))
		options->hard_budget = reel_pool_slab_bytes(options);
}

const char *reel_pool_read_budget(struct reel_pool_options *options, const char *text,
				  const char *store, struct reel_memory_limit *limit)
{
	const char *number = text ? parse_shared(options, text, limit) : NULL;
	int error = number ? parse_budget(number, limit, &options->hard_budget) : 0;

	if (error == -ERANGE || (!error && options->hard_budget > PTRDIFF_MAX))
		return "it is more than can be addressed";
	if (error)
		return "it must be bytes, a number with K, M, G or T, a percentage or auto, and "
		       "before it shared: or shared:NAME: with a name of at most 15 characters";
	if (reel_share_name_problem(options->shared_budget))
		return reel_share_name_problem(options->shared_budget);
	if (!text && !store)
		bound_by_group(options, limit);
	else if (!text)
		reel_pool_use_auto(options, store, limit);
	/* 0, which as an option is no bound, is no share of a limit that is known. */
	else if (!has_slab(options) && (options->hard_budget || limit->bytes != UINT64_MAX))
		return "it must have room for one slab (2 MiB unless slab_bytes or REEL_SLAB says "
		       "else)";
	return NULL;
}

int reel_pool_options_from_text(struct reel_pool_options *options, const char *budget,
				const char *store, const char *directory)
{
	struct reel_pool_options complete = *options;
	struct reel_memory_limit limit;
	const char *problem;
	int error;

	if (directory && !store)
		store = "file";
	reel_memory_limit(&limit, "");
	problem = reel_pool_read_budget(&complete, budget, store, &limit);
	if (problem)
		return reel_fail(-EINVAL, "budget \"%s\": %s", budget, problem);
	if (store) {
		error = reel_store_open(&complete.store, store, directory);
		if (error)
			return error;
		complete.flags |= REEL_POOL_OBEY_LIMITS;
	}
	*options = complete;
	return 0;
}
