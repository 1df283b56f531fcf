#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests programs with libreel-adstack as processes: their errors, the files that they leave, and the names that
# the library defines.
. "$SOURCE_DIR/tests/tap/tap.sh"

shared=$BUILD_DIR/.libs/libreel-adstack.so
static=$BUILD_DIR/.libs/libreel-adstack.a
static_libs=$(sed -n "s/^dependency_libs='\(.*\)'/\1/p" "$BUILD_DIR/libreel-adstack.la")
library=$shared
[ -f "$library" ] || library=$static

$CC $CFLAGS -w -std=gnu11 -I"$SOURCE_DIR/tests/adstack-programs" -o program \
	"$SOURCE_DIR/tests/adstack-programs/errors.c" "$library" $static_libs \
	-Wl,-rpath,"$BUILD_DIR/.libs" -lpthread || exit 1

# fails TEXT WHAT [NAME=VALUE...]: a check that the program ends with status 1, without output, and with one line that
# has TEXT on stderr.
fails() {
	text=$1
	what=$2
	shift 2
	env "$@" ./program "$what" >stdout 2>stderr
	status=$?
	[ $status -eq 1 ] && [ ! -s stdout ] && [ "$(wc -l <stderr)" -eq 1 ] &&
		grep -q -e "^reel: adstack: .*$text" stderr
	ok $? "$what${1:+ with $*}: $text"
	[ $status -eq 1 ] || echo "#   exit status $status"
	sed 's/^/#   /' stderr
}

fails 'popReal8 of 8 bytes from a stack of 0.*thread 1, repeat level 0, 0 bytes' empty
fails 'popReal8 of 8 bytes from a stack of 0.*thread 1, repeat level 2, 0 bytes' level
fails 'popReal8 of 8 bytes from a stack of 0.*thread 2, repeat level 0' thread
fails 'adStack_endRepeat: no repeat level is open' end
fails 'adStack_resetRepeat: no repeat level is open' reset
fails 'finalizeDynamicSchedule without initDynamicSchedule' schedule
fails 'adBinomial_init: a loop of 10 steps cannot be reversed with 0 snapshots' binomial
fails 'pop of Real8 (8 bytes) at popReal8 does not mirror the push of Integer8' \
	mismatch REEL_CHECKED=1
fails 'hard budget of 16777216; raise it (REEL_BUDGET' heavy REEL_BUDGET=16M MEBIBYTES=32

./program mismatch 2>stderr
ok $? 'types are compared in checked mode only'

./program handled >seen 2>stderr
ok $? 'a handler that leaves by longjmp() keeps the program alive'
printf '1 1\n0 wrong\n' >wanted
diff wanted seen >difference
is_empty difference 'the stack serves on after a reset'

# ---- Spilling ----

spills() {
	mkdir -p spill
	REEL_BUDGET=24M REEL_SPILL_DIR=spill MEBIBYTES=96 ./program heavy >seen 2>stderr
	[ "$(cat seen)" = '0 wrong' ]
	ok $? 'a stack four times the budget comes back, twice'
	is_empty stderr 'the run says nothing'
	(REEL_BUDGET=24M REEL_SPILL_DIR=spill MEBIBYTES=64 ./program heavy >one 2>&1) &
	REEL_BUDGET=24M REEL_SPILL_DIR=spill MEBIBYTES=64 ./program heavy >two 2>&1
	wait
	[ "$(cat one two | sort -u)" = '0 wrong' ]
	ok $? 'two processes share a directory'

	REEL_BUDGET=24M REEL_SPILL_DIR=spill MEBIBYTES=48 ./program hang >seen 2>&1 &
	child=$!
	tries=0
	while ! grep -q ready seen && [ $tries -lt 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -9 $child
	wait $child 2>/dev/null
	ls -A spill >left
	is_empty left 'no file is left behind, not by a process that was killed either'
}
if can_spill; then
	spills
else
	skip 'spilling: files here are kept in memory'
fi

# ---- Counting ----

random=$BUILD_DIR/tests/dropin/t-adstack-random
if [ -x "$random" ]; then
	REEL_STATS=1 TEST_SEEDS=8 "$random" >seen 2>stderr
	ok $? 'REEL_STATS=1: results are the same'
	grep -q '^reel: adstack: thread 1: Control9b: ' stderr
	ok $? 'REEL_STATS=1: and all types are counted'
else
	skip "REEL_STATS=1: $random is not built"
fi

# ---- Segments ----

segments=$BUILD_DIR/tests/dropin/t-adstack-segments
for mode in REEL_CHECKED=1 REEL_STATS=1 'REEL_BUDGET=16M REEL_SPILL_DIR=.'; do
	[ -x "$segments" ] || continue
	case $mode in *SPILL*) can_spill || continue ;; esac
	env $mode "$segments" >seen 2>stderr
	ok $? "segments with $mode"
	grep '^not ok' seen | sed 's/^/#   /'
done

# ---- Tasks ----

# The program defines omp_in_explicit_task(), as a runtime of OpenMP 6 does, so the library can detect explicit tasks.
./program task 2>stderr
status=$?
[ $status = 0 ] && [ "$(wc -l <stderr)" -eq 1 ] &&
	grep -q 'explicit OpenMP task uses the stack of thread 1; .*reel_adstack_segment_enter' stderr
ok $? 'a task without a segment is reported, once'
sed 's/^/#   /' stderr
./program segment 2>stderr
ok $? 'a task with a segment works'
is_empty stderr 'a task with a segment is not reported'
fails 'more popped than pushed, unless by another thread or task (reel_adstack_segment_enter)' thread

# ---- Names ----

# names LIBRARY [NM-OPTION]: prints the global names that the library defines.
names() {
	file=$1
	shift
	$NM -P -g "$@" "$file" 2>/dev/null |
		awk '$2 ~ /^[A-TV-Zuvi]$/ && $2 != "A" && $1 !~ /^__/ {
			sub(/@.*/, "", $1); print $1 }' | sort -u
}

# The names of the original library, in C and in the forms of Fortran compilers.
{
	for type in Integer4 Integer8 Real4 Real8 Real16 Complex8 Complex16 Character Boolean \
		Pointer4 Pointer8 Control1b Control2b Control3b Control4b Control5b Control6b \
		Control7b Control8b Control9b Integer4Array Integer8Array Integer16Array \
		Real4Array Real8Array Real16Array Real32Array Complex4Array Complex8Array \
		Complex16Array Complex32Array CharacterArray BooleanArray Pointer4Array \
		Pointer8Array NArray; do
		echo "push$type pop$type look$type"
	done
	for type in REAL4 REAL8 REAL4ARRAY REAL8ARRAY; do
		echo "PUSH${type}_D POP${type}_D PUSH${type}_DV POP${type}_DV"
	done
	echo pushBit popBit adStack_startRepeat adStack_resetRepeat adStack_endRepeat
	echo adStack_getCurrentStackSize adStack_showPeakSize adStack_showTotalTraffic
	echo adStack_showStackSize adStack_showStack adStack_showTraffic stackIsThreadSafe
	echo assertSafeStack getStaticSchedule initDynamicSchedule recordDynamicSchedule
	echo finalizeDynamicSchedule adBinomial_init adBinomial_next adBinomial_resize
	echo adFixedPoint_notReduced adFixedPoint_tooLarge resetADLookStack
	echo PUSHPOINTER POPPOINTER
} | tr ' ' '\n' | awk '
	/[a-z]/ { print }
	{ $0 = tolower($0); print; print $0 "_"; print $0 "__" }' >wanted
echo 'pushNarray popNarray lookNarray' | tr ' ' '\n' >>wanted
grep . wanted | sort -u >names

if [ -f "$shared" ]; then
	names "$shared" -D >exported
	comm -23 names exported >missing
	is_empty missing 'each name of the original is exported, in all forms'
	comm -13 names exported | grep -v -e '^reel_adstack_' -e '^look' -e '^push.*_dv*_*$' \
		-e '^pop.*_dv*_*$' -e '^pushnarray' -e '^popnarray' -e '^REEL_ADSTACK' >surplus
	is_empty surplus 'the library exports nothing else'
fi
if [ -f "$static" ]; then
	names "$static" | grep -v -e '^reel_' -e '^_\.stapsdt\.base$' >defined
	comm -23 names defined >missing
	is_empty missing 'the static library has them, too'
	comm -13 names defined | grep -v -e '^look' -e '^push' -e '^pop' >foreign
	is_empty foreign 'the library has no names but those and reel_'
fi
end
