/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel info`: collects the facts of all subjects and prints them as text or as JSON. The
 * command has one thread.
 */
#include "config.h"

#include <stdlib.h>

#include "info.h"
#include "verb.h"

const char info_help[] =
	"Usage: reel info [--json]\n"
	"\n"
	"Shows how this Reel was built, the features of this machine, and the settings of\n"
	"the environment: one 'name: value' a line.  A size in the text is followed by\n"
	"its rounded form.  A fact that cannot be found out is 'unknown'.\n"
	"\n"
	"  --json  the same facts as one JSON object; an unknown fact is null\n"
	"  --help  this text\n";

static void add_all_facts(struct facts *facts)
{
	add_feature_facts(facts);
	add_machine_facts(facts);
	add_gpu_facts(facts);
	add_environment_facts(facts);
}

int info_run(int count, char **words)
{
	struct facts facts = { 0 };
	int json = false, option;
	const struct option options[] = {{"json", no_argument, &json, true}, {0}};

	while ((option = next_option(count, words, options)) != -1)
		if (option == '?')
			return EXIT_USAGE;
	if (optind < count)
		return reject_word("info", words[optind]);
	add_all_facts(&facts);
	facts_print(&facts, json, stdout);
	facts_release(&facts);
	return EXIT_SUCCESS;
}
