/* SPDX-License-Identifier: MIT */
/* Features of compilers beyond the standard; nothing here for users to call. */
#ifndef REEL_COMPILER_H
#define REEL_COMPILER_H

/* ---- Within ---- */

#if defined(__GNUC__)
#define REEL_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define REEL_COLD __attribute__((cold, noinline))
#define REEL_ALWAYS_INLINE static inline __attribute__((always_inline, unused))
/* For members and templates, which must not be static. */
#define REEL_INLINE_MEMBER __attribute__((always_inline)) inline
#else
#define REEL_UNLIKELY(condition) (condition)
#define REEL_COLD
#define REEL_ALWAYS_INLINE static inline
#define REEL_INLINE_MEMBER inline
#endif

#ifdef __cplusplus
#define REEL_ALIGNOF(type) alignof(type)
#define REEL_ALIGNAS(bytes) alignas(bytes)
#define REEL_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define REEL_ALIGNOF(type) _Alignof(type)
#define REEL_ALIGNAS(bytes) _Alignas(bytes)
#define REEL_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* A function with this attribute is an error of the compiler where a call of it is left. */
#if defined(__has_attribute)
#if __has_attribute(error)
#define REEL_ERROR_IF_CALLED(text) __attribute__((error(text)))
#endif
#endif

/* Where a call stands, as "file.c:123". */
#define REEL_HERE __FILE__ ":" REEL_TEXT(__LINE__)
#define REEL_TEXT(x) REEL_TEXT_(x)
#define REEL_TEXT_(x) #x

#endif
