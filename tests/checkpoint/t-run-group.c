/* SPDX-License-Identifier: MIT */
/*
 * Tests runs of one plan by several processes, which are threads here: their agreement, and the
 * restart files from which they resume.
 */
#include <config.h>

#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/run/run-group.h"
#include "helpers/meeting.h"
#include "helpers/recurrence.h"
#include "helpers/thread-team.h"

enum { MEMBERS = 3, STEPS = 40, SLOTS = 4 };

static struct meeting meeting;

/* The part of one member in a case: its settings and its results. */
struct part {
	enum reel_planner planner;
	int64_t steps, slots, end;
	struct reel_run_options options;
	struct run counts;
	int ranks;
	int opened, error;
	char text[300];
	bool right;
	struct reel_run_stats stats;
};

static bool finished(void *context, const void *state, int64_t step)
{
	const struct part *part = (const struct part *)((const char *)context -
							offsetof(struct part, counts));

	(void)state;
	return step >= part->end;
}

static int to_folder(const char *name, char *path)
{
	snprintf(path, REEL_GROUP_PATH_BYTES, "folder/%s", name);
	return 0;
}

static int (*route)(const char *name, char *path);

/* A directory that is removed after the runs are opened, or NULL. */
static const char *lost_directory;

static void carry_out(const struct member *member)
{
	struct part *part = (struct part *)member->team->context + member->number;
	reel_plan *plan = plan_for(part->planner, part->steps, part->slots);
	struct reel_run_group group = {.rank = member->number, .ranks = part->ranks, .max = meet,
				       .context = &meeting, .route = route};
	struct state bar = seed;
	reel_run *run = NULL;

	part->opened = reel_run_open_in_group(&run, plan, &saved, &part->options, &group);
	part->error = part->opened;
	if (!part->opened) {
		if (lost_directory)
			rmdir(lost_directory);
		part->error = part->options.restart ? begin_or_resume(run, &part->counts, &bar) : 0;
		if (!part->options.restart) {
			struct state state = start;

			part->error = reel_run_forward(run, &part->counts, &state);
			if (!part->error)
				part->error = reel_run_reverse(run, &part->counts, &state, &bar);
		}
		reel_run_get_stats(run, &part->stats);
		reel_run_close(run);
	}
	snprintf(part->text, sizeof part->text, "%s", reel_error_text(part->error));
	part->right = is_gradient(&bar, part->steps == REEL_UNKNOWN_STEPS ? STEPS : part->steps);
	reel_plan_close(plan);
}

/* Fills equal parts, which a case then changes. */
static void make_parts(struct part parts[MEMBERS], enum reel_planner planner)
{
	for (int m = 0; m < MEMBERS; m++)
		parts[m] = (struct part){.planner = planner, .steps = STEPS, .slots = SLOTS,
					 .end = STEPS, .ranks = MEMBERS, .counts = no_failure};
}

static void run_parts(struct part parts[MEMBERS])
{
	run_team(MEMBERS, carry_out, parts);
}

static int members_with(const struct part parts[MEMBERS], int error)
{
	int count = 0;

	for (int m = 0; m < MEMBERS; m++)
		count += parts[m].error == error;
	return count;
}

static int members_right(const struct part parts[MEMBERS])
{
	int count = 0;

	for (int m = 0; m < MEMBERS; m++)
		count += !parts[m].error && parts[m].right;
	return count;
}

/* ---- Agreement ---- */

static void gradients(void)
{
	struct part parts[MEMBERS];

	tap_case("members of a run");
	for (enum reel_planner planner = 0; planner < REEL_PLANNERS; planner++) {
		make_parts(parts, planner);
		run_parts(parts);
		is_int(members_right(parts), MEMBERS, "%s gives the gradient on all",
		       reel_planner_name(planner));
	}
}

/* Returns true if the member that fails has its own error, and the other members name it. */
static bool failure_is_told(struct part parts[MEMBERS], int failing)
{
	bool told = members_with(parts, -ECANCELED) == MEMBERS;
	char name[20];

	snprintf(name, sizeof name, "rank %d", failing);
	for (int m = 0; m < MEMBERS; m++)
		told &= m == failing ? !!strstr(parts[m].text, "returned")
				     : !!strstr(parts[m].text, name);
	return told;
}

static void failures(void)
{
	static const size_t callbacks[] = {offsetof(struct run, failing_advance),
					   offsetof(struct run, failing_record),
					   offsetof(struct run, failing_reverse)};
	struct part parts[MEMBERS];
	int wrong = 0;

	tap_case("a member whose callback fails");
	for (size_t c = 0; c < COUNT(callbacks); c++) {
		for (int64_t step = 0; step < STEPS; step++) {
			int failing = (int)(step % MEMBERS);

			make_parts(parts, REEL_BINOMIAL);
			*(int64_t *)((char *)&parts[failing].counts + callbacks[c]) = step;
			run_parts(parts);
			/* A plan does not advance over some steps. */
			wrong += !failure_is_told(parts, failing) && members_right(parts) != MEMBERS;
			wrong += c && members_right(parts) == MEMBERS;
		}
	}
	is_int(wrong, 0, "ends all at the same action, and the others name it");
}

static void unknown_ends(enum reel_planner planner)
{
	struct part parts[MEMBERS];
	int wrong = 0;

	tap_case("a loop of an unknown end");
	for (int m = 0; m < MEMBERS; m++) {
		make_parts(parts, planner);
		for (int k = 0; k < MEMBERS; k++) {
			parts[k].steps = REEL_UNKNOWN_STEPS;
			parts[k].options.finished = finished;
			parts[k].end = k == m ? STEPS : 2 * STEPS;
		}
		run_parts(parts);
		wrong += members_right(parts) != MEMBERS;
		parts[m].counts = no_failure;
		parts[m].counts.failing_advance = parts[m].counts.failing_record = STEPS / 2;
		run_parts(parts);
		wrong += !failure_is_told(parts, m);
	}
	is_int(wrong, 0, "%s: ends on all where it ends, or fails, on one", reel_planner_name(planner));
}

static void different(void)
{
	struct part parts[MEMBERS];
	reel_store *store = NULL;

	tap_case("members that are not alike");
	make_parts(parts, REEL_BINOMIAL);
	parts[1].slots++;
	run_parts(parts);
	is_int(members_with(parts, -EINVAL), MEMBERS, "another plan is refused on all");
	ok(strstr(parts[0].text, "different plans"), "in words: %s", parts[0].text);
	make_parts(parts, REEL_TWO_LEVEL);
	parts[2].options.flags = 1u << 20;
	is_int(reel_store_memory_open(&store, 0), 0, "a store");
	parts[0].options.store[1] = store;
	run_parts(parts);
	ok(parts[0].error == -ECANCELED && parts[2].error == -EINVAL,
	   "one that cannot be opened is opened by none");
	parts[2].options.flags = 0;
	run_parts(parts);
	is_int(members_right(parts), MEMBERS, "and the others still own their stores");
}

/* ---- Restart files ---- */

#define NAME "restart"

static void file_name(char *name, int rank, int epoch, const char *suffix)
{
	sprintf(name, NAME ".%d.%d%s", rank, epoch, suffix);
}

static bool there_are(int rank, int epoch, const char *suffix)
{
	char name[40];

	file_name(name, rank, epoch, suffix);
	return access(name, F_OK) == 0;
}

static void clear(void)
{
	char name[40];

	for (int rank = 0; rank < 2 * MEMBERS; rank++)
		for (int epoch = 0; epoch < 2; epoch++) {
			file_name(name, rank, epoch, "");
			unlink(name);
			file_name(name, rank, epoch, ".new");
			unlink(name);
		}
}

/* Only member 1 asks for a file, at each action where there may be one. */
static void make_saving_parts(struct part parts[MEMBERS])
{
	make_parts(parts, REEL_BINOMIAL);
	for (int m = 0; m < MEMBERS; m++) {
		parts[m].options = (struct reel_run_options){
			.restart = NAME, .adjoint_bytes = sizeof(struct state),
			.restart_seconds = m == 1 ? 1e-9 : 1e6};
	}
}

static void copy_file(const char *from, const char *to)
{
	char data[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t bytes = in ? fread(data, 1, sizeof data, in) : 0;

	if (!in || !out || bytes == sizeof data || fwrite(data, 1, bytes, out) != bytes)
		printf("Bail out! %s cannot be copied\n", from);
	if (in)
		fclose(in);
	if (out)
		fclose(out);
}

/* A run that ends in the middle of its reverse sweep leaves the files of its last two epochs. */
static void run_to_the_middle(void)
{
	struct part parts[MEMBERS];

	clear();
	make_saving_parts(parts);
	parts[0].counts.failing_reverse = STEPS / 2;
	run_parts(parts);
	if (members_with(parts, -ECANCELED) != MEMBERS)
		printf("Bail out! the run did not end\n");
}

/* Leaves copies of the files of the first such run. */
static void leave_files(void)
{
	static bool kept;
	char name[40], copy[40];

	if (!kept)
		run_to_the_middle();
	else
		clear();
	for (int rank = 0; rank < MEMBERS; rank++) {
		for (int epoch = 0; epoch < 2; epoch++) {
			file_name(name, rank, epoch, "");
			sprintf(copy, "kept.%d.%d", rank, epoch);
			copy_file(kept ? copy : name, kept ? name : copy);
		}
	}
	kept = true;
}

/* Resumes. Returns the number of steps that are reversed again, or -1 if the gradient is wrong. */
static int64_t go_on(void)
{
	struct part parts[MEMBERS];

	make_saving_parts(parts);
	parts[1].options.restart_seconds = 1e6;
	run_parts(parts);
	return members_right(parts) == MEMBERS ? parts[0].counts.reversed : -1;
}

static void saves(void)
{
	struct part parts[MEMBERS];
	int files = 0;

	tap_case("restart files");
	clear();
	make_saving_parts(parts);
	run_parts(parts);
	ok(members_right(parts) == MEMBERS && parts[0].stats.saves > 4 &&
		   parts[0].stats.saves == parts[1].stats.saves,
	   "all members write when one of them wants to");
	leave_files();
	for (int m = 0; m < MEMBERS; m++)
		for (int epoch = 0; epoch < 2; epoch++)
			files += there_are(m, epoch, "") && !there_are(m, epoch, ".new");
	is_int(files, 2 * MEMBERS, "those of two epochs are there");
	ok(go_on() > 0, "a run goes on from the newest");
	for (int m = files = 0; m < MEMBERS; m++)
		files += there_are(m, 0, "") + there_are(m, 1, "");
	is_int(files, 0, "and removes them at its end");
	route = to_folder;
	mkdir("folder", 0700);
	run_to_the_middle();
	ok(!there_are(0, 0, "") && !access("folder/" NAME ".0.0", F_OK) &&
		   go_on() > 0,
	   "they are where route() says");
	route = NULL;
}

static int nowhere_for_rank_1(const char *name, char *path)
{
	snprintf(path, REEL_GROUP_PATH_BYTES, "%s%s", strstr(name, ".1.") ? "nowhere/" : "", name);
	return 0;
}

static int no_path(const char *name, char *path)
{
	strcpy(path, name);
	return !!strstr(name, ".1.");
}

static void ignore(const struct reel_tape *tape, int error, const char *message, void *context)
{
	(void)tape;
	(void)error;
	(void)message;
	(void)context;
}

static void failed_saves(void)
{
	struct part parts[MEMBERS];

	tap_case("a member that cannot write its file");
	clear();
	make_saving_parts(parts);
	parts[0].counts.failing_reverse = STEPS / 2;
	route = nowhere_for_rank_1;
	mkdir("nowhere", 0700);
	lost_directory = "nowhere";
	reel_set_error_handler(ignore, NULL);
	run_parts(parts);
	ok(parts[0].stats.failed_saves > 4 && parts[2].stats.failed_saves > 4 &&
		   !parts[2].stats.saves && members_with(parts, -ECANCELED) == MEMBERS,
	   "the sweep goes on, and no member counts its file");
	ok(!there_are(0, 0, "") && !there_are(0, 1, "") && !there_are(2, 1, ".new"),
	   "or leaves it");
	reel_set_error_handler(NULL, NULL);
	lost_directory = NULL;
	run_parts(parts);
	ok(parts[1].opened == -ENOENT && parts[0].opened == -ECANCELED,
	   "a directory that is not there is refused: %s", parts[1].text);
	route = no_path;
	run_parts(parts);
	ok(parts[1].opened == -EIO && parts[0].opened == -ECANCELED,
	   "a file without a path is refused: %s", parts[1].text);
	route = NULL;
}

static int64_t epoch_of(int rank, int name)
{
	struct { char magic[8]; uint32_t head[6]; char rest[32 + sizeof(struct reel_problem) + 40];
		 uint64_t epoch; } begins = {.epoch = 0};
	char path[40];
	FILE *file;

	file_name(path, rank, name, "");
	file = fopen(path, "rb");
	if (file && fread(&begins, sizeof begins, 1, file) != 1)
		begins.epoch = 0;
	if (file)
		fclose(file);
	return (int64_t)begins.epoch;
}

static int newest_name(void)
{
	return epoch_of(0, 1) > epoch_of(0, 0);
}

/* The states in which a kill may leave the newest file of a member. */
enum left { RENAMED, BESIDE, CUT, ABSENT, KINDS };

static void leave(int rank, enum left kind)
{
	char path[40], beside[40];
	int newest = newest_name();

	file_name(path, rank, newest, "");
	file_name(beside, rank, newest, ".new");
	if (kind == BESIDE || kind == CUT)
		rename(path, beside);
	if (kind == CUT && truncate(beside, 100))
		printf("Bail out! truncate\n");
	if (kind == ABSENT)
		unlink(path);
}

static void kills(void)
{
	int64_t from_newest, from_before;
	int wrong = 0, cases = 0;

	tap_case("members that were killed while they wrote");
	leave_files();
	from_newest = go_on();
	leave_files();
	leave(0, ABSENT);
	from_before = go_on();
	ok(from_newest > 0 && from_before > from_newest, "the epoch before is %d steps back",
	   (int)(from_before - from_newest));
	for (; cases < KINDS * KINDS * KINDS; cases++) {
		int kind[MEMBERS] = {cases % KINDS, cases / KINDS % KINDS, cases / KINDS / KINDS};
		bool whole = true;

		leave_files();
		/* The files of member 0 determine the newest epoch, so it comes last. */
		for (int m = MEMBERS; m-- > 0;) {
			whole &= kind[m] == RENAMED || kind[m] == BESIDE;
			leave(m, (enum left)kind[m]);
		}
		wrong += go_on() != (whole ? from_newest : from_before);
	}
	is_int(wrong, 0, "%d mixtures of files: each goes on from the newest that all have", cases);
}

/*
 * One process runs alone with the name of the files. Its reverse fails at step `failing`; -1:
 * never.
 */
static int go_on_alone(int64_t failing, char text[static 200])
{
	struct reel_run_options options = {.restart = NAME, .adjoint_bytes = sizeof(struct state),
					   .restart_seconds = 1e-9};
	reel_plan *plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	struct run counts = no_failure;
	struct state bar = seed;
	reel_run *run = NULL;
	int error = reel_run_open(&run, plan, &saved, &options);

	counts.failing_reverse = failing;
	if (!error)
		error = begin_or_resume(run, &counts, &bar);
	snprintf(text, 200, "%s", reel_error_text(error));
	reel_run_close(run);
	reel_plan_close(plan);
	return error;
}

static void refused(void)
{
	char text[200];
	struct part parts[MEMBERS];
	char name[40], other[40];

	tap_case("files that no run goes on from");
	for (int fault = 0; fault < 2; fault++) {
		leave_files();
		for (int epoch = 0; epoch < 2; epoch++) {
			file_name(name, 2, epoch, "");
			if (fault ? truncate(name, 200) : unlink(name))
				printf("Bail out! %s\n", name);
		}
		make_saving_parts(parts);
		run_parts(parts);
		is_int(members_with(parts, -EBADMSG), MEMBERS, "one is %s",
		       fault ? "damaged" : "missing");
		ok(strstr(parts[2].text, "restart file " NAME ".2.") &&
			   strstr(parts[0].text, "rank 2"),
		   "which is told by name: %s", parts[2].text);
	}
	leave_files();
	for (int epoch = 0; epoch < 2; epoch++) {
		file_name(name, 1, epoch, "");
		file_name(other, 0, epoch, "");
		rename(other, name);
	}
	make_saving_parts(parts);
	run_parts(parts);
	ok(parts[1].error == -EINVAL && parts[0].error == -ECANCELED &&
		   strstr(parts[1].text, "was written by rank 0 of 3, and this is rank 1 of 3"),
	   "those of another member: %s", parts[1].text);
	leave_files();
	make_saving_parts(parts);
	for (int m = 0; m < MEMBERS; m++)
		parts[m].ranks = 4;
	run_parts(parts);
	ok(members_with(parts, -EINVAL) == MEMBERS &&
		   strstr(parts[2].text, "was written by rank 2 of 3"),
	   "those of another number of members");
	leave_files();
	is_int(go_on_alone(-1, text), -EINVAL, "those of several members, by one process: %s", text);
	clear();
	is_int(go_on_alone(STEPS / 2, text), -ECANCELED, "without them it begins, and is stopped");
	make_saving_parts(parts);
	run_parts(parts);
	is_int(members_with(parts, -EINVAL), MEMBERS, "that of one process, by several: %s",
	       parts[0].text);
	is_int(go_on_alone(-1, text), 0, "and by that process it goes on");
	leave_files();
	for (int m = 0; m < MEMBERS; m++) {
		for (int epoch = 0; epoch < 2; epoch++) {
			file_name(name, m, epoch, "");
			file_name(other, m, epoch, ".new");
			if (m == 0 ? unlink(name) : rename(name, other))
				printf("Bail out! %s\n", name);
		}
	}
	is_int(go_on(), STEPS, "what is left of files that were being removed: the run begins");
	clear();
	make_saving_parts(parts);
	for (int m = 0; m < MEMBERS; m++) {
		file_name(name, m, 1, ".new");
		fclose(fopen(name, "w"));
	}
	run_parts(parts);
	is_int(members_right(parts), MEMBERS, "if none was ever complete, the run begins");
}

int main(void)
{
	tap_begin();
	open_meeting(&meeting, MEMBERS);
	gradients();
	failures();
	unknown_ends(REEL_ONLINE);
	unknown_ends(REEL_AUTO);
	different();
	saves();
	failed_saves();
	kills();
	refused();
	return tap_end();
}
