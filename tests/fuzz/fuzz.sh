#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fuzzes Reel: builds the targets for an engine, runs each for some time, and prints the results.
set -u
usage='Usage: fuzz.sh [OPTION]... [TARGET]...

Builds the targets below the present directory and runs those named, or all, for a time each,
from the inputs of tests/fuzz/corpus and those found before, which are kept in ENGINE/found/TARGET.
Prints a line a target: engine, target, seconds, executions, executions a second, inputs
kept, finds. Inputs that failed are left in ENGINE/crashes/TARGET. Exits with 1 if there are any.

  --engine NAME    libfuzzer, by clang, or afl, by AFL++ (afl-clang-fast); default libfuzzer
  --seconds N      of each target; default 60; 0: none are run
  --minimise       replace the seeds of tests/fuzz/corpus by the fewest that reach as much; libfuzzer
  --help           this text'

source=$(cd "$(dirname "$0")/../.." && pwd) || exit
engine=libfuzzer seconds=60 minimise= targets=()

die() {
	printf 'fuzz.sh: %s\n' "$1" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--engine) engine=${2-} && shift ;;
	--seconds) seconds=${2-} && shift ;;
	--minimise) minimise=yes ;;
	--help) echo "$usage" && exit ;;
	-*) die "$1 is no option; see --help" ;;
	*) targets+=("$1") ;;
	esac
	shift
done
[[ $seconds =~ ^[0-9]+$ ]] || die '--seconds takes a number'

case $engine in
libfuzzer)
	compiler=clang options=(--enable-sanitizer=fuzzer-no-link,address,undefined) ;;
afl)
	compiler=afl-clang-fast options=()
	export AFL_QUIET=1 AFL_SKIP_CPUFREQ=1 AFL_NO_UI=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 ;;
*) die 'the engine is libfuzzer or afl' ;;
esac
command -v "$compiler" >/dev/null || die "$compiler is not there; Debian: clang, or afl++"

# The options of a build for users, but without libraries that fuzzers cannot instrument.
mkdir -p "$engine" && cd "$engine" || exit
if [ ! -f Makefile ]; then
	"$source/configure" -q CC=$compiler CFLAGS='-O1 -g' --disable-shared --disable-openmp \
		--with-pool=c11 --with-tsunami=no --without-sqlite "${options[@]}" >configure.log 2>&1 ||
		die "configure failed, see $PWD/configure.log"
fi
make -j "$(nproc)" tests/fuzz/reel-fuzz tests/fuzz/reel-replay >make.log 2>&1 || die "make failed, see $PWD/make.log"
known=$(tests/fuzz/reel-replay --list)
[ ${#targets[@]} -gt 0 ] || targets=($known)
# Only known names are accepted, because folders with these names are removed below.
for target in "${targets[@]}"; do
	grep -qxF -e "$target" <<<"$known" || die "$target is no target: it may be ${known//$'\n'/, }"
done

# corpora TARGET: prints the folders with inputs of the target: inputs that were found before, and inputs of the sources,
# which it unpacks.
corpora() {
	mkdir -p "found/$1" "crashes/$1"
	echo "found/$1"
	[ -d "$source/tests/fuzz/corpus/$1" ] || return
	rm -rf "corpus/$1"
	"$source/tests/fuzz/seeds.sh" unpack "$source/tests/fuzz/corpus/$1" "corpus/$1" && echo "corpus/$1"
}

# Both set runs and finds.
run_libfuzzer() {
	local log=$1.log
	# The path has a folder, because the program starts itself again. LeakSanitizer runs after each input.
	FUZZ_TARGET=$1 tests/fuzz/reel-fuzz -max_total_time="$seconds" -print_final_stats=1 -timeout=25 \
		-rss_limit_mb=4096 -max_len=5000 -len_control=0 -close_fd_mask=3 -artifact_prefix="crashes/$1/" \
		$(corpora "$1") >"$log" 2>&1
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	[ -n "$runs" ] || runs=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -n 1)
}

run_afl() {
	local log=$1.log in=in/$1 out=out/$1
	rm -rf "$in" "$out"
	mkdir -p "$in" out crashes/$1
	for corpus in $(corpora "$1"); do
		cp -f "$corpus"/* "$in" 2>/dev/null
	done
	[ -n "$(ls "$in")" ] || echo reel >"$in/seed"
	FUZZ_TARGET=$1 AFL_MAP_SIZE=262144 afl-fuzz -V "$seconds" -i "$in" -o "$out" -t 5000+ -m none \
		-- tests/fuzz/reel-fuzz >"$log" 2>&1
	runs=$(sed -n 's/^execs_done *: *//p' "$out/default/fuzzer_stats" 2>/dev/null)
	cp -f "$out"/default/queue/id:* "found/$1" 2>/dev/null
	cp -f "$out"/default/crashes/id:* "$out"/default/hangs/id:* "crashes/$1" 2>/dev/null
}

count_files() {
	find "$1" -type f | wc -l
}

failed=0
[ "$seconds" -eq 0 ] || printf '%-10s %-12s %7s %12s %9s %6s %5s\n' engine target seconds executions a_second kept finds
for target in "${targets[@]}"; do
	[ "$seconds" -gt 0 ] || break
	runs=0 start=$SECONDS
	"run_$engine" "$target"
	took=$((SECONDS - start)) finds=$(count_files "crashes/$target")
	[ "$took" -gt 0 ] || took=1
	printf '%-10s %-12s %7d %12d %9d %6d %5d\n' "$engine" "$target" "$took" "${runs:-0}" \
		$((${runs:-0} / took)) "$(count_files "found/$target")" "$finds" | tee -a runs.txt
	[ "$finds" -eq 0 ] && [ "${runs:-0}" -gt 0 ] || failed=1
done

# minimise TARGET: adds inputs that were found to the seeds of the sources: some long inputs, and one for each part of the
# library that neither these nor the files beside the seeds reach.
minimise() {
	local target=$1 corpus=$source/tests/fuzz/corpus/$1 merged=merged/$1 folders
	rm -rf "$merged"
	mkdir -p "$merged" "$corpus"
	find "$corpus" -type f ! -name seeds -exec cp -t "$merged" {} +
	folders=$(corpora "$target")
	for file in $(find $folders -type f -size -2048c -printf '%s %p\n' | sort -rn | head -n 12 | cut -d ' ' -f 2); do
		cp "$file" "$merged/$(sha1sum <"$file" | cut -c 1-12)"
	done
	FUZZ_TARGET=$target tests/fuzz/reel-fuzz -merge=1 -use_counters=0 -max_len=2048 -close_fd_mask=3 \
		"$merged" $folders >"$target.merge.log" 2>&1 || return
	for file in "$corpus"/*; do
		rm -f "$merged/${file##*/}"
	done
	"$source/tests/fuzz/seeds.sh" pack "$merged" >"$corpus/seeds"
}

if [ -n "$minimise" ]; then
	for target in "${targets[@]}"; do
		minimise "$target"
	done
fi
exit $failed
