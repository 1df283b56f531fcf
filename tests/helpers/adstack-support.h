/* SPDX-License-Identifier: MIT */
/*
 * The functions of libreel-adstack as tables, by all of their names: a value is bytes that are
 * pushed from and popped to an address.
 */
#ifndef ADSTACK_SUPPORT_H
#define ADSTACK_SUPPORT_H

#include "../../dropin/adstack/stack.h"

#include "support.h"

/* The ways to call a function: C, Fortran's names, and the inline functions of the header. */
enum { FORMS = 5 };

struct value_functions {
	const char *name;
	size_t bytes;
	void (*push[FORMS])(const void *x);
	void (*pop[FORMS])(void *x);
	void (*look[FORMS])(void *x);
};

struct array_functions {
	const char *name;
	size_t element;
	void (*push[FORMS])(const void *x, int n);
	void (*pop[FORMS])(void *x, int n);
	void (*look[FORMS])(void *x, int n);
};

struct bit_functions {
	const char *name;
	unsigned bits;
	void (*push[FORMS])(int x);
	int (*pop[FORMS])(void);
	int (*look[FORMS])(void);
};

/* ---- Prototypes, and adaptors to one signature ---- */

#define FORTRAN_PROTOTYPES(name, ...)                                                              \
	void name##_(__VA_ARGS__);                                                                 \
	void name##__(__VA_ARGS__);                                                                \
	void name(__VA_ARGS__);

#define SCALAR_PROTOTYPES(Name, name, type)                                                        \
	void push##Name(type x);                                                                   \
	void pop##Name(type *x);                                                                   \
	void look##Name(type *x);                                                                  \
	FORTRAN_PROTOTYPES(push##name, void *x)                                                    \
	FORTRAN_PROTOTYPES(pop##name, void *x)                                                     \
	FORTRAN_PROTOTYPES(look##name, void *x)
REEL_ADSTACK_SCALARS(SCALAR_PROTOTYPES)

#define ARRAY_PROTOTYPES(Name, name, type, bytes)                                                  \
	void push##Name##Array(type *x, int n);                                                    \
	void pop##Name##Array(type *x, int n);                                                     \
	void look##Name##Array(type *x, int n);                                                    \
	FORTRAN_PROTOTYPES(push##name##array, void *x, const int *n)                               \
	FORTRAN_PROTOTYPES(pop##name##array, void *x, const int *n)                                \
	FORTRAN_PROTOTYPES(look##name##array, void *x, const int *n)
REEL_ADSTACK_ARRAYS(ARRAY_PROTOTYPES)
void pushNArray(char *x, int n);
void popNArray(char *x, int n);
void lookNArray(char *x, int n);
FORTRAN_PROTOTYPES(pushnarray, void *x, const int *n)
FORTRAN_PROTOTYPES(popnarray, void *x, const int *n)
FORTRAN_PROTOTYPES(looknarray, void *x, const int *n)

void pushReal16(long double *x);
void popReal16(long double *x);
void lookReal16(long double *x);
FORTRAN_PROTOTYPES(pushreal16, void *x)
FORTRAN_PROTOTYPES(popreal16, void *x)
FORTRAN_PROTOTYPES(lookreal16, void *x)

#define BIT_PROTOTYPES(Name, name, n)                                                              \
	void push##Name(int x);                                                                    \
	void pop##Name(int *x);                                                                    \
	void look##Name(int *x);                                                                   \
	FORTRAN_PROTOTYPES(push##name, const int *x)                                               \
	FORTRAN_PROTOTYPES(pop##name, int *x)                                                      \
	FORTRAN_PROTOTYPES(look##name, int *x)
REEL_ADSTACK_BITS(BIT_PROTOTYPES)

void adStack_startRepeat(void);
void adStack_resetRepeat(void);
void adStack_endRepeat(void);
uint64_t adStack_getCurrentStackSize(void);
void resetADLookStack(void);
int stackIsThreadSafe(void);

/* A push does not change its argument, though not all prototypes say so. */
#define VARIABLE(x) ((void *)(uintptr_t)(x))

/* A C function that takes its value by value is called from the value's address. */
#define SCALAR_ADAPTORS(Name, name, type)                                                          \
	static void push_##Name##_0(const void *x)                                                 \
	{                                                                                          \
		push##Name(*(const reel_adstack_##Name *)x);                                       \
	}                                                                                          \
	static void push_##Name##_1(const void *x) { push##name##_(VARIABLE(x)); }                 \
	static void push_##Name##_2(const void *x) { push##name##__(VARIABLE(x)); }                \
	static void push_##Name##_3(const void *x) { push##name(VARIABLE(x)); }                    \
	static void push_##Name##_4(const void *x)                                                 \
	{                                                                                          \
		reel_adstack_push_##Name(*(const reel_adstack_##Name *)x);                         \
	}                                                                                          \
	static void pop_##Name##_4(void *x)                                                        \
	{                                                                                          \
		*(reel_adstack_##Name *)x = reel_adstack_pop_##Name();                             \
	}                                                                                          \
	static void pop_##Name##_0(void *x)                                                        \
	{                                                                                          \
		type value;                                                                        \
		pop##Name(&value);                                                                 \
		memcpy(x, &value, sizeof value);                                                   \
	}                                                                                          \
	static void look_##Name##_0(void *x)                                                       \
	{                                                                                          \
		type value;                                                                        \
		look##Name(&value);                                                                \
		memcpy(x, &value, sizeof value);                                                   \
	}
REEL_ADSTACK_SCALARS(SCALAR_ADAPTORS)

#if __SIZEOF_LONG_DOUBLE__ == 16
static void push_Real16_0(const void *x)
{
	long double value;

	memcpy(&value, x, sizeof value);
	pushReal16(&value);
}

static void pop_Real16_0(void *x)
{
	long double value;

	popReal16(&value);
	memcpy(x, &value, sizeof value);
}

static void look_Real16_0(void *x)
{
	long double value;

	lookReal16(&value);
	memcpy(x, &value, sizeof value);
}

#else
/* Not all of its bytes go through a long double. */
static void push_Real16_0(const void *x) { pushreal16_((void *)(uintptr_t)x); }
static void pop_Real16_0(void *x) { popreal16_(x); }
static void look_Real16_0(void *x) { lookreal16_(x); }
#endif

static void push_Real16_1(const void *x) { pushreal16_((void *)(uintptr_t)x); }
static void push_Real16_2(const void *x) { pushreal16__((void *)(uintptr_t)x); }
static void push_Real16_3(const void *x) { pushreal16((void *)(uintptr_t)x); }

#define SCALAR_ROW(Name, name, type)                                                               \
	{#Name, sizeof(type),                                                                      \
	 {push_##Name##_0, push_##Name##_1, push_##Name##_2, push_##Name##_3, push_##Name##_4},    \
	 {pop_##Name##_0, pop##name##_, pop##name##__, pop##name, pop_##Name##_4},                 \
	 {look_##Name##_0, look##name##_, look##name##__, look##name, look_##Name##_0}},

static const struct value_functions values[] = {
	REEL_ADSTACK_SCALARS(SCALAR_ROW)
	{"Real16", 16, {push_Real16_0, push_Real16_1, push_Real16_2, push_Real16_3, push_Real16_0},
	 {pop_Real16_0, popreal16_, popreal16__, popreal16, pop_Real16_0},
	 {look_Real16_0, lookreal16_, lookreal16__, lookreal16, look_Real16_0}},
};

#define ARRAY_ADAPTORS(Name, name, push_c, pop_c, look_c)                                          \
	static void push_##Name##s_0(const void *x, int n) { push_c(VARIABLE(x), n); }             \
	static void push_##Name##s_1(const void *x, int n) { push##name##_(VARIABLE(x), &n); }     \
	static void push_##Name##s_2(const void *x, int n) { push##name##__(VARIABLE(x), &n); }    \
	static void push_##Name##s_3(const void *x, int n) { push##name(VARIABLE(x), &n); }        \
	static void pop_##Name##s_0(void *x, int n) { pop_c(x, n); }                               \
	static void pop_##Name##s_1(void *x, int n) { pop##name##_(x, &n); }                       \
	static void pop_##Name##s_2(void *x, int n) { pop##name##__(x, &n); }                      \
	static void pop_##Name##s_3(void *x, int n) { pop##name(x, &n); }                          \
	static void look_##Name##s_0(void *x, int n) { look_c(x, n); }                             \
	static void look_##Name##s_1(void *x, int n) { look##name##_(x, &n); }                     \
	static void look_##Name##s_2(void *x, int n) { look##name##__(x, &n); }                    \
	static void look_##Name##s_3(void *x, int n) { look##name(x, &n); }
#define TYPED_ARRAY_ADAPTORS(Name, name, type, bytes)                                              \
	ARRAY_ADAPTORS(Name, name##array, push##Name##Array, pop##Name##Array, look##Name##Array)
REEL_ADSTACK_ARRAYS(TYPED_ARRAY_ADAPTORS)
ARRAY_ADAPTORS(N, narray, pushNArray, popNArray, lookNArray)

#define ARRAY_ROW(Name, name, type, bytes)                                                         \
	{#Name, bytes,                                                                             \
	 {push_##Name##s_0, push_##Name##s_1, push_##Name##s_2, push_##Name##s_3,                  \
	  push_##Name##s_0},                                                                       \
	 {pop_##Name##s_0, pop_##Name##s_1, pop_##Name##s_2, pop_##Name##s_3, pop_##Name##s_0},    \
	 {look_##Name##s_0, look_##Name##s_1, look_##Name##s_2, look_##Name##s_3,                  \
	  look_##Name##s_0}},

static const struct array_functions arrays[] = {
	REEL_ADSTACK_ARRAYS(ARRAY_ROW)
	ARRAY_ROW(N, narray, char, 1)
};

#define BIT_ADAPTORS(Name, name, n)                                                                \
	static void push_##Name##b_1(int x) { push##name##_(&x); }                                 \
	static void push_##Name##b_2(int x) { push##name##__(&x); }                                \
	static void push_##Name##b_3(int x) { push##name(&x); }                                    \
	static void push_##Name##b_4(int x)                                                        \
	{                                                                                          \
		reel_adstack_push_bits(REEL_ADSTACK_BITS_OF(x, n), n, REEL_ADSTACK_##Name##_bits); \
	}                                                                                          \
	static int pop_##Name##b_4(void)                                                           \
	{                                                                                          \
		return (int)reel_adstack_pop_bits(n, REEL_ADSTACK_##Name##_bits);                  \
	}                                                                                          \
	static int pop_##Name##b_0(void) { int x = -1; pop##Name(&x); return x; }                  \
	static int pop_##Name##b_1(void) { int x = -1; pop##name##_(&x); return x; }               \
	static int pop_##Name##b_2(void) { int x = -1; pop##name##__(&x); return x; }              \
	static int pop_##Name##b_3(void) { int x = -1; pop##name(&x); return x; }                  \
	static int look_##Name##b_0(void) { int x = -1; look##Name(&x); return x; }                \
	static int look_##Name##b_1(void) { int x = -1; look##name##_(&x); return x; }             \
	static int look_##Name##b_2(void) { int x = -1; look##name##__(&x); return x; }            \
	static int look_##Name##b_3(void) { int x = -1; look##name(&x); return x; }
REEL_ADSTACK_BITS(BIT_ADAPTORS)

#define BIT_ROW(Name, name, n)                                                                     \
	{#Name, n,                                                                                 \
	 {push##Name, push_##Name##b_1, push_##Name##b_2, push_##Name##b_3, push_##Name##b_4},     \
	 {pop_##Name##b_0, pop_##Name##b_1, pop_##Name##b_2, pop_##Name##b_3, pop_##Name##b_4},    \
	 {look_##Name##b_0, look_##Name##b_1, look_##Name##b_2, look_##Name##b_3,                  \
	  look_##Name##b_0}},

static const struct bit_functions controls[] = {REEL_ADSTACK_BITS(BIT_ROW)};

/* This thread's stack on a pool of its own; NULL: on the default one again. */
static inline reel_pool *stack_on(const struct reel_pool_options *options)
{
	reel_pool *pool = options ? open_pool(*options) : NULL;

	reel_adstack_set_pool(pool);
	return pool;
}

#endif
