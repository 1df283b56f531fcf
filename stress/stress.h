/* SPDX-License-Identifier: MIT */
/*
 * reel-stress: declarations that its files share, from the program down to one tape.
 *
 *	reel-stress.c  options, rounds, the order of cases
 *	draw.c         draws a round: all that a seed chooses
 *	tapes.c        a case: threads and the tapes that they hand to each other
 *	parcels.c      a case: threads that read and change the same parcels, beside tapes
 *	runs.c         a case: threads that carry out plans, whose callbacks fail or are left
 *	lanes.c        two cases: regions, and trees of tasks
 *	programs.c     a case: random programs of OpenMP; program.h has its files
 *	pairs.c        a case for each pair of operations that may meet
 *	subject.c      a tape, and its expected values
 *	store.c        stacks of stores, and faults in them
 *	watch.c        the current operation of each thread; progress; threads that hang
 *	report.c       results, failures, and how to run one again
 *	scheduler.c    threads that take turns as a seed says; scheduler-calls.c, their calls
 */
#ifndef REEL_STRESS_STRESS_H
#define REEL_STRESS_STRESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <reel.h>

#include "helpers/late-store.h"
#include "scheduler.h"
#include "helpers/store-fault.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- Options (reel-stress.c) ------------------------------------------------- */

struct stress_options {
	uint64_t seed;
	double seconds;
	uint64_t rounds;      /* 0: as long as the seconds last */
	unsigned operations;  /* of one thread in one round */
	unsigned patience;    /* seconds until a thread that does nothing hangs */
	/* Replace choices of the seed. */
	unsigned threads;     /* 0: drawn */
	int64_t pool_slabs;   /* -1: drawn; 0: no budget */
	size_t slab_bytes;    /* 0: drawn */
	size_t budget;        /* 0: drawn */
	const char *store;    /* NULL: drawn; "none" */
	const char *fault_mix;
	const char *only;
	const char *json;
	const char *directory;
	const char *pretend;  /* NULL, or a failure on purpose: "wrong", "hang" */
	enum schedule schedule;
	bool show;            /* print each program */
	bool omit;            /* leave one call to Reel out of each program */
};

extern struct stress_options stress_options;
/* The names of schedules. */
extern const char *const stress_schedules[];

/* ---- Draws (draw.c) ------------------------------------------------------------ */

/* A sequence of numbers that its seed decides. */
struct stress_random {
	uint64_t next;
};

uint64_t stress_number(struct stress_random *random);
unsigned stress_below(struct stress_random *random, unsigned bound);
bool stress_one_in(struct stress_random *random, unsigned n);

enum stress_fault { FAULT_PUT, FAULT_GET, FAULT_LATE, FAULT_FLIP, FAULT_MISPLACE, FAULT_VANISH,
		    FAULTS };

/* One in `one_in` transfers has a fault of the kind; 0: none. FAULT_VANISH: once, about there. */
struct stress_mix {
	unsigned one_in[FAULTS];
};

#define MAX_THREADS_DRAWN 8
#define MAX_WEIGHTS 32

struct stress_draw {
	uint64_t seed;
	unsigned threads;
	unsigned tapes;
	unsigned flags;           /* of tapes */
	struct reel_pool_options pool;
	const char *store;        /* "none": no store */
	struct stress_mix mix;
	uint32_t shapes;          /* which are pushed: bits */
	uint32_t features;        /* which operations there are: bits */
	uint8_t weight[MAX_WEIGHTS];
};

/* All that a seed chooses, with the replacements of the command line. */
struct stress_draw stress_draw(uint64_t seed);
/* Returns whether `text` is a mix. */
bool stress_mix_read(struct stress_mix *mix, const char *text);
void stress_draw_print(const struct stress_draw *draw, char *text, size_t size);

/* ---- Stores (store.c) ------------------------------------------------------------ */

struct stress_store {
	reel_store *store;        /* the whole stack; NULL: none */
	reel_store *count;        /* sees the same calls as the layer of faults; NULL: no faults */
	struct late_store *late;
	struct reel_fault_rule *rules;
	size_t rule_count;
	bool loses;               /* a slab may not come back */
	bool refuses;             /* a put may fail */
	bool misplaces;
};

/* Raises the draw's slabs to a size that the store can take. */
void stress_store_open(struct stress_store *stack, struct stress_draw *draw);
/* How many faults there were so far; any thread. */
uint64_t stress_store_faults(struct stress_store *stack);

/* A pool with its store: opened, and closed with all that must hold then. */
struct stress_stage {
	const struct stress_draw *draw;
	reel_pool *pool;
	struct stress_store store;
	_Atomic uint64_t lost;    /* tapes and parcels that the store has damaged, as told */
	bool threads_live_on;     /* after the round, and keep their parts of the pool */
};

void stress_stage_open(struct stress_stage *stage, struct stress_draw *draw);
void stress_stage_close(struct stress_stage *stage);
/*
 * Returns true if something may be refused with this error, since the budget or the store is full.
 */
bool stress_is_refusal(const struct stress_stage *stage, int error);
/* Returns true if the faults of this round may lose something with this error. */
bool stress_is_loss(const struct stress_stage *stage, int error);

/* ---- Threads (watch.c) -------------------------------------------------------------- */

#define MAX_WORKERS 34

/* The current operation of a thread, for others to read at any time: relaxed, all of it. */
struct stress_worker {
	_Atomic bool watched;
	_Atomic(const char *) doing;
	_Atomic uint64_t place;
	_Atomic uint64_t operations;
	/* The watch's own. */
	uint64_t seen;
	uint64_t seen_at;
};

/* Number 0 is the main thread's. */
extern struct stress_worker stress_workers[MAX_WORKERS];

static inline void stress_at(struct stress_worker *worker, const char *doing, uint64_t place)
{
	atomic_store_explicit(&worker->doing, doing, memory_order_relaxed);
	atomic_store_explicit(&worker->place, place, memory_order_relaxed);
	/* One writer. */
	atomic_store_explicit(&worker->operations,
			      atomic_load_explicit(&worker->operations, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* In a schedule there is no watch: the scheduler itself finds threads that hang. */
void stress_watch_begin(void);
void stress_watch_end(void);
/* From here on `worker` may not do the same thing for longer than the patience; and it may. */
void stress_watch(struct stress_worker *worker);
void stress_unwatch(struct stress_worker *worker);
uint64_t stress_operations(void);
double stress_seconds(void);
/* The stage whose faults the progress shows; NULL: none. */
void stress_watch_stage(struct stress_stage *stage);

/* Run body(worker, context) in workers 1 to `threads` at once. */
void stress_run(unsigned threads, void (*body)(struct stress_worker *worker, void *context),
		void *context);

/*
 * Run `body` in a child, which ends within the patience, and fail if it fails. In it
 * stress_fail() ends the child.
 */
void stress_fork(struct stress_worker *worker, void (*body)(void *context), void *context);
extern bool stress_in_child;

/* ---- Results (report.c) --------------------------------------------------------------- */

struct stress_result {
	const char *name;
	uint64_t rounds;
	uint64_t operations;
	uint64_t faults;
};

/* Number of refusals and of losses that errors reported as they should. */
extern _Atomic uint64_t stress_refused, stress_lost;
extern _Atomic uint64_t stress_faults;

/* Print how this round is run again, should it fail. */
void stress_report_round(const char *name, const struct stress_draw *draw);
/* Print the failure, each thread's operation, how to run it again; and end the program. */
_Noreturn void stress_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stress_report_deaths(void);
/* A reel_error_handler: keeps the library's message, which stress_fail() prints. */
void stress_note_error(const reel_tape *tape, int error, const char *message, void *context);
/* Returns whether all could be written. */
bool stress_report(struct stress_result *results, size_t count);

/* ---- Cases ------------------------------------------------------------------------------ */

void stress_tapes(struct stress_draw *draw);
void stress_parcels(struct stress_draw *draw);
void stress_runs(struct stress_draw *draw);
void stress_regions(struct stress_draw *draw);
void stress_tasks(struct stress_draw *draw);
void stress_programs(struct stress_draw *draw);
/* Counts of the constructs in the programs, over all rounds. */
void stress_print_programs(void);

/* The rows of the table of pairs: "pairs/take/give" and so on; NULL: there is none more. */
const char *stress_pair_name(unsigned row);
void stress_pair(unsigned row, uint64_t seed);
/* Why two operations have no row, in a line; NULL: there is none more. */
const char *stress_pair_absent(unsigned which);
/* The fault in the table, in words; NULL: it is complete. */
const char *stress_pairs_problem(void);

#endif
