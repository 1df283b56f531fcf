/* SPDX-License-Identifier: MIT */
/* Requests of reel_save_now(), of signals and of a limit of time to the runs of this process. */
#ifndef REEL_LIB_SAVE_REQUEST_H
#define REEL_LIB_SAVE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Obeys REEL_SAVE_SIGNAL, REEL_END_SIGNAL and REEL_END_AFTER from now on. Once in a process. */
void reel_save_request_open(void);
/* Number of requests so far: a run that has served fewer has one to serve. Wraps. */
uint32_t reel_save_requests(void);
/*
 * Returns true if each sweep ends as soon as it is saved. Seen with the requests that were counted.
 */
bool reel_save_ends(void);

#endif
