#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# On a machine with a GPU: build, check and measure what is for one, within ten minutes. Needs nvcc
# and a C compiler, no more; the store and the tsunami are built by make and configure, which a release
# has (make dist), and are left out where they are not.
# Usage: gpu/try.sh [--quick] [DIRECTORY]. Builds below DIRECTORY (build/gpu), writes bench/RESULTS-gpu.md.
# The last line says how many checks passed and failed.
set -u
cd "$(dirname "$0")/.." || exit
source=$PWD
quick=
[ "${1-}" = --quick ] && quick=--quick && shift
directory=${1:-build/gpu}
mkdir -p "$directory" && directory=$(cd "$directory" && pwd) || exit
results=bench/RESULTS-gpu.md
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
cc=${CC:-cc}
passed=0 failed=0 skipped=0

# verdict STATUS WHAT: a check.
verdict() {
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		printf '  ok: %s\n' "$2"
	else
		failed=$((failed + 1))
		printf '  FAILED: %s\n' "$2"
	fi
}

skip() {
	skipped=$((skipped + 1))
	printf '  skipped: %s\n' "$1"
}

# attempt WHAT COMMAND...: its output is in the log, of which the end is shown if it fails.
attempt() {
	local what=$1 status
	shift
	"$@" >"$directory/log" 2>&1
	status=$?
	verdict $status "$what"
	[ $status -eq 0 ] || tail -n 25 "$directory/log"
	return $status
}

# count_points FILE WHAT: the points of a test program's output.
count_points() {
	local good bad
	good=$(grep -c '^ok' "$1")
	bad=$(grep -c '^not ok' "$1")
	passed=$((passed + good)) failed=$((failed + bad))
	printf '  %s: %d passed, %d failed\n' "$2" "$good" "$bad"
	[ "$bad" -eq 0 ] || grep -A 3 '^not ok' "$1"
}

command -v nvidia-smi >/dev/null && gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | sed q)
[ -n "${gpu-}" ] || {
	echo 'there is no GPU here (nvidia-smi names none)'
	exit 77
}
"$nvcc" --version >/dev/null 2>&1 || {
	echo 'there is no nvcc: set NVCC'
	exit 77
}
driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | sed q)
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed q | tr -d .)
toolkit=$("$nvcc" --version | sed -n 's/.*release [^,]*, V//p')
echo "$gpu, driver $driver, nvcc $toolkit, sm_$capability"

# ---- The tape for kernels: built here by nvcc and cc alone ----

echo 'tape: build'
printf '#define HAVE_DLOPEN 1\n' >"$directory/config.h"
build_host() {
	local file
	for file in arena arena-state tables drain traffic crates driver; do
		"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -I"$directory" -Iinclude -c -o "$directory/$file.o" "gpu/$file.c" ||
			return
	done
}
build_program() {
	timeout 200 "$nvcc" -std=c++14 -O3 -lineinfo "-gencode=arch=compute_$capability,code=sm_$capability" -Iinclude \
		-o "$directory/$1" "$2" "$directory"/{arena,arena-state,tables,drain,traffic,crates,driver}.o -ldl
}
attempt 'the host side compiles' build_host &&
	attempt 'the examples compile' build_program examples gpu/examples/examples.cu &&
	attempt 'the benchmark compiles' build_program bench gpu/bench/bench.cu || {
	echo "$passed passed, $failed failed, $skipped skipped"
	exit 1
}

echo 'tape: check'
timeout 120 "$directory/examples" >"$directory/examples.out" 2>&1
count_points "$directory/examples.out" "the examples, on $gpu"
grep -q '^1\.\.' "$directory/examples.out"
verdict $? 'the examples came to their end'

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
sanitized=
for tool in memcheck racecheck; do
	if [ -z "$sanitizer" ]; then
		skip "compute-sanitizer $tool is not installed"
		sanitized="$sanitized $tool not run;"
		continue
	fi
	timeout 150 "$sanitizer" --tool "$tool" --error-exitcode 9 "$directory/examples" >"$directory/$tool.out" 2>&1
	status=$?
	if grep -q 'Device not supported' "$directory/$tool.out"; then
		skip "compute-sanitizer $tool does not work on this machine"
		sanitized="$sanitized $tool does not work on this machine;"
	elif [ $status -eq 124 ]; then
		skip "compute-sanitizer $tool took longer than 150 s"
		sanitized="$sanitized $tool stopped after 150 s;"
	else
		verdict $status "compute-sanitizer $tool"
		[ $status -eq 0 ] && sanitized="$sanitized $tool clean;" || sanitized="$sanitized $tool complains;"
		[ $status -eq 0 ] || grep '^=========' "$directory/$tool.out" | sed 25q
	fi
done

echo 'tape: measure'
timeout 200 "$directory/bench" $quick >"$directory/bench.out" 2>"$directory/bench.err"
measured=$?
verdict $measured 'the benchmark'
[ $measured -eq 0 ] || cat "$directory/bench.err"
cat "$directory/bench.out"

# ---- The store, and the tsunami ----

build_store() {
	mkdir -p "$directory/store" && cd "$directory/store" &&
		"$source/configure" -q CC="$cc" NVCC="$nvcc" CFLAGS='-O3 -march=native' --with-pool=c11 \
			--with-tsunami=no &&
		timeout 200 make -j"$(nproc)" tests/t-gpu-device bench/reel-bench
}
build_tsunami() {
	timeout 200 make -C "$directory/store" -j"$(nproc)" gpu/gpu-tsunami \
		CUDA_GENCODE="-gencode=arch=compute_$capability,code=sm_$capability"
}
if [ ! -x configure ] || ! command -v make >/dev/null; then
	skip "the store, and the tsunami: there is no configure, or no make: run this in a release"
elif echo 'store' && attempt 'the store is built' eval '(build_store)'; then
	(cd "$directory/store" && timeout 100 tests/t-gpu-device) >"$directory/store.out" 2>&1
	count_points "$directory/store.out" "the store, on $gpu"
	grep -q '^1\.\.' "$directory/store.out"
	verdict $? "the store's checks came to their end"
	(cd "$directory/store" && timeout 150 bench/reel-bench $quick --only '^gpu/') >"$directory/store.bench"
	verdict $? "the store's benchmark"
	cat "$directory/store.bench"
	{
		printf '\n## The store\n\n'
		sed 's/^/\t/' "$directory/store.bench"
	} >"$directory/store.md"

	echo 'tsunami'
	if ! make -s -C "$directory/store" -n gpu/gpu-tsunami >/dev/null 2>&1; then
		skip 'the tsunami: configure found no nvcc that builds for all architectures'
	elif attempt 'the tsunami is built' build_tsunami; then
		timeout 150 "$directory/store/gpu/gpu-tsunami" >"$directory/tsunami.out" 2>&1
		count_points "$directory/tsunami.out" "the tsunami's gradient, on $gpu"
		grep -q '^1\.\.' "$directory/tsunami.out"
		verdict $? "the tsunami's checks came to their end"
		grep ' runs$' "$directory/tsunami.out"
		{
			printf "\n## The tsunami's gradient\n\n"
			sed -n 's/^# \(.* runs\)$/\t\1/p' "$directory/tsunami.out"
		} >"$directory/tsunami.md"
	fi
fi

{
	cat <<END
# On a GPU

$gpu, driver $driver, nvcc $toolkit, $(uname -sr), $("$cc" --version | sed q). Written by \`gpu/try.sh\`${quick:+ --quick}.

Of the examples' points $(grep -c '^ok' "$directory/examples.out") ran and passed on this device, $(grep -c '^not ok' "$directory/examples.out") failed.
compute-sanitizer:${sanitized%;}.

## The tape in kernels

Medians of seven runs. A copy reads and writes; so do a push and its pop, and are counted so.

END
	cat "$directory/bench.out"
	for part in store tsunami; do
		[ ! -f "$directory/$part.md" ] || cat "$directory/$part.md"
	done
} >"$directory/RESULTS-gpu.md"
cp "$directory/RESULTS-gpu.md" "$results"

printf '%d passed, %d failed' $passed $failed
[ $skipped -eq 0 ] || printf ', %d skipped' $skipped
printf '\n'
[ $failed -eq 0 ]
