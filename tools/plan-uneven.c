/* SPDX-License-Identifier: MIT */
/* `reel plan --costs FILE`: reads steps that differ from a file, and plans them. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "verb.h"

/* A line has three times and three numbers of bytes, of which the last may be left out. */
enum { MIN_WORDS = 5, MAX_WORDS = 6, TIMES = 3 };

/* Reads a word of a line by its number: a time, or from TIMES on bytes, which may have a unit. */
static bool read_word(double *value, const char *word, int number)
{
	return plan_read_size(value, word) &&
	       (number >= TIMES ? *value < 0x1p50 : strspn(word, "0123456789.e+-") == strlen(word));
}

/* Reads the step of a line, which is changed. */
static bool read_step(struct reel_uneven_step *step, char *line)
{
	double value[MAX_WORDS] = {0};
	char *rest = line, *word;
	int words = 0;

	for (; (word = strtok_r(rest, " \t\n", &rest)); words++)
		if (words == MAX_WORDS || !read_word(&value[words], word, words))
			return false;
	*step = (struct reel_uneven_step){
		.advance = value[0],
		.record = value[1],
		.reverse = value[2],
		.state_bytes = (uint64_t)value[3],
		.tape_bytes = (uint64_t)value[4],
		.work_bytes = (uint64_t)value[5],
	};
	return words >= MIN_WORDS;
}

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\n")] == '\0' || *line == '#';
}

/* Returns the number of the first wrong line, 0: none, or a negative error number. */
static long read_steps(FILE *file, struct reel_uneven_step *step, size_t *steps)
{
	char *line = NULL;
	size_t room = 0;
	long number = 0, wrong = 0;

	while (!wrong && getline(&line, &room, file) > 0) {
		number++;
		if (is_blank(line))
			continue;
		if (*steps == REEL_MAX_UNEVEN_STEPS || !read_step(&step[(*steps)++], line))
			wrong = number;
	}
	free(line);
	return ferror(file) ? -EIO : wrong;
}

static int refuse_line(const char *path, long number)
{
	char what[300];

	snprintf(what, sizeof what, "%.200s, line %ld", path, number);
	return plan_refuse(what,
			   ": the times of a step (advance record reverse), and bytes (state tape "
			   "[work]), of at most 512 steps");
}

static int plan_steps(const struct request *request, const struct reel_uneven_problem *uneven)
{
	reel_plan *plan;
	int error = reel_plan_open_uneven(&plan, uneven), status;

	if (error == -EINVAL)
		return plan_refuse(reel_error_text(error), "");
	if (error) {
		fprintf(stderr, "reel plan: %s\n", reel_error_text(error));
		return EXIT_FAILURE;
	}
	status = plan_show(request, plan, (int64_t)uneven->steps);
	reel_plan_close(plan);
	return status;
}

int plan_uneven(const struct request *request)
{
	static struct reel_uneven_step step[REEL_MAX_UNEVEN_STEPS];
	struct reel_uneven_problem uneven = {
		.step = step,
		.memory_bytes = request->costs.memory_bytes ? request->costs.memory_bytes
							    : UINT64_MAX,
		.store_bandwidth = request->costs.tier[0].write_bandwidth,
		.load_bandwidth = request->costs.tier[0].read_bandwidth,
	};
	FILE *file = fopen(request->steps_file, "r");
	long wrong;

	if (!file)
		return plan_status(-errno);
	wrong = read_steps(file, step, &uneven.steps);
	fclose(file);
	if (wrong < 0)
		return plan_status((int)wrong);
	return wrong ? refuse_line(request->steps_file, wrong) : plan_steps(request, &uneven);
}
