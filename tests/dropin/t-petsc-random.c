/* SPDX-License-Identifier: MIT */
/*
 * For t-petsc-random.sh: programs at random. A seed says how oscillators are solved, forward and
 * back: the method, what happens between steps and between several TSSolve(), how often. Each of
 * them is solved with PETSc's type "basic" first, which keeps the stages of all steps, then with
 * Reel's and random options. All solutions and gradients have the same bytes, or Reel says that a
 * step does not replay where the right-hand side is not a function of the solution and the time.
 *
 *	-first SEED -seeds N	runs N programs, from this seed on
 *	-show			prints each program, and each set of options
 *
 * It prints a line for each set of options with wrong results, and at the end a line with counts.
 * Some programs have a right-hand side that fails once, and resume from a restart file.
 */
#include <petscts.h>

#define MAX_SECTIONS 3

enum between { NOTHING, CLIPS_AFTER, CLIPS_BEFORE, EVALUATES, RESTARTS, BETWEEN };
enum event { NO_EVENT, BOUNCES, SWITCHES, BOUNCES_AND_SWITCHES, EVENTS };

/* A TSSolve(), and what the program does before it. */
typedef struct {
	PetscReal length, size;
	PetscReal clock; /* below 0: it is not set */
	PetscReal jump;	 /* the solution is multiplied by it */
	PetscReal factor; /* of the right-hand side */
	PetscBool restarts;
	PetscInt steps; /* after which a function ends it, or 0 */
} Section;

typedef struct {
	/* ---- Drawn ---- */
	uint64_t seed, random;
	const char *method;
	PetscBool is_adaptive, is_implicit, forgets;
	PetscInt oscillators, sections, sweeps, pause;
	enum between between;
	enum event event;
	PetscReal event_time; /* below 0: where the first solution passes 0 */
	Section section[MAX_SECTIONS];

	/* ---- While it runs ---- */
	PetscReal factor;
	PetscInt end; /* the step after which this section ends, or 0 */
	PetscInt calls_left; /* of the right-hand side, before it fails; below 0: it does not */
	PetscScalar *seen;
	PetscInt values, capacity;
	Mat jacobian;
	Vec lambda;
} Program;

/* ---- Random numbers ---- */

/* Each number is made of the seed and of its place in the sequence. */
static uint64_t draw(Program *program, uint64_t below)
{
	uint64_t x = program->random += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) % below;
}

static PetscBool one_in(Program *program, uint64_t n)
{
	return (PetscBool)(draw(program, n) == 0);
}

static void draw_section(Program *program, PetscInt number)
{
	Section *section = &program->section[number];

	*section = (Section){.length = 0.1 + 0.01 * (PetscReal)draw(program, 30),
			     .size = 0.01 + 0.003 * (PetscReal)draw(program, 3),
			     .clock = -1,
			     .jump = 1,
			     .factor = 3,
			     .steps = one_in(program, 4) ? 3 + (PetscInt)draw(program, 9) : 0};
	if (!number)
		return;
	/* PETSc does not find an event before which the clock was set. */
	if (program->event == NO_EVENT && one_in(program, 2))
		section->clock = 0.07 * (PetscReal)draw(program, 4);
	if (one_in(program, 2))
		section->jump = 0.8125;
	if (one_in(program, 3))
		section->factor = 2;
	section->restarts = one_in(program, 3);
}

static void draw_program(Program *program, uint64_t seed)
{
	static const char *const methods[] = {"-ts_type rk -ts_rk_type 4",   "-ts_type rk -ts_rk_type 3bs",
					      "-ts_type rk -ts_rk_type 5dp", "-ts_type rk -ts_rk_type 2a",
					      "-ts_type cn",		     "-ts_type beuler",
					      "-ts_type theta -ts_theta_theta 0.7"};
	uint64_t method;

	*program = (Program){.seed = seed, .random = seed << 32, .calls_left = -1, .event_time = -1};
	method = draw(program, sizeof methods / sizeof *methods);
	program->method = methods[method];
	program->is_implicit = (PetscBool)(method > 3);
	program->is_adaptive = (PetscBool)(method > 0 && !program->is_implicit && one_in(program, 3));
	program->oscillators = 1 + (PetscInt)draw(program, 3);
	program->sections = one_in(program, 2) ? 1 : 1 + (PetscInt)draw(program, MAX_SECTIONS);
	program->sweeps = 1 + one_in(program, 3);
	program->pause = one_in(program, 3) ? 1 + (PetscInt)draw(program, 9) : 0;
	program->between = one_in(program, 2) ? NOTHING : (enum between)draw(program, BETWEEN);
	program->event = one_in(program, 2) ? NO_EVENT : (enum event)draw(program, EVENTS);
	if (one_in(program, 2))
		program->event_time = 0.0613 + 0.01 * (PetscReal)draw(program, 8);
	program->forgets = one_in(program, 4);
	for (PetscInt i = 0; i < program->sections; i++)
		draw_section(program, i);
}

static PetscBool switches(const Program *program)
{
	PetscBool does = (PetscBool)(program->event >= SWITCHES);

	for (PetscInt i = 1; i < program->sections; i++)
		if (program->section[i].factor != program->section[i - 1].factor)
			does = PETSC_TRUE;
	return does;
}

/* ---- The equations: x' = (1 + t / 8) y, y' = factor (1 - x^2) y - x + t / 4 ---- */

static PetscErrorCode rhs(TS ts, PetscReal t, Vec X, Vec F, void *context)
{
	Program *program = context;
	const PetscScalar *x;
	PetscScalar *f;
	PetscInt n;

	PetscFunctionBeginUser;
	(void)ts;
	if (program->calls_left >= 0 && program->calls_left-- == 0)
		PetscFunctionReturn(PETSC_ERR_USER);
	PetscCall(VecGetLocalSize(X, &n));
	PetscCall(VecGetArrayRead(X, &x));
	PetscCall(VecGetArrayWrite(F, &f));
	for (PetscInt i = 0; i < n; i += 2) {
		f[i] = (1 + t / 8) * x[i + 1];
		f[i + 1] = program->factor * (1.0 - x[i] * x[i]) * x[i + 1] - x[i] + t / 4;
	}
	PetscCall(VecRestoreArrayWrite(F, &f));
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscFunctionReturn(0);
}

static PetscErrorCode rhs_jacobian(TS ts, PetscReal t, Vec X, Mat A, Mat B, void *context)
{
	const Program *program = context;
	const PetscScalar *x;
	PetscInt first, last;

	PetscFunctionBeginUser;
	(void)ts;
	(void)A;
	PetscCall(VecGetOwnershipRange(X, &first, &last));
	PetscCall(VecGetArrayRead(X, &x));
	for (PetscInt i = first; i < last; i += 2) {
		const PetscScalar *pair = x + (i - first);
		PetscInt rows[2] = {i, i + 1};
		PetscScalar values[4] = {0, 1 + t / 8,
					 -2.0 * program->factor * pair[0] * pair[1] - 1.0,
					 program->factor * (1.0 - pair[0] * pair[0])};

		PetscCall(MatSetValues(B, 2, rows, 2, rows, values, INSERT_VALUES));
	}
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
	PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
	PetscFunctionReturn(0);
}

/* ---- Between steps ---- */

static PetscErrorCode clip(TS ts)
{
	Vec X;

	PetscFunctionBeginUser;
	PetscCall(TSGetSolution(ts, &X));
	PetscCall(VecScale(X, 0.9990234375));
	PetscFunctionReturn(0);
}

static PetscErrorCode after_step(TS ts)
{
	Program *program;
	PetscInt step;

	PetscFunctionBeginUser;
	PetscCall(TSGetApplicationContext(ts, &program));
	PetscCall(TSGetStepNumber(ts, &step));
	if (program->between == CLIPS_AFTER)
		PetscCall(clip(ts));
	if (program->between == RESTARTS && step % 3 == 0)
		PetscCall(TSRestartStep(ts));
	if (program->end == step)
		PetscCall(TSSetConvergedReason(ts, TS_CONVERGED_USER));
	PetscFunctionReturn(0);
}

static PetscErrorCode look_for_event(TS ts, PetscReal t, Vec X, PetscScalar *value, void *context)
{
	const Program *program = context;
	const PetscScalar *x;
	PetscMPIInt rank;
	MPI_Comm comm;

	PetscFunctionBeginUser;
	*value = t - program->event_time;
	if (program->event_time >= 0)
		PetscFunctionReturn(0);
	PetscCall(PetscObjectGetComm((PetscObject)ts, &comm));
	PetscCallMPI(MPI_Comm_rank(comm, &rank));
	PetscCall(VecGetArrayRead(X, &x));
	if (!rank)
		*value = x[0];
	PetscCall(VecRestoreArrayRead(X, &x));
	PetscCallMPI(MPI_Bcast(value, 1, MPIU_SCALAR, 0, comm));
	PetscFunctionReturn(0);
}

/* The adjoint solve switches the right-hand side back, unless the program forgets it. */
static PetscErrorCode handle_event(TS ts, PetscInt n, PetscInt *events, PetscReal t, Vec X,
				   PetscBool is_forward, void *context)
{
	Program *program = context;

	PetscFunctionBeginUser;
	(void)ts;
	(void)n;
	(void)events;
	(void)t;
	if (program->event >= SWITCHES && (is_forward || !program->forgets))
		program->factor = is_forward ? program->factor / 2 : program->factor * 2;
	if (is_forward && program->event != SWITCHES)
		PetscCall(VecScale(X, 0.75));
	PetscFunctionReturn(0);
}

static PetscErrorCode set_functions(TS ts, Program *program)
{
	PetscInt direction = 0;
	PetscBool ends = PETSC_FALSE;

	PetscFunctionBeginUser;
	PetscCall(TSSetApplicationContext(ts, program));
	PetscCall(TSSetPostStep(ts, after_step));
	if (program->between == CLIPS_BEFORE)
		PetscCall(TSSetPreStep(ts, clip));
	if (program->between == EVALUATES)
		PetscCall(TSSetPostEvaluate(ts, clip));
	if (program->event != NO_EVENT)
		PetscCall(TSSetEventHandler(ts, 1, &direction, &ends, look_for_event, handle_event,
					    program));
	PetscFunctionReturn(0);
}

/* ---- Sweeps ---- */

static PetscErrorCode see(Program *program, Vec X)
{
	const PetscScalar *x;
	PetscInt n;

	PetscFunctionBeginUser;
	PetscCall(VecGetLocalSize(X, &n));
	if (program->values + n > program->capacity) {
		program->capacity = 2 * program->capacity + n + 64;
		PetscCall(PetscRealloc((size_t)program->capacity * sizeof *program->seen,
				       &program->seen));
	}
	PetscCall(VecGetArrayRead(X, &x));
	PetscCall(PetscArraycpy(program->seen + program->values, x, n));
	PetscCall(VecRestoreArrayRead(X, &x));
	program->values += n;
	PetscFunctionReturn(0);
}

static PetscErrorCode set_initial(Vec X, PetscInt sweep)
{
	PetscScalar *x;
	PetscInt first, last;

	PetscFunctionBeginUser;
	PetscCall(VecGetOwnershipRange(X, &first, &last));
	PetscCall(VecGetArrayWrite(X, &x));
	for (PetscInt i = first; i < last; i++)
		x[i - first] = i % 2 ? -1.2345678 : 0.25 + 0.1 * (PetscReal)(i + sweep);
	PetscCall(VecRestoreArrayWrite(X, &x));
	PetscFunctionReturn(0);
}

static PetscErrorCode solve_section(TS ts, Vec X, Program *program, const Section *section)
{
	PetscInt step;
	PetscReal t;

	PetscFunctionBeginUser;
	PetscCall(TSGetStepNumber(ts, &step));
	program->end = section->steps ? step + section->steps : 0;
	program->factor *= section->factor / 3;
	if (section->jump != 1)
		PetscCall(VecScale(X, section->jump));
	if (section->clock >= 0)
		PetscCall(TSSetTime(ts, section->clock));
	if (section->restarts)
		PetscCall(TSRestartStep(ts));
	PetscCall(TSGetTime(ts, &t));
	PetscCall(TSSetTimeStep(ts, section->size));
	PetscCall(TSSetMaxTime(ts, t + section->length));
	PetscCall(TSSolve(ts, X));
	PetscFunctionReturn(0);
}

static PetscErrorCode solve_adjoint(TS ts, Program *program, PetscInt first)
{
	PetscInt step;

	PetscFunctionBeginUser;
	PetscCall(TSGetStepNumber(ts, &step));
	while (step > first) {
		PetscInt steps = step - first;

		if (program->pause)
			steps = PetscMin(steps, program->pause);
		PetscCall(TSAdjointSetSteps(ts, steps));
		PetscCall(TSAdjointSolve(ts));
		PetscCall(TSGetStepNumber(ts, &step));
		PetscCall(see(program, program->lambda));
	}
	PetscFunctionReturn(0);
}

/* Each section's steps are reversed with its right-hand side. */
static PetscErrorCode sweep(TS ts, Vec X, Program *program, PetscInt number)
{
	PetscInt first[MAX_SECTIONS];

	PetscFunctionBeginUser;
	program->factor = 3;
	PetscCall(set_initial(X, number));
	PetscCall(TSSetTime(ts, 0));
	PetscCall(TSSetStepNumber(ts, 0));
	for (PetscInt i = 0; i < program->sections; i++) {
		PetscCall(TSGetStepNumber(ts, &first[i]));
		PetscCall(solve_section(ts, X, program, &program->section[i]));
		PetscCall(see(program, X));
	}
	PetscCall(VecSet(program->lambda, 1));
	PetscCall(TSSetCostGradients(ts, 1, &program->lambda, NULL));
	if (!switches(program) && !program->pause)
		first[program->sections - 1] = 0;
	for (PetscInt i = program->sections - 1; i >= 0; i--) {
		PetscCall(solve_adjoint(ts, program, first[i]));
		if (!program->forgets)
			program->factor /= program->section[i].factor / 3;
	}
	PetscFunctionReturn(0);
}

static PetscErrorCode solve(TS ts, Vec X, Program *program)
{
	PetscFunctionBeginUser;
	PetscCall(TSSetRHSFunction(ts, NULL, rhs, program));
	PetscCall(TSSetRHSJacobian(ts, program->jacobian, program->jacobian, rhs_jacobian, program));
	PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
	PetscCall(TSSetSaveTrajectory(ts));
	PetscCall(set_functions(ts, program));
	PetscCall(TSSetFromOptions(ts));
	program->values = 0;
	for (PetscInt i = 0; i < program->sweeps; i++)
		PetscCall(sweep(ts, X, program, i));
	PetscFunctionReturn(0);
}

/* Runs the program with these options of the trajectory. */
static PetscErrorCode run(Program *program, const char *trajectory)
{
	PetscInt local = 2 * program->oscillators;
	PetscErrorCode code;
	char options[512];
	TS ts;
	Vec X;

	PetscFunctionBeginUser;
	PetscCall(PetscSNPrintf(options, sizeof options, "%s -ts_adapt_type %s %s", program->method,
				program->is_adaptive ? "basic" : "none", trajectory));
	PetscCall(PetscOptionsInsertString(NULL, options));
	PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, local, local, PETSC_DECIDE, PETSC_DECIDE, 2, NULL, 0,
			       NULL, &program->jacobian));
	PetscCall(MatCreateVecs(program->jacobian, &program->lambda, &X));
	PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
	code = solve(ts, X, program);
	PetscCall(TSDestroy(&ts));
	PetscCall(VecDestroy(&X));
	PetscCall(VecDestroy(&program->lambda));
	PetscCall(MatDestroy(&program->jacobian));
	PetscFunctionReturn(code);
}

/* ---- Options ---- */

typedef struct {
	char text[512];
	PetscBool takes_again, is_compared, is_restarted;
} Options;

/* All planners but the first two need the number of steps, and the last one as many disk slots. */
static void draw_planner(Program *program, int slots, int disk_slots, Options *options)
{
	static const char *const planners[] = {"online",     "periodic",     "binomial",
					       "multistage", "hierarchical", "disk-revolve"};
	PetscBool is_known = (PetscBool)(!program->is_adaptive && program->event == NO_EVENT);
	uint64_t planner = draw(program, is_known ? 6 : 2);

	PetscSNPrintf(options->text, sizeof options->text,
		      " -ts_trajectory_max_cps_ram %d -ts_trajectory_max_cps_disk %d"
		      " -ts_trajectory_reel_planner %s",
		      slots, planner == 5 ? 9999 : disk_slots, planners[planner]);
}

static void draw_checkpoints(Program *program, Options *options)
{
	int slots = 1 + (int)draw(program, one_in(program, 3) ? 60 : 6);
	int more = 1 + (int)draw(program, 5);
	size_t bytes = sizeof options->text;

	switch (draw(program, 5)) {
	case 0:
		PetscSNPrintf(options->text, bytes, " -ts_trajectory_max_units_ram %d", slots);
		break;
	case 1:
		PetscSNPrintf(options->text, bytes,
			      " -ts_trajectory_max_cps_ram %d -ts_trajectory_max_cps_disk %d", slots,
			      more);
		break;
	case 2:
		PetscSNPrintf(options->text, bytes,
			      " -ts_trajectory_stride %d -ts_trajectory_max_cps_ram %d", 1 + more,
			      slots);
		break;
	case 3:
		draw_planner(program, slots, more, options);
		break;
	default:
		PetscSNPrintf(options->text, bytes, " -ts_trajectory_max_cps_ram %d", slots);
	}
}

/* True if a restart file has all that the program needs, and a resumed step begins with it. */
static PetscBool may_restart(const Program *program)
{
	return (PetscBool)(program->event == NO_EVENT && program->sections == 1 &&
			   program->sweeps == 1 && !program->pause &&
			   program->between != CLIPS_BEFORE);
}

static void draw_options(Program *program, Options *options)
{
	uint64_t kind = draw(program, 5);
	PetscBool is_audited, has_budget, has_store, learns;

	*options = (Options){.text = ""};
	if (kind == 1)
		PetscStrcpy(options->text, " -ts_trajectory_solution_only");
	else if (kind > 1)
		draw_checkpoints(program, options);
	if (kind > 1 && may_restart(program) && one_in(program, 2)) {
		options->is_restarted = PETSC_TRUE;
		PetscSNPrintf(options->text + strlen(options->text), 128,
			      " -ts_trajectory_reel_restart restart-%d-%d"
			      " -ts_trajectory_reel_restart_seconds 1e-9",
			      (int)program->seed, (int)draw(program, 1000));
	}
	is_audited = one_in(program, 4);
	has_budget = one_in(program, 3);
	has_store = one_in(program, 4);
	/* With a budget alone the plan is learned, and steps are taken again. */
	learns = (PetscBool)(kind <= 1 && has_budget && !has_store);
	options->takes_again = (PetscBool)(kind > 0 || learns);
	options->is_compared = (PetscBool)((kind == 1 && !learns) || program->event != NO_EVENT);
	/* Where nothing is compared, a step that does not replay is not noticed. */
	if (is_audited || (switches(program) && !options->is_compared)) {
		options->is_compared = PETSC_TRUE;
		PetscStrcat(options->text, " -ts_trajectory_reel_audit");
	}
	if (has_budget)
		PetscStrcat(options->text, " -ts_trajectory_reel_budget 4M");
	if (has_store)
		PetscStrcat(options->text, " -ts_trajectory_reel_store memory=8M");
}

/*
 * PETSc's type "memory" keeps stages, too, and does not do all that "basic" does: it takes the last
 * solution from the program's vector.
 */
static PetscBool is_for_memory(const Program *program)
{
	return (PetscBool)(program->event == NO_EVENT && program->sections == 1 &&
			   program->between != CLIPS_AFTER);
}

/* Clears all options that draw_options() may have set. */
static PetscErrorCode clear_options(void)
{
	static const char *const names[] = {
		"solution_only", "max_cps_ram", "max_cps_disk", "max_units_ram", "stride",
		"reel_planner",	 "reel_audit",	"reel_budget",	"reel_store",	 "reel_restart",
		"reel_restart_seconds"};
	char name[64];

	PetscFunctionBeginUser;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		PetscCall(PetscSNPrintf(name, sizeof name, "-ts_trajectory_%s", names[i]));
		PetscCall(PetscOptionsClearValue(NULL, name));
	}
	PetscCall(PetscOptionsClearValue(NULL, "-ts_theta_theta"));
	PetscFunctionReturn(0);
}

/* ---- Comparisons ---- */

static char message[1024]; /* of the last error */

static PetscErrorCode note_error(MPI_Comm comm, int line, const char *function, const char *file,
				 PetscErrorCode code, PetscErrorType type, const char *text,
				 void *context)
{
	(void)comm;
	(void)line;
	(void)function;
	(void)file;
	(void)context;
	if (type == PETSC_ERROR_INITIAL)
		PetscSNPrintf(message, sizeof message, "%s", text);
	return code;
}

/* Half of the calls fall into the forward sweep, and none into the adjoint solve of RK methods. */
static PetscErrorCode fail_and_run_again(Program *program, const char *trajectory)
{
	PetscFunctionBeginUser;
	program->calls_left = 20 + (PetscInt)draw(program, 200);
	if (!run(program, trajectory)) {
		program->calls_left = -1;
		PetscFunctionReturn(0);
	}
	program->calls_left = -1;
	message[0] = 0;
	PetscFunctionReturn(run(program, trajectory));
}

static PetscBool is_same(const Program *program, const PetscScalar *wanted, PetscInt values)
{
	int same = program->values == values &&
		   !memcmp(program->seen, wanted, (size_t)values * sizeof *wanted);

	MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD);
	return (PetscBool)same;
}

typedef struct {
	PetscInt same, refused, wrong;
	PetscBool shows;
} Counts;

static PetscErrorCode compare(Program *program, PetscBool by_reel, const PetscScalar *wanted,
			      PetscInt values, Counts *counts)
{
	char trajectory[600];
	const char *result = "the same";
	Options options = {.text = ""};
	PetscErrorCode code;

	PetscFunctionBeginUser;
	if (by_reel)
		draw_options(program, &options);
	PetscCall(PetscSNPrintf(trajectory, sizeof trajectory, "-ts_trajectory_type %s%s",
				by_reel ? "reel" : "memory", options.text));
	message[0] = 0;
	code = options.is_restarted ? fail_and_run_again(program, trajectory)
				    : run(program, trajectory);
	PetscCall(clear_options());
	if (!code && is_same(program, wanted, values))
		counts->same++;
	else if (code && options.takes_again && options.is_compared && switches(program) &&
		 strstr(message, "does not replay")) {
		counts->refused++;
		result = "refused";
	} else {
		counts->wrong++;
		result = code ? "an error" : "other bits";
	}
	if (counts->shows || *result == 'a' || *result == 'o')
		PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %d, %s %s: %s %s\n", (int)program->seed,
				      program->method, trajectory, result, message));
	PetscFunctionReturn(0);
}

static PetscErrorCode try_program(uint64_t seed, Counts *counts)
{
	Program program;
	PetscScalar *wanted;
	PetscInt values;

	PetscFunctionBeginUser;
	draw_program(&program, seed);
	if (counts->shows)
		PetscCall(PetscPrintf(PETSC_COMM_WORLD,
				      "seed %d: %s, adaptive %d, sections %d, sweeps %d, pause %d, "
				      "between %d, event %d at %g, forgets %d\n",
				      (int)seed, program.method, program.is_adaptive,
				      (int)program.sections, (int)program.sweeps, (int)program.pause,
				      program.between, program.event, (double)program.event_time,
				      program.forgets));
	PetscCall(run(&program, "-ts_trajectory_type basic"));
	values = program.values;
	PetscCall(PetscMalloc1((size_t)values, &wanted));
	PetscCall(PetscArraycpy(wanted, program.seen, values));
	if (is_for_memory(&program))
		PetscCall(compare(&program, PETSC_FALSE, wanted, values, counts));
	for (int i = 0; i < 4; i++)
		PetscCall(compare(&program, PETSC_TRUE, wanted, values, counts));
	PetscCall(PetscFree(wanted));
	PetscCall(PetscFree(program.seen));
	PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
	PetscInt first = 1, seeds = 20;
	Counts counts = {0};

	PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
	PetscCall(PetscOptionsGetInt(NULL, NULL, "-seeds", &seeds, NULL));
	PetscCall(PetscOptionsGetBool(NULL, NULL, "-show", &counts.shows, NULL));
	PetscCall(PetscPushErrorHandler(note_error, NULL));
	for (PetscInt i = 0; i < seeds; i++)
		if (try_program((uint64_t)(first + i), &counts))
			PetscCall(PetscPrintf(PETSC_COMM_WORLD, "seed %d: PETSc itself fails: %s\n",
					      (int)(first + i), message));
	PetscCall(PetscPopErrorHandler());
	PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d the same, %d refused, %d wrong\n",
			      (int)counts.same, (int)counts.refused, (int)counts.wrong));
	PetscCall(PetscFinalize());
	return counts.wrong > 0;
}
