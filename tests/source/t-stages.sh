#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the tags of tests, which tests/local.mk explains, and the names by which the stages of ./check select tests.
. "$SOURCE_DIR/tests/tap/tap.sh"

cd "$SOURCE_DIR" || exit
work=$OLDPWD
stages=build-aux/stage.sh

sed -n 's/^\([a-z_]*\) =$/\1/p' tests/local.mk | sort >"$work/explained"
# Lists the tags, a line for each tag of a test: the test, the tag.
sed -nE 's|.*/(t-[a-z0-9-]+(\.sh)?)(( \$\([a-z_]+\))+)( \\)?$|\1\3|p' */*.mk */*/*.mk | tr -d '$()' |
	awk '{ for (i = 2; i <= NF; i++) print $1, $i }' >"$work/pairs"
[ "$(wc -l <"$work/pairs")" -gt 50 ]
ok $? "tests have $(wc -l <"$work/pairs") tags"
cut -d ' ' -f 2 "$work/pairs" | sort -u | diff "$work/explained" - >"$work/difference"
is_empty "$work/difference" 'the tags of tests are those that are explained'
grep -oE 'tagged [a-z_ ]+' $stages | tr ' ' '\n' | grep -v '^tagged$' | sort -u | diff "$work/explained" - >"$work/difference"
is_empty "$work/difference" 'stages ask for each tag, and for no other'
grep -E '/t-[a-z0-9-]+(\.sh)? .*/t-[a-z0-9-]+(\.sh)? .*\$\(' */*.mk */*/*.mk >"$work/shared"
is_empty "$work/shared" 'a test with a tag has a line of its own'

grep -oE '[%a-z/-]+/(t-[a-z0-9.-]+|%)' $stages | sed 's|^%/|*/*/|; s|%$|*|' | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 10 ]
ok $? "stages name $(wc -l <"$work/named") tests and folders"
while read -r pattern; do
	ls -d $pattern $pattern.* >"$work/found" 2>&1 && continue
	[ "$(grep -vc '^ls:' "$work/found")" -gt 0 ] || echo "$pattern"
done <"$work/named" >"$work/missing"
is_empty "$work/missing" 'each of them is there'

# Scripts that stop at an error have to print a message.
grep -rlE --include='*.sh' '^set -[a-zA-Z]*e' bench build-aux doc examples gpu packaging stress tests |
	grep -v '/ltmain\.sh$' >"$work/stopping"
[ "$(wc -l <"$work/stopping")" -gt 7 ]
ok $? "an error stops $(wc -l <"$work/stopping") scripts"
xargs grep -LE 'trap .*(ERR|finish EXIT)$|trap .status=.*EXIT$' <"$work/stopping" >"$work/silent"
is_empty "$work/silent" 'each of them says that it stops'

# Tests that compile by one of these helpers also need the tag.
grep -lE 'helpers/(clad|fortran)\.sh' tests/*/t-*.sh | while read -r script; do
	grep -qx "${script##*/} compiles" "$work/pairs" || echo "$script"
done >"$work/missing"
is_empty "$work/missing" 'tests that compile programs of Fortran or with Clad have the tag for it'
end
