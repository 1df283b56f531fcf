/* SPDX-License-Identifier: MIT */
/*
 * Fields of numbers, packed with a bounded error by reel_field_pack() (reel/loss.h): they are
 * rounded to multiples of a step, and differences along each dimension are kept in a Rice code.
 */
#ifndef REEL_LIB_QUANTISE_H
#define REEL_LIB_QUANTISE_H

#include <reel/loss.h>

/* Returns the bytes of one value, to which the values are aligned. */
size_t reel_field_value_bytes(const struct reel_field *field);

#endif
