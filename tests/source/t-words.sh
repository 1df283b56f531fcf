#!/bin/sh
# SPDX-License-Identifier: MIT
# GLOSSARY.md explains words that are in use, and each word in the name of a struct of lib/.
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
engine
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
sed -nE 's/^(typedef )?struct (reel_)?([a-z0-9_]+) \{$/\3/p' lib/*/*.h | tr '_' '\n' |
	sed 's/s$//' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 30 ]
ok $? 'there are structs'
comm -23 "$work/named" "$work/known" >"$work/unknown"
is_empty "$work/unknown" 'each word in the name of a struct of lib/ is in the glossary'
end
