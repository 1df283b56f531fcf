#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the cost of ranks, on a machine that does nothing else, and prints the part of bench/SCALING.md on
# ranks: the tsunami's exchange and its reverse; the gradient by two ranks of one thread and by one process of
# two threads; and a model of the time, which ranks.awk makes.
# Usage: bench/ranks/ranks.sh BUILD-DIRECTORY [OPTION OF examples/tsunami]...
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
build=$1
shift
source=$(cd "$(dirname "$0")" && pwd)
variable() {
	sed -n "s/^$1 = //p" "$build/Makefile"
}
mpirun="$(variable MPIRUN) $(variable MPIRUN_FLAGS)"
tsunami=$build/examples/tsunami/tsunami
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT
[ $# -gt 0 ] || set -- --basin idealised --resolution 15 --hours 15
# Ranks that wait give the processor to other ranks, because 8 ranks may share fewer processors.
OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_mpi_yield_when_idle

# run NAME COMMAND...: runs the tsunami, and prints a line: NAME, and sizes and seconds from its summary.json.
run() {
	name=$1
	shift
	"$@" --quiet --output "$output" >&2
	awk -F '[:,]' -v name="$name" '/"(cells|columns|steps|forward_seconds|reverse_seconds)"/ {
			gsub(/[ "]/, "", $1)
			value[$1] = $2
		}
		END {
			print "run", name, value["cells"], value["columns"], value["steps"], value["forward_seconds"], value["reverse_seconds"]
		}' "$output/summary.json"
}

{
	echo "processors $(nproc)"
	for columns in 30 100 350; do
		$mpirun -n 2 "$build/bench/ranks/halo" $columns | sed 's/^/halo /'
	done
	for round in 1 2 3 4 5 6 7 8 9; do
		run threads "$tsunami" --threads 2 "$@"
		for ranks in 1 2 4 8; do
			run $ranks $mpirun -n $ranks "$tsunami" --threads 1 "$@"
		done
	done
} | tee /dev/stderr | awk -f "$source/ranks.awk"
