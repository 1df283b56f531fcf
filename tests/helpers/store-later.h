/* SPDX-License-Identifier: MIT */
/*
 * A layer whose transfers complete later, on two threads of its own, out of
 * order, like the transfers of a store with an engine. The store
 * below is called by these threads, one at a time.
 */
#ifndef TESTS_STORE_LATER_H
#define TESTS_STORE_LATER_H

#include <reel.h>

/* Takes over `below`. NULL: it cannot be opened. */
reel_store *store_later_open(reel_store *below);

#endif
