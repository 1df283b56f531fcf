/* SPDX-License-Identifier: MIT */
/* Tests the C header from C++. */
#include <config.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <type_traits>

extern "C" {
#include <reel.h>
#include <reel/plan.h>
#include <reel/recording.h>
}

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

namespace {

struct point {
	double x, y;
	float weight;
};

struct cell {
	double x;
};

struct alignas(32) wide {
	char bytes[96];
};

enum class colour : unsigned char { red, green = 200 };

/* A std::vector of tapes that grows must not compile. A tape has its layout in C. */
static_assert(!std::is_copy_constructible<reel_tape>::value &&
		      !std::is_move_constructible<reel_tape>::value &&
		      !std::is_copy_assignable<reel_tape>::value,
	      "a tape is not copied");
static_assert(std::is_standard_layout<reel_tape>::value && sizeof(reel_tape) == 256 &&
		      offsetof(reel_tape, spare) == 192,
	      "a tape has the layout of the library");
#if __cplusplus >= 201703L
static_assert(std::is_aggregate<reel_tape>::value, "a tape can be initialised with {}");
#endif

template <class T> void comes_back(reel_tape *tape, T value, const char *what)
{
	reel_push(tape, value);
	T looked = reel_look(tape, T);
	T popped = reel_pop(tape, T);

	ok(looked == value && popped == value, "%s comes back", what);
}

void scalars_come_back(reel_tape *tape)
{
	comes_back(tape, 'c', "a char");
	comes_back(tape, std::numeric_limits<int>::min(), "an int");
	comes_back(tape, std::numeric_limits<unsigned long long>::max(), "an unsigned long long");
	comes_back(tape, std::numeric_limits<float>::denorm_min(), "a float");
	comes_back(tape, -std::numeric_limits<double>::max(), "a double");
	comes_back(tape, 1.0L / 3.0L, "a long double");
	comes_back(tape, std::complex<double>(1.5, -2.5), "a complex number");
	comes_back(tape, tape, "a pointer");
	comes_back(tape, colour::green, "an enumerator");
}

void structs_come_back(reel_tape *tape)
{
	wide pushed = {};

	pushed.bytes[95] = 7;
	reel_push(tape, (point{1.5, 2.5, 3.5f}));
	reel_push(tape, pushed);
	is_int(reel_look(tape, wide).bytes[95], 7, "an over-aligned struct, looked at");
	is_int(reel_pop(tape, wide).bytes[95], 7, "an over-aligned struct comes back");
	point p = reel_pop(tape, point);
	ok(p.x == 1.5 && p.y == 2.5 && p.weight == 3.5f, "a struct of doubles comes back");
}

void bools_are_bits(reel_tape *tape)
{
	uint64_t bytes = reel_tape_bytes(tape);

	reel_push(tape, true);
	reel_push(tape, false);
	is_int(reel_tape_bytes(tape), bytes, "bools take no bytes of their own");
	ok(!reel_look(tape, bool) && !reel_pop(tape, bool) && reel_pop_bits(tape, 1) == 1,
	   "bools come back, as bits, too");
}

void spans_and_arrays_come_back(reel_tape *tape)
{
	double copied[50] = {}, back[50];
	wide *widest = reel_push_span(tape, wide, 3);

	widest[2].bytes[0] = 5;
	double *span = reel_push_span(tape, double, 100);
	span[99] = 1.5;
	copied[49] = 2.5;
	reel_push_array(tape, copied, 50);
	float *reserved = reel_reserve(tape, float, 10);
	reserved[3] = 3.5f;
	reel_commit(tape, float, 4);

	is_double(reel_pop_span(tape, float, 4)[3], 3.5, "a reserved span comes back");
	reel_pop_array(tape, back, 50);
	is_double(back[49], 2.5, "an array comes back");
	is_double(reel_pop_span(tape, double, 100)[99], 1.5, "a span comes back");
	is_int(reel_pop_span(tape, wide, 3)[2].bytes[0], 5, "an over-aligned span comes back");
}

void cursors_work(reel_tape *tape)
{
	unsigned wrong = 0;
	reel_cursor c = reel_push_cursor(tape);

	for (int i = 0; i < 100; i++) {
		c = reel_cursor_push(tape, c, i);
		c = reel_cursor_push(tape, c, (point{double(i), 0, 0}));
	}
	reel_cursor_close(tape, c);
	c = reel_pop_cursor(tape);
	for (int i = 100; i-- > 0;) {
		point p;
		int number;

		c = reel_cursor_pop(tape, c, &p);
		c = reel_cursor_pop(tape, c, &number);
		wrong += number != i || p.x != i;
	}
	reel_cursor_close(tape, c);
	is_int(wrong, 0, "cursors take values and structs");
}

void marks_and_holds_work(reel_tape *tape)
{
	reel_mark mark = reel_tape_mark(tape);

	reel_push(tape, 1.5);
	is_int(reel_tape_hold(tape), 0, "a hold");
	is_double(reel_pop(tape, double), 1.5, "a pop");
	is_int(reel_tape_replay(tape), 0, "a replay");
	is_double(reel_pop(tape, double), 1.5, "the same pop");
	reel_tape_replay(tape);
	is_int(reel_tape_release(tape), 0, "a release");
	is_int(reel_tape_rewind(tape, mark), 0, "a rewind");
}

void all_work(reel_tape *tape)
{
	scalars_come_back(tape);
	structs_come_back(tape);
	bools_are_bits(tape);
	spans_and_arrays_come_back(tape);
	cursors_work(tape);
	marks_and_holds_work(tape);
	ok(reel_tape_is_empty(tape) && !reel_tape_error(tape), "nothing is left");
	reel_tape_close(tape);
}

void ignore(const reel_tape *, int, const char *, void *)
{
}

void checked_mode_tells_types_apart()
{
	reel_tape tape;

	reel_set_error_handler(ignore, nullptr);
	reel_tape_open(&tape, nullptr, REEL_CHECKED);
	reel_push(&tape, 1L);
	ok(std::isnan(reel_pop(&tape, double)), "a long popped as a double is a NaN");
	ok(reel_tape_error(&tape) != 0, "a long popped as a double is an error");
	reel_tape_close(&tape);
	reel_tape_open(&tape, nullptr, REEL_CHECKED);
	reel_push(&tape, cell{1.0});
	ok(reel_pop(&tape, int64_t) == -1 && reel_tape_error(&tape) != 0,
	   "a struct popped as an integer is an error, too");
	reel_tape_close(&tape);
}

/* ---- Exceptions ---- */

void throw_error(const reel_tape *, int error, const char *, void *)
{
	throw error;
}

void a_handler_may_throw()
{
	reel_tape tape = {};
	int thrown = 0;

	reel_set_error_handler(throw_error, nullptr);
	try {
		reel_pop(&tape, double);
	} catch (int error) {
		thrown = error;
	}
	reel_set_error_handler(ignore, nullptr);
	ok(thrown < 0 && reel_tape_error(&tape) == thrown, "a handler throws the error of a tape");
	ok(std::isnan(reel_pop(&tape, double)), "the next pop is a NaN");
	reel_tape_close(&tape);
}

/* Number of reverse steps until one throws; below 0: none throws. */
int steps_to_go;

int advance(void *, void *state, int64_t first, int64_t last)
{
	*static_cast<double *>(state) += double(last - first);
	return 0;
}

int record(void *, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (; first < last; first++)
		reel_push(tape, (*static_cast<double *>(state))++);
	return 0;
}

int reverse(void *, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	for (; first < last; last--) {
		if (steps_to_go-- == 0)
			throw last;
		*static_cast<double *>(adjoint) += reel_pop(tape, double);
	}
	return 0;
}

int sweep(reel_run *run, double *sum)
{
	double state = 0;
	int error = reel_run_forward(run, nullptr, &state);

	*sum = 0;
	return error ? error : reel_run_reverse(run, nullptr, &state, sum);
}

void a_callback_may_throw()
{
	reel_problem problem = {};
	reel_model model = {};
	reel_plan *plan;
	reel_run *run;
	double sum;
	int64_t thrown = 0;

	problem.steps = 40;
	problem.tiers = 1;
	problem.tier[0].slots = 4;
	model.state_bytes = sizeof sum;
	model.advance = advance;
	model.record = record;
	model.reverse = reverse;
	reel_plan_open(&plan, REEL_BINOMIAL, &problem);
	reel_run_open(&run, plan, &model, nullptr);
	steps_to_go = 7;
	try {
		sweep(run, &sum);
	} catch (int64_t step) {
		thrown = step;
	}
	steps_to_go = -1;
	is_int(thrown, 33, "a callback of a run throws");
	ok(reel_run_reverse(run, nullptr, &sum, &sum) < 0,
	   "a sweep with an exception cannot be gone on with");
	ok(!sweep(run, &sum) && sum == 40 * 39 / 2, "the next sweep is right");
	reel_run_close(run);
	reel_plan_close(plan);
}

}

namespace application {

struct first {
	double x;
};

struct second {
	double x, y;
};

REEL_RECORD(first, struct first);
REEL_RECORD(second, struct second);

void records_of_a_namespace_come_back(reel_tape *tape)
{
	reel_push_record(tape, first, first{1.0});
	reel_push_record(tape, second, second{2.0, 3.0});
	ok(reel_pop_record(tape, second).y == 3.0 && reel_pop_record(tape, first).x == 1.0,
	   "two record types of a namespace come back");
}

} // namespace application

template <class A, class B> struct two {
	A a;
	B b;
};

static void a_type_may_have_a_comma(reel_tape *tape)
{
	reel_push(tape, two<int, double>{1, 2.0});
	ok(reel_pop(tape, two<int, double>).b == 2.0, "a type with a comma comes back");
}

int main()
{
	reel_tape tape = {};
	reel_tape checked;

	tap_begin();
	all_work(&tape);
	reel_tape_open(&checked, nullptr, REEL_CHECKED);
	all_work(&checked);
	checked_mode_tells_types_apart();
	a_handler_may_throw();
	a_callback_may_throw();
	application::records_of_a_namespace_come_back(&tape);
	a_type_may_have_a_comma(&tape);
	return tap_end();
}
