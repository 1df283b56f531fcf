/* SPDX-License-Identifier: MIT */
/*
 * For gradients that Clad has printed and that are compiled without Clad: the tape by the name that
 * printed code uses, and the other functions that this code calls. A program must not include
 * Clad's headers as well.
 *
 *	g++ -include reel/clad/alone.h printed.cpp -lreel
 */
#ifndef REEL_CLAD_ALONE_H
#define REEL_CLAD_ALONE_H

#if defined(CLAD_DIFFERENTIATOR) || defined(CLAD_TAPE_AND_PULLBACK_H)
#error "Clad's own headers are here already: include reel/clad/tape.h, not reel/clad/alone.h"
#endif

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "tape.h"

namespace clad {

template <class T, std::size_t SBO_SIZE = 64, std::size_t SLAB_SIZE = 1024,
	  bool is_multithread = false, bool DiskOffload = false, bool GpuOffload = false>
using tape = tape_of_reel<T, SBO_SIZE, SLAB_SIZE, is_multithread, DiskOffload, GpuOffload>;

/* Moves an array, element by element, or one value. */
template <class From, class To> void move(From &from, To &to)
{
	to = static_cast<From &&>(from);
}

template <class From, class To, std::size_t N> void move(From (&from)[N], To &to)
{
	for (std::size_t i = 0; i < N; i++)
		move(from[i], to[i]);
}

/* Sets a variable, or each element of an array, to the value of T(). */
template <class T> void zero_init(T &x)
{
	x = T();
}

template <class T, std::size_t N> void zero_init(T (&x)[N])
{
	for (std::size_t i = 0; i < N; i++)
		zero_init(x[i]);
}

/*
 * Keeps the bytes of variables that a call is about to change. restore() brings them back in the
 * opposite order, so a variable that was stored twice gets its first value.
 */
class restore_tracker {
public:
	template <class T> void store(const T &variable)
	{
		static_assert(std::is_trivially_copyable<T>::value, "only bytes are kept");
		const unsigned char *bytes =
			reinterpret_cast<const unsigned char *>(std::addressof(variable));

		std::size_t start = bytes_.size();

		bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
		kept_.push_back({const_cast<unsigned char *>(bytes), start, sizeof(T)});
	}

	void restore()
	{
		for (std::size_t i = kept_.size(); i-- > 0;)
			std::memcpy(kept_[i].place, bytes_.data() + kept_[i].start, kept_[i].size);
		clear();
	}

	void clear()
	{
		kept_.clear();
		bytes_.clear();
	}

private:
	struct piece {
		unsigned char *place;
		std::size_t start;
		std::size_t size;
	};

	std::vector<piece> kept_;
	std::vector<unsigned char> bytes_;
};

} // namespace clad

#endif
