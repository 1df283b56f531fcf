/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for Clad's headers, for tests where Clad is not installed. It declares in namespace
 * clad the same names with the same parameters: Clad's tape, and functions for tapes of any type.
 */
#ifndef CLAD_NAMES_H
#define CLAD_NAMES_H

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

#endif
