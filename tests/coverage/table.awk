# SPDX-License-Identifier: MIT
# Prints a table from the rows of all tests (rows.awk): FILE LINES-REACHED/LINES BRANCHES-TAKEN/BRANCHES.
# Set unreached to a file for lines "FILE:LINE: branches that were never taken, number of branches".
# Set source to the source directory and notes to the rows of notes.awk. The file `stale` gets the notes that
# excuse nothing. Files that match `wanted` are counted.

$2 !~ wanted { next }
$1 == "line" { lines[$2, $3] += $4; files[$2] = 1; if ($3 > last[$2]) last[$2] = $3 }
$1 == "branch" { taken[$2, $3, $4] += $5; if ($4 + 1 > branches[$2, $3]) branches[$2, $3] = $4 + 1 }

# Returns the text of a line, without its indentation.
function text_of(file, line,   i, text) {
	if (file != opened) {
		opened = file
		i = 0
		while ((getline text < (source "/" file)) > 0)
			texts[++i] = text
		close(source "/" file)
	}
	text = texts[line]
	sub(/^[ \t]+/, "", text)
	return text
}

# Reads the rows of notes.awk. Notes on mutants are ignored.
function read_notes(   row, field, i) {
	while ((getline row < notes) > 0) {
		split(row, field, "\t")
		if (field[3] !~ /reached$/)
			continue
		place_of[++noted] = field[1] ":" field[2]
		has_to_excuse[noted] = field[3] == "Unreached"
		for (i = field[4]; i <= field[5]; i++)
			notes_of[field[1], i] = notes_of[field[1], i] " " noted
	}
}

# Marks the notes of the line in a set, and returns their number.
function mark_notes(set, file, line,   numbers, n, i) {
	n = split(notes_of[file, line], numbers, " ")
	for (i = 1; i <= n; i++)
		set[numbers[i]] = 1
	return n
}

# Returns true if a missed branch of the line needs no note. No test interrupts a wait by a signal. A switch over all
# values of an enum has a branch for other values; if no test takes a case, its lines are not reached.
function needs_no_note(text, missed,   b) {
	return missed && text ~ /^while \(.* errno == EINTR\)$/ || text ~ /^switch \(/ && split(missed, b, " ") == 1
}

# Notes a line that is not reached. It has the reason of the line before, if that is not reached either.
function note(file, line, missed, follows, what,   text) {
	text = text_of(file, line)
	if (mark_notes(excuses, file, line) || follows) {
		explained++
		return 1
	}
	if (needs_no_note(text, missed)) {
		explained++
		return 0
	}
	if (unreached)
		printf "%s:%d: %s: %s\n", file, line, what, text > unreached
	return 0
}

# Lists the notes that have to be removed, because all code below them is reached, or none is compiled.
function show_stale_notes(   i) {
	for (i = 1; i <= noted; i++)
		if (has_to_excuse[i] ? !excuses[i] : !compiled[i])
			printf "%s: this note excuses nothing: remove it\n", place_of[i] > stale
}

END {
	read_notes()
	for (file in files) {
		line_count = line_hits = branch_count = branch_hits = follows = 0
		for (i = 1; i <= last[file]; i++) {
			if (!((file, i) in lines))
				continue
			line_count++
			mark_notes(compiled, file, i)
			if (lines[file, i] > 0)
				line_hits++
			else
				follows = note(file, i, "", follows, "never reached")
			missed = ""
			for (b = 0; b < branches[file, i]; b++) {
				branch_count++
				if (taken[file, i, b] > 0)
					branch_hits++
				else
					missed = missed " " b
			}
			if (lines[file, i] > 0)
				follows = missed != "" && note(file, i, missed, 0,
					"never taken:" missed " of " branches[file, i])
		}
		print file, line_hits "/" line_count, branch_hits "/" branch_count
	}
	print explained + 0 > (unreached ".explained")
	show_stale_notes()
}
