#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the verifier of OpenMP programs: it reports each planted mistake with its line, and nothing else.
. "$SOURCE_DIR/tests/tap/tap.sh"

tool=$BUILD_DIR/.libs/libreel-verify.so
[ -f "$tool" ] || skip_all 'the verifier is not built'

# The compiler with LLVM's runtime.
compiler=$CC
$CC --version 2>/dev/null | grep -q clang || compiler=clang
sanitize=$(printf '%s\n' $CFLAGS | grep -e '^-fsanitize=' -e '^-fno-sanitize')
case $sanitize in
*thread*) skip_all 'ThreadSanitizer does not see into the runtime of OpenMP' ;;
?*) [ "$compiler" = "$CC" ] || skip_all 'the library has the sanitizer of another compiler' ;;
esac

# compile COMPILER OUTPUT SOURCE [FLAG...]: compiles a program with OpenMP.
compile() {
	with=$1 output=$2 source=$3
	shift 3
	$with -std=c11 -Wall -Wextra -Werror -g -O1 $sanitize -fopenmp -I"$SOURCE_DIR/include" \
		"$source" -o "$output" -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" "$@" -lm
}

echo 'int main(void) { return 0; }' >empty.c
compile $compiler empty empty.c >messages 2>&1 ||
	skip_all "$compiler -fopenmp: $(head -n 1 messages)"

program=$SOURCE_DIR/tests/omp/verifier-program.c
compile $compiler checked "$program" -lreel-omp -lreel >messages 2>&1
is_empty messages 'programs are compiled'

# verify HOW NAME: runs a mistake under the verifier. The file `found` has its findings, without the summary.
verify() {
	: >found
	case $1 in
	preloaded) env LD_PRELOAD="$tool" REEL_VERIFY=found ./checked $2 ;;
	loaded) env OMP_TOOL_LIBRARIES="$tool" REEL_VERIFY=found ./checked $2 ;;
	esac >stdout 2>stderr
	status=$?
	sed '$d' found >found-all
	sed -n '$p' found >summary
}

ways='loaded preloaded'
# A program with a sanitizer has to preload the sanitizer's runtime first, so the verifier is only loaded later. The
# leak detector of clang 14 crashes on libraries that are loaded later.
if [ -n "$sanitize" ]; then
	ways=loaded
	ASAN_OPTIONS="detect_leaks=0 $ASAN_OPTIONS"
	export ASAN_OPTIONS
fi

for name in right-steps right-lanes right-tasks right-bodies right-nested; do
	for way in $ways; do
		verify $way $name
		[ $status -eq 0 ] && grep -q '^reel-verify: 0 errors, 0 warnings, 0 notes' summary
		ok $? "$name, $way: the program runs"
		is_empty found-all "$name, $way: nothing is found"
	done
done

# finds NAME SEVERITY WORDS: checks the first finding, and that all findings are in the line that is marked with NAME.
finds() {
	verify $way $1
	line=$(grep -n "at: $1 " "$program" | cut -d: -f1)
	[ -n "$line" ] && grep -q "^reel-verify: $2: verifier-program.c:$line in [^:]*: .*$3" found-all
	ok $? "$1, $2: line $line: $3"
	grep '^reel-verify: [a-z]*:' found-all | grep -v ": verifier-program.c:$line in " >elsewhere
	is_empty elsewhere "$1: nothing is found elsewhere"
}

way=loaded
finds barrier error 'barrier without a phase'
finds implicit-barrier error 'barrier without a phase'
finds barrier-and-next error 'reel_worker_next() after the barrier gives none'
finds few-threads error '2 threads for 4 lanes'
finds phase error 'phase without a barrier'
finds worker-phase error 'phase without a barrier'
finds dynamic error 'REEL_FOR'
finds static warning 'REEL_FOR'
finds single error 'REEL_SINGLE()'
finds sections error 'recorded in sections'
finds critical warning 'critical section in which a lane recorded'
finds commuting note 'critical section without reel_ordered_note()'
finds lock warning 'lock in which a lane recorded'
finds order warning 'outside of a critical section'
finds await error 'within a critical section'
finds task-lane warning 'task without reel_task_begin()'
finds task-lane error 'recorded on the lane of the thread'
finds migrates error 'uses the lane of the thread'
finds other-lane error 'another lane than it began with'
finds taskwait error 'taskwait without reel_task_wait()'
finds wait-early error 'while tasks may still run'
finds depend warning 'reel_task_begin() was not given'
finds depend-kind warning 'a task writes'
finds second-team error 'second team'
finds size warning 'thread [01] of 4, in thread [01] of a team of 2'

# Only a preloaded verifier sees lanes that are opened before OpenMP's runtime starts.
way=preloaded
if [ -z "$sanitize" ]; then
	finds no-region error 'without a region'
	finds on-parent warning 'in which its region was begun'
fi

verify loaded barrier
grep -q '  in thread [01] of 2, in the region begun at verifier-program.c:[0-9]* in ' found-all
ok $? 'the thread and the region are told'
grep -q '^reel-verify: 1 error, 0 warnings, 0 notes; parallel regions: 1, regions of Reel: 1, tasks: 0' summary
ok $? 'the last line counts'

strip -g checked -o stripped 2>messages && OMP_TOOL_LIBRARIES=$tool ./stripped barrier 2>stderr
grep -q '^reel-verify: error: [^ ]*+0x[0-9a-f]*: a barrier' stderr
ok $? 'without debugging information addresses are told, on stderr'

(OMP_TOOL_LIBRARIES=$tool REEL_VERIFY=abort ./checked barrier) >stdout 2>stderr
[ $? -gt 128 ] && grep -q '^reel-verify: error' stderr
ok $? 'REEL_VERIFY=abort ends the program at an error'
OMP_TOOL_LIBRARIES=$tool REEL_VERIFY=abort ./checked static >stdout 2>stderr
ok $? 'the program does not end at a warning'
OMP_TOOL_LIBRARIES=$tool REEL_VERIFY=./no/such ./checked barrier 2>stderr
grep -q 'REEL_VERIFY=./no/such: .*stderr' stderr && grep -q '^reel-verify: error' stderr
ok $? 'a file that cannot be written is told'
echo 'results of a month' >found
OMP_TOOL_LIBRARIES=$tool REEL_VERIFY=found ./checked barrier
sed -n 1p found | grep -q 'results of a month' && grep -q '^reel-verify: error' found
ok $? 'what a file has already stays'

# The verifier reports that it cannot check these programs.
cat >alone.c <<'END'
int main(void)
{
	int n = 0;
#pragma omp parallel reduction(+ : n)
	n += 1;
	return n < 1;
}
END
compile $compiler alone alone.c >messages 2>&1
OMP_TOOL_LIBRARIES=$tool ./alone 2>stderr
grep -q 'no call of libreel-omp was seen' stderr
ok $? 'a program without libreel-omp'
if [ -z "$sanitize" ] && compile gcc other "$program" -lreel-omp -lreel >messages 2>&1; then
	LD_PRELOAD=$tool ./other right-steps 2>stderr
	grep -q 'OpenMP has reported no event' stderr
	ok $? "a program with gcc's runtime"
else
	skip "a program with gcc's runtime"
fi
$NM -D --defined-only "$tool" | awk '{ print $NF }' | grep -v -e '^ompt_start_tool$' -e '^_' >exported
is_empty exported 'it exports what the runtime looks for, and nothing else'
end
