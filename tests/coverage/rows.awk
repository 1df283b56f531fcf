# SPDX-License-Identifier: MIT
# What gcov -b -c -t says of one program, as rows: "line FILE LINE COUNT", and
# "branch FILE LINE WHICH COUNT". Set source to the directory whose files are of interest.

/^ *-: +0:Source:/ {
	file = $0
	sub(/^ *-: +0:Source:/, "", file)
	of_interest = index(file, source "/") == 1
	file = substr(file, length(source) + 2)
	delete listed
	next
}

!of_interest || /^(function|call|unconditional|-----)/ { next }

# "        5:   12:text"; a count of what never ran is "#####", of what is no code "-". Where several
# functions have one line, gcov lists it once for all and then for each: the first is the sum.
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
