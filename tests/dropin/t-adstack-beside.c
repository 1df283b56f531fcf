/* SPDX-License-Identifier: MIT */
/* The parts of libreel-adstack besides the stack: schedules, binomial and fixed-point loops. */
#include <config.h>

#include <limits.h>
#include <pthread.h>

#include "helpers/adstack-support.h"
#include "helpers/pool-support.h"

void assertSafeStack(void);
void getStaticSchedule(int low, int high, int stride, int *first, int *last);
FORTRAN_PROTOTYPES(getstaticschedule, const int *low, const int *high, const int *stride,
		   int *first, int *last)
void initDynamicSchedule(void);
void recordDynamicSchedule(int iteration, int stride);
void finalizeDynamicSchedule(void);
void adBinomial_init(int length, int snapshots, int first_step);
int adBinomial_next(int *action, int *step);
void adBinomial_resize(void);
int adFixedPoint_tooLarge(double variation, float least);
int adFixedPoint_notReduced(double variation, float reduction);

/* ---- OpenMP: a runtime that says what the test wants ---- */

int omp_get_thread_num(void);
int omp_get_num_threads(void);

static int team = 1, member = 0;

int omp_get_thread_num(void)
{
	return member;
}

int omp_get_num_threads(void)
{
	return team;
}

/* True if threads share all iterations in order, and differ by one iteration at most. */
static bool shares_fairly(int low, int high, int stride)
{
	int64_t trips = ((int64_t)high - low + stride) / stride;
	int64_t next = low, done = 0;
	bool fair = true;

	if (trips < 0)
		trips = 0;
	for (member = 0; member < team; member++) {
		int64_t count, wanted = trips / team + (member < trips % team);
		int first, last;

		getStaticSchedule(low, high, stride, &first, &last);
		count = ((int64_t)last - first + stride) / stride;
		fair &= count == wanted;
		fair &= wanted ? first == next : first == stride && last == 0;
		next += wanted * stride;
		done += wanted;
	}
	member = 0;
	return fair && done == trips;
}

static void test_static(void)
{
	static const int loops[][3] = {{1, 10, 1}, {1, 0, 1}, {0, 2, 1}, {10, 1, -1}, {3, 30, 4},
				       {5, -17, -3}, {INT_MIN, INT_MAX, 7}, {0, INT_MAX, 1},
				       {INT_MAX, INT_MIN, -1}};
	int failures = 0;

	tap_case("static schedule");
	for (team = 1; team <= 7; team++)
		for (size_t i = 0; i < COUNT(loops); i++)
			failures += !shares_fairly(loops[i][0], loops[i][1], loops[i][2]);
	is_int(failures, 0, "the iterations of 9 loops are shared by 1 to 7 threads");
	team = 1;
	assertSafeStack();
}

static int popped_integer4(void)
{
	int x = 0;

	popInteger4(&x);
	return x;
}

static void record_run(int first, int last, int stride)
{
	for (int i = first; stride > 0 ? i <= last : i >= last; i += stride)
		recordDynamicSchedule(i, stride);
}

static bool pops_run(int first, int last)
{
	bool right = popped_integer4() == last;

	return popped_integer4() == first && right;
}

static void test_dynamic(void)
{
	bool right;

	tap_case("dynamic schedule");
	initDynamicSchedule();
	record_run(4, 8, 2);
	record_run(10, 12, 2);
	record_run(20, 20, 2);
	record_run(2, 2, 2);
	finalizeDynamicSchedule();
	is_int(popped_integer4(), 3, "three runs, since the first two were one");
	right = pops_run(2, 2);
	right &= pops_run(20, 20);
	ok(right && pops_run(4, 12), "the last run first");
	initDynamicSchedule();
	finalizeDynamicSchedule();
	is_int(adStack_getCurrentStackSize(), 4, "a thread without iterations pushes a number");
	is_int(popped_integer4(), 0, "the number is 0");
}

static void test_nested_dynamic(void)
{
	tap_case("dynamic schedule within another one");
	initDynamicSchedule();
	record_run(1, 5, 1);
	initDynamicSchedule();
	record_run(100, 90, -5);
	finalizeDynamicSchedule();
	ok(popped_integer4() == 1 && pops_run(100, 90), "the inner loop's runs");
	record_run(6, 9, 1);
	finalizeDynamicSchedule();
	ok(popped_integer4() == 1 && pops_run(1, 9), "the outer loop's runs go on");
	is_int(adStack_getCurrentStackSize(), 0, "all is popped");
}

/* ---- Binomial checkpointing ---- */

enum { PUSHSNAP = 1, LOOKSNAP, POPSNAP, ADVANCE, FIRSTTURN, TURN };

enum { MAX_SNAPSHOTS = 1000 };

/* A loop that follows the actions. Its state is the number of the last step that it has run. */
struct loop {
	int length;
	int state;
	int snapshot[MAX_SNAPSHOTS];
	int snapshots;
	int most;
	int64_t advances;
	int64_t stores;
	/* The step that is to be turned next. */
	int turned;
	bool wrong;
};

static void turn(struct loop *loop, int action, int step)
{
	loop->wrong |= step != loop->turned || loop->state != step - 1;
	loop->wrong |= (action == FIRSTTURN) != (step == loop->length);
	loop->turned--;
	loop->state = -1;
}

static void store(struct loop *loop, int step)
{
	loop->wrong |= loop->state != step || loop->snapshots == loop->most;
	if (!loop->wrong)
		loop->snapshot[loop->snapshots++] = step;
	loop->stores++;
}

static void restore(struct loop *loop, int action, int step)
{
	loop->wrong |= !loop->snapshots || loop->snapshot[loop->snapshots - 1] != step;
	loop->state = step;
	if (action == POPSNAP)
		loop->snapshots--;
}

static void follow(struct loop *loop, int action, int step)
{
	if (action == PUSHSNAP)
		store(loop, step);
	else if (action == LOOKSNAP || action == POPSNAP)
		restore(loop, action, step);
	else if (action == ADVANCE)
		loop->wrong |= ++loop->state != step, loop->advances++;
	else
		turn(loop, action, step);
}

static struct loop begin(int length, int snapshots)
{
	struct loop loop = {.length = length, .most = snapshots, .turned = length};

	adBinomial_init(length, snapshots, 1);
	return loop;
}

static bool reversed(const struct loop *loop)
{
	return !loop->wrong && loop->turned == 0 && loop->snapshots == 0;
}

static struct loop reverse(int length, int snapshots)
{
	struct loop loop = begin(length, snapshots);
	int action, step;

	while (adBinomial_next(&action, &step) && !loop.wrong)
		follow(&loop, action, step);
	return loop;
}

/* True if a loop has the counts of a line of the table. Lines without counts are skipped. */
static bool is_as_recorded(const char *line, int *rows)
{
	long long n, s, advances, stores;
	struct loop loop;

	if (sscanf(line, "%lld,%lld,%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],"
			 "%lld,%lld", &n, &s, &advances, &stores) != 4 || n > 10000)
		return true;
	++*rows;
	loop = reverse((int)n, (int)s);
	if (reversed(&loop) && loop.advances == advances && loop.stores == stores)
		return true;
	tap_note("%lld steps, %lld snapshots: %lld advances, %lld stores; wanted %lld and %lld", n,
		 s, (long long)loop.advances, (long long)loop.stores, advances, stores);
	return false;
}

static void test_binomial_table(void)
{
	FILE *file = fopen(TEST_DATA "/binomial_optimum.csv", "r");
	char line[512];
	int failures = 0, rows = 0;

	tap_case("binomial table");
	if (!file)
		abort();
	while (fgets(line, sizeof line, file))
		failures += !is_as_recorded(line, &rows);
	fclose(file);
	ok(rows > 150, "the table has rows (%d)", rows);
	is_int(failures, 0, "advances and stores are those that were recorded");
}

static void test_binomial_limits(void)
{
	struct loop loop = reverse(100, 5);

	tap_case("binomial limits");
	is_int(loop.advances, 316, "100 steps, 5 snapshots");
	loop = reverse(1000, 10);
	is_int(loop.advances, 3636, "1000 steps, 10 snapshots");
	loop = reverse(5000, 418);
	ok(reversed(&loop), "more than 98 snapshots");
	loop = reverse(1, 0);
	ok(reversed(&loop), "one step needs no snapshot");
	loop = reverse(30000, 900);
	ok(reversed(&loop), "30000 steps, 900 snapshots");
}

static void reverse_within(struct loop *outer, unsigned depth)
{
	int action, step;

	while (adBinomial_next(&action, &step) && !outer->wrong) {
		struct loop inner;

		follow(outer, action, step);
		if (action < FIRSTTURN || depth == 0)
			continue;
		inner = begin(3, 1);
		reverse_within(&inner, depth - 1);
		outer->wrong |= !reversed(&inner);
	}
}

static void test_binomial_nested(void)
{
	struct loop loop = begin(3, 2);

	tap_case("nested binomial loops");
	reverse_within(&loop, 7);
	ok(reversed(&loop), "eight loops within each other");
}

enum { THREADS = 3 };

static bool thread_reversed[THREADS];

static void *reverse_in_thread(void *argument)
{
	unsigned number = *(unsigned *)argument;
	struct loop loop = reverse(20000 + (int)number, 4);

	thread_reversed[number] = reversed(&loop);
	return NULL;
}

static void test_binomial_threads(void)
{
	tap_case("binomial threads");
	run_threads(THREADS, reverse_in_thread);
	for (unsigned i = 0; i < THREADS; i++)
		ok(thread_reversed[i], "thread %u reverses a loop of its own", i);
}

/* While it advances over step 61 the loop finds that this is its last step. */
static void test_binomial_resize(void)
{
	struct loop loop = begin(100, 4);
	int action, step;

	tap_case("binomial resize");
	while (adBinomial_next(&action, &step) && !loop.wrong) {
		if (action == ADVANCE && step == 61 && loop.length == 100) {
			adBinomial_resize();
			loop.length = loop.turned = 61;
			break;
		}
		follow(&loop, action, step);
	}
	while (adBinomial_next(&action, &step) && !loop.wrong)
		follow(&loop, action, step);
	ok(reversed(&loop), "a loop that ends earlier is reversed from there");
}

/* ---- Fixed points ---- */

static void test_fixed_point(void)
{
	double variation = -1;
	int iterations;

	tap_case("fixed point");
	for (iterations = 0; adFixedPoint_tooLarge(variation, 1e-3f);
	     variation = 1.0 / (1 << iterations))
		iterations++;
	is_int(iterations, 10, "a fixed point ends when the variation is not above the bound");
	ok(adFixedPoint_tooLarge(-1, 2) && !adFixedPoint_tooLarge(2, 2),
	   "a variation at the bound is small enough");
	variation = -1;
	for (iterations = 0; adFixedPoint_notReduced(variation, 0.01f);
	     variation = 64.0 / (1 << iterations))
		iterations++;
	is_int(iterations, 8, "a fixed point ends when the variation is reduced by the factor");
	for (iterations = 0, variation = -1; adFixedPoint_notReduced(variation, 0.01f);
	     variation = iterations < 8 ? 10 : 20)
		iterations++;
	is_int(iterations, 8, "a fixed point ends when the variation grows after some iterations");
}

static void test_nested_fixed_points(void)
{
	int depth = 0;

	tap_case("nested fixed points");
	while (depth < 20 && adFixedPoint_tooLarge(-1, 1))
		depth++;
	is_int(depth, 20, "20 loops within each other");
	ok(adFixedPoint_tooLarge(2, 1), "the innermost goes on");
	while (depth > 0 && !adFixedPoint_tooLarge(0.5, 1))
		depth--;
	is_int(depth, 0, "all nested fixed points end");
}

int main(void)
{
	tap_begin();
	test_static();
	test_dynamic();
	test_nested_dynamic();
	test_binomial_table();
	test_binomial_limits();
	test_binomial_nested();
	test_binomial_resize();
	test_binomial_threads();
	test_fixed_point();
	test_nested_fixed_points();
	return tap_end();
}
