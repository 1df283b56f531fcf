#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests gradients in the forms that Clad emits, in each standard of C++, by each compiler that is installed.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/clad.sh"

for compiler in $compilers; do
	for standard in $standards; do
		compile $compiler $standard "$hook" t-clad
		is_empty messages "$compiler, C++$standard: compiled without a warning"
		passes "$compiler, C++$standard" ./t-clad
	done
	passes "$compiler, in checked mode" env REEL_CHECKED=1 ./t-clad
	passes "$compiler, under a budget" env REEL_BUDGET=8M ./t-clad budget
	# With a sanitizer this takes a minute, so only the long form has it.
	[ -n "$sanitized" ] && [ -z "$TEST_LONG" ] || ! can_spill ||
		passes "$compiler, spilling" env REEL_BUDGET=24M REEL_SPILL_DIR=. ./t-clad spill
done
end
