/* SPDX-License-Identifier: MIT */
/*
 * Long sequences of all operations of libreel-adstack, by all names, compared with a plain model:
 * the bytes of the stack, the height of each, and a word of up to 31 bits. A run either pops
 * what it pushed, in mirrored order, or takes bytes as values of any other type.
 *
 * TEST_SEEDS=N runs N sequences for each kind of pool. A failure prints the TEST_SEED=N that runs
 * its sequence alone. Both variables together run TEST_SEEDS sequences from TEST_SEED on.
 */
#include <config.h>

#include "helpers/adstack-support.h"
#include "helpers/late-store.h"

enum { OPERATIONS = 250, LARGEST = 3000, LEVELS = 6, DEFAULT_SEEDS = 60 };

enum family { VALUE, ARRAY, BITS };

/* Describes a push, for the pop that mirrors it. */
struct note {
	enum family family;
	unsigned type;
	int n;
};

struct model {
	unsigned char *bytes;
	/* The height of the stack at the end of each byte. */
	uint64_t *heights;
	size_t count;
	uint32_t bits;
	unsigned bit_count;
	struct note *notes;
	size_t notes_count;
	/* In a repeat level, pushes stand above this place. */
	uint64_t least;
};

struct run {
	uint64_t random;
	bool mirrored;
	bool checked;
	struct model now;
	struct model held[LEVELS];
	unsigned levels;
	struct model looked;
	bool looking;
	/* The line of the first check that failed, or 0. */
	int failed;
};

#define EXPECT(run, condition)                                                                     \
	do {                                                                                       \
		if (!(condition) && !(run)->failed)                                                \
			(run)->failed = __LINE__;                                                  \
	} while (0)

static uint64_t draw(struct run *run)
{
	return scramble(run->random++);
}

static unsigned below(struct run *run, unsigned bound)
{
	return (unsigned)(draw(run) % bound);
}

/* ---- The model ---- */

static struct model copy_of(const struct model *model)
{
	struct model copy = *model;

	copy.bytes = malloc(model->count + 1);
	copy.heights = malloc((model->count + 1) * sizeof *copy.heights);
	copy.notes = malloc((model->notes_count + 1) * sizeof *copy.notes);
	for (size_t i = 0; i < model->count; i++) {
		copy.bytes[i] = model->bytes[i];
		copy.heights[i] = model->heights[i];
	}
	for (size_t i = 0; i < model->notes_count; i++)
		copy.notes[i] = model->notes[i];
	return copy;
}

static void drop(struct model *model)
{
	free(model->bytes);
	free(model->heights);
	free(model->notes);
	memset(model, 0, sizeof *model);
}

static uint64_t height(const struct model *model)
{
	return model->count ? model->heights[model->count - 1] : 0;
}

static void model_push(struct model *model, const void *source, size_t n)
{
	uint64_t base = height(model);

	if (base < model->least)
		base = model->least;
	model->bytes = realloc(model->bytes, model->count + n + 1);
	model->heights = realloc(model->heights, (model->count + n + 1) * sizeof *model->heights);
	memcpy(model->bytes + model->count, source, n);
	for (size_t i = 0; i < n; i++)
		model->heights[model->count + i] = base + i + 1;
	model->count += n;
}

/* Takes the topmost bytes off. Returns whether they are those at `seen`. */
static bool model_pop(struct model *model, const void *seen, size_t n)
{
	model->count -= n;
	return n == 0 || memcmp(model->bytes + model->count, seen, n) == 0;
}

static void model_push_bit(struct model *model, unsigned bit)
{
	model->bits |= (uint32_t)(bit & 1) << model->bit_count;
	if (++model->bit_count < 32)
		return;
	model_push(model, &model->bits, sizeof model->bits);
	model->bits = 0;
	model->bit_count = 0;
}

static unsigned model_pop_bit(struct model *model)
{
	unsigned bit;

	if (model->bit_count == 0) {
		model->count -= sizeof model->bits;
		memcpy(&model->bits, model->bytes + model->count, sizeof model->bits);
		model->bit_count = 32;
	}
	bit = model->bits >> --model->bit_count & 1;
	model->bits &= ~((uint32_t)1 << model->bit_count);
	return bit;
}

static unsigned model_pop_bits(struct model *model, unsigned n)
{
	unsigned value = 0;

	while (n--)
		value = value << 1 | model_pop_bit(model);
	return value;
}

/* ---- Operations ---- */

static void end_look(struct run *run)
{
	if (run->looking)
		drop(&run->looked);
	run->looking = false;
}

static size_t bytes_of(const struct note *note)
{
	if (note->family == VALUE)
		return values[note->type].bytes;
	return note->n > 0 ? (size_t)note->n * arrays[note->type].element : 0;
}

static struct note any_note(struct run *run)
{
	struct note note = {.family = below(run, 3), .n = 1};

	if (note.family == VALUE)
		note.type = below(run, COUNT(values));
	else if (note.family == BITS)
		note.type = below(run, COUNT(controls));
	else
		note.type = below(run, COUNT(arrays));
	if (note.family == ARRAY) {
		unsigned most = below(run, 8) ? 20 : LARGEST;

		note.n = (int)below(run, most / (unsigned)arrays[note.type].element + 2) - 1;
	}
	return note;
}

static void remember(struct run *run, struct note note)
{
	struct model *model = &run->now;

	model->notes = realloc(model->notes, (model->notes_count + 1) * sizeof note);
	model->notes[model->notes_count++] = note;
}

static void push_bits(struct run *run, const struct bit_functions *control)
{
	unsigned value = below(run, 1u << control->bits);

	control->push[below(run, FORMS)]((int)value);
	for (unsigned i = 0; i < control->bits; i++)
		model_push_bit(&run->now, value >> i);
}

static void push(struct run *run)
{
	static unsigned char source[LARGEST + 64];
	struct note note = any_note(run);
	unsigned form = below(run, FORMS);

	end_look(run);
	remember(run, note);
	if (note.family == BITS) {
		push_bits(run, &controls[note.type]);
		return;
	}
	fill(source, bytes_of(&note), draw(run));
	if (note.family == VALUE)
		values[note.type].push[form](source);
	else
		arrays[note.type].push[form](source, note.n);
	model_push(&run->now, source, bytes_of(&note));
}

/* Returns true if the model has enough values for such a pop. */
static bool serves(const struct model *model, const struct note *note)
{
	if (note->family != BITS)
		return bytes_of(note) <= model->count;
	return controls[note->type].bits <= model->bit_count || model->count >= sizeof model->bits;
}

static void take_bits(struct run *run, struct model *model, const struct bit_functions *control,
		      bool look)
{
	unsigned form = below(run, FORMS);
	int seen = look ? control->look[form]() : control->pop[form]();

	EXPECT(run, seen == (int)model_pop_bits(model, control->bits));
}

static void take(struct run *run, struct model *model, const struct note *note, bool look)
{
	static unsigned char target[LARGEST + 64];
	unsigned form = below(run, FORMS);

	if (note->family == BITS) {
		take_bits(run, model, &controls[note->type], look);
		return;
	}
	memset(target, 0x5a, bytes_of(note));
	if (note->family == VALUE)
		(look ? values[note->type].look : values[note->type].pop)[form](target);
	else
		(look ? arrays[note->type].look : arrays[note->type].pop)[form](target, note->n);
	EXPECT(run, model_pop(model, target, bytes_of(note)));
}

/* Chooses the next pop of a model: of the last push, or any that the model has enough for. */
static bool choose(struct run *run, struct model *model, struct note *note)
{
	if (!run->mirrored) {
		*note = any_note(run);
		return serves(model, note);
	}
	if (!model->notes_count)
		return false;
	*note = model->notes[--model->notes_count];
	return true;
}

static void pop(struct run *run)
{
	struct note note;

	if (!choose(run, &run->now, &note))
		return;
	end_look(run);
	take(run, &run->now, &note, false);
}

static void look(struct run *run)
{
	struct note note;

	if (!run->looking)
		run->looked = copy_of(&run->now);
	run->looking = true;
	if (choose(run, &run->looked, &note))
		take(run, &run->looked, &note, true);
}

static void reset_look(struct run *run)
{
	end_look(run);
	resetADLookStack();
}

static void start_repeat(struct run *run)
{
	struct model *model = &run->now;

	if (run->levels == LEVELS)
		return;
	end_look(run);
	adStack_startRepeat();
	run->held[run->levels++] = copy_of(model);
	if (height(model) > model->least)
		model->least = height(model);
	EXPECT(run, reel_adstack_repeat_level() == run->levels);
}

static void reset_repeat(struct run *run)
{
	uint64_t least;

	if (!run->levels)
		return;
	end_look(run);
	adStack_resetRepeat();
	drop(&run->now);
	run->now = copy_of(&run->held[run->levels - 1]);
	least = height(&run->now);
	if (least > run->now.least)
		run->now.least = least;
}

/* What is pushed from now on stands above what outer levels protect. */
static void end_repeat(struct run *run)
{
	if (!run->levels)
		return;
	end_look(run);
	adStack_endRepeat();
	run->now.least = run->held[--run->levels].least;
	drop(&run->held[run->levels]);
}

static void many(struct run *run, void (*operation)(struct run *run))
{
	for (unsigned i = below(run, 60); i > 0; i--)
		operation(run);
}

static void operate(struct run *run)
{
	static void (*const operations[])(struct run *run) = {
		start_repeat, reset_repeat, end_repeat, look, look, reset_look,
		pop, pop, pop, pop, push, push, push, push, push};
	unsigned which = below(run, 20);

	if (which < 2)
		many(run, push);
	else if (which < 4)
		many(run, pop);
	else if (which < 5 && below(run, 3) == 0)
		many(run, look);
	else
		operations[below(run, COUNT(operations))](run);
	/* Checked mode keeps notes of bits where the bits were pushed. */
	if (!run->looking && !run->checked)
		EXPECT(run, adStack_getCurrentStackSize() == height(&run->now));
}

static void empty(struct run *run)
{
	while (run->mirrored && run->now.notes_count && !run->failed)
		pop(run);
	if (!run->mirrored || run->failed)
		return;
	EXPECT(run, run->now.count == 0);
	EXPECT(run, adStack_getCurrentStackSize() == 0);
	EXPECT(run, reel_adstack_bit_count() == 0);
}

/* Returns the line of the first check that failed, or 0. */
static int failure_of(reel_pool *pool, bool checked, uint64_t seed)
{
	struct run run = {.random = seed << 32, .mirrored = checked || seed % 4 < 2,
			  .checked = checked};

	for (unsigned i = 0; i < OPERATIONS && !run.failed; i++)
		operate(&run);
	end_look(&run);
	if (seed % 2)
		while (run.levels && !run.failed)
			end_repeat(&run);
	empty(&run);
	while (run.levels)
		drop(&run.held[--run.levels]);
	drop(&run.now);
	reel_adstack_reset();
	EXPECT(&run, !pool || slabs_in_use(pool) == 0);
	return run.failed;
}

static const struct {
	const char *name;
	struct reel_pool_options options;
	bool spills;
	bool checked;
} pools[] = {
	{"slabs of 64 bytes", {.slab_bytes = 64}, false, false},
	{"slabs of 128 bytes, first ones of 64",
	 {.slab_bytes = 128, .first_slab_bytes = 64}, false, false},
	{"slabs of 1024 bytes", {.slab_bytes = 1024, .first_slab_bytes = 256}, false, false},
	{"default slabs", {0}, false, false},
	{"a store, slabs of 64 bytes, memory for 60",
	 {.slab_bytes = 64, .hard_budget = 64 * 60, .soft_budget = 64 * 8}, true, false},
	{"a store, slabs of 1024 bytes, memory for 40",
	 {.slab_bytes = 1024, .first_slab_bytes = 64, .hard_budget = 1024 * 40,
	  .soft_budget = 1024 * 2}, true, false},
	{"checked, slabs of 64 bytes", {.slab_bytes = 64, .flags = REEL_POOL_CHECKED}, false, true},
	{"checked, default slabs", {.flags = REEL_POOL_CHECKED}, false, true},
};

static void run_seeds(size_t which, uint64_t first, uint64_t seeds)
{
	struct reel_pool_options options = pools[which].options;
	struct late_store *late = pools[which].spills ? late_open(first) : NULL;
	uint64_t failures = 0;
	reel_pool *pool;

	if (late)
		options.store = &late->store;
	pool = stack_on(&options);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		int line = failure_of(pool, pools[which].checked, seed);

		if (!line)
			continue;
		failures++;
		tap_note("line %d; TEST_SEED=%llu runs it alone", line, (unsigned long long)seed);
	}
	is_int(failures, 0, "%llu sequences on %s", (unsigned long long)seeds, pools[which].name);
	stack_on(NULL);
	close_pool(pool, pools[which].name);
	if (late)
		is_int(late->wrongs, 0, "the store was used correctly");
	free(late);
}

int main(void)
{
	const char *seeds = getenv("TEST_SEEDS");
	const char *seed = getenv("TEST_SEED");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	uint64_t usual = is_brief() ? DEFAULT_SEEDS / 4 : DEFAULT_SEEDS;
	uint64_t count = seeds ? strtoull(seeds, NULL, 10) : seed ? 1 : usual;

	tap_begin();
	for (size_t which = 0; which < COUNT(pools); which++)
		run_seeds(which, first, count);
	return tap_end();
}
