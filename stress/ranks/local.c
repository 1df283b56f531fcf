/* SPDX-License-Identifier: MIT */
/* Statements that a rank calculates by itself. Both operands are on the tape. */
#include <config.h>

#include <math.h>

#include "ranks.h"

/* In a smooth program a number stays small, and depends on both operands. */
static double value_of(double before, double left, double right, int keep)
{
	if (program.smooth)
		return keep * before / 2 + sin(left) * cos(right);
	return keep * before + left * right;
}

static void calculate(const struct statement *s, int k, reel_tape *tape, struct memory *x)
{
	double operands[] = {get_leaf(x, s->left), get_leaf(x, s->right)};

	if (tape && k % 2) {
		reel_push_array(tape, operands, 2);
	} else if (tape) {
		reel_push(tape, operands[0]);
		reel_push(tape, operands[1]);
	}
	set_leaf(x, s->to, value_of(get_leaf(x, s->to), operands[0], operands[1], s->keep));
}

static void calculate_reverse(const struct statement *s, int k, reel_tape *tape, struct memory *bar)
{
	double operands[2], own = get_leaf(bar, s->to), left, right;

	if (k % 2) {
		reel_pop_array(tape, operands, 2);
	} else {
		operands[1] = reel_pop(tape, double);
		operands[0] = reel_pop(tape, double);
	}
	left = program.smooth ? cos(operands[0]) * cos(operands[1]) : operands[1];
	right = program.smooth ? -sin(operands[0]) * sin(operands[1]) : operands[0];
	set_leaf(bar, s->to, program.smooth ? own * s->keep / 2 : own * s->keep);
	set_leaf(bar, s->left, get_leaf(bar, s->left) + own * left);
	set_leaf(bar, s->right, get_leaf(bar, s->right) + own * right);
}

/* Else a long list of statements would leave the range in which all is exact. */
static void wrap(struct memory *x)
{
	if (!program.smooth)
		wrap_memory(x);
}

void run_local(const struct operation *o, int rank, reel_tape *tape, struct memory *x, bool reverse)
{
	for (int k = 0; k < o->statements; k++) {
		int i = reverse ? o->statements - 1 - k : k;

		if (reverse)
			calculate_reverse(&o->statement[rank][i], i, tape, x);
		else
			calculate(&o->statement[rank][i], i, tape, x);
		wrap(x);
	}
}
