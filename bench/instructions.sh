#!/bin/sh
# SPDX-License-Identifier: MIT
# How many instructions a push and a pop of a double take whose slab has room:
# those from a function's entry to its return, the slow path being elsewhere.
# Usage: bench/instructions.sh PROGRAM
set -eu

instructions() {
	objdump -d --no-show-raw-insn "$1" | awk -v name="<$2>:" '
		$2 == name { inside = 1; next }
		inside { count++ }
		inside && $2 ~ /^ret/ { print count; exit }'
}

for operation in push pop; do
	bare=$(instructions "$1" "bare_$operation")
	tape=$(instructions "$1" "tape_$operation")
	echo "$operation: bare pointer bump $bare, tape $tape ($((tape - bare)) more)"
done
