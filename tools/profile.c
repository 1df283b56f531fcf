/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel profile`: which lines of a program push the bytes of its tapes.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "os/bytes.h"
#include "profile.h"
#include "verb.h"

const char profile_help[] =
	"Usage: reel profile [--folded | --json] FILE\n"
	"\n"
	"Shows which lines of a program push the bytes of its tapes, from a file that it has\n"
	"written with REEL_PROFILE=FILE: bytes pushed over the run, and bytes on the tapes\n"
	"at the moment at which they were largest.  A line stands for the slabs in which\n"
	"one of its pushes was looked at, so its share is right within some slabs.\n"
	"\n"
	"  --folded      stacks of functions with the bytes that they pushed, for flame graphs\n"
	"  --json        the lines as JSON\n"
	"  --help        this text\n"
	"\n"
	"Functions, and lines that the program's pushes do not name themselves, come from\n"
	"the debug information of the program (compile with -g).\n";

enum form { TEXT, FOLDED, JSON };

/* ---- Writing ---- */

const char *bytes_text(int64_t bytes, char text[16])
{
	reel_bytes_text(text, 16, (double)bytes, false);
	return text;
}

static double share(int64_t part, int64_t all)
{
	return all > 0 ? 100 * (double)part / (double)all : 0;
}

static void write_text(const struct profile *profile)
{
	char pushed[16], peak[16];

	printf("at least %s bytes pushed; %s on the tapes at their peak\n\n%16s %16s\n",
	       bytes_text(profile->bytes, pushed), bytes_text(profile->peak, peak), "pushed",
	       "at the peak");
	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		printf("%7s %6.1f %% %7s %6.1f %%  ", bytes_text(place->bytes, pushed),
		       share(place->bytes, profile->bytes), bytes_text(place->at_peak, peak),
		       share(place->at_peak, profile->peak));
		json_print_plain(stdout, place->line, MAX_NAME);
		fputs(place->function[0] ? ", " : "", stdout);
		json_print_plain(stdout, place->function, MAX_NAME);
		putchar('\n');
	}
}

static void write_folded(const struct profile *profile)
{
	char name[MAX_NAME];

	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		for (int j = place->depth - 1; j >= profile_first_frame(profile, place); j--)
			for (int level = 0;
			     profile_name_frame(profile, place->caller[j], level, name); level++) {
				json_print_plain(stdout, name, MAX_NAME);
				putchar(';');
			}
		json_print_plain(stdout, place->line, MAX_NAME);
		printf(" %" PRId64 "\n", place->bytes);
	}
}

static void write_json(const struct profile *profile)
{
	printf("{\"pushed_bytes\": %" PRId64 ", \"peak_bytes\": %" PRId64 ", \"lines\": [",
	       profile->bytes, profile->peak);
	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		fputs(i ? ",\n\t{\"line\": " : "\n\t{\"line\": ", stdout);
		json_print_string(stdout, place->line);
		fputs(", \"function\": ", stdout);
		json_print_string(stdout, place->function);
		printf(", \"pushed_bytes\": %" PRId64 ", \"bytes_at_peak\": %" PRId64 "}",
		       place->bytes, place->at_peak);
	}
	puts("\n]}");
}

int profile_run(int count, char **words)
{
	static struct profile profile;
	int form = TEXT, option;
	const struct option options[] = {{"folded", no_argument, &form, FOLDED},
					 {"json", no_argument, &form, JSON},
					 {0}};

	while ((option = next_option(count, words, options)) != -1)
		if (option == '?')
			return EXIT_USAGE;
	if (optind + 1 != count) {
		fprintf(stderr, "reel profile: give one file; 'reel profile --help' says which\n");
		return EXIT_USAGE;
	}
	if (profile_open(&profile, "profile", words[optind]))
		return EXIT_FAILURE;
	if (form == FOLDED) {
		write_folded(&profile);
	} else {
		profile_merge_lines(&profile);
		if (form == JSON)
			write_json(&profile);
		else
			write_text(&profile);
	}
	return EXIT_SUCCESS;
}
