/* SPDX-License-Identifier: MIT */
/* Tests regions as statements, in C and in C++, with OpenMP and without. Prints mistakes. */
#include <errno.h>
#include <stdio.h>

#include <reel/region.h>

enum { N = 40, LANES = 4 };

static int wrong;

#define CHECK(condition)                                                    \
	do {                                                                \
		if (!(condition)) {                                         \
			printf("line %d: %s\n", __LINE__, #condition);      \
			wrong++;                                            \
		}                                                           \
	} while (0)

static void ignore(const reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static void square_all(reel_lane *root, double *x)
{
	REEL_PARALLEL_FOR(root, lane, int, i, 0, N, reel_dynamic(4)) {
		reel_push(reel_lane_tape(lane), x[i]);
		x[i] *= x[i];
	}
}

static void square_all_reverse(reel_lane *root, double *x_bar)
{
	REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, N, reel_dynamic(4))
		x_bar[i] *= 2 * reel_pop(reel_lane_tape(lane), double);
}

static void test_loop(reel_lane *root)
{
	double x[N], x_bar[N];

	for (int i = 0; i < N; i++) {
		x[i] = i;
		x_bar[i] = 1;
	}
	square_all(root, x);
	square_all_reverse(root, x_bar);
	for (int i = 0; i < N; i++)
		CHECK(x_bar[i] == 2. * i);
}

/* A region is one statement below if and else. Its lanes may end their parts early. */
static void test_lanes(reel_lane *root, bool parallel)
{
	int seen[LANES] = {0};

	if (parallel)
		REEL_PARALLEL_WITH(root, lane, LANES, 2, if (parallel)) {
			reel_push(reel_lane_tape(lane), reel_lane_index(lane));
			if (reel_lane_index(lane) == 1)
				continue;
			if (reel_lane_index(lane) == 2)
				break;
			reel_push(reel_lane_tape(lane), reel_lane_count(lane));
		}
	else
		CHECK(!parallel);
	if (!parallel)
		return;
	REEL_PARALLEL_REVERSE(root, lane) {
		if (reel_lane_index(lane) % 3 == 0)
			seen[reel_lane_index(lane)] = reel_pop(reel_lane_tape(lane), int);
		seen[reel_lane_index(lane)] += 10 * reel_pop(reel_lane_tape(lane), int);
	}
	for (int i = 0; i < LANES; i++)
		CHECK(seen[i] == 10 * i + (i % 3 ? 0 : LANES));
}

/* Phases of regions inside of the lanes of another region. */
static void test_phases(reel_lane *root)
{
	int sum[LANES] = {0};

	REEL_PARALLEL(root, outer)
		REEL_REGION_WITH(outer, worker, LANES, 1, ) {
			REEL_LANES(worker, lane)
				reel_push(reel_lane_tape(lane), 1);
			reel_worker_barrier(&worker);
			REEL_LANES(worker, lane)
				reel_push(reel_lane_tape(lane), 2);
		}
	REEL_PARALLEL_REVERSE(root, outer)
		REEL_REGION_REVERSE_WITH(outer, worker, 1, ) {
			for (int phase = 2; phase > 0; phase--) {
				REEL_LANES(worker, lane)
					if (reel_lane_index(outer) == 0)
						sum[reel_lane_index(lane)] +=
							phase * reel_pop(reel_lane_tape(lane), int);
					else
						(void)reel_pop(reel_lane_tape(lane), int);
				if (phase == 2)
					reel_worker_barrier(&worker);
			}
		}
	for (int i = 0; i < LANES; i++)
		CHECK(sum[i] == 5);
}

/* The reverse sweep has a thread for each lane, also if OpenMP would use fewer threads. */
static void test_turns(reel_lane *root, reel_ordered *order)
{
	REEL_PARALLEL_WITH(root, lane, LANES, 1, )
		reel_ordered_note(lane, order);
#ifdef _OPENMP
	omp_set_num_threads(1);
#endif
	REEL_PARALLEL_REVERSE(root, lane) {
		reel_ordered_await(lane, order);
		reel_ordered_done(lane, order);
	}
}

/* A break out of a loop is an error in both sweeps, also if nothing is pushed. */
static void test_break(bool reverse)
{
	reel_lane *root;

	CHECK(reel_lane_open(&root, NULL, 0) == 0);
	reel_set_error_handler(ignore, NULL);
	REEL_PARALLEL_FOR(root, lane, int, i, 0, 16, reel_dynamic(4))
		if (!reverse && i % 4 == 1)
			break;
	if (reverse) {
		CHECK(reel_lane_error(root) == 0);
		REEL_PARALLEL_FOR_REVERSE(root, lane, int, i, 0, 16, reel_dynamic(4))
			if (i % 4 == 1)
				break;
	}
	CHECK(reel_lane_error(root) == -EINVAL);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}

/* Runs a loop with an index of this type, by both chunkings, and back. */
#define CHECK_INDEX(type, low, high, expected_error)                                          \
	for (int dynamic = 0; dynamic < 2; dynamic++) {                                        \
		volatile long long from = (low), to = (high);                                  \
		long long seen = 0, length = to > from ? to - from : 0;                        \
		reel_chunking chunking = dynamic ? reel_dynamic(7) : reel_static(0);           \
		reel_lane *root;                                                               \
                                                                                               \
		CHECK(reel_lane_open(&root, NULL, 0) == 0);                                    \
		REEL_PARALLEL_WITH(root, lane, 1, 1, )                                         \
			REEL_FOR(lane, type, i, from, to, chunking)                            \
				seen++;                                                        \
		CHECK(reel_lane_error(root) == expected_error);                                \
		CHECK(seen == (expected_error ? 0 : length));                                  \
		REEL_PARALLEL_REVERSE(root, lane)                                              \
			REEL_FOR_REVERSE(lane, type, i, from, to, chunking)                    \
				seen--;                                                        \
		CHECK(reel_lane_error(root) == expected_error);                                \
		CHECK(seen == 0);                                                              \
		reel_lane_close(root);                                                         \
	}

/* A loop is refused if the type of its index does not hold its bounds. */
static void test_index(void)
{
	reel_set_error_handler(ignore, NULL);
	CHECK_INDEX(unsigned char, 0, 255, 0);
	CHECK_INDEX(unsigned char, 0, 256, -EOVERFLOW);
	CHECK_INDEX(unsigned char, -1, 3, -EOVERFLOW);
	CHECK_INDEX(unsigned char, 400, 300, 0);
	CHECK_INDEX(signed char, -127, 127, 0);
	CHECK_INDEX(signed char, -129, 0, -EOVERFLOW);
	CHECK_INDEX(int, 0, 3e9, -EOVERFLOW);
	CHECK_INDEX(int, 2147483600, 2147483647, 0);
	CHECK_INDEX(unsigned, -1, 3, -EOVERFLOW);
	CHECK_INDEX(int64_t, -3000000003, -3000000000, 0);
	CHECK_INDEX(uint64_t, 3000000000, 3000000003, 0);
	CHECK_INDEX(uint64_t, -1, 3, -EOVERFLOW);
	CHECK_INDEX(double, 0, 300, 0);
	reel_set_error_handler(NULL, NULL);
}

/* Only the index of the reverse sweep has a type that is too narrow. */
static void test_index_reverse(void)
{
	volatile int high = 300;
	reel_lane *root;

	reel_set_error_handler(ignore, NULL);
	CHECK(reel_lane_open(&root, NULL, 0) == 0);
	REEL_PARALLEL_FOR(root, lane, int, i, 0, high, reel_dynamic(4))
		(void)i;
	CHECK(reel_lane_error(root) == 0);
	REEL_PARALLEL_FOR_REVERSE(root, lane, signed char, i, 0, high, reel_dynamic(4))
		CHECK(i < 0 && i > 0);
	CHECK(reel_lane_error(root) == -EOVERFLOW);
	reel_lane_close(root);
	reel_set_error_handler(NULL, NULL);
}

#ifdef _OPENMP
/* Thread 0 ends its part of the region, while the other threads come to a barrier. */
static void test_early_end(bool by_break)
{
	reel_lane *root;

	CHECK(reel_lane_open(&root, NULL, REEL_CHECKED) == 0);
	reel_set_error_handler(ignore, NULL);
	REEL_REGION_WITH(root, worker, 2, 2, ) {
		REEL_LANES(worker, lane)
			reel_push(reel_lane_tape(lane), 1);
		if (worker.thread == 0 && by_break)
			break;
		if (worker.thread == 0)
			continue;
		reel_worker_barrier(&worker);
	}
	CHECK(reel_lane_error(root) == -EINVAL);
	reel_set_error_handler(NULL, NULL);
	reel_lane_close(root);
}
#endif

int main(void)
{
	static reel_ordered order;
	double x_bar[N] = {0};
	reel_lane *root;

	CHECK(reel_lane_open(&root, NULL, REEL_CHECKED) == 0);
	test_loop(root);
	test_lanes(root, true);
	test_lanes(root, false);
	test_phases(root);
	CHECK(reel_lane_error(root) == 0);
	CHECK(reel_lane_is_empty(root));
#ifdef _OPENMP
	omp_set_dynamic(0);
	test_turns(root, &order);
	CHECK(reel_lane_error(root) == 0);
	CHECK(reel_lane_is_empty(root));
	test_early_end(false);
	test_early_end(true);
#else
	(void)test_turns;
	(void)order;
#endif
	square_all_reverse(root, x_bar);
	CHECK(reel_lane_error(root) == -EBADMSG);
	reel_lane_close(root);
	test_break(false);
	test_break(true);
	test_index();
	test_index_reverse();
	return wrong != 0;
}
