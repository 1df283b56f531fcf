#!/bin/sh
# SPDX-License-Identifier: MIT
# The data streams for CoDiPack, with a stand-in for CoDiPack's headers, by each compiler that is there.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/clad.sh"

for compiler in $compilers; do
	compile $compiler 17 config.h t-codipack -I"$tests/helpers"
	is_empty messages "$compiler: compiled without a warning"
	passes "$compiler" ./t-codipack
done
end
