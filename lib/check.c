/* SPDX-License-Identifier: MIT */
/*
 * Checked mode: a second tape, the ledger's entries, runs alongside and holds a
 * note of each push. The false limits send every push and pop through here.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tape.h"

struct note {
	const char *site;
	const char *name;
	uint64_t size;
	uint64_t kind;
};

REEL_RECORD(note, struct note);

struct reel_ledger {
	reel_tape entries;
	pthread_t owner;
	bool owned;
	/* Where the owner used the tape last. */
	const char *last_site;
};

int reel_check_start(reel_tape *tape)
{
	struct reel_ledger *ledger;

	if (!(tape->flags & REEL_CHECKED) || tape->flags & REEL_TAPE_NOTES)
		return 0;
	ledger = calloc(1, sizeof *ledger);
	if (!ledger)
		return -ENOMEM;
	ledger->entries.pool = tape->pool;
	ledger->entries.flags = REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	tape->ledger = ledger;
	return 0;
}

void reel_check_end(reel_tape *tape)
{
	if (!tape->ledger)
		return;
	reel_tape_close(&tape->ledger->entries);
	free(tape->ledger);
}

reel_tape *reel_check_entries(const reel_tape *tape)
{
	return tape->ledger ? &tape->ledger->entries : NULL;
}

void reel_check_hand_over(reel_tape *tape)
{
	if (tape->ledger)
		tape->ledger->owned = false;
}

void reel_check_clear_error(reel_tape *tape)
{
	if (tape->ledger)
		reel_tape_clear_error(&tape->ledger->entries);
}

static bool owns(reel_tape *tape, const char *site)
{
	struct reel_ledger *ledger = tape->ledger;

	if (ledger->owned && !pthread_equal(ledger->owner, pthread_self())) {
		reel_tape_fail_out_of_step(tape, -EPERM,
					   "tape used at %s by a thread that does not own it; its "
					   "owner used it last at %s (see reel_tape_hand_over)",
					   site, ledger->last_site);
		return false;
	}
	ledger->owner = pthread_self();
	ledger->owned = true;
	ledger->last_site = site;
	return true;
}

/* Lost notes stay lost, until a rewind or a replay: else older ones would stand for them. */
static bool cannot_note(reel_tape *tape, const char *site)
{
	reel_tape *entries = reel_check_entries(tape);

	if (entries->refused == REEL_OUT_OF_STEP) {
		reel_tape_fail(tape, entries->error,
			       "push at %s refused: notes of earlier pushes could not be read back "
			       "from the store: %s", site, reel_store_strerror(entries->error));
		return false;
	}
	entries->refused = 0;
	reel_tape_limits(entries);
	reel_tape_fail(tape, entries->error, "push at %s refused: no room to note it: %s", site,
		       reel_strerror(entries->error));
	return false;
}

bool reel_check_push(reel_tape *tape, const reel_type *type, size_t n, const char *site)
{
	struct note note = {site, type->name, (uint64_t)n * type->size, type->kind};
	reel_tape *entries = reel_check_entries(tape);

	if (!entries)
		return true;
	if (!owns(tape, site))
		return false;
	reel_push_record(entries, note, note);
	return !entries->error || cannot_note(tape, site);
}

void reel_check_undo(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	if (entries)
		(void)reel_pop_record(entries, note);
}

static bool is_struct(uint64_t kind)
{
	return kind == REEL_STRUCT || kind == REEL_NAMED_STRUCT;
}

static bool same_type(const struct note *push, const reel_type *pop)
{
	if (push->kind == REEL_NAMED_STRUCT && pop->kind == REEL_NAMED_STRUCT)
		return strcmp(push->name, pop->name) == 0;
	return push->kind == (uint64_t)pop->kind || (is_struct(push->kind) && is_struct(pop->kind));
}

static bool mirrors(reel_tape *tape, const struct note *push, const reel_type *type, size_t n,
		    const char *site)
{
	uint64_t size = (uint64_t)n * type->size;
	const char *unit = type->kind == REEL_BITS ? "bits" : "bytes";
	const char *push_unit = push->kind == REEL_BITS ? "bits" : "bytes";

	if (size == push->size && same_type(push, type))
		return true;
	reel_tape_fail_out_of_step(tape, -EBADMSG,
				   "pop of %s (%llu %s) at %s does not mirror the push of %s "
				   "(%llu %s) at %s",
				   type->name, (unsigned long long)size, unit, site, push->name,
				   (unsigned long long)push->size, push_unit, push->site);
	return false;
}

static bool notes_are_lost(reel_tape *tape, const reel_type *type, const char *site)
{
	int error = reel_check_entries(tape)->error;

	reel_tape_fail_out_of_step(tape, error,
				   "pop of %s at %s: the note of its push could not be read back "
				   "from the store: %s",
				   type->name, site, reel_store_strerror(error));
	return false;
}

static bool compare(reel_tape *tape, const reel_type *type, size_t n, const char *site,
		    bool remove)
{
	reel_tape *entries = reel_check_entries(tape);
	struct note push;

	if (!entries)
		return true;
	if (!owns(tape, site))
		return false;
	if (reel_tape_is_empty(entries)) {
		reel_tape_fail_out_of_step(tape, -ENODATA, "pop of %s at %s: the tape is empty",
					   type->name, site);
		return false;
	}
	push = remove ? reel_pop_record(entries, note) : reel_look_record(entries, note);
	if (entries->refused)
		return notes_are_lost(tape, type, site);
	return mirrors(tape, &push, type, n, site);
}

bool reel_check_pop(reel_tape *tape, const reel_type *type, size_t n, const char *site)
{
	return compare(tape, type, n, site, true);
}

bool reel_check_look(reel_tape *tape, const reel_type *type, size_t n, const char *site)
{
	return compare(tape, type, n, site, false);
}
