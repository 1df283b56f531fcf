/* SPDX-License-Identifier: MIT */
/*
 * The least that the tapes of the cases clad/ could be: a pointer into memory that is there
 * already, known to be enough. bare_tape knows nothing else. bounded_tape also knows where that
 * memory ends, as whatever can grow has to: a comparison a push, and one a pop.
 */
#ifndef REEL_BENCH_CLAD_CURSORS_H
#define REEL_BENCH_CLAD_CURSORS_H

#include <cstddef>
#include <cstdlib>

namespace cursors {

/* Each tape that begins takes the next piece, and the one that ends last began first. */
constexpr std::size_t piece_bytes = (std::size_t)16 << 20;
constexpr std::size_t pieces = 4;

inline char *memory;
inline std::size_t taken;

inline char *take_piece()
{
	if (!memory)
		memory = static_cast<char *>(bench_memory(pieces * piece_bytes));
	if (taken == pieces)
		std::abort();
	return memory + piece_bytes * taken++;
}

inline void give_memory_back()
{
	bench_memory_free(memory, pieces * piece_bytes);
	memory = nullptr;
}

template <class T> class bare_tape {
public:
	bare_tape() noexcept : top_(reinterpret_cast<T *>(take_piece()))
	{
	}

	~bare_tape()
	{
		taken--;
	}

	bare_tape(const bare_tape &) = delete;
	bare_tape &operator=(const bare_tape &) = delete;

	inline T &emplace_back(T value)
	{
		*top_ = value;
		return *top_++;
	}

	inline T &back()
	{
		return top_[-1];
	}

	inline T pop()
	{
		return *--top_;
	}

private:
	T *top_;
};

/* Where another piece would be taken, by a function that gets and returns the pointer. */
template <class T> [[gnu::noinline, gnu::cold]] T *next_piece(T *top)
{
	__asm__ volatile("" : "+r"(top));
	std::abort();
	return top;
}

template <class T> class bounded_tape {
public:
	bounded_tape() noexcept
		: top_(reinterpret_cast<T *>(take_piece())), floor_(top_),
		  limit_(reinterpret_cast<T *>(memory + piece_bytes * taken))
	{
		/* Neither is known to the compiler. */
		__asm__ volatile("" : "+r"(floor_), "+r"(limit_));
	}

	~bounded_tape()
	{
		taken--;
	}

	bounded_tape(const bounded_tape &) = delete;
	bounded_tape &operator=(const bounded_tape &) = delete;

	inline T &emplace_back(T value)
	{
		if (__builtin_expect(top_ >= limit_, 0))
			top_ = limit_ = next_piece(top_);
		*top_ = value;
		return *top_++;
	}

	inline T &back()
	{
		if (__builtin_expect(top_ <= floor_, 0))
			top_ = floor_ = next_piece(top_);
		return top_[-1];
	}

	inline T pop()
	{
		if (__builtin_expect(top_ <= floor_, 0))
			top_ = floor_ = next_piece(top_);
		return *--top_;
	}

private:
	T *top_;
	T *floor_;
	T *limit_;
};

#define CURSOR_FUNCTIONS(tape)                                                                     \
	template <class T, class Value> inline T &push(tape<T> &to, Value value)                   \
	{                                                                                          \
		return to.emplace_back(static_cast<T>(value));                                     \
	}                                                                                          \
                                                                                                   \
	template <class T> inline T pop(tape<T> &from)                                             \
	{                                                                                          \
		return from.pop();                                                                 \
	}                                                                                          \
                                                                                                   \
	template <class T> inline T &back(tape<T> &of)                                             \
	{                                                                                          \
		return of.back();                                                                  \
	}

CURSOR_FUNCTIONS(bare_tape)
CURSOR_FUNCTIONS(bounded_tape)
#undef CURSOR_FUNCTIONS

} // namespace cursors

#endif
