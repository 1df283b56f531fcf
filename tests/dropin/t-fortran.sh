#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the module reel by programs in Fortran, and by the programs of its manual.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/fortran.sh"

grep -q '^#define FORTRAN_BINDING_HEADER' "$BUILD_DIR/config.h" || skip_all 'the Fortran module is not built'

programs=$SOURCE_DIR/tests/fortran-programs
flags="$FCFLAGS -std=f2018 -Wall -Wextra -Wno-compare-reals -Wno-function-elimination -Werror -I$BUILD_DIR/dropin/fortran"
libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-fortran -lreel"

for name in values arrays records places sweeps pieces; do
	builds $name -fcheck=all "$programs/checks.f90" "$programs/$name.f90" && runs $name
done

# gfortran's options that change the default kinds of variables.
for options in '' -fdefault-integer-8 '-fdefault-real-8 -fdefault-double-8' \
	'-fdefault-integer-8 -fdefault-real-8 -fdefault-double-8'; do
	if [ -n "$options" ] && ! $FC --version | grep -q '^GNU Fortran'; then
		skip "kinds $options: the compiler is not gfortran"
		continue
	fi
	builds "kinds$(echo "$options" | tr -d ' ')" $options -fcheck=all "$programs/checks.f90" "$programs/kinds.f90" &&
		runs "$name"
done

# Copies the manual's programs to manual.f90 and manual-2.f90.
awk '/^```fortran$/ { file = "manual" (count++ ? "-" count : "") ".f90"; next }
	/^```$/ { file = "" }
	file { print > file }' "$SOURCE_DIR/dropin/fortran/README.md"

libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-fortran-omp -lreel-omp -lreel-fortran -lreel"
case " $CFLAGS " in
*thread*) skip 'threads: ThreadSanitizer cannot see into OpenMP' ;;
*) builds manual-2 -fopenmp -Wconversion manual-2.f90 && for threads in 1 2 3; do
	OMP_NUM_THREADS=$threads REEL_CHECKED=1 ./manual-2 >seen 2>&1
	awk 'function f(a) { return a * sin(a * sin(1)) }
		BEGIN { h = 1e-5; printf "dx/da = %.6f\n", (f(.5 + h) - f(.5 - h)) / (2 * h) }' | diff - seen >difference
	is_empty difference "manual-2: $threads threads print what a difference gives"
done
builds regions -fopenmp -fcheck=all "$programs/checks.f90" "$programs/regions.f90" && runs regions
builds threads -fopenmp "$programs/checks.f90" "$programs/threads.f90" && runs threads ;;
esac

$CC $CFLAGS -std=c11 -I"$SOURCE_DIR/include" -c -o layout.o "$programs/layout.c" 2>messages
builds layout "$programs/checks.f90" "$programs/layout.f90" layout.o && runs layout

# Compares the gradient of the manual's first program with central differences.
builds manual manual.f90 && {
	./manual >seen 2>&1
	awk 'function f(a,  x, i) { x = 1; for (i = 0; i < 1000; i++) x = x + 0.01 * (a * sin(x) - x)
			return x * x }
		BEGIN { h = 1e-5; printf "%.6f\n", (f(1.5 + h) - f(1.5 - h)) / (2 * h) }' >wanted
	awk '{ printf "%.6f\n", $NF }' seen >given
	[ "$(sort -u given)" = "$(cat wanted)" ] && [ "$(wc -l <given)" -eq 2 ]
	ok $? 'manual: it prints the derivative that a difference gives, twice'
	sed 's/^/#   /' seen
}

end
