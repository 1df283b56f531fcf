/* SPDX-License-Identifier: MIT */
/*
 * Loads libcuda.so.1, or libamdhip64 where there is no libcuda.so.1, when the first thread asks for
 * it, and finds its functions. Any thread calls these functions. The table is loaded once and never
 * changes; it either has all functions or is not used.
 */
#include "config.h"

#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#if HAVE_DLOPEN
#include <dlfcn.h>
#endif

#define CUDA "libcuda.so.1"

static struct reel_driver loaded;
static char load_problem[256] = "this library was built without dlopen()";
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic(const struct reel_driver *) replacement;

#if HAVE_DLOPEN

/* ---- Loading ---- */

/* A library is never closed, because a driver has threads of its own. */
struct library {
	void *handle;
	const char *name, *newer;
};

/* POSIX lets a function's address be stored as an object's, which ISO C does not. */
static bool find(const struct library *library, const char *symbol, void *member)
{
	void *address = dlsym(library->handle, symbol);

	*(void **)member = address;
	if (!address)
		snprintf(load_problem, sizeof load_problem,
			 "%s has no %s: it is too old, install a newer %s", library->name, symbol,
			 library->newer);
	return address != NULL;
}

static bool find_cuda(const struct library *library)
{
#define FIND(member, symbol, ...) &&find(library, #symbol, &loaded.member)
	return true REEL_DRIVER_CALLS(FIND) REEL_CUDA_CALLS(FIND);
#undef FIND
}

/* ---- HIP ---- */

/* HIP returns texts where CUDA sets a pointer to them, and has other numbers of attributes. */
static struct {
	const char *(*name_of)(reel_cu_result result);
	const char *(*string_of)(reel_cu_result result);
	reel_cu_result (*attribute_of)(int *value, int attribute, reel_cu_device device);
} hip;

static reel_cu_result get_error_name(reel_cu_result result, const char **name)
{
	*name = hip.name_of(result);
	return REEL_CU_SUCCESS;
}

static reel_cu_result get_error_string(reel_cu_result result, const char **words)
{
	*words = hip.string_of(result);
	return REEL_CU_SUCCESS;
}

static reel_cu_result get_attribute(int *value, reel_cu_attribute attribute, reel_cu_device device)
{
	switch (attribute) {
	case REEL_CU_MULTIPROCESSORS:
		return hip.attribute_of(value, REEL_HIP_MULTIPROCESSORS, device);
	case REEL_CU_THREADS_PER_MULTIPROCESSOR:
		return hip.attribute_of(value, REEL_HIP_THREADS_PER_MULTIPROCESSOR, device);
	case REEL_CU_COMPUTE_MAJOR:
		return hip.attribute_of(value, REEL_HIP_COMPUTE_MAJOR, device);
	case REEL_CU_COMPUTE_MINOR:
		return hip.attribute_of(value, REEL_HIP_COMPUTE_MINOR, device);
	}
	return REEL_CU_INVALID_VALUE;
}

static bool find_hip(const struct library *library)
{
	loaded.cuGetErrorName = get_error_name;
	loaded.cuGetErrorString = get_error_string;
	loaded.cuDeviceGetAttribute = get_attribute;
#define FIND(member, symbol, hip, arguments) &&find(library, #hip, &loaded.member)
	return find(library, "hipGetErrorName", &hip.name_of) &&
	       find(library, "hipGetErrorString", &hip.string_of) &&
	       find(library, "hipDeviceGetAttribute", &hip.attribute_of)
		       REEL_DRIVER_CALLS(FIND);
#undef FIND
}

static bool load_hip(void)
{
	static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6",
					    "libamdhip64.so.5", "libamdhip64.so"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct library library = {.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL),
					  .name = names[i], .newer = "ROCm"};

		if (library.handle)
			return find_hip(&library);
	}
	return false;
}

static void load(void)
{
	struct library library = {dlopen(CUDA, RTLD_NOW | RTLD_LOCAL), CUDA, "NVIDIA driver"};
	const char *said = library.handle ? NULL : dlerror();

	if (library.handle) {
		is_loaded = find_cuda(&library);
		return;
	}
	snprintf(load_problem, sizeof load_problem, "no NVIDIA driver: %s; nor AMD's libamdhip64",
		 said ? said : CUDA " cannot be loaded");
	is_loaded = load_hip();
}
#else
static void load(void)
{
}
#endif

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
		name = "error";
	if (driver->cuGetErrorString(result, &string) || !string)
		string = "unknown";
	snprintf(words, REEL_DRIVER_WORDS, "%s (%d): %s", name, result, string);
	return words;
}
