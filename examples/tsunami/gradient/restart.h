/* SPDX-License-Identifier: MIT */
/*
 * The contents of a restart file besides states: the adjoint, the values at the gauge of the steps
 * that have been run, and a fingerprint by which a file of other controls is recognised.
 */
#ifndef TSUNAMI_RESTART_H
#define TSUNAMI_RESTART_H

#include <stddef.h>

#include "loop.h"

size_t restart_bytes(const struct model *model);

/*
 * The callbacks of reel_run_options: `loop` is a struct loop, `adjoint` a struct adjoint or NULL.
 * Loading returns -ESTALE if the file is of another model, time step, depth, displacement or gauge.
 */
int restart_save(void *loop, const void *adjoint, void *bytes);
int restart_load(void *loop, void *adjoint, const void *bytes);

#endif
