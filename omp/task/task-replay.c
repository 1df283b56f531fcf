/* SPDX-License-Identifier: MIT */
/*
 * Reverses the tasks of one wait, a group, by their dependences. The uses of one address form a row
 * of sets in the order of the reverse sweep: a set is a single use, or neighbours of one kind that
 * need no order. A set opens when all tasks of the set before have ended. A task may run when all
 * of its sets are open. If a set takes one task at a time, the others wait for it without a thread.
 * Threads take the task that became ready last; a thread that waits for its own group, in a body,
 * helps with any.
 *
 * One lock guards all: a task takes longer than the work under the lock. Threads wait at a
 * condition and not in a task of OpenMP (DESIGN.md, chapter 9). A job is ready once, when `waits`
 * falls to 0; `left` of sets and groups falls to 0 once.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "omp/order/deadlock.h"
#include "omp/region/region.h"
#include "omp/runtime/caller.h"
#include "omp/runtime/team-size.h"
#include "omp/runtime/team.h"
#include "os/annotate.h"
#include "task.h"

struct job;

/* Uses of one address by tasks that need no order among each other. */
struct use_set {
	struct use *use;
	int64_t uses, left;   /* number of uses; of those whose tasks have not ended */
	struct use_set *next; /* opens when `left` is 0 */
	bool is_open;         /* the first set of its address, which need not wait */
	bool one_at_a_time;
	bool held;            /* a task of the set is ready or runs; only if `one_at_a_time` */
	struct job *blocked;  /* jobs that wait only for the task that holds the set */
};

/* A use of one address by a task. */
struct use {
	const void *address;
	struct job *job;
	enum reel_dependence_kind kind;
	struct use_set *set;
	struct use *next; /* of the same job */
};

struct job {
	struct group *group;
	struct reel_task *task;
	struct job *next; /* in the list of ready, blocked or running jobs */
	/* While its body waits for the tasks of this group, which the same team reverses. */
	const struct group *inner;
	struct use *use;
	int64_t waits; /* number of sets that have to open, plus 1 until the group begins */
};

struct group {
	reel_task_body *body;
	void *context;
	struct reel_task_team *team;
	/*
	 * The memory of the group begins at `job` and ends with the team that it makes if it finds
	 * none.
	 */
	struct job *job;
	struct use_set *set;
	struct use *use;
	struct reel_task_team *own_team;
	int64_t jobs, uses, sets;
	int64_t left; /* number of jobs that have not ended */
	bool in_order;
};

/* The threads that work at a group and at the groups that its bodies make. */
struct reel_task_team {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *ready;
	struct job *running;
	struct group *first;
	reel_lane *root;
	int waiters;
	int threads; /* number of threads that the team has, or may get */
};

/*
 * The team for which this thread works now, or NULL, and the number of the body that it is in, and
 * its job. If a body is left by longjmp(), all stay, and the team is gone: see team_for().
 */
static _Thread_local struct reel_task_team *team_of_thread;
static _Thread_local uint64_t body_of_thread;
static _Thread_local struct job *job_of_thread;

/* Returns a number that no other body of the process has; 0: none. */
static uint64_t next_body(void)
{
	static _Atomic uint64_t bodies;

	/* Relaxed is enough: a number that guards no memory. */
	return atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed) + 1;
}

/*
 * Returns the team whose body runs in this thread, if `parent` is the task of that body or lies in
 * it: the same team then reverses the parent's tasks. Otherwise returns NULL, and the parent needs
 * a new team. A body that was left by a jump has a number that no other lane has, so its team is
 * not found.
 */
static struct reel_task_team *team_for(const reel_lane *parent)
{
	for (; team_of_thread && parent; parent = parent->parent)
		if (parent->body == body_of_thread)
			return team_of_thread;
	return NULL;
}

/* ---- Sets of uses ---- */

/* Mutants survive (comparison, constant): any order of addresses will do. */
static int by_address(const void *one, const void *other)
{
	const struct use *a = one, *b = other;

	if (a->address != b->address)
		return (uintptr_t)a->address < (uintptr_t)b->address ? -1 : 1;
	return a->job < b->job ? -1 : a->job > b->job;
}

/* Merges the uses of an address by one task. Uses of different kinds become REEL_TASK_OUT. */
static void merge_uses(struct group *group)
{
	int64_t uses = 0;

	for (int64_t i = 0; i < group->uses; i++) {
		struct use use = group->use[i], *last = uses ? &group->use[uses - 1] : NULL;

		if (!last || last->job != use.job || last->address != use.address)
			group->use[uses++] = use;
		else if (last->kind != use.kind)
			last->kind = REEL_TASK_OUT;
	}
	group->uses = uses;
}

/* Returns true if neighbours of this kind need no order among each other. */
static bool needs_no_order(const struct group *group, enum reel_dependence_kind kind)
{
	if (kind == REEL_TASK_IN || kind == REEL_TASK_COMMUTES)
		return !group->in_order;
	return kind == REEL_TASK_IN_SHARED || kind == REEL_TASK_IN_ADD;
}

/* Returns the set of the neighbour before, or a new set. */
static struct use_set *set_for(struct group *group, struct use *use)
{
	struct use_set *last = group->sets ? &group->set[group->sets - 1] : NULL;
	struct use_set *set = &group->set[group->sets];
	bool is_first = !last || last->use->address != use->address;

	if (!is_first && last->use->kind == use->kind && needs_no_order(group, use->kind))
		return last;
	*set = (struct use_set){.use = use, .is_open = is_first};
	set->one_at_a_time = use->kind == REEL_TASK_IN || use->kind == REEL_TASK_COMMUTES;
	if (!is_first)
		last->next = set;
	group->sets++;
	return set;
}

static void join_set(struct use_set *set, struct use *use)
{
	REEL_ASSERT(set->use->address == use->address && set->use <= use);
	set->uses = ++set->left;
	use->set = set;
	use->next = use->job->use;
	use->job->use = use;
	use->job->waits += !set->is_open;
}

static void make_sets(struct group *group)
{
	qsort(group->use, (size_t)group->uses, sizeof *group->use, by_address);
	merge_uses(group);
	for (int64_t i = 0; i < group->uses; i++)
		join_set(set_for(group, &group->use[i]), &group->use[i]);
	REEL_ASSERT(group->sets <= group->uses);
}

/* ---- Groups ---- */

static void add_jobs(struct group *group, reel_lane *parent)
{
	while (parent->tasks_left > 0) {
		struct reel_task *task = reel_task_take(parent);

		if (!task)
			break;
		group->job[group->jobs++] =
			(struct job){.group = group, .task = task, .waits = 1};
		group->uses += task->dependences;
	}
	group->left = group->jobs;
}

static void add_uses(struct group *group)
{
	struct use *use = group->use;

	for (int64_t k = 0; k < group->jobs; k++) {
		const struct reel_task *task = group->job[k].task;

		for (int i = 0; i < task->dependences; i++)
			*use++ = (struct use){.job = &group->job[k],
					      .address = task->dependence[i].address,
					      .kind = task->dependence[i].kind};
	}
	REEL_ASSERT(use == group->use + group->uses);
}

/*
 * Takes memory for the group and for a team of its own: one block, with the largest alignments
 * first. Returns 0 or -ENOMEM.
 */
static int open_group(struct group *group, reel_lane *parent)
{
	const struct reel_task *task = parent->unreversed_task;
	size_t jobs = (size_t)parent->tasks_left, uses = 0;

	for (size_t left = jobs; task && left > 0; task = task->next, left--)
		uses += (size_t)task->dependences;
	/* Mutants survive (constant): larger is enough. */
	group->job = calloc(1, jobs * sizeof *group->job +
				       uses * (sizeof *group->set + sizeof *group->use) +
				       sizeof *group->own_team);
	if (!group->job) {
		reel_lane_fail(parent, -ENOMEM, "no memory to reverse the tasks of a wait");
		return -ENOMEM;
	}
	group->set = (struct use_set *)(void *)(group->job + jobs);
	group->use = (struct use *)(void *)(group->set + uses);
	group->own_team = (struct reel_task_team *)(void *)(group->use + uses);
	return 0;
}

/* ---- Ready jobs. All of these functions require team->lock. ---- */

/* Returns a set of the job that another job, which is ready or runs, holds, or NULL. */
static struct use_set *held_set(const struct job *job)
{
	for (const struct use *use = job->use; use; use = use->next)
		if (use->set->held)
			return use->set;
	return NULL;
}

/* The thread that makes jobs ready takes one of them next, and wakes other threads for the rest. */
static void make_ready(struct job *job)
{
	struct reel_task_team *team = job->group->team;
	struct use_set *held = held_set(job);
	struct job **list = held ? &held->blocked : &team->ready;

	REEL_ASSERT(!job->waits && job->group->left > 0);
	for (struct use *use = job->use; use && !held; use = use->next)
		use->set->held = use->set->one_at_a_time;
	/* Mutants survive (logic): a thread that is woken for nothing sleeps again. */
	if (!held && team->ready && team->waiters)
		pthread_cond_signal(&team->changed);
	job->next = *list;
	*list = job;
}

static void come_nearer(struct job *job)
{
	REEL_ASSERT(job->waits > 0);
	if (--job->waits == 0)
		make_ready(job);
}

static void end_use(struct use_set *set)
{
	REEL_ASSERT(set->left > 0 && (set->held || !set->one_at_a_time));
	set->held = false;
	while (set->blocked && !set->held) {
		struct job *job = set->blocked;

		set->blocked = job->next;
		make_ready(job);
	}
	if (--set->left || !set->next)
		return;
	/* From the last use to the first, since the task that becomes ready last is taken first. */
	for (int64_t i = set->next->uses; i-- > 0;)
		come_nearer(set->next->use[i].job);
}

static void end_job(struct job *job)
{
	struct group *group = job->group;

	REEL_ASSERT(group->left > 0);
	for (const struct use *use = job->use; use; use = use->next)
		end_use(use->set);
	if (--group->left == 0)
		pthread_cond_broadcast(&group->team->changed);
}

/* ---- Threads ---- */

static void call_body(struct job *job)
{
	const struct group *group = job->group;
	reel_lane *lane = job->task->lane;
	uint64_t outer = body_of_thread;
	struct job *outer_job = job_of_thread;

	body_of_thread = lane->body = next_body();
	job_of_thread = job;
	group->body(group->context, lane);
	lane->body = 0;
	job_of_thread = outer_job;
	body_of_thread = outer;
}

static void run(struct reel_task_team *team, struct job *job)
{
	struct job **at = &team->running;
	reel_lane *lane = job->task->lane;

	team->ready = job->next;
	job->next = team->running;
	team->running = job;
	pthread_mutex_unlock(&team->lock);
	reel_tape_hand_over(&lane->tape);
	call_body(job);
	reel_task_end(lane);
	pthread_mutex_lock(&team->lock);
	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	end_job(job);
}

/* Runs ready jobs, or waits for one, until the group has ended. */
static void work_for(struct group *group)
{
	struct reel_task_team *team = group->team;
	bool has_looked = false;

	pthread_mutex_lock(&team->lock);
	while (group->left) {
		if (team->ready) {
			run(team, team->ready);
			has_looked = false;
			continue;
		}
		if (!has_looked) {
			pthread_mutex_unlock(&team->lock);
			reel_deadlock_look(team->root);
			pthread_mutex_lock(&team->lock);
			has_looked = true;
			continue;
		}
		team->waiters++;
		pthread_cond_wait(&team->changed, &team->lock);
		team->waiters--;
	}
	/* This thread may have been woken for a job of another group. */
	if (team->ready && team->waiters)
		pthread_cond_signal(&team->changed);
	pthread_mutex_unlock(&team->lock);
}

static void work(void *argument)
{
	struct reel_task_team *team = argument;
	struct reel_task_team *outer = team_of_thread;

	reel_annotate_acquire(team);
	team_of_thread = team;
	work_for(team->first);
	team_of_thread = outer;
}

static void begin(struct group *group)
{
	struct reel_task_team *team = group->team;

	pthread_mutex_lock(&team->lock);
	for (int64_t i = group->jobs; i-- > 0;)
		come_nearer(&group->job[i]);
	pthread_mutex_unlock(&team->lock);
}

static bool is_stuck(struct reel_task_team *team, bool (*lane_is_stuck)(const reel_lane *lane))
{
	int threads = 0;
	bool stuck;

	pthread_mutex_lock(&team->lock);
	stuck = team->running;
	for (const struct job *job = team->running; job && stuck; job = job->next) {
		stuck = job->inner ? job->inner->left > 0 : lane_is_stuck(job->task->lane);
		threads += !job->inner;
	}
	stuck &= !team->ready || threads == team->threads;
	pthread_mutex_unlock(&team->lock);
	return stuck;
}

static void run_with_team(struct group *group, reel_lane *parent, int threads)
{
	struct reel_task_team *team = group->own_team;

	team->threads = group->jobs < threads ? (int)group->jobs : threads;
	team->first = group;
	team->root = parent->root;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->changed, NULL);
	group->team = team;
	begin(group);
	reel_deadlock_set_team(parent, team, is_stuck);
	reel_annotate_release(team);
	reel_omp_call(team->threads, work, team);
	reel_deadlock_set_team(parent, NULL, NULL);
	pthread_cond_destroy(&team->changed);
	pthread_mutex_destroy(&team->lock);
}

/* If a body is left by a jump, its time is never measured: the place keeps its present size. */
static void run_in_new_team(struct group *group, reel_lane *parent, int wanted, const void *caller)
{
	struct reel_team_measure measure = {0};
	double jobs = (double)group->jobs;
	int threads = reel_omp_threads(wanted);

	if (wanted == 0 && reel_region_may_choose(parent))
		threads = reel_team_size_begin(&measure, caller, threads, jobs);
	run_with_team(group, parent, threads);
	reel_team_size_end(&measure, threads, jobs);
}

static void set_inner(struct job *job, const struct group *inner)
{
	pthread_mutex_lock(&job->group->team->lock);
	job->inner = inner;
	pthread_mutex_unlock(&job->group->team->lock);
}

/* The group of a body's own task. Threads may run its jobs until the group has ended. */
static void run_in_team(struct group *group)
{
	__attribute__((cleanup(reel_omp_end_program), unused)) bool returned = false;
	struct job *job = job_of_thread;
	const struct group *outer = job->inner;

	begin(group);
	set_inner(job, group);
	work_for(group);
	set_inner(job, outer);
	returned = true;
}

int reel_tasks_reverse(reel_lane *parent, reel_task_body *body, void *context, int threads,
		       unsigned flags)
{
	struct group group = {.body = body, .context = context, .team = team_for(parent),
			      .in_order = flags & REEL_TASKS_IN_ORDER};
	int error;

	reel_task_wait_reverse(parent);
	error = parent->tape.error ? parent->tape.error : open_group(&group, parent);
	if (error)
		return error;
	add_jobs(&group, parent);
	if (group.jobs && !parent->tape.error) {
		add_uses(&group);
		make_sets(&group);
		/*
		 * A body may be left by a jump: then others still find the team, until the parent
		 * is closed.
		 */
		parent->bodies_memory = group.job;
		parent->calls_bodies = true;
		if (group.team)
			run_in_team(&group);
		else
			run_in_new_team(&group, parent, threads, REEL_CALLER);
		parent->calls_bodies = false;
		parent->bodies_memory = NULL;
		REEL_ASSERT(!group.left);
	}
	free(group.job);
	return reel_lane_error(parent);
}
