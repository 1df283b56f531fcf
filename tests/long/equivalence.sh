#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# equivalence.sh [--results]: compares the gradients of a whole program (tests/whole/t-gradient.c) bit for bit,
# with each part of the library switched off in turn, and in several builds, in build/same-NAME. Each of these
# lacks a part that only configure can switch off.
set -u
cd "$(dirname "$0")/../.." || exit
exec </dev/null
. build-aux/bootstrap.sh
. tests/results.sh

failed=0 first=
log=$(mktemp) || exit
trap 'rm -f "$log"' EXIT

# same NAME CONFIGURE-OPTION...: compares the gradients of one build.
same() {
	local directory=build/same-$1 name=$1 gradient
	shift
	configure "$directory" --disable-static --with-tsunami=no "$@" &&
		build "$directory" tests/whole/t-gradient || {
		echo "$name: build failed"
		failed=1
		return
	}
	OMP_WAIT_POLICY=passive "$directory/tests/whole/t-gradient" >"$log" 2>&1 || {
		grep -v '^ok' "$log"
		failed=1
	}
	gradient=$(sed -n 's/^# gradient \([0-9a-f]*\) in .*/\1/p' "$log")
	echo "$name: gradient $gradient, $(grep -c '^ok' "$log") checks"
	first=${first:-$gradient}
	[ -n "$gradient" ] && [ "$gradient" = "$first" ] || failed=1
	variants=$((variants + 1))
	checks=$((checks + $(grep -c '^ok' "$log")))
}

variants=0 checks=0
install "${build_packages[@]}" && bootstrap || exit
same everything
same no-openmp --disable-openmp
same no-lz4 --without-lz4
same no-huge-pages --disable-huge-pages
same c11-list --with-pool=c11
same no-streaming CPPFLAGS=-DREEL_STREAM=0
same no-optimisation CFLAGS=-O0
same yields --enable-yield-points
if has clang; then
	same clang CC=clang
fi
result equivalence_builds $variants
result equivalence_checks $checks
result equivalence_failed $failed
write_results
exit $failed
