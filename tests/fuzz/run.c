/* SPDX-License-Identifier: MIT */
/*
 * Runs the targets without a fuzzer, on the inputs of their corpora and on seeded mutations of
 * them, with any compiler and sanitizer. Each target runs in a child. However the child ends, this
 * program can name the input that ended it, and leaves it in a file.
 */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "helpers/support.h"

#define MAX_FILES 4096
#define MAX_BYTES 65536
#define MAX_PATH 1024
#define SECONDS_FOR_ONE 60

static const char usage[] =
	"Usage: reel-replay [OPTION]... --corpus DIRECTORY [TARGET]...\n"
	"       reel-replay --input FILE TARGET\n"
	"\n"
	"Runs the files of DIRECTORY/TARGET, and the inputs in the lines of its file `seeds`, then\n"
	"mutations of them, for all targets or for those named. A failing input is left in\n"
	"./fail-TARGET.\n"
	"\n"
	"  --mutations N  of each target; default 0\n"
	"  --seed N       that they are drawn from; default 1\n"
	"  --pretend N    that the N-th mutation fails: to test this program\n"
	"  --list         the targets\n";

static struct {
	const char *corpus;
	const char *input;
	uint64_t mutations;
	uint64_t seed;
	uint64_t pretend;
} options = {.seed = 1};

/* The last input of the child, in memory that its parent shares. */
static struct progress {
	uint64_t runs;
	uint64_t mutation; /* 0: the file itself */
	unsigned file;
	size_t size;
	uint8_t data[MAX_BYTES];
} *progress;

struct file {
	char name[256];
	uint8_t *data;
	size_t size;
};

static struct file files[MAX_FILES];
static unsigned file_count;

/* ---- The corpus ---- */

static FILE *open_file(const char *path)
{
	FILE *stream = fopen(path, "rb");

	if (!stream) {
		fprintf(stderr, "reel-replay: %s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	return stream;
}

static void read_file(const char *path, const char *name)
{
	struct file *file = &files[file_count];
	FILE *stream = open_file(path);

	snprintf(file->name, sizeof file->name, "%s", name);
	file->data = fuzz_allocate(MAX_BYTES);
	file->size = fread(file->data, 1, MAX_BYTES, stream);
	file->data = realloc(file->data, file->size + 1);
	fclose(stream);
	file_count++;
}

/* Fills `data` with the bytes of the hexadecimal digits in `line`. Returns the number of bytes. */
static size_t decode(const char *line, uint8_t *data)
{
	size_t size = 0;

	for (; line[2 * size] != '\n'; size++)
		FUZZ_EXPECT(sscanf(line + 2 * size, "%2hhx", &data[size]) == 1);
	return size;
}

/* Each line of the file is an input. */
static void read_seeds(const char *path)
{
	FILE *stream = open_file(path);
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	for (unsigned n = 1; (length = getline(&line, &room, stream)) > 0; n++) {
		struct file *file = &files[file_count++];

		FUZZ_EXPECT(file_count < MAX_FILES && length % 2 && length / 2 <= MAX_BYTES);
		snprintf(file->name, sizeof file->name, "line %u of seeds", n);
		file->data = fuzz_allocate((size_t)length);
		file->size = decode(line, file->data);
	}
	free(line);
	fclose(stream);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void forget_files(void)
{
	while (file_count)
		free(files[--file_count].data);
}

static void read_corpus(const struct fuzz_target *target)
{
	char path[MAX_PATH];
	DIR *directory;

	forget_files();
	snprintf(path, sizeof path, "%s/%s", options.corpus, target->name);
	directory = opendir(path);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) && file_count < MAX_FILES;) {
		snprintf(path, sizeof path, "%s/%s/%s", options.corpus, target->name,
			 entry->d_name);
		if (!strcmp(entry->d_name, "seeds"))
			read_seeds(path);
		else if (entry->d_name[0] != '.')
			read_file(path, entry->d_name);
	}
	closedir(directory);
	qsort(files, file_count, sizeof *files, by_name);
}

/* ---- Mutations ---- */

struct random {
	uint64_t next;
};

static size_t below(struct random *random, size_t bound)
{
	return bound ? (size_t)(scramble(random->next++) % bound) : 0;
}

/* Copies a piece of any file over the data, or inserts it. */
static void splice(struct random *random, bool insert)
{
	const struct file *from = &files[below(random, file_count)];
	size_t at = below(random, progress->size + 1), first = below(random, from->size + 1);
	size_t bytes = below(random, from->size - first + 1);

	if (bytes > MAX_BYTES - progress->size)
		bytes = MAX_BYTES - progress->size;
	if (insert) {
		memmove(progress->data + at + bytes, progress->data + at, progress->size - at);
		progress->size += bytes;
	} else if (at + bytes > progress->size) {
		bytes = progress->size - at;
	}
	if (bytes)
		memcpy(progress->data + at, from->data + first, bytes);
}

static void cut(struct random *random)
{
	size_t at = below(random, progress->size), bytes = below(random, progress->size - at) + 1;

	if (bytes > progress->size - at)
		bytes = progress->size - at;
	memmove(progress->data + at, progress->data + at + bytes, progress->size - at - bytes);
	progress->size -= bytes;
}

static void change(struct random *random)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, '0', ',', '\n'};
	uint8_t *byte = &progress->data[below(random, progress->size)];

	switch (below(random, 4)) {
	case 0:
		*byte ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		*byte = values[below(random, sizeof values)];
		break;
	case 2:
		*byte = (uint8_t)(*byte + below(random, 17) - 8);
		break;
	default:
		*byte = (uint8_t)below(random, 256);
		break;
	}
}

static void mutate(struct random *random)
{
	for (size_t i = below(random, 8) + 1; i > 0; i--) {
		size_t kind = below(random, 8);

		if (kind < 2 && file_count)
			splice(random, kind);
		else if (kind < 3 && progress->size)
			cut(random);
		else if (progress->size)
			change(random);
	}
}

/* ---- Runs ---- */

static void run_one(const struct fuzz_target *target)
{
	/* A copy of exactly this size, so that a sanitizer sees reads behind it. */
	uint8_t *data = fuzz_allocate(progress->size + 1);

	memcpy(data, progress->data, progress->size);
	alarm(SECONDS_FOR_ONE);
	FUZZ_EXPECT(!options.pretend || progress->mutation != options.pretend);
	if (progress->size <= target->max_bytes)
		target->run(data, progress->size);
	alarm(0);
	free(data);
	progress->runs++;
}

static void take_file(unsigned which)
{
	progress->file = which;
	progress->size = files[which].size;
	memcpy(progress->data, files[which].data, files[which].size);
}

/* Draws the data to mutate: a file, or at times any bytes, which make the longest programs. */
static void draw_file(struct random *random)
{
	if (file_count && below(random, 4)) {
		take_file((unsigned)below(random, file_count));
		return;
	}
	progress->file = file_count;
	progress->size = below(random, 512);
	fill(progress->data, progress->size, random->next);
}

static void run_all(const struct fuzz_target *target)
{
	for (unsigned f = 0; f < file_count; f++) {
		take_file(f);
		run_one(target);
	}
	for (uint64_t m = 1; m <= options.mutations; m++) {
		struct random random = {options.seed << 32 ^ m << 8};

		progress->mutation = m;
		draw_file(&random);
		mutate(&random);
		run_one(target);
	}
}

/* Returns a file for the messages of a target, which are shown only if it fails. */
static FILE *silence(void)
{
	FILE *said = tmpfile();

	FUZZ_EXPECT(said);
	fflush(stdout);
	return said;
}

static void run_child(const struct fuzz_target *target, FILE *said)
{
	dup2(fileno(said), STDOUT_FILENO);
	dup2(fileno(said), STDERR_FILENO);
	run_all(target);
	/* exit() looks for leaks. */
	exit(EXIT_SUCCESS);
}

static void show_end(FILE *said)
{
	char line[512];

	if (!fseek(said, 0, SEEK_END) && ftell(said) > 8192)
		fseek(said, -8192, SEEK_END);
	else
		rewind(said);
	while (fgets(line, sizeof line, said))
		printf("# %s", line);
}

static void show_failure(const struct fuzz_target *target, int status, FILE *said)
{
	char path[MAX_PATH];
	FILE *left;

	show_end(said);
	if (WIFSIGNALED(status))
		printf("# signal %d: %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
	printf("# input: %s, mutation %llu of seed %llu\n",
	       progress->file < file_count ? files[progress->file].name : "any bytes",
	       (unsigned long long)progress->mutation, (unsigned long long)options.seed);
	snprintf(path, sizeof path, "fail-%s", target->name);
	left = fopen(path, "wb");
	if (!left)
		return;
	fwrite(progress->data, 1, progress->size, left);
	fclose(left);
	printf("# to run it again: reel-replay --input %s %s\n", path, target->name);
}

/* Returns whether all inputs passed. */
static bool replay(const struct fuzz_target *target, unsigned number)
{
	FILE *said = silence();
	int status = -1;
	pid_t child;

	memset(progress, 0, sizeof *progress);
	if (!options.input)
		read_corpus(target);
	child = fork();
	if (!child)
		run_child(target, said);
	FUZZ_EXPECT(child > 0 && waitpid(child, &status, 0) == child);
	printf("%sok %u - %s: %llu inputs\n", status ? "not " : "", number, target->name,
	       (unsigned long long)progress->runs);
	if (status)
		show_failure(target, status, said);
	fclose(said);
	return !status;
}

/* ---- The command ---- */

static void refuse(const char *what)
{
	fprintf(stderr, "reel-replay: %s; see --help\n", what);
	exit(2);
}

static uint64_t number_of(const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 10);

	if (!*text || *end)
		refuse("a number is wanted");
	return number;
}

static void list_targets(void)
{
	for (const struct fuzz_target *target = fuzz_targets; target->name; target++)
		puts(target->name);
	exit(EXIT_SUCCESS);
}

/* Returns the number of words that are options. */
static int read_options(int count, char **words)
{
	int i = 1;

	for (; i < count && words[i][0] == '-'; i += 2) {
		const char *value = i + 1 < count ? words[i + 1] : "";

		if (!strcmp(words[i], "--help")) {
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		}
		if (!strcmp(words[i], "--list"))
			list_targets();
		if (!strcmp(words[i], "--corpus"))
			options.corpus = value;
		else if (!strcmp(words[i], "--input"))
			options.input = value;
		else if (!strcmp(words[i], "--mutations"))
			options.mutations = number_of(value);
		else if (!strcmp(words[i], "--seed"))
			options.seed = number_of(value);
		else if (!strcmp(words[i], "--pretend"))
			options.pretend = number_of(value);
		else
			refuse("there is no such option");
	}
	if (!options.corpus == !options.input || (options.input && i + 1 != count))
		refuse("either --corpus, or --input and one target");
	return i;
}

static const struct fuzz_target *named(const char *name)
{
	const struct fuzz_target *target = fuzz_find(name);

	if (!target)
		refuse("there is no such target");
	return target;
}

int main(int count, char **words)
{
	int i = read_options(count, words);
	bool all = i == count;
	unsigned number = 0, failures = 0;

	progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	FUZZ_EXPECT(progress != MAP_FAILED);
	if (options.input)
		read_file(options.input, options.input);
	for (; i < count; i++)
		failures += !replay(named(words[i]), ++number);
	for (const struct fuzz_target *target = fuzz_targets; all && target->name; target++)
		failures += !replay(target, ++number);
	printf("1..%u\n", number);
	forget_files();
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
