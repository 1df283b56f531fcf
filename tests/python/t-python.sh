#!/bin/bash
# SPDX-License-Identifier: MIT
# The Python package: its tests and the examples in its texts, with pytest; and its types, with mypy.
. "$SOURCE_DIR/tests/tap/tap.sh"

case " $CFLAGS " in *-fsanitize=*) skip_all 'the interpreter is built without a sanitizer' ;; esac
[ -e "$BUILD_DIR/.libs/libreel.so.0" ] || skip_all 'there is no shared library'
can_spill || skip_all 'no file can be opened beside memory here'
for python in /usr/bin/python3 python3 none; do
	"$python" -c 'import numpy, pytest' 2>/dev/null && break
done
[ $python != none ] || skip_all 'python3 has no numpy, or no pytest'

export PYTHONPATH=$SOURCE_DIR/python${TEST_PYTHONPATH:+:$TEST_PYTHONPATH} REEL_LIBRARY=$BUILD_DIR/.libs/libreel.so.0 PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -p no:cacheprovider -q --tb=short -rA --doctest-modules --basetemp="$PWD/pytest" \
	--doctest-ignore-import-errors --doctest-glob=README.md "$SOURCE_DIR/tests/python" "$SOURCE_DIR/python" >report 2>&1
grep -E '^(PASSED|FAILED|ERROR|SKIPPED) ' report | sed "s|$SOURCE_DIR/||" >results
[ -s results ]
ok $? "pytest runs" || cat report
while read -r result what; do
	if [ "$result" = SKIPPED ]; then
		skip "$what"
		continue
	fi
	[ "$result" = PASSED ]
	ok $? "$what"
done <results
grep -q -E '^(FAILED|ERROR) ' results && sed 's/^/#   /' report

if "$python" -c 'import mypy' 2>/dev/null; then
	(cd "$SOURCE_DIR/python" && "$python" -m mypy --cache-dir="$tap_directory/mypy" --ignore-missing-imports reel) >types 2>&1
	ok $? 'mypy finds no wrong type'
	sed '/^Success/d; s/^/#   /' types
else
	skip 'types: there is no mypy'
fi
end
