/* SPDX-License-Identifier: MIT */
/*
 * The requests that a whole program makes of the system fail, kind by kind: first one request
 * alone, then it and all that follow. The program ends with the right gradient, or with an error
 * that is reported once and has a text; nothing leaks; and the next run is right.
 * GRADIENT_FAULTS=all tests each request, without it some are skipped.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helpers/file-refusals.h"
#include "helpers/gradient-program.h"
#include "helpers/process-support.h"
#include "helpers/support.h"

/* A kind of request, and the error that it fails with. */
static const struct fault {
	const char *name;
	unsigned kinds;
	int error;
	bool for_ever; /* false: refused only once, since the library tries again */
	bool restart;  /* with a restart file, whose writes slow each run down */
} faults[] = {
	{"memory", REFUSE_MEMORY, -ENOMEM, true, true},
	{"mmap", REFUSE_MAPPING, -ENOMEM, true, false},
	{"munmap", REFUSE_UNMAPPING, -ENOMEM, true, false},
	{"madvise", REFUSE_ADVICE, -ENOMEM, true, false},
	{"thread", REFUSE_THREAD, -EAGAIN, true, false},
	{"open: EMFILE", REFUSE_OPEN, -EMFILE, true, true},
	{"fallocate: ENOSPC", REFUSE_ALLOCATION, -ENOSPC, true, false},
	{"write: ENOSPC", REFUSE_WRITE, -ENOSPC, true, true},
	{"write: EIO", REFUSE_WRITE, -EIO, true, false},
	{"write: EINTR", REFUSE_WRITE, -EINTR, false, false},
	{"read: EIO", REFUSE_READ, -EIO, true, false},
	{"read: EINTR", REFUSE_READ, -EINTR, false, false},
	{"fsync: EIO", REFUSE_SYNC, -EIO, true, true},
	{"rename, unlink: EROFS", REFUSE_NAME, -EROFS, true, true},
};

static struct gradient_options options;
static struct gradient expected;

static bool is_right(const struct gradient *gradient)
{
	return !memcmp(gradient, &expected, sizeof expected);
}

/* ---- Leaks ---- */

struct holdings {
	size_t mapped;
	unsigned descriptors;
	unsigned names;
};

static struct holdings holdings_now(void)
{
	return (struct holdings){refusal.mapped, names_in("/proc/self/fd"), names_in(".")};
}

static bool are_equal(struct holdings a, struct holdings b)
{
	return a.mapped == b.mapped && a.descriptors == b.descriptors && a.names == b.names;
}

/* ---- The sweep ---- */

/* True if a run may end with this error. Any refusal may also cause a lack of memory or budget. */
static bool may_end_with(const struct fault *fault, int error)
{
	return !error || error == fault->error || error == -ENOMEM || error == -EDQUOT ||
	       (fault->kinds == REFUSE_OPEN && error == -ENOENT);
}

/* Returns what is wrong with a run that ended in this way, or NULL. */
static const char *wrong_with(const struct fault *fault, int error,
			      const struct gradient *gradient,
			      const struct gradient_report *report)
{
	if (!may_end_with(fault, error))
		return "its error is not the one that was made";
	if (!error && !is_right(gradient))
		return "its gradient is wrong, without an error";
	if (error && !*report->message)
		return "its error has no words";
	if (report->told_twice)
		return "an error was told twice";
	return NULL;
}

/* Runs the program again, with nothing refused. Returns what is wrong, or NULL. */
static const char *wrong_with_next(struct holdings before)
{
	struct gradient_report report;
	struct gradient gradient;
	int error = gradient_run(&options, &gradient, &report);

	if (error)
		return "the next run has an error";
	if (!is_right(&gradient))
		return "the next run's gradient is wrong";
	if (report.told)
		return "the next run tells of an error";
	return are_equal(holdings_now(), before) ? NULL : "something is left";
}

/* Refuses request k. Returns false if the run makes fewer requests. */
static bool one_fault(const struct fault *fault, unsigned k, bool all_that_follow,
		      unsigned *errors, unsigned *wrongs)
{
	struct holdings before = holdings_now();
	struct gradient_report report;
	struct gradient gradient;
	const char *wrong, *next;
	int error;

	file_refusal = fault->error;
	refuse(fault->kinds, k, all_that_follow);
	error = gradient_run(&options, &gradient, &report);
	stop_refusing();
	if (!refusal.refused)
		return false;
	*errors += error != 0;
	wrong = wrong_with(fault, error, &gradient, &report);
	next = wrong_with_next(before);
	if (wrong || next)
		tap_note("request %u%s: error %d (%s): %s", k,
			 all_that_follow ? " and all that follow" : "", error, report.message,
			 wrong ? wrong : next);
	*wrongs += wrong || next;
	return true;
}

/* Tests the first requests, and later ones at growing distances. */
static unsigned next_place(unsigned k)
{
	const char *all = getenv("GRADIENT_FAULTS");

	if (all && !strcmp(all, "all"))
		return k + 1;
	return k + 1 + (is_brief() ? stride_of(4) * k : 2 * k);
}

static void sweep(const struct fault *fault, bool all_that_follow)
{
	/* Builds and kernels without huge pages never call madvise(). */
	bool may_be_unused = fault->kinds & REFUSE_ADVICE;
	unsigned errors = 0, wrongs = 0, places = 0;

	options.restart = fault->restart ? "restart" : NULL;
	for (unsigned k = 1; one_fault(fault, k, all_that_follow, &errors, &wrongs);
	     k = next_place(k))
		places++;
	is_int(places ? wrongs : !may_be_unused, 0, "%s%s: %u places, %u errors", fault->name,
	       all_that_follow ? ", and all that follow" : "", places, errors);
}

static void the_program_uses_everything(void)
{
	struct gradient_report report;
	struct gradient gradient;

	tap_case("the program");
	is_int(gradient_run(&options, &gradient, &report), 0, "runs");
	ok(is_right(&gradient), "the program gives the gradient that arrays give");
	ok(report.written_bytes && report.read_bytes,
	   "the program spills %llu bytes and reads %llu",
	   (unsigned long long)report.written_bytes, (unsigned long long)report.read_bytes);
	ok(report.saves && !report.failed_saves, "the run writes its restart file");
}

int main(void)
{
	tap_begin();
	options = gradient_defaults();
	gradient_expected(&options, &expected);
	the_program_uses_everything();
	for (size_t i = 0; i < COUNT(faults); i++) {
		tap_case(faults[i].name);
		sweep(&faults[i], false);
		if (faults[i].for_ever)
			sweep(&faults[i], true);
	}
	return tap_end();
}
