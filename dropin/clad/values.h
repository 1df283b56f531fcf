/* SPDX-License-Identifier: MIT */
/*
 * A tape of trivially copyable values: a cursor over a struct reel_tape, which the first push
 * borrows. It has all of that tape: stores, checked mode, and slabs of the pool.
 *
 * No function gets the address of the cursor. Functions for rare cases take its members and return
 * them by value, so the compiler can keep the members in registers while a loop pushes or pops.
 */
#ifndef REEL_CLAD_VALUES_H
#define REEL_CLAD_VALUES_H

#include <cstdint>

#include "element.h"
#include "tapes.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/* The members of the cursor that a function has changed; `top` is NULL if the call failed. */
struct tape_place {
	char *top;
	lent_tape *tape;
};

inline tape_place done(lent_tape *tape) noexcept
{
	tape->stale = nullptr;
	return {tape->top, tape};
}

inline tape_place not_done(char *top, lent_tape *tape, int error) noexcept
{
	last_error() = error;
	if (tape)
		tape->stale = top;
	return {nullptr, tape};
}

/* Makes room on another slab, and does all other rare cases of a push. */
REEL_COLD inline tape_place push_far(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	char *slot;

	tape->come_back(top);
	slot = static_cast<char *>(reel_push_slow(tape, type, "clad::push"));
	if (slot) {
		tape->stale = nullptr;
		return {slot, tape};
	}
	take_back_push(tape, type);
	return not_done(top, tape, last_error());
}

/* Makes room for the first value, on a tape that take_idle() returned. */
REEL_COLD inline tape_place make_first_room(lent_tape *idle, const reel_type *type) noexcept
{
	lent_tape *tape = make_ready(idle);
	tape_place place;

	if (!tape)
		return {nullptr, nullptr};
	if (!reel_above(tape->top, type->size, tape->ceiling))
		return {tape->top, tape};
	place = push_far(tape->top, tape, type);
	if (!place.top)
		return_tape(tape);
	return place;
}

inline tape_place make_room(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	return tape ? push_far(top, tape, type) : make_first_room(take_idle(), type);
}

/* Makes room for a value that commit_far() pushes later. */
REEL_COLD inline tape_place reserve_far(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	const bool borrowed = !tape;

	if (borrowed)
		tape = make_ready(take_idle());
	if (!tape)
		return {nullptr, nullptr};
	tape->come_back(borrowed ? tape->top : top);
	if (reel_reserve_slow(tape, type, 1, "clad::push"))
		return done(tape);
	take_back_push(tape, type);
	if (!borrowed)
		return not_done(top, tape, last_error());
	return_tape(tape);
	return {nullptr, nullptr};
}

REEL_COLD inline tape_place commit_far(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	reel_commit_slow(tape, type, 1, "clad::push");
	if (!reel_tape_refused(tape))
		return done(tape);
	take_back_push(tape, type);
	return not_done(top, tape, last_error());
}

inline bool is_empty(char *top, lent_tape *tape) noexcept
{
	if (tape)
		tape->come_back(top);
	return !tape || reel_tape_is_empty(tape);
}

/* Pops the top value, which lies at the new top afterwards. */
REEL_COLD inline tape_place pop_far(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	if (is_empty(top, tape))
		return not_done(top, tape, -ENODATA);
	if (reel_pop_slow(tape, type, "clad::pop") == tape->top)
		return done(tape);
	return not_done(top, tape, reel_tape_error(tape));
}

/* Moves the top value from a slab that must not be changed to the next slab, which has room. */
REEL_COLD inline void move_top(lent_tape *tape, const reel_type *type, void *copy) noexcept
{
	const void *from = reel_pop_slow(tape, type, "clad::back");
	void *to;

	std::memcpy(copy, from, type->size);
	to = from == tape->top ? reel_push_slow(tape, type, "clad::back") : nullptr;
	if (!to) {
		std::fputs("reel: clad::back: the value on top is lost\n", stderr);
		std::abort();
	}
	std::memcpy(to, copy, type->size);
	tape->top = static_cast<char *>(to) + type->size;
}

/*
 * The top value lies in a slab that a store has a copy of or is writing, so a change of the value
 * would be lost. Room for one more value solves this: either the store's copy becomes stale, or the
 * tape gets another slab on top, and the value is moved there.
 */
REEL_COLD inline bool make_top_writable(lent_tape *tape, const reel_type *type) noexcept
{
	const struct reel_slab *slab = tape->slab;
	void *copy = ::operator new(type->size, std::nothrow);

	last_error() = -ENOMEM;
	if (!copy)
		return false;
	if (!reel_reserve_slow(tape, type, 1, "clad::back")) {
		take_back_push(tape, type);
		::operator delete(copy);
		return false;
	}
	/* The tops may be equal, because one slab may begin where the other one ends. */
	if (tape->slab != slab)
		move_top(tape, type, copy);
	::operator delete(copy);
	return true;
}

/* Makes the top value one that may be changed. */
REEL_COLD inline tape_place back_far(char *top, lent_tape *tape, const reel_type *type) noexcept
{
	if (is_empty(top, tape))
		return not_done(top, tape, -ENODATA);
	if (!reel_look_slow(tape, type, "clad::back"))
		return not_done(top, tape, reel_tape_error(tape));
	if (tape->ceiling == REEL_FALSE_CEILING && !make_top_writable(tape, type))
		return not_done(top, tape, last_error());
	return done(tape);
}

/* Finds value number `index`; each value has `bytes` bytes. */
REEL_COLD inline char *find_far(char *top, lent_tape *tape, std::size_t index, std::size_t bytes)
{
	reel_window window = {};
	std::uint64_t height = std::uint64_t{index} * bytes;
	int error = -ERANGE;

	if (tape) {
		tape->put_top(top);
		if (index < reel_tape_bytes(tape) / bytes)
			error = reel_tape_window(tape, height, &window);
	}
	if (error)
		fail_at(error);
	/* The top's window is not noted, because each push and pop changes it. */
	if (window.height + window.bytes < reel_tape_bytes(tape)) {
		tape->found = window.start;
		tape->found_first = static_cast<std::size_t>(window.height / bytes);
		tape->found_count = static_cast<std::size_t>(window.bytes / bytes);
	}
	return window.start + (height - window.height);
}

inline char *find(char *top, lent_tape *tape, std::size_t index, std::size_t bytes)
{
	if (tape && index - tape->found_first < tape->found_count)
		return tape->found + (index - tape->found_first) * bytes;
	return find_far(top, tape, index, bytes);
}

template <class T> class value_tape {
	static_assert(std::is_trivially_copyable<T>::value, "");
	static_assert(alignof(T) <= 64, "a slab is aligned to 64 bytes");

public:
	constexpr value_tape() noexcept = default;

	~value_tape()
	{
		if (tape_)
			return_tape(tape_);
	}

	value_tape(const value_tape &) = delete;
	value_tape &operator=(const value_tape &) = delete;

	template <class... Arguments> REEL_INLINE_MEMBER T &emplace_back(Arguments &&...values)
	{
		return emplace(way<Arguments...>(), static_cast<Arguments &&>(values)...);
	}

	REEL_INLINE_MEMBER T &back()
	{
		if (REEL_UNLIKELY(at_floor() || REEL_ADDRESS(limit_) <= 0))
			enter_below(back_far(top_, tape_, type()));
		return *at(top_ - bytes);
	}

	REEL_INLINE_MEMBER void pop_back()
	{
		take();
	}

	REEL_INLINE_MEMBER popped_element<T> pop()
	{
		return static_cast<T &&>(*take());
	}

	T &operator[](std::size_t index)
	{
		return *at(find(top_, tape_, index, bytes));
	}

	const T &operator[](std::size_t index) const
	{
		return *at(find(top_, tape_, index, bytes));
	}

	std::size_t size() const
	{
		if (!tape_)
			return 0;
		tape_->put_top(top_);
		return static_cast<std::size_t>(reel_tape_bytes(tape_) / bytes);
	}

	bool empty() const
	{
		return size() == 0;
	}

	/* Allows another thread to use the tape from now on. */
	void hand_over()
	{
		if (tape_)
			reel_tape_hand_over(tape_);
	}

private:
	/* Tops are multiples of 8 and frames of 64, so `padding` bytes are enough to align. */
	static constexpr std::size_t padding = alignof(T) > 8 ? alignof(T) - 8 : 0;
	static constexpr std::size_t bytes = REEL_ROUND(sizeof(T) + padding);

	static const reel_type *type()
	{
		static const reel_type record = {__PRETTY_FUNCTION__, bytes, 8,
						 reel_kind_of<T>::value};

		return &record;
	}

	REEL_INLINE_MEMBER static void *aligned(char *slot)
	{
		return padding ? slot + (-reinterpret_cast<std::uintptr_t>(slot) & padding) : slot;
	}

	REEL_INLINE_MEMBER static T *at(char *slot)
	{
		return static_cast<T *>(aligned(slot));
	}

	/*
	 * All values have one size, so a window is full if less than one value fits, and empty if
	 * none is left. The comparisons are signed, and include equality, so that they also work
	 * with false limits and with a tape that is all zero.
	 */
	REEL_INLINE_MEMBER static char *limit_of(char *ceiling)
	{
		return reinterpret_cast<char *>(reinterpret_cast<std::intptr_t>(ceiling) -
						static_cast<std::intptr_t>(bytes - 8));
	}

	REEL_INLINE_MEMBER bool at_limit() const
	{
		return REEL_ADDRESS(top_) >= REEL_ADDRESS(limit_);
	}

	REEL_INLINE_MEMBER bool at_floor() const
	{
		return REEL_ADDRESS(top_) <= REEL_ADDRESS(floor_);
	}

	/* Takes the limits from the tape, which the call may have changed. */
	REEL_INLINE_MEMBER void enter(tape_place place)
	{
		or_fail(place.top);
		top_ = place.top;
		tape_ = place.tape;
		limit_ = limit_of(place.tape->ceiling);
		floor_ = place.tape->floor;
	}

	/* After a failed pop a push must take the slow path, because the cursor's top is stale. */
	REEL_INLINE_MEMBER void enter_below(tape_place place)
	{
		if (REEL_UNLIKELY(!place.top)) {
			limit_ = nullptr;
			fail();
		}
		enter(place);
	}

	struct by_value {};
	struct in_place {};
	struct in_steps {};

	template <class... Arguments>
	using way = typename std::conditional<
		std::is_scalar<T>::value, by_value,
		typename std::conditional<
			element<T>::template cannot_throw<Arguments...>::value, in_place,
			in_steps>::type>::type;

	/* The value goes to the slow path in a register, and is not kept beyond that call. */
	template <class... Arguments>
	REEL_INLINE_MEMBER T &emplace(by_value, Arguments &&...values)
	{
		const T value = T(static_cast<T>(values)...);

		if (REEL_UNLIKELY(at_limit())) {
			enter(push_value(value, top_, tape_));
		} else {
			::new (aligned(top_)) T(value);
			top_ += bytes;
		}
		return *at(top_ - bytes);
	}

	template <class... Arguments>
	REEL_INLINE_MEMBER T &emplace(in_place, Arguments &&...values)
	{
		if (REEL_UNLIKELY(at_limit()))
			enter(push(top_, tape_));
		top_ += bytes;
		return *element<T>::construct(aligned(top_ - bytes),
					      static_cast<Arguments &&>(values)...);
	}

	/* If a constructor throws, the element is not on the tape. */
	template <class... Arguments> T &emplace(in_steps, Arguments &&...values)
	{
		const bool far = at_limit();
		T *one;

		if (far)
			enter(reserve_far(top_, tape_, type()));
		one = element<T>::construct(aligned(top_), static_cast<Arguments &&>(values)...);
		if (far)
			enter(commit_far(top_, tape_, type()));
		else
			top_ += bytes;
		return *one;
	}

	/* The popped value stays readable until the next call on the tape. */
	REEL_INLINE_MEMBER T *take()
	{
		if (REEL_UNLIKELY(at_floor()))
			enter_below(pop(top_, tape_));
		else
			top_ -= bytes;
		return at(top_);
	}

	/* Out of line and with few arguments, because each push in a program has such a call. */
	REEL_COLD static tape_place push(char *top, lent_tape *tape) noexcept
	{
		return make_room(top, tape, type());
	}

	REEL_COLD static tape_place pop(char *top, lent_tape *tape) noexcept
	{
		return pop_far(top, tape, type());
	}

	/*
	 * Pushes the first value on an idle tape. A gradient that pushes one value on each of many
	 * tapes waits for this, so push_value_far() does all else: it is called last, and no
	 * register is saved for it. A closed tape has no room. The function is cold, so that a
	 * compiler takes the branch to it for unlikely.
	 */
	REEL_COLD static tape_place push_value(T value, char *top, lent_tape *tape) noexcept
	{
		lent_tape *idle = tape ? nullptr : take_idle();

		if (REEL_UNLIKELY(!idle || reel_above(idle->top, bytes, idle->ceiling)))
			return push_value_far(value, top, tape, idle);
		::new (aligned(idle->top)) T(value);
		return {idle->top + bytes, idle};
	}

	REEL_COLD static tape_place push_value_far(T value, char *top, lent_tape *tape,
						   lent_tape *idle) noexcept
	{
		tape_place place = tape ? push_far(top, tape, type())
					: make_first_room(idle, type());

		if (place.top) {
			::new (aligned(place.top)) T(value);
			place.top += bytes;
		}
		return place;
	}

	char *top_ = nullptr;
	char *limit_ = nullptr;
	char *floor_ = nullptr;
	lent_tape *tape_ = nullptr;
};

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
