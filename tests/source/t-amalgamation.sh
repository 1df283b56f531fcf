#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the files of `make amalgamation`: programs compile with no other file of Reel, without a warning, in each C
# from C11 on.
. "$SOURCE_DIR/tests/tap/tap.sh"

amalgamate=$SOURCE_DIR/build-aux/amalgamation/amalgamate.awk
install=$SOURCE_DIR/tests/install
warnings='-pthread -Wall -Wextra -Werror'

# write AWK: makes the files by this awk, and copies them to this directory.
write() {
	rm -f "$BUILD_DIR/amalgamation/reel.c"
	env -u MAKEFLAGS -u MFLAGS make -s -C "$BUILD_DIR" AWK="$1" amalgamation >said 2>&1 &&
		cp "$BUILD_DIR"/amalgamation/reel*.[ch] .
}

write awk
ok $? 'make amalgamation writes the files'
cat reel.c reel.h reel-omp.c reel-omp.h | cksum >first
for awk in gawk mawk 'busybox awk'; do
	command -v ${awk%% *} >/dev/null || continue
	write "$awk" && cat reel.c reel.h reel-omp.c reel-omp.h | cksum | cmp -s - first
	ok $? "$awk writes the same"
done

# is_refused_for TEXT WHY: a check that amalgamate.awk refuses a source with TEXT, and prints WHY.
is_refused_for() {
	echo "$1" >own.c
	! awk -v source=. -v folder=. -f "$amalgamate" +out.c own.c 2>message && grep -q "$2" message
	ok $? "a source is refused: $2"
}
is_refused_for 'static int a, b;' 'each static variable needs a line of its own'
is_refused_for '#include "absent.h"' 'no such file'
is_refused_for '#include NAME' 'not the name of a file'
mkdir -p one/a two/a
echo 'static int x; /* x */ const char *own_x = "x"; int own(struct p *p) { return x + p->x; }' >one/a/1.c
echo 'static int x;' >two/a/2.c
awk -v source=. -v folder=. -f "$amalgamate" +out.c one/a/1.c two/a/2.c &&
	grep -qF 'static int x_in_a_1; /* x */ const char *own_x = "x"; int own(struct p *p) { return x_in_a_1 + p->x; }' out.c
ok $? 'a static name of two sources gets the names of their files, in code alone'

openmp=-fopenmp
$CC $CFLAGS $openmp -o none -x c - <<'END' 2>/dev/null || openmp=
int main(void) { return 0; }
END
$CC -std=c11 $openmp -fsyntax-only $warnings reel.c reel-omp.c
ok $? "$CC compiles them for C11 without a warning"
for compiler in clang musl-gcc aarch64-linux-gnu-gcc; do
	command -v $compiler >/dev/null || continue
	$compiler -std=gnu2x -fsyntax-only $warnings reel.c reel-omp.c
	ok $? "$compiler compiles them for C23 without a warning"
done

# The object of a shared library also serves programs.
$CC $CFLAGS $openmp -O2 -fPIC -fvisibility=hidden $warnings -c reel.c reel-omp.c
ok $? 'they compile with -O2 without a warning'
$NM -P -g reel.o reel-omp.o | awk '$2 ~ /^[A-TV-Z]$/ && $1 !~ /^(reel_|__|DW\.ref\.)/' >foreign
is_empty foreign 'each global name begins with reel_'
$CC $CFLAGS $openmp -shared -o own.so reel.o reel-omp.o -lm && $NM -P -g -D own.so | awk '$2 ~ /^[A-TV-Z]$/ && $1 ~ /reel/' >leaked
is_empty leaked 'a shared library keeps them to itself'

{ first_program "$SOURCE_DIR/README.md"
  echo '#include "reel.h"'; } >gradient.c
$CC $CFLAGS $warnings -I. gradient.c reel.o -o gradient -lm && ./gradient >printed && cat printed
grep -q '^dx/da = 1.05736 0.562254 0.397171$' printed
ok $? 'the program of README.md prints its gradient'
REEL_BUDGET=4M REEL_SPILL_DIR=. ./gradient | cmp - printed
ok $? 'and so it does under a budget with a store'

sed 's#<reel/omp.h>#"reel-omp.h"#; s#<reel/plan.h>#"reel.h"#' "$install/installcheck-omp.c" >omp.c
$CC $CFLAGS $openmp $warnings omp.c reel.o reel-omp.o -o omp -lm && ./omp
ok $? 'a run is reversed with OpenMP'
if [ -n "$CXX" ]; then
	# The compiler of reel-omp.o links, because it knows the OpenMP runtime of that object.
	$CXX $CFLAGS -pthread -x c++ -c omp.c -o omp-cxx.o &&
		$CC $CFLAGS $openmp omp-cxx.o reel.o reel-omp.o -o omp-cxx -lstdc++ -lm && ./omp-cxx
	ok $? 'and in C++'
fi

grep -h '^#[ 	]*include "' reel*.[ch] | grep -v -x -e '#include "reel.h"' -e '#include "reel-omp.h"' >included
is_empty included 'they include no file of the project except each other'
end
