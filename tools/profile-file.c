/* SPDX-License-Identifier: MIT */
/*
 * Reads the file that a program has written with REEL_PROFILE (lib/trace/profile.c), and names its
 * places by their lines and functions.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "verb.h"

/* ---- Reading ---- */

/* Copies a name, in which a newline is "\n" and a backslash is doubled. */
static char *copy_name(const char *text)
{
	char *name = strdup(text), *to = name;

	for (const char *from = name; from && (*to = *from); from++, to++)
		if (*from == '\\' && from[1])
			*to = *++from == 'n' ? '\n' : *from;
	return name;
}

/* Both return false if the line makes no sense. */
static bool read_code(struct profile *profile, char *text)
{
	struct code *code;
	int at = -1;

	profile->code = need_memory(profile->code, (size_t)(profile->codes + 1) * sizeof *code);
	code = &profile->code[profile->codes];
	if (sscanf(text, "code %" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &code->begin, &code->end,
		   &code->bias, &at) != 3 ||
	    at < 0)
		return false;
	code->path = copy_name(text + at);
	profile->codes++;
	return code->path != NULL;
}

static bool read_place(struct profile *profile, char *text)
{
	struct place *place;
	char *at = strstr(text, " at "), *end;
	int begin = -1;

	if (!at)
		return false;
	profile->place = need_memory(profile->place, (size_t)(profile->places + 1) * sizeof *place);
	place = &profile->place[profile->places++];
	memset(place, 0, sizeof *place);
	*at = '\0';
	place->call_site = copy_name(at + 4);
	if (sscanf(text, "place %u %" SCNd64 " %" SCNd64 "%n", &place->number, &place->bytes,
		   &place->at_peak, &begin) != 3)
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

/*
 * To the linker an instance of a template of C++, such as reel_push_at<double>(), is
 * "_Z12reel_push_atId...", and a member of the namespace reel is "_ZN4reel...".
 */
static bool is_reel_symbol(const char *name)
{
	if (!strncmp(name, "_ZN4reel", 8) || !strncmp(name, "_ZNK4reel", 9))
		return true;
	if (!strncmp(name, "_Z", 2))
		name += 2 + strspn(name + 2, "0123456789");
	return !strncmp(name, "reel_", 5);
}

/* Returns true for an address in Reel's code, in a library or linked into the program. */
static bool is_reel(const struct profile *profile, uint64_t address)
{
	const struct code *code = code_at(profile, address);
	const char *name = source_frame(profile->source, address).function;

	return (code && !strncmp(base_of(code->path), "libreel", 7)) ||
	       (name && is_reel_symbol(name));
}

/* The first frame that is not Reel's. */
int profile_first_frame(const struct profile *profile, const struct place *place)
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

/* Returns true for functions of Reel, Clad and CoDiPack that programs inline where they push. */
static bool is_below_program(const char *name)
{
	static const char *const prefixes[] = {"reel_", "reel::", "clad::", "codi::"};

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

bool profile_name_frame(const struct profile *profile, uint64_t address, int level,
			char name[MAX_NAME])
{
	struct frame frame = source_frame(profile->source, address);
	const struct code *code = code_at(profile, address);

	if (source_name(profile->source, address, level, name))
		return !level || !is_below_program(name);
	if (level)
		return false;
	/*
	 * The compiler calls parts of a function "f.cold" or "f.part.0", the linker versions "f@V".
	 */
	if (frame.function && frame.function[0] != '.')
		snprintf(name, MAX_NAME, "%.*s", (int)strcspn(frame.function, ".@"),
			 frame.function);
	else if (code)
		snprintf(name, MAX_NAME, "%s+0x%" PRIx64, base_of(code->path),
			 address - code->bias);
	else
		snprintf(name, MAX_NAME, "0x%" PRIx64, address);
	return true;
}

/* Returns true for "file:line". Drop-ins give the name of their function instead. */
static bool is_line(const char *call_site)
{
	const char *colon = strrchr(call_site, ':');

	return colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

static void name_place(const struct profile *profile, struct place *place)
{
	int first = profile_first_frame(profile, place);
	struct frame frame = {0};
	char name[MAX_NAME];

	if (first < place->depth) {
		frame = source_frame(profile->source, place->caller[first]);
		for (int level = 0;
		     profile_name_frame(profile, place->caller[first], level, name); level++)
			memcpy(place->function, name, sizeof name);
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

/* Frees the places that it adds to another one. */
void profile_merge_lines(struct profile *profile)
{
	int lines = 0;

	if (!profile->places)
		return;
	qsort(profile->place, (size_t)profile->places, sizeof *profile->place, compare_lines);
	for (int i = 0; i < profile->places; i++) {
		struct place *place = &profile->place[i];
		struct place *last = lines ? &profile->place[lines - 1] : NULL;

		if (last && !strcmp(place->line, last->line)) {
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

/* ---- Opening ---- */

int profile_open(struct profile *profile, const char *verb, const char *path)
{
	FILE *file = fopen(path, "r");
	bool is_good;

	memset(profile, 0, sizeof *profile);
	if (!file) {
		fprintf(stderr, "reel %s: cannot read '%s': %s\n", verb, path, strerror(errno));
		return EXIT_FAILURE;
	}
	is_good = read_lines(profile, file);
	fclose(file);
	if (!is_good) {
		fprintf(stderr,
			"reel %s: '%s' is no profile; run the program with REEL_PROFILE=FILE to "
			"its end\n",
			verb, path);
		return EXIT_FAILURE;
	}
	profile->source = source_open(profile->code, profile->codes);
	for (int i = 0; i < profile->places; i++)
		name_place(profile, &profile->place[i]);
	return EXIT_SUCCESS;
}
