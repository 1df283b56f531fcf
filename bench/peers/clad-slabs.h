/* SPDX-License-Identifier: MIT */
/*
 * The cases clad/ compare with a tape that behaves as Clad's own of 2026 does. 64 elements
 * are inside of it, then come slabs of 1,024 by operator new, linked both ways, kept when they are
 * popped and freed with the tape. Each push and pop asks whether it is inside and whether it is at
 * the end of a slab, counts in memory, and has the way to the next slab inlined. There is a mutex
 * in it that nobody locks.
 */
#ifndef REEL_BENCH_CLAD_SLABS_H
#define REEL_BENCH_CLAD_SLABS_H

#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace slabs {

template <class T> class slab_tape {
public:
	slab_tape() noexcept
	{
	}

	~slab_tape()
	{
		while (size_)
			pop_back();
		while (head_) {
			slab *next = head_->next;

			delete head_;
			head_ = next;
		}
	}

	slab_tape(const slab_tape &) = delete;
	slab_tape &operator=(const slab_tape &) = delete;

	template <class... Values> inline void emplace_back(Values &&...values)
	{
		if (size_ >= inside && (size_ - inside) % slab_size == 0)
			next_slab();
		::new (place(size_)) T(std::forward<Values>(values)...);
		size_++;
	}

	inline T &back()
	{
		return *static_cast<T *>(place(size_ - 1));
	}

	inline void pop_back()
	{
		back().~T();
		size_--;
		if (size_ > inside && (size_ - inside) % slab_size == 0)
			tail_ = tail_->previous;
	}

private:
	static constexpr std::size_t inside = 64;
	static constexpr std::size_t slab_size = 1024;

	struct slab {
		alignas(T) unsigned char elements[slab_size * sizeof(T)];
		slab *previous = nullptr;
		slab *next = nullptr;
	};

	inline void *place(std::size_t i)
	{
		return i < inside ? elements_ + i * sizeof(T)
				  : tail_->elements + (i - inside) % slab_size * sizeof(T);
	}

	/*
	 * At exactly 64 elements the tail is the first slab, if there is one, with nothing on it.
	 */
	inline void next_slab()
	{
		slab *next = size_ == inside ? head_ : tail_->next;

		if (!next) {
			next = new slab;
			next->previous = size_ == inside ? nullptr : tail_;
			(size_ == inside ? head_ : tail_->next) = next;
			capacity_ += slab_size;
		}
		tail_ = next;
	}

	alignas(T) unsigned char elements_[inside * sizeof(T)];
	slab *head_ = nullptr;
	slab *tail_ = nullptr;
	std::size_t size_ = 0;
	std::size_t capacity_ = inside;
	std::size_t reserved_ = 0;
	std::mutex lock_;
};

template <class T, class... Values> T &push(slab_tape<T> &to, Values... values)
{
	to.emplace_back(std::forward<Values>(values)...);
	return to.back();
}

template <class T> T pop(slab_tape<T> &from)
{
	T top = std::move(from.back());

	from.pop_back();
	return top;
}

template <class T> T &back(slab_tape<T> &of)
{
	return of.back();
}

} // namespace slabs

#endif
