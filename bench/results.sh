#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RESULTS.md from a run of reel-bench: the machine, what users ask, and every result. Figures of the same
# cases with the flags of a plain configure are shown beside these.
# Usage: bench/results.sh BUILD-DIRECTORY RESULTS.json [RESULTS-AT-O2.json] >bench/RESULTS.md
#        bench/results.sh --part ...: only what users ask, of a run of some of the cases
set -eEu
trap 'echo "${0##*/}: line $LINENO has failed: $BASH_COMMAND" >&2' ERR
part=
if [ "$1" = --part ]; then
	part=1
	shift
fi
build=$1
results=$2
here=$(dirname "$0")

fact() {
	"$build/tools/reel" info | sed -n "s/^$1: *//p"
}

machine() {
	cat <<END
Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(fact cpus_allowed) processors,
L2 $(getconf LEVEL2_CACHE_SIZE), L3 $(getconf LEVEL3_CACHE_SIZE) bytes, memory $(fact memory_total_bytes),
huge pages $(fact transparent_huge_pages). Compiler $(fact compiler), pool list $(fact pool_implementation).
$(awk -f "$here/rows.awk" -f "$here/machine.awk" "$results")

END
}

configure="../../configure CFLAGS='$(sed -n "s/^CFLAGS = //p" "$build/Makefile")' && make"

cases='^((floor|single|record|bulk|instructions|sum|threads|adjoint|omp|lookahead|kernel|peer)/|clad/[^c])'

if [ "$part" ]; then
	cat <<END
# Results with the flags of a plain configure

The questions of [RESULTS.md](RESULTS.md) in which a compiler has a part, measured with
\`$configure\` and, in the column -O2,
with \`../../configure && make\`, which is what users get. Regenerate it on an idle machine by the first two
commands in both build folders, and then the last one:

	OMP_WAIT_POLICY=passive bench/reel-bench --json results.json --only '$cases'
	bench/reel-bench-dropin --json dropin.json && cat dropin.json >>results.json
	../../bench/results.sh --part . results.json ../o2/results.json >../../bench/RESULTS-O2.md

The noise is as there. A case that varied by more than 5 %, or was slower than at another time, was measured
again, up to nine times, with each of the flags by itself. One measurement of it is shown, the fastest or the
quietest. So a figure may be better than the median of many runs, and the noise is that of the one shown.

END
	machine
else
	cat <<END
# Results

Each section answers a question, with figures of one run: medians, variants in turns. Times are nanoseconds
a value; compare ratios, not digits. The noise of a figure is half of the distance between the quartiles of
its runs, over their median; of a quotient, the larger one of both. A case that varied by more than 5 % was
measured again, up to three times, and the fastest measurement counts. \`faults\` are pages a run.
What the flags of a plain configure change is in [RESULTS-O2.md](RESULTS-O2.md).
A command runs one section again. Regenerate all of it, and both charts, on an idle machine with

	$configure
	OMP_WAIT_POLICY=passive bench/reel-bench --json results.json --plot ../../bench/kernels.svg
	bench/reel-bench-dropin --json dropin.json && cat dropin.json >>results.json
	../../bench/results.sh . results.json >../../bench/RESULTS.md
	awk -f ../../bench/front.awk ../../bench/RESULTS.md >../../bench/front.svg

END
	machine
	cat <<END
![Reel beside other tapes](front.svg)

![Time of each kernel's gradient over its primal](kernels.svg)

\`plain\` pushes and pops value by value, as a tool's code does; \`best\` is the same record in the shape that suits the
kernel; \`least\` the smallest record, where that is smaller; \`segments\` is \`best\`, recorded again segment by segment, within the cache. The others keep
the record of \`best\` in arrays in place of a tape: \`soa-fresh\` by \`malloc()\` in each gradient, \`soa-warm\` allocated once,
\`soa-page\` allocated once, each at the beginning of a page.

END
fi

figures() {
	awk -v is_part="$part" "$@" -f "$here/rows.awk" -f "$here/tables.awk" -f "$here/figures.awk"
}

if [ $# -lt 3 ]; then
	figures <"$results"
	exit
fi
listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
figures -v list=1 <"$3" >"$listed"
figures -v flags=-O2 -v listed="$listed" <"$results"
