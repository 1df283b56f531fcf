# SPDX-License-Identifier: MIT
# Writes the map of a shared library's symbols for the linker. Functions that public headers declare have the
# version `set`. Functions that only Reel's other libraries of the same release call have the version REEL_PRIVATE:
# headers of lib/ declare them in a section "Exported as REEL_PRIVATE". The file `later` has lines "SET NAME" for public
# functions that came after the first release: these have the version SET.
#
#	awk -f figures.awk -f declarations.awk -f map.awk -v set=REEL_0.1 -v later=FILE FILE...

# Reads only the headers of a list of sources.
BEGIN {
	for (i = 1; i < ARGC; i++)
		if (ARGV[i] !~ /\.h$/)
			delete ARGV[i]
}

function sort_names(   i, k, name) {
	for (i = 2; i <= function_count; i++) {
		name = function_name[i]
		for (k = i - 1; k >= 1 && function_name[k] > name; k--)
			function_name[k + 1] = function_name[k]
		function_name[k + 1] = name
	}
}

END {
	sort_names()
	while ((getline line < later) > 0)
		if (line !~ /^#/ && split(line, word, " ") == 2)
			set_of[word[2]] = word[1]
	for (i = 1; i <= function_count; i++) {
		name = function_name[i]
		if (function_header[name] ~ /^include\// && name in set_of) {
			if (!(set_of[name] in added))
				sets[++count] = set_of[name]
			added[set_of[name]] = added[set_of[name]] "\t" name ";\n"
		} else if (function_header[name] ~ /^include\//)
			public = public "\t" name ";\n"
		else if (function_section[name] == "Exported as REEL_PRIVATE")
			private = private "\t" name ";\n"
	}
	printf "%s {\nglobal:\n%slocal:\n\t*;\n};\n", set, public
	for (i = 1; i <= count; i++)
		printf "\n%s {\nglobal:\n%s} %s;\n", sets[i], added[sets[i]], set
	if (private != "")
		printf "\nREEL_PRIVATE {\nglobal:\n%s};\n", private
}
