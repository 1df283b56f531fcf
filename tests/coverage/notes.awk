# SPDX-License-Identifier: MIT
# Finds notes in the comments of C files, which give the reason why tests miss some code. Prints a row for each, with tabs
# between: file, line of the note, its kind, first and last line that it covers, operators or "-".
# Set source to the source directory and name files below it.
#
#	Unreached: REASON                          no test reaches a line or branch of this code
#	Rarely reached: REASON                     tests reach it only on some systems, or when threads meet
#	Mutants survive (boundary, sign): REASON   no test notices a mutant by these operators
#	Mutants survive: REASON                    no test notices a mutant by any operator
#
# A note begins a line of a comment. It covers the statement below the comment, but not the body of an if or a loop. A note
# in a comment in the first column covers the whole definition.

BEGIN { marker = "(Unreached|Rarely reached|Mutants survive)( \\([a-z, ]+\\))?: " }

FNR == 1 {
	show_notes()
	file = FILENAME
	if (index(file, source "/") == 1)
		file = substr(file, length(source) + 2)
	notes = lines = 0
}

{ line[lines = FNR] = $0 }
$0 ~ "^[ \t]*(/[*]|[*]) " marker { note[++notes] = FNR }

END { show_notes() }

# Returns the line without strings, characters, comments of one line, indentation, and a backslash at its end.
function code_of(text) {
	gsub(/\\./, "", text)
	gsub(/"[^"]*"|'[^']*'/, "0", text)
	gsub(/\/\*.*\*\//, "", text)
	gsub(/^[ \t]+|[ \t\\]+$/, "", text)
	return text
}

function end_of_definition(i,   is_opened) {
	if (line[i] ~ /^#/) {
		while (line[i] ~ /\\$/)
			i++
		return i
	}
	for (; i <= lines && line[i] !~ /^}/; i++) {
		is_opened = is_opened || line[i] ~ /[{]$/
		if (!is_opened && line[i] ~ /;$/)
			break
	}
	return i
}

function end_of_statement(i,   is_head, code, depth) {
	is_head = code_of(line[i]) ~ /^(} *)?(else )?(if|while|for|switch) \(/
	for (; i <= lines; i++) {
		code = code_of(line[i])
		depth += gsub(/\(/, "(", code) - gsub(/\)/, ")", code)
		if (depth == 0 && (is_head || code ~ /[;{}]$/))
			break
	}
	return i
}

function show_notes(   n, i, first, kind, operators) {
	for (n = 1; n <= notes; n++) {
		match(line[note[n]], marker)
		kind = substr(line[note[n]], RSTART, RLENGTH - 2)
		operators = "-"
		if (match(kind, / \(.*\)/)) {
			operators = substr(kind, RSTART + 2, RLENGTH - 3)
			kind = substr(kind, 1, RSTART - 1)
		}
		for (i = note[n]; line[i] !~ /^[ \t]*\/\*/; i--)
			;
		first = line[i] ~ /^\//
		for (i = note[n]; i < lines && line[i] !~ /\*\//; i++)
			;
		while (line[++i] ~ /^[ \t]*(\/\*.*\*\/)?$/ && i < lines)
			;
		printf "%s\t%d\t%s\t%d\t%d\t%s\n", file, note[n], kind, i, first ? end_of_definition(i) : end_of_statement(i), operators
	}
}
