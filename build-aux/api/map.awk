# SPDX-License-Identifier: MIT
# Writes the map of a shared library's symbols for the linker: what public headers declare has the
# version `set`; what lib/ declares in a section "Exported as SET" has the version SET.
#
#	awk -f declarations.awk -f map.awk -v set=REEL_0.1 HEADER...

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
	printf "%s {\nglobal:\n", set
	for (i = 1; i <= function_count; i++)
		if (function_section[function_name[i]] !~ /^Exported as /)
			printf "\t%s;\n", function_name[i]
	print "local:\n\t*;\n};"
}
