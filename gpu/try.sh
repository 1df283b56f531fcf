#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
usage='Usage: gpu/try.sh [OPTION]... [DIRECTORY]

On a machine with a GPU: build, check and measure the parts for GPUs, within ten minutes. Needs nvcc and
a C compiler; the store and the tsunami need configure and make, which a release has (make dist). Builds
below DIRECTORY (build/gpu), and writes the results to bench/RESULTS-gpu.md after each part. If OUT names
a directory, it also gets them, with the output of all programs. The last line has the numbers of checks
that passed and failed.

  --build            only build, on a machine with nvcc and no GPU; needs --architecture
  --run              only run the programs of --build, on that machine or another one
  --architecture N   the compute capability without its point, such as 90 (the GPU has it)
  --seconds N        end after N seconds, and leave out parts that do not fit (540)
  --quick            measure with a tenth of the memory
  --help             this text'

refuse() {
	echo "try.sh: $1; see gpu/try.sh --help" >&2
	exit 2
}

set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit
builds=yes runs=yes architecture= seconds=540 quick= directory=
while [ $# -gt 0 ]; do
	case $1 in
	--build) runs= ;;
	--run) builds= ;;
	--quick) quick=--quick ;;
	--architecture | --seconds)
		[ $# -gt 1 ] || refuse "$1 takes a number"
		[[ $2 =~ ^[1-9][0-9]*$ ]] || refuse "$1: $2 is not a number"
		[ "$1" = --seconds ] && seconds=$2 || architecture=$2
		shift
		;;
	--help) echo "$usage" && exit ;;
	-*) refuse "$1: no such option" ;;
	*) directory=$1 ;;
	esac
	shift
done
directory=${directory:-$source/build/gpu}
mkdir -p "$directory" && directory=$(cd "$directory" && pwd) && cd "$source" || exit
store=$directory/store
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
cc=${CC:-cc}
passed=0 failed=0 skipped=0

# verdict STATUS WHAT: prints and counts a check, which passed if STATUS is 0.
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

# within SECONDS COMMAND...: runs the command for at most SECONDS, and at most the time that is left. Returns 124 or 137
# if it takes longer.
within() {
	local most=$1 left=$((seconds - SECONDS))
	shift
	[ $left -gt 0 ] || return 124
	timeout -k 5 $((most < left ? most : left)) "$@"
}

took_too_long() {
	[ "$1" -eq 124 ] || [ "$1" -eq 137 ]
}

# ---- Building: each program by itself, all at the same time ----

# Also compiles the pool, which an arena with a store has. Leaves out the two files that need configure or LZ4.
build_tape() {
	local file
	mkdir -p "$directory/tape"
	printf '#define HAVE_DLOPEN 1\n' >"$directory/config.h"
	for file in gpu/{driver,tape}/*.c lib/{os,pool,store,tape,trace}/*.c lib/spill/*/*.c; do
		case $file in lib/store/pack.c | lib/tape/version.c) continue ;; esac
		"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -I"$directory" -Iinclude -Ilib -I. \
			-c -o "$directory/tape/${file//\//-}.o" "$file" || return
	done
}

build_program() {
	within 300 "$nvcc" -std=c++14 -O3 -lineinfo $gencode -Iinclude -o "$directory/$1" "$2" \
		"$directory"/tape/*.o -lpthread -ldl
}

# Uses few libraries, and these static, because --run may be on another machine.
build_store() {
	mkdir -p "$store" && cd "$store" &&
		within 200 "$source/configure" -q CC="$cc" NVCC="$nvcc" CFLAGS=-O3 --disable-shared --with-pool=c11 \
			--without-lz4 --with-tsunami=no &&
		within 300 make -j"$(nproc)" tests/gpu/t-gpu-device bench/reel-bench
}

build_tsunami() {
	within 300 make -C "$store" examples/gpu/gpu-tsunami CUDA_GENCODE="$gencode"
}

# begin NAME COMMAND...: runs the command in the background, with its output in NAME.log.
begin() {
	local name=$1
	shift
	"$@" >"$directory/$name.log" 2>&1 &
	building[$name]=$!
}

# end NAME WHAT: waits for the command NAME, and checks its status.
end() {
	local status
	wait "${building[$1]}"
	status=$?
	verdict $status "$2"
	[ $status -eq 0 ] || tail -n 25 "$directory/$1.log"
	return $status
}

build() {
	local -A building
	gencode="-gencode=arch=compute_$architecture,code=sm_$architecture"
	rm -f "$directory"/{examples,bench} "$store"/{tests/gpu/t-gpu-device,bench/reel-bench,examples/gpu/gpu-tsunami}
	if [ ! -x configure ] || ! command -v make >/dev/null; then
		skip 'the store, and the tsunami: there is no configure, or no make: run this in a release'
	else
		begin store build_store
	fi
	if ! "$nvcc" --version >/dev/null 2>&1; then
		skip 'the tape: there is no nvcc: set NVCC'
	elif build_tape >"$directory/tape.log" 2>&1; then
		begin examples build_program examples examples/gpu/examples.cu
		begin bench build_program bench bench/device.cu
		end examples 'the examples compile'
		end bench 'the benchmark compiles'
	else
		verdict 1 "the host's side of the tape compiles"
		tail -n 25 "$directory/tape.log"
	fi
	[ -n "${building[store]-}" ] && end store 'the store is built' || return
	if make -s -C "$store" -n examples/gpu/gpu-tsunami >"$directory/tsunami.log" 2>&1; then
		begin tsunami build_tsunami
		end tsunami 'the tsunami is built'
	else
		skip 'the tsunami: configure found no nvcc that builds for all architectures'
	fi
}

# ---- The results ----

# seen[NAME]: the outcome of a part, a sentence for the results.
declare -A seen

# part NAME TITLE: prints the section of a part.
part() {
	printf '\n## %s\n\n%s.\n' "$2" "${seen[$1]-Not run}"
	[ ! -s "$directory/$1.md" ] || {
		echo
		cat "$directory/$1.md"
	}
}

write_results() {
	{
		cat <<END
# On a GPU

$gpu, driver $driver, compute capability $capability, $(uname -sr | sed 's/-.*//'). Written by \`gpu/try.sh\`${quick:+ --quick}.

Medians of seven runs. A copy reads and writes; so do a push and its pop, and are counted so.
END
		part examples 'The checks, and the examples'
		part bench 'The tape in kernels'
		part store 'The store'
		part store-bench "The store's speed"
		part tsunami "The tsunami's gradient"
		part memcheck 'compute-sanitizer memcheck'
		part racecheck 'compute-sanitizer racecheck'
	} >"$directory/RESULTS-gpu.md"
	[ -z "${OUT-}" ] || {
		cp "$directory/RESULTS-gpu.md" "$OUT"
		tail -n +1 "$directory"/*.out >"$OUT/said"
	}
}

# run NAME SECONDS COMMAND...: runs the command with its output in NAME.out, and shows the end of it if the command dies.
run() {
	local name=$1 most=$2 status
	shift 2
	within "$most" "$@" >"$directory/$name.out" 2>&1
	status=$?
	if took_too_long $status; then
		seen[$name]="Stopped: there was no more time"
	elif [ $status -gt 1 ]; then
		seen[$name]="It ended with status $status"
	else
		seen[$name]='It came to its end'
	fi
	[ $status -le 1 ] || tail -n 25 "$directory/$name.out"
	return $status
}

# count_points NAME WHAT: counts the passed and failed tests in the output of a test program.
count_points() {
	local good bad
	good=$(grep -c '^ok' "$directory/$1.out")
	bad=$(grep -c '^not ok' "$directory/$1.out")
	passed=$((passed + good)) failed=$((failed + bad))
	printf '  %s: %d passed, %d failed\n' "$2" "$good" "$bad"
	[ "$bad" -eq 0 ] || grep -A 3 '^not ok' "$directory/$1.out"
	seen[$1]="${seen[$1]}: $good passed, $bad failed"
	grep -q '^1\.\.[1-9]' "$directory/$1.out"
	verdict $? "$2, came to the end"
}

# ---- Running ----

# A fault of the device ends the process. The examples after it then run in a process each.
run_examples() {
	local n all
	echo 'the examples'
	run examples 90 "$directory/examples"
	if [ $? -gt 1 ]; then
		all=$(within 20 "$directory/examples" 1000000 | sed -n 's/^1\.\.//p')
		n=$(grep -c -e '^ok' -e '^not ok' "$directory/examples.out")
		for ((n += 2; n <= ${all:-0}; n++)); do
			within 20 "$directory/examples" $n 2>&1 | grep -v '^1\.\.' >>"$directory/examples.out"
		done
	fi
	count_points examples "the examples, on $gpu"
}

measure() {
	echo 'the tape, measured'
	run bench 200 "$directory/bench" $quick
	verdict $? 'the benchmark'
	cp "$directory/bench.out" "$directory/bench.md"
	cat "$directory/bench.out"
}

run_store() {
	echo 'the store'
	run store 100 env -C "$store" tests/gpu/t-gpu-device
	count_points store "the store, on $gpu"
}

measure_store() {
	run store-bench 150 env -C "$store" bench/reel-bench $quick --only '^gpu/'
	verdict $? "the store's benchmark"
	grep -q '^gpu/' "$directory/store-bench.out"
	verdict $? 'has figures'
	sed 's/^/\t/' "$directory/store-bench.out" >"$directory/store-bench.md"
	cat "$directory/store-bench.out"
}

run_tsunami() {
	echo 'the tsunami'
	run tsunami 150 "$store/examples/gpu/gpu-tsunami"
	count_points tsunami "the tsunami's gradient, on $gpu"
	sed -n 's/^# \(.* runs\)$/\t\1/p' "$directory/tsunami.out" | tee "$directory/tsunami.md"
}

# sanitize TOOL: runs the examples under a tool of compute-sanitizer.
sanitize() {
	local status sanitizer
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	if [ -z "$sanitizer" ]; then
		skip "compute-sanitizer $1 is not installed"
		return
	fi
	run "$1" 150 "$sanitizer" --tool "$1" --error-exitcode 9 "$directory/examples"
	status=$?
	if grep -q 'Device not supported' "$directory/$1.out"; then
		seen[$1]='It does not work on this machine'
		skip "compute-sanitizer $1 does not work on this machine"
	elif took_too_long $status; then
		skip "compute-sanitizer $1: there was no more time"
	else
		verdict $status "compute-sanitizer $1"
		[ $status -ne 0 ] || seen[$1]='Clean'
	fi
}

# if_built PROGRAM COMMAND...: runs the command if the program is there, and writes the results so far.
if_built() {
	local program=$1
	shift
	[ -x "$program" ] || return
	"$@"
	write_results
}

run_all() {
	local part
	# Removes files by their names, because DIRECTORY may have other files of the user.
	for part in RESULTS-gpu examples bench store store-bench tsunami memcheck racecheck; do
		rm -f "$directory/$part".{md,out}
	done
	write_results
	if_built "$directory/examples" run_examples
	if_built "$store/tests/gpu/t-gpu-device" run_store
	if_built "$directory/bench" measure
	if_built "$store/bench/reel-bench" measure_store
	if_built "$store/examples/gpu/gpu-tsunami" run_tsunami
	if_built "$directory/examples" sanitize memcheck
	if_built "$directory/examples" sanitize racecheck
	cp "$directory/RESULTS-gpu.md" bench/RESULTS-gpu.md
	verdict $? 'bench/RESULTS-gpu.md is written'
}

query() {
	nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null | sed q
}

gpu=$(query name)
[ -n "$gpu" ] || [ -z "$runs" ] || {
	echo 'there is no GPU here (nvidia-smi names none)'
	exit 77
}
driver=$(query driver_version) capability=$(query compute_cap)
architecture=${architecture:-${capability//./}}
[ -n "$architecture" ] || refuse 'there is no GPU here: --architecture says what to build for'
echo "${gpu:-no GPU}${gpu:+, driver $driver}, sm_$architecture"
[ -z "$builds" ] || build
[ -z "$runs" ] || run_all

printf '%d passed, %d failed' $passed $failed
[ $skipped -eq 0 ] || printf ', %d skipped' $skipped
printf '\n'
[ $failed -eq 0 ]
