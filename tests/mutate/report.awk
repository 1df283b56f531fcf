# SPDX-License-Identifier: MIT
# The counts of each file, and who survived, from a file of verdicts. `explanations` has those that
# no test can notice: a line "FILE FUNCTION", the lines before after "- ", those after after "+ ", and
# one or more lines that say why; blank lines between. "FILE FUNCTION OPERATOR" for all of an operator.

BEGIN {
	FS = "\t"
	read_explanations()
	read_current()
}

function read_current(   row, f) {
	while ((getline row < current) > 0) {
		split(row, f, FS)
		line[f[1] FS f[4] FS f[5] FS f[6] FS f[7] FS f[8]] = f[3]
	}
}

function read_explanations(   row, n, words) {
	while ((getline row < explanations) > 0) {
		if (row ~ /^#/)
			continue
		if (row == "") {
			place = before = ""
		} else if (row !~ /^[-+] / && row ~ /^[a-z]+\//) {
			n = split(row, words, " ")
			place = words[1] SUBSEP words[2]
			if (n > 2)
				explained[place, words[3]] = 1
		} else if (row ~ /^- /) {
			before = substr(row, 3)
		} else if (row ~ /^\+ /) {
			explained[place, before, substr(row, 3)] = 1
		}
	}
}

# The last verdict counts; what the sources do not have any more does not.
{
	key = $1 FS $2 FS $3 FS $4 FS $5 FS $6
	if (key in line)
		verdict[key] = $7
}

END {
	for (key in line)
		if (!(key in verdict)) {
			split(key, f, FS)
			untried++
			orders += f[3] == "order"
		}
	for (key in verdict) {
		split(key, f, FS)
		what = verdict[key]
		if (what ~ /^(survived|unreached)$/ &&
		    ((f[1], f[2], f[5], f[6]) in explained || (f[1], f[2], f[3]) in explained))
			what = "explained"
		count[f[1], what]++
		total[what]++
		files[f[1]] = 1
		if (what ~ /^(survived|unreached)$/)
			printf "%s:%d %s: %s, %s\n- %s\n+ %s\n\n", f[1], line[key], f[2], f[3], what, f[5], f[6] | "cat"
	}
	close("cat")
	sorted = "sort"
	printf "%-30s %7s %7s %9s %9s %9s\n", "", "run", "killed", "same", "explained", "survived"
	for (file in files)
		show(file, count[file, "killed"], count[file, "same"], count[file, "explained"],
			count[file, "survived"] + count[file, "unreached"])
	close(sorted)
	sorted = "cat"
	show("all", total["killed"], total["same"], total["explained"], total["survived"] + total["unreached"])
	printf "not tried: %d, of them memory orders: %d\n", untried, orders
	if (results)
		write_results()
}

# Mutants that do not compile were not run.
function show(name, killed, same, reasons, alive) {
	printf "%-30s %7d %7d %9d %9d %9d\n", name, killed + same + reasons + alive, killed, same, reasons, alive | sorted
}

function write_results(   file) {
	printf "" > results
	print "run", total["killed"] + total["same"] + total["explained"] + total["survived"] + total["unreached"] > results
	print "not-tried", untried + 0 > results
	print "orders-not-tried", orders + 0 > results
	print "killed", total["killed"] + 0 > results
	print "same-code", total["same"] + 0 > results
	print "explained", total["explained"] + 0 > results
	print "survived", total["survived"] + total["unreached"] > results
	close(results)
	for (file in files)
		print file, count[file, "killed"] + 0, count[file, "same"] + 0, count[file, "explained"] + 0,
			count[file, "survived"] + count[file, "unreached"] | ("sort >>" results)
}
