/* SPDX-License-Identifier: MIT */
/* Tests opening a file store: its directory, its permissions, and errors of the system. */
#include <config.h>

#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/annotate.h"
#include "helpers/file-support.h"
#include "os/os-file.h"

#define NOBODY 65534

static int open_error(const struct reel_file_options *options)
{
	reel_store *store;
	int error = reel_store_file_open(&store, options);

	if (!error)
		reel_store_close(store);
	return error;
}

static int error_in(const char *directory)
{
	return open_error(&(struct reel_file_options){.directory = directory});
}

static bool tells_of(const char *what, const char *remedy)
{
	if (strstr(reel_error_text(0), what) && strstr(reel_error_text(0), remedy))
		return true;
	tap_note("the problem is: %s", reel_error_text(0));
	return false;
}

/* Returns true if the message on a directory of the caller has this text. */
static bool problem_names(const char *what)
{
	return tells_of(what, "name a directory");
}

static void use_no_directory(void)
{
	unsetenv("REEL_SPILL_DIR");
	unsetenv("SLURM_TMPDIR");
	unsetenv("TMPDIR");
	is_int(open_error(NULL), -EINVAL, "no directory is named");
	ok(tells_of("directory", "REEL_SPILL_DIR"), "the remedy is told");
	setenv("TMPDIR", "", 1);
	is_int(open_error(NULL), -EINVAL, "an empty one is none");
	is_int(error_in(""), -EINVAL, "an empty option is no directory");
}

static void use_directories_of_the_environment(void)
{
	struct reel_file_options options = {.flags = REEL_FILE_TMPFS};

	setenv("TMPDIR", ".", 1);
	unsetenv("REEL_SPILL_DIR");
	is_int(open_error(&options), 0, "TMPDIR is used");
	setenv("SLURM_TMPDIR", "none", 1);
	is_int(open_error(&options), -ENOENT, "SLURM_TMPDIR is used before it");
	setenv("SLURM_TMPDIR", "", 1);
	is_int(open_error(&options), 0, "an empty SLURM_TMPDIR is none");
	setenv("REEL_SPILL_DIR", "absent", 1);
	is_int(open_error(&options), -ENOENT, "REEL_SPILL_DIR is used before it");
	ok(tells_of("absent", "REEL_SPILL_DIR"),
	   "the error names the directory and REEL_SPILL_DIR");
	options.directory = ".";
	is_int(open_error(&options), 0, "the option is taken before both variables");
}

static void directories_are_refused(void)
{
	close(open("plain", O_CREAT | O_WRONLY, 0600));
	is_int(error_in("absent"), -ENOENT, "a directory that does not exist");
	ok(problem_names("absent"), "the error names the absent directory");
	is_int(error_in("plain"), -ENOTDIR, "a plain file");
	ok(problem_names("plain"), "the error names the plain file");
	in_child(use_no_directory, "no directory");
	in_child(use_directories_of_the_environment, "the directory comes from the environment");
}

static void use_directory_of_another(void)
{
	if (getuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return;
	is_int(error_in("closed"), -EACCES, "a directory without permission");
	ok(problem_names("closed"), "the error names the closed directory");
}

static void permission_is_wanting(void)
{
	mkdir("closed", 0500);
	chmod(".", 0755);
	in_child(use_directory_of_another, "permission is wanting");
}

/* Returns a directory in memory, or NULL. */
static const char *memory_directory(void)
{
	static const char *const usual[] = {"/dev/shm", "/run", "/tmp"};

	for (size_t i = 0; i < COUNT(usual); i++) {
		int directory = open(usual[i], O_RDONLY);
		bool found = directory >= 0 && reel_os_file_is_in_memory(directory) &&
			     !access(usual[i], W_OK);

		if (directory >= 0)
			close(directory);
		if (found)
			return usual[i];
	}
	return NULL;
}

static void memory_is_no_disk(void)
{
	const char *directory = memory_directory();
	struct reel_file_options options = {.directory = directory, .slot_bytes = SLOT};
	unsigned descriptors = open_descriptors();
	struct reel_extent place;
	reel_store *store;

	if (!directory) {
		tap_skip(5, "no directory in memory is known here");
		return;
	}
	is_int(open_error(&options), -EINVAL, "a directory in memory");
	ok(problem_names(directory), "the error names the directory in memory");
	is_int(open_descriptors(), descriptors, "no descriptor is left open");
	options.flags = REEL_FILE_TMPFS;
	store = open_store(options);
	is_int(put_one(store, 1, &place), 0,
	       "a directory in memory is taken if it was asked for: a put");
	ok(get_one(store, 1, place), "a get from a directory in memory");
	reel_store_close(store);
}

static void options_are_checked(void)
{
	struct reel_file_options options = options_of(&ways[0]);

	options.threads = 1000;
	is_int(open_error(&options), -EINVAL, "too many threads");
	ok(strstr(reel_error_text(0), "threads"), "the error names the threads");
	options = options_of(&ways[0]);
	options.slot_bytes = SIZE_MAX;
	is_int(open_error(&options), -EINVAL, "a slot without measure");
	options = options_of(&ways[0]);
	options.flags |= 0x80;
	is_int(open_error(&options), -EINVAL, "a flag that there is not");
	options = options_of(&ways[0]);
	options.max_bytes = SLOT;
	is_int(open_error(&options), -EINVAL, "no room for one slot and its header");
	ok(strstr(reel_error_text(0), "max_bytes"), "the error names max_bytes");
}

static unsigned names_in(const char *directory)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	unsigned names = 0;

	while ((entry = readdir(entries)))
		names += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(entries);
	return names;
}

static void the_file_is_ours_alone(void)
{
	struct reel_file_options options = options_of(&ways[0]);
	struct reel_extent place;
	struct stat status;
	reel_store *store;
	int descriptor;

	mkdir("ours", 0700);
	options.directory = "ours";
	umask(0);
	store = open_store(options);
	umask(022);
	put_one(store, 1, &place);
	is_int(names_in("ours"), 0, "the file has no name");
	descriptor = file_of(store)->descriptor;
	fstat(descriptor, &status);
	is_int(status.st_mode & 07777, 0600, "nobody else may open it");
	is_int(status.st_nlink, 0, "nobody else may link to the file");
	ok(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, "no program that is executed has the file");
	reel_store_close(store);
}

/* Reports that its file has grown, and is killed then. */
static void spill_for_ever(int told)
{
	struct reel_file_options options = options_of(&ways[0]);
	struct reel_extent place;
	reel_store *store;

	options.directory = "ours";
	store = open_store(options);
	for (uint64_t seed = 0;; seed++)
		if (put_one(store, seed, &place) || (seed == 100 && write(told, "", 1) != 1))
			_exit(EXIT_FAILURE);
}

static void nothing_is_left_by_a_kill(void)
{
	int pipe_ends[2], status;
	pid_t child;
	char byte;

	if (pipe(pipe_ends))
		abort();
	child = fork();
	if (child == 0)
		spill_for_ever(pipe_ends[1]);
	close(pipe_ends[1]);
	is_int(read(pipe_ends[0], &byte, 1), 1, "a child spills");
	is_int(names_in("ours"), 0, "no name while it does");
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status), "the child is killed");
	is_int(names_in("ours"), 0, "no name after that");
	close(pipe_ends[0]);
}

/* Returns the number of puts that succeeded before one failed. */
static unsigned fill_up(reel_store *store, struct reel_extent *places, unsigned most, int *error)
{
	unsigned n = 0;

	*error = 0;
	while (n < most && !(*error = put_one(store, n, &places[n])))
		n++;
	return n;
}

static unsigned wrong_of(reel_store *store, const struct reel_extent *places, unsigned n)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < n; i++)
		wrong += !get_one(store, i, places[i]);
	return wrong;
}

enum { MOST = 4000 };

static const struct way *way;

static void expect_full(reel_store *store, uint64_t bytes, int wanted)
{
	static struct reel_extent places[MOST];
	uint64_t slot_bytes = file_of(store)->slots.slot_bytes;
	int error;
	unsigned n = fill_up(store, places, MOST, &error);

	is_int(error, wanted, "the put that has no room");
	ok(n <= bytes / slot_bytes && n + 3 >= bytes / slot_bytes, "%u slots of %llu bytes in %llu",
	   n, (unsigned long long)slot_bytes, (unsigned long long)bytes);
	is_int(capacity_of(store).used_bytes, n * slot_bytes, "the failed put is not counted");
	is_int(wrong_of(store, places, n), 0, "all others come back");
	reel_store_drop(store, places[n / 2]);
	is_int(put_one(store, n / 2, &places[n / 2]), 0, "a put to a dropped slot");
	is_int(wrong_of(store, places, n), 0, "the put to a dropped slot comes back, too");
	for (unsigned i = 0; i < n; i++)
		reel_store_drop(store, places[i]);
	is_int(capacity_of(store).used_bytes, 0, "no slot is lost");
	reel_store_close(store);
}

static void fill_to_the_limit_of_a_file(void)
{
	const rlim_t bytes = (1 << 20) + 12345;
	struct reel_file_options options = options_of(way);
	reel_store *store;

	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes});
	store = open_store(options);
	is_int(capacity_of(store).total_bytes, bytes, "the capacity is that of the limit");
	expect_full(store, bytes, -EFBIG);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
	is_int(open_error(&options), -EFBIG, "a limit below a slot");
	ok(strstr(reel_error_text(0), "ulimit -f"), "the remedy is told");
}

static void open_without_descriptors(void)
{
	struct reel_file_options options = options_of(way);
	struct reel_extent place;
	reel_store *store;
	int next = dup(0);

	close(next);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, (rlim_t)next + 1});
	if (is_emulated() && dup(0) >= 0) {
		tap_note("the limit does not hold under this emulator");
		return;
	}
	is_int(open_error(&options), -EMFILE, "no descriptor is left");
	ok(problem_names(strerror(EMFILE)), "the problem is told");
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next + 1, (rlim_t)next + 1});
	store = open_store(options);
	is_int(put_one(store, 1, &place), 0, "a put");
	ok(get_one(store, 1, place), "a get");
	reel_store_close(store);
}

/* Mounts memory in the child, which ends with it. */
static bool mount_memory(uint64_t bytes)
{
	char size[40];

	snprintf(size, sizeof size, "size=%llu", (unsigned long long)bytes);
	return !unshare(CLONE_NEWNS) &&
	       !mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) &&
	       !mount("reel", "disk", "tmpfs", 0, size);
}

#define DISK_BYTES ((uint64_t)3 << 20)

static void fill_a_disk(void)
{
	struct reel_file_options options = options_of(way);
	reel_store *store;

	if (!ok(mount_memory(DISK_BYTES), "a disk can be mounted"))
		return;
	options.directory = "disk";
	store = open_store(options);
	ok(capacity_of(store).total_bytes <= DISK_BYTES, "the capacity is that of the disk");
	expect_full(store, DISK_BYTES, -ENOSPC);
}

static bool can_mount(void)
{
	pid_t child = fork_with_timeout();

	if (child == 0)
		_exit(mount_memory(DISK_BYTES) ? EXIT_SUCCESS : EXIT_FAILURE);
	return tap_child_passed(child);
}

int main(void)
{
	bool can_fill;

	tap_begin();
	mkdir("disk", 0700);
	can_fill = can_mount();
	directories_are_refused();
	permission_is_wanting();
	memory_is_no_disk();
	options_are_checked();
	the_file_is_ours_alone();
	nothing_is_left_by_a_kill();
	for (way = ways; way < ways + COUNT(ways); way++) {
		tap_case(way->name);
		in_child(fill_to_the_limit_of_a_file, "a limit of the size of files is met");
		in_child(open_without_descriptors, "a limit of open files is met");
		if (can_fill)
			in_child(fill_a_disk, "a full disk is met");
		else
			tap_skip(1, "nothing can be mounted");
	}
	return tap_end();
}
