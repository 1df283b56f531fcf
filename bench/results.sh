#!/bin/sh
# SPDX-License-Identifier: MIT
# RESULTS.md from a run of reel-bench: the machine, the figures asked, and every result.
# Usage: bench/results.sh BUILD-DIRECTORY RESULTS.json >bench/RESULTS.md
set -eu
build=$1
results=$2
here=$(dirname "$0")

fact() {
	"$build/tools/reel" info | sed -n "s/^$1: *//p"
}

cat <<END
# Results

Medians and ratios of one run, variants in turns. Times are nanoseconds a value; compare ratios,
not digits. \`faults\` are pages a run. Regenerate with

	../../configure CFLAGS='$(sed -n "s/^CFLAGS = //p" "$build/Makefile")' && make
	OMP_WAIT_POLICY=passive bench/reel-bench --json results.json --plot ../../bench/kernels.svg
	../../bench/results.sh . results.json >../../bench/RESULTS.md

Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(fact cpus_allowed) processors,
L2 $(fact l2_bytes), L3 $(fact l3_bytes), memory $(fact memory_total_bytes),
huge pages $(fact transparent_huge_pages). Compiler $(fact compiler), pool list $(fact pool_implementation).

Threads: [SCALING.md](SCALING.md).

![Time of each kernel's gradient over its primal](kernels.svg)

What the kernels' columns compare: \`soa-fresh\` pays page faults, which is most of its distance.
In nn, lenet5 and massspring, large, \`best\` also prefetches the row below and the arrays do not;
that, not the layout, is most of what separates it from \`soa-warm\` there. \`least\` and \`block\`
record less or run the primal twice. \`peer/\` are the same gradients by other tools, where they are
installed: ADOL-C records operations by overloading and interprets its tape.

The times of \`spill/\` are nanoseconds a byte of tape, n are bytes. A tape of eight times its budget
is compared with the least time that there can be, the longer one of the same sweep all in memory
and of a plain transfer (O_DIRECT, slabs, one at a time or four, from and to as much memory as the
budget) of what has no room; both are of the same run. The number in the name is the calculation
beside the tape, nanoseconds a byte. A mapped file and stdio drop behind them what is above the
budget. \`processor\` is the time of all threads but the program's own.

END

awk -f "$here/rows.awk" -f "$here/figures.awk" "$results"
awk -f "$here/rows.awk" -f "$here/tables.awk" "$results"
