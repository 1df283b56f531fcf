#!/bin/sh
# SPDX-License-Identifier: MIT
# Changes the library in one place at a time, and runs tests to see if one of them fails.
usage='Usage: tests/mutate/mutate.sh [OPTION]... --file FILE... | --all | --report

Each mutant (mutants.awk) is compiled, linked with the tests that reach its line, and run with
them, the test of the same name first, until one fails. Verdicts are added to DIRECTORY/verdicts;
a run that was stopped goes on where it was, and several runs may share a directory.

  --file FILE       mutants of this file: lib/tape/x.c, lib/tape/x.h, omp/x.c, include/reel/inline.h; may be repeated
  --all             of all files of lib/, the sources of omp/, and include/reel/inline.h
  --sample N        only N of them, drawn by the seed
  --seed S          (1)
  --operator NAME   only boundary, comparison, condition, logic, arithmetic, sign, constant or statement
  --survivors       those again that survived before, after a test has changed
  --sanitizer thread  wrong memory orders, and tests that are built with ThreadSanitizer
  --tests "t-a t-b"  build and run these only
  --longest SECONDS  leave tests out that take longer by themselves (10)
  --minutes N       begin no mutant after so long
  --jobs N          so many at a time (2)
  --work DIRECTORY  (build/mutate)
  --report          show the counts of each file and who survived; run nothing
  --results FILE    with --report: the counts

Verdicts: killed (by a test; a test that hangs or dies is one), survived, unreached (survived, and
no test runs the line), same (the compiler makes the same code of it), invalid (it does not
compile). Survivors below a note "Mutants survive" (tests/coverage/notes.awk) are counted as explained.
--report ends with status 1 if a note excuses none.'

refuse() {
	echo "mutate.sh: $1; see tests/mutate/mutate.sh --help" >&2
	exit 2
}

here=$(cd "$(dirname "$0")" && pwd) || exit
source=${MUTATE_SOURCE:-${here%/tests/mutate}}
awk=${AWK:-awk}
work=$source/build/mutate files= sample= seed=1 operator= survivors= sanitizer= minutes= longest=10 tests= jobs=2
action=run results=
while [ $# -gt 0 ]; do
	case $1 in
	--help) echo "$usage" && exit ;;
	--all) files=$(cd "$source" && echo lib/*/*.[ch] lib/*/*/*.[ch] omp/[!v]*/*.c include/reel/inline.h) ;;
	--survivors) survivors=yes ;;
	--report) action=report ;;
	--file | --sample | --seed | --operator | --sanitizer | --minutes | --longest | --tests | --jobs | --work | --results)
		[ $# -gt 1 ] || refuse "$1 takes an argument"
		case $1 in
		--file)
			[ -f "$source/$2" ] || refuse "there is no file $2"
			files="$files $2"
			;;
		--sample) sample=$2 ;;
		--seed) seed=$2 ;;
		--operator) operator=$2 ;;
		--sanitizer) sanitizer=$2 ;;
		--minutes) minutes=$2 ;;
		--longest) longest=$2 ;;
		--tests) tests=$2 ;;
		--jobs) jobs=$2 ;;
		--work) work=$2 ;;
		--results) results=$2 ;;
		esac
		shift
		;;
	*) refuse "$1: no such option" ;;
	esac
	shift
done
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit
all_verdicts="$work/verdicts"
[ ! -f "$work/thread/verdicts" ] || all_verdicts="$all_verdicts $work/thread/verdicts"
# On many processors a wrong memory order makes the same code, so only ThreadSanitizer can find it.
if [ -n "$sanitizer" ]; then
	work=$work/$sanitizer
	kinds=order
else
	kinds='boundary|comparison|condition|logic|arithmetic|sign|constant|statement'
fi
verdicts=$work/verdicts
if [ "$action" = report ]; then
	every=$(cd "$source" && ls lib/*/*.[ch] lib/*/*/*.[ch] omp/[!v]*/*.c include/reel/inline.h 2>/dev/null)
	for file in $every; do
		"$awk" -f "$here/mutants.awk" "$source/$file" | sed "s|^|$file	|"
	done >"$work/current"
	(cd "$source" && "$awk" -f "$here/../coverage/notes.awk" $every) >"$work/notes"
	"$awk" -v current="$work/current" -v notes="$work/notes" -v results="$results" -f "$here/report.awk" $all_verdicts || exit
	[ -n "$results" ] || exit 0
	{
		echo "compiler $(${CC:-gcc} --version | head -n 1), -O1"
		echo "processor $(sed -n 's|^model name.*: ||p' /proc/cpuinfo | head -n 1)"
		echo "seed $seed"
		cat "$results"
	} >"$results.new" 2>/dev/null && mv "$results.new" "$results"
	exit
fi
[ -n "$files" ] || refuse 'which --file? or --all'

tab=$(printf '\t')
# As in make check, threads must not spin while they wait, because there may be more threads than processors.
OMP_WAIT_POLICY=passive
TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0 $TSAN_OPTIONS"
TEST_LONG=${TEST_LONG-yes}
export OMP_WAIT_POLICY TSAN_OPTIONS TEST_LONG
# Limits, because a mutant may ask for all memory, write without end, or crash.
ulimit -c 0
ulimit -f 4194304

# --- The commands and tests, found once for each directory.

# Prints the commands that make and libtool run: "compile OBJECT SOURCE COMMAND", "link PROGRAM COMMAND".
read_commands() {
	"$awk" -v build="$work/build" '
		/--mode=/ { next }
		{ sub(/^libtool: (compile|link): +/, "") }
		/ -c .*-o / && / -MF / {
			sub(/ *&&\\?$/, "")
			gsub(/`[^`]*`/, "'"$source"'/")
			sub(/ -MT [^ ]+ -MD -MP -MF [^ ]+/, "")
			gsub(/ -I\. /, " -I" build " ")
			for (i = 1; i <= NF; i++) {
				if ($i == "-o")
					object = $(i + 1)
				if ($i ~ /\.c$/)
					file = $i
			}
			sub(/ -o [^ ]+/, "")
			sub(" " file, "")
			sub(/ -c( |$)/, " ")
			print "compile\t" object "\t" file "\t" $0
		}
		/ -o tests\/([a-z]+\/)?t-[^ ]+ / && !/ -c / {
			for (i = 1; i <= NF; i++)
				if ($i == "-o")
					program = $(i + 1)
			sub(/ -o [^ ]+/, "")
			print "link\t" program "\t" $0
		}' "$1"
}

# Builds without MPI: no mutant is in mpi/, and tests with ranks take long.
prepare_build() {
	mkdir -p "$work/build"
	[ -f "$work/build/config.status" ] || (
		cd "$work/build" || exit
		if [ -z "$sanitizer" ]; then
			"$source/configure" -q --disable-shared --enable-openmp --with-mpi=no CFLAGS=-O1
		else
			"$source/configure" -q --disable-shared --disable-openmp CC="${CC:-clang}" CFLAGS='-O1 -g' \
				--with-pool=c11 --enable-yield-points --enable-sanitizer="$sanitizer" --with-mpi=no
		fi
	) >"$work/configure.log" 2>&1 || refuse "configure failed: $work/configure.log"
	programs=test-programs
	[ -z "$tests" ] || programs=$(for test in $tests; do
		grep -o "%D%/[a-z]*/$test\>" "$source/tests/local.mk" | sed 's|%D%|tests|' | sort -u
	done)
	make -C "$work/build" V=1 -j "$jobs" $programs >>"$work/make.log" 2>&1 ||
		refuse "make failed: $work/make.log"
	# The last command for an object or program counts, because it wrote the file that is there.
	read_commands "$work/make.log" | "$awk" -F '\t' '
		{ last[$1, $2] = $0 }
		END { for (key in last) print last[key] }' | sort >"$work/commands.$$"
	mv "$work/commands.$$" "$work/commands"
}

# Lists the tests of lib/ and omp/ that pass without a mutant, with their times: "TEST MILLISECONDS", the shortest first.
prepare_times() {
	grep "^link" "$work/commands" | grep -v -e -adstack-core | cut -f 2 | while read -r program; do
		begun=$(date +%s%N)
		(cd "$work" && timeout $((longest * 2)) "$work/build/$program") >"$work/log" 2>&1 </dev/null ||
			{ echo "mutate.sh: $program fails by itself, or is long; it is left out" >&2; continue; }
		echo "${program##*/} $((($(date +%s%N) - begun) / 1000000))"
	done | sort -k 2,2n >"$work/times.new"
	mv "$work/times.new" "$work/times"
}

# A directory with commands but without a build was made by hand, and is taken as it is.
prepare() {
	[ -s "$work/commands" ] && [ ! -f "$work/build/Makefile" ] || prepare_build
	[ -s "$work/times" ] || prepare_times
	[ -s "$work/by-test" ] || cp "${work%/"$sanitizer"}/by-test" "$work/by-test" 2>/dev/null ||
		"$source/tests/coverage/coverage.sh" --work "$work/coverage" --by-test "$work/by-test" \
			>"$work/coverage.log" || exit
}

# --- One mutant. $slot is a directory of the worker that tries it.

# own_first COMMAND: prints the command so that it searches headers below $slot/source first.
own_first() {
	echo "$1" | sed 's| -I| -Iinclude -Ilib -Itests -I|'
}

# object SOURCE OUTPUT: compiles the copy of a source file below $slot/source.
object() {
	command=$("$awk" -F '\t' -v file="$source/$1" '$1 == "compile" && $3 == file { print $4; exit }' "$work/commands")
	[ -n "$command" ] &&
		(cd "$slot/source" && eval "$(own_first "$command") -w -c '$1' -o '$2'" 2>"$slot/messages")
}

# Prints the sources to compile for a change of $file: the file, or the sources that include it.
dependents() {
	case $file in
	*.c) echo "$file" ;;
	*) for notes in "$work"/build/lib/*/.deps/*.P[lo]* "$work"/build/lib/*/*/.deps/*.P[lo]*; do
		grep -q "/$file\\([ :\\\\]\\|\$\\)" "$notes" &&
			echo "${notes%.P*}" | sed "s|^$work/build/||; s|\\.deps/.*_la-||; s|\$|.c|"
	done ;;
	esac
}

# copy_sources: copies the sources that a change of $file needs to the same places below $slot/source.
copy_sources() {
	rm -rf "$slot/source" "$slot/objects"
	mkdir -p "$slot/source/${file%/*}" "$slot/source/tests" "$slot/objects" "$slot/tmp"
	case $file in
	*.h)
		cp -R "$source/lib" "$slot/source/"
		cp -R "$source/include" "$slot/source/"
		cp -R "$source/tests" "$slot/source/"
		;;
	omp/*)
		cp -R "$source/omp" "$slot/source/"
		;;
	# A source file includes the headers of its folder by bare names.
	*) cp "$source/$file" "$source/${file%/*}"/*.h "$slot/source/${file%/*}/" ;;
	esac
}

# Compiles the objects of the unchanged file in the same way, to compare the objects of a mutant with them.
base_objects() {
	base=$snapshot/base/$file
	[ -d "$base" ] && return
	copy_sources
	for one in $sources; do
		object "$one" "$slot/objects/$(basename "$one").o" ||
			refuse "$one does not compile unchanged: $(head -n 1 "$slot/messages")"
	done
	mkdir -p "${base%/*}"
	[ -d "$base" ] || mv "$slot/objects" "$base"
}

# test_object NAME: compiles the object of a test program that includes the changed header. Prints the name of the original
# object, which it replaces.
test_object() {
	original=$(echo "$link" | tr ' ' '\n' | grep '^tests/.*\.o$' | head -n 1)
	command=$("$awk" -F '\t' -v o="$original" '$1 == "compile" && $2 == o { print $3 "\t" $4; exit }' "$work/commands")
	test_source=${command%%"$tab"*}
	grep -q "/$file\\([ :\\\\]\\|\$\\)" "$work/build/${original%/*}/.deps/$(basename "${original%.o}").Po" || return 0
	(cd "$slot/source" && eval "$(own_first "${command#*"$tab"}") -w \
		-c '${test_source#"$source/"}' -o '$slot/test.o'" 2>"$slot/messages") || return
	echo "$original"
}

# notices TEST: runs a test with the mutant. Returns 0 if the test fails, 1 if it passes, 2 if it cannot be built.
notices() {
	link=$("$awk" -F '\t' -v program="/$1" '$1 == "link" && $2 ~ program "$" { print $3; exit }' "$work/commands")
	case $file in
	*.h)
		original=$(test_object "$1") || return 2
		[ -z "$original" ] || link=$(echo "$link" | sed "s| $original | $slot/test.o |")
		;;
	esac
	# Objects before an archive on the command line take the place of its members.
	link=$(echo "$link" | sed "s| \\([^ ]*\\.a\\)| $objects \\1|")
	(cd "$work/build" && eval "$link -o '$slot/program'") 2>"$slot/messages" || return 2
	milliseconds=$("$awk" -v name="$1" '$1 == name { print $2 }' "$work/times")
	rm -rf "$slot/tmp" && mkdir "$slot/tmp"
	(
		cd "$slot/tmp" && TMPDIR=$slot/tmp timeout -k 1 $((milliseconds / 100 + 8)) sh -c '
			ulimit -t '$((milliseconds / 300 + 2))'
			exec "$0"' "$slot/program"
	) >"$slot/output" 2>&1 </dev/null && return 1
	return 0
}

# tests_for LINE: prints the tests of the file's name, then the tests that reach the line, or else the file. Tests that
# reach much of the file in little time come first.
tests_for() {
	stem=$(basename "${file%.[ch]}")
	"$awk" -v file="$file" -v line="$1" -v stem="$stem" -v longest="$longest" '
		FILENAME ~ /times$/ { if ($2 <= longest * 1000) time[$1] = $2; next }
		$1 == file {
			for (i = 3; i <= NF; i++) {
				of_file[$i]++
				if ($2 == line) { of_line[$i] = 1; reached = 1 }
			}
		}
		END {
			print reached ? "reached" : "unreached"
			for (name in time)
				if (name == "t-" stem)
					print -2, name
				else if (index(name, "t-" stem) == 1)
					print -1, name
				else if (reached ? name in of_line : name in of_file)
					print time[name] / of_file[name], name
		}' "$work/times" "$work/by-test" | sort -k 1,1n | "$awk" '{ print $NF }'
}

judge() {
	"$awk" -v make="$number" -f "$here/mutants.awk" "$snapshot/$file" >"$slot/mutated" &&
		cp "$slot/mutated" "$slot/source/$file"
	objects= same=yes
	# Inline code of a public header is compiled into the test itself, where most mutants are found.
	case $file in
	include/*) for name in $(tests_for "$line" | grep '^t-' | head -n 3); do
		notices "$name" && { echo "killed$tab$name"; return; }
		[ $? -eq 1 ] || { echo "invalid${tab}-"; return; }
	done ;;
	esac
	for one in $sources; do
		output=$slot/objects/$(basename "$one").o
		object "$one" "$output" || { echo "invalid${tab}-"; return; }
		cmp -s "$output" "$snapshot/base/$file/$(basename "$output")" || { same= objects="$objects $output"; }
	done
	case $file in
	# The code of a header in a test may differ although its code in the library does not.
	*.h) [ -z "$same" ] || [ -n "$in_tests" ] || { echo "same${tab}-"; return; } ;;
	*) [ -z "$same" ] || { echo "same${tab}-"; return; } ;;
	esac
	survived=survived
	for name in $(tests_for "$line"); do
		case $name in
		reached) continue ;;
		unreached) survived=unreached && continue ;;
		esac
		notices "$name"
		case $? in
		0) echo "killed$tab$name"; return ;;
		2) echo "invalid${tab}-"; return ;;
		esac
	done
	echo "$survived${tab}-"
}

# --- Many mutants.

# Lists the mutants to try: "FILE NUMBER LINE FUNCTION OPERATOR WHICH BEFORE AFTER", with tabs. Random numbers are drawn
# before any mutant is left out, so that a sample is the same when it is resumed.
list() {
	for file in $files; do
		"$awk" -f "$here/mutants.awk" "$snapshot/$file" | sed "s|^|$file$tab|"
	done | "$awk" -F '\t' -v OFS='\t' -v operator="^(${operator:-$kinds})\$" -v seed="$seed" \
		-v verdicts="$verdicts" '
		BEGIN {
			while ((getline row < verdicts) > 0) {
				split(row, f, "\t")
				verdict[f[1], f[2], f[3], f[4], f[5], f[6]] = f[7]
			}
			state = seed % 2147483646 + 1
		}
		$5 ~ operator {
			for (i = 0; i < 3; i++)
				state = state * 16807 % 2147483647
			known = verdict[$1, $4, $5, $6, $7, $8]
			print state, known ? known : "untried", $0
		}' | sort -n | head -n "${sample:-1000000}" |
		grep -E "^[0-9]+$tab$([ -n "$survivors" ] && echo '(survived|unreached)' || echo untried)$tab" |
		cut -f 3- | sort -t "$tab" -k 1,1 -k 2,2n
}

# claim KEY: succeeds if no other living worker has claimed the mutant.
claim() {
	claimed=$work/claims/$(printf '%s' "$1" | cksum | tr ' ' -)
	mkdir -p "$work/claims"
	if ! mkdir "$claimed" 2>/dev/null; then
		kill -0 "$(cat "$claimed/owner" 2>/dev/null || echo $$)" 2>/dev/null && return 1
	fi
	echo $$ >"$claimed/owner"
}

is_over() {
	[ -n "$minutes" ] && [ "$(date +%s)" -ge "$deadline" ]
}

# worker N: tries every mutant of the list whose number is N modulo the number of workers.
worker() {
	slot=$work/slot.$$.$1
	mkdir -p "$slot"
	previous=
	"$awk" -v n="$1" -v jobs="$jobs" 'NR % jobs == n' "$work/list.$$" |
		while IFS=$tab read -r file number line function kind which before after; do
			is_over && break
			key="$file$tab$function$tab$kind$tab$which$tab$before$tab$after"
			claim "$key" || continue
			if [ "$file" != "$previous" ]; then
				sources=$(dependents)
				in_tests=$(grep -l "/$file\\([ :\\\\]\\|\$\\)" "$work"/build/tests/*/.deps/*.Po 2>/dev/null)
				base_objects
				copy_sources
				previous=$file
			fi
			verdict=$(judge)
			printf '%s\t%s\t%s\n' "$key" "$verdict" "$line" >>"$verdicts"
			rm -rf "$claimed"
		done
	rm -rf "$slot"
}

prepare
touch "$verdicts"
# The mutants are of a copy, so that a source can be changed in the meantime.
snapshot=$work/snapshot.$$
trap 'rm -rf "$work/list.$$" "$snapshot" "$work/slot.$$".*' EXIT
trap "exit 1" INT TERM
for file in $files; do
	mkdir -p "$snapshot/${file%/*}"
	cp "$source/$file" "$snapshot/$file"
done
list >"$work/list.$$"
deadline=$(($(date +%s) + ${minutes:-0} * 60))
echo "# $(wc -l <"$work/list.$$") mutants to try, seed $seed"
n=0
while [ $n -lt "$jobs" ]; do
	worker $n 2>>"$work/log" &
	n=$((n + 1))
done
wait
