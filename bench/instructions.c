/* SPDX-License-Identifier: MIT */
/* Functions of one push or pop each, for instructions.sh to count. */
#include "config.h"

#include <reel.h>

struct bump {
	double *top;
};

void bare_push(struct bump *stack, double x);
double bare_pop(struct bump *stack);
void tape_push(reel_tape *tape, double x);
double tape_pop(reel_tape *tape);

void bare_push(struct bump *stack, double x)
{
	*stack->top++ = x;
}

double bare_pop(struct bump *stack)
{
	return *--stack->top;
}

void tape_push(reel_tape *tape, double x)
{
	reel_push(tape, x);
}

double tape_pop(reel_tape *tape)
{
	return reel_pop(tape, double);
}
