/* SPDX-License-Identifier: MIT */
/*
 * The environment variables of the default pool. The library reads them once in a process, so this
 * file includes its source again, under other names.
 */
#include <config.h>

#define reel_environment fuzz_environment_of
#define reel_environment_refuse fuzz_environment_refuse
#define reel_parse_bytes fuzz_parse_bytes
#define reel_pool_default fuzz_pool_default
#define reel_pool_open_default fuzz_pool_open_default
#include "../../lib/os/environment.c"
#include "../../lib/spill/pool/default-pool.c"

#include <reel/tape.h>

#include "fuzz.h"
#include "targets.h"

#define SLAB_BYTES ((size_t)2 << 20)

static const char *const names[] = {"REEL_BUDGET", "REEL_CHECKED", "REEL_STORE", "REEL_SPILL_DIR"};
enum { BUDGET, CHECKED, STORE, DIRECTORY, NAMES };

/* The values of the variables; NULL: not set, or empty. */
static char *text_of[NAMES];

/* Each line of the input sets the variable that its first character selects. */
static void set_variables(char *lines)
{
	for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
		text_of[(unsigned char)*line % NAMES] = line + 1;
	for (unsigned i = 0; i < NAMES; i++) {
		if (text_of[i])
			setenv(names[i], text_of[i], 1);
		else
			unsetenv(names[i]);
		if (text_of[i] && !*text_of[i])
			text_of[i] = NULL;
	}
}

/* The number of bytes that the text asks for; 0: it makes no sense. */
static size_t wanted_budget(const char *text, size_t limit)
{
	size_t length = strlen(text), bytes = 0;

	if (!strcmp(text, "auto"))
		return limit / 100 * 50;
	if (length > 1 && text[length - 1] == '%' && strspn(text, "0123456789") == length - 1)
		return atof(text) <= 100 ? limit / 100 * (size_t)atof(text) : 0;
	return reel_parse_bytes(text, &bytes) || bytes > limit ? 0 : bytes;
}

/* A budget of 0 asks for none where no limit is known. With a store there is a budget in any case. */
static size_t expected_budget(void)
{
	const char *text = text_of[BUDGET];
	bool has_store = text_of[STORE] || text_of[DIRECTORY];
	struct reel_memory_limit limit;
	size_t zero = 1, budget;

	reel_memory_limit(&limit, "");
	budget = text ? wanted_budget(text, (size_t)limit.bytes) : 0;
	if (budget >= SLAB_BYTES)
		return budget;
	if (!has_store && (!text || (limit.bytes == UINT64_MAX && !reel_parse_bytes(text, &zero) &&
				     !zero)))
		return 0;
	return (size_t)limit.bytes / 100 * 50;
}

static void check_options(void)
{
	bool is_checked = text_of[CHECKED] && !strcmp(text_of[CHECKED], "1");
	bool has_store = text_of[STORE] || text_of[DIRECTORY];
	size_t budget = expected_budget();

	FUZZ_EXPECT(options.hard_budget == budget);
	FUZZ_EXPECT(options.flags == ((has_store ? REEL_POOL_OBEY_LIMITS : 0u) |
				      (is_checked ? REEL_POOL_CHECKED : 0)));
	FUZZ_EXPECT(!reel_pool_problem(&options));
	if (!budget) {
		FUZZ_EXPECT(!store_description && !spill_directory);
		return;
	}
	FUZZ_EXPECT(!store_description == !text_of[STORE]);
	FUZZ_EXPECT(!spill_directory == !text_of[DIRECTORY]);
}

/* Opens a pool with the store that the variables name, if any, and uses it. */
static void use_pool(void)
{
	struct reel_pool_options complete = options;
	reel_tape tape = {0};
	reel_pool *pool;
	int error;

	if (open_store(&complete.store)) {
		FUZZ_EXPECT(!complete.store && *reel_error_text(0));
		return;
	}
	error = reel_pool_open(&pool, &complete);
	if (error) {
		FUZZ_EXPECT(error == -ENOMEM || complete.store);
		reel_store_close(complete.store);
		return;
	}
	reel_tape_open(&tape, pool, 0);
	for (uint64_t i = 0; i < 200; i++)
		reel_push(&tape, i);
	for (uint64_t i = 200; i-- > 0;)
		FUZZ_EXPECT(reel_pop(&tape, uint64_t) == i);
	reel_tape_close(&tape);
	FUZZ_EXPECT(!reel_pool_close(pool));
}

int fuzz_environment(const uint8_t *data, size_t size)
{
	char *lines = fuzz_allocate(size + 1);

	memcpy(lines, data, size);
	lines[size] = '\0';
	memset(&options, 0, sizeof options);
	memset(text_of, 0, sizeof text_of);
	set_variables(lines);
	read_environment();
	check_options();
	use_pool();
	for (unsigned i = 0; i < NAMES; i++)
		unsetenv(names[i]);
	free(lines);
	return 0;
}
