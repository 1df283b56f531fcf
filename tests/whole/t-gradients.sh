#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the examples with OpenMP: their gradients are right, and bitwise equal for all numbers of threads. The
# program itself compares them with other numbers of threads, with a serial adjoint, and with differences.
. "$SOURCE_DIR/tests/tap/tap.sh"

gradients=$GRADIENTS
[ -n "$gradients" ] || skip_all 'the examples are not built: there is no OpenMP'
! grep -q __tsan_ "$gradients" || skip_all 'the sanitizer cannot see into the runtime of OpenMP'

OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# runs PROGRAM EXAMPLE OPTION...: a check that the program prints one line, which has no mistake.
runs() {
	program=$1
	shift
	"$program" "$@" >out 2>err
	status=$?
	[ $status -eq 0 ] && [ "$(wc -l <out)" -eq 1 ] && grep -q '; right$' out && [ ! -s err ]
	ok $? "$*"
	[ $status -eq 0 ] || sed 's/^/#   /' out err
}

gradient() {
	sed -n 's/.*|gradient| \([^;]*\);.*/\1/p' out
}

# example NAME SIZE STEPS: runs a small problem whose parts have different sizes.
example() {
	for lanes in 1 2 7; do
		runs "$gradients" "$1" --size "$2" --steps "$3" --threads 2 --lanes $lanes
		first=$(gradient)
		runs "$gradients" "$1" --size "$2" --steps "$3" --threads 3 --reverse-threads 4 \
			--lanes $lanes
		[ -n "$first" ] && [ "$(gradient)" = "$first" ]
		ok $? "$1 of $lanes lanes has the same gradient for other threads"
	done
	runs "$gradients" "$1" --size 1 --steps 1 --threads 3
	REEL_CHECKED=1
	export REEL_CHECKED
	runs "$gradients" "$1" --size "$2" --steps 2 --threads 2 --lanes 3
	unset REEL_CHECKED
	[ -z "$TEST_LONG" ] || runs "$gradients" "$1" --threads 2
}

example burgers-1d 101 17
example burgers-2d 13 9
example mlp 9 3
example lorenz 11 60
example cholesky 3 3

"$gradients" --help >out
[ $? -eq 0 ] && grep -q -e '--reverse-threads N' out
ok $? '--help describes the options'
is_refused '--help' "$gradients" mlp --fast
ok $? 'an unknown option is refused'
is_refused '--help' "$gradients" mlp --lanes 0
ok $? 'no lanes are refused'
is_refused 'at most 31 (hidden layers)' "$gradients" mlp --steps 40
ok $? 'too large an example is refused, and told what is not'
is_refused '--help' "$gradients"
ok $? 'no example is refused'
is_refused '--help' "$gradients" sum
ok $? 'an unknown example is refused'

# Compiles the library and the examples by the other compiler, with its OpenMP, and runs them.
case $CC in
*clang*) other=gcc ;;
*) other=clang ;;
esac
if [ -z "$TEST_LONG" ]; then
	skip 'another compiler: in the long form'
elif grep -q __asan_ "$gradients" ||
	! echo 'int main(void) { return 0; }' | $other -fopenmp -x c - -o probe 2>err; then
	skip "another compiler: $other has no OpenMP here, or the library has a sanitizer"
else
	$other -std=gnu11 -O2 -fopenmp -ffp-contract=off -I"$BUILD_DIR" -I"$SOURCE_DIR" -I"$SOURCE_DIR/include" \
		-I"$SOURCE_DIR/lib" -I"$SOURCE_DIR/examples" "$SOURCE_DIR"/omp/[!v]*/*.c \
		"$SOURCE_DIR"/examples/gradients/*.c "$SOURCE_DIR/lib/os/os.c" \
		-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel -lm -o gradients 2>err
	ok $? "$other builds it"
	for name in burgers-1d burgers-2d mlp lorenz cholesky; do
		runs ./gradients $name --steps 3 --threads 2 --lanes 3
	done
fi
end
