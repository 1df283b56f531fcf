/* SPDX-License-Identifier: MIT */
/*
 * REEL_STATS=live: the bytes of this process in memory and in stores, and how far its runs are, for
 * `reel top`. A thread of the library answers datagrams to a socket in a directory that is the
 * user's alone; it sleeps while nobody asks. An answer is one datagram, to the socket of the
 * reader. It has lines of text, one for the process and one for each object:
 *
 *	process pid=4711 seconds=12.5 rank=0 job=prterun-7 command=./adjoint big.nc
 *	pool number=1 resident_bytes=67108864 ...
 *	run reverses=1 done=700 steps=1000 ...
 *	end
 *
 * An answer that would be too long has "left_out all=1" in place of the lines of all objects.
 * A later version may add names to a line, and kinds of lines. `command` is the rest of its line.
 */
#ifndef REEL_LIB_LIVE_H
#define REEL_LIB_LIVE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/environment.h"

/* A pool or a run, of which an answer has a line. Part of a struct of its owner. */
struct reel_live_object {
	/* Writes the line. The thread that answers calls it, with the list of objects locked. */
	void (*write)(const struct reel_live_object *object, FILE *answer);
	struct reel_live_object *next;
};

extern _Atomic bool reel_live_is_on;

static inline bool reel_is_live(void)
{
	/* Relaxed: the flag switches counting on, and guards no data. */
	return atomic_load_explicit(&reel_live_is_on, memory_order_relaxed);
}

/*
 * Shows the object, if the environment asks for it; otherwise does nothing. The first call reads
 * the environment and starts the thread. Any thread, which holds no lock that a write() takes.
 */
void reel_live_add(struct reel_live_object *object);

/*
 * Shows it no longer. Does nothing if it was not added. Waits for an answer that is being written.
 */
void reel_live_remove(struct reel_live_object *object);

/* For the handlers of fork(): first before it, last after it. */
void reel_live_lock_for_fork(void);
void reel_live_unlock_after_fork(void);
/*
 * In the child of a fork, in place of unlocking: the thread and the objects are the parent's. The
 * next object that the child adds begins anew.
 */
void reel_live_leave(void);

/* An answer has to fit into the buffers of both sockets. The system may allow less. */
#define REEL_LIVE_MAX_ANSWER (1 << 20)

/* Room for the name of the directory. A socket in it has at most 28 characters more. */
#define REEL_LIVE_NAME 80

/*
 * Puts the name of this user's directory, which is in DIR if REEL_STATS is live:DIR, and otherwise
 * in /tmp. Returns 0; -EPERM: this is not a directory of this user's alone; -ENAMETOOLONG; or an
 * error of the system.
 */
static inline int reel_live_directory(char name[REEL_LIVE_NAME], bool creates)
{
	const char *text = reel_environment("REEL_STATS");
	bool has_base = text && !strncmp(text, "live:", 5) && text[5];
	struct stat status;

	if (snprintf(name, REEL_LIVE_NAME, "%s/reel-%lu", has_base ? text + 5 : "/tmp",
		     (unsigned long)geteuid()) >= REEL_LIVE_NAME)
		return -ENAMETOOLONG;
	if (creates && mkdir(name, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(name, &status))
		return -errno;
	return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 077)
		       ? 0
		       : -EPERM;
}

#endif
