# SPDX-License-Identifier: MIT
# From the rows of all tests (rows.awk) a table: FILE LINES-REACHED/LINES BRANCHES-TAKEN/BRANCHES.
# Set unreached to a file for "FILE:LINE: which branches were never taken, of how many".
# Set source to the source directory; files that match `wanted` are counted.

$2 !~ wanted { next }
$1 == "line" { lines[$2, $3] += $4; files[$2] = 1; if ($3 > last[$2]) last[$2] = $3 }
$1 == "branch" { taken[$2, $3, $4] += $5; if ($4 + 1 > branches[$2, $3]) branches[$2, $3] = $4 + 1 }

# The text of a line, without its indentation.
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

# What is left out by a reason: file, tab, text of the line, tab, why.
function read_reasons(   row, field) {
	while ((getline row < reasons) > 0)
		if (row !~ /^(#|$)/) {
			split(row, field, "\t")
			excused[field[1], field[2]] = 1
		}
}

# What is never reached behind such a line has the same reason.
function note(file, line, what, follows,   text) {
	text = text_of(file, line)
	if ((file, text) in excused || follows) {
		explained++
		return 1
	}
	if (unreached)
		printf "%s:%d: %s: %s\n", file, line, what, text > unreached
	return 0
}

END {
	if (reasons)
		read_reasons()
	for (file in files) {
		line_count = line_hits = branch_count = branch_hits = follows = 0
		for (i = 1; i <= last[file]; i++) {
			if (!((file, i) in lines))
				continue
			line_count++
			if (lines[file, i] > 0)
				line_hits++
			else
				follows = note(file, i, "never reached", follows)
			missed = ""
			for (b = 0; b < branches[file, i]; b++) {
				branch_count++
				if (taken[file, i, b] > 0)
					branch_hits++
				else
					missed = missed " " b
			}
			if (lines[file, i] > 0)
				follows = missed != "" && note(file, i, "never taken:" missed " of " branches[file, i], 0)
		}
		print file, line_hits "/" line_count, branch_hits "/" branch_count
	}
	print explained + 0 > (unreached ".explained")
}
