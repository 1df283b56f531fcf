/* SPDX-License-Identifier: MIT */
/* Tables of reference numbers: comma-separated values, their names in the first line. */
#ifndef TESTS_TABLE_H
#define TESTS_TABLE_H

#include <math.h>

#include "support.h"

#define MAX_COLUMNS 32
#define MAX_LINE 1024

struct table {
	FILE *file;
	char names[MAX_LINE];
	char values[MAX_LINE];
	unsigned rows;
	unsigned wrong;
};

static inline void open_table(struct table *table, const char *name)
{
	char path[4096];

	*table = (struct table){0};
	snprintf(path, sizeof path, "%s/%s.csv", TEST_DATA, name);
	table->file = fopen(path, "r");
	if (!table->file || !fgets(table->names, MAX_LINE, table->file)) {
		printf("Bail out! cannot read %s\n", path);
		exit(EXIT_FAILURE);
	}
}

static inline bool next_row(struct table *table)
{
	if (!fgets(table->values, MAX_LINE, table->file))
		return false;
	table->rows++;
	return true;
}

static inline void close_table(struct table *table, unsigned rows, const char *what)
{
	fclose(table->file);
	is_int(table->rows, rows, "the table has %u rows", rows);
	is_int(table->wrong, 0, "%s", what);
}

/* The n-th field of a line. */
static inline const char *field(const char *line, unsigned n)
{
	while (n-- > 0)
		line = strchr(line, ',') + 1;
	return line;
}

static inline bool is_field(const char *at, const char *name)
{
	size_t length = strcspn(at, ",\r\n");

	return strlen(name) == length && memcmp(at, name, length) == 0;
}

/* The row's value in a column; NaN where it is empty. */
static inline double value(const struct table *table, const char *name)
{
	unsigned n = 0;
	const char *text;
	char *end;
	double number;

	while (!is_field(field(table->names, n), name))
		if (++n == MAX_COLUMNS)
			abort();
	text = field(table->values, n);
	number = strtod(text, &end);
	return end == text ? NAN : number;
}

static inline int64_t whole(const struct table *table, const char *name)
{
	return (int64_t)value(table, name);
}

static inline void judge(struct table *table, bool right)
{
	if (!right && table->wrong++ < 5)
		tap_note("wrong: %.*s", (int)strcspn(table->values, "\r\n"), table->values);
}

#endif
