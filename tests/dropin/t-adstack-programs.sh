#!/bin/sh
# SPDX-License-Identifier: MIT
# Links programs in the form of generated code, in C and Fortran, in each way that the library offers. They print the
# bits of a plain stack, or of a program without a stack.
. "$SOURCE_DIR/tests/tap/tap.sh"

programs=$SOURCE_DIR/tests/adstack-programs
shared=$BUILD_DIR/.libs/libreel-adstack.so
scalars=$BUILD_DIR/libreel-adstack-scalars.a
[ -f "$scalars" ] || scalars=
static=$BUILD_DIR/.libs/libreel-adstack.a
flags="$CFLAGS -w -std=gnu11 -O2 -ffp-contract=off -I$programs"
forced="-include $SOURCE_DIR/dropin/adstack/reel-adstack.h -I$SOURCE_DIR/include"
static_libs=$(sed -n "s/^dependency_libs='\(.*\)'/\1/p" "$BUILD_DIR/libreel-adstack.la")

# builds WHAT COMMAND...: compiles and links a program. If that fails, it is a failed check, with the messages.
builds() {
	what=$1
	shift
	"$@" 2>messages && return
	ok 1 "$what is built"
	sed -n '1,10s/^/#   /p' messages
	return 1
}

# same WHAT PROGRAM [NAME=VALUE...]: a check that the program succeeds, and prints the text of the file `wanted`.
same() {
	what=$1
	program=$2
	shift 2
	env "$@" "./$program" >seen 2>stderr
	status=$?
	cmp -s wanted seen && [ $status = 0 ] && [ ! -s stderr ]
	ok $? "$what"
	sed -n '1,5s/^/#   /p' stderr
}

# each_way NAME SOURCE OPTION...: links the program in each way, and checks that it prints the text of `wanted`.
each_way() {
	name=$1
	source=$2
	shift 2
	if [ -f "$shared" ]; then
		builds "$name, shared" $CC $flags "$@" -o "$name-shared" "$source" $scalars \
			"$shared" -Wl,-rpath,"$BUILD_DIR/.libs" -lm &&
			same "$name: shared library" "$name-shared"
	fi
	if [ -f "$static" ]; then
		builds "$name, static" $CC $flags "$@" -o "$name-static" "$source" "$static" \
			$static_libs -lpthread -lm &&
			same "$name: static library" "$name-static"
	fi
	for library in "$shared" "$static"; do
		[ -f "$library" ] || continue
		builds "$name, inline" $CC $flags $forced "$@" -o "$name-inline" "$source" \
			"$library" $static_libs -Wl,-rpath,"$BUILD_DIR/.libs" -lpthread -lm &&
			same "$name: header and ${library##*.} library" "$name-inline"
	done
	program=$name-inline
	same "$name: checked" "$program" REEL_CHECKED=1
	if ! can_spill; then
		skip "$name: files here are kept in memory"
		return
	fi
	mkdir -p spill
	same "$name: with a budget and a directory" "$program" REEL_BUDGET=64M REEL_SPILL_DIR=spill
	[ -z "$(ls spill)" ]
	ok $? "$name: no file is left behind"
}

for name in stencil branches; do
	builds "$name, plain stack" $CC $flags -o reference "$programs/$name.c" \
		"$programs/reference.c" -lm || continue
	./reference >wanted
	test -s wanted
	ok $? "$name: the plain stack gives results"
	each_way $name "$programs/$name.c"
done

# The program in the README.md of the drop-in.
sed -n '/^```c$/,/^```$/{/^```/!p;}' "$SOURCE_DIR/dropin/adstack/README.md" >manual.c
builds 'manual, plain stack' $CC $flags -o reference manual.c "$programs/reference.c" -lm && {
	./reference >wanted
	each_way manual manual.c
}

for name in fixedpoint binomial; do
	case $name in
	fixedpoint) printf '0 bytes left\nequal\n' >wanted ;;
	binomial) echo '0 differ, 0 bytes left' >wanted ;;
	esac
	each_way $name "$programs/$name.c"
done

# ThreadSanitizer cannot see into an OpenMP runtime that was not built for it.
case " $CFLAGS " in
*thread*) skip 'openmp: ThreadSanitizer cannot see into OpenMP' ;;
*)
	if echo 'int main(void) { return 0; }' | $CC -fopenmp -x c - -o probe 2>messages; then
		echo '0 failures' >wanted
		each_way openmp "$programs/openmp.c" -fopenmp
		each_way tasks "$programs/tasks.c" -fopenmp
	else
		skip "openmp: $CC has no OpenMP"
	fi
	;;
esac

# A program needs its own copy of these functions, because a call into a shared library takes the time of a push.
if [ -n "$scalars" ]; then
	$NM -D --undefined-only stencil-shared |
		grep -E ' (push|pop)(Real8|Integer4)(@|$)' >called_in_library
	is_empty called_in_library 'shared library: the program has its own copy of the scalars'
fi

# The program uses names that only the header has.
library=$shared
[ -f "$library" ] || library=$static
builds 'early names' $CC $flags $forced -Wall -Wextra -Wpedantic -Werror -o early \
	"$programs/early.c" "$library" $static_libs -Wl,-rpath,"$BUILD_DIR/.libs" -lpthread -lm &&
	echo '5 7 2.5 0' >wanted && same 'early names, in lower case: header' early
echo 'int main(void) { return 0; }' | $CC $CFLAGS -std=c11 -Wall -Wextra -Wpedantic -Wshadow \
	-Wstrict-prototypes -Werror $forced -x c -fsyntax-only - 2>messages
ok $? 'the header compiles without a warning'
sed -n '1,5s/^/#   /p' messages

# REEL_STATS=1 counts the pushes and pops of the program.
if [ -x stencil-inline ]; then
	REEL_STATS=1 ./stencil-inline 2>stats >seen
	grep -q '^reel: adstack: thread 1: Real8: 20754 pushed, ' stats
	ok $? 'REEL_STATS=1: pushes are counted by type'
	grep -q '^reel: adstack: thread 1: Integer4: 41472 pushed, 165888 bytes; 41472 popped' stats
	ok $? 'REEL_STATS=1: bytes and pops, too'
	grep -q '^reel: adstack: thread 1: peak 111744 bytes$' stats
	ok $? 'REEL_STATS=1: the peak is exact'
	sed 's/^/#   /' stats
fi

# A profile has lines of the program, and no lines of the library.
reel=$BUILD_DIR/tools/reel
if [ -f "$shared" ] && "$reel" info | grep -q '^built_with_libdw: *yes'; then
	builds 'stencil, to profile' $CC $flags -g -o profiled "$programs/stencil.c" "$shared" \
		-Wl,-rpath,"$BUILD_DIR/.libs" -lm && REEL_PROFILE=profile ./profiled >seen &&
		"$reel" profile profile >lines
	[ "$(grep -c '  .*stencil\.c:[0-9]' lines)" -ge 2 ] && ! grep -q adstack/ lines
	ok $? 'REEL_PROFILE: the lines that push'
	sed 's/^/#   /' lines
else
	skip 'REEL_PROFILE: no shared library, or no libdw'
fi

# ---- Fortran ----

fortran=
for compiler in ${FC:-} gfortran; do
	command -v "$compiler" >/dev/null 2>&1 && fortran=$compiler && break
done
why='no Fortran compiler'
case " $CFLAGS " in
*' -fsanitize'* | *' --coverage'*) fortran= why='what this build links is not linked by a Fortran compiler' ;;
esac
if [ -z "$fortran" ]; then
	skip "Fortran: $why"
	end
	exit
fi
fflags='-O2 -ffp-contract=off -fallow-argument-mismatch -w'

# In Fortran the bytes after a string do not belong to it.
cat >place.f90 <<'END'
character(6) :: place = 'before'
call adstack_showstack(place(1:3))
end
END
echo 'Stack of thread 0 at bef: repeat level 0, 0 bytes and 0 bits' >wanted
builds place.f90 $fortran $fflags -o place place.f90 "$library" $static_libs -Wl,-rpath,"$BUILD_DIR/.libs" -lpthread &&
	same 'a place is printed by its length in Fortran' place

for name in stencil tangent binomial openmp tasks; do
	more=
	case $name in
	openmp | tasks) more=-fopenmp ;;
	esac
	if [ -n "$more" ] || [ $name = binomial ]; then
		echo ' done' >wanted
	else
		builds "$name.f90, plain stack" $CC $flags -c -o reference.o \
			"$programs/reference.c" &&
			builds "$name.f90, plain stack" $fortran $fflags -o reference \
				"$programs/$name.f90" reference.o || continue
		./reference >wanted
	fi
	for form in '' -fno-underscoring -fsecond-underscore; do
		# The forms differ only in their names, so the short form tests them with one program.
		[ -n "$TEST_LONG" ] || [ -z "$form" ] || [ $name = stencil ] || continue
		builds "$name.f90 $form" $fortran $fflags $more $form -o "f-$name" \
			"$programs/$name.f90" "$shared" -Wl,-rpath,"$BUILD_DIR/.libs" || continue
		same "$name.f90${form:+ with $form}: shared library" "f-$name"
	done
	if [ -f "$BUILD_DIR/libreel-adstack-lto.a" ]; then
		builds "$name.f90, LTO" $fortran $fflags $more -flto -o "f-$name" \
			"$programs/$name.f90" "$BUILD_DIR/libreel-adstack-lto.a" $library \
			$static_libs -Wl,-rpath,"$BUILD_DIR/.libs" -lpthread &&
			same "$name.f90: optimised at link time" "f-$name"
	fi
	[ -f "$static" ] || continue
	builds "$name.f90, static" $fortran $fflags $more -o "f-$name" "$programs/$name.f90" \
		"$static" $static_libs -lpthread && same "$name.f90: static library" "f-$name" &&
		same "$name.f90: checked" "f-$name" REEL_CHECKED=1
done
end
