#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares random programs of ranks, forward and in reverse, with one process that replays all ranks.
. "$SOURCE_DIR/tests/tap/tap.sh"

program=$BUILD_DIR/stress/reel-stress-ranks
[ -x "$program" ] || skip_all 'there is no MPI'
. "$SOURCE_DIR/tests/helpers/ranks.sh"

programs=${TEST_SEEDS:-60}
ranks='2 3 4'
[ -z "$TEST_LONG" ] || ranks='2 3 4 5 8' programs=${TEST_SEEDS:-1000}

# runs RANKS OPTION...: runs the program on ranks.
runs() {
	n=$1
	shift
	timeout -k 5 500 $MPIRUN -n "$n" "$program" --patience 60 "$@" </dev/null >out 2>&1
}

for n in $ranks; do
	runs "$n" --programs "$programs"
	ok $? "$programs programs of $n ranks are reversed as one process reverses them"
	grep -v '^ok' out | head -n 60 | sed 's/^/# /'
done

# A failure prints the random program, and the command that runs it again.
runs 2 --seed 3 --programs 1 --pretend wrong
[ $? -ne 0 ]
ok $? 'a wrong adjoint fails'
grep -q 'to run it again: mpirun -n 2 reel-stress-ranks --seed 3 --programs 1' out &&
	grep -q 'operation 0, communicator' out
ok $? 'and its program is shown, with the command that runs it again'

runs 2 --seed 3 --programs 1 --pretend hang --patience 2
[ $? -ne 0 ] && grep -q 'rank 0 of 2 hangs in operation' out && grep -q 'rank 1 of 2 hangs' out
ok $? 'ranks that hang say where they are'

end
