#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests that the libraries export exactly the functions that the public headers declare, and define no other global name.
. "$SOURCE_DIR/tests/tap/tap.sh"

shared=$BUILD_DIR/.libs/libreel.so
static=$BUILD_DIR/.libs/libreel-core.a

# names FILE [NM-OPTION...]: prints the global symbols that FILE defines, without symbols of a sanitizer.
names() {
	file=$1
	shift
	$NM -P -g "$@" "$file" | awk '$2 ~ /^[A-TV-Zuvi]$/ && $2 != "A" && $1 !~ /^__/ { sub(/@.*/, "", $1); print $1 }' | sort -u
}

# declared_in HEADER FILE: prints the functions that HEADER, or a FILE* that it includes, declares and does not define.
# Functions with the attribute error are left out, because they have no definition.
declared_in() {
	$CC -std=c11 -E -I"$SOURCE_DIR/include" "$SOURCE_DIR/include/$1" |
	awk -v public="\"$SOURCE_DIR/include/$2" '
		/^# [0-9]+ "/ { ours = index($3, public) == 1; next }
		ours { text = text " " $0 }
		END {
			while (match(text, /[;{}]/)) {
				piece = substr(text, 1, RSTART - 1)
				end = substr(text, RSTART, 1)
				text = substr(text, RSTART + 1)
				if (depth == 0 && end == ";" && piece !~ /^ *(typedef|static) |\(error\(/ &&
				    match(piece, /reel_[a-z0-9_]* *\(/))
					print substr(piece, RSTART, RLENGTH - 1)
				depth += (end == "{") - (end == "}")
			}
		}' | tr -d ' ' | sort -u
}

# Functions that only Reel's own libraries call have the version REEL_PRIVATE.
: >private
[ ! -f "$shared" ] || sed -n '/^REEL_PRIVATE/,$s/^	\(.*\);$/\1/p' "$BUILD_DIR/lib/libreel.map" >private
for header in reel.h reel/plan.h reel/parcel.h reel/recording.h reel/sum.h reel/extend.h; do
	declared_in $header ''
done | sort -u - private >declared
test -s declared
ok $? 'the headers declare functions'

if [ -f "$static" ]; then
	names "$static" >defined
	grep -v -e '^reel_' -e '^_\.stapsdt\.base$' defined >foreign
	is_empty foreign 'every global name in the library begins with reel_'
	comm -23 declared defined >undefined
	is_empty undefined 'each declared function is defined'
fi

if [ -f "$shared" ]; then
	names "$shared" -D >exported
	comm -23 declared exported >missing
	is_empty missing 'each declared function is exported'
	comm -13 declared exported >surplus
	is_empty surplus 'nothing else is exported'
	if grep -q '^#define HAVE_SECURE_GETENV 1' "$BUILD_DIR/config.h"; then
		$NM -D --undefined-only "$shared" | grep -w getenv >insecure
		is_empty insecure 'a set-user-id program does not read the environment'
	fi
fi

# Libraries read the environment by secure_getenv(); SECURITY.md lists the exceptions.
if grep -q '^#define HAVE_SECURE_GETENV 1' "$BUILD_DIR/config.h"; then
	for shared in "$BUILD_DIR"/.libs/libreel-*.so; do
		case $shared in *-petsc.so | *-verify.so | *-fake-driver.so | *'*'*) continue ;; esac
		! $NM -D --undefined-only "$shared" | grep -qw getenv || echo "${shared##*/}"
	done >insecure
	is_empty insecure 'and no other library of Reel does, except those that SECURITY.md names'
fi

shared=$BUILD_DIR/.libs/libreel-omp.so
if [ -f "$shared" ]; then
	: >declared
	for header in omp.h adjoint.h observe.h reduction.h region.h task.h worker.h; do
		declared_in "reel/$header" "reel/$header" >of_header
		test -s of_header
		ok $? "reel/$header declares functions"
		sort -u -o declared declared of_header
	done
	names "$shared" -D >exported
	diff declared exported >difference
	is_empty difference 'libreel-omp exports what is declared'
	# DW.ref.* is a reference of the compiler to its own function for exceptions.
	names "$BUILD_DIR/.libs/libreel-omp-core.a" | grep -v -e '^reel_' -e '^DW\.ref\.' >foreign
	is_empty foreign 'every global name in libreel-omp begins with reel_'
fi

shared=$BUILD_DIR/.libs/libreel-cuda.so
if [ -f "$shared" ]; then
	for header in gpu arena host-tape; do
		declared_in reel/$header.h reel/$header.h >declared.$header
		test -s declared.$header
		ok $? "reel/$header.h declares functions"
	done
	sort -u declared.gpu declared.arena declared.host-tape >declared
	names "$shared" -D >exported
	diff declared exported >difference
	is_empty difference 'libreel-cuda exports what is declared'
	for part in cuda-core arena; do
		names "$BUILD_DIR/.libs/libreel-$part.a"
	done | grep -v '^reel_' >foreign
	is_empty foreign 'every global name in libreel-cuda begins with reel_'
	$NM -D --undefined-only "$shared" | grep -E ' cu(da)?[A-Z]' >linked
	is_empty linked 'libreel-cuda is linked with nothing of CUDA'
	[ -e "$BUILD_DIR/.libs/$(sed -n 's/^#define LIBRARY "\(.*\)"/\1/p' "$SOURCE_DIR/lib/store/store-gpu.c")" ]
	ok $? 'lib/store/store-gpu.c loads the library that is built'
fi

# The loader has about 1,600 bytes for the thread-local variables of all libraries that a running program loads. This
# library uses a part of them.
shared=$BUILD_DIR/.libs/libreel-adstack.so.0
if [ -f "$shared" ]; then
	bytes=$(($(LC_ALL=C readelf -lW "$shared" | awk '$1 == "TLS" { print $6 }')))
	[ $bytes -gt 0 ] && [ $bytes -le 512 ]
	ok $? "libreel-adstack has $bytes bytes of thread-local variables, at most 512"
fi

shared=$BUILD_DIR/.libs/libreel-mpi.so
if [ -f "$shared" ]; then
	CC="$CC $MPI_CFLAGS" declared_in reel/mpi.h reel/mpi.h >declared
	test -s declared
	ok $? 'reel/mpi.h declares functions'
	names "$shared" -D >exported
	diff declared exported >difference
	is_empty difference 'libreel-mpi exports what is declared'
	names "$BUILD_DIR/.libs/libreel-mpi-core.a" | grep -v '^reel_' >foreign
	is_empty foreign 'every global name in libreel-mpi begins with reel_'
fi

# Fortran compilers make names from the name of the module and the name of a function.
shared=$BUILD_DIR/.libs/libreel-fortran.so
if [ -f "$shared" ]; then
	names "$shared" -D >exported
	grep -q '^reel_fortran_push_real8$' exported
	ok $? 'libreel-fortran exports what its module calls'
	$NM -P -g -D "$shared" | awk '$2 ~ /^[A-TV-Z]$/ { print $1 }' |
		grep -v -i -e '^reel_fortran_' -e '^_*reel_m' -e '^_QMreel' >foreign
	is_empty foreign 'the library exports nothing but that and the module'
fi
end
