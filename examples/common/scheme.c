/* SPDX-License-Identifier: MIT */
#include "scheme.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define MAX_NUMBERS 2
#define MAX_PERIOD 1000000

/* A planner by its name in Reel, or by another that is common; and what its numbers are. */
static const struct form {
	const char *name;
	enum reel_planner planner;
	const char *numbers; /* behind the name */
	size_t member[MAX_NUMBERS];
	const char *help;
} forms[] = {
	{"store-all", REEL_STORE_ALL, "", {0}, "the tape of all steps"},
	{"binomial", REEL_BINOMIAL, ":STATES", {offsetof(struct scheme, states)},
	 "least steps run again (Revolve)"},
	{"online", REEL_ONLINE, ":STATES", {offsetof(struct scheme, states)},
	 "not told the number of steps"},
	{"mixed", REEL_MIXED, ":STATES:TAPE_STATES",
	 {offsetof(struct scheme, states), offsetof(struct scheme, tape_states)},
	 "keeps tapes instead of states where it pays"},
	{"multistage", REEL_MULTISTAGE, ":STATES:DISK_STATES",
	 {offsetof(struct scheme, states), offsetof(struct scheme, disk_states)},
	 "binomial over both, the busiest in memory"},
	{"two-level", REEL_TWO_LEVEL, ":STATES:PERIOD",
	 {offsetof(struct scheme, states), offsetof(struct scheme, period)},
	 "a state on the disk each PERIOD segments"},
	{"hierarchical", REEL_HIERARCHICAL, ":STATES:DISK_STATES",
	 {offsetof(struct scheme, states), offsetof(struct scheme, disk_states)},
	 "least time (H-Revolve)"},
	{"disk-revolve", REEL_DISK_REVOLVE, ":STATES", {offsetof(struct scheme, states)},
	 "the same, any number on the disk, each read once"},
	{"periodic", REEL_PERIODIC, ":STATES:PERIOD",
	 {offsetof(struct scheme, states), offsetof(struct scheme, period)},
	 "the same with even gaps"},
};

static const struct form *form_named(const char *name, size_t length)
{
	static const char *const others[][2] = {{"twolevel", "two-level"},
						{"hrevolve", "hierarchical"}};

	for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
		if (strlen(others[k][0]) == length && strncmp(name, others[k][0], length) == 0)
			return form_named(others[k][1], strlen(others[k][1]));
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++)
		if (strlen(forms[k].name) == length && strncmp(name, forms[k].name, length) == 0)
			return &forms[k];
	return NULL;
}

static int numbers_of(const struct form *form)
{
	int numbers = 0;

	for (const char *colon = form->numbers; (colon = strchr(colon, ':')); colon++)
		numbers++;
	return numbers;
}

static int64_t max_of(size_t member)
{
	return member == offsetof(struct scheme, period) ? MAX_PERIOD : REEL_MAX_SLOTS;
}

/* Numbers, each behind a colon, to the end; returns whether they were that. */
static int read_numbers(const struct form *form, const char *text, struct scheme *scheme)
{
	for (int k = 0; k < numbers_of(form); k++) {
		int64_t *number = (int64_t *)((char *)scheme + form->member[k]);
		char *end;

		if (*text != ':' || !isdigit((unsigned char)text[1]))
			return 0;
		errno = 0;
		*number = strtoll(text + 1, &end, 10);
		if (errno || *number < 1 || *number > max_of(form->member[k]))
			return 0;
		text = end;
	}
	return *text == '\0';
}

struct scheme scheme_read(const char *text)
{
	struct scheme scheme = {.text = text, .planner = REEL_BINOMIAL};
	size_t length = strcspn(text, ":");
	const struct form *form = form_named(text, length);

	if (strcmp(text, "auto") == 0) {
		scheme.automatic = 1;
		return scheme;
	}
	if (!form)
		fail("--checkpoint %s: there is no such planner; --help lists them", text);
	if (!numbers_of(form) && text[length])
		fail("--checkpoint %s: give %s alone, it has no number", text, form->name);
	if (!read_numbers(form, text + length, &scheme))
		fail("--checkpoint %s: give %s%s, with whole numbers from 1 on, of states at most "
		     "%d", text, form->name, form->numbers, REEL_MAX_SLOTS);
	scheme.planner = form->planner;
	return scheme;
}

int scheme_has_disk(const struct scheme *scheme)
{
	switch (scheme->planner) {
	case REEL_MULTISTAGE:
	case REEL_TWO_LEVEL:
	case REEL_HIERARCHICAL:
	case REEL_DISK_REVOLVE:
	case REEL_PERIODIC:
		return 1;
	default:
		return 0;
	}
}

void scheme_print_help(void)
{
	for (size_t k = 0; k < sizeof(forms) / sizeof(forms[0]); k++) {
		int width = printf("    %s%s", forms[k].name, forms[k].numbers);

		printf("%*s%s\n", 38 > width ? 38 - width : 1, "", forms[k].help);
	}
	printf("    %-34s%s\n", "auto", "measures a few steps and chooses");
}
