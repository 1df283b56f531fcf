#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Adds up the files runs.txt of fuzz.sh, and prints lines for tests/results/fuzz.txt: for each target the
# executions by both engines. Usage: report.sh RUNS...
set -u
[ $# -gt 0 ] || { echo 'Usage: report.sh RUNS...' >&2; exit 2; }
awk '
	function line(target) {
		printf "%s %d by libFuzzer, %d by AFL++, %d s, %d open finds\n", target, \
			executions[target, "libfuzzer"], executions[target, "afl"], seconds[target], \
			open[target]
	}
	{ if (!($2 in seconds)) order[++n] = $2
	  for (i = 1; i <= 2; i++) {
		t = i == 1 ? $2 : "all"
		executions[t, $1] += $4; seconds[t] += $3
	  }
	  last[$2, $1] = $7 }
	END {
		for (key in last) { split(key, part, SUBSEP); open[part[1]] += last[key]; open["all"] += last[key] }
		for (i = 1; i <= n; i++) line(order[i])
		line("all")
	}' "$@"
