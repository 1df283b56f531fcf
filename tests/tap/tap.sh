# SPDX-License-Identifier: MIT
# Shell tests source this, which does for them the work of tap.c: it numbers checks, prints the plan at
# the end, and gives the test a fresh working directory, which it removes at the end.
checks=0
failures=0

# Read-only, because the trap removes the directory, whatever the test assigns to its variables.
tap_directory=$(mktemp -d) && cd "$tap_directory" || exit 1
readonly tap_directory
trap 'cd / && rm -rf "$tap_directory"' EXIT

# ok STATUS WHAT...: a check that passes if STATUS is 0.
ok() {
	checks=$((checks + 1))
	if [ "$1" -eq 0 ]; then
		shift
		echo "ok $checks - $*"
	else
		shift
		failures=$((failures + 1))
		echo "not ok $checks - $*"
	fi
}

# can_spill: succeeds if files here are on a disk. The library refuses a spill directory in memory (tmpfs).
can_spill() {
	! df -P . | grep -q '^tmpfs '
}

# is_empty FILE WHAT...: a check that passes if FILE is empty. Otherwise it shows the file.
is_empty() {
	file=$1
	shift
	[ ! -s "$file" ]
	ok $? "$@"
	[ ! -s "$file" ] || sed 's/^/#   /' "$file"
}

# first_program PAGE: prints the first program in C of a page.
first_program() { awk '/^```c$/ { in_program = 1; next } in_program && /^```$/ { exit } in_program' "$1"; }

# is_refused REMEDY COMMAND...: succeeds if the command ends with status 2, and prints only one line, with the
# remedy, to stderr. The files stdout and stderr keep its output.
is_refused() {
	remedy=$1
	shift
	"$@" >stdout 2>stderr
	[ $? -eq 2 ] && [ ! -s stdout ] && [ "$(wc -l <stderr)" -eq 1 ] &&
		grep -q -e "$remedy" stderr
}

# skip WHAT...: a check that cannot be made here.
skip() {
	checks=$((checks + 1))
	echo "ok $checks # SKIP $*"
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

end() {
	echo "1..$checks"
	exit $((failures > 0))
}
