#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs PETSc's own examples with an adjoint (Debian: libpetsc3.18-dev-examples), with the options of their tests. The
# gradients are bitwise equal to the gradients of PETSc's type "memory" with stored stages.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/dropin/petsc.sh"

[ -n "$TEST_LONG" ] || skip_all 'it takes minutes; TEST_LONG=yes runs it'
find_builds
examples=$(ls -d /usr/share/petsc/*/share/petsc/examples/src/ts/tutorials 2>/dev/null | tail -n 1)
[ -d "$examples" ] || skip_all "PETSc's examples are not here; Debian: libpetsc3.18-dev-examples"

# tests_of FILE: prints a line for each test: "NUMBER OF RANKS|REQUIREMENTS|OPTIONS".
tests_of() {
	awk '
	function show() { if (is_test) print ranks "|" build " " requires "|" options; requires = options = ""; ranks = 1 }
	/^\/\*TEST/ { in_tests = 1; ranks = 1 }
	!in_tests { next }
	/^ *testset:/ { nested = 1 }
	/^ *test:/ { show(); is_test = 1 }
	/^TEST\*\// { show() }
	{ line = $0; sub(/^ *[a-z_]+ *: */, "", line) }
	/^ *requires *:/ { if (is_test) requires = line; else build = line }
	/^ *nsize *:/ { ranks = line }
	/^ *args *:/ { options = line }' "$1"
}

# without_trajectory OPTION...: sets $others to the options, without options of trajectories and of files for gradients.
without_trajectory() {
	others=
	while [ $# -gt 0 ]; do
		case $1 in
		-ts_trajectory_* | -ts_adjoint_view_solution | -ts_save_trajectory)
			case ${2-} in -[a-z]* | '') ;; *) shift ;; esac
			;;
		*) others="$others $1" ;;
		esac
		shift
	done
}

# with_reel OPTION...: sets $planned to the options, except those for another type, its planning software and its files.
with_reel() {
	planned=
	while [ $# -gt 0 ]; do
		case $1 in
		-ts_trajectory_type | -ts_trajectory_memory_type | -ts_trajectory_dirname | -ts_trajectory_file_template)
			shift
			;;
		*) planned="$planned $1" ;;
		esac
		shift
	done
}

# gradient FILE OPTION...: runs the example, and writes its last gradient to FILE.
gradient() {
	file=$directory/$1
	shift
	rm -f "$file"
	(cd "$home" && ulimit -c 0 && timeout -k 5 100 $MPIRUN $MPIRUN_FLAGS -n "$ranks" "$directory/program" \
		"$@" -ts_adjoint_view_solution "binary:$file" </dev/null) >out 2>&1
}

# is_wanted: succeeds if the gradient is equal, or differs for a known reason, and sets $remark to that reason. If an event
# switches the right-hand side, checkpoints are refused. If a solver has more state than the solution (an approximated
# Jacobian on several ranks), a repeated step has other last bits, also by PETSc itself.
is_wanted() {
	remark='' wrong=''
	cmp -s wanted seen && return
	remark=', a second-order adjoint from checkpoints, which is refused'
	grep -q 'second-order adjoint' out && return
	# PETSc's type "memory" does not keep tangents, so Newton's method takes other steps.
	remark=', with another Hessian than that of PETSc'
	case " $others " in *' -tao_type bntr '*) [ -s seen ] && return ;; esac
	remark=', which is told to be no function of the solution'
	grep -q 'step [0-9]* does not replay' out && return
	mv out first
	gradient replayed $others -ts_trajectory_type memory -ts_trajectory_solution_only
	mv first out
	remark=', as PETSc takes steps again'
	cmp -s replayed seen && return
	wrong=yes
	return 1
}

# hessian: a check that the Hessian of a second-order adjoint agrees with differences of gradients.
hessian() {
	compile_program "$examples/ex20opt_ic.c" -o program || return
	for method in beuler cn; do
		./program -ts_type $method -mu 100 -ts_dt 0.01 -tao_type bntr -tao_bnk_pc_type none -tao_max_it 2 \
			-tao_test_hessian -dll_append "$PWD/libreel-petsc.so" -ts_trajectory_type reel >out 2>&1
		awk -F'[=,]' '/H - Hfd/ { n++; wrong += $2 > 1e-5 } END { exit wrong || !n }' out
		ok $? "$name: ex20opt_ic, $method: the Hessian"
	done
}

directory=$PWD
for build in $builds; do
	name=$(name_of "$build")
	use_build "$build"
	compile_plugin
	ok $? "$name: the plug-in is compiled"
	case $name in *complex* | *64-*) ;; *) hessian ;; esac
	for source in $(grep -rl TSAdjointSolve "$examples" --include='*.c' | sort); do
		example=${source#"$examples"/}
		helper=
		case $example in *diffusion*/ex5*) helper=$(dirname "$source")/reaction_diffusion.c ;; esac
		compile_program "$source" $helper -o program || { skip "$name: $example cannot be compiled"; continue; }
		# Some examples read files in their folder.
		rm -rf home && cp -r "$(dirname "$source")" home
		home=$directory/home
		tests_of "$source" >tests
		while IFS='|' read -r ranks requires options; do
			case " $requires " in
			*cuda* | *colpack* | *adolc* | *parmetis* | *mumps* | *superlu*) continue ;;
			*' !complex '*) case $name in *complex*) continue ;; esac ;;
			esac
			case " $requires " in *PETSC_USE_64BIT_INDICES*) case $name in *64-*) continue ;; esac ;; esac
			without_trajectory $options
			gradient wanted $others -ts_trajectory_type memory -ts_trajectory_solution_only 0 ||
				gradient wanted $others -ts_trajectory_type basic -ts_trajectory_solution_only 0 || continue
			[ -s wanted ] || continue
			with_reel $options
			for more in "$planned" "$others" "$others -ts_trajectory_max_cps_ram 3" \
				"$others -ts_trajectory_max_cps_ram 2 -ts_trajectory_max_cps_disk 4"; do
				gradient seen -dll_append "$directory/libreel-petsc.so" $more -ts_trajectory_type reel
				is_wanted
				ok $? "$name: $example, $ranks ranks: $more$remark"
				[ -z "$wrong" ] || sed 's/^/#   /' out | head -n 12
			done
		done <tests
	done
done
end
