/* SPDX-License-Identifier: MIT */
/*
 * The functions that print the state of the calling thread's stack on stdout. The texts differ from
 * those of the original. Without REEL_STATS=1 the fast paths count nothing, so the peak is a lower
 * bound.
 */
#include "forms.h"

#include <stdio.h>

/* Fortran's strings may lack a final zero byte, so at most 60 bytes are printed. */
#define NAME "%.60s"

static void show_peak(void)
{
	uint64_t peak = reel_adstack_height();

	if (reel_adstack.counts) {
		printf("Peak stack size: %llu bytes\n",
		       (unsigned long long)reel_adstack_counted_peak());
	} else {
		if (reel_adstack.peak > peak)
			peak = reel_adstack.peak;
		printf("Peak stack size: at least %llu bytes (REEL_STATS=1 counts exactly)\n",
		       (unsigned long long)peak);
	}
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

static void show_layer(const reel_tape *tape, const char *what)
{
	printf("  %s: %llu bytes on %u slabs\n", what, (unsigned long long)reel_tape_bytes(tape),
	       tape->slab ? (unsigned)tape->slab->slab_index + 1 : 0);
}

static void show_stack(const char *place)
{
	printf("Stack of thread %u at " NAME ": repeat level %u, %u bits\n", reel_adstack.number,
	       place, reel_adstack.levels, reel_adstack_bit_count());
	show_layer(reel_adstack_own(), "on top");
	for (const struct adstack_layer *layer = reel_adstack.layers; layer; layer = layer->below)
		show_layer(&layer->tape, layer->open ? "protected" : "below");
	fflush(stdout);
}

FORM(void, adStack_showPeakSize, (void), { show_peak(); })
FORM(void, adStack_showTotalTraffic, (void), { show_traffic(); })
FORM(void, adStack_showTraffic, (void), { show_traffic(); })
FORM(void, adStack_showStackSize, (int label), { show_size(label); })
FORM(void, adStack_showStack, (const char *place), { show_stack(place); })
FORTRAN(void, adstack_showpeaksize, (void), { show_peak(); })
FORTRAN(void, adstack_showtotaltraffic, (void), { show_traffic(); })
FORTRAN(void, adstack_showtraffic, (void), { show_traffic(); })
FORTRAN(void, adstack_showstacksize, (const int *label), { show_size(*label); })
FORTRAN(void, adstack_showstack, (const char *place), { show_stack(place); })
