/* SPDX-License-Identifier: MIT */
/*
 * The table of places, which threads fill without a lock, and the file at the end of the process.
 *
 * The figures at the peak are copied when the tapes begin to shrink after they were larger than
 * ever before. The thread that pops the slab does so; others may push and pop meanwhile, so the
 * figures may be off by some slabs.
 */
#include "config.h"

#include "profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HAVE_EXECINFO_H
#include <execinfo.h>
#endif
#if HAVE_LINK_H
#include <link.h>
#endif

#include "os/assert.h"
#include "os/cancel.h"
#include "os/os-file.h"
#include "os/process.h"
#include "os/yield.h"
#include "output.h"
#include "trace.h"

#define MAGIC "reel profile 1\n"
/* The place of pushes for which the table has no more room. No place has the number 0. */
#define OTHERS 1
#define MAX_DEPTH 32
#define MAX_CALL_SITE 128

/*
 * A place is free until a thread sets its key; then that thread fills in the rest. Only the end of
 * the process reads that.
 */
struct place {
	_Atomic uint64_t key; /* of call site and callers; 0: free */
	/* A copy: the library that pushed may be unloaded before the end. */
	char call_site[MAX_CALL_SITE];
	void *caller[MAX_DEPTH];
	int depth;
	/* Set when the members above are written. */
	_Atomic bool is_complete;
	/* Relaxed, these and `held_at_peak`: figures. */
	_Atomic uint64_t bytes;   /* pushed so far */
	_Atomic int64_t held;     /* now */
	int64_t held_at_peak;     /* guarded by `is_copying` */
};

static struct {
	pid_t process; /* that opened the file */
	int file;
	struct reel_os_file_identity identity;
	struct place *place;
	_Atomic int64_t held, peak;
	_Atomic bool is_copying; /* a thread copies the bytes that are held now */
	/* The peak has grown since it was copied. */
	_Atomic bool is_higher;
} profile;

_Atomic bool reel_profile_is_on;
/* Requires the lock of the list of pools. */
static bool was_opened;

/* ---- Places ---- */

static int get_callers(void *caller[MAX_DEPTH])
{
#if HAVE_EXECINFO_H
	return backtrace(caller, MAX_DEPTH);
#else
	(void)caller;
	return 0;
#endif
}

static uint64_t mix(uint64_t key, uint64_t value)
{
	key = (key ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

static uint64_t key_of(const char *call_site, void *const *caller, int depth)
{
	uint64_t key = mix(1, (uintptr_t)call_site);

	REEL_ASSERT(depth >= 0 && depth <= MAX_DEPTH);
	for (int i = 0; i < depth; i++)
		key = mix(key, (uintptr_t)caller[i]);
	return key ? key : 1;
}

/* Returns whether the place has the key, which this thread may have given it. */
static bool take(struct place *place, uint64_t key, bool *is_new)
{
	uint64_t present = 0;

	reel_yield_point();
	/* Relaxed: a key guards nothing; `is_complete` tells when the rest is there. */
	*is_new = atomic_compare_exchange_strong_explicit(&place->key, &present, key,
							  memory_order_relaxed,
							  memory_order_relaxed);
	return *is_new || present == key;
}

uint16_t reel_profile_place(const char *call_site)
{
	void *caller[MAX_DEPTH];
	int depth = get_callers(caller);
	uint64_t key = key_of(call_site, caller, depth);

	REEL_ASSERT(profile.place);
	for (unsigned tries = 0; tries < REEL_PLACES; tries++) {
		unsigned number = (unsigned)((key + tries) % REEL_PLACES);
		struct place *place = &profile.place[number];
		bool is_new;

		if (number <= OTHERS || !take(place, key, &is_new))
			continue;
		if (is_new) {
			snprintf(place->call_site, MAX_CALL_SITE, "%s",
				 call_site ? call_site : "?");
			place->depth = depth;
			memcpy(place->caller, caller, (size_t)depth * sizeof *caller);
			/* Release: pairs with the acquire in write_place(). */
			atomic_store_explicit(&place->is_complete, true, memory_order_release);
		}
		return (uint16_t)number;
	}
	return OTHERS;
}

/* ---- Bytes ---- */

static void copy_peak(void)
{
	/*
	 * Acquire: pairs with the release below. A copy is visible to the next thread that copies.
	 */
	if (atomic_exchange_explicit(&profile.is_copying, true, memory_order_acquire))
		return;
	for (unsigned i = 0; i < REEL_PLACES; i++)
		profile.place[i].held_at_peak =
			atomic_load_explicit(&profile.place[i].held, memory_order_relaxed);
	atomic_store_explicit(&profile.is_copying, false, memory_order_release);
}

static void note_peak(int64_t held)
{
	/* Relaxed, all: figures. */
	int64_t peak = atomic_load_explicit(&profile.peak, memory_order_relaxed);

	while (held > peak &&
	       !atomic_compare_exchange_weak_explicit(&profile.peak, &peak, held,
						      memory_order_relaxed, memory_order_relaxed))
		;
	if (held > peak)
		atomic_store_explicit(&profile.is_higher, true, memory_order_relaxed);
}

/* A number of pushed bytes below 0 wraps, and so does the sum, back to its true value. */
static void add(uint16_t number, int64_t held, uint64_t pushed)
{
	struct place *place = &profile.place[number];
	int64_t before;

	REEL_ASSERT(number < REEL_PLACES);
	/* Relaxed, both: figures. */
	before = atomic_fetch_add_explicit(&place->held, held, memory_order_relaxed);
	REEL_TRACE(PLACE, 0, number, before + held);
	atomic_fetch_add_explicit(&place->bytes, pushed, memory_order_relaxed);
}

void reel_profile_count(uint16_t number, int64_t bytes, uint64_t pushed)
{
	/* Relaxed, both: figures. */
	if (bytes < 0 &&
	    atomic_exchange_explicit(&profile.is_higher, false, memory_order_relaxed))
		copy_peak();
	add(number, bytes, pushed);
	note_peak(bytes + atomic_fetch_add_explicit(&profile.held, bytes, memory_order_relaxed));
}

void reel_profile_move(uint16_t from, uint16_t to, uint64_t bytes)
{
	REEL_ASSERT(from > 0 && to > 0);
	if (from == to)
		return;
	add(from, -(int64_t)bytes, -bytes);
	add(to, (int64_t)bytes, bytes);
}

/* ---- The file ---- */

/* Ends a line with a name, in which a newline is "\n" and a backslash is doubled. */
static void write_name(FILE *to, const char *name)
{
	for (; *name; name++) {
		if (*name == '\n' || *name == '\\')
			putc('\\', to);
		putc(*name == '\n' ? 'n' : *name, to);
	}
	putc('\n', to);
}

static void write_place(FILE *to, unsigned number)
{
	const struct place *place = &profile.place[number];
	uint64_t bytes = atomic_load_explicit(&place->bytes, memory_order_relaxed);
	/* Acquire: pairs with the release in reel_profile_place(). */
	bool is_complete = atomic_load_explicit(&place->is_complete, memory_order_acquire);

	if (!bytes)
		return;
	fprintf(to, "place %u %" PRIu64 " %" PRId64, number, bytes, place->held_at_peak);
	for (int i = 0; is_complete && i < place->depth; i++)
		fprintf(to, " %" PRIxPTR, (uintptr_t)place->caller[i]);
	fputs(" at ", to);
	write_name(to, is_complete ? place->call_site : "?");
}

#if HAVE_LINK_H
/* Where the code of a file lies: an address less `bias` is one in the file. */
static int write_module(struct dl_phdr_info *info, size_t size, void *context)
{
	char own[4096];
	const char *name = info->dlpi_name;
	ssize_t length = -1;

	(void)size;
	if (!*name) {
		length = readlink("/proc/self/exe", own, sizeof own - 1);
		own[length < 0 ? 0 : length] = '\0';
		name = own;
	}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		fprintf(context, "code %" PRIxPTR " %" PRIxPTR " %" PRIxPTR " ",
			(uintptr_t)(info->dlpi_addr + segment->p_vaddr),
			(uintptr_t)(info->dlpi_addr + segment->p_vaddr + segment->p_memsz),
			(uintptr_t)info->dlpi_addr);
		write_name(context, name);
	}
	return 0;
}
#endif

/*
 * A disk that is full is no reason to end the program in another way than it does, nor is the limit
 * of the process, beyond which the system would send SIGXFSZ.
 */
static void write_all(void)
{
	REEL_UNCANCELLED;
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);

	if (!to)
		return;
	if (atomic_load_explicit(&profile.is_higher, memory_order_relaxed))
		copy_peak();
	fprintf(to, MAGIC "peak %" PRId64 "\n",
		atomic_load_explicit(&profile.peak, memory_order_relaxed));
#if HAVE_LINK_H
	dl_iterate_phdr(write_module, to);
#endif
	for (unsigned i = 0; i < REEL_PLACES; i++)
		write_place(to, i);
	if (!fclose(to) && length <= reel_os_file_max_bytes())
		(void)reel_os_file_write(profile.file, &(struct iovec){text, length}, 1, 0);
	free(text);
}

/*
 * Threads that still run change figures, and nothing else. A child that was made without the
 * handlers of fork() leaves the file to its parent.
 */
__attribute__((destructor)) static void end_profile(void)
{
	if (!reel_profiles() || reel_process_is_child(profile.process))
		return;
	atomic_store_explicit(&reel_profile_is_on, false, memory_order_relaxed);
	if (reel_os_file_is(profile.file, &profile.identity))
		write_all();
}

void reel_profile_open(void)
{
	REEL_UNCANCELLED;
	const char *path = reel_output_path("REEL_PROFILE", &was_opened);
	void *caller[MAX_DEPTH];
	int error;

	if (!path)
		return;
	profile.process = getpid();
	error = reel_output_open(path, MAGIC, &profile.file);
	if (!error) {
		reel_os_file_identify(profile.file, &profile.identity);
		profile.place = calloc(REEL_PLACES, sizeof *profile.place);
		error = profile.place ? 0 : -ENOMEM;
		if (error)
			reel_os_file_close(profile.file);
	}
	if (error) {
		reel_output_refuse("REEL_PROFILE", path, error);
		return;
	}
	/* The first call loads a library, which takes memory and locks. */
	(void)get_callers(caller);
	/* Release: pairs with the acquire in reel_profiles(). Makes the table visible. */
	atomic_store_explicit(&reel_profile_is_on, true, memory_order_release);
}

void reel_profile_leave(void)
{
	if (!reel_profiles())
		return;
	/* Relaxed: the child has one thread. */
	atomic_store_explicit(&reel_profile_is_on, false, memory_order_relaxed);
	reel_os_file_close_if(profile.file, &profile.identity);
}
