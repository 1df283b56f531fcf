/* SPDX-License-Identifier: MIT */
/*
 * Exact sums: carries, merging and rounding. The thread that uses a sum runs these functions.
 *
 * Between two carries a digit is any number: digits of an exact sum may be negative, and larger
 * than 32 bits. After reel_sum_carry() all digits but the last are from 0 to 2^32 - 1, and the last
 * one has the sign of the sum.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include <reel/sum.h>

#include "os/assert.h"

#define RADIX ((int64_t)1 << 32)

enum {
	DIGITS = sizeof((reel_sum *)NULL)->digit / sizeof(int64_t),
	LAST = DIGITS - 1,
	MANTISSA_BITS = 53
};

void reel_sum_add_special(reel_sum *sum, double x)
{
	if (isnan(x))
		sum->nans++;
	else
		sum->infinities[x < 0]++;
}

void reel_sum_carry(reel_sum *sum)
{
	int64_t carry = 0;

	for (int i = 0; i < LAST; i++) {
		int64_t digit = sum->digit[i] + carry;
		int64_t low = (int64_t)((uint64_t)digit & UINT32_MAX);

		carry = (digit - low) / RADIX;
		sum->digit[i] = low;
	}
	sum->digit[LAST] += carry;
	sum->uncarried = 0;
}

void reel_sum_merge(reel_sum *sum, const reel_sum *other)
{
	reel_sum carried = *other;

	reel_sum_carry(&carried);
	for (int i = 0; i < DIGITS; i++)
		sum->digit[i] += carried.digit[i];
	for (int i = 0; i < 2; i++)
		sum->infinities[i] += carried.infinities[i];
	sum->nans += carried.nans;
	if (++sum->uncarried == (int64_t)1 << 30)
		reel_sum_carry(sum);
}

static bool has_bit(const reel_sum *sum, int bit)
{
	return bit >= 0 && (sum->digit[bit / 32] >> (bit % 32)) & 1;
}

static bool has_bits_below(const reel_sum *sum, int bit)
{
	for (int i = 0; i < bit / 32; i++)
		if (sum->digit[i])
			return true;
	return (sum->digit[bit / 32] & (((int64_t)1 << (bit % 32)) - 1)) != 0;
}

/* Returns -1 if there is none. */
static int highest_bit(const reel_sum *sum)
{
	int digit = LAST, bit;

	while (digit > 0 && !sum->digit[digit])
		digit--;
	bit = 32 * digit + 31;
	while (bit >= 0 && !has_bit(sum, bit))
		bit--;
	return bit;
}

/*
 * Returns the bits of the double nearest to a sum that is not negative. Bit i of the sum is
 * 2^(i - 1074), so a sum of less than 54 bits has the bits of its double.
 */
static uint64_t round_to_nearest(const reel_sum *sum)
{
	int top = highest_bit(sum), dropped = top < MANTISSA_BITS ? 0 : top - MANTISSA_BITS + 1;
	const uint64_t infinity = (uint64_t)0x7ff << 52;
	uint64_t bits = 0;

	for (int i = dropped + MANTISSA_BITS - 1; i >= dropped; i--)
		bits = bits << 1 | (uint64_t)has_bit(sum, i);
	if (has_bit(sum, dropped - 1) && (bits & 1 || has_bits_below(sum, dropped - 1)))
		bits++;
	/* The leading 1 of the mantissa, or its carry, adds to the exponent. */
	bits += (uint64_t)dropped << 52;
	return bits < infinity ? bits : infinity;
}

double reel_sum_value(const reel_sum *sum)
{
	reel_sum carried = *sum;
	uint64_t bits;
	bool negative;
	double value;

	if (sum->nans || (sum->infinities[0] && sum->infinities[1]))
		return NAN;
	if (sum->infinities[0] || sum->infinities[1])
		return sum->infinities[0] ? INFINITY : -INFINITY;
	reel_sum_carry(&carried);
	negative = carried.digit[LAST] < 0;
	for (int i = 0; negative && i < DIGITS; i++)
		carried.digit[i] = -carried.digit[i];
	if (negative)
		reel_sum_carry(&carried);
	REEL_ASSERT(carried.digit[LAST] >= 0 && carried.digit[LAST] < RADIX);
	bits = round_to_nearest(&carried) | (uint64_t)negative << 63;
	memcpy(&value, &bits, sizeof value);
	return value;
}
