#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
usage='Usage: gpu/try.sh [OPTION]... [DIRECTORY]

On a machine with a GPU: build, check and measure the parts for GPUs, within ten minutes. Needs nvcc and
a C compiler; the store and the tsunami need configure and make, which a release has (make dist), and the
parts in Python a python3 (or PYTHON) with NumPy, PyTorch and pytest. Builds below DIRECTORY (build/gpu),
and writes the results to bench/RESULTS-gpu.md after each part. If OUT names a directory, it also gets
them, with the output of all programs. The last line has the numbers of checks that passed and failed.

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
cc=${CC:-cc} python=${PYTHON:-python3}
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

# leave_out NAME WHY: skips a part, and says so in the results.
leave_out() {
	seen[$1]="Left out: $2"
	skip "$1: $2"
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

# Compiles the libraries without configure, as CMakeLists.txt does: for the kernels, and as shared libraries for Python.
build_host() {
	local objects=$directory/host libraries=$directory/python version
	mkdir -p "$objects" "$libraries"
	rm -f "$objects"/*.o "$libraries"/*.so.0
	version=$(sed -n 's/^AC_INIT(.*\[\(.*\)\].*/\1/p' configure.ac)
	sed "s/@VERSION@/$version/" build-aux/amalgamation/config.in >"$directory/config.h"
	export cc directory objects
	find lib gpu -name '*.c' -print0 | xargs -0 -n 1 -P "$(nproc)" sh -c '"$cc" -std=gnu11 -D_GNU_SOURCE \
		-DHAVE_DLOPEN=1 -O2 -fPIC -I"$directory" -Iinclude -Ilib -I. \
		-c -o "$objects/$(echo "$1" | tr / -).o" "$1"' - &&
		link_shared libreel "$objects"/lib-*.o &&
		link_shared libreel-cuda "$objects"/gpu-*.o "$libraries/libreel.so.0"
}

# link_shared NAME FILE...: makes a library from the files.
link_shared() {
	local name=$1
	shift
	"$cc" -shared -Wl,-z,defs -Wl,-z,nodelete -Wl,-soname,"$name.so.0" -o "$directory/python/$name.so.0" "$@" \
		-lpthread -ldl -lm
}

build_program() {
	within 300 "$nvcc" -std=c++14 -O3 -lineinfo $gencode -Iinclude -o "$directory/$1" "$2" \
		"$directory"/host/*.o -lpthread -ldl
}

# Uses few libraries, and these static, because --run may be on another machine.
build_store() {
	local no_autotools=()
	# Files that were copied here may have times in any order, and make would try to make configure anew.
	command -v autoreconf >/dev/null || no_autotools=(ACLOCAL=: AUTOCONF=: AUTOHEADER=: AUTOMAKE=:)
	mkdir -p "$store" && cd "$store" &&
		within 200 "$source/configure" -q CC="$cc" NVCC="$nvcc" CFLAGS=-O3 --disable-shared --with-pool=c11 \
			--without-lz4 --with-tsunami=no "${no_autotools[@]}" &&
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
	begin host build_host
	if ! end host 'the libraries compile'; then
		skip 'the tape, and Python: there are no libraries'
	elif ! "$nvcc" --version >/dev/null 2>&1; then
		skip 'the tape: there is no nvcc: set NVCC'
	else
		begin examples build_program examples examples/gpu/examples.cu
		begin bench build_program bench bench/device.cu
		end examples 'the examples compile'
		end bench 'the benchmark compiles'
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
		part python 'Tensors of the GPU in Python'
		part python-bench 'Tensors of the GPU in Python, measured'
		part python-races "PyTorch's finder of races (TORCH_CUDA_SANITIZER)"
		part bench 'The tape in kernels'
		part store 'The store'
		part store-bench "The store's speed"
		part tsunami "The tsunami's gradient"
		part memcheck 'compute-sanitizer memcheck'
		part racecheck 'compute-sanitizer racecheck'
	} >"$directory/RESULTS-gpu.md"
	[ -z "${OUT-}" ] || {
		cp "$directory/RESULTS-gpu.md" "$OUT"
		tail -n +1 "$directory"/*.out >"$OUT/said" 2>/dev/null
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

# count_points NAME WHAT: counts the passed and failed tests in the output of a test program, or of pytest.
count_points() {
	local good bad
	good=$(grep -cE '^ok|::.* PASSED' "$directory/$1.out")
	bad=$(grep -cE '^not ok|::.* (FAILED|ERROR)' "$directory/$1.out")
	passed=$((passed + good)) failed=$((failed + bad))
	printf '  %s: %d passed, %d failed\n' "$2" "$good" "$bad"
	[ "$bad" -eq 0 ] || grep -A 3 -e '^not ok' -e '^E  ' -e '^FAILED' "$directory/$1.out" | head -n 60
	seen[$1]="${seen[$1]}: $good passed, $bad failed"
	grep -qE '^1\.\.[1-9]|^=.* [1-9][0-9]* (passed|failed)' "$directory/$1.out"
	verdict $? "$2, came to the end"
}

# ---- Running ----

# A fault of the device ends the process. The examples after it then run in a process each.
run_examples() {
	local n all
	echo 'the examples'
	run examples 60 "$directory/examples"
	if [ $? -gt 1 ]; then
		all=$(within 20 "$directory/examples" 1000000 | sed -n 's/^1\.\.//p')
		n=$(grep -c -e '^ok' -e '^not ok' "$directory/examples.out")
		for ((n += 2; n <= ${all:-0}; n++)); do
			within 20 "$directory/examples" $n 2>&1 | grep -v '^1\.\.' >>"$directory/examples.out"
		done
	fi
	count_points examples "the examples, on $gpu"
}

# The interpreter with this tree's package and libraries.
in_python=(env PYTHONPATH="$source/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
	REEL_LIBRARY="$directory/python/libreel.so.0"
	LD_LIBRARY_PATH="$directory/python${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SOURCE_DIR="$source" BUILD_DIR="$directory")

# lacks_torch NAME: leaves a part in Python out if PyTorch cannot use the GPU.
torch=
lacks_torch() {
	[ -n "$torch" ] || torch=$(within 90 "${in_python[@]}" "$python" -c '
import reel, torch
print("works" if torch.cuda.is_available() else "PyTorch sees no GPU")' 2>"$directory/torch.log") ||
		torch="$python has no PyTorch, or no NumPy"
	[ "$torch" != works ] || return
	leave_out "$1" "$torch"
	tail -n 3 "$directory/torch.log"
}

# test_python NAME SECONDS [VARIABLE=VALUE]: runs the tests of device tensors. A test prints a line when it ends, and if it
# takes long, the stack of each thread.
tests=tests/python/test_offload_device.py
test_python() {
	local name=$1 most=$2
	shift 2
	run "$name" "$most" "${in_python[@]}" "$@" "$python" -m pytest -p no:cacheprovider -v -rs --tb=short \
		-o faulthandler_timeout=40 --basetemp="$directory/pytest" $tests
}

run_python() {
	echo 'Python'
	if lacks_torch python; then
		return
	elif [ ! -e $tests ]; then
		leave_out python "there is no $tests"
	elif ! "$python" -c 'import pytest' 2>/dev/null; then
		leave_out python "$python has no pytest"
	else
		test_python python 120
		count_points python "tensors of $gpu in Python"
	fi
}

measure_python() {
	lacks_torch python-bench && return
	run python-bench 240 "${in_python[@]}" "$python" bench/perceptron.py --device cuda --directory "$directory" \
		${quick:+--mib 8}
	verdict $? 'the benchmark in Python, whose gradients are right'
	grep -e '^|' -e '^FAULT' -e '^$' "$directory/python-bench.out" >"$directory/python-bench.md"
	grep -q '^| `reel' "$directory/python-bench.md"
	verdict $? 'has figures'
	cat "$directory/python-bench.md"
}

# The tests again, while PyTorch compares the streams of the accesses to each tensor. Some tests may not pass under it.
find_races() {
	local status
	[[ ${seen[python]-} == 'It came to its end'* ]] || return
	test_python python-races 90 TORCH_CUDA_SANITIZER=1
	status=$?
	if grep -q 'CSAN detected' "$directory/python-races.out"; then
		verdict 1 'no race between streams in Python'
		grep -A 12 'CSAN detected' "$directory/python-races.out" | head -n 60
	elif [ $status -eq 0 ]; then
		verdict 0 'no race between streams in Python'
		seen[python-races]='Clean'
	else
		leave_out python-races "it found no race, and the tests ended with status $status"
	fi
}

measure() {
	echo 'the tape, measured'
	run bench 100 "$directory/bench" $quick
	verdict $? 'the benchmark'
	cp "$directory/bench.out" "$directory/bench.md"
	cat "$directory/bench.out"
}

run_store() {
	echo 'the store'
	run store 60 env -C "$store" tests/gpu/t-gpu-device
	count_points store "the store, on $gpu"
}

measure_store() {
	run store-bench 90 env -C "$store" bench/reel-bench $quick --only '^gpu/'
	verdict $? "the store's benchmark"
	grep -q '^gpu/' "$directory/store-bench.out"
	verdict $? 'has figures'
	cat "$directory/store-bench.out"
	{
		sed 's/^/\t/' "$directory/store-bench.out"
		awk '/reel store, checksum/ && $1 !~ /\+/ {
			if (!rows++) print "\n| | | target |\n| --- | ---: | --- |"
			speed = 1 / $(NF - 1)
			printf "| %s, with checksums: speed over that of a pinned copy | %.3f | at least 0.9: %s |\n",
				$1, speed, (speed >= 0.9 ? "met" : "missed")
		}' "$directory/store-bench.out"
	} >"$directory/store-bench.md"
}

run_tsunami() {
	echo 'the tsunami'
	run tsunami 60 "$store/examples/gpu/gpu-tsunami"
	count_points tsunami "the tsunami's gradient, on $gpu"
	sed -n 's/^# \(.* runs\)$/\t\1/p' "$directory/tsunami.out" | tee "$directory/tsunami.md"
}

# sanitize TOOL: runs the examples under a tool of compute-sanitizer.
sanitize() {
	local status sanitizer
	sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	if [ -z "$sanitizer" ]; then
		leave_out "$1" 'compute-sanitizer is not installed'
		return
	fi
	run "$1" 120 "$sanitizer" --tool "$1" --error-exitcode 9 "$directory/examples"
	status=$?
	if grep -q 'Device not supported' "$directory/$1.out"; then
		leave_out "$1" 'compute-sanitizer does not work on this machine'
	elif took_too_long $status; then
		leave_out "$1" 'there was no more time'
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
	for part in RESULTS-gpu examples python{,-bench,-races} bench store{,-bench} tsunami memcheck racecheck; do
		rm -f "$directory/$part".{md,out}
	done
	write_results
	# In the order of their value, because there may be no time for the last ones. Each has a limit of its own; together
	# they take some seven minutes, of which the benchmark in Python takes three.
	if_built "$directory/examples" run_examples
	if_built "$directory/python/libreel.so.0" run_python
	if_built "$directory/python/libreel.so.0" measure_python
	if_built "$directory/bench" measure
	if_built "$store/tests/gpu/t-gpu-device" run_store
	if_built "$store/bench/reel-bench" measure_store
	if_built "$store/examples/gpu/gpu-tsunami" run_tsunami
	if_built "$directory/python/libreel.so.0" find_races
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
