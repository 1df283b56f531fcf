/* SPDX-License-Identifier: MIT */
/*
 * Finds the line of the program for an address: with addr2line, if it is installed and the program
 * has debugging information, else with the symbols that the dynamic linker knows. Any thread calls
 * source_of(), once or twice for each finding, since it starts a process. It always writes a text.
 */
#include "config.h"

#include "verifier.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Starts a command, and returns the end of a pipe from which its output is read, or -1. Its
 * environment is empty: with LD_PRELOAD it would also load the verifier.
 */
static int start(pid_t *child, char *const *command)
{
	char *environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	bool started = false;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	if (!posix_spawn_file_actions_init(&actions)) {
		posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		started = !posix_spawnp(child, command[0], &actions, NULL, command, environment);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	if (started)
		return ends[0];
	close(ends[0]);
	return -1;
}

/* Reads the output of a command into `text`, cut at `size`. Ignores its exit status. */
static void read_output(char *const *command, char *text, size_t size)
{
	size_t length = 0;
	ssize_t more = 1;
	pid_t child;
	int end = start(&child, command);

	if (end >= 0) {
		while (length + 1 < size &&
		       (more = read(end, text + length, size - 1 - length)) > 0)
			length += (size_t)more;
		close(end);
		waitpid(child, NULL, 0);
	}
	text[length] = '\0';
}

/*
 * `lines` has pairs of a function and file:line, innermost first. Skips functions of Reel's headers
 * that were inlined. Returns false if no line is known.
 */
static bool by_lines(char *lines, char *text, size_t size)
{
	char *function, *line;

	do {
		function = strsep(&lines, "\n");
		line = strsep(&lines, "\n");
	} while (line && !strncmp(function, "reel_", 5));
	if (!line || *line == '?' || strstr(line, ":?") || strstr(line, ":0"))
		return false;
	line[strcspn(line, " ")] = '\0';
	snprintf(text, size, "%s in %s", line, function);
	return true;
}

/* The address is where the call returns to. The call is before it, so asks for address - 1. */
static bool by_debugging_information(const void *address, const struct link_map *map, char *text,
				     size_t size)
{
	char tool[] = "addr2line", options[] = "-fis", executable[] = "-e";
	char path[1024], offset[32], lines[1024];
	char *command[] = {tool, options, executable, path, offset, NULL};

	if (*map->l_name)
		snprintf(path, sizeof path, "%s", map->l_name);
	else
		snprintf(path, sizeof path, "/proc/%ld/exe", (long)getpid());
	snprintf(offset, sizeof offset, "0x%llx",
		 (unsigned long long)((uintptr_t)address - 1 - map->l_addr));
	read_output(command, lines, sizeof lines);
	return by_lines(lines, text, size);
}

const char *source_of(const void *address, char *text, size_t size)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!address ||
	    !dladdr1((void *)(uintptr_t)address, &info, (void **)&map, RTLD_DL_LINKMAP)) {
		snprintf(text, size, "an unknown place");
		return text;
	}
	if (by_debugging_information(address, map, text, size))
		return text;
	if (info.dli_sname)
		snprintf(text, size, "%s+0x%llx", info.dli_sname,
			 (unsigned long long)((uintptr_t)address - (uintptr_t)info.dli_saddr));
	else
		snprintf(text, size, "%s+0x%llx", basename(info.dli_fname),
			 (unsigned long long)((uintptr_t)address - map->l_addr));
	return text;
}
