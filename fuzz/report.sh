#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What was fuzzed so far, of runs.txt files that fuzz.sh has written: a row of a table in Markdown
# for each target, with the executions of each engine added up. Usage: report.sh RUNS...
set -u
[ $# -gt 0 ] || { echo 'Usage: report.sh RUNS...' >&2; exit 2; }
awk '
	{ executions[$2, $1] += $4; seconds[$2] += $3; if (!($2 in kept)) order[++n] = $2
	  kept[$2] = $6; found[$2, $1] = $7 > found[$2, $1] ? $7 : found[$2, $1] }
	END {
		print "| target | libFuzzer | AFL++ | seconds |"
		print "|---|---:|---:|---:|"
		for (i = 1; i <= n; i++) {
			t = order[i]
			printf "| %s | %d | %d | %d |\n", t, executions[t, "libfuzzer"], executions[t, "afl"], seconds[t]
			libfuzzer += executions[t, "libfuzzer"]; afl += executions[t, "afl"]; all += seconds[t]
		}
		printf "| all | %d | %d | %d |\n", libfuzzer, afl, all
	}' "$@"
