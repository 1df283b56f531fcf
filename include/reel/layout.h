/* SPDX-License-Identifier: MIT */
/* How the values of a tape or a parcel are laid out, for a codec of their store. */
#ifndef REEL_LAYOUT_H
#define REEL_LAYOUT_H

#include <stdint.h>

/* See reel_tape_set_layout() (extend.h). All 0: of doubles, or not known. */
struct reel_layout {
	uint32_t element; /* 1 to 16 bytes, 0 or REEL_INCOMPRESSIBLE */
	uint32_t stride;  /* 0, or the number of elements of 8 bytes between two that are alike */
};

#define REEL_INCOMPRESSIBLE UINT32_MAX

#endif
