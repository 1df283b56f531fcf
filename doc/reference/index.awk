# SPDX-License-Identifier: MIT
# Reads the list of names, and writes to `target` names.js for the search, and the index of all names.

BEGIN { print "var names = [" >(target "/names.js") }
{
	split($0, half, "\t")
	split(half[1], field, " ")
	line = half[2]
	gsub(/\\/, "\\\\", line)
	gsub(/"/, "\\\"", line)
	url = "man/" field[2] "." field[3] ".html"
	printf "[\"%s\", \"%s\", \"%s\"],\n", field[1], url, line >(target "/names.js")
	gsub(/&/, "\\&amp;", half[2])
	gsub(/</, "\\&lt;", half[2])
	if (!(field[4] in pages))
		order[++headers] = field[4]
	if (!(url in line_of))
		pages[field[4]] = pages[field[4]] " " url
	line_of[url] = half[2]
	names[url] = names[url] (names[url] != "" ? ", " : "") \
		"<a href=\"" url "\"><code>" field[1] "</code></a>"
}
END {
	print "];" >(target "/names.js")
	print "<h1>All names</h1>" >(target "/index")
	for (i = 1; i <= headers; i++)
		put_header(order[i])
}

# Writes the index of a header. Names with the same page are one entry.
function put_header(header,   list, n, i) {
	print "<h2><code>" header "</code></h2>\n<dl>" >(target "/index")
	n = split(pages[header], list, " ")
	for (i = 1; i <= n; i++)
		print "<dt>" names[list[i]] "</dt><dd>" line_of[list[i]] "</dd>" >(target "/index")
	print "</dl>" >(target "/index")
}
