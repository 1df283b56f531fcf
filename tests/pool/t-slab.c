/* SPDX-License-Identifier: MIT */
/* Tests the states of a slab: the library checks the table in slab.h, and finds a wrong move. */
#include <config.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pool/slab.h"
#include "helpers/support.h"

static const char *const names[REEL_SLAB_STATES] = {
	"EMPTY", "OPEN", "DIRTY", "WRITING", "PINNED_WRITING", "CLEAN", "PINNED",
	"EVICTING", "STORED", "READ_QUEUED", "READING", "LOST", "FREE_PENDING"};

static bool documented[REEL_SLAB_STATES][REEL_SLAB_STATES];

/* Returns the state with this name, or REEL_SLAB_STATES. */
static unsigned state_named(const char *name)
{
	unsigned state = 0;

	while (state < REEL_SLAB_STATES && strcmp(names[state], name) != 0)
		state++;
	return state;
}

/* Reads the rows of the table: " *", a tab, and the names of two states. Returns their number. */
static unsigned read_table(FILE *header)
{
	char line[200], from[32], to[32];
	unsigned rows = 0;

	while (fgets(line, sizeof line, header)) {
		if (sscanf(line, " *\t%31[A-Z_] %31[A-Z_]", from, to) != 2)
			continue;
		if (state_named(from) == REEL_SLAB_STATES || state_named(to) == REEL_SLAB_STATES)
			continue;
		documented[state_named(from)][state_named(to)] = true;
		rows++;
	}
	return rows;
}

static void test_table(void)
{
	FILE *header = fopen(SLAB_HEADER, "r");
	unsigned rows;

	tap_case("the table of states");
	if (!header) {
		ok(false, "%s can be read", SLAB_HEADER);
		return;
	}
	rows = read_table(header);
	fclose(header);
	ok(rows > REEL_SLAB_STATES, "%u changes are documented", rows);
	for (unsigned from = 0; from < REEL_SLAB_STATES; from++)
		for (unsigned to = 0; to < REEL_SLAB_STATES; to++)
			rows -= reel_slab_may_become(from, to) && documented[from][to];
	is_int(rows, 0, "each of them is allowed, and stands there once");
	for (unsigned from = 0; from < REEL_SLAB_STATES; from++)
		for (unsigned to = 0; to < REEL_SLAB_STATES; to++)
			if (reel_slab_may_become(from, to) != documented[from][to])
				ok(false, "%s to %s is allowed, or documented, and not both",
				   names[from], names[to]);
}

/* Runs a function in a child. Returns its status, and its stderr in `text`. */
static int run_in_child(void (*body)(void), char *text, size_t size)
{
	int ends[2], status;
	size_t length = 0;
	ssize_t more;
	pid_t child;

	if (pipe(ends))
		abort();
	child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		body();
		_exit(0);
	}
	close(ends[1]);
	while ((more = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)more;
	text[length] = 0;
	close(ends[0]);
	waitpid(child, &status, 0);
	return status;
}

static void evict_an_open_slab(void)
{
	struct reel_slab slab = {.state = REEL_SLAB_OPEN};

	reel_slab_move(&slab, REEL_SLAB_OPEN, REEL_SLAB_EVICTING);
}

static void empty_a_stored_slab(void)
{
	struct reel_slab slab = {.state = REEL_SLAB_STORED};

	reel_slab_become(&slab, REEL_SLAB_EMPTY);
}

static void test_wrong_moves(void)
{
	char text[300];

	tap_case("a change that is not in the table");
	if (!REEL_ASSERTIONS) {
		tap_skip(3, "built without --enable-assertions");
		return;
	}
	ok(WIFSIGNALED(run_in_child(evict_an_open_slab, text, sizeof text)),
	   "a change that is not in the table ends the program");
	ok(strstr(text, "reel_slab_move") && strstr(text, "reel_slab_may_become(from, to)"),
	   "the transition is named: %s", text);
	ok(WIFSIGNALED(run_in_child(empty_a_stored_slab, text, sizeof text)),
	   "the program ends where nobody else could move the slab, too");
}

int main(void)
{
	tap_begin();
	test_table();
	test_wrong_moves();
	return tap_end();
}
