/* SPDX-License-Identifier: MIT */
/* Compares the reverse of each collective call with the transpose of the call's Jacobian. */
#include "config.h"

#include "helpers/ranks.h"

#include <math.h>

#define WORLD MPI_COMM_WORLD
#define D MPI_DOUBLE

/* True: the tests use I-forms, which begin, and wait for them. */
static bool begin_and_end;
static struct reel_mpi_request request;

#define IGNORED MPI_STATUS_IGNORE

/* Makes the forward call, or the reverse call if `reverse` is set. */
#define BOTH(call, ...)                                                                            \
	(!begin_and_end ? WAITING(call, __VA_ARGS__)                                               \
	 : reverse	? reel_mpi_wait_reverse(tape, &request, IGNORED) ||                        \
			    reel_mpi_i##call##_reverse(tape, __VA_ARGS__, &request)                \
			: reel_mpi_i##call(tape, __VA_ARGS__, &request) ||                         \
			    reel_mpi_wait(tape, &request, IGNORED))
#define WAITING(call, ...)                                                                         \
	(reverse ? reel_mpi_##call##_reverse(tape, __VA_ARGS__)                                    \
		 : reel_mpi_##call(tape, __VA_ARGS__))

enum call {
	BCAST, BARRIER, GATHER, GATHER_IN_PLACE, GATHERV, SCATTER, SCATTER_IN_PLACE, SCATTERV,
	ALLGATHER, ALLGATHER_IN_PLACE, ALLGATHERV, ALLGATHERV_IN_PLACE, ALLTOALL,
	ALLTOALL_IN_PLACE, ALLTOALLV, ALLTOALLW, REPLACE, MATCHED, CALLS
};

static const char *const names[] = {
	"Bcast", "Barrier", "Gather", "Gather in place", "Gatherv", "Scatter", "Scatter in place",
	"Scatterv", "Allgather", "Allgather in place", "Allgatherv", "Allgatherv in place",
	"Alltoall", "Alltoall in place", "Alltoallv", "Alltoallw", "Sendrecv_replace",
	"Mprobe and Mrecv"
};

/* Sizes of an array with two halves, each of at most 3 numbers for each rank. */
enum { HALF = 12, ALL = 2 * HALF };

/* Receives a message of any length that a probe has found. */
static int take_matched(reel_tape *tape, double *y, bool reverse)
{
	MPI_Message message;
	MPI_Status status;
	int count;

	if (reverse)
		return reel_mpi_mrecv_reverse(tape, y, HALF, D, WORLD, &status);
	MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &message, &status);
	MPI_Get_count(&status, D, &count);
	return reel_mpi_mrecv(tape, y, count, D, &message, WORLD, &status);
}

/* Each rank but the last one sends rank + 1 numbers to the next one. */
static int pass_on(reel_tape *tape, double *x, double *y)
{
	int error = 0;

	if (rank + 1 < ranks)
		error = reel_mpi_send(tape, x, rank + 1, D, rank + 1, rank, WORLD);
	return error || !rank ? error : take_matched(tape, y, false);
}

static int pass_on_reverse(reel_tape *tape, double *x_bar, double *y_bar)
{
	int error = rank ? take_matched(tape, y_bar, true) : 0;

	if (rank + 1 < ranks && !error)
		error = reel_mpi_send_reverse(tape, x_bar, rank + 1, D, rank + 1, rank, WORLD);
	return error;
}

static int move(reel_tape *tape, double *s, bool reverse, void *context)
{
	double *x = s, *y = s + HALF;
	int counts[4], begins[4], other[4], other_begins[4], bytes[4], other_bytes[4];
	int root = ranks - 1, at = 0, other_at = 0;
	MPI_Datatype types[4] = {D, D, D, D};

	/* Rank i sends i % 3 + 1 numbers. Counts of Alltoallv, Alltoallw depend on both ranks. */
	for (int i = 0; i < 4; i++) {
		counts[i] = *(int *)context >= ALLTOALLV ? (rank + 2 * i) % 4 % 3 : i % 3 + 1;
		other[i] = (i + 2 * rank) % 4 % 3;
		begins[i] = at;
		other_begins[i] = other_at;
		bytes[i] = 8 * begins[i];
		other_bytes[i] = 8 * other_begins[i];
		at += counts[i];
		other_at += other[i];
	}
	switch (*(int *)context) {
	case BCAST:
		return BOTH(bcast, x, 5, D, root, WORLD);
	case BARRIER:
		return BOTH(barrier, WORLD);
	case GATHER:
		return BOTH(gather, x, 3, D, y, 3, D, root, WORLD);
	case GATHER_IN_PLACE:
		return BOTH(gather, rank == root ? MPI_IN_PLACE : (void *)x, 3, D, y, 3, D, root,
			    WORLD);
	case GATHERV:
		return BOTH(gatherv, x, counts[rank], D, y, counts, begins, D, root, WORLD);
	case SCATTER:
		return BOTH(scatter, x, 2, D, y, 2, D, root, WORLD);
	case SCATTER_IN_PLACE:
		return BOTH(scatter, x, 2, D, rank == root ? MPI_IN_PLACE : (void *)y, 2, D, root,
			    WORLD);
	case SCATTERV:
		return BOTH(scatterv, x, counts, begins, D, y, counts[rank], D, root, WORLD);
	case ALLGATHER:
		return BOTH(allgather, x, 2, D, y, 2, D, WORLD);
	case ALLGATHER_IN_PLACE:
		return BOTH(allgather, MPI_IN_PLACE, 0, D, y, 2, D, WORLD);
	case ALLGATHERV:
		return BOTH(allgatherv, x, counts[rank], D, y, counts, begins, D, WORLD);
	case ALLGATHERV_IN_PLACE:
		return BOTH(allgatherv, MPI_IN_PLACE, 0, D, y, counts, begins, D, WORLD);
	case ALLTOALL:
		return BOTH(alltoall, x, 2, D, y, 2, D, WORLD);
	case ALLTOALL_IN_PLACE:
		return BOTH(alltoall, MPI_IN_PLACE, 0, D, y, 2, D, WORLD);
	case ALLTOALLV:
		return BOTH(alltoallv, x, counts, begins, D, y, other, other_begins, D, WORLD);
	case ALLTOALLW:
		return BOTH(alltoallw, x, counts, bytes, types, y, other, other_bytes, types,
			    WORLD);
	case REPLACE:
		return WAITING(sendrecv_replace, x, 4, D, rank ? rank - 1 : MPI_PROC_NULL, 5,
			       rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL, 5, WORLD, IGNORED);
	default:
		return reverse ? pass_on_reverse(tape, x, y) : pass_on(tape, x, y);
	}
}

/* Sets numbers that differ between ranks; on rank 0 one of four is 0. */
static void set(double *s, int n)
{
	for (int k = 0; k < n; k++)
		s[k] = rank * (k % 4 + 1) % 5 + k % 2;
}

static bool blocks_are_moved_back(void)
{
	bool passed = holds(!reel_mpi_attach(WORLD, 0));

	for (int call = 0; call < CALLS; call++) {
		double s[ALL];

		set(s, ALL);
		if (!transpose_holds(move, &call, ALL, s, 1)) {
			fprintf(stderr, "# %s\n", names[call]);
			passed = false;
		}
	}
	return passed;
}

/* ---- Reductions ---- */

struct reduction {
	int call;
	MPI_Op op;
	bool in_place;
};

enum { REDUCE, ALLREDUCE, SCATTERED, SCATTERED_BLOCKS, SCAN, EXSCAN, REDUCTIONS };

static int reduce(reel_tape *tape, double *s, bool reverse, void *context)
{
	const struct reduction *r = context;
	void *x = r->in_place ? MPI_IN_PLACE : (void *)s;
	double *y = s + HALF;
	int counts[4] = {2, 0, 3, 1}, root = 1;

	switch (r->call) {
	case REDUCE:
		return BOTH(reduce, r->in_place && rank != root ? (void *)s : x, y, 4, D, r->op,
			    root, WORLD);
	case ALLREDUCE:
		return BOTH(allreduce, x, y, 4, D, r->op, WORLD);
	case SCATTERED:
		return BOTH(reduce_scatter, x, y, counts, D, r->op, WORLD);
	case SCATTERED_BLOCKS:
		return BOTH(reduce_scatter_block, x, y, 2, D, r->op, WORLD);
	case SCAN:
		return BOTH(scan, x, y, 4, D, r->op, WORLD);
	default:
		return BOTH(exscan, x, y, 4, D, r->op, WORLD);
	}
}

/*
 * Returns true if MPI defines all results. With MPI_IN_PLACE some calls leave undefined numbers
 * behind the rank's block of the result.
 */
static bool is_defined(const struct reduction *r)
{
	return !r->in_place || (r->call != SCATTERED && r->call != SCATTERED_BLOCKS);
}

static bool reductions_are_transposed(MPI_Op op, double h)
{
	bool passed = true;

	for (int in_place = 0; in_place < 2; in_place++)
		for (int call = 0; call < REDUCTIONS; call++) {
			struct reduction r = {call, op, in_place};
			double s[ALL];

			set(s, ALL);
			if (is_defined(&r) && !transpose_holds(reduce, &r, ALL, s, h)) {
				fprintf(stderr, "# reduction %d, in place %d\n", call, in_place);
				passed = false;
			}
		}
	return passed;
}

static bool sums(void)
{
	return reductions_are_transposed(MPI_SUM, 1);
}

static bool products(void)
{
	return reductions_are_transposed(MPI_PROD, 1);
}

static bool minima(void)
{
	return reductions_are_transposed(MPI_MIN, 0.125);
}

static bool maxima(void)
{
	return reductions_are_transposed(MPI_MAX, 0.125);
}

/* ---- An operation that does not commute ---- */

enum { ENTRIES = 4, MATRICES = 4, MATRIX_HALF = ENTRIES * MATRICES };

/* to += a b of 2 by 2 matrices, each of which may be transposed. */
static void multiply_add(double *to, const double *a, int transpose_a, const double *b,
			 int transpose_b)
{
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 2; j++)
			for (int k = 0; k < 2; k++)
				to[2 * i + j] += a[transpose_a ? 2 * k + i : 2 * i + k] *
						 b[transpose_b ? 2 * j + k : 2 * k + j];
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
	double *a = in, *b = inout;

	(void)type;
	for (int i = 0; i < *n; i++, a += ENTRIES, b += ENTRIES) {
		double product[ENTRIES] = {0};

		multiply_add(product, a, 0, b, 0);
		memcpy(b, product, sizeof product);
	}
}

static void multiply_adjoint(const void *a, const void *b, const void *result_bar, void *a_bar,
			     void *b_bar, int n, MPI_Datatype type, void *context)
{
	memset(a_bar, 0, (size_t)n * ENTRIES * sizeof(double));
	memset(b_bar, 0, (size_t)n * ENTRIES * sizeof(double));
	for (int i = 0; i < n; i++) {
		const double *up = (const double *)result_bar + ENTRIES * i;

		multiply_add((double *)a_bar + ENTRIES * i, up, 0, (const double *)b + ENTRIES * i,
			     1);
		multiply_add((double *)b_bar + ENTRIES * i, (const double *)a + ENTRIES * i, 1, up,
			     0);
	}
	*(MPI_Datatype *)context = type;
}

struct product {
	struct reduction call;
	MPI_Datatype matrix;
};

static int multiply_all(reel_tape *tape, double *s, bool reverse, void *context)
{
	const struct product *p = context;
	const struct reduction *r = &p->call;
	void *x = r->in_place ? MPI_IN_PLACE : (void *)s;
	double *y = s + MATRIX_HALF;
	int counts[4] = {1, 0, 2, 1}, root = 1;

	switch (r->call) {
	case REDUCE:
		return BOTH(reduce, r->in_place && rank != root ? (void *)s : x, y, 3, p->matrix,
			    r->op, root, WORLD);
	case ALLREDUCE:
		return BOTH(allreduce, x, y, 3, p->matrix, r->op, WORLD);
	case SCATTERED:
		return BOTH(reduce_scatter, x, y, counts, p->matrix, r->op, WORLD);
	case SCATTERED_BLOCKS:
		return BOTH(reduce_scatter_block, x, y, 1, p->matrix, r->op, WORLD);
	case SCAN:
		return BOTH(scan, x, y, 3, p->matrix, r->op, WORLD);
	default:
		return BOTH(exscan, x, y, 3, p->matrix, r->op, WORLD);
	}
}

static bool products_of_matrices(void)
{
	MPI_Datatype seen = MPI_DATATYPE_NULL;
	struct product p;
	bool passed = true;

	MPI_Type_contiguous(ENTRIES, D, &p.matrix);
	MPI_Type_commit(&p.matrix);
	MPI_Op_create(multiply, 0, &p.call.op);
	passed &= holds(!reel_mpi_op_set_adjoint(WORLD, p.call.op, multiply_adjoint, &seen));
	for (int i = 0; i < 2 * REDUCTIONS; i++) {
		double s[2 * MATRIX_HALF];

		p.call.call = i / 2;
		p.call.in_place = i % 2;
		set(s, 2 * MATRIX_HALF);
		if (is_defined(&p.call) &&
		    !transpose_holds(multiply_all, &p, 2 * MATRIX_HALF, s, 1)) {
			fprintf(stderr, "# reduction %d, in place %d\n", i / 2, i % 2);
			passed = false;
		}
	}
	passed &= holds(seen == (rank ? p.matrix : MPI_DATATYPE_NULL));
	passed &= holds(!reel_mpi_op_set_adjoint(WORLD, p.call.op, NULL, NULL));
	passed &= holds(multiply_all(NULL, (double[2 * MATRIX_HALF]){0}, false, &p));
	passed &= holds(strstr(reel_error_text(0), "reel_mpi_op_set_adjoint"));
	passed &= holds(reel_mpi_op_set_adjoint(WORLD, MPI_OP_NULL, NULL, NULL) == -EINVAL);
	MPI_Op_free(&p.call.op);
	MPI_Type_free(&p.matrix);
	return passed;
}

/* ---- Calls that begin and end ---- */

static bool blocks_are_moved_back_in_the_end(void)
{
	bool passed;

	begin_and_end = true;
	passed = blocks_are_moved_back();
	begin_and_end = false;
	return passed;
}

static bool reductions_that_end(void)
{
	bool passed = true;

	begin_and_end = true;
	passed &= reductions_are_transposed(MPI_SUM, 1);
	passed &= reductions_are_transposed(MPI_PROD, 1);
	passed &= reductions_are_transposed(MPI_MAX, 0.125);
	passed &= products_of_matrices();
	begin_and_end = false;
	return passed;
}

/* Each rank waits for two calls in another order, and by another call of MPI. */
static int wait_in_any_order(reel_tape *tape, struct reel_mpi_request *r)
{
	int index, error = 0;

	if (rank % 3 == 0)
		return reel_mpi_waitall(tape, 2, r, MPI_STATUSES_IGNORE);
	if (rank % 3 == 1)
		error = reel_mpi_wait(tape, &r[1], IGNORED);
	for (int i = 0; i < rank % 3 && !error; i++)
		error = reel_mpi_waitany(tape, 2, r, &index, IGNORED);
	return error;
}

static int wait_in_any_order_reverse(reel_tape *tape, struct reel_mpi_request *r)
{
	int index, error = 0;

	if (rank % 3 == 0)
		return reel_mpi_waitall_reverse(tape, 2, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < rank % 3 && !error; i++)
		error = reel_mpi_waitany_reverse(tape, 2, r, &index, IGNORED);
	return error || rank % 3 != 1 ? error : reel_mpi_wait_reverse(tape, &r[1], IGNORED);
}

static int two_calls(reel_tape *tape, double *s, bool reverse, void *context)
{
	struct reel_mpi_request r[2] = {{0}};
	double *x = s, *y = s + HALF;

	(void)context;
	if (reverse)
		return wait_in_any_order_reverse(tape, r) ||
		       reel_mpi_ibcast_reverse(tape, x + 8, 2, D, 1, WORLD, &r[1]) ||
		       reel_mpi_iallreduce_reverse(tape, x, y, 4, D, MPI_PROD, WORLD, &r[0]);
	return reel_mpi_iallreduce(tape, x, y, 4, D, MPI_PROD, WORLD, &r[0]) ||
	       reel_mpi_ibcast(tape, x + 8, 2, D, 1, WORLD, &r[1]) || wait_in_any_order(tape, r);
}

static bool ranks_wait_in_orders_of_their_own(void)
{
	double s[ALL];

	set(s, ALL);
	return transpose_holds(two_calls, NULL, ALL, s, 1);
}

static bool requests_of_collectives_are_null_in_reverse(void)
{
	struct reel_mpi_request r;
	double x = 1, x_bar = 2;
	bool passed = true;

	reel_mpi_send_init(&x, 1, D, rank, 0, WORLD, &r);
	passed &= holds(reel_mpi_ibcast_reverse(NULL, &x_bar, 1, D, 0, WORLD, &r) == -EINVAL);
	passed &= holds(strstr(reel_error_text(0), "in use"));
	passed &= holds(reel_mpi_iallreduce(NULL, &x, &x_bar, 1, D, MPI_REPLACE, WORLD, &r) ==
			-ENOTSUP);
	return passed & (holds(r.mode == REEL_MPI_NULL) && holds(x_bar == 2));
}

static bool lowest_rank_wins(void)
{
	struct pair {
		double value;
		int index;
	} x = {rank ? 3 : 5, 10 - rank}, y, x_bar = {0, 7}, y_bar = {2, 8};
	double a = 1, b, a_bar = 0, b_bar = 1;
	reel_tape tape = {0};
	bool passed = true;

	passed &= holds(!reel_mpi_allreduce(&tape, &a, &b, 1, D, MPI_MAX, WORLD));
	passed &= holds(!reel_mpi_allreduce(&tape, &x, &y, 1, MPI_DOUBLE_INT, MPI_MINLOC, WORLD));
	passed &= holds(y.value == 3 && y.index == 10 - (ranks - 1));
	passed &= holds(!reel_mpi_allreduce_reverse(&tape, &x_bar, &y_bar, 1, MPI_DOUBLE_INT,
						    MPI_MINLOC, WORLD));
	passed &= holds(x_bar.value == (rank == ranks - 1 ? 2 * ranks : 0) && x_bar.index == 7);
	passed &= holds(!reel_mpi_allreduce_reverse(&tape, &a_bar, &b_bar, 1, D, MPI_MAX, WORLD));
	passed &= holds(a_bar == (rank ? 0 : ranks) && b_bar == 0);
	reel_tape_close(&tape);
	return passed;
}

/* An Allreduce gives all ranks the objective, which is one number and not one for each rank. */
static bool objective_counts_once(void)
{
	double x = rank + 1, J, x_bar = 0, J_bar;
	reel_tape tape = {0};
	bool passed = true;

	passed &= holds(!reel_mpi_allreduce(&tape, &x, &J, 1, D, MPI_SUM, WORLD));
	passed &= holds(!reel_mpi_seed(&J_bar, REEL_MPI_ON_ONE_RANK, 1, WORLD));
	passed &= holds(!reel_mpi_allreduce_reverse(&tape, &x_bar, &J_bar, 1, D, MPI_SUM, WORLD));
	return passed & (holds(x_bar == 1) && holds(reel_tape_is_empty(&tape)));
}

/* Sums of numbers that depend on their order are equal in each run, with another rank late. */
static bool order_of_sums_is_fixed(void)
{
	double first = 0;
	bool passed = true;

	for (int run = 0; run < 5; run++) {
		double bar = rank == 1 ? 1e16 : rank == 3 ? -1e16 : 1.25;

		usleep((useconds_t)((rank + run) % ranks) * 2000);
		passed &= holds(!reel_mpi_bcast_reverse(NULL, &bar, 1, D, 0, WORLD));
		if (run == 0)
			first = bar;
		passed &= holds(bar == first);
	}
	return passed;
}

static void be_silent(const struct reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape, (void)error, (void)message, (void)context;
}

static bool unknown_operations_are_refused(void)
{
	double x = 1, y = 0;
	float _Complex z = 1, product;
	reel_tape tape = {0};
	bool passed = true;

	reel_set_error_handler(be_silent, NULL);
	passed &= holds(reel_mpi_allreduce(&tape, &x, &y, 1, D, MPI_REPLACE, WORLD) == -ENOTSUP);
	passed &= holds(strstr(reel_error_text(0), "reel_mpi_allreduce"));
	passed &= holds(reel_tape_error(&tape) == -ENOTSUP && y == 0);
	passed &= holds(reel_mpi_scan(NULL, &z, &product, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD,
				      WORLD) == -ENOTSUP);
	passed &= holds(!reel_mpi_scan(NULL, &z, &product, 1, MPI_C_FLOAT_COMPLEX, MPI_SUM, WORLD));
	passed &= holds(reel_mpi_gather(NULL, &x, 8, MPI_BYTE, &y, 8, MPI_BYTE, 0, WORLD) ==
			-ENOTSUP);
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	return passed;
}

/* Without the note of the winner each rank would pop that it has the minimum. */
static bool lost_winners_give_nan(void)
{
	double x = rank, y, x_bar = 0, y_bar = 1;
	reel_tape tape = {0};
	bool passed = true;

	reel_set_error_handler(be_silent, NULL);
	passed &= holds(!reel_mpi_allreduce(&tape, &x, &y, 1, D, MPI_MIN, WORLD));
	if (rank == 1)
		reel_tape_give_up(&tape, -ENOMEM, "no memory");
	passed &= holds(reel_mpi_allreduce_reverse(&tape, &x_bar, &y_bar, 1, D, MPI_MIN, WORLD) ==
			(rank == 1 ? -ENOMEM : 0));
	passed &= holds(rank == 1 ? isnan(x_bar) : x_bar == (rank ? 0 : ranks));
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	return passed;
}

/* Without the operand of one rank the other ranks would choose another minimum. */
static bool lost_operands_give_nan(void)
{
	double x = rank, y, x_bar = 0, y_bar = 1;
	struct reel_mpi_request r;
	reel_tape tape = {0};
	bool passed = true;

	reel_set_error_handler(be_silent, NULL);
	passed &= holds(!reel_mpi_iallreduce(&tape, &x, &y, 1, D, MPI_MIN, WORLD, &r));
	passed &= holds(!reel_mpi_wait(&tape, &r, IGNORED)) && holds(y == 0);
	passed &= holds(reel_tape_bytes(&tape) == sizeof x + (is_checked() ? 48 : 0));
	if (rank == 1)
		reel_tape_give_up(&tape, -ENOMEM, "no memory");
	passed &= holds(reel_mpi_iallreduce_reverse(&tape, &x_bar, &y_bar, 1, D, MPI_MIN, WORLD,
						    &r) == (rank == 1 ? -ENOMEM : -EBADMSG));
	passed &= holds(isnan(x_bar));
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	return passed;
}

static bool integers_are_reduced(void)
{
	int x = rank, y, x_bar = 7, y_bar = 8;
	reel_tape tape = {0};
	bool passed = holds(!reel_mpi_allreduce(&tape, &x, &y, 1, MPI_INT, MPI_BOR, WORLD));

	passed &= holds(
		!reel_mpi_allreduce_reverse(&tape, &x_bar, &y_bar, 1, MPI_INT, MPI_BOR, WORLD));
	return holds(x_bar == 7 && y_bar == 8) && holds(y == (ranks > 2 ? 3 : 1)) && passed;
}

/* Returns number i of a sequence whose sum depends on the order of the numbers. */
static double member(int i)
{
	return ldexp(1 + (double)scramble((uint64_t)i) * 0x1p-64, i % 2 ? 60 : i % 40) *
	       (i % 3 ? 1 : -1);
}

/* A rank has each number whose index modulo the number of ranks is the number of the rank. */
static bool sums_are_those_of_one_rank(void)
{
	double values[2], values_bar[2] = {member(rank), 0.1}, sums_bar[2] = {1, 2};
	reel_sum sums[2] = {{.nans = 0}}, all = {0}, bars[2] = {{.nans = 0}};
	reel_tape tape = {0};
	bool passed = true;

	for (int i = 0; i < 1000; i++) {
		reel_sum_add(&all, member(i));
		if (i % ranks == rank)
			reel_sum_add(&sums[0], member(i));
	}
	for (int i = 0; i < ranks; i++) {
		reel_sum_add(&bars[0], member(i));
		reel_sum_add(&bars[1], 0.1);
	}
	reel_sum_add(&sums[1], rank == 1 ? INFINITY : 1);
	passed &= holds(!reel_mpi_sum(&tape, sums, values, 2, WORLD));
	passed &= holds(values[0] == reel_sum_value(&all) && isinf(values[1]));
	passed &= holds(!reel_mpi_sum_reverse(&tape, sums_bar, values_bar, 2, WORLD));
	passed &= holds(sums_bar[0] == 1 + reel_sum_value(&bars[0]));
	passed &= holds(sums_bar[1] == 2 + reel_sum_value(&bars[1]));
	passed &= holds(values_bar[0] == 0 && values_bar[1] == 0);
	passed &= holds(reel_tape_is_empty(&tape));
	reel_tape_close(&tape);
	return passed;
}

static const struct rank_case cases[] = {
	{"blocks that calls move are moved back", blocks_are_moved_back},
	{"sums are transposed", sums},
	{"products are transposed, with a factor that is 0", products},
	{"minima are transposed", minima},
	{"maxima are transposed", maxima},
	{"products of matrices are transposed by the program's adjoint", products_of_matrices},
	{"blocks that I-forms move are moved back", blocks_are_moved_back_in_the_end},
	{"reductions by I-forms are transposed", reductions_that_end},
	{"ranks may wait for collective calls in different orders",
	 ranks_wait_in_orders_of_their_own},
	{"the request of a collective call is null in reverse",
	 requests_of_collectives_are_null_in_reverse},
	{"a lost operand gives NaN on all ranks", lost_operands_give_nan},
	{"of several ranks the lowest has the minimum, and MINLOC compares indices",
	 lowest_rank_wins},
	{"an objective that all ranks have counts once", objective_counts_once},
	{"the order of sums is fixed", order_of_sums_is_fixed},
	{"exact sums are those of one rank", sums_are_those_of_one_rank},
	{"operations without a known adjoint are refused", unknown_operations_are_refused},
	{"a lost note of a minimum gives NaN on its rank", lost_winners_give_nan},
	{"integers are reduced, and have no adjoint", integers_are_reduced},
};

int main(int argc, char **argv)
{
	return run_on_ranks(argc, argv, cases, COUNT(cases));
}
