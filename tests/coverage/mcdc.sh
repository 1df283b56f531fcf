#!/bin/sh
# SPDX-License-Identifier: MIT
# Counts the conditions in lib/ for which a test has shown that they decide by themselves (MC/DC), by clang 19.
usage='Usage: tests/coverage/mcdc.sh [--work DIRECTORY] [--reuse] [--results FILE]

Build with clang-19 -fcoverage-mcdc in DIRECTORY/build (build/coverage-mcdc/build), run the test
programs, and print for each file of lib/ how many of its branches were taken and of its
conditions were shown to decide. Tests run at full length unless TEST_LONG is empty. DIRECTORY/unshown lists the others.
Where clang-19 is not there, it says so and ends with status 77.

  --reuse         use what the programs of the last run have counted
  --results FILE  the table'

refuse() {
	echo "mcdc.sh: $1; see tests/coverage/mcdc.sh --help" >&2
	exit 2
}

source=$(cd "$(dirname "$0")/../.." && pwd) || exit
work=$source/build/coverage-mcdc reuse= results=
while [ $# -gt 0 ]; do
	case $1 in
	--help) echo "$usage" && exit ;;
	--reuse) reuse=yes ;;
	--work | --results)
		[ $# -gt 1 ] || refuse "$1 takes an argument"
		[ "$1" = --work ] && work=$2 || results=$2
		shift
		;;
	*) refuse "$1: no such option" ;;
	esac
	shift
done
for tool in clang-19 llvm-profdata-19 llvm-cov-19; do
	command -v $tool >/dev/null || {
		echo "skipped: no $tool (Debian: clang-19, libclang-rt-19-dev, llvm-19)"
		exit 77
	}
done
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit
build=$work/build
TEST_LONG=${TEST_LONG-yes}
export TEST_LONG
awk=${AWK:-awk}

build_all() {
	mkdir -p "$build"
	[ -f "$build/config.status" ] || (cd "$build" && "$source/configure" -q --enable-coverage=mcdc \
		--disable-shared --disable-openmp --with-mpi=no CC=clang-19 CFLAGS='-O0 -g') >"$work/configure.log" 2>&1 ||
		refuse "configure failed: $work/configure.log"
	make -C "$build" -j "${JOBS:-2}" test-programs >"$work/make.log" 2>&1 ||
		refuse "make failed: $work/make.log"
}

programs() {
	for program in "$build"/tests/*/t-*; do
		case ${program##*/} in *.*) ;; *) echo "$program" ;; esac
	done
}

run_all() {
	rm -rf "$work/counts"
	mkdir -p "$work/counts"
	programs | while read -r program; do
		LLVM_PROFILE_FILE="$work/counts/%4m.profraw" timeout -k 5 240 "$program" \
			>"$work/log" 2>&1 </dev/null || echo "mcdc.sh: ${program##*/} fails" >&2
	done
	llvm-profdata-19 merge -o "$work/profile" "$work"/counts/*.profraw || exit
}

if [ -z "$reuse" ]; then
	build_all
	run_all
fi

# A program contains only the members of an archive that it needs, so the report takes the code of all programs.
objects=$(programs | sed '1!s/^/-object /')
report="-instr-profile=$work/profile $objects -ignore-filename-regex=/(tests|bench|omp|dropin|build)/"
llvm-cov-19 report $report -show-branch-summary -show-mcdc-summary -show-region-summary=false \
	>"$work/report" 2>"$work/report.log" || refuse "llvm-cov-19 failed: $work/report.log"
llvm-cov-19 show $report -show-mcdc 2>/dev/null |
	$awk '/^\/.*:$/ { file = $0 } /MC\/DC Decision Region|Not Covered|: not covered/ { print file $0 }' >"$work/unshown"

# The last columns are lines, missed, share, branches, missed, share, conditions, missed, share.
$awk -v source="$source/" '
	$1 ~ /\.[ch]$/ && NF >= 9 {
		b = $(NF - 5)
		m = $(NF - 2)
		print $1, b - $(NF - 4) "/" b, m - $(NF - 1) "/" m
	}' "$work/report" | sort >"$work/table"
$awk '
	BEGIN { printf "%-36s %11s %13s\n", "", "branches", "conditions" }
	{
		printf "%-36s %11s %13s\n", $1, $2, $3
		split($2, b, "/")
		split($3, m, "/")
		branches += b[1]
		branches_all += b[2]
		conditions += m[1]
		conditions_all += m[2]
	}
	END { printf "%-36s %11s %13s\n", "all", branches "/" branches_all, conditions "/" conditions_all }
' "$work/table"

if [ -n "$results" ]; then
	{
		echo "compiler $(clang-19 --version | head -n 1)"
		echo "processor $(sed -n "s|^model name.*: ||p" /proc/cpuinfo | head -n 1)"
		cat "$work/table"
	} >"$results"
fi
