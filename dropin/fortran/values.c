/* SPDX-License-Identifier: MIT */
/*
 * Scalars, bits and spans: the inline functions of the headers, as functions that Fortran can call.
 * The owner of the tape runs them.
 */
#include <reel/extend.h>
#include <reel/plan.h>

#include "fortran.h"

#include <complex.h>
#include <errno.h>

const char *reel_fortran_call_site(reel_tape *tape, const void *return_address)
{
	static const reel_type word = {"word", sizeof(uint64_t), _Alignof(uint64_t), REEL_INTEGER};

	if (!tape->top)
		(void)reel_reserve_at(tape, 1, word, "a Fortran call");
	return tape->ledger ? reel_call_site_of_return(return_address) : "a Fortran call";
}

#define SCALARS(X)                                                                                 \
	X(integer4, int32_t, "integer(4)", REEL_INTEGER)                                           \
	X(integer8, int64_t, "integer(8)", REEL_INTEGER)                                           \
	X(real4, float, "real(4)", REEL_FLOATING)                                                  \
	X(real8, double, "real(8)", REEL_FLOATING)                                                 \
	X(complex4, float _Complex, "complex(4)", REEL_STRUCT)                                     \
	X(complex8, double _Complex, "complex(8)", REEL_STRUCT)

/*
 * False limits send all rare cases, such as a checked or a new tape, to a function of their own, so
 * that the fast path needs no stack frame.
 */
#define SCALAR(name, c_type, text, kind)                                                           \
	static const reel_type name##_type = {text, sizeof(c_type), _Alignof(c_type), kind};       \
	REEL_RECORD_FUNCTIONS(fortran_##name, c_type, &name##_type)                                \
                                                                                                   \
	REEL_COLD static void push_rare_##name(reel_tape *tape, c_type x, const void *address)     \
	{                                                                                          \
		reel_push_fortran_##name##_at(tape, x, reel_fortran_call_site(tape, address));     \
	}                                                                                          \
                                                                                                   \
	void reel_fortran_push_##name(reel_tape *tape, c_type x)                                   \
	{                                                                                          \
		if (REEL_UNLIKELY(reel_above(tape->top, REEL_ROUND(sizeof x), tape->ceiling)))     \
			push_rare_##name(tape, x, REEL_RETURN_ADDRESS);                            \
		else                                                                               \
			reel_push_fortran_##name##_at(tape, x, "");                                \
	}                                                                                          \
                                                                                                   \
	REEL_COLD static void pop_rare_##name(reel_tape *tape, c_type *x, const void *address)     \
	{                                                                                          \
		*x = reel_pop_fortran_##name##_at(tape, reel_fortran_call_site(tape, address));    \
	}                                                                                          \
                                                                                                   \
	void reel_fortran_pop_##name(reel_tape *tape, c_type *x)                                   \
	{                                                                                          \
		if (REEL_UNLIKELY(reel_under(tape->top, REEL_ROUND(sizeof *x), tape->floor)))      \
			pop_rare_##name(tape, x, REEL_RETURN_ADDRESS);                             \
		else                                                                               \
			*x = reel_pop_fortran_##name##_at(tape, "");                               \
	}                                                                                          \
                                                                                                   \
	void reel_fortran_look_##name(reel_tape *tape, c_type *x)                                  \
	{                                                                                          \
		*x = reel_look_fortran_##name##_at(tape, FORTRAN_CALL_SITE(tape));                 \
	}

SCALARS(SCALAR)

/* ---- Bits ---- */

void reel_fortran_push_bits(reel_tape *tape, int64_t value, int n)
{
	reel_push_bits_at(tape, (uint64_t)value, (unsigned)n, FORTRAN_CALL_SITE(tape));
}

int64_t reel_fortran_pop_bits(reel_tape *tape, int n)
{
	return (int64_t)reel_pop_bits_at(tape, (unsigned)n, FORTRAN_CALL_SITE(tape));
}

bool reel_fortran_look_bit(reel_tape *tape)
{
	return reel_look_bool_at(tape, FORTRAN_CALL_SITE(tape));
}

/* ---- Spans ---- */

/* Must be in the order of the constants in reel.f90.in. */
#define SCALAR_TYPE(name, c_type, text, kind) {text, sizeof(c_type), _Alignof(c_type), kind},
static const reel_type types[] = {SCALARS(SCALAR_TYPE)};

static size_t count(int64_t n)
{
	return n > 0 ? (size_t)n : 0;
}

void *reel_fortran_push_span(reel_tape *tape, int64_t n, int type)
{
	return reel_push_span_at(tape, count(n), types[type], FORTRAN_CALL_SITE(tape));
}

const void *reel_fortran_pop_span(reel_tape *tape, int64_t n, int type)
{
	return reel_pop_span_at(tape, count(n), types[type], FORTRAN_CALL_SITE(tape));
}

void *reel_fortran_reserve(reel_tape *tape, int64_t n, int type)
{
	return reel_reserve_at(tape, count(n), types[type], FORTRAN_CALL_SITE(tape));
}

/* Must be in the order of `types`. */
static const CFI_type_t codes[] = {CFI_type_int32_t, CFI_type_int64_t, CFI_type_float,
				   CFI_type_double, CFI_type_float_Complex,
				   CFI_type_double_Complex};

const reel_type *reel_fortran_type(const CFI_cdesc_t *array)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (codes[i] == array->type)
			return &types[i];
	return NULL;
}

void reel_fortran_commit(reel_tape *tape, const CFI_cdesc_t *span, int64_t n)
{
	const reel_type *type = reel_fortran_type(span);
	const char *call_site = FORTRAN_CALL_SITE(tape);

	/* A refused span has its error already. */
	if (!span->base_addr)
		return;
	if (!type || count(n) > reel_fortran_elements(span))
		reel_tape_give_up(tape, -EINVAL,
				  type ? "reel_commit: more elements than were reserved"
				       : "reel_commit: not a span of reel_reserve");
	else
		reel_commit_at(tape, count(n), *type, call_site);
}
