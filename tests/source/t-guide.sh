#!/bin/sh
# SPDX-License-Identifier: MIT
# The programs that README.md and doc/ show compile as they stand, as C and as C++, and print what is right.
# Each page is linked from another one, and links to what is there.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/fortran.sh"

# The program of doc/PAGE.md is in the file PAGE; that of README.md in README.
for page in "$SOURCE_DIR"/README.md "$SOURCE_DIR"/doc/*.md; do
	name=$(basename "$page" .md)
	[ "$page" != "$SOURCE_DIR/doc/README.md" ] || name=guide
	awk -v name="$name" '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside { print > name }' "$page"
done

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
		is_empty messages "$program compiles as $language without a warning"
	done
}

# prints_what_was_wanted PROGRAM HOW
prints_what_was_wanted() {
	for language in $languages; do
		"./$1-$language" >seen 2>&1
		diff wanted seen >difference
		is_empty difference "$1, as $language, prints what $2 gives"
	done
}

# d/da of a2 sin(a1 sin(a0 sin 1)) at a = 0.5, 1, 1.5, by central differences.
compile README
awk 'function f(a, b, c) { return c * sin(b * sin(a * sin(1))) }
	BEGIN { h = 1e-6; printf "dx/da = %g %g %g\n",
		(f(.5 + h, 1, 1.5) - f(.5 - h, 1, 1.5)) / (2 * h),
		(f(.5, 1 + h, 1.5) - f(.5, 1 - h, 1.5)) / (2 * h),
		(f(.5, 1, 1.5 + h) - f(.5, 1, 1.5 - h)) / (2 * h) }' >wanted
prints_what_was_wanted README 'a difference'

# stores PROGRAM WHAT-IT-PRINTS HOW: it has a file on a disk, if there is one here.
stores() {
	compile "$1"
	echo "$2" >wanted
	if "./$1-c" | grep -q '^sum'; then
		prints_what_was_wanted "$1" "$3"
	else
		skip "$1: $("./$1-c")"
	fi
}

stores spilling 'sum 15999998000000, error 0' 'the sum of what it pushed'
stores parcels 'sum 4950' 'the sum of the numbers of 100 states'

# The loop has come to its fixed point x = a sin x, whose derivative is known.
compile checkpointing
awk 'BEGIN { a = 1.5; x = 1; for (i = 0; i < 1000; i++) x = a * sin(x)
	printf "dx/da = %g\n", sin(x) / (1 - a * cos(x)) }' >wanted
prints_what_was_wanted checkpointing 'its fixed point'

case $CFLAGS in
*-fsanitize=thread*) openmp= ;; # which does not see into OpenMP
*) openmp=$(ls "$BUILD_DIR"/.libs/libreel-omp.so "$BUILD_DIR"/.libs/libreel-omp.a 2>/dev/null) ;;
esac
if [ -n "$openmp" ]; then
	compile openmp -fopenmp -lreel-omp
	awk 'BEGIN { printf "dx/da = %g, error 0\n", sin(1) }' >wanted
	prints_what_was_wanted openmp 'its formula'
else
	skip 'openmp: there is no OpenMP'
fi

# Two ranks, and their ring of cells by one process.
if [ -f "$BUILD_DIR/libreel-mpi.la" ] && [ -n "${MPIRUN% }" ]; then
	languages=c
	compile mpi $MPI_CFLAGS -lreel-mpi $MPI_LIBS
	awk 'function J(h,   n, i, step, u, sum) {
			n = 200
			for (i = 1; i <= n; i++)
				u[i] = 1 + 1 / i
			u[1] += h
			for (step = 0; step < 50; step++) {
				u[0] = u[n]
				for (i = n; i > 0; i--)
					u[i] -= 0.1 * u[i] * (u[i] - u[i - 1])
			}
			for (i = 1; i <= n; i++)
				sum += u[i] * u[i] / 2
			return sum
		}
		BEGIN { printf "dJ/du = %.5g, error 0\n", (J(1e-5) - J(-1e-5)) / 2e-5 }' >wanted
	$MPIRUN -n 2 ./mpi-c >seen 2>messages
	diff wanted seen >difference
	is_empty difference 'mpi: two ranks print what a difference gives'
	if [ -f "$BUILD_DIR/libreel-fortran-mpi.la" ]; then
		sed -n '/^```fortran$/,/^```$/{/^```/!p;}' "$SOURCE_DIR/doc/mpi.md" >mpi.f90
		flags="$FCFLAGS -std=f2018 -Wall -Werror -I$BUILD_DIR/dropin/fortran $MPI_FCFLAGS"
		libraries="-L$BUILD_DIR/.libs -Wl,-rpath,$BUILD_DIR/.libs -lreel-fortran-mpi -lreel-mpi -lreel-fortran -lreel $MPI_FCLIBS"
		builds mpi-fortran mpi.f90
		$MPIRUN -n 2 ./mpi-fortran >seen 2>messages
		diff wanted seen >difference
		is_empty difference 'mpi: so do two ranks in Fortran'
	else
		skip 'mpi: the module reel_mpi is not built'
	fi
else
	skip 'mpi: there is no MPI'
fi

for name in choosing comparison errors faq guide tuning; do
	[ ! -e "$name" ]
	ok $? "$name shows no program that is not run here"
done

# links_of PAGE: the files that it links to.
links_of() {
	grep -o '](\([^)#]*\)' "$1" | sed 's/^](//' | grep -v -e '^http' -e '^$'
}
for page in "$SOURCE_DIR"/README.md "$SOURCE_DIR"/doc/*.md; do
	for link in $(links_of "$page"); do
		[ -e "$(dirname "$page")/$link" ] || echo "$link"
	done >missing
	is_empty missing "${page#"$SOURCE_DIR"/}: all that it links to is there"
	case $page in */README.md) continue ;; esac
	links_of "$SOURCE_DIR/doc/README.md" | grep -qx "$(basename "$page")"
	ok $? "the guide links to ${page#"$SOURCE_DIR"/}"
done
[ "$(wc -l <"$SOURCE_DIR/README.md")" -le 150 ]
ok $? 'README.md has at most 150 lines'
end
