#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the options of reel-bench, and the form of its results, but no times.
. "$SOURCE_DIR/tests/tap/tap.sh"

# With a sanitizer reel-bench would take half a minute, and its parts have tests of their own.
case " $CFLAGS " in *-fsanitize=*) skip_all 'its times mean nothing in this build' ;; esac

bench=$BUILD_DIR/bench/reel-bench

# refuses WHAT OPTION...: a check that the program refuses the options.
refuses() {
	what=$1
	shift
	is_refused '--help' "$bench" "$@"
	ok $? "$what is refused"
}

refuses 'an unknown option' --fast
refuses 'an option without its argument' --only
refuses 'no regular expression' --only '('
refuses 'an argument' floor

"$bench" --help >out
[ $? -eq 0 ] && grep -q -e '--json FILE' out && grep -q -e '--plot FILE' out
ok $? '--help describes the options'

"$bench" --list >cases
ok $? '--list succeeds'
for subject in floor bulk record single sum cold open threads kernel memory spill gpu plan instructions; do
	grep -q "^$subject/" cases
	ok $? "there is a case of $subject"
done
[ "$(sort cases | uniq -d | wc -l)" -eq 0 ]
ok $? 'no case is listed twice'

"$bench" --quick --only '^kernel/mttkrp/paper$' --json results >table 2>err
ok $? 'a case runs alone'
[ "$(wc -l <results)" -eq "$(grep -c ^kernel/mttkrp/paper table)" ] && [ -s results ]
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

"$bench" --only '^instructions/double/' --json counts >/dev/null 2>err
if [ -s counts ]; then
	[ "$(grep -c '"unit": "instructions/value", "median": [1-9]' counts)" -eq 8 ]
	ok $? 'the instructions of four ways to push and to pop are counted'
else
	grep -q 'no process be stepped' err
	ok $? 'it says that no instruction can be counted'
fi

"$bench" --quick --only '^spill/replay' --directory . --json spilled >/dev/null 2>err
ok $? 'a tape outgrows memory'
if [ -s spilled ]; then
	[ "$(grep -c '"unit": "ns/byte", "median": [0-9]' spilled)" -eq 5 ] &&
		[ "$(grep -c '"unit": "bytes", "median": [0-9]' spilled)" -eq 3 ] && [ ! -s err ]
	ok $? 'its times are per byte'
else
	[ "$(wc -l <err)" -eq 1 ] && grep -q 'spill/ is left out: .*--directory' err
	ok $? 'it says that there is no disk for the tape'
fi
"$bench" --quick --only '^(spill|kernel/mttkrp/paper$)' --directory no/where --json results >/dev/null 2>err
[ $? -eq 0 ] && [ "$(wc -l <err)" -eq 1 ] &&
	grep -q 'spill/ is left out: .*no/where.*--directory' err && grep -q kernel/mttkrp/paper results
ok $? 'without a directory, spill cases are left out and the others are measured'

if grep -q ^omp/ cases && ! grep -q __tsan_ "$bench"; then
	OMP_WAIT_POLICY=passive "$bench" --quick --only '^omp/mlp$' >table 2>err
	[ $? -eq 0 ] && [ "$(grep -c '^omp/mlp' table)" -eq 5 ] && [ ! -s err ]
	ok $? 'the gradient of an example is measured'
	OMP_WAIT_POLICY=active "$bench" --quick --only '^omp/mlp$' >table 2>err
	[ $? -eq 0 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q OMP_WAIT_POLICY=passive err
	ok $? 'a remark says that threads do not sleep'
else
	skip 'the gradient of an example is measured: there is no OpenMP, or ThreadSanitizer'
fi

if grep -q ^clad/ cases; then
	wanted='^clad/'
	[ -n "$TEST_LONG" ] || wanted='^clad/(cold|one value a tape|branches|heat)$'
	"$bench" --quick --only "$wanted" >table 2>err
	[ $? -eq 0 ] && [ "$(grep -c 'reel custom_tape' table)" -ge "$(grep -cE "$wanted" cases)" ] &&
		[ ! -s err ]
	ok $? 'the tapes of Clad are measured'
else
	skip 'the tapes of Clad are measured: no C++ compiler was there for configure'
fi

if grep -q ^peer/ cases; then
	"$bench" --quick --only '^peer/logsum' >/dev/null
	ok $? 'another tool has the same gradient'
else
	skip 'another tool has the same gradient: none was there for configure'
fi

# ---- The plot ----

"$bench" --quick --only '^kernel/(gravity|nn)/paper$' --json results --plot plot.svg >/dev/null
ok $? 'two kernels are drawn'
[ "$(grep -c '<circle' plot.svg)" -eq "$(grep -vc '"variant": "primal"' results)" ]
ok $? 'there is a dot for each variant but the primal'
for name in gravity nn plain best; do
	grep -q "<text [^>]*>$name</text>" plot.svg
	ok $? "the plot names $name"
done
if command -v xmllint >/dev/null; then
	xmllint --noout plot.svg
	ok $? 'the plot is XML'
else
	skip 'the plot is XML: no xmllint'
fi

"$bench" --quick --only '^single/' --plot plot.svg >/dev/null 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q 'no kernel was measured' err
ok $? 'a plot without a kernel is an error'
"$bench" --quick --only '^single/' --plot no/where.svg >out 2>err
[ $? -eq 2 ] && [ ! -s out ] && grep -q '^reel-bench: no/where.svg: ' err
ok $? 'a plot that cannot be written is refused before anything is measured'

# ---- The figures, from results that the test writes ----

result() {
	printf '{"case": "%s", "variant": "%s", "n": %s, "unit": "ns/value", "median": %s, ' "$@"
	echo '"lower": 0, "upper": 0, "ratio": 1, "ratio_to": "", "faults": 0.0}'
}

figures() {
	awk -f "$SOURCE_DIR/bench/rows.awk" -f "$SOURCE_DIR/bench/tables.awk" \
		-f "$SOURCE_DIR/bench/figures.awk" made-up >figures
}

large=67108864
{
	result floor/stream 'store' $large 0.5
	result floor/stream 'store past the cache' $large 0.3
	result floor/stream 'load, descending' $large 0.2
	result bulk/write+read 'reel span' 32768 0.1
	result bulk/write+read 'reel span' $large 0.53
	result memory/massspring/pool best 9 6000
	result memory/massspring/pool segments 9 100
	result memory/massspring/pool-256K best 9 6000
	result memory/massspring/pool-256K segments 9 60
} >made-up
figures
grep -q '^| 64 Mi .* | 1.06 x | ± 0 % |  |$' figures
ok $? 'the floor is the better store and the load'
grep -q '^| mass spring, .* bytes of the pool | 60 x | ± 0 % |' figures
ok $? 'quotients are the right way round'
[ "$(grep -c '^| .* | not measured |  |  |$' figures)" -gt 50 ]
ok $? 'what was not measured is marked so, without a remark'
[ "$(grep -c '^## .*?$' figures)" -eq 6 ] && [ "$(grep -c "reel-bench --only '" figures)" -eq 6 ]
ok $? 'each of six questions has its command'
sed -n "s/.*reel-bench --only '\(.*\)'/\1/p" figures >commands
while read -r regex; do
	"$bench" --list --only "$regex" | grep -q . || echo "$regex"
done <commands >missing
is_empty missing 'each command has cases'

result bulk/write+read 'reel span' $large 0.6 >>made-up
result floor/stream 'store' $large 0.3 >>made-up
result floor/stream 'store past the cache' $large 0.9 >>made-up
figures
grep -q '^| 64 Mi .* | 1.2 x | ± 0 % | A span .* |$' figures
ok $? 'a figure that falls short has a remark'
result threads/two 'an array each' 9 1 >made-up
result threads/two 'a reel tape each' 9 1 | sed 's/"lower": 0, "upper": 0/"lower": 0.95, "upper": 1.15/' >>made-up
figures
grep -q '^| two tapes .* | 1 x | ± 10 % |  |$' figures
ok $? 'the noise is half of the distance between the quartiles'

for kernel in a b c d e f g h i; do
	result kernel/$kernel/large best 1 1
	if [ $kernel = i ]; then
		result kernel/$kernel/large soa-warm 1 0.5
	else
		result kernel/$kernel/large soa-warm 1 2
	fi
done >made-up
figures
grep -q '^| nine kernels, .* kept .* mean | 1.71 x | ± 0 % |  |$' figures
ok $? 'the mean is geometric'
grep -q '^| the same, the least | i 0.5 x | ± 0 % | Its loops .* |$' figures
ok $? 'one slow kernel is named'

for form in product 'time steps' branches heat; do
	n=1000000
	[ "$form" != heat ] || n=1024000
	result "clad/$form" 'bare cursors' $n 2
	result "clad/$form" 'reel custom_tape' $n "$([ $n -eq 1024000 ] && echo 2.5 || echo 2)"
	result "clad/$form" "slabs, as Clad's" $n 4
done >made-up
figures
grep -q "^| Clad's gradients over bare cursors, .* | 1.25 x | ± 0 % | Each .* |$" figures &&
	grep -q "^| Clad's slabs, four gradients, the least | 1.6 x | ± 0 % |  |$" figures
ok $? "the worst of Clad's four gradients is taken, beside cursors and beside slabs"

for sweep in forward/0 reverse/0 forward/0.3 reverse/1; do
	result spill/$sweep 'compute or transfer' 1 1
done >made-up
{
	result spill/forward/0 'reel, budget' 1 1.1
	result spill/reverse/0 'reel, budget' 1 1.14
	result spill/forward/0.15 'reel, budget' 1 9
	result spill/forward/0.3 'reel, budget' 1 1.05
	result spill/reverse/1 'reel, budget' 1 1.3
	result spill/resident 'hard budget' 1 100
	result spill/resident 'no tape' 1 10
	result spill/resident 'reel, budget' 1 112
	result spill/growth 'reel, budget' 4294967296 0.5
	result spill/growth 'reel, budget' 17179869184 0.6
} >>made-up
figures
grep -q '^| tape of 8 .* no calculation.* | reverse at 0 ns, 1.14 x | ± 0 % |  |$' figures &&
	grep -q '^| tape of 8 .* and more.* | reverse at 1 ns, 1.3 x | ± 0 % | The offload .* |$' figures
ok $? 'the worst sweep is named, with and without calculation'
grep -q '^| what was resident.* | 1.02 x | ± 0 % |  |$' figures
ok $? 'what is resident without a tape is not counted'
grep -q '^| tape of 16 GiB .* | 1.2 x | ± 0 % | A disk .* |$' figures
ok $? 'growth is from 4 to 16 GiB'

{
	result omp/regions 'parallel regions' 1 2
	result omp/regions 'reel, empty lanes' 1 2.75
	result omp/mlp 'by hand, one thread' 1 4
	result omp/mlp 'by hand, two threads' 1 2
	result omp/mlp 'two threads' 1 3
} >made-up
figures
grep -q '^| region .* | 0.75 us | ± 0 % |  |$' figures &&
	grep -q '^| .* network.* 0.5 x of one | 1.5 x | ± 0 % | Each sweep .* |$' figures
ok $? 'regions are a difference, threads a quotient to those by hand'

table() { "$SOURCE_DIR/bench/results.sh" --table "$BUILD_DIR" "$@"; }

table "$PWD/spilled" "$PWD/made-up" >results.md
grep -q '^| region .* | not measured | 0.75 us |  |  |$' results.md &&
	[ "$(grep -c '^| what | -O2 | native | noise | remark |$' results.md)" -eq 6 ]
ok $? 'the figures of the other flags have a column'
table "$PWD/made-up" "$PWD/made-up" | grep -q '^| omp/mlp | two threads | 1 | ns/value | 3.000 | 1.00 | 0 | 3.000 | 1.00 |$'
ok $? 'all results have a column for them, too'

cat spilled >>results
table "$PWD/results" >results.md
[ "$(grep -c '^| [a-z]*/.* |$' results.md)" -eq "$(wc -l <results)" ] &&
	grep -q '^| gravity |' results.md
ok $? 'RESULTS.md has every result'

for median in 3 1 7; do
	result single/push+pop 'reel push, pop' 1000 $median
	result single/push+pop 'bare bump pointer' 1000 2
done >several
awk -f "$SOURCE_DIR/bench/runs.awk" several >merged
[ "$(wc -l <merged)" -eq 2 ] &&
	grep -q 'reel push.*"median": 3.0000, "lower": 1.0000, "upper": 7.0000, "max": 7.0000' merged
ok $? 'the median of several runs counts, and their range is the noise'
result single/push+pop 'reel push, pop' 1000 2 >>several
! awk -f "$SOURCE_DIR/bench/runs.awk" several >merged 2>err && grep -q '3 runs, and 4 of ' err
ok $? 'a result that some runs lack is an error'

awk -f "$SOURCE_DIR/bench/chart.awk" -f "$SOURCE_DIR/bench/front.awk" "$SOURCE_DIR/bench/RESULTS.md" | cmp - "$SOURCE_DIR/bench/front.svg"
ok $? 'front.svg is drawn from RESULTS.md (its remedy: bench/front.awk)'
{
	result single/push+pop 'realloc, doubling' 100000000 8
	result single/push+pop 'reel push, pop' 100000000 2
	result spill/forward/0.3 'stdio files' 2147483648 4
} >made-up
figures
awk -f "$SOURCE_DIR/bench/chart.awk" -f "$SOURCE_DIR/bench/front.awk" figures >front.svg
grep -c '<rect class=".*height="11.0"' front.svg | grep -qx 3 && grep -q '>8.0 ns</text>' front.svg &&
	grep -q 'class="reel" .* width="100.0"' front.svg && grep -q '>0.2 GB/s</text>' front.svg
ok $? 'front.svg has a bar for what was measured: a time, or a rate'

awk -f "$SOURCE_DIR/bench/chart.awk" -f "$SOURCE_DIR/bench/steps.awk" "$SOURCE_DIR/bench/RESULTS-steps.md" | cmp - "$SOURCE_DIR/bench/steps.svg"
ok $? 'steps.svg is drawn from RESULTS-steps.md (its remedy: bench/steps.awk)'
[ "$(grep -c '<polyline .*,.* .*,' "$SOURCE_DIR/bench/steps.svg")" -eq 2 ]
ok $? 'steps.svg has two curves'
awk -f "$SOURCE_DIR/bench/chart.awk" -f "$SOURCE_DIR/bench/digits/digits.awk" "$SOURCE_DIR/bench/RESULTS-digits.md" |
	cmp - "$SOURCE_DIR/bench/digits.svg"
ok $? 'digits.svg is drawn from RESULTS-digits.md (its remedy: bench/digits/digits.awk)'

dropin=$BUILD_DIR/bench/reel-bench-dropin
"$dropin" --list >cases
ok $? 'reel-bench-dropin lists its cases'
for subject in real8 control1b real8array64 repeat stencil spill; do
	grep -q "^dropin/$subject$" cases
	ok $? "there is a case of dropin/$subject"
done
"$dropin" --quick --only '^dropin/repeat$' --json results >table 2>err
[ $? -eq 0 ] && [ "$(grep -c '"case": "dropin/repeat"' results)" -eq 4 ]
ok $? 'a case of reel-bench-dropin runs alone'
end
