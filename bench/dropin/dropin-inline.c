/* SPDX-License-Identifier: MIT */
/* The same with the header that makes scalars inline. */
#include "config.h"

#include "../../dropin/adstack/reel-adstack.h"

#define NAME(sweep) dropin_inline_##sweep
#define PUSH_REAL8(x) pushReal8(x)
#define POP_REAL8(x) popReal8(x)
#define PUSH_INTEGER4(x) pushInteger4(x)
#define POP_INTEGER4(x) popInteger4(x)
#define PUSH_CONTROL(x) pushControl1b(x)
#define POP_CONTROL(x) popControl1b(x)
#include "dropin-sweeps.h"
