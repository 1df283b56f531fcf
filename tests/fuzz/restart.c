/* SPDX-License-Identifier: MIT */
/*
 * Restart files, which are checked files: any bytes, or the file of a run that was stopped, with
 * changes. A file with a wrong checksum is refused. A wrong file with the right checksum does no
 * harm. A file that does not begin as a restart file is not changed.
 */
#include <config.h>

#include <limits.h>
#include <unistd.h>

#include "checkpoint/restart/restart-file.h"
#include "fuzz.h"
#include "helpers/recurrence.h"
#include "targets.h"

#define MAGIC "ReelRun\n"
#define TRAILER_BYTES 16

enum { STEPS = 12, SLOTS = 3, STOPPED = 5, MAX_BYTES = 8192 };

/* The sound file, and the changed one. */
static unsigned char sound[MAX_BYTES], bytes[MAX_BYTES];
static size_t sound_bytes, size_now;

static reel_plan *plan;

static struct reel_run_options options_for(const char *path)
{
	return (struct reel_run_options){.restart = path, .adjoint_bytes = sizeof(struct state)};
}

/* ---- The sound file ---- */

static int go_on(reel_run *run, struct run *context, struct state *bar)
{
	struct state state = start;
	int error = 0;

	if (!reel_run_is_reversing(run)) {
		error = reel_run_forward(run, context, &state);
		*bar = seed;
	}
	return error ? error : reel_run_reverse(run, context, &state, bar);
}

/* Makes the file of a run that saves wherever it can, and stops in its reverse sweep. */
static void make_file(void)
{
	char directory[] = "fuzz-restart-XXXXXX", path[sizeof directory + 8];
	struct reel_run_options options;
	struct run context = no_failure;
	struct state bar;
	reel_run *run;
	FILE *file;

	FUZZ_EXPECT(mkdtemp(directory));
	snprintf(path, sizeof path, "%s/run", directory);
	plan = plan_for(REEL_BINOMIAL, STEPS, SLOTS);
	options = options_for(path);
	options.restart_seconds = 1e-9;
	run = open_checkpoint(plan, &copied, &options);
	context.failing_reverse = STOPPED;
	FUZZ_EXPECT(go_on(run, &context, &bar) == -ECANCELED);
	reel_run_close(run);
	file = fopen(path, "rb");
	FUZZ_EXPECT(file);
	sound_bytes = fread(sound, 1, sizeof sound, file);
	fclose(file);
	FUZZ_EXPECT(sound_bytes > TRAILER_BYTES && sound_bytes < MAX_BYTES / 2);
	unlink(path);
	rmdir(directory);
}

/* ---- Changes ---- */

static void put_trailer(void)
{
	size_t length = size_now - TRAILER_BYTES;
	uint64_t before = length;
	uint32_t crc = fuzz_crc32c(0, bytes, length);

	memcpy(bytes + length, &before, sizeof before);
	memcpy(bytes + length + sizeof before, &crc, sizeof crc);
	memcpy(bytes + length + sizeof before + sizeof crc, "leer", 4);
}

static void change(struct fuzz_input *input)
{
	while (input->left) {
		size_t at = (size_t)fuzz_number(input, 2) % (size_now + 1);
		unsigned how = fuzz_byte(input), value = fuzz_byte(input);

		if (how >= 250)
			size_now = at;
		else if (at < size_now)
			bytes[at] ^= (unsigned char)(how < 128 ? value : 1u << value % 8);
	}
}

static void take_bytes(struct fuzz_input *input)
{
	size_now = input->left;
	memcpy(bytes, MAGIC, REEL_RESTART_MAGIC_BYTES);
	memcpy(bytes + REEL_RESTART_MAGIC_BYTES, input->next, size_now);
	size_now += REEL_RESTART_MAGIC_BYTES;
	input->left = 0;
}

/* Writes a regular file, since a run refuses the symbolic links below /proc. */
static const char *write_file(void)
{
	static char path[64];
	FILE *file;

	snprintf(path, sizeof path, "fuzz-restart-%d", (int)getpid());
	file = fopen(path, "wb");
	FUZZ_EXPECT(file);
	FUZZ_EXPECT(fwrite(bytes, 1, size_now, file) == size_now);
	FUZZ_EXPECT(!fclose(file));
	return path;
}

/* ---- Expected results ---- */

static bool begins_as_restart_file(void)
{
	return size_now >= REEL_RESTART_MAGIC_BYTES &&
	       !memcmp(bytes, MAGIC, REEL_RESTART_MAGIC_BYTES);
}

static bool is_sound(void)
{
	uint64_t before;
	uint32_t crc;

	if (size_now < REEL_RESTART_MAGIC_BYTES + TRAILER_BYTES || !begins_as_restart_file())
		return false;
	memcpy(&before, bytes + size_now - TRAILER_BYTES, sizeof before);
	memcpy(&crc, bytes + size_now - TRAILER_BYTES + sizeof before, sizeof crc);
	return before == size_now - TRAILER_BYTES &&
	       crc == fuzz_crc32c(0, bytes, size_now - TRAILER_BYTES) &&
	       !memcmp(bytes + size_now - 4, "leer", 4);
}

static void check_file(const char *path, bool is_whole)
{
	const unsigned char *at = bytes + REEL_RESTART_MAGIC_BYTES, *end;
	struct reel_restart_file file;
	unsigned char data[64];
	const char *wrong;
	int error = reel_restart_file_open(&file, path, &wrong);

	FUZZ_EXPECT(error == (is_whole ? 0 : -EBADMSG));
	FUZZ_EXPECT(!wrong == is_whole);
	if (error)
		return;
	FUZZ_EXPECT(file.bytes == size_now - TRAILER_BYTES);
	end = bytes + file.bytes;
	for (; at + sizeof data <= end; at += sizeof data) {
		FUZZ_EXPECT(!reel_restart_file_read(&file, data, sizeof data));
		FUZZ_EXPECT(!memcmp(data, at, sizeof data));
	}
	/* The trailer is not read as data. */
	FUZZ_EXPECT(reel_restart_file_read(&file, data, (size_t)(end - at) + 1) == -EBADMSG);
	reel_restart_file_close(&file);
}

static void expect_refusal(const char *path)
{
	struct reel_run_options options = options_for(path);
	unsigned char left[MAX_BYTES];
	reel_run *run;
	FILE *file;

	FUZZ_EXPECT(reel_run_open(&run, plan, &copied, &options) == -EEXIST);
	file = fopen(path, "rb");
	FUZZ_EXPECT(file);
	FUZZ_EXPECT(fread(left, 1, sizeof left, file) == size_now);
	FUZZ_EXPECT(!memcmp(left, bytes, size_now));
	fclose(file);
}

/* After a refusal the run is as if it had just been opened. */
static void run_whole(reel_run *run)
{
	struct state right = gradient_by_one_tape(no_failure, STEPS), bar;
	struct run context = no_failure;

	FUZZ_EXPECT(!reel_run_is_reversing(run));
	FUZZ_EXPECT(!go_on(run, &context, &bar));
	FUZZ_EXPECT(!memcmp(&bar, &right, sizeof right));
}

/* A run from a forged file may have any result, or an error; but it ends. */
static void resume(const char *path, bool is_whole, bool is_same)
{
	struct reel_run_options options = options_for(path);
	reel_run *run = open_checkpoint(plan, &copied, &options);
	struct state right = gradient_by_one_tape(no_failure, STEPS), bar = seed;
	struct run context = no_failure;
	int error = reel_run_resume(run, NULL, &bar);

	FUZZ_EXPECT(is_whole || error == -EBADMSG);
	FUZZ_EXPECT(!is_same || !error);
	if (error) {
		FUZZ_EXPECT(strstr(reel_error_text(error), path));
		run_whole(run);
	} else {
		error = go_on(run, &context, &bar);
		FUZZ_EXPECT(!is_same || (!error && !memcmp(&bar, &right, sizeof right)));
		FUZZ_EXPECT(context.recorded <= STEPS && context.reversed <= STEPS);
	}
	reel_run_close(run);
}

int fuzz_restart(const uint8_t *data, size_t size)
{
	struct fuzz_input input = {data, size};
	unsigned mode = fuzz_byte(&input);
	bool is_whole, is_same;
	const char *path;

	if (!plan)
		make_file();
	memcpy(bytes, sound, sound_bytes);
	size_now = sound_bytes;
	if (mode & 1)
		take_bytes(&input);
	else
		change(&input);
	if (mode & 2 && size_now >= TRAILER_BYTES)
		put_trailer();
	is_whole = is_sound();
	is_same = size_now == sound_bytes && !memcmp(bytes, sound, size_now);
	path = write_file();
	check_file(path, is_whole);
	if (begins_as_restart_file())
		resume(path, is_whole, is_same);
	else
		expect_refusal(path);
	unlink(path);
	return 0;
}
