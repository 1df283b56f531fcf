# SPDX-License-Identifier: MIT
# Reads public headers into groups; mdoc.awk writes a page for each.
#
#	awk -f figures.awk -f headers.awk -f mdoc.awk -v version=... -v date=... package=reel HEADER...
#
# A group is a comment at the start of a line, the declarations that follow it, and the prototypes of
# macros in it. The first comment of a header, before its guard, describes the header. Declarations
# that follow the title of a section, without a comment, also belong to the header. A section whose
# name begins with "Within" is private: it has no pages.
#
#	header[h]            "reel/tape.h"; h is its page, "reel-tape"
#	title[g], text[g]    section and comment of a group; the header h itself has g = h
#	code[g]              its declarations, as the page shows them
#	names[g]             its names, separated by spaces; the first one is the name of the page
#	owner[name]          g

function begin_header(path) {
	sub(/^.*include\//, "", path)
	head = path
	gsub(/\//, "-", head)
	sub(/\.[a-z]*$/, "", head)
	headers[++header_count] = head
	header[head] = path
	package_of[head] = package
	section = ""
	group = head
	in_comment = in_macro = depth = is_enum = is_hidden = has_guard = 0
	body = ""
	first_comment = 1
}

function begin_group(comment) {
	if (!has_guard && first_comment) {
		first_comment = 0
		text[head] = comment
		return
	}
	if (group ~ /^[0-9]+$/ && names[group] == "")
		give_to_header(group)
	group = ++group_count
	group_header[group] = head
	title[group] = section
	text[group] = comment
	name_prototypes(comment)
}

# Gives a comment without declarations to the header.
function give_to_header(g) {
	text[head] = text[head] "\n\n" text[g]
	delete group_header[g]
}

function add_name(name, is_enumerator) {
	if (name in owner)
		return
	owner[name] = group
	hidden_name[name] = is_enumerator
	names[group] = names[group] (names[group] == "" ? "" : " ") name
}

function add_code(line) {
	if (line == "" && code[group] ~ /(^|\n\n)$/)
		return
	code[group] = code[group] line "\n"
}

# Returns true if the line begins the prototype of a macro, a paragraph of the comment that begins as a declaration does.
function is_prototype(line,   type) {
	type = "(TYPE|void|bool|int|float|double|size_t|uint64_t|reel_[a-z_]+)"
	return line ~ "^(const )?" type " [*]*reel_[a-z0-9_]+[(,:]" || line ~ /^REEL_[A-Z_]+\(.*;$/
}

function name_prototypes(comment,   lines, n, i, is_one, line) {
	n = split(comment, lines, "\n")
	for (i = 1; i <= n; i++) {
		line = lines[i]
		if (line == "")
			is_one = 0
		else if (!is_one && is_prototype(line))
			is_one = 1
		if (is_one && is_prototype(line))
			name_prototype(line)
	}
}

# Adds the names of a prototype: "int reel_a(...);", or "int reel_a, reel_b: the same".
function name_prototype(line,   list, n, i) {
	sub(/[(:].*$/, "", line)
	if (line ~ /[ *]/)
		sub(/^[^,]*[ *]/, "", line)
	n = split(line, list, /, */)
	for (i = 1; i <= n; i++) {
		add_name(list[i], 0)
		has_prototype[list[i]] = 1
	}
}

# Returns the line with spaces in place of tabs, up to the next multiple of 8.
function expanded(line,   at) {
	while (at = index(line, "\t"))
		line = substr(line, 1, at - 1) substr("        ", 1, 8 - (at - 1) % 8) \
			substr(line, at + 1)
	return line
}

# ---- Comments ----

function comment_line(line) {
	line = expanded(line)
	sub(/^ \*( |$)/, "", line)
	sub(/^\/\*( |$)/, "", line)
	sub(/ *\*\/$/, "", line)
	sub(/ +$/, "", line)
	return line
}

function end_comment() {
	in_comment = 0
	sub(/\n+$/, "", comment)
	if (!is_hidden)
		begin_group(comment)
}

function read_comment(line) {
	if (line ~ /^\/\* SPDX/)
		return
	if (line ~ /^\/\* ----/) {
		sub(/^\/\* -+ /, "", line)
		sub(/ -+ \*\/$/, "", line)
		if (group ~ /^[0-9]+$/ && names[group] == "")
			give_to_header(group)
		section = line
		group = head
		is_hidden = line ~ /^Within/
		return
	}
	in_comment = line !~ /\*\/$/
	comment = comment_line(line)
	if (!in_comment)
		end_comment()
}

# ---- Declarations ----

function read_macro(line,   name) {
	in_macro = line ~ /\\$/
	sub(/^#define /, "", line)
	match(line, /^[A-Za-z0-9_]+/)
	name = substr(line, 1, RLENGTH)
	if (name ~ /_H$/ || name ~ /_CUH$/)
		return
	add_name(name, 0)
	is_macro[name] = 1
	if (name in has_prototype)
		return
	if (substr(line, RLENGTH + 1, 1) == "(")
		sub(/\).*$/, ")", line)
	add_code("#define " line)
}

# Adds the names in the first line of a declaration. A type that is only declared there belongs to the group that
# describes it, if there is one.
function name_declaration(line) {
	if (line ~ /^typedef struct reel_[a-z0-9_]+ reel_[a-z0-9_]+;/) {
		sub(/;$/, "", line)
		sub(/^.* /, "", line)
		if (group != head && names[group] == "")
			add_name(line, 0)
		else
			forward[line] = group
	} else if (match(line, /^typedef .*[ *]reel_[a-z0-9_]+( \{)?(;|\()/) ||
		   match(line, /^(struct|enum) reel_[a-z0-9_]+ \{/) ||
		   match(line, /^template .*struct reel_[a-z0-9_]+/) ||
		   match(line, /^[A-Za-z_].*[ *]reel_[a-z0-9_]+\(/)) {
		line = substr(line, 1, RLENGTH)
		sub(/ \{.*$/, "", line)
		sub(/[(;]$/, "", line)
		sub(/^.*[ *]/, "", line)
		add_name(line, 0)
	} else if (match(line, /^struct reel_[a-z0-9_]+;/)) {
		sub(/^struct /, "", line)
		sub(/;$/, "", line)
		if (!(line in forward))
			forward[line] = group
	}
}

function name_enumerators(line) {
	if (line ~ /^\t/)
		sub(/[,=].*$/, "", line)
	while (match(line, /REEL_[A-Z0-9_]+/)) {
		add_name(substr(line, RSTART, RLENGTH), 1)
		line = substr(line, RSTART + RLENGTH)
	}
}

function without_specifiers(line) {
	sub(/^(REEL_ALWAYS_INLINE|REEL_COLD|static inline) /, "", line)
	gsub(/REEL_DEVICE /, "__device__ ", line)
	return line
}

# Ends a declaration without its body.
function end_declaration() {
	sub(/\n$/, "", code[group])
	sub(/ : [a-z]+\([a-z]*\)$/, "", code[group])
	code[group] = code[group] ";\n"
}

function is_left_out(line) {
	return line ~ /^#/ || line ~ /^(extern "C|\}( \/\*.*)?$|REEL_[A-Z_]+\()/ ||
	       line ~ /^\t__attribute__/
}

# Reads a line inside of a struct: its members, without the bodies of functions.
function read_member(line) {
	if (line ~ /^\t\/\* ---- Within/ || line ~ /^private:/)
		is_within = 1
	if (line ~ /^\}/) {
		depth = is_within = 0
		if (match(line, /reel_[a-z0-9_]+/))
			add_name(substr(line, RSTART, RLENGTH), 0)
	}
	if (is_enum)
		name_enumerators(line)
	else if (match(line, /^\tstruct reel_[a-z_]+ \{/))
		add_name(substr(line, 9, RLENGTH - 10), 1)
	if (!is_within)
		add_code(expanded(without_specifiers(line)))
}

function read_declaration(line) {
	if (line ~ /^\t?;$/)
		return end_declaration()
	if (line == "" || is_left_out(line))
		return line == "" && code[group] != "" ? add_code("") : 0
	line = without_specifiers(line)
	name_declaration(line)
	is_enum = line ~ /^(typedef )?enum/
	if (is_enum && line ~ /\{.*\}/)
		name_enumerators(substr(line, index(line, "{")))
	depth = line ~ /\{$/
	add_code(expanded(line))
}

FNR == 1 { begin_header(FILENAME) }
/^#ifndef .*_C?U?H$/ && !has_guard { has_guard = 1; next }
in_comment && /\*\/$/ { comment = comment "\n" comment_line($0); end_comment(); next }
in_comment { comment = comment "\n" comment_line($0); next }
in_macro { in_macro = /\\$/; next }
body != "" { if ($0 == body) body = ""; next }
/^\/\*/ { read_comment($0); next }
is_hidden { next }
/^\t*\{$/ { body = $0; sub(/\{/, "}", body); if (!is_within) end_declaration(); next }
depth { read_member($0); next }
/^#define/ { read_macro($0); next }
{ read_declaration($0) }

END {
	for (g in code)
		code[g] = with_figures(code[g])
}
