#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel info: its exit statuses, one fact a line, and valid JSON with the same facts.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel

# claim WHAT COMMAND...: a check that passes if the command succeeds.
claim() {
	what=$1
	shift
	"$@"
	ok $? "$what"
}

# gives STATUS WORD...: succeeds if the command ends with STATUS. The files out and err keep its output.
gives() {
	expected=$1
	shift
	"$reel" "$@" >out 2>err
	[ $? -eq "$expected" ]
}

# refuses REMEDY WORD...: succeeds if the command refuses the words in one line with the remedy.
refuses() {
	wanted=$1
	shift
	is_refused "$wanted" "$reel" "$@"
}

says() {
	grep -q -e "$1" out
}

every_line_has_a_value() {
	[ -s out ] && ! grep -v -E '^[A-Za-z0-9_]+: +[^ ]' out
}

json_holds_the_same_facts() {
	python3 - text json <<-'END'
	import json, sys
	words = {True: "yes", False: "no", None: "unknown", "": '""'}
	def as_text(value):
	    return str(value) if type(value) is int else words.get(value, value)
	def matches(name, shown, value):
	    if name == "memory_available_bytes":
	        return True
	    return (shown.split(" (")[0] if name.endswith("_bytes") else shown) == as_text(value)
	text = [line.rstrip("\n").split(":", 1) for line in open(sys.argv[1], errors="replace")]
	pairs = json.load(open(sys.argv[2], encoding="utf-8"), object_pairs_hook=list)
	assert [name for name, _ in text] == [name for name, _ in pairs], "names differ"
	assert len({name for name, _ in pairs}) == len(pairs), "a name comes twice"
	for (name, shown), (_, value) in zip(text, pairs):
	    assert matches(name, shown.strip(), value), (name, shown, value)
	    assert not name.endswith("_bytes") or value is None or type(value) is int, name
	END
}

claim 'reel alone is refused' refuses "'reel --help'"
claim 'an unknown verb is refused' refuses "'reel --help'" rewind
claim 'an unknown option of reel is refused' refuses "'reel --help'" --rewind
claim 'an unknown option of info is refused' refuses "'reel info --help'" info --rewind
claim 'an unknown argument of info is refused' refuses "'reel info --help'" info --json rewind
claim 'reel --help succeeds' gives 0 --help
claim 'reel --help lists info' says '^  info '
claim 'reel --help lists plan' says '^  plan '
claim 'reel -h succeeds' gives 0 -h
claim 'reel -h lists plan' says '^  plan '
claim 'reel help plan describes its options' gives 0 help plan
claim 'one of these options is --steps' says '--steps N'
claim 'help for an unknown verb is refused' refuses "'reel --help'" help rewind
claim 'reel --version succeeds' gives 0 --version
claim 'reel --version names the version' says '^reel [0-9]'
claim 'reel info --help succeeds' gives 0 info --help
claim 'reel info --help describes --json' says '--json'
claim 'reel info --json --help helps' gives 0 info --json --help

claim 'reel info succeeds' gives 0 info
claim 'every line of reel info has a value' every_line_has_a_value
for name in version compiler sanitizer pool_implementation built_with_openmp architecture \
	cpus_allowed numa_nodes memory_total_bytes page_bytes \
	huge_page_bytes transparent_huge_pages default_pool_open gpu_count
do
	claim "reel info tells $name" says "^$name: "
done
claim 'reel info describes the GPU, or says why there is none' says '^gpu_\(name\|problem\): *[^ ]'
claim 'the page size is that of getconf' says "^page_bytes: *$(getconf PAGESIZE)"

REEL_BUDGET=64M
export REEL_BUDGET
claim 'reel info with a budget succeeds' gives 0 info
claim 'the verdict is about the budget' says '^verdict: *tapes may have 64 MiB of memory.*set REEL_SPILL_DIR'
claim 'the budget is shown as given' says '^REEL_BUDGET: *64M$'
claim 'the budget is shown as understood' \
	says '^default_pool_hard_budget_bytes: *67108864 (64 MiB)$'
unset REEL_BUDGET
export REEL_SPILL_DIR=
claim 'reel info with an empty directory succeeds' gives 0 info
claim 'an empty directory is no store' says '^verdict: .*set REEL_SPILL_DIR'
REEL_SPILL_DIR=$PWD/none
claim 'reel info with a directory that is not there succeeds' gives 0 info
claim 'it says why there are no spill files' says '^spill_file_problem: *no file can be made in .*none: '
if can_spill; then
	REEL_SPILL_DIR=$PWD
	claim 'reel info with a directory succeeds' gives 0 info
	claim 'it tells how files there are read and written' \
		says '^spill_file_access: *by threads, \(past the page cache (O_DIRECT)\|through the page cache: \)'
else
	skip 'a directory: files here are kept in memory'
fi
unset REEL_SPILL_DIR
"$reel" info >out
! says '^spill_file'
ok $? 'without a directory there are no spill files'
echo '[{"name":"process_name","ph":"M","pid":1' >kept.json
printf 'reel profile 1\npeak 1\n' >kept.profile
cp kept.json trace.json
cp kept.profile profile
REEL_TRACE=trace.json REEL_PROFILE=profile "$reel" info >out
claim 'the trace and the profile of the user' says '^REEL_TRACE: *trace.json$'
claim 'the trace stays as it is' cmp kept.json trace.json
claim 'the profile stays as it is' cmp kept.profile profile
claim 'the limit of memory is shown' says '^memory_limit_bytes: *[0-9]'
claim 'the source of this limit is shown' says '^memory_limit_source: *\(/\|RLIMIT_AS\|the physical memory\)'
claim 'a trigger for memory pressure is shown, or that there is none' \
	says '^memory_pressure_source: *\(/.*/memory\(\.pressure\)\{0,1\}$\|unknown$\)'

if [ -c /dev/full ]; then
	for format in '' --json; do
		"$reel" info $format >/dev/full 2>err
		claim "a full disk is status 1 (info $format)" [ $? -eq 1 ]
		claim "a full disk is reported (info $format)" grep -q 'cannot write' err
	done
else
	skip 'a full disk: no /dev/full'
fi

if python3 -c '' 2>/dev/null; then
	"$reel" info >text 2>/dev/null
	"$reel" info --json >json 2>/dev/null
	claim 'the JSON holds the facts of the text' json_holds_the_same_facts
	REEL_CHECKED=$(printf 'a"b\\c\nd\377\351\303\251')
	export REEL_CHECKED
	"$reel" info --json >json 2>/dev/null
	claim 'no value breaks the JSON' python3 -m json.tool json formatted
	claim 'JSON keeps the UTF-8 of a value' \
		grep -q '"REEL_CHECKED": "a\\"b\\\\c\\u000ad\\ufffd\\ufffd' json
	claim 'no value breaks the text' gives 0 info
	claim 'the text still has one fact a line' every_line_has_a_value
else
	skip 'the JSON: no python3'
fi

end
