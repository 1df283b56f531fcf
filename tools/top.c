/* SPDX-License-Identifier: MIT */
/*
 * The verb `reel top`: the bytes that willing processes of this user have in memory and in stores,
 * and how far their runs are. Each process answers at a socket (lib/trace/live.h). All are asked at
 * once, and twice for the figures that are rates. A socket that nobody has is of a process that was
 * killed, and is removed. Other files in the directory are left alone.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "json.h"
#include "os/bytes.h"
#include "os/clock.h"
#include "trace/live.h"
#include "verb.h"

/* How long the command waits for the next answer, and the time between two looks. */
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
	"per second.  The line of a shared budget has the processes here that share it,\n"
	"what they have of it, and how many were refused memory in the last 200 ms.\n";

/* ---- Processes ---- */

struct figures {
	double in_use, budget, resident, in_store;
	double shared; /* the part of `budget` that the process shares with others */
};

struct process {
	char path[sizeof ((struct sockaddr_un *)NULL)->sun_path]; /* of its socket */
	char *answer; /* as split() makes it; NULL: it has not answered */
	struct figures figures;
};

struct processes {
	struct process *one;
	int count, room;
};

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

	processes->one = grow(processes->one, processes->count, &processes->room, sizeof *process);
	process = &processes->one[processes->count++];
	*process = (struct process){.answer = NULL};
	snprintf(process->path, sizeof process->path, "%s", path);
}

/* ---- The objects of an answer ---- */

/*
 * Returns a copy of an answer as strings, one after the other. A line is an object: its first word,
 * then names and values in turn, then an empty name. An empty word ends all. A command may have any
 * words.
 */
static char *split(char *text, size_t length)
{
	char *answer = need_memory(NULL, 2 * length + 2), *to = answer;

	for (char *line; (line = strsep(&text, "\n")) && *line; *to++ = '\0') {
		to = stpcpy(to, strsep(&line, " ")) + 1;
		while (line) {
			bool is_command = !strncmp(line, "command=", 8);
			char *value = is_command ? line : strsep(&line, " ");
			char *name = strsep(&value, "=");

			if (is_command)
				line = NULL;
			if (!*name)
				continue;
			to = stpcpy(to, name) + 1;
			to = stpcpy(to, value ? value : "") + 1;
		}
	}
	*to = '\0';
	return answer;
}

static const char *after(const char *text)
{
	return text + strlen(text) + 1;
}

/* Returns the next object of this kind; NULL: there is none. */
static const char *next(const char *object, const char *kind)
{
	do {
		const char *name = after(object);

		while (*name)
			name = after(after(name));
		object = name + 1;
	} while (*object && strcmp(object, kind) != 0);
	return *object ? object : NULL;
}

/* The first object of this kind, which is not the object of the process; NULL: there is none. */
static const char *first(const struct process *process, const char *kind)
{
	return process->answer ? next(process->answer, kind) : NULL;
}

/* Returns "" if the object has no such value, or is NULL. */
static const char *value_of(const char *object, const char *name)
{
	for (const char *at = object ? after(object) : ""; *at; at = after(after(at)))
		if (!strcmp(at, name))
			return after(at);
	return "";
}

static double number_of(const char *object, const char *name)
{
	double number = strtod(value_of(object, name), NULL);

	return isfinite(number) ? number : 0;
}

/* The pool with this number; NULL: there is none. */
static const char *find_pool(const struct process *process, double number)
{
	const char *pool = first(process, "pool");

	while (pool && number_of(pool, "number") != number)
		pool = next(pool, "pool");
	return pool;
}

/*
 * Memory of a pool with a parent is counted by the parent, as in use there, and has no budget of
 * its own. The rest of the child is in its store. The child of a fork has no parent's line.
 */
static bool is_counted_by_parent(const struct process *process, const char *pool)
{
	return *value_of(pool, "parent") && find_pool(process, number_of(pool, "parent"));
}

static void add_up(struct process *process)
{
	struct figures *figures = &process->figures;

	for (const char *pool = first(process, "pool"); pool; pool = next(pool, "pool")) {
		figures->in_store += number_of(pool, "in_store_bytes");
		figures->in_use += number_of(pool, "in_use_bytes");
		if (is_counted_by_parent(process, pool)) {
			figures->in_use -= number_of(pool, "resident_bytes");
			continue;
		}
		figures->resident += number_of(pool, "resident_bytes");
		figures->budget += number_of(pool, "hard_budget");
		if (*value_of(pool, "shared_budget"))
			figures->shared += number_of(pool, "hard_budget");
	}
}

/* "PID-TIME", by which a process is known again. */
static const char *name_of(const struct process *process)
{
	return strrchr(process->path, '/') + 1;
}

/* Jobs in turn, their ranks in order, then processes without a job by number. */
static int compare(const void *left, const void *right)
{
	const struct process *a = left, *b = right;
	const char *job = value_of(a->answer, "job"), *other = value_of(b->answer, "job");
	int order = !*job - !*other;

	order = order ? order : strcmp(job, other);
	order = order ? order
		      : atoi(value_of(a->answer, "rank")) - atoi(value_of(b->answer, "rank"));
	return order ? order : atoi(name_of(a)) - atoi(name_of(b));
}

/* ---- Sockets ---- */

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

/* Asks all of them. The names of readers' sockets begin with a dot; living readers ignore it. */
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
		if (is_complete(text, (size_t)length))
			process->answer = split(text, (size_t)length);
		return true;
	}
	return false;
}

/* Many processes answer one after the other, so the wait begins anew with each answer. */
static void receive_all(struct processes *processes, int reader)
{
	struct pollfd input = {.fd = reader, .events = POLLIN};
	char *text = need_memory(NULL, REEL_LIVE_MAX_ANSWER + 1);
	int answers = 0;

	while (answers < processes->count && poll(&input, 1, PATIENCE_MS) > 0)
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
	int error = reel_live_directory(directory, false);
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
static double rise_of(const char *name, const struct process *now, const struct process *before)
{
	double rise = 0;

	for (const char *pool = first(now, "pool"); pool; pool = next(pool, "pool"))
		rise += number_of(pool, name) -
			number_of(find_pool(before, number_of(pool, "number")), name);
	return rise;
}

static void add_rates(struct rates *rates, const struct process *now,
		      const struct processes *before)
{
	for (int i = 0; i < before->count; i++) {
		const struct process *old = &before->one[i];
		/* By the clock of the process: this command may have read the answers later. */
		double seconds = number_of(now->answer, "seconds") -
				 number_of(old->answer, "seconds");

		if (strcmp(name_of(now), name_of(old)) != 0 || !old->answer || seconds <= 0)
			continue;
		rates->written += rise_of("written_bytes", now, old) / seconds;
		rates->read += rise_of("read_bytes", now, old) / seconds;
		rates->waits += 1e-9 * rise_of("stall_ns", now, old) / seconds;
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
	const char *run = first(process, "run"), *left = value_of(run, "seconds_left");
	const char *sweep = number_of(run, "reverses") > 0 ? "reverse" : "forward";
	char done[64] = "-", time[32] = "-";

	if (*value_of(run, "share"))
		snprintf(done, sizeof done, "%.0f%% %s", 100 * number_of(run, "share"), sweep);
	else if (*value_of(run, "steps"))
		snprintf(done, sizeof done, "%.0f/%.0f %s", number_of(run, "done"),
			 number_of(run, "steps"), sweep);
	else if (run)
		snprintf(done, sizeof done, "step %.0f", number_of(run, "done"));
	if (*left) {
		long seconds = (long)(strtod(left, NULL) + 0.5);

		snprintf(time, sizeof time, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60,
			 seconds % 60);
	}
	printf(" %12s %9s", done, time);
}

/* Number of columns that a command has: the rest of a line of a terminal, or all in a file. */
static int columns_of_command(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return INT_MAX;
	return size.ws_col > COMMAND_COLUMN ? size.ws_col - COMMAND_COLUMN : 0;
}

static void put_process(const struct process *process, const struct processes *before)
{
	const char *rank = value_of(process->answer, "rank");
	struct rates rates = {0};

	printf("%8d %4.15s", atoi(name_of(process)), *rank ? rank : "-");
	if (!process->answer) {
		puts(" does not answer: it is stopped, or many ask it");
		return;
	}
	if (first(process, "left_out")) {
		puts(" has too many pools and runs for an answer");
		return;
	}
	add_rates(&rates, process, before);
	put_figures(&process->figures, &rates);
	put_run(process);
	putchar(' ');
	json_print_plain(stdout, value_of(process->answer, "command"), columns_of_command());
	putchar('\n');
}

/* A line for all ranks of the job that begins at `begin`. Returns the number of its ranks. */
static int put_job(const struct processes *now, const struct processes *before, int begin)
{
	const char *job = value_of(now->one[begin].answer, "job");
	struct figures sum = {0};
	struct rates rates = {0};
	int ranks = 0;

	for (int i = begin; *job && i < now->count; i++) {
		const struct figures *figures = &now->one[i].figures;

		if (strcmp(job, value_of(now->one[i].answer, "job")) != 0)
			break;
		ranks++;
		sum.in_use += figures->in_use;
		sum.resident += figures->resident;
		/* Ranks that share a budget have it once. */
		sum.budget += figures->budget - figures->shared;
		sum.shared = fmax(sum.shared, figures->shared);
		sum.in_store += figures->in_store;
		add_rates(&rates, &now->one[i], before);
	}
	if (ranks < 2)
		return 1;
	sum.budget += sum.shared;
	printf("%8s %4d", "ranks", ranks);
	put_figures(&sum, &rates);
	printf(" %12s %9s job ", "", "");
	json_print_plain(stdout, job, 128);
	putchar('\n');
	return ranks;
}

/* A line for the budget that this pool shares, if no pool before it shares the same one. */
static void put_shared(const struct processes *now, const char *sharing)
{
	const char *name = value_of(sharing, "shared_budget");
	int members = 0, waiting = 0;
	double held = 0;

	for (int i = 0; *name && i < now->count; i++)
		for (const char *pool = first(&now->one[i], "pool"); pool;
		     pool = next(pool, "pool")) {
			if (strcmp(value_of(pool, "shared_budget"), name) != 0)
				continue;
			if (!members++ && pool != sharing)
				return;
			held += number_of(pool, "share_bytes");
			waiting += number_of(pool, "share_short_ms") > 0;
		}
	if (!members)
		return;
	printf("%8s %4d %7s", "shared", members, "");
	put_bytes(held);
	put_bytes(number_of(sharing, "hard_budget"));
	printf(" %d wait: ", waiting);
	json_print_plain(stdout, name, 128);
	putchar('\n');
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
	for (int i = 0; i < now->count; i++)
		for (const char *pool = first(&now->one[i], "pool"); pool;
		     pool = next(pool, "pool"))
			put_shared(now, pool);
	if (!now->count)
		puts("No process of yours on this machine runs with REEL_STATS=live.");
}

/* ---- JSON ---- */

/* As the grammar of JSON has them, and finite. */
static bool is_json_number(const char *text)
{
	static regex_t grammar;
	static bool is_ready;

	if (!is_ready)
		is_ready = !regcomp(&grammar, "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?$",
				    REG_EXTENDED | REG_NOSUB);
	return is_ready && !regexec(&grammar, text, 0, NULL, 0) && isfinite(strtod(text, NULL));
}

/* Ranks, jobs and commands are texts, whatever they look like. */
static bool is_text(const char *name)
{
	return !strcmp(name, "rank") || !strcmp(name, "job") || !strcmp(name, "command");
}

static void put_json_members(const char *object)
{
	for (const char *name = after(object); *name; name = after(after(name))) {
		fputs(name == after(object) ? "" : ", ", stdout);
		json_print_string(stdout, name);
		fputs(": ", stdout);
		if (!is_text(name) && is_json_number(after(name)))
			fputs(after(name), stdout);
		else
			json_print_string(stdout, after(name));
	}
}

static void put_json_list(const struct process *process, const char *name, const char *kind)
{
	const char *separator = "{";

	printf(", \"%s\": [", name);
	for (const char *at = first(process, kind); at; at = next(at, kind), separator = ", {") {
		fputs(separator, stdout);
		put_json_members(at);
		putchar('}');
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
	       first(process, "left_out") ? "true" : "false");
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

static int fail(int error)
{
	char directory[REEL_LIVE_NAME];

	reel_live_directory(directory, false);
	fprintf(stderr, "reel top: cannot read '%s': %s\n", directory,
		error == -EPERM ? "it is not a directory of yours alone; remove it, or set "
				  "REEL_STATS=live:DIR"
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
		/*
		 * Rates need two looks; where the first one has found no process, there are none.
		 */
		if (before.count || !once)
			poll(NULL, 0, once ? INTERVAL_MS / 2 : INTERVAL_MS);
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
