/* SPDX-License-Identifier: MIT */
/* The version of the library that runs. The headers may have another one. Any thread. */
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
