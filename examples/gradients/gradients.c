/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const struct example *const examples[] = {&burgers_1d, &burgers_2d, &mlp, &lorenz,
						 &cholesky};

#define EXAMPLES (sizeof examples / sizeof *examples)

#define MAX_THREADS 1024

/* 0: the example's own, or the number of threads. */
static struct {
	int threads, reverse_threads, lanes, size, steps;
} options;

static int help(void)
{
	puts("Usage: gradients EXAMPLE... [OPTION]...\n"
	     "Gradients of programs with OpenMP, by Reel; and whether they are right.\n"
	     "\n"
	     "  burgers-1d   a time loop within one region, with a barrier in each step\n"
	     "  burgers-2d   the same in two dimensions\n"
	     "  mlp          samples in parallel, with weights that all of them share\n"
	     "  lorenz       trajectories in a dynamic loop, with rates that all of them share\n"
	     "  cholesky     a blocked factorisation by tasks with dependences\n"
	     "  all          each of them\n"
	     "\n"
	     "  --threads N          of the forward sweep (default: as OpenMP does)\n"
	     "  --reverse-threads N  of the reverse sweep (default: the same)\n"
	     "  --lanes N            of a region (default: as many as threads)\n"
	     "  --size N             cells, cells each way, samples, trajectories, blocks\n"
	     "  --steps N            time steps, hidden layers, ridges\n"
	     "  --help\n"
	     "\n"
	     "Exit status: 0, 1 if a gradient is wrong, 2 if the input is unusable.");
	return 0;
}

static int refuse(const char *what, const char *why)
{
	fprintf(stderr, "gradients: %s: %s; see gradients --help\n", what, why);
	return 2;
}

static bool read_number(const char *text, int *number)
{
	char *end;
	long read;

	errno = 0;
	read = strtol(text, &end, 10);
	*number = (int)read;
	return end != text && !*end && !errno && read >= 1 && read <= 100000000;
}

/* 0; -1: help is asked for; else a status to exit with. */
static int read_options(int argc, char **argv)
{
	static const struct option names[] = {{"threads", required_argument, NULL, 't'},
					      {"reverse-threads", required_argument, NULL, 'r'},
					      {"lanes", required_argument, NULL, 'l'},
					      {"size", required_argument, NULL, 'n'},
					      {"steps", required_argument, NULL, 's'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		int *number = option == 't'   ? &options.threads
			      : option == 'r' ? &options.reverse_threads
			      : option == 'l' ? &options.lanes
			      : option == 'n' ? &options.size
					      : &options.steps;

		if (option == 'h')
			return -1;
		if (option == '?')
			return refuse(argv[optind - 1], "no such option, or its number is missing");
		if (!read_number(optarg, number))
			return refuse(optarg, "give a whole number from 1 on");
	}
	if (options.threads > MAX_THREADS || options.reverse_threads > MAX_THREADS ||
	    options.lanes > MAX_THREADS)
		return refuse("--threads, --lanes", "at most 1024");
	return optind < argc ? 0 : refuse("EXAMPLE", "missing: one of them, or all");
}

/* Whether the example can be as large as that. */
static bool fits(const struct example *example)
{
	char most[128];

	if (options.size <= example->max_size && options.steps <= example->max_steps)
		return true;
	snprintf(most, sizeof most, "--size is at most %d (%s), --steps at most %d (%s)",
		 example->max_size, example->what_size, example->max_steps, example->what_steps);
	refuse(example->name, most);
	return false;
}

static bool run(const struct example *example)
{
	int threads = options.threads ? options.threads : omp_get_max_threads();
	struct problem *problem = example->open(options.size ? options.size : example->size,
						options.steps ? options.steps : example->steps,
						options.lanes ? options.lanes : threads);
	bool good = check_example(example, problem, threads,
				  options.reverse_threads ? options.reverse_threads : threads);

	example->close(problem);
	return good;
}

int main(int argc, char **argv)
{
	int status = read_options(argc, argv), known;

	if (status)
		return status < 0 ? help() : status;
	omp_set_dynamic(0);
	for (int a = optind; a < argc; a++) {
		known = 0;
		for (size_t e = 0; e < EXAMPLES; e++) {
			if (strcmp(argv[a], examples[e]->name) && strcmp(argv[a], "all"))
				continue;
			known++;
			if (!fits(examples[e]))
				return 2;
			status |= !run(examples[e]);
		}
		if (!known)
			return refuse(argv[a], "no such example");
	}
	return status;
}
