#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the driver of a test, and adds a line to the file TEST_TIMES, if that is set: seconds, and the name of the test.
#
#	timed.sh DRIVER... --test-name NAME ...
begin=$(date +%s)
"$@"
status=$?
[ -n "${TEST_TIMES:-}" ] || exit $status
while [ $# -gt 1 ] && [ "$1" != --test-name ]; do
	shift
done
echo "$(($(date +%s) - begin)) ${2##*../}" >>"$TEST_TIMES"
exit $status
