#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the options of reel-scale, and the form of its results, but no times.
. "$SOURCE_DIR/tests/tap/tap.sh"

# With a sanitizer reel-scale would take half a minute, and its parts have tests of their own.
case " $CFLAGS " in *-fsanitize=*) skip_all 'its times mean nothing in this build' ;; esac

scale=$BUILD_DIR/bench/reel-scale

# refuses WHAT OPTION...: a check that the program refuses the options.
refuses() {
	what=$1
	shift
	is_refused '--help' "$scale" "$@"
	ok $? "$what is refused"
}

refuses 'an unknown option' --fast
refuses 'an option without its argument' --threads
refuses 'an argument' 8
refuses 'no number of threads' --threads 0
refuses 'a number of threads with something behind it' --threads 2x
refuses 'a list that is not ascending' --threads 2,1
refuses 'a list that ends in a comma' --threads 1,
refuses 'no way to place threads' --place near
refuses 'an odd tape' --mebibytes 3
refuses 'more tape than slabs of 4 KiB can be' --threads 1,1024
"$scale" --json no/where >out 2>err
[ $? -eq 2 ] && [ ! -s out ] && grep -q '^reel-scale: no/where: ' err
ok $? 'a file that cannot be written is refused before anything is measured'

"$scale" --help >out
[ $? -eq 0 ] && grep -q -e '--place PLACE' out
ok $? '--help describes the options'

"$scale" --quick --threads 1,3 --place none --json results --plot plot.svg \
	>table 2>err
ok $? 'it runs, unbound, with more threads than most test machines have'
[ "$(grep -c ^scale/ table)" -eq "$(wc -l <results)" ] && [ -s results ]
ok $? 'each row of the table is a line of JSON'
for key in case variant n unit median lower upper max ratio ratio_to; do
	[ "$(grep -c "\"$key\": " results)" -eq "$(wc -l <results)" ]
	ok $? "each line has $key"
done
if python3 -c '' 2>/dev/null; then
	python3 -c 'import json; [json.loads(line) for line in open("results")]'
	ok $? 'each line is JSON'
else
	skip 'each line is JSON: no python3'
fi
for case in pool/pair latency/take latency/list-give tail/list tail/spinlock tape/4K \
	tape/2M; do
	grep -q "\"case\": \"scale/$case\".*\"n\": [123]," results
	ok $? "there are results of $case"
done
for words in 'Speed-up by threads' '3 threads' 'slabs of 2M' tape array; do
	grep -q ">$words</" plot.svg
	ok $? "the plot has $words"
done

"$SOURCE_DIR/bench/scale/scaling.sh" "$BUILD_DIR" results >scaling.md
[ $? -eq 0 ] && grep -q '^## Tapes up and down' scaling.md
ok $? 'SCALING.md is made from results'
if grep -q 'scale/phase' results; then
	grep -q '^| `reel_worker_barrier()` | [0-9]' scaling.md
	ok $? 'SCALING.md has the time of a barrier'
else
	skip 'SCALING.md has the time of a barrier: there is no OpenMP'
fi
end
