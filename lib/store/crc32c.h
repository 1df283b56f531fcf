/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (Castagnoli), as in iSCSI (RFC 3720). By the processor's own
 * instruction where it has one. Any thread.
 */
#ifndef REEL_LIB_CRC32C_H
#define REEL_LIB_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extends `crc` (0 for no data) by `bytes` bytes at `data`. */
uint32_t reel_crc32c(uint32_t crc, const void *data, size_t bytes);

/* Does the same by tables, for processors without the instruction. */
uint32_t reel_crc32c_software(uint32_t crc, const void *data, size_t bytes);

#endif
