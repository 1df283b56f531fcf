#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the tsunami on ranks of MPI: the gradient is bitwise equal to the gradient of one process, in memory,
# spilled and by plans, for any number of ranks and threads. An error that all ranks find is one line.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

tsunami=$TSUNAMI
[ -n "$tsunami" ] || skip_all 'the example is not built: libnetcdf or cairo is missing'
[ -f "$BUILD_DIR/libreel-mpi.la" ] || skip_all 'built without MPI'
. "$SOURCE_DIR/tests/helpers/ranks.sh"

# on_ranks NUMBER OPTION...: runs a short simulation on coarse cells on ranks.
on_ranks() {
	number=$1
	shift
	rm -rf out
	timeout -k 5 120 $MPIRUN -n "$number" "$tsunami" --basin idealised --resolution 60 --steps 100 \
		--hours 8 --output out "$@" </dev/null >stdout 2>stderr
}

"$tsunami" --quiet --basin idealised --resolution 60 --steps 100 --hours 8 --threads 1 --output out
mv out reference
mkdir spill

teams='1 2'
on_ranks 1 --quiet --threads 2 --steps 2 --hours 0.1
if grep -q ': 1 can be had here' stderr; then
	skip 'two threads: built without OpenMP'
	teams=1
fi
kinds='memory spilled binomial two-level'
if ! can_spill; then
	skip 'what is spilled: there is no disk here'
	kinds='memory binomial'
fi
[ -z "$TEST_LONG" ] && numbers='2 3 4' || numbers='1 2 3 4 8'
for number in $numbers; do
	for threads in $teams; do
		# The short form has two threads, and spilling and plans, on one number of ranks each.
		[ -z "$TEST_LONG" ] && [ $threads = 2 ] && [ $number != 2 ] && continue
		[ -z "$TEST_LONG" ] && [ $number$threads != 31 ] && some=memory || some=$kinds
		[ $threads = 1 ] || some="$some look-ahead"
		for kind in $some; do
			case $kind in
			memory) options= ;;
			spilled) options='--checkpoint store-all --budget 1M --spill spill' ;;
			binomial) options='--checkpoint binomial:4 --audit' ;;
			two-level) options='--checkpoint two-level:3:6 --spill spill' ;;
			look-ahead) options='--checkpoint binomial:4 --look-ahead' ;;
			esac
			on_ranks $number --quiet --threads $threads $options &&
				cmp reference/gradient.nc out/gradient.nc
			ok $? "$number ranks, $threads threads each, $kind: the gradient is bitwise that of one process"
			case $kind in
			spilled)
				[ $number -eq 8 ] || [ "$(key tape_spilled_bytes)" -gt 0 ]
				ok $? "$(key tape_spilled_bytes) bytes are spilled"
				;;
			look-ahead)
				[ "$(key recorded_ahead)" -gt 0 ]
				ok $? "$(key recorded_ahead) segments are recorded ahead"
				;;
			esac
		done
	done
done
if can_spill; then
	fine='--resolution 30 --steps 160 --hours 7'
	"$tsunami" --quiet --basin idealised $fine --threads 1 --output fine
	on_ranks 2 --quiet --threads 1 $fine --budget 8M --spill spill &&
		cmp fine/gradient.nc out/gradient.nc
	ok $? 'two ranks that spill spans: the gradient is bitwise that of one process'
	[ "$(key tape_spilled_bytes)" -gt 0 ] && [ "$(key tape_resident_bytes)" -le $((2 * (8 << 20))) ]
	ok $? "within the budget of each: $(key tape_resident_bytes) bytes, $(key tape_spilled_bytes) spilled"
fi
[ -z "$(ls -A spill)" ]
ok $? 'nothing is left on the disk'

for options in '--checkpoint auto --audit' '--checkpoint auto --spill spill' ''; do
	can_spill || [ "${options% spill}" = "$options" ] || continue
	on_ranks 3 --quiet --threads 1 --budget 1M $options &&
		cmp reference/gradient.nc out/gradient.nc && [ "$(key planner)" = '"auto"' ]
	ok $? "a plan that three ranks learn gives the gradient ($options)"
	[ "$(key tape_resident_bytes)" -le $((3 * (1 << 20))) ] &&
		[ $(($(key advanced) + $(key tape_spilled_bytes))) -gt 0 ]
	ok $? "within 1M each: $(key advanced) steps again, $(key tape_spilled_bytes) bytes spilled"
done
[ -z "$(ls -A spill)" ]
ok $? 'nothing of it is left on the disk'

# Runs are asked to end after a moment, and resumed.
ends=0
for plan in binomial:4 'auto --budget 1M'; do
	for moment in 0.001 0.02; do
		restart="--quiet --threads 1 --checkpoint $plan --restart file"
		REEL_END_AFTER=$moment
		export REEL_END_AFTER
		on_ranks 2 $restart
		status=$?
		unset REEL_END_AFTER
		if [ $status -eq 75 ]; then
			ends=$((ends + 1))
			[ "$(cat stdout stderr | grep -c '^tsunami: ')" -eq 1 ] &&
				[ -n "$(ls file.0.*)" ] && [ -n "$(ls file.1.*)" ] &&
				on_ranks 2 $restart
			status=$?
		fi
		[ $status -eq 0 ] && cmp reference/gradient.nc out/gradient.nc
		ok $? "two ranks, $plan, that were asked to end after $moment s are gone on with, to the same bits"
	done
done
[ $ends -gt 0 ] && [ -z "$(ls file* 2>/dev/null)" ]
ok $? "$ends of them ended early, and their files are gone"

on_ranks 3 --threads 1 --verify
ok $? 'three ranks verify the gradient'
[ "$(grep -c '^Ranks  ' stdout)" -eq 1 ] && [ "$(grep -c '^Written to  ' stdout)" -eq 1 ]
ok $? 'three ranks speak with one voice'
awk '/"taylor_slope"/ { found = $2 + 0 >= 1.95 && $2 + 0 <= 2.05 } END { exit !found }' out/summary.json
ok $? "the Taylor remainder falls with slope 2: $(key taylor_slope)"

# is_refused_by_ranks NUMBER REMEDY WHAT OPTION...: a check that the program refuses the options in one line, besides the
# lines of mpirun.
is_refused_by_ranks() {
	number=$1 remedy=$2 what=$3
	shift 3
	on_ranks $number --quiet --threads 1 "$@"
	[ $? -eq 2 ] && [ "$(cat stdout stderr | grep -c '^tsunami: ')" -eq 1 ] &&
		grep -q "^tsunami: .*$remedy" stdout stderr && [ ! -e out ]
	ok $? "$what is refused in one line: $(grep -h '^tsunami: ' stdout stderr)"
}
is_refused_by_ranks 3 help 'an unknown option' --frequency 3
is_refused_by_ranks 3 'larger --budget' 'a budget that the states exceed' --checkpoint binomial:20 \
	--budget 300K
is_refused_by_ranks 5 'start fewer' 'a rank without rows for its neighbours' --region 160,170,0,8

# A cell falls dry on one rank, and all ranks stop.
relief=/usr/share/ferret-vis/data/etopo20.cdf
if [ -r $relief ]; then
	dry="--grid $relief --resolution 60 --magnitude 10 --min-depth 0.1 --hours 5 --quiet --threads 1"
	"$tsunami" $dry --output out 2>one
	for number in 2 3; do
		timeout -k 5 120 $MPIRUN -n $number "$tsunami" $dry --output out </dev/null >stdout 2>stderr
		[ $? -eq 2 ] && grep -h '^tsunami: ' stdout stderr | cmp - one
		ok $? "$number ranks say where a cell has fallen dry, as one process does: $(cat one)"
	done
else
	skip "a cell that falls dry: $relief is not installed"
fi

on_ranks 3 --quiet --threads 1 --checkpoint binomial:4 --digits 4 --verify &&
	awk -v error="$(key error)" -v bound="$(key error_bound)" \
		'BEGIN { exit !(error > 0 && error <= bound && bound <= 1e-4) }'
ok $? "three ranks find one tolerance for the digits: an error of $(key error), at most $(key error_bound)"

# One rank shows progress, each rank writes a trace, and one page is made of both traces.
export REEL_PROGRESS=1 REEL_TRACE=ranks.json
on_ranks 2 --quiet --threads 1 --checkpoint binomial:4
ok $? 'two ranks with a trace'
unset REEL_PROGRESS REEL_TRACE
[ "$(grep -c '^reel: 100 %' stderr)" -eq 1 ]
ok $? 'one of them shows how far they are'
set -- ranks*.json
[ $# -eq 2 ] && [ "$(grep -l '"name":"trace ends"' "$@" | wc -l)" -eq 2 ]
ok $? "each has a trace: $*"
for name in send receive 'send, reverse' 'receive, reverse' advance record reverse; do
	[ "$(grep -l "\"name\":\"$name\"" "$@" | wc -l)" -eq 2 ]
	ok $? "in both traces is what is called $name"
done
"$BUILD_DIR/tools/reel" report "$@" >/dev/null &&
	[ "$(grep -c '^<figure><figcaption>main thread of process' report.html)" -eq 2 ]
ok $? 'one page shows both'
end
