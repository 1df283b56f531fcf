/* SPDX-License-Identifier: MIT */
/*
 * A tape of objects that cannot be restored from their bytes. They stay where they were made, in
 * blocks of the program's own memory, which belong to no pool and go to no store. An object is
 * destroyed when it is popped, or with the tape. The tape keeps the block that it left last for the
 * next push.
 */
#ifndef REEL_CLAD_OBJECTS_H
#define REEL_CLAD_OBJECTS_H

#include <cstdint>

#include "element.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

template <class T> class object_tape {
public:
	constexpr object_tape() noexcept = default;

	~object_tape()
	{
		while (!empty())
			pop_back();
		if (block_)
			::operator delete(block_->above);
		::operator delete(block_);
	}

	object_tape(const object_tape &) = delete;
	object_tape &operator=(const object_tape &) = delete;

	template <class... Arguments> T &emplace_back(Arguments &&...values)
	{
		if (REEL_UNLIKELY(top_ == ceiling_))
			return emplace_above(static_cast<Arguments &&>(values)...);
		element<T>::construct(top_, static_cast<Arguments &&>(values)...);
		return *top_++;
	}

	T &back()
	{
		if (REEL_UNLIKELY(top_ == floor_))
			fail_empty();
		return top_[-1];
	}

	void pop_back()
	{
		element<T>::destroy(&back());
		--top_;
		if (REEL_UNLIKELY(top_ == floor_) && block_->below)
			step_down();
	}

	/* An object that throws when it is moved stays on the tape. */
	popped_element<T> pop()
	{
		T top(static_cast<T &&>(back()));

		pop_back();
		return top;
	}

	T &operator[](std::size_t index)
	{
		return *find(index);
	}

	const T &operator[](std::size_t index) const
	{
		return *find(index);
	}

	std::size_t size() const
	{
		return block_ ? block_->before + static_cast<std::size_t>(top_ - floor_) : 0;
	}

	/* The window of a tape that is not empty is not empty. */
	bool empty() const
	{
		return top_ == floor_;
	}

	void hand_over()
	{
	}

private:
	static constexpr std::size_t first_bytes = 256;
	static constexpr std::size_t max_bytes = 65536;

	/* All blocks below the top one are full; `before` is the number of elements in them. */
	struct block {
		block *below;
		block *above;
		std::size_t before;
		T *first;
		T *end;
	};

	/* Before C++17 operator new has no alignment argument, so the elements are aligned here. */
	static block *make_block(block *below)
	{
		const std::size_t held =
			below ? static_cast<std::size_t>(below->end - below->first) : 0;
		std::size_t count = below ? 2 * held : first_bytes / sizeof(T);
		char *memory, *first;

		if (count > max_bytes / sizeof(T))
			count = max_bytes / sizeof(T);
		if (count == 0)
			count = 1;
		memory = static_cast<char *>(
			::operator new(sizeof(block) + alignof(T) + count * sizeof(T)));
		first = memory + sizeof(block);
		first += -reinterpret_cast<std::uintptr_t>(first) & (alignof(T) - 1);
		return ::new (static_cast<void *>(memory))
			block{below, nullptr, below ? below->before + held : 0,
			      reinterpret_cast<T *>(first),
			      reinterpret_cast<T *>(first) + count};
	}

	T *find(std::size_t index) const
	{
		const block *window = block_;

		if (index >= size())
			fail_at(-ERANGE);
		while (index < window->before)
			window = window->below;
		return window->first + (index - window->before);
	}

	void enter(block *window, T *top)
	{
		block_ = window;
		floor_ = window->first;
		ceiling_ = window->end;
		top_ = top;
	}

	/* The block becomes the window of the tape only after its first element is made. */
	template <class... Arguments> REEL_COLD T &emplace_above(Arguments &&...values)
	{
		block *window;

		if (!block_) {
			window = make_block(nullptr);
			enter(window, window->first);
		} else {
			if (!block_->above)
				block_->above = make_block(block_);
			window = block_->above;
		}
		element<T>::construct(window->first, static_cast<Arguments &&>(values)...);
		enter(window, window->first + 1);
		return *window->first;
	}

	REEL_COLD void step_down()
	{
		::operator delete(block_->above);
		block_->above = nullptr;
		enter(block_->below, block_->below->end);
	}

	T *top_ = nullptr;
	T *floor_ = nullptr;
	T *ceiling_ = nullptr;
	block *block_ = nullptr;
};

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
