/* SPDX-License-Identifier: MIT */
/*
 * A store of one's own: pieces of memory become rows of a temporary SQLite database, which
 * SQLite removes.
 *
 * Every transfer is complete before put or get returns, so nothing here needs a
 * lock. The pool puts a checksum on top, which finds out if a row comes back changed.
 */
#include <reel.h>
#include <reel/extend.h>
#include <reel/plan.h>
#include <sqlite3.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sqlite_store {
	reel_store store; /* comes first */
	sqlite3 *database;
	sqlite3_stmt *insert, *select, *delete;
	uint64_t used_bytes;
};

static int error_of(int status)
{
	switch (status) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
		return -EBADMSG;
	default:
		return -EIO;
	}
}

static void put(reel_store *store, reel_transfer *transfer)
{
	struct sqlite_store *own = (struct sqlite_store *)store;
	sqlite3_stmt *insert = own->insert;
	int status, error = 0;

	sqlite3_bind_blob(insert, 1, transfer->header, sizeof transfer->header, SQLITE_STATIC);
	sqlite3_bind_blob64(insert, 2, transfer->data, transfer->bytes, SQLITE_STATIC);
	status = sqlite3_step(insert);
	sqlite3_reset(insert);
	sqlite3_clear_bindings(insert);
	if (status == SQLITE_DONE) {
		transfer->extent.location = (uint64_t)sqlite3_last_insert_rowid(own->database);
		transfer->extent.bytes = transfer->bytes;
		own->used_bytes += transfer->bytes;
	} else {
		error = error_of(status);
	}
	reel_transfer_complete(transfer, error);
}

/* Returns 0, or -EBADMSG if the row does not hold the bytes that were put. */
static int read_row(sqlite3_stmt *row, reel_transfer *transfer)
{
	if (sqlite3_column_bytes(row, 0) != sizeof transfer->header ||
	    (size_t)sqlite3_column_bytes(row, 1) != transfer->bytes)
		return -EBADMSG;
	memcpy(transfer->header, sqlite3_column_blob(row, 0), sizeof transfer->header);
	memcpy(transfer->data, sqlite3_column_blob(row, 1), transfer->bytes);
	return 0;
}

static void get(reel_store *store, reel_transfer *transfer)
{
	sqlite3_stmt *select = ((struct sqlite_store *)store)->select;
	int status, error;

	sqlite3_bind_int64(select, 1, (sqlite3_int64)transfer->extent.location);
	status = sqlite3_step(select);
	error = status == SQLITE_ROW ? read_row(select, transfer) : error_of(status);
	sqlite3_reset(select);
	reel_transfer_complete(transfer, error);
}

static void drop(reel_store *store, struct reel_extent extent)
{
	struct sqlite_store *own = (struct sqlite_store *)store;

	sqlite3_bind_int64(own->delete, 1, (sqlite3_int64)extent.location);
	sqlite3_step(own->delete);
	sqlite3_reset(own->delete);
	own->used_bytes -= extent.bytes;
}

static int sync_transfers(reel_store *store, int64_t timeout_ns)
{
	(void)store;
	(void)timeout_ns;
	return 0;
}

static void capacity(reel_store *store, struct reel_store_capacity *to)
{
	*to = (struct reel_store_capacity){
		.total_bytes = UINT64_MAX,
		.used_bytes = ((struct sqlite_store *)store)->used_bytes,
		.align = 1,
		.best_depth = 1,
	};
}

static void close_store(reel_store *store)
{
	struct sqlite_store *own = (struct sqlite_store *)store;

	sqlite3_finalize(own->insert);
	sqlite3_finalize(own->select);
	sqlite3_finalize(own->delete);
	sqlite3_close(own->database);
	free(own);
}

static const struct reel_store_verbs verbs = {
	.name = "sqlite",
	.put = put,
	.get = get,
	.drop = drop,
	.sync = sync_transfers,
	.capacity = capacity,
	.close = close_store,
};

/* The name "" is a database of this process alone: one of the user's may have a table `slab`. */
static bool prepare(struct sqlite_store *own)
{
	static const char set_up[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
				     "CREATE TABLE slab "
				     "(location INTEGER PRIMARY KEY, header BLOB, data BLOB)";
	static const char insert[] = "INSERT INTO slab (header, data) VALUES (?, ?)";
	static const char select[] = "SELECT header, data FROM slab WHERE location = ?";
	static const char delete[] = "DELETE FROM slab WHERE location = ?";

	return !sqlite3_open("", &own->database) &&
	       !sqlite3_exec(own->database, set_up, NULL, NULL, NULL) &&
	       !sqlite3_prepare_v2(own->database, insert, -1, &own->insert, NULL) &&
	       !sqlite3_prepare_v2(own->database, select, -1, &own->select, NULL) &&
	       !sqlite3_prepare_v2(own->database, delete, -1, &own->delete, NULL);
}

static int open_store(reel_store **store)
{
	struct sqlite_store *own = calloc(1, sizeof *own);

	if (!own)
		return -ENOMEM;
	own->store.verbs = &verbs;
	if (!prepare(own)) {
		fprintf(stderr, "store-sqlite: %s\n", sqlite3_errmsg(own->database));
		close_store(&own->store);
		return -EIO;
	}
	*store = &own->store;
	return 0;
}

/* A sweep up and down, of more than the pool has memory for. Returns how many values were wrong. */
static long sweep(reel_pool *pool, long values)
{
	reel_tape tape;
	long wrong = 0;

	reel_tape_open(&tape, pool, 0);
	for (long i = 0; i < values; i++)
		reel_push(&tape, (double)i);
	for (long i = values; i-- > 0;)
		wrong += reel_pop(&tape, double) != (double)i;
	reel_tape_close(&tape);
	return wrong;
}

int main(void)
{
	struct reel_pool_options options = {
		.hard_budget = (size_t)8 << 20,
		.slab_bytes = (size_t)256 << 10,
	};
	struct reel_pool_stats stats;
	reel_pool *pool;
	long wrong;

	if (open_store(&options.store))
		return EXIT_FAILURE;
	if (reel_pool_open(&pool, &options)) {
		reel_store_close(options.store);
		return EXIT_FAILURE;
	}
	wrong = sweep(pool, 5L << 20);
	reel_pool_get_stats(pool, &stats);
	reel_pool_close(pool);
	printf("# %.1f MB in memory at most, %.1f MB put to the database, %.1f MB got back\n",
	       (double)stats.peak_resident_bytes / 1e6, (double)stats.written_bytes / 1e6,
	       (double)stats.read_bytes / 1e6);
	printf("%s 1 - a tape of 40 MiB comes back from memory for 8 MiB and SQLite\n1..1\n",
	       wrong || !stats.read_bytes ? "not ok" : "ok");
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
