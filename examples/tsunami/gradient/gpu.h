/* SPDX-License-Identifier: MIT */
/*
 * The steps of the model on a GPU. Kernels are made of the stages of shallow.c and adjoint.c, an
 * element a thread; a step that is recorded pushes the state at its beginning on the tapes of
 * the kernels' threads (reel/device.cuh). For checkpointing the loop is a reel_model like that
 * in loop.h, whose states are on the device: a segment is on its tapes, a snapshot is not.
 *
 * gpu.cu has the calls. A program that is built without CUDA has none (no-gpu.c).
 */
#ifndef TSUNAMI_GPU_H
#define TSUNAMI_GPU_H

#include <stdint.h>

#include <reel/model.h>

#include "model/shallow.h"

struct gpu;

/* The memory that the sweeps took on the device. */
struct gpu_use {
	const char *name;      /* of the device; NULL: the steps were run without one */
	uint64_t tape_bytes;   /* the most that was on its tapes */
	uint64_t memory_bytes; /* that the tapes have there */
	uint64_t repeats;      /* segments recorded again since that had been too little */
};

struct gpu_calls {
	/*
	 * A device with the model on it, and `tape_bytes` of memory for tapes, 0: chosen. Ends the
	 * program if there is no device.
	 */
	struct gpu *(*open)(const struct model *model, uint64_t tape_bytes);
	void (*close)(struct gpu *gpu);

	/* How many steps fit on the tapes: in that memory, or in most of the device's memory. */
	int64_t (*fitting_steps)(struct gpu *gpu);

	/* Reserve memory for the tapes of `steps` steps. A sweep takes more when it runs out. */
	void (*reserve)(struct gpu *gpu, int64_t steps);

	/*
	 * The callbacks; their context is the device. record begins with empty tapes, so that one
	 * segment at a time is on them. advance and record return -EDOM if a cell falls dry.
	 */
	reel_model (*model)(const struct gpu *gpu);

	/*
	 * Before a forward sweep: returns the state at the start. gauge[] is filled in as steps
	 * are run. After it: dJ/d(gauge); returns the adjoint. After the reverse sweep:
	 * dJ/d(controls).
	 */
	void *(*start)(struct gpu *gpu, const struct controls *controls, double *gauge);
	void *(*turn)(struct gpu *gpu, const double *weights);
	void (*finish)(struct gpu *gpu, struct controls *gradient);

	/* Where the model stopped since a cell fell dry, and its state then; -1: it did not. */
	int64_t (*dry_step)(const struct gpu *gpu, struct state *state);

	struct gpu_use (*use)(struct gpu *gpu);
};

/* NULL: this program was built without CUDA. */
const struct gpu_calls *gpu_built_in(void);

#endif
