#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes RESULTS.md and its charts anew, on an idle machine, in an hour. Two builds, with the flags of a plain
# configure and for this processor, are measured in turns, one subject after the other. Subjects that wait for
# a disk are measured with the first build alone. The number of runs is fixed here, before anything is measured,
# and no result is measured again or left out because of its value.
# Usage: bench/results.sh [DIRECTORY-ON-A-DISK]
#        bench/results.sh --table BUILD-DIRECTORY RESULTS.json [RESULTS-NATIVE.json] >RESULTS.md
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
cd "$(dirname "$0")/.."
runs=3
rounds=3
of_disk='spill parcels' # a round of these takes seconds, so each run has one
native='-O3 -march=native'
results=build/results

fact() {
	"$build/tools/reel" info | sed -n "s/^$1: *//p"
}

# figures [NAME=VALUE...] RESULTS
figures() {
	awk -f bench/rows.awk -f bench/tables.awk -f bench/figures.awk "$@"
}

# The share of the processors' time that the machine's host used for others, since $1 and $2 ticks.
stolen() {
	awk -v all="$1" -v stolen="$2" '/^cpu / {
		for (i = 2; i <= 9; i++)
			sum += $i
		if (all == "")
			print sum, $9
		else
			printf "%.1f", 100 * ($9 - stolen) / (sum - all)
	}' /proc/stat
}

table() {
	build=$1
	cat <<END
# Results

Each section answers a question. A figure is the median of $runs runs of $rounds rounds each, of spill/ and
parcels/, which wait for the disk, of one round each, with -O2 alone. In a round the variants of a case take
turns, as the runs of both builds do.
No run was left out or repeated. Times are nanoseconds a value; compare ratios, not digits. The noise of
a figure is half of the distance from the quickest run to the slowest, over their median; of a quotient,
the larger one of both. \`faults\` are pages a run.

\`-O2\` are the flags of a plain configure, which users get; \`native\` are those of
\`configure CFLAGS='$native'\`. The loops that are measured are compiled with -O3 in both. Noise and remarks
belong to -O2. A command runs one section again. On an idle machine, all of this and both charts are made by

	bench/results.sh

Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(fact cpus_allowed) processors,
L2 $(getconf LEVEL2_CACHE_SIZE), L3 $(getconf LEVEL3_CACHE_SIZE) bytes, memory $(fact memory_total_bytes),
huge pages $(fact transparent_huge_pages). Compiler $(fact compiler), pool list $(fact pool_implementation).
$(awk -f bench/rows.awk -f bench/machine.awk "$2")
$(! [ -e "$results/stolen" ] || echo "The machine's host took $(cat "$results/stolen") % of the processors' time for others meanwhile.")

![Reel beside other tapes](front.svg)

![Time of each kernel's gradient over its primal](kernels.svg)

\`plain\` pushes and pops value by value, as a tool's code does; \`best\` is the same record in the shape that suits the
kernel; \`least\` the smallest record, where that is smaller; \`segments\` is \`best\`, recorded again segment by segment, within the cache. The others keep
the record of \`best\` in arrays in place of a tape: \`soa-fresh\` by \`malloc()\` in each gradient, \`soa-warm\` allocated once,
\`soa-page\` allocated once, each at the beginning of a page.

END
	if [ $# -lt 3 ]; then
		figures "$2"
		return
	fi
	listed=$(mktemp)
	figures list=1 "$3" >"$listed"
	figures listed="$listed" "$2"
	rm "$listed"
}

# build NAME [CFLAGS]: builds the programs in build/NAME.
build() {
	mkdir -p "build/$1"
	(
		cd "build/$1"
		[ -e config.status ] || ../../configure --quiet ${2:+CFLAGS="$2"}
		make --silent -j"$(nproc)" tools/reel bench/reel-bench bench/reel-bench-dropin libreel-adstack.la
	) >&2
}

# measure PROGRAM SUBJECT: runs the builds in turns.
measure() {
	local run name options number=$rounds builds='o2 native'
	[[ " $of_disk " != *" $2 "* ]] || number=1 builds=o2
	for ((run = 1; run <= runs; run++)); do
		for name in $builds; do
			options=(--only "^$2/" --rounds $number --json "$results/part" --directory "$directory")
			[ "$name $2" != 'o2 kernel' ] || options+=(--plot bench/kernels.svg)
			OMP_WAIT_POLICY=passive "build/$name/bench/$1" "${options[@]}" >&2
			cat "$results/part" >>"$results/$name.runs"
		done
	done
}

measure_all() {
	local program subject
	for program in reel-bench reel-bench-dropin; do
		for subject in $("build/o2/bench/$program" --list | sed 's#/.*##; s/[+]/[+]/g' | uniq); do
			measure "$program" "$subject"
		done
	done
}

if [ "${1-}" = --table ]; then
	shift
	table "$@"
	exit
fi
directory=${1:-/var/tmp}
build o2
build native "$native"
rm -rf "$results"
mkdir -p "$results"
ticks=$(stolen '' '')
measure_all
stolen $ticks >"$results/stolen"
for name in o2 native; do
	awk -f bench/runs.awk "$results/$name.runs" >"$results/$name.json"
done
table build/o2 "$results/o2.json" "$results/native.json" >bench/RESULTS.md
awk -f bench/chart.awk -f bench/front.awk bench/RESULTS.md >bench/front.svg
