#!/bin/sh
# SPDX-License-Identifier: MIT
# GLOSSARY.md explains words that are in use, and each word in the name of a struct of lib/. The pages are free of
# turns that a reader has to read twice, and their lines have at most 100 columns.
. "$SOURCE_DIR/tests/tap/tap.sh"

cd "$SOURCE_DIR" || exit
work=$OLDPWD

# plain: text in small letters without what may break a word in two, be it a line, a hyphen or `_`.
plain() {
	tr '[:upper:]' '[:lower:]' | tr -cs 'a-z' ' '
}

# The first columns of the tables, a word a line. A word may be several, as "call site" is.
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

# What needs no explanation, since it means in Reel what it means in C, in the kernel, or in any program.
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
# Singular, and "wake-up" as one word, too.
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

# sentences_of PAGE: its sentences and cells, a line each, without programs, commands, questions and words in `code`.
sentences_of() {
	sed '/^ *```/,/^ *```$/d; /^	/d; /^    /d' "$1" | ${AWK:-awk} '
		/^[-#|]/ || !NF { print text; text = "" }
		{ text = text " " $0 }
		END { print text }' | ${AWK:-awk} '{
		gsub(/ +/, " ")
		gsub(/`[^`]*`/, "CODE")
		gsub(/[.?!:;|]+[*)]*( |$)/, "& \n ")
		print $0 " "
	}' | grep -v '?'
}

# Free relatives; "that of" in place of the noun; "as many" in place of the number; "too" for "also"; "but for" for
# "except"; and a lock that somebody has, and does not hold.
turns='[^a-z](what|whoever|whom|(that|those) of|(so|as) many|but for|(have|has|had|having) (a|the|its|no|their) lock)[^a-z]'
turns="$turns|, too[^a-z]|([^es]|[^l]e|[^r]s) who[^a-z]"

# Programs write the pages of bench/, and RESOURCES.md.
find . -name '*.md' ! -path './build/*' ! -path './bench/*' ! -path './.git/*' ! -name RESOURCES.md >"$work/pages"
[ "$(wc -l <"$work/pages")" -gt 40 ]
ok $? 'there are pages'
while read -r page; do
	sentences_of "$page" | grep -iE "$turns" | sed "s|^|$page:|"
done <"$work/pages" >"$work/found"
is_empty "$work/found" 'no page has a turn that is read twice'

# The comments of headers and sources, without code, as a page.
find include lib omp mpi gpu dropin tools examples bench/dropin bench/kernels bench/peers bench/ranks bench/scale \
	bench/spill bench/b-*.c -name '*.[ch]' -o -name '*.hpp' -o -name '*.cuh' -o -name '*.cu' -o -name '*.cpp' >"$work/manuals"
while read -r header; do
	${AWK:-awk} '
		/\/\*/ { inside = 1; sub(/^.*\/\*/, "") }
		!inside || /^ \*	/ { next }
		/\*\// { last = 1; sub(/[ \\]*\*\/.*/, "") }
		{ sub(/^[ 	]*\*/, ""); gsub(/[A-Za-z_]+\(\)/, "CODE"); sub(/^[ 	]+/, ""); print }
		last { print ""; inside = last = 0 }' "$header" >"$work/comments"
	sentences_of "$work/comments" | grep -iE "$turns" | sed "s|^|$header:|"
done <"$work/manuals" >"$work/found"
is_empty "$work/found" 'no comment has a turn that is read twice'

# Columns of text: without programs, tables, pictures, and lines that name a program to quote.
while read -r page; do
	sed '/^ *```/,/^ *```$/d; /^[	|!]/d; /^\[`examples/d' "$page" | LC_ALL=C ${AWK:-awk} -v page="$page" '{
		gsub(/[\200-\277]/, "")
		if (length($0) > 100)
			print page ": " $0
	}'
done <"$work/pages" >"$work/wide"
is_empty "$work/wide" 'no line of a page has more than 100 columns'

find lib omp mpi gpu include dropin tools examples -name '*.[ch]' -o -name '*.cuh' -o -name '*.cu' -o -name '*.hpp' \
	-o -name 'reel.f90.in' >"$work/sources"
while read -r file; do
	expand -t 8 "$file" | LC_ALL=C ${AWK:-awk} -v file="$file" '{
		gsub(/[\200-\277]/, "")
		if (length($0) > 100)
			print file ":" NR ": " $0
	}'
done <"$work/sources" >"$work/wide"
is_empty "$work/wide" 'no line of lib, omp, mpi, gpu, include, dropin, tools and examples has more than 100 columns'
end
