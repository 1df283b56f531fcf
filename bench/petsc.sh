#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares trajectories for PETSc's TSAdjoint, PETSc's own types and Reel's, in turns. Prints two medians for each: the
# seconds in calls of the trajectory, and the seconds of the forward sweep. Usage: bench/petsc.sh BUILD-DIRECTORY [ROUNDS
# [OSCILLATORS [WORK]]], for example: bench/petsc.sh build/main 5 100000 8. Files go to the working directory.
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
SOURCE_DIR=$(cd "$(dirname "$0")/.." && pwd)
BUILD_DIR=$(cd "$1" && pwd)
rounds=${2:-5} n=${3:-100000} work=${4:-1}
CC=${CC:-cc} CFLAGS=${CFLAGS:--O2}
MPI_CFLAGS=$(pkg-config --cflags ompi-c) MPI_LIBS=$(pkg-config --libs ompi-c)

fail() {
	echo "petsc.sh: $*" >&2
	exit 1
}

skip_all() {
	echo "petsc.sh: $*" >&2
	exit 2
}
. "$SOURCE_DIR/tests/dropin/petsc.sh"
find_builds
directory=$(mktemp -d petsc.XXXXXX)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
directory=$PWD
use_build "${builds%% *}"
compile_plugin >&2 || fail 'the plug-in cannot be compiled'
compile_program "$SOURCE_DIR/tests/dropin/t-petsc-adjoint.c" -o adjoint || {
	cat log >&2
	fail 'the program cannot be compiled'
}

# measure WAY OPTION...: prints a line: WAY, the seconds in the trajectory, the seconds of the forward sweep. The forward
# sweep has 50 steps, and PETSc's log also counts steps of the reverse sweep, so it is 50 times the mean of all steps.
measure() {
	way=$1
	shift
	./adjoint -n "$n" -work "$work" -ts_rk_type 4 -ts_adapt_type none -output /dev/null "$@" -log_view >log 2>&1 || {
		cat log >&2
		fail "the program has failed, by $way"
	}
	awk -v way="$way" '
		$1 ~ /^TSTrajectory(Set|Get)$/ { all += $4 }
		$1 == "TSTrajectorySet" { set = $4 }
		$1 == "TSStep" { step = $4 / $2 * 50 }
		END { print way, all, step + set }' log
	rm -rf files
}

reel="-dll_append $directory/libreel-petsc.so -ts_trajectory_type reel"
while [ "$rounds" -gt 0 ]; do
	rounds=$((rounds - 1))
	measure memory -ts_trajectory_type memory -ts_trajectory_solution_only 0
	measure reel $reel
	# A second run gets its pages sooner: the run before has just given them back to the system.
	measure reel,again $reel
	measure basic -ts_trajectory_type basic -ts_trajectory_solution_only 0 -ts_trajectory_dirname "$directory/files"
	measure reel,disk $reel -ts_trajectory_reel_budget 64M -ts_trajectory_reel_directory "$directory"
	measure reel,checkpoints $reel -ts_trajectory_max_cps_ram 10
done >rows
for way in memory reel reel,again basic reel,disk reel,checkpoints; do
	for column in 2 3; do
		awk -v way="$way" -v column=$column '$1 == way { print $column }' rows | sort -n |
			awk '{ value[NR] = $1 } END { printf "%s ", value[int((NR + 1) / 2)] }'
	done | awk -v way="$way" '{ printf "%-18s %8.2f s in the trajectory, %8.2f s forward\n", way, $1, $2 }'
done
