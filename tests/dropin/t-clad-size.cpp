/* SPDX-License-Identifier: MIT */
/*
 * How much code a push is: each function has a local tape and a loop that pushes, SITES times more
 * in the second one of two. TAKE() is what all of it is without the push.
 */
#if defined(PUSH)
#define SITE(i) clad::push(_t0, x[i]);
#elif defined(TAKE)
#define SITE(i) __asm__ volatile("" ::TAKE(x[i]));
#endif
#define SITES(i)                                                                                   \
	SITE(i) SITE(i + 1) SITE(i + 2) SITE(i + 3) SITE(i + 4) SITE(i + 5) SITE(i + 6)            \
	SITE(i + 7) SITE(i + 8) SITE(i + 9)

typedef double *pointer;

void few(TYPE *x, int n)
{
	clad::custom_tape<TYPE> _t0 = {};

	for (int i = 0; i < n; i++) {
		SITE(0)
	}
	for (int i = 0; i < n; i++)
		x[i] = clad::pop(_t0);
}

void many(TYPE *x, int n)
{
	clad::custom_tape<TYPE> _t0 = {};

	for (int i = 0; i < n; i++) {
		SITE(0) SITES(1) SITES(11)
	}
	for (int i = 0; i < n; i++)
		x[i] = clad::pop(_t0);
}
