/* SPDX-License-Identifier: MIT */
/*
 * Bins of parcels that are pinned, announced, rewritten and closed (lib/spill/owner/pins.c,
 * lib/spill/owner/slab-owner.c, lib/spill/parcel/bin.c, lib/spill/parcel/order.c, lib/spill/parcel/place.c), while the
 * offload thread writes, evicts and reads their slabs (lib/spill/thread/write-back.c, lib/spill/thread/read-ahead.c)
 * whenever their states let it. Two threads pin and unpin; a program announces an order, rewrites a
 * bin, and closes all bins while their slabs may be queued, read or written. It opens a closed slab
 * again with another size. There are fewer frames than bins. A step is one access to what threads
 * share; what needs `parcels->lock` is one step, and so is a transfer. offload.pml has the waits and
 * wake-ups of owners, and transfers that fail.
 *
 * Checked is that a pinned bin stays in memory with the bytes that were written last, that nothing
 * waits for ever, that each frame and each slab is freed once, that the offload thread looks at the
 * size of a slab only while no owner may change it, that each bin leaves an order once, and that no
 * thread writes to a parcel that another one has pinned.
 *
 * BREAK_... are faults, one at a time, each of which the checker has to find.
 */

#ifndef FRAMES
#define FRAMES 1
#endif
#define BINS 2
#define PINNERS 2
#define NONE 255

/* enum reel_slab_state */
mtype = { EMPTY, OPEN, DIRTY, WRITING, CLEAN, PINNED, PINNED_WRITING, EVICTING, STORED, READ_QUEUED,
	  READING, FREE_PENDING };
mtype state[BINS];
bool has_frame[BINS];
byte frames;
/* An owner writes the size. */
bool sizing[BINS];

/* The contents that the frame, the store and the program have. 0: none. */
byte content[BINS], copy[BINS], written[BINS];

/* struct reel_pins; `held` and `count` are one word. */
bool held[BINS], locked[BINS];
byte count[BINS];

/* Pins of a parcel, and calls of reel_parcel_pin() under way, which the program orders. */
byte pins[BINS], calls[BINS];
bool changing[BINS];

/* struct reel_order: bin 1, bin 0, bin 1. */
#define ENTRIES 3
#define ENTRY(i) (1 - (i) % 2)
#define AGAIN(i) ((i) == 0 -> 2 : NONE)
bool announced[BINS], ended_order;
byte next_use[BINS], used, order_bins;

byte ended;

inline move(bin, from, to)
{
	atomic {
		moved = state[bin] == from;
		if
		:: moved -> state[bin] = to
		:: else
		fi
	}
}

/* In one step with the change of state that allows it. */
inline give_frame(bin)
{
	assert(has_frame[bin] && frames < FRAMES && !held[bin]);
	has_frame[bin] = false;
	content[bin] = 0;
	frames++
}

/* ---- Orders: parcels->lock is held ---- */

inline forget(bin)
{
	assert(announced[bin] && order_bins > 0);
	announced[bin] = false;
	order_bins--
}

inline end_if_unused()
{
	if
	:: order_bins == 0 -> assert(!ended_order); ended_order = true
	:: else
	fi
}

/* Those that are needed next are asked for, if they are not in memory. */
inline request(bin)
{
	if
	:: announced[bin] && state[bin] == STORED -> state[bin] = READ_QUEUED
	:: else
	fi
}

inline use(index)
{
	if
	:: announced[ENTRY(index)] && next_use[ENTRY(index)] == index ->
		next_use[ENTRY(index)] = AGAIN(index);
		if
		:: AGAIN(index) == NONE -> forget(ENTRY(index))
		:: else
		fi
	:: else
	fi
}

inline advance(bin)
{
	if
	:: announced[bin] ->
		atomic {
			if
#ifdef BREAK_ADVANCE_BLIND
			:: true ->
#else
			:: announced[bin] ->
#endif
				assert(!ended_order && next_use[bin] != NONE);
				last = next_use[bin];
				do
				:: used <= last -> use(used); used++
				:: else -> break
				od;
				last = 0;
				request(0);
				request(1);
				end_if_unused()
			:: else
			fi
		}
	:: else
	fi
}

/* ---- Owners ---- */

#define IS_AWAY(bin) (state[bin] == EVICTING || state[bin] == STORED || \
		      state[bin] == READ_QUEUED || state[bin] == READING)

/* Nothing is under way that could free a frame, or could be. */
#define IS_STUCK(bin) (frames == 0 && (state[bin] == OPEN || state[bin] == PINNED))

inline await_read(bin)
{
	if
	:: atomic { state[bin] == STORED -> state[bin] = READ_QUEUED }
	:: !IS_AWAY(bin)
	:: atomic { state[bin] == READ_QUEUED && IS_STUCK(1 - bin) -> ok = false }
		move(bin, READ_QUEUED, STORED)
	fi
}

inline acquire(bin)
{
	do
	:: atomic { state[bin] == DIRTY -> state[bin] = OPEN }; break
	:: atomic { state[bin] == WRITING -> state[bin] = PINNED_WRITING }; break
	:: atomic { state[bin] == CLEAN -> state[bin] = PINNED }; break
	:: state[bin] == OPEN || state[bin] == PINNED || state[bin] == PINNED_WRITING -> break
	:: IS_AWAY(bin) ->
		await_read(bin);
		if
		:: ok
		:: else -> break
		fi
	od
}

inline lock(bin)
{
	atomic { !locked[bin] -> locked[bin] = true }
}

/* reel_pins_add(); `ok`: whether the bin is pinned. */
inline pin(bin)
{
	ok = true;
	has_advanced = false;
	atomic { was_held = held[bin]; count[bin]++ }
	if
	:: !was_held ->
#ifndef BREAK_PIN_UNLOCKED
		lock(bin);
#endif
		if
		:: !held[bin] ->
			advance(bin);
			has_advanced = true;
			acquire(bin);
			if
			:: ok -> held[bin] = true
#ifdef BREAK_FAIL_LATE
			:: else
#else
			:: else -> count[bin]--
#endif
			fi
		:: else
		fi;
#ifndef BREAK_PIN_UNLOCKED
		locked[bin] = false;
#endif
#ifdef BREAK_FAIL_LATE
		if
		:: !ok -> count[bin]--
		:: else
		fi
#endif
	:: else
	fi;
	if
	:: ok && !has_advanced -> advance(bin)
	:: else
	fi
}

inline seal(bin)
{
	if
	:: atomic { state[bin] == OPEN -> state[bin] = DIRTY }
	:: atomic { state[bin] == PINNED -> state[bin] = CLEAN }
	:: atomic { state[bin] == PINNED_WRITING -> state[bin] = WRITING }
	:: atomic { else -> assert(false) }
	fi
}

/* reel_pins_drop() */
inline unpin(bin)
{
	atomic {
		assert(count[bin] > 0);
		is_last = held[bin] && count[bin] == 1;
		count[bin]--
	}
	if
	:: is_last ->
		lock(bin);
		atomic {
#ifdef BREAK_SEAL_EARLY
			is_last = held[bin];
#else
			is_last = held[bin] && count[bin] == 0;
#endif
			if
			:: is_last -> held[bin] = false
			:: else
			fi
		}
		if
		:: is_last -> seal(bin)
		:: else
		fi;
		locked[bin] = false
	:: else
	fi
}

#define IS_READABLE(bin) (has_frame[bin] && content[bin] == written[bin] && \
	(state[bin] == OPEN || state[bin] == PINNED || state[bin] == PINNED_WRITING))

proctype pinner(byte bin)
{
	byte last;
	bool ok, moved, was_held, has_advanced, is_last;

	atomic { !changing[bin] -> calls[bin]++ }
	pin(bin);
	atomic {
		if
		:: ok -> pins[bin]++
		:: else
		fi;
		calls[bin]--
	}
	if
	:: ok ->
		assert(IS_READABLE(bin));
		/* Any time later. */
		atomic { assert(IS_READABLE(bin)); pins[bin]-- }
		unpin(bin)
	:: else
	fi;
	ended++
}

/* ---- The program ---- */

inline announce()
{
	atomic {
		announced[0] = true;
		announced[1] = true;
		next_use[0] = 1;
		next_use[1] = 0;
		order_bins = BINS;
		request(0);
		request(1)
	}
}

/*
 * reel_parcel_unseal(), a write, reel_parcel_seal(); or no write, reel_parcel_seal_unchanged(). The
 * program orders it and pins of the parcel. What is unsealed keeps its copy until it is sealed.
 */
inline rewrite(bin)
{
	atomic { calls[bin] == 0 -> changing[bin] = true }
	if
#ifdef BREAK_UNSEAL_PINNED
	:: true ->
#else
	:: pins[bin] == 0 ->
#endif
		pin(bin);
		if
		:: ok ->
			lock(bin);
			if
			:: state[bin] == OPEN || state[bin] == PINNED
#ifdef BREAK_WRITE_WRITING
			:: state[bin] == PINNED_WRITING
#endif
			fi;
			locked[bin] = false;
			if
			:: true ->
				content[bin] = 0;
				atomic { written[bin] = 2; content[bin] = 2 }
#ifndef BREAK_SEAL_STALE
				if
				:: atomic { state[bin] == PINNED -> state[bin] = OPEN; copy[bin] = 0 }
				:: else
				fi
#endif
			:: true
			fi;
			unpin(bin)
		:: else
		fi
	:: else
	fi;
	changing[bin] = false
}

inline close(bin)
{
	atomic {
		if
		:: announced[bin] -> forget(bin); end_if_unused()
		:: else
		fi
	}
	if
	:: atomic { state[bin] == DIRTY || state[bin] == CLEAN -> state[bin] = OPEN };
		atomic { copy[bin] = 0; give_frame(bin); state[bin] = EMPTY }
	:: atomic { state[bin] == STORED || state[bin] == READ_QUEUED -> state[bin] = OPEN };
		atomic { copy[bin] = 0; state[bin] = EMPTY }
#ifdef BREAK_FREE_READING
	:: atomic { state[bin] == READING && has_frame[bin] -> state[bin] = OPEN };
		atomic { copy[bin] = 0; give_frame(bin); state[bin] = EMPTY }
#endif
	:: atomic { state[bin] == WRITING || state[bin] == EVICTING || state[bin] == READING ->
		    state[bin] = FREE_PENDING }
	fi
}

/* Another owner takes the slab for something of another size, and gives it back. */
inline use_again(bin)
{
	if
	:: atomic { state[bin] == EMPTY -> sizing[bin] = true };
		sizing[bin] = false
	:: else
	fi
}

active proctype program()
{
	byte last;
	bool ok, moved, was_held, has_advanced, is_last;

	atomic {
		state[0] = DIRTY;
		has_frame[0] = true;
		content[0] = 1;
		state[1] = STORED;
		copy[1] = 1;
		written[0] = 1;
		written[1] = 1;
		frames = FRAMES - 1;
		/* Who pins which bin. */
		if
		:: run pinner(0); run pinner(0)
		:: run pinner(0); run pinner(1)
		:: run pinner(1); run pinner(1)
		fi;
		run offload(0);
		run offload(1)
	}
	announce();
	rewrite(0);
	ended == PINNERS;
	close(0);
	use_again(0);
	close(1);
	/* FREE_PENDING slabs come back when their transfers have ended. */
	state[0] == EMPTY && state[1] == EMPTY;
	assert(frames == FRAMES && ended_order && order_bins == 0);
	assert(count[0] + count[1] == 0 && copy[0] + copy[1] == 0)
}

/* ---- The offload thread, and the store ---- */

/* reel_offload_free_deferred() */
inline free_deferred(bin)
{
	atomic {
		assert(state[bin] == FREE_PENDING);
		if
		:: has_frame[bin] -> give_frame(bin)
		:: else
		fi;
		copy[bin] = 0;
		state[bin] = EMPTY
	}
}

inline write(bin)
{
	content_put = content[bin];
	copy[bin] = 0;
	/* Any time later the transfer ends. What it has read is as it was when it began. */
	atomic {
		assert(has_frame[bin] && content[bin] == content_put);
		copy[bin] = content_put;
		if
		:: state[bin] == WRITING -> state[bin] = CLEAN
		:: state[bin] == PINNED_WRITING -> state[bin] = PINNED
		:: state[bin] == FREE_PENDING -> free_deferred(bin)
		fi
	}
}

inline evict(bin)
{
	atomic { give_frame(bin) }
	move(bin, EVICTING, STORED);
	if
	:: !moved -> free_deferred(bin)
	:: else
	fi
}

inline read(bin)
{
	assert(!sizing[bin]);
	if
	:: atomic { frames > 0 -> frames--; has_frame[bin] = true };
		atomic { content[bin] = copy[bin]; move(bin, READING, CLEAN) }
		if
		:: !moved -> free_deferred(bin)
		:: else
		fi
	:: atomic { frames == 0 -> skip };
#ifdef BREAK_QUEUE_BLIND
		state[bin] = READ_QUEUED
#else
		move(bin, READING, READ_QUEUED);
		if
		:: !moved -> free_deferred(bin)
		:: else
		fi
#endif
	fi
}

/* What it does with one bin. It works on two at a time, as transfers are under way together. */
proctype offload(byte bin)
{
	byte content_put;
	bool moved;

end:	do
	:: atomic { state[bin] == DIRTY -> state[bin] = WRITING }; write(bin)
#ifdef BREAK_EVICT_BLIND
	:: state[bin] == CLEAN && IS_AWAY(1 - bin) -> state[bin] = EVICTING; evict(bin)
#else
	/* For another bin that is to be read. */
	:: atomic { state[bin] == CLEAN && IS_AWAY(1 - bin) -> state[bin] = EVICTING }; evict(bin)
#endif
#ifdef BREAK_SIZE_EARLY
	:: state[bin] == READ_QUEUED -> assert(!sizing[bin]); move(bin, READ_QUEUED, READING);
		if
		:: moved -> read(bin)
		:: else
		fi
#else
	:: atomic { state[bin] == READ_QUEUED && (frames > 0 || !IS_STUCK(1 - bin)) ->
		    state[bin] = READING }; read(bin)
#endif
	od
}
