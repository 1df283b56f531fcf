/* SPDX-License-Identifier: MIT */
/* Reads the words of `reel plan` to a request, and reports words that are wrong. */
#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/numerals.h"
#include "plan.h"
#include "verb.h"

enum kind { FLAG, WHOLE, NUMBER, SIZE, RATE, STEP_COSTS, TEXT };

/* A request describes a plan, or the costs by which a plan is chosen. */
enum use { FOR_BOTH, FOR_PLAN, FOR_COSTS };

struct plan_option {
	const char *name;
	enum kind kind;
	enum use use;
	size_t offset;
};

#define AT(member) offsetof(struct request, member)

static const struct plan_option options[] = {
	{"--json", FLAG, FOR_BOTH, AT(json)},
	{"--actions", FLAG, FOR_BOTH, AT(actions)},
	{"--steps", WHOLE, FOR_BOTH, AT(problem.steps)},
	{"--workers", WHOLE, FOR_COSTS, AT(workers)},
	{"--plot", TEXT, FOR_BOTH, AT(plot)},
	{"--slots", WHOLE, FOR_PLAN, AT(problem.tier[0].slots)},
	{"--disk-slots", WHOLE, FOR_PLAN, AT(problem.tier[1].slots)},
	{"--tape-states", WHOLE, FOR_PLAN, AT(problem.tape_states)},
	{"--period", WHOLE, FOR_PLAN, AT(problem.period)},
	{"--write-cost", NUMBER, FOR_PLAN, AT(problem.tier[1].store_cost)},
	{"--read-cost", NUMBER, FOR_PLAN, AT(problem.tier[1].load_cost)},
	{"--record-cost", NUMBER, FOR_PLAN, AT(problem.record_cost)},
	{"--reverse-cost", NUMBER, FOR_PLAN, AT(problem.reverse_cost)},
	{"--planner", TEXT, FOR_PLAN, AT(plan_text)},
	{"--costs", STEP_COSTS, FOR_COSTS, 0},
	{"--state-bytes", SIZE, FOR_COSTS, AT(costs.state_bytes)},
	{"--tape-bytes", SIZE, FOR_COSTS, AT(costs.tape_bytes)},
	{"--memory", SIZE, FOR_COSTS, AT(costs.memory_bytes)},
	{"--disk", SIZE, FOR_COSTS, AT(costs.tier[0].bytes)},
	{"--write-bandwidth", RATE, FOR_COSTS, AT(costs.tier[0].write_bandwidth)},
	{"--read-bandwidth", RATE, FOR_COSTS, AT(costs.tier[0].read_bandwidth)},
	{"--latency", NUMBER, FOR_COSTS, AT(costs.tier[0].latency)},
};

enum { OPTIONS = sizeof options / sizeof *options };

/* Values that each kind of option takes. A flag and a text take any. */
static const char *const takes[] = {
	[WHOLE] = " takes a whole number, 0 or more",
	[NUMBER] = " takes a number, 0 or more",
	[SIZE] = " takes bytes: 4096, 64K, 1.5G",
	[RATE] = " takes bytes a second: 100M, 1.5G",
	[STEP_COSTS] = " takes seconds: advance=0.1,record=0.3,reverse=0.2,copy=0.01,touch=1e-10; "
		       "or a file with a line for each step",
};

int plan_refuse(const char *what, const char *why)
{
	fprintf(stderr, "reel plan: %s%s; 'reel plan --help' describes the options\n", what, why);
	return EXIT_USAGE;
}

/* ---- Values ---- */

static bool read_number(double *number, const char *text, char **end)
{
	*number = reel_parse_number(text, end);
	return *end != text && *number >= 0 && *number < 1e300;
}

/* Also in the form 1e6, below 2^53: a double has all whole numbers up to there. */
static bool read_whole(int64_t *number, const char *text)
{
	double value;
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	if (errno || end == text || *number < 0)
		return false;
	if (!*end)
		return true;
	if (!read_number(&value, text, &end) || *end || value >= 0x1p53)
		return false;
	*number = (int64_t)value;
	return (double)*number == value;
}

/* Reads a number of bytes such as 1.5G. */
bool plan_read_size(double *bytes, const char *text)
{
	static const char units[] = "KMGTP";
	char *end;
	const char *unit;

	if (!read_number(bytes, text, &end))
		return false;
	if (!*end)
		return true;
	unit = strchr(units, *end);
	for (; unit && unit >= units; unit--)
		*bytes *= 1024;
	return strchr(units, *end) && !end[1];
}

/* Reads a size that an int64_t can hold. */
static bool read_bytes(uint64_t *bytes, const char *text)
{
	double size;

	if (!plan_read_size(&size, text) || size >= 0x1p63)
		return false;
	*bytes = (uint64_t)size;
	return true;
}

/* Returns the cost that the text "record=0.3,..." begins with, or NULL. */
static double *cost_named(struct request *request, const char *text, size_t length)
{
	static const char *const names[] = {"advance", "record", "reverse", "copy", "touch"};
	double *const members[] = {
		&request->costs.advance_seconds, &request->costs.record_seconds,
		&request->costs.reverse_seconds, &request->costs.copy_seconds,
		&request->costs.touch_seconds};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
			return members[i];
	return NULL;
}

static bool read_step_costs(struct request *request, const char *text)
{
	if (!strchr(text, '=') && access(text, R_OK) == 0) {
		request->steps_file = text;
		return true;
	}
	for (;;) {
		size_t length = strcspn(text, "=");
		double *cost = cost_named(request, text, length);
		char *end;

		if (!cost || !text[length] || !read_number(cost, text + length + 1, &end) ||
		    (*end && *end != ','))
			return false;
		if (!*end)
			return true;
		text = end + 1;
	}
}

static bool read_value(void *member, enum kind kind, const char *text)
{
	char *end;

	switch (kind) {
	case FLAG:
		*(bool *)member = true;
		break;
	case WHOLE:
		return read_whole(member, text);
	case NUMBER:
		return read_number(member, text, &end) && !*end;
	case SIZE:
		return read_bytes(member, text);
	case RATE:
		return plan_read_size(member, text);
	case STEP_COSTS:
		return read_step_costs(member, text);
	case TEXT:
		*(const char **)member = text;
		break;
	}
	return true;
}

/* ---- All options ---- */

static void note_option(struct request *request, const struct plan_option *option)
{
	if (option->use == FOR_PLAN && !request->plan_option)
		request->plan_option = option->name;
	if (option->use == FOR_COSTS && !request->cost_option)
		request->cost_option = option->name;
	if (option->offset == AT(problem.steps) && option->kind == WHOLE)
		request->has_steps = true;
	if (option->offset == AT(problem.tier[0].slots) && !request->problem.tiers)
		request->problem.tiers = 1;
	if (option->offset == AT(problem.tier[1].slots))
		request->problem.tiers = 2;
	if (option->offset >= AT(costs.tier[0]) && option->offset < AT(workers))
		request->costs.tiers = 1;
}

static int check_request(struct request *request)
{
	if (request->steps_file && request->has_steps)
		return plan_refuse("--steps", " cannot be given with a file of steps");
	if (!request->has_steps && !request->steps_file)
		return plan_refuse("--steps N", " is missing");
	if (request->plan_text && !strcmp(request->plan_text, "auto"))
		request->planner = REEL_AUTO;
	else if (request->cost_option && request->plan_option)
		return plan_refuse(request->plan_option,
				   " cannot be given with costs, which choose it");
	if (request->workers > UINT16_MAX)
		return plan_refuse("--workers", " takes at most 65535");
	/* A plan that learns has nothing to learn here, except for costs that are given. */
	if (!request->plan_text && !request->problem.tiers)
		request->plan_text = reel_planner_name(REEL_BINOMIAL);
	if ((!request->cost_option || request->planner == REEL_AUTO) &&
	    reel_problem_from_text(&request->problem, &request->planner, request->plan_text))
		return plan_refuse(reel_error_text(-EINVAL), "");
	request->costs.steps = request->problem.steps;
	request->costs.workers = (unsigned)request->workers;
	return 0;
}

int plan_read_request(struct request *request, int count, char **words)
{
	struct option names[OPTIONS + 1] = {0};
	int i;

	*request = (struct request){0};
	for (i = 0; i < OPTIONS; i++)
		names[i] =
			(struct option){options[i].name + 2, options[i].kind != FLAG, NULL, i + 1};
	while ((i = next_option(count, words, names)) != -1) {
		const struct plan_option *option;

		if (i == '?')
			return EXIT_USAGE;
		option = &options[i - 1];
		if (!read_value((char *)request + option->offset, option->kind, optarg))
			return plan_refuse(option->name, takes[option->kind]);
		note_option(request, option);
	}
	return optind < count ? reject_word("plan", words[optind]) : check_request(request);
}
