/* SPDX-License-Identifier: MIT */
/* What reel-scale reckons with: its model, its quantiles, and the order of processors. */
#include <config.h>

#include "helpers/support.h"

#include "histogram.h"
#include "place.h"
#include "scale-model.h"

static bool is_near(double seen, double wanted)
{
	double distance = seen - wanted;

	return distance < 1e-9 * wanted && -distance < 1e-9 * wanted;
}

static struct scale_load load_of(double think, double service, int customers)
{
	return scale_predict((struct scale_network){think, service}, customers);
}

/* ---- The model ---- */

static void one_customer_never_waits(void)
{
	struct scale_load load = load_of(3, 1, 1);

	ok(is_near(load.cycle, 4) && is_near(load.throughput, 0.25),
	   "one customer's cycle is to think and to be served");
	ok(is_near(load.queue, 0.25) && is_near(load.utilisation, 0.25),
	   "the server has it for its service");
}

/* The second finds the first one there for a quarter of the time: 1 + 1/4, and 3. */
static void two_customers_wait_for_each_other(void)
{
	struct scale_load load = load_of(3, 1, 2);

	ok(is_near(load.cycle, 4.25), "the second of two waits by what one has at the server");
	ok(is_near(load.throughput, 2 / 4.25) && is_near(load.utilisation, 2 / 4.25),
	   "throughput and utilisation are those of that cycle");
	ok(is_near(load.queue, 2 / 4.25 * 1.25), "Little's law holds");
	/* And the third: 1 + 10/17, and 3. */
	ok(is_near(load_of(3, 1, 3).cycle, 4 + 10.0 / 17), "so does the third of three");
}

static void without_thought_all_wait(void)
{
	struct scale_load load = load_of(0, 2, 7);

	ok(is_near(load.cycle, 14) && is_near(load.utilisation, 1) && is_near(load.queue, 7),
	   "who does not think is always at the server");
}

static void with_endless_thought_none_waits(void)
{
	struct scale_load load = load_of(1e15, 1, 256);

	ok(is_near(load.throughput, 256 / 1e15), "who thinks for ever does not wait");
	ok(load.utilisation < 1e-12, "and the server is idle");
}

static void no_server_is_more_than_busy(void)
{
	bool holds = true;
	double before = 0;

	for (int customers = 1; customers <= 300; customers++) {
		struct scale_load load = load_of(50, 1, customers);

		holds = holds && load.utilisation <= 1 + 1e-12 && load.throughput > before * (1 - 1e-12) &&
			is_near(load.cycle * load.throughput, customers);
		before = load.throughput;
	}
	ok(holds, "throughput grows with the customers, up to one in a service");
	ok(before > 0.999, "many customers keep the server busy");
}

static void threads_take_turns_on_processors(void)
{
	struct scale_network network = {3, 1};
	struct scale_load two = scale_predict(network, 2);
	struct scale_load eight = scale_predict_shared(network, 8, 2);

	ok(is_near(eight.throughput, two.throughput) && is_near(eight.cycle, 4 * two.cycle),
	   "eight threads on two processors do what two do, each in four times the time");
	ok(is_near(scale_predict_shared(network, 2, 8).cycle, two.cycle),
	   "idle processors change nothing");
}

static void thought_is_found_from_the_cycle(void)
{
	ok(is_near(1 + scale_think(4, 1, 1), 4), "one customer's thought is what is not service");
	ok(is_near(1 + scale_think(4.25, 1, 2), 4), "two customers' thought is less than that");
	ok(scale_think(1, 1, 2) < 1e-9, "a cycle that is too short has no thought");
}

/* ---- Quantiles ---- */

static void small_times_are_exact(void)
{
	static struct histogram histogram;

	for (uint64_t time = 1; time <= 60; time++)
		histogram_add(&histogram, time);
	is_int(histogram_quantile(&histogram, 0.5), 30, "the median of 1 to 60");
	is_int(histogram_quantile(&histogram, 1), 60, "and the most");
}

static void large_times_are_near(void)
{
	static struct histogram histogram, more;
	bool near = true;

	for (uint64_t time = 64; time < (uint64_t)1 << 40; time += time / 3) {
		memset(&histogram, 0, sizeof histogram);
		histogram_add(&histogram, time);
		histogram_add(&histogram, (uint64_t)1 << 41);
		near = near && histogram_quantile(&histogram, 0.5) >= (double)time &&
		       histogram_quantile(&histogram, 0.5) < 1.032 * (double)time;
	}
	ok(near, "a quantile is at most 3.2 %% above the time");
	for (int i = 0; i < 999; i++)
		histogram_add(&more, 10);
	histogram_add(&more, 5000);
	is_int(histogram_quantile(&more, 0.999), 10, "one of a thousand is beyond p99.9");
	is_int(histogram_quantile(&more, 0.9995), 5000, "and it is the rest");
	histogram_merge(&more, &more);
	is_int(more.count, 2000, "merged histograms have the times of both");
	is_int(more.most, 5000, "and the most of both");
}

/* ---- Places ---- */

static struct place two_nodes[] = {
	{7, 1, 9, 7}, {3, 1, 8, 3}, {1, 0, 1, 1}, {4, 0, 0, 4},
	{0, 0, 0, 0}, {5, 0, 1, 5}, {2, 1, 8, 2}, {6, 1, 9, 6},
};

/* Whether threads get the processors whose digits these are. */
static bool is_order(enum place_kind kind, const char *cpus)
{
	struct place place[COUNT(two_nodes)];
	struct places places = {.kind = kind, .count = COUNT(place), .place = place};
	bool same = true;

	memcpy(place, two_nodes, sizeof place);
	places_sort(&places);
	for (size_t i = 0; i < COUNT(place); i++)
		same = same && place[i].cpu == cpus[i] - '0';
	return same;
}

static void places_are_near_or_far(void)
{
	ok(is_order(PLACE_COMPACT, "04152367"), "compact: a core, then the next, then the next node");
	ok(is_order(PLACE_SCATTER, "02164357"),
	   "scatter: the nodes in turn, second processors of cores last");
}

static void this_machine_has_places(void)
{
	struct places places;

	if (places_find(&places, PLACE_SCATTER)) {
		ok(places.count > 0 && places.place[0].node >= 0 && places.place[0].core == 0,
		   "this machine's processors are found");
		places_bind(&places, 1);
	} else {
		tap_skip(1, "the system does not tell its processors");
	}
	places_release(&places);
}

int main(void)
{
	tap_begin();
	tap_case("the model");
	one_customer_never_waits();
	two_customers_wait_for_each_other();
	without_thought_all_wait();
	with_endless_thought_none_waits();
	no_server_is_more_than_busy();
	threads_take_turns_on_processors();
	thought_is_found_from_the_cycle();
	tap_case("quantiles");
	small_times_are_exact();
	large_times_are_near();
	tap_case("places");
	places_are_near_or_far();
	this_machine_has_places();
	return tap_end();
}
