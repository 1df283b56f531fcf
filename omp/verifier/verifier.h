/* SPDX-License-Identifier: MIT */
/*
 * The verifier compares two streams of events: from OpenMP's runtime (OMPT) and from libreel-omp
 * (reel/observe.h). The thread that causes an event runs the verifier's function for it. The
 * verifier keeps its state in a structure for each task of OpenMP, including the implicit tasks of
 * a team's threads. Only the thread that runs a task uses its structure, without a lock.
 *
 *	tool.c      receives the events of both streams; starts and ends the verifier
 *	state.c     tasks, and lanes and regions by their addresses
 *	phases.c    workers, barriers and phases, teams
 *	tasks.c     tasks and waits, dependences, the lanes that tasks use
 *	sections.c  critical sections, worksharing, lanes outside of a parallel region
 *	report.c    reports each finding once, and the summary
 *	source.c    finds the line of the program for an address
 *
 * There are no events for pushes. A lane has recorded between two events if its height differs.
 */
#ifndef REEL_VERIFIER_H
#define REEL_VERIFIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <omp-tools.h>

#include <reel.h>
#include <reel/observe.h>

/* ---- state.c ---- */

/* First member of a structure that is found by an address. */
struct node {
	const void *key;
	struct node *next;
};

/* A region of Reel. The next region of the same parent uses the structure again. */
struct region {
	struct node node;
	bool forward;
	_Atomic bool active;     /* relaxed: it changes while no team is in the region */
	const void *begun_at;
	uint64_t visit;          /* number of the region; 0: it began before the verifier */
	uint64_t owner;          /* id of the task that began the region */
	_Atomic uint64_t team;   /* id of the team that shares the region; 0: none yet */
	/*
	 * For even and for odd rounds: the first barrier, in the last such round, before which a
	 * lane recorded. Relaxed: a thread asks only for barriers that it has passed, and the
	 * barrier orders the stores before it.
	 */
	_Atomic uint64_t recorded[2];
};

/* A root, or a lane that is a parent of regions or tasks. The thread that has the lane uses it. */
struct lane {
	struct node node;
	uint64_t opened_by;      /* id of a task; 0: the lane is not a root */
	uint64_t height;         /* height at the start of the task's parallel region */
	_Atomic bool makes_tasks; /* in that parallel region; relaxed: read after the region */
	struct region *region;
	int64_t begun;           /* number of tasks begun since the last wait */
	const void *waited_at;   /* place of a taskwait after which reel_task_wait() is missing */
};

/* A task as a worker of a region. */
struct part {
	struct part *outer;
	struct region *region;
	uint64_t visit;
	reel_lane *lane;         /* the lane that the worker has; NULL: none */
	int32_t threads;
	int64_t round;
	uint64_t begin;          /* height when the lane was taken, or its phase began */
	bool asked;              /* the worker asked for a lane since the last barrier */
	bool exhausted;          /* the worker asked last when no lane was left */
	const void *phase_at;    /* place of a phase after which no lane was asked for */
	uint64_t barriers;       /* number of barriers that the worker has come to */
	const void *barrier_at;  /* place of the last barrier, if no phase came after it */
	uint64_t barrier;        /* the lane's height at this barrier */
	uint64_t parallel;       /* the lane's height at the task's inner parallel region */
};

#define MAX_SECTIONS 8

struct section {
	ompt_wait_id_t id;
	const void *at;
	uint64_t height;
	bool noted;
};

/* The arguments of a reel_task_begin() whose task OpenMP has not made yet. */
struct promise {
	struct promise *next;
	int64_t count;
	reel_dependence dependence[];
};

struct task {
	uint64_t id;
	bool implicit;
	uint64_t team;
	int index, threads;
	struct task *outer;          /* for an implicit task: the thread's implicit task outside */
	const void *at;              /* place where it was made, or of its parallel region */
	struct part *parts;
	uint64_t calls;              /* number of calls that recorded something */
	const void *parallel_at;     /* place of the parallel region that it began last */
	/* tasks.c */
	struct promise *first, *last;
	struct promise *mine;        /* for an explicit task: the arguments of its begin */
	reel_lane *used;             /* for an explicit task: the lane that it has used */
	const reel_lane *made_in;    /* the lane that it is the parent of tasks with */
	bool running;                /* tasks that it made may still run */
	bool undeferred;             /* the task that made it waits until it has ended */
	bool has_bodies;             /* of the kind BODIES */
	reel_lane *thread_lane;      /* the thread's lane when it went to an explicit task */
	uint64_t thread_height;      /* height of this lane then */
	/* sections.c */
	struct section section[MAX_SECTIONS];
	int sections;
	const void *work_at;
	uint64_t work;
	bool work_dynamic, work_ordered;
};

/* The task that the calling thread runs; NULL: OpenMP does not know the thread. */
struct task *present_task(void);
/* The implicit task of the calling thread. */
struct task *thread_task(void);
void set_thread_task(struct task *task);

/* BODIES: a task that libreel-omp made, in which bodies of several tasks run. */
enum task_kind { IMPLICIT, EXPLICIT, BODIES };
struct task *new_task(enum task_kind kind, const void *at);
void free_task(struct task *task);

struct region *find_region(const reel_region *region);
struct region *make_region(const reel_region *region);
/* Returns NULL if the lane is not known. */
struct lane *find_lane(const reel_lane *lane);
struct lane *make_lane(const reel_lane *lane);
void forget_lane(const reel_lane *lane);
void root_opens(struct task *task, const reel_event *event);
/* Calls a function for all roots that the task has opened. */
void each_root(struct task *task, void (*function)(struct task *task, struct lane *root));

/* The task's innermost worker in a region that has not ended; in `region`; with `lane`. */
struct part *present_part(struct task *task);
struct part *part_of(struct task *task, const struct region *region);
struct part *part_with(struct task *task, const reel_lane *lane);

/* Returns a number that changes when the task records something on the lane. */
uint64_t height_of(const struct task *task, reel_lane *lane);
/* Returns the lane on which the task records in a forward sweep; NULL: none. */
reel_lane *recording_lane(struct task *task);

/* ---- phases.c ---- */

void region_begins(struct task *task, const reel_event *event);
void region_ends(struct task *task, const reel_event *event);
void worker_begins(struct task *task, const reel_event *event);
void worker_next(struct task *task, const reel_event *event);
void worker_phase(struct task *task, const reel_event *event);
void lane_phase(struct task *task, const reel_event *event);
void barrier_begins(struct task *task, const void *at);
void barrier_ends(struct task *task);

/* ---- tasks.c ---- */

void task_begins(struct task *task, const reel_event *event);
void task_waits(struct task *task, const reel_event *event);
void task_is_reversed(struct task *task, const reel_event *event);
/* Events of OpenMP: a task is made, has dependences, is switched to or from, was waited for. */
struct task *task_is_made(struct task *maker, bool undeferred, const void *at);
/* Promises that are left belong to tasks that the program ran itself, without a task of OpenMP. */
void drop_promises(struct task *task);
void task_depends(struct task *task, const ompt_dependence_t *dependence, int count);
void task_switch(struct task *prior, struct task *next);
void tasks_have_ended(struct task *task, const void *at);
/* Checks the lane that a task uses in a call. An explicit task may only use a lane of its own. */
void task_uses(struct task *task, reel_lane *lane, const void *at);
/* Reports a taskwait without reel_task_wait(). */
void check_wait(struct lane *lane);

/* ---- sections.c ---- */

void section_begins(struct task *task, ompt_wait_id_t id, const void *at);
void section_ends(struct task *task, ompt_mutex_t kind, ompt_wait_id_t id);
void order_noted(struct task *task, const reel_event *event);
void order_awaited(struct task *task, const reel_event *event);
void work_begins(struct task *task, bool dynamic, const void *at);
void work_ends(struct task *task, ompt_work_t kind);
void reduction_begins(struct task *task, const void *at);
void parallel_begins(struct task *task, const void *at);
void parallel_ends(struct task *task);

/* ---- report.c ---- */

enum severity { NOTE, WARNING, ERROR };

/* Reports a finding at an address of the program: once for each format and address. */
void report(enum severity severity, const void *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
enum counted { TEAMS, TASKS, REGIONS };
void count(enum counted what);
void summarise(bool saw_reel);
/* Reports that the program used Reel, but its runtime of OpenMP does not load tools. */
void report_no_runtime(void);

/* ---- source.c ---- */

/* Writes "file.c:12 in function", "function+0x12" or "libx.so+0x1234" to `text`, and returns it. */
const char *source_of(const void *address, char *text, size_t size);

#endif
