/* SPDX-License-Identifier: MIT */
/* Tests opening stacks of stores by their descriptions. */
#include <config.h>

#include <errno.h>
#include <unistd.h>

#include <reel/extend.h>

#include "helpers/store-suite.h"
#include "helpers/support.h"

static const struct {
	const char *description;
	const char *name; /* of the top store */
	bool compresses;
} good[] = {
	{"memory=1", "checksum", false},
	{"memory=64K", "checksum", false},
	{"memory=2G", "checksum", false},
#if SIZE_MAX > UINT32_MAX
	{"memory=1T", "checksum", false},
#endif
	{"memory=1M,memory=2M", "checksum", false},
	{"memory=1M,memory=2M,memory=3M,memory=4M,memory=5M,memory=6M,memory=7M,memory=8M",
	 "checksum", false},
	{"lz4,memory=1M", "checksum", true},
	{"lz4=1000,memory=1M", "checksum", true},
	{"memory=1M,lz4,memory=2G", "checksum", true},
	{"lz4,lz4=3,memory=2G", "checksum", true},
	{"lz4,memory=1M,memory=1M", "checksum", true},
};

static bool comes_back(reel_store *store, size_t bytes)
{
	unsigned char *data = suite_allocate(bytes);
	reel_transfer transfer = {.data = data, .bytes = bytes};
	bool right;

	suite_fill(data, bytes, 1);
	right = !reel_store_put_and_wait(store, &transfer);
	memset(data, 0, bytes);
	right = right && !reel_store_get_and_wait(store, &transfer) &&
		suite_is_filled(data, bytes, 1);
	free(data);
	return right;
}

static void good_descriptions_open(void)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		reel_store *store;
		struct reel_store_capacity capacity;
		int error = reel_store_open(&store, good[i].description, NULL);

		if (good[i].compresses && !HAVE_LZ4) {
			is_int(error, -ENOTSUP, "%s needs LZ4", good[i].description);
			continue;
		}
		if (!is_int(error, 0, "%s opens", good[i].description))
			continue;
		is_string(store->verbs->name, good[i].name, "%s is a %s", good[i].description,
			  good[i].name);
		reel_store_get_capacity(store, &capacity);
		ok(capacity.verified, "%s is verified", good[i].description);
		ok(comes_back(store, i ? 4096 : 1), "%s keeps a piece", good[i].description);
		reel_store_close(store);
	}
}

/* Wrong descriptions, with the text that the message must have. */
static const struct {
	const char *description, *named;
} bad[] = {
	{"", "\"\""},
	{"fire", "\"fire\""},
	{"fire", "file, memory=BYTES, gpu, gpu=BYTES, lz4 or lz4=STRIDE"},
	{"file ", "\"file \""},
	{" file", "\" file\""},
	{"files", "\"files\""},
	{"memory", "\"memory\""},
	{"memory=", "\"memory=\""},
	{"memory=x", "\"memory=x\""},
	{"memory=1X", "as in memory=512M"},
	{"memory=-1", "\"memory=-1\""},
	{"memory=1MB", "\"memory=1MB\""},
	{"memory=0", "1 to"},
	{"memory=99999999999999999T", "too large"},
	{"lz4", "lz4,file"},
	{"memory=1M,lz4", "lz4,file"},
	{"lz5,memory=1M", "\"lz5\""},
	{"lz4=,memory=1M", "\"lz4=\""},
	{"lz4=0,memory=1M", "\"lz4=0\""},
	{"lz4=-3,memory=1M", "\"lz4=-3\""},
	{"lz4=4294967296,memory=1M", "\"lz4=4294967296\""},
	{"memory=1M,", "\"\""},
	{",memory=1M", "\"\""},
	{"memory=1M,,memory=1M", "\"\""},
	{"memory=1M;memory=2M", "\"memory=1M;memory=2M\""},
	{"MEMORY=1M", "\"MEMORY=1M\""},
	{"a word that is much longer than any that is known, memory=1M", "\"a word that is much"},
	{"memory=00000000000000000000512Kbytes", "\"memory=00000000000000000000512"},
	{"lz4,lz4,lz4,lz4,lz4,lz4,lz4,lz4,memory=1M", "8"},
};

static void bad_descriptions_are_refused(void)
{
	for (size_t i = 0; i < COUNT(bad); i++) {
		reel_store *store = NULL;
		int error = reel_store_open(&store, bad[i].description, NULL);

		ok(error == -EINVAL && !store, "\"%s\" is refused", bad[i].description);
		ok(strstr(reel_error_text(0), bad[i].named),
		   "the error says why: %s", reel_error_text(0));
	}
}

/* Stores that were opened before the error are closed. A sanitizer would report a leak. */
static void what_cannot_open_is_closed(void)
{
	static const char *const descriptions[] = {"memory=1M,lz4,file", "file,memory=1M"};

	for (size_t i = 0; i < COUNT(descriptions); i++) {
		reel_store *store = NULL;
		int error = reel_store_open(&store, descriptions[i], "/nowhere/at/all");

		ok(error && !store, "%s: a directory that is not there is refused",
		   descriptions[i]);
		ok(*reel_error_text(0), "the error says why: %s", reel_error_text(0));
	}
}

static void memory_goes_first(void)
{
	static unsigned char data[4096];
	reel_transfer transfer = {.data = data, .bytes = sizeof data};
	struct reel_store_capacity capacity;
	reel_store *store;
	unsigned in_second = 0, failed = 0;

	if (!ok(!reel_store_open(&store, "memory=8K,memory=64K", NULL), "two memories open"))
		return;
	reel_store_get_capacity(store, &capacity);
	is_int(capacity.total_bytes, (8 + 64) << 10, "two memories have the room of both");
	for (unsigned i = 0; i < 18; i++) {
		failed += reel_store_put_and_wait(store, &transfer) != 0;
		in_second += transfer.extent.location % 2;
		if (i == 1)
			is_int(in_second, 0, "the first two pieces are in the first one");
	}
	ok(!failed && in_second == 16, "all that follow are in the second one");
	is_int(reel_store_put_and_wait(store, &transfer), -ENOSPC,
	       "the next piece is refused when both are full");
	reel_store_close(store);
}

/* A store of the program reports its problem in the same way. */
static void a_store_can_say_its_problem(void)
{
	reel_store *store;

	is_int(reel_fail(-EIO, "drive %d is on fire", 3), -EIO, "a store refuses");
	is_string(reel_error_text(0), "drive 3 is on fire", "the store says why it refuses");
	is_int(reel_store_open(&store, "memory=1M", NULL), 0, "another one opens");
	is_string(reel_error_text(0), "no error", "a store that opens lacks nothing");
	reel_store_close(store);
}

int main(void)
{
	tap_begin();
	good_descriptions_open();
	bad_descriptions_are_refused();
	what_cannot_open_is_closed();
	memory_goes_first();
	a_store_can_say_its_problem();
	return tap_end();
}
