#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the corpora of the fuzzers' targets, and mutations of them, without a fuzzer.
. "$SOURCE_DIR/tests/tap/tap.sh"

replay=$BUILD_DIR/tests/fuzz/reel-replay
corpus=$SOURCE_DIR/tests/fuzz/corpus

# refuses WHAT OPTION...: a check that reel-replay refuses the options.
refuses() {
	what=$1
	shift
	is_refused '--help' "$replay" "$@"
	ok $? "$what is refused"
}

refuses 'an unknown option' --fast 1
refuses 'no corpus' tape
refuses 'no number' --corpus "$corpus" --mutations many
refuses 'an unknown target' --corpus "$corpus" tapes

"$replay" --list >targets
ok $? 'targets are listed'
while read -r target; do
	ls "$corpus/$target" 2>/dev/null | grep -q . || echo "$target"
done <targets >bare
is_empty bare 'each target has a corpus'
for directory in "$corpus"/*/; do
	name=${directory%/}
	name=${name##*/}
	# Without LZ4 there is nothing to pack.
	grep -qx "$name" targets || [ "$name" = pack ] || echo "$name"
done >unknown
is_empty unknown 'each corpus has a target'

mkdir files
bash "$SOURCE_DIR/tests/fuzz/seeds.sh" unpack "$corpus/facts" files
for file in "$corpus"/facts/*-*; do
	cmp "$file" "files/${file##*/}" && rm "files/${file##*/}"
done >differences 2>&1
is_empty differences 'a corpus is unpacked with the files beside its seeds'
bash "$SOURCE_DIR/tests/fuzz/seeds.sh" pack files | cmp - "$corpus/facts/seeds"
ok $? 'seeds that are unpacked and packed again are the same'

mutations=300
[ -z "$TEST_LONG" ] || mutations=3000
seed=${TEST_SEED:-1}
while read -r target; do
	"$replay" --corpus "$corpus" --seed "$seed" --mutations $mutations "$target" >out 2>&1
	ok $? "$target: its corpus, and mutations by seed $seed"
	sed -n 's/^#/# /p' out
done <targets

"$replay" --corpus "$corpus" --mutations 9 --seed 5 --pretend 4 facts >out 2>&1
[ $? -eq 1 ] && grep -q '^not ok 1 - facts' out
ok $? 'what fails is a failure'
grep -q '^# input: .*, mutation 4 of seed 5$' out
ok $? 'a failure names its input'
sed -n 's/^# to run it again: reel-replay //p' out >again
[ -s again ] && eval "$replay $(cat again)" >out 2>&1
ok $? 'the input is left in a file, with the command that runs it again'
end
