#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that each function and each file that a comment or a document names exists.
. "$SOURCE_DIR/tests/tap/tap.sh"

cd "$SOURCE_DIR" || exit
work=$OLDPWD
find include lib omp gpu mpi dropin tools \( -name '*.c' -o -name '*.h' -o -name '*.cuh' -o -name '*.cu' \) -print |
	sort >"$work/sources"
set -- DESIGN.md HACKING.md GLOSSARY.md README.md doc/*.md lib/README.md lib/*/README.md omp/README.md \
	gpu/README.md mpi/README.md stress/README.md

while read -r file; do
	cat "$file"
done <"$work/sources" >"$work/text"
# Finds the identifiers of the code, without comments.
${AWK:-awk} '{
	while (length($0)) {
		at = index($0, inside ? "*/" : "/*")
		if (!inside)
			printf "%s", at ? substr($0, 1, at - 1) " " : $0
		if (!at)
			break
		$0 = substr($0, at + 2)
		inside = !inside
	}
	print ""
}' "$work/text" | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u >"$work/identifiers"
[ "$(wc -l <"$work/identifiers")" -gt 5000 ]
ok $? 'there are identifiers'

cat "$work/text" "$@" | grep -ohE '\<reel_[a-z0-9_]+\(\)' | sed 's/()//' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 100 ]
ok $? "$(wc -l <"$work/named") functions are named with ()"
# Finds names that macros put together, such as reel_adjoint_add() of reel_adjoint_add_float().
sed -n 's/^.*\<\(reel_[a-z0-9_]*\)##.*$/\1/p' "$work/text" | sort -u >"$work/made"
sort -u "$work/identifiers" "$work/made" >"$work/known"
comm -23 "$work/named" "$work/known" >"$work/unknown"
is_empty "$work/unknown" 'each of them is there'

# Compares the functions in the last column of the table of states.
sed -n 's/^ \*	[A-Z_]* *[A-Z_]* *\(owner\|offload\|both\) *\(.*\)$/\2/p' lib/pool/slab.h |
	grep -oE 'reel_[a-z_]+' | sort -u | comm -23 - "$work/known" >"$work/unknown"
is_empty "$work/unknown" 'the table of states of a slab names functions that are there'

# Other files that comments name belong to the system, or are examples of a reader's files.
find . -path ./build -prune -o -type f -print | sed 's|.*/||' | sort -u >"$work/files"
sed -n 's/^[^"]*include <\(.*\)>.*/\1/p' "$work/text" | sed 's|.*/||' | sort -u >"$work/system"
printf '%s\n' config.h cuda.h magic.h file.c gradient.c program.c reel-omp.c reel-omp.h x.c >"$work/examples"
sort -u "$work/files" "$work/system" "$work/examples" >"$work/known"
cat "$work/text" "$@" | grep -ohE '\<[a-z0-9-]+(/[a-z0-9-]+)*\.(c|h|cuh|cu|pml)\>' | sed 's|.*/||' | sort -u |
	comm -23 - "$work/known" >"$work/unknown"
is_empty "$work/unknown" 'each file that is named is there'

# Scripts that change to the folder of the sources find the files that they source there.
grep -s -l '^cd "$(dirname "$0")' check demo */*.sh */*/*.sh >"$work/scripts"
while read -r script; do
	up=$(sed -n 's|^cd "$(dirname "$0")\([^"]*\)".*|\1|p' "$script")
	sed -n 's/^\. \([a-z][^ $]*\)$/\1/p' "$script" | while read -r sourced; do
		[ -f "$(dirname "$script")$up/$sourced" ] || echo "$script: $sourced"
	done
done <"$work/scripts" >"$work/unknown"
is_empty "$work/unknown" 'each script finds what it sources'
end
