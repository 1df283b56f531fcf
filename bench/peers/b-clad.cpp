/* SPDX-License-Identifier: MIT */
/*
 * The tapes of gradients that Clad generates: the cost of a value, and four gradients in the forms
 * that Clad emits, on clad::custom_tape, on a copy of Clad's own tape, and on a bare cursor.
 */
#include "config.h"

#include <clad/tape.h>

extern "C" {
#include "common/bench.h"
}

#include <cstdlib>
#include <malloc.h>
#include <sys/mman.h>

#include "clad-cursors.h"
#include "clad-slabs.h"

#define LARGEST ((size_t)100000000)
#define HUGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4096)

/* The compiler may know nothing of x from here on: no loop becomes one of vectors. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))

namespace {

double *memory;

/* ---- One double up and down ---- */

double up_and_down(double *top, size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++) {
		*top++ = bench_value(i);
		KEEP(top);
	}
	for (size_t i = n; i-- > 0;) {
		mix = bench_mix(mix, *--top);
		KEEP(top);
	}
	return (double)mix;
}

double bump(void *, size_t n)
{
	return up_and_down(memory, n);
}

/* Whatever can grow compares its top with an end. */
double bounded(void *, size_t n)
{
	uint64_t mix = 0;
	double *top = memory, *end = memory + n;

	KEEP(end);
	for (size_t i = 0; i < n; i++) {
		if (__builtin_expect(top >= end, 0))
			top = end = cursors::next_piece(top);
		*top++ = bench_value(i);
	}
	end = memory;
	KEEP(end);
	for (size_t i = n; i-- > 0;) {
		if (__builtin_expect(top <= end, 0))
			top = end = cursors::next_piece(top);
		mix = bench_mix(mix, *--top);
	}
	return (double)mix;
}

template <class Tape> inline double push_and_pop(Tape &tape, size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i++)
		push(tape, bench_value(i));
	for (size_t i = n; i-- > 0;)
		mix = bench_mix(mix, pop(tape));
	return (double)mix;
}

/* A tape that begins and ends with the call, as in generated code. */
template <class Tape> double local_double(void *, size_t n)
{
	Tape tape = {};

	return push_and_pop(tape, n);
}

/* A static one, as for the threads of OpenMP. */
template <class Tape> double static_double(void *, size_t n)
{
	static Tape tape = {};

	return push_and_pop(tape, n);
}

void bench_double()
{
	static const struct measure_variant variants[] = {
		{"bare bump cursor", bump, NULL, NULL, NULL},
		{"bounded cursor", bounded, NULL, NULL, NULL},
		{"slabs, as Clad's", local_double<slabs::slab_tape<double>>, NULL, NULL, NULL},
		{"slabs, static", static_double<slabs::slab_tape<double>>, NULL, NULL, NULL},
		{"reel custom_tape", local_double<clad::custom_tape<double>>, NULL, NULL, NULL},
		{"reel, static", static_double<clad::custom_tape<double>>, NULL, NULL, NULL},
	};
	static const struct bench_case one = {
		"clad/push+pop", variants, COUNT_OF(variants), 0,
		{100, 10000, 1000000, LARGEST}, 1000000, 9};
	size_t bytes = (bench_is_quick() ? one.quick_largest : LARGEST) * sizeof *memory;

	if (!bench_wants(&one, 1))
		return;
	memory = static_cast<double *>(bench_memory(bytes));
	bench_run(&one);
	bench_memory_free(memory, bytes);
}

/* ---- Memory that was given back to the system ---- */

/* One byte of each page, so that the system clears all of them. */
double touch(double *values, size_t n)
{
	volatile char *bytes = reinterpret_cast<char *>(values);

	for (size_t i = 0; i < n * sizeof *values; i += SMALL_PAGE)
		bytes[i] = 1;
	return (double)bytes[0];
}

template <double (*run)(double *values, size_t n), bool huge> double fresh_array(void *, size_t n)
{
	size_t bytes = n * sizeof(double) + HUGE_PAGE;
	char *mapping = static_cast<char *>(mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
						 0));
	char *start = mapping + (-(uintptr_t)mapping & (HUGE_PAGE - 1));
	double result;

	if (mapping == MAP_FAILED)
		abort();
#ifdef MADV_HUGEPAGE
	if (huge)
		madvise(start, n * sizeof(double), MADV_HUGEPAGE);
#endif
	result = run(reinterpret_cast<double *>(start), n);
	munmap(mapping, bytes);
	return result;
}

void give_back(void *, size_t)
{
	reel_pool_trim(reel_pool_default(), 0);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void bench_cold_tape()
{
	static const struct measure_variant variants[] = {
		{"fresh array, huge pages", fresh_array<up_and_down, true>, NULL, NULL, NULL},
		{"huge pages alone", fresh_array<touch, true>, NULL, NULL, NULL},
		{"fresh array, small pages", fresh_array<up_and_down, false>, NULL, NULL, NULL},
		{"small pages alone", fresh_array<touch, false>, NULL, NULL, NULL},
		{"slabs, as Clad's", local_double<slabs::slab_tape<double>>, give_back, NULL,
		 NULL},
		{"reel custom_tape", local_double<clad::custom_tape<double>>, give_back, NULL,
		 NULL},
	};
	static const struct bench_case one = {
		"clad/cold", variants, COUNT_OF(variants), 0, {1000000, LARGEST}, 1000000, 5};

	bench_run(&one);
}

/* ---- Many tapes, one value in each: a call of a gradient without a loop ---- */

template <template <class> class Tape> double one_each(void *, size_t n)
{
	uint64_t mix = 0;

	for (size_t i = 0; i < n; i += 19) {
		Tape<double> tapes[19] = {};

		for (size_t t = 0; t < 19; t++)
			push(tapes[t], bench_value(i + t));
		for (size_t t = 19; t-- > 0;)
			mix = bench_mix(mix, pop(tapes[t]));
	}
	return (double)mix;
}

/* ---- Gradients in the emitted forms; about n values are pushed ---- */

double inputs[8192], adjoints[8192];

/* The product of n factors, of which there are 8,192. */
template <template <class> class Tape> double product(void *, size_t n)
{
	Tape<double> _t1 = {};
	double p = 1, _d_p = 0;
	size_t i = 0;
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		push(_t1, p);
		p *= inputs[i % 8192];
	}
	_d_p += 1;
	for (; _t0; _t0--) {
		--i;
		p = pop(_t1);
		double _r_d0 = _d_p;
		_d_p = 0.;
		_d_p += _r_d0 * inputs[i % 8192];
		adjoints[i % 8192] += p * _r_d0;
	}
	return _d_p;
}

/* u = u + h (k u u - u): carried state. */
template <template <class> class Tape> double time_steps(void *, size_t n)
{
	Tape<double> _t1 = {};
	double u = 0.5, _d_u = 0, k = 0.25, _d_k = 0;
	unsigned long _t0 = 0UL;
	for (size_t i = 0; i < n; ++i) {
		_t0++;
		push(_t1, u);
		u = u + 0.001 * (k * u * u - u);
	}
	_d_u += 1;
	for (; _t0; _t0--) {
		u = pop(_t1);
		double _r_d0 = _d_u;
		_d_u = 0.;
		_d_u += _r_d0 + 0.001 * (2 * k * u - 1) * _r_d0;
		_d_k += 0.001 * u * u * _r_d0;
	}
	return _d_u + _d_k;
}

template <template <class> class Tape> double branches(void *, size_t n)
{
	Tape<bool> _cond0 = {};
	Tape<double> _t1 = {};
	double s = 0, _d_s = 0;
	size_t i = 0;
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		push(_cond0, inputs[i % 8192] < 1);
		if (back(_cond0)) {
			push(_t1, s);
			s = s * inputs[i % 8192];
		} else {
			push(_t1, s);
			s = s * 0.5 + inputs[i % 8192];
		}
	}
	_d_s += 1;
	for (; _t0; _t0--) {
		--i;
		if (back(_cond0)) {
			s = pop(_t1);
			adjoints[i % 8192] += s * _d_s;
			_d_s = _d_s * inputs[i % 8192];
		} else {
			s = pop(_t1);
			adjoints[i % 8192] += _d_s;
			_d_s = _d_s * 0.5;
		}
		pop(_cond0);
	}
	return _d_s;
}

/* Explicit steps of a nonlinear heat equation on 128 cells, in place, two values a cell. */
template <template <class> class Tape> double heat(void *, size_t n)
{
	Tape<unsigned long> _t1 = {};
	Tape<double> _t2 = {}, _t3 = {};
	double u[130], _d_u[130] = {}, flux = 0, _d_flux = 0;
	size_t j = 0;
	unsigned long _t0 = 0UL;

	for (j = 0; j < 130; ++j)
		u[j] = inputs[j];
	for (size_t i = 0; i < n; i += 256) {
		_t0++;
		push(_t1, 0);
		for (j = 1; j < 129; ++j) {
			back(_t1)++;
			push(_t2, flux);
			flux = 0.1 * (u[j + 1] - u[j]) * u[j];
			push(_t3, u[j]);
			u[j] += flux;
		}
	}
	_d_u[64] += 1;
	for (; _t0; _t0--) {
		for (j = 129; back(_t1); back(_t1)--) {
			--j;
			u[j] = pop(_t3);
			_d_flux += _d_u[j];
			flux = pop(_t2);
			_d_u[j + 1] += 0.1 * u[j] * _d_flux;
			_d_u[j] += 0.1 * (u[j + 1] - 2 * u[j]) * _d_flux;
			_d_flux = 0;
		}
		pop(_t1);
	}
	return _d_u[1] + _d_u[64];
}

/* With one parameter, as the others. */
template <class T> using reel_clad_tape = clad::custom_tape<T>;

#define TAPES(run)                                                                                 \
	{"slabs, as Clad's", run<slabs::slab_tape>, NULL, NULL, NULL},                             \
	{"reel custom_tape", run<reel_clad_tape>, NULL, NULL, NULL}

void bench_one_each()
{
	static const struct measure_variant variants[] = {TAPES(one_each)};
	static const struct bench_case one = {"clad/one value a tape", variants, COUNT_OF(variants),
					      0, {19, 19000}, 1000000, 9};

	bench_run(&one);
}

#define GRADIENT(name, run, ...)                                                                   \
	do {                                                                                       \
		static const struct measure_variant variants[] = {                                 \
			{"bare cursors", run<cursors::bare_tape>, NULL, NULL, NULL},               \
			{"bounded cursors", run<cursors::bounded_tape>, NULL, NULL, NULL},         \
			TAPES(run)};                                                               \
		static const struct bench_case one = {name, variants,    COUNT_OF(variants), 0,    \
						      {__VA_ARGS__}, 1000000, 9};                  \
		bench_run(&one);                                                                   \
	} while (0)

} // namespace

extern "C" void bench_clad(void)
{
	for (size_t i = 0; i < COUNT_OF(inputs); i++)
		inputs[i] = 0.75 + (double)(i * 2654435761u % 1024) / 2048;
	bench_double();
	bench_cold_tape();
	bench_one_each();
	GRADIENT("clad/product", product, 10000, 1000000);
	GRADIENT("clad/time steps", time_steps, 10000, 1000000);
	GRADIENT("clad/branches", branches, 10000, 1000000);
	GRADIENT("clad/heat", heat, 10240, 1024000);
	cursors::give_memory_back();
}
