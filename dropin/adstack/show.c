/* SPDX-License-Identifier: MIT */
/*
 * The functions that print the state of the calling thread's stack on stdout. The texts differ from
 * the texts of the original. Without REEL_STATS=1 the fast paths count nothing.
 */
#include "forms.h"

#include <stdio.h>

static void show_peak(void)
{
	if (reel_adstack.counts)
		printf("Peak stack size: %llu bytes\n",
		       (unsigned long long)reel_adstack_counted_peak());
	else
		printf("Peak stack size: not counted (REEL_STATS=1 counts it)\n");
	fflush(stdout);
}

static void show_traffic(void)
{
	if (reel_adstack.counts)
		printf("Total push and pop traffic: %llu bytes\n",
		       (unsigned long long)reel_adstack_counted_traffic());
	else
		printf("Total push and pop traffic: not counted (REEL_STATS=1 counts it)\n");
	fflush(stdout);
}

static void show_size(int label)
{
	printf("%d: %llu bytes and %u bits on the stack\n", label,
	       (unsigned long long)reel_adstack_height(), reel_adstack_bit_count());
	fflush(stdout);
}

/* Prints at most 60 bytes of the place: a caller in Fortran may pass a wrong length. */
static void show_stack(const char *place, size_t bytes)
{
	printf("Stack of thread %u at %.*s: repeat level %u, %llu bytes and %u bits\n",
	       reel_adstack.number, bytes < 60 ? (int)bytes : 60, place, reel_adstack.stack.levels,
	       (unsigned long long)reel_adstack_height(), reel_adstack_bit_count());
	fflush(stdout);
}

FORM(void, adStack_showPeakSize, (void), { show_peak(); })
FORM(void, adStack_showTotalTraffic, (void), { show_traffic(); })
FORM(void, adStack_showTraffic, (void), { show_traffic(); })
FORM(void, adStack_showStackSize, (int label), { show_size(label); })
FORM(void, adStack_showStack, (const char *place), { show_stack(place, 60); })
FORTRAN(void, adstack_showpeaksize, (void), { show_peak(); })
FORTRAN(void, adstack_showtotaltraffic, (void), { show_traffic(); })
FORTRAN(void, adstack_showtraffic, (void), { show_traffic(); })
FORTRAN(void, adstack_showstacksize, (const int *label), { show_size(*label); })
/* Fortran compilers pass the length of a string as the last argument, and no final zero byte. */
FORTRAN(void, adstack_showstack, (const char *place, size_t bytes), { show_stack(place, bytes); })
