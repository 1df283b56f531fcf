#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the patterns of OpenMP and the tests of its faults with several settings in OpenMP's environment, and with
# both runtimes: libgomp by gcc, libomp by clang.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -x "$BUILD_DIR/tests/omp/t-omp-patterns" ] || skip_all 'built without OpenMP'
long=${TEST_LONG-}
unset TEST_LONG

# passes WHAT PROGRAM [NAME=VALUE...]: one check, which passes if all checks of the program pass.
passes() {
	what=$1 program=$2
	shift 2
	env "$@" "$program" >checks_made 2>messages
	ok $? "$what, ${program##*/}${*:+, $*}: $(grep -c '^ok' checks_made) checks pass"
	grep '^not ok' checks_made | sed 's/^/#   /'
	sed -n '1,5s/^/#   /p' messages
}

# in_all_environments WHAT DIRECTORY: runs both programs. With these settings teams may be smaller than a region asks for.
in_all_environments() {
	for name in t-omp-patterns t-omp-faults; do
		passes "$1" "$2/$name" OMP_DYNAMIC=true
		[ -z "$long" ] || passes "$1" "$2/$name" OMP_THREAD_LIMIT=2
	done
	[ -n "$long" ] || return
	passes "$1" "$2/t-omp-patterns" OMP_THREAD_LIMIT=1
	passes "$1" "$2/t-omp-patterns" OMP_SCHEDULE=dynamic,3 OMP_PROC_BIND=close
	passes "$1" "$2/t-omp-patterns" OMP_SCHEDULE=guided OMP_CANCELLATION=true
	passes "$1" "$2/t-omp-patterns" OMP_SCHEDULE=static,5 REEL_CHECKED=1
}

in_all_environments 'this build' "$BUILD_DIR/tests/omp"

optimise='-O1 -g'
[ -n "$long" ] || optimise=-O0

# build_with COMPILER: compiles the programs and libreel-omp, and links them with libreel of this build.
build_with() {
	flags="$optimise -std=c11 -D_GNU_SOURCE -fopenmp -pthread -I$BUILD_DIR -I$SOURCE_DIR"
	for part in include lib tests; do
		flags="$flags -I$SOURCE_DIR/$part"
	done
	libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel -lm"
	mkdir library patterns
	(cd library && "$1" $flags -c "$SOURCE_DIR"/omp/[!v]*/*.c "$SOURCE_DIR/lib/os/os.c" \
		"$SOURCE_DIR/tests/tap/tap.c") &&
		(cd patterns && "$1" $flags -c "$SOURCE_DIR"/examples/omp/*.c) &&
		"$1" $flags "$SOURCE_DIR/tests/omp/t-omp-patterns.c" -o t-omp-patterns \
			patterns/*.o library/*.o $libraries &&
		"$1" $flags "$SOURCE_DIR/tests/omp/t-omp-faults.c" -o t-omp-faults \
			library/*.o $libraries &&
		"$1" $flags -Wl,--wrap=clock_gettime "$SOURCE_DIR/tests/omp/t-omp-cancel.c" -o t-omp-cancel \
			library/*.o $libraries
}

case "$($CC --version)" in *clang*) other=gcc ;; *) other=clang ;; esac
printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' >probe.c
case $CFLAGS in
*-fsanitize*) skip "$other: this build has a sanitizer" ;;
*)
	if "$other" -fopenmp probe.c -o probe 2>messages && ./probe; then
		build_with "$other" >messages 2>&1
		is_empty messages "$other builds libreel-omp and the patterns"
		passes "$other" ./t-omp-patterns
		passes "$other" ./t-omp-cancel
		in_all_environments "$other" .
	else
		skip "$other has no OpenMP here"
	fi
	;;
esac
end
