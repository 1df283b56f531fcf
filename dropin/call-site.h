/* SPDX-License-Identifier: MIT */
/* Places of calls by return addresses, where a caller's language has no __FILE__. */
#ifndef REEL_DROPIN_CALL_SITE_H
#define REEL_DROPIN_CALL_SITE_H

/*
 * The place that a call returns to, as "solver+0x1c3f" or "solver+0x1c3f (sweep_)": the file, and
 * what `addr2line -e solver 0x1c3f` makes a line of, and the function if its name is known.
 * The text lives as long as the process. Any thread; some microseconds for the first call
 * with an address, then some nanoseconds.
 */
#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
const char *reel_call_site(const void *return_address);

#if defined(__GNUC__)
#define REEL_RETURN_ADDRESS __builtin_return_address(0)
#else
#define REEL_RETURN_ADDRESS ((void *)0)
#endif

#endif
