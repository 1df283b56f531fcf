/* SPDX-License-Identifier: MIT */
/* Tests faults of stores below others: damaged data never come back as good, and none are lost. */
#include <config.h>

#include <errno.h>

#include "helpers/store-suite.h"
#include "helpers/support.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"

#define PIECE_BYTES 4096
#define HEADER_BITS 512
#define DATA_BITS (8 * PIECE_BYTES)
#define ROOM ((uint64_t)16 << 20)

/* Size of a piece of blocks of a file, which a codec makes smaller. */
#define STACK_ALIGN 4096
#define STACK_BYTES ((size_t)4 * STACK_ALIGN)

static void must(int error)
{
	if (error) {
		printf("Bail out! a store does not open: %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
}

static reel_store *memory(void)
{
	reel_store *store;

	must(reel_store_memory_open(&store, ROOM));
	return store;
}

static reel_store *faults(reel_store *below, const struct reel_fault_rule *rules, size_t count)
{
	reel_store *store;

	must(reel_store_fault_open(&store, below, rules, count));
	return store;
}

static reel_store *checksum(reel_store *below)
{
	reel_store *store;

	must(reel_store_checksum_open(&store, below));
	return store;
}

static reel_store *tier(reel_store *first, reel_store *second)
{
	reel_store *store;

	must(reel_store_overflow_open(&store, first, second));
	return store;
}

/* Opens a checksum above one fault layer above memory. */
static reel_store *checked(struct reel_fault_rule rule)
{
	return checksum(faults(memory(), &rule, 1));
}

/* ---- One piece ---- */

static unsigned char data[PIECE_BYTES];

static reel_transfer ticket(uint64_t n)
{
	return (reel_transfer){.data = data,
			       .bytes = sizeof data,
			       .label = {.tape = 7, .serial = n, .slab_index = n / 2}};
}

static int put(reel_store *store, uint64_t n, struct reel_extent *extent)
{
	reel_transfer transfer = ticket(n);
	int error;

	suite_fill(data, sizeof data, n);
	error = reel_store_put_and_wait(store, &transfer);
	*extent = transfer.extent;
	return error;
}

/* Returns the error of a get, or 1 if its ticket has changed. */
static int get(reel_store *store, uint64_t n, struct reel_extent extent)
{
	reel_transfer transfer = ticket(n);
	int error;

	memset(data, 0, sizeof data);
	transfer.extent = extent;
	error = reel_store_get_and_wait(store, &transfer);
	if (transfer.extent.location != extent.location || transfer.extent.bytes != extent.bytes ||
	    transfer.data != data || transfer.bytes != sizeof data)
		return 1;
	return error;
}

/* Returns the error of a get of a piece with this fault; 1: success with wrong data. */
static int verdict(struct reel_fault_rule rule)
{
	reel_store *store = checked(rule);
	struct reel_extent extent;
	int error = put(store, 2, &extent);

	if (!error && !suite_is_filled(data, sizeof data, 2))
		error = 1;
	if (!error) {
		error = get(store, 2, extent);
		if (!error && !suite_is_filled(data, sizeof data, 2))
			error = 1;
	}
	reel_store_close(store);
	return error;
}

/* ---- Bits ---- */

static unsigned unseen_flips(bool puts, uint64_t first, uint64_t bits, unsigned samples)
{
	struct reel_fault_rule rule = {.fault = REEL_FAULT_FLIP, .put = puts, .persistent = true};
	unsigned unseen = 0;

	for (unsigned i = 0; i < samples; i++) {
		rule.bit = first + (samples == bits ? i : scramble(i) % bits);
		unseen += verdict(rule) != -EBADMSG;
	}
	return unseen;
}

static void each_bit_counts(void)
{
	is_int(unseen_flips(false, 0, HEADER_BITS, HEADER_BITS), 0,
	       "each bit of the header that is read wrong is reported");
	is_int(unseen_flips(true, 0, HEADER_BITS, HEADER_BITS), 0,
	       "each bit of the header that is written wrong is reported");
	is_int(unseen_flips(false, HEADER_BITS, 64, 64) +
		       unseen_flips(false, HEADER_BITS + DATA_BITS - 64, 64, 64),
	       0, "each bit at both ends of the data that is written wrong is reported");
	is_int(unseen_flips(false, HEADER_BITS, DATA_BITS, 1000), 0,
	       "1000 bits of the data that are read wrong are reported");
	is_int(unseen_flips(true, HEADER_BITS, DATA_BITS, 1000), 0,
	       "1000 bits of the data that are written wrong are reported, and the caller's stay");
}

static void a_second_read_heals(void)
{
	struct reel_fault_rule once = {.fault = REEL_FAULT_FLIP, .bit = HEADER_BITS + 77};
	struct reel_fault_rule both[] = {once, {.fault = REEL_FAULT_ERROR, .error = -EIO, .at = 1}};
	reel_store *store = checksum(faults(memory(), both, 2));
	struct reel_extent extent;

	is_int(verdict(once), 0, "a bit that is read wrong once is healed by a second read");
	is_int(put(store, 2, &extent), 0, "another piece is put");
	is_int(get(store, 2, extent), -EIO, "the second read fails, and that is the error");
	is_int(get(store, 2, extent), 0, "the next get is good");
	reel_store_close(store);
}

/* The second read is inside a call of the tier's second store, which completes at once. */
static void a_second_read_heals_below_a_tier(void)
{
	struct reel_fault_rule flip = {.fault = REEL_FAULT_FLIP, .bit = HEADER_BITS};
	reel_store *first, *store;
	struct reel_extent extent;

	must(reel_store_memory_open(&first, 1));
	store = tier(first, faults(memory(), &flip, 1));
	store = checksum(store);
	is_int(put(store, 2, &extent), 0, "a piece goes to the second store of a tier");
	is_int(get(store, 2, extent), 0, "a second read heals it");
	reel_store_close(store);
}

static void a_tier_is_verified_if_both_of_its_stores_are(void)
{
	reel_store *stores[] = {
		tier(memory(), memory()),
		tier(checksum(memory()), memory()),
		tier(memory(), checksum(memory())),
		tier(checksum(memory()), checksum(memory())),
	};
	struct reel_store_capacity capacity;

	for (unsigned i = 0; i < COUNT(stores); i++) {
		reel_store_get_capacity(stores[i], &capacity);
		is_int(capacity.verified, i == 3, "a tier is verified if both of its stores are");
		reel_store_close(stores[i]);
	}
}

/* A pool has a checksum above two stores. A wrong bit of either store is reported. */
static void damage_in_either_store_of_a_tier_is_reported(void)
{
	struct reel_fault_rule flip = {
		.fault = REEL_FAULT_FLIP, .bit = HEADER_BITS, .persistent = true};
	struct reel_fault_rule full = {
		.fault = REEL_FAULT_ERROR, .put = true, .error = -ENOSPC, .persistent = true};
	reel_store *stores[] = {
		checksum(tier(faults(memory(), &flip, 1), checksum(memory()))),
		checksum(tier(checksum(faults(memory(), &full, 1)),
			      faults(memory(), &flip, 1))),
	};
	struct reel_extent extent;

	for (unsigned i = 0; i < COUNT(stores); i++) {
		is_int(put(stores[i], 2, &extent), 0, "a piece goes to a store without a checksum");
		is_int(get(stores[i], 2, extent), -EBADMSG, "damage in that store is reported");
		reel_store_close(stores[i]);
	}
}

/* The data of a get are undamaged, but were put with another label. */
static void labels_count(void)
{
	reel_store *store = checksum(memory());
	reel_transfer transfer = ticket(2);
	struct reel_extent extent;
	unsigned wrong = 0;

	wrong += put(store, 2, &extent) != 0;
	for (unsigned i = 0; i < 4; i++) {
		transfer = ticket(2);
		transfer.label.tape += i == 1;
		transfer.label.serial += i == 2;
		transfer.label.slab_index += i == 3;
		transfer.extent = extent;
		wrong += reel_store_get_and_wait(store, &transfer) != (i ? -EBADMSG : 0);
	}
	is_int(wrong, 0, "a piece with another label is reported");
	reel_store_close(store);
}

static void misplaced_pieces_are_reported(void)
{
	struct reel_fault_rule rule = {.fault = REEL_FAULT_MISPLACE, .persistent = true};
	reel_store *store = checked(rule);
	struct reel_extent extent[3];
	unsigned wrong = 0;

	for (uint64_t n = 0; n < 3; n++)
		wrong += put(store, n, &extent[n]) != 0;
	is_int(wrong, 0, "three pieces are put");
	is_int(get(store, 0, extent[0]), 0, "the first one is where it was put");
	is_int(get(store, 1, extent[1]), -EBADMSG,
	       "the first piece in the second one's place is reported");
	is_int(get(store, 2, extent[2]), -EBADMSG,
	       "the first piece in the third one's place is reported");
	reel_store_drop(store, extent[0]);
	is_int(get(store, 2, extent[2]), 0, "a dropped piece is not read any more");
	reel_store_close(store);
}

/* A store returns an older piece of the same slab. */
static void stale_pieces_are_reported(void)
{
	reel_store *store = checksum(memory());
	struct reel_extent older, newer;

	is_int(put(store, 4, &older) | put(store, 5, &newer), 0, "two pieces are put");
	is_int(get(store, 5, older), -EBADMSG, "the older one is reported");
	reel_store_close(store);
}

/* ---- The k-th transfer fails ---- */

#define PIECES 6

struct outcome {
	unsigned failed_puts, failed_gets, wrong;
};

/* Puts pieces, gets each one back, and drops the stored ones. */
static struct outcome scenario(reel_store *store)
{
	struct outcome outcome = {0};
	struct reel_extent extent[PIECES];
	bool stored[PIECES];
	struct reel_store_capacity capacity;

	for (uint64_t n = 0; n < PIECES; n++) {
		int error = put(store, n, &extent[n]);

		stored[n] = !error;
		outcome.failed_puts += error == -EIO;
		outcome.wrong += (error && error != -EIO) || !suite_is_filled(data, sizeof data, n);
	}
	for (uint64_t n = PIECES; n-- > 0;) {
		int error = stored[n] ? get(store, n, extent[n]) : 0;

		outcome.failed_gets += error == -EIO;
		if (stored[n] && error != -EIO)
			outcome.wrong += error || !suite_is_filled(data, sizeof data, n);
		if (stored[n])
			reel_store_drop(store, extent[n]);
	}
	reel_store_get_capacity(store, &capacity);
	outcome.wrong += capacity.used_bytes != 0;
	reel_store_close(store);
	return outcome;
}

static unsigned expected_failures(const struct reel_fault_rule *rule)
{
	return rule->at >= PIECES ? 0 : rule->persistent ? PIECES - (unsigned)rule->at : 1;
}

/* Returns the number of scenarios with a wrong outcome. */
static unsigned differing_scenarios(bool put, bool persistent, bool with_second)
{
	unsigned differ = 0;

	for (uint64_t at = 0; at <= PIECES; at++) {
		struct reel_fault_rule rule = {.fault = REEL_FAULT_ERROR, .put = put,
					       .persistent = persistent, .at = at, .error = -EIO};
		unsigned failures = expected_failures(&rule);
		reel_store *store = checked(rule);
		struct outcome outcome =
			scenario(with_second ? tier(store, checksum(memory())) : store);

		differ += outcome.wrong != 0 ||
			  outcome.failed_puts != (put && !with_second ? failures : 0) ||
			  outcome.failed_gets != (put ? 0 : failures);
	}
	return differ;
}

static void errors_belong_to_their_transfers(void)
{
	is_int(differing_scenarios(true, false, false), 0, "the k-th put fails, no other one");
	is_int(differing_scenarios(true, true, false), 0, "all puts fail from the k-th on");
	is_int(differing_scenarios(false, false, false), 0, "the k-th get fails, no other one");
	is_int(differing_scenarios(false, true, false), 0, "all gets fail from the k-th on");
	is_int(differing_scenarios(true, false, true), 0, "the k-th put goes to the second store");
	is_int(differing_scenarios(true, true, true), 0,
	       "all puts go to the second store from the k-th on");
	is_int(differing_scenarios(false, true, true), 0,
	       "gets are not made up for by the second store");
}

static void the_second_error_is_reported(void)
{
	struct reel_fault_rule full = {.put = true, .error = -ENOSPC, .persistent = true};
	struct reel_fault_rule broken = {.put = true, .error = -EIO, .persistent = true};
	reel_store *store = tier(checked(full), checked(broken));
	struct reel_extent extent;

	is_int(put(store, 1, &extent), -EIO, "the second store's error is returned if both refuse");
	ok(suite_is_filled(data, sizeof data, 1), "the data is as it was");
	reel_store_close(store);
}

static void a_store_that_vanishes_stays_away(void)
{
	struct reel_fault_rule rule = {.fault = REEL_FAULT_VANISH, .put = true, .at = 2};
	reel_store *store = tier(checked(rule), checksum(memory()));
	struct reel_extent extent[4];
	unsigned wrong = 0;

	for (uint64_t n = 0; n < 4; n++)
		wrong += put(store, n, &extent[n]) != 0;
	is_int(wrong, 0, "when a store vanishes, all goes to the second one");
	for (uint64_t n = 0; n < 4; n++)
		wrong += get(store, n, extent[n]) != (n < 2 ? -ENODEV : 0);
	is_int(wrong, 0, "what it had is gone, what came later is there");
	for (uint64_t n = 0; n < 4; n++)
		reel_store_drop(store, extent[n]);
	reel_store_close(store);
}

/* ---- Late transfers ---- */

static void note_end(reel_transfer *transfer)
{
	++*(unsigned *)transfer->context;
}

static void late_transfers_end_once(void)
{
	struct reel_fault_rule rules[] = {
		{.fault = REEL_FAULT_LATE, .put = true},
		{.fault = REEL_FAULT_LATE, .put = true, .at = 2, .persistent = true},
		{.fault = REEL_FAULT_LATE, .persistent = true},
	};
	reel_store *store = checksum(faults(memory(), rules, COUNT(rules)));
	reel_transfer transfer[3];
	unsigned ends[3] = {0};

	suite_fill(data, sizeof data, 1);
	for (unsigned i = 0; i < 3; i++) {
		transfer[i] = ticket(i);
		transfer[i].done = note_end;
		transfer[i].context = &ends[i];
	}
	reel_store_put(store, &transfer[0]);
	is_int(ends[0], 0, "a late put is not over at once");
	reel_store_put(store, &transfer[1]);
	ok(ends[0] == 1 && ends[1] == 1, "a late put is over when the next transfer comes");
	reel_store_put(store, &transfer[2]);
	is_int(ends[2], 0, "another one is late");
	is_int(reel_store_sync(store, -1), 0, "sync waits");
	ok(ends[0] == 1 && ends[1] == 1 && ends[2] == 1, "each is over once");
	ok(!transfer[0].error && !transfer[1].error && !transfer[2].error,
	   "each late put was good");
	for (unsigned i = 0; i < 3; i++)
		reel_store_get(store, &transfer[i]);
	is_int(reel_store_sync(store, -1), 0, "sync waits for gets");
	ok(ends[0] == 2 && ends[1] == 2 && ends[2] == 2 && !transfer[0].error &&
		   !transfer[1].error && !transfer[2].error,
	   "gets that are late are over once, and good");
	reel_store_close(store);
}

/* The second read of a piece that was read wrong is also late. */
static void late_and_wrong_is_healed_at_sync(void)
{
	struct reel_fault_rule flip = {.fault = REEL_FAULT_FLIP, .bit = HEADER_BITS};
	struct reel_fault_rule late = {.fault = REEL_FAULT_LATE, .persistent = true};
	reel_store *store = checksum(faults(faults(memory(), &flip, 1), &late, 1));
	reel_transfer transfer = ticket(3);
	unsigned ends = 0;

	suite_fill(data, sizeof data, 3);
	reel_store_put_and_wait(store, &transfer);
	transfer.done = note_end;
	transfer.context = &ends;
	reel_store_get(store, &transfer);
	is_int(ends, 0, "a get is late");
	is_int(reel_store_sync(store, -1), 0, "sync waits for the second read of a late get, too");
	ok(ends == 1 && !transfer.error && suite_is_filled(data, sizeof data, 3),
	   "the second read heals the piece");
	reel_store_close(store);
}

/* While a thread waits, the store is called again, because it keeps completions until a call. */
static void late_transfers_are_waited_for(void)
{
	struct reel_fault_rule rules[] = {
		{.fault = REEL_FAULT_LATE, .put = true, .persistent = true},
		{.fault = REEL_FAULT_LATE, .persistent = true},
	};
	struct reel_fault_rule flip = {.fault = REEL_FAULT_FLIP, .bit = HEADER_BITS};
	reel_store *store = checksum(faults(faults(memory(), &flip, 1), rules, COUNT(rules)));
	struct reel_extent extent;

	is_int(put(store, 1, &extent), 0, "a put that is late is waited for");
	is_int(get(store, 1, extent), 0, "a late get is waited for, with its second read");
	ok(suite_is_filled(data, sizeof data, 1), "the piece of a late get is right");
	reel_store_close(store);
}

/* ---- Below a codec ---- */

/* Without a checksum below it a codec may miss damage, but must not write out of bounds. */
static void damage_below_a_codec(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 1000; i++) {
		struct reel_fault_rule rule = {.fault = REEL_FAULT_FLIP, .persistent = true};
		reel_store *store, *below;
		struct reel_extent extent;
		int error;

		rule.bit = HEADER_BITS + scramble(i) % 2048;
		below = faults(memory(), &rule, 1);
		must(reel_store_codec_open(&store, below,
					   &(struct reel_codec_options){.buffers = 1}));
		error = put(store, 1, &extent);
		wrong += error || extent.bytes >= PIECE_BYTES;
		error = get(store, 1, extent);
		wrong += error && error != -EBADMSG;
		reel_store_close(store);
	}
	is_int(wrong, 0, "1000 damaged pieces are unpacked without a fault of the program's");
}

/* A late put has the only buffer, and gets use the spare one. */
static void gets_need_no_free_buffer(void)
{
	struct reel_fault_rule late = {.fault = REEL_FAULT_LATE, .put = true, .at = 1,
				       .persistent = true};
	reel_store *store;
	struct reel_extent extent;
	reel_transfer transfer[3];
	unsigned ends = 0, wrong = 0;
	unsigned char *more = suite_allocate(PIECE_BYTES);

	must(reel_store_codec_open(&store, faults(memory(), &late, 1),
				   &(struct reel_codec_options){.buffers = 1}));
	is_int(put(store, 1, &extent), 0, "a piece is put");
	suite_fill(more, PIECE_BYTES, 3);
	for (unsigned i = 0; i < COUNT(transfer); i++) {
		transfer[i] = ticket(i);
		transfer[i].data = more;
		transfer[i].done = note_end;
		transfer[i].context = &ends;
		reel_store_put(store, &transfer[i]);
		wrong += ends != i;
		wrong += get(store, 1, extent) || !suite_is_filled(data, sizeof data, 1);
		wrong += ends != i + 1 || transfer[i].error ||
			 transfer[i].extent.bytes >= PIECE_BYTES;
	}
	is_int(wrong, 0, "a piece is unpacked while puts have all buffers");
	reel_store_close(store);
	free(more);
}

static void errors_pass_a_codec(void)
{
	struct reel_fault_rule rules[] = {
		{.fault = REEL_FAULT_ERROR, .error = -EIO, .put = true},
		{.fault = REEL_FAULT_ERROR, .error = -EIO},
	};
	reel_store *store;
	struct reel_extent extent;

	must(reel_store_codec_open(&store, faults(memory(), rules, 2),
				   &(struct reel_codec_options){.buffers = 1}));
	is_int(put(store, 1, &extent), -EIO, "a codec passes on that a put failed");
	is_int(put(store, 1, &extent), 0, "the buffer of a failed put is free for the next one");
	ok(extent.bytes < PIECE_BYTES, "the next piece is packed");
	is_int(get(store, 1, extent), -EIO, "a codec passes on that a get failed");
	is_int(get(store, 1, extent), 0, "the next one succeeds");
	ok(suite_is_filled(data, sizeof data, 1), "the piece of the next get is right");
	extent.bytes = 8;
	is_int(get(store, 1, extent), -EINVAL, "a place of another length is refused below");
	extent.bytes = PIECE_BYTES + 8;
	is_int(get(store, 1, extent), -EBADMSG, "a place longer than the data is refused");
	reel_store_close(store);
}

/* ---- Every stack ---- */

enum layer { CHECKSUM, CODEC, FAULT, COUNTED, IN_FRONT, BEHIND, LAYERS };

/* A stack of layers, the lowest one first: the digits of `number` in base LAYERS. */
struct stack {
	bool on_file;
	unsigned depth;
	unsigned number;
	unsigned faulty; /* number of the fault layer that applies the rule, from 1 */
	struct reel_fault_rule rule;
};

static unsigned layer_of(const struct stack *stack, unsigned extent)
{
	unsigned number = stack->number;

	while (extent--)
		number /= LAYERS;
	return number % LAYERS;
}

static unsigned faults_in(const struct stack *stack)
{
	unsigned n = 0;

	for (unsigned extent = 0; extent < stack->depth; extent++)
		n += layer_of(stack, extent) == FAULT;
	return n;
}

static reel_store *file(void)
{
	struct reel_file_options options = {.directory = ".", .slot_bytes = STACK_BYTES,
					    .threads = 1, .flags = REEL_FILE_TMPFS};
	reel_store *store;

	must(reel_store_file_open(&store, &options));
	return store;
}

static reel_store *packed(reel_store *below)
{
	reel_store *store;

	if (!HAVE_LZ4)
		return below;
	must(reel_store_codec_open(&store, below, &(struct reel_codec_options){.buffers = 2}));
	return store;
}

static reel_store *counted(reel_store *below)
{
	reel_store *store;

	must(reel_store_count_open(&store, below));
	/* A checksum above it has threads of its own. */
	reel_store_count_registers(store);
	return store;
}

static reel_store *full(void)
{
	reel_store *store;

	must(reel_store_memory_open(&store, 1));
	return store;
}

static reel_store *stand_on(reel_store *below, enum layer layer, bool verified)
{
	switch (layer) {
	case CHECKSUM:
		return checksum(below);
	case CODEC:
		return packed(below);
	case COUNTED:
		return counted(below);
	case IN_FRONT:
		return tier(below, verified ? checksum(memory()) : memory());
	default:
		return tier(full(), below);
	}
}

/* Opens a stack as a pool does: a stack that is not verified gets a checksum. */
static reel_store *open_stack(const struct stack *stack, bool verified)
{
	reel_store *store = stack->on_file ? file() : memory();
	unsigned nth = 0;

	for (unsigned extent = 0; extent < stack->depth; extent++) {
		enum layer layer = layer_of(stack, extent);

		if (layer == FAULT)
			store = faults(store, &stack->rule, ++nth == stack->faulty);
		else
			store = stand_on(store, layer, verified);
	}
	return checksum(store);
}

static int put_and_get(reel_store *store)
{
	static _Alignas(STACK_ALIGN) unsigned char piece[STACK_BYTES];
	reel_transfer transfer = {.data = piece, .bytes = sizeof piece, .label = {1, 2, 3}};
	int error;

	suite_fill(piece, sizeof piece, 1);
	error = reel_store_put_and_wait(store, &transfer);
	memset(piece, 0, sizeof piece);
	if (!error)
		error = reel_store_get_and_wait(store, &transfer);
	return error || suite_is_filled(piece, sizeof piece, 1) ? error : 1;
}

/* A codec may replace the damaged bit of the header, and then no data are damaged. */
static bool is_right(const struct stack *stack, int error)
{
	if (!stack->faulty)
		return !error;
	return error == -EBADMSG || (stack->rule.bit < HEADER_BITS && !error);
}

static unsigned wrong_of(const struct stack *stack)
{
	unsigned wrong = 0;

	for (unsigned verified = 0; verified < 2; verified++) {
		reel_store *store = open_stack(stack, verified);
		int error = put_and_get(store);

		wrong += !is_right(stack, error);
		if (!is_right(stack, error))
			tap_note("stack %u of %u layers, fault in number %u, bit %llu: %d",
				 stack->number, stack->depth, stack->faulty,
				 (unsigned long long)stack->rule.bit, error);
		reel_store_close(store);
	}
	return wrong;
}

/* Runs a stack without a fault, and with a wrong bit in each fault layer in turn. */
static unsigned wrong_of_all_faults(struct stack stack)
{
	unsigned wrong = wrong_of(&stack), layers = faults_in(&stack);

	stack.rule = (struct reel_fault_rule){.fault = REEL_FAULT_FLIP, .persistent = true};
	for (stack.faulty = 1; stack.faulty <= layers; stack.faulty++) {
		stack.rule.bit = scramble(stack.number) % HEADER_BITS;
		wrong += wrong_of(&stack);
		stack.rule.bit = HEADER_BITS + scramble(stack.number) % HEADER_BITS;
		wrong += wrong_of(&stack);
	}
	return wrong;
}

static void every_stack_is_checked(bool on_file, unsigned max_layers)
{
	struct stack stack = {.on_file = on_file};
	unsigned wrong = 0, stacks = 0, numbers = 1;

	for (; stack.depth <= max_layers; stack.depth++, numbers *= LAYERS)
		for (stack.number = 0; stack.number < numbers; stack.number++, stacks++)
			wrong += wrong_of_all_faults(stack);
	is_int(wrong, 0, "%u stacks on %s bring back what was put, or report damage", stacks,
	       on_file ? "a file" : "memory");
}

/* A piece that cannot be unpacked is also read once more. */
static void a_second_read_heals_below_a_codec(void)
{
	unsigned wrong = 0;

	for (unsigned bit = 0; bit < 256; bit++) {
		struct reel_fault_rule once = {.fault = REEL_FAULT_FLIP,
					       .bit = 2 * HEADER_BITS + bit};
		reel_store *store = checksum(packed(faults(memory(), &once, 1)));

		wrong += put_and_get(store) != 0;
		reel_store_close(store);
	}
	is_int(wrong, 0, "a bit of packed data that is read wrong once is healed by a second read");
}

/* A codec may damage data, above the checksum of its store. */
static void a_codec_is_not_verified(void)
{
	reel_store *codec = packed(checksum(memory())), *store = checksum(codec);
	struct reel_store_capacity capacity;

	reel_store_get_capacity(codec, &capacity);
	ok(!capacity.verified, "a codec on a store with a checksum is not verified");
	ok(store != codec, "a codec that is not verified gets a checksum of its own");
	is_int(put_and_get(store), 0, "a piece behind it comes back");
	reel_store_close(store);
}

int main(void)
{
	tap_begin();
	every_stack_is_checked(false, is_brief() ? 4 : 5);
	every_stack_is_checked(true, is_brief() ? 1 : 3);
	each_bit_counts();
	a_second_read_heals();
	a_second_read_heals_below_a_tier();
	a_tier_is_verified_if_both_of_its_stores_are();
	damage_in_either_store_of_a_tier_is_reported();
	labels_count();
	misplaced_pieces_are_reported();
	stale_pieces_are_reported();
	errors_belong_to_their_transfers();
	the_second_error_is_reported();
	a_store_that_vanishes_stays_away();
	late_transfers_end_once();
	late_and_wrong_is_healed_at_sync();
	late_transfers_are_waited_for();
	if (HAVE_LZ4) {
		a_second_read_heals_below_a_codec();
		a_codec_is_not_verified();
		damage_below_a_codec();
		gets_need_no_free_buffer();
		errors_pass_a_codec();
	} else {
		tap_skip(1, "built without LZ4");
	}
	return tap_end();
}
