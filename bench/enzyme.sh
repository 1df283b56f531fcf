#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the cost of keeping the states of Enzyme's loops on a disk: the plan `all` in memory, and under a budget of
# an eighth of all states with a store, in turns. A step takes 1 ns a byte. Prints the speed of the disk, and a table in
# Markdown with medians. The first loop of a program takes memory from the system; the second loop uses it again.
# Usage: bench/enzyme.sh BUILD-DIRECTORY [ROUNDS [DIRECTORY-ON-A-DISK [STEPS [BYTES]]]], for example:
# bench/enzyme.sh build/main 9 /var/tmp 128 4194304.
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
program=$(cd "$1" && pwd)/bench/dropin/enzyme-loop
rounds=${2:-9} steps=${4:-128} bytes=${5:-4194304}
directory=$(mktemp -d "${3:-/var/tmp}/enzyme.XXXXXX")
trap 'rm -rf "$directory"' EXIT
cd "$directory"
all=$((steps * bytes))
unset REEL_BUDGET REEL_SPILL_DIR REEL_STORE
export REEL_PLAN=all

# transfer OPTION...: prints the nanoseconds a byte of a transfer of 256 MiB. With direct I/O in OPTION it does not use
# the cache of the system.
transfer() {
	LC_ALL=C dd bs=4M count=64 "$@" 2>&1 | awk '/copied/ { printf "%.2f", $(NF - 3) * 1e9 / $1 }'
}

# loops WAY VARIABLE...: runs the program once, and prints a line for each of its two loops.
loops() {
	way=$1
	shift
	env "$@" "$program" "$work" "$steps" "$bytes" | awk -v way="$way" '{ print way, NR, $1, $2, $1 + $2, $3, $4, $5, $6 }'
}

# column WAY LOOP COLUMN: prints the median of a column, and half of the distance between its quartiles.
column() {
	awk -v way="$1" -v run="$2" -v column="$3" '$1 == way && $2 == run { print $column }' rows | sort -n |
		awk '{ value[NR] = $1 }
		END { print value[int((NR + 1) / 2)], (value[int((3 * NR + 3) / 4)] - value[int((NR + 3) / 4)]) / 2 }'
}

echo "disk: $(transfer if=/dev/zero of=file oflag=direct) ns a byte written," \
	"$(transfer if=file of=/dev/null iflag=direct) ns a byte read"
rm file
work=$("$program" --calibrate)
round=0
while [ $((round += 1)) -le "$rounds" ]; do
	loops memory
	loops disk REEL_BUDGET=$((all / 8)) REEL_SPILL_DIR=.
	loops store REEL_BUDGET=$((all / 8)) REEL_STORE=memory=$((all * 2))
done >rows

echo '| states | loop | forward, s | reverse, s | both, of memory | noise | waits, s | written, MB | read, MB |'
echo '|---|---|---|---|---|---|---|---|---|'
for run in 1 2; do
	for way in memory disk store; do
		for number in 3 4 5 6 7 8 9; do
			column $way $run $number
		done | awk -v way="$way" -v run=$run -v base="$(column memory $run 5)" '
			{ median[NR + 2] = $1; spread[NR + 2] = $2 }
			END {
				split(base, memory, " ")
				printf "| %s | %d | %.2f | %.2f | %.3f | %.1f %% | %.2f | %.0f | %.0f |\n", way, run, median[3], median[4],
					median[5] / memory[1], 100 * spread[5] / median[5], median[6] + median[7], median[8] / 1e6, median[9] / 1e6
			}'
	done
done
