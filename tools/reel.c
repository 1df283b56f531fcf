/* SPDX-License-Identifier: MIT */
/*
 * The command `reel`: finds the verb, prints help, and runs the verb. If standard output cannot be
 * written, the exit status tells so, whatever the verb returned.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reel/version.h>

#include "verb.h"

static const struct verb verbs[] = {
	{ "info", "show what this build and this machine offer", info_help, info_run },
	{ "plan", "plan the reversal of a loop that is run again in parts", plan_help, plan_run },
	{ "profile", "show which lines push the bytes of a tape", profile_help, profile_run },
	{ "report", "make a page of what a program did, from its trace", report_help, report_run },
	{ "top", "show the memory and the progress of running programs", top_help, top_run },
	{ "tune", "find the environment with which a command is fastest", tune_help, tune_run },
};

enum {
	VERBS = sizeof(verbs) / sizeof(verbs[0]),
};

static const struct verb *find_verb(const char *name)
{
	for (int i = 0; i < VERBS; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

static int show_help(void)
{
	puts("Usage: reel VERB [OPTION]...\n"
	     "       reel --help | --version | help VERB\n"
	     "\n"
	     "Verbs:");
	for (int i = 0; i < VERBS; i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].summary);
	puts("\n"
	     "'reel VERB --help' describes one verb and its options, which may stand before and\n"
	     "after its files.  -h is --help, and -V is --version.\n"
	     "Exit status: 0 done, 1 failed, 2 called wrongly.");
	return EXIT_SUCCESS;
}

static int show_version(void)
{
	printf("reel %s\n", PACKAGE_VERSION);
	if (strcmp(reel_version(), PACKAGE_VERSION) != 0)
		printf("libreel %s\n", reel_version());
	return EXIT_SUCCESS;
}

static int reject_verb(const char *word)
{
	const char *kind = word[0] == '-' ? "option" : "verb";

	fprintf(stderr, "reel: unknown %s '%s'; see 'reel --help'\n", kind, word);
	return EXIT_USAGE;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool is_version(const char *word)
{
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

/* Words after "--" belong to a command that the verb runs, so that --help there is not for us. */
static int run_verb(int count, char **words)
{
	const struct verb *verb = find_verb(words[0]);

	if (!verb)
		return reject_verb(words[0]);
	for (int i = 1; i < count && strcmp(words[i], "--") != 0; i++) {
		if (is_version(words[i]))
			return show_version();
		if (is_help(words[i])) {
			fputs(verb->help, stdout);
			return EXIT_SUCCESS;
		}
	}
	return verb->run(count, words);
}

static int run_command(int count, char **words)
{
	if (count == 0) {
		fputs("reel: no verb given; 'reel --help' lists the verbs\n", stderr);
		return EXIT_USAGE;
	}
	if (is_help(words[0]))
		return show_help();
	if (strcmp(words[0], "help") == 0)
		return count == 1 ? show_help() : run_verb(2, (char *[]){words[1], "--help"});
	if (is_version(words[0]))
		return show_version();
	return run_verb(count, words);
}

static int close_output(int status)
{
	int lost = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !lost)
		return status;
	fprintf(stderr, "reel: cannot write the output: %s\n",
		errno ? strerror(errno) : "write error");
	return EXIT_FAILURE;
}

int main(int count, char **words)
{
	/* A caller may pass no words, not even the name of the command. */
	int given = count > 0 ? count - 1 : 0;

	return close_output(run_command(given, words + (count > 0)));
}
