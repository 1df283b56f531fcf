#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel plan: its exit statuses, the counts as text and as JSON, and the actions.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel

# claim WHAT COMMAND...: a check that passes if the command succeeds.
claim() {
	what=$1
	shift
	"$@"
	ok $? "$what"
}

# refuses REMEDY OPTION...: succeeds if the command refuses the options in one line with the remedy.
refuses() {
	wanted=$1
	shift
	is_refused "$wanted" "$reel" plan "$@"
}

# gives COUNTS OPTION...: succeeds if the command prints each of the counts NAME=VALUE.
gives() {
	counts=$1
	shift
	"$reel" plan "$@" >out 2>err || return
	for count in $counts; do
		grep -q "^${count%%=*}: *${count#*=}$" out || return
	done
}

json_holds_the_same_counts() {
	"$reel" plan "$@" >text && "$reel" plan "$@" --json >json && python3 - <<-'END'
	import json
	text = [tuple(line.rstrip("\n").split(":", 1)) for line in open("text")]
	pairs = json.load(open("json"), object_pairs_hook=list)
	assert [(name, shown.strip()) for name, shown in text] == \
	    [(name, value if type(value) is str else "%.12g" % value) for name, value in pairs]
	END
}

json_holds_the_same_choice() {
	"$reel" plan "$@" >text && "$reel" plan "$@" --json >json && python3 - <<-'END'
	import json
	text = [tuple(line.rstrip("\n").split(":", 1)) for line in open("text")]
	pairs = json.load(open("json"), object_pairs_hook=list)
	words = {True: "yes", False: "no"}
	word = lambda value: words[value] if type(value) is bool else str(value)
	assert [name for name, shown in text] == [name for name, value in pairs]
	for (name, shown), (name, value) in zip(text, pairs):
	    assert shown.strip() == word(value) or float(shown.split()[0]) == value, name
	END
}

actions_are_json() {
	"$reel" plan "$@" --actions >text && "$reel" plan "$@" --actions --json >json &&
		python3 - <<-'END'
	import json
	lines = [" ".join(str(value) for value in json.loads(line).values()) for line in open("json")]
	assert lines == [line.strip() for line in open("text")]
	END
}

claim 'no steps are refused' refuses 'plan --help' --slots 3
claim 'an unknown option is refused' refuses "'reel plan --help'" --rewind
claim 'an argument is refused' refuses "'reel plan --help'" --steps 10 rewind
claim 'an option without its value is refused' refuses 'needs a value' --steps
claim 'a text that is no number is refused' refuses 'whole number' --steps 10x --slots 3
claim 'a number below 0 is refused' refuses 'whole number' --steps -1 --slots 3
claim 'too large a number is refused' refuses 'whole number' --steps 99999999999999999999
claim 'a text that is no cost is refused' refuses 'takes a number' --steps 9 --read-cost dear
claim 'an unknown planner is refused' refuses 'no such planner' --steps 9 --planner revolve
claim 'no slots are refused' refuses 'give it one' --steps 10 --slots 0
claim 'slots are given once' refuses 'name the planner alone' --steps 10 --slots 3 --planner binomial:4
claim 'too many slots are refused' refuses 'segments' --steps 10 --slots 5000
claim 'a planner that needs a disk says so' refuses 'second tier' --steps 9 --slots 3 \
	--planner periodic
claim 'a choice by cost takes no slots' refuses 'slots cannot be given with costs' \
	--steps 9 --slots 3 --memory 1G
claim 'step costs that are none are refused' refuses 'takes seconds' --steps 9 --costs record
claim 'unknown step costs are refused' refuses 'takes seconds' --steps 9 --costs rewind=1
claim 'step costs below 0 are refused' refuses 'takes seconds' --steps 9 --costs record=-1
claim 'a text that is no size is refused' refuses 'takes bytes' --steps 9 --memory 3X
claim 'a size with too many units is refused' refuses 'takes bytes' --steps 9 --memory 3GG
claim 'too large a size is refused' refuses 'takes bytes' --steps 9 --memory 9000000T
claim 'a text that is no bandwidth is refused' refuses 'bytes a second' --steps 9 --read-bandwidth x
"$reel" plan --help >out
ok $? 'reel plan --help succeeds'
claim 'and describes --planner' grep -q -e '--planner TEXT' out

claim 'binomial counts' gives 'planner=binomial advances=222 forward_steps=322 memory_stores=55
	memory_loads=99 memory_peak_slots=10 peak_tape_steps=1 makespan_in_advances=422' \
	--steps 100 --slots 10
claim 'the same, in other forms' gives 'planner=binomial advances=222' --steps=1e2 --slots=10
claim 'the same, by a text' gives 'planner=binomial advances=222' --steps 100 --planner binomial:10
claim 'and by default' gives 'planner=binomial advances=222' --steps 100
claim 'two tiers without costs' gives 'planner=multistage' --steps 100 --slots 3 --disk-slots 4
claim 'a part of a step is refused' refuses 'whole number' --steps 1.5 --slots 3
claim 'not a number is refused' refuses 'whole number' --steps nan --slots 3
claim 'store-all counts' gives 'advances=0 forward_steps=50 peak_tape_steps=50' \
	--steps 50 --planner store-all
claim 'hierarchical counts' gives 'planner=hierarchical advances=105 disk_stores=15 disk_loads=20
	disk_peak_slots=5 memory_peak_slots=2 makespan_in_advances=158.5' --steps 50 --slots 2 \
	--disk-slots 5 --write-cost 0.1 --read-cost 0.1 --record-cost 0.5 --reverse-cost 0.5
claim 'mixed counts' gives 'forward_steps=170' --steps 100 --slots 32 --planner mixed \
	--tape-states 1
claim 'two-level counts' gives 'advances=15 disk_stores=2 disk_loads=3' --steps 10 --slots 2 \
	--planner two-level --disk-slots 10 --period 5
claim 'online counts' gives 'planner=online steps=100' --steps 100 --slots 8 --planner online
claim 'workers are for a choice by cost' refuses 'cannot be given with costs' --steps 8 --slots 7 --workers 2
claim 'no steps are a plan' gives 'steps=0 actions=0' --steps 0 --slots 1

"$reel" plan --steps 3 --slots 1 --actions >out
ok $? '--actions succeeds'
cat >expected <<'END'
store 0 memory 0
advance 0 2
record 2 3
reverse 2 3
load 0 memory 0
advance 0 1
record 1 2
reverse 1 2
load 0 memory 0
drop 0 memory 0
record 0 1
reverse 0 1
done
END
claim '--actions lists the actions' cmp out expected

# There is memory for nine tapes and a state, so one step is run again; or for two segments of five steps.
by_cost='--steps 10 --state-bytes 10 --tape-bytes 100'
claim 'the choice by cost, its prediction and the runner-up' gives 'planner=mixed segment_steps=1
	makespan_seconds=21 peak_memory=910 advances=1 runner_up=binomial' \
	$by_cost --memory 999
claim 'the reason says why it lost' grep -q 'reason: .*it runs 5 steps without recording them, not 1, in' out
claim 'step costs are taken' gives 'makespan_seconds=5.1 planner=store-all' $by_cost \
	--costs record=0.3,reverse=0.21
claim 'bytes have units' gives 'planner=store-all makespan_seconds=20' $by_cost --memory 1K
claim 'a disk is used' gives 'planner=store-all spills=yes makespan_seconds=20
	disk_written=500 disk_read=500 runner_up=none' --steps 10 --state-bytes 1000 \
	--tape-bytes 100 --memory 500 --disk 1G --write-bandwidth 100 --read-bandwidth 50
claim 'so are workers' gives 'tapes_at_once=2 makespan_seconds=26 peak_memory=27' --steps 8 \
	--state-bytes 1 --tape-bytes 10 --memory 43 --workers 2 \
	--costs advance=1,record=3,reverse=1
"$reel" plan $by_cost --memory 109 >out 2>err
claim 'a loop that does not fit is status 1' [ $? -eq 1 ]
claim 'the message has the least memory' grep -q 'at least 110 bytes are needed' err
"$reel" plan $by_cost --memory 999 --actions >out
claim 'the actions of the choice' grep -q '^record 0 8$' out

# Five steps that differ: with less memory one of them runs again, or a disk takes a state.
cat >steps <<-'END'
	# advance record reverse state tape work
	1 1.2 2 4M 20M
	2 2.5 4 4M 60M 1M

	1 1.2 2 2M 20M
	3 3.3 6 2M 30M
	1 1.5 2 1M 10M
END
claim 'steps that differ are read from a file' gives 'planner=uneven steps=5 advances=0 makespan=25.7' \
	--costs steps --memory 1G
claim 'and planned within the memory' gives 'advances=1 disk_stores=1 makespan=27.9' \
	--costs steps --memory 84M --write-bandwidth 40M --read-bandwidth 40M
(cat steps; echo 1 2 3) >steps-bad
claim 'a line that is no step is refused' refuses 'line 8' --costs steps-bad
claim 'a file has its own number of steps' refuses 'file of steps' --costs steps --steps 5
"$reel" plan --costs steps --memory 30M >out 2>err
claim 'steps that do not fit into memory are status 1' [ $? -eq 1 ]
claim 'the message says what does not fit' grep -q 'step 1 alone takes' err

# count_matches PATTERN FILE NUMBER: succeeds if NUMBER lines of the file match.
count_matches() {
	[ "$(grep -c -e "$1" "$2")" -eq "$3" ]
}

# drawn_as_planned OPTION...: succeeds if the picture has a line or bar for each action.
drawn_as_planned() {
	"$reel" plan "$@" --plot plan.svg >out && "$reel" plan "$@" --actions >text || return
	for kind in advance record reverse; do
		count_matches "path class=\"$kind\" d=\"M.*L" plan.svg "$(grep -c "^$kind " text)" ||
			return
	done
	for tier in memory disk; do
		count_matches "path class=\"bars $tier\" d=\"M[0-9.]* [0-9.]*H" plan.svg \
			"$(grep -c "^store .* $tier " text)" || return
	done
}

claim 'a plan is drawn' drawn_as_planned --steps 60 --slots 3 --disk-slots 4 --write-cost 2 \
	--read-cost 1
claim 'a bar for each state that is kept' count_matches 'bars disk" d="M[0-9.]* [0-9.]*H' \
	plan.svg 4
claim 'a loop with an unknown end is drawn' drawn_as_planned --steps 50 --slots 6 --planner online
claim 'no steps are drawn' drawn_as_planned --steps 0 --slots 1
claim 'the choice is drawn' drawn_as_planned $by_cost --memory 999
"$reel" plan --steps 9 --slots 3 --plot nowhere/plan.svg >out 2>err
claim 'a picture that cannot be written is status 1' [ $? -eq 1 ]
claim 'and says where' grep -q 'cannot draw to nowhere/plan.svg' err
"$reel" plan --steps 100000 --slots 100 --plot large.svg >out 2>err
claim 'too large a plan is not drawn' [ $? -eq 1 ] && [ ! -e large.svg ]
claim 'and says how large a plan may be' grep -q 'the plan has more than 200000 actions$' err
if [ -c /dev/full ]; then
	"$reel" plan --steps 9 --slots 3 --plot /dev/full >out 2>err
	claim 'a picture that is cut short is status 1' [ $? -eq 1 ]
	claim 'a device is not removed' [ -c /dev/full ]
fi

if [ -c /dev/full ]; then
	"$reel" plan --steps 10 --slots 3 >/dev/full 2>err
	claim 'a full disk is status 1' [ $? -eq 1 ]
	claim 'a full disk is reported' grep -q 'cannot write' err
else
	skip 'a full disk: no /dev/full'
fi

if python3 -c '' 2>/dev/null; then
	claim 'the JSON holds the counts of the text' json_holds_the_same_counts --steps 50 \
		--slots 2 --disk-slots 5 --write-cost 0.1 --read-cost 0.1
	claim 'the JSON holds the actions of the text' actions_are_json --steps 20 --slots 2 \
		--disk-slots 2 --write-cost 1 --read-cost 1
	claim 'the JSON holds the choice' json_holds_the_same_choice $by_cost --memory 999
	claim 'the picture is XML' python3 -c \
		'import xml.dom.minidom; xml.dom.minidom.parse("plan.svg")'
	claim 'those of an unknown end too' actions_are_json --steps 20 --slots 4 --planner online
else
	skip 'the JSON: no python3'
fi

end
