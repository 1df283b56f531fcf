#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel tune: the settings that it tries, its output, and errors. The times of the commands differ so much that the
# load of the machine does not matter.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
unset REEL_BUDGET REEL_STORE REEL_SPILL_DIR REEL_SLAB REEL_PAGES OMP_WAIT_POLICY

cat >command <<'END'
#!/bin/sh
echo "$SPEED ${OMP_WAIT_POLICY-unset} ${REEL_STORE-unset} ${REEL_BUDGET-unset} $REEL_SLAB$REEL_PAGES" >>runs
echo 'a result'
[ "$SPEED" != broken ] || exit 3
[ "$SPEED" = fast ] || sleep 1
END
chmod +x command

"$reel" tune --runs 3 --set SPEED=fast --set SPEED=broken -- ./command --help >out 2>err
ok $? 'settings are tried'
grep -q '^as it is  *[0-9]*\.[0-9]* s  *1\.00 x  *[0-9]* %' out && grep -q '^SPEED=fast  *[0-9]*\.[0-9]* s' out
ok $? 'the table has their times'
grep -q '^SPEED=broken  *failed with status 3$' out
ok $? 'the table shows with which setting the command fails'
grep -q '^Best: SPEED=fast, [0-9]* % less time\.$' out
ok $? 'the best setting is named'
! grep -q 'a result' out && [ ! -s err ]
ok $? 'the output of the command is dropped'
rm runs
SPEED=fast "$reel" tune --runs 3 --set SPEED=broken --set SPEED=fast --set OTHER=1 -- ./command >out
[ "$(cut -d ' ' -f 1 <runs | tr '\n' ' ')" = 'fast fast broken fast fast fast fast fast ' ]
ok $? 'settings take turns; one that fails is run once, and one that is set already is not tried'

rm runs
REEL_TRACE=trace.json REEL_SPILL_DIR=. REEL_BUDGET=64M "$reel" tune --runs 1 -- ./command >out
ok $? 'the default settings'
[ ! -e trace.json ]
ok $? 'a trace is left to the command'
grep -q '^ passive unset 64M $' runs && grep -q '^ active unset 64M $' runs &&
	grep -q '^ unset file 64M $' runs && grep -q '^ unset unset 33554432 $' runs &&
	grep -q '^ unset unset 134217728 $' runs && grep -q '^ unset unset 64M 256K$' runs &&
	grep -q '^ unset unset 64M small$' runs
ok $? 'they are waits of threads, slabs, pages, stores and budgets'
rm runs
OMP_WAIT_POLICY=passive "$reel" tune --runs 1 -- ./command >out
[ "$(wc -l <runs)" -eq 5 ] && grep -q '^ active' runs
ok $? 'a variable that is set is not tried again; without a store or budget none is tried'

grep -q '^No verdict: the noise is not known; give at least --runs 3\.$' out && ! grep -q '^Best:' out
ok $? 'one run has no verdict'
grep -q '^as it is  *[0-9.]* s  *1\.00 x  *-  *[0-9.]* MiB$' out
ok $? 'one run has no noise'
"$reel" tune --runs 2 --set SPEED=fast -- ./command >out
grep -q '^No verdict:' out && ! grep -q '^Best:' out
ok $? 'two runs have no verdict'
SPEED=fast "$reel" tune --runs 3 --set OTHER=1 -- ./command >out
grep -q '^No setting gains more than the noise' out || grep -q '^Best:' out
ok $? 'the table of three runs ends with a verdict'
SPEED=broken "$reel" tune -- ./command >out 2>err
[ $? -eq 1 ] && grep -q 'status 3): repair that first' err && [ ! -s out ]
ok $? 'a command that fails without a setting is refused'
is_refused "'reel tune --help'" "$reel" tune
ok $? 'no command is refused'
is_refused "'reel tune --help'" "$reel" tune ./command
ok $? 'a command without -- before it is refused'
echo text | "$reel" tune --runs 1 --set OTHER=1 -- sh -c '! read line' >out
ok $? 'the input of the command is empty'
is_refused "'reel tune --help'" "$reel" tune --runs 0 -- ./command
ok $? 'a number of runs that makes no sense is refused'
is_refused "'reel tune --help'" "$reel" tune --set SPEED -- ./command
ok $? 'a setting without a value is refused'
is_refused "'reel tune --help'" "$reel" tune --slow -- ./command
ok $? 'an unknown option is refused'
"$reel" tune -- ./nothing >out 2>err
[ $? -eq 1 ] && grep -q "cannot run './nothing'" err
ok $? 'a command that does not exist'

end
