#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests reel profile: the bytes of lines that push a known share, in each form, and errors.
. "$SOURCE_DIR/tests/tap/tap.sh"

reel=$BUILD_DIR/tools/reel
[ -f "$BUILD_DIR/.libs/libreel.so" ] || skip_all 'there is no shared library'

cat >push.c <<'END'
#include <reel.h>

static reel_tape tape;

__attribute__((noinline)) static void three(long i)
{
	for (int k = 0; k < 3; k++)
		reel_push(&tape, (double)i);
}

__attribute__((noinline)) static void one(long i)
{
	double *span = reel_push_span(&tape, double, 1);

	if (span)
		*span = (double)i;
}

/* All is pushed, half of it popped, and a quarter pushed again. */
int main(void)
{
	const long n = 4L << 20;
	double sum = 0;

	for (long i = 0; i < n; i++) {
		three(i);
		one(i);
	}
	for (long i = 0; i < 2 * n; i++)
		sum += reel_pop(&tape, double);
	for (long i = 0; i < n / 4; i++) {
		three(i);
		one(i);
	}
	reel_tape_close(&tape);
	return sum < 0;
}
END

# build NAME: compiles NAME.c to the program NAME.
build() {
	$CC $CFLAGS -g -I"$SOURCE_DIR/include" "$1.c" -o "$1" -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" -lreel
}

build push
ok $? 'a program is built'
REEL_PROFILE=profile ./push && "$reel" profile profile >text && "$reel" profile --json profile >json &&
	"$reel" profile --folded profile >folded
ok $? 'the program is profiled, and its profile is shown'
sed 's/^/#   /' text

# figure LINE NUMBER: prints the bytes of a line: pushed (NUMBER 1), or on tapes at the peak (NUMBER 2).
figure() {
	grep "push.c:$1\"" json | grep -oE '[0-9]+' | tail -n 2 | sed -n "$2p"
}

# is_about SEEN WANTED WHAT: a check that the sampled bytes are about right. The error of a sample of 80 slabs is at most a
# sixth of the larger part.
is_about() {
	[ -n "$1" ] && [ $((6 * $1)) -ge $((5 * $2)) ] && [ $((6 * $1)) -le $((7 * $2)) ]
	ok $? "$3: $1 of $2 bytes"
}

all=$((20 * 8 * 1048576))
is_about "$(figure 8 1)" $((3 * all / 4)) 'bytes that three() has pushed'
is_about "$(figure 8 2)" $((3 * all * 4 / 5 / 4)) 'bytes of three() at the peak'
seen=$(sed -n 's/.*"pushed_bytes": \([0-9]*\), "peak_bytes": \([0-9]*\), .*/\1 \2/p' json)
sum=$(($(figure 8 1) + $(figure 13 1)))
# The top slab may be off by a stride, an eighth of a MiB.
[ "${seen% *}" -eq "$sum" ] && [ "$sum" -le $((all + 131072)) ] && [ "$sum" -ge $((all - 4194304)) ]
ok $? "no bytes are missing but those pushed again on a slab: $sum of $all bytes"
[ "${seen#* }" -eq $(($(figure 8 2) + $(figure 13 2))) ]
ok $? "no bytes are missing at the peak: ${seen#* }"
head -n 4 text | tail -n 1 | grep -qE '^ *[0-9.]+M +[678][0-9]\.[0-9] % +[0-9]+M +[678][0-9]\.[0-9] %  push.c:8'
ok $? 'the line that pushes most comes first'
[ "$(awk '{ sum += $NF } END { printf "%.0f", sum }' folded)" = "$sum" ] && grep -q 'push.c:8 [0-9]*$' folded
ok $? 'stacks have the same bytes'
if "$reel" info | grep -q '^built_with_libdw: *yes'; then
	grep -q 'main;three;push.c:8 [0-9]*$' folded && grep -q 'push.c:8, three$' text
	ok $? 'functions have their names'
else
	skip 'names of functions: built without libdw'
fi
# The tapes of this program never leave their first whole slab, and two lines push to each.
cat >short.c <<'END'
#include <reel.h>

static double row[125000];

int main(void)
{
	for (int i = 0; i < 400; i++) {
		reel_tape tape = {0};

		reel_push_array(&tape, row, 93750);
		for (int k = 0; k < 31250; k++)
			reel_push(&tape, row[k]);
		reel_tape_close(&tape);
	}
	return 0;
}
END
build short && REEL_PROFILE=short.profile ./short && "$reel" profile --json short.profile >json
# within PERCENT SEEN WANTED WHAT: a check that SEEN differs from WANTED by at most PERCENT.
within() {
	[ -n "$2" ] && [ $((100 * $2)) -ge $(((100 - $1) * $3)) ] && [ $((100 * $2)) -le $(((100 + $1) * $3)) ]
	ok $? "$4: $2 of $3 bytes"
}
seen=$(sed -n 's/.*"pushed_bytes": \([0-9]*\), "peak_bytes": \([0-9]*\), .*/\1 \2/p' json)
within 2 "${seen% *}" 400000000 'tapes that are shorter than a slab count'
within 20 "${seen#* }" 1000000 'one of them is the peak'
within 10 "$(grep 'short.c:10"' json | grep -oE '[0-9]+' | tail -n 2 | head -n 1)" 300000000 'their lines have their share'
cat >method.cpp <<'END'
#include <reel.h>

namespace waves {
template <class T> struct sea {
	static void step(reel_tape *tape, long i);
};

template <class T> __attribute__((noinline)) void sea<T>::step(reel_tape *tape, long i)
{
	for (int k = 0; k < 4; k++)
		reel_push(tape, (T)i);
}

__attribute__((noinline)) static void shore(reel_tape *tape, long i)
{
	for (int k = 0; k < 4; k++)
		reel_push(tape, i);
}
}

int main()
{
	static reel_tape tape;

	for (long i = 0; i < 2L << 20; i++) {
		waves::sea<double>::step(&tape, i);
		waves::shore(&tape, i);
	}
	reel_tape_close(&tape);
}
END
if "$reel" info | grep -q '^built_with_libdw: *yes' && [ -n "$CXX" ]; then
	$CXX $CFLAGS -g -I"$SOURCE_DIR/include" method.cpp -o method -L"$BUILD_DIR/.libs" \
		-Wl,-rpath,"$BUILD_DIR/.libs" -lreel && REEL_PROFILE=method.profile ./method && "$reel" profile method.profile >text.cpp &&
		grep -q 'method.cpp:11, waves::sea<double>::step$' text.cpp &&
		grep -q 'method.cpp:17, waves::shore$' text.cpp
	ok $? 'functions of C++ have their namespace and their class'
	$CXX $CFLAGS -O0 -g -I"$SOURCE_DIR/include" method.cpp -o method -L"$BUILD_DIR/.libs" \
		-Wl,-rpath,"$BUILD_DIR/.libs" -lreel && REEL_PROFILE=method.profile ./method &&
		"$reel" profile method.profile | grep -q 'method.cpp:11, waves::sea<double>::step$'
	ok $? 'they have them also if the compiler inlines nothing'
else
	skip 'names of C++: no libdw, or no compiler'
fi
sed 's/noinline/always_inline/; s/^\(__.*\) static void/\1 static inline void/' push.c >inlined.c
if "$reel" info | grep -q '^built_with_libdw: *yes'; then
	build inlined && REEL_PROFILE=inlined.profile ./inlined && "$reel" profile inlined.profile >text.inlined &&
		grep -q 'inlined.c:8, three$' text.inlined && grep -q 'inlined.c:13, one$' text.inlined &&
		"$reel" profile --folded inlined.profile | grep -q 'main;three;inlined.c:8 [0-9]*$'
	ok $? 'a function that is inlined is named, and not its caller'
else
	skip 'names of functions that are inlined: built without libdw'
fi
sed 's/__attribute__((noinline))/__attribute__((always_inline)) inline/' method.cpp >inlined.cpp
if "$reel" info | grep -q '^built_with_libdw: *yes' && [ -n "$CXX" ]; then
	$CXX $CFLAGS -g -I"$SOURCE_DIR/include" inlined.cpp -o inlined-method -L"$BUILD_DIR/.libs" \
		-Wl,-rpath,"$BUILD_DIR/.libs" -lreel && REEL_PROFILE=inlined.profile ./inlined-method &&
		"$reel" profile inlined.profile >text.inlined && grep -q 'inlined.cpp:11, waves::sea<double>::step$' text.inlined &&
		grep -q 'inlined.cpp:17, waves::shore$' text.inlined
	ok $? 'an inlined function of C++ has its namespace and its class'
else
	skip 'names of C++ that are inlined: no libdw, or no compiler'
fi
cat >module.f90 <<'END'
module waves
  use reel
contains
  subroutine step(tape, i)
    type(reel_tape), intent(inout) :: tape
    integer, intent(in) :: i
    integer :: k

    do k = 1, 4
      call reel_push(tape, real(i, 8))
    end do
  end subroutine
end module

program main
  use waves
  implicit none
  type(reel_tape) :: tape
  integer :: i

  i = reel_tape_open(tape)
  do i = 1, 2000000
    call step(tape, i)
  end do
  call reel_tape_close(tape)
end program
END
if "$reel" info | grep -q '^built_with_libdw: *yes' && [ -n "$FC" ] &&
	[ -f "$BUILD_DIR/.libs/libreel-fortran.so" ]; then
	$FC $FCFLAGS -O0 -g -I"$BUILD_DIR/dropin/fortran" module.f90 -o module -L"$BUILD_DIR/.libs" \
		-Wl,-rpath,"$BUILD_DIR/.libs" -lreel-fortran -lreel && REEL_PROFILE=module.profile ./module && "$reel" profile module.profile >text.f90 &&
		grep -q 'module.f90:10, waves::step$' text.f90
	ok $? 'functions of Fortran have their module'
else
	skip 'names of Fortran: no libdw, or no compiler'
fi
python3 -m json.tool json >/dev/null 2>&1 || ! command -v python3 >/dev/null
ok $? 'the JSON is JSON'

sed 's/^		reel_push/# 8 "<b>\\"\&.c"\n&/' push.c >hostile.c
build hostile && REEL_PROFILE=hostile.profile ./hostile &&
	"$reel" profile --json hostile.profile | grep -qF '"<b>\"&.c:8"'
ok $? 'hostile names are escaped'

# The folders of the program and of its source have names with a newline or a backslash.
sed 's/^		reel_push/# 8 "new\\nline\/\\\\n.c"\n&/' push.c >newline.c
folder=$(printf 'new\nli\\ne')
mkdir "$folder" && build newline && mv newline "$folder" && REEL_PROFILE=newline.profile "$folder/newline" &&
	"$reel" profile --json newline.profile >newline.json && grep -qF '"new\u000aline/\\n.c:8"' newline.json
ok $? 'a newline in a name does not end a line'
"$reel" profile newline.profile | grep -q 'new?line/\\n.c:8' && "$reel" profile --folded newline.profile >folded &&
	! grep -qv ' [0-9]*$' folded
ok $? 'it ends no line of the text either'
if "$reel" info | grep -q '^built_with_libdw: *yes'; then
	grep -q 'main;three;' folded
	ok $? 'the functions of this program are found'
else
	skip 'names of functions: built without libdw'
fi

{
	cat profile
	awk 'BEGIN { for (i = 0; i < 2000; i++) printf "code %x %x 0 library-%d\n", 4096 * i + 4096, 4096 * i + 8192, i }'
	echo 'place 4095 7 7 7d0001 at ?'
} >libraries
"$reel" profile --folded libraries | grep -q '^library-1999+0x7d0000;.* 7$'
ok $? 'programs may have thousands of libraries'
(ulimit -f 0 && REEL_PROFILE=limited ./push)
ok $? 'a limit of the size of files does not end the program'
is_refused "'reel profile --help'" "$reel" profile
ok $? 'no file is refused'
is_refused 'unknown option' "$reel" profile --colour profile
ok $? 'an unknown option is refused'
"$reel" profile nowhere 2>err
[ $? -eq 1 ] && grep -q "cannot read 'nowhere': No such file" err
ok $? 'a file that is not there'
"$reel" profile push.c 2>err
[ $? -eq 1 ] && grep -q "'push.c' is no profile; run the program with REEL_PROFILE" err
ok $? 'a file that is no profile'
REEL_PROFILE=push.c ./push 2>err
[ $? -eq 0 ] && grep -q 'REEL_PROFILE=push.c is ignored: another kind of file has this name' err &&
	grep -q three push.c
ok $? 'such a file is not overwritten'
end
