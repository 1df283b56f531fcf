# SPDX-License-Identifier: MIT
# Splits the members of a struct, or the arguments of a function, from declarations.awk.
#
#	member_name[i], member_type[i]   "steps", "int64_t"; a pointer to a function has the type "function"
#	member_stars[i]                  number of * in front of the name, 1 for a pointer to a function
#	member_length[i]                 "REEL_MAX_TIERS - 1" for an array, else ""
#	member_const[i]                  1: a pointer to const

# Adds a member. In "a, *b" the second member has the type of the first.
function add_member(declaration,   i) {
	i = ++member_count
	member_length[i] = ""
	if (match(declaration, /\(\*[a-z0-9_]+\)/)) {
		member_name[i] = substr(declaration, RSTART + 2, RLENGTH - 3)
		member_type[i] = "function"
		member_stars[i] = 1
		member_const[i] = 0
		return
	}
	if (match(declaration, /\[.*\]/)) {
		member_length[i] = substr(declaration, RSTART + 1, RLENGTH - 2)
		declaration = substr(declaration, 1, RSTART - 1)
	}
	member_const[i] = declaration ~ /(^| )const /
	member_name[i] = name_of(declaration)
	declaration = substr(declaration, 1, length(declaration) - length(member_name[i]))
	member_stars[i] = gsub(/\*/, "", declaration)
	gsub(/(^| )(const|struct|enum|_Atomic)( |$)/, " ", declaration)
	gsub(/(^| )(const|struct|enum|_Atomic)( |$)/, " ", declaration)
	member_type[i] = squeezed(declaration)
	if (member_type[i] == "") {
		member_type[i] = member_type[i - 1]
		member_const[i] = member_const[i - 1]
	}
}

function split_members(members,   list, names, n, m, i, k) {
	member_count = 0
	n = split(members, list, /; ?/)
	for (i = 1; i < n; i++) {
		m = list[i] ~ /\(\*/ ? 1 : split(list[i], names, /, ?/)
		for (k = 1; k <= m; k++)
			add_member(m == 1 ? list[i] : names[k])
	}
	return member_count
}

# Splits arguments at their commas. In the headers a function pointer as an argument has no arguments, and so no commas.
function split_arguments(arguments,   list, n, i) {
	member_count = 0
	n = split(arguments, list, /, ?/)
	for (i = 1; i <= n; i++)
		add_member(list[i])
	return n
}

function split_declarator(declaration) {
	member_count = 0
	add_member(declaration)
}
