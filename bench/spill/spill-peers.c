/* SPDX-License-Identifier: MIT */
/*
 * Other ways to keep a tape that outgrows memory: a file that is mapped, and one
 * written and read by stdio; and plain transfers of slabs, the limit of the disk.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spill.h"

/* Pieces in which resident memory is dropped: one is in use, two are being written. */
#define WINDOWS 4
#define MAX_THREADS 4

static void fail(const char *what)
{
	fprintf(stderr, "reel-bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int try_file(int flags)
{
	char path[4096];
	int file = -1;

#ifdef O_TMPFILE
	file = open(bench_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
#endif
	if (file >= 0)
		return file;
	snprintf(path, sizeof path, "%s/reel-bench-XXXXXX", bench_directory());
	file = mkostemp(path, O_CLOEXEC | flags);
	if (file >= 0)
		unlink(path);
	return file;
}

/* If a file system has no direct transfers, plain ones serve, as in Reel. */
int spill_file(bool direct)
{
	int file = -1;

#ifdef O_DIRECT
	if (direct)
		file = try_file(O_DIRECT);
#endif
	if (file < 0)
		file = try_file(0);
	if (file < 0)
		fail(bench_directory());
	return file;
}

/* ---- Plain transfers ---- */

struct transfers {
	const struct spill_plain *plain;
	bool write;
	size_t blocks;
	_Atomic size_t next;
};

/*
 * As large a memory as the tape may have takes turns, as a tape's slabs do: one block
 * that stays in the cache would be moved faster.
 */
static void transfer_block(const struct transfers *all, size_t block)
{
	char *memory = all->plain->memory + block * SPILL_SLAB_BYTES % all->plain->budget;
	off_t offset = (off_t)(block * SPILL_SLAB_BYTES);
	ssize_t moved = all->write ? pwrite(all->plain->file, memory, SPILL_SLAB_BYTES, offset)
				   : pread(all->plain->file, memory, SPILL_SLAB_BYTES, offset);

	if (moved != (ssize_t)SPILL_SLAB_BYTES)
		fail("a plain transfer");
}

static size_t next_of(struct transfers *all)
{
	/* Relaxed: whose block it is, is all that is told. */
	return atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
}

/* Written in ascending order, read in descending order. */
static void *transfer_some(void *argument)
{
	struct transfers *all = argument;
	size_t block;

	while ((block = next_of(all)) < all->blocks)
		transfer_block(all, all->write ? block : all->blocks - 1 - block);
	return NULL;
}

/* One of the threads is the caller. */
static double transfer(struct spill_plain *plain, bool write, size_t bytes)
{
	struct transfers all = {.plain = plain, .write = write,
				.blocks = (bytes - plain->budget) / SPILL_SLAB_BYTES};
	pthread_t threads[MAX_THREADS];
	unsigned started = 0;

	while (started + 1 < plain->threads)
		if (pthread_create(&threads[started++], NULL, transfer_some, &all))
			abort();
	transfer_some(&all);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	return (double)all.blocks;
}

void spill_plain_open(struct spill_plain plain[2], size_t tape_bytes, size_t budget)
{
	plain[0] = (struct spill_plain){
		.file = spill_file(true),
		.budget = budget,
		.memory = bench_memory(budget),
		.threads = 1,
	};
	plain[1] = plain[0];
	plain[1].threads = MAX_THREADS;
	transfer(plain, true, tape_bytes);
}

void spill_plain_close(struct spill_plain plain[2])
{
	bench_memory_free(plain->memory, plain->budget);
	close(plain->file);
}

double spill_plain_write(void *context, size_t bytes)
{
	return transfer(context, true, bytes);
}

double spill_plain_read(void *context, size_t bytes)
{
	return transfer(context, false, bytes);
}

double spill_plain_both(void *context, size_t bytes)
{
	return spill_plain_write(context, bytes) + spill_plain_read(context, bytes);
}

/* ---- Through the page cache: how both peers stay within the budget ---- */

static size_t window_bytes(const struct spill_peer *peer)
{
	return peer->budget / WINDOWS;
}

static void begin_writing(const struct spill_peer *peer, size_t offset)
{
#ifdef SYNC_FILE_RANGE_WRITE
	sync_file_range(peer->file, (off_t)offset, (off_t)window_bytes(peer),
			SYNC_FILE_RANGE_WRITE);
#else
	(void)peer;
	(void)offset;
#endif
}

static void finish_writing(const struct spill_peer *peer, size_t offset)
{
#ifdef SYNC_FILE_RANGE_WRITE
	sync_file_range(peer->file, (off_t)offset, (off_t)window_bytes(peer),
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
#else
	(void)offset;
	fdatasync(peer->file);
#endif
}

static void drop_window(const struct spill_peer *peer, size_t offset)
{
	if (peer->mapping)
		madvise(peer->mapping + offset, window_bytes(peer), MADV_DONTNEED);
	posix_fadvise(peer->file, (off_t)offset, (off_t)window_bytes(peer), POSIX_FADV_DONTNEED);
}

/* A window ends at this place: it is written, and the one that was long ago is dropped. */
static void leave_upwards(const struct spill_peer *peer, size_t end)
{
	size_t window = window_bytes(peer);

	if (end % window)
		return;
	begin_writing(peer, end - window);
	if (end < (WINDOWS - 1) * window)
		return;
	finish_writing(peer, end - (WINDOWS - 1) * window);
	drop_window(peer, end - (WINDOWS - 1) * window);
}

/*
 * Between two sweeps nothing is resident, and nothing still being written. A mapped
 * file becomes one of zeros, without giving its blocks back: else pages would be read
 * before they are overwritten, unlike the pages of a new file.
 */
void spill_peer_forget(void *context, size_t bytes)
{
	struct spill_peer *peer = context;

	peer->load.mix = 0;
	fdatasync(peer->file);
	posix_fadvise(peer->file, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
	if (!peer->mapping)
		return;
#ifdef FALLOC_FL_ZERO_RANGE
	if (!fallocate(peer->file, FALLOC_FL_ZERO_RANGE, 0, (off_t)bytes))
		return;
#endif
	if (ftruncate(peer->file, 0) || ftruncate(peer->file, (off_t)bytes))
		fail("a file to map");
}

/* ---- A mapped file ---- */

void spill_mapped_open(struct spill_peer *peer, size_t bytes, size_t budget)
{
	*peer = (struct spill_peer){.file = spill_file(false), .budget = budget};
	if (ftruncate(peer->file, (off_t)bytes))
		fail("a file to map");
	peer->mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, peer->file, 0);
	if (peer->mapping == MAP_FAILED)
		fail("a mapped file");
}

void spill_mapped_close(struct spill_peer *peer, size_t bytes)
{
	munmap(peer->mapping, bytes);
	close(peer->file);
}

double spill_mapped_push(void *context, size_t bytes)
{
	struct spill_peer *peer = context;

	for (size_t offset = 0; offset < bytes; offset += SPILL_SPAN_BYTES) {
		spill_fill(&peer->load, (double *)(peer->mapping + offset),
			   offset / sizeof(double));
		leave_upwards(peer, offset + SPILL_SPAN_BYTES);
	}
	return (double)peer->load.sink;
}

/* Without being asked in advance, the system reads a mapping that is used backwards piecemeal. */
static void leave_downwards(const struct spill_peer *peer, size_t offset)
{
	size_t window = window_bytes(peer);

	if (offset % window)
		return;
	drop_window(peer, offset);
	if (offset >= 2 * window)
		madvise(peer->mapping + offset - 2 * window, window, MADV_WILLNEED);
}

double spill_mapped_pop(void *context, size_t bytes)
{
	struct spill_peer *peer = context;

	for (size_t offset = bytes; offset > 0;) {
		offset -= SPILL_SPAN_BYTES;
		spill_use(&peer->load, (const double *)(peer->mapping + offset));
		leave_downwards(peer, offset);
	}
	spill_demand_all_read(&peer->load, "a mapped file");
	return (double)peer->load.sink;
}

void spill_mapped_before_pop(void *context, size_t bytes)
{
	spill_mapped_push(context, bytes);
}

/* ---- stdio ---- */

void spill_stdio_open(struct spill_peer *peer, size_t budget)
{
	FILE *stream;

	*peer = (struct spill_peer){.file = spill_file(false), .budget = budget,
				    .block = bench_memory(SPILL_SLAB_BYTES)};
	stream = fdopen(peer->file, "w+");
	if (!stream || setvbuf(stream, NULL, _IOFBF, MIB))
		fail("a stream");
	peer->stream = stream;
}

void spill_stdio_close(struct spill_peer *peer)
{
	bench_memory_free(peer->block, SPILL_SLAB_BYTES);
	fclose(peer->stream);
}

double spill_stdio_push(void *context, size_t bytes)
{
	struct spill_peer *peer = context;

	rewind(peer->stream);
	for (size_t offset = 0; offset < bytes; offset += SPILL_SPAN_BYTES) {
		spill_fill(&peer->load, peer->block, offset / sizeof(double));
		if (fwrite(peer->block, SPILL_SPAN_BYTES, 1, peer->stream) != 1)
			fail("fwrite");
		leave_upwards(peer, offset + SPILL_SPAN_BYTES);
	}
	if (fflush(peer->stream))
		fail("fflush");
	return (double)peer->load.sink;
}

static void read_block(struct spill_peer *peer, size_t offset)
{
	if (fseeko(peer->stream, (off_t)offset, SEEK_SET) ||
	    fread(peer->block, SPILL_SLAB_BYTES, 1, peer->stream) != 1)
		fail("fread");
}

double spill_stdio_pop(void *context, size_t bytes)
{
	struct spill_peer *peer = context;

	for (size_t offset = bytes; offset > 0;) {
		offset -= SPILL_SLAB_BYTES;
		read_block(peer, offset);
		for (size_t span = SPILL_SLAB_BYTES / SPILL_SPAN_BYTES; span-- > 0;)
			spill_use(&peer->load, peer->block + span * SPILL_SPAN);
		if (offset % window_bytes(peer) == 0)
			drop_window(peer, offset);
	}
	spill_demand_all_read(&peer->load, "a stream");
	return (double)peer->load.sink;
}

void spill_stdio_before_pop(void *context, size_t bytes)
{
	spill_stdio_push(context, bytes);
}
