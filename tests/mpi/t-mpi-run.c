/* SPDX-License-Identifier: MIT */
/*
 * Tests runs of a plan over ranks, whose steps exchange messages: the gradient is equal to the
 * gradient with one tape, an error of one rank ends the run of all, ranks agree on costs, and runs
 * that are killed are resumed with the same bits.
 */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <sys/time.h>
#include <unistd.h>

#include <reel/omp.h>

#include "helpers/ranks.h"

enum { CELLS = 16, STEPS = 300, SLOTS = 6 };

/* CELLS cells of a ring, and before them a copy of the last cell of the left neighbour. */
struct state {
	double u[CELLS + 1];
};

struct ring {
	MPI_Comm comm;
	int left, right;
	int64_t failing; /* the step whose record fails on the last rank, or -1 */
};

static int shift(struct ring *ring, struct state *state, reel_tape *tape)
{
	int error = reel_mpi_sendrecv(tape, &state->u[CELLS], 1, MPI_DOUBLE, ring->right, 0,
				      &state->u[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, ring->comm,
				      MPI_STATUS_IGNORE);

	for (int i = 0; i <= CELLS && tape; i++)
		reel_push(tape, state->u[i]);
	for (int i = CELLS; i > 0; i--)
		state->u[i] -= 0.1 * state->u[i] * (state->u[i] - state->u[i - 1]);
	return error;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	int error = 0;

	for (int64_t step = first; step < last && !error; step++)
		error = shift(context, state, NULL);
	return error;
}

static int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	struct ring *ring = context;
	int error = 0;

	for (int64_t step = first; step < last && !error; step++) {
		error = shift(ring, state, tape);
		if (step == ring->failing && rank == ranks - 1)
			error = -EDOM;
	}
	return error;
}

static int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct ring *ring = context;
	double *u_bar = ((struct state *)adjoint)->u;
	int error = 0;

	for (int64_t step = last; step-- > first && !error;) {
		double u[CELLS + 1];

		for (int i = CELLS; i >= 0; i--)
			u[i] = reel_pop(tape, double);
		for (int i = 1; i <= CELLS; i++) {
			u_bar[i - 1] += 0.1 * u[i] * u_bar[i];
			u_bar[i] *= 1 - 0.1 * (2 * u[i] - u[i - 1]);
		}
		error = reel_mpi_sendrecv_reverse(tape, &u_bar[CELLS], 1, MPI_DOUBLE, ring->right,
						  0, &u_bar[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0,
						  ring->comm, MPI_STATUS_IGNORE);
	}
	return error;
}

static const reel_model model = {sizeof(struct state), advance, record, reverse, NULL, NULL};

static struct ring make_ring(void)
{
	return (struct ring){MPI_COMM_WORLD, (rank + ranks - 1) % ranks, (rank + 1) % ranks, -1};
}

static struct state first_state(void)
{
	struct state state = {{0}};

	for (int i = 1; i <= CELLS; i++)
		state.u[i] = 1 + 1.0 / (rank * CELLS + i);
	return state;
}

static const struct state seed = {{0, 1, -2, 0.5, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2}};

static struct state gradient_by_one_tape(void)
{
	struct ring ring = make_ring();
	struct state state = first_state(), bar = seed;
	reel_tape tape = {0};

	record(&ring, &state, 0, STEPS, &tape);
	reverse(&ring, &bar, 0, STEPS, &tape);
	reel_tape_close(&tape);
	return bar;
}

static bool is_gradient(const struct state *bar)
{
	struct state right = gradient_by_one_tape();

	return !memcmp(bar, &right, sizeof right);
}

static reel_plan *plan_with(int64_t slots)
{
	struct reel_problem problem = {.steps = STEPS, .tiers = 1, .tier = {{.slots = slots}}};
	reel_plan *plan = NULL;

	reel_plan_open(&plan, REEL_BINOMIAL, &problem);
	return plan;
}

/* Runs both sweeps, or the rest of them if the run is resumed. */
static int sweep(reel_run *run, struct ring *ring, struct state *bar, bool resumes)
{
	struct state state = first_state();
	int error = resumes ? reel_run_resume(run, ring, bar) : -ENOENT;

	if (error && error != -ENOENT)
		return error;
	if (!error && rank == 0)
		printf("resumed\n");
	if (reel_run_is_reversing(run))
		return reel_run_reverse(run, ring, &state, bar);
	*bar = seed;
	error = reel_run_forward(run, ring, &state);
	return error ? error : reel_run_reverse(run, ring, &state, bar);
}

static int run_with(int64_t slots, int64_t failing, struct state *bar, bool *names)
{
	struct ring ring = make_ring();
	reel_plan *plan = plan_with(slots);
	reel_run *run;
	int error = reel_mpi_run_open(&run, plan, &model, NULL, NULL, MPI_COMM_WORLD);

	ring.failing = failing;
	if (!error) {
		error = sweep(run, &ring, bar, false);
		*names = strstr(reel_error_text(error),
				rank == ranks - 1 ? "record of steps" : "rank");
		reel_run_close(run);
	}
	reel_plan_close(plan);
	return error;
}

static bool gradients(void)
{
	struct state bar;
	bool names;

	return holds(!run_with(SLOTS, -1, &bar, &names)) && holds(is_gradient(&bar));
}

/* The components of a gradient are on all ranks but the first. More digits of so few save nothing. */
static bool digits(void)
{
	static const struct reel_field field = {REEL_FIELD_DOUBLE, 1, {CELLS + 1}};
	struct reel_loss loss = {.field = &field, .fields = 1};
	struct reel_run_options options = {.loss = &loss};
	struct reel_accuracy_report report, of_0;
	struct ring ring = make_ring();
	struct state bar, right = gradient_by_one_tape();
	reel_accuracy *accuracy = NULL;
	reel_plan *plan = plan_with(SLOTS);
	reel_run *run = NULL;
	bool passed = holds(!reel_mpi_run_open(&run, plan, &model, &options, NULL, MPI_COMM_WORLD));
	double largest = 0;
	int again;

	passed &= holds(!reel_accuracy_open(&accuracy, run, 2, rank ? CELLS + 1 : 0));
	do
		passed &= holds(!sweep(run, &ring, &bar, false));
	while ((again = reel_accuracy_again(accuracy, bar.u)) > 0);
	reel_accuracy_get_report(accuracy, &report);
	for (int i = 0; i <= CELLS && rank; i++) {
		passed &= holds(fabs(bar.u[i] - right.u[i]) <= report.error);
		largest = fmax(largest, fabs(bar.u[i]));
	}
	MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	passed &= holds(!again && report.largest == largest && report.error <= 1e-2 * largest);
	passed &= holds(report.error > 0 && memcmp(&bar, &right, sizeof bar) != 0);
	of_0 = report;
	MPI_Bcast(&of_0, sizeof of_0, MPI_BYTE, 0, MPI_COMM_WORLD);
	passed &= holds(!memcmp(&report, &of_0, sizeof report));
	reel_accuracy_close(accuracy);
	reel_run_close(run);
	reel_plan_close(plan);
	return passed;
}

/*
 * Steps are recorded with the communicators of the contexts, and reversed with the communicator of
 * the sweep. The tapes have the choices of MPI.
 */
static bool looks_ahead(void)
{
	enum { TAPES = 4 };
	struct reel_omp_options options = {.threads = 2, .tapes = TAPES};
	struct ring ring = make_ring(), rings[TAPES + 1];
	void *contexts[TAPES + 1];
	struct state state = first_state(), bar = seed;
	struct reel_omp_stats stats = {0};
	reel_plan *plan = plan_with(SLOTS);
	reel_run *run = NULL;
	bool passed = true;

	for (int i = 0; i <= TAPES; i++) {
		rings[i] = ring;
		MPI_Comm_dup(MPI_COMM_WORLD, &rings[i].comm);
		passed &= holds(!reel_mpi_attach(rings[i].comm, 0));
		contexts[i] = &rings[i];
	}
	options.contexts = contexts;
	passed &= holds(!reel_mpi_run_open(&run, plan, &model, NULL, NULL, MPI_COMM_WORLD));
	passed &= holds(!reel_run_forward(run, &ring, &state));
	passed &= holds(!reel_omp_run_reverse(run, &ring, &state, &bar, &options, &stats));
	passed &= holds(is_gradient(&bar));
#ifdef _OPENMP
	passed &= holds(stats.ahead > 0);
#endif
	reel_run_close(run);
	reel_plan_close(plan);
	for (int i = 0; i <= TAPES; i++)
		MPI_Comm_free(&rings[i].comm);
	return passed;
}

static bool failures(void)
{
	struct state bar;
	bool names = false;
	int error = run_with(SLOTS, STEPS / 2, &bar, &names);

	return holds(error == (rank == ranks - 1 ? -EDOM : -ECANCELED)) && holds(names);
}

/* A run that stops before its first action. */
enum { AT_ONCE = -2 };

/* Each rank drives its run itself. Only one rank knows the end of the loop, and when to stop. */
static int drive(struct state *state, struct state *bar, int64_t stops_at)
{
	struct reel_part part = {state, sizeof *state};
	struct reel_run_options options = {.state_part = &part, .state_parts = 1};
	struct reel_problem problem = {.steps = REEL_UNKNOWN_STEPS, .tiers = 1,
				       .tier = {{.slots = SLOTS}}};
	struct ring ring = make_ring();
	reel_plan *plan = NULL;
	reel_action action;
	reel_run *run = NULL;
	int error;

	reel_plan_open(&plan, REEL_ONLINE, &problem);
	error = reel_mpi_run_open(&run, plan, NULL, &options, NULL, MPI_COMM_WORLD);
	if (!error)
		error = reel_run_start(run, NULL, NULL, NULL);
	if (!error && rank == ranks - 1 && stops_at == AT_ONCE)
		reel_run_stop(run, -EDOM);
	while (!error && !(error = reel_run_next(run, &action)) &&
	       action.kind != REEL_ACTION_DONE) {
		reel_tape *tape = reel_run_tape(run);
		int own = action.kind == REEL_ACTION_ADVANCE ?
				  advance(&ring, state, action.first, action.last)
			  : action.kind == REEL_ACTION_RECORD ?
				  record(&ring, state, action.first, action.last, tape)
				  : reverse(&ring, bar, action.first, action.last, tape);

		if (rank == 0 && action.kind == REEL_ACTION_ADVANCE && action.last == STEPS)
			reel_run_end_loop(run);
		if (rank == ranks - 1 && action.first == stops_at)
			own = -EDOM;
		reel_run_stop(run, own);
	}
	reel_run_close(run);
	reel_plan_close(plan);
	return error;
}

static bool driven(void)
{
	struct state state = first_state(), bar = seed;
	bool passed = holds(!drive(&state, &bar, -1)) && holds(is_gradient(&bar));

	state = first_state();
	passed &= holds(drive(&state, &bar, AT_ONCE) == (rank == ranks - 1 ? -EDOM : -ECANCELED));
	return passed &
	       holds(drive(&state, &bar, STEPS / 2) == (rank == ranks - 1 ? -EDOM : -ECANCELED));
}

static bool agreements(void)
{
	int64_t value = rank == 1 ? 77 : -rank;
	bool passed = holds(!reel_mpi_agree(MPI_COMM_WORLD, 0, &value)) && holds(value == 77);
	int error = reel_mpi_agree(MPI_COMM_WORLD, rank == ranks - 1 ? -EDOM : 0, &value);

	passed &= holds(error == (rank == ranks - 1 ? -EDOM : -ECANCELED));
	passed &= holds(rank == ranks - 1 || strstr(reel_error_text(error), "failed"));
	passed &= holds(reel_mpi_agree(MPI_COMM_WORLD, rank, NULL) == ranks - 1);
	value = 5;
	passed &= holds(!reel_mpi_agree(MPI_COMM_SELF, 0, &value)) && holds(value == 5);
	return passed & holds(reel_mpi_agree(MPI_COMM_SELF, -EDOM, NULL) == -EDOM);
}

static bool different_plans(void)
{
	struct state bar;
	bool names;

	return holds(run_with(SLOTS + (rank == 0), -1, &bar, &names) == -EINVAL);
}

static bool costs(void)
{
	struct reel_costs costs = {.steps = 1000,
				   .advance_seconds = 1e-3 * (rank + 1),
				   .record_seconds = 2e-3,
				   .reverse_seconds = 3e-3,
				   .state_bytes = rank == 1 ? 2000 : 1000,
				   .tape_bytes = 4000,
				   .memory_bytes =
					   rank == 0 ? 0 : 400000u - 1000u * (unsigned)rank};
	struct reel_choice choice, of_0;
	bool passed = holds(!reel_mpi_costs_choose(&costs, MPI_COMM_WORLD, &choice));

	of_0 = choice;
	MPI_Bcast(&of_0, sizeof of_0, MPI_BYTE, 0, MPI_COMM_WORLD);
	passed &= holds(!memcmp(&choice, &of_0, sizeof choice));
	passed &= holds(costs.memory_bytes == 400000u - 1000u * (unsigned)(ranks - 1));
	passed &= holds(costs.advance_seconds == 1e-3 * ranks && costs.state_bytes == 2000);
	costs.memory_bytes = rank == 1 ? 10 : 0;
	passed &= holds(reel_mpi_costs_choose(&costs, MPI_COMM_WORLD, &choice) == -ENOSPC);
	passed &= holds(strstr(reel_error_text(-ENOSPC), choice.reason));
	costs.memory_bytes = UINT64_MAX;
	costs.tiers = REEL_MAX_TIERS;
	passed &= holds(reel_mpi_costs_choose(&costs, MPI_COMM_WORLD, &choice) == -EINVAL);
	passed &= holds(strstr(choice.reason, "there are at most 3"));
	passed &= holds(costs.memory_bytes == UINT64_MAX);
	costs.steps += rank;
	passed &= holds(reel_mpi_costs_choose(&costs, MPI_COMM_WORLD, &choice) == -EINVAL);
	return passed & holds(strstr(choice.reason, "different steps"));
}

/* ---- Ranks that leave a sweep ---- */

static jmp_buf caller;

/* The last rank leaves in the middle of the forward sweep, whose steps send no messages. */
static int leave(void *context, void *state, int64_t first, int64_t last)
{
	(void)context, (void)state;
	if (rank == ranks - 1 && first <= STEPS / 2 && last > STEPS / 2)
		longjmp(caller, 1);
	return 0;
}

static int record_nothing(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)tape;
	return leave(context, state, first, last);
}

static int reverse_nothing(void *context, void *adjoint, int64_t first, int64_t last,
			   reel_tape *tape)
{
	(void)context, (void)adjoint, (void)first, (void)last, (void)tape;
	return 0;
}

/* If a callback leaves a sweep by longjmp() or an exception, no rank waits for it for ever. */
static bool a_rank_leaves(void)
{
	static const reel_model leaving = {.state_bytes = sizeof(struct state), .advance = leave,
					   .record = record_nothing, .reverse = reverse_nothing};
	struct state state = first_state();
	reel_plan *plan = plan_with(SLOTS);
	reel_run *run = NULL;
	bool passed = true, left = false;

	reel_mpi_watch(MPI_COMM_WORLD, 0.1);
	passed &= holds(!reel_mpi_run_open(&run, plan, &leaving, NULL, NULL, MPI_COMM_WORLD));
	if (rank == ranks - 1 && setjmp(caller)) {
		left = true;
	} else {
		int error = reel_run_forward(run, NULL, &state);

		passed &= holds(error == -ETIMEDOUT);
		passed &= holds(strstr(reel_error_text(error), "has left the sweep"));
		/* A second call does not wait again. */
		passed &= holds(reel_run_reverse(run, NULL, &state, &state) != 0);
	}
	passed &= holds(left == (rank == ranks - 1));
	/* The rank that left returns after the others have given it up. */
	MPI_Barrier(MPI_COMM_WORLD);
	reel_run_close(run);
	reel_plan_close(plan);
	reel_mpi_watch(MPI_COMM_WORLD, 0);
	return passed;
}

static bool attach(void)
{
	return holds(!reel_mpi_attach(MPI_COMM_WORLD, 0));
}

static const struct rank_case cases[] = {
	{"a communicator is attached", attach},
	{"a plan gives the gradient of one tape, bit for bit", gradients},
	{"so does one whose threads look ahead", looks_ahead},
	{"ranks agree on the tolerance for the digits of a gradient, and on its bound", digits},
	{"a rank that fails ends the sweep of all, and is named", failures},
	{"ranks drive their runs, and all end where one of them ends", driven},
	{"programs agree on an error and on a value", agreements},
	{"ranks with different plans are refused", different_plans},
	{"costs and a choice are agreed on", costs},
	{"ranks end the wait for one that has left the sweep", a_rank_leaves},
};

/* ---- Ranks that are killed ---- */

/* Writes restart files every few milliseconds. Returns whether the gradient is right at the end. */
static bool run_to_be_killed(void)
{
	const struct reel_run_options options = {.restart = "killed", .restart_seconds = 0.002,
						 .adjoint_bytes = sizeof(struct state)};
	struct ring ring = make_ring();
	struct state bar;
	reel_plan *plan = plan_with(SLOTS);
	reel_run *run;
	bool passed = holds(!reel_mpi_attach(MPI_COMM_WORLD, 0)) &&
		      holds(!reel_mpi_run_open(&run, plan, &model, &options, NULL, MPI_COMM_WORLD));

	if (!passed)
		return false;
	passed = holds(!sweep(run, &ring, &bar, true)) && holds(is_gradient(&bar));
	reel_run_close(run);
	reel_plan_close(plan);
	return passed;
}

static int begin_life(int argc, char **argv)
{
	const char *life = getenv("TEST_LIFE");
	int victim = atoi(life), microseconds = atoi(strchr(life, ':') + 1), failed, any;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Barrier(MPI_COMM_WORLD);
	/* Nobody handles the signal: the process ends in the middle of whatever it does. */
	if (rank == victim)
		setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = microseconds}, NULL);
	failed = !run_to_be_killed();
	MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%s\n", any ? "wrong" : "right");
	fflush(stdout);
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 0}, NULL);
	reel_mpi_detach(MPI_COMM_WORLD);
	MPI_Finalize();
	return any;
}

/*
 * Starts the ranks; returns 1 if they came to a right end, -1 to a wrong one, 0 if one was killed.
 */
static int live(int number, int victim, int microseconds, int *resumed)
{
	char command[PATH_MAX + 200], line[300];
	int end = 0;
	FILE *output;

	snprintf(command, sizeof command,
		 "TEST_LIFE=%d:%d timeout -k 5 400 %s %s -n %d '%s' </dev/null 2>life.log", victim,
		 microseconds, MPIRUN, MPIRUN_FLAGS, number, program);
	output = popen(command, "r");
	while (output && fgets(line, sizeof line, output)) {
		*resumed += !strcmp(line, "resumed\n");
		end = !strcmp(line, "right\n") ? 1 : !strcmp(line, "wrong\n") ? -1 : end;
	}
	if (output && WEXITSTATUS(pclose(output)) == 124)
		end = -1;
	return end;
}

static void kill_ranks(void)
{
	int kills = is_brief() ? 5 : 200, killed = 0, ended = 0, wrong = 0, resumed = 0;
	int range = 30000; /* microseconds */
	unsigned bits = 1;

	tap_case("ranks that are killed at random moments");
	for (int life = 0; life < 20 * kills && (killed < kills || !resumed) && !wrong; life++) {
		int end;

		bits = bits * 1103515245u + 12345u;
		end = live(3, (int)(bits >> 28) % 3, 1000 + (int)(bits >> 8) % range, &resumed);
		killed += end == 0;
		ended += end == 1;
		wrong += end == -1;
		/* A slow disk has no restart file yet when the rank is killed. */
		if (killed >= kills && !resumed && range < 400000)
			range += range / 2;
	}
	ok(killed >= kills && resumed, "some of %d kills come after a restart file", killed);
	wrong += live(3, -1, 1, &resumed) != 1;
	is_int(wrong, 0, "the next run goes on to the same bits: %d kills, %d ends, %d resumed",
	       killed, ended + 1, resumed);
	ok(access("killed.0.0", F_OK) && access("killed.2.1", F_OK),
	   "and the end removes the files");
}

int main(int argc, char **argv)
{
	if (getenv("TEST_LIFE"))
		return begin_life(argc, argv);
	begin_on_ranks(argc, argv, cases, COUNT(cases));
	check_on_ranks(COUNT(cases));
	kill_ranks();
	return tap_end();
}
