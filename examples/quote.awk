# SPDX-License-Identifier: MIT
# Prints a page, in which each program is replaced by the present text of its file:
#
#	awk -f examples/quote.awk -v source=. omp/PATTERNS.md
#
# A program comes after a line that begins with [`examples/FOLDER/FILE`]. If the line has names of
# functions, as `step()`, the page shows these functions and the comments above them. Else it shows
# a pattern without its head, the common part of patterns.h, and other programs without their licence.

function print_part(    i) {
	if (parts++)
		print ""
	for (i = 1; i <= lines; i++)
		print part[i]
}

# A part ends where an empty line comes before a line that is neither indented nor a directive.
function quote(file, wanted,    line, inside, before) {
	parts = lines = 0
	inside = wanted != "" || file !~ /\/omp\//
	while ((getline line <file) > 0) {
		if (file ~ /patterns\.h$/ && line ~ /^\/\* All of them/)
			break
		if (file ~ /patterns\.h$/ && line ~ /^enum/)
			inside = 1
		if (inside && line !~ /SPDX-License/) {
			if (before == "" && line ~ /^[^ \t}#]/) {
				end_part(wanted)
				lines = 0
			}
			if (line != "" || lines)
				part[++lines] = line
			before = line
		}
		if (file ~ /\/omp\// && line == "#include \"patterns.h\"" && (getline line <file) >= 0)
			inside = 1
	}
	end_part(wanted)
	close(file)
}

# Prints the part without the empty lines at its end, if it is wanted.
function end_part(wanted,    i, name) {
	while (lines && part[lines] == "")
		lines--
	if (!lines)
		return
	for (i = 1; i <= lines && wanted != ""; i++)
		if (match(part[i], /^[a-z_].*\(/) && part[i] !~ /;$/) {
			name = part[i]
			sub(/\(.*/, "", name)
			sub(/^.*[ *]/, "", name)
			if (index(wanted, "`" name "()`"))
				wanted = ""
		}
	if (wanted == "")
		print_part()
}

match($0, /^\[`examples\/[a-z]+\/[a-z0-9-]+\.[ch]`\]/) {
	file = substr($0, 3, RLENGTH - 4)
	functions = substr($0, index($0, ")"))
	if (functions !~ /\(\)`/)
		functions = ""
}
skipping && /^```$/ { skipping = 0 }
skipping { next }
{ print }
/^```c$/ && file != "" {
	quote(source "/" file, functions)
	skipping = 1
	file = ""
}
