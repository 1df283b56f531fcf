/* SPDX-License-Identifier: MIT */
/*
 * libomp recycles the memory of its tasks in ways that ThreadSanitizer cannot see, even with
 * Archer: the data of one task seems to race with the data of the next one. Reports about
 * memory that libomp allocated for itself are dropped, and no others.
 */
#ifndef TESTS_OMP_REPORTS_H
#define TESTS_OMP_REPORTS_H

#include "os/annotate.h"

/* Nothing tells the sanitizer of libgomp's barriers. */
#if defined(REEL_THREAD_SANITIZER) && !defined(__clang__)
#define OMP_IS_UNSEEN 1
#else
#define OMP_IS_UNSEEN 0
#endif

#ifdef REEL_THREAD_SANITIZER
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

int __tsan_get_report_loc(void *report, uintptr_t index, const char **type, void **address,
			  uintptr_t *start, uintptr_t *size, int *thread, int *file,
			  int *suppressable, void **trace, uintptr_t trace_size);

/* The sanitizer calls, weakly: bool __tsan::OnReport(const ReportDesc *, bool). */
bool omp_report_is_dropped(void *report, bool dropped)
	__asm__("_ZN6__tsan8OnReportEPKNS_10ReportDescEb");

/* The first place is malloc() itself. */
bool omp_report_is_dropped(void *report, bool dropped)
{
	const char *type = "";
	uintptr_t start, size;
	void *address, *trace[2] = {NULL, NULL};
	int thread, file, suppressable;
	Dl_info module;

	if (dropped || !__tsan_get_report_loc(report, 0, &type, &address, &start, &size, &thread,
					      &file, &suppressable, trace, 2))
		return dropped;
	return strcmp(type, "heap") == 0 && trace[1] && dladdr(trace[1], &module) &&
	       strstr(module.dli_fname, "/libomp") != NULL;
}
#endif

#endif
