/* SPDX-License-Identifier: MIT */
/*
 * Loads libcuda.so.1 when the first thread asks for it, and finds its functions. Any thread calls
 * these functions. The table is loaded once and never changes; it either has all functions or is
 * not used.
 */
#include "config.h"

#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#if HAVE_DLOPEN
#include <dlfcn.h>
#endif

#define LIBRARY "libcuda.so.1"

static struct reel_driver loaded;
static char load_problem[256] = "this library was built without dlopen()";
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(const struct reel_driver *) replacement;

#if HAVE_DLOPEN
/* POSIX lets a function's address be stored as an object's, which ISO C does not. */
static bool find(void *library, const char *symbol, void *member)
{
	void *address = dlsym(library, symbol);

	*(void **)member = address;
	if (!address)
		snprintf(load_problem, sizeof load_problem,
			 "%s has no %s: it is too old, install a newer NVIDIA driver", LIBRARY,
			 symbol);
	return address != NULL;
}
#endif

/* The library is never closed, because the driver has threads of its own. */
static void load(void)
{
#if HAVE_DLOPEN
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const char *said = library ? NULL : dlerror();

	if (!library) {
		snprintf(load_problem, sizeof load_problem, "no NVIDIA driver: %s",
			 said ? said : LIBRARY " cannot be loaded");
		return;
	}
#define FIND(member, symbol, arguments) &&find(library, #symbol, &loaded.member)
	is_loaded = true REEL_DRIVER_CALLS(FIND);
#undef FIND
#endif
}

const struct reel_driver *reel_driver_get(const char **problem)
{
	/* Acquire: pairs with the release in reel_driver_replace(). Makes the table visible. */
	const struct reel_driver *driver = atomic_load_explicit(&replacement, memory_order_acquire);

	if (driver)
		return driver;
	pthread_once(&once, load);
	*problem = load_problem;
	return is_loaded ? &loaded : NULL;
}

void reel_driver_replace(const struct reel_driver *driver)
{
	/* Release: pairs with the acquire in reel_driver_get(). Makes the table visible. */
	atomic_store_explicit(&replacement, driver, memory_order_release);
}

const char *reel_driver_explain(const struct reel_driver *driver, reel_cu_result result,
				char words[REEL_DRIVER_WORDS])
{
	const char *name = NULL, *string = NULL;

	if (driver->cuGetErrorName(result, &name) || !name)
		name = "CUDA error";
	if (driver->cuGetErrorString(result, &string) || !string)
		string = "unknown";
	snprintf(words, REEL_DRIVER_WORDS, "%s (%d): %s", name, result, string);
	return words;
}
