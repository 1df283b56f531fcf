/* SPDX-License-Identifier: MIT */
/*
 * Adjoint accumulation: several lanes of a parallel reverse sweep add to one array.
 *
 * If several iterations of a loop read x[i], several iterations of its adjoint add to x_bar[i], and
 * iterations on different threads then add to the same element. One adjoint object per array
 * implements a policy for this; the code that adds is the same for all policies.
 *
 *	reel_adjoint_open(&adjoint, x_bar, n, &(struct reel_adjoint_options){.name = "x_bar"});
 *	for each reverse sweep:
 *		reel_adjoint_begin(adjoint, lanes);
 *		each lane, on any thread, one thread at a time:
 *			reel_adjoint_view view = reel_adjoint_lane(adjoint, lane);
 *			reel_adjoint_add(&view, i, v);                   x_bar[i] += v
 *		each thread, when all lanes are done:
 *			reel_adjoint_reduce(adjoint, thread, threads);
 *		reel_adjoint_end(adjoint);                               x_bar is complete
 *	reel_adjoint_close(adjoint);
 *
 * A lane is a number below `lanes`, not a thread: one thread may run several lanes, in any order.
 * Nothing here needs OpenMP; two functions for OpenMP are at the end.
 *
 * Policies, with their cost relative to a plain x_bar[i] += v, and their guarantees:
 *
 *   OWNER    adds go directly to the array. Free. For a program in which no two lanes use the same
 *            element between two phases; check mode proves or refutes this for a run.
 *   PRIVATE  lane 0 adds to the array itself, and each other lane has its own copy, which
 *            reel_adjoint_reduce() adds to the array: each element in the order of the lanes, so
 *            that the result has the same bits for the same lanes, for any number of threads that
 *            run or reduce them. An array of up to 32 KiB is reduced whole, and an add costs the
 *            same as a plain add; in a larger array it also tests a byte. Larger copies take memory
 *            only for pages that a lane adds to, and keep it for the next sweep; only blocks (64 to
 *            1024 elements) that a lane has added to are reduced and cleared, at some 0.3 to 0.7 ns
 *            per element and lane.
 *   ATOMIC   adds are relaxed compare-and-swap in the array: 5 to 20 times a plain add without
 *            contention, up to 80 times with it. No memory. Sums are correct, but their rounding
 *            differs from run to run.
 *   AUTOMATIC  PRIVATE, if the maximum size of all copies is within the budget and can be mapped;
 *            else ATOMIC. reel_adjoint_begin() decides for the whole sweep; `policy` in the
 *            statistics shows the decision. PRIVATE pays if a lane adds more than about once per 7
 *            elements of the blocks that it adds to: a program that adds to few scattered elements
 *            of a large array, and does little else, should ask for ATOMIC.
 *
 * With one lane nothing is shared, and AUTOMATIC and PRIVATE act as OWNER, without a copy.
 *
 * Reading. Reverse code also reads and clears adjoints (y_bar = a[i]; a[i] = 0). During a sweep
 * this is meaningful only under OWNER, for elements that the lane owns in this phase:
 * reel_adjoint_take(). Under the other policies sums are complete, and the array may be read and
 * written like any other array, before reel_adjoint_begin(), after reel_adjoint_end(), and at a
 * barrier after all copies have been reduced and before lanes add again.
 *
 * Check mode (REEL_ADJOINT_CHECKED, or REEL_CHECKED=1 in the environment at reel_adjoint_open())
 * notes for each element the lane that used it last in this phase. The first element that two lanes
 * use is reported by index, lanes and phase. Indices are checked. An add under OWNER is atomic, so
 * that sums are correct in spite of a conflict, and the check is free of races. Check mode finds
 * every conflict of this run, whatever the threads and the order of the lanes; it knows nothing of
 * other inputs, and does not see the program's own accesses to the array. It takes 8 bytes per
 * element, for used pages, and some 10 ns per add.
 *
 * Threads.
 *   open, close, begin, end           one thread, while no other thread uses the object
 *   lane, add, take, span, add_span   any thread; one at a time for a lane
 *   reduce                            several threads, each with its own part, while no lane adds
 *   phase, get_stats, get_conflict    any thread, at any time
 * The program orders these calls: a barrier, or the start and the join of threads, lies between
 * begin and adds, between adds and reduce, and between reduce and end.
 */
#ifndef REEL_ADJOINT_H
#define REEL_ADJOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <reel/compiler.h>
#include <reel/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_adjoint reel_adjoint;

enum reel_adjoint_policy {
	REEL_ADJOINT_AUTOMATIC,
	REEL_ADJOINT_OWNER,
	REEL_ADJOINT_PRIVATE,
	REEL_ADJOINT_ATOMIC
};

/* Check mode. */
#define REEL_ADJOINT_CHECKED 1u

#define REEL_ADJOINT_MAX_LANES 65536u

/* The default budget. */
#define REEL_ADJOINT_BUDGET ((size_t)1 << 30)

/* All zero, or NULL, is sensible. */
struct reel_adjoint_options {
	enum reel_adjoint_policy policy;
	/* REEL_ADJOINT_CHECKED */
	unsigned flags;
	/*
	 * Bytes that the copies of this array may take if every lane adds to every element.
	 * 0: REEL_ADJOINT_BUDGET; SIZE_MAX: no bound.
	 */
	size_t budget;
	/* For messages; the first 63 bytes are kept. NULL: "adjoint". */
	const char *name;
	/* For options to come: all 0. */
	uint64_t reserved[4];
};

struct reel_adjoint_stats {
	enum reel_adjoint_policy policy; /* in force in this sweep, or in the last one */
	unsigned lanes;                  /* of this sweep; 0 between sweeps */
	uint64_t sweeps;                 /* begun so far */
	uint64_t refused;    /* sweeps for whose copies there was no budget or no memory */
	uint64_t copies;     /* that exist, including copies of earlier sweeps */
	uint64_t copy_bytes; /* addresses of these; memory is taken for touched pages only */
	uint64_t block_bytes;    /* size of the unit of reduction */
	uint64_t reduced_blocks; /* so far, of all lanes */
	uint64_t conflicts;      /* found so far by check mode; one element may count often */
	uint64_t reserved[4];    /* 0 */
};

/* The first two lanes that check mode found at the same element in one phase. */
struct reel_adjoint_conflict {
	size_t index;
	unsigned lanes[2]; /* in the order in which they came */
	int phase;
};

/*
 * A lane's access to the array: a plain struct to keep in a local variable, so that a loop has it
 * in registers. Valid from reel_adjoint_begin() to reel_adjoint_end(). Its members are for the
 * inline functions below.
 */
typedef struct reel_adjoint_view {
	double *copy;
	bool *touched; /* a flag for each block; NULL: it is the array itself */
	reel_adjoint *adjoint;
	unsigned shift;  /* of an index to its block */
	unsigned policy; /* AUTOMATIC: as the library says */
	unsigned lane;
	unsigned reserved;
} reel_adjoint_view;

typedef struct reel_adjoint_view_float {
	float *copy;
	bool *touched;
	reel_adjoint *adjoint;
	unsigned shift;
	unsigned policy;
	unsigned lane;
	unsigned reserved;
} reel_adjoint_view_float;

/*
 * Open an object for `array` of n elements, which belongs to the caller and must keep its address
 * until the close. The array is never cleared: sums are added to its contents. Elements next to it
 * that other threads use share its first or last cache line, unless it is aligned.
 *
 * Returns 0, -ENOMEM; -EINVAL, an option is out of its range, or `array` is NULL and n is not 0; or
 * -EOVERFLOW, no array can have n elements. *adjoint is unchanged then.
 *
 * Cost: some allocations; in check mode a mapping of 8 n bytes.
 */
int reel_adjoint_open(reel_adjoint **adjoint, double *array, size_t n,
		      const struct reel_adjoint_options *options);
int reel_adjoint_open_float(reel_adjoint **adjoint, float *array, size_t n,
			    const struct reel_adjoint_options *options);

/* Return the copies to the system. NULL is allowed. 0, or -EBUSY: a sweep has not ended. */
int reel_adjoint_close(reel_adjoint *adjoint);

/*
 * Begin a sweep with `lanes` lanes, in phase 0; each sweep may have another number. Under PRIVATE,
 * additional lanes get a mapping each, whose pages are untouched: the thread that first adds to a
 * page places it, which takes some microseconds.
 *
 * Returns 0; or, and nothing has begun:
 *   -EDQUOT  PRIVATE, as requested, and the budget is too small for the copies
 *   -ENOMEM  no memory for copies, under PRIVATE; or none for a list of the lanes
 *   -EINVAL  no lanes, or more than REEL_ADJOINT_MAX_LANES
 *   -EBUSY   a sweep has not ended
 */
int reel_adjoint_begin(reel_adjoint *adjoint, unsigned lanes);

/*
 * A new phase: lanes may now use elements that other lanes have used before. Its number is for the
 * report; the same number as before means no new phase, so that every thread may call this after a
 * barrier. It matters only to check mode, and completes no sums.
 */
void reel_adjoint_phase(reel_adjoint *adjoint, int phase);

/*
 * Add the copies to the array and clear them: part `part` of `parts`, for several threads at once
 * (0 of 1: everything). Parts are disjoint lines of the array, dealt in turn; the result does not
 * depend on their number. Does nothing under other policies.
 *
 * Returns 0, or -EINVAL if there is no such part.
 *
 * Cost: for each block that a lane has added to, and for a whole small array, 0.3 to 0.7 ns per
 * element; for each other block some 0.1 ns per lane.
 */
int reel_adjoint_reduce(reel_adjoint *adjoint, unsigned part, unsigned parts);

/*
 * End a sweep. This thread reduces the rest of the copies. Copies are kept.
 *
 * Returns 0; -EINVAL: no sweep has begun; or the first error since the object was opened. The
 * thread that met the error has reported it to the error handler (reel/error.h):
 *   -EADDRINUSE  check mode refuted OWNER
 *   -ERANGE      check mode met an index out of range; the addition is dropped
 *   -EINVAL      a lane that does not exist, or not of that type; a span under ATOMIC; a take
 *                under PRIVATE or ATOMIC
 */
int reel_adjoint_end(reel_adjoint *adjoint);

void reel_adjoint_get_stats(const reel_adjoint *adjoint, struct reel_adjoint_stats *stats);

/*
 * Returns true if check mode has found a conflict, whatever the policy, and stores the first one in
 * *conflict. Under OWNER a conflict is also an error; under the other policies it shows that OWNER
 * would not suffice.
 */
bool reel_adjoint_get_conflict(const reel_adjoint *adjoint, struct reel_adjoint_conflict *conflict);

/* ---- A lane, out of line ------------------------------------------------------- */

/*
 * The inline functions below as calls, for languages without inline functions. They test the lane;
 * the inline functions call them for everything except a plain add.
 */
void reel_adjoint_lane_add(reel_adjoint *adjoint, unsigned lane, size_t i, double v);
void reel_adjoint_lane_add_span(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n,
				const double *v);
double *reel_adjoint_lane_span(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n);
double reel_adjoint_lane_take(reel_adjoint *adjoint, unsigned lane, size_t i);

void reel_adjoint_lane_add_float(reel_adjoint *adjoint, unsigned lane, size_t i, float v);
void reel_adjoint_lane_add_span_float(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n,
				      const float *v);
float *reel_adjoint_lane_span_float(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n);
float reel_adjoint_lane_take_float(reel_adjoint *adjoint, unsigned lane, size_t i);

/*
 * Returns the view of a lane. Without such a lane, adds through the view are reported and dropped.
 */
const reel_adjoint_view *reel_adjoint_lane_view(reel_adjoint *adjoint, unsigned lane);
const reel_adjoint_view_float *reel_adjoint_lane_view_float(reel_adjoint *adjoint, unsigned lane);

/* ---- A lane, inline ------------------------------------------------------------- */

/*
 * reel_adjoint_view reel_adjoint_lane(reel_adjoint *adjoint, unsigned lane);
 * reel_adjoint_view_float reel_adjoint_lane_float(reel_adjoint *adjoint, unsigned lane);
 *
 * The view of a lane. The functions below are for double; with the suffix _float, a
 * reel_adjoint_view_float and float they do the same. Indices are checked in check mode only.
 *
 * void reel_adjoint_add(const reel_adjoint_view *view, size_t i, double v);
 * void reel_adjoint_add_float: the same
 *
 * array[i] += v. Compilers test the policy before a loop, if the view is a local variable. The
 * additions of a lane to one element are summed in their order.
 *
 * void reel_adjoint_add_span(const reel_adjoint_view *view, size_t first, size_t n,
 *			      const double *v);
 * void reel_adjoint_add_span_float: the same
 *
 * array[first + k] += v[k] for all k < n, by a vector loop, except under ATOMIC.
 *
 * double *reel_adjoint_span(const reel_adjoint_view *view, size_t first, size_t n);
 * float *reel_adjoint_span_float: the same
 *
 * Returns memory in which the lane itself may add to n elements, until the next phase or reduction:
 * to the k-th element at [k]. Under PRIVATE the contents are not the sum so far: add to them, and
 * do not set them. Check mode treats all n as used. Under ATOMIC the call is an error and returns
 * NULL: only OWNER and PRIVATE have spans.
 *
 * double reel_adjoint_take(const reel_adjoint_view *view, size_t i);
 * float reel_adjoint_take_float: the same
 *
 * y_bar = array[i]; array[i] = 0. Only under OWNER; an error and NaN under the others.
 */

/* ---- Within ---- */

#if defined(__GNUC__)
/* One attempt. If it fails, the library tries again, so that a loop of adds has no inner loop. */
#define REEL_ADJOINT_TRY_ATOMIC(type, target, v)                                                   \
	__extension__({                                                                            \
		type seen, sum;                                                                    \
		/* Relaxed: sums order no other memory. */                                         \
		__atomic_load(target, &seen, __ATOMIC_RELAXED);                                    \
		sum = seen + (v);                                                                  \
		__atomic_compare_exchange(target, &seen, &sum, true, __ATOMIC_RELAXED,             \
					  __ATOMIC_RELAXED);                                       \
	})
#else
#define REEL_ADJOINT_TRY_ATOMIC(type, target, v) false
#endif

/* OWNER and PRIVATE: the lane adds to its own elements. */
#define REEL_ADJOINT_IS_PLAIN(view)                                                                \
	((view)->policy - REEL_ADJOINT_OWNER <= REEL_ADJOINT_PRIVATE - REEL_ADJOINT_OWNER)

#define REEL_ADJOINT_FUNCTIONS(type, suffix)                                                       \
	static inline reel_adjoint_view##suffix reel_adjoint_lane##suffix(reel_adjoint *adjoint,   \
									  unsigned lane)           \
	{                                                                                          \
		return *reel_adjoint_lane_view##suffix(adjoint, lane);                             \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void reel_adjoint_touch##suffix(const reel_adjoint_view##suffix *view,  \
							   size_t block)                           \
	{                                                                                          \
		if (REEL_UNLIKELY(!view->touched[block]))                                          \
			view->touched[block] = true;                                               \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void reel_adjoint_add##suffix(const reel_adjoint_view##suffix *view,    \
							 size_t i, type v)                         \
	{                                                                                          \
		if (REEL_ADJOINT_IS_PLAIN(view)) {                                                 \
			if (view->touched)                                                         \
				reel_adjoint_touch##suffix(view, i >> view->shift);                \
			view->copy[i] += v;                                                        \
		} else if (view->policy != REEL_ADJOINT_ATOMIC ||                                  \
			   !REEL_ADJOINT_TRY_ATOMIC(type, &view->copy[i], v)) {                    \
			reel_adjoint_lane_add##suffix(view->adjoint, view->lane, i, v);            \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE type *reel_adjoint_span##suffix(const reel_adjoint_view##suffix *view,  \
							   size_t first, size_t n)                 \
	{                                                                                          \
		if (REEL_UNLIKELY(!REEL_ADJOINT_IS_PLAIN(view)))                                   \
			return reel_adjoint_lane_span##suffix(view->adjoint, view->lane, first,    \
							      n);                                  \
		if (view->touched && n)                                                            \
			for (size_t b = first >> view->shift; b <= (first + n - 1) >> view->shift; \
			     b++)                                                                  \
				reel_adjoint_touch##suffix(view, b);                               \
		/* An array without elements may be null, to which nothing may be added. */        \
		return n ? view->copy + first : view->copy;                                        \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE void reel_adjoint_add_span##suffix(                                     \
		const reel_adjoint_view##suffix *view, size_t first, size_t n, const type *v)      \
	{                                                                                          \
		type *target;                                                                      \
                                                                                                   \
		if (REEL_UNLIKELY(!REEL_ADJOINT_IS_PLAIN(view))) {                                 \
			reel_adjoint_lane_add_span##suffix(view->adjoint, view->lane, first, n,    \
							   v);                                     \
			return;                                                                    \
		}                                                                                  \
		target = reel_adjoint_span##suffix(view, first, n);                                \
		for (size_t k = 0; k < n; k++)                                                     \
			target[k] += v[k];                                                         \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE type reel_adjoint_take##suffix(const reel_adjoint_view##suffix *view,   \
							  size_t i)                                \
	{                                                                                          \
		type v;                                                                            \
                                                                                                   \
		if (REEL_UNLIKELY(view->policy != REEL_ADJOINT_OWNER))                             \
			return reel_adjoint_lane_take##suffix(view->adjoint, view->lane, i);       \
		v = view->copy[i];                                                                 \
		view->copy[i] = 0;                                                                 \
		return v;                                                                          \
	}

REEL_ADJOINT_FUNCTIONS(double, )
REEL_ADJOINT_FUNCTIONS(float, _float)

/* ---- Under OpenMP ---------------------------------------------------------------- */

#ifdef _OPENMP
/*
 * Called by all threads of a team, where a barrier may stand: when all lanes are done, the
 * threads share the reduction, and sums are complete for all of them.
 */
static inline void reel_adjoint_omp_reduce(reel_adjoint *adjoint)
{
#pragma omp barrier
	reel_adjoint_reduce(adjoint, (unsigned)omp_get_thread_num(),
			    (unsigned)omp_get_num_threads());
#pragma omp barrier
}
#endif

#ifdef __cplusplus
}
#endif

#endif
