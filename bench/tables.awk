# SPDX-License-Identifier: MIT
# After rows.awk: functions that print tables: the instructions, the kernels side by side, the spilled
# tapes, and every result.

# 0 where there is no such variant.
function over_best(name, variant) {
	return (name, variant) in medians ? medians[name, variant] / medians[name, "best"] : 0
}

function kernels(size,   i, j, q, name, variants, columns, shown, count, logs, line) {
	columns = split("primal plain least segments soa-fresh soa-warm soa-page", variants, " ")
	printf "### Kernels, %s: time over that of the best shape\n\n", size
	print "| kernel | primal | plain | least | segments | soa-fresh | soa-warm | soa-page |"
	print "|---|---|---|---|---|---|---|---|"
	for (i = 1; i <= rows; i++) {
		name = field[i, "case"]
		if (name !~ "^kernel/.*/" size "$" || shown[name]++)
			continue
		line = name
		gsub("kernel/|/" size, "", line)
		for (j = 1; j <= columns; j++) {
			q = over_best(name, variants[j])
			line = line " | " (q ? sprintf("%.2f", q) : "-")
			if (q) { logs[j] += log(q); count[j]++ }
		}
		print "| " line " |"
	}
	line = "geometric mean"
	for (j = 1; j <= columns; j++)
		line = line " | " (count[j] > 5 ? sprintf("%.2f", exp(logs[j] / count[j])) : "")
	print "| " line " |\n"
}

function instructions(   i, name, last, line) {
	print "### Instructions of a push and of a pop\n"
	print "Counted by single steps through loops that do nothing else, `bench/b-instructions.c`."
	print "Three of each count are the loop's own, and one for each double that is popped uses it. A"
	print "span counts for a double of it; a bit has its part of storing the word.\n"
	print "| what | instructions |\n|---|---|"
	for (i = 1; i <= rows; i++) {
		name = field[i, "case"]
		if (!sub("instructions/", "", name))
			continue
		if (name != last && line)
			print line " |"
		line = name == last ? line ", " : "| " name " | "
		line = line field[i, "variant"] sprintf(" %.4g", field[i, "median"])
		last = name
	}
	print line ? line " |\n" : "| not counted here | |\n"
}

# By the nanoseconds that are calculated with each byte.
function spills(   i, j, q, name, variants, columns, shown, line) {
	columns = split("all in memory;plain transfer, one;plain transfer, four;reel, budget;" \
			"mapped file;stdio files", variants, ";")
	print "### Tapes of eight times their budget: time over the least that there can be\n"
	print "| sweep, calculation | in memory | plain, one | plain, four | reel | mapped | stdio |"
	print "|---|---|---|---|---|---|---|"
	for (i = 1; i <= rows; i++) {
		name = field[i, "case"]
		if (name !~ /^spill\/(forward|reverse)\// || shown[name]++)
			continue
		line = name
		sub("spill/", "", line)
		sub("/", ", ", line)
		line = line " ns"
		for (j = 1; j <= columns; j++) {
			q = (name, variants[j]) in medians && (name, "compute or transfer") in medians ? \
				medians[name, variants[j]] / medians[name, "compute or transfer"] : 0
			line = line " | " (q ? sprintf("%.2f", q) : "-")
		}
		print "| " line " |"
	}
	print ""
}

function everything(   i, digits) {
	print "## Everything\n"
	print "| case | variant | n | unit | median | ratio | faults |"
	print "|---|---|---|---|---|---|---|"
	for (i = 1; i <= rows; i++) {
		digits = field[i, "median"] < 100000 ? 3 : 0
		printf "| %s | %s | %s | %s | %.*f | %.2f | %.0f |\n", field[i, "case"],
			field[i, "variant"], field[i, "n"], field[i, "unit"], digits,
			field[i, "median"], field[i, "ratio"], field[i, "faults"]
	}
}
