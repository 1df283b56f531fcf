/* SPDX-License-Identifier: MIT */
/*
 * A thread's stack. Most of the time it is one tape, reel_adstack_tape, whose fast paths are
 * inline. A repeat level moves that tape to a layer, where it is held and read, and puts an empty
 * one in its place, for what is pushed meanwhile:
 *
 *	reel_adstack_tape    pushes, and pops while anything is on it
 *	layers               what the innermost level protects, in part pushed in an outer one
 *	layers->below        what the next outer level protects
 *	...                  down to what was pushed outside of all levels
 *
 * A level's protection is a hold (reel_tape_hold()) on each layer that was there when it began.
 * When a level has ended, its layer becomes the thread's tape again as soon as what was pushed
 * above it is popped.
 *
 * The bit word is one for all: it is in reel_adstack_tape, whichever tape that is, and a level
 * notes what it was.
 *
 *	stack.c    begin and end; what the inline push leaves
 *	take.c     what the inline pop leaves
 *	bits.c     the bit word is full, or empty
 *	array.c    arrays
 *	repeat.c   repeat levels and looks
 *	location.c going to a height of before
 *	segment.c  stacks that wait for another task
 *	count.c    REEL_STATS; sites.c, the same by places; types.c, what the types are called
 *	fail.c     the end of the program
 *	scalars.c, looks.c, arrays.c, tangent.c, manage.c, show.c: the original's functions
 *	openmp.c, binomial.c, fixedpoint.c, profile.c: what stands beside its stack
 */
#ifndef REEL_ADSTACK_STACK_H
#define REEL_ADSTACK_STACK_H

#include "config.h"

#define REEL_ADSTACK_LIBRARY 1
#include "reel-adstack.h"

#include "../call-site.h"
#include "tape/tape.h"

struct adstack_layer {
	reel_tape tape;
	struct adstack_layer *below;
	/* The level that began on top of it has not ended. */
	bool open;
	/* Bytes below it when it was the thread's tape, and what is pushed above counts from. */
	uint64_t base;
	uint64_t above;
	/* The bit word when the level began. */
	uint64_t bits;
};

/* What a thread has beside the tape. All zero until its first call. */
struct adstack {
	struct adstack_layer *layers;
	/* Levels that are open; a look is none. */
	unsigned levels;
	bool looking;
	/* Threads count from 1; 0: not begun. */
	unsigned number;
	uint64_t base;
	/* The highest that the stack was when a push came the slow way. */
	uint64_t peak;
	/* NULL: the default pool. */
	reel_pool *pool;
	struct adstack_counts *counts;
	struct adstack_schedule *schedules;
	struct adstack_session *sessions;
	struct adstack_fixed_point *fixed_points;
	struct adstack_profile *profile;
	/* That the thread entered last and has not left. */
	reel_adstack_segment *segment;
	/* A scalar that was popped in pieces. */
	char gathered[32];
};

extern _Thread_local struct adstack reel_adstack __attribute__((tls_model("initial-exec")));
/* The layer that pops read from at once, where the innermost level is open. */
extern _Thread_local struct adstack_layer *reel_adstack_reader
	__attribute__((tls_model("initial-exec")));

/*
 * The thread's tape. The address comes out of an assembly: the linker may replace the addition that
 * makes it by an instruction that sets no flags, though UndefinedBehaviorSanitizer's test for NULL
 * would have used them.
 */
static inline reel_tape *reel_adstack_own(void)
{
	reel_tape *tape = &reel_adstack_tape;

#if defined(__GNUC__)
	__asm__("" : "+r"(tape));
#endif
	return tape;
}

/* stack.c: make it ready to push and pop: begun, no look under way. */
void reel_adstack_ready(void);
/* The thread's first call of any kind. */
void reel_adstack_begin(void);
/* An empty tape in place of the present one, with the same bit word. */
void reel_adstack_fresh_tape(void);
/* For tests: where this thread's stack gets its slabs from; it must be empty. */
void reel_adstack_set_pool(reel_pool *pool);
/* Whether this is the only thread that has had a stack so far. */
bool reel_adstack_is_alone(void);
/* Bytes that can be popped. */
uint64_t reel_adstack_bytes(void);
/*
 * The height of the top as the original counts it: what is pushed in a repeat level stands above
 * what the level protects, wherever reading is.
 */
uint64_t reel_adstack_height(void);
/* How many bytes below the top have heights without a gap. */
uint64_t reel_adstack_topmost_bytes(void);
/* malloc() that ends the program where there is none. */
void *reel_adstack_allocate(size_t bytes, const char *what);

/*
 * stack.c, take.c, bits.c: the slow paths of scalars.c. They do what the functions of
 * reel-adstack.h do whose names end with _slow; `from` is where the program called. A pop has
 * tried reel_adstack_read() before.
 */
char *reel_adstack_push_from(size_t bytes, enum reel_adstack_type type, const void *from);
const char *reel_adstack_pop_from(size_t bytes, enum reel_adstack_type type, const void *from);
void reel_adstack_push_bits_from(unsigned value, unsigned n, enum reel_adstack_type type,
				 const void *from);
unsigned reel_adstack_pop_bits_from(unsigned n, enum reel_adstack_type type, const void *from);

/* take.c: copy the topmost bytes and take them off. */
void reel_adstack_take(void *target, size_t bytes, enum reel_adstack_type type);
/* In checked mode: compare a pop with its push; n bytes, or bits. */
void reel_adstack_check_pop(enum reel_adstack_type type, size_t n);
/*
 * Where the level on top has ended and nothing is above it, what it protected is on top again.
 * Until then each pop goes the slow way, to find out.
 */
void reel_adstack_settle(void);
/* Say again which layer pops read from at once. */
void reel_adstack_find_reader(void);

/* bits.c: how many bits wait. */
unsigned reel_adstack_bit_count(void);

/* array.c: elements of n * size bytes as one value. `from`: where the program called it. */
void reel_adstack_push_array(const void *source, size_t bytes, enum reel_adstack_type type,
			     const void *from);
void reel_adstack_pop_array(void *target, size_t bytes, enum reel_adstack_type type,
			    const void *from);

/*
 * Nothing is on the thread's tape while a level is read: the short way to what the level protects.
 * Takes so many bytes off and returns where they lie, or NULL.
 */
static inline const char *reel_adstack_read(size_t bytes)
{
	struct adstack_layer *reader = reel_adstack_reader;

	if (!reader || reel_adstack_tape.top != (char *)reel_adstack_tape.first ||
	    reel_under(reader->tape.top, bytes, reader->tape.floor))
		return NULL;
	reader->tape.top -= bytes;
	return reader->tape.top;
}

/* repeat.c: the levels. */
void reel_adstack_start_repeat(void);
void reel_adstack_reset_repeat(void);
void reel_adstack_end_repeat(void);
/* Let the layer on top be the thread's tape again, if its level has ended. */
void reel_adstack_come_back(void);
void reel_adstack_end_look(void);
void reel_adstack_look(void *target, size_t bytes, enum reel_adstack_type type);
unsigned reel_adstack_look_bits(unsigned n, enum reel_adstack_type type);

/* segment.c: say once that an explicit task uses the stack of a thread, where the runtime tells. */
void reel_adstack_note_task(void);
void reel_adstack_segments_end(void);

/* types.c: for checked mode and messages. */
extern const struct adstack_type {
	/* Of a byte or a bit. */
	reel_type type;
	/* Bytes of an element of an array. */
	size_t element;
	const char *push;
	const char *pop;
} reel_adstack_types[REEL_ADSTACK_TYPES];

/* count.c: whether REEL_STATS=1; all is counted then. */
bool reel_adstack_is_counting(void);
void reel_adstack_counts_start(void);
void reel_adstack_count_push(enum reel_adstack_type type, size_t bytes, const void *from);
void reel_adstack_count_pop(enum reel_adstack_type type, size_t bytes, const void *from);
/* Bytes pushed and popped by this thread, and its exact peak. */
uint64_t reel_adstack_counted_traffic(void);
uint64_t reel_adstack_counted_peak(void);

/* sites.c: what one thread pushed and popped by places of calls; all zero is empty. */
struct adstack_count {
	uint64_t pushes;
	uint64_t pops;
	uint64_t pushed_bytes;
	uint64_t popped_bytes;
};

#define REEL_ADSTACK_SITE_LISTS 256

struct adstack_sites {
	_Atomic(struct adstack_site *) list[REEL_ADSTACK_SITE_LISTS];
};

/* The count of this place; its thread alone adds to it. */
struct adstack_count *reel_adstack_site(struct adstack_sites *sites, const void *from);
/* The places of all these threads, those that pushed most first, on stderr. */
void reel_adstack_report_sites(struct adstack_sites *const *sites, size_t threads);

/* The parts that stand beside the stack give up what they hold for this thread. */
void reel_adstack_schedules_end(void);
void reel_adstack_sessions_end(void);
void reel_adstack_fixed_points_end(void);
void reel_adstack_profile_end(void);

/* fail.c: one line on stderr, then the handler, then exit status 1. */
_Noreturn void reel_adstack_fail(int error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an error of the tape below. */
void reel_adstack_tape_failed(const reel_tape *tape, int error, const char *message, void *context);

#endif
