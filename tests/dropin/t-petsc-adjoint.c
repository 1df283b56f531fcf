/* SPDX-License-Identifier: MIT */
/*
 * For t-petsc.sh: solves n oscillators of van der Pol, x' = y, y' = mu (1 - x^2) y - x, on all
 * ranks, as the options say, and computes the gradient of the sum of x at the end. The output has
 * the bytes of the derivatives by the initial values, and then by mu.
 *
 *	-n N            oscillators; ranks may have none
 *	-solves N       forward and back N times, from other initial values
 *	-adjoints N     back N times after each forward sweep
 *	-pause N        the adjoint solve stops after N steps, and is gone on with
 *	-bounce         an event, where x of the first oscillator passes 0, halves all y
 *	-clip           a function between two steps changes the solution
 *	-end N          a function between two steps ends the loop after step N
 *	-retry N        a function between two steps goes back from step N, once, and halves it
 *	-halt N         the solve stops after N steps, and is gone on with
 *	-spoil          the solution is overwritten before the adjoint solve
 *	-hand           the program takes the steps itself
 *	-work N         the right-hand side is calculated N times
 *	-lookup         no adjoint: solutions are looked up in a random order
 *	-first          no adjoint: the first solution is looked up
 *	-switch         the trajectory was set up as one of another type before options are read
 *	-clone          at last, another TS with the same controller, and no trajectory, solves
 *	-later N        the number of checkpoints is N after the first solve
 *	-mu MU
 *	-forget MU      mu in the adjoint solve
 *	-integral HOW   forward or reverse: that sweep adds the integral of the sum of x^2 up
 *	-kill N         the process ends itself before step N
 *	-kill_adjoint N the same, before the first adjoint step at or below N
 *	-output FILE
 */
#include <signal.h>

#include <petscts.h>

typedef struct {
	PetscReal mu, later_mu;
	PetscInt adjoints, pause, n, work, end, retry, halt, kill, kill_adjoint;
	char later[16];
	PetscBool clips, hand, lookup, bounce, spoils, was_retried, first, switches, clones;
	PetscViewer output;
	Vec lambda, mu_bar;
	Mat jacobian, parameter;
	Mat square, nothing; /* derivatives of the integrand by x and by mu, or NULL */
} Problem;

static PetscErrorCode rhs(TS ts, PetscReal t, Vec X, Vec F, void *context)
{
	const Problem *problem = context;
	const PetscScalar *x;
	PetscScalar *f;
	PetscInt n;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	PetscCall(VecGetLocalSize(X, &n));
	PetscCall(VecGetArrayRead(X, &x));
	PetscCall(VecGetArrayWrite(F, &f));
	for (PetscInt i = 0; i < n; i += 2)
		for (PetscInt times = problem->work; times > 0; times--) {
			PetscScalar growth = problem->mu * (1.0 - x[i] * x[i]) * x[i + 1];

			f[i] = times > 1 ? 1.0 / (growth + f[i]) : x[i + 1];
			f[i + 1] = growth - x[i];
		}
	PetscCall(VecRestoreArrayWrite(F, &f));
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscFunctionReturn(0);
}

static PetscErrorCode rhs_jacobian(TS ts, PetscReal t, Vec X, Mat A, Mat B, void *context)
{
	const Problem *problem = context;
	const PetscScalar *x;
	PetscInt first, last;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)A;
	PetscCall(VecGetOwnershipRange(X, &first, &last));
	PetscCall(VecGetArrayRead(X, &x));
	for (PetscInt i = first; i < last; i += 2) {
		const PetscScalar *pair = x + (i - first);
		PetscInt rows[2] = {i, i + 1};
		PetscScalar values[4] = {0, 1, -2.0 * problem->mu * pair[0] * pair[1] - 1.0,
					 problem->mu * (1.0 - pair[0] * pair[0])};

		PetscCall(MatSetValues(B, 2, rows, 2, rows, values, INSERT_VALUES));
	}
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
	PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
	PetscFunctionReturn(0);
}

static PetscErrorCode rhs_by_mu(TS ts, PetscReal t, Vec X, Mat A, void *context)
{
	const PetscScalar *x;
	PetscInt first, last, column = 0;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)context;
	PetscCall(VecGetOwnershipRange(X, &first, &last));
	PetscCall(VecGetArrayRead(X, &x));
	for (PetscInt i = first; i < last; i += 2) {
		const PetscScalar *pair = x + (i - first);
		PetscInt rows[2] = {i, i + 1};
		PetscScalar values[2] = {0, (1.0 - pair[0] * pair[0]) * pair[1]};

		PetscCall(MatSetValues(A, 2, rows, 1, &column, values, INSERT_VALUES));
	}
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
	PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
	PetscFunctionReturn(0);
}

/* ---- An integral along the way ---- */

static PetscErrorCode integrand(TS ts, PetscReal t, Vec X, Vec R, void *context)
{
	PetscReal norm;
	PetscInt first, last;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)context;
	PetscCall(VecNorm(X, NORM_2, &norm));
	PetscCall(VecGetOwnershipRange(R, &first, &last));
	if (first == 0 && last == 1)
		PetscCall(VecSetValue(R, 0, norm * norm, INSERT_VALUES));
	PetscCall(VecAssemblyBegin(R));
	PetscCall(VecAssemblyEnd(R));
	PetscFunctionReturn(0);
}

static PetscErrorCode integrand_by_x(TS ts, PetscReal t, Vec X, Mat A, Mat B, void *context)
{
	Vec column;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)A;
	(void)context;
	PetscCall(MatDenseGetColumnVecWrite(B, 0, &column));
	PetscCall(VecAXPBY(column, 2, 0, X));
	PetscCall(MatDenseRestoreColumnVecWrite(B, 0, &column));
	PetscFunctionReturn(0);
}

static PetscErrorCode integrand_by_mu(TS ts, PetscReal t, Vec X, Mat A, void *context)
{
	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)X;
	(void)context;
	PetscCall(MatZeroEntries(A));
	PetscFunctionReturn(0);
}

static PetscErrorCode add_integral(TS ts, Problem *problem, PetscInt local)
{
	char how[16] = "";
	PetscBool is_forward, is_wanted;
	TS quadrature;

	PetscFunctionBeginUser;
	PetscCall(PetscOptionsGetString(NULL, NULL, "-integral", how, sizeof how, &is_wanted));
	if (!is_wanted)
		PetscFunctionReturn(0);
	PetscCall(PetscStrcmp(how, "forward", &is_forward));
	PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, PETSC_DECIDE, 1, NULL,
				 &problem->square));
	PetscCall(MatSetUp(problem->square));
	PetscCall(VecGetLocalSize(problem->mu_bar, &local));
	PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, 1, 1, NULL,
				 &problem->nothing));
	PetscCall(MatSetUp(problem->nothing));
	PetscCall(TSCreateQuadratureTS(ts, is_forward, &quadrature));
	PetscCall(TSSetRHSFunction(quadrature, NULL, integrand, problem));
	PetscCall(TSSetRHSJacobian(quadrature, problem->square, problem->square, integrand_by_x,
				   problem));
	PetscCall(TSSetRHSJacobianP(quadrature, problem->nothing, integrand_by_mu, problem));
	PetscFunctionReturn(0);
}

/* ---- Killed ---- */

static PetscErrorCode before_step(TS ts, PetscInt step, PetscReal t, Vec X, void *context)
{
	const Problem *problem = context;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)X;
	if (problem->kill == step)
		raise(SIGKILL);
	PetscFunctionReturn(0);
}

static PetscErrorCode before_adjoint(TS ts, PetscInt step, PetscReal t, Vec X, PetscInt n,
				     Vec *lambda, Vec *mu, void *context)
{
	const Problem *problem = context;

	PetscFunctionBeginUser;
	(void)ts;
	(void)t;
	(void)X;
	(void)n;
	(void)lambda;
	(void)mu;
	if (step <= problem->kill_adjoint)
		raise(SIGKILL);
	PetscFunctionReturn(0);
}

static PetscErrorCode set_initial(Vec X, PetscInt solve)
{
	PetscScalar *x;
	PetscInt first, last;

	PetscFunctionBeginUser;
	PetscCall(VecGetOwnershipRange(X, &first, &last));
	PetscCall(VecGetArrayWrite(X, &x));
	for (PetscInt i = first; i < last; i++)
		x[i - first] = i % 2 ? -0.66666654321 - 0.01 * (PetscReal)solve
				     : 2.0 + 0.001 * (PetscReal)i;
	PetscCall(VecRestoreArrayWrite(X, &x));
	PetscFunctionReturn(0);
}

/* ---- What changes the solution between two steps ---- */

static PetscErrorCode clip(TS ts)
{
	Vec X;

	PetscFunctionBeginUser;
	PetscCall(TSGetSolution(ts, &X));
	PetscCall(VecScale(X, 0.9990234375));
	PetscFunctionReturn(0);
}

static PetscErrorCode go_back(TS ts)
{
	PetscReal size;

	PetscFunctionBeginUser;
	PetscCall(TSRollBack(ts));
	PetscCall(TSSetConvergedReason(ts, TS_CONVERGED_ITERATING));
	PetscCall(TSGetTimeStep(ts, &size));
	PetscCall(TSSetTimeStep(ts, size / 2));
	PetscFunctionReturn(0);
}

static PetscErrorCode after_step(TS ts)
{
	Problem *problem;
	PetscInt step;

	PetscFunctionBeginUser;
	PetscCall(TSGetApplicationContext(ts, &problem));
	PetscCall(TSGetStepNumber(ts, &step));
	if (problem->clips)
		PetscCall(clip(ts));
	if (problem->end && problem->end == step)
		PetscCall(TSSetConvergedReason(ts, TS_CONVERGED_USER));
	if (problem->retry && problem->retry == step && !problem->was_retried) {
		problem->was_retried = PETSC_TRUE;
		PetscCall(go_back(ts));
	}
	PetscFunctionReturn(0);
}

static PetscErrorCode height(TS ts, PetscReal t, Vec X, PetscScalar *value, void *context)
{
	const PetscScalar *x;
	PetscInt first;
	PetscMPIInt rank;
	MPI_Comm comm;

	PetscFunctionBeginUser;
	(void)t;
	(void)context;
	PetscCall(PetscObjectGetComm((PetscObject)ts, &comm));
	PetscCallMPI(MPI_Comm_rank(comm, &rank));
	PetscCall(VecGetOwnershipRange(X, &first, NULL));
	PetscCall(VecGetArrayRead(X, &x));
	if (!rank)
		*value = x[0];
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscCallMPI(MPI_Bcast(value, 1, MPIU_SCALAR, 0, comm));
	PetscFunctionReturn(0);
}

static PetscErrorCode bounce(TS ts, PetscInt n, PetscInt *events, PetscReal t, Vec X,
			     PetscBool is_forward, void *context)
{
	PetscScalar *x;
	PetscInt size;

	PetscFunctionBeginUser;
	(void)ts;
	(void)n;
	(void)events;
	(void)t;
	(void)context;
	if (!is_forward)
		PetscFunctionReturn(0);
	PetscCall(VecGetLocalSize(X, &size));
	PetscCall(VecGetArray(X, &x));
	for (PetscInt i = 1; i < size; i += 2)
		x[i] *= 0.5;
	PetscCall(VecRestoreArray(X, &x));
	PetscFunctionReturn(0);
}

/* ---- Sweeps ---- */

static PetscErrorCode solve_by_hand(TS ts, Vec X)
{
	TSTrajectory trajectory;
	PetscReal t, end;
	PetscInt step;

	PetscFunctionBeginUser;
	PetscCall(TSSetSolution(ts, X));
	PetscCall(TSSetUp(ts));
	PetscCall(TSGetTrajectory(ts, &trajectory));
	PetscCall(TSTrajectorySetUp(trajectory, ts));
	PetscCall(TSGetMaxTime(ts, &end));
	PetscCall(TSGetTime(ts, &t));
	PetscCall(TSTrajectorySet(trajectory, ts, 0, t, X));
	while (t < end) {
		PetscCall(TSStep(ts));
		PetscCall(TSGetStepNumber(ts, &step));
		PetscCall(TSGetTime(ts, &t));
		PetscCall(TSTrajectorySet(trajectory, ts, step, t, X));
	}
	PetscFunctionReturn(0);
}

static PetscErrorCode solve_in_parts(TS ts, Vec X, const Problem *problem)
{
	PetscInt steps;

	PetscFunctionBeginUser;
	if (problem->halt) {
		PetscCall(TSGetMaxSteps(ts, &steps));
		PetscCall(TSSetMaxSteps(ts, problem->halt));
		PetscCall(TSSolve(ts, X));
		PetscCall(TSSetMaxSteps(ts, steps));
	}
	PetscCall(TSSolve(ts, X));
	PetscFunctionReturn(0);
}

static PetscErrorCode solve_adjoint(TS ts, Problem *problem)
{
	PetscInt steps;
	Vec integral;

	PetscFunctionBeginUser;
	PetscCall(TSGetStepNumber(ts, &steps));
	PetscCall(VecSet(problem->lambda, 1.0));
	PetscCall(VecSet(problem->mu_bar, 0.0));
	PetscCall(TSSetCostGradients(ts, 1, &problem->lambda, &problem->mu_bar));
	if (problem->pause && problem->pause < steps) {
		PetscCall(TSAdjointSetSteps(ts, problem->pause));
		PetscCall(TSAdjointSolve(ts));
	}
	PetscCall(TSAdjointSolve(ts));
	PetscCall(TSSetStepNumber(ts, steps));
	PetscCall(VecView(problem->lambda, problem->output));
	PetscCall(VecView(problem->mu_bar, problem->output));
	if (problem->square) {
		PetscCall(TSGetCostIntegral(ts, &integral));
		PetscCall(VecView(integral, problem->output));
	}
	PetscFunctionReturn(0);
}

/* Half of the times are between two steps. */
static PetscErrorCode look_up(TS ts, Vec X, Problem *problem)
{
	TSTrajectory trajectory;
	PetscInt steps;
	PetscReal end;
	Vec U;

	PetscFunctionBeginUser;
	PetscCall(TSGetTrajectory(ts, &trajectory));
	PetscCall(TSGetStepNumber(ts, &steps));
	PetscCall(TSGetTime(ts, &end));
	PetscCall(VecDuplicate(X, &U));
	for (PetscInt i = 0; i < (problem->first ? 1 : 40); i++) {
		PetscReal time = end * (PetscReal)(i * 17 % 40) / 40;
		PetscInt step = i % 2 ? PETSC_DECIDE : i * 13 % (steps + 1);

		PetscCall(TSTrajectoryGetVecs(trajectory, i % 3 ? ts : NULL, step, &time, U, NULL));
		PetscCall(VecView(U, problem->output));
	}
	PetscCall(VecDestroy(&U));
	PetscFunctionReturn(0);
}

static PetscErrorCode use_another_type(TS ts, Vec X)
{
	TSTrajectory trajectory;

	PetscFunctionBeginUser;
	PetscCall(TSGetTrajectory(ts, &trajectory));
	PetscCall(TSTrajectorySetType(trajectory, ts, TSTRAJECTORYVISUALIZATION));
	PetscCall(TSSetSolution(ts, X));
	PetscCall(TSTrajectorySetUp(trajectory, ts));
	PetscFunctionReturn(0);
}

static PetscErrorCode solve_clone(TS ts, Vec X)
{
	TS other;
	Vec Y;

	PetscFunctionBeginUser;
	PetscCall(TSClone(ts, &other));
	PetscCall(TSRemoveTrajectory(other));
	PetscCall(VecDuplicate(X, &Y));
	PetscCall(VecCopy(X, Y));
	PetscCall(TSSetTime(other, 0.0));
	PetscCall(TSSetStepNumber(other, 0));
	PetscCall(TSSetTimeStep(other, 0.01));
	PetscCall(TSSolve(other, Y));
	PetscCall(TSDestroy(&other));
	PetscCall(VecDestroy(&Y));
	PetscFunctionReturn(0);
}

static PetscErrorCode solve(TS ts, Vec X, Problem *problem, PetscInt number)
{
	PetscFunctionBeginUser;
	PetscCall(set_initial(X, number));
	PetscCall(TSSetTime(ts, 0.0));
	PetscCall(TSSetStepNumber(ts, 0));
	PetscCall(TSSetTimeStep(ts, 0.01));
	if (problem->switches && !number)
		PetscCall(use_another_type(ts, X));
	PetscCall(TSSetFromOptions(ts));
	if (problem->hand)
		PetscCall(solve_by_hand(ts, X));
	else
		PetscCall(solve_in_parts(ts, X, problem));
	PetscCall(VecView(X, problem->output));
	if (problem->later_mu > 0)
		problem->mu = problem->later_mu;
	if (problem->spoils)
		PetscCall(VecSet(X, 5));
	if (problem->lookup)
		PetscCall(look_up(ts, X, problem));
	for (PetscInt i = 0; i < problem->adjoints && !problem->lookup; i++)
		PetscCall(solve_adjoint(ts, problem));
	PetscFunctionReturn(0);
}

/* ---- The problem ---- */

static PetscErrorCode make_matrices(Problem *problem, PetscInt local)
{
	PetscInt parameters;
	PetscMPIInt rank;

	PetscFunctionBeginUser;
	PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
	parameters = rank == 0;
	PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, local, local, PETSC_DECIDE, PETSC_DECIDE, 2, NULL, 0,
			       NULL, &problem->jacobian));
	PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, parameters, PETSC_DECIDE, 1, NULL,
				 &problem->parameter));
	PetscCall(MatSetUp(problem->parameter));
	PetscCall(MatCreateVecs(problem->jacobian, &problem->lambda, NULL));
	PetscCall(MatCreateVecs(problem->parameter, &problem->mu_bar, NULL));
	PetscFunctionReturn(0);
}

static PetscErrorCode make_solver(TS *ts, Problem *problem)
{
	PetscInt direction = 0;
	PetscBool ends = PETSC_FALSE;

	PetscFunctionBeginUser;
	PetscCall(TSCreate(PETSC_COMM_WORLD, ts));
	PetscCall(TSSetType(*ts, TSRK));
	PetscCall(TSSetRHSFunction(*ts, NULL, rhs, problem));
	PetscCall(TSSetRHSJacobian(*ts, problem->jacobian, problem->jacobian, rhs_jacobian, problem));
	PetscCall(TSSetRHSJacobianP(*ts, problem->parameter, rhs_by_mu, problem));
	PetscCall(TSSetMaxTime(*ts, 0.5));
	PetscCall(TSSetExactFinalTime(*ts, TS_EXACTFINALTIME_MATCHSTEP));
	PetscCall(TSSetSaveTrajectory(*ts));
	PetscCall(TSSetApplicationContext(*ts, problem));
	if (problem->kill >= 0)
		PetscCall(TSMonitorSet(*ts, before_step, problem, NULL));
	if (problem->kill_adjoint >= 0)
		PetscCall(TSAdjointMonitorSet(*ts, before_adjoint, problem, NULL));
	if (problem->clips || problem->end || problem->retry)
		PetscCall(TSSetPostStep(*ts, after_step));
	if (problem->bounce)
		PetscCall(TSSetEventHandler(*ts, 1, &direction, &ends, height, bounce, problem));
	PetscFunctionReturn(0);
}

static PetscErrorCode get_options(Problem *problem, PetscInt *solves)
{
	char name[PETSC_MAX_PATH_LEN] = "gradient";

	PetscFunctionBeginUser;
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &problem->n, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", solves, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-adjoints", &problem->adjoints, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-pause", &problem->pause, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-work", &problem->work, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-end", &problem->end, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-retry", &problem->retry, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-halt", &problem->halt, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-kill", &problem->kill, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-kill_adjoint", &problem->kill_adjoint, NULL));
	PetscCall(PetscOptionsGetString(NULL, NULL, "-later", problem->later, sizeof problem->later,
					NULL));
	PetscCall(PetscOptionsGetReal(NULL, NULL, "-mu", &problem->mu, NULL));
	PetscCall(PetscOptionsGetReal(NULL, NULL, "-forget", &problem->later_mu, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-spoil", &problem->spoils, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-clip", &problem->clips, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-bounce", &problem->bounce, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-hand", &problem->hand, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-lookup", &problem->lookup, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-clone", &problem->clones, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-first", &problem->first, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-switch", &problem->switches, NULL));
	PetscCall(PetscOptionsGetString(NULL, NULL, "-output", name, sizeof name, NULL));
	PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, name, FILE_MODE_WRITE, &problem->output));
	PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
	Problem problem = {
		.mu = 3.0, .adjoints = 1, .n = 3, .work = 1, .kill = -1, .kill_adjoint = -1};
	PetscInt solves = 1, local = PETSC_DECIDE;
	TS ts;
	Vec X;

	PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
	PetscCall(get_options(&problem, &solves));
	PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &problem.n));
	PetscCall(make_matrices(&problem, 2 * local));
	PetscCall(make_solver(&ts, &problem));
	PetscCall(add_integral(ts, &problem, 2 * local));
	PetscCall(VecDuplicate(problem.lambda, &X));
	for (PetscInt i = 0; i < solves; i++) {
		if (i && *problem.later)
			PetscCall(PetscOptionsSetValue(NULL, "-ts_trajectory_max_cps_ram",
						       problem.later));
		PetscCall(solve(ts, X, &problem, i));
	}
	if (problem.clones)
		PetscCall(solve_clone(ts, X));
	PetscCall(TSDestroy(&ts));
	PetscCall(VecDestroy(&X));
	PetscCall(VecDestroy(&problem.lambda));
	PetscCall(VecDestroy(&problem.mu_bar));
	PetscCall(MatDestroy(&problem.jacobian));
	PetscCall(MatDestroy(&problem.parameter));
	PetscCall(MatDestroy(&problem.square));
	PetscCall(MatDestroy(&problem.nothing));
	PetscCall(PetscViewerDestroy(&problem.output));
	PetscCall(PetscFinalize());
	return 0;
}
