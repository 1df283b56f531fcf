/* SPDX-License-Identifier: MIT */
/*
 * Large blocks: addresses are carved once from one range, and idle blocks wait on a list for each
 * class. Any thread runs these functions; the lists are lock-free and the counters atomic.
 *
 * A block is in use, on one list, or in the hands of one thread. `starts` has the entry of each
 * block that is in use, and only of those, so a block that is freed twice is found.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "os/assert.h"
#include "os/cancel.h"
#include "os/counter.h"
#include "classes.h"
#include "os/integer.h"
#include "pool/freelist.h"
#include "os/os.h"

#define DESCRIPTORS ((uint32_t)1 << 22)

/* Each block starts in a unit of its own. A unit is the smallest page size of all systems. */
#define UNIT_SHIFT 12

/*
 * If arrays that a loop reads together all start at the same offset in a page, they compete for the
 * same cache sets. Blocks therefore start at different offsets: multiples of 13 lines reach all 64
 * lines of a page.
 */
#define LINE ((size_t)64)
#define STAGGER (13 * LINE)
#define STAGGER_SPAN ((size_t)4096)

/*
 * A block keeps its class, so all classes together need more addresses than there is memory:
 * at most RESERVATIONS times the memory.
 */
#define RESERVATIONS 16
#define RESERVED_MOST (SIZE_MAX >> (sizeof(void *) > 4 ? 18 : 2))

struct blocks_range blocks_range = {.least = SIZE_MAX};

static struct freelist warm[CLASSES];
static struct freelist cold[CLASSES];

static struct reel_slab *table;
static _Atomic size_t table_used;
/*
 * For each unit of the range: 0, or 1 + the index in `table` of the block that starts there, and
 * above it the line of the unit in which it starts.
 */
static _Atomic uint32_t *starts;

static size_t page;
static size_t budget;
static size_t ceiling;

/* Relaxed is enough for all accesses to these counters: they guard no memory. */
static _Atomic size_t carved;
static _Atomic size_t idle;
static _Atomic size_t resident;
static _Atomic uint64_t peak;
static _Atomic uint64_t served;
static _Atomic uint64_t recycled;
static _Atomic uint64_t given_back;

/* The frame has one page more than the class, for the different offsets (STAGGER). */
static size_t frame_bytes(const struct reel_slab *block)
{
	return reel_round_up(block->bytes, page) + page;
}

static bool reserve(size_t bytes)
{
	size_t table_bytes = DESCRIPTORS * sizeof *table;
	size_t before = reel_round_up(table_bytes + (bytes >> UNIT_SHIFT) * sizeof *starts,
				      REEL_HUGE_PAGE);
	char *memory = reel_os_map(before + bytes, REEL_HUGE_PAGE);

	if (!memory)
		return false;
	table = (void *)memory;
	starts = (void *)(memory + table_bytes);
	blocks_range.start = memory + before;
	return true;
}

void blocks_open(const struct blocks_settings *settings)
{
	size_t bytes = RESERVED_MOST;

	page = reel_os_page_bytes();
	if (settings->memory < bytes / RESERVATIONS)
		bytes = settings->memory * RESERVATIONS;
	bytes &= ~(REEL_HUGE_PAGE - 1);
	if (!bytes || !reserve(bytes))
		return;
	for (unsigned class = 0; class < CLASSES; class++) {
		freelist_init(&warm[class], table);
		freelist_init(&cold[class], table);
	}
	budget = settings->budget;
	/* A quarter of the memory is for the rest of the program and for other processes. */
	ceiling = settings->memory - settings->memory / 4;
	blocks_range.most = budget < bytes ? budget : bytes;
	/*
	 * Release: pair with the acquires in blocks_own() and blocks_serve() (blocks.h). Make the
	 * range, the lists and the limits visible.
	 */
	atomic_store_explicit(&blocks_range.bytes, bytes, memory_order_release);
	atomic_store_explicit(&blocks_range.least, settings->least, memory_order_release);
}

static _Noreturn void stop(const char *message)
{
	REEL_UNCANCELLED;
	ssize_t written = write(STDERR_FILENO, message, strlen(message));

	(void)written;
	abort();
}

static _Atomic uint32_t *start_entry(const void *address)
{
	return &starts[(size_t)((const char *)address - blocks_range.start) >> UNIT_SHIFT];
}

/*
 * Sets the entry of a block when the block is handed out, and clears it when the block is given
 * back. Relaxed is enough here and in blocks_usable(): a thread that has got the address by
 * synchronization also sees all writes before the block was handed out.
 */
static uint32_t exchange_start(const void *address, uint32_t entry)
{
	return atomic_exchange_explicit(start_entry(address), entry, memory_order_relaxed);
}

#define LINE_SHIFT 23
_Static_assert(DESCRIPTORS < (uint32_t)1 << LINE_SHIFT, "an entry has room for a line");
_Static_assert(((uint32_t)1 << UNIT_SHIFT) / LINE <= (uint32_t)1 << (32 - LINE_SHIFT),
	       "and for each line of a unit");

static uint32_t line_of(const void *start)
{
	return (uint32_t)((uintptr_t)start % ((uintptr_t)1 << UNIT_SHIFT) / LINE);
}

static uint32_t entry_of(const struct reel_slab *block, const void *start)
{
	return line_of(start) << LINE_SHIFT | ((uint32_t)(block - table) + 1);
}

static struct reel_slab *block_of(uint32_t entry, const void *start)
{
	if (!entry || entry >> LINE_SHIFT != line_of(start) || (uintptr_t)start % LINE)
		stop("reel: freed or resized: no block, a pointer into one, or one freed before\n");
	return &table[(entry & (((uint32_t)1 << LINE_SHIFT) - 1)) - 1];
}

/* Gives the memory of an idle block back to the system. The block must be on no list. */
static bool drop(struct reel_slab *block)
{
	size_t bytes = frame_bytes(block);

	if (!reel_os_drop(block->frame, bytes))
		return false;
	atomic_fetch_sub_explicit(&resident, bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&given_back, bytes, memory_order_relaxed);
	freelist_push(&cold[class_of(block->bytes)], block);
	return true;
}

static bool drop_largest(void)
{
	for (unsigned class = CLASSES; class-- > 0;) {
		struct reel_slab *block = freelist_pop(&warm[class]);

		if (!block)
			continue;
		if (!drop(block)) {
			freelist_push(&warm[class], block);
			return false;
		}
		atomic_fetch_sub_explicit(&idle, frame_bytes(block), memory_order_relaxed);
		return true;
	}
	return false;
}

/* Counts the memory of a cold block, and drops idle blocks of other classes above the ceiling. */
static void charge(size_t bytes)
{
	size_t now;

	atomic_fetch_add_explicit(&resident, bytes, memory_order_relaxed);
	do
		now = atomic_load_explicit(&resident, memory_order_relaxed);
	while (now > ceiling && drop_largest());
	reel_counter_raise(&peak, now);
}

/*
 * Asks for huge pages for used addresses only, because the kernel searches all that are asked for.
 */
static char *carve(size_t bytes)
{
	size_t range = atomic_load_explicit(&blocks_range.bytes, memory_order_relaxed);
	size_t at, first;

	if (!reel_counter_claim(&carved, bytes, range, &at))
		return NULL;
	REEL_ASSERT(at % page == 0 && at + bytes <= range);
	first = at & ~(REEL_HUGE_PAGE - 1);
	reel_os_want_huge_pages(blocks_range.start + first,
				reel_round_up(at + bytes, REEL_HUGE_PAGE) - first);
	return blocks_range.start + at;
}

static struct reel_slab *new_descriptor(void)
{
	size_t place;

	return reel_counter_claim(&table_used, 1, DESCRIPTORS, &place) ? &table[place] : NULL;
}

static struct reel_slab *fresh(unsigned class)
{
	struct reel_slab *block = new_descriptor();

	if (!block)
		return NULL;
	block->bytes = class_bytes(class);
	block->frame = carve(frame_bytes(block));
	return block->frame ? block : NULL;
}

static struct reel_slab *take(unsigned class, bool *zero)
{
	struct reel_slab *block = freelist_pop(&warm[class]);

	*zero = !block;
	if (block) {
		REEL_ASSERT(block->bytes == class_bytes(class));
		atomic_fetch_sub_explicit(&idle, frame_bytes(block), memory_order_relaxed);
		atomic_fetch_add_explicit(&recycled, 1, memory_order_relaxed);
		return block;
	}
	block = freelist_pop(&cold[class]);
	if (!block)
		block = fresh(class);
	if (block)
		charge(frame_bytes(block));
	return block;
}

static char *place(const struct reel_slab *block, size_t alignment)
{
	size_t number = (size_t)(block - table);

	if (alignment <= LINE)
		return block->frame + number * STAGGER % STAGGER_SPAN;
	return block->frame + (-(uintptr_t)block->frame & (alignment - 1));
}

void *blocks_take(size_t bytes, size_t alignment, bool *zero)
{
	size_t excess = alignment > page ? alignment - page : 0;
	struct reel_slab *block;
	char *start;

	if (excess > blocks_range.most)
		return NULL;
	block = take(class_of(bytes + excess), zero);
	if (!block)
		return NULL;
	atomic_fetch_add_explicit(&served, 1, memory_order_relaxed);
	start = place(block, alignment);
	REEL_ASSERT((size_t)(start - block->frame) + bytes <= frame_bytes(block));
	if (exchange_start(start, entry_of(block, start)))
		stop("reel: a block was handed out twice\n");
	return start;
}

void blocks_give(void *start)
{
	struct reel_slab *block = block_of(exchange_start(start, 0), start);
	size_t bytes = frame_bytes(block);
	size_t now;

	REEL_ASSERT((size_t)((char *)start - block->frame) < bytes);
	now = atomic_fetch_add_explicit(&idle, bytes, memory_order_relaxed) + bytes;
	if (now <= budget || !drop(block))
		freelist_push(&warm[class_of(block->bytes)], block);
	else
		atomic_fetch_sub_explicit(&idle, bytes, memory_order_relaxed);
}

size_t blocks_usable(const void *start)
{
	uint32_t entry = atomic_load_explicit(start_entry(start), memory_order_relaxed);
	const struct reel_slab *block = block_of(entry, start);

	return (size_t)(block->frame + frame_bytes(block) - (const char *)start);
}

void blocks_get_counts(struct blocks_counts *counts)
{
	counts->served = atomic_load_explicit(&served, memory_order_relaxed);
	counts->recycled = atomic_load_explicit(&recycled, memory_order_relaxed);
	counts->peak_bytes = atomic_load_explicit(&peak, memory_order_relaxed);
	counts->given_back = atomic_load_explicit(&given_back, memory_order_relaxed);
}
