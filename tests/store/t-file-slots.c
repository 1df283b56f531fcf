/* SPDX-License-Identifier: MIT */
/*
 * Compares the slots of a file with a plain model, an array of the owners of all units. There is no
 * file: its room is a number. TEST_SEEDS=N runs N random sequences for each size of a slot.
 * Linked with --wrap=malloc.
 */
#include <config.h>

#include <errno.h>

#include "store/file-slots.h"
#include "helpers/support.h"

enum { BLOCK = 512, HELD = 400, MAX_UNITS = 3000, OPERATIONS = 2000, DEFAULT_SEEDS = 6 };

/* Owners of the units that no slot has. */
enum { FREE = HELD, RETIRED };

static struct reel_file_slots slots;

static struct {
	uint16_t owner[MAX_UNITS];
	uint64_t units; /* maximum number of units of the file */
	struct held {
		bool is_held;
		uint64_t number, bytes, units;
	} held[HELD];
	/* Retired parts, in the order in which they are tried again. */
	struct {
		uint64_t unit, units;
	} retired[MAX_UNITS];
	unsigned first_retired, last_retired;
	uint64_t used, retired_units;
} model;

static unsigned wrong, scattered, refused;

/* There is no memory for notes on parts of slots. */
static bool no_memory;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	return no_memory ? NULL : __real_malloc(bytes);
}

static void expect(bool condition, const char *what)
{
	if (!condition && !wrong++)
		tap_note("%s", what);
}

static void own(uint64_t unit, uint64_t units, uint16_t owner)
{
	for (uint64_t i = unit; i < unit + units; i++)
		model.owner[i] = owner;
}

static bool is_whole(uint64_t unit, uint64_t units, uint16_t owner)
{
	for (uint64_t i = unit; i < unit + units; i++)
		if (i >= model.units || model.owner[i] != owner)
			return false;
	return true;
}

static uint64_t lowest_range(uint64_t units)
{
	uint64_t length = 0;

	for (uint64_t unit = 0; unit < model.units; unit++) {
		length = model.owner[unit] == FREE ? length + 1 : 0;
		if (length == units)
			return unit + 1 - units;
	}
	return REEL_NO_RANGE;
}

static uint64_t free_units(void)
{
	return model.units - model.used - model.retired_units;
}

static void free_first_retired(void)
{
	unsigned first = model.first_retired++ % MAX_UNITS;

	own(model.retired[first].unit, model.retired[first].units, FREE);
	model.retired_units -= model.retired[first].units;
}

/*
 * Returns the range that the slots have to take, or REEL_NO_RANGE if they have to take several
 * parts.
 */
static uint64_t make_room(uint64_t units)
{
	while (lowest_range(units) == REEL_NO_RANGE && free_units() < units &&
	       model.first_retired < model.last_retired)
		free_first_retired();
	return lowest_range(units);
}

/* Checks that the parts have `units` units, which change their owner. */
static void expect_parts(const struct reel_file_part *part, uint64_t units, uint16_t from,
			 uint16_t to)
{
	uint64_t sum = 0;

	for (; part; part = part->next) {
		expect(part->units && is_whole(part->unit, part->units, from),
		       "a part is where nothing else is");
		if (wrong)
			return;
		own(part->unit, part->units, to);
		sum += part->units;
	}
	expect(sum == units, "the parts are as long as the slot");
}

static void expect_counts(void)
{
	expect(reel_file_slots_bytes(&slots, &slots.used) == model.used * slots.unit_bytes,
	       "used bytes are those of the slots");
	expect(reel_file_slots_bytes(&slots, &slots.retired) == model.retired_units * slots.unit_bytes,
	       "retired bytes are those of the slots that were retired");
	expect(reel_file_slots_bytes(&slots, &slots.count) <= model.units * slots.unit_bytes,
	       "the file is no larger than it may be");
}

/* Several parts are needed and cannot be noted, so none stays taken. */
static void expect_no_memory(uint64_t bytes)
{
	struct reel_file_part part;

	no_memory = true;
	expect(reel_file_slots_take(&slots, bytes, &part) == -ENOMEM, "parts take memory");
	no_memory = false;
	expect_counts();
}

static void take(uint16_t number, uint64_t bytes)
{
	struct held *held = &model.held[number];
	uint64_t units = (bytes + slots.unit_bytes - 1) / slots.unit_bytes;
	uint64_t range = make_room(units);
	struct reel_file_part part;
	int error;

	if (range == REEL_NO_RANGE && free_units() >= units)
		expect_no_memory(bytes);
	error = reel_file_slots_take(&slots, bytes, &part);
	refused += error != 0;
	expect(error == (free_units() < units ? -ENOSPC : 0), "a slot is refused for want of room");
	if (error)
		return;
	expect(range == REEL_NO_RANGE ? part.next != NULL : part.unit == range && !part.next,
	       "a slot is the lowest range, or has several parts");
	expect_parts(&part, units, FREE, number);
	*held = (struct held){true, part.unit, bytes, units};
	model.used += units;
	scattered += part.next != NULL;
}

static void find(uint16_t number)
{
	struct reel_file_part part;

	reel_file_slots_find(&slots, model.held[number].number, model.held[number].bytes, &part);
	expect_parts(&part, model.held[number].units, number, number);
}

/* Gives a slot back twice. The second call finds that it is not taken. */
static void give(uint16_t number)
{
	struct held *held = &model.held[number];

	for (uint64_t unit = 0; unit < model.units; unit++)
		if (model.owner[unit] == number)
			model.owner[unit] = FREE;
	reel_file_slots_give(&slots, held->number, held->bytes);
	reel_file_slots_give(&slots, held->number, held->bytes);
	held->is_held = false;
	model.used -= held->units;
}

static void note_retired(const struct held *held)
{
	struct reel_file_part part;

	reel_file_slots_find(&slots, held->number, held->bytes, &part);
	for (const struct reel_file_part *one = &part; one; one = one->next) {
		unsigned last = model.last_retired++ % MAX_UNITS;

		own(one->unit, one->units, RETIRED);
		model.retired[last].unit = one->unit;
		model.retired[last].units = one->units;
	}
	model.retired_units += held->units;
}

/* A slot of one part needs memory to be retired. Without memory it is freed. */
static void retire(uint16_t number, bool has_memory)
{
	struct held *held = &model.held[number];

	if (has_memory || !is_whole(held->number, held->units, number))
		note_retired(held);
	else
		own(held->number, held->units, FREE);
	no_memory = !has_memory;
	reel_file_slots_retire(&slots, held->number, held->bytes);
	no_memory = false;
	held->is_held = false;
	model.used -= held->units;
}

/* Returns a size: small, large or any, by the phase. A header has at least one block. */
static uint64_t some_bytes(uint64_t random, unsigned phase)
{
	uint64_t blocks = slots.slot_bytes / BLOCK;

	if (phase % 4 == 1)
		return slots.slot_bytes;
	if (phase % 4 == 2)
		blocks = blocks / 5 + 1;
	return (random % blocks + 1) * BLOCK - random % 2 * 100;
}

/* In some phases most operations take slots, in others most give them back. */
static void do_something(uint64_t seed, uint64_t n)
{
	unsigned phase = (unsigned)scramble(seed << 20 | n >> 7);
	uint64_t random = scramble(seed << 32 | n);
	uint16_t number = (uint16_t)(random % HELD);
	bool takes = (random >> 16 & 3) >= (phase >> 8 & 1 ? 1 : 3);

	if (!model.held[number].is_held && takes)
		take(number, some_bytes(random >> 20, phase));
	else if (model.held[number].is_held && random >> 58 == 0)
		retire(number, random >> 50 & 3);
	else if (model.held[number].is_held && !takes)
		give(number);
	else if (model.held[number].is_held)
		find(number);
}

/* Begins with a file that grows by a few units at a time. */
static void begin(uint64_t blocks, uint64_t units)
{
	memset(&model, 0, sizeof model);
	reel_file_slots_open(&slots, -1, NULL, blocks * BLOCK, BLOCK, UINT64_MAX);
	slots.allocates = false;
	slots.max_growth = 1 + units % 100;
	slots.most = model.units = units;
	own(0, units, FREE);
}

/* After all slots are given back, the whole file has room for the largest slots. */
static void end(void)
{
	for (uint16_t number = 0; number < HELD; number++)
		if (model.held[number].is_held)
			give(number);
	for (uint16_t number = 0; number < HELD && !wrong; number++)
		take(number, slots.slot_bytes);
	expect_counts();
	reel_file_slots_close(&slots);
}

static bool run_sequence(uint64_t blocks, uint64_t seed)
{
	uint64_t units = scramble(seed) % MAX_UNITS + 1;

	begin(blocks, units);
	for (uint64_t n = 0; n < OPERATIONS && !wrong; n++) {
		do_something(seed, n);
		expect_counts();
	}
	end();
	if (wrong)
		tap_note("slots of %llu blocks, seed %llu", (unsigned long long)blocks,
			 (unsigned long long)seed);
	return !wrong;
}

static void no_random_sequence_differs(uint64_t blocks)
{
	const char *text = getenv("TEST_SEEDS");
	uint64_t n = text ? strtoull(text, NULL, 10) : DEFAULT_SEEDS * (is_brief() ? 1 : 10);
	bool right = true;

	scattered = refused = 0;
	for (uint64_t seed = 0; seed < n && right; seed++)
		right = run_sequence(blocks, seed);
	ok(right, "slots of %llu blocks: %llu random sequences are as the model says, with %u slots in "
	   "parts and %u refused", (unsigned long long)blocks, (unsigned long long)n,
	   scattered, refused);
}

static void units_divide_the_largest_slot(void)
{
	unsigned uneven = 0, coarse = 0;

	for (uint64_t blocks = 1; blocks < 3000; blocks++) {
		reel_file_slots_open(&slots, -1, NULL, blocks * BLOCK, BLOCK, UINT64_MAX);
		uneven += slots.slot_bytes % slots.unit_bytes || slots.unit_bytes % BLOCK;
		coarse += slots.unit_bytes > BLOCK && slots.slot_bytes / slots.unit_bytes < 128;
		reel_file_slots_close(&slots);
	}
	is_int(uneven, 0, "the largest slot is whole units, a unit is whole blocks");
	is_int(coarse, 0, "a unit is at most a 128th part of the largest slot");
	reel_file_slots_open(&slots, -1, NULL, 513 * 4096, 4096, UINT64_MAX);
	is_int(slots.unit_bytes, 3 * 4096, "of 2 MiB and a header 171 units");
	reel_file_slots_close(&slots);
}

int main(void)
{
	static const uint64_t blocks[] = {1, 2, 5, 17, 63, 64, 65, 129, 257, 513};

	tap_begin();
	units_divide_the_largest_slot();
	for (unsigned i = 0; i < COUNT(blocks); i++)
		no_random_sequence_differs(blocks[i]);
	return tap_end();
}
