/* SPDX-License-Identifier: MIT */
/*
 * A lane's tape on the host: what reel_device_tape (device.cuh) is to a thread of a kernel, on a
 * tape of the host's (tape.h). So what a kernel recorded can be reversed on the host, and the other
 * way round:
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
 * In C++ there is reel_host_tape_of<>, with the members of reel_device_tape<>: a sweep that is
 * a template on its tape serves both sides.
 *
 * Pushes and pops. Values take whole words, as in a kernel: 4, 8 or 16 bytes. Each word is a record
 * on the host's tape, a uint64_t for words of 4 and of 8, so that values of 8 bytes may be pushed
 * to and popped from the tape itself, too, as uint64_t or double. Bits are packed as a kernel packs
 * them, in the lane. All else is the tape's: which threads may use it, its errors, its pool and
 * where that puts slabs, its marks and holds.
 *
 * Cost. On the host a push or a pop as of the tape, for each word. Between host and device each
 * slab crosses once, in pinned memory; the host turns rows into columns.
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
	uint64_t bits; /* below a leading one; 1: none */
	uint32_t word_bytes;
	uint32_t reserved;
};

typedef struct reel_host_tape_wide {
	uint64_t low, high;
} reel_host_tape_wide;

REEL_RECORD(host_tape_wide, reel_host_tape_wide);

/* ---- Values ------------------------------------------------------------------- */

/* Use this tape, which stays the caller's, as one of a kernel with words of 4, 8 or 16 bytes. */
static inline void reel_host_tape_open(struct reel_host_tape *lane, reel_tape *tape,
				       uint32_t word_bytes)
{
	lane->tape = tape;
	lane->bits = 1;
	lane->word_bytes = word_bytes;
	lane->reserved = 0;
}

/* A word, of which the first word_bytes count. */
static inline void reel_host_tape_push_word(struct reel_host_tape *lane, reel_host_tape_wide word)
{
	if (lane->word_bytes == 16)
		reel_push_record(lane->tape, host_tape_wide, word);
	else
		reel_push(lane->tape, word.low);
}

static inline reel_host_tape_wide reel_host_tape_pop_word(struct reel_host_tape *lane)
{
	reel_host_tape_wide word = {0, 0};

	if (lane->word_bytes == 16)
		return reel_pop_record(lane->tape, host_tape_wide);
	word.low = reel_pop(lane->tape, uint64_t);
	return word;
}

/* What a kernel pushes as a value of this type. A record of several is their pushes in order. */
static inline void reel_host_tape_push(struct reel_host_tape *lane, const void *value, size_t bytes)
{
	size_t word = lane->word_bytes;

	for (size_t at = 0; at < bytes; at += word) {
		reel_host_tape_wide x = {0, 0};

		memcpy(&x, (const char *)value + at, bytes - at < word ? bytes - at : word);
		reel_host_tape_push_word(lane, x);
	}
}

/* What a kernel pops as one; of a record the last value first. */
static inline void reel_host_tape_pop(struct reel_host_tape *lane, void *value, size_t bytes)
{
	size_t word = lane->word_bytes;

	for (size_t at = (bytes + word - 1) / word * word; at > 0; at -= word) {
		reel_host_tape_wide x = reel_host_tape_pop_word(lane);
		size_t from = at - word;

		memcpy((char *)value + from, &x, bytes - from < word ? bytes - from : word);
	}
}

/* ---- Bits --------------------------------------------------------------------- */

/* The bits that a word holds below the leading one. */
static inline unsigned reel_host_tape_capacity(const struct reel_host_tape *lane)
{
	return lane->word_bytes == 4 ? 31 : 63;
}

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
	/* A word that a kernel was refused is so many zeros. */
	if (lane->bits == 0)
		lane->bits = (uint64_t)1 << reel_host_tape_capacity(lane);
	bit = lane->bits & 1;
	lane->bits >>= 1;
	return bit;
}

/* The low n bits of value, 1 <= n <= 31. */
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
 * Take a copy of what a kernel has saved: of its thread number i (those of block 0, then those of
 * block 1, ...) on lanes[i], for `count` threads from the first on. It is pushed on the lane's
 * tape, above what that has, and the lane's bits become those of the thread. Tapes with stages
 * (device-staged.cuh) come as well. Waits for the stream. The arena is as it was.
 *
 * Returns 0, or, and all lanes have what they had,
 *   -EINVAL  a lane has words of another size than the arena; or a thread has not saved its tape
 *   -EBUSY   slabs are in the arena's store: reel_arena_refill() first
 *   -EPROTO  the last launch has faults: settle it
 *   -ENOMEM, -EIO, or the error of a lane's tape, which sticks
 */
int reel_arena_fetch(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		     uint32_t count);

/*
 * Let a kernel with blocks of so many threads resume what is on these lanes: its threads' from the
 * first on. The lanes' tapes have nothing else on them, and are empty afterwards. The arena is
 * emptied before, and grows if it has to: reel_arena_device() anew. For tapes without stages.
 * Waits for the stream.
 *
 * Returns 0, or -EINVAL: a lane has words of another size than the arena, or its tape has something
 * else on it, or there are no such blocks; the error of a tape: nothing has changed; or -ENOMEM,
 * -EIO: the lanes are as they were, and the arena is empty.
 */
int reel_arena_send(struct reel_arena *arena, void *stream, struct reel_host_tape *lanes,
		    uint32_t count, uint32_t block_threads);

#ifdef __cplusplus
}

extern "C++" {

/* ---- reel_device_tape<>, on the host ------------------------------------------------ */

template <unsigned Word = 8> struct reel_host_tape_of {
	reel_host_tape lane;

	explicit reel_host_tape_of(reel_tape *tape)
	{
		reel_host_tape_open(&lane, tape, Word);
	}
	explicit reel_host_tape_of(const reel_host_tape &opened) : lane(opened)
	{
	}

	template <class... T> void push(const T &...x)
	{
		int in_order[] = {(reel_host_tape_push(&lane, &x, sizeof x), 0)...};

		(void)in_order;
	}
	void push(const bool &bit)
	{
		push_bit(bit);
	}
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
	void pop(bool &bit)
	{
		bit = pop_bit();
	}
	void push_bit(bool bit)
	{
		reel_host_tape_push_bit(&lane, bit);
	}
	bool pop_bit()
	{
		return reel_host_tape_pop_bit(&lane);
	}
	void push_bits(uint32_t value, unsigned n)
	{
		reel_host_tape_push_bits(&lane, value, n);
	}
	uint32_t pop_bits(unsigned n)
	{
		return reel_host_tape_pop_bits(&lane, n);
	}
	bool is_empty() const
	{
		return lane.bits == 1 && reel_tape_is_empty(lane.tape);
	}

private:
	void pop_rest()
	{
	}
	template <class First, class... Rest> void pop_rest(First &first, Rest &...rest)
	{
		pop_rest(rest...);
		reel_host_tape_pop(&lane, &first, sizeof first);
	}
};

} /* extern "C++" */
#endif

#endif
