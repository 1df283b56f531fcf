/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include "helpers/store-fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BITS (8 * REEL_HEADER_BYTES)

/* The lock is never held while a store is called or a transfer completes. */
struct fault {
	struct reel_layer layer;
	pthread_mutex_t lock;
	uint64_t puts, gets;
	bool vanished;
	/* Where a put went that is not dropped, for gets that are misplaced. */
	bool misplaces;
	bool has_first;
	struct reel_extent first;
	/* Over, with the error that stands in them, and not yet said to be. */
	reel_transfer *late;
	size_t count;
	struct reel_fault_rule rule[];
};

static bool applies(const struct reel_fault_rule *rule, bool put, uint64_t number)
{
	return rule->put == put && (rule->persistent ? number >= rule->at : number == rule->at);
}

/* Count one more transfer, and find its rule. NULL: none. */
static const struct reel_fault_rule *next_rule(struct fault *fault, bool put)
{
	static const struct reel_fault_rule vanished = {.fault = REEL_FAULT_VANISH};
	const struct reel_fault_rule *found = NULL;
	uint64_t number;

	pthread_mutex_lock(&fault->lock);
	number = put ? fault->puts++ : fault->gets++;
	for (size_t i = 0; i < fault->count && !found; i++)
		if (applies(&fault->rule[i], put, number))
			found = &fault->rule[i];
	fault->vanished |= found && found->fault == REEL_FAULT_VANISH;
	if (fault->vanished)
		found = &vanished;
	pthread_mutex_unlock(&fault->lock);
	return found;
}

static reel_transfer *take_late(struct fault *fault)
{
	reel_transfer *late;

	pthread_mutex_lock(&fault->lock);
	late = fault->late;
	fault->late = NULL;
	pthread_mutex_unlock(&fault->lock);
	return late;
}

static void complete_all(reel_transfer *late)
{
	while (late) {
		reel_transfer *next = late->next;

		reel_transfer_complete(late, late->error);
		late = next;
	}
}

static void note_first(struct fault *fault, struct reel_extent extent)
{
	pthread_mutex_lock(&fault->lock);
	if (!fault->has_first) {
		fault->has_first = true;
		fault->first = extent;
	}
	pthread_mutex_unlock(&fault->lock);
}

static void flip(uint64_t *header, void *data, size_t bytes, uint64_t bit)
{
	unsigned char *at = (unsigned char *)header;

	if (bit >= HEADER_BITS) {
		bit -= HEADER_BITS;
		at = data;
		if (bit / 8 >= bytes)
			return;
	}
	at[bit / 8] = (unsigned char)(at[bit / 8] ^ 1u << bit % 8);
}

static int finish_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)own;
	if (!error)
		note_first((struct fault *)store, transfer->extent);
	return error;
}

/* The completion stays here: the transfer is completed anew, from this layer upward. */
static int finish_late(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct fault *fault = (struct fault *)store;

	(void)own;
	transfer->error = error;
	pthread_mutex_lock(&fault->lock);
	transfer->next = fault->late;
	fault->late = transfer;
	pthread_mutex_unlock(&fault->lock);
	return REEL_TRANSFER_RESTARTED;
}

static int finish_flipped_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	const struct reel_fault_rule *rule = own;

	(void)store;
	if (!error)
		flip(transfer->header, transfer->data, transfer->bytes, rule->bit);
	return error;
}

/* A put's data may not be touched, so a copy of it was flipped and put. */
static int finish_flipped_put(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	(void)store;
	free(transfer->data);
	transfer->data = own;
	return error;
}

static void put_flipped(struct fault *fault, reel_transfer *transfer, uint64_t bit)
{
	struct reel_store_capacity capacity;
	void *data = transfer->data;
	void *copy;

	reel_store_get_capacity(fault->layer.below, &capacity);
	if (posix_memalign(&copy, capacity.align > sizeof copy ? capacity.align : sizeof copy,
			   transfer->bytes)) {
		reel_transfer_complete(transfer, -ENOMEM);
		return;
	}
	memcpy(copy, data, transfer->bytes);
	flip(transfer->header, copy, transfer->bytes, bit);
	transfer->data = copy;
	reel_transfer_enter(transfer, &fault->layer.store, finish_flipped_put, data);
	reel_store_put(fault->layer.below, transfer);
}

static int finish_misplaced_get(reel_store *store, reel_transfer *transfer, void *own, int error)
{
	struct reel_extent *asked = own;

	(void)store;
	transfer->extent = *asked;
	free(asked);
	/* The block there may have another length, which is no mistake of the caller's. */
	return error == -EINVAL ? -EBADMSG : error;
}

static void get_misplaced(struct fault *fault, reel_transfer *transfer)
{
	struct reel_extent *asked = malloc(sizeof *asked);

	if (!asked) {
		reel_transfer_complete(transfer, -ENOMEM);
		return;
	}
	*asked = transfer->extent;
	pthread_mutex_lock(&fault->lock);
	if (fault->has_first)
		transfer->extent = fault->first;
	pthread_mutex_unlock(&fault->lock);
	reel_transfer_enter(transfer, &fault->layer.store, finish_misplaced_get, asked);
	reel_store_get(fault->layer.below, transfer);
}

static void put_by_rule(struct fault *fault, reel_transfer *transfer,
			const struct reel_fault_rule *rule)
{
	switch (rule->fault) {
	case REEL_FAULT_ERROR:
		reel_transfer_complete(transfer, rule->error);
		return;
	case REEL_FAULT_VANISH:
		reel_transfer_complete(transfer, -ENODEV);
		return;
	case REEL_FAULT_FLIP:
		put_flipped(fault, transfer, rule->bit);
		return;
	case REEL_FAULT_LATE:
		reel_transfer_enter(transfer, &fault->layer.store, finish_late, NULL);
		break;
	case REEL_FAULT_MISPLACE:
		break;
	}
	reel_store_put(fault->layer.below, transfer);
}

static void get_by_rule(struct fault *fault, reel_transfer *transfer,
			const struct reel_fault_rule *rule)
{
	switch (rule->fault) {
	case REEL_FAULT_ERROR:
		reel_transfer_complete(transfer, rule->error);
		return;
	case REEL_FAULT_VANISH:
		reel_transfer_complete(transfer, -ENODEV);
		return;
	case REEL_FAULT_MISPLACE:
		get_misplaced(fault, transfer);
		return;
	case REEL_FAULT_FLIP:
		reel_transfer_enter(transfer, &fault->layer.store, finish_flipped_get,
				    (void *)rule);
		break;
	case REEL_FAULT_LATE:
		reel_transfer_enter(transfer, &fault->layer.store, finish_late, NULL);
		break;
	}
	reel_store_get(fault->layer.below, transfer);
}

/* Those that were late come after the transfer that has brought them out: out of order. */
static void fault_put(reel_store *store, reel_transfer *transfer)
{
	struct fault *fault = (struct fault *)store;
	const struct reel_fault_rule *rule = next_rule(fault, true);
	reel_transfer *late = take_late(fault);

	if (fault->misplaces)
		reel_transfer_enter(transfer, store, finish_put, NULL);
	if (rule)
		put_by_rule(fault, transfer, rule);
	else
		reel_store_put(fault->layer.below, transfer);
	complete_all(late);
}

static void fault_get(reel_store *store, reel_transfer *transfer)
{
	struct fault *fault = (struct fault *)store;
	const struct reel_fault_rule *rule = next_rule(fault, false);
	reel_transfer *late = take_late(fault);

	if (rule)
		get_by_rule(fault, transfer, rule);
	else
		reel_store_get(fault->layer.below, transfer);
	complete_all(late);
}

static void fault_drop(reel_store *store, struct reel_extent extent)
{
	struct fault *fault = (struct fault *)store;
	bool is_first;

	pthread_mutex_lock(&fault->lock);
	is_first = fault->has_first && fault->first.location == extent.location;
	fault->has_first &= !is_first;
	pthread_mutex_unlock(&fault->lock);
	/* A get that was misplaced may be reading it. */
	if (is_first)
		reel_store_sync(fault->layer.below, -1);
	reel_store_drop(fault->layer.below, extent);
}

/* A late transfer may start anew when it completes. */
static int fault_sync(reel_store *store, int64_t timeout_ns)
{
	struct fault *fault = (struct fault *)store;
	reel_transfer *late;
	int error;

	do {
		error = reel_store_sync(fault->layer.below, timeout_ns);
		late = take_late(fault);
		complete_all(late);
	} while (late && !error);
	return error;
}

/* Whatever is verified below may be damaged here. */
static void fault_capacity(reel_store *store, struct reel_store_capacity *capacity)
{
	reel_store_get_capacity(((struct fault *)store)->layer.below, capacity);
	capacity->verified = false;
}

static void fault_close(reel_store *store)
{
	struct fault *fault = (struct fault *)store;

	reel_store_close(fault->layer.below);
	pthread_mutex_destroy(&fault->lock);
	free(fault);
}

static const struct reel_store_verbs verbs = {
	.name = "fault",
	.put = fault_put,
	.get = fault_get,
	.drop = fault_drop,
	.sync = fault_sync,
	.capacity = fault_capacity,
	.close = fault_close,
	.register_memory = reel_layer_register,
	.unregister_memory = reel_layer_unregister,
};

int reel_store_fault_open(reel_store **store, reel_store *below,
			  const struct reel_fault_rule *rules, size_t count)
{
	struct fault *fault;

	if (reel_layer_check(below))
		return -EINVAL;
	if (count && !rules)
		return reel_fail(-EINVAL, "%zu rules of faults at NULL", count);
	fault = calloc(1, sizeof *fault + count * sizeof *rules);
	if (!fault)
		return reel_fail(-ENOMEM, "no memory for a layer of faults");
	fault->layer.store.verbs = &verbs;
	fault->layer.below = below;
	pthread_mutex_init(&fault->lock, NULL);
	fault->count = count;
	for (size_t i = 0; i < count; i++) {
		fault->rule[i] = rules[i];
		fault->misplaces |= rules[i].fault == REEL_FAULT_MISPLACE;
	}
	*store = &fault->layer.store;
	return 0;
}
