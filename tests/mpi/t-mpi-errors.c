/* SPDX-License-Identifier: MIT */
/* Tests wrong programs: each call fails on the rank that is wrong, and no rank waits for ever. */
#include "config.h"

#include "helpers/ranks.h"
#include "helpers/store-fault.h"

#include <errno.h>
#include <math.h>

#define WORLD MPI_COMM_WORLD
#define D MPI_DOUBLE

enum { N = 4, TAG = 3 };

static MPI_Comm comm; /* returns errors, so that the library can */

static void be_silent(const struct reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape, (void)error, (void)message, (void)context;
}

static bool prepare(void)
{
	reel_set_error_handler(be_silent, NULL);
	MPI_Comm_dup(WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	/* If a wait fails, MPICH calls this error handler, for any communicator. */
	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
	return holds(!reel_mpi_attach(comm, 0)) && holds(!reel_mpi_attach(WORLD, 0));
}

/* Returns true if a call returned this error, and its text has both words. */
static bool is_error_at(int line, int error, int expected, const char *one, const char *other)
{
	if (error == expected && (!expected || (strstr(reel_error_text(0), one) &&
						strstr(reel_error_text(0), other))))
		return true;
	fprintf(stderr, "# it is %d, not %d\n", error, expected);
	return complain_at(line, "the error of a call");
}

#define is_error(...) is_error_at(__LINE__, __VA_ARGS__)

static bool all_nan(const double *x, int n)
{
	for (int i = 0; i < n; i++)
		if (!isnan(x[i]))
			return false;
	return true;
}

/* ---- Messages that do not fit ---- */

/* Rank 0 sends N numbers, and rank 1 has room for two. */
static bool truncated_receive(void)
{
	double x[N] = {1, 2, 3, 4}, x_bar[N] = {0}, y[2], y_bar[2] = {5, 6};
	reel_tape tape = {0};
	bool passed = true;

	if (rank == 0) {
		passed &= holds(!reel_mpi_send(&tape, x, N, D, 1, TAG, comm));
		passed &= is_error(reel_mpi_send_reverse(&tape, x_bar, N, D, 1, TAG, comm),
				   -EBADMSG, "2 elements", "4 were sent; its receive had no room");
		passed &= holds(all_nan(x_bar, N)) & holds(reel_tape_error(&tape) == -EBADMSG);
	} else if (rank == 1) {
		passed &= is_error(reel_mpi_recv(&tape, y, 2, D, 0, TAG, comm, MPI_STATUS_IGNORE),
				   -EMSGSIZE, "reel_mpi_recv", "runcat");
		passed &= holds(reel_tape_error(&tape) == -EMSGSIZE);
		passed &= is_error(reel_mpi_recv_reverse(&tape, y_bar, 2, D, 0, TAG, comm,
							 MPI_STATUS_IGNORE),
				   -EMSGSIZE, "reel_mpi_recv_reverse", "had no room");
		passed &= holds(all_nan(y_bar, 2));
	}
	reel_tape_close(&tape);
	return passed & holds(!reel_mpi_reverse_end(comm));
}

static bool truncated_request(void)
{
	double x[N] = {1, 2, 3, 4}, x_bar[N] = {0}, y[2], y_bar[2] = {5, 6};
	struct reel_mpi_request r;
	reel_tape tape = {0};
	bool passed = true;

	if (rank == 0) {
		passed &= holds(!reel_mpi_send(&tape, x, N, D, 1, TAG, comm));
		passed &= is_error(reel_mpi_send_reverse(&tape, x_bar, N, D, 1, TAG, comm),
				   -EBADMSG, "2 elements", "had no room");
	}
	if (rank == 1) {
		passed &= holds(!reel_mpi_irecv(&tape, y, 2, D, 0, TAG, comm, &r));
		passed &= is_error(reel_mpi_wait(&tape, &r, MPI_STATUS_IGNORE), -EMSGSIZE,
				   "reel_mpi_wait", "runcat");
		passed &= holds(reel_tape_error(&tape) == -EMSGSIZE && r.mode == REEL_MPI_NULL);
		reel_mpi_recv_init(y_bar, 2, D, 0, TAG, comm, &r);
		passed &= is_error(reel_mpi_wait_reverse(&tape, &r, MPI_STATUS_IGNORE), -EMSGSIZE,
				   "reel_mpi_wait_reverse", "had no room");
		passed &= holds(!reel_mpi_start_reverse(&tape, &r) && all_nan(y_bar, 2));
	}
	reel_tape_close(&tape);
	return passed;
}

/*
 * The wait of the second receive completes the first one, because it has to know the message that
 * the first one has received.
 */
static bool truncated_behind_another(void)
{
	double x[N] = {1, 2, 3, 4}, y[2], z = 0;
	struct reel_mpi_request any, other;
	bool passed = true;

	if (rank == 0) {
		passed &= holds(!reel_mpi_send(NULL, x, N, D, 1, TAG, comm));
		passed &= holds(!reel_mpi_send(NULL, x, 1, D, 1, TAG + 1, comm));
	}
	if (rank == 1) {
		passed &= holds(!reel_mpi_irecv(NULL, y, 2, D, 0, MPI_ANY_TAG, comm, &any));
		passed &= holds(!reel_mpi_irecv(NULL, &z, 1, D, 0, TAG + 1, comm, &other));
		passed &= holds(!reel_mpi_wait(NULL, &other, MPI_STATUS_IGNORE) && z == 1);
		passed &= is_error(reel_mpi_wait(NULL, &any, MPI_STATUS_IGNORE), -EMSGSIZE,
				   "reel_mpi_wait", "runcat");
		passed &= holds(any.mode == REEL_MPI_NULL);
	}
	return passed;
}

static bool truncated_among_others(void)
{
	double x[N] = {1, 2, 3, 4}, y[2];
	struct reel_mpi_request r[2];
	bool passed = true;
	int chosen = -1, flag = 0, error;

	if (rank == 0)
		for (int i = 0; i < 2; i++)
			passed &= holds(!reel_mpi_send(NULL, x, N, D, 1, TAG + i, comm));
	if (rank == 1) {
		for (int i = 0; i < 2; i++)
			passed &= holds(!reel_mpi_irecv(NULL, y, 2, D, 0, TAG + i, comm, &r[i]));
		passed &= is_error(reel_mpi_waitany(NULL, 2, r, &chosen, MPI_STATUS_IGNORE),
				   -EMSGSIZE, "reel_mpi_waitany", "runcat");
		passed &= holds((chosen == 0 || chosen == 1) && r[chosen].mode == REEL_MPI_NULL);
		do
			error = reel_mpi_test(NULL, &r[1 - chosen], &flag, MPI_STATUS_IGNORE);
		while (!error && !flag);
		passed &= holds(error == -EMSGSIZE && r[1 - chosen].mode == REEL_MPI_NULL);
	}
	return passed;
}

/* Three floats are one and a half doubles. */
static bool wrong_type(void)
{
	float x[3] = {1, 2, 3}, x_bar[3] = {0};
	double y[2], y_bar[2] = {5, 6};
	reel_tape tape = {0};
	bool passed = true;

	if (rank == 0) {
		passed &= holds(!reel_mpi_send(&tape, x, 3, MPI_FLOAT, 1, TAG, comm));
		passed &= holds(reel_mpi_send_reverse(&tape, x_bar, 3, MPI_FLOAT, 1, TAG, comm) ==
				-EMSGSIZE);
		passed &= holds(isnan(x_bar[0]) && isnan(x_bar[2]));
	} else if (rank == 1) {
		passed &= is_error(reel_mpi_recv(&tape, y, 2, D, 0, TAG, comm, MPI_STATUS_IGNORE),
				   -ENOTSUP, "rank 0", "within an element");
		reel_mpi_recv_reverse(&tape, y_bar, 2, D, 0, TAG, comm, MPI_STATUS_IGNORE);
	}
	reel_tape_close(&tape);
	return passed & holds(!reel_mpi_reverse_end(comm));
}

/* The reverse call names fewer elements than the forward call did. */
static bool reverse_does_not_mirror(void)
{
	double x[N] = {1, 2, 3, 4}, x_bar[N] = {0}, y_bar[N] = {1, 1, 1, 1};
	reel_tape tape = {0};
	bool passed = true;

	if (rank == 0) {
		passed &= holds(!reel_mpi_send(&tape, x, N, D, 1, TAG, comm));
		passed &= is_error(reel_mpi_send_reverse(&tape, x_bar, N, D, 1, TAG, comm),
				   -EBADMSG, "rank 1", "do not mirror");
		passed &= holds(all_nan(x_bar, N));
	} else if (rank == 1) {
		passed &= holds(!reel_mpi_recv(&tape, x, N, D, 0, TAG, comm, MPI_STATUS_IGNORE));
		passed &= holds(!reel_mpi_recv_reverse(&tape, y_bar, N - 1, D, 0, TAG, comm,
						       MPI_STATUS_IGNORE));
	}
	reel_tape_close(&tape);
	return passed & holds(!reel_mpi_reverse_end(comm));
}

/* ---- Requests out of order ---- */

static bool out_of_order(void)
{
	double x[2] = {1, 2}, y[2] = {0};
	struct reel_mpi_request in[2] = {{0}}, out[2] = {{0}}, turned[2];
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
	reel_tape tape = {0};
	bool passed = true;

	for (int i = 0; i < 2; i++) {
		passed &= holds(!reel_mpi_irecv(&tape, &y[i], 1, D, left, TAG, comm, &in[i]));
		reel_mpi_send_init(&x[i], 1, D, right, TAG, comm, &turned[1 - i]);
	}
	passed &= holds(!reel_mpi_start(&tape, &turned[1]) && !reel_mpi_start(&tape, &turned[0]));
	passed &= is_error(reel_mpi_waitall(&tape, 2, turned, MPI_STATUSES_IGNORE), -ENOTSUP,
			   "reel_mpi_waitall", "t-mpi-errors.c");
	passed &= holds(reel_tape_error(&tape) == -ENOTSUP);
	passed &= holds(reel_mpi_recv(NULL, &y[1], 1, D, left, TAG, comm, MPI_STATUS_IGNORE) ==
			-ENOTSUP);
	passed &= holds(!reel_mpi_waitall(NULL, 2, in, MPI_STATUSES_IGNORE));
	passed &= holds(y[0] == 1 && y[1] == 2);
	/* The refused requests have ended: the same order is allowed again. */
	passed &= holds(!reel_mpi_isend(NULL, x, 1, D, right, TAG, comm, &out[0]));
	passed &= holds(!reel_mpi_recv(NULL, y, 1, D, left, TAG, comm, MPI_STATUS_IGNORE));
	passed &= holds(!reel_mpi_wait(NULL, &out[0], MPI_STATUS_IGNORE));
	reel_tape_close(&tape);
	return passed;
}

static bool sending_fails;

/*
 * The library calls this function in place of MPI's, by MPI's profiling interface. It fails once,
 * when a request is complete.
 */
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	int code = PMPI_Test(request, flag, status);

	if (!sending_fails || !*flag)
		return code;
	sending_fails = false;
	return MPI_ERR_OTHER;
}

/* A receive sends the adjoint, and no call waits for it, so the end of the sweep has its error. */
static bool adjoint_is_not_sent(void)
{
	double x = 1, y = 0, x_bar = 0, y_bar = 1;
	struct reel_mpi_request r;
	bool passed = true;

	passed &= holds(!reel_mpi_isend(NULL, &x, 1, D, rank, TAG, comm, &r));
	passed &= holds(!reel_mpi_recv(NULL, &y, 1, D, rank, TAG, comm, MPI_STATUS_IGNORE));
	passed &= holds(!reel_mpi_wait(NULL, &r, MPI_STATUS_IGNORE));
	sending_fails = true;
	passed &= holds(!reel_mpi_recv_reverse(NULL, &y_bar, 1, D, rank, TAG, comm,
					       MPI_STATUS_IGNORE));
	passed &= is_error(reel_mpi_reverse_end(comm), -EIO, "reel_mpi_reverse_end", "");
	sending_fails = false;
	passed &= holds(!reel_mpi_send_reverse(NULL, &x_bar, 1, D, rank, TAG, comm));
	passed &= holds(!reel_mpi_reverse_end(comm) && x_bar == 1);
	return passed;
}

static bool misused_requests(void)
{
	double x = 1, y, x_bar = 0;
	struct reel_mpi_request r, out;
	reel_tape tape = {0};
	bool passed = true;

	reel_mpi_recv_init(&y, 1, D, rank, TAG, comm, &r);
	passed &= is_error(reel_mpi_start_reverse(NULL, &r), -EINVAL, "reel_mpi_start_reverse",
			   "not reversed");
	passed &= holds(!reel_mpi_start(NULL, &r));
	passed &= is_error(reel_mpi_start(NULL, &r), -EINVAL, "begun already", "t-mpi-errors.c");
	reel_mpi_recv_init(&y, 1, D, rank, TAG, comm, &r);
	passed &= is_error(reel_mpi_start(NULL, &r), -EINVAL, "begun already", "t-mpi-errors.c");
	passed &= is_error(reel_mpi_isend(NULL, &x, 1, D, rank, TAG, comm, &r), -EINVAL,
			   "begun already", "t-mpi-errors.c");
	passed &= is_error(reel_mpi_wait_reverse(NULL, &r, MPI_STATUS_IGNORE), -EINVAL, "in use",
			   "reel_mpi_wait_reverse");
	passed &= holds(!reel_mpi_send(NULL, &x, 1, D, rank, TAG, comm));
	passed &= holds(!reel_mpi_wait(NULL, &r, MPI_STATUS_IGNORE) && y == 1);
	reel_mpi_send_init(&x_bar, -1, D, rank, TAG, comm, &out);
	passed &= is_error(reel_mpi_start(&tape, &out), -EINVAL, "reel_mpi_start", "count of -1");
	passed &= holds(reel_tape_error(&tape) == -EINVAL);
	reel_tape_close(&tape);
	return passed;
}

/* ---- Calls that all ranks refuse ---- */

/* Each call with a count refuses `n` elements of `type`, before it touches them or MPI. */
static bool is_refused_everywhere(MPI_Comm c, int n, MPI_Datatype type, int expected,
				  const char *text)
{
	double x[N] = {0}, y[4 * N] = {0};
	int ones[4] = {n, n, n, n}, zeros[4] = {0};
	MPI_Datatype types[4] = {type, type, type, type};
	struct reel_mpi_request r = {0};
	bool passed = true;

#define REFUSED(call, ...)                                                                         \
	passed &= is_error(reel_mpi_##call(NULL, __VA_ARGS__), expected, text, "reel_mpi_")
	REFUSED(send, x, n, type, 0, TAG, c);
	REFUSED(send_reverse, x, n, type, 0, TAG, c);
	REFUSED(recv, x, n, type, 0, TAG, c, MPI_STATUS_IGNORE);
	REFUSED(recv_reverse, x, n, type, 0, TAG, c, MPI_STATUS_IGNORE);
	REFUSED(sendrecv, x, n, type, 0, TAG, y, n, type, 0, TAG, c, MPI_STATUS_IGNORE);
	REFUSED(sendrecv_replace, x, n, type, 0, TAG, 0, TAG, c, MPI_STATUS_IGNORE);
	REFUSED(isend, x, n, type, 0, TAG, c, &r);
	REFUSED(irecv, x, n, type, 0, TAG, c, &r);
	REFUSED(bcast, x, n, type, 0, c);
	REFUSED(bcast_reverse, x, n, type, 0, c);
	REFUSED(ibcast, x, n, type, 0, c, &r);
	REFUSED(gather, x, n, type, y, n, type, 0, c);
	REFUSED(gatherv, x, n, type, y, ones, zeros, type, 0, c);
	REFUSED(scatter, y, n, type, x, n, type, 0, c);
	REFUSED(scatterv, y, ones, zeros, type, x, n, type, 0, c);
	REFUSED(allgather, x, n, type, y, n, type, c);
	REFUSED(allgatherv, x, n, type, y, ones, zeros, type, c);
	REFUSED(alltoall, x, n, type, y, n, type, c);
	REFUSED(alltoallv, x, ones, zeros, type, y, ones, zeros, type, c);
	REFUSED(alltoallw, x, ones, zeros, types, y, ones, zeros, types, c);
	REFUSED(allgather_reverse, x, n, type, y, n, type, c);
	REFUSED(iallgather, x, n, type, y, n, type, c, &r);
	REFUSED(reduce, x, y, n, type, MPI_SUM, 0, c);
	REFUSED(reduce_reverse, x, y, n, type, MPI_SUM, 0, c);
	REFUSED(allreduce, x, y, n, type, MPI_SUM, c);
	REFUSED(iallreduce, x, y, n, type, MPI_SUM, c, &r);
	REFUSED(reduce_scatter, x, y, ones, type, MPI_SUM, c);
	REFUSED(reduce_scatter_block, x, y, n, type, MPI_SUM, c);
	REFUSED(scan, x, y, n, type, MPI_SUM, c);
	REFUSED(scan_reverse, x, y, n, type, MPI_SUM, c);
	REFUSED(exscan, x, y, n, type, MPI_SUM, c);
	REFUSED(iscan, x, y, n, type, MPI_SUM, c, &r);
	return passed;
}

/* A program that is compiled with the header of another MPI has other handles than the library. */
static bool another_mpi(void)
{
	enum reel_mpi_implementation other = REEL_MPI_IMPLEMENTATION == REEL_MPI_MPICH
						     ? REEL_MPI_OPEN_MPI
						     : REEL_MPI_MPICH;
	MPI_Comm none;
	bool passed;

	memset(&none, 0xa5, sizeof none);
	record_reports();
	passed = is_error(reel_mpi_attach_for(other, none, 0), -EINVAL, "Open MPI", "MPICH");
	passed &= holds(reported.calls == 1);
	passed &= holds(!reel_mpi_attach_for(REEL_MPI_UNKNOWN, comm, 0));
	reel_set_error_handler(be_silent, NULL);
	return passed;
}

static bool unattached_communicator(void)
{
	MPI_Comm stranger;
	bool passed;

	MPI_Comm_dup(WORLD, &stranger);
	passed = is_refused_everywhere(stranger, 1, D, -EINVAL, "reel_mpi_attach");
	MPI_Comm_free(&stranger);
	return passed;
}

static bool hidden_types(void)
{
	MPI_Datatype packed;
	bool passed = is_refused_everywhere(comm, 1, MPI_BYTE, -ENOTSUP, "MPI_BYTE");

	MPI_Type_contiguous(8, MPI_BYTE, &packed);
	MPI_Type_commit(&packed);
	passed &= is_refused_everywhere(comm, 1, packed, -ENOTSUP, "MPI_BYTE");
	passed &= is_refused_everywhere(comm, 1, MPI_DATATYPE_NULL, -EINVAL, "MPI_DATATYPE_NULL");
	MPI_Type_free(&packed);
	return passed;
}

static bool negative_counts(void)
{
	static const int counts[] = {-1, -2, -8192, INT_MIN + 1, INT_MIN};
	struct reel_mpi_request r = {0};
	double y = 0;
	int index;
	bool passed = true;

	for (size_t i = 0; i < COUNT(counts); i++) {
		int n = counts[i];

		passed &= is_refused_everywhere(comm, n, D, -EINVAL, "a count of -");
		passed &= holds(reel_mpi_sum(NULL, NULL, &y, n, comm) == -EINVAL);
		passed &= holds(reel_mpi_sum_reverse(NULL, &y, &y, n, comm) == -EINVAL);
		passed &= holds(reel_mpi_waitall(NULL, n, &r, MPI_STATUSES_IGNORE) == -EINVAL);
		passed &= holds(reel_mpi_waitall_reverse(NULL, n, &r, MPI_STATUSES_IGNORE) ==
				-EINVAL);
		passed &= holds(reel_mpi_waitany(NULL, n, &r, &index, MPI_STATUS_IGNORE) ==
				-EINVAL);
	}
	return passed;
}

/* Elements are so far apart that the bytes of a few elements wrap to a small number, or to zero. */
static bool bytes_that_wrap(void)
{
	enum { BITS = 8 * sizeof(MPI_Aint) };
	bool passed = true;

	for (int shift = 2; shift <= 10; shift += 4)
		for (MPI_Aint k = 0; k <= 8192 && passed; k = 2 * k + 8) {
			MPI_Aint extent = ((MPI_Aint)1 << (BITS - 1 - shift)) - k;
			MPI_Datatype wide;

			MPI_Type_create_resized(D, 0, extent, &wide);
			MPI_Type_commit(&wide);
			passed &= is_refused_everywhere(comm, 2 << shift, wide, -EOVERFLOW,
							"memory can have");
			MPI_Type_free(&wide);
		}
	return passed;
}

/* MPI adds and multiplies these counts as int. */
static bool counts_that_wrap(void)
{
	int counts[4] = {INT_MAX, INT_MAX, INT_MAX, INT_MAX};
	double x = 0, y = 0;
	bool passed = true;

	passed &= holds(reel_mpi_reduce_scatter_block(NULL, &x, &y, INT_MAX / ranks + 1, D, MPI_SUM,
						      comm) == -EOVERFLOW);
	passed &= holds(reel_mpi_reduce_scatter(NULL, &x, &y, counts, D, MPI_SUM, comm) ==
			-EOVERFLOW);
	passed &= holds(reel_mpi_sum(NULL, NULL, &y, INT_MAX, comm) == -EOVERFLOW);
	/* The packed adjoint would have 2 GiB. */
	passed &= is_error(reel_mpi_send(NULL, &x, 1 << 28, D, 0, TAG, comm), -EOVERFLOW,
			   "2147483648", "request");
	passed &= holds(reel_mpi_sendrecv(NULL, &x, 1 << 28, D, 0, TAG, &y, 1, D, 0, TAG, comm,
					  MPI_STATUS_IGNORE) == -EOVERFLOW);
	passed &=
		holds(reel_mpi_allgather(NULL, &x, 1 << 28, D, &y, 1 << 28, D, comm) == -EOVERFLOW);
	passed &= holds(reel_mpi_scan(NULL, &x, &y, 1 << 28, D, MPI_SUM, comm) == -EOVERFLOW);
	return passed;
}

static bool unknown_operations(void)
{
	double x[4] = {1, 2, 3, 4}, y[4] = {0};
	bool passed = true;

	passed &= holds(reel_mpi_reduce(NULL, x, y, 1, D, MPI_REPLACE, 0, comm) == -ENOTSUP);
	passed &= holds(reel_mpi_allreduce(NULL, x, y, 1, D, MPI_NO_OP, comm) == -ENOTSUP);
	passed &= holds(reel_mpi_reduce_scatter_block(NULL, x, y, 1, D, MPI_REPLACE, comm) ==
			-ENOTSUP);
	passed &= holds(reel_mpi_scan(NULL, x, y, 1, D, MPI_REPLACE, comm) == -ENOTSUP);
	passed &= holds(reel_mpi_exscan(NULL, x, y, 1, D, MPI_REPLACE, comm) == -ENOTSUP);
	return passed & holds(y[0] == 0 && strstr(reel_error_text(0), "MPI_MINLOC"));
}

/* ---- A rank whose tape has an error ---- */

/* Each rank pushes its numbers. They go round a ring, and through reductions with notes. */
static int forward(reel_tape *tape, double *x, double *y)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, error = 0;

	for (int i = 0; i < 400; i++)
		reel_push(tape, x[i % N]);
	error |= reel_mpi_sendrecv(tape, x, N, D, right, TAG, y, N, D, left, TAG, comm,
				   MPI_STATUS_IGNORE);
	error |= reel_mpi_allreduce(tape, MPI_IN_PLACE, y, N, D, MPI_MIN, comm);
	error |= reel_mpi_scan(tape, MPI_IN_PLACE, y, N, D, MPI_PROD, comm);
	return error | reel_mpi_allreduce(tape, MPI_IN_PLACE, y, N, D, MPI_PROD, comm);
}

static int reverse(reel_tape *tape, double *x_bar, double *y_bar)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, error = 0;

	error |= reel_mpi_allreduce_reverse(tape, MPI_IN_PLACE, y_bar, N, D, MPI_PROD, comm);
	error |= reel_mpi_scan_reverse(tape, MPI_IN_PLACE, y_bar, N, D, MPI_PROD, comm);
	error |= reel_mpi_allreduce_reverse(tape, MPI_IN_PLACE, y_bar, N, D, MPI_MIN, comm);
	error |= reel_mpi_sendrecv_reverse(tape, x_bar, N, D, right, TAG, y_bar, N, D, left, TAG,
					   comm, MPI_STATUS_IGNORE);
	for (int i = 400; i-- > 0;)
		x_bar[i % N] *= reel_pop(tape, double);
	return error | reel_mpi_reverse_end(comm);
}

/* The last rank has a pool with `options`, the other ranks have the default pool. */
static bool tape_fails(struct reel_pool_options options, int expected)
{
	double x[N] = {1 + rank, 2, 3, 4}, y[N] = {0}, x_bar[N] = {0}, y_bar[N] = {1, 1, 1, 1};
	bool last = rank == ranks - 1, passed = true;
	reel_pool *pool = NULL;
	reel_tape tape = {0};
	int told;

	passed &= holds(!reel_pool_open(&pool, last ? &options : NULL));
	passed &= holds(!reel_tape_open(&tape, pool, 0));
	told = forward(&tape, x, y);
	if (!last)
		passed &= holds(!told);
	/* The values of the forward sweep do not depend on the tape. */
	passed &= holds(y[1] == pow(2, ranks * (ranks + 1) / 2));
	told = reverse(&tape, x_bar, y_bar);
	if (last)
		passed &= holds(told && reel_tape_error(&tape) == expected && all_nan(x_bar, N));
	else
		passed &= holds(!reel_tape_error(&tape));
	reel_tape_close(&tape);
	return passed & holds(!reel_pool_close(pool));
}

static bool budget_is_used_up(void)
{
	return tape_fails(tiny_budget(8), -EDQUOT);
}

static bool store_fails(void)
{
	struct reel_fault_rule rule = {.fault = REEL_FAULT_ERROR, .put = true, .persistent = true,
				       .error = -ENOSPC};
	struct reel_pool_options options = tiny_budget(8);
	reel_store *memory, *store = NULL;

	if (rank == ranks - 1 && (!holds(!reel_store_open(&memory, "memory=1M", NULL)) ||
				  !holds(!reel_store_fault_open(&store, memory, &rule, 1))))
		return false;
	options.store = store;
	return tape_fails(options, -ENOSPC);
}

static bool slab_does_not_come_back(void)
{
	struct reel_fault_rule rule = {.fault = REEL_FAULT_ERROR, .put = false, .persistent = true,
				       .error = -EIO};
	struct reel_pool_options options = tiny_budget(8);
	reel_store *memory, *store = NULL;
	double x[N] = {1, 2, 3, 4}, y[N], x_bar[N] = {0}, y_bar[N] = {1, 1, 1, 1};
	bool last = rank == ranks - 1, passed = true;
	reel_pool *pool = NULL;
	reel_tape tape = {0};
	int told;

	if (last && (!holds(!reel_store_open(&memory, "memory=1M", NULL)) ||
		     !holds(!reel_store_fault_open(&store, memory, &rule, 1))))
		return false;
	options.store = store;
	passed &= holds(!reel_pool_open(&pool, last ? &options : NULL));
	passed &= holds(!reel_tape_open(&tape, pool, 0));
	passed &= holds(!forward(&tape, x, y));
	/* Pushes more words, so that the notes are written to the store. */
	push_words(&tape, 0, 400);
	wrong_words(&tape, 0, 400);
	told = reverse(&tape, x_bar, y_bar);
	if (last)
		passed &= holds(told && reel_tape_error(&tape) == -EIO && all_nan(x_bar, N));
	else
		passed &= holds(!told);
	reel_tape_close(&tape);
	return passed & holds(!reel_pool_close(pool));
}

static bool finish(void)
{
	MPI_Comm_free(&comm);
	reel_set_error_handler(NULL, NULL);
	return holds(!reel_mpi_detach(WORLD));
}

static const struct rank_case cases[] = {
	{"a communicator that returns errors is attached", prepare},
	{"a truncated message is told to its receiver, and in reverse to its sender",
	 truncated_receive},
	{"a truncated message is told by the wait of a request", truncated_request},
	{"a truncated message is told by its own wait, if another wait has completed it",
	 truncated_behind_another},
	{"a truncated message is told by the choice among requests, and by a test",
	 truncated_among_others},
	{"a message that ends within an element is told", wrong_type},
	{"a reverse call of another length is told to the other rank", reverse_does_not_mirror},
	{"requests that are waited for out of order are refused, and end", out_of_order},
	{"requests that are used wrongly are refused", misused_requests},
	{"an adjoint that MPI does not send is told of at the end of the sweep",
	 adjoint_is_not_sent},
	{"a program of another MPI is refused before its handles are used", another_mpi},
	{"each call refuses a communicator that is not attached", unattached_communicator},
	{"each call refuses types that hide their numbers", hidden_types},
	{"each call refuses a negative count", negative_counts},
	{"each call refuses elements whose bytes wrap", bytes_that_wrap},
	{"counts whose sum or whose bytes an int does not hold are refused", counts_that_wrap},
	{"each reduction refuses operations without an adjoint", unknown_operations},
	{"a rank whose budget is used up has NaN, and no rank waits for it", budget_is_used_up},
	{"a rank whose store is full has NaN, and no rank waits for it", store_fails},
	{"a rank whose store fails in the reverse sweep has NaN, and no rank waits for it",
	 slab_does_not_come_back},
	{"no tape, message or request is left", finish},
};

int main(int argc, char **argv)
{
	/* Checked mode has other errors (t-mpi-checked.c). */
	begin_on_ranks(argc, argv, cases, COUNT(cases));
	return tap_end();
}
