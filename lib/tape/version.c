/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <reel/version.h>

const char *reel_version(void)
{
	return PACKAGE_VERSION;
}
