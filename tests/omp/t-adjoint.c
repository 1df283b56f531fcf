/* SPDX-License-Identifier: MIT */
/* Tests adjoint objects: sums and bits of each policy, memory, and calls in a wrong order. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "helpers/adjoint-support.h"

static const char *const policy_names[] = {"AUTOMATIC", "OWNER", "PRIVATE", "ATOMIC"};

/* ---- Sums ---- */

/* Small integers, whose sums are exact in any order. */
struct work {
	size_t n;
	unsigned adds;
	/* Number of elements that only one lane uses; 0: all lanes use all elements. */
	size_t own;
};

static size_t index_of(const struct work *work, unsigned lane, unsigned add)
{
	uint64_t random = scramble((uint64_t)lane << 32 | add);

	return work->own ? lane * work->own + (size_t)(random % work->own)
			 : (size_t)(random % work->n);
}

static int value_of(unsigned lane, unsigned add)
{
	return (int)(scramble((uint64_t)add << 32 | lane) % 17) - 8;
}

static void add_integers(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
	const struct work *work = context;

	for (unsigned add = 0; add < work->adds; add++)
		reel_adjoint_add(&view, index_of(work, lane, add), value_of(lane, add));
}

static void add_float_integers(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view_float view = reel_adjoint_lane_float(adjoint, lane);
	const struct work *work = context;

	for (unsigned add = 0; add < work->adds; add++)
		reel_adjoint_add_float(&view, index_of(work, lane, add),
				       (float)value_of(lane, add));
}

static void add_out_of_line(reel_adjoint *adjoint, unsigned lane, void *context)
{
	const struct work *work = context;

	for (unsigned add = 0; add < work->adds; add++)
		reel_adjoint_lane_add(adjoint, lane, index_of(work, lane, add),
				      value_of(lane, add));
}

static void add_floats_out_of_line(reel_adjoint *adjoint, unsigned lane, void *context)
{
	const struct work *work = context;

	for (unsigned add = 0; add < work->adds; add++)
		reel_adjoint_lane_add_float(adjoint, lane, index_of(work, lane, add),
					    (float)value_of(lane, add));
}

/*
 * Returns the number of wrong elements of an array that was i % 5 at the beginning, after `sweeps`
 * sweeps.
 */
static unsigned wrong_sums(const double *array, const struct work *work, unsigned lanes,
			   unsigned sweeps)
{
	double *sums = calloc(work->n, sizeof *sums);
	unsigned wrong = 0;

	if (!sums)
		abort();
	for (unsigned lane = 0; lane < lanes; lane++)
		for (unsigned add = 0; add < work->adds; add++)
			sums[index_of(work, lane, add)] += (int)sweeps * value_of(lane, add);
	for (size_t i = 0; i < work->n; i++)
		wrong += array[i] != (double)(i % 5) + sums[i];
	free(sums);
	return wrong;
}

static void sums_are_right(enum reel_adjoint_policy policy, unsigned flags, size_t n)
{
	struct work work = {n, 2000, policy == REEL_ADJOINT_OWNER ? n / 5 : 0};
	struct reel_adjoint_options options = {.policy = policy, .flags = flags};
	double *array = malloc(n * sizeof *array);
	reel_adjoint *adjoint = open_adjoint(array, n, options);
	int error = 0;

	for (size_t i = 0; i < n; i++)
		array[i] = (double)(i % 5);
	for (unsigned threads = 1; threads <= 3; threads++)
		error |= sweep(adjoint, add_integers, &work, 5, threads, threads - 1);
	error |= sweep(adjoint, add_out_of_line, &work, 5, 2, 2);
	is_int(error, 0, "%s%s, n = %zu: four sweeps", policy_names[policy],
	       flags ? ", checked" : "", n);
	is_int(wrong_sums(array, &work, 5, 4), 0, "sums are right");
	is_int(reel_adjoint_close(adjoint), 0, "the object closes");
	free(array);
}

static void float_sums_are_right(enum reel_adjoint_policy policy, unsigned flags)
{
	struct work work = {20011, 2000, policy == REEL_ADJOINT_OWNER ? 4000 : 0};
	struct reel_adjoint_options options = {.policy = policy, .flags = flags};
	float *array = malloc(work.n * sizeof *array);
	double *seen = malloc(work.n * sizeof *seen);
	reel_adjoint *adjoint;

	if (!array || !seen || reel_adjoint_open_float(&adjoint, array, work.n, &options))
		abort();
	for (size_t i = 0; i < work.n; i++)
		array[i] = (float)(i % 5);
	is_int(sweep(adjoint, add_float_integers, &work, 5, 2, 2) |
		       sweep(adjoint, add_floats_out_of_line, &work, 5, 2, 0),
	       0, "%s%s, float: two sweeps", policy_names[policy], flags ? ", checked" : "");
	for (size_t i = 0; i < work.n; i++)
		seen[i] = array[i];
	is_int(wrong_sums(seen, &work, 5, 2), 0, "sums are right");
	is_int(reel_adjoint_close(adjoint), 0, "the object closes");
	free(array);
	free(seen);
}

static void every_policy_adds_up(void)
{
	static const size_t sizes[] = {5, 64, 1000, 8192, 70001, 1000003};
	static const unsigned flags[] = {0, REEL_ADJOINT_CHECKED};

	tap_case("sums");
	for (int policy = REEL_ADJOINT_AUTOMATIC; policy <= REEL_ADJOINT_ATOMIC; policy++) {
		for (size_t f = 0; f < COUNT(flags); f++)
			for (size_t s = 0; s < COUNT(sizes); s++)
				sums_are_right((enum reel_adjoint_policy)policy, flags[f],
					       sizes[s]);
		float_sums_are_right((enum reel_adjoint_policy)policy, 0);
		float_sums_are_right((enum reel_adjoint_policy)policy, REEL_ADJOINT_CHECKED);
	}
}

/* ---- Spans ---- */

struct spans {
	size_t n;
	bool by_pointer;
};

/* Lane l adds l + 1 to every element of a stretch that begins in a block and ends in another. */
static void add_spans(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
	const struct spans *spans = context;
	size_t first = 100 * lane + 3, n = spans->n - 2 * first;
	double values[2000];
	double *target;

	for (size_t k = 0; k < n; k++)
		values[k] = lane + 1;
	reel_adjoint_add_span(&view, first, 0, NULL);
	if (!spans->by_pointer) {
		reel_adjoint_add_span(&view, first, n, values);
		return;
	}
	target = reel_adjoint_span(&view, first, n);
	for (size_t k = 0; k < n; k++)
		target[k] += values[k];
}

static void add_float_spans(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view_float view = reel_adjoint_lane_float(adjoint, lane);
	const struct spans *spans = context;
	size_t first = 100 * lane + 3, n = spans->n - 2 * first;
	float values[2000];
	float *target;

	for (size_t k = 0; k < n; k++)
		values[k] = (float)(lane + 1);
	if (!spans->by_pointer) {
		reel_adjoint_add_span_float(&view, first, n, values);
		return;
	}
	target = reel_adjoint_span_float(&view, first, n);
	for (size_t k = 0; k < n; k++)
		target[k] += values[k];
}

static double span_sum(size_t i, size_t n, unsigned lanes)
{
	double sum = 0;

	for (unsigned lane = 0; lane < lanes; lane++)
		if (i >= 100 * lane + 3 && i < n - (100 * lane + 3))
			sum += lane + 1;
	return sum;
}

static void spans_are_right(enum reel_adjoint_policy policy, bool by_pointer, unsigned flags)
{
	struct reel_adjoint_options options = {.policy = policy, .flags = flags};
	unsigned lanes = policy == REEL_ADJOINT_OWNER ? 1 : 4, wrong = 0;
	struct spans spans = {2000, by_pointer};
	double array[2000] = {0};
	float floats[2000] = {0};
	reel_adjoint *adjoint = open_adjoint(array, spans.n, options);
	int error = sweep(adjoint, add_spans, &spans, lanes, 2, 2);

	reel_adjoint_close(adjoint);
	if (reel_adjoint_open_float(&adjoint, floats, spans.n, &options))
		abort();
	error |= sweep(adjoint, add_float_spans, &spans, lanes, 2, 2);
	reel_adjoint_close(adjoint);
	for (size_t i = 0; i < spans.n; i++)
		wrong += array[i] != span_sum(i, spans.n, lanes) ||
			 floats[i] != (float)span_sum(i, spans.n, lanes);
	is_int(error, 0, "%s%s: by %s", policy_names[policy], flags ? ", checked" : "",
	       by_pointer ? "pointer" : "values");
	is_int(wrong, 0, "sums are right");
}

static void spans(void)
{
	static const unsigned flags[] = {0, REEL_ADJOINT_CHECKED};
	struct reel_adjoint_options atomic = {.policy = REEL_ADJOINT_ATOMIC};
	double array[10] = {0};
	reel_adjoint *adjoint = open_adjoint(array, 10, atomic);
	reel_adjoint_view view;

	tap_case("spans");
	record_reports();
	for (int policy = REEL_ADJOINT_AUTOMATIC; policy <= REEL_ADJOINT_ATOMIC; policy++)
		for (size_t f = 0; f < COUNT(flags); f++) {
			spans_are_right((enum reel_adjoint_policy)policy, false, flags[f]);
			if (policy != REEL_ADJOINT_ATOMIC)
				spans_are_right((enum reel_adjoint_policy)policy, true, flags[f]);
		}
	is_int(reel_adjoint_begin(adjoint, 2), 0, "ATOMIC has");
	view = reel_adjoint_lane(adjoint, 1);
	is_pointer(reel_adjoint_span(&view, 0, 10), NULL, "no span");
	is_pointer(reel_adjoint_span(&view, 0, 10), NULL, "there is no span the second time");
	ok(reported.calls == 1 && strstr(reported.message, "reel_adjoint_add_span"),
	   "the report says once how to add instead");
	is_int(reel_adjoint_end(adjoint), -EINVAL, "the end of the sweep has the error");
	reel_adjoint_close(adjoint);
}

/* ---- Bits ---- */

struct bits {
	size_t n;
};

static void add_reals(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
	const struct bits *bits = context;

	/* Most adds are to every hundredth element, so that several lanes use the same ones. */
	for (uint64_t add = 0; add < 3000; add++) {
		uint64_t random = scramble(add << 16 | lane);
		size_t i = (size_t)((random >> 8) % bits->n);

		reel_adjoint_add(&view, add % 10 ? i / 100 * 100 : i, 1.0 / (double)(random | 1));
	}
}

/* A small array is reduced as a whole, and a large one block by block. */
static void adds_go_on_after_a_reduction(size_t n)
{
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_PRIVATE};
	double *array = calloc(n, sizeof *array);
	reel_adjoint *adjoint = open_adjoint(array, n, options);
	unsigned wrong = 0;

	for (int again = 0; again < 3; again++) {
		reel_adjoint_view view;

		if (reel_adjoint_begin(adjoint, 2))
			abort();
		view = reel_adjoint_lane(adjoint, 1);
		reel_adjoint_add(&view, n - 1, 1);
		reel_adjoint_reduce(adjoint, 0, 1);
		wrong += array[n - 1] != 3 * again + 1;
		reel_adjoint_add(&view, n - 1, 2);
		reel_adjoint_reduce(adjoint, 0, 1);
		reel_adjoint_end(adjoint);
		wrong += array[n - 1] != 3 * again + 3;
	}
	is_int(wrong, 0, "additions to %zu elements go on after a reduction", n);
	reel_adjoint_close(adjoint);
	free(array);
}

static void private_sums_have_one_value(void)
{
	static const unsigned threads[] = {1, 2, 3, 5};
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_PRIVATE};
	/* The blocks have seven lines of flags, so that each thread has blocks to reduce. */
	struct bits bits = {50021};
	static double sums[4][50021], other[50021];
	unsigned different = 0;
	reel_adjoint *adjoint;

	tap_case("PRIVATE, with 1, 2, 3 and 5 threads");
	for (size_t run = 0; run < 4; run++)
		for (size_t reduction = 0; reduction < 4; reduction++) {
			memset(sums[run], 0, sizeof sums[run]);
			adjoint = open_adjoint(sums[run], bits.n, options);
			for (int again = 0; again < 3; again++)
				if (sweep(adjoint, add_reals, &bits, 7, threads[run],
					  threads[reduction]))
					abort();
			different += memcmp(sums[run], sums[0], sizeof sums[0]) != 0;
			reel_adjoint_close(adjoint);
		}
	is_int(different, 0, "every bit is the same");
	options.flags = REEL_ADJOINT_CHECKED;
	adjoint = open_adjoint(other, bits.n, options);
	for (int again = 0; again < 3; again++)
		sweep(adjoint, add_reals, &bits, 7, 2, 0);
	ok(!memcmp(other, sums[0], sizeof other), "every bit is the same in check mode");
	reel_adjoint_close(adjoint);
}

/* Elements behind the last one are -0.0: an add of 0.0 would change them to 0.0. */
static void nothing_is_behind_the_last(void)
{
	double array[70 + 64];
	reel_adjoint *adjoint = open_adjoint(array, 70, (struct reel_adjoint_options){0});
	struct work work = {70, 1000, 0};
	unsigned changed = 0;

	tap_case("elements behind the last one");
	for (size_t i = 0; i < COUNT(array); i++)
		array[i] = -0.0;
	is_int(sweep(adjoint, add_integers, &work, 3, 2, 1), 0, "a sweep");
	for (size_t i = 70; i < COUNT(array); i++)
		changed += !signbit(array[i]);
	is_int(changed, 0, "changes none of them");
	reel_adjoint_close(adjoint);
}

/* ---- Memory ---- */

static size_t resident_pages(const void *start, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page, count = 0;
	unsigned char *is_in = malloc(pages);

	if (!is_in || mincore((void *)start, bytes, is_in))
		return SIZE_MAX;
	for (size_t p = 0; p < pages; p++)
		count += is_in[p] & 1;
	free(is_in);
	return count;
}

static void add_to_five(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
	const size_t *n = context;

	for (size_t k = 0; k < 5; k++)
		reel_adjoint_add(&view, k * (*n / 5) + lane, 1);
}

static void memory_is_for_what_is_touched(void)
{
	size_t n = (size_t)16 << 20, page = (size_t)sysconf(_SC_PAGESIZE);
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_PRIVATE};
	double *array = mmap(NULL, n * sizeof *array, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	reel_adjoint *adjoint = open_adjoint(array, n, options);
	unsigned wrong = 0;

	tap_case("PRIVATE, with few adds to a large array");
	for (int again = 0; again < 3; again++)
		if (sweep(adjoint, add_to_five, &n, 3, 2, 2))
			abort();
	for (size_t k = 0; k < 5; k++)
		for (size_t lane = 0; lane < 3; lane++)
			wrong += array[k * (n / 5) + lane] != 3;
	is_int(wrong, 0, "sums are right");
	is_int(stats_of(adjoint).reduced_blocks, 3 * 2 * 5, "no other blocks are reduced");
	is_int(stats_of(adjoint).copies, 2, "lane 0 has no copy");
	if (reel_adjoint_begin(adjoint, 3))
		abort();
	for (unsigned lane = 1; lane < 3; lane++) {
		reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

		is_int(resident_pages(view.copy, n * sizeof *array), 5,
		       "a copy takes the pages that were touched");
		ok(resident_pages(view.touched, n >> view.shift) <= (n >> view.shift) / page + 1,
		   "the flags of a copy take the pages that were touched");
		is_int((uintptr_t)view.copy % 128, 0, "the copy is aligned");
	}
	reel_adjoint_end(adjoint);
	ok(stats_of(adjoint).copy_bytes >= 2 * n * sizeof *array, "copies are kept");
	is_int(sweep(adjoint, add_to_five, &n, 3, 2, 2), 0, "copies are used again");
	is_int((long long)array[0], 4, "copies start at zero");
	reel_adjoint_close(adjoint);
	munmap(array, n * sizeof *array);
}

/* Lane 0 adds to the array itself, the other lanes to their copies. */
static void lanes_share_no_line(void)
{
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_PRIVATE};
	double array[16] = {0};
	reel_adjoint *adjoint = open_adjoint(array, 16, options);
	unsigned near = 0;

	tap_case("what lanes store to");
	if (reel_adjoint_begin(adjoint, 4))
		abort();
	for (unsigned lane = 1; lane < 4; lane++) {
		reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

		near += (uintptr_t)view.copy % 128 || (uintptr_t)view.touched % 128;
		for (unsigned other = 0; other < lane; other++)
			near += view.copy == reel_adjoint_lane(adjoint, other).copy;
	}
	is_int(near, 0, "what a lane stores to is not within 128 bytes of another lane's");
	reel_adjoint_end(adjoint);
	reel_adjoint_close(adjoint);
}

/* ---- Policies ---- */

static enum reel_adjoint_policy policy_of(reel_adjoint *adjoint, unsigned lanes)
{
	if (reel_adjoint_begin(adjoint, lanes) || reel_adjoint_end(adjoint))
		abort();
	return stats_of(adjoint).policy;
}

static void the_budget_decides(void)
{
	struct work work = {1000, 100, 0};
	struct reel_adjoint_options options = {0};
	double array[1000];
	reel_adjoint *adjoint = open_adjoint(array, 1000, options);

	tap_case("a budget for three copies");
	policy_of(adjoint, 2);
	options.budget = 4 * (size_t)stats_of(adjoint).copy_bytes - 1;
	reel_adjoint_close(adjoint);
	adjoint = open_adjoint(array, 1000, options);
	is_int(policy_of(adjoint, 1), REEL_ADJOINT_OWNER, "one lane needs none");
	is_int(stats_of(adjoint).copies, 0, "one lane has no copies");
	is_int(policy_of(adjoint, 4), REEL_ADJOINT_PRIVATE, "four lanes need three");
	is_int(policy_of(adjoint, 5), REEL_ADJOINT_ATOMIC, "five lanes have no room");
	ok(strstr(reel_error_text(-EDQUOT), "budget"), "the message says so");
	is_int(stats_of(adjoint).refused, 1, "the statistics say so");
	for (size_t i = 0; i < 1000; i++)
		array[i] = (double)(i % 5);
	is_int(sweep(adjoint, add_integers, &work, 5, 2, 2), 0,
	       "lanes without copies add all the same");
	is_int(wrong_sums(array, &work, 5, 1), 0, "lanes without copies get the right sums");
	is_int(policy_of(adjoint, 2), REEL_ADJOINT_PRIVATE, "two lanes have copies");
	ok(stats_of(adjoint).copies == 3 && stats_of(adjoint).copy_bytes <= options.budget,
	   "copies were kept within the budget");
	reel_adjoint_close(adjoint);
	options.policy = REEL_ADJOINT_PRIVATE;
	adjoint = open_adjoint(array, 1000, options);
	is_int(reel_adjoint_begin(adjoint, 5), -EDQUOT, "PRIVATE is refused where it has no room");
	ok(strstr(reel_error_text(-EDQUOT), "budget"), "the message says why");
	is_int(reel_adjoint_begin(adjoint, 4), 0, "a sweep begins with the copies that it has");
	reel_adjoint_end(adjoint);
	reel_adjoint_close(adjoint);
	options.policy = REEL_ADJOINT_ATOMIC;
	adjoint = open_adjoint(array, 1000, options);
	is_int(policy_of(adjoint, 1), REEL_ADJOINT_ATOMIC, "ATOMIC is what was asked for");
	reel_adjoint_close(adjoint);
}

static void lanes_change_from_sweep_to_sweep(void)
{
	static const unsigned lanes[] = {2, 7, 1, 3, 40, 4};
	static double array[9000], sums[9000];
	struct work work = {9000, 500, 0};
	reel_adjoint *adjoint = open_adjoint(array, 9000, (struct reel_adjoint_options){0});
	unsigned wrong = 0;

	tap_case("sweeps of different numbers of lanes");
	for (size_t s = 0; s < COUNT(lanes); s++) {
		is_int(sweep(adjoint, add_integers, &work, lanes[s], 3, 2), 0, "%u lanes",
		       lanes[s]);
		for (unsigned lane = 0; lane < lanes[s]; lane++)
			for (unsigned add = 0; add < work.adds; add++)
				sums[index_of(&work, lane, add)] += value_of(lane, add);
	}
	for (size_t i = 0; i < 9000; i++)
		wrong += array[i] != sums[i];
	is_int(wrong, 0, "sums are right");
	reel_adjoint_close(adjoint);
}

static void arrays_are_independent(void)
{
	double a[100] = {0}, b[100] = {0};
	reel_adjoint *outer = open_adjoint(a, 100, (struct reel_adjoint_options){0});
	reel_adjoint *inner = open_adjoint(b, 100, (struct reel_adjoint_options){0});
	reel_adjoint_view x, y;

	tap_case("a sweep within a sweep");
	reel_adjoint_begin(outer, 2);
	x = reel_adjoint_lane(outer, 1);
	reel_adjoint_add(&x, 7, 1);
	reel_adjoint_begin(inner, 3);
	y = reel_adjoint_lane(inner, 2);
	reel_adjoint_add(&y, 7, 10);
	reel_adjoint_add(&x, 7, 2);
	is_int(reel_adjoint_end(inner), 0, "the inner one ends");
	ok(b[7] == 10 && a[7] == 0, "the inner sweep has its sum");
	is_int(reel_adjoint_reduce(outer, 0, 2) | reel_adjoint_reduce(outer, 1, 2), 0,
	       "the outer one is reduced");
	is_int((long long)a[7], 3, "sums are complete before the end");
	reel_adjoint_add(&x, 7, 4);
	is_int(reel_adjoint_end(outer), 0, "the outer sweep ends");
	is_int((long long)a[7], 7, "the outer sweep has all that was added");
	reel_adjoint_close(outer);
	reel_adjoint_close(inner);
}

static void elements_are_taken(void)
{
	struct reel_adjoint_options options = {.policy = REEL_ADJOINT_OWNER};
	double array[3] = {1, 2, 3};
	reel_adjoint *adjoint;
	reel_adjoint_view view;

	tap_case("take");
	for (unsigned flags = 0; flags <= REEL_ADJOINT_CHECKED; flags++) {
		options.flags = flags;
		array[1] = 2;
		adjoint = open_adjoint(array, 3, options);
		reel_adjoint_begin(adjoint, 2);
		view = reel_adjoint_lane(adjoint, 1);
		reel_adjoint_add(&view, 1, 0.5);
		is_double(reel_adjoint_take(&view, 1), 2.5, "OWNER gives the sum");
		is_double(array[1], 0, "a take clears the element");
		is_int(reel_adjoint_end(adjoint), 0, "a take leaves no error");
		reel_adjoint_close(adjoint);
	}
	for (int policy = REEL_ADJOINT_PRIVATE; policy <= REEL_ADJOINT_ATOMIC; policy++) {
		record_reports();
		options = (struct reel_adjoint_options){.policy = (enum reel_adjoint_policy)policy};
		adjoint = open_adjoint(array, 3, options);
		reel_adjoint_begin(adjoint, 2);
		view = reel_adjoint_lane(adjoint, 0);
		ok(isnan(reel_adjoint_take(&view, 2)), "%s has none", policy_names[policy]);
		is_double(array[2], 3, "nothing is cleared");
		ok(reported.calls == 1 && strstr(reported.message, "OWNER"),
		   "the message says which policy can take");
		is_int(reel_adjoint_end(adjoint), -EINVAL, "the end says so, too");
		reel_adjoint_close(adjoint);
	}
}

/* ---- Errors ---- */

static void what_is_refused(void)
{
	static const struct reel_adjoint_options wrong[] = {
		{.policy = (enum reel_adjoint_policy)4}, {.flags = 4}, {.reserved = {0, 0, 0, 1}}};
	static const char *const words[] = {"policy", "flags", "reserved"};
	double array[4] = {0};
	reel_adjoint *adjoint = NULL;
	unsigned opened = 0;

	tap_case("what is refused");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		is_int(reel_adjoint_open(&adjoint, array, 4, &wrong[i]), -EINVAL,
		       "open refuses wrong options");
		ok(strstr(reel_error_text(-EINVAL), words[i]), "%s", words[i]);
	}
	is_int(reel_adjoint_open(&adjoint, NULL, 4, NULL), -EINVAL, "elements without an array");
	is_int(reel_adjoint_open(&adjoint, array, SIZE_MAX / 8, NULL), -EOVERFLOW, "a huge array");
	is_int(reel_adjoint_open_float(&adjoint, (float *)array, SIZE_MAX / 4, NULL), -EOVERFLOW,
	       "a huge array of floats");
	for (size_t k = 0; k <= 8192; k++)
		opened += reel_adjoint_open(&adjoint, array, SIZE_MAX - k, NULL) != -EOVERFLOW ||
			  reel_adjoint_open_float(&adjoint, (float *)array, SIZE_MAX - k, NULL) !=
				  -EOVERFLOW;
	is_int(opened, 0, "all arrays from SIZE_MAX - 8192 elements on are refused");
	is_pointer(adjoint, NULL, "nothing was opened");
	is_int(reel_adjoint_close(NULL), 0, "closing no adjoint is no error");
	adjoint = open_adjoint(array, 4, (struct reel_adjoint_options){0});
	is_int(reel_adjoint_end(adjoint), -EINVAL, "an end without a beginning");
	is_int(reel_adjoint_begin(adjoint, 0), -EINVAL, "no lanes");
	is_int(reel_adjoint_begin(adjoint, REEL_ADJOINT_MAX_LANES + 1), -EINVAL, "too many lanes");
	is_int(reel_adjoint_begin(adjoint, 2), 0, "two lanes");
	is_int(reel_adjoint_begin(adjoint, 2), -EBUSY, "a second beginning");
	ok(strstr(reel_error_text(0), "ended"), "the message says why");
	is_int(reel_adjoint_close(adjoint), -EBUSY, "a close before the end");
	is_int(reel_adjoint_reduce(adjoint, 2, 2), -EINVAL, "part 2 of 2");
	is_int(reel_adjoint_reduce(adjoint, 0, 0), -EINVAL, "part 0 of 0");
	is_int(reel_adjoint_end(adjoint), 0, "the sweep ends");
	reel_adjoint_close(adjoint);
}

static void lanes_that_do_not_exist(void)
{
	struct reel_adjoint_options options = {.name = "x_bar"};
	double array[4] = {0};
	reel_adjoint *adjoint = open_adjoint(array, 4, options);
	reel_adjoint_view_float other;
	reel_adjoint_view view;

	tap_case("a lane that does not exist");
	record_reports();
	reel_adjoint_begin(adjoint, 2);
	view = reel_adjoint_lane(adjoint, 2);
	is_string(reported.message, "x_bar: there is no lane 2: the sweep has 2",
		  "a lane that does not exist is reported");
	reel_adjoint_add(&view, 1, 1);
	reel_adjoint_add_span(&view, 0, 4, array);
	is_pointer(reel_adjoint_span(&view, 0, 4), NULL, "a lane that does not exist has no span");
	reel_adjoint_lane_add(adjoint, 3, 1, 1);
	is_int(reel_adjoint_end(adjoint), -EINVAL,
	       "a lane that does not exist is an error at the end");
	is_double(array[1], 0, "a lane that does not exist adds nothing");
	reel_adjoint_close(adjoint);

	record_reports();
	adjoint = open_adjoint(array, 4, options);
	reel_adjoint_begin(adjoint, 2);
	other = reel_adjoint_lane_float(adjoint, 1);
	ok(strstr(reported.message, "double"), "an add of the other type is reported");
	reel_adjoint_add_float(&other, 1, 1);
	reel_adjoint_lane_add_float(adjoint, 0, 1, 1);
	is_int(reel_adjoint_end(adjoint), -EINVAL,
	       "an add of the other type is an error at the end, too");
	is_double(array[1], 0, "an add of the other type adds nothing");
	is_int(reported.calls, 1, "all that is reported once");
	is_string(reel_error_text(0), reported.message,
		  "the message of the error is the one reported");
	reel_adjoint_close(adjoint);
}

static void nothing(reel_adjoint *adjoint, unsigned lane, void *context)
{
	reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);

	(void)context;
	reel_adjoint_add_span(&view, 0, 0, NULL);
	(void)reel_adjoint_span(&view, 0, 0);
}

static void arrays_without_elements(void)
{
	tap_case("an array without elements");
	for (int policy = REEL_ADJOINT_AUTOMATIC; policy <= REEL_ADJOINT_PRIVATE; policy++)
		for (unsigned flags = 0; flags <= REEL_ADJOINT_CHECKED; flags++) {
			struct reel_adjoint_options options = {
				.policy = (enum reel_adjoint_policy)policy, .flags = flags};
			reel_adjoint *adjoint = open_adjoint(NULL, 0, options);

			is_int(sweep(adjoint, nothing, NULL, 3, 2, 2), 0, "%s, flags %u",
			       policy_names[policy], flags);
			is_int(stats_of(adjoint).copy_bytes, 0,
			       "an array without elements takes no memory");
			reel_adjoint_close(adjoint);
		}
}

int main(void)
{
	tap_begin();
	every_policy_adds_up();
	spans();
	tap_case("reductions within a sweep");
	adds_go_on_after_a_reduction(1000);
	adds_go_on_after_a_reduction(100000);
	private_sums_have_one_value();
	nothing_is_behind_the_last();
	memory_is_for_what_is_touched();
	lanes_share_no_line();
	the_budget_decides();
	lanes_change_from_sweep_to_sweep();
	arrays_are_independent();
	elements_are_taken();
	what_is_refused();
	lanes_that_do_not_exist();
	arrays_without_elements();
	return tap_end();
}
