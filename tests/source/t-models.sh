#!/bin/sh
# SPDX-License-Identifier: MIT
# Explores all interleavings of the models in tests/models: models that are broken on purpose have to have an error, and
# other models none. MODELS=full explores larger models; RESULTS=yes writes the numbers of states to
# tests/results/models.txt.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$TEST_LONG$MODELS" ] || skip_all 'the models are the same in every build'
command -v spin >/dev/null || skip_all "spin is not installed"
command -v ${CC%% *} >/dev/null || skip_all "there is no C compiler"

# explore NAME MODEL DEFINITION...: runs the checker, in less than 2 GiB; NAME/said has its output. The checker is not
# optimised, because most searches are shorter than an optimising compiler takes.
explore() (
	mkdir "$1" && cd "$1" || exit
	model=$SOURCE_DIR/tests/models/$2.pml
	shift 2
	{
		spin -a "$@" "$model" &&
			$CC -O${optimise:-0} -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c &&
			./pan -m1000000
	} >said 2>&1
)

# record NAME: writes the number of states, and the time of the search.
record() {
	[ "$RESULTS" = yes ] || return 0
	awk -v model="$1" '
		/ states, stored/ { states = $1 }
		/elapsed time/ { seconds = $4 }
		/errors: / { errors = $NF }
		END {
			print model ".states", states
			print model ".seconds", seconds
			print model ".errors", errors
		}' "$1/said" >>results
}

# is_right NAME WHAT...: a check that the search has found no error, and was not cut short by memory or depth.
is_right() {
	name=$1
	shift
	grep -q 'errors: 0' "$name/said" && ! grep -q -e 'too small' -e 'not completed' "$name/said"
	right=$?
	ok $right "$@"
	record "$name"
	[ $right -eq 0 ] || grep -i -e '^pan' -e error "$name/said" | sed 's/^/#   /'
}

# is_found FAULT WHAT...: a check that the search has found the fault.
is_found() {
	fault=$1
	shift
	grep -q -e 'assertion violated' -e 'invalid end state' "$fault/said"
	ok $? "$fault is found: $*"
	record "$fault"
}

one='-DSLABS=4'
failing='-DPUTS_FAIL=1 -DGETS_FAIL=1'
two='-DOWNERS=2 -DFINE=0 -DPUSHES=2 -DHEIGHT=2 -DSLABS=4 -DAHEAD=0 -DUNASKED=0'

low="$one -DHEIGHT=2"

# One core explores the right models, another one the broken models.
{
	explore tape offload $low $failing
	explore tapes offload $two
	explore wake wake
	explore order order
	explore parcel parcel
	explore dispatch dispatch
	explore pool pool
	explore pool-ck pool -DCK
	explore magazine magazine
} &

for fault in READ_COVERED PUSH_ON_WRITING GIVE_WRITING NO_EVICTING COUNT_LATE URGENT_STORED \
	SIGNAL_FIRST; do
	explore $fault offload $low -DBREAK_$fault
done
explore DROP_CLEAN offload $one -DBREAK_DROP_CLEAN
explore LOOK_TWICE offload $low $failing -DBREAK_LOOK_TWICE
for fault in NO_OVERDRAFT URGENT_SLEEP; do
	explore $fault offload $two -DBREAK_$fault
done
for fault in READY_GONE LATE_ASKER; do
	explore $fault offload $two -DBUDGET=1 -DBREAK_$fault
done
for fault in LOWER_LATE RAISE_LATE DRAIN_FORGETS STOP_READ_TWICE; do
	explore $fault wake -DBREAK_$fault
done
for fault in COUNT_UNLOCKED WAIT_UNLOCKED NO_SECOND_LOOK WAKE_FIRST; do
	explore $fault order -DBREAK_$fault
done
for fault in PIN_UNLOCKED FAIL_LATE SEAL_EARLY UNSEAL_PINNED WRITE_WRITING FREE_READING ADVANCE_BLIND \
	EVICT_BLIND QUEUE_BLIND SIZE_EARLY SEAL_STALE; do
	explore $fault parcel -DBREAK_$fault
done
for fault in GO_BACK LEAVE_EARLY NO_SWAP; do
	explore $fault dispatch -DBREAK_$fault
done
explore NO_RAISE pool -DBREAK_NO_RAISE
explore HEAD_FIRST pool -DCK -DBREAK_HEAD_FIRST
for fault in ALL_NO_RAISE ALL_RAISE_FIRST; do
	explore $fault pool -DTAKE_ALL -DPOPPERS=1 -DBREAK_$fault
done
for fault in ADOPT_BLIND RETIRE_FIRST FLUSH_HALF OVERWRITE CHILD_TRUSTS CHILD_FORGETS_OWN \
	RETIRE_UNLOCKED UNLOCK_FIRST CLOSE_LISTED; do
	explore $fault magazine -DBREAK_$fault
done
wait

is_right tape 'a tape, its offload thread, and a store that fails'
is_right tapes 'two tapes under one budget'
is_right wake 'events, pauses, the end of the offload thread'

is_right order 'lanes that wait for their turns'
is_right parcel 'bins that are pinned, announced, rewritten and closed'
is_right dispatch 'lanes that take chunks of loops'
is_right pool 'threads that pop from a list and push again'
is_right pool-ck 'the same, where the head is two words'
is_right magazine 'threads with magazines, that end and fork, and a pool that is closed meanwhile'

is_found READ_COVERED 'a slab is read after it was covered'
is_found PUSH_ON_WRITING 'a slab is pushed on while it is put'
is_found GIVE_WRITING 'a frame is given back while it is put'
is_found NO_EVICTING 'a frame is taken before its slab is EVICTING'
is_found DROP_CLEAN 'the copy of a CLEAN slab is dropped'
is_found LOOK_TWICE 'a slab is left whose put fails between two looks at it'
is_found COUNT_LATE 'a slab is SEALED before it counts'
is_found URGENT_STORED 'a slab is waited for that was just being evicted'
is_found SIGNAL_FIRST 'an owner signals before it says what it waits for'
is_found NO_OVERDRAFT 'a pop stays within the budget'
is_found URGENT_SLEEP 'the offload thread sleeps while an owner waits and nothing is under way'
is_found READY_GONE 'a push is refused since a frame that was ready was taken by another'
is_found LATE_ASKER 'a push is refused that asked after the look'
is_found LOWER_LATE 'an event is lowered after what it told of was looked at'
is_found RAISE_LATE 'an event is raised after it was posted'
is_found DRAIN_FORGETS 'what was signalled during a pause is forgotten'
is_found STOP_READ_TWICE 'a command comes between two looks at it'


is_found COUNT_UNLOCKED 'a lane looks for its turn before it counts as asleep'
is_found WAIT_UNLOCKED 'a lane falls asleep after it released the lock'
is_found NO_SECOND_LOOK 'a lane that is woken takes it for its turn'
is_found WAKE_FIRST 'others are woken before the turn has ended'

is_found PIN_UNLOCKED 'two threads acquire a slab at the same time'
is_found FAIL_LATE 'a pin whose slab did not come is still counted when another thread has dropped its own'
is_found SEAL_EARLY 'a slab is sealed without a look at who has pinned it meanwhile'
is_found UNSEAL_PINNED 'a parcel is written to that another thread has pinned'
is_found WRITE_WRITING 'a parcel is written to while its slab is put'
is_found SEAL_STALE 'a parcel that has changed is sealed, and keeps its old copy'
is_found FREE_READING 'a slab is freed while it is read'
is_found ADVANCE_BLIND 'a use is counted for an order that the bin has left'
is_found EVICT_BLIND 'a slab is evicted without a look at its state'
is_found QUEUE_BLIND 'a slab that has no frame is queued again without a look at its state'
is_found SIZE_EARLY 'the size of a slab is read while it is queued'

is_found GO_BACK 'a lane that is behind begins its loop again'
is_found LEAVE_EARLY 'a lane leaves a loop before its last chunk is taken'
is_found NO_SWAP 'the word is stored without a look at what it was'

is_found NO_RAISE 'a pop does not raise the tag'
is_found HEAD_FIRST 'the head is read before its tag'
is_found ALL_NO_RAISE 'the whole list is taken, and the tag left as it is'
is_found ALL_RAISE_FIRST 'the tag is raised before the whole list is taken'

is_found ADOPT_BLIND 'a cache is adopted without a look at what it was'
is_found RETIRE_FIRST 'a cache is left before its magazines are flushed'
is_found FLUSH_HALF 'one of two magazines is flushed'
is_found OVERWRITE 'a full magazine is filled'
is_found CHILD_TRUSTS 'the child of a fork uses magazines of others'
is_found CHILD_FORGETS_OWN 'the child of a fork forgets its own magazines'
is_found RETIRE_UNLOCKED 'a thread ends without the lock of the list of pools'
is_found UNLOCK_FIRST 'a thread that ends releases the lock before its flush'
is_found CLOSE_LISTED 'a pool is freed before it has left the list'

if [ "$MODELS" = full ]; then
	optimise=1
	explore height offload $one $failing
	is_right height 'a tape of three slabs'
	explore pushes offload $one -DPUSHES=4
	is_right pushes 'a tape with more pushes'
	explore budget offload $one $failing -DBUDGET=3
	is_right budget 'a tape with a larger budget'
	explore failing offload $two $failing
	is_right failing 'two tapes, and a store that fails'
	explore behind offload $two -DUNASKED=1
	is_right behind 'two tapes that are written behind'
	explore budgets offload $two -DBUDGET=3
	is_right budgets 'two tapes with a larger budget'
	explore waits wake -DWAITS=2
	is_right waits 'more events'
	explore poppers pool -DPOPPERS=3
	is_right poppers 'three threads at one list'
	explore poppers-ck pool -DCK -DPOPPERS=3
	is_right poppers-ck 'the same, where the head is two words'
	explore all pool -DTAKE_ALL
	is_right all 'one thread takes the whole list'
	explore lives magazine -DLIVES=3
	is_right lives 'threads with magazines, one after the other'
fi

if [ "$RESULTS" = yes ]; then
	mkdir -p "$SOURCE_DIR/tests/results"
	sort results >"$SOURCE_DIR/tests/results/models.txt"
fi
end
