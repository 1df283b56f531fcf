/* SPDX-License-Identifier: MIT */
/*
 * Threads pass blocks to each other, and check and free those that they get.
 * Meanwhile the first thread forks, and the children go on allocating. The last
 * child becomes the program that the arguments name.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define PLACES 8
#define ROUNDS 3000
#define FORKS 20

struct message {
	size_t bytes;
	uint64_t name;
};

static _Atomic(struct message *) places[PLACES];
static atomic_uint going = THREADS;

static uint64_t *tail(struct message *m)
{
	return (uint64_t *)(void *)((char *)m + m->bytes - sizeof(uint64_t));
}

static struct message *make(uint64_t name)
{
	size_t bytes = (size_t)8 * (8 + name * 7919 % 40000);
	struct message *m = name % 3 ? malloc(bytes) : calloc(bytes, 1);

	if (!m)
		abort();
	m->bytes = bytes;
	m->name = name;
	*tail(m) = ~name;
	return m;
}

static void check_and_free(struct message *m)
{
	if (!m)
		return;
	if (*tail(m) != ~m->name) {
		fprintf(stderr, "a block was written to by two threads\n");
		_exit(1);
	}
	free(m);
}

static void *work(void *number)
{
	uint64_t name = (uint64_t)(uintptr_t)number * ROUNDS;

	for (int i = 0; i < ROUNDS; i++, name++) {
		/* Both: pairs with itself. Makes the block visible to the thread that takes it. */
		struct message *m = atomic_exchange_explicit(&places[name * 31 % PLACES],
							     make(name), memory_order_acq_rel);

		check_and_free(m);
	}
	/* Relaxed: main only waits. */
	atomic_fetch_sub_explicit(&going, 1, memory_order_relaxed);
	return NULL;
}

static void child(int round, char **command)
{
	struct message *kept[20];

	for (int i = 0; i < 20; i++)
		kept[i] = make((uint64_t)(round * 20 + i));
	for (int i = 0; i < 20; i++)
		check_and_free(kept[i]);
	if (round + 1 == FORKS && *command) {
		execvp(*command, command);
		_exit(1);
	}
	_exit(0);
}

static int fork_once(int round, char **command)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		child(round, command);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int failures = 0;

	(void)argc;
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i))
			return 1;
	for (int round = 0; round < FORKS; round++)
		failures += fork_once(round, argv + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < PLACES; i++)
		check_and_free(atomic_load_explicit(&places[i], memory_order_relaxed));
	return failures || atomic_load_explicit(&going, memory_order_relaxed);
}
