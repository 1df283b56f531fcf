/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel top`: what the processes of this user that allow it have in memory and in stores,
 * and how far their runs are. Each process answers at a socket (lib/trace/live.h). All are asked at
 * once, and twice for the figures that are rates. A socket where nobody listens is of a process that
 * was killed, and is removed.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "os/clock.h"
#include "trace/live.h"
#include "verb.h"

/* How long a process may take to answer, and the time between two looks. */
#define PATIENCE_MS 1000
#define INTERVAL_MS 1000
/* The column in which commands begin. */
#define COMMAND_COLUMN 92
/* A process listens as soon as its socket has a name, but not at the same moment. */
#define YOUNG_SECONDS 1

const char top_help[] =
	"Usage: reel top [OPTION]...\n"
	"\n"
	"Shows what your processes on this machine that run with REEL_STATS=live have on\n"
	"tapes, in memory and in stores, how fast they write and read, how long they wait\n"
	"for that, and how far their runs are.  Ranks of one job come together, with a line\n"
	"for all of them.\n"
	"\n"
	"  --once        once, not again every second\n"
	"  --json        once, as JSON with all figures\n"
	"  --help        this text\n"
	"\n"
	"TAPES are bytes of tapes and parcels, wherever they are.  WAITS are of all threads\n"
	"of a process together, in seconds per second.\n";

/* ---- Processes and their answers ---- */

struct figures {
	double in_use, budget, resident, in_store;
};

struct process {
	char socket[300]; /* its file */
	int connection;   /* -1: none */
	char *answer;     /* lines; NULL: it has not answered */
	size_t length, room;
	uint64_t answered_at;
	struct figures now;
};

struct processes {
	struct process *one;
	int count, room;
};

static void *grow(void *list, size_t bytes)
{
	list = realloc(list, bytes);
	if (!list) {
		fputs("reel top: no memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return list;
}

static void forget(struct processes *processes)
{
	for (int i = 0; i < processes->count; i++)
		free(processes->one[i].answer);
	free(processes->one);
	*processes = (struct processes){0};
}

/* Removes the socket of a process that has ended. */
static void clean_up(const char *path)
{
	struct stat status;

	if (!lstat(path, &status) && S_ISSOCK(status.st_mode) &&
	    time(NULL) - status.st_mtime > YOUNG_SECONDS)
		unlink(path);
}

/* Returns a connection, or -errno. */
static int ask(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int connection, error;

	if (strlen(path) >= sizeof name.sun_path)
		return -ENAMETOOLONG;
	strcpy(name.sun_path, path);
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (connection < 0)
		return -errno;
	if (!connect(connection, (const struct sockaddr *)&name, sizeof name))
		return connection;
	error = -errno;
	close(connection);
	return error;
}

static void add(struct processes *processes, const char *path)
{
	int connection = ask(path);
	struct process *process;

	if (connection == -ECONNREFUSED)
		clean_up(path);
	/* A process that many ask now, or that is stopped, is shown without figures. */
	if (connection < 0 && connection != -EAGAIN)
		return;
	if (processes->count == processes->room) {
		processes->room = processes->room ? 2 * processes->room : 16;
		processes->one = grow(processes->one,
				      (size_t)processes->room * sizeof *processes->one);
	}
	process = &processes->one[processes->count++];
	*process = (struct process){.connection = connection};
	snprintf(process->socket, sizeof process->socket, "%s", path);
}

/* Returns 0, also if no process has made the directory yet. */
static int find(struct processes *processes)
{
	char directory[REEL_LIVE_NAME], path[300];
	int error = reel_live_directory(directory, false);
	const struct dirent *entry;
	DIR *stream;

	if (error)
		return error == -ENOENT ? 0 : error;
	stream = opendir(directory);
	if (!stream)
		return -errno;
	while ((entry = readdir(stream)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) <
			    (int)sizeof path)
			add(processes, path);
	closedir(stream);
	return 0;
}

/* Returns whether more may come. */
static bool receive(struct process *process)
{
	ssize_t got;

	if (process->room - process->length < 4096) {
		process->room += 16384;
		process->answer = grow(process->answer, process->room);
	}
	got = recv(process->connection, process->answer + process->length,
		   process->room - process->length - 1, 0);
	if (got > 0)
		process->length += (size_t)got;
	process->answer[process->length] = '\0';
	return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

static bool is_complete(const struct process *process)
{
	static const char end[] = "\nend\n";
	size_t length = sizeof end - 1;

	return process->length >= length && !strncmp(process->answer, "process ", 8) &&
	       !strcmp(process->answer + process->length - length, end);
}

static void finish(struct process *process)
{
	if (process->connection >= 0)
		close(process->connection);
	process->connection = -1;
	process->answered_at = reel_clock_ns();
	if (process->answer && is_complete(process))
		return;
	free(process->answer);
	process->answer = NULL;
}

static void receive_all(struct processes *processes)
{
	uint64_t until = reel_clock_ns() + PATIENCE_MS * UINT64_C(1000000);

	for (int i = 0; i < processes->count; i++) {
		struct process *process = &processes->one[i];
		struct pollfd input = {.fd = process->connection, .events = POLLIN};
		uint64_t now = reel_clock_ns();

		while (process->connection >= 0) {
			int left = now < until ? (int)((until - now) / 1000000) : 0;

			if (poll(&input, 1, left) <= 0 || !receive(process))
				break;
			now = reel_clock_ns();
		}
		finish(process);
	}
}

/* ---- Lines of an answer ---- */

/* Returns what follows "NAME=" in the line, which ends at `end`; NULL: nothing. */
static const char *value_of(const char *line, const char *end, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = line; at < end; at++) {
		at += strcspn(at, " \n");
		if (at + 1 + length < end && !strncmp(at + 1, name, length) && at[1 + length] == '=')
			return at + length + 2;
	}
	return NULL;
}

static double number_of(const char *line, const char *end, const char *name)
{
	const char *value = value_of(line, end, name);

	return value ? strtod(value, NULL) : 0;
}

static const char *end_of(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
	const char *end = end_of(line);

	return *end ? end + 1 : end;
}

static bool is_of(const char *line, const char *object)
{
	size_t length = strlen(object);

	return !strncmp(line, object, length) && line[length] == ' ';
}

/* The first line of a run; NULL: there is none. */
static const char *run_of(const struct process *process)
{
	const char *line = process->answer;

	while (line && *line && !is_of(line, "run"))
		line = next_line(line);
	return line && *line ? line : NULL;
}

/*
 * Memory of a pool with a parent is counted by the parent, as in use there, and has no budget of its
 * own. What the child has beside it is in its store.
 */
static void add_up(struct process *process)
{
	struct figures *now = &process->now;

	for (const char *line = process->answer; line && *line; line = next_line(line)) {
		const char *end = end_of(line);

		if (!is_of(line, "pool"))
			continue;
		now->in_store += number_of(line, end, "in_store_bytes");
		now->in_use += number_of(line, end, "in_use_bytes");
		if (value_of(line, end, "parent")) {
			now->in_use -= number_of(line, end, "resident_bytes");
			continue;
		}
		now->resident += number_of(line, end, "resident_bytes");
		now->budget += number_of(line, end, "hard_budget");
	}
}

/* "PID-TIME", by which a process is known again. */
static const char *name_of(const struct process *process)
{
	return strrchr(process->socket, '/') + 1;
}

static void copy_value(const struct process *process, const char *name, char *text, size_t size)
{
	const char *end = process->answer ? end_of(process->answer) : NULL;
	const char *value = end ? value_of(process->answer, end, name) : NULL;
	size_t length = value ? strcspn(value, " \n") : 0;

	snprintf(text, size, "%.*s", (int)length, value ? value : "");
}

/* Jobs in turn, their ranks in order, then processes without a job by number. */
static int compare(const void *left, const void *right)
{
	const struct process *a = left, *b = right;
	char job[2][128], rank[2][16];
	int order;

	copy_value(a, "job", job[0], sizeof job[0]);
	copy_value(b, "job", job[1], sizeof job[1]);
	order = !job[0][0] - !job[1][0];
	order = order ? order : strcmp(job[0], job[1]);
	copy_value(a, "rank", rank[0], sizeof rank[0]);
	copy_value(b, "rank", rank[1], sizeof rank[1]);
	order = order ? order : atoi(rank[0]) - atoi(rank[1]);
	return order ? order : atoi(name_of(a)) - atoi(name_of(b));
}

static int look(struct processes *processes)
{
	int error = find(processes);

	receive_all(processes);
	for (int i = 0; i < processes->count; i++)
		add_up(&processes->one[i]);
	if (processes->count)
		qsort(processes->one, (size_t)processes->count, sizeof *processes->one, compare);
	return error;
}

/* ---- Rates ---- */

struct rates {
	double written, read, waits; /* bytes, and seconds, per second */
};

/* The line of the pool with the same number as that in `line`; an empty one: there is none. */
static const char *same_pool(const char *line, const char *answer)
{
	double number = number_of(line, end_of(line), "number");

	while (*answer && !(is_of(answer, "pool") &&
			    number_of(answer, end_of(answer), "number") == number))
		answer = next_line(answer);
	return answer;
}

/* How much the figure of all pools has risen. A pool that was closed meanwhile is not in `now`. */
static double rise_of(const char *name, const char *now, const char *before)
{
	double rise = 0;

	for (; *now; now = next_line(now)) {
		const char *old = is_of(now, "pool") ? same_pool(now, before) : NULL;

		if (old)
			rise += number_of(now, end_of(now), name) -
				number_of(old, end_of(old), name);
	}
	return rise;
}

static void add_rates(struct rates *rates, const struct process *now,
		      const struct processes *before)
{
	for (int i = 0; i < before->count; i++) {
		const struct process *old = &before->one[i];
		double seconds = 1e-9 * (double)(now->answered_at - old->answered_at);

		if (strcmp(name_of(now), name_of(old)) || !now->answer || !old->answer ||
		    seconds <= 0)
			continue;
		rates->written += rise_of("written_bytes", now->answer, old->answer) / seconds;
		rates->read += rise_of("read_bytes", now->answer, old->answer) / seconds;
		rates->waits += 1e-9 * rise_of("stall_ns", now->answer, old->answer) / seconds;
	}
}

/* ---- The table ---- */

static void put_bytes(double bytes)
{
	static const char units[] = " KMGTPE";
	unsigned unit = 0;

	while (bytes >= 1023.5 && unit + 2 < sizeof units) {
		bytes /= 1024;
		unit++;
	}
	if (unit)
		printf(bytes < 9.95 ? " %6.1f%c" : " %6.0f%c", bytes, units[unit]);
	else
		printf(" %7.0f", bytes);
}

static void put_figures(const struct figures *figures, const struct rates *rates)
{
	put_bytes(figures->in_use);
	put_bytes(figures->resident);
	if (figures->budget > 0)
		put_bytes(figures->budget);
	else
		printf(" %7s", "-");
	put_bytes(figures->in_store);
	put_bytes(rates->written);
	put_bytes(rates->read);
	printf(" %5.2f", rates->waits);
}

static void put_run(const struct process *process)
{
	const char *run = run_of(process), *end = run ? end_of(run) : NULL, *left;
	char done[32] = "-", time[32] = "-";

	if (run && value_of(run, end, "share"))
		snprintf(done, sizeof done, "%.0f%% %s", 100 * number_of(run, end, "share"),
			 number_of(run, end, "reverses") > 0 ? "reverse" : "forward");
	else if (run)
		snprintf(done, sizeof done, "step %.0f", number_of(run, end, "done"));
	left = run ? value_of(run, end, "seconds_left") : NULL;
	if (left) {
		long seconds = (long)(strtod(left, NULL) + 0.5);

		snprintf(time, sizeof time, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60,
			 seconds % 60);
	}
	printf(" %12s %9s", done, time);
}

/* Number of columns that a command has: as many as the terminal leaves, or all in a file. */
static int columns_of_command(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return INT_MAX;
	return size.ws_col > COMMAND_COLUMN ? size.ws_col - COMMAND_COLUMN : 0;
}

/* The command is the rest of the first line. The answer has no control characters. */
static void put_command(const struct process *process)
{
	const char *end = end_of(process->answer);
	const char *command = value_of(process->answer, end, "command");

	if (command && end - command > columns_of_command())
		end = command + columns_of_command();
	printf(" %.*s\n", command ? (int)(end - command) : 0, command ? command : "");
}

static void put_process(const struct process *process, const struct processes *before)
{
	struct rates rates = {0};
	char rank[16];

	copy_value(process, "rank", rank, sizeof rank);
	printf("%8d %4s", atoi(name_of(process)), rank[0] ? rank : "-");
	if (!process->answer) {
		puts(" does not answer: it is stopped, or many ask it");
		return;
	}
	add_rates(&rates, process, before);
	put_figures(&process->now, &rates);
	put_run(process);
	put_command(process);
}

/* A line for all ranks of the job that begins at `first`. Returns the number of its ranks. */
static int put_job(const struct processes *now, const struct processes *before, int first)
{
	struct figures sum = {0};
	struct rates rates = {0};
	char job[128], other[128];
	int ranks = 0;

	copy_value(&now->one[first], "job", job, sizeof job);
	for (int i = first; job[0] && i < now->count; i++) {
		const struct figures *figures = &now->one[i].now;

		copy_value(&now->one[i], "job", other, sizeof other);
		if (strcmp(job, other))
			break;
		ranks++;
		sum.in_use += figures->in_use;
		sum.resident += figures->resident;
		sum.budget += figures->budget;
		sum.in_store += figures->in_store;
		add_rates(&rates, &now->one[i], before);
	}
	if (ranks < 2)
		return 1;
	printf("%8s %4d", "ranks", ranks);
	put_figures(&sum, &rates);
	printf(" %12s %9s job %s\n", "", "", job);
	return ranks;
}

static void put_table(const struct processes *now, const struct processes *before)
{
	printf("%8s %4s %7s %7s %7s %7s %7s %7s %5s %12s %9s %s\n", "PROCESS", "RANK", "TAPES",
	       "MEMORY", "BUDGET", "STORE", "WRITE/s", "READ/s", "WAITS", "DONE", "LEFT",
	       "COMMAND");
	for (int i = 0, ranks = 0; i < now->count; i++, ranks--) {
		if (!ranks)
			ranks = put_job(now, before, i);
		put_process(&now->one[i], before);
	}
	if (!now->count)
		puts("No process of yours on this machine runs with REEL_STATS=live.");
}

/* ---- JSON ---- */

/* Numbers as they come; what is none becomes a string. */
static void put_json_value(const char *value, size_t length)
{
	char text[256], *end;

	snprintf(text, sizeof text, "%.*s", (int)length, value);
	(void)strtod(text, &end);
	if (end != text && !*end && strspn(text, "-0123456789.e+") == strlen(text))
		fputs(text, stdout);
	else
		json_print_string(stdout, text);
}

static void put_json_member(const char *name, size_t name_length, const char *value,
			    size_t value_length, bool is_first)
{
	char text[64];

	snprintf(text, sizeof text, "%.*s", (int)name_length, name);
	fputs(is_first ? "" : ", ", stdout);
	json_print_string(stdout, text);
	fputs(": ", stdout);
	put_json_value(value, value_length);
}

/* The members of an object, from what follows the first word of its line. */
static void put_json_members(const char *line)
{
	const char *end = end_of(line), *at = line + strcspn(line, " \n");

	for (bool is_first = true; at < end; is_first = false) {
		const char *name = at + 1, *value = memchr(name, '=', (size_t)(end - name));

		if (!value)
			break;
		value++;
		at = value + strcspn(value, " \n");
		if (!strncmp(name, "command=", 8))
			at = end;
		put_json_member(name, (size_t)(value - 1 - name), value, (size_t)(at - value),
				is_first);
	}
}

static void put_json_list(const struct process *process, const char *name, const char *object)
{
	bool is_first = true;

	printf(", \"%s\": [", name);
	for (const char *line = process->answer; *line; line = next_line(line)) {
		if (!is_of(line, object))
			continue;
		fputs(is_first ? "{" : ", {", stdout);
		put_json_members(line);
		putchar('}');
		is_first = false;
	}
	putchar(']');
}

static void put_json_process(const struct process *process, const struct processes *before)
{
	struct rates rates = {0};

	if (!process->answer) {
		printf("{\"pid\": %d, \"answers\": false}", atoi(name_of(process)));
		return;
	}
	add_rates(&rates, process, before);
	putchar('{');
	put_json_members(process->answer);
	printf(", \"answers\": true, \"written_per_second\": %.0f, \"read_per_second\": %.0f, "
	       "\"waits_per_second\": %.4f",
	       rates.written, rates.read, rates.waits);
	put_json_list(process, "pools", "pool");
	put_json_list(process, "runs", "run");
	putchar('}');
}

static void put_json(const struct processes *now, const struct processes *before)
{
	fputs("{\"processes\": [", stdout);
	for (int i = 0; i < now->count; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		put_json_process(&now->one[i], before);
	}
	fputs(now->count ? "\n]}\n" : "]}\n", stdout);
}

/* ---- The verb ---- */

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static int fail(int error)
{
	char directory[REEL_LIVE_NAME];

	reel_live_directory(directory, false);
	fprintf(stderr, "reel top: cannot read '%s': %s\n", directory,
		error == -EPERM ? "it is not a directory of yours alone; remove it"
				: strerror(-error));
	return EXIT_FAILURE;
}

/* Clears the terminal and begins in its first line; a file has one table after the other. */
static void show(const struct processes *now, const struct processes *before, bool json, bool once)
{
	if (json) {
		put_json(now, before);
		return;
	}
	if (!once && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	put_table(now, before);
	fflush(stdout);
}

int top_run(int count, char **words)
{
	struct processes before = {0}, now = {0};
	bool json = false, once = false;
	int error;

	for (int i = 0; i < count; i++) {
		if (!strcmp(words[i], "--json"))
			json = true;
		else if (!strcmp(words[i], "--once"))
			once = true;
		else
			return reject_word("top", words[i]);
	}
	once |= json;
	error = look(&before);
	do {
		/* Nobody has a rate if there is nobody. */
		if (before.count || !once)
			pause_ms(once ? INTERVAL_MS / 2 : INTERVAL_MS);
		error = error ? error : look(&now);
		if (!error)
			show(&now, &before, json, once);
		forget(&before);
		before = now;
		now = (struct processes){0};
	} while (!once && !error && !ferror(stdout));
	forget(&before);
	return error ? fail(error) : EXIT_SUCCESS;
}
