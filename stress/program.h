/* SPDX-License-Identifier: MIT */
/*
 * Random programs for OpenMP and Reel. A seed draws a tree of constructs over an array of cells.
 * Threads of OpenMP record it, a team of another size reverses it, and a serial oracle, which
 * has only the list of statements that ran, calculates the same adjoints.
 *
 *	programs.c           the case: records, reverses, holds and replays; compares
 *	program-draw.c       draws a program: all that its seed chooses
 *	program-statement.c  statements, in both sweeps, and the oracle
 *	program-run.c        regions, loops and sections, in both sweeps
 *	program-omit.c       calls that are left out on purpose
 *	program-tasks.c      tasks and their dependences, in both sweeps
 *
 * Arithmetic is modulo 2^64, so a sum has the same bits in each order, and an order that matters
 * shows in the bits.
 *
 * Cells. A construct has a block of cells, and gives each of its iterations, lanes and tasks a
 * part of it, so that a program has no data race in either sweep. Lanes share the cells that a
 * phase only reads, the cells of critical sections, and the cells to which many add.
 *
 * Oracle. Each statement takes a number from one counter. Statements that touch one cell are
 * ordered by the program, so the order of the numbers is one in which a serial program
 * could have run them.
 */
#ifndef REEL_STRESS_PROGRAM_H
#define REEL_STRESS_PROGRAM_H

#include <limits.h>
#include <omp.h>

#include <reel/adjoint.h>
#include <reel/reduction.h>
#include <reel/task.h>

#include "stress.h"

#define MAX_CELLS 8192
/* Elements of the array of an adjoint object: three for each cell, or a few for all. */
#define MAX_ADJOINT_WEIGHTS (3 * MAX_CELLS)
#define FEW_WEIGHTS 16
#define MAX_LANES 8
#define MAX_DEPENDENCES 3
#define MAX_OBJECTS 4
#define MAX_WORDS 600
#define NO_CELL UINT_MAX

/* ---- The tree of a program (program-draw.c) -------------------------------------- */

enum construct {
	/* In the list of a lane, a task or the root: they share the block of the list. */
	STATEMENT,
	REDUCTION,  /* reel_reduce() */
	REDUCER,    /* reel_reduce_by() */
	CRITICAL,   /* a statement on the cell of a section, in turns; in a region only */
	ATOMIC,     /* an atomic addition to a cell of the region's; in a region only */
	REGION,     /* PHASEs are inside */
	TASKS,      /* TASKs are inside, and a wait comes after them */
	ALONE,      /* a loop of a lane that is in no region */
	/* In the list of a phase: each has cells of its own. */
	LOOP,
	SINGLE,
	MASTER,
	EACH,       /* each lane by itself */
	LEAVE,      /* some lanes leave the region */
	ORDERED,    /* OpenMP's loop, with an ordered section */
	OMP_LOOP,   /* OpenMP's loop, which may be cancelled */
	OMP_SINGLE, /* OpenMP's single, with copyprivate; the last one of its phase */
	/* In lists of their own. */
	PHASE,
	TASK,
	CONSTRUCTS
};

enum barrier { SHARE_PHASE, REEL_BARRIER, OMP_BARRIER, BARRIERS };

/* How tasks are run. TASKLOOP is for tasks without dependences; BY_REEL for the reverse sweep. */
enum making { SERIALLY, TASKWAIT, TASKGROUP, TASKLOOP, BY_REEL };

/* The access of a task to a cell that other tasks also use. */
enum access { READS, READS_SHARED, WRITES, COMMUTES, ACCESSES };

struct use {
	unsigned object;
	enum access access;
};

struct node {
	enum construct construct;
	uint64_t seed;
	struct node *next;
	struct node *inside;
	unsigned offset;     /* of its block in the block of the list */
	unsigned cells;
	unsigned each;       /* cells of an iteration, a lane or a task */
	unsigned words;      /* that a statement pushes besides */
	union {
		/* LOOP, ALONE, ORDERED, OMP_LOOP */
		struct {
			int64_t low;
			unsigned iterations;
			unsigned stop; /* where reel_loop_stop() or a cancel comes */
			reel_chunking chunking;
			bool runtime; /* the chunking is reel_runtime() */
			bool stops;
			bool stops_all;      /* the other lanes stop when they see it */
			bool leaves;         /* a lane that stops leaves the region */
		} loop;
		unsigned leaving;            /* LEAVE: a mask of lanes */
		struct {
			int lanes;           /* 0: the number of threads */
			int max_threads;
			unsigned phases;     /* as often as they come: a list may be run again */
			unsigned sections, commons, areas[2];
			bool bound;          /* each thread keeps its lane, and OpenMP's own
						constructs may be in it */
			bool may_leave;      /* lanes may leave it early */
			unsigned cancelled;  /* at the end of which phase; UINT_MAX: of none */
			bool lacks_threads;  /* reel_region_threads() is not asked */
			enum barrier barrier, barrier_back;
			bool weighs;         /* statements add to the array of an adjoint object */
			unsigned object;     /* which one */
			size_t weights;
			struct reel_adjoint_options adjoint;
		} region;
		struct {
			enum making making, making_back;
			unsigned flags;      /* of reel_tasks_reverse() */
			bool untied;
			bool late;           /* the barrier after the phase waits for them */
			bool cancels;        /* a task cancels the taskgroup */
			bool may_be_dropped; /* by this or an outer group that is cancelled */
			unsigned scaled;     /* a mask: objects that commuting tasks multiply */
			unsigned count;
		} tasks;
		struct {
			unsigned label;
			unsigned uses;
			struct use use[MAX_DEPENDENCES];
		} task;
	};
};

#define MAX_ITEMS 4

struct program {
	unsigned items;
	struct node *item[MAX_ITEMS];
	unsigned cells;
	unsigned objects;    /* of adjoints */
	bool has_ordered;
	bool lacks_threads;
};

/* All that a seed chooses. It is valid until the next one is drawn. */
void program_draw(struct program *program, const struct stress_draw *draw);
void program_print(const struct program *program);
extern const char *const program_names[CONSTRUCTS];

/* ---- Calls that are left out (program-omit.c) ------------------------------------------- */

/*
 * A call to Reel, or in the reverse sweep all that a construct calls. Where tasks that the program
 * itself reverses have turns, reel_ordered_done(), reel_lane_phase() and reel_task_wait() are not
 * left out: lanes that wait for ever there are not seen, since nobody knows which tasks OpenMP runs
 * next.
 */
enum omission {
	OMIT_PUSH, OMIT_NOTE, OMIT_STOP, OMIT_NEXT, OMIT_PHASE, OMIT_LANE_PHASE, OMIT_TASK_WAIT,
	OMIT_POP, OMIT_AWAIT, OMIT_DONE, OMIT_LOOP, OMIT_SINGLE, OMIT_REGION, OMIT_NEXT_REVERSE,
	OMIT_PHASE_REVERSE, OMIT_WAIT_REVERSE, OMIT_TASK_REVERSE, OMIT_TASK_END,
	/* All that is left of a lane or of a task, from an iteration on: an exception leaves it. */
	OMIT_REST, OMIT_REST_REVERSE, OMISSIONS
};

/* Draws the call that the program leaves out; without --omit it leaves none out. */
void program_draw_omission(struct stress_random *random);
/* Returns whether this call is to be left out. Any thread. */
bool program_omits(enum omission omission);
/* Returns whether a call has been left out. */
bool program_has_omitted(void);
/* The name of the call that is left out. */
const char *program_omission(void);
/* Counts how often each was left out, and how often that was an error. */
void program_count_omission(bool told);
void program_print_omissions(void);

/* ---- Cells and statements (program-statement.c) ---------------------------------------- */

/* Data that the threads of a region share, and their knowledge of it. */
struct team {
	const struct node *node;
	unsigned section;           /* the first cell of critical sections */
	unsigned common;            /* the first cell to which many add */
	unsigned area[2];           /* the first cells that even and odd phases write */
	reel_adjoint *adjoint;
	_Atomic bool stopped;       /* a loop of which all lanes stop */
	bool left[MAX_LANES];       /* lanes that have left; used by the thread of the lane */
};

/* Where a list runs: in which lane, on which cells. */
struct place {
	reel_lane *lane;
	unsigned base, cells;       /* the block */
	unsigned lane_cell;         /* the lane's own; NO_CELL: none */
	unsigned shared, shareds;   /* cells that nobody writes in this phase */
	struct team *team;          /* NULL: the lane is in no region */
	bool by_hand;               /* in a task that reel_tasks_reverse() does not reverse */
	const reel_adjoint_view *view; /* reverse sweep; NULL: none */
};

enum rule { ASSIGN, REDUCE, COMPOSE };

/* x[to] = keep * x[to] + x[left] * x[right] + factor * x[shared], or a reduction of cells */
struct statement {
	enum rule rule;
	unsigned to;
	unsigned left, right;       /* NO_CELL: no product; else the first operand, and how many */
	unsigned shared;            /* NO_CELL: none */
	unsigned weight;            /* to which element of the adjoint object; NO_CELL: none */
	bool many;                  /* x[to] is added to by many at a time */
	enum reel_reduction kind;
	uint64_t keep, factor;
	/* How it is recorded. */
	unsigned words;
	unsigned style;
	uint64_t place;             /* which statement of the program it is */
};

struct cells {
	uint64_t x[MAX_CELLS];
	uint64_t bar[MAX_CELLS];
	double weight[MAX_ADJOINT_WEIGHTS];
};

extern struct cells program_cells;
extern reel_ordered program_order[MAX_CELLS];

/* The statement of a node, at a place. */
struct statement program_statement(const struct node *node, const struct place *place);
void program_record_statement(const struct place *place, const struct statement *statement);
void program_reverse_statement(const struct place *place, const struct statement *statement);
/* Give others the chance to come between. */
void program_dawdle(uint64_t random);

/* The statements that ran, from `first` on, `count` of them. */
struct program_trace {
	unsigned first, count;
	struct node *item;
	uint64_t places;            /* a sum over all statements, of where they are */
};

/* Statements from here on are in the next trace. False: there is no room for much more. */
bool program_trace_begin(struct program_trace *trace);
void program_trace_clear(void);
void program_trace_end(struct program_trace *trace);
/* The oracle: run the traced statements, and reverse them, in these cells, by one thread. */
void oracle_record(const struct program_trace *trace, struct cells *cells);
void oracle_reverse(const struct program_trace *trace, struct cells *cells);

/* ---- Running (program-run.c, program-tasks.c) ------------------------------------------- */

/* How often something was recorded or reversed: each time threads are others. */
extern unsigned program_sweep;
extern unsigned program_max_threads;
extern _Atomic uint64_t program_counts[CONSTRUCTS];

void program_begin(void);
/* Closes the adjoint objects. */
void program_end(void);
/* The first error that the library told of in this round, or 0. */
extern _Atomic int program_error;

/*
 * Records or reverses a list. An iteration in it may jump to the end of the call, as an exception
 * does that is caught there. Returns false in this case, or if the lane leaves its region.
 */
bool program_record_caught(const struct node *list, const struct place *place);
bool program_reverse_caught(const struct node *list, const struct place *place);

/* How many threads a node has in this sweep, at most `most`. */
int program_threads(const struct node *node, int most);
/* The block of part k of a node. */
struct place program_part(const struct node *node, const struct place *place, unsigned k);
/* False: the lane leaves its region. */
bool program_record(const struct node *list, const struct place *place);
void program_reverse(const struct node *list, const struct place *place);

bool program_record_tasks(const struct node *node, const struct place *place);
void program_reverse_tasks(const struct node *node, const struct place *place);

#endif
