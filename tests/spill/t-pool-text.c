/* SPDX-License-Identifier: MIT */
/* Tests options of a pool in texts; t-environment has the same texts in the environment. */
#include <config.h>

#include <errno.h>

#include <reel/plan.h>

#include "helpers/pool-support.h"
#include "os/memory-limit.h"
#include "spill/pool/pool-text.h"

static const struct {
	const char *budget, *store, *directory;
	uint64_t hard_budget;
	bool stores;
	const char *shared;
} right[] = {
	{"4M", NULL, NULL, (uint64_t)4 << 20, false, ""},
	{"2.5M", NULL, NULL, (uint64_t)5 << 19, false, ""},
	{"8191T", NULL, NULL, (uint64_t)8191 << 40, false, ""},
	{"16M", "memory=64M", NULL, (uint64_t)16 << 20, true, ""},
	{"16M", "memory=64M", "none", (uint64_t)16 << 20, true, ""},
	{"16M", NULL, ".", (uint64_t)16 << 20, true, ""},
	{"16M", "file", ".", (uint64_t)16 << 20, true, ""},
	{"shared:t-pool-text:16M", NULL, NULL, (uint64_t)16 << 20, false, "t-pool-text"},
	{"shared:t-pool-text:16M", "memory=64M", NULL, (uint64_t)16 << 20, true, "t-pool-text"},
};

static void texts_set_the_options(void)
{
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		struct reel_pool_options options = {0};
		reel_pool *pool;
		int error;

		if (right[i].hard_budget > SIZE_MAX / 2)
			continue;
		error = reel_pool_options_from_text(&options, right[i].budget, right[i].store,
						    right[i].directory);
		ok(!error && options.hard_budget == right[i].hard_budget,
		   "\"%s\" is %zu bytes", right[i].budget, options.hard_budget);
		is_string(options.shared_budget, right[i].shared,
			  "processes share it if the text says so");
		ok(!options.store != right[i].stores &&
			   !(options.flags & REEL_POOL_OBEY_LIMITS) != right[i].stores,
		   "a store obeys the limits of the system");
		ok(!reel_pool_open(&pool, &options) && !reel_pool_close(pool), "a pool opens");
	}
}

static void shares_are_of_what_the_system_allows(void)
{
	struct reel_pool_options options = {0};
	struct reel_memory_limit limit;

	reel_memory_limit(&limit, "");
	reel_pool_options_from_text(&options, "7%", NULL, NULL);
	is_int(options.hard_budget, (size_t)(limit.bytes / 100 * 7), "7%% of the limit");
	reel_pool_options_from_text(&options, "auto", NULL, NULL);
	is_int(options.hard_budget, (size_t)(limit.bytes / 100 * 50), "auto is half of it");
	reel_pool_options_from_text(&options, "shared:7%", NULL, NULL);
	ok(options.hard_budget == limit.node_bytes / 100 * 7 &&
		   !strcmp(options.shared_budget, "node"),
	   "of a shared budget, 7%% of the limit of the node");
	reel_pool_options_from_text(&options, "shared:a-long-name:7%", NULL, NULL);
	reel_pool_options_from_text(&options, "shared:ab:7%", NULL, NULL);
	is_string(options.shared_budget, "ab", "a second text has another name");
	options = (struct reel_pool_options){0};
	reel_pool_options_from_text(&options, NULL, "memory=64M", NULL);
	is_int(options.hard_budget, (size_t)(limit.bytes / 100 * 50),
	       "and so is the budget beside a store that has none");
	reel_store_close(options.store);
}

static const struct {
	const char *budget, *store, *directory;
	int error;
	const char *said;
} wrong[] = {
	{"much", NULL, NULL, -EINVAL, "budget \"much\": it must be bytes"},
	{"1M", NULL, NULL, -EINVAL, "budget \"1M\": it must have room for one slab"},
	{"0", NULL, NULL, -EINVAL, "budget \"0\": it must have room for one slab"},
	{"", NULL, NULL, -EINVAL, "budget \"\": "},
	{"99999999T", NULL, NULL, -EINVAL, "more than can be addressed"},
	{"shared:", NULL, NULL, -EINVAL, "shared:NAME:"},
	{"shared::4M", NULL, NULL, -EINVAL, "shared:NAME:"},
	{"shared:a name:4M", NULL, NULL, -EINVAL, "letters, digits"},
	{"shared:../x:4M", NULL, NULL, -EINVAL, "letters, digits"},
	{"shared:sixteen-and-more:4M", NULL, NULL, -EINVAL, "at most 15"},
	{"16M", "tape", NULL, -EINVAL, "store \"tape\" is not understood"},
	{"16M", NULL, "none", -ENOENT, "none"},
};

static void a_wrong_text_is_named(void)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct reel_pool_options options = {.magazine_slabs = 3};
		int error = reel_pool_options_from_text(&options, wrong[i].budget, wrong[i].store,
							wrong[i].directory);

		is_int(error, wrong[i].error, "it is refused");
		ok(strstr(reel_error_text(error), wrong[i].said), "the text names it: %s",
		   reel_error_text(error));
		ok(!options.hard_budget && !options.store && !options.flags &&
			   !*options.shared_budget &&
			   options.magazine_slabs == 3,
		   "the options are as they were");
	}
}

static void smaller_slabs_allow_smaller_budgets(void)
{
	struct reel_pool_options options = {.slab_bytes = (size_t)64 << 10};

	is_int(reel_pool_options_from_text(&options, "1M", NULL, NULL), 0,
	       "a budget has room for one slab of its pool");
}

static void opens(const struct reel_pool_options *options, const char *name)
{
	reel_pool *pool;

	ok(!reel_pool_open(&pool, options) && !reel_pool_close(pool), "a pool opens %s", name);
}

static void a_bound_by_the_system_has_room_for_a_slab(void)
{
	struct reel_memory_limit little = {.bytes = (uint64_t)1 << 20, .is_of_group = true};
	struct reel_pool_options options = {.slab_bytes = (size_t)4 << 20};

	reel_pool_read_budget(&options, NULL, NULL, &little);
	is_int(options.hard_budget, options.slab_bytes, "one slab of 4 MiB in a small group");
	opens(&options, "there");
	options.hard_budget = 0;
	reel_pool_use_auto(&options, NULL, &little);
	is_int(options.hard_budget, options.slab_bytes, "auto is also one slab");
	opens(&options, "with it");
}

int main(void)
{
	tap_begin();
	texts_set_the_options();
	shares_are_of_what_the_system_allows();
	a_wrong_text_is_named();
	smaller_slabs_allow_smaller_budgets();
	a_bound_by_the_system_has_room_for_a_slab();
	return tap_end();
}
