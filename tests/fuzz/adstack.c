/* SPDX-License-Identifier: MIT */
/*
 * The stack of Tapenade's adjoints, by all names of its functions, compared with plain bytes: a
 * thread's stack and two segments, repeat levels and looks in each, and pops of too many bytes.
 */
#include <config.h>

#include <errno.h>
#include <setjmp.h>

#include "helpers/adstack-support.h"
#include "fuzz.h"
#include "targets.h"

enum { STACKS = 3, LEVELS = 4, MAX_BYTES = 1 << 16, MAX_OPERATION = 4096 };

/* `word` has the bits that wait, the oldest one as its lowest bit. */
struct plain {
	size_t count;
	uint32_t word;
	unsigned bits;
	unsigned char byte[MAX_BYTES];
};

struct stack {
	struct plain now;
	struct plain level[LEVELS];
	unsigned levels;
	struct plain looked;
	bool looking;
};

/* The first one is the thread's own stack, the others are segments. */
static struct stack stacks[STACKS];
static reel_adstack_segment *segments[STACKS];
/* The segments that the thread is in, the innermost last. */
static unsigned within[STACKS], depth;
static struct fuzz_input *input;
static reel_pool *pool;
static unsigned char scratch[MAX_OPERATION + 64];
static uint64_t values_drawn;

static struct stack *stack_in_use(void)
{
	return &stacks[depth ? within[depth - 1] : 0];
}

/* ---- The plain bytes ---- */

static void copy_plain(struct plain *to, const struct plain *from)
{
	to->count = from->count;
	to->word = from->word;
	to->bits = from->bits;
	memcpy(to->byte, from->byte, from->count);
}

static void clear_stack(struct stack *stack)
{
	stack->now.count = stack->now.word = stack->now.bits = 0;
	stack->levels = 0;
	stack->looking = false;
}

static void plain_push(struct plain *plain, const void *data, size_t bytes)
{
	memcpy(plain->byte + plain->count, data, bytes);
	plain->count += bytes;
}

static void plain_push_bit(struct plain *plain, unsigned bit)
{
	plain->word |= (uint32_t)(bit & 1) << plain->bits;
	if (++plain->bits < 32)
		return;
	plain_push(plain, &plain->word, sizeof plain->word);
	plain->word = plain->bits = 0;
}

static unsigned plain_pop_bit(struct plain *plain)
{
	unsigned bit;

	if (!plain->bits) {
		plain->count -= sizeof plain->word;
		memcpy(&plain->word, plain->byte + plain->count, sizeof plain->word);
		plain->bits = 32;
	}
	bit = plain->word >> --plain->bits & 1;
	plain->word &= ~((uint32_t)1 << plain->bits);
	return bit;
}

/* ---- Calls ---- */

enum family { VALUE, ARRAY_OF, BITS_OF };

struct call {
	enum family family;
	unsigned which, form;
	int n;
};

static struct call draw_call(void)
{
	struct call call = {.family = fuzz_below(input, 3), .form = fuzz_below(input, FORMS)};

	if (call.family == VALUE) {
		call.which = fuzz_below(input, COUNT(values));
	} else if (call.family == BITS_OF) {
		call.which = fuzz_below(input, COUNT(controls));
	} else {
		unsigned n = fuzz_byte(input);

		call.which = fuzz_below(input, COUNT(arrays));
		call.n = n == 255 ? -1 : (int)(n < 128 ? n % 16 : (n - 127) * 32);
		if (call.n > 0 && (size_t)call.n * arrays[call.which].element > MAX_OPERATION)
			call.n = (int)(MAX_OPERATION / arrays[call.which].element);
	}
	return call;
}

static size_t bytes_of(const struct call *call)
{
	if (call->family == VALUE)
		return values[call->which].bytes;
	return call->n > 0 ? (size_t)call->n * arrays[call->which].element : 0;
}

static bool serves(const struct plain *plain, const struct call *call)
{
	if (call->family != BITS_OF)
		return bytes_of(call) <= plain->count;
	return controls[call->which].bits <= plain->bits || plain->count >= sizeof plain->word;
}

static void end_look(void)
{
	stack_in_use()->looking = false;
}

static void push_bits(struct plain *plain, const struct call *call)
{
	const struct bit_functions *control = &controls[call->which];
	unsigned value = (unsigned)fuzz_number(input, 2) % (1u << control->bits);

	control->push[call->form]((int)value);
	for (unsigned i = 0; i < control->bits; i++)
		plain_push_bit(plain, value >> i);
}

static void push(void)
{
	struct plain *plain = &stack_in_use()->now;
	struct call call = draw_call();

	if (plain->count + MAX_OPERATION > MAX_BYTES)
		return;
	end_look();
	if (call.family == BITS_OF) {
		push_bits(plain, &call);
		return;
	}
	fill(scratch, bytes_of(&call), values_drawn++ << 16);
	if (call.family == VALUE)
		values[call.which].push[call.form](scratch);
	else
		arrays[call.which].push[call.form](scratch, call.n);
	plain_push(plain, scratch, bytes_of(&call));
}

static void take_bits(struct plain *plain, const struct call *call, bool look)
{
	const struct bit_functions *control = &controls[call->which];
	int seen = (look ? control->look : control->pop)[call->form]();
	unsigned value = 0;

	for (unsigned i = 0; i < control->bits; i++)
		value = value << 1 | plain_pop_bit(plain);
	FUZZ_EXPECT(seen == (int)value);
}

static void take(struct plain *plain, const struct call *call, bool look)
{
	size_t bytes = bytes_of(call);

	if (call->family == BITS_OF) {
		take_bits(plain, call, look);
		return;
	}
	memset(scratch, 0x5a, bytes + 1);
	if (call->family == VALUE)
		(look ? values[call->which].look : values[call->which].pop)[call->form](scratch);
	else
		(look ? arrays[call->which].look : arrays[call->which].pop)[call->form](scratch,
										call->n);
	plain->count -= bytes;
	FUZZ_EXPECT(!memcmp(scratch, plain->byte + plain->count, bytes));
	FUZZ_EXPECT(scratch[bytes] == 0x5a);
}

/* ---- Too many pops ---- */

static jmp_buf refused;
static int refusal;

static void leave_by_jump(int error, const char *message, void *context)
{
	(void)context;
	FUZZ_EXPECT(error < 0 && *message);
	refusal = error;
	longjmp(refused, 1);
}

/* Such a pop never returns a value, and the stack can be used again after a reset. */
static void pop_too_much(const struct call *call)
{
	static struct plain none;

	reel_adstack_set_handler(leave_by_jump, NULL);
	if (!setjmp(refused)) {
		take(&none, call, false);
		fuzz_fail(__FILE__, __LINE__, "a pop of more than there is does not come back");
	}
	FUZZ_EXPECT(refusal == -ENODATA);
	reel_adstack_set_handler(NULL, NULL);
	reel_adstack_reset();
	clear_stack(stack_in_use());
}

static void pop(void)
{
	struct stack *stack = stack_in_use();
	struct call call = draw_call();

	if (serves(&stack->now, &call)) {
		end_look();
		take(&stack->now, &call, false);
	}
}

static void pop_beyond(void)
{
	struct stack *stack = stack_in_use();
	struct call call = draw_call();

	if (fuzz_byte(input) % 8 == 0 && !serves(&stack->now, &call))
		pop_too_much(&call);
}

static void look(void)
{
	struct stack *stack = stack_in_use();
	struct call call = draw_call();
	const struct plain *from = stack->looking ? &stack->looked : &stack->now;

	if (!serves(from, &call))
		return;
	if (!stack->looking)
		copy_plain(&stack->looked, &stack->now);
	stack->looking = true;
	take(&stack->looked, &call, true);
}

static void reset_look(void)
{
	end_look();
	resetADLookStack();
}

static void many(void (*operation)(void))
{
	for (unsigned n = fuzz_byte(input) / 4; n > 0; n--)
		operation();
}

static void push_many(void)
{
	many(push);
}

static void pop_many(void)
{
	many(pop);
}

/* ---- Levels and segments ---- */

static void start_repeat(void)
{
	struct stack *stack = stack_in_use();

	if (stack->levels == LEVELS)
		return;
	end_look();
	adStack_startRepeat();
	copy_plain(&stack->level[stack->levels++], &stack->now);
}

static void reset_repeat(void)
{
	struct stack *stack = stack_in_use();

	if (!stack->levels)
		return;
	end_look();
	adStack_resetRepeat();
	copy_plain(&stack->now, &stack->level[stack->levels - 1]);
}

static void end_repeat(void)
{
	struct stack *stack = stack_in_use();

	if (!stack->levels)
		return;
	end_look();
	adStack_endRepeat();
	stack->levels--;
}

static bool is_within(unsigned which)
{
	for (unsigned i = 0; i < depth; i++)
		if (within[i] == which)
			return true;
	return false;
}

static void enter(void)
{
	unsigned which = 1 + fuzz_below(input, STACKS - 1);

	if (is_within(which))
		return;
	end_look();
	reel_adstack_segment_enter(&segments[which]);
	FUZZ_EXPECT(segments[which]);
	within[depth++] = which;
}

static bool is_empty(const struct stack *stack)
{
	return !stack->now.count && !stack->now.bits && !stack->levels;
}

static void leave(void)
{
	unsigned which;

	if (!depth)
		return;
	end_look();
	which = within[--depth];
	reel_adstack_segment_leave(&segments[which]);
	FUZZ_EXPECT(!segments[which] == is_empty(&stacks[which]));
}

static void drop(void)
{
	unsigned which = 1 + fuzz_below(input, STACKS - 1);

	if (is_within(which))
		return;
	if (segments[which])
		end_look();
	reel_adstack_segment_drop(&segments[which]);
	FUZZ_EXPECT(!segments[which]);
	clear_stack(&stacks[which]);
}

static void reset(void)
{
	reel_adstack_reset();
	clear_stack(stack_in_use());
}

static void (*const operations[])(void) = {
	push, push, push, push, pop, pop, pop, look, look, reset_look, push_many, push_many,
	pop_many, start_repeat, reset_repeat, reset_repeat, end_repeat, enter, leave, drop,
	pop_beyond, push, pop, reset};

static void operate(void)
{
	operations[fuzz_below(input, COUNT(operations))]();
	FUZZ_EXPECT(reel_adstack_repeat_level() == stack_in_use()->levels);
	if (!stack_in_use()->looking)
		FUZZ_EXPECT(reel_adstack_bytes() == stack_in_use()->now.count);
}

/* ---- Pools ---- */

static void open_stacks(void)
{
	static const size_t slabs[] = {64, 128, 192, 1024, 4096, 65536, 0, 64};
	struct reel_pool_options options = {.slab_bytes = slabs[fuzz_below(input, COUNT(slabs))]};

	if (options.slab_bytes && fuzz_below(input, 2)) {
		options.hard_budget = 400 * options.slab_bytes;
		options.soft_budget = 8 * options.slab_bytes;
		FUZZ_EXPECT(!reel_store_memory_open(&options.store, (uint64_t)1 << 30));
	}
	if (options.slab_bytes && options.slab_bytes < 65536)
		options.first_slab_bytes = 64;
	pool = stack_on(&options);
	for (unsigned i = 0; i < STACKS; i++)
		clear_stack(&stacks[i]);
}

/* Pops all that is left, and compares each byte. */
static void pop_all(void)
{
	struct plain *plain = &stack_in_use()->now;

	end_look();
	while (stack_in_use()->levels)
		end_repeat();
	while (plain->bits) {
		int bit = controls[0].pop[0]();

		FUZZ_EXPECT(bit == (int)plain_pop_bit(plain));
	}
	while (plain->count) {
		size_t bytes = plain->count < MAX_OPERATION ? plain->count : MAX_OPERATION;

		reel_adstack_pop_bytes(scratch, bytes);
		plain->count -= bytes;
		FUZZ_EXPECT(!memcmp(scratch, plain->byte + plain->count, bytes));
	}
	FUZZ_EXPECT(reel_adstack_bytes() == 0);
}

static void close_stacks(void)
{
	struct reel_pool_stats stats;

	while (depth) {
		pop_all();
		leave();
	}
	pop_all();
	for (unsigned i = 1; i < STACKS; i++)
		reel_adstack_segment_drop(&segments[i]);
	stack_on(NULL);
	reel_pool_get_stats(pool, &stats);
	FUZZ_EXPECT(stats.slabs_in_use == 0);
	FUZZ_EXPECT(reel_pool_close(pool) == 0);
}

int fuzz_adstack(const uint8_t *data, size_t size)
{
	struct fuzz_input all = {data, size};

	input = &all;
	values_drawn = 0;
	open_stacks();
	while (input->left)
		operate();
	close_stacks();
	return 0;
}
