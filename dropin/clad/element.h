/* SPDX-License-Identifier: MIT */
/* Constructs and destroys the elements of a tape, in memory that the tape provides. */
#ifndef REEL_CLAD_ELEMENT_H
#define REEL_CLAD_ELEMENT_H

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

#include "fault.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/* The return type of pop(): void for arrays, which C++ cannot return. */
template <class T>
using popped_element = typename std::conditional<std::is_array<T>::value, void, T>::type;

/*
 * construct() makes an element at `place` from the pushed values. If a constructor throws, it
 * destroys the elements that it has made. cannot_throw is true if no constructor can throw.
 */
template <class T> struct element {
	template <class... Arguments>
	using cannot_throw = std::is_nothrow_constructible<T, Arguments...>;

	template <class... Arguments>
	REEL_INLINE_MEMBER static T *construct(void *place, Arguments &&...values)
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

	/* Before C++20 an aggregate has no constructor that takes its members. */
	template <class... Arguments>
	using way = typename std::conditional<
		std::is_scalar<T>::value && sizeof...(Arguments) == 1, by_cast,
		typename std::conditional<std::is_constructible<T, Arguments...>::value,
					  by_constructor, by_members>::type>::type;

	/* The conversion is the program's, so the compiler must not warn about it here. */
	template <class Value>
	REEL_INLINE_MEMBER static T *make(by_cast, void *place, Value &&value)
	{
		return ::new (place) T(static_cast<T>(value));
	}

	template <class... Arguments>
	REEL_INLINE_MEMBER static T *make(by_constructor, void *place, Arguments &&...values)
	{
		return ::new (place) T(static_cast<Arguments &&>(values)...);
	}

	template <class... Arguments>
	REEL_INLINE_MEMBER static T *make(by_members, void *place, Arguments &&...values)
	{
		return ::new (place) T{static_cast<Arguments &&>(values)...};
	}
};

/* An array is made from an array, or from any other range. */
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
	REEL_INLINE_MEMBER static array *construct(void *place, const Source &source)
	{
		return make(is_same<Source>(), place, source);
	}

	static void destroy(array *one)
	{
		destroy_first(*one, N);
	}

private:
	/* Destroys the elements that were made so far, unless all of them were made. */
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

	REEL_INLINE_MEMBER static array *make(std::true_type, void *place, const array &source)
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

	/* If the source is too short, the other elements get the value of T(). */
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
