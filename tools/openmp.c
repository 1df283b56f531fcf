/* SPDX-License-Identifier: MIT */
/*
 * The facts of "reel info" about the OpenMP runtime of this process, which is recognized by a
 * function that it exports. A build without OpenMP has no such facts.
 */
#include "config.h"

#include "info.h"

#ifdef _OPENMP

#include <dlfcn.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct runtime {
	const char *symbol;
	const char *name;
};

/* The runtimes of LLVM and Intel come first, because they also have the entry points of GNU's. */
static const struct runtime runtimes[] = {
	{ "__kmpc_global_thread_num", "LLVM or Intel" },
	{ "GOMP_parallel", "GNU" },
};

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Resolves symbolic links, because the name of the file itself has the version. */
static void add_library(struct facts *facts, void *address)
{
	Dl_info where;
	char *path = NULL;

	if (address && dladdr(address, &where) && where.dli_fname)
		path = realpath(where.dli_fname, NULL);
	facts_add_text(facts, "openmp_library", path ? file_name(path) : NULL);
	free(path);
}

static void add_runtime(struct facts *facts)
{
	const char *name = NULL;
	void *address = NULL;

	for (size_t i = 0; !address && i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		address = dlsym(RTLD_DEFAULT, runtimes[i].symbol);
		if (address)
			name = runtimes[i].name;
	}
	facts_add_text(facts, "openmp_runtime", name);
	add_library(facts, address);
}

void add_openmp_facts(struct facts *facts)
{
	facts_add_number(facts, "openmp_date", _OPENMP);
	facts_add_number(facts, "openmp_max_threads", omp_get_max_threads());
	add_runtime(facts);
}

#else

void add_openmp_facts(struct facts *facts)
{
	(void)facts;
}

#endif
