# SPDX-License-Identifier: MIT
# Writes reel(1) from the help texts of the command: they are string literals in tools/*.c.
#
#	awk -f tool.awk -v version=... -v date=... tools/*.c >reel.1

# The text of the string literals in a line.
function literals(line,   s) {
	while (match(line, /"([^"\\]|\\.)*"/)) {
		s = s substr(line, RSTART + 1, RLENGTH - 2)
		line = substr(line, RSTART + RLENGTH)
	}
	gsub(/\\n/, "\n", s)
	gsub(/\\"/, "\"", s)
	return s
}

function put_text(s,   n, i, lines) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	sub(/\n+$/, "", s)
	n = split(s, lines, "\n")
	print ".Bd -literal"
	for (i = 1; i <= n; i++)
		print (lines[i] ~ /^[.']/ ? "\\&" : "") lines[i]
	print ".Ed"
}

# { "info", "what it does", info_help, info_run },
/^\t\{ "[a-z]*", / {
	split($0, part, "\"")
	verbs[++count] = part[2]
	does[part[2]] = part[4]
}
/^const char [a-z]*_help\[\] =$/ { verb = $3; sub(/_help.*/, "", verb); is_help = 1; next }
is_help { help[verb] = help[verb] literals($0); is_help = !/;$/ }
/^static int show_help/ { is_overview = 1; next }
is_overview && /^}/ { is_overview = 0 }
is_overview && /printf/ { overview = overview "\n\001" }
is_overview && !/printf/ { overview = overview literals($0) }

END {
	print ".Dd " date
	print ".Dt REEL 1"
	print ".Os Reel " version
	print ".Sh NAME"
	print ".Nm reel"
	print ".Nd show what Reel finds on this machine, and plan sweeps"
	print ".Sh SYNOPSIS"
	print ".Nm"
	print ".Ar verb"
	print ".Op Ar option ..."
	print ".Nm"
	print ".Fl \\-help | \\-version"
	print ".Sh DESCRIPTION"
	for (i = 1; i <= count; i++)
		list = list sprintf("  %-8s %s\n", verbs[i], does[verbs[i]])
	sub(/\n\001\n?/, "\n" list "\n", overview)
	put_text(overview)
	for (i = 1; i <= count; i++) {
		print ".Ss reel " verbs[i]
		put_text(help[verbs[i]])
	}
	print ".Sh SEE ALSO"
	print ".Xr reel 7 ,"
	print ".Xr reel\\-environment 7"
}
