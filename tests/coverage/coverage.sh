#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts the lines and branches of the library that the tests reach, by gcov.
usage='Usage: tests/coverage/coverage.sh [--work DIRECTORY] [--reuse] [--results FILE] [--by-test FILE]

Build with gcc --coverage in DIRECTORY/build (build/coverage/build), run the tests, one at a time,
and print for each file of lib/, include/reel/, omp/ and dropin/adstack/ how many of its lines were
reached and of its branches taken. DIRECTORY/unreached lists the others, without those for which a note
at the line has a reason (notes.awk). A note that excuses nothing is an error. Tests run at full length
unless TEST_LONG is empty.

  --reuse         count again what the tests of the last run reached; run none
  --only PATTERN  run only tests whose names match; the others count as they last ran
  --results FILE  the table
  --by-test FILE  which tests reach which line: FILE LINE TEST...'

refuse() {
	echo "coverage.sh: $1; see tests/coverage/coverage.sh --help" >&2
	exit 2
}

source=$(cd "$(dirname "$0")/../.." && pwd) || exit
work=$source/build/coverage reuse= results= by_test= only=.
while [ $# -gt 0 ]; do
	case $1 in
	--help) echo "$usage" && exit ;;
	--reuse) reuse=yes ;;
	--work | --results | --by-test | --only)
		[ $# -gt 1 ] || refuse "$1 takes an argument"
		case $1 in
		--work) work=$2 ;;
		--results) results=$2 ;;
		--by-test) by_test=$2 ;;
		--only) only=$2 ;;
		esac
		shift
		;;
	*) refuse "$1: no such option" ;;
	esac
	shift
done
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit
build=$work/build
TEST_LONG=${TEST_LONG-yes}
export TEST_LONG
awk=${AWK:-awk}
CC=${CC:-gcc}
gcov=${GCOV:-gcov}
command -v "$gcov" >/dev/null || refuse "$gcov is not there: install gcc, or set GCOV"

# Tests that run installed programs, or link in another way, are left out: they cannot be instrumented.
scripts='tests/dropin/t-adstack-process.sh tests/dropin/t-adstack-programs.sh tests/tools/t-info.sh tests/tools/t-plan.sh
	tests/tools/t-stress.sh'

build_all() {
	mkdir -p "$build"
	[ -f "$build/config.status" ] || (cd "$build" && "$source/configure" -q --enable-coverage \
		--disable-static --enable-openmp --with-mpi=no CC="$CC" CFLAGS='-O0 -g') >"$work/configure.log" 2>&1 ||
		refuse "configure failed: $work/configure.log"
	make -C "$build" -j "${JOBS:-2}" check TESTS= >"$work/make.log" 2>&1 ||
		refuse "make failed: $work/make.log"
}

# rows TEST: writes to rows/TEST the lines and branches that the test reached, from the counters below counts/TEST.
rows() {
	counts=$work/counts/$1
	(cd "$counts$build" && find . -name '*.gcda') | while read -r counter; do
		notes=${counter%.gcda}.gcno
		ln -sf "$build/$notes" "$counts$build/$notes"
	done
	find "$counts" -name '*.gcda' -exec "$gcov" -b -c -t {} + 2>/dev/null |
		$awk -v source="$source" -f "$source/tests/coverage/rows.awk" |
		grep -E '^[a-z]+ (lib|include/reel|omp|dropin/adstack)/' >"$work/rows/$1"
	rm -rf "$counts"
}

# run NAME COMMAND...: runs a test with its own counters.
run() {
	name=$1
	shift
	rm -rf "$work/counts/$name"
	mkdir -p "$work/counts/$name" "$work/rows" "$work/logs"
	GCOV_PREFIX=$work/counts/$name "$@" >"$work/logs/$name" 2>&1 </dev/null ||
		echo "coverage.sh: $name fails: $work/logs/$name" >&2
	rows "$name"
}

run_all() {
	for program in "$build"/tests/*/t-*; do
		name=${program##*/}
		case $name in *.*) continue ;; esac
		echo "$name" | grep -q -E -e "$only" || continue
		run "$name" timeout -k 5 240 env OMP_WAIT_POLICY=passive "$program"
	done
	echo scripts | grep -q -E -e "$only" || return
	run scripts make -C "$build" check TESTS="$(echo $scripts)"
}

if [ -z "$reuse" ]; then
	build_all
	run_all
fi

(cd "$source" && $awk -f tests/coverage/notes.awk lib/*/*.[ch] lib/*/*/*.[ch] include/reel/*.h omp/*/*.[ch] dropin/adstack/*.[ch]) >"$work/notes"
>"$work/stale"
# table.awk adds up the counts of a line, which most tests share.
cat "$work"/rows/* | $awk -v source="$source" -v wanted='^(lib|omp|dropin/adstack|include/reel)/' \
	-v unreached="$work/unreached.all" -v notes="$work/notes" -v stale="$work/stale" \
	-f "$source/tests/coverage/table.awk" | sort >"$work/table"
sort -t : -k 1,1 -k 2,2n "$work/unreached.all" >"$work/unreached"

$awk '
	function percent(part, whole) { return whole ? sprintf("%6.1f %%", 100 * part / whole) : "       -" }
	function show(name, a, b, c, d) {
		printf "%-36s %11s %s %11s %s\n", name, a "/" b, percent(a, b), c "/" d, percent(c, d)
	}
	BEGIN { printf "%-36s %11s %8s %11s %8s\n", "", "lines", "", "branches", "" }
	{
		split($2, l, "/")
		split($3, b, "/")
		part = $1
		sub(/\/[^\/]*$/, "", part)
		for (i = 1; i <= 2; i++) {
			lines[part, i] += l[i]
			branches[part, i] += b[i]
		}
		parts[part] = 1
		show($1, l[1], l[2], b[1], b[2])
	}
	END { for (part in parts) show("all of " part "/", lines[part, 1], lines[part, 2], branches[part, 1], branches[part, 2]) }
' "$work/table"

if [ -n "$results" ]; then
	{
		echo "compiler $("$CC" --version | head -n 1)"
		echo "processor $(sed -n "s|^model name.*: ||p" /proc/cpuinfo | head -n 1)"
		echo "unreached $(wc -l <"$work/unreached")"
		echo "explained $(cat "$work/unreached.all.explained")"
		cat "$work/table"
	} >"$results"
fi

if [ -n "$by_test" ]; then
	for rows in "$work"/rows/t-*; do
		$awk -v test="${rows##*/}" '$1 == "line" && $4 > 0 { print $2, $3, test }' "$rows" | sort -u
	done | sort -k 1,1 -k 2,2n | $awk '
		$1 " " $2 != key { if (key) print key names; key = $1 " " $2; names = "" }
		{ names = names " " $3 }
		END { if (key) print key names }' >"$by_test"
fi

[ ! -s "$work/stale" ] || { cat "$work/stale" >&2 && exit 1; }
