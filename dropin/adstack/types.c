/* SPDX-License-Identifier: MIT */
/* The types of the original's functions, for checked mode and messages. Constant; any thread. */
#include "stack.h"

/*
 * Checked mode compares named structs by their names, and bits by their number. Bytes without a
 * type mirror each type of the same size, because generated code pushes some values in both ways.
 */
#define ARRAY(Name, name, element, bytes)                                                          \
	[REEL_ADSTACK_##Name] = {                                                                  \
		{#Name, 1, 1, REEL_NAMED_STRUCT}, bytes, "push" #Name, "pop" #Name},
#define BITS(Name, name, n)                                                                        \
	[REEL_ADSTACK_##Name##_bits] = {{#Name, 1, 1, REEL_BITS}, 0, "push" #Name, "pop" #Name},

const struct adstack_type reel_adstack_types[REEL_ADSTACK_TYPES] = {
	REEL_ADSTACK_ARRAYS(ARRAY)
	[REEL_ADSTACK_Bytes] = {{"NArray", 1, 1, REEL_STRUCT}, 1, "pushNArray", "popNArray"},
	[REEL_ADSTACK_Bit] = {{"Bit", 1, 1, REEL_BITS}, 0, "pushBit", "popBit"},
	REEL_ADSTACK_BITS(BITS)
};
