# SPDX-License-Identifier: MIT
# The counts of each file, and who survived, from a file of verdicts. `explanations` has those that
# no test can notice: a line "FILE FUNCTION", the lines before after "- ", those after after "+ ", and
# one or more lines that say why; blank lines between. "FILE FUNCTION OPERATOR" for all of an operator.

BEGIN {
	FS = "\t"
	columns = split("killed same explained survived untried orders", column, " ")
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
	for (key in line) {
		split(key, f, FS)
		files[f[1]] = 1
		if (!(key in verdict)) {
			count[f[1], "untried"]++
			count[f[1], "orders"] += f[3] == "order"
		}
	}
	for (key in verdict) {
		split(key, f, FS)
		what = verdict[key]
		if (what ~ /^(survived|unreached)$/ &&
		    ((f[1], f[2], f[5], f[6]) in explained || (f[1], f[2], f[3]) in explained))
			what = "explained"
		count[f[1], what == "unreached" ? "survived" : what]++
		if (what ~ /^(survived|unreached)$/)
			printf "%s:%d %s: %s, %s\n- %s\n+ %s\n\n", f[1], line[key], f[2], f[3], what, f[5], f[6] | "cat"
	}
	close("cat")
	if (results)
		read_earlier_rows()
	printf "%-30s %7s %7s %9s %9s %9s\n", "", "killed", "same", "explained", "survived", "not tried"
	for (file in files)
		show(file)
	close("sort")
	printf "%-30s %7d %7d %9d %9d %9d\n", "all", total["killed"], total["same"], total["explained"],
		total["survived"], total["untried"]
	if (results)
		write_results()
}

# Mutants that do not compile were not run.
function was_tried(file) {
	return count[file, "killed"] + count[file, "same"] + count[file, "explained"] + count[file, "survived"]
}

function show(file,   i) {
	for (i = 1; i <= columns; i++)
		total[column[i]] += count[file, column[i]]
	if (was_tried(file))
		printf "%-30s %7d %7d %9d %9d %9d\n", file, count[file, "killed"], count[file, "same"],
			count[file, "explained"], count[file, "survived"], count[file, "untried"] | "sort"
}

# Verdicts are lost with their directory: of a file's rows that stands which has tried more.
function read_earlier_rows(   text, f, i) {
	while ((getline text < results) > 0) {
		if (split(text, f, " ") != columns + 1 || !(f[1] in files) ||
		    f[6] + 0 >= count[f[1], "untried"] + 0)
			continue
		for (i = 1; i <= columns; i++)
			count[f[1], column[i]] = f[i + 1]
	}
	close(results)
}

function write_results(   file, i, row) {
	print "run", total["killed"] + total["same"] + total["explained"] + total["survived"] > results
	print "not-tried", total["untried"] + 0 > results
	print "orders-not-tried", total["orders"] + 0 > results
	print "killed", total["killed"] + 0 > results
	print "same-code", total["same"] + 0 > results
	print "explained", total["explained"] + 0 > results
	print "survived", total["survived"] + 0 > results
	close(results)
	for (file in files) {
		row = file
		for (i = 1; i <= columns; i++)
			row = row " " count[file, column[i]] + 0
		if (was_tried(file))
			print row | ("sort >>" results)
	}
}
