#!/bin/sh
# SPDX-License-Identifier: MIT
# reel plan: exit statuses, the counts as text and as JSON, the actions.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel

# claim WHAT COMMAND...: a check that passes if the command succeeds.
claim() {
	what=$1
	shift
	"$@"
	ok $? "$what"
}

# refuses REMEDY OPTION...
refuses() {
	wanted=$1
	shift
	is_refused "$wanted" "$reel" plan "$@"
}

# gives COUNTS OPTION...: each of the counts, NAME=VALUE, is shown.
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
claim 'an option without its value is refused' refuses 'takes a value' --steps
claim 'a number that is none is refused' refuses 'whole number' --steps 10x --slots 3
claim 'a number below 0 is refused' refuses 'whole number' --steps -1 --slots 3
claim 'too large a number is refused' refuses 'whole number' --steps 99999999999999999999
claim 'a cost that is none is refused' refuses 'takes a number' --steps 9 --read-cost dear
claim 'an unknown planner is refused' refuses 'no planner revolve' --steps 9 --planner revolve
claim 'no slots are refused' refuses 'give it one' --steps 10
claim 'too many slots are refused' refuses 'segments' --steps 10 --slots 300
claim 'a planner that needs a disk says so' refuses 'second tier' --steps 9 --slots 3 \
	--planner periodic
"$reel" plan --help >out
ok $? 'reel plan --help succeeds'
claim 'and describes --planner' grep -q -e '--planner NAME' out

claim 'binomial counts' gives 'planner=binomial advances=222 forward_steps=322 memory_stores=55
	memory_loads=99 memory_peak_slots=10 peak_tape_steps=1 makespan=422' \
	--steps 100 --slots 10
claim 'store-all counts' gives 'advances=0 forward_steps=50 peak_tape_steps=50' \
	--steps 50 --planner store-all
claim 'hierarchical counts' gives 'planner=hierarchical advances=105 disk_stores=15 disk_loads=20
	disk_peak_slots=5 memory_peak_slots=2 makespan=158.5' --steps 50 --slots 2 \
	--disk-slots 5 --write-cost 0.1 --read-cost 0.1 --record-cost 0.5 --reverse-cost 0.5
claim 'mixed counts' gives 'forward_steps=170' --steps 100 --slots 32 --planner mixed \
	--tape-states 1
claim 'two-level counts' gives 'advances=15 disk_stores=2 disk_loads=3' --steps 10 --slots 2 \
	--planner two-level --disk-slots 10 --period 5
claim 'online counts' gives 'planner=online steps=100' --steps 100 --slots 8 --planner online
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
	claim 'those of an unknown end too' actions_are_json --steps 20 --slots 4 --planner online
else
	skip 'the JSON: no python3'
fi

end
