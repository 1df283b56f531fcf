/* SPDX-License-Identifier: MIT */
/*
 * The tape in CUDA kernels: a thread pushes values in the forward sweep, and pops them in the
 * reverse sweep.
 *
 *	__global__ void gradient(reel_device_arena arena, const double *x, double *x_bar, int n)
 *	{
 *		reel_device_tape<> tape;
 *
 *		tape.open(arena);
 *		for (int i = global thread; i < n; i += all threads) {
 *			double y = x[i], y_bar = 1;
 *			int steps = 0;
 *
 *			for (; y < 100; steps++) {
 *				tape.push(y);
 *				y = y * y + x[i];
 *			}
 *			for (; steps > 0; steps--) {
 *				y = tape.pop<double>();
 *				x_bar[i] += y_bar;
 *				y_bar *= 2 * y;
 *			}
 *			x_bar[i] += y_bar;
 *		}
 *	}
 *
 * Compilers. This header needs nvcc with C++14 or later, and compute capability 7.5 or later. After
 * tests/helpers/emulator.h, any C++ compiler compiles it. The memory of the tapes is a reel_arena,
 * which the host holds (reel/arena.h).
 *
 * Order. Each lane (thread) has a tape of its own: last in, first out, over all kinds of values
 * together. Each pop names the types, or the number of bits, that its push had. Nothing else needs
 * to mirror the pushes: lanes of a warp may branch, loop, return and call device functions freely.
 *
 * Layout. A warp's tapes share rows of 32 words: lane l owns word l of each row, and has a top of
 * its own. Lanes that push together at the same height write one row, in one coalesced access of
 * 128, 256 or 512 bytes (with words of 4, 8 or 16 bytes). Lanes at different heights are also
 * correct, but slower: a push writes to one row for each height, in the worst case a sector of 32
 * bytes for each lane. The L2 cache joins the parts of a row that are written soon after one
 * another. The highest lane of a warp determines the number of its slabs, so words of lower lanes
 * are unused. If a branch makes the heights of lanes differ for good, pushing in both arms is
 * cheaper.
 *
 * Values. A value takes whole words: with words of 8 bytes, a float takes 8 bytes and a struct of
 * 20 bytes takes 24. Choose words of 4 bytes for tapes of floats and indices, and words of 16 bytes
 * for wide records. Several values in one push cost one check.
 *
 * Faults. If a push finds no slab, its words are counted and dropped, and the pop that mirrors it
 * gives zeros. A pop without a push also gives zeros. The kernel continues, all other tapes are
 * whole, and the host reads the faults from the arena. If there was room for only some words of a
 * value, the pop gives these words, and zeros for the rest.
 *
 * Cost. A push or pop within a slab is inline: it computes an address from the top, makes one test,
 * stores or loads each word, and sets the new top. The tape's state is in registers: the top (1),
 * the lane's column (2), and, if bits are used, the bits (2; 1 with words of 4 bytes). One push in
 * 255 (words of 8 bytes, slabs of 64 KiB) crosses into another slab, which costs a call. If the
 * warp has no slab above, one lane takes a slab for all lanes that are there. No memory is
 * allocated. A lane waits only while another lane of its warp takes a slab.
 *
 * Number of tapes. A lane has one tape in an arena in each launch. A kernel that needs two tapes
 * for each lane needs two arenas.
 */
#ifndef REEL_DEVICE_CUH
#define REEL_DEVICE_CUH

#include <string.h>
#include <type_traits>

#include <reel/device-slab.cuh>

/* ---- Within: words and rows ---- */

struct alignas(16) reel_device_wide {
	uint64_t low, high;
};

template <unsigned Bytes> struct reel_device_word {
	static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "a word has 4, 8 or 16 bytes");
	typedef typename std::conditional<Bytes == 4, uint32_t, uint64_t>::type bits;
	typedef typename std::conditional<Bytes == 16, reel_device_wide, bits>::type type;
};

/* Packs values into words and unpacks them; each value begins a word. `rows` counts the words. */
template <unsigned Word, class... T> struct reel_device_record;

template <unsigned Word> struct reel_device_record<Word> {
	static constexpr unsigned rows = 0;

	template <class W> static REEL_DEVICE void pack(W *) {}
	template <class W> static REEL_DEVICE void unpack(const W *) {}
};

template <unsigned Word, class First, class... Rest>
struct reel_device_record<Word, First, Rest...> {
	static_assert(std::is_trivially_copyable<First>::value,
		      "a tape holds trivially copyable types only");
	static constexpr unsigned own_rows = (sizeof(First) + Word - 1) / Word;
	static constexpr unsigned rows = own_rows + reel_device_record<Word, Rest...>::rows;

	template <class W>
	static REEL_DEVICE void pack(W *words, const First &first, const Rest &...rest)
	{
		words[own_rows - 1] = W();
		memcpy(words, &first, sizeof first);
		reel_device_record<Word, Rest...>::pack(words + own_rows, rest...);
	}
	template <class W>
	static REEL_DEVICE void unpack(const W *words, First &first, Rest &...rest)
	{
		memcpy(&first, words, sizeof first);
		reel_device_record<Word, Rest...>::unpack(words + own_rows, rest...);
	}
};

/* ---- Within: bits ---- */

/* A word of bits below a leading one. The word is full when its highest bit is the leading one. */
template <class Bits> struct reel_device_bits {
	static constexpr unsigned capacity = sizeof(Bits) * 8 - 1;
	static constexpr Bits full = (Bits)1 << capacity;

	static REEL_DEVICE unsigned unused(Bits bits)
	{
		return sizeof(Bits) == 8 ? (unsigned)__clzll((long long)bits)
					 : (unsigned)__clz((int)bits);
	}
	static REEL_DEVICE Bits low(Bits bits, unsigned n) { return bits & (((Bits)1 << n) - 1); }
};

/* ---- The tape ---- */

/* The tape of a lane, with words of `Word` bytes: 4, 8 or 16, the same as the arena's. */
template <unsigned Word = 8> struct reel_device_tape {
	typedef typename reel_device_word<Word>::type word;
	typedef typename reel_device_word<Word>::bits bit_word;
	typedef reel_device_bits<bit_word> packing;

	/* A place on a tape. */
	struct place {
		uint32_t top;
		bit_word bits;
	};

	/* ---- Opening, and handing over to another kernel ---- */

	/* Opens an empty tape. Its pushes overwrite the earlier tape of this lane in the arena. */
	REEL_DEVICE void open(const reel_device_arena &arena)
	{
		base = arena.base;
		row_mask = arena.row_mask;
		column = arena.base + reel_device_warp_index() * Word;
		top = REEL_DEVICE_TOP_NONE;
		bits = 1;
	}

	/*
	 * Leaves the tape in the arena for a later kernel. There, the lane of the same block and
	 * number resumes the tape; the blocks must have the same number of threads. Each lane
	 * whose tape will be resumed calls this function before it returns.
	 */
	REEL_DEVICE void save() const
	{
		const reel_arena_warp *warp = reel_device_state(base, Word);
		reel_arena_saved *saved;

		if (!warp)
			return;
		saved = reel_device_saved(base, warp);
		saved->top[reel_device_warp_index()] = top;
		saved->bits[reel_device_warp_index()] = bits;
		reel_device_store(&reel_device_header(base)->saved_block,
				  reel_device_block_threads());
	}

	/*
	 * Opens the tape that this lane saved in an earlier kernel. If the lane saved none, the
	 * tape is empty, and REEL_DEVICE_RESUME is noted.
	 */
	REEL_DEVICE void resume(const reel_device_arena &arena)
	{
		const reel_arena_warp *warp = reel_device_state(arena.base, Word);
		const reel_arena_saved *saved;

		open(arena);
		if (!warp)
			return;
		saved = reel_device_saved(base, warp);
		if (reel_device_load(&reel_device_header(base)->saved_block) !=
			    reel_device_block_threads() ||
		    saved->top[reel_device_warp_index()] == 0)
			return reel_device_note(base, REEL_DEVICE_RESUME);
		top = saved->top[reel_device_warp_index()];
		bits = (bit_word)saved->bits[reel_device_warp_index()];
	}

	/* ---- Values ---- */

	/* Pushes values of any trivially copyable types, as one record. A single bool is a bit. */
	template <class... T> REEL_DEVICE void push(const T &...x)
	{
		word words[reel_device_record<Word, T...>::rows];

		reel_device_record<Word, T...>::pack(words, x...);
		push_words(words);
	}
	REEL_DEVICE void push(const bool &bit) { push_bit(bit); }

	/* Pops one value. */
	template <class T> REEL_DEVICE T pop()
	{
		T value;

		pop(value);
		return value;
	}

	/* Pops a record into its values, which are in the order of the push. */
	template <class First, class... Rest> REEL_DEVICE void pop(First &first, Rest &...rest)
	{
		word words[reel_device_record<Word, First, Rest...>::rows];

		pop_words(words);
		reel_device_record<Word, First, Rest...>::unpack(words, first, rest...);
	}
	REEL_DEVICE void pop(bool &bit) { bit = pop_bit(); }

	/* Returns the value that the next pop gives, and leaves it on the tape. */
	template <class T> REEL_DEVICE T look()
	{
		place here = mark();
		T value = pop<T>();

		rewind(here);
		return value;
	}

	/* ---- Bits ---- */

	/* Bits are packed in order with all values, 63 to a word (31 with words of 4 bytes). */
	REEL_DEVICE void push_bit(bool bit)
	{
		bits = (bit_word)(bits << 1 | (bit_word)bit);
		if (bits & packing::full)
			flush_bits();
	}

	REEL_DEVICE bool pop_bit()
	{
		bool bit;

		if (bits == 1)
			fetch_bits();
		bit = bits & 1;
		bits >>= 1;
		return bit;
	}

	/* Pushes the low n bits of `value`, 1 <= n <= 31. */
	REEL_DEVICE void push_bits(uint32_t value, unsigned n)
	{
		unsigned room = packing::unused(bits);

		if (n > room) {
			n -= room;
			bits = (bit_word)(bits << room | packing::low(value >> n, room));
			flush_bits();
		}
		bits = (bit_word)(bits << n | packing::low(value, n));
		if (bits & packing::full)
			flush_bits();
	}

	REEL_DEVICE uint32_t pop_bits(unsigned n)
	{
		unsigned there = packing::capacity - packing::unused(bits);
		uint32_t value = 0, low = 0;

		if (n > there) {
			low = (uint32_t)packing::low(bits, there);
			fetch_bits();
			n -= there;
		} else {
			there = 0;
		}
		value = (uint32_t)packing::low(bits, n);
		bits >>= n;
		return value << there | low;
	}

	/* ---- Places ---- */

	REEL_DEVICE place mark() const { return place{top, bits}; }

	/*
	 * Goes to a place. Going down drops the pushes since then. Going up again after pops lets
	 * the same stretch be reversed once more, if nothing was pushed meanwhile. Constant time.
	 */
	REEL_DEVICE void rewind(const place &there)
	{
		top = there.top;
		bits = there.bits;
	}

	REEL_DEVICE bool is_empty() const
	{
		return bits == 1 && reel_device_leave(base, top) == REEL_DEVICE_TOP_NONE;
	}

	/*
	 * Gives back all slabs above those that the warp's lanes need now. The lanes in `lanes`
	 * call this function together. The tapes of the warp's other lanes must be empty, and not
	 * in use meanwhile. Places above the present tops are not valid any more.
	 */
	REEL_DEVICE void trim(uint32_t lanes = ~0u)
	{
		top = reel_device_trim(base, top, lanes, Word);
	}

	/* ---- Within ---- */

	unsigned char *base, *column;
	uint32_t row_mask, top;
	bit_word bits;

	static REEL_DEVICE word *at(unsigned char *column, uint32_t row)
	{
		return (word *)(column + (uint64_t)row * (32 * Word));
	}

	/* The sum is above `row_mask` if the slab has no room for Rows rows, or TOP_NONE is set. */
	template <unsigned Rows> REEL_DEVICE void push_words(const word (&words)[Rows])
	{
		if ((top & (row_mask | REEL_DEVICE_TOP_NONE)) + Rows > row_mask)
			return push_across(words);

		word *first = at(column, top + 1);
#pragma unroll
		for (unsigned i = 0; i < Rows; i++)
			first[i * 32] = words[i];
		top += Rows;
	}

	template <unsigned Rows> REEL_DEVICE void push_across(const word (&words)[Rows])
	{
#pragma unroll
		for (unsigned i = 0; i < Rows; i++) {
			if ((top & (row_mask | REEL_DEVICE_TOP_NONE)) >= row_mask)
				top = reel_device_climb(base, top, Word);
			if (!(top & REEL_DEVICE_TOP_NONE))
				*at(column, ++top) = words[i];
		}
	}

	/* Returns the row of the top within its slab, or a negative number if TOP_NONE is set. */
	REEL_DEVICE int32_t row() const
	{
		return (int32_t)(top & (row_mask | REEL_DEVICE_TOP_NONE));
	}

	template <unsigned Rows> REEL_DEVICE void pop_words(word (&words)[Rows])
	{
		if (row() < (int32_t)Rows)
			return pop_across(words);
		top -= Rows;

		const word *first = at(column, top + 1);
#pragma unroll
		for (unsigned i = 0; i < Rows; i++)
			words[i] = first[i * 32];
	}

	template <unsigned Rows> REEL_DEVICE void pop_across(word (&words)[Rows])
	{
#pragma unroll
		for (unsigned i = Rows; i-- > 0;) {
			bool refused = false;

			if (row() <= 0) {
				uint64_t below = reel_device_descend(base, top, Word);

				top = (uint32_t)below;
				refused = below & REEL_DEVICE_ZERO;
			}
			words[i] = refused ? word() : *at(column, top--);
		}
	}

	REEL_DEVICE void flush_bits()
	{
		push(bits);
		bits = 1;
	}

	/* A word of bits that was refused pops as 0: all its bits are zeros. */
	REEL_DEVICE void fetch_bits()
	{
		bits = pop<bit_word>();
		if (bits == 0)
			bits = packing::full;
	}
};

#endif
