# SPDX-License-Identifier: MIT
# The tests of dropin/clad source this after tap.sh: it sets $compilers, and has functions that compile.
[ -n "$CXX" ] || skip_all 'no C++ compiler'
tests=$SOURCE_DIR/tests
hook=$SOURCE_DIR/dropin/clad/tape.h
# The headers are the same for all compilers and standards, so the short form takes one standard.
standards='14 17 20 2b'
[ -n "$TEST_LONG" ] || standards=17
optimise=-O1
libraries=

# Programs need the sanitizer of the library, so the C compiler of the library compiles C++ in this case.
sanitized=
case $CFLAGS in
*-fsanitize*)
	sanitized=yes
	standards=17
	libraries='-lstdc++ -lm'
	optimise="$CFLAGS -O1 -fno-sanitize=vptr"
	echo 'int main() { return 0; }' >empty.cpp
	$CC $optimise -o empty empty.cpp $libraries >messages 2>&1 ||
		skip_all "$CC compiles no C++ with a sanitizer"
	compiler_of_tests=$CC
	compilers=./c++
	;;
*)
	compiler_of_tests=$CXX
	compilers=./c++
	[ -z "$TEST_LONG" ] || for other in g++ clang++; do
		$other --version >other 2>/dev/null || continue
		$CXX --version | cmp -s - other || compilers="$compilers $other"
	done
	;;
esac

# The script c++ makes one word of the compiler and its flags, for variables that hold a single command.
printf '#!/bin/sh\nexec %s "$@"\n' "$compiler_of_tests" >c++
chmod +x c++

$CC $CFLAGS -D_GNU_SOURCE -std=c11 -I"$BUILD_DIR" -I"$tests" -c "$tests/tap/tap.c" -o tap.o

# compile COMPILER STANDARD HEADER NAME OPTION...: compiles tests/NAME.cpp with the header force-included, to
# ./NAME. The file `messages` has the output of the compiler.
compile() {
	compile_compiler=$1 compile_standard=$2 compile_header=$3 compile_name=$4
	shift 4
	rm -f "$compile_name"
	$compile_compiler -std=c++$compile_standard $optimise "$@" -Wall -Wextra -Werror -Wno-psabi \
		-pthread -I"$BUILD_DIR" -I"$SOURCE_DIR/include" -I"$tests" \
		-include "$compile_header" -o "$compile_name" "$tests/dropin/$compile_name.cpp" tap.o \
		-L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel $libraries \
		>messages 2>&1
}

# passes WHAT COMMAND...: one check, which passes if all checks of the program pass.
passes() {
	what=$1
	shift
	"$@" >made 2>stderr
	ok $? "$what: $(grep -c '^ok' made) checks pass"
	grep '^not ok' made
	sed -n '1,20s/^/#   /p' stderr
}
