/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (Castagnoli) by the instruction of the processor, or by tables. Any thread; the tables
 * are made once. Polynomials are reflected: bit 31 is the coefficient of x^0. Outside of this file
 * a CRC is inverted, as the standard (RFC 3720) has it.
 */
#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "crc32c.h"

#define POLYNOMIAL 0x82f63b78u
#define ONE 0x80000000u
#define X_TO_THE_8 0x00800000u

/* The instruction takes several cycles, and one can start in each cycle: four streams use that. */
#define STREAMS 4
#define STREAM_UNIT 256

static pthread_once_t once = PTHREAD_ONCE_INIT;
/* table[k][b] is the CRC of byte b with k bytes of zeros behind it. */
static uint32_t table[8][256];
/* x^(8 * 2^k), by which 2^k bytes that follow multiply a CRC. */
/* Mutants survive (constant): ASan alone sees a write behind the table. */
static uint32_t power_of_bytes[64];

static uint32_t times_x(uint32_t a)
{
	return a >> 1 ^ (POLYNOMIAL & -(a & 1));
}

static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= b & -(a >> 31);
		b = times_x(b);
	}
	return product;
}

static void make_tables(void)
{
	/* Mutants survive (constant): ASan alone sees a write behind the table. */
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (unsigned bit = 0; bit < 8; bit++)
			crc = times_x(crc);
		table[0][byte] = crc;
	}
	/* Mutants survive (boundary, constant): ASan alone sees a write behind the table. */
	for (unsigned k = 1; k < 8; k++)
		for (unsigned byte = 0; byte < 256; byte++) {
			uint32_t crc = table[k - 1][byte];

			table[k][byte] = crc >> 8 ^ table[0][crc & 0xff];
		}
	power_of_bytes[0] = X_TO_THE_8;
	for (unsigned k = 1; k < 64; k++)
		power_of_bytes[k] = multiply(power_of_bytes[k - 1], power_of_bytes[k - 1]);
}

static uint64_t load_little_endian(const unsigned char *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
	       (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 |
	       (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

static uint32_t by_tables(uint32_t crc, const unsigned char *at, size_t bytes)
{
	/* Mutants survive (boundary, constant): single bytes give the same CRC. */
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word = load_little_endian(at) ^ crc;

		crc = table[7][word & 0xff] ^ table[6][word >> 8 & 0xff] ^
		      table[5][word >> 16 & 0xff] ^ table[4][word >> 24 & 0xff] ^
		      table[3][word >> 32 & 0xff] ^ table[2][word >> 40 & 0xff] ^
		      table[1][word >> 48 & 0xff] ^ table[0][word >> 56];
	}
	for (; bytes; bytes--, at++)
		crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xff];
	return crc;
}

uint32_t reel_crc32c_software(uint32_t crc, const void *data, size_t bytes)
{
	pthread_once(&once, make_tables);
	return ~by_tables(~crc, data, bytes);
}

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
/* Mutants survive (constant): the tables give the same CRC. */
#define HAVE_INSTRUCTION 1

static bool ask_processor(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
}

/* In assembly: compilers differ in the attribute that lets a function have the instruction. */
static inline uint32_t step(uint32_t crc, uint64_t word)
{
	__asm__("crc32q %1, %q0" : "+r"(crc) : "r"(word));
	return crc;
}

static inline uint32_t step_byte(uint32_t crc, unsigned char byte)
{
	__asm__("crc32b %1, %0" : "+r"(crc) : "r"(byte));
	return crc;
}

#elif defined(__GNUC__) && defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
/* The kernel's number; not each C library's headers have it. */
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7)
#endif
#define HAVE_INSTRUCTION 1

static bool ask_processor(void)
{
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

static inline uint32_t step(uint32_t crc, uint64_t word)
{
	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
	return crc;
}

static inline uint32_t step_byte(uint32_t crc, unsigned char byte)
{
	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
	return crc;
}

#else
#define HAVE_INSTRUCTION 0
#endif

#if HAVE_INSTRUCTION

/* Returns the power of x by which `bytes` bytes that follow multiply a CRC. */
static uint32_t power_of(size_t bytes)
{
	uint32_t power = ONE;

	for (unsigned k = 0; bytes >> k; k++)
		if (bytes >> k & 1)
			power = power == ONE ? power_of_bytes[k]
					     : multiply(power_of_bytes[k], power);
	return power;
}

/* The instruction takes the word as a little-endian machine loads it. */
static inline uint64_t load(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
	return word;
}

static uint32_t by_streams(uint32_t crc, const unsigned char *at, size_t stream_bytes)
{
	const unsigned char *second = at + stream_bytes;
	const unsigned char *third = second + stream_bytes;
	const unsigned char *fourth = third + stream_bytes;
	uint32_t crc_2 = 0, crc_3 = 0, crc_4 = 0, power = power_of(stream_bytes);

	for (size_t i = 0; i < stream_bytes; i += 8) {
		crc = step(crc, load(at + i));
		crc_2 = step(crc_2, load(second + i));
		crc_3 = step(crc_3, load(third + i));
		crc_4 = step(crc_4, load(fourth + i));
	}
	crc = multiply(power, crc) ^ crc_2;
	crc = multiply(power, crc) ^ crc_3;
	return multiply(power, crc) ^ crc_4;
}

static uint32_t by_instruction(uint32_t crc, const unsigned char *at, size_t bytes)
{
	size_t stream_bytes = bytes / STREAMS & ~(size_t)(STREAM_UNIT - 1);

	if (stream_bytes) {
		crc = by_streams(crc, at, stream_bytes);
		at += STREAMS * stream_bytes;
		bytes -= STREAMS * stream_bytes;
	}
	for (; bytes >= 8; bytes -= 8, at += 8)
		crc = step(crc, load(at));
	for (; bytes; bytes--, at++)
		crc = step_byte(crc, *at);
	return crc;
}

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool has_instruction;

/* Asks once: a virtual machine takes microseconds for the answer. */
static void prepare(void)
{
	pthread_once(&once, make_tables);
	has_instruction = ask_processor();
}

#endif

uint32_t reel_crc32c(uint32_t crc, const void *data, size_t bytes)
{
#if HAVE_INSTRUCTION
	pthread_once(&asked, prepare);
	if (has_instruction)
		return ~by_instruction(~crc, data, bytes);
#endif
	return reel_crc32c_software(crc, data, bytes);
}
