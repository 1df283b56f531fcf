/* SPDX-License-Identifier: MIT */
/*
 * The gradient of a whole program is the same, bit for bit, whatever is switched off. Options that
 * can only be chosen when the library is built are tested by `make check-equivalence`, which
 * compares the output of this program.
 */
#include <config.h>

#include <string.h>

#include "helpers/cancel-support.h"
#include "store/crc32c.h"
#include "helpers/gradient-program.h"
#include "helpers/support.h"
#include "tape/tape.h"

#define MIB ((size_t)1 << 20)

/* The library has no switch for reading ahead, so the function is wrapped. */
static bool reads_ahead = true;

void __real_reel_below_read_ahead(reel_tape *tape);
void __wrap_reel_below_read_ahead(reel_tape *tape);

void __wrap_reel_below_read_ahead(reel_tape *tape)
{
	if (reads_ahead)
		__real_reel_below_read_ahead(tape);
}

static void all_on(struct gradient_options *options)
{
	(void)options;
}

static void no_magazines(struct gradient_options *options)
{
	options->magazine_slabs = 1;
}

static void no_reading_ahead(struct gradient_options *options)
{
	reads_ahead = false;
	options->gets = 1;
}

static void no_spill(struct gradient_options *options)
{
	options->slabs = 0;
}

static void no_compression(struct gradient_options *options)
{
	options->compressed = false;
}

static void no_inlining(struct gradient_options *options)
{
	options->calls = true;
}

static void huge_pages(struct gradient_options *options)
{
	options->slabs = 0;
	options->slab_bytes = 2 * MIB;
}

static void huge_pages_alone(struct gradient_options *options)
{
	huge_pages(options);
	options->flags = REEL_POOL_HUGE_PAGES;
}

static void no_huge_pages(struct gradient_options *options)
{
	huge_pages(options);
	options->flags = REEL_POOL_SMALL_PAGES;
}

static void one_thread(struct gradient_options *options)
{
	options->threads = 1;
}

static void more_threads_than_lanes(struct gradient_options *options)
{
	options->threads = options->threads > 1 ? GRADIENT_LANES + 1 : 1;
}

static void checked(struct gradient_options *options)
{
	options->flags = REEL_POOL_CHECKED;
	options->slabs *= 2;
}

static void no_adstack(struct gradient_options *options)
{
	options->adstack = false;
}

static void no_restart_file(struct gradient_options *options)
{
	options->restart = NULL;
}

static const struct variant {
	const char *name;
	void (*change)(struct gradient_options *options);
	bool spills;
} variants[] = {
	{"everything", all_on, true},
	{"no magazines", no_magazines, true},
	{"no reading ahead", no_reading_ahead, true},
	{"no spill", no_spill, false},
	{"no compression", no_compression, true},
	{"no inlining", no_inlining, true},
	{"pages by their costs", huge_pages, false},
	{"huge pages", huge_pages_alone, false},
	{"no huge pages", no_huge_pages, false},
	{"one thread", one_thread, true},
	{"more threads than lanes", more_threads_than_lanes, true},
	{"checked mode", checked, true},
	{"no adstack", no_adstack, true},
	{"no restart file", no_restart_file, true},
};

static void try_variant(const struct variant *variant, const struct gradient *expected)
{
	struct gradient_options options = gradient_defaults();
	struct gradient_report report;
	struct gradient gradient;

	reads_ahead = true;
	variant->change(&options);
	tap_case(variant->name);
	if (!is_int(gradient_run(&options, &gradient, &report), 0, "runs"))
		tap_note("%s", report.message);
	ok(!memcmp(&gradient, expected, sizeof gradient), "the same gradient");
	is_int(report.read_bytes > 0, variant->spills, "%s",
	       variant->spills ? "spilled" : "in memory");
}

struct run {
	struct gradient_options options;
	struct gradient gradient;
	struct gradient_report report;
	int error;
};

static void run_program(void *argument)
{
	struct run *run = argument;

	run->error = gradient_run(&run->options, &run->gradient, &run->report);
}

/* One thread: waiting for others is a cancellation point in some OpenMP runtimes. */
static void a_cancelled_thread_comes_to_the_end(const struct gradient *expected)
{
	struct run run = {.options = gradient_defaults()};

	run.options.threads = 1;
	tap_case("a thread that is cancelled");
	ok(outlasts_cancellation(run_program, &run),
	   "a thread that is cancelled ends after the program");
	is_int(run.error, 0, "the program of a cancelled thread runs");
	ok(!memcmp(&run.gradient, expected, sizeof *expected), "the same gradient");
}

int main(void)
{
	struct gradient_options options = gradient_defaults();
	struct gradient expected;

	tap_begin();
	gradient_expected(&options, &expected);
	for (size_t i = 0; i < COUNT(variants); i++)
		try_variant(&variants[i], &expected);
	a_cancelled_thread_comes_to_the_end(&expected);
	tap_note("gradient %08x in %zu variants", reel_crc32c(0, &expected, sizeof expected),
		 COUNT(variants));
	return tap_end();
}
