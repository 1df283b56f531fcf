/* SPDX-License-Identifier: MIT */
/*
 * Reads traces line by line, for tests. Sums are of exact nanoseconds and bytes. A program of a
 * test is the test itself, started with the name of its task.
 */
#ifndef TESTS_TRACE_SUPPORT_H
#define TESTS_TRACE_SUPPORT_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support.h"

struct trace {
	size_t bytes;
	char *text;
	char **event; /* the line of each event */
	int events, wrong_lines;
	bool has_tail;  /* the last event, which no comma follows */
	bool is_list;   /* as readers of JSON take it: "]" is behind the tail, and nothing else */
	bool is_closed; /* by the tail that a process writes at its end */
	bool has_holes; /* bytes that nobody has written */
	long long dropped;
};

/* The number behind "name": in a line, or -1. A fraction of a microsecond becomes nanoseconds. */
static inline long long number_in(const char *line, const char *name)
{
	char key[64], *rest;
	const char *at;
	long long number;

	snprintf(key, sizeof key, "\"%s\":", name);
	at = strstr(line, key);
	if (!at)
		return -1;
	number = strtoll(at + strlen(key), &rest, 10);
	return *rest == '.' ? 1000 * number + strtoll(rest + 1, NULL, 10) : number;
}

static inline bool is_named(const char *line, const char *name)
{
	char begin[80];

	snprintf(begin, sizeof begin, "{\"name\":\"%s\",", name);
	return !strncmp(line, begin, strlen(begin));
}

static inline bool is_whole(const char *line)
{
	size_t length = strlen(line);

	return length > 20 && !strncmp(line, "{\"name\":\"", 9) &&
	       !strcmp(line + length - 3, "}},");
}

static inline void add_line(struct trace *trace, char *line)
{
	if (trace->has_tail) {
		trace->wrong_lines += trace->is_list || strcmp(line, "]") != 0;
		trace->is_list = true;
	} else if (is_named(line, "trace ends") || is_named(line, "process_labels")) {
		trace->has_tail = true;
		trace->is_closed = is_named(line, "trace ends");
		if (trace->is_closed)
			trace->dropped = number_in(line, "events_dropped");
	} else if (!is_whole(line)) {
		trace->wrong_lines++;
		tap_note("wrong line: %s", line);
	} else if (is_named(line, "events dropped")) {
		if (number_in(line, "events") > trace->dropped)
			trace->dropped = number_in(line, "events");
	} else if (!strstr(line, "\"ph\":\"M\"")) {
		trace->event[trace->events++] = line;
	}
}

static inline void close_trace(struct trace *trace)
{
	free(trace->text);
	free(trace->event);
}

static inline struct trace read_trace(const char *path)
{
	struct trace trace = {0};
	int file = open(path, O_RDONLY);
	struct stat status = {0};

	if (file < 0 || fstat(file, &status)) {
		tap_note("there is no %s", path);
		trace.wrong_lines = 1;
		return trace;
	}
	trace.bytes = (size_t)status.st_size;
	trace.text = calloc(1, trace.bytes + 2);
	trace.event = calloc(trace.bytes / 20 + 1, sizeof *trace.event);
	if (!trace.text || !trace.event || read(file, trace.text, trace.bytes) != status.st_size)
		abort();
	close(file);
	trace.has_holes = memchr(trace.text, 0, trace.bytes) != NULL;
	if (*trace.text == '[')
		*trace.text = '\n';
	for (char *line = strtok(trace.text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t length;

		line += strspn(line, " ");
		for (length = strlen(line); length && line[length - 1] == ' ';)
			line[--length] = '\0';
		if (length)
			add_line(&trace, line);
	}
	return trace;
}

static inline int count_events(const struct trace *trace, const char *name)
{
	int count = 0;

	for (int i = 0; i < trace->events; i++)
		count += is_named(trace->event[i], name);
	return count;
}

/* The sum of an argument over all events of this name. */
static inline long long sum_of(const struct trace *trace, const char *name, const char *argument)
{
	long long sum = 0;

	for (int i = 0; i < trace->events; i++)
		if (is_named(trace->event[i], name))
			sum += number_in(trace->event[i], argument);
	return sum;
}

/* Starts this program again with two arguments, with a trace in this file. */
static inline pid_t start_traced(const char *path, const char *what, const char *argument)
{
	pid_t child = fork_with_timeout();

	if (child)
		return child;
	setenv("REEL_TRACE", path, 1);
	execl("/proc/self/exe", "traced", what, argument, (char *)NULL);
	_exit(99);
}

/* Returns its exit status, or -1. */
static inline int run_traced(const char *path, const char *what, const char *argument)
{
	int status = -1;

	waitpid(start_traced(path, what, argument), &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
