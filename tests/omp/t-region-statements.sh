#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests regions as statements in each language, by each compiler that is installed, with OpenMP and without.
. "$SOURCE_DIR/tests/tap/tap.sh"

case $CFLAGS in *-fsanitize*) skip_all 'the other compilers may have other sanitizers' ;; esac

flags="-Wall -Wextra -Wshadow -Wpedantic -Werror -I$SOURCE_DIR/include"
libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-omp -lreel"

# compile COMPILER LANGUAGE STANDARD FLAG FILE: compiles a program.
compile() {
	"$1" $flags -x "$2" "-std=$3" $4 "$5" -x none -o program $libraries >messages 2>&1
}

# runs COMPILER LANGUAGE STANDARD FLAG: one check, which passes if the program compiles and runs.
runs() {
	compile "$@" "$SOURCE_DIR/tests/omp/statements-program.c" &&
		OMP_NUM_THREADS=3 ./program >>messages 2>&1
	ok $? "$1, $3 $4"
	sed -n '1,5s/^/#   /p' messages
}

printf '#include <reel/region.h>\nint main(void)\n{\n\tREEL_PARALLEL((reel_lane *)0, lane) {\n\t\t(void)lane;\n\t\treturn 1;\n\t}\n\treturn 0;\n}\n' >returns.c

for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for openmp in -fopenmp ''; do
		printf '#include <stdio.h>\n#ifdef _OPENMP\n#include <omp.h>\n#endif\nint main(void) { return 0; }\n' >probe.c
		compile $compiler c c11 "$openmp" probe.c || continue
		runs $compiler c c11 "$openmp"
		runs $compiler c c17 "$openmp"
	done
	if compile $compiler c c11 -fopenmp probe.c; then
		compile $compiler c c11 -fopenmp returns.c
		ok $(($? == 0)) "$compiler: a return out of the statement does not compile"
	fi
done
for compiler in g++ clang++; do
	for standard in c++14 c++20; do
		compile $compiler c++ $standard -fopenmp probe.c && runs $compiler c++ $standard -fopenmp
		compile $compiler c++ $standard '' probe.c && runs $compiler c++ $standard ''
	done
done
end
