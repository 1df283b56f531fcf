# SPDX-License-Identifier: MIT
# Writes a Fortran module from its template and the headers.
#
#	awk -f figures.awk -f declarations.awk -f members.awk -f fortran.awk -v template=reel.f90.in HEADER...
#
# Directives of the template:
#
#	!each NAME WORD...   writes the lines down to !end once for each word, with the word in the place of
#	                     {NAME}. "!each NAME,OTHER WORD,TEXT..." also puts the text in the place of {OTHER}.
#	                     {type:real8} is the Fortran type of the variant real8.
#	!handles NAME...     types that hold a C pointer to an opaque struct of the library
#	!types NAME...       structs of the headers; NAME(member=value) sets an initial value other than 0
#	!enums NAME...       enumerators of enums of the headers
#	!constants TYPE NAME...
#	                     macros of the headers whose value is a number
#	!interfaces          functions of the headers: each one that the template names in `public` and does not
#	                     define; and, as c_x, each reel_x that the template calls as c_x. These take C
#	                     pointers in the place of handles.

BEGIN {
	type["integer4"] = "integer(c_int32_t)"
	type["integer8"] = "integer(c_int64_t)"
	type["real4"] = "real(c_float)"
	type["real8"] = "real(c_double)"
	type["complex4"] = "complex(c_float_complex)"
	type["complex8"] = "complex(c_double_complex)"
	type["logical4"] = "logical(int32)"
	type["logical8"] = "logical(int64)"
	type["bool"] = "logical(c_bool)"
	type["int32_t"] = type["uint32_t"] = type["integer4"]
	type["int64_t"] = type["uint64_t"] = type["integer8"]
	type["float"] = type["real4"]
	type["double"] = type["real8"]
	type["int"] = type["unsigned"] = "integer(c_int)"
	type["size_t"] = "integer(c_size_t)"
	while ((getline line <template) > 0)
		lines[++line_count] = line
}

# Notes the names that a line of the template defines, makes public, or calls as c_x.
function note(line,   list, n, i) {
	if (sub(/^  public :: /, "", line)) {
		n = split(line, list, /, /)
		for (i = 1; i <= n; i++)
			is_public[list[i]] = 1
	} else if (match(line, /(function|subroutine|interface|type.* ::) [a-z0-9_]+/)) {
		i = substr(line, RSTART, RLENGTH)
		sub(/^.* /, "", i)
		defined[i] = 1
	}
	while (match(line, /[^a-z0-9_]c_[a-z0-9_]+\(/)) {
		mentioned["reel_" substr(line, RSTART + 3, RLENGTH - 4)] = 1
		line = substr(line, RSTART + RLENGTH - 1)
	}
}

function substituted(line,   name) {
	while (match(line, /\{[a-z]+\}/)) {
		name = substr(line, RSTART + 1, RLENGTH - 2)
		line = substr(line, 1, RSTART - 1) word[name] substr(line, RSTART + RLENGTH)
	}
	while (match(line, /\{type:[a-z0-9]+\}/)) {
		name = substr(line, RSTART + 6, RLENGTH - 7)
		line = substr(line, 1, RSTART - 1) type[name] substr(line, RSTART + RLENGTH)
	}
	return line
}

# ---- Types -------------------------------------------------------------------

# Returns the name of a type in the module. The name of a private type begins with c_.
function type_name(name,   own) {
	own = name
	sub(/^reel_/, "c_", own)
	return own in defined ? own : name
}

function is_number(base) {
	return base in type || struct_kind[base] == "enum"
}

function number_type(base) {
	return base in type ? type[base] : type["int"]
}

function write_member(i, value,   of, zero) {
	zero = "0"
	if (member_type[i] == "function" || member_stars[i] && member_type[i] in callback) {
		of = "type(c_funptr)"
		zero = "c_null_funptr"
	} else if (member_stars[i] && member_type[i] in is_handle) {
		of = "type(" member_type[i] ")"
		zero = ""
	} else if (member_stars[i]) {
		of = "type(c_ptr)"
		zero = "c_null_ptr"
	} else if (member_type[i] == "char") {
		of = "character(kind=c_char)"
		zero = "c_null_char"
	} else if (is_number(member_type[i])) {
		of = number_type(member_type[i])
		if (member_type[i] == "bool")
			zero = ".false."
	} else {
		of = "type(" type_name(member_type[i]) ")"
		zero = ""
	}
	if (value != "")
		zero = value
	print "    " of " :: " member_name[i] (member_length[i] == "" ? "" : "(" member_length[i] ")") \
		(zero == "" ? "" : " = " zero)
}

function write_type(name,   n, i, set) {
	if (match(name, /\(.*\)/)) {
		split(substr(name, RSTART + 1, RLENGTH - 2), set, "=")
		name = substr(name, 1, RSTART - 1)
	}
	print "  type, bind(C), public :: " name
	n = split_members(struct_members[name])
	for (i = 1; i <= n; i++)
		write_member(i, set[1] == member_name[i] ? set[2] : "")
	print "  end type"
}

function write_handle(name) {
	print "  type, bind(C), public :: " name
	print "    type(c_ptr) :: handle = c_null_ptr"
	print "  end type"
}

function write_enum(name,   list, n, i) {
	n = split(struct_members[name], list, /, ?/)
	print "  enum, bind(C)"
	for (i = 1; i <= n; i++)
		if (list[i] != "")
			print "    enumerator :: " list[i]
	print "  end enum"
	for (i = 1; i <= n; i++) {
		sub(/ .*/, "", list[i])
		if (list[i] != "")
			print "  public :: " list[i]
	}
}

# ---- Functions ---------------------------------------------------------------

# Returns the declaration of argument i of n, with C pointers if `is_plain` is set, else for the public function.
function argument(i, n, is_plain,   base, of, is_array) {
	base = member_type[i]
	is_array = i < n && member_name[i + 1] ~ /^(n|count)$/
	if (base in callback)
		return "type(c_funptr), value"
	if (base in is_handle && member_stars[i] > 1)
		return "type(" base "), intent(inout)"
	if (base in is_handle && !is_plain)
		return "type(" base "), value"
	if (base == "char" && member_const[i]) {
		member_name[i] = member_name[i] "(*)"
		return "character(kind=c_char), intent(in), optional"
	}
	of = is_number(base) ? number_type(base) : "type(" type_name(base) ")"
	if (!member_stars[i])
		return of ", value"
	if (base == "void" || base in is_handle || !is_number(base) && !(type_name(base) in defined))
		return "type(c_ptr), value"
	if (is_number(base) || is_array)
		member_name[i] = member_name[i] "(*)"
	return of (member_const[i] ? ", intent(in)" : ", intent(inout)") (member_name[i] == "options" ? ", optional" : "")
}

# Returns true if the result of the function depends only on the state of the tape.
function is_pure(name) {
	return function_arguments[name] == "const reel_tape *tape"
}

function write_function(name, as,   n, i, result, list, declarations) {
	split_declarator(function_type[name] " _")
	result = member_type[1] == "void" && !member_stars[1] ? "" : member_stars[1] ? "type(c_ptr)" : \
		is_number(member_type[1]) ? number_type(member_type[1]) : "type(" type_name(member_type[1]) ")"
	n = split_arguments(function_arguments[name])
	for (i = 1; i <= n; i++) {
		list = list (i > 1 ? ", " : "") member_name[i]
		result_type = argument(i, n, as != name)
		declarations = declarations "      " result_type " :: " member_name[i] "\n"
	}
	printf "    %s%s %s(%s) &\n", (is_pure(name) ? "pure " : ""), \
		(result == "" ? "subroutine" : result " function"), as, list
	printf "      bind(C, name=\"%s\")\n      import\n%s    end %s\n", name, declarations, \
		(result == "" ? "subroutine" : "function")
}

function write_interfaces(   f, name) {
	print "  interface"
	for (f = 1; f <= function_count; f++) {
		name = function_name[f]
		if (name in is_public && !(name in defined))
			write_function(name, name)
		else if (name in mentioned && !("c_" substr(name, 6) in defined))
			write_function(name, "c_" substr(name, 6))
	}
	print "  end interface"
}

# ---- The template --------------------------------------------------------------

function write_directive(words, n,   k) {
	if (words[1] == "!interfaces")
		return write_interfaces()
	for (k = 2; k <= n; k++) {
		if (words[1] == "!handles")
			write_handle(words[k])
		else if (words[1] == "!types")
			write_type(words[k])
		else if (words[1] == "!enums")
			write_enum(words[k])
		else if (k > 2)
			print "  " words[2] ", parameter, public :: " words[k] " = " constant[words[k]]
	}
}

function note_directive(words, n,   k) {
	for (k = 2; k <= n; k++) {
		sub(/\(.*/, "", words[k])
		if (words[1] == "!handles")
			is_handle[words[k]] = 1
		else if (words[1] == "!types")
			defined[words[k]] = 1
	}
}

# Handles the lines from `first` to the end of the block: notes their names, or writes them if `writes` is set. Returns the
# number of the line !end.
function expand(first,   i, k, w, end, words, names, values, count) {
	for (i = first; i <= line_count && lines[i] != "!end"; i++) {
		if (lines[i] !~ /^![a-z]/) {
			if (writes)
				print substituted(lines[i])
			else
				note(substituted(lines[i]))
			continue
		}
		w = split(lines[i], words, " ")
		if (words[1] != "!each") {
			if (writes)
				write_directive(words, w)
			else
				note_directive(words, w)
			continue
		}
		count = split(words[2], names, ",")
		for (k = 3; k <= w; k++) {
			split(words[k], values, ",")
			for (end = 1; end <= count; end++)
				word[names[end]] = values[end]
			end = expand(i + 1)
		}
		i = end
	}
	return i
}

END {
	expand(1)
	writes = 1
	expand(1)
}
