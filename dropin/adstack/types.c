/* SPDX-License-Identifier: MIT */
#include "stack.h"

/*
 * Named structs differ by their names in checked mode, bits by their number. Bytes without a type
 * fit every type of that size, since generated code pushes some values as either.
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
