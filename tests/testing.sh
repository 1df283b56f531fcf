#!/bin/sh
# SPDX-License-Identifier: MIT
# The figures of TESTING.md, from the tree and from what each tool has written to tests/results/.
usage='Usage: tests/testing.sh [--results DIRECTORY] [--write]

Print TESTING.md with its figures made anew; --write puts it in place. A line of the page that has a
figure says where it is from, in a comment at its end:

	<!-- NAME KEY -->     of KEY in tests/results/NAME.txt
	<!-- count WHAT -->   of the tree: tests, test-lines, library-lines, ...
	<!-- rows NAME -->    the lines up to <!-- end --> are a table of that file
	<!-- rest -->         tables of all files that the page does not name

Results are small text files, NAME.txt, with one "KEY VALUE" a line. What is not there was not run,
and the page says so.'

refuse() {
	echo "testing.sh: $1; see tests/testing.sh --help" >&2
	exit 2
}

source=$(cd "$(dirname "$0")/.." && pwd) || exit
results=$source/tests/results write=
while [ $# -gt 0 ]; do
	case $1 in
	--help) echo "$usage" && exit ;;
	--write) write=yes ;;
	--results)
		[ $# -gt 1 ] || refuse "$1 takes an argument"
		results=$2
		shift
		;;
	*) refuse "$1: no such option" ;;
	esac
	shift
done
cd "$source" || exit
counts=$(mktemp -d) || exit
trap 'rm -rf "$counts"' EXIT

lines() {
	find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.sh' -o -name '*.f90' -o -name '*.cc' \
		-o -name '*.cpp' -o -name '*.pml' -o -name '*.awk' \) -exec cat {} + | wc -l
}

# What the tree itself says.
{
	tests=$(lines tests stress fuzz)
	library=$(lines include lib omp dropin gpu/*.[ch])
	echo "programs $(ls tests/*/t-*.c | wc -l)"
	echo "scripts $(ls tests/*/t-*.sh | wc -l)"
	echo "test-lines $tests"
	echo "library-lines $library"
	echo "ratio $(awk "BEGIN { printf \"%.2f\", $tests / $library }")"
	echo "models $(ls tests/models/*.pml | wc -l)"
} >"$counts/count.txt"
cp "$results"/*.txt "$counts" 2>/dev/null

awk -v from="$counts" '
	function value(name, key,   row, field, file, found) {
		file = from "/" name ".txt"
		found = "not run"
		while ((getline row < file) > 0) {
			split(row, field, " ")
			if (field[1] == key)
				found = substr(row, length(key) + 2)
		}
		close(file)
		return found
	}
	function begin_table() {
		print "\n| what | value |\n|---|---|"
	}
	function rows(name,   row, key, file, n) {
		file = from "/" name ".txt"
		while ((getline row < file) > 0) {
			key = row
			sub(/ .*/, "", key)
			if (!n++)
				begin_table()
			print "| " key " | " substr(row, length(key) + 2) " |"
		}
		close(file)
		print n ? "" : "\nnot run\n"
	}
	function rest(   command, name) {
		command = "cd " from " && ls *.txt"
		while ((command | getline name) > 0) {
			sub(/\.txt$/, "", name)
			if (!(name in named)) {
				print "\n" name ":"
				rows(name)
			}
		}
		close(command)
	}
	/<!-- end -->$/ { skipping = 0 }
	skipping { next }
	/<!-- rest -->$/ {
		print
		rest()
		skipping = 1
		next
	}
	/<!-- [a-z]+ [A-Za-z0-9_\/.-]+ -->$/ {
		match($0, /<!-- .* -->$/)
		split(substr($0, RSTART + 5, RLENGTH - 9), of, " ")
		if (of[1] == "rows") {
			named[of[2]] = 1
			print
			rows(of[2])
			skipping = 1
			next
		}
		named[of[1]] = 1
		# The figure is what stands between ** and **.
		figure = value(of[1], of[2])
		gsub(/&/, "\\\\&", figure)
		sub(/\*\*[^*]*\*\*/, "**" figure "**")
	}
	{ print }
' TESTING.md >"$counts/page" || exit
if [ -n "$write" ]; then
	cp "$counts/page" TESTING.md
else
	cat "$counts/page"
fi
