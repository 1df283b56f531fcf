/* SPDX-License-Identifier: MIT */
/*
 * Options, and the functions of PETSc that set the same. Those for bounded memory have the names
 * that PETSc's type "memory" gives them. A unit is a vector, and a checkpoint is a solution, so that
 * units and checkpoints are one number.
 */
#include "trajectory.h"

/* ---- PETSc's functions ---- */

static PetscErrorCode set_memory(TSTrajectory tj, PetscInt slots)
{
	PetscFunctionBegin;
	((struct trajectory *)tj->data)->memory_slots = slots;
	PetscFunctionReturn(0);
}

static PetscErrorCode set_disk(TSTrajectory tj, PetscInt slots)
{
	PetscFunctionBegin;
	((struct trajectory *)tj->data)->disk_slots = slots;
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

PetscErrorCode reel_petsc_compose(TSTrajectory tj)
{
	PetscFunctionBegin;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		PetscCall(PetscObjectComposeFunction((PetscObject)tj, functions[i].name,
						     functions[i].call));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_decompose(TSTrajectory tj)
{
	PetscFunctionBegin;
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		PetscCall(PetscObjectComposeFunction((PetscObject)tj, functions[i].name, NULL));
	PetscFunctionReturn(0);
}

/* ---- Options ---- */

static PetscErrorCode get_numbers(struct trajectory *self, option_items PetscOptionsObject)
{
	PetscBool ignored = PETSC_FALSE;
	char text[TEXT_BYTES] = "reel";

	PetscFunctionBegin;
	PetscCall(PetscOptionsInt("-ts_trajectory_max_cps_ram", "Checkpoints in memory",
				  "TSTrajectorySetMaxCpsRAM", self->memory_slots,
				  &self->memory_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_cps_disk", "Checkpoints on disk",
				  "TSTrajectorySetMaxCpsDisk", self->disk_slots, &self->disk_slots,
				  NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_units_ram", "Vectors in memory",
				  "TSTrajectorySetMaxUnitsRAM", self->memory_slots,
				  &self->memory_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_max_units_disk", "Vectors on disk",
				  "TSTrajectorySetMaxUnitsDisk", self->disk_slots,
				  &self->disk_slots, NULL));
	PetscCall(PetscOptionsInt("-ts_trajectory_stride",
				  "Steps between two checkpoints on disk, of which there are as many "
				  "as it takes",
				  "TSTrajectorySetStride", self->stride, &self->stride, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_memory_type", "Ignored", "", text, text,
				     sizeof text, NULL));
	PetscCall(PetscOptionsBool("-ts_trajectory_revolve_online", "Ignored", "", ignored, &ignored,
				   NULL));
	PetscCall(PetscOptionsBool("-ts_trajectory_save_stack", "Ignored", "", ignored, &ignored,
				   NULL));
	PetscCall(PetscOptionsBool("-ts_trajectory_use_dram", "Ignored", "", ignored, &ignored,
				   NULL));
	PetscFunctionReturn(0);
}

static PetscErrorCode get_texts(struct trajectory *self, option_items PetscOptionsObject)
{
	PetscFunctionBegin;
	PetscCall(PetscOptionsString("-ts_trajectory_reel_planner",
				     "binomial, multistage, online, ...: see reel/run.h", "",
				     self->planner, self->planner, sizeof self->planner, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_budget",
				     "What may be in memory, on each rank: 4G, for example", "",
				     self->budget, self->budget, sizeof self->budget, NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_directory", "Where files are put", "",
				     self->directory, self->directory, sizeof self->directory,
				     NULL));
	PetscCall(PetscOptionsString("-ts_trajectory_reel_store",
				     "lz4,file or memory=2G, for example: see reel/store.h", "",
				     self->store, self->store, sizeof self->store, NULL));
	PetscCall(PetscOptionsBool("-ts_trajectory_reel_audit",
				   "Compare each solution with what it was when it was first reached",
				   "", self->audits, &self->audits, NULL));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_set_from_options(TSTrajectory tj, option_items PetscOptionsObject)
{
	struct trajectory *self = tj->data;

	PetscFunctionBegin;
	PetscOptionsHeadBegin(PetscOptionsObject, "Trajectory by Reel");
	PetscCall(get_numbers(self, PetscOptionsObject));
	PetscCall(get_texts(self, PetscOptionsObject));
	PetscOptionsHeadEnd();
	PetscFunctionReturn(0);
}
