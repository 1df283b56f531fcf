# SPDX-License-Identifier: MIT
# Converts the output of gcov -b -c -t for one program to rows: "line FILE LINE COUNT", and
# "branch FILE LINE WHICH COUNT". Set source to a directory; files elsewhere are left out.

/^ *-: +0:Source:/ {
	file = $0
	sub(/^ *-: +0:Source:/, "", file)
	of_interest = index(file, source "/") == 1
	file = substr(file, length(source) + 2)
	delete listed
	next
}

!of_interest || /^(function|call|unconditional|-----)/ { next }

# A line is "        5:   12:text". Its count is "#####" for code that never ran, and "-" for no code. If several functions
# have the line, gcov lists it first with the sum, and then for each function.
/^ *[-#=0-9*]+: *[0-9]+:/ {
	split($0, field, ":")
	count = field[1]
	line = field[2] + 0
	gsub(/[ *]/, "", count)
	branches = 0
	repeated = line in listed
	listed[line] = 1
	if (count != "-" && !repeated)
		print "line", file, line, count ~ /^[0-9]+$/ ? count : 0
	next
}

/^branch/ && !repeated {
	print "branch", file, line, branches++, $3 == "taken" ? $4 : 0
}
