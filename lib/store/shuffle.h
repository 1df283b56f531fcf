/* SPDX-License-Identifier: MIT */
/*
 * Byte shuffle: all first bytes of the elements, then all second ones, and so on. Neighbours in a
 * field differ in their low bytes only, so the others become rows of equal bytes, which a
 * compressor packs well. Bytes that make no whole element stay at the end. `to` and `from` do not
 * overlap; neither need be aligned.
 */
#ifndef REEL_LIB_SHUFFLE_H
#define REEL_LIB_SHUFFLE_H

#include <stddef.h>

#define REEL_SHUFFLE_MAX_ELEMENT 16

void reel_shuffle(void *to, const void *from, size_t bytes, unsigned element);
void reel_unshuffle(void *to, const void *from, size_t bytes, unsigned element);

#endif
