#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the tsunami within the limits of a batch job: the next run resumes a run that was asked to end, with the
# same bits, and a run whose control group has little memory is not killed.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/whole/example.sh"

tsunami=$TSUNAMI
[ -n "$tsunami" ] || skip_all 'the example is not built: libnetcdf or cairo is missing'

# run OPTION...: runs the tsunami on coarse cells.
run() {
	rm -rf out
	"$tsunami" --quiet --basin idealised --threads 1 --output out "$@" >stdout 2>stderr
}

# ---- Asked to end ----

# goes_on SECONDS OPTION...: asks each run to end after SECONDS, and resumes it by the next one, until one finishes.
goes_on() {
	after=$1 ends=0 status=75
	shift
	while [ $status -eq 75 ] && [ $ends -lt 1000 ]; do
		REEL_END_AFTER=$after run "$@" --restart file
		status=$?
		[ $status -ne 75 ] || ends=$((ends + 1))
		[ $status -ne 75 ] || [ -s file ] || status=1
	done
	return $status
}

short='--resolution 60 --steps 200 --hours 16'
mkdir spill
run $short && mv out reference
moments='0.01 0.03' planners='binomial:4 auto'
if [ -n "$TEST_LONG" ]; then
	moments=$(awk 'BEGIN { srand(1); for (k = 0; k < 25; k++) print 0.02 + 0.06 * rand() }')
	planners='binomial:4 binomial:1 online:5 auto'
	can_spill && planners="$planners hierarchical:2:5 auto+spill"
fi
total=0
for planner in $planners; do
	case $planner in
	hierarchical:2:5) options='--checkpoint hierarchical:2:5 --spill spill' ;;
	auto) options='--checkpoint auto --budget 1M' ;;
	auto+spill) options='--checkpoint auto --budget 1M --spill spill' ;;
	*) options="--checkpoint $planner" ;;
	esac
	rm -f file
	wrong=0 stopped=0
	for moment in $moments; do
		goes_on $moment $short $options &&
			cmp reference/gradient.nc out/gradient.nc || wrong=$((wrong + 1))
		[ ! -e file ] || wrong=$((wrong + 1))
		stopped=$((stopped + ends))
	done
	[ $wrong -eq 0 ]
	ok $? "$planner: $stopped runs that were asked to end were gone on with, to the same bits"
	total=$((total + stopped))
done
[ $total -gt 0 ]
ok $? 'one was asked to end in its sweeps'

REEL_END_AFTER=0.01 run $short --checkpoint binomial:4 --restart file
[ $? -eq 75 ] && [ "$(wc -l <stderr)" -eq 1 ] && grep -q 'goes on from file' stderr && [ ! -s out/gradient.nc ]
ok $? "status 75, and a line that names the file: $(cat stderr)"

# refuses WHAT REMEDY OPTION...: a check that the program refuses the options in one line with the remedy.
refuses() {
	what=$1 wanted=$2
	shift 2
	rm -rf out
	is_refused "$wanted" "$tsunami" --quiet --basin idealised --threads 1 --output out "$@"
	ok $? "$what is refused: $(head -n 1 stderr)"
}

refuses 'the file of another earthquake' 'another earthquake' $short --magnitude 8.5 \
	--checkpoint binomial:4 --restart file
refuses 'the file of another gauge' 'another earthquake, gauge' $short --gauge 15,-160 \
	--checkpoint binomial:4 --restart file
refuses 'the file of another plan' 'remove the file' $short --checkpoint binomial:3 --restart file
echo precious >mine
refuses 'a file of another kind' 'not a restart file' $short --checkpoint binomial:4 --restart mine
[ "$(cat mine)" = precious ]
ok $? 'a file of another kind stays as it is'
refuses 'a restart without a plan' 'checkpoint' --restart file
refuses 'a restart of tapes' 'binomial' --checkpoint store-all --restart file
refuses 'a restart of what looks ahead' 'leave one' --checkpoint binomial:4 --look-ahead --restart file
refuses 'a restart of several runs' 'leave one' --checkpoint binomial:4 --verify --restart file

[ -n "$TEST_LONG" ] || {
	end
	exit
}

# ---- In a control group ----

# make_group BYTES: makes a control group of version 1 or 2, below the group of this shell, with a limit of BYTES.
make_group() {
	group=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/reel-$$
	mkdir "$group" && echo "$1" >"$group/memory.limit_in_bytes" && return
	group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/reel-$$
	mkdir "$group" && echo "$1" >"$group/memory.max"
} 2>/dev/null

fine='--resolution 20 --steps 600 --hours 12'
if make_group $((256 << 20)) && "$tsunami" --quiet --basin idealised $fine --output out && mv out fine; then
	wrong=0
	for round in $(awk 'BEGIN { for (k = 1; k <= 100; k++) print k }'); do
		rm -rf out
		sh -c "echo \$\$ >$group/cgroup.procs && exec \"\$@\"" sh "$tsunami" --quiet \
			--basin idealised $fine --checkpoint auto --output out &&
			cmp fine/gradient.nc out/gradient.nc || wrong=$((wrong + 1))
	done
	[ $wrong -eq 0 ]
	ok $? "100 runs in a group of 256 MiB, whose tape would be larger: $wrong were killed or wrong"
	rmdir "$group"
else
	skip 'a control group with a limit: none can be made here'
fi
end
