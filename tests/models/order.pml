/* SPDX-License-Identifier: MIT */
/*
 * Lanes that wait for their turns in the reverse sweep (omp/order/ordered.c): each has noted some of the
 * turns, and waits for each of its own, from the last one down, awake at first and then asleep.
 * Checked is that one lane at a time is in the section, in the exact opposite order, and that
 * nobody sleeps for ever.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef LANES
#define LANES 3
#endif
#ifndef TURNS
#define TURNS 4
#endif
#define NOBODY 255

byte who[TURNS];
byte count = TURNS;
byte inside;

byte locked_by = NOBODY;
byte sleepers;
bool asleep[LANES];

inline lock()
{
	atomic { locked_by == NOBODY -> locked_by = _pid }
}

inline unlock()
{
	locked_by = NOBODY
}

inline wake_sleepers(i)
{
	i = 0;
	do
	:: i < LANES ->
		asleep[i] = false;
		i++
	:: else -> break
	od
}

inline sleep_until(turn, lane)
{
#ifdef BREAK_COUNT_UNLOCKED
	/* Looked at before the sleeper counts. */
	if
	:: count == turn + 1 -> skip
	:: else ->
		lock();
		sleepers++;
		atomic { asleep[lane] = true; unlock() }
		!asleep[lane];
		lock();
		sleepers--;
		unlock()
	fi
#else
	lock();
	sleepers++;
	do
	:: count == turn + 1 -> break
	:: else ->
#ifdef BREAK_WAIT_UNLOCKED
		unlock();
		asleep[lane] = true;
#else
		atomic { asleep[lane] = true; unlock() }
#endif
		!asleep[lane];
		lock();
#ifdef BREAK_NO_SECOND_LOOK
		break
#endif
	od;
	sleepers--;
	unlock()
#endif
}

proctype lane(byte number)
{
	byte turn = TURNS, i;

	do
	:: turn > 0 ->
		turn--;
		if
		:: who[turn] == number ->
			if
			:: count == turn + 1 -> skip
			:: sleep_until(turn, number)
			fi;
			assert(count == turn + 1 && inside == 0);
			inside++;
			inside--;
#ifdef BREAK_WAKE_FIRST
			if
			:: sleepers > 0 ->
				lock();
				wake_sleepers(i);
				unlock()
			:: else
			fi;
			count--
#else
			count--;
			if
			:: sleepers > 0 ->
				lock();
				wake_sleepers(i);
				unlock()
			:: else
			fi
#endif
		:: else
		fi
	:: else -> break
	od
}

init
{
	byte i;

	atomic {
		for (i : 0 .. TURNS - 1) {
			if
			:: who[i] = 0
			:: who[i] = 1
			:: who[i] = 2
			fi
		}
		for (i : 0 .. LANES - 1) {
			run lane(i)
		}
	}
}
