/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "dropin-calls.h"

DROPIN_CALLS(bump)

#define NAME(sweep) dropin_bump_##sweep
#define PUSH_REAL8(x) bump_push_real8(x)
#define POP_REAL8(x) bump_pop_real8(x)
#define PUSH_INTEGER4(x) bump_push_integer4(x)
#define POP_INTEGER4(x) bump_pop_integer4(x)
#define PUSH_CONTROL(x) bump_push_control(x)
#define POP_CONTROL(x) bump_pop_control(x)
#define PUSH_ARRAY(x, n) bump_push_array(x, n)
#define POP_ARRAY(x, n) bump_pop_array(x, n)
#include "dropin-sweeps.h"
