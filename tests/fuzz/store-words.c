/* SPDX-License-Identifier: MIT */
/*
 * Compares how descriptions of stores, and sizes in bytes, are read with a second reader. A store
 * that opens gives back the data that is put to it.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "os/environment.h"
#include "fuzz.h"
#include "targets.h"

enum { PUTS = 3, PUT_BYTES = 512 };

/* Reads a number with an optional unit, up to the end of a word. 0, -EINVAL or -ERANGE. */
static int read_bytes(const char *text, size_t *bytes)
{
	static const char units[] = "KMGT";
	uint64_t number;
	bool huge;
	size_t digits = fuzz_digits(text, &number, &huge), point = digits;
	bool has_point = digits && text[digits] == '.';
	uint64_t behind = 0, of = 1;
	const char *unit;
	unsigned shift;

	for (digits += has_point; has_point && text[digits] >= '0' && text[digits] <= '9'; digits++)
		if (digits <= point + 7) {
			behind = 10 * behind + (uint64_t)(text[digits] - '0');
			of *= 10;
		}
	unit = text[digits] && text[digits] != ',' ? strchr(units, text[digits]) : NULL;
	shift = unit ? 10 * (1 + (unsigned)(unit - units)) : 0;
	if (!digits)
		return -EINVAL;
	/* A number that is too large is reported before an error behind it. */
	if (huge)
		return -ERANGE;
	digits += unit != NULL;
	if ((text[digits] && text[digits] != ',') || (has_point && (!unit || of == 1)))
		return -EINVAL;
	if (number > SIZE_MAX >> shift)
		return -ERANGE;
	*bytes = (size_t)(number << shift) + (size_t)((behind << shift) / of);
	return 0;
}

static bool is_word(const char *word, size_t length, bool last)
{
	size_t value;

	/* A word has at most 31 bytes. */
	if (length > 31)
		return false;
	if (length == 4 && !memcmp(word, "file", 4))
		return true;
	if (length > 7 && !memcmp(word, "memory=", 7))
		return !read_bytes(word + 7, &value) && value;
	if (length == 3 && !memcmp(word, "gpu", 3))
		return true;
	if (length > 4 && !memcmp(word, "gpu=", 4))
		return !read_bytes(word + 4, &value) && value;
	if (last)
		return false;
	if (length == 3 && !memcmp(word, "lz4", 3))
		return true;
	return length > 4 && !memcmp(word, "lz4=", 4) &&
	       !read_bytes(word + 4, &value) && value && value <= UINT32_MAX;
}

static bool is_description(const char *text)
{
	for (unsigned words = 1;; words++) {
		size_t length = strcspn(text, ",");

		if (words > REEL_MAX_LAYERS || !is_word(text, length, !text[length]))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

/* ---- A store that opens ---- */

static void use(reel_store *store)
{
	struct reel_store_capacity capacity;
	reel_transfer put[PUTS] = {{0}};
	unsigned char *data, *got;
	size_t bytes;

	reel_store_get_capacity(store, &capacity);
	FUZZ_EXPECT(capacity.verified && capacity.align && capacity.align <= 65536);
	bytes = (PUT_BYTES + capacity.align - 1) / capacity.align * capacity.align;
	data = aligned_alloc(capacity.align < 64 ? 64 : capacity.align, (bytes + 63) / 64 * 64);
	got = aligned_alloc(capacity.align < 64 ? 64 : capacity.align, (bytes + 63) / 64 * 64);
	FUZZ_EXPECT(data && got);
	memset(data, 0, bytes);
	for (unsigned i = 0; i < PUTS; i++) {
		data[i] = (unsigned char)i;
		put[i] = (reel_transfer){.data = data, .bytes = bytes, .label = {1, i, 2}};
		reel_store_put_and_wait(store, &put[i]);
		FUZZ_EXPECT(!put[i].error || put[i].error == -ENOSPC || put[i].error == -EMSGSIZE);
	}
	for (unsigned i = 0; i < PUTS; i++) {
		if (put[i].error)
			continue;
		put[i].data = got;
		FUZZ_EXPECT(!reel_store_get_and_wait(store, &put[i]));
		FUZZ_EXPECT(i + 1 < PUTS || !memcmp(got, data, bytes));
		FUZZ_EXPECT(got[0] == 0 && (i == 0 || got[i] == i));
		reel_store_drop(store, put[i].extent);
	}
	free(data);
	free(got);
}

static void check_description(const char *text, const char *directory)
{
	bool right = is_description(text);
	reel_store *store = NULL;
	int error = reel_store_open(&store, text, directory);

	if (!right) {
		FUZZ_EXPECT(error == -EINVAL);
	} else {
		/* LZ4, memory, a GPU or a usable directory may be missing. */
		FUZZ_EXPECT(error == 0 || error == -ENOTSUP || error == -ENOMEM ||
			    (error == -ENODEV && strstr(text, "gpu")) ||
			    ((error == -ENOENT || error == -EINVAL) && strstr(text, "file")));
	}
	if (error) {
		FUZZ_EXPECT(*reel_error_text(0));
		return;
	}
	use(store);
	reel_store_close(store);
}

/* A comma ends a word in descriptions, but not in sizes. */
static void check_bytes(const char *text)
{
	size_t bytes = 0, right = 0;
	int error = reel_parse_bytes(text, &bytes);

	if (strchr(text, ','))
		return;
	FUZZ_EXPECT(error == read_bytes(text, &right));
	FUZZ_EXPECT(bytes == right);
}

int fuzz_store_words(const uint8_t *data, size_t size)
{
	char *text = fuzz_allocate(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_bytes(text);
	check_description(text, size % 16 ? "/no/such/directory" : ".");
	free(text);
	return 0;
}
