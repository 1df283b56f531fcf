/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel profile`: which lines of a program push the bytes of its tapes. It reads the file that
 * the program has written (lib/trace/profile.c), and names functions and lines by the program's own
 * debug information.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "profile.h"
#include "verb.h"

enum { MAX_CODE = 1024, MAX_DEPTH = 32, MAX_NAME = 512 };

const char profile_help[] =
	"Usage: reel profile [--folded | --json] FILE\n"
	"\n"
	"Shows which lines of a program push the bytes of its tapes, from a file that it has\n"
	"written with REEL_PROFILE=FILE: bytes pushed over the run, and bytes on the tapes\n"
	"at the moment at which they were largest.  A line stands for the slabs that one of\n"
	"its pushes began, so its share is right within some slabs.\n"
	"\n"
	"  --folded      stacks of functions with the bytes that they pushed, for flame graphs\n"
	"  --json        the lines as JSON\n"
	"  --help        this text\n"
	"\n"
	"Functions, and lines that the program's pushes do not name themselves, come from\n"
	"the debug information of the program (compile with -g).\n";

struct place {
	int64_t bytes, at_peak;
	uint64_t caller[MAX_DEPTH]; /* innermost first */
	int depth;
	char *call_site; /* "?": the library does not know it */
	char line[MAX_NAME];
	char function[MAX_NAME]; /* "": not known */
};

struct profile {
	int64_t peak, bytes;
	struct code code[MAX_CODE];
	int codes;
	struct place *place;
	int places;
	struct source *source;
};

enum form { TEXT, FOLDED, JSON };

/* ---- Reading ---- */

/* Both return false if the line makes no sense. */
static bool read_code(struct profile *profile, char *text)
{
	struct code *code = &profile->code[profile->codes];
	int at = -1;

	if (profile->codes == MAX_CODE ||
	    sscanf(text, "code %" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &code->begin, &code->end,
		   &code->bias, &at) != 3 ||
	    at < 0)
		return false;
	code->path = strdup(text + at);
	profile->codes++;
	return code->path != NULL;
}

static bool read_place(struct profile *profile, char *text)
{
	struct place *place;
	char *at = strstr(text, " at "), *end;
	int begin = -1;

	place = realloc(profile->place, (size_t)(profile->places + 1) * sizeof *place);
	if (!place || !at)
		return false;
	profile->place = place;
	place += profile->places++;
	memset(place, 0, sizeof *place);
	*at = '\0';
	place->call_site = strdup(at + 4);
	if (sscanf(text, "place %" SCNd64 " %" SCNd64 "%n", &place->bytes, &place->at_peak,
		   &begin) != 2)
		return false;
	profile->bytes += place->bytes;
	for (text += begin; place->depth < MAX_DEPTH; text = end) {
		/* The address after the call, so that the one before lies in the call. */
		uint64_t address = strtoull(text, &end, 16);

		if (end == text)
			break;
		place->caller[place->depth++] = address - 1;
	}
	return place->call_site != NULL;
}

static bool read_lines(struct profile *profile, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	bool is_good = getline(&line, &room, file) > 0 && !strcmp(line, "reel profile 1\n");

	while (is_good && (length = getline(&line, &room, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		is_good = !strncmp(line, "code ", 5)    ? read_code(profile, line)
			  : !strncmp(line, "place ", 6) ? read_place(profile, line)
							: sscanf(line, "peak %" SCNd64,
								 &profile->peak) == 1;
	}
	free(line);
	return is_good;
}

static int read_file(struct profile *profile, const char *path)
{
	FILE *file = fopen(path, "r");
	bool is_good;

	if (!file) {
		fprintf(stderr, "reel profile: cannot read '%s': %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	is_good = read_lines(profile, file);
	fclose(file);
	if (is_good)
		return EXIT_SUCCESS;
	fprintf(stderr, "reel profile: '%s' is no profile; run the program with REEL_PROFILE=FILE to "
			"its end\n", path);
	return EXIT_FAILURE;
}

/* ---- Names ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct code *code_at(const struct profile *profile, uint64_t address)
{
	for (int i = 0; i < profile->codes; i++)
		if (address >= profile->code[i].begin && address < profile->code[i].end)
			return &profile->code[i];
	return NULL;
}

/* Whether the address is in Reel's own code, also if a program is linked with it statically. */
static bool is_reel(const struct profile *profile, uint64_t address)
{
	const struct code *code = code_at(profile, address);
	struct frame frame = source_frame(profile->source, address);

	return (code && !strncmp(base_of(code->path), "libreel", 7)) ||
	       (frame.function && !strncmp(frame.function, "reel_", 5));
}

/* The first frame that is not Reel's. */
static int first_frame(const struct profile *profile, const struct place *place)
{
	int i = 0;

	/* A static function of Reel may have any name, but it is called by one of reel_. */
	for (int j = 0; j < place->depth; j++)
		if (is_reel(profile, place->caller[j]))
			i = j + 1;
		else if (j - i > 4)
			break;
	return i;
}

static void name_frame(const struct profile *profile, uint64_t address, char name[MAX_NAME])
{
	struct frame frame = source_frame(profile->source, address);
	const struct code *code = code_at(profile, address);

	if (frame.function)
		snprintf(name, MAX_NAME, "%s", frame.function);
	else if (code)
		snprintf(name, MAX_NAME, "%s+0x%" PRIx64, base_of(code->path), address - code->bias);
	else
		snprintf(name, MAX_NAME, "0x%" PRIx64, address);
}

/* Whether the library knows the line: drop-ins name the function that pushes. */
static bool is_line(const char *call_site)
{
	const char *colon = strrchr(call_site, ':');

	return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

static void name_place(const struct profile *profile, struct place *place)
{
	int first = first_frame(profile, place);
	struct frame frame = {0};

	if (first < place->depth) {
		frame = source_frame(profile->source, place->caller[first]);
		name_frame(profile, place->caller[first], place->function);
	}
	if (is_line(place->call_site))
		snprintf(place->line, MAX_NAME, "%s", place->call_site);
	else if (frame.file)
		snprintf(place->line, MAX_NAME, "%s:%d", frame.file, frame.line);
	else
		snprintf(place->line, MAX_NAME, "%s",
			 place->function[0] ? place->function : place->call_site);
}

static int compare_lines(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	return strcmp(a->line, b->line);
}

static int compare_bytes(const void *one, const void *other)
{
	const struct place *a = one, *b = other;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return compare_lines(one, other);
}

/* Several ways lead to a line. Frees what it leaves out. */
static void merge_lines(struct profile *profile)
{
	int lines = 0;

	qsort(profile->place, (size_t)profile->places, sizeof *profile->place, compare_lines);
	for (int i = 0; i < profile->places; i++) {
		struct place *place = &profile->place[i], *last = &profile->place[lines - 1];

		if (lines && !strcmp(place->line, last->line)) {
			last->bytes += place->bytes;
			last->at_peak += place->at_peak;
			free(place->call_site);
			continue;
		}
		profile->place[lines++] = *place;
	}
	profile->places = lines;
	qsort(profile->place, (size_t)lines, sizeof *profile->place, compare_bytes);
}

/* ---- Writing ---- */

static const char *bytes_text(int64_t bytes, char text[16])
{
	static const char units[] = " KMGTP";
	double number = (double)bytes;
	int unit = 0;

	for (; number >= 9999.5 && units[unit + 1]; unit++)
		number /= 1024;
	snprintf(text, 16, "%.0f%c", number, units[unit]);
	return text;
}

static double share(int64_t part, int64_t all)
{
	return all > 0 ? 100 * (double)part / (double)all : 0;
}

static void write_text(const struct profile *profile)
{
	char pushed[16], peak[16];

	printf("%s bytes pushed; %s on the tapes at their peak\n\n%16s %16s\n",
	       bytes_text(profile->bytes, pushed), bytes_text(profile->peak, peak), "pushed",
	       "at the peak");
	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		printf("%7s %6.1f %% %7s %6.1f %%  %s%s%s\n", bytes_text(place->bytes, pushed),
		       share(place->bytes, profile->bytes), bytes_text(place->at_peak, peak),
		       share(place->at_peak, profile->peak), place->line,
		       place->function[0] ? ", " : "", place->function);
	}
}

static void write_folded(const struct profile *profile)
{
	char name[MAX_NAME];

	for (int i = 0; i < profile->places; i++) {
		const struct place *place = &profile->place[i];

		for (int j = place->depth - 1; j >= first_frame(profile, place); j--) {
			name_frame(profile, place->caller[j], name);
			printf("%s;", name);
		}
		printf("%s %" PRId64 "\n", place->line, place->bytes);
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

static void write_profile(struct profile *profile, enum form form)
{
	profile->source = source_open(profile->code, profile->codes);
	for (int i = 0; i < profile->places; i++)
		name_place(profile, &profile->place[i]);
	if (form == FOLDED) {
		write_folded(profile);
	} else {
		merge_lines(profile);
		if (form == JSON)
			write_json(profile);
		else
			write_text(profile);
	}
	source_close(profile->source);
}

static void forget(struct profile *profile)
{
	for (int i = 0; i < profile->codes; i++)
		free((char *)(uintptr_t)profile->code[i].path);
	for (int i = 0; i < profile->places; i++)
		free(profile->place[i].call_site);
	free(profile->place);
}

int profile_run(int count, char **words)
{
	static struct profile profile;
	enum form form = TEXT;
	int status;

	while (count && words[0][0] == '-' && words[0][1]) {
		if (!strcmp(words[0], "--folded"))
			form = FOLDED;
		else if (!strcmp(words[0], "--json"))
			form = JSON;
		else
			return reject_word("profile", words[0]);
		count--;
		words++;
	}
	if (count != 1) {
		fprintf(stderr, "reel profile: give one file; 'reel profile --help' says which\n");
		return EXIT_USAGE;
	}
	status = read_file(&profile, words[0]);
	if (status == EXIT_SUCCESS)
		write_profile(&profile, form);
	forget(&profile);
	return status;
}
