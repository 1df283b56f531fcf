/* SPDX-License-Identifier: MIT */
/*
 * Repeat levels, sizes and the look position, by the names of the original. Each function works on
 * the stack of the calling thread.
 */
#include "forms.h"

FORM(void, adStack_startRepeat, (void), { reel_adstack_start_repeat(); })
FORM(void, adStack_resetRepeat, (void), { reel_adstack_reset_repeat(); })
FORM(void, adStack_endRepeat, (void), { reel_adstack_end_repeat(); })
FORTRAN(void, adstack_startrepeat, (void), { reel_adstack_start_repeat(); })
FORTRAN(void, adstack_resetrepeat, (void), { reel_adstack_reset_repeat(); })
FORTRAN(void, adstack_endrepeat, (void), { reel_adstack_end_repeat(); })

/* A look takes values off and puts them back at its end, so the look ends first. */
static uint64_t height(void)
{
	reel_adstack_end_look();
	return reel_adstack_height();
}

FORM(uint64_t, adStack_getCurrentStackSize, (void), { return height(); })
FORTRAN(int64_t, adstack_getcurrentstacksize, (void), { return (int64_t)height(); })

FORM(void, resetADLookStack, (void), { reel_adstack_end_look(); })
FORTRAN(void, resetadlookstack, (void), { reel_adstack_end_look(); })

FORM(int, stackIsThreadSafe, (void), { return 1; })
FORTRAN(int, stackisthreadsafe, (void), { return 1; })
