/* SPDX-License-Identifier: MIT */
/*
 * A slot of a tier with a store (lib/checkpoint/snapshot.c, lib/checkpoint/snapshot-buffer.c): who carries actions out stores a
 * state, loads it, drops it, and stores the next one; who walks ahead has it fetched; the store
 * completes transfers, or fails them, when it likes. What is atomic here is under the lock there.
 * Checked is that a load sees the state that was stored, that no buffer is used for two things or
 * lost, that nothing is left in the store, and that nobody waits for ever.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef STATES
#define STATES 2
#endif
#ifndef BUFFERS
#define BUFFERS 2
#endif
#ifndef FETCHES
#define FETCHES 2
#endif
#define MAX_GETS 1
/* A put that has been started may outlive its slot's state: one for each. */
#define PUTS STATES

/* Buffers are 1 to BUFFERS; 0 is none. States likewise. */
bool unused[BUFFERS + 1] = true;
bool moving[BUFFERS + 1];
bool getting[BUFFERS + 1];
bool failed[BUFFERS + 1];
byte content[BUFFERS + 1];
byte moved_state[BUFFERS + 1];

/* What the store has. */
bool has[STATES + 1];

byte slot_state, slot_buffer;
bool stored, fetched, reading, wanted, in_use;
byte gets;

byte put_buffer[PUTS + 1];
byte put_state[PUTS + 1];
bool put_dropped[PUTS + 1];

bool done;

inline give(buffer)
{
	assert(!unused[buffer] && !moving[buffer]);
	unused[buffer] = true;
	content[buffer] = 0
}

/* Under the lock. */
inline start(buffer, state, get)
{
	assert(!moving[buffer] && !unused[buffer]);
	moving[buffer] = true;
	getting[buffer] = get;
	failed[buffer] = false;
	moved_state[buffer] = state
}

inline end_get()
{
	if
	:: fetched -> gets--
	:: else
	fi;
	fetched = false;
	reading = false
}

inline keep_or_give_buffer()
{
	if
	:: wanted && gets < MAX_GETS ->
		fetched = true;
		gets++
	:: else ->
		give(slot_buffer);
		slot_buffer = 0
	fi;
	wanted = false
}

inline end_put(put)
{
	if
	:: put_dropped[put] ->
		has[put_state[put]] = false;
		give(put_buffer[put])
	:: !put_dropped[put] && !failed[put_buffer[put]] ->
		stored = true;
		if
#ifndef BREAK_IN_USE
		:: in_use
#else
		:: false
#endif
		:: else -> keep_or_give_buffer()
		fi
	:: else
	fi;
	put_buffer[put] = 0
}

inline end_puts(i)
{
	i = 1;
	do
	:: i <= PUTS ->
		if
		:: put_buffer[i] != 0 && !moving[put_buffer[i]] -> end_put(i)
		:: else
		fi;
		i++
	:: else -> break
	od
}

/* A buffer that is unused, or 0. */
inline take(buffer, i)
{
	buffer = 0;
	i = 1;
	do
	:: i <= BUFFERS && buffer == 0 ->
		if
		:: unused[i] ->
			buffer = i;
			unused[i] = false
		:: else
		fi;
		i++
	:: else -> break
	od
}

#define SOME_PUT_MOVES (put_buffer[1] != 0 && moving[put_buffer[1]] || \
			put_buffer[2] != 0 && moving[put_buffer[2]])

/* A buffer by all means. */
inline demand(buffer, i)
{
	do
	:: atomic {
		end_puts(i);
		take(buffer, i);
		if
		:: buffer != 0 -> break
		:: buffer == 0 && SOME_PUT_MOVES
		/* What was read ahead can be read again. */
		:: buffer == 0 && !SOME_PUT_MOVES && fetched && !in_use && !moving[slot_buffer] ->
			end_get();
			give(slot_buffer);
			slot_buffer = 0
		:: else
		fi
	   }
	od
}

inline store(state)
{
	atomic {
		assert(slot_state == 0);
		slot_state = state
	}
	demand(buffer, i);
	atomic {
		slot_buffer = buffer;
		in_use = true
	}
	content[buffer] = state;
	atomic {
		in_use = false;
		put_buffer[state] = buffer;
		put_state[state] = state;
		put_dropped[state] = false;
		start(buffer, state, false)
	}
}

inline await_get(buffer)
{
	!moving[buffer];
	if
	:: failed[buffer] ->
		atomic { start(buffer, slot_state, true) }
		!moving[buffer]
	:: else
	fi
}

inline load(state)
{
	atomic {
		assert(slot_state == state);
		there = slot_buffer != 0;
		in_use = true
	}
	buffer = 0;
	if
	:: !there -> demand(buffer, i)
	:: else
	fi;
	atomic {
		if
		:: buffer != 0 && slot_buffer == 0 ->
			slot_buffer = buffer;
			fetched = true;
			reading = true;
			gets++;
			start(buffer, state, true)
		:: buffer != 0 && slot_buffer != 0 -> give(buffer)
		:: else
		fi;
		buffer = slot_buffer;
		on_its_way = reading;
		if
		:: !reading -> end_get()
		:: else
		fi
	}
	if
	:: on_its_way ->
		await_get(buffer);
		/* Twice in a row is the store's last word, and an error. */
		atomic {
			end_get();
			if
			:: failed[buffer] ->
#ifdef BREAK_KEEP_FAILED
				in_use = false;
				keep_or_give_buffer();
#else
				give(buffer);
				slot_buffer = 0;
				in_use = false;
				wanted = false;
#endif
				buffer = 0
			:: else
			fi
		}
	:: else
	fi;
	if
	:: buffer != 0 ->
		assert(content[buffer] == state);
		atomic {
			in_use = false;
			if
			:: stored -> keep_or_give_buffer()
			:: else
			fi
		}
	:: else
	fi
}

inline hand_to_put(state)
{
	left = false;
	if
#ifndef BREAK_DROP_FORGETS
	:: put_buffer[state] != 0 && !put_dropped[state] ->
		put_dropped[state] = true;
		left = true
#endif
	:: else
	fi
}

inline empty_slot(state)
{
	end_get();
	hand_to_put(state);
	if
	:: !left ->
		if
		:: slot_buffer != 0 -> give(slot_buffer)
		:: else
		fi;
		if
		:: stored -> has[state] = false
		:: else
		fi
	:: else
	fi;
	slot_state = 0;
	slot_buffer = 0;
	stored = false;
	wanted = false
}

/* A get may be started between a look and the next one. */
inline drop(state)
{
	atomic {
		end_puts(i);
		assert(slot_state == state)
	}
	do
	:: atomic {
#ifdef BREAK_DROP_READING
		true ->
#else
		!reading || !moving[slot_buffer] ->
#endif
		empty_slot(state);
		break
	   }
	od
}

active proctype carrier()
{
	byte state = 1, buffer, i;
	bool there, on_its_way, left;

	do
	:: state <= STATES ->
		store(state);
		do
		:: load(state)
		:: break
		od;
		drop(state);
		state++
	:: else -> break
	od;
	/* The end: what was dropped on its way has come. */
	do
	:: atomic {
		end_puts(i);
		if
		:: put_buffer[1] == 0 && put_buffer[2] == 0 -> break
		:: else
		fi
	   }
	od;
	done = true
}

active proctype walker()
{
	byte fetches, state, buffer, i;
	bool is_wanted, room;

	do
	:: fetches < FETCHES && !done ->
		fetches++;
		if
		:: state = 1
		:: state = 2
		fi;
		atomic {
			end_puts(i);
			is_wanted = slot_state == state && stored && slot_buffer == 0;
			if
			:: slot_state == state && slot_buffer != 0 -> wanted = true
			:: else
			fi;
			room = gets < MAX_GETS
		}
		if
		:: is_wanted && room ->
			atomic { take(buffer, i) }
			if
			:: buffer != 0 ->
				atomic {
					if
#ifdef BREAK_FETCH_BLIND
					:: true ->
#else
					:: slot_state == state && stored && slot_buffer == 0 ->
#endif
						slot_buffer = buffer;
						fetched = true;
						reading = true;
						gets++;
						start(buffer, state, true)
					:: else -> give(buffer)
					fi
				}
			:: else
			fi
		:: else
		fi
	:: else -> break
	od;
	done;
	atomic {
		for (i : 1 .. BUFFERS) {
			assert(unused[i])
		}
		for (i : 1 .. STATES) {
			assert(!has[i])
		}
		assert(gets == 0)
	}
}

inline complete(buffer)
{
	if
	:: getting[buffer] ->
		assert(has[moved_state[buffer]]);
		content[buffer] = moved_state[buffer]
	:: getting[buffer] ->
		content[buffer] = 0;
		failed[buffer] = true
	:: !getting[buffer] ->
		assert(content[buffer] == moved_state[buffer]);
		has[moved_state[buffer]] = true
	:: !getting[buffer] -> failed[buffer] = true
	fi;
	moving[buffer] = false
}

active proctype store_thread()
{
end:	do
	:: atomic { moving[1] -> complete(1) }
	:: atomic { moving[2] -> complete(2) }
	od
}
