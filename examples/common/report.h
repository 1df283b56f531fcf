/* SPDX-License-Identifier: MIT */
/*
 * Errors, allocation and time.
 */
#ifndef EXAMPLES_REPORT_H
#define EXAMPLES_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* To be continued: EX_TEMPFAIL, by which batch systems are told to run the same again. */
enum exit_status { EXIT_WELL = 0, EXIT_UNVERIFIED = 1, EXIT_UNUSABLE = 2, EXIT_CONTINUED = 75 };

/* Name the program that the messages of fail() and stop() begin with. */
void report_as(const char *name);

#if defined(__GNUC__)
#define PRINTF_LIKE __attribute__((format(printf, 1, 2)))
#else
#define PRINTF_LIKE
#endif

/* Print the mistake and the remedy on one line of stderr, and exit with status 2. */
PRINTF_LIKE _Noreturn void fail(const char *format, ...);

/*
 * This process is a rank of several, which often find the same error. The rank that report_from()
 * names, 0 at first, reports an error at once and ends all ranks by end_all(). Another rank waits
 * two seconds before it does the same: it has been ended by then unless the error is its own.
 */
void report_as_rank(int rank, void (*end_all)(int status));
void report_from(int rank);

/* Say that the run will be gone on with, and exit with status 75. */
_Noreturn void stop(const char *text);

/*
 * Keep Reel's own messages from stderr: the program prints their meaning for its user by fail().
 */
void report_alone(void);

/* Have a function called by fail() and stop() before they exit; NULL for none. */
void set_failure_cleanup(void (*cleanup)(void));

/* Zeroed memory, or failure. */
void *allocate(size_t count, size_t size);

/* Seconds on the monotonic clock. */
double wall_time(void);

/* The memory that the system lets the program use, in bytes. */
double memory_limit_bytes(void);

/* The budget of a program that was given none: half of that, as Reel takes for its default pool. */
uint64_t default_budget_bytes(void);

/*
 * The end of the text of an error of a tape or a run: the remedy if the budget is used up.
 */
const char *budget_remedy(int error);

/* The most memory the process has had resident, in bytes. */
unsigned long long peak_resident_bytes(void);

#endif
