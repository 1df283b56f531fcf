#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the program of examples/tsunami: its gradient is right and equal for any number of threads, and bad
# input ends in one line with a remedy.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

tsunami=$TSUNAMI
relief=/usr/share/ferret-vis/data/etopo20.cdf
[ -n "$tsunami" ] || skip_all 'the example is not built: libnetcdf or cairo is missing'

# is_within NAME LEAST MOST: succeeds if the value of NAME in the summary is between both numbers.
is_within() {
	key "$1" | awk -v least="$2" -v most="$3" '{ found = $1 + 0 >= least && $1 + 0 <= most }
		END { exit !found }'
}

run() {
	rm -rf out
	"$tsunami" --quiet --output out "$@" >stdout 2>stderr
}

run --basin idealised --verify
ok $? 'the idealised basin runs and verifies'
is_within taylor_slope 1.95 2.05
ok $? "the Taylor remainder falls with slope 2: $(key taylor_slope)"
is_within dot_product_error 0 1e-12
ok $? "the dot-product test holds: $(key dot_product_error)"
for name in gauge_arrival_hours objective gradient_norm steps cells threads tape_bytes \
	peak_resident_bytes forward_seconds reverse_seconds adjoint_over_primal stalls; do
	[ -n "$(key $name)" ]
	ok $? "summary.json has $name: $(key $name)"
done
least=$((24 * $(key cells) * ($(key steps) + 1)))
is_within tape_bytes $least $((least * 106 / 100))
ok $? "the tape holds the states, 24 bytes per cell and step, and their rims: $(key tape_bytes)"
for picture in sensitivity.png gauge.png; do
	[ "$(dd if=out/$picture bs=1 skip=1 count=3 2>/dev/null)" = PNG ]
	ok $? "$picture is a picture"
done
[ -z "$(find out -name '.*' -type f)" ]
ok $? 'nothing half written is left'

teams='2 3 8' reverse_teams='1 2 5'
[ -n "$TEST_LONG" ] || teams=8 reverse_teams=2
run --basin idealised --threads 1 --hours 5 && mv out out-1
for threads in $reverse_teams; do
	run --basin idealised --threads 3 --reverse-threads $threads --hours 5
	if grep -q ': 1 can be had here' stderr; then
		skip "the lanes of 3 threads, reversed by $threads: built without OpenMP"
	else
		cmp out-1/gradient.nc out/gradient.nc
		ok $? "the lanes of 3 threads are reversed by $threads, to the same bits"
	fi
done
for threads in $teams; do
	run --basin idealised --threads $threads --hours 5 && mv out out-$threads
	if grep -q ': 1 can be had here' stderr; then
		skip "the gradient of $threads threads: built without OpenMP"
	else
		cmp out-1/gradient.nc out-$threads/gradient.nc
		ok $? "the gradient of $threads threads is bitwise that of one"
	fi
done

# The tape is eight times the budget.
mkdir spill
run --basin idealised --threads 1 --hours 20 && mv out out-20
run --basin idealised --threads 1 --hours 20 --budget 13M --spill spill
if grep -q 'kept in memory' stderr; then
	skip 'a tape that spills: there is no disk here'
else
	cmp out-20/gradient.nc out/gradient.nc
	ok $? 'the gradient of a tape that spills is bitwise that of one in memory'
	is_within tape_resident_bytes 1 $((13 << 20))
	ok $? "its tapes stayed within the budget: $(key tape_resident_bytes)"
	[ "$(key tape_bytes)" -ge $((8 * $(key tape_resident_bytes))) ] &&
		[ "$(key tape_spilled_bytes)" -ge $(($(key tape_bytes) - (13 << 20))) ]
	ok $? "what exceeds it was spilled: $(key tape_spilled_bytes)"
	[ -z "$(ls -A spill)" ]
	ok $? 'nothing is left of what was spilled'
fi

run --basin idealised --threads 1 --hours 20 --budget 13M && cmp out-20/gradient.nc out/gradient.nc
ok $? 'a tape that exceeds the budget gives way to a plan that learns, which gives the same bits'
[ "$(key planner)" = '"auto"' ] && is_within tape_resident_bytes 1 $((13 << 20)) &&
	[ "$(key advanced)" -gt 0 ]
ok $? "within the budget: $(key tape_resident_bytes) bytes, $(key advanced) steps again"

if [ -r $relief ]; then
	run --resolution 60 --grid $relief
	ok $? 'the Pacific runs'
	is_within gauge_arrival_hours 7 8.5
	ok $? "the wave of 2011 reaches Hilo when it did: $(key gauge_arrival_hours) h"
else
	skip "the Pacific: $relief is not installed"
fi

# refuses WHAT REMEDY OPTION...: a check that the program refuses the options in one line with the remedy.
refuses() {
	what=$1 wanted=$2
	shift 2
	rm -rf out
	is_refused "$wanted" "$tsunami" --quiet --output out "$@" && [ ! -e out ]
	ok $? "$what is refused: $(head -n 1 stderr)"
}

echo 'no NetCDF' >text
refuses 'an unknown option' 'help' --basin idealised --frequency 3
refuses 'a missing file' 'ferret-datasets' --grid missing.cdf
refuses 'a foreign file' 'NetCDF' --grid text
refuses 'a gauge on land' 'in the sea' --basin idealised --gauge 34.8,160.2
refuses 'a region without water' 'water' --region 80,100,35,47 --resolution 60
refuses 'a budget of one byte' 'budget' --basin idealised --budget 1
refuses 'a budget that is no number' 'budget' --basin idealised --budget 4Z
refuses 'threads to reverse a tape that exceeds the budget' 'spill' --basin idealised --budget 4M \
	--reverse-threads 2
refuses 'a directory to spill to without a budget' 'budget' --basin idealised --spill .
refuses 'a directory to spill to that is not there' 'spill' --basin idealised --budget 64M \
	--spill missing
refuses 'no thread' 'threads' --basin idealised --threads 0
refuses 'threads to reverse, and a plan' 'leave it out' --basin idealised --reverse-threads 2 \
	--checkpoint binomial:5
refuses 'a device that is none' 'cpu or cuda' --basin idealised --device gpu
refuses 'a device and threads to reverse' 'leave it out' --basin idealised --device cuda \
	--reverse-threads 2
refuses 'a device and threads that look ahead' 'leave it out' --basin idealised --device cuda \
	--checkpoint binomial:4 --look-ahead
refuses 'a device and a plan that weighs tapes against states' 'name a planner' --basin idealised \
	--device cuda --checkpoint auto
refuses 'a device and tapes in the place of states' 'binomial' --basin idealised --device cuda \
	--checkpoint mixed:4:2
# The option is refused in builds without CUDA, and on machines without a GPU. With a GPU the gradient is bitwise equal.
run --basin idealised --threads 1 --hours 5 --device cuda
if [ -e out ]; then
	cmp out-1/gradient.nc out/gradient.nc
	ok $? 'the gradient of a GPU is bitwise that of one thread'
else
	refuses 'a device that is not there' 'with-cuda\|device cpu' --basin idealised --device cuda
fi
run --basin idealised --threads 1 --hours 5 --device cpu
cmp out-1/gradient.nc out/gradient.nc
ok $? 'the device cpu is what is taken without a name'
refuses 'a number with a tail' 'hours' --basin idealised --hours 3x
end
