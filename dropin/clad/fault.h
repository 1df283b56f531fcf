/* SPDX-License-Identifier: MIT */
/*
 * The errors of a tape: a call that fails throws and leaves the values of the tape as they were.
 * Without exceptions the program ends with one line on stderr.
 *
 * A variable that lives across a call that may throw cannot stay in a register. Rare cases are
 * therefore done by functions that do not throw but return NULL; then another function throws.
 */
#ifndef REEL_CLAD_FAULT_H
#define REEL_CLAD_FAULT_H

#include <reel/extend.h>
#include <reel/recording.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#if defined(__GNUC__)
#define REEL_CLAD_APART __attribute__((noinline))
#else
#define REEL_CLAD_APART
#endif

/* Different names keep a linker from merging functions that abort with functions that throw. */
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define REEL_CLAD_DIALECT throwing
#else
#define REEL_CLAD_DIALECT aborting
#endif

namespace reel {

/*
 * Thrown by pop() and back() if the tape is empty (-ENODATA) or a store has lost the value, by a
 * push that a store refused, and by [] if the position is not on the tape (-ERANGE) or a store has
 * or may take it (-EBUSY). A push throws std::bad_alloc if memory or the budget is used up.
 */
class tape_fault : public std::exception {
public:
  explicit tape_fault(int error, const char *why = nullptr) noexcept
      : error_(error), why_(why ? why : reel_error_text(error))
  {
	}

	/* A negative errno, as reel_tape_error() returns it. */
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

/* The reason why a function of this thread has returned NULL. */
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

/* Called in generated code after a function for a rare case; throws if that returned NULL. */
REEL_INLINE_MEMBER void or_fail(const void *done)
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
