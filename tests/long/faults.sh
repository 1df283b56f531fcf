#!/bin/sh
# SPDX-License-Identifier: MIT
# faults.sh [--results]: lets each request of a whole program to the system fail, once and then for ever
# (tests/whole/t-gradient-faults.c). Then libfiu (Debian: fiu-utils) lets calls of an unchanged program fail at
# random. $BUILD_DIR (build/main) has the programs. $FAULTS_RUNS (200) is the number of gradients for each call
# of libfiu.
cd "$(dirname "$0")/../.." || exit
. tests/results.sh

build=$(cd "${BUILD_DIR:-build/main}" && pwd) || exit
runs=${FAULTS_RUNS:-200}
failed=0
log=$(mktemp) || exit
directory=$(mktemp -d) || exit
trap 'rm -rf "$log" "$directory"' EXIT
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# sum_of WORD: prints the sum of the numbers before WORD in the log.
sum_of() {
	sed -n "s/^ok .* \([0-9]*\) $1.*/\1/p" "$log" | awk '{ sum += $1 } END { print sum + 0 }'
}

GRADIENT_FAULTS=all "$build/tests/whole/t-gradient-faults" >"$log" 2>&1 || {
	failed=1
	grep -v '^ok' "$log"
}
result sweeps "$(grep -c '^ok .* places' "$log")"
result sweep_places "$(sum_of places)"
result sweep_errors "$(sum_of errors)"

# under_libfiu PROBABILITY CALL...: runs the program once for each call, which fails with this probability.
under_libfiu() {
	probability=$1
	shift
	for call; do
		(cd "$directory" && GRADIENT_RUNS=$runs timeout 300 fiu-run -x \
			-c "enable_random name=$call,probability=$probability" \
			"$build/tests/whole/t-gradient-process") >"$log" 2>&1 || {
			failed=1
			echo "not ok - libfiu: $call"
			tail -n 5 "$log"
		}
		name=$(echo "$call" | sed 's|^[a-z]*/||; s|[^a-z]|_|g')
		result "libfiu_${name}_runs" "$(sed -n 's/^# runs \([0-9]*\) .*/\1/p' "$log")"
		result "libfiu_${name}_errors" "$(sed -n 's/^# runs .* errors \([0-9]*\)$/\1/p' "$log")"
	done
}

if command -v fiu-run >/dev/null; then
	under_libfiu 0.02 posix/io/rw/pwritev posix/io/rw/pwritev/reduce posix/io/rw/preadv \
		posix/io/rw/preadv/reduce posix/mm/mmap posix/mm/munmap posix/mm/madvise \
		posix/io/sync/fsync posix/io/oc/open posix/io/dir/rename posix/io/dir/unlink
	under_libfiu 0.002 libc/mm/malloc libc/mm/calloc libc/mm/realloc
else
	echo '# libfiu is skipped: there is no fiu-run (Debian: fiu-utils)'
fi
result faults_failed $failed
write_results
exit $failed
