/* SPDX-License-Identifier: MIT */
/* Tests runs that are killed, and resumed from their restart files. */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checkpoint/restart/restart-file.h"
#include "store/crc32c.h"
#include "helpers/late-store.h"
#include "helpers/process-support.h"
#include "helpers/recurrence.h"

enum { STEPS = 40, STOPPED = 5 };

#define PATH "restart"
/* The offset of the lowest byte in the number of the format, which follows the magic. */
#define LOWEST_BYTE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint32_t) - 1)

static reel_plan *plan_of(enum reel_planner planner)
{
	return plan_for(planner, planner == REEL_ONLINE ? REEL_UNKNOWN_STEPS : STEPS, 4);
}

static bool ends(void *context, const void *state, int64_t step)
{
	(void)context;
	(void)state;
	return step == STEPS;
}

/* ---- The order of calls that survives a power failure ---- */

static struct {
	unsigned files, directories, out_of_order;
} synced;

/* Called between the last write to a restart file and its rename. */
static void (*before_rename)(void);

/*
 * Replaces fsync() of the system. A process that ends loses no data that it has written, so the
 * test does not wait for the disk. It checks that the file is synchronised before it gets its name,
 * and the directory after that.
 */
int fsync(int file)
{
	struct stat what, whole;
	bool has_name = access(PATH, F_OK) == 0, is_new = stat(PATH ".new", &whole) == 0;

	if (fstat(file, &what))
		return -1;
	if (S_ISDIR(what.st_mode)) {
		synced.directories++;
		synced.out_of_order += !has_name || is_new;
	} else {
		synced.files++;
		synced.out_of_order += !is_new || what.st_ino != whole.st_ino || !what.st_size;
		if (before_rename)
			before_rename();
	}
	return 0;
}

/* Called after each write to a restart file. */
static void (*after_write)(void);

/* Replaces pwritev() of the system. A restart file writes one piece at a time. */
ssize_t pwritev(int file, const struct iovec *pieces, int count, off_t offset)
{
	ssize_t written = pwrite(file, pieces->iov_base, pieces->iov_len, offset);

	if (count != 1)
		abort();
	if (after_write)
		after_write();
	return written;
}

static int unlink_error;

/* Replaces unlink() of the system. */
int unlink(const char *path)
{
	errno = unlink_error;
	return unlink_error ? -1 : unlinkat(AT_FDCWD, path, 0);
}

/* Returns options by which a run saves at each place where it can. */
static struct reel_run_options eager(enum reel_planner planner)
{
	return (struct reel_run_options){.restart = PATH,
					 .restart_seconds = 1e-9,
					 .adjoint_bytes = sizeof(struct state),
					 .finished = planner == REEL_ONLINE ? ends : NULL};
}

static bool is_right(const struct state *bar)
{
	return is_gradient(bar, STEPS);
}

static unsigned files_here(void)
{
	DIR *here = opendir(".");
	unsigned files = 0;

	for (struct dirent *entry; (entry = readdir(here));)
		files += entry->d_name[0] != '.' && !strncmp(entry->d_name, PATH, strlen(PATH));
	closedir(here);
	return files;
}

/* ---- Resuming ---- */

struct outcome {
	unsigned wrong;
	unsigned saved;   /* number of runs that left a file */
	int64_t advanced; /* steps that resumed runs advanced over */
};

/* One callback fails at a step, and another run resumes from the file. */
static void stop_and_go_on(enum reel_planner planner, size_t member, int64_t step, bool on_stores,
			   struct outcome *outcome)
{
	reel_plan *plan = plan_of(planner);
	struct reel_run_options options = eager(planner);
	struct run failing = no_failure, whole = no_failure;
	struct state bar = {{0}};
	bool stopped = false;

	*(int64_t *)((char *)&failing + member) = step;
	for (int pass = 0; pass < 2; pass++) {
		struct late_store *late = on_stores ? late_open((uint64_t)step + 1) : NULL;
		reel_run *checkpoint;
		int error;

		options.store[0] = late ? &late->store : NULL;
		checkpoint = open_checkpoint(plan, &copied, &options);
		error = begin_or_resume(checkpoint, pass ? &whole : &failing, &bar);
		if (!pass)
			stopped = error != 0;
		if (pass || !error)
			outcome->wrong += error != 0 || !is_right(&bar);
		reel_run_close(checkpoint);
		free(late);
		if (!pass) {
			outcome->saved += files_here() > 0;
			outcome->wrong += !stopped && files_here() > 0;
		}
	}
	outcome->advanced += whole.advanced;
	outcome->wrong += files_here() > 0;
	reel_plan_close(plan);
}

static void every_plan_goes_on(void)
{
	static const size_t members[] = {offsetof(struct run, failing_advance),
					 offsetof(struct run, failing_record),
					 offsetof(struct run, failing_reverse)};

	/* A rename over a file may also wait for the disk. */
	int64_t stride = is_brief() ? stride_of(15) : 3;

	tap_case("a run that is stopped");
	for (unsigned planner = 0; planner < REEL_PLANNERS; planner++) {
		for (int on_stores = 0; on_stores < 2; on_stores++) {
			struct outcome outcome = {0};

			for (size_t i = 0; i < COUNT(members); i++)
				for (int64_t step = 0; step < STEPS; step += stride)
					stop_and_go_on(planner, members[i], step, on_stores,
						       &outcome);
			is_int(outcome.wrong, 0, "%s%s: its gradient comes out, and no file is left",
			       reel_planner_name(planner), on_stores ? " on stores" : "");
			if (planner != REEL_STORE_ALL && planner != REEL_MIXED)
				ok(outcome.saved > 0, "%u left a file", outcome.saved);
		}
	}
}

/* ---- An adjoint in pieces, with data that callbacks collect ---- */

/* A context that keeps a value of the state of each step when the step runs for the first time. */
struct gatherer {
	struct run run;
	int64_t known; /* number of steps that have run */
	double seen[STEPS];
};

struct pieces {
	double *piece[LENGTH];
};

/* save_adjoint() packs this. The first `known` elements of `seen` have a value. */
struct packed {
	int64_t known;
	struct state bar;
	double seen[STEPS];
};

static int gathering_step(struct gatherer *gatherer, struct state *state, int64_t step,
			  reel_tape *tape)
{
	int error = tape ? record(&gatherer->run, state, step, step + 1, tape)
			 : advance(&gatherer->run, state, step, step + 1);

	if (!error && step >= gatherer->known) {
		gatherer->seen[step] = state->x[0];
		gatherer->known = step + 1;
	}
	return error;
}

static int gathering_record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	int error = 0;

	for (int64_t step = first; step < last && !error; step++)
		error = gathering_step(context, state, step, tape);
	return error;
}

static int gathering_advance(void *context, void *state, int64_t first, int64_t last)
{
	return gathering_record(context, state, first, last, NULL);
}

static struct state gather(const struct pieces *pieces)
{
	struct state bar;

	for (int i = 0; i < LENGTH; i++)
		bar.x[i] = *pieces->piece[i];
	return bar;
}

static void scatter(const struct state *bar, const struct pieces *pieces)
{
	for (int i = 0; i < LENGTH; i++)
		*pieces->piece[i] = bar->x[i];
}

static int reverse_pieces(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	struct state bar = gather(adjoint);
	int error = reverse(&((struct gatherer *)context)->run, &bar, first, last, tape);

	scatter(&bar, adjoint);
	return error;
}

static int pack(void *context, const void *adjoint, void *bytes)
{
	const struct gatherer *gatherer = context;
	struct packed *packed = bytes;

	packed->known = gatherer->known;
	memcpy(packed->seen, gatherer->seen, (size_t)gatherer->known * sizeof *packed->seen);
	if (adjoint)
		packed->bar = gather(adjoint);
	return 0;
}

static size_t packed_bytes(void *context, const void *adjoint)
{
	const struct gatherer *gatherer = context;

	(void)adjoint;
	return offsetof(struct packed, seen) + (size_t)gatherer->known * sizeof(double);
}

static int unpack(void *context, void *adjoint, const void *bytes)
{
	struct gatherer *gatherer = context;
	const struct packed *packed = bytes;

	gatherer->known = packed->known;
	memcpy(gatherer->seen, packed->seen, (size_t)packed->known * sizeof *packed->seen);
	if (adjoint)
		scatter(&packed->bar, adjoint);
	return 0;
}

static int sweep_pieces(reel_run *checkpoint, struct gatherer *gatherer, struct pieces *pieces)
{
	struct state state = start;
	int error = reel_run_resume(checkpoint, gatherer, pieces);

	if (error && error != -ENOENT)
		return error;
	if (!reel_run_is_reversing(checkpoint)) {
		error = reel_run_forward(checkpoint, gatherer, &state);
		if (error)
			return error;
		scatter(&seed, pieces);
	}
	return reel_run_reverse(checkpoint, gatherer, &state, pieces);
}

/* Returns true if the context has the state of each step, which the test computes again. */
static bool saw_all_steps(const struct gatherer *gatherer)
{
	struct run run = no_failure;
	struct state state = start;

	for (int64_t step = 0; step < STEPS; step++) {
		primal_step(&run, &state, step);
		if (gatherer->seen[step] != state.x[0])
			return false;
	}
	return gatherer->known == STEPS;
}

/*
 * A callback fails at a step, and another run with a new context resumes. If `is_sized` is set, a
 * file has only the data that are known, else it has room for all.
 */
static bool pieces_go_on(size_t member, int64_t step, bool is_sized)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_model model = {sizeof(struct state), gathering_advance, gathering_record,
			    reverse_pieces, NULL, NULL};
	struct gatherer stopped = {.run = no_failure}, next = {.run = no_failure};
	struct state bar = {{0}};
	struct pieces pieces;
	reel_run *checkpoint;
	int error;

	for (int i = 0; i < LENGTH; i++)
		pieces.piece[i] = &bar.x[LENGTH - 1 - i];
	options.adjoint_bytes = is_sized ? 0 : sizeof(struct packed);
	options.packed_bytes = is_sized ? packed_bytes : NULL;
	options.save_adjoint = pack;
	options.load_adjoint = unpack;
	*(int64_t *)((char *)&stopped.run + member) = step;
	checkpoint = open_checkpoint(plan, &model, &options);
	error = sweep_pieces(checkpoint, &stopped, &pieces);
	reel_run_close(checkpoint);
	checkpoint = open_checkpoint(plan, &model, &options);
	memset(&bar, 0, sizeof bar);
	error = error != -ECANCELED || sweep_pieces(checkpoint, &next, &pieces);
	bar = gather(&pieces);
	reel_run_close(checkpoint);
	reel_plan_close(plan);
	return !error && is_right(&bar) && saw_all_steps(&next);
}

static void an_adjoint_in_pieces(void)
{
	int64_t stride = stride_of(5);
	unsigned wrong = 0;

	tap_case("an adjoint in pieces");
	for (int64_t n = 0; n < 2 * STEPS; n += stride) {
		int64_t step = n % STEPS;
		bool is_sized = n >= STEPS;

		wrong += step < STEPS - 1 &&
			 !pieces_go_on(offsetof(struct run, failing_advance), step, is_sized);
		wrong += !pieces_go_on(offsetof(struct run, failing_reverse), step, is_sized);
	}
	is_int(wrong, 0, "is packed with what was gathered, wherever its run is stopped");
}

static int refuse_to_pack(void *context, const void *adjoint, void *bytes)
{
	(void)context;
	(void)adjoint;
	(void)bytes;
	return -ECANCELED;
}

static int refuse_to_unpack(void *context, void *adjoint, const void *bytes)
{
	(void)context;
	(void)adjoint;
	(void)bytes;
	return -ECANCELED;
}

static int pack_later(void *context, const void *adjoint, void *bytes)
{
	static int calls;

	return ++calls % 3 ? -EAGAIN : pack(context, adjoint, bytes);
}

static void callbacks_that_refuse(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct gatherer gatherer = {.run = no_failure};
	struct reel_run_stats stats;
	struct state state = start, bar = seed;
	reel_run *checkpoint;

	tap_case("callbacks that refuse");
	options.save_adjoint = refuse_to_pack;
	options.load_adjoint = refuse_to_unpack;
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(reel_run_forward(checkpoint, &gatherer.run, &state), 0, "to pack: the sweep goes on");
	reel_run_get_stats(checkpoint, &stats);
	ok(!stats.saves && stats.failed_saves > 0, "without a file");
	is_int(files_here(), 0, "and leaves none");
	reel_run_close(checkpoint);

	options.save_adjoint = pack_later;
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(reel_run_forward(checkpoint, &gatherer.run, &state), 0, "to pack before a later action");
	reel_run_get_stats(checkpoint, &stats);
	ok(stats.saves && !stats.failed_saves, "which is no failure");
	reel_run_close(checkpoint);
	unlink(PATH);
	state = start;

	options.save_adjoint = pack;
	options.adjoint_bytes = sizeof(struct packed);
	gatherer.run.failing_advance = STEPS / 2;
	state = start;
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(reel_run_forward(checkpoint, &gatherer, &state), -ECANCELED, "a sweep is stopped");
	is_int(reel_run_resume(checkpoint, &gatherer, &bar), -ECANCELED,
	       "to unpack: resume() returns the callback's error");
	ok(!memcmp(&bar, &seed, sizeof bar), "and the adjoint is as it was");
	reel_run_close(checkpoint);
	unlink(PATH);
	reel_plan_close(plan);
}

static int leaving_pack(void *context, const void *adjoint, void *bytes)
{
	leave_in_time();
	return pack(context, adjoint, bytes);
}

static int leaving_unpack(void *context, void *adjoint, const void *bytes)
{
	leave_in_time();
	return unpack(context, adjoint, bytes);
}

static bool can_be_cancelled(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	return state == PTHREAD_CANCEL_ENABLE;
}

/* Returns true if the callback that packs or unpacks leaves the call after `passed` calls. */
static bool is_left(int (*call)(reel_run *checkpoint, struct gatherer *gatherer,
				struct pieces *pieces),
		    reel_run *checkpoint, struct gatherer *gatherer, struct pieces *pieces,
		    int64_t passed)
{
	places_to_pass = passed;
	if (setjmp(out_of_the_callback))
		return true;
	call(checkpoint, gatherer, pieces);
	return false;
}

/* Without care the file would stay open and locked, and the thread could not be cancelled. */
static void callbacks_that_are_left(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_model model = {sizeof(struct state), gathering_advance, gathering_record,
			    reverse_pieces, NULL, NULL};
	static struct gatherer gatherer;
	static struct state bar;
	struct pieces pieces;
	unsigned before = names_in("/proc/self/fd");
	reel_run *checkpoint;

	tap_case("callbacks that are left");
	for (int i = 0; i < LENGTH; i++)
		pieces.piece[i] = &bar.x[i];
	options.adjoint_bytes = sizeof(struct packed);
	options.save_adjoint = leaving_pack;
	options.load_adjoint = leaving_unpack;
	gatherer = (struct gatherer){.run = no_failure};
	checkpoint = open_checkpoint(plan, &model, &options);
	ok(is_left(sweep_pieces, checkpoint, &gatherer, &pieces, 8), "in the middle of a file");
	is_int(names_in("/proc/self/fd"), before, "leave no file open");
	is_int(files_here(), 1, "and none but the restart file");
	ok(can_be_cancelled(), "the thread can be cancelled");
	ok(is_left(sweep_pieces, checkpoint, &gatherer, &pieces, 0), "as the file is read again");
	ok(names_in("/proc/self/fd") == before && can_be_cancelled(), "neither");
	is_int(reel_run_reverse(checkpoint, &gatherer, &bar, &pieces), -EINVAL,
	       "what was read in part cannot be gone on with");
	gatherer = (struct gatherer){.run = no_failure};
	places_to_pass = -1;
	is_int(sweep_pieces(checkpoint, &gatherer, &pieces), 0, "the file can be read again");
	bar = gather(&pieces);
	ok(is_right(&bar) && saw_all_steps(&gatherer), "and gives the gradient");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A run that is stopped in the last step of its reverse sweep has little left to do. */
static void it_does_not_begin_anew(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct run failing = no_failure, rest = no_failure;
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct reel_run_stats stats;
	struct state bar;

	tap_case("a run that was almost done");
	failing.failing_reverse = 0;
	is_int(begin_or_resume(checkpoint, &failing, &bar), -ECANCELED, "is stopped");
	reel_run_close(checkpoint);
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(begin_or_resume(checkpoint, &rest, &bar), 0, "goes on");
	ok(is_right(&bar), "to the right gradient");
	is_int(rest.advanced + rest.recorded + rest.reversed, 2, "with one step to do");
	reel_run_get_stats(checkpoint, &stats);
	is_int(stats.reversed, STEPS, "and counts what was done before it was stopped");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A sweep with other controls is another sweep. */
static void a_sweep_that_begins_anew_leaves_no_file(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct run failing = no_failure, other = no_failure;
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct state bar = seed, state = start;

	tap_case("a sweep that begins anew");
	failing.failing_reverse = 10;
	is_int(begin_or_resume(checkpoint, &failing, &bar), -ECANCELED, "one is stopped before it");
	is_int(files_here(), 1, "and left its file");
	reel_run_close(checkpoint);
	options.restart_seconds = 600;
	checkpoint = open_checkpoint(plan, &copied, &options);
	other.coupling = 0.4;
	is_int(reel_run_forward(checkpoint, &other, &state), 0, "it saves nothing");
	is_int(files_here(), 0, "the file is gone");
	reel_run_close(checkpoint);
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(reel_run_resume(checkpoint, NULL, &bar), -ENOENT, "there is nothing to go on from");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static int die(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	if (first == 21)
		raise(SIGKILL);
	return reverse(context, adjoint, first, last, tape);
}

static void a_killed_process(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_model model = copied;
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;
	int status = 0;
	pid_t child;

	tap_case("a process that is killed");
	child = fork();
	if (!child) {
		model.reverse = die;
		reel_run_open(&checkpoint, plan, &model, &options);
		begin_or_resume(checkpoint, &run, &bar);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status), "is gone");
	is_int(files_here(), 1, "it left its file");
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "another one goes on");
	ok(is_right(&bar), "to the right gradient");
	is_int(run.reversed, 22, "from where it was");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void dying_get(reel_store *store, reel_transfer *transfer)
{
	(void)store;
	(void)transfer;
	raise(SIGKILL);
}

/* The process is killed while it writes its second file, for which it reads the first snapshot. */
static void die_in_a_save(const reel_plan *plan)
{
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct late_store *late = late_open(7);
	struct reel_store_verbs dying = *late->store.verbs;
	struct run run = no_failure;
	struct state bar;

	dying.get = dying_get;
	late->store.verbs = &dying;
	options.store[0] = &late->store;
	begin_or_resume(open_checkpoint(plan, &copied, &options), &run, &bar);
	_exit(0);
}

static void a_process_killed_in_a_save(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;
	int status = 0;
	pid_t child = fork();

	tap_case("a process that is killed while it saves");
	if (!child)
		die_in_a_save(plan);
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status), "is gone");
	ok(files_here() > 0, "it left files");
	options.restart_seconds = 0;
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "another one goes on");
	ok(is_right(&bar), "to the right gradient");
	is_int(files_here(), 0, "and leaves none");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void a_sweep_in_pieces_removes_it(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct state state = start, bar = seed;
	struct run run = no_failure;
	reel_action action;
	int error;

	tap_case("a sweep in pieces");
	memset(&synced, 0, sizeof synced);
	error = reel_run_forward(checkpoint, &run, &state);
	is_int(files_here(), 1, "begins with the file of the forward sweep");
	ok(synced.files > 0, "which was written to the disk");
	do {
		error = error ? error : reel_run_take(checkpoint, &action);
		error = error ? error
			      : reel_run_carry_out(checkpoint, &action, &run, &state, &bar, NULL);
	} while (!error && action.kind != REEL_ACTION_DONE);
	is_int(error, 0, "comes to its end");
	ok(is_right(&bar), "with the right gradient");
	is_int(files_here(), 0, "and leaves none");
	is_int(synced.directories, synced.files, "all that was written got its name on the disk");
	is_int(synced.out_of_order, 0, "and not before it was whole");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* ---- Audits of resumed runs ---- */

static unsigned loads;

static int load_with_a_slip(void *context, void *state, const void *snapshot)
{
	load(context, state, snapshot);
	((struct state *)state)->x[1] += loads++ == 1 ? 1e-9 : 0;
	return 0;
}

static void an_audit_goes_on(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct run failing = no_failure, run = no_failure;
	reel_run *checkpoint;
	reel_model model = saved;
	struct state bar;

	tap_case("an audit of a run that goes on");
	options.flags = REEL_RUN_AUDIT;
	failing.failing_reverse = 30;
	reel_run_open(&checkpoint, plan, &model, &options);
	is_int(begin_or_resume(checkpoint, &failing, &bar), -ECANCELED, "it is stopped");
	reel_run_close(checkpoint);
	model.load = load_with_a_slip;
	reel_run_open(&checkpoint, plan, &model, &options);
	is_int(begin_or_resume(checkpoint, &run, &bar), -EILSEQ,
	       "what it sees twice since then is compared");
	reel_run_close(checkpoint);
	unlink(PATH);
	reel_plan_close(plan);
}

/* ---- Errors ---- */

static size_t read_whole(char *data, size_t room)
{
	FILE *file = fopen(PATH, "rb");
	size_t bytes = fread(data, 1, room, file);

	fclose(file);
	return bytes;
}

static void write_whole(const char *data, size_t bytes)
{
	FILE *file = fopen(PATH, "wb");

	fwrite(data, 1, bytes, file);
	fclose(file);
}

/* Reads the file of a run that was stopped in its reverse sweep. */
static size_t make_file(const reel_plan *plan, char *data, size_t room)
{
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct run failing = no_failure;
	struct state bar;

	failing.failing_reverse = 17;
	begin_or_resume(checkpoint, &failing, &bar);
	reel_run_close(checkpoint);
	return read_whole(data, room);
}

static int resume(const reel_plan *plan, const struct reel_run_options *options, const char *names)
{
	reel_run *checkpoint = open_checkpoint(plan, &copied, options);
	struct state bar = seed;
	int error = reel_run_resume(checkpoint, NULL, &bar);
	struct run run = no_failure;

	if (names && !strstr(reel_error_text(0), names))
		tap_note("%s", reel_error_text(0));
	if (names && !strstr(reel_error_text(0), names))
		error = 0;
	/* After a refusal the run is in the state of a new run. */
	if (error && (reel_run_is_reversing(checkpoint) ||
		      reel_run_forward(checkpoint, &run, &(struct state){{0}})))
		error = 0;
	reel_run_close(checkpoint);
	return error;
}

static void damage_is_found(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	static char data[1 << 16];
	size_t bytes = make_file(plan, data, sizeof data);
	unsigned cut = 0, damaged = 0;

	tap_case("a restart file");
	options.restart_seconds = 0;
	for (size_t length = REEL_RESTART_MAGIC_BYTES; length < bytes; length += 1 + length / 8) {
		write_whole(data, length);
		cut += resume(plan, &options, PATH) != -EBADMSG;
	}
	is_int(cut, 0, "that is cut off is refused, at any length");
	for (size_t i = REEL_RESTART_MAGIC_BYTES; i < bytes; i += 13) {
		data[i] ^= 0x10;
		write_whole(data, bytes);
		data[i] ^= 0x10;
		damaged += resume(plan, &options, PATH) != -EBADMSG;
	}
	is_int(damaged, 0, "that is damaged is refused, anywhere");
	write_whole(data, bytes);
	is_int(resume(plan, &options, NULL), 0, "the whole one is not");
	unlink(PATH);
	is_int(resume(plan, &options, "No such file"), -ENOENT, "that is not there is told apart");
	reel_plan_close(plan);
}

/* ---- Files of others ---- */

static const char letter[] = "a letter to a friend, of some length";

static bool make_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	return !fclose(file);
}

static bool make_letter(const char *path)
{
	return make_text(path, letter);
}

static bool make_short_file(const char *path)
{
	return make_text(path, "Reel");
}

static bool make_empty_file(const char *path)
{
	return make_text(path, "");
}

static bool make_fifo(const char *path)
{
	return !mkfifo(path, 0600);
}

/* Makes a device such as /dev/zero, which can be read without end. */
static bool make_device(const char *path)
{
	return !mknod(path, S_IFCHR | 0600, 1 << 8 | 5);
}

static bool make_directory(const char *path)
{
	return !mkdir(path, 0700);
}

static bool make_link_to_nothing(const char *path)
{
	return !symlink("nothing", path);
}

static bool make_link_to_restart_file(const char *path)
{
	return make_text("elsewhere", "ReelRun\n and so on") && !symlink("elsewhere", path);
}

static const struct {
	const char *name;
	bool (*make)(const char *path);
} foreign[] = {
	{"a file of another kind", make_letter},
	{"a file of a few bytes", make_short_file},
	{"a FIFO", make_fifo},
	{"a device", make_device},
	{"a directory", make_directory},
	{"a symbolic link to nothing", make_link_to_nothing},
	{"a symbolic link to a restart file", make_link_to_restart_file},
	/* The last one, because an empty file PATH.new may come from a crash. */
	{"an empty file", make_empty_file},
};

static bool is_same_file(const char *path, const struct stat *before)
{
	struct stat now;

	return !lstat(path, &now) && now.st_ino == before->st_ino && now.st_dev == before->st_dev &&
	       now.st_mode == before->st_mode && now.st_size == before->st_size &&
	       now.st_mtim.tv_sec == before->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
}

/* Opens a run with this restart file. Returns its error, or 0 if the message lacks the remedy. */
static int open_beside(const reel_plan *plan, const char *path)
{
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = NULL;
	int error = reel_run_open(&checkpoint, plan, &copied, &options);

	if (!error)
		reel_run_close(checkpoint);
	else if (!strstr(reel_error_text(error), path) ||
		 !strstr(reel_error_text(error), "choose another name"))
		error = 0;
	return error;
}

/* The file appears after the run is opened, so the sweeps have no restart file. */
static bool run_beside(const reel_plan *plan, bool (*make)(const char *path), const char *path,
		       struct stat *made)
{
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct reel_run_stats stats;
	struct state state = start, bar = seed;
	struct run run = no_failure;
	bool right;
	int error;

	make(path);
	lstat(path, made);
	error = reel_run_resume(checkpoint, NULL, &bar);
	right = error == (strcmp(path, PATH) ? -ENOENT : -EBADMSG);
	error = reel_run_forward(checkpoint, &run, &state);
	if (!error)
		error = reel_run_reverse(checkpoint, &run, &state, &bar);
	reel_run_get_stats(checkpoint, &stats);
	right &= !error && is_right(&bar) && !stats.saves && stats.failed_saves &&
		 strstr(reel_error_text(0), "choose another name");
	reel_run_close(checkpoint);
	return right;
}

static void foreign_files_stay(const char *path, size_t kinds)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);

	for (size_t i = 0; i < kinds; i++) {
		struct stat before;

		if (!foreign[i].make(path)) {
			tap_skip(2, "%s cannot be made here", foreign[i].name);
			continue;
		}
		lstat(path, &before);
		is_int(open_beside(plan, path), -EEXIST, "%s as %s is refused by name",
		       foreign[i].name, path);
		ok(is_same_file(path, &before), "and stays as it is");
		remove(path);
		ok(run_beside(plan, foreign[i].make, path, &before) && is_same_file(path, &before),
		   "and so it is if it appears later");
		remove(path);
		unlink("elsewhere");
	}
	reel_plan_close(plan);
}

static void only_restart_files_are_touched(void)
{
	tap_case("what has the name of a restart file");
	foreign_files_stay(PATH, COUNT(foreign));
	foreign_files_stay(PATH ".new", COUNT(foreign) - 1);
}

static void write_letter(void)
{
	unlink(PATH);
	make_letter(PATH);
}

static void a_file_that_appears_during_a_save(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct reel_run_stats stats;
	struct run run = no_failure;
	char text[64] = "";
	struct state bar;

	tap_case("a file that appears while a restart file is written");
	before_rename = write_letter;
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "ends no run");
	before_rename = NULL;
	reel_run_get_stats(checkpoint, &stats);
	is_int((int64_t)stats.saves, 0, "none was saved");
	is_int(files_here(), 1, "it alone is left");
	is_int((int64_t)read_whole(text, sizeof text), sizeof letter - 1, "as long as it was");
	is_string(text, letter, "as it was");
	reel_run_close(checkpoint);
	unlink(PATH);
	reel_plan_close(plan);
}

/* Closes the descriptor of PATH.new, and opens another file, which gets its number. */
static void take_descriptor(void)
{
	struct stat beside, other;

	if (stat(PATH ".new", &beside))
		abort();
	for (int file = 0; file < 4096; file++) {
		int letter_file;

		if (fstat(file, &other) || other.st_ino != beside.st_ino)
			continue;
		make_letter("letter");
		letter_file = open("letter", O_RDWR);
		dup2(letter_file, file);
		close(letter_file);
	}
}

static void a_file_of_the_program_is_not_written(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_run_stats stats;
	struct state state = start;
	struct run run = no_failure;
	char text[64] = "";
	reel_run *checkpoint;
	FILE *file;

	tap_case("a program that closes the descriptor of a restart file");
	checkpoint = open_checkpoint(plan, &copied, &options);
	after_write = take_descriptor;
	is_int(reel_run_forward(checkpoint, &run, &state), 0, "ends no run");
	after_write = NULL;
	reel_run_get_stats(checkpoint, &stats);
	ok(!stats.saves && stats.failed_saves > 0, "has no restart file");
	ok(strstr(reel_error_text(0), "has closed the descriptor"), "is told why");
	file = fopen("letter", "r");
	is_int((int64_t)fread(text, 1, sizeof text, file), sizeof letter - 1,
	       "and its file is as long as it was");
	is_string(text, letter, "and as it was");
	fclose(file);
	unlink("letter");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

/* A process was killed, or the power failed, before it had written to the file. */
static void an_empty_file_beside_it_is_replaced(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_run_stats stats;
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;

	tap_case("an empty file that a killed process has left beside it");
	make_empty_file(PATH ".new");
	checkpoint = open_checkpoint(plan, &copied, &options);
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "is no obstacle");
	reel_run_get_stats(checkpoint, &stats);
	is_int((int64_t)stats.failed_saves, 0, "to a save");
	reel_run_close(checkpoint);
	is_int(files_here(), 0, "and is not left");
	reel_plan_close(plan);
}

static void a_file_that_cannot_be_removed(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct state state = start, bar = seed;
	struct run run = no_failure;
	reel_run *checkpoint;

	tap_case("a restart file that cannot be removed");
	checkpoint = open_checkpoint(plan, &copied, &options);
	reel_run_forward(checkpoint, &run, &state);
	unlink_error = EROFS;
	is_int(reel_run_reverse(checkpoint, &run, &state, &bar), 0, "ends no run");
	unlink_error = 0;
	ok(strstr(reel_error_text(0), "was not removed") &&
		   strstr(reel_error_text(0), strerror(EROFS)),
	   "and the message says why: %s", reel_error_text(0));
	reel_run_close(checkpoint);
	unlink(PATH);
	reel_plan_close(plan);
}

/* Writes a right file with one other byte behind the magic. */
static void forge(char *data, size_t bytes, size_t at, char change)
{
	size_t whole = bytes - 16;
	uint32_t crc;

	data[REEL_RESTART_MAGIC_BYTES + at] ^= change;
	crc = reel_crc32c(0, data, whole);
	memcpy(data + whole + sizeof(uint64_t), &crc, sizeof crc);
	write_whole(data, bytes);
	data[REEL_RESTART_MAGIC_BYTES + at] ^= change;
}

/* The last segment is shorter than others. */
static void other_steps_are_refused(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct run failing = no_failure;
	reel_run *checkpoint;
	struct state bar;

	tap_case("a restart file of a longer loop");
	options.segment_steps = 2;
	checkpoint = open_checkpoint(plan, &copied, &options);
	failing.failing_reverse = 17;
	begin_or_resume(checkpoint, &failing, &bar);
	reel_run_close(checkpoint);
	options.steps = 2 * STEPS - 1;
	is_int(resume(plan, &options, "steps"), -EINVAL, "is refused");
	unlink(PATH);
	reel_plan_close(plan);
}

/* Changes each byte except the data of snapshots and the adjoint, where all bytes are valid. */
static void forged_files(void)
{
	static const char changes[] = {1, 2, 16, (char)0x80, (char)0xff};
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	static char data[1 << 16];
	size_t bytes = make_file(plan, data, sizeof data);
	/* The file has magic, run, a header and a state for each snapshot, adjoint, trailer. */
	size_t end =
		bytes - REEL_RESTART_MAGIC_BYTES - 16 - sizeof(struct state) - sizeof(struct state);
	unsigned wrong = 0, refused = 0;

	tap_case("a forged file");
	options.restart_seconds = 0;
	for (size_t i = 0; i < COUNT(changes) * end; i++) {
		struct run run = no_failure;
		reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
		struct state bar = seed, state;
		int error;

		forge(data, bytes, i / COUNT(changes), changes[i % COUNT(changes)]);
		error = reel_run_resume(checkpoint, NULL, &bar);
		refused += error != 0;
		wrong += error && reel_run_is_reversing(checkpoint);
		if (!error && reel_run_is_reversing(checkpoint))
			reel_run_reverse(checkpoint, &run, &state, &bar);
		else if (!error)
			reel_run_forward(checkpoint, &run, &state);
		reel_run_close(checkpoint);
	}
	is_int(wrong, 0, "does no harm");
	ok(refused > end * COUNT(changes) / 2, "it is refused most of the time (%u of %zu)", refused,
	   end * COUNT(changes));
	unlink(PATH);
	reel_plan_close(plan);
}

static void others_are_refused(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL), *other = plan_of(REEL_MULTISTAGE);
	struct reel_run_options options = eager(REEL_BINOMIAL), segments = options;
	static char data[1 << 16];
	size_t bytes = make_file(plan, data, sizeof data);

	tap_case("a restart file of something else");
	options.restart_seconds = segments.restart_seconds = 0;
	is_int(resume(other, &options, "another plan"), -EINVAL, "another plan");
	segments.segment_steps = 2;
	write_whole(data, bytes);
	is_int(resume(plan, &segments, "other segments"), -EINVAL, "other segments");
	segments = options;
	segments.adjoint_bytes = 8;
	write_whole(data, bytes);
	is_int(resume(plan, &segments, "adjoints"), -EINVAL, "another adjoint");
	forge(data, bytes, LOWEST_BYTE, 1);
	is_int(resume(plan, &options, "has format 5, and this Reel reads format 4: resume"),
	       -EPROTO, "another format");
	forge(data, bytes, sizeof(uint32_t), 1);
	is_int(resume(plan, &options, "another kind of machine"), -EPROTO, "another byte order");
	forge(data, bytes, 2 * sizeof(uint32_t), 1);
	is_int(resume(plan, &options, "another kind of machine"), -EPROTO, "another layout");
	options.restart = NULL;
	is_int(resume(plan, &options, "options.restart"), -EINVAL, "no file at all");
	unlink(PATH);
	reel_plan_close(plan);
	reel_plan_close(other);
}

static void fill_in(reel_action *to, const reel_action *from, int padding)
{
	memset(to, padding, sizeof *to);
	to->kind = from->kind;
	to->first = from->first;
	to->last = from->last;
	to->tier = from->tier;
	to->slot = from->slot;
	to->last_use = from->last_use;
}

/* Place of the number of actions in the header of the run, behind the magic. */
#define ACTIONS_AT (24 + 32 + sizeof(struct reel_problem) + 7 * sizeof(uint64_t))

/* The file names a place between two actions where it would need a working state or a tape. */
static void another_place_is_refused(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	static char data[1 << 16];
	size_t bytes = make_file(plan, data, sizeof data);

	tap_case("a restart file of a place that is none to go on from");
	options.restart_seconds = 0;
	forge(data, bytes, ACTIONS_AT, 0);
	is_int(resume(plan, &options, NULL), 0, "the file is good");
	forge(data, bytes, ACTIONS_AT, 1);
	is_int(resume(plan, &options, NULL), -EBADMSG, "one action farther on, or back");
	unlink(PATH);
	reel_plan_close(plan);
}

static void bytes_left_over_are_refused(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	static char data[1 << 16];
	size_t bytes = make_file(plan, data, sizeof data - 8);
	char *trailer = data + bytes - 16;
	uint64_t whole = bytes - 16 + 8;

	tap_case("a restart file with more than a run");
	options.restart_seconds = 0;
	memmove(trailer + 8, trailer, 16);
	memset(trailer, 0, 8);
	memcpy(trailer + 8, &whole, sizeof whole);
	forge(data, bytes + 8, 0, 0);
	is_int(resume(plan, &options, NULL), -EBADMSG, "is refused");
	unlink(PATH);
	reel_plan_close(plan);
}

/* The plan has other actions for the same problem, or other numbers of slots. */
static void other_actions_are_refused(const struct reel_problem *problem,
				      const reel_action *actions, size_t count)
{
	struct reel_run_options options = eager(REEL_BINOMIAL);
	static reel_action other[1000];
	static char data[1 << 16];
	size_t bytes = read_whole(data, sizeof data);
	reel_plan *plan;

	for (size_t i = 0; i < count; i++) {
		fill_in(&other[i], &actions[i], 0);
		if (other[i].kind == REEL_ACTION_STORE || other[i].kind == REEL_ACTION_LOAD ||
		    other[i].kind == REEL_ACTION_DROP)
			other[i].slot = 3 - other[i].slot;
	}
	options.restart_seconds = 0;
	is_int(reel_plan_open_actions(&plan, problem, other, count), 0, "other actions");
	is_int(resume(plan, &options, "another plan"), -EINVAL, "do not go on from its file");
	reel_plan_close(plan);
	write_whole(data, bytes);
}

/* The plan is the same, but the bytes between the members of its actions differ. */
static void a_plan_of_ones_own_goes_on(void)
{
	reel_plan *binomial = plan_of(REEL_BINOMIAL), *plan;
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_problem problem = {.steps = STEPS, .tiers = 1, .tier = {{4, 0, 0}}};
	static reel_action actions[1000];
	int error[2];

	tap_case("a plan of one's own");
	for (int pass = 0; pass < 2; pass++) {
		struct run run = no_failure;
		reel_run *checkpoint;
		reel_schedule *schedule;
		reel_action action;
		struct state bar;
		size_t count = 0;

		if (reel_schedule_open(&schedule, binomial))
			abort();
		while (!reel_schedule_next(schedule, &action) && action.kind != REEL_ACTION_DONE)
			fill_in(&actions[count++], &action, pass ? 0 : 0xff);
		reel_schedule_close(schedule);
		if (pass)
			other_actions_are_refused(&problem, actions, count);
		reel_plan_open_actions(&plan, &problem, actions, count);
		checkpoint = open_checkpoint(plan, &copied, &options);
		run.failing_reverse = pass ? -1 : 25;
		error[pass] = begin_or_resume(checkpoint, &run, &bar);
		reel_run_close(checkpoint);
		reel_plan_close(plan);
	}
	is_int(error[0], -ECANCELED, "is stopped");
	is_int(error[1], 0, "and goes on");
	unlink(PATH);
	reel_plan_close(binomial);
}

static const reel_action load_before_reverse[] = {
	{.kind = REEL_ACTION_STORE, .first = 0},
	{.kind = REEL_ACTION_ADVANCE, .first = 0, .last = 1},
	{.kind = REEL_ACTION_STORE, .first = 1, .slot = 1},
	{.kind = REEL_ACTION_ADVANCE, .first = 1, .last = 2},
	{.kind = REEL_ACTION_RECORD, .first = 2, .last = 3},
	{.kind = REEL_ACTION_LOAD, .first = 1, .slot = 1, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 1, .slot = 1},
	{.kind = REEL_ACTION_REVERSE, .first = 2, .last = 3},
	{.kind = REEL_ACTION_RECORD, .first = 1, .last = 2},
	{.kind = REEL_ACTION_REVERSE, .first = 1, .last = 2},
	{.kind = REEL_ACTION_LOAD, .first = 0, .last_use = true},
	{.kind = REEL_ACTION_DROP, .first = 0},
	{.kind = REEL_ACTION_RECORD, .first = 0, .last = 1},
	{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 1},
};

/* After its first REVERSE the plan advances from a state that it has loaded before. */
static void a_working_state_is_not_lost(void)
{
	struct reel_problem problem = {.steps = 3, .tiers = 1, .tier = {{2, 0, 0}}};
	struct state right = gradient_by_one_tape(no_failure, 3), bar;
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_run_stats stats;
	reel_run *checkpoint;
	unsigned wrong = 0;
	reel_plan *plan;

	tap_case("a plan that loads before it reverses");
	reel_plan_open_actions(&plan, &problem, load_before_reverse, COUNT(load_before_reverse));
	is_int(reel_plan_check(plan, NULL, 3, &(struct reel_schedule_report){0}), 0, "is right");
	for (int64_t step = 2; step >= -1; step--) {
		struct run failing = no_failure, run = no_failure;

		failing.failing_reverse = step;
		checkpoint = open_checkpoint(plan, &copied, &options);
		wrong += begin_or_resume(checkpoint, &failing, &bar) != (step < 0 ? 0 : -ECANCELED);
		reel_run_get_stats(checkpoint, &stats);
		reel_run_close(checkpoint);
		checkpoint = open_checkpoint(plan, &copied, &options);
		wrong += begin_or_resume(checkpoint, &run, &bar) != 0;
		wrong += memcmp(&bar, &right, sizeof bar) != 0;
		reel_run_close(checkpoint);
	}
	is_int(wrong, 0, "goes on to the right gradient, wherever it is stopped");
	is_int((int64_t)stats.saves, 4, "it is saved after both STOREs and the other REVERSEs");
	reel_plan_close(plan);
}

static int record_nothing(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	(void)tape;
	return advance(context, state, first, last);
}

static int reverse_nothing(void *context, void *adjoint, int64_t first, int64_t last,
			   reel_tape *tape)
{
	(void)adjoint;
	(void)tape;
	((struct run *)context)->reversed += last - first;
	return 0;
}

static void steps_that_push_nothing_are_held(void)
{
	static const reel_model model = {.state_bytes = sizeof(struct state), .advance = advance,
					 .record = record_nothing, .reverse = reverse_nothing};
	static const reel_action actions[] = {
		{.kind = REEL_ACTION_RECORD, .first = 0, .last = 1},
		{.kind = REEL_ACTION_RECORD, .first = 1, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 1, .last = 2},
		{.kind = REEL_ACTION_REVERSE, .first = 0, .last = 1},
	};
	struct reel_problem problem = {.steps = 2, .tiers = 1, .tier = {{2, 0, 0}}};
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_run_stats stats;
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;
	reel_plan *plan;

	tap_case("steps that push nothing");
	reel_plan_open_actions(&plan, &problem, actions, COUNT(actions));
	checkpoint = open_checkpoint(plan, &model, &options);
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "are reversed");
	reel_run_get_stats(checkpoint, &stats);
	is_int((int64_t)stats.saves, 1, "and not saved while some are recorded");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

static void the_limit_of_file_size(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	int status = 0;
	pid_t child;

	tap_case("a restart file above the limit of file size");
	child = fork();
	if (!child) {
		struct rlimit limit = {100, 100};
		reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
		struct reel_run_stats stats;
		struct run run = no_failure;
		struct state bar;
		int error;

		/*
		 * If stderr is a file, the limit also holds for the message, and its signal would
		 * end the child.
		 */
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		setrlimit(RLIMIT_FSIZE, &limit);
		error = begin_or_resume(checkpoint, &run, &bar);
		reel_run_get_stats(checkpoint, &stats);
		_exit(error || !is_right(&bar) || !stats.failed_saves || files_here());
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "ends no run");
	reel_plan_close(plan);
}

/* Opening a run refuses them; the first file would be too late. */
static void impossible_names_are_refused(void)
{
	static const struct {
		const char *path;
		int error;
	} names[] = {
		{"", -EINVAL},
		{"restart/", -EINVAL},
		{"no/such/directory/restart", -ENOENT},
		{"plain/restart", -ENOTDIR},
		{"/proc/self/restart", -EACCES},
	};
	reel_plan *plan = plan_of(REEL_BINOMIAL);

	tap_case("a name of a restart file that cannot be");
	make_letter("plain");
	for (unsigned i = 0; i < COUNT(names) - (getuid() == 0); i++) {
		struct reel_run_options options = eager(REEL_BINOMIAL);
		reel_run *checkpoint = NULL;

		options.restart = names[i].path;
		is_int(reel_run_open(&checkpoint, plan, &copied, &options), names[i].error,
		       "'%s' is refused", names[i].path);
		ok(strstr(reel_error_text(0), names[i].path) &&
			   strstr(reel_error_text(0), "cannot write restart file"),
		   "by name");
		reel_run_close(checkpoint);
	}
	unlink("plain");
	reel_plan_close(plan);
}

static reel_run *other_run;
static unsigned other_saves, busy_saves;

/* Another run saves to the same path while this one writes it. */
static void save_other_run(void)
{
	struct reel_run_stats stats;
	struct state state = start;
	struct run run = no_failure;

	before_rename = NULL;
	reel_run_forward(other_run, &run, &state);
	reel_run_get_stats(other_run, &stats);
	other_saves += (unsigned)stats.saves;
	busy_saves += (unsigned)stats.failed_saves;
}

static void two_runs_on_one_path(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	reel_run *checkpoint = open_checkpoint(plan, &copied, &options);
	struct reel_run_stats stats;
	struct state bar, state = start;
	struct run run = no_failure;

	tap_case("two runs with one restart path");
	other_run = open_checkpoint(plan, &copied, &options);
	before_rename = save_other_run;
	is_int(reel_run_forward(checkpoint, &run, &state), 0, "one sweep goes on");
	ok(!other_saves && busy_saves, "the other does not write while it does");
	ok(strstr(reel_error_text(0), "another process"), "and is told why");
	reel_run_get_stats(checkpoint, &stats);
	ok(stats.saves && !stats.failed_saves, "the first one's files are written");
	reel_run_close(other_run);
	is_int(reel_run_resume(checkpoint, NULL, &bar), 0, "and whole");
	reel_run_close(checkpoint);
	unlink(PATH);
	reel_plan_close(plan);
}

static void a_file_that_cannot_be_written(void)
{
	reel_plan *plan = plan_of(REEL_BINOMIAL);
	struct reel_run_options options = eager(REEL_BINOMIAL);
	struct reel_run_stats stats;
	struct run run = no_failure;
	reel_run *checkpoint;
	struct state bar;

	tap_case("a restart file that cannot be written");
	mkdir("directory", 0700);
	options.restart = "directory/restart";
	checkpoint = open_checkpoint(plan, &copied, &options);
	rmdir("directory");
	is_int(begin_or_resume(checkpoint, &run, &bar), 0, "ends no run");
	ok(is_right(&bar), "its gradient is right");
	reel_run_get_stats(checkpoint, &stats);
	is_int(stats.saves, 0, "none was saved");
	ok(stats.failed_saves > 0, "that is counted");
	ok(strstr(reel_error_text(0), options.restart) &&
		   strstr(reel_error_text(0), strerror(ENOENT)),
	   "and the message says why: %s", reel_error_text(0));
	run.failing_reverse = 3;
	is_int(begin_or_resume(checkpoint, &run, &bar), -ECANCELED, "a callback that fails, too");
	ok(strstr(reel_error_text(0), "reverse"), "is what the message is of");
	reel_run_close(checkpoint);
	reel_plan_close(plan);
}

int main(void)
{
	tap_begin();
	every_plan_goes_on();
	an_adjoint_in_pieces();
	callbacks_that_refuse();
	callbacks_that_are_left();
	it_does_not_begin_anew();
	a_sweep_that_begins_anew_leaves_no_file();
	a_killed_process();
	a_process_killed_in_a_save();
	a_sweep_in_pieces_removes_it();
	an_audit_goes_on();
	damage_is_found();
	only_restart_files_are_touched();
	a_file_that_appears_during_a_save();
	a_file_of_the_program_is_not_written();
	an_empty_file_beside_it_is_replaced();
	a_file_that_cannot_be_removed();
	others_are_refused();
	another_place_is_refused();
	bytes_left_over_are_refused();
	other_steps_are_refused();
	forged_files();
	a_plan_of_ones_own_goes_on();
	a_working_state_is_not_lost();
	steps_that_push_nothing_are_held();
	the_limit_of_file_size();
	impossible_names_are_refused();
	two_runs_on_one_path();
	a_file_that_cannot_be_written();
	is_int(files_here(), 0, "no file is left behind");
	return tap_end();
}
