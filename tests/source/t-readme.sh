#!/bin/sh
# The programs that README.md shows compile as they stand, as C and as C++, and give the right gradients.
. "$SOURCE_DIR/tests/tap/tap.sh"

awk '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 }
	inside { print > "program" n }' "$SOURCE_DIR/README.md"

# The C++ compiler may have another sanitizer than the library.
languages='c c++'
case $CFLAGS in *-fsanitize*) languages=c ;; esac
[ -n "$CXX" ] || languages=c

# compiler LANGUAGE: the command that compiles it. A C++ compiler warns of {0} by -Wextra.
compiler() {
	case $1 in
	c) echo "$CC $CFLAGS -std=c11 -Wall -Wextra -Werror" ;;
	c++) echo "$CXX -Wall -Werror" ;;
	esac
}

# compile PROGRAM OPTION...: makes PROGRAM-c and PROGRAM-c++.
compile() {
	program=$1
	shift
	for language in $languages; do
		$(compiler "$language") -I"$SOURCE_DIR/include" -x "$language" "$program" -x none \
			-o "$program-$language" -L"$BUILD_DIR/.libs" -Wl,-rpath,"$BUILD_DIR/.libs" "$@" -lreel -lm \
			>messages 2>&1
		is_empty messages "README.md: $program compiles as $language without a warning"
	done
}

# prints_what_was_wanted PROGRAM HOW
prints_what_was_wanted() {
	for language in $languages; do
		"./$1-$language" >seen 2>&1
		diff wanted seen >difference
		is_empty difference "README.md: $1, as $language, prints what $2 gives"
	done
}

# d/da of a2 sin(a1 sin(a0 sin 1)) at a = 0.5, 1, 1.5, by central differences.
compile program1
awk 'function f(a, b, c) { return c * sin(b * sin(a * sin(1))) }
	BEGIN { h = 1e-6; printf "dx/da = %g %g %g\n",
		(f(.5 + h, 1, 1.5) - f(.5 - h, 1, 1.5)) / (2 * h),
		(f(.5, 1 + h, 1.5) - f(.5, 1 - h, 1.5)) / (2 * h),
		(f(.5, 1, 1.5 + h) - f(.5, 1, 1.5 - h)) / (2 * h) }' >wanted
prints_what_was_wanted program1 'a difference'

# stores PROGRAM WHAT-IT-PRINTS HOW: it has a file on a disk, if there is one here.
stores() {
	compile "$1"
	echo "$2" >wanted
	if "./$1-c" | grep -q '^sum'; then
		prints_what_was_wanted "$1" "$3"
	else
		skip "README.md: $1: $("./$1-c")"
	fi
}

stores program2 'sum 15999998000000, error 0' 'the sum of what it pushed'
stores program3 'sum 4950' 'the sum of the numbers of 100 states'

# The loop has come to its fixed point x = a sin x, whose derivative is known.
compile program4
awk 'BEGIN { a = 1.5; x = 1; for (i = 0; i < 1000; i++) x = a * sin(x)
	printf "dx/da = %g\n", sin(x) / (1 - a * cos(x)) }' >wanted
prints_what_was_wanted program4 'its fixed point'

case $CFLAGS in
*-fsanitize=thread*) openmp= ;; # which does not see into OpenMP
*) openmp=$(ls "$BUILD_DIR"/.libs/libreel-omp.so "$BUILD_DIR"/.libs/libreel-omp.a 2>/dev/null) ;;
esac
if [ -n "$openmp" ]; then
	compile program5 -fopenmp -lreel-omp
	awk 'BEGIN { printf "dx/da = %g, error 0\n", sin(1) }' >wanted
	prints_what_was_wanted program5 'its formula'
else
	skip 'README.md: program5: there is no OpenMP'
fi

[ ! -e program6 ]
ok $? 'README.md shows five programs'
end
