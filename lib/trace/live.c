/* SPDX-License-Identifier: MIT */
/*
 * The thread that answers `reel top`. A lock guards the list of objects, and its beginning and end.
 * The thread has the lock while it writes an answer, and none while it sends it.
 */
#include "config.h"

#include "live.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/environment.h"
#include "os/numerals.h"
#include "os/os-file.h"
#include "os/os-thread.h"

/* Connections that wait for an answer. More are refused. */
#define BACKLOG 16
/* How often the thread looks whether the process ends, where the system does not wake it then. */
#define LOOK_MS 1000
/* Number of bytes of the command's words that are shown. */
#define COMMAND 200

_Atomic bool reel_live_is_on;

static struct {
	pthread_mutex_t lock;
	bool is_asked; /* the environment was read */
	struct reel_live_object *objects;
	uint64_t began;
	int socket;
	struct reel_os_file_identity identity;
	struct sockaddr_un name;
	pthread_t thread;
	_Atomic bool ends;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Answers ---- */

/* The first of these variables that is set, or NULL. */
static const char *first_set(const char *const names[])
{
	while (*names && !reel_environment(*names))
		names++;
	return *names ? reel_environment(*names) : NULL;
}

/* A word must not end the line, nor seem to be two. */
static void write_word(FILE *answer, const char *name, const char *word)
{
	fprintf(answer, " %s=", name);
	for (; *word; word++)
		fputc(*word > ' ' && *word < 127 ? *word : '_', answer);
}

/* Which rank of which job the process is, as the launchers of MPI say. */
static void write_rank(FILE *answer)
{
	static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					    "SLURM_PROCID", NULL};
	static const char *const jobs[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID", NULL};
	const char *rank = first_set(ranks), *job = first_set(jobs);
	char parent[32];

	if (!rank)
		return;
	/* Without a name of the job, the launcher that has started its ranks stands for it. */
	snprintf(parent, sizeof parent, "launcher-%ld", (long)getppid());
	write_word(answer, "rank", rank);
	write_word(answer, "job", job ? job : parent);
}

static void write_command(FILE *answer)
{
	char words[COMMAND];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t length = file ? fread(words, 1, sizeof words, file) : 0;

	if (file)
		fclose(file);
	/* The words end with zeros. */
	while (length > 0 && !words[length - 1])
		length--;
	fputs(" command=", answer);
	for (size_t i = 0; i < length; i++)
		fputc((unsigned char)words[i] < ' ' || words[i] == 127 ? ' ' : words[i], answer);
	fputc('\n', answer);
}

static void write_answer(FILE *answer)
{
	REEL_POINT_NUMERALS;

	fprintf(answer, "process pid=%ld seconds=%.3f", (long)getpid(),
		1e-9 * (double)(reel_clock_ns() - live.began));
	write_rank(answer);
	write_command(answer);
	pthread_mutex_lock(&live.lock);
	for (const struct reel_live_object *object = live.objects; object; object = object->next)
		object->write(object, answer);
	pthread_mutex_unlock(&live.lock);
	fputs("end\n", answer);
}

/* A reader that does not read is given up after a second. */
static void send_all(int connection, const char *text, size_t length)
{
	const struct timeval second = {.tv_sec = 1};

	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
	while (length > 0) {
		ssize_t sent = send(connection, text, length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return;
		text += sent;
		length -= (size_t)sent;
	}
}

static void answer(int connection)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return;
	write_answer(stream);
	if (!fclose(stream))
		send_all(connection, text, length);
	free(text);
}

/* ---- The thread ---- */

static bool goes_on(void)
{
	/* Relaxed: the flag guards no data. A program may have closed a descriptor of the library's. */
	return !atomic_load_explicit(&live.ends, memory_order_relaxed) &&
	       reel_os_file_is(live.socket, &live.identity);
}

static void *run(void *unused)
{
	struct pollfd socket = {.fd = live.socket, .events = POLLIN};

	while (goes_on()) {
		int connection;

		if (poll(&socket, 1, LOOK_MS) <= 0 || !goes_on())
			continue;
		connection = accept(live.socket, NULL, NULL);
		if (connection < 0)
			continue;
		(void)fcntl(connection, F_SETFD, FD_CLOEXEC);
		answer(connection);
		close(connection);
	}
	return unused;
}

/* ---- Beginning and end ---- */

/* Names it by the process, and by the time: an ended process of this number may have left its own. */
static int name_socket(void)
{
	char directory[REEL_LIVE_NAME];
	int error = reel_live_directory(directory, true);

	live.name.sun_family = AF_UNIX;
	snprintf(live.name.sun_path, sizeof live.name.sun_path, "%s/%ld-%llx", directory,
		 (long)getpid(), (unsigned long long)live.began);
	return error;
}

static int listen_at_name(void)
{
	if (bind(live.socket, (const struct sockaddr *)&live.name, sizeof live.name))
		return -errno;
	if (!listen(live.socket, BACKLOG) &&
	    !reel_os_file_identify(live.socket, &live.identity))
		return 0;
	unlink(live.name.sun_path);
	return -EIO;
}

static int open_socket(void)
{
	int error = name_socket();

	if (error)
		return error;
	live.socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (live.socket < 0)
		return -errno;
	live.socket = reel_os_file_raise(live.socket);
	if (live.socket < 0)
		return live.socket;
	error = listen_at_name();
	if (error)
		close(live.socket);
	return error;
}

static void close_socket(void)
{
	reel_os_file_close_if(live.socket, &live.identity);
}

static int start(void)
{
	int error = open_socket();

	if (error)
		return error;
	error = reel_os_thread_start(&live.thread, run, NULL, "reel-live");
	if (error) {
		unlink(live.name.sun_path);
		close_socket();
	}
	return error;
}

/* Requires the lock. */
static void begin(void)
{
	const char *text = reel_environment("REEL_STATS");
	int error;

	live.is_asked = true;
	if (!text || strcmp(text, "live"))
		return;
	live.began = reel_clock_ns();
	error = start();
	if (error == -EPERM)
		reel_environment_refuse("REEL_STATS", text,
					"/tmp/reel-UID must be a directory of this user's alone");
	else if (error)
		reel_environment_refuse("REEL_STATS", text, strerror(-error));
	/* Relaxed: the flag says what to count, and guards no data. */
	atomic_store_explicit(&reel_live_is_on, !error, memory_order_relaxed);
}

void reel_live_add(struct reel_live_object *object)
{
	REEL_UNCANCELLED;

	REEL_ASSERT(object->write);
	pthread_mutex_lock(&live.lock);
	if (!live.is_asked)
		begin();
	if (reel_is_live()) {
		object->next = live.objects;
		live.objects = object;
	}
	pthread_mutex_unlock(&live.lock);
}

void reel_live_remove(struct reel_live_object *object)
{
	REEL_UNCANCELLED;
	struct reel_live_object **link = &live.objects;

	pthread_mutex_lock(&live.lock);
	while (*link && *link != object)
		link = &(*link)->next;
	if (*link)
		*link = object->next;
	pthread_mutex_unlock(&live.lock);
}

void reel_live_lock_for_fork(void)
{
	pthread_mutex_lock(&live.lock);
}

void reel_live_unlock_after_fork(void)
{
	pthread_mutex_unlock(&live.lock);
}

void reel_live_leave(void)
{
	if (reel_is_live())
		close_socket();
	atomic_store_explicit(&reel_live_is_on, false, memory_order_relaxed);
	live.objects = NULL;
	live.is_asked = false;
	pthread_mutex_unlock(&live.lock);
}

/* The thread is joined, so that a plug-in that is unloaded leaves no thread in its code. */
__attribute__((destructor)) static void end_live(void)
{
	if (!reel_is_live())
		return;
	unlink(live.name.sun_path);
	atomic_store_explicit(&live.ends, true, memory_order_relaxed);
	/* Wakes the thread, where the system does so. */
	if (reel_os_file_is(live.socket, &live.identity))
		shutdown(live.socket, SHUT_RDWR);
	pthread_join(live.thread, NULL);
	close_socket();
}
