# SPDX-License-Identifier: MIT
# Reads the declarations of headers, without a compiler, for map.awk, python.awk and fortran.awk.
#
#	awk -f figures.awk -f declarations.awk -f map.awk HEADER...
#
#	function_count, function_name[i]   functions and variables that the header leaves to the library
#	function_type[name]                "const char *"
#	function_arguments[name]           "reel_plan **plan, int64_t steps"
#	function_header[name]              "include/reel/plan.h"
#	function_section[name]             the section of the header that declares it
#	struct_count, struct_name[i]       structs and enums, except structs with a struct or union inside
#	struct_members[name]               "int64_t steps; double cost[2];"; of an enum "REEL_A, REEL_B = 3"
#	struct_kind[name]                  "struct" or "enum"
#	callback[name]                     1 for the name of a function type
#	constant_count, constant_name[i]   macros whose value is a number
#	constant[name]                     "4"
#
# Lists of figures in structs (figures.awk) are expanded. Code only for C++ is left out. Of all other conditions both
# branches are read.

function begin_header() {
	text = section = macro = ""
	in_comment = depth = plus_plus = conditions = 0
}

# Returns the line without its comments. Sets `section` if the comment is the title of a section.
function without_comments(line,   code, at) {
	if (line ~ /^\/\* ---- /) {
		section = line
		gsub(/^\/\* -+ | -+ \*\/$/, "", section)
	}
	while (1) {
		if (in_comment) {
			if (!(at = index(line, "*/")))
				return code
			line = substr(line, at + 2)
			in_comment = 0
		}
		if (!(at = index(line, "/*")))
			return code line
		code = code substr(line, 1, at - 1) " "
		line = substr(line, at + 2)
		in_comment = 1
	}
}

# ---- Macros ----

function read_directive(line) {
	if (line ~ /^# *if/) {
		conditions++
		if (!plus_plus && line ~ /__cplusplus/ && line !~ /! *defined|ifndef/)
			plus_plus = conditions
	} else if (line ~ /^# *else/ && plus_plus == conditions) {
		plus_plus = 0
	} else if (line ~ /^# *endif/) {
		if (plus_plus == conditions)
			plus_plus = 0
		conditions--
	} else if (line ~ /^# *define/ && !plus_plus) {
		read_macro(line)
	}
}

function read_macro(line,   name, value) {
	sub(/^# *define +/, "", line)
	match(line, /^[A-Za-z0-9_]+/)
	name = substr(line, 1, RLENGTH)
	value = substr(line, RLENGTH + 1)
	gsub(/^ +| +$/, "", value)
	if (value !~ /^\(?-?(0x[0-9a-f]+|[0-9]+)u?\)?$/ || name in constant)
		return
	gsub(/[()u]/, "", value)
	constant_name[++constant_count] = name
	constant[name] = value
}

# ---- Declarations ----

# Returns the name at the end of a declaration: "*const *parcel" is parcel.
function name_of(declaration) {
	match(declaration, /[A-Za-z0-9_]+$/)
	return substr(declaration, RSTART, RLENGTH)
}

function add_struct(kind, name, members) {
	if (name in struct_kind || members ~ /\{/)
		return
	struct_name[++struct_count] = name
	struct_kind[name] = kind
	struct_members[name] = members
}

# Reads "typedef struct reel_x { ... } reel_x" or "struct reel_x { ... }". `rest` is the text behind the members.
function read_struct(head, members, rest,   kind, name) {
	kind = head ~ /(^| )enum( |$)/ ? "enum" : "struct"
	name = name_of(head)
	if (name == kind)
		name = name_of(rest)
	add_struct(kind, name, squeezed(members))
}

function read_typedef(declaration) {
	if (match(declaration, /[ *]reel_[a-z0-9_]+\(/))
		callback[substr(declaration, RSTART + 1, RLENGTH - 2)] = 1
}

# Reads the declaration of a function or variable, which has no body.
function read_function(declaration,   name, at) {
	sub(/^extern /, "", declaration)
	if (!match(declaration, /[ *]reel_[a-z0-9_]+(\(|$)/))
		return
	at = RSTART + 1
	name = substr(declaration, at)
	sub(/\(.*$/, "", name)
	if (name in function_type)
		return
	function_name[++function_count] = name
	function_header[name] = FILENAME
	function_section[name] = section
	function_type[name] = squeezed(substr(declaration, 1, at - 1))
	declaration = substr(declaration, at + length(name) + 1)
	sub(/\)[^)]*$/, "", declaration)
	function_arguments[name] = declaration == "void" ? "" : declaration
}

function squeezed(declaration) {
	gsub(/[ \t\n]+/, " ", declaration)
	gsub(/^ | $/, "", declaration)
	return declaration
}

function read_declaration(declaration) {
	gsub(/__attribute__ *\(\(.*\)\)/, "", declaration)
	declaration = squeezed(declaration)
	while (sub(/^(REEL_COLD|_Noreturn|REEL_[A-Z_]+\([^()]*\)) /, "", declaration))
		;
	if (declaration ~ /^typedef /)
		read_typedef(declaration)
	else if (declaration !~ /^(struct|enum) [a-z0-9_]+$|^static |REEL_(ALWAYS_INLINE|ERROR_IF_CALLED)/)
		read_function(declaration)
}

# Reads the complete declarations at the beginning of `text`, and removes them from it.
function read_text(   at, end, piece, head) {
	while (match(substr(text, done + 1), /[;{}]/)) {
		at = done + RSTART
		end = substr(text, at, 1)
		done = at
		depth += (end == "{") - (end == "}")
		if (end == "{" && depth == 1) {
			if (substr(text, 1, at) ~ /extern "C[+]*" *\{$/) {
				text = substr(text, at + 1)
				depth = done = 0
			} else {
				body_at = at
			}
		} else if (depth < 0) {
			text = substr(text, at + 1)
			depth = done = 0
		} else if (depth == 0) {
			piece = substr(text, 1, at - 1)
			head = body_at ? squeezed(substr(piece, 1, body_at - 1)) : ""
			if (body_at && head ~ /(^| )(struct|enum|union)( [a-z0-9_]+)?$/) {
				if (end == "}")
					continue
				sub(/\}[^}]*$/, "", piece)
				read_struct(head, substr(piece, body_at + 1), squeezed(substr(text, 1, at - 1)))
			} else if (!body_at) {
				read_declaration(piece)
			}
			text = substr(text, at + 1)
			done = body_at = 0
		}
	}
	done = length(text)
}

FNR == 1 { begin_header(); done = body_at = 0 }
{
	line = without_comments($0)
	if (macro != "" || line ~ /^#/) {
		macro = macro line
		if (sub(/\\$/, "", macro))
			next
		read_directive(macro)
		macro = ""
	} else if (!plus_plus) {
		text = text line " "
		read_text()
	}
}
END {
	for (i = 1; i <= struct_count; i++)
		struct_members[struct_name[i]] = squeezed(without_comments(with_figures(struct_members[struct_name[i]])))
}
