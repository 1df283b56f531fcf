/* SPDX-License-Identifier: MIT */
/* Runs t-wakeup.c as if the system had no sem_clockwait(), so that a wake-up uses a condition. */
#include <config.h>

#undef HAVE_SEM_CLOCKWAIT

#include "t-wakeup.c"
