#!/bin/sh
# SPDX-License-Identifier: MIT
# GLOSSARY.md explains words that are in use, and each word in the name of a struct of lib/. The pages are free of
# turns that a reader has to read twice, and their lines have at most 100 columns.
. "$SOURCE_DIR/tests/tap/tap.sh"

cd "$SOURCE_DIR" || exit
work=$OLDPWD
export LC_ALL=C

# plain: prints the text on stdin in small letters, as words with one space between them, also for a hyphen, `_` or the end
# of a line.
plain() {
	tr '[:upper:]' '[:lower:]' | tr -cs 'a-z' ' '
}

# Lists the first columns of the tables, a word a line. A term may have several words, such as "call site".
sed -nE '/^\|---/d; /^\| word \|/d; s/^\| ([^|]*) \|.*/\1/p' GLOSSARY.md | tr ',' '\n' | while read -r word; do
	printf '%s\n' "$(printf %s "$word" | plain)"
done | sort -u >"$work/words"
[ "$(wc -l <"$work/words")" -gt 50 ]
ok $? 'there are words'

find include lib omp mpi gpu \( -name '*.h' -o -name '*.cuh' \) -exec cat {} + | plain >"$work/headers"
${AWK:-awk} 'NR == FNR { text = " " $0 " "; next }
	!index(text, " " $0 " ") && !index(text, " " $0 "s ")' "$work/headers" "$work/words" >"$work/unused"
is_empty "$work/unused" 'each word of the glossary is in a header'

# A row of one word has one meaning, a row of several words a meaning for each of them.
${AWK:-awk} -F '|' '/^[|] / { row = $0
	if (gsub(/,/, "", $2) != gsub(/;/, "", $3)) print row }' GLOSSARY.md >"$work/ambiguous"
is_empty "$work/ambiguous" 'each row of the glossary has one meaning for each of its words'

# Lists words without an explanation, because they have their meaning in C, in the kernel, or in any program.
cat >"$work/plain" <<'END'
accesses
buffer
counts
file
identity
io
limit
memory
os
pressure
queue
reclaim
request
signals
space
verb
END
# Lists the known words in singular, and each term also as one word, such as "wakeup".
{
	tr ' ' '\n' <"$work/words"
	tr -d ' ' <"$work/words"
	cat "$work/plain"
} | sed 's/s$//' | sort -u >"$work/known"
sed -nE 's/^(typedef )?struct (reel_)?([a-z0-9_]+) \{$/\3/p' lib/*/*.h lib/*/*/*.h | tr '_' '\n' |
	sed 's/s$//' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 30 ]
ok $? 'there are structs'
comm -23 "$work/named" "$work/known" >"$work/unknown"
is_empty "$work/unknown" 'each word in the name of a struct of lib/ is in the glossary'

# sentences: prints the sentences and cells of the text on stdin, a line each, without programs, commands, questions and
# words in `code`. A line that begins with \001 names the file of the lines after it; the name is added to each sentence.
sentences() {
	${AWK:-awk} '
		function say() {
			gsub(/ +/, " ", text)
			gsub(/`[^`]*`/, "CODE", text)
			gsub(/[.?!:;|]+[*)]*( |$)/, "& (" file ")\n ", text)
			print text " (" file ")"
			text = ""
		}
		/^\001/ { say(); file = substr($0, 2); program = 0; next }
		program { program = !/^ *```$/; next }
		/^ *```/ { program = 1; next }
		/^	/ || /^    / { next }
		/^[-#|]/ || !NF { say() }
		{ text = text " " $0 }
		END { say() }' | grep -v '?'
}

# Free relatives; `that of` in place of the noun; `as many` in place of the number; `too` for `also`; `but for` for
# `except`; and a lock that somebody has, and does not hold.
turns='[^a-z](what|whoever|whom|(that|those) of|(so|as) many|but for|(have|has|had|having) (a|the|its|no|their) lock)[^a-z]'
turns="$turns|, too[^a-z]|([^es]|[^l]e|[^r]s) who[^a-z]"

# Programs write the pages of bench/, and RESOURCES.md.
find . -name '*.md' ! -path './build/*' ! -path './bench/*' ! -path './.git/*' ! -name RESOURCES.md >"$work/pages"
[ "$(wc -l <"$work/pages")" -gt 40 ]
ok $? 'there are pages'
xargs ${AWK:-awk} 'FNR == 1 { print "\001" FILENAME } { print }' <"$work/pages" | sentences | grep -iE "$turns" >"$work/found"
is_empty "$work/found" 'no page has a turn that is read twice'

# The comments of headers and sources, without code, as a page.
find include lib omp mpi gpu dropin tools examples bench stress tests/helpers -name '*.[ch]' -o -name '*.hpp' \
	-o -name '*.cuh' -o -name '*.cu' -o -name '*.cpp' >"$work/manuals"
xargs ${AWK:-awk} '
	FNR == 1 { print "\001" FILENAME; inside = last = 0 }
	/\/\*/ { inside = 1; sub(/^.*\/\*/, "") }
	!inside || /^ \*	/ { next }
	/\*\// { last = 1; sub(/[ \\]*\*\/.*/, "") }
	{ sub(/^[ 	]*\*/, ""); gsub(/[A-Za-z_]+\(\)/, "CODE"); sub(/^[ 	]+/, ""); print }
	last { print ""; inside = last = 0 }' <"$work/manuals" | sentences | grep -iE "$turns" >"$work/found"
is_empty "$work/found" 'no comment has a turn that is read twice'

# The comments of scripts and makefiles. A word in capitals is the name of an argument.
find . -path ./build -prune -o -path ./bench/results.sh -o \( -name '*.sh' -o -name '*.awk' -o -name '*.mk' -o -name '*.am' \
	-o -name 'reel_*.m4' -o -name '*.cmake.in' -o -name configure.ac -o -name CMakeLists.txt -o -name check -o -name demo \) \
	! -name ltmain.sh ! -name tap-driver.sh -type f -print >"$work/scripts"
[ "$(wc -l <"$work/scripts")" -gt 150 ]
ok $? 'there are scripts'
xargs ${AWK:-awk} '
	FNR == 1 { print "\001" FILENAME }
	!sub(/^[ 	]*# /, "") { print ""; next }
	{ gsub(/[A-Z][A-Z]+/, "CODE"); print }' <"$work/scripts" | sentences | grep -iE "$turns" >"$work/found"
is_empty "$work/found" 'no comment of a script has a turn that is read twice'

# Columns of text: without programs, tables, pictures, and lines that name a program to quote.
xargs ${AWK:-awk} '
	FNR == 1 { program = 0 }
	/^ *```/ && !program { program = 1; next }
	program { if (/^ *```$/) program = 0; next }
	/^[	|!]/ || /^\[`examples/ { next }
	{ line = $0; gsub(/[\200-\277]/, "", line) }
	length(line) > 100 { print FILENAME ": " $0 }' <"$work/pages" >"$work/wide"
is_empty "$work/wide" 'no line of a page has more than 100 columns'

find lib omp mpi gpu include dropin tools examples bench stress -name '*.[ch]' -o -name '*.cuh' -o -name '*.cu' \
	-o -name '*.[ch]pp' -o -name '*.f90.in' >"$work/sources"
xargs ${AWK:-awk} '
	{ width = 0; line = $0; gsub(/[\200-\277]/, "", line) }
	length(line) > 12 {
		parts = split(line, part, "\t")
		for (i = 1; i < parts; i++)
			width = width + length(part[i]) + 8 - (width + length(part[i])) % 8
		if (width + length(part[parts]) > 100)
			print FILENAME ":" FNR ": " $0
	}' <"$work/sources" >"$work/wide"
is_empty "$work/wide" 'no line of lib, omp, mpi, gpu, include, dropin, tools, examples, bench and stress has more than 100 columns'
end
