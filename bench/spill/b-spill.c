/* SPDX-License-Identifier: MIT */
/*
 * A tape of eight times its budget, up and down again, with more and less calculation
 * beside it; against the shortest possible time, and against a mapped file and stdio.
 */
#include "config.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "spill.h"

size_t spill_budget(void)
{
	return (bench_is_quick() ? 32 : 256) * MIB;
}

size_t spill_tape_bytes(void)
{
	return 8 * spill_budget();
}

unsigned spill_rounds(void)
{
	return bench_is_quick() ? 3 : 5;
}

static uint64_t room(void)
{
	struct statvfs system;

	if (statvfs(bench_directory(), &system))
		return 0;
	return (uint64_t)system.f_bavail * system.f_frsize;
}

/* Said once, and all else is measured. */
static bool is_on_a_disk(void)
{
	static bool asked, answer;
	reel_store *store;

	if (asked)
		return answer;
	asked = true;
	answer = !reel_store_open(&store, "file", bench_directory());
	if (answer)
		reel_store_close(store);
	else
		fprintf(stderr, "reel-bench: spill/ is left out: %s; choose another --directory\n",
			reel_error_text(0));
	return answer;
}

bool spill_starts(const struct bench_case *one, size_t bytes)
{
	if (!bench_starts(one) || !is_on_a_disk())
		return false;
	if (room() / 5 > bytes / 4)
		return true;
	fprintf(stderr, "reel-bench: %s is left out: %s has no room for %zu bytes\n", one->name,
		bench_directory(), bytes / 4 * 5);
	return false;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static struct measure_result bound(const struct measure_result *results)
{
	const struct measure_result *in_memory = &results[SPILL_IN_MEMORY];
	const struct measure_result *one = &results[SPILL_ONE_AT_A_TIME];
	const struct measure_result *four = &results[SPILL_FOUR_AT_A_TIME];

	return (struct measure_result){
		.median = larger(in_memory->median, smaller(one->median, four->median)),
		.lower = larger(in_memory->lower, smaller(one->lower, four->lower)),
		.upper = larger(in_memory->upper, smaller(one->upper, four->upper)),
		.most = larger(in_memory->most, smaller(one->most, four->most)),
	};
}

void spill_measure(const struct bench_case *named, struct measure_variant *variants, size_t count,
		   size_t n)
{
	struct measure_result results[SPILL_VARIANTS];
	struct bench_case all = *named, measured = *named;

	variants[SPILL_BOUND].name = "compute or transfer";
	variants[SPILL_ONE_AT_A_TIME].name = "plain transfer, one";
	variants[SPILL_FOUR_AT_A_TIME].name = "plain transfer, four";
	all.variants = variants;
	all.count = count;
	measured.variants = variants + 1;
	measured.count = count - 1;
	bench_measure(&measured, n, results + 1);
	results[SPILL_BOUND] = bound(results);
	bench_report(&all, n, "ns/byte", results);
}

/* ---- One sweep ---- */

enum { REEL = SPILL_OTHERS, MAPPED, STDIO };

struct sweep {
	struct spill_plain plain[2];
	struct spill_tape in_memory, reel;
	struct spill_peer mapped, stdio;
};

/* The files and the memory serve all sweeps: fresh ones cost more. */
static struct sweep sweep;
static bool sweep_is_open;

static void open_sweep(void)
{
	spill_plain_open(sweep.plain, spill_tape_bytes(), spill_budget());
	spill_open(&sweep.in_memory, NULL, 0);
	spill_open(&sweep.reel, "file", spill_budget());
	spill_mapped_open(&sweep.mapped, spill_tape_bytes(), spill_budget());
	spill_stdio_open(&sweep.stdio, spill_budget());
	sweep_is_open = true;
}

static void close_sweep(void)
{
	if (!sweep_is_open)
		return;
	spill_plain_close(sweep.plain);
	spill_close(&sweep.in_memory);
	spill_close(&sweep.reel);
	spill_mapped_close(&sweep.mapped, spill_tape_bytes());
	spill_stdio_close(&sweep.stdio);
}

static void set_work(double work)
{
	sweep.in_memory.load = sweep.reel.load = spill_load(work);
	sweep.mapped.load = sweep.stdio.load = spill_load(work);
}

static void set_forward(struct measure_variant *variants)
{
	variants[SPILL_IN_MEMORY].run = variants[REEL].run = spill_run_push;
	variants[SPILL_IN_MEMORY].after = variants[REEL].after = spill_after_push;
	variants[SPILL_ONE_AT_A_TIME].run = variants[SPILL_FOUR_AT_A_TIME].run =
		spill_plain_write;
	variants[MAPPED].run = spill_mapped_push;
	variants[STDIO].run = spill_stdio_push;
	variants[MAPPED].after = variants[STDIO].after = spill_peer_forget;
}

static void set_reverse(struct measure_variant *variants)
{
	variants[SPILL_IN_MEMORY].run = variants[REEL].run = spill_run_pop;
	variants[SPILL_IN_MEMORY].before = variants[REEL].before = spill_before_pop;
	variants[SPILL_ONE_AT_A_TIME].run = variants[SPILL_FOUR_AT_A_TIME].run =
		spill_plain_read;
	variants[MAPPED].run = spill_mapped_pop;
	variants[MAPPED].before = spill_mapped_before_pop;
	variants[STDIO].run = spill_stdio_pop;
	variants[STDIO].before = spill_stdio_before_pop;
	variants[MAPPED].after = variants[STDIO].after = spill_peer_forget;
}

static void measure_sweep(const struct bench_case *named, bool forward, bool with_peers)
{
	struct measure_variant variants[SPILL_VARIANTS] = {
		[SPILL_IN_MEMORY] = {.name = "all in memory", .context = &sweep.in_memory},
		[SPILL_ONE_AT_A_TIME] = {.context = &sweep.plain[0]},
		[SPILL_FOUR_AT_A_TIME] = {.context = &sweep.plain[1]},
		[REEL] = {.name = "reel, budget", .context = &sweep.reel},
		[MAPPED] = {.name = "mapped file", .context = &sweep.mapped},
		[STDIO] = {.name = "stdio files", .context = &sweep.stdio},
	};

	(forward ? set_forward : set_reverse)(variants);
	spill_measure(named, variants, with_peers ? STDIO + 1 : REEL + 1, spill_tape_bytes());
}

static void sweep_case(double work, bool forward, bool with_peers)
{
	char name[64];
	struct bench_case named = {.name = name, .rounds = spill_rounds()};

	snprintf(name, sizeof name, "spill/%s/%g", forward ? "forward" : "reverse", work);
	if (!spill_starts(&named, 5 * spill_tape_bytes()))
		return;
	if (!sweep_is_open)
		open_sweep();
	set_work(work);
	measure_sweep(&named, forward, with_peers);
}

/* The quick ones are those with peers beside them; these are slow, and are left out of one. */
static void sweep_cases(void)
{
	static const struct {
		double work;
		bool with_peers;
	} cases[] = {{0, true}, {0.15, false}, {0.3, true}, {0.6, false}, {1, false}};

	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		double work = cases[c].work;
		bool with_peers = cases[c].with_peers && !(bench_is_quick() && work > 0);

		if (bench_is_quick() && !cases[c].with_peers)
			continue;
		sweep_case(work, true, with_peers);
		sweep_case(work, false, with_peers);
	}
	close_sweep();
}

void bench_spill(void)
{
	sweep_cases();
	spill_shared_cases();
	spill_rank_cases();
	spill_size_cases();
	spill_cost_cases();
	spill_codec_cases();
	spill_parcel_cases();
}
