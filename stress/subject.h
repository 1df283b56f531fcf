/* SPDX-License-Identifier: MIT */
/*
 * A tape, and its expected values. Every value is a function of the seed, the tape, the
 * position, and how often the tape came up to there; so no copies of values are kept,
 * and a value left from before is not mistaken for the new one.
 */
#ifndef REEL_STRESS_SUBJECT_H
#define REEL_STRESS_SUBJECT_H

#include "stress.h"

enum subject_shape { WORD, CHAR, BIT, BITS, RECORD, WIDE, SPAN, RESERVED, WIDE_SPAN, ARRAY, GIANT,
		     SHAPES };

#define ALL_SHAPES ((1u << SHAPES) - 1)

/* Verdict on a value that was read, as bits: it may be both. */
enum verdict { WRONG, RIGHT, ONES, RIGHT_ONES };

/* Fills `bytes` bytes with the value of `number`. */
void subject_write(void *target, uint64_t number, size_t bytes);
/*
 * Returns whether the bytes have the value of `number`, or are all ones, or both. `source` NULL:
 * the pop was refused.
 */
enum verdict subject_judge(const void *source, uint64_t number, size_t bytes);

#define MAX_RISES 16
#define MAX_HOLDS 3
#define MAX_MARKS 6

struct subject_state {
	uint64_t height;          /* how many values are there */
	uint64_t refused_from;    /* those from here on were refused */
	uint64_t sum;             /* XOR of the numbers of values that were not refused */
	/* Where it went up, after it had come down; the values differ each time. */
	unsigned rises;
	struct {
		uint64_t from;
		uint64_t number;
	} rise[MAX_RISES];
	bool came_down;
};

struct subject {
	reel_tape tape;
	struct stress_stage *stage;
	uint64_t number;
	uint64_t last_rise;
	uint64_t skew;            /* 0, but where a failure is pretended */
	struct subject_state now;
	struct subject_state held[MAX_HOLDS];
	unsigned holds;
	struct {
		reel_mark mark;
		uint64_t height;
	} mark[MAX_MARKS];
	unsigned marks;
	unsigned outside;         /* marks below this one are from outside of the innermost hold */
};

void subject_open(struct subject *subject, struct stress_stage *stage, uint64_t number);
/* One operation, which the stage's draw chooses among those that it has. */
void subject_act(struct subject *subject, struct stress_worker *worker,
		 struct stress_random *random);
/* Pop all that is there, so that nothing is left. */
void subject_empty(struct subject *subject);
void subject_close(struct subject *subject);
/* The contents of the tape are no longer known. */
void subject_forget(struct subject *subject);

#endif
