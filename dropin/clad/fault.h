/* SPDX-License-Identifier: MIT */
/*
 * What a tape does that cannot do what is asked: it throws, and what was on it before is still
 * there. Without exceptions the program ends, with one line on stderr.
 *
 * A compiler keeps in memory what lives across a call that may throw, in all of a loop. So what is
 * rare is done by functions that do not throw but return NULL, and only then another one throws.
 */
#ifndef REEL_CLAD_FAULT_H
#define REEL_CLAD_FAULT_H

#include <reel/extend.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

/* For templates, whose functions must not be static; REEL_ALWAYS_INLINE is. */
#if defined(__GNUC__)
#define REEL_CLAD_INLINE __attribute__((always_inline)) inline
#define REEL_CLAD_APART __attribute__((noinline))
#else
#define REEL_CLAD_INLINE inline
#define REEL_CLAD_APART
#endif

/* A linker must not take a function that aborts for one that throws. */
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define REEL_CLAD_DIALECT throwing
#else
#define REEL_CLAD_DIALECT aborting
#endif

namespace reel {

/*
 * Thrown by pop() and back() of an empty tape (-ENODATA) and of values that a store lost, by
 * a push that a store refused, and by [] of a position that is not on the tape (-ERANGE) or that a
 * store has or may take (-EBUSY). A push that finds no memory, or no more budget, throws
 * std::bad_alloc.
 */
class tape_fault : public std::exception {
public:
  explicit tape_fault(int error, const char *why = nullptr) noexcept
      : error_(error), why_(why ? why : reel_error_text(error))
  {
	}

	/* A negative errno, as reel_tape_error() has it. */
	int error() const noexcept
	{
		return error_;
	}

	const char *what() const noexcept override
	{
		return why_;
	}

private:
	int error_;
	const char *why_;
};

inline namespace REEL_CLAD_DIALECT {

/* Why a function of this thread returned NULL. */
inline int &last_error() noexcept
{
	static thread_local int error = 0;

	return error;
}

[[noreturn]] REEL_COLD inline void fail(int error, const char *why = nullptr)
{
	const tape_fault fault(error, why);

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
	throw fault;
#else
	std::fprintf(stderr, "reel: %s\n", fault.what());
	std::abort();
#endif
}

[[noreturn]] REEL_COLD inline void fail()
{
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
	if (last_error() == -ENOMEM || last_error() == -EDQUOT)
		throw std::bad_alloc();
#endif
	fail(last_error());
}

/* In generated code, after what is rare. */
REEL_CLAD_INLINE void or_fail(const void *done)
{
	if (REEL_UNLIKELY(!done))
		fail();
}

[[noreturn]] REEL_COLD inline void fail_at(int error)
{
	const char *why = nullptr;

	if (error == -ERANGE)
		why = "no value is at this position of the tape";
	if (error == -EBUSY)
		why = "the store has, or may take, the value at this position of the tape: "
		      "pop down to it, or run without a store (REEL_STORE, REEL_SPILL_DIR)";
	fail(error, why);
}

[[noreturn]] REEL_COLD inline void fail_empty()
{
	last_error() = -ENODATA;
	fail();
}

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
