/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "system.h"

typedef size_t usable_size(void *block);

static usable_size *look_up(void)
{
	void *address = dlsym(RTLD_NEXT, "malloc_usable_size");
	usable_size *function = NULL;

	memcpy(&function, &address, sizeof function);
	return function;
}

size_t system_usable_size(void *block)
{
	static _Atomic(usable_size *) known;
	/* Relaxed, both: all threads find the same, and it points to code. */
	usable_size *function = atomic_load_explicit(&known, memory_order_relaxed);

	if (!function) {
		function = look_up();
		atomic_store_explicit(&known, function, memory_order_relaxed);
	}
	return function(block);
}
