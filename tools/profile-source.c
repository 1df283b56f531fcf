/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of addresses, by libdw of elfutils. In a build without it nothing is known,
 * and a profile shows the call sites that the library knows.
 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

#if defined(HAVE_LIBDW) && HAVE_LIBDW

#include <dwarf.h>
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

/* ---- Names of functions ---- */

/* Returns whether the name of this scope is a part of the names of the functions in it. */
static bool qualifies(Dwarf_Die *scope)
{
	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
		return true;
	default:
		return false;
	}
}

/* Adds the text, if it fits; a name that is cut off could be the name of another function. */
static bool append(char name[MAX_NAME], const char *text)
{
	size_t length = strlen(name);

	return snprintf(name + length, MAX_NAME - length, "%s", text) < (int)(MAX_NAME - length);
}

/* Writes "namespace::class::function". The scopes of a function begin with it, and go outwards. */
static bool write_name(Dwarf_Die *function, char name[MAX_NAME])
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin, declaration, *scope;
	int scopes;
	bool fits = true;

	/*
	 * One that was inlined stands within its caller, and has its scopes where it is described.
	 */
	if (dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attribute), &origin))
		function = &origin;
	/* A member function that is defined outside of its class is in it where it is declared. */
	if (dwarf_formref_die(dwarf_attr_integrate(function, DW_AT_specification, &attribute),
			      &declaration))
		function = &declaration;
	scopes = dwarf_getscopes_die(function, &scope);
	name[0] = '\0';
	for (int i = scopes - 1; i > 0; i--)
		if (qualifies(&scope[i]))
			fits &= append(name, dwarf_diename(&scope[i]) ? dwarf_diename(&scope[i])
								       : "(anonymous)") &&
				append(name, "::");
	if (scopes > 0)
		free(scope);
	return fits && dwarf_diename(function) && append(name, dwarf_diename(function));
}

/* Some compilers write no table of the addresses of units, and then each unit lists its own. */
static Dwarf_Die *unit_of(struct source *source, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_addrdie(source->dwfl, address, bias);
	Dwfl_Module *module = unit ? NULL : dwfl_addrmodule(source->dwfl, address);

	while (module && (unit = dwfl_module_nextcu(module, unit, bias)) &&
	       dwarf_haspc(unit, address - *bias) <= 0)
		;
	return unit;
}

/* Entries in which find_function() searches for nested functions. */
static bool has_functions(Dwarf_Die *entry)
{
	switch (dwarf_tag(entry)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

/* Finds the function that has the code at an address, where others may be inlined. */
static bool find_function(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *found)
{
	Dwarf_Die entry;
	int end = dwarf_child(parent, &entry);

	for (; !end; end = dwarf_siblingof(&entry, &entry)) {
		if (dwarf_tag(&entry) == DW_TAG_subprogram && dwarf_haspc(&entry, address) > 0) {
			*found = entry;
			return true;
		}
		if (has_functions(&entry) && find_function(&entry, address, found))
			return true;
	}
	return false;
}

/* Finds the function that is inlined in `parent` at an address, maybe in a block of it. */
static bool find_inlined(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *found)
{
	Dwarf_Die entry;
	int end = dwarf_child(parent, &entry);

	for (; !end; end = dwarf_siblingof(&entry, &entry)) {
		bool is_inlined = dwarf_tag(&entry) == DW_TAG_inlined_subroutine;

		if ((!is_inlined && dwarf_tag(&entry) != DW_TAG_lexical_block) ||
		    dwarf_haspc(&entry, address) <= 0)
			continue;
		if (is_inlined) {
			*found = entry;
			return true;
		}
		if (find_inlined(&entry, address, found))
			return true;
	}
	return false;
}

bool source_name(struct source *source, uint64_t address, int level, char name[MAX_NAME])
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = source ? unit_of(source, address, &bias) : NULL, outer, function;

	if (!unit || !find_function(unit, address - bias, &function))
		return false;
	for (; level > 0; level--) {
		outer = function;
		if (!find_inlined(&outer, address - bias, &function))
			return false;
	}
	return write_name(&function, name);
}

#else

bool source_name(struct source *source, uint64_t address, int level, char name[MAX_NAME])
{
	(void)source;
	(void)address;
	(void)level;
	(void)name;
	return false;
}

struct source *source_open(const struct code *code, int count)
{
	(void)code;
	(void)count;
	return NULL;
}

struct frame source_frame(struct source *source, uint64_t address)
{
	(void)source;
	(void)address;
	return (struct frame){0};
}

#endif
