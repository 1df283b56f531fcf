/* SPDX-License-Identifier: MIT */
/*
 * Reel's tape for gradients that Clad generates: clad::custom_tape, and the functions that
 * generated code calls. Clad uses custom_tape in place of its own tape if it is declared before the
 * first gradient. No source is changed:
 *
 *	clang++ -fplugin=clad.so ... -include reel/clad/tape.h gradient.cpp -lreel
 *
 * C++14 and later, by clang++ or g++. It needs none of Clad's headers and goes with all of them;
 * printed code that is to be compiled without Clad includes reel/clad/alone.h instead.
 *
 * A source may include it instead, before or after Clad's headers. A program that declares
 * custom_tape itself defines REEL_CLAD_OWN_HOOK before this header: only tape_of_reel is declared
 * then, which custom_tape<T> may be for the types T that the program chooses.
 *
 * Memory. Values that are trivially copyable, and arrays of them, are on a struct reel_tape
 * (reel/tape.h) of the default pool, with its slabs, budgets, stores, REEL_BUDGET, REEL_SPILL_DIR
 * and REEL_CHECKED. A bool takes one bit. All other values (std::vector, std::string, types aligned
 * above 64 bytes) stay in the program's own memory, are destroyed when they are popped or with the
 * tape, and are never spilled.
 *
 * Threads. A tape belongs to one thread at a time. All zero is an empty tape, so that copies of a
 * static one that OpenMP makes for its threads need no constructor. Such a copy has no destructor
 * either: values left on it stay until the process ends.
 *
 * Errors. A push throws std::bad_alloc if memory or the budget is used up, and reel::tape_fault if
 * a store refuses it. pop() and back() throw reel::tape_fault if the tape is empty or a store has
 * lost the value. The values on the tape stay, and the tape can be used after a refused push, and
 * after an element that throws when it is copied. Without exceptions the program is aborted.
 *
 * References. The results of push(), back() and [] are valid until the next push or pop
 * on the same tape; calls on other tapes do not matter.
 *
 * Parameters. A tape may be named with all that Clad's own takes: custom_tape<T, SBO_SIZE,
 * SLAB_SIZE, is_multithread, DiskOffload, GpuOffload>, with the same defaults, and so with the
 * fewer ones of older versions. The pool sets the sizes, a disk is used if REEL_SPILL_DIR or
 * REEL_STORE names it, and no tape lies on a GPU. A tape with is_multithread does not compile:
 * threads that share a tape pop each other's values, and a gradient needs a tape for each thread.
 *
 * Positions. t[i] counts from the value pushed first, and reaches all values up to the top. A
 * program may read and change these values, but only read bools. On a pool with a store t[i]
 * reaches the values on the top slab and those that never leave memory. For other values it throws
 * reel::tape_fault (-EBUSY), because a slab that was written, or that may be evicted, must not be
 * changed. If t[i] is on another slab than the value found before, the cost is a call
 * and a step for each slab above.
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

/* Has the members that Clad requires of a tape, and the others of Clad's own tape. */
template <class T, std::size_t SBO_SIZE = 64, std::size_t SLAB_SIZE = 1024,
	  bool is_multithread = false, bool DiskOffload = false, bool GpuOffload = false>
class tape_of_reel : public reel::clad_tape<T>::type {
	static_assert(!is_multithread,
		      "threads that share a tape pop each other's values: give each thread a tape, "
		      "or use Clad's own (REEL_CLAD_OWN_HOOK)");

public:
	using value_type = T;

	constexpr tape_of_reel() noexcept = default;
};

#ifndef REEL_CLAD_OWN_HOOK
/* The name by which Clad finds a tape that is not its own. */
template <class T, std::size_t SBO_SIZE = 64, std::size_t SLAB_SIZE = 1024,
	  bool is_multithread = false, bool DiskOffload = false, bool GpuOffload = false>
using custom_tape =
	tape_of_reel<T, SBO_SIZE, SLAB_SIZE, is_multithread, DiskOffload, GpuOffload>;
#endif

/* Pushes T(values...) and returns it. */
template <class T, std::size_t inside, std::size_t slab, bool disk, bool gpu, class... Values>
REEL_INLINE_MEMBER T &push(tape_of_reel<T, inside, slab, false, disk, gpu> &to, Values... values)
{
	return to.emplace_back(static_cast<Values &&>(values)...);
}

/*
 * Pushes a copy of an array, or of another range, element by element. The parameter has the same
 * type as in Clad's own push() for all tapes; otherwise that push() would be the better match.
 */
template <class T, std::size_t N, std::size_t inside, std::size_t slab, bool disk, bool gpu,
	  class Source>
REEL_INLINE_MEMBER void push(tape_of_reel<T[N], inside, slab, false, disk, gpu> &to,
			     Source &&source)
{
	to.emplace_back(source);
}

/* Pops the top, and returns it by a move. */
template <class T, std::size_t inside, std::size_t slab, bool disk, bool gpu>
REEL_INLINE_MEMBER T pop(tape_of_reel<T, inside, slab, false, disk, gpu> &from)
{
	return from.pop();
}

/* Drops the array on top. */
template <class T, std::size_t N, std::size_t inside, std::size_t slab, bool disk, bool gpu>
REEL_INLINE_MEMBER void pop(tape_of_reel<T[N], inside, slab, false, disk, gpu> &from)
{
	from.pop_back();
}

/* Returns the top, which the program may read and change. */
template <class T, std::size_t inside, std::size_t slab, bool disk, bool gpu>
REEL_INLINE_MEMBER T &back(tape_of_reel<T, inside, slab, false, disk, gpu> &of)
{
	return of.back();
}

} // namespace clad

#endif
