#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the trajectory for PETSc: gradients are bitwise equal to the gradients of PETSc's type "memory" with stored
# stages. Tests each installed build of PETSc (without TEST_LONG: the first one).
. "$SOURCE_DIR/tests/tap/tap.sh"

. "$SOURCE_DIR/tests/dropin/petsc.sh"
find_builds

# run RANKS OPTION...: runs the program with the trajectory of the options.
run() {
	ranks=$1
	shift
	[ "$ranks" -eq 1 ] || set -- $MPIRUN $MPIRUN_FLAGS -n "$ranks" ./adjoint "$@"
	[ "$ranks" -ne 1 ] || set -- ./adjoint "$@"
	timeout -k 5 120 "$@" </dev/null >out 2>&1
}

# wanted RANKS OPTION...: computes the gradient by PETSc's own type, with stored stages, for later calls of same().
wanted() {
	program=$*
	run "$@" -output wanted -ts_trajectory_solution_only 0 -ts_trajectory_type ${reference:-memory} && [ -s wanted ]
	ok $? "$name: PETSc itself, ranks and options: $program"
}

# same OPTION...: a check that Reel's trajectory gives the same gradient.
same() {
	rm -f seen
	run $program -output seen -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" &&
		cmp -s wanted seen
	ok $? "$name: $program: the same bytes by reel $*"
	[ -f seen ] && cmp -s wanted seen || sed 's/^/#   /' out | head -n 30
}

# refused TEXT OPTION...: a check that the program fails with a message that has TEXT.
refused() {
	text=$1
	shift
	! run 1 -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" && grep -q -e "$text" out
	ok $? "$name: refused, and told why: $*"
	grep -q -e "$text" out || sed 's/^/#   /' out | head -n 10
}

# on_ranks OPTION...: prints the output of two ranks, one after the other.
on_ranks() {
	timeout -k 5 60 $MPIRUN $MPIRUN_FLAGS -n 2 ./ranks -ts_adapt_type none "$@" </dev/null >out 2>&1 &&
		grep '^rank' out | sort
}

# ranks: tests errors on one rank, and solutions that change their size on one rank.
ranks() {
	on_ranks -ts_trajectory_type basic -solves 3 -grow -30 >wanted
	set -- -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel
	for options in '' '-ts_trajectory_max_cps_ram 3' '-ts_rk_type 5dp -ts_trajectory_solution_only'; do
		case $options in *5dp*) on_ranks -ts_trajectory_type basic -solves 3 -grow -30 -ts_rk_type 5dp >wanted ;; esac
		on_ranks "$@" -solves 3 -grow -30 $options >seen && [ -s wanted ] && cmp -s wanted seen
		ok $? "$name: solutions of three sizes: $options"
	done
	printf '%s\n' 'rank 0: error' 'rank 0: error' 'rank 1: error' 'rank 1: error' >wanted
	REEL_SPILL_DIR=$PWD on_ranks "$@" -solves 2 -lost -ts_trajectory_max_cps_ram 2 -ts_trajectory_max_cps_disk 3 >seen
	cmp -s wanted seen
	ok $? "$name: a rank has no directory, and the program goes on"
	on_ranks "$@" -solves 2 -broken -local 200000 -ts_trajectory_reel_budget 8M -ts_trajectory_reel_directory "$PWD" >seen
	cmp -s wanted seen
	ok $? "$name: a rank cannot read its file, and the program goes on"
}

# in_turn NUMBER OPTION...: calls same(). In the short form, each call of checkpoints() makes one of five calls, in turn.
turn=0
in_turn() {
	number=$1
	shift
	[ -z "$TEST_LONG" ] && [ $((turn % 5)) -ne "$number" ] || same "$@"
}

checkpoints() {
	same
	same -ts_trajectory_solution_only
	same -ts_trajectory_max_cps_ram 5
	same -ts_trajectory_reel_budget 4M
	[ -z "$TEST_LONG" ] || for n in 2 60; do
		same -ts_trajectory_max_cps_ram "$n"
	done
	in_turn 0 -ts_trajectory_max_cps_ram 1
	in_turn 1 -ts_trajectory_max_cps_ram 3 -ts_trajectory_max_cps_disk 4 -ts_trajectory_reel_directory "$PWD"
	in_turn 2 -ts_trajectory_stride 8 -ts_trajectory_max_cps_ram 3 -ts_trajectory_reel_directory "$PWD"
	in_turn 3 -ts_trajectory_max_units_ram 3 -ts_trajectory_reel_audit
	in_turn 4 -ts_trajectory_reel_budget 4M -ts_trajectory_reel_directory "$PWD"
	turn=$((turn + 1))
}

# predicted PLAN-OPTIONS OPTION...: a check that the plan has the counts that `reel plan` prints.
predicted() {
	plan=$1
	shift
	run $program -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel -ts_trajectory_view \
		-ts_trajectory_reel_directory "$PWD" "$@" &&
		sed -nE 's/^ *plan: ([a-z-]*),.*/planner \1/p
			s/^ *checkpoints were stored ([0-9]+) and loaded ([0-9]+) times, on disk ([0-9]+) and ([0-9]+)$/\1 \2 \3 \4/p' out >seen
	"$BUILD_DIR/tools/reel" plan --steps "$(sed -nE 's/^ *steps: ([0-9]+)$/\1/p' out)" $plan | awk '
		{ count[$1] = $2 }
		END { print "planner", count["planner:"]
			print count["memory_stores:"] + count["disk_stores:"], count["memory_loads:"] + count["disk_loads:"], \
				count["disk_stores:"] + 0, count["disk_loads:"] + 0 }' >expected
	cmp -s expected seen
	ok $? "$name: reel plan $plan predicts what runs by $*"
	diff expected seen | sed 's/^/#   /'
}

# resumed OPTION...: checks that a killed program resumes its run. Kills it in both sweeps, first before step $killed. The
# short form kills it between the sweeps, and at one of the other places, another one in each call.
resumed() {
	set -- "$@" -ts_trajectory_reel_restart "$PWD/restart" -ts_trajectory_reel_restart_seconds 1e-9
	turn=$((turn + 1)) place=0
	for kill in "-kill ${killed:=20}" '-kill_adjoint 45' '-kill_adjoint 5' '-kill_adjoint 9999'; do
		place=$((place + 1))
		[ -z "$TEST_LONG" ] && [ $place -ne 4 ] && [ $place -ne $((turn % 3 + 1)) ] && continue
		rm -f seen restart*
		! run $program -output seen -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" $kill &&
			[ -n "$(ls restart* 2>/dev/null)" ] && rm -f seen &&
			run $program -output seen -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" \
				-ts_trajectory_monitor && grep -q 'Reel: resumes' out && cmp -s wanted seen
		ok $? "$name: $program: the same bytes where it was killed, $kill, and started again: $1 $2 $3 $4"
		[ -f seen ] && cmp -s wanted seen || sed 's/^/#   /' out | head -n 20
		[ -z "$(ls restart* 2>/dev/null)" ]
		ok $? "$name: and no file is left"
	done
}

# restarts: calls resumed() for several methods.
restarts() {
	for method in 'rk -ts_rk_type 4 -ts_adapt_type none' 'rk -ts_rk_type 3bs -ts_adapt_type none' \
		'rk -ts_rk_type 5dp -ts_adapt_type basic -ts_max_time 9' 'cn -ts_adapt_type none' \
		'rk -ts_rk_type 5dp -ts_adapt_type none -clip' 'rk -ts_adapt_type none -integral forward' \
		'rk -ts_adapt_type none -integral reverse'; do
		wanted 1 -ts_type $method
		resumed -ts_trajectory_max_cps_ram 4
		resumed -ts_trajectory_reel_planner auto:4
		resumed -ts_trajectory_max_cps_ram 2 -ts_trajectory_max_cps_disk 4 -ts_trajectory_reel_directory "$PWD"
	done
	wanted 2 -ts_rk_type 3bs -ts_adapt_type none -n 5
	resumed -ts_trajectory_max_cps_ram 4
	# The TS takes fewer steps than planned: the program ends it, or 0.07 / 0.01 is rounded to a number above 7.
	reference=basic
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -end 20
	resumed -ts_trajectory_max_cps_ram 4
	reference=
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -ts_max_time 0.07
	killed=5
	resumed -ts_trajectory_max_cps_ram 2
	killed=20
	set -- -ts_adapt_type none -ts_trajectory_max_cps_ram 4 -ts_trajectory_reel_restart "$PWD/restart" \
		-ts_trajectory_reel_restart_seconds 1e-9
	mkdir -p earlier && cp "$SOURCE_DIR"/dropin/petsc/*.[ch] earlier && sed -i 's/ 2 << 16/ 1 << 16/' earlier/restart.c &&
		compile_plugin earlier &&
		run 1 -dll_append "$PWD/earlier/libreel-petsc.so" -ts_trajectory_type reel "$@" -kill_adjoint 20
	refused 'an earlier version' "$@"
	rm -f restart*
	run 1 -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" -kill_adjoint 20
	refused 'began with another solution' "$@" -mu 2
	refused 'belongs to another plan' "$@" -ts_trajectory_max_cps_ram 5
	refused 'another integral' "$@" -integral reverse
	refused 'in several parts' "$@" -pause 2
	rm -f restart*
	refused 'a TS with events' "$@" -bounce
	refused 'a time span' "$@" -ts_time_span 0,0.2,0.5
	refused 'goes on from checkpoints' -ts_trajectory_reel_restart "$PWD/restart"
}

# python BUILD: runs the manual's program in Python, if petsc4py is for this build.
python() {
	home=$(/usr/bin/python3 -c 'import petsc4py; print(petsc4py.get_config()["PETSC_DIR"])' 2>/dev/null)
	[ "$home/lib/pkgconfig/petsc.pc" = "$1" ] || return
	awk '/^```python$/ { shown = 1; next } /^```/ { shown = 0 } shown' "$SOURCE_DIR/dropin/petsc/README.md" >model.py
	/usr/bin/python3 model.py -ts_adapt_type none -ts_trajectory_type memory >wanted 2>out
	/usr/bin/python3 model.py -ts_adapt_type none -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel \
		-ts_trajectory_max_cps_ram 10 >seen 2>>out && [ -s wanted ] && cmp -s wanted seen
	ok $? "$name: petsc4py, the program of the manual"
	cmp -s wanted seen || sed 's/^/#   /' out | head -n 20
}

# Calls find_builds as bench/petsc.sh does. The function `ls` imitates a machine with one build, or with none below
# /usr/lib.
for there in "$default" ''; do
	(
		set -e
		ls() {
			echo "$there"
		}
		find_builds
		[ "${builds%% *}" = "$default" ]
	)
	ok $? "a script that ends at the first error finds one build: ${there:-elsewhere}"
done

# If make leaves a file out of the plug-in, its functions are undefined when PETSc loads it.
built=$BUILD_DIR/.libs/libreel-petsc.so
if [ -f "$built" ]; then
	undefined=$(nm -D --undefined-only "$built" | grep -c ' reel_petsc_')
	ok "$undefined" 'the plug-in that make builds has all of its files'
fi

for build in $builds; do
	name=$(name_of "$build")
	use_build "$build"
	compile_plugin && compile_program "$SOURCE_DIR/tests/dropin/t-petsc-adjoint.c" -o adjoint &&
		compile_program "$SOURCE_DIR/tests/dropin/t-petsc-ranks.c" -o ranks
	ok $? "$name: the plug-in and a program are compiled"
	[ -f adjoint ] || break
	for method in 'rk -ts_rk_type 4' 'rk -ts_rk_type 3bs' 'rk -ts_rk_type 5dp' beuler cn \
		'theta -ts_theta_theta 0.7'; do
		wanted 1 -ts_type $method -ts_adapt_type none
		checkpoints
	done
	for method in 'rk -ts_rk_type 3bs' 'rk -ts_rk_type 5dp' cn; do
		wanted 1 -ts_type $method -ts_adapt_type basic
		checkpoints
	done
	# These methods reject some attempts.
	for method in 'rk -ts_rk_type 3bs' 'rk -ts_rk_type 5dp' 'cn -ts_theta_adapt'; do
		wanted 1 -ts_type $method -ts_adapt_type basic -ts_max_time 9
		checkpoints
	done
	# A step fails, and the program runs its adjoint from the last step that succeeded.
	set -- -ts_adapt_type basic -ts_rtol 1e-4 -ts_atol 1e-4 -ts_max_time 9
	wanted 1 "$@" -ts_max_steps 17
	program="1 $* -ts_max_reject 0 -ts_error_if_step_fails 0"
	checkpoints
	wanted 2 -ts_rk_type 3bs -ts_adapt_type none -n 5
	checkpoints
	wanted 4 -ts_type cn -ts_adapt_type none -n 3
	checkpoints
	wanted 8 -ts_rk_type 3bs -ts_adapt_type basic -n 9
	same
	same -ts_trajectory_max_cps_ram 4
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -solves 3
	checkpoints
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -pause 7
	checkpoints
	wanted 1 -ts_rk_type 5dp -ts_time_span 0,0.1,0.17,0.3,0.5
	checkpoints
	wanted 1 -ts_rk_type 5dp -ts_adapt_type none -clip
	checkpoints
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -hand
	checkpoints
	reference=basic
	wanted 1 -lookup -ts_adapt_type none -first
	same
	reference=
	wanted 1 -lookup -ts_trajectory_adjointmode 0 -ts_adapt_type basic
	same
	same -ts_trajectory_reel_budget 4M -ts_trajectory_reel_directory "$PWD"
	wanted 1 -ts_adapt_type none -clone
	same
	same -ts_trajectory_max_cps_ram 5
	# The trajectory is set up with another type first, or with other options.
	wanted 1 -ts_adapt_type none -solves 2
	for slots in '' '-ts_trajectory_max_cps_ram 3'; do
		same -later 5 -ts_trajectory_view $slots
		grep -q 'plan: binomial, 5 checkpoints' out
		ok $? "$name: and by 5 checkpoints, set after a solve with others: $slots"
	done
	program="$program -switch"
	checkpoints
	run $program -output seen -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel \
		-ts_trajectory_max_cps_ram 3 -ts_trajectory_view && grep -q 'plan: binomial, 3 checkpoints' out
	ok $? "$name: checkpoints, after another type"
	for method in 'rk -ts_rk_type 3bs' 'rk -ts_rk_type 5dp' 'cn -ts_adapt_type none'; do
		wanted 1 -ts_type $method -bounce -ts_max_time 6
		checkpoints
	done
	# PETSc's type "memory" fails in these programs: it crashes, has one more step, or uses the numbers that the program
	# has written to its vector.
	reference=basic
	for program in '-ts_rk_type 3bs -halt 20' '-ts_type cn -halt 20' '-ts_adapt_type basic -halt 8' \
		'-ts_type cn -spoil' '-ts_type cn -clip' '-ts_rk_type 4 -clip -end 20'; do
		wanted 1 -ts_adapt_type none $program
		checkpoints
	done
	for adapt in none basic; do
		wanted 1 -ts_adapt_type $adapt -retry 5
		same
		same -ts_trajectory_solution_only
	done
	reference=
	wanted 1 -ts_type cn -ts_adapt_type none -snes_lag_jacobian 2
	checkpoints
	for options in '-forget 2' '-forget 3.000000001 -ts_trajectory_reel_audit'; do
		refused 'does not replay' -ts_adapt_type none -ts_trajectory_solution_only $options
	done
	restarts
	ranks
	refused 'checkpoints are gone' -adjoints 2 -ts_adapt_type none -ts_trajectory_max_cps_ram 3
	refused 'is looked up' -lookup -ts_trajectory_max_cps_ram 3
	refused 'adjointmode 0' -lookup -ts_trajectory_adjointmode 0 -ts_trajectory_max_cps_ram 3
	refused 'store-all and mixed' -ts_adapt_type none -ts_trajectory_max_cps_ram 3 \
		-ts_trajectory_reel_planner mixed
	wanted 1 -ts_adapt_type none
	same -ts_trajectory_stride 100000 -ts_trajectory_reel_directory "$PWD"
	predicted '--slots 5' -ts_trajectory_max_cps_ram 5
	predicted '--slots 3 --disk-slots 4' -ts_trajectory_max_cps_ram 3 -ts_trajectory_max_cps_disk 4
	predicted '--slots 3 --disk-slots 1000000 --period 8' -ts_trajectory_max_cps_ram 3 -ts_trajectory_stride 8
	for plan in binomial binomial:7 multistage:2:6 hierarchical:2:5 two-level:3:10 periodic:3:7 disk-revolve:3 all; do
		predicted "--planner $plan" -ts_trajectory_reel_planner $plan
	done
	refused 'there is no such planner' -ts_trajectory_reel_planner nosuch
	refused 'name the planner alone' -ts_adapt_type none -ts_trajectory_max_cps_ram 3 -ts_trajectory_reel_planner binomial:4
	refused 'reel_budget.* budget "much": it must be bytes' -ts_trajectory_reel_budget much
	refused 'reel_budget.* room for one slab' -ts_trajectory_reel_budget 1
	refused 'reel_store.* store "tape" is not' -ts_trajectory_reel_store tape
	for option in 'max_cps_ram -2' 'max_cps_disk -2' 'stride -3' 'reel_restart_seconds -1'; do
		refused "-ts_trajectory_${option% *} is" -ts_trajectory_$option
	done
	refused 'first tier is -ts_trajectory_max_cps_ram 0,' -ts_trajectory_max_cps_ram 0
	for planner in disk-revolve two-level periodic; do
		refused "second one -ts_trajectory_max_cps_disk -1 .* by -ts_trajectory_reel_planner $planner" \
			-ts_adapt_type none -ts_trajectory_max_cps_ram 3 -ts_trajectory_reel_planner $planner
	done
	python "$build"
	[ -n "$TEST_LONG" ] || break
done
end
