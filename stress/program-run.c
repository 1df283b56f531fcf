/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <errno.h>
#include <setjmp.h>

#include "program.h"
#include "helpers/support.h"

unsigned program_sweep;
unsigned program_max_threads;
_Atomic uint64_t program_counts[CONSTRUCTS];
_Atomic int program_error;

#define LOCKS 8
static omp_lock_t locks[LOCKS];

/* ---- Places ---- */

int program_threads(const struct node *node, int most)
{
	return 1 + (int)(scramble(node->seed ^ (uint64_t)program_sweep << 48) % (unsigned)most);
}

struct place program_part(const struct node *node, const struct place *place, unsigned k)
{
	struct place part = *place;

	part.base = place->base + node->offset + k * node->each;
	part.cells = node->each;
	return part;
}

static struct team team_of(const struct node *node, const struct place *place)
{
	struct team team = {.node = node, .section = place->base + MAX_LANES};

	/* The last one is for ordered sections. */
	team.common = team.section + node->region.sections + 1;
	team.area[0] = team.common + node->region.commons;
	team.area[1] = team.area[0] + node->region.areas[0];
	return team;
}

/* A phase writes one area. All lanes read the other one, or cells that outer lanes read. */
static struct place place_of_lane(const struct place *outer, struct team *team, reel_lane *lane,
				  unsigned phase)
{
	const struct node *node = team->node;
	unsigned area = phase % 2;
	struct place place = *outer;

	place.lane = lane;
	place.team = team;
	place.lane_cell = team->section - MAX_LANES + (unsigned)reel_lane_index(lane);
	place.base = team->area[area];
	place.cells = node->region.areas[area];
	if (!place.shareds || scramble(node->seed + phase) % 2) {
		place.shared = team->area[!area];
		place.shareds = node->region.areas[!area];
	}
	return place;
}

/* ---- Statements ---- */

static bool record_statement(const struct node *node, const struct place *place)
{
	struct statement statement = program_statement(node, place);

	program_record_statement(place, &statement);
	return true;
}

static void reverse_statement(const struct node *node, const struct place *place)
{
	struct statement statement = program_statement(node, place);

	program_reverse_statement(place, &statement);
}

/* ---- Sections ---- */

static void record_turn(const struct place *place, const struct statement *statement)
{
	if (!program_omits(OMIT_NOTE))
		reel_ordered_note(place->lane, &program_order[statement->to]);
	program_record_statement(place, statement);
}

/* Every second section uses a lock. */
static bool record_critical(const struct node *node, const struct place *place)
{
	struct statement statement = program_statement(node, place);

	if (statement.to % 2) {
		omp_set_lock(&locks[statement.to / 2 % LOCKS]);
		record_turn(place, &statement);
		omp_unset_lock(&locks[statement.to / 2 % LOCKS]);
	} else {
#pragma omp critical(program)
		record_turn(place, &statement);
	}
	return true;
}

static void reverse_turn(const struct place *place, const struct statement *statement)
{
	if (!program_omits(OMIT_AWAIT))
		reel_ordered_await(place->lane, &program_order[statement->to]);
	program_reverse_statement(place, statement);
	if (place->by_hand || !program_omits(OMIT_DONE))
		reel_ordered_done(place->lane, &program_order[statement->to]);
}

static void reverse_critical(const struct node *node, const struct place *place)
{
	struct statement statement = program_statement(node, place);

	reverse_turn(place, &statement);
}

/* ---- Jumps out of a lane or a task ---- */

/*
 * Where a jump of this thread ends; NULL: OpenMP has a construct here that must not be left. Jumps
 * begin in loops of Reel's, since the library cannot see that a loop of the program's own is left.
 */
static _Thread_local jmp_buf *catcher;

static void may_jump(enum omission omission)
{
	if (catcher && program_omits(omission))
		longjmp(*catcher, 1);
}

/* Returns false after a jump. */
static bool catch_jump(bool (*run)(const struct node *, const struct place *),
		       const struct node *list, const struct place *place)
{
	jmp_buf *outer = catcher, here;
	bool completed = false;

	catcher = &here;
	if (!setjmp(here))
		completed = run(list, place);
	catcher = outer;
	return completed;
}

static bool reverse_list(const struct node *list, const struct place *place)
{
	program_reverse(list, place);
	return true;
}

bool program_record_caught(const struct node *list, const struct place *place)
{
	return catch_jump(program_record, list, place);
}

bool program_reverse_caught(const struct node *list, const struct place *place)
{
	return catch_jump(reverse_list, list, place);
}

/*
 * Records a list in a construct of OpenMP that must not be left, or in a lane whose thread has to
 * come to such constructs.
 */
static bool record_whole(const struct node *list, const struct place *place)
{
	jmp_buf *outer = catcher;
	bool goes_on;

	catcher = NULL;
	goes_on = program_record(list, place);
	catcher = outer;
	return goes_on;
}

/* ---- Loops ---- */

static void record_iteration(const struct node *node, const struct place *place, int64_t i)
{
	struct place part = program_part(node, place, (unsigned)(i - node->loop.low));

	may_jump(OMIT_REST);
	program_record(node->inside, &part);
}

static void record_omp_iteration(const struct node *node, const struct place *place, unsigned i)
{
	struct place part = program_part(node, place, i);

	record_whole(node->inside, &part);
}

static void reverse_iteration(const struct node *node, const struct place *place, int64_t i)
{
	struct place part = program_part(node, place, (unsigned)(i - node->loop.low));

	program_reverse(node->inside, &part);
}

static reel_chunking dealing_of(const struct node *node)
{
	return node->loop.runtime ? reel_runtime() : node->loop.chunking;
}

static int64_t high_of(const struct node *node)
{
	return node->loop.low + node->loop.iterations;
}

static bool stops_at(const struct node *node, const struct place *place, int64_t i)
{
	_Atomic bool *stopped = place->team && node->loop.stops_all ? &place->team->stopped : NULL;

	if (i - node->loop.low < node->loop.stop && !(stopped && *stopped))
		return false;
	if (stopped)
		*stopped = true;
	return true;
}

static bool record_stopped_loop(const struct node *node, const struct place *place)
{
	reel_loop loop =
		reel_loop_begin(place->lane, dealing_of(node), node->loop.low, high_of(node));

	while (reel_loop_next(&loop)) {
		for (int64_t i = loop.first; i < loop.end; i++) {
			if (stops_at(node, place, i)) {
				if (!program_omits(OMIT_STOP))
					reel_loop_stop(&loop, i);
				return !node->loop.leaves;
			}
			record_iteration(node, place, i);
		}
	}
	return true;
}

static bool record_loop(const struct node *node, const struct place *place)
{
	if (node->loop.stops)
		return record_stopped_loop(node, place);
	REEL_FOR(place->lane, int64_t, i, node->loop.low, high_of(node), dealing_of(node))
		record_iteration(node, place, i);
	return true;
}

static void reverse_loop(const struct node *node, const struct place *place)
{
	if (program_omits(OMIT_LOOP))
		return;
	REEL_FOR_REVERSE(place->lane, int64_t, i, node->loop.low, high_of(node), dealing_of(node)) {
		may_jump(OMIT_REST_REVERSE);
		reverse_iteration(node, place, i);
	}
}

/* ---- One lane, each lane ---- */

static bool record_single(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);

	REEL_SINGLE(place->lane)
		program_record(node->inside, &part);
	return true;
}

static void reverse_single(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);

	if (program_omits(OMIT_SINGLE))
		return;
	REEL_SINGLE_REVERSE(place->lane)
		program_reverse(node->inside, &part);
}

static bool record_master(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);

	if (reel_lane_index(place->lane) == 0)
		program_record(node->inside, &part);
	return true;
}

static void reverse_master(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);

	if (reel_lane_index(place->lane) == 0)
		program_reverse(node->inside, &part);
}

static bool record_each(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, (unsigned)reel_lane_index(place->lane));

	program_record(node->inside, &part);
	return true;
}

static void reverse_each(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, (unsigned)reel_lane_index(place->lane));

	program_reverse(node->inside, &part);
}

static bool record_leave(const struct node *node, const struct place *place)
{
	return !(node->leaving >> reel_lane_index(place->lane) & 1);
}

static void reverse_nothing(const struct node *node, const struct place *place)
{
	(void)node;
	(void)place;
}

/* ---- OpenMP's own loops and single: the lane keeps which iterations it had ---- */

static struct statement ordered_statement(const struct node *node, const struct place *place,
					  unsigned i)
{
	struct place part = program_part(node, place, i);
	struct statement statement = program_statement(node, &part);

	statement.to = place->team->section + place->team->node->region.sections;
	statement.weight = NO_CELL;
	return statement;
}

static bool record_ordered(const struct node *node, const struct place *place)
{
	reel_tape *tape = reel_lane_tape(place->lane);
	int count = 0;

#pragma omp for ordered schedule(runtime)
	for (unsigned i = 0; i < node->loop.iterations; i++) {
		struct statement statement = ordered_statement(node, place, i);

		record_omp_iteration(node, place, i);
#pragma omp ordered
		record_turn(place, &statement);
		reel_push(tape, i);
		count++;
	}
	reel_push(tape, count);
	return true;
}

static void reverse_ordered(const struct node *node, const struct place *place)
{
	reel_tape *tape = reel_lane_tape(place->lane);
	unsigned count = reel_pop(tape, unsigned);

	/*
	 * After an error a loop whose count was all ones has left its values on the tape. So pops
	 * of earlier loops may find any number.
	 */
	for (count = count <= node->loop.iterations ? count : 0; count > 0; count--) {
		unsigned i = reel_pop(tape, unsigned);
		struct statement statement;

		if (i >= node->loop.iterations)
			return;
		statement = ordered_statement(node, place, i);
		reverse_turn(place, &statement);
		reverse_iteration(node, place, node->loop.low + i);
	}
}

/* libomp 14 cannot cancel dynamic loops. */
static bool record_omp_loop(const struct node *node, const struct place *place)
{
	reel_tape *tape = reel_lane_tape(place->lane);
	unsigned count = 0;

#pragma omp for schedule(static, 2)
	for (unsigned i = 0; i < node->loop.iterations; i++) {
#pragma omp cancel for if (node->loop.stops && i >= node->loop.stop)
		record_omp_iteration(node, place, i);
		reel_push(tape, i);
		count++;
#pragma omp cancellation point for
	}
	reel_push(tape, count);
	return true;
}

static void reverse_omp_loop(const struct node *node, const struct place *place)
{
	reel_tape *tape = reel_lane_tape(place->lane);
	unsigned count = reel_pop(tape, unsigned);

	/*
	 * After an error a loop whose count was all ones has left its values on the tape. So pops
	 * of earlier loops may find any number.
	 */
	for (count = count <= node->loop.iterations ? count : 0; count > 0; count--) {
		unsigned i = reel_pop(tape, unsigned);

		if (i < node->loop.iterations)
			reverse_iteration(node, place, node->loop.low + i);
	}
}

static bool record_omp_single(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);
	const uint64_t *x = &program_cells.x[part.base];
	bool mine = false;
	uint64_t value;

#pragma omp single copyprivate(value)
	{
		record_whole(node->inside, &part);
		value = *x;
		mine = true;
	}
	if (value != *x)
		stress_fail("copyprivate gives a wrong value");
	reel_push_bit(reel_lane_tape(place->lane), mine);
	return true;
}

static void reverse_omp_single(const struct node *node, const struct place *place)
{
	struct place part = program_part(node, place, 0);

	if (reel_pop_bit(reel_lane_tape(place->lane)))
		program_reverse(node->inside, &part);
}

/* ---- Regions ---- */

static void pass_barrier(reel_worker *worker, enum barrier barrier)
{
	switch (barrier) {
	case SHARE_PHASE:
		reel_worker_phase(worker);
		break;
	case REEL_BARRIER:
		reel_worker_barrier(worker);
		break;
	default: {
#pragma omp barrier
		reel_worker_next_phase(worker);
	}
	}
}

static const struct node *phase_of(const struct node *region, unsigned phase)
{
	const struct node *node = region->inside;

	while (phase-- > 0)
		node = node->next ? node->next : region->inside;
	return node;
}

static void record_lane(const struct place *outer, struct team *team, reel_lane *lane,
			unsigned phase)
{
	struct place place = place_of_lane(outer, team, lane, phase);
	bool *left = &team->left[reel_lane_index(lane)];

	atomic_fetch_add_explicit(&program_counts[PHASE], 1, memory_order_relaxed);
	if (!*left)
		*left = !(team->node->region.bound ? record_whole : program_record_caught)(
			phase_of(team->node, phase)->inside, &place);
}

/* The phase after which a barrier is left out, or a number that no phase has. */
static unsigned omitted_barrier(unsigned phases, enum omission omission)
{
	unsigned p = 0;

	while (p + 1 < phases && !program_omits(omission))
		p++;
	return p + 1 < phases ? p : UINT_MAX;
}

static void record_with_workers(reel_region *region, struct team *team, const struct place *outer)
{
	unsigned phases = team->node->region.phases;
	/* All threads leave the barrier out, or others would wait at a barrier of OpenMP. */
	unsigned omitted = omitted_barrier(phases, OMIT_PHASE);

#pragma omp parallel num_threads(program_threads(team->node, team->node->region.max_threads))
	{
		reel_worker worker = reel_worker_of(region);

		for (unsigned p = 0; p < phases; p++) {
			while (reel_worker_next(&worker)) {
				record_lane(outer, team, worker.lane, p);
				if (program_omits(OMIT_NEXT))
					break;
			}
			if (p + 1 < phases && p != omitted)
				pass_barrier(&worker, team->node->region.barrier);
		}
	}
}

static bool ends_with_barrier(const struct node *phase)
{
	const struct node *node = phase->inside;

	while (node->next)
		node = node->next;
	return node->construct == OMP_SINGLE;
}

static bool cancels(const struct node *node, unsigned phase)
{
	return phase == node->region.cancelled &&
	       (unsigned)omp_get_thread_num() == node->seed % (unsigned)omp_get_num_threads();
}

static void record_bound(reel_region *region, struct team *team, const struct place *outer)
{
	const struct node *node = team->node;

#pragma omp parallel num_threads(program_threads(node, node->region.max_threads))
	{
		reel_worker worker = reel_worker_of(region);

		if (reel_worker_next(&worker)) {
			for (unsigned p = 0; p < node->region.phases; p++) {
				if (p && (outer->by_hand || !program_omits(OMIT_LANE_PHASE)))
					reel_lane_phase(worker.lane);
				record_lane(outer, team, worker.lane, p);
				if (p + 1 == node->region.phases)
					break;
#pragma omp cancel parallel if (cancels(node, p))
				if (!ends_with_barrier(phase_of(node, p))) {
#pragma omp barrier
				}
			}
		}
	}
}

/*
 * All lanes around a nested region must also see one schedule in their next loops. In libgomp 12 an
 * ordered loop of fewer static chunks than threads hangs in the next one, so these are whole parts.
 */
static void set_schedule(uint64_t random)
{
	static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided};
	unsigned kind = (unsigned)(random % 3);

	if (!omp_get_level())
		omp_set_schedule(kinds[kind], kind ? (int)(random / 3 % 4) : 0);
}

static bool record_region(const struct node *node, const struct place *place)
{
	struct team team = team_of(node, place);
	reel_region *region = reel_region_begin(place->lane, node->region.lanes);

	set_schedule(node->seed);
	if (node->region.bound)
		record_bound(region, &team, place);
	else
		record_with_workers(region, &team, place);
	reel_region_end(region);
	return true;
}

static void reverse_lane(const struct place *outer, struct team *team, reel_lane *lane,
			 unsigned phase)
{
	struct place place = place_of_lane(outer, team, lane, phase);
	reel_adjoint_view view;

	if (team->adjoint) {
		view = reel_adjoint_lane(team->adjoint, (unsigned)reel_lane_index(lane));
		place.view = &view;
	}
	program_reverse_caught(phase_of(team->node, phase)->inside, &place);
}

static reel_adjoint *adjoints[MAX_ITEMS];

/*
 * An object serves all sweeps of its region, of any number of lanes. If it is refused memory, the
 * region goes on without it, and its parent has the error.
 */
static void begin_adjoint(struct team *team, const reel_region *region, reel_lane *parent)
{
	const struct node *node = team->node;
	reel_adjoint **adjoint = &adjoints[node->region.object];
	int lanes = reel_region_lanes(region), error = 0;

	if (!node->region.weighs)
		return;
	if (!*adjoint)
		error = reel_adjoint_open(adjoint, program_cells.weight, node->region.weights,
					  &node->region.adjoint);
	if (!error)
		error = reel_adjoint_begin(*adjoint, lanes > 0 ? (unsigned)lanes : 1);
	if (error == -ENOMEM)
		reel_tape_give_up(reel_lane_tape(parent), error, "no adjoint object");
	else if (error)
		stress_fail("adjoints: %s", reel_error_text(0));
	else
		team->adjoint = *adjoint;
}

/* After an error, a lane that pops ones takes itself for the one that had OpenMP's single. */
static void end_adjoint(const struct team *team)
{
	if (team->adjoint && reel_adjoint_end(team->adjoint) && !program_error)
		stress_fail("adjoints: %s", reel_error_text(0));
}

void program_end(void)
{
	for (unsigned i = 0; i < MAX_ITEMS; i++) {
		if (adjoints[i] && reel_adjoint_close(adjoints[i]))
			stress_fail("an adjoint object does not close");
		adjoints[i] = NULL;
	}
}

static int threads_back(const struct node *node, const reel_region *region)
{
	int threads = program_threads(node, node->region.max_threads);

	return node->region.lacks_threads ? threads : reel_region_threads(region, threads);
}

/* Lanes that have left may all have left before the last phase. */
static unsigned phases_of(const struct node *node, const reel_region *region)
{
	uint64_t phases = (uint64_t)reel_region_phases(region);

	return phases < node->region.phases ? (unsigned)phases : node->region.phases;
}

static void reverse_region(const struct node *node, const struct place *place)
{
	struct team team = team_of(node, place);
	reel_region *region;
	unsigned phases, omitted;

	if (program_omits(OMIT_REGION))
		return;
	region = reel_region_reverse(place->lane);
	phases = phases_of(node, region);
	omitted = omitted_barrier(phases, OMIT_PHASE_REVERSE);
	set_schedule(program_sweep);
	begin_adjoint(&team, region, place->lane);
#pragma omp parallel num_threads(threads_back(node, region))
	{
		reel_worker worker = reel_worker_of(region);

		for (unsigned p = phases; p-- > 0;) {
			while (reel_worker_next(&worker)) {
				reverse_lane(place, &team, worker.lane, p);
				if (program_omits(OMIT_NEXT_REVERSE))
					break;
			}
			if (!p)
				break;
			if (p - 1 != omitted)
				pass_barrier(&worker, node->region.barrier_back);
			if (team.adjoint)
				reel_adjoint_phase(team.adjoint, (int)p);
		}
		if (team.adjoint && node->seed % 2)
			reel_adjoint_omp_reduce(team.adjoint);
	}
	reel_region_end(region);
	end_adjoint(&team);
}

/* ---- Lists ---- */

static const struct {
	bool (*record)(const struct node *node, const struct place *place);
	void (*reverse)(const struct node *node, const struct place *place);
} verbs[CONSTRUCTS] = {
	[STATEMENT] = {record_statement, reverse_statement},
	[REDUCTION] = {record_statement, reverse_statement},
	[REDUCER] = {record_statement, reverse_statement},
	[CRITICAL] = {record_critical, reverse_critical},
	[ATOMIC] = {record_statement, reverse_statement},
	[REGION] = {record_region, reverse_region},
	[TASKS] = {program_record_tasks, program_reverse_tasks},
	[ALONE] = {record_loop, reverse_loop},
	[LOOP] = {record_loop, reverse_loop},
	[SINGLE] = {record_single, reverse_single},
	[MASTER] = {record_master, reverse_master},
	[EACH] = {record_each, reverse_each},
	[LEAVE] = {record_leave, reverse_nothing},
	[ORDERED] = {record_ordered, reverse_ordered},
	[OMP_LOOP] = {record_omp_loop, reverse_omp_loop},
	[OMP_SINGLE] = {record_omp_single, reverse_omp_single},
};

bool program_record(const struct node *list, const struct place *place)
{
	for (const struct node *node = list; node; node = node->next) {
		/* Relaxed: a count. */
		atomic_fetch_add_explicit(&program_counts[node->construct], 1,
					  memory_order_relaxed);
		if (!verbs[node->construct].record(node, place))
			return false;
	}
	return true;
}

void program_reverse(const struct node *list, const struct place *place)
{
	if (!list)
		return;
	program_reverse(list->next, place);
	verbs[list->construct].reverse(list, place);
}

void program_begin(void)
{
	static bool done;

	omp_set_dynamic(0);
	omp_set_max_active_levels(8);
	for (unsigned i = 0; i < LOCKS && !done; i++)
		omp_init_lock(&locks[i]);
	done = true;
}
