#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that each public header compiles alone, in every language that it is written for.
. "$SOURCE_DIR/tests/tap/tap.sh"

# A build with clang for C and g++ for C++, a stage of ./check, skips C++, which a build with gcc tests.
case "$CC $CXX" in clang*' g++'*) CXX= ;; esac

# The headers of MPI leave out their bindings for C++, which have warnings.
warnings="-Wall -Wextra -Wshadow -Wpedantic -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX $MPI_CFLAGS"

# compiles LANGUAGE STANDARD HEADER COMPILER...: a check that the header compiles alone.
compiles() {
	language=$1 standard=$2 header=$3
	shift 3
	printf '#include <%s>\nint main(void) { return 0; }\n' "$header" >alone
	"$@" $warnings "-std=$standard" -I"$SOURCE_DIR/include" -x "$language" -fsyntax-only alone 2>messages
	ok $? "$header in $standard"
	sed -n '1,5s/^/#   /p' messages
}

for path in "$SOURCE_DIR"/include/reel.h "$SOURCE_DIR"/include/reel/*.h; do
	header=${path#"$SOURCE_DIR"/include/}
	if [ "$header" = reel/mpi.h ] && [ ! -f "$BUILD_DIR/libreel-mpi.la" ]; then
		skip "$header: there is no MPI"
		continue
	fi
	compiles c c11 "$header" $CC
	compiles c c17 "$header" $CC
	[ -z "$CXX" ] || compiles c++ c++17 "$header" $CXX
	printf '#include <%s>\n' "$header" >>all.h
done

[ -z "$CXX" ] || compiles c++ c++14 reel.hpp $CXX
[ -z "$CXX" ] || compiles c++ c++17 reel/codipack.hpp $CXX -I"$SOURCE_DIR/tests/helpers"
[ "$(wc -l <"$SOURCE_DIR/include/reel.hpp")" -lt 300 ]
ok $? 'reel.hpp is below 300 lines'

# names_of HEADER...: prints the functions, macros and types that a program may use. Enumerators count with their
# enum. A name that inline.h defines counts if a header documents it.
names_of() {
	for header; do
		sed -n -e 's/^\([a-z].*[ *]\|\)\(reel_[a-z0-9_]*\)(.*/\2/p' \
			-e 's/^#define \(REEL_[A-Z0-9_]*\).*/\1/p' \
			-e 's/^} \(reel_[a-z_]*\);$/\1/p' \
			-e 's/^\(struct\|enum\) \(reel_[a-z_]*\) {$/\2/p' \
			-e 's/^typedef struct \(reel_[a-z_]*\) .*;$/\1/p' "$SOURCE_DIR/include/$header"
		grep -ow 'reel_[a-z0-9_]*\|REEL_RECORD' "$SOURCE_DIR/include/$header" | grep -Fxf inline
	done | grep -v '_H$' | sort -u
}
sed -n -e 's/^#define \(reel_[a-z_]*\|REEL_RECORD\)(.*/\1/p' \
	-e 's/^\(REEL_ALWAYS_INLINE\|template\) .*[ *]\(reel_[a-z_]*\)(.*/\2/p' \
	"$SOURCE_DIR/include/reel/inline.h" | sort -u >inline
names_of $(sed -n 's/^#include <\(.*\)>/\1/p' "$SOURCE_DIR/include/reel.h") >names
[ "$(wc -l <names)" -le 78 ]
ok $? "reel.h has $(wc -l <names) names, at most 78"
for name in reel_push reel_cursor_push REEL_RECORD reel_tape_close reel_run_forward reel_pool_options; do
	grep -qx $name names || echo $name
done >missing
is_empty missing 'those that are counted are those that are there'

# A program may include all headers.
compiles c c11 all.h $CC -I.
[ -z "$CXX" ] || compiles c++ c++17 all.h $CXX -I.
end
