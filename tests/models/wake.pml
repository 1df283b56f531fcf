/* SPDX-License-Identifier: MIT */
/*
 * Going to sleep and being woken: events (lib/os/wakeup.h), with raising and posting as two steps, and
 * the offload thread's loop (lib/spill/thread/thread.c), with commands that pause and stop it, and owners that
 * wait for what only a transfer can bring. Checked is that nobody waits for ever: no deadlock.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef OWNERS
#define OWNERS 2
#endif
/* How often each owner waits, and how many pauses there are. */
#ifndef WAITS
#define WAITS 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif

/* Events: each owner's arrival, then the offload thread's work. */
#define WORK OWNERS
bool raised[OWNERS + 1];
byte count[OWNERS + 1];

/* What an owner waits for: not yet looked at, under way, complete, arrived. */
#define NOTHING 0
#define WANTED 1
#define UNDER_WAY 2
#define COMPLETE 3
byte wanted[OWNERS];

#define RUN 0
#define PAUSE 1
#define STOP 2
byte command;
byte obeyed;
byte resumed;
byte ended;
bool stopped;

inline signal(event)
{
#ifdef BREAK_RAISE_LATE
	was_raised = raised[event];
	if
	:: !was_raised -> count[event]++
	:: else
	fi;
	raised[event] = true;
#else
	d_step {
		was_raised = raised[event];
		raised[event] = true
	}
	if
	:: !was_raised -> count[event]++
	:: else
	fi;
#endif
	was_raised = false
}

inline sleep_on(event)
{
	atomic {
		count[event] > 0;
		count[event]--
	}
#ifndef BREAK_LOWER_LATE
	raised[event] = false
#endif
}

inline lower_late(event)
{
#ifdef BREAK_LOWER_LATE
	raised[event] = false
#else
	skip
#endif
}

proctype owner(byte me)
{
	byte waits;
	bool was_raised;

	do
	:: waits < WAITS ->
		wanted[me] = WANTED;
		do
		:: wanted[me] != NOTHING ->
			signal(WORK);
			sleep_on(me);
			lower_late(me)
		:: else -> break
		od;
		waits++
	:: else -> break
	od;
	/* Do nothing until another owner has ended: nobody may need this one for his own end. */
	if
	:: me == 0 && OWNERS > 1 -> ended > 0
	:: true
	fi;
	/* An owner that closes its tape has the offload thread awake when the pool is closed. */
	signal(WORK);
	ended++
}

proctype store(byte which)
{
	bool was_raised;

end:
	do
	:: wanted[which] == UNDER_WAY ->
		wanted[which] = COMPLETE;
		signal(WORK)
	od
}

inline collect()
{
	i = 0;
	do
	:: i < OWNERS ->
		if
		:: wanted[i] == COMPLETE ->
			wanted[i] = NOTHING;
			under_way--;
			signal(i)
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

inline work_off()
{
	collect();
	do
	:: i < OWNERS ->
		if
		:: wanted[i] == WANTED ->
			under_way++;
			wanted[i] = UNDER_WAY
		:: else
		fi;
		i++
	:: else -> break
	od;
	i = 0
}

inline drain()
{
	do
	:: under_way ->
		sleep_on(WORK);
		collect();
		lower_late(WORK)
	:: else -> break
	od
}

/* What was signalled while it drained is looked at afterwards. */
inline obey()
{
	do
	:: obeying != RUN ->
		drain();
#ifndef BREAK_DRAIN_FORGETS
		signal(WORK);
#endif
		command = RUN;
		obeyed++;
		if
		:: obeying == PAUSE ->
			atomic {
				resumed > 0;
				resumed--
			}
		:: else
		fi;
		break
	:: else -> break
	od
}

active proctype offload()
{
	byte i, under_way, obeying;
	bool was_raised, done;

	do
	:: done -> break
	:: !done ->
end_asleep:	sleep_on(WORK);
		work_off();
		lower_late(WORK);
#ifdef BREAK_STOP_READ_TWICE
		done = command == STOP;
		obeying = command;
#else
		obeying = command;
		done = obeying == STOP;
#endif
		obey()
	od;
	stopped = true
}

inline order(what)
{
	command = what;
	signal(WORK);
	atomic {
		obeyed > 0;
		obeyed--
	}
}

init {
	byte i;
	bool was_raised;

	atomic {
		do
		:: i < OWNERS ->
			run owner(i);
			run store(i);
			i++
		:: else -> break
		od
	}
	i = 0;
	do
	:: i < PAUSES ->
		order(PAUSE);
		/* A fork. */
		resumed++;
		i++
	:: else -> break
	od;
	ended == OWNERS;
	order(STOP);
	stopped
}
