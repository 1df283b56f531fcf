/* SPDX-License-Identifier: MIT */
/*
 * Beside Clad's headers: here is what they declare in the same namespace under the same names. The
 * calls of generated code must find their way with both there, and Clad's own tape keeps its own.
 */
#include <utility>

namespace clad {

template <class T, unsigned long inside = 64, unsigned long slab = 1024, bool locked = false,
	  bool disk = false, bool gpu = false>
struct tape {
	T values[10];
	unsigned count = 0;
};

template <class T, unsigned long inside = 64, unsigned long slab = 1024, bool locked = false,
	  bool disk = false, bool gpu = false>
class tape_iterator {
};

template <class T> struct is_clad_tape {
	static const bool value = false;
};

template <class T, unsigned long inside, unsigned long slab, bool locked, bool disk, bool gpu>
struct is_clad_tape<tape<T, inside, slab, locked, disk, gpu>> {
	static const bool value = true;
};

template <bool condition, class T> struct only_if {};
template <class T> struct only_if<true, T> {
	using type = T;
};

template <class T, unsigned long inside = 64, unsigned long slab = 1024, bool disk = false,
	  bool gpu = false, class... Values>
T &push(tape<T, inside, slab, false, disk, gpu> &to, Values... values)
{
	return to.values[to.count++] = T(values...);
}

template <class T, class Source, unsigned long n, unsigned long inside = 64,
	  unsigned long slab = 1024, bool disk = false, bool gpu = false>
void push(tape<T[n], inside, slab, false, disk, gpu> &to, const Source &)
{
	to.count++;
}

template <class T, unsigned long inside = 64, unsigned long slab = 1024, bool disk = false,
	  bool gpu = false>
T pop(tape<T, inside, slab, false, disk, gpu> &from)
{
	return from.values[--from.count];
}

template <class T, unsigned long inside = 64, unsigned long slab = 1024, bool disk = false,
	  bool gpu = false>
T &back(tape<T, inside, slab, false, disk, gpu> &of)
{
	return of.values[of.count - 1];
}

/* For tapes of any other type: these would do for values, and not for arrays. */
template <class Tape, class... Values>
auto push(Tape &to, Values &&...values) ->
	typename only_if<!is_clad_tape<Tape>::value, decltype(to.back())>::type
{
	to.emplace_back(std::forward<Values>(values)...);
	return to.back();
}

template <class Tape>
auto pop(Tape &from) -> typename only_if<!is_clad_tape<Tape>::value,
					 typename std::decay<decltype(from.back())>::type>::type
{
	auto top = std::move(from.back());

	from.pop_back();
	return top;
}

template <class Tape>
auto back(Tape &of) ->
	typename only_if<!is_clad_tape<Tape>::value, decltype(of.back())>::type
{
	return of.back();
}

} // namespace clad

struct fields {
	unsigned bits : 3;
	static const int constant = 4;
};

int main()
{
	clad::custom_tape<double> _t0 = {};
	clad::custom_tape<double[2]> _t1 = {};
	clad::custom_tape<float[2]> _t3 = {};
	clad::custom_tape<bool> _cond0 = {};
	clad::custom_tape<unsigned long> _t2 = {};
	clad::custom_tape<double, 64, 1024, true, true> _t4 = {};
	clad::custom_tape<double[2], 32, 512, true> _t5 = {};
	clad::tape<double> own = {};
	double x = 1.5, pair[2] = {1, 2};
	fields f = {5};

	clad::push(_t0, x);
	clad::push(_t1, pair);
	clad::push(_cond0, x > 1);
	clad::push(_t2, 0);
	clad::push(_t2, f.bits);
	clad::push(_t2, fields::constant);
	clad::push(own, x);
	clad::push(_t3, pair);
	clad::push(_t4, x);
	clad::push(_t5, pair);
	bool right = clad::back(_t0) == 1.5 && clad::back(_t1)[1] == 2 && clad::back(_cond0) &&
		     clad::back(own) == 1.5 && clad::back(_t3)[1] == 2;
	right = right && clad::back(_t4) == 1.5 && clad::pop(_t4) == 1.5 && _t5[0][1] == 2;
	clad::pop(_t5);
	clad::pop(_t1);
	right = right && clad::pop(_t0) == 1.5 && clad::pop(_cond0) && clad::pop(_t2) == 4 &&
		clad::pop(_t2) == 5 && clad::pop(_t2) == 0 && clad::pop(own) == 1.5;
	return right && _t1.empty() && _t5.empty() && own.count == 0 ? 0 : 1;
}
