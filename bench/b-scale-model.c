/* SPDX-License-Identifier: MIT */
/*
 * The model's constants, measured with magazines of 16 slabs, where the list hardly matters;
 * what it says where each slab goes to the list, beside what is measured there; and what it
 * says of more threads than this machine has processors.
 */
#include "config.h"

#include <stdio.h>

#include "pool/pool.h"
#include "scale.h"

static const struct measure_variant places[] = {{.name = "one thread"}, {.name = "two threads"}};

/* For the thread alone, and for one of two, whose slabs and list come from the other one. */
struct constants {
	struct scale_network chain[2];
};

static double service[2];

/* Once; all slab sizes have the same list. */
static void measure_service(void)
{
	struct measure_result results[COUNT_OF(places)];

	for (int p = 0; p < 2; p++) {
		if (service[p] == 0)
			service[p] = scale.service > 0 ? scale.service : scale_measure_service(p + 1);
		results[p] = scale_exact(service[p]);
	}
	scale_report("scale/constant/service", places, COUNT_OF(places), 2, "ns/chain", results);
}

static struct constants measure_constants(size_t bytes, size_t slab_bytes)
{
	struct measure_result results[COUNT_OF(places)];
	struct constants constants;
	char name[64], size[16];

	for (int p = 0; p < 2; p++) {
		double cycle = REEL_MAGAZINE_SLABS *
			       scale_measure_slab(p + 1, bytes, slab_bytes, REEL_MAGAZINE_SLABS);

		if (p >= scale.processors)
			cycle /= 2;
		constants.chain[p].service = service[p];
		constants.chain[p].think = scale_think(cycle, service[p], p + 1);
		results[p] = scale_exact(constants.chain[p].think / REEL_MAGAZINE_SLABS);
	}
	snprintf(name, sizeof name, "scale/constant/think/%s", scale_size_text(slab_bytes, size));
	scale_report(name, places, COUNT_OF(places), 2, "ns/slab", results);
	return constants;
}

/* The network of so many threads, with chains of so many slabs. */
static struct scale_network network_of(const struct constants *constants, int threads,
				       unsigned slabs)
{
	struct scale_network network = constants->chain[threads > 1];

	network.think *= (double)slabs / REEL_MAGAZINE_SLABS;
	return network;
}

/* ---- Where it can be checked ---- */

enum { CHECK_SLABS = 1024 };

static void check_size(size_t slab_bytes)
{
	static const struct measure_variant variants[] = {{.name = "measured"},
							  {.name = "predicted"}};
	size_t bytes = CHECK_SLABS * slab_bytes;
	struct constants constants = measure_constants(bytes, slab_bytes);
	struct measure_result results[COUNT_OF(variants)];
	char name[64], size[16];

	snprintf(name, sizeof name, "scale/check/%s", scale_size_text(slab_bytes, size));
	for (size_t c = 0; c < scale.threads.count; c++) {
		int threads = scale.threads.of[c];
		struct scale_load load =
			scale_predict_shared(network_of(&constants, threads, 1), threads,
					     scale.processors);

		results[0] = scale_exact(scale_measure_slab(threads, bytes, slab_bytes, 1));
		results[1] = scale_exact(load.cycle);
		scale_report(name, variants, COUNT_OF(variants), threads, "ns/slab", results);
	}
}

void scale_check_model(void)
{
	static const size_t sizes[] = {64, 256, 1 << 10, 4 << 10};

	measure_service();
	for (size_t s = 0; s < COUNT_OF(sizes); s++)
		check_size(sizes[s]);
}

/* ---- What it says ---- */

static void show(const char *size, int threads, const char *what, const char *unit, double value)
{
	static const struct measure_variant variants[] = {{.name = "predicted"}};
	struct measure_result result = scale_exact(value);
	char name[64];

	snprintf(name, sizeof name, "scale/%s/%s", what, size);
	scale_report(name, variants, COUNT_OF(variants), threads, unit, &result);
}

static void predict(const struct constants *constants, const char *size, int threads,
		    int processors)
{
	struct scale_load alone = scale_predict(constants->chain[0], 1);
	struct scale_load load = scale_predict_shared(
		network_of(constants, threads, REEL_MAGAZINE_SLABS), threads, processors);
	double speed_up = load.throughput / alone.throughput;

	show(size, threads, "predict", "ns/slab", load.cycle / REEL_MAGAZINE_SLABS);
	show(size, threads, "utilisation", "1", load.utilisation);
	show(size, threads, "speed-up", "1", speed_up);
	scale_plot(threads, size, "model", speed_up);
}

/* At least so high that most of its slabs are on the shared list, not in magazines, when empty. */
static size_t bytes_of_tape(size_t slab_bytes)
{
	size_t least = slab_bytes * SCALE_SWEEP * (scale.quick ? 1 : 2);

	return scale.bytes > least ? scale.bytes : least;
}

void scale_show_predictions(void)
{
	struct constants constants;
	char size[16];

	measure_service();
	for (size_t s = 0; scale_slab_sizes[s]; s++) {
		scale_size_text(scale_slab_sizes[s], size);
		constants = measure_constants(bytes_of_tape(scale_slab_sizes[s]),
					      scale_slab_sizes[s]);
		for (size_t c = 0; c < scale.threads.count; c++)
			predict(&constants, size, scale.threads.of[c], scale.processors);
		for (size_t c = 0; c < scale.predict.count; c++)
			predict(&constants, size, scale.predict.of[c], scale.predict.of[c]);
	}
}
