/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "scale-model.h"

struct scale_load scale_predict(struct scale_network network, int customers)
{
	struct scale_load load = {0};

	/* Who comes as the n-th finds what n - 1 have at the server in the mean. */
	for (int n = 1; n <= customers; n++) {
		double response = network.service * (1 + load.queue);

		load.cycle = network.think + response;
		load.throughput = n / load.cycle;
		load.queue = load.throughput * response;
	}
	load.utilisation = load.throughput * network.service;
	return load;
}

struct scale_load scale_predict_shared(struct scale_network network, int threads, int processors)
{
	int customers = threads < processors ? threads : processors;
	struct scale_load load = scale_predict(network, customers);

	load.cycle *= (double)threads / customers;
	return load;
}

double scale_think(double cycle, double service, int customers)
{
	double low = 0, high = cycle;

	/* The cycle grows with it. */
	for (int i = 0; i < 60; i++) {
		struct scale_network network = {.think = (low + high) / 2, .service = service};

		if (scale_predict(network, customers).cycle < cycle)
			low = network.think;
		else
			high = network.think;
	}
	return low;
}
