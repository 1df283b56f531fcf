/* SPDX-License-Identifier: MIT */
/*
 * The verifier compares two streams of events: what OpenMP's runtime does (OMPT), and what the
 * program tells libreel-omp (reel/observe.h). Both are told in the thread that does it, and
 * what is known is kept for each task of OpenMP, the implicit ones of a team's threads
 * included: nobody else looks at it meanwhile.
 *
 *	tool.c      both streams come in; beginning and end
 *	state.c     tasks; lanes and regions by their addresses
 *	phases.c    workers, barriers and phases, teams
 *	tasks.c     tasks and waits, dependences, whose lane a task uses
 *	sections.c  critical sections, worksharing, what a parallel region does to lanes outside
 *	report.c    each finding once, and the summary; source.c  where in the program
 *
 * Pushes are not told. Whether a lane has recorded between two events is seen by its height.
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

/* What is found by an address. */
struct node {
	const void *key;
	struct node *next;
};

/* A region of Reel; one for each parent, used again by the parent's next region. */
struct region {
	struct node node;
	bool forward;
	_Atomic bool active;     /* relaxed: it changes while no team is in it */
	const void *begun_at;
	uint64_t visit;          /* which one of all regions; 0: begun before there was a verifier */
	uint64_t owner;          /* the task that has begun it */
	_Atomic uint64_t team;   /* that shares it; 0: none yet */
	/*
	 * Of even rounds and of odd ones: the first barrier of the last such round before which a
	 * lane recorded. Relaxed: who asks for a barrier has passed it.
	 */
	_Atomic uint64_t recorded[2];
};

/* A root, or a lane that is a parent of regions or tasks. Belongs to who has the lane. */
struct lane {
	struct node node;
	uint64_t opened_by;      /* a task; 0: it is not a root */
	struct lane *next_root;
	uint64_t height;         /* where the parallel region of that task began */
	_Atomic bool makes_tasks; /* in that parallel region; relaxed: read after it */
	struct region *region;
	int64_t begun;           /* tasks, since the last wait */
	const void *waited_at;   /* a taskwait after those, not told to Reel yet */
};

/* A task as a worker of a region. */
struct part {
	struct part *outer;
	struct region *region;
	uint64_t visit;
	reel_lane *lane;         /* that it has; NULL: none */
	int32_t threads;
	int64_t round;
	uint64_t begin;          /* height where the lane was taken, or its phase began */
	bool asked;              /* for a lane, since the last barrier */
	bool exhausted;          /* the last answer was that there is none */
	const void *phase_at;    /* a phase, and no lane asked for since */
	uint64_t barriers;       /* that it has come to */
	const void *barrier_at;  /* the last one, if no phase since */
	uint64_t barrier;        /* the lane's height there */
	uint64_t parallel;       /* where the task's inner parallel region began */
};

#define MAX_SECTIONS 8

struct section {
	ompt_wait_id_t id;
	const void *at;
	uint64_t height;
	bool noted;
};

/* What a task was begun with, before OpenMP makes it. */
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
	struct task *outer;          /* of an implicit task: the thread's one outside */
	const void *at;              /* where it was made, or its parallel region begins */
	struct part *parts;
	uint64_t calls;              /* that recorded something */
	const void *parallel_at;     /* that it is in */
	/* tasks.c */
	struct promise *first, *last;
	struct promise *mine;        /* the one that it was made for; of an explicit task */
	reel_lane *used;             /* the lane that it was seen with; of an explicit task */
	const reel_lane *made_in;    /* where it begins tasks */
	bool running;                /* some may be, that it made */
	bool undeferred;             /* it runs where it is made, before its maker goes on */
	bool has_bodies;             /* made by libreel-omp: bodies of several tasks run in it */
	reel_lane *thread_lane;      /* that the thread had where another task came; its height */
	uint64_t thread_height;
	/* sections.c */
	struct section section[MAX_SECTIONS];
	int sections;
	const void *work_at;
	uint64_t work;
	bool work_dynamic, work_ordered;
};

/* The one that the calling thread runs; NULL: OpenMP does not know the thread. */
struct task *present_task(void);
/* The implicit task of the calling thread. */
struct task *thread_task(void);
void set_thread_task(struct task *task);

struct task *new_task(bool implicit, const void *at);
void free_task(struct task *task);

struct region *find_region(const reel_region *region);
struct region *make_region(const reel_region *region);
/* NULL: not known. */
struct lane *find_lane(const reel_lane *lane);
struct lane *make_lane(const reel_lane *lane);
void forget_lane(const reel_lane *lane);
void add_root(const reel_lane *lane, uint64_t opened_by);
/* Call for all roots that the task has opened. */
void each_root(struct task *task, void (*function)(struct task *task, struct lane *root));

/* The task's innermost worker of a region that has not ended; of a region; with a lane. */
struct part *present_part(struct task *task);
struct part *part_of(struct task *task, const struct region *region);
struct part *part_with(struct task *task, const reel_lane *lane);

/* A number that changes when the task records something in the lane. */
uint64_t height_of(const struct task *task, reel_lane *lane);
/* The lane with which it records now, in a forward sweep; NULL: none. */
reel_lane *recording_lane(struct task *task);

/* ---- phases.c ---- */

void region_begins(struct task *task, const reel_event *event, bool forward);
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
void task_waits_reverse(struct task *task, const reel_event *event);
void task_is_reversed(struct task *task, const reel_event *event);
/* Of OpenMP: made; told its dependences; the thread goes from one to another; waited for. */
struct task *task_is_made(struct task *maker, bool undeferred, const void *at);
void task_depends(struct task *task, const ompt_dependence_t *dependence, int count);
void task_switch(struct task *prior, struct task *next);
void tasks_have_ended(struct task *task, const void *at);
/* It uses a lane in a call: not that of a thread, if it is explicit, nor another task's. */
void task_uses(struct task *task, reel_lane *lane, const void *at);
/* Waits that Reel was not told of. */
void check_wait(struct lane *lane);

/* ---- sections.c ---- */

void section_begins(struct task *task, ompt_wait_id_t id, const void *at);
void section_ends(struct task *task, ompt_mutex_t kind, ompt_wait_id_t id);
void order_noted(struct task *task, const reel_event *event);
void order_awaited(struct task *task, const reel_event *event);
void work_begins(struct task *task, bool dynamic, const void *at);
void work_ends(struct task *task, ompt_work_t kind);
void reduction_begins(struct task *task, const void *at);
void is_cancelled(struct task *task, const void *at);
void parallel_begins(struct task *task, const void *at);
void parallel_ends(struct task *task);

/* ---- report.c ---- */

enum severity { NOTE, WARNING, ERROR };

/* A finding at an address of the program; each format is told once for each address. */
void report(enum severity severity, const void *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void count_team(void);
void count_task(void);
void count_region(void);
void summarise(bool saw_reel);
/* Reel was used, but nothing was heard of OpenMP. */
void report_no_runtime(void);

/* ---- source.c ---- */

/* "file.c:12 in function", "function+0x12", or "libx.so+0x1234". */
const char *source_of(const void *address, char *text, size_t size);

#endif
