/* SPDX-License-Identifier: MIT */
/*
 * Tests the events of regions in a trace: their lanes, waits between phases, and regions in lanes.
 */
#include "config.h"

#include "helpers/thread-team.h"
#include "helpers/trace-support.h"

#include <reel/region.h>

#define LANES 3
#define PHASES 2
#define THREADS 2

static void take_lanes(reel_worker *worker, int inner)
{
	while (reel_worker_next(worker)) {
		reel_region *region;
		reel_worker own;

		if (!inner)
			continue;
		region = inner > 0 ? reel_region_begin(worker->lane, 1)
				   : reel_region_reverse(worker->lane);
		own = reel_worker_begin(region, 0, 1);
		take_lanes(&own, 0);
		reel_region_end(region);
	}
}

struct pass {
	reel_region *region;
	int direction;
};

/* The last phase has regions in its lanes. */
static void run_phases(const struct member *member)
{
	const struct pass *pass = member->team->context;
	reel_worker worker = reel_worker_begin(pass->region, member->number, THREADS);

	for (int phase = 0; phase < PHASES; phase++) {
		bool has_inner = pass->direction > 0 ? phase == PHASES - 1 : phase == 0;

		if (phase)
			reel_worker_barrier(&worker);
		take_lanes(&worker, has_inner ? pass->direction : 0);
	}
}

static void run_region(reel_region *region, int direction)
{
	run_team(THREADS, run_phases, &(struct pass){region, direction});
	reel_region_end(region);
}

static int run_program(void)
{
	reel_pool *pool = open_pool(TINY);
	reel_lane *root;

	if (reel_lane_open(&root, pool, 0))
		return 1;
	run_region(reel_region_begin(root, LANES), 1);
	run_region(reel_region_reverse(root), -1);
	reel_lane_close(root);
	return reel_pool_close(pool) != 0;
}

/* Returns true if regions and lanes that begin inside another one of their track end inside it. */
static bool is_nested(const struct trace *trace)
{
	long long begin[64], end[64], track[64];
	int n = 0;

	for (int i = 0; i < trace->events && n < 64; i++) {
		if (!strstr(trace->event[i], "\"cat\":\"region\""))
			continue;
		begin[n] = number_in(trace->event[i], "ts");
		end[n] = begin[n] + number_in(trace->event[i], "dur");
		track[n++] = number_in(trace->event[i], "tid");
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < i; j++)
			if (track[i] == track[j] &&
			    (begin[i] > begin[j] ? begin[i] < end[j] && end[i] > end[j]
						 : begin[j] < end[i] && end[j] > end[i]))
				return false;
	return n > 0;
}

int main(int argc, char **argv)
{
	struct trace trace;

	(void)argv;
	if (argc == 3)
		return run_program();
	tap_begin();
	is_int(run_traced("regions.json", "", ""), 0, "regions, forward and reverse, with a trace");
	trace = read_trace("regions.json");
	ok(!trace.wrong_lines && trace.is_closed, "the trace is whole");
	is_int(count_events(&trace, "region"), 1 + LANES, "regions");
	is_int(count_events(&trace, "region, reverse"), 1 + LANES, "and those in reverse");
	is_int(sum_of(&trace, "region", "lanes"), LANES + LANES, "their lanes");
	is_int(sum_of(&trace, "region, reverse", "phases"), PHASES + LANES, "their phases");
	is_int(count_events(&trace, "lane"), 2 * (LANES * PHASES + LANES),
	       "each lane in each phase");
	is_int(count_events(&trace, "wait for threads"), 2 * (PHASES - 1) * THREADS,
	       "waits between phases");
	ok(is_nested(&trace), "what lies within another one ends within it");
	close_trace(&trace);
	return tap_end();
}
