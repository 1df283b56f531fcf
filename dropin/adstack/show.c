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

/* ---- Earlier versions ---- */

FORM(void, showStackAndBuffers, (const char *place), { show_stack(place); })
FORM(void, showStackAndBuffersSize, (void), { show_size(0); })
FORM(void, showTotalTraffic, (void), { show_traffic(); })
FORM(void, showStack, (void), { show_stack("showStack"); })
FORM(void, showErrorContext, (void), { show_stack("showErrorContext"); })
FORTRAN(void, showtotaltraffic, (void), { show_traffic(); })
FORTRAN(void, showstack, (void), { show_stack("showstack"); })
FORTRAN(void, showstacksize, (void), { show_size(0); })
FORTRAN(void, showerrorcontext, (void), { show_stack("showerrorcontext"); })
FORTRAN(void, printtopplace, (void), { show_size(0); })
FORTRAN(void, printlookingplace, (void), { show_size(0); })
FORTRAN(void, printstackmax, (void), { show_peak(); })
FORTRAN(void, printctraffic, (void), { show_traffic(); })
FORTRAN(void, printtraffic, (void), { show_traffic(); })
FORTRAN(void, showrecentcstack, (void), { show_stack("showrecentcstack"); })
FORTRAN(void, showallstacks, (void), { show_stack("showallstacks"); })

/* Values go to the stack directly, so the original's buffers are always empty here. */
FORTRAN(void, printbuffertop, (void), { puts("Buffers: none"); })
FORTRAN(void, smallstacksize, (int *bytes), { *bytes = 0; })
FORTRAN(void, addftraffic, (const int *bytes), { (void)bytes; })

/* Prints `blocks * block_bytes + more` bytes. */
static void print_bytes(long blocks, long block_bytes, long more)
{
	printf("%lld", (long long)blocks * block_bytes + more);
	fflush(stdout);
}

FORM(void, printbigbytes, (long blocks, long block_bytes, long more),
     { print_bytes(blocks, block_bytes, more); })
FORM(void, printbigbytes_, (const long *blocks, const long *block_bytes, const long *more),
     { print_bytes(*blocks, *block_bytes, *more); })

/* ---- The position of the top: the number of its slab, from 1, and the bytes on the slab ---- */

static int top_block(void)
{
	if (!reel_tape_bytes(reel_adstack_own()))
		return 0;
	return reel_adstack_tape.slab ? (int)reel_adstack_tape.slab->slab_index + 2 : 1;
}

static int top_offset(void)
{
	return (int)reel_window_filled(reel_adstack_own());
}

FORTRAN(int, locstrb, (void), { return top_block(); })
FORTRAN(int, locstro, (void), { return top_offset(); })
FORTRAN(void, getnbblocksinstack, (int *blocks), { *blocks = top_block(); })
FORTRAN(void, getbigcsizes, (int *blocks, int *more, int *look_blocks, int *look_more), {
	*blocks = top_block();
	*more = top_offset();
	*look_blocks = *look_more = 0;
})

/* ---- For the original's test program: the name of an operation and of its types ---- */

static const char *operation(int code)
{
	switch (code) {
	case 1:
		return "push";
	case -1:
		return "pop";
	case 2:
		return "push snapshot";
	case -2:
		return "pop snapshot";
	case -3:
		return "look at snapshot";
	default:
		return "";
	}
}

FORTRAN(void, showpushpopsequence,
	(const int *code, const int *index, const int *count, const int *kinds, const int *sizes), {
		printf("%s %d:", operation(*code), *index);
		for (int i = 0; i < *count; i++)
			printf(" %d[%d]", kinds[i], sizes[i]);
		putchar('\n');
	})
