/* SPDX-License-Identifier: MIT */
/*
 * A number by which a restart file is recognised: a hash of all that its values depend on.
 */
#ifndef EXAMPLES_FINGERPRINT_H
#define EXAMPLES_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

/* The fingerprint of no data. */
#define FINGERPRINT_START UINT64_C(0xcbf29ce484222325)

/* Extends a fingerprint by data (FNV-1a, 64 bits). */
static inline uint64_t fingerprint_add(uint64_t fingerprint, const void *data, size_t bytes)
{
	const unsigned char *byte = data;

	for (size_t k = 0; k < bytes; k++)
		fingerprint = (fingerprint ^ byte[k]) * UINT64_C(0x100000001b3);
	return fingerprint;
}

#endif
