/* SPDX-License-Identifier: MIT */
/*
 * A test whose checks run on the ranks of MPI: the program starts itself by mpirun with 2, 3 and 4
 * ranks, and with 3 in checked mode, and reports their checks. A case returns on each rank whether
 * all was as it should be, and reports mistakes by complain().
 *
 *	int main(int argc, char **argv)
 *	{
 *		return run_on_ranks(argc, argv, cases, COUNT(cases));
 *	}
 */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include "helpers/support.h"

#include <limits.h>
#include <reel/mpi.h>

struct rank_case {
	const char *name;
	bool (*run)(void);
};

static int rank, ranks;

/* Whether the environment asks for checked mode, in which each call has a note. */
static inline bool is_checked(void)
{
	return getenv("REEL_CHECKED") != NULL;
}

static inline bool complain_at(int line, const char *what)
{
	fprintf(stderr, "# rank %d of %d, line %d: %s (%s)\n", rank, ranks, line, what,
		reel_error_text(0));
	return false;
}

/* For checks on ranks: evaluates to whether the condition holds. */
#define holds(condition) ((condition) || complain_at(__LINE__, #condition))

/*
 * A program over `n` doubles of each rank, which it changes in place; or its reverse, over their
 * adjoints. Returns an error.
 */
typedef int rank_program(reel_tape *tape, double *s, bool reverse, void *context);

/*
 * Whether the reverse is the transpose of the program's Jacobian J: for some directions v of one
 * rank each, (J v) . seed, summed over ranks, is v . (the result of the reverse for seed). J v is a
 * difference with step h. All is exact if the program is linear in the numbers of a rank, which
 * are small multiples of powers of 2.
 */
static inline bool transpose_holds(rank_program *program, void *context, int n, const double *s,
				   double h)
{
	enum { MAX = 64, DIRECTIONS = 3 };
	double base[MAX], bar[MAX], seed[MAX], differences[4 * DIRECTIONS] = {0};
	int of_direction = ranks * DIRECTIONS;
	unsigned bits = 12345;
	reel_tape tape = {0};
	bool passed = holds(n <= MAX);

	for (int k = 0; k < n; k++)
		bar[k] = seed[k] = (rank * 5 + k * 3) % 7 - 2;
	memcpy(base, s, (size_t)n * sizeof *s);
	passed &= holds(!program(&tape, base, false, context));
	passed &= holds(!program(&tape, bar, true, context));
	passed &= holds(reel_tape_is_empty(&tape));
	reel_tape_close(&tape);
	for (int d = 0; d < of_direction; d++) {
		double changed[MAX];

		for (int k = 0; k < n; k++) {
			double v = (double)((bits = bits * 1103515245u + 12345u) >> 20 & 3) - 1;

			changed[k] = s[k];
			if (d % ranks == rank) {
				changed[k] += h * v;
				differences[d] -= v * bar[k];
			}
		}
		passed &= holds(!program(NULL, changed, false, context));
		for (int k = 0; k < n; k++)
			differences[d] += (changed[k] - base[k]) / h * seed[k];
	}
	MPI_Allreduce(MPI_IN_PLACE, differences, of_direction, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int d = 0; d < of_direction; d++)
		passed &= holds(differences[d] == 0);
	return holds(!reel_mpi_reverse_end(MPI_COMM_WORLD)) && passed;
}

/* Duplicates of communicators that are not freed. */
static MPI_Comm duplicates[64];
static int duplicate_count;

/* MPI's profiling interface: the library and the test call these in place of MPI's functions. */
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *duplicate)
{
	int code = PMPI_Comm_dup(comm, duplicate);

	if (!code && duplicate_count < (int)COUNT(duplicates))
		duplicates[duplicate_count++] = *duplicate;
	return code;
}

int MPI_Comm_free(MPI_Comm *comm)
{
	for (int i = 0; i < duplicate_count; i++)
		if (duplicates[i] == *comm)
			duplicates[i] = duplicates[--duplicate_count];
	return PMPI_Comm_free(comm);
}

/* On a rank: all cases; each is passed if it is on all ranks. */
static inline int run_cases(const struct rank_case *cases, size_t count)
{
	int failed = 0;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (size_t i = 0; i < count; i++) {
		int passed = cases[i].run(), all;

		MPI_Allreduce(&passed, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		if (rank == 0)
			printf("%s %s\n", all ? "passed" : "failed", cases[i].name);
		failed += !all;
	}
	reel_mpi_detach(MPI_COMM_WORLD);
	if (duplicate_count)
		printf("%d duplicates of communicators are left on rank %d\n", duplicate_count,
		       rank);
	fflush(stdout);
	MPI_Finalize();
	return failed > 0;
}

/* Path of this program, which begin_on_ranks() finds before the test leaves its directory. */
static char program[PATH_MAX];

/* Starts the program with this number of ranks, and makes a check of each line that it prints. */
static inline void start_ranks(int number, size_t cases)
{
	char command[PATH_MAX + 200], line[300];
	bool leaked = false;
	size_t seen = 0;
	FILE *output;

	snprintf(command, sizeof command, "timeout -k 5 400 %s %s -n %d '%s' </dev/null 2>&1",
		 MPIRUN, MPIRUN_FLAGS, number, program);
	fflush(stdout);
	output = popen(command, "r");
	while (output && fgets(line, sizeof line, output)) {
		bool passed = !strncmp(line, "passed ", 7);

		line[strcspn(line, "\n")] = 0;
		leaked |= strstr(line, "are left on rank") || strstr(line, "still allocated");
		if (!passed && strncmp(line, "failed ", 7)) {
			tap_note("%s", line);
			continue;
		}
		ok(passed, "%d ranks%s: %s", number, is_checked() ? ", checked" : "", line + 7);
		seen++;
	}
	ok(output && pclose(output) == 0 && seen == cases && !leaked,
	   "%d ranks%s: all cases were run, and left no communicator or request", number,
	   is_checked() ? ", checked" : "");
}

/* On a rank it ends the process. Otherwise it starts the ranks; other checks may follow. */
static inline void begin_on_ranks(int argc, char **argv, const struct rank_case *cases,
				  size_t count)
{
	if (getenv("TEST_ON_RANKS")) {
		int provided;

		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		exit(run_cases(cases, count));
	}
	if (!realpath(argv[0], program))
		exit(1);
	tap_begin();
	if (!*MPIRUN)
		tap_skip_all("there is no mpirun");
	setenv("TEST_ON_RANKS", "yes", 1);
	/* Ranks that wait leave the processor to others, and need no leave to read their memory. */
	setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
	setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
	unsetenv("REEL_CHECKED");
	for (int number = 2; number <= 4; number++)
		start_ranks(number, count);
}

/* The same cases in checked mode, after begin_on_ranks(). */
static inline void check_on_ranks(size_t count)
{
	setenv("REEL_CHECKED", "1", 1);
	start_ranks(3, count);
	unsetenv("REEL_CHECKED");
}

static inline int run_on_ranks(int argc, char **argv, const struct rank_case *cases, size_t count)
{
	/* Open MPI tells of communicators with requests at the end. */
	setenv("OMPI_MCA_mpi_show_handle_leaks", "1", 1);
	begin_on_ranks(argc, argv, cases, count);
	check_on_ranks(count);
	return tap_end();
}

#endif
