#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cross.sh [--results] [ARCH...]: builds for other processors and C libraries, below build/cross-ARCH,
# and runs the test programs there: aarch64 armhf ppc64el s390x riscv64 (under qemu-user), i386 and
# musl (as they are). Without ARCH, all. If a package is missing, it is named, and the ARCH is skipped.
# CROSS_TESTS selects some of the programs, such as "t-tape t-pool", because all take minutes. The ARCH
# amalgamation is aarch64 with reel.c and reel-omp.c in place of the library, and amalgamation-s390x is
# s390x with these.
#
# The builds have no optional libraries, which are only installed for this machine: the pool uses Reel's list of
# C11 atomics, threads read and write files, and nothing is compressed.
#
# An emulator cannot test some things. Memory order: programs run on this processor, whose order is strong,
# so a missing acquire or release has no effect; models, ThreadSanitizer and review find these. Pages of 64
# KiB: they are as large as on this machine. Timing. Limits of memory, and threads in the child of a program
# with threads: an emulator has none, and the tests leave these out (TEST_EMULATED). s390x tests the order of
# bytes, i386 and armhf pointers of 32 bits.
set -u
cd "$(dirname "$0")/../.." || exit
exec </dev/null
. build-aux/bootstrap.sh
. tests/results.sh

all=(aarch64 armhf ppc64el s390x riscv64 i386 musl amalgamation amalgamation-s390x)
declare -A host=([aarch64]=aarch64-linux-gnu [armhf]=arm-linux-gnueabihf
	[ppc64el]=powerpc64le-linux-gnu [s390x]=s390x-linux-gnu [riscv64]=riscv64-linux-gnu
	[i386]=i686-linux-gnu [musl]=x86_64-linux-musl [amalgamation]=aarch64-linux-gnu
	[amalgamation-s390x]=s390x-linux-gnu)
declare -A emulator=([aarch64]=qemu-aarch64 [armhf]=qemu-arm [ppc64el]=qemu-ppc64le
	[s390x]=qemu-s390x [riscv64]=qemu-riscv64 [amalgamation]=qemu-aarch64
	[amalgamation-s390x]=qemu-s390x)

compiler_of() {
	case $1 in
	musl) echo musl-gcc ;;
	*) echo "${host[$1]}-gcc" ;;
	esac
}

# missing ARCH: prints the Debian packages that are missing, or nothing.
missing() {
	case $1 in
	musl) has musl-gcc || echo musl-tools ;;
	*) has "$(compiler_of "$1")" || echo "gcc-${host[$1]}" ;;
	esac
	[ -z "${emulator[$1]-}" ] || has "${emulator[$1]}" || echo qemu-user
}

# Sets options. The programs of i386 use the loader of its cross compiler, and compute in SSE2: registers of
# the x87 change signalling NaNs, and round twice. There is no OpenMP for musl.
options_for() {
	local root=/usr/${host[$1]}
	options=(--host="${host[$1]}" --enable-werror --disable-static --with-pool=c11
		FC=no CXX=no)
	case $1 in
	i386)
		options+=("LDFLAGS=-Wl,--dynamic-linker=$root/lib/ld-linux.so.2,-rpath,$root/lib"
			'CFLAGS=-g -O2 -msse2 -mfpmath=sse')
		;;
	musl) options+=(CC=musl-gcc --disable-openmp) ;;
	amalgamation*) options+=(--enable-assertions) ;;
	esac
}

configure_for() {
	local options
	options_for "$1"
	PKG_CONFIG=/bin/false configure "build/cross-$1" "${options[@]}"
}

# Builds and runs the test programs. Sets points to the numbers of passed, failed and skipped checks.
run_tests() {
	local directory=build/cross-$1 targets=(check 'TESTS=$(check_PROGRAMS)') under=
	[ -z "${CROSS_TESTS-}" ] || targets=($(printf 'tests/%s.log ' $CROSS_TESTS))
	[[ $1 != amalgamation* ]] ||
		targets=(check-amalgamated ${CROSS_TESTS:+"check_PROGRAMS=$(printf 'tests/%s ' $CROSS_TESTS)"})
	[ -z "${emulator[$1]-}" ] || under="${emulator[$1]} -L /usr/${host[$1]}"
	find "$directory/tests" -name 't-*.trs' -delete -o -name 't-*.log' -delete
	TEST_EMULATED=${emulator[$1]:+yes} make -C "$directory" -k -j "$jobs" \
		"${targets[@]}" AM_LOG_FLAGS="-k 5 900 $under" >"$directory/check.log" 2>&1 ||
		tail -n 5 "$directory/check.log"
	show_failures "$directory"
	count "$directory"
}

failed=0

# cross ARCH: builds and tests for one ARCH, or skips it.
cross() {
	local lacks made start=$SECONDS
	lacks=$(missing "$1")
	if [ -n "$lacks" ]; then
		echo "$1: skipped, there is no $(compiler_of "$1")${emulator[$1]:+ or ${emulator[$1]}} (Debian: $(echo $lacks))"
		return
	fi
	made=(check TESTS=)
	[[ $1 != amalgamation* ]] || made=(amalgamation)
	configure_for "$1" && { [ -n "${CROSS_TESTS-}" ] || build "build/cross-$1" "${made[@]}"; } || {
		echo "$1: build failed"
		failed=1
		return
	}
	run_tests "$1"
	printf '%s: %d passed, %d failed, %d skipped, %d s\n' "$1" "${points[@]}" $((SECONDS - start))
	result "${1}_passed" "${points[0]}" >/dev/null
	result "${1}_failed" "${points[1]}" >/dev/null
	result "${1}_skipped" "${points[2]}" >/dev/null
	[ $((points[0])) -gt 0 ] && [ $((points[1])) -eq 0 ] || failed=1
}

for arch in "${@:-${all[@]}}"; do
	[[ " ${all[*]} " == *" $arch "* ]] || die "$arch: no such architecture; there are ${all[*]}" 2
done
install gcc=gcc make=make autoconf=autoconf automake=automake libtool=libtoolize && bootstrap || exit
for arch in "${@:-${all[@]}}"; do
	cross "$arch"
done
write_results
exit $failed
