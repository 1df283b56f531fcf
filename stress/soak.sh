#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs reel-stress for hours, with another seed every ten seconds, so that all its random choices differ.
usage='Usage: stress/soak.sh [--minutes N] [--results FILE] [PROGRAM [OPTION]...]

Run reel-stress with a new seed every ten seconds, for N minutes (60), and stop at the first failure,
which prints the command that repeats it. PROGRAM (build/main/stress/reel-stress) is run with the
OPTIONs. $SOAK_SEED is the first seed; without it, the time of day is. FILE gets the numbers of runs,
operations and faults (tests/results/soak.txt).'

refuse() {
	echo "soak.sh: $1; see stress/soak.sh --help" >&2
	exit 2
}

minutes=60 results=
while :; do
	case $1 in
	--help)
		echo "$usage"
		exit
		;;
	--minutes)
		[ "$2" -gt 0 ] 2>/dev/null || refuse '--minutes takes a number above 0'
		minutes=$2
		;;
	--results)
		[ -n "$2" ] || refuse '--results takes a file'
		results=$2
		;;
	-*) refuse "$1: no such option" ;;
	*) break ;;
	esac
	shift 2
done
program=${1:-$(dirname "$0")/../build/main/stress/reel-stress}
[ $# -eq 0 ] || shift
[ -x "$program" ] || refuse "$program is not there: build it first"

summary=$(mktemp) || exit
trap 'rm -f "$summary"' EXIT
seed=${SOAK_SEED:-$(date +%s)}
end=$(($(date +%s) + minutes * 60))
runs=0 operations=0 faults=0

# number NAME: prints the first number of this name in the summary, which is for the whole run.
number() {
	sed -n "1s/.*\"$1\": \\([0-9]*\\).*/\\1/p" "$summary"
}

while [ "$(date +%s)" -lt "$end" ]; do
	"$program" --seed "$seed" --seconds 10 --json "$summary" "$@" || {
		echo "# soak: failed in run $((runs + 1)), seed $seed, after $operations operations"
		exit 1
	}
	runs=$((runs + 1))
	operations=$((operations + $(number operations)))
	faults=$((faults + $(number faults)))
	seed=$((seed + 1000003))
done
echo "# soak: $runs runs, $operations operations, $faults faults as told, no failure"
[ -z "$results" ] || printf 'minutes %d\nruns %d\noperations %d\nfaults %d\nfailures 0\n' \
	"$minutes" "$runs" "$operations" "$faults" >"$results"
