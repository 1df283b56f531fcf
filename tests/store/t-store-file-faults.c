/* SPDX-License-Identifier: MIT */
/*
 * Lets each request of a file store to the system fail, in each way: the k-th request of its kind,
 * for k = 1, 2, ... up to the number of requests, first this one only, and then also all that
 * follow. Linked with --wrap for each function below.
 */
#include <config.h>

#include <dirent.h>
#include <sys/resource.h>

#include "store/file-request.h"
#include "helpers/file-support.h"
#include "os/os-file.h"
#include "os/os-thread.h"
#include "os/os.h"

enum call {
	OPEN_NAMELESS, OPEN_NAMED, UNLINK, ALIGNMENT, SET_DIRECT, ALLOCATE, WRITE, READ, WRITE_BACK,
	MAP, MEMORY, THREAD
};

/* Faults that are no errno: how much of a read or write is done and reported. */
enum {
	NOTHING = 1,  /* the end of the file */
	ONE_BLOCK,    /* the bytes of a block */
	ODD_BYTES,    /* some more, which is no multiple of any alignment */
	FEW_BYTES     /* less than any alignment */
};

static struct {
	enum call call;
	/* -errno, or one of the faults above. */
	int fault;
	/* Number of the first request that fails; 0: none fails. */
	_Atomic unsigned first;
	bool all_that_follow;
	_Atomic unsigned requests;
	_Atomic unsigned failed;
} plan;

/* Features that the machine lacks. */
static struct {
	bool nameless;
	bool alignment;
	bool direct;
	bool direct_writes;
	int allocate; /* the errno of fallocate(), or 0 */
	/* Size of the disk that all files share; 0: of the real disk. */
	uint64_t bytes;
	_Atomic uint64_t taken; /* bytes of the disk that files have */
} lacks;

/* Returns the fault of this request, or 0. */
static int fault_of(enum call call)
{
	unsigned first = plan.first, request;

	if (!first || call != plan.call)
		return 0;
	request = 1 + plan.requests++;
	if (request < first || (request > first && !plan.all_that_follow))
		return 0;
	plan.failed++;
	return plan.fault;
}

static _Atomic size_t mapped;

int __real_reel_os_file_open_nameless(const char *directory);
int __real_reel_os_file_open_named(char *path);
int __real_reel_os_file_unlink(const char *path);
int __real_reel_os_file_direct_alignment(int file, size_t *alignment);
int __real_reel_os_file_set_direct(int file, bool direct);
int __real_fallocate(int file, int mode, off_t offset, off_t bytes);
int __real_fallocate64(int file, int mode, off_t offset, off_t bytes);
int __real_reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes);
uint64_t __real_reel_os_file_room(int file);
ssize_t __real_reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset);
ssize_t __real_reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset);
int __real_reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes);
void *__real_reel_os_map(size_t bytes, size_t alignment);
void __real_reel_os_unmap(void *address, size_t bytes);
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
int __real_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name);

int __wrap_reel_os_file_open_nameless(const char *directory);
int __wrap_reel_os_file_open_named(char *path);
int __wrap_reel_os_file_unlink(const char *path);
int __wrap_reel_os_file_direct_alignment(int file, size_t *alignment);
int __wrap_reel_os_file_set_direct(int file, bool direct);
int __wrap_fallocate(int file, int mode, off_t offset, off_t bytes);
int __wrap_fallocate64(int file, int mode, off_t offset, off_t bytes);
int __wrap_reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes);
uint64_t __wrap_reel_os_file_room(int file);
ssize_t __wrap_reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset);
ssize_t __wrap_reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset);
int __wrap_reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes);
void *__wrap_reel_os_map(size_t bytes, size_t alignment);
void __wrap_reel_os_unmap(void *address, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
int __wrap_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name);

int __wrap_reel_os_file_open_nameless(const char *directory)
{
	int error = lacks.nameless ? -EOPNOTSUPP : fault_of(OPEN_NAMELESS);

	return error ? error : __real_reel_os_file_open_nameless(directory);
}

int __wrap_reel_os_file_open_named(char *path)
{
	int error = fault_of(OPEN_NAMED);

	return error ? error : __real_reel_os_file_open_named(path);
}

/* Also removes the name if it reports an error, because the next test would find it. */
int __wrap_reel_os_file_unlink(const char *path)
{
	int error = fault_of(UNLINK);

	__real_reel_os_file_unlink(path);
	return error;
}

int __wrap_reel_os_file_direct_alignment(int file, size_t *alignment)
{
	int error = lacks.alignment ? -EOPNOTSUPP : fault_of(ALIGNMENT);

	return error ? error : __real_reel_os_file_direct_alignment(file, alignment);
}

int __wrap_reel_os_file_set_direct(int file, bool direct)
{
	int error = lacks.direct ? -EINVAL : fault_of(SET_DIRECT);

	return error ? error : __real_reel_os_file_set_direct(file, direct);
}

int __wrap_reel_os_file_allocate(int file, uint64_t offset, uint64_t bytes)
{
	int error = fault_of(ALLOCATE);

	if (!error && lacks.bytes && lacks.taken + bytes > lacks.bytes)
		error = -ENOSPC;
	if (error)
		return error;
	lacks.taken += bytes;
	return __real_reel_os_file_allocate(file, offset, bytes);
}

uint64_t __wrap_reel_os_file_room(int file)
{
	return lacks.bytes ? lacks.bytes - lacks.taken : __real_reel_os_file_room(file);
}

int __wrap_fallocate(int file, int mode, off_t offset, off_t bytes)
{
	errno = lacks.allocate;
	return errno ? -1 : __real_fallocate(file, mode, offset, bytes);
}

#ifdef __GLIBC__
/* fallocate() has this name on systems whose long has 32 bits. */
int __wrap_fallocate64(int file, int mode, off_t offset, off_t bytes)
{
	errno = lacks.allocate;
	return errno ? -1 : __real_fallocate64(file, mode, offset, bytes);
}
#endif

static size_t bytes_of(const struct iovec *pieces)
{
	return pieces[0].iov_len + pieces[1].iov_len;
}

typedef ssize_t read_or_write(int file, const struct iovec *pieces, int count, uint64_t offset);

/* Reads or writes only the first block, and reports more. */
static ssize_t do_part(read_or_write *body, int fault, int file, const struct iovec *pieces,
		       uint64_t offset)
{
	const struct iovec *piece = pieces[0].iov_len ? pieces : pieces + 1;

	if (fault < 0)
		return fault;
	if (fault == NOTHING)
		return 0;
	if (fault == FEW_BYTES)
		return 40;
	if (body(file, &(struct iovec){piece->iov_base, BLOCK}, 1, offset) != BLOCK)
		return -EPROTO;
	if (fault == ODD_BYTES && bytes_of(pieces) > BLOCK)
		return BLOCK + 40;
	return BLOCK;
}

ssize_t __wrap_reel_os_file_write(int file, const struct iovec *pieces, int count, uint64_t offset)
{
	int fault;

	if (count == 1)
		return lacks.direct_writes ? -EINVAL :
		       __real_reel_os_file_write(file, pieces, count, offset);
	fault = fault_of(WRITE);
	return fault ? do_part(__real_reel_os_file_write, fault, file, pieces, offset) :
	       __real_reel_os_file_write(file, pieces, count, offset);
}

ssize_t __wrap_reel_os_file_read(int file, const struct iovec *pieces, int count, uint64_t offset)
{
	int fault = fault_of(READ);

	return fault ? do_part(__real_reel_os_file_read, fault, file, pieces, offset) :
	       __real_reel_os_file_read(file, pieces, count, offset);
}

int __wrap_reel_os_file_write_back(int file, uint64_t offset, uint64_t bytes)
{
	int error = fault_of(WRITE_BACK);

	return error ? error : __real_reel_os_file_write_back(file, offset, bytes);
}

void *__wrap_reel_os_map(size_t bytes, size_t alignment)
{
	void *memory = fault_of(MAP) ? NULL : __real_reel_os_map(bytes, alignment);

	if (memory)
		mapped += bytes;
	return memory;
}

void __wrap_reel_os_unmap(void *address, size_t bytes)
{
	mapped -= bytes;
	__real_reel_os_unmap(address, bytes);
}

void *__wrap_malloc(size_t bytes)
{
	return fault_of(MEMORY) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fault_of(MEMORY) ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return fault_of(MEMORY) ? NULL : __real_realloc(memory, bytes);
}

int __wrap_reel_os_thread_start(pthread_t *thread, void *(*body)(void *), void *argument,
				const char *name)
{
	int error = fault_of(THREAD);

	return error ? error : __real_reel_os_thread_start(thread, body, argument, name);
}

static const struct way *way;

static void arm(enum call call, int fault, unsigned first, bool all_that_follow)
{
	plan.call = call;
	plan.fault = fault;
	plan.all_that_follow = all_that_follow;
	plan.requests = plan.failed = 0;
	plan.first = first;
}

static void disarm(void)
{
	plan.first = 0;
}

/* The results of a run. `wrong` counts all mistakes. */
static struct {
	unsigned wrong;
	unsigned failed_opens, failed_puts, failed_gets;
	int error; /* of the last call that failed */
} seen;

static void expect(bool condition)
{
	seen.wrong += !condition;
}

enum { PUTS = 6 };

/* The file has no range of two free units, so each put is stored in parts. */
static bool in_parts;

static uint64_t bytes_between_parts(reel_store *store)
{
	const struct reel_file_slots *slots = &file_of(store)->slots;

	return in_parts ? slots->most / 2 * slots->unit_bytes : 0;
}

static void fragment(reel_store *store)
{
	struct reel_file_slots *slots = &file_of(store)->slots;
	unsigned first = plan.first;
	struct reel_file_part part;

	plan.first = 0;
	for (uint64_t unit = 0; in_parts && unit < slots->most; unit++)
		expect(!reel_file_slots_take(slots, slots->unit_bytes, &part));
	for (uint64_t unit = 1; in_parts && unit < slots->most; unit += 2)
		reel_file_slots_give(slots, unit, slots->unit_bytes);
	plan.first = first;
}

static unsigned names_here(void)
{
	DIR *entries = opendir(".");
	struct dirent *entry;
	unsigned names = 0;

	while ((entry = readdir(entries)))
		names += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(entries);
	return names;
}

static reel_store *try_to_open(void)
{
	struct reel_file_options options = options_of(way);
	reel_store *store = NULL;
	int error;

	options.max_bytes = 20 * (SLOT + BLOCK);
	error = reel_store_file_open(&store, &options);
	if (!error)
		return store;
	seen.failed_opens++;
	seen.error = error;
	expect(error == plan.fault || error == -ENOMEM);
	expect(*reel_error_text(0));
	return NULL;
}

static void note_failure(unsigned *count, int error)
{
	if (error) {
		++*count;
		seen.error = error;
	}
}

/* Returns a bit for each put that has succeeded. */
static unsigned put_some(reel_store *store, struct reel_extent *places)
{
	unsigned succeeded = 0;

	for (unsigned i = 0; i < PUTS; i++) {
		prepare_put(i, i, SLOT);
		reel_store_put(store, &tickets[i]);
	}
	expect(reel_store_sync(store, -1) == 0);
	for (unsigned i = 0; i < PUTS; i++) {
		places[i] = tickets[i].extent;
		note_failure(&seen.failed_puts, tickets[i].error);
		succeeded |= (unsigned)!tickets[i].error << i;
		for (size_t k = 0; k < SLOT / sizeof(uint64_t); k++)
			if (((uint64_t *)data[i])[k] != scramble(((uint64_t)i << 32) + k))
				expect(false);
	}
	return succeeded;
}

/* Gets the pieces. Each get that succeeds has to be right. */
static void get_some(reel_store *store, const struct reel_extent *places, unsigned which)
{
	for (unsigned i = 0; i < PUTS; i++) {
		if (!(which & 1u << i))
			continue;
		prepare_get(i, i, places[i]);
		reel_store_get(store, &tickets[i]);
	}
	expect(reel_store_sync(store, -1) == 0);
	for (unsigned i = 0; i < PUTS; i++) {
		if (!(which & 1u << i))
			continue;
		note_failure(&seen.failed_gets, tickets[i].error);
		expect(tickets[i].error || came_back(i));
	}
}

/* After the faults the store works, it has all pieces that it accepted, and no slot is lost. */
static void use_without_faults(reel_store *store, const struct reel_extent *places, unsigned which)
{
	uint64_t slot_bytes = file_of(store)->slots.slot_bytes;
	uint64_t others = bytes_between_parts(store);
	struct reel_extent extent;
	unsigned kept = 0;

	for (unsigned i = 0; i < PUTS; i++) {
		if (!(which & 1u << i))
			continue;
		expect(get_one(store, i, places[i]));
		kept++;
	}
	expect(capacity_of(store).used_bytes == others + kept * slot_bytes);
	expect(put_one(store, 100, &extent) == 0);
	expect(get_one(store, 100, extent));
	reel_store_drop(store, extent);
	for (unsigned i = 0; i < PUTS; i++)
		if (which & 1u << i)
			reel_store_drop(store, places[i]);
	expect(capacity_of(store).used_bytes == others);
}

static void run_armed(void)
{
	struct reel_extent places[PUTS];
	unsigned descriptors = open_descriptors();
	size_t before = mapped;
	reel_store *store = try_to_open();
	unsigned which;

	if (store) {
		fragment(store);
		which = put_some(store, places);
		get_some(store, places, which);
		disarm();
		use_without_faults(store, places, which);
		reel_store_close(store);
	}
	disarm();
	expect(names_here() == 0);
	expect(open_descriptors() == descriptors);
	expect(mapped == before);
}

/* The effect that one failed request must have. */
enum outcome {
	HEALED,      /* none */
	ONE_PUT,     /* one put fails, with this error */
	ONE_GET,
	NO_OPEN,     /* the store does not open */
	NO_OPEN_OR_HEALED,
	OPEN_OR_PUT, /* the store does not open, or one put fails, with -ENOMEM */
	OPEN_HEALED  /* the store does not open if the first request fails, else none */
};

static void check_outcome(enum outcome outcome, int error, unsigned k)
{
	unsigned opens = 0, puts = 0, gets = 0;

	switch (outcome) {
	case HEALED:
		break;
	case ONE_PUT:
		puts = 1;
		break;
	case ONE_GET:
		gets = 1;
		break;
	case NO_OPEN:
		opens = 1;
		break;
	case NO_OPEN_OR_HEALED:
		opens = !!seen.failed_opens;
		break;
	case OPEN_OR_PUT:
		opens = seen.failed_opens;
		puts = seen.failed_opens <= 1 ? !seen.failed_opens : UINT32_MAX;
		break;
	case OPEN_HEALED:
		opens = k == 1;
		break;
	}
	expect(seen.failed_opens == opens && seen.failed_puts == puts && seen.failed_gets == gets);
	if (opens + puts + gets)
		expect(seen.error == error);
}

static const struct fault {
	enum call call;
	const char *name;
	int fault;
	enum outcome once; /* the effect if one request fails */
	int error;
	bool for_ever;     /* all later requests may fail too; otherwise the program would wait */
} faults[] = {
	{OPEN_NAMELESS, "open: EACCES", -EACCES, NO_OPEN, -EACCES, true},
	{OPEN_NAMELESS, "open: EOPNOTSUPP", -EOPNOTSUPP, HEALED, 0, true},
	{ALIGNMENT, "statx: EIO", -EIO, HEALED, 0, true},
	{SET_DIRECT, "fcntl: EINVAL", -EINVAL, HEALED, 0, true},
	{ALLOCATE, "fallocate: EINTR", -EINTR, HEALED, 0, true},
	{ALLOCATE, "fallocate: ENOSPC", -ENOSPC, HEALED, 0, true},
	{ALLOCATE, "fallocate: EFBIG", -EFBIG, HEALED, 0, true},
	{ALLOCATE, "fallocate: EDQUOT", -EDQUOT, HEALED, 0, true},
	{ALLOCATE, "fallocate: EOPNOTSUPP", -EOPNOTSUPP, HEALED, 0, true},
	{ALLOCATE, "fallocate: EIO", -EIO, ONE_PUT, -EIO, true},
	{WRITE, "write: EIO", -EIO, ONE_PUT, -EIO, true},
	{WRITE, "write: ENOSPC", -ENOSPC, ONE_PUT, -ENOSPC, true},
	{WRITE, "write: EDQUOT", -EDQUOT, ONE_PUT, -EDQUOT, true},
	{WRITE, "write: EINTR", -EINTR, HEALED, 0, true},
	{WRITE, "write: EAGAIN", -EAGAIN, HEALED, 0, true},
	{WRITE, "write: nothing", NOTHING, ONE_PUT, -EIO, true},
	{WRITE, "write: one block", ONE_BLOCK, HEALED, 0, true},
	{WRITE, "write: odd bytes", ODD_BYTES, HEALED, 0, true},
	{WRITE, "write: few bytes", FEW_BYTES, HEALED, 0, true},
	{READ, "read: EIO", -EIO, ONE_GET, -EIO, true},
	{READ, "read: EINTR", -EINTR, HEALED, 0, true},
	{READ, "read: EAGAIN", -EAGAIN, HEALED, 0, true},
	{READ, "read: end of file", NOTHING, ONE_GET, -EIO, true},
	{READ, "read: one block", ONE_BLOCK, HEALED, 0, true},
	{READ, "read: odd bytes", ODD_BYTES, HEALED, 0, true},
	{READ, "read: few bytes", FEW_BYTES, HEALED, 0, true},
	{WRITE_BACK, "write back: EIO", -EIO, ONE_PUT, -EIO, true},
	{WRITE_BACK, "write back: ENOSPC", -ENOSPC, ONE_PUT, -ENOSPC, true},
	{MAP, "mmap: ENOMEM", -ENOMEM, NO_OPEN_OR_HEALED, -ENOMEM, true},
	{MEMORY, "malloc: ENOMEM", -ENOMEM, OPEN_OR_PUT, -ENOMEM, true},
	{THREAD, "thread: EAGAIN", -EAGAIN, OPEN_HEALED, -EAGAIN, true},
};

/* Returns true if a fault of all later requests may cause this error, or none. */
static bool is_of(const struct fault *fault, int error)
{
	if (fault->fault == ONE_BLOCK || fault->fault == ODD_BYTES)
		return !error;
	if (fault->fault > 0)
		return !error || error == -EIO;
	return !error || error == fault->fault || error == -ENOMEM;
}

/* Slots in parts need many requests, so the test lets only some of them fail. */
enum { MAX_PLACES = 400, PARTS_STEP = 7 };

/* Returns the number of requests at which the fault came. */
static unsigned sweep(const struct fault *fault, bool all_that_follow)
{
	for (unsigned k = 1; k < MAX_PLACES; k += in_parts ? PARTS_STEP : 1) {
		memset(&seen, 0, sizeof seen);
		arm(fault->call, fault->fault, k, all_that_follow);
		run_armed();
		if (!plan.failed)
			return k - 1;
		if (!all_that_follow)
			check_outcome(fault->once, fault->error, k);
		else
			expect(is_of(fault, seen.error));
		if (seen.wrong) {
			tap_note("%s, request %u%s", fault->name, k,
				 all_that_follow ? " and all that follow" : "");
			return 0;
		}
	}
	tap_note("%s: comes for ever", fault->name);
	return 0;
}

/* Returns true if the store makes this request in the present way. */
static bool is_made(enum call call)
{
	bool buffered = way->flags & REEL_FILE_BUFFERED;

	switch (call) {
	case WRITE_BACK:
		return buffered;
	case ALIGNMENT:
	case SET_DIRECT:
		return !buffered;
	default:
		return true;
	}
}

static void every_request_fails(void)
{
	for (const struct fault *fault = faults; fault < faults + COUNT(faults); fault++) {
		unsigned places;

		if (!is_made(fault->call))
			continue;
		places = sweep(fault, false);
		ok(places, "%s, once, at %u places", fault->name, places);
		if (!fault->for_ever)
			continue;
		places = sweep(fault, true);
		ok(places, "%s, and for ever after, at %u places", fault->name, places);
	}
}

static bool is_of_parts(enum call call)
{
	return call == WRITE || call == READ || call == WRITE_BACK || call == MEMORY;
}

static void requests_of_parts_fail(void)
{
	in_parts = true;
	for (const struct fault *fault = faults; fault < faults + COUNT(faults); fault++) {
		unsigned places;

		if (!is_made(fault->call) || !is_of_parts(fault->call) ||
		    (is_brief() && fault > faults && fault[-1].call == fault->call))
			continue;
		places = sweep(fault, false);
		ok(places > PUTS, "%s, in parts of slots, up to place %u", fault->name, places);
	}
	in_parts = false;
}

#ifndef O_DIRECT
#define O_DIRECT 0
#endif

static bool is_direct(const struct reel_file *file)
{
	return fcntl(file->descriptor, F_GETFL) & O_DIRECT;
}

static void expect_healthy(const char *what, bool direct)
{
	reel_store *store;

	memset(&seen, 0, sizeof seen);
	disarm();
	store = try_to_open();
	ok(store && file_of(store)->direct == direct && is_direct(file_of(store)) == direct,
	   "%s: the store opens, %s the page cache", what,
	   direct ? "past" : "through");
	reel_store_close(store);
	run_armed();
	ok(!seen.wrong && !seen.failed_opens && !seen.failed_puts && !seen.failed_gets,
	   "%s: and works", what);
	memset(&lacks, 0, sizeof lacks);
}

/* File systems without fallocate() return one of several errors. */
static void it_does_without_allocation(bool direct)
{
	static const int errors[] = {EOPNOTSUPP, ENOSYS, EINVAL, ENOTTY};

	for (unsigned i = 0; i < COUNT(errors); i++) {
		char what[80];

		snprintf(what, sizeof what, "without fallocate: %s", strerror(errors[i]));
		lacks.allocate = errors[i];
		expect_healthy(what, direct);
	}
}

static void it_does_without(void)
{
	bool direct = !(way->flags & REEL_FILE_BUFFERED);

	lacks.nameless = true;
	expect_healthy("without nameless files", direct);
	lacks.alignment = true;
	expect_healthy("without the alignment being told", direct);
	lacks.direct = true;
	expect_healthy("without O_DIRECT", false);
	lacks.alignment = lacks.direct_writes = true;
	expect_healthy("without direct writes, though O_DIRECT is taken", false);
	it_does_without_allocation(direct);
}

static void names_are_refused(void)
{
	static const struct fault named[] = {
		{OPEN_NAMED, "mkostemp: EROFS", -EROFS, NO_OPEN, -EROFS, true},
		{UNLINK, "unlink: EPERM", -EPERM, NO_OPEN, -EPERM, true},
	};

	for (unsigned i = 0; i < COUNT(named); i++) {
		lacks.nameless = true;
		ok(sweep(&named[i], false) == 1, "%s", named[i].name);
	}
	memset(&lacks, 0, sizeof lacks);
}

/* The file grows by smaller and smaller steps, so that the last slot of the disk is used. */
static void the_last_slot_of_a_disk_is_used(void)
{
	enum { SLOTS = 37 };
	reel_store *store = open_store(options_of(way));
	struct reel_extent extent;
	unsigned n = 0;

	lacks.bytes = SLOTS * file_of(store)->slots.slot_bytes;
	lacks.taken = 0;
	while (!put_one(store, n, &extent) && n <= SLOTS)
		n++;
	is_int(n, SLOTS, "every slot that a disk has room for is used");
	is_int(tickets[0].error, -ENOSPC, "the disk is full after its last slot");
	lacks.bytes *= 2;
	is_int(put_one(store, n, &extent), 0, "a slot is used when the disk has room again");
	reel_store_close(store);
	memset(&lacks, 0, sizeof lacks);
}

/* No store allocates room that another one needs. */
static void stores_share_a_disk(void)
{
	enum { STORES = 3, SLOTS = 75 };
	reel_store *store[STORES];
	struct reel_extent extent;
	unsigned failed = 0;

	store[0] = open_store(options_of(way));
	for (unsigned i = 1; i < STORES; i++)
		store[i] = open_store(options_of(way));
	lacks.bytes = 4 * SLOTS * file_of(store[0])->slots.slot_bytes;
	lacks.taken = 0;
	for (unsigned i = 0; i < STORES; i++) {
		for (unsigned n = 0; n < SLOTS; n++)
			failed += put_one(store[i], n, &extent) != 0;
		is_int(failed, 0, "store %u has room on a disk that is a third larger than all", i);
	}
	for (unsigned i = 0; i < STORES; i++)
		reel_store_close(store[i]);
	memset(&lacks, 0, sizeof lacks);
}

/* The lowest free slot is used first, except one that has just failed. */
static void a_slot_that_cannot_be_written_is_not_used_again(void)
{
	reel_store *store = open_store(options_of(way));
	struct reel_extent extent;

	memset(&seen, 0, sizeof seen);
	arm(WRITE, -EIO, 1, false);
	is_int(put_one(store, 0, &extent), -EIO, "a slot that cannot be written is an error");
	disarm();
	is_int(capacity_of(store).used_bytes, 0, "a slot that cannot be written counts as unused");
	is_int(put_one(store, 1, &extent), 0, "the next put succeeds");
	is_int(slot_number(store, extent), 1, "the next put takes another slot");
	reel_store_drop(store, extent);
	is_int(put_one(store, 2, &extent), 0, "a put that succeeded");
	is_int(slot_number(store, extent), 1, "a put that succeeded leaves its slot for the next");
	reel_store_close(store);
}

/* Errors of a write of slot 0, with the slot that the next put gets. */
static const struct {
	int error;
	const char *name;
	uint64_t next;
} refusals[] = {
	{-ENODATA, "ENODATA", 1}, {-ETIMEDOUT, "ETIMEDOUT", 1}, {-ENOLINK, "ENOLINK", 1},
	{-EILSEQ, "EILSEQ", 1},   {-ENOSPC, "ENOSPC", 0},       {-EDQUOT, "EDQUOT", 0},
	{-EFBIG, "EFBIG", 0},     {-ENOMEM, "ENOMEM", 0},       {-EINVAL, "EINVAL", 0},
	{-EFAULT, "EFAULT", 0},
};

/* A disk may report a bad place by any of many errors. */
static void only_errors_of_a_slot_cost_it(void)
{
	for (unsigned i = 0; i < COUNT(refusals); i++) {
		reel_store *store = open_store(options_of(way));
		struct reel_extent extent;

		arm(WRITE, refusals[i].error, 1, false);
		is_int(put_one(store, 0, &extent), refusals[i].error, "%s is told",
		       refusals[i].name);
		disarm();
		is_int(put_one(store, 1, &extent), 0, "the next put succeeds");
		is_int(slot_number(store, extent), refusals[i].next, "%s slot",
		       refusals[i].next ? "in another" : "in the same");
		reel_store_close(store);
	}
}

/* All slots of a full file were bad. They are tried in turn, and are good again. */
static void bad_slots_are_tried_again_before_there_is_no_room(void)
{
	enum { SLOTS = 3 };
	static const uint64_t order[SLOTS] = {1, 2, 0};
	struct reel_file_options options = options_of(way);
	reel_store *store = open_store(options);
	uint64_t slot_bytes = file_of(store)->slots.slot_bytes;
	struct reel_extent extent;

	reel_store_close(store);
	options.max_bytes = SLOTS * slot_bytes;
	store = open_store(options);
	arm(WRITE, -EIO, 1, true);
	for (unsigned i = 0; i < SLOTS; i++) {
		is_int(put_one(store, i, &extent), -EIO, "a slot that cannot be written");
		is_int(capacity_of(store).total_bytes, (SLOTS - 1 - i) * slot_bytes,
		       "a slot that cannot be written is no room any more");
	}
	is_int(put_one(store, 0, &extent), -EIO,
	       "a slot that cannot be written is tried again where there is no other one");
	is_int(capacity_of(store).total_bytes, 0,
	       "a slot that cannot be written is no room as before");
	disarm();
	for (unsigned i = 0; i < SLOTS; i++) {
		is_int(put_one(store, i, &extent), 0, "a slot is used once it can be written");
		is_int(slot_number(store, extent), order[i], "each is tried in its turn");
		is_int(capacity_of(store).total_bytes, (i + 1) * slot_bytes,
		       "a slot that can be written is room again");
	}
	is_int(put_one(store, 0, &extent), -ENOSPC, "the file is full when all slots are used");
	ok(get_one(store, SLOTS - 1, (struct reel_extent){0, SLOT}),
	   "the full file has what was put");
	reel_store_close(store);
}

/* The first write, by which the store finds out the way of writing, would raise a signal. */
static void a_limit_below_a_block_is_met(void)
{
	struct reel_file_options options = options_of(way);
	reel_store *store;
	pid_t child = fork_with_timeout();

	if (child == 0) {
		lacks.alignment = true;
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 0, .rlim_max = 0});
		is_int(reel_store_file_open(&store, &options), -EFBIG, "the error");
		tap_child_end();
	}
	ok(tap_child_passed(child), "a limit of the file's size below a block is an error");
}

int main(void)
{
	tap_begin();
	for (way = ways; way < ways + COUNT(ways); way++) {
		tap_case(way->name);
		if (!way_is_there(way)) {
			tap_skip(1, "files here cannot be used by %s", way->name);
			continue;
		}
		every_request_fails();
		requests_of_parts_fail();
		it_does_without();
		names_are_refused();
		the_last_slot_of_a_disk_is_used();
		stores_share_a_disk();
		a_slot_that_cannot_be_written_is_not_used_again();
		only_errors_of_a_slot_cost_it();
		bad_slots_are_tried_again_before_there_is_no_room();
		a_limit_below_a_block_is_met();
	}
	return tap_end();
}
