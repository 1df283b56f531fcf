/* SPDX-License-Identifier: MIT */
/* The version of the library that runs, which may differ from that of the headers. Any thread. */
#include "config.h"

#include <reel/version.h>

const char *reel_version(void)
{
	return PACKAGE_VERSION;
}

int reel_version_number(void)
{
	return REEL_VERSION;
}
