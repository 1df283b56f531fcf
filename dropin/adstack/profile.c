/* SPDX-License-Identifier: MIT */
/*
 * Estimates what would change if a call were not checkpointed. The program would save time, because
 * it neither writes nor reads the snapshot and does not run the call twice. It would need more
 * memory, because the values that the call pushes stay on the stack until the caller's turn. Code
 * that was generated with -profile calls these functions; a call site is a callee, a file and a
 * line.
 *
 * A frame is a running adjoint procedure. It has the height of the stack at its turn, the maximum
 * height, and by how much both would change without the checkpoint of each call site. When a
 * checkpointed call C ends, its figures join those of its caller D. For each call site X, with
 * `more` being 0 unless C is a call of X:
 *
 *	more      = turn(C) + turn change(C, X) - height behind C's snapshot
 *	peak(D)'  = max(peak(D) + peak change(D, X) + more, peak(C) + peak change(C, X))
 *
 * and the turn of D moves by `more` as well. Each thread has figures of its own. Times are
 * processor time of the thread, as the original's are, so that time in which other programs or the
 * disk are waited for saves nothing.
 */
#include "forms.h"
#include "os/clock.h"
#include "os/integer.h"
#include "os/numerals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct call_site {
	char *callee;
	char *file;
	unsigned line;
	uint64_t calls;
};

struct change {
	uint64_t nanoseconds;
	int64_t turn;
	int64_t peak;
};

/* A checkpointed call whose adjoint has not run yet. */
struct call {
	struct call *previous;
	/* Next of the calls that were removed in a repeat level, which may bring them back. */
	struct call *next_taken;
	bool taken;
	bool stays;
	size_t call_site;
	uint64_t began;
	uint64_t nanoseconds;
	int64_t snapshot;
};

struct level {
	struct level *outer;
	struct call *calls;
};

struct frame {
	struct frame *caller;
	struct call *calls;
	struct call *taken;
	struct level *levels;
	int64_t peak;
	int64_t turn;
	/* Indexed by call site; call sites that are newer than the array have no change. */
	struct change *changes;
	size_t count;
};

struct adstack_profile {
	struct call_site *call_sites;
	size_t count;
	struct frame *frame;
};

static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * REEL_SECOND_NS + (uint64_t)now.tv_nsec;
}

static struct adstack_profile *profile(void)
{
	struct adstack_profile *profile = reel_adstack.profile;

	if (profile)
		return profile;
	reel_adstack_begin();
	profile = reel_adstack_allocate(sizeof *profile, "the profile");
	profile->frame = reel_adstack_allocate(sizeof *profile->frame, "the profile");
	reel_adstack.profile = profile;
	return profile;
}

/* Grow an array by elements that are zero. */
static void *grown(void *old, size_t count, size_t wanted, size_t size)
{
	char *array = realloc(old, wanted * size);

	if (!array)
		reel_adstack_fail(-ENOMEM, "no memory for the profile");
	memset(array + count * size, 0, (wanted - count) * size);
	return array;
}

/* ---- Sites ---- */

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(reel_adstack_allocate(bytes, "the profile"), text, bytes);
}

static bool is_call_site(const struct call_site *call_site, const char *callee, const char *file,
			 unsigned line)
{
	return call_site->line == line && !strcmp(call_site->callee,
						  callee) && !strcmp(call_site->file, file);
}

static size_t call_site_of(const char *callee, const char *file, unsigned line)
{
	struct adstack_profile *known = profile();
	size_t at = 0;

	while (at < known->count && !is_call_site(&known->call_sites[at], callee, file, line))
		at++;
	if (at < known->count)
		return at;
	known->call_sites = grown(known->call_sites, known->count, known->count + 1,
				  sizeof *known->call_sites);
	known->call_sites[known->count++] = (struct call_site){copy(callee), copy(file), line, 0};
	return at;
}

static struct change *change_of(struct frame *frame, size_t at)
{
	if (at >= frame->count) {
		frame->changes = grown(frame->changes, frame->count, at + 1,
				       sizeof *frame->changes);
		frame->count = at + 1;
	}
	return &frame->changes[at];
}

/* ---- Calls ---- */

static void write_snapshot(const char *callee, const char *file, unsigned line)
{
	size_t at = call_site_of(callee, file, line);
	struct frame *frame = profile()->frame;
	struct call *call = reel_adstack_allocate(sizeof *call, "the profile");

	call->call_site = at;
	call->previous = frame->calls;
	call->began = processor_ns();
	frame->calls = call;
}

static struct call *present_call(const char *callee, const char *file, unsigned line)
{
	struct call *call = profile()->frame->calls;

	if (!call || !is_call_site(&profile()->call_sites[call->call_site], callee, file, line))
		reel_adstack_fail(-EINVAL, "adProfileAdj: the call of %s at %s:%u is not the one "
				  "whose turn it is", callee, file, line);
	return call;
}

static void begin_advance(const char *callee, const char *file, unsigned line)
{
	present_call(callee, file, line)->snapshot = (int64_t)reel_adstack_height();
}

static void end_advance(const char *callee, const char *file, unsigned line)
{
	struct call *call = present_call(callee, file, line);

	call->nanoseconds = processor_ns() - call->began;
}

static void read_snapshot(const char *callee, const char *file, unsigned line)
{
	present_call(callee, file, line)->began = processor_ns();
}

static void begin_reverse(const char *callee, const char *file, unsigned line)
{
	struct call *call = present_call(callee, file, line);
	struct frame *frame = reel_adstack_allocate(sizeof *frame, "the profile");

	call->nanoseconds += processor_ns() - call->began;
	profile()->call_sites[call->call_site].calls++;
	frame->caller = profile()->frame;
	profile()->frame = frame;
}

static void turn(void)
{
	struct frame *frame = profile()->frame;
	int64_t height = (int64_t)reel_adstack_height();

	if (height <= frame->peak)
		return;
	frame->peak = height;
	frame->turn = height;
}

/* Join an ended call's figures to its caller's as if call site `at` had no checkpoint. */
static void join(struct frame *caller, const struct call *call, struct frame *ended, size_t at)
{
	struct change *change = change_of(caller, at);
	const struct change *inner = change_of(ended, at);
	int64_t more = at == call->call_site ? ended->turn + inner->turn - call->snapshot : 0;
	int64_t peak = reel_max_i64(caller->peak + change->peak + more, ended->peak + inner->peak);

	change->nanoseconds += inner->nanoseconds + (at == call->call_site ? call->nanoseconds : 0);
	change->turn += more;
	change->peak = peak - reel_max_i64(caller->peak, ended->peak);
}

static void drop_levels(struct frame *frame)
{
	while (frame->levels) {
		struct level *level = frame->levels;

		frame->levels = level->outer;
		free(level);
	}
}

static void drop_calls(struct call *call)
{
	while (call) {
		struct call *previous = call->previous;

		free(call);
		call = previous;
	}
}

/* Free the calls that were removed in a repeat level and that it did not bring back. */
static void drop_taken(struct frame *frame)
{
	struct call *next;

	for (struct call *call = frame->calls; call; call = call->previous)
		call->stays = true;
	for (struct call *call = frame->taken; call; call = next) {
		next = call->next_taken;
		call->taken = false;
		if (!call->stays)
			free(call);
	}
	for (struct call *call = frame->calls; call; call = call->previous)
		call->stays = false;
	frame->taken = NULL;
}

static void drop_frame(struct frame *frame)
{
	drop_taken(frame);
	drop_calls(frame->calls);
	drop_levels(frame);
	free(frame->changes);
	free(frame);
}

static void take_call(struct frame *frame)
{
	struct call *call = frame->calls;

	frame->calls = call->previous;
	if (!frame->levels) {
		free(call);
	} else if (!call->taken) {
		call->taken = true;
		call->next_taken = frame->taken;
		frame->taken = call;
	}
}

static void end_reverse(const char *callee, const char *file, unsigned line)
{
	struct frame *ended = profile()->frame, *caller = ended->caller;

	if (!caller)
		reel_adstack_fail(-EINVAL, "adProfileAdj_endReverse without "
				  "adProfileAdj_beginReverse");
	/* A callee that was not differentiated has no turn. */
	if (!ended->peak)
		ended->peak = (int64_t)reel_adstack_height();
	profile()->frame = caller;
	present_call(callee, file, line);
	for (size_t at = 0; at < profile()->count; at++)
		join(caller, caller->calls, ended, at);
	caller->peak = reel_max_i64(caller->peak, ended->peak);
	take_call(caller);
	drop_frame(ended);
}

/* ---- Repeat levels ---- */

static void start_repeat(void)
{
	struct level *level = reel_adstack_allocate(sizeof *level, "the profile");

	level->outer = profile()->frame->levels;
	level->calls = profile()->frame->calls;
	profile()->frame->levels = level;
}

static struct level *innermost_level(void)
{
	struct level *level = profile()->frame->levels;

	if (!level)
		reel_adstack_fail(-EINVAL, "adProfileAdj: no repeat level is open");
	return level;
}

static void reset_repeat(void)
{
	profile()->frame->calls = innermost_level()->calls;
}

static void end_repeat(void)
{
	struct frame *frame = profile()->frame;
	struct level *level = innermost_level();

	frame->levels = level->outer;
	free(level);
	if (!frame->levels)
		drop_taken(frame);
}

/* ---- The report ---- */

struct line {
	const struct call_site *call_site;
	struct change change;
};

/* Sites that save memory come first, then the others by the time saved for their memory. */
static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	int class_a = (a->change.peak > 0) - (a->change.peak < 0);
	int class_b = (b->change.peak > 0) - (b->change.peak < 0);
	double rate_a = (double)a->change.nanoseconds, rate_b = (double)b->change.nanoseconds;

	if (class_a != class_b)
		return class_a - class_b;
	if (class_a > 0) {
		rate_a /= (double)a->change.peak;
		rate_b /= (double)b->change.peak;
	}
	return (rate_a < rate_b) - (rate_a > rate_b);
}

static void show_line(FILE *file, const struct line *line)
{
	REEL_POINT_NUMERALS;

	fprintf(file, "  %.6f s less, %+lld bytes at the peak: %s, called %llu times at %s:%u\n",
		(double)line->change.nanoseconds * 1e-9, (long long)line->change.peak,
		line->call_site->callee, (unsigned long long)line->call_site->calls,
		line->call_site->file, line->call_site->line);
}

static void show(FILE *file)
{
	const struct adstack_profile *known = profile();
	struct frame *outermost = known->frame;
	struct line *lines = reel_adstack_allocate((known->count + 1) * sizeof *lines,
						   "the profile");

	while (outermost->caller)
		outermost = outermost->caller;
	for (size_t at = 0; at < known->count; at++)
		lines[at] = (struct line){&known->call_sites[at], *change_of(outermost, at)};
	qsort(lines, known->count, sizeof *lines, compare_lines);
	fprintf(file, "Peak of the stack: %lld bytes\nWithout the checkpoint of a call:\n",
		(long long)outermost->peak);
	for (size_t i = 0; i < known->count; i++)
		show_line(file, &lines[i]);
	fflush(file);
	free(lines);
}

static void show_in(const char *path)
{
	FILE *file = path && *path ? fopen(path, "w") : stdout;

	if (!file)
		reel_adstack_fail(-errno, "adProfileAdj_showProfilesFile: %s cannot be written: %s",
				  path, strerror(errno));
	show(file);
	if (file != stdout && fclose(file))
		reel_adstack_fail(-errno, "adProfileAdj_showProfilesFile: %s cannot be written: %s",
				  path, strerror(errno));
}

void reel_adstack_profile_end(void)
{
	struct adstack_profile *known = reel_adstack.profile;

	while (known && known->frame) {
		struct frame *frame = known->frame;

		known->frame = frame->caller;
		drop_frame(frame);
	}
	for (size_t at = 0; known && at < known->count; at++) {
		free(known->call_sites[at].callee);
		free(known->call_sites[at].file);
	}
	if (known)
		free(known->call_sites);
	free(known);
	reel_adstack.profile = NULL;
}

#define AT_A_CALL(Name, name, action)                                                              \
	FORM(void, adProfileAdj_##Name,                                                            \
	     (const char *callee, const char *file, unsigned line),                                \
	     { action(callee, file, line); })                                                      \
	FORTRAN(void, adprofileadj_##name,                                                         \
		(const char *callee, const char *file, const unsigned *line),                      \
		{ action(callee, file, *line); })
AT_A_CALL(SNPWrite, snpwrite, write_snapshot)
AT_A_CALL(beginAdvance, beginadvance, begin_advance)
AT_A_CALL(endAdvance, endadvance, end_advance)
AT_A_CALL(SNPRead, snpread, read_snapshot)
AT_A_CALL(beginReverse, beginreverse, begin_reverse)
AT_A_CALL(endReverse, endreverse, end_reverse)

#define AT_A_LEVEL(Name, name, action)                                                             \
	FORM(void, adProfileAdj_##Name, (void), { action(); })                                     \
	FORTRAN(void, adprofileadj_##name, (void), { action(); })
AT_A_LEVEL(startRepeat, startrepeat, start_repeat)
AT_A_LEVEL(resetRepeat, resetrepeat, reset_repeat)
AT_A_LEVEL(endRepeat, endrepeat, end_repeat)

#define TURN                                                                                       \
	{                                                                                          \
		(void)procedure;                                                                   \
		(void)file;                                                                        \
		turn();                                                                            \
	}
FORM(void, adProfileAdj_turn, (const char *procedure, const char *file), TURN)
FORTRAN(void, adprofileadj_turn, (const char *procedure, const char *file), TURN)

FORM(void, adProfileAdj_showProfiles, (void), { show_in(NULL); })
FORM(void, adProfileAdj_showProfilesFile, (const char *path), { show_in(path); })
FORTRAN(void, adprofileadj_showprofiles, (void), { show_in(NULL); })
FORTRAN(void, adprofileadj_showprofilesfile, (const char *path), { show_in(path); })
