/* SPDX-License-Identifier: MIT */
/*
 * A program that declares clad::custom_tape itself, as REEL_CLAD_OWN_HOOK says. The type of a value
 * selects Reel's tape, Clad's own, or a tape of the program. Calls of generated code find each.
 */
#include <type_traits>
#include <vector>

#include "helpers/clad-names.h"

/* Has only the members that Clad requires of a tape. */
template <class T> class vector_tape {
public:
	void emplace_back(T value)
	{
		values_.push_back(value);
	}

	T &back()
	{
		return values_.back();
	}

	void pop_back()
	{
		values_.pop_back();
	}

private:
	std::vector<T> values_;
};

/* The traits that choose a tape: Reel's for each type of values without a specialisation. */
template <class T> struct tape_for {
	using type = clad::tape_of_reel<T>;
};
template <> struct tape_for<bool> {
	using type = clad::tape<bool>;
};
template <> struct tape_for<unsigned long> {
	using type = vector_tape<unsigned long>;
};

namespace clad {
template <class T> using custom_tape = typename tape_for<T>::type;
} // namespace clad

static_assert(std::is_same<clad::custom_tape<double>, clad::tape_of_reel<double>>::value,
	      "the hook leads to Reel's tape");

/* The product of x, in a loop that counts its steps and leaves out negative values. */
static double gradient(const double *x, int n, double *_d_x)
{
	clad::custom_tape<double> _t1 = {};
	clad::custom_tape<double[2]> _t2 = {};
	clad::custom_tape<bool> _cond0 = {};
	clad::custom_tape<unsigned long> _t0 = {};
	double p = 1, _d_p = 1, pair[2] = {0, 0};

	clad::push(_t0, 0);
	for (int i = 0; i < n; i++) {
		clad::back(_t0)++;
		clad::push(_cond0, x[i] > 0);
		clad::push(_t2, pair), pair[0] = pair[1], pair[1] = x[i];
		if (clad::back(_cond0))
			clad::push(_t1, p), p *= x[i];
	}
	for (; clad::back(_t0); clad::back(_t0)--) {
		unsigned long i = clad::back(_t0) - 1;

		pair[0] = clad::back(_t2)[0], pair[1] = clad::back(_t2)[1];
		clad::pop(_t2);
		if (clad::pop(_cond0)) {
			p = clad::pop(_t1);
			_d_x[i] += p * _d_p;
			_d_p *= x[i];
		}
	}
	return double(clad::pop(_t0)) + (_t1.empty() && _t2.empty() ? p + pair[0] + pair[1] : -1);
}

int main()
{
	double x[6] = {2, -3, 5, 7, -11, 13}, d[6] = {0, 0, 0, 0, 0, 0};
	const double right[6] = {455, 0, 182, 130, 0, 70};
	const bool whole = gradient(x, 6, d) == 1;

	for (int i = 0; i < 6; i++)
		if (d[i] != right[i])
			return 1;
	return whole ? 0 : 1;
}
