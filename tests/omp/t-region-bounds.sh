#!/bin/sh
# SPDX-License-Identifier: MIT
# Compilers refuse loops of regions if a constant bound is outside of the range of the index's type.
. "$SOURCE_DIR/tests/tap/tap.sh"

# refuses_bounds COMPILER LANGUAGE STANDARD: checks that the compiler refuses each of these loops. Without the attribute
# `error` a compiler cannot refuse them.
refuses_bounds() {
	printf '#define probe __has_attribute(error)\n#if !probe\n#error\n#endif\n' >attribute.c
	"$1" -fsyntax-only -x "$2" attribute.c 2>messages || return
	for loop in 'REEL_FOR(root, unsigned char, i, 0, 300' 'REEL_FOR(root, int, i, 0, 3e9' \
		'REEL_FOR_REVERSE(root, signed char, i, -129, 0' 'REEL_FOR_REVERSE(root, size_t, i, -1, 2'; do
		for level in -O0 -O2; do
			printf '#include <reel/region.h>\nint main(void)\n{\n\treel_lane *root = 0;\n\t%s, reel_static(0))\n\t\t;\n\treturn 0;\n}\n' \
				"$loop" >narrow.c
			"$1" -I"$SOURCE_DIR/include" -x "$2" "-std=$3" $level -c narrow.c -o narrow.o >messages 2>&1
			status=$?
			grep -q 'index of this loop does not hold the bounds' messages
			ok $((status == 0 || $?)) "$1, $3 $level does not compile $loop)"
		done
	done
}

for compiler in gcc clang; do
	! command -v $compiler >/dev/null || refuses_bounds $compiler c c11
done
for compiler in g++ clang++; do
	! command -v $compiler >/dev/null || refuses_bounds $compiler c++ c++14
done
[ $checks -gt 0 ] || skip 'there is no compiler with the attribute'
end
