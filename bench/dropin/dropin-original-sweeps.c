/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "dropin-calls.h"

DROPIN_CALLS(original)

#define NAME(sweep) dropin_original_##sweep
#define PUSH_REAL8(x) original_push_real8(x)
#define POP_REAL8(x) original_pop_real8(x)
#define PUSH_INTEGER4(x) original_push_integer4(x)
#define POP_INTEGER4(x) original_pop_integer4(x)
#define PUSH_CONTROL(x) original_push_control(x)
#define POP_CONTROL(x) original_pop_control(x)
#define PUSH_ARRAY(x, n) original_push_array(x, n)
#define POP_ARRAY(x, n) original_pop_array(x, n)
#include "dropin-sweeps.h"
