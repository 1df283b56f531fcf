#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the driver of a test. If TEST_TIMES is set, adds a line to the file that it names: the seconds of the test, its
# name, and its seconds of processor time.
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
# The second line of `times` has the processor time of the children of this shell. In a pipe it would be another shell.
times >"$TEST_TIMES.$$"
worked=$(tr ms '  ' <"$TEST_TIMES.$$" | awk 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }')
rm -f "$TEST_TIMES.$$"
echo "$seconds ${2##*../} $worked" >>"$TEST_TIMES"
exit $status
