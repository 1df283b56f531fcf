#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs one stage of ./check, whose help explains the stages: configures, builds and tests in build/STAGE. The last line has
# the numbers of checks that passed, failed and were skipped. Usage: build-aux/stage.sh STAGE
set -u
cd "$(dirname "$0")/.." || exit
. build-aux/bootstrap.sh

name=$1
directory=build/$name
start=$SECONDS
mkdir -p "$directory"

# Each test adds a line to this file: its seconds, its name, and its seconds of processor time.
export TEST_TIMES=$PWD/$directory/times
rm -f "$TEST_TIMES"

# conclude PASSED FAILED SKIPPED: prints the slowest tests, the processor time and the last line, and ends the script.
conclude() {
	[ ! -s "$TEST_TIMES" ] || sort -rn "$TEST_TIMES" | head -n 30 | awk '
		{ slowest = slowest (NR == 1 ? "" : ", ") $2 " " $1 }
		END { print "  the slowest tests, in seconds: " slowest }'
	# A pipe would run `times` in another process, which has other children.
	times >"$directory/worked"
	[ ! -s "$TEST_TIMES" ] || tr ms '  ' <"$directory/worked" | awk '
		FNR == NR { tests += $3; next }
		FNR == 2 { printf "  processors worked for it: %d s, %d s of these for the tests\n", $1 * 60 + $2 + $3 * 60 + $4, tests }
	' "$TEST_TIMES" -
	printf '  %d passed, %d failed, %d skipped, %d s\n' "$@" $((SECONDS - start))
	exit
}

# broken MESSAGE: ends a stage that could not be carried out, with one failure.
broken() {
	printf '  %s\n' "$1"
	conclude 0 1 0
}

# For the `make check` of a stage: its options, patterns of the tests that it runs, and patterns of tests and programs that
# it leaves out.
quick_libtool=LIBTOOL=$PWD/build-aux/quick-libtool
check_options=("$quick_libtool") tests=% left_out=

# remaining LIST: prints the entries of a variable of the makefile that the stage runs or builds.
remaining() {
	local rule="print: ; @echo \$(filter-out $left_out,\$($1))"
	[ "$1" = noinst_PROGRAMS ] || rule="print: ; @echo \$(filter-out $left_out,\$(filter $tests,\$($1)))"
	make -s -C "$directory" --eval="${rule//$'\n'/ }" print
}

# gold links in half the time of bfd, and there are hundreds of programs.
quick_linker=
! command -v ld.gold >/dev/null || quick_linker=-fuse-ld=gold

# stage WHAT CONFIGURE-OPTION...: configures, builds and tests.
stage() {
	local list
	printf '%s: %s\n' "$name" "$1"
	shift
	configure "$directory" ${quick_linker:+"LDFLAGS=$quick_linker"} "$@" || broken 'configure failed'
	# Makes the makefile first. Otherwise remaining() would take make's messages about that for names of tests.
	build "$directory" Makefile || broken "build failed, see $directory/make.log"
	for list in TESTS check_PROGRAMS noinst_PROGRAMS; do
		check_options+=("$list=$(remaining $list)")
	done
	build "$directory" all "${check_options[@]}" || broken "build failed, see $directory/make.log"
	find "$directory" -name '*.trs' -delete
	$under make -C "$directory" "${parallel[@]}" check "${check_options[@]}" >"$directory/check.log" 2>&1 ||
		show_failures "$directory"
	count "$directory"
	if [ $((points[0] + points[1])) -eq 0 ]; then
		tail -n 20 "$directory/check.log"
		broken 'no test ran'
	fi
	conclude "${points[@]}"
}

# own_files: prints the files of the sources: those that git knows or would add; without git, all files except builds.
own_files() {
	if [ -e .git ] && has git; then
		git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard
		find configure Makefile.in aclocal.m4 config.h.in build-aux -type f -print0
	else
		find . -path ./build -prune -o -path ./demo-out -prune -o -path ./.git -prune -o -type f -print0
	fi | LC_ALL=C sort -zu | while IFS= read -rd '' file; do
		[ ! -e "$file" ] || printf '%s\0' "${file#./}"
	done
}

# copy_sources: copies the sources to the build folder, so that it is also the source folder, as after ./configure by a
# user. Files keep their times, so that make builds only files that have changed.
copy_sources() {
	local list=$directory/sources.list
	own_files >"$list.new"
	[ ! -f "$list" ] || LC_ALL=C comm -z -23 "$list" "$list.new" | (cd "$directory" && xargs -0r rm -f)
	xargs -0 cp -p --parents -t "$directory" <"$list.new" && mv "$list.new" "$list"
	sources=.
}

# release: runs the commands of a packager. distcheck unpacks the tarball, builds it, runs all tests, installs it, builds
# programs with the installed library, uninstalls it, and removes its build if nothing failed. xz compresses the tarballs
# as fast as it can, because nobody gets them. With -g1 compilers take a quarter less time, and write only line numbers for
# debuggers. If there is an nvcc, make also builds the programs for a device, only for one architecture and without
# optimising, because no device runs them.
release() {
	local log=$directory/distcheck.log status device=
	echo 'release: make distcheck'
	configure "$directory" "${main_options[@]}" || broken 'configure failed'
	! grep -q "^WITH_CUDA_TRUE=''" "$directory/config.log" || device='--with-cuda NVCCFLAGS=-O0'
	XZ_OPT=-0 make -C "$directory" "${parallel[@]}" distcheck "$quick_libtool" \
		CUDA_GENCODE='-gencode=arch=compute_90,code=sm_90' \
		DISTCHECK_CONFIGURE_FLAGS="--enable-werror $device 'CFLAGS=-O2 -g1' 'CXXFLAGS=-O2 -g1'" >"$log" 2>&1
	status=$?
	points=($(awk '/^# (PASS|XFAIL):/ { passed += $3 } /^# (FAIL|XPASS|ERROR):/ { failed += $3 }
		/^# SKIP:/ { skipped += $3 } END { print passed + 0, failed + 0, skipped + 0 }' "$log"))
	if [ $status -ne 0 ] && [ "${points[1]}" -eq 0 ]; then
		tail -n 20 "$log"
		broken "make distcheck failed, see $log"
	fi
	[ $status -eq 0 ] || show_failures "$directory"/reel-[0-9]*
	conclude "${points[@]}"
}

# The command that runs tests. A sanitizer's fixed map of memory may collide with random addresses; then `setarch -R` turns
# these off.
under=

# sanitizer_runs COMPILER LIST: succeeds if a program with these sanitizers runs on this machine. Sets `under`.
sanitizer_runs() {
	echo 'int main(void) { return 0; }' >"$directory/probe.c"
	"$1" "-fsanitize=$2" "$directory/probe.c" -o "$directory/probe" || return
	for under in '' 'setarch -R'; do
		$under "$directory/probe" && return
	done
} >/dev/null 2>&1

# Tests that mostly call the library. With a sanitizer compilers take two to four times as long if they optimise them.
callers='tests/checkpoint/%.o tests/omp/%.o tests/os/%.o tests/parcel/%.o tests/pool/%.o tests/spill/%.o tests/store/%.o'

# sanitized COMPILER LIST CONFIGURE-OPTION...: a stage with these sanitizers, or skips it if they do not run here.
sanitized() {
	local compiler=$1 list=$2
	shift 2
	if ! sanitizer_runs "$compiler" "$list"; then
		echo "$name: skipped, $compiler -fsanitize=$list does not run on this machine"
		conclude 0 0 1
	fi
	check_options+=("--eval=$callers: CFLAGS += -O0")
	stage "$compiler, -fsanitize=$list${*:+ $*}" CC="$compiler" CFLAGS='-O1 -g1' \
		--enable-sanitizer="$list" --enable-werror --enable-assertions --disable-static --with-mpi=no "$@"
}

# tagged TAG...: prints patterns of the tests with one of the tags, which tests/local.mk explains.
tagged() {
	local tag
	for tag; do
		sed -nE "s|.*/(t-[^ ]*) .*\\\$\($tag\).*|%/\1|p" */*.mk */*/*.mk
	done
}

valgrind_stage() {
	local what=$1
	shift
	export TEST_EMULATED=yes
	check_options+=(AM_LOG_FLAGS="-k 5 1200 valgrind -q --tool=$name --error-exitcode=9 $*")
	stage "$what" CFLAGS='-O1 -g' --with-pool=c11 --disable-static \
		--with-tsunami=no --disable-huge-pages --with-mpi=no
}

. build-aux/index.sh
. build-aux/package.sh
. packaging/wheel/stage.sh

case $name in
main)
	# t-omp-runtimes compiles programs, but has no such tag, because the stages of sanitizers run a part of it.
	left_out="$(tagged compiles once_more measures) %/t-omp-runtimes.sh bench/% stress/%"
	stage 'gcc -O1, everything that is there' "${main_options[@]}"
	;;
release) release ;;
package) package ;;
wheel) wheel ;;
address)
	left_out="$(tagged any_build compiles once_more slow) tests/source/% bench/%"
	sanitized gcc address,undefined
	;;
# The barriers of the tsunami are in an OpenMP runtime that the sanitizer cannot see into.
thread)
	left_out="$(tagged any_build one_thread emulated) tests/source/% bench/% tests/fuzz/% examples/%"
	sanitized clang thread --enable-yield-points --with-tsunami=no
	;;
plain)
	tests="$(tagged parts) tests/source/% tests/pool/% tests/store/% tests/spill/% tests/parcel/% tests/omp/% tests/os/%"
	left_out="$(tagged any_build) %/t-recipes.sh bench/% tests/fuzz/% examples/%"
	copy_sources || broken 'the sources cannot be copied'
	stage 'clang, in the source folder, C11 atomics, no optional part, no huge pages' CC=clang CFLAGS=-O0 --enable-werror \
		--enable-assertions --with-pool=c11 --disable-openmp --disable-huge-pages --disable-static \
		--disable-fortran --with-mpi=no --with-lz4=no --with-libdw=no --with-sqlite=no --with-tsunami=no \
		--with-adolc=no --with-verifier=no --with-cuda=no
	;;
# clang does not vectorise instrumented loops, and warns of loops that OpenMP asks it to vectorise: -Wno-pass-failed.
# libomp does not free all of its own memory: libomp.supp.
address-clang)
	export LSAN_OPTIONS="suppressions=$PWD/$directory/libomp.supp:print_suppressions=0"
	echo leak:libomp.so >"$directory/libomp.supp"
	sanitized clang address,undefined --with-tsunami=no CFLAGS='-O1 -g1 -Wno-pass-failed'
	;;
thread-ck) sanitized clang thread --with-pool=ck --enable-yield-points --with-tsunami=no ;;
thread-omp)
	tests='tests/omp/% tests/whole/t-gradient'
	left_out="$(tagged one_thread) %.sh"
	sanitized clang thread --enable-openmp --with-tsunami=no
	;;
memcheck)
	left_out=%.sh
	valgrind_stage 'valgrind, memory' --leak-check=full --errors-for-leak-kinds=definite
	;;
helgrind)
	tests=$(tagged locks)
	valgrind_stage 'valgrind, races'
	;;
# The release stage also runs these tests, but shorter.
python)
	/usr/bin/python3 -c 'import torch' || broken 'PyTorch cannot be imported'
	export TEST_LONG=yes
	check_options+=(TEST_TIMEOUT=3600)
	tests='tests/python/%'
	left_out='bench/% stress/% examples/% tests/fuzz/%'
	stage 'the Python package' "${main_options[@]}" --with-tsunami=no
	;;
# The release stage runs these tests with Debian's PyTorch.
torch)
	index_python "torch-$torch_version" || broken "there is no PyTorch $torch_version, see $directory/torch.log"
	tests='tests/python/t-torch%'
	left_out='bench/% stress/% examples/% tests/fuzz/%'
	stage "reel.offload() with PyTorch $torch_version" "${main_options[@]}" --with-tsunami=no
	;;
# JAX is in no package of Debian.
jax)
	index_python "jax-$jax_version-diffrax-$diffrax_version-equinox-$equinox_version" || broken "there is no JAX $jax_version, see $directory/jax.log"
	tests='tests/python/t-jax%'
	left_out='bench/% stress/% examples/% tests/fuzz/%'
	check_options+=(TEST_TIMEOUT=3600)
	stage "reel.jax with JAX $jax_version and diffrax $diffrax_version" "${main_options[@]}" --with-tsunami=no
	;;
# Tests each build of PETSc, and PETSc's examples; the release stage tests one build. A test of all builds takes ten
# minutes or more, so the timeout is longer.
petsc)
	export TEST_LONG=yes
	check_options+=(TEST_TIMEOUT=3600)
	tests='tests/dropin/t-petsc%'
	left_out='bench/% stress/% examples/% tests/fuzz/%'
	stage 'the trajectory for PETSc' "${main_options[@]}" --with-tsunami=no
	;;
browser)
	export TEST_LONG=yes
	tests='tests/tools/t-report% tests/tools/t-profile%'
	left_out='bench/% stress/% examples/% tests/fuzz/%'
	stage 'the page of reel report in a browser' "${main_options[@]}" --with-tsunami=no
	;;
esac
