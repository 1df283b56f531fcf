#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures what ranks cost, on a machine that does nothing else: the reverse of the tsunami's exchange
# against the exchange, and its gradient by two ranks of one thread against one process of two threads.
# Usage: bench/ranks/ranks.sh BUILD-DIRECTORY [OPTION OF examples/tsunami]...
set -eu
build=$1
shift
variable() {
	sed -n "s/^$1 = //p" "$build/Makefile"
}
mpirun="$(variable MPIRUN) $(variable MPIRUN_FLAGS)"
tsunami=$build/examples/tsunami/tsunami
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
[ $# -gt 0 ] || set -- --basin idealised --resolution 20 --hours 10

echo 'columns   bytes   forward/us   reverse/us    ratio'
for columns in 30 100 350; do
	$mpirun -n 2 "$build/bench/ranks/halo" $columns
done

# seconds COMMAND...: of both sweeps.
seconds() {
	"$@" --quiet --output "$output" >&2
	awk -F '[:,]' '/"(forward|reverse)_seconds"/ { sum += $2 } END { print sum }' "$output/summary.json"
}

echo
echo 'round    1 x 2 threads/s    2 ranks x 1/s    ratio'
for round in 1 2 3 4 5; do
	threads=$(seconds "$tsunami" --threads 2 "$@")
	ranks=$(seconds $mpirun -n 2 "$tsunami" --threads 1 "$@")
	echo "$round $threads $ranks"
done | awk '{ printf "%5d %18.3f %16.3f %8.3f\n", $1, $2, $3, $3 / $2
		if (!threads || $2 < threads) threads = $2
		if (!ranks || $3 < ranks) ranks = $3 }
	END { printf "least %18.3f %16.3f %8.3f\n", threads, ranks, ranks / threads }'
