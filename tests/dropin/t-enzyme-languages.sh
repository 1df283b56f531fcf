#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the table of libreel-enzyme from C++, Fortran and Rust, by the manual's program for each language.
. "$SOURCE_DIR/tests/tap/tap.sh"

[ -e "$BUILD_DIR/.libs/libreel-enzyme.so" ] || skip_all 'there is no shared library'
case $CFLAGS in *-fsanitize*) skip_all 'these compilers may have another sanitizer' ;; esac

programs=$SOURCE_DIR/tests/dropin/enzyme-programs
libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-enzyme -lreel"

# shown LANGUAGE: prints the manual's programs in this language.
shown() {
	awk -v fence="\`\`\`$1" '$0 == fence { shown = 1; next } /^```$/ { shown = 0 } shown' \
		"$SOURCE_DIR/dropin/enzyme/README.md"
}

# builds WHAT COMMAND...: a check that the program compiles without a message.
builds() {
	what=$1
	shift
	"$@" >messages 2>&1
	status=$?
	is_empty messages "$what compiles without a warning"
	[ $status -eq 0 ]
}

# runs PROGRAM: a check that the program reverses each step once.
runs() {
	"./$1" >seen 2>&1
	echo '20 turns, 3 slots' | diff - seen >difference
	is_empty difference "$1: each step is reversed once"
}

if [ -n "$CXX" ]; then
	shown c++ >manual.cpp
	builds "the manual's C++" $CXX -std=c++11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -c manual.cpp
	builds 'a program in C++' $CXX -std=c++11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/tests" \
		-o cpp "$programs/loop.cpp" $libraries && runs cpp
else
	skip 'C++: there is no compiler'
fi

# Takes the place of Enzyme's module.
cat >enzyme.f90 <<'END'
module enzyme
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int) :: enzyme_scheme, enzyme_checkpoint_region
  external :: enzyme_checkpoint_for
end module
END
if grep -q '^#define FORTRAN_BINDING_HEADER' "$BUILD_DIR/config.h"; then
	shown fortran >manual.f90
	flags="$FCFLAGS -std=f2018 -Wall -Wextra -Werror"
	builds "the manual's Fortran" $FC $flags -c enzyme.f90 manual.f90
	awk '{ print } /^end module$/ { exit }' manual.f90 >module.f90
	builds 'a program in Fortran' $FC $flags -o fortran module.f90 "$programs/loop.f90" $libraries && runs fortran
else
	skip 'Fortran: its compiler was not found'
fi

# The manual needs a compiler with `unsafe extern`: 1.82 and later. It warns if it cannot use the jobs of the calling make,
# so the variables of that make are unset.
unset MAKEFLAGS MFLAGS CARGO_MAKEFLAGS
shown rust >manual.rs
cp "$programs/loop.rs" .
echo 'unsafe extern "C" {} fn main() {}' >tried.rs
if rustc tried.rs >messages 2>&1; then
	builds 'a program in Rust' rustc --edition 2021 -D warnings -A dead-code -o rust loop.rs \
		-L native="$BUILD_DIR/.libs" -l dylib=reel-enzyme -l dylib=reel -C link-arg=-Wl,-rpath,"$BUILD_DIR/.libs" && runs rust
else
	skip 'Rust: there is no compiler, or an old one'
fi
end
