/* SPDX-License-Identifier: MIT */
/* Segments of libreel-adstack: stacks that any thread may take up, and frozen ones. */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "helpers/adstack-support.h"

static void push_numbers(int first, int n)
{
	for (int i = first; i < first + n; i++) {
		pushReal8(i);
		pushControl3b(i % 8);
	}
}

/* Returns the number of pops that do not give what was pushed. */
static int pop_numbers(int first, int n)
{
	int wrong = 0, bits;
	double x;

	for (int i = first + n; i-- > first;) {
		popControl3b(&bits);
		popReal8(&x);
		wrong += x != i || bits != i % 8;
	}
	return wrong;
}

/* ---- Errors ---- */

static struct {
	jmp_buf place;
	char message[1024];
} caught;

static void catch(int error, const char *message, void *context)
{
	(void)error;
	(void)context;
	snprintf(caught.message, sizeof caught.message, "%s", message);
	longjmp(caught.place, 1);
}

/* Returns the message of the error that act() causes; "" if it causes none. */
static const char *failure(void (*act)(void))
{
	caught.message[0] = '\0';
	reel_adstack_set_handler(catch, NULL);
	if (!setjmp(caught.place))
		act();
	reel_adstack_set_handler(NULL, NULL);
	return caught.message;
}

static reel_adstack_segment *first, *second;

static void enter_twice(void)
{
	reel_adstack_segment_enter(&first);
	reel_adstack_segment_enter(&first);
}

static void leave_another(void)
{
	reel_adstack_segment_enter(&second);
	reel_adstack_segment_leave(&first);
}

static void leave_none(void)
{
	reel_adstack_segment_leave(&first);
}

static void pop_of_thread(void)
{
	double x;

	reel_adstack_segment_enter(&second);
	popReal8(&x);
}

static void test_errors(void)
{
	tap_case("errors");
	pushReal8(1);
	ok(strstr(failure(leave_none), "reel_adstack_segment_leave: this is not the segment"),
	   "a segment that nobody is in cannot be left");
	ok(strstr(failure(enter_twice), "reel_adstack_segment_enter: thread 1 is in this segment"),
	   "a segment cannot be entered twice");
	ok(strstr(failure(leave_another), "enters and leaves on one thread"),
	   "only the one entered last can be left");
	reel_adstack_segment_leave(&second);
	reel_adstack_segment_leave(&first);
	ok(!first && !second, "empty segments are freed");
	/* Checked mode has another message, which has this name, too. */
	ok(strstr(failure(pop_of_thread), "popReal8"),
	   "what is on the thread's stack is not in the segment");
	reel_adstack_reset();
	reel_adstack_segment_leave(&second);
	is_int(reel_adstack_bytes(), 8,
	       "the value on the thread's stack is still there afterwards");
	reel_adstack_reset();
}

/* ---- Nesting ---- */

static void test_nesting(void)
{
	reel_adstack_segment *outer = NULL, *inner = NULL;

	tap_case("nesting");
	push_numbers(0, 10);
	reel_adstack_segment_enter(&outer);
	is_int(reel_adstack_bytes(), 0, "a segment begins empty");
	push_numbers(100, 20000);
	reel_adstack_segment_enter(&inner);
	push_numbers(7, 30);
	reel_adstack_segment_leave(&inner);
	is_int(pop_numbers(15100, 5000), 0, "back in the outer segment");
	reel_adstack_segment_leave(&outer);
	ok(outer && inner, "segments with values on them are kept");
	is_int(pop_numbers(0, 10), 0, "back on the thread's stack");
	reel_adstack_segment_enter(&inner);
	is_int(pop_numbers(7, 30), 0, "the inner segment is taken up");
	reel_adstack_segment_leave(&inner);
	reel_adstack_segment_enter(&outer);
	is_int(pop_numbers(100, 15000), 0, "the outer segment is taken up, too");
	reel_adstack_segment_leave(&outer);
	ok(!outer && !inner, "segments that are used up are freed");
}

static void test_bits(void)
{
	reel_adstack_segment *segment = NULL;
	int bit = 0;

	tap_case("bits");
	pushControl1b(1);
	reel_adstack_segment_enter(&segment);
	pushControl1b(0);
	reel_adstack_segment_leave(&segment);
	ok(segment, "a segment with one bit is kept");
	popControl1b(&bit);
	is_int(bit, 1, "the thread's bits are its own");
	reel_adstack_segment_enter(&segment);
	popControl1b(&bit);
	reel_adstack_segment_leave(&segment);
	ok(bit == 0 && !segment, "the segment's bits are its own, too");
}

static void test_drop(void)
{
	reel_adstack_segment *segment = NULL;

	tap_case("drop");
	reel_adstack_segment_drop(&segment);
	reel_adstack_segment_enter(&segment);
	push_numbers(0, 100000);
	adStack_startRepeat();
	push_numbers(0, 10);
	reel_adstack_segment_leave(&segment);
	reel_adstack_segment_drop(&segment);
	ok(!segment, "a segment is dropped with all that is on it");
}

/* ---- Threads ---- */

struct work {
	reel_adstack_segment *segment;
	int wrong;
};

static void *fill_segment(void *argument)
{
	struct work *work = argument;

	reel_adstack_segment_enter(&work->segment);
	push_numbers(5, 30000);
	reel_adstack_segment_leave(&work->segment);
	return NULL;
}

static void *empty_segment(void *argument)
{
	struct work *work = argument;

	push_numbers(0, 3);
	reel_adstack_segment_enter(&work->segment);
	work->wrong = pop_numbers(5, 30000);
	reel_adstack_segment_leave(&work->segment);
	work->wrong += pop_numbers(0, 3);
	return NULL;
}

static void *end_inside(void *argument)
{
	struct work *work = argument;

	push_numbers(0, 1000);
	reel_adstack_segment_enter(&work->segment);
	push_numbers(0, 1000);
	return NULL;
}

static void in_thread(void *(*act)(void *), struct work *work)
{
	pthread_t thread;

	pthread_create(&thread, NULL, act, work);
	pthread_join(thread, NULL);
}

static void test_threads(void)
{
	struct work work[4] = {{0}};
	uint64_t before;
	int wrong = 0;

	tap_case("threads");
	for (int i = 0; i < 4; i++)
		in_thread(fill_segment, &work[i]);
	for (int i = 4; i-- > 0;)
		in_thread(empty_segment, &work[i]);
	for (int i = 0; i < 4; i++)
		wrong += work[i].wrong + (work[i].segment != NULL);
	is_int(wrong, 0, "another thread pops the values of each segment");
	before = slabs_in_use(reel_pool_default());
	in_thread(end_inside, &work[0]);
	is_int(slabs_in_use(reel_pool_default()), before, "a thread that ends in a segment drops it");
}

/* ---- Frozen: recorded once, reversed many times ---- */

static void *reverse_frozen(void *argument)
{
	struct work *work = argument;

	reel_adstack_segment_enter(&work->segment);
	work->wrong += pop_numbers(5, 30000);
	adStack_resetRepeat();
	reel_adstack_segment_leave(&work->segment);
	return NULL;
}

static void test_frozen(void)
{
	struct work work = {0};

	tap_case("frozen");
	fill_segment(&work);
	reel_adstack_segment_enter(&work.segment);
	adStack_startRepeat();
	reel_adstack_segment_leave(&work.segment);
	for (int k = 0; k < 3; k++)
		in_thread(reverse_frozen, &work);
	is_int(work.wrong, 0, "a segment is reversed three times, by three threads");
	ok(work.segment, "the frozen segment is still there");
	reel_adstack_segment_drop(&work.segment);

	push_numbers(5, 30000);
	adStack_startRepeat();
	for (int k = 0; k < 3; k++) {
		work.wrong += pop_numbers(5, 30000);
		push_numbers(1, 10);
		work.wrong += pop_numbers(1, 10);
		adStack_resetRepeat();
	}
	adStack_endRepeat();
	is_int(work.wrong, 0, "the stack of a thread is reversed three times, too");
	is_int(pop_numbers(5, 30000), 0, "the thread's numbers are popped at last");
	is_int(reel_adstack_bytes(), 0, "the stack is empty");
}

int main(void)
{
	tap_begin();
	test_errors();
	test_nesting();
	test_bits();
	test_drop();
	test_threads();
	test_frozen();
	return tap_end();
}
