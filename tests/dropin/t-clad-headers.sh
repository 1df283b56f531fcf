#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the headers of dropin/clad alone, beside Clad's declarations, and without Clad, and the size of their code
# and stack frames.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/clad.sh"

# compiles COMPILER STANDARD HEADER: a check that the header compiles alone.
compiles() {
	echo '#include HEADER' >alone.cpp
	$1 -std=c++$2 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror \
		-DHEADER="\"$3\"" -I"$SOURCE_DIR/include" -fsyntax-only alone.cpp 2>messages
	is_empty messages "$1, C++$2: ${3##*/} compiles by itself without a warning"
}

# refuses_threads COMPILER: a check that the compiler refuses a tape that threads share, with the reason.
refuses_threads() {
	echo "clad::custom_tape<double, 64, 1024, true> shared;" >refused.cpp
	! $1 -std=c++17 -I"$SOURCE_DIR/include" -include "$hook" -fsyntax-only refused.cpp 2>messages &&
		grep -q "give each thread a tape" messages
	ok $? "$1: a tape that threads share is refused"
}

runs() {
	compile "$@" && ./$4 >made 2>&1
	ok $? "$1, C++$2: $4 $5 runs"
	sed 's/^/#   /' messages
}

# code_of COMPILER TYPE OPTION...: prints the bytes of code in `many` less the bytes in `few`.
code_of() {
	code_compiler=$1 code_type=$2
	shift 2
	$code_compiler -std=c++14 -O2 -I"$SOURCE_DIR/include" -include "$hook" \
		-DTYPE="$code_type" "$@" -c -o size.o "$tests/dropin/t-clad-size.cpp" || return
	$NM -P -t d -C size.o | awk '
		/^(few|many)\(/ { bytes[substr($0, 1, 3)] += $NF }
		END { print bytes["man"] - bytes["few"] }'
}

# is_small COMPILER TYPE REGISTER: a check that a push has little code. REGISTER is the constraint of inline assembly for a
# register that holds a value of the type.
is_small() {
	pushes=$(code_of $1 "$2" -DPUSH)
	takes=$(code_of $1 "$2" "-DTAKE=\"$3\"")
	[ "$takes" -gt 0 ] && [ "$pushes" -gt "$takes" ] && [ $((pushes - takes)) -le $((20 * 60)) ]
	ok $? "$1: a push of $2 is at most 60 bytes of code: $(((pushes - takes) / 20))"
}

# frame_of COMPILER OPTION: prints the bytes of the stack frame of a function with 19 tapes.
frame_of() {
	$1 -std=c++14 -O2 -fstack-usage -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/bench" \
		-include "$hook" $2 -c -o frame.o "$tests/dropin/t-clad-frame.cpp" 2>messages &&
		awk '/gradient/ { print $(NF - 1) }' frame.su
}

for compiler in $compilers; do
	for standard in $standards; do
		compiles $compiler $standard "$hook"
		compiles $compiler $standard "$SOURCE_DIR/dropin/clad/alone.h"
		runs $compiler $standard "$hook" t-clad-beside -Wpedantic -Wconversion
		runs $compiler $standard "$hook" t-clad-beside -include "$tests/helpers/clad-names.h"
		runs $compiler $standard "$hook" t-clad-hook -DREEL_CLAD_OWN_HOOK -Wpedantic
		runs $compiler $standard "$SOURCE_DIR/dropin/clad/alone.h" t-clad-alone
		runs $compiler $standard "$SOURCE_DIR/dropin/clad/alone.h" t-clad-alone -DREEL_CLAD_OWN_HOOK
	done
	refuses_threads $compiler
	[ -z "$sanitized" ] || continue
	for header in bits element fault objects tapes values; do
		compiles $compiler 14 "$SOURCE_DIR/dropin/clad/$header.h"
	done
	runs $compiler 14 "$hook" t-clad-beside -fno-exceptions
	frame=$(frame_of $compiler)
	other=$(frame_of $compiler -DSLABS)
	[ "$frame" -gt 0 ] && [ "$frame" -le "$other" ]
	ok $? "$compiler: the frame of 19 tapes is no larger than on Clad's own: $frame, $other"
	case $(uname -m) in
	x86_64)
		is_small $compiler double x
		is_small $compiler 'unsigned long' r
		is_small $compiler pointer r
		;;
	*) skip "$compiler: code is counted on x86-64" ;;
	esac
done
end
