# SPDX-License-Identifier: MIT
# omp/PATTERNS.md, with each program that it shows as it is in its file:
#
#	awk -f examples/omp/quote.awk -v source=. omp/PATTERNS.md
#
# A program comes after a line that begins with [`examples/omp/FILE`]: of a pattern all but its
# head, of patterns.h what the patterns have in common.

function quote(file,    line, inside, blank) {
	while ((getline line <file) > 0) {
		if (file ~ /\.h$/ ? line ~ /^\/\* All of them/ : 0)
			break
		if (inside && line == "")
			blank = 1
		else if (inside) {
			if (blank)
				print ""
			blank = 0
			print line
		}
		if (!inside && file ~ /\.h$/ && line ~ /^enum/) {
			inside = 1
			print line
		}
		if (line == "#include \"patterns.h\"" && (getline line <file) >= 0)
			inside = 1
	}
	close(file)
}

match($0, /^\[`examples\/omp\/[a-z]+\.[ch]`\]/) { file = substr($0, 3, RLENGTH - 4) }
skipping && /^```$/ { skipping = 0 }
skipping { next }
{ print }
/^```c$/ && file != "" {
	quote(source "/" file)
	skipping = 1
	file = ""
}
