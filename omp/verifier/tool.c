/* SPDX-License-Identifier: MIT */
/*
 * The tool that OpenMP's runtime loads: receives the events of the runtime and of libreel-omp, and
 * calls the rules. Each event comes on the thread that causes it. A task's structure is the data
 * that the runtime keeps for the task. If the tool is preloaded, it makes the runtime start before
 * the program's first call of Reel.
 */
#include "config.h"

#include "verifier.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ompt_get_task_info_t get_task_info;
static bool saw_runtime;
static _Atomic bool saw_reel; /* relaxed: it orders no other memory */

struct task *present_task(void)
{
	ompt_data_t *data = NULL;
	int flags;

	if (!get_task_info || !get_task_info(0, &flags, &data, NULL, NULL, NULL) || !data)
		return NULL;
	return data->ptr;
}

/* ---- Events of Reel ---- */

static void root_closes(struct task *task, const reel_event *event)
{
	struct lane *root = find_lane(event->lane);

	(void)task;
	if (root)
		check_wait(root);
	forget_lane(event->lane);
}

static void worker_barrier(struct task *task, const reel_event *event)
{
	barrier_begins(task, event->caller);
	barrier_ends(task);
	worker_phase(task, event);
}

static void task_ends(struct task *task, const reel_event *event)
{
	(void)task;
	forget_lane(event->task);
}

static void (*const rules[])(struct task *task, const reel_event *event) = {
	[REEL_EVENT_LANE_OPEN] = root_opens,
	[REEL_EVENT_LANE_CLOSE] = root_closes,
	[REEL_EVENT_REGION_BEGIN] = region_begins,
	[REEL_EVENT_REGION_REVERSE] = region_begins,
	[REEL_EVENT_REGION_END] = region_ends,
	[REEL_EVENT_WORKER_BEGIN] = worker_begins,
	[REEL_EVENT_NEXT] = worker_next,
	[REEL_EVENT_BARRIER] = worker_barrier,
	[REEL_EVENT_NEXT_PHASE] = worker_phase,
	[REEL_EVENT_LANE_PHASE] = lane_phase,
	[REEL_EVENT_TASK_BEGIN] = task_begins,
	[REEL_EVENT_TASK_WAIT] = task_waits,
	[REEL_EVENT_TASK_WAIT_REVERSE] = task_waits,
	[REEL_EVENT_TASK_REVERSE] = task_is_reversed,
	[REEL_EVENT_TASK_END] = task_ends,
	[REEL_EVENT_ORDERED_NOTE] = order_noted,
	[REEL_EVENT_ORDERED_AWAIT] = order_awaited,
};

static void observe(const reel_event *event)
{
	struct task *task = present_task();

	if (!atomic_load_explicit(&saw_reel, memory_order_relaxed))
		atomic_store_explicit(&saw_reel, true, memory_order_relaxed);
	if (task)
		rules[event->kind](task, event);
}

/* ---- Events of OpenMP ---- */

/* Returns true if the event comes from libreel-omp, whose own use of OpenMP is not checked. */
static bool is_in_library(const void *at)
{
	Dl_info library, place;

	return at && dladdr((void *)(uintptr_t)reel_observe, &library) &&
	       dladdr((void *)(uintptr_t)at, &place) && library.dli_fbase == place.dli_fbase;
}

struct team {
	uint64_t id;
	const void *at;
};

static void on_parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
			      unsigned threads, int flags, const void *at)
{
	static _Atomic uint64_t teams;
	struct team *team = malloc(sizeof *team);

	(void)frame;
	(void)threads;
	(void)flags;
	/* Relaxed: the id orders no other memory. */
	if (team)
		*team = (struct team){
			1 + atomic_fetch_add_explicit(&teams, 1, memory_order_relaxed), at};
	parallel->ptr = team;
	if (!is_in_library(at) && task->ptr)
		parallel_begins(task->ptr, at);
}

static void on_parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *at)
{
	(void)flags;
	free(parallel->ptr);
	parallel->ptr = NULL;
	if (!is_in_library(at) && task->ptr)
		parallel_ends(task->ptr);
}

/*
 * For a thread of a team, the end may come only when the thread begins its next region: the team
 * may have been freed already.
 */
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
			     ompt_data_t *data, unsigned threads, unsigned index, int flags)
{
	const struct team *team;
	struct task *task = data->ptr;

	(void)flags;
	if (endpoint == ompt_scope_end) {
		data->ptr = NULL;
		if (task && thread_task() == task)
			set_thread_task(task->outer);
		free_task(task);
		return;
	}
	team = parallel ? parallel->ptr : NULL;
	task = data->ptr = new_task(IMPLICIT, team ? team->at : NULL);
	if (!task)
		return;
	task->team = team ? team->id : 0;
	task->threads = (int)threads;
	task->index = (int)index;
	task->outer = thread_task();
	set_thread_task(task);
}

static void on_sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
			   ompt_data_t *parallel, ompt_data_t *data, const void *at)
{
	struct task *task = data ? data->ptr : NULL;
	bool waits = kind == ompt_sync_region_taskwait || kind == ompt_sync_region_taskgroup;

	(void)parallel;
	if (!task || is_in_library(at))
		return;
	if (kind == ompt_sync_region_reduction && endpoint == ompt_scope_begin)
		reduction_begins(task, at);
	else if (waits && endpoint == ompt_scope_end)
		tasks_have_ended(task, at);
	else if (!waits && kind != ompt_sync_region_reduction && endpoint == ompt_scope_begin)
		barrier_begins(task, at);
	else if (!waits && kind != ompt_sync_region_reduction)
		barrier_ends(task);
}

static void on_task_create(ompt_data_t *maker, const ompt_frame_t *frame, ompt_data_t *made,
			   int flags, int has_dependences, const void *at)
{
	bool undeferred = (flags & ompt_task_undeferred) != 0;

	(void)frame;
	(void)has_dependences;
	if (flags & ompt_task_explicit)
		made->ptr = is_in_library(at)
				    ? new_task(BODIES, at)
				    : task_is_made(maker ? maker->ptr : NULL, undeferred, at);
}

static void on_dependences(ompt_data_t *data, const ompt_dependence_t *dependence, int count)
{
	if (data->ptr)
		task_depends(data->ptr, dependence, count);
}

static void on_task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
	struct task *task = prior ? prior->ptr : NULL;

	task_switch(task, next ? next->ptr : NULL);
	if (!task || task->implicit ||
	    (status != ompt_task_complete && status != ompt_task_cancel))
		return;
	prior->ptr = NULL;
	free_task(task);
}

static void on_mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *at)
{
	struct task *task = present_task();

	(void)kind;
	if (task)
		section_begins(task, id, at);
}

static void on_mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void *at)
{
	struct task *task = present_task();

	(void)at;
	if (task)
		section_ends(task, kind, id);
}

/*
 * Runtimes of OpenMP 5.2 tell the schedule of a loop. Older ones do not: there a loop is static if
 * the event comes from a function of libomp with a known name.
 */
enum { LOOP_STATIC = 10, LOOP_OTHER = 13 };

static bool is_dynamic(ompt_work_t kind, const void *from)
{
	Dl_info info;

	if ((int)kind >= LOOP_STATIC && (int)kind <= LOOP_OTHER)
		return (int)kind != LOOP_STATIC;
	return !(dladdr((void *)(uintptr_t)from, &info) && info.dli_sname &&
		 !strncmp(info.dli_sname, "__kmpc_for_static_init", 22));
}

static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel,
		    ompt_data_t *data, uint64_t count, const void *at)
{
	const void *from = __builtin_return_address(0);
	struct task *task = data ? data->ptr : NULL;

	(void)parallel;
	(void)count;
	if (!task || kind == ompt_work_taskloop || kind == ompt_work_single_other ||
	    kind == ompt_work_scope)
		return;
	if (endpoint == ompt_scope_begin)
		work_begins(task, is_dynamic(kind, from), at);
	else
		work_ends(task, kind);
}

/* ---- Beginning and end ---- */

static int initialise(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");

	(void)device;
	(void)data;
	get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
	set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
	set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
	set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task);
	set(ompt_callback_sync_region, (ompt_callback_t)on_sync_region);
	set(ompt_callback_reduction, (ompt_callback_t)on_sync_region);
	set(ompt_callback_task_create, (ompt_callback_t)on_task_create);
	set(ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule);
	set(ompt_callback_dependences, (ompt_callback_t)on_dependences);
	set(ompt_callback_mutex_acquired, (ompt_callback_t)on_mutex_acquired);
	set(ompt_callback_mutex_released, (ompt_callback_t)on_mutex_released);
	set(ompt_callback_work, (ompt_callback_t)on_work);
	saw_runtime = true;
	return !reel_observe(observe, sizeof(reel_event));
}

static void finalise(ompt_data_t *data)
{
	(void)data;
	reel_observe(NULL, sizeof(reel_event));
	summarise(atomic_load_explicit(&saw_reel, memory_order_relaxed));
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t result = {initialise, finalise, {0}};

	(void)version;
	(void)runtime;
	return &result;
}

/* Calls a function of OpenMP, since the first call makes the runtime start and load the tool. */
__attribute__((constructor)) static void begin(void)
{
	const char *preload = getenv("LD_PRELOAD");
	int (*any)(void);
	void *symbol;

	if (!preload || !strstr(preload, "reel-verify"))
		return;
	reel_observe(observe, sizeof(reel_event));
	symbol = dlsym(RTLD_DEFAULT, "omp_get_max_threads");
	memcpy(&any, &symbol, sizeof any);
	if (any)
		any();
}

__attribute__((destructor)) static void end(void)
{
	if (atomic_load_explicit(&saw_reel, memory_order_relaxed) && !saw_runtime)
		report_no_runtime();
}
