/* SPDX-License-Identifier: MIT */
/* The shared library beside the static one: its functions are found by name. */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "dropin.h"

static struct {
	void (*push_real8)(double x);
	void (*pop_real8)(double *x);
	void (*push_integer4)(int x);
	void (*pop_integer4)(int *x);
	void (*push_control)(int x);
	void (*pop_control)(int *x);
	void (*push_array)(double *x, int n);
	void (*pop_array)(double *x, int n);
} shared;

static const struct {
	const char *name;
	void *function;
} functions[] = {
	{"pushReal8", &shared.push_real8},       {"popReal8", &shared.pop_real8},
	{"pushInteger4", &shared.push_integer4}, {"popInteger4", &shared.pop_integer4},
	{"pushControl1b", &shared.push_control}, {"popControl1b", &shared.pop_control},
	{"pushReal8Array", &shared.push_array},  {"popReal8Array", &shared.pop_array},
};

bool dropin_shared_open(void)
{
	void *library = dlopen(DROPIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < COUNT_OF(functions); i++) {
		void *address = dlsym(library, functions[i].name);

		if (!address)
			return false;
		memcpy(functions[i].function, &address, sizeof address);
	}
	return library != NULL;
}

#define NAME(sweep) dropin_shared_##sweep
#define PUSH_REAL8(x) shared.push_real8(x)
#define POP_REAL8(x) shared.pop_real8(x)
#define PUSH_INTEGER4(x) shared.push_integer4(x)
#define POP_INTEGER4(x) shared.pop_integer4(x)
#define PUSH_CONTROL(x) shared.push_control(x)
#define POP_CONTROL(x) shared.pop_control(x)
#define PUSH_ARRAY(x, n) shared.push_array(x, n)
#define POP_ARRAY(x, n) shared.pop_array(x, n)
#include "dropin-sweeps.h"
