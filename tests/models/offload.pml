/* SPDX-License-Identifier: MIT */
/*
 * Tapes on a pool with a store: the states of lib/pool/slab.h, moved by the tapes' owners
 * (lib/spill/owner/slab-owner.c, room.c, pop.c, magazine.c) and by the offload thread (thread.c, waiting.c, write-back.c,
 * read-ahead.c), under a budget of a few frames, with a store that completes each transfer at any
 * later time. Names are those of the C code; a step here is one access to what is shared there.
 *
 * Checked, besides deadlock:
 *
 *	what lies in a frame is what its tape pushed last, whenever the owner looks
 *	no frame is given away while the store has it
 *	a put's data stays as it is; a get finds its copy, and no copy is dropped that counts
 *	the counters of DIRTY and CLEAN are never too small, and 0 at the end
 *	a push is refused only when the offload thread has looked everywhere since it asked
 *	at the end all frames and slabs are back, and the store is empty
 *
 * Left out, since nothing here rests on it: what is inside of the lists (a list is a set, which is
 * taken from lowest first, so that what was given is used again soon), the order in which a survey
 * puts slabs (any), when it is time to write behind or to keep frames ready (any time, or never),
 * tickets (there are enough), that a covered slab may wake the offload thread, holds, and slabs of
 * other kinds. Not checked is that rounds of the offload thread which do something come to an end.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef OWNERS
#define OWNERS 1
#endif
/* What each owner may push: slabs, counting those that are pushed on again. */
#ifndef PUSHES
#define PUSHES 3
#endif
/* How many slabs a tape may have. */
#ifndef HEIGHT
#define HEIGHT 3
#endif
/* The hard budget, and how many frames there are for pops beyond it. */
#ifndef BUDGET
#define BUDGET 2
#endif
#ifndef FRAMES
#define FRAMES (BUDGET + OWNERS)
#endif
#ifndef SLABS
#define SLABS 6
#endif
#ifndef PUTS_FAIL
#define PUTS_FAIL 0
#endif
#ifndef GETS_FAIL
#define GETS_FAIL 0
#endif
/* Whether owners ask for slabs in advance, and whether the offload thread works unasked. */
#ifndef AHEAD
#define AHEAD 1
#endif
#ifndef UNASKED
#define UNASKED 1
#endif
/*
 * Without FINE, what one side does at a stretch is one step, as far as it is the business of one
 * slab: with several owners, the subject is who gets which frame, and who is woken.
 */
#ifndef FINE
#define FINE 1
#endif
#if FINE
#define TOGETHER
#else
#define TOGETHER atomic
#endif
#define PUT_DEPTH 1
#define MAX_FAILURES 2
#define ATTEMPTS 2

#define NONE 15
#define NOTHING 0
#define GARBAGE 255
#define BIT(i) (1 << (i))

/* enum reel_slab_state */
#define EMPTY 0
#define OPEN 1
#define DIRTY 2
#define WRITING 3
#define PINNED_WRITING 4
#define CLEAN 5
#define PINNED 6
#define EVICTING 7
#define STORED 8
#define READ_QUEUED 9
#define READING 10
#define LOST 11
#define FREE_PENDING 12

byte state[SLABS];
/* 1 + which, or 0: none. */
byte frame[SLABS];
byte client[SLABS];
/* Slabs that are EMPTY and on a list. */
byte unused = BIT(SLABS) - 1;

/* What lies in a frame: a number that no other push has; and whether the store has it. */
byte content[FRAMES + 1];
bool lent[FRAMES + 1];
/* The warm list, the estimate of its length, and how many frames were ever carved. */
byte warm;
byte warm_chains;
byte resident;

/* The store: what it does with each slab, and what it keeps. */
#define IDLE 0
#define PUT 1
#define GET 2
#define DONE 3
#define FAILED 4
byte transfer[SLABS];
bool get[SLABS];
bool stored[SLABS];
byte copy[SLABS];

/* Events: the offload thread's, then each client's. */
#define WORK OWNERS
bool raised[OWNERS + 1];
byte count[OWNERS + 1];

byte awaited[OWNERS] = NONE;
/* The ring holds as many as there are slabs below a top. */
chan request[OWNERS] = [HEIGHT] of { byte };

byte sealed;
byte clean;
bool stale;

/* Who waits for a frame; what he was told; whether somebody asked since the last look. */
bool waiting[OWNERS];
bool freed[OWNERS];
bool refused[OWNERS];
bool asked_since;

bool stop;
bool stopped;
byte ended;

/* ---- Steps of both sides ---- */

/* One step: whoever waits is behind the semaphore anyway until it is posted. wake.pml has two. */
inline signal(event)
{
	d_step {
		if
		:: !raised[event] ->
			raised[event] = true;
			count[event]++
		:: else
		fi
	}
}

#ifdef BREAK_LOWER_LATE
#define LOWER(event) skip
#define LOWER_LATE(event) raised[event] = false
#else
#define LOWER(event) raised[event] = false
#define LOWER_LATE(event) skip
#endif

inline sleep_on(event)
{
	TOGETHER {
		atomic {
			count[event] > 0;
			count[event]--
		}
		LOWER(event)
	}
}

inline decrement(counter)
{
	assert(counter > 0);
	counter--
}

/* Nobody looks into a frame on a list. The estimate comes first, and goes last. */
inline push_warm(which)
{
	TOGETHER {
		d_step {
			assert(!lent[which] && !(warm & BIT(which)));
			content[which] = NOTHING;
			warm_chains++
		}
		warm = warm | BIT(which)
	}
}

inline lowest(set, element)
{
	element = 0;
	do
	:: !((set) & BIT(element)) -> element++
	:: else -> break
	od
}

/* which: 0 if the budget is used up and no frame is ready. */
inline take_frame_from_pool(which)
{
	TOGETHER {
		d_step {
			which = 0;
			from_list = warm != 0;
			if
			:: warm ->
				lowest(warm, which);
				warm = warm & ~BIT(which)
			:: !warm && resident < BUDGET ->
				resident++;
				which = resident
			:: else
			fi
		}
		if
		:: from_list -> decrement(warm_chains)
		:: else
		fi;
		from_list = false
	}
}

/* ---- A tape's owner ---- */

/* OPEN to EMPTY, with its frame. */
inline give(t)
{
	d_step {
		assert(state[t] == OPEN && frame[t]);
		f = frame[t];
		assert(!lent[f]);
		content[f] = NOTHING;
		state[t] = EMPTY;
		client[t] = 0;
		frame[t] = 0;
		warm_chains++
	}
	d_step {
		warm = warm | BIT(f);
		unused = unused | BIT(t)
	}
}

inline give_bare(t)
{
	d_step {
		assert(state[t] == OPEN && !frame[t]);
		state[t] = EMPTY;
		client[t] = 0;
		unused = unused | BIT(t)
	}
}

inline discard(t)
{
	TOGETHER {
		d_step {
			was = state[t];
			if
#ifdef BREAK_GIVE_WRITING
			:: was == WRITING -> state[t] = OPEN
#endif
			:: was == WRITING || was == PINNED_WRITING || was == EVICTING ||
			   was == READING ->
				state[t] = FREE_PENDING;
				was = EMPTY
			:: else ->
				assert(was != EMPTY && was != FREE_PENDING);
				state[t] = OPEN
			fi
		}
		if
		:: was == DIRTY -> decrement(sealed)
		:: was == CLEAN -> decrement(clean)
		:: else
		fi;
		if
		:: was == CLEAN || was == PINNED || was == LOST || was == STORED ||
		   was == READ_QUEUED ->
			stale = true
		:: else
		fi;
		if
		:: was == STORED || was == READ_QUEUED -> give_bare(t)
		:: was == EMPTY
		:: else -> give(t)
		fi;
		was = EMPTY;
		f = 0
	}
}

#define HAS_COPY(t) (state[t] == PINNED || state[t] == PINNED_WRITING)
#define MAY_READ(t) (state[t] == OPEN || HAS_COPY(t))

inline read(t, expected)
{
	d_step {
		assert(MAY_READ(t));
		assert(content[frame[t]] == expected)
	}
}

inline write(t, kept)
{
	d_step {
		assert(state[t] == OPEN);
		pushes++;
		kept = 1 + me * PUSHES + pushes;
		content[frame[t]] = kept
	}
}

/* ok: whether it is OPEN. */
inline writable(t)
{
	TOGETHER {
		d_step {
			was = state[t];
			if
			:: was == PINNED -> state[t] = OPEN
			:: else
			fi
		}
		if
		:: was == PINNED -> stale = true
		:: else
		fi;
#ifdef BREAK_PUSH_ON_WRITING
		ok = true;
		if
		:: state[t] == PINNED_WRITING ->
			pushes++;
			value[height - 1] = 1 + me * PUSHES + pushes;
			content[frame[t]] = value[height - 1];
			goto pushed
		:: else
		fi;
#endif
		ok = state[t] == OPEN;
		was = 0
	}
}

inline drop_spare()
{
	TOGETHER {
		if
		:: spare != NONE ->
			discard(spare);
			spare = NONE
		:: else
		fi
	}
}

/* A slab counts before it can be seen in its new state, so that the count is never too small. */
inline cover(t)
{
	TOGETHER {
		client[t] = me;
		do
		:: d_step {
				was = state[t];
				if
				:: was == PINNED_WRITING -> state[t] = WRITING
#ifdef BREAK_COUNT_LATE
				:: was == OPEN -> state[t] = DIRTY
#else
				:: was == OPEN -> sealed++
#endif
				:: was == PINNED -> clean++
				:: else
				fi
			};
			if
			:: was == PINNED -> state[t] = CLEAN
#ifdef BREAK_COUNT_LATE
			:: was == OPEN -> sealed++
#else
			:: was == OPEN -> state[t] = DIRTY
#endif
			:: else
			fi;
			break
		od;
		was = 0
	}
}

/* ok: false if it was refused. */
inline await_frame()
{
	atomic {
		waiting[me] = true;
		asked_since = true;
		signal(WORK)
	}
	d_step {
		freed[me] || refused[me];
		waiting[me] = false;
		ok = freed[me];
		freed[me] = false;
		refused[me] = false
	}
}

/* s: a slab with a frame; ok: false if none could be had. */
inline take_slab()
{
	do
	:: TOGETHER {
			take_frame_from_pool(f);
			if
			:: f ->
				d_step {
					assert(unused);
					lowest(unused, s);
					unused = unused & ~BIT(s);
					assert(state[s] == EMPTY && !frame[s]);
					frame[s] = f;
					state[s] = OPEN;
					f = 0;
					ok = true
				}
			:: else
			fi
		};
		if
		:: ok -> break
		:: else -> await_frame()
		fi;
		if
		:: !ok -> break
		:: else -> ok = false
		fi
	od
}

inline next_slab()
{
	ok = false;
	if
	:: spare != NONE -> writable(spare)
	:: else
	fi;
	if
	:: ok ->
		s = spare;
		spare = NONE
	:: else ->
		drop_spare();
		take_slab()
	fi
}

inline put_on_top()
{
	TOGETHER {
		if
		:: height ->
			read(on[height - 1], value[height - 1]);
			cover(on[height - 1]);
#ifdef BREAK_READ_COVERED
			assert(content[frame[on[height - 1]]] == value[height - 1])
#endif
		:: else
		fi;
		on[height] = s;
		write(s, value[height]);
		height++;
		s = 0
	}
}

#define IS_AWAY(t) (state[t] == EVICTING || state[t] == STORED || state[t] == READ_QUEUED || \
		    state[t] == READING)

inline await_arrival(t)
{
	do
	:: IS_AWAY(t) ->
		TOGETHER {
			d_step {
				if
				:: state[t] == STORED -> state[t] = READ_QUEUED
				:: else
				fi
			}
#ifdef BREAK_SIGNAL_FIRST
			signal(WORK);
			awaited[me] = t;
#else
			awaited[me] = t;
			signal(WORK);
#endif
			skip
		}
		sleep_on(me);
		LOWER_LATE(me)
	:: else -> break
	od
}

inline visit(t)
{
	do
	:: TOGETHER {
			d_step {
				was = state[t];
				assert(was != EMPTY && was != FREE_PENDING);
				if
				:: was == DIRTY -> state[t] = OPEN
				:: was == WRITING -> state[t] = PINNED_WRITING
				:: was == CLEAN -> state[t] = PINNED
				:: else
				fi
			}
			if
			:: was == DIRTY -> decrement(sealed)
			:: was == CLEAN -> decrement(clean)
			:: else
			fi
		};
		if
		:: was == EVICTING || was == STORED || was == READ_QUEUED || was == READING ->
			await_arrival(t)
		:: else -> break
		fi
	od;
	was = 0;
	awaited[me] = NONE
}

inline leave_slab()
{
	TOGETHER {
		drop_spare();
		height--;
		if
#ifdef BREAK_LOOK_TWICE
		:: state[on[height]] == OPEN -> spare = on[height]
		:: else ->
			if
			:: HAS_COPY(on[height]) -> spare = on[height]
			:: else ->
				assert(state[on[height]] != OPEN);
				discard(on[height])
			fi
#else
		:: MAY_READ(on[height]) -> spare = on[height]
		:: else -> discard(on[height])
#endif
		fi;
		on[height] = 0;
		value[height] = 0
	}
}

inline request_below()
{
	TOGETHER {
		if
		:: height > 1 ->
			d_step {
				ok = state[on[height - 2]] == STORED && nfull(request[me]);
				if
				:: ok -> state[on[height - 2]] = READ_QUEUED
				:: else
				fi
			};
			if
			:: ok ->
				request[me]!on[height - 2];
				signal(WORK)
			:: else
			fi
		:: else
		fi
	}
}

proctype owner(byte me)
{
	byte on[HEIGHT], value[HEIGHT];
	byte height, pushes, spare = NONE;
	byte s, f, was;
	bool ok, written, from_list;

again:
	do
	/* Push, in the window where there is room or else on another slab. */
	:: pushes < PUSHES ->
		TOGETHER {
			ok = false;
			if
			:: height -> writable(on[height - 1])
			:: height < HEIGHT
			fi;
			written = ok;
			if
			:: ok -> write(on[height - 1], value[height - 1])
			:: else
			fi
		}
		if
		:: written -> written = false
		:: !written && height < HEIGHT ->
			next_slab();
			if
			:: ok -> put_on_top(); ok = false
			/* The tape takes no more pushes. */
			:: else -> pushes = PUSHES
			fi
		:: else
		fi;
pushed:		ok = false
	/* Pop the topmost slab. */
	:: height ->
		read(on[height - 1], value[height - 1]);
		leave_slab();
		if
		:: height ->
			visit(on[height - 1]);
			if
			:: state[on[height - 1]] == LOST -> break
			:: else
			fi;
			read(on[height - 1], value[height - 1]);
#if AHEAD
			request_below();
			ok = false
#endif
		:: else
		fi
	/* Do nothing until another owner has ended: nobody may need this one for his own end. */
	:: me == 0 && OWNERS > 1 && !ended -> ended > 0
	/* Close, with whatever is on it, and go on with another tape. */
	:: break
	od;
	do
	:: height -> leave_slab()
	:: else -> break
	od;
	drop_spare();
	signal(WORK);
	if
	:: pushes < PUSHES && me == OWNERS - 1 -> goto again
	:: pushes = PUSHES
	fi;
	ended++
}

/* ---- The store ---- */

/* What was put must not have changed; what was got is in the frame. */
inline complete(t)
{
	TOGETHER {
		atomic {
			get[t] = transfer[t] == GET;
			lent[frame[t]] = false;
			if
			:: !get[t] ->
				assert(content[frame[t]] == copy[t]);
				transfer[t] = DONE
			:: get[t] ->
				assert(content[frame[t]] == GARBAGE);
				content[frame[t]] = copy[t];
				transfer[t] = DONE
#if PUTS_FAIL
			:: !get[t] -> transfer[t] = FAILED
#endif
#if GETS_FAIL
			:: get[t] -> transfer[t] = FAILED
#endif
			fi
		}
		signal(WORK)
	}
}

#define UNDER_WAY(t) (transfer[t] == PUT || transfer[t] == GET)

active proctype store()
{
end:
	do
	:: UNDER_WAY(0) -> complete(0)
	:: UNDER_WAY(1) -> complete(1)
#if SLABS > 2
	:: UNDER_WAY(2) -> complete(2)
#endif
#if SLABS > 3
	:: UNDER_WAY(3) -> complete(3)
#endif
#if SLABS > 4
	:: UNDER_WAY(4) -> complete(4)
#endif
#if SLABS > 5
	:: UNDER_WAY(5) -> complete(5)
#endif
#if SLABS > 6
	:: UNDER_WAY(6) -> complete(6)
#endif
	od
}

/* ---- The offload thread ---- */

#if OWNERS > 1
#define AWAITED(slab) (awaited[0] == slab || awaited[1] == slab)
#else
#define AWAITED(slab) (awaited[0] == slab)
#endif
#define FOUND(slab) (state[slab] == wanted && !(wanted == CLEAN && AWAITED(slab)))

/* Any slab in this state, or s is NONE; one that its owner waits for is not taken from him. */
inline survey(wanted)
{
	atomic {
		if
		:: FOUND(0) -> s = 0
		:: FOUND(1) -> s = 1
#if SLABS > 2
		:: FOUND(2) -> s = 2
#endif
#if SLABS > 3
		:: FOUND(3) -> s = 3
#endif
#if SLABS > 4
		:: FOUND(4) -> s = 4
#endif
#if SLABS > 5
		:: FOUND(5) -> s = 5
#endif
#if SLABS > 6
		:: FOUND(6) -> s = 6
#endif
		:: else -> s = NONE
		fi
	}
}

/* ok: whether it was in that state. */
inline move(t, from, to)
{
	d_step {
		ok = state[t] == from;
		if
		:: ok -> state[t] = to
		:: else
		fi
	}
}

/* Whether the slab's copy is the only one, or is kept instead of another put. */
#define COPY_COUNTS(t) (state[t] == CLEAN || state[t] == PINNED || state[t] == EVICTING || \
			state[t] == STORED || state[t] == READ_QUEUED || state[t] == READING)

inline drop_copy(t)
{
	atomic {
		if
		:: stored[t] ->
			assert(!COPY_COUNTS(t) && !UNDER_WAY(t));
			stored[t] = false;
			copy[t] = 0;
			failures = 0;
			failure = false
		:: else
		fi
	}
}

#ifdef BREAK_DROP_CLEAN
#define IS_STALE(t) (state[t] <= DIRTY || state[t] == LOST || state[t] == CLEAN)
#else
#define IS_STALE(t) (state[t] <= DIRTY || state[t] == LOST)
#endif

inline drop_stale()
{
	stale = false;
	s = 0;
	do
	:: s < SLABS ->
		if
		:: stored[s] && IS_STALE(s) -> drop_copy(s)
		:: else
		fi;
		s++
	:: else -> break
	od;
	s = 0
}

inline bury(t)
{
	TOGETHER {
		drop_copy(t);
		d_step {
			assert(state[t] == FREE_PENDING);
			f = frame[t];
			frame[t] = 0;
			state[t] = EMPTY;
			client[t] = 0;
			if
			:: f -> assert(!lent[f]); content[f] = NOTHING; warm_chains++
			:: else
			fi
		}
		d_step {
			if
			:: f -> warm = warm | BIT(f)
			:: else
			fi;
			unused = unused | BIT(t);
			f = 0
		}
	}
}

/* counter: of the slabs in state `away`. */
inline end_writing(t, away, counter, visited)
{
	do
	:: counter++;
		move(t, WRITING, away);
		if
		:: ok -> break
		:: else
		fi;
		decrement(counter);
		move(t, PINNED_WRITING, visited);
		if
		:: ok -> break
		:: else
		fi;
		if
		:: state[t] == FREE_PENDING ->
			bury(t);
			break
		:: else
		fi
	od
}

inline written(t)
{
	TOGETHER {
		puts--;
		if
		:: failed ->
			failure = true;
			failures = (failures < MAX_FAILURES -> failures + 1 : failures);
			copy[t] = 0;
			end_writing(t, DIRTY, sealed, OPEN)
		:: else ->
			stored[t] = true;
			failure = false;
			failures = 0;
			end_writing(t, CLEAN, clean, PINNED)
		fi
	}
}

inline start_get(t)
{
	d_step {
		assert(stored[t] && frame[t] && !lent[frame[t]]);
		content[frame[t]] = GARBAGE;
		lent[frame[t]] = true;
		transfer[t] = GET;
		reads[t]++
	}
}

/* The tape's record is looked up first: a slab that is CLEAN may be gone at once. */
inline got(t)
{
	TOGETHER {
		get[t] = false;
		if
		:: failed && reads[t] < ATTEMPTS && state[t] != FREE_PENDING -> start_get(t)
		:: else ->
			gets--;
			c = client[t];
			reads[t] = 0;
			if
			:: failed -> move(t, READING, LOST)
			:: else ->
				clean++;
				move(t, READING, CLEAN);
				if
				:: !ok -> decrement(clean)
				:: else
				fi
			fi;
			if
			:: !ok -> bury(t)
			:: else
			fi;
			signal(c);
			c = 0
		fi
	}
}

inline collect()
{
	TOGETHER {
		do
		:: d_step {
				s = 0;
				do
				:: s < SLABS && transfer[s] != DONE && transfer[s] != FAILED -> s++
				:: else -> break
				od;
				failed = s < SLABS && transfer[s] == FAILED;
				if
				:: s < SLABS -> transfer[s] = IDLE; moved = true
				:: else
				fi
			};
			if
			:: s == SLABS -> break
			:: s < SLABS && get[s] -> got(s)
			:: s < SLABS && !get[s] -> written(s)
			fi;
			failed = false
		od;
		s = 0;
		ok = false
	}
}

/* s: the slab that the client's owner waits for, if it can be read; else NONE. */
inline find_urgent(c)
{
	TOGETHER {
		s = awaited[c];
		d_step {
			if
#ifndef BREAK_URGENT_STORED
			:: s != NONE && state[s] == STORED -> state[s] = READ_QUEUED
#endif
			:: else
			fi;
			if
			:: s != NONE && state[s] != READ_QUEUED -> s = NONE
			:: else
			fi
		}
	}
}

inline is_urgent()
{
	TOGETHER {
		c = 0;
		do
		:: c < OWNERS ->
			find_urgent(c);
			if
			:: s != NONE -> c = OWNERS + 1
			:: else -> c++
			fi
		:: else -> break
		od;
		urgently = c > OWNERS;
		c = 0;
		s = 0
	}
}

/* did: whether anything was done. Uses s. */
inline evict()
{
	TOGETHER {
		did = false;
		if
		:: clean -> survey(CLEAN)
		:: else -> s = NONE
		fi;
		if
		:: s != NONE ->
			did = true;
#ifdef BREAK_NO_EVICTING
			f = frame[s];
			frame[s] = 0;
			push_warm(f);
			move(s, CLEAN, STORED);
			if
			:: ok -> decrement(clean)
			:: else -> frame[s] = f
			fi
#else
			move(s, CLEAN, EVICTING);
			if
			:: ok ->
				decrement(clean);
				f = frame[s];
				frame[s] = 0;
				push_warm(f);
				move(s, EVICTING, STORED);
				if
				:: !ok -> bury(s)
				:: else
				fi
			:: else
			fi
#endif
		:: else
		fi;
		f = 0
	}
}

#define IS_STUCK (!puts && (failures == MAX_FAILURES || !sealed))

inline write_farthest()
{
	TOGETHER {
		did = false;
		if
		:: puts < PUT_DEPTH -> survey(DIRTY)
		:: else -> s = NONE
		fi;
		if
		:: s != NONE ->
			did = true;
			move(s, DIRTY, WRITING);
			if
			:: ok ->
				decrement(sealed);
				drop_copy(s);
				puts++;
				d_step {
					assert(!lent[frame[s]]);
					copy[s] = content[frame[s]];
					lent[frame[s]] = true;
					transfer[s] = PUT
				}
			:: else
			fi
		:: else
		fi
	}
}

/* f: a frame to read into, or 0. */
inline take_carrier()
{
	take_frame_from_pool(f);
	do
	:: f -> break
	:: !f ->
		wanted = s;
		evict();
		s = wanted;
		if
		:: did -> take_frame_from_pool(f)
		:: else -> break
		fi
	od;
	wanted = 0
}

/* The offload thread may be late: the slab was discarded, or has been read already. */
inline read_slab()
{
	TOGETHER {
		moved = true;
		move(s, READ_QUEUED, READING);
		if
		:: ok ->
			frame[s] = f;
			gets++;
			start_get(s)
		:: else -> push_warm(f)
		fi;
		f = 0
	}
}

inline read_awaited()
{
	c = 0;
	do
	:: c < OWNERS ->
		TOGETHER {
			find_urgent(c);
			if
			:: s != NONE ->
				take_carrier();
#ifndef BREAK_NO_OVERDRAFT
				if
				:: !f && !gets && IS_STUCK ->
					resident++;
					assert(resident <= FRAMES);
					f = resident
				:: else
				fi;
#endif
				if
				:: f -> read_slab()
				:: else
				fi
			:: else
			fi;
			s = 0;
			ok = false;
			did = false;
			c++
		}
	:: else -> break
	od;
	c = 0
}

inline read_requested()
{
	c = 0;
	do
	:: c < OWNERS ->
		if
		:: request[c]?[s] ->
			request[c]?<s>;
			if
			:: state[s] != READ_QUEUED ->
				request[c]?s;
				moved = true
			:: else ->
				take_carrier();
				if
				:: f ->
					request[c]?s;
					read_slab()
				:: else
				fi
			fi
		:: else
		fi;
		c++
	:: else -> break
	od;
	c = 0
}

inline look_for_waiters()
{
	d_step {
		c = 0;
		do
		:: c < SLABS -> so_many = so_many + (state[c] == DIRTY); c++
		:: else -> break
		od;
		assert(sealed >= so_many);
		so_many = 0;
		c = 0;
		do
		:: c < SLABS -> so_many = so_many + (state[c] == CLEAN); c++
		:: else -> break
		od;
		assert(clean >= so_many);
		so_many = 0;
		c = 0;
		has_waiters = false;
		do
		:: c < OWNERS -> has_waiters = has_waiters || waiting[c]; c++
		:: else -> break
		od;
		c = 0;
		asked_since = false
	}
}

/* What was ready when it looked may be gone when it answers. */
inline relieve()
{
	TOGETHER {
		ready = warm_chains > 0;
		looked = false;
		if
		:: !ready ->
			evict();
			if
			:: !did && !puts && !IS_STUCK -> write_farthest()
			:: else
			fi;
			moved = moved || did;
			looked = !did
		:: else
		fi;
		s = 0;
		ok = false;
		did = false
	}
}

#ifdef BREAK_LATE_ASKER
#define ASKED_SINCE false
#else
#define ASKED_SINCE asked_since
#endif

inline answer()
{
	TOGETHER {
#ifdef BREAK_READY_GONE
		ready = warm_chains > 0;
#else
		ready = ready || warm_chains > 0;
#endif
		d_step {
			c = 0;
			do
			:: c < OWNERS ->
				if
				:: waiting[c] && ready -> freed[c] = true
				:: waiting[c] && !ready && !ASKED_SINCE && !puts && !gets ->
					/* Who has been told already has not asked again. */
					assert(freed[c] || looked);
					refused[c] = true;
					told = true
				:: else
				fi;
				c++
			:: else -> break
			od;
			c = 0;
			if
			:: told -> failures = 0; failure = false; told = false
			:: else
			fi
		}
	}
}

#ifdef BREAK_NO_OVERDRAFT
#define NOT_IN_VAIN (warm || resident < BUDGET || clean || sealed && !IS_STUCK)
#else
#define NOT_IN_VAIN (warm || resident < BUDGET || clean || sealed || IS_STUCK)
#endif

inline work_off()
{
	do
	:: TOGETHER {
			moved = false;
			ready = false;
			looked = false;
			collect();
			if
			:: stale && (failure || UNASKED) -> drop_stale()
			:: !stale || !failure
			fi;
			look_for_waiters();
			is_urgent();
			has_waiters = has_waiters || urgently
		};
		read_awaited();
		if
		:: AHEAD && !has_waiters -> read_requested()
		:: else
		fi;
		if
		:: UNASKED && !failure && sealed -> write_farthest(); moved = moved || did
		:: true
		fi;
		if
		:: has_waiters -> relieve()
		:: else
		fi;
		if
		:: UNASKED && clean -> evict(); moved = moved || did
		:: true
		fi;
#ifndef BREAK_URGENT_SLEEP
		/*
		 * Sleep only if what is waited for is on its way, or a transfer that will make room
		 * for it. The C code goes round until there is something to do, which an owner is
		 * about to pin_and_start_read about; here the rounds that do nothing are left out.
		 */
		if
		:: !moved && !puts && !gets ->
			is_urgent();
			if
			:: urgently -> moved = true; NOT_IN_VAIN
			:: else
			fi
		:: else
		fi;
#endif
		if
		:: !moved -> break
		:: else
		fi
	od;
	has_waiters = false;
	urgently = false;
	did = false;
	s = 0;
	answer();
	ready = false;
	looked = false
}

active proctype offload()
{
	byte s, f, c, wanted, so_many;
	byte puts, gets, failures;
	byte reads[SLABS];
	bool ok, did, moved, failed, failure, has_waiters, urgently, ready, looked, told, from_list;

	do
	:: stopped -> break
	:: !stopped ->
end_asleep:	sleep_on(WORK);
		work_off();
		LOWER_LATE(WORK);
		if
		:: stop ->
			do
			:: puts || gets ->
				sleep_on(WORK);
				collect()
			:: else -> break
			od;
			if
			:: stale -> drop_stale()
			:: else
			fi;
			stopped = true
		:: else
		fi
	od
}

/* ---- The program ---- */

init {
	byte i;

	atomic {
		do
		:: i < OWNERS -> run owner(i); i++
		:: else -> break
		od
	}
	ended == OWNERS;
	stop = true;
	signal(WORK);
	stopped;
	d_step {
		assert(unused == BIT(SLABS) - 1);
		assert(!sealed && !clean);
		i = 1;
		do
		:: i <= FRAMES -> assert(((warm & BIT(i)) != 0) == (i <= resident)); i++
		:: else -> break
		od;
		assert(warm_chains == resident);
		i = 0;
		do
		:: i < SLABS -> assert(state[i] == EMPTY && !frame[i] && !stored[i]); i++
		:: else -> break
		od
	}
}
