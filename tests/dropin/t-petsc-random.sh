#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs random programs for PETSc (t-petsc-random.c): with any options of Reel's trajectory gradients are bitwise equal to
# the gradients of PETSc's types that keep stages. Tests each installed build of PETSc (without TEST_LONG: the first one).
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/dropin/petsc.sh"
find_builds

# compared RANKS FIRST SEEDS: runs SEEDS programs from seed FIRST. TEST_SEEDS and TEST_SEED replace both.
compared() {
	ranks=$1 first=${TEST_SEED:-$2} seeds=${TEST_SEEDS:-$3}
	set -- ./random -dll_append "$PWD/libreel-petsc.so" -first "$first" -seeds "$seeds" -options_left no
	[ "$ranks" -eq 1 ] || set -- $MPIRUN $MPIRUN_FLAGS -n "$ranks" "$@"
	timeout -k 5 1000 "$@" </dev/null >out 2>&1 && ! grep -q 'PETSc itself fails' out
	ok $? "$name: $seeds programs from seed $first on, $ranks ranks: $(tail -n 1 out)"
	grep -v ' 0 wrong' out | sed 's/^/#   /' | head -n 20
	[ -z "$(ls restart* 2>/dev/null)" ] && ! grep -q 'was not' out
	ok $? "$name: no restart file is left, and each was written"
}

for build in $builds; do
	name=$(name_of "$build")
	use_build "$build"
	compile_plugin && compile_program "$SOURCE_DIR/tests/dropin/t-petsc-random.c" -o random
	ok $? "$name: the plug-in and the programs are compiled"
	[ -f random ] || break
	seeds=20
	[ -z "$TEST_LONG" ] || seeds=500
	# In program 65 the last stage of 5dp is not exactly at the end of a step, and the right-hand side depends on the time.
	compared 1 46 "$seeds"
	compared 2 1001 $((seeds / 4))
	[ -n "$TEST_LONG" ] || break
done
end
