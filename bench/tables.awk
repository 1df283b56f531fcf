# SPDX-License-Identifier: MIT
# Needs rows.awk. Functions that print tables: the instructions, the kernels side by side, the spilled
# tapes, and every result.

# Returns the time of a variant over `best`, or 0 without such a variant.
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

# Prints a row for each sweep and each time of calculation a byte.
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

# The median and the ratio of each result in the rest of the file `listed`, to other[].
function read_listed(other,   line, part) {
	while (listed && (getline line < listed) > 0)
		if (sub(/^result: /, "", line)) {
			split(line, part, / [|] /)
			other[part[1], part[2], part[3]] = part[4] " | " part[5]
		}
}

function everything(   i, key, other, line) {
	print "## Everything\n"
	print "| case | variant | n | unit | median | ratio | faults |" (listed ? " native | ratio |" : "")
	print "|---|---|---|---|---|---|---|" (listed ? "---|---|" : "")
	read_listed(other)
	for (i = 1; i <= rows; i++) {
		line = field[i, "case"] " | " field[i, "variant"] " | " field[i, "n"]
		if (list)
			print "result: " line " | " shown(field[i, "median"]) " | " sprintf("%.2f", field[i, "ratio"])
		key = field[i, "case"] SUBSEP field[i, "variant"] SUBSEP field[i, "n"]
		printf "| %s | %s | %s | %.2f | %.0f |%s\n", line, field[i, "unit"], shown(field[i, "median"]),
			field[i, "ratio"], field[i, "faults"],
			listed ? " " (key in other ? other[key] : "|") " |" : ""
	}
}

function shown(median) { return sprintf(median < 100000 ? "%.3f" : "%.0f", median) }
