/* SPDX-License-Identifier: MIT */
/*
 * A thread's two magazines, its end, and fork (lib/pool/magazine.c, lib/pool/fork.c). Threads adopt a cache,
 * take and give slabs by it, and end: the cache goes to the next one. Each may fork between two of
 * its calls, at any moment of the others' calls: the child has the memory as it is then, and that
 * thread alone, which uses the list, its own magazines, and no other ones. When no thread uses the
 * pool any more it may be closed, while threads end: the end of a thread looks for the pool in the
 * list of pools, and keeps that locked.
 *
 * A magazine holds one slab here, and the list is a set: pool.pml has what is inside of it. Checked
 * is that a slab has one owner, that a cache has one user, that the child finds each slab at most
 * once, and those that are the list's or its own; that all are on the list in the end, unless the
 * pool was closed; and that nobody touches the memory of a closed pool.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef CACHES
#define CACHES THREADS
#endif
#ifndef SLABS
#define SLABS 3
#endif
/* How many threads there are one after the other. */
#ifndef LIVES
#define LIVES 2
#endif

/* 0: no slab. */
bool listed[SLABS + 1];
byte owner[SLABS + 1];
byte loaded[CACHES];
byte previous[CACHES];
bool in_use[CACHES];
byte users[CACHES];
byte ended;
/* Threads that may still take and give. */
byte using = THREADS;
bool pools_locked;
bool pool_listed = true;
bool pool_freed;

inline adopt()
{
	own = 0;
	do
#ifdef BREAK_ADOPT_BLIND
	:: own < CACHES && !in_use[own] -> in_use[own] = true; break
#else
	:: d_step { own < CACHES && !in_use[own] -> in_use[own] = true } break
#endif
	:: own < CACHES && in_use[own] -> own++
	:: own == CACHES -> own = 0
	od;
	skip;
	d_step { users[own]++; assert(users[own] == 1) }
}

/* In between, both have the same slab. */
inline exchange_magazines()
{
	moving = loaded[own];
	loaded[own] = previous[own];
	previous[own] = moving;
	moving = 0
}

inline pop_list(slab)
{
	d_step {
		slab = 1;
		do
		:: slab <= SLABS && !listed[slab] -> slab++
		:: else -> break
		od;
		if
		:: slab <= SLABS -> listed[slab] = false
		:: else -> slab = 0
		fi
	}
}

inline push_list(slab)
{
	d_step { assert(!pool_freed && !listed[slab] && !owner[slab]); listed[slab] = true }
}

inline take(slab)
{
	if
	:: !loaded[own] && previous[own] -> exchange_magazines()
	:: else
	fi;
	if
	:: !loaded[own] -> pop_list(moving); loaded[own] = moving; moving = 0
	:: else
	fi;
	slab = loaded[own];
	loaded[own] = 0;
	if
	:: slab -> d_step { assert(!owner[slab]); owner[slab] = me + 1 }
	:: else
	fi
}

inline unload(magazine)
{
	assert(!pool_freed);
	moving = magazine;
	magazine = 0;
	if
	:: moving -> push_list(moving)
	:: else
	fi;
	moving = 0
}

inline give(slab)
{
	if
	:: slab ->
		d_step { assert(owner[slab] == me + 1); owner[slab] = 0 }
		if
		:: loaded[own] ->
#ifndef BREAK_OVERWRITE
			unload(previous[own]);
#endif
			exchange_magazines()
		:: else
		fi;
		loaded[own] = slab;
		slab = 0
	:: else
	fi
}

inline lock_pools()
{
	atomic { !pools_locked -> pools_locked = true }
}

inline leave_cache()
{
	d_step { assert(!pool_freed); users[own]--; in_use[own] = false }
}

inline flush_and_leave()
{
#ifdef BREAK_RETIRE_FIRST
	leave_cache();
#endif
	unload(previous[own]);
#ifndef BREAK_FLUSH_HALF
	unload(loaded[own]);
#endif
#ifndef BREAK_RETIRE_FIRST
	leave_cache()
#endif
}

inline retire()
{
#ifndef BREAK_RETIRE_UNLOCKED
	lock_pools();
#endif
	if
	:: pool_listed ->
#ifdef BREAK_UNLOCK_FIRST
		pools_locked = false;
#endif
		flush_and_leave()
	:: else
	fi;
#if !defined(BREAK_RETIRE_UNLOCKED) && !defined(BREAK_UNLOCK_FIRST)
	pools_locked = false
#endif
}

#define FINDS(cache, slab) ((loaded[cache] == slab) + (previous[cache] == slab))

/*
 * What the child does is reckoned, and changes nothing here. While the list of pools is locked, a
 * fork waits: it is one that happens later.
 */
inline fork_here()
{
	d_step {
		slab = 1;
		do
		:: slab <= SLABS && !pools_locked ->
			found = listed[slab] + (owner[slab] == me + 1);
#ifndef BREAK_CHILD_FORGETS_OWN
			found = found + FINDS(own, slab);
#endif
			assert(found == listed[slab] + (owner[slab] == me + 1) + FINDS(own, slab));
#ifdef BREAK_CHILD_TRUSTS
			other = 0;
			do
			:: other < CACHES ->
				if
				:: other != own -> found = found + FINDS(other, slab)
				:: else
				fi;
				other++
			:: else -> break
			od;
			other = 0;
#endif
			assert(found <= 1);
			slab++
		:: else -> break
		od;
		slab = 0;
		found = 0
	}
}

proctype thread(byte me)
{
	byte own, moving, one, another, third, slab, found, life;
#ifdef BREAK_CHILD_TRUSTS
	byte other;
#endif

	do
	:: life < LIVES ->
		adopt();
		fork_here();
		take(one);
		take(another);
		take(third);
		fork_here();
		give(one);
		give(another);
		fork_here();
		give(third);
		take(one);
		take(another);
		fork_here();
		give(another);
		give(one);
		life++;
		using = using - (life == LIVES);
		retire()
	:: else -> break
	od;
	ended++
}

proctype closer()
{
	using == 0;
#ifdef BREAK_CLOSE_LISTED
	pool_freed = true;
#endif
	lock_pools();
	pool_listed = false;
	pools_locked = false;
	pool_freed = true;
	ended++
}

init {
	byte slab;

	atomic {
		slab = 1;
		do
		:: slab <= SLABS -> listed[slab] = true; slab++
		:: else -> break
		od;
		slab = 0;
		do
		:: slab < THREADS -> run thread(slab); slab++
		:: else -> break
		od;
		if
		:: run closer()
		:: ended++
		fi
	}
	ended == THREADS + 1;
	d_step {
		slab = 1;
		do
		:: slab <= SLABS -> assert(pool_freed || listed[slab]); slab++
		:: else -> break
		od
	}
}
