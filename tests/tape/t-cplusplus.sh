#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the tape from C++ in each standard of the language.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$CXX" ] || skip_all 'no C++ compiler'
case $CFLAGS in *-fsanitize*) skip_all 'the C++ compiler may have another sanitizer' ;; esac

$CC $CFLAGS -D_GNU_SOURCE -std=c11 -I"$BUILD_DIR" -I"$SOURCE_DIR/tests" -c "$SOURCE_DIR/tests/tap/tap.c" -o tap.o
standards='11 14 17 20'
[ -n "$TEST_LONG" ] || standards='11 20'
for standard in $standards; do
	$CXX -std=c++$standard -O2 -Wall -Wextra -Werror -Wno-psabi -I"$BUILD_DIR" -I"$SOURCE_DIR/include" \
		-I"$SOURCE_DIR/tests" -o program "$SOURCE_DIR/tests/tape/t-cplusplus.cc" tap.o \
		-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel >messages 2>&1
	is_empty messages "C++$standard compiles without a warning"
	./program >checks_made
	ok $? "C++$standard: $(grep -c '^ok' checks_made) checks pass"
	grep '^not ok' checks_made
done
end
