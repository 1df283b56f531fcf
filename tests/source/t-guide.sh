#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests the programs in README.md and doc/: they compile unchanged, as C and as C++, and print the right numbers.
# Each page lists the things that the reader needs, another page links to it, and its own links are valid.
. "$SOURCE_DIR/tests/tap/tap.sh"
. "$SOURCE_DIR/tests/helpers/fortran.sh"

# programs_of PAGE NAME: writes the first program of the page to NAME, the second one to NAME-2, and so on.
programs_of() {
	awk -v name="$2" '/^```(c|c\+\+)$/ { file = name (count++ ? "-" count : ""); next }
		/^```$/ { file = "" }
		file { print > file }' "$1"
}

# The programs of doc/PAGE.md are in PAGE, PAGE-2 ..., the program of README.md in README.
for page in "$SOURCE_DIR"/README.md "$SOURCE_DIR"/doc/*.md; do
	name=$(basename "$page" .md)
	[ "$page" != "$SOURCE_DIR/doc/README.md" ] || name=guide
	programs_of "$page" "$name"
done
programs_of "$SOURCE_DIR/dropin/clad/README.md" clad

# The C++ compiler may have another sanitizer than the library.
all_languages='c c++'
case $CFLAGS in *-fsanitize*) all_languages=c ;; esac
# A build with clang for C and g++ for C++, a stage of ./check, skips C++, which a build with gcc tests.
case "$CC $CXX" in clang*' g++'*) all_languages=c ;; esac
[ -n "$CXX" ] || all_languages=c
languages=$all_languages

# compiler LANGUAGE: prints the command that compiles the language. C++ has no -Wextra, which warns of {0}.
compiler() {
	case $1 in
	c) echo "$CC $CFLAGS -std=c11 -Wall -Wextra -Werror" ;;
	c++) echo "$CXX -Wall -Werror" ;;
	esac
}

# compile PROGRAM OPTION...: compiles PROGRAM to PROGRAM-c and PROGRAM-c++.
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

# prints_wanted PROGRAM HOW: a check that the program prints the text of the file `wanted`.
prints_wanted() {
	for language in $languages; do
		"./$1-$language" >seen 2>&1
		diff wanted seen >difference
		is_empty difference "$1, as $language, prints what $2 gives"
	done
}

# shows PAGE: a check that the page has the text of `wanted`, indented, below the command.
shows() {
	sed 's/^/	/' wanted | grep -qxFf - "$SOURCE_DIR/$1"
	ok $? "$1 shows what its program prints"
}

# Computes d/da of a2 sin(a1 sin(a0 sin 1)) at a = 0.5, 1, 1.5, by central differences.
compile README
awk 'function f(a, b, c) { return c * sin(b * sin(a * sin(1))) }
	BEGIN { h = 1e-6; printf "dx/da = %g %g %g\n",
		(f(.5 + h, 1, 1.5) - f(.5 - h, 1, 1.5)) / (2 * h),
		(f(.5, 1 + h, 1.5) - f(.5, 1 - h, 1.5)) / (2 * h),
		(f(.5, 1, 1.5 + h) - f(.5, 1, 1.5 - h)) / (2 * h) }' >wanted
prints_wanted README 'a difference'

shows README.md

# The programs of by-hand.md: the same on an array and on a tape, and a spring in C++.
for program in by-hand by-hand-2; do
	compile $program
	awk 'BEGIN { for (i = 1; i <= 1000; i++) J += sqrt(i)
		printf "J = %.6f, dJ/da = %.6f\n", J, 0.5 / sqrt(100) }' >wanted
	prints_wanted $program 'its formula'
done
shows doc/by-hand.md
case $languages in
*c++*)
	languages=c++
	compile by-hand-3
	awk 'function J(k,   x, v, i) { x = 1; v = 0
			for (i = 0; i < 1000; i++) { v -= 0.001 * k * x; x += 0.001 * v }
			return x }
		BEGIN { printf "dJ/dk = %.6f\n", (J(2 + 1e-5) - J(2 - 1e-5)) / 2e-5 }' >wanted
	prints_wanted by-hand-3 'a difference'
	shows doc/by-hand.md
	compile clad -include "$SOURCE_DIR/dropin/clad/alone.h"
	echo '105 70 42 30' >wanted
	prints_wanted clad 'the product without each factor'
	shows dropin/clad/README.md
	;;
*) skip 'by-hand and clad: there is no C++ compiler, or another build has it' ;;
esac
languages=$all_languages

# Compares only the verdicts, because the tables depend on the rounding of the machine.
compile verifying
sed -n '/^	right: /,/^$/p' "$SOURCE_DIR/doc/verifying.md" | sed '/^$/d; s/^	//; s/[0-9]* digits/digits/' >wanted
for language in $languages; do
	./verifying-$language | grep '^[rwa]' | sed 's/[0-9]* digits/digits/' >seen
	diff wanted seen >difference
	is_empty difference "verifying, as $language, prints what the page says"
done

# stores PROGRAM WHAT-IT-PRINTS HOW: runs a program with a file on a disk, or skips it without a disk.
stores() {
	compile "$1"
	echo "$2" >wanted
	if "./$1-c" | grep -q '^sum'; then
		prints_wanted "$1" "$3"
	else
		skip "$1: $("./$1-c")"
	fi
	shows "doc/$1.md"
}

stores spilling 'sum 15999998000000, error 0' 'the sum of what it pushed'
stores parcels 'sum 4950' 'the sum of the numbers of 100 states'

# The loop has come to its fixed point x = a sin x, whose derivative is known.
fixed_point() {
	awk 'BEGIN { a = 1.5; x = 1; for (i = 0; i < 1000; i++) x = a * sin(x)
		printf "dx/da = %g\n", sin(x) / (1 - a * cos(x)) }' >wanted
}
compile checkpointing
compile checkpointing-2
fixed_point
prints_wanted checkpointing 'its fixed point'
prints_wanted checkpointing-2 'its fixed point'
shows doc/checkpointing.md
# Without options.loss states are kept as they are.
sed 's/{.loss = &loss}/{0}; (void)loss/; s/reel_accuracy_open(&accuracy, run/reel_accuracy_open(\&accuracy, NULL/
	s/reel_accuracy_again(.*/0);/' digits >lossless
compile digits
compile lossless
for language in $languages; do
	./lossless-$language | sed 's/,.*//; 1q' >wanted
	./digits-$language >printed
	sed 's/,.*//; 1q' printed | diff wanted - >difference
	is_empty difference "digits, as $language, prints what states without loss give"
	sed -n 's/.*at most //p; s/.* 1.\([0-9]*\) of .*/\1/p' printed | tr '\n' ' ' |
		awk '{ exit !($1 > 0 && $1 <= 1e-6 && $2 >= 5) }'
	ok $? "digits, as $language, bounds the error and saves bytes: $(tr '\n' ' ' <printed)"
done
grep -qF "$(cat wanted)" "$SOURCE_DIR/doc/digits.md"
ok $? 'doc/digits.md shows what its program prints'

case $CFLAGS in
*-fsanitize=thread*) openmp= ;; # which does not see into OpenMP
*) openmp=$(ls "$BUILD_DIR"/.libs/libreel-omp.so "$BUILD_DIR"/.libs/libreel-omp.a 2>/dev/null) ;;
esac
if [ -n "$openmp" ]; then
	compile openmp -fopenmp -lreel-omp
	awk 'BEGIN { printf "dx/da = %g, error 0\n", sin(1) }' >wanted
	prints_wanted openmp 'its formula'
	shows doc/openmp.md
	case $languages in
	*c++*)
		languages=c++
		compile openmp-3 -fopenmp -lreel-omp
		sed 's/, error 0$//' wanted >shorter && mv shorter wanted
		prints_wanted openmp-3 'its formula'
		shows doc/openmp.md
		languages=$all_languages
		;;
	*) skip 'openmp-3: there is no C++ compiler, or another build has it' ;;
	esac
	compile openmp-4 -fopenmp -lreel-omp
	fixed_point
	prints_wanted openmp-4 'its fixed point'
	shows doc/openmp.md
else
	skip 'openmp: there is no OpenMP'
fi

# Runs two ranks, and compares them with one process that has all cells of their ring.
mpi=
[ ! -f "$BUILD_DIR/libreel-mpi.la" ] || mpi=${MPIRUN% }
if [ -n "$mpi" ]; then
	languages=c
	compile mpi $MPI_CFLAGS -lreel-mpi $MPI_LIBS
	awk 'function J(h,   n, i, step, u, sum) {
			n = 200
			for (i = 1; i <= n; i++)
				u[i] = 1 + 1 / i
			u[100] += h
			for (step = 0; step < 50; step++) {
				u[0] = u[n]
				for (i = n; i > 0; i--)
					u[i] -= 0.1 * u[i] * (u[i] - u[i - 1])
			}
			for (i = 1; i <= n; i++)
				sum += u[i] * u[i] / 2
			return sum
		}
		BEGIN { printf "dJ/du = %.6g, error 0\n", (J(1e-5) - J(-1e-5)) / 2e-5 }' >wanted
	$MPIRUN -n 2 ./mpi-c >seen 2>messages
	diff wanted seen >difference
	is_empty difference 'mpi: two ranks print what a difference gives'

	# The page describes the error of a reverse loop whose neighbours are exchanged; the change makes this error.
	awk '/reverse sweep/ { sweep = 1 }
		sweep && /sendrecv_reverse/ { call = 1 }
		call && /right, 0/ { sub(/right, 0/, "left, 0"); print; next }
		call && /left, 0/ { sub(/left, 0/, "right, 0"); call = 0 }
		{ print }' mpi >exchanged
	compile exchanged $MPI_CFLAGS -lreel-mpi $MPI_LIBS
	$MPIRUN -n 3 ./mpi-c >wanted 2>messages &&
		$MPIRUN -n 3 ./exchanged-c >seen 2>messages && ! cmp -s wanted seen && grep -q 'error 0' seen
	ok $? 'mpi: exchanged neighbours give another gradient without an error'
	REEL_CHECKED=1 $MPIRUN -n 3 ./exchanged-c >seen 2>messages
	[ $? -ne 0 ] && grep -q 'reverses a receive of 1 number from rank' messages
	ok $? 'mpi: and in checked mode a message, and a failure'
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

# The programs of the tutorial print one gradient, bit for bit.
languages=$all_languages
case $openmp in
'') parallel=-Wno-unknown-pragmas ;;
*) parallel=-fopenmp ;;
esac

# gradient HOW COMMAND...: a check that the first line of the output is the gradient of step 1, and that stderr is empty.
gradient() {
	how=$1
	shift
	"$@" >printed 2>messages
	{
		head -n 1 printed | diff wanted -
		cat messages
	} >difference
	is_empty difference "tutorial: $how prints the gradient of step 1"
}

# step NUMBER OPTION...: compiles a step of the tutorial.
step() {
	name=step-$1
	shift
	cp "$SOURCE_DIR/examples/tutorial/$name.c" "$name"
	compile "$name" -ffp-contract=off "$@"
}

step 1
./step-1-c >wanted
sed -n '/^	J = /{s/^	//p;q;}' "$SOURCE_DIR/doc/tutorial.md" | cat - wanted |
	sed -E 's/([0-9]\.[0-9]{6})[0-9]*/\1/g' | uniq | wc -l >lines
[ "$(cat lines)" -eq 1 ]
ok $? "tutorial: step 1 prints what the page shows: $(cat wanted)"

if [ -n "$openmp" ]; then
	compile openmp-2 -ffp-contract=off -fopenmp -lreel-omp
	for threads in 1 3; do
		gradient "the wave of openmp.md on $threads threads" env OMP_NUM_THREADS=$threads ./openmp-2-c
	done
	lines=$(grep -ci reel openmp-2)
	[ "$lines" -le 12 ] && tr '\n' ' ' <"$SOURCE_DIR/doc/openmp.md" | grep -q "$lines of its lines are Reel's"
	ok $? "openmp: $lines lines of its wave name Reel"
fi

step 2
gradient 'step 2' ./step-2-c
sed -n 2p printed | grep -qE '^slope (-?[0-9.]+), by differences \1$'
ok $? "tutorial: its test by differences passes: $(sed -n 2p printed)"
gradient 'step 2 in checked mode' env REEL_CHECKED=1 ./step-2-c
sed 's/pop_array(tape, old, N + 1)/pop_array(tape, old, N)/' step-2 >mistake
compile mistake
./mistake-c >printed 2>messages
is_empty messages 'tutorial: its mistake goes unnoticed'
REEL_CHECKED=1 ./mistake-c 2>&1 | grep -q '^reel: pop of array .* at mistake:30 does not mirror .* at mistake:21$'
ok $? 'tutorial: checked mode names both lines'

step 3
if can_spill; then
	gradient 'step 3' ./step-3-c
	grep -q '^at most 16.0 MiB in memory' printed
	ok $? "tutorial: within its budget: $(sed -n 2p printed)"
	gradient 'step 2, spilling,' env REEL_BUDGET=16M REEL_SPILL_DIR=. ./step-2-c
else
	skip 'tutorial: files here are kept in memory'
fi

step 4
gradient 'step 4' ./step-4-c
REEL_END_AFTER=0.001 ./step-4-c >printed 2>messages
[ $? -ne 0 ] && [ ! -s printed ] && [ -f wave.restart ] &&
	[ "$(cat messages)" = 'the sweep was asked to end, and goes on from wave.restart' ]
ok $? 'tutorial: step 4 ends when it is asked to'
gradient 'step 4, going on,' ./step-4-c
[ ! -e wave.restart ]
ok $? 'tutorial: its restart file is gone'

step 5 $parallel
for threads in 1 2 3; do
	gradient "step 5 on $threads threads" env OMP_NUM_THREADS=$threads ./step-5-c
done

if [ -n "$mpi" ]; then
	languages=c
	step 6 $parallel $MPI_CFLAGS -lreel-mpi $MPI_LIBS
	for ranks in 1 2 4; do
		gradient "step 6 on $ranks ranks" env OMP_NUM_THREADS=2 $MPIRUN -n $ranks ./step-6-c
	done
	$MPIRUN -n 3 ./step-6-c >printed 2>messages
	[ $? -ne 0 ] && [ ! -s printed ] && grep -q '^10000 cells cannot be shared out to 3 ranks' messages
	ok $? 'tutorial: step 6 refuses three ranks'
else
	skip 'tutorial: there is no MPI'
fi

for page in doc/tutorial.md gpu/tape/README.md; do
	awk -f "$SOURCE_DIR/examples/quote.awk" -v source="$SOURCE_DIR" "$SOURCE_DIR/$page" >quoted
	diff "$SOURCE_DIR/$page" quoted >difference
	is_empty difference "$page shows what is in examples (its remedy: examples/quote.awk)"
done

for name in choosing comparison errors faq guide tuning; do
	[ ! -e "$name" ]
	ok $? "$name shows no program that is not run here"
done

# links_of PAGE: prints the files that the page links to.
links_of() {
	sed '/^```./,/^```$/d' "$1" | grep -o '](\([^)#]*\)' | sed 's/^](//' | grep -v -e '^http' -e '^$'
}
for page in "$SOURCE_DIR"/README.md "$SOURCE_DIR"/doc/*.md "$SOURCE_DIR"/dropin/*/README.md \
	"$SOURCE_DIR/gpu/tape/README.md"; do
	for link in $(links_of "$page"); do
		[ -e "$(dirname "$page")/$link" ] || echo "$link"
	done >missing
	is_empty missing "${page#"$SOURCE_DIR"/}: all that it links to is there"
	case $page in */README.md) continue ;; esac
	sed -n '3,10p' "$page" | grep -q '^\*\*You need:\*\* '
	ok $? "${page#"$SOURCE_DIR"/} says what the reader needs"
	links_of "$SOURCE_DIR/doc/README.md" | grep -qx "$(basename "$page")"
	ok $? "the guide links to ${page#"$SOURCE_DIR"/}"
done
[ "$(wc -l <"$SOURCE_DIR/README.md")" -le 150 ]
ok $? 'README.md has at most 150 lines'
end
