/* SPDX-License-Identifier: MIT */
/* Reel's errors as PETSc's. */
#include "trajectory.h"

#include <errno.h>

/* A stop of a run is above 0, which no call here makes. */
PetscErrorCode reel_petsc_error(int error)
{
	PetscFunctionBegin;
	REEL_ASSERT(error <= 0);
	PetscCheck(!error, PETSC_COMM_SELF,
		   error == -ENOMEM || error == -EDQUOT ? PETSC_ERR_MEM : PETSC_ERR_LIB, "Reel: %s",
		   reel_error_text(error));
	PetscFunctionReturn(0);
}

PetscErrorCode reel_petsc_agree(const struct trajectory *self, int error)
{
	PetscFunctionBegin;
	REEL_ASSERT(self->ranks > 0);
	if (self->ranks > 1)
		error = reel_mpi_agree(self->comm, error, NULL);
	PetscCall(reel_petsc_error(error));
	PetscFunctionReturn(0);
}
