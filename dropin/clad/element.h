/* SPDX-License-Identifier: MIT */
/* How an element of a tape begins and ends its life, in memory that is there already. */
#ifndef REEL_CLAD_ELEMENT_H
#define REEL_CLAD_ELEMENT_H

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "fault.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/* What pop() returns: an array cannot be returned, and is dropped. */
template <class T>
using popped_element = typename std::conditional<std::is_array<T>::value, void, T>::type;

/*
 * construct() makes an element at `place` of what was pushed, and leaves nothing behind if that
 * throws. cannot_throw says that it does not.
 */
template <class T> struct element {
	template <class... Arguments>
	using cannot_throw = std::is_nothrow_constructible<T, Arguments...>;

	template <class... Arguments>
	REEL_CLAD_INLINE static T *construct(void *place, Arguments &&...values)
	{
		return make(way<Arguments...>(), place, static_cast<Arguments &&>(values)...);
	}

	static void destroy(T *one)
	{
		one->~T();
	}

private:
	struct by_cast {};
	struct by_constructor {};
	struct by_members {};

	/* Before C++20 an aggregate has no constructor of its members. */
	template <class... Arguments>
	using way = typename std::conditional<
		std::is_scalar<T>::value && sizeof...(Arguments) == 1, by_cast,
		typename std::conditional<std::is_constructible<T, Arguments...>::value,
					  by_constructor, by_members>::type>::type;

	/* The program's conversion, of which no warning is due here. */
	template <class Value> REEL_CLAD_INLINE static T *make(by_cast, void *place, Value &&value)
	{
		return ::new (place) T(static_cast<T>(value));
	}

	template <class... Arguments>
	REEL_CLAD_INLINE static T *make(by_constructor, void *place, Arguments &&...values)
	{
		return ::new (place) T(static_cast<Arguments &&>(values)...);
	}

	template <class... Arguments>
	REEL_CLAD_INLINE static T *make(by_members, void *place, Arguments &&...values)
	{
		return ::new (place) T{static_cast<Arguments &&>(values)...};
	}
};

/* An array is made of an array, or of anything else that a loop can go through. */
template <class T, std::size_t N> struct element<T[N]> {
	using array = T[N];

	template <class Source>
	using is_same = std::integral_constant<
		bool, std::is_trivially_copyable<T>::value &&
			      std::is_same<typename std::remove_cv<typename std::remove_reference<
						   Source>::type>::type,
					   array>::value>;

	template <class... Source> struct cannot_throw : std::false_type {};
	template <class Source> struct cannot_throw<Source> : is_same<Source> {};

	template <class Source>
	REEL_CLAD_INLINE static array *construct(void *place, const Source &source)
	{
		return make(is_same<Source>(), place, source);
	}

	static void destroy(array *one)
	{
		destroy_first(*one, N);
	}

private:
	/* Those made so far end with it, unless all were made. */
	struct made {
		T *first;
		std::size_t count;

		~made()
		{
			destroy_first(first, count);
		}
	};

	static void destroy_first(T *first, std::size_t count)
	{
		while (count > 0)
			element<T>::destroy(first + --count);
	}

	REEL_CLAD_INLINE static array *make(std::true_type, void *place, const array &source)
	{
		return static_cast<array *>(std::memcpy(place, source, sizeof(array)));
	}

	template <class From>
	static array *make(std::false_type, void *place, const From (&source)[N])
	{
		made elements = {static_cast<T *>(place), 0};

		for (; elements.count < N; elements.count++)
			element<T>::construct(elements.first + elements.count,
					      source[elements.count]);
		elements.count = 0;
		return static_cast<array *>(place);
	}

	/* What the source is too short for gets the value that T() has. */
	template <class Source>
	static array *make(std::false_type, void *place, const Source &source)
	{
		made elements = {static_cast<T *>(place), 0};

		for (auto &&one : source) {
			if (elements.count == N)
				break;
			element<T>::construct(elements.first + elements.count, one);
			elements.count++;
		}
		while (elements.count < N)
			element<T>::construct(elements.first + elements.count++);
		elements.count = 0;
		return static_cast<array *>(place);
	}
};

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
