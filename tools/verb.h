/* SPDX-License-Identifier: MIT */
#ifndef REEL_TOOLS_VERB_H
#define REEL_TOOLS_VERB_H

enum {
	EXIT_USAGE = 2,
};

/*
 * One verb of the command.  run() gets the words after the verb and returns the
 * exit status; "--help" never reaches it, and it need not look for errors of
 * standard output: the command itself does both.
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

/* Says on standard error that the verb knows no such word; returns EXIT_USAGE. */
int reject_word(const char *verb, const char *word);

#endif
