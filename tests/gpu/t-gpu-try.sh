#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs gpu/try.sh with fake programs. Whatever they do, the results have the parts that ran before.
. "$SOURCE_DIR/tests/tap/tap.sh"

bash --version >/dev/null 2>&1 || skip_all 'no bash'
mkdir -p tree/gpu tree/bench bin built/store/tests/gpu built/store/bench built/store/examples/gpu out
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
	echo 'echo "gpu/out 1 2 3"' | program built/store/bench/reel-bench
	printf 'echo "ok 1 - wave"\necho "# 7 runs"\necho 1..1\n' | program built/store/examples/gpu/gpu-tsunami
}

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
echo 'seen before' | tee built/notes.md built/notes.out built/tsunami.md >built/examples.out
OUT=$PWD/out try --run built
ok $? 'all that is built is run'
has 'Pretended GPU, driver 580.1, compute capability 9.0'
has 'It came to its end: 4 passed, 0 failed.'
has '| a row | 1 ms | |'
has 'gpu/out 1 2 3'
has '7 runs'
has 'Clean.'
says '^15 passed, 0 failed$'
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
has 'gpu/out 1 2 3'

good_programs
printf 'echo "| a row |"\nsleep 60\n' | program built/bench
! try --seconds 3 --run built
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

rm -f built/bench built/store/examples/gpu/gpu-tsunami
good_examples
try --run built
has 'Not run.'

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

# Builds the real programs without configure by nvcc. Without an nvcc a fake one compiles no kernel, and links the host's
# part of the tape with an empty program.
mkdir -p whole/examples whole/bench
cp -r "$SOURCE_DIR/gpu" "$SOURCE_DIR/include" "$SOURCE_DIR/lib" whole
cp -r "$SOURCE_DIR/examples/gpu" whole/examples
cp "$SOURCE_DIR/bench/device.cu" whole/bench
program nvcc <<'E2'
[ "$1" != --version ] || exit 0
objects=$(printf '%s\n' "$@" | grep '\.o$')
while [ "$1" != -o ]; do shift; done
echo 'int main(void) { return 0; }' | $CC -x c - -x none -o "$2" $objects -lpthread -ldl
E2
export CC
NVCC=${NVCC:-$PWD/nvcc} whole/gpu/try.sh --build --architecture 90 built/whole >said 2>&1
says 'ok: the examples compile'
says 'ok: the benchmark compiles'
[ -n "$NVCC" ] || skip 'kernels: there is no nvcc that builds programs'
end
