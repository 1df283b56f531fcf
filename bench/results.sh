#!/bin/sh
# SPDX-License-Identifier: MIT
# RESULTS.md from a run of reel-bench: the machine, the kernels side by side, and every result.
# Usage: bench/results.sh BUILD-DIRECTORY RESULTS.json >bench/RESULTS.md
set -eu
build=$1
results=$2

fact() {
	"$build/tools/reel" info | sed -n "s/^$1: *//p"
}

cat <<END
# Results

Medians and ratios of one run, variants in turns. Times are nanoseconds a value; compare ratios,
not digits. \`faults\` are pages a run. Regenerate with

	../../configure CFLAGS='$(sed -n "s/^CFLAGS = //p" "$build/Makefile")' && make
	bench/reel-bench --json results.json
	../../bench/results.sh . results.json >../../bench/RESULTS.md

Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(fact cpus_allowed) processors,
L2 $(fact l2_bytes), L3 $(fact l3_bytes), memory $(fact memory_total_bytes),
huge pages $(fact transparent_huge_pages). Compiler $(fact compiler), pool list $(fact pool_implementation).

What the kernels' columns compare: \`soa-fresh\` pays page faults, which is most of its distance.
In nn, lenet5 and massspring, large, \`best\` also prefetches the row below and the arrays do not;
that, not the layout, is most of what separates it from \`soa-warm\` there. \`least\` and \`block\`
record less or run the primal twice.

Instructions of a push and a pop of a double whose slab has room:

$("$(dirname "$0")/instructions.sh" "$build/bench/reel-bench" | sed 's/^/- /')

END

sed 's/[{}]//g; s/, "/\n/g; s/"//g' "$results" | awk -F ': ' '
	function end_of_row() {
		rows++
		name[rows] = row["case"]; variant[rows] = row["variant"]; n[rows] = row["n"]
		median[rows] = row["median"]; ratio[rows] = row["ratio"]; faults[rows] = row["faults"]
		of[row["case"], row["variant"]] = row["median"]
	}
	{ row[$1] = $2 }
	$1 == "faults" { end_of_row() }
	function quotient(kernel, variant) {
		return (kernel, variant) in of ? of[kernel, variant] / of[kernel, "best"] : 0
	}
	function cell(q) { return q ? sprintf("%.2f", q) : "-" }
	function kernels(size,   i, v, q, shown, count, logs, line) {
		split("primal plain least block soa-fresh soa-warm soa-page", v, " ")
		printf "## Kernels, %s: time over that of the best shape\n\n", size
		print "| kernel | primal | plain | least | block | soa-fresh | soa-warm | soa-page |"
		print "|---|---|---|---|---|---|---|---|"
		for (i = 1; i <= rows; i++) {
			if (name[i] !~ "/" size "$" || shown[name[i]]++)
				continue
			line = "| " name[i]
			for (j = 1; j <= 7; j++) {
				q = quotient(name[i], v[j])
				line = line " | " cell(q)
				if (q) { logs[j] += log(q); count[j]++ }
			}
			sub("kernel/", "", line); sub("/" size, "", line)
			print line " |"
		}
		line = "| geometric mean"
		for (j = 1; j <= 7; j++)
			line = line " | " (count[j] > 5 ? sprintf("%.2f", exp(logs[j] / count[j])) : "")
		print line " |\n"
	}
	END {
		kernels("paper"); kernels("large")
		print "## Everything\n\n| case | variant | n | median | ratio | faults |\n|---|---|---|---|---|---|"
		for (i = 1; i <= rows; i++)
			printf "| %s | %s | %s | %.3f | %.2f | %.0f |\n", name[i], variant[i], n[i],
				median[i], ratio[i], faults[i]
	}'
