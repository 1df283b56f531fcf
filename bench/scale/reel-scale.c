/* SPDX-License-Identifier: MIT */
/* How tapes, their pool and parallel regions scale with threads. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "common/plot.h"
#include "pool/pool.h"
#include "common/report.h"
#include "scale.h"

enum { MAX_THREADS = 1024 };

const char *const bench_program = "reel-scale";

struct scale_options scale = {.bytes = 8 << 20, .rounds = 7, .tries = 3};

static const char *json_path, *plot_path;

bool bench_is_listing(void)
{
	return false;
}

/* ---- Common parts of the subjects ---- */

reel_pool *scale_pool(size_t slab_bytes, unsigned magazine_slabs, int threads)
{
	struct reel_pool_options options = {.slab_bytes = slab_bytes,
					    .first_slab_bytes = slab_bytes,
					    .magazine_slabs = magazine_slabs};
	size_t count = (size_t)threads * SCALE_SWEEP;
	struct reel_slab **slabs = calloc(count, sizeof *slabs);
	reel_pool *pool;

	if (!slabs || reel_pool_open(&pool, &options))
		abort();
	for (size_t i = 0; i < count; i++)
		if (reel_pool_take(pool, REEL_SLAB_WHOLE, 0, &slabs[i]))
			abort();
	while (count-- > 0)
		reel_pool_give(pool, slabs[count]);
	reel_pool_flush(pool);
	free(slabs);
	return pool;
}

void scale_report(const char *name, const struct measure_variant *variants, size_t count,
		  int threads, const char *unit, const struct measure_result *results)
{
	struct bench_case one = {.name = name, .variants = variants, .count = count};

	bench_report(&one, (size_t)threads, unit, results);
}

void scale_plot(int threads, const char *slab, const char *variant, double speed_up)
{
	char row[32], panel[32];

	snprintf(row, sizeof row, "%d thread%s", threads, threads > 1 ? "s" : "");
	snprintf(panel, sizeof panel, "slabs of %s", slab);
	plot_dot(row, panel, variant, speed_up);
}

/* ---- The command line ---- */

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "reel-scale: %s: %s; see reel-scale --help\n", what, why);
	return 2;
}

/* Numbers of threads, ascending. */
static bool read_counts(struct scale_counts *counts, size_t most, const char *text)
{
	char *end = NULL;

	counts->count = 0;
	do {
		long number = strtol(text, &end, 10);

		if (end == text || number < 1 || number > MAX_THREADS || counts->count == most ||
		    (counts->count && number <= counts->of[counts->count - 1]))
			return false;
		counts->of[counts->count++] = (int)number;
		text = end + 1;
	} while (*end == ',');
	return *end == '\0';
}

static bool read_place(enum place_kind *kind, const char *text)
{
	static const char *const kinds[] = {"none", "compact", "scatter"};

	for (size_t k = 0; k < COUNT_OF(kinds); k++)
		if (strcmp(text, kinds[k]) == 0) {
			*kind = (enum place_kind)k;
			return true;
		}
	return false;
}

/* Mebibytes. */
static bool read_bytes(size_t *bytes, const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*bytes = (size_t)number << 20;
	return end != text && *end == '\0' && number >= 2 && number <= 4096 && number % 2 == 0;
}

/* 1, 2, 4, ... up to the number of processors; that number; and four times that number. */
static void set_default_counts(struct scale_counts *counts, int processors)
{
	for (int n = 1; n < processors && counts->count < MAX_COUNTS - 2; n *= 2)
		counts->of[counts->count++] = n;
	counts->of[counts->count++] = processors;
	counts->of[counts->count++] = 4 * processors;
}

static int read_option(int option, enum place_kind *kind)
{
	if (option == 't' && !read_counts(&scale.threads, MAX_COUNTS, optarg))
		return refuse(optarg, "--threads takes up to 12 numbers, ascending, as in 1,2,8");
	if (option == 'a' && !read_place(kind, optarg))
		return refuse(optarg, "--place takes compact, scatter or none");
	if (option == 'm' && !read_bytes(&scale.bytes, optarg))
		return refuse(optarg, "--mebibytes takes an even number up to 4096");
	if (option == 'q')
		scale.quick = true;
	if (option == 'j')
		json_path = optarg;
	if (option == 'p')
		plot_path = optarg;
	return 0;
}

static int read_options(int argc, char **argv, enum place_kind *kind)
{
	static const struct option names[] = {{"threads", required_argument, NULL, 't'},
					      {"place", required_argument, NULL, 'a'},
					      {"mebibytes", required_argument, NULL, 'm'},
					      {"quick", no_argument, NULL, 'q'},
					      {"json", required_argument, NULL, 'j'},
					      {"plot", required_argument, NULL, 'p'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int option, status = 0;

	opterr = 0;
	while (!status && (option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'h')
			return -1;
		if (option == '?')
			return refuse(argv[optind - 1],
				      "no such option, or its argument is missing");
		status = read_option(option, kind);
	}
	if (!status && optind < argc)
		return refuse(argv[optind], "no argument is taken");
	return status;
}

static int help(void)
{
	puts("Usage: reel-scale [OPTION]...\n"
	     "Measure how tapes, their pool and parallel regions scale with threads. n is the\n"
	     "number of threads. GB/s are of all threads together, times are of one thread.\n"
	     "bench/SCALING.md explains the cases.\n"
	     "\n"
	     "  --threads LIST    numbers of threads, such as 1,2,8, also more than processors;\n"
	     "                    default: 1, 2, 4, ..., all processors, and four times those\n"
	     "  --place PLACE     bind threads to processors. compact: neighbours first\n"
	     "                    (default); scatter: the NUMA nodes in turn; none: do not bind\n"
	     "  --mebibytes N     size of the tape of each thread; default: 8\n"
	     "  --quick           less work in each round: a few seconds for a few threads\n"
	     "  --json FILE       also write one JSON object a line for each result\n"
	     "  --plot FILE       also draw the speed-ups as SVG\n"
	     "  --help            this text");
	return 0;
}

/* A pool has at most 2^20 slabs. */
static bool tapes_fit(void)
{
	size_t most = (size_t)scale.threads.of[scale.threads.count - 1];

	return most * (scale.bytes / scale_slab_sizes[0] + 2 * SCALE_SWEEP) <= (size_t)1 << 20;
}

static void prepare(enum place_kind kind)
{
	bool known = places_find(&scale.places, kind);

	if (!known && kind != PLACE_NONE)
		fputs("reel-scale: the system does not tell its processors: no thread is bound\n",
		      stderr);
	scale.processors = known ? (int)scale.places.count : 1;
	if (!scale.threads.count)
		set_default_counts(&scale.threads, scale.processors);
	if (scale.quick) {
		scale.rounds = 3;
		scale.tries = 1;
		scale.bytes = 2 << 20;
	}
	plot_entitle("Speed-up by threads",
		     "Speed-up over one thread, logarithmic, more is better");
}

static void describe(void)
{
	static const char *const kinds[] = {"not bound", "compact", "scatter"};
	int nodes = 0;

	for (size_t i = 0; i < scale.places.count; i++)
		if (scale.places.place[i].node >= nodes)
			nodes = scale.places.place[i].node + 1;
	fprintf(stderr, "%d processors, %d NUMA nodes; threads: %s; pool list: %s\n",
		scale.processors, nodes, kinds[scale.places.kind], reel_pool_implementation());
}

int main(int argc, char **argv)
{
	enum place_kind kind = PLACE_COMPACT;
	int status = read_options(argc, argv, &kind);

	if (status)
		return status < 0 ? help() : status;
	prepare(kind);
	if (!tapes_fit())
		return refuse("--threads",
			      "too many for tapes of this size: make them smaller by --mebibytes");
	if (!report_open(json_path, plot_path))
		return 2;
	describe();
	scale_bench_pool();
	scale_bench_latency();
	scale_bench_tails();
	scale_bench_tapes();
	scale_bench_regions();
	scale_bench_phases();
	places_release(&scale.places);
	return report_close() ? 0 : 1;
}
