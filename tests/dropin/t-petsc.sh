#!/bin/sh
# SPDX-License-Identifier: MIT
# The trajectory for PETSc: gradients are the bytes of those of PETSc's type "memory" with stored stages,
# for each build of PETSc that is there (without TEST_LONG: the first one).
. "$SOURCE_DIR/tests/tap/tap.sh"

. "$SOURCE_DIR/tests/dropin/petsc.sh"
find_builds

# run RANKS OPTION...: the program, by whatever trajectory the options say.
run() {
	ranks=$1
	shift
	[ "$ranks" -eq 1 ] || set -- $MPIRUN $MPIRUN_FLAGS -n "$ranks" ./adjoint "$@"
	[ "$ranks" -ne 1 ] || set -- ./adjoint "$@"
	timeout -k 5 120 "$@" </dev/null >out 2>&1
}

# wanted RANKS OPTION...: by PETSc itself, with stored stages; for the calls of same() after it.
wanted() {
	program=$*
	run "$@" -output wanted -ts_trajectory_type memory -ts_trajectory_solution_only 0 && [ -s wanted ]
	ok $? "$name: PETSc itself, ranks and options: $program"
}

# same OPTION...: by Reel.
same() {
	rm -f seen
	run $program -output seen -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" &&
		cmp -s wanted seen
	ok $? "$name: $program: the same bytes by reel $*"
	[ -f seen ] && cmp -s wanted seen || sed 's/^/#   /' out | head -n 30
}

# refused TEXT OPTION...
refused() {
	text=$1
	shift
	! run 1 -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel "$@" && grep -q -e "$text" out
	ok $? "$name: refused, and told why: $*"
	grep -q -e "$text" out || sed 's/^/#   /' out | head -n 10
}

checkpoints() {
	same
	same -ts_trajectory_solution_only
	same -ts_trajectory_reel_budget 4M -ts_trajectory_reel_directory "$PWD"
	slots='1 5'
	[ -z "$TEST_LONG" ] || slots='1 2 5 60'
	for n in $slots; do
		same -ts_trajectory_max_cps_ram "$n"
	done
	same -ts_trajectory_max_units_ram 3 -ts_trajectory_reel_audit
	same -ts_trajectory_max_cps_ram 3 -ts_trajectory_max_cps_disk 4 -ts_trajectory_reel_directory "$PWD"
	same -ts_trajectory_stride 8 -ts_trajectory_max_cps_ram 3 -ts_trajectory_reel_directory "$PWD"
}

# python BUILD: the program of the manual, if petsc4py is for this build.
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

for build in $builds; do
	name=$(name_of "$build")
	use_build "$build"
	compile_plugin && compile_program "$SOURCE_DIR/tests/dropin/t-petsc-adjoint.c" -o adjoint
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
	wanted 2 -ts_rk_type 3bs -ts_adapt_type none -n 5
	checkpoints
	wanted 4 -ts_type cn -ts_adapt_type none -n 3
	checkpoints
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -solves 3
	checkpoints
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -pause 7
	checkpoints
	wanted 1 -ts_rk_type 5dp -ts_adapt_type none -clip
	checkpoints
	wanted 1 -ts_rk_type 4 -ts_adapt_type none -hand
	checkpoints
	wanted 1 -lookup -ts_trajectory_adjointmode 0 -ts_adapt_type basic
	same
	same -ts_trajectory_reel_budget 4M -ts_trajectory_reel_directory "$PWD"
	wanted 1 -ts_rk_type 5dp -bounce -ts_max_time 2
	checkpoints
	refused 'checkpoints are gone' -adjoints 2 -ts_adapt_type none -ts_trajectory_max_cps_ram 3
	refused 'adjointmode 0' -lookup -ts_trajectory_adjointmode 0 -ts_trajectory_max_cps_ram 3
	refused 'store-all and mixed' -ts_adapt_type none -ts_trajectory_max_cps_ram 3 \
		-ts_trajectory_reel_planner mixed
	refused 'a number of bytes' -ts_trajectory_reel_budget much
	python "$build"
	[ -n "$TEST_LONG" ] || break
done
end
