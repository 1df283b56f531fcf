/* SPDX-License-Identifier: MIT */
/*
 * Options, and the functions of PETSc that set the same. Those for bounded memory have the names
 * that PETSc's type "memory" gives them. A unit is a vector, and a checkpoint is a solution, so
 * units and checkpoints are one number.
 */
#include "trajectory.h"

/* ---- PETSc's functions ---- */

static PetscErrorCode set_memory(TSTrajectory tj, PetscInt slots)
{
	PetscFunctionBegin;
	((struct trajectory *)tj->data)->asked.memory_slots = slots;
	PetscFunctionReturn(0);
}

static PetscErrorCode set_disk(TSTrajectory tj, PetscInt slots)
{
	PetscFunctionBegin;
	((struct trajectory *)tj->data)->asked.disk_slots = slots;
	PetscFunctionReturn(0);
}

/* Which software plans: here it is Reel. */
static PetscErrorCode set_memory_type(TSTrajectory tj, int type)
{
	PetscFunctionBegin;
	(void)tj;
	(void)type;
	PetscFunctionReturn(0);
}

typedef void function(void);

static const struct {
	const char *name;
	function *call;
} functions[] = {
	{"TSTrajectorySetMaxCpsRAM_C", (function *)set_memory},
	{"TSTrajectorySetMaxCpsDisk_C", (function *)set_disk},
	{"TSTrajectorySetMaxUnitsRAM_C", (function *)set_memory},
	{"TSTrajectorySetMaxUnitsDisk_C", (function *)set_disk},
	{"TSTrajectoryMemorySetType_C", (function *)set_memory_type},
};

PetscErrorCode reel_petsc_compose(TSTrajectory tj, PetscBool adds)
{
	PetscFunctionBegin;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		PetscCall(PetscObjectComposeFunction((PetscObject)tj, functions[i].name,
						     adds ? functions[i].call : NULL));
	PetscFunctionReturn(0);
}

/* ---- Options ---- */

static PetscErrorCode get_numbers(struct settings *asked, option_items PetscOptionsObject)
{
	PetscFunctionBegin;
	PetscCall(PetscOptionsInt("-ts_trajectory_max_cps_ram", "Checkpoints in memory",
				  "TSTrajectorySetMaxCpsRAM", asked->memory_slots,
				  &asked->memory_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_cps_disk", "Checkpoints on disk",
				  "TSTrajectorySetMaxCpsDisk", asked->disk_slots,
				  &asked->disk_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_units_ram", "Vectors in memory",
				  "TSTrajectorySetMaxUnitsRAM", asked->memory_slots,
				  &asked->memory_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_units_disk", "Vectors on disk",
				  "TSTrajectorySetMaxUnitsDisk", asked->disk_slots,
				  &asked->disk_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_stride",
				  "Steps between two checkpoints on disk, of any number",
				  "TSTrajectorySetStride", asked->stride, &asked->stride, NULL));
	PetscFunctionReturn(0);
}

static PetscErrorCode get_texts(struct settings *asked, option_items PetscOptionsObject)
{
	PetscFunctionBegin;
	PetscCall(PetscOptionsString("-ts_trajectory_reel_planner",
				     "binomial:30, multistage:5:200, ...: see reel/plan.h", "",
				     asked->planner, asked->planner, sizeof asked->planner, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_budget",
				     "What may be in memory, on each rank: 4G, for example", "",
				     asked->budget, asked->budget, sizeof asked->budget, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_directory", "Where files are put", "",
				     asked->directory, asked->directory, sizeof asked->directory,
				     NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_store",
				     "lz4,file or memory=2G, for example: see reel/store.h", "",
				     asked->store, asked->store, sizeof asked->store, NULL));
	PetscCall(PetscOptionsBool("-ts_trajectory_reel_audit",
				   "Compare each repeated solution with the first one",
				   "", asked->audits, &asked->audits, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_restart",
				     "A file from which a program that was killed goes on", "",
				     asked->restart, asked->restart, sizeof asked->restart, NULL));
	PetscCall(PetscOptionsReal("-ts_trajectory_reel_restart_seconds",
				   "It is written so often; 0: every 10 minutes", "",
				   asked->restart_seconds, &asked->restart_seconds, NULL));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_set_from_options(TSTrajectory tj, option_items PetscOptionsObject)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscOptionsHeadBegin(PetscOptionsObject, "Trajectory by Reel");
	PetscCall(get_numbers(&self->asked, PetscOptionsObject));
	PetscCall(get_texts(&self->asked, PetscOptionsObject));
	PetscOptionsHeadEnd();
	PetscFunctionReturn(0);
}
