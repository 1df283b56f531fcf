#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the program of examples/sedov: its gradient passes its own checks, and is equal with spilling, by a plan,
# and after a run that was asked to end is resumed. Bad input ends in one line.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

sedov=$SEDOV

# run OPTION...: runs a small blast.
run() {
	rm -rf out
	"$sedov" --quiet --size 5 --threads 2 --output out "$@" >stdout 2>stderr
}

run --verify
ok $? "the gradient verifies: $(cat stderr)"
[ "$(key taylor_decades)" -ge 2 ]
ok $? "the remainder falls as the square over $(key taylor_decades) decades"
[ "$(key steps) $(key origin_energy)" = '72 7.853665e+03' ]
ok $? 'the summary has the published steps and energy'
[ -s out/pressure.svg ] && [ -s out/sensitivity.svg ]
ok $? 'pictures are drawn'
mv out reference
# The format of the gradient depends on the build.
gradient=gradient.nc
[ -f reference/$gradient ] || gradient=gradient.bin
[ -s reference/$gradient ]
ok $? "the gradient is in $gradient"
if [ $gradient = gradient.nc ] && command -v ncdump >/dev/null; then
	[ "$(ncdump -v mesh_node,linear_viscosity reference/gradient.nc | grep -cE 'element = 125 ;|node = 216 ;| = -?[0-9.e+]+ ;')" -ge 3 ]
	ok $? "the gradient's file has the mesh, too"
else
	skip "the gradient's file has the mesh, too: no ncdump"
fi

run --threads 3 --budget 16M --spill . && cmp reference/$gradient out/$gradient
ok $? 'three threads and a budget give the same bits'
run --checkpoint online:8 && cmp reference/$gradient out/$gradient &&
	[ "$(key steps_run_again)" -gt 0 ]
ok $? 'a plan that is not told the number of steps gives the same bits'
run --checkpoint two-level:4:20 --spill . && cmp reference/$gradient out/$gradient &&
	[ "$(key spilled_bytes)" -gt 0 ]
ok $? 'a plan with states on the disk gives the same bits'

for option in '' '--spill .'; do
	run --checkpoint auto --budget 1M $option && cmp reference/$gradient out/$gradient
	ok $? "a plan that learns within 1M $option gives the same bits"
	[ "$(key peak_resident_bytes)" -le $((1 << 20)) ] &&
		[ $(($(key steps_run_again) + $(key spilled_bytes))) -gt 0 ]
	ok $? "and keeps the budget: $(key steps_run_again) steps again, $(key spilled_bytes) bytes spilled"
done
run --checkpoint auto && cmp reference/$gradient out/$gradient && [ "$(key steps_run_again)" -eq 0 ]
ok $? 'a plan that learns in the memory of the machine gives the same bits, and runs no step again'
run --budget 2M && cmp reference/$gradient out/$gradient && [ "$(key planner)" = '"auto"' ]
ok $? "tapes that exceed the budget give way to a plan that learns: $(key planner)"
if run --checkpoint binomial:6 --look-ahead; then
	cmp reference/$gradient out/$gradient
	ok $? 'segments that are recorded ahead give the same bits'
else
	grep -q 'without OpenMP' stderr
	ok $? 'there is no look-ahead without OpenMP'
fi

# has_digits DIGITS OPTION...: a check that --verify finds the error of a gradient of these digits below its bound, that the
# bound is as small as was asked for, and that states take up less than two thirds of their bytes.
has_digits() {
	digits=$1
	shift
	run --checkpoint binomial:6 --digits $digits --verify "$@" &&
		awk -v error="$(key error)" -v bound="$(key error_bound)" -v digits=$digits \
			'BEGIN { exit !(error > 0 && error <= bound && bound <= 10 ^ -digits) }'
	ok $? "$digits digits${*:+ with $*} are right: an error of $(key error), at most $(key error_bound)"
	[ $((3 * $(key kept_bytes))) -lt $((2 * $(key rounded_bytes))) ]
	ok $? "states take up $(key kept_bytes) of $(key rounded_bytes) bytes, at a tolerance of $(key tolerance)"
}
has_digits 4
has_digits 5 --frozen
run --checkpoint binomial:6 --tolerance 1e-9 && ! cmp -s reference/$gradient out/$gradient &&
	[ "$(key kept_bytes)" -lt $(($(key rounded_bytes) / 2)) ]
ok $? "a tolerance rounds states: $(key kept_bytes) of $(key rounded_bytes) bytes"
run --checkpoint binomial:6 --tolerance 0.4
[ $? -eq 2 ] && grep -q 'choose a smaller --tolerance, or more --digits' stderr
ok $? "states without a next step are reported: $(head -n 1 stderr)"

# Each run is asked to end after a moment and resumed by the next one, until one finishes.
for plan in binomial:4 'auto --budget 1M'; do
	ends=0 status=75
	while [ $status -eq 75 ] && [ $ends -lt 500 ]; do
		REEL_END_AFTER=0.02 run --checkpoint $plan --restart file
		status=$?
		[ $status -ne 75 ] || ends=$((ends + 1))
	done
	[ $status -eq 0 ] && cmp reference/$gradient out/$gradient && [ ! -e file ]
	ok $? "runs of $plan that were asked to end are gone on with, to the same bits: $ends"
done

# refuses WANTED OPTION...: a check that the program refuses the options before it computes the blast and draws a picture.
refuses() {
	wanted=$1
	shift
	run "$@"
	[ $? -eq 2 ] && [ "$(wc -l <stderr)" -eq 1 ] && grep -q -e "$wanted" stderr && [ ! -e out/pressure.svg ]
	ok $? "$*: $wanted"
}
refuses 'give a whole number from 1 to' --size 0
refuses 'give origin, kinetic or sensor' --objective mass
refuses 'there are elements 0 to 124' --sensor 125
refuses 'nothing goes there without a --budget' --spill .
refuses 'with --spill' --checkpoint two-level:4:20
refuses 'only a run with --checkpoint' --restart file
refuses 'with --checkpoint' --look-ahead
refuses 'fills the memory with one tape' --checkpoint auto --look-ahead
refuses 'not with --restart' --checkpoint binomial:6 --look-ahead --restart file
refuses 'give --checkpoint, too' --digits 4
refuses 'give --checkpoint, too' --tolerance 1e-6
refuses 'leave --tolerance out' --checkpoint binomial:6 --digits 4 --tolerance 1e-6
refuses 'leave one of them out' --checkpoint binomial:6 --digits 4 --restart file
refuses 'from 1 to 12' --checkpoint binomial:6 --digits 0
refuses 'too little for --checkpoint auto' --checkpoint auto --budget 16K
refuses 'choose a larger --budget' --budget 1K
for plan in '' '--checkpoint auto' '--checkpoint store-all' '--checkpoint two-level:4:20'; do
	refuses '--spill missing: no file can be made' $plan --budget 64M --spill missing
done
end
