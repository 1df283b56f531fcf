#!/bin/sh
# SPDX-License-Identifier: MIT
# reel.c and reel.h, which `make amalgamation` writes: a program compiles with them alone, without a
# warning, for each C from C11 on.
. "$SOURCE_DIR/tests/tap/tap.sh"

env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" amalgamation >said 2>&1 && cp "$BUILD_DIR"/amalgamation/reel.[ch] .
ok $? 'make amalgamation writes two files'
awk '/^```c$/ { in_program = 1; next } /^```$/ { exit } in_program' "$SOURCE_DIR/README.md" >gradient.c

for standard in c11 gnu17 gnu2x; do
	$CC $CFLAGS -O0 -std=$standard -pthread -Wall -Wextra -Werror -I. gradient.c reel.c -o gradient-$standard -lm 2>warnings
	ok $? "they compile for $standard"
	is_empty warnings 'without a warning'
done
./gradient-c11 >printed
grep -q '^dx/da = 1.05736 0.562254 0.397171$' printed
ok $? 'the program of README.md prints its gradient'
REEL_BUDGET=4M REEL_SPILL_DIR=. ./gradient-gnu17 | cmp - printed
ok $? 'and so it does under a budget with a store'

grep -h '^#include "' reel.c | grep -v '^#include "reel.h"$' >included
is_empty included 'reel.c includes no file of the project except reel.h'
end
