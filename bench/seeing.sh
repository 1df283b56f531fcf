#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the cost of a trace, of a profile, of progress and of live figures. The tsunami runs with each of them and
# without them, in turns. Prints a table in Markdown with medians of the seconds of both sweeps. Usage: bench/seeing.sh
# BUILD-DIRECTORY [ROUNDS [DIRECTORY-ON-A-DISK]], for example: bench/seeing.sh build/main 9 /var/tmp.
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
tsunami=$(cd "$1" && pwd)/examples/tsunami/tsunami
rounds=${2:-9}
directory=$(mktemp -d "${3:-/var/tmp}/seeing.XXXXXX")
trap 'rm -rf "$directory"' EXIT
cd "$directory"
sweep='--basin idealised --hours 100 --threads 2'

# seconds OPTION...: runs the tsunami, and prints the seconds of both sweeps together.
seconds() {
	"$tsunami" --quiet --output out $sweep "$@" >said 2>&1 || { cat said >&2; exit 1; }
	sed -n 's/^ *"\(forward\|reverse\)_seconds": \([0-9.]*\),*$/\2/p' out/summary.json |
		awk '{ sum += $1 } END { print sum }'
}

seconds >/dev/null
tape_bytes=$(sed -n 's/^ *"tape_bytes": \([0-9]*\),$/\1/p' out/summary.json)
in_memory=
spilled="--budget $((tape_bytes / 9)) --spill ."
checkpointed="--checkpoint auto --budget $((tape_bytes / 40))"
for way in in_memory spilled checkpointed; do
	eval "options=\$$way"
	round=0
	while [ $((round += 1)) -le "$rounds" ]; do
		echo "$way nothing $(seconds $options)"
		echo "$way REEL_TRACE $(REEL_TRACE=trace.json seconds $options)"
		echo "$way REEL_PROFILE $(REEL_PROFILE=profile seconds $options)"
		echo "$way REEL_PROGRESS $(REEL_PROGRESS=1 seconds $options)"
		echo "$way REEL_STATS $(REEL_STATS=live seconds $options)"
	done
done >rows

# figures WAY WITH: prints the median and both quartiles of the seconds.
figures() {
	awk -v way="$1" -v with="$2" '$1 == way && $2 == with { print $3 }' rows | sort -n |
		awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)], value[int((NR + 3) / 4)], value[int((3 * NR + 3) / 4)] }'
}

echo '| the tsunami | nothing, s | noise | REEL_TRACE | REEL_PROFILE | REEL_PROGRESS | REEL_STATS |'
echo '|---|---|---|---|---|---|---|'
for way in in_memory spilled checkpointed; do
	for with in nothing REEL_TRACE REEL_PROFILE REEL_PROGRESS REEL_STATS; do
		figures $way $with
	done | awk -v way="$way" '
		{ median[NR] = $1; noise[NR] = ($3 - $2) / 2 / $1 }
		END {
			sub(/_/, " ", way)
			printf "| %s | %.2f | %.1f %% |", way, median[1], 100 * noise[1]
			for (i = 2; i <= NR; i++)
				printf " %.3f |", median[i] / median[1]
			print ""
		}'
done
