/* SPDX-License-Identifier: MIT */
/*
 * Reel under gradients that Clad generates: clad::custom_tape, which Clad takes in place of its
 * own tape wherever there is one before the first gradient, and the functions that generated code
 * calls. No source is changed:
 *
 *	clang++ -fplugin=clad.so ... -include reel/clad/tape.h gradient.cpp -lreel
 *
 * C++14 and later, by clang++ or g++. It needs none of Clad's headers and goes with all of them;
 * printed code that is to be compiled without Clad includes reel/clad/alone.h instead.
 *
 * What lies where. Values that are trivially copyable, and arrays of them, are on a struct
 * reel_tape (reel/tape.h) of the default pool: what is said there of slabs, budgets, stores,
 * REEL_BUDGET, REEL_SPILL_DIR and REEL_CHECKED is true of them. bools take a bit each. Everything
 * else (std::vector, std::string, what is aligned above 64 bytes) stays in the program's own
 * memory, is destroyed when it is popped or with the tape, and is never spilled.
 *
 * Threads. A tape belongs to one thread at a time. All zero is an empty tape, so that copies of a
 * static one that OpenMP makes for its threads need no constructor. Such a copy has no destructor
 * either: what is left on it stays until the process ends.
 *
 * Errors. A push that finds no memory, or no more budget, throws std::bad_alloc; one that a store
 * refuses, pop() and back() of an empty tape, and of what a store has lost, throw
 * reel::tape_fault. What was on the tape stays there, and after a refused push it goes on. So it
 * does after an element that throws when it is copied. Without exceptions the program is aborted.
 *
 * References. What push() and back() return is valid until the next call on the same tape,
 * whatever is done with others.
 *
 * Cost. A push of a value is a compare, a store and a new top, which a compiler keeps in registers
 * where the tape is a local variable; a pop is the same. The first push takes a struct reel_tape
 * that the thread keeps for it; its first 128 bytes need no slab. A tape takes 32 bytes, of bools
 * 24; up to 63 bools need nothing else.
 */
#ifndef REEL_CLAD_TAPE_H
#define REEL_CLAD_TAPE_H

#include "bits.h"
#include "objects.h"
#include "values.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

template <class T> struct clad_tape {
	static constexpr bool is_plain =
		std::is_trivially_copyable<typename std::remove_all_extents<T>::type>::value &&
		alignof(T) <= 64;

	using type = typename std::conditional<is_plain, value_tape<T>, object_tape<T>>::type;
};

template <> struct clad_tape<bool> {
	using type = bool_tape;
};

} // namespace REEL_CLAD_DIALECT
} // namespace reel

namespace clad {

/* Its members are those that Clad asks of any tape: emplace_back(), back(), pop_back(). */
template <class T> class custom_tape : public reel::clad_tape<T>::type {
public:
	constexpr custom_tape() noexcept
	{
	}
};

/* Puts T(values...) on top and returns it. */
template <class T, class... Values>
REEL_CLAD_INLINE T &push(custom_tape<T> &to, Values... values)
{
	return to.emplace_back(static_cast<Values &&>(values)...);
}

/*
 * Puts a copy of an array, or of what a loop goes through, on top, element by element. The source
 * is taken as Clad's own push() for tapes of any type takes it: it would be the better one else.
 */
template <class T, std::size_t N, class Source>
REEL_CLAD_INLINE void push(custom_tape<T[N]> &to, Source &&source)
{
	to.emplace_back(source);
}

/* Moves the top out of the tape. */
template <class T> REEL_CLAD_INLINE T pop(custom_tape<T> &from)
{
	return from.pop();
}

/* Drops the array on top. */
template <class T, std::size_t N> REEL_CLAD_INLINE void pop(custom_tape<T[N]> &from)
{
	from.pop_back();
}

/* The top, to be read or changed. */
template <class T> REEL_CLAD_INLINE T &back(custom_tape<T> &of)
{
	return of.back();
}

} // namespace clad

#endif
