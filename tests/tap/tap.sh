# SPDX-License-Identifier: MIT
# The part of tap.c that shell tests need, to be sourced: checks are numbered, the plan comes last,
# and the test works in a fresh directory of its own, which goes with it.
checks=0
failures=0

# A test's own variables must not change what is removed.
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

# can_spill: whether files here are on a disk. A spill directory in memory (tmpfs) is refused.
can_spill() {
	! df -P . | grep -q '^tmpfs '
}

# is_empty FILE WHAT...: a check that passes if FILE is empty, and else shows it.
is_empty() {
	file=$1
	shift
	[ ! -s "$file" ]
	ok $? "$@"
	[ ! -s "$file" ] || sed 's/^/#   /' "$file"
}

# first_program PAGE: the first program in C that the page shows.
first_program() { awk '/^```c$/ { in_program = 1; next } in_program && /^```$/ { exit } in_program' "$1"; }

# is_refused REMEDY COMMAND...: whether it ends with status 2 and nothing but one line that has the
# remedy, on stderr. What it wrote is kept in stdout and stderr.
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
