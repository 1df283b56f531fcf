#!/bin/sh
# SPDX-License-Identifier: MIT
# Exceptions of C++ in regions and in the bodies of tasks.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$CXX" ] || skip_all 'no C++ compiler'
case $CFLAGS in *-fsanitize*) skip_all 'the C++ compiler may have another sanitizer' ;; esac

$CC $CFLAGS -D_GNU_SOURCE -std=c11 -I"$BUILD_DIR" -I"$SOURCE_DIR/tests" -c "$SOURCE_DIR/tests/tap/tap.c" -o tap.o
$CXX -std=c++11 -O2 -Wall -Wextra -Werror -Wno-psabi -I"$BUILD_DIR" -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/tests" \
	-o program "$SOURCE_DIR/tests/omp/t-omp-cplusplus.cc" tap.o \
	-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel-omp -lreel >messages 2>&1
is_empty messages "the program compiles without a warning"
./program >checks_made
ok $? "$(grep -c '^ok' checks_made) checks pass"
grep '^not ok' checks_made
for where in team inner; do
	(ulimit -c 0; ./program $where >/dev/null 2>messages)
	status=$?
	ok $((status < 128)) "an exception out of a body ends the program: $where, status $status"
done
grep -q 'catch the exception in the body\|terminate called' messages
ok $? "it ends with a message: $(head -n 1 messages)"
end
