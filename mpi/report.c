/* SPDX-License-Identifier: MIT */
/* The statistics of all ranks in one table. */
#include "config.h"

#include <errno.h>

#include <reel/extend.h>
#include <reel/run.h>

#include "comm/attached.h"
#include "comm/error.h"
#include "os/numerals.h"
#include "os/signals.h"

/* Figures of the adjoints that travel on one communicator. */
struct messages {
	uint64_t adjoints, adjoint_bytes, waits, wait_ns, note_bytes;
};

/* The figures of a rank. All members are 64 bits wide. */
struct statistics {
	struct reel_pool_stats pool;
	struct messages messages;
	struct reel_run_stats run;
};

struct figure {
	const char *name;
	size_t offset;
	bool is_signed;
	bool of_tier; /* left out if it is 0 on all ranks */
};

#define FIGURE(type, part, member, of_tier) \
	{#member, offsetof(struct statistics, part.member), \
	 _Generic((type)0, int64_t: true, default: false), of_tier},
#define OF_POOL(type, name, text) FIGURE(type, pool, name, false)
#define OF_MESSAGES(name) FIGURE(uint64_t, messages, name, false)
#define OF_RUN(type, name, text) FIGURE(type, run, name, false)
#define OF_TIERS(type, name, text) \
	FIGURE(type, run, name[0], true) FIGURE(type, run, name[1], true) \
	FIGURE(type, run, name[2], true) FIGURE(type, run, name[3], true)

static const struct figure figures[] = {
	REEL_POOL_FIGURES(OF_POOL)
	OF_MESSAGES(adjoints) OF_MESSAGES(adjoint_bytes)
	OF_MESSAGES(waits) OF_MESSAGES(wait_ns) OF_MESSAGES(note_bytes)
	REEL_RUN_FIGURES(OF_RUN, OF_TIERS)
};

_Static_assert(REEL_MAX_TIERS == 4, "each tier has its rows above");

enum { FIGURES = sizeof figures / sizeof *figures };

/* The figures of all ranks. */
struct table {
	double least[FIGURES], sum[FIGURES];
	struct {
		double value;
		int rank;
	} most[FIGURES];
};

static double value_of(const struct figure *figure, const struct statistics *statistics)
{
	const char *member = (const char *)statistics + figure->offset;

	REEL_ASSERT(figure->offset % sizeof(uint64_t) == 0);
	REEL_ASSERT(figure->offset < sizeof *statistics);
	return figure->is_signed ? (double)*(const int64_t *)(const void *)member
				 : (double)*(const uint64_t *)(const void *)member;
}

static bool is_of_run(const struct figure *figure)
{
	return figure->offset >= offsetof(struct statistics, run);
}

static void collect(struct statistics *statistics, struct reel_mpi_attached *attached,
		    reel_pool *pool, reel_run *run)
{
	struct reel_mpi_counters *counters = &attached->counters;

/* Relaxed: see struct reel_mpi_counters. */
#define LOAD(member) .member = atomic_load_explicit(&counters->member, memory_order_relaxed)
	*statistics = (struct statistics){.messages = {LOAD(adjoints), LOAD(adjoint_bytes),
						       LOAD(waits), LOAD(wait_ns),
						       LOAD(note_bytes)}};
#undef LOAD
	reel_pool_get_stats(pool, &statistics->pool);
	if (run)
		reel_run_get_stats(run, &statistics->run);
}

/* Reduces the figures of all ranks to rank 0. */
static int reduce(struct table *table, const struct statistics *own,
		  const struct reel_mpi_attached *attached)
{
	MPI_Comm comm = attached->sums;
	struct table from;
	int code;

	for (int i = 0; i < FIGURES; i++) {
		from.least[i] = from.sum[i] = from.most[i].value = value_of(&figures[i], own);
		from.most[i].rank = attached->rank;
	}
	code = MPI_Reduce(from.least, table->least, FIGURES, MPI_DOUBLE, MPI_MIN, 0, comm);
	if (code == MPI_SUCCESS)
		code = MPI_Reduce(from.sum, table->sum, FIGURES, MPI_DOUBLE, MPI_SUM, 0, comm);
	if (code == MPI_SUCCESS)
		code = MPI_Reduce(from.most, table->most, FIGURES, MPI_DOUBLE_INT, MPI_MAXLOC, 0,
				  comm);
	return reel_mpi_error(code, "reel_mpi_report");
}

static void print_value(FILE *file, double value, int decimals)
{
	if (value >= (double)UINT64_MAX)
		fprintf(file, " %17s", "unbounded");
	else
		fprintf(file, " %17.*f", decimals, value);
}

static int print(FILE *file, const struct table *table, bool has_run, int ranks)
{
	REEL_POINT_NUMERALS;
	REEL_UNSIGNALLED;

	fprintf(file, "%-7s %-19s %17s %17s %17s %6s\n", "of", "figure", "least", "mean", "most",
		"rank");
	for (int i = 0; i < FIGURES; i++) {
		const struct figure *figure = &figures[i];
		bool of_run = is_of_run(figure);

		REEL_ASSERT(table->most[i].rank >= 0 && table->most[i].rank < ranks);
		if ((of_run && !has_run) || (figure->of_tier && table->most[i].value == 0))
			continue;
		fprintf(file, "%-7s %-19s",
			of_run ? "run"
			       : figure->offset < offsetof(struct statistics, messages) ? "pool"
										       : "ranks",
			figure->name);
		print_value(file, table->least[i], 0);
		print_value(file, table->sum[i] / ranks, 1);
		print_value(file, table->most[i].value, 0);
		fprintf(file, " %6d\n", table->most[i].rank);
	}
	return ferror(file) ? reel_fail(-EIO, "reel_mpi_report: the table could not be written")
			    : 0;
}

/* Returns 0 if all ranks have a pool, and all have a run or none has. */
static int agree(const struct reel_mpi_attached *attached, const reel_pool *pool,
		 const reel_run *run)
{
	int own[] = {pool != NULL, run != NULL, run == NULL}, least[3];
	int error = reel_mpi_error(MPI_Allreduce(own, least, 3, MPI_INT, MPI_MIN, attached->sums),
				   "reel_mpi_report");

	if (error)
		return error;
	if (!least[0])
		return reel_fail(-ENXIO, "reel_mpi_report: a rank has no default pool");
	return least[1] || least[2] ? 0
				    : reel_fail(-EINVAL, "reel_mpi_report: some ranks have a run, "
							 "and some have none");
}

int reel_mpi_report(FILE *file, reel_pool *pool, reel_run *run, MPI_Comm comm)
{
	struct reel_mpi_attached *attached;
	struct statistics own;
	struct table table;
	int error = reel_mpi_find(comm, "reel_mpi_report", &attached);

	if (error)
		return error;
	if (!pool)
		pool = reel_pool_default();
	error = agree(attached, pool, run);
	if (error)
		return error;
	collect(&own, attached, pool, run);
	error = reduce(&table, &own, attached);
	if (error || attached->rank)
		return error;
	return print(file, &table, run != NULL, attached->size);
}
