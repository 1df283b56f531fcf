/* SPDX-License-Identifier: MIT */
/*
 * The answer of __builtin_cpu_supports("sse4.2") in wheels for x86-64. gcc and clang ask __cpu_model
 * of their own run-time library. zig's library has none.
 */
#include <cpuid.h>

#define FEATURE_SSE4_2 8

/* The layout and the names are those of gcc's library. */
struct {
	unsigned vendor, type, subtype, features;
} __cpu_model;

__attribute__((constructor)) static void ask_processor(void)
{
	unsigned eax, ebx, ecx, edx;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2))
		__cpu_model.features |= 1u << FEATURE_SSE4_2;
}
