/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "common/report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "plot.h"

struct output {
	const char *path;
	FILE *file;
};

static struct output json, plot;

static bool open_output(struct output *output, const char *path)
{
	output->path = path;
	if (path && !(output->file = fopen(path, "w")))
		fprintf(stderr, "%s: %s: %s\n", bench_program, path, strerror(errno));
	return !path || output->file;
}

static bool close_output(struct output *output)
{
	bool failed = output->file && ferror(output->file);

	failed = (output->file && fclose(output->file)) || failed;
	if (failed)
		fprintf(stderr, "%s: %s: could not be written\n", bench_program, output->path);
	return !failed;
}

bool report_open(const char *json_path, const char *plot_path)
{
	if (!open_output(&json, json_path) || !open_output(&plot, plot_path))
		return false;
	printf("%-24s %-24s %10s %9s %9s %9s %7s %9s\n", "case", "variant", "n", "median", "lower",
	       "upper", "ratio", "faults");
	return true;
}

static void write_json(const struct bench_case *one, size_t v, size_t n, const char *unit,
		       const struct measure_result *r, double ratio)
{
	fprintf(json.file,
		"{\"case\": \"%s\", \"variant\": \"%s\", \"n\": %zu, \"unit\": \"%s\", "
		"\"median\": %.4f, \"lower\": %.4f, \"upper\": %.4f, \"max\": %.4f, "
		"\"ratio\": %.4f, \"ratio_to\": \"%s\", \"faults\": %.1f}\n",
		one->name, one->variants[v].name, n, unit, r->median, r->lower, r->upper, r->most,
		ratio, one->variants[one->base].name, r->faults);
}

void bench_report(const struct bench_case *one, size_t n, const char *unit,
		  const struct measure_result *results)
{
	for (size_t v = 0; v < one->count; v++) {
		const struct measure_result *r = &results[v];
		double ratio = r->median / results[one->base].median;
		int digits = r->median < 100000 ? 3 : 0;

		printf("%-24s %-24s %10zu %9.*f %9.*f %9.*f %7.2f %9.1f\n", one->name,
		       one->variants[v].name, n, digits, r->median, digits, r->lower, digits,
		       r->upper, ratio, r->faults);
		if (json.file)
			write_json(one, v, n, unit, r, ratio);
	}
	fflush(stdout);
	if (plot.file)
		plot_note(one, results);
}

bool report_close(void)
{
	bool is_drawn = !plot.file || plot_write(plot.file);

	if (!is_drawn)
		fprintf(stderr, "%s: --plot: no kernel was measured, see --list\n", bench_program);
	is_drawn = close_output(&plot) && is_drawn;
	return close_output(&json) && is_drawn;
}
