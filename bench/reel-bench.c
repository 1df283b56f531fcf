/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <getopt.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bench.h"
#include "common/report.h"

#define MAX_VARIANTS 16

const char *const bench_program = "reel-bench";

static void (*const subjects[])(void) = {
#if REEL_BENCH_DROPIN
	bench_dropin,
#else
	bench_floor, bench_bulk, bench_record, bench_single, bench_cold, bench_open, bench_threads,
	bench_recording, bench_sum, bench_kernels, bench_peer, bench_memory_held, bench_spill,
	bench_gpu, bench_plan, bench_checkpoint,
#if HAVE_OPENMP
	bench_lookahead, bench_adjoint, bench_omp, bench_sedov,
#endif
	bench_instructions,
#if defined(HAVE_CXX)
	bench_clad, bench_cplusplus,
#endif
#endif
};

static struct {
	bool quick;
	bool list;
	bool filtered;
	unsigned rounds; /* 0: as each case asks for */
	regex_t filter;
	const char *json_path;
	const char *plot_path;
	const char *directory;
} options;

bool bench_is_quick(void)
{
	return options.quick;
}

bool bench_is_listing(void)
{
	return options.list;
}

const char *bench_directory(void)
{
	const char *directory = options.directory ? options.directory : getenv("TMPDIR");

	return directory ? directory : "/var/tmp";
}

static bool selected(const char *name)
{
	return !options.filtered || regexec(&options.filter, name, 0, NULL, 0) == 0;
}

bool bench_wants(const struct bench_case *cases, size_t count)
{
	for (size_t c = 0; c < count; c++)
		if (selected(cases[c].name))
			return true;
	return false;
}

static void show_progress(const struct bench_case *one, size_t n)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%-24s n = %zu ...\033[K", one->name, n);
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

bool bench_starts(const struct bench_case *one)
{
	bool wanted = selected(one->name);

	if (wanted && options.list)
		puts(one->name);
	return wanted && !options.list;
}

void bench_measure(const struct bench_case *one, size_t n, struct measure_result *results)
{
	unsigned rounds = options.quick ? one->rounds / 2 + 1 : one->rounds;

	show_progress(one, n);
	measure_in_turns(one->variants, one->count, n, options.rounds ? options.rounds : rounds,
			 results);
	end_progress();
}

void bench_run(const struct bench_case *one)
{
	struct measure_result results[MAX_VARIANTS];

	if (!bench_starts(one))
		return;
	for (size_t s = 0; s < MAX_SIZES && one->sizes[s]; s++) {
		if (options.quick && one->sizes[s] > one->quick_largest)
			break;
		bench_measure(one, one->sizes[s], results);
		bench_report(one, one->sizes[s], "ns/value", results);
	}
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "reel-bench: %s: %s; see reel-bench --help\n", what, why);
	return 2;
}

static bool read_rounds(const char *text)
{
	char *end;
	unsigned long rounds = strtoul(text, &end, 10);

	options.rounds = (unsigned)rounds;
	return end != text && !*end && rounds >= 1 && rounds <= MEASURE_MAX_ROUNDS;
}

static int read_options(int argc, char **argv)
{
	static const struct option names[] = {{"quick", no_argument, NULL, 'q'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"only", required_argument, NULL, 'o'},
					      {"json", required_argument, NULL, 'j'},
					      {"plot", required_argument, NULL, 'p'},
					      {"directory", required_argument, NULL, 'd'},
					      {"list", no_argument, NULL, 'l'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (option == 'q')
			options.quick = true;
		else if (option == 'l')
			options.list = true;
		else if (option == 'j')
			options.json_path = optarg;
		else if (option == 'p')
			options.plot_path = optarg;
		else if (option == 'd')
			options.directory = optarg;
		else if (option == 'h')
			return -1;
		else if (option == 'r' && !read_rounds(optarg))
			return refuse(optarg, "--rounds takes a number from 1 to 64");
		else if (option == 'r')
			continue;
		else if (option != 'o')
			return refuse(argv[optind - 1],
				      "no such option, or its argument is missing");
		else if (regcomp(&options.filter, optarg, REG_EXTENDED | REG_NOSUB))
			return refuse(optarg, "no regular expression");
		else
			options.filtered = true;
	}
	return optind < argc ? refuse(argv[optind], "no argument is taken") : 0;
}

static int help(void)
{
	puts("Usage: reel-bench [OPTION]...\n"
	     "Compare the cost of Reel with the cost of other tapes. Times are nanoseconds a\n"
	     "value; `ratio` is to the variant that has 1.00; `faults` are pages a run. Cases\n"
	     "memory/ are bytes, instructions/ are instructions a value, spill/ and gpu/ are\n"
	     "times a byte of tape.\n"
	     "\n"
	     "  --quick       small sizes, fewer rounds: under 45 seconds in all\n"
	     "  --rounds N    rounds of each case; the default is the case's own number\n"
	     "  --only REGEX  only the cases whose names match\n"
	     "  --json FILE   also write one JSON object a line for each result\n"
	     "  --plot FILE   also draw the kernels' gradients over their primals as SVG\n"
	     "  --directory DIRECTORY\n"
	     "                directory on a disk, for spill/; else TMPDIR, or /var/tmp\n"
	     "  --list        list the cases\n"
	     "  --help        this text");
	return 0;
}

int main(int argc, char **argv)
{
	int status = read_options(argc, argv);

	if (status)
		return status < 0 ? help() : status;
	if (!options.list && !report_open(options.json_path, options.plot_path))
		return 2;
	for (size_t s = 0; s < COUNT_OF(subjects); s++)
		subjects[s]();
	return options.list || report_close() ? 0 : 1;
}
