#!/bin/sh
# SPDX-License-Identifier: MIT
# Plants known faults in copies of lib/, one at a time. reel-stress has to find each of them within
# SEEDS rounds of a schedule. make check-scheduler runs this script, in a build with
# --enable-yield-points and --with-pool=c11. RESULTS=yes writes tests/results/scheduler.txt, and
# ONLY=TEXT plants only the faults with TEXT in their names.
. "$SOURCE_DIR/tests/tap/tap.sh"

grep -q '^# define REEL_YIELD_POINTS 1' "$BUILD_DIR/config.h" &&
	grep -q '^# define REEL_POOL_CK 0' "$BUILD_DIR/config.h" ||
	skip_all 'configure --enable-yield-points --with-pool=c11 is needed'

seeds=${SEEDS:-3000}
objects=
for object in $OBJECTS; do
	objects="$objects $BUILD_DIR/$object"
done
# The sources that a changed header of pool/, spill/ or os/ may affect.
parts=$(cd "$SOURCE_DIR/lib" && ls pool/*.c spill/*.c | sed 's/\.c$//')

compile() {
	$CC $CFLAGS -w -std=c11 -pthread -DHAVE_CONFIG_H -I"$BUILD_DIR" -I"$SOURCE_DIR/include" \
		-Ilib -c "lib/$1.c" -o "${1##*/}.o"
}

# plant FILE SED-COMMAND: builds reel-stress with a changed copy of the library. Fails if the command changes nothing.
plant() {
	rm -rf lib ./*.o mutant
	cp -r "$SOURCE_DIR/lib" lib
	sed "$2" "lib/$1" >changed
	if cmp -s changed "lib/$1"; then
		return 1
	fi
	mv changed "lib/$1"
	case $1 in
	*.c) changed=${1%.c} ;;
	*) changed=$parts ;;
	esac
	for part in $changed; do
		compile $part || return
	done
	$CC $CFLAGS -pthread $OPENMP_CFLAGS $SCHEDULER_LDFLAGS -o mutant $objects ./*.o \
		"$BUILD_DIR/.libs/libreel-omp-core.a" "$BUILD_DIR/.libs/libreel-test-stores.a" \
		"$BUILD_DIR/.libs/libreel-core.a" $LIBS -lm
}

# search NAME SCHEDULE CASES: runs the mutant, and prints the seed that finds the fault.
search() {
	timeout 60 ./mutant --schedule "$2" --seed 1 --rounds "$seeds" --only "$3" \
		--patience 20 >said 2>&1
	status=$?
	found=$(sed -n 's/^# to run it again: reel-stress --seed \([0-9]*\) .*/\1/p' said)
	# A crash, such as a stack that overflows, leaves no line with the seed.
	[ $status -lt 128 ] || found=${found:-some}
	echo "# $2: ${found:-more than $seeds} seeds; $(sed -n 's/^not ok - //p' said)"
	echo "$1.$2 ${found:-none}" >>results
	[ -n "$found" ]
}

# mutant NAME CASES FILE SED-COMMAND: plants a fault, and tests that one of the schedules finds it.
mutant() {
	case $1 in
	*$ONLY*) ;;
	*) return ;;
	esac
	plant "$3" "$4" >plant.log 2>&1
	planted=$?
	ok $planted "$1: $3 is changed, and compiles"
	if [ $planted -ne 0 ]; then
		sed 's/^/# /' plant.log
		return
	fi
	search "$1" random "$2"
	random=$?
	search "$1" pct "$2"
	[ $? -eq 0 ] || [ $random -eq 0 ]
	ok $? "$1 is found"
}

lists='pairs/(take|give|trim|grow|flush)/(take|give|trim|grow|flush|exit)'
stored='pairs/(seal|write|evict|read|drop)/(seal|write|evict|read|drop)'
read='pairs/(read|drop)/(read|drop)'
forks='pairs/(seal|write|evict|read|drop)/fork'
ends='pairs/(exit|take)/exit|tapes'

mutant tag-not-raised "$lists" pool/freelist-c11.h '
	s/tag = .* + FREELIST_INDEX_MASK + 1;/tag = head \& ~FREELIST_INDEX_MASK;/'

mutant cache-adopted-blindly "$ends" pool/magazine.c '
	/^static struct reel_cache \*adopt_cache/,/^}/ {
		s/if (atomic_compare_exchange_strong_explicit(.*/nobody = cache->owner;\
			reel_yield_point();\
			cache->owner = thread_name();\
			if (!nobody)/
		/memory_order_acquire,$/d
		/memory_order_relaxed))$/d
	}'

mutant cache-left-before-its-flush "$ends" pool/magazine.c '
	/^void reel_cache_retire/,/^}/ s/^		flush(retiring);/		leave_cache(retiring);\
		flush(retiring);/'

mutant pool-closed-before-the-flush "$ends" pool/magazine.c '
	/^void reel_cache_retire/,/^}/ {
		s/^		flush(retiring);/		reel_fork_unlock_pools();\
		flush(retiring);/
		s/^	reel_fork_unlock_pools();/	if (!pool)\
		&/
	}'

mutant given-twice "$read" spill/thread/read-ahead.c '
	/^static bool read_slab/,/^}/ {
		/^	if (!is_queued)/,/return true;/d
	}'

mutant budget-charged-blindly 'tapes|pairs/grow/grow' os/counter.h '
	/^static inline bool reel_counter_claim/,/^}/ {
		s/} while (!atomic_compare.*/*claimed = *first + n; } while (0);/
		/^	*memory_order_relaxed,$/d
		/^	*memory_order_relaxed));$/d
	}'

mutant event-raised-after-its-post "$stored" os/wakeup.h '
	/^static inline void reel_wakeup_signal/,/^}/ {
		s/raised = atomic_exchange_explicit.*/raised = event->raised;/
		s/^		sem_post.*/		sem_post(\&event->count);\
			event->raised = true;/
	}'

mutant asleep-after-a-wrong-wake-up "$stored" spill/thread/waiting.c '
	s/while (\(offload->freed == freed && offload->refused == refused\))/if (\1)/'

mutant urgent-while-evicted "$stored" spill/thread/read-ahead.c '
	/^static struct reel_slab \*awaited_slab/,/^}/ {
		/reel_slab_move(slab, REEL_SLAB_STORED, REEL_SLAB_READ_QUEUED);/d
		s/^	if (slab)$//
	}'

mutant read-without-a-look "$read" spill/thread/read-ahead.c '
	/^static bool read_slab/,/^}/ s/= reel_slab_move(.*/= (reel_yield_point(), slab->state = REEL_SLAB_READING, true);/'

mutant evicted-without-a-look "$stored" spill/thread/write-back.c '
	/^bool reel_evict/,/^}/ s/if (!reel_slab_move(.*/slab->state = REEL_SLAB_EVICTING;\
	if (0) {/'

mutant given-while-written "$stored" spill/owner/slab-owner.c '
	/^static enum after_free take_from/,/^}/ s/^		case REEL_SLAB_DIRTY:/&\
		case REEL_SLAB_WRITING:/'

mutant pause-forgets-what-it-drained "$forks" spill/thread/thread.c '
	/^static void rest/,/^}/ s/^	reel_wakeup_signal.*//'

if [ "$RESULTS" = yes ]; then
	mkdir -p "$SOURCE_DIR/tests/results"
	sort results >"$SOURCE_DIR/tests/results/scheduler.txt"
fi
end
