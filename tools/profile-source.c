/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of addresses, by libdw of elfutils. In a build without it nothing is known,
 * and a profile shows the call sites that the library knows.
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#if defined(HAVE_LIBDW) && HAVE_LIBDW

#include <elfutils/libdwfl.h>

struct source {
	Dwfl *dwfl;
};

/* Debug information beside the program is looked for where the system keeps it. */
static char *debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

static bool is_first(const struct code *code, int i)
{
	for (int j = 0; j < i; j++)
		if (!strcmp(code[j].path, code[i].path))
			return false;
	return true;
}

struct source *source_open(const struct code *code, int count)
{
	struct source *source = malloc(sizeof *source);

	if (!source)
		return NULL;
	source->dwfl = dwfl_begin(&callbacks);
	if (!source->dwfl) {
		free(source);
		return NULL;
	}
	dwfl_report_begin(source->dwfl);
	/* A file may have several pieces of code, and is reported once. */
	for (int i = 0; i < count; i++)
		if (is_first(code, i))
			dwfl_report_elf(source->dwfl, code[i].path, code[i].path, -1, code[i].bias,
					true);
	dwfl_report_end(source->dwfl, NULL, NULL);
	return source;
}

void source_close(struct source *source)
{
	if (source)
		dwfl_end(source->dwfl);
	free(source);
}

struct frame source_frame(struct source *source, uint64_t address)
{
	struct frame frame = {0};
	Dwfl_Module *module = source ? dwfl_addrmodule(source->dwfl, address) : NULL;
	Dwfl_Line *line = module ? dwfl_module_getsrc(module, address) : NULL;

	if (module)
		frame.function = dwfl_module_addrname(module, address);
	if (line)
		frame.file = dwfl_lineinfo(line, NULL, &frame.line, NULL, NULL, NULL);
	return frame;
}

#else

struct source *source_open(const struct code *code, int count)
{
	(void)code;
	(void)count;
	return NULL;
}

void source_close(struct source *source)
{
	(void)source;
}

struct frame source_frame(struct source *source, uint64_t address)
{
	(void)source;
	(void)address;
	return (struct frame){0};
}

#endif
