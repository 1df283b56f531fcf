/* SPDX-License-Identifier: MIT */
/*
 * Annotations for sanitizers, which cannot see the order that assembly or an OpenMP runtime makes,
 * nor that no thread may touch some memory until it is handed out again.
 */
#ifndef REEL_LIB_ANNOTATE_H
#define REEL_LIB_ANNOTATE_H

#ifdef __has_feature
#define REEL_HAS_FEATURE(feature) __has_feature(feature)
#else
#define REEL_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || REEL_HAS_FEATURE(thread_sanitizer)
#define REEL_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__) || REEL_HAS_FEATURE(address_sanitizer)
#define REEL_ADDRESS_SANITIZER 1
#endif

#ifdef REEL_THREAD_SANITIZER
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define reel_annotate_acquire(address) __tsan_acquire(address)
#define reel_annotate_release(address) __tsan_release(address)
/* Between these two calls ThreadSanitizer ignores accesses of this thread. */
#define reel_annotate_ignore_begin()                                                               \
	(AnnotateIgnoreReadsBegin(__FILE__, __LINE__),                                             \
	 AnnotateIgnoreWritesBegin(__FILE__, __LINE__))
#define reel_annotate_ignore_end()                                                                 \
	(AnnotateIgnoreWritesEnd(__FILE__, __LINE__), AnnotateIgnoreReadsEnd(__FILE__, __LINE__))
#else
#define reel_annotate_acquire(address) ((void)(address))
#define reel_annotate_release(address) ((void)(address))
#define reel_annotate_ignore_begin() ((void)0)
#define reel_annotate_ignore_end() ((void)0)
#endif

#ifdef REEL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define reel_annotate_forbid(address, bytes) ASAN_POISON_MEMORY_REGION(address, bytes)
#define reel_annotate_allow(address, bytes) ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#else
#define reel_annotate_forbid(address, bytes) ((void)(address), (void)(bytes))
#define reel_annotate_allow(address, bytes) ((void)(address), (void)(bytes))
#endif

#endif
