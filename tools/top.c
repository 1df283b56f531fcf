/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel top`: what the processes of this user that allow it have in memory and in stores,
 * and how far their runs are. Each process answers at a socket (lib/trace/live.h). All are asked at
 * once, and twice for the figures that are rates. A socket that nobody has is of a process that was
 * killed, and is removed. Other files in the directory are left alone.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "os/bytes.h"
#include "os/clock.h"
#include "os/environment.h"
#include "trace/live.h"
#include "verb.h"

/* How long a process may take to answer, and the time between two looks. */
#define PATIENCE_MS 1000
#define INTERVAL_MS 1000
/* The column in which commands begin. */
#define COMMAND_COLUMN 92

const char top_help[] =
	"Usage: reel top [OPTION]...\n"
	"\n"
	"Shows what your processes on this machine that run with REEL_STATS=live have on\n"
	"tapes, in parcels and in snapshots, in memory and in stores, how fast they write\n"
	"and read, how long they wait for that, and how far their runs are.  Ranks of one\n"
	"job come together, with a line for all of them.\n"
	"\n"
	"  --once        once, not again every second\n"
	"  --json        once, as JSON with all figures\n"
	"  --help        this text\n"
	"\n"
	"TAPES are bytes of tapes, parcels and snapshots of runs, wherever they are: in\n"
	"MEMORY, or in a STORE.  WAITS are of all threads of a process together, in seconds\n"
	"per second.\n";

/* ---- Processes and their answers ---- */

struct figures {
	double in_use, budget, resident, in_store;
};

struct process {
	char path[sizeof ((struct sockaddr_un *)NULL)->sun_path]; /* of its socket */
	char *answer; /* lines; NULL: it has not answered */
	struct figures figures;
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

static void add(struct processes *processes, const char *path)
{
	struct process *process;

	if (processes->count == processes->room) {
		processes->room = processes->room ? 2 * processes->room : 16;
		processes->one = grow(processes->one,
				      (size_t)processes->room * sizeof *processes->one);
	}
	process = &processes->one[processes->count++];
	*process = (struct process){.answer = NULL};
	snprintf(process->path, sizeof process->path, "%s", path);
}

/* Returns whether a socket of a process or of a reader has this name: PID-TIME, in hexadecimal. */
static bool is_name_of_socket(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	size_t time = name[digits] == '-' ? strspn(name + digits + 1, "0123456789abcdef") : 0;

	return digits && time && !name[digits + 1 + time];
}

static bool is_socket(const char *path)
{
	struct stat status;

	return !lstat(path, &status) && S_ISSOCK(status.st_mode);
}

/*
 * Asks the process whose socket this is. One that many ask at the same time, or that is stopped, is
 * shown without figures.
 */
static void ask(struct processes *processes, int reader, const char *path, bool is_reader)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	bool is_there;

	snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
	is_there = sendto(reader, "?", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
			  (const struct sockaddr *)&name, sizeof name) == 1 ||
		   errno == EAGAIN || errno == ENOBUFS;
	if (is_there && !is_reader)
		add(processes, path);
	else if (!is_there && errno == ECONNREFUSED)
		unlink(path);
}

/* Asks all of them. The names of readers' sockets begin with a dot; those who live ignore it. */
static int ask_all(struct processes *processes, int reader, const char *directory)
{
	char path[sizeof ((struct sockaddr_un *)NULL)->sun_path];
	const struct dirent *entry;
	DIR *stream = opendir(directory);

	if (!stream)
		return -errno;
	while ((entry = readdir(stream))) {
		bool is_reader = entry->d_name[0] == '.';

		if (is_name_of_socket(entry->d_name + is_reader) &&
		    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) <
			    (int)sizeof path &&
		    is_socket(path))
			ask(processes, reader, path, is_reader);
	}
	closedir(stream);
	return 0;
}

static bool is_complete(const char *answer, size_t length)
{
	static const char end[] = "\nend\n";
	size_t end_length = sizeof end - 1;

	return length >= end_length && !strncmp(answer, "process ", 8) &&
	       !strcmp(answer + length - end_length, end);
}

/* Returns whether an answer has come that was asked for. */
static bool receive(struct processes *processes, int reader, char *text)
{
	struct sockaddr_un from = {.sun_family = AF_UNIX};
	socklen_t from_length = sizeof from;
	ssize_t length = recvfrom(reader, text, REEL_LIVE_MAX_ANSWER, MSG_DONTWAIT,
				  (struct sockaddr *)&from, &from_length);

	if (length <= 0 || from_length <= offsetof(struct sockaddr_un, sun_path))
		return false;
	text[length] = '\0';
	for (int i = 0; i < processes->count; i++) {
		struct process *process = &processes->one[i];

		if (process->answer || strcmp(process->path, from.sun_path) != 0)
			continue;
		if (is_complete(text, (size_t)length)) {
			process->answer = grow(NULL, (size_t)length + 1);
			memcpy(process->answer, text, (size_t)length + 1);
		}
		return true;
	}
	return false;
}

static void receive_all(struct processes *processes, int reader)
{
	uint64_t now = reel_clock_ns(), until = now + PATIENCE_MS * UINT64_C(1000000);
	struct pollfd input = {.fd = reader, .events = POLLIN};
	char *text = grow(NULL, REEL_LIVE_MAX_ANSWER + 1);

	for (int answers = 0; answers < processes->count && now < until; now = reel_clock_ns())
		if (poll(&input, 1, (int)((until - now) / 1000000) + 1) > 0)
			answers += receive(processes, reader, text);
	free(text);
}

/* The socket at which this command gets answers. Returns it, or -errno. */
static int open_reader(const char *directory, struct sockaddr_un *name)
{
	const int bytes = REEL_LIVE_MAX_ANSWER;
	int reader = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (reader < 0)
		return -errno;
	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(name->sun_path, sizeof name->sun_path, "%s/.%ld-%llx", directory, (long)getpid(),
		 (unsigned long long)reel_clock_ns());
	setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	if (!bind(reader, (const struct sockaddr *)name, sizeof *name))
		return reader;
	close(reader);
	return -errno;
}

/* Returns 0, also if no process has made the directory yet. */
static int find(struct processes *processes)
{
	char directory[REEL_LIVE_NAME];
	int error = reel_live_directory(directory, reel_environment("REEL_STATS_DIR"), false);
	struct sockaddr_un name;
	int reader;

	if (error)
		return error == -ENOENT ? 0 : error;
	reader = open_reader(directory, &name);
	if (reader < 0)
		return reader;
	error = ask_all(processes, reader, directory);
	if (!error)
		receive_all(processes, reader);
	unlink(name.sun_path);
	close(reader);
	return error;
}

/* ---- Lines of an answer ---- */

/*
 * Returns what follows "NAME=" in the line, which ends at `end`; NULL: nothing. A command may have
 * any words.
 */
static const char *value_of(const char *line, const char *end, const char *name)
{
	static const char command[] = " command=";
	size_t length = strlen(name);

	for (const char *at = line; at < end; at++) {
		at += strcspn(at, " \n");
		if (at + 1 + length < end && !strncmp(at + 1, name, length) &&
		    at[1 + length] == '=')
			return at + length + 2;
		if (!strncmp(at, command, sizeof command - 1))
			break;
	}
	return NULL;
}

static double number_of(const char *line, const char *end, const char *name)
{
	const char *value = value_of(line, end, name);
	double number = value ? strtod(value, NULL) : 0;

	return isfinite(number) ? number : 0;
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

/* The first line of such an object; NULL: there is none. */
static const char *first_of(const struct process *process, const char *object)
{
	const char *line = process->answer;

	while (line && *line && !is_of(line, object))
		line = next_line(line);
	return line && *line ? line : NULL;
}

/* The line of the pool with this number; an empty one: there is none. */
static const char *find_pool(const char *answer, double number)
{
	while (*answer && !(is_of(answer, "pool") &&
			    number_of(answer, end_of(answer), "number") == number))
		answer = next_line(answer);
	return answer;
}

/*
 * Memory of a pool with a parent is counted by the parent, as in use there, and has no budget of
 * its own. What the child has beside it is in its store. The child of a fork has no parent's line.
 */
static bool is_counted_by_parent(const char *answer, const char *line, const char *end)
{
	return value_of(line, end, "parent") && *find_pool(answer, number_of(line, end, "parent"));
}

static void add_up(struct process *process)
{
	struct figures *figures = &process->figures;

	for (const char *line = process->answer; line && *line; line = next_line(line)) {
		const char *end = end_of(line);

		if (!is_of(line, "pool"))
			continue;
		figures->in_store += number_of(line, end, "in_store_bytes");
		figures->in_use += number_of(line, end, "in_use_bytes");
		if (is_counted_by_parent(process->answer, line, end)) {
			figures->in_use -= number_of(line, end, "resident_bytes");
			continue;
		}
		figures->resident += number_of(line, end, "resident_bytes");
		figures->budget += number_of(line, end, "hard_budget");
	}
}

/* "PID-TIME", by which a process is known again. */
static const char *name_of(const struct process *process)
{
	return strrchr(process->path, '/') + 1;
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

/* How much the figure of all pools has risen. A pool that was closed meanwhile is not in `now`. */
static double rise_of(const char *name, const char *now, const char *before)
{
	double rise = 0;

	for (; *now; now = next_line(now)) {
		const char *end = end_of(now), *old;

		if (!is_of(now, "pool"))
			continue;
		old = find_pool(before, number_of(now, end, "number"));
		rise += number_of(now, end, name) - number_of(old, end_of(old), name);
	}
	return rise;
}

/* Between two answers, by the clock of the process: this command may have read them later. */
static double seconds_between(const struct process *old, const struct process *now)
{
	if (!old->answer || !now->answer)
		return 0;
	return number_of(now->answer, end_of(now->answer), "seconds") -
	       number_of(old->answer, end_of(old->answer), "seconds");
}

static void add_rates(struct rates *rates, const struct process *now,
		      const struct processes *before)
{
	for (int i = 0; i < before->count; i++) {
		const struct process *old = &before->one[i];
		double seconds = seconds_between(old, now);

		if (strcmp(name_of(now), name_of(old)) != 0 || seconds <= 0)
			continue;
		rates->written += rise_of("written_bytes", now->answer, old->answer) / seconds;
		rates->read += rise_of("read_bytes", now->answer, old->answer) / seconds;
		rates->waits += 1e-9 * rise_of("stall_ns", now->answer, old->answer) / seconds;
	}
}

/* ---- The table ---- */

static void put_bytes(double bytes)
{
	char text[16];

	reel_bytes_text(text, sizeof text, bytes, false);
	printf(" %7s", text);
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
	const char *run = first_of(process, "run"), *end = run ? end_of(run) : NULL, *left;
	const char *sweep = run && number_of(run, end, "reverses") > 0 ? "reverse" : "forward";
	char done[64] = "-", time[32] = "-";

	if (run && value_of(run, end, "share"))
		snprintf(done, sizeof done, "%.0f%% %s", 100 * number_of(run, end, "share"), sweep);
	else if (run && value_of(run, end, "steps"))
		snprintf(done, sizeof done, "%.0f/%.0f %s", number_of(run, end, "done"),
			 number_of(run, end, "steps"), sweep);
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

/* The command is the rest of the first line. */
static void put_command(const struct process *process)
{
	const char *end = end_of(process->answer);
	const char *command = value_of(process->answer, end, "command");
	char text[512];

	snprintf(text, sizeof text, "%.*s", command ? (int)(end - command) : 0,
		 command ? command : "");
	putchar(' ');
	json_print_plain(stdout, text, columns_of_command());
	putchar('\n');
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
	if (first_of(process, "left_out")) {
		puts(" has too many pools and runs for an answer");
		return;
	}
	add_rates(&rates, process, before);
	put_figures(&process->figures, &rates);
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
		const struct figures *figures = &now->one[i].figures;

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
	printf(" %12s %9s job ", "", "");
	json_print_plain(stdout, job, (int)sizeof job);
	putchar('\n');
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

/* Returns what follows the digits, or NULL: there are none. */
static const char *skip_digits(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits ? text + digits : NULL;
}

/* As the grammar of JSON has them, and finite. */
static bool is_json_number(const char *text)
{
	const char *at = text + (*text == '-');

	if (*at == '0' && isdigit((unsigned char)at[1]))
		return false;
	at = skip_digits(at);
	if (at && *at == '.')
		at = skip_digits(at + 1);
	if (at && (*at == 'e' || *at == 'E')) {
		at++;
		at = skip_digits(at + (*at == '+' || *at == '-'));
	}
	return at && !*at && isfinite(strtod(text, NULL));
}

/* Ranks, jobs and commands are texts, whatever they look like. */
static bool is_text(const char *name)
{
	return !strcmp(name, "rank") || !strcmp(name, "job") || !strcmp(name, "command");
}

static void put_json_value(const char *name, const char *value, size_t length)
{
	char text[512];

	snprintf(text, sizeof text, "%.*s", (int)length, value);
	if (!is_text(name) && is_json_number(text))
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
	put_json_value(text, value, value_length);
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
	       "\"waits_per_second\": %.4f, \"left_out\": %s",
	       rates.written, rates.read, rates.waits,
	       first_of(process, "left_out") ? "true" : "false");
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

	reel_live_directory(directory, reel_environment("REEL_STATS_DIR"), false);
	fprintf(stderr, "reel top: cannot read '%s': %s\n", directory,
		error == -EPERM ? "it is not a directory of yours alone; remove it, or set "
				  "REEL_STATS_DIR"
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
	int json = false, once = false, error;
	const struct option options[] = {{"json", no_argument, &json, true},
					 {"once", no_argument, &once, true},
					 {0}};

	while ((error = next_option(count, words, options)) != -1)
		if (error == '?')
			return EXIT_USAGE;
	if (optind < count)
		return reject_word("top", words[optind]);
	once |= json;
	error = look(&before);
	do {
		/* Rates need two looks; where the first one has found no process, there are none. */
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
