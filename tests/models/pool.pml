/* SPDX-License-Identifier: MIT */
/*
 * The head of a shared list (lib/pool/freelist.h): poppers that push again what they got, in any order.
 * With CK the head and its tag are two words, read one after the other and exchanged together
 * (ck_stack); without, they are one (lib/pool/freelist-c11.h). Checked is that a slab has one owner, and
 * that all are on the list at the end.
 *
 * TAKE_ALL: one thread takes the whole list at once by a swap and pushes it again, slab by slab.
 * The library does not offer it, since in Concurrency Kit 0.7.1 it is as BREAK_ALL_NO_RAISE says.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef POPPERS
#define POPPERS 2
#endif
#ifndef SLABS
#define SLABS 3
#endif
/* How often each thread takes. */
#ifndef TURNS
#define TURNS 1
#endif
#ifdef TAKE_ALL
#define TAKERS 1
#else
#define TAKERS 0
#endif

/* 0: none. The tag is raised so often that it cannot come round. */
byte head, tag;
byte next[SLABS + 1];
byte owner[SLABS + 1];
byte ended;

inline own(slab)
{
	d_step {
		assert(owner[slab] == 0);
		owner[slab] = _pid + 1
	}
}

inline push(slab)
{
	d_step {
		assert(owner[slab] == _pid + 1);
		owner[slab] = 0
	}
	do
	:: atomic { seen_head = head; seen_tag = tag }
		next[slab] = seen_head;
		if
		:: d_step { head == seen_head && tag == seen_tag -> head = slab }
			break
		:: else
		fi
	od
}

inline look()
{
#ifdef CK
#ifdef BREAK_HEAD_FIRST
	seen_head = head;
	seen_tag = tag
#else
	seen_tag = tag;
	seen_head = head
#endif
#else
	atomic { seen_head = head; seen_tag = tag }
#endif
}

/* A link is read that may have changed, or be no link any more. */
inline pop(slab)
{
	slab = 0;
	do
	:: look();
		if
		:: seen_head == 0 -> break
		:: else
		fi;
		seen_next = next[seen_head];
		if
		:: d_step {
			head == seen_head && tag == seen_tag ->
			head = seen_next;
#ifndef BREAK_NO_RAISE
			tag++
#endif
			}
			slab = seen_head;
			own(slab);
			break
		:: else
		fi
	od
}

proctype popper()
{
	byte seen_head, seen_tag, seen_next, one, other, turn;

	do
	:: turn < TURNS ->
		pop(one);
		pop(other);
		if
		:: one -> push(one)
		:: else
		fi;
		if
		:: other -> push(other)
		:: else
		fi;
		turn++
	:: else -> break
	od;
	ended++
}

/* A slab that is read by a thread that comes too late keeps its link until it is pushed. */
proctype taker_of_all()
{
	byte seen_head, seen_tag, all, after;

#ifdef BREAK_ALL_RAISE_FIRST
	tag++;
	d_step { all = head; head = 0 }
#else
	d_step { all = head; head = 0 }
#ifndef BREAK_ALL_NO_RAISE
	tag++;
#endif
#endif
	do
	:: all ->
		after = next[all];
		own(all);
		push(all);
		all = after
	:: else -> break
	od;
	ended++
}

init {
	byte slab, on_list;

	atomic {
		slab = 1;
		do
		:: slab <= SLABS -> next[slab] = head; head = slab; slab++
		:: else -> break
		od;
		slab = 0;
		do
		:: slab < POPPERS -> run popper(); slab++
		:: else -> break
		od;
		if
		:: TAKERS -> run taker_of_all()
		:: else
		fi
	}
	ended == POPPERS + TAKERS;
	d_step {
		on_list = 0;
		do
		:: head && on_list <= SLABS -> on_list++; head = next[head]
		:: else -> break
		od;
		assert(on_list == SLABS)
	}
}
