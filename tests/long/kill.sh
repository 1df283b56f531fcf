#!/bin/sh
# SPDX-License-Identifier: MIT
# kill.sh [--results] [N]: kills a whole program at N random times (1000). tests/whole/t-gradient-process.c checks
# the files that it leaves, and the gradients of processes that resume its run or run beside it. The program is in
# $BUILD_DIR (build/main). The seed is $GRADIENT_SEED, or else the time.
cd "$(dirname "$0")/../.." || exit
. tests/results.sh

kills=${1:-1000}
program=${BUILD_DIR:-build/main}/tests/whole/t-gradient-process
[ -x "$program" ] || { echo "kill.sh: $program is not there: build it first" >&2; exit 2; }
seed=${GRADIENT_SEED:-$(date +%s)}
log=$(mktemp) || exit
trap 'rm -f "$log"' EXIT

OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY
echo "# GRADIENT_SEED=$seed tests/long/kill.sh $kills"
GRADIENT_ONLY=kills GRADIENT_KILLS=$kills GRADIENT_SEED=$seed "$program" >"$log" 2>&1 || {
	cat "$log"
	exit 1
}
set -- $(sed -n 's/^# kills \([0-9]*\) resumed \([0-9]*\) torn \([0-9]*\)$/\1 \2 \3/p' "$log")
result kills "$1"
result kills_resumed "$2"
result kills_while_saving "$3"
result kills_failed 0
write_results
