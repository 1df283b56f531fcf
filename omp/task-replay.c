/* SPDX-License-Identifier: MIT */
/*
 * A group is the tasks of one wait. Edges go from a task to those that have to wait for it,
 * which were made before it. A task that may run but whose address another one of its group
 * has, of those that may come in any order, waits for it without a thread. Threads take the
 * task that became ready last; one that waits for its own group, in a body, helps with any.
 *
 * One lock for all: a task is longer than what is done under it. A wait for a condition, not
 * for a task of OpenMP: see DESIGN.md, OpenMP gives threads, not order.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "annotate.h"
#include "task.h"
#include "team.h"

struct job;

struct edge {
	struct job *to;
	struct edge *next;
};

/* What a task does with one address. */
struct use {
	const void *address;
	struct job *job;
	enum reel_dependence_kind kind;
	struct use *lock; /* the first use of the address, whose `held` is for all of them */
	bool held;
};

struct job {
	struct group *group;
	struct reel_task *task;
	struct job *next_ready;
	struct edge *edges;
	struct use *use;
	int uses;
	int64_t waits; /* for so many */
};

struct group {
	reel_task_body *body;
	void *context;
	struct crew *crew;
	struct job *job;
	struct use *use;
	struct edge *edge;
	int64_t jobs, edges;
	int64_t left;        /* that have not ended */
	struct job *blocked; /* ready, but for an address that another one has */
	bool in_order;
};

/* The threads that work at a group, and at those that its bodies make. */
struct crew {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job *ready;
	struct group *first;
	int waiters;
};

/* Of the thread, while it works for one. */
static _Thread_local struct crew *crew_of_thread;

/* ---- Edges ---- */

static bool is_exclusive(const struct group *group, const struct use *use)
{
	return use->kind == REEL_TASK_OUT || (group->in_order && use->kind == REEL_TASK_IN);
}

static int by_address(const void *one, const void *other)
{
	const struct use *a = *(struct use *const *)one, *b = *(struct use *const *)other;

	if (a->address != b->address)
		return (uintptr_t)a->address < (uintptr_t)b->address ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void add_edge(struct group *group, struct job *from, struct job *to)
{
	struct edge *edge = &group->edge[group->edges];

	if (from == to || (from->edges && from->edges->to == to))
		return;
	group->edges++;
	*edge = (struct edge){.to = to, .next = from->edges};
	from->edges = edge;
	to->waits++;
}

/*
 * Uses of one address, in the order of the reverse sweep: each exclusive one comes after all
 * since the one before, and those between after that one.
 */
static void add_edges_of(struct group *group, struct use **use, int64_t uses)
{
	int64_t last = -1; /* exclusive */

	for (int64_t i = 0; i < uses; i++) {
		use[i]->lock = use[0];
		if (!is_exclusive(group, use[i])) {
			if (last >= 0)
				add_edge(group, use[last]->job, use[i]->job);
			continue;
		}
		for (int64_t k = last < 0 ? 0 : last; k < i; k++)
			if (k > last || last == i - 1)
				add_edge(group, use[k]->job, use[i]->job);
		last = i;
	}
}

/* False: no memory. At most two edges for each use. */
static bool add_edges(struct group *group, int64_t uses)
{
	struct use **sorted = malloc((size_t)(uses + 1) * sizeof *sorted);

	group->edge = malloc((size_t)(2 * uses + 1) * sizeof *group->edge);
	if (!sorted || !group->edge) {
		free(sorted);
		return false;
	}
	for (int64_t i = 0; i < uses; i++)
		sorted[i] = &group->use[i];
	qsort(sorted, (size_t)uses, sizeof *sorted, by_address);
	for (int64_t i = 0, end; i < uses; i = end) {
		for (end = i + 1; end < uses && sorted[end]->address == sorted[i]->address; end++)
			;
		add_edges_of(group, &sorted[i], end - i);
	}
	free(sorted);
	return true;
}

/* ---- Groups ---- */

/* How many uses the jobs have. */
static int64_t add_jobs(struct group *group, reel_lane *parent)
{
	int64_t uses = 0;

	while (parent->tasks_left > 0) {
		struct reel_task *task = reel_task_take(parent);

		if (!task)
			break;
		group->job[group->jobs++] = (struct job){
			.group = group, .task = task, .uses = task->dependences};
		uses += task->dependences;
	}
	group->left = group->jobs;
	return uses;
}

static void add_uses(struct group *group)
{
	struct use *use = group->use;

	for (int64_t k = 0; k < group->jobs; k++) {
		struct job *job = &group->job[k];

		job->use = use;
		for (int i = 0; i < job->uses; i++)
			*use++ = (struct use){.job = job,
					      .address = job->task->dependence[i].address,
					      .kind = job->task->dependence[i].kind};
	}
}

static void close_group(struct group *group)
{
	free(group->job);
	free(group->use);
	free(group->edge);
}

static int no_memory(struct group *group, reel_lane *parent)
{
	close_group(group);
	reel_lane_fail(parent, -ENOMEM, "no memory to reverse the tasks of a wait");
	return -ENOMEM;
}

static int open_group(struct group *group, reel_lane *parent)
{
	int64_t uses;

	group->job = malloc((size_t)(parent->tasks_left + 1) * sizeof *group->job);
	if (!group->job)
		return no_memory(group, parent);
	uses = add_jobs(group, parent);
	if (parent->tasks_left) {
		close_group(group);
		return parent->tape.error;
	}
	group->use = malloc((size_t)(uses + 1) * sizeof *group->use);
	if (!group->use)
		return no_memory(group, parent);
	add_uses(group);
	return add_edges(group, uses) ? 0 : no_memory(group, parent);
}

/* ---- What is ready. All under the lock. ---- */

static bool locks(const struct use *use)
{
	return use->kind == REEL_TASK_IN;
}

static bool may_run(const struct job *job)
{
	for (int i = 0; i < job->uses; i++)
		if (locks(&job->use[i]) && job->use[i].lock->held)
			return false;
	return true;
}

static void hold_addresses(const struct job *job, bool held)
{
	for (int i = 0; i < job->uses; i++)
		if (locks(&job->use[i]))
			job->use[i].lock->held = held;
}

static void make_ready(struct job *job)
{
	struct crew *crew = job->group->crew;

	if (!may_run(job)) {
		job->next_ready = job->group->blocked;
		job->group->blocked = job;
		return;
	}
	hold_addresses(job, true);
	job->next_ready = crew->ready;
	crew->ready = job;
	if (crew->waiters)
		pthread_cond_signal(&crew->changed);
}

static void try_blocked(struct group *group)
{
	struct job *job = group->blocked;

	group->blocked = NULL;
	while (job) {
		struct job *next = job->next_ready;

		make_ready(job);
		job = next;
	}
}

static void end_job(struct job *job)
{
	struct group *group = job->group;

	hold_addresses(job, false);
	for (const struct edge *edge = job->edges; edge; edge = edge->next)
		if (--edge->to->waits == 0)
			make_ready(edge->to);
	try_blocked(group);
	if (--group->left == 0)
		pthread_cond_broadcast(&group->crew->changed);
}

/* ---- Threads ---- */

static void run(struct crew *crew, struct job *job)
{
	reel_lane *lane = job->task->lane;

	crew->ready = job->next_ready;
	pthread_mutex_unlock(&crew->lock);
	reel_tape_hand_over(&lane->tape);
	job->group->body(job->group->context, lane);
	reel_task_end(lane);
	pthread_mutex_lock(&crew->lock);
	end_job(job);
}

/* Until the group has ended. */
static void work_for(struct group *group)
{
	struct crew *crew = group->crew;

	pthread_mutex_lock(&crew->lock);
	while (group->left) {
		if (crew->ready) {
			run(crew, crew->ready);
			continue;
		}
		crew->waiters++;
		pthread_cond_wait(&crew->changed, &crew->lock);
		crew->waiters--;
	}
	pthread_mutex_unlock(&crew->lock);
}

static void work(void *argument)
{
	struct crew *crew = argument;
	struct crew *outer = crew_of_thread;

	reel_annotate_acquire(crew);
	crew_of_thread = crew;
	work_for(crew->first);
	crew_of_thread = outer;
}

static void begin(struct group *group)
{
	struct crew *crew = group->crew;

	pthread_mutex_lock(&crew->lock);
	for (int64_t i = group->jobs; i-- > 0;)
		if (!group->job[i].waits)
			make_ready(&group->job[i]);
	pthread_mutex_unlock(&crew->lock);
}

static void run_with_crew(struct group *group, int threads)
{
	struct crew crew = {.first = group};

	pthread_mutex_init(&crew.lock, NULL);
	pthread_cond_init(&crew.changed, NULL);
	group->crew = &crew;
	begin(group);
	threads = reel_omp_threads(threads);
	reel_annotate_release(&crew);
	reel_omp_call(group->jobs < threads ? (int)group->jobs : threads, work, &crew);
	pthread_cond_destroy(&crew.changed);
	pthread_mutex_destroy(&crew.lock);
}

int reel_tasks_reverse(reel_lane *parent, reel_task_body *body, void *context, int threads,
		       unsigned flags)
{
	struct group group = {.body = body, .context = context, .crew = crew_of_thread,
			      .in_order = flags & REEL_TASKS_IN_ORDER};
	int error;

	reel_task_wait_reverse(parent);
	error = open_group(&group, parent);
	if (error)
		return error;
	if (!group.jobs) {
		close_group(&group);
		return reel_lane_error(parent);
	}
	if (group.crew) {
		begin(&group);
		work_for(&group);
	} else {
		run_with_crew(&group, threads);
	}
	close_group(&group);
	return reel_lane_error(parent);
}
