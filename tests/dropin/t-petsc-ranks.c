/* SPDX-License-Identifier: MIT */
/*
 * For t-petsc.sh: x' = -x on all ranks, with errors that the program survives, and solutions of
 * several sizes. Each rank prints its error, or the sum of the gradient.
 *
 *	-local N        unknowns on each rank
 *	-grow N         N more on the last rank in each further solve
 *	-solves N
 *	-lost           the last rank has no directory for its files
 *	-broken         the last rank cannot read its files
 */
#define _GNU_SOURCE
#include <errno.h>
#include <petscts.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_broken;

/* Replaces libc's function for all libraries. */
ssize_t preadv(int file, const struct iovec *parts, int n, off_t at)
{
	if (!is_broken)
		return syscall(SYS_preadv, file, parts, n, at, 0L);
	errno = EIO;
	return -1;
}

static PetscErrorCode rhs(TS ts, PetscReal t, Vec X, Vec F, void *context)
{
	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)context;
	PetscCall(VecCopy(X, F));
	PetscCall(VecScale(F, -1));
	PetscFunctionReturn(0);
}

/* Minus the identity, from the start. */
static PetscErrorCode jacobian(TS ts, PetscReal t, Vec X, Mat A, Mat B, void *context)
{
	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)X;
	(void)A;
	(void)B;
	(void)context;
	PetscFunctionReturn(0);
}

static PetscErrorCode make_jacobian(TS ts, PetscInt local, Mat *J)
{
	PetscFunctionBeginUser;
	PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, local, local, PETSC_DECIDE, PETSC_DECIDE, 1, NULL, 0,
			       NULL, J));
	PetscCall(MatAssemblyBegin(*J, MAT_FINAL_ASSEMBLY));
	PetscCall(MatAssemblyEnd(*J, MAT_FINAL_ASSEMBLY));
	PetscCall(MatShift(*J, -1));
	PetscCall(TSSetRHSJacobian(ts, *J, *J, jacobian, NULL));
	PetscFunctionReturn(0);
}

/* A program that goes on after an error, as one in Python does. */
static PetscErrorCode sweep(TS ts, Vec X, Vec *lambda)
{
	PetscErrorCode code;

	PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
	code = TSSolve(ts, X);
	if (!code)
		code = TSSetCostGradients(ts, 1, lambda, NULL);
	if (!code)
		code = TSAdjointSolve(ts);
	PetscCall(PetscPopErrorHandler());
	return code;
}

static PetscErrorCode solve(TS ts, PetscInt local, PetscMPIInt rank)
{
	PetscErrorCode code;
	PetscScalar sum;
	Vec X, lambda;
	Mat J;

	PetscFunctionBeginUser;
	PetscCall(make_jacobian(ts, local, &J));
	PetscCall(MatCreateVecs(J, &X, &lambda));
	PetscCall(VecSet(X, 1));
	PetscCall(VecSet(lambda, 1));
	PetscCall(TSSetTime(ts, 0));
	PetscCall(TSSetStepNumber(ts, 0));
	PetscCall(TSSetTimeStep(ts, 0.01));
	code = sweep(ts, X, &lambda);
	PetscCall(VecSum(lambda, &sum));
	if (code)
		printf("rank %d: error\n", rank);
	else
		printf("rank %d: %.15g\n", rank, (double)PetscRealPart(sum));
	PetscCall(TSAdjointReset(ts));
	PetscCall(TSReset(ts));
	PetscCall(MatDestroy(&J));
	PetscCall(VecDestroy(&X));
	PetscCall(VecDestroy(&lambda));
	PetscFunctionReturn(0);
}

static PetscErrorCode make_solver(TS *ts)
{
	PetscFunctionBeginUser;
	PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
	PetscCall(TSSetType(*ts, TSRK));
	PetscCall(TSSetRHSFunction(*ts, NULL, rhs, NULL));
	PetscCall(TSSetMaxTime(*ts, 0.5));
	PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
	PetscCall(TSSetSaveTrajectory(*ts));
	PetscCall(TSSetFromOptions(*ts));
	PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
	PetscInt local = 100, grow = 0, solves = 1;
	PetscBool is_lost = PETSC_FALSE, breaks = PETSC_FALSE, is_last;
	PetscMPIInt rank, ranks;
	TS ts;

	PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
	PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
	PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
	is_last = rank == ranks - 1;
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-local", &local, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-grow", &grow, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-lost", &is_lost, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-broken", &breaks, NULL));
	if (is_last && is_lost)
		setenv("REEL_SPILL_DIR", "/nonexistent", 1);
	is_broken = is_last && breaks;
	PetscCall(make_solver(&ts));
	for (PetscInt i = 0; i < solves; i++)
		PetscCall(solve(ts, local + (is_last ? i * grow : 0), rank));
	PetscCall(TSDestroy(&ts));
	PetscCall(PetscFinalize());
	return 0;
}
