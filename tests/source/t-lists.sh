#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that the lists of sources and of symbols are sorted, so that a file or a name has one place in them. No product
# grows beyond its bar, and enough functions have assertions. Git ignores the files of a build, and make check prints the
# number of programs that it compiles first.
. "$SOURCE_DIR/tests/tap/tap.sh"
LC_ALL=C
export LC_ALL

# modules FILE: prints a line for each module of a list: the number of the list, and the module without .c and .h.
modules() {
	awk '
		/^libreel_[a-z_]*_SOURCES = / { list = ++lists }
		list { for (i = 1; i <= NF; i++) if (sub(/\.[ch]$/, "", $i) && $i != last) print list, last = $i }
		!/\\$/ { list = "" }' "$1"
}

for list in lib omp gpu; do
	modules "$SOURCE_DIR/$list/local.mk" >modules
	[ -s modules ]
	ok $? "$list/local.mk lists modules"
	sort modules | diff modules - >unsorted
	is_empty unsorted "the modules of $list/local.mk are sorted by folder and name, each on one line"
done

for map in "$SOURCE_DIR"/dropin/*/*.map; do
	awk '/^\t[a-z]/ { sub(/;$/, "", $1); print $1 }' "$map" >symbols
	sort symbols | diff symbols - >unsorted
	is_empty unsorted "the symbols of ${map#"$SOURCE_DIR/"} are sorted"
done

# Counts lines of code, without comments and empty lines. A change that adds a concept removes another one; the message of a
# change that raises a bar gives the reason.
for bar in lib:25554 omp:7070 mpi:5310 gpu:3569 include:4191 dropin:7030 tools:4500; do
	product=${bar%:*}
	lines=$(find "$SOURCE_DIR/$product" \( -name '*.[ch]' -o -name '*.cuh' -o -name '*.hpp' \) \
		! -name report-page.c -exec cat {} + |
		sed -E 's#/\*([^*]|\*+[^*/])*\*+/##g; /\/\*/,/\*\//d; /^[[:space:]]*$/d' | wc -l)
	[ "$lines" -gt 1000 ] && [ "$lines" -le "${bar#*:}" ]
	ok $? "$product/ has $lines lines of code, at most ${bar#*:}"
done

# Counts lines of Python, also without docstrings. _api.py is generated, and does not count.
lines=$(find "$SOURCE_DIR/python/reel" -name '*.py' ! -name _api.py -exec cat {} + | ${AWK:-awk} '
	/^[ \t]*(#|$)/ { next }
	inside { inside = !/"""/; next }
	/^[ \t]*"""/ { inside = !/""".*"""/; next }
	{ lines++ }
	END { print lines + 0 }')
[ "$lines" -gt 1000 ] && [ "$lines" -le 4031 ]
ok $? "python/ has $lines lines of code, at most 4031"

# Computes the share of functions of lib/ with an assertion. The body of a function begins and ends in the first column.
share=$(find "$SOURCE_DIR/lib" -name '*.[ch]' -exec cat {} + | ${AWK:-awk} '
	/^\{/ { functions++; has = 0 }
	/REEL_ASSERT/ { has = 1 }
	/^\}/ { with += has; has = 0 }
	END { if (functions > 1000) print int(100 * with / functions) }')
[ "${share:-0}" -ge 30 ]
ok $? "${share:-0} % of the functions of lib/ have an assertion, at least 30"

# announcement GOAL: prints the message of make before it makes the goal, if no program of a test is there.
announcement() { env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" all-local MAKECMDGOALS="$1" check_PROGRAMS='none nothing'; }
[ "$(announcement check)" = 'Test programs to compile first: 2. All of them take minutes, and fewer with make -j.' ] &&
	[ -z "$(announcement all)" ]
ok $? 'make check says that it compiles the tests first'

# .gitignore has all files that a build in the source folder makes, and no file that git keeps.
if [ -e "$SOURCE_DIR/.git" ] && command -v git >/dev/null; then
	env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" --eval='print: ; @printf "%s\n" $(PROGRAMS) $(check_PROGRAMS) $(EXTRA_PROGRAMS) \
		$(LTLIBRARIES) $(LIBRARIES) $(EXTRA_LTLIBRARIES) $(BUILT_SOURCES) $(CLEANFILES)' print | sort -u >made
	[ "$(wc -l <made)" -gt 100 ]
	ok $? 'a build makes programs and libraries'
	git -C "$SOURCE_DIR" check-ignore -v -n --no-index --stdin <made | sed -n 's/^::	//p' >shown
	is_empty shown 'git ignores them in the source folder'
	git -C "$SOURCE_DIR" ls-files --cached --ignored --exclude-standard >ignored
	is_empty ignored 'and no file that it keeps'
else
	skip 'what git ignores: this is no clone'
fi
end
