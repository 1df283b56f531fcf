/* SPDX-License-Identifier: MIT */
/* One mistake, or one heavy use, a run: which one is the argument. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <adStack.h>

void pushReal4Array(float *x, int n);
void finalizeDynamicSchedule(void);
void adBinomial_init(int length, int snapshots, int first);
void reel_adstack_set_handler(void (*handler)(int, const char *, void *), void *context);
void reel_adstack_reset(void);
void reel_adstack_segment_enter(void **segment);
void reel_adstack_segment_leave(void **segment);

static double x;

static void push(long n)
{
	for (long i = 0; i < n; i++)
		pushReal8((double)i * 0.5);
}

/* How many are not as they were pushed. */
static long pop(long n)
{
	long wrong = 0;

	while (n-- > 0) {
		popReal8(&x);
		wrong += x != (double)n * 0.5;
	}
	return wrong;
}

static void *pop_in_thread(void *unused)
{
	pop(1);
	return unused;
}

static void in_thread(void)
{
	pthread_t thread;

	push(1);
	pthread_create(&thread, NULL, pop_in_thread, NULL);
	pthread_join(thread, NULL);
}

static void in_level(void)
{
	push(4);
	adStack_startRepeat();
	adStack_startRepeat();
	pop(5);
}

static int in_task;

/* As that of OpenMP 6. */
int omp_in_explicit_task(void);
int omp_in_explicit_task(void)
{
	return in_task;
}

static void task(void)
{
	in_task = 1;
	push(100000);
	pop(100000);
}

static void segment(void)
{
	void *own = NULL;

	in_task = 1;
	reel_adstack_segment_enter(&own);
	push(100000);
	reel_adstack_segment_leave(&own);
	reel_adstack_segment_enter(&own);
	pop(100000);
	reel_adstack_segment_leave(&own);
	exit(own != NULL);
}

static void mismatch(void)
{
	pushInteger8(1);
	popReal8(&x);
}

static jmp_buf place;

static void leave(int error, const char *message, void *context)
{
	(void)context;
	printf("%d %d\n", error < 0, strstr(message, "popReal8") != NULL);
	longjmp(place, 1);
}

static void handled(void)
{
	reel_adstack_set_handler(leave, NULL);
	if (!setjmp(place))
		pop(1);
	reel_adstack_reset();
	push(100000);
	printf("%ld wrong\n", pop(100000));
}

/* As many MiB as the environment says, up and down, read twice. */
static void heavy(void)
{
	long n = atol(getenv("MEBIBYTES")) << 17, wrong = 0;

	push(n);
	adStack_startRepeat();
	wrong += pop(n);
	adStack_resetRepeat();
	adStack_endRepeat();
	wrong += pop(n);
	printf("%ld wrong\n", wrong);
}

static void hang(void)
{
	push(atol(getenv("MEBIBYTES")) << 17);
	puts("ready");
	fflush(stdout);
	for (;;)
		pthread_cond_wait(&(pthread_cond_t)PTHREAD_COND_INITIALIZER,
				  &(pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "empty"))
		pop(1);
	else if (!strcmp(what, "level"))
		in_level();
	else if (!strcmp(what, "thread"))
		in_thread();
	else if (!strcmp(what, "task"))
		task();
	else if (!strcmp(what, "segment"))
		segment();
	else if (!strcmp(what, "mismatch"))
		mismatch();
	else if (!strcmp(what, "end"))
		adStack_endRepeat();
	else if (!strcmp(what, "reset"))
		adStack_resetRepeat();
	else if (!strcmp(what, "schedule"))
		finalizeDynamicSchedule();
	else if (!strcmp(what, "binomial"))
		adBinomial_init(10, 0, 1);
	else if (!strcmp(what, "handled"))
		handled();
	else if (!strcmp(what, "heavy"))
		heavy();
	else if (!strcmp(what, "hang"))
		hang();
	return 0;
}
