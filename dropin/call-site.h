/* SPDX-License-Identifier: MIT */
/* Names call sites by return addresses, for languages that have no __FILE__. */
#ifndef REEL_DROPIN_CALL_SITE_H
#define REEL_DROPIN_CALL_SITE_H

/*
 * Returns the call site as "solver+0x1c3f" or "solver+0x1c3f (sweep_)": the file, the address, and
 * the function if its name is known. `addr2line -e solver 0x1c3f` prints the line. The text lives
 * as long as the process. Any thread. The first call with an address takes some microseconds, later
 * calls some nanoseconds.
 */
#if defined(__GNUC__)
__attribute__((visibility("hidden")))
#endif
const char *reel_call_site_of_return(const void *return_address);

#if defined(__GNUC__)
#define REEL_RETURN_ADDRESS __builtin_return_address(0)
#else
#define REEL_RETURN_ADDRESS ((void *)0)
#endif

#endif
