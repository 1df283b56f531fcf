#!/bin/sh
# SPDX-License-Identifier: MIT
# reel-bench: its options, and the form of its results. What it measures is not a matter of tests.
. "$SOURCE_DIR/tests/tap/tap.sh"

bench=$BUILD_DIR/bench/reel-bench

# refuses WHAT OPTION...
refuses() {
	what=$1
	shift
	is_refused '--help' "$bench" "$@"
	ok $? "$what is refused"
}

refuses 'an unknown option' --fast
refuses 'an option without its argument' --only
refuses 'no regular expression' --only '('
refuses 'an argument' floor

"$bench" --help >out
[ $? -eq 0 ] && grep -q -e '--json FILE' out
ok $? '--help describes the options'

"$bench" --list >cases
ok $? '--list succeeds'
for subject in floor bulk record single cold threads kernel; do
	grep -q "^$subject/" cases
	ok $? "there is a case of $subject"
done
[ "$(sort cases | uniq -d | wc -l)" -eq 0 ]
ok $? 'no case comes twice'

"$bench" --quick --only '^kernel/mttkrp/paper$' --json results >table 2>err
ok $? 'a case runs alone'
[ "$(wc -l <results)" -eq "$(grep -c ^kernel/mttkrp/paper table)" ] && [ -s results ]
ok $? 'each row of the table is a line of JSON'
for key in case variant n unit median min max ratio ratio_to; do
	[ "$(grep -c "\"$key\": " results)" -eq "$(wc -l <results)" ]
	ok $? "each line has $key"
done
if python3 -c '' 2>/dev/null; then
	python3 -c 'import json; [json.loads(line) for line in open("results")]'
	ok $? 'each line is JSON'
else
	skip 'each line is JSON: no python3'
fi
end
