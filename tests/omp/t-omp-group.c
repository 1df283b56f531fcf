/* SPDX-License-Identifier: MIT */
/*
 * Tests sweeps by several threads of several processes that follow one plan. Here a process is a
 * thread with its own team, and callbacks of all processes wait for each other in each step. So a
 * sweep hangs, or counts steps that differ, unless all processes carry out the same actions with
 * the same state.
 */
#include <config.h>

#include <omp.h>
#include <unistd.h>

#include <reel/omp.h>

#include "checkpoint/run/run.h"
#include "helpers/meeting.h"
#include "helpers/pool-support.h"
#include "helpers/recurrence.h"
#include "helpers/slab-refusals.h"
#include "helpers/thread-team.h"

enum {
	MEMBERS = 3,
	STEPS = 30,
	SLOTS = 4,
	MAX_TAPES = 8,
	SERIAL = MAX_TAPES + 1,      /* meeting of callbacks that get the run's own context */
	GROUPS = 2 * (MAX_TAPES + 2) /* meetings of actions */
};

/* One run is refused the memory of two snapshots in a row; the second one has the number N. */
static const struct reel_snapshots *refused_snapshots;
static _Atomic int snapshots_to_go = INT_MAX;

int __real_reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
				 int64_t state, size_t bytes, void **data);
int __wrap_reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
				 int64_t state, size_t bytes, void **data);

int __wrap_reel_snapshot_reserve(struct reel_snapshots *snapshots, unsigned tier, unsigned number,
				 int64_t state, size_t bytes, void **data)
{
	if (snapshots == refused_snapshots) {
		int to_go = atomic_fetch_sub(&snapshots_to_go, 1);

		if (to_go == 2 || to_go == 1)
			return -ENOMEM;
	}
	return __real_reel_snapshot_reserve(snapshots, tier, number, state, bytes, data);
}

/* ---- Processes ---- */

static struct meeting callbacks[MAX_TAPES + 2], groups[GROUPS];
static unsigned groups_opened[MEMBERS], groups_closed;
static unsigned failing_duplicate; /* 0: none fails */

/* The n-th duplicate of each member leads to the n-th meeting. */
static int duplicate(const struct reel_run_group *group, struct reel_run_group *copy)
{
	if (groups_opened[group->rank] + 1 == failing_duplicate)
		return -EIO;
	*copy = *group;
	copy->context = &groups[++groups_opened[group->rank]];
	return groups_opened[group->rank] < GROUPS ? 0 : -ENOMEM;
}

/* A process that gets the result of a meeting late. */
static int meet_late(void *context, int64_t *values, int count)
{
	int error = meet(context, values, count);

	usleep(100);
	return error;
}

static int refuse_duplicate(const struct reel_run_group *group, struct reel_run_group *copy)
{
	(void)group;
	(void)copy;
	return -ENOTSUP;
}

static pthread_mutex_t close_lock = PTHREAD_MUTEX_INITIALIZER;

static void close_group(void *context)
{
	(void)context;
	pthread_mutex_lock(&close_lock);
	groups_closed++;
	pthread_mutex_unlock(&close_lock);
}

/* ---- A model whose processes wait for each other ---- */

struct place {
	struct run run;
	struct meeting *meeting;
	_Atomic unsigned *unlike;
	int fails_with;
	int64_t ballast; /* number of additional values that a step pushes */
	int failing_save; /* number of the first save that fails, from 1; 0: none fails */
	int saves;
};

enum callback { ADVANCE, RECORD, REVERSE };

static void exchange(const struct place *place, enum callback callback, int64_t step)
{
	int64_t call = step * 4 + callback, values[] = {call, -call};

	meet(place->meeting, values, 2);
	if (values[0] != -values[1])
		atomic_fetch_add(place->unlike, 1);
}

static int advance_in_group(void *context, void *state, int64_t first, int64_t last)
{
	const struct place *place = context;

	for (int64_t step = first; step < last; step++) {
		exchange(place, ADVANCE, step);
		primal_step(&place->run, state, step);
	}
	return first <= place->run.failing_advance && place->run.failing_advance < last ?
		       place->fails_with : 0;
}

static int record_in_group(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	const struct place *place = context;

	for (int64_t step = first; step < last; step++) {
		exchange(place, RECORD, step);
		push_state(tape, state);
		for (int64_t i = 0; i < place->ballast; i++)
			reel_push(tape, (double)i);
		primal_step(&place->run, state, step);
	}
	return first <= place->run.failing_record && place->run.failing_record < last ?
		       place->fails_with : 0;
}

static int reverse_in_group(void *context, void *adjoint, int64_t first, int64_t last,
			    reel_tape *tape)
{
	const struct place *place = context;

	for (int64_t step = last; step-- > first;) {
		exchange(place, REVERSE, step);
		for (int64_t i = 0; i < place->ballast; i++)
			(void)reel_pop(tape, double);
		reverse_step(&place->run, adjoint, step, tape);
	}
	return first <= place->run.failing_reverse && place->run.failing_reverse < last ?
		       place->fails_with : 0;
}

static int save_in_group(void *context, const void *state, void *snapshot)
{
	struct place *place = context;

	memcpy(snapshot, state, sizeof(struct state));
	return ++place->saves == place->failing_save ? place->fails_with : 0;
}

static const reel_model in_group = {.state_bytes = sizeof(struct state),
				    .advance = advance_in_group, .record = record_in_group,
				    .reverse = reverse_in_group, .save = save_in_group,
				    .load = load};

static const reel_model copied_in_group = {.state_bytes = sizeof(struct state),
					   .advance = advance_in_group, .record = record_in_group,
					   .reverse = reverse_in_group};

static void *open_state(void *context)
{
	(void)context;
	return malloc(sizeof(struct state));
}

static void close_state(void *context, void *state)
{
	(void)context;
	free(state);
}

/* ---- Parts ---- */

/* The part of one process in a case: its settings and its results. */
struct part {
	enum reel_planner planner;
	int64_t steps, slots;
	struct reel_omp_options options;
	bool has_contexts, may_duplicate;
	bool is_copied;      /* states are copied: the model has no save() and load() */
	bool is_late;
	bool is_busy;        /* the other threads of the team do not take part */
	size_t budget_slabs; /* 0: no budget */
	struct place place;
	int error;
	char text[300];
	bool right;
	struct reel_omp_stats stats;
};

static _Atomic unsigned unlike;

/*
 * Memory is refused in reverse sweeps only: `refused_requests` requests, from number
 * `refused_request` on; 0: none.
 */
static struct meeting turn;
static unsigned refused_request, refused_requests, requests;

static void begin_refusing(int member)
{
	int64_t none = 0;

	meet(&turn, &none, 1);
	if (member == 0 && refused_request)
		refuse_between(REFUSE_MEMORY | REFUSE_MAPPING, refused_request,
			       refused_request + refused_requests - 1);
	meet(&turn, &none, 1);
}

static void end_refusing(int member)
{
	int64_t none = 0;

	meet(&turn, &none, 1);
	if (member == 0)
		requests = stop_refusing();
	meet(&turn, &none, 1);
}

/* Calls reel_omp_run_reverse() in a region whose other threads are busy until it returns. */
static int reverse_in_busy_team(reel_run *run, void *context, void *state, void *bar,
				const struct reel_omp_options *options,
				struct reel_omp_stats *stats)
{
	_Atomic bool over = false;
	int error = 0;

	/* Each thread has a copy of `context`: it would read a shared one before it acquires. */
	reel_annotate_release(context);
#pragma omp parallel num_threads(options->threads) default(none) firstprivate(context) \
	shared(run, state, bar, options, stats, over, error)
	{
		reel_annotate_acquire(context);
		if (omp_get_thread_num() == 0) {
			error = reel_omp_run_reverse(run, context, state, bar, options, stats);
			atomic_store(&over, true);
		}
		while (!atomic_load(&over))
			usleep(200);
		reel_annotate_release(context);
	}
	reel_annotate_acquire(context);
	return error;
}

static int sweep(struct part *part, int member, reel_run *run)
{
	struct place place[MAX_TAPES + 2];
	void *contexts[MAX_TAPES + 1];
	struct reel_omp_options options = part->options;
	struct state state = start, bar = seed;
	int error;

	for (int i = 0; i <= SERIAL; i++) {
		place[i] = part->place;
		place[i].meeting = &callbacks[i];
		place[i].unlike = &unlike;
		if (i < SERIAL)
			contexts[i] = &place[i];
	}
	options.contexts = part->has_contexts ? contexts : NULL;
	if (part->is_copied)
		options.open_state = NULL, options.close_state = NULL;
	error = reel_run_forward(run, &place[SERIAL], &state);
	begin_refusing(member);
	if (!error && part->is_busy)
		error = reverse_in_busy_team(run, &place[SERIAL], &state, &bar, &options,
					     &part->stats);
	else if (!error)
		error = reel_omp_run_reverse(run, &place[SERIAL], &state, &bar, &options,
					     &part->stats);
	end_refusing(member);
	part->right = is_gradient(&bar, part->steps);
	return error;
}

static void carry_out(const struct member *member)
{
	struct part *part = (struct part *)member->team->context + member->number;
	struct reel_pool_options small = small_options();
	struct reel_run_options options = {0};
	reel_plan *plan = plan_for(part->planner, part->steps, part->slots);
	struct reel_run_group group = {
		.rank = member->number, .ranks = MEMBERS, .max = part->is_late ? meet_late : meet,
		.duplicate = part->may_duplicate ? duplicate : refuse_duplicate,
		.close = close_group, .context = &groups[0]};
	reel_run *run = NULL;

	small.hard_budget = part->budget_slabs * small_slab();
	if (reel_pool_open(&options.pool, &small)) {
		printf("Bail out! a pool\n");
		exit(EXIT_FAILURE);
	}
	part->error = reel_run_open_in_group(
		&run, plan, part->is_copied ? &copied_in_group : &in_group, &options, &group);
	if (!part->error) {
		if (member->number == 1)
			refused_snapshots = &run->snapshots;
		part->error = sweep(part, member->number, run);
		snprintf(part->text, sizeof part->text, "%s", reel_error_text(part->error));
		reel_run_close(run);
	}
	reel_plan_close(plan);
	reel_pool_close(options.pool);
}

/* Fills equal parts, which a case then changes. */
static void make_parts(struct part parts[MEMBERS], enum reel_planner planner)
{
	for (int m = 0; m < MEMBERS; m++)
		parts[m] = (struct part){.planner = planner, .steps = STEPS, .slots = SLOTS,
					 .options = {.threads = 3, .tapes = 3,
						     .open_state = open_state,
						     .close_state = close_state},
					 .has_contexts = true, .may_duplicate = true,
					 .place = {.run = no_failure}};
}

/* Returns true if all processes made the same calls, and closed all groups that they opened. */
static bool run_parts(struct part parts[MEMBERS])
{
	unsigned opened = 0;

	groups_closed = 0;
	memset(groups_opened, 0, sizeof groups_opened);
	atomic_store(&unlike, 0);
	run_team(MEMBERS, carry_out, parts);
	for (int m = 0; m < MEMBERS; m++)
		opened += groups_opened[m];
	return !atomic_load(&unlike) && groups_closed == opened + MEMBERS;
}

static int members_right(const struct part parts[MEMBERS])
{
	int count = 0;

	for (int m = 0; m < MEMBERS; m++)
		count += !parts[m].error && parts[m].right;
	return count;
}

/* Returns true if all processes have the gradient, after equal numbers of actions and pauses. */
static bool all_right(const struct part parts[MEMBERS])
{
	bool alike = true;

	for (int m = 1; m < MEMBERS; m++)
		alike &= parts[m].stats.actions == parts[0].stats.actions &&
			 parts[m].stats.pauses == parts[0].stats.pauses;
	return alike && members_right(parts) == MEMBERS;
}

static bool all_stopped(const struct part parts[MEMBERS], int value)
{
	bool all = true;

	for (int m = 0; m < MEMBERS; m++)
		all &= parts[m].error == value;
	return all;
}

/* Returns the number of processes that looked ahead. */
static int members_ahead(const struct part parts[MEMBERS])
{
	int count = 0;

	for (int m = 0; m < MEMBERS; m++)
		count += parts[m].stats.actions > 0;
	return count;
}

/* ---- Cases ---- */

static void gradients(void)
{
	struct part parts[MEMBERS];

	tap_case("each planner");
	for (enum reel_planner planner = 0; planner < REEL_ONLINE; planner++) {
		bool alike;

		make_parts(parts, planner);
		alike = run_parts(parts);
		ok(alike && members_right(parts) == MEMBERS && members_ahead(parts) == MEMBERS,
		   "%s looks ahead on all, and gives the gradient", reel_planner_name(planner));
	}
}

static void different_options(void)
{
	struct part parts[MEMBERS];
	bool alike = true;

	tap_case("processes with other threads and tapes");
	make_parts(parts, REEL_BINOMIAL);
	for (int m = 0; m < MEMBERS; m++) {
		parts[m].options.threads = 2 + m;
		parts[m].options.tapes = 7 - 2 * (unsigned)m;
	}
	for (int i = 0; i < 4; i++)
		alike &= run_parts(parts) && members_right(parts) == MEMBERS;
	ok(alike && members_ahead(parts) == MEMBERS,
	   "processes with other threads and tapes take the fewest tapes of all");
	parts[1].is_busy = true;
	alike = true;
	for (int i = 0; i < 4; i++)
		alike &= run_parts(parts) && members_right(parts) == MEMBERS;
	ok(alike && members_ahead(parts) == MEMBERS, "one of which one thread takes part");
	parts[1].is_busy = false;
	parts[0].options.tapes = 1;
	alike = run_parts(parts);
	ok(alike && all_right(parts) && members_ahead(parts) == MEMBERS,
	   "one of which wants a single tape");
	parts[1].options.threads = 1;
	alike = run_parts(parts);
	ok(alike && members_right(parts) == MEMBERS && members_ahead(parts) == 0,
	   "one with a single thread makes all serial");
	parts[1].options.threads = 2;
	parts[2].has_contexts = false;
	alike = run_parts(parts);
	ok(alike && members_right(parts) == MEMBERS && members_ahead(parts) == 0,
	   "one without contexts, too");
	make_parts(parts, REEL_BINOMIAL);
	for (int m = 0; m < MEMBERS; m++)
		parts[m].may_duplicate = false;
	alike = run_parts(parts);
	ok(alike && members_right(parts) == MEMBERS && members_ahead(parts) == 0,
	   "processes whose threads may not all agree make all serial");
	alike = true;
	for (failing_duplicate = 1; failing_duplicate <= 4; failing_duplicate++) {
		make_parts(parts, REEL_BINOMIAL);
		alike &= run_parts(parts) && all_stopped(parts, -EIO);
	}
	failing_duplicate = 0;
	ok(alike, "a group that cannot be opened is an error on all");
	make_parts(parts, REEL_BINOMIAL);
	parts[2].options.tapes = REEL_OMP_MAX_TAPES + 1;
	alike = run_parts(parts);
	ok(alike && parts[2].error == -EINVAL && parts[0].error == -ECANCELED &&
	   parts[1].error == -ECANCELED && strstr(parts[0].text, "rank 2"),
	   "a wrong option of one is an error on all");
}

/* Returns true if each member that fails has its error, and the other members name it. */
static bool failure_is_told(const struct part parts[MEMBERS], int failing)
{
	bool told = true;
	char name[20];

	snprintf(name, sizeof name, "rank %d", failing);
	for (int m = 0; m < MEMBERS; m++)
		told &= m == failing ? parts[m].error == -EIO :
				       parts[m].error == -ECANCELED && strstr(parts[m].text, name);
	return told;
}

static void failures(void)
{
	static const size_t failing[] = {offsetof(struct run, failing_advance),
					 offsetof(struct run, failing_record),
					 offsetof(struct run, failing_reverse)};
	struct part parts[MEMBERS];
	int unlike_runs = 0, untold = 0, ended = 0;

	tap_case("a callback that fails on one process");
	for (size_t c = 0; c < COUNT(failing); c++) {
		for (int64_t step = 0; step < STEPS; step += stride_of(2)) {
			int m = ended % MEMBERS, with = step % 3 ? -EIO : 7;

			make_parts(parts, ended % 2 ? REEL_MIXED : REEL_BINOMIAL);
			parts[m].place.fails_with = with;
			*(int64_t *)((char *)&parts[m].place.run + failing[c]) = step;
			unlike_runs += !run_parts(parts);
			/* A plan does not advance over some steps. */
			if (members_right(parts) == MEMBERS && c == 0)
				continue;
			untold += !(with < 0 ? failure_is_told(parts, m) : all_stopped(parts, 7));
			ended++;
		}
	}
	ok(ended > 10 && !untold,
	   "a failed callback ends the sweep on all, which know the reason: %d of %d do not",
	   untold, ended);
	is_int(unlike_runs, 0, "after the same calls of all");
}

static bool is_want_of_memory(int error)
{
	return error == -ENOMEM || error == -EDQUOT || error == -ECANCELED;
}

/* Returns true if all processes have the gradient, or all have an error for want of memory. */
static bool is_well(const struct part parts[MEMBERS])
{
	int errors = 0;

	for (int m = 0; m < MEMBERS; m++)
		errors += is_want_of_memory(parts[m].error);
	return errors ? errors == MEMBERS : all_right(parts);
}

static void budgets(void)
{
	struct part parts[MEMBERS];
	int unlike_runs = 0, wrong = 0, right = 0;
	int64_t dropped = 0, pauses = 0;

	tap_case("a budget on one process");
	for (size_t slabs = 6; slabs <= 60; slabs += stride_of(4)) {
		for (int mixed = 0; mixed < 2; mixed++) {
			make_parts(parts, mixed ? REEL_MIXED : REEL_BINOMIAL);
			for (int m = 0; m < MEMBERS; m++)
				parts[m].place.ballast = 1000;
			for (int m = 0; m < MEMBERS && mixed; m++) {
				parts[m].steps = 60;
				parts[m].slots = 6;
			}
			parts[slabs % MEMBERS].budget_slabs = slabs;
			unlike_runs += !run_parts(parts);
			wrong += !is_well(parts);
			right += members_right(parts) == MEMBERS;
			dropped += parts[0].stats.dropped;
			pauses += parts[0].stats.pauses;
		}
	}
	ok(!wrong && right > 3,
	   "one budget gives the gradient, or an error on all: %d sweeps do not", wrong);
	is_int(unlike_runs, 0, "after the same calls of all");
	tap_note("%lld tapes dropped, %lld pauses", (long long)dropped, (long long)pauses);
	make_parts(parts, REEL_BINOMIAL);
	for (int m = 0; m < MEMBERS; m++)
		parts[m].place.ballast = 20000;
	parts[0].budget_slabs = 20000;
	unlike_runs = !run_parts(parts);
	dropped = 0;
	for (int m = 0; m < MEMBERS; m++)
		dropped += parts[m].stats.dropped;
	ok(all_right(parts) && !unlike_runs && !dropped,
	   "an ample one drops no tape: %lld are dropped", (long long)dropped);
}

/* Some requests for memory of all processes are refused. */
static void refusals(void)
{
	struct part parts[MEMBERS];
	int unlike_runs = 0, wrong = 0, right = 0;
	int64_t pauses = 0;

	tap_case("memory that is refused");
	refused_request = 1;
	do {
		refused_requests = 1 + refused_request % 30;
		make_parts(parts, refused_request % 2 ? REEL_MIXED : REEL_BINOMIAL);
		for (int m = 0; m < MEMBERS; m++) {
			parts[m].place.ballast = 1000;
			parts[m].budget_slabs = 2000;
		}
		unlike_runs += !run_parts(parts);
		wrong += !is_well(parts);
		right += members_right(parts) == MEMBERS;
		pauses += parts[0].stats.pauses;
		refused_request += is_brief() ? 1 + refused_request / 16 : 1;
	} while (refused_request <= requests);
	refused_request = 0;
	ok(!wrong && right > 3,
	   "refused memory gives the gradient, or an error on all: %d sweeps do not", wrong);
	is_int(unlike_runs, 0, "after the same calls of all");
	tap_note("%lld pauses", (long long)pauses);
}

/*
 * A snapshot of one process finds no memory, and none again when one thread continues alone. So the
 * process gives up the tapes that it has recorded ahead, and all record their steps again.
 */
static void tapes_given_up(void)
{
	struct part parts[MEMBERS];
	int wrong = 0, went_on = 0;
	int64_t given_up = 0;

	tap_case("a process that gives up its tapes");
	/*
	 * In most attempts there is no tape to give up. If other programs use the processors, no
	 * thread records ahead for a while.
	 */
	for (int k = 0; k < 36 || (k < 1800 && !went_on); k++) {
		make_parts(parts, REEL_BINOMIAL);
		for (int m = 0; m < MEMBERS; m++) {
			parts[m].steps = 60;
			parts[m].slots = 3;
			parts[m].budget_slabs = 2000;
		}
		atomic_store(&snapshots_to_go, 5 + k % 36);
		wrong += !run_parts(parts) || !is_well(parts);
		if (members_right(parts) == MEMBERS && parts[1].stats.dropped > 0) {
			went_on++;
			given_up += parts[1].stats.dropped;
		}
	}
	atomic_store(&snapshots_to_go, INT_MAX);
	is_int(wrong, 0, "the sweep ends with the gradient, or with an error on all");
	ok(went_on > 0, "%d sweeps went on, without %lld tapes", went_on,
	   (long long)given_up);
}

/* Returns a number below `end` that depends on the sweep and the question. */
static unsigned choose(uint64_t number, uint64_t question, unsigned end)
{
	return (unsigned)(scramble(number << 8 | question) % end);
}

static void make_random_parts(struct part parts[MEMBERS], uint64_t number)
{
	int failing = choose(number, 0, 3) ? -1 : (int)choose(number, 1, MEMBERS);
	int64_t step = choose(number, 2, STEPS);
	struct run run = no_failure;

	make_parts(parts, (enum reel_planner)choose(number, 3, REEL_ONLINE));
	for (int m = 0; m < MEMBERS; m++) {
		uint64_t own = number * MEMBERS + (uint64_t)m;

		parts[m].steps = 4 + choose(number, 4, 40);
		parts[m].slots = 2 + choose(number, 5, 5);
		parts[m].options.threads = 2 + (int)choose(own, 6, 3);
		parts[m].options.tapes = 2 + choose(own, 7, 6);
		parts[m].is_busy = !choose(own, 8, 4);
		parts[m].is_late = !choose(own, 17, 4);
		parts[m].is_copied = choose(number, 16, 2);
		parts[m].budget_slabs = choose(own, 9, 3) ? 8 + choose(number, 10, 200) : 0;
		parts[m].place.ballast = 1000;
	}
	if (failing >= 0) {
		switch (choose(number, 11, 4)) {
		case 0: run.failing_advance = step; break;
		case 1: run.failing_record = step; break;
		case 2: run.failing_reverse = step; break;
		default: parts[failing].place.failing_save = 1 + (int)step / 4;
		}
		parts[failing].place.run = run;
		parts[failing].place.fails_with = -EIO;
	}
	refused_request = choose(number, 12, 4) ? 1 + choose(number, 13, 300) : 0;
	refused_requests = 1 + choose(number, 14, choose(number, 15, 2) ? 6 : 60);
}

/* Returns true if no process has an error, or each has one, its own or -ECANCELED. */
static bool is_all_or_nothing(const struct part parts[MEMBERS])
{
	int errors = 0, canceled = 0;

	for (int m = 0; m < MEMBERS; m++) {
		errors += parts[m].error != 0;
		canceled += parts[m].error == -ECANCELED;
	}
	return errors ? errors == MEMBERS && canceled < MEMBERS : all_right(parts);
}

static void random_sweeps(void)
{
	uint64_t first = number_from_environment("TEST_SEED", 1);
	uint64_t sweeps = !is_brief() ? 5000 : is_sanitized() ? 50 : 150;
	struct part parts[MEMBERS];
	int wrong = 0, right = 0, went_on = 0;

	tap_case("random sweeps");
	for (uint64_t number = first; number < first + sweeps; number++) {
		bool well;

		make_random_parts(parts, number);
		well = run_parts(parts) && is_all_or_nothing(parts);
		if (!well && !wrong++)
			tap_note("the first one is TEST_SEED=%llu", (unsigned long long)number);
		right += members_right(parts) == MEMBERS;
		went_on += members_right(parts) == MEMBERS && parts[0].stats.pauses > 0;
	}
	refused_request = 0;
	ok(!wrong && right > (int)sweeps / 4, "%d gradients; %d are wrong", right, wrong);
	ok(went_on > 0, "%d sweeps paused for memory and went on", went_on);
}

int main(void)
{
	/* There are more threads than processors; libomp's own tool does not know other threads. */
	setenv("OMP_WAIT_POLICY", "passive", 1);
	setenv("OMP_TOOL", "disabled", 1);
	for (int i = 0; i <= SERIAL; i++)
		open_meeting(&callbacks[i], MEMBERS);
	for (int i = 0; i < GROUPS; i++)
		open_meeting(&groups[i], MEMBERS);
	open_meeting(&turn, MEMBERS);
	tap_begin();
	reel_set_error_handler(ignore_report, NULL);
	gradients();
	different_options();
	failures();
	budgets();
	refusals();
	tapes_given_up();
	random_sweeps();
	for (int i = 0; i <= SERIAL; i++)
		close_meeting(&callbacks[i]);
	for (int i = 0; i < GROUPS; i++)
		close_meeting(&groups[i]);
	close_meeting(&turn);
	return tap_end();
}
