/* SPDX-License-Identifier: MIT */
/*
 * A store of one's own: pieces of memory become rows of an SQLite database.
 *
 *	store-sqlite [DATABASE]        without a name: a temporary one
 *
 * Every transfer is complete before put or get returns, so nothing here needs a
 * lock. The checksum layer on top finds out if a row comes back changed.
 */
#include <reel.h>
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
		transfer->place.location = (uint64_t)sqlite3_last_insert_rowid(own->database);
		transfer->place.bytes = transfer->bytes;
		own->used_bytes += transfer->bytes;
	} else {
		error = error_of(status);
	}
	reel_transfer_complete(transfer, error);
}

/* Returns 0, or -EBADMSG if the row does not hold what was put. */
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

	sqlite3_bind_int64(select, 1, (sqlite3_int64)transfer->place.location);
	status = sqlite3_step(select);
	error = status == SQLITE_ROW ? read_row(select, transfer) : error_of(status);
	sqlite3_reset(select);
	reel_transfer_complete(transfer, error);
}

static void drop(reel_store *store, struct reel_place place)
{
	struct sqlite_store *own = (struct sqlite_store *)store;

	sqlite3_bind_int64(own->delete, 1, (sqlite3_int64)place.location);
	sqlite3_step(own->delete);
	sqlite3_reset(own->delete);
	own->used_bytes -= place.bytes;
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
		.best_bytes = 1 << 20,
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

static bool prepare(struct sqlite_store *own, const char *name)
{
	static const char set_up[] = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
				     "DROP TABLE IF EXISTS slab;"
				     "CREATE TABLE slab "
				     "(location INTEGER PRIMARY KEY, header BLOB, data BLOB)";
	static const char insert[] = "INSERT INTO slab (header, data) VALUES (?, ?)";
	static const char select[] = "SELECT header, data FROM slab WHERE location = ?";
	static const char delete[] = "DELETE FROM slab WHERE location = ?";

	return !sqlite3_open(name, &own->database) &&
	       !sqlite3_exec(own->database, set_up, NULL, NULL, NULL) &&
	       !sqlite3_prepare_v2(own->database, insert, -1, &own->insert, NULL) &&
	       !sqlite3_prepare_v2(own->database, select, -1, &own->select, NULL) &&
	       !sqlite3_prepare_v2(own->database, delete, -1, &own->delete, NULL);
}

/* name: "" is a temporary database. */
static int open_store(reel_store **store, const char *name)
{
	struct sqlite_store *own = calloc(1, sizeof *own);

	if (!own)
		return -ENOMEM;
	own->store.verbs = &verbs;
	if (!prepare(own, name)) {
		fprintf(stderr, "store-sqlite: %s: %s\n", name, sqlite3_errmsg(own->database));
		close_store(&own->store);
		return -EIO;
	}
	*store = &own->store;
	return 0;
}

/* Put pieces, get them back last in, first out, and drop them. Returns how many were wrong. */
static int round_trip(reel_store *store)
{
	enum { PIECES = 16, WORDS = 4096 };
	static uint64_t data[WORDS];
	struct reel_place place[PIECES];
	reel_transfer transfer = {.data = data, .bytes = sizeof data};
	int wrong = 0;

	for (unsigned p = 0; p < PIECES; p++) {
		for (uint64_t i = 0; i < WORDS; i++)
			data[i] = i * i + p;
		transfer.label.serial = p;
		if (reel_store_put_and_wait(store, &transfer))
			return PIECES;
		place[p] = transfer.place;
	}
	for (unsigned p = PIECES; p-- > 0;) {
		memset(data, 0, sizeof data);
		transfer.label.serial = p;
		transfer.place = place[p];
		if (reel_store_get_and_wait(store, &transfer) ||
		    data[WORDS - 1] != (uint64_t)(WORDS - 1) * (WORDS - 1) + p)
			wrong++;
		reel_store_drop(store, place[p]);
	}
	return wrong;
}

int main(int arguments, char **argument)
{
	reel_store *database, *store;
	int wrong;

	if (open_store(&database, arguments > 1 ? argument[1] : ""))
		return EXIT_FAILURE;
	if (reel_store_checksum_open(&store, database)) {
		reel_store_close(database);
		return EXIT_FAILURE;
	}
	wrong = round_trip(store);
	reel_store_close(store);
	printf("%s 1 - pieces come back from SQLite as they were put\n1..1\n",
	       wrong ? "not ok" : "ok");
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
