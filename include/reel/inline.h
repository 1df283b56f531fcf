/* SPDX-License-Identifier: MIT */
/*
 * The tape's struct and the bodies of its fast paths; reel/tape.h is the manual.
 *
 * The fast paths know three addresses: top, and the two limits that a push may
 * not end above (ceiling) and a pop may not begin below (floor). All that is
 * rare sets a false limit, so that the next push or pop takes the out-of-line
 * path: a new tape, a slab's end, checked mode, a hold, an error.
 */
#ifndef REEL_INLINE_H
#define REEL_INLINE_H

#include <string.h>

#include <reel/compiler.h>
#include <reel/layout.h>
#include <reel/tape.h>

#ifdef __cplusplus
extern "C++" {
#include <type_traits>
}
extern "C" {
#endif

/* ---- Within ---- */

#define REEL_INLINE_BYTES 128

#ifdef __cplusplus
/* A member that the compiler does not copy, nor a struct that has it: a tape has one address. */
struct reel_slab_uncopied {
	struct reel_slab *slab;
	reel_slab_uncopied() = default;
	reel_slab_uncopied(const reel_slab_uncopied &) = delete;
	reel_slab_uncopied &operator=(const reel_slab_uncopied &) = delete;
};
#endif

/* Members are the library's own. All zero is a valid empty tape. */
struct reel_tape {
	/* All that the fast paths touch, in 64 bytes. */
	char *top;
	char *ceiling;
	char *floor;
	uint64_t bits;
	uint32_t bit_count;
	int32_t error;
	struct reel_slab *slab;
	struct reel_pool *pool;
	struct reel_ledger *ledger;

	REEL_ALIGNAS(8) uint64_t first[REEL_INLINE_BYTES / 8];

#ifdef __cplusplus
	struct reel_slab_uncopied spare;
#else
	struct reel_slab *spare;
#endif
	struct reel_hold *hold;
	uint64_t below;
	uint64_t refused;
	uint64_t serial;
	uint32_t holds;
	uint32_t flags;
	struct reel_demand *demand;
	struct reel_layout layout;
};

/*
 * Kinds that checked mode distinguishes in addition to the size. Two named records (REEL_RECORD)
 * differ if their types' names do; other structs may have several names.
 */
enum reel_kind {
	REEL_STRUCT,
	REEL_NAMED_STRUCT,
	REEL_INTEGER,
	REEL_FLOATING,
	REEL_POINTER,
	REEL_BITS
};

/* The type of a record or an element; `size` and `align` in bytes. Arrays have no alignment: 0. */
typedef struct reel_type {
	const char *name;
	size_t size;
	size_t align;
	enum reel_kind kind;
} reel_type;

/* Where the value is to be stored, or NULL: it is refused. */
REEL_COLD void *reel_push_slow(reel_tape *tape, const reel_type *type, const char *call_site);
/*
 * Takes the value off the tape and returns where it lies, which is the tape's top then; or
 * returns where REEL_ONES_BYTES of all ones lie, which is not. Never NULL.
 */
#define REEL_ONES_BYTES 64
REEL_COLD const void *reel_pop_slow(reel_tape *tape, const reel_type *type, const char *call_site);
/* Where the value lies, or NULL: it is all ones. */
REEL_COLD const void *reel_look_slow(reel_tape *tape, const reel_type *type, const char *call_site);

REEL_COLD void reel_push_bits_slow(reel_tape *tape, uint64_t value, unsigned n,
				   const char *call_site);
REEL_COLD uint64_t reel_pop_bits_slow(reel_tape *tape, unsigned n, const char *call_site);
REEL_COLD bool reel_look_bit_slow(reel_tape *tape, const char *call_site);
REEL_COLD void *reel_push_span_slow(reel_tape *tape, const reel_type *type, size_t n,
				    const char *call_site);
REEL_COLD const void *reel_pop_span_slow(reel_tape *tape, const reel_type *type, size_t n,
					 const char *call_site);
REEL_COLD void *reel_reserve_slow(reel_tape *tape, const reel_type *type, size_t n,
				  const char *call_site);
REEL_COLD void reel_commit_slow(reel_tape *tape, const reel_type *type, size_t n,
				const char *call_site);
/*
 * The text "file:line", for a call that has no such literal. It is kept until the process ends;
 * without memory for it the text is `file`. Any thread; takes no lock except malloc()'s.
 */
const char *reel_call_site_of(const char *file, int line);
/* Arrays of elements of the given size, of this kind. */
REEL_COLD void reel_push_array_slow(reel_tape *tape, const void *source, size_t n, size_t size,
				    enum reel_kind kind, const char *call_site);
REEL_COLD void reel_pop_array_slow(reel_tape *tape, void *target, size_t n, size_t size,
				   enum reel_kind kind, const char *call_site);

#ifdef __cplusplus
}
#endif

/* Where a call stands. Of file and line a text is formed on slow paths, where it is needed. */
#ifdef __cplusplus
struct reel_call_site {
	const char *text;
	int line; /* 0: `text` has it */
	reel_call_site(const char *whole) : text(whole), line(0) {}
	reel_call_site(const char *file, int number) : text(file), line(number) {}
	operator const char *() const { return line ? reel_call_site_of(text, line) : text; }
};
#else
typedef const char *reel_call_site;
#endif

#define REEL_ROUND(bytes) (((bytes) + (size_t)7) & ~(size_t)7)

/*
 * Limits are compared 64 bits wide, and for a pop signed: below the all-zero tape's top and floor
 * lies a negative number. The false floor is above every address.
 */
#define REEL_ADDRESS(pointer) ((int64_t)(uintptr_t)(pointer))
#define REEL_FALSE_FLOOR ((char *)(uintptr_t)((uint64_t)INT64_MAX & UINTPTR_MAX))
#define REEL_FALSE_CEILING ((char *)0)

REEL_ALWAYS_INLINE bool reel_above(const char *top, size_t bytes, const char *ceiling)
{
	return (uint64_t)(uintptr_t)top + bytes > (uintptr_t)ceiling;
}

/* Mutants survive (boundary): the slow path pops the last value of a window as well. */
REEL_ALWAYS_INLINE bool reel_under(const char *top, size_t bytes, const char *floor)
{
	return REEL_ADDRESS(top) - (int64_t)bytes < REEL_ADDRESS(floor);
}

/*
 * The payload is stored by its own type, never through char, which the compiler would have to take
 * for a change of the tape itself. Types aligned above 8 bytes, for which the tape's addresses are
 * not good enough, are copied. Mutants survive (boundary): a copy stores the same bytes.
 */
#define REEL_STORE(slot, type, x)                                                                  \
	do {                                                                                       \
		if (REEL_ALIGNOF(type) <= 8)                                                       \
			*(type *)(void *)(slot) = (x);                                             \
		else                                                                               \
			memcpy((slot), &(x), sizeof(type));                                        \
	} while (0)

/* Mutants survive (boundary): a copy loads the same bytes. */
#define REEL_LOAD(x, type, slot)                                                                   \
	do {                                                                                       \
		if (REEL_ALIGNOF(type) <= 8)                                                       \
			(x) = *(const type *)(const void *)(slot);                                 \
		else                                                                               \
			memcpy(&(x), (slot), sizeof(type));                                        \
	} while (0)

/* ---- Within: cursors ---- */

REEL_ALWAYS_INLINE reel_cursor reel_push_cursor(const reel_tape *tape)
{
	reel_cursor cursor = {tape->top, tape->ceiling};

	return cursor;
}

REEL_ALWAYS_INLINE reel_cursor reel_pop_cursor(const reel_tape *tape)
{
	reel_cursor cursor = {tape->top, tape->floor};

	return cursor;
}

REEL_ALWAYS_INLINE void reel_cursor_close(reel_tape *tape, reel_cursor cursor)
{
	tape->top = cursor.top;
}

/* ---- Within: records ---- */

#ifdef __cplusplus
extern "C++" {
template <class T> struct reel_kind_of {
	/* Mutants survive (logic): C++ alone compiles it; t-cplusplus.sh tests it. */
	static constexpr reel_kind value =
		std::is_integral<T>::value || std::is_enum<T>::value ? REEL_INTEGER
		: std::is_floating_point<T>::value		     ? REEL_FLOATING
		: std::is_pointer<T>::value			     ? REEL_POINTER
								     : REEL_STRUCT;
};
template <class T> constexpr reel_kind reel_kind_of_elements(const T *)
{
	return reel_kind_of<T>::value;
}
}
#define REEL_KIND_OF(type) (reel_kind_of<type>::value)
#define REEL_KIND_OF_ELEMENTS(array) (reel_kind_of_elements(&*(array)))
#else
#define REEL_KIND_OF_VALUE(x)                                                                      \
	_Generic((x), _Bool : REEL_INTEGER, char : REEL_INTEGER,                                   \
		 signed char : REEL_INTEGER, unsigned char : REEL_INTEGER, short : REEL_INTEGER,   \
		 unsigned short : REEL_INTEGER, int : REEL_INTEGER, unsigned int : REEL_INTEGER,   \
		 long : REEL_INTEGER, unsigned long : REEL_INTEGER, long long : REEL_INTEGER,      \
		 unsigned long long : REEL_INTEGER, float : REEL_FLOATING,                         \
		 double : REEL_FLOATING, long double : REEL_FLOATING, void * : REEL_POINTER,       \
		 const void * : REEL_POINTER, default : REEL_STRUCT)
#define REEL_KIND_OF(type) REEL_KIND_OF_VALUE(*(type *)0)
#define REEL_KIND_OF_ELEMENTS(array) REEL_KIND_OF_VALUE(*(array))
#endif

#define REEL_RECORD(name, type)                                                                    \
	static const reel_type reel_type_##name = {                                                \
		#type, sizeof(type), REEL_ALIGNOF(type),                                           \
		REEL_KIND_OF(type) == REEL_STRUCT ? REEL_NAMED_STRUCT : REEL_KIND_OF(type)};       \
	REEL_RECORD_FUNCTIONS(name, type, &reel_type_##name)                                       \
	REEL_STATIC_ASSERT(sizeof(type) > 0, "a record must have a size")

/*
 * The type is used by a name of its own in here, so that it may have any name
 * outside, even one of the variables below.
 *
 * A pop loads in one place, whichever way it came there, so that the load can be part of the
 * instruction that uses it; and it ends with a top that the compiler knows, so that a loop of
 * pops need not load the top again.
 */
#define REEL_RECORD_FUNCTIONS(name, type, descriptor)                                              \
	typedef type reel_record_##name;                                                           \
                                                                                                   \
	REEL_ALWAYS_INLINE void reel_push_##name##_at(reel_tape *tape, reel_record_##name x,       \
						      reel_call_site call_site)                    \
	{                                                                                          \
		char *slot = tape->top;                                                            \
		if (REEL_UNLIKELY(reel_above(slot, REEL_ROUND(sizeof x), tape->ceiling))) {        \
			slot = (char *)reel_push_slow(tape, descriptor, call_site);                \
			if (!slot)                                                                 \
				return;                                                            \
		}                                                                                  \
		REEL_STORE(slot, reel_record_##name, x);                                           \
		tape->top = slot + REEL_ROUND(sizeof x);                                           \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE reel_record_##name reel_pop_##name##_at(reel_tape *tape,                \
								   reel_call_site call_site)       \
	{                                                                                          \
		reel_record_##name x;                                                              \
		char *top = tape->top;                                                             \
		const char *slot;                                                                  \
		if (REEL_UNLIKELY(reel_under(top, REEL_ROUND(sizeof x), tape->floor))) {           \
			slot = (const char *)reel_pop_slow(tape, descriptor, call_site);           \
			top = tape->top;                                                           \
			if (sizeof x > REEL_ONES_BYTES && slot != top) {                           \
				memset((void *)&x, 0xff, sizeof x);                                \
				return x;                                                          \
			}                                                                          \
		} else {                                                                           \
			top -= REEL_ROUND(sizeof x);                                               \
			slot = top;                                                                \
		}                                                                                  \
		REEL_LOAD(x, reel_record_##name, slot);                                            \
		tape->top = top;                                                                   \
		return x;                                                                          \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE reel_record_##name reel_look_##name##_at(reel_tape *tape,               \
								    reel_call_site call_site)      \
	{                                                                                          \
		reel_record_##name x;                                                              \
		const char *slot;                                                                  \
		if (REEL_UNLIKELY(reel_under(tape->top, REEL_ROUND(sizeof x), tape->floor))) {     \
			slot = (const char *)reel_look_slow(tape, descriptor, call_site);          \
			if (!slot) {                                                               \
				memset((void *)&x, 0xff, sizeof x);                                \
				return x;                                                          \
			}                                                                          \
		} else {                                                                           \
			slot = tape->top - REEL_ROUND(sizeof x);                                   \
		}                                                                                  \
		REEL_LOAD(x, reel_record_##name, slot);                                            \
		return x;                                                                          \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE reel_cursor reel_cursor_push_##name##_at(                               \
		reel_tape *tape, reel_cursor cursor, reel_record_##name x,                         \
		reel_call_site call_site)                                                          \
	{                                                                                          \
		if (REEL_UNLIKELY(reel_above(cursor.top, REEL_ROUND(sizeof x), cursor.limit))) {   \
			tape->top = cursor.top;                                                    \
			reel_push_##name##_at(tape, x, call_site);                                 \
			return reel_push_cursor(tape);                                             \
		}                                                                                  \
		REEL_STORE(cursor.top, reel_record_##name, x);                                     \
		cursor.top += REEL_ROUND(sizeof x);                                                \
		return cursor;                                                                     \
	}                                                                                          \
                                                                                                   \
	REEL_ALWAYS_INLINE reel_cursor reel_cursor_pop_##name##_at(                                \
		reel_tape *tape, reel_cursor cursor, reel_record_##name *x,                        \
		reel_call_site call_site)                                                          \
	{                                                                                          \
		if (REEL_UNLIKELY(reel_under(cursor.top, REEL_ROUND(sizeof *x), cursor.limit))) {  \
			reel_record_##name copy;                                                   \
			const char *slot;                                                          \
			tape->top = cursor.top;                                                    \
			slot = (const char *)reel_pop_slow(tape, descriptor, call_site);           \
			if (slot == tape->top)                                                     \
				REEL_LOAD(copy, reel_record_##name, slot);                         \
			else                                                                       \
				memset((void *)&copy, 0xff, sizeof copy);                          \
			*x = copy;                                                                 \
			return reel_pop_cursor(tape);                                              \
		}                                                                                  \
		cursor.top -= REEL_ROUND(sizeof *x);                                               \
		REEL_LOAD(*x, reel_record_##name, cursor.top);                                     \
		return cursor;                                                                     \
	}

#define reel_push_record(tape, name, ...) reel_push_##name##_at((tape), (__VA_ARGS__), REEL_HERE)
#define reel_pop_record(tape, name) reel_pop_##name##_at((tape), REEL_HERE)
#define reel_look_record(tape, name) reel_look_##name##_at((tape), REEL_HERE)
#define reel_cursor_push_record(tape, cursor, name, ...)                                           \
	reel_cursor_push_##name##_at((tape), (cursor), (__VA_ARGS__), REEL_HERE)
#define reel_cursor_pop_record(tape, cursor, name, x)                                              \
	reel_cursor_pop_##name##_at((tape), (cursor), (x), REEL_HERE)

/* ---- Within: bits ---- */

/*
 * Fewer than 64 bits wait in the tape; the 64th sends the word to the slab as a record. A false
 * limit also sends bits the slow way.
 */
REEL_ALWAYS_INLINE void reel_push_bits_at(reel_tape *tape, uint64_t value, unsigned n,
					  reel_call_site call_site)
{
	if (REEL_UNLIKELY(n >= 64 - tape->bit_count || n > 32 ||
			  tape->ceiling == REEL_FALSE_CEILING)) {
		reel_push_bits_slow(tape, value, n, call_site);
		return;
	}
	tape->bits = tape->bits << n | (value & (((uint64_t)1 << n) - 1));
	tape->bit_count += n;
}

REEL_ALWAYS_INLINE uint64_t reel_pop_bits_at(reel_tape *tape, unsigned n, reel_call_site call_site)
{
	uint64_t value;

	if (REEL_UNLIKELY(n > tape->bit_count || n > 32 || tape->floor == REEL_FALSE_FLOOR))
		return reel_pop_bits_slow(tape, n, call_site);
	value = tape->bits & (((uint64_t)1 << n) - 1);
	tape->bits >>= n;
	tape->bit_count -= n;
	return value;
}

REEL_ALWAYS_INLINE void reel_push_bool_at(reel_tape *tape, bool bit, reel_call_site call_site)
{
	reel_push_bits_at(tape, bit, 1, call_site);
}

REEL_ALWAYS_INLINE bool reel_pop_bool_at(reel_tape *tape, reel_call_site call_site)
{
	return reel_pop_bits_at(tape, 1, call_site) != 0;
}

REEL_ALWAYS_INLINE bool reel_look_bool_at(reel_tape *tape, reel_call_site call_site)
{
	return reel_look_bit_slow(tape, call_site);
}

#define reel_push_bits(tape, value, n) reel_push_bits_at((tape), (value), (n), REEL_HERE)
#define reel_pop_bits(tape, n) reel_pop_bits_at((tape), (n), REEL_HERE)
#define reel_push_bit(tape, bit) reel_push_bool_at((tape), (bit), REEL_HERE)
#define reel_pop_bit(tape) reel_pop_bool_at((tape), REEL_HERE)

/* ---- Within: spans ---- */

/*
 * In the slow branches of spans a copy of the type is made, so that the type
 * itself, whose address is never taken, costs nothing in the fast one.
 */

/* Returns true if n elements have more bytes than any slab can; folds for a constant size. */
#define REEL_TOO_MANY(n, size) ((size) && (n) > (SIZE_MAX / 4) / ((size) ? (size) : 1))

REEL_ALWAYS_INLINE void *reel_push_span_at(reel_tape *tape, size_t n, reel_type type,
					   reel_call_site call_site)
{
	char *slot = tape->top;

	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, type.size) || type.align > 8 ||
			  reel_above(slot, REEL_ROUND(n * type.size), tape->ceiling))) {
		reel_type copy = type;

		return reel_push_span_slow(tape, &copy, n, call_site);
	}
	tape->top = slot + REEL_ROUND(n * type.size);
	return slot;
}

REEL_ALWAYS_INLINE const void *reel_pop_span_at(reel_tape *tape, size_t n, reel_type type,
						reel_call_site call_site)
{
	char *top = tape->top;

	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, type.size) || type.align > 8 ||
			  reel_under(top, REEL_ROUND(n * type.size), tape->floor))) {
		reel_type copy = type;

		return reel_pop_span_slow(tape, &copy, n, call_site);
	}
	top -= REEL_ROUND(n * type.size);
	tape->top = top;
	return top;
}

REEL_ALWAYS_INLINE void *reel_reserve_at(reel_tape *tape, size_t n, reel_type type,
					 reel_call_site call_site)
{
	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, type.size) || type.align > 8 ||
			  reel_above(tape->top, REEL_ROUND(n * type.size), tape->ceiling))) {
		reel_type copy = type;

		return reel_reserve_slow(tape, &copy, n, call_site);
	}
	return tape->top;
}

REEL_ALWAYS_INLINE void reel_commit_at(reel_tape *tape, size_t n, reel_type type,
				       reel_call_site call_site)
{
	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, type.size) || type.align > 8 ||
			  reel_above(tape->top, REEL_ROUND(n * type.size), tape->ceiling))) {
		reel_type copy = type;

		reel_commit_slow(tape, &copy, n, call_site);
	} else {
		tape->top += REEL_ROUND(n * type.size);
	}
}

/* From this size on, in bytes, the library chooses the way to copy. */
#define REEL_LARGE_ARRAY ((size_t)32 << 10)

REEL_ALWAYS_INLINE void reel_push_array_at(reel_tape *tape, const void *source, size_t n,
					   size_t size, enum reel_kind kind,
					   reel_call_site call_site)
{
	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, size) || n * size >= REEL_LARGE_ARRAY ||
			  reel_above(tape->top, REEL_ROUND(n * size), tape->ceiling))) {
		reel_push_array_slow(tape, source, n, size, kind, call_site);
		return;
	}
	memcpy(tape->top, source, n * size);
	tape->top += REEL_ROUND(n * size);
}

REEL_ALWAYS_INLINE void reel_pop_array_at(reel_tape *tape, void *target, size_t n, size_t size,
					  enum reel_kind kind, reel_call_site call_site)
{
	if (REEL_UNLIKELY(n == 0 || REEL_TOO_MANY(n, size) ||
			  reel_under(tape->top, REEL_ROUND(n * size), tape->floor))) {
		reel_pop_array_slow(tape, target, n, size, kind, call_site);
		return;
	}
	tape->top -= REEL_ROUND(n * size);
	memcpy(target, tape->top, n * size);
}

#ifdef __cplusplus
#define REEL_TYPE_OF(type) (reel_type{#type, sizeof(type), alignof(type), REEL_KIND_OF(type)})
#else
#define REEL_TYPE_OF(type) ((reel_type){#type, sizeof(type), _Alignof(type), REEL_KIND_OF(type)})
#endif

#define reel_push_span(tape, type, n)                                                              \
	((type *)reel_push_span_at((tape), (n), REEL_TYPE_OF(type), REEL_HERE))
#define reel_pop_span(tape, type, n)                                                               \
	((const type *)reel_pop_span_at((tape), (n), REEL_TYPE_OF(type), REEL_HERE))
#define reel_reserve(tape, type, n)                                                                \
	((type *)reel_reserve_at((tape), (n), REEL_TYPE_OF(type), REEL_HERE))
#define reel_commit(tape, type, n) reel_commit_at((tape), (n), REEL_TYPE_OF(type), REEL_HERE)
#define reel_push_array(tape, source, n)                                                           \
	reel_push_array_at((tape), (source), (n), sizeof *(source),                                \
			   REEL_KIND_OF_ELEMENTS(source), REEL_HERE)
#define reel_pop_array(tape, target, n)                                                            \
	reel_pop_array_at((tape), (target), (n), sizeof *(target),                                 \
			  REEL_KIND_OF_ELEMENTS(target), REEL_HERE)

/* ---- Within: scalars, by type ---- */

#ifndef __cplusplus

#define REEL_SCALARS(X)                                                                            \
	X(char, char)                                                                              \
	X(schar, signed char)                                                                      \
	X(uchar, unsigned char)                                                                    \
	X(short, short)                                                                            \
	X(ushort, unsigned short)                                                                  \
	X(int, int)                                                                                \
	X(uint, unsigned int)                                                                      \
	X(long, long)                                                                              \
	X(ulong, unsigned long)                                                                    \
	X(llong, long long)                                                                        \
	X(ullong, unsigned long long)                                                              \
	X(float, float)                                                                            \
	X(double, double)                                                                          \
	X(ldouble, long double)                                                                    \
	X(cfloat, float _Complex)                                                                  \
	X(cdouble, double _Complex)                                                                \
	X(cldouble, long double _Complex)

#define REEL_SCALAR_RECORD(name, type) REEL_RECORD(name, type);
REEL_SCALARS(REEL_SCALAR_RECORD)

typedef const void *reel_pointer;
REEL_RECORD(pointer, reel_pointer);

#define REEL_PUSH_CASE(name, type) type : reel_push_##name##_at,
#define REEL_POP_CASE(name, type) type : reel_pop_##name##_at,
#define REEL_LOOK_CASE(name, type) type : reel_look_##name##_at,
#define REEL_CURSOR_PUSH_CASE(name, type) type : reel_cursor_push_##name##_at,
#define REEL_CURSOR_POP_CASE(name, type) type * : reel_cursor_pop_##name##_at,

#define reel_push(tape, x)                                                                         \
	_Generic((x), REEL_SCALARS(REEL_PUSH_CASE) _Bool : reel_push_bool_at,                      \
		 default : reel_push_pointer_at)((tape), (x), REEL_HERE)
#define reel_pop(tape, type)                                                                       \
	((type)_Generic((type){0}, REEL_SCALARS(REEL_POP_CASE) _Bool : reel_pop_bool_at,           \
			default : reel_pop_pointer_at)((tape), REEL_HERE))
#define reel_look(tape, type)                                                                      \
	((type)_Generic((type){0}, REEL_SCALARS(REEL_LOOK_CASE) _Bool : reel_look_bool_at,         \
			default : reel_look_pointer_at)((tape), REEL_HERE))
#define reel_cursor_push(tape, cursor, x)                                                          \
	_Generic((x), REEL_SCALARS(REEL_CURSOR_PUSH_CASE) default                                  \
		 : reel_cursor_push_pointer_at)((tape), (cursor), (x), REEL_HERE)
#define reel_cursor_pop(tape, cursor, x)                                                           \
	_Generic((x), REEL_SCALARS(REEL_CURSOR_POP_CASE) reel_pointer *                            \
		 : reel_cursor_pop_pointer_at)((tape), (cursor), (x), REEL_HERE)

#else

extern "C++" {

/* A function, since a template's static member would need C++17 to be inline. */
template <class T> inline const reel_type *reel_type_of()
{
	static const reel_type type = {__PRETTY_FUNCTION__, sizeof(T), alignof(T),
				       reel_kind_of<T>::value};

	return &type;
}

template <class T> struct reel_record_of {
	static_assert(std::is_trivially_copyable<T>::value,
		      "a tape holds trivially copyable types only");
	REEL_RECORD_FUNCTIONS(value, T, reel_type_of<T>())
};

template <> struct reel_record_of<bool> {
	REEL_ALWAYS_INLINE void reel_push_value_at(reel_tape *tape, bool x,
						   reel_call_site call_site)
	{
		reel_push_bool_at(tape, x, call_site);
	}

	REEL_ALWAYS_INLINE bool reel_pop_value_at(reel_tape *tape, reel_call_site call_site)
	{
		return reel_pop_bool_at(tape, call_site);
	}

	REEL_ALWAYS_INLINE bool reel_look_value_at(reel_tape *tape, reel_call_site call_site)
	{
		return reel_look_bool_at(tape, call_site);
	}
};

template <class T> inline void reel_push_at(reel_tape *tape, T x, reel_call_site call_site)
{
	reel_record_of<T>::reel_push_value_at(tape, x, call_site);
}

template <class T>
inline reel_cursor reel_cursor_push_at(reel_tape *tape, reel_cursor cursor, T x,
				       reel_call_site call_site)
{
	return reel_record_of<T>::reel_cursor_push_value_at(tape, cursor, x, call_site);
}

template <class T>
inline reel_cursor reel_cursor_pop_at(reel_tape *tape, reel_cursor cursor, T *x,
				       reel_call_site call_site)
{
	return reel_record_of<T>::reel_cursor_pop_value_at(tape, cursor, x, call_site);
}

} /* extern "C++" */

#define reel_push(tape, ...) reel_push_at((tape), (__VA_ARGS__), REEL_HERE)
#define reel_pop(tape, ...) reel_record_of<__VA_ARGS__>::reel_pop_value_at((tape), REEL_HERE)
#define reel_look(tape, ...) reel_record_of<__VA_ARGS__>::reel_look_value_at((tape), REEL_HERE)
#define reel_cursor_push(tape, cursor, ...)                                                        \
	reel_cursor_push_at((tape), (cursor), (__VA_ARGS__), REEL_HERE)
#define reel_cursor_pop(tape, cursor, x) reel_cursor_pop_at((tape), (cursor), (x), REEL_HERE)

#endif

#endif
