/* SPDX-License-Identifier: MIT */
/*
 * Restart files: what a run is, between two actions that leave nothing but snapshots
 * and an adjoint. A record of the schedule, a record and the data of each snapshot, and
 * the adjoint. Of the machine that wrote it: a record says how it lays out numbers.
 */
#include "config.h"

#include "checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checked-file.h"
#include "crc32c.h"
#include "offload.h"
#include "os-file.h"
#include "plan.h"
#include "tape.h"

#define MAGIC "ReelRun\n"
#define RECORD_VERSION 1
#define BYTE_ORDER_MARK 0x01020304u
#define SECONDS 600

struct schedule_record {
	uint32_t version;
	uint32_t byte_order;
	uint32_t record_bytes;
	uint32_t phase;
	/* What it belongs to. */
	char planner[32];
	struct reel_problem problem;
	uint64_t actions_crc;
	int64_t segment_steps;
	uint64_t state_bytes;
	uint64_t adjoint_bytes;
	/* Where it was. */
	int64_t steps;
	int64_t working_state; /* of a forward sweep */
	uint64_t snapshots;
	int64_t advanced, recorded, reversed;
	uint64_t stores[REEL_MOST_TIERS], loads[REEL_MOST_TIERS];
	reel_schedule schedule;
};

struct snapshot_record {
	uint32_t tier;
	uint32_t slot;
	int64_t state;
};

static uint64_t actions_crc(const reel_plan *plan)
{
	return plan->planner ? 0 : reel_crc32c(0, plan->actions,
					       plan->action_count * sizeof *plan->actions);
}

/* Member by member: what lies between them is to be the same each time. */
static void describe_problem(const struct reel_problem *problem, struct reel_problem *to)
{
	to->steps = problem->steps;
	to->advance_cost = problem->advance_cost;
	to->record_cost = problem->record_cost;
	to->reverse_cost = problem->reverse_cost;
	to->tape_states = problem->tape_states;
	to->period = problem->period;
	to->tiers = problem->tiers;
	memcpy(to->tier, problem->tier, sizeof to->tier);
}

/* All but where it is: the same for each run of one program. */
static void describe(const reel_checkpoint *run, struct schedule_record *record)
{
	memset(record, 0, sizeof *record);
	record->version = RECORD_VERSION;
	record->byte_order = BYTE_ORDER_MARK;
	record->record_bytes = sizeof *record;
	snprintf(record->planner, sizeof record->planner, "%s",
		 run->plan->planner ? run->plan->planner->name : "actions");
	describe_problem(&run->plan->problem, &record->problem);
	record->actions_crc = actions_crc(run->plan);
	record->segment_steps = run->options.segment_steps;
	record->state_bytes = run->model.state_bytes;
	record->adjoint_bytes = run->options.adjoint_bytes;
}

/* ---- Writing ---- */

/* For each snapshot in its slot, until one call fails. */
static int for_all_snapshots(reel_checkpoint *run, struct reel_checked_file *file,
			     int (*visit)(reel_checkpoint *run, struct reel_checked_file *file,
					  const struct snapshot_record *record),
			     uint64_t *count)
{
	int error = 0;

	*count = 0;
	for (uint32_t tier = 0; tier < run->snapshots.tiers; tier++) {
		for (uint32_t i = 0; i < run->snapshots.tier[tier].slots && !error; i++) {
			struct snapshot_record record = {tier, i, reel_snapshot_state(
								&run->snapshots, tier, i)};

			if (record.state < 0)
				continue;
			++*count;
			error = visit ? visit(run, file, &record) : 0;
		}
	}
	return error;
}

static int write_snapshot(reel_checkpoint *run, struct reel_checked_file *file,
			  const struct snapshot_record *record)
{
	const void *data;
	int error = reel_snapshot_load(&run->snapshots, record->tier, record->slot, record->state,
				       &data);

	if (error)
		return error;
	reel_checked_file_write(file, record, sizeof *record);
	reel_checked_file_write(file, data, run->model.state_bytes);
	reel_snapshot_release(&run->snapshots, record->tier, record->slot);
	return file->error;
}

static void write_schedule(reel_checkpoint *run, struct reel_checked_file *file)
{
	struct schedule_record record;

	describe(run, &record);
	record.phase = run->phase;
	record.steps = run->steps;
	record.working_state = run->working_state;
	for_all_snapshots(run, NULL, NULL, &record.snapshots);
	record.advanced = atomic_load_explicit(&run->advanced, memory_order_relaxed);
	record.recorded = atomic_load_explicit(&run->recorded, memory_order_relaxed);
	record.reversed = atomic_load_explicit(&run->reversed, memory_order_relaxed);
	for (unsigned tier = 0; tier < REEL_MOST_TIERS; tier++) {
		record.stores[tier] = atomic_load_explicit(&run->stores[tier],
							   memory_order_relaxed);
		record.loads[tier] = atomic_load_explicit(&run->loads[tier], memory_order_relaxed);
	}
	record.schedule = run->schedule;
	record.schedule.plan = NULL;
	reel_checked_file_write(file, &record, sizeof record);
}

static int write_file(reel_checkpoint *run, const void *adjoint)
{
	struct reel_checked_file file;
	uint64_t count;
	int error = reel_checked_file_create(&file, run->options.restart, MAGIC);

	if (error)
		return error;
	write_schedule(run, &file);
	error = for_all_snapshots(run, &file, write_snapshot, &count);
	if (error) {
		reel_checked_file_abandon(&file);
		return error;
	}
	if (run->phase == REEL_RUN_REVERSE)
		reel_checked_file_write(&file, adjoint, run->options.adjoint_bytes);
	return reel_checked_file_publish(&file);
}

void reel_restart_begin(reel_checkpoint *run)
{
	run->saved_at = reel_offload_now();
	run->saves = run->failed_saves = 0;
}

/* A run whose disk is full is worth more than one that ends for it. */
void reel_restart_save_if_due(reel_checkpoint *run, const void *adjoint)
{
	double seconds = run->options.restart_seconds > 0 ? run->options.restart_seconds : SECONDS;

	if (!run->options.restart || !reel_tape_is_empty(&run->tape) ||
	    (double)(reel_offload_now() - run->saved_at) < seconds * 1e9)
		return;
	if (write_file(run, adjoint))
		run->failed_saves++;
	else
		run->saves++;
	run->saved_at = reel_offload_now();
}

void reel_restart_remove(const reel_checkpoint *run)
{
	if (run->options.restart)
		reel_os_file_unlink(run->options.restart);
}

/* ---- Reading ---- */

static int refuse(reel_checkpoint *run, int error, const char *why)
{
	return reel_run_fail(run, error, "%s %s", run->options.restart, why);
}

static int check_record(reel_checkpoint *run, const struct schedule_record *record)
{
	struct schedule_record own;

	describe(run, &own);
	if (record->version != own.version || record->byte_order != own.byte_order ||
	    record->record_bytes != own.record_bytes)
		return refuse(run, -EPROTO,
			      "was written by another version, or on another kind of machine");
	if (memcmp(record->planner, own.planner, sizeof own.planner) ||
	    memcmp(&record->problem, &own.problem, sizeof own.problem) ||
	    record->actions_crc != own.actions_crc)
		return refuse(run, -EINVAL, "belongs to another plan");
	if (record->segment_steps != own.segment_steps || record->state_bytes != own.state_bytes ||
	    record->adjoint_bytes != own.adjoint_bytes)
		return refuse(run, -EINVAL,
			      "belongs to a run with other segments, states or adjoints");
	return 0;
}

static int read_snapshot(reel_checkpoint *run, struct reel_checked_file *file)
{
	struct snapshot_record record;
	void *data;
	int error = reel_checked_file_read(file, &record, sizeof record);

	if (!error && record.tier >= run->snapshots.tiers)
		error = -EBADMSG;
	if (!error)
		error = reel_snapshot_reserve(&run->snapshots, record.tier, record.slot,
					      record.state, &data);
	if (error)
		return error;
	error = reel_checked_file_read(file, data, run->model.state_bytes);
	reel_snapshot_commit(&run->snapshots, record.tier, record.slot);
	return error;
}

static void take_over(reel_checkpoint *run, const struct schedule_record *record)
{
	run->schedule = record->schedule;
	run->schedule.plan = run->plan;
	run->steps = record->steps;
	run->working_state = record->working_state;
	atomic_store_explicit(&run->advanced, record->advanced, memory_order_relaxed);
	atomic_store_explicit(&run->recorded, record->recorded, memory_order_relaxed);
	atomic_store_explicit(&run->reversed, record->reversed, memory_order_relaxed);
	for (unsigned tier = 0; tier < REEL_MOST_TIERS; tier++) {
		atomic_store_explicit(&run->stores[tier], record->stores[tier],
				      memory_order_relaxed);
		atomic_store_explicit(&run->loads[tier], record->loads[tier],
				      memory_order_relaxed);
	}
}

static int read_file(reel_checkpoint *run, struct reel_checked_file *file, void *adjoint)
{
	struct schedule_record record;
	int error = reel_checked_file_read(file, &record, sizeof record);

	if (error)
		return refuse(run, error, "is too short");
	error = check_record(run, &record);
	for (uint64_t i = 0; i < record.snapshots && !error; i++)
		error = read_snapshot(run, file);
	if (!error && record.phase == REEL_RUN_REVERSE)
		error = reel_checked_file_read(file, adjoint, record.adjoint_bytes);
	if (error)
		return reel_run_fail(run, error, "%s: %s", run->options.restart,
				     reel_store_strerror(error));
	take_over(run, &record);
	run->phase = record.phase;
	return 0;
}

int reel_restart_read(reel_checkpoint *run, void *adjoint)
{
	struct reel_checked_file file;
	const char *wrong;
	int error;

	if (!run->options.restart)
		return reel_run_fail(run, -EINVAL, "options.restart names no file to resume from");
	error = reel_checked_file_open(&file, run->options.restart, MAGIC, &wrong);
	if (error)
		return refuse(run, error, wrong ? wrong : strerror(-error));
	error = read_file(run, &file, adjoint);
	reel_checked_file_close(&file);
	return error;
}
