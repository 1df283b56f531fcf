/* SPDX-License-Identifier: MIT */
/*
 * A tape of bool. The top is a bool that can be changed. The values below it are bits: up to 62 of
 * them in the object itself, the others as words on a tape of their own.
 */
#ifndef REEL_CLAD_BITS_H
#define REEL_CLAD_BITS_H

#include <cstdint>

#include "values.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/* Pushes a word on the tape, or on a new tape if `words` is NULL; returns the tape, or NULL. */
REEL_COLD inline lent_tape *save_word(lent_tape *words, std::uint64_t word) noexcept
{
	static const reel_type type = {"64 bits", 8, 8, REEL_INTEGER};
	tape_place place = make_room(words ? words->top : nullptr, words, &type);

	if (!place.top)
		return nullptr;
	std::memcpy(place.top, &word, 8);
	place.tape->put_top(place.top + 8);
	return place.tape;
}

/* Pops the word that was saved last. Returns `word` if there is none, and 0 if it is lost. */
REEL_COLD inline std::uint64_t load_word(lent_tape *words, std::uint64_t word) noexcept
{
	static const reel_type type = {"64 bits", 8, 8, REEL_INTEGER};
	tape_place place;

	last_error() = -ENODATA;
	if (word == 0 || !words || reel_tape_is_empty(words))
		return word;
	place = pop_far(words->top, words, &type);
	if (!place.top)
		return 0;
	std::memcpy(&word, place.top, 8);
	return word;
}

class bool_tape {
public:
	constexpr bool_tape() noexcept = default;

	~bool_tape()
	{
		if (words_)
			return_tape(words_);
	}

	bool_tape(const bool_tape &) = delete;
	bool_tape &operator=(const bool_tape &) = delete;

	template <class... Value> REEL_INLINE_MEMBER bool &emplace_back(Value &&...value)
	{
		const bool pushed = bool(static_cast<Value &&>(value)...);
		std::uint64_t bits = bits_ * 2 + !top_;

		if (REEL_UNLIKELY(bits >> 63)) {
			lent_tape *words = save_word(words_, bits);

			or_fail(words);
			words_ = words;
			bits = 1;
		}
		bits_ = bits;
		top_ = pushed;
		return top_;
	}

	REEL_INLINE_MEMBER bool &back()
	{
		if (REEL_UNLIKELY(bits_ == 0))
			fail_empty();
		return top_;
	}

	REEL_INLINE_MEMBER bool pop()
	{
		const bool popped = top_;

		if (REEL_UNLIKELY(bits_ <= 1)) {
			const std::uint64_t word = load_word(words_, bits_);

			if (REEL_UNLIKELY(!word))
				fail();
			bits_ = word;
		}
		top_ = !(bits_ & 1);
		bits_ >>= 1;
		return popped;
	}

	REEL_INLINE_MEMBER void pop_back()
	{
		pop();
	}

	/* Returns a copy: a bit has no address, so values below the top cannot be changed. */
	bool operator[](std::size_t index) const
	{
		const std::size_t count = size();
		const std::size_t saved = words_ ? 63 * (reel_tape_bytes(words_) / 8) : 0;
		std::uint64_t word = bits_;

		if (index >= count)
			fail_at(-ERANGE);
		if (index + 1 == count)
			return top_;
		if (index >= saved)
			return !(bits_ >> (count - 2 - index) & 1);
		std::memcpy(&word, find(words_->top, words_, index / 63, 8), 8);
		return !(word >> (62 - index % 63) & 1);
	}

	std::size_t size() const
	{
		std::size_t count = words_ ? 63 * (reel_tape_bytes(words_) / 8) : 0;

		for (std::uint64_t bits = bits_; bits; bits >>= 1)
			count++;
		return count;
	}

	bool empty() const
	{
		return bits_ == 0;
	}

	/* Allows another thread to use the tape from now on. */
	void hand_over()
	{
		if (words_)
			reel_tape_hand_over(words_);
	}

private:
	/*
	 * The values below the top, inverted, with the last one lowest. The highest set bit stands
	 * above them and tells their number. In an empty tape it is the inverted top, which does
	 * not exist yet.
	 */
	std::uint64_t bits_ = 0;
	lent_tape *words_ = nullptr;
	bool top_ = false;
};

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
