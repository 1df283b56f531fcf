/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "fake-device.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_CALL_NAMES 65536
#define MAX_POISONED ((size_t)64 << 20)
#define NEVER UINT64_MAX
/* enter() returns this to a call that is left out: it does nothing and reports success. */
#define SKIPPED ((reel_cu_result)-1)
/* Number of waits that a call that was skipped delays: its own, and the next one of each thread. */
#define PAUSES 4
/* The clock: times of a call of the driver and of waking up, and speed of a copy on the device over one by the link. */
#define CALL_SECONDS 2e-6
#define WAKE_UP_SECONDS 50e-6
#define SPEED_ON_DEVICE 60
/* A paced link carries these bytes while a thread wakes up. */
#define WAKE_UP_BYTES (9 << 20)

enum { TARGET_POISON = 0xf5, FRESH_POISON = 0xf7, FREED_POISON = 0xfb };

/* ---- Contents of the device ---- */

enum kind { TO_DEVICE, TO_HOST, ON_DEVICE, SET, RECORD, WAIT, CALL, CANCELLED };

struct event {
	struct event *next;
	bool destroyed, sleeps;
	uint64_t recorded, completed; /* how often */
	double seconds;               /* on the clock, when its last turn completes */
};

struct operation {
	struct operation *next;
	enum kind kind;
	unsigned char *to;
	const unsigned char *from;
	size_t bytes;
	unsigned char value;
	struct event *event;
	uint64_t turn; /* of the event */
	reel_cu_host_function function;
	void *argument;
	/* Host memory that nobody may write until an event after it. */
	const unsigned char *watched;
	uint64_t hash;
	bool hashed;
	bool due; /* a late stream carries it out now */
	uint64_t number; /* in the order of the calls, of all streams */
};

struct stream {
	struct stream *next;
	struct operation *first, *last; /* not carried out; the first one may be under way */
	struct operation *unsettled;    /* copies that were, since the last event */
	bool destroyed, ends;
	pthread_t thread;
	double seconds; /* on the clock, when its last operation ends */
};

enum memory_kind { DEVICE_MEMORY, HOST_MEMORY, REGISTERED_MEMORY };

struct memory {
	struct memory *next;
	enum memory_kind kind;
	unsigned char *start;
	size_t bytes;
	bool populated; /* of registered memory: each page is in memory, or on the disk of swap */
};

static struct {
	struct fake_options options;
	pid_t process;
	uint64_t random;
	uint64_t generation; /* of devices that were opened */
	bool initialized;
	unsigned retained;
	struct event *events;
	struct stream *streams;
	struct memory *memories;
	size_t used_bytes;
	reel_cu_result lost;
	unsigned busy; /* threads that copy or look at memory, without the lock */

	uint64_t calls, operations, enqueued;
	void *kernel_memory;
	size_t kernel_bytes;
	const char *call_name[MAX_CALL_NAMES];
	uint64_t failing_call, failing_operation;
	reel_cu_result call_result, operation_result;
	bool failing_persistently;
	const char *skipped_name;
	uint64_t calls_to_skipped;
	unsigned pause_us, pauses; /* of waits after it */

	unsigned wrongs;
	char wrong[200];
	uint64_t pageable_bytes;

	/* On the clock; the link's times are of the last copy in each direction. */
	double host_seconds, kernel_seconds, to_device_seconds, to_host_seconds;
	double idle_seconds; /* of the host, while it sleeps */
} device;

/* Guards all of the above; not held while memory is copied. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static _Thread_local bool in_host_function;
static _Thread_local struct {
	uint64_t generation;
	unsigned depth;
} current;

#define MAX_DEVICES 8

/* A context has nothing in it. */
static char context_object[MAX_DEVICES];

static reel_cu_context context_of(reel_cu_device handle)
{
	return (reel_cu_context)(void *)&context_object[handle];
}

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static void
wrong(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(device.wrong, sizeof device.wrong, format, arguments);
	va_end(arguments);
	device.wrongs++;
	fprintf(stderr, "# fake device: %s\n", device.wrong);
}

static uint64_t draw(void)
{
	device.random ^= device.random << 13;
	device.random ^= device.random >> 7;
	device.random ^= device.random << 17;
	return device.random;
}

static uint64_t hash_of(const unsigned char *bytes, size_t count)
{
	uint64_t hash = count, word;

	for (; count >= 8; bytes += 8, count -= 8) {
		memcpy(&word, bytes, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; count; bytes++, count--)
		hash = (hash ^ *bytes) * 0x9e3779b97f4a7c15u;
	return hash;
}

static bool overlaps(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;

	return a && b && first < second + b_bytes && second < first + a_bytes;
}

static void begin_to_touch_memory(void)
{
	device.busy++;
	pthread_mutex_unlock(&lock);
}

static void end_touching_memory(void)
{
	pthread_mutex_lock(&lock);
	device.busy--;
	pthread_cond_broadcast(&changed);
}

/* A lost device is told of once it has stopped. */
static reel_cu_result lost_and_at_rest(void)
{
	while (device.lost && device.busy)
		pthread_cond_wait(&changed, &lock);
	return device.lost;
}

/* ---- Late operations ---- */

/* A late stream puts an operation off until a wait needs it, or a call happens to let it go. */
static bool is_put_off(const struct operation *operation)
{
	return device.options.late && !operation->due && !device.lost;
}

/* Makes the operations due that this turn of the event waits for. */
static void hurry(const struct event *event, uint64_t turn)
{
	for (struct stream *stream = device.streams; stream; stream = stream->next) {
		const struct operation *last = stream->first;

		while (last && !(last->kind == RECORD && last->event == event &&
				 last->turn == turn))
			last = last->next;
		for (struct operation *at = stream->first; last && at != last->next; at = at->next)
			at->due = true;
	}
	pthread_cond_broadcast(&changed);
}

/* One call of 2, 8 or 32 lets the next operation of a stream go, or no call does. */
static void let_some_go(void)
{
	static const unsigned one_of[] = {0, 2, 8, 32};
	unsigned calls = one_of[device.options.seed % 4];

	for (struct stream *stream = device.streams; stream && calls; stream = stream->next)
		if (stream->first && draw() % calls == 0)
			stream->first->due = true;
	pthread_cond_broadcast(&changed);
}

/* ---- The clock ---- */

static bool has_clock(void)
{
	return device.options.link_bytes_per_second > 0 && !device.options.paced;
}

/* Returns how long an operation takes its stream, without the waits. */
static double seconds_of(const struct operation *operation)
{
	double seconds = (double)operation->bytes / device.options.link_bytes_per_second;

	switch (operation->kind) {
	case TO_DEVICE:
	case TO_HOST:
		return seconds;
	case ON_DEVICE:
	case SET:
		return seconds / SPEED_ON_DEVICE;
	case CALL:
		return device.kernel_seconds;
	default:
		return 0;
	}
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* Returns the time when the last copy in this direction ends; NULL: it does not use the link. */
static double *link_of(const struct operation *operation)
{
	return operation->kind == TO_DEVICE ? &device.to_device_seconds
	       : operation->kind == TO_HOST ? &device.to_host_seconds
					    : NULL;
}

/*
 * Adds an operation to the time of its stream. It begins after the host's call, and a copy by the
 * link after those before it.
 */
static void count_operation(struct stream *stream, const struct operation *operation)
{
	double *link = link_of(operation);

	if (!has_clock())
		return;
	stream->seconds = later(stream->seconds, device.host_seconds);
	if (link)
		stream->seconds = later(stream->seconds, *link);
	stream->seconds += seconds_of(operation);
	if (link)
		*link = stream->seconds;
	if (operation->kind == RECORD)
		operation->event->seconds = stream->seconds;
	if (operation->kind == WAIT)
		stream->seconds = later(stream->seconds, operation->event->seconds);
}

/* The host waits until the event has come: it sleeps, or the driver uses its processor. */
static void count_wait(const struct event *event)
{
	double seconds = event->seconds - device.host_seconds;

	if (!has_clock() || seconds <= 0)
		return;
	if (event->sleeps) {
		seconds += WAKE_UP_SECONDS;
		device.idle_seconds += seconds;
	}
	device.host_seconds += seconds;
}

/* ---- Calls ---- */

/* With the lock, which is kept if 0 is returned. */
static reel_cu_result enter(const char *name)
{
	reel_cu_result result = 0;

	if (getpid() != device.process) {
		fprintf(stderr, "fake device: %s in the child of a fork\n", name);
		abort();
	}
	pthread_mutex_lock(&lock);
	if (has_clock())
		device.host_seconds += CALL_SECONDS;
	if (in_host_function) {
		wrong("%s in a host function", name);
		result = REEL_CU_NOT_PERMITTED;
	}
	if (device.options.late)
		let_some_go();
	if (device.calls < MAX_CALL_NAMES)
		device.call_name[device.calls] = name;
	if (device.calls++ == device.failing_call) {
		result = device.call_result;
		if (device.failing_persistently)
			device.lost = result;
	}
	if (device.skipped_name && !strcmp(name, device.skipped_name) &&
	    device.calls_to_skipped-- == 0) {
		result = SKIPPED;
		device.pauses = PAUSES;
	}
	if (device.lost)
		result = lost_and_at_rest();
	if (result) {
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return result;
}

static reel_cu_result leave(reel_cu_result result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

static bool has_context(void)
{
	return current.generation == device.generation && current.depth > 0;
}

/* The streams' threads get the lock between two queries. */
static reel_cu_result leave_query(reel_cu_result result)
{
	leave(result);
	sched_yield();
	return result;
}

static reel_cu_result enter_in_context(const char *name)
{
	reel_cu_result result = enter(name);

	if (!result && !has_context())
		return leave(REEL_CU_INVALID_CONTEXT);
	return result;
}

#define ENTER(how)                                                                                 \
	do {                                                                                       \
		reel_cu_result entered = how(__func__ + 5);                                        \
		if (entered)                                                                       \
			return entered == SKIPPED ? 0 : entered;                                   \
	} while (0)

static reel_cu_result fake_cuInit(unsigned flags)
{
	ENTER(enter);
	(void)flags;
	device.initialized = !device.options.absent;
	return leave(device.initialized ? 0 : REEL_CU_NO_DEVICE);
}

static reel_cu_result fake_cuDriverGetVersion(int *version)
{
	ENTER(enter);
	*version = 13000;
	return leave(0);
}

static reel_cu_result fake_cuGetErrorName(reel_cu_result result, const char **name)
{
	static const struct {
		reel_cu_result result;
		const char *name;
	} names[] = {
		{REEL_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
		{REEL_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
		{REEL_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
		{REEL_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
		{REEL_CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
		{REEL_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
	};

	*name = "CUDA_ERROR";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].result == result)
			*name = names[i].name;
	return 0;
}

static reel_cu_result fake_cuGetErrorString(reel_cu_result result, const char **words)
{
	(void)result;
	*words = "said by a fake device";
	return 0;
}

static reel_cu_result fake_cuDeviceGetCount(int *count)
{
	ENTER(enter);
	if (!device.initialized)
		return leave(REEL_CU_NOT_INITIALIZED);
	*count = (int)device.options.devices;
	return leave(0);
}

static reel_cu_result fake_cuDeviceGet(reel_cu_device *handle, int number)
{
	ENTER(enter);
	if (!device.initialized || number < 0 || number >= (int)device.options.devices)
		return leave(REEL_CU_INVALID_DEVICE);
	*handle = number;
	return leave(0);
}

static reel_cu_result fake_cuDeviceGetName(char *name, int bytes, reel_cu_device handle)
{
	ENTER(enter);
	snprintf(name, (size_t)bytes, "fake device %d", handle);
	return leave(0);
}

static reel_cu_result fake_cuDeviceGetAttribute(int *value, reel_cu_attribute attribute,
						reel_cu_device handle)
{
	ENTER(enter);
	(void)handle;
	switch (attribute) {
	case REEL_CU_MULTIPROCESSORS:
		*value = 2;
		break;
	case REEL_CU_THREADS_PER_MULTIPROCESSOR:
		*value = 64;
		break;
	case REEL_CU_COMPUTE_MAJOR:
		*value = 9;
		break;
	case REEL_CU_COMPUTE_MINOR:
		*value = 0;
		break;
	default:
		return leave(REEL_CU_INVALID_VALUE);
	}
	return leave(0);
}

static reel_cu_result fake_cuDeviceTotalMem(size_t *bytes, reel_cu_device handle)
{
	ENTER(enter);
	(void)handle;
	*bytes = device.options.memory_bytes;
	return leave(0);
}

static reel_cu_result fake_cuDevicePrimaryCtxRetain(reel_cu_context *context, reel_cu_device handle)
{
	ENTER(enter);
	device.retained++;
	*context = context_of(handle);
	return leave(0);
}

static reel_cu_result fake_cuDevicePrimaryCtxRelease(reel_cu_device handle)
{
	ENTER(enter);
	(void)handle;
	if (!device.retained) {
		wrong("a primary context is released that nobody retained");
		return leave(REEL_CU_INVALID_CONTEXT);
	}
	device.retained--;
	return leave(0);
}

static reel_cu_result fake_cuCtxPushCurrent(reel_cu_context context)
{
	ENTER(enter);
	if ((char *)context < context_object ||
	    (char *)context >= context_object + device.options.devices || !device.retained) {
		wrong("a context is pushed that is none");
		return leave(REEL_CU_INVALID_CONTEXT);
	}
	if (current.generation != device.generation)
		current.depth = 0;
	current.generation = device.generation;
	current.depth++;
	return leave(0);
}

/* Also from a lost device: a context that was pushed is popped. */
static reel_cu_result fake_cuCtxPopCurrent(reel_cu_context *context)
{
	reel_cu_result result = enter("cuCtxPopCurrent");

	if (has_context())
		current.depth--;
	else if (!result)
		return leave(REEL_CU_INVALID_CONTEXT);
	if (context)
		*context = context_of(0);
	return result ? result : leave(0);
}

/* ---- Memory ---- */

static size_t pinned_bytes(bool registered_only)
{
	size_t bytes = 0;

	for (struct memory *memory = device.memories; memory; memory = memory->next)
		if (memory->kind == REGISTERED_MEMORY ||
		    (memory->kind == HOST_MEMORY && !registered_only))
			bytes += memory->bytes;
	return bytes;
}

static struct memory *find_memory(const void *start, size_t bytes, bool of_device)
{
	uintptr_t at = (uintptr_t)start;

	for (struct memory *memory = device.memories; memory; memory = memory->next) {
		uintptr_t from = (uintptr_t)memory->start;

		if ((memory->kind == DEVICE_MEMORY) == of_device && at >= from &&
		    bytes <= memory->bytes && at - from <= memory->bytes - bytes)
			return memory;
	}
	return NULL;
}

/* A driver makes the pages resident. False: this system cannot do so without a write. */
static bool populate(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	return madvise(memory, bytes, MADV_POPULATE_WRITE) == 0;
#else
	(void)memory;
	(void)bytes;
	return false;
#endif
}

/* The upper two bits of an entry in the system's table: the page is in memory, or swapped. */
static bool is_populated(const struct memory *memory)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool populated = true;

	for (size_t at = 0; at < memory->bytes && table >= 0; at += page) {
		uint64_t entry;
		uintptr_t number = (uintptr_t)(memory->start + at) / page;

		if (pread(table, &entry, sizeof entry, (off_t)(number * sizeof entry)) ==
		    sizeof entry)
			populated &= entry >> 62 != 0;
	}
	if (table >= 0)
		close(table);
	return populated;
}

static bool add_memory(enum memory_kind kind, void *start, size_t bytes)
{
	struct memory *memory = calloc(1, sizeof *memory);

	if (!memory)
		return false;
	*memory = (struct memory){device.memories, kind, start, bytes,
				  kind == REGISTERED_MEMORY && populate(start, bytes)};
	device.memories = memory;
	return true;
}

static reel_cu_result allocate(enum memory_kind kind, void **start, size_t bytes)
{
	size_t rounded = (bytes + 4095) & ~(size_t)4095;

	if (!bytes)
		return REEL_CU_INVALID_VALUE;
	*start = rounded < bytes ? NULL : aligned_alloc(4096, rounded);
	if (!*start || !add_memory(kind, *start, bytes)) {
		free(*start);
		return REEL_CU_OUT_OF_MEMORY;
	}
	if (bytes <= MAX_POISONED)
		memset(*start, FRESH_POISON, bytes);
	return 0;
}

/* Of operations that are not carried out, or not settled. */
static struct operation *user_of(const void *start, size_t bytes)
{
	for (struct stream *stream = device.streams; stream; stream = stream->next) {
		struct operation *lists[] = {stream->first, stream->unsettled};

		for (unsigned i = 0; i < 2; i++)
			for (struct operation *at = lists[i]; at; at = at->next)
				if (overlaps(at->to, at->bytes, start, bytes) ||
				    overlaps(at->from, at->bytes, start, bytes))
					return at;
	}
	return NULL;
}

/* The test goes on after the fault, so no copy may touch memory that is freed. */
static void cancel_users_of(const void *start, size_t bytes)
{
	struct operation *user;

	while (device.busy)
		pthread_cond_wait(&changed, &lock);
	while ((user = user_of(start, bytes))) {
		user->kind = CANCELLED;
		user->to = NULL;
		user->from = user->watched = NULL;
		user->hashed = false;
	}
}

static reel_cu_result remove_memory(enum memory_kind kind, const void *start)
{
	for (struct memory **link = &device.memories; *link; link = &(*link)->next) {
		struct memory *memory = *link;

		if (memory->start != start || memory->kind != kind)
			continue;
		*link = memory->next;
		if (user_of(memory->start, memory->bytes) && !device.lost) {
			wrong("memory is freed or unregistered that a copy uses");
			cancel_users_of(memory->start, memory->bytes);
		}
		if (memory->populated && !is_populated(memory))
			wrong("memory went back to the system while it was registered");
		if (kind == DEVICE_MEMORY)
			device.used_bytes -= memory->bytes;
		if (kind != REGISTERED_MEMORY) {
			memset(memory->start, FREED_POISON,
			       memory->bytes < MAX_POISONED ? memory->bytes : MAX_POISONED);
			free(memory->start);
		}
		free(memory);
		return 0;
	}
	wrong("memory is freed or unregistered that is not there");
	return kind == REGISTERED_MEMORY ? REEL_CU_HOST_MEMORY_NOT_REGISTERED
					 : REEL_CU_INVALID_VALUE;
}

static reel_cu_result fake_cuMemGetInfo(size_t *unused, size_t *total)
{
	ENTER(enter_in_context);
	*total = device.options.memory_bytes;
	*unused = *total - device.used_bytes;
	return leave(0);
}

static reel_cu_result fake_cuMemAlloc(reel_cu_address *address, size_t bytes)
{
	reel_cu_result result;
	void *start;

	ENTER(enter_in_context);
	if (bytes > device.options.memory_bytes - device.used_bytes)
		return leave(REEL_CU_OUT_OF_MEMORY);
	result = allocate(DEVICE_MEMORY, &start, bytes);
	if (!result) {
		device.used_bytes += bytes;
		*address = (uintptr_t)start;
	}
	return leave(result);
}

static reel_cu_result fake_cuMemFree(reel_cu_address address)
{
	ENTER(enter_in_context);
	return leave(remove_memory(DEVICE_MEMORY, (void *)(uintptr_t)address));
}

static bool can_pin(size_t bytes)
{
	return !device.options.pinned_bytes ||
	       pinned_bytes(false) + bytes <= device.options.pinned_bytes;
}

static reel_cu_result fake_cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	ENTER(enter_in_context);
	(void)flags;
	return leave(can_pin(bytes) ? allocate(HOST_MEMORY, memory, bytes)
				    : REEL_CU_OUT_OF_MEMORY);
}

static reel_cu_result fake_cuMemFreeHost(void *memory)
{
	ENTER(enter_in_context);
	return leave(remove_memory(HOST_MEMORY, memory));
}

static reel_cu_result fake_cuMemHostRegister(void *memory, size_t bytes, unsigned flags)
{
	ENTER(enter_in_context);
	(void)flags;
	if (!memory || !bytes)
		return leave(REEL_CU_INVALID_VALUE);
	for (struct memory *other = device.memories; other; other = other->next)
		if (other->kind != DEVICE_MEMORY &&
		    overlaps(other->start, other->bytes, memory, bytes))
			return leave(REEL_CU_HOST_MEMORY_ALREADY_REGISTERED);
	if (!can_pin(bytes) || !add_memory(REGISTERED_MEMORY, memory, bytes))
		return leave(REEL_CU_OUT_OF_MEMORY);
	return leave(0);
}

static reel_cu_result fake_cuMemHostUnregister(void *memory)
{
	ENTER(enter_in_context);
	return leave(remove_memory(REGISTERED_MEMORY, memory));
}

/* ---- A stream's thread ---- */

static void free_operations(struct operation *operation)
{
	while (operation) {
		struct operation *next = operation->next;

		free(operation);
		operation = next;
	}
}

/* Outside of the lock: hashes take long. */
static const char *find_change(const struct operation *copy)
{
	if (!copy->hashed || hash_of(copy->watched, copy->bytes) == copy->hash)
		return NULL;
	return copy->kind == TO_DEVICE ? "the source of a copy to the device changed before the "
					 "event after it"
				       : "the target of a copy to the host was written before the "
					 "event after it";
}

/* An event is about to complete: the host may use the copies. */
static void settle(struct stream *stream)
{
	struct operation *copies = stream->unsettled;

	stream->unsettled = NULL;
	begin_to_touch_memory();
	for (struct operation *copy = copies; copy; copy = copy->next) {
		const char *change = find_change(copy);

		if (change) {
			pthread_mutex_lock(&lock);
			wrong("%s", change);
			pthread_mutex_unlock(&lock);
		}
	}
	free_operations(copies);
	end_touching_memory();
}

/* Memory that this stream writes itself, in its order, may change. */
static void stop_watching(struct stream *stream, const struct operation *writer)
{
	for (struct operation *copy = stream->unsettled; copy; copy = copy->next)
		if (overlaps(copy->watched, copy->bytes, writer->to, writer->bytes))
			copy->hashed = false;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double paced_seconds(size_t bytes)
{
	return (double)bytes / device.options.link_bytes_per_second;
}

static void sleep_until(double seconds)
{
	struct timespec until = {.tv_sec = (time_t)seconds};

	until.tv_nsec = (long)(1e9 * (seconds - (double)until.tv_sec));
	pthread_mutex_unlock(&lock);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	pthread_mutex_lock(&lock);
}

static void copy(struct stream *stream, struct operation *operation)
{
	double *link = link_of(operation), began = seconds_now();
	const char *change;

	stop_watching(stream, operation);
	begin_to_touch_memory();
	change = find_change(operation);
	if (operation->kind == SET)
		memset(operation->to, operation->value, operation->bytes);
	else
		memmove(operation->to, operation->from, operation->bytes);
	if (operation->kind == TO_HOST && operation->watched) {
		operation->hash = hash_of(operation->to, operation->bytes);
		operation->hashed = true;
	}
	end_touching_memory();
	if (device.options.paced && link) {
		*link = later(*link, began) + paced_seconds(operation->bytes);
		sleep_until(*link);
	}
	if (change) {
		wrong("%s", change);
		operation->hashed = false;
	}
}

static void record(struct stream *stream, const struct operation *operation)
{
	settle(stream);
	operation->event->completed = operation->turn;
}

static void call_host(const struct operation *operation)
{
	pthread_mutex_unlock(&lock);
	in_host_function = true;
	operation->function(operation->argument);
	in_host_function = false;
	pthread_mutex_lock(&lock);
}

/* Returns true if two operations use the same memory, and one of them writes it. */
static bool conflicts(const struct operation *a, const struct operation *b)
{
	return overlaps(a->to, a->bytes, b->to, b->bytes) ||
	       overlaps(a->to, a->bytes, b->from, b->bytes) ||
	       overlaps(a->from, a->bytes, b->to, b->bytes);
}

/* Another stream has not yet carried out an operation that it was given before this one. */
static void look_for_race(const struct stream *own, const struct operation *operation)
{
	for (struct stream *stream = device.streams; stream; stream = stream->next)
		for (struct operation *at = stream->first; at && stream != own; at = at->next)
			if (at->number < operation->number && conflicts(at, operation)) {
				wrong("streams use the same memory, and no event orders them");
				return;
			}
}

static void carry_out(struct stream *stream, struct operation *operation)
{
	look_for_race(stream, operation);
	switch (operation->kind) {
	case TO_DEVICE:
	case TO_HOST:
	case ON_DEVICE:
	case SET:
		copy(stream, operation);
		break;
	case RECORD:
		record(stream, operation);
		break;
	case WAIT:
		hurry(operation->event, operation->turn);
		while (operation->event->completed < operation->turn && !device.lost)
			pthread_cond_wait(&changed, &lock);
		break;
	case CALL:
		call_host(operation);
		break;
	case CANCELLED:
		break;
	}
}

static void dawdle(void)
{
	uint64_t random = draw();
	unsigned most = device.options.delay_us;

	if (device.options.eager || has_clock())
		return;
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < random % 4; i++)
		sched_yield();
	if (most && random % 16 == 0)
		usleep((useconds_t)(random / 16 % most));
	pthread_mutex_lock(&lock);
}

static void *serve(void *argument)
{
	struct stream *stream = argument;

	pthread_mutex_lock(&lock);
	while (!stream->ends || stream->first) {
		struct operation *operation = stream->first;

		if (!operation || is_put_off(operation)) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		dawdle();
		if (device.operations++ == device.failing_operation && !device.lost)
			device.lost = device.operation_result;
		if (!device.lost)
			carry_out(stream, operation);
		stream->first = operation->next;
		if (!stream->first)
			stream->last = NULL;
		operation->next = stream->unsettled;
		if (operation->watched && !device.lost)
			stream->unsettled = operation;
		else
			free(operation);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ---- Operations ---- */

static struct stream *find_stream(reel_cu_stream handle)
{
	struct stream *stream = device.streams;

	while (stream && (stream != (struct stream *)(void *)handle || stream->destroyed))
		stream = stream->next;
	return stream;
}

static struct stream *stream_of(reel_cu_stream handle)
{
	struct stream *stream = find_stream(handle);

	if (!stream)
		wrong("a stream that is none");
	return stream;
}

static struct event *event_of(reel_cu_event handle)
{
	for (struct event *event = device.events; event; event = event->next)
		if (event == (struct event *)(void *)handle && !event->destroyed)
			return event;
	wrong("an event that is none");
	return NULL;
}

static reel_cu_result enqueue(struct stream *stream, struct operation operation)
{
	struct operation *copy = stream ? malloc(sizeof *copy) : NULL;

	if (!copy)
		return REEL_CU_INVALID_HANDLE;
	*copy = operation;
	copy->number = device.enqueued++;
	count_operation(stream, copy);
	if (stream->last)
		stream->last->next = copy;
	else
		stream->first = copy;
	stream->last = copy;
	pthread_cond_broadcast(&changed);
	return 0;
}

static bool kernels_wait(void)
{
	for (struct stream *stream = device.streams; stream; stream = stream->next)
		for (struct operation *at = stream->first; at; at = at->next)
			if (at->kind == CALL)
				return true;
	return false;
}

/* Does nothing while an earlier copy uses the target, or an emulated kernel may. */
static bool poison(const struct operation *operation)
{
	if (user_of(operation->to, operation->bytes) ||
	    (operation->kind != TO_HOST && kernels_wait()))
		return false;
	memset(operation->to, TARGET_POISON, operation->bytes);
	return true;
}

static bool is_written_soon(const void *start, size_t bytes)
{
	for (struct stream *stream = device.streams; stream; stream = stream->next)
		for (struct operation *at = stream->first; at; at = at->next)
			if (overlaps(at->to, at->bytes, start, bytes))
				return true;
	return false;
}

static void watch_source(struct operation *operation)
{
	operation->watched = operation->from;
	operation->hashed = !is_written_soon(operation->from, operation->bytes);
	if (operation->hashed)
		operation->hash = hash_of(operation->from, operation->bytes);
}

static void watch_target(struct operation *operation)
{
	operation->watched = operation->to;
	operation->hashed = poison(operation);
	if (operation->hashed)
		operation->hash = hash_of(operation->to, operation->bytes);
}

static void watch(struct operation *operation)
{
	if (operation->kind == TO_DEVICE)
		watch_source(operation);
	if (operation->kind == TO_HOST)
		watch_target(operation);
	else
		poison(operation);
}

static reel_cu_result start_copy(struct operation operation, reel_cu_stream handle)
{
	struct stream *stream = stream_of(handle);
	bool from_device = operation.kind == ON_DEVICE || operation.kind == TO_HOST;
	bool to_device = operation.kind != TO_HOST;

	if (!stream)
		return REEL_CU_INVALID_HANDLE;
	if ((from_device && !find_memory(operation.from, operation.bytes, true)) ||
	    (to_device && !find_memory(operation.to, operation.bytes, true))) {
		wrong("a copy from or to what is not the device's memory");
		return REEL_CU_INVALID_VALUE;
	}
	if (!device.options.paced)
		watch(&operation);
	if (operation.watched && !find_memory(operation.watched, operation.bytes, false))
		device.pageable_bytes += operation.bytes;
	return enqueue(stream, operation);
}

static reel_cu_result fake_cuMemcpyHtoDAsync(reel_cu_address to, const void *from, size_t bytes,
					     reel_cu_stream stream)
{
	ENTER(enter_in_context);
	return leave(start_copy((struct operation){.kind = TO_DEVICE, .to = (void *)(uintptr_t)to,
						   .from = from, .bytes = bytes}, stream));
}

static reel_cu_result fake_cuMemcpyDtoHAsync(void *to, reel_cu_address from, size_t bytes,
					     reel_cu_stream stream)
{
	ENTER(enter_in_context);
	return leave(start_copy((struct operation){.kind = TO_HOST, .to = to, .bytes = bytes,
						   .from = (void *)(uintptr_t)from}, stream));
}

static reel_cu_result fake_cuMemcpyDtoDAsync(reel_cu_address to, reel_cu_address from, size_t bytes,
					     reel_cu_stream stream)
{
	ENTER(enter_in_context);
	return leave(start_copy((struct operation){.kind = ON_DEVICE, .to = (void *)(uintptr_t)to,
						   .from = (void *)(uintptr_t)from, .bytes = bytes},
				stream));
}

static reel_cu_result fake_cuMemsetD8Async(reel_cu_address to, unsigned char value, size_t bytes,
					   reel_cu_stream stream)
{
	ENTER(enter_in_context);
	return leave(start_copy((struct operation){.kind = SET, .to = (void *)(uintptr_t)to,
						   .value = value, .bytes = bytes}, stream));
}

static reel_cu_result fake_cuStreamCreate(reel_cu_stream *handle, unsigned flags)
{
	struct stream *stream;

	ENTER(enter_in_context);
	(void)flags;
	stream = calloc(1, sizeof *stream);
	if (!stream || pthread_create(&stream->thread, NULL, serve, stream)) {
		free(stream);
		return leave(REEL_CU_OUT_OF_MEMORY);
	}
	stream->next = device.streams;
	device.streams = stream;
	*handle = (reel_cu_stream)(void *)stream;
	return leave(0);
}

static reel_cu_result fake_cuStreamDestroy(reel_cu_stream handle)
{
	struct stream *stream;

	ENTER(enter_in_context);
	stream = stream_of(handle);
	if (!stream)
		return leave(REEL_CU_INVALID_HANDLE);
	stream->destroyed = stream->ends = true;
	pthread_cond_broadcast(&changed);
	return leave(0);
}

static reel_cu_result fake_cuStreamQuery(reel_cu_stream handle)
{
	reel_cu_result result;
	struct stream *stream;

	ENTER(enter_in_context);
	stream = stream_of(handle);
	if (!stream)
		return leave(REEL_CU_INVALID_HANDLE);
	if (stream->seconds > device.host_seconds)
		return leave(REEL_CU_NOT_READY);
	while (has_clock() && stream->first && !device.lost)
		pthread_cond_wait(&changed, &lock);
	result = stream->first ? REEL_CU_NOT_READY : 0;
	if (stream->first)
		stream->first->due = true;
	pthread_cond_broadcast(&changed);
	return leave_query(result);
}

static reel_cu_result enqueue_event(struct stream *stream, struct event *event, enum kind kind)
{
	if (!event)
		return REEL_CU_INVALID_HANDLE;
	if (kind == RECORD)
		event->recorded++;
	return enqueue(stream, (struct operation){.kind = kind, .event = event,
						  .turn = event->recorded});
}

static reel_cu_result wait_for(struct event *event)
{
	uint64_t turn = event->recorded;
	bool sleeps;

	/* The threads that need not wait go on meanwhile. */
	if (device.pauses) {
		device.pauses--;
		pthread_mutex_unlock(&lock);
		usleep(device.pause_us);
		pthread_mutex_lock(&lock);
	}
	hurry(event, turn);
	sleeps = event->sleeps && event->completed < turn;
	while (event->completed < turn && !device.lost)
		pthread_cond_wait(&changed, &lock);
	if (device.options.paced && sleeps)
		sleep_until(seconds_now() + paced_seconds(WAKE_UP_BYTES));
	count_wait(event);
	return lost_and_at_rest();
}

static struct event *new_event(void)
{
	struct event *event = calloc(1, sizeof *event);

	if (event) {
		event->next = device.events;
		device.events = event;
	}
	return event;
}

/* Returns true if a stream has nothing left, or nothing but the record of this event. */
static bool is_idle(const struct stream *stream, const struct event *event)
{
	const struct operation *first = stream->first;

	return !first || (first == stream->last && first->kind == RECORD && first->event == event);
}

/*
 * The names of the calls of a wait that has nothing to wait for are other ones, since they may be
 * left out.
 */
static reel_cu_result enter_record(reel_cu_stream handle)
{
	const struct stream *stream;
	bool idle;

	pthread_mutex_lock(&lock);
	stream = find_stream(handle);
	idle = stream && is_idle(stream, NULL);
	pthread_mutex_unlock(&lock);
	return enter_in_context(idle ? "cuEventRecord, idle" : "cuEventRecord");
}

static reel_cu_result enter_wait(reel_cu_event handle)
{
	const struct event *event = (struct event *)(void *)handle;
	bool idle = true;

	pthread_mutex_lock(&lock);
	for (const struct stream *at = device.streams; at; at = at->next)
		for (const struct operation *o = at->first; o; o = o->next)
			idle &= o->event != event || is_idle(at, event);
	pthread_mutex_unlock(&lock);
	return enter_in_context(idle ? "cuEventSynchronize, idle" : "cuEventSynchronize");
}

static reel_cu_result fake_cuStreamSynchronize(reel_cu_stream handle)
{
	struct stream *stream;
	struct event *event;
	reel_cu_result result;

	ENTER(enter_in_context);
	stream = stream_of(handle);
	event = new_event();
	result = enqueue_event(stream, event, RECORD);
	if (!result)
		result = wait_for(event);
	if (event)
		event->destroyed = true;
	return leave(result);
}

static reel_cu_result fake_cuStreamWaitEvent(reel_cu_stream stream, reel_cu_event event,
					     unsigned flags)
{
	ENTER(enter_in_context);
	(void)flags;
	return leave(enqueue_event(stream_of(stream), event_of(event), WAIT));
}

static reel_cu_result fake_cuLaunchHostFunc(reel_cu_stream stream, reel_cu_host_function function,
					    void *argument)
{
	ENTER(enter_in_context);
	return leave(enqueue(stream_of(stream), (struct operation){.kind = CALL,
								   .function = function,
								   .argument = argument,
								   .to = device.kernel_memory,
								   .bytes = device.kernel_bytes}));
}

static reel_cu_result fake_cuEventCreate(reel_cu_event *handle, unsigned flags)
{
	struct event *event;

	ENTER(enter_in_context);
	event = new_event();
	if (event)
		event->sleeps = flags & REEL_CU_EVENT_BLOCKING_SYNC;
	*handle = (reel_cu_event)(void *)event;
	return leave(event ? 0 : REEL_CU_OUT_OF_MEMORY);
}

static reel_cu_result fake_cuEventDestroy(reel_cu_event handle)
{
	struct event *event;

	ENTER(enter_in_context);
	event = event_of(handle);
	if (event)
		event->destroyed = true;
	return leave(event ? 0 : REEL_CU_INVALID_HANDLE);
}

static reel_cu_result fake_cuEventRecord(reel_cu_event event, reel_cu_stream stream)
{
	reel_cu_result result = enter_record(stream);

	if (result)
		return result == SKIPPED ? 0 : result;
	return leave(enqueue_event(stream_of(stream), event_of(event), RECORD));
}

/*
 * On a late device it does not let the operations before the event go, as a wait does. Otherwise it
 * is a wait, so that the calls of all runs are the same.
 */
static reel_cu_result fake_cuEventQuery(reel_cu_event handle)
{
	reel_cu_result result;
	struct event *event;

	ENTER(enter_in_context);
	event = event_of(handle);
	if (!event)
		return leave(REEL_CU_INVALID_HANDLE);
	if (event->seconds > device.host_seconds)
		return leave(REEL_CU_NOT_READY);
	while (!device.options.late && event->completed < event->recorded && !device.lost)
		pthread_cond_wait(&changed, &lock);
	result = event->completed < event->recorded ? REEL_CU_NOT_READY : 0;
	return leave_query(result);
}

static reel_cu_result fake_cuEventSynchronize(reel_cu_event handle)
{
	reel_cu_result result = enter_wait(handle);
	struct event *event;

	if (result)
		return result == SKIPPED ? 0 : result;
	event = event_of(handle);
	return leave(event ? wait_for(event) : REEL_CU_INVALID_HANDLE);
}

/* ---- The device ---- */

static const struct reel_driver table = {
#define MEMBER(member, ...) .member = fake_##member,
	REEL_DRIVER_CALLS(MEMBER)
	REEL_CUDA_CALLS(MEMBER)
	REEL_FAKE_CALLS(MEMBER)
#undef MEMBER
};

const struct reel_driver *fake_device_open(const struct fake_options *options)
{
	uint64_t generation = device.generation + 1;

	memset(&device, 0, sizeof device);
	device.generation = generation;
	device.options = *options;
	device.process = getpid();
	device.random = options->seed * 0x9e3779b97f4a7c15u | 1;
	device.failing_call = device.failing_operation = NEVER;
	if (!device.options.memory_bytes)
		device.options.memory_bytes = (size_t)1 << 30;
	if (!device.options.devices)
		device.options.devices = 1;
	return &table;
}

static unsigned free_streams(void)
{
	unsigned left = 0;

	while (device.streams) {
		struct stream *stream = device.streams;

		pthread_mutex_lock(&lock);
		stream->ends = true;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		pthread_join(stream->thread, NULL);
		left += !stream->destroyed;
		free_operations(stream->unsettled);
		device.streams = stream->next;
		free(stream);
	}
	return left;
}

static unsigned free_memories(void)
{
	unsigned left = 0;

	for (; device.memories; left++) {
		struct memory *memory = device.memories;

		device.memories = memory->next;
		if (memory->kind != REGISTERED_MEMORY)
			free(memory->start);
		free(memory);
	}
	return left;
}

unsigned fake_device_close(void)
{
	unsigned left;

	/* Operations that are put off are never carried out: host memory may be gone. */
	pthread_mutex_lock(&lock);
	if (device.options.late)
		device.lost = REEL_CU_UNKNOWN;
	pthread_mutex_unlock(&lock);
	left = free_streams() + free_memories() + device.retained;
	device.retained = 0;
	while (device.events) {
		struct event *event = device.events;

		left += !event->destroyed;
		device.events = event->next;
		free(event);
	}
	return left;
}

#define UNDER_LOCK(type, value)                                                                    \
	do {                                                                                       \
		type under_lock;                                                                   \
		pthread_mutex_lock(&lock);                                                         \
		under_lock = (value);                                                              \
		pthread_mutex_unlock(&lock);                                                       \
		return under_lock;                                                                 \
	} while (0)

uint64_t fake_device_calls(void)
{
	UNDER_LOCK(uint64_t, device.calls);
}

const char *fake_device_call_name(uint64_t number)
{
	UNDER_LOCK(const char *, number < device.calls && number < MAX_CALL_NAMES
					 ? device.call_name[number] : NULL);
}

uint64_t fake_device_operations(void)
{
	UNDER_LOCK(uint64_t, device.operations);
}

unsigned fake_device_wrongs(void)
{
	UNDER_LOCK(unsigned, device.wrongs);
}

const char *fake_device_wrong(void)
{
	return device.wrong;
}

uint64_t fake_device_pageable_bytes(void)
{
	UNDER_LOCK(uint64_t, device.pageable_bytes);
}

size_t fake_device_pinned_bytes(void)
{
	UNDER_LOCK(size_t, pinned_bytes(false));
}

size_t fake_device_registered_bytes(void)
{
	UNDER_LOCK(size_t, pinned_bytes(true));
}

void fake_device_fail_call(uint64_t number, reel_cu_result result, bool persistent)
{
	pthread_mutex_lock(&lock);
	device.failing_call = number;
	device.call_result = result;
	device.failing_persistently = persistent;
	pthread_mutex_unlock(&lock);
}

void fake_device_fail_operation(uint64_t number, reel_cu_result result)
{
	pthread_mutex_lock(&lock);
	device.failing_operation = number;
	device.operation_result = result;
	pthread_mutex_unlock(&lock);
}

void fake_device_finish(void)
{
	pthread_mutex_lock(&lock);
	for (struct stream *stream = device.streams; stream; stream = stream->next)
		while (stream->first && !device.lost) {
			stream->first->due = true;
			pthread_cond_broadcast(&changed);
			pthread_cond_wait(&changed, &lock);
		}
	for (struct stream *stream = device.streams; stream; stream = stream->next)
		device.host_seconds = later(device.host_seconds, stream->seconds);
	pthread_mutex_unlock(&lock);
}

void fake_device_skip_call(const char *name, uint64_t number, unsigned pause_us)
{
	pthread_mutex_lock(&lock);
	device.skipped_name = name;
	device.pause_us = pause_us;
	device.calls_to_skipped = number;
	pthread_mutex_unlock(&lock);
}

void fake_device_kernels_use(void *memory, size_t bytes)
{
	pthread_mutex_lock(&lock);
	device.kernel_memory = memory;
	device.kernel_bytes = bytes;
	pthread_mutex_unlock(&lock);
}

void fake_device_kernels_take(double seconds)
{
	pthread_mutex_lock(&lock);
	device.kernel_seconds = seconds;
	pthread_mutex_unlock(&lock);
}

double fake_device_seconds(void)
{
	UNDER_LOCK(double, device.host_seconds);
}

double fake_device_idle_seconds(void)
{
	UNDER_LOCK(double, device.idle_seconds);
}

void fake_device_stop_failing(void)
{
	pthread_mutex_lock(&lock);
	device.skipped_name = NULL;
	device.failing_call = device.failing_operation = NEVER;
	pthread_mutex_unlock(&lock);
}

/* ---- The same, as the libraries of both drivers ---- */

#if FAKE_DRIVER_LIBRARY

#define EXPORT(member, symbol, arguments)                                                          \
	reel_cu_result symbol arguments;                                                           \
	reel_cu_result symbol arguments __attribute__((alias("fake_" #member)));
#define EXPORT_BOTH(member, symbol, hip, arguments)                                                \
	EXPORT(member, symbol, arguments)                                                          \
	EXPORT(member, hip, arguments)
REEL_DRIVER_CALLS(EXPORT_BOTH)
REEL_CUDA_CALLS(EXPORT)

const char *hipGetErrorName(reel_cu_result result);
const char *hipGetErrorName(reel_cu_result result)
{
	const char *name = NULL;

	return fake_cuGetErrorName(result, &name) ? NULL : name;
}

const char *hipGetErrorString(reel_cu_result result);
const char *hipGetErrorString(reel_cu_result result)
{
	const char *words = NULL;

	return fake_cuGetErrorString(result, &words) ? NULL : words;
}

reel_cu_result hipDeviceGetAttribute(int *value, int attribute, reel_cu_device number);
reel_cu_result hipDeviceGetAttribute(int *value, int attribute, reel_cu_device number)
{
	static const int pairs[][2] = {
		{REEL_HIP_MULTIPROCESSORS, REEL_CU_MULTIPROCESSORS},
		{REEL_HIP_THREADS_PER_MULTIPROCESSOR, REEL_CU_THREADS_PER_MULTIPROCESSOR},
		{REEL_HIP_COMPUTE_MAJOR, REEL_CU_COMPUTE_MAJOR},
		{REEL_HIP_COMPUTE_MINOR, REEL_CU_COMPUTE_MINOR},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i][0] == attribute)
			return fake_cuDeviceGetAttribute(value, pairs[i][1], number);
	return REEL_CU_INVALID_VALUE;
}

/*
 * FAKE_DEVICES: how many there are; 0: none. FAKE_LINK: bytes a second of a paced link, on a device
 * with all the memory that is asked for.
 */
__attribute__((constructor)) static void open_when_loaded(void)
{
	const char *devices = getenv("FAKE_DEVICES"), *link = getenv("FAKE_LINK");
	struct fake_options options = {.devices = devices ? (unsigned)atoi(devices) : 1};

	options.absent = options.devices == 0;
	options.paced = options.eager = link != NULL;
	if (link) {
		options.link_bytes_per_second = atof(link);
		options.memory_bytes = (size_t)1 << 40;
	}
	fake_device_open(&options);
}

__attribute__((destructor)) static void close_when_unloaded(void)
{
	fake_device_close();
}

#endif
