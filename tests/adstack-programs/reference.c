/* SPDX-License-Identifier: MIT */
/*
 * A plain stack of bytes for one thread, with which programs must give the same results. Bits take
 * a byte each; a repeat level is a copy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 4 };

struct stack {
	char *bytes;
	size_t count;
};

static struct stack stack, held[LEVELS];
static unsigned levels;

static void push(const void *x, size_t n)
{
	stack.bytes = realloc(stack.bytes, stack.count + n + 1);
	memcpy(stack.bytes + stack.count, x, n);
	stack.count += n;
}

static void pop(void *x, size_t n)
{
	if (n > stack.count)
		abort();
	stack.count -= n;
	memcpy(x, stack.bytes + stack.count, n);
}

static struct stack copy_of(struct stack original)
{
	struct stack copy = {malloc(original.count + 1), original.count};

	memcpy(copy.bytes, original.bytes, original.count);
	return copy;
}

void adStack_startRepeat(void) { held[levels++] = copy_of(stack); }
void adstack_startrepeat_(void) { adStack_startRepeat(); }

void adStack_resetRepeat(void)
{
	free(stack.bytes);
	stack = copy_of(held[levels - 1]);
}

void adstack_resetrepeat_(void) { adStack_resetRepeat(); }
void adStack_endRepeat(void) { free(held[--levels].bytes); }
void adstack_endrepeat_(void) { adStack_endRepeat(); }

#define SCALAR(Name, name, type)                                                                   \
	void push##Name(type x) { push(&x, sizeof x); }                                            \
	void pop##Name(type *x) { pop(x, sizeof *x); }                                             \
	void push##name##_(type *x) { push(x, sizeof *x); }                                        \
	void pop##name##_(type *x) { pop(x, sizeof *x); }
SCALAR(Real8, real8, double)
SCALAR(Real4, real4, float)
SCALAR(Integer4, integer4, int)
SCALAR(Integer8, integer8, long)
SCALAR(Character, character, char)
SCALAR(Pointer8, pointer8, void *)

#define BITS(Name, name)                                                                           \
	void push##Name(int x)                                                                     \
	{                                                                                          \
		char bits = (char)x;                                                               \
		push(&bits, 1);                                                                    \
	}                                                                                          \
	void pop##Name(int *x)                                                                     \
	{                                                                                          \
		char bits;                                                                         \
		pop(&bits, 1);                                                                     \
		*x = bits;                                                                         \
	}                                                                                          \
	void push##name##_(int *x) { push##Name(*x); }                                             \
	void pop##name##_(int *x) { pop##Name(x); }
BITS(Boolean, boolean)
BITS(Control1b, control1b)
BITS(Control2b, control2b)
BITS(Control3b, control3b)

#define ARRAY(Name, name, type)                                                                    \
	void push##Name(type *x, int n) { push(x, (size_t)n * sizeof *x); }                        \
	void pop##Name(type *x, int n) { pop(x, (size_t)n * sizeof *x); }                          \
	void push##name##_(type *x, int *n) { push(x, (size_t)*n * sizeof *x); }                   \
	void pop##name##_(type *x, int *n) { pop(x, (size_t)*n * sizeof *x); }
ARRAY(Real8Array, real8array, double)
ARRAY(Integer4Array, integer4array, int)
ARRAY(CharacterArray, characterarray, char)
ARRAY(BooleanArray, booleanarray, int)

void pushreal8_d_(double *x, double *xd) { push(x, 8), push(xd, 8); }
void popreal8_d_(double *x, double *xd) { pop(xd, 8), pop(x, 8); }

void pushreal8array_d_(double *x, double *xd, int *n)
{
	pushReal8Array(x, *n);
	pushReal8Array(xd, *n);
}

void popreal8array_d_(double *x, double *xd, int *n)
{
	popReal8Array(xd, *n);
	popReal8Array(x, *n);
}
