/* SPDX-License-Identifier: MIT */
/* Tests each promise of libreel-adstack; t-adstack-random.c tests all of them together. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>

#include "helpers/adstack-support.h"
#include "helpers/pool-support.h"

void pushBit(int x);
int popBit(void);
void pushpointer_(void *x);
void poppointer_(void *x);
FORTRAN_PROTOTYPES(pushreal8_d, void *x, void *xd)
FORTRAN_PROTOTYPES(popreal8_d, void *x, void *xd)
FORTRAN_PROTOTYPES(pushreal4array_dv, void *x, void *xd, const int *n, const int *directions)
FORTRAN_PROTOTYPES(popreal4array_dv, void *x, void *xd, const int *n, const int *directions)

static double popped_real8(void)
{
	double x = 0;

	popReal8(&x);
	return x;
}

static int popped_integer4(void)
{
	int x = 0;

	popInteger4(&x);
	return x;
}

static int popped_control3b(void)
{
	int x = -1;

	popControl3b(&x);
	return x;
}

/* ---- Sizes ---- */

static void test_sizes(void)
{
	double array[5] = {0};
	uint64_t seen;

	tap_case("sizes");
	is_int(adStack_getCurrentStackSize(), 0, "a stack that was never used is empty");
	pushReal8(1);
	pushInteger4(2);
	pushCharacter('x');
	pushReal8Array(array, 5);
	is_int(adStack_getCurrentStackSize(), 8 + 4 + 1 + 40, "values are packed");
	for (int i = 0; i < 31; i++)
		pushBit(1);
	is_int(adStack_getCurrentStackSize(), 53, "31 bits wait");
	pushBit(1);
	is_int(adStack_getCurrentStackSize(), 57, "the 32nd sends them to the stack");
	popBit();
	seen = adStack_getCurrentStackSize();
	is_int(seen, 53, "a pop of the 32nd bit takes all of them back");
	for (int i = 0; i < 31; i++)
		popBit();
	popReal8Array(array, 5);
	popCharacter((char *)array);
	is_int(popped_integer4(), 2, "an integer beside other types");
	is_double(popped_real8(), 1, "a double beside other types");
	is_int(adStack_getCurrentStackSize(), 0, "all is popped");
}

/* ---- Bits ---- */

static void test_bits(void)
{
	tap_case("bits");
	pushControl3b(5);
	is_int(popBit(), 1, "the most significant bit of a control is popped first");
	is_int(popBit(), 0, "the bit below it is popped next");
	is_int(popBit(), 1, "the least significant bit is popped last");
	pushBoolean(-1);
	pushControl1b(2);
	pushBit(256);
	is_int(popBit(), 1, "any value but 0 is a set bit");
	is_int(popBit(), 1, "any value but 0 is a set bit in a control of one bit, too");
	is_int(popBit(), 1, "a LOGICAL that is -1 for .TRUE. is a set bit");
	for (int i = 0; i < 40; i++) {
		pushControl3b(i % 8);
		pushReal8(i);
	}
	for (int i = 40; i-- > 0;)
		if (popped_real8() != i || popped_control3b() != i % 8)
			ok(false, "bits and values keep their common order (%d)", i);
	is_int(adStack_getCurrentStackSize(), 0, "bits and values keep their common order");
}

/* ---- One sequence of bytes ---- */

static void test_bytes(void)
{
	double numbers[] = {1, 2, 3, 4};
	float halves[2] = {0};
	char text[24];

	tap_case("bytes");
	pushReal8Array(numbers, 4);
	is_double(popped_real8(), 4, "an array may be popped by values");
	popReal8Array(numbers, 2);
	is_double(numbers[1], 3, "an array may be popped in parts");
	is_double(popped_real8(), 1, "an array is popped in parts to its end");
	pushReal4(1.5f);
	pushReal4(2.5f);
	popReal4Array(halves, 2);
	is_double(halves[1], 2.5, "values may be popped as an array");
	pushReal8Array(numbers, 0);
	pushReal8Array(numbers, -3);
	is_int(adStack_getCurrentStackSize(), 0, "an array of no or fewer elements pushes nothing");
	reel_adstack_push_bytes("Christianson and Griewank", 24);
	reel_adstack_pop_bytes(text, 24);
	ok(!memcmp(text, "Christianson and Griewank", 24), "bytes without a type");
}

static void test_pointers(void)
{
	int target, *pointer = &target, *seen = NULL;

	tap_case("pointers");
	pushPointer8(pointer);
	pushPointer4(pointer);
	pushpointer_(&pointer);
	poppointer_(&seen);
	is_pointer(seen, pointer, "POINTER of Fortran");
	popPointer4((void **)&seen);
	is_pointer(seen, pointer, "Pointer4 has room for a pointer of this machine");
	poppointer8_(&seen);
	is_pointer(seen, pointer, "Pointer8");
}

/* A long double has 8, 12 or 16 bytes. 16 bytes are pushed. */
static void test_long_double(void)
{
	struct {
		long double x;
		unsigned char behind[16];
	} value = {.x = 0.5L};
	unsigned touched = 0;

	tap_case("a long double");
	pushReal16(&value.x);
	memset(&value, 0xa5, sizeof value);
	lookReal16(&value.x);
	ok(value.x == 0.5L, "a long double can be looked at");
	value.x = 0;
	popReal16(&value.x);
	ok(value.x == 0.5L, "a long double comes back");
	for (unsigned i = 0; i < sizeof value.behind; i++)
		touched += value.behind[i] != 0xa5;
	is_int(touched, 0, "nothing behind the value is touched");
}

static void test_tangent_pairs(void)
{
	double x = 1, xd = 2, seen = 0;
	float y[2] = {3, 4}, yd[6] = {5, 6, 7, 8, 9, 10};
	int n = 2, directions = 3;

	tap_case("tangent of adjoint");
	pushreal8_d_(&x, &xd);
	is_double(popped_real8(), 2, "the derivative is above the value");
	pushReal8(xd);
	pushreal4array_dv__(y, yd, &n, &directions);
	is_int(adStack_getCurrentStackSize(), 16 + 8 + 24, "an array and its derivatives");
	memset(y, 0, sizeof y);
	memset(yd, 0, sizeof yd);
	popreal4array_dv(y, yd, &n, &directions);
	ok(y[1] == 4 && yd[0] == 5 && yd[5] == 10, "an array and its derivatives come back");
	popreal8_d(&seen, &xd);
	ok(seen == 1 && xd == 2, "a pair of a value and its derivative comes back");
}

/* ---- Repeat levels ---- */

static void push_numbers(int from, int to)
{
	for (int i = from; i < to; i++)
		pushReal8(i);
}

/* Whether the numbers [from, to) come back. */
static bool pop_numbers(int from, int to)
{
	bool right = true;

	for (int i = to; i-- > from;)
		right &= popped_real8() == i;
	return right;
}

static void test_repeat(void)
{
	bool right = true;

	tap_case("repeat");
	push_numbers(0, 1000);
	pushControl3b(6);
	adStack_startRepeat();
	for (int i = 0; i < 3; i++) {
		right &= popped_control3b() == 6 && pop_numbers(400, 1000);
		adStack_resetRepeat();
	}
	ok(right, "what was pushed before is read again and again, bits too");
	is_int(adStack_getCurrentStackSize(), 8000, "a reset brings the size back");
	right = popped_control3b() == 6 && pop_numbers(900, 1000);
	push_numbers(5000, 6000);
	is_int(adStack_getCurrentStackSize(), 16000, "pushes stand above what is protected");
	ok(right && pop_numbers(5000, 6000) && pop_numbers(800, 900),
	   "after the pushes are popped, reading goes on where it was");
	adStack_endRepeat();
	is_int(adStack_getCurrentStackSize(), 6400, "the end of a level does not move the top");
	push_numbers(1, 3);
	ok(pop_numbers(1, 3) && pop_numbers(0, 800), "values above the protected ones are gone");
	is_int(adStack_getCurrentStackSize(), 0, "all is popped");
}

/* The shape that one version of the original failed on: 3[(2[*])]. */
static void test_nested_repeat(void)
{
	bool right = true;

	tap_case("nested repeat");
	push_numbers(0, 300);
	adStack_startRepeat();
	for (int i = 0; i < 3; i++) {
		right &= pop_numbers(200, 300);
		push_numbers(1000, 1200);
		adStack_startRepeat();
		for (int j = 0; j < 2; j++) {
			right &= pop_numbers(1000, 1200) && pop_numbers(50, 200);
			adStack_resetRepeat();
		}
		is_int(reel_adstack_repeat_level(), 2, "two levels are open");
		adStack_endRepeat();
		right &= pop_numbers(1000, 1200) && pop_numbers(100, 200);
		adStack_resetRepeat();
	}
	adStack_endRepeat();
	ok(right && pop_numbers(0, 300), "a level within a level, over pushes of its own");
	is_int(adStack_getCurrentStackSize(), 0, "all is popped");
}

static void test_end_with_pushes(void)
{
	tap_case("end of a level");
	push_numbers(0, 500);
	adStack_startRepeat();
	pop_numbers(300, 500);
	push_numbers(700, 800);
	adStack_endRepeat();
	push_numbers(800, 900);
	ok(pop_numbers(700, 900), "what was pushed in a level outlives it");
	is_int(adStack_getCurrentStackSize(), 2400, "below the level reading is where it was");
	push_numbers(300, 310);
	is_int(adStack_getCurrentStackSize(), 2480, "pushes go on where the level has ended");
	ok(pop_numbers(0, 310), "all is popped");
}

static void test_look(void)
{
	double first = 0, second = 0, x = 0;
	int branch = -1;

	tap_case("look");
	push_numbers(0, 100);
	pushControl3b(3);
	lookControl3b(&branch);
	lookReal8(&first);
	lookreal8_(&second);
	ok(branch == 3 && first == 99 && second == 98, "looks read downwards");
	resetADLookStack();
	lookControl3b(&branch);
	is_int(branch, 3, "a reset looks from the top again");
	lookReal8(&x);
	pushReal8(100);
	lookReal8(&x);
	is_double(x, 100, "a look after a push reads from the top again");
	is_double(popped_real8(), 100, "a pop takes what is on top");
	is_int(popped_control3b(), 3, "a pop takes what is on top, whatever was looked at");
	ok(pop_numbers(0, 100), "no number is missing");
}

/* ---- Threads ---- */

static void *push_and_leave(void *unused)
{
	(void)unused;
	push_numbers(0, 100000);
	adStack_startRepeat();
	pop_numbers(0, 100000);
	push_numbers(0, 20000);
	return NULL;
}

static void test_threads(void)
{
	uint64_t before = slabs_in_use(reel_pool_default());

	tap_case("threads");
	run_thread(push_and_leave, NULL);
	is_int(slabs_in_use(reel_pool_default()), before,
	       "a thread that ends gives its stack back");
	pushReal8(7);
	run_thread(push_and_leave, NULL);
	is_double(popped_real8(), 7, "each thread has a stack of its own");
	is_int(stackIsThreadSafe(), 1, "the library says that it is safe for threads");
}

/* Each worker spills, as its parent did before. */
static void test_workers(void)
{
	pid_t worker, child;

	tap_case("workers");
	child = fork_with_timeout();
	if (child == 0) {
		setenv("REEL_BUDGET", "8M", 1);
		setenv("REEL_STORE", "memory=64M", 1);
		push_numbers(0, 2000000);
		pop_numbers(0, 2000000);
		worker = fork_with_timeout();
		if (worker == 0) {
			push_numbers(0, 2000000);
			pop_numbers(0, 2000000);
			tap_child_end();
		}
		ok(tap_child_passed(worker), "the worker's values come back");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a worker goes on with the stack of its parent, and spills");
}

/* ---- Errors ---- */

static struct {
	jmp_buf place;
	int error;
	char message[600];
} caught;

static void leave(int error, const char *message, void *context)
{
	(void)context;
	caught.error = error;
	snprintf(caught.message, sizeof caught.message, "%s", message);
	longjmp(caught.place, 1);
}

/* Returns the message of an action that must fail. The stack is empty afterwards. */
static const char *failure(void (*action)(void))
{
	caught.error = 0;
	caught.message[0] = '\0';
	reel_adstack_set_handler(leave, NULL);
	if (!setjmp(caught.place))
		action();
	reel_adstack_set_handler(NULL, NULL);
	reel_adstack_reset();
	return caught.message;
}

static void pop_from_empty(void)
{
	popped_real8();
}

static void pop_too_much_in_a_level(void)
{
	push_numbers(0, 3);
	adStack_startRepeat();
	pop_numbers(0, 3);
	popped_integer4();
}

static void end_no_level(void)
{
	adStack_startRepeat();
	adStack_endRepeat();
	adStack_endRepeat();
}

static void push_beyond_the_budget(void)
{
	push_numbers(0, 100000);
}

static void push_huge_array(void)
{
	static double some[10000];

	pushReal8Array(some, 0x7fffffff);
}

static bool says(const char *message, const char *text)
{
	bool found = strstr(message, text) != NULL;

	if (!found)
		tap_note("the message is: %s", message);
	return found;
}

static void test_errors(void)
{
	const struct reel_pool_options tight = {.slab_bytes = 4096, .hard_budget = 8 * 4096};
	reel_pool *pool;

	tap_case("errors");
	ok(says(failure(pop_from_empty), "popReal8 of 8 bytes from a stack of 0"),
	   "a pop of an empty stack is named");
	is_int(caught.error, -ENODATA, "the pop of an empty stack has an error of its own");
	ok(says(failure(pop_too_much_in_a_level), "popInteger4 of 4 bytes from a stack of 0"),
	   "a pop below a repeat level's values is named");
	ok(says(caught.message, "thread 1, repeat level 1, 0 bytes"),
	   "the message has thread, level and bytes");
	ok(says(failure(end_no_level), "adStack_endRepeat: no repeat level is open"),
	   "the end of a level that did not begin is named");
	pool = stack_on(&tight);
	ok(says(failure(push_beyond_the_budget), "hard budget of 32768"),
	   "a push beyond the budget is refused");
	is_int(caught.error, -EDQUOT, "the push beyond the budget has an error of its own");
	ok(says(failure(push_huge_array), "hard budget"), "an array of 16 GiB is refused");
	stack_on(NULL);
	close_pool(pool, "errors");
	pushReal8(3);
	is_double(popped_real8(), 3, "the stack serves on after a reset");
}

static void mismatch(void)
{
	pushReal8(1);
	pushInteger8(2);
	pushControl3b(1);
	popped_control3b();
	popped_real8();
}

static void mismatch_of_bits(void)
{
	pushControl3b(1);
	popBit();
}

static void mismatch_in_a_level(void)
{
	pushReal4(1);
	adStack_startRepeat();
	popped_integer4();
}

static void test_checked(void)
{
	const struct reel_pool_options checked = {.flags = REEL_POOL_CHECKED};
	reel_pool *pool = stack_on(&checked);

	tap_case("checked mode");
	ok(says(failure(mismatch), "pop of Real8 (8 bytes) at popReal8 does not mirror the push of "
				   "Integer8 (8 bytes) at pushInteger8"),
	   "types of one size are told apart");
	ok(says(failure(mismatch_of_bits),
		"pop of Bit (1 bits) at popBit does not mirror the push of Control3b (3 bits)"),
	   "numbers of bits are told apart");
	ok(says(failure(mismatch_in_a_level),
		"pop of Integer4 (4 bytes) at popInteger4 does not mirror the push of Real4"),
	   "types of one size are told apart in a repeat level, too");
	stack_on(NULL);
	close_pool(pool, "checked mode");
}

int main(void)
{
	tap_begin();
	test_workers();
	test_sizes();
	test_bits();
	test_bytes();
	test_pointers();
	test_long_double();
	test_tangent_pairs();
	test_repeat();
	test_nested_repeat();
	test_end_with_pushes();
	test_look();
	test_threads();
	test_errors();
	test_checked();
	return tap_end();
}
