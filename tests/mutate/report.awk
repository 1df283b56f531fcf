# SPDX-License-Identifier: MIT
# Prints the counts of each file, and the mutants that survived, from a file of verdicts. `notes` has the rows of
# tests/coverage/notes.awk: mutants that no test can notice have a note. A note is an error if there is no mutant of its
# operator below it, or if all mutants were tried, some were killed and none survived. If all mutants are the same code,
# the note is kept, because another configuration may compile the code.

BEGIN {
	FS = "\t"
	columns = split("killed same explained survived untried orders", column, " ")
	read_notes()
	read_current()
}

# Reads the notes. Each operator of a note counts as a note; "-" is all operators.
function read_notes(   row, f, operators, n, i, k) {
	while ((getline row < notes) > 0) {
		split(row, f, FS)
		if (f[3] != "Mutants survive")
			continue
		n = split(f[6], operators, ", ")
		for (i = 1; i <= n; i++) {
			operator_of[++noted] = operators[i]
			place_of[noted] = f[1] ":" f[2]
			for (k = f[4]; k <= f[5]; k++)
				notes_of[f[1], k] = notes_of[f[1], k] " " noted
		}
	}
}

# Returns the numbers of the notes for a mutant of this line and operator.
function notes_for(file, at, operator,   numbers, n, i, found) {
	n = split(notes_of[file, at], numbers, " ")
	for (i = 1; i <= n; i++)
		if (operator_of[numbers[i]] == "-" || operator_of[numbers[i]] == operator)
			found = found " " numbers[i]
	return found
}

function read_current(   row, f, key) {
	while ((getline row < current) > 0) {
		split(row, f, FS)
		key = f[1] FS f[4] FS f[5] FS f[6] FS f[7] FS f[8]
		line[key] = f[3]
		excuse[key] = notes_for(f[1], f[3], f[5])
		mark(has_mutants, excuse[key])
	}
}

function mark(set, list,   numbers, n, i) {
	n = split(list, numbers, " ")
	for (i = 1; i <= n; i++)
		set[numbers[i]] = 1
}

function count_stale_notes(   i, stale) {
	for (i = 1; i <= noted; i++)
		if (!has_mutants[i] || was_killed[i] && !is_needed[i]) {
			printf "%s: this note excuses no mutant%s: remove it\n", place_of[i],
				operator_of[i] == "-" ? "" : " of operator " operator_of[i] | "cat >&2"
			stale++
		}
	return stale
}

# The last verdict of a mutant counts, if the sources still have the mutant.
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
			mark(is_needed, excuse[key])
		}
	}
	for (key in verdict) {
		split(key, f, FS)
		what = verdict[key]
		if (what ~ /^(survived|unreached)$/ && excuse[key]) {
			mark(is_needed, excuse[key])
			what = "explained"
		}
		if (what == "killed")
			mark(was_killed, excuse[key])
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
	if (count_stale_notes())
		exit 1
}

# Returns the number of mutants that were run. Those that do not compile were not.
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

# Reads the rows of earlier runs, whose verdicts may be lost with their directory. The row of a file that has tried more
# mutants is kept.
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
