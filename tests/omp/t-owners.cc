/* SPDX-License-Identifier: MIT */
/* Tests reel.hpp: owners, exceptions, and loops of a team. */
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <reel.hpp>

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

namespace {

template <class T> constexpr bool is_only_moved()
{
	return !std::is_copy_constructible<T>::value && !std::is_copy_assignable<T>::value &&
	       std::is_nothrow_move_constructible<T>::value &&
	       std::is_nothrow_move_assignable<T>::value;
}
static_assert(is_only_moved<reel::pool>() && is_only_moved<reel::tape>() &&
		      is_only_moved<reel::root>() && is_only_moved<reel::plan>() &&
		      is_only_moved<reel::run>() && is_only_moved<reel::parcel>(),
	      "an owner is moved, and not copied");
static_assert(!std::is_copy_constructible<reel::pinned<int>>::value &&
		      !std::is_copy_assignable<reel::pinned<int>>::value,
	      "nor is a pin");

/* Returns the code of the system_error that the call throws, or 0. */
template <class Call> int thrown(const Call &call, std::string *what = nullptr)
{
	try {
		call();
	} catch (const std::system_error &error) {
		if (what)
			*what = error.what();
		return error.code().category() == std::generic_category() ? error.code().value()
									  : -1;
	}
	return 0;
}

std::string reported;

void keep(const reel_tape *, int, const char *message, void *)
{
	reported = message;
}

struct point {
	double x, y;
};

void test_values()
{
	reel::tape tape;
	double numbers[3] = {1, 2, 3}, back[3];

	tape.push(1.5);
	tape.push(true);
	tape.push(point{2, 3});
	tape.push_array(numbers, 3);
	tape.push_span<float>(2)[1] = 4;
	reel::tape moved(std::move(tape));
	ok(reel_tape_is_empty(tape), "what was moved from is empty");
	ok(moved.pop_span<float>(2)[1] == 4, "a span");
	moved.pop_array(back, 3);
	ok(std::memcmp(numbers, back, sizeof back) == 0, "an array");
	ok(moved.pop<point>().y == 3, "a struct");
	ok(moved.pop<bool>() && moved.pop<double>() == 1.5, "a bit and a number");
	is_int(thrown([&] { moved.check(); }), 0, "no error is thrown");
	ok(std::isnan(moved.pop<double>()), "a pop of an empty tape is not a number");
	is_int(thrown([&] { moved.check(); }), ENODATA, "the error is thrown when it is asked for");
}

void test_checked()
{
	reel::tape tape(nullptr, REEL_CHECKED);
	std::string what, place = "tests/omp/t-owners.cc:";
	int line = __LINE__;

	tape.push(1.5);
	(void)tape.pop<int>();
	is_int(thrown([&] { tape.check(); }, &what), EBADMSG, "a pop of another type");
	ok(what.find("pop of int (4 bytes) at ") != std::string::npos &&
		   what.find(place + std::to_string(line + 3)) != std::string::npos &&
		   what.find("push of double (8 bytes) at ") != std::string::npos &&
		   what.find(place + std::to_string(line + 2)) != std::string::npos,
	   "the error's text names types and places: %s", what.c_str());
	ok(reported.size() && what.find(reported) == 0, "the error's text is that of the report");
}

void test_pools()
{
	reel_pool_options options = reel_pool_options();

	options.hard_budget = 1 << 20;
	options.slab_bytes = 64 << 10;
	reel::pool pool(options);
	reel::tape tape(pool);

	for (int i = 0; i < 1 << 18; i++)
		tape.push(1.0 * i);
	is_int(thrown([&] { tape.check(); }), EDQUOT, "a budget that is used up");
	options.slab_bytes = 7;
	is_int(thrown([&] { reel::pool none(options); }), EINVAL, "an option that makes no sense");
	is_int(thrown([] { reel::tape none(nullptr, 1u << 20); }), EINVAL, "an unknown flag");
}

constexpr int N = 1000;

/* Records x = a sin x for each i on a root, and returns dx/da. */
double gradient(const reel::root &root, reel_chunking chunking)
{
	std::vector<double> x(N), a(N, 0.5), a_bar(N);
	double difference = 0;

	for (int i = 0; i < N; i++)
		x[i] = 1 + 0.001 * i;
	reel::parallel_for(root, N, chunking, [&](reel::lane lane, int i) {
		lane.push(x[i]);
		x[i] = a[i] * std::sin(x[i]);
	});
	reel::parallel_for_reverse(root, N, chunking, [&](reel::lane &lane, int i) {
		a_bar[i] += std::sin(lane.pop<double>());
	});
	for (int i = 0; i < N; i++)
		difference += std::fabs(a_bar[i] - std::sin(1 + 0.001 * i));
	return difference;
}

void test_loops()
{
	reel::root root;
	std::vector<int> calls(N);
	bool is_caught = false;

	ok(gradient(root, reel_dynamic(16)) == 0 && gradient(root, reel_static(0)) == 0,
	   "a loop and its reverse");
	ok(reel_lane_is_empty(root) && thrown([&] { root.check(); }) == 0, "nothing is left");

	reel::root moved(std::move(root));
	try {
		reel::parallel_for(moved, N, reel_dynamic(1), [&](reel::lane, int i) {
			if (i == 500)
				throw std::runtime_error("in the middle");
			calls[i]++;
		});
	} catch (const std::runtime_error &) {
		is_caught = true;
	}
	ok(is_caught, "an exception leaves the loop of a team");
	is_int(moved.error(), -EINVAL, "the loop was left in the middle");
	is_int(std::count(calls.begin(), calls.begin() + 500, 1), 500,
	       "iterations before the exception were run once");
	is_int(thrown([&] { gradient(moved, reel_static(0)); }), EINVAL, "the error sticks");
}

int advance(void *, void *state, int64_t first, int64_t last)
{
	double *x = static_cast<double *>(state);

	for (; first < last; first++)
		*x = std::sin(*x);
	return 0;
}

int record(void *context, void *state, int64_t first, int64_t last, reel_tape *tape)
{
	for (; first < last; first++) {
		reel_push(tape, *static_cast<double *>(state));
		advance(context, state, first, first + 1);
	}
	return 0;
}

/* Fails with 7 at the step of the context. */
int reverse(void *context, void *adjoint, int64_t first, int64_t last, reel_tape *tape)
{
	for (; last-- > first;) {
		*static_cast<double *>(adjoint) *= std::cos(reel_pop(tape, double));
		if (last == *static_cast<int *>(context))
			return 7;
	}
	return 0;
}

void test_runs()
{
	reel_problem problem = reel_problem();
	reel_model model = reel_model();
	int stop = -1;
	double x = 1, bar = 1, right = 1;

	problem.steps = 20;
	problem.tiers = 1;
	problem.tier[0].slots = 3;
	model.state_bytes = sizeof x;
	model.advance = advance;
	model.record = record;
	model.reverse = reverse;
	reel::plan plan(REEL_BINOMIAL, problem);
	reel::run run(plan, model);
	for (double y = 1, i = 0; i < 20; i++) {
		right *= std::cos(y);
		y = std::sin(y);
	}
	is_int(run.forward(&stop, &x), 0, "a forward sweep");
	is_int(run.reverse(&stop, &x, &bar), 0, "a reverse sweep");
	ok(std::fabs(bar - right) < 1e-14 * std::fabs(right),
	   "the gradient of the sweeps is right");
	is_int(thrown([&] { run.reverse(&stop, &x, &bar); }), EINVAL,
	       "a sweep that has no forward");
	stop = 5;
	run.forward(&stop, &x);
	is_int(run.reverse(&stop, &x, &bar), 7, "what a callback returns above 0");
	is_int(thrown([&] { run.resume(nullptr, nullptr); }), EINVAL,
	       "a run without a restart file");
	problem.steps = -7;
	is_int(thrown([&] { reel::plan none(REEL_BINOMIAL, problem); }), EINVAL,
	       "a plan of no steps");
}

void test_parcels()
{
	reel::parcel parcel(nullptr, 3 * sizeof(double));

	static_cast<double *>(parcel.data())[2] = 5;
	parcel.seal();
	ok(!parcel.data(), "a sealed parcel is not written");
	{
		reel::pinned<double> numbers(parcel);

		ok(numbers[2] == 5, "a sealed parcel is read while it is pinned");
		is_int(thrown([&] { parcel.unseal(); }), EBUSY, "a pinned parcel is not opened");
	}
	parcel.unseal();
	ok(static_cast<double *>(parcel.data())[2] == 5, "an unpinned parcel is opened again");
	is_int(thrown([&] { reel::pinned<double> none(parcel); }), EINVAL,
	       "an open one is not pinned");
	is_int(thrown([] { reel::parcel none(nullptr, 0); }), 0, "a parcel of no bytes is one");
	reel::parcel moved(std::move(parcel));
	ok(reel_parcel_bytes(moved) == 24 && !static_cast<reel_parcel *>(parcel),
	   "a parcel is moved");
	ok(moved.data() && !parcel.data(), "its contents are moved with it");
	is_int(thrown([&] { parcel.seal(); }), EINVAL, "what it was moved from is not sealed");
	is_int(thrown([&] { parcel.unseal(); }), EINVAL, "nor unsealed");
	is_int(thrown([&] { parcel.seal_compared(); }), EINVAL, "nor sealed and compared");
	is_int(thrown([&] { reel::pinned<double> none(parcel); }), EINVAL, "nor pinned");
	parcel = std::move(moved);
	ok(parcel.data() && !moved.data(), "an owner is moved back");
	parcel.seal();
}

void test_tapes_in_containers()
{
	std::vector<reel::tape> tapes;
	int wrong = 0;

	for (int i = 0; i < 9; i++) {
		tapes.emplace_back();
		for (int j = 0; j < 100; j++)
			tapes.back().push(4.0 * i + j);
	}
	std::reverse(tapes.begin(), tapes.end());
	std::sort(tapes.begin(), tapes.end(), [](reel::tape &a, reel::tape &b) {
		double top_a = a.pop<double>(), top_b = b.pop<double>();

		a.push(top_a);
		b.push(top_b);
		return top_a < top_b;
	});
	tapes.erase(tapes.begin() + 3);
	std::swap(tapes[0], tapes[1]);
	for (int i = 0; i < 8; i++)
		for (int j = 100; j-- > 0;)
			wrong += tapes[i].pop<double>() != 4.0 * (i < 2 ? 1 - i : i + (i > 2)) + j;
	is_int(wrong, 0, "a vector of tapes is sorted, and one is erased");
	reel::tape &same = tapes[0];
	same.push(2.5);
	tapes[0] = std::move(same);
	ok(tapes[0].pop<double>() == 2.5, "a tape that is moved to itself stays");
	tapes[0].push(1.5);
	tapes[1].push(3.5);
	tapes[0] = std::move(tapes[1]);
	ok(tapes[0].pop<double>() == 3.5 && reel_tape_is_empty(tapes[0]) &&
		   reel_tape_is_empty(tapes[1]),
	   "what a tape had is gone when another one is moved to it");
}

/* The members of an owner that was moved from throw. */
void test_moved_from()
{
	reel_problem problem = reel_problem();
	reel_model model = reel_model();
	reel::root root, other_root(std::move(root));
	double x = 1;

	problem.steps = problem.tiers = problem.tier[0].slots = 1;
	model.state_bytes = sizeof x;
	model.advance = advance;
	model.record = record;
	model.reverse = reverse;
	reel::plan plan(REEL_BINOMIAL, problem), other_plan(std::move(plan));
	reel::run run(other_plan, model), other_run(std::move(run));

	is_int(thrown([&] { root.check(); }), EINVAL, "a root");
	is_int(thrown([&] { reel::lane none(root); }), EINVAL, "a lane of it");
	is_int(thrown([&] { gradient(root, reel_static(0)); }), EINVAL, "a loop in it");
	is_int(thrown([&] {
		       reel::parallel_for_reverse(root, 3, reel_static(0), [](reel::lane, int) {});
	       }),
	       EINVAL, "and back");
	is_int(thrown([&] { reel::run none(plan, model); }), EINVAL, "a plan");
	is_int(thrown([&] { run.forward(nullptr, &x); }), EINVAL, "a run");
	is_int(thrown([&] { run.reverse(nullptr, &x, &x); }), EINVAL, "a run, back");
	is_int(thrown([&] { run.resume(nullptr, &x); }), EINVAL, "a run that goes on");
}

} // namespace

int main()
{
	reel_set_error_handler(keep, nullptr);
	tap_begin();
	test_values();
	test_checked();
	test_pools();
	test_loops();
	test_runs();
	test_parcels();
	test_tapes_in_containers();
	test_moved_from();
	return tap_end();
}
