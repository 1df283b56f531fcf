/* SPDX-License-Identifier: MIT */
/*
 * Measures the code of a push. Both functions have a local tape and a loop that pushes, and the
 * second function has 20 pushes more. With TAKE() the same code takes the values without a push.
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
