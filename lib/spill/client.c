/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdlib.h>

#include "offload.h"

static struct reel_client *find_unused(struct reel_offload *offload)
{
	/* Acquire: pairs with the release in add_client(). */
	struct reel_client *client = atomic_load_explicit(&offload->clients, memory_order_acquire);

	for (; client; client = client->next) {
		bool in_use = false;

		reel_yield_point();
		/* Acquire: pairs with the release in reel_client_release(). */
		if (atomic_compare_exchange_strong_explicit(&client->in_use, &in_use, true,
							    memory_order_acquire,
							    memory_order_relaxed))
			return client;
	}
	return NULL;
}

static struct reel_client *add_client(struct reel_offload *offload)
{
	struct reel_client *client = calloc(1, sizeof *client);

	if (!client)
		return NULL;
	reel_event_open(&client->arrival);
	atomic_store_explicit(&client->in_use, true, memory_order_relaxed);
	client->next = atomic_load_explicit(&offload->clients, memory_order_relaxed);
	reel_yield_point();
	/* Release: pairs with the acquires of those who read the list. */
	while (!atomic_compare_exchange_weak_explicit(&offload->clients, &client->next, client,
						      memory_order_release, memory_order_relaxed))
		;
	return client;
}

struct reel_client *reel_client_adopt(struct reel_offload *offload)
{
	struct reel_client *client = find_unused(offload);

	if (!client)
		client = add_client(offload);
	if (!client)
		return NULL;
	/* Relaxed, here and below: how many share the frames is an estimate. */
	atomic_fetch_add_explicit(&offload->clients_in_use, 1, memory_order_relaxed);
	client->descents = 0;
	client->ahead = REEL_MIN_AHEAD;
	client->in_time = 0;
	atomic_store_explicit(&client->highest, 0, memory_order_relaxed);
	atomic_store_explicit(&client->id,
			      1 + atomic_fetch_add_explicit(&offload->last_client, 1,
							    memory_order_relaxed),
			      memory_order_relaxed);
	return client;
}

void reel_client_release(struct reel_offload *offload, struct reel_client *client)
{
	atomic_fetch_sub_explicit(&offload->clients_in_use, 1, memory_order_relaxed);
	reel_yield_point();
	/* Release: pairs with the acquire in find_unused(). */
	atomic_store_explicit(&client->in_use, false, memory_order_release);
}

void reel_client_free_all(struct reel_offload *offload)
{
	struct reel_client *client = atomic_load_explicit(&offload->clients, memory_order_relaxed);

	while (client) {
		struct reel_client *next = client->next;

		reel_event_close(&client->arrival);
		free(client);
		client = next;
	}
}
