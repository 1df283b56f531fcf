/* SPDX-License-Identifier: MIT */
/*
 * A test program: tap_begin(), any number of checks, return tap_end().
 *
 * It prints the Test Anything Protocol and works in a fresh directory of its
 * own, its current one, which goes with it. Checks may be made by any thread.
 * A forked child makes checks too: they are not numbered, a failed one is
 * printed, and the child ends by tap_child_end(), for the parent's
 * tap_child_passed() to see.
 */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <sys/types.h>

void tap_begin(void);

/* The exit status of the program: 0 if every check passed. */
int tap_end(void);

/* Print the reason, and exit as a test that was skipped. After tap_begin(), before the first check. */
_Noreturn void tap_skip_all(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In the child of a fork(): exit at once, with the verdict on the checks it made. */
_Noreturn void tap_child_end(void);

/* In the parent: wait for the child; whether it came to its tap_child_end() and every check passed. */
bool tap_child_passed(pid_t child);

/* Name what the next checks are about. */
void tap_case(const char *name);

/* A line beside the checks. */
void tap_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Count so many checks as skipped. */
void tap_skip(int checks, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The checks. Each ends with a printf format and its arguments: what holds if
 * it passes. Each returns whether it passed.
 */
#define ok(condition, ...) \
	tap_ok((condition), TAP_HERE(#condition), __VA_ARGS__)
#define is_int(seen, wanted, ...) \
	tap_is_int((long long)(seen), (long long)(wanted), TAP_HERE(#seen), __VA_ARGS__)
/* Equal in every bit: 0.0 is not -0.0, and a NaN is itself. */
#define is_double(seen, wanted, ...) \
	tap_is_double((seen), (wanted), TAP_HERE(#seen), __VA_ARGS__)
#define is_pointer(seen, wanted, ...) \
	tap_is_pointer((seen), (wanted), TAP_HERE(#seen), __VA_ARGS__)
#define is_string(seen, wanted, ...) \
	tap_is_string((seen), (wanted), TAP_HERE(#seen), __VA_ARGS__)

/* For the macros above. */
struct tap_place {
	const char *file;
	int line;
	const char *text;
};

#define TAP_HERE(text) ((struct tap_place){ __FILE__, __LINE__, text })

bool tap_ok(bool passed, struct tap_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
bool tap_is_int(long long seen, long long wanted, struct tap_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is_double(double seen, double wanted, struct tap_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is_pointer(const void *seen, const void *wanted, struct tap_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is_string(const char *seen, const char *wanted, struct tap_place place, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
