/* SPDX-License-Identifier: MIT */
/*
 * The struct reel_tapes behind the tapes of generated code, which begin and end with each call: a
 * thread keeps those that have ended for the next ones, ready to be pushed on. None of this throws.
 */
#ifndef REEL_CLAD_TAPES_H
#define REEL_CLAD_TAPES_H

#include <cstdint>

#include "fault.h"

namespace reel {
inline namespace REEL_CLAD_DIALECT {

/*
 * A tape and the cursor that is out on it. A call that fails may have left the cursor's slab,
 * and the cursor does not get to know: it is stale, and the tape's own top is the true one.
 */
struct lent_tape : reel_tape {
	char *stale;
	/*
	 * The window below the top's in which a value was found last: its values are numbers
	 * `found_first` and up. Pushes and pops of the cursor cannot come there.
	 */
	char *found;
	std::size_t found_first;
	std::size_t found_count;

	void put_top(char *cursor) noexcept
	{
		if (cursor != stale)
			top = cursor;
	}

	/* The same, before a push or a pop that may change what lies where. */
	void come_back(char *cursor) noexcept
	{
		put_top(cursor);
		found_count = 0;
	}
};

/* Idle ones are empty and hold nothing of the pool's; their first bytes link them. */
struct idle_tapes {
	lent_tape *last;
	int count;
	bool ended;
};

/* Without a destructor, so that it is there for tapes that end after it would have run. */
inline idle_tapes &idle() noexcept
{
	static thread_local idle_tapes tapes = {nullptr, 0, false};

	return tapes;
}

constexpr int max_idle_tapes = 64;

struct idle_tapes_end {
	~idle_tapes_end()
	{
		idle_tapes &tapes = idle();

		while (tapes.last) {
			lent_tape *next = reinterpret_cast<lent_tape *>(
				static_cast<std::uintptr_t>(tapes.last->first[0]));

			delete tapes.last;
			tapes.last = next;
		}
		tapes.count = 0;
		tapes.ended = true;
	}
};

REEL_COLD inline lent_tape *make_tape() noexcept
{
	static thread_local idle_tapes_end at_end;
	lent_tape *tape = new (std::nothrow) lent_tape();

	(void)at_end;
	if (!tape)
		last_error() = -ENOMEM;
	return tape;
}

/* One that is new, or has been closed, takes its pool; NULL if that cannot be. */
REEL_COLD inline lent_tape *start_tape(lent_tape *tape) noexcept
{
	static const reel_type word = {"a word", 8, 8, REEL_INTEGER};

	if (tape && !reel_reserve_slow(tape, &word, 1, "clad::push")) {
		last_error() = reel_tape_error(tape);
		reel_tape_close(tape);
		delete tape;
		return nullptr;
	}
	return tape;
}

/* An empty tape that can be pushed on, or NULL. */
inline lent_tape *borrow_tape() noexcept
{
	idle_tapes &tapes = idle();
	lent_tape *tape = tapes.last;

	if (REEL_UNLIKELY(!tape))
		return start_tape(make_tape());
	tapes.last = reinterpret_cast<lent_tape *>(static_cast<std::uintptr_t>(tape->first[0]));
	tapes.count--;
	return REEL_UNLIKELY(!tape->top) ? start_tape(tape) : tape;
}

/* One that never left the buffer inside of it is empty when its top is put back. */
REEL_CLAD_APART inline void return_tape(lent_tape *tape) noexcept
{
	idle_tapes &tapes = idle();

	if (tape->serial || tape->ledger || tape->error || tape->refused)
		reel_tape_close(tape);
	else
		tape->top = tape->floor;
	tape->stale = nullptr;
	tape->found_count = 0;
	if (REEL_UNLIKELY(tapes.ended || tapes.count == max_idle_tapes)) {
		delete tape;
		return;
	}
	tape->first[0] = reinterpret_cast<std::uintptr_t>(tapes.last);
	tapes.last = tape;
	tapes.count++;
}

/* Takes back a refused push, so that the tape is as it was and ready for the next one. */
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
