/* SPDX-License-Identifier: MIT */
/*
 * The search for the C library's malloc_usable_size(). Any thread runs it; two threads that search
 * at the same time find the same function.
 */
#include "config.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <stdatomic.h>
#include <string.h>

#include "system.h"

typedef size_t usable_size(void *block);

/*
 * RTLD_NEXT alone may find the function of another allocator, which knows nothing of the blocks of
 * __libc_malloc(). It serves where the C library was loaded by another name. dlopen() finds the
 * library, which is loaded, and allocates only small blocks: these need no search.
 */
static usable_size *look_up(void)
{
	void *library = dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	void *address = dlsym(library ? library : RTLD_NEXT, "malloc_usable_size");
	usable_size *function = NULL;

	memcpy(&function, &address, sizeof function);
	return function;
}

size_t system_usable_size(void *block)
{
	static _Atomic(usable_size *) known;
	/* Relaxed is enough for both: each thread finds the same function, and it is code only. */
	usable_size *function = atomic_load_explicit(&known, memory_order_relaxed);

	if (!function) {
		function = look_up();
		atomic_store_explicit(&known, function, memory_order_relaxed);
	}
	return function(block);
}
