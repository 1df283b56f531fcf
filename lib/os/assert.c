/* SPDX-License-Identifier: MIT */
/* A failed assertion says where it stands and ends the program. Any thread. */
#include "assert.h"

#include <stdio.h>
#include <stdlib.h>

#include "cancel.h"

_Noreturn void reel_assertion_failed(const char *condition, const char *file, int line,
				     const char *function)
{
	REEL_UNCANCELLED;

	fprintf(stderr, "reel: %s:%d: %s(): this does not hold: %s\n", file, line, function,
		condition);
	abort();
}
