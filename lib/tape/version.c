/* SPDX-License-Identifier: MIT */
#include <reel/version.h>

const char *reel_version(void)
{
	return REEL_VERSION;
}
