#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs gpu/try.sh with fake programs. Whatever they do, the results have the parts that ran before.
. "$SOURCE_DIR/tests/tap/tap.sh"

bash --version >/dev/null 2>&1 || skip_all 'no bash'
mkdir -p tree/gpu tree/bench tree/tests/python bin built/python built/store/tests/gpu built/store/bench \
	built/store/examples/gpu out
touch tree/tests/python/test_offload_device.py
cp "$SOURCE_DIR/gpu/try.sh" tree/gpu/try.sh

# program NAME: makes a program of the shell commands on stdin.
program() {
	{ echo '#!/bin/sh'; cat; } >"$1"
	chmod +x "$1"
}

program bin/nvidia-smi <<'E2'
case $1 in
*=name) echo 'Pretended GPU' ;;
*=driver_version) echo 580.1 ;;
*=compute_cap) echo 9.0 ;;
esac
E2
good_examples() {
	program built/examples <<'E2'
for n in 1 2 3 4; do
	[ "${1:-$n}" -ne $n ] || echo "ok $n - example $n"
done
echo 1..4
E2
}
good_programs() {
	good_examples
	echo 'echo "| a row | 1 ms | |"' | program built/bench
	printf 'echo "ok 1 - the store"\necho 1..1\n' | program built/store/tests/gpu/t-gpu-device
	echo 'echo "gpu/out  reel store, checksum  8589934592  0.129  0.127  0.130  6.61  0.0"' |
		program built/store/bench/reel-bench
	printf 'echo "ok 1 - wave"\necho "# 7 runs"\necho 1..1\n' | program built/store/examples/gpu/gpu-tsunami
}

# python PYTEST BENCH [RACES]: makes an interpreter that runs these shell commands in place of pytest, of
# bench/perceptron.py, and of pytest while PyTorch looks for races.
python() {
	program bin/python3 <<E2
case \$* in
*is_available*) echo works ;;
*'-m pytest'*) if [ -n "\${TORCH_CUDA_SANITIZER-}" ]; then ${3-$1}; else $1; fi ;;
*perceptron.py*) $2 ;;
esac
E2
}
pytest_passes='echo "t.py::one PASSED"; echo "t.py::two[a] PASSED"; echo "= 2 passed in 1.2s ="'
bench_passes='echo "| \`reel.offload()\` | 1 |"; echo noise'

# try OPTION...: runs try.sh in a tree with the fake programs.
try() {
	rm -f tree/bench/*
	PATH="$PWD/bin:$PATH" tree/gpu/try.sh "$@" >said 2>&1
}

results=tree/bench/RESULTS-gpu.md
has() {
	grep -qF "$1" $results
	ok $? "the results: $1"
}

says() {
	grep -q "$1" said
	ok $? "it says: $1"
}

printf 'echo "========= ERROR SUMMARY: 0 errors"\n' | program bin/compute-sanitizer
good_programs
true | program built/python/libreel.so.0
python "$pytest_passes" "$bench_passes"
echo 'seen before' | tee built/notes.md built/notes.out built/tsunami.md >built/examples.out
OUT=$PWD/out try --run built
ok $? 'all that is built is run'
has 'Pretended GPU, driver 580.1, compute capability 9.0'
has 'It came to its end: 4 passed, 0 failed.'
has '| a row | 1 ms | |'
has 'It came to its end: 2 passed, 0 failed.'
has '| `reel.offload()` | 1 |'
! grep -q noise $results
ok $? 'the results: nothing else of the benchmark in Python'
has 'gpu/out  reel store'
has '| gpu/out, with checksums: speed over that of a pinned copy | 0.151 | at least 0.9: missed |'
has '7 runs'
[ "$(grep -c '^Clean\.$' $results)" -eq 3 ]
ok $? 'three tools for races and memory find nothing'
says '^21 passed, 0 failed$'
cmp $results out/RESULTS-gpu.md && grep -q 'ok 3 - example 3' out/said
ok $? 'OUT has the results, and what was said'
cat built/notes.md built/notes.out >notes && [ "$(wc -l <notes)" -eq 2 ] &&
	! grep -q 'seen before' built/tsunami.md built/examples.out
ok $? 'what an earlier run has left is removed, and no other file'

program built/examples <<'E2'
case ${1-} in
'') echo 'ok 1 - example 1'; echo 'device: unspecified launch failure' >&2; kill -SEGV $$ ;;
[1-4]) echo "ok $1 - example $1"; echo 1..4 ;;
*) echo 1..4 ;;
esac
E2
! try --run built
ok $? 'an example that dies is a failure'
says 'unspecified launch failure'
has 'It ended with status 139: 3 passed, 0 failed.'
has 'gpu/out  reel store'

good_programs
printf 'echo "| a row |"\nsleep 60\n' | program built/bench
! try --seconds 10 --run built
ok $? 'a program that does not end is a failure'
has 'It came to its end: 4 passed, 0 failed.'
has 'Stopped: there was no more time.'
has '| a row |'

good_programs
printf 'echo "1..0 # SKIP no device"\n' | program built/store/tests/gpu/t-gpu-device
printf ':\n' | program built/store/bench/reel-bench
! try --run built
ok $? 'a store that cannot be tried is a failure'
says "FAILED: the store, on Pretended GPU, came to the end"
says 'FAILED: has figures'

rm -f built/bench built/store/examples/gpu/gpu-tsunami built/store/tests/gpu/t-gpu-device built/store/bench/reel-bench
good_examples
try --run built
has 'Not run.'

# ---- Python ----

# fails WHAT PYTEST BENCH [RACES]: a check that this is a failure.
fails() {
	what=$1
	shift
	python "$@"
	! try --run built
	ok $? "$what is a failure"
}
fails 'a test that fails' 'echo "t.py::a PASSED"; echo "t.py::b FAILED"; echo "= 1 failed, 1 passed in 1s ="; exit 1' \
	"$bench_passes" "$pytest_passes"
has 'It came to its end: 1 passed, 1 failed.'
fails 'a test that ends the process' 'echo "t.py::a PASSED"; kill -SEGV $$' "$bench_passes"
has 'It ended with status 139: 1 passed, 0 failed.'
has '| `reel.offload()` | 1 |'
fails 'a file of tests that cannot be read' 'echo "= 1 error in 0.1s ="; exit 2' "$bench_passes"
fails 'a wrong gradient' "$pytest_passes" "$bench_passes; echo 'FAULT: memory: WRONG GRADIENTS'; exit 1"
has 'FAULT: memory: WRONG GRADIENTS'
has '| `reel.offload()` | 1 |'
fails 'a benchmark without figures' "$pytest_passes" :
fails 'a race' "$pytest_passes" "$bench_passes" 'echo "CSAN detected a possible data race on tensor"; exit 1'
says 'CSAN detected'

# leaves_out WHAT REASON: a check that try.sh leaves it out with the reason, and that this is no failure.
leaves_out() {
	try --run built
	[ $? -eq 0 ] && grep -qF "  skipped: $1: $2" said && grep -qF "Left out: $2" $results
	ok $? "left out: $1: $2"
}
python "$pytest_passes" "$bench_passes" 'exit 1'
leaves_out python-races 'it found no race, and the tests ended with status 1'
mv tree/tests/python/test_offload_device.py .
leaves_out python 'there is no tests/python/test_offload_device.py'
mv test_offload_device.py tree/tests/python
echo 'case $* in *is_available*) echo works ;; *"import pytest"*) exit 1 ;; *) echo "| \`reel\` |" ;; esac' |
	program bin/python3
leaves_out python 'python3 has no pytest'
echo 'echo "PyTorch sees no GPU"' | program bin/python3
leaves_out python-bench 'PyTorch sees no GPU'
echo 'exit 1' | program bin/python3
leaves_out python 'python3 has no PyTorch, or no NumPy'

# ---- Options, and building ----

# is_wrong WHAT STATUS OPTION...: a check that try.sh refuses the options in one line.
is_wrong() {
	what=$1 wanted=$2
	shift 2
	try "$@"
	[ $? -eq "$wanted" ] && [ "$(wc -l <said)" -eq 1 ]
	ok $? "$what: $(cat said)"
}
is_wrong 'an unknown option' 2 --fast
is_wrong 'an option without its number' 2 --seconds
is_wrong 'seconds that are no number' 2 --seconds soon
echo 'exit 9' | program bin/nvidia-smi
is_wrong 'no GPU' 77 --run built
is_wrong 'no GPU, and no architecture' 2 --build built

# Builds the real programs and libraries without configure by nvcc. Without an nvcc a fake one compiles no kernel, and
# links the libraries with an empty program.
mkdir -p whole/examples whole/bench whole/build-aux
cp -r "$SOURCE_DIR/gpu" "$SOURCE_DIR/include" "$SOURCE_DIR/lib" whole
cp -r "$SOURCE_DIR/examples/gpu" whole/examples
cp "$SOURCE_DIR/bench/device.cu" whole/bench
cp "$SOURCE_DIR/configure.ac" whole
cp -r "$SOURCE_DIR/build-aux/amalgamation" whole/build-aux
program nvcc <<'E2'
[ "$1" != --version ] || exit 0
objects=$(printf '%s\n' "$@" | grep '\.o$')
while [ "$1" != -o ]; do shift; done
echo 'int main(void) { return 0; }' | $CC -x c - -x none -o "$2" $objects -lpthread -ldl
E2
export CC
NVCC=${NVCC:-$PWD/nvcc} whole/gpu/try.sh --build --architecture 90 built/whole >said 2>&1
says 'ok: the libraries compile'
says 'ok: the examples compile'
says 'ok: the benchmark compiles'
[ -n "$NVCC" ] || skip 'kernels: there is no nvcc that builds programs'
if python3 -c '' 2>/dev/null; then
	LD_LIBRARY_PATH=built/whole/python python3 -c '
import ctypes
assert ctypes.CDLL("libreel-cuda.so.0").reel_store_gpu_open
version = ctypes.CDLL("libreel.so.0").reel_version
version.restype = ctypes.c_char_p
print(version().decode())' >version
	ok $? 'Python loads its libraries'
	grep -qF "AC_INIT([reel], [$(cat version)])" "$SOURCE_DIR/configure.ac"
	ok $? 'they have the version of configure'
else
	skip 'Python loads its libraries: there is no python3'
fi
end
