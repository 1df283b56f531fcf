/* SPDX-License-Identifier: MIT */
/*
 * A lane's tape on the host. It keeps on a tape of the host (tape.h) the same values as a
 * reel_device_tape (device.cuh) for a thread of a kernel. So the host can reverse recordings of
 * kernels, and kernels can reverse recordings of the host:
 *
 *	struct reel_host_tape lane[THREADS];
 *
 *	for (i = 0; i < THREADS; i++)
 *		reel_host_tape_open(&lane[i], &tape[i], 8);
 *	forward<<<blocks, threads>>>(reel_arena_device(arena), ...);        which saves its tapes
 *	reel_arena_fetch(arena, stream, lane, THREADS);
 *	for (i = 0; i < THREADS; i++)
 *		for (n = steps[i]; n-- > 0;)
 *			reel_host_tape_pop(&lane[i], &x, sizeof x);
 *
 * In C++ there is reel_host_tape_of<>, which pushes and pops as reel_device_tape<> does: a sweep
 * that is a template on its tape serves both sides.
 *
 * Pushes and pops. A value takes whole words of 4, 8 or 16 bytes, as in a kernel. Each word is a
 * record on the host's tape; a word of 4 or 8 bytes is a uint64_t there. So a value of 8 bytes may
 * also be pushed to the tape itself and popped from it, as a uint64_t or a double. Bits are packed
 * in the reel_host_tape as a kernel packs them. Everything else is the same as for the tape: the
 * threads that may use it, its errors, its pool and the pool's store, its marks and holds.
 *
 * Cost. On the host, a push or a pop costs a push or a pop of the tape for each word. Between host
 * and device, each slab is copied once, through pinned memory, and the host turns its rows into
 * columns.
 */
#ifndef REEL_HOST_TAPE_H
#define REEL_HOST_TAPE_H

#include <string.h>

#include <reel/arena.h>
#include <reel/tape.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reel_host_tape {
	reel_tape *tape;
	uint64_t bits; /* bits that are in no word yet, below a leading one; 1: none */
	uint32_t word_bytes;
	uint32_t reserved;
};

typedef struct reel_host_tape_wide {
	uint64_t low, high;
} reel_host_tape_wide;

REEL_RECORD(host_tape_wide, reel_host_tape_wide);

/* ---- Values ------------------------------------------------------------------- */

/*
 * Makes `lane` a tape with words of `word_bytes` bytes (4, 8 or 16) that lie on `tape`. The tape
 * still belongs to the caller, which closes it.
 */
static inline void reel_host_tape_open(struct reel_host_tape *lane, reel_tape *tape,
				       uint32_t word_bytes)
{
	lane->tape = tape;
	lane->bits = 1;
	lane->word_bytes = word_bytes;
	lane->reserved = 0;
}

/* Pushes a value as a kernel does. For a record of several values, push them in order. */
static inline void reel_host_tape_push(struct reel_host_tape *lane, const void *value, size_t bytes)
{
	size_t word = lane->word_bytes;

	for (size_t at = 0; at < bytes; at += word) {
		reel_host_tape_wide x = {0, 0};

		memcpy(&x, (const char *)value + at, bytes - at < word ? bytes - at : word);
		if (word == 16)
			reel_push_record(lane->tape, host_tape_wide, x);
		else
			reel_push(lane->tape, x.low);
	}
}

/* Pops a value as a kernel does. For a record of several values, pop the last one first. */
static inline void reel_host_tape_pop(struct reel_host_tape *lane, void *value, size_t bytes)
{
	size_t word = lane->word_bytes;

	for (size_t at = (bytes + word - 1) / word * word; at > 0; at -= word) {
		reel_host_tape_wide x = {0, 0};
		size_t from = at - word;

		if (word == 16)
			x = reel_pop_record(lane->tape, host_tape_wide);
		else
			x.low = reel_pop(lane->tape, uint64_t);
		memcpy((char *)value + from, &x, bytes - from < word ? bytes - from : word);
	}
}

/* ---- Bits --------------------------------------------------------------------- */

/* Returns the number of bits that a word holds below the leading one: 31 or 63. */
static inline unsigned reel_host_tape_capacity(const struct reel_host_tape *lane)
{
	return lane->word_bytes == 4 ? 31 : 63;
}

/* These functions push and pop one bit. Bits are packed, in order with all other values. */
static inline void reel_host_tape_push_bit(struct reel_host_tape *lane, bool bit)
{
	lane->bits = lane->bits << 1 | bit;
	if (lane->bits >> reel_host_tape_capacity(lane)) {
		uint32_t narrow = (uint32_t)lane->bits;

		if (lane->word_bytes == 4)
			reel_host_tape_push(lane, &narrow, sizeof narrow);
		else
			reel_host_tape_push(lane, &lane->bits, sizeof lane->bits);
		lane->bits = 1;
	}
}

static inline bool reel_host_tape_pop_bit(struct reel_host_tape *lane)
{
	uint32_t narrow = 0;
	bool bit;

	if (lane->bits == 1 && lane->word_bytes == 4) {
		reel_host_tape_pop(lane, &narrow, sizeof narrow);
		lane->bits = narrow;
	} else if (lane->bits == 1) {
		reel_host_tape_pop(lane, &lane->bits, sizeof lane->bits);
	}
	/* A word of bits for which a kernel found no slab pops as 0: all its bits are zeros. */
	if (lane->bits == 0)
		lane->bits = (uint64_t)1 << reel_host_tape_capacity(lane);
	bit = lane->bits & 1;
	lane->bits >>= 1;
	return bit;
}

/* These functions push the low n bits of `value` and pop n bits; 1 <= n <= 31. */
static inline void reel_host_tape_push_bits(struct reel_host_tape *lane, uint32_t value, unsigned n)
{
	while (n-- > 0)
		reel_host_tape_push_bit(lane, value >> n & 1);
}

static inline uint32_t reel_host_tape_pop_bits(struct reel_host_tape *lane, unsigned n)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < n; i++)
		value |= (uint32_t)reel_host_tape_pop_bit(lane) << i;
	return value;
}

/* ---- Between host and device ----------------------------------------------------- */

/*
 * Copies to lanes[i] the tape that thread i of a kernel has saved, for `count` threads from the
 * first on (the threads of block 0, then the threads of block 1, ...). The words are pushed on the
 * lane's tape, above its contents, and the lane gets the bits of the thread. Waits for `stream`.
 * The arena does not change.
 *
 * Returns 0, or, with all lanes unchanged,
 *   -EINVAL  a lane has words of another size than the arena, a thread has not saved its tape, or
 *            the arena has no room for `count` threads
 *   -EBUSY   slabs are in the arena's store: call reel_arena_refill() first
 *   -EPROTO  the last launch has faults: call reel_arena_settle() first
 *   -ENOMEM  no memory
 *   -EIO     the driver failed
 *
 * An error of a lane's tape, which sticks there, is also returned.
 */
int reel_arena_fetch(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		     uint32_t count);

/*
 * Moves the tapes of `count` lanes to the arena. Thread i of a kernel with blocks of
 * `block_threads` threads then resumes the tape of lanes[i]. The lanes' tapes must hold nothing
 * else, and are empty afterwards. The arena is emptied first, and grows if it is too small: call
 * reel_arena_device() again. Its tapes then count as settled. Waits for `stream`.
 *
 * Returns 0, or
 *   -EINVAL  a lane has words of another size than the arena, its tape holds more than words, or
 *            `block_threads` is not 1 to 1024; nothing has changed
 *   -ENOMEM  no memory; the lanes are as they were, and the arena is empty
 *   -EIO     the driver failed; the lanes are as they were, and the arena is empty
 *
 * An error of a lane's tape is also returned. If the tape had this error before the call, nothing
 * has changed. If the tape failed during the call, the arena is empty.
 */
int reel_arena_send(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		    uint32_t count, uint32_t block_threads);

#ifdef __cplusplus
}

extern "C++" {

/* ---- reel_device_tape<>, on the host ------------------------------------------------ */

template <unsigned Word = 8> struct reel_host_tape_of {
	reel_host_tape lane;

	explicit reel_host_tape_of(reel_tape *tape) { reel_host_tape_open(&lane, tape, Word); }
	explicit reel_host_tape_of(const reel_host_tape &opened) : lane(opened) {}

	template <class... T> void push(const T &...x)
	{
		int in_order[] = {(reel_host_tape_push(&lane, &x, sizeof x), 0)...};

		(void)in_order;
	}
	void push(const bool &bit) { push_bit(bit); }
	template <class T> T pop()
	{
		T value;

		pop(value);
		return value;
	}
	template <class First, class... Rest> void pop(First &first, Rest &...rest)
	{
		pop_rest(rest...);
		reel_host_tape_pop(&lane, &first, sizeof first);
	}
	void pop(bool &bit) { bit = pop_bit(); }
	void push_bit(bool bit) { reel_host_tape_push_bit(&lane, bit); }
	bool pop_bit() { return reel_host_tape_pop_bit(&lane); }
	void push_bits(uint32_t value, unsigned n) { reel_host_tape_push_bits(&lane, value, n); }
	uint32_t pop_bits(unsigned n) { return reel_host_tape_pop_bits(&lane, n); }
	bool is_empty() const { return lane.bits == 1 && reel_tape_is_empty(lane.tape); }

private:
	void pop_rest() {}
	template <class First, class... Rest> void pop_rest(First &first, Rest &...rest)
	{
		pop_rest(rest...);
		reel_host_tape_pop(&lane, &first, sizeof first);
	}
};

} /* extern "C++" */
#endif

#endif
