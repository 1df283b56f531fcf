/* SPDX-License-Identifier: MIT */
/*
 * Saves a run to a restart file and resumes it. The thread that owns the run runs these functions.
 * A run is saved between two actions where it consists of snapshots and an adjoint only. The file
 * is a header of the run, a header and the data of each snapshot, and the adjoint. Its numbers are
 * laid out as on the machine that wrote it, and the first header says how. It holds the number of
 * actions that the run has taken: a run that resumes takes this number of actions from the plan
 * without carrying them out. The actions of a plan that learns depend on measured costs: its file
 * has the place of the schedule instead.
 */
#include "config.h"

#include "os/clock.h"
#include "os/error.h"
#include "restart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/cancel.h"
#include "restart-file.h"
#include "save-request.h"
#include "store/crc32c.h"
#include "spill/thread/thread.h"
#include "plan/plan.h"
#include "store/store.h"
#include "tape/tape.h"
#include "checkpoint/run/run-loss.h"
#include "checkpoint/run/run-packer.h"

/* Number of the format. Raised with each change of it, and of the actions of a planner. */
#define HEADER_VERSION 4
#define BYTE_ORDER_MARK 0x01020304u
/* Default of options.restart_seconds. */
#define SECONDS 600
#define RETRY_SECONDS 1

struct run_header {
	uint32_t version;
	uint32_t byte_order;
	uint32_t header_bytes;
	/* The process that wrote it: 0 of 1, if there is no group. */
	uint32_t rank, ranks;
	uint32_t fields_crc; /* of options.loss */
	/* The plan, the model and the options: equal in the run that resumes. */
	char planner[32];
	struct reel_problem problem;
	uint64_t actions_crc;
	int64_t segment_steps;
	uint64_t state_bytes;
	uint64_t adjoint_bytes;
	double tolerance; /* of the values of its snapshots; 0: they are as they were */
	/* The position of the run. */
	uint64_t epoch;
	int64_t steps;
	uint64_t actions;
	uint64_t snapshots;
	struct reel_run_counts counts;
};

/* Headers are compared as bytes: no padding may lie between their members. */
_Static_assert(sizeof(struct reel_problem) ==
		       9 * 8 + 2 * sizeof(unsigned) + REEL_MAX_TIERS * sizeof(struct reel_tier),
	       "a problem has no padding");

struct snapshot_header {
	uint32_t tier;
	uint32_t slot;
	int64_t state;
	uint64_t bytes;
};

/* Computes a CRC of the members, since the padding between them has any value. */
static uint64_t actions_crc(const reel_plan *plan)
{
	uint32_t crc = 0;

	REEL_ASSERT(!plan->planner || !plan->action_count);
	for (size_t i = 0; i < plan->action_count; i++) {
		const reel_action *action = &plan->actions[i];
		int64_t members[] = {action->kind, action->first, action->last,
				     action->tier, action->slot,  action->last_use};

		crc = reel_crc32c(crc, members, sizeof members);
	}
	return crc;
}

/* Fills in all but the position of the run: equal in a run that may resume. */
static void describe(const reel_run *run, struct run_header *header)
{
	const struct reel_loss *loss = run->options.loss;

	memset(header, 0, sizeof *header);
	header->version = HEADER_VERSION;
	header->byte_order = BYTE_ORDER_MARK;
	header->header_bytes = sizeof *header;
	header->rank = (uint32_t)run->group.rank;
	header->ranks = run->group.ranks ? (uint32_t)run->group.ranks : 1;
	snprintf(header->planner, sizeof header->planner, "%s",
		 run->plan->planner ? run->plan->planner->name : "actions");
	header->problem = run->plan->problem;
	header->actions_crc = actions_crc(run->plan);
	header->segment_steps = run->options.segment_steps;
	header->state_bytes = run->model.state_bytes;
	header->adjoint_bytes = run->options.adjoint_bytes;
	if (loss) {
		header->tolerance = loss->tolerance;
		header->fields_crc = reel_crc32c(loss->first_tier, loss->field,
						 loss->fields * sizeof *loss->field);
	}
	REEL_ASSERT(header->segment_steps > 0 && header->planner[0]);
}

uint32_t reel_restart_plan_crc(const reel_run *run)
{
	struct run_header header;

	describe(run, &header);
	header.rank = 0;
	header.state_bytes = 0;
	header.fields_crc = 0;
	/* All processes write restart files, or none does. */
	header.adjoint_bytes = !!run->options.restart;
	return reel_crc32c(0, &header, sizeof header);
}

/* ---- Writing ---- */

/* Goes on to the next slot that holds a snapshot, from the slot of *header on; false: none. */
static bool find_snapshot(reel_run *run, struct snapshot_header *header)
{
	struct reel_snapshots *snapshots = &run->snapshots;

	for (; header->tier < snapshots->tiers; header->tier++, header->slot = 0)
		for (; header->slot < snapshots->tier[header->tier].slots; header->slot++) {
			header->state = reel_snapshot_state(snapshots, header->tier, header->slot);
			if (header->state >= 0)
				return true;
		}
	return false;
}

static int write_snapshots(reel_run *run, struct reel_restart_file *file)
{
	for (struct snapshot_header at = {0}; find_snapshot(run, &at); at.slot++) {
		const void *data;
		int error = reel_snapshot_pin(&run->snapshots, at.tier, at.slot, at.state, false,
					      &data);

		if (error)
			return error;
		at.bytes = reel_snapshot_bytes(&run->snapshots, at.tier, at.slot);
		reel_restart_file_write(file, &at, sizeof at);
		reel_restart_file_write(file, data, at.bytes);
		reel_snapshot_unpin(&run->snapshots, at.tier, at.slot);
		if (file->error)
			return file->error;
	}
	return 0;
}

/* The place of a schedule, and its levels. */
static void write_place(const reel_run *run, struct reel_restart_file *file)
{
	struct schedule_place place;

	if (!reel_plan_learns(run->plan))
		return;
	place = reel_schedule_place(run->schedule);
	reel_restart_file_write(file, &place, sizeof place);
	reel_restart_file_write(file, run->schedule->level,
				place.levels * sizeof *run->schedule->level);
}

static void write_run(reel_run *run, struct reel_restart_file *file)
{
	struct run_header header;

	REEL_ASSERT(file->error || file->offset == REEL_RESTART_MAGIC_BYTES);
	describe(run, &header);
	header.steps = run->steps;
	header.actions = run->actions;
	header.epoch = run->epoch + 1;
	for (struct snapshot_header at = {0}; find_snapshot(run, &at); at.slot++)
		header.snapshots++;
	header.counts = reel_run_get_counts(run);
	reel_restart_file_write(file, &header, sizeof header);
	write_place(run, file);
}

/*
 * The bytes that save_adjoint() packs are not kept until the next file, since they may be as large
 * as all states. The run owns them meanwhile: the callback may be left by an exception.
 */
void reel_restart_drop_packed(reel_run *run)
{
	free(run->packed);
	run->packed = NULL;
}

static int make_packed(reel_run *run, size_t bytes)
{
	reel_restart_drop_packed(run);
	run->packed = calloc(1, bytes + !bytes);
	run->packed_bytes = bytes;
	return run->packed ? 0 : -ENOMEM;
}

static int pack(reel_run *run, void *context, const void *adjoint)
{
	const struct reel_run_options *options = &run->options;
	size_t bytes = options->adjoint_bytes;
	int error;

	if (!options->save_adjoint)
		return 0;
	if (options->packed_bytes)
		bytes = options->packed_bytes(context, adjoint);
	error = make_packed(run, bytes);
	return error ? error : options->save_adjoint(context, adjoint, run->packed);
}

/* The arrays of the last part of a file: the bytes of save_adjoint(), or else the adjoint. */
struct adjoint_arrays {
	const struct reel_part *array;
	unsigned count;
	struct reel_part only; /* the array, if it is one */
};

static void find_adjoint(const reel_run *run, void *adjoint, struct adjoint_arrays *arrays)
{
	const struct reel_run_options *options = &run->options;

	arrays->only.data = run->packed ? run->packed : adjoint;
	arrays->only.bytes = run->packed ? run->packed_bytes : options->adjoint_bytes;
	arrays->array = &arrays->only;
	arrays->count = 1;
	if (run->packed || !options->adjoint_parts)
		return;
	arrays->array = options->adjoint_part;
	arrays->count = options->adjoint_parts;
}

/*
 * The forward sweep has no adjoint, so its files end with the packed bytes, or with the snapshots.
 * Writing does not change the adjoint.
 */
static void write_adjoint(const reel_run *run, struct reel_restart_file *file, const void *adjoint)
{
	struct adjoint_arrays arrays;

	if (!run->packed && run->phase != REEL_RUN_REVERSE)
		return;
	find_adjoint(run, (void *)adjoint, &arrays);
	for (unsigned i = 0; i < arrays.count; i++)
		reel_restart_file_write(file, arrays.array[i].data, arrays.array[i].bytes);
}

static int fill_file(reel_run *run, struct reel_restart_file *file, const void *adjoint)
{
	int error = reel_packer_finish(run, NULL);

	REEL_ASSERT(run->phase != REEL_RUN_IDLE);
	if (error)
		return error;
	write_run(run, file);
	error = write_snapshots(run, file);
	if (error)
		return error;
	write_adjoint(run, file, adjoint);
	return reel_restart_file_finish(file);
}

/*
 * Writes the next epoch, unless `error` says that the adjoint could not be packed. No process
 * renames its file before all have theirs on the disk; and the epoch counts only if all have
 * renamed it, since they must replace the same name next time.
 */
static int write_file(reel_run *run, int error, const void *adjoint)
{
	REEL_UNCANCELLED;
	struct reel_restart_file file;
	bool created;

	if (!error)
		error = reel_restart_file_create(&file, reel_restart_path(run, run->epoch + 1));
	created = !error;
	if (created)
		error = fill_file(run, &file, adjoint);
	error = reel_group_agree(&run->group, error, NULL);
	if (created && error)
		reel_restart_file_abandon(&file);
	if (!error)
		error = reel_group_agree(&run->group, reel_restart_file_publish(&file), NULL);
	if (!error)
		run->epoch++;
	return error;
}

void reel_restart_begin(reel_run *run)
{
	run->saved_at = reel_clock_ns();
	run->saves = run->failed_saves = 0;
	run->served = reel_save_requests();
	run->save_failed = false;
}

static const char *explain(int error)
{
	switch (error) {
	case -EBUSY:
		return "another process, or another run of this one, writes a file of this name: "
		       "give each its own";
	case -EEXIST:
		return "a file that is not a restart file has this name, or this name with .new: "
		       "choose another name";
	default:
		return reel_store_strerror(error);
	}
}

int reel_restart_check(const char *path)
{
	const char *suffix;
	int error = reel_restart_file_check(path, &suffix);
	const char *why = error == -EEXIST   ? "file exists and is not a restart file"
			  : error == -EINVAL ? "it names no file"
					     : strerror(-error);

	return error ? reel_fail(error,
				 "cannot write restart file '%.300s%s': %s; choose another name",
				 path, suffix, why)
		     : 0;
}

/* Reports a restart file that failed although the sweep goes on. */
static void report(const char *path, int error, const char *what, const char *consequence)
{
	char message[512];

	snprintf(message, sizeof message, "the restart file %.300s was not %s: %s; %s",
		 path, what, explain(error), consequence);
	reel_report(NULL, error, message);
}

static void note_save(reel_run *run, int error)
{
	REEL_ASSERT(run->options.restart && run->saved_at <= reel_clock_ns());
	if (error)
		run->failed_saves++;
	else
		run->saves++;
	/* In a group the processes that failed report it. */
	if (error && error != -ECANCELED && !run->save_failed)
		report(reel_restart_path(run, run->epoch + 1), error, "written",
		       "the sweep goes on without it");
	run->save_failed = error;
	run->saved_at = reel_clock_ns();
}

/*
 * Returns true if the run consists of snapshots and an adjoint only. No recorded step may be left;
 * the tape can be empty although steps are recorded, since a step may push nothing. After a STORE
 * the slot holds the working state. After a REVERSE a planner's next action does not use the
 * working state, but a list of the caller's own actions may use it. After the last REVERSE of a
 * planner there is nothing left to go on with.
 */
static bool can_be_saved(const reel_run *run)
{
	reel_action action;

	REEL_ASSERT(run->phase != REEL_RUN_IDLE && run->actions > 0);
	if (!reel_tape_is_empty(&run->tape) || run->steps_on_tape)
		return false;
	if (run->phase != REEL_RUN_REVERSE)
		return true;
	reel_schedule_copy(run->later, run->schedule);
	do
		reel_schedule_next(run->later, &action);
	while (action.kind == REEL_ACTION_DROP ||
	       (action.kind == REEL_ACTION_REVERSE && !run->plan->planner));
	return run->plan->planner
		       ? action.kind != REEL_ACTION_DONE
		       : action.kind == REEL_ACTION_LOAD || action.kind == REEL_ACTION_DONE;
}

/* A request whose file could not be written is tried again, but not at each action. */
static bool is_due(const reel_run *run, bool requested)
{
	double seconds = run->options.restart_seconds > 0 ? run->options.restart_seconds : SECONDS;
	double passed = 1e-9 * (double)(reel_clock_ns() - run->saved_at);

	REEL_ASSERT(run->options.restart);
	return passed >= seconds || (requested && (!run->save_failed || passed >= RETRY_SECONDS));
}

/* In the forward sweep a run can be saved after a STORE, in the reverse sweep after a REVERSE. */
unsigned reel_restart_requests(const reel_run *run, const reel_action *action)
{
	bool reverses = run->phase == REEL_RUN_REVERSE;
	uint32_t requests;
	bool ends;

	if (!run->options.restart ||
	    action->kind != (reverses ? REEL_ACTION_REVERSE : REEL_ACTION_STORE))
		return 0;
	requests = reel_save_requests();
	ends = reel_save_ends();
	if (!is_due(run, ends || requests != run->served) || !can_be_saved(run))
		return 0;
	return REEL_REQUEST_SAVE | (ends ? REEL_REQUEST_END : 0);
}

/*
 * A restart file that cannot be written does not end the sweep. Of several such files in a row the
 * first is reported. A request that comes while the file is written is served by the next one.
 * While save_adjoint() returns -EAGAIN the file stays due, and nothing has failed.
 */
int reel_restart_save(reel_run *run, void *context, const void *adjoint, bool ends)
{
	uint32_t requests = reel_save_requests();
	int packed, error;

	REEL_ASSERT(can_be_saved(run));
	/*
	 * pack() comes first: if its callback is left, no file is open, and the thread can be
	 * cancelled as before.
	 */
	packed = pack(run, context, adjoint);
	error = write_file(run, packed, adjoint);
	reel_restart_drop_packed(run);
	if (packed != -EAGAIN)
		note_save(run, error);
	if (error)
		return 0;
	run->served = requests;
	return ends ? reel_fail(-EINTR, "the sweep was asked to end, and goes on from %.300s",
				reel_restart_path(run, run->epoch))
		    : 0;
}

static void for_all_names(const reel_run *run, int (*act)(const char *path))
{
	REEL_ASSERT(run->options.restart);
	for (unsigned epoch = 0; epoch < reel_restart_names(run); epoch++) {
		const char *path = reel_restart_path(run, epoch);
		int error = act(path);

		/* A file of another kind stays: no run resumes from it. */
		if (error && error != -EEXIST)
			report(path, error, "removed", "remove it before a run resumes from it");
	}
}

/*
 * In a group no file is removed before all are set aside, so that none of them shows any more that
 * its epoch is complete. If a process is killed in between, all go on from these files; if one is
 * killed later, those that are left belong to no complete epoch, and a run begins anew.
 */
void reel_restart_remove(reel_run *run)
{
	REEL_UNCANCELLED;

	if (!run->options.restart)
		return;
	if (reel_restart_names(run) > 1)
		for_all_names(run, reel_restart_file_set_aside);
	reel_group_agree(&run->group, 0, NULL);
	for_all_names(run, reel_restart_file_remove);
}

/* ---- Reading ---- */

static int refuse(const char *path, int error, const char *why)
{
	REEL_ASSERT(error < 0 && why);
	return reel_fail(error, "%s %s", path, why);
}

static int check_header(const reel_run *run, const char *path, const struct run_header *header)
{
	struct run_header own;

	describe(run, &own);
	if (header->byte_order == own.byte_order && header->version != own.version)
		return reel_fail(-EPROTO,
				 "%s has format %u, and this Reel reads format %u: resume with the "
				 "version that wrote it, or remove it to begin again",
				 path, header->version, own.version);
	/* Members behind header_bytes may be elsewhere. */
	if (header->byte_order != own.byte_order || header->header_bytes != own.header_bytes)
		return refuse(path, -EPROTO,
			      "is from another kind of machine: resume there, or begin again");
	if (header->rank != own.rank || header->ranks != own.ranks)
		return reel_fail(-EINVAL,
				 "%s was written by rank %u of %u, and this is rank %u of %u", path,
				 header->rank, header->ranks, own.rank, own.ranks);
	if (memcmp(header->planner, own.planner, sizeof own.planner) ||
	    memcmp(&header->problem, &own.problem, sizeof own.problem) ||
	    header->actions_crc != own.actions_crc)
		return refuse(path, -EINVAL, "belongs to another plan");
	if (header->segment_steps != own.segment_steps || header->state_bytes != own.state_bytes ||
	    header->adjoint_bytes != own.adjoint_bytes || header->fields_crc != own.fields_crc ||
	    header->tolerance < own.tolerance || header->tolerance > own.tolerance ||
	    (run->steps != REEL_UNKNOWN_STEPS && header->steps != run->steps))
		return refuse(path, -EINVAL,
			      "belongs to a run with other segments, steps, states or adjoints, or "
			      "another loss of states");
	return 0;
}

static bool has_slot(const reel_run *run, const struct snapshot_header *header)
{
	REEL_ASSERT(run->snapshots.tiers == run->plan->problem.tiers);
	return header->tier < run->snapshots.tiers && header->state >= 0 &&
	       header->slot < run->plan->problem.tier[header->tier].slots &&
	       header->bytes <= reel_loss_room(run) &&
	       (reel_loss_in(run, header->tier) || header->bytes == run->model.state_bytes);
}

static int read_snapshot(reel_run *run, struct reel_restart_file *file)
{
	struct snapshot_header header;
	void *data;
	int error = reel_restart_file_read(file, &header, sizeof header);

	if (!error && !has_slot(run, &header))
		error = -EBADMSG;
	if (!error)
		error = reel_snapshot_reserve(&run->snapshots, header.tier, header.slot,
					      header.state, header.bytes, &data);
	if (error)
		return error;
	REEL_ASSERT(reel_snapshot_state(&run->snapshots, header.tier, header.slot) == header.state);
	error = reel_restart_file_read(file, data, header.bytes);
	reel_snapshot_commit(&run->snapshots, header.tier, header.slot);
	return error;
}

/*
 * Ends the loop in this ADVANCE if the saved run found the end there. Otherwise the walk would not
 * know the end of the loop.
 */
static int meet_end(reel_run *run, const reel_action *action, int64_t steps)
{
	REEL_ASSERT(action->kind == REEL_ACTION_ADVANCE);
	if (steps == REEL_UNKNOWN_STEPS || steps / run->options.segment_steps >= action->last)
		return 0;
	return reel_run_meet_end(run, steps);
}

/*
 * Takes the actions that the saved run had taken, and enters its phase. The last one is a STORE
 * of the forward sweep or a REVERSE of the reverse sweep; otherwise the file is wrong.
 */
static int walk(reel_run *run, const struct run_header *header)
{
	reel_action action = {.kind = REEL_ACTION_DONE};
	bool reverses = false;

	for (run->actions = 0; run->actions < header->actions; run->actions++) {
		bool open = reel_schedule_next(run->schedule, &action) == -EAGAIN;

		if (action.kind == REEL_ACTION_DONE ||
		    (open && meet_end(run, &action, header->steps)))
			return -EBADMSG;
		reverses |= reel_run_turns_after(run, &action);
	}
	if (action.kind != (reverses ? REEL_ACTION_REVERSE : REEL_ACTION_STORE) ||
	    run->steps != header->steps)
		return -EBADMSG;
	REEL_ASSERT(run->steps != REEL_UNKNOWN_STEPS || !reverses);
	run->stored = action;
	reel_run_enter(run, reverses ? REEL_RUN_REVERSE : REEL_RUN_RESUMED);
	return 0;
}

/* Goes to the place of the schedule in the file, and enters the phase of the saved run. */
static int go_to_place(reel_run *run, struct reel_restart_file *file,
		       const struct run_header *header)
{
	reel_schedule *schedule = run->schedule;
	struct schedule_place place;
	struct level *level;
	bool reverses;
	int error = reel_restart_file_read(file, &place, sizeof place);

	if (error || place.levels > run->plan->max_levels)
		return error ? error : -EBADMSG;
	level = malloc(place.levels * sizeof *level + !place.levels);
	if (!level)
		return -ENOMEM;
	error = reel_restart_file_read(file, level, place.levels * sizeof *level);
	if (!error)
		error = reel_schedule_go_to(schedule, &place, level);
	free(level);
	if (error)
		return error;
	reverses = reel_schedule_returns(schedule);
	run->steps = header->steps;
	if ((run->steps == REEL_UNKNOWN_STEPS) != (schedule->steps == REEL_UNKNOWN_STEPS) ||
	    (schedule->steps != REEL_UNKNOWN_STEPS &&
	     reel_run_step_of(run, schedule->steps) != run->steps) ||
	    (!reverses && !reel_schedule_top_holds_working_state(schedule)))
		return -EBADMSG;
	if (!reverses)
		run->stored = (reel_action){.kind = REEL_ACTION_STORE, .first = schedule->at,
					    .last = schedule->at,
					    .tier = schedule->level[schedule->levels - 1].tier,
					    .slot = schedule->level[schedule->levels - 1].slot};
	run->actions = header->actions;
	reel_run_enter(run, reverses ? REEL_RUN_REVERSE : REEL_RUN_RESUMED);
	return 0;
}

/* Reads the adjoint, or the bytes of save_adjoint() if there is a load_adjoint(). */
static int read_adjoint(reel_run *run, struct reel_restart_file *file, void *adjoint)
{
	size_t bytes = run->options.adjoint_bytes, left = (size_t)(file->bytes - file->offset);
	struct adjoint_arrays arrays;
	int error = 0;

	if (run->phase != REEL_RUN_REVERSE && !run->options.load_adjoint)
		bytes = 0;
	if (run->options.packed_bytes)
		bytes = left;
	if (left != bytes)
		return -EBADMSG;
	if (run->options.load_adjoint)
		error = make_packed(run, bytes);
	if (error || !bytes)
		return error;
	find_adjoint(run, adjoint, &arrays);
	for (unsigned i = 0; i < arrays.count && !error; i++)
		error = reel_restart_file_read(file, arrays.array[i].data, arrays.array[i].bytes);
	return error;
}

/* The adjoint comes last, so that it is as it was unless all else is whole. */
static int read_run(reel_run *run, struct reel_restart_file *file, void *adjoint,
		    const struct run_header *header)
{
	int error = reel_plan_learns(run->plan) ? go_to_place(run, file, header)
						: walk(run, header);

	REEL_ASSERT(error || run->actions == header->actions);
	for (uint64_t i = 0; i < header->snapshots && !error; i++)
		error = read_snapshot(run, file);
	return error ? error : read_adjoint(run, file, adjoint);
}

/* Opens a whole restart file and reads its first header. On failure it is closed. */
static int open_file(const reel_run *run, const char *path, struct reel_restart_file *file,
		     struct run_header *header)
{
	const char *wrong;
	int error = reel_restart_file_open(file, path, &wrong);

	if (error)
		return refuse(path, error, wrong ? wrong : strerror(-error));
	error = reel_restart_file_read(file, header, sizeof *header);
	error = error ? refuse(path, error, "is too short") : check_header(run, path, header);
	if (error)
		reel_restart_file_close(file);
	return error;
}

static int read_file(reel_run *run, void *adjoint)
{
	REEL_UNCANCELLED;
	const char *path = reel_restart_path(run, run->epoch);
	struct reel_restart_file file;
	struct run_header header;
	int error = open_file(run, path, &file, &header);

	if (error)
		return error;
	REEL_ASSERT(run->phase == REEL_RUN_IDLE && !run->snapshots.memory_bytes);
	error = read_run(run, &file, adjoint, &header);
	reel_restart_file_close(&file);
	if (error)
		return refuse(path, error, reel_store_strerror(error));
	reel_run_set_counts(run, &header.counts);
	return 0;
}

int reel_restart_read(reel_run *run, void *context, void *adjoint)
{
	int error = read_file(run, adjoint);

	REEL_ASSERT(error || run->phase != REEL_RUN_IDLE);
	if (error || !run->packed)
		return error;
	error = run->options.load_adjoint(context, run->phase == REEL_RUN_REVERSE ? adjoint : NULL,
					  run->packed);
	reel_restart_drop_packed(run);
	return error ? refuse(reel_restart_path(run, run->epoch), error, reel_store_strerror(error))
		     : 0;
}

int reel_restart_find(const reel_run *run, const char *path, int64_t *epoch)
{
	REEL_UNCANCELLED;
	struct reel_restart_file file;
	struct run_header header;
	int error = open_file(run, path, &file, &header);

	*epoch = error ? 0 : (int64_t)header.epoch;
	if (!error)
		reel_restart_file_close(&file);
	return error == -ENOENT || error == -EBADMSG ? 0 : error;
}

int reel_restart_rename(const reel_run *run)
{
	const char *path = reel_restart_path(run, run->epoch);
	int error = reel_restart_file_rename(path);

	REEL_ASSERT(run->epoch > 0);
	return error ? reel_fail(error, "cannot rename %s%s: %s", path, REEL_RESTART_BESIDE,
				 explain(error))
		     : 0;
}
