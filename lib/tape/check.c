/* SPDX-License-Identifier: MIT */
/*
 * Checked mode: a second tape, the entries of the ledger, holds a note of each push. False limits
 * send each push and pop to the slow path, which calls these functions. The owner of the tape runs
 * them; a call of any other thread is reported.
 *
 * The entries are marked, rewound, held and replayed together with the tape.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool/pool.h"
#include "store/store.h"
#include "tape.h"

struct note {
	const char *call_site;
	const char *name;
	uint64_t size;
	/* Bytes of one element of a span or an array. */
	uint32_t element_size;
	uint16_t kind;
	bool is_array;
};

/* Size of the text that names a type and its size; longer names are cut off. */
#define DESCRIPTION 160
#define TYPE_NAME 100
/* Size of the text that says which push was refused; longer paths are cut off. */
#define REFUSED_PUSH 256

REEL_RECORD(note, struct note);

struct reel_ledger {
	reel_tape entries;
	/* The tape, for which a copy of its struct is not taken. */
	const reel_tape *tape;
	pthread_t owner;
	bool owned;
	/* The line of the program in which the owner used the tape last. */
	const char *last_call_site;
};

int reel_check_start(reel_tape *tape)
{
	struct reel_ledger *ledger;

	if (!(tape->flags & REEL_CHECKED) || tape->flags & REEL_TAPE_NOTES)
		return 0;
	REEL_ASSERT(!tape->ledger);
	ledger = calloc(1, sizeof *ledger);
	if (!ledger)
		return -ENOMEM;
	ledger->entries.pool = tape->pool;
	ledger->entries.flags = REEL_TAPE_SILENT | REEL_TAPE_NOTES;
	tape->ledger = ledger;
	reel_check_move(tape);
	return 0;
}

bool reel_check_is_copy(const reel_tape *tape)
{
	return tape->ledger && tape->ledger->tape != tape;
}

void reel_check_move(reel_tape *tape)
{
	if (tape->ledger)
		tape->ledger->tape = tape;
}

void reel_check_end(reel_tape *tape)
{
	if (!tape->ledger)
		return;
	REEL_ASSERT(!tape->slab && !tape->hold);
	reel_tape_close(&tape->ledger->entries);
	free(tape->ledger);
}

reel_tape *reel_check_entries(const reel_tape *tape)
{
	return tape->ledger ? &tape->ledger->entries : NULL;
}

void reel_tape_hand_over(reel_tape *tape)
{
	if (tape->ledger)
		tape->ledger->owned = false;
}

static bool owns(reel_tape *tape, const char *call_site)
{
	struct reel_ledger *ledger = tape->ledger;

	if (ledger->owned && !pthread_equal(ledger->owner, pthread_self())) {
		reel_tape_fail_out_of_step(tape, -EPERM,
					   "tape used at %s by a thread that does not own it; its "
					   "owner used it last at %s (see reel_tape_hand_over)",
					   call_site, ledger->last_call_site);
		return false;
	}
	ledger->owner = pthread_self();
	ledger->owned = true;
	ledger->last_call_site = call_site;
	return true;
}

/*
 * If notes are lost, they stay lost until a rewind or a replay: new notes above the gap would be
 * compared with the pops of older pushes.
 */
static bool cannot_note(reel_tape *tape, const char *call_site)
{
	reel_tape *entries = reel_check_entries(tape);
	char push[REFUSED_PUSH];

	REEL_ASSERT(entries->refused > 0);
	if (entries->refused == REEL_OUT_OF_STEP) {
		reel_tape_fail(tape, entries->error,
			       "push at %s refused: notes of earlier pushes could not be read back "
			       "from the store: %s", call_site,
			       reel_store_strerror(entries->error));
		return false;
	}
	entries->refused = 0;
	reel_tape_limits(entries);
	snprintf(push, sizeof push, "push at %s refused, there is no room to note it", call_site);
	reel_tape_fail_for_room(tape, entries->error, push, tape->pool->slab_bytes);
	return false;
}

static struct note note_of(const reel_type *type, size_t n, const char *call_site)
{
	return (struct note){.call_site = call_site,
			     .name = type->name,
			     .size = (uint64_t)n * type->size,
			     .element_size = (uint32_t)type->size,
			     .kind = (uint16_t)type->kind,
			     .is_array = type->align == 0};
}

bool reel_check_push(reel_tape *tape, const reel_type *type, size_t n, const char *call_site)
{
	struct note note = note_of(type, n, call_site);
	reel_tape *entries = reel_check_entries(tape);

	if (!entries)
		return true;
	if (!owns(tape, call_site))
		return false;
	REEL_ASSERT(tape->ceiling == REEL_FALSE_CEILING && tape->floor == REEL_FALSE_FLOOR);
	reel_push_record(entries, note, note);
	return !entries->error || cannot_note(tape, call_site);
}

void reel_check_undo(reel_tape *tape)
{
	reel_tape *entries = reel_check_entries(tape);

	REEL_ASSERT(!entries || !reel_tape_is_empty(entries));
	if (entries)
		(void)reel_pop_record(entries, note);
}

static bool is_struct(const struct note *note)
{
	return note->kind == REEL_STRUCT || note->kind == REEL_NAMED_STRUCT;
}

/*
 * Elements that are arrays, or of a type that the macros cannot name, have the kind of a struct.
 * Such elements may therefore mirror elements of any type.
 */
static bool same_elements(const struct note *push, const struct note *pop)
{
	REEL_ASSERT(push->size == pop->size);
	return is_struct(push) || is_struct(pop) ||
	       (push->kind == pop->kind && push->element_size == pop->element_size);
}

static bool same_type(const struct note *push, const struct note *pop)
{
	if (push->size != pop->size || push->is_array != pop->is_array)
		return false;
	if (push->is_array)
		return same_elements(push, pop);
	if (push->kind == REEL_NAMED_STRUCT && pop->kind == REEL_NAMED_STRUCT)
		return strcmp(push->name, pop->name) == 0;
	if (is_struct(push) || is_struct(pop))
		return is_struct(push) && is_struct(pop);
	return push->kind == pop->kind && push->element_size == pop->element_size;
}

/*
 * The name of a type. In C++ the compiler has only the signature of reel_type_of(), as in
 * "const reel_type* reel_type_of() [with T = double; ...]".
 */
static const char *type_name(const char *name, char text[static TYPE_NAME])
{
	const char *argument = strstr(name, "T = ");
	size_t length = argument ? strcspn(argument, ";]") : strlen(name);

	if (argument) {
		name = argument + strlen("T = ");
		length -= strlen("T = ");
	}
	snprintf(text, TYPE_NAME, "%.*s", (int)length, name);
	return text;
}

/* "double (32 bytes)", "array (40 bytes, 4 each)", "bits (3 bits)". */
static const char *describe(const struct note *note, char text[static DESCRIPTION])
{
	unsigned long long size = note->size, each = note->element_size;
	const char *unit = note->kind == REEL_BITS ? "bits" : "bytes";
	char name[TYPE_NAME];

	type_name(note->name, name);
	if (note->kind == REEL_BITS || each == 1 || size == each)
		snprintf(text, DESCRIPTION, "%s (%llu %s)", name, size, unit);
	else
		snprintf(text, DESCRIPTION, "%s (%llu %s, %llu each)", name, size, unit, each);
	return text;
}

static bool mirrors(reel_tape *tape, const struct note *push, const struct note *pop)
{
	char popped[DESCRIPTION], pushed[DESCRIPTION];

	/* The kind of a note that could not be read back is all ones. */
	REEL_ASSERT(push->kind <= REEL_BITS && pop->kind <= REEL_BITS);
	if (same_type(push, pop))
		return true;
	reel_tape_fail_out_of_step(tape, -EBADMSG,
				   "pop of %s at %s does not mirror the push of %s at %s",
				   describe(pop, popped), pop->call_site, describe(push, pushed),
				   push->call_site);
	return false;
}

static bool notes_are_lost(reel_tape *tape, const reel_type *type, const char *call_site)
{
	char name[TYPE_NAME];
	int error = reel_check_entries(tape)->error;

	REEL_ASSERT(error != 0);
	reel_tape_fail_out_of_step(tape, error,
				   "pop of %s at %s: the note of its push could not be read back "
				   "from the store: %s",
				   type_name(type->name, name), call_site,
				   reel_store_strerror(error));
	return false;
}

bool reel_check_compare(reel_tape *tape, const reel_type *type, size_t n, const char *call_site,
			bool pops)
{
	reel_tape *entries = reel_check_entries(tape);
	struct note push, pop = note_of(type, n, call_site);
	char name[TYPE_NAME];

	if (!entries)
		return true;
	if (!owns(tape, call_site))
		return false;
	if (reel_tape_is_empty(entries)) {
		reel_tape_fail_out_of_step(tape, -ENODATA, "pop of %s at %s: the tape is empty",
					   type_name(type->name, name), call_site);
		return false;
	}
	push = pops ? reel_pop_record(entries, note) : reel_look_record(entries, note);
	if (entries->refused)
		return notes_are_lost(tape, type, call_site);
	return mirrors(tape, &push, &pop);
}
