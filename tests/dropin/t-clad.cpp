/* SPDX-License-Identifier: MIT */
/*
 * Gradients in the very forms that Clad emits, on clad::custom_tape, which is force-included.
 * The subject `forms` has all that a program may do. t-clad.sh runs each other subject in the
 * environment that it needs.
 */
#include <config.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include <reel/plan.h>

#include "tap/tap.h"
}

namespace clad {
/* Clad prints this name where its own tape is used, with the parameters of its own tape. */
template <class T, std::size_t SBO_SIZE = 64, std::size_t SLAB_SIZE = 1024,
	  bool is_multithread = false, bool DiskOffload = false, bool GpuOffload = false>
using tape = custom_tape<T, SBO_SIZE, SLAB_SIZE, is_multithread, DiskOffload, GpuOffload>;
} // namespace clad

namespace {

/* ---- Loops ---- */

void product_gradient(double *x, std::size_t n, double *_d_x)
{
	std::size_t _d_i = 0;
	std::size_t i = 0;
	clad::tape<double> _t1 = {};
	double _d_p = 0.;
	double p = 1;
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		clad::push(_t1, p);
		p *= x[i];
	}
	_d_p += 1;
	for (; _t0; _t0--) {
		--i;
		p = clad::pop(_t1);
		double _r_d0 = _d_p;
		_d_p = 0.;
		_d_p += _r_d0 * x[i];
		_d_x[i] += p * _r_d0;
	}
	(void)_d_i;
}

/* All values are powers of two, so that any order of the factors gives the same bits. */
bool product_is_right(std::size_t n)
{
	std::vector<double> x(n), d(n);
	double product = 1;

	for (std::size_t i = 0; i < n; i++)
		product *= x[i] = i % 2 ? 2.0 : i % 4 ? 0.5 : 1.0;
	product_gradient(x.data(), n, d.data());
	for (std::size_t i = 0; i < n; i++)
		if (d[i] != product / x[i])
			return false;
	return true;
}

void loops_are_reversed()
{
	for (std::size_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 100000, 1000000})
		ok(product_is_right(n), "the gradient of a product of %zu", n);
}

/* f = sum over i, j <= i of x[i] x[j]. The count of each inner loop is on a tape. */
void nested_gradient(double *x, int n, double *_d_x)
{
	double _d_s = 0, s = 0;
	int i = 0, j = 0;
	clad::tape<unsigned long> _t1 = {};
	clad::tape<int> _t2 = {};
	clad::tape<double> _t3 = {};
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		clad::push(_t1, 0);
		for (clad::push(_t2, j), j = 0; j <= i; ++j) {
			clad::back(_t1)++;
			clad::push(_t3, s);
			s += x[i] * x[j];
		}
	}
	_d_s += 1;
	for (; _t0; _t0--) {
		--i;
		{
			for (; clad::back(_t1); clad::back(_t1)--) {
				--j;
				{
					s = clad::pop(_t3);
					double _r_d0 = _d_s;
					_d_x[i] += _r_d0 * x[j];
					_d_x[j] += x[i] * _r_d0;
				}
			}
			{
				j = clad::pop(_t2);
			}
			clad::pop(_t1);
		}
	}
	ok(s == 0 && j == 0, "nested loops come back to where they began");
}

void nested_loops_are_reversed()
{
	const int n = 300;
	std::vector<double> x(n), d(n);
	double sum = 0;
	unsigned wrong = 0;

	for (int i = 0; i < n; i++)
		sum += x[i] = i % 8;
	nested_gradient(x.data(), n, d.data());
	for (int i = 0; i < n; i++)
		wrong += d[i] != sum + x[i];
	is_int(wrong, 0, "the gradient is exact");
}

/* Branches, continue and break: case numbers and conditions on tapes. */
double branchy(const double *x, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++) {
		if (x[i] < 0)
			continue;
		if (x[i] > 100)
			break;
		s = s > 50 ? s * 0.5 : s + x[i];
	}
	return s;
}

void branchy_gradient(const double *x, int n, double *_d_x)
{
	double _d_s = 0, s = 0;
	int i = 0;
	clad::tape<bool> _cond0 = {};
	clad::tape<bool> _cond1 = {};
	clad::tape<unsigned long> _t2 = {};
	clad::tape<double> _t3 = {};
	clad::tape<bool> _cond2 = {};
	unsigned long _t0 = 0UL;
	for (i = 0; i < n; ++i) {
		_t0++;
		{
			clad::push(_cond0, x[i] < 0);
			if (clad::back(_cond0)) {
				clad::push(_t2, 1UL);
				continue;
			}
		}
		{
			clad::push(_cond1, x[i] > 100);
			if (clad::back(_cond1)) {
				clad::push(_t2, 2UL);
				break;
			}
		}
		clad::push(_cond2, s > 50);
		clad::push(_t3, s);
		if (clad::back(_cond2))
			s = s * 0.5;
		else
			s = s + x[i];
		clad::push(_t2, 3UL);
	}
	_d_s += 1;
	i -= i == n;
	for (; _t0; _t0--, --i)
		switch (clad::pop(_t2)) {
		case 3UL:;
			s = clad::pop(_t3);
			if (clad::back(_cond2)) {
				_d_s *= 0.5;
			} else {
				_d_x[i] += _d_s;
			}
			clad::pop(_cond2);
			/* fall through */
		case 2UL:;
			clad::pop(_cond1);
			/* fall through */
		case 1UL:;
			clad::pop(_cond0);
		}
	ok(_cond0.empty() && _cond1.empty() && _cond2.empty() && _t2.empty() && s == 0,
	   "every branch comes back");
}

void branches_are_reversed()
{
	const int n = 20000;
	std::vector<double> x(n), d(n);
	unsigned wrong = 0;

	for (int i = 0; i < n; i++)
		x[i] = i == n - 50 ? 101 : i * 7 % 13 < 3 ? -1.0 : i % 11;
	branchy_gradient(x.data(), n, d.data());
	for (int i = n - 200; i < n; i++) {
		double there = x[i], above, below;

		if (there < 0 || there > 100)
			continue;
		x[i] = there + 1.0 / 1024;
		above = branchy(x.data(), n);
		x[i] = there;
		below = branchy(x.data(), n);
		wrong += (above - below) * 1024 != d[i];
	}
	is_int(wrong, 0, "the gradient over branches is that of differences");
}

/* ---- Expressions ---- */

void calls_stand_anywhere()
{
	double v[2] = {3, 4}, x = 5;
	clad::tape<double> _t4 = {}, _t5 = {};
	clad::tape<unsigned long> _t6 = {};
	clad::tape<float> _t7 = {};
	int i;

	clad::push(_t5, x);
	is_double(clad::back(_t5) * clad::push(_t4, v[0]), 15, "a push is an operand");
	clad::push(_t4, v[1]) = 7;
	is_double(clad::back(_t4), 7, "a push is the new top");
	for (i = 0; i < 1000; clad::push(_t6, i), i++)
		;
	is_int(clad::pop(_t6) + clad::pop(_t6), 999 + 998, "a push is the step of a loop");
	is_double((clad::push(_t7, 1), clad::push(_t7, 0.5), clad::pop(_t7) + clad::back(_t7)), 1.5,
		  "an int and a double become floats");
	is_int(_t6.size(), 998, "a tape knows its size");
}

void twice(double &x)
{
	clad::tape<double> deeper = {};

	for (int i = 0; i < 100000; i++)
		clad::push(deeper, i);
	x *= 2;
}

void tops_stay_where_they_are()
{
	clad::tape<double> a = {};
	clad::tape<bool> b = {};
	double *top;

	for (int i = 0; i < 100; i++)
		clad::push(a, i);
	top = &clad::back(a);
	twice(clad::back(a));
	clad::push(b, false);
	clad::back(b) = true;
	is_pointer(&clad::back(a), top, "a top stays in place while others grow");
	is_double(clad::pop(a), 198, "a top is changed by the function that it is passed to");
	ok(clad::pop(b), "a top of a tape of bools is changed by that function");
}

/* ---- Types ---- */

/* Counts its objects that are alive, and throws after a number of steps. */
struct counted {
	static int alive;
	static int until_throw;

	static void step()
	{
		if (until_throw > 0 && --until_throw == 0)
			throw 42;
	}

	counted(int n = 0) : self(this), number(n)
	{
		step();
		alive++;
	}

	counted(const counted &from) : self(this), number(from.number)
	{
		step();
		alive++;
	}

	counted &operator=(const counted &) = default;

	~counted()
	{
		alive -= self == this ? 1 : 1000000;
	}

	counted *self;
	int number;
};

int counted::alive;
int counted::until_throw;

struct plain {
	double value;
	const double *adjoint;
	char letter;
};

struct alignas(32) wide {
	double x[3];
};

struct alignas(64) wider {
	char x[65];
};

struct alignas(256) widest {
	double x;
};

template <class Pointer, class Adjoint> struct value_and_adjoint {
	Pointer value;
	Adjoint adjoint;
};

template <class T, class Make> bool all_come_back(int n, Make make)
{
	clad::tape<T> _t = {};

	for (int sweep = 0; sweep < 2; sweep++) {
		for (int i = 0; i < n; i++)
			clad::push(_t, make(i));
		for (int i = n; i-- > 0;) {
			if (reinterpret_cast<std::uintptr_t>(&clad::back(_t)) % alignof(T) ||
			    !(clad::back(_t) == make(i)))
				return false;
			if (!(clad::pop(_t) == make(i)))
				return false;
		}
		if (!_t.empty())
			return false;
	}
	return true;
}

bool operator==(const plain &a, const plain &b)
{
	return a.value == b.value && a.adjoint == b.adjoint && a.letter == b.letter;
}

bool operator==(const wide &a, const wide &b)
{
	return a.x[0] == b.x[0] && a.x[2] == b.x[2];
}

bool operator==(const wider &a, const wider &b)
{
	return !std::memcmp(a.x, b.x, sizeof a.x);
}

bool operator==(const widest &a, const widest &b)
{
	return a.x == b.x;
}

bool operator==(const value_and_adjoint<double *, double *> &a,
		const value_and_adjoint<double *, double *> &b)
{
	return a.value == b.value && a.adjoint == b.adjoint;
}

bool operator==(const counted &a, const counted &b)
{
	return a.self == &a && b.self == &b && a.number == b.number;
}

void types_come_back()
{
	static double numbers[20000];
	std::vector<int> whole(20000);
	const int n = 20000;

	ok(all_come_back<double>(n, [](int i) { return i * 0.1; }), "double");
	ok(all_come_back<float>(n, [](int i) { return float(i); }), "float");
	ok(all_come_back<int>(n, [](int i) { return -i; }), "int");
	ok(all_come_back<char>(n, [](int i) { return char(i % 100); }), "char");
	ok(all_come_back<bool>(n, [](int i) { return i * i % 7 < 3; }), "bool");
	ok(all_come_back<unsigned long>(n, [](int i) { return ~0ul - i; }), "unsigned long");
	ok(all_come_back<long double>(n, [](int i) { return i / 3.0L; }), "long double");
	ok(all_come_back<double *>(n, [](int i) { return numbers + i; }), "a pointer");
	ok(all_come_back<const double *>(n, [](int i) { return numbers + i; }),
	   "a pointer to const");
	ok(all_come_back<plain>(n, [](int i) { return plain{i * 0.5, numbers, char(i % 9)}; }),
	   "a record");
	ok(all_come_back<wide>(n, [](int i) { return wide{{double(i), 0, 1}}; }),
	   "a record aligned to 32 bytes");
	ok(all_come_back<wider>(n, [](int i) { return wider{{char(i % 99), 'x'}}; }),
	   "a record aligned to 64 bytes");
	ok(all_come_back<widest>(n, [](int i) { return widest{double(i)}; }),
	   "a record aligned to 256 bytes");
	ok((all_come_back<value_and_adjoint<double *, double *>>(
		   n,
		   [](int i) {
			   return value_and_adjoint<double *, double *>{numbers + i, numbers};
		   })),
	   "a value and its adjoint");
	ok(all_come_back<std::string>(
		   n, [](int i) { return std::string(std::size_t(i % 50), char('a' + i % 26)); }),
	   "std::string");
	ok(all_come_back<std::vector<double>>(
		   n, [](int i) { return std::vector<double>(std::size_t(i % 5), i); }),
	   "std::vector");
	ok(all_come_back<std::vector<int>::iterator>(
		   n, [&](int i) { return whole.begin() + i; }),
	   "an iterator");
	ok((all_come_back<std::pair<int, double>>(
		   n, [](int i) { return std::make_pair(i, i * 0.5); })),
	   "std::pair");
	ok(all_come_back<counted>(n, [](int i) { return counted(i); }), "a class");
	is_int(counted::alive, 0, "as many are destroyed as were made");
}

void objects_are_moved_and_dropped()
{
	std::vector<double> x(1000, 1.5);
	const double *data = x.data();

	{
		clad::tape<std::vector<double>> _t = {};
		clad::tape<std::unique_ptr<int>> owners = {};
		clad::tape<counted> left = {};

		clad::push(_t, x);
		clad::push(_t, std::move(x));
		is_pointer(clad::back(_t).data(), data, "a vector is moved onto the tape");
		x = clad::pop(_t);
		is_pointer(x.data(), data, "a vector is moved back from the tape");
		clad::back(_t)[7] = 2;
		is_double(clad::pop(_t)[7], 2, "a copy can be changed");
		clad::push(owners, new int(5));
		clad::push(owners, std::unique_ptr<int>(new int(6)));
		is_int(*clad::pop(owners), 6, "what cannot be copied is moved");
		for (int i = 0; i < 1000; i++)
			clad::push(left, i);
		clad::push(_t, 3, 0.5);
		clad::push(_t);
		is_int(clad::pop(_t).size(), 0, "a push without an argument makes T()");
		is_int(clad::pop(_t).size(), 3, "two arguments go to the constructor");
	}
	is_int(counted::alive, 0, "what is left on a tape is destroyed with it");
}

/* ---- Arrays ---- */

template <class T> void restore(T &from, T &to)
{
	for (std::size_t i = 0; i < sizeof to / sizeof *to; i++)
		to[i] = std::move(from[i]);
}

void arrays_come_back()
{
	clad::tape<double[3]> _t0 = {};
	clad::tape<double[2][3]> _t1 = {};
	clad::tape<std::string[2]> _t2 = {};
	clad::tape<bool[5]> _t3 = {};
	float single[3] = {1, 2, 3};
	double a[3], deep[2][3] = {{1, 2, 3}, {4, 5, 6}};
	std::string words[2];
	bool bits[5] = {};
	unsigned wrong = 0;

	for (int i = 0; i < 10000; i++) {
		for (int j = 0; j < 3; j++)
			a[j] = i + j;
		clad::push(_t0, a);
		deep[1][2] = i;
		clad::push(_t1, deep);
		words[1] = std::to_string(i) + " is longer than what a string has inside";
		clad::push(_t2, words);
		bits[4] = i % 3 == 0;
		clad::push(_t3, bits);
	}
	for (int i = 10000; i-- > 0;) {
		restore(clad::back(_t0), a);
		clad::pop(_t0);
		restore(clad::back(_t2), words);
		clad::pop(_t2);
		wrong += a[0] != i || a[2] != i + 2 || clad::back(_t1)[1][2] != i ||
			 clad::back(_t1)[0][1] != 2 || clad::back(_t3)[4] != (i % 3 == 0) ||
			 words[1].compare(0, std::to_string(i).size(), std::to_string(i));
		clad::pop(_t1);
		clad::pop(_t3);
	}
	is_int(wrong, 0, "arrays, of arrays, of strings and of bools come back");
	clad::push(_t0, single);
	ok(clad::back(_t0)[2] == 3, "floats are pushed as doubles");
	clad::push(_t0, std::vector<int>{7, 8});
	ok(clad::back(_t0)[1] == 8 && clad::back(_t0)[2] == 0,
	   "a vector of ints is pushed as doubles");
}

/* Larger than any slab. */
void large_arrays_come_back()
{
	using large = double[400000];
	clad::tape<large> _t = {};
	std::unique_ptr<large[]> x(new large[1]);
	unsigned wrong = 0;

	for (int i = 0; i < 3; i++) {
		x[0][399999] = i;
		clad::push(_t, x[0]);
	}
	for (int i = 3; i-- > 0; clad::pop(_t))
		wrong += clad::back(_t)[399999] != i;
	is_int(wrong, 0, "an array that is larger than a slab comes back");
}

/* ---- Life ---- */

struct payload {
	clad::tape<double> values;
	clad::tape<std::string> names;
};

template <class T> T one_of(int i)
{
	return T(i % 2);
}

template <> std::string one_of(int i)
{
	return std::to_string(i);
}

template <class T> void destroy(T *one)
{
	one->~T();
}

/* A copy of a static tape that no constructor has seen, as OpenMP makes it. */
template <class T> bool zeros_are_a_tape()
{
	struct deleter {
		void operator()(clad::tape<T> *tape)
		{
			destroy(tape);
			std::free(tape);
		}
	};
	std::unique_ptr<clad::tape<T>, deleter> _t(
		static_cast<clad::tape<T> *>(std::calloc(1, sizeof(clad::tape<T>))));

	if (!_t->empty())
		return false;
	for (int i = 0; i < 5000; i++)
		clad::push(*_t, one_of<T>(i));
	for (int i = 5000; i-- > 2500;)
		if (!(clad::pop(*_t) == one_of<T>(i)))
			return false;
	return _t->size() == 2500;
}

void tapes_begin_and_end()
{
	static_assert(sizeof(clad::tape<double>) <= 592 && sizeof(clad::tape<int>) <= 336 &&
			      sizeof(clad::tape<bool>) <= 144,
		      "a tape is smaller than Clad's own");
	payload *state = new payload;

	{
		clad::tape<double> left = {};

		clad::push(left, 1);
		clad::push(left, 2);
		is_int(left.size(), 2, "two values are left on a tape");
	}
	clad::push(state->values, 3);
	is_int(state->values.size(), 1, "the values left on one tape are not on the next one");
	clad::pop(state->values);
	ok(zeros_are_a_tape<double>() && zeros_are_a_tape<bool>() && zeros_are_a_tape<std::string>(),
	   "all zero is an empty tape");
	for (int i = 0; i < 100000; i++) {
		clad::push(state->values, i);
		clad::push(state->names, std::to_string(i));
	}
	is_double(clad::pop(state->values), 99999, "a tape is a member of a struct");
	is_string(clad::pop(state->names).c_str(), "99999",
		  "a tape of strings is a member of a struct");
	delete state;
}

/* Moves up and down around the ends of slabs, blocks and words, beside a std::vector. */
template <class T> void walk_is_right(const char *what)
{
	clad::tape<T> _t = {};
	std::vector<T> model;
	std::uint64_t random = 1;
	unsigned wrong = 0;

	for (int i = 0; i < 200000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		if (random >> 62 > (i / 4000 % 2 ? 1u : 0u)) {
			model.push_back(one_of<T>(int(random >> 33 & 0xff)));
			clad::push(_t, one_of<T>(int(random >> 33 & 0xff)));
		} else if (!model.empty()) {
			wrong += !(clad::back(_t) == model.back());
			wrong += !(clad::pop(_t) == model.back());
			model.pop_back();
		}
		wrong += _t.empty() != model.empty();
		if (i % 1000 == 0)
			wrong += _t.size() != model.size();
	}
	is_int(wrong, 0, "a random walk up and down a tape of %s", what);
}

/* ---- Faults ---- */

template <class Call> bool throws(int wanted, Call call)
{
	try {
		call();
	} catch (const reel::tape_fault &fault) {
		return fault.error() == wanted && *fault.what();
	} catch (const std::bad_alloc &) {
		return wanted == -ENOMEM;
	} catch (int number) {
		return wanted == number;
	}
	return false;
}

void empty_tapes_throw()
{
	clad::tape<double> values = {};
	clad::tape<bool> bits = {};
	clad::tape<std::string> objects = {};

	reel_set_error_handler([](const reel_tape *, int, const char *, void *) {}, nullptr);
	clad::push(bits, true);
	clad::push(objects, "x");
	clad::pop(bits);
	clad::pop(objects);
	ok(throws(-ENODATA, [&] { clad::back(values); }), "the top of an empty tape is a fault");
	ok(throws(-ENODATA, [&] { clad::pop(values); }), "a pop of an empty tape is a fault");
	ok(throws(-ENODATA, [&] { clad::back(bits); }),
	   "the top of an empty tape of bools is a fault");
	ok(throws(-ENODATA, [&] { clad::pop(bits); }),
	   "a pop of an empty tape of bools is a fault");
	ok(throws(-ENODATA, [&] { clad::back(objects); }),
	   "the top of an empty tape of objects is a fault");
	ok(throws(-ENODATA, [&] { clad::pop(objects); }),
	   "a pop of an empty tape of objects is a fault");
	clad::push(bits, true);
	ok(clad::pop(bits) && bits.empty(), "a tape of bools goes on");
	reel_set_error_handler(nullptr, nullptr);
}

/* Each step of an element throws once, at any height of the tape. */
void throwing_elements_are_not_pushed()
{
	unsigned wrong = 0;

	for (int height = 0; height < 200; height++)
		for (int step = 1; step <= 3; step++) {
			clad::tape<counted> _t = {};
			int there;

			for (int i = 0; i < height; i++)
				clad::push(_t, i);
			counted one(7);
			there = counted::alive;
			counted::until_throw = step;
			wrong += !throws(step <= 2 ? 42 : 0, [&] {
				clad::push(_t, one);
				throw 0;
			});
			counted::until_throw = 0;
			wrong += counted::alive != there + (step == 3);
			wrong += int(_t.size()) != height + (step == 3);
			if (height) {
				counted::until_throw = 1;
				wrong += !throws(42, [&] { clad::pop(_t); });
				wrong += int(_t.size()) != height + (step == 3);
			}
			counted::until_throw = 0;
			for (int i = int(_t.size()); i-- > 0;)
				wrong += clad::pop(_t).number != (i == height ? 7 : i);
		}
	is_int(wrong, 0, "an element that throws when it is copied is not pushed, nor popped");
	is_int(counted::alive, 0, "no element is lost");
}

void throwing_arrays_are_not_pushed()
{
	unsigned wrong = 0;
	clad::tape<counted[4]> _t = {};
	counted source[4];

	for (int height = 0; height < 50; height++) {
		int there = counted::alive;

		counted::until_throw = 1 + height % 4;
		wrong += !throws(42, [&] { clad::push(_t, source); });
		counted::until_throw = 0;
		wrong += counted::alive != there || int(_t.size()) != height;
		clad::push(_t, source);
	}
	is_int(wrong, 0, "nothing is left of an array that throws");
}

struct from_int {
	from_int(int n) : number(n)
	{
		if (n == 13)
			throw 42;
	}

	int number;
	char more[60];
};

void throwing_values_are_not_pushed()
{
	unsigned wrong = 0;
	clad::tape<from_int> _t = {};
	clad::tape<from_int[2]> pairs = {};
	const int bad[2] = {1, 13}, good[2] = {1, 2};

	for (int i = 0; i < 5000; i++) {
		wrong += !throws(42, [&] { clad::push(_t, 13); });
		wrong += !throws(42, [&] { clad::push(pairs, bad); });
		clad::push(_t, i + 100);
		clad::push(pairs, good);
	}
	for (int i = 5000; i-- > 0;) {
		wrong += clad::pop(_t).number != i + 100;
		wrong += clad::back(pairs)[1].number != 2;
		clad::pop(pairs);
	}
	is_int(wrong, 0, "a value that throws when it is made is not pushed");
	ok(_t.empty() && pairs.empty(), "all other values come back");
}

/* ---- Parameters and positions ---- */

template <class Tape> bool deduces()
{
	Tape _t = {};

	for (int i = 0; i < 100; i++)
		clad::push(_t, i);
	clad::push(_t, clad::back(_t));
	return clad::pop(_t) == 99 && clad::pop(_t) == 99 && _t[98] == 98 && _t.size() == 99;
}

template <class Tape> bool deduces_arrays()
{
	const double pair[2] = {1, 2};
	Tape _t = {};

	clad::push(_t, pair);
	clad::push(_t, pair);
	clad::pop(_t);
	return _t[0][1] == 2 && _t.size() == 1;
}

void parameters_are_taken()
{
	static_assert(sizeof(clad::tape<double>) == sizeof(clad::tape<double, 16, 2048>),
		      "the sizes of Clad's own tape cost nothing");
	ok((deduces<clad::custom_tape<double, 32>>() &&
	    deduces<clad::custom_tape<int, 64, 1024>>() &&
	    deduces<clad::custom_tape<double, 64, 1024, false, true>>() &&
	    deduces<clad::custom_tape<double, 64, 1024, false, true, true>>() &&
	    deduces<clad::tape<float, 0, 1, false, false, true>>()),
	   "sizes and places of Clad's own tape can be named");
	ok((deduces_arrays<clad::custom_tape<double[2], 8, 8, false, true>>() &&
	    deduces_arrays<clad::custom_tape<float[2], 64, 1024>>()),
	   "sizes and places can be named for arrays");
}

/* Number n of a sequence in which neighbours differ. */
template <class T> T number(unsigned n)
{
	return T(n);
}
template <> bool number(unsigned n)
{
	return n * 2654435761u >> 31;
}
template <> std::string number(unsigned n)
{
	return std::to_string(n);
}
template <> wide number(unsigned n)
{
	return {{double(n), 0, 0}};
}

template <class Tape, class T> unsigned wrong_at(Tape &_t, const std::vector<T> &model, unsigned n)
{
	const std::size_t i = n * std::size_t(2654435761u) % model.size();
	const Tape &fixed = _t;

	return !(_t[i] == model[i]) + !(fixed[i] == model[i]);
}

/* Moves up and down by more than slabs and blocks hold, with other values each time. */
template <class T> void positions_are_found(const char *what)
{
	clad::tape<T> _t = {};
	std::vector<T> model;
	unsigned wrong = 0, n = 0;

	for (unsigned top : {90000u, 10u, 50000u, 200u, 70000u}) {
		while (model.size() < top) {
			model.push_back(number<T>(n++));
			clad::push(_t, T(model.back()));
			if (n % 3 == 0)
				wrong += wrong_at(_t, model, n);
		}
		while (model.size() > top) {
			wrong += !(clad::pop(_t) == model.back());
			model.pop_back();
			if (n++ % 3 == 0)
				wrong += wrong_at(_t, model, n);
		}
	}
	is_int(wrong, 0, "each position of a tape of %s is found", what);
}

void values_are_changed_in_place()
{
	clad::tape<double> _t = {};
	clad::tape<std::string> names = {};
	clad::tape<int[2]> pairs = {};
	const int pair[2] = {1, 2};
	unsigned wrong = 0;
	double sum = 0;

	for (int i = 0; i < 100000; i++) {
		clad::push(_t, i);
		clad::push(names, std::to_string(i));
		clad::push(pairs, pair);
	}
	for (std::size_t i = 0; i < _t.size(); i++)
		_t[i] *= 2;
	for (int i = 0; i < 100000; i += 3) {
		_t[std::size_t(i)] += _t[0] + 1;
		names[std::size_t(i)] += "x";
		pairs[std::size_t(i)][1] = i;
	}
	for (std::size_t i = 0; i < _t.size(); i++)
		sum += _t[i];
	is_double(sum, 99999.0 * 100000 + 66667, "all that was added stands on the tape");
	is_int(names[0].size(), 2, "a member of a value is reached");
	for (int i = 100000; i-- > 0;) {
		wrong += clad::pop(_t) != 2 * i + (i % 3 == 0) + (i % 3 == 0 && i > 0);
		wrong += clad::pop(names) != std::to_string(i) + (i % 3 ? "" : "x");
		wrong += clad::back(pairs)[1] != (i % 3 ? 2 : i);
		clad::pop(pairs);
	}
	is_int(wrong, 0, "what was changed below the top is popped");
}

template <class T> bool has_no_position_above()
{
	clad::tape<T> _t = {};
	bool right = throws(-ERANGE, [&] { (void)_t[0]; });

	for (unsigned i = 0; i < 20000; i++)
		clad::push(_t, number<T>(i));
	right = right && throws(-ERANGE, [&] { (void)_t[20000]; }) &&
		throws(-ERANGE, [&] { (void)_t[SIZE_MAX / 8 + 2]; }) && _t[100] == number<T>(100);
	for (unsigned i = 0; i < 19950; i++)
		clad::pop(_t);
	return right && throws(-ERANGE, [&] { (void)_t[100]; }) &&
	       throws(-ERANGE, [&] { (void)_t[50]; }) && _t[49] == number<T>(49);
}

/* The next tape takes up the memory of the tape that ended, in which a value was found. */
template <class T> bool has_no_position_of_the_last_one()
{
	{
		clad::tape<T> last = {};

		for (unsigned i = 0; i < 20000; i++)
			clad::push(last, number<T>(i));
		if (last[100] != number<T>(100))
			return false;
	}
	clad::tape<T> _t = {};

	clad::push(_t, number<T>(7));
	return throws(-ERANGE, [&] { (void)_t[100]; }) && _t[0] == number<T>(7);
}

void positions()
{
	positions_are_found<double>("doubles");
	positions_are_found<wide>("aligned records");
	positions_are_found<bool>("bools");
	positions_are_found<std::string>("strings");
	values_are_changed_in_place();
	ok(has_no_position_of_the_last_one<double>(), "a tape begins without positions");
	ok(has_no_position_above<double>() && has_no_position_above<bool>() &&
		   has_no_position_above<std::string>(),
	   "a position above the top is a fault");
}

void forms()
{
	loops_are_reversed();
	nested_loops_are_reversed();
	branches_are_reversed();
	calls_stand_anywhere();
	tops_stay_where_they_are();
	types_come_back();
	objects_are_moved_and_dropped();
	arrays_come_back();
	large_arrays_come_back();
	tapes_begin_and_end();
	walk_is_right<double>("doubles");
	walk_is_right<bool>("bools");
	walk_is_right<std::string>("strings");
	empty_tapes_throw();
	throwing_elements_are_not_pushed();
	throwing_arrays_are_not_pushed();
	throwing_values_are_not_pushed();
	parameters_are_taken();
	positions();
}

/* ---- Under a budget of 8 MiB without a store ---- */

template <class T> void budget_is_kept(const char *what)
{
	clad::tape<T> _t = {};
	std::size_t pushed = 0;
	unsigned wrong = 0;

	try {
		for (; pushed < 100000000; pushed++)
			clad::push(_t, one_of<T>(int(pushed)));
	} catch (const std::bad_alloc &) {
	}
	ok(pushed > 500000 && pushed < 100000000, "a tape of %s is refused more: %zu", what, pushed);
	is_int(_t.size(), pushed, "all that was pushed before the refusal is there");
	wrong += !throws(-ENOMEM, [&] {
		for (int i = 0; i < 64; i++)
			clad::push(_t, one_of<T>(int(pushed++)));
	});
	while (_t.size() > 1000)
		wrong += !(clad::pop(_t) == one_of<T>(int(_t.size())));
	for (int i = 1000; i < 2000; i++)
		clad::push(_t, one_of<T>(i));
	for (int i = 2000; i-- > 0;)
		wrong += !(clad::pop(_t) == one_of<T>(i));
	is_int(wrong, 0, "all comes back, and the tape takes pushes again where there is room");
}

void first_push_may_be_refused()
{
	using large = double[2000000];
	static large x;
	clad::tape<large> _t = {};

	ok(throws(-ENOMEM, [&] { clad::push(_t, x); }) && _t.empty(),
	   "the first push is refused, too");
}

void budget()
{
	reel_set_error_handler([](const reel_tape *, int, const char *, void *) {}, nullptr);
	budget_is_kept<double>("doubles");
	budget_is_kept<bool>("bools");
	first_push_may_be_refused();
}

/* ---- With a store, under a budget that a tape exceeds several times ---- */

/* True if a slab ends above `count` values: 16 are in the tape, then come 4 slabs of 8192 each. */
bool at_end_of_slab(std::uint64_t count)
{
	const std::uint64_t first = 16 + 4 * 8192;

	return count > first && (count - first) % 262144 == 0;
}

/* Changes the top, covers it with more than the budget has room for, and reads it again. */
std::uint64_t change_and_cover(clad::tape<unsigned long> &_t, std::uint64_t i)
{
	const unsigned long more = 3200000;
	std::uint64_t wrong = clad::back(_t) != i;

	clad::back(_t) += 1000;
	for (unsigned long j = 0; j < more; j++)
		clad::push(_t, j);
	for (unsigned long j = more; j-- > 0;)
		wrong += clad::pop(_t) != j;
	return wrong + (clad::back(_t) != i + 1000);
}

/*
 * A value that back() changes comes back changed, also if the store has a copy of the old one: then
 * its slab has been read back, and is covered at once, without a push on it.
 */
void spilled_tops_can_be_changed()
{
	const std::uint64_t n = 6000000;
	clad::tape<unsigned long> _t = {};
	clad::tape<bool> _cond = {};
	clad::tape<std::string> names = {};
	std::uint64_t wrong = 0, changed = 0, i;

	for (i = 0; i < n; i++) {
		clad::push(_t, i);
		clad::push(_cond, i % 3 == 0);
		if (i % 10000 == 0)
			clad::push(names, std::to_string(i));
	}
	for (; i-- > 0;) {
		if (i < n / 2 && changed < 4 && at_end_of_slab(i + 1)) {
			wrong += change_and_cover(_t, i);
			clad::back(_t) -= 1000;
			changed++;
		}
		wrong += clad::back(_t)++ != i || clad::pop(_t) != i + 1;
		wrong += clad::back(_cond) != (i % 3 == 0);
		clad::pop(_cond);
		if (i % 10000 == 0)
			wrong += clad::pop(names) != std::to_string(i);
	}
	is_int(wrong, 0, "tops of a spilled tape are changed, covered and seen again");
	is_int(changed, 4, "tops are changed where slabs end");
}

/* Each position is right, or refused. */
template <class T> void spilled_positions_are_right_or_refused(std::size_t n)
{
	clad::tape<T> _t = {};
	std::uint64_t refused = 0, wrong = 0;

	for (std::size_t i = 0; i < n; i++)
		clad::push(_t, number<T>(unsigned(i)));
	for (std::size_t i = 0; i < n; i += 63)
		try {
			wrong += _t[i] != number<T>(unsigned(i));
		} catch (const reel::tape_fault &fault) {
			wrong += fault.error() != -EBUSY;
			refused++;
		}
	ok(refused > n / 63 / 2 && refused < n / 63, "what a store has or may take is refused");
	wrong += _t[0] != number<T>(0) || _t[n - 1] != number<T>(unsigned(n - 1));
	for (std::size_t i = n; i-- > 0;) {
		if (i % 1000 == 0)
			try {
				wrong += _t[i / 2] != number<T>(unsigned(i / 2));
			} catch (const reel::tape_fault &) {
			}
		wrong += clad::pop(_t) != number<T>(unsigned(i));
	}
	is_int(wrong, 0, "all else is what was pushed");
}

void spill()
{
	struct reel_pool_stats stats;

	spilled_tops_can_be_changed();
	spilled_positions_are_right_or_refused<double>(6000000);
	ok(product_is_right(3000000), "a spilled gradient is exact");
	reel_pool_get_stats(reel_pool_default(), &stats);
	ok(stats.written_bytes > (16u << 20), "the store was used: %llu bytes",
	   (unsigned long long)stats.written_bytes);
}

} // namespace

int main(int, char **argv)
{
	const std::string subject = argv[1] ? argv[1] : "forms";

	tap_begin();
	if (subject == "budget")
		budget();
	else if (subject == "spill")
		spill();
	else
		forms();
	return tap_end();
}
