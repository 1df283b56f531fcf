/* SPDX-License-Identifier: MIT */
/*
 * Finds the line of the program for an address: with addr2line, if it is installed and the program
 * has debugging information, else with the symbols that the dynamic linker knows. Any thread calls
 * source_of(), once or twice for each finding, since it starts a process. It always writes a text.
 */
#include "config.h"

#include "verifier.h"

#include <dlfcn.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Copies the environment without LD_PRELOAD, so that the child does not load the verifier. */
static char **environment_for_child(void)
{
	size_t count = 0, kept = 0;
	char **copy;

	while (environ[count])
		count++;
	copy = malloc((count + 1) * sizeof *copy);
	for (size_t i = 0; copy && i < count; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			copy[kept++] = environ[i];
	if (copy)
		copy[kept] = NULL;
	return copy;
}

static bool spawn(pid_t *child, char *const *command, const int *ends)
{
	char **environment = environment_for_child();
	posix_spawn_file_actions_t actions;
	bool spawned;

	if (!environment || posix_spawn_file_actions_init(&actions)) {
		free(environment);
		return false;
	}
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
	spawned = !posix_spawnp(child, command[0], &actions, NULL, command, environment);
	posix_spawn_file_actions_destroy(&actions);
	free(environment);
	return spawned;
}

/* Reads the output of a command into `text`, cut at `size`. Ignores its exit status. */
static void read_output(char *const *command, char *text, size_t size)
{
	size_t length = 0;
	ssize_t more = 1;
	pid_t child;
	int ends[2];

	*text = '\0';
	if (pipe(ends))
		return;
	if (!spawn(&child, command, ends)) {
		close(ends[0]);
		close(ends[1]);
		return;
	}
	close(ends[1]);
	while (length + 1 < size && (more = read(ends[0], text + length, size - 1 - length)) > 0)
		length += (size_t)more;
	text[length] = '\0';
	close(ends[0]);
	waitpid(child, NULL, 0);
}

/* Returns the next line, with a NUL for its newline. Returns NULL if there is none. */
static char *next_line(char **lines)
{
	char *line = *lines, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*lines = end + 1;
	return line;
}

/*
 * `lines` has pairs of a function and file:line, innermost first. Skips functions of Reel's headers
 * that were inlined. Returns false if no line is known.
 */
static bool by_lines(char *lines, char *text, size_t size)
{
	const char *function, *name;
	char *line;

	do {
		function = next_line(&lines);
		line = function ? next_line(&lines) : NULL;
	} while (line && !strncmp(function, "reel_", 5));
	if (!line)
		return false;
	line[strcspn(line, " ")] = '\0';
	name = file_name(line);
	if (*name == '?' || strstr(name, ":?") || strstr(name, ":0"))
		return false;
	snprintf(text, size, "%s in %s", name, function);
	return true;
}

/* The address is that of a return, and the call is before it. So asks for address - 1. */
static bool by_debugging_information(const void *address, const struct link_map *map, char *text,
				     size_t size)
{
	char tool[] = "addr2line", functions[] = "-fi", executable[] = "-e";
	char path[1024], offset[32], lines[1024];
	char *command[] = {tool, functions, executable, path, offset, NULL};

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
		snprintf(text, size, "%s+0x%llx", file_name(info.dli_fname),
			 (unsigned long long)((uintptr_t)address - map->l_addr));
	return text;
}
