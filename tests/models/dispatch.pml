/* SPDX-License-Identifier: MIT */
/*
 * Lanes that take chunks of loops from one word (omp/loop/loop.c): the number of a loop, and how many
 * of its chunks are taken. No barrier is between the loops, so a lane may be ahead of another.
 * Checked is that each chunk of each loop is taken once.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef LANES
#define LANES 3
#endif
#ifndef LOOPS
#define LOOPS 3
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif

byte word_loop, word_taken;
byte newest;
byte takers[LOOPS * CHUNKS];
byte ended;

#define PLACE(loop, chunk) ((loop - 1) * CHUNKS + chunk)

proctype lane()
{
	byte loop = 1, seen_loop, seen_taken, first;
	bool swapped;

	do
	:: loop <= LOOPS ->
		do
		:: atomic { seen_loop = word_loop; seen_taken = word_taken }
			if
			:: newest > loop -> break
			:: else
			fi;
			if
			:: seen_loop < loop -> first = 0
			:: seen_loop == loop -> first = seen_taken
#ifdef BREAK_GO_BACK
			:: seen_loop > loop -> first = 0
#else
			:: seen_loop > loop -> break
#endif
			fi;
			if
#ifdef BREAK_LEAVE_EARLY
			:: first + 1 >= CHUNKS -> break
#else
			:: first >= CHUNKS -> break
#endif
			:: else
			fi;
			atomic {
#ifdef BREAK_NO_SWAP
				swapped = true;
#else
				swapped = word_loop == seen_loop && word_taken == seen_taken;
#endif
				if
				:: swapped ->
					word_loop = loop;
					word_taken = first + 1
				:: else
				fi
			}
			if
			:: swapped ->
				takers[PLACE(loop, first)]++;
				if
				:: seen_loop < loop -> newest = loop
				:: else
				fi
			:: else
			fi
		od;
		loop++
	:: else -> break
	od;
	ended++
}

init
{
	byte i;

	atomic {
		for (i : 1 .. LANES) {
			run lane()
		}
	}
	ended == LANES;
	for (i : 0 .. LOOPS * CHUNKS - 1) {
		assert(takers[i] == 1)
	}
}
