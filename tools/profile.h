/* SPDX-License-Identifier: MIT */
/* The profile of a program: which of its lines push the bytes of its tapes. */
#ifndef REEL_TOOLS_PROFILE_H
#define REEL_TOOLS_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_DEPTH = 32, MAX_NAME = 512 };

/* Where code lies in memory: an address less `bias` is one in the file. */
struct code {
	uint64_t begin, end, bias;
	const char *path;
};

struct place {
	unsigned number; /* in traces */
	int64_t bytes, at_peak;
	uint64_t caller[MAX_DEPTH]; /* innermost first */
	int depth;
	char *call_site; /* "?": the library does not know it */
	char line[MAX_NAME];
	char function[MAX_NAME]; /* "": not known */
};

struct profile {
	int64_t peak, bytes;
	struct code *code;
	int codes;
	struct place *place;
	int places;
	struct source *source;
};

/*
 * profile-file.c: reads a profile, once in the life of the command, and names its places. `verb` is
 * for messages. Returns EXIT_SUCCESS, or EXIT_FAILURE after a message.
 */
int profile_open(struct profile *profile, const char *verb, const char *path);
/* Makes one place of all that have the same line, and sorts the places by the bytes pushed. */
void profile_merge_lines(struct profile *profile);
/* The first caller of a place that is not Reel's own; `depth` if there is none. */
int profile_first_frame(const struct profile *profile, const struct place *place);
/*
 * Writes the name of the function at an address: at level 0 of the one that has the code there, at
 * the next levels of those inlined in it, from the outermost one on. Returns false above the last
 * level, or if the function is Reel's own or of a tool on Reel.
 */
bool profile_name_frame(const struct profile *profile, uint64_t address, int level,
			char name[MAX_NAME]);

/* profile-source.c: the line of a program's source at an address, and the function. */
struct frame {
	const char *function; /* as the linker calls it; NULL: not known */
	const char *file;     /* NULL: not known */
	int line;
};

/* Opens the files that can be read. NULL: nothing is known of any address. */
struct source *source_open(const struct code *code, int count);
/* Returns function and line of an address. Their names are kept. */
struct frame source_frame(struct source *source, uint64_t address);
/*
 * Writes the name of the function at an address as its source has it, with its namespace, class or
 * module: "waves::sea<double>::step". Levels are counted as in profile_name_frame(). Returns
 * false if there is none, or the name is not known, or too long.
 */
bool source_name(struct source *source, uint64_t address, int level, char name[MAX_NAME]);

/* profile.c: a number of bytes as "12M". */
const char *bytes_text(int64_t bytes, char text[16]);

#endif
