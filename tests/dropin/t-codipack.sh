#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the data streams for CoDiPack with a substitute for CoDiPack's headers, by each compiler that is installed. If
# CODIPACK names a folder with CoDiPack's sources, it also compares gradients with those on CoDiPack's own streams.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/clad.sh"

for compiler in $compilers; do
	compile $compiler 17 config.h t-codipack -D_GLIBCXX_ASSERTIONS ${sanitized:+-DBRIEF_STEPS=30} -I"$tests/helpers"
	is_empty messages "$compiler: compiled without a warning"
	passes "$compiler" ./t-codipack
done

if [ -n "$CODIPACK" ]; then
	$compiler_of_tests -std=c++17 $optimise -I"$CODIPACK/include" -I"$SOURCE_DIR/include" -o codipack \
		"$SOURCE_DIR/bench/codipack.cpp" -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel $libraries \
		>messages 2>&1
	is_empty messages "with CoDiPack's headers: compiled without a warning"
	for type in jacobian jacobian-reuse primal primal-reuse; do
		REEL_BUDGET=40M REEL_SPILL_DIR=. ./codipack $type 100 1 >seen 2>&1
		ok $? "$type: the same gradient under a budget: $(sed -n 1p seen)"
	done
else
	skip "CoDiPack's own headers: CODIPACK names no folder of theirs"
fi
end
