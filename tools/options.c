/* SPDX-License-Identifier: MIT */
/* How all verbs read their options: by getopt_long(), in any order with files. */
#include "config.h"

#include <stdio.h>

#include "verb.h"

int reject_word(const char *verb, const char *word)
{
	const char *kind = word[0] == '-' ? "option" : "argument";

	fprintf(stderr, "reel %s: unknown %s '%s'; 'reel %s --help' lists the options\n",
		verb, kind, word, verb);
	return EXIT_USAGE;
}

int next_option(int count, char **words, const struct option *options)
{
	int code;

	opterr = 0;
	code = getopt_long(count, words, ":", options, NULL);
	/* No verb has options of one letter. In "-xy" getopt_long() stays at this word. */
	if (code == '?' && optopt > ' ')
		reject_word(words[0], (char[]){'-', (char)optopt, '\0'});
	else if (code == '?')
		reject_word(words[0], words[optind - 1]);
	else if (code == ':')
		fprintf(stderr, "reel %s: %s needs a value; 'reel %s --help' says which\n",
			words[0], words[optind - 1], words[0]);
	return code == ':' ? '?' : code;
}
