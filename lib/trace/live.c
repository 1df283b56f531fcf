/* SPDX-License-Identifier: MIT */
/*
 * The thread that answers `reel top`. A lock guards the list of objects, and its beginning and end.
 * The thread holds the lock while it writes an answer, and no lock while it sends it. It opens no
 * files and reads no environment, which the program may change at the same time.
 */
#include "config.h"

#include "live.h"

#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "os/assert.h"
#include "os/cancel.h"
#include "os/clock.h"
#include "os/numerals.h"
#include "os/os-file.h"
#include "os/os-thread.h"

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
	pid_t process; /* that opened the socket; the child of a fork differs */
	char *description; /* its rank and its command, as answers have them */
	int socket;
	struct reel_os_file_identity identity;
	struct sockaddr_un name;
	pthread_t thread;
	_Atomic bool ends;
} live = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The description of the process ---- */

/* A word must not end the line, nor seem to be two. */
static void write_word(FILE *to, const char *name, const char *word)
{
	fprintf(to, " %s=", name);
	for (; *word; word++)
		fputc(*word > ' ' && *word < 127 ? *word : '_', to);
}

/*
 * Which rank of which job the process is, as the launchers of MPI say. A job of Slurm may have many
 * steps, and programs that are no ranks. Without a name of the job, the launcher stands for it.
 */
static void write_rank(FILE *to)
{
	static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					    "SLURM_PROCID"};
	const char *name = reel_environment("PMIX_NAMESPACE"), *rank = NULL;
	const char *job = reel_environment("SLURM_JOB_ID");
	const char *step = reel_environment("SLURM_STEP_ID");
	char text[64];

	for (size_t i = 0; i < sizeof ranks / sizeof *ranks && !rank; i++)
		if (strcmp(ranks[i], "SLURM_PROCID") != 0 || step)
			rank = reel_environment(ranks[i]);
	if (!rank)
		return;
	if (job && step)
		snprintf(text, sizeof text, "%s.%s", job, step);
	else
		snprintf(text, sizeof text, "launcher-%ld", (long)getppid());
	write_word(to, "rank", rank);
	write_word(to, "job", name ? name : text);
}

static void write_command(FILE *to)
{
	char words[COMMAND];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t length = file ? fread(words, 1, sizeof words, file) : 0;

	if (file)
		fclose(file);
	/* The words end with zeros. */
	while (length > 0 && !words[length - 1])
		length--;
	fputs(" command=", to);
	for (size_t i = 0; i < length; i++)
		fputc((unsigned char)words[i] < ' ' ? ' ' : words[i], to);
}

static int describe_process(void)
{
	size_t length;
	FILE *stream;

	REEL_ASSERT(!live.description);
	stream = open_memstream(&live.description, &length);
	if (!stream)
		return -ENOMEM;
	write_rank(stream);
	write_command(stream);
	return fclose(stream) ? -ENOMEM : 0;
}

/* ---- Answers ---- */

static void write_answer(FILE *answer)
{
	REEL_POINT_NUMERALS;

	fprintf(answer, "process pid=%ld seconds=%.6f%s\n", (long)live.process,
		1e-9 * (double)(reel_clock_ns() - live.began), live.description);
	pthread_mutex_lock(&live.lock);
	for (const struct reel_live_object *object = live.objects; object; object = object->next)
		object->write(object, answer);
	pthread_mutex_unlock(&live.lock);
	fputs("end\n", answer);
}

/*
 * A reader that does not read is given up when the time of the socket is over. If the answer is
 * longer than a datagram or the buffer of the reader, only its first line is sent.
 */
static void answer_to(const struct sockaddr *reader, socklen_t reader_length)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		return;
	write_answer(stream);
	if (!fclose(stream) &&
	    (length > REEL_LIVE_MAX_ANSWER ||
	     (sendto(live.socket, text, length, MSG_NOSIGNAL, reader, reader_length) < 0 &&
	      errno == EMSGSIZE))) {
		char *rest = strchr(text, '\n') + 1;

		snprintf(rest, length + 1 - (size_t)(rest - text), "left_out all=1\nend\n");
		sendto(live.socket, text, strlen(text), MSG_NOSIGNAL, reader, reader_length);
	}
	free(text);
}

/* ---- The thread ---- */

static bool goes_on(void)
{
	/* Relaxed: the flag guards no data. A program may close a descriptor of the library's. */
	return !atomic_load_explicit(&live.ends, memory_order_relaxed) &&
	       reel_os_file_is(live.socket, &live.identity);
}

static void *run(void *unused)
{
	struct pollfd input = {.fd = live.socket, .events = POLLIN};

	while (goes_on()) {
		struct sockaddr_un reader;
		socklen_t length = sizeof reader;
		char question;

		if (poll(&input, 1, LOOK_MS) <= 0 || !goes_on())
			continue;
		/* A reader whose socket has no name cannot be answered. */
		if (recvfrom(live.socket, &question, 1, MSG_DONTWAIT, (struct sockaddr *)&reader,
			     &length) >= 0 &&
		    length > offsetof(struct sockaddr_un, sun_path))
			answer_to((const struct sockaddr *)&reader, length);
	}
	return unused;
}

/* ---- Beginning and end ---- */

/* Named by the process, and by the time: an ended process of this number may have left one. */
static int name_socket(void)
{
	char directory[REEL_LIVE_NAME];
	int error = reel_live_directory(directory, true);

	live.name.sun_family = AF_UNIX;
	snprintf(live.name.sun_path, sizeof live.name.sun_path, "%s/%ld-%llx", directory,
		 (long)live.process, (unsigned long long)live.began);
	return error;
}

static int open_socket(void)
{
	const struct timeval second = {.tv_sec = 1};
	const int bytes = REEL_LIVE_MAX_ANSWER;
	int error = name_socket();

	if (error)
		return error;
	live.socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	live.socket = live.socket < 0 ? -errno : reel_os_file_raise(live.socket);
	if (live.socket < 0)
		return live.socket;
	setsockopt(live.socket, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
	setsockopt(live.socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
	error = reel_os_file_identify(live.socket, &live.identity);
	if (!error && bind(live.socket, (const struct sockaddr *)&live.name, sizeof live.name))
		error = -errno;
	return error;
}

static void close_socket(void)
{
	reel_os_file_close_if(live.socket, &live.identity);
	free(live.description);
	live.description = NULL;
}

static int start(void)
{
	int error = describe_process();

	live.began = reel_clock_ns();
	live.process = getpid();
	live.socket = -1;
	if (!error)
		error = open_socket();
	if (!error) {
		error = reel_os_thread_start(&live.thread, run, NULL, "reel-live");
		if (error)
			unlink(live.name.sun_path);
	}
	if (error)
		close_socket();
	return error;
}

/* Requires the lock. */
static void begin(void)
{
	const char *text = reel_environment("REEL_STATS");
	int error;

	REEL_ASSERT(!live.is_asked && !live.objects);
	live.is_asked = true;
	/* 1 is for libreel-adstack. */
	if (!text || !strcmp(text, "0") || !strcmp(text, "1"))
		return;
	if (strcmp(text, "live") && strncmp(text, "live:", 5)) {
		reel_environment_refuse("REEL_STATS", text, "it must be 0, 1, live or live:DIR");
		return;
	}
	error = start();
	if (error)
		reel_environment_refuse("REEL_STATS", text,
					error == -EPERM
						? "reel-UID in /tmp, or in DIR of live:DIR, "
						  "must be a directory of this user's alone"
						: strerror(-error));
	/* Relaxed: the flag switches counting on, and guards no data. */
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

/*
 * The thread is joined, so that a plug-in that is unloaded leaves no thread in its code. A child
 * that was made without the handlers of fork() leaves all to its parent.
 */
__attribute__((destructor)) static void end_live(void)
{
	if (!reel_is_live() || getpid() != live.process)
		return;
	unlink(live.name.sun_path);
	atomic_store_explicit(&live.ends, true, memory_order_relaxed);
	/* Wakes the thread, where the system does so. */
	if (reel_os_file_is(live.socket, &live.identity))
		shutdown(live.socket, SHUT_RDWR);
	pthread_join(live.thread, NULL);
	close_socket();
}
