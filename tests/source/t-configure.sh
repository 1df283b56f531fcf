#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests errors of configure.
. "$SOURCE_DIR/tests/tap/tap.sh"

# refuses FOLDER CONFIGURE NAMED: a check that configure refuses a build in FOLDER, names NAMED, and writes no makefile.
refuses() {
	(cd "$1" && "$2") >said 2>&1
	[ $? -ne 0 ] && [ ! -f "$1/Makefile" ] && grep -q "without spaces in its path.*$3'" said
	ok $? "it is refused: $(tail -n 1 said)"
}

mkdir build 'my build'
ln -s "$SOURCE_DIR" 'my source'
refuses 'my build' "$SOURCE_DIR/configure" 'my build'
refuses build '../my source/configure' 'my source'
end
