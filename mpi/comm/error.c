/* SPDX-License-Identifier: MIT */
/* The errors of MPI's calls as errors of the library. */
#include "config.h"

#include "error.h"

#include <errno.h>

#include <reel/extend.h>
#include <reel/mpi.h>

int reel_mpi_error(int code, const char *call)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "";
	int length = 0, class = MPI_ERR_OTHER;

	REEL_ASSERT(call);
	if (code == MPI_SUCCESS)
		return 0;
	MPI_Error_string(code, text, &length);
	MPI_Error_class(code, &class);
	REEL_ASSERT(length >= 0 && length <= MPI_MAX_ERROR_STRING);
	return reel_fail(class == MPI_ERR_NO_MEM     ? -ENOMEM
			 : class == MPI_ERR_TRUNCATE ? -EMSGSIZE
						     : -EIO,
			 "%s: %s", call, text);
}
