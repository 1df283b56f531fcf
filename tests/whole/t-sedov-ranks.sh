#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the blast on ranks of MPI: the gradient is bitwise equal to the gradient of one process, in memory,
# spilled, by plans and after a restart. An error that all ranks find is one line.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

sedov=$SEDOV
[ -f "$BUILD_DIR/libreel-mpi.la" ] || skip_all 'built without MPI'
. "$SOURCE_DIR/tests/helpers/ranks.sh"

# on_ranks NUMBER OPTION...: runs the program on ranks.
on_ranks() {
	number=$1
	shift
	rm -rf out
	timeout -k 5 300 $MPIRUN -n "$number" "$sedov" --output out "$@" </dev/null >stdout 2>stderr
}

# one_process NAME OPTION...: computes the gradient NAME by one process.
one_process() {
	name=$1
	shift
	"$sedov" --quiet --threads 1 --output "$name" "$@"
}

# figures DIRECTORY: prints the figures of a run that do not depend on the ranks.
figures() {
	grep -E '"(steps|origin_energy|objective|value|by_[a-z_]*)":' "$1/summary.json"
}

# is_same NAME STATUS WHAT: a check that the last run, with this status, has the gradient and the figures of NAME.
is_same() {
	[ "$2" -eq 0 ] && cmp "$1/$gradient" "out/$gradient" && [ "$(figures out)" = "$(figures "$1")" ]
	ok $? "$3: the gradient is bitwise that of one process"
}

# The shock crosses the parts of all ranks, and elements of several ranks determine a time step together.
size=4
kinetic="--size $size --objective kinetic"
one_process kinetic $kinetic
gradient=gradient.nc
[ -f kinetic/$gradient ] || gradient=gradient.bin
on_ranks 8 $kinetic --threads 1
is_same kinetic $? '8 ranks, in memory'
[ "$(grep -c '^Blast  ' stdout)" -eq 1 ] && [ "$(key ranks)" -eq 8 ]
ok $? 'they speak with one voice'
cmp kinetic/pressure.svg out/pressure.svg && cmp kinetic/sensitivity.svg out/sensitivity.svg
ok $? 'ranks draw what one process draws'

# The default place of the sensor is not in the part of rank 0. Some states are on a disk.
sensor="--size $size --objective sensor"
one_process sensor $sensor
two_level='--checkpoint two-level:3:10 --spill .'
if ! can_spill; then
	skip 'states on a disk: there is none here'
	two_level='--checkpoint binomial:4'
fi

# restarts MOMENT OPTION...: asks a run to end after MOMENT seconds, and resumes it.
restarts() {
	REEL_END_AFTER=$1
	shift
	export REEL_END_AFTER
	on_ranks 8 --quiet $sensor --threads 2 "$@" --restart file
	status=$? moment=$REEL_END_AFTER
	unset REEL_END_AFTER
	what='came to the end before that'
	if [ $status -eq 75 ]; then
		what='are gone on with'
		[ "$(cat stdout stderr | grep -c '^sedov: ')" -eq 1 ] && [ -n "$(ls file.7.*)" ] &&
			on_ranks 8 --quiet $sensor --threads 2 "$@" --restart file
		status=$?
	fi
	is_same sensor $status "8 ranks with 2 threads each, $*, that were to end after $moment s $what"
	[ -z "$(ls file* 2>/dev/null)" ]
	ok $? "their files are gone; $(key spilled_bytes) bytes were spilled"
}
restarts 0.1 $two_level
restarts 0.1 --checkpoint auto --budget 1M

# is_refused_by_ranks NUMBER REMEDY OPTION...: a check that the program refuses the options in one line, besides the lines
# of mpirun.
is_refused_by_ranks() {
	number=$1 remedy=$2
	shift 2
	on_ranks "$number" --quiet --threads 1 "$@"
	[ $? -eq 2 ] && [ "$(cat stdout stderr | grep -c '^sedov: ')" -eq 1 ] &&
		grep -q "^sedov: .*$remedy" stdout stderr && [ ! -e out ]
	ok $? "$number ranks refuse $* in one line: $(grep -h '^sedov: ' stdout stderr)"
}
is_refused_by_ranks 2 'start 1, 8, 27' --size 6
is_refused_by_ranks 8 'a multiple of 2' --size 5
is_refused_by_ranks 2 'leave it out' --checkpoint binomial:3 --look-ahead

[ -n "$TEST_LONG" ] || end
for moment in 0.001 0.1 0.2 0.6 0.8; do
	restarts $moment $two_level
	restarts $moment --checkpoint auto --budget 1M
done
one_process frozen $kinetic --frozen
on_ranks 8 --quiet $kinetic --frozen --threads 1 --checkpoint auto
is_same frozen $? '8 ranks with a plan that learns, with frozen time steps'
one_process origin --size $size
on_ranks 8 --quiet --size $size --threads 1 --verify
is_same origin $? '8 ranks verify the gradient'
one_process small --size 3
on_ranks 27 --quiet --size 3 --threads 1
is_same small $? '27 ranks of an element each'
for scheme in store-all online:6 mixed:20:2 'multistage:3:4 --spill .' 'hierarchical:3:4 --spill .' \
	'disk-revolve:3 --spill .' 'periodic:3:10 --spill .'; do
	on_ranks 8 --quiet --size $size --threads 1 --checkpoint $scheme
	is_same origin $? "8 ranks, $scheme"
done
one_process spilled --size 14
on_ranks 8 --quiet --size 14 --threads 1 --budget 8M --spill .
is_same spilled $? '8 ranks that spill tapes'
[ "$(key spilled_bytes)" -gt 0 ]
ok $? "$(key spilled_bytes) bytes are spilled"
one_process learnt --size 8
for option in '' '--spill .'; do
	on_ranks 8 --quiet --size 8 --threads 1 --checkpoint auto --budget 1M $option
	is_same learnt $? "8 ranks with a plan that learns within 1M each $option"
	[ "$(key peak_resident_bytes)" -le $((8 * (1 << 20))) ] &&
		[ $(($(key steps_run_again) + $(key spilled_bytes))) -gt 0 ]
	ok $? "they keep the budget: $(key steps_run_again) steps again, $(key spilled_bytes) bytes spilled"
done
on_ranks 8 --quiet --size 8 --threads 1 --budget 2M
is_same learnt $? '8 ranks whose tapes exceed the budget'
[ "$(key planner)" = '"auto"' ]
ok $? "they take a plan that learns: $(key planner)"
one_process large --size 30 --checkpoint binomial:30
on_ranks 8 --quiet --size 30 --threads 1 --checkpoint binomial:30
is_same large $? '8 ranks of 15^3 elements each'
[ "$(key steps) $(key origin_energy)" = '932 2.025075e+05' ]
ok $? 'they have the published steps and energy'
end
