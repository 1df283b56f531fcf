/* SPDX-License-Identifier: MIT */
/* Where a block is split and when its left part is swept: rules of integers. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "halving.h"

static const char *const rule_names[REEL_HALVING_RULES] = {
	[REEL_HALVING_POWER] = "power",
	[REEL_HALVING_MIDDLE] = "middle",
	[REEL_HALVING_GOLDEN] = "golden",
};

const char *reel_halving_rule_name(enum reel_halving_rule rule)
{
	return (unsigned)rule < REEL_HALVING_RULES ? rule_names[rule] : "unknown";
}

int reel_halving_rule_by_name(const char *name, enum reel_halving_rule *rule)
{
	for (int r = 0; r < REEL_HALVING_RULES; r++)
		if (strcmp(rule_names[r], name) == 0) {
			*rule = (enum reel_halving_rule)r;
			return 0;
		}
	return -EINVAL;
}

static int64_t or_one(int64_t cost)
{
	return cost ? cost : 1;
}

struct reel_halving reel_halving_filled(const struct reel_halving *halving)
{
	struct reel_halving filled = *halving;

	filled.advance_cost = or_one(halving->advance_cost);
	filled.record_cost = or_one(halving->record_cost);
	filled.reverse_cost = or_one(halving->reverse_cost);
	return filled;
}

/* ---- The recurrence ---- */

/* The most steps with `resources` resources, and with one less. */
struct most {
	int64_t resources;
	int64_t steps;
	int64_t fewer;
};

/* The last for which each resource reverses one step: below 2 + record / reverse. */
static struct most linear(int64_t record, int64_t reverse)
{
	int64_t resources = 1 + (record + reverse - 1) / reverse;

	return (struct most){resources, resources, resources - 1};
}

static void add_resource(struct most *most, int64_t record, int64_t reverse)
{
	int64_t steps = most->steps;

	if (most->fewer > (REEL_MOST_STEPS - steps + record) / reverse)
		most->steps = REEL_MOST_STEPS;
	else
		most->steps += reverse * most->fewer - record + 1;
	most->fewer = steps;
	most->resources++;
}

/* In advances, rounded where the rules need no more than an estimate. */
static int64_t in_advances(int64_t cost, int64_t advance)
{
	return cost < advance ? 1 : (cost + advance / 2) / advance;
}

int64_t reel_halving_most_steps(const struct reel_halving *halving, int64_t resources)
{
	struct reel_halving of = reel_halving_filled(halving);
	int64_t record = of.record_cost / of.advance_cost;
	int64_t reverse = of.reverse_cost / of.advance_cost;
	struct most most;

	if (resources < 0 || of.record_cost % of.advance_cost || of.reverse_cost % of.advance_cost)
		return -EINVAL;
	most = linear(record, reverse);
	if (resources <= most.resources)
		return resources;
	while (most.resources < resources && most.steps < REEL_MOST_STEPS)
		add_resource(&most, record, reverse);
	return most.steps;
}

/* ---- The split ---- */

static int64_t largest_power_below(int64_t steps)
{
	return (int64_t)1 << (63 - __builtin_clzll((uint64_t)steps - 1));
}

/* As many as one resource less can reverse. */
static int64_t golden_left(const struct reel_halving *halving, int64_t steps)
{
	struct reel_halving of = reel_halving_filled(halving);
	int64_t record = in_advances(of.record_cost, of.advance_cost);
	int64_t reverse = in_advances(of.reverse_cost, of.advance_cost);
	struct most most = linear(record, reverse);

	if (steps <= most.steps)
		return steps - 1;
	while (most.steps < steps && most.steps < REEL_MOST_STEPS)
		add_resource(&most, record, reverse);
	return most.fewer;
}

int64_t reel_halving_split(const struct reel_halving *halving, int64_t first, int64_t last)
{
	int64_t steps = last - first;

	if (steps < 2)
		return first;
	switch (halving->rule) {
	case REEL_HALVING_MIDDLE:
		return first + steps / 2;
	case REEL_HALVING_GOLDEN:
		return first + golden_left(halving, steps);
	default:
		return last - largest_power_below(steps);
	}
}

int64_t reel_halving_start(const struct reel_halving *halving, int64_t first, int64_t middle)
{
	struct reel_halving of = reel_halving_filled(halving);
	int64_t advances = middle - 1 - first;
	/* Of as many advances as there are units in a reversal: products stay below 2^61. */
	int64_t whole = advances / of.reverse_cost;
	int64_t rest = advances % of.reverse_cost * of.advance_cost + of.record_cost;

	if (whole > INT64_MAX / 4 / of.advance_cost)
		return INT64_MAX;
	return middle + whole * of.advance_cost + (rest + of.reverse_cost - 1) / of.reverse_cost;
}
