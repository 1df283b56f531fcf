/* SPDX-License-Identifier: MIT */
/*
 * The struct reel_tapes that the tapes of generated code use. Generated code makes tapes in each
 * call, so each thread keeps its idle struct reel_tapes, ready for pushes. No function here throws.
 */
#ifndef REEL_CLAD_TAPES_H
#define REEL_CLAD_TAPES_H

#include <cstdint>

#include "fault.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/*
 * A tape and the state of the cursor on it. A call that fails may leave the slab of the cursor, but
 * the cursor keeps its old top. That top is then `stale`, and the tape's own top is valid.
 */
struct lent_tape : reel_tape {
	char *stale;
	/*
	 * The window in which a value was found last; its values have the numbers from
	 * `found_first` on. It lies below the top's window, so the cursor cannot change it.
	 */
	char *found;
	std::size_t found_first;
	std::size_t found_count;
	/*
	 * False while the members are as they were when the tape was lent: the cursor pushes and
	 * pops within its window without a change of them.
	 */
	bool changed;

	void put_top(char *cursor) noexcept
	{
		changed = true;
		if (cursor != stale)
			top = cursor;
	}

	/* The same before a push or a pop, which may change the windows. */
	void come_back(char *cursor) noexcept
	{
		put_top(cursor);
		found_count = 0;
	}
};

constexpr std::size_t max_idle_tapes = 64;

/*
 * The idle tapes of a thread, which are empty and have no slabs. `limit` is 0 before the thread has
 * an idle_tapes_end, and again after that: a tape that is returned then is deleted.
 */
struct idle_tapes {
	std::size_t count, limit;
	lent_tape *tape[max_idle_tapes];
};

/* Has no destructor, because tapes may end after the destructor would have run. */
inline idle_tapes &idle() noexcept
{
	static thread_local idle_tapes tapes = {0, 0, {}};

	return tapes;
}

/* Made once in a thread that has idle tapes, and deletes them when the thread ends. */
struct idle_tapes_end {
	idle_tapes_end() noexcept
	{
		idle().limit = max_idle_tapes;
	}

	~idle_tapes_end()
	{
		idle_tapes &tapes = idle();

		while (tapes.count)
			delete tapes.tape[--tapes.count];
		tapes.limit = 0;
	}
};

inline void end_with_thread() noexcept
{
	static thread_local idle_tapes_end at_end;

	(void)at_end;
}

/* Returns an empty tape, which may have been closed, or NULL if the thread has none. */
inline lent_tape *take_idle() noexcept
{
	idle_tapes &tapes = idle();

	return tapes.count ? tapes.tape[--tapes.count] : nullptr;
}

/*
 * Returns an empty tape that is ready for pushes, or NULL; `tape` is the result of take_idle(). A
 * tape that is new or was closed opens its pool here.
 */
REEL_COLD inline lent_tape *make_ready(lent_tape *tape) noexcept
{
	static const reel_type word = {"a word", 8, 8, REEL_INTEGER};

	if (!tape) {
		tape = new (std::nothrow) lent_tape();
		end_with_thread();
		if (!tape)
			last_error() = -ENOMEM;
	}
	if (!tape || tape->top || reel_reserve_slow(tape, &word, 1, "clad::push"))
		return tape;
	last_error() = reel_tape_error(tape);
	reel_tape_close(tape);
	delete tape;
	return nullptr;
}

/* The thread keeps enough tapes; or it keeps none yet, and returns one that another thread made. */
REEL_COLD inline void keep_or_delete(lent_tape *tape) noexcept
{
	idle_tapes &tapes = idle();

	end_with_thread();
	if (tapes.count == tapes.limit)
		delete tape;
	else
		tapes.tape[tapes.count++] = tape;
}

/* Puts an empty tape without slabs on the list of idle ones. */
REEL_INLINE_MEMBER void keep(lent_tape *tape) noexcept
{
	idle_tapes &tapes = idle();

	if (REEL_UNLIKELY(tapes.count == tapes.limit))
		return keep_or_delete(tape);
	tapes.tape[tapes.count++] = tape;
}

/* A tape that never needed a slab becomes empty by its top; other tapes are closed. */
REEL_CLAD_APART inline void make_empty_and_keep(lent_tape *tape) noexcept
{
	if (tape->serial || tape->ledger || tape->error || tape->refused)
		reel_tape_close(tape);
	else
		tape->top = tape->floor;
	tape->stale = nullptr;
	tape->found_count = 0;
	tape->changed = false;
	keep(tape);
}

/* Makes a tape empty and idle. One that only its cursor has used is empty already. */
REEL_CLAD_APART inline void return_tape(lent_tape *tape) noexcept
{
	if (REEL_UNLIKELY(tape->changed))
		return make_empty_and_keep(tape);
	keep(tape);
}

/* Pops a refused push and clears the error, so that the tape is ready for the next push. */
REEL_COLD inline void take_back_push(reel_tape *tape, const reel_type *type) noexcept
{
	last_error() = reel_tape_error(tape);
	if (reel_tape_refused(tape))
		reel_pop_slow(tape, type, "clad::push");
	reel_tape_clear_error(tape);
}

} // namespace REEL_CLAD_DIALECT
} // namespace reel

#endif
