# SPDX-License-Identifier: MIT
# Writes reel(1), and a page for each verb, as reel-plan(1), from the help texts of the command: they are string
# literals in tools/*.c.
#
#	awk -f tool.awk -v directory=... -v version=... -v date=... tools/*.c

# Returns the text of the string literals in a line.
function literals(line,   s) {
	while (match(line, /"([^"\\]|\\.)*"/)) {
		s = s substr(line, RSTART + 1, RLENGTH - 2)
		line = substr(line, RSTART + RLENGTH)
	}
	gsub(/\\n/, "\n", s)
	gsub(/\\"/, "\"", s)
	return s
}

function put(line) {
	print line >file
}

# Writes a line of text so that mandoc does not take it for a request.
function put_line(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	put((s ~ /^[.']/ ? "\\&" : "") s)
}

function put_literal(s,   n, i, lines) {
	sub(/\n+$/, "", s)
	n = split(s, lines, "\n")
	put(".Bd -literal")
	for (i = 1; i <= n; i++)
		put_line(lines[i])
	put(".Ed")
}

# Writes text. Each line of the page ends with a sentence.
function put_words(s) {
	gsub(/  +/, "\n", s)
	put_line(s)
}

# Writes a list of options. In the help an option begins a line, and its text has a column in that line or in the next.
function put_options(s,   n, i, lines, column, text) {
	match(help_line, /^  --help +/)
	column = RLENGTH
	n = split(s, lines, "\n")
	put(".Bl -tag -width Ds")
	for (i = 1; i <= n + 1; i++) {
		if (i <= n && lines[i] !~ /^  -/) {
			sub(/^ +/, "", lines[i])
			text = text (text == "" ? "" : " ") lines[i]
			continue
		}
		if (text != "")
			put_words(text)
		if (i > n)
			break
		text = ""
		if (substr(lines[i], column, 1) == " ") {
			text = substr(lines[i], column + 1)
			lines[i] = substr(lines[i], 1, column)
		}
		gsub(/^ +| +$/, "", lines[i])
		gsub(/-/, "\\-", lines[i])
		put(".It " lines[i])
	}
	put(".El")
}

function put_heading(name, summary) {
	put(".Dd " date)
	put(".Dt " toupper(name) " 1")
	put(".Os Reel " version)
	put(".Sh NAME")
	put(".Nm " name)
	put(".Nd " summary)
	put(".Sh SYNOPSIS")
}

# Writes the page of a verb: the usage as the synopsis, and then blocks of text and of options.
function put_verb(verb,   n, i, blocks) {
	file = directory "/man1/reel-" verb ".1"
	put_heading("reel-" verb, does[verb])
	help_line = help[verb]
	sub(/.*\n  --help/, "  --help", help_line)
	n = split(help[verb], blocks, /\n\n/)
	gsub(/(^|\n)(Usage: |       )/, "\n", blocks[1])
	sub(/^\n/, "", blocks[1])
	put_literal(blocks[1])
	put(".Sh DESCRIPTION")
	for (i = 2; i <= n; i++) {
		sub(/\n+$/, "", blocks[i])
		if (blocks[i] ~ /^  -/) {
			put_options(blocks[i])
		} else {
			if (i > 2)
				put(".Pp")
			gsub(/\.\n/, ".  ", blocks[i])
			gsub(/\n/, " ", blocks[i])
			put_words(blocks[i])
		}
	}
	put(".Sh SEE ALSO")
	put(".Xr reel 1 ,")
	put(".Xr reel\\-environment 7")
	close(file)
}

#	{ "info", "what it does", info_help, info_run },
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
	file = directory "/man1/reel.1"
	put_heading("reel", "look at programs with Reel, and plan their sweeps")
	put(".Nm")
	put(".Ar verb")
	put(".Op Ar option ...")
	put(".Nm")
	put(".Fl \\-help | \\-version")
	put(".Sh DESCRIPTION")
	for (i = 1; i <= count; i++)
		list = list sprintf("  %-8s %s\n", verbs[i], does[verbs[i]])
	sub(/\n\001\n?/, "\n" list "\n", overview)
	put_literal(overview)
	put(".Sh SEE ALSO")
	for (i = 1; i <= count; i++)
		put(".Xr reel\\-" verbs[i] " 1 ,")
	put(".Xr reel 7 ,")
	put(".Xr reel\\-environment 7")
	close(file)
	for (i = 1; i <= count; i++)
		put_verb(verbs[i])
}
