/* SPDX-License-Identifier: MIT */
/*
 * Tests messages and requests. Values are small integers, so that products are exact. In a linear
 * program the sum over all ranks of y_bar . y then is equal to the sum of x_bar . x.
 */
#include "config.h"

#include "helpers/ranks.h"

#include <math.h>

#define WORLD MPI_COMM_WORLD

enum { N = 5 };

static uint64_t state;

/* Returns an integer from -4 to 4, a different one on each rank. */
static double draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u + (uint64_t)rank;
	return (double)(int)(state >> 33 & 7) - 3.0;
}

static void draw_all(double *x, int n)
{
	for (int i = 0; i < n; i++)
		x[i] = draw();
}

static double dot(const double *x, const double *y, int n)
{
	double sum = 0, all;

	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, WORLD);
	return all;
}

static int left(void)
{
	return (rank + ranks - 1) % ranks;
}

static int right(void)
{
	return (rank + 1) % ranks;
}

static bool attach_twice(void)
{
	double x = 1;
	bool passed = holds(reel_mpi_send(NULL, &x, 1, MPI_DOUBLE, rank, 0, WORLD) == -EINVAL);

	passed &= holds(strstr(reel_error_text(0), "reel_mpi_attach"));
	passed &= holds(reel_mpi_attach(WORLD, 1u << 31) == -EINVAL);
	passed &= holds(!reel_mpi_attach(WORLD, 0)) && holds(!reel_mpi_attach(WORLD, 0));
	return passed & holds(reel_mpi_attach(MPI_COMM_NULL, 0) == -EINVAL);
}

/* ---- Calls that wait ---- */

/*
 * Even ranks send first, and odd ranks receive first. In a ring with an odd number of ranks the
 * last one receives first.
 */
static int ring(reel_tape *tape, int mode, double *x, double *y)
{
	int error = 0;

	for (int turn = 0; turn < 2; turn++)
		if (turn == rank % 2)
			switch (mode) {
			case 0:
				error |= reel_mpi_send(tape, x, N, MPI_DOUBLE, right(), 1, WORLD);
				break;
			case 1:
				error |= reel_mpi_ssend(tape, x, N, MPI_DOUBLE, right(), 1, WORLD);
				break;
			default:
				error |= reel_mpi_bsend(tape, x, N, MPI_DOUBLE, right(), 1, WORLD);
			}
		else
			error |= reel_mpi_recv(tape, y, N, MPI_DOUBLE, left(), 1, WORLD,
					       MPI_STATUS_IGNORE);
	return error;
}

static int ring_reverse(reel_tape *tape, double *x_bar, double *y_bar)
{
	int error = 0;

	for (int turn = 2; turn-- > 0;)
		if (turn == rank % 2)
			error |= reel_mpi_send_reverse(tape, x_bar, N, MPI_DOUBLE, right(), 1,
						       WORLD);
		else
			error |= reel_mpi_recv_reverse(tape, y_bar, N, MPI_DOUBLE, left(), 1, WORLD,
						       MPI_STATUS_IGNORE);
	return error | reel_mpi_reverse_end(WORLD);
}

static bool send_in_each_mode(void)
{
	static char space[1000 + MPI_BSEND_OVERHEAD];
	bool passed = true;
	int bytes;
	void *detached;

	MPI_Buffer_attach(space, sizeof space);
	for (int mode = 0; mode < 3; mode++) {
		double x[N], y[N], x_bar[N], y_bar[N], seed[N], zero[N] = {0};
		reel_tape tape = {0};

		draw_all(x, N), draw_all(x_bar, N), draw_all(y_bar, N);
		memcpy(seed, y_bar, sizeof seed);
		for (int i = 0; i < N; i++)
			x_bar[i] = 0;
		/* With synchronous sends a ring with an odd number of ranks would hang. */
		if (mode == 1 && ranks % 2)
			continue;
		passed &= holds(!ring(&tape, mode, x, y));
		passed &= holds(is_checked() || reel_tape_is_empty(&tape));
		passed &= holds(!ring_reverse(&tape, x_bar, y_bar));
		passed &= holds(dot(seed, y, N) == dot(x_bar, x, N));
		passed &= holds(!memcmp(y_bar, zero, sizeof zero));
		reel_tape_close(&tape);
	}
	MPI_Buffer_detach(&detached, &bytes);
	return passed;
}

static bool sendrecv_to_nobody(void)
{
	int next = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
	int last = rank ? rank - 1 : MPI_PROC_NULL;
	double x[N], y[N] = {0}, x_bar[N] = {0}, y_bar[N], seed[N];
	reel_tape tape = {0};
	MPI_Status status;
	bool passed = true;

	draw_all(x, N), draw_all(y_bar, N);
	memcpy(seed, y_bar, sizeof seed);
	passed &= holds(!reel_mpi_sendrecv(&tape, x, N, MPI_DOUBLE, next, 3, y, N, MPI_DOUBLE, last,
					   3, WORLD, &status));
	passed &= holds(status.MPI_SOURCE == last);
	passed &= holds(is_checked() || reel_tape_bytes(&tape) == (rank ? 16 : 0));
	memset(&status, 0, sizeof status);
	passed &= holds(!reel_mpi_sendrecv_reverse(&tape, x_bar, N, MPI_DOUBLE, next, 3, y_bar, N,
						   MPI_DOUBLE, last, 3, WORLD, &status));
	passed &= holds(status.MPI_SOURCE == last);
	passed &= holds(!reel_mpi_reverse_end(WORLD));
	passed &= holds(dot(seed, y, N) == dot(x_bar, x, N));
	/* No rank sends to the first rank, so its adjoints stay. */
	if (!rank)
		passed &= holds(!memcmp(seed, y_bar, sizeof seed));
	reel_tape_close(&tape);
	return passed;
}

/* Rank 0 receives messages in any order. Each one has another tag and length. */
static bool receive_from_anybody(void)
{
	double x[N], y[4][N] = {{0}}, x_bar[N] = {0}, y_bar[4][N], seed[4][N];
	reel_tape tape = {0};
	MPI_Status status;
	bool passed = true;

	draw_all(x, N), draw_all(y_bar[0], 4 * N);
	memcpy(seed, y_bar, sizeof seed);
	if (rank) {
		passed &=
			holds(!reel_mpi_send(&tape, x, 1 + rank, MPI_DOUBLE, 0, 10 + rank, WORLD));
		passed &= holds(!reel_mpi_send_reverse(&tape, x_bar, 1 + rank, MPI_DOUBLE, 0,
						       10 + rank, WORLD));
		memset(seed, 0, sizeof seed);
	} else {
		int from[4];

		for (int i = 1; i < ranks; i++) {
			passed &= holds(!reel_mpi_recv(&tape, y[i], N, MPI_DOUBLE, MPI_ANY_SOURCE,
						       MPI_ANY_TAG, WORLD, &status));
			from[i] = status.MPI_SOURCE;
		}
		passed &= holds(is_checked() ||
				reel_tape_bytes(&tape) == 16 * (uint64_t)(ranks - 1));
		for (int i = ranks; i-- > 1;) {
			int count;

			passed &= holds(!reel_mpi_recv_reverse(&tape, y_bar[i], N, MPI_DOUBLE,
							       MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD,
							       &status));
			MPI_Get_count(&status, MPI_DOUBLE, &count);
			passed &= holds(status.MPI_SOURCE == from[i]);
			passed &= holds(status.MPI_TAG == 10 + from[i]);
			passed &= holds(count == 1 + from[i]);
			/* Numbers that the message did not write keep their adjoints. */
			for (int k = 0; k < N; k++)
				passed &= holds(y_bar[i][k] == (k < count ? 0 : seed[i][k]));
		}
	}
	passed &= holds(!reel_mpi_reverse_end(WORLD));
	passed &= holds(dot(seed[0], y[0], 4 * N) == dot(x_bar, x, N));
	reel_tape_close(&tape);
	return passed;
}

/* ---- Requests ---- */

/*
 * Computes steps u = u + left ghost * right ghost and their adjoint, and compares the gradient with
 * one rank.
 */
static bool exchange_in_a_loop(void)
{
	enum { STEPS = 6 };
	double u = 1 + rank, ghost[2], edge, u_bar = 1, ghost_bar[2] = {0}, edge_bar = 0;
	double all[STEPS + 1][4], all_bar[4] = {1, 1, 1, 1};
	struct reel_mpi_request r[4] = {{0}};
	reel_tape tape = {0};
	bool passed = true;

	for (int step = 0; step < STEPS; step++) {
		edge = u;
		reel_mpi_irecv(&tape, &ghost[0], 1, MPI_DOUBLE, left(), 0, WORLD, &r[0]);
		reel_mpi_irecv(&tape, &ghost[1], 1, MPI_DOUBLE, right(), 1, WORLD, &r[1]);
		reel_mpi_isend(&tape, &edge, 1, MPI_DOUBLE, left(), 1, WORLD, &r[2]);
		reel_mpi_issend(&tape, &edge, 1, MPI_DOUBLE, right(), 0, WORLD, &r[3]);
		passed &= holds(!reel_mpi_waitall(&tape, 4, r, MPI_STATUSES_IGNORE));
		reel_push(&tape, ghost[0]);
		reel_push(&tape, ghost[1]);
		u = u + ghost[0] * ghost[1] / 64;
	}
	passed &= holds(is_checked() || reel_tape_bytes(&tape) == 16 * STEPS);
	reel_mpi_recv_init(&ghost_bar[0], 1, MPI_DOUBLE, left(), 0, WORLD, &r[0]);
	reel_mpi_recv_init(&ghost_bar[1], 1, MPI_DOUBLE, right(), 1, WORLD, &r[1]);
	reel_mpi_send_init(&edge_bar, 1, MPI_DOUBLE, left(), 1, WORLD, &r[2]);
	reel_mpi_ssend_init(&edge_bar, 1, MPI_DOUBLE, right(), 0, WORLD, &r[3]);
	for (int step = STEPS; step-- > 0;) {
		ghost[1] = reel_pop(&tape, double);
		ghost[0] = reel_pop(&tape, double);
		ghost_bar[0] += u_bar * ghost[1] / 64;
		ghost_bar[1] += u_bar * ghost[0] / 64;
		passed &= holds(!reel_mpi_waitall_reverse(&tape, 4, r, MPI_STATUSES_IGNORE));
		for (int i = 4; i-- > 0;)
			passed &= holds(!reel_mpi_start_reverse(&tape, &r[i]));
		u_bar += edge_bar;
		edge_bar = 0;
	}
	passed &= holds(!reel_mpi_reverse_end(WORLD));
	reel_tape_close(&tape);

	for (int i = 0; i < ranks; i++)
		all[0][i] = 1 + i;
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < ranks; i++)
			all[step + 1][i] = all[step][i] + all[step][(i + ranks - 1) % ranks] *
								  all[step][(i + 1) % ranks] / 64;
	for (int step = STEPS; step-- > 0;) {
		double before[4], to_left[4], to_right[4];

		memcpy(before, all_bar, sizeof before);
		for (int i = 0; i < ranks; i++) {
			to_left[i] = before[i] * all[step][(i + 1) % ranks] / 64;
			to_right[i] = before[i] * all[step][(i + ranks - 1) % ranks] / 64;
		}
		/*
		 * Ranks add the adjoint of their right neighbour's ghost first, and then the
		 * adjoint of their left neighbour's ghost.
		 */
		for (int i = 0; i < ranks; i++)
			all_bar[i] += to_left[(i + 1) % ranks] + to_right[(i + ranks - 1) % ranks];
	}
	return passed & holds(u == all[STEPS][rank]) && holds(u_bar == all_bar[rank]);
}

/* Each rank sends two messages to each other rank, which receives them in any order. */
static bool choose(int how)
{
	double x[8], y[8], x_bar[8] = {0}, y_bar[8] = {0}, seed[8];
	struct reel_mpi_request in[8] = {{0}}, out[8] = {{0}};
	int n = 2 * ranks, calls = 0, index, indices[8], done, left_over = n, order[8], taken = 0;
	reel_tape tape = {0};
	MPI_Status status, statuses[8];
	bool passed = true;

	draw_all(x, n), draw_all(y_bar, n);
	memcpy(seed, y_bar, sizeof seed);
	/* The last receive begins first. Half of the receives accept messages from any rank. */
	for (int i = n; i-- > 0;) {
		int source = how == 3 || i % 4 < 2 ? i / 2 : MPI_ANY_SOURCE;

		passed &= holds(!reel_mpi_irecv(&tape, &y[i], 1, MPI_DOUBLE, source, 50 + i / 2 % 2,
						WORLD, &in[i]));
	}
	for (int i = 0; i < n; i++)
		passed &= holds(!reel_mpi_isend(&tape, &x[i], 1, MPI_DOUBLE, i / 2, 50 + rank % 2,
						WORLD, &out[i]));
	passed &= holds(!reel_mpi_waitall(&tape, n, out, MPI_STATUSES_IGNORE));
	while (left_over > 0) {
		if (how == 1) {
			passed &= holds(!reel_mpi_waitany(&tape, n, in, &index, &status));
			order[taken++] = index;
			left_over--;
		} else if (how == 2) {
			passed &= holds(!reel_mpi_waitsome(&tape, n, in, &done, indices, statuses));
			for (int k = 0; k < done; k++)
				order[taken++] = indices[k];
			left_over -= done;
		} else {
			int flag, i = calls % n;

			if (in[i].mode != REEL_MPI_NULL) {
				passed &= holds(!reel_mpi_test(&tape, &in[i], &flag,
							       MPI_STATUS_IGNORE));
				if (flag)
					order[taken++] = i, left_over--;
			} else {
				reel_push_bit(&tape, false);
			}
		}
		calls++;
		if (!passed)
			return false;
	}
	if (how == 1) {
		passed &= holds(!reel_mpi_waitany(&tape, n, in, &index, &status));
		passed &= holds(index == MPI_UNDEFINED);
		passed &= holds(!reel_mpi_waitany_reverse(&tape, n, in, &index, &status));
		passed &= holds(index == MPI_UNDEFINED);
	}

	for (int i = 0; i < n; i++)
		reel_mpi_recv_init(&y_bar[i], 1, MPI_DOUBLE,
				   how == 3 || i % 4 < 2 ? i / 2 : MPI_ANY_SOURCE, 50 + i / 2 % 2,
				   WORLD, &in[i]);
	for (int i = 0; i < n; i++)
		reel_mpi_send_init(&x_bar[i], 1, MPI_DOUBLE, i / 2, 50 + rank % 2, WORLD, &out[i]);
	while (calls-- > 0) {
		if (how == 1) {
			passed &= holds(!reel_mpi_waitany_reverse(&tape, n, in, &index, &status));
			passed &= holds(index == order[--taken]);
		} else if (how == 2) {
			passed &= holds(!reel_mpi_waitsome_reverse(&tape, n, in, &done, indices,
								   statuses));
			for (int k = done; k-- > 0;)
				passed &= holds(indices[k] == order[--taken]);
		} else {
			int flag, i = calls % n;

			passed &= holds(!reel_mpi_test_reverse(&tape, &in[i], &flag,
							       MPI_STATUS_IGNORE));
			if (flag)
				passed &= holds(order[--taken] == i);
		}
	}
	passed &= holds(!reel_mpi_waitall_reverse(&tape, n, out, MPI_STATUSES_IGNORE));
	for (int i = n; i-- > 0;)
		passed &= holds(!reel_mpi_start_reverse(&tape, &out[i]));
	for (int i = 0; i < n; i++)
		passed &= holds(!reel_mpi_start_reverse(&tape, &in[i]));
	passed &= holds(!reel_mpi_reverse_end(WORLD));
	passed &= holds(dot(seed, y, n) == dot(x_bar, x, n));
	passed &= holds(reel_tape_is_empty(&tape));
	reel_tape_close(&tape);
	return passed;
}

static bool wait_for_any(void)
{
	return choose(1);
}

static bool wait_for_some(void)
{
	return choose(2);
}

static bool test_until_done(void)
{
	return choose(3);
}

/*
 * A receive from MPI_PROC_NULL, or of no element, is complete at once. The receives from any source
 * before and after it complete only after the rank has sent to itself.
 */
static bool empty_receives_do_not_wait(void)
{
	double x[2] = {3, 4}, y[2] = {0};
	struct reel_mpi_request in[4] = {{0}};
	reel_tape tape = {0};
	bool passed = true;
	int index, order = 0;

	passed &= holds(!reel_mpi_irecv(&tape, y, 0, MPI_DOUBLE, rank, 0, WORLD, &in[0]));
	for (int i = 1; i < 4; i++)
		passed &= holds(!reel_mpi_irecv(&tape, &y[i / 2], 1, MPI_DOUBLE,
						i == 2 ? MPI_PROC_NULL : MPI_ANY_SOURCE,
						MPI_ANY_TAG, WORLD, &in[i]));
	passed &= holds(!reel_mpi_send(&tape, x, 0, MPI_DOUBLE, rank, 0, WORLD));
	for (int i = 0; i < 2; i++) {
		passed &= holds(!reel_mpi_waitany(&tape, 4, in, &index, MPI_STATUS_IGNORE));
		order += index;
	}
	passed &= holds(order == 2);
	for (int i = 0; i < 2; i++)
		passed &= holds(!reel_mpi_send(&tape, &x[i], 1, MPI_DOUBLE, rank, 0, WORLD));
	for (int i = 0; i < 2; i++) {
		passed &= holds(!reel_mpi_waitany(&tape, 4, in, &index, MPI_STATUS_IGNORE));
		passed &= holds(index == (i ? 3 : 1));
	}
	reel_tape_close(&tape);
	return passed & holds(y[0] == 3 && y[1] == 4);
}

/* ---- Types ---- */

struct mixed {
	int number;
	double value;
	float small[2];
};

static MPI_Datatype make_mixed(void)
{
	int lengths[] = {1, 1, 2};
	MPI_Aint offsets[] = {offsetof(struct mixed, number), offsetof(struct mixed, value),
			      offsetof(struct mixed, small)};
	MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT}, tight, type;

	MPI_Type_create_struct(3, lengths, offsets, parts, &tight);
	MPI_Type_create_resized(tight, 0, sizeof(struct mixed), &type);
	MPI_Type_free(&tight);
	MPI_Type_commit(&type);
	return type;
}

static bool structs_are_added_by_members(void)
{
	struct mixed x[3], y[3], x_bar[3], y_bar[3];
	MPI_Datatype type = make_mixed();
	reel_tape tape = {0};
	bool passed = true;

	for (int i = 0; i < 3; i++) {
		x[i] = (struct mixed){i, rank, {(float)i, -(float)i}};
		x_bar[i] = (struct mixed){100 + i, 0.5, {1, 2}};
		y_bar[i] = (struct mixed){200 + i, rank + i, {(float)rank, (float)i}};
	}
	passed &= holds(!reel_mpi_sendrecv(&tape, x, 3, type, right(), 0, y, 3, type, left(), 0,
					   WORLD, MPI_STATUS_IGNORE));
	passed &= holds(!reel_mpi_sendrecv_reverse(&tape, x_bar, 3, type, right(), 0, y_bar, 3,
						   type, left(), 0, WORLD, MPI_STATUS_IGNORE));
	passed &= holds(!reel_mpi_reverse_end(WORLD));
	for (int i = 0; i < 3; i++) {
		passed &= holds(y[i].value == left() && y[i].number == i);
		passed &= holds(x_bar[i].number == 100 + i && y_bar[i].number == 200 + i);
		passed &= holds(x_bar[i].value == 0.5 + right() + i && y_bar[i].value == 0);
		passed &= holds(x_bar[i].small[0] == (float)(1 + right()));
		passed &= holds(x_bar[i].small[1] == (float)(2 + i) && y_bar[i].small[1] == 0);
	}
	MPI_Type_free(&type);
	return passed;
}

/* Derived types select elements of an array of 4 by 6 doubles. */
static bool each_type_selects_what_it_sends(void)
{
	int lengths[] = {2, 1, 3}, places[] = {1, 5, 9}, sizes[] = {4, 6}, widths[] = {2, 3},
	    starts[] = {1, 2};
	MPI_Aint bytes[] = {8, 40, 72};
	MPI_Datatype type[10];
	int types = 0;
	bool passed = true;

	MPI_Type_contiguous(7, MPI_DOUBLE, &type[types++]);
	MPI_Type_vector(4, 2, 6, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_hvector(3, 1, 56, MPI_DOUBLE, &type[types++]);
	MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_hindexed(3, lengths, bytes, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_indexed_block(3, 2, places, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_hindexed_block(3, 2, bytes, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_subarray(2, sizes, widths, starts, MPI_ORDER_C, MPI_DOUBLE, &type[types++]);
	MPI_Type_create_subarray(2, sizes, widths, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE,
				 &type[types++]);
	MPI_Type_dup(type[3], &type[types++]);
	for (int t = 0; t < types; t++) {
		double x[24], y[24] = {0}, x_bar[24], y_bar[24];
		int size;

		MPI_Type_commit(&type[t]);
		MPI_Type_size(type[t], &size);
		for (int i = 0; i < 24; i++)
			x[i] = x_bar[i] = 0, y_bar[i] = 1 + i;
		/* The selected elements are received as y, and only they have adjoints. */
		for (int i = 0; i < 24; i++)
			x[i] = 1 + i;
		passed &= holds(!reel_mpi_sendrecv(NULL, x, 1, type[t], right(), 0, y, 1, type[t],
						   left(), 0, WORLD, MPI_STATUS_IGNORE));
		passed &= holds(!reel_mpi_sendrecv_reverse(NULL, x_bar, 1, type[t], right(), 0,
							   y_bar, 1, type[t], left(), 0, WORLD,
							   MPI_STATUS_IGNORE));
		for (int i = 0; i < 24; i++) {
			passed &= holds(x_bar[i] == y[i]);
			passed &= holds(y_bar[i] == (y[i] == 0 ? 1 + i : 0));
			size -= y[i] != 0 ? 8 : 0;
		}
		passed &= holds(size == 0);
		MPI_Type_free(&type[t]);
	}
	return passed & holds(!reel_mpi_reverse_end(WORLD));
}

static bool statuses_count_elements_of_derived_types(void)
{
	double x[4] = {1, 2, 3, 4}, y[4], x_bar[4] = {0}, y_bar[4] = {5, 6, 7, 8};
	MPI_Datatype type;
	reel_tape tape = {0};
	MPI_Status status;
	bool passed = true;
	int count;

	MPI_Type_contiguous(2, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	passed &= holds(!reel_mpi_sendrecv(&tape, x, 2, type, right(), 0, y, 2, type, left(), 0,
					   WORLD, &status));
	MPI_Get_count(&status, type, &count);
	passed &= holds(count == 2);
	passed &= holds(!reel_mpi_sendrecv_reverse(&tape, x_bar, 2, type, right(), 0, y_bar, 2,
						   type, left(), 0, WORLD, &status));
	MPI_Get_count(&status, type, &count);
	passed &= holds(count == 2);
	MPI_Get_elements(&status, type, &count);
	passed &= holds(count == 4);
	MPI_Type_free(&type);
	reel_tape_close(&tape);
	return passed & holds(!reel_mpi_reverse_end(WORLD));
}

static bool integers_have_no_adjoint(void)
{
	int x = rank, y = -1, x_bar = 7, y_bar = 8;
	reel_tape tape = {0};
	bool passed = holds(!reel_mpi_sendrecv(&tape, &x, 1, MPI_INT, right(), 0, &y, 1, MPI_INT,
					       left(), 0, WORLD, MPI_STATUS_IGNORE));

	passed &= holds(y == left());
	passed &= holds(!reel_mpi_sendrecv_reverse(&tape, &x_bar, 1, MPI_INT, right(), 0, &y_bar, 1,
						   MPI_INT, left(), 0, WORLD, MPI_STATUS_IGNORE));
	return passed & holds(x_bar == 7 && y_bar == 8);
}

/* ---- Communicators and objective ---- */

static bool other_communicators(void)
{
	double x = 2 + rank, y, x_bar = 0, y_bar = 3;
	reel_tape tape = {0};
	MPI_Comm half;
	int number, next;
	bool passed = true;

	MPI_Comm_split(WORLD, rank % 2, -rank, &half);
	MPI_Comm_rank(half, &number);
	MPI_Comm_size(half, &next);
	next = (number + 1) % next;
	passed &= holds(reel_mpi_send(NULL, &x, 1, MPI_DOUBLE, number, 0, half) == -EINVAL);
	passed &= holds(!reel_mpi_attach(half, 0));
	if (number == 0) {
		struct reel_mpi_request r;

		reel_mpi_isend(&tape, &x, 1, MPI_DOUBLE, 0, 9, half, &r);
		reel_mpi_recv(&tape, &y, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, half, MPI_STATUS_IGNORE);
		reel_mpi_wait(&tape, &r, MPI_STATUS_IGNORE);
		passed &= holds(y == x);
		reel_mpi_send_init(&x_bar, 1, MPI_DOUBLE, 0, 9, half, &r);
		reel_mpi_wait_reverse(&tape, &r, MPI_STATUS_IGNORE);
		passed &= holds(reel_mpi_reverse_end(half) == -EBUSY);
		reel_mpi_recv_reverse(&tape, &y_bar, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, half,
				      MPI_STATUS_IGNORE);
		reel_mpi_start_reverse(&tape, &r);
		passed &= holds(x_bar == 3 && y_bar == 0);
		passed &= holds(!reel_mpi_reverse_end(half));
	}
	MPI_Comm_free(&half);
	return passed & holds(half == MPI_COMM_NULL);
}

static bool objective_is_agreed_on(void)
{
	double J_bar = -1;
	bool passed = holds(!reel_mpi_seed(&J_bar, REEL_MPI_ON_ONE_RANK, 1, WORLD));

	passed &= holds(J_bar == (rank == 1));
	passed &=
		holds(!reel_mpi_seed(&J_bar, REEL_MPI_SUM_OF_RANKS, 0, WORLD)) && holds(J_bar == 1);
	passed &= holds(reel_mpi_seed(&J_bar, REEL_MPI_ON_ONE_RANK, rank, WORLD) == -EINVAL);
	passed &= holds(reel_mpi_seed(&J_bar, REEL_MPI_ON_ONE_RANK, ranks, WORLD) == -EINVAL);
	return passed &
	       holds(reel_mpi_seed(&J_bar, rank ? REEL_MPI_ON_ONE_RANK : REEL_MPI_SUM_OF_RANKS, 0,
				   WORLD) == -EINVAL);
}

/* ---- Calls that are refused ---- */

static int errors_reported;

static void count_errors(const struct reel_tape *tape, int error, const char *message,
			 void *context)
{
	(void)tape, (void)error, (void)message, (void)context;
	errors_reported++;
}

static bool bytes_are_refused(void)
{
	reel_tape tape = {0};
	double x = 1;
	bool passed = true;

	reel_set_error_handler(count_errors, NULL);
	passed &= holds(reel_mpi_send(&tape, &x, 8, MPI_BYTE, rank, 0, WORLD) == -ENOTSUP);
	passed &= holds(strstr(reel_error_text(0), "MPI_BYTE"));
	passed &= holds(reel_tape_error(&tape) == -ENOTSUP && errors_reported == 1);
	passed &= holds(isnan(reel_pop(&tape, double)));
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	return passed;
}

static bool wrong_order_is_refused(void)
{
	double x[2] = {1, 2}, y[2];
	struct reel_mpi_request in[2] = {{0}}, out[2] = {{0}};
	bool passed = true;

	for (int i = 0; i < 2; i++) {
		reel_mpi_irecv(NULL, &y[i], 1, MPI_DOUBLE, left(), 0, WORLD, &in[i]);
		reel_mpi_isend(NULL, &x[i], 1, MPI_DOUBLE, right(), 0, WORLD, &out[i]);
	}
	passed &= holds(reel_mpi_send(NULL, x, 1, MPI_DOUBLE, right(), 0, WORLD) == -ENOTSUP);
	passed &= holds(strstr(reel_error_text(0), "t-mpi-messages.c"));
	passed &= holds(reel_mpi_wait(NULL, &in[1], MPI_STATUS_IGNORE) == -ENOTSUP);
	passed &= holds(!reel_mpi_wait(NULL, &in[0], MPI_STATUS_IGNORE));
	passed &= holds(!reel_mpi_waitall(NULL, 2, out, MPI_STATUSES_IGNORE));
	return passed & holds(y[0] == 1 && y[1] == 2);
}

static bool short_message_needs_a_status(void)
{
	double x[2] = {1, 2}, y[2] = {0};
	bool passed = holds(reel_mpi_sendrecv(NULL, x, 1, MPI_DOUBLE, right(), 0, y, 2, MPI_DOUBLE,
					      left(), 0, WORLD, MPI_STATUS_IGNORE) == -EMSGSIZE);

	return passed & holds(strstr(reel_error_text(0), "1 of 2 elements"));
}

static bool lost_note_gives_nan(void)
{
	double x = 1, y, y_bar = 3;
	reel_tape tape = {0};
	struct reel_mpi_request r;
	bool passed = true;

	reel_set_error_handler(count_errors, NULL);
	reel_mpi_isend(NULL, &x, 1, MPI_DOUBLE, rank, 0, WORLD, &r);
	reel_tape_give_up(&tape, -ENOMEM, "no memory");
	passed &= holds(reel_mpi_recv(&tape, &y, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, WORLD,
				      MPI_STATUS_IGNORE) == -ENOMEM);
	reel_mpi_wait(NULL, &r, MPI_STATUS_IGNORE);
	passed &= holds(y == 1);
	passed &= holds(reel_mpi_recv_reverse(&tape, &y_bar, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0,
					      WORLD, MPI_STATUS_IGNORE) == -ENOMEM);
	passed &= holds(isnan(y_bar));
	reel_tape_close(&tape);
	reel_set_error_handler(NULL, NULL);
	return passed;
}

static bool detach_at_the_end(void)
{
	bool passed = holds(!reel_mpi_reverse_end(WORLD));

	/* Two of the cases record calls that they do not reverse, which checked mode reports. */
	reel_set_error_handler(count_errors, NULL);
	passed &= holds(reel_mpi_detach(WORLD) == (is_checked() ? -EBADMSG : 0));
	reel_set_error_handler(NULL, NULL);
	return passed & holds(reel_mpi_detach(WORLD) == -EINVAL);
}

static const struct rank_case cases[] = {
	{"a communicator is attached before it is used", attach_twice},
	{"sends of each mode give their adjoints back, and note nothing", send_in_each_mode},
	{"MPI_PROC_NULL sends nothing, and a status costs 16 bytes", sendrecv_to_nobody},
	{"wildcards return the adjoint to where the message came from", receive_from_anybody},
	{"an exchange in a loop has the bits of one rank", exchange_in_a_loop},
	{"Waitany: the requests that were chosen are reversed", wait_for_any},
	{"Waitsome: the requests that were chosen are reversed", wait_for_some},
	{"Test: the requests that were complete are reversed", test_until_done},
	{"Waitany takes an empty receive before those that are not complete",
	 empty_receives_do_not_wait},
	{"structs are added by members, and integers left alone", structs_are_added_by_members},
	{"each type selects what it sends", each_type_selects_what_it_sends},
	{"statuses count the elements of derived types", statuses_count_elements_of_derived_types},
	{"integers have no adjoint", integers_have_no_adjoint},
	{"communicators are attached one by one, and freed", other_communicators},
	{"all ranks have to agree on the objective", objective_is_agreed_on},
	{"bytes are refused, and the error sticks", bytes_are_refused},
	{"a wait out of order is refused", wrong_order_is_refused},
	{"a short message without a status is refused", short_message_needs_a_status},
	{"a lost note gives NaN", lost_note_gives_nan},
	{"no message or request is left", detach_at_the_end},
};

int main(int argc, char **argv)
{
	return run_on_ranks(argc, argv, cases, COUNT(cases));
}
