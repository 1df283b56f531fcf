/* SPDX-License-Identifier: MIT */
/*
 * Opens a stack of stores from its description. All words are read before the first store opens,
 * and the stack is built from the last word to the first. Any thread; on failure nothing stays
 * open.
 */
#include "store.h"

#include <errno.h>
#include <string.h>

#include "os/assert.h"
#include "os/environment.h"

#define MAX_WORD_BYTES 32

enum kind { FILE_LEAF, MEMORY_LEAF, GPU_LEAF, LZ4_LAYER };

struct word {
	enum kind kind;
	size_t value;
};

/* The words of a description. Each is a layer but the last one, a leaf. */
struct words {
	unsigned count;
	struct word word[REEL_MAX_LAYERS];
};

static int not_understood(const char *text)
{
	return reel_fail(-EINVAL,
			 "store \"%s\" is not understood: "
			 "it may be file, memory=BYTES, gpu, gpu=BYTES, lz4 or lz4=STRIDE",
			 text);
}

static int read_value(const char *text, const char *value, size_t most, struct word *word)
{
	switch (reel_parse_bytes(value, &word->value)) {
	case 0:
		break;
	case -ERANGE:
		return reel_fail(-EINVAL, "store \"%s\": the number is too large", text);
	default:
		return reel_fail(-EINVAL, "store \"%s\": a number must follow =, as in memory=512M",
				 text);
	}
	if (word->value == 0 || word->value > most)
		return reel_fail(-EINVAL, "store \"%s\": the number must be 1 to %zu", text, most);
	return 0;
}

static int read_word(const char *text, struct word *word)
{
	static const struct {
		const char *name;
		enum kind kind;
		bool needs_value;
		size_t most; /* of its value; 0: it has none */
	} known[] = {{"file", FILE_LEAF, false, 0}, {"memory", MEMORY_LEAF, true, SIZE_MAX},
		     {"gpu", GPU_LEAF, false, SIZE_MAX}, {"lz4", LZ4_LAYER, false, UINT32_MAX}};
	size_t length = strcspn(text, "=");

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strlen(known[i].name) != length || strncmp(text, known[i].name, length) != 0)
			continue;
		word->kind = known[i].kind;
		if (text[length] && known[i].most)
			return read_value(text, text + length + 1, known[i].most, word);
		return text[length] || known[i].needs_value ? not_understood(text) : 0;
	}
	return not_understood(text);
}

static int read_words(const char *description, struct words *words)
{
	const char *end;

	for (;; description = end + 1) {
		char text[MAX_WORD_BYTES] = "";
		size_t length = strcspn(description, ",");
		int error;

		end = description + length;
		if (words->count == REEL_MAX_LAYERS)
			return reel_fail(-EINVAL, "more than %d stores on each other",
					 REEL_MAX_LAYERS);
		memcpy(text, description, length < sizeof text ? length : sizeof text - 1);
		if (length >= sizeof text)
			return not_understood(text);
		error = read_word(text, &words->word[words->count++]);
		if (error)
			return error;
		if (!*end)
			break;
	}
	REEL_ASSERT(words->count > 0 && words->count <= REEL_MAX_LAYERS);
	if (words->word[words->count - 1].kind == LZ4_LAYER)
		return reel_fail(-EINVAL, "lz4 is the last word: "
					  "add a store to compress for, as in lz4,file");
	return 0;
}

static int open_leaf(reel_store **leaf, const struct word *word, const char *directory)
{
	struct reel_file_options file = {.directory = directory};

	REEL_ASSERT(word->kind != LZ4_LAYER);
	if (word->kind == FILE_LEAF)
		return reel_store_file_open(leaf, &file);
	return word->kind == GPU_LEAF ? reel_store_gpu_load(leaf, word->value)
				      : reel_store_memory_open(leaf, word->value);
}

static int open_codec(reel_store **store, const struct word *word, reel_store *below)
{
	struct reel_codec_options options = {.layout.stride = (unsigned)word->value};

	return reel_store_codec_open(store, below, &options);
}

/* A GPU store that cannot open is left out if another store stands behind it. */
static bool may_be_absent(const struct word *word, int error)
{
	return word->kind == GPU_LEAF && (error == -ENODEV || error == -ENOMEM);
}

/* Puts the store of a word in front of `behind`, which stays the caller's on failure. */
static int open_word(reel_store **store, const struct word *word, reel_store *behind,
		     const char *directory)
{
	reel_store *leaf;
	int error;

	REEL_ASSERT(word->kind != LZ4_LAYER || behind);
	if (word->kind == LZ4_LAYER)
		return open_codec(store, word, behind);
	error = open_leaf(&leaf, word, directory);
	if (behind && may_be_absent(word, error)) {
		*store = behind;
		return 0;
	}
	if (error || !behind) {
		*store = error ? NULL : leaf;
		return error;
	}
	error = reel_store_overflow_open(store, leaf, behind);
	if (error)
		reel_store_close(leaf);
	return error;
}

uint64_t reel_store_memory_bytes(const char *description)
{
	struct words words = {0};
	uint64_t bytes = 0;

	if (read_words(description, &words))
		return 0;
	for (unsigned i = 0; i < words.count; i++) {
		uint64_t more = words.word[i].kind == MEMORY_LEAF ? words.word[i].value : 0;

		bytes = bytes < UINT64_MAX - more ? bytes + more : UINT64_MAX;
	}
	return bytes;
}

int reel_store_open(reel_store **store, const char *description, const char *directory)
{
	struct words words = {0};
	reel_store *behind = NULL;
	int error;

	/* An earlier text would pass for the reason why a store is left out. */
	reel_fail(0, "%s", "");
	error = read_words(description ? description : "file", &words);

	for (unsigned i = words.count; i > 0 && !error; i--) {
		reel_store *opened = NULL;

		error = open_word(&opened, &words.word[i - 1], behind, directory);
		if (!error)
			behind = opened;
	}
	if (error) {
		reel_store_close(behind);
		return error;
	}
	REEL_ASSERT(behind);
	/* One checksum on top of all: it sees the damage of any store or codec below. */
	error = reel_store_checksum_open(store, behind);
	if (error)
		reel_store_close(behind);
	return error;
}
