/* SPDX-License-Identifier: MIT */
/*
 * The facts of "reel info" about the build: version, compiler, sanitizer and optional parts. They
 * are constants of the compilation; only one sanitizer is found by its runtime.
 */
#include "config.h"

#include <dlfcn.h>

#include <reel/pool.h>
#include <reel/version.h>
#include <reel/extend.h>

#include "info.h"

/* clang names its sanitizers by __has_feature(), gcc by macros. */
#if defined(__has_feature)
#define COMPILED_WITH(feature) __has_feature(feature)
#else
#define COMPILED_WITH(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || COMPILED_WITH(address_sanitizer)
#define MEMORY_SANITIZER "address"
#elif defined(__SANITIZE_THREAD__) || COMPILED_WITH(thread_sanitizer)
#define MEMORY_SANITIZER "thread"
#elif COMPILED_WITH(memory_sanitizer)
#define MEMORY_SANITIZER "memory"
#endif

#ifdef _OPENMP
#define WITH_OPENMP true
#else
#define WITH_OPENMP false
#endif

#if defined(HAVE_LIBDW) && HAVE_LIBDW
#define WITH_LIBDW true
#else
#define WITH_LIBDW false
#endif

#define QUOTE(word) #word
#define DOTTED(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)

static const char *compiler(void)
{
#if defined(__clang__)
	return "clang " DOTTED(__clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
	return "gcc " __VERSION__;
#else
	return NULL;
#endif
}

/* gcc has no macro for the undefined behaviour sanitizer, so this looks for its runtime. */
static bool undefined_sanitizer(void)
{
#if defined(__clang__)
	return COMPILED_WITH(undefined_behavior_sanitizer);
#else
	return dlsym(RTLD_DEFAULT, "__ubsan_handle_type_mismatch_v1") != NULL;
#endif
}

static const char *sanitizer(void)
{
#ifdef MEMORY_SANITIZER
	return undefined_sanitizer() ? MEMORY_SANITIZER ",undefined" : MEMORY_SANITIZER;
#else
	return undefined_sanitizer() ? "undefined" : "none";
#endif
}

void add_feature_facts(struct facts *facts)
{
	facts_add_text(facts, "version", reel_version());
	facts_add_text(facts, "command_version", PACKAGE_VERSION);
	facts_add_text(facts, "compiler", compiler());
	facts_add_text(facts, "sanitizer", sanitizer());
	facts_add_text(facts, "pool_implementation", reel_pool_implementation());
	facts_add_flag(facts, "built_with_huge_pages", REEL_HUGE_PAGES);
	facts_add_flag(facts, "built_with_yield_points", REEL_YIELD_POINTS);
	facts_add_flag(facts, "built_with_openmp", WITH_OPENMP);
	facts_add_flag(facts, "built_with_libdw", WITH_LIBDW);
}
