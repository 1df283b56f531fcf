#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel top: processes and their figures, ranks of a job, stopped, killed, many and other users' processes, and
# errors. The test has its own directory, so that it sees no other process.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
program=$BUILD_DIR/tests/trace/t-live
REEL_STATS=live:$PWD
export REEL_STATS
directory=$PWD/reel-$(id -u)
trap 'exit 1' HUP INT TERM
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID PMIX_NAMESPACE SLURM_JOB_ID SLURM_STEP_ID
mkfifo input
exec 9<>input

# start SLABS [VARIABLE=VALUE...]: runs a program with SLABS slabs on a tape, until it is killed or this test ends.
start() {
	slabs=$1
	shift
	rm -f output
	mkfifo output
	env "$@" "$program" "$slabs" <input >output 9<&- &
	read -r ready <output
}
# stop PROCESS...: ends processes, and removes the sockets that they leave.
stop() {
	kill "$@"
	for process; do
		wait "$process" 2>/dev/null
		rm -f "$directory/$process"-*
	done
}
# figures PROCESS PYTHON: runs a line of Python in which p is the process in the output of `reel top --json`.
figures() {
	"$reel" top --json >top.json && python3 -c "import json, sys
p = [p for p in json.load(open('top.json'))['processes'] if p['pid'] == int(sys.argv[1])]
exec(sys.argv[2])" "$1" "$2"
}

python3 -c '' 2>/dev/null || skip_all 'there is no python3'
start 40
one=$!
figures $one 'p, = p; assert p["answers"] and p["pools"][0]["in_use_bytes"] == 40 * 4096'
ok $? 'the bytes of a tape'
figures $one 'p, = p; assert p["pools"][0]["hard_budget"] == 40960 and p["command"].endswith("t-live 40") and not p["runs"]'
ok $? 'the budget and the command'
figures $one 'p, = p; assert p["written_per_second"] == 0 and p["waits_per_second"] == 0'
ok $? 'a process that rests writes nothing'
"$reel" top --once >table && awk -v process=$one '$1 == process && $3 == "160K" && $5 == "40K" { found = 1 } END { exit !found }' table
ok $? 'the table has the bytes and the budget'
timeout 30 "$reel" top >tables &
again=$!
for i in $(seq 100); do
	[ "$(grep -c "^ *$one " tables)" -ge 2 ] && break
	sleep 0.1
done
[ "$(grep -c "^ *$one " tables)" -ge 2 ]
ok $? 'the table is written again and again'
kill $again

kill -STOP $one
figures $one 'p, = p; assert not p["answers"]' && "$reel" top --once | grep -q "^ *$one .*does not answer"
ok $? 'a process that is stopped is shown'
kill -CONT $one
figures $one 'p, = p; assert p["answers"]'
ok $? 'the process answers when it goes on'
kill -KILL $one
wait $one 2>/dev/null
figures $one 'assert not p'
ok $? 'a process that was killed is not shown'
! ls "$directory/$one"-* 2>/dev/null
ok $? 'the socket that it has left is removed'

for rank in 3 10 2; do
	start $rank OMPI_COMM_WORLD_RANK=$rank "PMIX_NAMESPACE=job-$$"
	ranks="$ranks $!"
done
start 1 OMPI_COMM_WORLD_RANK=0 PMIX_NAMESPACE=other-$$
ranks="$ranks $!"
"$reel" top --once >table
grep -A3 "^ *ranks  *3 .* job job-$$\$" table | sed 1d | awk '{ print $2, $3 }' | tr '\n' ' ' | grep -q '^2 8\.0K 3 12K 10 40K $'
ok $? 'ranks of a job come together, in order'
awk '/^ *ranks/ && /job-'$$'/ && $3 == "60K" && $5 == "120K" { found = 1 } END { exit !found }' table
ok $? 'a line has the sum of their figures'
! grep -q "^ *ranks .*other-$$" table
ok $? 'a rank that is alone here has no sum'
stop $ranks

if [ -w /dev/shm ] && [ -d /proc/self ]; then
	# Each rank keeps 4 slabs of 4 KiB of the budget of 10, and says so, also while it does not run.
	for rank in 0 1; do
		start 40 OMPI_COMM_WORLD_RANK=$rank PMIX_NAMESPACE=sharing-$$ SHARED_BUDGET=top-$$
		sharing="$sharing $!"
	done
	"$reel" top --once >table
	awk '/^ *ranks/ && /sharing-'$$'/ && $5 == "40K" { found = 1 } END { exit !found }' table
	ok $? 'ranks that share a budget have it once'
	awk '/^ *shared +2 / && /reel-budget-[0-9]+-top-'$$'$/ && $3 + 0 >= 32 && $3 + 0 <= 40 && $4 == "40K" && $6 == "wait:" {
			found = 1
		}
		END { exit !found }' table
	ok $? 'a line has the processes that share a budget, and what they have of it'
	figures $! 'p, = p; q = p["pools"][0]; assert 16384 <= q["share_bytes"] <= 24576 and "share_short_ms" in q'
	ok $? 'a process has a part of a shared budget'
	stop $sharing
	rm -f "/dev/shm/reel-budget-$(id -u)-top-$$"
else
	skip 3 'there is no /dev/shm, or no /proc'
fi

start 1 "$(printf 'OMPI_COMM_WORLD_RANK=0 x\nend')" "$(printf 'PMIX_NAMESPACE=\033[31m"}')"
hostile=$!
figures $hostile 'p, = p; assert p["rank"] == "0_x_end" and p["job"] == "_[31m\"}"'
ok $? 'the environment cannot end a line'
stop $hostile

# 64 processes have different figures.
rm -f output
mkfifo output
for n in $(seq 64); do
	"$program" "$n" <input >output 9<&- &
	many="$many $!"
done
[ "$(timeout 60 head -n 64 output | grep -c ready)" -eq 64 ]
ok $? '64 processes run'
"$reel" top --json >top.json && python3 - $many <<'PROGRAM'
import json, sys
seen = {p["pid"]: p["pools"][0]["in_use_bytes"] for p in json.load(open("top.json"))["processes"] if p["answers"]}
assert [seen[int(pid)] for pid in sys.argv[1:]] == [4096 * n for n in range(1, 65)]
PROGRAM
ok $? 'each of them has its own figures'
stop $many

# answers ANSWER ANSWER: runs `reel top` on a process that sends these two answers.
cat >answer.py <<'PROGRAM'
import os, socket, sys
name = "%s/%d-1" % (sys.argv[1], os.getpid())
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
    here.bind(name)
    here.settimeout(60)
    print(os.getpid(), flush=True)
    for answer in sys.argv[2:]:
        _, reader = here.recvfrom(1)
        here.sendto(os.fsencode(answer.replace("pid=0", "pid=%d" % os.getpid())), reader)
os.remove(name)
PROGRAM
answers() {
	: >number
	python3 answer.py "$directory" "$1" "$2" 9<&- >>number &
	while ! [ -s number ]; do sleep 0.1; done
	if [ "$3" ]; then
		figures "$(cat number)" "$3"
	else
		"$reel" top --once >table
	fi
	seen=$?
	wait $!
	return $seen
}
# Two processes answer 0.6 s after one another. Either may be later on a busy machine, so the check has ten tries.
cat >late.py <<'PROGRAM'
import contextlib, os, socket, sys, time
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
    here.bind("%s/%d-1" % (sys.argv[1], os.getpid()))
    print("ready", flush=True)
    while True:
        _, reader = here.recvfrom(1)
        time.sleep(float(sys.argv[2]))
        with contextlib.suppress(OSError):
            here.sendto(b"process pid=%d seconds=1 command=late\nend\n" % os.getpid(), reader)
PROGRAM
rm -f output
mkfifo output
late=
for seconds in 0.6 1.2; do
	python3 late.py "$directory" $seconds 9<&- >output &
	late="$late $!"
done
head -n 2 output >ready
tries=0
until "$reel" top --once >table && [ "$(grep -c ' late$' table)" -eq 2 ] || [ $((tries += 1)) -ge 10 ]; do :; done
[ $tries -lt 10 ]
ok $? 'the last of several answers may come later than one alone may'
stop $late

first='process pid=0 seconds=10 command=x
pool number=1 written_bytes=1000000 read_bytes=0 stall_ns=1000000000
pool number=2 written_bytes=5000000 read_bytes=0 stall_ns=0
'
answers "${first}end
" 'process pid=0 seconds=12.5 command=x
pool number=3 written_bytes=0 read_bytes=0 stall_ns=0
pool number=1 written_bytes=1000000 read_bytes=4000000 stall_ns=1000000000 later=7
end
' 'p, = p; assert (p["written_per_second"], p["read_per_second"], p["pools"][1]["later"]) == (0, 1600000, 7)'
ok $? 'rates are per second of the process, and a closed pool makes no rate negative'
answers "$first" "$first" 'p, = p; assert not p["answers"]'
ok $? 'an answer without its end is not taken'
second='process pid=0 rank=01 job=0123 seconds=1e999 command=./a rank=7 job=foo
pool number=1 in_use_bytes=+1 resident_bytes=01 in_store_bytes=1. written_bytes=.5 read_bytes=1e2 stall_ns=-0
end
'
answers "$second" "$second" 'p, = p; o = p["pools"][0]
assert (p["rank"], p["job"], p["seconds"], p["command"]) == ("01", "0123", "1e999", "./a rank=7 job=foo")
assert [o[k] for k in ("in_use_bytes", "resident_bytes", "in_store_bytes", "written_bytes", "read_bytes", "stall_ns")] == ["+1", "01", "1.", ".5", 100, 0]'
ok $? 'a value that is no number of JSON is a text, and words of a command are no figures'
third="process pid=0 seconds=1 command=$(printf 'a\302\233b\233c\303\251')
end
"
answers "$third" "$third" ''
grep -q 'a?b?c' table && ! LC_ALL=C grep -q "$(printf '\233')" table
ok $? 'commands to the terminal are not written to it'
run="process pid=0 seconds=1 command=x
run reverses=1 done=3 steps=10 seconds=2.5 steps_per_second=1
end
"
answers "$run" "$run" ''
grep -q ' 3/10 reverse  *- x' table
ok $? 'a sweep whose share is not known'
left_out="process pid=0 seconds=1 command=x
left_out all=1
end
"
answers "$left_out" "$left_out" ''
grep -q 'has too many pools and runs for an answer' table
ok $? 'an answer that was too long'
answers "$left_out" "$left_out" 'p, = p; assert p["answers"] and p["left_out"]'
ok $? 'the JSON says so, too'
fourth='process pid=0 seconds=1 command=x
pool number=7 parent=3 in_use_bytes=8192 resident_bytes=4096 in_store_bytes=0
end
'
answers "$fourth" "$fourth" ''
grep -q '8\.0K *4\.0K' table
ok $? 'the child of a fork has memory of its parent'"'"'s pool'
# leave NAME...: makes sockets without a process.
leave() {
	(cd "$directory" && python3 -c 'import socket, sys
for name in sys.argv[1:]:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind(name)' "$@")
}
leave .1-1 && "$reel" top --once >/dev/null && [ ! -e "$directory/.1-1" ]
ok $? 'the socket that another reader has left is removed'
(cd "$directory" && echo data >2026-results && echo data >2026-1 && mkfifo 1-f && ln -s 2026-1 2-2 && mkdir 3-3) &&
	leave 2026-archive 2026- 12 .12 && ln -s 2026-archive "$directory/4-4"
ls -A "$directory" >before
"$reel" top --once >/dev/null && ls -A "$directory" | cmp before - && [ "$(wc -l <before)" -eq 10 ]
ok $? 'other files in the directory stay, whatever their names begin with'

# The other user is a number that no user has. That user may write to a directory of this test.
other=$((1000000 + $$))
theirs=$PWD/shared/reel-$other
mkdir -m 1777 shared && chmod a+x . && REEL_STATS=live:$PWD/shared
directory=$PWD/shared/reel-$(id -u)
if [ "$(id -u)" -eq 0 ] && setpriv --reuid $other "$reel" --version >/dev/null 2>&1; then
	start 5
	mine=$!
	rm -f output
	mkfifo output
	setpriv --reuid $other "$program" 6 <input >output 9<&- &
	foreign=$!
	read -r ready <output
	figures $foreign 'assert not p' && figures $mine 'assert p'
	ok $? "another user's process is not shown"
	setpriv --reuid $other "$reel" top --json >theirs.json
	grep -q "\"pid\": $foreign," theirs.json && ! grep -q "\"pid\": $mine," theirs.json
	ok $? 'the other user sees their own process'
	! setpriv --reuid $other ls "$directory" 2>/dev/null
	ok $? 'the other user cannot look into the directory'
	stop $mine $foreign
	rm -rf "$theirs"
	mkdir "$theirs"
	setpriv --reuid $other "$program" 1 </dev/null >said 2>&1
	[ $? -eq 0 ] && grep -q 'REEL_STATS=live.*must be a directory of this user' said
	ok $? 'a directory of another user is refused, and the program goes on'
	setpriv --reuid $other "$reel" top --once >said 2>&1
	[ $? -eq 1 ] && grep -q "cannot read '$theirs': it is not a directory of yours alone; remove it, or set REEL_STATS=live:DIR" said
	ok $? 'reel top refuses this directory, too'
	rmdir "$theirs"
else
	skip 'another user: only root can become one'
fi
start 1 REEL_STATS=live
usual=$!
for value in live live: 1 0 other:. ''; do
	(REEL_STATS=$value && figures $usual 'assert p')
	ok $? "reel top looks into /tmp with REEL_STATS=$value"
done
directory=/tmp/reel-$(id -u)
stop $usual
"$reel" top --help | grep -q '^TAPES are bytes of tapes, parcels and snapshots of runs'
ok $? 'the help says that snapshots are counted'
is_refused "'reel top --help'" "$reel" top --twice
ok $? 'an unknown option is refused'
"$reel" top --help | grep -q REEL_STATS=live
ok $? 'the help names the variable'
end
