/* SPDX-License-Identifier: MIT */
/* A program that uses the installed libreel-enzyme, in C and C++: a loop of no steps. */
#include <reel/enzyme.h>

int main(void)
{
	struct reel_enzyme_action action;
	void *loop = reel_enzyme_scheme.init(NULL, 0, 8);

	reel_enzyme_scheme.next_action(loop, &action);
	reel_enzyme_scheme.finalize(loop);
	/* Enzyme's flag of the end. */
	return action.flag != 7;
}
