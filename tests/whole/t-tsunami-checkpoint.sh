#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests checkpointing of the tsunami: for all planners, segments and tiers the gradient is bitwise equal to the
# gradient with all steps on tape, memory stays within the budget, and the actions agree with the plan.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

tsunami=$TSUNAMI
[ -n "$tsunami" ] || skip_all 'the example is not built: libnetcdf or cairo is missing'

# run OPTION...: runs a short simulation on coarse cells.
run() {
	rm -rf out
	"$tsunami" --quiet --basin idealised --resolution 60 --threads 1 --output out "$@" \
		>stdout 2>stderr
}

did_as_planned() {
	for name in advanced recorded reversed memory_stores memory_loads disk_stores disk_loads; do
		[ -n "$(key planned_$name)" ] && [ "$(key planned_$name)" = "$(key $name)" ] ||
			return 1
	done
}

# gives_the_gradient WHAT OPTION...: a check that the gradient is bitwise that in the folder $reference, by the actions of
# the plan.
gives_the_gradient() {
	what=$1
	shift
	run "$@" && cmp $reference/gradient.nc out/gradient.nc
	ok $? "the gradient of $what is bitwise that of all steps on tape"
	did_as_planned
	ok $? "the run is as planned: $(key advanced) steps, $(key memory_stores) + $(key disk_stores) states"
}

# learns_the_gradient WHAT BYTES OPTION...: a check that the gradient of a plan that learns is bitwise that in the folder
# $reference, and that the plan keeps a budget of BYTES.
learns_the_gradient() {
	what=$1 bytes=$2
	shift 2
	run --checkpoint auto --budget "$bytes" "$@" && cmp $reference/gradient.nc out/gradient.nc
	ok $? "the gradient of a plan that learns, $what, is bitwise that of all steps on tape"
	[ "$(key planner)" = '"auto"' ] && [ "$(key tape_resident_bytes)" -le "$bytes" ] &&
		[ $(($(key advanced) + $(key tape_spilled_bytes))) -gt 0 ]
	ok $? "within $bytes bytes: $(key advanced) steps again, $(key tape_spilled_bytes) bytes spilled"
}

# near WHAT DIGITS OPTION...: a check that the norm of the gradient has some digits of that in the folder $reference, and that
# states take up less than a third of their bytes.
near() {
	what=$1 digits=$2
	shift 2
	run --steps 127 --hours 10 --checkpoint "$@" && ! cmp -s $reference/gradient.nc out/gradient.nc &&
		awk -v a="$(sed -n 's/.*"gradient_norm": *\([^,]*\),/\1/p' $reference/summary.json)" -v b="$(key gradient_norm)" \
			-v digits="$digits" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 <= (a * 10 ^ -digits) ^ 2) }'
	ok $? "with states that are rounded, $what, the gradient has $digits digits"
	[ $((3 * $(key kept_bytes))) -lt "$(key rounded_bytes)" ]
	ok $? "they take up $(key kept_bytes) of $(key rounded_bytes) bytes"
}

# has_digits WHAT DIGITS PLAN...: a check that --verify finds the error of a gradient of these digits below its bound, that
# the bound is as small as was asked for, and that states take up less than half of their bytes.
has_digits() {
	what=$1 digits=$2
	shift 2
	run --steps 127 --hours 10 --digits "$digits" --verify --checkpoint "$@" &&
		awk -v error="$(key error)" -v bound="$(key error_bound)" -v digits="$digits" \
			'BEGIN { exit !(error > 0 && error <= bound && bound <= 10 ^ -digits) }'
	ok $? "with $what, $digits digits are right: an error of $(key error), at most $(key error_bound)"
	[ $((2 * $(key kept_bytes))) -lt "$(key rounded_bytes)" ]
	ok $? "states take up $(key kept_bytes) of $(key rounded_bytes) bytes, at a tolerance of $(key tolerance)"
}

mkdir spill
run --steps 127 --hours 10 && mv out all
reference=all
run --steps 2 --hours 0.1 --checkpoint hierarchical:1:1 --spill spill
disk=spill
if grep -q 'kept in memory' stderr; then
	skip 'states on a disk: there is none here'
	disk=
fi

# The short form takes the planners whose actions differ most.
in_memory='store-all binomial:4 binomial:1 binomial online:5 mixed:6 mixed:6:2 mixed:9:4'
on_disk='multistage:3:4 two-level:3:6 hierarchical:2:5 disk-revolve:3 periodic:3:5 all'
if [ -z "$TEST_LONG" ]; then
	in_memory='online:5 mixed:6:2' on_disk='hierarchical:2:5 disk-revolve:3'
fi

for planner in $in_memory; do
	gives_the_gradient "$planner" --steps 127 --hours 10 --checkpoint $planner --audit
done
[ -n "$disk" ] &&
	for planner in $on_disk; do
		gives_the_gradient "$planner" --steps 127 --hours 10 --checkpoint $planner --audit \
			--spill spill
	done
near 'binomial' 3 binomial:4 --tolerance 1e-5
near 'auto' 5 auto --budget 1M --tolerance 1e-7
has_digits 'binomial' 4 binomial:4
# The tolerance that is tried first is small enough if velocities have a scale of their own.
[ "$(key gradients)" = 5 ]
ok $? "they took $(key gradients) gradients"
has_digits 'auto' 6 auto --budget 1M
for segment in 1 3; do
	learns_the_gradient "in segments of $segment" $((1 << 20)) --steps 127 --hours 10 --audit \
		--segment $segment
done
[ -n "$disk" ] && learns_the_gradient 'with a disk' $((1 << 20)) --steps 127 --hours 10 --spill spill
# The other checks are the same in every build.
if [ -z "$TEST_LONG" ]; then
	end
	exit
fi
for segment in 1 10 126 127; do
	gives_the_gradient "segments of $segment steps" --steps 127 --hours 10 \
		--checkpoint binomial:3 --segment $segment
	[ "$(key segment_steps)" = $segment ] && [ "$(key tape_bytes)" = $((24 * $(key cells) * segment)) ]
	ok $? "the tape has no more than segments of $segment steps"
done
gives_the_gradient 'segments of an unknown end' --steps 127 --hours 10 --checkpoint online:4 --segment 10
run --steps 127 --hours 10 --checkpoint auto && cmp all/gradient.nc out/gradient.nc &&
	[ "$(key advanced)" = 0 ]
ok $? 'a plan that learns without a budget gives the gradient, and runs no step again'

run --steps 127 --hours 10 --threads 2 --checkpoint binomial:3
if grep -q ': 1 can be had here' stderr; then
	skip 'two threads: built without OpenMP'
else
	gives_the_gradient 'two threads' --steps 127 --hours 10 --threads 2 --checkpoint binomial:3
	for planner in store-all binomial:1 binomial:4 mixed:6:2 online:5; do
		for threads in 2 3; do
			gives_the_gradient "$threads threads that look ahead in $planner" \
				--steps 127 --hours 10 --threads $threads --checkpoint $planner \
				--look-ahead
			[ "$(key look_ahead_threads)" = $threads ]
			ok $? "$(key look_ahead_threads) threads look ahead"
		done
	done
	[ -n "$disk" ] && gives_the_gradient 'a look ahead at states on the disk' --steps 127 \
		--hours 10 --threads 3 --checkpoint hierarchical:2:5 --spill spill --look-ahead
	# A segment for which there is no memory is recorded again.
	run --steps 127 --hours 10 --threads 3 --checkpoint binomial:3 --budget 2M --look-ahead &&
		cmp $reference/gradient.nc out/gradient.nc
	ok $? 'a look ahead within a budget gives the gradient'
	[ "$(key tape_resident_bytes)" -le $((2 << 20)) ]
	ok $? "a look ahead keeps the budget: $(key tape_resident_bytes) bytes"
	run --steps 127 --hours 10 --threads 2 --checkpoint binomial:4 --look-ahead --verify
	ok $? 'a look ahead verifies: its second gradient is right, too'
fi

run --steps 127 --hours 10 --checkpoint binomial:4 --verify
ok $? 'a run with checkpointing verifies: its second gradient is right, too'

# Slabs under this budget hold a part of a step.
run --resolution 30 --steps 60 --hours 2 && mv out fine
reference=fine
gives_the_gradient 'steps of several chunks' --resolution 30 --steps 60 --hours 2 \
	--checkpoint binomial:3 --budget 2M
for budget in 1500 3000 5000; do
	learns_the_gradient 'with steps of several chunks' $((budget << 10)) --resolution 30 \
		--steps 60 --hours 2
done
run --resolution 30 --steps 60 --hours 2 --checkpoint auto --budget 3M --verify
ok $? 'a plan that learns verifies: its second gradient is right, too'

# The tape is ten times as large as the room for it, in memory and on the disk together. 2,400 cells of 24 bytes
# are 57,600 bytes a step.
budget=$((1 << 20))
run --steps 400 --hours 30 && mv out long
reference=long
full=$((24 * $(sed -n 's/^ *"cells": \([0-9]*\),$/\1/p' long/summary.json) * 400))
gives_the_gradient 'a tape of 20 budgets' --steps 400 --hours 30 --checkpoint binomial:5 --budget $budget
[ $full -ge $((20 * budget)) ] && [ "$(key tape_resident_bytes)" -le $budget ]
ok $? "its states and tape stayed within the budget: $(key tape_resident_bytes) bytes"
if [ -n "$disk" ]; then
	gives_the_gradient 'ten times memory and disk' --steps 400 --hours 30 \
		--checkpoint hierarchical:3:20 --budget $budget --spill spill
	[ $full -ge $((10 * (budget + 20 * 57600))) ] &&
		[ "$(key tape_resident_bytes)" -le $budget ] && [ "$(key disk_stores)" -gt 0 ]
	ok $? "its states and tape stayed within the budget: $(key tape_resident_bytes) bytes"
	learns_the_gradient 'with ten times memory' $budget --steps 400 --hours 30 --spill spill
	gives_the_gradient 'all steps on a tape that spills' --steps 400 --hours 30 \
		--checkpoint store-all --budget 4M --spill spill
	[ "$(key tape_resident_bytes)" -le $((4 << 20)) ] && [ "$(key tape_spilled_bytes)" -gt 0 ]
	ok $? "it was spilled: $(key tape_spilled_bytes) bytes"
	[ -z "$(ls -A spill)" ]
	ok $? 'nothing is left on the disk'
fi
learns_the_gradient 'without a disk' $budget --steps 400 --hours 30
rm -rf out
"$tsunami" --basin idealised --resolution 60 --threads 1 --output out --steps 400 --hours 30 \
	--checkpoint auto --budget $budget >stdout 2>stderr
grep -q '^Plan  *auto; 400 segments of 1 step$' stdout &&
	grep -q "^  steps run  *$(key advanced)\$" stdout && ! grep -q planned stdout
ok $? "it says what it did: $(grep '^  steps run ' stdout)"

# refuses WHAT REMEDY OPTION...: a check that the program refuses the options in one line with the remedy.
refuses() {
	what=$1 wanted=$2
	shift 2
	rm -rf out
	is_refused "$wanted" "$tsunami" --quiet --basin idealised --resolution 60 --steps 127 \
		--hours 10 --output out "$@" && [ ! -e out ]
	ok $? "$what is refused: $(head -n 1 stderr)"
}

refuses 'an unknown planner' 'help' --checkpoint revolve:3
refuses 'a planner without a default for its number' 'multistage:SLOTS:STORE_SLOTS' --checkpoint multistage
refuses 'no states' 'from 1' --checkpoint binomial:0
refuses 'a number with a tail' 'binomial:SLOTS' --checkpoint binomial:3x
refuses 'a number too many' 'binomial:SLOTS' --checkpoint binomial:3:4
refuses 'a number for what has none' 'it is store-all' --checkpoint store-all:3
refuses 'more states than there are slots' 'more than 4,096' --checkpoint binomial:4097
refuses 'a sign' 'mixed:SLOTS:TAPE_STATES' --checkpoint mixed:-3:2
refuses 'states on a disk without a disk' 'spill' --checkpoint hierarchical:3:4
refuses 'a disk for a planner that uses none' 'leave it out' --checkpoint binomial:3 --spill .
refuses 'a directory that is not there' 'spill' --checkpoint hierarchical:3:4 --spill missing
refuses 'a segment without a plan' 'checkpoint' --segment 3
refuses 'an audit without a plan' 'checkpoint' --audit
refuses 'a tolerance without a plan' 'checkpoint' --tolerance 1e-6
refuses 'a tolerance in an audit' 'leave one' --tolerance 1e-6 --audit --checkpoint binomial:3
refuses 'digits without a plan' 'checkpoint' --digits 6
refuses 'digits for a tolerance' 'leave' --digits 6 --tolerance 1e-6 --checkpoint binomial:3
refuses 'digits in an audit' 'leave one' --digits 6 --audit --checkpoint binomial:3
refuses 'digits in a restart file' 'leave one' --digits 6 --restart file --checkpoint binomial:3
refuses 'more digits than a double has' 'from 1 to 12' --digits 13 --checkpoint binomial:3
refuses 'a look ahead without a plan' 'checkpoint' --look-ahead
refuses 'a look ahead in an audit' 'leave one' --look-ahead --audit --checkpoint binomial:3
refuses 'a look ahead of auto' 'another planner' --look-ahead --checkpoint auto
refuses 'a segment of no steps' 'segment' --checkpoint binomial:3 --segment 0
refuses 'a segment longer than the loop' 'steps' --checkpoint binomial:3 --segment 128
refuses 'a segment for a tape of another length' 'leave' --checkpoint mixed:9:4 --segment 3
refuses 'a budget for fewer states' 'fewer states' --checkpoint binomial:20 --budget 1M
refuses 'a budget that the tape of all steps exceeds' 'spill' --checkpoint store-all --budget 1M
refuses 'a budget of no step' 'larger' --checkpoint auto --budget 100K
refuses 'a budget for a shorter segment' 'shorter' --checkpoint auto --segment 20 --budget 1M
refuses 'a segment above the budget' 'shorter' --checkpoint binomial:3 --segment 100 --budget 2M
end
