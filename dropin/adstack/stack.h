/* SPDX-License-Identifier: MIT */
/*
 * A thread's stack. Outside of repeat levels it is one tape, reel_adstack_tape, whose fast paths
 * are inline. A repeat level moves that tape to a layer, where it is held and read. An empty tape
 * replaces it, for the values that are pushed in the level:
 *
 *	reel_adstack_tape    pushes, and pops as long as it is not empty
 *	layers               the values that the innermost level protects
 *	layers->below        the values that the next outer level protects
 *	...                  the lowest layer: the values that were pushed outside of all levels
 *
 * A level protects values by a hold (reel_tape_hold()) on each layer that exists when the level
 * begins. After the end of the level its layer becomes the thread's tape again as soon as the
 * values above it are popped.
 *
 * A stack has one bit word, in reel_adstack_tape. Each layer keeps a copy of the word from the
 * beginning of its level.
 *
 *	stack.c    begin and end; the slow path of a push
 *	take.c     the slow path of a pop
 *	bits.c     the slow path of bits
 *	array.c    arrays
 *	repeat.c   repeat levels and looks
 *	segment.c  stacks of OpenMP's tasks
 *	count.c    REEL_STATS; types.c, the names of the types
 *	fail.c     the end of the program
 *	scalars.c, looks.c, arrays.c, tangent.c, manage.c, show.c: the original's functions
 *	openmp.c, binomial.c, fixedpoint.c: the original's functions beside the stack
 */
#ifndef REEL_ADSTACK_STACK_H
#define REEL_ADSTACK_STACK_H

#include "config.h"

#define REEL_ADSTACK_LIBRARY 1
#include "reel-adstack.h"

#include "tape/tape.h"

struct adstack_layer {
	reel_tape tape;
	struct adstack_layer *below;
	/* True until the level that made this layer ends. */
	bool open;
	/* The heights of the bottoms of this tape and of the tape above it. */
	uint64_t base;
	uint64_t above;
	/* The bit word at the beginning of the level. */
	uint64_t bits;
};

/* A stack without its topmost tape. All zero: an empty stack. */
struct adstack_stack {
	struct adstack_layer *layers;
	/* Number of open levels; a look does not count. */
	unsigned levels;
	uint64_t base;
	struct adstack_schedule *schedules;
	struct adstack_session *sessions;
	struct adstack_fixed_point *fixed_points;
};

/* A thread without its tape. All zero until the thread's first call. */
struct adstack {
	/* The stack of the thread, or of the segment that the thread is in. */
	struct adstack_stack stack;
	bool looking;
	/* The number of the thread, from 1; 0: the stack has not begun. */
	unsigned number;
	/* NULL: the default pool. */
	reel_pool *pool;
	struct adstack_counts *counts;
	/* The segment that the thread entered last and has not left. */
	reel_adstack_segment *segment;
	/* The bytes of the last scalar that a pop took the slow path for. */
	char gathered[32];
};

extern _Thread_local struct adstack reel_adstack __attribute__((tls_model("initial-exec")));
/* The layer that the fast path of a pop may read, if the innermost level is open; or NULL. */
extern _Thread_local struct adstack_layer *reel_adstack_reader
	__attribute__((tls_model("initial-exec")));

/*
 * The thread's tape. The empty assembly hides the origin of the address. Without it,
 * UndefinedBehaviorSanitizer's test for NULL uses the flags of the addition that makes the address,
 * but the linker may replace that addition by an instruction that sets no flags.
 */
static inline reel_tape *reel_adstack_own(void)
{
	reel_tape *tape = &reel_adstack_tape;

#if defined(__GNUC__)
	__asm__("" : "+r"(tape));
#endif
	return tape;
}

/* stack.c: make the stack ready for a push or a pop: begin it, and end a look. */
void reel_adstack_ready(void);
/* Begin the stack, if this is the thread's first call. */
void reel_adstack_begin(void);
/* Replace the thread's tape by an empty one with the same bit word. */
void reel_adstack_fresh_tape(void);
/* For tests: set the pool of this thread's stack, which must be empty. */
void reel_adstack_set_pool(reel_pool *pool);
/* Number of bytes that can be popped. */
uint64_t reel_adstack_bytes(void);
/*
 * The height of the top as the original counts it: values that are pushed in a repeat level lie
 * above all values that the level protects, even if some of these have been popped.
 */
uint64_t reel_adstack_height(void);
/* Memory of zeros. Ends the program if there is none; `what` names its purpose in the message. */
void *reel_adstack_allocate(size_t bytes, const char *what);

/* take.c: as reel_adstack_pop_slow(), for a caller that has tried reel_adstack_read() before. */
const char *reel_adstack_pop_gathered(size_t bytes, enum reel_adstack_type type);

/* take.c: copy the topmost bytes and take them off. */
void reel_adstack_take(void *target, size_t bytes, enum reel_adstack_type type);
/* In checked mode: compare a pop of n bytes, or bits, with its push. */
void reel_adstack_check_pop(enum reel_adstack_type type, size_t n);
/*
 * If the innermost level has ended and nothing is above its layer, make the layer the thread's tape
 * again. Until then each pop must take the slow path, which calls this function.
 */
void reel_adstack_settle(void);
/* Set reel_adstack_reader anew, after a change of the layers. */
void reel_adstack_find_reader(void);

/* bits.c: number of bits that wait. */
unsigned reel_adstack_bit_count(void);

/* array.c: all elements as one value. */
void reel_adstack_push_array(const void *source, size_t bytes, enum reel_adstack_type type);
void reel_adstack_pop_array(void *target, size_t bytes, enum reel_adstack_type type);

/*
 * The fast path of a pop in a repeat level, whose own tape is empty: takes `bytes` bytes off the
 * layer and returns their address, or NULL.
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
/* Make the top layer the thread's tape again. Drops the values of the present tape. */
void reel_adstack_come_back(void);
/* Ends the look, if one is open. */
void reel_adstack_end_look(void);
void reel_adstack_look(void *target, size_t bytes, enum reel_adstack_type type);
unsigned reel_adstack_look_bits(unsigned n, enum reel_adstack_type type);

/* segment.c: warn once if the runtime reports that an explicit task uses a thread's stack. */
void reel_adstack_note_task(void);
void reel_adstack_segments_end(void);

/* types.c: for checked mode and messages. */
extern const struct adstack_type {
	/* The type of one byte or bit. */
	reel_type type;
	/* Bytes of one element of an array. */
	size_t element;
	const char *push;
	const char *pop;
} reel_adstack_types[REEL_ADSTACK_TYPES];

/* count.c: returns true with REEL_STATS=1, and begins the counts of the calling thread. */
bool reel_adstack_is_counting(void);
void reel_adstack_counts_start(void);
void reel_adstack_count_push(enum reel_adstack_type type, size_t bytes);
void reel_adstack_count_pop(enum reel_adstack_type type, size_t bytes);
/* Sum of the bytes that this thread pushed and popped, and its exact peak. */
uint64_t reel_adstack_counted_traffic(void);
uint64_t reel_adstack_counted_peak(void);

/* Free the memory that openmp.c, binomial.c and fixedpoint.c have for this thread. */
void reel_adstack_schedules_end(void);
void reel_adstack_sessions_end(void);
void reel_adstack_fixed_points_end(void);

/* fail.c: one line on stderr, then the handler, then exit status 1. */
_Noreturn void reel_adstack_fail(int error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same for an error of a tape of the stack; the error handler of these tapes. */
void reel_adstack_tape_failed(const reel_tape *tape, int error, const char *message, void *context);

#endif
