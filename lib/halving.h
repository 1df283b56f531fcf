/* SPDX-License-Identifier: MIT */
#ifndef REEL_LIB_HALVING_H
#define REEL_LIB_HALVING_H

#include <reel/halving.h>

/* The same with what costs of 0 stand for. */
struct reel_halving reel_halving_filled(const struct reel_halving *halving);

#endif
