/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_VERB_H
#define REEL_TOOLS_VERB_H

#include <getopt.h>
#include <stddef.h>

#include <reel/pool.h>

enum {
	EXIT_USAGE = 2,
};

/*
 * One verb of the command. run() gets the verb and the words after it, and returns the exit status.
 * The command itself handles "--help", "--version" and errors of standard output.
 */
struct verb {
	const char *name;
	const char *summary;
	const char *help;
	int (*run)(int count, char **words);
};

extern const char info_help[];
int info_run(int count, char **words);

extern const char plan_help[];
int plan_run(int count, char **words);

extern const char profile_help[];
int profile_run(int count, char **words);

extern const char report_help[];
int report_run(int count, char **words);

extern const char top_help[];
int top_run(int count, char **words);

extern const char tune_help[];
int tune_run(int count, char **words);

/*
 * options.c: returns the value of the next option, as getopt_long() does, or '?' after a message on
 * standard error. An option without an argument has a value below the letters. `words` begins
 * with the verb; after the last option, -1 is returned, and words[optind] is the first file.
 */
int next_option(int count, char **words, const struct option *options);
/* options.c: reports on standard error that the verb has no such word; returns EXIT_USAGE. */
int reject_word(const char *verb, const char *word);

/*
 * memory.c: realloc(), which ends the command with a message if there is no memory. grow() makes
 * room for one more element of a list.
 */
_Noreturn void end_without_memory(void);
void *need_memory(void *list, size_t bytes);
void *grow(void *list, int count, int *room, size_t bytes);

/*
 * quiet-pool.c: returns the default pool, or NULL. This command then writes neither a trace nor a
 * profile over the user's, and does not answer `reel top`.
 */
reel_pool *open_quiet_pool(void);

#endif
