/* SPDX-License-Identifier: MIT */
/* Compares one-sided calls between fences with the transpose of their Jacobian. */
#include "config.h"

#include "helpers/ranks.h"

#define WORLD MPI_COMM_WORLD
#define D MPI_DOUBLE

/* Makes the forward call, or the reverse call if `reverse` is set. */
#define BOTH(call, ...)                                                                            \
	(reverse ? reel_mpi_##call##_reverse(tape, __VA_ARGS__)                                    \
		 : reel_mpi_##call(tape, __VA_ARGS__))

/* Sizes of the program's numbers: the first half is on the rank, the second one in its window. */
enum { HALF = 8, ALL = 2 * HALF };

enum { PUT, PUT_A_VECTOR, GET, GET_FROM_ONE, ACCUMULATE, TO_NOBODY, CALLS };

struct windows {
	double *memory[2]; /* of the values, and of their adjoints */
	MPI_Win win[2];
	int call;
	MPI_Datatype vector; /* each other one of 5 numbers */
};

static int access_window(reel_tape *tape, double *x, bool reverse, const struct windows *w)
{
	MPI_Win win = w->win[reverse];
	int next = (rank + 1) % ranks;

	switch (w->call) {
	case PUT:
		return BOTH(put, x, 3, D, next, 2, 3, D, win);
	case PUT_A_VECTOR:
		return BOTH(put, x + 1, 1, w->vector, next, 4, 3, D, win);
	case GET:
		return BOTH(get, x, 1, w->vector, next, 1, 1, w->vector, win);
	case GET_FROM_ONE:
		return BOTH(get, x, 3, D, ranks - 1, 1, 3, D, win);
	case ACCUMULATE:
		return BOTH(accumulate, x, 3, D, 0, 1, 3, D, MPI_SUM, win);
	default:
		return BOTH(put, x, 3, D, MPI_PROC_NULL, 0, 3, D, win);
	}
}

/* Calculates after the fence the numbers that the rank puts. */
static void calculate(double *x)
{
	for (int k = 0; k < HALF; k++)
		x[k] *= 2;
}

static int one_epoch(reel_tape *tape, double *s, bool reverse, void *context)
{
	const struct windows *w = context;
	MPI_Win win = w->win[reverse];
	int error;

	memcpy(w->memory[reverse], s + HALF, HALF * sizeof *s);
	error = BOTH(win_fence, 0, win);
	if (!reverse)
		calculate(s);
	if (!error)
		error = access_window(tape, s, reverse, w);
	if (reverse)
		calculate(s);
	if (!error)
		error = BOTH(win_fence, 0, win);
	memcpy(s + HALF, w->memory[reverse], HALF * sizeof *s);
	return error;
}

static bool make_windows(struct windows *w)
{
	bool passed = holds(!reel_mpi_attach(WORLD, 0));

	MPI_Type_vector(3, 1, 2, D, &w->vector);
	MPI_Type_commit(&w->vector);
	for (int i = 0; i < 2; i++) {
		MPI_Win_allocate(HALF * sizeof(double), sizeof(double), MPI_INFO_NULL, WORLD,
				 &w->memory[i], &w->win[i]);
		passed &= holds(!reel_mpi_win_attach(w->win[i], WORLD));
	}
	return passed;
}

static void free_windows(struct windows *w)
{
	for (int i = 0; i < 2; i++)
		MPI_Win_free(&w->win[i]);
	MPI_Type_free(&w->vector);
}

static bool windows_are_transposed(void)
{
	struct windows w;
	bool passed = make_windows(&w);

	for (w.call = 0; w.call < CALLS; w.call++) {
		double s[ALL];

		for (int k = 0; k < ALL; k++)
			s[k] = 3 * rank + k;
		if (!transpose_holds(one_epoch, &w, ALL, s, 1)) {
			fprintf(stderr, "# call %d\n", w.call);
			passed = false;
		}
	}
	free_windows(&w);
	return passed;
}

static bool others_are_refused(void)
{
	struct windows w;
	double x[4] = {0};
	void *memory;
	MPI_Win win;
	MPI_Comm self;
	bool passed = make_windows(&w);

	passed &= holds(reel_mpi_put(NULL, x, 1, D, 0, 0, 1, D, w.win[0]) == -ENOTSUP);
	passed &= holds(strstr(reel_error_text(0), "under a lock"));
	passed &= holds(!reel_mpi_win_fence(NULL, 0, w.win[0]));
	passed &= holds(reel_mpi_accumulate(NULL, x, 1, D, 0, 0, 1, D, MPI_MAX, w.win[0]) ==
			-ENOTSUP);
	passed &= holds(strstr(reel_error_text(0), "MPI_SUM"));
	passed &= holds(reel_mpi_get(NULL, x, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT,
				     w.win[0]) == -ENOTSUP);
	passed &= holds(reel_mpi_get(NULL, x, 8, MPI_BYTE, 0, 0, 1, D, w.win[0]) == -ENOTSUP);
	passed &= holds(!reel_mpi_win_fence(NULL, MPI_MODE_NOSUCCEED, w.win[0]));
	passed &= holds(reel_mpi_get(NULL, x, 1, D, 0, 0, 1, D, w.win[0]) == -ENOTSUP);
	MPI_Comm_dup(MPI_COMM_SELF, &self);
	passed &= holds(reel_mpi_win_attach(w.win[0], self) == -EINVAL);
	passed &= holds(!reel_mpi_attach(self, 0));
	passed &= holds(reel_mpi_win_attach(w.win[0], self) == -EINVAL);
	MPI_Win_allocate(8, 1, MPI_INFO_NULL, self, &memory, &win);
	passed &= holds(reel_mpi_win_fence(NULL, 0, win) == -EINVAL);
	MPI_Win_free(&win);
	MPI_Comm_free(&self);
	free_windows(&w);
	return passed;
}

static const struct rank_case cases[] = {
	{"Put, Get and Accumulate between fences are transposed", windows_are_transposed},
	{"accesses without fences, other operations and types are refused", others_are_refused},
};

int main(int argc, char **argv)
{
	return run_on_ranks(argc, argv, cases, COUNT(cases));
}
