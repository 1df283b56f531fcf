/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "os/annotate.h"
#include "program.h"

#define MAX_NODES 4096
#define MAX_DEPTH 3

/* libomp 14 hangs if a thread cancels while another one still leaves the barrier before. */
#ifdef __clang__
#define CANCELS_FIRST_ONLY true
#else
#define CANCELS_FIRST_ONLY false
#endif

/* Archer 14, which tells ThreadSanitizer of OpenMP, crashes after a cancelled taskgroup. */
#ifdef REEL_THREAD_SANITIZER
#define MAY_CANCEL_TASKS false
#else
#define MAY_CANCEL_TASKS true
#endif

const char *const program_names[CONSTRUCTS] = {
	[STATEMENT] = "statement", [REDUCTION] = "reduction", [REDUCER] = "reducer",
	[CRITICAL] = "critical", [ATOMIC] = "atomic", [REGION] = "region", [TASKS] = "tasks",
	[ALONE] = "alone", [LOOP] = "loop", [SINGLE] = "single", [MASTER] = "master",
	[EACH] = "each", [LEAVE] = "leave", [ORDERED] = "ordered", [OMP_LOOP] = "omp-loop",
	[OMP_SINGLE] = "omp-single", [PHASE] = "phase", [TASK] = "task"};

static struct node nodes[MAX_NODES];
static unsigned node_count;

/* ---- Drawing ---- */

/* The constructs that may be drawn in a list. */
struct scope {
	struct stress_random *random;
	unsigned depth;
	unsigned room;      /* cells at most */
	unsigned threads;   /* at most */
	struct node *region; /* in whose lane the list is; NULL: in none */
	bool bound;         /* in a phase of a region whose threads keep their lanes */
	bool after_barrier; /* of OpenMP, in this region */
	bool tracked;       /* only constructs that Reel skips in a lane that has left */
	bool by_reel;       /* a body of reel_tasks_reverse() */
	bool in_loop;       /* of this lane: loops of one lane do not nest */
	bool no_notes;
	bool no_orders, no_tasks;
	bool may_be_late;   /* tasks at the list's end may run until the phase's barrier */
	bool may_be_dropped; /* tasks around are cancelled */
	bool stored;        /* the pool has a store */
};

static struct program *program;

static unsigned below(const struct scope *scope, unsigned bound)
{
	return stress_below(scope->random, bound);
}

static bool one_in(const struct scope *scope, unsigned n)
{
	return stress_one_in(scope->random, n);
}

static struct node *new_node(const struct scope *scope, enum construct construct)
{
	struct node *node = &nodes[node_count++];

	if (node_count == MAX_NODES)
		stress_fail("the program has too many constructs");
	*node = (struct node){.construct = construct, .seed = stress_number(scope->random)};
	return node;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool may_note_orders(const struct scope *scope)
{
	return scope->region && !scope->no_orders;
}

static void add_orders(const struct scope *scope)
{
	(void)scope;
	program->has_ordered = true;
}

static struct node *draw_serial(struct scope scope);
static void draw_region(struct scope scope, struct node *node);
static void draw_tasks(struct scope scope, struct node *node);

/* ---- Loops ---- */

static reel_chunking draw_dealing(const struct scope *scope)
{
	int64_t chunk = one_in(scope, 2) ? below(scope, 3) : below(scope, 10);

	switch (below(scope, 5)) {
	case 0:
		return reel_static(chunk);
	case 1:
		return reel_guided(chunk);
	case 2:
		return (reel_chunking){REEL_STATIC_LOOP, 1, chunk};
	default:
		return reel_dynamic(chunk);
	}
}

static unsigned cells_of_list(const struct node *list, unsigned extra)
{
	unsigned cells = 1 + extra;

	for (; list; list = list->next)
		cells = list->cells > cells ? list->cells : cells;
	return cells;
}

/* Each iteration, lane or task has a list of its own, in a block of its own. */
static void draw_inside(struct scope scope, struct node *node, unsigned parts)
{
	scope.room /= parts ? parts : 1;
	scope.room = scope.room ? scope.room : 1;
	node->inside = draw_serial(scope);
	node->each = cells_of_list(node->inside, below(&scope, 3));
	node->cells = parts * node->each;
}

static void draw_stop(const struct scope *scope, struct node *node)
{
	node->loop.stops = true;
	node->loop.stop = below(scope, node->loop.iterations + 2);
	node->loop.stops_all = one_in(scope, 2);
	node->loop.leaves = scope->region && scope->region->region.may_leave && one_in(scope, 2);
}

static bool may_stop(const struct scope *scope, const struct node *node)
{
	if (node->construct == OMP_LOOP)
		return !(CANCELS_FIRST_ONLY && scope->after_barrier);
	return node->construct != ORDERED;
}

static void draw_loop(struct scope scope, struct node *node)
{
	node->loop.iterations = one_in(&scope, 10) ? 0 : 1 + below(&scope, least(scope.room, 24));
	node->loop.low = (int64_t)below(&scope, 40) - 20;
	node->loop.chunking = draw_dealing(&scope);
	node->loop.runtime = one_in(&scope, 5);
	if (may_stop(&scope, node) && one_in(&scope, 4))
		draw_stop(&scope, node);
	if (node->construct == ORDERED)
		program->has_ordered = true;
	scope.in_loop = true;
	draw_inside(scope, node, node->loop.iterations);
}

/* ---- Lists of a lane ---- */

static unsigned draw_words(const struct scope *scope)
{
	if (one_in(scope, scope->stored ? 4 : 40))
		return below(scope, MAX_WORDS);
	return one_in(scope, scope->stored ? 2 : 4) ? below(scope, 30) : 0;
}

static enum construct draw_serial_construct(const struct scope *scope)
{
	unsigned which = below(scope, 20);

	/* The items of a program. */
	if (!scope->depth && which < 14)
		return which < 9 ? REGION : TASKS;
	if (which < 2)
		return REDUCTION + which;
	if (which < 4 && may_note_orders(scope))
		return CRITICAL;
	if (which < 6 && scope->region)
		return ATOMIC;
	if (scope->depth >= MAX_DEPTH || scope->no_notes || scope->room < 24)
		return STATEMENT;
	if (which < 8)
		return REGION;
	if (which < 11 && !scope->no_tasks)
		return TASKS;
	if (which < 13 && !scope->region && !scope->in_loop)
		return ALONE;
	return STATEMENT;
}

static struct node *draw_serial_node(struct scope scope)
{
	struct node *node = new_node(&scope, draw_serial_construct(&scope));

	node->words = draw_words(&scope);
	node->cells = 1;
	scope.depth++;
	if (node->construct == CRITICAL)
		add_orders(&scope);
	if (node->construct == REDUCER)
		node->cells = 2;
	if (node->construct == REGION)
		draw_region(scope, node);
	if (node->construct == TASKS)
		draw_tasks(scope, node);
	if (node->construct == ALONE)
		draw_loop(scope, node);
	return node;
}

static struct node *draw_serial(struct scope scope)
{
	struct node *list = NULL, **end = &list;
	unsigned count = 1 + below(&scope, 3);

	for (unsigned i = 0; i < count; i++) {
		struct scope own = scope;

		own.may_be_late &= i + 1 == count;
		*end = draw_serial_node(own);
		end = &(*end)->next;
	}
	return list;
}

/* ---- Regions ---- */

static enum construct draw_shared_construct(const struct scope *scope, bool last)
{
	unsigned which = below(scope, 12);

	if (scope->region->region.may_leave && which < 2)
		return LEAVE;
	if (which == 2)
		return SINGLE;
	if (scope->tracked)
		return LOOP;
	if (which == 3)
		return MASTER;
	if (which < 6)
		return EACH;
	if (!scope->bound || scope->region->region.cancelled != UINT_MAX)
		return LOOP;
	if (which == 6 && may_note_orders(scope))
		return ORDERED;
	if (which == 7)
		return OMP_LOOP;
	return last && which == 8 ? OMP_SINGLE : LOOP;
}

static void draw_shared_node(struct scope scope, struct node *node)
{
	/* Reel's barrier waits for no tasks; code behind ORDERED and OMP_SINGLE uses the cells. */
	scope.may_be_late = scope.region->region.barrier != REEL_BARRIER &&
			    node->construct != ORDERED && node->construct != OMP_SINGLE;
	switch (node->construct) {
	case LEAVE:
		/* Lane 0 stays, and so somebody comes to the loops that follow. */
		node->leaving = below(&scope, 256) & ~1u;
		break;
	case EACH:
		draw_inside(scope, node, MAX_LANES);
		break;
	case SINGLE:
		draw_inside(scope, node, 1);
		break;
	case MASTER:
	case OMP_SINGLE:
		draw_inside(scope, node, 1);
		break;
	default:
		draw_loop(scope, node);
		/*
		 * A lane does not leave the region from a shared loop: the reverse sweep would
		 * have to ask from which loop it left.
		 */
		node->loop.leaves = false;
	}
}

static bool may_be_left(const struct node *node)
{
	return node->construct == LEAVE || (node->construct == LOOP && node->loop.leaves);
}

static void draw_phase(struct scope *scope, struct node *phase)
{
	unsigned count = 1 + below(scope, 3), room = scope->room / count;
	struct node **end = &phase->inside;
	struct scope inner = *scope;

	inner.room = room ? room : 1;
	for (unsigned i = 0; i < count; i++) {
		struct node *node = new_node(scope, draw_shared_construct(scope, i + 1 == count));

		draw_shared_node(inner, node);
		node->offset = phase->cells;
		phase->cells += node->cells;
		inner.tracked = scope->tracked |= may_be_left(node);
		inner.after_barrier |= node->construct == OMP_LOOP || node->construct == ORDERED;
		*end = node;
		end = &node->next;
	}
	scope->after_barrier = true;
}

static void draw_phases(struct scope scope, struct node *node)
{
	struct node **end = &node->inside;
	unsigned phases = node->region.phases;

	for (unsigned p = 0; p < phases; p++) {
		struct node *phase = new_node(&scope, PHASE);

		/* A thread may see the cancellation at the barrier before the phase. */
		scope.tracked |= p && p >= node->region.cancelled;
		draw_phase(&scope, phase);
		if (phase->cells > node->region.areas[p % 2])
			node->region.areas[p % 2] = phase->cells;
		*end = phase;
		end = &phase->next;
	}
	if (scope.tracked || (CANCELS_FIRST_ONLY && scope.bound) || one_in(&scope, 2))
		return;
	/* A list that is run again may write the other area. */
	node->region.phases *= 1 + below(&scope, 4);
	node->region.areas[0] = node->region.areas[1] =
		cells_of_list(node->inside, 0);
}

static void draw_adjoint(const struct scope *scope, struct node *node)
{
	struct reel_adjoint_options *options = &node->region.adjoint;

	node->region.object = program->objects++;
	options->policy = (enum reel_adjoint_policy)below(scope, 4);
	options->flags = one_in(scope, 3) ? REEL_ADJOINT_CHECKED : 0;
	options->name = "weights";
	if (options->policy == REEL_ADJOINT_AUTOMATIC && one_in(scope, 2))
		options->budget = 1;
	node->region.weights = options->policy != REEL_ADJOINT_OWNER && one_in(scope, 2)
				       ? FEW_WEIGHTS : MAX_ADJOINT_WEIGHTS;
}

static void draw_kind_of_region(struct scope *scope, struct node *node)
{
	bool nested = scope->depth > 1;

	node->region.max_threads = (int)(nested ? least(scope->threads, 3) : scope->threads);
	node->region.bound = one_in(scope, 3);
	node->region.may_leave = !node->region.bound && one_in(scope, 4);
	node->region.lanes = node->region.bound || one_in(scope, 3)
				     ? 0 : 1 + (int)below(scope, nested ? 3 : MAX_LANES);
	node->region.phases = 1 + below(scope, 3);
	node->region.cancelled = UINT_MAX;
	if (node->region.bound && one_in(scope, 3))
		node->region.cancelled =
			CANCELS_FIRST_ONLY ? 0 : below(scope, node->region.phases);
	node->region.barrier = (enum barrier)below(scope, BARRIERS);
	node->region.barrier_back = (enum barrier)below(scope, BARRIERS);
	node->region.weighs = scope->depth == 1 && one_in(scope, 3);
	node->region.lacks_threads = one_in(scope, 20);
	program->lacks_threads |= node->region.lacks_threads;
}

/* A region that is left early has only constructs that Reel skips in lanes that have left it. */
static void draw_region(struct scope scope, struct node *node)
{
	draw_kind_of_region(&scope, node);
	node->region.sections = 1 + below(&scope, 2);
	node->region.commons = 1 + below(&scope, 2);
	node->region.areas[0] = node->region.areas[1] = 1;
	if (node->region.weighs)
		draw_adjoint(&scope, node);
	scope.region = node;
	scope.bound = node->region.bound;
	scope.tracked = scope.after_barrier = false;
	scope.no_tasks |= node->region.cancelled != UINT_MAX;
	scope.room = scope.room > 2 * MAX_LANES + 4 ? (scope.room - MAX_LANES - 4) / 2 : 4;
	draw_phases(scope, node);
	node->cells = MAX_LANES + node->region.sections + 1 + node->region.commons +
		      node->region.areas[0] + node->region.areas[1];
}

/* ---- Tasks ---- */

/* An object that a task writes it may read as well, which is said twice then. */
static void draw_uses(const struct scope *scope, struct node *task)
{
	unsigned taken = 0, written = 0, uses = below(scope, MAX_DEPENDENCES + 1);

	for (unsigned k = 0; k < uses; k++) {
		unsigned object = below(scope, MAX_OBJECTS), bit = 1u << object;
		enum access access = (enum access)below(scope, ACCESSES);
		bool reads = access == READS || access == READS_SHARED;

		if (taken & bit && !(written & bit && reads))
			continue;
		taken |= bit;
		written = access == WRITES ? written | bit : written & ~bit;
		task->task.use[task->task.uses++] = (struct use){object, access};
	}
}

static enum making draw_making(const struct scope *scope, bool no_dependences)
{
	unsigned which = below(scope, 8);

	if (which == 7 && no_dependences)
		return TASKLOOP;
	return which < 2 ? SERIALLY : which < 5 ? TASKWAIT : TASKGROUP;
}

static void draw_makings(struct scope *scope, struct node *node, bool no_dependences)
{
	node->tasks.making = draw_making(scope, no_dependences);
	node->tasks.making_back = one_in(scope, 2) ? BY_REEL : draw_making(scope, no_dependences);
	node->tasks.flags = one_in(scope, 2) ? REEL_TASKS_IN_ORDER : 0;
	node->tasks.untied = one_in(scope, 4);
	node->tasks.late = scope->may_be_late && node->tasks.making == TASKWAIT;
	node->tasks.cancels =
		MAY_CANCEL_TASKS && node->tasks.making == TASKGROUP && one_in(scope, 6);
	node->tasks.may_be_dropped = scope->may_be_dropped |= node->tasks.cancels;
	scope->may_be_late = false;
	scope->by_reel |= node->tasks.making_back == BY_REEL;
}

/*
 * In libomp 14 a region, or tasks, in an untied task may hang, and so may an untied task that
 * commutes; and a cancelled taskgroup drops the second half of an untied task that has begun.
 */
static bool has_statements_alone(const struct node *list)
{
	for (; list; list = list->next)
		if (list->construct == REGION || list->construct == TASKS ||
		    !has_statements_alone(list->inside))
			return false;
	return true;
}

static bool commutes(const struct node *tasks)
{
	for (const struct node *task = tasks->inside; task; task = task->next)
		for (unsigned k = 0; k < task->task.uses; k++)
			if (task->task.use[k].access == COMMUTES)
				return true;
	return false;
}

static void draw_tasks(struct scope scope, struct node *node)
{
	bool no_dependences = one_in(&scope, 4);
	struct node **end = &node->inside;

	node->tasks.count = 1 + below(&scope, 8);
	node->tasks.scaled = below(&scope, 1u << MAX_OBJECTS);
	draw_makings(&scope, node, no_dependences);
	scope.region = NULL;
	scope.in_loop = false;
	scope.room /= node->tasks.count;
	for (unsigned i = 0; i < node->tasks.count; i++) {
		struct node *task = new_node(&scope, TASK);

		task->task.label = i;
		if (!no_dependences)
			draw_uses(&scope, task);
		task->inside = draw_serial(scope);
		task->cells = cells_of_list(task->inside, below(&scope, 3));
		node->each = task->cells > node->each ? task->cells : node->each;
		*end = task;
		end = &task->next;
	}
	node->tasks.untied &= !node->tasks.may_be_dropped && !commutes(node) &&
			      has_statements_alone(node->inside);
	node->cells = MAX_OBJECTS + node->tasks.count * node->each;
}

/* ---- Programs ---- */

void program_draw(struct program *drawn, const struct stress_draw *draw)
{
	struct stress_random random = {draw->seed << 24 ^ (uint64_t)1 << 63};
	struct scope scope = {.random = &random, .threads = draw->threads,
			      .stored = draw->pool.store != NULL};

	program = drawn;
	*program = (struct program){.items = 1 + below(&scope, MAX_ITEMS)};
	node_count = 0;
	for (unsigned i = 0; i < program->items; i++) {
		scope.room = 20 + below(&scope, one_in(&scope, 4) ? 1000 : 200);
		program->item[i] = draw_serial_node(scope);
		if (program->item[i]->cells > program->cells)
			program->cells = program->item[i]->cells;
	}
	program->cells += 4;
	if (program->cells > MAX_CELLS)
		stress_fail("the program has %u cells", program->cells);
}

/* ---- Printing ---- */

static void print_loop(const struct node *node)
{
	printf(" from %" PRId64 ", %u iterations, chunking %d of %" PRId64 "%s%s", node->loop.low,
	       node->loop.iterations, node->loop.chunking.kind, node->loop.chunking.chunk,
	       node->loop.chunking.noted ? " noted" : "", node->loop.runtime ? " runtime" : "");
	if (node->loop.stops)
		printf(", stops at %u%s%s", node->loop.stop,
		       node->loop.stops_all ? " with all others" : "",
		       node->loop.leaves ? " and leaves" : "");
}

static void print_region(const struct node *node)
{
	static const char *const barriers[BARRIERS] = {"worker", "Reel's", "OpenMP's"};

	printf(" of %d lanes, %u phases%s%s, up to %d threads, barriers %s and %s",
	       node->region.lanes, node->region.phases, node->region.bound ? ", bound" : "",
	       node->region.may_leave ? ", left early" : "", node->region.max_threads,
	       barriers[node->region.barrier], barriers[node->region.barrier_back]);
	if (node->region.cancelled != UINT_MAX)
		printf(", cancelled at the end of phase %u", node->region.cancelled);
	if (node->region.weighs)
		printf(", adjoint policy %d%s", node->region.adjoint.policy,
		       node->region.adjoint.flags ? " checked" : "");
}

static void print_tasks(const struct node *node)
{
	static const char *const makings[] = {"serially", "taskwait", "taskgroup", "taskloop",
					      "by Reel"};

	printf(" recorded %s%s%s, reversed %s%s", makings[node->tasks.making],
	       node->tasks.untied ? " untied" : "", node->tasks.late ? " without wait" : "",
	       makings[node->tasks.making_back],
	       node->tasks.flags & REEL_TASKS_IN_ORDER ? " in order" : "");
	if (node->tasks.cancels)
		printf(", cancelled");
}

static void print_task(const struct node *node)
{
	static const char *const accesses[ACCESSES] = {"reads", "reads shared", "writes",
						       "commutes"};

	for (unsigned k = 0; k < node->task.uses; k++)
		printf("%s %s %u", k ? "," : "", accesses[node->task.use[k].access],
		       node->task.use[k].object);
}

static void print_list(const struct node *list, int depth)
{
	for (const struct node *node = list; node; node = node->next) {
		printf("# %*s%s", 2 * depth, "", program_names[node->construct]);
		if (node->construct == LOOP || node->construct == ALONE ||
		    node->construct == ORDERED || node->construct == OMP_LOOP)
			print_loop(node);
		if (node->construct == REGION)
			print_region(node);
		if (node->construct == TASKS)
			print_tasks(node);
		if (node->construct == TASK)
			print_task(node);
		if (node->construct == LEAVE)
			printf(" mask %x", node->leaving);
		if (node->words)
			printf(", %u words", node->words);
		putchar('\n');
		print_list(node->inside, depth + 1);
	}
}

void program_print(const struct program *drawn)
{
	for (unsigned i = 0; i < drawn->items; i++) {
		printf("# item %u\n", i);
		print_list(drawn->item[i], 1);
	}
}
