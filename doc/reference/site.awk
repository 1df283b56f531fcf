# SPDX-License-Identifier: MIT
# Puts a page of the site around a fragment of HTML: head, navigation, search. Names in preformatted
# text become links, and links lead to pages of the site.
#
#	awk -f site.awk -v page=man/reel_push.3.html -v title=... -v version=... -v names=FILE \
#		-v links=FILE
#
# Appends the paths of the sources that the page links to, to the file `links`.

function read_names(   line, half, field) {
	while ((getline line <names) > 0) {
		split(line, half, "\t")
		split(half[1], field, " ")
		url[field[1]] = "man/" field[2] "." field[3] ".html"
		headers[field[4]] = 1
	}
}

# Returns the page of a header: man/reel-tape.7.html for "reel/tape.h".
function page_of_header(path) {
	gsub(/\//, "-", path)
	sub(/\.[a-z]*$/, "", path)
	return "man/" path ".7.html"
}

# Returns the path without "." and "..".
function resolved(path,   part, n, i, keep, at, s) {
	n = split(path, part, "/")
	for (i = 1; i <= n; i++) {
		if (part[i] == "..")
			at--
		else if (part[i] != "." && part[i] != "")
			keep[++at] = part[i]
	}
	for (i = 1; i <= at; i++)
		s = s (i > 1 ? "/" : "") keep[i]
	return s
}

function target_of(link,   fragment, path, plain) {
	if (link ~ /^(https?:|mailto:|#)/)
		return link
	if (match(link, /#.*$/)) {
		fragment = substr(link, RSTART)
		link = substr(link, 1, RSTART - 1)
	}
	path = resolved(folder link)
	if (folder == "man/") {
		plain = link
		sub(/\.[137]\.html$/, "", plain)
		return root (plain in url ? url[plain] : path)
	}
	plain = path
	if (sub(/^include\//, "", plain) && plain in headers)
		return root page_of_header(plain)
	if (path == "include/reel")
		return root "names.html"
	print path >>links
	sub(/\.md$/, ".html", path)
	return root path fragment
}

function with_links(line,   s, link) {
	while (match(line, /(href|src)="[^"]*"/)) {
		link = substr(line, RSTART, RLENGTH)
		s = s substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		sub(/"$/, "", link)
		match(link, /="/)
		s = s substr(link, 1, RSTART + 1) target_of(substr(link, RSTART + 2)) "\""
	}
	return s line
}

# Returns the text, which has no links, with links for the names in it.
function with_names(line,   s, name) {
	while (match(line, /(reel|REEL)_[A-Za-z0-9_]+/)) {
		name = substr(line, RSTART, RLENGTH)
		s = s substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		if (name in url && url[name] != page)
			name = "<a href=\"" root url[name] "\">" name "</a>"
		s = s name
	}
	return s line
}

function put_navigation(   list, n, i) {
	print "<p class=\"menu\"><a href=\"#menu\">Menu and search</a></p>\n<nav id=\"menu\">\n<p class=\"title\"><a href=\"" root "index.html\">Reel " version "</a></p>"
	print "<input id=\"search\" type=\"search\" placeholder=\"Search names\""
	print "aria-label=\"Search names\" autocomplete=\"off\">"
	print "<ol id=\"found\"></ol>"
	n = split("README.html README|doc/tutorial.html Tutorial|doc/README.html Guide|man/reel.7.html Overview|" \
		  "man/reel.1.html reel(1)|man/reel-environment.7.html Environment|names.html All names", list, "|")
	print "<ul>"
	for (i = 1; i <= n; i++)
		put_entry(list[i])
	print "</ul>\n<p>Headers</p>\n<ul>"
	n = split("tape run pool store error version model parcel recording sum plan extend " \
		  "region worker task adjoint reduction omp observe mpi " \
		  "gpu arena host-tape device device-add", list, " ")
	for (i = 1; i <= n; i++)
		if ("reel/" list[i] ".h" in headers || "reel/" list[i] ".cuh" in headers)
			put_entry("man/reel-" list[i] ".7.html " list[i])
	print "</ul>\n</nav>"
}

function put_entry(entry,   at, target) {
	at = index(entry, " ")
	target = substr(entry, 1, at - 1)
	print "<li><a href=\"" root target "\"" (target == page ? " aria-current=\"page\"" : "") ">" \
		substr(entry, at + 1) "</a></li>"
}

function put_head() {
	print "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
	print "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	print "<title>" title "</title>\n<link rel=\"stylesheet\" href=\"" root "style.css\">\n</head>"
	print "<body data-root=\"" root "\">"
	put_navigation()
	print "<main>"
}

BEGIN {
	sub(/^\.\//, "", page)
	folder = page
	sub(/[^\/]*$/, "", folder)
	root = folder
	gsub(/[^\/]+\//, "../", root)
	read_names()
	put_head()
}
/<pre>/ { is_literal = 1 }
{ print is_literal ? with_names($0) : with_links($0) }
/<\/pre>/ { is_literal = 0 }
END {
	print "</main>"
	print "<script src=\"" root "names.js\"></script>\n<script src=\"" root "search.js\"></script>"
	print "</body>\n</html>"
}
