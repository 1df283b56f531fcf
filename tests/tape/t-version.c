/* SPDX-License-Identifier: MIT */
#include <config.h>

#include <reel/version.h>

#include <stdio.h>

#include "tap/tap.h"

int main(void)
{
	char numbers[64];

	tap_begin();

	snprintf(numbers, sizeof(numbers), "%d.%d.%d", REEL_VERSION / 10000,
		 REEL_VERSION / 100 % 100, REEL_VERSION % 100);
	is_string(numbers, PACKAGE_VERSION, "the header's version is the package's");
	is_string(reel_version(), PACKAGE_VERSION, "the library's version is the package's");
	is_int(reel_version_number(), REEL_VERSION, "and is a number, too");

	return tap_end();
}
