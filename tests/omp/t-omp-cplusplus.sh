#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests C++: reel.hpp, and exceptions in regions and in the bodies of tasks.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -n "$CXX" ] || skip_all 'no C++ compiler'
case $CFLAGS in *-fsanitize*) skip_all 'the C++ compiler may have another sanitizer' ;; esac

$CC $CFLAGS -D_GNU_SOURCE -std=c11 -I"$BUILD_DIR" -I"$SOURCE_DIR/tests" -c "$SOURCE_DIR/tests/tap/tap.c" -o tap.o

# compiles FILE STANDARD OPTION...: compiles a program; the file `messages` has the output of the compiler.
compiles() {
	file=$1 standard=$2
	rm -f program
	shift 2
	$CXX -std=$standard -O2 -Wall -Wextra -Wshadow -Werror -Wno-psabi "$@" -I"$BUILD_DIR" \
		-I"$SOURCE_DIR/include" -I"$SOURCE_DIR/tests" -o program "$file" tap.o \
		-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel-omp -lreel >messages 2>&1
}

# passes WHAT COMMAND...: one check, which passes if all checks of the program pass.
passes() {
	what=$1
	shift
	"$@" ./program >checks_made
	ok $? "$what: $(grep -c '^ok' checks_made) checks pass"
	grep '^not ok' checks_made
}

# owners STANDARD OPTION...: tests the classes of reel.hpp.
owners() {
	compiles "$SOURCE_DIR/tests/omp/t-owners.cc" "$@"
	is_empty messages "reel.hpp compiles without a warning: $*"
	passes "reel.hpp, $*" env OMP_NUM_THREADS=3
}

printf '#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n' >probe.cc
if compiles ./probe.cc c++14 -fopenmp; then
	owners c++14 -fopenmp
	owners c++20 -fopenmp
fi
owners c++17

compiles "$SOURCE_DIR/tests/omp/t-omp-cplusplus.cc" c++11
is_empty messages "the program compiles without a warning"
passes 'in regions and tasks'
for where in team inner; do
	(ulimit -c 0; ./program $where >/dev/null 2>messages)
	status=$?
	ok $((status < 128)) "an exception out of a body ends the program: $where, status $status"
done
grep -q 'catch the exception in the body\|terminate called' messages
ok $? "it ends with a message: $(head -n 1 messages)"
end
