#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that each link in the static pages of the guide and of the manual leads to a file or heading that exists.
. "$SOURCE_DIR/tests/tap/tap.sh"

manual=$BUILD_DIR/doc/man
[ -f "$manual/names" ] || skip_all 'the manual is not made: make doc/man/names'
for tool in mandoc lowdown; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done

sh "$SOURCE_DIR/doc/reference/site.sh" "$SOURCE_DIR" "$manual" site 0 >messages 2>&1
ok $? 'the site is made'
is_empty messages 'the site is made without a message'

cd site || exit
find . -type f | sed 's|^\./||' >../files
find . -name '*.html' | sed 's|^\./||' >../pages
[ "$(wc -l <../pages)" -gt 250 ]
ok $? "$(wc -l <../pages) pages"

# Lists the paths that pages link to, relative to the site, and the fragments.
xargs awk '
	function resolved(path,   part, n, i, at, keep, s) {
		n = split(path, part, "/")
		for (i = 1; i <= n; i++)
			if (part[i] == "..")
				at--
			else
				keep[++at] = part[i]
		for (i = 1; i <= at; i++)
			s = s (i > 1 ? "/" : "") keep[i]
		return s
	}
	FNR == 1 { folder = FILENAME; sub(/[^\/]*$/, "", folder) }
	{
		line = $0
		while (match(line, /id="[^"]*"/)) {
			print "is", FILENAME "#" substr(line, RSTART + 4, RLENGTH - 5)
			line = substr(line, RSTART + RLENGTH)
		}
		line = $0
		while (match(line, /(href|src)="[^"]*"/)) {
			link = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			gsub(/^[a-z]*="|"$/, "", link)
			if (link ~ /^(https?:|mailto:)/)
				continue
			print "wants", link ~ /^#/ ? FILENAME link : resolved(folder link)
		}
	}' <../pages | sort -u >../links
{
	cat ../files
	sed -n 's/^is //p' ../links
} | sort -u >../there
sed -n 's/^wants //p' ../links | sort -u >../wanted
[ "$(wc -l <../wanted)" -gt 800 ]
ok $? "$(wc -l <../wanted) links"
comm -23 ../wanted ../there >../missing
is_empty ../missing 'each link leads to what is there'

grep -o '"man/[^"]*"' names.js | tr -d '"' | sort -u | comm -23 - ../there >../missing
is_empty ../missing 'each name that the search finds has its page'
cd ..
grep -o '^\["[^"]*"' site/names.js | tr -d '["' | sort >found
cut -d ' ' -f 1 "$manual/names" | sort | diff - found >difference
is_empty difference 'the search knows each name'
end
