/* SPDX-License-Identifier: MIT */
/*
 * Loads libreel-cuda when a description asks for a GPU, so that the library itself needs none. It
 * is looked for beside this library, then as the system looks for libraries, and stays loaded,
 * since it has threads. Any thread.
 */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <reel/gpu.h>

#if HAVE_DLOPEN

#include <dlfcn.h>

#include "os/cancel.h"

#define LIBRARY "libreel-cuda.so.0"

typedef int open_function(reel_store **store, const struct reel_gpu_store_options *options);
typedef const char *text_function(int error);

static void *load_neighbour(void)
{
#if HAVE_DLADDR
	Dl_info own;
	char path[4096];
	const char *slash = NULL;

	if (dladdr((void *)(uintptr_t)&reel_store_gpu_load, &own) && own.dli_fname)
		slash = strrchr(own.dli_fname, '/');
	if (slash && snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own.dli_fname),
			      own.dli_fname, LIBRARY) < (int)sizeof path)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
	return NULL;
}

/* Loads the library, or finds it if it is loaded already. */
static void *load_library(void)
{
	void *library = load_neighbour();

	return library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

/*
 * If libreel is linked into the program, libreel-cuda has loaded a second copy of it, with texts of
 * its own.
 */
static int copy_text(void *library, int error)
{
	void *function = dlsym(library, "reel_error_text");
	const char *text = "it does not say why";

	if (function)
		text = ((text_function *)(uintptr_t)function)(error);
	return reel_fail(error, "%s", text);
}

int reel_store_gpu_load(reel_store **store, uint64_t bytes)
{
	REEL_UNCANCELLED;
	struct reel_gpu_store_options options = {.bytes = bytes};
	void *library = load_library();
	const char *said = library ? NULL : dlerror();
	void *function;
	int error;

	if (!library)
		return reel_fail(-ENODEV,
				 "no GPU without libreel-cuda, which is part of "
				 "Reel; install it: %s",
				 said ? said : LIBRARY);
	function = dlsym(library, "reel_store_gpu_open");
	if (!function)
		return reel_fail(-ENODEV, "no GPU: %s is not of this version of Reel", LIBRARY);
	error = ((open_function *)(uintptr_t)function)(store, &options);
	return error ? copy_text(library, error) : 0;
}

#else

int reel_store_gpu_load(reel_store **store, uint64_t bytes)
{
	(void)store;
	(void)bytes;
	return reel_fail(-ENODEV, "no GPU: this library was built without dlopen()");
}

#endif
