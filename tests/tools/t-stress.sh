#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel-stress: its options, its table of pairs, and some seconds of each case.
. "$SOURCE_DIR/tests/tap/tap.sh"

stress=$BUILD_DIR/stress/reel-stress
header=$SOURCE_DIR/include/reel/pool.h

# refuses WHAT OPTION...: a check that the program refuses the options.
refuses() {
	what=$1
	shift
	is_refused '--help' "$stress" "$@"
	ok $? "$what is refused"
}

refuses 'an unknown option' --fast
refuses 'an option without its argument' --seed
refuses 'no number' --threads many
refuses 'a number out of range' --threads 17
refuses 'no regular expression' --only '('
refuses 'no mix of faults' --fault-mix put=often
refuses 'an argument' tapes

"$stress" --list >cases
ok $? 'the table of pairs is complete'
for case in tapes parcels runs regions tasks; do
	grep -qx "$case" cases
	ok $? "there is a case $case"
done
[ "$(sort cases | uniq -d | wc -l)" -eq 0 ]
ok $? 'no case is listed twice'

# n operations have n (n + 1) / 2 pairs. Each pair has a case, or a reason why it has none.
grep -o 'pairs/[a-z-]*/[a-z-]*' cases >pairs
cut -d / -f 2 pairs | sort -u >operations
n=$(wc -l <operations)
[ "$n" -gt 0 ] && [ "$(wc -l <pairs)" -eq $((n * (n + 1) / 2)) ]
ok $? "each pair of $n operations has a row, or a reason that it has none"
! grep '^#' cases | grep -v '^# pairs/[a-z-]*/[a-z-]*: [a-z]'
ok $? 'each reason is in words'

sed -n '/Calls at the same time/,/fork: the child/p' "$header" >table
while read -r operation; do
	grep -q -w -e "$operation" table || echo "$operation"
done <operations >unnamed
is_empty unnamed 'the table in reel/pool.h names each operation'

# Rounds are short, because ThreadSanitizer makes them several times as long.
seconds=2 operations=300
[ -n "$TEST_LONG" ] || seconds=1 operations=40

# runs WHAT OPTION...: a check that a run passes; shows its seed and its counts.
runs() {
	what=$1
	shift
	"$stress" --directory "$PWD" --operations $operations --json summary "$@" >out 2>&1
	ok $? "$what"
	sed 's/^/# /' out
}

seed=$(date +%s)
runs 'threads use tapes, parcels, runs, lanes and tasks' \
	--seed "$seed" --seconds $seconds --only 'tapes|parcels|runs|regions|tasks'
[ "$(head -n 1 out | grep -c -e "--seed $seed")" -eq 1 ]
ok $? 'the seed is said first'
[ "$(grep -c '^ok [1-5] - ' out)" -eq 5 ] && grep -qx '1\.\.5' out
ok $? 'the summary has each case'
grep -q "\"seed\": $seed, \"failed\": null" summary && [ "$(grep -c '"case": ' summary)" -eq 5 ]
ok $? 'the summary in JSON has each case'

operations=$((operations / 20))
runs 'each pair of operations, by 2, 3 and 8 threads' --seed "$seed" --seconds 0 --only pairs
[ "$(grep -o '"rounds": [0-9]*' summary | head -n 1 | tr -dc 0-9)" -eq "$(grep -c '^pairs' cases)" ]
ok $? 'no row was left out'

# Only builds with OpenMP have this case: see stress/README.md.
if grep -qx programs cases; then
	# libgomp does not free a task of a team that was cancelled.
	echo 'leak:libgomp' >leaks
	export LSAN_OPTIONS="suppressions=$PWD/leaks:print_suppressions=0"
	rounds=2000
	[ -n "$TEST_LONG" ] || rounds=100
	"$stress" --seed "$seed" --rounds $rounds --only '^programs$' >out 2>&1
	ok $? "$rounds random programs of OpenMP have the adjoints of a serial one, seed $seed"
	sed 's/^/# /' out
	"$stress" --seed "$seed" --rounds $rounds --only '^programs$' --omit >out 2>&1
	ok $? "$rounds programs that leave one call out have an error, and no wrong number, seed $seed"
	sed 's/^/# /' out
	"$stress" --seed 2 --rounds 1 --only '^programs$' --store none --pool-slabs 0 \
		--pretend wrong >out 2>&1
	[ $? -eq 1 ] && grep -q '^not ok - programs: an adjoint is wrong' out
	ok $? 'a wrong adjoint is a failure'
	unset LSAN_OPTIONS
fi

for case in tapes parcels; do
	"$stress" --seed 7 --rounds 3 --only "^$case\$" --store memory=64M \
		--fault-mix get=4,flip=4 --pool-slabs 24 --threads 2 >out 2>&1
	ok $? "$case: a round of faults passes"
	sed 's/^/# /' out
	faults=$(sed -n 's/^ok.*operations, \([0-9]*\) faults as told/\1/p' out)
	[ "${faults:-0}" -gt 0 ]
	ok $? "the faults of the round are reported: $faults"
done

"$stress" --seed 2 --rounds 1 --only '^parcels$' --threads 3 --store none --pool-slabs 0 \
	--pretend wrong >out 2>&1
[ $? -eq 1 ] && grep -q '^not ok - parcels: parcel [0-9]*, version' out
ok $? 'a wrong byte of a parcel is a failure'
"$stress" --seed 2 --rounds 1 --only '^runs$' --threads 3 --store none --pool-slabs 0 \
	--pretend wrong >out 2>&1
[ $? -eq 1 ] && grep -q '^not ok - runs: the gradient of [0-9]* steps is wrong' out
ok $? 'a wrong gradient of a run is a failure'
"$stress" --seed 2 --rounds 1 --only '^tapes$' --threads 3 --store none --pool-slabs 0 \
	--pretend wrong --json summary >out 2>&1
[ $? -eq 1 ] && grep -q '^not ok - tapes: tape [0-9]*, position' out
ok $? 'a wrong value is a failure'
grep -q '^#   thread [1-3]: operation [0-9]*, [a-z]' out
ok $? 'a failure says what each thread did'
grep -q '"failed": "tapes"' summary
ok $? 'the JSON names the failed case, too'
sed -n 's/^# to run it again: reel-stress //p' out >again
[ -s again ] && eval "$stress $(cat again)" >out 2>&1
ok $? 'a failure has the command that runs it again'
grep -q -e '--seed 2,' out
ok $? 'this command has the seed'

refuses 'an unknown schedule' --schedule often

# Rounds in a schedule are the same each time. The seeds in stress/seeds have found faults before.
scheduled() {
	"$stress" --rounds 1 "$@" >out 2>&1
}
for schedule in random pct; do
	scheduled --schedule $schedule --seed 5 --only '^tapes$' &&
		grep '^# [0-9]* steps' out >first &&
		scheduled --schedule $schedule --seed 5 --only '^tapes$' &&
		grep '^# [0-9]* steps' out | cmp -s - first
	ok $? "threads take turns, $schedule: a seed gives the same steps"
done
grep -v -e '^#' -e '^$' "$SOURCE_DIR/stress/seeds" >seeds
while read -r options; do
	scheduled $options
	ok $? "a seed that is kept: $options"
	grep -A 30 '^not ok' out | sed 's/^/# /'
done <seeds
scheduled --schedule pct --seed 2 --only '^tapes$' --threads 3 --store none --pool-slabs 0 \
	--operations 300 --pretend wrong
[ $? -eq 1 ] && grep -q '^# the last steps: ' out && grep -q '^# to run it again: .*--schedule pct' out
ok $? 'a failure says the last steps, and the schedule'

"$stress" --rounds 1 --only '^tapes$' --threads 2 --pretend hang --patience 1 >out 2>&1
[ $? -eq 1 ] && grep -q '^not ok - tapes: thread [12] hangs' out
ok $? 'a thread that hangs is a failure'
end
