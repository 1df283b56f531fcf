#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that omp/PATTERNS.md shows each pattern as it is compiled.
. "$SOURCE_DIR/tests/tap/tap.sh"

page=$SOURCE_DIR/omp/PATTERNS.md
awk -f "$SOURCE_DIR/examples/quote.awk" -v source="$SOURCE_DIR" "$page" >quoted
diff "$page" quoted >difference
is_empty difference 'omp/PATTERNS.md shows what is in examples/omp (its remedy: examples/quote.awk)'

for file in "$SOURCE_DIR"/examples/omp/*.c; do
	name=$(basename "$file" .c)
	grep -q "PATTERN($name, " "$SOURCE_DIR/examples/omp/patterns.h"
	ok $? "$name is in the list of patterns that are tested"
	for sweep in 'void primal' 'void forward' 'int reverse'; do
		grep -q "^${sweep}_$name(" "$page"
		ok $? "its function ${sweep#* }_$name() is shown"
	done
done

sed -n 's/^## //p' "$page" | tr 'A-Z ' 'a-z-' | tr -d , | sort >headings
grep -o '](#[a-z-]*)' "$page" | tr -d '](#)' | sort -u >linked
comm -23 linked headings >missing
is_empty missing 'each link within the page has a heading'
comm -13 linked headings | grep -v -e '^record-once' >unlinked
is_empty unlinked 'each pattern stands in the table'
end
