#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the driver of a test, and adds a line to the file TEST_TIMES, if that is set: seconds, the name of the test, and
# how many seconds processors worked for it.
#
#	timed.sh DRIVER... --test-name NAME ...
begin=$(date +%s)
"$@"
status=$?
[ -n "${TEST_TIMES:-}" ] || exit $status
while [ $# -gt 1 ] && [ "$1" != --test-name ]; do
	shift
done
seconds=$(($(date +%s) - begin))
# In a subshell, as of a pipe, this would say nothing: the second line is of this shell's children.
times >"$TEST_TIMES.$$"
worked=$(tr ms '  ' <"$TEST_TIMES.$$" | awk 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }')
rm -f "$TEST_TIMES.$$"
echo "$seconds ${2##*../} $worked" >>"$TEST_TIMES"
exit $status
