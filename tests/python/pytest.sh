# SPDX-License-Identifier: MIT
# Tests of the Python package source this after tap.sh. It finds the interpreter, and makes a check of each test.

case " $CFLAGS " in *-fsanitize=*) skip_all 'the interpreter is built without a sanitizer' ;; esac
[ -e "$BUILD_DIR/.libs/libreel.so.0" ] || skip_all 'there is no shared library'
can_spill || skip_all 'no file can be opened beside memory here'
for python in ${TEST_PYTHON:+"$TEST_PYTHON"} /usr/bin/python3 python3 none; do
	"$python" -c 'import numpy, pytest' 2>/dev/null && break
done
[ $python != none ] || skip_all 'python3 has no numpy, or no pytest'

export PYTHONPATH=$SOURCE_DIR/python${TEST_PYTHONPATH:+:$TEST_PYTHONPATH} REEL_LIBRARY=$BUILD_DIR/.libs/libreel.so.0 PYTHONDONTWRITEBYTECODE=1

# run_pytest PATH-OR-OPTION...: runs the tests of the files and folders.
run_pytest() {
	"$python" -m pytest -p no:cacheprovider -q --tb=short -rA --doctest-modules --basetemp="$PWD/pytest" \
		--doctest-ignore-import-errors --doctest-glob=README.md "$@" >report 2>&1
	grep -E '^(PASSED|FAILED|ERROR|SKIPPED) ' report | sed "s|$SOURCE_DIR/||" >results
	[ -s results ]
	ok $? "pytest runs"
	[ -s results ] || sed 's/^/#   /' report
	while read -r result what; do
		if [ "$result" = SKIPPED ]; then
			skip "$what"
			continue
		fi
		[ "$result" = PASSED ]
		ok $? "$what"
	done <results
	grep -q -E '^(FAILED|ERROR) ' results && sed 's/^/#   /' report
}
