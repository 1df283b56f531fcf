/* SPDX-License-Identifier: MIT */
/* The checks of t-wakeup.c, as if the system had no sem_clockwait(): a wake-up is a condition then. */
#include <config.h>

#undef HAVE_SEM_CLOCKWAIT

#include "t-wakeup.c"
