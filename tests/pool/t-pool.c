/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <reel/parcel.h>

#include "os/annotate.h"
#include "os/os.h"
#include "pool/page-kind.h"
#include "helpers/pool-support.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

static const struct {
	const char *what;
	struct reel_pool_options options;
	/* Name of the option that is out of range. */
	const char *refused;
} judged[] = {
	{"no option", {0}, NULL},
	{"the smallest slab", {.slab_bytes = 64}, NULL},
	{"a slab below the smallest", {.slab_bytes = 32}, "slab_bytes"},
	{"a slab that is no multiple of 64", {.slab_bytes = 4096 + 32}, "slab_bytes"},
	{"the largest slab", {.slab_bytes = GIB}, NULL},
	{"a slab above the largest", {.slab_bytes = GIB + 64}, "slab_bytes"},
	{"a first slab that divides", {.slab_bytes = 192, .first_slab_bytes = 64}, NULL},
	{"1024 first slabs", {.slab_bytes = 64 * KIB, .first_slab_bytes = 64}, NULL},
	{"more than 1024 first slabs",
	 {.slab_bytes = 1025 * 64, .first_slab_bytes = 64}, "first_slab_bytes"},
	{"a first slab that is the slab", {.slab_bytes = 192, .first_slab_bytes = 192}, NULL},
	{"a first slab that does not divide",
	 {.slab_bytes = 192, .first_slab_bytes = 128}, "first_slab_bytes"},
	{"a first slab that is no multiple of 64",
	 {.slab_bytes = 192, .first_slab_bytes = 96}, "first_slab_bytes"},
	{"a first slab above the slab",
	 {.slab_bytes = 192, .first_slab_bytes = 384}, "first_slab_bytes"},
	{"a budget of one slab", {.hard_budget = 4096, .slab_bytes = 4096}, NULL},
	{"a budget below one slab", {.hard_budget = 4095, .slab_bytes = 4096}, "hard_budget"},
	{"a budget of one slab by default", {.hard_budget = 2 * MIB}, NULL},
	{"a budget below the default slab", {.hard_budget = 2 * MIB - 1}, "hard_budget"},
	{"a budget of all addresses", {.hard_budget = SIZE_MAX}, NULL},
	{"a negative budget", {.hard_budget = (size_t)-4096}, "hard_budget"},
	{"a soft budget that is the hard one",
	 {.hard_budget = 4 * MIB, .soft_budget = 4 * MIB}, NULL},
	{"a soft budget above the hard one",
	 {.hard_budget = 4 * MIB, .soft_budget = 4 * MIB + 1}, "soft_budget"},
	{"a soft budget alone", {.soft_budget = 1}, NULL},
	{"the smallest magazine", {.magazine_slabs = 1}, NULL},
	{"the largest magazine", {.magazine_slabs = 16}, NULL},
	{"a magazine above the largest", {.magazine_slabs = 17}, "magazine_slabs"},
	{"every flag", {.flags = REEL_POOL_CHECKED | REEL_POOL_SMALL_PAGES |
				 REEL_POOL_OBEY_LIMITS}, NULL},
	{"huge pages", {.flags = REEL_POOL_HUGE_PAGES}, NULL},
	{"huge and small pages",
	 {.flags = REEL_POOL_HUGE_PAGES | REEL_POOL_SMALL_PAGES}, "flags"},
	{"an unknown flag", {.flags = 16}, "flags"},
	{"an option to come", {.reserved = {1}}, "reserved"},
	{"a shared budget without a number", {.shared_budget = "t-pool"}, "shared_budget"},
	{"a name that does not end", {.hard_budget = 1 << 22, .shared_budget = "sixteen-letters-"},
	 "shared_budget"},
	{"a name with a slash", {.hard_budget = 1 << 22, .shared_budget = "./x"},
	 "shared_budget"},
};

static bool opens(const struct reel_pool_options *options)
{
	reel_pool *pool = NULL;

	return reel_pool_open(&pool, options) == 0 && reel_pool_close(pool) == 0;
}

static bool is_refused(const struct reel_pool_options *options, const char *name)
{
	reel_pool *unchanged = (reel_pool *)(void *)&unchanged;
	reel_pool *pool = unchanged;

	return reel_pool_open(&pool, options) == -EINVAL && pool == unchanged &&
	       strncmp(reel_error_text(-EINVAL), name, strlen(name)) == 0;
}

static void options_are_judged(void)
{
	for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
		if (judged[i].refused)
			ok(is_refused(&judged[i].options, judged[i].refused),
			   "%s: %s is refused and named", judged[i].what, judged[i].refused);
		else
			ok(opens(&judged[i].options), "%s: a pool opens and closes",
			   judged[i].what);
	ok(opens(NULL), "no options at all are the defaults");
}

static void no_more_is_mapped_than_there_are_addresses(void)
{
	ok(!reel_os_map(SIZE_MAX, 1), "the bytes of all addresses, rounded to pages");
	ok(!reel_os_map(SIZE_MAX - 2 * MIB, 4 * MIB),
	   "memory that does not fit when it is aligned is refused");
}

static void a_store_wants_a_budget_and_its_alignment(void)
{
	struct reel_pool_options options = {.slab_bytes = 192};
	reel_store *store;
	reel_pool *pool;

	reel_store_memory_open(&store, 192);
	options.store = store;
	ok(is_refused(&options, "a store needs a hard_budget"), "a store without a budget");
	options.hard_budget = 192 * 8;
	pool = open_pool(options);
	is_int(stats_of(pool).soft_budget, 192 * 6,
	       "a pool with a store keeps a quarter of its budget for what comes back");
	is_int(reel_pool_close(pool), 0, "the pool closes its store");
}

static void defaults_are_those_of_the_manual(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	struct reel_pool_stats stats = stats_of(pool);
	struct reel_pool_stats wanted = {
		.hard_budget = UINT64_MAX,
		.soft_budget = UINT64_MAX,
		.slab_bytes = 2 * MIB,
		.first_slab_bytes = 64 * KIB,
	};

	ok(memcmp(&stats, &wanted, sizeof stats) == 0,
	   "a new pool has no bounds, slabs of 2 MiB, first slabs of 64 KiB, and nothing else");
	reel_pool_close(pool);
}

static uint64_t first_slab_of(size_t slab_bytes)
{
	reel_pool *pool = open_pool((struct reel_pool_options){.slab_bytes = slab_bytes});
	uint64_t bytes = stats_of(pool).first_slab_bytes;

	reel_pool_close(pool);
	return bytes;
}

static void first_slabs_divide_slabs_by_default(void)
{
	is_int(first_slab_of(128 * KIB), 64 * KIB, "a slab of 128 KiB has first slabs of 64 KiB");
	is_int(first_slab_of(4 * KIB), 4 * KIB, "a slab below 64 KiB is its own first slab");
	is_int(first_slab_of(96 * KIB), 96 * KIB,
	       "a slab that 64 KiB does not divide is its own first slab");
	is_int(first_slab_of(64 * MIB), 64 * KIB, "a slab of 64 MiB has 1024 first slabs");
	is_int(first_slab_of(GIB), MIB, "a slab of 1 GiB has 1024 first slabs");
}

static unsigned magazine_of(struct reel_pool_options options)
{
	reel_pool *pool = open_pool(options);
	unsigned slabs = pool->magazine_slabs;

	reel_pool_close(pool);
	return slabs;
}

static unsigned magazine_beside_a_store(size_t hard_budget)
{
	struct reel_pool_options options = {.hard_budget = hard_budget};

	reel_store_memory_open(&options.store, GIB);
	return magazine_of(options);
}

static void magazines_are_small_under_a_tight_budget(void)
{
	is_int(magazine_of((struct reel_pool_options){0}), 16,
	       "a magazine has 16 slabs without a budget");
	is_int(magazine_of((struct reel_pool_options){.hard_budget = 512 * MIB}), 4,
	       "4 under a hard budget of 512 MiB");
	is_int(magazine_of((struct reel_pool_options){.hard_budget = 511 * MIB}), 3,
	       "3 under less");
	is_int(magazine_of((struct reel_pool_options){.soft_budget = 512 * MIB}), 4,
	       "a magazine has 4 slabs under a soft budget of 512 MiB");
	is_int(magazine_of((struct reel_pool_options){.hard_budget = 2 * MIB}), 1,
	       "one under a budget of one slab");
	is_int(magazine_of((struct reel_pool_options){.hard_budget = 2 * MIB,
						      .magazine_slabs = 7}),
	       7, "a magazine has as many slabs as asked for");
	is_int(magazine_beside_a_store(2 * GIB), 2, "2 first slabs of 32 in a slab beside a store");
	is_int(magazine_beside_a_store(160 * MIB), 0,
	       "a magazine has no slab beside a store under 160 MiB");
}

static void tapes_higher_than_the_cache_are_written_past_it(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	size_t cache = reel_os_cache_bytes(3);

	ok(pool->stream_above == (cache ? cache + cache / 2 : SIZE_MAX),
	   "the last cache and half as much, if it is known");
	reel_pool_close(pool);
}

static void a_pool_in_use_is_not_closed(void)
{
	reel_pool *pool = open_pool(small_options());
	uint64_t n = values_in(pool, 2);
	reel_tape tape;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, n);
	is_int(reel_pool_close(pool), -EBUSY, "a pool with slabs on a tape is busy");
	push_values(&tape, 1, n, n);
	ok(pop_values(&tape, 1, 0, 2 * n),
	   "the tape of a busy pool goes on as if nothing had been tried");
	reel_tape_close(&tape);
	is_int(reel_pool_close(pool), 0, "a pool closes after its tape");
}

static void no_pool_and_the_default_pool_are_not_closed(void)
{
	reel_pool *pool = reel_pool_default();

	is_int(reel_pool_close(NULL), 0, "closing no pool is no error");
	is_pointer(reel_pool_default(), pool, "the default pool is always the same");
	is_int(reel_pool_close(pool), -EPERM, "the default pool cannot be closed");
}

static void pools_end_with_the_thread_keys(void)
{
	static reel_pool *pool[2 * PTHREAD_KEYS_MAX + 1];
	int error = 0;
	unsigned n = 0;
	size_t before;

	for (; n < 2 * PTHREAD_KEYS_MAX && !error; n++)
		error = reel_pool_open(&pool[n], NULL);
	is_int(error, -ENOMEM, "a pool without a thread key does not open");
	before = address_space();
	for (int i = 0; i < 4; i++)
		error = reel_pool_open(&pool[n], NULL);
	ok(address_space() < before + reel_supply_table_bytes(),
	   "a pool that does not open leaves nothing mapped");
	for (unsigned i = 0; i + 1 < n; i++)
		error = reel_pool_close(pool[i]) ? 0 : error;
	is_int(error, -ENOMEM, "the pools before it close");
	ok(opens(NULL), "the next pool opens");
}

/* Takes six slabs: four first slabs of one frame, and two whole slabs. */
static void counters_are_exact(void)
{
	reel_pool *pool = open_pool(small_options());
	uint64_t n = values_in(pool, 2);
	reel_tape tape;
	struct reel_pool_stats stats;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, n);
	stats = stats_of(pool);
	is_int(stats.takes, 6, "takes are counted");
	is_int(stats.slabs_in_use, 6, "slabs in use are counted");
	is_int(stats.slabs, 6, "slabs that exist");
	is_int(stats.fresh_slabs, 6, "slabs carved");
	is_int(stats.shared_takes, 4, "takes past the magazines: a pair of first slabs at once");
	is_int(stats.resident_bytes, 3 * small_slab(), "bytes, by the frame");
	pop_values(&tape, 1, 0, n);
	reel_tape_close(&tape);
	stats = stats_of(pool);
	is_int(stats.slabs_in_use, 0, "nothing is in use at the end");
	is_int(stats.takes, 6, "giving back is no take");
	is_int(stats.resident_bytes, 3 * small_slab(), "what is idle stays resident");
	is_int(stats.peak_resident_bytes, 3 * small_slab(), "the peak is what was used");
	is_int(stats.refused + stats.trimmed_bytes + stats.lost_slabs, 0,
	       "nothing was refused, trimmed or lost");
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

/* Uses small slabs, whole slabs and a large slab, and writes to all of them. */
static void gradient(reel_pool *pool, uint64_t n)
{
	reel_tape tape;

	reel_tape_open(&tape, pool, 0);
	push_values(&tape, 1, 0, n);
	memset(reel_push_span(&tape, char, 3 * MIB), 1, 3 * MIB);
	reel_pop_span(&tape, char, 3 * MIB);
	pop_values(&tape, 1, 0, n);
	reel_tape_close(&tape);
}

static long page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* A sanitizer may have page faults itself, so the best of some gradients counts. */
static long fewest_page_faults(reel_pool *pool, uint64_t n)
{
	long fewest = LONG_MAX;

	for (int i = 0; i < 5; i++) {
		long before = page_faults();

		gradient(pool, n);
		if (page_faults() - before < fewest)
			fewest = page_faults() - before;
	}
	return fewest;
}

static void a_warm_gradient_takes_no_new_memory(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	uint64_t n = values_in(pool, 2);
	uint64_t fresh;

	gradient(pool, n);
	fresh = stats_of(pool).fresh_slabs;
	is_int(fewest_page_faults(pool, n), 0, "a warm gradient takes no page fault");
	is_int(stats_of(pool).fresh_slabs, fresh, "a warm gradient carves no slab");
	reel_pool_close(pool);
}

#define MANY 40

/* Forty slabs fill both magazines of two slabs, and the shared list. */
static void the_slab_given_last_is_taken_first(enum reel_slab_kind kind, const char *name)
{
	reel_pool *pool = open_pool(small_options());
	struct reel_slab *given[MANY], *taken[MANY];
	bool reversed = true;

	for (int i = 0; i < MANY; i++)
		reel_pool_take(pool, kind, small_slab(), &given[i]);
	for (int i = 0; i < MANY; i++)
		reel_pool_give(pool, given[i]);
	for (int i = MANY; i-- > 0;) {
		reel_pool_take(pool, kind, small_slab(), &taken[i]);
		reversed &= taken[i] == given[i];
	}
	ok(reversed, "the %s slab given last is taken first", name);
	for (int i = 0; i < MANY; i++)
		reel_pool_give(pool, taken[i]);
	reel_pool_close(pool);
}

/* A magazine has three slabs, and a frame four. */
static void fresh_slabs_ascend(void)
{
	struct reel_pool_options options = small_options();
	struct reel_slab *slab[MANY];
	bool ascend = true;
	reel_pool *pool;

	options.magazine_slabs = 3;
	pool = open_pool(options);
	for (int i = 0; i < MANY; i++) {
		reel_pool_take(pool, REEL_SLAB_FIRST, 0, &slab[i]);
		ascend &= i == 0 || slab[i]->frame == slab[i - 1]->frame + slab[i - 1]->bytes;
	}
	ok(ascend, "fresh slabs are one ascending stream");
	for (int i = 0; i < MANY; i++)
		reel_pool_give(pool, slab[i]);
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

/* Returns true if the flags of the mapping at this address have the flag " hg" or " nh". */
static bool has_flag(const char *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	bool here = false, wanted = false;
	char line[512];

	while (file && !wanted && fgets(line, sizeof line, file)) {
		uintptr_t start, end;

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
			here = start <= (uintptr_t)address && (uintptr_t)address < end;
		wanted = here && strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag);
	}
	if (file)
		fclose(file);
	return wanted;
}

/* Returns true if the kernel was asked for huge pages at this address. */
static bool huge_pages_wanted(const char *address)
{
	return has_flag(address, " hg");
}

/* Returns true if the kernel reports such requests. An emulator may not. */
#if REEL_HUGE_PAGES && defined(MADV_HUGEPAGE)
static bool huge_pages_are_told(void)
{
	void *memory = reel_os_map(2 * MIB, 2 * MIB);
	bool told;

	madvise(memory, 2 * MIB, MADV_HUGEPAGE);
	told = huge_pages_wanted(memory);
	reel_os_unmap(memory, 2 * MIB);
	return told;
}
#else
static bool huge_pages_are_told(void)
{
	return false;
}
#endif

static bool asks_for_huge_pages(struct reel_pool_options options, enum reel_slab_kind kind)
{
	reel_pool *pool = open_pool(options);
	struct reel_slab *slab;
	bool asks;

	reel_pool_take(pool, kind, 3 * MIB, &slab);
	asks = huge_pages_wanted(slab->frame) && (uintptr_t)slab->frame % (2 * MIB) == 0;
	reel_pool_give(pool, slab);
	reel_pool_close(pool);
	return asks;
}

static void memory_is_in_huge_pages(void)
{
	struct reel_pool_options small = {.flags = REEL_POOL_SMALL_PAGES};
	struct reel_pool_options large = {.hard_budget = 64 * MIB,
					  .flags = REEL_POOL_HUGE_PAGES};

	if (!huge_pages_are_told()) {
		tap_skip(4, "no huge pages here, or none that are told of");
		return;
	}
	ok(asks_for_huge_pages(large, REEL_SLAB_WHOLE), "a slab is a huge page");
	ok(asks_for_huge_pages(large, REEL_SLAB_LARGE), "a giant has huge pages");
	ok(!asks_for_huge_pages(small, REEL_SLAB_WHOLE), "a slab has not if it is not to");
	ok(!asks_for_huge_pages(small, REEL_SLAB_LARGE),
	   "a giant has no huge pages if it is not to");
}

/* Returns the number of resident pages in a slab, from a page on. */
static size_t resident_pages(const struct reel_slab *slab, size_t from)
{
	size_t page = reel_os_page_bytes(), n = slab->bytes / page, resident = 0;
	unsigned char *states = calloc(n, 1);

	mincore(slab->frame, slab->bytes, (void *)states);
	for (size_t i = from; i < n; i++)
		resident += states[i] & 1;
	free(states);
	return resident;
}

/* From here on the costs say that pages of this kind are the cheaper ones. */
static void make_cheaper(enum reel_page_kind kind)
{
	for (int i = 0; i < 16; i++) {
		reel_page_kind_note(&reel_page_costs, REEL_PAGES_HUGE,
				    kind == REEL_PAGES_HUGE ? 0 : 1000000);
		reel_page_kind_note(&reel_page_costs, REEL_PAGES_SMALL,
				    kind == REEL_PAGES_SMALL ? 0 : 1000000);
	}
	reel_page_costs.blocks = 0;
}

/* The first block of a frame is timed. A spike may move the choice after it. */
static void pages_are_chosen_by_their_costs(void)
{
	static const struct {
		enum reel_page_kind kind;
		const char *flag;
	} kinds[] = {{REEL_PAGES_SMALL, " nh"}, {REEL_PAGES_HUGE, " hg"}};
	size_t block = 2 * MIB / reel_os_page_bytes();

	if (!huge_pages_are_told() || !reel_os_has_huge_pages()) {
		tap_skip(8, "no huge pages here, or none that are told of");
		return;
	}
	for (int i = 0; i < 2; i++) {
		reel_pool *pool = open_pool((struct reel_pool_options){.hard_budget = 64 * MIB});
		struct reel_slab *whole, *large;

		make_cheaper(kinds[i].kind);
		reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &whole);
		ok(has_flag(whole->frame, kinds[i].flag), "a slab has the cheaper pages");
		is_int(resident_pages(whole, 0), block, "and is resident");
		make_cheaper(kinds[i].kind);
		reel_pool_take(pool, REEL_SLAB_LARGE, 16 * MIB, &large);
		ok(has_flag(large->frame, kinds[i].flag), "a giant begins with them");
		is_int(resident_pages(large, 4 * block), 0, "the rest is left to those who fill it");
		reel_pool_give(pool, whole);
		reel_pool_give(pool, large);
		reel_pool_close(pool);
	}
}

/* Frames of a store go from slab to slab. */
static void pages_of_a_pool_with_a_store_are_huge(void)
{
	struct reel_pool_options options = {.hard_budget = 64 * MIB};
	struct reel_slab *slab;
	reel_pool *pool;

	make_cheaper(REEL_PAGES_SMALL);
	reel_store_memory_open(&options.store, 0);
	pool = open_pool(options);
	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab);
	is_int(resident_pages(slab, 0), 0, "the frame of a pool with a store is not touched");
	if (huge_pages_are_told())
		ok(huge_pages_wanted(slab->frame), "and has huge pages");
	else
		tap_skip(1, "no huge pages here, or none that are told of");
	reel_pool_give(pool, slab);
	reel_pool_close(pool);
}

/* Takes a large slab of `pages` pages and gives it back. Returns its size. */
static uint64_t use_giant(reel_pool *pool, size_t pages)
{
	struct reel_slab *slab;
	uint64_t bytes;

	reel_pool_take(pool, REEL_SLAB_LARGE, pages * small_slab(), &slab);
	bytes = slab->bytes;
	reel_pool_give(pool, slab);
	return bytes / small_slab();
}

static void giants_are_recycled(void)
{
	reel_pool *pool = open_pool(small_options());

	use_giant(pool, 9);
	is_int(use_giant(pool, 9), 9, "a giant serves again");
	is_int(use_giant(pool, 8), 9, "a giant serves where one that is little smaller would do");
	is_int(stats_of(pool).fresh_slabs, 1, "the smaller giant takes no fresh slab");
	is_int(use_giant(pool, 7), 7,
	       "a giant does not serve where more than an eighth would be wasted");
	is_int(use_giant(pool, 12), 12, "a larger one takes its place");
	is_int(stats_of(pool).resident_bytes, 12 * small_slab(), "smaller giants are unmapped");
	is_int(stats_of(pool).trimmed_bytes, 16 * small_slab(), "unmapped giants count as trimmed");
	ok(pool_is_whole(pool), "the pool is whole");
	is_int(stats_of(pool).slabs, 1, "one descriptor served all");
	reel_pool_close(pool);
}

static void giants_of_several_sizes_are_recycled(void)
{
	reel_pool *pool = open_pool(small_options());
	struct reel_slab *slab[3];

	for (unsigned order = 0; order < 6; order++) {
		for (unsigned n = 0; n < 3; n++)
			reel_pool_take(pool, REEL_SLAB_LARGE, (9 + 11 * n) * small_slab(),
				       &slab[n]);
		for (unsigned n = 0; n < 3; n++)
			reel_pool_give(pool, slab[(order + n * (order % 2 + 1)) % 3]);
	}
	is_int(stats_of(pool).fresh_slabs, 3, "giants of three sizes serve again in any order");
	ok(pool_is_whole(pool), "the pool is whole");
	reel_pool_close(pool);
}

static void giants_are_whole_pages(void)
{
	reel_pool *pool = open_pool(small_options());
	struct reel_slab *slab;

	reel_pool_take(pool, REEL_SLAB_LARGE, 3 * small_slab() + 1, &slab);
	is_int(slab->bytes, 4 * small_slab(), "a giant is rounded up to a page");
	is_int(stats_of(pool).resident_bytes, 4 * small_slab(),
	       "a giant is charged what it is rounded up to");
	memset(slab->frame, 1, slab->bytes);
	reel_pool_give(pool, slab);
	reel_pool_close(pool);
}

/* The spare of the tape has the size of the span. */
static void a_span_of_a_whole_slab_comes_and_goes_without_the_pool(void)
{
	reel_pool *pool = open_pool(small_options());
	reel_tape tape = open_tape(pool, 0);
	size_t bytes = small_slab();
	uint64_t takes = 0;

	for (unsigned i = 0; i < 3; i++) {
		reel_push(&tape, (uint64_t)i);
		fill(reel_push_span(&tape, char, bytes), bytes, i);
		takes = i ? takes : stats_of(pool).takes;
		ok(is_filled(reel_pop_span(&tape, char, bytes), bytes, i), "a span comes back");
		is_int(reel_pop(&tape, uint64_t), i, "the value below a span comes back");
	}
	is_int(stats_of(pool).takes, takes, "no other slab was taken for it");
	reel_tape_close(&tape);
	close_pool_at_rest(pool, "a span of a whole slab");
}

/* Leaves the pool a few descriptors, as if all others were in use. */
static void descriptors_run_out(void)
{
	reel_pool *pool = open_pool(small_options());
	uint32_t all = (uint32_t)(reel_supply_table_bytes() / sizeof(struct reel_slab));
	struct reel_slab *slab[3];

	is_int(all, (uint32_t)1 << (sizeof(void *) > 4 ? 20 : 16), "a pool has so many descriptors");
	atomic_store(&pool->table_used, all - 2);
	is_int(reel_pool_take(pool, REEL_SLAB_FIRST, 0, &slab[0]), -ENOMEM,
	       "a frame that cannot be cut up for want of descriptors is refused");
	reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab[0]);
	is_int(reel_pool_take(pool, REEL_SLAB_LARGE, 1, &slab[1]), 0, "the last descriptor serves");
	is_int(reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slab[2]), -ENOMEM,
	       "there is no descriptor for another slab");
	is_int(reel_pool_take(pool, REEL_SLAB_LARGE, 1, &slab[2]), -ENOMEM,
	       "there is no descriptor for another giant");
	is_int(stats_of(pool).resident_bytes, 2 * small_slab(), "refused slabs are not charged");
	is_int(stats_of(pool).refused, 0, "a want of memory is no refusal by the budget");
	reel_pool_give(pool, slab[0]);
	reel_pool_give(pool, slab[1]);
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

static void the_list_has_a_name(void)
{
	is_string(reel_pool_implementation(), REEL_POOL_CK ? "ck" : "c11",
		  "the library names its list");
}

/* ---- Many tapes ---- */

#define TAPES 1000
#define WORDS 40

/* Returns the error of the tape that was refused first, or 0. */
static int push_to_all(reel_tape *tapes, unsigned n)
{
	int error = 0;

	for (unsigned i = 0; i < n; i++) {
		push_words(&tapes[i], i, i + WORDS);
		error = error ? error : reel_tape_error(&tapes[i]);
	}
	return error;
}

static unsigned wrong_on_all(reel_tape *tapes, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!reel_tape_error(&tapes[i]))
			wrong += wrong_words(&tapes[i], i, i + WORDS) != 0;
		reel_tape_close(&tapes[i]);
	}
	return wrong;
}

static void many_short_tapes_take_little(void)
{
	reel_pool *pool = open_pool((struct reel_pool_options){0});
	static reel_tape tapes[TAPES];

	for (unsigned i = 0; i < TAPES; i++)
		reel_tape_open(&tapes[i], pool, 0);
	is_int(push_to_all(tapes, TAPES), 0, "%d tapes of %d values", TAPES, WORDS);
	ok(stats_of(pool).resident_bytes <= TAPES * 4 * KIB + 2 * MIB,
	   "each tape takes a page: %g MiB",
	   (double)stats_of(pool).resident_bytes / MIB);
	is_int(wrong_on_all(tapes, TAPES), 0, "the values of all tapes come back");
	ok(pool_is_whole(pool), "the pool is whole");
	is_int(reel_pool_close(pool), 0, "the pool of all tapes closes");
}

static void too_many_short_tapes_are_named(void)
{
	struct reel_pool_options options = {.hard_budget = 2 * MIB + 2 * MIB};
	static reel_tape tapes[2 * TAPES];
	reel_pool *pool;

	if (reel_store_open(&options.store, "memory=16M", NULL))
		abort();
	pool = open_pool(options);
	for (unsigned i = 0; i < 2 * TAPES; i++)
		reel_tape_open(&tapes[i], pool, 0);
	record_reports();
	is_int(push_to_all(tapes, 2 * TAPES), -EDQUOT, "%d tapes do not fit in 4 MiB", 2 * TAPES);
	reel_set_error_handler(NULL, NULL);
	ok(strstr(reported.message, "first slabs of tapes and large spans in use have"),
	   "the report tells why: %s", reported.message);
	is_int(wrong_on_all(tapes, 2 * TAPES), 0, "the values that fit come back");
	is_int(reel_pool_close(pool), 0, "the pool of the refused tapes closes");
}

/* ---- Mappings ---- */

static size_t count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	size_t lines = 0;
	int c;

	while (file && (c = getc(file)) != EOF)
		lines += c == '\n';
	if (file)
		fclose(file);
	return lines;
}

#define LARGE 2000

static void large_slabs_share_mappings(void)
{
	reel_pool *pool = open_pool(small_options());
	reel_tape tape = open_tape(pool, 0);
	size_t before = count_mappings(), bytes = 2 * small_slab();
	unsigned right = 0;

	for (int i = 0; i < LARGE; i++)
		memset(reel_push_span(&tape, char, bytes), i, bytes);
	if (before)
		ok(count_mappings() < before + LARGE / 10,
		   "%d large slabs add %zu mappings, since neighbours merge", LARGE,
		   count_mappings() - before);
	else
		tap_skip(1, "the mappings of a process are not told here");
	for (int i = LARGE; i-- > 0;)
		right += *reel_pop_span(&tape, char, bytes) == (char)i;
	is_int(right, LARGE, "each keeps what is its own");
	reel_tape_close(&tape);
	is_int(reel_pool_close(pool), 0, "the pool closes");
}

/* Protects every second page, so that no two mappings merge. */
static bool use_mappings_up(char *range, size_t pages)
{
	size_t page = reel_os_page_bytes();

	for (size_t i = 0; i < pages; i += 2)
		if (mprotect(range + i * page, page, PROT_NONE))
			break;
	/* The kernel allows one more mapping that merges with a neighbour; these do not merge. */
	for (int i = 0; i < 64; i++)
		if (mmap(NULL, page, i % 2 ? PROT_NONE : PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
			return true;
	return false;
}

/* Twice the number of mappings that Linux allows by default; every second page is one. */
#define MAX_MAPPINGS 140000

/* Some tools need mappings themselves, and end the program if they get none. */
static bool runs_in_a_tool(void)
{
#if defined(REEL_ADDRESS_SANITIZER) || defined(REEL_THREAD_SANITIZER)
	return true;
#else
	const char *preloaded = getenv("LD_PRELOAD");

	return is_emulated() || (preloaded && strstr(preloaded, "vgpreload"));
#endif
}

static void the_limit_of_mappings_is_named(void)
{
	size_t bytes = MAX_MAPPINGS * reel_os_page_bytes();
	char *range = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	reel_pool *pool = open_pool(small_options());
	reel_tape tape = open_tape(pool, 0);
	reel_parcel *parcel;
	bool used_up;
	void *data;
	int error = 0;

	ok(!*reel_os_mappings_remedy(), "a process has mappings left");
	record_reports();
	used_up = range != MAP_FAILED && !runs_in_a_tool() && use_mappings_up(range, MAX_MAPPINGS);
	if (used_up) {
		reel_push_span(&tape, char, 2 * small_slab());
		error = reel_parcel_open(&parcel, pool, 2 * small_slab(), NULL, &data);
	}
	if (range != MAP_FAILED)
		munmap(range, bytes);
	if (used_up) {
		is_int(reel_tape_error(&tape), -ENOMEM, "a push is refused without mappings");
		ok(strstr(reported.message, "vm.max_map_count"),
		   "the report names the mappings: %s",
		   reported.message);
		is_int(error, -ENOMEM, "a parcel is refused without mappings");
		ok(strstr(reel_error_text(error), "vm.max_map_count"),
		   "the parcel's error names the mappings");
	} else {
		tap_skip(4, "a tool, or a limit above %d mappings", MAX_MAPPINGS);
	}
	reel_set_error_handler(NULL, NULL);
	reel_tape_close(&tape);
	reel_pool_close(pool);
}

int main(void)
{
	tap_begin();
	options_are_judged();
	no_more_is_mapped_than_there_are_addresses();
	a_store_wants_a_budget_and_its_alignment();
	defaults_are_those_of_the_manual();
	first_slabs_divide_slabs_by_default();
	magazines_are_small_under_a_tight_budget();
	tapes_higher_than_the_cache_are_written_past_it();
	a_pool_in_use_is_not_closed();
	no_pool_and_the_default_pool_are_not_closed();
	pools_end_with_the_thread_keys();
	counters_are_exact();
	a_warm_gradient_takes_no_new_memory();
	the_slab_given_last_is_taken_first(REEL_SLAB_FIRST, "first");
	the_slab_given_last_is_taken_first(REEL_SLAB_WHOLE, "whole");
	the_slab_given_last_is_taken_first(REEL_SLAB_LARGE, "giant");
	fresh_slabs_ascend();
	memory_is_in_huge_pages();
	pages_are_chosen_by_their_costs();
	pages_of_a_pool_with_a_store_are_huge();
	giants_are_recycled();
	giants_of_several_sizes_are_recycled();
	giants_are_whole_pages();
	a_span_of_a_whole_slab_comes_and_goes_without_the_pool();
	descriptors_run_out();
	the_list_has_a_name();
	many_short_tapes_take_little();
	too_many_short_tapes_are_named();
	large_slabs_share_mappings();
	the_limit_of_mappings_is_named();
	return tap_end();
}
