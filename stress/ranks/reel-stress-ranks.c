/* SPDX-License-Identifier: MIT */
/* Options; programs one after the other; failures, and ranks that hang. */
#include <config.h>

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

struct whereabouts whereabouts;

static struct {
	uint64_t seed;
	long programs;
	unsigned patience; /* seconds for one program */
	bool show;
	const char *pretend; /* NULL, or a failure on purpose: "wrong", "hang" */
} options = {1, 100, 60, false, NULL};

/* Communicators are made anew from time to time, so that they are also freed. */
enum { PROGRAMS_OF_COMMUNICATORS = 32 };

/* Memory that requests point to: it stays in its place. */
static struct memory x, bar, after[MAX_OPERATIONS], bars[MAX_OPERATIONS + 1];

/* ---- Failures ---- */

static void say_again(void)
{
	fprintf(stderr,
		"# to run it again: mpirun -n %d reel-stress-ranks --seed %llu --programs 1\n",
		whereabouts.ranks, (unsigned long long)program.seed);
}

void fail(const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "not ok - seed %llu, rank %d of %d, operation %d%s, %s (message %d): ",
		(unsigned long long)program.seed, whereabouts.rank, whereabouts.ranks,
		whereabouts.operation, whereabouts.reverse ? " in reverse" : "", whereabouts.doing,
		whereabouts.message);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	print_program(whereabouts.operation + 1);
	say_again();
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

void must(int error, const char *call)
{
	if (error)
		fail("%s returns %d: %s", call, error, reel_error_text(0));
}

/* Each rank says where it is: the ranks began the program at about the same time. */
static void hang(int number)
{
	char line[300];
	int n = snprintf(line, sizeof line,
			 "not ok - seed %llu: rank %d of %d hangs in operation %d%s, in %s "
			 "(message %d)\n# to run it again: mpirun -n %d reel-stress-ranks --seed "
			 "%llu --programs 1 --show\n",
			 (unsigned long long)program.seed, whereabouts.rank, whereabouts.ranks,
			 whereabouts.operation, whereabouts.reverse ? " in reverse" : "",
			 whereabouts.doing, whereabouts.message, whereabouts.ranks,
			 (unsigned long long)program.seed);
	ssize_t written = write(STDERR_FILENO, line, (size_t)n);

	(void)number;
	(void)written;
	sleep(2);
	_exit(1);
}

/* ---- Communicators, as program.c describes them ---- */

static void make_communicators(void)
{
	struct communicator *c = program.communicator;
	int size = whereabouts.ranks > 2 ? whereabouts.ranks - 1 : whereabouts.ranks, periodic = 1;
	MPI_Comm half;

	c[0].comm = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &c[1].comm);
	MPI_Comm_split(MPI_COMM_WORLD, whereabouts.rank % 2, -whereabouts.rank, &half);
	c[2].comm = whereabouts.rank % 2 ? MPI_COMM_NULL : half;
	c[3].comm = whereabouts.rank % 2 ? half : MPI_COMM_NULL;
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &c[4].comm);
	for (int i = 0; i < MAX_COMMUNICATORS; i++)
		if (c[i].comm != MPI_COMM_NULL)
			must(reel_mpi_attach(c[i].comm, 0), "reel_mpi_attach");
}

static void free_communicators(void)
{
	for (int i = 1; i < MAX_COMMUNICATORS; i++)
		if (program.communicator[i].comm != MPI_COMM_NULL)
			MPI_Comm_free(&program.communicator[i].comm);
	must(reel_mpi_detach(MPI_COMM_WORLD), "reel_mpi_detach");
}

/* ---- Programs ---- */

static bool pretends(const char *what)
{
	return options.pretend && !strcmp(options.pretend, what);
}

static void run_operation(int i, reel_tape *tape, struct memory *memory, bool reverse)
{
	const struct operation *o = &program.operation[i];

	whereabouts.operation = i;
	whereabouts.reverse = reverse;
	whereabouts.doing = "an operation";
	whereabouts.message = -1;
	if (o->kind == LOCAL)
		run_local(o, whereabouts.rank, tape, memory, reverse);
	else if (o->kind == EXCHANGE)
		run_exchange(i, tape, memory, reverse);
	else
		run_collective(o, tape, memory, reverse);
	if (!program.smooth)
		wrap_memory(memory);
	if (tape && reel_tape_error(tape))
		fail("the tape has error %d", reel_tape_error(tape));
}

/*
 * A stretch without a tape, after which the program begins again, behind a barrier: else receives
 * from MPI_ANY_SOURCE in the stretch could take messages of ranks that have begun again.
 */
static void rehearse(void)
{
	for (int i = 0; i < program.rehearsal; i++)
		run_operation(i, NULL, &x, false);
	if (program.rehearsal)
		MPI_Barrier(MPI_COMM_WORLD);
	log_reset(0);
	set_beginning(&x, whereabouts.rank);
}

static void seed_adjoints(void)
{
	double J_bar;

	must(reel_mpi_seed(&J_bar, program.on_one_rank ? REEL_MPI_ON_ONE_RANK
						       : REEL_MPI_SUM_OF_RANKS,
			   program.root, MPI_COMM_WORLD),
	     "reel_mpi_seed");
	/* The integers beside the adjoints are to stay as they are. */
	set_beginning(&bar, whereabouts.rank);
	for (int leaf = 0; leaf < number_of_leaves(); leaf++)
		set_leaf(&bar, leaf, J_bar * weight_of(whereabouts.rank, leaf));
}

static void sweep(reel_tape *tape)
{
	int n = program.operations;

	set_beginning(&x, whereabouts.rank);
	rehearse();
	for (int i = 0; i < n; i++) {
		run_operation(i, tape, &x, false);
		after[i] = x;
	}
	seed_adjoints();
	bars[n] = bar;
	if (pretends("wrong") && whereabouts.rank == whereabouts.ranks - 1)
		bar.d[0]++;
	if (pretends("hang") && whereabouts.rank == 0)
		pause();
	for (int i = n; i-- > 0;) {
		run_operation(i, tape, &bar, true);
		bars[i] = bar;
	}
	whereabouts.doing = "the end";
	for (int i = 0; i < program.communicators; i++)
		if (program.communicator[i].comm != MPI_COMM_NULL)
			must(reel_mpi_reverse_end(program.communicator[i].comm),
			     "reel_mpi_reverse_end");
	if (!reel_tape_is_empty(tape) || log_height())
		fail("something is left on the tape");
}

static void run_program(uint64_t seed)
{
	struct reel_pool_options small = {.slab_bytes = 256, .first_slab_bytes = 64,
					  .hard_budget = 6 * 256, .soft_budget = 256};
	reel_store *store = NULL;
	reel_pool *pool = NULL;
	reel_tape tape = {0};

	draw_program(seed, whereabouts.ranks);
	forget_exchanges();
	if (options.show && whereabouts.rank == 0)
		print_program(program.operations);
	alarm(options.patience);
	if (program.spilled)
		must(reel_store_open(&store, "memory=16M", NULL), "reel_store_open");
	small.store = store;
	must(reel_pool_open(&pool, program.spilled ? &small : NULL), "reel_pool_open");
	must(reel_tape_open(&tape, pool, program.tape_flags), "reel_tape_open");
	sweep(&tape);
	reel_tape_close(&tape);
	must(reel_pool_close(pool), "reel_pool_close");
	compare(after, bars);
	alarm(0);
}

/* ---- Options ---- */

static void usage(FILE *file)
{
	fputs("usage: mpirun -n RANKS reel-stress-ranks [OPTION]...\n"
	      "Random programs of at most 8 ranks, forward and in reverse, against one process\n"
	      "that replays all ranks.\n\n"
	      "  --seed N       the first program (1)\n"
	      "  --programs N   number of programs (100)\n"
	      "  --patience N   seconds after which a program hangs (60)\n"
	      "  --show         print each program\n"
	      "  --pretend X    an adjoint that is wrong, or a rank that hangs: wrong, hang\n",
	      file);
}

/* Returns whether it is an option. */
static bool read_option(int option)
{
	switch (option) {
	case 's':
		options.seed = strtoull(optarg, NULL, 10);
		return true;
	case 'p':
		options.programs = strtol(optarg, NULL, 10);
		return true;
	case 't':
		options.patience = (unsigned)strtoul(optarg, NULL, 10);
		return true;
	case 'v':
		options.show = true;
		return true;
	case 'w':
		options.pretend = optarg;
		return true;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		return false;
	}
}

static bool read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{"seed", 1, 0, 's'}, {"programs", 1, 0, 'p'}, {"patience", 1, 0, 't'},
		{"show", 0, 0, 'v'}, {"pretend", 1, 0, 'w'}, {"help", 0, 0, 'h'}, {0, 0, 0, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
		if (!read_option(option))
			return false;
	return optind == argc;
}

static void run_programs(void)
{
	for (long i = 0; i < options.programs; i++) {
		if (i % PROGRAMS_OF_COMMUNICATORS == 0) {
			if (i)
				free_communicators();
			make_communicators();
		}
		run_program(options.seed + (uint64_t)i);
	}
	if (options.programs > 0)
		free_communicators();
}

int main(int argc, char **argv)
{
	static char space[4 << 20];
	int bytes, provided;
	void *detached;

	if (!read_options(argc, argv)) {
		usage(stderr);
		return 2;
	}
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &whereabouts.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &whereabouts.ranks);
	if (whereabouts.ranks > MAX_RANKS) {
		usage(stderr);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	signal(SIGALRM, hang);
	make_datatypes();
	MPI_Buffer_attach(space, sizeof space);
	run_programs();
	MPI_Buffer_detach(&detached, &bytes);
	free_datatypes();
	MPI_Finalize();
	if (whereabouts.rank == 0)
		printf("ok - %ld programs of %d ranks, from seed %llu\n", options.programs,
		       whereabouts.ranks, (unsigned long long)options.seed);
	return 0;
}
