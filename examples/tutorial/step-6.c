/* SPDX-License-Identifier: MIT */
/* Step 6: each rank has a part of the cells. */
#include <errno.h>
#include <math.h>
#include <reel.h>
#include <reel/mpi.h>
#include <stdio.h>

enum { N = 10000, STEPS = 1000, CREST = 2500, GAUGE = 2700 };

/* Cells 1 to n of this rank are first + 1 to first + n of the ring; its neighbours. */
static int n, first, left, right;

/* The derivatives by u, and J, which a resumed run prints without calculating it again. */
struct adjoint {
	double u[N + 1], J;
};

static void start(double *u)
{
	for (int i = 1; i <= n; i++)
		u[i] = 1 + exp(-pow((first + i - CREST) / 100.0, 2));
}

/* Without a tape, the primal alone. A refused span is the tape's error, which ends the sweep. */
static void step(double *u, reel_tape *tape)
{
	static double row[N + 1];
	double *old = row;

	reel_mpi_sendrecv(tape, &u[n], 1, MPI_DOUBLE, right, 0, &u[0], 1, MPI_DOUBLE, left, 0,
			  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (tape)
		old = reel_push_span(tape, double, n + 1);
	if (!old)
		return;
#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i <= n; i++)
			old[i] = u[i];
#pragma omp for
		for (int i = 1; i <= n; i++)
			u[i] -= 0.1 * u[i] * (u[i] - old[i - 1]);
	}
}

static void step_reverse(double *u_bar, reel_tape *tape)
{
	static double to_left[N + 1];
	const double *old = reel_pop_span(tape, double, n + 1);

	if (!old)
		return;
#pragma omp parallel
	{
#pragma omp for
		for (int i = 1; i <= n; i++) {
			to_left[i] = 0.1 * old[i] * u_bar[i];
			u_bar[i] *= 1 - 0.1 * (2 * old[i] - old[i - 1]);
		}
#pragma omp for
		for (int i = 1; i <= n; i++)
			u_bar[i - 1] += to_left[i];
	}
	reel_mpi_sendrecv_reverse(tape, &u_bar[n], 1, MPI_DOUBLE, right, 0, &u_bar[0], 1,
				  MPI_DOUBLE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Steps `first` to last - 1 of a model: run, recorded, reversed. */
static int advance(void *context, void *u, int64_t first, int64_t last)
{
	(void)context;
	for (int64_t i = first; i < last; i++)
		step((double *)u, NULL);
	return 0;
}

static int record(void *context, void *u, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	for (int64_t i = first; i < last; i++)
		step((double *)u, tape);
	return 0;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	(void)context;
	for (int64_t i = last; i-- > first;)
		step_reverse(((struct adjoint *)adjoint)->u, tape);
	return 0;
}

int main(int argc, char **argv)
{
	static double u[N + 1], gradient[N + 1];
	static struct adjoint bar;
	reel_model model = {0, advance, record, reverse, NULL, NULL};
	struct reel_problem problem = {.steps = STEPS, .tiers = 1, .tier = {{.slots = 20}}};
	struct reel_run_options options = {.restart = "wave.restart", .adjoint_bytes = sizeof bar};
	double sum = 0;
	int error, rank, ranks, threads, owner;
	reel_plan *plan;
	reel_run *run;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (N % ranks) {
		fprintf(stderr, "%d cells cannot be shared out to %d ranks alike\n", N, ranks);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	left = (rank + ranks - 1) % ranks;
	right = (rank + 1) % ranks;
	n = N / ranks;
	first = rank * n;
	owner = (GAUGE - 1) / n;              /* the rank that has the gauge */
	model.state_bytes = (n + 1) * sizeof *u;
	error = reel_mpi_attach(MPI_COMM_WORLD, 0);
	if (!error)
		error = reel_plan_open(&plan, REEL_BINOMIAL, &problem);
	if (!error)
		error = reel_mpi_run_open(&run, plan, &model, &options, NULL, MPI_COMM_WORLD);
	if (!error)
		error = reel_run_resume(run, NULL, &bar);
	if (error == -ENOENT)                 /* nothing to go on from */
		error = 0;
	if (!error && !reel_run_is_reversing(run)) {
		start(u);
		error = reel_run_forward(run, NULL, u);
		if (rank == owner) {
			bar.J = u[GAUGE - first];
			bar.u[GAUGE - first] = 1;
		}
	}
	if (!error)
		error = reel_run_reverse(run, NULL, u, &bar);
	if (error) {
		fprintf(stderr, "%s\n", reel_error_text(error));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	reel_mpi_reverse_end(MPI_COMM_WORLD);
	MPI_Gather(&bar.u[1], n, MPI_DOUBLE, &gradient[1], n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Bcast(&bar.J, 1, MPI_DOUBLE, owner, MPI_COMM_WORLD);
	for (int i = 1; i <= N; i++)
		sum += gradient[i];
	if (rank == 0)
		printf("J = %.17g, dJ/du = %.17g at the crest, %.17g in all\n", bar.J,
		       gradient[CREST], sum);
	reel_run_close(run);
	reel_plan_close(plan);
	reel_mpi_detach(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
