# SPDX-License-Identifier: MIT
# Writes python/reel/_api.py, the functions, structs and constants of headers for ctypes.
#
#	awk -f figures.awk -f declarations.awk -f members.awk -f python.awk HEADER...

BEGIN {
	split("bool char double float int int32_t int64_t size_t uint32_t uint64_t", basic, " ")
	for (i in basic) {
		python_of[basic[i]] = "c_" basic[i]
		sub(/_t$/, "", python_of[basic[i]])
	}
	python_of["size_t"] = "c_size_t"
	python_of["unsigned"] = "c_uint"
}

# Returns the name of the class of a struct: RunOptions for "reel_run_options".
function class_of(name,   words, n, i, class) {
	sub(/^reel_/, "", name)
	n = split(name, words, "_")
	for (i = 1; i <= n; i++)
		class = class toupper(substr(words[i], 1, 1)) substr(words[i], 2)
	return class
}

function type_of(base, stars,   of) {
	if (base in callback)
		return "c_void_p"
	if (base == "void" && !stars)
		return "None"
	of = base in python_of ? python_of[base] : struct_kind[base] == "enum" ? "c_int" : \
		struct_kind[base] == "struct" ? class_of(base) : ""
	if (stars == 1 && base == "char")
		return "c_char_p"
	if (stars > 1 || stars && of == "")
		return stars > 1 ? "POINTER(c_void_p)" : "c_void_p"
	return stars ? "POINTER(" of ")" : of
}

# Writes a struct, and before it the structs that it contains.
function write_struct(name,   n, i, type, list, types, contained) {
	if (struct_kind[name] != "struct" || name in written)
		return
	written[name] = 1
	n = split_members(struct_members[name])
	for (i = 1; i <= n; i++) {
		type = type_of(member_type[i], member_stars[i])
		if (member_length[i] != "")
			type = type " * " (member_length[i] ~ / / ? "(" member_length[i] ")" : member_length[i])
		gsub(/REEL_/, "", type)
		types = types " " member_type[i]
		list = list sprintf("        (\"%s\", %s),\n", member_name[i], type)
	}
	n = split(types, contained, " ")
	for (i = 1; i <= n; i++)
		write_struct(contained[i])
	printf "\n\nclass %s(Structure):\n    _fields_ = [\n%s    ]\n", class_of(name), list
	table = table sprintf("    \"%s\": %s,\n", name, class_of(name))
}

function write_function(name,   n, i) {
	split_declarator(function_type[name] " _")
	printf "    \"%s\": (%s,", name, type_of(member_type[1], member_stars[1])
	n = split_arguments(function_arguments[name])
	for (i = 1; i <= n; i++)
		printf " %s%s", type_of(member_type[i], member_stars[i]), (i < n ? "," : "")
	print "),"
}

END {
	print "# SPDX-License-Identifier: MIT"
	print "\"\"\"Made from the headers by build-aux/api; `make api` makes it again.\"\"\"\n"
	print "from ctypes import ("
	print "    POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint,"
	print "    c_uint32, c_uint64, c_void_p,\n)\n"
	for (i = 1; i <= constant_count; i++)
		printf "%s = %s\n", substr(constant_name[i], 6), constant[constant_name[i]]
	for (s = 1; s <= struct_count; s++)
		write_struct(struct_name[s])
	printf "\n\nSTRUCTS = {\n%s}\n\"\"\"The structs by their names in C.\"\"\"\n\nFUNCTIONS = {\n", table
	for (f = 1; f <= function_count; f++)
		write_function(function_name[f])
	print "}\n\"\"\"The type of the result and of the arguments of each function.\"\"\""
}
